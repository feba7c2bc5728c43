"""Exact audit: run a mechanism, replay its answers on a neighbour, and price every answer.

It needs no statistics. It records a run on one data set, replays the same noisy answers on a neighbour, insists on the same
questions, and computes what each answer really cost from the two exact sums and the law of the noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.curator import Curator
from dpcov.errors import DpcovError
from dpcov.linalg import unpack
from dpcov.privacy.bits import SystemBits
from dpcov.privacy.budget import ZCDP, ApproxDP, Budget
from dpcov.privacy.calibrate import log_analytic_delta
from dpcov.privacy.matrix import FrobeniusNoise, WishartDifference
from dpcov.privacy.noise import DiscreteGaussian, DiscreteLaplace, NoiseLaw
from dpcov.release import Release
from dpcov.sources.base import Source
from dpcov.statistics.grid import Grid
from dpcov.statistics.moments import REPLACE, Statistic

FLOAT_SLACK = 1e-12


class PrivacyViolationError(DpcovError):
    """A mechanism behaved in a way that its promise excludes."""


@dataclass(frozen=True)
class Step:
    """One question, what was charged for it, and what it cost for this pair of neighbours.

    Cost and allowance are in the notion of the charge: ρ, or ε, or for (ε, δ) the δ at that ε. Exact fractions where the law is
    exact.
    """

    asked: str
    charged: Budget
    cost: Fraction | float
    allowed: Fraction | float


@dataclass(frozen=True)
class _Measured:
    statistic: Statistic
    law: NoiseLaw
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

    def _draw(self, statistic: Statistic, law: NoiseLaw) -> NDArray[np.int64]:
        noise = self._noise(statistic, law)
        self.measured.append(_Measured(statistic, law, self._exact, noise))
        return noise

    def _noise(self, statistic: Statistic, law: NoiseLaw) -> NDArray[np.int64]:
        return super()._draw(statistic, law)


class _ReplayingCurator(_RecordingCurator):
    """A curator on the neighbour whose noise is just what makes its answers those of the recording."""

    def __init__(self, recording: _RecordingCurator, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._script = iter(recording.measured)

    def _noise(self, statistic: Statistic, law: NoiseLaw) -> NDArray[np.int64]:
        original = next(self._script, None)
        if original is None or (original.statistic, original.law) != (statistic, law):
            raise PrivacyViolationError(f"the same answers must lead to the same questions, got another one: {statistic.name}")
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

    The cost is the bound of the mechanism's proof at the actual difference of the two exact sums: `_cost`.

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
    return [
        Step(spend.asked, spend.budget, _cost(one, other, spend.budget), _allowed(spend.budget))
        for spend, one, other in triples
    ]


def _allowed(charged: Budget) -> Fraction:
    return charged.rho if isinstance(charged, ZCDP) else charged.delta if isinstance(charged, ApproxDP) else charged.epsilon


def _cost(one: _Measured, other: _Measured, charged: Budget) -> Fraction | float:
    """Price the difference of two exact sums under the law of the noise."""
    gaps = [int(a) - int(b) for a, b in zip(one.exact, other.exact, strict=True)]
    law = one.law
    if isinstance(law, DiscreteGaussian):
        parts = zip(one.statistic.parts, law.variances, strict=True)
        variances = [variance for part, (_, variance) in parts for _ in range(part.size)]
        rho = sum((gap**2 / (2 * variance) for gap, variance in zip(gaps, variances, strict=True)), start=Fraction(0))
        if not isinstance(charged, ApproxDP):
            return rho
        return math.exp(log_analytic_delta(math.sqrt(2 * rho), float(charged.epsilon))) if rho else 0.0
    if isinstance(law, DiscreteLaplace):
        return sum((abs(gap) for gap in gaps), start=0) / law.scale
    assert isinstance(law, WishartDifference | FrobeniusNoise)
    difference = unpack(np.array(gaps, dtype=np.float64), law.d)
    if isinstance(law, WishartDifference):
        shift = float(np.abs(np.linalg.eigvalsh(difference)).sum()) / 2
    else:
        shift = float(np.linalg.norm(difference))
    return shift / float(law.scale) * (1 - FLOAT_SLACK) + float(law.excess)  # never accuse because of a last digit
