"""Count, sum and second moment of the integer rows, with their sensitivities.

Sensitivities are in integers, or rounded up, for rows with ‖z‖ ≤ R = 2ᵏ (proofs in docs/mechanisms/); rows of an `Annulus` or a
`Box` have ‖z‖² ≤ ``reach`` in place of R²:

==============  ====================  ====================================================  ============
statistic       distance              replace                                               add-remove
==============  ====================  ====================================================  ============
`Count`         (n − n′)², |n − n′|   0                                                     1
`Sum`           ‖Σz − Σz′‖²           4·R²                                                  R²
`Sum`           ‖Σz − Σz′‖₁           2√d·R                                                 √d·R
`SecondMoment`  ‖S − S′‖²_F           2·R⁴ (d=1: R⁴)                                        R⁴
`SecondMoment`  triangle, L1          (2 + √((d−1)(d−2)/2))·R² (d=2: √5·R²; d=1: R²)        (d+1)/2·R²
`SecondMoment`  ‖S − S′‖_* (nuclear)  2·R² (d=1: R²)                                        R²
==============  ====================  ====================================================  ============
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from dpcov.errors import EngineError, check_choice
from dpcov.kernel.questions.measure import Integers, Measure, Part, Rows
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.frames import Ball, Box, Ellipsoid
from dpcov.kernel.rows.grid import DEFAULT_BITS, Grid, most_rows
from dpcov.kernel.rows.standard import Standard
from dpcov.linalg import pack, sqrt_up, triangle_size

if TYPE_CHECKING:
    from dpcov.kernel.public import Public
    from dpcov.kernel.questions.filing import Reading, Writing
    from dpcov.strict_json import Fields

EXACT = 2**53
"""Integers up to here are exact in float64, in sums as well, whatever the order of addition."""

MAX_ROWS = most_rows(DEFAULT_BITS)
"""2³⁰, unless more are expected, in public: then the grid is coarser (`Encoding.most_rows`)."""

REPLACE = "replace"
ADD_REMOVE = "add-remove"
NEIGHBORS = (REPLACE, ADD_REMOVE)


def check_neighbors(neighbors: object) -> None:
    """Refuse an unknown relation: a sensitivity is for one of the two."""
    check_choice("neighbors", neighbors, NEIGHBORS, "'replace' keeps n public, 'add-remove' protects it")


@dataclass(frozen=True)
class Count(Measure):
    """How many rows there are, or people; where these may count less than once, how much they count in all."""

    name = "count"
    serves_people: ClassVar[bool] = True
    shape = (1,)

    @property
    def is_of_people(self) -> bool:
        """Whether it counts people, each once: their source has counted them."""
        return self.aside is not None and not self.weighs

    @property
    def unit_bits(self) -> int:
        """Whole rows or people, or the least part of one that is counted."""
        return self.person_bits if self.weighs else 0

    @property
    def max_block(self) -> int:
        """Partial sums stay exact."""
        return EXACT >> self.unit_bits

    @property
    def parts(self) -> tuple[Part, ...]:
        """One number."""
        return (Part("count", 1, 1),)

    def of(self, rows: Rows, *, scratch: bool = False) -> Integers:  # noqa: ARG002
        """Count the block's rows; people are counted by their source, unless they count less than once."""
        if self.aside is not None and self.weighs:
            return np.array([self.aside.counted(self.aside.apart(rows).shares).sum()]).astype(np.int64)
        if self.is_of_people:  # one person would count as often as there are rows
            raise EngineError("a source must count people itself, and did not. Hint: report this bug of the source.")
        return np.array([len(rows)], dtype=np.int64)

    def entries(self, total: Integers) -> Integers:
        """Return the one number."""
        return total

    def fits(self, public: Public) -> bool:  # noqa: ARG002
        """Return True: any rows can be counted."""
        return True

    def gives_n(self, integers: Integers) -> int:
        """Return the count, at least 1."""
        return max(1, (int(integers[0]) + (1 << self.unit_bits >> 1)) >> self.unit_bits)

    def to_json(self, writing: Writing) -> dict[str, Any]:  # noqa: ARG002
        """Store nothing."""
        return {}

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:  # noqa: ARG003
        """Read nothing."""
        return cls()

    def sensitivity_squared(self, neighbors: str) -> int:
        """Return 0 where a row is replaced, 1 where one is added; in both where rows may count differently."""
        return {REPLACE: int(self.weighs), ADD_REMOVE: 1}[neighbors] << 2 * self.unit_bits

    def sensitivity_l1(self, neighbors: str) -> Fraction:
        """Return 0 where a row is replaced, 1 where one is added; in both where rows may count differently."""
        return Fraction({REPLACE: int(self.weighs), ADD_REMOVE: 1}[neighbors] << self.unit_bits)


