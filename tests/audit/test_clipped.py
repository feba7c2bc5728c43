"""Audits of private clipping, `separate`, `adaptive` and `rescaled`: exactly by replay, and complete releases from outside.

Replay is exact and rejects no correct code. The black box accuses correct code with probability below 1e-6 for each δ; an
eighth of the noise must be found by it, or it would be worthless.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcov import covariance
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP, compose, pays_for
from dpcov.kernel.calibrate import gaussian_variance
from dpcov.kernel.face import Face
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.noise.sampler import RandomSampler
from dpcov.kernel.questions import calibrated
from dpcov.kernel.questions.choices import Quantile
from dpcov.kernel.questions.measure import Measure
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.release.record import Release
from dpcov.sources.array import ArraySource
from dpcov.verify.audit import Finding, audit_covariance
from dpcov.verify.replay import PrivacyViolationError, Step, replay
from tests.helpers import replayed
from tests.helpers.by_hand import by_hand
from tests.helpers.peeking import sums_behind
from tests.helpers.replayed import share

Rows = NDArray[np.float64]
NEIGHBORS = ["replace", "add-remove"]
BUDGETS: list[Budget] = [PureDP(2), ZCDP("0.5"), ApproxDP(2, "1e-6")]
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "separate": ("separate", {}),
    "separate, paper": ("separate", {"constants": "paper"}),
    "separate, private": ("separate", {"clip": "private"}),
    "separate, clipped": ("separate", {"clip": 0.3}),
    "adaptive": ("adaptive", {}),
    "adaptive, paper": ("adaptive", {"constants": "paper", "beta": 0.3}),
    "adaptive, program": ("adaptive", {"constants": "program"}),
    "rescaled": ("rescaled", {}),
    "rescaled, robust": ("rescaled", {"robust": True}),
    "rescaled, exact": ("rescaled", {"numerics": "exact"}),
    "projection, private": ("projection", {"clip": "private"}),
    "gaussian, private": ("gaussian", {"clip": "private"}),
    "gaussian, clipped": ("gaussian", {"clip": 0.3}),
    "wishart, private": ("wishart", {"clip": "private"}),
    "wishart, clipped": ("wishart", {"clip": 0.3}),
    "laplace, private": ("laplace", {"clip": "private"}),
    "frobenius, private": ("frobenius", {"clip": "private"}),
}
SERVED = {"gaussian": (ZCDP, ApproxDP), "projection": (ZCDP, ApproxDP)} | dict.fromkeys(
    ("wishart", "laplace", "frobenius"), (PureDP, ApproxDP)
)
CASES = [
    pytest.param(name, options, budget, id=f"{run}-{budget.notion}")
    for run, (name, options) in RUNS.items()
    for budget in BUDGETS
    if isinstance(budget, SERVED.get(name, (PureDP, ZCDP, ApproxDP)))
]


def unit(d: int, axis: int) -> list[float]:
    return [float(entry) for entry in np.eye(d)[axis]]


def pairs(d: int) -> dict[str, tuple[list[float], list[float]]]:
    """Return what one row may become: worst cases, rows just outside a radius, and wild ones."""
    rest = [0.0] * (d - 2)
    return {
        "e1 by e2": (unit(d, 0), unit(d, 1)),
        "e1 by 0": (unit(d, 0), [0.0] * d),
        "rotated": ([0.6, 0.8, *rest], [-0.8, 0.6, *rest]),
        "long by short": ([0.0, 1.0, *rest], [1e-3, 0.0, *rest]),
        "at the clip": ([0.3, 0.0, *rest], [0.0, 0.3000001, *rest]),
        "NaN by e2": ([math.nan] * d, unit(d, 1)),
        "infinity by e1": ([math.inf, -1e308, *rest], unit(d, 0)),
        "huge by huge": ([1e308] * d, [1e308, *[-1e308] * (d - 1)]),
        "tiny by huge": ([1e-300] * d, [1e300] * d),
    }


def tables(d: int, pair: str, neighbors: str, copies: int = 300) -> tuple[Rows, Rows]:
    """Return rows of several lengths and one more, which is replaced or dropped: enough that no path ends early."""
    row, other = pairs(d)[pair]
    draw = np.random.default_rng(81)
    others = draw.normal(size=(copies, d)) * 0.3 ** np.arange(d) * 0.2
    return np.vstack([others, [row]]), np.vstack([others, [other]]) if neighbors == "replace" else others


def steps(name: str, budget: Budget, first: Rows, second: Rows, neighbors: str, **options: Any) -> list[Step]:
    return replayed.steps(MECHANISMS["covariance"][name], budget, first, second, neighbors, **options)


class TestReplay:
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize(("name", "options", "budget"), CASES)
    def test_no_pair_costs_more_than_was_charged(
        self, name: str, options: dict[str, Any], budget: Budget, neighbors: str
    ) -> None:
        """In both directions, each question by itself; the charges together never exceed the budget."""
        for number, pair in enumerate(pairs(2)):
            d = 2 + number % 2
            first, second = tables(d, pair, neighbors)
            for one, other in ((first, second), (second, first)):
                found = steps(name, budget, one, other, neighbors, **options)
                assert len(found) >= (1 if neighbors == "replace" else 2)
                for step in found:
                    assert share(step) <= 1 + 1e-9, (pair, step)
                assert pays_for(budget, [step.charged for step in found])

    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize("budget", BUDGETS[:2], ids=lambda budget: budget.notion)
    def test_worst_pairs_use_what_was_charged(self, budget: Budget, neighbors: str) -> None:
        """Tightness: more noise than needed would show as costs below the charges."""
        pair = "e1 by e2" if neighbors == "replace" else "e1 by 0"
        found = {step.asked: share(step) for step in steps("separate", budget, *tables(2, pair, neighbors), neighbors)}
        assert found["second moment"] == pytest.approx(1, abs=1e-3)
        first, second = tables(2, "e1 by 0", neighbors, copies=600)
        found = {step.asked: share(step) for step in steps("adaptive", budget, first, second, neighbors)}
        assert found["radius"] == pytest.approx(1, abs=1e-6)
        assert found["trace"] == pytest.approx(1, abs=1e-3)
        assert found["threshold"] > 0.5

    def test_the_clipped_sum_has_the_noise_of_its_radius(self) -> None:
        """At the worst pair the whole price, at any radius: noise for a smaller one would cost more, for a larger one less."""
        for clip in (1.0, 0.3, 1e-3):
            first, second = tables(2, "e1 by e2", "replace")
            [step] = steps("gaussian", ZCDP("0.5"), first, second, "replace", clip=clip)
            assert share(step) == pytest.approx(1, abs=1e-4)


class TestControls:
    def test_a_doubled_rate_is_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from dpcov.kernel import curator
        from dpcov.kernel.calibrate import exponential_rate

        monkeypatch.setattr(curator, "exponential_rate", lambda budget: 2 * exponential_rate(budget))
        shares = [
            share(step) for pair in pairs(2) for step in steps("rescaled", PureDP(2), *tables(2, pair, "replace"), "replace")
        ]
        assert max(shares) > 1.01

    def test_halved_query_noise_is_found(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from dpcov.kernel import curator
        from dpcov.kernel.calibrate import sparse_vector_epsilon

        monkeypatch.setattr(curator, "sparse_vector_epsilon", lambda budget: 2 * sparse_vector_epsilon(budget))
        found = steps("adaptive", PureDP(2), *tables(2, "e1 by 0", "replace"), "replace")
        assert max(share(step) for step in found) == pytest.approx(2, rel=1e-3)

    @pytest.mark.parametrize("name", ["adaptive", "rescaled", "separate"])
    def test_halved_noise_is_found(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(calibrated, "gaussian_variance", lambda *arguments: gaussian_variance(*arguments) / 4)
        found = steps(name, ZCDP("0.5"), *tables(2, "e1 by e2", "replace"), "replace")
        assert max(share(step) for step in found) > 3.9

    def test_a_radius_that_follows_the_rows_is_caught(self) -> None:
        """A mechanism that clips at the true quantile asks another question of the neighbour."""

        def peeking(asked: Face, budget: ZCDP) -> None:
            norms = asked.norms(16, 10)
            place = int(np.argmax(Quantile(norms, 100).scores(sums_behind(asked).read(norms))))
            asked.noisy(asked.second_moment(2.0 ** (-place / 16)), budget, noise="gaussian")

        rows = np.full((200, 2), 0.05)
        rows[:100] = 0.4
        other = rows.copy()
        other[0] = 0.05
        with pytest.raises(PrivacyViolationError):
            replay(by_hand(peeking), ArraySource(rows), ArraySource(other), grid=Grid(1.0), budget=ZCDP(1))


@pytest.mark.parametrize(("name", "options"), [("rescaled", {}), ("wishart", {"clip": "private"}), ("adaptive", {})], ids=str)
def test_a_private_radius_is_drawn(name: str, options: dict[str, Any]) -> None:
    """Forty seeds give many radii where the budget leaves them open: without noise there would be one."""
    rows = np.linspace(0.01, 0.5, 400)[:, None] * [1.0, 0.2]
    found = {
        tuple(answer.integers.tolist())
        for seed in range(40)
        for answer in covariance(rows, PureDP("0.2"), row_norm=1, mechanism=name, seed=seed, **options).answers
        if answer.question.name in ("radius", "threshold")
    }
    assert len(found) > 5


def trial_rows() -> tuple[Rows, Rows]:
    """Return few rows, one of them e1 by e2; the others weigh both axes alike, so that no radius hides the difference."""
    others = np.tile([[0.25, 0.05], [0.05, 0.25]], (8, 1))
    return np.vstack([others, [[1.0, 0.0]]]), np.vstack([others, [[0.0, 1.0]]])


def audit(name: str, budget: Budget, neighbors: str = "replace", trials: int = 700) -> list[Finding]:
    first, second = trial_rows()
    second = second if neighbors == "replace" else second[:-1]
    return audit_covariance(
        first, second, budget, deltas=(1e-5, 0.1), trials=trials, mechanism=name, neighbors=neighbors, seed=82
    )


@pytest.mark.audit
@pytest.mark.parametrize("name", ["adaptive", "rescaled"])
class TestBlackBox:
    @pytest.mark.parametrize(("budget", "neighbors"), [(ZCDP("0.5"), "replace"), (PureDP(2), "add-remove")], ids=str)
    def test_complete_releases_stay_under_the_promise(self, name: str, budget: Budget, neighbors: str) -> None:
        """Size 2e-6: two values of δ. `TestReplay` tries all notions and relations exactly."""
        assert not any(finding.violated for finding in audit(name, budget, neighbors))

    def test_an_eighth_of_the_noise_is_found(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        add = RandomSampler.noisy

        def less(sampler: RandomSampler, question: Measure, law: NoiseLaw, exact: NDArray[np.int64]) -> NDArray[np.int64]:
            return exact + (add(sampler, question, law, exact) - exact) // 8

        monkeypatch.setattr(RandomSampler, "noisy", less)
        assert any(finding.violated for finding in audit(name, ZCDP("0.5")))


def test_the_audited_releases_hold_something() -> None:
    """Otherwise every audit would pass."""
    for name in ("adaptive", "rescaled"):
        for budget in (ZCDP("0.5"), PureDP(2)):
            release: Release = covariance(trial_rows()[0], budget, row_norm=1, mechanism=name, seed=83)
            assert release.find(SecondMoment) is not None
            charged = compose(*(spend.budget for spend in release.spent))
            assert Fraction(1, 2) * budget.amounts()[0] < charged.amounts()[0] <= budget.amounts()[0]
