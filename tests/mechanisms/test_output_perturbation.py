"""`output-perturbation` without noise is scikit-learn's Ridge(alpha·n) of the clipped rows; what it asks and pays; units."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

import dpcov
from dpcov import Categorical, Numeric, Schema
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.noise.laws import DiscreteGaussian, DiscreteLaplace
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.running import released
from dpcov.release.record import Release
from dpcov.verify.testing import scripted
from tests.helpers.quiet import Floats, QuietSampler, quiet_curator, skewed

RUN = MECHANISMS["ridge"]["output-perturbation"]
BUDGETS: list[Budget] = [PureDP("0.7"), ZCDP("0.3"), ApproxDP("0.7", "1e-6"), ApproxDP("0.7", "1e-40")]
HUGE = ZCDP(10**14)


def sklearn_coefficients(rows: Floats, target: int, alpha: float) -> Floats:
    """Ridge(alpha·n): its penalty is on the sum of squares, ours on their mean."""
    features = np.delete(rows, target, axis=1)
    return np.asarray(Ridge(alpha=alpha * len(rows), fit_intercept=False).fit(features, rows[:, target]).coef_)


def quiet(rows: Floats, target: int, alpha: float, row_norm: float = 1.0, budget: Budget = PureDP(1)) -> Release:  # noqa: B008
    return released(RUN, quiet_curator(rows, budget, row_norm=row_norm), budget, target=target, alpha=alpha)


class TestNoiseOff:
    @pytest.mark.parametrize("alpha", [1e-4, 0.01, 1.0, 30.0])
    @pytest.mark.parametrize("d", [2, 3, 6])
    def test_scikit_learn_agrees(self, d: int, alpha: float) -> None:
        """Rotated anisotropic rows, each column as the target: a transposed factor or another order would show."""
        rows = skewed(800, d, 9300 + d)
        for target in range(d):
            release = quiet(rows, target, alpha)
            expected = sklearn_coefficients(rows, target, alpha)
            found = release.ridge()
            scale = max(1e-3, float(np.abs(expected).max()))
            assert np.allclose(found.coefficients, expected, rtol=0, atol=2e-3 * scale)  # rows are on a grid of 2⁻¹⁶
            assert found.coefficients.tolist() == found.encoded_coefficients.tolist()
            assert found.feature_names == tuple(f"x{j}" for j in range(d) if j != target)
            assert (found.target, found.intercept, found.alpha) == (f"x{target}", 0.0, alpha)

    @pytest.mark.parametrize("row_norm", [0.02, 7.0, 1e5])
    def test_rows_of_another_norm(self, row_norm: float) -> None:
        """alpha is in the units of rows: the same coefficients for α·R², and scikit-learn's for rows as they are."""
        rows = skewed(800, 4, 9310)
        plain, scaled = quiet(rows, 1, 0.05).ridge(), quiet(rows * row_norm, 1, 0.05 * row_norm**2, row_norm).ridge()
        assert np.allclose(plain.coefficients, scaled.coefficients, rtol=0, atol=1e-3)
        expected = sklearn_coefficients(rows * row_norm, 1, 0.05 * row_norm**2)
        assert np.allclose(scaled.coefficients, expected, rtol=0, atol=1e-3)
        assert scaled.alpha == 0.05 * row_norm**2

    def test_rows_are_clipped_with_their_target(self) -> None:
        rows = skewed(500, 4, 9311) * 5
        clipped = rows / np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True))
        found = quiet(rows, 2, 0.02).ridge().coefficients
        assert np.allclose(found, sklearn_coefficients(clipped, 2, 0.02), rtol=0, atol=2e-3)
        assert np.linalg.norm(found - sklearn_coefficients(rows, 2, 0.02)) > 0.02

    @pytest.mark.parametrize("budget", [PureDP(10**9), HUGE, ApproxDP(10**6, "1e-6")], ids=repr)
    def test_a_huge_budget_is_no_noise(self, budget: Budget) -> None:
        rows = skewed(2000, 4, 9312)
        release = dpcov.ridge(rows, budget, "x3", alpha=0.05, row_norm=1, seed=9313)
        assert np.allclose(release.ridge().coefficients, sklearn_coefficients(rows, 3, 0.05), rtol=0, atol=2e-3)

    def test_missing_entries_count_as_zero(self) -> None:
        rows = skewed(600, 3, 9314)
        wild = rows.copy()
        wild[::3, 0], wild[1::5, 2] = np.nan, np.inf
        zeros = np.where(np.isfinite(wild), wild, 0.0)
        found = quiet(wild, 2, 0.1)
        assert found.answers[0].integers.tolist() == quiet(zeros, 2, 0.1).answers[0].integers.tolist()


