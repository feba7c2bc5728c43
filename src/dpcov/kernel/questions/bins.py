r"""How the values of each column lie in a public box: counts in equal bins, and the choice of a quantile among them.

Each row falls into one bin of every column, so one row moves d counts where it is added, and twice as many where it is
replaced; the number of rows below an edge of one column moves by at most 1.

=====================  ===========  ==========  ==========
statistic              distance     replace     add-remove
=====================  ===========  ==========  ==========
`Bins`                 L2², L1      2d          d
rows below an edge     absolute     1           1
=====================  ===========  ==========  ==========
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, shown
from dpcov.kernel.questions.choices import Choice, check_rows, outside, rank_scores
from dpcov.kernel.questions.measure import Integers, Part, Rows
from dpcov.kernel.questions.moments import ADD_REMOVE, REPLACE, CountedRows
from dpcov.kernel.rows.frames import Box

if TYPE_CHECKING:
    from dpcov.kernel.public import Public
    from dpcov.kernel.questions.filing import Reading, Writing
    from dpcov.strict_json import Fields

MOST_BINS = 2**24


@dataclass(frozen=True)
class Bins(CountedRows):
    """How many rows there are in each of ``count`` equal bins of each column of the box; beyond its ends in the last ones."""

    grid: Box
    d: int
    count: int
    name = "bins"
    serves_people: ClassVar[bool] = True
    shapes: ClassVar[tuple[type, ...]] = (Box,)

    def __post_init__(self) -> None:
        if type(self.count) is not int or not self.count >= 1 or self.count * self.d > MOST_BINS:
            raise ParameterError(
                "bins must be at least 1 for each column and at most 2**24 in all, got more or fewer. "
                "Hint: take a smaller radius, larger bins or another mechanism."
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """A count for each bin, column by column."""
        return (self.d * self.count,)

    @property
    def parts(self) -> tuple[Part, ...]:
        """One run of counts."""
        return (Part("bins", 1, self.d * self.count),)

    def of(self, rows: Rows, *, scratch: bool = False) -> Integers:  # noqa: ARG002
        """Count the block's rows by bin, in each column."""
        counted = None
        if self.aside is not None:
            rows, shares = self.aside.apart(rows)
            counted = np.repeat(self.aside.counted(shares), self.d)
        offsets = np.arange(self.d) * self.count
        return np.bincount((self.places(rows) + offsets).ravel(), counted, self.d * self.count).astype(np.int64)

    def entries(self, total: Integers) -> Integers:
        """Return the counts."""
        return total

    def places(self, rows: Rows) -> NDArray[np.int64]:
        """Return the bin of each entry, by elementwise arithmetic: a function of that entry alone."""
        with np.errstate(all="ignore"):
            steps = np.floor((np.clip(self.grid.placed(rows), -1.0, 1.0) + 1.0) * (self.count / 2))
        return np.minimum(steps, self.count - 1).astype(np.int64)

    def to_json(self, writing: Writing) -> dict[str, Any]:
        """Store the box and the number of bins."""
        return {"rows": writing.rows(self.grid), "bins": self.count}

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:
        """Read the box and the number of bins."""
        rows = reading.rows(fields.take("rows", dict))
        if not isinstance(rows, Box):
            raise ParameterError("bins must divide a box, got rows of another shape. Hint: use Box.")
        return cls(rows, reading.coordinates(rows), fields.take("bins", int))

    def sensitivity_squared(self, neighbors: str) -> int:
        """In each column one bin loses a row and another gains one; or one bin changes."""
        return {REPLACE: 2, ADD_REMOVE: 1}[neighbors] * self.d * self.person**2

    def sensitivity_l1(self, neighbors: str) -> Fraction:
        """In each column one bin loses a row and another gains one; or one bin changes."""
        return Fraction({REPLACE: 2, ADD_REMOVE: 1}[neighbors] * self.d * self.person)


@dataclass(frozen=True)
class Rank(Choice):
    """Which bin of one column holds the value with ``rows`` rows below it."""

    bins: Bins
    column: int
    rows: int
    name = "quantile"
    serves_people: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_rows(self.rows)
        if type(self.column) is not int or not 0 <= self.column < self.bins.d:
            raise ParameterError(
                f"column must be an integer from 0 to {self.bins.d - 1}, got {shown(self.column)}. Hint: columns count from 0."
            )

    @property
    def counted(self) -> Bins:
        """The counts that it is about."""
        return self.bins

    def fits(self, public: Public) -> bool:
        """Whether its counts are those that are proved, and of such rows."""
        return type(self.bins) is Bins and super().fits(public)

    @property
    def candidates(self) -> int:
        """How many there are to choose from."""
        return self.bins.count

    def scores(self, counts: Integers) -> Integers:
        """Return −max(Nₖ − M, M − Nₖ₊₁, 0), Nₖ rows below bin k: how many rows must change before it is the bin."""
        below = outside(counts.reshape(self.bins.d, self.bins.count)[self.column])
        return rank_scores(below, self.whole(self.rows))

    @property
    def weights(self) -> Integers:
        """No bin is likelier than another."""
        return np.ones(self.bins.count, dtype=np.int64)

    def middle(self, index: int) -> float:
        """Return the middle of a bin, in half widths of the box from its centre."""
        return (2 * index + 1) / self.bins.count - 1

    def to_json(self, writing: Writing) -> dict[str, Any]:
        """Store the bins, the column and the rows below."""
        return {**self.bins.to_json(writing), "column": self.column, "below": self.rows}

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:
        """Read what `to_json` wrote."""
        return cls(Bins.from_json(fields, reading), fields.take("column", int), fields.take("below", int))
