"""Estimators about people: the same releases as the functions', columns beside features, and weights that X holds."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import dpcov
from dpcov import ParameterError
from dpcov.release.file import text_of

DRAW = np.random.default_rng(7550)
TABLE = pd.DataFrame({"who": DRAW.integers(0, 200, 2000), "a": DRAW.uniform(-1, 1, 2000), "w": DRAW.uniform(0, 3, 2000)})
TABLE["b"] = 0.5 * TABLE["a"] + DRAW.uniform(-0.2, 0.2, 2000)
N = TABLE["who"].nunique()
TARGET = 0.5 * TABLE["a"].to_numpy() - 0.25 * TABLE["b"].to_numpy()
FRAMES = {"pandas": lambda table: table, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}
SCHEMA = dpcov.Schema({"a": dpcov.Numeric(-1, 1), "b": dpcov.Numeric(-1, 1)}, unit="who")
WAYS: dict[str, dict[str, Any]] = {
    "people": {"unit": "who"},
    "rows of people": {"unit": "who", "weighting": "rows", "most_rows": 5},
    "weights": {"weight": "w", "max_weight": 3},
    "all": {"unit": "who", "weighting": "rows", "most_rows": 5, "weight": "w", "max_weight": 3},
}
FITTED: dict[str, Any] = {
    "PrivateCovariance": lambda X, **more: dpcov.PrivateCovariance(rho=1, row_norm=2, **more).fit(X),
    "PrivateMean": lambda X, **more: dpcov.PrivateMean(rho=1, radius=2, **more).fit(X),
    "PrivatePCA": lambda X, **more: dpcov.PrivatePCA(1, rho=1, row_norm=2, **more).fit(X),
    "PrivateRidge": lambda X, **more: dpcov.PrivateRidge(rho=1, row_norm=2, target_bound=1, **more).fit(X, TARGET),
}
NAMES = list(FITTED)


def features(X: pd.DataFrame, way: str) -> pd.DataFrame:
    """Return X with the columns that this way needs, and no others."""
    return X[["who"] * ("unit" in WAYS[way]) + ["a"] + ["w"] * ("weight" in WAYS[way]) + ["b"]]


class TestRefused:
    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"unit": "nobody"}, "unit must be a column of"),
            ({"unit": 17}, "unit must be a column of"),
            ({"unit": ["who"]}, "unit must be the name of a column"),
            ({"unit": True}, "unit must be the name of a column"),
            ({"unit": "w", "weight": "w", "max_weight": 1}, "two columns"),
            ({"weighting": "rows", "most_rows": 3}, "without unit"),
            ({"unit": "who", "weighting": "visits"}, "weighting must be"),
            ({"unit": "who", "most_rows": 3}, "most_rows must be given"),
            ({"weight": "w"}, "max_weight must be given"),
            ({"weight": "w", "max_weight": -1}, "max_weight must be"),
            ({"weight": "w", "max_weight": np.nan}, "max_weight must be"),
        ],
    )
    def test_what_says_nothing_of_people(self, name: str, given: dict[str, Any], words: str) -> None:
        with pytest.raises(dpcov.DpcovError, match=words):
            FITTED[name](TABLE, **given)

    @pytest.mark.parametrize("name", NAMES)
    def test_weights_beside_X(self, name: str) -> None:
        estimator = {
            "PrivateCovariance": dpcov.PrivateCovariance(rho=1, row_norm=2),
            "PrivateMean": dpcov.PrivateMean(rho=1, radius=2),
            "PrivatePCA": dpcov.PrivatePCA(1, rho=1, row_norm=2),
            "PrivateRidge": dpcov.PrivateRidge(rho=1, row_norm=2, target_bound=1),
        }[name]
        with pytest.raises(ParameterError, match=r"got 'sample_weight'\. Hint: the estimator's weight= and max_weight="):
            estimator.fit(TABLE[["a", "b"]], TARGET, sample_weight=np.ones(2000))
        with pytest.raises(ParameterError, match=r"got 'groups'\. Hint: leave it out"):
            estimator.fit(TABLE[["a", "b"]], TARGET, groups=TABLE["who"])

    @pytest.mark.parametrize("name", NAMES)
    @pytest.mark.parametrize("kind", ["list", "objects"])
    def test_identifiers_that_would_become_floats(self, name: str, kind: str) -> None:
        rows = [[2**53 + row // 2, 0.5, 0.25] for row in range(2000)]
        X: Any = rows if kind == "list" else np.array(rows, dtype=object)
        with pytest.raises(ParameterError, match="X must be a frame, or an array of floats"):
            FITTED[name](X, unit=0)

    def test_identifiers_that_a_target_would_make_floats(self) -> None:
        described = dpcov.Schema({"who": dpcov.Ignored(), "a": dpcov.Numeric(0, 9), "t": dpcov.Numeric(0, 1)}, unit="who")
        X = np.column_stack([2**53 + np.arange(2000) // 2, np.arange(2000) % 10])
        with pytest.raises(ParameterError, match="X must be a frame, or an array of floats"):
            dpcov.PrivateRidge(rho=1, schema=described).fit(X, np.ones(2000))
        assert dpcov.PrivateRidge(rho=1, schema=described).fit((X - [2**53, 0]).astype(float), np.ones(2000)).release_.n == 1000

    @pytest.mark.parametrize("data", ["visits.csv", csr_array(np.eye(4))], ids=["a path", "sparse"])
    def test_a_regression_whose_rows_it_cannot_take_apart(self, data: Any) -> None:
        with pytest.raises((ParameterError, TypeError), match=r"X must be a frame|Sparse data was passed"):
            dpcov.PrivateRidge(rho=1, row_norm=2, target_bound=1, unit=0).fit(data, np.ones(4))

    def test_a_regression_by_itself_of_weighted_rows(self) -> None:
        given: dict[str, Any] = {"mechanism": "output-perturbation", "fit_intercept": False, "alpha": 0.1}
        assert FITTED["PrivateRidge"](TABLE, unit="who", **given).release_.unit == "who"
        with pytest.raises(ParameterError, match="weight and weighting='rows' must be left out for mechanism"):
            FITTED["PrivateRidge"](TABLE, weight="w", max_weight=3, **given)

    def test_a_clash_with_the_schema(self) -> None:
        with pytest.raises(ParameterError, match="unit must be that of the schema"):
            dpcov.PrivateCovariance(rho=1, schema=SCHEMA, unit="w").fit(TABLE)


class TestFits:
    @pytest.mark.parametrize("frame", FRAMES)
    @pytest.mark.parametrize("way", WAYS)
    def test_they_are_the_functions_in_another_form(self, way: str, frame: str) -> None:
        X = FRAMES[frame](features(TABLE, way))
        calls: list[tuple[str, Any, dict[str, Any]]] = [
            ("PrivateCovariance", dpcov.covariance, {"row_norm": 2}),
            ("PrivateMean", dpcov.mean, {"radius": 2}),
            ("PrivatePCA", dpcov.pca, {"row_norm": 2, "k": 1}),
        ]
        for name, function, bound in calls:
            estimator = FITTED[name](X, random_state=3, **WAYS[way])
            release = function(X, dpcov.ZCDP(1), seed=3, **bound, **WAYS[way])
            assert text_of(estimator.release_) == text_of(release)
            assert estimator.release_.unit == WAYS[way].get("unit", "")
            assert estimator.n_features_in_ == len(features(TABLE, way).columns)

    @pytest.mark.parametrize("name", NAMES)
    def test_clones_and_pickles_are_about_people_too(self, name: str) -> None:
        fitted = FITTED[name](TABLE[["who", "a", "b"]], unit="who", random_state=1)
        assert clone(fitted).get_params()["unit"] == "who"
        assert pickle.loads(pickle.dumps(fitted)).release_.unit == "who"
        assert (fitted.release_.unit, fitted.release_.n) == ("who", N)

    @pytest.mark.parametrize("frame", FRAMES)
    @pytest.mark.parametrize("name", NAMES)
    def test_identifiers_of_text(self, name: str, frame: str) -> None:
        named = TABLE[["a", "b"]].assign(who=[f"p{who}" for who in TABLE["who"]])
        assert FITTED[name](FRAMES[frame](named), unit="who").release_.n == N

    @pytest.mark.parametrize("kind", [np.float64, np.float32])
    @pytest.mark.parametrize("place", [0, 1, 2])
    @pytest.mark.parametrize("name", NAMES)
    def test_a_column_of_an_array(self, name: str, place: int, kind: Any) -> None:
        X = np.insert(TABLE[["a", "b"]].to_numpy(), place, TABLE["who"], axis=1).astype(kind)
        fitted = FITTED[name](X, unit=place, random_state=2)
        assert (fitted.release_.n, fitted.release_.unit) == (N, f"x{place}")
        assert fitted.n_features_in_ == 3
        if name == "PrivatePCA":
            assert fitted.transform(X).shape == (2000, 1)
        if name == "PrivateRidge":
            assert fitted.coef_.shape == (2,)
            exact = np.delete(X, place, axis=1).astype(float) @ fitted.coef_ + fitted.intercept_
            assert fitted.predict(X) == pytest.approx(exact, abs=1e-12)

    def test_whole_numbers_beyond_floats(self) -> None:
        X = pd.DataFrame({"who": 2**62 + np.arange(2000) // 2, "a": TABLE["a"], "b": TABLE["b"]})
        for name in NAMES:
            assert FITTED[name](X, unit="who").release_.n == 1000


class TestNewRows:
    @pytest.mark.parametrize("frame", FRAMES)
    @pytest.mark.parametrize("way", WAYS)
    def test_frames_with_the_columns_beside_features_or_without(self, way: str, frame: str) -> None:
        X, alone = features(TABLE, way), FRAMES[frame](TABLE[["a", "b"]])
        components = FITTED["PrivatePCA"](FRAMES[frame](X), random_state=5, **WAYS[way])
        assert (components.transform(FRAMES[frame](X)) == components.transform(alone)).all()
        model = FITTED["PrivateRidge"](FRAMES[frame](X), random_state=5, **WAYS[way])
        assert (model.predict(FRAMES[frame](X)) == model.predict(alone)).all()
        assert model.score(alone, TARGET) == model.score(FRAMES[frame](X), TARGET)
        with pytest.raises(ParameterError, match="the columns of fit"):
            model.predict(FRAMES[frame](TABLE[["b", "a"]]))

    def test_with_a_schema_that_says_whose_a_row_is(self) -> None:
        model = dpcov.PrivateRidge(rho=1, schema=SCHEMA, target="b", random_state=6).fit(TABLE)
        components = dpcov.PrivatePCA(1, rho=1, schema=SCHEMA, random_state=6).fit(TABLE)
        assert model.release_.unit == components.release_.unit == "who"
        assert (model.predict(TABLE) == model.predict(TABLE[["a"]])).all()
        assert (components.transform(TABLE) == components.transform(TABLE[["a", "b"]])).all()

    def test_a_pipeline_of_people(self) -> None:
        steps = make_pipeline(FunctionTransformer(), dpcov.PrivatePCA(1, rho=1, row_norm=2, unit="who", random_state=7))
        assert steps.fit_transform(TABLE[["who", "a", "b"]]).shape == (2000, 1)


def test_noise_off_a_regression_is_that_of_people_s_averages() -> None:
    """Of people, each of whom counts once: least squares with 1/m for each of a person's m rows."""
    model = dpcov.PrivateRidge(
        0.0, rho=10**12, row_norm=2, target_bound=1, unit="who", allow_weak=True, random_state=8, mechanism="gaussian"
    ).fit(TABLE[["who", "a", "b"]], TARGET + np.sign(TABLE["a"]) * 0.1)
    counts = TABLE.groupby("who")["who"].transform("size").to_numpy()
    design = np.column_stack([TABLE[["a", "b"]].to_numpy(), np.ones(2000)]) / np.sqrt(counts)[:, None]
    exact = np.linalg.lstsq(design, (TARGET + np.sign(TABLE["a"]).to_numpy() * 0.1) / np.sqrt(counts), rcond=None)[0]
    assert model.coef_ == pytest.approx(exact[:2], abs=2e-3)
    assert model.intercept_ == pytest.approx(exact[2], abs=2e-3)
