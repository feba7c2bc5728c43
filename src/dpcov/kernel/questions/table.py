r"""The columns of a table one by one: histograms on a public grid, moments within public ranges, counts of levels, intervals.

A cell falls into one bin of its column, or none where it is missing. All numbers about single columns are made of these counts.
With N = 2¹⁶ and W ≥ 0 the public weight of a cell that is there, a cell adds to its column's moments

    (Y, ⌊Y²/N⌋, W),  |Y| ≤ N,  or (0, 0, 0) where it is missing,

Y its bin within the range, bins beyond it counted as the last ones. One cell moves them by at most

====================  ==========================  =============================
distance              replace                     add-remove
====================  ==========================  =============================
L1                    max(9/4·N + 1, 2·N + W)     2·N + W
squared L2            max(4·N² + 2·N + 1,         2·N² + W²
                      2·N² + W²)
====================  ==========================  =============================

and the columns of a row add up. With D = |Y − Y′| and S = |Y + Y′| ≤ 2·N − D: |Y² − Y′²|/N = D·S/N, and rounding down adds less
than 1. L1: D·(1 + S/N) + 1 ≤ (2·N − S)(1 + S/N) + 1 ≤ 9/4·N + 1, at S = N/2. Squared L2: D² + (D·S/N + 1)² ≤ D²·(1 + S²/N²) +
2·D·S/N + 1 ≤ 4·N² + 2·N + 1, as (2 − s)²(1 + s²) falls in s ≥ 0, and D·S ≤ N². A cell that appears or vanishes moves them by
|Y| + Y²/N + W ≤ 2·N + W, and Y² + Y⁴/N² + W² ≤ 2·N² + W².

================  ===========  ==========  ==========
statistic         distance     replace     add-remove
================  ===========  ==========  ==========
`Histograms`      L2², L1      2·columns   columns
`LevelCounts`     L2², L1      2·columns   columns
rows outside      absolute     1           1
================  ===========  ==========  ==========

Proofs and when they are asked: docs/mechanisms/standardized.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from dpcov.errors import ParameterError, shown
from dpcov.kernel.questions.choices import Choice, check_rows
from dpcov.kernel.questions.measure import Integers, Part, Rows
from dpcov.kernel.questions.moments import ADD_REMOVE, REPLACE, CountedRows
from dpcov.kernel.rows.columns import Columns
from dpcov.strict_json import each

if TYPE_CHECKING:
    from dpcov.kernel.public import Public
    from dpcov.kernel.questions.filing import Reading, Writing
    from dpcov.strict_json import Fields

MOST_BINS = 2**24  # of all columns together: 128 MB
MOST_BITS = 17
MOMENT_BITS = 16
ONE = 1 << MOMENT_BITS


class OfTable(CountedRows):
    """What is counted in the columns of a table."""

    columns: Columns
    by_column = True
    serves_people: ClassVar[bool] = True

    def fits(self, public: Public) -> bool:
        """Whether a schema encodes rows so, about the midpoints of its bounds."""
        return type(self.columns) is Columns and self.columns == public.encoding.columns

    def entries(self, total: Integers) -> Integers:
        """Return the counts."""
        return total


@dataclass(frozen=True)
class Histograms(OfTable):
    """How many cells there are in each of 2ᵇⁱᵗˢ equal bins between the bounds of each column of numbers."""

    columns: Columns
    bits: int
    name = "histograms"

    def __post_init__(self) -> None:
        if type(self.bits) is not int or not 1 <= self.bits <= MOST_BITS or self.size > MOST_BINS or not self.columns.numeric:
            raise ParameterError(
                "histograms must have 2 to 2**17 bins per column, at most 2**24 in all, got other numbers. Hint: fewer bits."
            )

    @property
    def bins(self) -> int:
        """How many there are for a column."""
        return 1 << self.bits

    @property
    def shape(self) -> tuple[int, ...]:
        """A count for each bin, column by column."""
        return (self.size,)

    @property
    def size(self) -> int:
        """A count for each bin of each column."""
        return len(self.columns.numeric) << self.bits

    @property
    def parts(self) -> tuple[Part, ...]:
        """One run of counts."""
        return (Part("bins", 1, self.size),)

    def of(self, rows: Rows, *, scratch: bool = False) -> Integers:  # noqa: ARG002
        """Count the block's cells by bin."""
        total = np.zeros(self.shape, dtype=np.int64)
        self.add_to(total, rows)
        return total

    def add_to(self, total: Integers, rows: Rows) -> None:
        """Count the block's cells in place: a histogram is far larger than a block."""
        counted = np.ones(1)
        if self.aside is not None:
            rows, shares = self.aside.apart(rows)
            counted = self.aside.counted(shares)[:, None]
        cells = self.columns.on_bounds(rows)
        with np.errstate(all="ignore"):
            steps = np.floor((cells + 1.0) * (self.bins / 2))
            there = np.isfinite(cells)
            places = np.where(there, np.clip(steps, 0, self.bins - 1), 0.0).astype(np.int64)
        places += np.arange(cells.shape[1], dtype=np.int64) << self.bits
        np.add.at(total, places.ravel(), (there * counted).ravel().astype(np.int64))

    def of_column(self, total: Integers, column: int) -> Integers:
        """Return the counts of one column."""
        return total[column << self.bits : (column + 1) << self.bits]

    def to_json(self, writing: Writing) -> dict[str, Any]:  # noqa: ARG002 - the columns follow from the encoding
        """Store how fine they are."""
        return {"bits": self.bits}

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:
        """Read how fine they are."""
        return cls(reading.columns(), fields.take("bits", int))

    def sensitivity_squared(self, neighbors: str) -> int:
        """In each column one bin loses a cell and another gains one; or one bin changes."""
        return {REPLACE: 2, ADD_REMOVE: 1}[neighbors] * len(self.columns.numeric) * self.person**2

    def sensitivity_l1(self, neighbors: str) -> Fraction:
        """As many counts change by 1."""
        return Fraction(self.sensitivity_squared(neighbors), self.person)


