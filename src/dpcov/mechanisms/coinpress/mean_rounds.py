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
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpcov.bounds import MEAN_EVENTS, gaussian_norm, mean_radius, round_beta
from dpcov.mechanisms.shared.means import Noise

Floats = NDArray[np.float64]

LAST_SHARES = tuple(Fraction(percent, 1000) for percent in (500, 600, 700, 750, 800, 850, 900, 925, 950, 970))
MOST_ROUNDS = 16
ENOUGH = 1.005
PAPER_LAST, PAPER_ROUNDS = Fraction(3, 4), 2  # of the budget, for the last round; and the t of most of the paper's figures
TAIL = 0.01  # the paper's practical probability of a row outside, and of a mean outside its ball
SIDEWAYS = 3.0  # of √log(2/β): rows are not all farther out in the direction in which the mean may lie
PLACES = np.arange(0.0, 6.01, 0.25) * math.sqrt(0.5)  # where the last round may clip, beyond the typical row
NORMAL = np.linspace(-4.0, 4.0, 161)
WEIGHTS = np.exp(-(NORMAL**2) / 2) / np.exp(-(NORMAL**2) / 2).sum()


@dataclass(frozen=True)
class Plan:
    """For each round its share of the budget, its clip in deviations, and whether the centre moves; and the expected error.

    A round that can only learn less than is known already leaves the centre where it is.
    """

    shares: tuple[Fraction, ...]
    clips: tuple[float, ...]
    moves: tuple[bool, ...]
    error: float


def safe_clip(r: float, d: int) -> float:
    """Return where few Gaussian rows are cut whose mean is within r of the centre: the paper's practical radius."""
    tail = gaussian_norm(d, TAIL)
    return min(math.sqrt(r**2 + 2 * SIDEWAYS * r + tail**2), r + tail)


def smallest_share(rounds: int | None, most: int = MOST_ROUNDS, last: Fraction = LAST_SHARES[-1]) -> Fraction:
    """Return the smallest share that a round can have, whatever n is: of ``most`` where they are to be found."""
    return min(shares_of(most if rounds is None else rounds, last))


def shares_of(rounds: int, last: Fraction) -> tuple[Fraction, ...]:
    """Return the shares of the rounds: the last one's, and equal ones before it."""
    if rounds == 1:
        return (Fraction(1),)
    return (*[(1 - last) / (rounds - 1)] * (rounds - 1), last)


@lru_cache(maxsize=256)
def plan(
    radius: float,
    n: int,
    d: int,
    noise: Noise,
    rounds: int | None,
    beta: float | None = None,
    rounding: float = 0.0,
    *,
    paper: bool = False,
) -> Plan:
    """Return the plan for a mean within ``radius`` deviations of the origin.

    ``beta`` None: the practical constants. Else the proved ones, for that probability of failure, and for integers that are off
    by ``rounding`` clips at most. ``paper``: those of the authors' program.
    """
    if paper:
        return _printed(radius, n, d, noise, shares_of(rounds or PAPER_ROUNDS, PAPER_LAST))
    counts = [rounds] if rounds else range(1, MOST_ROUNDS + 1)
    found = [min(_plans(radius, n, d, noise, count, beta, rounding), key=lambda one: one.error) for count in counts]
    least = min(candidate.error for candidate in found)
    return next(candidate for candidate in found if candidate.error <= least * ENOUGH)


def _plans(radius: float, n: int, d: int, noise: Noise, rounds: int, beta: float | None, rounding: float) -> Iterator[Plan]:
    """Yield a plan of so many rounds for each share of the last one."""
    for last in LAST_SHARES if rounds > 1 else (Fraction(1),):
        shares = shares_of(rounds, last)
        if beta is None:
            yield _practical(radius, n, d, noise, shares)
        else:
            yield _proved(radius, n, d, noise, shares, beta, rounding)


def _practical(radius: float, n: int, d: int, noise: Noise, shares: tuple[Fraction, ...]) -> Plan:
    """Follow the rounds with the paper's practical clips, but for the last, which is the best one."""
    clips: list[float] = []
    moves: list[bool] = []
    variance, r = 0.0, radius
    for share in shares:
        safe = safe_clip(r, d)
        unit = noise.deviation(float(share)) / n
        if len(clips) == len(shares) - 1 and any(moves):  # a centre that never moved may be anywhere in the ball
            clip, error = _last(n, d, variance, unit, safe)
            return Plan(shares, (*clips, clip), (*moves, True), error)
        clips.append(safe)
        reached = mean_radius(n, d, unit * safe, TAIL)
        moves.append(reached < r)
        if moves[-1]:
            variance, r = (unit * safe) ** 2, reached
    return Plan(shares, tuple(clips), tuple(moves), math.sqrt(d / n + d * (unit * safe) ** 2))


def _printed(radius: float, n: int, d: int, noise: Noise, shares: tuple[Fraction, ...]) -> Plan:
    """Follow the rounds as the authors' program does: each clips at the practical radius, the last as well, and moves."""
    clips: list[float] = []
    r = radius
    for share in shares:
        clips.append(safe_clip(r, d))
        deviation = noise.deviation(float(share)) / n * clips[-1]
        r = mean_radius(n, d, deviation, TAIL)
    return Plan(shares, tuple(clips), (True,) * len(shares), math.sqrt(d / n + d * deviation**2))


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


def _proved(radius: float, n: int, d: int, noise: Noise, shares: tuple[Fraction, ...], beta: float, rounding: float) -> Plan:
    """Follow the rounds of Figure 2 of the paper: no row of a Gaussian is cut, and the mean stays in its ball."""
    clips: list[float] = []
    moves: list[bool] = []
    r, error = radius, math.inf
    for number, share in enumerate(shares, start=1):
        part = round_beta(beta, number, len(shares), MEAN_EVENTS) / n
        clips.append(r + gaussian_norm(d, part))
        deviation = noise.deviation(float(share)) / n * clips[-1]
        error = math.sqrt(d / n + d * deviation**2)
        reached = mean_radius(n, d, deviation, part) + rounding * clips[-1]
        moves.append(reached < r)
        r = min(r, reached)
    return Plan(shares, tuple(clips), tuple(moves), error)
