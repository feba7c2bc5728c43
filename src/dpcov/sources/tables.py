"""Tables in memory or behind a query: streams of Arrow record batches.

A table tells its columns' names and declared types without reading a row, and can be read batch by batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import Any, Protocol
from uuid import UUID
from weakref import WeakSet

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpcov.errors import DpcovError, EngineError, raise_alone
from dpcov.sources.array import RowsElsewhere, runs

BATCH_ROWS = 2**14
LONGEST_NUMBER = 2**12
"""Bits, or decimal places, of an identifier that is written digit by digit: of more Python writes none."""

EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Of decimal numbers: nothing is rounded."""

_read_once: WeakSet[Any] = WeakSet()
"""Readers that gave their rows away: read again they would look like an empty table, which add-remove cannot refuse."""

Batch = Any
"""A pyarrow record batch."""


class Table(Protocol):
    """Rows that can be streamed."""

    parsed: bool
    """Whether cells are text that stands for numbers, as in CSV files."""

    decimal: str
    """What stands before the decimals of a number that is text."""

    @property
    def rereadable(self) -> bool:
        """Whether the rows can be streamed again."""
        ...

    @property
    def ordered(self) -> bool:
        """Whether the order of rows is part of the data: not so of queries and other streams."""
        ...

    @property
    def names(self) -> list[str]:
        """The names of the columns, in order; a name may stand twice."""
        ...

    @property
    def types(self) -> list[Any]:
        """The declared Arrow types."""
        ...

    @property
    def rows(self) -> int | None:
        """The number of rows where it is known without reading."""
        ...

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[tuple[Batch, float | None]]:
        """Yield record batches of these columns, of about ``rows`` rows, each with the fraction read so far if known."""
        ...


class StreamTable:
    """Anything with ``__arrow_c_stream__``: polars, pyarrow, duckdb and others."""

    parsed, decimal = False, "."

    def __init__(self, data: Any) -> None:
        self._data = data
        if isinstance(data, pa.RecordBatchReader) and data in _read_once:
            raise EngineError("data must be a fresh stream, got one that was already read. Hint: make a new reader.")
        with reading():
            # Opening reads no row. The first pass uses this very stream: there may never be another.
            self._opened: Any = pa.RecordBatchReader.from_stream(data)
        self.names, self.types = list(self._opened.schema.names), list(self._opened.schema.types)
        rows = getattr(data, "num_rows", getattr(data, "height", None))
        self.rows = rows if isinstance(rows, int) else None
        # A table in memory, or a relation, which runs its query again; of anything else nothing is known.
        self.ordered = self.rows is not None
        self.rereadable = self.ordered or type(data).__module__.split(".")[0] in ("duckdb", "_duckdb")

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[tuple[Batch, float | None]]:  # noqa: ARG002
        """Stream the whole table, in batches as it has them, and keep the columns."""
        done = 0
        if isinstance(self._data, pa.RecordBatchReader):
            _read_once.add(self._data)
        with reading():
            reader, self._opened = self._opened or pa.RecordBatchReader.from_stream(self._data), None
            for batch in reader:
                done += len(batch)
                yield batch.select(columns), done / self.rows if self.rows else None


class PandasTable:
    """A pandas frame, converted slice by slice: the whole conversion would copy it and infer types from values."""

    parsed, decimal = False, "."
    rereadable = ordered = True
    _unit = ""

    def __init__(self, data: Any) -> None:
        self._data = data
        self.names = [str(name).encode("utf-8", "replace").decode() for name in data.columns]
        self.types = [_pandas_type(data.iloc[:0, j]) for j in range(len(self.names))]
        self.rows: int | None = len(data)

    def identify(self, unit: str) -> None:
        """Read a column as identifiers: what Python objects in it are, exactly, and not only text."""
        self._unit = unit

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[tuple[Batch, float | None]]:
        """Convert slices of rows."""
        kept = [identifier if name == self._unit else _text for name in columns]
        cells = [_pandas_numbers(self._data.iloc[:, self.names.index(name)]) for name in columns]
        total, step = len(self._data), min(rows, BATCH_ROWS)
        for start in range(0, total, step):
            with reading():
                parts = (column[start : start + step] for column in cells)
                arrays = [_pandas_cells(part, keep) for part, keep in zip(parts, kept, strict=True)]
            yield pa.record_batch(arrays, names=list(columns)), min(start + step, total) / total


def cell_type(kind: np.dtype[Any]) -> np.dtype[Any]:
    """Return what the cells of an array become: float64, but for truth values and for whole numbers, which may be longer."""
    return kind.newbyteorder("=") if kind.kind in "biu" else np.dtype(np.float64)


