"""Audits of centred releases: exactly by replay, for all noises, and from outside with a planted bug as the control.

Replay is exact and rejects no correct code. The black box accuses correct code with probability below 1e-6 for each δ.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpcov
from dpcov import PureDP
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget
from dpcov.kernel.rows import grid as grid_module
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.verify.replay import Step
from tests.helpers import replayed
from tests.helpers.replayed import share
from tests.helpers.rows import neighbours

Rows = NDArray[np.float64]
OTHERS = np.array([[0.5, 0.5], [0.3, -0.1]])
THIRD = math.acos(-1 / 3)  # x·x′ = −1/3: the rows (½, √¾·x) are then orthogonal
PAIRS = {
    "orthogonal once lifted": ([1.0, 0.0], [math.cos(THIRD), math.sin(THIRD)]),
    "opposite": ([1.0, 0.0], [-1.0, 0.0]),
    "e1 by 0": ([1.0, 0.0], [0.0, 0.0]),
    "NaN by e1": ([math.nan, math.nan], [1.0, 0.0]),
    "huge by huge": ([1e308, 1e308], [1e308, -1e308]),
    "infinity by long": ([math.inf, -1e308], [3.0, 4.0]),
}
BUDGETS: dict[str, list[Budget]] = {
    "gaussian": [ZCDP("0.5"), ApproxDP(1, "1e-6")],
    "laplace": [PureDP(1)],
    "wishart": [PureDP(1), ApproxDP("0.3", "1e-6")],
    "frobenius": [PureDP(1)],
}
CASES = [(name, budget) for name, budgets in BUDGETS.items() for budget in budgets]


def steps(name: str, budget: Budget, first: Rows, second: Rows, neighbors: str) -> list[Step]:
    return replayed.steps(MECHANISMS["covariance"][name], budget, first, second, neighbors, Grid(1.0, center=True))


def neighbour(pair: str, neighbors: str) -> tuple[Rows, Rows]:
    row, other = PAIRS[pair]
    return neighbours(np.vstack([OTHERS, [row]]), other, neighbors)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize(("name", "budget"), CASES)
def test_one_question_never_costs_more_than_was_charged(name: str, budget: Budget, neighbors: str, pair: str) -> None:
    """In both directions, and n is never asked for: under add-remove it is in the corner."""
    first, second = neighbour(pair, neighbors)
    for one, other in ((first, second), (second, first)):
        [step] = steps(name, budget, one, other, neighbors)
        assert step.asked == "second moment"
        assert share(step) <= 1 + 1e-9


@pytest.mark.parametrize("name", ["gaussian", "wishart", "frobenius"])
def test_the_worst_pair_uses_the_whole_budget(name: str) -> None:
    """Tight in both relations: more noise than needed would show as a share below 1; the grid costs 1e-4."""
    budget = BUDGETS[name][0]
    [step] = steps(name, budget, *neighbour("orthogonal once lifted", "replace"), "replace")
    assert share(step) == pytest.approx(1, abs=2e-4)
    [step] = steps(name, budget, *neighbour("e1 by 0", "add-remove"), "add-remove")
    assert share(step) == pytest.approx(1, abs=2e-4)


def test_a_ball_of_radius_one_for_x_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted bug: the x part clipped to 4ᵏ instead of 4ᵏ − a², so that ‖z‖² reaches 5/4."""
    monkeypatch.setattr(grid_module.Grid, "radius_squared", property(lambda self: self.one**2))
    [step] = steps("gaussian", ZCDP("0.5"), *neighbour("e1 by 0", "add-remove"), "add-remove")
    assert share(step) == pytest.approx((5 / 4) ** 2, rel=1e-3)


def test_the_corner_never_depends_on_a_row() -> None:
    """With the noise off, rows of every kind leave n·4ᵏ⁻¹ in the corner."""
    rows = np.array([[0.0, 0.0], [math.nan, 1.0], [1e308, -1e308], [3.0, 4.0], [math.inf, 5e-324]])
    grid = Grid(1.0, center=True)
    encoded = grid.encode(rows)
    assert np.array_equal(encoded[:, 0], np.full(5, 2.0**15))
    assert np.all((encoded**2).sum(axis=1) <= 4.0**16)


def scores(rows: Rows, neighbors: str, trials: int) -> NDArray[np.float64]:
    """Project centred releases onto the difference that the added or replaced row makes."""
    options: dict[str, Any] = {"row_norm": 1.0, "center": True, "neighbors": neighbors, "mechanism": "gaussian"}
    direction = np.array([1.0, 0.5])
    found = []
    for seed in range(trials):
        answer = dpcov.covariance(rows, ZCDP("0.5"), seed=seed, **options).answers[0].values
        found.append(answer[0] + answer[1] + 2 * answer[3] * direction[1])
    return np.array(found)


@pytest.mark.audit
def test_black_box_stays_under_the_promise_and_catches_a_quarter_of_the_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """One row removed, ρ = ½. Size 1e-6; power: noise four times too small proves more than the promise."""
    from dpcov.kernel.calibrate import gaussian_variance
    from dpcov.kernel.questions import calibrated
    from dpcov.verify.audit import epsilon_lower_bound

    first, second = neighbour("e1 by 0", "add-remove")
    promised = ZCDP("0.5").epsilon(0.1)
    assert epsilon_lower_bound(scores(first, "add-remove", 1500), scores(second, "add-remove", 1500), 0.1, 1e-6) <= promised
    monkeypatch.setattr(calibrated, "gaussian_variance", lambda *arguments: gaussian_variance(*arguments) / 16)
    assert epsilon_lower_bound(scores(first, "add-remove", 1500), scores(second, "add-remove", 1500), 0.1, 1e-6) > promised
