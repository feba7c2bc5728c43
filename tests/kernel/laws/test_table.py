"""Laws of what is asked of the columns of a table: what is counted, and how far one row of any kind moves it.

Rows are given by column: a number, the place of a level, NaN where a cell is missing; and anything else that a float can be.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import dpcov
from dpcov.errors import ParameterError
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import PureDP
from dpcov.kernel.questions.choices import Quantile
from dpcov.kernel.questions.measure import Integers
from dpcov.kernel.questions.moments import NEIGHBORS, SecondMoment
from dpcov.kernel.questions.norms import Norms
from dpcov.kernel.questions.table import MOST_BINS, ONE, ColumnMoments, Histograms, Interval, LevelCounts, Range
from dpcov.kernel.questions.together import Together
from dpcov.kernel.rows.columns import Columns
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.standard import LEAST, LevelUnits, NumericUnits, Standard, Units
from dpcov.linalg import unpack
from dpcov.sources.base import add_up
from dpcov.verify.testing import NoSource, opened
from tests.helpers.rows import SPECIAL, Floats, neighbours, values

EXAMPLES = settings(max_examples=60)
FEW = settings(max_examples=25)

SCHEMA = dpcov.Schema(
    {
        "a": dpcov.Numeric(-2, 3),
        "b": dpcov.Categorical(["x", "y", "z"]),
        "c": dpcov.Numeric(0, 10, weight=2, nullable=True),
        "d": dpcov.Categorical([True, False]),
        "e": dpcov.Numeric(-1e130, 1e130, weight=0.25),
    }
)
COLUMNS = Columns.of(SCHEMA)
D = 5
CELLS = st.one_of(values, st.integers(-1, 4).map(float), st.sampled_from([2.0**31, 2.0**63, -(2.0**63), 1e19]))
"""Of any column: bounds are below 1, and places of levels 0, 1 and 2."""

WEIGHTS = (0, ONE // 4, int(Fraction(141421, 100000) * ONE), ONE // 2)
"""Of a cell that is there: not asked; a quarter, the root of 2 and a half."""

each_relation = pytest.mark.parametrize("neighbors", NEIGHBORS)


def tables(least: int = 0, most: int = 6) -> st.SearchStrategy[Floats]:
    return arrays(np.float64, st.tuples(st.integers(least, most), st.just(D)), elements=CELLS)


@st.composite
def drawn_neighbours(draw: st.DrawFn, neighbors: str) -> tuple[Floats, Floats]:
    """Two tables, one row of which is added; or replaced, in some of its cells: by others, by missing ones, by far ones."""
    rows = draw(tables(least=1))
    other, changed = draw(tables(1, 1)), draw(arrays(np.bool_, (1, D)))
    return neighbours(rows, np.where(changed, other, rows[-1:]), neighbors)


def total(question: Any, rows: Floats, size: int | None = None) -> Integers:
    """The sum over blocks of so many rows."""
    step = size or max(len(rows), 1)
    return add_up(question, [rows[start : start + step] for start in range(0, max(len(rows), 1), step)])


def exact(question: Any, rows: Floats) -> Integers:
    """What noise is added to."""
    return (
        question.of_counts(total(question.histograms, rows)) if isinstance(question, ColumnMoments) else total(question, rows)
    )


def distances(question: Any, first: Integers, second: Integers) -> tuple[int, int]:
    """The squared distance, by weight, and the sum of differences, in Python's integers."""
    moved = first - second
    weights = np.repeat([part.weight for part in question.parts], [part.size for part in question.parts])
    some = [(int(weights[i]), int(moved[i])) for i in np.flatnonzero(moved)]
    return sum(w * m * m for w, m in some), sum(abs(m) for _, m in some)


def histograms(bits: int = 4) -> Histograms:
    return Histograms(COLUMNS, bits)


def moments(*weights: int, bits: int = 4) -> ColumnMoments:
    """Ranges of all kinds: a part of the bins, one bin, all of them."""
    ends = [(3, 11), (7, 8), (0, 1 << bits)]
    return ColumnMoments(histograms(bits), tuple(Range(i, *ends[i], w) for i, w in enumerate(weights)))


def units() -> Units:
    """A range within the bounds, a constant column, one of which everything is inside; pooled levels."""
    reach = COLUMNS.reaches.tolist()
    numeric = (
        NumericUnits(-0.5 * reach[0], 0.25 * reach[0], 0.1 * reach[0], 0.02),
        NumericUnits(-reach[1], reach[1], 0.0, 0.0),
        NumericUnits(-reach[2], reach[2], reach[2], 0.3 * reach[2]),
    )
    levels = (LevelUnits((0, 1, 1), (0.3, 0.7), (0.4, 0.5)), LevelUnits((0, 1), (0.9, 0.1), (0.3, 0.35)))
    return Units(COLUMNS, numeric, levels)


def wider() -> LevelUnits:
    return LevelUnits((0, 2, 1, 3, 0, 4), (0.3, 0.25, 0.05, 0.25, 0.15), (0.45, 0.4, 0.32, 1.7, 0.33))


UNITS = units()
INNER, WHOLE = Standard(UNITS, 0.7, 1.5), Standard(UNITS, 0.0, 30.0)
STATISTICS: dict[str, Any] = {
    "histograms": histograms(),
    "finest histograms": histograms(17),
    "level counts": LevelCounts(COLUMNS),
    **{f"moments, weight {w}": moments(w, w, w) for w in WEIGHTS},
    "moments, weights of all kinds": moments(WEIGHTS[2], 0, WEIGHTS[1]),
    "moments of one column": moments(WEIGHTS[3]),
    "norms": Norms(WHOLE, UNITS.size, 4, 6),
    "second moment": SecondMoment(INNER, UNITS.size + 1),
    "second moment without a corner": SecondMoment(WHOLE, UNITS.size),
}
SUMS = {name: question for name, question in STATISTICS.items() if not isinstance(question, ColumnMoments)}

each_statistic = pytest.mark.parametrize("name", STATISTICS)


