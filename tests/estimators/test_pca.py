"""PrivatePCA behaves as scikit-learn expects, projects as its release does, and gives away nothing more than that."""

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
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import dpcov
from dpcov import Categorical, Numeric, PrivatePCA, Schema
from dpcov.errors import ParameterError

SECRET = 424242.5  # stands for the data: neither a message nor a pickle may show it
ROWS = np.random.default_rng((1, 7)).normal(size=(400, 4)) * [1.0, 0.7, 0.4, 0.2]
SCHEMA = Schema({"age": Numeric(0, 100), "sex": Categorical(["F", "M"]), "height": Numeric(100, 220, weight=2)})
PEOPLE = pd.DataFrame(
    {
        "age": [20.0, 40.0, np.nan, 70.0] * 50,
        "sex": ["F", "M", "?", None] * 50,
        "height": [150, 180, 190, 160] * 50,
        "id": range(200),
    }
)
LEARNT = {
    "release_",
    "components_",
    "explained_variance_",
    "explained_variance_ratio_",
    "mean_",
    "n_components_",
    "n_features_in_",
    "feature_names_in_",
}

CONFIGURED = [
    PrivatePCA(epsilon=1, row_norm=10, mechanism="wishart"),
    PrivatePCA(rho=1, row_norm=10, mechanism="gaussian", center=True),
    PrivatePCA(epsilon=1, row_norm=10, mechanism="eigenvectors"),
]


@parametrize_with_checks(CONFIGURED)  # type: ignore[untyped-decorator]  # scikit-learn has no types
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    """All pass. The one for other array libraries is skipped by scikit-learn unless SCIPY_ARRAY_API is set."""
    check(estimator)


GIVEN: dict[str, Any] = {"n_components": 2, "rho": 10, "row_norm": 3, "mechanism": "gaussian", "random_state": 7}


def fitted(X: Any = ROWS, **changes: Any) -> PrivatePCA:
    return PrivatePCA(**(GIVEN | changes)).fit(X)


BUDGETS: list[tuple[dict[str, Any], Any, str]] = [
    ({"epsilon": 0.1}, dpcov.PureDP("0.1"), "wishart"),
    ({"epsilon": 1, "delta": 1e-6}, dpcov.ApproxDP(1, "1e-6"), "mod-sulq"),
    ({"rho": Fraction(1, 3)}, dpcov.ZCDP(Fraction(1, 3)), "eigenvectors"),
    ({"rho": 1}, dpcov.ZCDP(1), "gaussian"),
    ({"epsilon": 2}, dpcov.PureDP(2), "ppca"),
    ({"epsilon": 2}, dpcov.PureDP(2), "random"),
]


@pytest.mark.parametrize(("given", "budget", "mechanism"), BUDGETS)
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
def test_it_is_the_function_in_another_form(given: dict[str, Any], budget: Any, mechanism: str, neighbors: str) -> None:
    shared: dict[str, Any] = {"row_norm": 3, "neighbors": neighbors, "columns": [2, 0, 3], "mechanism": mechanism}
    options: dict[str, Any] = {"approximate": True, "sweeps": 4} if mechanism == "ppca" else {}
    estimator = PrivatePCA(2, **given, **shared, random_state=3, options=options).fit(ROWS)
    release = dpcov.pca(ROWS, budget, 2, **shared, seed=3, **options)
    found = release.pca(2)
    assert estimator.release_.privacy == budget
    assert (estimator.components_ == release.components).all()
    assert (estimator.explained_variance_ == release.explained).all()
    assert (estimator.explained_variance_ratio_ == found.ratio).all()
    assert estimator.mean_.tolist() == [0.0, 0.0, 0.0]
    assert (estimator.n_components_, estimator.n_features_in_) == (2, 4)
    assert not hasattr(estimator, "feature_names_in_")
    assert np.allclose(estimator.transform(ROWS), found.transform(ROWS[:, [2, 0, 3]]), rtol=0, atol=1e-12)


@pytest.mark.parametrize("center", [False, True])
def test_transform_and_its_inverse(center: bool) -> None:
    """`transform` is that of the release; `inverse_transform` after it is the projection, about the mean."""
    estimator = fitted(ROWS + 0.3, center=center)
    found = estimator.release_.pca(2)
    about = estimator.release_.mean if center else np.zeros(4)
    assert (estimator.mean_ == about).all()
    scores = estimator.transform(ROWS)
    assert np.allclose(scores, found.transform(ROWS), rtol=0, atol=1e-12)
    assert np.allclose(scores, (ROWS - about) @ estimator.components_.T, rtol=0, atol=1e-12)
    projector = estimator.components_.T @ estimator.components_
    back = estimator.inverse_transform(scores)
    assert np.allclose(back, (ROWS - about) @ projector + about, rtol=0, atol=1e-12)
    assert np.allclose(estimator.transform(back), scores, rtol=0, atol=1e-12)
    assert np.allclose(estimator.fit_transform(ROWS + 0.3), estimator.transform(ROWS + 0.3), rtol=0, atol=1e-12)


