"""What float64 may add to numbers derived from a second moment, in steps of 2⁻¹⁶: the formula, and what is computed.

Nothing here is random but the matrices; no correct code is rejected.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpcov
from dpcov.errors import ParameterError
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import ZCDP, PureDP
from dpcov.kernel.noise.laws import DiscreteGaussian, DiscreteLaplace
from dpcov.kernel.questions.along import Diagonal, Explained
from dpcov.kernel.questions.basis import GivenBasis
from dpcov.kernel.questions.calibrated import calibrated
from dpcov.kernel.questions.derived import SPARE_ROWS
from dpcov.kernel.questions.directions import Directions
from dpcov.kernel.questions.moments import MAX_ROWS, SecondMoment
from dpcov.kernel.questions.spectral import NOISE_ROWS, Quotients, Spectrum, Values
from dpcov.kernel.rows.grid import Grid
from dpcov.linalg import pack
from dpcov.mechanisms.covariance.kapralov_talwar import KAPRALOV_TALWAR
from dpcov.mechanisms.running import released
from dpcov.sources.array import ArraySource
from dpcov.verify.replay import replay
from dpcov.verify.testing import NoSource, opened
from tests.helpers.watched import watched

Floats = NDArray[np.float64]
ONE = 2**16
GRID = Grid(1.0)


def moment(d: int) -> SecondMoment:
    return SecondMoment(GRID, d)


def columns(d: int, k: int) -> Floats:
    return np.asarray(np.linalg.qr(np.random.default_rng(d).normal(size=(d, k)))[0])


def directions(d: int, count: int, kind: type[Values] = Values, rows: int = MAX_ROWS) -> Directions:
    return Directions(moment(d), count, kind(moment(d), count, rows=rows))


class TestFormula:
    """1 + ⌈4(d+2)·n·2⁻³⁷⌉: a rounding, and twice the error 2(d+2)·n·2⁻⁵³ of a computed bᵀSb."""

    @pytest.mark.parametrize(
        ("d", "rows", "steps"),
        [(1, 1, 2), (13, 48842, 2), (784, 60_000, 2), (30, MAX_ROWS, 2), (31, MAX_ROWS, 3), (512, MAX_ROWS, 18)],
    )
    def test_each_number(self, d: int, rows: int, steps: int) -> None:
        assert steps == 1 + math.ceil(Fraction(4 * (d + 2) * rows, 2**37))
        for measure in (Values(moment(d), d, rows=rows), Spectrum(moment(d), d, rows=rows)):
            assert measure.sensitivity_l1("add-remove") == ONE + steps * d
            norm = ONE + steps * math.sqrt(d)
            assert norm**2 <= measure.sensitivity_squared("add-remove") <= norm**2 + 2

    def test_an_error_of_both_neighbours_is_in_it(self) -> None:
        """Half of it, the error of one of them, would be a step less."""
        assert Values(moment(126), 1, rows=MAX_ROWS).lost == (1 + 4, 0)

    def test_a_basis_that_is_nearly_orthonormal_is_in_it(self) -> None:
        """It adds d·10⁻¹²·2¹⁶ steps; of the four roundings' worth that d + 2 leaves, three are not needed: 6·n·2⁻³⁷."""
        for d in (2, 100, 2**15):
            assert 6 * SPARE_ROWS * (d + 2) * 2.0**-37 > d * 1e-12 * ONE
        assert Values(moment(2**15), 1, rows=1).lost == (1 + math.ceil(4 * (2**15 + 2) ** 2 * 2**11 / 2**37), 0)

    @pytest.mark.parametrize(("d", "k", "rows"), [(4, 2, 1000), (40, 3, MAX_ROWS), (500, 20, MAX_ROWS)])
    def test_what_is_left_of_the_trace(self, d: int, k: int, rows: int) -> None:
        """It is computed from all the others."""
        measure = Explained(moment(d), k + 1, GivenBasis(columns(d, k)), rows=rows)
        each, last = (1 + math.ceil(Fraction(4 * w * (d + 2) * rows, 2**37)) for w in (1, k + 1))
        assert measure.sensitivity_l1("replace") == 2 * ONE + k * each + last
        norm = math.sqrt(2) * ONE + math.sqrt(k * each**2 + last**2)
        assert measure.sensitivity_squared("replace") >= norm**2

    def test_values_that_are_subtracted(self) -> None:
        """Of the rows and of all noise: d + 2 + 2k operations each."""
        steps = Quotients(moment(40), 40, rows=1000).lost[0]
        assert steps == 1 + math.ceil(Fraction(4 * (42 + 80) * (1000 + NOISE_ROWS), 2**37)) == 3
        assert Quotients(moment(40), 40, rows=1000).sensitivity_l1("replace") == 40 * (ONE + 3)
        # 64 operations on 2³⁰ rows lose just two steps: one operation more would be another step
        assert Quotients(moment(22), 20, rows=2**30 - NOISE_ROWS).lost == (1 + 2, 0)


