"""Laws of bins, ranks, priors and norms from a centre: what they count, for any floats, and how far one row moves them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import PureDP
from dpcov.kernel.questions.bins import Bins, Rank
from dpcov.kernel.questions.choices import Quantile
from dpcov.kernel.questions.measure import Integers
from dpcov.kernel.questions.moments import NEIGHBORS, SecondMoment, Sum
from dpcov.kernel.questions.norms import Norms, Trace
from dpcov.kernel.rows.frames import Ball, Box, Ellipsoid
from dpcov.kernel.rows.grid import Grid
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import NoSource, opened
from tests.helpers.rows import Floats, fuzz, neighbours, tables

EXAMPLES = settings(max_examples=40)
COUNTS = [1, 2, 3, 7, 64, 1000]

each_d = pytest.mark.parametrize("d", [1, 2, 5])
each_count = pytest.mark.parametrize("count", COUNTS)


def box(d: int) -> Box:
    """Centres that no sum rounds, half widths that are powers of two: exact places can be told by hand."""
    return Box(tuple((np.arange(d) - 1.0).tolist()), tuple((2.0 ** (np.arange(d) - 1)).tolist()))


def bins(d: int, count: int = 4) -> Bins:
    return Bins(box(d), d, count)


def place(x: float, centre: float, half: float, count: int) -> int:
    """The bin of one entry: the ends hold all that is beyond, the centre's all that is missing."""
    y = (x - centre) / half if np.isfinite(x) else 0.0
    return min(int((min(max(y, -1.0), 1.0) + 1.0) * (count / 2)), count - 1)


def total(statistic: Any, rows: Floats, block_rows: int | None = None) -> Integers:
    return ArraySource(rows, block_rows).total(statistic)


@st.composite
def drawn_neighbours(draw: st.DrawFn, d: int, neighbors: str) -> tuple[Floats, Floats]:
    return neighbours(draw(tables(d, least=1)), draw(tables(d, 1, 1)), neighbors)


class TestBins:
    @each_d
    @each_count
    @given(data=st.data())
    @EXAMPLES
    def test_any_floats_fall_where_plain_python_says(self, d: int, count: int, data: st.DataObject) -> None:
        statistic, rows = bins(d, count), data.draw(tables(d))
        expected = [
            [place(x, c, h, count) for x, c, h in zip(row, statistic.grid.centre, statistic.grid.halves, strict=True)]
            for row in rows.tolist()
        ]
        assert statistic.places(rows).tolist() == expected
        by_hand = np.zeros((d, count), dtype=np.int64)
        for row in expected:
            by_hand[range(d), row] += 1
        assert total(statistic, rows).tolist() == by_hand.ravel().tolist()
        assert statistic.parts[0].size == d * count == len(total(statistic, rows))

    def test_bins_are_equal_and_hold_their_lower_ends(self) -> None:
        rows = np.array([[-1.5], [-1.25], [np.nextafter(-1.25, -2)], [-1.0], [-0.75], [-0.5], [9.0], [-1e308], [np.nan]])
        assert bins(1).places(rows).ravel().tolist() == [0, 1, 0, 2, 3, 3, 3, 0, 2]

    @pytest.mark.parametrize("d", [1, 13])
    def test_a_place_depends_on_its_entry_alone(self, d: int) -> None:
        statistic, rows = Bins(Box((0.1,) * d, (0.7,) * d), d, 1000), fuzz(821, 130, d)
        alone = np.concatenate([statistic.places(row[None]) for row in rows])
        expected = total(statistic, rows)
        for size in range(1, 131):
            parts = [statistic.places(rows[start : start + size]) for start in range(0, 130, size)]
            assert np.array_equal(np.concatenate(parts), alone)
            assert np.array_equal(total(statistic, rows, size), expected)
        orders: list[Literal["C", "F"]] = ["C", "F"]
        for order in orders:
            same = np.array(np.random.default_rng(821).permutation(rows), order=order)
            with np.errstate(all="raise"):
                assert np.array_equal(statistic.of(same, scratch=True), expected)

    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @each_d
    @given(data=st.data())
    @EXAMPLES
    def test_neighbours_move_no_further(self, d: int, neighbors: str, data: st.DataObject) -> None:
        statistic = bins(d, 7)
        first, second = data.draw(drawn_neighbours(d, neighbors))
        moved = total(statistic, first) - total(statistic, second)
        assert (moved**2).sum() <= statistic.sensitivity_squared(neighbors)
        assert np.abs(moved).sum() <= statistic.sensitivity_l1(neighbors)

    @each_d
    def test_the_bounds_are_attained(self, d: int) -> None:
        """By rows in opposite corners, with equality: any smaller constant would be broken."""
        statistic, corner = bins(d), np.full((1, d), 1e6)
        for neighbors, other in (("replace", -corner), ("add-remove", corner[:0])):
            moved = total(statistic, corner) - total(statistic, other)
            assert (moved**2).sum() == statistic.sensitivity_squared(neighbors)
            assert np.abs(moved).sum() == statistic.sensitivity_l1(neighbors)

    @pytest.mark.parametrize("count", [0, -1, 2**24 + 1, 2**23 + 1, 4.0, True, np.int64(4), None], ids=repr)
    def test_other_numbers_of_bins_are_refused(self, count: Any) -> None:
        with pytest.raises(ParameterError, match=r"bins must be at least 1 for each column .*, got more or fewer\. Hint: "):
            bins(2, count)


