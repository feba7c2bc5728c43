"""PrivateCovariance behaves as scikit-learn expects, and gives nothing away that the release does not."""

from __future__ import annotations

import pickle
import struct
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import dpcov
from dpcov import Categorical, Numeric, PrivateCovariance, Schema

SECRET = 424242.5  # stands for the data: neither a message nor a pickle may show it
ROWS = np.random.default_rng(5).normal(size=(400, 3))
SCHEMA = Schema({"age": Numeric(0, 100), "sex": Categorical(["F", "M"])})
PEOPLE = pd.DataFrame({"age": [20.0, 40.0, np.nan] * 50, "sex": ["F", "M", "?"] * 50, "unused": [1, 2, 3] * 50})

RELEASE_DEPENDENT = {"release_", "covariance_", "location_", "n_features_in_", "feature_names_in_"}


CONFIGURED = [PrivateCovariance(epsilon=1, row_norm=10), PrivateCovariance(rho=1, row_norm=10, center=True)]


@parametrize_with_checks(CONFIGURED)  # type: ignore[untyped-decorator]  # scikit-learn has no types
@pytest.mark.filterwarnings("ignore::dpcov.errors.SpendsAgainWarning")  # some of them fit two clones
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    """All pass. The one for other array libraries is skipped by scikit-learn unless SCIPY_ARRAY_API is set."""
    check(estimator)


def fitted(X: Any = ROWS, **changes: Any) -> PrivateCovariance:
    return PrivateCovariance(**({"rho": 1, "row_norm": 3, "random_state": 7} | changes)).fit(X)


BUDGETS: list[tuple[dict[str, Any], Any]] = [
    ({"epsilon": 0.1}, dpcov.PureDP("0.1")),
    ({"epsilon": 1, "delta": 1e-6}, dpcov.ApproxDP(1, "1e-6")),
    ({"rho": Fraction(1, 3)}, dpcov.ZCDP(Fraction(1, 3))),
]


@pytest.mark.parametrize(("given", "budget"), BUDGETS)
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
def test_it_is_the_function_in_another_form(given: dict[str, Any], budget: Any, center: bool, neighbors: str) -> None:
    shared: dict[str, Any] = {
        "row_norm": 3,
        "center": center,
        "neighbors": neighbors,
        "columns": [2, 0],
        "postprocess": "project",
    }
    estimator = PrivateCovariance(**given, **shared, random_state=3, options={"numerics": "rounded"}).fit(ROWS)
    release = dpcov.covariance(ROWS, budget, **shared, seed=3, numerics="rounded")
    assert estimator.release_.privacy == budget
    assert (estimator.covariance_ == release.covariance).all()
    assert (estimator.location_ == (release.mean if center else 0)).all()
    assert estimator.location_.shape == (2,)
    assert estimator.n_features_in_ == 3
    assert not hasattr(estimator, "feature_names_in_")


def test_without_a_seed_it_is_private_and_never_repeats() -> None:
    estimator = PrivateCovariance(epsilon=1, row_norm=3)
    first = estimator.fit(ROWS).release_
    second = estimator.fit(ROWS).release_
    assert not first.seeded
    assert fitted().release_.seeded
    assert (first.second_moment != second.second_moment).any()


def test_fit_keeps_nothing_but_the_release() -> None:
    estimator = fitted(PEOPLE, schema=SCHEMA, row_norm=None)
    assert set(vars(estimator)) == set(estimator.get_params()) | RELEASE_DEPENDENT
    assert not hasattr(estimator, "score")
    assert not hasattr(estimator, "transform")  # so set_output has nothing to change
    assert not hasattr(estimator, "set_output")


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_a_pickle_holds_the_release_and_not_the_data(kind: str) -> None:
    rows = np.full((50, 2), SECRET)
    estimator = fitted(rows if kind == "array" else pd.DataFrame(rows, columns=["a", "b"]), row_norm=1, center=True)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        stored = pickle.dumps(estimator, protocol)
        for marker in (struct.pack("<d", SECRET), struct.pack(">d", SECRET), b"424242"):
            assert marker not in stored
        again = pickle.loads(stored)
        assert (again.covariance_ == estimator.covariance_).all()
        assert (again.location_ == estimator.location_).all()
        assert again.release_.statement() == estimator.release_.statement()
    assert struct.pack("<d", SECRET) in pickle.dumps(rows)  # the search finds what is there


def test_clone_and_parameters() -> None:
    estimator = PrivateCovariance(epsilon=1, schema=SCHEMA, columns=["age"], options={"numerics": "rounded"})
    copy = clone(estimator)
    assert copy.get_params() == estimator.get_params()
    assert "schema=" in repr(copy)
    assert copy.set_params(epsilon=2).epsilon == 2
    assert estimator.epsilon == 1
    assert not hasattr(clone(estimator.fit(PEOPLE)), "release_")


def test_the_precision_inverts() -> None:
    estimator = fitted(rho=1000)
    assert np.allclose(estimator.get_precision() @ estimator.covariance_, np.eye(3))
    with pytest.raises(NotFittedError):
        PrivateCovariance(rho=1, row_norm=1).get_precision()


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
def test_last_step_of_a_pipeline(output: str) -> None:
    halve = FunctionTransformer(lambda X: X / 2, feature_names_out="one-to-one")  # a row at a time: it learns nothing
    with config_context(transform_output=output):
        pipeline = make_pipeline(halve, PrivateCovariance(rho=1, row_norm=3, random_state=7)).fit(ROWS)
    assert (pipeline[-1].covariance_ == fitted(ROWS / 2).covariance_).all()


