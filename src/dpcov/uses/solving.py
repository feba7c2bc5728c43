"""The system that a ridge regression solves."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CLEAR = 1e-9  # of the largest eigenvalue: with a larger penalty a positive semidefinite system is safely solved
SINGULAR = 1e-12  # of the largest eigenvalue: below it directions have no coefficients where there is no penalty
LARGEST_ALPHA = 1e300


def solved(matrix: Floats, moments: Floats, alpha: float, postprocess: str = "none") -> Floats:
    """Return (C₊ + α)⁻¹ c, with C₊ the positive semidefinite part of C; finite for any symmetric C, any c and any α ≥ 0.

    Without a penalty, directions in which C₊ has nothing get no coefficients: the least-squares solution of smallest norm.
    """
    scale = float(np.abs(matrix).max(initial=0.0))  # there may be no column to predict from that is not constant
    if not 0 < scale < math.inf:
        return np.zeros(len(moments))
    with np.errstate(all="ignore"):  # units may be far from 1
        unit, aim, penalty = matrix / scale, moments / scale, alpha / scale if alpha < scale * LARGEST_ALPHA else math.inf
    if penalty == math.inf:
        return np.zeros(len(moments))
    if postprocess != "none" and penalty >= CLEAR * len(unit):
        from scipy.linalg import LinAlgError, cho_factor, cho_solve

        try:
            return np.asarray(cho_solve(cho_factor(unit + penalty * np.eye(len(unit))), aim))
        except LinAlgError:  # rounding has left it indefinite after all
            pass
    values, vectors = np.linalg.eigh(unit)
    lifted = np.maximum(values, 0.0) + penalty
    kept = lifted > SINGULAR * float(lifted[-1])
    along = vectors[:, kept].T @ aim
    return np.asarray(vectors[:, kept] @ (along / lifted[kept]))