class CountedRows(Measure):
    """What counts of rows, or of people, have in common."""

    @property
    def unit_bits(self) -> int:
        """Whole rows, or the least part of a person that is counted."""
        return self.person_bits

    @property
    def max_block(self) -> int:
        """Partial sums of counts stay exact."""
        return EXACT // self.person


@dataclass(frozen=True)
class SumOverRows(Measure):
    """What the sums have in common whose only public numbers are the rows that they are about."""

    grid: Any
    d: int

    @property
    def finer(self) -> int:
        """Bits that scaled rows of people have beyond those of the grid."""
        return 0 if self.aside is None else self.aside.finer

    @property
    def scaled_one(self) -> int:
        """The integer that stands for 1 in rows that are multiplied with each other."""
        return int(self.grid.one) << self.finer

    @property
    def scaled_reach(self) -> int:
        """What ‖z‖² may be in such rows; of all rows of a person together as well."""
        return int(self.grid.reach) << 2 * self.finer

    def scaled(self, rows: Rows, *, scratch: bool) -> Rows:
        """Return integer rows to be multiplied with each other: those of a person each with the root of its share."""
        if self.aside is None:
            return np.asarray(self.grid.encode(rows, scratch=scratch))
        features, shares = self.aside.apart(rows)
        if isinstance(self.grid, Annulus):  # of which rows that lie inside are left out
            _, beyond, places = self.grid.encode_parts(features, scratch=scratch)
            return self.aside.scaled(beyond, shares[places], self.grid.reach)
        return self.aside.scaled(self.grid.encode(features, scratch=scratch), shares, self.grid.reach)

    def to_json(self, writing: Writing) -> dict[str, Any]:
        """Store which rows it is about."""
        return {"rows": writing.rows(self.grid)}

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:
        """Read which rows it is about."""
        rows = reading.rows(fields.take("rows", dict))
        return cls(rows, reading.coordinates(rows))


@dataclass(frozen=True)
class Sum(SumOverRows):
    """Σ z over the integer rows."""

    grid: Grid | Ball | Box | Ellipsoid
    name = "sum"
    shapes: ClassVar[tuple[type, ...]] = (Grid, Ball, Box, Ellipsoid)
    serves_people: ClassVar[bool] = True

    @property
    def unit_bits(self) -> int:
        """Coordinates are multiples of 2⁻ᵏ; of people of 2⁻ᵏ⁻ᵇ."""
        return self.grid.bits + self.person_bits

    @property
    def max_block(self) -> int:
        """Partial sums of coordinates stay exact: |zⱼ| ≤ 2ᵏ."""
        return EXACT // (self.grid.one << self.person_bits)

    @property
    def shape(self) -> tuple[int, ...]:
        """One sum for each coordinate."""
        return (self.d,)

    @property
    def parts(self) -> tuple[Part, ...]:
        """One run of d coordinates."""
        return (Part("coordinates", 1, self.d),)

    def of(self, rows: Rows, *, scratch: bool = False) -> Integers:
        """Add up the block's integer rows, of people each times what it counts."""
        if self.aside is None:
            return np.asarray(self.grid.encode(rows, scratch=scratch).sum(axis=0), dtype=np.int64)
        features, shares = self.aside.apart(rows)
        counted = self.aside.counted(shares)[:, None]
        return np.asarray((self.grid.encode(features, scratch=scratch) * counted).sum(axis=0), dtype=np.int64)

    def entries(self, total: Integers) -> Integers:
        """Return the coordinates."""
        return total

    def sensitivity_squared(self, neighbors: str) -> int:
        """‖z − z′‖² ≤ (2R)² by the triangle inequality; ‖z‖² ≤ R²."""
        return {REPLACE: 4, ADD_REMOVE: 1}[neighbors] * self.grid.reach * self.person**2

    def sensitivity_l1(self, neighbors: str) -> Fraction:
        """‖z‖₁ ≤ √d·‖z‖."""
        return {REPLACE: 2, ADD_REMOVE: 1}[neighbors] * sqrt_up(Fraction(self.d * self.grid.reach)) * self.person


