"""Audits of drawn directions: exactly by replay, and from outside, with a doubled exponent as the control.

Replay prices a draw by the range of its log-density, c·(λ_max − λ_min) of the two matrices' difference, and rejects no correct
code. The black box accuses correct code with probability below 1e-6; it must find the exponent ε in place of ε/2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpcov
from dpcov.kernel import peel as peeling
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.calibrate import bingham_concentration
from dpcov.kernel.face import Face
from dpcov.kernel.noise.sampler import RandomSampler
from dpcov.kernel.questions.directions import Directions, directions_of
from dpcov.kernel.questions.spectral import Values, to_floats
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.running import released
from dpcov.sources.array import ArraySource
from dpcov.verify.audit import epsilon_lower_bound
from dpcov.verify.replay import PrivacyViolationError
from dpcov.verify.testing import opened
from tests.helpers.by_hand import by_hand
from tests.helpers.peeking import sums_behind
from tests.helpers.replayed import share, steps
from tests.kernel.distribution.test_sphere import accepted

Floats = NDArray[np.float64]
NEIGHBORS = ["replace", "add-remove"]
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "basis": ("eigenvectors", {}),
    "uniform": ("eigenvectors", {"allocation": "uniform"}),
    "spectrum": ("eigenvectors", {"values": "spectrum"}),
    "uniform spectrum": ("eigenvectors", {"allocation": "uniform", "values": "spectrum"}),
    "rank one": ("eigenvectors", {"rank": 1}),
    "rank two": ("eigenvectors", {"rank": 2, "values": "spectrum"}),
    "paper": ("eigenvectors", {"constants": "paper"}),
    "fixed": ("eigenvectors", {"timing": "fixed", "beta": 0.5}),
    "deflation": ("kapralov-talwar", {}),
    "deflation once": ("kapralov-talwar", {"rank": 1}),
    "deflation, paper": ("kapralov-talwar", {"constants": "paper"}),
}
BUDGETS: list[Budget] = [PureDP(2), ZCDP("0.5"), ApproxDP(2, "1e-6")]
CASES = [
    pytest.param(*RUNS[run], budget, id=f"{run}-{budget.notion}")
    for run in RUNS
    for budget in BUDGETS
    if RUNS[run][0] == "eigenvectors" or not isinstance(budget, ZCDP)
]


def unit(d: int, axis: int) -> list[float]:
    return [float(entry) for entry in np.eye(d)[axis]]


def pairs(d: int) -> dict[str, tuple[list[float], list[float]]]:
    return {
        "e1 by e2": (unit(d, 0), unit(d, 1)),
        "e1 by 0": (unit(d, 0), [0.0] * d),
        "rotated": ([0.6, 0.8, *[0.0] * (d - 2)], [-0.8, 0.6, *[0.0] * (d - 2)]),
        "NaN by e2": ([math.nan] * d, unit(d, 1)),
        "infinity by e1": ([math.inf, -1e308, *[0.0] * (d - 2)], unit(d, 0)),
        "huge by huge": ([1e308] * d, [1e308, *[-1e308] * (d - 1)]),
    }


def tables(d: int, copies: int, pair: str, neighbors: str) -> tuple[Floats, Floats]:
    """Return copies of e1 and one row more, which is replaced or dropped."""
    row, other = pairs(d)[pair]
    others = np.tile(np.eye(d)[0], (copies, 1))
    return np.vstack([others, [row]]), np.vstack([others, [other]]) if neighbors == "replace" else others


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(("name", "options", "budget"), CASES)
class TestReplay:
    @pytest.mark.parametrize("d", [2, 4])
    def test_no_pair_costs_more_than_was_charged(
        self, name: str, options: dict[str, Any], budget: Budget, neighbors: str, d: int
    ) -> None:
        """In both directions, each question by itself, and the charges together are the budget."""
        for number, pair in enumerate(pairs(d)):
            first, second = tables(d, 4 + number % 5, pair, neighbors)
            for one, other in ((first, second), (second, first)):
                found = steps(MECHANISMS["covariance"][name], budget, one, other, neighbors, **options)
                assert len(found) == (2 if neighbors == "replace" else 3)
                assert max(share(step) for step in found) <= 1 + 1e-9
                whole = budget.rho if isinstance(budget, ZCDP) else budget.epsilon
                assert sum(Fraction(step.allowed) for step in found) == whole


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("run", ["deflation", "deflation once", "rank one"])
def test_the_worst_pair_uses_the_directions_budget(run: str, neighbors: str) -> None:
    """Lower exponents than allowed would show here: 90 % at least, whatever was drawn."""
    name, options = RUNS[run]
    pair = "e1 by e2" if neighbors == "replace" else "e1 by 0"
    budgets: list[Budget] = [PureDP(2)] if name == "kapralov-talwar" else [PureDP(2), ZCDP("0.5")]
    for budget in budgets:
        for d in (2, 4):
            found = steps(MECHANISMS["covariance"][name], budget, *tables(d, 4, pair, neighbors), neighbors, **options)
            [directions] = [step for step in found if step.asked == "directions"]
            assert 0.9 <= share(directions) <= 1 + 1e-9


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_values_use_their_budget(neighbors: str) -> None:
    """Two columns, e1 by e2 (or dropped): along the axes the values move by 2 (1) in all; turned ones move by less."""
    pair = "e1 by e2" if neighbors == "replace" else "e1 by 0"
    found = steps(MECHANISMS["covariance"]["eigenvectors"], PureDP(2000), *tables(2, 4, pair, neighbors), neighbors)
    [values] = [step for step in found if step.asked == "diagonal"]
    assert 0.95 <= share(values) <= 1 + 1e-9


@pytest.mark.parametrize("run", ["rank one", "deflation"])
def test_a_doubled_exponent_is_found_by_replay(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, options = RUNS[run]
    double_exponent(monkeypatch)
    found = steps(MECHANISMS["covariance"][name], PureDP(2), *tables(2, 4, "e1 by e2", "replace"), "replace", **options)
    [directions] = [step for step in found if step.asked == "directions"]
    assert share(directions) == pytest.approx(2, rel=1e-3)


def double_exponent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peeling, "bingham_concentration", lambda *arguments: 2 * bingham_concentration(*arguments))


def directions(curator: Face, count: int, *, valued: bool) -> Directions:
    moment = curator.second_moment()
    return Directions(moment, count, Values(moment, count) if valued else None)


def is_large(curator: Face) -> bool:
    exact = to_floats(sums_behind(curator).read(curator.second_moment()), curator.second_moment())
    return float(np.trace(exact)) > 4.5


def peek_shares(curator: Face, budget: PureDP) -> None:
    """Share out the budget by the exact matrix."""
    peel = curator.peel(directions(curator, 1, valued=False), budget, noise="laplace")
    peel.direction(Fraction(1, 2) if is_large(curator) else Fraction(1))
    peel.skip()
    peel.close()


def peek_number(curator: Face, budget: PureDP) -> None:
    """Draw as many directions as the exact matrix has large entries; what they cost together is the same."""
    count = 1 if is_large(curator) else 2
    peel = curator.peel(directions(curator, count, valued=False), budget, noise="laplace")
    for _ in range(count):
        peel.direction(Fraction(1, 4))
        peel.skip()
    peel.close()


def peek_values(curator: Face, budget: PureDP) -> None:
    """Ask for the value of the one direction only where it is worth it."""
    half, valued = budget.share(Fraction(1, 2)), not is_large(curator)
    peel = curator.peel(directions(curator, 1, valued=valued), half, half if valued else None, noise="laplace")
    peel.direction(Fraction(1, 4))
    _ = peel.value() if valued else peel.skip()
    peel.close()


@pytest.mark.parametrize("mechanism", [peek_shares, peek_number, peek_values])
def test_a_mechanism_that_peeks_is_caught(mechanism: Callable[[Face, PureDP], None]) -> None:
    """In either order: with more, fewer or other questions on the neighbour."""
    first, second = tables(3, 4, "e1 by 0", "replace")
    for one, other in ((first, second), (second, first)):
        with pytest.raises(PrivacyViolationError, match="the same answers must lead to the same questions"):
            steps(by_hand(mechanism), PureDP(2), one, other, "replace")


class Captured(Exception):  # noqa: N818 - it ends a run at its first draw
    """What the first direction of a run would have been drawn from."""

    def __init__(self, matrix: Floats, concentration: float) -> None:
        super().__init__()
        self.matrix, self.concentration = matrix, concentration


class CapturingSampler(RandomSampler):
    def direction(self, matrix: Floats, concentration: float, guess: Floats, fixed: bool) -> Floats:  # noqa: ARG002
        raise Captured(matrix, concentration)


def scores(rows: Floats, epsilon: int | str, seed: int) -> Floats:
    """Draw the first direction of rank=1 many times, with the kernel's own proposals, and return u₁² − u₂² of each.

    All of a run but the draw is the same each time, so it is run once; what is accepted of one batch is independent. The
    directions have 2/3 of the budget: they get ε in all.
    """
    budget = PureDP(Fraction(epsilon) * Fraction(3, 2))
    curator = opened(ArraySource(rows), Grid(1.0), budget, sampler=CapturingSampler(SeededBits(seed)))
    with pytest.raises(Captured) as caught:
        released(MECHANISMS["covariance"]["eigenvectors"], curator, budget, rank=1)
    u = accepted(caught.value.matrix, caught.value.concentration, 400_000, seed)
    return np.asarray(u[:, 0] ** 2 - u[:, 1] ** 2)


def proved(d: int, copies: int, epsilon: int | str) -> float:
    """Bound ε from below for ``copies`` rows e1, one of them replaced by e2: their densities' ratio is ∝ exp(c(u₁² − u₂²))."""
    rows = np.tile(np.eye(d)[0], (copies, 1))
    other = rows.copy()
    other[-1] = np.eye(d)[1]
    return epsilon_lower_bound(scores(rows, epsilon, 1101), scores(other, epsilon, 1102), 0.0, 1e-6)


