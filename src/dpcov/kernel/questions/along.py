"""What lies along a public orthonormal basis: a diagonal of the second moment, and what of the trace is left.

Sensitivities are those of `spectral`: any orthonormal basis has them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from dpcov.kernel.questions.basis import BASES, Basis, read_basis
from dpcov.kernel.questions.derived import Floats, steps_lost
from dpcov.kernel.questions.measure import Integers
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.questions.spectral import Values, to_floats, to_steps

if TYPE_CHECKING:
    from dpcov.kernel.public import Public
    from dpcov.kernel.questions.filing import Reading, Writing
    from dpcov.strict_json import Fields


@dataclass(frozen=True)
class AlongBasis(Values):
    """Numbers along the orthonormal columns of a public basis: what `Diagonal` and `Explained` share."""

    basis: Basis
    extra: ClassVar[int] = 0  # numbers beside those along the columns

    @classmethod
    def of(cls, moment: SecondMoment, basis: Basis) -> Self:
        """Return the question for all columns of a basis."""
        return cls(moment, basis.count + cls.extra, basis)

    def fits(self, public: Public) -> bool:
        """Whether the basis has the coordinates of rows."""
        if not super().fits(public) or type(self.basis) not in BASES:
            return False
        return self.basis.count >= 1 and (self.basis.d, self.basis.count) == (self.d, self.count - self.extra)

    def to_json(self, writing: Writing) -> dict[str, Any]:
        """Store the basis, too, or what it was found in."""
        return {**super().to_json(writing), "basis": self.basis.to_json(writing)}

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:
        """Read the basis, too."""
        moment, rows = SecondMoment.from_json(fields, reading), fields.take("at most", int)
        return cls.of(moment, read_basis(fields.take("basis", dict), reading)).among(rows)

    def _along(self, matrix: Floats) -> Floats:
        columns = self.basis.columns  # checked before the sum was read: a refusal here could show it
        return np.asarray(np.einsum("ij,ij->j", columns, matrix @ columns))


@dataclass(frozen=True)
class Diagonal(AlongBasis):
    """bᵢᵀSbᵢ for the orthonormal columns bᵢ of a public basis."""

    name = "diagonal in a basis"

    def of_moment(self, total: Integers) -> Integers:
        """Multiply by the basis from both sides."""
        return to_steps(self._along(to_floats(total, self.moment)))


@dataclass(frozen=True)
class Explained(AlongBasis):
    """bᵢᵀSbᵢ for the orthonormal columns bᵢ, and what of the trace is left: the diagonal in a whole basis, its end summed.

    For each row these are squares that sum to ‖x‖² ≤ 1, so the bounds are those of a diagonal.
    """

    name = "explained"
    extra: ClassVar[int] = 1

    @property
    def lost(self) -> tuple[int, int]:
        """What is left of the trace has the errors of all the others, and its own."""
        each = steps_lost(self.d + 2, self.rows)
        return each, steps_lost(self.d + 2, self.rows, times=self.count) - each

    def of_moment(self, total: Integers) -> Integers:
        """Multiply by the basis from both sides, and take the result from the trace."""
        matrix = to_floats(total, self.moment)
        along = self._along(matrix)
        return to_steps(np.append(along, np.trace(matrix) - along.sum()))
