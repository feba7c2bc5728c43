r"""Subspaces from the matrix Bingham law, density ∝ exp(c·tr VᵀSV), by Gibbs sampling: they have it **in the limit only**.

Hoff's sampler (2009) redraws one column of V after the other, given the rest. Given the others, W, a column has the Bingham law
on the sphere of what is orthogonal to W, and is drawn exactly, as in `sphere`: in the eigenbasis of S, with D = κI − 2cΛ,

.. math:: u = z / \|z\|, \quad z \sim N(0, (N^T D N)^{-1}) \text{ lifted by } N, \quad N^T W = 0, \quad s = u^T D u,

accepted with log-probability −(s − m)/2 + (m/2)·log(s/m), m = d − k + 1. The law does not depend on κ; κ near the root of
tr(NᵀDN)⁻¹ = 1 is accepted most often. NᵀDN is never formed. D may have up to k − 1 negative entries, the first (T): by
interlacing all others (R) are at least as large as the smallest eigenvalue of NᵀDN. In the coordinates y = D₊^{1/2}z, where D₊
is D with its first k − 1 entries raised to 1, let UR be the thin QR of the R-rows of D₊^{−1/2}W. The part of y_R that is
orthogonal to U is free, and y_T with h = Uᵀy_R lies in a space of k − 1 dimensions: a draw costs O(dk).

A chain of finite length has no ε: docs/mechanisms/ppca.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.bits import Bits
from dpcov.kernel.noise.normal import normals
from dpcov.kernel.noise.sphere import best_kappa

Floats = NDArray[np.float64]

BATCH = 1.5  # times √m proposals at a time: one of them is accepted in three batches of four, or more
NEAR = 1.0  # over √m: tr(NᵀDN)⁻¹ within this of 1 is near enough; farther off, far fewer proposals are accepted
MOST_TRIES = 100  # to find κ
BLOCK = 2**16  # normal numbers are made so many at a time


def uniform_subspace(d: int, k: int, bits: Bits) -> Floats:
    """Draw k orthonormal columns uniformly."""
    square, triangle = np.linalg.qr(normals(d * k, bits).reshape(d, k))
    return np.asarray(square * np.where(triangle.diagonal() < 0, -1.0, 1.0))


def sweeps(spectrum: Floats, k: int, concentration: float, bits: Bits) -> Iterator[Floats]:
    """Yield the states of a chain for ever, k ≥ 2 columns each, in the eigenbasis of S; the first is uniform.

    Parameters
    ----------
    spectrum : ndarray
        The eigenvalues of S, descending.
    """
    d = len(spectrum)
    assert 2 <= k < d
    assert concentration >= 0
    column = _Column(2 * concentration * (spectrum[0] - spectrum), k, bits)
    state = uniform_subspace(d, k, bits)
    while True:
        yield state.copy()
        for r in range(k):
            with np.errstate(all="ignore"):  # a warning would be about the rows
                state[:, r] = column.redrawn(np.delete(state, r, axis=1), r)


def matrix_bingham(
    spectrum: Floats, k: int, concentration: float, count: int, bits: Bits, progress: Callable[[float], None] | None = None
) -> Floats:
    """Return the state of a chain after ``count`` sweeps, in the eigenbasis of S."""
    chain = sweeps(spectrum, k, concentration, bits)
    state = next(chain)
    for done in range(count):
        state = next(chain)
        if progress is not None and done % 128 == 0:
            progress(done / count)
    return state


class _Factor(NamedTuple):
    """How to draw z: y_R is standard normal, but its part along U is h, and (y_T, h) = normal numbers @ ``spread``."""

    roots: Floats
    """of D₊: z = y/roots"""
    ratio: Floats
    """D/D₊ on T"""
    basis: Floats
    """U"""
    spread: Floats
    trace: float
    """tr(NᵀDN)⁻¹, which is 1 for the best κ"""
    squared_trace: float
    """tr(NᵀDN)⁻², minus the derivative of the other"""


class _Column:
    """Draws one column given the others; ``gaps`` are 2c(λ₁ − λⱼ), so that D = κ + gaps."""

    def __init__(self, gaps: Floats, k: int, bits: Bits) -> None:
        self._gaps, self._k, self._m = gaps, k, len(gaps) - k + 1
        self._bits = bits
        self._count = math.ceil(BATCH * math.sqrt(self._m))
        self._stock, self._used = np.zeros(0), 0
        # Interlacing: the i-th eigenvalue on the complement of W lies between the i-th and the (i + k − 1)-th of all.
        self._least, self._most = (best_kappa(-part, 0.5) for part in (gaps[k - 1 :], gaps[: self._m]))
        self._kappas = [self._most] * k  # of each column, the last one

    def redrawn(self, others: Floats, number: int) -> Floats:
        """Draw a unit vector orthogonal to the columns of ``others``: the column of this number."""
        factor = self._tuned(others, number)
        while True:
            vectors, accepted = self._propose(factor)
            if accepted.any():
                return np.asarray(vectors[int(np.argmax(accepted))])  # the first one accepted

    def _tuned(self, others: Floats, number: int) -> _Factor:
        """Return the factor for a κ with tr(NᵀDN)⁻¹ near 1, starting from the column's last one; only speed depends on κ."""
        low, high, kappa = self._least, self._most, self._kappas[number]
        for _ in range(MOST_TRIES):
            factor = self._factor(others, kappa)
            if factor is not None and abs(factor.trace - 1) < NEAR / math.sqrt(self._m):
                self._kappas[number] = kappa
                return factor
            low, high = (kappa, high) if factor is None or factor.trace > 1 else (low, kappa)
            newton = math.nan  # 1/trace is concave in κ
            if factor is not None:
                newton = kappa + factor.trace * (factor.trace - 1) / factor.squared_trace
            kappa = newton if low < newton < high else (low + high) / 2
        step = 1.0  # gaps so large that floats have no such κ
        while (factor := self._factor(others, high)) is None:
            high, step = high + step * max(1.0, abs(high) * 2.0**-50), 2 * step
        return factor

    def _factor(self, others: Floats, kappa: float) -> _Factor | None:
        """Factor NᵀDN; None where it is not positive definite."""
        top = self._k - 1
        diagonal = kappa + self._gaps
        raised = diagonal.copy()
        raised[:top] = np.maximum(diagonal[:top], 1.0)
        if raised[top] <= 0:
            return None
        roots = np.sqrt(raised)
        scaled = others / roots[:, None]
        basis, triangle = np.linalg.qr(scaled[top:])
        free = np.linalg.qr(np.vstack([scaled[:top], triangle]), mode="complete")[0][:, top:]  # what the constraint leaves
        ratio = diagonal[:top] / raised[:top]
        precision = free[:top].T @ (ratio[:, None] * free[:top]) + free[top:].T @ free[top:]
        try:
            spread = np.linalg.solve(np.linalg.cholesky(precision), free.T)
        except np.linalg.LinAlgError:
            return None
        # The covariance of y is 1 on R, less UUᵀ, plus what the map from normal numbers to (y_T, h) gives.
        along = np.hstack([np.zeros((basis.shape[1], top)), basis.T])
        signed = np.vstack([along, np.hstack([spread[:, :top], spread[:, top:] @ basis.T])])
        signs, inverse = np.append(-np.ones(len(along)), np.ones(len(spread))), 1 / raised
        inner = (signed * inverse) @ signed.T
        trace = float(inverse[top:].sum() + signs @ inner.diagonal())
        crossed = (signed[:, top:] ** 2) @ inverse[top:] ** 2
        squared = float(inverse[top:] @ inverse[top:] + 2 * (signs @ crossed) + signs @ inner**2 @ signs)
        return _Factor(roots, ratio, basis, spread, trace, squared)

    def _propose(self, factor: _Factor) -> tuple[Floats, NDArray[np.bool_]]:
        """Draw unit vectors, as rows, and decide which are accepted."""
        roots, ratio, basis, spread = factor[:4]
        top, m, d = self._k - 1, self._m, len(roots)
        drawn = self._normals(self._count * (d + 2)).reshape(self._count, d + 2)
        bound = drawn[:, : len(spread)] @ spread  # y_T and h, of min(k − 1, d − k + 1) dimensions
        rest = drawn[:, top:d]
        y = np.hstack([bound[:, :top], rest + (bound[:, top:] - rest @ basis) @ basis.T])
        z = y / roots
        squared = y * y
        s = (squared[:, :top] @ ratio + squared[:, top:].sum(axis=1)) / np.einsum("ij,ij->i", z, z)
        exponential = (drawn[:, d] ** 2 + drawn[:, d + 1] ** 2) / 2  # half a χ² of two degrees is exponential
        accepted = exponential >= (s - m) / 2 - m / 2 * np.log(s / m)
        return z / np.linalg.norm(z, axis=1, keepdims=True), accepted

    def _normals(self, count: int) -> Floats:
        """Return fresh normal numbers; they are made in blocks, since few at a time are slow."""
        if self._used + count > len(self._stock):
            self._stock, self._used = normals(max(BLOCK, count), self._bits), 0
        self._used += count
        return self._stock[self._used - count : self._used]
