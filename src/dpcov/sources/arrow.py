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
from dpcov.schema import Described, Numeric, Schema
from dpcov.sources import cells
from dpcov.sources.base import Progress, add_up, default_block_rows, in_percent
from dpcov.sources.described import check_types, numbers, positions
from dpcov.sources.files import CsvTable
from dpcov.sources.tables import Batch, Table

KEPT_CELLS = 2**23
"""So many cells, by column, are kept after they were read: 64 MB, so that small tables are read and decoded once."""


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

    guesses_types: bool
    """Whether nobody said which columns are numbers: neither a person nor a declared type."""

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
        self.guesses_types = self._names_from_table and table.parsed
        named = table.names if columns is None else columns
        self._columns = self.schema.table_columns(self.schema.used) if self.schema else list(named)
        self._check_columns()
        self._check_types()
        self.feature_names = self.schema.feature_names if self.schema else tuple(self._columns)
        if not 1 <= self.d <= MAX_FEATURES - center:
            raise SchemaError(f"data must have 1 to 2**15 features, got {self.d}. Hint: select columns, or merge levels.")
        self._n = table.rows
        self._kept: list[NDArray[np.float64]] | None = None

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
            by_column = getattr(statistic, "by_column", False)
            yield np.empty((0, self._width(by_column)))  # a table without rows has sums too
            for block in self._blocks(min(default_block_rows(self.d), statistic.max_block), by_column):
                counted += len(block)
                yield block

        total = add_up(statistic, blocks(), scratch=not getattr(statistic, "by_column", False))
        if self._n not in (None, counted):
            raise EngineError(
                "data must be the same each time they are read, and are not. "
                "Hint: write a stream that can be read only once to a file first."
            )
        self._n = counted
        return total

    def _blocks(self, rows: int, by_column: bool = False) -> Iterator[NDArray[np.float64]]:
        if by_column and self._kept is not None:
            for known in self._kept:
                yield from (known[start : start + rows] for start in range(0, len(known), rows))
            return
        space, width = np.empty(0), self._width(by_column)
        kept: list[NDArray[np.float64]] | None = [] if by_column else None
        for batch, fraction in self._table.batches(self._columns, rows):
            for start in range(0, len(batch), rows):
                part = batch.slice(start, rows)
                if space.size < width * len(part) or kept is not None:
                    space = np.empty(width * len(part))  # used again and again: fresh memory costs more than the copy
                block = space[: width * len(part)].reshape(width, -1)
                yield self._cells(part, block) if by_column else self._encoded(part, block)
                if kept is not None:
                    kept.append(block.T)
                    kept = kept if sum(one.size for one in kept) <= KEPT_CELLS else None
            self._progress(fraction)
        self._kept = kept

    def _width(self, by_column: bool) -> int:
        """Return how many entries a row has."""
        return len(self.schema.used) if by_column and self.schema is not None else self.d

    def _described(self) -> Iterator[tuple[str, Described, float, float]]:
        """Yield each used column, with its description, offset and scale."""
        assert self.schema is not None
        for name, (description, offset, scale) in zip(self.schema.used, self.schema.encodings(self._center), strict=True):
            yield name, description, offset, scale

    def _cells(self, batch: Batch, block: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rows of a batch by column: encoded numbers, positions of levels, NaN where a cell is missing."""
        for row, (name, description, offset, scale) in zip(block, self._described(), strict=True):
            if isinstance(description, Numeric):
                _encode_numbers(row, numbers(batch, name, description, self._table), description, offset, scale, np.nan)
            else:
                row[:] = positions(batch, name, description, self._table)
                np.copyto(row, np.nan, where=row < 0)
        return block.T

    def _encoded(self, batch: Batch, block: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rows of a batch, stored column by column: for a schema with norm at most 1, else in the user's units."""
        if self.schema is None:
            for row, column in zip(block, batch.columns, strict=True):
                row[:] = cells.values(column, self._table.decimal)
            return block.T
        start = 0
        for name, description, offset, scale in self._described():
            if isinstance(description, Numeric):
                found = numbers(batch, name, description, self._table)
                _encode_numbers(block[start], found, description, offset, scale, description.midpoint)
                start += 1
            else:
                places = positions(batch, name, description, self._table)
                part = block[start : start + len(description.levels)]
                part[:] = 0.0
                known = np.flatnonzero(places >= 0)
                part[places[known], known] = 1 / scale
                start += len(part)
        return block.T

    def _check_columns(self) -> None:
        """Refuse missing and ambiguous columns. Messages name what was asked for: a file's own names may be a person's row."""
        counts = Counter(self._table.names)
        missing = [name for name in dict.fromkeys(self._columns) if not counts[name]]
        repeated = [name for name in self._columns if counts[name] > 1]
        if missing or repeated:
            hint = "upper and lower case matter; the first line of a CSV file must hold the names"
            found = f"no column of {'that name' if len(missing) == 1 else 'these names'}"
            found = found if missing else f"{counts[repeated[0]]} columns of that name"
            asked = "for each name" if self._names_from_table else ", ".join(map(repr, missing or repeated[:1]))
            raise SchemaError(f"data must have one column {asked}, got {found}. Hint: {hint}.")
        if len(set(self._columns)) < len(self._columns):
            raise SchemaError("columns must differ, got the same column twice. Hint: remove one of them.")

    def _check_types(self) -> None:
        types: dict[str, Any] = dict(zip(self._table.names, self._table.types, strict=True))
        if self.schema is None:
            for name in self._columns:
                cells.check_numeric(name, types[name], parsed=self._table.parsed)
            return
        for name, column in self.schema.used.items():
            check_types(types, name, column, parsed=self._table.parsed)


def _encode_numbers(
    row: NDArray[np.float64], values: NDArray[np.float64], column: Numeric, offset: float, scale: float, missing: float
) -> None:
    """Clip to the bounds, put ``missing`` where there is no number, and scale: elementwise, so local to each row."""
    with np.errstate(all="ignore"):
        np.clip(values, column.lower, column.upper, out=row)
        np.copyto(row, missing, where=~np.isfinite(values))
        np.subtract(row, offset, out=row)
        np.multiply(row, 1 / scale, out=row)
