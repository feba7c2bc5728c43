"""One run of `coinpress`: the whitener, the centre, what is known of the whitened rows, and the questions that change them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from dpcov.bounds import COVARIANCE_EVENTS, covariance_bounds, gaussian_norm, mean_radius, round_beta
from dpcov.errors import ParameterError
from dpcov.kernel.budget import ZCDP
from dpcov.kernel.face import Face
from dpcov.kernel.public import Facts
from dpcov.kernel.questions.calibrated import GAUSSIAN, noise_for
from dpcov.kernel.questions.moments import SecondMoment, Sum
from dpcov.kernel.questions.norms import Trace
from dpcov.kernel.rows.frames import Ellipsoid
from dpcov.linalg import into_ball
from dpcov.mechanisms.base import Least
from dpcov.mechanisms.coinpress.bounds import Bounds
from dpcov.mechanisms.coinpress.confidence import Claim, rounded_square
from dpcov.mechanisms.coinpress.mean_rounds import TAIL, safe_clip, smallest_share
from dpcov.mechanisms.coinpress.rounds import (
    FEW_COLUMNS,
    LAST_SHARES,
    MARGIN,
    MOST_ROUNDS,
    SCALE_SHARE,
    Plan,
    Rule,
    plan,
    proved_clip,
)
from dpcov.mechanisms.shared.means import Floats, Noise, as_tuple, sum_noise, unit_ball, unit_noise

APPROACH_SHARE = Fraction(1, 20)  # of the budget, for rounds that only find the mean
MOST_APPROACHES = 8
MEAN_SHARE = Fraction(1, 10)  # of a round that is not the last, for its mean
GUARD_SHARE = Fraction(1, 10)  # of a round between the first and the last, for its trace
GUARD_NOISE = 0.06  # of the trace: the noise of the guard, where rows are many
GUARD_REACH, MOST_GUARDED = (10.0, 100.0), 20.0  # how long rows may be, squared and in traces, and by how much they can widen
LEAST_TRACE, LEAST_LARGEST = 0.02, 0.05
MOST_DEVIATIONS = 1e12  # deviations of the upper bound to the mean


class Whitening:
    """A plan, and its execution: `ask` asks everything."""

    def __init__(
        self,
        curator: Face,
        budget: ZCDP,
        bounds: Bounds,
        origin: Floats,
        radius: float,
        rounds: int | None,
        claim: Claim,
    ) -> None:
        self.curator, self.budget, self.n, self.d = curator, budget, curator.n, curator.d
        self.bounds, self.whitener = bounds, bounds.whitener
        self.centre, self.origin, self.radius = origin, origin, radius
        self.centred, self.proved, self.beta = radius > 0, claim.proved, claim.beta
        self.rule = Rule(self.d, cautious=self.d <= FEW_COLUMNS)
        self.trace, self.largest = float(self.d), 1.0
        self.approach = self._approach()
        self.rest = budget.share(1 - APPROACH_SHARE) if self.approach else budget
        moment = Noise(self.rest, self._unit(SecondMoment, self.rest))
        beta = claim.beta if claim.proved else None
        self.plan: Plan = plan(bounds.condition, self.n, self.d, moment, rounds, beta)
        if self.centred and rounds is None and len(self.plan.shares) == 1:
            self.plan = plan(bounds.condition, self.n, self.d, moment, 2, beta)

    def ask(self) -> None:
        """Find the mean roughly, where it is wanted; then whiten, round by round, and ask at last for the estimate."""
        for clip in self.approach:
            share = APPROACH_SHARE / len(self.approach)
            self._recentre(self.budget.share(share), clip)
        rounds = len(self.plan.shares)
        for number, share in enumerate(self.plan.shares, start=1):
            budget = self.rest.share(share)
            if self.proved:
                self._proved_round(budget, number)
            elif number < rounds:
                self._round(budget, guarded=number > 1)
            else:
                self._last_round(budget, share, first=rounds == 1)

    def _round(self, budget: ZCDP, *, guarded: bool) -> None:
        """Ask for the second moment of whitened rows, and whiten by what it shows, widened by its noise."""
        clip = math.sqrt(self.rule.clip_squared(self.trace, self.largest))
        frame = self._frame(clip)
        mean_share = MEAN_SHARE if self.centred else Fraction(0)
        guard_share = GUARD_SHARE if guarded else Fraction(0)
        mean, blur = self._mean(budget.share(mean_share), frame) if self.centred else (np.zeros(self.d), 0.0)
        noisy, deviation = self._second_moment(budget.share(1 - mean_share - guard_share), frame)
        if guarded:
            factor = self._guard(budget.share(guard_share), float(np.trace(noisy)), deviation)
            noisy, deviation = noisy * factor, deviation * factor
        # The second moment about the old centre bounds that about the new one, but for the noise in it. Where the old one was
        # far off, most rows were cut, and a square of the mean taken from it would leave nothing.
        believed = max(0.0, 1 - self.d * blur**2 / max(float(mean @ mean), 1e-300))  # James and Stein
        self._whiten(frame, noisy, deviation, believed * blur)
        self._move(frame, believed * mean / clip)

    def _last_round(self, budget: ZCDP, share: Fraction, *, first: bool) -> None:
        """Ask for the second moment that makes the estimate, and for the scale that clipping takes from it."""
        scaled = not self.rule.cautious and not first
        moment_share = 1 - SCALE_SHARE / share if scaled else Fraction(1)
        unit = self._unit(SecondMoment, budget.share(moment_share))
        if first:
            squared = self.rule.clip_squared(self.trace, self.largest)
        else:
            squared = self.trace / self.d * self.rule.last_clip(self.n, unit)
        clip = math.sqrt(squared)
        frame = self._frame(clip)
        if self.centred:
            part = min(max(2 / (2 + clip), 0.02), 0.5)  # the mean's error and the covariance's are then inflated alike
            mean_share = Fraction(round(1000 * float(moment_share) * part), 1000)
            self._mean(budget.share(mean_share), frame)
            moment_share -= mean_share
        self._second_moment(budget.share(moment_share), frame)
        if scaled:
            x = squared * self.d / self.trace
            for_scale = budget.share(SCALE_SHARE / share)
            wide = self._frame(math.sqrt(self.trace * self._scale_reach(x, unit, for_scale)))
            self.curator.noisy(Trace(wide, self.d), for_scale, noise=GAUSSIAN)

    def _proved_round(self, budget: ZCDP, number: int) -> None:
        """Ask as in the paper: clip where no Gaussian row is cut, and widen by all that noise and sampling can hide."""
        part = round_beta(self.beta, number, len(self.plan.shares), COVARIANCE_EVENTS)
        clip = proved_clip(self.n, self.d, part)
        frame = self._frame(clip)
        noisy, deviation = self._second_moment(budget, frame)
        hidden, low, _ = covariance_bounds(self.n, self.d, deviation, part)
        if number < len(self.plan.shares):
            values, vectors = np.linalg.eigh(noisy)
            widened = (np.maximum(values, 0.0) + hidden + clip**2 * rounded_square(frame.rounding)) / low
            self._turn(frame, vectors, widened)
            applied = self._frame(1.0).whitener
            larger = float(np.linalg.norm(np.linalg.solve(self.whitener.T, applied.T), 2))
            self.whitener /= max(larger, 1.0) ** 2 * (1 + 2.0**-10)  # rounded to integers it must not exceed what is proved

    def _turn(self, frame: Ellipsoid, vectors: Floats, widened: Floats) -> None:
        """Whiten by a matrix with these eigenvectors and eigenvalues, in the coordinates of the frame as it was applied."""
        applied = frame.whitener * frame.deviations
        turned = (vectors / np.sqrt(widened)) @ vectors.T @ applied
        self.whitener = self.bounds.within(turned, least=0.0 if self.proved else None)

    def _whiten(self, frame: Ellipsoid, noisy: Floats, deviation: float, blur: float) -> None:
        """Turn the whitener so that no direction is known to exceed 1, and note trace and largest eigenvalue there."""
        values, vectors = np.linalg.eigh(noisy)
        widened = np.maximum(values, 0.0) + self.rule.widening(deviation)
        self._turn(frame, vectors, widened)
        margin = MARGIN * deviation * math.sqrt(float(np.sum(widened**-2.0)))
        around = float(np.sum(values / widened)) + blur**2 * float(np.sum(1 / widened))
        self.trace = max(around + margin, LEAST_TRACE * self.d)
        self.largest = min(1.0, max(float((values / widened).max()), LEAST_LARGEST))

    def _guard(self, budget: ZCDP, trace: float, deviation: float) -> float:
        """Return by how much a few long rows, which clipping hid, show that the second moment is too small."""
        reach = math.sqrt(
            self.trace * min(max(GUARD_NOISE * self.n / self._unit(Trace, budget), GUARD_REACH[0]), GUARD_REACH[1])
        )
        answer = self.curator.noisy(Trace(self._frame(reach), self.d), budget, noise=GAUSSIAN)
        longer = (float(answer.values[0]) / self.n - MARGIN * (answer.deviation / self.n)) * reach**2
        return min(max(longer / max(trace + MARGIN * deviation * math.sqrt(self.d), 1e-300), 1.0), MOST_GUARDED)

    def _scale_reach(self, x: float, unit: float, budget: ZCDP) -> float:
        """Return how far out rows count for the scale, in units of the trace: where its noise is small against the error."""
        d, n = self.d, self.n
        error = math.sqrt(d * (d + 1) / n + (x * unit / n) ** 2 * d * (d + 1) / 2)
        return max(gaussian_norm(d, 0.05) ** 2 / d, 0.15 * error * n / self._unit(Trace, budget) / math.sqrt(d))

    def _frame(self, clip: float) -> Ellipsoid:
        """Return the ellipsoid of rows within ``clip`` of the centre, in whitened units."""
        try:
            frame = Ellipsoid(as_tuple(self.centre), self.whitener / clip, clip)
        except ParameterError:  # no noisy answer may end a release that was paid for: the bounds' own coordinates always serve
            self.whitener = self.bounds.whitener
            frame = Ellipsoid(as_tuple(self.centre), self.whitener / clip, clip)
        return frame

    def _second_moment(self, budget: ZCDP, frame: Ellipsoid) -> tuple[Floats, float]:
        """Ask for the second moment of whitened rows; return it with the deviation of its noise, in whitened units."""
        answer = self.curator.noisy(SecondMoment(frame, self.d), budget, noise=GAUSSIAN)
        unit = frame.deviations**2
        return answer.matrix / self.n * unit, answer.deviation / self.n * unit

    def _mean(self, budget: ZCDP, frame: Ellipsoid) -> tuple[Floats, float]:
        """Ask for the mean of rows in a frame; return it with the deviation of its noise, in whitened units."""
        answer = self.curator.noisy(Sum(frame, self.d), budget, noise=GAUSSIAN)
        unit = frame.deviations
        return np.asarray(answer.values / self.n * unit), answer.deviation / self.n * unit

    def _recentre(self, budget: ZCDP, clip: float) -> None:
        """Ask for the mean, and move there."""
        frame = self._frame(clip)
        self._move(frame, self._mean(budget, frame)[0] / clip)

    def _move(self, frame: Ellipsoid, y: Floats) -> None:
        """Move the centre to where a mean was found, inside the public ball."""
        if not self.centred:
            return
        self.centre = into_ball(frame.frame.point(y), self.origin, self.radius)

    def _approach(self) -> list[float]:
        """Return where rounds that only find the mean clip, in deviations of the upper bound: as few as bring it near."""
        if not self.centred:
            return []
        start = self.radius * float(np.linalg.norm(self.whitener, 2))
        noise = sum_noise(self.curator, self.budget)
        near = 0.5 * math.sqrt(self.d)
        found: list[tuple[float, list[float]]] = [(start, [])]
        for count in range(1, MOST_APPROACHES + 1):
            r, clips = start, []
            for _ in range(count):
                clips.append(safe_clip(r, self.d))
                deviation = noise.deviation(float(APPROACH_SHARE) / count) / self.n * clips[-1]
                r = min(r, mean_radius(self.n, self.d, deviation, TAIL))
            found.append((r, clips))
        distance, clips = next((one for one in found if one[0] <= near), min(found, key=lambda one: one[0]))
        self.trace, self.largest = self.d + distance**2, max(1.0, distance**2)
        return clips

    def _unit(self, kind: type[SecondMoment] | type[Trace], budget: ZCDP) -> float:
        """Return the deviation of the noise on the diagonal, or on a trace, of sums over rows of norm 1."""
        return unit_noise(self.curator, kind(unit_ball(self.d), self.d), budget)  # as much as in any ellipsoid


def check_whitening(bounds: Bounds, origin: Floats, radius: float) -> None:
    """Refuse what could not be carried out, whatever n is: before anything is charged."""
    if radius * float(np.linalg.norm(bounds.whitener, 2)) > MOST_DEVIATIONS:
        raise ParameterError(
            f"radius must be at most {MOST_DEVIATIONS:g} times the root of upper, got more. Hint: give a larger upper."
        )
    Ellipsoid(as_tuple(origin), bounds.whitener)


def least_whitening(public: Facts, budget: ZCDP, rounds: int | None) -> Iterator[Least]:
    """Yield what a round asks at the least share that it can have, whatever n is."""
    unit, noise = unit_ball(public.d), noise_for(budget)
    least = budget.share((1 - APPROACH_SHARE) * smallest_share(rounds, MOST_ROUNDS, max(LAST_SHARES))).share(GUARD_SHARE)
    yield Least(SecondMoment(unit, public.d), least, noise)
    yield Least(Sum(unit, public.d), least, noise)
    yield Least(Sum(unit, public.d), budget.share(APPROACH_SHARE / MOST_APPROACHES), noise)
    yield Least(Trace(unit, public.d), least, noise)
