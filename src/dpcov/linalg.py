"""Symmetric matrices: packed triangles and projections.

A symmetric matrix is packed as its diagonal followed by its strict upper triangle, row by row, so
that the two kinds of entries, which carry different noise, are two contiguous runs.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Number = TypeVar("Number", np.int64, np.float64)


def pack(matrix: NDArray[Number]) -> NDArray[Number]:
    """Diagonal, then strict upper triangle row by row."""
    return np.concatenate([matrix.diagonal(), matrix[_strict_upper(len(matrix))]])


def unpack(triangle: NDArray[Number], d: int) -> NDArray[Number]:
    """Return the symmetric matrix that `pack` would turn into ``triangle``."""
    matrix = np.zeros((d, d), dtype=triangle.dtype)
    matrix[_strict_upper(d)] = triangle[d:]
    matrix += matrix.T
    np.fill_diagonal(matrix, triangle[:d])
    return matrix


def _strict_upper(d: int) -> NDArray[np.bool_]:
    return ~np.tri(d, dtype=np.bool_)


def triangle_size(d: int) -> int:
    """Count the entries of a packed ``d`` by ``d`` matrix."""
    return d * (d + 1) // 2


def sqrt_up(value: Fraction) -> Fraction:
    """Return a rational number above the square root, by at most 2⁻⁴⁰."""
    return Fraction(math.isqrt(math.ceil(value * 4**40)) + 1, 2**40)


def sqrt_down(value: Fraction) -> Fraction:
    """Return a rational number below the square root, by at most 2⁻⁶⁰ relatively for values above 2⁻⁶⁰."""
    return Fraction(math.isqrt(math.floor(value * 4**90)), 2**90)


def from_spectrum(eigenvalues: NDArray[np.float64], vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return V diag(eigenvalues) Vᵀ for eigenvalues ≥ 0, exactly symmetric.

    Written as B Bᵀ because BLAS then does half the work and fills both halves alike.
    """
    kept = eigenvalues > 0
    factor = vectors[:, kept] * np.sqrt(eigenvalues[kept])
    return np.asarray(factor @ factor.T)


def assembled(directions: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Σ valueᵢ·uᵢuᵢᵀ for directions in rows, exactly symmetric."""
    total = (directions.T * values) @ directions
    return np.asarray((total + total.T) / 2)


def orthonormal_rows(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest orthonormal rows, for rows that are so but for rounding."""
    left, _, right = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(left @ right)


def monotone(values: NDArray[np.float64], *, increasing: bool) -> NDArray[np.float64]:
    """Return the nearest sequence that ascends, or descends, in the given order."""
    from scipy.optimize import isotonic_regression

    return np.asarray(isotonic_regression(values, increasing=increasing).x)


def project_simplex(values: NDArray[np.float64], total: float) -> NDArray[np.float64]:
    """Return the nearest vector that is nonnegative and sums to at most ``total``.

    Where the sum binds, every coordinate is lowered by the same amount and cut at zero; that amount is
    found from the sorted values (Held, Wolfe and Crowder 1974).
    """
    positive = np.maximum(values, 0.0)
    if positive.sum() <= total:
        return positive
    descending = np.sort(positive)[::-1]
    lowered = (np.cumsum(descending) - total) / np.arange(1, len(values) + 1)
    active = np.flatnonzero(descending > lowered)
    if len(active) == 0:  # the total is lost in the rounding of values beyond 1e16 times its size
        return np.where(values == values.max(), total / np.sum(values == values.max()), 0.0)
    projected = np.maximum(values - lowered[active[-1]], 0.0)
    return np.asarray(projected * min(1.0, total / projected.sum()))  # the last digits of a large sum may be lost


def as_numbers(value: object) -> NDArray[np.float64] | None:
    """Return a number, or lists of them, as an array; None for anything else: text, truth values, ragged lists."""
    try:
        found = np.asarray(value)
    except ValueError:
        return None
    return found.astype(np.float64) if found.dtype.kind in "iuf" else None


def is_positive_definite(matrix: NDArray[np.float64], *, smallest: float, least: float) -> bool:
    """Whether a square matrix is symmetric, with roots of its diagonal above ``smallest`` and, scaled by them, eigenvalues
    above ``least``.
    """  # noqa: D205 - one sentence
    scales = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
    if not scales.min() > smallest:
        return False
    scaled = matrix / np.outer(scales, scales)
    return bool(np.allclose(scaled, scaled.T, rtol=0, atol=1e-9) and np.linalg.eigvalsh(scaled)[0] > least)


def whitener_of(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a W with W Σ Wᵀ = 1 for a positive definite Σ, whatever the units of its columns."""
    scales = np.sqrt(matrix.diagonal())
    values, vectors = np.linalg.eigh(matrix / np.outer(scales, scales))
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T / scales)


def into_ball(point: NDArray[np.float64], centre: NDArray[np.float64], radius: float) -> NDArray[np.float64]:
    """Return the nearest point within ``radius`` of ``centre``, for any finite numbers: squares could overflow."""
    step = point - centre
    largest = float(np.abs(step).max())
    if largest == 0 or not math.isfinite(largest):
        return centre.copy()
    distance = largest * float(np.linalg.norm(step / largest))
    return np.asarray(centre + step * min(1.0, radius / distance))
