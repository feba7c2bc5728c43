"""Laws of synthetic rows: cells of the schema, the release's means, shares, variances and correlations, the same by seed.

Statistical tests are normal ones of total size 1e-6; seeds are literal, so they pass always or never.
"""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

import dpcov
from dpcov.errors import ParameterError, ReleaseError
from dpcov.schema import Categorical, Ignored, Numeric, Schema
from dpcov.uses import synthetic as module
from dpcov.uses.synthetic import PILOT, synthetic
from tests.schema.test_schema import arrow_type, cell_of, tabular
from tests.uses.test_correlation import EXACT, MIXED, mixed_table, one_hot

Floats = NDArray[np.float64]

SIZE = 1e-6


def allowed(tests: int) -> float:
    """Return how many standard errors one of several normal numbers may be away."""
    return float(stats.norm.isf(SIZE / 2 / tests))


def assert_within(table: Any, schema: Schema, m: int) -> None:
    assert table.column_names == list(schema.used)
    assert table.num_rows == m
    for name, column in schema.used.items():
        cells = table[name].to_pylist()
        if isinstance(column, Numeric):
            assert table[name].type == pa.float64()
            assert all(column.lower <= cell <= column.upper for cell in cells)
        else:
            assert set(cells) <= set(column.levels)
            assert {type(cell) for cell in cells} <= {float if float in map(type, column.levels) else type(column.levels[0])}


@given(data=st.data())
@settings(max_examples=40)
def test_cells_are_within_any_schema(data: st.DataObject) -> None:
    schema, n = data.draw(tabular), data.draw(st.integers(1, 4))
    cells = {name: data.draw(st.lists(cell_of(c), min_size=n, max_size=n)) for name, c in schema.used.items()}
    table = pa.table({name: pa.array(cells[name], arrow_type(column)) for name, column in schema.used.items()})
    budget = dpcov.PureDP(data.draw(st.sampled_from(["0.01", "1", "1000000"])))
    postprocess = data.draw(st.sampled_from(["shrink", "project", "none"]))
    release = dpcov.covariance(table, budget, schema=schema, center=True, postprocess=postprocess, seed=7)
    assert_within(synthetic(release, 50, seed=data.draw(st.integers(0, 5))), schema, 50)


@given(data=st.data(), d=st.integers(1, 4), row_norm=st.sampled_from([1e-100, 1.0, 1e150]), center=st.booleans())
@settings(max_examples=60)
def test_rows_without_a_schema_are_within_row_norm(data: st.DataObject, d: int, row_norm: float, center: bool) -> None:
    rows = np.array(data.draw(st.lists(st.lists(st.floats(-2, 2), min_size=d, max_size=d), min_size=1, max_size=4)))
    budget = dpcov.PureDP(data.draw(st.sampled_from(["0.01", "1000000"])))
    postprocess = data.draw(st.sampled_from(["shrink", "none"]))
    release = dpcov.covariance(rows * row_norm, budget, row_norm=row_norm, center=center, postprocess=postprocess, seed=3)
    found = synthetic(release, 30, seed=1)
    assert isinstance(found, np.ndarray)
    assert found.shape == (30, d)
    assert found.dtype == np.float64
    assert (np.linalg.norm(found / row_norm, axis=1) <= 1).all()


