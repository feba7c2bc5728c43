"""Neighbours whose rows are in other groups: what each answer really cost, and what black boxes show.

The worst pairs are rows of full norm that change their group: they attain the price of the answer. Replay is exact; the black
box has a false-rejection probability of 1e-6, and refutes a quarter, or two fifths, of the noise.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.noise.laws import DiscreteGaussian, DiscreteLaplace
from dpcov.kernel.noise.matrix import WishartDifference
from dpcov.kernel.questions.calibrated import calibrated
from dpcov.kernel.questions.groups import GroupCounts, GroupedMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.request import request
from dpcov.schema import Categorical
from dpcov.sources.base import Source, add_up
from dpcov.sources.by import By
from dpcov.sources.opening import open_source
from dpcov.verify.lower_bound import epsilon_lower_bound
from dpcov.verify.replay import Step, replay
from tests.helpers.stats import SIZE

Floats = NDArray[np.float64]
D, K = 2, 3
LEVELS: list[float] = [0, 1, 2]
BUDGETS: dict[str, tuple[Budget, ...]] = {
    "gaussian": (ZCDP("1/2"), ApproxDP(1, "1e-6")),
    "wishart": (PureDP(1),),
    "laplace": (PureDP(1),),
}
CASES = [
    pytest.param(name, budget, neighbors, center, id=f"{name}-{type(budget).__name__}-{neighbors}-{center}")
    for name, budgets in BUDGETS.items()
    for budget in budgets
    for neighbors in ("replace", "add-remove")
    for center in (False, True)
]


def source(rows: Floats) -> Source:
    """Rows whose last column is the group; 7 is none."""
    by = By(f"x{D}", Categorical(LEVELS))
    return open_source(rows, by=by)


def replayed(
    name: str, budget: Budget, neighbors: str, center: bool, first: Floats, second: Floats, **options: Any
) -> list[Step]:
    asked = request(
        "covariance",
        budget,
        mechanism=name,
        bound=1.0,
        schema=None,
        neighbors=neighbors,
        center=center,
        by={f"x{D}": LEVELS},
        options=options,
    )
    encoding = asked.encoding(source(first))
    return replay(
        MECHANISMS["covariance"][name],
        source(first),
        source(second),
        grid=encoding,
        budget=budget,
        neighbors=neighbors,
        **options,
    )


COMMON = [[0.3, 0.1, 0.0], [-0.2, 0.6, 1.0], [0.5, 0.5, 2.0], [0.1, 0.1, 7.0], [0.9, 0.1, 1.0]]
WORST = {"replace": ([0.5**0.5, 0.5**0.5, 0.0], [0.5**0.5, 0.5**0.5, 2.0]), "add-remove": ([0.5**0.5, 0.5**0.5, 1.0], None)}


@pytest.mark.parametrize(("name", "budget", "neighbors", "center"), CASES)
def test_a_row_in_another_group_costs_what_was_charged(name: str, budget: Budget, neighbors: str, center: bool) -> None:
    """And no more, but nearly all of it: the constants are tight (a constant in front takes a little of an L1 norm)."""
    one, other = WORST[neighbors]
    first = np.array([*COMMON, one])
    second = np.array([*COMMON, *([] if other is None else [other])])
    steps = replayed(name, budget, neighbors, center, first, second)
    assert [step.asked for step in steps] == ["second moments of groups", *(["counts of groups"] if not center else [])]
    for step in steps:
        assert step.cost <= step.allowed
        if isinstance(step.charged, ApproxDP):
            assert step.cost > 0.99 * float(step.allowed)
        else:
            assert step.cost > (0.8 if center and name == "laplace" else 0.999) * float(step.allowed)


rows = st.lists(
    st.tuples(st.floats(-2, 2), st.floats(-2, 2), st.sampled_from([0.0, 1.0, 2.0, 7.0, np.nan])), min_size=2, max_size=5
)


@pytest.mark.parametrize(("name", "budget", "neighbors", "center"), CASES[::3])
@given(table=rows, other=rows)
@settings(max_examples=15, deadline=None)
def test_no_pair_costs_more(
    name: str, budget: Budget, neighbors: str, center: bool, table: list[tuple[float, ...]], other: list[tuple[float, ...]]
) -> None:
    second = [*table[:-1], other[0]] if neighbors == "replace" else table[:-1]
    for step in replayed(name, budget, neighbors, center, np.array(table), np.array(second)):
        assert step.cost <= step.allowed


def test_a_private_radius_is_part_of_the_price() -> None:
    one, other = WORST["replace"]
    steps = replayed(
        "gaussian", ZCDP("1/2"), "replace", True, np.array([*COMMON, one]), np.array([*COMMON, other]), clip="private"
    )
    assert [step.asked for step in steps] == ["radius", "second moments of groups"]
    assert all(step.cost <= step.allowed for step in steps)
    assert sum((step.charged.amounts()[0] for step in steps), start=Fraction(0)) <= Fraction(1, 2)


class TestBlackBox:
    """What the answers of two neighbours tell, by the best score for the pair: the likelihood of the exact noise."""

    TRIALS = 40_000

    def scores(self, noise: str, budget: Budget, factor: float) -> float:
        """Return a lower bound on ε with confidence 1 − 1e-6, for noise that is ``factor`` times as large as calibrated."""
        question = GroupedMoment(Grid(1.0), 1, 2)
        exact = [add_up(question, iter([np.array([[1.0, group]])])) for group in (0.0, 1.0)]
        law: Any = calibrated(question, budget, "replace", noise)
        if isinstance(law, DiscreteGaussian):
            law = DiscreteGaussian(tuple((part, variance * Fraction(factor) ** 2) for part, variance in law.variances))
        else:
            law = dataclasses.replace(law, scale=law.scale * Fraction(factor))
        assert isinstance(law, DiscreteGaussian | DiscreteLaplace | WishartDifference)
        bits = SeededBits(6100)
        drawn = []
        for one in exact:
            if isinstance(law, WishartDifference):  # as many matrices of one entry as a law may have, again and again
                many = dataclasses.replace(law, blocks=4000)
                noise_of_all = np.concatenate([many.draw([], bits) for _ in range(2 * self.TRIALS // 4000)])
            else:
                noise_of_all = law.draw([2 * self.TRIALS, 0][: len(question.parts)], bits)
            drawn.append(law.settle(one + noise_of_all.reshape(self.TRIALS, 2)) / 4**16)
        first, second = (np.clip(found[:, 0], -3, 4) - np.clip(found[:, 1], -3, 4) for found in drawn)
        delta = 1e-6 if isinstance(budget, ZCDP) else 0.0
        return epsilon_lower_bound(first, second, delta, SIZE)

    @pytest.mark.parametrize(("noise", "promised"), [("laplace", 1.0), ("wishart", 1.0)])
    def test_pure(self, noise: str, promised: float) -> None:
        assert self.scores(noise, PureDP(1), 1.0) <= promised
        assert self.scores(noise, PureDP(1), 0.4) > promised

    def test_concentrated(self) -> None:
        budget = ZCDP("1/20")
        assert self.scores("gaussian", budget, 1.0) <= budget.epsilon(1e-6)
        assert self.scores("gaussian", budget, 0.25) > budget.epsilon(1e-6)


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
def test_counts_of_groups_are_private_under_either_relation(neighbors: str) -> None:
    """Under replace, too, where n is public: a row may change its group."""
    law = calibrated(GroupCounts(K), PureDP(1), neighbors, "laplace")
    assert law == DiscreteLaplace(Fraction({"replace": 2, "add-remove": 1}[neighbors]))
