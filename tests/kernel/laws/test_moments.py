"""Laws of the sums: exact, additive, the same for every way of adding up, modulo 2**64."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import dpcov
from dpcov.errors import EngineError
from dpcov.kernel import sums
from dpcov.kernel.questions.moments import Count, SecondMoment, Sum
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.sums import check_exact_blas
from dpcov.linalg import pack
from dpcov.sources.array import ArraySource
from dpcov.sources.base import add_up
from tests.helpers.rows import Floats, fuzz, tables

GRID = Grid(1.0)
Statistic = Count | Sum | SecondMoment
repeatable = settings(max_examples=60)


FAULTS: dict[str, Callable[[Floats, tuple[int, ...]], Any]] = {
    "sums just below 2**52": lambda product, _: np.abs(product) >= 2.0**52 - 2.0**40,
    "one column": lambda _, shape: shape[1] == 1,
    "more than a thousand columns": lambda _, shape: shape[1] > 1000,
}
"""Where a product of floats is off by one."""


class Faulty(np.ndarray[Any, Any]):
    """An array whose products in float64 have a fault; those of integers are right."""

    fault: str | None = None

    def __matmul__(self, other: Any) -> Any:
        product = np.asarray(self) @ np.asarray(other)
        if self.fault is None or product.dtype != np.float64:
            return product
        return product + np.where(FAULTS[self.fault](product, other.shape), 1.0, 0.0)


def statistics(d: int) -> list[Statistic]:
    return [Count(), Sum(GRID, d), SecondMoment(GRID, d)]


def total(statistic: Statistic, rows: NDArray[np.generic], block_rows: int | None = None) -> list[int]:
    entries: list[int] = ArraySource(rows, block_rows).total(statistic).tolist()
    return entries


def by_hand(rows: Floats) -> list[list[int]]:
    """Count, sum and packed second moment of the integer rows, in Python's integers."""
    d = rows.shape[1]
    z = [[int(entry) for entry in row] for row in GRID.encode(rows).tolist()]
    pairs = [(i, i) for i in range(d)] + [(i, j) for i in range(d) for j in range(i + 1, d)]
    return [
        [len(z)],
        [sum(row[j] for row in z) for j in range(d)],
        [sum(row[i] * row[j] for row in z) for i, j in pairs],
    ]


@pytest.mark.parametrize("d", [1, 2, 5])
@given(data=st.data())
@repeatable
def test_sums_equal_those_of_python_integers(d: int, data: st.DataObject) -> None:
    rows = data.draw(tables(d))
    assert [total(statistic, rows) for statistic in statistics(d)] == by_hand(rows)


@pytest.mark.parametrize("d", [1, 2, 5])
@given(data=st.data())
@repeatable
def test_sums_add_up_over_tables(d: int, data: st.DataObject) -> None:
    first, second = data.draw(tables(d)), data.draw(tables(d))
    for statistic in statistics(d):
        parts = zip(total(statistic, first), total(statistic, second), strict=True)
        assert total(statistic, np.concatenate([first, second])) == [a + b for a, b in parts]


def test_every_way_of_reading_gives_the_same_integers() -> None:
    rows = fuzz(21, 3000, 50)
    shuffled = np.random.default_rng(21).permutation(rows)
    padded = np.zeros((6000, 100))
    padded[::-2, 1::2] = rows
    for statistic in statistics(50):
        expected = total(statistic, rows)
        for block_rows in (1, 7, 64, 1000, len(rows)):
            assert total(statistic, rows, block_rows) == expected
        for same in (shuffled, np.asfortranarray(rows), padded[::-2, 1::2], rows.astype(">f8")):
            assert total(statistic, same) == expected
        for threads in (1, 2):
            with threadpool_limits(threads, user_api="blas"):
                assert total(statistic, rows) == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.int8, np.uint8, np.bool_])
def test_other_types_are_cast_to_float64_first(dtype: type[np.generic]) -> None:
    cast = np.random.default_rng(22).integers(0, 2, (500, 5)).astype(dtype)
    for statistic in statistics(5):
        for block_rows in (7, 500):
            assert total(statistic, cast, block_rows) == total(statistic, cast.astype(np.float64))