def test_means_shares_variances_and_correlations_are_kept() -> None:
    """Would catch an argmax, correlations or variances that fade by a tenth, a share that is off by 0.02.

    The error of an estimate is that of m rows together with that of the pilot's: each by its influence function.
    """
    table, m = mixed_table(20_000).drop_null(), 100_000
    release = dpcov.covariance(table, EXACT, schema=MIXED, center=True, seed=0)
    features = one_hot(synthetic(release, m, seed=1))
    deviations, truth = np.sqrt(release.covariance.diagonal()), np.asarray(np.corrcoef(one_hot(table).T))
    error = allowed(8 + 8 + 28) * math.sqrt(1 / m + 1 / PILOT)
    z = (features - release.mean) / deviations
    assert np.abs(z.mean(axis=0)).max() <= error
    assert (np.abs(np.square(z).mean(axis=0) - 1) <= error * np.square(z).std(axis=0)).all()
    found = np.asarray(np.corrcoef(features.T))
    for i, j in np.argwhere(np.tri(8, k=-1)):
        influence = z[:, i] * z[:, j] - truth[i, j] * (z[:, i] ** 2 + z[:, j] ** 2) / 2
        assert abs(found[i, j] - truth[i, j]) <= error * influence.std() + 1e-3  # the release's own noise
    assert error < 0.05


def test_the_first_column_has_the_released_shares() -> None:
    """A draw from known probabilities: a share off by 0.006 would be caught."""
    table, m = pa.table({"a": ["x"] * 700 + ["y"] * 250 + ["z"] * 50}), 200_000
    schema = Schema({"a": Categorical(["x", "y", "z", "never"])})
    release = dpcov.covariance(table, EXACT, schema=schema, center=True, seed=0)
    cells = synthetic(release, m, seed=2)["a"].to_pylist()
    for level, share in (("x", 0.7), ("y", 0.25), ("z", 0.05)):
        assert abs(cells.count(level) / m - share) <= allowed(3) * math.sqrt(share * (1 - share) / m) + 1e-4


def test_impossible_conditional_means_do_not_move_shares() -> None:
    """Of "both" the linear mean given none is -1/4: cut to 0 without a correction, the share would be off by 0.06."""
    first, second = np.arange(8000) % 2 == 0, np.arange(8000) % 4 < 2
    table, m = pa.table({"a": first, "b": second, "both": first & second}), 100_000
    schema = Schema({name: Categorical([False, True]) for name in table.column_names})
    release = dpcov.covariance(table, EXACT, schema=schema, center=True, seed=0)
    both = synthetic(release, m, seed=4)["both"].to_numpy()
    assert abs(both.mean() - 0.25) <= allowed(1) * math.sqrt(0.25 * 0.75) * math.sqrt(1 / m + 1 / PILOT) + 1e-4


def test_a_skewed_column_keeps_mean_and_variance() -> None:
    """One person in a hundred at the upper bound: a clipped normal would have four times the mean."""
    values = np.where(np.arange(20_000) % 100 == 0, 1000.0, 0.0)
    m, schema = 100_000, Schema({"gain": Numeric(0, 1000), "b": Numeric(0, 1)})
    release = dpcov.covariance(pa.table({"gain": values, "b": values / 2000}), EXACT, schema=schema, center=True, seed=0)
    gain = synthetic(release, m, seed=3)["gain"].to_numpy()
    assert abs(gain.mean() - 10) <= allowed(2) * gain.std() / math.sqrt(m)
    spread = np.square(gain - gain.mean())
    assert abs(spread.mean() - values.var()) <= allowed(2) * spread.std() / math.sqrt(m)


def test_a_narrow_column_keeps_its_correlation() -> None:
    """Bounds a thousand times too wide: what is small against the bounds, but not against the noise, is kept."""
    generator = np.random.default_rng(4)
    z = generator.standard_normal((20_000, 2))
    table, m = pa.table({"a": 5 + z[:, 0] / 100, "b": 20 + 4 * z[:, 0] + 3 * z[:, 1]}), 50_000
    schema = Schema({"a": Numeric(0, 100), "b": Numeric(-100, 1000)})
    release = dpcov.covariance(table, dpcov.PureDP(10**9), schema=schema, center=True, seed=0, postprocess="none")
    found = synthetic(release, m, seed=5)
    a, b = found["a"].to_numpy(), found["b"].to_numpy()
    error = allowed(3) * math.sqrt(1 / m + 1 / PILOT)
    assert abs(np.corrcoef(a, b)[0, 1] - 0.8) <= error
    assert abs(a.mean() - 5) <= error * 0.01
    assert abs(a.std() / 0.01 - 1) <= error