def test_rows_that_are_missing_or_none() -> None:
    """NaN and infinity count as 0, in rows of any block; a table without rows has no scores."""
    estimator = fitted()
    wild = ROWS.copy()
    wild[::3, 1], wild[1::3, 0], wild[2] = np.nan, np.inf, np.nan
    assert np.allclose(
        estimator.transform(wild), np.where(np.isfinite(wild), wild, 0) @ estimator.components_.T, rtol=0, atol=1e-12
    )
    assert np.isfinite(fitted(wild).components_).all()
    for row in (ROWS[:1], ROWS[5:6].tolist()):
        assert estimator.transform(row).shape == (1, 2)
    assert np.allclose(np.vstack([estimator.transform(ROWS[i : i + 7]) for i in range(0, 400, 7)]), estimator.transform(ROWS))


def test_many_rows_come_out_in_order() -> None:
    """In several blocks, as they are read."""
    rows = np.random.default_rng(8).normal(size=(300_000, 4))
    estimator = fitted()
    assert np.allclose(estimator.transform(rows), rows @ estimator.components_.T, rtol=0, atol=1e-12)


def test_frames() -> None:
    frame = pd.DataFrame(ROWS, columns=list("abcd"))
    estimator = fitted(frame)
    assert estimator.feature_names_in_.tolist() == list("abcd")
    expected = ROWS @ estimator.components_.T
    for table in (frame, pl.DataFrame(ROWS, schema=list("abcd")), pa.Table.from_pandas(frame), frame[["d", "b", "a", "c"]]):
        assert np.allclose(estimator.transform(table), expected, rtol=0, atol=1e-12)  # by name, as in `fit`
    chosen = fitted(frame, columns=["c", "a", "b"])
    assert np.allclose(chosen.transform(frame), ROWS[:, [2, 0, 1]] @ chosen.components_.T, rtol=0, atol=1e-12)
    with pytest.raises(dpcov.DpcovError, match=r" must .*, got .*\. Hint: "):
        estimator.transform(frame.rename(columns={"a": "z"}))


def test_files(tmp_path: Path) -> None:
    frame = pd.DataFrame(ROWS, columns=list("abcd"))
    frame.to_parquet(tmp_path / "rows.parquet")
    frame.to_csv(tmp_path / "rows.csv", index=False)
    estimator = fitted(tmp_path / "rows.parquet")
    for path in (tmp_path / "rows.parquet", str(tmp_path / "rows.csv")):
        assert np.allclose(estimator.transform(path), ROWS @ estimator.components_.T, rtol=0, atol=1e-9)


@pytest.mark.parametrize("center", [False, True])
def test_schema_with_categories(center: bool) -> None:
    """A coordinate per level; missing numbers are midpoints, unknown levels none, values beyond the bounds the bounds."""
    estimator = fitted(PEOPLE, schema=SCHEMA, row_norm=None, center=center)
    assert estimator.components_.shape == (2, 4)
    assert estimator.release_.feature_names == ("age", "sex=F", "sex=M", "height")
    assert estimator.feature_names_in_.tolist() == ["age", "sex", "height", "id"]
    coded = np.column_stack(
        [
            PEOPLE["age"].fillna(50.0),
            (PEOPLE["sex"] == "F").astype(float),
            (PEOPLE["sex"] == "M").astype(float),
            PEOPLE["height"].astype(float),
        ]
    )
    found = estimator.release_.pca(2)
    assert np.allclose(estimator.transform(PEOPLE), found.transform(coded), rtol=0, atol=1e-9)
    assert estimator.mean_.shape == (4,)
    back = estimator.inverse_transform(estimator.transform(PEOPLE))
    offsets, scales = estimator.mean_, SCHEMA.scales(center)
    projector = estimator.components_.T @ estimator.components_
    assert np.allclose(back, (coded - offsets) / scales @ projector * scales + offsets, rtol=0, atol=1e-9)
    beyond = PEOPLE.assign(age=1e6)
    assert np.allclose(estimator.transform(beyond), estimator.transform(PEOPLE.assign(age=100.0)), rtol=0, atol=1e-12)