@pytest.mark.parametrize("d", [1, 5])
def test_no_rows_add_up_to_zero(d: int) -> None:
    for statistic in statistics(d):
        size = sum(part.size for part in statistic.parts)
        assert total(statistic, np.zeros((0, d))) == [0] * size


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("index", range(3), ids=["count", "sum", "second moment"])
class TestSensitivity:
    """Σ weight·(difference)² between neighbours, in Python's integers."""

    def distance_squared(self, statistic: Statistic, rows: Floats, neighbor: Floats) -> int:
        weights = [part.weight for part in statistic.parts for _ in range(part.size)]
        pairs = zip(total(statistic, rows), total(statistic, neighbor), strict=True)
        return sum(weight * (a - b) ** 2 for weight, (a, b) in zip(weights, pairs, strict=True))

    @given(data=st.data())
    @repeatable
    def test_replacing_a_row_moves_no_further(self, d: int, index: int, data: st.DataObject) -> None:
        statistic, rows = statistics(d)[index], data.draw(tables(d, least=1))
        neighbor = rows.copy()
        neighbor[data.draw(st.integers(0, len(rows) - 1))] = data.draw(tables(d, least=1, most=1))[0]
        assert self.distance_squared(statistic, rows, neighbor) <= statistic.sensitivity_squared("replace")

    @given(data=st.data())
    @repeatable
    def test_removing_a_row_moves_no_further(self, d: int, index: int, data: st.DataObject) -> None:
        statistic, rows = statistics(d)[index], data.draw(tables(d, least=1))
        neighbor = np.delete(rows, data.draw(st.integers(0, len(rows) - 1)), axis=0)
        assert self.distance_squared(statistic, rows, neighbor) <= statistic.sensitivity_squared("add-remove")

    def test_the_bounds_are_attained(self, d: int, index: int) -> None:
        # Equality: any smaller constant, by 5 % or by 1, would be broken by these neighbours.
        statistic = statistics(d)[index]
        first, last, none = np.eye(d)[:1], np.eye(d)[-1:], np.zeros((1, d))
        worst = {"sum": -first, "second moment": last if d > 1 else none, "count": last}[statistic.name]
        assert self.distance_squared(statistic, first, worst) == statistic.sensitivity_squared("replace")
        assert self.distance_squared(statistic, first, first[:0]) == statistic.sensitivity_squared("add-remove")


def test_sensitivities_are_those_of_the_table() -> None:
    R = 2**16
    expected = {
        1: {"replace": [0, 4 * R**2, R**4], "add-remove": [1, R**2, R**4]},
        2: {"replace": [0, 4 * R**2, 2 * R**4], "add-remove": [1, R**2, R**4]},
    }
    for d, table in expected.items():
        for neighbors, squares in table.items():
            assert [s.sensitivity_squared(neighbors) for s in statistics(d)] == squares


def test_the_largest_block_is_still_exact() -> None:
    # Every row at the corner of the ball: the sum of products is then max_block·4¹⁶ = 2⁵³.
    statistic = SecondMoment(GRID, 1)
    assert statistic.max_block * 4**16 == 2**53
    assert total(statistic, np.ones((statistic.max_block, 1))) == [2**53]
    assert Sum(GRID, 1).max_block * 2**16 == 2**53


class Heavy(Count):
    """A count in steps of 2**61, so that a few rows pass 2**63."""

    def of(self, rows: Floats, *, scratch: bool = False) -> NDArray[np.int64]:
        return super().of(rows, scratch=scratch) * np.int64(2**61)


@given(sizes=st.lists(st.integers(0, 3), min_size=1, max_size=12))
@repeatable
def test_sums_wrap_modulo_two_to_the_64(sizes: list[int]) -> None:
    wrapped = add_up(Heavy(), (np.zeros((size, 1)) for size in sizes))
    assert int(wrapped[0]) % 2**64 == sum(sizes) * 2**61 % 2**64
    assert -(2**63) <= int(wrapped[0]) < 2**63


def test_wrapping_is_silent() -> None:
    with np.errstate(all="raise"):
        assert add_up(Heavy(), [np.zeros((3, 1)), np.zeros((1, 1))]).tolist() == [-(2**63)]


class TestExactBlas:
    @pytest.fixture
    def inexact(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Make the module take float32 for float64: its products are then rounded as a broken BLAS would."""
        check_exact_blas.cache_clear()
        monkeypatch.setattr(sums, "np", SimpleNamespace(**(vars(np) | {"float64": np.float32})))

    def test_this_machine_passes(self) -> None:
        check_exact_blas.cache_clear()
        check_exact_blas()

    @pytest.mark.usefixtures("inexact")
    def test_an_inexact_product_is_refused(self) -> None:
        for _ in range(2):  # a failure is not remembered as a pass
            with pytest.raises(EngineError, match=r"BLAS .* Hint: "):
                check_exact_blas()

    @pytest.mark.parametrize("fault", [None, *FAULTS], ids=["none", *FAULTS])
    def test_what_is_looked_for(self, fault: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
        """Sums just below 2⁵², the product with one column, which is another routine, and matrices beyond a cache's blocks."""
        check_exact_blas.cache_clear()

        def indices(shape: tuple[int, int]) -> list[Faulty]:
            return [one.view(Faulty) for one in np.indices(shape)]

        monkeypatch.setattr(sums, "np", SimpleNamespace(**(vars(np) | {"indices": indices})))
        monkeypatch.setattr(Faulty, "fault", fault)
        with nullcontext() if fault is None else pytest.raises(EngineError, match="BLAS"):
            check_exact_blas()

    @pytest.mark.usefixtures("inexact")
    def test_it_is_checked_before_anything_is_released(self) -> None:
        with pytest.raises(EngineError, match="BLAS"):
            dpcov.covariance(np.ones((3, 2)), dpcov.ZCDP(1), row_norm=1, seed=0)


def test_entries_are_the_packed_triangle() -> None:
    matrix = np.arange(9, dtype=np.int64).reshape(3, 3)
    symmetric = matrix + matrix.T
    assert SecondMoment(GRID, 3).entries(symmetric).tolist() == pack(symmetric).tolist()