class TestRank:
    @given(data=st.data())
    @EXAMPLES
    def test_a_score_is_minus_the_rows_in_the_wrong_place(self, data: st.DataObject) -> None:
        """In its own column: zero where at most M rows lie below the bin and at least M below its end."""
        statistic, rows, wanted = bins(3, 8), data.draw(tables(3, most=12)), data.draw(st.integers(0, 15))
        counts = total(statistic, rows)
        for column in range(3):
            places = statistic.places(rows)[:, column].tolist()
            below = [sum(one < k for one in places) for k in range(9)]
            expected = [-max(below[k] - wanted, wanted - below[k + 1], 0) for k in range(8)]
            question = Rank(statistic, column, wanted)
            assert question.scores(counts).tolist() == expected
            assert question.weights.tolist() == [1] * 8
            assert (question.candidates, question.middle(5)) == (8, 0.375)
            if 1 <= wanted <= len(rows):  # the bin of the M-th smallest value
                assert question.scores(counts)[sorted(places)[wanted - 1]] == 0

    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @given(data=st.data())
    @EXAMPLES
    def test_one_row_moves_each_score_by_at_most_one(self, neighbors: str, data: st.DataObject) -> None:
        statistic = bins(2, 8)
        first, second = (total(statistic, rows) for rows in data.draw(drawn_neighbours(2, neighbors)))
        question = Rank(statistic, data.draw(st.integers(0, 1)), data.draw(st.integers(0, 8)))
        assert np.abs(question.scores(first) - question.scores(second)).max() <= 1

    @pytest.mark.parametrize("other", [[0, 2, 0, 1], [0, 2, 0, 0]], ids=["replace", "add-remove"])
    def test_two_scores_can_move_apart_by_two(self, other: list[int]) -> None:
        """What the rate is calibrated to: log-probabilities that range over 2·rate."""
        moved = Rank(bins(1), 0, 1).scores(np.array([1, 2, 0, 0])) - Rank(bins(1), 0, 1).scores(np.array(other))
        assert moved.tolist() == [1, 0, -1, -1]

    @pytest.mark.parametrize("column", [-1, 2, 0.0, True, np.int64(0), None], ids=repr)
    def test_another_column_is_refused(self, column: Any) -> None:
        with pytest.raises(
            ParameterError, match=r"column must be an integer from 0 to \d+, got .+\. Hint: columns count from 0"
        ):
            Rank(bins(2), column, 3)

    @pytest.mark.parametrize("rows", [-1, 2**61 + 1, 1.0, True, np.int64(3), None], ids=repr)
    def test_what_is_no_number_of_rows_is_refused(self, rows: Any) -> None:
        with pytest.raises(
            ParameterError, match=r"rows must be an integer of at least 0, got .+\. Hint: it says how many rows"
        ):
            Rank(bins(2), 0, rows)


class TestPrior:
    NORMS = Norms(Ball((0.5,), 1.0), 1, 2, 4)

    def test_it_is_the_weights_and_changes_no_score(self) -> None:
        prior = tuple(range(1, 10))
        question, plain = Quantile(self.NORMS, 2, 1, prior), Quantile(self.NORMS, 2)
        counts = total(self.NORMS, fuzz(823, 30, 1))
        assert question.weights.tolist() == list(prior) != plain.weights.tolist()
        assert question.weights.dtype == np.int64
        assert question.scores(counts).tolist() == plain.scores(counts).tolist()
        assert Quantile(self.NORMS, 2, 4, (2**30, 1, 1)).weights.tolist() == [2**30, 1, 1]

    @pytest.mark.parametrize("weight", [0, -1, 2**30 + 1, 1.0, True, np.int64(1)], ids=repr)
    def test_other_weights_are_refused(self, weight: Any) -> None:
        for prior in ((1,) * 8 + (weight,), (1,) * 8, (1,) * 10, [1] * 9):
            with pytest.raises(
                ParameterError, match=r"prior must hold an integer from 1 to 2\*\*30 .*, got something else\. Hint: "
            ):
                Quantile(self.NORMS, 2, 1, prior)  # type: ignore[arg-type]