def tables(folder: Path) -> Iterator[tuple[str, Any]]:
    frame = PEOPLE
    frame.to_csv(folder / "people.csv", index=False)
    frame.to_parquet(folder / "people.parquet")
    yield from [("pandas", frame), ("polars", pl.from_pandas(frame)), ("pyarrow", pa.Table.from_pandas(frame))]
    yield from [("lazy", pl.from_pandas(frame).lazy()), ("dataset", pads.dataset(pa.Table.from_pandas(frame)))]
    yield from [("duckdb", duckdb.sql("select * from frame")), ("path", folder / "people.parquet")]
    yield "text path", str(folder / "people.csv")


def test_frames_queries_and_files_give_the_same_release_and_names(tmp_path: Path) -> None:
    truth = dpcov.covariance(PEOPLE, dpcov.ZCDP(1), schema=SCHEMA, center=True, seed=7)
    for kind, table in tables(tmp_path):
        estimator = fitted(table, schema=SCHEMA, row_norm=None, center=True)
        assert (estimator.covariance_ == truth.covariance).all(), kind
        assert (estimator.location_ == truth.mean).all(), kind
        assert estimator.feature_names_in_.tolist() == ["age", "sex", "unused"], kind
        assert estimator.n_features_in_ == 3, kind
        assert estimator.release_.feature_names == ("age", "sex=F", "sex=M"), kind


def test_names_follow_the_last_fit() -> None:
    estimator = fitted(pd.DataFrame(ROWS, columns=list("abc")))
    assert estimator.feature_names_in_.dtype == object
    assert not hasattr(estimator.fit(ROWS), "feature_names_in_")
    estimator.fit(pl.DataFrame({"a": [1.0], "b": [2.0]}))
    assert estimator.feature_names_in_.tolist() == ["a", "b"]
    assert not hasattr(estimator.fit(pd.DataFrame(ROWS)), "feature_names_in_")  # names that are numbers are none
    assert estimator.fit(pd.DataFrame(ROWS)).n_features_in_ == 3


class Stream:
    """A table of an unknown library, that can be opened only so often."""

    def __init__(self, openings: int) -> None:
        self.left = openings

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        self.left -= 1
        assert self.left >= 0
        return pa.Table.from_pandas(PEOPLE).__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(("neighbors", "openings"), [("replace", 1), ("add-remove", 2)])
def test_a_stream_is_opened_no_more_often_than_it_is_read(neighbors: str, openings: int) -> None:
    options: dict[str, Any] = {"schema": SCHEMA, "row_norm": None, "neighbors": neighbors, "mechanism": "gaussian"}
    estimator = fitted(Stream(openings), **options)
    assert estimator.feature_names_in_.tolist() == ["age", "sex", "unused"]
    frame = fitted(PEOPLE, **options)
    assert (estimator.covariance_ == frame.covariance_).all()


def test_a_reader_can_be_read_once() -> None:
    reader = pa.Table.from_pandas(PEOPLE).to_reader()
    assert fitted(reader, schema=SCHEMA, row_norm=None).n_features_in_ == 3


CELLS: list[Any] = [1, 2.5, Fraction(1, 2), Decimal("0.5"), True, np.float32(3), np.bool_(True), np.int8(-1)]
NO_NUMBERS: list[Any] = [
    None,
    "1",
    SECRET + 1j,
    np.complex64(1),
    pd.NA,
    {"a": SECRET},
    10**400,
    Decimal("sNaN"),
    np.timedelta64(1, "s"),
]


@pytest.mark.parametrize("form", [list, tuple, lambda rows: np.array(rows, dtype=object)], ids=["list", "tuple", "objects"])
def test_cells_that_are_no_number_are_missing(form: Any) -> None:
    rows = form([[cell, 1.0] for cell in CELLS + NO_NUMBERS])
    plain = np.array([[float(cell), 1.0] for cell in CELLS] + [[np.nan, 1.0]] * len(NO_NUMBERS))
    assert (fitted(rows).covariance_ == fitted(plain).covariance_).all()


class NoArray:
    """Converts to an array and is none."""

    def __array__(self, dtype: object = None, copy: object = None) -> Any:
        return ROWS


def test_what_converts_to_an_array_is_taken() -> None:
    assert (fitted(NoArray()).covariance_ == fitted().covariance_).all()


def test_nan_and_infinity_are_taken_without_a_word() -> None:
    rows = np.array([[np.nan, 1.0], [np.inf, 1e308], [-np.inf, -1.0]])
    assert np.isfinite(fitted(rows, center=True).covariance_).all()


def test_an_empty_table_is_a_private_fact_under_add_remove() -> None:
    assert fitted(np.zeros((0, 2)), neighbors="add-remove").n_features_in_ == 2
    with pytest.raises(ValueError, match=r"0 sample"):
        fitted(np.zeros((0, 2)))


def test_scikit_learn_is_loaded_only_when_it_is_used() -> None:
    loaded = "print('sklearn' in sys.modules)"
    code = f"import sys, dpcov; dpcov.ZCDP(1); {loaded}; dpcov.PrivateCovariance; {loaded}"
    answer = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert answer.stdout.split() == ["False", "True"]
