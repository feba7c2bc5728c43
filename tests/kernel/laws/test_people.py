"""What one person can move, whatever rows it has: integers, for any floats, and any number of rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import hypothesis.extra.numpy as arrays
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcov.errors import EngineError
from dpcov.kernel.questions.along import Diagonal, Explained
from dpcov.kernel.questions.asked import ASKED
from dpcov.kernel.questions.basis import GivenBasis
from dpcov.kernel.questions.bins import Bins, Rank
from dpcov.kernel.questions.choices import Bias, Choice, Indexed, Quantile, Radius, Search
from dpcov.kernel.questions.columns import Squares, block_of
from dpcov.kernel.questions.measure import Measure, Question
from dpcov.kernel.questions.moments import Count, SecondMoment, Sum
from dpcov.kernel.questions.norms import Norms, Trace
from dpcov.kernel.questions.overlap import Overlap
from dpcov.kernel.questions.remade import remade
from dpcov.kernel.questions.spectral import Spectrum
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.aside import MOST_PEOPLE, SHARE_BITS, USUAL_PEOPLE, Aside, aside_of, thetas
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.frames import Ball, Box, Ellipsoid
from dpcov.kernel.rows.grid import Grid, bits_for, squared_norms
from dpcov.kernel.sums import ExactSums
from dpcov.linalg import unpack
from dpcov.sources.array import ArraySource
from tests.helpers.people import aside, asked, encoding_of, exact, joined, public_of, source_of

GRID, CENTRED = Grid(1.0), Grid(1.0, center=True)
BALL, BOX = Ball((0.1, -0.2), 0.7), Box((0.1, -0.2), (0.7, 0.5))
TURN = np.linalg.qr(np.arange(4.0).reshape(2, 2) + np.eye(2))[0]
MOMENT = SecondMoment(GRID, 2)
NORMS = Norms(GRID, 2, 2, 4)

MEASURES: dict[str, tuple[Any, Grid]] = {
    "sum": (Sum(GRID, 2), GRID),
    "sum in a ball": (Sum(BALL, 2), GRID),
    "sum in a box": (Sum(BOX, 2), GRID),
    "second moment": (MOMENT, GRID),
    "centred": (SecondMoment(CENTRED, 3), CENTRED),
    "of one column": (block_of(MOMENT, (1,)), GRID),
    "beyond": (SecondMoment(Annulus(Grid(0.3), Grid(0.9)), 2), GRID),
    "in an ellipsoid": (SecondMoment(Ellipsoid((0.0, 0.1), np.array([[1.5, 0.2], [0.0, 2.5]])), 2), GRID),
    "squares": (Squares(MOMENT), GRID),
    "spectrum": (Spectrum(MOMENT, 2), GRID),
    "diagonal": (Diagonal.of(MOMENT, GivenBasis(TURN)), GRID),
    "explained": (Explained.of(MOMENT, GivenBasis(TURN[:, :1])), GRID),
    "overlap": (Overlap(MOMENT, GivenBasis(TURN), (0.3, 1.0)), GRID),
    "trace": (Trace(GRID, 2), GRID),
    "trace in a ball": (Trace(BALL, 2), GRID),
    "norms": (NORMS, GRID),
    "bins": (Bins(BOX, 2, 8), GRID),
}

PICKED: dict[str, Any] = {
    "quantile": Quantile(NORMS, 2),
    "radius": Radius(NORMS, 1),
    "bias": Bias(Norms(GRID, 2, 1, 4), 1, (100, 2000, 30_000, 400_000)),
    "rank": Rank(Bins(BOX, 2, 8), 1, 2),
}

wild = st.one_of(
    st.floats(-2, 2), st.floats(allow_nan=True, allow_infinity=True), st.sampled_from([0.0, -0.0, 1.0, 2.0**-17, 1e308, 1e-300])
)
someone = arrays.arrays(np.float64, st.tuples(st.integers(1, 7), st.just(2)), elements=wild)
others = st.lists(someone, max_size=3)


def distances(question: Measure, one: Any, other: Any) -> tuple[Fraction, Fraction]:
    """Return the weighted squared distance and the L1 distance of two exact sums."""
    gaps = [abs(int(a) - int(b)) for a, b in zip(one, other, strict=True)]
    weights = [part.weight for part in question.parts for _ in range(part.size)]
    return Fraction(sum(w * gap**2 for w, gap in zip(weights, gaps, strict=True))), Fraction(sum(gaps))


@pytest.mark.parametrize("name", MEASURES)
@settings(max_examples=60, deadline=None)
@given(shared=others, first=someone, second=someone)
def test_a_person_moves_a_sum_no_further_than_a_row(name: str, shared: Any, first: Any, second: Any) -> None:
    question, grid = MEASURES[name]
    question = asked(question, 2)
    with_first, with_second = (exact([*shared, one], question, grid) for one in (first, second))
    squared, total = distances(question, with_first, with_second)
    assert squared <= question.sensitivity_squared("replace")
    assert total <= question.sensitivity_l1("replace")
    if shared:
        squared, total = distances(question, with_first, exact(shared, question, grid))
        assert squared <= question.sensitivity_squared("add-remove")
        assert total <= question.sensitivity_l1("add-remove")
    if isinstance(question, SecondMoment):
        gap = unpack(with_first, question.d) - unpack(with_second, question.d)
        nuclear = np.abs(np.linalg.eigvalsh(gap.astype(np.float64))).sum()
        assert nuclear <= question.sensitivity_nuclear("replace") * (1 + 1e-12)


@pytest.mark.parametrize("name", PICKED)
@settings(max_examples=100, deadline=None)
@given(shared=others, first=someone, second=someone)
def test_a_person_moves_scores_and_queries_by_one_person(name: str, shared: Any, first: Any, second: Any) -> None:
    question: Indexed = asked(PICKED[name], 2)
    neighbours = [exact([*shared, one], question, GRID) for one in (first, second)]
    neighbours += [exact(shared, question, GRID)] if shared else []
    for other in neighbours[1:]:
        if isinstance(question, Choice):
            assert np.abs(question.scores(neighbours[0]) - question.scores(other)).max() <= question.moved
        else:
            assert isinstance(question, Search)
            moves = question.values(neighbours[0]) - question.values(other)
            assert max(moves.max(), 0) - min(moves.min(), 0) <= question.step


def test_queries_of_people_are_not_monotone() -> None:
    """Two rows of norms 1 and 1/10 against two of 3/10: one query rises by half a person, another falls by as much."""
    question = asked(Radius(Norms(GRID, 2, 1, 3), 1), 2)
    rows = [np.array([[1.0, 0.0], [0.1, 0.0]]), np.array([[0.3, 0.0], [0.3, 0.0]])]
    moves = np.subtract(*(question.values(exact([one], question, GRID)) for one in rows))
    assert (int(moves.min()), int(moves.max())) == (-question.step // 2, question.step // 2)


class TestShares:
    """⌊2⁵²/m⌋: what a row counts, and what it is multiplied with."""

    @settings(max_examples=300, deadline=None)
    @given(
        m=st.one_of(st.integers(1, 100_000), st.sampled_from([2**b + e for b in (1, 8, 26, 40, 52) for e in (-1, 0, 1)])),
        z=st.lists(st.integers(-(2**16), 2**16), min_size=1, max_size=5),
        finer=st.integers(0, 2),
    )
    def test_all_rows_of_a_person_together_are_within_the_radius(self, m: int, z: list[int], finer: int) -> None:
        length, share = sum(number**2 for number in z), np.array([float(2**SHARE_BITS // m)])
        for reach in {min(length + slack, 4**16) for slack in (0, 1, 1000)} if length <= 4**16 else ():
            found = Aside("who", finer, 18).scaled(np.array([z], dtype=np.float64), share, reach)
            assert m * int(squared_norms(found)[0]) <= reach << 2 * finer

    @settings(max_examples=300, deadline=None)
    @given(m=st.integers(1, 2**40))
    def test_counts_of_a_person_are_at_most_one(self, m: int) -> None:
        beside = aside(2)
        share = np.array([float(2**SHARE_BITS // m)])
        assert m * int(beside.counted(share)[0]) <= 2**beside.share_bits < m * (int(beside.counted(share)[0]) + 1)

    @pytest.mark.parametrize("people", [1, 2**20, USUAL_PEOPLE, USUAL_PEOPLE + 1, 2**28 + 1, 2**30 + 1, MOST_PEOPLE])
    def test_nothing_wraps_for_as_many_people_as_there_may_be(self, people: int) -> None:
        """A bias counts in 2¹⁶, cells in 2¹⁶ with a weight of 2, sums in 2ᵏ, rows in 4ᵏ⁺ᵉ: times all people below 2⁶²."""
        bits = bits_for(people)
        found = aside_of("who", bits, people)
        assert people << (found.share_bits + 17) <= 2**61
        assert people << (found.share_bits + bits) <= 2**61
        assert people << 2 * (bits + found.finer) <= 2**62
        assert found.share_bits >= 10

    def test_many_small_rows_are_not_lost(self) -> None:
        """A hundred rows a person, of 5, 30, 99 and 500 steps: truncation at 16 bits would keep 0, .44, .83, .96 of squares."""
        kept = []
        for length in (5, 30, 99, 500):
            rows = np.random.default_rng(7200).integers(-length, length, (4000, 6), endpoint=True).astype(np.float64)
            scaled = aside(2).scaled(rows.copy(), np.full(4000, float(2**SHARE_BITS // 100)), 4**16)
            kept.append(float((scaled**2).sum() * 100 / 16 / (rows**2).sum()))
        assert np.all(np.abs(np.array(kept) - 1) < (0.2, 0.01, 0.001, 0.0001)), kept


def test_every_person_counts_once_and_nobody_s_rows_do_not() -> None:
    draw = np.random.default_rng(7201)
    people = [draw.normal(size=(m, 2)) * 0.3 for m in (1, 2, 3, 10, 1000)]
    nobody = np.column_stack([np.ones((50, 2)), np.full(50, np.nan)])
    whole = public_of(2, GRID).second_moment()
    found = exact(people, whole, GRID)
    with_nobody = ArraySource(np.concatenate([joined(people), nobody]), aside=aside(2))
    assert with_nobody.n == 5
    assert (with_nobody.total(whole) == found).all()
    by_hand = np.sum([np.mean([np.outer(x, x) for x in _clipped(rows)], axis=0) for rows in people], axis=0)
    assert unpack(found, 2) / 2.0**whole.unit_bits == pytest.approx(by_hand, abs=1e-4)


def test_people_are_counted_once_also_where_other_sums_are_read_with_them() -> None:
    """Under add-remove a mechanism may read a moment and the count ahead: all rows of one person are still one."""
    draw = np.random.default_rng(7203)
    source = source_of([draw.normal(size=(m, 2)) for m in (1, 2, 1000)])
    sums = ExactSums(source, encoding_of(source, GRID), "add-remove")
    count = asked(Count(), 2)
    sums.prefetch(asked(MOMENT, 2), count, asked(NORMS, 2))
    assert sums.read(count).tolist() == [3]
    with pytest.raises(EngineError, match="must count people itself"):
        count.of(np.ones((2, 3)))


def _clipped(rows: Any) -> Any:
    return rows / np.maximum(np.linalg.norm(rows, axis=1), 1.0)[:, None]


@pytest.mark.parametrize("name", MEASURES)
def test_the_integers_are_the_same_for_every_block_and_order(name: str) -> None:
    question, grid = MEASURES[name]
    question = asked(question, 2)
    draw = np.random.default_rng(7202)
    people = [draw.normal(size=(m, 2)) for m in (1, 5, 40, 3, 90)]
    found = exact(people, question, grid)
    for block in (1, 7, 64):
        assert (exact(people, question, grid, block) == found).all()
    assert (exact(people[::-1], question, grid) == found).all()
    assert (exact([rows[::-1] for rows in people], question, grid) == found).all()


def test_each_question_says_whether_it_is_proved_for_people() -> None:
    """What says nothing is not: a new question is refused until somebody has proved it."""
    assert not Question.serves_people
    assert all(question.serves_people for question in ASKED)


ROW = st.tuples(wild, wild, st.one_of(wild, st.floats(0, 10)))
weighed = st.lists(ROW, min_size=1, max_size=6).map(lambda rows: np.array(rows, dtype=np.float64))
PARTIAL: dict[str, Any] = {
    "weights": {"weight": "x2", "max_weight": 3.0},
    "many rows": {"most_rows": 4},
    "both": {"weight": "x2", "max_weight": 3.0, "most_rows": 4},
}


class TestPartial:
    """People who count less than once: a contribution is a point of the hull with 0, so 0 itself is a neighbour's as well."""

    def read(self, people: Any, question: Any, beside: Aside, grid: Grid = GRID) -> Any:
        source = ArraySource(joined(people), columns=["x0", "x1"], aside=beside)
        made = remade(question, beside)
        encoding = Encoding(source.feature_names, grid.row_norm, grid.bits, grid.center, midpoints=grid.center, aside=beside)
        return made, ExactSums(source, encoding, "replace").read(made)

    @pytest.mark.parametrize("way", PARTIAL)
    @pytest.mark.parametrize("name", [*MEASURES, "count"])
    @settings(max_examples=30, deadline=None)
    @given(shared=st.lists(weighed, max_size=2), first=weighed, second=weighed)
    def test_a_person_moves_a_sum_no_further_than_a_row(
        self, name: str, way: str, shared: Any, first: Any, second: Any
    ) -> None:
        question, grid = (Count(), GRID) if name == "count" else MEASURES[name]
        beside = aside_of("x3", 16, USUAL_PEOPLE, **PARTIAL[way])
        question, one = self.read([*shared, first], question, beside, grid)
        squared, total = distances(question, one, self.read([*shared, second], question, beside, grid)[1])
        assert squared <= question.sensitivity_squared("replace")
        assert total <= question.sensitivity_l1("replace")
        if shared:
            squared, total = distances(question, one, self.read(shared, question, beside, grid)[1])
            assert squared <= question.sensitivity_squared("add-remove")
            assert total <= question.sensitivity_l1("add-remove")

    @pytest.mark.parametrize("way", PARTIAL)
    @pytest.mark.parametrize("name", PICKED)
    @settings(max_examples=30, deadline=None)
    @given(shared=st.lists(weighed, max_size=2), first=weighed, second=weighed)
    def test_a_person_moves_scores_and_queries_by_one_person(
        self, name: str, way: str, shared: Any, first: Any, second: Any
    ) -> None:
        beside = aside_of("x3", 16, USUAL_PEOPLE, **PARTIAL[way])
        question, one = self.read([*shared, first], PICKED[name], beside)
        other = self.read([*shared, second], PICKED[name], beside)[1]
        if isinstance(question, Choice):
            assert np.abs(question.scores(one) - question.scores(other)).max() <= question.moved
        else:
            moves = question.values(one) - question.values(other)
            assert max(moves.max(), 0) - min(moves.min(), 0) <= question.step

    def test_the_count_costs_something_under_replace_too(self) -> None:
        beside = aside_of("", 16, USUAL_PEOPLE, weight="x2", max_weight=1.0)
        count, one = Count(aside=beside), 2**beside.share_bits
        assert (count.sensitivity_squared("replace"), count.sensitivity_l1("replace")) == (one**2, one)
        assert (count.sensitivity_squared("replace"), count.sensitivity_l1("replace")) == (one**2, Fraction(one))
        assert count.gives_n(np.array([5 * one + one // 2 - 1])) == 5

    @given(weight=wild, most=st.one_of(st.floats(1e-150, 1e150), st.just(1.0)))
    def test_any_weight_counts_from_nothing_to_once(self, weight: float, most: float) -> None:
        [found] = thetas(np.array([weight]), most).tolist()
        assert 0 <= found <= 2**SHARE_BITS
        if not weight > 0:
            assert found == 0
        if weight >= most:
            assert found == 2**SHARE_BITS
