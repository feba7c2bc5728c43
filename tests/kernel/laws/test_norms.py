"""Laws of the norms: which radii a row exceeds is decided exactly, for any floats, whatever else is in its block."""

from __future__ import annotations

import warnings
from fractions import Fraction
from typing import Any, Literal

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.kernel.questions.choices import outside
from dpcov.kernel.questions.measure import Integers, Summable
from dpcov.kernel.questions.moments import NEIGHBORS, SecondMoment
from dpcov.kernel.questions.norms import Norms, Trace
from dpcov.kernel.rows import lengths
from dpcov.kernel.rows.grid import MAX_FEATURES, Grid
from dpcov.kernel.rows.lengths import OFFSET, SURE
from dpcov.sources.array import ArraySource
from tests.helpers.rows import Floats, fuzz, squared_norms, tables

R = 2**16
SHAPES = [(1, 3), (4, 2), (16, 10), (1, 400)]
ROW_NORMS = [1.0, 0.3, 7.0, 1e-140, 1e150]

repeatable = settings(max_examples=40)
each_shape = pytest.mark.parametrize(("per_octave", "octaves"), SHAPES[:3])


def norms(d: int, per_octave: int = 4, octaves: int = 2, row_norm: float = 1.0) -> Norms:
    return Norms(Grid(row_norm), d, per_octave, octaves)


def bounds(statistic: Norms) -> Floats:
    """The squares that norms are compared with: public floats, radii² and a hair."""
    return np.asarray((statistic.radii * statistic.grid.row_norm) ** 2 * OFFSET)


def exact_bins(statistic: Norms, rows: Floats) -> list[int]:
    """How many of τ₁, τ₂, … each row is not longer than, in Fractions; entries that are not finite count as 0."""
    limits = [Fraction(bound) for bound in bounds(statistic)[1:].tolist()]
    squares = [sum(Fraction(x) ** 2 for x in row if np.isfinite(x)) for row in rows.tolist()]
    return [sum(square <= limit for limit in limits) for square in squares]


def at_radii(seed: int, statistic: Norms) -> Floats:
    """Rows whose squared norms lie within a few last digits of the bounds, on either side and on them."""
    generator = np.random.default_rng(seed)
    directions = generator.standard_normal((12, statistic.last + 1, statistic.d))
    directions[::4, :, 1:] = 0
    directions /= np.linalg.norm(directions, axis=2, keepdims=True)
    rows = (directions * np.sqrt(bounds(statistic))[:, None]).reshape(-1, statistic.d)
    return np.concatenate([rows, np.nextafter(rows, np.inf), np.nextafter(rows, -np.inf)])


def test_floats_decide_only_where_twice_their_error_does_not_matter() -> None:
    """Squares of as many columns as there may be, added in any order, err by less than columns·2⁻⁵² of their sum."""
    assert SURE >= 2 * MAX_FEATURES * 2.0**-52


def total(statistic: Summable, rows: Floats, block_rows: int | None = None) -> list[int]:
    entries: list[int] = ArraySource(rows, block_rows).total(statistic).tolist()
    return entries


def moves(statistic: Norms, first: Floats, second: Floats) -> Integers:
    return ArraySource(first).total(statistic) - ArraySource(second).total(statistic)


class TestRadii:
    @pytest.mark.parametrize(("per_octave", "octaves"), SHAPES)
    def test_they_are_powers_of_two(self, per_octave: int, octaves: int) -> None:
        radii = norms(1, per_octave, octaves).radii
        assert norms(1, per_octave, octaves).shape == radii.shape == (per_octave * octaves + 1,)
        with mpmath.workdps(40):
            for k, radius in enumerate(radii.tolist()):
                assert abs(radius / mpmath.mpf(2) ** (-mpmath.mpf(k) / per_octave) - 1) < 2.0**-51
        assert radii[::per_octave].tolist() == [2.0**-k for k in range(octaves + 1)]
        assert np.all(np.diff(radii) < 0)

    def test_coarser_ones_are_among_the_finer(self) -> None:
        assert norms(1, 16, 10).radii[::8].tolist() == norms(1, 2, 10).radii.tolist()

    @pytest.mark.parametrize(
        ("per_octave", "octaves", "row_norm"),
        [(0, 4, 1.0), (1, 0, 1.0), (-1, 4, 1.0), (1025, 1, 1.0), (1, 2049, 1.0), (1, 509, 1.0), (1, 11, 1e-150), (1.0, 4, 1.0)],
    )
    def test_other_radii_are_refused(self, per_octave: Any, octaves: int, row_norm: float) -> None:
        """None, too many, or so small that their squares are no ordinary floats."""
        with pytest.raises(ParameterError, match=r"norms must have .*, got .*\. Hint: "):
            norms(1, per_octave, octaves, row_norm)