def test_normal_rows_have_the_released_moments() -> None:
    """Rows far inside row_norm: none is cut. A wrong factor or a mean left out would be caught."""
    generator = np.random.default_rng(5)
    rows, m = generator.multivariate_normal([1.0, 0.0, -2.0], [[1.0, 0.5, 0], [0.5, 2.0, 0], [0, 0, 0.1]], 5000), 50_000
    centred = dpcov.covariance(rows, EXACT, row_norm=100, center=True, seed=0)
    plain = dpcov.covariance(rows, EXACT, row_norm=100, seed=0)
    for release, mean in ((centred, centred.mean), (plain, np.zeros(3))):
        found = synthetic(release, m, seed=6)
        deviations = np.sqrt(release.covariance.diagonal())
        assert np.abs((found.mean(axis=0) - mean) / deviations).max() <= allowed(18) / math.sqrt(m)
        gap = (np.cov(found.T) - release.covariance) / np.outer(deviations, deviations)
        assert np.abs(gap).max() <= allowed(18) * math.sqrt(2 / m)


@pytest.mark.parametrize("schema", [MIXED, None])
def test_rows_repeat_by_seed_only(schema: Schema | None) -> None:
    table = mixed_table(500)
    rows = np.column_stack([table["number"].to_numpy(), table["other"].to_numpy()])
    options: dict[str, Any] = {"row_norm": 30} if schema is None else {"schema": schema}
    release = dpcov.covariance(rows if schema is None else table, dpcov.PureDP(1), center=True, seed=0, **options)

    def cells(seed: int | None) -> Any:
        found = synthetic(release, 20, seed=seed)
        return found.tolist() if isinstance(found, np.ndarray) else found.to_pydict()

    assert cells(1) == cells(1)
    assert cells(1) != cells(2)
    assert cells(None) != cells(None)


def test_blocks_make_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENTRIES", 8 * 7)
    release = dpcov.covariance(mixed_table(500), dpcov.PureDP(1), schema=MIXED, center=True, seed=0)
    found = synthetic(release, 30, seed=1)
    assert_within(found, MIXED, 30)
    assert len(set(found["number"].to_pylist())) == 30
    without = dpcov.covariance(np.ones((50, 8)) / 4, dpcov.PureDP(1), row_norm=1, seed=0)
    assert len(np.unique(synthetic(without, 30, seed=1), axis=0)) == 30


def test_ignored_columns_stay_out_and_the_order_is_the_schemas() -> None:
    schema = Schema({"b": Numeric(0, 1), "name": Ignored(), "a": Categorical([3, 1, 2]), "c": Categorical([0.5, 1])})
    table = pa.table({"a": [1, 2, 3], "b": [0.1, 0.2, 0.3], "name": ["x", "y", "z"], "c": [0.5, 1.0, 1.0]})
    found = synthetic(dpcov.covariance(table, EXACT, schema=schema, center=True, seed=0), 10, seed=0)
    assert_within(found, schema, 10)
    assert found.schema.types == [pa.float64(), pa.int64(), pa.float64()]


def test_hopeless_releases_still_give_rows() -> None:
    """Zero, singular and indefinite matrices; a column of one level, shares that are all 0."""
    schema = Schema({"x": Numeric(0, 1), "one": Categorical(["only"]), "gone": Categorical(["a", "b"])})
    table = pa.table({"x": [0.5] * 3, "one": ["only"] * 3, "gone": pa.array([None] * 3, pa.string())})
    release = dpcov.covariance(table, EXACT, schema=schema, center=True, seed=0)
    found = synthetic(release, 1000, seed=0)
    assert_within(found, schema, 1000)
    assert np.ptp(found["x"].to_numpy()) < 0.05
    noisy = dpcov.covariance(table, dpcov.PureDP("0.001"), schema=schema, center=True, seed=0)
    assert_within(synthetic(dataclasses.replace(noisy, postprocess="none"), 100, seed=0), schema, 100)


