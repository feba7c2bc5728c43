r"""One number: how much of a second moment lies along a public matrix Q = V diag(w) Vᵀ with 0 ⪯ Q ⪯ 1.

⟨E, Q⟩ is a sum over rows of zᵀQz, between 0 and ‖z‖² ≤ R²: one row moves it by at most R² in both relations. Q is rounded to
multiples of 2⁻²⁰ and the sum is taken in integers. Rounding moves its eigenvalues by at most d·2⁻²¹, and what V lacks to be
orthonormal by less: a row may add between −d·2⁻²⁰ and 1 + d·2⁻²⁰ times R². The result is rounded down to steps of 2⁻¹⁶·R².
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError
from dpcov.kernel.questions.derived import VALUE_BITS, OfMoment, checked_basis
from dpcov.kernel.questions.measure import Integers, Part
from dpcov.linalg import unpack

Floats = NDArray[np.float64]

WEIGHT_BITS = 20
LIMB = 21  # three of them hold an entry of the moment; a limb times an entry of Q, added over 2¹⁵ columns, stays below 2⁶³


@dataclass(frozen=True)
class AnyOverlap(OfMoment):
    """⟨E, Q⟩ as a file tells it, without Q: the noise that it needs depends on the number of columns alone."""

    name = "overlap"

    @property
    def parts(self) -> tuple[Part, ...]:
        """One number."""
        return (Part("overlap", 1, 1),)

    def sensitivity_squared(self, neighbors: str) -> int:
        """Square the other one, rounded up."""
        return math.ceil(self.sensitivity_l1(neighbors) ** 2)

    def sensitivity_l1(self, neighbors: str) -> Fraction:  # noqa: ARG002 - the same in both relations
        """2¹⁶·R², what rounding Q adds, and one step for rounding down."""
        reach = self.reach * Fraction(2**VALUE_BITS)
        return reach * (1 + Fraction(self.d, 2 ** (WEIGHT_BITS - 1))) + 1


@dataclass(frozen=True, eq=False)
class Overlap(AnyOverlap):
    """⟨E, V diag(w) Vᵀ⟩ for the second moment E, orthonormal columns V and weights w in [0, 1]."""

    basis: Floats
    along: Floats

    def __post_init__(self) -> None:
        along = np.array(self.along, dtype=np.float64)
        if along.shape != (self.moment.d,) or not np.all((along >= 0) & (along <= 1)):
            raise ParameterError("weights must be one for each column of the basis, in [0, 1], got others. Hint: divide them.")
        along.flags.writeable = False
        object.__setattr__(self, "along", along)
        object.__setattr__(self, "basis", checked_basis(self.basis, self.moment.d, self.moment.d))

    def of_moment(self, total: Integers) -> Integers:
        """Multiply entry by entry, in exact integers."""
        factor = self.basis * np.sqrt(self.along * 2.0**WEIGHT_BITS)
        public = np.rint(factor @ factor.T).astype(np.int64)
        entries = unpack(total, self.d)
        limbs = (entries & (2**LIMB - 1), (entries >> LIMB) & (2**LIMB - 1), entries >> 2 * LIMB)
        sums = [sum(np.einsum("ij,ij->i", limb, public).tolist()) for limb in limbs]
        exact = sum(part << (i * LIMB) for i, part in enumerate(sums))
        return np.array([exact >> (WEIGHT_BITS + self.moment.unit_bits - VALUE_BITS)], dtype=np.int64)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Overlap)
            and other.moment == self.moment
            and np.array_equal(other.basis, self.basis)
            and np.array_equal(other.along, self.along)
        )

    def __hash__(self) -> int:
        return hash(self.moment)
