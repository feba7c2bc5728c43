"""Laws of correlations from a release: always correlations, in any units; exact without noise; shares sharpen them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

import dpcov
from dpcov.errors import ReleaseError
from dpcov.schema import Categorical, Numeric, Schema
from dpcov.uses.correlation import scaled
from dpcov.uses.selection import column_places
from tests.schema.test_schema import arrow_type, cell_of, tabular

Floats = NDArray[np.float64]

repeatable = settings(derandomize=True, deadline=None, max_examples=100)
EXACT = dpcov.PureDP(10**6)
MIXED = Schema(
    {
        "number": Numeric(-10, 30),
        "colour": Categorical(["red", "green", "blue", "grey"]),
        "other": Numeric(0, 1, weight=2),
        "flag": Categorical([True, False], weight=0.5),
    }
)


def mixed_table(n: int, seed: int = 3) -> Any:
    """Make up columns that depend on each other; one cell of ten in colour is missing, one level is rare."""
    generator = np.random.default_rng(seed)
    colour = generator.choice(5, n, p=[0.3, 0.3, 0.28, 0.02, 0.1])
    number = np.clip(generator.normal(5 + 3 * (colour == 1), 4), -10, 30)
    flag = generator.random(n) < 0.2 + 0.5 * (colour == 2)
    other = np.clip(0.4 + 0.02 * number + generator.normal(0, 0.1, n), 0, 1)
    names = np.array(["red", "green", "blue", "grey", None], dtype=object)
    return pa.table({"number": number, "colour": pa.array(names[colour].tolist()), "other": other, "flag": pa.array(flag)})


def one_hot(table: Any) -> Floats:
    """Return the features of MIXED in the user's units."""
    columns = [table["number"].to_numpy()]
    columns += [np.array([cell == level for cell in table["colour"].to_pylist()]) for level in MIXED.used["colour"].levels]  # type: ignore[union-attr]
    columns += [table["other"].to_numpy(), table["flag"].to_numpy(), ~table["flag"].to_numpy()]
    return np.column_stack([column.astype(np.float64) for column in columns])


def assert_correlations(found: Floats, d: int) -> None:
    assert found.shape == (d, d)
    assert np.isfinite(found).all()
    assert (found == found.T).all()
    assert (found.diagonal() == 1).all()
    assert np.abs(found).max() <= 1


@given(data=st.data(), d=st.integers(1, 5))
@repeatable
def test_any_symmetric_matrix_gives_correlations(data: st.DataObject, d: int) -> None:
    entries = st.one_of(
        st.floats(-2, 2), st.floats(-1e300, 1e300), st.sampled_from([0.0, -0.0, 5e-324, 1e-200, -1e-300, 1e300])
    )
    square = data.draw(arrays(np.float64, (d, d), elements=entries))
    matrix = np.triu(square) + np.triu(square, 1).T
    found = scaled(matrix, matrix.diagonal())
    assert_correlations(found, d)
    none = matrix.diagonal() <= 0
    assert (found[none] == np.eye(d)[none]).all()


def any_release(data: st.DataObject, **options: Any) -> dpcov.Release:
    """Draw a schema, a few rows of any cells within and outside it, a budget, and release them."""
    schema, n, center = data.draw(tabular), data.draw(st.integers(1, 4)), data.draw(st.booleans())
    cells = {name: data.draw(st.lists(cell_of(c), min_size=n, max_size=n)) for name, c in schema.used.items()}
    table = pa.table({name: pa.array(cells[name], arrow_type(column)) for name, column in schema.used.items()})
    budget = dpcov.PureDP(data.draw(st.sampled_from(["0.01", "1", "1000000"])))
    return dpcov.covariance(table, budget, schema=schema, center=center, seed=7, **options)


@given(data=st.data())
@settings(derandomize=True, deadline=None, max_examples=50)
def test_any_release_has_correlations(data: st.DataObject) -> None:
    made = any_release(data, postprocess="shrink")
    for release in (made, dataclasses.replace(made, postprocess="none")):
        assert_correlations(release.correlation(), release.d)


def test_without_noise_they_are_those_of_the_rows() -> None:
    table = mixed_table(4000)
    release = dpcov.covariance(table, EXACT, schema=MIXED, center=True, mechanism="wishart", seed=0)
    assert release.correlation() == pytest.approx(np.corrcoef(one_hot(table).T), abs=1e-3)  # the noise of a light column


