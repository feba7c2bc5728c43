"""Laws of releases in private units: what they say beside the truth, how certain it is, and what runs them by default."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import dpcov
from dpcov import Categorical, Numeric, Schema
from dpcov.errors import ParameterError
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.questions.table import ONE, ColumnMoments, LevelCounts
from dpcov.kernel.rows.standard import Standard
from dpcov.mechanisms.standardized.columns import level_columns
from dpcov.report import record
from dpcov.report.descriptions import cell_lines
from dpcov.uses.regression import regression

Floats = NDArray[np.float64]

SCHEMA = Schema(
    {
        "age": Numeric(0, 120),
        "pay": Numeric(0, 1_000_000),
        "hours": Numeric(0, 100),
        "sex": Categorical(["f", "m"]),
        "town": Categorical(["a", "b", "c", "d"]),
    }
)
N = 20_000


def people(n: int = N, seed: int = 1) -> tuple[Any, Floats]:
    """Return a table without missing cells, with pay far from its bounds, and its features."""
    draw = np.random.default_rng(seed)
    trait = draw.normal(size=n)
    age = np.clip(45 + 12 * trait + 8 * draw.normal(size=n), 0, 120)
    pay = np.clip(40_000 + 500 * age + 8_000 * draw.normal(size=n), 0, 1_000_000)
    hours = np.clip(38 + 3 * trait + 6 * draw.normal(size=n), 0, 100)
    sex = (trait + draw.normal(size=n) > 0).astype(int)
    town = draw.choice(4, n, p=[0.5, 0.3, 0.15, 0.05])
    table = pa.table(
        {
            "age": age,
            "pay": pay,
            "hours": hours,
            "sex": np.array(["f", "m"])[sex],
            "town": np.array(["a", "b", "c", "d"])[town],
        }
    )
    return table, np.column_stack([age, pay, hours, np.eye(2)[sex], np.eye(4)[town]])


TABLE, ROWS = people()


def released(budget: Any = None, seed: int = 0, table: Any = TABLE, schema: Schema = SCHEMA, **options: Any) -> dpcov.Release:
    return dpcov.covariance(table, dpcov.PureDP(1) if budget is None else budget, schema=schema, seed=seed, **options)


def test_a_table_is_centred_by_default_and_measured_in_private_units() -> None:
    release = released()
    assert (release.center, release.requested, release.mechanism) == (True, "auto", "standardized")
    assert not released(center=False).center
    assert not dpcov.covariance(ROWS[:, :3], dpcov.ZCDP(1), row_norm=1e6, seed=0).center
    assert not released(dpcov.ZCDP(1), mechanism="rescaled").center  # it has no centred form
    assert released(dpcov.ZCDP(1), mechanism="gaussian").center


def test_what_auto_runs_where_private_units_are_in_the_way() -> None:
    assert released(numerics="exact").mechanism == "laplace"  # the matrix of private units has rounded noise under pure DP
    assert released(dpcov.ZCDP(1), numerics="exact").mechanism == "standardized"
    assert released(postprocess="clip").mechanism == "wishart"
    once = pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches())
    assert released(table=once).mechanism == "wishart"
    with pytest.raises(ParameterError, match="robust must be False"):
        released(robust=True)


@pytest.mark.parametrize("budget", [dpcov.PureDP(2), dpcov.ZCDP("0.2")], ids=str)
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
def test_errors_are_about_as_large_as_they_say(budget: Any, neighbors: str) -> None:
    """Over twelve literal seeds, r.m.s.: at most 1.5 times the standard errors, and at least a third of them for correlations.

    Those of means and deviations hold what weights may take from skewed columns, of which there are none here.
    """
    exact = np.corrcoef(ROWS.T)
    column = np.array([0, 1, 2, 3, 3, 4, 4, 4, 4])
    apart = np.triu(column[:, None] != column)
    ratios: list[list[Floats]] = [[], [], []]
    for seed in range(12):
        found = released(budget, seed, neighbors=neighbors).describe("rows")
        assert found.mean is not None
        assert found.deviation is not None
        assert found.correlation is not None
        ratios[0].append((found.mean.values - ROWS.mean(axis=0)) / found.mean.standard_error)
        ratios[1].append(((found.deviation.values - ROWS.std(axis=0)) / found.deviation.standard_error)[:3])
        ratios[2].append(((found.correlation.values - exact) / np.where(apart, found.correlation.standard_error, 1.0))[apart])
    for ratio, least in zip(ratios, (0.2, 0.02, 0.33), strict=True):
        assert least < np.sqrt(np.mean(np.concatenate(ratio) ** 2)) < 1.5


@pytest.mark.parametrize("budget", [dpcov.PureDP(2), dpcov.ZCDP("0.2")], ids=str)
def test_intervals_hold(budget: Any) -> None:
    """At 95 %, over ten literal seeds, 88 % or more of entries and means: half widths 20 % too small would hold in 88.4 %."""
    covariance, entries, means, values = np.cov(ROWS.T, bias=True), [], [], []
    for seed in range(10):
        release = released(budget, seed)
        found = release.interval(0.95, about="rows")
        entries.append(found.entries.contains(covariance)[np.triu_indices(9)])
        assert found.mean is not None
        means.append(found.mean.contains(ROWS.mean(axis=0)))
        units = np.outer(release.units, release.units)
        exact = np.linalg.eigvalsh(covariance / units)[::-1]
        exact[-2:] = 0.0  # two columns of levels add up to 1 each; floats may be below 0
        values.append(found.eigenvalues.contains(exact))
    assert np.mean(entries) >= 0.88
    assert np.mean(means) >= 0.88
    assert np.mean(values) >= 0.95


def test_regressions_are_those_of_the_rows_where_there_is_no_noise() -> None:
    """And the centres of their intervals are, too."""
    model = released(dpcov.ZCDP(10**6)).ridge("pay", alpha=0.0, features=["age", "hours", "sex"], reference="none")
    design = np.column_stack([np.ones(N), ROWS[:, [0, 2, 4]]])
    slopes = np.linalg.lstsq(design, ROWS[:, 1], rcond=None)[0]
    assert model.coefficients[:2] == pytest.approx(slopes[1:3], rel=0.02, abs=3)
    assert model.coefficients[3] - model.coefficients[2] == pytest.approx(slopes[3], rel=0.02, abs=60)
    assert model.predict(TABLE) == pytest.approx(design @ slopes, abs=400)
    compared = released(dpcov.ZCDP(10**6)).ridge("pay", features=["age", "hours", "sex"], reference={"sex": "f"})
    assert (compared.alpha, compared.feature_names, compared.references) == (0.0, ("age", "hours", "sex=m"), ("sex=f",))
    assert compared.coefficients == pytest.approx(slopes[1:], rel=0.02, abs=60)
    assert compared.intercept == pytest.approx(slopes[0], rel=0.02)
    assert compared.predict(TABLE) == pytest.approx(model.predict(TABLE), rel=1e-9)
    for about in ("rows", "population"):
        found = compared.interval(about=about)
        assert found.coefficients.estimate == pytest.approx(compared.coefficients, rel=1e-9)
        assert found.intercept is not None
        assert float(found.intercept.estimate) == pytest.approx(compared.intercept, rel=1e-9)
    interval = model.interval().coefficients
    assert interval.estimate == pytest.approx(model.coefficients, rel=1e-9)
    assert ((interval.lower <= interval.estimate) & (interval.estimate <= interval.upper)).all()
    assert 0.3 < model.explained < 0.5
    assert model.bound() > 0


def test_a_wide_column_has_a_range_and_predictions_stay_within() -> None:
    release = released(dpcov.ZCDP("0.05"), schema=Schema({**SCHEMA.columns, "pay": Numeric(0, 10**8)}))
    low, high = release.ranges["pay"]
    assert 0 <= low < ROWS[:, 1].mean() < high < 10**7
    model = release.ridge("age", features=["pay"])
    beyond = model.predict(pa.table({"pay": [low - 1.0, low, high, 10.0 * high]}))
    assert beyond[0] == pytest.approx(beyond[1])
    assert beyond[3] == pytest.approx(beyond[2])
    assert set(release.ranges) <= {"age", "pay", "hours"}


def test_a_share_of_cells_that_noise_may_have_made_is_no_number() -> None:
    """Where all cells seem to be there that is said without ± 0, and a share of three errors or less is noise."""
    bounds = {"age": 120, "pay": 1_000_000, "hours": 100}
    declared = Schema({name: Numeric(0, upper, nullable=True) for name, upper in bounds.items()})
    release = released(dpcov.ZCDP(5), schema=declared)
    units = release.estimate.units
    assert units is not None
    for seen, error, words in (
        (1.0, 0.0, "so all are taken to be there: "),
        (0.5, 0.2, " ≈ noise ± 20 %"),
        (0.5, 0.1, " 50 ± 10 %"),
    ):
        shares = replace(units, seen=np.full_like(units.seen, seen), seen_error=np.full_like(units.seen, error))
        vars(release)["estimate"] = replace(release.estimate, units=shares)
        said = "\n".join(cell_lines(release, release.describe("rows")))
        assert set(record(release)["observed_error"].values()) == {error or None}
        assert words in said
        assert "± 0 %" not in said


def test_missing_cells_are_left_out_and_counted_where_they_are_declared() -> None:
    """Half of a column gone at random: its mean and its correlations stay; declared or not."""
    draw = np.random.default_rng(5)
    gone = draw.random(N) < 0.5
    table = TABLE.set_column(0, "age", pa.array(np.where(gone, np.nan, ROWS[:, 0])))
    declared = Schema({**SCHEMA.columns, "age": Numeric(0, 120, nullable=True)})
    for schema in (declared, SCHEMA):
        release = released(dpcov.ZCDP(5), table=table, schema=schema)
        assert release.mean[0] == pytest.approx(ROWS[~gone, 0].mean(), abs=0.5)
        assert release.describe().deviation.values[0] == pytest.approx(ROWS[~gone, 0].std(), rel=0.05)  # type: ignore[union-attr]
        assert release.correlation()[0, 1] == pytest.approx(np.corrcoef(ROWS[~gone, 0], ROWS[~gone, 1])[0, 1], abs=0.05)
        assert release.observed == ({"age": pytest.approx(0.5, abs=0.02)} if schema is declared else {})
        missing = release.ridge("pay", features=["age"]).predict(pa.table({"age": pa.array([None], pa.float64())}))
        assert missing == pytest.approx(ROWS[:, 1].mean(), rel=0.02)


def test_a_flag_tells_which_cells_are_missing() -> None:
    draw = np.random.default_rng(6)
    gone = draw.random(N) < np.where(ROWS[:, 3] == 1, 0.6, 0.1)
    table = TABLE.set_column(2, "hours", pa.array(np.where(gone, np.nan, ROWS[:, 2])))
    schema = Schema({**SCHEMA.columns, "hours": Numeric(0, 100, nullable=True, missing="flag")})
    release = released(dpcov.ZCDP(1), table=table, schema=schema)
    names = release.feature_names
    assert names[2:5] == ("hours", "hours observed=false", "hours observed=true")
    exact = np.corrcoef(gone, ROWS[:, 3])[0, 1]
    assert release.correlation()[names.index("hours observed=false"), names.index("sex=f")] == pytest.approx(exact, abs=0.03)
    model = release.ridge("age", features=["hours", "hours observed"])
    assert model.columns == ("hours",)
    assert np.isfinite(model.predict(table)).all()


def test_a_model_goes_through_pickle() -> None:
    model = released().ridge("pay", features=["age", "town"])
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(TABLE), model.predict(TABLE))
    assert (again.explained, again.bound()) == (model.explained, model.bound())


def test_intervals_of_drowned_coefficients_end_where_coefficients_can_be() -> None:
    """‖u‖ ≤ √(S_ff/α)/2 for any ridge regression, whatever the noise: no coefficient lies beyond its ‖f‖ times that."""
    alpha = 0.1
    release = released(table=people(1000)[0])
    found = release.ridge("age", alpha=alpha, reference="none").interval(0.95, about="rows")
    assert not found.clear
    system = regression(release, 0, range(1, release.d))
    longest = math.sqrt((system.raw.covariance[-1, -1] + system.raw.norms(0.95)[0]) / alpha) / 2
    limits = longest * system.size * np.linalg.norm(system.forward, axis=1)
    np.testing.assert_allclose(found.encoded.upper, limits, rtol=1e-12)
    np.testing.assert_allclose(found.encoded.lower, -limits, rtol=1e-12)


def test_a_complete_column_is_not_taken_to_be_empty() -> None:
    """With this seed the count of the fourth column's cells has Laplace noise of −4.1 deviations: once in 660 draws."""
    rows = np.random.default_rng(3).normal(size=(2000, 5))
    release = released(table=rows, schema=Schema({f"c{j}": Numeric(-5, 5) for j in range(5)}))
    assert release.estimate.units is not None
    assert release.estimate.units.seen.tolist() == [1.0] * 5
    assert release.describe().deviation.values == pytest.approx(np.ones(5), abs=0.5)  # type: ignore[union-attr]


