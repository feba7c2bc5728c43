"""Audits: what neighbours' releases really cost, exactly by replay and statistically from outside."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcov import ZCDP, covariance
from dpcov.kernel.budget import Budget
from dpcov.kernel.calibrate import gaussian_variance
from dpcov.kernel.face import Face
from dpcov.kernel.questions import calibrated
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms.covariance.gaussian import GAUSSIAN
from dpcov.release.record import Release
from dpcov.sources.array import ArraySource
from dpcov.verify import audit
from dpcov.verify.audit import audit_covariance, epsilon_lower_bound
from dpcov.verify.replay import PrivacyViolationError, replay
from tests.helpers.by_hand import by_hand
from tests.helpers.peeking import sums_behind

OTHERS = np.array([[0.5, 0.5], [0.3, -0.1]])
E1, E2, ZERO = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]), np.zeros((1, 2))
PAIRS = {
    "e1 by e2": (np.vstack([OTHERS, E1]), np.vstack([OTHERS, E2])),
    "e1 by 0": (np.vstack([OTHERS, E1]), np.vstack([OTHERS, ZERO])),
}
RHO = ZCDP("0.5")

wild = st.one_of(
    st.floats(-2, 2),
    st.sampled_from([0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, 0.7071067811865476]),
)


def cost(first: np.ndarray, second: np.ndarray, neighbors: str, **options: Any) -> list[tuple[Fraction, Fraction]]:
    steps = replay(
        GAUSSIAN, ArraySource(first), ArraySource(second), grid=Grid(1.0), budget=RHO, neighbors=neighbors, **options
    )
    return [(Fraction(step.cost), Fraction(step.allowed)) for step in steps]


@pytest.mark.parametrize("constants", ["tight", "paper"])
@pytest.mark.parametrize("pair", PAIRS)
def test_replay_never_costs_more_than_was_charged(pair: str, constants: str) -> None:
    """Exact, so it never rejects correct code; any variance that is 0.01 % too small fails on e1 by e2."""
    assert all(true <= charged for true, charged in cost(*PAIRS[pair], "replace", constants=constants))


def test_the_worst_neighbours_use_the_whole_budget() -> None:
    """Tightness: more noise than needed would show here as a cost below the charge."""
    assert cost(*PAIRS["e1 by e2"], "replace") == [(Fraction(1, 2), Fraction(1, 2))]
    rotated = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2)  # differs above the diagonal only; shortened by truncation
    [(true, charged)] = cost(np.vstack([OTHERS, rotated[:1]]), np.vstack([OTHERS, rotated[1:]]), "replace")
    assert charged * Fraction(999, 1000) < true <= charged
    removed = cost(PAIRS["e1 by e2"][0], OTHERS, "add-remove")
    assert removed == [(Fraction(5, 12), Fraction(5, 12)), (Fraction(1, 12), Fraction(1, 12))]


@given(st.lists(wild, min_size=3, max_size=3), st.lists(wild, min_size=3, max_size=3), st.booleans())
@settings(max_examples=200)
def test_replay_of_wild_rows(row: list[float], other: list[float], add: bool) -> None:
    """NaN, infinities and 1e308 cost no more than rows inside the ball."""
    base = np.array([[0.1, 0.2, 0.3]])
    first = np.vstack([base, [row]])
    second = base if add else np.vstack([base, [other]])
    assert all(true <= charged for true, charged in cost(first, second, "add-remove" if add else "replace"))


def test_replay_catches_a_mechanism_that_looks_at_the_data() -> None:
    def peeking(curator: Face, budget: Budget) -> None:
        share = "0.5" if sums_behind(curator).read(curator.second_moment())[0] > 2**32 else "0.25"
        curator.noisy(curator.second_moment(), budget.share(share), noise="gaussian")

    first, second = PAIRS["e1 by e2"]
    with pytest.raises(PrivacyViolationError):
        replay(by_hand(peeking), ArraySource(first), ArraySource(second), grid=Grid(1.0), budget=RHO)


TRIALS = 3000  # from each neighbour


@pytest.mark.parametrize(
    "pair", [pytest.param(pair, marks=[] if pair == "e1 by e2" else [pytest.mark.audit]) for pair in PAIRS]
)
def test_black_box_stays_under_the_promise(pair: str) -> None:
    """Rejects correct code with probability below 4e-6 (four values of δ, 1e-6 each). Replay tries all pairs exactly."""
    first, second = PAIRS[pair]
    findings = audit_covariance(first, second, RHO, trials=TRIALS, seed=0)
    assert findings[0].delta == 1e-5
    assert not any(finding.violated for finding in findings), findings


def test_black_box_catches_halved_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """An audit that cannot catch this is worthless. Power: the bound at δ = 0.3 is about 1.1, promised is 0.82."""
    monkeypatch.setattr(calibrated, "gaussian_variance", lambda *arguments: gaussian_variance(*arguments) / 4)
    findings = audit_covariance(*PAIRS["e1 by e2"], RHO, trials=TRIALS, seed=0)
    assert any(finding.violated for finding in findings), findings


def test_black_box_audits_what_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    """By default with the system's bits: rejects correct code with probability below 4e-6; a seed is an option."""
    seeded: list[bool] = []

    def watched(*arguments: Any, **named: Any) -> Release:
        release = covariance(*arguments, **named)
        seeded.append(release.seeded)
        return release

    monkeypatch.setattr(audit, "covariance", watched)
    assert not any(finding.violated for finding in audit_covariance(*PAIRS["e1 by e2"], RHO, trials=500))
    assert seeded == [False] * 1000
    once, again = (audit_covariance(*PAIRS["e1 by e2"], RHO, trials=20, seed=7) for _ in range(2))
    assert once == again
    assert all(seeded[1000:])


