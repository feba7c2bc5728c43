"""What lies along components, and beside them, moves no further than its sensitivities; draws keep the curator's order."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dpcov.errors import BudgetError, EngineError, ParameterError
from dpcov.kernel.budget import ZCDP, Budget, PureDP
from dpcov.kernel.public import Public
from dpcov.kernel.questions.along import Diagonal, Explained
from dpcov.kernel.questions.basis import GivenBasis
from dpcov.kernel.questions.directions import DIRECTION_BITS, Subspace, directions_of
from dpcov.kernel.questions.moments import NEIGHBORS, SecondMoment
from dpcov.kernel.questions.spectral import to_floats
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.grid import Grid
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import NoSource
from tests.helpers.rows import neighbours, tables
from tests.helpers.watched import Watched, watched

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
GRID = Grid(1.0)


def moment(d: int) -> SecondMoment:
    return SecondMoment(GRID, d)


def total(rows: Floats) -> Integers:
    statistic = moment(rows.shape[1])
    return statistic.entries(statistic.of(rows))


def basis(d: int, k: int, seed: int) -> Floats:
    return np.ascontiguousarray(np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0][:, :k])


def explained(d: int, k: int, seed: int) -> Explained:
    return Explained.of(moment(d), GivenBasis(basis(d, k, seed)))


def totals(rows: Floats, other: Floats, neighbors: str) -> tuple[Integers, Integers]:
    """Return the sums of a table and of its neighbour."""
    first, second = neighbours(rows, other, neighbors)
    return total(first), total(second)


def assert_within(measure: Explained, first: Integers, second: Integers, neighbors: str) -> None:
    pairs = zip(measure.of_moment(first), measure.of_moment(second), strict=True)
    gaps = [int(a) - int(b) for a, b in pairs]
    assert sum(gap**2 for gap in gaps) <= measure.sensitivity_squared(neighbors)
    assert sum(abs(gap) for gap in gaps) <= measure.sensitivity_l1(neighbors)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize(("d", "k"), [(2, 1), (5, 2), (5, 4)])
class TestExplained:
    @settings(max_examples=60)
    @given(data=st.data())
    def test_rows_of_every_kind(self, d: int, k: int, neighbors: str, data: st.DataObject) -> None:
        """NaN, infinity, 1e308: any neighbours, any orthonormal columns; and the numbers add up to the trace."""
        first, second = totals(data.draw(tables(d, 1)), data.draw(tables(d, 1, 1)), neighbors)
        measure = explained(d, k, data.draw(st.integers(0, 2**32 - 1)))
        assert_within(measure, first, second, neighbors)
        for sums in (first, second):
            found = float(np.ldexp(measure.of_moment(sums).sum(), -16))
            assert found == pytest.approx(float(np.trace(to_floats(sums, moment(d)))), abs=(k + 1) * 2.0**-17 + 1e-9)

    def test_extremal_rows(self, d: int, k: int, neighbors: str) -> None:
        """A row along the components by one beside them, and the same on top of 2²⁰ other rows."""
        for seed in range(5000, 5040):
            measure = explained(d, k, seed)
            columns = measure.basis.columns
            beside = np.linalg.qr(columns, mode="complete")[0][:, -1]
            first, second = totals(np.vstack([columns.T, columns[:, 0]]), beside, neighbors)
            assert_within(measure, first, second, neighbors)
            assert_within(measure, 2**20 * first, 2**20 * first + (second - first), neighbors)

    def test_they_are_tight(self, d: int, k: int, neighbors: str) -> None:
        """To two steps for each number: half of it, or 5 % less, would be passed by e1 replaced by e_d, or dropped."""
        one, moves = 2**16, {"replace": 2, "add-remove": 1}[neighbors]
        measure = Explained(moment(d), k + 1, GivenBasis(np.eye(d)[:, :k].copy()), rows=1000)
        assert measure.sensitivity_l1(neighbors) == moves * one + 2 * (k + 1)
        norm = math.sqrt(measure.sensitivity_squared(neighbors))
        assert norm == pytest.approx(math.sqrt(moves) * one + 2 * math.sqrt(k + 1), abs=1e-3)
        assert norm >= math.sqrt(moves) * one + 2 * math.sqrt(k + 1)
        first, second = totals(np.eye(d)[[0]], np.eye(d)[[-1]], neighbors)
        gaps = np.abs(measure.of_moment(first) - measure.of_moment(second))
        assert int(gaps.sum()) == moves * one
        assert gaps.tolist() == [one, *[0] * (k - 1), one if neighbors == "replace" else 0]

    def test_numbers(self, d: int, k: int, neighbors: str) -> None:
        """Along each column, then all that is left."""
        rows = np.random.default_rng((d, k)).uniform(-0.5, 0.5, size=(40, d)) * np.arange(1, d + 1) / d
        sums = total(rows if neighbors == "replace" else rows[:-1])
        measure, exact = explained(d, k, 5050), to_floats(sums, moment(d))
        along = [column @ exact @ column for column in measure.basis.columns.T]
        expected = [*along, float(np.trace(exact)) - sum(along)]
        assert np.allclose(np.ldexp(measure.of_moment(sums).astype(float), -16), expected, rtol=0, atol=2.0**-17 + 1e-9)


class TestQuestion:
    def test_it_is_itself_and_no_diagonal(self) -> None:
        """A curator replays by equality: other columns are another question, and so is a diagonal."""
        first, second = explained(3, 2, 1), explained(3, 2, 2)
        assert first == explained(3, 2, 1)
        assert hash(first) == hash(explained(3, 2, 1))
        assert first != second
        columns = GivenBasis(basis(3, 2, 1))
        assert first == Explained.of(moment(3), columns)
        diagonal: Any = Diagonal.of(moment(3), columns)
        assert first != diagonal
        assert diagonal != first
        assert (first.name, len(first.parts), first.parts[0].size) == ("explained", 1, 3)

    @pytest.mark.parametrize(
        "bad",
        [
            np.eye(3),
            np.eye(3)[:, :1],
            np.eye(3)[:, [0, 0]],
            2 * np.eye(3)[:, :2],
            np.full((3, 2), np.nan),
            np.eye(3)[:, :2].tolist(),
        ],
        ids=["as many as numbers", "too few", "one twice", "longer", "nan", "list"],
    )
    def test_other_columns_are_refused(self, bad: Any) -> None:
        """Three numbers are of two columns: others are no basis, or do not fit."""
        rows = Public(Encoding(("x0", "x1", "x2"), 1.0), "replace", 10)
        assert Explained(moment(3), 3, GivenBasis(np.eye(3)[:, :2])).fits(rows)
        if type(bad) is np.ndarray and np.array_equal(bad.T @ bad, np.eye(bad.shape[1])):
            assert not Explained(moment(3), 3, GivenBasis(bad)).fits(rows)
            return
        with pytest.raises(ParameterError, match=r"basis must be .* got (something else|one that is not)\. Hint: "):
            GivenBasis(bad)

    def test_as_many_numbers_as_columns_at_most(self) -> None:
        """All columns and the rest would be d + 1 numbers."""
        asked = watching(np.eye(3), PureDP(1))
        with pytest.raises(ParameterError, match="question must be about this curator's rows"):
            asked.curator.noisy(Explained.of(moment(3), GivenBasis(np.eye(3))), PureDP(1), noise="laplace")
        assert asked.untouched
        answer = asked.curator.noisy(Explained.of(moment(3), GivenBasis(np.eye(3)[:, :2])), PureDP(1), noise="laplace")
        assert len(answer.integers) == 3


def watching(rows: Floats, budget: Budget, neighbors: str = "replace") -> Watched:
    return watched(ArraySource(rows), GRID, budget, neighbors)


def subspace(k: int, d: int = 4) -> Subspace:
    return Subspace(moment(d), k)


ROWS = np.random.default_rng((1, 5100)).normal(size=(60, 4)) / 3


class TestSubspace:
    @pytest.mark.parametrize("sweeps", [0, 1, 5])
    @pytest.mark.parametrize("budget", [PureDP(1), ZCDP("0.5")], ids=lambda budget: budget.notion)
    def test_order_charge_and_record(self, budget: Any, sweeps: int) -> None:
        asked = watching(ROWS, budget)
        curator, half = asked.curator, budget.share(Fraction(1, 2))
        answer = curator.subspace(subspace(2), half, sweeps=sweeps)
        assert asked.done == ["read", "charge", "draw", "record"]
        assert curator.answers == (answer,)
        [spend] = answer.spent
        assert (spend.asked, spend.noise, spend.budget) == ("subspace", "matrix bingham" if sweeps else "uniform", half)
        assert answer.question == subspace(2)
        assert answer.question.admits(answer.integers)
        rows = directions_of(answer)
        assert rows.tolist() == (answer.integers.reshape(2, 4) * 2.0**-DIRECTION_BITS).tolist()
        assert np.abs(rows @ rows.T - np.eye(2)).max() < 4 * 2.0**-DIRECTION_BITS
        curator.subspace(subspace(3 if sweeps == 0 else 2), half, sweeps=sweeps)
        with pytest.raises(BudgetError, match="charges must fit into the budget"):
            curator.subspace(subspace(2), half, sweeps=sweeps)

    def test_overspending_is_refused_before_reading(self) -> None:
        asked = watched(NoSource(10, 4), GRID, PureDP(1))
        with pytest.raises(BudgetError, match="charges must fit into the budget"):
            asked.curator.subspace(subspace(2), PureDP(2), sweeps=3)
        assert asked.untouched

    def test_a_reading_that_fails_costs_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = watching(ROWS, PureDP(1))
        monkeypatch.setattr(ArraySource, "total", lambda *_: (_ for _ in ()).throw(EngineError("no")))
        with pytest.raises(EngineError):
            asked.curator.subspace(subspace(2), PureDP(1), sweeps=3)
        assert (asked.done, asked.account.charged, asked.curator.answers) == (["read"], [], ())

    def test_sums_that_may_have_wrapped(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Under add-remove the number of rows is not checked before; a wrapped moment has no sensitivity."""
        monkeypatch.setattr(ArraySource, "n", property(lambda _: 2**30 + 1))
        asked = watching(ROWS, PureDP(1), "add-remove")
        with pytest.raises(ParameterError, match="at most"):
            asked.curator.subspace(subspace(2), PureDP(1), sweeps=3)
        assert (asked.done, asked.account.charged) == (["read"], [])

    def test_a_decomposition_that_fails_says_nothing_of_the_matrix(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fails(_: object) -> None:
            raise np.linalg.LinAlgError("424242")

        monkeypatch.setattr(np.linalg, "eigh", fails)
        asked = watching(ROWS, PureDP(1))
        with pytest.raises(EngineError, match="must converge") as caught:
            asked.curator.subspace(subspace(2), PureDP(1), sweeps=3)
        assert caught.value.__context__ is None
        assert asked.account.charged == []

    def test_columns_are_in_the_coordinates_of_the_rows(self) -> None:
        """The chain runs in the eigenbasis: a subspace led back by the transposed eigenvectors would lie elsewhere.

        c·Δ is beyond 1e4 for the third direction, so the subspace is off by less than 0.05, but once in e^20 or so.
        """
        turned = np.linalg.qr(np.random.default_rng(5101).normal(size=(4, 4)))[0]
        rows = np.vstack([0.9 * turned[:, :1].T] * 400 + [0.8 * turned[:, 1:2].T] * 400 + [0.1 * turned[:, 2:3].T] * 50)
        for budget in (PureDP(1000), ZCDP(100_000)):
            found = directions_of(watching(rows, budget).curator.subspace(subspace(2), budget, sweeps=40))
            assert np.linalg.norm(found @ turned[:, :2]) ** 2 > 2 - 0.01

    def test_without_sweeps_the_rows_do_not_matter(self) -> None:
        curators = [watching(rows, PureDP(1)).curator for rows in (ROWS, 0 * ROWS)]
        first, second = (curator.subspace(subspace(2), PureDP(1), sweeps=0).integers for curator in curators)
        assert np.array_equal(first, second)
