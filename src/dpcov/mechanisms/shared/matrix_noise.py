"""Which noise serves a budget best, and how large it is: from public numbers alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from dpcov.errors import ParameterError
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.public import Facts
from dpcov.kernel.questions.calibrated import FROBENIUS, GAUSSIAN, LAPLACE, WISHART, calibrated, check_tail
from dpcov.kernel.questions.moments import REPLACE, SecondMoment
from dpcov.mechanisms.shared.clipping import PARTS, SHARES

KINDS: dict[type, tuple[str, ...]] = {ZCDP: (GAUSSIAN,), PureDP: (WISHART, FROBENIUS, LAPLACE)}
NUMERICS = ("rounded", "exact")
SINGLE_REACH = 4.0  # one column needs no scale: rows are clipped at so many times the radius that was chosen
BALANCE = 0.85  # of the noise's norm: what denoising leaves of it


@dataclass(frozen=True)
class MatrixNoise:
    """A kind of noise on a second moment of rows of norm 1, at the whole budget.

    ``error``: r.m.s. Frobenius norm c₀; ``deviation``: standard deviation of an entry above the diagonal; ``hides_n``: whether
    n is private.
    """

    kind: str
    budget: PureDP | ZCDP
    neighbors: str
    d: int
    error: float
    deviation: float
    hides_n: bool

    def number(self, share: Fraction = Fraction(1)) -> float:
        """Return the standard deviation of a number that one row moves by 1, at a share of the budget: √2/ε, or 1/√(2ρ)."""
        if isinstance(self.budget, PureDP):
            return math.sqrt(2) / float(self.budget.epsilon * share)
        return 1 / math.sqrt(2 * self.budget.rho * share)

    def balanced(self, ratio: float, left: Fraction) -> Fraction:
        """Return the share of ``left`` for the first of two answers whose errors at the same budget have this ratio.

        The sum of squares a²/s² + b²/(1−s)² (zCDP: a²/s + b²/(1−s)) is smallest where s/(1−s) = (a/b)^⅔ (zCDP: a/b).
        """
        weight = ratio ** (2 / 3 if isinstance(self.budget, PureDP) else 1.0)
        part = min(weight / (1 + weight), 0.9)  # at absurd budgets the second has noise that no budget lowers
        return Fraction(max(5, math.floor(float(left) * part * PARTS)), PARTS)

    @property
    def reach(self) -> float:
        """u/τ: the longer the reach, the less is lost of long rows, and the noisier the scale."""
        if self.d == 1:
            return SINGLE_REACH
        least = 7.0 if isinstance(self.budget, ZCDP) else 10.0 if self.neighbors == REPLACE else 6.0
        return math.sqrt(min(max(self.d / 2, least), 64.0))

    def scale_share(self, reach: float, left: Fraction) -> Fraction:
        """Return the share of ``left`` for the scale, 0 where there is none to restore.

        Its number moves by u² − τ², in units of τ² by reach² − 1; that error is balanced against BALANCE·c₀ of the matrix.
        """
        if self.d == 1 or reach <= 1:
            return Fraction(0)
        return self.balanced((reach**2 - 1) * self.number() / (BALANCE * self.error), left)

    def smallest_matrix_share(self) -> Fraction:
        """Return the least share that the matrix may get, whatever is answered before."""
        left = 1 - SHARES[1] - (self.count_share() if self.hides_n else 0)
        return left - self.scale_share(self.reach, left)

    def count_share(self) -> Fraction:
        """Return the share for n under add-remove: an n that is off by one row moves the estimate by 0.3 rows or so."""
        return self.balanced(0.3 * self.number() / self.error, Fraction(1))


def best_noise(public: Facts, budget: Budget, numerics: str) -> MatrixNoise | None:
    """Return the noise of the smallest r.m.s. norm; (ε, δ) is served by ε alone or by way of ρ, whichever is better.

    None where the budget is too small for every noise.
    """
    return _best_noise(public.second_moment(), public.neighbors, budget, numerics)


@lru_cache(maxsize=64)  # a name that stands for several mechanisms asks before the one that it chooses does
def _best_noise(moment: SecondMoment, neighbors: str, budget: Budget, numerics: str) -> MatrixNoise | None:
    budgets = (PureDP(budget.epsilon), budget.to_zcdp()) if isinstance(budget, ApproxDP) else (budget,)
    found, hides_n = [], neighbors != REPLACE or moment.weighs
    for served in budgets:
        for kind in KINDS[type(served)]:
            law = _law(moment, neighbors, kind, served, budget)
            if law is not None and law.numerics in ("exact", numerics):
                spread = law.spread().scaled(2.0**-moment.unit_bits)
                error, deviation = spread.rms(moment.d), math.sqrt(spread.off_diagonal_variance)
                found.append(MatrixNoise(kind, served, neighbors, moment.d, error, deviation, hides_n))
    for noise in sorted(found, key=lambda noise: noise.error):
        if _law(moment, neighbors, noise.kind, noise.budget.share(noise.smallest_matrix_share()), budget) is not None:
            return noise
    return None


def _law(moment: SecondMoment, neighbors: str, kind: str, budget: PureDP | ZCDP, promise: Budget) -> NoiseLaw | None:
    """Return the law of a noise; None where it does not serve the budget, or the budget is too small for it."""
    try:
        law = calibrated(moment, budget, neighbors, kind)
        if isinstance(promise, ApproxDP):
            check_tail([law], promise)
    except ParameterError:
        return None
    return law


def rows_to_clip(noise: MatrixNoise, robust: bool) -> float:
    """Return M: some multiple of the noise's norm, but no fewer than the choice of a radius can tell from none."""
    if isinstance(noise.budget, PureDP):
        unit = (1.0 if noise.neighbors == REPLACE else 0.75) / float(noise.budget.epsilon)
        few, many, robust_few = (200 if noise.d == 1 else 100) * unit, 400 * unit, 125 * unit
    else:
        unit = 1 / math.sqrt(noise.budget.rho)
        few, many, robust_few = 30 * unit, 55 * unit, 25 * unit
    usual = max(4 * noise.error, min(max(10 * noise.error, few), many))
    return min(usual, max(noise.error, robust_few)) if robust and noise.d > 1 else usual
