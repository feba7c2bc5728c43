"""``dpcov.plan_table``: predictions from made-up rows, whose errors are those that releases of such tables have."""

from __future__ import annotations

import io
import math
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

import dpcov
from benchmarks.planning import TEN, rms, truth, wine
from dpcov.errors import ParameterError, SchemaError
from dpcov.evaluate.demo import BOUNDS
from dpcov.evaluate.made_up import GONE, SKEW, Repeated, made_up
from dpcov.evaluate.table_plan import NO_CORRELATION, SPREAD
from dpcov.kernel.budget import Budget
from dpcov.kernel.questions.moments import Count, SecondMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.report.table_plans import figure, write
from dpcov.report.text import digits
from dpcov.sources.opening import open_source
from examples.hospital.table import hospital

SCHEMA = dpcov.Schema(
    {
        "name": dpcov.Ignored(),
        "age": dpcov.Numeric(20, 100),
        "stay": dpcov.Numeric(0, 400, nullable=True),
        "ward": dpcov.Categorical(["a", "b", "c", "d"]),
        "grade": dpcov.Categorical([1, 2], nullable=True, missing="flag"),
        "ill": dpcov.Categorical([False, True]),
    }
)
PURE = dpcov.PureDP(1)


@cache
def planned(**changes: Any) -> dpcov.TablePlan:
    said: dict[str, Any] = {"n": 5000} | changes
    return dpcov.plan_table(SCHEMA, said.pop("budget", PURE), **said)


class TestMadeUpRows:
    def test_they_are_what_is_said_of_them(self) -> None:
        """10 000 rows: a deviation is within 5 %, six of its standard errors for this tail; shares of gaps within 0.02."""
        table = made_up(SCHEMA, 10_000, SPREAD, seed=5)
        assert table.column_names == ["age", "stay", "ward", "grade", "ill"]
        for name, low, width in (("age", 20, 80), ("stay", 0, 400)):
            cells = table[name].drop_null().to_numpy()
            assert low <= cells.min()
            assert cells.max() <= low + width
            assert abs(np.std(cells) / (width * SPREAD) - 1) < 0.05
            assert abs(np.std(np.log(cells - low)) / SKEW - 1) < 0.05
        assert abs(table["stay"].null_count / 10_000 - GONE) < 0.02
        assert table["age"].null_count == 0
        assert {entry["counts"] for entry in table["ward"].value_counts().to_pylist()} == {2500}
        assert set(table["ill"].to_pylist()) == {False, True}

    def test_they_have_a_seed(self) -> None:
        assert made_up(SCHEMA, 50, SPREAD, 1).equals(made_up(SCHEMA, 50, SPREAD, 1))
        assert not made_up(SCHEMA, 50, SPREAD, 1).equals(made_up(SCHEMA, 50, SPREAD, 2))

    def test_repeated_rows_have_the_sums_of_a_table_that_repeats_them(self) -> None:
        table = made_up(SCHEMA, 40, SPREAD, 1)
        one, three = open_source(table, None, SCHEMA, True), open_source(pa.concat_tables([table] * 3), None, SCHEMA, True)
        repeated = Repeated(one, 3)
        assert (repeated.n, repeated.known_n, repeated.d) == (120, 120, len(SCHEMA.feature_names))
        assert (repeated.feature_names, repeated.schema) == (three.feature_names, SCHEMA)
        for question in (Count(), SecondMoment(Grid(1.0), repeated.d)):
            assert (repeated.total(question) == three.total(question)).all()