def test_lower_bound_on_known_scores() -> None:
    """Two unit normals one apart need ε = 4.38 at δ = 1e-5 (Balle and Wang); the bound stays below and above 1.5."""
    random = np.random.default_rng(20261)
    first, second = random.normal(1, 1, 200_000), random.normal(0, 1, 200_000)
    assert 1.5 < epsilon_lower_bound(first, second, 1e-5, 1e-6) < 4.38
    assert epsilon_lower_bound(first, first, 1e-5, 1e-6) < 0.2
    assert epsilon_lower_bound(np.ones(10), np.zeros(10), 0.5, 1e-6) == 0.0  # ten trials prove nothing


def test_replay_catches_a_mechanism_that_asks_less() -> None:
    def peeking(asked: Face, budget: Budget) -> None:
        asked.noisy(asked.second_moment(), budget.share("0.25"), noise="gaussian")
        if sums_behind(asked).read(asked.second_moment())[0] > 2**32:
            asked.noisy(asked.second_moment(), budget.share("0.25"), noise="gaussian")

    first, second = PAIRS["e1 by e2"]
    with pytest.raises(PrivacyViolationError, match="fewer"):
        replay(by_hand(peeking), ArraySource(first), ArraySource(second), grid=Grid(1.0), budget=RHO)


@pytest.mark.parametrize("leak", ["an exact sum", "the number of rows"])
def test_replay_catches_a_mechanism_that_writes_an_exact_number_into_its_file(leak: str) -> None:
    """It asks the same and gets the same answers; only the file differs."""

    def leaking(asked: Face, budget: Budget) -> dict[str, int]:
        half, sums = budget.share("0.5"), sums_behind(asked)
        asked.ask_n(half)
        asked.noisy(asked.second_moment(), half, noise="gaussian")
        exact = sums.read(asked.second_moment())[0] if leak == "an exact sum" else sums.n
        return {"rank": int(exact)}

    sources = ArraySource(PAIRS["e1 by e2"][0]), ArraySource(OTHERS)
    with pytest.raises(PrivacyViolationError, match="file"):
        replay(by_hand(leaking), *sources, grid=Grid(1.0), budget=RHO, neighbors="add-remove")
