"""A curator's choices of a bin and of a radius with a prior: each outcome has exactly the stated probability.

Size: each test rejects correct code with probability 1e-6. Power: a rate 20 % off, a sign reversed, another column, and weights
left out are rejected with probability above 1 − 1e-6, computed in the tests named ``..._would_be_caught``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from dpcov.kernel import curator as curator_module
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import ZCDP, PureDP
from dpcov.kernel.calibrate import exponential_rate
from dpcov.kernel.noise.choice import Exponential
from dpcov.kernel.noise.sampler import RandomSampler
from dpcov.kernel.questions.bins import Bins, Rank
from dpcov.kernel.questions.choices import Quantile
from dpcov.kernel.questions.norms import Norms
from dpcov.kernel.rows.frames import Ball, Box
from dpcov.kernel.rows.grid import Grid
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import opened
from tests.helpers.stats import SIZE, Cells, Floats, Integers, miss

BINS = Bins(Box((0.0, 10.0), (8.0, 8.0)), 2, 16)
NORMS = Norms(Ball((10.0,), 16.0), 1, 1, 7)
PRIOR = (3, 1, 4, 10, 50, 9, 2, 60)
COLUMNS = np.array([[3, 1, 2, 4, 2, 1, 0, 3, 2, 1, 1, 4, 2, 3, 1, 2], [0, 0, 2, 1, 5, 1, 1, 2, 1, 1, 6, 1, 2, 5, 3, 1]])
"""Counts by bin, 32 rows: lopsided, so that no reversal looks like the original."""


@dataclass(frozen=True)
class Question:
    """A question, the rows it is about, its price, and how many draws tell a rate 20 % off."""

    asked: Rank | Quantile
    budget: PureDP | ZCDP
    draws: int

    @property
    def rows(self) -> Floats:
        if isinstance(self.asked, Quantile):
            sizes = 16 * 2.0 ** -np.array([0.5, 0.5, 1.5, 2.5, 2.5, 3.5, 3.6, 4.5, 4.5, 4.5, 6.5, 9.0, 9.0])
            return np.asarray(10.0 + sizes * np.resize([1, -1], len(sizes)))[:, None]
        middles = np.arange(16) - 7.5
        return np.column_stack(
            [np.repeat(middles, COLUMNS[0]), np.random.default_rng(841).permutation(np.repeat(middles, COLUMNS[1])) + 10]
        )

    @property
    def counts(self) -> list[int]:
        """By hand, from the comments above: the statistic itself is not asked."""
        return [2, 1, 2, 2, 3, 0, 1, 2] if isinstance(self.asked, Quantile) else COLUMNS[self.asked.column].tolist()

    def law(self, factor: float = 1.0, *, weighted: bool = True) -> Cells:
        """P(k) ∝ weightₖ·exp(−rate·max(Nₖ − M, M − Nₖ₊₁, 0)), in plain Python; the rate is half of ε, or √(2ρ)."""
        below = [sum(self.counts[:k]) for k in range(len(self.counts) + 1)]
        wanted = self.asked.rows
        gaps = np.array([max(below[k] - wanted, wanted - below[k + 1], 0) for k in range(len(self.counts))])
        weights = PRIOR if weighted and isinstance(self.asked, Quantile) else (1,) * len(gaps)
        budget = self.budget
        rate = float(budget.epsilon) / 2 if isinstance(budget, PureDP) else float(2 * budget.rho) ** 0.5
        shares = np.array(weights) * np.exp(-factor * rate * gaps)
        return Cells(np.arange(len(gaps) - 1), shares / shares.sum())

    def choices(self, seed: int) -> Integers:
        """Ask once, then draw the same answer again and again as the curator draws it."""
        source, sampler = ArraySource(self.rows), RandomSampler(SeededBits(seed))
        answer = opened(source, Grid(100.0), self.budget, sampler=sampler).choose(self.asked, self.budget)
        counts, law = source.total(self.asked.counted), Exponential(Fraction(answer.law.to_json()["rate"]))
        return np.array([sampler.choice(self.asked, law, counts) for _ in range(self.draws)])


QUESTIONS = {
    "rank, pure": Question(Rank(BINS, 0, 9), PureDP("0.8"), 8000),
    "rank, zCDP": Question(Rank(BINS, 0, 13), ZCDP("0.06"), 8000),
    "rank, the other column": Question(Rank(BINS, 1, 22), PureDP("0.6"), 8000),
    "prior": Question(Quantile(NORMS, 4, 1, PRIOR), PureDP("1.5"), 8000),
}

each_question = pytest.mark.parametrize("question", QUESTIONS.values(), ids=list(QUESTIONS))


@each_question
def test_choices_have_their_law(question: Question) -> None:
    """Size 1e-6. Catches a rate 20 % off, a reversed order and another column (next tests)."""
    assert question.law().p_value(question.choices(842)) > SIZE


@each_question
def test_complete_questions_have_their_law(question: Question) -> None:
    """Size 1e-6. Nothing repeated but the question itself; 1500 of them catch one that is halved or doubled."""
    source = ArraySource(question.rows)
    curators = [opened(source, Grid(100.0), question.budget, "replace", SeededBits(seed)) for seed in range(1500)]
    found = np.array([curator.choose(question.asked, question.budget).integers[0] for curator in curators])
    assert question.law().p_value(found) > SIZE
    assert max(miss(question.law(), question.law(factor), 1500) for factor in (0.5, 2.0)) < 1e-6


@each_question
def test_a_wrong_rate_would_be_caught(question: Question) -> None:
    for factor in (0.8, 1.2):
        assert miss(question.law(), question.law(factor), question.draws) < 1e-6


@pytest.mark.audit
@each_question
def test_choices_at_a_wrong_rate_are_caught(question: Question, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curator_module, "exponential_rate", lambda budget: exponential_rate(budget) * Fraction(6, 5))
    assert question.law().p_value(question.choices(843)) < SIZE


def test_a_reversal_another_column_and_equal_weights_would_be_caught() -> None:
    for name, question in QUESTIONS.items():
        right = question.law()
        if name == "prior":
            assert miss(right, question.law(weighted=False), 1500) < 1e-6
        else:
            assert isinstance(question.asked, Rank)
            turned = Cells(right.edges, right.probabilities[::-1].copy())
            other = Question(Rank(BINS, 1 - question.asked.column, question.asked.rows), question.budget, 1).law()
            assert max(miss(right, wrong, 1500) for wrong in (turned, other)) < 1e-6
