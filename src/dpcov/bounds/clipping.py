r"""How far `adaptive` can be off, with probability 1 − beta: Theorem 3 of Dong, Liang and Yi (2022) with explicit constants.

Units as in `dpcov.bounds.revisited`: n rows of norm at most 1, Frobenius error of Σ = (1/n)·Σ x xᵀ, ρ-zCDP, one row replaced.

Algorithm 2 takes ρ/8 and the sparse vector technique for a radius r that nearly all rows are inside of, ρ/8 for an upper bound
t̂r of the trace of the rows clipped at r, ρ/4 for a search among τ₁ = r, τ₂ = r/2, … for the first τₖ where clipping seems to
cost more than noise, and ρ/2 for the less noisy of `gaussian` and `separate` on rows clipped at τₖ₋₁ (at r if k = 1).

===========================  ==========  ==================================================
function                     paper       what it bounds
===========================  ==========  ==================================================
``clipping_bias``            Lemma 8     what clipping at τ takes from Σ
``private_radius_error``     Lemma 9     how many rows are outside the private radius
``adaptive_clipping_error``  Theorem 3   the error, from the norms of the rows
===========================  ==========  ==================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcov.bounds.common import check_beta, check_counts, check_positive, check_radius
from dpcov.bounds.revisited import clipped_gaussian_noise, clipped_separate_noise, sparse_vector_error
from dpcov.errors import ParameterError

Floats = NDArray[np.float64]

DEEPEST = 500  # octaves: what is below has squares of 2**-1000 and is left out
ROUNDING = 1e-9  # by which a computed norm may exceed 1


def clipping_bias(norms: ArrayLike, tau: float) -> float:
    r"""Bound ‖Σ − Σ(clipped at τ)‖_F: Lemma 8, (1/n)·Σ(‖x‖² − τ²)₊. It is attained where all rows are parallel."""
    check_radius(tau=tau)
    return float(_excess(_checked(norms) ** 2, np.array([tau]))[0])


def private_radius_error(queries: int, epsilon: float, beta: float, *, monotone: bool = False) -> float:
    r"""Bound how many rows are longer than the private radius r: Lemma 9, (6/ε)·(log(2/beta) + log(2t/beta)).

    PrivRadius asks the sparse vector technique for the first r = b, 2b, 4b, … with at least −s for minus the number of rows
    outside, s = `sparse_vector_error` for one query. With probability 1 − 2·beta both r < 2·rad (or r = b), where rad is the
    largest norm, and no more rows than this are outside; ``queries``, t, counts the radii up to rad.

    Proof. The first radius from rad on has no row outside, and the noise of one query and of the threshold is at most s: the
    search stops there or before it. Where it stops, −outside ≥ −s − α, α = `sparse_vector_error` for t queries.
    """
    return sum(sparse_vector_error(t, epsilon, beta, monotone=monotone) for t in (1, queries))


def adaptive_clipping_error(
    norms: ArrayLike, d: int, rho: float, beta: float, *, radius: float | None = None, octaves: int | None = None
) -> float:
    r"""Bound ‖Σ̃ − Σ‖_F for Algorithm 2, AdaptiveCov, under ρ-zCDP with probability 1 − beta: Theorem 3.

    Parameters
    ----------
    norms : array of n floats
        The rows' Euclidean norms, at most 1: this looks at the data, it is for experiments.
    radius : float, optional
        Where r is public or known; 1 for no first search. Left out: the worst r that Lemma 9 allows, a power of 2.
    octaves : int, optional
        The search ends at the last τ from 2⁻ᵒᶜᵗᵃᵛᵉˢ on, that for r at 4⁻ᵒᶜᵗᵃᵛᵉˢ or before. The paper's dn where left out.

    Notes
    -----
    All is about rows clipped at r; R = (1/n)Σ(‖x‖² − r²)₊ is what that took. γ(τ) is (1/n)Σ‖x‖² over rows longer than τ; L(τ)
    the same of ‖x‖² − τ² (Lemma 8); B(τ) ≥ L(τ) the same with norms rounded up to the next τᵢ, which is what the search asks.
    N(τ) is the lesser of the two noises of equation (4), at ρ/2, beta/2 and t̂r, N⁺ that at the largest t̂r, and A = α·r²/n
    with the error α of the sparse vector technique for t queries n(B − N)/r² at ε = √(ρ/2). N(2τ) ≤ 4N(τ); and B ≤ 4γ, for
    norms are rounded by less than a factor of 2. (The paper's (6) has 2 for 4, which fails for norms just above a τᵢ.)

    Proof. But with probability beta, r is as in Lemma 9 (beta/4), t̂r is above the trace by at most twice what was added to it
    (beta/8, both sides), the search errs by at most A (beta/8), and noise adds at most N(τ̃) in the end (beta/2). Then
    B(τᵢ) ≤ N(τᵢ) + A for i < k, and N(τₖ) ≤ B(τₖ) + A if it stopped at all. So the error is at most R + eₖ for some k with
    B(τᵢ) ≤ N⁺(τᵢ) + A for all i < k, and the largest such R + eₖ is what is returned:

        eₖ = L(τₖ₋₁) + min(N⁺(τₖ₋₁), 4(B(τₖ) + A)),  k = 2, …, t;  e_{t+1} = L(τ_t) + N⁺(τ_t);  e₁ = min(N⁺(r), A) ≤ e₂.

    It is an oracle inequality: for *every* τ in the search, what is returned is at most

        R + max(2N⁺(τ) + A, 17γ(τ) + 4A).

    If τₖ₋₁ ≤ τ then eₖ ≤ B(τₖ₋₁) + N⁺(τₖ₋₁) ≤ 2N⁺(τ) + A; else τ ≤ τₖ and eₖ ≤ γ(τ) + 4(4γ(τ) + A). Theorem 3 is this with
    logarithms swept together. r < 2·rad, so R + 4A ≤ K·rad²/n with K = `private_radius_error` + 16α = O(log(dn/beta)/√ρ), and
    rad²/n is at most γ(τ) of all rows for τ < rad and N(τ)·√(ρ/2d) for others. √t̂r ≤ √trace·(1 + O(log(1/beta)/ρ)^{1/4}), as
    trace ≥ rad²/n ≥ r²/4n. A τ between two τᵢ costs a factor of 4 for N; one below the last leaves N there, of order 2⁻ᵈⁿ.
    """
    lengths = _checked(norms)
    check_counts(d=d)
    octaves = d * len(lengths) if octaves is None else octaves
    top = 1.0 if radius is None else radius
    check_counts(octaves=octaves)
    check_radius(radius=top)
    check_positive(rho=rho)
    check_beta(beta)
    rows = _Rows.of(lengths, top)
    firsts = [0] if radius is not None else rows.possible(2 * octaves, math.sqrt(rho) / 2, beta / 8)
    return max(_error_from(rows, int(first), d, rho, beta, octaves) for first in firsts)


@dataclass(frozen=True)
class _Rows:
    """What clipping at ``top``, ``top``/2, … costs: ``lost`` by Lemma 8, ``asked`` with norms rounded up to these radii."""

    lengths: Floats
    radii: Floats
    lost: Floats
    asked: Floats

    @classmethod
    def of(cls, lengths: Floats, top: float) -> _Rows:
        radii = top * np.exp2(-np.arange(DEEPEST + 1, dtype=np.float64))
        mantissa, power = np.frexp(np.minimum(lengths, top) / top)
        rounded = np.where(lengths > 0, top * np.exp2(power - (mantissa == 0.5)), 0.0)
        return cls(lengths, radii, _excess(lengths**2, radii), _excess(rounded**2, radii))

    def possible(self, octaves: int, epsilon: float, beta: float) -> NDArray[np.intp]:
        """Return at which radii the first search can end, by Lemma 9."""
        outside = len(self.lengths) - np.searchsorted(np.sort(self.lengths), self.radii, side="right")
        smallest = np.arange(DEEPEST + 1) == min(octaves, DEEPEST)
        near = (self.radii < 2 * self.lengths.max()) & (np.arange(DEEPEST + 1) <= octaves)
        return np.flatnonzero((outside <= private_radius_error(octaves + 1, epsilon, beta)) & (near | smallest))


def _error_from(rows: _Rows, first: int, d: int, rho: float, beta: float, octaves: int) -> float:
    """Return the largest R + eₖ for the first-th radius as r."""
    n, r = len(rows.lengths), float(rows.radii[first])
    searched = max(math.floor(octaves + math.log2(r)), 0) + 1
    slack = sparse_vector_error(searched, math.sqrt(rho / 2), beta / 8) * r**2 / n
    above = 2 * math.sqrt(-8 * math.log(beta / 8) / rho) * r**2 / n  # Algorithm 2, line 4: added once, exceeded once
    trace = min(max(float(np.mean(rows.lengths**2) - rows.lost[first]), 0.0) + above, r**2)
    whole = clipped_gaussian_noise(1.0, n, d, rho / 2, beta / 2)
    values = clipped_separate_noise(0.0, 1.0, n, d, rho / 2, beta / 2)
    directions = clipped_separate_noise(trace, 1.0, n, d, rho / 2, beta / 2) - values
    part = slice(first, first + searched)
    tau, lost, seen = rows.radii[part], rows.lost[part], rows.asked[part] - rows.asked[first]
    noise = np.minimum(whole * tau**2, directions * tau + values * tau**2)
    errors = lost + np.minimum(noise, np.append(4 * (seen[1:] + slack), math.inf))
    beyond = np.flatnonzero(seen > noise + slack)
    return float(errors[: beyond[0] if len(beyond) else None].max())


def _excess(squares: Floats, radii: Floats) -> Floats:
    """Return (1/n)·Σ(square − τ²)₊ for each τ."""
    ascending = np.sort(squares)
    sums = np.append(np.cumsum(ascending[::-1])[::-1], 0.0)  # of each square and all larger ones
    shorter = np.searchsorted(ascending, radii**2, side="right")
    return np.asarray((sums[shorter] - (len(squares) - shorter) * radii**2) / len(squares))


def _checked(norms: ArrayLike) -> Floats:
    lengths = np.asarray(norms, dtype=np.float64)
    if lengths.ndim != 1 or not len(lengths) or not np.all((lengths >= 0) & (lengths <= 1 + ROUNDING)):
        raise ParameterError(
            "norms must be a list of numbers from 0 to 1, got something else. Hint: divide rows by a bound on their norm."
        )
    return np.minimum(lengths, 1.0)