def test_an_outlier_of_laplace_noise_is_not_taken_for_the_better_mean() -> None:
    """With this seed the mean of one column, asked apart, is 5 deviations of its noise off: the moment knows better."""
    rows = np.random.default_rng(3).normal(size=(3000, 20))
    release = released(dpcov.PureDP(40), 67, rows, Schema({f"c{j}": Numeric(-5, 5) for j in range(20)}))
    found = release.estimate.units
    assert found is not None
    apart = found.weighing.apart * release.units + release.offsets
    assert np.abs(apart - rows.mean(axis=0)).max() > 4.2 * float(np.nanmax(found.weighing.apart_noise * release.units))
    assert np.abs(release.mean - rows.mean(axis=0)).max() < 0.01


def with_counts(release: dpcov.Release, level: int, deviations: float) -> dpcov.Release:
    """Return the release had the noise on the count of one level been so many deviations larger."""
    answers = list(release.answers)
    at = next(i for i, answer in enumerate(answers) if isinstance(answer.question, LevelCounts))
    integers = answers[at].integers.copy()
    integers[level] += round(deviations * answers[at].deviation)
    answers[at] = replace(answers[at], integers=integers)
    return replace(release, answers=tuple(answers))


@pytest.mark.parametrize(("budget", "reach"), [(dpcov.PureDP(4), 7.0), (dpcov.ZCDP("0.5"), 4.0)], ids=str)
def test_a_count_that_noise_explains_is_no_sign_of_missing_cells(budget: Any, reach: float) -> None:
    """The sum of two counts: beyond seven deviations of Laplace noise, or four of normal noise, cells are missing."""
    release = released(budget)
    answer = release.take(LevelCounts)
    question = release.take(SecondMoment).question
    assert isinstance(question, SecondMoment)
    assert isinstance(question.grid, Standard)
    columns = question.grid.units.columns
    way = reach * math.sqrt(2) + float(answer.integers[:2].sum() - N) / answer.deviation
    for change, missing in ((way - 0.1, False), (way + 0.1, True)):
        counts = with_counts(release, 0, -change).take(LevelCounts)
        found = level_columns(SCHEMA, columns, counts, N, [np.arange(2), np.arange(4)])
        assert len(found[0].shares) == 2 + missing
        assert len(found[1].shares) == 4


