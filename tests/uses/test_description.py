"""Laws of what people read: standard errors are right, noise is not called clear, what is impossible is not shown."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import dpcov
from dpcov.report.text import rounded
from dpcov.uses.clipping import clipped_share
from dpcov.uses.description import CLEAR, Correlation
from dpcov.uses.spectrum import spectrum
from tests.uses.test_correlation import MIXED, any_release, mixed_table, one_hot

Floats = NDArray[np.float64]

LOUD = dpcov.PureDP(8)
QUIET = dpcov.ZCDP(1)
MECHANISMS: dict[str, tuple[Any, dict[str, Any]]] = {
    "wishart": (dpcov.PureDP(4), {}),
    "laplace": (LOUD, {}),
    "frobenius": (LOUD, {}),
    "gaussian": (QUIET, {}),
    "separate": (QUIET, {}),
    "adaptive": (QUIET, {}),
    "eigenvectors": (LOUD, {}),
    "kapralov-talwar": (LOUD, {}),
    "auto": (dpcov.PureDP(4), {}),
}


def truth(table: Any, center: bool) -> tuple[Floats, Floats, Floats]:
    """Return means, deviations and correlations of the rows; about 0 where they are not centred."""
    rows = one_hot(table)
    moment = np.cov(rows.T, bias=True) if center else rows.T @ rows / len(rows)
    deviations = np.sqrt(moment.diagonal())
    return rows.mean(axis=0), deviations, moment / np.outer(deviations, deviations)


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("name", MECHANISMS)
def test_errors_are_as_large_as_they_say(name: str, center: bool, neighbors: str) -> None:
    """Over ten literal seeds the r.m.s. error is between .6 and 1.5 times the standard error: a variance for a deviation,
    a forgotten 1/n or a missing unit would be far outside. (`kapralov-talwar`, whose rounds mend each other, and private
    units: .3.)
    """
    table, (budget, options) = mixed_table(3000), MECHANISMS[name]
    if name == "auto" and center:  # in private units a column that is not declared nullable is taken to be whole
        table = table.filter(table["colour"].is_valid())
    exact = truth(table, center)
    ratios: list[list[Floats]] = [[], [], []]
    for seed in range(10):
        release = dpcov.covariance(
            table, budget, schema=MIXED, center=center, mechanism=name, neighbors=neighbors, seed=seed, **options
        )
        found = release.describe("rows")
        for i, (reading, right) in enumerate(zip((found.mean, found.deviation, found.correlation), exact, strict=True)):
            if reading is not None:
                known = np.isfinite(reading.standard_error) & (reading.standard_error > 0)
                if i == 2:
                    known[np.tril_indices(8)] = False
                    known &= np.isfinite(right) & (np.abs(reading.values) < 1)
                ratios[i].append(((reading.values - right) / np.where(known, reading.standard_error, 1.0))[known])
    for ratio in ratios[1 - center :]:
        careful = name == "kapralov-talwar" or (name == "auto" and center)  # in private units errors hold what weights may take
        least = 0.3 if careful else 0.6
        assert least < math.sqrt(np.mean(np.concatenate(ratio) ** 2)) < 1.5


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("center", [True, False])
def test_errors_of_rounds_are_as_large_as_they_say(center: bool, neighbors: str) -> None:
    """Likewise, of normal rows, which `coinpress` hardly clips."""
    mixed = np.random.default_rng(0).normal(size=(4, 4))
    rows = np.random.default_rng(1).normal(size=(6000, 4)) @ mixed
    rows = rows - rows.mean(axis=0)
    exact = np.corrcoef(rows.T)[np.triu_indices(4, 1)]
    deviations, ratios = rows.std(axis=0), []
    options: dict[str, Any] = {"radius": 100.0} if center else {}
    for seed in range(10):
        release = dpcov.covariance(
            rows,
            QUIET,
            mechanism="coinpress",
            upper=100.0,
            lower=0.01,
            center=center,
            neighbors=neighbors,
            seed=seed,
            **options,
        )
        found = release.describe("rows")
        assert found.deviation is not None
        assert found.correlation is not None
        ratios.append((found.deviation.values - deviations) / found.deviation.standard_error)
        above = (part[np.triu_indices(4, 1)] for part in (found.correlation.values, found.correlation.standard_error))
        ratios.append((next(above) - exact) / next(above))
    assert 0.4 < math.sqrt(np.mean(np.concatenate(ratios) ** 2)) < 1.7


def test_the_errors_of_a_noisy_matrix_are_those_of_its_intervals() -> None:
    release = dpcov.covariance(mixed_table(3000), LOUD, schema=MIXED, center=True, mechanism="wishart", seed=0)
    found, intervals = release.describe("rows"), release.interval(about="rows")
    assert found.mean is not None
    assert found.deviation is not None
    assert intervals.mean is not None
    assert np.array_equal(found.mean.standard_error, intervals.mean.standard_error)
    number = 0  # a column of numbers: to first order its deviation's error is the variance's, divided by 2·deviation
    first_order = intervals.entries.standard_error[number, number] / (2 * found.deviation.values[number])
    assert found.deviation.standard_error[number] == pytest.approx(first_order, rel=0.05)
    assert found.deviation.values[number] ** 2 == pytest.approx(intervals.entries.estimate[number, number])


@pytest.mark.parametrize(
    ("name", "budget"), [("gaussian", dpcov.ZCDP("0.01")), ("wishart", dpcov.PureDP(1)), ("laplace", dpcov.PureDP(2))]
)
def test_independent_columns_are_seldom_called_correlated(name: str, budget: Any) -> None:
    """Of 20 × 190 pairs, over literal seeds, at most 1 in 200 is called clear, although all deviations are."""
    rows = np.random.default_rng(0).uniform(-1, 1, (8000, 20))
    clear = 0
    for seed in range(20):
        found = dpcov.covariance(rows, budget, row_norm=3, center=True, mechanism=name, seed=seed).describe()
        assert found.deviation is not None
        assert found.deviation.clear.all()
        assert len(found.pairs(clear=False)) == 190
        clear += len(found.pairs())
    assert clear <= 19


def test_strong_correlations_are_called_clear() -> None:
    release = dpcov.covariance(mixed_table(20_000), dpcov.PureDP(1), schema=MIXED, center=True, seed=0)
    found, exact = release.describe(), truth(mixed_table(20_000), center=True)[2]
    assert found.correlation is not None
    strong = [(i, j) for i, j in found.pairs(clear=False) if abs(exact[i, j]) > 0.4]
    assert strong
    assert set(strong) <= set(found.pairs())
    for i, j in found.pairs():
        assert abs(found.correlation.values[i, j] - exact[i, j]) < 5 * found.correlation.standard_error[i, j]


@pytest.mark.parametrize("postprocess", ["shrink", "none"])
def test_levels_have_shares_and_the_deviation_of_their_shares(postprocess: str) -> None:
    release = dpcov.covariance(
        mixed_table(50), dpcov.PureDP("0.2"), schema=MIXED, center=True, mechanism="wishart", postprocess=postprocess, seed=3
    )
    found = release.describe()
    assert found.mean is not None
    assert found.deviation is not None
    p = found.mean.values[found.is_level]
    assert found.is_level.tolist() == [False, True, True, True, True, False, True, True]
    assert (p >= 0).all()
    assert (p <= 1).all()
    assert found.deviation.values[found.is_level] == pytest.approx(np.sqrt(p * (1 - p)))


def test_a_mean_is_clear_where_it_is_inside_the_bounds() -> None:
    """Near a bound a column may hold nothing but the bound; 0 means nothing where bounds lie around it."""
    n = 4000
    table = pa.table({"around": np.linspace(-1, 1, n), "at": np.zeros(n), "inside": np.full(n, 0.5)})
    schema = dpcov.Schema({"around": dpcov.Numeric(-5, 5), "at": dpcov.Numeric(0, 1), "inside": dpcov.Numeric(0, 1)})
    for seed in range(5):
        found = dpcov.covariance(table, LOUD, schema=schema, center=True, seed=seed, mechanism="wishart").describe()
        assert found.mean is not None
        assert found.mean.clear.tolist() == [True, False, True]
    bare = dpcov.covariance(np.linspace(-1, 1, n)[:, None] * 0.1, LOUD, row_norm=1, center=True, seed=0).describe()
    assert bare.mean is not None
    assert not bare.mean.clear.any()


def test_a_radius_that_few_rows_cannot_find_makes_nothing_clear() -> None:
    """178 rows at ε = 0.1: the private radius may lie anywhere, and means of rows clipped to nothing look precise."""
    rows = np.random.default_rng(0).normal(0.4, 0.1, (178, 5))
    schema = dpcov.Schema({f"x{j}": dpcov.Numeric(-1, 1) for j in range(5)})
    for seed in range(20):
        release = dpcov.covariance(rows, dpcov.PureDP("0.1"), schema=schema, center=True, seed=seed)
        found = release.describe()
        assert found.mean is not None
        assert found.deviation is not None
        assert clipped_share(release) == 1
        error = np.abs(found.mean.values - rows.mean(axis=0))
        assert (error < 5 * found.mean.standard_error).all()
        assert not found.deviation.clear.any()
        assert not found.pairs()


def test_a_radius_that_many_rows_find_costs_little() -> None:
    release = dpcov.covariance(
        mixed_table(20_000), dpcov.PureDP(1), schema=MIXED, center=True, mechanism="wishart", clip="private", seed=0
    )
    assert 0 < clipped_share(release) < 0.1
    asked = dpcov.covariance(
        mixed_table(2000), dpcov.PureDP(1), schema=MIXED, center=True, mechanism="wishart", clip=0.9, seed=0
    )
    assert clipped_share(asked) == 0


def test_quantiles_have_errors_that_nobody_knows() -> None:
    rows = np.random.default_rng(0).normal(size=(2000, 2))
    found = dpcov.mean(rows, dpcov.ZCDP(1), radius=10, mechanism="symq", seed=0).describe()
    assert found.mean is not None
    assert not found.mean.known
    assert not found.mean.clear.any()
    assert (found.deviation, found.correlation, found.pairs()) == (None, None, [])


def test_a_mean_of_too_few_rows_is_not_clear() -> None:
    """A radius chosen by noise shortens all rows to nothing: the sum around it has next to no noise, and is no mean."""
    rows = np.random.default_rng(0).normal(4.0, 1.0, (178, 3))
    for seed in range(8):
        few = dpcov.mean(rows, dpcov.PureDP("0.1"), radius=100, seed=seed).describe().mean
        assert few is not None
        assert not few.clear.any()
        assert np.isinf(few.standard_error).all()
    enough = dpcov.mean(np.tile(rows, (40, 1)), dpcov.PureDP("0.1"), radius=100, seed=0).describe().mean
    assert enough is not None
    assert np.isfinite(enough.standard_error).all()


@pytest.mark.parametrize("name", ["coinpress", "clipped", "coordinatewise", "karwa-vadhan"])
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
def test_means_by_themselves_have_errors(name: str, neighbors: str) -> None:
    """As `test_errors_are_as_large_as_they_say`, over 20 literal seeds."""
    rows, ratios = np.random.default_rng(0).normal([1.0, -2.0, 0.0], 1.0, (3000, 3)), []
    for seed in range(20):
        release = dpcov.mean(rows, dpcov.ZCDP("0.5"), radius=20, mechanism=name, neighbors=neighbors, seed=seed)
        found = release.describe().mean
        assert found is not None
        ratios.append((found.values - rows.mean(axis=0)) / found.standard_error)
    assert 0.5 < math.sqrt(np.mean(np.square(ratios))) < 1.7


def test_a_pair_of_large_error_is_not_the_strongest() -> None:
    """What is sorted by is what a correlation has at least; without known errors, its size."""
    release = dpcov.covariance(np.eye(3).repeat(9, 0), dpcov.ZCDP(1), row_norm=1, seed=0)
    values, errors = np.eye(3), np.zeros((3, 3))
    for i, j, value, error in ((0, 1, 1.0, 0.2), (0, 2, -0.9, 0.05), (1, 2, 0.7, 0.01)):
        values[i, j] = values[j, i] = value
        errors[i, j] = errors[j, i] = error
    names = ("a", "b", "c")
    found = Correlation(values, errors, np.abs(values) > 3 * errors, names, names, release)
    assert found.pairs() == [(0, 2), (1, 2), (0, 1)]
    unknown = Correlation(values.copy(), np.full((3, 3), np.nan), found.clear.copy(), names, names, release)
    assert unknown.pairs() == [(0, 1), (0, 2), (1, 2)]


def test_one_released_regression_describes_no_columns() -> None:
    rows = np.random.default_rng(0).uniform(-1, 1, (500, 3)) / 2
    found = dpcov.ridge(rows, dpcov.ZCDP(1), 0, alpha=0.1, row_norm=1, seed=0).describe()
    assert (found.mean, found.deviation, found.correlation) == (None, None, None)


def test_the_spectrum_knows_its_noise() -> None:
    """One strong direction among ten is clear; without any, none is."""
    random = np.random.default_rng(0)
    rows = random.uniform(-1, 1, (5000, 10))
    together = np.clip(rows / 2 + random.uniform(-0.5, 0.5, (5000, 1)), -1, 1)
    schema = dpcov.Schema({f"x{j}": dpcov.Numeric(-1, 1) for j in range(10)})
    for data, clear in ((rows, 0), (together, 1)):
        for center in (True, False):
            release = dpcov.covariance(data, dpcov.PureDP("0.5"), schema=schema, center=center, seed=0)
            found = spectrum(release, release.describe())
            assert int((found.clear & (found.values > 1)).sum()) == clear
            assert found.about == 1
            assert (np.diff(found.values) <= 0).all()
    bare = dpcov.covariance(together, dpcov.PureDP(2), row_norm=3, seed=0)
    found = spectrum(bare, bare.describe())
    assert found.about == 0
    assert found.clear[0]
    assert found.values == pytest.approx(np.linalg.eigvalsh(bare.covariance)[::-1])


def test_the_spectrum_of_nothing_is_empty() -> None:
    release = dpcov.covariance(np.zeros((50, 3)), dpcov.PureDP("0.01"), row_norm=1, center=True, seed=0)
    found = spectrum(release, release.describe())
    assert (len(found.values), found.features) == (0, 0)


@given(data=st.data())
@settings(max_examples=60)
def test_any_release_can_be_described(data: st.DataObject) -> None:
    names = st.sampled_from(["auto", "wishart", "laplace", "eigenvectors", "separate", "kapralov-talwar"])
    release = any_release(data, mechanism=data.draw(names))
    for postprocess in (release.postprocess, "none"):
        told = dataclasses.replace(release, postprocess=postprocess)
        found = told.describe()
        for reading in (found.mean, found.deviation, found.correlation):
            if reading is not None:
                assert np.isfinite(reading.values).all()
                assert (reading.standard_error >= 0).all()
        assert found.correlation is not None
        assert (found.correlation.standard_error == found.correlation.standard_error.T).all()
        assert (found.correlation.clear == found.correlation.clear.T).all()
        assert np.isfinite(spectrum(told, found).values).all()


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (38.4041, 0.0972, ("38.404", "0.097")),
        (0.46796, 0.00100, ("0.4680", "0.0010")),
        (188432.0, 1990.0, ("188400", "2000")),
        (-0.04, 12.3, ("0", "12")),
        (12.0, 0.0, ("12", "0")),
        (3.25, math.inf, ("3.25", "∞")),
        (3.25, math.nan, ("3.25", "?")),
        (1.23456789e12, 2e9, ("1.2346e+12", "2.0e+09")),
        (1.5e-7, 3e-9, ("1.500e-07", "3.0e-09")),
        (1.0, 1e-9, ("1.000000", "0.000000")),
    ],
)
def test_no_more_digits_than_the_error_allows(value: float, error: float, shown: tuple[str, str]) -> None:
    assert rounded(value, error) == shown


def test_three_standard_errors_are_the_rule() -> None:
    release = dpcov.covariance(mixed_table(3000), dpcov.PureDP(1), schema=MIXED, center=True, mechanism="wishart", seed=0)
    found = release.describe()
    assert found.correlation is not None
    assert found.pairs()
    assert all(abs(found.correlation.values[i, j]) > CLEAR * found.correlation.standard_error[i, j] for i, j in found.pairs())
    assert 0 < len(found.pairs()) < len(found.pairs(clear=False))


@pytest.mark.parametrize("private_units", [True, False])
def test_correlations_of_independent_columns_are_rarely_clear(private_units: bool) -> None:
    """190 pairs, noise far below 1/√n: 0.51 are beyond three standard errors on average, 8 or more with a chance of 7e-8.

    Without the draw of rows nearly all would be.
    """
    rows = np.random.default_rng(31).standard_normal((2000, 20))
    given: dict[str, Any] = {"schema": dpcov.Schema({f"c{j}": dpcov.Numeric(-6, 6) for j in range(20)})}
    if not private_units:
        given = {"row_norm": 10, "center": True, "mechanism": "gaussian"}
    release = dpcov.covariance(rows, dpcov.ZCDP(1000), seed=0, **given)
    assert (release.estimate.units is not None) == private_units
    assert len(release.describe().pairs()) < 8
    assert len(release.describe("rows").pairs()) < 8  # what the draw of rows makes is no correlation, whatever errors are of
    rows[:, 1] += 0.2 * rows[:, 0]
    assert (0, 1) in dpcov.covariance(rows, dpcov.ZCDP(1000), seed=0, **given).describe().pairs()


def test_cosines_that_the_draw_of_rows_could_make_are_not_clear_about_the_population() -> None:
    """Independent columns about 0: noise is far below 1/√n, and a cosine of the rows that is exact is not one of people.

    190 pairs, of which 8 or more are beyond three standard errors with a chance of 7e-8.
    """
    rows = np.random.default_rng(37).standard_normal((2000, 20))
    release = dpcov.covariance(rows, dpcov.ZCDP(1000), row_norm=10, mechanism="gaussian", seed=0)
    people, exact = release.describe().correlation, release.describe("rows").correlation
    assert people is not None
    assert exact is not None
    assert len(exact.pairs()) > 100
    assert len(people.pairs()) < 8
    listed = [(abs(people.values[pair]), 3 * people.standard_error[pair]) for pair in people.pairs()]
    assert all(value > least for value, least in listed)
