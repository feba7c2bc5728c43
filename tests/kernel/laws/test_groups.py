"""Laws of matrices by group: exact sums of the rows of each, and neighbours whose rows move between groups.

The position of a row's group is the last entry of its row. Any float may stand there: what is no position is no group.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dpcov.errors import ParameterError
from dpcov.kernel.questions.groups import GroupCounts, GroupedMoment
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.questions.together import Together
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.rows.groups import Groups, members
from dpcov.kernel.rows.standard import Standard
from dpcov.linalg import unpack
from dpcov.sources.base import add_up
from tests.helpers.rows import SPECIAL, Floats, fuzz, tables
from tests.kernel.laws.test_questions import UNITS

K = 3
GRIDS = {"plain": Grid(1.0), "centred": Grid(1.0, center=True), "clipped": Grid(0.25)}
places = st.one_of(st.sampled_from([0.0, 1.0, 2.0, 3.0, -1.0, np.nan, 0.5, -0.0, *SPECIAL]), st.floats())
repeatable = settings(max_examples=60)
INSIDE = (0.0, 1.0, 2.0)


def moment(grid: Grid, d: int) -> GroupedMoment:
    return GroupedMoment(grid, grid.width(d), K)


@st.composite
def grouped(draw: st.DrawFn, d: int, least: int = 0, most: int = 6) -> Floats:
    rows = draw(tables(d, least, most))
    return np.column_stack([rows, draw(arrays(np.float64, len(rows), elements=places))])


def group_of(position: float) -> int | None:
    return int(position) if 0 <= position < K else None


def by_hand(question: GroupedMoment, rows: Floats) -> list[list[list[int]]]:
    """S_g of the integer rows of each group, in Python's integers."""
    d = question.d
    total = [[[0] * d for _ in range(d)] for _ in range(K)]
    for row, z in zip(rows, question.grid.encode(rows[:, :-1]).tolist(), strict=True):
        group = group_of(row[-1])
        if group is not None:
            for i in range(d):
                for j in range(d):
                    total[group][i][j] += int(z[i]) * int(z[j])
    return total


def blocks(question: GroupedMoment, rows: Floats) -> list[list[list[int]]]:
    packed = question.blocks(add_up(question, iter([rows])))
    return [unpack(block, question.d).tolist() for block in packed]


def test_matrices_and_sizes_are_the_same_where_they_are_read_together() -> None:
    """Of many blocks: the first starts the sums, the others are added in place."""
    draw = np.random.default_rng(7301)
    read = [np.column_stack([draw.normal(size=(9, 2)), draw.integers(0, K + 1, 9)]) for _ in range(3)]
    alone: tuple[GroupedMoment | GroupCounts, ...] = (moment(GRIDS["plain"], 2), GroupCounts(K))
    several = Together(alone)
    for one, found in zip(alone, several.split(add_up(several, iter(read))), strict=True):
        assert (found == add_up(one, iter(read))).all()


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
@pytest.mark.parametrize("d", [1, 2, 4])
class TestSums:
    @given(data=st.data())
    @repeatable
    def test_each_block_is_of_the_rows_of_its_group(self, grid: Grid, d: int, data: st.DataObject) -> None:
        question, rows = moment(grid, d), data.draw(grouped(d))
        assert blocks(question, rows) == by_hand(question, rows)

    @given(data=st.data())
    @repeatable
    def test_sums_add_up_over_blocks(self, grid: Grid, d: int, data: st.DataObject) -> None:
        question, first, second = moment(grid, d), data.draw(grouped(d)), data.draw(grouped(d))
        both = add_up(question, iter([np.concatenate([first, second])]))
        assert np.array_equal(add_up(question, iter([first, second])), both)
        assert np.array_equal(add_up(question, iter([np.asfortranarray(first), second])), both)
        counted = [sum(group_of(place) == g for place in np.concatenate([first, second])[:, -1]) for g in range(K)]
        assert add_up(GroupCounts(K), iter([first, second])).tolist() == counted


