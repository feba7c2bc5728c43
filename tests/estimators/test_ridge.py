"""PrivateRidge behaves as scikit-learn expects, and gives away nothing more than its release."""

from __future__ import annotations

import pickle
import struct
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import dpcov
from dpcov import PrivateRidge
from dpcov.errors import ParameterError
from tests.estimators.test_ridge_noise_off import GIVEN, LARGEST, LONGEST, PERTURBED, X, Y, fitted

SECRET = 424242.5  # stands for the data: neither a message nor a pickle may show it
LEARNT = {"release_", "coef_", "intercept_", "alpha_", "n_features_in_"}

CONFIGURED = [
    PrivateRidge(alpha=0.1, rho=1, row_norm=10, target_bound=10, mechanism="gaussian"),
    PrivateRidge(alpha=0.1, epsilon=1, row_norm=10, target_bound=10, mechanism="output-perturbation", fit_intercept=False),
]


@parametrize_with_checks(CONFIGURED)  # type: ignore[untyped-decorator]  # scikit-learn has no types
def test_scikit_learn_checks(estimator: Any, check: Any) -> None:
    """All pass but one, on purpose: an infinite y is data like any other, and an error would tell that it is there."""
    if check.func.__name__ == "check_supervised_y_no_nan":
        with pytest.raises(AssertionError, match="should have raised error on fitting array y with inf value"):
            check(estimator)
        return
    check(estimator)


def test_it_is_the_function_in_another_form() -> None:
    """One release of rows with the target, each divided by its bound, last; ``release_`` has all other models for free."""
    joined = np.column_stack([X / LONGEST, Y / LARGEST])
    cases: list[tuple[dict[str, Any], Any]] = [
        ({"rho": Fraction(1, 3)}, dpcov.ZCDP(Fraction(1, 3))),
        ({"rho": None, "epsilon": 0.1}, dpcov.PureDP("0.1")),
        ({"rho": None, "epsilon": 1, "delta": 1e-6}, dpcov.ApproxDP(1, "1e-6")),
    ]
    for given, budget in cases:
        for neighbors in ("replace", "add-remove"):
            found = fitted(**given, mechanism="auto", neighbors=neighbors)
            release = dpcov.covariance(joined, budget, row_norm=np.sqrt(2), center=True, neighbors=neighbors, seed=7)
            assert found.release_.privacy == budget
            assert found.release_.answers[0].integers.tolist() == release.answers[0].integers.tolist()
            model = release.ridge(3, alpha=0.1 / LONGEST**2)
            assert np.allclose(found.coef_, model.coefficients * LARGEST / LONGEST, rtol=1e-12, atol=0)
            assert found.intercept_ == pytest.approx(model.intercept * LARGEST)
            assert found.release_.ridge(0, alpha=0.1).coefficients.shape == (3,)
        found = fitted(**given, **PERTURBED)
        release = dpcov.ridge(joined, budget, 3, alpha=0.1 / LONGEST**2, row_norm=np.sqrt(2), seed=7)
        assert found.release_.answers[0].integers.tolist() == release.answers[0].integers.tolist()
        assert (found.release_.kind, found.release_.privacy) == ("ridge", budget)


