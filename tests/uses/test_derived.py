"""What is done with derived columns after a release: regressions, predictions, scores and synthetic rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpcov
from dpcov.errors import ParameterError, SchemaError
from dpcov.schema import Categorical, Numeric, Product, Schema

SCHEMA = Schema(
    {
        "age": Numeric(18, 90),
        "sex": Categorical(["F", "M"]),
        "income": Numeric(100, 500_000, transform="log"),
        "age squared": Numeric(18, 90, of="age", transform="square"),
        "age * male": Product(["age", "sex=M"]),
    }
)
TRUTH = {"age": 0.1, "age squared": -0.001, "sex=M": 0.3, "age * male": 0.01}


def people(n: int = 4000, seed: int = 5) -> Any:
    random = np.random.default_rng(seed)
    age, male = random.uniform(18, 90, n), random.random(n) < 0.4
    mean = 6 + TRUTH["age"] * age + TRUTH["age squared"] * age**2 + TRUTH["sex=M"] * male + TRUTH["age * male"] * age * male
    return pa.table({"age": age, "sex": np.where(male, "M", "F"), "income": np.exp(mean + random.normal(0, 0.2, n))})


PEOPLE = people()
RELEASE = dpcov.covariance(
    PEOPLE, dpcov.PureDP(10**6), schema=SCHEMA, mechanism="wishart", center=True, seed=1, postprocess="none"
)
"""Next to no noise: what is wrong here is wrong by construction."""

FEATURES = ["age", "age squared", "sex=M", "age * male"]


def model(**options: Any) -> Any:
    return RELEASE.ridge("log(income)", features=FEATURES, alpha=0, **options)


def by_least_squares() -> np.ndarray[Any, Any]:
    age, male = PEOPLE["age"].to_numpy(), np.array(PEOPLE["sex"].to_pylist()) == "M"
    design = np.column_stack([np.ones(len(age)), age, age**2, male, age * male])
    return np.asarray(np.linalg.lstsq(design, np.log(PEOPLE["income"].to_numpy()), rcond=None)[0])


def test_the_regression_that_people_run() -> None:
    """Least squares of log income on age, its square, sex and their interaction; the grid has 2¹⁶ steps."""
    found, exact = model(), by_least_squares()
    np.testing.assert_allclose([found.intercept, *found.coefficients], exact, rtol=0.05, atol=2e-3)


def test_predictions_are_computed_from_the_columns_of_new_rows() -> None:
    found, new = model(), people(50, 6)
    age, male = new["age"].to_numpy(), np.array(new["sex"].to_pylist()) == "M"
    expected = found.intercept + np.column_stack([age, age**2, male, age * male]) @ found.coefficients
    np.testing.assert_allclose(found.predict(new), expected, rtol=1e-6)
    assert found.columns == ("age", "sex")
    np.testing.assert_allclose(found.predict(new.select(["sex", "age"])), expected, rtol=1e-6)


def test_new_rows_beyond_the_bounds_are_clipped_before_they_are_squared() -> None:
    found = model()
    rows = pa.table({"age": [90.0, 1e6, -5.0, 18.0], "sex": ["M"] * 4})
    first, second, third, fourth = found.predict(rows)
    assert (first, third) == (second, fourth)


def test_predictions_of_arrays() -> None:
    schema = Schema({"x": Numeric(0, 2), "y": Numeric(-9, 9), "xx": Numeric(0, 2, of="x", transform="square")})
    x = np.linspace(0, 2, 500)
    rows = np.column_stack([x, 1 + 2 * x - 3 * x**2])
    release = dpcov.covariance(rows, dpcov.PureDP(10**6), schema=schema, mechanism="wishart", seed=1, postprocess="none")
    found = release.ridge("y", alpha=0)
    assert found.columns == ("x",)
    np.testing.assert_allclose(found.predict(np.array([[0.5], [1.5]])), [1.25, -2.75], atol=0.01)


def test_scores_compare_with_the_transformed_target() -> None:
    score = model().score(people(3000, 7))
    assert score.rows == 3000
    assert score.error == pytest.approx(0.04, rel=0.15)  # the variance of what was added: 0.2²
    with pytest.raises(SchemaError, match="must have the column 'income' to be scored"):
        model().score(PEOPLE.select(["age", "sex"]))


def test_what_the_target_is_computed_from_is_no_feature_by_default() -> None:
    assert RELEASE.ridge("age squared").feature_names == ("sex=M", "log(income)")
    assert RELEASE.ridge("age").feature_names == ("sex=M", "log(income)")
    assert RELEASE.ridge("age squared", features=["age"]).feature_names == ("age",)  # unless it is asked for
    assert set(RELEASE.ridge("income").feature_names) == {"age", "sex=M", "age squared", "age * male"}


def test_a_release_comes_back_from_its_file(tmp_path: Path) -> None:
    RELEASE.save(tmp_path / "release.json")
    again = dpcov.load(tmp_path / "release.json")
    assert again.schema == SCHEMA
    assert again.feature_names == RELEASE.feature_names
    assert again.ridge("log(income)", features=FEATURES, alpha=0).predict(PEOPLE).tobytes() == model().predict(PEOPLE).tobytes()


class TestSyntheticRows:
    def test_are_a_table_like_the_released_one(self) -> None:
        made = RELEASE.sample(4000, seed=3)
        assert made.column_names == ["age", "sex", "income"]
        income = made["income"].to_numpy()
        assert 100 <= income.min() < income.max() <= 500_000
        assert np.log(income).mean() == pytest.approx(np.log(PEOPLE["income"].to_numpy()).mean(), abs=0.05)
        assert np.log(income).std() == pytest.approx(np.log(PEOPLE["income"].to_numpy()).std(), rel=0.1)

    def test_can_be_released_again_with_the_same_schema(self) -> None:
        again = dpcov.covariance(RELEASE.sample(1000, seed=3), dpcov.PureDP(1), schema=SCHEMA, seed=2)
        assert again.feature_names == RELEASE.feature_names

    def test_of_a_product_alone(self) -> None:
        alone = dpcov.covariance(PEOPLE, dpcov.PureDP(100), schema=SCHEMA, columns=["age * male", "income"], seed=1)
        made = alone.sample(500, seed=3)
        assert made.column_names == ["age * male", "income"]
        assert 0 <= min(made["age * male"].to_pylist()) < max(made["age * male"].to_pylist()) <= 90

    @pytest.mark.parametrize("bounds", [(2, 5), (-5, -2), (-5, 5), (-5, 2), (0, 5)])
    @pytest.mark.parametrize("integer", [False, True])
    def test_a_square_is_undone_into_its_bounds(self, bounds: tuple[int, int], integer: bool) -> None:
        schema = Schema({"x": Numeric(*bounds, transform="square", integer=integer), "y": Numeric(0, 1)})
        rows = np.random.default_rng(8).uniform(bounds[0], bounds[1], 600)
        release = dpcov.covariance(pa.table({"x": rows, "y": rows / 10}), dpcov.PureDP(100), schema=schema, seed=1)
        cells = release.sample(400, seed=2)["x"].to_numpy()
        assert bounds[0] <= cells.min() < cells.max() <= bounds[1]
        assert ((cells == np.rint(cells)).all()) == integer

    def test_a_shift_is_undone(self) -> None:
        schema = Schema({"x": Numeric(-5, 9, transform="square", about=2), "y": Numeric(0, 1, about=0.5)})
        rows = np.random.default_rng(8).uniform(-5, 9, 600)
        release = dpcov.covariance(pa.table({"x": rows, "y": rows % 1}), dpcov.PureDP(100), schema=schema, seed=1)
        assert release.feature_names == ("square(x - 2)", "y - 0.5")
        made = release.sample(400, seed=2)
        assert 2 <= min(made["x"].to_pylist()) < max(made["x"].to_pylist()) <= 9
        assert np.mean(made["y"].to_numpy()) == pytest.approx(0.5, abs=0.06)

    @pytest.mark.parametrize("name", ["log", "sqrt"])
    def test_moments_are_those_of_what_was_released(self, name: str) -> None:
        schema = Schema({"x": Numeric(1, 1000, transform=name)})
        cells = np.exp(np.random.default_rng(9).normal(3, 0.5, 3000))
        release = dpcov.covariance(pa.table({"x": cells}), dpcov.PureDP(100), schema=schema, seed=1)
        apply = {"log": np.log, "sqrt": np.sqrt}[name]
        made = apply(release.sample(4000, seed=2)["x"].to_numpy())
        assert made.mean() == pytest.approx(apply(cells).mean(), rel=0.03)
        assert made.std() == pytest.approx(apply(cells).std(), rel=0.15)


class TestTheEstimator:
    def test_takes_the_target_before_its_transform(self) -> None:
        names = ["age", "sex", "age squared", "age * male", "income"]
        schema = Schema({name: SCHEMA.columns[name] for name in names})
        fit = dpcov.PrivateRidge(epsilon=100, schema=schema, target="log(income)", random_state=1)
        fit.fit(PEOPLE.select(["age", "sex"]), PEOPLE["income"])
        errors = fit.predict(PEOPLE.select(["age", "sex"])) - np.log(PEOPLE["income"].to_numpy())
        assert np.sqrt((errors**2).mean()) < 0.3

    def test_a_product_is_no_y(self) -> None:
        fit = dpcov.PrivateRidge(epsilon=1, schema=SCHEMA, target="age * male", random_state=1)
        with pytest.raises(ParameterError, match="y must be left out where the target is a product"):
            fit.fit(PEOPLE, PEOPLE["age"])


def test_plans_are_made_from_such_schemas() -> None:
    found = dpcov.plan_table(SCHEMA, dpcov.PureDP(1), n=4000)
    assert found.outlook.feature_names == SCHEMA.feature_names
    assert np.isfinite(found.outlook.mean).all()


def test_a_look_counts_cells_of_the_table() -> None:
    rows = pa.table({"age": [17.0, 50.0, None], "sex": ["F", "x", "M"], "income": [50.0, 1e6, 300.0]})
    found = dpcov.look(rows, SCHEMA)
    assert list(found.columns) == ["age", "sex", "income"]
    assert [(c.missing, c.unmatched, c.clipped) for c in found.columns.values()] == [(1, 0, 1), (0, 1, 0), (0, 0, 2)]