class ArrayTable:
    """The columns of a numeric array, under given names."""

    parsed, decimal = False, "."
    rereadable = ordered = True

    def __init__(self, array: NDArray[np.generic] | RowsElsewhere, names: Sequence[str]) -> None:
        self._array = array
        self.names = list(names)
        self.types = [pa.from_numpy_dtype(cell_type(array.dtype))] * len(self.names)
        self.rows: int | None = len(array)
        self.is_here = isinstance(array, np.ndarray)

    def identify(self, unit: str) -> None:
        """Say what the identifiers of a column are: of numbers with more digits than float64 has, nothing."""
        self.types[self.names.index(unit)] = _own_type(self._array.dtype)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[tuple[Batch, float | None]]:
        """Copy slices of rows, column by column."""
        kind = cell_type(self._array.dtype)
        places = [self.names.index(name) for name in columns]
        total, step = len(self._array), min(rows, BATCH_ROWS)
        for start in range(0, total, step):
            read = self._array[start : start + step]
            with np.errstate(all="ignore"):
                part: NDArray[Any] = np.ascontiguousarray(read[:, places].astype(kind).T)
            yield pa.record_batch(list(part), names=list(columns)), (start + len(read)) / total

    def pieces(self, columns: Sequence[str]) -> Iterator[tuple[ArrayTable, float]]:  # noqa: ARG002 - a row has all of them
        """Yield runs of rows."""
        for rows, share in runs(self._array):
            yield ArrayTable(rows, self.names), share


def _own_type(kind: np.dtype[Any]) -> Any:
    """Return the Arrow type of numbers in an array; nothing that could be an identifier for what Arrow has no type for."""
    return pa.struct([]) if kind.itemsize > 8 else pa.from_numpy_dtype(kind.newbyteorder("="))


class reading:  # noqa: N801 - reads as a word in `with reading():`
    """Replace the messages of libraries, which may quote cells, by one that cannot."""

    def __init__(
        self, hint: str = "check that the table or file is complete, and that the query runs", where: str = ""
    ) -> None:
        self._hint, self._where = hint, f" in {where}" * bool(where)

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, DpcovError):  # duckdb, for one, has its own
            raise_alone(
                EngineError(f"data must be readable to the end, got an error{self._where} before it. Hint: {self._hint}.")
            )


def _is_objects(kind: Any) -> bool:
    """Whether a pandas dtype holds Python objects, strings among them, which Arrow would look at one by one."""
    return bool(getattr(kind, "storage", None) == "python" if not isinstance(kind, np.dtype) else kind.kind == "O")


def _pandas_type(empty: Any) -> Any:
    """Return the declared type; a column of Python objects counts as text, whatever the objects are."""
    categories = getattr(empty.dtype, "categories", None)
    if _is_objects(empty.dtype):
        return pa.large_string()
    if categories is not None and _is_objects(categories.dtype):
        return pa.dictionary(pa.int64(), pa.large_string())
    try:
        return pa.Array.from_pandas(empty).type
    except (pa.ArrowException, TypeError, ValueError):
        return pa.struct([])  # complex numbers and the like: refused as nested where the column is used, and only there


def _pandas_numbers(column: Any) -> Any:
    """Return the numbers of a column that has nothing else as an array, of which slices cost next to nothing."""
    numbers = isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf" and column.dtype.isnative
    return column.to_numpy() if numbers else column.iloc


def _pandas_cells(column: Any, keep: Callable[[Any], bytes | None]) -> Any:
    if isinstance(column, np.ndarray):
        return pa.array(column)
    categories = getattr(column.dtype, "categories", None)
    if _is_objects(column.dtype):
        return pa.array(map(keep, column), pa.large_binary())
    if categories is not None and _is_objects(categories.dtype):
        codes, known = column.cat.codes.to_numpy(), pa.array(map(keep, categories), pa.large_binary())
        return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int64(), mask=codes < 0), known)
    converted = pa.Array.from_pandas(column)
    return converted.combine_chunks() if isinstance(converted, pa.ChunkedArray) else converted


def _text(cell: Any) -> bytes | None:
    """Keep text, and truth values as text: a pandas column of truth values with a gap holds Python objects."""
    text = str(cell) if isinstance(cell, bool | np.bool_) else cell
    return text.encode("utf-8", "replace") if isinstance(text, str) else None


def identifier(cell: Any) -> bytes | None:
    """Return what tells a person apart, of a Python object: text, bytes, a UUID, or a number by its exact value; else nothing.

    So 7, 7.0 and a decimal 7 are one person, whatever objects they are, and the text "7" is the same.
    """
    if isinstance(cell, bytes):
        return cell
    if isinstance(cell, UUID):
        return str(cell).encode()
    if isinstance(cell, bool | np.bool_) or not isinstance(cell, int | float | Decimal | np.integer | np.floating):
        return _text(cell)
    if isinstance(cell, Decimal) and cell.is_finite() and abs(cell.adjusted()) > LONGEST_NUMBER:
        return str(cell.normalize(EXACT)).encode()  # whose digits are few, and zeros many
    number = cell if isinstance(cell, int | Decimal) else int(cell) if isinstance(cell, np.integer) else float(cell)
    try:
        exact = Fraction(number)
    except (ValueError, OverflowError):  # no number, or an infinite one
        return None
    return (
        b"%x/%x" % (exact.numerator, exact.denominator)
        if exact.numerator.bit_length() > LONGEST_NUMBER
        else str(exact).encode()
    )