@dataclass(frozen=True)
class LevelCounts(OfTable):
    """How many cells there are of each level of each column of categories."""

    columns: Columns
    name = "level counts"

    def __post_init__(self) -> None:
        if not self.columns.levels:
            raise ParameterError("columns must have levels to be counted, got none. Hint: declare levels in the schema.")

    @property
    def shape(self) -> tuple[int, ...]:
        """A count for each level, column by column."""
        return (sum(count for _, count in self.columns.levels),)

    @property
    def parts(self) -> tuple[Part, ...]:
        """One run of counts."""
        return (Part("levels", 1, self.shape[0]),)

    def of(self, rows: Rows, *, scratch: bool = False) -> Integers:  # noqa: ARG002
        """Count the block's cells by level."""
        counted = None
        if self.aside is not None:
            rows, shares = self.aside.apart(rows)
            counted = self.aside.counted(shares)
        positions = [self.columns.positions(rows, column) for column in range(len(self.columns.levels))]
        levels = zip(positions, self.columns.levels, strict=True)
        counts = [np.bincount(found, counted, minlength=n + 1)[:n] for found, (_, n) in levels]
        return np.concatenate(counts).astype(np.int64)

    def to_json(self, writing: Writing) -> dict[str, Any]:  # noqa: ARG002 - the columns follow from the encoding
        """Store nothing."""
        return {}

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:  # noqa: ARG003
        """Read nothing."""
        return cls(reading.columns())

    def sensitivity_squared(self, neighbors: str) -> int:
        """In each column one level loses a cell and another gains one; or one count changes."""
        return {REPLACE: 2, ADD_REMOVE: 1}[neighbors] * len(self.columns.levels) * self.person**2

    def sensitivity_l1(self, neighbors: str) -> Fraction:
        """As many counts change by 1."""
        return Fraction(self.sensitivity_squared(neighbors), self.person)


class Range(NamedTuple):
    """A run of bins of one column of numbers, without the last; ``weight`` is that of a cell that is there, 0: not asked."""

    column: int
    low: int
    high: int
    weight: int = 0