class TestInputs:
    def test_frames(self) -> None:
        frame, series = pd.DataFrame(X, columns=list("abc")), pd.Series(Y, index=range(100, 500))
        expected = fitted()
        for rows, y in ((frame, series), (pl.DataFrame(X, schema=list("abc")), pl.Series(Y)), (X.tolist(), Y.tolist())):
            assert fitted(rows, y).coef_.tolist() == expected.coef_.tolist()
        arrow = fitted(pa.table(dict(zip("abc", X.T, strict=True))), pa.array(Y))
        assert arrow.coef_.tolist() == expected.coef_.tolist()

    @pytest.mark.parametrize("kind", [pd.DataFrame, lambda rows, columns: pl.DataFrame(rows, schema=columns)], ids=["pd", "pl"])
    def test_names_of_columns(self, kind: Any) -> None:
        """Kept by `fit`; a frame with others, or in another order, is refused: its predictions would be wrong."""
        frame = kind(X, columns=list("abc"))
        found = fitted(frame)
        assert found.feature_names_in_.tolist() == list("abc")
        assert found.predict(frame).tolist() == fitted().predict(X).tolist()
        for other in (kind(X, columns=list("xyz")), frame[["c", "a", "b"]]):
            with pytest.raises(ValueError, match="feature names"):
                found.predict(other)

    @pytest.mark.parametrize("y", [Y > 0, Y.astype(np.float32), np.arange(400), np.arange(400, dtype=np.uint8)], ids=str)
    def test_numbers_of_other_types(self, y: Any) -> None:
        expected = fitted(X, y.astype(np.float64), target_bound=1000.0)
        assert fitted(X, y, target_bound=1000.0).coef_.tolist() == expected.coef_.tolist()

    def test_objects_are_numbers_or_missing(self) -> None:
        y = np.array([*Y[:200], *["x", None, Fraction(1, 2), 10**400] * 50], dtype=object)
        zeros = np.array([*Y[:200], *[0, 0, 0.5, 0] * 50], dtype=np.float64)
        assert fitted(X, y).coef_.tolist() == fitted(X, zeros).coef_.tolist()

    @pytest.mark.parametrize("value", [1e308, -1e308, 5e-324])
    def test_extreme_values_raise_no_warning(self, value: float) -> None:
        found = fitted(np.full((9, 3), value), np.full(9, -value))
        assert np.isfinite(found.coef_).all()
        assert found.predict(np.full((2, 3), value)).shape == (2,)

    def test_a_column_for_y(self) -> None:
        """With scikit-learn's own warning."""
        for y in (Y.reshape(-1, 1), pd.DataFrame({"y": Y})):
            with pytest.warns(DataConversionWarning):
                found = fitted(X, y)
            assert found.coef_.tolist() == fitted().coef_.tolist()

    def test_predictions(self) -> None:
        found = fitted()
        assert np.allclose(found.predict(X), X @ found.coef_ + found.intercept_, rtol=0, atol=1e-12)
        assert found.predict(X[:1].tolist()).shape == (1,)
        assert found.score(X, Y) > 0.9
        assert found.predict(np.eye(3, dtype=np.int8)).shape == (3,)
        with pytest.raises(ValueError, match="features"):
            found.predict(X[:, :2])
        with pytest.raises(NotFittedError):
            PrivateRidge(rho=1, row_norm=1, target_bound=1).predict(X)

    def test_a_mask_is_not_forgotten(self) -> None:
        """What is masked must not be counted: refused, as in the other estimators."""
        hidden = np.zeros((400, 3), dtype=bool)
        hidden[0] = True
        for rows, y in ((np.ma.masked_array(X, hidden), Y), (X, np.ma.masked_array(Y, hidden[:, 0]))):
            with pytest.raises(ParameterError, match=r" must .+, got .+\. Hint: "):
                fitted(rows, y)


BAD_Y: dict[str, Any] = {
    "text": np.full(5, str(SECRET)),
    "complex": np.full(5, SECRET + 1j),
    "dates": np.full(5, "2020-01-01", dtype="datetime64[D]"),
    "short": np.full(4, SECRET),
    "long": np.full(6, SECRET),
    "empty": np.zeros(0),
    "two columns": np.full((5, 2), SECRET),
    "three dimensions": np.full((5, 1, 1), SECRET),
    "a number": SECRET,
    "a dictionary": {"a": SECRET},
    "a set": {SECRET},
    "none": None,
}


@pytest.mark.parametrize("case", BAD_Y)
def test_bad_targets_are_refused_without_quoting_them(case: str) -> None:
    for settings in ({}, PERTURBED):
        estimator = PrivateRidge(**({"mechanism": "gaussian"} | GIVEN | settings))
        with pytest.raises((ValueError, TypeError)) as caught:
            estimator.fit(np.full((5, 3), SECRET), BAD_Y[case])
        assert "424242" not in str(caught.value)
        assert not hasattr(estimator, "release_")


