"""What one person can move whose rows are in several groups, or in none: integers, for any floats, and any number of rows.

Tables are read as a release reads them: the columns are x0 and x1, the group x2, whose a row is x3, and its weight x4.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from dpcov.kernel.questions.groups import GroupCounts, GroupedMoment
from dpcov.kernel.questions.remade import remade
from dpcov.kernel.rows.aside import USUAL_PEOPLE, Aside, aside_of
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.sums import ExactSums
from dpcov.linalg import unpack
from dpcov.schema import Categorical
from dpcov.sources.by import By
from dpcov.sources.opening import open_source
from tests.helpers.rows import SPECIAL

Floats = NDArray[np.float64]
K = 3
BY = By("x2", Categorical([0, 1, 2]))
GRIDS = {"plain": Grid(1.0), "centred": Grid(1.0, center=True), "clipped": Grid(0.25)}
WAYS: dict[str, Aside] = {
    "people": aside_of("x3", 16, USUAL_PEOPLE),
    "many rows": aside_of("x3", 16, USUAL_PEOPLE, most_rows=4),
    "weights": aside_of("x3", 16, USUAL_PEOPLE, weight="x4", max_weight=3.0),
    "both": aside_of("x3", 16, USUAL_PEOPLE, most_rows=4, weight="x4", max_weight=3.0),
}
cell = st.one_of(st.floats(-2, 2), st.floats(), st.sampled_from(SPECIAL))
place = st.sampled_from([0.0, 1.0, 2.0, 3.0, np.nan, -0.0, 0.5])
someone = st.lists(st.tuples(cell, cell, place, cell), min_size=1, max_size=7).map(
    lambda rows: np.array(rows, dtype=np.float64)
)
others = st.lists(someone, max_size=2)
each_grid = pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
each_way = pytest.mark.parametrize("way", WAYS)


def table(people: Sequence[Floats], identifiers: Sequence[float] | None = None) -> Floats:
    """Return everybody's rows, (x0, x1, group, weight) each, with whose they are before the weight."""
    known = range(len(people)) if identifiers is None else identifiers
    made = [np.insert(rows, 3, float(who), axis=1) for rows, who in zip(people, known, strict=True)]
    return np.concatenate(made) if made else np.empty((0, 5))


def read(rows: Floats, question: Any, aside: Aside, grid: Grid = GRIDS["plain"]) -> tuple[Any, list[int]]:
    """Return the question as a curator asks it, and its exact integers."""
    columns = ["x0", "x1"]
    source = open_source(rows, columns, aside=aside, by=BY)
    encoding = Encoding(
        ("x0", "x1"), grid.row_norm, grid.bits, grid.center, midpoints=grid.center, groups=BY.groups, aside=aside
    )
    made = remade(question, aside)
    return made, [int(one) for one in ExactSums(source, encoding, "add-remove").read(made)]


def moment(grid: Grid) -> GroupedMoment:
    return GroupedMoment(grid, grid.width(2), K)


def blocks(question: GroupedMoment, integers: Sequence[int]) -> list[NDArray[Any]]:
    return [unpack(block, question.d).astype(object) for block in question.blocks(np.array(integers, dtype=np.int64))]


def check(grid: Grid, way: str, one: Floats, other: Floats, neighbors: str) -> None:
    """Compare how far two tables are from each other with what is promised: all in Python's integers."""
    for asked in (moment(grid), GroupCounts(K)):
        question, first = read(one, asked, WAYS[way], grid)
        second = read(other, asked, WAYS[way], grid)[1]
        gaps = [a - b for a, b in zip(first, second, strict=True)]
        weights = [part.weight for part in question.parts for _ in range(part.size)]
        assert sum(w * gap**2 for w, gap in zip(weights, gaps, strict=True)) <= question.sensitivity_squared(neighbors)
        assert sum(map(abs, gaps)) <= question.sensitivity_l1(neighbors)
        if isinstance(question, GroupedMoment):
            moved = [a - b for a, b in zip(blocks(question, first), blocks(question, second), strict=True)]
            nuclear = sum(float(np.abs(np.linalg.eigvalsh(gap.astype(np.float64))).sum()) for gap in moved)
            assert nuclear <= question.sensitivity_nuclear(neighbors) * (1 + 1e-12)
            assert sum(bool(gap.any()) for gap in moved) <= question.moved(neighbors)


