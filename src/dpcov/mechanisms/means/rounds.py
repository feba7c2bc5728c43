r"""How many rounds, at what prices, and where to clip: a rule from public numbers, by following the algorithm on paper.

A round knows that the mean is within r deviations of the centre c, clips rows to a ball around c, and learns it to within r′.
All but the last clip where no row of a Gaussian is likely to be cut; the last one, whose answer is the estimate, trades noise
against what clipping costs, in deviations of one coordinate, d columns, n rows, noise of deviation s·clip on each coordinate:

.. math:: e^2 = \frac{d}{n} + d\,s_t^2 + d\,(1-f)^2\,s_{t-1}^2 + b^2

- f is how much of an error of the centre the clipped mean corrects: E[1{|x| ≤ τ} + (1 − 1/d)(τ/|x|)·1{|x| > τ}];
- b = E(|x| − τ)₊ is the most that clipping can move a mean: all of it if the rows outside lie on one side. Gaussian data would
  allow to clip harder; skewed data would not.

The number of rounds is the smallest that is within half a percent of the best, the share of the last one the best of a few.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpcov.bounds import gaussian_norm, round_beta
from dpcov.mechanisms.means.common import Noise

Floats = NDArray[np.float64]

LAST_SHARES = tuple(Fraction(percent, 1000) for percent in (500, 600, 700, 750, 800, 850, 900, 925, 950, 970))
PAPER_SHARE = Fraction(3, 4)
MOST_ROUNDS = 16
EVENTS = 2  # that may fail in a round: `round_beta`
ENOUGH = 1.005
TAIL = 0.01  # the paper's practical probability of a row outside, and of a mean outside its ball
SIDEWAYS = 3.0  # of √log(2/β): rows are not all farther out in the direction in which the mean may lie
PLACES = np.arange(0.0, 6.01, 0.25) * math.sqrt(0.5)  # where the last round may clip, beyond the typical row
NORMAL = np.linspace(-4.0, 4.0, 161)
WEIGHTS = np.exp(-(NORMAL**2) / 2) / np.exp(-(NORMAL**2) / 2).sum()


@dataclass(frozen=True)
class Plan:
    """For each round its share of the budget and its clip, in deviations; and the error that is expected of the last one."""

    shares: tuple[Fraction, ...]
    clips: tuple[float, ...]
    error: float


def safe_clip(r: float, d: int) -> float:
    """Return where few Gaussian rows are cut whose mean is within r of the centre: the paper's practical radius."""
    tail = gaussian_norm(d, TAIL)
    return min(math.sqrt(r**2 + 2 * SIDEWAYS * r + tail**2), r + tail)


def smallest_share(rounds: int | None) -> Fraction:
    """Return the smallest share that a round can have, whatever n is."""
    count = MOST_ROUNDS if rounds is None else rounds
    return min(shares_of(count, max(LAST_SHARES)))


def shares_of(rounds: int, last: Fraction) -> tuple[Fraction, ...]:
    """Return the shares of the rounds: the last one's, and equal ones before it."""
    if rounds == 1:
        return (Fraction(1),)
    return (*[(1 - last) / (rounds - 1)] * (rounds - 1), last)


@lru_cache(maxsize=256)
def plan(radius: float, n: int, d: int, noise: Noise, rounds: int | None, beta: float | None) -> Plan:
    """Return the plan for a mean within ``radius`` deviations of the origin.

    ``beta`` None: the practical constants. Else the proved ones, for that probability of failure.
    """
    found = [_best(radius, n, d, noise, count, beta) for count in ([rounds] if rounds else range(1, MOST_ROUNDS + 1))]
    least = min(candidate.error for candidate in found)
    return next(candidate for candidate in found if candidate.error <= least * ENOUGH)


def _best(radius: float, n: int, d: int, noise: Noise, rounds: int, beta: float | None) -> Plan:
    """Return the plan of so many rounds with the best share of the last one."""
    splits = [shares_of(rounds, last) for last in (LAST_SHARES if rounds > 1 else (Fraction(1),))]
    plans = (
        _practical(radius, n, d, noise, split) if beta is None else _proved(radius, n, d, noise, split, beta)
        for split in splits
    )
    return min(plans, key=lambda one: one.error)


def _practical(radius: float, n: int, d: int, noise: Noise, shares: tuple[Fraction, ...]) -> Plan:
    """Follow the rounds with the paper's practical clips, but for the last, which is the best one."""
    tail = gaussian_norm(d, TAIL)
    clips: list[float] = []
    variance, r = 0.0, radius
    for share in shares:
        safe = safe_clip(r, d)
        unit = noise.deviation(float(share)) / n
        if len(clips) == len(shares) - 1 > 0:
            clip, error = _last(n, d, variance, unit, safe)
            return Plan(shares, (*clips, clip), error)
        clips.append(safe)
        variance = (unit * safe) ** 2
        r = min(r, tail * math.sqrt(1 / n + variance))
    return Plan(shares, tuple(clips), math.sqrt(d / n + d * variance))


def _last(n: int, d: int, variance: float, unit: float, safe: float) -> tuple[float, float]:
    """Return where the last round clips, and the error that is expected."""
    offset = d * (1 / n + variance)
    middle, spread = _typical_norm(d, offset)
    clips = np.minimum(math.sqrt(d + offset) + PLACES, safe)
    norms = np.maximum(middle + spread * NORMAL, 1e-9)
    outside = norms > clips[:, None]
    corrected = np.where(outside, (1 - 1 / d) * clips[:, None] / norms, 1.0) @ WEIGHTS
    moved = np.where(outside, norms - clips[:, None], 0.0) @ WEIGHTS
    squares = d / n + d * (unit * clips) ** 2 + d * (1 - corrected) ** 2 * variance + moved**2
    best = int(np.argmin(squares))
    return float(clips[best]), math.sqrt(squares[best])


def _typical_norm(d: int, offset: float) -> tuple[float, float]:
    """Return the middle and the spread of the norm of a standard normal vector whose centre is off by √offset."""
    square = d + offset
    variance = (2 * d + 4 * offset) / (4 * square)
    return math.sqrt(max(square - variance, 0.0)), math.sqrt(variance)


def _proved(radius: float, n: int, d: int, noise: Noise, shares: tuple[Fraction, ...], beta: float) -> Plan:
    """Follow the rounds of Figure 2 of the paper: no row of a Gaussian is cut, and the mean stays in its ball."""
    clips: list[float] = []
    r, error = radius, math.inf
    for number, share in enumerate(shares, start=1):
        tail = gaussian_norm(d, round_beta(beta, number, len(shares), EVENTS) / n)
        clips.append(r + tail)
        variance = (noise.deviation(float(share)) / n * clips[-1]) ** 2
        error = math.sqrt(d / n + d * variance)
        r = min(r, tail * math.sqrt(1 / n + variance))
    return Plan(shares, tuple(clips), error)
