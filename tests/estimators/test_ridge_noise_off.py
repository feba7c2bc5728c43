"""PrivateRidge where noise is off: scikit-learn's Ridge(alpha·n), in the units of X and y."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

from dpcov import PrivateRidge

Floats = NDArray[np.float64]
DRAW = np.random.default_rng((9500, 1))
ROTATION = np.linalg.qr(DRAW.normal(size=(3, 3)))[0]
X = DRAW.normal(size=(400, 3)) * [2.0, 1.0, 0.5] @ ROTATION.T + [0.5, -1.0, 0.25]
Y = X @ [3.0, -2.0, 5.0] + 4.0 + DRAW.normal(size=400)
LONGEST, LARGEST = 8.0, 50.0  # beyond all of them: nothing is clipped
GIVEN: dict[str, Any] = {"alpha": 0.1, "rho": 10**20, "row_norm": LONGEST, "target_bound": LARGEST, "random_state": 7}
PERTURBED: dict[str, Any] = {"mechanism": "output-perturbation", "fit_intercept": False}


def fitted(rows: Any = X, y: Any = Y, **changes: Any) -> PrivateRidge:
    return PrivateRidge(**({"mechanism": "gaussian"} | GIVEN | changes)).fit(rows, y)


def sklearn_ridge(rows: Floats, y: Floats, alpha: float, intercept: bool) -> Any:
    """Its penalty is on the sum of squares, ours on their mean."""
    return Ridge(alpha=alpha * len(rows), fit_intercept=intercept).fit(rows, y)


class TestNoiseOff:
    @pytest.mark.parametrize("alpha", [0.001, 0.1, 3.0, 100.0])
    @pytest.mark.parametrize("intercept", [True, False])
    def test_scikit_learn_agrees(self, alpha: float, intercept: bool) -> None:
        """In the user's units: α is not divided by any bound, the intercept is not penalised."""
        expected = sklearn_ridge(X, Y, alpha, intercept)
        settings: list[dict[str, Any]] = [{"mechanism": "gaussian"}, {"epsilon": 10**9, "rho": None, "mechanism": "laplace"}]
        for setting in settings + ([] if intercept else [PERTURBED]):
            found = fitted(alpha=alpha, **({"fit_intercept": intercept} | setting))
            assert np.allclose(found.coef_, expected.coef_, rtol=0, atol=0.02)
            assert found.intercept_ == pytest.approx(expected.intercept_, abs=0.02)
            assert np.allclose(found.predict(X), expected.predict(X), rtol=0, atol=0.1)
            assert found.alpha_ == pytest.approx(alpha)
            assert (found.n_features_in_, found.coef_.shape) == (3, (3,))
            if not intercept:
                assert found.intercept_ == 0.0

    @pytest.mark.parametrize(("longest", "largest"), [(8.0, 500.0), (80.0, 50.0)])
    def test_bounds_are_no_units(self, longest: float, largest: float) -> None:
        """Looser bounds leave the model as it is."""
        found = fitted(row_norm=longest, target_bound=largest)
        expected = sklearn_ridge(X, Y, 0.1, True)
        assert np.allclose(found.coef_, expected.coef_, rtol=0, atol=0.1)
        assert found.intercept_ == pytest.approx(expected.intercept_, abs=0.2)

    @pytest.mark.parametrize("settings", [{}, {"fit_intercept": False}, PERTURBED], ids=["gaussian", "through 0", "perturbed"])
    def test_other_units_of_everything(self, settings: dict[str, Any]) -> None:
        """Rows in units a thousand times smaller, with α for them: coefficients follow, predictions stay."""
        plain = fitted(**settings)
        scaled = fitted(X * 1000, Y / 8, row_norm=LONGEST * 1000, target_bound=LARGEST / 8, alpha=0.1 * 1000**2, **settings)
        assert np.allclose(scaled.coef_ * 8000, plain.coef_, rtol=0, atol=0.01)
        assert scaled.intercept_ * 8 == pytest.approx(plain.intercept_, abs=0.01)
        assert scaled.alpha_ == pytest.approx(0.1 * 1000**2)

    @pytest.mark.parametrize("settings", [{}, {"fit_intercept": False}, PERTURBED], ids=["gaussian", "through 0", "perturbed"])
    def test_targets_are_clipped_alone_first(self, settings: dict[str, Any]) -> None:
        """A target beyond its bound counts as the bound; its row of X is not shrunk for it."""
        intercept = settings.get("fit_intercept", True)
        wild = np.where(np.arange(400) % 4 == 0, 1e9, Y)
        expected = sklearn_ridge(X, np.clip(wild, -20, 20), 0.1, intercept)
        found = fitted(X, wild, target_bound=20.0, **settings)
        assert np.allclose(found.coef_, expected.coef_, rtol=0, atol=0.02)
        assert found.intercept_ == pytest.approx(expected.intercept_, abs=0.02)

    def test_rows_are_clipped_with_their_target(self) -> None:
        """To norm √2 of (x/row_norm, y/target_bound): rows of X within row_norm never are."""
        joined = np.column_stack([X / 2, np.clip(Y, -20, 20) / 20])
        joined /= np.maximum(1, np.linalg.norm(joined, axis=1) / np.sqrt(2))[:, None]
        expected = sklearn_ridge(joined[:, :3] * 2, joined[:, 3] * 20, 0.1, False)
        found = fitted(row_norm=2.0, target_bound=20.0, fit_intercept=False)
        assert np.allclose(found.coef_, expected.coef_, rtol=0, atol=0.02)

    @pytest.mark.parametrize("settings", [{}, PERTURBED], ids=["gaussian", "perturbed"])
    def test_missing_and_infinite_entries_count_as_zero(self, settings: dict[str, Any]) -> None:
        rows, y = X.copy(), Y.copy()
        rows[::5, 1], rows[1::7, 0], y[::6], y[1::9] = np.nan, -np.inf, np.nan, np.inf
        zeros = np.where(np.isfinite(rows), rows, 0), np.where(np.isfinite(y), y, 0)
        found, expected = fitted(rows, y, **settings), fitted(*zeros, **settings)
        assert found.coef_.tolist() == expected.coef_.tolist()
        assert found.predict(rows).tolist() == found.predict(zeros[0]).tolist()