@each_relation
@each_statistic
@given(data=st.data())
@EXAMPLES
def test_neighbours_move_no_further_than_the_sensitivity(name: str, neighbors: str, data: st.DataObject) -> None:
    question = STATISTICS[name]
    first, second = (exact(question, rows) for rows in data.draw(drawn_neighbours(neighbors)))
    squared, absolute = distances(question, first, second)
    assert squared <= question.sensitivity_squared(neighbors)
    assert absolute <= question.sensitivity_l1(neighbors)
    if isinstance(question, SecondMoment):
        moved = unpack((first - second).astype(np.float64), question.d)
        nuclear = np.abs(np.linalg.eigvalsh(moved)).sum()
        assert nuclear <= question.sensitivity_nuclear(neighbors) * (1 + 1e-9)


def fuzz(seed: int, n: int) -> Floats:
    """Rows of all kinds: inside the bounds, at their ends, missing, wild."""
    generator = np.random.default_rng(seed)
    rows = generator.uniform(-1.2, 1.2, (n, D)) * np.where(generator.random((n, D)) < 0.3, 1e-3, 1.0)
    for place, count in COLUMNS.levels:
        rows[:, place] = generator.integers(-1, count + 1, n)
    strewn = generator.random((n, D)) < 0.15
    rows[strewn] = generator.choice(SPECIAL, strewn.sum())
    return rows


@pytest.mark.parametrize("name", SUMS)
class TestSums:
    """Sums over rows, each of which counts by itself."""

    def test_blocks_and_layouts_cannot_be_seen(self, name: str) -> None:
        question, rows = SUMS[name], fuzz(901, 90)
        expected = total(question, rows)
        assert expected.dtype == np.int64
        for size in (1, 2, 7, 13, 64, 89):
            assert np.array_equal(total(question, rows, size), expected)
        orders: list[Literal["C", "F"]] = ["C", "F"]
        for order in orders:
            other = np.array(np.random.default_rng(902).permutation(rows), order=order)
            with np.errstate(all="raise"):
                assert np.array_equal(total(question, other), expected)
        assert np.array_equal(total(question, np.repeat(rows, 2, axis=1)[:, ::2]), expected)

    def test_a_sum_is_that_of_its_rows_alone(self, name: str) -> None:
        question, rows = SUMS[name], fuzz(903, 60)
        alone = np.sum([total(question, row[None]) for row in rows], axis=0)
        assert np.array_equal(total(question, rows), alone)

    def test_added_in_place_and_together_it_is_the_same(self, name: str) -> None:
        """As where several are read in one pass."""
        question, rows = SUMS[name], fuzz(904, 50)
        together = Together((question, LevelCounts(COLUMNS), question))
        assert together.by_column
        for size in (1, 20, 50):
            parts = together.split(total(together, rows, size))
            assert np.array_equal(parts[0], total(question, rows))
            assert np.array_equal(parts[1], total(LevelCounts(COLUMNS), rows))
            assert np.array_equal(parts[2], parts[0])

    def test_rows_are_left_as_they_are(self, name: str) -> None:
        """A source may keep them."""
        rows = fuzz(905, 40)
        before = rows.tobytes()
        SUMS[name].of(rows)
        total(SUMS[name], rows, 7)
        assert rows.tobytes() == before

    def test_no_rows_are_zeros(self, name: str) -> None:
        question = SUMS[name]
        assert total(question, np.empty((0, D))).tolist() == [0] * question.size


# ---------------------------------------------------------------------------------------------------------- what is counted


def place(x: float, reach: float, bins: int) -> int | None:
    """The bin of a cell: the ends hold all that is beyond; None where it is missing."""
    y = x / reach
    return None if y != y else min(int((min(max(y, -1.0), 1.0) + 1.0) * (bins / 2)), bins - 1)


class TestHistograms:
    @pytest.mark.parametrize("bits", [1, 4, 10])
    @given(rows=tables())
    @example(rows=np.full((2, D), np.nan))
    @EXAMPLES
    def test_each_cell_is_in_the_bin_that_plain_python_says(self, bits: int, rows: Floats) -> None:
        question = histograms(bits)
        by_hand = np.zeros((3, 1 << bits), dtype=np.int64)
        for row in rows.tolist():
            for column, (where, reach) in enumerate(COLUMNS.numeric):
                with np.errstate(all="ignore"):
                    found = place(row[where], reach, 1 << bits)
                if found is not None:
                    by_hand[column, found] += 1
        assert total(question, rows).tolist() == by_hand.ravel().tolist()
        for column in range(3):
            assert question.of_column(total(question, rows), column).tolist() == by_hand[column].tolist()

    def test_bins_hold_their_lower_ends(self) -> None:
        columns = Columns(((0, 0.5),), ())
        cells = [-0.5, -0.25, np.nextafter(-0.25, -1), 0.0, -0.0, 0.25, 0.5, 9.0, -1e308, np.inf, -np.inf, np.nan]
        question = Histograms(columns, 2)
        found = [total(question, np.array([[cell]])).tolist() for cell in cells]
        assert [one.index(1) if 1 in one else None for one in found] == [0, 1, 0, 2, 2, 3, 3, 3, 0, 3, 0, None]

    @each_relation
    def test_the_bounds_are_attained(self, neighbors: str) -> None:
        question, low = histograms(), np.full((1, D), -1e6)
        other = -low if neighbors == "replace" else low[:0]
        squared, absolute = distances(question, total(question, low), total(question, other))
        assert squared == question.sensitivity_squared(neighbors)
        assert absolute == question.sensitivity_l1(neighbors)

    def test_cells_beyond_their_bounds_are_on_them(self) -> None:
        """Before anything is put into bins: −1 and 1, and NaN where there is no number."""
        columns = Columns(((0, 0.5), (2, 2.0)), ((1, 3),))
        rows = np.array([[-0.6, 0.0, -2.0], [0.5, 1.0, 9.0], [-np.inf, 2.0, np.nan], [0.25, 0.0, -1e300]])
        np.testing.assert_array_equal(columns.on_bounds(rows), [[-1, -1], [1, 1], [-1, np.nan], [0.5, -1]])

    @pytest.mark.parametrize("bits", [0, 18, -1, 4.0, True, np.int64(4), None], ids=repr)
    def test_other_numbers_of_bins_are_refused(self, bits: Any) -> None:
        with pytest.raises(
            ParameterError, match=r"histograms must have 2 to 2\*\*17 bins per column, .*, got other numbers\. Hint: "
        ):
            histograms(bits)

    def test_so_many_columns_have_fewer_bins(self) -> None:
        many = Columns(tuple((i, 1.0) for i in range(MOST_BINS >> 16)), ())
        assert Histograms(many, 16).size == MOST_BINS
        with pytest.raises(ParameterError, match=r"histograms must have"):
            Histograms(many, 17)
        with pytest.raises(ParameterError, match=r"histograms must have"):
            Histograms(Columns((), ((0, 2),)), 4)


