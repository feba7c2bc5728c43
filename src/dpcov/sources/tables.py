"""Tables in memory or behind a query: streams of Arrow record batches.

A table tells its columns' names and declared types without reading a row, and can be read batch by batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpcov.errors import EngineError

BATCH_ROWS = 2**14
Batch = Any
"""A pyarrow record batch."""


class Table(Protocol):
    """Rows that can be streamed."""

    parsed: bool
    """Whether cells are text that stands for numbers, as in CSV files."""

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

    parsed = False

    def __init__(self, data: Any) -> None:
        self._data = data
        with reading():
            # Asking a table for its stream reads nothing; asking a one-shot reader twice is what `ArrowSource` guards against.
            schema = data.schema if isinstance(getattr(data, "schema", None), pa.Schema) else self._open().schema
        self.names, self.types = list(schema.names), list(schema.types)
        rows = getattr(data, "num_rows", getattr(data, "height", None))
        self.rows = rows if isinstance(rows, int) else None

    def _open(self) -> Any:
        return pa.RecordBatchReader.from_stream(self._data)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[tuple[Batch, float | None]]:  # noqa: ARG002
        """Stream the whole table, in batches as it has them, and keep the columns."""
        done = 0
        with reading():
            for batch in self._open():
                done += len(batch)
                yield batch.select(columns), done / self.rows if self.rows else None


class PandasTable:
    """A pandas frame, converted slice by slice: the whole conversion would copy it and infer types from values."""

    parsed = False

    def __init__(self, data: Any) -> None:
        self._data = data
        self.names = [str(name) for name in data.columns]
        self.types = [_pandas_type(data.iloc[:0, j]) for j in range(len(self.names))]
        self.rows: int | None = len(data)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[tuple[Batch, float | None]]:
        """Convert slices of rows."""
        places = [self.names.index(name) for name in columns]
        total, step = len(self._data), min(rows, BATCH_ROWS)
        for start in range(0, total, step):
            part = self._data.iloc[start : start + step]
            with reading():
                arrays = [_pandas_cells(part.iloc[:, place]) for place in places]
            yield pa.record_batch(arrays, names=list(columns)), (start + len(part)) / total


class ArrayTable:
    """The columns of a numeric array, under given names."""

    parsed = False

    def __init__(self, array: NDArray[np.generic], names: Sequence[str]) -> None:
        self._array = array
        self.names = list(names)
        self.types = [pa.bool_() if array.dtype.kind == "b" else pa.float64()] * len(self.names)
        self.rows: int | None = len(array)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[tuple[Batch, float | None]]:
        """Copy slices of rows, column by column."""
        kind = np.bool_ if self._array.dtype.kind == "b" else np.float64
        places = [self.names.index(name) for name in columns]
        total, step = len(self._array), min(rows, BATCH_ROWS)
        for start in range(0, total, step):
            with np.errstate(all="ignore"):
                part: NDArray[Any] = self._array[start : start + step, places].astype(kind)
            yield pa.record_batch(list(np.ascontiguousarray(part.T)), names=list(columns)), (start + len(part)) / total


class reading:  # noqa: N801 - reads as a word in `with reading():`
    """Replace the messages of libraries, which may quote cells, by one that cannot."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if isinstance(error, pa.ArrowException | ValueError | OSError):
            raise EngineError(
                "data must be readable to the end, and is not. Hint: check that the table or file is whole, "
                "and that each line of a CSV file has as many cells as the header."
            ) from None


def _pandas_type(empty: Any) -> Any:
    """Return the declared type; a column of Python objects counts as text, whatever the objects are."""
    if empty.dtype == object:
        return pa.large_string()
    with reading():
        return pa.Array.from_pandas(empty).type


def _pandas_cells(column: Any) -> Any:
    if column.dtype == object:
        encoded = [cell.encode("utf-8", "replace") if isinstance(cell, str) else None for cell in column]
        return pa.array(encoded, pa.large_binary())
    converted = pa.Array.from_pandas(column)
    return converted.combine_chunks() if isinstance(converted, pa.ChunkedArray) else converted