def test_those_of_an_uncentred_release_are_cosines() -> None:
    rows = np.random.default_rng(0).normal([1.0, -1.0, 0.0], 0.3, (3000, 3))
    release = dpcov.covariance(rows, EXACT, row_norm=5, seed=0)
    moment = rows.T @ rows
    lengths = np.sqrt(moment.diagonal())
    assert release.correlation() == pytest.approx(moment / np.outer(lengths, lengths), abs=1e-4)
    assert release.correlation()[0, 1] < -0.8


@pytest.mark.parametrize("size", [1e-60, 1.0, 1e130])
def test_units_do_not_matter(size: float) -> None:
    """Products of four deviations of 1e130 would overflow."""
    generator = np.random.default_rng(1)
    first = generator.uniform(-1, 1, 5000)
    second = (first + generator.uniform(-1, 1, 5000)) / 2
    table = pa.table({"a": first * size, "b": second})
    schema = Schema({"a": Numeric(-size, size), "b": Numeric(-1, 1)})
    release = dpcov.covariance(table, EXACT, schema=schema, center=True, seed=0)
    assert release.correlation()[0, 1] == pytest.approx(np.corrcoef(first, second)[0, 1], abs=1e-4)


def test_levels_of_a_column_follow_from_their_shares() -> None:
    """However noisy the matrix: a cell has one level at most."""
    release = dpcov.covariance(mixed_table(2000), dpcov.PureDP("0.5"), schema=MIXED, center=True, seed=0)
    found, p = release.correlation(), np.clip(release.mean, 0, 1)
    assert (p[1:5] < 1).all()
    for place in range(2, 5):
        expected = -np.sqrt(p[1] * p[place] / ((1 - p[1]) * (1 - p[place])))
        assert found[1, place] == pytest.approx(max(-1, expected))


def test_shares_sharpen_correlations() -> None:
    """Over 20 seeds the r.m.s. error between columns is below that of the plain quotient."""
    table = mixed_table(4000)
    truth, cross = np.corrcoef(one_hot(table).T), np.ones((8, 8), dtype=bool)
    for block in column_places(MIXED).values():
        cross[block, block] = False
    errors = []
    for seed in range(20):
        release = dpcov.covariance(
            table, dpcov.PureDP(1), schema=MIXED, center=True, mechanism="wishart", clip="private", seed=seed
        )
        plain = scaled(release.encoded_covariance, release.encoded_covariance.diagonal())
        errors.append([np.mean((found - truth)[cross] ** 2) for found in (release.correlation(), plain)])
    ours, plain_error = np.sqrt(np.mean(errors, axis=0))
    assert ours < plain_error


def test_a_column_without_variance_is_correlated_with_nothing() -> None:
    table = pa.table({"a": [1.0] * 500, "b": np.linspace(0, 1, 500), "c": ["x"] * 500})
    schema = Schema({"a": Numeric(0, 2), "b": Numeric(0, 1), "c": Categorical(["x", "y"])})
    release = dpcov.covariance(table, EXACT, schema=schema, center=True, seed=0)
    found = release.correlation()
    assert_correlations(found, 4)
    assert np.abs(found[1, [0, 2, 3]]).max() < 0.1
    nothing = dpcov.covariance(np.zeros((9, 2)), EXACT, row_norm=1, postprocess="none", seed=1)
    assert (nothing.correlation().diagonal() == 1).all()


def test_means_and_components_are_refused() -> None:
    rows = np.full((100, 3), 0.5)
    for release in (
        dpcov.mean(rows, dpcov.ZCDP(1), radius=1, seed=0),
        dpcov.pca(rows, dpcov.PureDP(1), k=1, row_norm=1, seed=0),
    ):
        with pytest.raises(ReleaseError, match=r"release must hold a covariance, got .*\. Hint: "):
            release.correlation()


def test_the_raw_matrix_serves_too() -> None:
    release = dpcov.covariance(mixed_table(500), dpcov.PureDP("0.1"), schema=MIXED, center=True, seed=0)
    assert_correlations(dataclasses.replace(release, postprocess="none").correlation(), 8)