class TestNorms:
    @each_d
    def test_norms_are_seen_from_the_centre(self, d: int) -> None:
        """The bins of the rows less the centre, whatever block they are in."""
        ball = Ball(tuple((0.25 * np.arange(d) - 1.0).tolist()), 3.0)
        rows = np.concatenate([fuzz(824, 60, d), np.random.default_rng(824).normal(size=(70, d))])
        with np.errstate(all="ignore"):
            expected = Norms(Grid(3.0), d, 4, 6).bins(rows - np.array(ball.centre)).tolist()
        assert len(set(expected)) > 5
        assert Norms(ball, d, 4, 6).bins(np.asfortranarray(rows)).tolist() == expected
        for size in range(1, 131):
            parts = [Norms(ball, d, 4, 6).bins(rows[start : start + size]) for start in range(0, 130, size)]
            assert np.concatenate(parts).tolist() == expected


CENTRE = (0.0, 0.0)
BALL, BOX, ELLIPSOID = Ball(CENTRE, 2.0), Box(CENTRE, (1.0, 2.0)), Ellipsoid(CENTRE, np.eye(2))
PROVED: list[Any] = [Sum(BALL, 2), Sum(BOX, 2), Sum(ELLIPSOID, 2), SecondMoment(BALL, 2), SecondMoment(ELLIPSOID, 2)]
PROVED += [Trace(BALL, 2), Trace(ELLIPSOID, 2), Norms(BALL, 2, 1, 2), Bins(BOX, 2, 3)]


class _Larger(Ball):
    """A clip that nobody has proved."""


LARGER, THREE = _Larger(CENTRE, 2.0), Ball((0.0, 0.0, 0.0), 2.0)
UNPROVED: dict[str, Any] = {
    "moment of a box": lambda: SecondMoment(BOX, 2),  # type: ignore[arg-type]
    "trace of a box": lambda: Trace(BOX, 2),  # type: ignore[arg-type]
    "bins of a ball": lambda: Bins(BALL, 2, 3),  # type: ignore[arg-type]
    "norms of a subclass": lambda: Norms(LARGER, 2, 1, 2),
    "sum over a subclass": lambda: Sum(LARGER, 2),
    "more columns": lambda: Sum(THREE, 3),
    "a longer centre": lambda: Sum(THREE, 2),
    "fewer bins": lambda: Bins(BOX, 1, 3),
    "NumPy's integers": lambda: Sum(BALL, np.int64(2)),  # type: ignore[arg-type]
}


def asked(statistic: Any, grid: Grid) -> None:
    """Ask about two columns that must not be read."""
    opened(NoSource(5, 2), grid, PureDP(1), "replace", SeededBits(825)).noisy(statistic, PureDP(1), noise="laplace")


class TestDoor:
    """Only sums over rows in a frame whose clip is proved, of the curator's columns, are answered."""

    @pytest.mark.parametrize("statistic", PROVED, ids=lambda statistic: f"{statistic.name} {type(statistic.grid).__name__}")
    def test_what_is_proved(self, statistic: Any) -> None:
        """It is read for, which fails this source; of centred rows it is refused before that."""
        with pytest.raises(AssertionError, match="the data were read"):
            asked(statistic, Grid(1.0))
        with pytest.raises(ParameterError, match=r"question must be about this curator's rows, got something else\. Hint: "):
            asked(statistic, Grid(1.0, center=True))

    @pytest.mark.parametrize("name", UNPROVED)
    def test_what_is_not(self, name: str) -> None:
        with pytest.raises(ParameterError, match=r"question must be about this curator's rows, got something else\. Hint: "):
            asked(UNPROVED[name](), Grid(1.0))

    def test_a_rank_is_about_this_curators_columns(self) -> None:
        """And costs nothing where it is not."""
        curator = opened(ArraySource(np.zeros((5, 2))), Grid(1.0), PureDP(1), "replace", SeededBits(825))
        for question in (Rank(bins(1), 0, 2), Rank(bins(3), 0, 2)):
            with pytest.raises(
                ParameterError, match=r"question must be about this curator's rows, got something else\. Hint: "
            ):
                curator.choose(question, PureDP(1))
        answer = curator.choose(Rank(bins(2), 1, 2), PureDP(1))
        assert answer.integers.shape == (1,)
        assert answer.question == Rank(bins(2), 1, 2)
        assert [spend.asked for one in curator.answers for spend in one.spent] == ["quantile"]
