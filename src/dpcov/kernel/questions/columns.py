r"""Parts of the second moment that are about columns: its diagonal, and the block of some of them. Exact integers both.

Rows are clipped with all their columns, ‖z‖² ≤ R². For each row the squares zⱼ² are nonnegative and sum to at most R², and the
columns that are kept make a shorter row. So

=============  ============  ================  ===========
statistic      distance      replace           add-remove
=============  ============  ================  ===========
`Squares`      L1            2·R² (d=1: R²)    R²
`Squares`      squared L2    2·R⁴ (d=1: R⁴)    R⁴
=============  ============  ================  ===========

and a `Block` moves no further than a `SecondMoment` of as many columns as are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from dpcov.errors import ParameterError
from dpcov.kernel.questions.derived import OfMoment
from dpcov.kernel.questions.measure import Integers, Part, rows_fit
from dpcov.kernel.questions.moments import ADD_REMOVE, REPLACE, SecondMoment
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.grid import Grid
from dpcov.linalg import pack, unpack
from dpcov.strict_json import each

if TYPE_CHECKING:
    from dpcov.kernel.public import Public
    from dpcov.kernel.questions.filing import Reading, Writing
    from dpcov.strict_json import Fields


@dataclass(frozen=True)
class Squares(OfMoment):
    """Σ zⱼ² for each column: the diagonal of a second moment, in its own units."""

    name = "squares"
    serves_people: ClassVar[bool] = True

    @property
    def unit_bits(self) -> int:  # type: ignore[override]
        """Squares are multiples of 4⁻ᵏ."""
        return self.moment.unit_bits

    @property
    def parts(self) -> tuple[Part, ...]:
        """One run of numbers."""
        return (Part("columns", 1, self.d),)

    def of_moment(self, total: Integers) -> Integers:
        """Return the diagonal of the exact matrix."""
        return total[: self.d].copy()

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:
        """Read which rows it is about."""
        return cls(SecondMoment.from_json(fields, reading))

    def sensitivity_squared(self, neighbors: str) -> int:
        """‖p − q‖² ≤ ‖p‖² + ‖q‖² ≤ 2R⁴ for nonnegative p, q that sum to at most R²; one number moves by R² at most."""
        return {REPLACE: 2 if self.d > 1 else 1, ADD_REMOVE: 1}[neighbors] * self.moment.scaled_reach**2

    def sensitivity_l1(self, neighbors: str) -> Fraction:
        """‖p − q‖₁ ≤ 2R²."""
        return Fraction({REPLACE: 2 if self.d > 1 else 1, ADD_REMOVE: 1}[neighbors] * self.moment.scaled_reach)


@dataclass(frozen=True)
class Block(SecondMoment):
    """Rows and columns of the second moment of rows with ``whole`` columns: those of ``columns``, ascending; d counts them."""

    whole: int = 0
    columns: tuple[int, ...] = ()
    name = "block"
    shapes: ClassVar[tuple[type, ...]] = (Grid, Annulus)

    def __post_init__(self) -> None:
        # Exact types only: sensitivities are computed from d, and a class of its own could count differently each time.
        ints = type(self.d) is int and type(self.whole) is int and type(self.columns) is tuple
        ints = ints and all(type(column) is int for column in self.columns)
        ascending = ints and all(a < b for a, b in zip(self.columns, self.columns[1:], strict=False))
        inside = ascending and bool(self.columns) and self.columns[0] >= 0 and self.columns[-1] < self.whole
        if not inside or self.d != len(self.columns):
            raise ParameterError(
                "columns must be positions in ascending order, got something else. Hint: each column once, from 0."
            )

    def fits(self, public: Public) -> bool:
        """Whether the rows that it is a block of are encoded so."""
        return type(self.grid) in self.shapes and rows_fit(self.grid, self.whole, public)

    def gives_n(self, integers: Integers) -> None:
        """Return None: the constant need not be among the columns."""

    def to_json(self, writing: Writing) -> dict[str, Any]:
        """Store the rows and the columns."""
        return {**super().to_json(writing), "columns": list(self.columns)}

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:
        """Read the rows and the columns."""
        rows: Any = reading.rows(fields.take("rows", dict))
        columns = tuple(each(fields.take("columns", list), int, "columns"))
        return cls(rows, len(columns), reading.coordinates(rows), columns)

    @property
    def moment(self) -> SecondMoment:
        """The whole second moment."""
        return SecondMoment(self.grid, self.whole, aside=self.aside)

    def of_moment(self, total: Integers) -> Integers:
        """Take the block out of the exact matrix."""
        kept = np.array(self.columns)
        return pack(unpack(total, self.whole)[np.ix_(kept, kept)])


def block_of(moment: SecondMoment, columns: tuple[int, ...]) -> Block:
    """Return the block of these columns of a second moment."""
    return Block(moment.grid, len(columns), moment.d, columns, aside=moment.aside)