@pytest.mark.audit
@pytest.mark.parametrize(
    ("d", "copies", "epsilon"), [(2, 4, 2), (2, 6, 1), (2, 8, "0.5"), (4, 4, 2), (4, 2, 4)], ids=lambda case: str(case)
)
def test_black_box(d: int, copies: int, epsilon: int | str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Size 1e-6. Power: the exponent ε in place of ε/2 proves more than ε, by 10 % or more here; the right one half of it."""
    assert proved(d, copies, epsilon) <= float(epsilon)
    double_exponent(monkeypatch)
    assert proved(d, copies, epsilon) > 1.05 * float(epsilon)


@pytest.mark.audit
def test_black_box_of_whole_releases() -> None:
    """Size 1e-6. Nothing captured: 1000 releases of each neighbour, scored by the direction in the record."""
    rows = np.tile(np.eye(2)[0], (4, 1))
    other = rows.copy()
    other[-1] = np.eye(2)[1]
    found = []
    for start, data in ((0, rows), (1, other)):
        releases = [
            dpcov.covariance(data, PureDP(3), row_norm=1, mechanism="eigenvectors", rank=1, seed=seed)
            for seed in range(start, 2000, 2)
        ]
        drawn = [directions_of(release.take(Directions))[0] for release in releases]
        found.append(np.array([u[0] ** 2 - u[1] ** 2 for u in drawn]))
    assert epsilon_lower_bound(found[0], found[1], 0.0, 1e-6) <= 3
