"""Laws of the questions about radii: what they count, that one row moves them by at most one step, and all one way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.kernel.questions.choices import BIAS_BITS, Bias, Quantile, Radius, outside
from dpcov.kernel.questions.measure import Integers
from dpcov.kernel.questions.norms import Norms
from dpcov.kernel.rows.grid import Grid
from tests.helpers.rows import Floats

EXAMPLES = settings(max_examples=100)
STEP = 2**BIAS_BITS


def norms(per_octave: int = 1, octaves: int = 4) -> Norms:
    return Norms(Grid(1.0), 1, per_octave, octaves)


def rows_of(sizes: list[float]) -> Floats:
    return np.array(sizes, dtype=np.float64).reshape(-1, 1)


lengths = st.one_of(st.floats(0, 2), st.sampled_from([0.0, 2.0**-4, 0.25, 0.5, 1.0, 1e308, np.nan]))
sizes = st.lists(lengths, max_size=12)


@st.composite
def neighbours(draw: st.DrawFn, statistic: Norms) -> tuple[Integers, Integers]:
    """Counts of two tables that differ in one row: replaced, or removed."""
    kept, last = draw(sizes), draw(lengths)
    other = draw(st.one_of(st.none(), lengths))
    return (
        statistic.of(rows_of([*kept, last])),
        statistic.of(rows_of(kept if other is None else [*kept, other])),
    )


@pytest.mark.parametrize("kind", [Quantile, Radius])
@pytest.mark.parametrize("rows", [-1, 2**61 + 1, 1.0, True, np.int64(3), None])
def test_what_is_no_number_of_rows_is_refused(kind: Any, rows: Any) -> None:
    """NumPy's integers among them: they would wrap."""
    with pytest.raises(ParameterError, match=r"rows must be an integer of at least 0, got .+\. Hint: it says how many rows"):
        kind(norms(), rows)


@given(table=sizes)
@EXAMPLES
def test_outside_counts_the_rows_beyond_each_radius(table: list[float]) -> None:
    """None beyond the largest, as rows are clipped there; and at last all of them."""
    statistic = norms()
    limits = (statistic.radii[1:] * (1 + 2.0**-31)).tolist()
    clean = [0.0 if np.isnan(size) else size for size in table]
    expected = [0, *(sum(size > limit for size in clean) for limit in limits), len(table)]
    assert outside(statistic.of(rows_of(table))).tolist() == expected


class TestQuantile:
    @pytest.mark.parametrize("every", [1, 2, 4])
    @given(data=st.data())
    @EXAMPLES
    def test_a_score_is_minus_the_rows_in_the_wrong_place(self, every: int, data: st.DataObject) -> None:
        """Zero just where rows beyond τₖ are at most M and those beyond the next radius at least M."""
        statistic, table, wanted = norms(2, 4), data.draw(sizes), data.draw(st.integers(0, 15))
        question = Quantile(statistic, wanted, every)
        beyond = outside(statistic.of(rows_of(table))).tolist()
        chosen = [*beyond[:-1][::every], len(table)]
        expected = [-max(chosen[k] - wanted, wanted - chosen[k + 1], 0) for k in range(len(chosen) - 1)]
        scores = question.scores(statistic.of(rows_of(table)))
        assert scores.tolist() == expected
        assert len(expected) == 8 // every + 1 == len(question.weights)
        if 1 <= wanted <= len(table):  # the M-th largest norm lies in the bin of some radius with score 0
            place = int(np.sort(statistic.bins(rows_of(table)))[wanted - 1]) // every
            assert scores[place] == 0

    @pytest.mark.parametrize("every", [1, 4])
    @given(data=st.data())
    @EXAMPLES
    def test_one_row_moves_each_score_by_at_most_one(self, every: int, data: st.DataObject) -> None:
        statistic = norms(2, 4)
        first, second = data.draw(neighbours(statistic))
        question = Quantile(statistic, data.draw(st.integers(0, 15)), every)
        assert np.abs(question.scores(first) - question.scores(second)).max() <= 1

    @pytest.mark.parametrize("other", [[0, 2, 0, 1], [0, 2, 0, 0]], ids=["replace", "add-remove"])
    def test_two_scores_can_move_apart_by_two(self, other: list[int]) -> None:
        """A long row for a short one, or for none: what the rate is calibrated to, log-probabilities that range over 2·rate."""
        question = Quantile(norms(1, 3), 1)
        moved = question.scores(np.array([1, 2, 0, 0])) - question.scores(np.array(other))
        assert moved.tolist() == [1, 0, -1, -1]

    def test_weights_are_fourth_roots_of_the_radii(self) -> None:
        """In multiples of 2⁻²⁰, to the nearest: public, whatever the counts."""
        for every in (1, 8):
            weights = Quantile(norms(16, 10), 3, every).weights
            exact = 2.0 ** (20 - np.arange(0, 161, every) / 64)
            assert np.abs(weights - exact).max() <= 0.5 + 1e-6
            assert weights.dtype == np.int64

    def test_every_radius_can_be_chosen(self) -> None:
        """However small: a weight that rounds to 0 would leave no radius where all the others are out of reach."""
        assert Quantile(norms(1, 400), 3).weights.min() == 1

    def test_an_index_is_one_of_every_so_many(self) -> None:
        question = Quantile(norms(2, 4), 3, 4)
        assert [question.place(index) for index in range(3)] == [0, 4, 8]
        assert [question.radius(index) for index in range(3)] == [1.0, 0.25, 0.0625]  # two radii to the octave
        assert question.candidates == 3

    @pytest.mark.parametrize("every", [0, -1, 3, 9, 16, 1.5, 2.0, np.int8(2)])
    def test_what_does_not_divide_is_refused(self, every: Any) -> None:
        with pytest.raises(ParameterError, match=r"every must be an integer that divides \d+, got .+\. Hint: "):
            Quantile(norms(2, 4), 3, every)


