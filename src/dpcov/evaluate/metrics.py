"""The errors that people report: how far an estimate is from the truth, or from another estimate.

Covariances: `frobenius`, `spectral`, `mahalanobis`. Means: `euclidean`, `mahalanobis_mean`. Subspaces: `principal_angles`,
`captured_variance`.

>>> import numpy as np
>>> round(mahalanobis(np.diag([1.1, 4.4]), np.diag([1.0, 4.0])), 3)
0.141
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcov.errors import ParameterError
from dpcov.linalg import as_numbers, is_positive_definite, whitener_of

Floats = NDArray[np.float64]


def frobenius(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Return ‖estimate − truth‖_F, the root of the sum of squared entries."""
    return float(np.linalg.norm(_matrix("estimate", estimate) - _matrix("truth", truth, like=estimate)))


def spectral(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Return ‖estimate − truth‖₂, the largest error in any direction."""
    return float(np.linalg.norm(_matrix("estimate", estimate) - _matrix("truth", truth, like=estimate), 2))


def mahalanobis(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Return ‖Σ^{-1/2} Σ̂ Σ^{-1/2} − 1‖_F: the Frobenius error in units in which the truth is the identity.

    It is the same whatever the units of the columns, and however they are mixed. The truth must be positive definite.
    """
    whitener = _whitener("truth", truth)
    whitened = whitener @ _matrix("estimate", estimate, like=truth) @ whitener.T
    return float(np.linalg.norm(whitened - np.eye(len(whitened))))


def euclidean(estimate: ArrayLike, truth: ArrayLike) -> float:
    """Return ‖estimate − truth‖ of two means."""
    return float(np.linalg.norm(_vector("estimate", estimate) - _vector("truth", truth, like=estimate)))


def mahalanobis_mean(estimate: ArrayLike, truth: ArrayLike, covariance: ArrayLike) -> float:
    """Return ‖Σ^{-1/2}(estimate − truth)‖: the error of a mean in standard deviations of the rows."""
    whitener = _whitener("covariance", covariance)
    difference = _vector("estimate", estimate) - _vector("truth", truth, like=estimate)
    if len(difference) != len(whitener):
        raise ParameterError(
            f"covariance must have {len(difference)} rows, like the mean, got {len(whitener)}. Hint: check the shapes."
        )
    return float(np.linalg.norm(whitener @ difference))


def principal_angles(first: ArrayLike, second: ArrayLike) -> Floats:
    """Return the angles between two subspaces, in radians, the smallest first; rows span them, as in ``release.directions``."""
    one, other = _basis("first", first), _basis("second", second)
    if one.shape[0] != other.shape[0]:
        raise ParameterError(
            f"second must have {one.shape[0]} columns, like first, got {other.shape[0]}. Hint: give one row for each direction."
        )
    cosines = np.linalg.svd(one.T @ other, compute_uv=False)
    sines = np.linalg.svd(other - one @ (one.T @ other), compute_uv=False)[::-1][: len(cosines)]
    # Cosines tell large angles, sines small ones: near 0 all cosines look alike.
    angles = np.where(cosines**2 > 0.5, np.arcsin(np.clip(sines, 0.0, 1.0)), np.arccos(np.clip(cosines, -1.0, 1.0)))
    return np.asarray(angles)


def captured_variance(directions: ArrayLike, second_moment: ArrayLike) -> float:
    """Return q_F = tr(VᵀAV): how much of the second moment A lies in the span of the directions, given as rows."""
    moment = _matrix("second_moment", second_moment)
    basis = _basis("directions", directions)
    if len(basis) != len(moment):
        raise ParameterError(
            f"directions must have {len(moment)} columns, like second_moment, got {len(basis)}. Hint: a row for each direction."
        )
    return float(np.trace(basis.T @ moment @ basis))


def _basis(name: str, directions: ArrayLike) -> Floats:
    """Return an orthonormal basis, in columns, of what the rows span."""
    rows = np.atleast_2d(_numbers(name, directions))
    if rows.ndim != 2 or not 1 <= rows.shape[0] <= rows.shape[1]:
        raise ParameterError(
            f"{name} must have one direction in each row, at most as many as columns, got shape {rows.shape}. Hint: transpose."
        )
    vectors, sizes, _ = np.linalg.svd(rows.T, full_matrices=False)
    if sizes[-1] <= 1e-12 * sizes[0]:
        raise ParameterError(f"{name} must be linearly independent directions, got dependent ones. Hint: leave some out.")
    return np.asarray(vectors)


def _matrix(name: str, value: ArrayLike, like: ArrayLike | None = None) -> Floats:
    matrix = _numbers(name, value)
    fits = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] and matrix.size > 0
    if not fits or (like is not None and matrix.shape != np.shape(like)):
        raise ParameterError(
            f"{name} must be a square matrix, of the same shape as the other, got shape {matrix.shape}. Hint: d by d."
        )
    return matrix


def _vector(name: str, value: ArrayLike, like: ArrayLike | None = None) -> Floats:
    vector = _numbers(name, value)
    if vector.ndim != 1 or vector.size == 0 or (like is not None and vector.shape != np.shape(like)):
        raise ParameterError(
            f"{name} must be a list of numbers, as long as the other, got shape {vector.shape}. Hint: pass a mean."
        )
    return vector


def _numbers(name: str, value: ArrayLike) -> Floats:
    found = as_numbers(value)
    if found is None or not np.isfinite(found).all():
        raise ParameterError(f"{name} must be finite numbers, got something else. Hint: pass a list of numbers, or an array.")
    return found


def _whitener(name: str, covariance: ArrayLike) -> Floats:
    matrix = _matrix(name, covariance)
    if not is_positive_definite(matrix, smallest=0.0, least=1e-14):
        raise ParameterError(
            f"{name} must be positive definite, got a matrix that is not. Hint: leave out columns that do not vary."
        )
    return whitener_of(matrix)
