r"""Chaudhuri, Sarwate and Sinha (2013): how many rows private principal components need, for the first of them.

Rows have norm at most 1, neighbours differ by replacing one. ``correlation`` is the paper's ρ: that between the private
direction and the first eigenvector, without its sign. ``gap`` is the paper's Δ = λ₁ − λ₂, of the mean of x xᵀ.
"""

from __future__ import annotations

import math

import numpy as np

from dpcov.bounds.common import check_beta, check_counts, check_positive
from dpcov.errors import ParameterError, check_choice, check_real, shown

CONSTANTS = ("tight", "paper")


def ppca_rows(
    d: int,
    gap: float,
    epsilon: float,
    correlation: float,
    *,
    largest: float = 1.0,
    beta: float = 0.05,
    constants: str = "tight",
) -> float:
    r"""Return how many rows are enough for `ppca`, and any exact draw of one direction, with probability 1 − beta (Theorem 7).

    .. math:: n > \frac{4}{\varepsilon (1 - \rho^2) \Delta}
              \left(\log\frac1\beta + \frac{d-1}{2} \log\frac{8\lambda_1}{(1 - \rho^2) \Delta}\right)

    The statement in the paper has 1 − ρ in front and d in place of d − 1 (``constants="paper"``).

    Parameters
    ----------
    largest : float
        λ₁, at most 1; its logarithm matters.
    """
    _check(d, epsilon, correlation)
    check_beta(beta)
    check_choice("constants", constants, CONSTANTS, "'paper' for the statement as printed")
    largest = check_real("largest", largest, "above 0 and at most 1", math.ulp(0.0), 1.0, "rows have norm at most 1")
    gap = check_real("gap", gap, f"above 0 and at most largest, {largest:g}", math.ulp(0.0), largest, "it is λ₁ − λ₂")
    miss = 1 - correlation**2
    log = math.log(8 * largest) - math.log(miss) - math.log(gap)
    if constants == "paper":
        return _quotient(4 * math.log(1 / beta) + 2 * d * log, epsilon * gap * (1 - correlation))
    return _quotient(4 * math.log(1 / beta) + 2 * (d - 1) * log, epsilon * gap * miss)


def least_rows(d: int, gap: float, epsilon: float, correlation: float, *, constants: str = "tight") -> float:
    r"""Return how many rows *any* ε-DP algorithm needs for this expected correlation on all data with this gap (Theorem 8).

    .. math:: n \ge \frac{d}{\varepsilon \Delta} \max\left\{1, \sqrt{\frac{1 - \phi}{80 (1 - \rho)}}\right\}

    0 where the theorem says nothing: below the correlation of `least_rows_scope`, for a gap above ½, and for ε above d:
    the data sets of its proof, which differ in d/ε rows, would not differ.

    ``constants="paper"`` has the φ of the printed statement, and any ε. It is not proved: the lemma that the proof uses holds
    fewer directions, so that 1 − φ is .064 at d = 100 and not .12, and the bound less.
    """
    _check(d, epsilon, correlation)
    scope = least_rows_scope(d, constants=constants)
    check_real("gap", gap, "above 0 and at most 1", math.ulp(0.0), 1.0, "rows have norm at most 1")
    if d < 3 or gap > 0.5 or correlation < scope or (epsilon > d and constants == "tight"):
        return 0.0
    return _quotient(d, epsilon * gap) * max(1.0, math.sqrt(packing_gap(d, constants=constants) / (80 * (1 - correlation))))


def least_rows_scope(d: int, *, constants: str = "tight") -> float:
    """Return the smallest correlation of which `least_rows` says something: 1 − (1 − φ)/16, for three columns or more."""
    check_counts(d=d)
    check_choice("constants", constants, CONSTANTS, "'paper' for the statement as printed")
    return 1 - packing_gap(d, constants=constants) / 16 if d >= 3 else 1.0