@pytest.mark.parametrize(("budget", "reach"), [(dpcov.PureDP(4), 7.0), (dpcov.ZCDP("0.5"), 4.0)], ids=str)
def test_a_count_is_taken_for_the_share_where_noise_does_not_explain_how_far_off_it_is(budget: Any, reach: float) -> None:
    """And not by chance: Laplace noise is beyond four deviations once in 290 levels, normal noise once in 16 000."""
    exact = released(budget)
    noise = exact.take(LevelCounts).deviation / N
    for change, least, most in ((0.85, 0.0, 0.3), (1.6, 0.7, 1.1)):
        moved = (with_counts(exact, 5, change * reach).mean[8] - exact.mean[8]) / (change * reach * noise)
        assert least < moved < most


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
def test_shares_of_cells_are_as_uncertain_as_they_say_and_so_are_deviations(neighbors: str) -> None:
    """Half of a column gone at ε = 0.5, where its share of cells is off by 0.03: squares of z-scores average about 1.

    Seeds are literal, so this cannot fail by chance. The mean of 40 squares of Laplace numbers has a deviation of 0.35; here it
    is 1.0 and 1.3 of the shares, and of the deviations, which are off by half as much. Without the share's noise those have 15.
    """
    gone = np.random.default_rng(7).random(N) < 0.5
    table = TABLE.set_column(0, "age", pa.array(np.where(gone, np.nan, ROWS[:, 0])))
    schema = Schema({**SCHEMA.columns, "age": Numeric(0, 120, nullable=True)})
    shares, widths = [], []
    for seed in range(40):
        release = released(dpcov.PureDP("0.5"), seed, neighbors=neighbors, table=table, schema=schema)
        shares.append((release.observed["age"] - (~gone).mean()) / release.observed_error["age"])
        deviation = release.describe().deviation
        assert deviation is not None
        widths.append((deviation.values[0] - ROWS[~gone, 0].std()) / deviation.standard_error[0])
    assert 0.3 < np.mean(np.square(shares)) < 2.5
    assert np.mean(np.square(widths)) < 2.5


def test_what_two_answers_say_of_the_cells_that_are_there_is_averaged() -> None:
    """A column that drowns is asked twice, between its bounds and within its range: each time its cells are counted."""
    gone = np.random.default_rng(8).random(N) < 0.3
    table = TABLE.set_column(1, "pay", pa.array(np.where(gone, np.nan, ROWS[:, 1])))
    schema = Schema({**SCHEMA.columns, "pay": Numeric(0, 10**8, nullable=True)})
    release = released(dpcov.PureDP("0.5"), table=table, schema=schema)
    counts, variances = [], []
    for answer in release.every(ColumnMoments):
        assert isinstance(answer.question, ColumnMoments)
        place = [one.column for one in answer.question.ranges].index(1)
        unit = ONE / answer.question.ranges[place].weight / N
        counts.append(answer.values[3 * place + 2] * unit)  # a sum, squares and a count for each column
        variances.append((answer.deviation * unit) ** 2)
    assert len(counts) == 2
    both = np.average(counts, weights=1 / np.array(variances))
    assert abs(counts[0] - counts[1]) > 1e-3
    assert release.observed["pay"] == pytest.approx(both)
    assert release.observed_error["pay"] == pytest.approx(1 / np.sqrt(np.sum(1 / np.array(variances))))
