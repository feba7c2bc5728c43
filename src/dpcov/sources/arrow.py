"""Rows in a table of named columns: frames, queries, Parquet and CSV files, read batch by batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import EngineError, ParameterError, SchemaError
from dpcov.kernel.questions.measure import Summable
from dpcov.kernel.questions.moments import Count
from dpcov.kernel.rows.aside import Aside, thetas
from dpcov.kernel.rows.grid import MAX_FEATURES
from dpcov.kernel.rows.groups import Groups
from dpcov.schema import Described, Numeric, Schema
from dpcov.sources import cells
from dpcov.sources.base import Progress, add_up, default_block_rows, in_percent
from dpcov.sources.by import By
from dpcov.sources.described import check_types, numbers, positions
from dpcov.sources.divided import PeopleOfPart, Quota, Tally, tally_of
from dpcov.sources.many import members_of
from dpcov.sources.people import People, kind_of
from dpcov.sources.pieces import pieces_of
from dpcov.sources.split import CHANGED, PartSums
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
    by : By, optional
        The column of groups: questions about groups are given its position after a row's other entries.
    aside : Aside, optional
        What stands after the features in each block: whose a row is. People are then counted in a pass of its own.
    quota : Quota, optional
        How many rows of each person have a share, where these are a part of the rows; they are counted already.
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
        aside: Aside | None = None,
        by: By | None = None,
        quota: Quota | None = None,
    ) -> None:
        self._by, self.aside = by, aside
        self._table, self._center, self._progress = table, center, in_percent(progress)
        _refuse_beside(aside, () if columns is None else columns)
        self.schema = schema.select(columns) if schema is not None and columns is not None else schema
        self._names_from_table = self.schema is None and columns is None
        if self._names_from_table and table.parsed:
            table.check_names()  # type: ignore[attr-defined]  # those whose names are text have it
        self._written: frozenset[str] = getattr(table, "written", frozenset())
        self.guesses_types = self._names_from_table and (table.parsed or bool(self._written))
        beside = [] if aside is None else list(aside.names)
        apart = beside if by is None else [*beside, by.of]
        named = [name for name in table.names if name not in apart] if columns is None else columns
        self._columns = self.schema.table_columns(self.schema.used) if self.schema else list(named)
        self._read = list(dict.fromkeys([*self._columns, *([] if by is None else [by.of])]))
        for member, where in members_of(table):
            self._check_columns(member, where and f" in {where}")
            self._check_types(member, where and f" in {where}")
        self.feature_names = self.schema.feature_names if self.schema else tuple(self._columns)
        if not 1 <= self.d <= MAX_FEATURES - center:
            raise SchemaError(f"data must have 1 to 2**15 features, got {self.d}. Hint: select columns, or merge levels.")
        self._rows = table.rows  # all rows of the table, of which `n` counts people
        self._people: People | None = None if aside is None else self._people_of(aside)
        self._n = self._rows if self._people is None else None
        if aside is not None and quota is not None:
            self._people = PeopleOfPart(quota, aside.most_rows)
            self._n = self._people.n
        self._kept: list[NDArray[np.float64]] | None = None

    @property
    def n(self) -> int:
        """The number of rows, or people, by a pass over them where it is not known yet."""
        if self._n is None:
            self.total(Count())
        assert self._n is not None
        return self._n

    @property
    def rows(self) -> int | None:
        """How many rows the table has, once it was read."""
        return self._rows

    @property
    def known_n(self) -> int | None:
        """The number of rows, from a file's footer or from an earlier pass."""
        return self._n

    @property
    def rereadable(self) -> bool:
        """Whether the table can be streamed again."""
        return self._table.rereadable

    @property
    def groups(self) -> Groups | None:
        """The groups into which rows fall."""
        return None if self._by is None else self._by.groups

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
        if self._people is not None and self._n is None:
            self._count_people(self._people)
        if isinstance(statistic, Count) and not statistic.weighs and self._n is not None:
            return np.array([self._n], dtype=np.int64)
        if self._people is not None:
            self._people.start()
        counted = 0

        def blocks() -> Iterator[NDArray[np.float64]]:
            nonlocal counted
            by_column, by_group = getattr(statistic, "by_column", False), getattr(statistic, "by_group", False)
            yield np.empty((0, self._width(by_column) + by_group))  # a table without rows has sums too
            for block in self._blocks(min(default_block_rows(self.d), statistic.max_block), by_column, by_group):
                counted += len(block)
                yield block

        total = add_up(statistic, blocks(), scratch=not getattr(statistic, "by_column", False))
        self._check_rows(counted)
        if self._people is None:
            self._n = counted
        return total

    def _check_rows(self, counted: int) -> None:
        """Refuse a table that has other rows each time it is read."""
        if self._rows not in (None, counted):
            raise EngineError(CHANGED)
        self._rows = counted

    def _people_of(self, aside: Aside) -> People | None:
        """Refuse columns that cannot say whose a row is, or what it counts, and rows that cannot be read once to count."""
        if aside.unit and not self._table.rereadable:
            raise ParameterError(
                "data must be rows that can be read more than once where a person has several, got a stream. "
                "Hint: write it to a file first."
            )
        _refuse_beside(aside, self._read if self.schema is None else [*self._read, *self.schema.used])
        members, types = members_of(self._table), dict[str, list[Any]]()
        for member, _ in members:
            if hasattr(member, "identify") and aside.unit in member.names:
                member.identify(aside.unit)
        for said, name in (("unit", aside.unit), ("weight", aside.weight)):
            for member, where in members if name else ():
                found = list(member.names).count(name)
                if found != 1:
                    got = f"{found} columns of that name" if found else "no column of that name"
                    raise SchemaError(
                        f"{said} must be a column of the data, got {name!r} and {got}{where and f' in {where}'}. "
                        f"Hint: upper and lower case matter."
                    )
                types.setdefault(said, []).append(member.types[list(member.names).index(name)])
        for kind in types.get("weight", []):
            cells.check_numeric(aside.weight, kind, parsed=self._table.parsed or aside.weight in self._written)
        if not aside.unit:
            return None
        kind_of(aside.unit, types["unit"])
        return People(aside.most_rows)

    def _beside(self, part: Batch, aside: Aside) -> list[NDArray[np.float64]]:
        """Return what stands beside the features: what each row weighs, and in how many parts, or its share."""
        if not aside.weight:
            assert self._people is not None
            return [self._people.shares(part.column(aside.unit))]
        weights = thetas(cells.values(part.column(aside.weight), self._table.decimal), aside.max_weight)
        return [weights] if self._people is None else [weights, self._people.parts(part.column(aside.unit))]

    def _count_people(self, people: People) -> None:
        """Read the one column that says whose a row is."""
        done = 0
        for column, fraction in self._owners():
            people.count(column)
            done += len(column)
            self._progress(fraction, done)
        people.counted()
        self._check_rows(done)
        self._n = people.n

    def _owners(self) -> Iterator[tuple[Any, float | None]]:
        assert self.aside is not None
        for batch, fraction in self._table.batches([self.aside.unit], default_block_rows(1)):
            yield batch.column(self.aside.unit), fraction

    def tally(self) -> Tally:
        """Return how many rows each person has."""
        return tally_of(column for column, _ in self._owners())

    def _blocks(self, rows: int, by_column: bool = False, by_group: bool = False) -> Iterator[NDArray[np.float64]]:
        shown = slice(self._width(by_column) + by_group)  # of blocks that are kept, which have the groups as well
        if by_column and self._kept is not None:
            for known in self._kept:
                yield from (known[start : start + rows, shown] for start in range(0, len(known), rows))
            return
        with_group = by_group or (by_column and self._by is not None)
        space, width, done = np.empty(0), self._width(by_column) + with_group, 0
        kept: list[NDArray[np.float64]] | None = [] if by_column else None
        beside = [] if self.aside is None else list(self.aside.names)
        for batch, fraction in self._table.batches([*self._read, *beside], rows):
            for start in range(0, len(batch), rows):
                part = batch.slice(start, rows)
                if space.size < width * len(part) or kept is not None:
                    space = np.empty(width * len(part))  # used again and again: fresh memory costs more than the copy
                block = space[: width * len(part)].reshape(width, -1)
                features = block[: self._width(by_column) - (0 if self.aside is None else self.aside.width)]
                (self._cells if by_column else self._encoded)(part, features)
                if self.aside is not None:
                    block[len(features) : len(features) + self.aside.width] = self._beside(part, self.aside)
                if with_group and self._by is not None:
                    block[-1] = self._by.positions(part, self._table)
                yield block.T[:, shown]
                if kept is not None:
                    kept.append(block.T)
                    kept = kept if sum(one.size for one in kept) <= KEPT_CELLS else None
            done += len(batch)
            self._progress(fraction, done)
        self._kept = kept

    def parts(self) -> Iterator[ArrowPart]:
        """Yield parts of the table: where they stand in files, or their cells where they are in no file."""
        named = None if self.schema is not None else self._columns
        beside = () if self.aside is None else self.aside.names
        for piece, share in pieces_of(self._table, [*self._read, *beside]):
            yield ArrowPart(piece, named, self.schema, self._center, share, self._by, self.aside)

    def _width(self, by_column: bool) -> int:
        """Return how many entries a row has."""
        features = len(self.schema.used) if by_column and self.schema is not None else self.d
        return features if self.aside is None else features + self.aside.width

    def _described(self) -> Iterator[tuple[str, Described, float, float]]:
        """Yield each used column, with its description, offset and scale."""
        assert self.schema is not None
        for name, (description, offset, scale) in zip(self.schema.used, self.schema.encodings(self._center), strict=True):
            yield name, description, offset, scale

    def _cells(self, batch: Batch, block: NDArray[np.float64]) -> None:
        """Write the rows of a batch by column: encoded numbers, positions of levels, NaN where a cell is missing."""
        for row, (name, description, offset, scale) in zip(block, self._described(), strict=True):
            if isinstance(description, Numeric):
                _encode_numbers(row, numbers(batch, name, description, self._table), description, offset, scale, np.nan)
            else:
                row[:] = positions(batch, name, description, self._table)
                np.copyto(row, np.nan, where=row < 0)

    def _encoded(self, batch: Batch, block: NDArray[np.float64]) -> None:
        """Write the rows of a batch, column by column: for a schema with norm at most 1, else in the user's units."""
        if self.schema is None:
            for row, name in zip(block, self._columns, strict=True):
                row[:] = cells.values(batch.column(name), self._table.decimal)
            return
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

    def _check_columns(self, table: Table, where: str) -> None:
        """Refuse missing and ambiguous columns. Messages name what was asked for: a file's own names may be a person's row."""
        counts = Counter(table.names)
        missing = [name for name in self._read if not counts[name]]
        repeated = [name for name in self._read if counts[name] > 1]
        if missing or repeated:
            hint = "upper and lower case matter; the first line of a CSV file must hold the names"
            found = f"no column of {'that name' if len(missing) == 1 else 'these names'}"
            found = found if missing else f"{counts[repeated[0]]} columns of that name"
            hidden = self._names_from_table and (table.parsed or not where)
            asked = "for each name" if hidden else ", ".join(map(repr, missing or repeated[:1]))
            raise SchemaError(f"data must have one column {asked}, got {found}{where}. Hint: {hint}.")
        if len(set(self._columns)) < len(self._columns):
            raise SchemaError("columns must differ, got the same column twice. Hint: remove one of them.")
        beside = () if self.aside is None else self.aside.names
        others = sorted(counts.keys() - {*self._read, *beside}) if self._names_from_table else []
        if others:
            named = "others" if table.parsed else repr(others[0])
            raise SchemaError(
                f"data must have the same columns in each file, got {named}{where} but not in the first. "
                f"Hint: columns=['age'] says which ones to use."
            )

    def _check_types(self, table: Table, where: str) -> None:
        types: dict[str, Any] = dict(zip(table.names, table.types, strict=True))
        texts = frozenset(table.names) if table.parsed else self._written
        if self._by is not None:
            check_types(types, self._by.name, self._by.column, texts=texts, where=where)
        if self.schema is None:
            for name in self._columns:
                cells.check_numeric(name, types[name], parsed=name in texts, where=where)
            return
        for name, column in self.schema.used.items():
            check_types(types, name, column, texts=texts, where=where)