class TestQuestions:
    @pytest.mark.parametrize("budget", BUDGETS, ids=repr)
    def test_one_question_for_the_whole_budget(self, budget: Budget) -> None:
        sampler = QuietSampler()
        curator = quiet_curator(skewed(800, 4, 9320), budget, sampler=sampler)
        release = released(RUN, curator, budget, target=2, alpha=0.3)
        assert [question.name for question in sampler.asked] == ["solution"]
        assert [spend.asked for spend in release.spent] == ["solution"]
        assert release.privacy == budget
        tiny = budget == BUDGETS[-1]  # of a δ below the gap between discrete and continuous noise
        assert release.spent[0].budget == (budget.to_zcdp() if isinstance(budget, ApproxDP) and tiny else budget)
        assert isinstance(sampler.laws[0], DiscreteLaplace if isinstance(budget, PureDP) else DiscreteGaussian)
        assert (release.kind, release.mechanism, release.postprocess) == ("ridge", "output-perturbation", "none")
        assert dict(release.options) == {"target": 2, "alpha": 0.3}

    def test_chosen_answers_are_the_coefficients(self) -> None:
        """In the order of the other columns, with nothing done to them."""
        curator = scripted([[0.5, -3.0, 100.0]], n=10, d=4, budget=PureDP(1), row_norm=9.0)
        model = released(RUN, curator, PureDP(1), target=1, alpha=2).ridge()
        assert model.coefficients.tolist() == [0.5, -3.0, 100.0]
        assert model.feature_names == ("x0", "x2", "x3")
        assert (model.alpha, type(model.alpha), model.intercept) == (2.0, float, 0.0)
        assert model.predict(np.array([[2.0, 1.0, 0.0], [0.0, 0.0, 0.01]])) == pytest.approx([-2.0, 1.0])
        assert not model.coefficients.flags.writeable

    def test_noise_is_added_to_each_coefficient(self) -> None:
        """Two seeds differ in each; one seed repeats itself."""
        rows = skewed(300, 5, 9321)
        one, two, again = (
            dpcov.ridge(rows, PureDP(1), 0, alpha=0.1, row_norm=1, seed=seed).ridge().coefficients for seed in (1, 2, 1)
        )
        assert (one != two).all()
        assert one.tolist() == again.tolist()


SCHEMA = Schema({"age": Numeric(20, 100), "sex": Categorical(["F", "M"], weight=0.5), "income": Numeric(-2, 8, weight=2)})


def people(n: int = 3000) -> Any:
    draw = np.random.default_rng((9330, n))
    common = draw.normal(size=n)
    return pd.DataFrame(
        {
            "age": np.clip(50 + 15 * common, 20, 100),
            "sex": np.where(common + draw.normal(size=n) > 0, "F", "M"),
            "income": np.clip(3 + 1.5 * common + 0.3 * draw.normal(size=n), -2, 8),
        }
    )


class TestSchemas:
    @pytest.mark.parametrize("target", ["age", "income"])
    def test_units(self, target: str) -> None:
        """Coefficients in the table's units; alpha penalises encoded ones."""
        table, scales = people(), SCHEMA.scales(False)
        model = dpcov.ridge(table, HUGE, target, alpha=0.01, schema=SCHEMA, seed=9331).ridge()
        coded = (
            np.column_stack([table["age"], table["sex"] == "F", table["sex"] == "M", table["income"]]).astype(float) / scales
        )
        place = {"age": 0, "income": 3}[target]
        expected = sklearn_coefficients(coded, place, 0.01)
        assert np.allclose(model.encoded_coefficients, expected, rtol=0, atol=1e-3)
        others = [j for j in range(4) if j != place]
        assert np.allclose(model.coefficients, expected * scales[place] / scales[others], rtol=2e-3, atol=1e-3)
        assert model.columns == tuple(name for name in ("age", "sex", "income") if name != target)
        predicted = coded[:, others] @ expected * scales[place]
        assert np.allclose(model.predict(table), predicted, rtol=2e-3, atol=1e-2)

    def test_row_norm_is_one(self) -> None:
        """Encoded rows have norm 1 at most: the noise is that of α itself, not of α over something."""
        release = dpcov.ridge(people(100), PureDP(1), "age", alpha=1.0, schema=SCHEMA, seed=9332)
        law = release.answers[0].law
        assert isinstance(law, DiscreteLaplace)
        expected = math.sqrt(3) * math.sqrt(1 + 1 / 8) / 100
        assert float(law.scale) * 2.0 ** -release.answers[0].unit_bits == pytest.approx(expected, rel=2e-3)