@dataclass(frozen=True)
class SecondMoment(SumOverRows):
    """S = Σ z zᵀ over the integer rows, packed: the diagonal, then the strict upper triangle.

    In the squared Frobenius distance a diagonal entry counts once and an upper one twice: those are the weights.
    """

    grid: Grid | Annulus | Ball | Ellipsoid | Standard
    name = "second moment"
    shapes: ClassVar[tuple[type, ...]] = (Grid, Annulus, Ball, Ellipsoid, Standard)
    serves_people: ClassVar[bool] = True

    @property
    def unit_bits(self) -> int:
        """Products of two coordinates are multiples of 4⁻ᵏ; of people of 4⁻ᵏ⁻ᵉ."""
        return 2 * (self.grid.bits + self.finer)

    @property
    def max_block(self) -> int:
        """Partial sums of products stay exact: Σ|zᵢzⱼ| ≤ Σ‖z‖² ≤ rows·4ᵏ ≤ 2⁵³."""
        return EXACT // self.scaled_one**2

    @property
    def shape(self) -> tuple[int, ...]:
        """The whole matrix, before it is packed."""
        return (self.d, self.d)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The diagonal and the strict upper triangle."""
        return (Part("diagonal", 1, self.d), Part("off-diagonal", 2, triangle_size(self.d) - self.d))

    def of(self, rows: Rows, *, scratch: bool = False) -> Integers:
        """Multiply the block's integer rows in float64, where every partial sum is an exact integer."""
        return gram(self.scaled(rows, scratch=scratch))

    def entries(self, total: Integers) -> Integers:
        """Pack the symmetric matrix."""
        return pack(total)

    def gives_n(self, integers: Integers) -> int | None:
        """Return the n that is nearest to the noisy corner n·a² of centred rows, at least 1."""
        if not isinstance(self.grid, Grid) or not self.grid.center:
            return None
        square = (self.grid.constant << self.finer) ** 2
        return max(1, (int(integers[0]) + square // 2) // square)

    def sensitivity_squared(self, neighbors: str) -> int:
        """‖xxᵀ − yyᵀ‖²_F = ‖x‖⁴ + ‖y‖⁴ − 2(x·y)² ≤ 2R⁴; for one column (x² − y²)² ≤ R⁴; ‖xxᵀ‖²_F ≤ R⁴."""
        return {REPLACE: 2 if self.d > 1 else 1, ADD_REMOVE: 1}[neighbors] * self.scaled_reach**2

    def sensitivity_l1(self, neighbors: str) -> Fraction:
        """Bound Σ_{i≤j} |xᵢxⱼ − yᵢyⱼ|: docs/mechanisms/laplace.md, in units of R²."""
        d = self.d
        add_remove = Fraction(d + 1, 2)
        by_columns = {1: Fraction(1), 2: sqrt_up(Fraction(5))}
        replace = by_columns.get(d) or 2 + sqrt_up(Fraction((d - 1) * (d - 2), 2))
        return {REPLACE: replace, ADD_REMOVE: add_remove}[neighbors] * self.scaled_reach

    def sensitivity_nuclear(self, neighbors: str) -> int:
        """‖xxᵀ − yyᵀ‖_* ≤ ‖x‖² + ‖y‖² ≤ 2R²; for one column |x² − y²| ≤ R²; ‖xxᵀ‖_* = ‖x‖² ≤ R²."""
        return {REPLACE: 2 if self.d > 1 else 1, ADD_REMOVE: 1}[neighbors] * self.scaled_reach


def gram(z: Rows) -> Integers:
    """Return zᵀz of integer rows, exact as long as all sums stay below 2⁵³."""
    with np.errstate(all="ignore"):
        return (z.T @ z).astype(np.int64)
