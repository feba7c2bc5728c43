"""What the statistics share that are computed from an exact second moment, not summed over rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError
from dpcov.kernel.questions.measure import Integers, Measure
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.frames import Ball, Ellipsoid
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.rows.standard import Standard

if TYPE_CHECKING:
    from dpcov.kernel.public import Public
    from dpcov.kernel.questions.filing import Writing

Floats = NDArray[np.float64]

VALUE_BITS = 16  # derived numbers are answered in steps of 2⁻¹⁶·R²
SPARE_ROWS = 2**11
"""For each column, at least: the room that so many rows leave in `steps_lost` holds what a basis orthonormal to 1e-12 adds."""


@dataclass(frozen=True)
class OfMoment(Measure):
    """Numbers derived from one second moment."""

    moment: SecondMoment
    unit_bits = VALUE_BITS
    shapes: ClassVar[tuple[type, ...]] = (Grid, Annulus)

    def of_moment(self, total: Integers) -> Integers:
        """Return the exact numbers, from the exact sum."""
        raise NotImplementedError

    def fits(self, public: Public) -> bool:
        """Whether the second moment is one, and of such rows."""
        return type(self.moment) is SecondMoment and super().fits(public)

    def to_json(self, writing: Writing) -> dict[str, Any]:
        """Store the rows of the second moment."""
        return self.moment.to_json(writing)

    @property
    def d(self) -> int:
        """The coordinates of a row."""
        return self.moment.d

    @property
    def grid(self) -> Grid | Annulus | Ball | Ellipsoid | Standard:
        """The encoding of rows."""
        return self.moment.grid

    @property
    def reach(self) -> Fraction:
        """How far one row reaches, in squared units: 1, or less in an annulus."""
        return Fraction(self.grid.reach, self.grid.one**2)


def steps_lost(work: int, rows: int, *, times: int = 1) -> int:
    """Return how many steps two neighbours' computed numbers can be further apart than the exact ones.

    One by rounding. In float64 each errs by at most 2·work·rows·2⁻⁵³, where ``rows`` bounds |b|ᵀ|S||b| ≤ tr S; both do. A
    number made of ``times`` such numbers has the errors of all.
    """
    return 1 + math.ceil(Fraction(4 * times * work * max(rows, SPARE_ROWS * work), 2 ** (53 - VALUE_BITS)))


def checked_basis(basis: object, d: int, count: int) -> Floats:
    """Return a copy of orthonormal columns, or refuse others: a longer basis would move more."""
    # Only plain arrays: others can hide entries from the checks. And small integers would wrap around in them.
    if type(basis) is not np.ndarray or basis.dtype != np.float64 or basis.ndim != 2 or basis.shape != (d, count):
        raise ParameterError(
            "basis must be a float64 matrix of the stated size, got something else. Hint: its columns are the directions."
        )
    if not 1 <= count <= d:  # looked at before a product of many columns, which would take much memory
        raise ParameterError(f"basis must have 1 to {d} columns, got {count}. Hint: at most {d} directions are orthogonal.")
    kept = basis.copy()  # the caller may change its own
    with np.errstate(all="ignore"):  # entries beyond 1 could cancel, or turn into NaN, which no comparison finds
        orthonormal = np.abs(kept).max() <= 1 + 1e-12 and np.abs(kept.T @ kept - np.eye(count)).max() <= 1e-12
    if not orthonormal:
        raise ParameterError("basis must be orthonormal to 1e-12, got one that is not. Hint: numpy.linalg.qr makes one.")
    kept.flags.writeable = False
    return kept