def test_every_layout_and_block_gives_the_same_integers() -> None:
    rows = np.column_stack([fuzz(2201, 2000, 9), np.random.default_rng(2202).integers(-1, K + 1, 2000)])
    question = moment(Grid(1.0), 9)
    expected = add_up(question, iter([rows]))
    for step in (1, 7, 500):
        assert np.array_equal(add_up(question, (rows[at : at + step] for at in range(0, 2000, step))), expected)
    assert np.array_equal(add_up(question, iter([np.asfortranarray(rows)])), expected)
    before = rows.copy()
    add_up(question, iter([rows]), scratch=True)
    assert np.array_equal(rows, before, equal_nan=True)


def test_rows_in_private_units_have_groups_as_well() -> None:
    """The entries of a row by column, and behind them the position."""
    units = Standard(UNITS, 0.1, 2.5)
    cells = np.column_stack([np.linspace(-0.3, 0.2, 40), np.arange(40.0) % 3, np.linspace(-0.5, 0.5, 40)])
    rows = np.column_stack([cells, np.arange(40) % 4])
    question = GroupedMoment(units, units.width, K)
    packed = question.blocks(add_up(question, iter([rows])))
    for group in range(K):
        z = units.encode(cells[np.arange(40) % 4 == group])
        assert np.array_equal(unpack(packed[group], units.width), (z.T @ z).astype(np.int64))


def distances(question: GroupedMoment | GroupCounts, rows: Floats, neighbor: Floats) -> tuple[int, int]:
    """Σ weight·(difference)² and Σ|difference|, in Python's integers."""
    weights = [part.weight for part in question.parts for _ in range(part.size)]
    pairs = zip(add_up(question, iter([rows])).tolist(), add_up(question, iter([neighbor])).tolist(), strict=True)
    moved = [a - b for a, b in pairs]
    return sum(w * m * m for w, m in zip(weights, moved, strict=True)), sum(map(abs, moved))


def nuclear(question: GroupedMoment, rows: Floats, neighbor: Floats) -> float:
    first, second = np.array(blocks(question, rows), dtype=object), np.array(blocks(question, neighbor), dtype=object)
    moved = (first - second).astype(np.float64)
    return float(sum(np.abs(np.linalg.eigvalsh(block)).sum() for block in moved))


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
@pytest.mark.parametrize("d", [1, 2, 4])
class TestNeighbours:
    @given(data=st.data())
    @repeatable
    def test_a_row_that_moves_between_groups_moves_no_further(self, grid: Grid, d: int, data: st.DataObject) -> None:
        rows = data.draw(grouped(d, least=1))
        neighbor = rows.copy()
        neighbor[data.draw(st.integers(0, len(rows) - 1))] = data.draw(grouped(d, least=1, most=1))[0]
        self.check(grid, d, rows, neighbor, "replace")

    @given(data=st.data())
    @repeatable
    def test_a_row_that_goes_moves_no_further(self, grid: Grid, d: int, data: st.DataObject) -> None:
        rows = data.draw(grouped(d, least=1))
        self.check(grid, d, rows, np.delete(rows, data.draw(st.integers(0, len(rows) - 1)), axis=0), "add-remove")

    @staticmethod
    def check(grid: Grid, d: int, rows: Floats, neighbor: Floats, neighbors: str) -> None:
        question = moment(grid, d)
        squared, absolute = distances(question, rows, neighbor)
        assert squared <= question.sensitivity_squared(neighbors)
        assert absolute <= question.sensitivity_l1(neighbors)
        assert nuclear(question, rows, neighbor) <= question.sensitivity_nuclear(neighbors) * (1 + 1e-12)
        pairs = zip(blocks(question, rows), blocks(question, neighbor), strict=True)
        assert sum(a != b for a, b in pairs) <= question.moved(neighbors)
        squared, absolute = distances(GroupCounts(K), rows, neighbor)
        assert squared <= GroupCounts(K).sensitivity_squared(neighbors)
        assert absolute <= GroupCounts(K).sensitivity_l1(neighbors)


