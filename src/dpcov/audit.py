"""Try to break it: two ways to catch a mechanism that promises more than it keeps.

`replay` is exact and needs no statistics. It records a run on one data set, replays the same noisy answers on a
neighbour, insists on the same questions, and computes what each answer really cost from the exact sums and the noise.

`audit_covariance` treats the whole library as a black box: it releases many times from each of two neighbours and turns
how well the releases can be told apart into a lower bound on ε (Clopper and Pearson), to hold against the promise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.api import covariance
from dpcov.curator import Curator
from dpcov.errors import DpcovError
from dpcov.privacy.bits import SystemBits
from dpcov.privacy.budget import ZCDP, Budget
from dpcov.privacy.noise import DiscreteGaussian
from dpcov.release import Release
from dpcov.sources.base import Source
from dpcov.statistics.grid import Grid
from dpcov.statistics.moments import REPLACE, Statistic

Floats = NDArray[np.float64]


class PrivacyViolationError(DpcovError):
    """A mechanism behaved in a way that its promise excludes."""


@dataclass(frozen=True)
class Step:
    """One question, what was charged for it, and the ρ that it cost for this pair of neighbours."""

    asked: str
    charged: Budget
    cost: Fraction


@dataclass(frozen=True)
class _Measured:
    statistic: Statistic
    law: DiscreteGaussian
    exact: NDArray[np.int64]
    noise: NDArray[np.int64]


class _RecordingCurator(Curator):
    """A curator that keeps what a real one forgets."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.measured: list[_Measured] = []
        self._exact: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def _read(self, statistic: Statistic) -> NDArray[np.int64]:
        self._exact = super()._read(statistic)
        return self._exact

    def _draw(self, statistic: Statistic, law: DiscreteGaussian) -> NDArray[np.int64]:
        noise = self._noise(statistic, law)
        self.measured.append(_Measured(statistic, law, self._exact, noise))
        return noise

    def _noise(self, statistic: Statistic, law: DiscreteGaussian) -> NDArray[np.int64]:
        return super()._draw(statistic, law)


class _ReplayingCurator(_RecordingCurator):
    """A curator on the neighbour whose noise is just what makes its answers those of the recording."""

    def __init__(self, recording: _RecordingCurator, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._script = iter(recording.measured)

    def _noise(self, statistic: Statistic, law: DiscreteGaussian) -> NDArray[np.int64]:
        original = next(self._script, None)
        if original is None or (original.statistic, original.law) != (statistic, law):
            raise PrivacyViolationError(
                f"the same answers must lead to the same questions, got another one: {statistic.name}"
            )
        return original.exact + original.noise - self._exact


def replay(
    mechanism: Callable[..., Release],
    first: Source,
    second: Source,
    *,
    grid: Grid,
    budget: Budget,
    neighbors: str = REPLACE,
    **options: Any,
) -> list[Step]:
    """Run a mechanism on one source, replay its answers on a neighbour, and price every answer exactly.

    For Gaussian noise the Rényi divergence between the two answers is at most α·Σ Δ²/(2σ²), so that sum is the cost.

    Raises
    ------
    PrivacyViolationError
        The mechanism asked something else although it saw the same answers: it must have looked at the data.
    """
    recording = _RecordingCurator(first, grid, budget, neighbors, SystemBits())
    mechanism(recording, budget, **options)
    replaying = _ReplayingCurator(recording, second, grid, budget, neighbors, SystemBits())
    mechanism(replaying, budget, **options)
    if len(replaying.measured) != len(recording.measured):
        raise PrivacyViolationError("the same answers must lead to the same questions, got fewer")
    triples = zip(recording.spent, recording.measured, replaying.measured, strict=True)
    return [Step(spend.asked, spend.budget, _cost(one, other)) for spend, one, other in triples]


def _cost(one: _Measured, other: _Measured) -> Fraction:
    gaps = [int(a) - int(b) for a, b in zip(one.exact, other.exact, strict=True)]
    variances = [
        variance
        for part, (_, variance) in zip(one.statistic.parts, one.law.variances, strict=True)
        for _ in range(part.size)
    ]
    return sum((gap**2 / (2 * variance) for gap, variance in zip(gaps, variances, strict=True)), start=Fraction(0))


@dataclass(frozen=True)
class Finding:
    """At one δ: the ε that is promised, and the ε that the releases prove to be needed."""

    delta: float
    promised: float
    proved: float

    @property
    def violated(self) -> bool:
        """Whether the promise is refuted."""
        return self.proved > self.promised


def audit_covariance(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    budget: ZCDP,
    *,
    deltas: Sequence[float] = (1e-5, 1e-2, 0.1, 0.3),
    trials: int = 10_000,
    alpha: float = 1e-6,
    seed: int = 0,
    **arguments: Any,
) -> list[Finding]:
    """Release ``trials`` times from each of two neighbours and bound ε from below at each δ.

    A correct library is accused at one δ with probability at most ``alpha``. ``arguments`` go to `dpcov.covariance`.
    """
    direction = first.T @ first - second.T @ second

    def score(data: NDArray[np.float64], trial: int) -> float:
        release = covariance(data, budget, seed=trial, postprocess="none", **arguments)
        return float(np.sum(release.second_moment * direction))

    seeds = range(2 * trials * seed, 2 * trials * (seed + 1))
    scores = [np.array([score(data, s) for s in seeds[k::2]]) for k, data in enumerate((first, second))]
    return [
        Finding(delta, budget.epsilon(delta), epsilon_lower_bound(scores[0], scores[1], delta, alpha))
        for delta in deltas
    ]


def epsilon_lower_bound(first: Floats, second: Floats, delta: float, alpha: float) -> float:
    """Return an ε that (ε, δ)-DP needs, with confidence 1 − alpha, given scores of releases from two neighbours.

    An event {score ≥ t} or {score ≤ t} is picked on the even-numbered scores and judged on the odd-numbered ones, so
    the pick costs no confidence. The bound is log((p − δ)/q), p and q at the ends of their Clopper-Pearson intervals.
    """
    pick = [
        (bound, swap, sign, threshold)
        for swap in (False, True)
        for sign in (1.0, -1.0)
        for threshold in np.quantile(sign * np.concatenate([first[::2], second[::2]]), np.linspace(0.01, 0.999, 60))
        for bound in [_bound(first[::2], second[::2], swap, sign, threshold, delta, alpha)]
    ]
    _, swap, sign, threshold = max(pick, key=lambda candidate: candidate[0])
    return _bound(first[1::2], second[1::2], swap, sign, threshold, delta, alpha)


def _bound(
    first: Floats, second: Floats, swap: bool, sign: float, threshold: float, delta: float, alpha: float
) -> float:
    from scipy.special import betaincinv

    if swap:
        first, second = second, first
    hits, false_hits = int(np.sum(sign * first >= threshold)), int(np.sum(sign * second >= threshold))
    least = float(betaincinv(hits, len(first) - hits + 1, alpha / 2)) if hits else 0.0
    most = (
        float(betaincinv(false_hits + 1, len(second) - false_hits, 1 - alpha / 2)) if false_hits < len(second) else 1.0
    )
    return float(np.log((least - delta) / most)) if least > delta else 0.0
