"""Exact audit: run a mechanism, replay its answers on a neighbour, and price every answer.

It needs no statistics. It records a run on one data set, replays the same noisy answers on a neighbour, insists on the same
questions, and computes what each answer really cost from the two exact sums and the law of the noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.answer import Spend
from dpcov.curator import Curator
from dpcov.errors import DpcovError
from dpcov.privacy.bits import SystemBits
from dpcov.privacy.budget import Budget
from dpcov.privacy.choice import Exponential, SparseVector
from dpcov.privacy.noise import NoiseLaw
from dpcov.release import Release
from dpcov.replay_cost import allowed, answer_cost, directions_cost, pick_cost
from dpcov.sources.base import Source
from dpcov.statistics.bins import Rank
from dpcov.statistics.choices import Bias, Quantile, Radius
from dpcov.statistics.grid import Grid
from dpcov.statistics.measure import Measure
from dpcov.statistics.moments import REPLACE
from dpcov.statistics.spectral import PEELED, Quotients, Values


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
    statistic: Measure
    law: NoiseLaw
    exact: NDArray[np.int64]
    noise: NDArray[np.int64]


@dataclass(frozen=True)
class _Drawn:
    matrix: NDArray[np.float64]
    concentration: float
    vector: NDArray[np.float64]


@dataclass(frozen=True)
class _Picked:
    question: Quantile | Rank | Radius | Bias
    law: Exponential | SparseVector
    counts: NDArray[np.int64]
    index: int


class _RecordingCurator(Curator):
    """A curator that keeps what a real one forgets."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.measured: list[_Measured] = []
        self.drawn: list[_Drawn] = []
        self.values: list[tuple[int, int]] = []
        self.peeled: list[tuple[Measure, NoiseLaw]] = []
        self.picked: list[_Picked] = []
        self._exact: NDArray[np.int64] = np.zeros(0, dtype=np.int64)

    def _read(self, statistic: Measure) -> NDArray[np.int64]:
        self._exact = super()._read(statistic)
        return self._exact

    def _draw(self, statistic: Measure, law: NoiseLaw) -> NDArray[np.int64]:
        if type(statistic) in PEELED:  # its numbers become known one by one, in `_value`
            self.peeled.append((statistic, law))
            return super()._draw(statistic, law)
        noise = self._noise(statistic, law)
        self.measured.append(_Measured(statistic, law, self._exact, noise))
        return noise

    def _direction(
        self, matrix: NDArray[np.float64], concentration: float, guess: NDArray[np.float64], fixed: bool
    ) -> NDArray[np.float64]:
        vector = self._picked(matrix, concentration, guess, fixed)
        self.drawn.append(_Drawn(matrix, concentration, vector))
        return vector

    def _picked(
        self, matrix: NDArray[np.float64], concentration: float, guess: NDArray[np.float64], fixed: bool
    ) -> NDArray[np.float64]:
        return super()._direction(matrix, concentration, guess, fixed)

    def _value(self, noise: NDArray[np.int64], number: int, exact: int) -> int:
        self.values.append((exact, super()._value(noise, number, exact)))
        return self.values[-1][1]

    def _noise(self, statistic: Measure, law: NoiseLaw) -> NDArray[np.int64]:
        return super()._draw(statistic, law)

    def _choice(self, question: Quantile | Rank, counts: NDArray[np.int64], law: Exponential) -> int:
        return self._pick(_Picked(question, law, counts, super()._choice(question, counts, law)))

    def _search(self, question: Radius | Bias, counts: NDArray[np.int64], law: SparseVector) -> int:
        return self._pick(_Picked(question, law, counts, super()._search(question, counts, law)))

    def _pick(self, picked: _Picked) -> int:
        self.picked.append(picked)
        return picked.index


