r"""Rounds for a mean where the covariance is not known: each clips at a private quantile of the distances from the centre.

Early rounds clip at the median distance and move the centre; they cost about a percent each. They end when the median is large
compared with what noise can have moved the centre by, or stops shrinking: the rows' own spread is reached, and no further
round helps. Then one finer choice finds the radius with M rows outside, and what is left of the budget buys the last sum.
M balances noise and clipping: noise has the norm of V rows at the radius; M = 3V rows outside, of skewed data, cost about as
much. How much of the budget is spent on the way depends on private answers only, and never exceeds it.

Constants were found by simulation; they are flat within a factor of 1.5 (docs/mechanisms/coinpress.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.budget import ZCDP, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.questions.calibrated import noise_for
from dpcov.kernel.questions.choices import Quantile
from dpcov.kernel.questions.moments import Sum
from dpcov.kernel.questions.norms import Norms
from dpcov.kernel.rows.frames import Ball
from dpcov.mechanisms.shared.clipping import chosen_radius
from dpcov.mechanisms.shared.local import mean_in_ball
from dpcov.mechanisms.shared.means import (
    Noise,
    as_tuple,
    ask_count,
    check_two_rows,
    left_after_count,
    sum_noise,
)
from dpcov.mechanisms.shared.shares import STEPS

Floats = NDArray[np.float64]

FARTHEST, OCTAVES = 4.0, 26  # radii reach from four times the public one down to a sixteen-millionth of it
COARSE, FINE = 2, 8  # radii to the octave, early and at last
SHARP, MOST_FOR_CHOICE = 64.0, 0.08  # ε·n of an early choice, at most this share of the budget
MOST_FOR_SUM, MOST_EARLY = 0.12, 0.6  # of the budget: for one early sum, and for all that comes before the last choice
HOPELESS = 0.8  # of the radius: an early sum with so much noise would not help
REACHED, STALLED, NOT_REACHED = 2.5, 0.8, 1.25  # radius over what noise moved the centre by, and its inverse
ROWS_OUTSIDE, RANGE = 3.0, 10.0  # M in units of V, and in units of 1/ε of the last choice
MOST_ROUNDS = 60
WEIGHT = 2**20
UNLIKELY = 2.0**-12  # the least weight of a radius: a draw of an unlikely one must not take for ever


@dataclass(frozen=True)
class _Steering:
    """Constants that differ between the notions."""

    early: float  # least share of an early sum
    noise: float  # of the radius: what an early sum may add, where that is cheap
    last_choice: float  # its share, over the number of columns
    unlucky: float  # deviations by which the norm of the noise may exceed its mean


STEERING = {ZCDP: _Steering(0.01, 0.35, 0.7, 2.0), PureDP: _Steering(0.03, 0.25, 1.2, 3.0)}


class _Rounds:
    """One release: the centre, what was spent, and what is known of the distance to the mean."""

    def __init__(self, curator: Face, budget: PureDP | ZCDP, origin: Floats, most: int) -> None:
        self.curator, self.budget, self.origin, self.most = curator, budget, origin, most
        self.n, self.d, self.radius = curator.n, curator.d, curator.grid.row_norm
        self.noise: Noise = sum_noise(curator, budget)
        self.steering = STEERING[type(budget)]
        self.unlucky = 1 + self.steering.unlucky / math.sqrt(self.d)
        self.centre, self.offset = origin, self.radius
        self.left, self.sums = Fraction(1), 0
        self.choice = min(self.cost(SHARP / self.n), MOST_FOR_CHOICE)
        wanted = self.share_for(self.steering.noise * self.n)
        self.early = min(MOST_FOR_SUM, max(self.steering.early, wanted, self.choice / 2))

    def cost(self, epsilon: float) -> float:
        """Return the share of the budget that a choice of this ε costs."""
        if isinstance(self.budget, PureDP):
            return epsilon / float(self.budget.epsilon)
        return epsilon**2 / 8 / float(self.budget.rho)

    def epsilon(self, share: float) -> float:
        """Return the ε of a choice at this share."""
        if isinstance(self.budget, PureDP):
            return share * float(self.budget.epsilon)
        return math.sqrt(8 * share * float(self.budget.rho))

    def rows(self, share: float) -> float:
        """Return V, the r.m.s. norm of the noise on a sum at this share, in rows at the clipping radius."""
        return math.sqrt(self.d) * self.noise.deviation(share)

    def share_for(self, rows: float) -> float:
        """Return the share at which V is so many rows."""
        ratio = self.rows(1.0) / rows
        return ratio if isinstance(self.budget, PureDP) else ratio**2

    def pay(self, share: float) -> PureDP | ZCDP:
        """Take a share, rounded to exact parts, from what is left."""
        exact = _part(share)
        self.left -= exact
        return self.budget.share(exact)

    def can_go_on(self) -> bool:
        """Whether another early round helps, and leaves enough for the last one."""
        hopeless = self.unlucky * self.rows(self.early) / self.n >= HOPELESS
        spent = 1 - float(self.left) + self.choice + self.early
        return not hopeless and spent <= MOST_EARLY and self.sums + 1 < self.most

    def choose(self, rows: float, per_octave: int, share: float, prior: Floats) -> float:
        """Choose a radius around the centre with about so many rows outside."""
        ball = Ball(as_tuple(self.centre), FARTHEST * self.radius)
        weights = tuple(int(weight) for weight in np.rint(np.maximum(prior, UNLIKELY) * WEIGHT))
        norms = Norms(ball, self.d, per_octave, OCTAVES)
        question = Quantile(norms, max(1, round(rows)), 1, weights)
        return chosen_radius(self.curator.choose(question, self.pay(share))) * ball.radius

    def move(self, clip: float, share: Fraction) -> float:
        """Ask for the sum of rows clipped around the centre, move the centre, and return what noise can have added."""
        self.sums += 1
        total = Sum(Ball(as_tuple(self.centre), clip), self.d)
        self.left -= share
        answer = self.curator.noisy(total, self.budget.share(share), noise=noise_for(self.budget))
        self.centre = mean_in_ball(answer, self.n, self.origin, self.radius)
        return min(self.unlucky * self.rows(float(share)) * clip / self.n, 2 * self.radius)

    def octaves(self, per_octave: int, radius: float) -> Floats:
        """Return how many octaves each of the public radii lies above this one."""
        places = np.arange(OCTAVES * per_octave + 1) / per_octave
        return np.asarray(math.log2(FARTHEST * self.radius / radius) - places)

    def last_choice(self, previous: float | None) -> float:
        """Choose the radius of the last sum: finer, and with fewer rows outside."""
        left = float(self.left)
        usual = self.epsilon(left * min(max(self.steering.last_choice / self.d, 0.05), 0.25))
        epsilon = min(max(usual, 8 * RANGE / self.n), self.epsilon(0.25 * left))
        share = self.cost(epsilon)
        rows = min(max(ROWS_OUTSIDE * self.rows(left - share), RANGE / epsilon), self.n / 4)
        prior = np.ones(OCTAVES * FINE + 1)
        if previous is not None:
            above = self.octaves(FINE, previous)
            prior = np.exp2(-2 * np.maximum(above - 1, 0) - np.maximum(-above - 1, 0))
        return self.choose(rows, FINE, share, prior)


def ask_unknown_scale(curator: Face, budget: PureDP | ZCDP, origin: Floats, rounds: int | None) -> tuple[int, float]:
    """Ask for everything; return how many sums were asked for, and how far the last one is to be believed."""
    left = left_after_count(curator, budget)
    check_two_rows(curator, read=True)
    ask_count(curator, budget)
    state = _Rounds(curator, left, origin, MOST_ROUNDS if rounds is None else rounds)
    previous: float | None = None
    widest = shortest = math.inf  # what the next radius should not exceed, and the last one
    while True:
        while state.can_go_on():
            prior = np.ones(OCTAVES * COARSE + 1)
            if previous is not None:
                prior = np.exp2(-0.5 * np.maximum(state.octaves(COARSE, widest) - 0.5, 0))
            previous = clip = state.choose(state.n / 2, COARSE, state.choice, prior)
            settled = clip >= REACHED * state.offset
            stalled = state.sums > 0 and clip >= 0.99 * shortest and state.offset <= STALLED * clip
            if (settled or stalled) and clip <= 2 * widest:
                break
            shortest = clip
            state.offset = state.move(clip, _part(state.early))
            widest = max(clip, 2 * state.offset)
        clip = state.last_choice(previous)
        if clip >= NOT_REACHED * state.offset or not state.can_go_on():
            break
        previous = clip  # the centre is not where it should be after all
        state.offset = state.move(clip, _part(state.early))
        widest = max(clip, 2 * state.offset)
    believed = max(state.offset, clip / 2)
    noise = clip * state.rows(float(state.left)) / state.n
    state.move(clip, state.left)
    return state.sums, 1 / (1 + min(noise / believed, 1e100) ** 2)


def least_early_share(budget: PureDP | ZCDP) -> Fraction:
    """Return the least share of an early sum."""
    return _part(STEERING[type(budget)].early)


def _part(share: float) -> Fraction:
    """Return a share as exact parts."""
    return Fraction(max(1, math.floor(share * STEPS)), STEPS)
