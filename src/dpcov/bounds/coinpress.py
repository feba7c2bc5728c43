r"""Biswas, Dong, Kamath and Ullman (2020): what Gaussian rows, their means and their second moments do not exceed.

Each holds but for a stated probability. Discrete noise of a thousand grid steps and more is taken for continuous.
"""

from __future__ import annotations

import math

from dpcov.bounds.common import check_beta, check_counts
from dpcov.bounds.revisited import isometric_operator_norm

MEAN_EVENTS, COVARIANCE_EVENTS = 2, 3
"""How many events may fail in one round: see `round_beta`."""


def gaussian_norm(d: int, beta: float) -> float:
    """Bound the norm of a standard normal vector: √(d + 2√(d·log(1/beta)) + 2·log(1/beta)) (Laurent and Massart 2000)."""
    check_counts(d=d)
    check_beta(beta)
    log = math.log(1 / beta)
    return math.sqrt(d + 2 * math.sqrt(d * log) + 2 * log)


def mean_radius(n: int, d: int, deviation: float, beta: float) -> float:
    """Bound the error of the mean of n standard normal rows with noise of this deviation on each coordinate."""
    check_counts(n=n)
    return gaussian_norm(d, beta) * math.sqrt(1 / n + deviation**2)


def sampling_gap(n: int, d: int, beta: float) -> float:
    """Return δ with (1 − δ)²Σ ⪯ (1/n) Σ x xᵀ ⪯ (1 + δ)²Σ for n rows of N(0, Σ): √(d/n) + √(2·log(2/beta)/n).

    Davidson and Szarek (2001), Theorem 2.13: the singular values of an n by d standard normal matrix lie within √n ± (√d + t)
    but for probability 2·exp(−t²/2). The lower half is empty where δ ≥ 1.
    """
    check_counts(n=n, d=d)
    check_beta(beta)
    return math.sqrt(d / n) + math.sqrt(2 * math.log(2 / beta) / n)


def covariance_bounds(n: int, d: int, deviation: float, beta: float) -> tuple[float, float, float]:
    r"""Return (ν, low, high): with Z the second moment of n rows of N(0, Σ) plus isometric noise of this deviation,

    .. math:: (Z - \nu)/high \preceq \Sigma \preceq (Z + \nu)/low

    but for probability 2·beta: the noise is at most ν in operator norm, and low = (1 − δ)², high = (1 + δ)² by `sampling_gap`.
    low is 0 where there are too few rows to say anything.
    """  # noqa: D400 - the sentence ends with a formula
    gap = sampling_gap(n, d, beta)
    return deviation * isometric_operator_norm(d, beta), max(0.0, 1 - gap) ** 2, (1 + gap) ** 2


def round_beta(beta: float, number: int, rounds: int, events: int) -> float:
    """Return the probability of failure that one event of a round may have: half of beta for the last round, half before it.

    A round has two ``events`` that may fail for a mean (a row is cut, the mean leaves its ball), three for a covariance (a row
    is cut, the noise is larger than its bound, the sample differs more than its bound).
    """
    check_beta(beta)
    return beta / (2 * events) / (1 if number == rounds else rounds - 1)
