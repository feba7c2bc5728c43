"""PrivateMean behaves as scikit-learn expects, is `dpcov.mean` in another form, and gives nothing away that it does not."""

from __future__ import annotations

import pickle
import struct
from fractions import Fraction
from pathlib import Path
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
from sklearn.utils.estimator_checks import parametrize_with_checks

import dpcov
from dpcov import Categorical, Numeric, ParameterError, PrivateCovariance, PrivateMean, Schema
from tests.helpers.untouchable import Untouchable

SECRET = 424242.5  # stands for the data: neither a message nor a pickle may show it
ROWS = np.random.default_rng(6).normal(size=(2000, 3)) + np.array([1.0, 2.0, 3.0])
SCHEMA = Schema({"age": Numeric(0, 100), "sex": Categorical(["F", "M"])})
PEOPLE = pd.DataFrame({"age": [20.0, 40.0, np.nan] * 500, "sex": ["F", "M", "?"] * 500, "unused": [1, 2, 3] * 500})

CONFIGURED = [
    PrivateMean(epsilon=1, radius=10),
    PrivateMean(rho=1, radius=10, origin=1.0, mechanism="coinpress", options={"covariance": 4.0}),
]


@parametrize_with_checks(CONFIGURED)  # type: ignore[untyped-decorator]  # no types
@pytest.mark.filterwarnings("ignore::dpcov.errors.SpendsAgainWarning")  # some of them fit two clones
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    check(estimator)


def fitted(X: Any = ROWS, **changes: Any) -> PrivateMean:
    return PrivateMean(**({"rho": 1, "radius": 100, "random_state": 7} | changes)).fit(X)


BUDGETS: list[tuple[dict[str, Any], Any]] = [
    ({"epsilon": 0.5}, dpcov.PureDP("0.5")),
    ({"epsilon": 1, "delta": 1e-6}, dpcov.ApproxDP(1, "1e-6")),
    ({"rho": Fraction(1, 3)}, dpcov.ZCDP(Fraction(1, 3))),
]


@pytest.mark.parametrize(("given", "budget"), BUDGETS)
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("options", [None, {"covariance": [1.0, 2.0], "rounds": 2, "beta": 0.2}])
def test_it_is_the_function_in_another_form(
    given: dict[str, Any], budget: Any, neighbors: str, options: dict[str, Any] | None
) -> None:
    shared: dict[str, Any] = {"radius": 50, "origin": [3.0, 1.0], "neighbors": neighbors, "columns": [2, 0]}
    shared |= {"mechanism": "coinpress", "postprocess": "none"}
    estimator = PrivateMean(**given, **shared, random_state=3, options=options).fit(ROWS)
    release = dpcov.mean(ROWS, budget, **shared, seed=3, **(options or {}))
    assert estimator.release_.privacy == budget
    assert estimator.release_.options == release.options
    assert (estimator.mean_ == release.mean).all()
    assert estimator.mean_.shape == (2,)
    assert estimator.n_features_in_ == 3
    assert not hasattr(estimator, "feature_names_in_")


@pytest.mark.parametrize("options", [None, {"covariance": 1.0}], ids=["unknown", "known"])
def test_it_finds_the_mean(options: dict[str, Any] | None) -> None:
    """2000 rows of unit variance: sampling has deviation 0.022 on each column; noise, at rho = 1, far less than 0.01."""
    assert np.abs(fitted(options=options).mean_ - ROWS.mean(axis=0)).max() < 0.05


def test_a_confidence_ball_comes_along() -> None:
    known = fitted(options={"covariance": 1.0, "constants": "proved"}, mechanism="coinpress")
    assert known.release_.confidence.proved
    assert known.release_.confidence.contains([1.0, 2.0, 3.0])