@pytest.mark.parametrize("m", [0, -1, True, 2.0, "3", None])
def test_a_wrong_number_of_rows_is_refused(m: Any) -> None:
    release = dpcov.covariance(np.ones((5, 2)), dpcov.PureDP(1), row_norm=2, seed=0)
    with pytest.raises(
        ParameterError, match=r"^m must be an integer from 1 to 2\*\*31, got .*\. Hint: it says how many rows to make\.$"
    ):
        synthetic(release, m)
    assert len(synthetic(release, np.int64(1))) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [-1, True, 1.0, "a"])
def test_a_wrong_seed_is_refused(seed: Any) -> None:
    release = dpcov.covariance(np.ones((5, 2)), dpcov.PureDP(1), row_norm=2, seed=0)
    with pytest.raises(ParameterError, match=r"^seed must be a nonnegative integer, got .*\. Hint: "):
        synthetic(release, 1, seed=seed)


def test_releases_that_do_not_tell_enough_are_refused() -> None:
    rows = np.full((100, 3), 0.5)
    for release in (
        dpcov.mean(rows, dpcov.ZCDP(1), radius=1, seed=0),
        dpcov.pca(rows, dpcov.PureDP(1), k=1, row_norm=1, seed=0),
    ):
        with pytest.raises(ReleaseError, match=r"release must hold a covariance for synthetic rows, got .*\. Hint: "):
            synthetic(release, 10)
    uncentred = dpcov.covariance(mixed_table(50), dpcov.PureDP(1), schema=MIXED, center=False, seed=0)
    with pytest.raises(ReleaseError, match=r"center=True\.$"):
        synthetic(uncentred, 10)


class TestWholeNumbers:
    TABLE = pa.table({"children": [0, 0, 4, 4] * 500, "height": [1.5, 1.6, 1.7, 1.8] * 500})
    BOUNDS: ClassVar = {"children": Numeric(-0.9, 4.9, integer=True), "height": Numeric(1, 2)}

    def released(self) -> dpcov.Release:
        return dpcov.covariance(self.TABLE, EXACT, schema=Schema(self.BOUNDS), seed=3)

    def test_synthetic_cells_are_whole_and_within_the_bounds(self) -> None:
        made = synthetic(self.released(), 2000, seed=1)
        assert made["children"].type == pa.int64()
        assert set(made["children"].to_pylist()) == {0, 1, 2, 3, 4}
        assert made["height"].type == pa.float64()
        # Rounding moves a mean by less than half a unit; the mean of 2000 numbers of deviation 2 has a deviation of .05.
        assert abs(np.mean(made["children"].to_pylist()) - 2) < 0.5 + 0.25

    def test_a_file_keeps_it_and_one_without_it_is_as_ever(self, tmp_path: Path) -> None:
        release = self.released()
        release.save(tmp_path / "whole.json")
        again = dpcov.load(tmp_path / "whole.json")
        assert again.schema == release.schema
        assert synthetic(again, 50, seed=1).equals(synthetic(release, 50, seed=1))
        plain = dpcov.covariance(self.TABLE, EXACT, schema=Schema(self.BOUNDS | {"children": Numeric(-0.9, 4.9)}), seed=3)
        plain.save(tmp_path / "plain.json")
        assert '"integer"' not in (tmp_path / "plain.json").read_text(encoding="utf-8")
        assert (plain.covariance == release.covariance).all()  # it says nothing about how rows are encoded

    def test_whole_numbers_that_are_too_long_for_integers(self) -> None:
        schema = Schema({"far": Numeric(0, 1e100, integer=True), "near": Numeric(0, 1)})
        release = dpcov.covariance(np.ones((50, 2)), EXACT, schema=schema, seed=1)
        assert synthetic(release, 5, seed=1)["far"].type == pa.float64()
