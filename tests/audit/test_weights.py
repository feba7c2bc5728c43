"""Audits of the choice of a weight and of the sum of squares: from their exact laws, and from outside.

Exact laws reject no correct code. The black box accuses correct code with probability below 1e-6; a doubled rate must be found.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcov.kernel import curator as curator_module
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import PureDP
from dpcov.kernel.calibrate import exponential_rate
from dpcov.kernel.noise.choice import Exponential
from dpcov.kernel.noise.sampler import RandomSampler
from dpcov.kernel.questions.remade import remade
from dpcov.kernel.questions.weights import HeavyWeight
from dpcov.kernel.rows.aside import aside_of
from dpcov.kernel.rows.grid import Grid
from dpcov.sources.array import ArraySource
from dpcov.verify.audit import epsilon_lower_bound
from dpcov.verify.testing import opened
from tests.helpers.people import encoding_of
from tests.kernel.distribution.test_choice import choice_law

ASIDE = aside_of("", 16, 2**26, weight="x1", max_weight=1.0, searched=True)
QUESTION = HeavyWeight(1, 1)
WORST = ([0.5, 1e-7, 1.0], [0.5, 1e-7, 1e-7])
"""One weight is to be beyond, and two are or one is: all edges above a half move, and those below it the other way."""


def source(weights: list[float]) -> ArraySource:
    return ArraySource(np.array([[0.0, weight] for weight in weights]), columns=["x0"], aside=ASIDE)


def asked(weights: list[float], budget: PureDP, sampler: Any = None) -> Any:
    rows = source(weights)
    return opened(rows, encoding_of(rows, Grid(1.0)), budget, sampler=sampler).choose(QUESTION, budget)


def counts_and_question(weights: list[float]) -> tuple[Any, Any]:
    question = remade(QUESTION, ASIDE)
    return source(weights).total(question.counted), question


def law(weights: list[float], rate: Fraction) -> Any:
    counts, question = counts_and_question(weights)
    return choice_law(question.scores(counts), question.weights, rate)


def loss(rate: Fraction, one: list[float], other: list[float]) -> float:
    """The largest log-ratio of the probabilities of an edge."""
    return float(np.abs(np.log(law(one, rate) / law(other, rate))).max())


RATE = exponential_rate(PureDP(3)) / 2**18
some = st.sampled_from([0.0, -1.0, 1e-7, 0.01, 0.3, 0.5, 1.0, 1e308, float("inf"), float("nan")])


@settings(max_examples=60, deadline=None)
@given(kept=st.lists(some, min_size=1, max_size=5), one=some, other=st.one_of(some, st.none()))
def test_no_edge_of_neighbours_differs_by_more(kept: list[float], one: float, other: float | None) -> None:
    found = loss(RATE, [*kept, one], kept if other is None else [*kept, other])
    assert found <= 3 * (1 + 1e-9)


def test_an_edge_can_need_most_of_it() -> None:
    found = [loss(rate, *WORST) / 3 for rate in (RATE, 2 * RATE)]
    assert 0.5 < found[0] <= 1 + 1e-9
    assert found[1] > 1.05


@pytest.mark.audit
def test_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than half of ε is proved of correct code, and more than ε where the rate is doubled."""

    def proved(epsilon: int) -> float:
        first, second = (law(weights, exponential_rate(PureDP(epsilon)) / 2**18) for weights in WORST)
        event = np.flatnonzero(first > 1.5 * second)
        seen = []
        for number, weights in enumerate(WORST):
            sampler = RandomSampler(SeededBits(930 + number))
            drawn = asked(weights, PureDP(epsilon), sampler).law
            assert isinstance(drawn, Exponential)
            counts, question = counts_and_question(weights)
            seen.append(np.array([sampler.choice(question, drawn, counts) in event for _ in range(8000)], dtype=np.float64))
        return epsilon_lower_bound(seen[0], seen[1], 0.0, 1e-6) / epsilon

    assert 0.3 < proved(3) <= 1
    monkeypatch.setattr(curator_module, "exponential_rate", lambda budget: 2 * exponential_rate(budget))
    assert proved(3) > 1.05
