r"""How large the noise of `gaussian` and `separate` can be under ρ-zCDP, with probability 1 − beta.

Paper    Dong, Liang, Yi (NeurIPS 2022), "Differentially private covariance revisited".
Units    rows of norm at most 1; errors are Frobenius norms of what is off in the second moment Σ = (1/n)·Σ x xᵀ, of n rows of
         which one may be replaced. For rows of norm r multiply errors by r², traces and thresholds being in units of r², r.
Noise    the paper's symmetric W has independent N(0, 1) on and above the diagonal (`nu`, `omega`). The *isometric* one has
         variance ½ above it: the standard normal law of the space of symmetric matrices (`isometric_norm`, …). Under ρ-zCDP
         both are scaled by 1/(√ρ·n). Rounding to a grid, as the mechanisms do, is left out.

===========================  =============  ================================================
function                     paper          what it bounds
===========================  =============  ================================================
``sparse_vector_error``      Lemma 5        how far the search stops from its threshold
``eta``                      Lemma 6        the norm of a vector of noise
``nu``, ``omega``            Lemma 7        operator and Frobenius norm of a matrix of noise
``isometric_norm``, …        –              the same for isometric noise
``separate_error``           Theorem 1      the error of `separate`, from the trace
``worst_case_error``         Theorem 2      the same for any rows
``clipped_…_noise``          equation (4)   what noise costs on rows clipped at τ
===========================  =============  ================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable

from dpcov.bounds.common import check_beta, check_counts, check_positive, check_radius, gamma_tail
from dpcov.errors import check_choice, check_real


def sparse_vector_error(queries: int, epsilon: float, beta: float, *, monotone: bool = False) -> float:
    r"""Bound the error α of the sparse vector technique for queries of sensitivity 1: Lemma 5.

    It returns the first k with fₖ + noise ≥ T + noise. With probability 1 − beta, fᵢ ≤ T + α for all i < k, and fₖ ≥ T − α if
    there is one: α = (6/ε)·log(2t/beta) for t queries.

    Parameters
    ----------
    monotone : bool
        All queries move the same way between neighbours and carry Lap(2/ε) instead of Lap(4/ε): α = (4/ε)·log(2t/beta).

    Notes
    -----
    Proof. Lap(s) exceeds s·log(1/p) in absolute value with probability p. So the noise Lap(2/ε) of the threshold is at most
    (2/ε)·log(2/beta), and all t noises of scale s at most s·log(2t/beta), each but with probability beta/2; and
    2/ε + s = 6/ε, or 4/ε.
    """
    check_counts(queries=queries)
    check_positive(epsilon=epsilon)
    check_beta(beta)
    return (4 if monotone else 6) / epsilon * (math.log(2 * queries) - math.log(beta))


def eta(d: int, beta: float) -> float:
    """Bound the Euclidean norm of d independent N(0, 1) variables: Lemma 6.

    The square is twice a Gamma(d/2) variable: η² = d + 2√(d·log(1/beta)) + 2·log(1/beta) (Laurent and Massart 2000, Lemma 1).
    """
    check_counts(d=d)
    check_beta(beta)
    return _chi(d, beta)


def nu(d: int, beta: float) -> float:
    r"""Bound the operator norm of the paper's symmetric noise: Lemma 7.

    ν = 2√d + 2·d^{1/6}·log^{1/3} d + 6(1+e)·√(log d)/√log(1+e) + 2√(2·log(1/beta)), e = (log d/d)^{1/3}.

    By Bandeira and van Handel (2016), for e ≤ ½, that is d ≥ 27. It is safe for every d: √2 times isometric noise is this noise
    and an independent diagonal, so E λ_max ≤ √2·√(2d) (Jensen; see `isometric_operator_norm`), and λ_max is √2-Lipschitz in the
    entries: 2√d + 2√log(2/beta) holds as well, and is less. The paper puts log x = 1 for x ≤ e. That is for log d: log(1+e)
    would always be 1, and log(1/beta) needs no help.
    """
    check_counts(d=d)
    check_beta(beta)
    log = _log(d)
    e = math.cbrt(log / d)
    mean = 2 * math.sqrt(d) + 2 * math.cbrt(math.sqrt(d) * log) + 6 * (1 + e) * math.sqrt(log / math.log1p(e))
    return mean + 2 * math.sqrt(-2 * math.log(beta))


def omega(d: int, beta: float) -> float:
    """Bound the Frobenius norm of the paper's symmetric noise: Lemma 7.

    ω² = d² + 2√(d·L)·(1 + √(2(d−1))) + 6L, L = log(2/beta): Lemma 6 for the diagonal and for the d(d−1)/2 entries above it,
    which count twice, each but with probability beta/2.
    """
    check_counts(d=d)
    check_beta(beta)
    return math.sqrt(_chi(d, beta / 2) ** 2 + 2 * _chi(d * (d - 1) // 2, beta / 2) ** 2)


def isometric_norm(d: int, beta: float) -> float:
    """Bound the Frobenius norm of isometric noise: its square is a χ² variable with d(d+1)/2 degrees of freedom (Lemma 6)."""
    check_counts(d=d)
    check_beta(beta)
    return _chi(d * (d + 1) // 2, beta)


def isometric_operator_norm(d: int, beta: float) -> float:
    r"""Bound the operator norm of isometric noise W: √(2d) + √(2·log(2/beta)); for few columns `isometric_norm`, if less.

    Proof. With t = u·v, E(uᵀWu − vᵀWv)² = ‖uuᵀ − vvᵀ‖²_F = 2(1 − t²) ≤ 4(1 − t) = E(√2·gᵀu − √2·gᵀv)² on the sphere, g standard
    normal, so E λ_max(W) ≤ √2·E‖g‖ ≤ √(2d) (Sudakov and Fernique). λ_max is 1-Lipschitz in the Frobenius norm: it exceeds its
    mean by √(2·log(2/beta)) with probability at most beta/2 (Gaussian concentration), and so does −λ_min.
    """
    check_counts(d=d)
    check_beta(beta)
    return min(math.sqrt(2 * d) + math.sqrt(-2 * math.log(beta / 2)), isometric_norm(d, beta))


Norm = Callable[[int, float], float]
NOISES: dict[str, tuple[Norm, Norm]] = {"paper": (omega, nu), "isometric": (isometric_norm, isometric_operator_norm)}
"""The Frobenius and the operator norm of each noise."""


def separate_error(trace: float, n: int, d: int, rho: float, beta: float, *, noise: str = "paper") -> float:
    r"""Bound ‖Σ̃ − Σ‖_F for `separate`, SeparateCov of the paper, under ρ-zCDP: Theorem 1.

    2^{1.25}·√trace/(ρ^{1/4}·√n)·√ν(d, beta/2) + √2/(√ρ·n)·η(d, beta/2). The paper: Õ(d^{1/4}·√trace/√n + √d/n).

    Parameters
    ----------
    trace : float
        Of Σ: the mean squared norm of the rows, between 0 and 1.
    noise : {"paper", "isometric"}
        What lies on the matrix whose eigenvectors are taken; with "isometric" `isometric_operator_norm` stands for ν.

    Notes
    -----
    Proof. Half of ρ each makes the noise on the matrix E = √2/(√ρ·n)·W and on the values √2/(√ρ·n)·y, ‖y‖ ≤ η, ‖W‖ ≤ ν. For the
    i-th eigenvector pᵢ of Σ + E, pᵢᵀΣpᵢ ≥ λᵢ(Σ + E) − ‖E‖ ≥ λᵢ − 2‖E‖ (Weyl). Put the true eigenvalues along P: the square of
    what is off is 2Σλᵢ(λᵢ − pᵢᵀΣpᵢ) ≤ 4·trace·‖E‖, and 2√(√2) = 2^{1.25}. The noise of the values is added. It holds as well
    for values diag(PᵀΣP): off the diagonal lies, squared, Σλᵢ² − (pᵢᵀΣpᵢ)² ≤ 2Σλᵢ(λᵢ − pᵢᵀΣpᵢ), orthogonal to the noise.
    """
    return clipped_separate_noise(trace, 1.0, n, d, rho, beta, noise=noise)


def worst_case_error(n: int, d: int, rho: float, beta: float, *, noise: str = "paper") -> float:
    """Bound ‖Σ̃ − Σ‖_F for `separate` on any rows of norm at most 1: Theorem 2, which is Theorem 1 with trace 1."""
    return separate_error(1.0, n, d, rho, beta, noise=noise)


def clipped_gaussian_noise(tau: float, n: int, d: int, rho: float, beta: float, *, noise: str = "paper") -> float:
    """Bound what noise adds to the error of `gaussian` on rows clipped at τ: GaussNoise of equation (4), τ²·ω(d, beta)/(√ρ·n).

    Clipped rows have norm τ instead of 1, so the noise is less by τ². What clipping costs is `clipping_bias`.
    """
    check_choice("noise", noise, NOISES, "the paper's has variance 1 above the diagonal, isometric noise 1/2")
    check_radius(tau=tau)
    check_counts(n=n)
    check_positive(rho=rho)
    frobenius, _ = NOISES[noise]
    return tau**2 * frobenius(d, beta) / (math.sqrt(rho) * n)


def clipped_separate_noise(trace: float, tau: float, n: int, d: int, rho: float, beta: float, *, noise: str = "paper") -> float:
    """Bound what noise adds to the error of `separate` on rows clipped at τ: SeparateNoise of equation (4).

    τ·2^{1.25}·√trace/(ρ^{1/4}·√n)·√ν(d, beta/2) + τ²·√2/(√ρ·n)·η(d, beta/2): Theorem 1 for rows divided by τ, whose trace is
    less than trace/τ², times τ². The trace may be that of the rows before clipping, or any upper bound of it.
    """
    check_choice("noise", noise, NOISES, "the paper's has variance 1 above the diagonal, isometric noise 1/2")
    check_real("trace", trace, "between 0 and 1", 0.0, 1.0, "it is the mean of squared norms, of rows of norm at most 1")
    check_radius(tau=tau)
    check_counts(n=n)
    check_positive(rho=rho)
    check_beta(beta)
    _, operator = NOISES[noise]
    unit = math.sqrt(2) / (math.sqrt(rho) * n)
    return 2 * tau * math.sqrt(trace * unit * operator(d, beta / 2)) + tau**2 * unit * eta(d, beta / 2)


def _log(x: float) -> float:
    """Return the paper's logarithm, 1 up to e."""
    return max(math.log(x), 1.0)


def _chi(degrees: int, beta: float) -> float:
    """Return what the root of a χ² variable exceeds with probability at most beta: a χ² is twice a Gamma(degrees/2)."""
    return math.sqrt(2 * gamma_tail(degrees / 2, -math.log(beta)))
