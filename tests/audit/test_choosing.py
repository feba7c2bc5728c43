"""Audits of choices and searches by themselves: by replay, from their exact laws, and from outside.

Replay and exact laws reject no correct code. The black box accuses correct code with probability below 1e-6; a doubled rate and
halved noise on the queries must be found, or it would be worthless.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpcov.errors import ReleaseError
from dpcov.kernel import curator as curator_module
from dpcov.kernel.answer import Answer
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import ZCDP, Budget, PureDP, compose
from dpcov.kernel.calibrate import exponential_rate
from dpcov.kernel.curator import Curator
from dpcov.kernel.face import Face
from dpcov.kernel.noise.choice import Exponential, SparseVector
from dpcov.kernel.noise.sampler import RandomSampler
from dpcov.kernel.questions.choices import Bias, Quantile, Radius
from dpcov.kernel.questions.norms import Norms
from dpcov.kernel.rows.grid import Grid
from dpcov.sources.array import ArraySource
from dpcov.verify.audit import epsilon_lower_bound
from dpcov.verify.replay import PrivacyViolationError, Step, replay
from dpcov.verify.testing import opened
from tests.helpers.by_hand import by_hand
from tests.helpers.peeking import sums_behind
from tests.kernel.distribution.test_choice import choice_law, search_law

Rows = NDArray[np.float64]
Question = Quantile | Radius | Bias

GRID = Grid(1.0)
NORMS = Norms(GRID, 1, 1, 12)
QUESTIONS: dict[str, Question] = {
    "choice": Quantile(NORMS, 1),
    "coarse choice": Quantile(NORMS, 1, 4),
    "radius": Radius(NORMS, 1),
    "bias": Bias(NORMS, 1, (2**16,) * 12),
}
BUDGETS: list[Budget] = [PureDP(2), ZCDP("0.5")]
WORST = {"replace": ([1.0, 0.01, 0.01], [0.0, 0.01, 0.01]), "add-remove": ([1.0, 0.01, 0.01], [0.01, 0.01])}
"""A long row goes: some counts are above what is wanted, others below, and all fall by one."""

each_question = pytest.mark.parametrize("question", QUESTIONS.values(), ids=list(QUESTIONS))
each_budget = pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.notion)
each_relation = pytest.mark.parametrize("neighbors", WORST)


def column(sizes: list[float]) -> ArraySource:
    return ArraySource(np.array(sizes, dtype=np.float64).reshape(-1, 1))


def ask(curator: Curator | Face, question: Question, budget: Any, query_noise: int = 1) -> Answer:
    """A mechanism of one question."""
    if isinstance(question, Quantile):
        return curator.choose(question, budget)
    return curator.first_above(question, budget, query_noise=query_noise)


def priced(question: Question, budget: Budget, one: list[float], other: list[float], neighbors: str, **options: Any) -> Step:
    """Return what the question cost; under add-remove as much again is spent on n, which every release tells."""

    def asks(curator: Face, whole: Budget) -> None:  # noqa: ARG001
        ask(curator, question, budget, **options)
        if neighbors == "add-remove":
            curator.ask_n(budget)

    whole = compose(budget, budget)
    step, *count = replay(by_hand(asks), column(one), column(other), grid=GRID, budget=whole, neighbors=neighbors)
    assert [step.asked for step in count] == ["count"] * (neighbors == "add-remove")
    assert step.charged == budget
    return step


def unchecked(monkeypatch: pytest.MonkeyPatch, question: Question, neighbors: str) -> None:
    """A release with too little noise is refused when it is made; then let it pass, so that replay must find it."""
    with pytest.raises(ReleaseError, match="less noise than the promise needs"):
        priced(question, PureDP(2), *WORST[neighbors], neighbors)
    monkeypatch.setattr("dpcov.mechanisms.running.check_made", lambda _: None)


class TestReplay:
    @each_question
    @each_budget
    @given(data=st.data())
    @settings(max_examples=40)
    def test_no_pair_costs_more_than_was_charged(self, question: Question, budget: Budget, data: st.DataObject) -> None:
        sizes = st.one_of(st.floats(0, 2), st.sampled_from([0.0, 0.5, 1.0, 1e308, 1e-300, np.nan, np.inf]))
        kept, row = data.draw(st.lists(sizes, min_size=1, max_size=5)), data.draw(sizes)
        for neighbors, other in (("add-remove", kept), ("replace", [*kept, data.draw(sizes)])):
            for pair in (([*kept, row], other), (other, [*kept, row])):
                step = priced(question, budget, *pair, neighbors)
                assert step.cost <= step.allowed

    @each_question
    @each_budget
    @each_relation
    def test_the_worst_pair_costs_what_was_charged(self, question: Question, budget: Budget, neighbors: str) -> None:
        """Tightness: a rate below or noise above what is needed shows here; under zCDP to the last digits of a root."""
        step = priced(question, budget, *WORST[neighbors], neighbors)
        assert step.allowed * (1 - Fraction(1, 2**50)) <= step.cost <= step.allowed
        assert isinstance(budget, ZCDP) or step.cost == step.allowed

    @each_budget
    @each_relation
    def test_a_papers_noise_costs_less(self, budget: Budget, neighbors: str) -> None:
        """Twice the noise on the queries: three quarters of ε."""
        step = priced(QUESTIONS["radius"], budget, *WORST[neighbors], neighbors, query_noise=2)
        expected = step.allowed * Fraction(3, 4) ** (2 if isinstance(budget, ZCDP) else 1)
        assert float(step.cost) == pytest.approx(float(expected), rel=1e-12)

    @pytest.mark.parametrize("name", ["choice", "coarse choice"])
    @each_relation
    def test_a_doubled_rate_is_found(self, name: str, neighbors: str, monkeypatch: pytest.MonkeyPatch) -> None:
        double_rate(monkeypatch)
        unchecked(monkeypatch, QUESTIONS[name], neighbors)
        step = priced(QUESTIONS[name], PureDP(2), *WORST[neighbors], neighbors)
        assert step.cost == 2 * Fraction(step.allowed)

    @pytest.mark.parametrize("name", ["radius", "bias"])
    @each_relation
    def test_halved_noise_on_the_queries_is_found(self, name: str, neighbors: str, monkeypatch: pytest.MonkeyPatch) -> None:
        halve_query_noise(monkeypatch)
        unchecked(monkeypatch, QUESTIONS[name], neighbors)
        step = priced(QUESTIONS[name], PureDP(2), *WORST[neighbors], neighbors)
        assert step.cost == Fraction(3, 2) * Fraction(step.allowed)

    @pytest.mark.parametrize(
        ("first", "second"),
        [(Quantile(NORMS, 1), Quantile(NORMS, 2)), (Radius(NORMS, 1), Radius(NORMS, 2)), (Radius(NORMS, 1), None)],
        ids=["another choice", "another search", "one less"],
    )
    def test_a_question_that_follows_the_rows_is_caught(self, first: Question, second: Question | None) -> None:
        def peeking(curator: Face, budget: Budget) -> None:
            question = first if sums_behind(curator).read(NORMS)[0] else second
            if question is not None:
                ask(curator, question, budget)

        for pair in (WORST["replace"], WORST["replace"][::-1]):
            with pytest.raises(PrivacyViolationError, match="the same answers must lead to the same questions"):
                replay(by_hand(peeking), *map(column, pair), grid=GRID, budget=PureDP(2))


def double_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curator_module, "exponential_rate", lambda budget: 2 * exponential_rate(budget))


def halve_query_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curator_module, "SparseVector", lambda threshold, query: SparseVector(threshold, query / 2))


FEW = Norms(GRID, 1, 1, 4)
FINE = Norms(GRID, 1, 16, 2)
LONG_ROW = ([1.0], [0.0])
"""No rows are to be outside: all of the smaller radii have one row outside, or none, and the largest has none."""
SHORT_ROW = ([0.93, 0.93, 0.0], [0.93, 0.93, 1.0])
"""One row is to be outside: the largest radius has too few rows beyond the next one, or enough; the smaller ones too many."""


def law_of(question: Question, law: Exponential | SparseVector, sizes: list[float]) -> Rows:
    """The exact probability of each outcome."""
    counts = column(sizes).total(question.norms)
    if isinstance(law, Exponential):
        assert isinstance(question, Quantile)
        return choice_law(question.scores(counts), question.weights, law.rate)
    assert not isinstance(question, Quantile)
    return search_law(question.values(counts), question.threshold, law)


def loss(question: Question, law: Exponential | SparseVector, one: list[float], other: list[float]) -> float:
    """The largest log-ratio of the probabilities of an outcome: what pure DP bounds by ε."""
    return float(np.abs(np.log(law_of(question, law, one) / law_of(question, law, other))).max())


class TestExactLaws:
    """The laws that tests/kernel/distribution compares draws with: no outcome tells neighbours apart by more than ε."""

    EPSILON = 3

    @given(data=st.data())
    @settings(max_examples=60)
    def test_no_choice_of_neighbours_differs_by_more(self, data: st.DataObject) -> None:
        sizes = st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.4, 0.8])
        kept, question = data.draw(st.lists(sizes, max_size=6)), Quantile(FEW, data.draw(st.integers(0, 4)))
        for other in (kept, [*kept, data.draw(sizes)]):
            found = loss(question, Exponential(Fraction(self.EPSILON, 2)), [*kept, data.draw(sizes)], other)
            assert found <= self.EPSILON * (1 + 1e-9)

    @given(
        moves=st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 1)), min_size=1, max_size=9), sign=st.sampled_from([-1, 1])
    )
    @settings(max_examples=60)
    def test_no_search_differs_by_more_where_all_queries_move_one_way(self, moves: list[tuple[int, int]], sign: int) -> None:
        first, moved = np.array(moves).T
        laws = [search_law(values, 0, self.law()) for values in (first, first + sign * moved)]
        assert np.abs(np.log(laws[0] / laws[1])).max() <= self.EPSILON * (1 + 1e-9)

    def test_queries_that_move_both_ways_would_need_more(self) -> None:
        """Why the queries must be monotone: with this noise others cost up to half as much again."""
        laws = [search_law(np.array(values), 0, self.law()) for values in ([-1, -1, -1, -1, 0], [0, 0, 0, 0, -1])]
        assert np.abs(np.log(laws[0] / laws[1])).max() > 1.4 * self.EPSILON

    def law(self) -> SparseVector:
        return SparseVector(Fraction(2, self.EPSILON), Fraction(2, self.EPSILON))

    def test_a_search_can_need_all_of_it(self) -> None:
        """The largest radius is found only past all the others: ε to three digits, half as much again with half the noise."""
        question, scale = Radius(FEW, 0), Fraction(2, self.EPSILON)
        found = [loss(question, SparseVector(scale, query), *LONG_ROW) / self.EPSILON for query in (scale, scale / 2)]
        assert 0.98 < found[0] <= 1 + 1e-9
        assert 1.49 < found[1] <= 1.5 + 1e-9

    def test_a_choice_can_need_most_of_it(self) -> None:
        found = [loss(Quantile(FINE, 1), Exponential(rate), *SHORT_ROW) for rate in (Fraction(1, 2), Fraction(1))]
        assert 0.9 < found[0] <= 1 + 1e-9
        assert found[1] > 1.6


def outcomes(question: Question, budget: PureDP, sizes: list[float], event: int, trials: int, seed: int) -> Rows:
    """Ask once, then draw the same answer again and again as the curator draws it: whether it was the event."""
    sampler = RandomSampler(SeededBits(seed))
    law = ask(opened(column(sizes), GRID, budget, sampler=sampler), question, budget).law
    counts = column(sizes).total(question.norms)
    draw: Callable[..., int] = sampler.choice if isinstance(question, Quantile) else sampler.search
    return np.array([draw(question, law, counts) == event for _ in range(trials)], dtype=np.float64)


@pytest.mark.audit
class TestBlackBox:
    """Size 1e-6 each. What is proved of correct code, and of the copy, in units of ε: stated beside each."""

    def proved(self, question: Question, epsilon: int, pair: tuple[list[float], list[float]], event: int) -> float:
        first, second = (outcomes(question, PureDP(epsilon), sizes, event, 12_000, 910 + k) for k, sizes in enumerate(pair))
        return epsilon_lower_bound(first, second, 0.0, 1e-6) / epsilon

    def test_a_search(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A count that moves by one in all but the last query: about 0.8, and 1.2 with halved noise on the queries."""
        question = Radius(FEW, 0)
        assert 0.5 < self.proved(question, 3, LONG_ROW, event=4) <= 1
        halve_query_noise(monkeypatch)
        assert self.proved(question, 3, LONG_ROW, event=4) > 1.05

    def test_a_choice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Scores that move by one, most of them down and one up: about 0.4, and 1.2 with a doubled rate."""
        question = Quantile(FINE, 1)
        assert 0.1 < self.proved(question, 1, SHORT_ROW, event=0) <= 1
        double_rate(monkeypatch)
        assert self.proved(question, 1, SHORT_ROW, event=0) > 1.05

    def test_complete_questions(self) -> None:
        """Nothing repeated but the question itself: a new curator, a new read and a new charge each time."""
        found = []
        for start, sizes in enumerate(LONG_ROW):
            curators = [opened(column(sizes), GRID, PureDP(3), "replace", SeededBits(seed)) for seed in range(start, 4000, 2)]
            answers = [curator.first_above(Radius(FEW, 0), PureDP(3)) for curator in curators]
            found.append(np.array([float(Radius(FEW, 0).place(int(answer.integers[0])) == 0) for answer in answers]))
        assert 0.5 < epsilon_lower_bound(found[0], found[1], 0.0, 1e-6) <= 3
