"""One second moment for each public group, and how many rows each has: the price of one (docs/mechanisms/groups.md).

Each row is in one group at most, so a row that is replaced may leave one group and enter another: it moves *two* blocks of the
block-diagonal matrix ⊕ S_g, one by −xxᵀ and one by yyᵀ. The rows of a person may be in all k groups. Their shares add up to at
most 1 over all groups together, so a person's ⊕ A_g is positive semidefinite with Σ tr A_g ≤ R²: it moves no further than one
row, but k blocks. For rows with ‖z‖² ≤ R², k ≥ 2 groups, and any d, 1 as well:

===============  ==============================  ===========  ============
statistic        distance                        replace      add-remove
===============  ==============================  ===========  ============
`GroupedMoment`  Frobenius, squared              2·R⁴         R⁴
`GroupedMoment`  triangles, L1                   (d+1)·R²     (d+1)/2·R²
`GroupedMoment`  nuclear                         2·R²         R²
`GroupedMoment`  blocks that move, of rows       2            1
`GroupedMoment`  blocks that move, of people     k            k
`GroupCounts`    squared L2, L1                  2            1
===============  ==============================  ===========  ============
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from dpcov.errors import ParameterError
from dpcov.kernel.questions.measure import Integers, Part, Rows
from dpcov.kernel.questions.moments import ADD_REMOVE, EXACT, REPLACE, CountedRows, SumOverRows, gram
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.rows.groups import check_count, members
from dpcov.kernel.rows.standard import Standard
from dpcov.linalg import pack, triangle_size

if TYPE_CHECKING:
    from dpcov.kernel.public import Public
    from dpcov.kernel.questions.filing import Reading, Writing
    from dpcov.strict_json import Fields

MOST_ENTRIES = 2**29
"""Of all triangles together: as many as one matrix of 2¹⁵ columns has."""

WITH_NOTHING_SHARED = {REPLACE: 2, ADD_REMOVE: 1}
"""How many contributions a neighbour changes: where one goes and another comes they may be in different groups, so their sizes
add up and nothing cancels."""


@dataclass(frozen=True)
class GroupedMoment(SumOverRows):
    """S_g = Σ z zᵀ over the integer rows of each group: the diagonals of all groups, then the strict upper triangles of all."""

    grid: Grid | Standard
    count: int
    name = "second moments of groups"
    shapes: ClassVar[tuple[type, ...]] = (Grid, Standard)
    serves_people: ClassVar[bool] = True
    by_group = True

    def __post_init__(self) -> None:
        check_count(self.count)
        if type(self.d) is not int or not self.d >= 1 or self.size > MOST_ENTRIES:
            raise ParameterError(
                "groups must have at most 2**29 numbers in their triangles together, got more. Hint: fewer columns or groups."
            )

    def fits(self, public: Public) -> bool:
        """Whether rows are encoded so, and have so many groups."""
        groups = public.encoding.groups
        return groups is not None and groups.count == self.count and super().fits(public)

    @property
    def unit_bits(self) -> int:
        """Products of two coordinates are multiples of 4⁻ᵏ; of people of 4⁻ᵏ⁻ᵉ."""
        return 2 * (self.grid.bits + self.finer)

    @property
    def max_block(self) -> int:
        """Partial sums of products stay exact, as those of all rows together do."""
        return EXACT // self.scaled_one**2

    @property
    def shape(self) -> tuple[int, ...]:
        """A packed matrix for each group."""
        return (self.count, triangle_size(self.d))

    @property
    def parts(self) -> tuple[Part, ...]:
        """The diagonals and the strict upper triangles."""
        above = triangle_size(self.d) - self.d
        return (Part("diagonal", 1, self.count * self.d), Part("off-diagonal", 2, self.count * above))

    def of(self, rows: Rows, *, scratch: bool = False) -> Integers:  # noqa: ARG002 - a part of a block is never overwritten
        """Multiply the integer rows of each group."""
        total = np.zeros(self.shape, dtype=np.int64)
        self.add_to(total, rows)
        return total

    def add_to(self, total: Integers, rows: Rows) -> None:
        """Add the block's rows in place: together the matrices may be larger than a block."""
        order, begins = members(rows[:, -1], self.count)
        z = self.scaled(rows[:, :-1], scratch=False)[order]
        for group in range(self.count):
            total[group] += pack(gram(z[begins[group] : begins[group + 1]]))

    def entries(self, total: Integers) -> Integers:
        """Return all diagonals, then all triangles."""
        return np.concatenate([total[:, : self.d].ravel(), total[:, self.d :].ravel()])

    def blocks(self, entries: Integers) -> Integers:
        """Return a packed matrix for each group: the way back from `entries`."""
        diagonals, above = np.split(entries, [self.count * self.d])
        return np.concatenate([diagonals.reshape(self.count, -1), above.reshape(self.count, -1)], axis=1)

    def gives_n(self, integers: Integers) -> int | None:
        """Return the n that is nearest to the sum of the noisy corners n_g·a² of centred rows, at least 1."""
        if not isinstance(self.grid, Grid) or not self.grid.center:
            return None
        square = (self.grid.constant << self.finer) ** 2
        corners = sum(int(corner) for corner in integers[: self.count * self.d : self.d])
        return max(1, (corners + square // 2) // square)

    def moved(self, neighbors: str) -> int:
        """How many blocks one row moves, or one person: noise on the others is the same for both neighbours."""
        several = self.aside is not None and bool(self.aside.unit)
        return self.count if several else WITH_NOTHING_SHARED[neighbors]

    def sensitivity_squared(self, neighbors: str) -> int:
        """Bound ‖A − B‖²_F ≤ ‖A‖²_F + ‖B‖²_F ≤ 2R⁴, as ⟨A, B⟩ ≥ 0 and ‖A‖_F ≤ tr A ≤ R², all blocks together; ‖A‖²_F ≤ R⁴."""
        return WITH_NOTHING_SHARED[neighbors] * self.scaled_reach**2

    def sensitivity_l1(self, neighbors: str) -> Fraction:
        """Bound Σ_{i≤j} |xᵢxⱼ| = (‖x‖² + ‖x‖₁²)/2 ≤ (d+1)/2·R², or an average of it, for what comes and for what goes."""
        return Fraction(WITH_NOTHING_SHARED[neighbors] * (self.d + 1), 2) * self.scaled_reach

    def sensitivity_nuclear(self, neighbors: str) -> int:
        """Bound ‖A − B‖_* ≤ tr A + tr B ≤ 2R² over all blocks together; ‖A‖_* = tr A ≤ R²."""
        return WITH_NOTHING_SHARED[neighbors] * self.scaled_reach

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:
        """Read which rows it is about; how many groups there are is public."""
        rows = reading.rows(fields.take("rows", dict))
        return cls(rows, reading.coordinates(rows), reading.groups().count)  # type: ignore[arg-type]  # others do not fit


@dataclass(frozen=True)
class GroupCounts(CountedRows):
    """How many rows there are in each group, or how much people's count: private under either relation.

    A row that is replaced may change its group.
    """

    count: int
    name = "counts of groups"
    serves_people: ClassVar[bool] = True
    by_group = True

    def __post_init__(self) -> None:
        check_count(self.count)

    def fits(self, public: Public) -> bool:
        """Whether there are so many groups."""
        groups = public.encoding.groups
        return groups is not None and groups.count == self.count

    @property
    def shape(self) -> tuple[int, ...]:
        """A count for each group."""
        return (self.count,)

    @property
    def parts(self) -> tuple[Part, ...]:
        """One run of counts."""
        return (Part("groups", 1, self.count),)

    def of(self, rows: Rows, *, scratch: bool = False) -> Integers:  # noqa: ARG002
        """Count the block's rows by group, or what they count: in whole numbers below 2⁵³."""
        order, begins = members(rows[:, -1], self.count)
        counted = np.ones(len(rows)) if self.aside is None else self.aside.counted(self.aside.apart(rows[:, :-1]).shares)
        running = np.concatenate([np.zeros(1), np.cumsum(counted[order])])
        return np.diff(running[begins]).astype(np.int64)

    def entries(self, total: Integers) -> Integers:
        """Return the counts."""
        return total

    def gives_n(self, integers: Integers) -> int:
        """Return how many rows are in some group, or what people's count there, at least 1."""
        return max(1, (sum(int(one) for one in integers) + self.person // 2) // self.person)

    def to_json(self, writing: Writing) -> dict[str, Any]:  # noqa: ARG002 - the groups follow from the encoding
        """Store nothing."""
        return {}

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:  # noqa: ARG003
        """Read nothing."""
        return cls(reading.groups().count)

    def sensitivity_squared(self, neighbors: str) -> int:
        """‖c − c′‖² ≤ ‖c‖² + ‖c′‖² ≤ 2, as counts c of what comes or goes are at least 0 and add up to at most 1."""
        return WITH_NOTHING_SHARED[neighbors] * self.person**2

    def sensitivity_l1(self, neighbors: str) -> Fraction:
        """They add up to at most 1 for what goes, and for what comes."""
        return Fraction(WITH_NOTHING_SHARED[neighbors] * self.person)