class TestComputed:
    @pytest.mark.parametrize("d", [3, 60, 150])
    def test_numbers_of_the_largest_tables_are_within_their_bound(self, d: int) -> None:
        """Against exact fractions. Entries below 2⁶² are rounded to floats first, which is counted."""
        draw = np.random.default_rng(d)
        factor = draw.normal(size=(d, d))
        matrix = factor @ factor.T
        entries = np.rint(pack(matrix / np.trace(matrix)) * 2.0**62).astype(np.int64)  # 2³⁰ rows of norm 1
        upper = np.triu_indices(d, 1)
        exact = np.zeros((d, d), dtype=object)
        exact[np.diag_indices(d)] = entries[:d].tolist()
        exact[upper] = exact.T[upper] = entries[d:].tolist()
        k = 3 if d > 3 else 2
        basis = columns(d, k)
        integers = np.array([[int(Fraction(float(x)) * 2**80) for x in row] for row in basis], dtype=object)
        along = [Fraction(int(column @ exact @ column), 2 ** (160 + 32)) for column in integers.T]
        left = Fraction(int(exact.trace()), 2**32) - sum(along)
        explained = Explained.of(moment(d), GivenBasis(basis))
        found = explained.of_moment(entries)
        each, more = explained.lost
        for value, truth, lost in zip(found, [*along, left], [*[each] * k, each + more], strict=True):
            assert abs(int(value) - truth * ONE) <= Fraction(1, 2) + Fraction(lost - 1, 2)
        assert np.array_equal(Diagonal.of(moment(d), GivenBasis(basis)).of_moment(entries), found[:k])


class TestCurator:
    """The public number of rows is what a curator calibrates with, whatever a mechanism says."""

    def test_a_measure_of_another_type_says_nothing_of_rows(self) -> None:
        """It is refused before it is asked anything: its own `among` could lower the noise."""

        class Lower(Spectrum):
            def among(self, rows: int) -> Any:  # noqa: ARG002
                raise AssertionError("asked")

        class LowerValues(Values):
            def among(self, rows: int) -> Any:  # noqa: ARG002
                raise AssertionError("asked")

        asked, half = watched(ArraySource(np.zeros((9, 3))), GRID, PureDP(1)), PureDP("0.5")
        with pytest.raises(ParameterError):
            asked.curator.noisy(Lower(moment(3), 3), PureDP(1), noise="laplace")
        with pytest.raises(ParameterError):
            asked.curator.peel(directions(3, 3, LowerValues), half, half, noise="laplace")
        assert asked.untouched

    def test_rows_that_are_public(self) -> None:
        for neighbors, known in (("replace", 77), ("add-remove", MAX_ROWS)):
            assert opened(NoSource(77, 2), GRID, ZCDP(1), neighbors, SeededBits(0)).public.most_rows == known

    @pytest.mark.parametrize(("neighbors", "steps"), [("replace", 2), ("add-remove", 3)])
    @pytest.mark.parametrize("claimed", [1, MAX_ROWS])
    def test_noise_is_that_of_the_public_number(self, neighbors: str, steps: int, claimed: int) -> None:
        d = 40
        curator = opened(ArraySource(np.zeros((5, d))), GRID, PureDP(2), neighbors, SeededBits(0))
        answer = curator.noisy(Spectrum(moment(d), d, rows=claimed), PureDP(1), noise="laplace")
        known = {"replace": 5, "add-remove": MAX_ROWS}[neighbors]
        assert answer.question == Spectrum(moment(d), d, rows=known)  # as it is recorded
        moved = {"replace": 2, "add-remove": 1}[neighbors] * ONE
        assert answer.law == DiscreteLaplace(Fraction(moved + steps * d))
        peel = curator.peel(directions(d, d, rows=claimed), PureDP("0.5"), PureDP("0.5"), noise="laplace")
        assert peel._question == directions(d, d, rows=known)
        assert peel._value_law == DiscreteLaplace(2 * Fraction(moved + steps * d))

    @pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
    @pytest.mark.parametrize("source", ["array", "csv"])
    def test_files_of_many_columns_come_back(self, neighbors: str, source: str, tmp_path: Path) -> None:
        rows = np.zeros((50, 40))
        data: Any = rows
        if source == "csv":  # its rows are counted while it is read
            data = tmp_path / "rows.csv"
            lines = [",".join(f"x{j}" for j in range(40)), *[",".join(["0.0"] * 40)] * 50]
            data.write_text("\n".join(lines) + "\n", encoding="utf-8")
        given: dict[str, Any] = {"row_norm": 1, "columns": [f"x{j}" for j in range(40)], "neighbors": neighbors, "seed": 1}
        for mechanism in ("separate", "eigenvectors"):
            release = dpcov.covariance(data, ZCDP(1), mechanism=mechanism, **given)
            release.save(tmp_path / "release.json")
            back = dpcov.load(tmp_path / "release.json")
            assert [(a.question, a.laws) for a in back.answers] == [(a.question, a.laws) for a in release.answers]
            values = release.find(Diagonal, Directions)
            assert values is not None
            assert values.question.names[-1].startswith("diagonal")
            assert isinstance(values.laws[-1], DiscreteGaussian)


