"""Without noise a release is what pandas computes, in the table's own units, up to the rounding of the grid."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import dpcov
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms.covariance.gaussian import GAUSSIAN
from dpcov.mechanisms.running import released
from dpcov.release.record import Release
from dpcov.schema import Categorical, Numeric, Schema
from dpcov.sources.opening import open_source
from dpcov.verify.testing import Noiseless, opened

Floats = NDArray[np.float64]
ONE = dpcov.ZCDP(1)

SCHEMA = Schema(
    {
        "age": Numeric(17, 90),
        "town": Categorical(["Basel", "Ørsta"], weight=0.4),
        "balance": Numeric(-2000, 500, weight=3),
        "grade": Categorical([2, 1], weight=1.5),
        "score": Numeric(1e-3, 1.2e-3, weight=0.7),
        "insured": Categorical([True]),
    }
)
UNEVEN = Schema(
    {name: dataclasses.replace(column, weight=1 + place) for place, (name, column) in enumerate(SCHEMA.used.items())}
)


def table(n: int = 4000, seed: int = 81) -> Any:
    """Correlated columns with values beyond their bounds, unknown levels and gaps."""
    draw = np.random.default_rng(seed)
    common = draw.standard_normal(n)
    frame = pd.DataFrame(
        {
            "age": 50 + 20 * common + 5 * draw.standard_normal(n),
            "town": np.where(common + draw.standard_normal(n) > 0, "Basel", np.where(draw.random(n) < 0.5, "Ørsta", "Paris")),
            "balance": -400 + 600 * common + 500 * draw.standard_normal(n),
            "grade": np.where(common > 0.5, 1, draw.integers(1, 4, n)),
            "score": 1.1e-3 + 9.5e-5 * np.tanh(common + draw.standard_normal(n)),  # short of its bounds, so no row has norm 1
            "insured": common > draw.standard_normal(n),
        }
    )
    frame.loc[::9, "age"] = np.nan
    frame.loc[1::50, "balance"] = [np.inf, -np.inf] * (n // 100)
    frame["town"] = frame["town"].where(draw.random(n) > 0.05, None)
    frame["insured"] = frame["insured"].astype("boolean").where(draw.random(n) > 0.05, pd.NA)
    return frame


def by_pandas(frame: Any, schema: Schema = SCHEMA) -> Any:
    """Clip, fill the gaps with the midpoint, and make a column per level."""
    parts = []
    for name, column in schema.used.items():
        if isinstance(column, Numeric):
            finite = frame[name].replace([np.inf, -np.inf], np.nan)
            parts.append(finite.clip(column.lower, column.upper).fillna((column.lower + column.upper) / 2).rename(name))
        else:
            dummies = pd.get_dummies(frame[name], dtype=float).reindex(columns=list(column.levels), fill_value=0.0)
            parts.append(dummies.set_axis([f"{name}={level}" for level in column.names], axis=1))
    return pd.concat(parts, axis=1)


def quiet(data: Any, *, center: bool, neighbors: str, schema: Schema | None = SCHEMA, row_norm: float = 1.0) -> Release:
    """Release without noise; whatever is asked, paid and recorded is real."""
    source = open_source(data, None, schema, center)
    curator = opened(source, Grid(row_norm, center=center), ONE, neighbors, sampler=Noiseless())
    return released(GAUSSIAN, curator, ONE, postprocess="none")


def rounding(schema: Schema, center: bool) -> tuple[Floats, Floats]:
    """Bounds on the error of the mean and of the second moment, in the table's units.

    A coordinate of an encoded row is rounded by at most δ = 2⁻¹⁷, in centred rows by δ/√¾ because these are scaled by √¾ first,
    and is at most 1; so a product of two is off by at most 2δ + δ². One user's unit is 1/scale encoded ones.
    """
    scales, delta = schema.scales(center), 2.0**-17 / (math.sqrt(0.75) if center else 1)
    return scales * delta, np.outer(scales, scales) * (2 * delta + delta**2)


def is_close(release: Release, expected: Any, schema: Schema) -> bool:
    mean_bound, moment_bound = rounding(schema, release.center)
    matrix = expected.to_numpy()
    moment = matrix.T @ matrix / len(matrix)
    if not release.center:
        close = np.abs(release.second_moment - moment) <= moment_bound
        return bool(close.all() and np.array_equal(release.covariance, release.second_moment))
    # The covariance is about the offsets too: two products, each within its bound.
    near_mean = np.abs(release.mean - expected.mean()) <= mean_bound * (1 + 1e-9)
    near_covariance = np.abs(release.covariance - expected.cov(ddof=0)) <= 2 * moment_bound
    mean = np.abs(expected.mean().to_numpy())
    near_moment = np.abs(release.second_moment - moment) <= 2 * moment_bound + 1.01 * (
        np.outer(mean, mean_bound) + np.outer(mean_bound, mean) + np.outer(mean_bound, mean_bound)
    )
    return bool(near_mean.all() and near_covariance.to_numpy().all() and near_moment.all())


@pytest.mark.parametrize("schema", [SCHEMA, UNEVEN], ids=["weights", "other weights"])
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("center", [False, True])
class TestPandas:
    def test_mean_and_covariance(self, center: bool, neighbors: str, schema: Schema) -> None:
        frame = table()
        expected = by_pandas(frame)
        lengths = np.linalg.norm((expected - schema.offsets(center)) / schema.scales(center), axis=1)
        assert lengths.max() <= 1 - 1e-4  # so no row is shortened, and the bounds are those of rounding alone
        release = quiet(frame, center=center, neighbors=neighbors, schema=schema)
        assert release.feature_names == tuple(expected.columns)
        assert release.n == len(frame)
        assert is_close(release, expected, schema)

    def test_an_error_of_one_per_cent_is_seen(self, center: bool, neighbors: str, schema: Schema) -> None:
        frame = table()
        expected = by_pandas(frame)
        release = quiet(frame, center=center, neighbors=neighbors, schema=schema)
        wrong: list[tuple[str, Numeric | Categorical]] = []
        for name, column in schema.used.items():
            wrong.append((name, dataclasses.replace(column, weight=column.weight * 1.01)))
            if isinstance(column, Numeric):
                shift = (column.upper - column.lower) / 100
                wrong.append((name, Numeric(column.lower - shift, column.upper, column.weight)))
                wrong.append((name, Numeric(column.lower + shift, column.upper + shift, column.weight)))
        seen = [
            not is_close(in_units_of(release, Schema(dict(schema.columns) | {name: column})), expected, schema)
            for name, column in wrong
            # About 0 only the larger of the two bounds counts, so a change of the other is no error.
            if center or column.weight != schema.used[name].weight or _reach(column) != _reach(schema.used[name])
        ]
        assert len(seen) >= 8
        assert all(seen)


def in_units_of(release: Release, schema: Schema) -> Release:
    """Return the same answers, as if rows had been encoded by another schema."""
    return dataclasses.replace(release, encoding=dataclasses.replace(release.encoding, schema=schema))


def _reach(column: Numeric | Categorical) -> float:
    return column.reach(False) if isinstance(column, Numeric) else 1.0


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("row_norm", [1e-6, 40.0])
def test_without_a_schema(row_norm: float, neighbors: str) -> None:
    rows = np.random.default_rng(82).uniform(-0.5, 0.5, (3000, 3)) @ np.array([[1, 0.3, 0], [0, 1, -0.6], [0, 0, 0.2]])
    rows = (rows + np.array([0.1, -0.2, 0.3])) * row_norm / 2
    expected = pd.DataFrame(rows, columns=["x0", "x1", "x2"])
    release = quiet(rows, center=True, neighbors=neighbors, schema=None, row_norm=row_norm)
    delta = 2.0**-17 / math.sqrt(0.75)
    assert np.abs(release.mean / row_norm - rows.mean(axis=0) / row_norm).max() <= delta
    assert np.abs(release.covariance - expected.cov(ddof=0).to_numpy()).max() / row_norm**2 <= 2 * (2 * delta + delta**2)
    # Every entry is large enough for an error of one per cent to be seen.
    assert np.abs(rows.mean(axis=0)).min() / row_norm / 100 > 3 * delta
    assert np.diag(expected.cov(ddof=0)).min() / row_norm**2 / 100 > 2 * delta


class TestTheCountInTheCorner:
    def test_one_question_answers_everything(self) -> None:
        centred = quiet(table(), center=True, neighbors="add-remove")
        assert [(spend.asked, spend.budget) for spend in centred.spent] == [("second moment", ONE)]
        plain = quiet(table(), center=False, neighbors="add-remove")
        assert [spend.asked for spend in plain.spent] == ["second moment", "count"]

    @pytest.mark.parametrize("n", [0, 1, 2, 3, 1000])
    @pytest.mark.parametrize("schema", [SCHEMA, None])
    def test_it_is_n_and_at_least_one(self, n: int, schema: Schema | None) -> None:
        data = table(1000)[:n] if schema else np.zeros((n, 2))
        release = quiet(data, center=True, neighbors="add-remove", schema=schema)
        assert release.n == max(n, 1)
        assert np.isfinite(release.covariance).all()
        assert np.isfinite(release.mean).all()

    @pytest.mark.parametrize("bits", [1, 8, 16])
    def test_it_is_rounded_to_the_nearest(self, bits: int) -> None:
        grid = Grid(1.0, bits, center=True)
        square, moment = grid.constant**2, SecondMoment(grid, grid.width(1))

        def corner_count(corner: int) -> int | None:
            return moment.gives_n(np.array([corner, 0, 0]))

        assert square == 4 ** (bits - 1)
        for n in (1, 2, 3, 12345):
            assert corner_count(n * square) == n
            assert corner_count(n * square + (square - 1) // 2) == n
            assert corner_count(n * square - square // 2) == n
            if bits > 1:
                assert corner_count(n * square + square // 2) == n + 1
        for low in (0, -1, square // 2 - 1, -(10**18)):
            assert corner_count(low) == 1

    def test_a_noisy_corner_is_what_the_release_says(self) -> None:
        release = dpcov.covariance(
            table(), ONE, schema=SCHEMA, center=True, neighbors="add-remove", mechanism="gaussian", seed=83
        )
        corner = int(release.answers[0].integers[0])
        assert corner != 4000 * 4**15
        assert release.n == round(corner / 4**15)
        assert abs(release.n - 4000) <= 100  # σ of the corner is 1/√2, so of n it is 2.8