class TestAutomaticPenalty:
    def test_it_is_that_of_the_release(self) -> None:
        """In the units of X: the release's rows were divided by row_norm."""
        for intercept in (True, False):
            found = fitted(alpha="auto", rho=1, fit_intercept=intercept)
            model = found.release_.ridge(3)
            assert found.alpha_ == pytest.approx(model.alpha * LONGEST**2)
            assert np.allclose(found.coef_, model.coefficients * LARGEST / LONGEST, rtol=1e-12, atol=0)
            again = fitted(alpha=found.alpha_, rho=1, fit_intercept=intercept)
            assert np.allclose(again.coef_, found.coef_, rtol=1e-9, atol=1e-12)

    def test_it_follows_the_units(self) -> None:
        """By powers of two nothing is rounded: the same release, and the same model."""
        plain = fitted(alpha="auto", rho=1)
        scaled = fitted(X * 1024, Y / 8, alpha="auto", rho=1, row_norm=LONGEST * 1024, target_bound=LARGEST / 8)
        assert scaled.alpha_ == pytest.approx(plain.alpha_ * 1024**2)
        assert np.allclose(scaled.coef_ * 8 * 1024, plain.coef_, rtol=1e-9, atol=0)
        assert scaled.intercept_ * 8 == pytest.approx(plain.intercept_)

    def test_it_falls_with_the_noise(self) -> None:
        """Next to none is least squares; where there is nothing but noise little is left of the coefficients."""
        little, much = fitted(alpha="auto"), fitted(alpha="auto", rho=1e-6)
        assert np.allclose(little.coef_, sklearn_ridge(X, Y, 0.0, True).coef_, rtol=0, atol=0.3)
        assert np.linalg.norm(much.coef_) < 1
        assert little.alpha_ < 0.1 < much.alpha_