class _ReplayingCurator(_RecordingCurator):
    """A curator on the neighbour whose noise is just what makes its answers those of the recording."""

    def __init__(self, recording: _RecordingCurator, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._script = iter(recording.measured)
        self._directions = iter(recording.drawn)
        self._numbers = iter(recording.values)
        self._picks = iter(recording.picked)

    def _noise(self, statistic: Measure, law: NoiseLaw) -> NDArray[np.int64]:
        original = next(self._script, None)
        if original is None or (original.statistic, original.law) != (statistic, law):
            raise PrivacyViolationError(f"the same answers must lead to the same questions, got another one: {statistic.name}")
        return original.exact + original.noise - self._exact

    def _pick(self, picked: _Picked) -> int:
        original = next(self._picks, None)
        if original is None or (original.question, original.law) != (picked.question, picked.law):
            raise PrivacyViolationError("the same answers must lead to the same questions, got another choice")
        return super()._pick(replace(picked, index=original.index))

    def _picked(
        self,
        matrix: NDArray[np.float64],
        concentration: float,
        guess: NDArray[np.float64],  # noqa: ARG002
        fixed: bool,  # noqa: ARG002
    ) -> NDArray[np.float64]:
        original = next(self._directions, None)
        if original is None or original.concentration != concentration or original.matrix.shape != matrix.shape:
            raise PrivacyViolationError("the same answers must lead to the same questions, got another direction")
        return original.vector

    def _value(self, noise: NDArray[np.int64], number: int, exact: int) -> int:  # noqa: ARG002
        original = next(self._numbers, None)
        if original is None:
            raise PrivacyViolationError("the same answers must lead to the same questions, got another value")
        self.values.append((exact, original[1]))
        return self.values[-1][1]


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

    The cost is the bound of the mechanism's proof at the actual difference of the two exact sums: `replay_cost`.

    Raises
    ------
    PrivacyViolationError
        The mechanism asked something else although it saw the same answers: it must have looked at the data.
    """
    recording = _RecordingCurator(first, grid, budget, neighbors, SystemBits())
    mechanism(recording, budget, **options)
    replaying = _ReplayingCurator(recording, second, grid, budget, neighbors, SystemBits())
    mechanism(replaying, budget, **options)
    curators = (recording, replaying)
    asked = [(len(c.measured), len(c.drawn), len(c.values), len(c.picked), c.peeled, c.spent) for c in curators]
    if asked[0] != asked[1]:
        raise PrivacyViolationError("the same answers must lead to the same questions, got fewer")
    pairs = iter(zip(recording.measured, replaying.measured, strict=True))
    picks = iter(zip(recording.picked, replaying.picked, strict=True))
    steps = []
    for spend in recording.spent:
        if spend.asked == "directions":
            cost: Fraction | float = directions_cost(
                [one.matrix - other.matrix for one, other in zip(recording.drawn, replaying.drawn, strict=True)],
                [draw.concentration for draw in recording.drawn],
                spend.budget,
            )
        elif spend.noise in (Exponential.law, SparseVector.law):
            one, other = next(picks)
            cost = pick_cost(one.question, one.law, one.counts, other.counts, spend.budget)
        elif spend.asked in (Values.name, Quotients.name) and recording.values:
            cost = _values_cost(recording, replaying, spend)
        else:
            cost = _cost(*next(pairs), spend.budget)
        steps.append(Step(spend.asked, spend.budget, cost, allowed(spend.budget)))
    return steps


def _values_cost(one: _RecordingCurator, other: _RecordingCurator, spend: Spend) -> Fraction | float:
    """Price the values along the drawn directions as one answer."""
    law = next(answer.noise for answer in one._answers if answer.statistic == spend.asked)
    exact = [np.array([value for value, _ in curator.values], dtype=np.int64) for curator in (one, other)]
    measure = Values(one.second_moment(), len(exact[0]))
    first, second = (_Measured(measure, law, values, values) for values in exact)
    return _cost(first, second, spend.budget)


def _cost(one: _Measured, other: _Measured, charged: Budget) -> Fraction | float:
    return answer_cost(one.statistic, one.law, one.exact, other.exact, charged)