def test_without_a_seed_it_is_private_and_never_repeats() -> None:
    estimator = PrivateMean(epsilon=1, radius=100)
    first, second = estimator.fit(ROWS).release_, estimator.fit(ROWS).release_
    assert not first.seeded
    assert fitted().release_.seeded
    assert (first.mean != second.mean).any()
    assert (fitted().mean_ == fitted().mean_).all()
    assert (fitted().mean_ != fitted(random_state=8).mean_).any()
    assert (fitted(random_state=np.int64(7)).mean_ == fitted().mean_).all()


def test_fit_keeps_nothing_but_the_release() -> None:
    estimator = fitted(PEOPLE, schema=SCHEMA, radius=None)
    kept = {"release_", "mean_", "n_features_in_", "feature_names_in_"}
    assert set(vars(estimator)) == set(estimator.get_params()) | kept
    for absent in ("score", "transform", "predict", "covariance_"):
        assert not hasattr(estimator, absent)


@pytest.mark.parametrize("form", [np.array, lambda rows: pd.DataFrame(rows, columns=["a", "b"])], ids=["array", "frame"])
def test_a_pickle_holds_the_release_and_not_the_data(form: Any) -> None:
    estimator = fitted(form(np.full((50, 2), SECRET)), radius=1)
    stored = pickle.dumps(estimator)
    for marker in (struct.pack("<d", SECRET), struct.pack(">d", SECRET), b"424242"):
        assert marker not in stored
    again = pickle.loads(stored)
    assert (again.mean_ == estimator.mean_).all()
    assert again.release_.statement() == estimator.release_.statement()


def test_clone_and_parameters() -> None:
    estimator = PrivateMean(epsilon=1, schema=SCHEMA, columns=["age"], options={"covariance": 1.0})
    copy = clone(estimator)
    assert copy.get_params() == estimator.get_params()
    assert "schema=" in repr(copy)
    assert copy.set_params(epsilon=2).epsilon == 2
    assert estimator.epsilon == 1
    assert not hasattr(clone(fitted()), "release_")
    origin = np.array([1.0, 2.0, 3.0])
    assert clone(PrivateMean(rho=1, radius=1, origin=origin)).fit(ROWS).release_.d == 3


def test_last_step_of_a_pipeline() -> None:
    halve = FunctionTransformer(lambda X: X / 2)  # a row at a time: it learns nothing
    pipeline = make_pipeline(halve, PrivateMean(rho=1, radius=100, random_state=7)).fit(ROWS)
    assert (pipeline[-1].mean_ == fitted(ROWS / 2).mean_).all()


def test_frames_and_files_give_the_same_release_and_names(tmp_path: Path) -> None:
    """Missing ages count as the centre of a round, unknown levels as none: here a third of each."""
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    PEOPLE.to_parquet(tmp_path / "people.parquet")
    truth = dpcov.mean(PEOPLE, dpcov.ZCDP(1), schema=SCHEMA, seed=7)
    tables = [PEOPLE, pl.from_pandas(PEOPLE), pa.Table.from_pandas(PEOPLE), tmp_path / "people.parquet"]
    for table in (*tables, str(tmp_path / "people.csv")):
        estimator = fitted(table, schema=SCHEMA, radius=None)
        assert (estimator.mean_ == truth.mean).all()
        assert estimator.feature_names_in_.tolist() == ["age", "sex", "unused"]
        assert estimator.release_.feature_names == ("age", "sex=F", "sex=M")
    assert 20 < truth.mean[0] < 45
    assert truth.mean[1:] == pytest.approx([1 / 3, 1 / 3], abs=0.05)


def test_names_follow_the_last_fit() -> None:
    estimator = fitted(pd.DataFrame(ROWS, columns=list("abc")))
    assert estimator.feature_names_in_.tolist() == ["a", "b", "c"]
    assert not hasattr(estimator.fit(ROWS), "feature_names_in_")


def test_nan_infinity_and_objects_are_taken_without_a_word() -> None:
    rows = np.array([[np.nan, 1.0], [np.inf, 1e308], [-np.inf, -1.0]] * 9)
    assert np.isfinite(fitted(rows).mean_).all()
    cells = [["?", 1.0], [2, None]] * 9
    assert (fitted(cells).mean_ == fitted(np.array([[np.nan, 1.0], [2, np.nan]] * 9)).mean_).all()