@pytest.mark.parametrize("cell", ["0.5", b"0.5", 1j, [], [0.5], None, float("nan"), float("inf")], ids=repr)
def test_one_cell_of_a_list_decides_nothing(cell: Any) -> None:
    """Whether a fit is refused must not depend on a person's cell: what is no number is missing, and counts as 0."""
    given = [0.25] * 199
    settings: dict[str, Any] = {"mechanism": "gaussian"} | GIVEN | {"random_state": 0}
    one, other = (PrivateRidge(**settings).fit(X[:200], [*given, last]) for last in (cell, 0.0))
    assert np.array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("kind", [np.float16, np.float32])
def test_rows_of_low_precision_are_divided_in_float64(kind: type) -> None:
    """1.5e5 is no float16: divided there, rows would become 0 or infinite."""
    rows = (X[:500] / np.abs(X).max() * 3e4).astype(kind)
    settings: dict[str, Any] = {"rho": 1000, "row_norm": 1.5e5, "target_bound": 1e5, "random_state": 0, "mechanism": "gaussian"}
    one, other = (PrivateRidge(0.0, **settings).fit(given, rows[:, 0].astype(float)) for given in (rows, rows.astype(float)))
    assert np.array_equal(one.coef_, other.coef_)


def test_lengths_that_differ_do_not_tell_them() -> None:
    with pytest.raises(ParameterError, match="one number for each row of X, got more or fewer") as caught:
        PrivateRidge(**({"mechanism": "gaussian"} | GIVEN | {"neighbors": "add-remove"})).fit(X[:187], Y[:186])
    assert "18" not in str(caught.value)


BAD_X: dict[str, Any] = {
    "one dimension": np.full(5, SECRET),
    "three dimensions": np.full((5, 2, 2), SECRET),
    "a ragged list": [[SECRET, 1.0], [SECRET], [], [], []],
    "text": np.full((5, 1), str(SECRET)),
    "a dictionary": {"a": [SECRET]},
    "complex": np.full((5, 2), SECRET + 1j),
    "sparse": csr_array(np.full((5, 2), SECRET)),
    "no rows": np.zeros((0, 2)),
    "none": None,
}


@pytest.mark.parametrize("case", BAD_X)
def test_bad_rows_are_refused_without_quoting_them(case: str) -> None:
    estimator = PrivateRidge(**({"mechanism": "gaussian"} | GIVEN))
    with pytest.raises((ValueError, TypeError)) as caught:
        estimator.fit(BAD_X[case], np.full(5, SECRET))
    assert "424242" not in str(caught.value)
    assert not hasattr(estimator, "release_")


REFUSED: list[dict[str, Any]] = [
    {"rho": None},
    {"epsilon": 1},
    {"rho": None, "delta": 1e-6},
    {"rho": "much"},
    {"row_norm": None},
    {"target_bound": None},
    {"row_norm": -1},
    {"row_norm": np.inf},
    {"row_norm": "8"},
    {"target_bound": 0},
    {"target_bound": np.nan},
    {"target_bound": True},
    {"fit_intercept": 1},
    {"fit_intercept": None},
    *({"alpha": bad} for bad in (-1, -1e-300, np.nan, np.inf, True, "none", None, [1], 1j)),
    {"alpha": np.array([0.1, 0.2])},
    {"mechanism": "svd"},
    {"mechanism": None},
    {"mechanism": ["gaussian"]},
    {"mechanism": "wishart"},
    {"neighbors": "swap"},
    {"options": {"center": True}},
    {"options": {"depth": 3}},
    {"options": ["clip"]},
    *({"random_state": bad} for bad in (-1, 1.5, True, "0", np.random.RandomState(0), np.random.default_rng(0))),
    *(PERTURBED | bad for bad in ({"fit_intercept": True}, {"neighbors": "add-remove"}, {"options": {"clip": 0.5}})),
    *(PERTURBED | {"alpha": bad} for bad in ("auto", 0, 1e-12, 1e12)),
]


@pytest.mark.parametrize("changes", REFUSED, ids=lambda changes: str(changes)[:60].partition(" at 0x")[0])
def test_refusals(changes: dict[str, Any]) -> None:
    """In the words of the library; nothing was released, so nothing was spent."""
    estimator = PrivateRidge(**({"mechanism": "gaussian"} | GIVEN | changes))
    with pytest.raises(ParameterError, match=r"(?s)^.+ must .+, got .+\. Hint: .+\.") as caught:
        estimator.fit(np.full((10, 3), SECRET), np.full(10, SECRET))
    assert "424242" not in str(caught.value)
    assert not hasattr(estimator, "release_")


