"""The public bounds of `coinpress`: two positive definite matrices, one at most the other."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from dpcov.errors import ParameterError
from dpcov.linalg import whitener_of
from dpcov.mechanisms.shared.means import Floats, checked_covariance

DEFAULT_CONDITION = 1e6
LARGEST_CONDITION = 1e12
SLACK = 1e-3  # ill-conditioned bounds are known to fewer digits
STRETCH = (2.0**-10, 16.0)  # how far a whitener may leave what the bounds allow: for rows that exceed them, and for slack


@dataclass(frozen=True, eq=False)
class Bounds:
    """The whitener of the upper bound, and by how much that can exceed the lower one."""

    whitener: Floats
    condition: float

    def within(self, whitener: Floats, least: float | None = None) -> Floats:
        """Return the nearest whitener that stretches no direction more than the bounds can make necessary.

        With Σ ⪰ upper/condition no direction of the first whitener's coordinates need be stretched by more than √condition.
        Rows without spread in some direction, whose noise is all there is, would else be stretched without end.
        """
        left, sizes, right = np.linalg.svd(np.linalg.solve(self.whitener.T, whitener.T).T)
        inside = np.clip(sizes, STRETCH[0] if least is None else least, STRETCH[1] * math.sqrt(self.condition))
        return np.asarray((left * inside) @ right @ self.whitener)


def checked_upper(upper: ArrayLike | None, row_norm: float, d: int) -> Floats:
    """Return the upper bound that was given, or the one that follows from a public bound on the norm of rows."""
    return checked_covariance(row_norm**2 if upper is None else upper, d, "upper")


def checked_bounds(upper: ArrayLike | None, lower: ArrayLike | None, row_norm: float, d: int) -> Bounds:
    """Return the bounds that were given, or those that follow from a public bound on the norm of rows."""
    top = checked_upper(upper, row_norm, d)
    if lower is None:
        bottom = top / DEFAULT_CONDITION if upper is None else np.eye(d)
    else:
        bottom = checked_covariance(lower, d, "lower")
    whitener = whitener_of(top)
    with np.errstate(all="ignore"):
        whitened = whitener @ bottom @ whitener.T
    known = bool(np.isfinite(whitened).all())  # bounds of very different sizes overflow
    relative = np.linalg.eigvalsh(whitened) if known else np.full(d, np.inf)
    if relative[-1] > 1 + SLACK:
        raise ParameterError("upper must be at least lower in every direction, got less. Hint: lower is 1 if you leave it out.")
    if relative[0] < 1 / LARGEST_CONDITION:
        raise ParameterError(
            f"upper must be at most {LARGEST_CONDITION:g} times lower, got more. Hint: give bounds for each column, as lists."
        )
    return Bounds(whitener, max(1.0, float(1 / relative[0])))
