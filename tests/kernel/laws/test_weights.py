"""What a person's weights can move: counts by weight, the choice among edges, the sum of squares, and sums after the choice."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.kernel.questions.measure import Question
from dpcov.kernel.questions.moments import Count, SecondMoment, Sum
from dpcov.kernel.questions.norms import Norms
from dpcov.kernel.questions.remade import remade
from dpcov.kernel.questions.weights import EDGES, HeavyWeight, SquaredWeights, Weights
from dpcov.kernel.rows.aside import LAST_CUT, SHARE_BITS, USUAL_PEOPLE, Aside, Weighed, aside_of, thetas
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.sums import ExactSums
from dpcov.sources.array import ArraySource
from tests.helpers.people import joined

GRID, MOST = Grid(1.0), 4.0
WAYS: dict[str, dict[str, Any]] = {
    "rows": {"unit": ""},
    "people": {"unit": "x3"},
    "rows of people": {"unit": "x3", "most_rows": 4},
}
MEASURES = {"weights": Weights(), "squared weights": SquaredWeights()}
LATER = {"count": Count(), "sum": Sum(GRID, 2), "second moment": SecondMoment(GRID, 2), "norms": Norms(GRID, 2, 2, 4)}

wild = st.one_of(
    st.floats(0, 2 * MOST),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -1.0, MOST, MOST / 2, MOST / 1024, 1e308, 5e-324, float("inf"), float("nan")]),
)
row = st.tuples(st.floats(-2, 2), st.floats(-2, 2), wild)
someone = st.lists(row, min_size=1, max_size=6).map(lambda rows: np.array(rows, dtype=np.float64))
cuts = st.one_of(st.none(), st.integers(0, LAST_CUT), st.sampled_from([1, 8, 16, LAST_CUT]))
each_way = pytest.mark.parametrize("way", WAYS)


def beside(way: str) -> Aside:
    given: dict[str, Any] = {"unit": ""} | WAYS[way]
    return aside_of(bits=16, people=USUAL_PEOPLE, weight="x2", max_weight=MOST, searched=True, **given)


def neighbours(way: str, shared: Any, first: Any) -> Any:
    """Return a table of people, of whom each has one row where rows are people."""
    rows = joined([*shared, first]) if first is not None else joined(shared)
    return rows if WAYS[way]["unit"] else rows[np.unique(rows[:, 3], return_index=True)[1]]


def read(way: str, rows: Any, question: Question, cut: int | None = None) -> tuple[Any, Any]:
    aside = beside(way)
    source = ArraySource(rows, columns=["x0", "x1"], aside=aside)
    made = remade(question, replace(aside, cut=cut))
    return made, ExactSums(source, Encoding(source.feature_names, 1.0, aside=aside), "replace").read(made)


def assert_moves(question: Any, one: Any, other: Any, relation: str) -> None:
    gaps = [abs(int(a) - int(b)) for a, b in zip(one, other, strict=True)]
    weights = [part.weight for part in question.parts for _ in range(part.size)]
    assert sum(w * gap**2 for w, gap in zip(weights, gaps, strict=True)) <= question.sensitivity_squared(relation)
    assert sum(gaps) <= question.sensitivity_l1(relation)


@each_way
@pytest.mark.parametrize("name", [*MEASURES, *LATER])
@settings(max_examples=40, deadline=None)
@given(shared=st.lists(someone, max_size=2), first=someone, second=someone, cut=cuts)
def test_a_person_moves_a_sum_no_further_than_a_row(
    name: str, way: str, shared: Any, first: Any, second: Any, cut: int | None
) -> None:
    """Whatever weight counts as 1: of other rows, of none, and of weights that are none."""
    question, one = read(way, neighbours(way, shared, first), (MEASURES | LATER)[name], cut)
    assert_moves(question, one, read(way, neighbours(way, shared, second), question, cut)[1], "replace")
    if shared:
        assert_moves(question, one, read(way, neighbours(way, shared, None), question, cut)[1], "add-remove")


@each_way
@settings(max_examples=80, deadline=None)
@given(
    shared=st.lists(someone, max_size=4), first=someone, second=someone, rows=st.integers(0, 4), part=st.sampled_from([1, 2, 3])
)
def test_a_person_moves_scores_by_one_person(way: str, shared: Any, first: Any, second: Any, rows: int, part: int) -> None:
    question, one = read(way, neighbours(way, shared, first), HeavyWeight(rows, part))
    others = [neighbours(way, shared, second)] + ([neighbours(way, shared, None)] if shared else [])
    for other in others:
        moved = question.scores(one) - question.scores(read(way, other, question)[1])
        assert np.abs(moved).max() <= question.moved


@settings(max_examples=300, deadline=None)
@given(
    before=st.lists(st.integers(0, 2**18), min_size=4, max_size=4),
    moves=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=6),
    rows=st.integers(0, 3),
    part=st.integers(1, 4),
)
def test_scores_of_any_counts_that_a_person_moves(before: Any, moves: Any, rows: int, part: int) -> None:
    """Not only those of a table: at most 2ᵇ leave the bins, and at most 2ᵇ enter them, in parts of any size."""
    question = remade(HeavyWeight(rows, part), beside("people"))
    one = np.zeros(LAST_CUT + 1, dtype=np.int64)
    one[[0, 1, 2, LAST_CUT]] = before
    given = sum(size for _, size in moves)
    other = one.copy()
    for place, size in moves:
        other[place] += question.moved * size // max(given, 1)
    assert np.abs(question.scores(one) - question.scores(other)).max() <= question.moved
    third = one.copy()
    third[LAST_CUT] += question.moved
    assert np.abs(question.scores(other) - question.scores(third)).max() <= question.moved


class TestShares:
    @given(theta=st.integers(0, 2**SHARE_BITS), parts=st.integers(1, 2**40))
    def test_a_quotient_is_rounded_down(self, theta: int, parts: int) -> None:
        for number in {theta, theta - theta % parts, max(theta - theta % parts - 1, 0)}:
            found = Weighed(np.array([float(number)]), np.array([float(parts)])).shares
            assert int(found[0]) == number // parts

    def test_rows_without_an_owner_count_nothing(self) -> None:
        assert Weighed(np.array([2.0**52]), np.array([0.0])).shares.tolist() == [0.0]

    @given(weight=st.floats(0, 3 * MOST), cut=st.integers(0, LAST_CUT))
    def test_what_counts_as_one_is_as_if_it_had_been_the_bound(self, weight: float, cut: int) -> None:
        aside = replace(beside("rows"), cut=cut)
        found = aside.weighed(np.array([[0.0, 0.0, thetas(np.array([weight]), MOST)[0]]])).thetas
        wanted = thetas(np.array([weight]), aside.largest)
        assert 0 <= found[0] <= 2**SHARE_BITS
        assert abs(found[0] - wanted[0]) <= 2 ** (cut / 8) + wanted[0] * 2.0**-50

    def test_edges_are_those_that_rows_are_cut_at(self) -> None:
        """The smallest weight that counts as 1 is the edge, but for a rounding."""
        for cut in (0, 1, 8, 80, LAST_CUT):
            aside = replace(beside("rows"), cut=cut)
            above, below = (np.array([[0.0, 0.0, np.floor(EDGES[cut]) + step]]) for step in (1.0, -2.0))
            assert aside.weighed(np.minimum(above, 2.0**52)).thetas[0] == 2**52
            assert aside.weighed(below).thetas[0] < 2**52


class TestCounts:
    def test_bins_are_those_of_the_weights(self) -> None:
        rows = np.array([[0, 0, w] for w in (9.0, 4.0, 3.99, 2.0, 1.0, 2.0**-30, 0.0, -1.0, np.nan)])
        question, counts = read("rows", np.column_stack([rows, np.arange(9.0)]), Weights())
        one = question.person
        assert counts[0] == 3 * one  # 9, 4 and 3.99: above 4·2^{−1/8}
        assert (counts[8], counts[16]) == (one, one)  # 2 and 1
        assert counts[-1] == one  # 2⁻³⁰: below every edge
        assert counts.sum() == 6 * one  # what has no weight is nowhere

    def test_squares_are_those_of_the_weights(self) -> None:
        rows = np.array([[0, 0, w, i] for i, w in enumerate((8.0, 4.0, 2.0, 1.0, 0.0, np.inf))])
        for cut, squares in ((None, 3 + 0.25 + 0.0625), (8, 4 + 0.25)):
            question, found = read("rows", rows, SquaredWeights(), cut)
            assert found[0] / question.person == pytest.approx(squares)

    def test_squares_of_people_are_no_less_than_those_of_their_sums(self) -> None:
        draw = np.random.default_rng(7520)
        people = [np.column_stack([np.zeros((m, 2)), draw.lognormal(size=m)]) for m in draw.integers(1, 9, 200)]
        for way, most in (("people", 1), ("rows of people", 4)):
            question, found = read(way, joined(people), SquaredWeights())
            parts = [np.minimum(rows[:, 2] / MOST, 1).sum() / max(len(rows), most) for rows in people]
            assert found[0] / question.person >= np.square(parts).sum() - 0.01
            assert found[0] / question.person <= np.sum(parts) + 0.01
        alike = [np.column_stack([np.zeros((m, 2)), np.full(m, w)]) for m, w in [(1, 1.0), (3, 2.0), (8, 4.0)]]
        question, found = read("people", joined(alike), SquaredWeights())
        assert found[0] / question.person == pytest.approx(1 + 0.25 + 0.0625, abs=1e-4)

    def test_the_choice_is_of_the_weight_with_so_many_above(self) -> None:
        rows = np.column_stack([np.zeros((100, 2)), 2.0 ** -(np.arange(100) / 4.0), np.arange(100.0)])
        for wanted, part, beyond in ((10, 1, 10), (60, 2, 50), (0, 1, 0)):
            question, counts = read("rows", rows, HeavyWeight(wanted, part))
            best = int(np.argmax(question.scores(counts)))
            above = int((rows[:, 2] > MOST * 2 ** (-best / 8)).sum())
            assert above <= beyond <= above + 1

    def test_rows_without_a_weight_are_in_no_count(self) -> None:
        some = np.column_stack([np.zeros((9, 2)), np.arange(1.0, 10), np.arange(9.0)])
        none = np.column_stack([np.zeros((4, 2)), [0.0, np.nan, -5.0, -np.inf], [0.0, 9.0, np.nan, np.inf]])
        owned = np.column_stack([np.zeros((2, 2)), [3.0, 4.0], [np.nan, np.inf]])
        for question in MEASURES.values():
            whole = read("people", some[1:], question)[1]
            assert (read("people", np.concatenate([some[1:], none[1:], owned]), question)[1] == whole).all()


def test_asides_that_are_none() -> None:
    known: dict[str, Any] = {"unit": "", "finer": 2, "share_bits": 18, "weight": "w", "max_weight": 2.0}
    for wrong in (
        {"searched": 1},
        {"cut": 3},
        {"searched": True, "cut": -1},
        {"searched": True, "cut": LAST_CUT + 1},
        {"searched": True, "cut": 1.0},
        {"searched": True, "cut": True},
        {"searched": True, "weight": "", "max_weight": 0.0, "unit": "who"},
    ):
        with pytest.raises(ParameterError, match="clip_weight"):
            Aside(**(known | wrong))


@pytest.mark.parametrize("wrong", [{"rows": -1}, {"rows": 1.0}, {"rows": 2**62}, {"part": 0}, {"part": 2.0}, {"part": 2**21}])
def test_choices_that_are_none(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="must be an integer of at least"):
        HeavyWeight(**({"rows": 3, "part": 2} | wrong))


def test_one_person_is_one_in_what_is_asked_of_weights() -> None:
    one = 2**18
    weights, squares = (remade(question, beside("people")) for question in MEASURES.values())
    assert [weights.sensitivity_l1(name) for name in ("replace", "add-remove")] == [2 * one, one]
    assert [weights.sensitivity_squared(name) for name in ("replace", "add-remove")] == [2 * one**2, one**2]
    assert [squares.sensitivity_l1(name) for name in ("replace", "add-remove")] == [Fraction(one), Fraction(one)]
    assert [squares.sensitivity_squared(name) for name in ("replace", "add-remove")] == [one**2, one**2]