@dataclass(frozen=True)
class ColumnMoments(OfTable):
    """Sums of cells and of their squares within ranges, −1 and 1 at the ends, and how many cells are there."""

    histograms: Histograms
    ranges: tuple[Range, ...]
    name = "column moments"

    @property
    def unit_bits(self) -> int:
        """One step is 2⁻¹⁶ of a row, or of the least part of a person that is counted."""
        return MOMENT_BITS + self.person_bits

    def __post_init__(self) -> None:
        ints = type(self.ranges) is tuple and all(
            type(one) is Range and all(type(x) is int for x in one) for one in self.ranges
        )
        ascending = ints and all(a.column < b.column for a, b in zip(self.ranges, self.ranges[1:], strict=False))
        bins, most = self.histograms.bins, len(self.histograms.columns.numeric)
        inside = ascending and all(
            0 <= r.column < most and 0 <= r.low < r.high <= bins and 0 <= r.weight <= 2 * ONE for r in self.ranges
        )
        if not self.ranges or not inside:
            raise ParameterError(
                "ranges must be runs of bins, one per column, in ascending order, got something else. Hint: low < high."
            )

    @property
    def columns(self) -> Columns:  # type: ignore[override]
        """Those of the histograms."""
        return self.histograms.columns

    def fits(self, public: Public) -> bool:
        """Whether its histograms are those that are proved, and of such rows."""
        return type(self.histograms) is Histograms and super().fits(public)

    @property
    def parts(self) -> tuple[Part, ...]:
        """One run of numbers."""
        return (Part("moments", 1, sum(3 if one.weight else 2 for one in self.ranges)),)

    def of_counts(self, total: Integers) -> Integers:
        """Return the exact numbers, from the histograms."""
        found: list[int] = []
        for one in self.ranges:
            counts, wide = self.histograms.of_column(total, one.column), one.high - one.low
            inside = counts[one.low : one.high].copy()
            inside[0] += counts[: one.low].sum()
            inside[-1] += counts[one.high :].sum()
            odd = 2 * np.arange(wide, dtype=np.int64) + 1 - wide  # bins by their middles, in half bins from that of the range
            cells = np.sign(odd) * ((np.abs(odd) << MOMENT_BITS) // wide)
            found += [int(inside @ cells), int(inside @ ((cells * cells) >> MOMENT_BITS))]
            found += [int((one.weight * inside).sum())] if one.weight else []  # modulo 2⁶⁴, as all sums
        return np.array(found, dtype=np.int64)

    def to_json(self, writing: Writing) -> dict[str, Any]:
        """Store the ranges."""
        return {**self.histograms.to_json(writing), "ranges": [list(one) for one in self.ranges]}

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:
        """Read the ranges."""
        histograms = Histograms.from_json(fields, reading)
        rows = [each(one, int, "ranges") for one in each(fields.take("ranges", list), list, "ranges")]
        if any(len(one) != len(Range._fields) for one in rows):
            raise ParameterError(
                "ranges must hold column, low, high and weight, got something else. Hint: four numbers for each range."
            )
        return cls(histograms, tuple(Range(*one) for one in rows))

    def sensitivity_squared(self, neighbors: str) -> int:
        """Columns add up."""
        return sum(_cell_squared(one.weight, neighbors) for one in self.ranges) * self.person**2

    def sensitivity_l1(self, neighbors: str) -> Fraction:
        """Columns add up."""
        return sum((_cell_l1(one.weight, neighbors) for one in self.ranges), start=Fraction(0)) * self.person


def _cell_l1(weight: int, neighbors: str) -> Fraction:
    appears = Fraction(2 * ONE + weight)
    return max(Fraction(9, 4) * ONE + 1, appears) if neighbors == REPLACE else appears


def _cell_squared(weight: int, neighbors: str) -> int:
    appears: int = 2 * ONE**2 + weight**2
    return max(4 * ONE**2 + 2 * ONE + 1, appears) if neighbors == REPLACE else appears


@dataclass(frozen=True)
class Interval(Choice):
    """Which dyadic interval of a column leaves at most ``rows`` cells outside, though none of its halves could say so.

    Candidates are all runs of 2ᵇⁱᵗˢ⁻ᵏ bins that start at a multiple of half their width, k = 0, 1, … down to two bins. With
    out(I) the cells outside, and H the three such runs of half the width inside I, the score is
    −max(0, out(I) − M, M − min out(H)); of two bins there is no H. Each out moves by at most 1 with one row, and so does the
    score: maxima and minima move by no more than what they are of.
    """

    histograms: Histograms
    column: int
    rows: int
    name = "interval"
    all_alike = True
    serves_people: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_rows(self.rows)
        if type(self.column) is not int or not 0 <= self.column < len(self.histograms.columns.numeric):
            raise ParameterError(
                f"column must be one of the numeric columns, got {shown(self.column)}. Hint: they count from 0."
            )

    @property
    def counted(self) -> Histograms:
        """The counts that it is about."""
        return self.histograms

    def fits(self, public: Public) -> bool:
        """Whether its histograms are those that are proved, and of such rows."""
        return type(self.histograms) is Histograms and super().fits(public)

    @property
    def octaves(self) -> int:
        """How often the width is halved."""
        return self.histograms.bits - 1

    @property
    def candidates(self) -> int:
        """Of width 2ᵇⁱᵗˢ⁻ᵏ there are 2ᵏ⁺¹ − 1."""
        return self._first(self.octaves + 1)

    def scores(self, counts: Integers) -> Integers:
        """Return the scores, the widest first."""
        column = self.histograms.of_column(counts, self.column)
        running = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(column)])
        finer: Integers | None = None
        found: list[Integers] = []
        for k in range(self.octaves, -1, -1):
            wide = self.histograms.bins >> k
            starts = np.arange(0, self.histograms.bins - wide + 1, wide // 2)
            outside = running[-1] - (running[starts + wide] - running[starts])
            scores = np.minimum(0, self.whole(self.rows) - outside)
            if finer is not None:  # the half of I that starts with it, the one in its middle, and the one that ends with it
                least = np.minimum(np.minimum(finer[0:-2:2], finer[1:-1:2]), finer[2::2])
                scores = np.minimum(scores, least - self.whole(self.rows))
            found.append(scores)
            finer = outside
        return np.concatenate(found[::-1])

    @cached_property
    def weights(self) -> Integers:
        """All alike."""
        return np.ones(self.candidates, dtype=np.int64)

    def interval(self, index: int) -> tuple[int, int, int]:
        """Return the first bin of a candidate, the one after its last, and how often the width was halved."""
        k = next(k for k in range(self.octaves + 1) if index < self._first(k + 1))
        wide = self.histograms.bins >> k
        low = (index - self._first(k)) * (wide // 2)
        return low, low + wide, k

    def _first(self, k: int) -> int:
        """Count the candidates that are wider."""
        return (2 << k) - 2 - k

    def to_json(self, writing: Writing) -> dict[str, Any]:
        """Store the column and the rows outside."""
        return {**self.histograms.to_json(writing), "column": self.column, "outside": self.rows}

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:
        """Read the column and the rows outside."""
        return cls(Histograms.from_json(fields, reading), fields.take("column", int), fields.take("outside", int))
