"""Audits of components: exactly by replay, for every mechanism; the sampler from outside, with a doubled one as the control.

Replay prices a subspace by the range of its log-density, c·(λ_max − λ_min) of the two matrices' difference, and rejects no
correct code. The black box accuses correct code with probability below 1e-6; it must find a concentration of ε in place of ε/2.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcov.kernel import curator as curator_module
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.calibrate import bingham_concentration
from dpcov.kernel.face import Face
from dpcov.kernel.noise.drawn import MatrixBingham, Uniform
from dpcov.kernel.noise.sampler import Decomposition, RandomSampler
from dpcov.kernel.noise.sphere import decomposed, float_below
from dpcov.kernel.questions.along import Explained
from dpcov.kernel.questions.basis import GivenBasis
from dpcov.kernel.questions.directions import Subspace
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.base import Named
from dpcov.mechanisms.running import released
from dpcov.mechanisms.shared.components import EXPLAINED
from dpcov.sources.array import ArraySource
from dpcov.verify.audit import epsilon_lower_bound
from dpcov.verify.replay import PrivacyViolationError, Step, replay
from dpcov.verify.testing import opened
from tests.audit.test_directions import one_thread, pairs  # noqa: F401 - a fixture for all tests here
from tests.helpers.by_hand import by_hand
from tests.helpers.peeking import sums_behind
from tests.kernel.distribution.test_subspace import redrawn

Floats = NDArray[np.float64]
NEIGHBORS = ["replace", "add-remove"]
PURE, RHO, APPROX = PureDP(2), ZCDP("0.5"), ApproxDP(2, "1e-6")
CHAIN: dict[str, Any] = {"approximate": True, "sweeps": 3}
RUNS: dict[str, tuple[str, dict[str, Any], list[Budget]]] = {
    "ppca, one": ("ppca", {"k": 1}, [PURE, RHO, APPROX]),
    "ppca, two": ("ppca", {"k": 2, **CHAIN}, [PURE, RHO, APPROX]),
    "ppca, three": ("ppca", {"k": 3, **CHAIN}, [PURE, RHO]),
    "eigenvectors, one": ("eigenvectors", {"k": 1}, [PURE, RHO, APPROX]),
    "eigenvectors, three": ("eigenvectors", {"k": 3}, [PURE, RHO]),
    "random, two": ("random", {"k": 2}, [PURE, RHO, APPROX]),
    "wishart": ("wishart", {"k": 2}, [PURE, APPROX]),
    "wishart, clipped": ("wishart", {"k": 2, "clip": "private"}, [PURE]),
    "gaussian": ("gaussian", {"k": 2}, [RHO, APPROX]),
    "gaussian, clipped": ("gaussian", {"k": 1, "clip": "private"}, [RHO]),
    "mod-sulq": ("mod-sulq", {"k": 2}, [APPROX]),
}
CASES = [pytest.param(*run[:2], budget, id=f"{name}-{budget.notion}") for name, run in RUNS.items() for budget in run[2]]


def tables(d: int, copies: int, pair: str, neighbors: str) -> tuple[Floats, Floats]:
    """Return copies of e1 and e2, and one row more, which is replaced or dropped."""
    row, other = pairs(d)[pair]
    others = np.tile(np.eye(d)[:2], (copies, 1))
    return np.vstack([others, [row]]), np.vstack([others, [other]]) if neighbors == "replace" else others


def steps(mechanism: Named, budget: Budget, first: Floats, second: Floats, neighbors: str, **options: Any) -> list[Step]:
    sources = ArraySource(first), ArraySource(second)
    return replay(mechanism, *sources, grid=Grid(1.0), budget=budget, neighbors=neighbors, **options)


def share(step: Step) -> float:
    return float(step.cost) / float(step.allowed)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(("name", "options", "budget"), CASES)
def test_no_pair_costs_more_than_was_charged(name: str, options: dict[str, Any], budget: Budget, neighbors: str) -> None:
    """In both directions, each question by itself; and the charges together are the budget, or less."""
    for number, pair in enumerate(pairs(4)):
        first, second = tables(4, 3 + number % 3, pair, neighbors)
        for one, other in ((first, second), (second, first)):
            found = steps(MECHANISMS["pca"][name], budget, one, other, neighbors, **options)
            assert max(share(step) for step in found) <= 1 + 1e-9
            charged = [step.charged for step in found]
            if isinstance(budget, ApproxDP) and not all(isinstance(charge, PureDP) for charge in charged):
                zcdp = [charge.rho for charge in charged if isinstance(charge, ZCDP)]
                assert charged == [budget] or sum(zcdp) == budget.to_zcdp().rho
            else:
                whole = budget.rho if isinstance(budget, ZCDP) else budget.epsilon
                assert sum(Fraction(step.allowed) for step in found) == whole


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("budget", [PURE, RHO], ids=lambda budget: budget.notion)
@pytest.mark.parametrize("run", ["ppca, one", "ppca, two", "ppca, three", "eigenvectors, one"])
def test_the_worst_pair_uses_the_draws_budget(run: str, budget: Budget, neighbors: str) -> None:
    """To 1e-9: a lower concentration than allowed would show here, as would a higher one; whatever k is."""
    name, options, _ = RUNS[run]
    pair = "e1 by e2" if neighbors == "replace" else "e1 by 0"
    for d in (options["k"] + 1, 6):
        found = steps(MECHANISMS["pca"][name], budget, *tables(max(d, 2), 4, pair, neighbors), neighbors, **options)
        [draw] = [step for step in found if step.asked in ("subspace", "directions")]
        assert share(draw) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_what_is_explained_uses_its_budget(neighbors: str) -> None:
    """A row along the component by one beside it, or dropped: the two numbers move by 2, or 1, and the steps are few."""

    def along(curator: Face, budget: PureDP) -> None:
        if curator.neighbors == "add-remove":
            curator.ask_n(budget.share(Fraction(1, 2)))
        explained = Explained.of(curator.second_moment(), GivenBasis(np.eye(3)[:, :1]))
        curator.noisy(explained, budget.share(Fraction(1, 2)), noise="laplace")

    pair = "e1 by e2" if neighbors == "replace" else "e1 by 0"
    found = steps(by_hand(along), PURE, *tables(3, 3, pair, neighbors), neighbors)
    [explained] = [step for step in found if step.asked == "explained"]
    assert 0.999 <= share(explained) <= 1


def test_random_costs_nothing() -> None:
    found = steps(MECHANISMS["pca"]["random"], PURE, *tables(4, 3, "e1 by e2", "replace"), "replace", k=2)
    [draw] = [step for step in found if step.asked == "subspace"]
    assert draw.cost == 0


def double_concentration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(curator_module, "bingham_concentration", lambda *arguments: 2 * bingham_concentration(*arguments))


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_a_doubled_concentration_is_found_by_replay(neighbors: str, monkeypatch: pytest.MonkeyPatch) -> None:
    double_concentration(monkeypatch)
    pair = "e1 by e2" if neighbors == "replace" else "e1 by 0"
    found = steps(MECHANISMS["pca"]["ppca"], PURE, *tables(3, 4, pair, neighbors), neighbors, k=2, **CHAIN)
    [draw] = [step for step in found if step.asked == "subspace"]
    assert share(draw) == pytest.approx(2, rel=1e-9)


def peek(curator: Face, budget: PureDP, *, what: str) -> None:
    """Draw more, or elsewhere, or more concentrated, where the exact matrix is large; or not at all."""
    moment = curator.second_moment()
    exact = sums_behind(curator).read(moment)
    large = int(exact[0]) > 4 * 2**32  # the sum of squares of the first column
    half = budget.share(Fraction(1, 2))
    if what != "whether" or large:
        at_most = Fraction(1, 100) if what == "concentration" and large else None
        curator.subspace(Subspace(moment, 3 if what == "k" and large else 2), half, sweeps=2, at_most=at_most)
    columns = np.eye(4)[:, [1, 2]] if what == "columns" and large else np.eye(4)[:, [0, 1]]
    curator.noisy(Explained.of(moment, GivenBasis(columns)), half, noise="laplace")


@pytest.mark.parametrize("what", ["k", "concentration", "columns", "whether"])
def test_a_mechanism_that_peeks_is_caught(what: str) -> None:
    """In either order: with more, fewer or other questions on the neighbour."""
    first, second = tables(4, 4, "e1 by 0", "replace")
    for one, other in ((first, second), (second, first)):
        with pytest.raises(PrivacyViolationError, match="the same answers must lead to the same questions"):
            steps(by_hand(peek), PURE, one, other, "replace", what=what)


class Captured(Exception):  # noqa: N818 - it ends a run at its draw
    """What a subspace would have been drawn from."""

    def __init__(self, matrix: Floats, concentration: float) -> None:
        super().__init__()
        self.matrix, self.concentration = matrix, concentration


class CapturingSampler(RandomSampler):
    def subspace(self, matrix: Floats, basis: Decomposition, k: int, law: MatrixBingham | Uniform) -> Floats:  # noqa: ARG002
        assert isinstance(law, MatrixBingham)
        raise Captured(matrix, float_below(law.concentration))


def captured(rows: Floats, epsilon: int) -> Captured:
    """Run `ppca` up to its draw; draws have all but a part of the budget, so that they get ε in all."""
    budget = PureDP(Fraction(epsilon) / (1 - EXPLAINED))
    curator = opened(ArraySource(rows), Grid(1.0), budget, sampler=CapturingSampler(SeededBits(0)))
    with pytest.raises(Captured) as caught:
        released(MECHANISMS["pca"]["ppca"], curator, budget, k=2, approximate=True)
    return caught.value


def neighbours(copies: int) -> tuple[Floats, Floats]:
    """Return copies of e1 in three columns, the last of them replaced by e2."""
    rows = np.tile(np.eye(3)[0], (copies, 1))
    other = rows.copy()
    other[-1] = np.eye(3)[1]
    return rows, other


def column_scores(rows: Floats, epsilon: int, seed: int) -> Floats:
    """Redraw a column many times, the other being e3, and return u₁² − u₂²: the ratio of densities grows with it."""
    found = captured(rows, epsilon)
    spectrum, vectors = decomposed(found.matrix)
    u, _ = redrawn(spectrum, found.concentration, vectors.T @ np.eye(3)[:, 2:], 200_000, seed)
    u = u @ vectors.T
    assert np.abs(u[:, 2]).max() < 1e-9
    return np.asarray(u[:, 0] ** 2 - u[:, 1] ** 2)


@pytest.mark.parametrize(("copies", "epsilon"), [(4, 2), (6, 1)])
def test_black_box_of_a_column(copies: int, epsilon: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Size 1e-6. Power: the exponent ε in place of ε/2 proves more than ε, by 10 % or more here; the right one half of it."""

    def proved() -> float:
        one, other = (column_scores(rows, epsilon, 5600 + place) for place, rows in enumerate(neighbours(copies)))
        return epsilon_lower_bound(one, other, 0.0, 1e-6)

    assert proved() <= epsilon
    double_concentration(monkeypatch)
    assert proved() > 1.05 * epsilon
