"""`PrivateRidge` of a table with a schema: the model of `release.ridge`, from any table, with the target inside or apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

import dpcov
from dpcov.errors import ParameterError, SchemaError
from tests.helpers.untouchable import Untouchable

RANDOM = np.random.default_rng(17)
N = 2000
SEX = RANDOM.integers(0, 2, N)
AGE = RANDOM.uniform(20, 80, N)
FRAME = pd.DataFrame({"age": AGE, "sex": np.where(SEX == 1, "m", "f"), "pay": 100 + 2 * AGE + 30 * SEX})
SCHEMA = dpcov.Schema(
    {"age": dpcov.Numeric(0, 100), "sex": dpcov.Categorical(["f", "m"]), "pay": dpcov.Numeric(0, 500)}, others="ignore"
)
FEATURES, PAY = FRAME[["age", "sex"]], FRAME["pay"]


def estimator(**said: Any) -> dpcov.PrivateRidge:
    return dpcov.PrivateRidge(**{"alpha": 1e-6, "rho": 10**6, "schema": SCHEMA, "random_state": 3, **said})


def test_it_is_the_model_of_the_release() -> None:
    made = estimator().fit(FEATURES, PAY)
    release = dpcov.covariance(FRAME, dpcov.ZCDP(10**6), schema=SCHEMA, seed=3)
    model = release.ridge("pay", alpha=1e-6)
    assert (made.coef_ == model.coefficients).all()
    assert made.intercept_ == model.intercept
    assert (made.predict(FEATURES) == model.predict(FEATURES)).all()
    assert np.abs(made.predict(FEATURES) - PAY).max() < 5  # of noise there is next to none
    assert made.feature_names_in_.tolist() == ["age", "sex"]
    assert made.score(FEATURES, PAY) > 0.99


def test_tables_of_every_kind_give_the_same_model(tmp_path: Path) -> None:
    truth = estimator().fit(FEATURES, PAY).coef_
    FRAME.to_parquet(tmp_path / "people.parquet")
    FRAME.to_csv(tmp_path / "people.csv", index=False)
    apart: list[tuple[Any, Any]] = [
        (pl.from_pandas(FEATURES), pl.from_pandas(PAY)),
        (pa.Table.from_pandas(FEATURES), pa.array(PAY)),
        (FEATURES, PAY.to_numpy()),
        (FEATURES, PAY.tolist()),
        (FEATURES.set_index(np.arange(N) + 7), PAY),  # by place, not by index: a person's target is their own
    ]
    inside: list[Any] = [
        FRAME, pl.from_pandas(FRAME), pa.Table.from_pandas(FRAME), tmp_path / "people.parquet", str(tmp_path / "people.csv"),
    ]  # fmt: skip
    for X, y in [*apart, *((table, None) for table in inside)]:
        assert (estimator().fit(X, y).coef_ == truth).all(), type(X)


def test_arrays_have_the_target_last() -> None:
    schema = dpcov.Schema({"age": dpcov.Numeric(0, 100), "sex": dpcov.Categorical([0, 1]), "pay": dpcov.Numeric(0, 500)})
    X = np.column_stack([AGE, SEX])
    made = estimator(schema=schema).fit(X, PAY.to_numpy())
    assert made.n_features_in_ == 2
    assert np.abs(made.predict(X) - PAY).max() < 5
    with pytest.raises(ParameterError, match="target must be the last column"):
        estimator(schema=schema, target="age").fit(X, PAY.to_numpy())


def test_a_level_is_a_target_too() -> None:
    made = estimator(target="sex=m").fit(FRAME[["age", "pay"]], FRAME["sex"])
    assert made.model_.target == "sex=m"
    assert np.abs(made.predict(FRAME[["age", "pay"]]) - SEX).max() < 0.2


def test_it_can_be_cloned_and_warns() -> None:
    weak = {"rho": None, "epsilon": 1, "random_state": None}
    first = estimator(**weak)
    second = clone(first)
    first.fit(FEATURES, PAY)
    with pytest.warns(dpcov.SpendsAgainWarning):
        second.fit(FEATURES, PAY)


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a bound as well": ({"row_norm": 1}, "must be left out with a schema"),
    "a bound of the target": ({"target_bound": 1}, "must be left out with a schema"),
    "no intercept": ({"fit_intercept": False}, "fit_intercept must be True"),
    "no schema": ({"schema": "people.toml"}, "schema must be a Schema"),
    "no such target": ({"target": "wage"}, "target must be"),
    "a column of levels": ({"target": "sex"}, "target must be one feature"),
    "penalty": ({"alpha": -1}, "alpha must be"),
    "mechanism": ({"mechanism": "output-perturbation"}, "mechanism must be one of"),
    "weak": ({"random_state": None}, "rho must be at most 5"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_before_anything_is_read(case: str) -> None:
    said, words = REFUSED[case]
    with pytest.raises(ParameterError, match=words):
        estimator(**said).fit(Untouchable())


def test_tables_that_do_not_fit() -> None:
    with pytest.raises(ParameterError, match="target must be left out without a schema"):
        dpcov.PrivateRidge(epsilon=1, row_norm=1, target_bound=1, target="pay").fit(AGE[:, None], PAY)
    with pytest.raises(ParameterError, match="one cell for each row"):
        estimator().fit(FEATURES, PAY[:-1])
    with pytest.raises(ParameterError, match="must not have the column 'pay' beside y"):
        estimator().fit(FRAME, PAY)
    with pytest.raises(ParameterError, match="y must be left out where X is a file"):
        estimator().fit("people.csv", PAY)
    with pytest.raises(SchemaError, match="one column 'pay'"):
        estimator().fit(FEATURES)