class TestLevelCounts:
    @given(rows=tables())
    @EXAMPLES
    def test_each_cell_is_a_level_or_none(self, rows: Floats) -> None:
        by_hand = [
            sum(level <= cell < level + 1 for cell in rows[:, where].tolist())
            for where, count in COLUMNS.levels
            for level in range(count)
        ]
        assert total(LevelCounts(COLUMNS), rows).tolist() == by_hand

    @each_relation
    def test_the_bounds_are_attained(self, neighbors: str) -> None:
        question, one = LevelCounts(COLUMNS), np.zeros((1, D))
        other = one + 1 if neighbors == "replace" else one[:0]
        squared, absolute = distances(question, total(question, one), total(question, other))
        assert squared == question.sensitivity_squared(neighbors)
        assert absolute == question.sensitivity_l1(neighbors)

    def test_a_schema_without_levels_is_refused(self) -> None:
        with pytest.raises(ParameterError, match=r"columns must have levels to be counted, got none\. Hint: "):
            LevelCounts(Columns(((0, 1.0),), ()))


# ------------------------------------------------------------------------------------------------- moments within ranges


def cell(bin_of: int | None, one: Range) -> tuple[int, ...]:
    """What a cell adds, in exact fractions: the middle of its bin, −1 and 1 at the ends of the range, rounded towards 0."""
    if bin_of is None:
        return (0, 0, 0) if one.weight else (0, 0)
    inside = min(max(bin_of, one.low), one.high - 1)
    middle = Fraction(2 * inside + 1 - one.low - one.high, one.high - one.low)
    y = int(middle * ONE)
    return (y, y * y // ONE, *((one.weight,) if one.weight else ()))


def only(low: int, high: int, weight: int, bits: int) -> ColumnMoments:
    return ColumnMoments(Histograms(Columns(((0, 1.0),), ()), bits), (Range(0, low, high, weight),))


def contributions(question: ColumnMoments) -> Integers:
    """What a cell of each bin adds, and at last a missing one."""
    found = [question.of_counts(one) for one in np.eye(question.histograms.bins, dtype=np.int64)]
    return np.array([*found, np.zeros(question.size, dtype=np.int64)])


def attained(question: ColumnMoments, neighbors: str) -> tuple[int, int]:
    """The largest distances over all pairs of bins, missing cells among them; or over all cells that appear."""
    cells = contributions(question)
    moved = cells[:, None] - (cells if neighbors == "replace" else cells[-1:])[None, :]
    return int((moved**2).sum(axis=-1).max()), int(np.abs(moved).sum(axis=-1).max())


class TestColumnMoments:
    @given(rows=tables(), data=st.data())
    @EXAMPLES
    def test_they_are_sums_over_cells_in_fractions(self, rows: Floats, data: st.DataObject) -> None:
        ranges = []
        for column in sorted(data.draw(st.sets(st.integers(0, 2), min_size=1))):
            low = data.draw(st.integers(0, 15))
            ranges.append(Range(column, low, data.draw(st.integers(low + 1, 16)), data.draw(st.sampled_from(WEIGHTS))))
        question = ColumnMoments(histograms(), tuple(ranges))
        by_hand: list[int] = []
        for one in ranges:
            where, reach = COLUMNS.numeric[one.column]
            with np.errstate(all="ignore"):
                cells = [cell(place(x, reach, 16), one) for x in rows[:, where].tolist()]
            by_hand += [sum(entries) for entries in zip(*cells, strict=True)] if cells else [0] * (2 + bool(one.weight))
        found = exact(question, rows)
        assert found.tolist() == by_hand
        assert found.shape == (question.size,)
        assert found.dtype == np.int64

    @pytest.mark.parametrize(("low", "high"), [(0, 256), (3, 40), (100, 101), (254, 256), (0, 1)])
    def test_each_bin_of_a_range_counts_as_its_middle(self, low: int, high: int) -> None:
        one = Range(0, low, high, WEIGHTS[1])
        question = ColumnMoments(Histograms(Columns(((0, 1.0),), ()), 8), (one,))
        assert contributions(question).tolist() == [list(cell(bin_of, one)) for bin_of in [*range(256), None]]

    @each_relation
    @pytest.mark.parametrize("weight", WEIGHTS)
    def test_no_pair_of_cells_moves_them_further(self, weight: int, neighbors: str) -> None:
        """All pairs of bins, in ranges of all widths up to 40 and one of 64 bins."""
        for wide in [*range(1, 41), 64]:
            question = only(1, wide + 1, weight, 7)
            squared, absolute = attained(question, neighbors)
            assert squared <= question.sensitivity_squared(neighbors)
            assert absolute <= question.sensitivity_l1(neighbors)

    @each_relation
    @pytest.mark.parametrize("weight", WEIGHTS)
    def test_the_bounds_are_nearly_attained(self, weight: int, neighbors: str) -> None:
        """By 97.5 % and more: a constant 5 % too small is broken."""
        question = only(0, 256, weight, 8)
        squared, absolute = attained(question, neighbors)
        assert 0.975 * question.sensitivity_squared(neighbors) <= squared
        assert 0.975 * question.sensitivity_l1(neighbors) <= absolute

    @pytest.mark.parametrize("weight", WEIGHTS)
    def test_worst_pairs_on_the_finest_bins(self, weight: int) -> None:
        """In L1 a cell at the end against one a quarter of the way to the other, in L2 the two ends; within a millionth."""
        question = only(0, 2**17, weight, 17)

        def at(y: float | None) -> Integers:
            counts = np.zeros(2**17, dtype=np.int64)
            if y is not None:
                counts[min(int((y + 1) * 2**16), 2**17 - 1)] = 1
            return question.of_counts(counts)

        appear: list[tuple[float, float | None]] = [(1, None), (-1, None)]
        for neighbors, pairs in (("replace", [(1, -0.5), (-1, 0.5), (1, -1), *appear]), ("add-remove", appear)):
            found = [distances(question, at(a), at(b)) for a, b in pairs]
            assert 0.9999 < max(squared for squared, _ in found) / question.sensitivity_squared(neighbors) <= 1
            assert 0.9999 < max(absolute for _, absolute in found) / question.sensitivity_l1(neighbors) <= 1

    @each_relation
    def test_columns_add_up(self, neighbors: str) -> None:
        """One row can be the worst in each of them at once."""
        question = ColumnMoments(histograms(8), tuple(Range(i, 0, 256, w) for i, w in enumerate(WEIGHTS[:3])))
        alone = [only(0, 256, w, 8) for w in WEIGHTS[:3]]
        assert question.sensitivity_l1(neighbors) == sum(one.sensitivity_l1(neighbors) for one in alone)
        assert question.sensitivity_squared(neighbors) == sum(one.sensitivity_squared(neighbors) for one in alone)
        assert question.size == sum(one.size for one in alone) == 8

    def test_the_largest_table_does_not_wrap(self) -> None:
        question = only(0, 2**17, 2 * ONE, 17)
        counts = np.zeros(2**17, dtype=np.int64)
        counts[-1] = 2**30
        assert question.of_counts(counts).tolist() == [2**30 * entry for entry in cell(2**17 - 1, question.ranges[0])]

    def test_a_larger_one_wraps_and_nothing_tells(self) -> None:
        """Of people counts are in small parts: more of them than there is room for, under add-remove, are modulo 2⁶⁴."""
        question = only(0, 2, 2 * ONE, 1)
        told = question.of_counts(np.array([0, 2**47], dtype=np.int64))
        assert [int(entry) % 2**64 for entry in told] == [2**47 * entry % 2**64 for entry in cell(1, question.ranges[0])]

    RANGES: tuple[Any, ...] = (
        (),
        [Range(0, 0, 4)],
        ((0, 0, 4, 0),),
        (Range(0, 0, 4), Range(0, 4, 8)),
        (Range(1, 0, 4), Range(0, 0, 4)),
        (Range(3, 0, 4),),
        (Range(-1, 0, 4),),
        (Range(0, 4, 4),),
        (Range(0, 5, 4),),
        (Range(0, -1, 4),),
        (Range(0, 0, 17),),
        (Range(0, 0, 4, -1),),
        (Range(0, 0, 4, 2 * ONE + 1),),
        (Range(0, 0.0, 4),),  # type: ignore[arg-type]
        (Range(0, 0, 4), Range(1, 0.0, 4)),  # type: ignore[arg-type]
        (Range(False, 0, 4),),
        (Range(0, 0, 4, np.int64(3)),),  # type: ignore[arg-type]
        None,
    )

    @pytest.mark.parametrize("ranges", RANGES, ids=repr)
    def test_other_ranges_are_refused(self, ranges: Any) -> None:
        with pytest.raises(
            ParameterError, match=r"ranges must be runs of bins, one per column, .*, got something else\. Hint: "
        ):
            ColumnMoments(histograms(), ranges)


# ---------------------------------------------------------------------------------------------------------------- intervals


def runs(bits: int) -> list[tuple[int, int, int]]:
    """All half-overlapping runs of bins, the widest first."""
    bins, found = 1 << bits, []
    for k in range(bits):
        wide = bins >> k
        found += [(low, low + wide, k) for low in range(0, bins - wide + 1, wide // 2)]
    return found


def slow_scores(counts: list[int], rows: int) -> list[int]:
    """The score of each run, cell by cell."""
    bits = len(counts).bit_length() - 1

    def out(low: int, high: int) -> int:
        return sum(count for place, count in enumerate(counts) if not low <= place < high)

    found = []
    for low, high, _ in runs(bits):
        wide = high - low
        score = min(0, rows - out(low, high))
        if wide > 2:
            halves = [(start, start + wide // 2) for start in (low, low + wide // 4, low + wide // 2)]
            score = min(score, min(out(*half) for half in halves) - rows)
        found.append(score)
    return found


class TestInterval:
    @pytest.mark.parametrize("bits", [1, 2, 3, 4, 7, 10])
    def test_candidates_are_the_half_overlapping_runs(self, bits: int) -> None:
        question = Interval(histograms(bits), 1, 3)
        assert [question.interval(index) for index in range(question.candidates)] == runs(bits)
        assert question.weights.tolist() == [1] * question.candidates
        assert question.all_alike

    def test_the_finest(self) -> None:
        question = Interval(histograms(17), 0, 100)
        assert question.candidates == 2**18 - 19 == len(question.scores(np.zeros(question.histograms.size, dtype=np.int64)))
        assert question.interval(question.candidates - 1) == (2**17 - 2, 2**17, 16)
        assert question.interval(0) == (0, 2**17, 0)
        assert not question.admits(np.array([question.candidates]))
        assert question.admits(np.array([question.candidates - 1]))

    @pytest.mark.parametrize("bits", [1, 2, 3, 5])
    @given(data=st.data())
    @EXAMPLES
    def test_scores_are_those_of_a_slow_count(self, bits: int, data: st.DataObject) -> None:
        counts = data.draw(arrays(np.int64, 3 << bits, elements=st.one_of(st.just(0), st.integers(0, 9))))
        column, rows = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 30))
        question = Interval(histograms(bits), column, rows)
        assert question.scores(counts).tolist() == slow_scores(counts[column << bits : (column + 1) << bits].tolist(), rows)

    @each_relation
    @given(data=st.data())
    @EXAMPLES
    def test_one_row_moves_each_score_by_at_most_one(self, neighbors: str, data: st.DataObject) -> None:
        """Missing cells among them: they are outside of nothing."""
        first, second = (total(histograms(5), rows) for rows in data.draw(drawn_neighbours(neighbors)))
        question = Interval(histograms(5), data.draw(st.integers(0, 2)), data.draw(st.integers(0, 8)))
        assert np.abs(question.scores(first) - question.scores(second)).max() <= 1

    @each_relation
    @given(data=st.data())
    @EXAMPLES
    def test_one_cell_of_many_rows_as_well(self, neighbors: str, data: st.DataObject) -> None:
        """Counts of all sizes; a cell moves to another bin, or from one that is missing, or vanishes."""
        counts = data.draw(arrays(np.int64, 3 << 4, elements=st.integers(0, 20)))
        counts[16 + data.draw(st.integers(0, 15))] += 1
        taken, other = int(data.draw(st.sampled_from(np.flatnonzero(counts[16:32]).tolist()))), counts.copy()
        other[16 + taken] -= 1
        if neighbors == "replace" and data.draw(st.booleans()):
            other[16 + data.draw(st.integers(0, 15))] += 1
        for rows in (0, 1, 10, 150, 400):
            question = Interval(histograms(4), 1, rows)
            assert np.abs(question.scores(counts) - question.scores(other)).max() <= 1

    @pytest.mark.parametrize("other", [[0, 1, 1, 0], [1, 1, 1, 0]], ids=["add-remove", "replace"])
    def test_two_scores_can_move_apart_by_two(self, other: list[int]) -> None:
        """What the rate is calibrated to: log-probabilities that range over 2·rate."""
        question = Interval(Histograms(Columns(((0, 1.0),), ()), 2), 0, 1)
        moved = question.scores(np.array([0, 1, 1, 1])) - question.scores(np.array(other))
        assert moved.max() - moved.min() == 2

    def test_the_best_holds_all_but_some_rows_and_none_of_its_halves_does(self) -> None:
        """Twenty cells in a narrow place and three elsewhere: with four rows outside it is found, with none all are inside."""
        counts = np.zeros(3 << 6, dtype=np.int64)
        counts[64 + 20], counts[64 + 21], counts[64 + 63], counts[64] = 10, 10, 2, 1
        for rows, expected in ((4, (20, 22)), (0, (0, 64))):
            question = Interval(histograms(6), 1, rows)
            scores = question.scores(counts)
            found = [question.interval(i)[:2] for i in np.flatnonzero(scores == scores.max()).tolist()]
            assert found == [expected]

    @pytest.mark.parametrize("column", [-1, 3, 0.0, True, np.int64(0), None], ids=repr)
    def test_another_column_is_refused(self, column: Any) -> None:
        with pytest.raises(ParameterError, match=r"column must be one of the numeric columns, got .+\. Hint: "):
            Interval(histograms(), column, 3)

    @pytest.mark.parametrize("rows", [-1, 2**61 + 1, 1.0, True, np.int64(3), None], ids=repr)
    def test_what_is_no_number_of_rows_is_refused(self, rows: Any) -> None:
        with pytest.raises(
            ParameterError, match=r"rows must be an integer of at least 0, got .+\. Hint: it says how many rows"
        ):
            Interval(histograms(), 0, rows)


# ------------------------------------------------------------------------------------------------------------ private units

LEVELS = {
    "two": LevelUnits((0, 1), (0.9, 0.1), (0.3, 0.35)),
    "pooled": LevelUnits((0, 1, 1), (0.3, 0.7), (0.4, 0.5)),
    "several": wider(),
    "none of them": LevelUnits((0, 1, 0), (0.5, 0.2, 0.3), (0.4, 0.45, 0.5)),
    "one, and none": LevelUnits((0,), (0.8, 0.2), (0.4, 0.41)),
    "far apart": LevelUnits((0, 1, 2), (1.0, 0.0, 0.0), (1e-6, 1e6, 1.0)),
    "many": LevelUnits(tuple(range(60)), (1 / 60,) * 60, tuple(0.3 + 0.01 * i for i in range(60))),
}


@pytest.mark.parametrize("levels", LEVELS.values(), ids=list(LEVELS))
class TestLevelUnits:
    def test_the_basis_is_orthonormal_and_orthogonal_to_the_divisors(self, levels: LevelUnits) -> None:
        basis, divisors = levels.basis, np.array(levels.divisors)
        assert basis.shape == (len(divisors), levels.size)
        assert np.allclose(basis.T @ basis, np.eye(levels.size), atol=1e-12)
        assert np.abs(divisors @ basis).max() <= 1e-12 * np.linalg.norm(divisors)

    def test_vectors_are_as_the_formula_says(self, levels: LevelUnits) -> None:
        k, shares = len(levels.shares), np.array(levels.shares)
        for level, group in enumerate(levels.groups):
            unit = np.zeros(k)
            unit[group] = 1.0
            expected = ((k - 1) / k) ** 0.25 * levels.basis.T @ ((unit - shares) / np.array(levels.divisors))
            assert np.allclose(levels.vectors[level], expected, rtol=1e-9, atol=1e-9)
        assert len(levels.vectors) == len(levels.groups) + 1

    def test_a_cell_that_is_none_of_them_is_the_mean_or_a_group_of_its_own(self, levels: LevelUnits) -> None:
        """Which has the share that is left."""
        k, shares = len(levels.shares), np.array(levels.shares)
        if set(levels.groups) == set(range(k)):
            assert not levels.vectors[-1].any()
            return
        unit = np.eye(k)[-1]
        expected = ((k - 1) / k) ** 0.25 * levels.basis.T @ ((unit - shares) / np.array(levels.divisors))
        assert np.allclose(levels.vectors[-1], expected, rtol=1e-9, atol=1e-9)
        assert levels.vectors[-1].any()

    def test_the_table_is_made_elementwise(self, levels: LevelUnits) -> None:
        """The same bits whenever it is made: sums are rounded once, in whatever order."""
        again = LevelUnits(levels.groups, levels.shares, levels.divisors)
        assert again.vectors.tobytes() == levels.vectors.tobytes()
        assert again.lengths.tobytes() == levels.lengths.tobytes()
        mirror = np.array(levels.divisors) / math.sqrt(math.fsum(s * s for s in levels.divisors))
        mirror[0] += 1.0
        middle = math.fsum(p * (1 / s) * m for p, s, m in zip(levels.shares, levels.divisors, mirror.tolist(), strict=True))
        for row, group in zip(levels.vectors[:-1].tolist(), levels.groups, strict=True):
            inward = [1 / s for s in levels.divisors]
            along = inward[group] * mirror[group] - middle
            plain = [((j == group) - p) * inv for j, (p, inv) in enumerate(zip(levels.shares, inward, strict=True))]
            assert row == [levels.stretch * (x - along * m / mirror[0]) for x, m in zip(plain[1:], mirror[1:], strict=True)]

    def test_vectors_and_back_are_inverse_to_each_other(self, levels: LevelUnits) -> None:
        k, shares, span = len(levels.shares), np.array(levels.shares), max(levels.divisors) / min(levels.divisors)
        inside = np.eye(k)[list(levels.groups)] - shares
        assert np.allclose(levels.vectors[:-1] @ levels.back.T, inside, atol=1e-14 * span + 1e-12)
        inward = levels.stretch * levels.basis / np.array(levels.divisors)[:, None]
        assert np.allclose(inward.T @ levels.back, np.eye(levels.size), atol=1e-14 * span + 1e-12)

    def test_the_mean_is_the_origin(self, levels: LevelUnits) -> None:
        own = [*levels.groups, len(levels.shares) - 1]  # a cell that is none of them is the last group, or of no share
        first = [own.index(group) for group in range(len(levels.shares))]
        mean = np.array(levels.shares) @ levels.vectors[first]
        assert np.abs(mean).max() <= 1e-12 * max(1.0, np.abs(levels.vectors).max())

    def test_lengths_are_those_of_the_vectors(self, levels: LevelUnits) -> None:
        assert np.allclose(levels.lengths, [float(v @ v) for v in levels.vectors], rtol=1e-12)
        assert (levels.lengths[-1] == 0) == (set(levels.groups) == set(range(len(levels.shares))))


def test_a_single_group_has_no_coordinate() -> None:
    levels = LevelUnits((0, 0, 0), (1.0,), (0.5,))
    assert (levels.size, levels.vectors.shape, levels.back.shape) == (0, (4, 0), (1, 0))


class TestUnits:
    def placed_by_hand(self, row: list[float]) -> list[float]:
        found = []
        for (where, _), one in zip(COLUMNS.numeric, UNITS.numeric, strict=True):
            if one.deviation > 0:
                z = (min(max(row[where], one.low), one.high) - one.centre) * (1 / one.deviation)
                found.append(0.0 if row[where] != row[where] else z)
        for (where, count), levels in zip(COLUMNS.levels, UNITS.levels, strict=True):
            known = 0 <= row[where] < count
            found += levels.vectors[int(row[where]) if known else -1].tolist()
        return found

    @given(rows=tables())
    @EXAMPLES
    def test_each_cell_has_its_own_coordinates(self, rows: Floats) -> None:
        by_hand = [self.placed_by_hand(row) for row in rows.tolist()]
        assert UNITS.placed(rows, 0.0).tolist() == by_hand
        assert UNITS.placed(rows, 0.7).tolist() == [[0.7, *row] for row in by_hand]

    @given(rows=tables())
    @EXAMPLES
    def test_squares_are_those_of_the_coordinates(self, rows: Floats) -> None:
        z = UNITS.placed(rows, 0.0)
        assert np.allclose(UNITS.squares(rows), (z * z).sum(axis=1), rtol=1e-12, atol=1e-300)

    def test_missing_cells_are_the_centre(self) -> None:
        """Of numbers and of levels; and so is the centre itself."""
        missing = np.full((1, D), np.nan)
        centre = np.array([[UNITS.numeric[0].centre, 0.0, 0.3, 0.0, UNITS.numeric[2].centre]])
        assert not UNITS.placed(missing, 0.0).any()
        assert UNITS.squares(missing).tolist() == [0.0]
        assert not UNITS.placed(centre, 0.0)[:, :2].any()
        unknown = missing.copy()
        unknown[:, [1, 3]] = [[3.0, -1.0]]
        assert not UNITS.placed(unknown, 0.0).any()

    def test_numbers_are_clipped_to_their_range(self) -> None:
        low, high = UNITS.numeric[0].low, UNITS.numeric[0].high
        cells = [low, -1e308, -np.inf, high, 1e308, np.inf]
        rows = np.full((6, D), np.nan)
        rows[:, 0] = cells
        z = UNITS.placed(rows, 0.0)[:, 0].tolist()
        assert z[0] == z[1] == z[2] == (low - UNITS.numeric[0].centre) * (1 / UNITS.numeric[0].deviation)
        assert z[3] == z[4] == z[5] == (high - UNITS.numeric[0].centre) * (1 / UNITS.numeric[0].deviation)

    def test_sizes(self) -> None:
        assert UNITS.size == 2 + 1 + 1
        assert (INNER.width, WHOLE.width) == (5, 4)
        assert (INNER.reach, INNER.bits, INNER.one, INNER.center) == (4**16, 16, 2**16, False)


class TestStandard:
    def test_what_underflows_raises_nothing(self) -> None:
        """Under a caller's np.seterr(all="raise") an exception would tell that there is such a cell."""
        units = replace(UNITS, numeric=tuple(NumericUnits(-0.5, 0.5, 0.0, 1e12) for _ in UNITS.numeric))
        rows = np.full_like(fuzz(904, 3), 1e-300)
        with np.errstate(all="raise"):
            assert np.array_equal(Standard(units, 0.7, 1.5).encode(rows), Standard(units, 0.7, 1.5).encode(0 * rows))

    @given(rows=tables())
    @EXAMPLES
    def test_any_floats_become_integers_inside_the_ball(self, rows: Floats) -> None:
        for standard in (INNER, WHOLE, Standard(UNITS, 1e-3, 2e-3), Standard(UNITS, 0.0, 1e9)):
            z = standard.encode(rows)
            assert z.shape == (len(rows), standard.width)
            assert all(sum(int(entry) ** 2 for entry in row) <= standard.reach for row in z.tolist())
            assert (z == np.rint(z)).all()

    def test_a_long_row_is_scaled_as_a_whole(self) -> None:
        """The constant in front shrinks with it: all integers have the ratios of (a, z), and the norm is the radius."""
        rows = np.array([[-1.0, 1.0, 0.0, 0.0, -1.0]])
        placed, (z,) = INNER.placed(rows)[0], INNER.encode(rows)
        norm = float(np.linalg.norm(placed))
        assert norm > 5 * INNER.row_norm
        assert np.allclose(z / INNER.one, placed / norm, atol=2 / INNER.one)
        assert z[0] < 0.2 * INNER.one * INNER.corner / INNER.row_norm

    def test_a_short_row_is_as_it_was(self) -> None:
        rows = np.full((1, D), np.nan)
        (z,) = INNER.encode(rows)
        assert z.tolist() == [round(INNER.one * INNER.corner / INNER.row_norm), 0, 0, 0, 0]

    @given(rows=tables())
    @EXAMPLES
    def test_norms_count_rows_by_their_squares(self, rows: Floats) -> None:
        question = STATISTICS["norms"]
        radii = (30.0 * question.radii) ** 2
        bins = [sum(square <= radius for radius in radii[1:]) for square in UNITS.squares(rows).tolist()]
        assert question.bins(rows).tolist() == bins
        assert total(question, rows).tolist() == np.bincount(bins, minlength=question.size).tolist()

    @each_relation
    @given(data=st.data())
    @FEW
    def test_one_row_moves_each_score_of_the_radius_by_at_most_one(self, neighbors: str, data: st.DataObject) -> None:
        norms = STATISTICS["norms"]
        first, second = (total(norms, rows) for rows in data.draw(drawn_neighbours(neighbors)))
        question = Quantile(norms, data.draw(st.integers(0, 6)))
        assert np.abs(question.scores(first) - question.scores(second)).max() <= 1

    @pytest.mark.parametrize("bits", [16, 14, 8])
    @each_relation
    def test_the_bounds_of_the_moment_are_nearly_attained(self, neighbors: str, bits: int) -> None:
        """By two long rows that are nearly orthogonal: within 1 %, on each grid; on 8 bits within 5 %."""
        standard = Standard(UNITS, 1e-3, 0.5, bits)
        question = SecondMoment(standard, standard.width)
        rows = np.full((2, D), np.nan)
        rows[0, 0], rows[1, 4] = -1.0, -1.0  # one far out in one column, one in another
        first, second = total(question, rows[:1]), total(question, rows[1:])
        other = second if neighbors == "replace" else np.zeros_like(second)
        squared, _ = distances(question, first, other)
        most = question.sensitivity_squared(neighbors)
        assert (0.99 if bits > 8 else 0.95) * most <= squared <= most

    def test_wild_units_are_ordinary_numbers(self) -> None:
        """The least deviations and divisors: coordinates of 1e12, whose squares are ordinary, too."""
        one, least = NumericUnits(-1.0, 1.0, -1.0, LEAST), LevelUnits((0, 1), (0.0, 1.0), (LEAST, 1e12))
        wild = Units(Columns(((0, 1.0),), ((1, 2),)), (one,), (least,))
        rows = np.array([[1.0, 0.0], [np.nan, 1.0], [1e308, np.nan]])
        assert np.isfinite(wild.placed(rows, 0.0)).all()
        assert np.isfinite(wild.squares(rows)).all()
        standard = Standard(wild, 1.0, 2.0)
        assert all(sum(int(x) ** 2 for x in row) <= standard.reach for row in standard.encode(rows).tolist())


WRONG_NUMERIC: list[Any] = [
    (0.5, -0.5, 0.0, 0.1),
    (0.5, 0.5, 0.5, 0.1),
    (-0.5, 0.5, 0.6, 0.1),
    (-0.5, 0.5, -0.6, 0.1),
    (-1.1, 0.5, 0.0, 0.1),
    (-0.5, 1.1, 0.0, 0.1),
    (-0.5, 0.5, 0.0, -0.1),
    (-0.5, 0.5, 0.0, LEAST / 2),
    (-0.5, 0.5, 0.0, 1e13),
    (-0.5, 0.5, 0.0, math.nan),
    (-0.5, 0.5, math.nan, 0.1),
    (-math.inf, 0.5, 0.0, 0.1),
    (-0.5, 0.5, 0, 0.1),
    (-0.5, 0.5, 0.0, True),
    (-0.5, np.float64(0.5), 0.0, 0.1),
    (-0.5, 0.5, 0.0, "0.1"),
]
WRONG_LEVELS: list[Any] = [
    ((0, 1), (0.5, 0.4), (1.0, 1.0)),
    ((0, 1), (0.5, 0.5 + 1e-8), (1.0, 1.0)),
    ((0, 1), (1.5, -0.5), (1.0, 1.0)),
    ((0, 1), (math.nan, 0.5), (1.0, 1.0)),
    ((0, 1), (0.5, 0.5), (1.0, 0.0)),
    ((0, 1), (0.5, 0.5), (1.0, -1.0)),
    ((0, 1), (0.5, 0.5), (1.0, math.nan)),
    ((0, 1), (0.5, 0.5), (1.0, 1e13)),
    ((0, 1), (0.5, 0.5), (1.0, LEAST / 2)),
    ((0, 1), (0.5, 0.5), (1.0,)),
    ((0, 1), (1.0,), (1.0,)),
    ((0, 0), (0.5, 0.25, 0.25), (1.0, 1.0, 1.0)),
    ((1, 2), (0.5, 0.5), (1.0, 1.0)),
    ((0, -1), (0.5, 0.5), (1.0, 1.0)),
    ((0, 2**62), (0.5, 0.5), (1.0, 1.0)),
    ((0,), (0.5, 0.25, 0.25), (1.0, 1.0, 1.0)),
    ((0, True), (0.5, 0.5), (1.0, 1.0)),
    ((0, 1.0), (0.5, 0.5), (1.0, 1.0)),
    ([0, 1], (0.5, 0.5), (1.0, 1.0)),
    ((0, 1), [0.5, 0.5], (1.0, 1.0)),
    ((0, 1), (1, 0), (1.0, 1.0)),
    ((), (), ()),
]


class TestRefusals:
    @pytest.mark.parametrize("numbers", WRONG_NUMERIC, ids=repr)
    def test_other_units_of_numbers(self, numbers: Any) -> None:
        with pytest.raises(
            ParameterError, match=r"units must be a range, a centre inside it and a deviation, got something else\. Hint: "
        ):
            NumericUnits(*numbers)

    @pytest.mark.parametrize("parts", WRONG_LEVELS, ids=repr)
    def test_other_units_of_levels(self, parts: Any) -> None:
        with pytest.raises(ParameterError, match=r"(groups|shares) of levels must .*, got something else\. Hint: "):
            LevelUnits(*parts)

    def test_units_of_other_columns(self) -> None:
        numeric, levels = UNITS.numeric, UNITS.levels
        wrong: list[Callable[[], Any]] = [
            lambda: Units(COLUMNS, numeric[:2], levels),
            lambda: Units(COLUMNS, numeric, levels[::-1]),
            lambda: Units(COLUMNS, numeric, levels[:1]),
            lambda: Units(COLUMNS, list(numeric), levels),  # type: ignore[arg-type]
            lambda: Units(COLUMNS, numeric, list(levels)),  # type: ignore[arg-type]
            lambda: Units(SCHEMA, numeric, levels),  # type: ignore[arg-type]
            lambda: Units(COLUMNS, (*numeric[:2], (0.0, 1.0, 0.5, 0.1)), levels),  # type: ignore[arg-type]
        ]
        for make in wrong:
            with pytest.raises(ParameterError, match=r"units must hold one entry for each column, got more or fewer\. Hint: "):
                make()

    def test_units_without_a_coordinate(self) -> None:
        constant = NumericUnits(-1.0, 1.0, 0.0, 0.0)
        with pytest.raises(ParameterError, match=r"units must leave at least one column that varies, got none\. Hint: "):
            Units(Columns(((0, 1.0),), ((1, 2),)), (constant,), (LevelUnits((0, 0), (1.0,), (1.0,)),))

    @pytest.mark.parametrize("corner", [-0.1, 1.0, 2.0, math.nan, math.inf, 0, True, None], ids=repr)
    def test_another_corner(self, corner: Any) -> None:
        with pytest.raises(ParameterError, match=r"corner must be 0 or more and below the radius, got something else\. Hint: "):
            Standard(UNITS, corner, 1.0)

    @pytest.mark.parametrize("radius", [0.0, -1.0, math.nan, math.inf, 1e-200, 1e300], ids=repr)
    def test_another_radius(self, radius: float) -> None:
        with pytest.raises(ParameterError, match=r"row_norm must be "):
            Standard(UNITS, 0.0, radius)

    def test_units_of_no_known_type(self) -> None:
        class Own(Units):
            """Nobody has proved it."""

        with pytest.raises(ParameterError, match=r"corner must be "):
            Standard(Own(COLUMNS, UNITS.numeric, UNITS.levels), 0.1, 1.0)


# ----------------------------------------------------------------------------------------------------------------- the door


class _OwnHistograms(Histograms):
    """Bins that nobody has proved."""


class _OwnColumns(Columns):
    """Columns that nobody has proved."""


NAMES = SCHEMA.feature_names
ENCODING = Encoding(NAMES, 1.0, constant=True, midpoints=True, schema=SCHEMA)
ELSEWHERE: dict[str, Encoding] = {
    "no schema": Encoding(NAMES, 1.0, constant=True, midpoints=True),
    "about zero": Encoding(NAMES, 1.0, constant=True, schema=SCHEMA),
    "pairs": Encoding(NAMES, 1.0, midpoints=True, pairs=True, schema=SCHEMA),
    "another norm": Encoding(NAMES, 2.0, constant=True, midpoints=True, schema=SCHEMA),
}
COARSE = Encoding(NAMES, 1.0, bits=12, constant=True, midpoints=True, schema=SCHEMA)
OTHER = Columns(COLUMNS.numeric, ((1, 2), (3, 3)))
SHIFTED = Columns(((0, COLUMNS.numeric[0][1] / 2), *COLUMNS.numeric[1:]), COLUMNS.levels)


def own(columns: Columns) -> Standard:
    groups = tuple(LevelUnits(tuple(range(n)), (1 / n,) * n, (1.0,) * n) for _, n in columns.levels)
    return Standard(Units(columns, UNITS.numeric, groups), 0.5, 1.0)


PROVED: dict[str, Any] = {**STATISTICS, "interval": Interval(histograms(), 1, 3), "radius": Quantile(STATISTICS["norms"], 3)}
UNPROVED: dict[str, Callable[[], Any]] = {
    "histograms of other levels": lambda: Histograms(OTHER, 4),
    "histograms of other bounds": lambda: Histograms(SHIFTED, 4),
    "histograms of a subclass": lambda: _OwnHistograms(COLUMNS, 4),
    "histograms of a subclass of columns": lambda: Histograms(_OwnColumns(COLUMNS.numeric, COLUMNS.levels), 4),
    "counts of other levels": lambda: LevelCounts(OTHER),
    "moments of a subclass": lambda: ColumnMoments(_OwnHistograms(COLUMNS, 4), (Range(0, 0, 4),)),
    "moments of other bounds": lambda: ColumnMoments(Histograms(SHIFTED, 4), (Range(0, 0, 4),)),
    "an interval of a subclass": lambda: Interval(_OwnHistograms(COLUMNS, 4), 1, 3),
    "an interval of other bounds": lambda: Interval(Histograms(SHIFTED, 4), 1, 3),
    "units of other levels": lambda: SecondMoment(own(OTHER), own(OTHER).width),
    "units of other bounds": lambda: SecondMoment(own(SHIFTED), own(SHIFTED).width),
    "too few coordinates": lambda: SecondMoment(INNER, INNER.width - 1),
    "norms of too many": lambda: Norms(WHOLE, WHOLE.width + 1, 1, 2),
    "NumPy's integers": lambda: SecondMoment(INNER, np.int64(INNER.width)),  # type: ignore[arg-type]
}


def asked(question: Any, encoding: Encoding) -> None:
    """Ask about a table that must not be read."""
    source = _Table(5, len(NAMES), encoding.schema)
    curator = opened(source, encoding, PureDP(1), "replace", SeededBits(906))
    if isinstance(question, Interval | Quantile):
        curator.choose(question, PureDP(1))
    else:
        curator.noisy(question, PureDP(1), noise="laplace")


class _Table(NoSource):
    @property
    def feature_names(self) -> tuple[str, ...]:
        return NAMES


class TestDoor:
    """Only questions about this curator's columns, as its schema encodes them, are answered."""

    @pytest.mark.parametrize("name", PROVED)
    def test_what_is_proved(self, name: str) -> None:
        with pytest.raises(AssertionError, match="the data were read"):
            asked(PROVED[name], ENCODING)

    @pytest.mark.parametrize("name", PROVED)
    @pytest.mark.parametrize("encoding", ELSEWHERE.values(), ids=list(ELSEWHERE))
    def test_of_rows_that_are_encoded_otherwise_it_is_not(self, encoding: Encoding, name: str) -> None:
        with pytest.raises(ParameterError, match=r"question must be about this curator's rows, got something else\. Hint: "):
            asked(PROVED[name], encoding)

    @pytest.mark.parametrize("name", ["norms", "second moment", "radius"])
    def test_private_units_have_the_bits_of_the_encoding(self, name: str) -> None:
        with pytest.raises(ParameterError, match=r"question must be about this curator's rows, got something else\. Hint: "):
            asked(PROVED[name], COARSE)

    @pytest.mark.parametrize("name", UNPROVED)
    def test_what_is_not(self, name: str) -> None:
        with pytest.raises(ParameterError, match=r"question must be about this curator's rows, got something else\. Hint: "):
            asked(UNPROVED[name](), ENCODING)
