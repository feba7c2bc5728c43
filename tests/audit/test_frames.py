"""Audits of means and of `coinpress`: exactly by replay, and complete releases from outside.

Replay is exact and rejects no correct code, whatever bits it draws. The black box accuses correct code with probability below
1e-6 for each δ; halved noise must be found by it, or it would be worthless.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpcov
from dpcov.errors import ParameterError
from dpcov.kernel import curator as curator_module
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP, pays_for
from dpcov.kernel.calibrate import exponential_rate, gaussian_variance, laplace_scale
from dpcov.kernel.face import Face
from dpcov.kernel.questions import calibrated
from dpcov.kernel.questions.moments import Sum
from dpcov.kernel.rows.frames import Ellipsoid
from dpcov.kernel.rows.grid import Grid
from dpcov.linalg import whitener_of
from dpcov.mechanisms import MECHANISMS
from dpcov.sources.array import ArraySource
from dpcov.verify.audit import epsilon_lower_bound, promised_epsilon
from dpcov.verify.replay import PrivacyViolationError, Step, replay
from tests.helpers import replayed
from tests.helpers.by_hand import by_hand
from tests.helpers.peeking import sums_behind
from tests.helpers.replayed import share

Rows = NDArray[np.float64]
NEIGHBORS = ["replace", "add-remove"]
BUDGETS: list[Budget] = [PureDP(4), ZCDP(2), ApproxDP(4, "1e-6")]
KNOWN = np.array([[2.0, 0.6], [0.6, 1.0]])
FAR = 1e7
DIAGONAL = (np.linalg.inv(whitener_of(KNOWN)) @ [FAR, FAR]).tolist()
"""A far row on the diagonal of the coordinates in which `KNOWN` is 1."""

MEANS: dict[str, tuple[str, dict[str, Any]]] = {
    "auto": ("auto", {}),
    "coinpress": ("coinpress", {}),
    "coinpress, 1": ("coinpress", {"covariance": 1.0}),
    "coinpress, matrix": ("coinpress", {"covariance": KNOWN}),
    "coinpress, proved": ("coinpress", {"covariance": KNOWN, "constants": "proved"}),
    "clipped": ("clipped", {}),
    "clipped, matrix": ("clipped", {"covariance": KNOWN, "origin": [1.0, 2.0]}),
    "coordinatewise": ("coordinatewise", {"covariance": KNOWN}),
    "karwa-vadhan": ("karwa-vadhan", {}),
    "symq": ("symq", {"covariance": KNOWN}),
    "coinpress, paper": ("coinpress", {"covariance": KNOWN, "constants": "paper"}),
    "coordinatewise, paper": ("coordinatewise", {"covariance": KNOWN, "constants": "paper"}),
    "karwa-vadhan, paper": ("karwa-vadhan", {"constants": "paper"}),
    "symq, paper": ("symq", {"covariance": KNOWN, "constants": "paper"}),
}
MORE_THAN_NEEDED = {"karwa-vadhan, paper": 0.25, "symq, paper": 0.12}
"""As printed they have more noise: at least so much of each charge is used."""

PAIRS: dict[str, tuple[list[float], list[float]]] = {
    "axis": ([FAR, 0.0], [-FAR, 0.0]),
    "corner": ([-FAR, -FAR], [FAR, FAR]),
    "whitened corner": (DIAGONAL, [-entry for entry in DIAGONAL]),
    "far by near": ([FAR, 0.0], [3.0, -2.0]),
    "turned": ([FAR, 0.0], [0.0, FAR]),
    "far by nothing": ([0.0, FAR], [0.0, 0.0]),
    "missing by infinite": ([math.nan, 3.0], [1.0, math.inf]),
    "huge by tiny": ([1e308, -1e308], [1e-300, 5e-324]),
}

each_relation = pytest.mark.parametrize("neighbors", NEIGHBORS)
each_centring = pytest.mark.parametrize("centring", ["none", "mean"])


def tables(pair: str, neighbors: str, d: int = 2) -> tuple[Rows, Rows]:
    """Return correlated rows around a mean, and one more, which is replaced or dropped."""
    row, other = PAIRS[pair]
    others = (np.random.default_rng(861).normal(size=(400, 2)) @ [[1.0, 0.0], [0.6, 0.8]] + [3.0, -2.0])[:, :d]
    one = np.vstack([others, [row[:d]]])
    return one, np.vstack([others, [other[:d]]]) if neighbors == "replace" else others


def steps(kind: str, name: str, budget: Budget, pair: tuple[Rows, Rows], neighbors: str, **options: Any) -> list[Step]:
    return replayed.steps(MECHANISMS[kind][name], budget, *pair, neighbors, Grid(50.0), **options)


def check(kind: str, name: str, budget: Budget, neighbors: str, options: dict[str, Any]) -> dict[str, float]:
    """Insist that no pair costs more than was charged, and that charges fit; return the largest share of each question."""
    largest: dict[str, float] = {}
    for number, pair in enumerate(PAIRS):
        one, other = tables(pair, neighbors)
        found = steps(kind, name, budget, (one, other) if number % 2 else (other, one), neighbors, **options)
        assert pays_for(budget, [step.charged for step in found])
        for step in found:
            assert step.cost <= step.allowed, (pair, step)
            largest[step.asked] = max(largest.get(step.asked, 0.0), share(step))
    return largest


class TestMeans:
    @each_relation
    @pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.notion)
    @pytest.mark.parametrize("case", MEANS)
    def test_pairs_cost_what_was_charged_and_no_more(self, case: str, budget: Budget, neighbors: str) -> None:
        """Never more; and of each question as much, by the pair that is worst for it: more noise would show as less."""
        name, options = MEANS[case]
        if options.get("constants") == "proved" and (neighbors != "replace" or isinstance(budget, PureDP)):
            with pytest.raises(ParameterError, match="constants must be 'practical' under add-remove"):
                check("mean", name, budget, neighbors, options)
            return
        largest = check("mean", name, budget, neighbors, options)
        assert min(largest.values()) > MORE_THAN_NEEDED.get(case, 0.999), largest
        assert max(largest.values()) <= 1
        assert set(largest) >= ({"count"} if neighbors == "add-remove" else set())

    def test_every_mechanism_is_here(self) -> None:
        assert {name for name, _ in MEANS.values()} == set(MECHANISMS["mean"])


class TestCoinpress:
    @each_relation
    @each_centring
    @pytest.mark.parametrize("rounds", [1, 2, 3, 4])
    def test_pairs_cost_what_was_charged_and_no_more(self, rounds: int, centring: str, neighbors: str) -> None:
        """Sums and, where a row goes, second moments and traces in full; replaced ones in the first round, where W ∝ 1."""
        options = {"upper": 10, "rounds": rounds, "centring": centring}
        for budget in BUDGETS[1:]:
            largest = check("covariance", "coinpress", budget, neighbors, options)
            assert ("sum" in largest) == (centring == "mean")
            assert ("trace" in largest) == (rounds > 2)
            if neighbors == "add-remove" or centring == "none":
                assert min(largest.values()) > 0.999, largest

    @each_relation
    @pytest.mark.parametrize("rounds", [1, 2, 3, 4])
    def test_all_rounds_of_one_column_use_what_was_charged(self, rounds: int, neighbors: str) -> None:
        pair = tables("axis", neighbors, 1)
        pair[1][400:] = 0.0
        found = steps("covariance", "coinpress", ZCDP(2), pair, neighbors, upper=10, rounds=rounds)
        assert len(found) >= rounds
        assert min(share(step) for step in found) > 0.999

    @pytest.mark.parametrize("rounds", [1, 3])
    def test_proved_constants(self, rounds: int) -> None:
        options = {"upper": 10, "rounds": rounds, "constants": "proved"}
        for budget in BUDGETS[1:]:
            largest = check("covariance", "coinpress", budget, "replace", options)
            assert set(largest) == {"second moment"}
            assert largest["second moment"] > 0.999
            with pytest.raises(ParameterError, match="constants must be 'practical' under add-remove"):
                check("covariance", "coinpress", budget, "add-remove", options)


class TestControls:
    def test_noise_a_twentieth_too_small_is_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(calibrated, "gaussian_variance", lambda *arguments: gaussian_variance(*arguments) * 19 / 20)
        monkeypatch.setattr(calibrated, "laplace_scale", lambda *arguments: laplace_scale(*arguments) * 19 / 20)
        for name in ("clipped", "coordinatewise", "karwa-vadhan"):
            for budget in BUDGETS[:2]:
                with pytest.raises(AssertionError):
                    check("mean", name, budget, "replace", {})

    def test_a_larger_rate_is_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(curator_module, "exponential_rate", lambda budget: exponential_rate(budget) * 21 / 20)
        for name in ("symq", "coinpress"):
            with pytest.raises(AssertionError):
                check("mean", name, PureDP(4), "replace", {})

    def test_a_whitener_that_follows_the_rows_is_caught(self) -> None:
        def peeking(asked: Face, budget: ZCDP) -> None:
            total = sums_behind(asked).read(Sum(Grid(50.0), 2))
            frame = Ellipsoid((0.0, 0.0), np.diag([1.0, 2.0 + float(total[0])]))
            asked.noisy(Sum(frame, 2), budget, noise="gaussian")

        with pytest.raises(PrivacyViolationError):
            replay(by_hand(peeking), *map(ArraySource, tables("axis", "replace")), grid=Grid(50.0), budget=ZCDP(1))


class TestBlackBox:
    """Complete releases of the mean of two rows, one of them 1 or −1: what Laplace or Gaussian noise hides least."""

    TRIALS = 2500
    DELTAS = (1e-5, 0.1)

    def excess(self, budget: Budget) -> float:
        """Return by how much the ε that is proved exceeds the one that is promised, at the worse δ."""
        scores = []
        for start, row in enumerate((1.0, -1.0)):
            releases = (
                dpcov.mean(np.array([[row], [0.25]]), budget, radius=1, mechanism="clipped", postprocess="none", seed=seed)
                for seed in range(start, 2 * self.TRIALS, 2)
            )
            scores.append(np.array([float(release.mean[0]) for release in releases]))
        return max(
            epsilon_lower_bound(scores[0], scores[1], delta, 1e-6) - promised_epsilon(budget, delta) for delta in self.DELTAS
        )

    @pytest.mark.audit
    @pytest.mark.parametrize("budget", [ZCDP("0.5"), PureDP(1)], ids=str)
    def test_it_stays_under_the_promise(self, budget: Budget) -> None:
        """Size 2e-6: two values of δ. `TestMeans` tries all notions exactly."""
        assert -1.5 < self.excess(budget) <= 0

    @pytest.mark.audit
    @pytest.mark.parametrize("budget", [ZCDP("0.5"), PureDP(1)], ids=str)
    def test_halved_noise_does_not(self, budget: Budget, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is found by 0.3 and more."""
        monkeypatch.setattr(calibrated, "gaussian_variance", lambda *arguments: gaussian_variance(*arguments) / 4)
        monkeypatch.setattr(calibrated, "laplace_scale", lambda *arguments: laplace_scale(*arguments) / 2)
        assert self.excess(budget) > 0.1