def _refuse_beside(aside: Aside | None, features: Sequence[str]) -> None:
    """Refuse features that say whose a row is, or how much it counts."""
    for said, name in () if aside is None else (("unit", aside.unit), ("weight", aside.weight)):
        if name and name in features:
            raise ParameterError(
                f"{said} must be a column that is no feature, and not that of groups, got {name!r}, which is one. "
                f"Hint: leave it out of columns= and out of the schema."
            )


@dataclass(frozen=True)
class ArrowPart:
    """Some rows of a table, and what its columns mean."""

    table: Table
    columns: list[str] | None
    schema: Schema | None
    center: bool
    share: float | None
    by: By | None = None
    aside: Aside | None = None
    quota: Quota | None = None

    @property
    def is_here(self) -> bool:
        """Whether this process has the cells already."""
        return getattr(self.table, "is_here", False)

    def sums(self, statistic: Summable) -> PartSums:
        """Read these rows as a table of their own; without a quota they are all rows of their people, who are counted."""
        source = self._opened()
        total = source.total(statistic)
        counted = source.n if self.quota is None else source.rows
        assert counted is not None
        return PartSums(total, counted, self.share)

    def tally(self) -> Tally:
        """Return how many of these rows each person has."""
        return self._opened().tally()

    def within(self, quota: Quota) -> ArrowPart:
        """Return the part with what each person may have in it."""
        return replace(self, quota=quota)

    def _opened(self) -> ArrowSource:
        return ArrowSource(self.table, self.columns, self.schema, self.center, aside=self.aside, by=self.by, quota=self.quota)


def _encode_numbers(
    row: NDArray[np.float64], values: NDArray[np.float64], column: Numeric, offset: float, scale: float, missing: float
) -> None:
    """Clip to the bounds, put ``missing`` where there is no number, and scale: elementwise, so local to each row."""
    with np.errstate(all="ignore"):
        np.clip(values, column.lower, column.upper, out=row)
        np.copyto(row, missing, where=~np.isfinite(values))
        np.subtract(row, offset, out=row)
        np.multiply(row, 1 / scale, out=row)
