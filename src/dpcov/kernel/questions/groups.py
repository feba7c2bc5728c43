"""One second moment for each public group, and how many rows each has: the price of one (docs/mechanisms/groups.md).

Each row is in one group at most, so a row that is replaced may leave one group and enter another: it moves *two* blocks of the
block-diagonal matrix ⊕ S_g, one by −xxᵀ and one by yyᵀ. For rows with ‖z‖² ≤ R², k ≥ 2 groups, and any d, 1 as well:

===============  ====================  ===========  ============
statistic        distance              replace      add-remove
===============  ====================  ===========  ============
`GroupedMoment`  Frobenius, squared    2·R⁴         R⁴
`GroupedMoment`  triangles, L1         (d+1)·R²     (d+1)/2·R²
`GroupedMoment`  nuclear               2·R²         R²
`GroupedMoment`  blocks that move      2            1
`GroupCounts`    squared L2, L1        2            1
===============  ====================  ===========  ============
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from dpcov.errors import ParameterError
from dpcov.kernel.questions.measure import Integers, Measure, Part, Rows
from dpcov.kernel.questions.moments import ADD_REMOVE, EXACT, REPLACE, SumOverRows, gram
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


@dataclass(frozen=True)
class GroupedMoment(SumOverRows):
    """S_g = Σ z zᵀ over the integer rows of each group: the diagonals of all groups, then the strict upper triangles of all."""

    grid: Grid | Standard
    count: int
    name = "second moments of groups"
    shapes: ClassVar[tuple[type, ...]] = (Grid, Standard)
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
        """Products of two coordinates are multiples of 4⁻ᵏ."""
        return 2 * self.grid.bits

    @property
    def max_block(self) -> int:
        """Partial sums of products stay exact, as those of all rows together do."""
        return EXACT // self.grid.one**2

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
        z = self.grid.encode(rows[:, :-1])[order]
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
        square = self.grid.constant**2
        corners = sum(int(corner) for corner in integers[: self.count * self.d : self.d])
        return max(1, (corners + square // 2) // square)

    @staticmethod
    def moved(neighbors: str) -> int:
        """How many blocks one row moves: noise on the others is the same for both neighbours."""
        return {REPLACE: 2, ADD_REMOVE: 1}[neighbors]

    def sensitivity_squared(self, neighbors: str) -> int:
        """‖xxᵀ‖²_F + ‖yyᵀ‖²_F ≤ 2R⁴ in two blocks; ‖xxᵀ − yyᵀ‖²_F ≤ 2R⁴ in one; ‖xxᵀ‖²_F ≤ R⁴."""
        return self.moved(neighbors) * self.grid.reach**2

    def sensitivity_l1(self, neighbors: str) -> Fraction:
        """Σ_{i≤j} |xᵢxⱼ| = (‖x‖² + ‖x‖₁²)/2 ≤ (d+1)/2·R², for each row that comes or goes: in two blocks nothing cancels."""
        return Fraction(self.moved(neighbors) * (self.d + 1), 2) * self.grid.reach

    def sensitivity_nuclear(self, neighbors: str) -> int:
        """‖xxᵀ‖_* + ‖yyᵀ‖_* = ‖x‖² + ‖y‖² ≤ 2R², in two blocks or in one; ‖xxᵀ‖_* ≤ R²."""
        return self.moved(neighbors) * self.grid.reach

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:
        """Read which rows it is about; how many groups there are is public."""
        rows = reading.rows(fields.take("rows", dict))
        return cls(rows, reading.coordinates(rows), reading.groups().count)  # type: ignore[arg-type]  # others do not fit


@dataclass(frozen=True)
class GroupCounts(Measure):
    """How many rows there are in each group: private under either relation, as a row that is replaced may change its group."""

    count: int
    name = "counts of groups"
    unit_bits = 0
    max_block = EXACT
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
        """Count the block's rows by group."""
        return np.diff(members(rows[:, -1], self.count)[1]).astype(np.int64)

    def entries(self, total: Integers) -> Integers:
        """Return the counts."""
        return total

    def gives_n(self, integers: Integers) -> int:
        """Return how many rows are in some group, at least 1."""
        return max(1, sum(int(one) for one in integers))

    def to_json(self, writing: Writing) -> dict[str, Any]:  # noqa: ARG002 - the groups follow from the encoding
        """Store nothing."""
        return {}

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:  # noqa: ARG003
        """Read nothing."""
        return cls(reading.groups().count)

    def sensitivity_squared(self, neighbors: str) -> int:
        """One count falls by 1 and another rises by 1; or one of them changes."""
        return {REPLACE: 2, ADD_REMOVE: 1}[neighbors]

    def sensitivity_l1(self, neighbors: str) -> Fraction:
        """As many counts change by 1."""
        return Fraction(self.sensitivity_squared(neighbors))
