"""Laws of what clipping takes away: bounded in integers, made in one go with what it leaves, and together the whole."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.kernel.questions.clipped_pair import ClippedPair
from dpcov.kernel.questions.filing import Writing
from dpcov.kernel.questions.measure import Integers
from dpcov.kernel.questions.moments import NEIGHBORS, SecondMoment
from dpcov.kernel.questions.spectral import Values
from dpcov.kernel.rows import grid as grid_module
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.grid import Grid
from dpcov.linalg import unpack
from dpcov.sources.array import ArraySource
from tests.helpers.rows import Floats, fuzz, squared_norms, tables

R = 2**16
RADII = [(0.5, 1.0), (0.3, 0.7), (2.0**-10, 1.0), (0.999, 1.0), (1e-150, 1e-149), (1e149, 1e150)]
EXAMPLES = settings(max_examples=40)

each_radii = pytest.mark.parametrize(("inner", "outer"), RADII)


def annulus(inner: float, outer: float) -> Annulus:
    return Annulus(Grid(inner), Grid(outer))


def moment(ring: Annulus, rows: Floats) -> Integers:
    """The exact second moment of what clipping takes, as a matrix."""
    statistic = SecondMoment(ring, rows.shape[1])
    return unpack(ArraySource(rows).total(statistic), rows.shape[1])


def around(seed: int, n: int, d: int, inner: float, outer: float) -> Floats:
    """Rows of all lengths from far inside to a hundred radii outside, many of them within a few steps of the radii."""
    generator = np.random.default_rng(seed)
    rows = generator.standard_normal((n, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    sizes = np.exp(generator.uniform(np.log(inner / 10), np.log(outer * 100), n))
    sizes[::3] = inner * (1 + generator.uniform(-4, 4, len(sizes[::3])) / R)
    sizes[1::3] = outer * (1 + generator.uniform(-4, 4, len(sizes[1::3])) / R)
    return np.asarray(rows * sizes[:, None])


class TestBounds:
    @each_radii
    @pytest.mark.parametrize("d", [1, 2, 13])
    def test_rows_stay_inside(self, d: int, inner: float, outer: float) -> None:
        ring = annulus(inner, outer)
        for rows in (fuzz(701, 500, d), around(702, 500, d, inner, outer)):
            clipped, taken = ring.encode_both(rows)
            assert np.array_equal(taken, np.rint(taken))
            assert max(squared_norms(taken), default=0) <= ring.reach
            assert max(squared_norms(clipped)) <= R**2

    @pytest.mark.parametrize("d", [1, 2, 5])
    @given(data=st.data())
    @EXAMPLES
    def test_any_floats_stay_inside(self, d: int, data: st.DataObject) -> None:
        ring = annulus(*data.draw(st.sampled_from(RADII)))
        assert max(squared_norms(ring.encode(data.draw(tables(d)))), default=0) <= ring.reach

    @each_radii
    def test_the_reach_is_the_difference_of_squares(self, inner: float, outer: float) -> None:
        ring = annulus(inner, outer)
        exact = R**2 * (Fraction(inner) / Fraction(outer)) ** 2
        assert exact - 1 < ring.removed <= exact
        assert ring.reach == R**2 - ring.removed

    def test_a_row_that_still_breaks_the_bound_is_dropped(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("dpcov.kernel.rows.annulus.SHRINK", 1.01)
        assert annulus(0.5, 1.0).encode(np.array([[3.0, 4.0]])).tolist() == [[0.0, 0.0]]


class TestWhole:
    """Clipped at τ, and what that took: together the second moment of rows clipped at u."""

    @each_radii
    @pytest.mark.parametrize("d", [1, 2, 13])
    def test_the_two_make_the_whole(self, d: int, inner: float, outer: float) -> None:
        """Row by row, to 10√d·u²/R: rounding and truncation move the three rows by √d·τ, √d·u and 2√d·u steps of 1/R.

        So aaᵀ, of length τ² at most, moves by 2√d·τ²/R, wwᵀ by 2√d·u²/R, and the row clipped at u by 4√d·u²/R, each row's
        direction by √d/2 steps of τ: 9√d·u²/R and second order. Huge rows, rows along an axis and missing cells are among them.
        """
        ring, rows = annulus(inner, outer), around(703, 300, d, inner, outer)
        rows[2::30] *= 1e4
        rows[5::30, 1:] = 0
        rows[8::30] *= 1e4 * np.eye(d)[0]
        rows[11::30, -1] = np.nan
        rows[14::60], rows[44::60] = 1e308, 1e308 * np.eye(d)[-1]
        ratio = (inner / outer) ** 2
        for row in rows:
            parts = [SecondMoment(grid, d).of(row[None]) / R**2 for grid in (ring.inner, ring, ring.outer)]
            assert np.linalg.norm(parts[0] * ratio + parts[1] - parts[2]) <= 10 * np.sqrt(d) / R

    def test_lengths_are_what_is_missing(self) -> None:
        """In round numbers, to two steps: inside nothing is taken, between √(‖x‖² − τ²), outside √(u² − τ²)."""
        ring = annulus(0.6, 1.0)
        rows = np.array([[0.6, 0.0], [0.0, -0.5], [0.0, -1.0], [3.0, 4.0], [0.45, 0.6]])
        _, taken = ring.encode_both(rows)
        directions = np.array([[0.0, -1.0], [0.6, 0.8], [0.6, 0.8]]) * np.array([[0.8], [0.8], [0.45]])
        assert np.abs(taken[:3] / R - directions).max() <= 2 / R
        assert not taken[3:].any()  # rows that fill a batch

    def test_no_row_outside_nothing_taken(self) -> None:
        assert not annulus(0.5, 1.0).encode(np.full((100, 2), 0.3)).any()
        assert annulus(0.5, 1.0).encode(np.zeros((0, 2))).shape == (0, 2)


class TestPair:
    """Two moments from one rounding of the rows: the same integers as either alone, however they are read."""

    def expected(self, ring: Annulus, rows: Floats) -> list[list[int]]:
        members = ClippedPair(ring, rows.shape[1]).members
        return [ArraySource(rows, 1).total(member).tolist() for member in members]

    def found(self, ring: Annulus, rows: Floats, block_rows: int | None = None) -> list[list[int]]:
        pair = ClippedPair(ring, rows.shape[1])
        return [part.tolist() for part in pair.split(ArraySource(rows, block_rows).total(pair))]

    @each_radii
    @pytest.mark.parametrize("d", [1, 5])
    def test_it_equals_its_members(self, d: int, inner: float, outer: float) -> None:
        ring, rows = annulus(inner, outer), np.concatenate([fuzz(704, 65, d), around(704, 65, d, inner, outer)])
        expected = self.expected(ring, rows)
        for block_rows in (*range(1, 131, 8), 130):
            assert self.found(ring, rows, block_rows) == expected
        padded = np.zeros((260, 2 * d))
        padded[::-2, 1::2] = rows
        shuffled = np.random.default_rng(704).permutation(rows)
        for same in (padded[::-2, 1::2], shuffled, rows.astype(">f8")):
            assert self.found(ring, same) == expected

    @pytest.mark.parametrize("order", ["C", "F"])
    @pytest.mark.parametrize("scratch", [False, True])
    def test_layout_and_scratch_change_nothing(self, scratch: bool, order: Literal["C", "F"]) -> None:
        ring, rows = annulus(0.5, 1.0), np.concatenate([fuzz(705, 100, 13), around(705, 100, 13, 0.5, 1.0)])
        pair = ClippedPair(ring, 13)
        for statistic in (pair, *pair.members):
            assert statistic.of(np.array(rows, order=order), scratch=scratch).tolist() == statistic.of(rows).tolist()

    @pytest.mark.parametrize("batches", [1, 3, 2**20])
    @pytest.mark.parametrize("chunk", [13, 300, 2**18])
    def test_what_fills_a_batch_changes_nothing(self, chunk: int, batches: int, monkeypatch: pytest.MonkeyPatch) -> None:
        ring, rows = annulus(0.3, 0.7), np.concatenate([fuzz(706, 100, 13), around(706, 100, 13, 0.3, 0.7)])
        expected, taken = self.expected(ring, rows), ring.encode(rows)
        monkeypatch.setattr(grid_module, "CHUNK", chunk)
        monkeypatch.setattr(grid_module, "BATCHES", batches)
        assert self.found(ring, rows) == expected
        same = ring.encode(rows)
        assert same[same.any(axis=1)].tolist() == taken[taken.any(axis=1)].tolist()
        assert chunk < 2**18 or (len(same) == 200) == (batches == 1)  # then everything goes the long way

    def test_it_is_for_reading_only(self) -> None:
        pair = ClippedPair(annulus(0.5, 1.0), 3)
        assert pair.shape == (2, 3, 3)
        assert pair.max_block == SecondMoment(Grid(1.0), 3).max_block
        assert not hasattr(pair, "sensitivity_squared")

    def test_a_callers_error_settings_change_nothing(self) -> None:
        ring, rows = annulus(0.3, 0.7), fuzz(707, 300, 5)
        rows.flags.writeable = False
        expected = self.found(ring, rows)
        with np.errstate(all="raise"), warnings.catch_warnings():
            warnings.simplefilter("error")
            assert self.found(ring, rows) == expected


@pytest.mark.parametrize("neighbors", NEIGHBORS)
class TestSensitivity:
    @pytest.mark.parametrize("d", [1, 2, 5])
    @given(data=st.data())
    @EXAMPLES
    def test_neighbours_move_no_further(self, d: int, neighbors: str, data: st.DataObject) -> None:
        ring, rows = annulus(*data.draw(st.sampled_from(RADII))), data.draw(tables(d, least=1))
        other = rows[:-1] if neighbors == "add-remove" else np.concatenate([rows[:-1], data.draw(tables(d, 1, 1))])
        self.check(SecondMoment(ring, d), moment(ring, rows) - moment(ring, other), neighbors)

    @each_radii
    @pytest.mark.parametrize("d", [1, 2, 5])
    def test_long_rows_move_it_as_far(self, d: int, inner: float, outer: float, neighbors: str) -> None:
        """Within 1 % and two steps of its root: a constant that is 5 % smaller would be broken."""
        ring = annulus(inner, outer)
        statistic, values = SecondMoment(ring, d), Values(SecondMoment(ring, d), d)
        axes = 2 * outer * np.eye(d)
        first = axes[:1]
        other = first[:0] if neighbors == "add-remove" else axes[1:2] if d > 1 else 0 * first
        moved = moment(ring, first) - moment(ring, other)
        self.check(statistic, moved, neighbors)
        slack = 0.99 * (1 - 2 / np.sqrt(ring.reach)) ** 2
        eigenvalues = np.abs(np.linalg.eigvalsh(moved.astype(np.float64)))
        assert eigenvalues.sum() >= slack * statistic.sensitivity_nuclear(neighbors)
        assert (eigenvalues**2).sum() >= slack**2 * statistic.sensitivity_squared(neighbors)
        assert eigenvalues.sum() / R >= slack * (values.sensitivity_l1(neighbors) - 2 * d)

    def test_the_sum_of_entries_is_moved_as_far(self, neighbors: str) -> None:
        """Two columns: turned by half of atan(1/2) the triangle moves by √5, for one row on the diagonal by 3/2."""
        ring, angle = annulus(0.5, 1.0), np.arctan(0.5) / 2
        row, turned = [[np.cos(angle), np.sin(angle)]], [[-np.sin(angle), np.cos(angle)]]
        pair = (row, turned) if neighbors == "replace" else ([[1.0, 1.0]], np.zeros((0, 2)))
        moved = moment(ring, 2 * np.array(pair[0])) - moment(ring, 2 * np.asarray(pair[1]))
        statistic = SecondMoment(ring, 2)
        self.check(statistic, moved, neighbors)
        assert np.abs(np.triu(moved)).sum() >= 0.99 * statistic.sensitivity_l1(neighbors)

    def check(self, statistic: SecondMoment, moved: Integers, neighbors: str) -> None:
        entries = [[int(entry) for entry in row] for row in moved.tolist()]
        d = len(entries)
        assert sum(entry**2 for row in entries for entry in row) <= statistic.sensitivity_squared(neighbors)
        assert sum(abs(entries[i][j]) for i in range(d) for j in range(i, d)) <= statistic.sensitivity_l1(neighbors)
        nuclear = np.abs(np.linalg.eigvalsh(moved.astype(np.float64))).sum()
        assert nuclear * (1 - 1e-12) <= statistic.sensitivity_nuclear(neighbors)


class TestRefusals:
    @pytest.mark.parametrize(
        ("inner", "outer"),
        [
            (Grid(1.0), Grid(0.5)),
            (Grid(1.0), Grid(1.0)),
            (Grid(0.5, center=True), Grid(1.0, center=True)),
            (Grid(0.5, center=True), Grid(1.0)),
            (Grid(0.5), Grid(1.0, center=True)),
        ],
        ids=["swapped", "equal", "centred", "inner centred", "outer centred"],
    )
    def test_what_is_no_annulus(self, inner: Grid, outer: Grid) -> None:
        with pytest.raises(ParameterError, match=r"annulus must lie between .*, got something else\. Hint: "):
            Annulus(inner, outer)


def test_a_record_names_the_radii() -> None:
    whole = Grid(2.0)
    assert Writing(()).rows(whole) == {"radius": 2.0}
    assert Writing(()).rows(whole.clipped(0.25)) == {"radius": 0.5}
    assert Writing(()).rows(Annulus(whole.clipped(0.25), whole)) == {"inner": 0.5, "outer": 2.0}
    ring = Annulus(whole.clipped(0.25), whole)
    assert (ring.row_norm, ring.bits, ring.one, ring.center, ring.width(7)) == (2.0, 16, R, False, 7)
