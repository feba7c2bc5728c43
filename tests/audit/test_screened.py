"""Audits of `screened` and of `auto` for components: exactly, by replay; and from outside, by many releases.

Replay is exact and rejects no correct code. The black box accuses correct code with probability below 1e-6; a copy whose blocks
have an eighth of their noise must be found by it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import beta as beta_law

from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP, pays_for
from dpcov.kernel.face import Face
from dpcov.kernel.noise.matrix import calibrate_wishart
from dpcov.kernel.questions.columns import Block, block_of
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.sources.array import ArraySource
from dpcov.verify.replay import PrivacyViolationError, Step, replay
from dpcov.verify.testing import SeededBits, opened
from tests.audit.test_clipped import pairs
from tests.helpers import replayed
from tests.helpers.by_hand import by_hand
from tests.helpers.peeking import sums_behind

Rows = NDArray[np.float64]
D, K = 14, 2
BUDGETS: list[Budget] = [PureDP(2), ZCDP("0.5"), ApproxDP(2, "1e-6"), ApproxDP(2, "1e-20")]


def tables(pair: str, neighbors: str, copies: int = 400) -> tuple[Rows, Rows]:
    row, other = pairs(D)[pair]
    others = np.random.default_rng(83).normal(size=(copies, D)) * 0.7 ** np.arange(D) * 0.3
    return np.vstack([others, [row]]), np.vstack([others, [other]]) if neighbors == "replace" else others


def steps(budget: Budget, pair: str, neighbors: str, name: str = "screened", **options: Any) -> list[Step]:
    return replayed.steps(MECHANISMS["pca"][name], budget, *tables(pair, neighbors), neighbors, k=K, **options)


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("budget", BUDGETS, ids=repr)
@pytest.mark.parametrize("name", ["screened", "auto"])
class TestReplay:
    def test_no_answer_costs_more_than_its_charge(self, name: str, budget: Budget, neighbors: str) -> None:
        for pair in pairs(D):
            made = steps(budget, pair, neighbors, name)
            assert all(step.cost <= step.allowed for step in made), pair
            assert pays_for(budget, [step.charged for step in made])

    def test_worst_rows_cost_all_of_it(self, name: str, budget: Budget, neighbors: str) -> None:
        """Noise that is 5 % too large for its price would show: e1 becomes e2, or is added, beyond every radius."""
        by_name = {step.asked: step for step in steps(budget, "e1 by e2", neighbors, name)}
        for asked in {"squares", "block"} & set(by_name):
            step = by_name[asked]
            assert 0.999 < float(step.cost) / float(step.allowed) <= 1, asked


def test_screening_happened() -> None:
    """Else the two tests above would say nothing of squares."""
    assert [step.asked for step in steps(PureDP(2), "e1 by e2", "replace")] == ["radius", "squares", "block", "explained"]


def test_a_mechanism_that_looks_is_caught() -> None:
    """Columns picked by what the rows hold, not by what was answered."""

    first, second = tables("e1 by e2", "replace")
    exact = [ArraySource(rows).total(SecondMoment(Grid(1.0), D))[0] for rows in (first, second)]
    assert exact[0] - exact[1] > 2**31

    def peeking(curator: Face, budget: Any, *, k: int) -> None:  # noqa: ARG001
        held = sums_behind(curator).read(curator.second_moment())[0]
        columns = tuple(range(2 if held == exact[0] else 3))
        curator.noisy(block_of(curator.second_moment(), columns), budget, noise="wishart")

    with pytest.raises(PrivacyViolationError):
        replay(by_hand(peeking), ArraySource(first), ArraySource(second), grid=Grid(1.0), budget=PureDP(2), k=K)


TRIALS = 4000
RISK = 5e-7  # for each of two bounds


def proved_epsilon(monkeypatch: pytest.MonkeyPatch, noise: Fraction) -> float:
    """Bound ε from below by how often the block's first entry exceeds the middle, for e1 in 30 rows and 31 by 29 and 32."""

    def tampered(d: int, sensitivity: int, epsilon: Any, at_least: Any) -> Any:
        return calibrate_wishart(d, sensitivity, epsilon / noise, at_least)

    monkeypatch.setattr("dpcov.kernel.questions.calibrated.calibrate_wishart", tampered)
    found = []
    for extra in (1, 0):
        rows = np.vstack([np.tile(np.eye(3)[0], (30 + extra, 1)), np.tile(np.eye(3)[1], (31 - extra, 1))])
        above = 0
        for seed in range(TRIALS):
            curator = opened(ArraySource(rows), Grid(1.0), PureDP(1), "replace", SeededBits(2 * seed + extra))
            answer = curator.noisy(block_of(curator.public.second_moment(), (0, 1)), PureDP(1), noise="wishart")
            above += bool(answer.values[0] - answer.values[1] > 0)
        found.append(above)
    low = beta_law.ppf(RISK, found[0], TRIALS - found[0] + 1)
    high = beta_law.ppf(1 - RISK, found[1] + 1, TRIALS - found[1])
    return float(np.log(low / high))


@pytest.mark.audit
def test_blocks_of_many_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    assert proved_epsilon(monkeypatch, Fraction(1)) <= 1
    assert Block.name == "block"


@pytest.mark.audit
def test_blocks_with_an_eighth_of_the_noise_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    assert proved_epsilon(monkeypatch, Fraction(1, 8)) > 1
