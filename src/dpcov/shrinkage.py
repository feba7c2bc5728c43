"""Post-processing of a noisy second moment: better estimates from the same release, at no cost in privacy.

Every function here sees only noisy matrices and public numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpcov.linalg import from_spectrum, project_simplex

Matrix = NDArray[np.float64]


def none(noisy: Matrix, bound: float) -> Matrix:  # noqa: ARG001 - one signature for all
    """Return the raw noisy matrix: unbiased for the clipped rows, not always positive semidefinite."""
    return noisy


def clip(noisy: Matrix, bound: float) -> Matrix:
    """Move each eigenvalue into [0, bound], as the papers do."""
    eigenvalues, vectors = np.linalg.eigh(noisy)
    return from_spectrum(np.clip(eigenvalues, 0.0, bound), vectors)


def project(noisy: Matrix, bound: float) -> Matrix:
    """Return the nearest positive semidefinite matrix with trace at most ``bound``, in Frobenius norm.

    The truth lies in that convex set, so the projection is never farther from it than the noisy matrix.
    """
    eigenvalues, vectors = np.linalg.eigh(noisy)
    return from_spectrum(project_simplex(eigenvalues, bound), vectors)


POSTPROCESS: dict[str, Callable[[Matrix, float], Matrix]] = {"none": none, "clip": clip, "project": project}