@each_grid
@each_way
class TestNeighbours:
    @given(shared=others, one=someone, other=someone)
    @settings(max_examples=40, deadline=None)
    def test_a_person_who_becomes_another(self, grid: Grid, way: str, shared: Any, one: Floats, other: Floats) -> None:
        check(grid, way, table([*shared, one]), table([*shared, other]), "replace")

    @given(shared=others, one=someone)
    @settings(max_examples=40, deadline=None)
    def test_a_person_who_goes(self, grid: Grid, way: str, shared: Any, one: Floats) -> None:
        check(grid, way, table([*shared, one]), table(shared), "add-remove")


ALL_GROUPS = np.array([[1.0, 0.0, group, 9.0] for group in range(K)])


class TestTightness:
    def test_a_person_may_be_in_all_groups(self) -> None:
        """Every block moves, in either relation; and the trace is shared by them."""
        aside = WAYS["people"]
        question, found = read(table([ALL_GROUPS]), moment(GRIDS["plain"]), aside)
        assert all(block.any() for block in blocks(question, found))
        for neighbors in ("replace", "add-remove"):
            assert question.moved(neighbors) == K
        trace = sum(int(np.trace(block)) for block in blocks(question, found))
        assert 0.999 * question.scaled_reach < trace <= question.scaled_reach

    @pytest.mark.parametrize("rows", [1, 10_000])
    def test_the_bounds_are_attained(self, rows: int) -> None:
        """By one row, or by ten thousand alike, in another group: nothing cancels."""
        one, other = (np.tile([[0.5**0.5, 0.5**0.5, group, 9.0]], (m, 1)) for group, m in ((0.0, 1), (2.0, rows)))
        for asked in (moment(GRIDS["plain"]), GroupCounts(K)):
            question, first = read(table([one]), asked, WAYS["people"])
            second = read(table([other]), asked, WAYS["people"])[1]
            gaps = [a - b for a, b in zip(first, second, strict=True)]
            weights = [part.weight for part in question.parts for _ in range(part.size)]
            squared = sum(w * gap**2 for w, gap in zip(weights, gaps, strict=True))
            assert 0.97 <= squared / question.sensitivity_squared("replace") <= 1
            assert 0.97 <= sum(map(abs, gaps)) / question.sensitivity_l1("replace") <= 1

    def test_rows_that_are_people_move_two_blocks(self) -> None:
        """Also where each has a weight."""
        aside = aside_of("", 16, USUAL_PEOPLE, weight="x4", max_weight=3.0)
        question = remade(moment(GRIDS["plain"]), aside)
        assert (question.moved("replace"), question.moved("add-remove")) == (2, 1)


