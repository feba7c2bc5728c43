r"""One number: how much of a second moment lies along a public matrix Q = V diag(w) Vᵀ with 0 ⪯ Q ⪯ 1.

⟨E, Q⟩ is a sum over rows of zᵀQz, between 0 and ‖z‖² ≤ R²: one row moves it by at most R² in both relations. Q is rounded to
multiples of 2⁻²⁰ and the sum is taken in integers. Rounding moves its eigenvalues by at most d·2⁻²¹, and what V lacks to be
orthonormal by less: a row may add between −d·2⁻²⁰ and 1 + d·2⁻²⁰ times R². The result is rounded down to steps of 2⁻¹⁶·R².
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError
from dpcov.kernel.questions.basis import BASES, Basis, read_basis
from dpcov.kernel.questions.derived import VALUE_BITS, OfMoment
from dpcov.kernel.questions.measure import Integers, Part
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.linalg import unpack
from dpcov.strict_json import each

if TYPE_CHECKING:
    from dpcov.kernel.public import Public
    from dpcov.kernel.questions.filing import Reading, Writing
    from dpcov.strict_json import Fields

Floats = NDArray[np.float64]

WEIGHT_BITS = 20
LIMB = 21  # three of them hold an entry of the moment; a limb times an entry of Q, added over 2¹⁵ columns, stays below 2⁶³


@dataclass(frozen=True)
class Overlap(OfMoment):
    """⟨E, V diag(w) Vᵀ⟩ for the second moment E, an orthonormal basis V and a weight in [0, 1] for each of its columns."""

    basis: Basis
    weights: tuple[float, ...]
    name = "overlap"
    serves_people: ClassVar[bool] = True

    def __post_init__(self) -> None:
        known = type(self.weights) is tuple and all(type(weight) is float for weight in self.weights)
        if not known or len(self.weights) != self.moment.d or not all(0 <= weight <= 1 for weight in self.weights):
            raise ParameterError(
                "weights must hold a number from 0 to 1 for each column of the basis, got something else. Hint: scale them."
            )

    @property
    def parts(self) -> tuple[Part, ...]:
        """One number."""
        return (Part("overlap", 1, 1),)

    def fits(self, public: Public) -> bool:
        """Whether the basis is a whole one."""
        return super().fits(public) and type(self.basis) in BASES and self.basis.d == self.basis.count == self.d

    def of_moment(self, total: Integers) -> Integers:
        """Multiply entry by entry, in exact integers."""
        factor = self.basis.columns * np.sqrt(np.array(self.weights) * 2.0**WEIGHT_BITS)
        public = np.rint(factor @ factor.T).astype(np.int64)
        entries = unpack(total, self.d)
        limbs = (entries & (2**LIMB - 1), (entries >> LIMB) & (2**LIMB - 1), entries >> 2 * LIMB)
        sums = [sum(np.einsum("ij,ij->i", limb, public).tolist()) for limb in limbs]
        exact = sum(part << (i * LIMB) for i, part in enumerate(sums))
        return np.array([exact >> (WEIGHT_BITS + self.moment.unit_bits - VALUE_BITS)], dtype=np.int64)

    def sensitivity_squared(self, neighbors: str) -> int:
        """Square the other one, rounded up."""
        return math.ceil(self.sensitivity_l1(neighbors) ** 2)

    def sensitivity_l1(self, neighbors: str) -> Fraction:  # noqa: ARG002 - the same in both relations
        """2¹⁶·R², what rounding Q adds, and one step for rounding down."""
        reach = self.reach * Fraction(2**VALUE_BITS)
        return reach * (1 + Fraction(self.d, 2 ** (WEIGHT_BITS - 1))) + 1

    def to_json(self, writing: Writing) -> dict[str, Any]:
        """Store the basis, or what it was found in, and the weights."""
        return {**super().to_json(writing), "basis": self.basis.to_json(writing), "weights": list(self.weights)}

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:
        """Read what `to_json` wrote."""
        moment, basis = SecondMoment.from_json(fields, reading), read_basis(fields.take("basis", dict), reading)
        return cls(moment, basis, tuple(each(fields.take("weights", list), float, "weights")))
