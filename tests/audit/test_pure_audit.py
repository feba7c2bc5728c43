"""Audits of the pure mechanisms: exactly by replay, and from outside, with halved noise as the control.

Replay is exact and rejects no correct code. The black-box audit accuses a correct library with probability below 1e-6 for
each δ that it looks at; halved noise must be found by it, or it would be worthless.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcov import PureDP
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget
from dpcov.kernel.questions import calibrated
from dpcov.mechanisms import MECHANISMS
from dpcov.verify.audit import Finding, audit_covariance
from dpcov.verify.replay import Step
from tests.helpers import replayed
from tests.helpers.rows import neighbours

Rows = NDArray[np.float64]
OTHERS = np.array([[0.5, 0.5], [0.3, -0.1]])
E1, E2, ZERO = [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]
ANGLE = math.atan(0.5) / 2  # rows at this angle, and the one at right angles, differ most in L1: by √5
TILTED = [math.cos(ANGLE), math.sin(ANGLE)], [-math.sin(ANGLE), math.cos(ANGLE)]
PAIRS: dict[str, tuple[list[float], list[float]]] = {
    "e1 by e2": (E1, E2),
    "e1 by 0": (E1, ZERO),
    "rotated": ([0.6, 0.8], [-0.8, 0.6]),
    "tilted": TILTED,
    "NaN by e1": ([math.nan, math.nan], E1),
    "infinity by e2": ([math.inf, -1e308], E2),
    "huge by huge": ([1e308, 1e308], [1e308, -1e308]),
}
BUDGETS: dict[str, list[Budget]] = {
    "gaussian": [ZCDP("0.5"), ApproxDP(1, "1e-6")],
    "laplace": [PureDP(1), ApproxDP("0.3", "1e-6")],
    "wishart": [PureDP(1), ApproxDP("0.3", "1e-6")],
    "frobenius": [PureDP(1), ApproxDP("0.3", "1e-6")],
}
CASES = [(name, budget) for name, budgets in BUDGETS.items() for budget in budgets]


def neighbour(row: list[float], other: list[float], neighbors: str) -> tuple[Rows, Rows]:
    """Return two tables that differ in one row: replaced, or the first one dropped."""
    return neighbours(np.vstack([OTHERS, [row]]), other, neighbors)


def steps(name: str, budget: Budget, first: Rows, second: Rows, neighbors: str) -> list[Step]:
    mechanism = MECHANISMS["covariance"][name]
    return replayed.steps(mechanism, budget, first, second, neighbors)


def shares(found: list[Step]) -> list[float]:
    """Return what was used of each allowance."""
    return [replayed.share(step) for step in found]


class TestReplay:
    @pytest.mark.parametrize("pair", PAIRS)
    @pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
    @pytest.mark.parametrize(("name", "budget"), CASES)
    def test_no_pair_costs_more_than_was_charged(self, name: str, budget: Budget, neighbors: str, pair: str) -> None:
        """In both directions; a scale 0.01 % too small fails on one of the pairs."""
        first, second = neighbour(*PAIRS[pair], neighbors)
        for one, other in ((first, second), (second, first)):
            found = steps(name, budget, one, other, neighbors)
            assert len(found) == (1 if neighbors == "replace" else 2)
            assert max(shares(found)) <= 1 + 1e-9

    @pytest.mark.parametrize(("name", "budget"), CASES)
    def test_the_worst_pair_uses_the_whole_budget(self, name: str, budget: Budget) -> None:
        """More noise than needed would show here; the tilted rows lose 1e-4 to the integer grid, and δ moves faster than σ."""
        pair = "tilted" if name == "laplace" else "e1 by e2"
        tolerance = 2e-3 if name == "laplace" else 1e-4
        [share] = shares(steps(name, budget, *neighbour(*PAIRS[pair], "replace"), "replace"))
        assert share == pytest.approx(1, abs=tolerance)
        row = [math.sqrt(0.5), math.sqrt(0.5)] if name == "laplace" else E1
        moment, count = shares(steps(name, budget, *neighbour(row, ZERO, "add-remove"), "add-remove"))
        assert moment == pytest.approx(1, abs=tolerance)
        assert count == pytest.approx(1, abs=1e-9)

    @pytest.mark.parametrize("name", ["laplace", "wishart", "frobenius"])
    def test_halved_noise_is_caught(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        divide_noise(name, 2, monkeypatch)
        pair = "tilted" if name == "laplace" else "e1 by e2"
        [share] = shares(steps(name, PureDP(1), *neighbour(*PAIRS[pair], "replace"), "replace"))
        assert share == pytest.approx(2, rel=2e-3)


def divide_noise(name: str, factor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide the scale of a mechanism's noise where it is calibrated."""
    function = {"laplace": "laplace_scale", "wishart": "calibrate_wishart", "frobenius": "calibrate_frobenius"}[name]
    original: Callable[..., Any] = getattr(calibrated, function)

    def divided(*arguments: Any) -> Any:
        law = original(*arguments)
        return law / factor if name == "laplace" else dataclasses.replace(law, scale=law.scale / factor)

    monkeypatch.setattr(calibrated, function, divided)


def audit(name: str, neighbors: str, d: int = 2) -> list[Finding]:
    """Audit releases at ε = 1, 3000 from each of the worst neighbours of this noise, at the δ that say most of pure DP."""
    first, second = neighbour(*PAIRS["tilted" if name == "laplace" else "e1 by e2"], neighbors)
    if neighbors == "add-remove" and name == "laplace":
        first = np.vstack([OTHERS, [[math.sqrt(0.5), math.sqrt(0.5)]]])
    if d == 1:
        first, second = np.array([[0.5], [1.0]]), np.array([[0.5], [0.0]])
    options: dict[str, Any] = {"mechanism": name, "neighbors": neighbors}
    return audit_covariance(first, second, PureDP(1), deltas=(0.0, 1e-5), trials=3000, seed=0, **options)


@pytest.mark.audit
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("name", ["laplace", "wishart", "frobenius"])
def test_black_box_stays_under_the_promise(name: str, neighbors: str) -> None:
    """Size 2e-6: two values of δ. `TestReplay` tries all of them exactly and faster."""
    assert not any(finding.violated for finding in audit(name, neighbors))


@pytest.mark.audit
@pytest.mark.parametrize("name", ["laplace", "wishart", "frobenius"])
def test_black_box_finds_halved_noise(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Power in one column, where half of all releases show the worst ratio: halved noise proves ε ≥ 1.3, right noise passes."""
    assert not any(finding.violated for finding in audit(name, "replace", d=1))
    divide_noise(name, 2, monkeypatch)
    assert all(finding.proved > 1.3 for finding in audit(name, "replace", d=1))


@pytest.mark.audit
@pytest.mark.parametrize("name", ["laplace", "wishart", "frobenius"])
def test_black_box_finds_a_third_of_the_noise_in_two_columns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Power in two columns. There the worst ratio is rarer: of halved noise 3000 trials prove ε = 0.8 to 0.9 only."""
    divide_noise(name, 3, monkeypatch)
    assert all(finding.violated for finding in audit(name, "replace"))
