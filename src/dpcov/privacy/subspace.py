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

import numpy as np
from numpy.typing import NDArray

from dpcov.privacy.bits import Bits
from dpcov.privacy.normal import normals

Floats = NDArray[np.float64]

BATCH = 1.5  # times √m proposals at a time: one of them is accepted in three batches of four, or more
NEAR = 0.5  # over √m: tr(NᵀDN)⁻¹ within this of 1 is near enough; farther off, far fewer proposals are accepted
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
                state[:, r] = column.redrawn(np.delete(state, r, axis=1))


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


class _Column:
    """Draws one column given the others; ``gaps`` are 2c(λ₁ − λⱼ), so that D = κ + gaps."""

    def __init__(self, gaps: Floats, k: int, bits: Bits) -> None:
        self._gaps, self._k, self._m = gaps, k, len(gaps) - k + 1
        self._bits = bits
        self._count = math.ceil(BATCH * math.sqrt(self._m))
        self._stock, self._used = np.zeros(0), 0
        # Interlacing: the i-th eigenvalue on the complement of W lies between the i-th and the (i + k − 1)-th of all.
        self._least, self._most = _root(gaps[k - 1 :]), _root(gaps[: self._m])
        self._kappa = self._most

    def redrawn(self, others: Floats) -> Floats:
        """Draw a unit vector orthogonal to the columns of ``others``."""
        self._kappa = kappa = self._tuned(others)
        parts, step = self._factor(others, kappa), 1.0
        while parts is None:  # too small a κ for rounding to see a definite matrix
            kappa, step = kappa + step, 2 * step
            parts = self._factor(others, kappa)
        while True:
            vectors, accepted = self._propose(*parts)
            if accepted.any():
                return np.asarray(vectors[int(np.argmax(accepted))])  # the first one accepted

    def _tuned(self, others: Floats) -> float:
        """Return κ with tr(NᵀDN)⁻¹ near 1, starting from the last one; only speed depends on it."""
        low, high, kappa = self._least, self._most, self._kappa
        for _ in range(60):
            trace, slope = self._trace(others, kappa)
            if abs(trace - 1) < NEAR / math.sqrt(self._m) or high - low < 1e-9 * (1 + abs(high)):
                break
            low, high = (kappa, high) if trace > 1 else (low, kappa)
            newton = kappa + trace * (trace - 1) / slope if math.isfinite(trace) else math.nan  # 1/trace is concave in κ
            kappa = newton if low < newton < high else (low + high) / 2
        return kappa

    def _trace(self, others: Floats, kappa: float) -> tuple[float, float]:
        """Return tr(NᵀDN)⁻¹ and tr(NᵀDN)⁻², or infinity where NᵀDN is not positive definite."""
        inverse = 1 / np.where(self._gaps == -kappa, 1e-300, self._gaps + kappa)
        once = others.T * inverse
        twice = once * inverse
        gram = once @ others
        try:
            negative = int((np.linalg.eigvalsh(gram) < 0).sum())  # inertia: D has those of NᵀDN and those of WᵀD⁻¹W
            solved = np.linalg.solve(gram, np.hstack([twice @ others, (twice * inverse) @ others]))
        except np.linalg.LinAlgError:  # κ at a pole: another one will do
            return math.inf, 1.0
        if negative != int((inverse < 0).sum()):
            return math.inf, 1.0
        second, third = solved[:, : self._k - 1], solved[:, self._k - 1 :]
        trace = float(inverse.sum() - np.trace(second))
        slope = float(inverse @ inverse - 2 * np.trace(third) + np.sum(second * second.T))
        return (trace, slope) if trace > 0 and slope > 0 else (math.inf, 1.0)

    def _factor(self, others: Floats, kappa: float) -> tuple[Floats, Floats, Floats, Floats] | None:
        """Return the roots of D₊, the sign part D/D₊ on T, U, and the map from k − 1 normal numbers to (y_T, h)."""
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
            lower = np.linalg.cholesky(precision)
        except np.linalg.LinAlgError:
            return None
        return roots, ratio, basis, np.asarray(np.linalg.solve(lower, free.T))

    def _propose(self, roots: Floats, ratio: Floats, basis: Floats, spread: Floats) -> tuple[Floats, NDArray[np.bool_]]:
        """Draw unit vectors, as rows, and decide which are accepted."""
        top, m, d = self._k - 1, self._m, len(roots)
        drawn = self._normals(self._count * (d + 2)).reshape(self._count, d + 2)
        bound = drawn[:, :top] @ spread  # y_T and h
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


def _root(gaps: Floats) -> float:
    """Solve Σ 1/(κ + gaps) = 1 from below, gaps ascending."""
    b, above = 1.0, gaps - gaps[0]
    for _ in range(60):
        terms = 1 / (b + above)
        total = float(terms.sum())
        if total <= 1.001:
            break
        b += total / float(terms @ terms) * (total - 1)
    return float(b - gaps[0])
