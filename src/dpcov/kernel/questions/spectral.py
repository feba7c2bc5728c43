"""Numbers derived from the exact second moment: its eigenvalues, and its diagonal in an orthonormal basis.

They are computed in float64, rounded to multiples of 2⁻¹⁶ of a row, and answered with exact noise. For rows of norm at most 1

=====================  =============================  =============  ==========
distance               bound                          replace        add-remove
=====================  =============================  =============  ==========
L1 of either           Weyl and trace; trace          2 (d=1: 1)     1
L2 of either           Hoffman-Wielandt; Frobenius    √2 (d=1: 1)    1
=====================  =============================  =============  ==========

What rounding and float64 add to each number is in the sensitivities (docs/guarantee.md, "Numbers from float64"): two steps,
and more only where rows times columns exceed 2³⁵.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from dpcov.errors import ParameterError
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.noise.sphere import eigenvalues
from dpcov.kernel.questions.derived import VALUE_BITS, Floats, OfMoment, steps_lost
from dpcov.kernel.questions.measure import Integers, Part
from dpcov.kernel.questions.moments import ADD_REMOVE, MAX_ROWS, REPLACE, SecondMoment
from dpcov.linalg import sqrt_up, unpack

if TYPE_CHECKING:
    from dpcov.kernel.public import Public
    from dpcov.kernel.questions.filing import Reading, Writing
    from dpcov.strict_json import Fields

NOISE_ROWS = 2**29
"""How much noise all values along subtracted directions may have together, in rows: half of the largest table's sum."""

TAIL = 80.0  # exceeding that has probability e⁻⁸⁰, below 2⁻¹¹⁵: as in `kernel.noise.matrix`


def to_floats(total: Integers, moment: SecondMoment) -> Floats:
    """Return the exact second moment as floats, in units of rows of norm 1."""
    return np.ldexp(unpack(total, moment.d).astype(np.float64), -moment.unit_bits)


def to_steps(values: Floats) -> Integers:
    """Round numbers to multiples of 2⁻¹⁶."""
    return np.rint(np.ldexp(values, VALUE_BITS)).astype(np.int64)


@dataclass(frozen=True)
class Values(OfMoment):
    """``count`` numbers that are the diagonal of the second moment in some orthonormal basis, or its eigenvalues.

    ``rows`` is a public bound on the number of rows; a curator sets its own.
    """

    count: int
    rows: int = field(default=MAX_ROWS, kw_only=True)
    name = "diagonal"
    serves_people: ClassVar[bool] = True

    def fits(self, public: Public) -> bool:
        """Whether there are no more numbers than coordinates, and no more rows than it says."""
        counted = type(self.count) is int and type(self.rows) is int
        return counted and super().fits(public) and 1 <= self.count <= public.d and self.rows >= public.most_rows

    def to_json(self, writing: Writing) -> dict[str, Any]:
        """Store the rows, and how many there may be."""
        return {**super().to_json(writing), "at most": self.rows}

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:
        """Read the rows, and how many there may be: of `Spectrum`, all eigenvalues."""
        moment = SecondMoment.from_json(fields, reading)
        return cls(moment, moment.d, rows=fields.take("at most", int))

    @property
    def parts(self) -> tuple[Part, ...]:
        """One run of numbers."""
        return (Part("values", 1, self.count),)

    def among(self, rows: int) -> Self:
        """Return the same numbers of so many rows."""
        sized = copy.copy(self)
        object.__setattr__(sized, "rows", rows)
        return sized

    @property
    def lost(self) -> tuple[int, int]:
        """The steps by which each number may be further apart, and by how many more the last one."""
        return steps_lost(self.d + 2, self.rows), 0

    def check_noise(self, law: NoiseLaw) -> None:
        """Refuse noise that would spoil the numbers to come: none does where directions are projected out."""

    def sensitivity_squared(self, neighbors: str) -> int:
        """(√(2·4¹⁶) + 2√count)², rounded up."""
        squared = {REPLACE: 2 if self.d > 1 else 1, ADD_REMOVE: 1}[neighbors] * 4**VALUE_BITS
        each, more = self.lost
        norm = sqrt_up(Fraction(squared)) * self.reach + each * sqrt_up(Fraction(self.count)) + more
        return math.ceil(norm**2)

    def sensitivity_l1(self, neighbors: str) -> Fraction:
        """2·2¹⁶ + 2·count."""
        moved = Fraction({REPLACE: 2 if self.d > 1 else 1, ADD_REMOVE: 1}[neighbors] * 2**VALUE_BITS)
        each, more = self.lost
        return moved * self.reach + each * self.count + more


@dataclass(frozen=True)
class Quotients(Values):
    """``count`` numbers uᵀCu for unit vectors that need not be orthogonal, where C is S less what was answered before.

    Each may move by 1. C is no longer than S and all noise together; subtracting each answer rounds its entries three times.
    """

    name = "quotients"

    @property
    def lost(self) -> tuple[int, int]:
        """As many as of more rows, and by more operations."""
        return steps_lost(self.d + 2 + 2 * self.count, self.rows + NOISE_ROWS), 0

    def check_noise(self, law: NoiseLaw) -> None:
        """Refuse so much noise that, once subtracted, float64 would lose more of the rows than ``lost`` allows for."""
        deviation = math.sqrt(law.spread().diagonal_variance) * 2.0**-VALUE_BITS
        if (self.count + math.sqrt(2 * self.count * TAIL) + TAIL) * deviation > NOISE_ROWS:
            raise ParameterError(
                f"budget must be larger for float64 to subtract its noise, got noise of {deviation:.2g} rows on each value. "
                f"Hint: spend more, or project drawn directions out: then nothing is subtracted."
            )

    def sensitivity_squared(self, neighbors: str) -> int:  # noqa: ARG002 - 1 in either relation
        """count·(2¹⁶ + 2)²."""
        return self.count * int(2**VALUE_BITS + self.lost[0]) ** 2

    def sensitivity_l1(self, neighbors: str) -> Fraction:  # noqa: ARG002
        """count·(2¹⁶ + 2)."""
        return Fraction(self.count * (2**VALUE_BITS + self.lost[0]))


@dataclass(frozen=True)
class Spectrum(Values):
    """All eigenvalues of the second moment, descending."""

    name = "spectrum"

    def fits(self, public: Public) -> bool:
        """Whether all of them are asked for."""
        return super().fits(public) and self.count == public.d

    def of_moment(self, total: Integers) -> Integers:
        """Decompose the exact matrix."""
        return to_steps(eigenvalues(to_floats(total, self.moment)))
