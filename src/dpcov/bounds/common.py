"""What the bounds share: the tail of a Gamma variable, and checks of parameters."""

from __future__ import annotations

import math
import numbers

import numpy as np

from dpcov.errors import ParameterError, check_real, shown


def gamma_tail(shape: float, x: float) -> float:
    """Return what a Gamma(shape) variable exceeds with probability at most exp(−x) (Laurent and Massart 2000, Lemma 1)."""
    return shape + math.sqrt(2 * shape * x) + x


def check_counts(**counts: int) -> None:
    """Refuse what is not a whole number from 1 on, or too large for a float."""
    for name, value in counts.items():
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not 1 <= value <= 2**53:
            raise ParameterError(
                f"{name} must be a whole number from 1 to 2**53, got {shown(value)}. Hint: it is a number of rows or columns."
            )


def check_positive(**quantities: float) -> None:
    """Refuse what is not a positive finite number."""
    for name, value in quantities.items():
        check_real(name, value, "positive and finite", math.ulp(0.0), np.finfo(np.float64).max, "check its units")


def check_beta(beta: float) -> None:
    """Refuse a probability of failure of 0 or 1."""
    check_real("beta", beta, "between 0 and 1, both excluded", np.finfo(np.float64).tiny, 1 - 2.0**-53, "0.05 is a usual value")


def check_radius(**radii: float) -> None:
    """Refuse a radius outside (0, 1]."""
    for name, value in radii.items():
        check_real(name, value, "above 0 and at most 1", math.ulp(0.0), 1.0, "it is in units of the rows' largest norm")
