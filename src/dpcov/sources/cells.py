"""From the cells of an Arrow column to float64 values or to positions among public levels.

Every rule is about one cell at a time and none can fail on a value: what is no number is missing, what is no level has
position −1. Whether a column can be read at all depends on its declared type alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpcov.errors import SchemaError
from dpcov.schema import Categorical

Floats = NDArray[np.float64]
Positions = NDArray[np.intp]
Type = Any
"""A pyarrow data type: pyarrow brings no types of its own."""

NUMBER = rb"^[ \t]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t]*$".decode()
"""A decimal number; Arrow parses everything that matches it, and "1e999" as infinite."""

COMMA_NUMBER = NUMBER.replace(r"\.", ",")
"""The same with a decimal comma."""

BLANKS = " \t"


def is_text(kind: Type) -> bool:
    """Whether the declared type is text, dictionaries of text included; bytes are text that nobody has checked."""
    kind = value_type(kind)
    checks = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_string_view,
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_binary_view,
    )
    return any(check(kind) for check in checks)


def is_numeric(kind: Type) -> bool:
    """Whether the declared type holds numbers, truth values among them."""
    kind = value_type(kind)
    checks = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_null)
    return any(check(kind) for check in checks)


def is_boolean(kind: Type) -> bool:
    """Whether the declared type holds truth values."""
    return bool(pa.types.is_boolean(value_type(kind)))


def check_numeric(name: str, kind: Type, *, parsed: bool, where: str = "") -> None:
    """Refuse a column whose declared type holds no numbers; text in a CSV file (``parsed``) may. ``where`` names a file."""
    if not (is_numeric(kind) or (parsed and is_text(kind))):
        raise SchemaError(
            f"column {name!r} must be numeric, got the declared type {declared(kind)}{where}. "
            f"Hint: {'a schema can give it levels' if is_text(kind) else 'convert it to numbers first, or leave it out'}."
        )


def check_categorical(name: str, kind: Type, column: Categorical, *, parsed: bool, where: str = "") -> None:
    """Refuse levels that a column of this declared type cannot hold."""
    fits = {
        "text": is_text(kind),
        "number": (is_numeric(kind) and not is_boolean(kind)) or (parsed and is_text(kind)),
        "boolean": is_boolean(kind) or is_text(kind),
    }
    if parsed and len({name.strip(BLANKS) for name in column.names}) < len(column.names):
        raise SchemaError(
            f"levels of column {name!r} must differ by more than blanks, got two that do not. Hint: CSV cells are trimmed."
        )
    if not (fits[column.kind] or pa.types.is_null(value_type(kind))):
        hint = (
            "write the levels as the column holds them"
            if is_text(kind) or is_numeric(kind)
            else "convert the column, or set ignore = true"
        )
        raise SchemaError(
            f"levels of column {name!r} must fit its type, got {column.kind} levels for {declared(kind)}{where}. Hint: {hint}."
        )


def values(cells: Any, decimal: str = ".") -> Floats:
    """Return numbers, NaN where a cell holds none; text has this sign before its decimals, and no other."""
    if cells.type.equals(pa.float64()):
        return np.asarray(cells.to_numpy(zero_copy_only=False))
    if pa.types.is_dictionary(cells.type):
        return looked_up(values(cells.dictionary, decimal), cells.indices, np.float64(np.nan))
    if is_text(cells.type):
        raw = cells.cast(pa.large_binary())
        pattern = COMMA_NUMBER if decimal == "," else NUMBER
        numbers = pc.if_else(pc.match_substring_regex(raw, pattern), raw, pa.scalar(None, pa.large_binary()))
        numbers = pc.replace_substring(numbers, ",", ".") if decimal == "," else numbers
        cells = pc.ascii_trim(numbers.cast(pa.large_string(), safe=False), BLANKS)
    elif pa.types.is_boolean(cells.type) or pa.types.is_null(cells.type):
        cells = cells.cast(pa.int8())
    floats = cells.cast(pa.float64(), safe=False)
    return np.asarray(floats.to_numpy(zero_copy_only=False))


def positions(cells: Any, column: Categorical, *, trimmed: bool, decimal: str = ".") -> Positions:
    """Return the position of each cell among the levels, −1 for any other; CSV text is ``trimmed`` of blanks."""
    if column.kind == "number":
        return _among_numbers(values(cells, decimal), np.array(column.levels, dtype=np.float64))
    if pa.types.is_dictionary(cells.type):
        return looked_up(positions(cells.dictionary, column, trimmed=trimmed), cells.indices, np.intp(-1))
    if pa.types.is_boolean(cells.type):
        cells = cells.cast(pa.large_string())
    names = [name.strip(BLANKS) if trimmed else name for name in column.names]
    levels = pa.array([name.encode() for name in names], pa.large_binary())
    if is_text(cells.type) and (trimmed or column.kind == "boolean"):
        text = _as_text(cells)
        text = pc.ascii_trim(text, BLANKS) if trimmed else text
        cells = pc.ascii_lower(text) if column.kind == "boolean" else text
    found = pc.index_in(cells.cast(pa.large_binary()), value_set=levels)
    return np.asarray(pc.fill_null(found, -1).to_numpy(zero_copy_only=False)).astype(np.intp)


def missing(cells: Any) -> NDArray[np.bool_]:
    """Return which cells hold nothing: null, NaN, or text without a letter."""
    if pa.types.is_dictionary(cells.type):
        return looked_up(missing(cells.dictionary), cells.indices, np.True_)
    empty = pc.is_null(cells, nan_is_null=pa.types.is_floating(cells.type))
    if is_text(cells.type):
        empty = pc.or_(empty, pc.equal(pc.binary_length(pc.ascii_trim(_as_text(cells), BLANKS)), 0).fill_null(True))
    return np.asarray(empty.to_numpy(zero_copy_only=False))


def _among_numbers(numbers: Floats, levels: Floats) -> Positions:
    order = np.argsort(levels)
    place = np.minimum(np.searchsorted(levels, numbers, sorter=order), len(levels) - 1)
    candidate = order[place]
    return np.where(levels[candidate] == numbers, candidate, -1)


def _as_text(cells: Any) -> Any:
    """Return text or bytes as text that Arrow does not check."""
    return cells.cast(pa.large_binary()).cast(pa.large_string(), safe=False)


def looked_up(of_entry: NDArray[Any], indices: Any, missing: Any) -> NDArray[Any]:
    """Return the entry's result for each cell of a dictionary column."""
    place = np.asarray(pc.fill_null(indices.cast(pa.int64()), len(of_entry)).to_numpy(zero_copy_only=False))
    place = np.where((place >= 0) & (place < len(of_entry)), place, len(of_entry))  # a broken dictionary raises nothing
    return np.asarray(np.append(of_entry, missing)[place], dtype=of_entry.dtype)


def value_type(kind: Type) -> Type:
    """Return the type of the cells; of a dictionary that of its entries."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def declared(kind: Type) -> str:
    """Return a type's name; that of a nested type could hold the names of its fields."""
    return str(value_type(kind)) if not pa.types.is_nested(kind) else "of nested values"