class TestPrediction:
    def test_it_is_the_median_of_what_releases_of_made_up_rows_print(self) -> None:
        """By hand, for a schema with two columns that are alike: they are taken together, in widths of their bounds."""
        schema = dpcov.Schema({"a": dpcov.Numeric(0, 1), "b": dpcov.Numeric(-10, 10)})
        budget = dpcov.ZCDP(1)
        found = dpcov.plan_table(schema, budget, n=3000, seed=7).outlook
        means, least, errors = [], [], []
        for run in range(9):
            release = dpcov.covariance(made_up(schema, 3000, SPREAD, 7 + run), budget, schema=schema, seed=7 + run)
            read = release.describe("rows")
            assert read.mean is not None
            assert read.deviation is not None
            assert read.correlation is not None
            means.append(read.mean.standard_error / [1, 20])
            errors.append(read.correlation.standard_error[0, 1])
            variances = (read.deviation.values + read.deviation.standard_error) ** 2 - read.deviation.values**2
            least.append(np.sqrt(3 * variances) / [1, 20])
        np.testing.assert_allclose(found.mean, np.median(means) * np.array([1, 20]), rtol=1e-12)
        np.testing.assert_allclose(found.deviation_from, np.median(least) * np.array([1, 20]), rtol=1e-9)
        assert found.correlation == pytest.approx(float(np.median(errors)), rel=1e-12)
        assert found.shows_correlations

    def test_of_many_rows_each_made_up_one_stands_for_several(self) -> None:
        few, many, most = (planned(n=n).outlook for n in (5000, 500_000, 2**30))
        assert (few.mean > many.mean).all()
        assert (many.mean > most.mean).all()
        assert few.correlation > 10 * many.correlation > 10 * most.correlation

    def test_columns_that_are_left_out_leave_more_for_the_others(self) -> None:
        found = planned(columns=("age", "stay"), budget=dpcov.ZCDP("0.01"))
        assert found.chosen is not None
        assert found.chosen.feature_names == ("age", "stay")
        assert found.chosen.correlation < found.outlook.correlation
        assert planned().chosen is None

    def test_narrower_bounds_are_of_the_same_rows(self) -> None:
        found = planned(budget=dpcov.ZCDP("0.01"))
        assert found.narrower is not None
        assert found.narrower.feature_names == found.outlook.feature_names
        assert found.narrower.mean[0] < 0.8 * found.outlook.mean[0]
        half = {
            name: replace(column, upper=(column.lower + column.upper) / 2) if isinstance(column, dpcov.Numeric) else column
            for name, column in SCHEMA.columns.items()
        }
        by_hand = dpcov.plan_table(dpcov.Schema(half), dpcov.ZCDP("0.01"), n=5000, spread=2 * SPREAD).outlook
        np.testing.assert_allclose(found.narrower.mean, by_hand.mean, rtol=1e-9)  # the same people fill twice as much of them
        assert found.narrower.correlation == pytest.approx(by_hand.correlation, rel=1e-9)
        levels = dpcov.Schema({"a": dpcov.Categorical(["x", "y"]), "b": dpcov.Categorical(["x", "y", "z"])})
        only = dpcov.plan_table(levels, PURE, n=5000)
        assert only.narrower is None
        assert 0 < only.outlook.correlation < 0.1

    def test_too_few_rows_show_nothing(self) -> None:
        found = planned(n=50, budget=dpcov.PureDP("0.1"))
        assert found.outlook.correlation > NO_CORRELATION
        assert not found.outlook.shows_correlations

    def test_one_column_has_no_correlation(self) -> None:
        one = dpcov.plan_table(dpcov.Schema({"a": dpcov.Numeric(0, 1)}), PURE, n=1000)
        assert math.isnan(one.outlook.correlation)
        assert "not known beforehand" in one._repr_html_()

    def test_a_mechanism_and_its_options(self) -> None:
        found = planned(mechanism="wishart", clip="none")
        assert found.outlook.ran == "wishart"
        assert found.outlook.correlation > 2 * planned().outlook.correlation

    def test_the_same_seed_gives_the_same_plan(self) -> None:
        assert dpcov.plan_table(SCHEMA, PURE, n=5000).to_dict() == planned().to_dict()
        assert planned(seed=1).to_dict() != planned().to_dict()


class TestAgainstReleases:
    """Predicted standard errors are within a factor 1.5 of the errors that releases have: medians over columns and pairs.

    Seeds are literal, so this cannot fail by chance; docs/planning.md has more tables, and where it does not hold.
    """

    def test_of_178_wines(self) -> None:
        schema = dpcov.Schema({name: dpcov.Numeric(*pair) for name, pair in BOUNDS.items()})
        self.check(wine(), schema, dpcov.ZCDP(1), range(12))

    def test_of_ten_columns_of_hospital_stays(self) -> None:
        schema = dpcov.Schema.read(Path(__file__).parents[2] / "examples" / "hospital" / "hospital.toml").select(TEN)
        self.check(hospital().select(TEN), schema, dpcov.ZCDP("0.1"), range(8))

    def check(self, table: pa.Table, schema: dpcov.Schema, budget: Budget, seeds: range) -> None:
        means, correlations = truth(table, schema)
        plan = dpcov.plan_table(schema, budget, n=table.num_rows).outlook
        numbers = np.flatnonzero(~plan.is_level)
        pairs = np.ix_(numbers, numbers)
        apart, of_pairs = [], []
        for seed in seeds:
            found = dpcov.covariance(table, budget, schema=schema, seed=seed).describe("rows")
            assert found.mean is not None
            assert found.correlation is not None
            apart.append((found.mean.values - means)[numbers])
            of_pairs.append((found.correlation.values - correlations)[pairs][np.triu_indices(len(numbers), 1)])
        assert 1 / 1.5 < np.median(plan.mean[numbers] / rms(apart)) < 1.5
        assert 1 / 1.5 < np.median(plan.correlation / rms(of_pairs)) < 1.5


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no rows": ({"n": 0}, "n must be an integer from 1 to 2\\*\\*30, got 0"),
    "half a row": ({"n": 0.5}, "n must be an integer"),
    "too many": ({"n": 2**30 + 1}, "n must be an integer"),
    "no spread": ({"spread": 0}, "spread must be above 0 and at most 0.5, got 0"),
    "beyond the bounds": ({"spread": 0.6}, "spread must be"),
    "no columns": ({"columns": []}, "columns must be a list of names"),
    "a name for a list": ({"columns": "age"}, "columns must be a list of names, got 'age'"),
    "no budget": ({"budget": 1}, "budget must be a PureDP, ZCDP or ApproxDP"),
    "other neighbours": ({"neighbors": "near"}, "neighbors must be"),
    "no mechanism": ({"mechanism": "magic"}, "mechanism must be"),
    "an unknown option": ({"magic": 1}, "magic"),
    "no seed": ({"seed": "x"}, "seed must be"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused(case: str) -> None:
    changes, words = REFUSED[case]
    said: dict[str, Any] = {"n": 100, "budget": PURE} | changes
    with pytest.raises(ParameterError, match=words):
        dpcov.plan_table(SCHEMA, said.pop("budget"), **said)


def test_a_schema_is_needed_and_must_have_the_columns() -> None:
    with pytest.raises(ParameterError, match=r"schema must be a Schema, got 'people\.toml'"):
        dpcov.plan_table("people.toml", PURE, n=5)  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="did you mean 'age'"):
        dpcov.plan_table(SCHEMA, PURE, n=5, columns=["agee"])


