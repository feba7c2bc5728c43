"""Laws of the parts of a second moment that are about columns: exact, and moved by one row no further than is said."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.kernel.budget import PureDP
from dpcov.kernel.questions.columns import Block, Squares, block_of
from dpcov.kernel.questions.measure import Measure
from dpcov.kernel.questions.moments import NEIGHBORS, SecondMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.linalg import pack, unpack
from dpcov.verify.testing import NoSource, SeededBits, opened
from tests.helpers.rows import tables

EXAMPLES = settings(max_examples=60)
ONE = 4**16


def moment(d: int, radius: float = 1.0) -> SecondMoment:
    return SecondMoment(Grid(1.0).clipped(radius), d)


@pytest.mark.parametrize("d", [1, 2, 5])
class TestLaws:
    @given(data=st.data())
    @EXAMPLES
    def test_they_are_parts_of_the_exact_matrix(self, d: int, data: st.DataObject) -> None:
        whole = moment(d, data.draw(st.sampled_from([1.0, 0.3])))
        matrix = whole.of(data.draw(tables(d)))
        columns = tuple(sorted(data.draw(st.sets(st.integers(0, d - 1), min_size=1))))
        assert Squares(whole).of_moment(pack(matrix)).tolist() == matrix.diagonal().tolist()
        block = unpack(block_of(whole, columns).of_moment(pack(matrix)), len(columns))
        assert block.tolist() == [[int(matrix[i, j]) for j in columns] for i in columns]

    @given(data=st.data())
    @EXAMPLES
    def test_neighbours_move_them_no_further_than_is_said(self, d: int, data: st.DataObject) -> None:
        whole, rows = moment(d), data.draw(tables(d, 1))
        columns = tuple(sorted(data.draw(st.sets(st.integers(0, d - 1), min_size=1))))
        block, squares = block_of(whole, columns), Squares(whole)
        for neighbors, other in (
            ("add-remove", rows[:-1]),
            ("replace", np.concatenate([rows[:-1], data.draw(tables(d, 1, 1))])),
        ):
            moved = pack(whole.of(rows)) - pack(whole.of(other))
            diagonal = [abs(int(entry)) for entry in squares.of_moment(moved)]
            assert sum(diagonal) <= squares.sensitivity_l1(neighbors)
            assert sum(entry**2 for entry in diagonal) <= squares.sensitivity_squared(neighbors)
            inner = unpack(block.of_moment(moved), len(columns))
            assert sum(int(entry) ** 2 for entry in inner.ravel()) <= block.sensitivity_squared(neighbors)
            assert sum(abs(int(entry)) for entry in pack(inner)) <= block.sensitivity_l1(neighbors)
            nuclear = float(np.abs(np.linalg.eigvalsh(inner.astype(float))).sum())
            assert nuclear <= block.sensitivity_nuclear(neighbors) * (1 + 1e-12)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_the_bounds_are_reached(neighbors: str) -> None:
    """Constants that are 5 % smaller would be wrong: e1 becomes e2, or is added."""
    whole = moment(3)
    first, second = np.eye(3)[:1], np.eye(3)[1:2] if neighbors == "replace" else np.zeros((0, 3))
    moved = pack(whole.of(first)) - pack(whole.of(second))
    squares, block = Squares(whole), block_of(whole, (0, 1))
    assert int(np.abs(squares.of_moment(moved)).sum()) == squares.sensitivity_l1(neighbors)
    assert sum(int(x) ** 2 for x in squares.of_moment(moved)) == squares.sensitivity_squared(neighbors)
    inner = unpack(block.of_moment(moved), 2).astype(float)
    assert float(np.sum(inner**2)) == block.sensitivity_squared(neighbors)
    assert float(np.abs(np.linalg.eigvalsh(inner)).sum()) == block.sensitivity_nuclear(neighbors)
    assert squares.sensitivity_l1("replace") == Fraction(2 * ONE)


def test_one_column_moves_by_one_square() -> None:
    """x² and y² lie in [0, R²]."""
    alone, kept = Squares(moment(1)), block_of(moment(4), (2,))
    for neighbors in NEIGHBORS:
        assert alone.sensitivity_l1(neighbors) == kept.sensitivity_nuclear(neighbors) == ONE
        assert alone.sensitivity_squared(neighbors) == kept.sensitivity_squared(neighbors) == ONE**2


class Sly(tuple[int, ...]):
    """A tuple that shows other columns the second time."""

    __slots__ = ()


@pytest.mark.parametrize(
    "columns",
    [(), (1, 0), (0, 0), (-1, 1), (0, 3), (True,), (0.0, 1.0), [0, 1], Sly((0, 1)), (np.int64(0), np.int64(1))],
    ids=repr,
)
def test_other_columns_are_refused(columns: Any) -> None:
    with pytest.raises(ParameterError, match="columns must be positions in ascending order"):
        Block(Grid(1.0), len(columns), 3, columns)


class Sneaky(int):
    """An integer that compares as it likes: half the sensitivity, or none."""

    def __gt__(self, other: object) -> bool:
        return False


@pytest.mark.parametrize(("d", "whole"), [(Sneaky(2), 3), (np.int64(2), 3), (2, Sneaky(3)), (True, 3)], ids=repr)
def test_sizes_are_plain_integers(d: Any, whole: Any) -> None:
    with pytest.raises(ParameterError, match="columns must be positions in ascending order"):
        Block(Grid(1.0), d, whole, (0, 1) if d == 2 else (0,))


def test_a_block_counts_its_columns() -> None:
    with pytest.raises(ParameterError):
        Block(Grid(1.0), 3, 3, (0, 1))
    kept = block_of(moment(3), (0, 2))
    assert (kept.columns, kept.d, kept.whole) == ((0, 2), 2, 3)
    assert kept.moment == moment(3)


def test_a_curator_answers_blocks_of_its_own_rows_only() -> None:
    """Theirs is read for, which fails this source; others are refused before that."""

    def ask(question: Measure) -> None:
        curator = opened(NoSource(10, 3), Grid(1.0), PureDP(1), "replace", SeededBits(0))
        curator.noisy(question, PureDP(1), noise="laplace")

    for own in (block_of(moment(3), (0, 2)), Squares(moment(3))):
        with pytest.raises(AssertionError, match="the data were read for second moment"):
            ask(own)
    for other in (block_of(moment(4), (0, 2)), Squares(moment(4)), Block(Grid(2.0), 2, 3, (0, 1))):
        with pytest.raises(ParameterError, match="question must be about this curator's rows"):
            ask(other)


def test_a_block_is_not_held_in_place_of_the_whole() -> None:
    curator = opened(NoSource(10, 3), Grid(1.0), PureDP(1), "replace", SeededBits(0))
    with pytest.raises(ParameterError, match="question must be"):
        curator.prefetch(block_of(curator.public.second_moment(), (0, 1)))
