"""Exact audit: run a mechanism, replay its answers on a neighbour, and price every answer.

It needs no statistics. It records a run on one data set, replays the same noisy answers on a neighbour, insists on the same
questions and on the same file, and computes what each answer really cost from the two exact sums and the law of the noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpcov.kernel.answer import Spend
from dpcov.kernel.bits import SystemBits
from dpcov.kernel.budget import Budget
from dpcov.kernel.drawing import SUBSPACE
from dpcov.kernel.noise.choice import Exponential, SparseVector
from dpcov.kernel.questions.moments import REPLACE
from dpcov.kernel.questions.spectral import Quotients, Values
from dpcov.kernel.rows.grid import Grid
from dpcov.release.file import text_of
from dpcov.release.record import Release
from dpcov.sources.base import Source
from dpcov.verify.cost import allowed, answer_cost, directions_cost, pick_cost
from dpcov.verify.recording import Measured, PrivacyViolationError, RecordingCurator, ReplayingCurator

__all__ = ["PrivacyViolationError", "Step", "replay"]


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
        The mechanism asked something else, or released something else, although it saw the same answers: it must have
        looked at the data.
    """
    recording = RecordingCurator(first, grid, budget, neighbors, SystemBits())
    released = mechanism(recording, budget, **options)
    replaying = ReplayingCurator(recording, second, grid, budget, neighbors, SystemBits())
    again = mechanism(replaying, budget, **options)
    curators = (recording, replaying)
    asked = [(len(c.measured), len(c.drawn), len(c.spanned), len(c.values), len(c.picked), c.peeled, c.spent) for c in curators]
    if asked[0] != asked[1]:
        raise PrivacyViolationError("the same answers must lead to the same questions, got fewer")
    if text_of(released) != text_of(again):
        raise PrivacyViolationError("the same answers must make the same file, got another one")
    pairs = iter(zip(recording.measured, replaying.measured, strict=True))
    picks = iter(zip(recording.picked, replaying.picked, strict=True))
    steps = []
    for spend in recording.spent:
        cost: Fraction | float
        if spend.asked in ("directions", SUBSPACE):  # a trace over a subspace ranges no further than over its directions
            one, other = (c.drawn if spend.asked == "directions" else c.spanned for c in curators)
            differences = [a.matrix - b.matrix for a, b in zip(one, other, strict=True)]
            cost = directions_cost(differences, [draw.concentration for draw in one], spend.budget)
        elif spend.noise in (Exponential.law, SparseVector.law):
            pick, same = next(picks)
            cost = pick_cost(pick.question, pick.law, pick.counts, same.counts, spend.budget)
        elif spend.asked in (Values.name, Quotients.name) and recording.values:
            cost = _values_cost(recording, replaying, spend)
        else:
            cost = _cost(*next(pairs), spend.budget)
        steps.append(Step(spend.asked, spend.budget, cost, allowed(spend.budget)))
    return steps


def _values_cost(one: RecordingCurator, other: RecordingCurator, spend: Spend) -> Fraction | float:
    """Price the values along the drawn directions as one answer."""
    law = next(answer.noise for answer in one._answers if answer.statistic == spend.asked)
    exact = [np.array([value for value, _ in curator.values], dtype=np.int64) for curator in (one, other)]
    measure = Values(one.second_moment(), len(exact[0]))
    first, second = (Measured(measure, law, values, values) for values in exact)
    return _cost(first, second, spend.budget)


def _cost(one: Measured, other: Measured, charged: Budget) -> Fraction | float:
    return answer_cost(one.statistic, one.law, one.exact, other.exact, charged)
