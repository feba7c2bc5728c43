r"""Exact draws from the Bingham law on the sphere, density ∝ exp(c·uᵀCu), by rejection from an angular central Gaussian.

For any κ above 2c times the largest eigenvalue, M = κI − 2cC is positive definite. With z ~ N(0, M⁻¹) and u = z/‖z‖ the
proposal has density ∝ s^{−m/2}, s = uᵀMu, and the target is ∝ exp(−s/2) because uᵀu = 1. Their ratio s^{m/2}·exp(−s/2) is
largest at s = m, so a proposal is accepted with log-probability

.. math:: -\tfrac12 (s - m) + \tfrac{m}{2} \log(s/m) \le 0.

The sign before the logarithm is plus: the envelope's density is *divided out*. With a minus another law is drawn
(docs/mechanisms/eigenvectors.md has check values). κ changes how often proposals are accepted, never the law: a κ that solves
tr M⁻¹ = 1 is the best, and acceptance is then at least about 0.86/√m (Kent, Ganeiber and Mardia 2018).

==============  =====================================================================
code            mathematics
==============  =====================================================================
``matrix``      :math:`C`, symmetric, m by m
``guess``       eigenvalues of C, descending, or a guess at them: only speed depends on it
``kappa``       :math:`\kappa`
``lower``       :math:`L`, :math:`M = L L^T`
``ratio``       :math:`s = \|g\|^2 / \|z\|^2`, with :math:`z = L^{-T} g`
==============  =====================================================================
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import EngineError
from dpcov.kernel.bits import Bits
from dpcov.kernel.noise.normal import normals

Floats = NDArray[np.float64]

BATCH = 0.75  # times √m proposals at a time: one is accepted in every second batch, or sooner
TOLERATED = 1.6  # estimates of tr M⁻¹, which is 1 for the best κ, that leave κ as it is after a batch without success
MAX_CONCENTRATION = Fraction(2**16)
"""Beyond it, with 2³⁰ rows, float64 loses the gap between κ and 2cλ₁. A larger budget is not used: that only adds noise."""
FIXED_PROPOSALS = 52  # times √m: on the floor of 0.858/√m all of them fail with probability below 2⁻⁶⁴


def bingham(matrix: Floats, concentration: float, guess: Floats, bits: Bits, *, fixed: bool = False) -> Floats:
    """Draw a unit vector with density ∝ exp(concentration·uᵀ matrix u).

    Parameters
    ----------
    guess : ndarray
        The eigenvalues, descending, or a guess at them.
    fixed : bool
        True: decompose the matrix and evaluate a fixed number of proposals, all of them, whatever is accepted; only if none
        is, which has probability below 2⁻⁶⁴, are there more.
    """
    m = len(matrix)
    assert concentration >= 0
    assert np.isfinite(matrix).all(), "only the curator calls this"
    if m == 1:
        return np.ones(1)
    if fixed:
        guess = eigenvalues(matrix)
    kappa = best_kappa(guess, concentration)
    batch = math.ceil((FIXED_PROPOSALS if fixed else BATCH) * math.sqrt(m))
    lower, kappa = _factor(matrix, concentration, kappa)
    while True:
        vectors, accepted, trace = _propose(lower, batch, bits)
        if accepted.any():
            return np.asarray(vectors[:, int(np.argmax(accepted))])  # the first one accepted
        if not 1 / TOLERATED < trace < TOLERATED:
            lower, kappa = _factor(matrix, concentration, _refined(lower, kappa))


def eigenvalues(matrix: Floats) -> Floats:
    """Return the eigenvalues, descending; a decomposition that fails says nothing of the matrix."""
    try:
        return np.asarray(np.linalg.eigvalsh(matrix)[::-1], dtype=np.float64)
    except np.linalg.LinAlgError:
        failure = EngineError("eigenvalues must converge, and did not. Hint: install another numpy.")
    raise failure


def decomposed(matrix: Floats) -> tuple[Floats, Floats]:
    """Return the eigenvalues, descending, and the eigenvectors as columns; a failure says nothing of the matrix."""
    try:
        values, vectors = np.linalg.eigh(matrix)
    except np.linalg.LinAlgError:
        failure = EngineError("eigenvalues must converge, and did not. Hint: install another numpy.")
    else:
        return np.asarray(values[::-1]), np.asarray(vectors[:, ::-1])
    raise failure


def float_below(value: Fraction) -> float:
    """Return the nearest float that is not larger."""
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, 0.0)


def best_kappa(guess: Floats, concentration: float) -> float:
    """Solve Σ 1/(κ − 2cλᵢ) = 1 for the guessed eigenvalues."""
    gaps = 2 * concentration * (guess[0] - guess)
    b = 1.0  # κ − 2cλ₁ lies in [1, m]; steps from below never pass the root
    for _ in range(60):
        terms = 1 / (b + gaps)
        total = float(terms.sum())
        if total <= 1.001:
            break
        b += total / float(terms @ terms) * (total - 1)
    return float(b + 2 * concentration * guess[0])


def peeled_guess(guess: Floats, concentration: float, matrix: Floats) -> Floats:
    """Guess the eigenvalues after one draw is projected out, from those before: only the speed of later draws rests on it.

    A draw takes the share wᵢ ≈ 1/(κ − 2cλᵢ) of direction i; the new eigenvalues interlace the old ones. Then they are moved and
    stretched to have the mean and the spread of those of the projected ``matrix``.
    """
    b = best_kappa(guess, concentration) - 2 * concentration * guess[0]
    weights = 1 / (b + 2 * concentration * (guess[0] - guess))
    above = np.cumsum(weights / weights.sum())[:-1]
    peeled = guess[:-1] - above * (guess[:-1] - guess[1:])
    peeled -= peeled.mean()
    mean = float(np.trace(matrix)) / len(matrix)
    spread, wanted = float(peeled @ peeled), float(np.sum(matrix * matrix)) - len(matrix) * mean**2
    return np.asarray(mean + peeled * math.sqrt(max(wanted, 0.0) / spread) if spread > 0 else mean + peeled)


def _factor(matrix: Floats, concentration: float, kappa: float) -> tuple[Floats, float]:
    """Return the Cholesky factor of κI − 2cC; a κ too small for that is raised first."""
    from scipy.linalg.lapack import dpotrf

    step = 1.0
    while True:
        precision = np.asfortranarray(matrix * (-2 * concentration))
        precision.flat[:: len(matrix) + 1] += kappa
        lower, failed = dpotrf(precision, lower=1, clean=0, overwrite_a=1)
        if not failed:
            return np.asarray(lower), kappa
        kappa, step = kappa + step * max(1.0, abs(kappa) * 2.0**-40), step * 2


def _propose(lower: Floats, count: int, bits: Bits) -> tuple[Floats, NDArray[np.bool_], float]:
    """Draw ``count`` unit vectors, as columns, decide which are accepted, and estimate tr M⁻¹ = E‖z‖²."""
    from scipy.linalg.lapack import dtrtrs

    m = len(lower)
    drawn = normals((m + 2) * count, bits).reshape((m + 2, count), order="F")
    normal, exponential = drawn[:m], (drawn[m] ** 2 + drawn[m + 1] ** 2) / 2  # half a χ² of two degrees is exponential
    solved = np.asarray(dtrtrs(lower, normal, lower=1, trans=1)[0])
    lengths = np.sqrt(np.einsum("ij,ij->j", solved, solved))
    ratio = np.einsum("ij,ij->j", normal, normal) / lengths**2
    log_accept = -(ratio - m) / 2 + m / 2 * np.log(ratio / m)
    return np.asarray(solved / lengths), exponential >= -log_accept, float(np.mean(lengths**2))


def _refined(lower: Floats, kappa: float) -> float:
    """Move κ towards tr M⁻¹ = 1 after a batch without success, staying above 2c times the largest eigenvalue."""
    from scipy.linalg.lapack import dtrtri

    m = len(lower)
    inverse = np.tril(dtrtri(lower, lower=1)[0])
    covariance = inverse.T @ inverse
    trace, squares = float(np.trace(covariance)), float(np.sum(covariance**2))
    mean = trace / m
    largest = mean + math.sqrt(max(squares / m - mean**2, 0.0) * (m - 1))  # bounds the top eigenvalue of M⁻¹
    return max(kappa + trace / squares * (trace - 1), kappa - 0.9 / largest)
