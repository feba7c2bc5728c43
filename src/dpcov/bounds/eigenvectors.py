r"""How far ``mechanism="eigenvectors"`` can be off, with probability 1 − beta: the paper's bounds with explicit constants.

Amin, Dick, Kulesza, Muñoz Medina and Vassilvitskii (2019) state them as O(·), without constants and logarithms; the constants
here are ours, each with its proof. C is the *sum* Σ x xᵀ of encoded rows of norm at most 1, λ₁ ≥ … ≥ λ_d its eigenvalues, and
errors are Frobenius norms of what is off in C: divide by n for the second moment. All concerns pure DP. Rounding directions to
multiples of 2⁻¹⁸ is left out: it moves C by less than 2⁻¹⁶·√d·tr C. ``constants="paper"`` is about the mechanism's own "paper":
exponent ε/4, eigenvalues first, and d draws that are paid for.

==========================  ===========================  ==========================================
function                    paper                        what it bounds
==========================  ===========================  ==========================================
``exponential_failure``     Lemma 4                      how often the exponential mechanism is off
``direction_loss``          Lemma 5                      λ₁ − uᵀCu for one draw u
``value_noise``             the τ of Corollary 1         the noise in all values, as one vector
``reconstruction_error``    Lemma 6                      the matrix, from losses and noise
``eigenvectors_error``      Theorem 2, also at rank k    the matrix, from ε₀, ε₁, …
``adaptive_error``          Corollary 1                  the same for AD
``uniform_error``           Theorem 2 for IT-U           the same for IT-U
``enough_variance``         Corollary 2                  a λ₁ that makes the error at most γλ₁
``rival_variance``          section 3.1                  the same for Kapralov and Talwar, as printed
``rival_error``             section 3.1                  the matrix by Gaussian noise, as printed
``rival_variance_limit``    section 3.1                  a λ₁ up to which the bound beats that of Gaussian noise
==========================  ===========================  ==========================================
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcov.bounds.common import check_beta, check_counts, check_positive, gamma_tail
from dpcov.errors import ParameterError, check_choice, check_real, shown

Floats = NDArray[np.float64]

STEP = 2.0**-16  # values are rounded to its multiples; their sensitivity grows by two of it for each value
VALUES_SHARE = {"basis": 1 / 3, "spectrum": 1 / 2}  # of ε, as in dpcov.mechanisms.eigenvectors
NEIGHBORS = {"replace": 2, "add-remove": 1}  # how far the values move in L1, and the range of ±uᵀSu


def exponent(epsilon: float, *, neighbors: str = "replace", constants: str = "tight") -> float:
    """Return c of the density ∝ exp(c·uᵀCu) that costs ε: ε/2, under add-remove ε; in the paper ε/4."""
    check_choice("neighbors", neighbors, NEIGHBORS, "replace is the papers' choice")
    check_choice("constants", constants, ("tight", "paper"), "leave it out for tight ones")
    check_positive(epsilon=epsilon)
    return epsilon / 4 if constants == "paper" else epsilon / NEIGHBORS[neighbors]


def exponential_failure(alpha: float, epsilon: float, good: float, *, sensitivity: float = 1.0) -> float:
    r"""Bound the probability that the exponential mechanism answers with a score below the best one by 2·alpha: Lemma 4.

    Pr(g(y) < OPT − 2α) ≤ exp(−εα/(2Δ))/μ(G), density ∝ exp(ε·g/(2Δ)) with respect to a probability μ.

    Parameters
    ----------
    good : float
        μ(G), the part of all answers with scores of at least OPT − alpha.
    sensitivity : float
        Δ, what one row moves a score by at most.

    Notes
    -----
    Proof. Let c = ε/(2Δ). What is bad weighs at most exp(c·(OPT − 2α)), and all together at least exp(c·(OPT − α))·μ(G).
    """
    check_positive(epsilon=epsilon, sensitivity=sensitivity)
    check_real("alpha", alpha, "0 or more and finite", 0.0, np.finfo(np.float64).max, "it is in the units of the scores")
    check_real("good", good, "above 0 and at most 1", math.ulp(0.0), 1.0, "it is a part of all answers")
    return min(1.0, math.exp(min(-epsilon * alpha / (2 * sensitivity) - math.log(good), 0.0)))


def direction_loss(m: int, concentration: float, beta: float) -> float:
    r"""Bound λ₁ − uᵀCu for a draw with density ∝ exp(c·uᵀCu) on the sphere of dimension m, any symmetric C.

    With a = (m−1)/2 and L = ln(1/beta) − ln E|e₁ᵀv|, v uniform, the loss is at most (a + √(2aL) + L)/c with probability
    1 − beta. E|e₁ᵀv| ≥ √(2/(πm)), so L ≤ ln(1/beta) + ln(πm/2)/2. The paper's Lemma 5, by the volume of a cap, has
    O(m·log λ₁ + log(1/beta))/ε: here λ₁ does not occur.

    Proof. In the eigenbasis write u = (±√(1−w), √w·v). The loss is F = w·g(v) with g ≥ 0; under the uniform law v is uniform
    and w independent of it, with density p(w) ∝ w^{a−1}(1−w)^{−1/2}. Let Z(c) = E exp(−cF). For 0 < s < 1 keep only w ≤ s
    and put w = s·w′: p(s·w′)·s = s^a·p(w′)·√((1−w′)/(1−s·w′)) ≥ s^a·p(w′)·√(1−w′), so Z(c) ≥ s^a·Z(sc)·E[√(1−w)], the
    mean under concentration sc. Given v that law favours small w, so the mean is at least the uniform one, E|e₁ᵀv|.
    Hence E exp((1−s)cF) = Z(sc)/Z(c) ≤ s^{−a}/E|e₁ᵀv|: but for the constant, cF has the exponential moments of a Gamma(a)
    variable, and Chernoff's bound for those (Laurent and Massart 2000, Lemma 1) gives a + √(2aL) + L.
    """
    check_counts(m=m)
    check_positive(concentration=concentration)
    check_beta(beta)
    if m == 1:
        return 0.0
    log_mean = math.lgamma(m / 2) - math.lgamma((m + 1) / 2) - math.log(math.pi) / 2
    return gamma_tail((m - 1) / 2, -math.log(beta) - log_mean) / concentration


def value_noise(d: int, scale: float, beta: float) -> float:
    """Bound the Euclidean norm of d independent Laplace variables of this scale, with probability 1 − beta.

    The lesser of two bounds that are both public: √d·max with max ≤ ln(d/beta); and √(max·sum), where max ≤ ln(2d/beta) and the
    sum of absolute values, a Gamma(d) variable, is at most d + √(2dx) + x, x = ln(2/beta), each but with probability beta/2.
    """
    check_counts(d=d)
    check_positive(scale=scale)
    check_beta(beta)
    by_largest = math.sqrt(d) * (math.log(d) - math.log(beta))
    by_sum = math.sqrt((math.log(2 * d) - math.log(beta)) * gamma_tail(d, math.log(2) - math.log(beta)))
    return scale * min(by_largest, by_sum)


def reconstruction_error(eigenvalues: ArrayLike, losses: ArrayLike, noise: float, *, values: str = "basis") -> float:
    r"""Bound ‖C − Σ v̂ᵢuᵢuᵢᵀ‖_F for orthonormal uᵢ with uᵢᵀCuᵢ ≥ λᵢ − lossᵢ and values that are off by ``noise`` together.

    Never more than λᵢ is lost, since C is positive semidefinite: put gᵢ = min(lossᵢ, λᵢ).

    "spectrum" (Lemma 6): ‖C − UΛUᵀ‖² = 2Σλᵢ² − 2Σλᵢuᵢᵀ C uᵢ ≤ 2Σλᵢgᵢ; the noise is added by the triangle inequality.
    "basis": v̂ᵢ is uᵢᵀCuᵢ with noise, what is wrong on the diagonal of UᵀCU and off it is orthogonal, and off it lies
    ‖C‖² − Σ(uᵢᵀCuᵢ)² ≤ Σ λᵢ² − (λᵢ − gᵢ)² = Σ gᵢ(2λᵢ − gᵢ). So the square of the bound is that plus noise².
    """
    check_choice("values", values, VALUES_SHARE, "leave it out for 'basis'")
    true = _descending(eigenvalues)
    lost = np.minimum(np.maximum(np.asarray(losses, dtype=np.float64), 0.0), true)
    if values == "basis":
        return math.sqrt(float(lost @ (2 * true - lost)) + noise**2)
    return math.sqrt(2 * float(lost @ true)) + noise


def eigenvectors_error(
    eigenvalues: ArrayLike,
    epsilon_0: float,
    epsilons: Sequence[float],
    *,
    beta: float,
    rank: int = 0,
    neighbors: str = "replace",
    constants: str = "tight",
    values: str = "basis",
) -> float:
    r"""Bound ‖C − Ĉ‖_F with probability 1 − beta: Theorem 2.

    Parameters
    ----------
    epsilon_0 : float
        For the values.
    epsilons : sequence of d − 1 floats
        For the directions; the last one is determined. Each may depend on what was answered before it. For a rank below d as
        many as that.
    rank : int
        How many directions were drawn; 0 means all. What no matrix of this rank can have, √(λₖ₊₁² + … + λ_d²), is in the bound.

    Notes
    -----
    Assumes that values are clipped to [0, n] or not at all; under add-remove not at all, for n is then noisy.

    Proof. Direction i is drawn in dimension m = d−i+1 from Cᵢ, which is C on what is orthogonal to those before, and
    λ_max(Cᵢ) ≥ λᵢ (Courant and Fischer): so λᵢ − uᵢᵀCuᵢ is at most `direction_loss`, for the last direction 0; errors do not
    add up from one to the next. Each of the d−1 may fail with probability beta/(2(d−1)), given all before it; the noise of the
    values with beta/2. Making eigenvalues descend and clipping are projections onto convex sets that hold the truth: they
    move no vector away from it. The paper: Õ(d/ε₀ + √(Σ (d/εᵢ)(1/ε₀ + λᵢ))).

    Rank k. Directions that were not drawn lose all of their λᵢ: put gᵢ = λᵢ for i > k in `reconstruction_error`, which is then
    √(2Σ_{i≤k} λᵢgᵢ + Σ_{i>k} λᵢ²) + noise ("spectrum": ‖C‖² + Σ_{i≤k} λᵢ² − 2Σ_{i≤k} λᵢuᵢᵀCuᵢ), or the same with noise². So the
    error exceeds that of the best matrix of rank k by no more than Theorem 2 says for k directions. (The paper says so of the
    *distance* from that matrix, which cannot be: with λ₁ near to λ₂ a u₁ along the second direction loses next to nothing and
    is √2·λ₁ away.)
    """
    check_beta(beta)
    check_choice("values", values, VALUES_SHARE, "leave it out for 'basis'")
    d = len(true := _descending(eigenvalues))
    count = _checked_rank(rank, d)
    if len(epsilons) != min(count, d - 1):
        raise ParameterError(
            f"epsilons must be a list of {min(count, d - 1)} numbers, got {len(epsilons)}. "
            f"Hint: the last direction costs nothing."
        )
    concentrations = [exponent(epsilon, neighbors=neighbors, constants=constants) for epsilon in epsilons]
    asked = count if values == "basis" else d
    noise = _noise_of_values(asked, epsilon_0, beta / 2, neighbors, used=count, columns=d)
    losses = [*_losses(d, concentrations, beta / 2), *[0.0] * (count - len(concentrations))]
    if count == d:
        return reconstruction_error(true, losses, noise, values=values)
    missed = float(np.linalg.norm(true[count:]))
    if values == "basis":
        return math.hypot(reconstruction_error(true[:count], losses, noise), missed)
    return math.hypot(reconstruction_error(true[:count], losses, 0.0, values=values), missed) + noise


def adaptive_error(
    eigenvalues: ArrayLike, epsilon: float, *, beta: float = 0.05, neighbors: str = "replace", constants: str = "tight"
) -> float:
    r"""Bound ‖C − Ĉ‖_F for AD, ``allocation="adaptive", values="spectrum"`` and the same ``beta``: Corollary 1.

    ``epsilon`` is what values and directions cost together; under add-remove without the count, which must be at least λ₁.

    Proof. ε₀ = ε/2 and τ = (Δ/ε₀)·ln(2d/beta): but with probability beta/2 all noisy eigenvalues, made to descend and clipped,
    are within τ of the true ones (both steps are contractions in the maximum norm). Then max(λᵢ, τ) ≤ λ̂ᵢ + τ ≤ λᵢ + 2τ, so
    εᵢ = (ε/2)·√(λ̂ᵢ+τ)/Σⱼ√(λ̂ⱼ+τ) is at least (ε/2)·√max(λᵢ, τ)/Σⱼ√(λⱼ+2τ), and Theorem 2 with beta/2 does the rest: in orders
    of magnitude √(d/ε)·Σ√(λᵢ+τ) + √d·τ, as in the paper. Rounding shares of ε, by less than one part in 10⁵, is left out.
    """
    check_choice("neighbors", neighbors, NEIGHBORS, "replace is the papers' choice")
    check_positive(epsilon=epsilon)
    check_beta(beta)
    true = _descending(eigenvalues)
    slack = NEIGHBORS[neighbors] / (epsilon / 2) * (math.log(2 * len(true)) - math.log(beta))
    drawn = true if constants == "paper" else true[:-1]  # the paper pays for the last direction, too
    shares = np.sqrt(np.maximum(drawn, slack)) / np.sqrt(drawn + 2 * slack).sum()
    epsilons = [float(share) * epsilon / 2 for share in shares[: len(true) - 1]]
    return eigenvectors_error(
        true, epsilon / 2, epsilons, beta=beta / 2, neighbors=neighbors, constants=constants, values="spectrum"
    )


def uniform_error(
    eigenvalues: ArrayLike,
    epsilon: float,
    *,
    beta: float = 0.05,
    neighbors: str = "replace",
    constants: str = "tight",
    values: str = "basis",
) -> float:
    """Bound ‖C − Ĉ‖_F for IT-U, ``allocation="uniform"``: Theorem 2 with equal εᵢ. ``epsilon`` as in `adaptive_error`."""
    true = _descending(eigenvalues)
    values = "spectrum" if constants == "paper" else values
    epsilon_0, epsilons = _uniform(len(true), epsilon, values, constants)
    return eigenvectors_error(true, epsilon_0, epsilons, beta=beta, neighbors=neighbors, constants=constants, values=values)


def enough_variance(
    d: int,
    epsilon: float,
    gamma: float,
    *,
    beta: float = 0.01,
    neighbors: str = "replace",
    constants: str = "tight",
    values: str = "basis",
) -> float:
    r"""Return a λ₁ from which on IT-U has ‖C − Ĉ‖_F ≤ γλ₁ with probability 1 − beta, whatever the other λᵢ: Corollary 2.

    Proof. λᵢ ≤ λ₁ in Theorem 2: with G the sum of the losses and E the noise, the error is at most √(2Gλ₁) + E ("spectrum") or
    √(2Gλ₁ + E²) ("basis"). Both are at most γλ₁ from a root of a quadratic equation on. G is of order d³/ε and E of order
    √d·log(d)/ε, so d³/(εγ²) rows along the first direction are enough, as in the paper but without its logarithms.
    """
    check_counts(d=d)
    check_positive(epsilon=epsilon, gamma=gamma)
    check_beta(beta)
    values = "spectrum" if constants == "paper" else values
    epsilon_0, epsilons = _uniform(d, epsilon, values, constants)
    concentrations = [exponent(each, neighbors=neighbors, constants=constants) for each in epsilons]
    lost = sum(_losses(d, concentrations, beta / 2))
    noise = _noise_of_values(d, epsilon_0, beta / 2, neighbors)
    if values == "basis":
        return (lost + math.hypot(lost, gamma * noise)) / gamma**2
    return ((math.sqrt(2 * lost) + math.sqrt(2 * lost + 4 * gamma * noise)) / (2 * gamma)) ** 2


def rival_variance(d: int, epsilon: float, gamma: float, *, constant: float = 1.0) -> float:
    """Return from which λ₁ on Kapralov and Talwar have a *spectral* error of at most γλ₁: section 3.1, C·d⁴/(ε·γ⁶).

    An order of magnitude: the ``constant`` C is printed nowhere. `enough_variance` grows as d³/(ε·γ²), in Frobenius norm.
    """
    check_counts(d=d)
    check_positive(epsilon=epsilon, gamma=gamma, constant=constant)
    log = math.log(constant) + 4 * math.log(d) - math.log(epsilon) - 6 * math.log(gamma)
    return math.exp(log) if log < 709 else math.inf


def rival_error(d: int, epsilon: float, delta: float, *, constant: float = 1.0) -> float:
    """Return the error of Gaussian noise under (ε, δ): section 3.1, C·d^{3/2}·√log(1/δ)/ε, with a ``constant`` not printed.

    The noise has d² entries of deviation √log(1/δ)/ε, so its norm is of order d·√log(1/δ)/ε: √d less.
    """
    check_counts(d=d)
    check_positive(epsilon=epsilon, constant=constant)
    _check_delta(delta)
    return constant * math.pow(d, 1.5) * math.sqrt(-math.log(delta)) / epsilon


def rival_variance_limit(epsilon: float, delta: float) -> float:
    """Return λ₁ with λ₁·log λ₁ = log(1/δ)/ε: up to it the paper's bound is less than that of Gaussian noise (section 3.1).

    Both as printed, without their constants: √(d³·λ₁·log(λ₁)/ε) against `rival_error`.
    """
    check_positive(epsilon=epsilon)
    _check_delta(delta)
    target = -math.log(delta) / epsilon
    low, high = 1.0, 2.0
    while high * math.log(high) < target:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if middle * math.log(middle) < target else (low, middle)
    return high


def _check_delta(delta: float) -> None:
    check_real("delta", delta, "above 0 and below 1", math.ulp(0.0), 1 - 2.0**-53, "1e-6 is a usual value")


def _checked_rank(rank: int, d: int) -> int:
    """Return how many directions there are: 0 means all."""
    if isinstance(rank, bool) or not isinstance(rank, numbers.Integral) or not 0 <= rank <= d:
        raise ParameterError(f"rank must be a whole number from 1 to {d}, or 0 for all, got {shown(rank)}. Hint: leave it out.")
    return int(rank) or d


def _losses(d: int, concentrations: Sequence[float], beta: float) -> list[float]:
    """Return the loss of each draw, in dimensions d, d−1, …, all together with probability 1 − beta."""
    draws = len(concentrations)
    return [direction_loss(d - i, c, beta / draws) for i, c in enumerate(concentrations)]


def _noise_of_values(
    asked: int, epsilon_0: float, beta: float, neighbors: str, *, used: int | None = None, columns: int | None = None
) -> float:
    """Bound the noise in values, of which some are used; a discrete Laplace variable is at most one step larger, and values are
    rounded by one.
    """  # noqa: D205 - one sentence
    check_choice("neighbors", neighbors, NEIGHBORS, "replace is the papers' choice")
    check_positive(epsilon_0=epsilon_0)
    sensitivity = (NEIGHBORS[neighbors] if (columns or asked) > 1 else 1) + 2 * asked * STEP
    count = used or asked
    return value_noise(count, sensitivity / epsilon_0, beta) + 2 * STEP * math.sqrt(count)


def _uniform(d: int, epsilon: float, values: str, constants: str) -> tuple[float, list[float]]:
    check_choice("values", values, VALUES_SHARE, "leave it out for 'basis'")
    check_choice("constants", constants, ("tight", "paper"), "leave it out for tight ones")
    check_positive(epsilon=epsilon)
    share = VALUES_SHARE[values]
    paid = d if constants == "paper" else max(d - 1, 1)
    return share * epsilon, [(1 - share) * epsilon / paid] * (d - 1)


def _descending(eigenvalues: ArrayLike) -> Floats:
    true = np.asarray(eigenvalues, dtype=np.float64)
    if true.ndim != 1 or not len(true) or not np.isfinite(true).all() or true[-1] < 0 or np.any(np.diff(true) > 0):
        raise ParameterError(
            "eigenvalues must be 0 or more, the largest first, got others. Hint: numpy.linalg.eigvalsh(S)[::-1]."
        )
    return true