class TestNoiseThatIsSubtracted:
    """`kapralov-talwar` refuses budgets whose noise would drown the rows in float64."""

    @pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
    @pytest.mark.parametrize("rank", [0, 1])
    def test_small_budgets_are_refused_before_anything_is_read(self, neighbors: str, rank: int) -> None:
        for epsilon in ("1e-8", "1e-9", "3e-11"):
            asked = watched(NoSource(100, 2), GRID, PureDP(epsilon), neighbors)
            with pytest.raises(ParameterError, match=r"float64 to subtract.*Hint: .*project drawn directions out"):
                released(KAPRALOV_TALWAR, asked.curator, PureDP(epsilon), rank=rank)
            assert "read" not in asked.done
            assert asked.account.charged == []

    @pytest.mark.parametrize("k", [1, 2, 40])
    def test_where_the_line_is(self, k: int) -> None:
        """Σ|Zᵢ| of k Laplace numbers is below (k + √(160k) + 80) scales but for 2⁻¹¹⁵; a deviation is √2 of them."""
        deviation = NOISE_ROWS / (k + math.sqrt(160 * k) + 80)
        measure = Quotients(moment(40), k)
        measure.check_noise(DiscreteLaplace(Fraction(math.floor(deviation / math.sqrt(2) * 0.999)) * ONE))
        with pytest.raises(ParameterError):
            measure.check_noise(DiscreteLaplace(Fraction(math.ceil(deviation / math.sqrt(2) * 1.001)) * ONE))

    @pytest.mark.parametrize("noise", ["laplace", "gaussian"])
    def test_a_curator_refuses_it_too(self, noise: str) -> None:
        budget = PureDP("1e-8") if noise == "laplace" else ZCDP("1e-17")
        asked, half = watched(NoSource(100, 2), GRID, budget), budget.share("0.5")
        with pytest.raises(ParameterError, match="float64 to subtract its noise"):
            asked.curator.peel(directions(2, 2, Quotients), half, half, noise=noise)
        assert asked.untouched

    @pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
    def test_the_smallest_budget_that_is_served_keeps_its_promise(self, neighbors: str) -> None:
        """By exact replay, on the worst pair; the values' sensitivity has room, the directions lose 2⁻²² at most."""
        budget = PureDP("2e-6")
        calibrated(Quotients(moment(2), 2), budget.share("0.4"), neighbors, "laplace")
        rows = np.vstack([np.tile([0.6, 0.8], (20, 1)), [[1.0, 0.0]]])
        other = np.vstack([rows[:-1], [[0.0, 1.0]]]) if neighbors == "replace" else rows[:-1]
        for _ in range(30):
            for step in replay(
                KAPRALOV_TALWAR, ArraySource(rows), ArraySource(other), grid=GRID, budget=budget, neighbors=neighbors
            ):
                room = 2.0**-22 if step.asked == "directions" else 0
                assert step.cost <= step.allowed * Fraction(1 + room)
