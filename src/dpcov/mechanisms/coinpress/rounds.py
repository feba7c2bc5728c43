r"""The public rule behind `coinpress` for covariances: where each round clips, how many rounds there are, and what they cost.

In the coordinates y = Wx of a round let T bound the trace of the covariance of y and λ its largest eigenvalue. A Gaussian row
has ‖y‖² ≤ T + 2√(TλL) + 2Lλ but for a probability e⁻ᴸ. The noise of the round has deviation s = γ²·u/n on the diagonal, with u
that of rows of norm 1, and norm about s√(2d).

The last round clips harder, at γ² = (T/d)·x, with x the best compromise of noise and what clipping takes from Gaussian rows:

.. math:: \Big(\frac{xu}{n}\Big)^2 \frac{d(d+1)}{2} + w\,d\,\Big(1 - \frac{E\min(\chi^2_d, x)}{d}\Big)^2

The weight w is small where the scale is bought back afterwards. To choose the number of rounds the recursion is followed for
two spectra between the public bounds, the worse of which counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dpcov.bounds import COVARIANCE_EVENTS, covariance_bounds, gaussian_norm, round_beta
from dpcov.mechanisms.coinpress.mean_rounds import shares_of
from dpcov.mechanisms.shared.means import Noise

LAST_SHARES = tuple(Fraction(percent, 100) for percent in (50, 60, 70, 75, 80, 85, 90))
MOST_ROUNDS = 20
ENOUGH, MANY_COLUMNS = (1.005, 1.03), 20  # fewer rounds are worth so much error; more where each of them is a large matrix
FEW_COLUMNS = 2  # no scale is bought back: there is little but scale in so few numbers
SCALE_SHARE = Fraction(1, 20)  # of the whole budget
MARGIN = 2.0  # deviations of the noise in a trace
CAUTIOUS_LOG = math.log(5.0)
BOLD_LOG = math.log(2.5)
SCALE_WEIGHT = 0.1


@dataclass(frozen=True)
class Plan:
    """The shares of the rounds, and the Mahalanobis error that is expected of the last one."""

    shares: tuple[Fraction, ...]
    error: float


@dataclass(frozen=True)
class Rule:
    """How rounds clip and widen: few columns are treated with caution, and plans are made with it."""

    d: int
    cautious: bool

    def clip_squared(self, trace: float, largest: float) -> float:
        """Return γ² for rows whose covariance has this trace and largest eigenvalue."""
        log = CAUTIOUS_LOG if self.cautious else BOLD_LOG
        return trace + 2 * math.sqrt(trace * largest * log) + 2 * log * largest

    def widening(self, deviation: float) -> float:
        """Return what is added to eigenvalues for noise of this deviation."""
        return (1.0 if self.cautious else 0.5) * deviation * math.sqrt(2 * self.d)

    def last_clip(self, n: int, unit: float) -> float:
        """Return x: where the last round clips, for a trace of d."""
        return best_clip(n, self.d, unit, 1.0 if self.cautious else SCALE_WEIGHT)


def kept(x: float | np.ndarray, d: int) -> float | np.ndarray:
    """Return E min(χ²_d, x)/d: what clipping leaves of a Gaussian's second moment."""
    from scipy.special import gammainc

    return gammainc(d / 2 + 1, np.asarray(x) / 2) + np.asarray(x) / d * (1 - gammainc(d / 2, np.asarray(x) / 2))


@lru_cache(maxsize=1024)
def best_clip(n: int, d: int, unit: float, weight: float) -> float:
    """Return the x that balances noise against clipping."""
    places = np.linspace(d, d + 6 * math.sqrt(2 * d) + 12, 80)
    squares = (places * unit / n) ** 2 * d * (d + 1) / 2 + weight * d * (1 - kept(places, d)) ** 2
    return float(places[int(np.argmin(squares))])


@lru_cache(maxsize=256)
def plan(condition: float, n: int, d: int, noise: Noise, rounds: int | None, beta: float | None) -> Plan:
    """Return the plan for a covariance between bounds that are ``condition`` apart; ``beta``: with proved constants."""
    counts = [rounds] if rounds else range(1, MOST_ROUNDS + 1)
    found = [min(_plans(condition, n, d, noise, count, beta), key=lambda one: one.error) for count in counts]
    least = min(one.error for one in found)
    if not math.isfinite(least):
        return found[0]  # hopeless: the fewest questions
    enough = least * ENOUGH[d > MANY_COLUMNS]
    return next(one for one in found if one.error <= enough)


def _plans(condition: float, n: int, d: int, noise: Noise, rounds: int, beta: float | None) -> Iterator[Plan]:
    """Yield a plan of so many rounds for each share of the last one."""
    for last in LAST_SHARES if rounds > 1 else (Fraction(1),):
        shares = shares_of(rounds, last)
        spectra = [(d - d // 2, d // 2), (d, 0)] if d > 1 else [(1, 0)]
        try:
            if beta is None:
                error = max(_expected(condition, n, d, noise, shares, low, high) for low, high in spectra)
            else:
                error = max(_proved(condition, n, d, noise, shares, beta, low, high) for low, high in spectra)
        except (OverflowError, ZeroDivisionError):  # hopelessly noisy
            error = math.inf
        yield Plan(shares, error)


def _expected(condition: float, n: int, d: int, noise: Noise, shares: tuple[Fraction, ...], low: int, high: int) -> float:
    """Follow the rounds for ``low`` eigenvalues at the lower bound and ``high`` at the upper; return the error of the last."""
    rule = Rule(d, cautious=True)
    small, large = 1 / condition, 1.0
    trace, largest = float(d), 1.0
    for share in shares[:-1]:
        s = rule.clip_squared(trace, largest) * noise.deviation(float(share)) / n
        small_wide, large_wide = small + rule.widening(s), large + rule.widening(s)
        margin = MARGIN * s * math.sqrt(low / small_wide**2 + high / large_wide**2)
        if margin > 5 * d:
            return math.inf
        small, large = small / small_wide, large / large_wide
        trace = low * small + high * large + margin
        largest = min(1.0, max(large if high else small, 0.05))
    unit = noise.deviation(float(shares[-1]))
    if len(shares) == 1:
        clip, lost = rule.clip_squared(trace, largest), 0.0
    else:
        x = rule.last_clip(n, unit)
        clip, lost = trace / d * x, 1 - float(kept(x, d))
    return _error(n, d, clip * unit / n * (low / small + high / large), math.sqrt(d) * lost)


def _proved(
    condition: float, n: int, d: int, noise: Noise, shares: tuple[Fraction, ...], beta: float, low: int, high: int
) -> float:
    """Follow the rounds with proved constants: `dpcov.bounds.covariance_bounds`."""
    small, large, s = 1 / condition, 1.0, 0.0
    for number, share in enumerate(shares, start=1):
        part = round_beta(beta, number, len(shares), COVARIANCE_EVENTS)
        s = proved_clip(n, d, part) ** 2 * noise.deviation(float(share)) / n
        if number < len(shares):
            hidden, least, _ = covariance_bounds(n, d, s, part)
            if least == 0:
                return math.inf
            small, large = small / (small + hidden) * least, large / (large + hidden) * least
    return _error(n, d, s * (low / small + high / large), 0.0)


def _error(n: int, d: int, noise: float, lost: float) -> float:
    return math.sqrt(d * (d + 1) / n + noise**2 / 2 * (1 + 1 / d) + lost**2)


def proved_clip(n: int, d: int, beta: float) -> float:
    """Return γ: no row of N(0, C) with C ⪯ 1 is longer, but for a probability beta."""
    return gaussian_norm(d, beta / n)