class TestRadius:
    @given(table=sizes)
    @EXAMPLES
    def test_a_value_is_minus_the_rows_outside_from_the_smallest_up(self, table: list[float]) -> None:
        statistic = norms(1, 4)
        beyond = outside(statistic.of(rows_of(table))).tolist()
        values = Radius(statistic, 3).values(statistic.of(rows_of(table))).tolist()
        assert values == [-beyond[k] for k in (4, 3, 2, 1, 0)]
        assert values == sorted(values)
        assert values[-1] == 0  # at the largest radius nothing is outside

    @given(data=st.data())
    @EXAMPLES
    def test_one_row_moves_all_values_one_way(self, data: st.DataObject) -> None:
        statistic = norms(2, 4)
        first, second = data.draw(neighbours(statistic))
        question = Radius(statistic, 3)
        assert set((question.values(first) - question.values(second)).tolist()) in ({0}, {0, 1}, {0, -1})
        assert question.step == 1

    def test_without_noise_it_is_the_smallest_radius_with_few_rows_outside(self) -> None:
        statistic = norms(1, 4)
        counts = statistic.of(rows_of([1.0, 0.4, 0.2, 0.2, 0.01]))
        for allowed, radius in [(0, 0), (1, 1), (2, 2), (3, 2), (4, 4), (9, 4)]:
            question = Radius(statistic, allowed)
            found = int(np.flatnonzero(question.values(counts) >= question.threshold)[0])
            assert question.place(found) == radius

    def test_an_index_is_counted_from_the_smallest(self) -> None:
        question = Radius(norms(1, 4), 3)
        assert [question.place(index) for index in range(6)] == [4, 3, 2, 1, 0, 0]  # beyond the last: the largest
        assert [question.radius(index) for index in range(6)] == [0.0625, 0.125, 0.25, 0.5, 1.0, 1.0]
        assert question.candidates == 6


class TestBias:
    def question(self, first: int = 0, octaves: int = 4, noise: int = 0) -> Bias:
        return Bias(norms(1, octaves), first, (noise,) * (octaves + 1 - first))

    @pytest.mark.parametrize("first", [0, 1, 4])
    @given(table=sizes)
    @EXAMPLES
    def test_a_value_is_what_clipping_takes_less_the_noise(self, first: int, table: list[float]) -> None:
        """By rows: from the radius of its bin, τ_first at most, to τₖ, squared, in steps of τ_first²·2⁻¹⁶."""
        statistic = norms(1, 4)
        noises = tuple(range(100, 105 - first))
        bins = [max(int(b), first) for b in statistic.bins(rows_of(table))] if table else []
        squares = [4 ** (first - k) for k in range(5)]
        lost = [sum(max(squares[b] - squares[k], 0) for b in bins) * STEP for k in range(first, 5)]
        values = Bias(statistic, first, noises).values(statistic.of(rows_of(table)))
        assert values.tolist() == [int(bias) - noise for bias, noise in zip(lost, noises, strict=True)]

    @pytest.mark.parametrize("octaves", [4, 12, 60, 400])
    @given(data=st.data())
    @EXAMPLES
    def test_one_row_moves_all_values_one_way_by_a_step_at_most(self, octaves: int, data: st.DataObject) -> None:
        question = self.question(data.draw(st.integers(0, octaves)), octaves)
        first, second = data.draw(neighbours(question.norms))
        moved = question.values(first) - question.values(second)
        assert np.abs(moved).max() <= STEP == question.step
        assert np.all(moved >= 0) or np.all(moved <= 0)

    def test_a_whole_step_is_reached(self) -> None:
        """A long row dropped, or replaced by an empty one: nine octaves down its bias is all of it."""
        question = self.question(1, 12)
        counts = [question.norms.of(rows_of(table)) for table in ([1.0], [0.0], [])]
        for other in counts[1:]:
            assert (question.values(counts[0]) - question.values(other)).max() == STEP

    def test_radii_too_small_for_a_step_lose_nothing_more(self) -> None:
        """Beyond eight octaves 4^{−k} is less than a step; no shift by 64 bits or more, whatever the number of octaves."""
        values = self.question(0, 60).values(np.array([0] * 59 + [5, 7]))
        assert not values.any()
        values = self.question(0, 60).values(np.array([1] + [0] * 60)).tolist()
        assert values[:9] == [STEP - STEP // 4**k for k in range(9)]
        assert set(values[9:]) == {STEP}

    def test_an_index_means_the_radius_before(self) -> None:
        question = self.question(2, 4)
        assert [question.place(index) for index in range(4)] == [2, 2, 3, 4]  # the last: no query was above
        assert [question.radius(index) for index in range(4)] == [0.25, 0.25, 0.125, 0.0625]
        assert question.candidates == 4

    @pytest.mark.parametrize(("per_octave", "first"), [(2, 0), (1, -1), (1, 5)])
    def test_other_radii_are_refused(self, per_octave: int, first: int) -> None:
        with pytest.raises(ParameterError, match=r"bias must be asked in whole octaves .*, got something else\. Hint: "):
            Bias(norms(per_octave, 4), first, (0,) * 5)

    @pytest.mark.parametrize(
        "noises",
        [(), (0,) * 4, (0,) * 6, (0, 0, 0, 0, 0.5), (0, 0, 0, 0, True), (0, 0, 0, 0, 2**61 + 1), [0] * 5],  # a list may change
    )
    def test_other_noises_are_refused(self, noises: Any) -> None:
        with pytest.raises(ParameterError, match=r"noises must hold an integer for each radius, got something else\. Hint: "):
            Bias(norms(1, 4), 0, noises)