def packing_gap(d: int, *, constants: str = "tight") -> float:
    """Return 1 − φ for which the sphere of d − 1 dimensions holds 1 + exp(d) directions with inner products within ±φ.

    Lemma 11 has (1 − φ²)^{(d−2)/2} where the proof and the statement of Theorem 8 (``constants="paper"``) have
    (1 − φ)^{(d−2)/2}: φ is the larger one here.
    """
    check_counts(d=d)
    check_choice("constants", constants, CONSTANTS, "'paper' for the statement as printed")
    if d < 3:
        raise ParameterError(f"d must be 3 or more, got {d}. Hint: there is no such sphere of fewer dimensions.")
    log = -2 * (math.log(8) + d + math.log1p(math.exp(-d))) / (d - 2)
    return math.exp(log) if constants == "paper" else 1 - math.sqrt(-math.expm1(log))


def mod_sulq_beta(n: int, d: int, epsilon: float, delta: float) -> float:
    """Return β, the standard deviation of the noise of `mod-sulq` on each entry of the mean of x xᵀ (equation 5)."""
    check_counts(n=n, d=d)
    check_positive(epsilon=epsilon, delta=delta)
    limit = (d * d + d) / (2 * math.sqrt(2 * math.pi))
    if delta >= limit:
        raise ParameterError(
            f"delta must be below (d² + d)/(2√(2π)) = {limit:.4g}, got {shown(delta)}. Hint: 1e-6 is a usual value."
        )
    return ((d + 1) / epsilon * math.sqrt(2 * math.log(limit / delta)) + 1 / math.sqrt(epsilon)) / n


def mod_sulq_correlation(n: int, d: int, epsilon: float, delta: float) -> float:
    r"""Return what the expected correlation of `mod-sulq` does not exceed, on some data of n rows (Theorem 15).

    .. math:: \min_\phi 1 - \frac{1 - \phi}{4}
              \left(1 - \frac{1/\beta^2 + \log 2}{(d-1) \log\frac{1}{\sqrt{1 - \phi^2}} - \log 8}\right)^2

    over the φ of equation (22), on a grid: each φ gives a bound of its own.
    """
    beta = mod_sulq_beta(n, d, epsilon, delta)
    noise = 1 / beta / beta
    if d < 2:
        return 1.0
    misses = [2 * math.log(8 * d) / (d - 1), (2 * noise + math.log(256)) / (d - 1)]  # −log(1 − φ²)
    least = max(1 / math.sqrt(2 * math.pi * d), math.sqrt(-math.expm1(-max(misses))))
    if least >= 1:
        return 1.0
    away = (1 - least) * np.geomspace(1e-12, 1.0, 4096, endpoint=False)  # 1 − φ
    log_size = (d - 1) / 2 * -np.log(away * (2 - away)) - math.log(8)
    return float(np.min(1 - away / 4 * (1 - (noise + math.log(2)) / log_size) ** 2))


def mod_sulq_rows(d: int, epsilon: float, delta: float, correlation: float) -> float:
    """Return how many rows `mod-sulq` needs at least before Theorem 15 allows this correlation on all data.

    Infinity beyond 2⁵³. Theorem 9 says how it grows: as d^{3/2}·√log(d/δ)/ε, with constants that are not given.
    """
    _check(d, epsilon, correlation)
    if mod_sulq_correlation(1, d, epsilon, delta) >= correlation:
        return 1.0
    low, high = 1, 2
    while mod_sulq_correlation(high, d, epsilon, delta) < correlation:
        if high == 2**53:
            return math.inf
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if mod_sulq_correlation(middle, d, epsilon, delta) < correlation else (low, middle)
    return float(high)


def _quotient(rows: float, budget: float) -> float:
    """Divide, with infinity where the product of tiny numbers is 0."""
    return rows / budget if budget > 0 else math.inf


def _check(d: int, epsilon: float, correlation: float) -> None:
    check_counts(d=d)
    check_positive(epsilon=epsilon)
    check_real(
        "correlation", correlation, "between 0 and 1, both excluded", math.ulp(0.0), 1 - 2.0**-53, "0.9 is a usual value"
    )