class TestTightness:
    @pytest.mark.parametrize("d", [1, 2, 4, 9])
    def test_the_bounds_are_attained(self, d: int) -> None:
        """By a row (1, …, 1)/√d, as near as the grid has it, that changes its group: nothing cancels."""
        row = [*np.full(d, d**-0.5)]
        grid = Grid(1.0)
        question = moment(grid, d)
        for neighbors, other in (("replace", [[*row, 1.0]]), ("add-remove", [])):
            rows, neighbor = np.array([[*row, 0.0]]), np.array(other).reshape(-1, d + 1)
            squared, absolute = distances(question, rows, neighbor)
            bounds = question.sensitivity_squared(neighbors), question.sensitivity_l1(neighbors)
            assert 0.999 * bounds[0] <= squared <= bounds[0]
            assert 0.999 * bounds[1] <= absolute <= bounds[1]
            moved, most = nuclear(question, rows, neighbor), question.sensitivity_nuclear(neighbors)
            assert 0.999 * most <= moved <= most * (1 + 1e-12)
            counts = GroupCounts(K)
            assert [*distances(counts, rows, neighbor)] == [
                counts.sensitivity_squared(neighbors),
                counts.sensitivity_l1(neighbors),
            ]

    @pytest.mark.parametrize("d", [1, 2, 5])
    def test_they_are_those_of_the_table(self, d: int) -> None:
        question, r2 = moment(Grid(1.0), d), 4**16
        assert [question.sensitivity_squared(n) for n in ("replace", "add-remove")] == [2 * r2**2, r2**2]
        assert [question.sensitivity_nuclear(n) for n in ("replace", "add-remove")] == [2 * r2, r2]
        assert question.sensitivity_l1("replace") == (d + 1) * r2
        assert question.sensitivity_l1("add-remove") == Fraction(d + 1, 2) * r2


class TestNobodysRows:
    @given(data=st.data())
    @repeatable
    def test_a_row_of_no_group_is_nowhere(self, data: st.DataObject) -> None:
        rows = data.draw(grouped(2, least=1))
        rows[:, -1] = np.where([group_of(place) is None for place in rows[:, -1]], rows[:, -1], np.nan)
        question = moment(Grid(1.0), 2)
        assert not add_up(question, iter([rows])).any()
        assert not add_up(GroupCounts(K), iter([rows])).any()

    def test_members(self) -> None:
        order, begins = members(np.array([2.0, np.nan, 0.0, 3.0, -1.0, 2.0, 1e300, 0.0]), 3)
        assert [order[a:b].tolist() for a, b in pairwise(begins)] == [[2, 7], [], [0, 5]]


class TestRefusals:
    @pytest.mark.parametrize("count", [0, 1, 4097, 2.0, True, np.int64(3)])
    def test_numbers_of_groups(self, count: int) -> None:
        for made in (lambda: GroupCounts(count), lambda: GroupedMoment(Grid(1.0), 2, count)):
            with pytest.raises(ParameterError, match="groups must be from 2 to 4096"):
                made()

    def test_too_many_numbers(self) -> None:
        with pytest.raises(ParameterError, match=r"at most 2\*\*29 numbers"):
            GroupedMoment(Grid(1.0), 1000, 4096)

    @pytest.mark.parametrize("levels", [("a", "a"), ("a", 1), ["a", "b"]])
    def test_groups_that_are_none(self, levels: tuple[str, ...]) -> None:
        with pytest.raises(ParameterError, match="groups must be"):
            Groups("region", levels)


def test_a_block_is_as_large_as_that_of_one_matrix() -> None:
    """Each row is in one group: partial sums stay exact as long. Smaller blocks would be slower."""
    assert moment(Grid(1.0), 3).max_block == SecondMoment(Grid(1.0), 3).max_block == 2**21


class TestPrivateNumberOfRows:
    def test_a_centred_moment_tells_it_by_all_corners_together(self) -> None:
        rows = np.column_stack([np.zeros((11, 2)), [0, 0, 1, 2, 2, 2, 2, np.nan, 7, 0, 1]])
        question = moment(Grid(1.0, center=True), 2)
        assert question.gives_n(add_up(question, iter([rows]))) == 9
        assert GroupCounts(K).gives_n(add_up(GroupCounts(K), iter([rows]))) == 9
        assert moment(Grid(1.0), 2).gives_n(np.zeros(9, dtype=np.int64)) is None
        assert question.gives_n(-add_up(question, iter([rows]))) == 1
        rows[:, :2] = 0.6  # other entries do not count
        assert question.gives_n(add_up(question, iter([rows]))) == 9
