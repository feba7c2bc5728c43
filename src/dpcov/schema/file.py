"""Schemas as files: TOML for people, JSON inside a release.

::

    [columns]
    age = { lower = 17, upper = 90 }
    sex = { levels = ["Female", "Male"], weight = 0.5 }
    name = { ignore = true }
    income = { lower = 1000, upper = 500000, transform = "log" }
    "age squared" = { of = "age", about = 50, transform = "square" }
    "age * male" = { product = ["age", "sex=Male"] }

With ``others = "ignore"`` above ``[columns]``, entries that are still as `dpcov schema init` drafted them are ignored as well.
``unit = "patient_id"`` there says whose a row is; ``weighting``, ``most_rows``, ``weight`` and ``max_weight`` go with it.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpcov.errors import EngineError, ParameterError, SchemaError, printable, raise_alone, shown
from dpcov.schema import IGNORE, SAID, Categorical, Column, Derived, Described, Ignored, Numeric, Product, Schema, check_others
from dpcov.schema.dates import iso
from dpcov.schema.derived import Factor, Indicator

OPTIONAL = {"weight", "nullable", "missing", "of"}
OF_NUMBERS = OPTIONAL | {"integer", "transform", "about"}
OF_CELLS = ("lower", "upper", "nullable", "integer")  # what an entry that is `of` another takes from that
NOTHING_SAID: Mapping[str, Any] = {}
MOST_NAMED = 200
"""Columns that one message names: a file that somebody forged has as many as it likes."""


def read(path: str | os.PathLike[str]) -> Schema:
    """Read a schema from a TOML file.

    Raises
    ------
    SchemaError
        The file is no schema, or not complete.
    EngineError
        The file cannot be opened.
    """
    if not isinstance(path, str | os.PathLike):
        raise ParameterError(f"path must be text or a Path, got {shown(path)}. Hint: Schema.read('schema.toml').")
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise EngineError(
            f"schema must be a file that can be read, got {str(path)!r} ({error.strerror}). Hint: check the path."
        ) from None
    except (UnicodeDecodeError, ValueError):
        raise_alone(SchemaError("schema must be a text file in UTF-8, got other bytes. Hint: save it as UTF-8."))
    return parse(text)


def parse(text: str) -> Schema:
    """Turn the text of a TOML file into a schema."""
    try:
        record = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SchemaError(
            f"schema must be valid TOML, got an error ({error}). Hint: put names with spaces in quotes."
        ) from None
    except (ValueError, RecursionError):
        raise SchemaError(
            "schema must be plain TOML, got too many digits or nested brackets. Hint: see `dpcov schema init`."
        ) from None
    if not {"columns"} <= set(record) <= {"columns", *SAID} or not isinstance(record["columns"], dict):
        raise SchemaError(
            f"schema must have the table [columns] and nothing else but {', '.join(SAID)} above it, got something else. "
            f"Hint: see `dpcov schema init`."
        )
    return from_record(record.pop("columns"), check_others(record.pop("others", None)), record)


def from_record(columns: Mapping[str, Any], others: str | None = None, whose: Mapping[str, Any] = NOTHING_SAID) -> Schema:
    """Build a schema from names and their entries; all that are wrong are told in one message."""
    beside = [whose.get("unit"), whose.get("weight")]
    found: dict[str, Column] = {}
    wrong: dict[str, SchemaError] = {}
    for name, entry in columns.items():
        try:
            left = (others == IGNORE or name in beside) and _is_draft(entry)
            found[name] = Ignored() if left else _column(name, _inherited(entry, columns))
        except SchemaError as error:
            wrong[name] = error
    if len(wrong) == 1:
        raise next(iter(wrong.values()))
    if wrong:
        raise SchemaError(_wrong_ones(wrong, [name for name in wrong if _is_draft(columns[name])]))
    return Schema(found, others=others, **whose)


def _wrong_ones(wrong: Mapping[str, SchemaError], drafts: list[str]) -> str:
    """Return what is wrong with several columns: the names of those that are still a draft, and what is wrong with others."""
    open_ones = [f"no bounds or levels for {', '.join(map(repr, drafts[:MOST_NAMED]))}"] if drafts else []
    others = [str(error).partition(" Hint:")[0].rstrip(".") for name, error in wrong.items() if name not in drafts]
    hidden = max(len(drafts) - MOST_NAMED, 0) + max(len(others) - MOST_NAMED, 0)
    more = [f"and {hidden} more"] if hidden else []
    hint = 'complete them; { ignore = true } leaves one out, others = "ignore" above [columns] all that are left as drafted'
    return f"columns must be complete, got {'; '.join([*open_ones, *others[:MOST_NAMED], *more])}. Hint: {hint}."


def _is_draft(entry: object) -> bool:
    """Whether an entry is what a draft has: nothing, no levels, or bounds that are not there yet."""
    if not isinstance(entry, dict):
        return False
    levels, bounds = entry.get("levels"), [entry.get("lower"), entry.get("upper")]
    no_bounds = set(entry) == {"lower", "upper"} and all(isinstance(one, float) and math.isnan(one) for one in bounds)
    return not entry or no_bounds or (set(entry) == {"levels"} and levels == [])


def to_record(schema: Schema) -> dict[str, dict[str, Any]]:
    """Return what a release stores: the used columns. Whose a row is stands beside it, in the header of the file."""
    return {name: _record(column) for name, column in schema.columns.items() if isinstance(column, Described)}


def digest(schema: Schema) -> str:
    """Return a hash of what a schema says, of features and of people: two files that say the same have the same."""
    whose, record = schema.whose.checked(), to_record(schema)
    text = json.dumps([record, whose] if whose.names else record, sort_keys=True, separators=(",", ":"))
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def _record(column: Numeric | Categorical) -> dict[str, Any]:
    """Return an entry; of a product, which has no bounds of its own, the cells that it is made of."""
    if isinstance(column, Derived):
        if len(column.factors) > 1:
            return {"product": [_cells(factor) for factor in column.factors], "weight": column.weight}
        return {**_cells(column.factors[0]), "weight": column.weight, "nullable": column.nullable, **_flag(column)}
    cells = _cells(column)
    whole = {key: cells.pop(key) for key in ("integer",) if key in cells}
    return {**cells, "weight": column.weight, "nullable": column.nullable, **_flag(column), **whole}


def _bound(number: float, dates: str | None) -> float | str:
    """Return a bound as JSON has it: a date as text."""
    return number if dates is None else iso(number, dates)


def _flag(column: Numeric | Categorical) -> dict[str, Any]:
    return {} if column.missing is None else {"missing": column.missing}


def _cells(column: Numeric | Categorical) -> dict[str, Any]:
    """Return what cells are: bounds or levels, and what is done to them."""
    of: dict[str, Any] = {} if column.of is None else {"of": column.of}
    nullable = {"nullable": True} if column.nullable else {}
    if isinstance(column, Numeric):
        done: dict[str, Any] = {} if column.about is None else {"about": column.about}
        done |= {} if column.transform is None else {"transform": column.transform}
        whole = {"integer": True} if column.integer else {}
        lower, upper = (_bound(end, column.dates) for end in (column.lower, column.upper))
        return {**of, "lower": lower, "upper": upper, **done, **whole, **nullable}
    level = {"level": column.level} if isinstance(column, Indicator) else {}
    return {**of, "levels": list(column.levels), **level, **nullable}


def _inherited(entry: object, columns: Mapping[str, Any]) -> object:
    """Return an entry that is of another one with what cells are there, unless it says so itself."""
    if not isinstance(entry, dict) or not isinstance(of := entry.get("of"), str) or "levels" in entry or "lower" in entry:
        return entry
    other = columns.get(of)
    return {**{key: other[key] for key in OF_CELLS if key in other}, **entry} if isinstance(other, dict) else entry


def _column(name: str, entry: object) -> Column:
    hint = "write { lower = 0, upper = 120 }, { levels = ['no', 'yes'] }, { product = ['age', 'bmi'] } or { ignore = true }"
    if not isinstance(entry, dict):
        raise SchemaError(f"column {name!r} must be a table, got {shown(entry)}. Hint: {hint}.")
    keys = set(entry)
    try:
        if keys - OF_NUMBERS == {"lower", "upper"}:
            return Numeric(**entry)
        if keys - OPTIONAL == {"levels"}:
            return Categorical(**entry)
        if keys - {"weight"} == {"product"}:
            factors = entry["product"]
            return Product(
                [_factor(factor) for factor in factors] if isinstance(factors, list) else factors, entry.get("weight", 1.0)
            )
    except ParameterError as error:
        raise SchemaError(f"column {name!r}: {error}") from None
    if keys == {"ignore"} and entry["ignore"] is True:
        return Ignored()
    found = printable(", ".join(sorted(keys))) or "nothing"
    rule = "lower and upper, or levels, or product, or ignore = true"
    raise SchemaError(f"column {name!r} must have {rule}, got {found}. Hint: {hint}.")


def _factor(entry: object) -> str | Factor:
    """Return a factor of a product: a name, or as a release stores it, cells."""
    if not isinstance(entry, dict):
        return entry  # type: ignore[return-value]  # which Product refuses, unless it is a name
    keys = set(entry)
    if keys - {"about", "transform", "integer", "nullable"} == {"of", "lower", "upper"}:
        return Numeric(**entry)
    if keys - {"nullable"} == {"of", "levels", "level"}:
        return Indicator(**entry)
    raise ParameterError("product must be two names of columns, got a table. Hint: product = ['age', 'sex=Male'].")