def test_coinpress_is_an_option_of_the_other_estimator() -> None:
    settings: dict[str, Any] = {"mechanism": "coinpress", "options": {"upper": 100.0, "radius": 50.0}, "center": True}
    estimator = PrivateCovariance(rho=1, random_state=1, **settings).fit(ROWS)
    assert estimator.location_ == pytest.approx(ROWS.mean(axis=0), abs=0.1)
    assert estimator.covariance_ == pytest.approx(np.cov(ROWS.T, bias=True), abs=0.2)


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("budget", {"rho": None}),
    ("budget", {"epsilon": 1}),
    ("budget", {"rho": None, "delta": 1e-6}),
    ("epsilon", {"rho": None, "epsilon": -1}),
    ("radius or schema", {"schema": SCHEMA}),
    ("radius or schema", {"radius": None}),
    *(("radius", {"radius": bad}) for bad in (-1, 0, np.nan, np.inf, "far", True)),
    ("schema", {"radius": None, "schema": {"age": (0, 100)}}),
    ("origin", {"radius": None, "schema": SCHEMA, "origin": 1.0}),
    ("mechanism", {"mechanism": "gaussian"}),
    ("neighbors", {"neighbors": "swap"}),
    ("options", {"options": {"rank": 1}}),
    *(("options", {"options": bad}) for bad in ({"seed": 1}, {"origin": 1}, {"radius": 1}, {1: 1}, ["rounds"])),
    *(("random_state", {"random_state": bad}) for bad in (-1, 1.5, True, "0", np.random.default_rng(0))),
]


@pytest.mark.parametrize(("name", "changes"), REFUSED)
def test_bad_parameters_are_refused_before_anything_is_read(name: str, changes: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=rf"^{name}.* must be .+, got .+\. Hint: .+"):
        fitted(Untouchable(), **changes)


def test_the_hint_names_this_estimator() -> None:
    with pytest.raises(ParameterError, match=r"PrivateMean\(epsilon=1, radius=10\)"):
        PrivateMean(radius=1).fit(ROWS)


KNOWN = {"mechanism": "coinpress"}
MISFITS: list[tuple[str, dict[str, Any]]] = [
    *(("origin", {"origin": bad}) for bad in ([1.0], "there", np.nan, [[1.0, 2.0, 3.0]])),
    *(("covariance", {"options": {"covariance": bad}}) for bad in (0, -1.0, True, [1.0, 2.0], np.ones((3, 3)), "one")),
    *(("rounds", {**KNOWN, "options": {"rounds": bad}}) for bad in (0, 1.5, "many", True)),
    *(("beta", {**KNOWN, "options": {"beta": bad}}) for bad in (0, 1, np.nan)),
    ("constants", {**KNOWN, "options": {"constants": "proved"}}),  # without a covariance
    ("postprocess", {"postprocess": "shrink"}),
]


@pytest.mark.parametrize(("name", "changes"), MISFITS)
def test_parameters_that_do_not_fit_are_refused_before_anything_is_spent(name: str, changes: dict[str, Any]) -> None:
    estimator = PrivateMean(**({"rho": 1, "radius": 100} | changes))
    with pytest.raises(ParameterError, match=rf"^{name} must be .+, got .+\. Hint: .+"):
        estimator.fit(ROWS)
    assert not hasattr(estimator, "release_")


BAD_DATA = [np.full(3, SECRET), [[SECRET, 1.0], [SECRET]], np.full((2, 2), SECRET + 1j), csr_array(np.full((2, 2), SECRET)),
            np.array([[str(SECRET)]]), np.full((1, 2), SECRET), {"a": [SECRET]}]  # fmt: skip


@pytest.mark.parametrize("data", BAD_DATA, ids=["vector", "ragged", "complex", "sparse", "text", "one row", "dictionary"])
def test_bad_data_are_refused_without_quoting_them(data: Any) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        fitted(data)
    assert "424242" not in str(caught.value)
