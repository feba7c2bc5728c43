"""Rows in a table of named columns: frames, queries, Parquet and CSV files, read batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import EngineError, SchemaError
from dpcov.kernel.questions.measure import Summable
from dpcov.kernel.questions.moments import Count
from dpcov.kernel.rows.grid import MAX_FEATURES
from dpcov.schema import Numeric, Schema
from dpcov.sources import cells
from dpcov.sources.base import Progress, add_up, default_block_rows, in_percent
from dpcov.sources.files import CsvTable
from dpcov.sources.tables import Batch, Table


class ArrowSource:
    """A table and what its columns mean.

    Parameters
    ----------
    table : Table
        Where the rows are.
    columns : sequence of str, optional
        Which columns to use, in this order; all of the schema, or all of the table, by default.
    schema : Schema, optional
        Bounds and levels; without one every column is a plain number.
    center : bool
        Whether numeric columns are encoded about their midpoints; else about 0.
    progress : callable, optional
        Called now and then while rows are read.
    """

    def __init__(
        self,
        table: Table,
        columns: Sequence[str] | None = None,
        schema: Schema | None = None,
        center: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self._table, self._center, self._progress = table, center, in_percent(progress)
        self.schema = schema.select(columns) if schema is not None and columns is not None else schema
        self._names_from_table = self.schema is None and columns is None
        if self._names_from_table and isinstance(table, CsvTable):
            table.check_names()
        self._columns = list(self.schema.used) if self.schema else list(table.names if columns is None else columns)
        self._check_columns()
        self._check_types()
        self.feature_names = self.schema.feature_names if self.schema else tuple(self._columns)
        if not 1 <= self.d <= MAX_FEATURES - center:
            raise SchemaError(f"data must have 1 to 2**15 features, got {self.d}. Hint: select columns, or merge levels.")
        self._n = table.rows

    @property
    def n(self) -> int:
        """The number of rows, by a pass over them where it is not known yet."""
        if self._n is None:
            self.total(Count())
        assert self._n is not None
        return self._n

    @property
    def known_n(self) -> int | None:
        """The number of rows, from a file's footer or from an earlier pass."""
        return self._n

    @property
    def rereadable(self) -> bool:
        """Whether the table can be streamed again."""
        return self._table.rereadable

    @property
    def ordered(self) -> bool:
        """Whether the order of rows is part of the table."""
        return self._table.ordered

    @property
    def d(self) -> int:
        """The number of features."""
        return len(self.feature_names)

    def total(self, statistic: Summable) -> NDArray[np.int64]:
        """Add the statistic over all batches."""
        if isinstance(statistic, Count) and self._n is not None:
            return np.array([self._n], dtype=np.int64)
        counted = 0

        def blocks() -> Iterator[NDArray[np.float64]]:
            nonlocal counted
            yield np.empty((0, self.d))  # a table without rows has sums too
            for block in self._blocks(min(default_block_rows(self.d), statistic.max_block)):
                counted += len(block)
                yield block

        total = add_up(statistic, blocks(), scratch=True)
        if self._n not in (None, counted):
            raise EngineError(
                "data must be the same at each reading, and are not. "
                "Hint: a stream that can be read only once must go to a file first."
            )
        self._n = counted
        return total

    def _blocks(self, rows: int) -> Iterator[NDArray[np.float64]]:
        space = np.empty(0)
        for batch, fraction in self._table.batches(self._columns, rows):
            for start in range(0, len(batch), rows):
                part = batch.slice(start, rows)
                if space.size < self.d * len(part):
                    space = np.empty(self.d * len(part))  # used again and again: fresh memory costs more than the copy
                yield self._encoded(part, space[: self.d * len(part)].reshape(self.d, -1))
            self._progress(fraction)

    def _encoded(self, batch: Batch, block: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rows of a batch, stored column by column: for a schema with norm at most 1, else in the user's units."""
        if self.schema is None:
            for row, column in zip(block, batch.columns, strict=True):
                row[:] = cells.values(column)
            return block.T
        start = 0
        for column, (description, offset, scale) in zip(batch.columns, self.schema.encodings(self._center), strict=True):
            if isinstance(description, Numeric):
                _encode_numbers(block[start], cells.values(column), description, offset, scale)
                start += 1
            else:
                positions = cells.positions(column, description, trimmed=self._table.parsed)
                part = block[start : start + len(description.levels)]
                part[:] = 0.0
                known = np.flatnonzero(positions >= 0)
                part[positions[known], known] = 1 / scale
                start += len(part)
        return block.T

    def _check_columns(self) -> None:
        """Refuse missing and ambiguous columns. Messages name what was asked for: a file's own names may be a person's row."""
        counts = Counter(self._table.names)
        for name in self._columns:
            count = counts[name]
            if count != 1:
                hint = "names are case-sensitive; the first line of a CSV file must hold them"
                found = f"{count} of that name" if count else "none of that name"
                asked = "of each name" if self._names_from_table else repr(name)
                raise SchemaError(f"data must have one column {asked}, got {found}. Hint: {hint}.")
        if len(set(self._columns)) < len(self._columns):
            raise SchemaError("columns must differ, got one that stands twice. Hint: remove it.")

    def _check_types(self) -> None:
        types: dict[str, Any] = dict(zip(self._table.names, self._table.types, strict=True))
        used = self.schema.used if self.schema else {}
        for name in self._columns:
            column = used.get(name)
            if column is None or isinstance(column, Numeric):
                cells.check_numeric(name, types[name], parsed=self._table.parsed)
            else:
                cells.check_categorical(name, types[name], column, parsed=self._table.parsed)


def _encode_numbers(
    row: NDArray[np.float64], values: NDArray[np.float64], column: Numeric, offset: float, scale: float
) -> None:
    """Clip to the bounds, put the midpoint where there is no number, and scale: elementwise, so local to each row."""
    with np.errstate(all="ignore"):
        np.clip(values, column.lower, column.upper, out=row)
        np.copyto(row, column.midpoint, where=~np.isfinite(values))
        np.subtract(row, offset, out=row)
        np.multiply(row, 1 / scale, out=row)