@pytest.mark.parametrize(("alpha", "row_norm"), [(1e10, 1e-150), (1e299, 1e-3)])
def test_a_penalty_that_overflows_is_refused_before_the_release(alpha: float, row_norm: float) -> None:
    """alpha/row_norm² is beyond float64: not after the budget was spent."""
    estimator = PrivateRidge(**({"mechanism": "gaussian"} | GIVEN | {"alpha": alpha, "row_norm": row_norm}))
    with pytest.raises(ParameterError, match=r"alpha must .+, got .+\. Hint: "):
        estimator.fit(X, Y)
    assert not hasattr(estimator, "release_")


class TestEstimator:
    @pytest.mark.parametrize("settings", [{"mechanism": "gaussian"}, PERTURBED], ids=["gaussian", "perturbed"])
    def test_a_pickle_holds_the_release_and_not_the_data(self, settings: dict[str, Any]) -> None:
        found = fitted(np.full((50, 3), SECRET), np.full(50, SECRET), **({"row_norm": 1.0, "target_bound": 1.0} | settings))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            stored = pickle.dumps(found, protocol)
            for marker in (struct.pack("<d", SECRET), struct.pack(">d", SECRET), b"424242"):
                assert marker not in stored
            again = pickle.loads(stored)
            assert again.coef_.tolist() == found.coef_.tolist()
            assert again.predict(X).tolist() == found.predict(X).tolist()
            assert again.release_.statement() == found.release_.statement()

    def test_fit_keeps_nothing_but_the_release(self) -> None:
        for settings in ({"mechanism": "gaussian"}, PERTURBED):
            found = fitted(**settings)
            found.predict(X)
            assert set(vars(found)) == set(found.get_params()) | LEARNT

    def test_clone_and_parameters(self) -> None:
        estimator = PrivateRidge(0.5, rho=1, row_norm=8, target_bound=50, mechanism="gaussian", options={"clip": "private"})
        copy = clone(estimator)
        assert copy.get_params() == estimator.get_params()
        assert copy.set_params(rho=2, alpha=1.0).alpha == 1.0
        assert (estimator.rho, estimator.alpha) == (1, 0.5)
        assert not hasattr(clone(estimator.fit(X, Y)), "release_")
        assert estimator.release_.options["clip"] == "private"

    def test_seeds(self) -> None:
        """None draws anew and is private; an integer repeats and is not; the caller's arrays are left alone."""
        rows, y = X.copy(), Y.copy()
        free = [fitted(rows, y, rho=1, random_state=None) for _ in range(2)]
        assert free[0].coef_.tolist() != free[1].coef_.tolist()
        assert not free[0].release_.seeded
        assert fitted(rho=1).release_.seeded
        assert fitted(rho=1).coef_.tolist() == fitted(rho=1, random_state=np.int64(7)).coef_.tolist()
        assert fitted(rho=1).coef_.tolist() != fitted(rho=1, random_state=8).coef_.tolist()
        assert rows.tolist() == X.tolist()
        assert y.tolist() == Y.tolist()

    def test_pipelines(self) -> None:
        halve = FunctionTransformer(lambda rows: rows / 2)  # a row at a time: it learns nothing
        pipeline = make_pipeline(halve, PrivateRidge(**({"mechanism": "gaussian"} | GIVEN)))
        pipeline.fit(X, Y)
        assert pipeline[1].coef_.tolist() == fitted(X / 2).coef_.tolist()
        assert pipeline.score(X, Y) > 0.7

    def test_a_caller_s_strict_numpy_is_no_obstacle(self) -> None:
        rows, wild = np.full((400, 3), 1e308), np.where(np.arange(400) % 2 == 0, 1e308, np.nan)
        with np.errstate(all="raise"):
            found = fitted(rows, wild, row_norm=1e-3, target_bound=1e-3, alpha=1.0)
            assert np.isfinite(found.coef_).all()
            assert found.predict(rows).shape == (400,)