class TestWords:
    def test_what_cannot_be_told_from_noise_is_no_number(self) -> None:
        lost, seen = said(planned(n=50, budget=dpcov.PureDP("0.1"))), said(planned())
        assert "No correlation can be seen: more rows" in lost
        for word in ("≈ noise", "none"):
            assert [cell.strip() for cell in line_of(lost, "stay").split("│")].count(word) == 1
            assert word not in seen

    def test_numbers_are_those_of_the_plan(self) -> None:
        found = planned()
        cells = [cell.strip() for cell in line_of(said(found), "age").split("│")][1:-1]
        assert cells == ["age", "20 to 100", digits(found.outlook.mean[0]), digits(found.outlook.deviation_from[0])]
        cells = [cell.strip() for cell in line_of(said(found), "ward").split("│")][1:-1]
        assert cells == ["ward", "4 levels", f"{digits(100 * found.outlook.mean[2])} %", ""]
        error = found.outlook.correlation
        assert f"A correlation ± {digits(error)}: those below {digits(3 * error)} cannot be told from noise." in said(found)

    def test_narrower_bounds_are_advised_only_where_they_help(self) -> None:
        found = planned()
        assert found.narrower is not None
        for factor, helps in ((0.5, True), (1.04, True), (1.06, False), (2.0, False)):
            narrower = replace(found.narrower, correlation=factor * found.outlook.correlation)
            text = said(replace(found, narrower=narrower))
            assert ("With bounds half as wide: a correlation" in text) == helps
            assert ("Narrower bounds would not help correlations: with bounds half as wide" in text) != helps
            assert digits(narrower.correlation) in text

    def test_of_the_hospital_they_do_not_help(self) -> None:
        """Every column drowns, and pays for a range: with bounds half as wide it is not kept."""
        schema = dpcov.Schema.read(Path(__file__).parents[2] / "examples" / "hospital" / "hospital.toml")
        found = dpcov.plan_table(schema, PURE, n=8000)
        assert found.narrower is not None
        assert found.narrower.correlation > 1.3 * found.outlook.correlation
        assert "Narrower bounds would not help correlations" in said(found)


def said(found: dpcov.TablePlan) -> str:
    out = Console(file=io.StringIO(), width=200, highlight=False, markup=False, record=True)
    write(out, found)
    return out.export_text()


def line_of(text: str, name: str) -> str:
    (line,) = [line for line in text.splitlines() if line.startswith(f"│ {name} ")]
    return line


class TestPicture:
    def test_errors_at_five_budgets(self) -> None:
        for budget, sizes in ((dpcov.ZCDP(1), "rho"), (dpcov.ApproxDP(1, "1e-6"), "epsilon")):
            curve = planned(budget=budget).curve
            assert [float(getattr(one.budget, sizes)) for one in curve] == [0.25, 0.5, 1, 2, 4]
            assert curve[2] is planned(budget=budget).outlook
            assert curve[0].correlation > curve[4].correlation
        assert {float(one.budget.delta) for one in curve if isinstance(one.budget, dpcov.ApproxDP)} == {1e-6}
        drawn = figure(planned(budget=dpcov.ZCDP(1)))
        assert [axis.get_xlabel() for axis in drawn.axes] == ["rho", "rho"]
        line = drawn.axes[0].lines[0].get_ydata()
        assert list(line) == [one.correlation for one in planned(budget=dpcov.ZCDP(1)).curve]

    def test_of_the_chosen_columns(self) -> None:
        found = planned(columns=("age", "stay"), budget=dpcov.ZCDP("0.01"))
        assert found.curve[2] is found.chosen
        assert "2 columns" in figure(found).get_suptitle()


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0.0123, "0.012"), (0.996, "1.0"), (12.6, "13"), (123.4, "120"), (1e-7, "1e-07"), (2.5e9, "2.5e+09"), (0.0, "0"),
        (math.inf, "∞"), (math.nan, "?"),
    ],
)  # fmt: skip
def test_errors_have_two_digits(number: float, words: str) -> None:
    assert digits(number) == words