class TestBins:
    @pytest.mark.parametrize("d", [1, 2, 5])
    @given(data=st.data())
    @repeatable
    def test_any_floats_fall_where_fractions_say(self, d: int, data: st.DataObject) -> None:
        shape, row_norm = data.draw(st.sampled_from(SHAPES[:3])), data.draw(st.sampled_from(ROW_NORMS))
        statistic, rows = norms(d, *shape, row_norm), data.draw(tables(d))
        assert statistic.bins(rows).tolist() == exact_bins(statistic, rows)

    @pytest.mark.parametrize("row_norm", ROW_NORMS)
    def test_fuzzed_rows_fall_where_fractions_say(self, row_norm: float) -> None:
        statistic = norms(13, 1, 30, row_norm)
        generator = np.random.default_rng(601)
        rows = fuzz(601, 500, 13)
        rows[1::2] = generator.standard_normal((250, 13)) * row_norm * 2.0 ** -generator.uniform(0, 30, (250, 1))
        found = statistic.bins(rows).tolist()
        assert found == exact_bins(statistic, rows)
        assert len(set(found)) > 20

    def test_hundreds_of_octaves(self) -> None:
        """Where ratios of squares overflow."""
        statistic = norms(2, 1, 990, 1e150)
        rows = 2.0 ** np.random.default_rng(602).uniform(-600, 600, (40, 2))
        assert statistic.bins(rows).tolist() == exact_bins(statistic, rows)

    @pytest.mark.parametrize("d", [1, 2, 3, 50])
    @pytest.mark.parametrize("row_norm", ROW_NORMS)
    def test_rows_at_a_radius_fall_where_fractions_say(self, d: int, row_norm: float) -> None:
        """Floats alone would err here: half a last digit decides, and both sides of each radius occur."""
        statistic = norms(d, 2, 2, row_norm)
        rows = at_radii(602, statistic)
        found = statistic.bins(rows).tolist()
        assert found == exact_bins(statistic, rows)
        by_radius = np.array(found).reshape(3, -1, statistic.last + 1)
        for k in range(1, statistic.last + 1):
            assert set(by_radius[:, :, k].ravel().tolist()) == {k - 1, k}

    def test_missing_cells_of_rows_at_a_radius_count_as_nothing(self) -> None:
        rows = at_radii(603, norms(2, 2, 2))
        missing = np.column_stack([rows, np.resize([np.nan, np.inf, -np.inf], len(rows))])
        assert norms(3, 2, 2).bins(missing).tolist() == norms(2, 2, 2).bins(rows).tolist()

    def test_a_row_on_the_bound_is_inside(self) -> None:
        """0.5² + 2⁻³² is the bound itself, 0.25·(1 + 2⁻³⁰); a last digit more in the smaller entry is beyond it."""
        rows = np.array([[0.5, 2.0**-16], [0.5, np.nextafter(2.0**-16, 1)], [0.5, np.nextafter(2.0**-16, 0)]])
        assert norms(2, 1, 1).bins(rows).tolist() == [1, 0, 1]

    @pytest.mark.parametrize("d", [1, 2, 50, 2**15])
    def test_exact_integers_count_as_fractions_do(self, d: int) -> None:
        """Bounds one unit around the square, and all digits set: a sum of limbs that wrapped or rounded would be seen."""
        draw = np.random.default_rng(d)
        full = np.full(d, 1 - 2.0**-53)
        mixed = draw.normal(size=d) * 2.0 ** draw.integers(-540, 400, size=d)
        for row in (full, -full, mixed, np.zeros(d), np.full(d, 5e-324), np.full(d, 1e308)):
            square = sum((Fraction(x) ** 2 for x in row.tolist()), start=Fraction(0))
            near = float(square) if square < 2**1000 else 1e308
            limits = np.array([np.nextafter(near, 0.0), near, np.nextafter(near, np.inf)])
            assert lengths._exactly_longer(row, limits) == sum(Fraction(limit) < square for limit in limits.tolist())
        broken = np.append(full, [np.nan, np.inf, -np.inf])
        limits = np.array([0.5, d - 0.5, d + 0.5])
        assert lengths._exactly_longer(broken, limits) == 2

    def test_only_rows_at_a_radius_need_fractions(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Rows of norm 1/2, 1/4, … lie clearly inside; huge, empty and tiny ones are as clear."""
        seen: list[Floats] = []
        exactly = lengths._exactly_longer

        def spy(row: Floats, limits: Floats) -> int:
            seen.append(row)
            return exactly(row, limits)

        monkeypatch.setattr(lengths, "_exactly_longer", spy)
        statistic = norms(2, 4, 2)
        clear = [[0.5, 0.0], [0.0, 0.25], [0.3, 0.4], [1.0, 0.0], [0.0, 0.0], [1e-300, 5e-324], [np.nan, np.inf], [9.0, 2.0]]
        assert statistic.bins(np.array(clear)).tolist() == [4, 8, 4, 0, 8, 8, 8, 0]
        assert statistic.bins(np.tile([np.nan, 0.1], (300, 1))).tolist() == [8] * 300  # more than fill a batch
        assert seen == []
        rows = at_radii(603, statistic)
        inside = np.linalg.norm(rows, axis=1) < 0.9  # nothing is asked of the largest radius
        statistic.bins(rows[inside])
        assert len(seen) == inside.sum()

    def test_the_offset_is_half_a_billionth(self) -> None:
        """A row that is longer than a radius by 2⁻³⁰ of it is outside, by 2⁻³² inside: the radius is its public number."""
        rows = np.array([[0.5 * (1 + 2.0**-30)], [0.5 * (1 + 2.0**-32)]])
        assert norms(1, 1, 1).bins(rows).tolist() == [0, 1]

    def test_the_order_of_columns_does_not_matter(self) -> None:
        """Sums of floats depend on it; the bins of rows at a radius do not."""
        statistic = norms(50, 2, 2)
        rows = at_radii(604, statistic)
        found = statistic.bins(rows).tolist()
        generator = np.random.default_rng(604)
        for _ in range(5):
            assert statistic.bins(rows[:, generator.permutation(50)]).tolist() == found


class TestBlocks:
    @pytest.mark.parametrize("d", [1, 13, 50])
    def test_a_bin_depends_on_its_row_alone(self, d: int) -> None:
        statistic = norms(d, 2, 2)
        rows = np.concatenate([fuzz(605, 110, d), np.random.default_rng(605).permutation(at_radii(605, statistic))[:20]])
        alone = [int(statistic.bins(row[None])[0]) for row in rows]
        for size in range(1, 131):
            parts = [statistic.bins(rows[start : start + size]) for start in range(0, len(rows), size)]
            assert np.concatenate(parts).tolist() == alone
        order = np.random.default_rng(606).permutation(len(rows))
        padded = np.zeros((260, 2 * d))
        padded[::-2, 1::2] = rows
        assert statistic.bins(rows[order]).tolist() == [alone[k] for k in order]
        for same in (np.asfortranarray(rows), padded[::-2, 1::2]):
            assert statistic.bins(same).tolist() == alone

    @pytest.mark.parametrize("d", [1, 2, 5])
    @given(data=st.data())
    @repeatable
    def test_counts_and_traces_add_up(self, d: int, data: st.DataObject) -> None:
        first, second = data.draw(tables(d)), data.draw(tables(d))
        for statistic in (norms(d), Trace(Grid(1.0), d), Trace(Grid(0.3, center=True), d + 1)):
            parts = zip(total(statistic, first), total(statistic, second), strict=True)
            assert total(statistic, np.concatenate([first, second])) == [a + b for a, b in parts]

    def test_every_way_of_reading_gives_the_same_counts(self) -> None:
        rows = fuzz(607, 1000, 13)
        for statistic in (norms(13, 16, 10), Trace(Grid(1.0), 13)):
            expected = total(statistic, rows)
            for block_rows in (1, 7, 64, 130, 1000):
                assert total(statistic, rows, block_rows) == expected
            for same in (np.asfortranarray(rows), np.random.default_rng(607).permutation(rows)):
                assert total(statistic, same) == expected
            assert statistic.of(rows.copy(), scratch=True).tolist() == expected
        assert sum(total(norms(13, 16, 10), rows)) == 1000

    def test_a_callers_error_settings_change_nothing(self) -> None:
        rows = fuzz(608, 300, 5)
        rows.flags.writeable = False
        for statistic in (norms(5), Trace(Grid(0.3), 5)):
            expected = total(statistic, rows)
            modes: list[Literal["raise", "warn"]] = ["raise", "warn"]
            for mode in modes:
                with np.errstate(all=mode), warnings.catch_warnings():
                    warnings.simplefilter("error")
                    assert total(statistic, rows) == expected


class TestNeighbours:
    @each_shape
    @given(data=st.data())
    @repeatable
    def test_a_replaced_row_leaves_one_bin_for_another(self, per_octave: int, octaves: int, data: st.DataObject) -> None:
        statistic, rows = norms(2, per_octave, octaves), data.draw(tables(2, least=1))
        neighbor = np.concatenate([rows[:-1], data.draw(tables(2, least=1, most=1))])
        moved = moves(statistic, rows, neighbor)
        assert sorted(moved[moved != 0].tolist()) in ([], [-1, 1])
        assert np.abs(moved).sum() <= statistic.sensitivity_l1("replace") == statistic.sensitivity_squared("replace") == 2
        nested = outside(moved)
        assert set(nested.tolist()) in ({0}, {0, 1}, {0, -1})  # all one way
        assert nested[-1] == 0

    @each_shape
    @given(data=st.data())
    @repeatable
    def test_a_removed_row_leaves_one_bin(self, per_octave: int, octaves: int, data: st.DataObject) -> None:
        statistic, rows = norms(2, per_octave, octaves), data.draw(tables(2, least=1))
        moved = moves(statistic, rows, rows[:-1])
        assert moved[moved != 0].tolist() == [1]
        assert statistic.sensitivity_l1("add-remove") == statistic.sensitivity_squared("add-remove") == 1
        assert set(outside(moved).tolist()) == {0, 1}

    def test_the_bounds_are_attained(self) -> None:
        """By one row that is long and one that is short: any smaller constant would be broken."""
        statistic, long, short = norms(1), np.ones((1, 1)), np.zeros((1, 1))
        assert np.abs(moves(statistic, long, short)).sum() == 2
        assert np.abs(moves(statistic, long, long[:0])).sum() == 1


class TestTrace:
    def test_rows_are_left_as_they_are(self) -> None:
        rows = fuzz(611, 50, 3)
        before = rows.tobytes()
        Trace(Grid(1.0), 3).of(rows)
        assert rows.tobytes() == before

    @pytest.mark.parametrize("center", [False, True])
    @pytest.mark.parametrize("d", [1, 2, 5])
    @given(data=st.data())
    @repeatable
    def test_it_is_the_sum_of_squared_norms(self, d: int, center: bool, data: st.DataObject) -> None:
        grid, rows = Grid(data.draw(st.sampled_from(ROW_NORMS)), center=center), data.draw(tables(d, least=1))
        trace, moment = Trace(grid, grid.width(d)), SecondMoment(grid, grid.width(d))
        exact = sum(squared_norms(grid.encode(rows)))
        assert total(trace, rows) == [exact]
        assert exact == sum(total(moment, rows)[: moment.d])  # the diagonal of the second moment
        assert 0 <= exact - total(trace, rows[:-1])[0] <= trace.sensitivity_l1("add-remove")

    def test_its_bound_is_attained(self) -> None:
        trace = Trace(Grid(1.0), 2)
        long, short = total(trace, np.array([[0.0, 1.0]])), total(trace, np.zeros((1, 2)))
        for neighbors in NEIGHBORS:
            assert long[0] - short[0] == R**2 == trace.sensitivity_l1(neighbors)
            assert trace.sensitivity_squared(neighbors) == R**4
        assert trace.unit_bits == 32

    def test_the_largest_block_is_still_exact(self) -> None:
        trace = Trace(Grid(1.0), 1)
        assert trace.max_block * R**2 == 2**53
        assert total(trace, np.ones((trace.max_block, 1))) == [2**53]
