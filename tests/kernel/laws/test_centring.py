"""Laws of centred rows: the constant is constant, the rest stays in its ball, and the lift can be undone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import dpcov
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.centring import CONSTANT, SCALE_SQUARED, mean_and_covariance, with_public_corner
from dpcov.kernel.rows.grid import Grid
from dpcov.linalg import unpack
from dpcov.schema import Categorical, Numeric, Schema
from dpcov.sources.array import ArraySource
from tests.helpers.rows import Floats, fuzz, squared_norms, tables

ROW_NORMS = (1.0, 0.3, 7.0, 1e-150, 1e150)
repeatable = settings(max_examples=80)
each_dimension = pytest.mark.parametrize("d", [1, 2, 13])


def assert_centred(z: Floats) -> None:
    assert np.all(z[:, 0] == 2**15)
    assert np.array_equal(z, np.rint(z))
    assert max(squared_norms(z[:, 1:]), default=0) <= 4**16 - 4**15


@each_dimension
@given(data=st.data())
@repeatable
def test_any_floats_keep_the_constant_and_stay_in_the_ball(d: int, data: st.DataObject) -> None:
    grid = Grid(data.draw(st.sampled_from(ROW_NORMS)), center=True)
    assert_centred(grid.encode(data.draw(tables(d))))


@each_dimension
@pytest.mark.parametrize("row_norm", ROW_NORMS)
def test_fuzzed_rows_and_rows_near_the_boundary(d: int, row_norm: float) -> None:
    grid = Grid(row_norm, center=True)
    assert_centred(grid.encode(fuzz(91, 1000, d)))
    rows = np.random.default_rng(92).standard_normal((2000, d))
    lengths = row_norm * (1 + np.linspace(-4, 4, 2000)[:, None] / 2**16)
    boundary = grid.encode(rows / np.linalg.norm(rows, axis=1, keepdims=True) * lengths)
    assert_centred(boundary)
    # They use the ball to its edge: a radius two per mille smaller would be seen.
    assert max(squared_norms(boundary[:, 1:])) >= 0.998 * (4**16 - 4**15)


@each_dimension
def test_a_row_inside_is_scaled_and_rounded(d: int) -> None:
    rows = np.random.default_rng(93).uniform(-1, 1, (500, d)) * 0.99 / math.sqrt(d)
    z = Grid(1.0, center=True).encode(rows)
    assert np.abs(z[:, 1:] - rows * math.sqrt(0.75) * 2**16).max() <= 0.5 + 1e-9


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@given(data=st.data())
@repeatable
def test_neighbours_are_no_farther_apart_than_the_sensitivities(neighbors: str, d: int, data: st.DataObject) -> None:
    statistic = SecondMoment(Grid(1.0, center=True), d + 1)
    rows = data.draw(tables(d, least=1))
    neighbor = np.delete(rows, 0, axis=0)
    if neighbors == "replace":
        neighbor = np.concatenate([data.draw(tables(d, least=1, most=1)), neighbor])
    difference = ArraySource(rows).total(statistic) - ArraySource(neighbor).total(statistic)
    diagonal, upper = [int(x) for x in difference[: d + 1]], [int(x) for x in difference[d + 1 :]]
    squared = sum(x**2 for x in diagonal) + 2 * sum(x**2 for x in upper)
    assert squared <= statistic.sensitivity_squared(neighbors)
    assert sum(map(abs, diagonal + upper)) <= statistic.sensitivity_l1(neighbors)
    nuclear = float(np.abs(np.linalg.eigvalsh(unpack(difference, d + 1).astype(np.float64))).sum())
    assert nuclear <= statistic.sensitivity_nuclear(neighbors) * (1 + 1e-12)
    if neighbors == "replace":
        assert diagonal[0] == 0  # the corner is n·a², and n is public


@each_dimension
def test_removing_a_row_at_the_edge_attains_the_frobenius_sensitivity(d: int) -> None:
    statistic = SecondMoment(Grid(1.0, center=True), d + 1)
    row = np.full((1, d), 5.0)
    entries = [int(x) for x in ArraySource(row).total(statistic)]
    squared = sum(x**2 for x in entries[: d + 1]) + 2 * sum(x**2 for x in entries[d + 1 :])
    assert squared >= 0.999 * statistic.sensitivity_squared("add-remove")
    assert sum(entries[: d + 1]) >= 0.999 * statistic.sensitivity_nuclear("add-remove")


entries = st.floats(-10, 10).map(lambda x: x if abs(x) > 1e-6 else 0.0)


@each_dimension
@given(data=st.data())
@repeatable
def test_the_lift_can_be_undone(d: int, data: st.DataObject) -> None:
    mean = data.draw(arrays(np.float64, d, elements=entries))
    factor = data.draw(arrays(np.float64, (d, d), elements=entries))
    covariance = factor @ factor.T
    a, b = CONSTANT, math.sqrt(SCALE_SQUARED)
    assert a**2 + b**2 == pytest.approx(1)
    lift = np.block(
        [[np.array([[a**2]]), a * b * mean[None]], [a * b * mean[:, None], b**2 * (covariance + np.outer(mean, mean))]]
    )
    size = 1 + np.abs(covariance).max() + np.abs(mean).max() ** 2
    for scale in (1.0, 0.3, 1e-9):  # of a shrunk matrix too: corner and all
        found_mean, found_covariance = mean_and_covariance(lift * scale)
        assert np.abs(found_mean - mean).max() <= 1e-13 * size
        assert np.abs(found_covariance - covariance * scale).max() <= 1e-13 * size


def test_the_lift_of_rows_holds_their_mean_and_covariance() -> None:
    rows = np.random.default_rng(94).uniform(-0.5, 0.5, (500, 3)) + np.array([0.1, 0, -0.05])
    z = Grid(1.0, center=True).encode(rows) / 2**16
    mean, covariance = mean_and_covariance(z.T @ z / len(z))
    assert np.abs(mean - rows.mean(axis=0)).max() <= 1e-5
    assert np.abs(covariance - np.cov(rows.T, ddof=0)).max() <= 4e-5


def assert_psd(matrix: Floats) -> None:
    """Of encoded rows, so entries are at most 1: a few roundings of that size may be missing."""
    assert np.isfinite(matrix).all()
    assert np.array_equal(matrix, matrix.T)
    assert np.linalg.eigvalsh(matrix)[0] >= -1e-12


@each_dimension
@given(data=st.data())
@repeatable
def test_the_covariance_is_psd_where_the_lift_is(d: int, data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, d + 1))
    factor = data.draw(arrays(np.float64, (d + 1, rank), elements=entries))
    factor[0] *= data.draw(st.sampled_from([1.0, 0.0, 1e-3, 1e-8, 1e-30]))  # a corner that all but vanished
    mean, covariance = mean_and_covariance(factor @ factor.T)
    assert np.isfinite(mean).all()
    eigenvalues = np.linalg.eigvalsh(covariance)
    assert eigenvalues[0] >= -1e-9 * max(float(np.abs(factor @ factor.T).max()), 1e-300)


def test_the_public_corner_leaves_the_rest_alone() -> None:
    noisy = np.arange(9.0).reshape(3, 3)
    corrected = with_public_corner(noisy)
    assert corrected[0, 0] == 0.25
    assert corrected.ravel()[1:].tolist() == noisy.ravel()[1:].tolist()
    assert noisy[0, 0] == 0.0


@pytest.mark.parametrize("corner", [0.0, -2.0])
def test_a_noisy_number_of_rows_below_one_has_its_mean_in_the_middle(corner: float) -> None:
    mean, covariance = mean_and_covariance(np.array([[corner, 0.3, 0.1], [0.3, 0.75, 0.0], [0.1, 0.0, 1.5]]))
    assert mean.tolist() == [0.0, 0.0]
    assert covariance.tolist() == [[1.0, 0.0], [0.0, 2.0]]


ROWS = np.random.default_rng(95).normal([30.0, -4, 0.5], [20, 3, 1], (60, 3))
SCHEMA = Schema({"a": Numeric(0, 100), "b": Numeric(-20, -1, weight=5), "c": Categorical([0, 1])})
ROUND_ROWS = np.column_stack([ROWS[:, :2], ROWS[:, 2] > 0.5])


@pytest.mark.parametrize("epsilon", ["0.001", "0.03", "1", "10"])
@pytest.mark.parametrize("postprocess", ["shrink", "project", "clip"])
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("bounds", [{"schema": SCHEMA}, {"row_norm": 60.0}], ids=["schema", "row_norm"])
class TestReleases:
    def test_estimates_are_possible_ones(self, bounds: dict[str, Any], neighbors: str, postprocess: str, epsilon: str) -> None:
        for seed in range(8):
            for budget in (dpcov.PureDP(epsilon), dpcov.ZCDP(epsilon)):
                release = dpcov.covariance(
                    ROUND_ROWS, budget, center=True, postprocess=postprocess, neighbors=neighbors, seed=seed, **bounds
                )
                scales = np.full(3, 60.0) if release.schema is None else release.schema.scales(True)
                assert_psd(release.covariance / np.outer(scales, scales))
                assert_psd(release.second_moment / np.outer(scales, scales))
                if release.schema is not None:
                    low, high = release.schema.bounds()
                    assert np.all((low <= release.mean) & (release.mean <= high))
                else:
                    assert np.linalg.norm(release.mean) <= release.row_norm * (1 + 1e-12)