def test_pipelines_and_names() -> None:
    halve = FunctionTransformer(lambda X: X / 2, feature_names_out="one-to-one")  # a row at a time: it learns nothing
    private = PrivatePCA(2, rho=10, row_norm=3, mechanism="gaussian", random_state=7)
    pipeline = make_pipeline(halve, private, LinearRegression())
    pipeline.fit(ROWS, ROWS[:, 0])
    assert (pipeline[1].components_ == fitted(ROWS / 2).components_).all()
    assert pipeline.score(ROWS, ROWS[:, 0]) > 0.9
    estimator = fitted()
    assert estimator.get_feature_names_out().tolist() == ["privatepca0", "privatepca1"]
    for output, kind in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        table = fitted().set_output(transform=output).transform(ROWS)
        assert isinstance(table, kind)
        assert list(table.columns) == ["privatepca0", "privatepca1"]
        assert np.allclose(table.to_numpy(), estimator.transform(ROWS), rtol=0, atol=1e-12)
    frame = pd.DataFrame(ROWS, columns=list("abcd"), index=range(100, 500))
    table = fitted(frame).set_output(transform="pandas").transform(frame)
    assert table.index.tolist() == frame.index.tolist()


@pytest.mark.parametrize("kind", ["array", "frame"])
def test_a_pickle_holds_the_release_and_not_the_data(kind: str) -> None:
    rows = np.full((50, 3), SECRET)
    estimator = fitted(rows if kind == "array" else pd.DataFrame(rows, columns=list("abc")), row_norm=1, center=True)
    estimator.transform(rows if kind == "array" else pd.DataFrame(rows, columns=list("abc")))
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        stored = pickle.dumps(estimator, protocol)
        for marker in (struct.pack("<d", SECRET), struct.pack(">d", SECRET), b"424242"):
            assert marker not in stored
        again = pickle.loads(stored)
        assert (again.components_ == estimator.components_).all()
        table = pd.DataFrame(ROWS[:, :3], columns=list("abc")) if kind == "frame" else ROWS[:, :3]
        assert (again.transform(table) == estimator.transform(table)).all()
        assert again.release_.statement() == estimator.release_.statement()


def test_fit_keeps_nothing_but_the_release() -> None:
    estimator = fitted(PEOPLE, schema=SCHEMA, row_norm=None)
    estimator.transform(PEOPLE)
    assert set(vars(estimator)) == set(estimator.get_params()) | LEARNT
    first = fitted(random_state=None).release_
    assert not first.seeded
    assert fitted().release_.seeded


def test_clone_and_parameters() -> None:
    estimator = PrivatePCA(2, rho=1, schema=SCHEMA, columns=["age", "sex"], mechanism="gaussian", options={"clip": "private"})
    copy = clone(estimator)
    assert copy.get_params() == estimator.get_params()
    assert "schema=" in repr(copy)
    assert copy.set_params(rho=2, n_components=1).n_components == 1
    assert (estimator.rho, estimator.n_components) == (1, 2)
    assert not hasattr(clone(estimator.fit(PEOPLE)), "release_")
    assert estimator.release_.options["clip"] == "private"


def test_before_fit() -> None:
    for call in ("transform", "inverse_transform"):
        with pytest.raises(NotFittedError):
            getattr(PrivatePCA(1, rho=1, row_norm=1), call)(ROWS)


@pytest.mark.parametrize(
    "changes",
    [
        {"n_components": 0},
        {"n_components": 4},
        {"n_components": True},
        {"n_components": 0.9},
        {"n_components": None},
        {"n_components": "mle"},
        {"row_norm": None},
        {"row_norm": -1},
        {"rho": None},
        {"epsilon": 1},
        {"random_state": -1},
        {"random_state": np.random.default_rng(0)},
        {"mechanism": "svd"},
        {"options": {"k": 3}},
        {"options": {"seed": 3}},
        {"options": {"depth": 3}},
        {"options": [1]},
        {"neighbors": "swap"},
        {"mechanism": "mod-sulq"},
        {"mechanism": "eigenvectors", "center": True},
        {"mechanism": "ppca"},
    ],
    ids=lambda changes: str(changes).partition(" at 0x")[0],
)
def test_refusals(changes: dict[str, Any]) -> None:
    """In the words of the function, and nothing was learnt."""
    estimator = PrivatePCA(**(GIVEN | changes))
    with pytest.raises(ParameterError, match=r"(?s).+ must .+, got .+\. Hint: .+\."):
        estimator.fit(np.full((10, 4), SECRET))
    assert not hasattr(estimator, "release_")


def test_another_number_of_columns() -> None:
    with pytest.raises(ValueError, match="features"):
        fitted().transform(ROWS[:, :3])
    with pytest.raises(ParameterError, match=r"scores must be numbers in 2 columns, got an array that is not\. Hint: "):
        fitted().inverse_transform(ROWS)


@pytest.mark.parametrize("value", [1e308, -1e308])
def test_huge_values_are_projected_without_a_word(value: float) -> None:
    """`fit` takes any float64; `transform` must not warn of those either."""
    estimator = fitted(np.full((9, 4), value))
    assert estimator.transform(np.full((2, 4), value)).shape == (2, 2)
