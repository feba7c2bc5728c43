"""Neighbouring tables that are worth trying: dangerous cells, rows and sizes, and small changes of a pair that was dear.

A pair is rows that both tables share, and one row that only the first has; under replace the second has another in its place.
Nothing here looks at data of anybody: all tables are made up.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError
from dpcov.kernel.bits import Bits
from dpcov.kernel.questions.moments import REPLACE
from dpcov.schema import Categorical, Numeric, Schema

Cell = Any
Row = tuple[Cell, ...]

WILD = (math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, -0.0)
SIZES = (1, 1, 1, 2, 2, 3, 4, 6, 9, 14, 21, 45)
"""Rows of a table: few, since a row weighs most there, and minima and caps that involve n bind."""

NORMS = (1.0, 1.0, 1.0, 0.5, 0.5**0.5, 0.25, 2.0**-10, 1 + 2.0**-20, 2.0, 1e3, 0.0)
"""Of rows, for a bound of 1: at it, on the edges of bins, across any radius, far beyond."""


class Dice:
    """Random numbers from random bits."""

    def __init__(self, bits: Bits) -> None:
        self._bits = bits

    def below(self, n: int) -> int:
        """Return an integer from 0 to n − 1."""
        return int(self._bits.words(1)[0] % np.uint64(n))

    def uniform(self) -> float:
        """Return a number between 0 and 1."""
        return float(self._bits.words(1)[0] >> np.uint64(11)) * 2.0**-53

    def normal(self) -> float:
        """Return a standard normal number."""
        return math.sqrt(-2 * math.log(self.uniform() + 2.0**-54)) * math.cos(2 * math.pi * self.uniform())

    def one_of(self, values: Sequence[Any]) -> Any:
        """Return one of the values."""
        return values[self.below(len(values))]


@dataclass(frozen=True, eq=False)
class Pair:
    """Two neighbouring tables; ``other`` is None where the second lacks the row."""

    shared: tuple[Row, ...]
    row: Row
    other: Row | None

    def tables(self) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
        """Return the rows of both."""
        return (*self.shared, self.row), self.shared if self.other is None else (*self.shared, self.other)


class Kind(Protocol):
    """What tables of a kind are made of."""

    def row(self, dice: Dice) -> Row:
        """Return a row that may be dangerous."""
        ...

    def changed(self, row: Row, dice: Dice) -> Row:
        """Return a row that is a little different."""
        ...

    def data(self, rows: Sequence[Row]) -> Any:
        """Return what `dpcov.covariance` takes."""
        ...

    def rows(self, data: Any) -> list[Row]:
        """Return the rows of a table that somebody chose."""
        ...


@dataclass(frozen=True)
class Numbers:
    """Rows of floats whose norm is bounded by 1."""

    width: int

    def row(self, dice: Dice) -> Row:
        """Return an axis, two of them, all alike, or any direction, of a norm that matters; or cells that are no numbers."""
        shape = dice.below(6)
        if shape == 0:
            return tuple(dice.one_of(WILD) if dice.below(2) else dice.normal() for _ in range(self.width))
        if shape == 1:
            entries = [0.0] * self.width
            entries[dice.below(self.width)] = dice.one_of((1.0, -1.0))
        elif shape == 2:
            entries = [float(dice.one_of((-1, 0, 1, 2))) for _ in range(self.width)]
        elif shape == 3:
            entries = [dice.one_of((1.0, -1.0)) for _ in range(self.width)]
        else:
            entries = [dice.normal() for _ in range(self.width)]
        return _of_norm(entries, dice.one_of(NORMS))

    def changed(self, row: Row, dice: Dice) -> Row:
        """Turn it, stretch it, negate it or a cell of it, put another cell there; at times take quite another row."""
        way = dice.below(6)
        if way == 0:
            return self.row(dice)
        if way == 1:
            return tuple(-cell for cell in row)
        place = dice.below(self.width)
        if way == 2:
            return (*row[:place], dice.one_of((0.0, -row[place], *WILD)), *row[place + 1 :])
        if way == 3:
            return _of_norm(row, dice.one_of(NORMS))
        step = 10 ** (-3 * dice.uniform())
        return _of_norm([cell + step * dice.normal() for cell in row], 1.0)

    def data(self, rows: Sequence[Row]) -> NDArray[np.float64]:
        """Return an array."""
        return np.array(rows, dtype=np.float64).reshape(len(rows), self.width)

    def rows(self, data: Any) -> list[Row]:
        """Return the rows of an array."""
        found = np.asarray(data, dtype=np.float64)
        if found.ndim != 2 or found.shape[1] != self.width:
            raise ParameterError(f"pairs must be arrays of {self.width} columns, got others. Hint: width says how many.")
        return [tuple(row) for row in found.tolist()]


def _of_norm(entries: Sequence[float], norm: float) -> Row:
    """Return a row in this direction, as long as that; what is not finite counts as 0."""
    finite = [min(max(entry, -1e100), 1e100) if math.isfinite(entry) else 0.0 for entry in entries]
    length = math.hypot(*finite)
    return tuple(entry / length * norm for entry in finite) if length > 0 else (0.0,) * len(finite)


class Records:
    """Rows of a table that a schema describes: cells at the bounds, beyond them, between, missing, of no level."""

    def __init__(self, schema: Schema) -> None:
        cells = {name: column for one, used in schema.used.items() for name, column in used.cells(one)}
        self._names = list(cells)
        self._cells = [_cells(column) for column in cells.values()]

    def row(self, dice: Dice) -> Row:
        """Return a record of such cells."""
        return tuple(dice.one_of(cells) for cells in self._cells)

    def changed(self, row: Row, dice: Dice) -> Row:
        """Return it with another cell, or quite another one."""
        if dice.below(5) == 0:
            return self.row(dice)
        place = dice.below(len(row))
        return (*row[:place], dice.one_of(self._cells[place]), *row[place + 1 :])

    def data(self, rows: Sequence[Row]) -> Any:
        """Return a pyarrow table, whose columns have the types of their cells, also where there are no rows."""
        import pyarrow as pa

        kinds = [pa.array(list(cells)).type for cells in self._cells]
        each = zip(self._names, kinds, range(len(kinds)), strict=True)
        return pa.table({name: pa.array([row[place] for row in rows], kind) for name, kind, place in each})

    def rows(self, data: Any) -> list[Row]:
        """Return the records of a table, in the columns of the schema."""
        import pyarrow as pa

        try:
            columns = [pa.table(data)[name].to_pylist() for name in self._names]
        except (KeyError, TypeError, ValueError):
            raise ParameterError(
                f"pairs must be tables with the columns {', '.join(map(repr, self._names))}, got others. "
                f"Hint: what pyarrow.table() takes."
            ) from None
        return list(zip(*columns, strict=True))


def _cells(column: Numeric | Categorical) -> tuple[Cell, ...]:
    """Return the cells of a column that matter; all of one type, or missing."""
    if isinstance(column, Categorical):
        unknown = {"text": ("no such level", ""), "number": (1e300, -0.5, math.nan), "boolean": ()}[column.kind]
        levels = [float(level) if column.kind == "number" else level for level in column.levels]
        return (*levels, *unknown, None)
    lower, upper = column.lower, column.upper
    inside = [lower, upper, lower, upper, column.midpoint, lower + (upper - lower) / 4, lower + (upper - lower) / 1024]
    if column.dates is not None:
        return (*(date(1970, 1, 1) + timedelta(days=math.floor(days)) for days in inside), None)
    return (*inside, upper + (upper - lower), *WILD, None)


def any_pair(kind: Kind, neighbors: str, dice: Dice) -> Pair:
    """Return a pair to begin with: few rows, often alike, often all zero, and two that have little to do with each other."""
    size, alike = dice.one_of(SIZES), dice.below(3)
    usual = kind.row(dice)
    shared = tuple(usual if alike == 0 else kind.row(dice) for _ in range(size - 1))
    return Pair(shared, kind.row(dice), kind.row(dice) if neighbors == REPLACE else None)


def changed_pair(kind: Kind, pair: Pair, dice: Dice) -> Pair:
    """Return a pair that is a little different: in one of its rows, in what both share, or turned round."""
    way = dice.below(8)
    if way == 0 and pair.other is not None:
        return replace(pair, row=pair.other, other=pair.row)
    if way == 1:
        return replace(pair, shared=tuple(kind.row(dice) for _ in range(dice.one_of(SIZES) - 1)))
    if way == 2 and pair.shared:
        place = dice.below(len(pair.shared))
        return replace(pair, shared=pair.shared[:place] + pair.shared[place + 1 :])
    if pair.other is None or way in (3, 4):
        return replace(pair, row=kind.changed(pair.row, dice))
    if way == 5:
        return replace(pair, row=kind.changed(pair.row, dice), other=kind.changed(pair.other, dice))
    return replace(pair, other=kind.changed(pair.other, dice))


def pair_of(first: Sequence[Row], second: Sequence[Row], neighbors: str, one_of: str = "row") -> Pair:
    """Return the pair that two tables are, or refuse tables that are no neighbours: ``one_of`` is what they may differ in."""
    one, other = ({repr(row): row for row in rows} for rows in (first, second))
    counts = [Counter(map(repr, rows)) for rows in (first, second)]
    gone, new = counts[0] - counts[1], counts[1] - counts[0]
    if neighbors != REPLACE and not gone.total():  # the second has one more
        return pair_of(second, first, neighbors, one_of) if new.total() else _refused(neighbors, one_of)
    if gone.total() != 1 or new.total() != (neighbors == REPLACE):
        _refused(neighbors, one_of)
    kept = (counts[0] & counts[1]).elements()
    [row], others = gone, [other[row] for row in new]
    return Pair(tuple(one[row] for row in kept), one[row], others[0] if others else None)


def _refused(neighbors: str, one_of: str) -> NoReturn:
    differ = f"one {one_of}" + ", which only one of them has" * (neighbors != REPLACE)
    raise ParameterError(f"pairs must be tables that differ in {differ}, got others. Hint: neighbors={neighbors!r}.")


Prices = dict[str, float]
"""Of each question of a run: its cost, as a share of its charge."""


class Search:
    """Pairs, one after the other: new ones at first, then changes of those at which a question was dearest; or chosen ones."""

    def __init__(self, kind: Kind, neighbors: str, dice: Dice, count: int, chosen: Sequence[Pair] = ()) -> None:
        self._kind, self._neighbors, self._dice = kind, neighbors, dice
        self._chosen = chosen
        self._left, self._new = len(chosen) or count, count // 3
        self.dearest: dict[str, tuple[float, Pair]] = {}

    def run(self, price: Callable[[Pair], Prices], go_on: Callable[[int], bool]) -> int:
        """Try pairs while there are some left and it may go on; return how many were tried."""
        tried = 0
        while tried < self._left and go_on(tried):
            pair = self._next(tried)
            for asked, share in price(pair).items():
                if share > self.dearest.get(asked, (-1.0, pair))[0]:
                    self.dearest[asked] = share, pair
            tried += 1
        return tried

    def _next(self, tried: int) -> Pair:
        if self._chosen:
            return self._chosen[tried]
        if tried < self._new or not self.dearest:
            return any_pair(self._kind, self._neighbors, self._dice)
        _, best = self.dearest[self._dice.one_of(list(self.dearest))]
        return changed_pair(self._kind, best, self._dice)