class TestWholeTables:
    DRAW = np.random.default_rng(7501)
    WHO = DRAW.integers(0, 200, 3000)
    TABLE = np.column_stack([DRAW.normal(size=(3000, 2)) * 0.3, DRAW.integers(0, 5, 3000), WHO, DRAW.uniform(0, 4, 3000)])

    @each_way
    def test_averages_are_over_all_rows_of_a_person(self, way: str) -> None:
        """Also over rows of no group, which are in no block: by pandas."""
        aside = WAYS[way]
        rows = pd.DataFrame(self.TABLE)
        m = rows.groupby(3)[3].transform("size")
        share = (np.minimum(rows[4] / 3, 1) if aside.weight else 1.0) / np.maximum(m, aside.most_rows)
        question, found = read(self.TABLE, moment(GRIDS["plain"]), aside)
        sizes, counted = read(self.TABLE, GroupCounts(K), aside)
        for group, block in enumerate(blocks(question, found)):
            mine = (rows[2] == group).to_numpy()
            x = rows.loc[mine, [0, 1]].to_numpy()
            x = x / np.maximum(np.linalg.norm(x, axis=1), 1.0)[:, None]
            exact = (x * np.asarray(share)[mine, None]).T @ x
            assert np.abs(block.astype(np.float64) / 2.0**question.unit_bits - exact).max() < 2e-4 * np.abs(exact).max()
            assert counted[group] / 2.0**sizes.unit_bits == pytest.approx(float(np.asarray(share)[mine].sum()), rel=1e-3)

    @each_way
    def test_every_order_gives_the_same_integers(self, way: str) -> None:
        for asked in (moment(GRIDS["centred"]), GroupCounts(K)):
            found = read(self.TABLE, asked, WAYS[way], GRIDS["centred"])[1]
            assert read(self.TABLE[::-1].copy(), asked, WAYS[way], GRIDS["centred"])[1] == found
            turned = self.TABLE[np.random.default_rng(7502).permutation(3000)]
            assert read(turned, asked, WAYS[way], GRIDS["centred"])[1] == found

    def test_a_hundred_thousand_rows_are_one_person(self) -> None:
        """In three groups, and a fifth in none: they count for four fifths of one, together."""
        m = 100_000
        many = np.tile([[0.6, 0.8, 0.0, 1.0]], (m, 1))
        many[:, 2] = np.arange(m) % 10 % 4
        many[many[:, 2] == 3, 2] = np.nan
        question, found = read(table([many]), moment(GRIDS["plain"]), WAYS["people"])
        trace = sum(int(np.trace(block)) for block in blocks(question, found))
        assert 0.79 * question.scaled_reach < trace <= 0.8 * question.scaled_reach * (1 + 1e-4)
        sizes, counted = read(table([many]), GroupCounts(K), WAYS["people"])
        assert sum(counted) == 8 * m // 10 * (2**sizes.person_bits // m)
        check(GRIDS["plain"], "people", table([many]), table([ALL_GROUPS]), "replace")
        check(GRIDS["plain"], "people", table([many]), table([]), "add-remove")

    def test_identifiers_that_are_nearly_equal_are_two_people(self) -> None:
        near = float(np.nextafter(0.1, 1.0))
        _, found = read(table([ALL_GROUPS, ALL_GROUPS], [0.1, near]), GroupCounts(K), WAYS["people"])
        _, alone = read(table([ALL_GROUPS], [0.1]), GroupCounts(K), WAYS["people"])
        assert found == [2 * one for one in alone]
        _, same = read(table([ALL_GROUPS, ALL_GROUPS], [0.0, -0.0]), GroupCounts(K), WAYS["people"])
        assert sum(same) <= 2 ** WAYS["people"].share_bits

    def test_nobody_s_rows_are_in_no_group(self) -> None:
        nobody = np.tile(ALL_GROUPS, (50, 1))
        for asked in (moment(GRIDS["plain"]), GroupCounts(K)):
            _, found = read(table([ALL_GROUPS, nobody], [1.0, np.nan]), asked, WAYS["people"])
            assert found == read(table([ALL_GROUPS], [1.0]), asked, WAYS["people"])[1]

    def test_the_number_of_people_is_told_by_sizes_and_corners(self) -> None:
        people = [ALL_GROUPS] * 11
        sizes, counted = read(table(people), GroupCounts(K), WAYS["people"])
        assert sizes.gives_n(np.array(counted)) == 11
        question, found = read(table(people), moment(GRIDS["centred"]), WAYS["people"], GRIDS["centred"])
        assert question.gives_n(np.array(found)) == 11


@given(rows=arrays(np.float64, (4, 2), elements=cell), places=arrays(np.float64, 4, elements=place))
@settings(max_examples=40, deadline=None)
def test_one_row_of_each_person_is_what_rows_are(rows: Floats, places: Floats) -> None:
    """Where each person has one row, sums of people are those of rows, in finer units."""
    given = np.column_stack([rows, places, np.arange(4.0), np.ones(4)])
    question, found = read(given, moment(GRIDS["plain"]), WAYS["people"])
    alone = moment(GRIDS["plain"])
    expected = alone.entries(alone.of(np.column_stack([rows, np.where(places == 0.5, np.nan, places)])))
    assert found == [int(one) << 2 * question.finer for one in expected]
    _, counted = read(given, GroupCounts(K), WAYS["people"])
    assert [Fraction(one, 2 ** WAYS["people"].share_bits) for one in counted] == [int((places == g).sum()) for g in range(K)]
