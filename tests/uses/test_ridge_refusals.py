"""What a regression from a release refuses, and that nothing else of a release does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov import Categorical, Numeric, ParameterError, ReleaseError, Schema

ROWS = np.random.default_rng(2).normal(size=(400, 3))
PLAIN = dpcov.covariance(ROWS, dpcov.ZCDP(1), row_norm=4, center=True, seed=0)
SCHEMA = Schema({"age": Numeric(0, 100), "sex": Categorical(["F", "M"]), "height": Numeric(100, 220)})
TABLE = {"age": [20.0, 40.0] * 50, "sex": ["F", "M"] * 50, "height": [150.0, 180.0, 190.0, 160.0] * 25}


def described() -> dpcov.Release:
    import pyarrow as pa

    return dpcov.covariance(pa.table(TABLE), dpcov.ZCDP(1), schema=SCHEMA, center=True, seed=0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": None}, "target must be given"),
        ({"target": "weight"}, r"target must be among the features of the release, got 'weight'. Hint: 'x0', 'x1', 'x2'"),
        ({"target": 3}, r"target must be a position from 0 to 2, got 3"),
        ({"target": -1}, "target must be a position from 0 to 2"),
        ({"target": True}, "target must be among"),
        ({"target": 1.0}, "target must be among"),
        ({"target": ["x0"]}, "target must be among .* got a value of type list"),
        ({"target": "x0", "features": ["x1", "weight"]}, "features must be among the features of the release, got 'weight'"),
        ({"target": "x0", "features": "x1"}, "features must be a list"),
        ({"target": "x0", "features": []}, "features must hold at least one"),
        ({"target": "x0", "features": ["x1", 1]}, "features must differ, got 'x1' twice. Hint: name each feature once."),
        ({"target": "x0", "features": ["x1", "x0"]}, "features must come from other columns than the target, got 'x0'"),
        ({"target": "x0", "features": [None]}, "features must be among"),
        ({"target": "x0", "alpha": -1e-9}, r"alpha must be 0 or more, and finite, got -1e-09. Hint: 'auto'"),
        ({"target": "x0", "alpha": float("nan")}, "alpha must be 0 or more"),
        ({"target": "x0", "alpha": float("inf")}, "alpha must be 0 or more"),
        ({"target": "x0", "alpha": True}, "alpha must be 0 or more"),
        ({"target": "x0", "alpha": None}, "alpha must be 0 or more"),
        ({"target": "x0", "alpha": "best"}, "alpha must be a number or 'auto', got 'best'"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        PLAIN.ridge(**arguments)


def test_levels_of_the_targets_own_column_are_refused() -> None:
    release = described()
    with pytest.raises(ParameterError, match="reference must be one of the levels of 'sex', got 'X'"):
        release.ridge("sex", reference={"sex": "X"})
    with pytest.raises(ParameterError, match="other columns than the target, got 'sex=F'"):
        release.ridge("sex=M", features=["sex=F", "age"])
    with pytest.raises(ParameterError, match="features must differ"):
        release.ridge("age", features=["sex", "sex=F"])


def test_one_column_has_nothing_to_be_predicted_from() -> None:
    with pytest.raises(ParameterError, match="features must hold at least one feature"):
        dpcov.covariance(ROWS[:, :1], dpcov.ZCDP(1), row_norm=4, seed=0).ridge("x0")


def test_releases_without_a_covariance() -> None:
    mean = dpcov.mean(ROWS, dpcov.ZCDP(1), radius=10, seed=0)
    with pytest.raises(
        ReleaseError, match=r"must hold a covariance for a regression, got a mean. Hint: make one with dpcov.covariance"
    ):
        mean.ridge("x0")
    components = dpcov.pca(ROWS, dpcov.ZCDP(1), 1, row_norm=4, seed=0)
    with pytest.raises(ReleaseError, match="got components"):
        components.ridge("x0")


@pytest.mark.parametrize(
    "mechanism", [name for name in dpcov.MECHANISMS["covariance"] if name not in ("coinpress", "standardized")]
)
def test_every_covariance_has_regressions(mechanism: str) -> None:
    """Also one that was told nothing: eight rows are too few for any budget."""
    budget = dpcov.PureDP(1) if mechanism in ("wishart", "laplace", "frobenius", "kapralov-talwar") else dpcov.ZCDP(1)
    for rows in (ROWS, ROWS[:8]):
        release = dpcov.covariance(rows, budget, row_norm=4, mechanism=mechanism, seed=0)
        for alpha in ("auto", 0, 0.1):
            model = release.ridge("x0", alpha=alpha)
            assert np.isfinite(model.coefficients).all()
            assert np.isfinite(model.predict(ROWS[:, 1:])).all()
            assert model.alpha >= 0


@pytest.mark.parametrize("center", [True, False])
def test_rounds_have_regressions(center: bool) -> None:
    options: dict[str, Any] = {"radius": 3} if center else {}
    release = dpcov.covariance(
        ROWS, dpcov.ZCDP(1), mechanism="coinpress", lower=0.1, upper=10, center=center, seed=0, **options
    )
    for alpha in ("auto", 0, 0.1):
        assert np.isfinite(release.ridge("x0", alpha=alpha).coefficients).all()
