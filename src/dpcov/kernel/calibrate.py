"""From sensitivity and budget to the scale of the noise: one function per noise, each with its lemma."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError
from dpcov.kernel.budget import ZCDP, ApproxDP, PureDP
from dpcov.linalg import sqrt_down, sqrt_up

SIGMA_SLACK = Fraction(1, 10**11)
"""Relative; the bisection stops and the float64 tail functions err below it. It is added to sigma."""


SPAN = {"replace": 2, "add-remove": 1}
"""The range of what one row can do to uᵀSu, in units of row_norm²: [−1, 1], or [0, 1]."""


def gaussian_variance(sensitivity_squared: Fraction, budget: ZCDP) -> Fraction:
    """Return σ² = Δ₂²/(2ρ), exact.

    Integer answers that move by at most Δ₂, plus discrete Gaussians of variance σ², are ρ-zCDP
    (Canonne, Kamath and Steinke 2020, multivariate form; docs/mechanisms/gaussian.md).
    """
    return sensitivity_squared / (2 * budget.rho)


def laplace_scale(sensitivity: Fraction, budget: PureDP) -> Fraction:
    """Return b = Δ₁/ε, exact.

    Integer answers that move by at most Δ₁ in total, plus discrete Laplace noise of scale b, are ε-DP:
    each probability changes by a factor of at most exp(Δ₁/b).
    """
    return sensitivity / budget.epsilon


def concentrated_laplace_scale(sensitivity_squared: Fraction, budget: ZCDP) -> Fraction:
    """Return b = Δ₂/√(2ρ), rounded up.

    An entry that moves by δ costs ε = |δ|/b, and ε-DP is ε²/2-zCDP (Bun and Steinke 2016, Proposition 1.4): all entries
    together cost Δ₂²/(2b²) = ρ (docs/mechanisms/laplace.md). Papers that convert to ε column by column add this noise; its
    variance is twice that of Gaussian noise at the same price.
    """
    return sqrt_up(sensitivity_squared / (2 * budget.rho))


def bingham_concentration(budget: PureDP | ZCDP, neighbors: str) -> Fraction:
    """Return the largest c for which a draw with density ∝ exp(c·uᵀSu) costs no more than the budget, rounded down.

    A row moves uᵀSu within [−1, 1] where it is replaced and within [0, 1] where it is added, so the log-density ranges over
    2c or c: the draw is ε-bounded-range with ε = 2c or c, hence ε-DP and ε²/8-zCDP (docs/mechanisms/eigenvectors.md).
    """
    if isinstance(budget, PureDP):
        return budget.epsilon / SPAN[neighbors]
    return sqrt_down(8 * budget.rho) / SPAN[neighbors]


def exponential_rate(budget: PureDP | ZCDP) -> Fraction:
    """Return the largest rate of an exponential mechanism on scores that a row moves by at most 1, rounded down.

    Log-probabilities then range over 2·rate = ε: ε-bounded-range, hence ε-DP and ε²/8-zCDP (docs/mechanisms/rescaled.md).
    """
    return _positive(budget.epsilon if isinstance(budget, PureDP) else sqrt_down(8 * budget.rho)) / 2


def sparse_vector_epsilon(budget: PureDP | ZCDP) -> Fraction:
    """Return the ε of a sparse vector search, rounded down; under zCDP ε²/2 = ρ."""
    return _positive(budget.epsilon if isinstance(budget, PureDP) else sqrt_down(2 * budget.rho))


def _positive(epsilon: Fraction) -> Fraction:
    if epsilon == 0:
        raise ParameterError("rho must be larger, got one whose square root rounds to 0. Hint: spend more.")
    return epsilon


@lru_cache(maxsize=64)  # one release asks for the same σ when it chooses, when it checks and when it draws
def analytic_gaussian_sigma(sensitivity: float, budget: ApproxDP) -> float:
    """Return the least σ for which the *continuous* Gaussian is (ε, δ)-DP, rounded up.

    Balle and Wang (2018), Theorem 8. With discrete noise the true δ can exceed the target: see
    docs/guarantee.md before using it for anything but a continuous Gaussian.
    """
    epsilon, log_target = float(budget.epsilon), math.log(budget.delta.numerator) - math.log(budget.delta.denominator)
    low, high = 1e-12, 1.0
    while log_analytic_delta(1 / high, epsilon) > log_target:
        low, high = high, 2 * high
        if high > 2.0**60:
            raise ParameterError(
                f"delta must be larger, got {budget!r}. Hint: with so small a delta the noise would drown every answer."
            )
    while high / low - 1 > 1e-13:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if log_analytic_delta(1 / middle, epsilon) > log_target else (low, middle)
    return sensitivity * high * (1 + float(SIGMA_SLACK))


@cache
def _quadrature() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    nodes, weights = np.polynomial.legendre.leggauss(16)
    return nodes, weights


def log_analytic_delta(ratio: float, epsilon: float) -> float:
    """Return the log of δ(ε) = Φ(r/2 − ε/r) − e^ε·Φ(−r/2 − ε/r), r = Δ/σ: exact for the continuous Gaussian.

    For small r the two terms nearly cancel. With Mills' ratio R(x) = Φ(−x)/φ(x) and a = r/2 − ε/r the difference is
    φ(a)·(R(x − r/2) − R(x + r/2)) at x = ε/r, and R′(t) = t·R(t) − 1 is integrated over that short interval instead.
    """
    from scipy.special import erfcx, log_ndtr  # here: importing dpcov should not load scipy

    upper, lower = ratio / 2 - epsilon / ratio, -ratio / 2 - epsilon / ratio
    if upper > 1:  # nothing cancels, and Mills' ratio would overflow
        gap = epsilon + float(log_ndtr(lower)) - float(log_ndtr(upper))
        return float(log_ndtr(upper)) + math.log(-math.expm1(gap))
    if ratio >= 1:
        fall = math.sqrt(math.pi / 2) * float(erfcx(-upper / math.sqrt(2)) - erfcx(-lower / math.sqrt(2)))
    else:
        nodes, weights = _quadrature()
        points = epsilon / ratio + nodes * ratio / 2
        fall = float(weights @ (1 - points * math.sqrt(math.pi / 2) * erfcx(points / math.sqrt(2)))) * ratio / 2
    log_fall = math.log(fall) if fall > 0 else -math.inf  # beyond ε = 1e15 the difference is lost; δ is then 0 to any digit
    return -upper * upper / 2 - math.log(2 * math.pi) / 2 + log_fall
