"""`output-perturbation` without noise is scikit-learn's Ridge(alpha·n) of the clipped rows; what it asks and pays; units."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

import dpcov
from dpcov import Categorical, Numeric, Schema
from dpcov.errors import EngineError, ParameterError, ReleaseError
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.noise.laws import DiscreteGaussian, DiscreteLaplace
from dpcov.kernel.questions.solution import Solution
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.running import released
from dpcov.release.file import parse
from dpcov.release.record import Release
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import NoSource, opened, scripted
from tests.helpers.quiet import Floats, QuietSampler, quiet_curator, skewed
from tests.helpers.small import charged, record_of, sealed, untouched
from tests.helpers.untouchable import Untouchable

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


NOTIONS: list[Budget] = [PureDP(1), ZCDP("0.5"), ApproxDP(1, "1e-6")]
SECRET = 424242.5  # stands for the data: no message may show it
ROWS = np.random.default_rng(9200).normal(size=(3000, 3)) / 3


def ask(
    budget: Budget = PureDP(1),  # noqa: B008
    neighbors: str = "replace",
    *,
    n: int = 10,
    d: int = 3,
    center: bool = False,
    **changes: Any,
) -> str:
    """Run the mechanism on a source that fails the test when it is read; it must refuse, and nothing may be charged."""
    curator = opened(NoSource(n, d), Grid(1.0, center=center), budget, neighbors, SeededBits(0))
    with pytest.raises(ParameterError) as caught:
        released(MECHANISMS["ridge"]["output-perturbation"], curator, budget, **({"target": 0, "alpha": 0.1} | changes))
    assert re.fullmatch(r"(?s).+ must .+, got .+\. Hint: .+\.", str(caught.value)), str(caught.value)
    assert untouched(curator)
    return str(caught.value)


class TestBeforeReading:
    def test_rows_that_it_does_not_serve(self) -> None:
        assert ask(center=True).startswith("center must be False for mechanism 'output-perturbation', got True")
        assert ask(neighbors="add-remove").startswith("neighbors must be 'replace' for mechanism 'output-perturbation'")
        assert ask(d=1).startswith("data must have at least two columns")
        assert ask(n=0).startswith("data must have 1 to 2**30 rows, got 0")
        assert ask(n=2**30 + 1).startswith("data must have 1 to 2**30 rows, got 1073741825")

    @pytest.mark.parametrize(
        ("name", "changes"),
        [
            ("row_norm or schema", {"row_norm": None}),
            ("row_norm or schema", {"schema": SCHEMA}),
            ("row_norm", {"row_norm": -1}),
            ("row_norm", {"row_norm": math.nan}),
            ("schema", {"row_norm": None, "schema": {"age": (0, 1)}}),
            ("mechanism", {"mechanism": "gaussian"}),
            ("mechanism", {"mechanism": ["output-perturbation"]}),
            ("seed", {"seed": -1}),
            ("seed", {"seed": "0"}),
        ],
        ids=str,
    )
    def test_parameters(self, name: str, changes: dict[str, Any]) -> None:
        with pytest.raises(ParameterError, match=rf"^{name} must be .+, got .+\. Hint: "):
            dpcov.ridge(Untouchable(), PureDP(1), 0, **({"alpha": 0.1, "row_norm": 1} | changes))


class TestBeforeCharging:
    @pytest.mark.parametrize("alpha", [1e-10, 1e-300, 1e10, 1e300])
    def test_penalties_out_of_range(self, alpha: float) -> None:
        """n of a stream is known when it was read; where float64 errs too much, or noise is nothing but float64's error."""
        for budget in NOTIONS:
            curator = opened(ArraySource(ROWS), Grid(1.0), budget, "replace", SeededBits(0))
            with pytest.raises(ParameterError, match=r"alpha must be .+, got .+\. Hint: "):
                released(MECHANISMS["ridge"]["output-perturbation"], curator, budget, target=0, alpha=alpha)
            assert untouched(curator)

    @pytest.mark.parametrize(
        "budget", [PureDP("1e-30"), PureDP("1e-320"), ZCDP("1e-60"), ZCDP("1e-250"), ApproxDP("1e-30", "1e-60")], ids=repr
    )
    def test_budgets_too_small_for_their_noise(self, budget: Budget) -> None:
        curator = opened(ArraySource(ROWS), Grid(1.0), budget, "replace", SeededBits(0))
        with pytest.raises(ParameterError, match=r" must .+, got .+\. Hint: "):
            released(MECHANISMS["ridge"]["output-perturbation"], curator, budget, target=0, alpha=0.1)
        assert untouched(curator)

    def test_a_blas_that_fails(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It cannot, for these matrices; if it did, nothing would be spent, and no row told."""

        def failing(matrix: Any) -> Any:
            raise np.linalg.LinAlgError(f"not positive definite: {matrix}")

        monkeypatch.setattr(np.linalg, "cholesky", failing)
        curator = opened(ArraySource(ROWS), Grid(1.0), PureDP(1), "replace", SeededBits(0))
        with pytest.raises(
            EngineError, match=r"^a positive definite matrix must have a Cholesky factor, and had none\. Hint: "
        ):
            released(MECHANISMS["ridge"]["output-perturbation"], curator, PureDP(1), target=0, alpha=0.1)
        assert untouched(curator)

    def test_a_file_is_read_for_its_rows(self, tmp_path: Path) -> None:
        """n of a CSV file is known after a reading: the same release as from the array, but for what text loses."""
        path = tmp_path / "rows.csv"
        pd.DataFrame(ROWS, columns=["x0", "x1", "x2"]).to_csv(path, index=False)
        names = ["x0", "x1", "x2"]
        found = [dpcov.ridge(data, PureDP(1), "x1", alpha=0.1, row_norm=1, columns=names, seed=0) for data in (path, ROWS)]
        assert found[0].n == 3000
        assert np.array_equal(found[0].ridge().coefficients, found[1].ridge().coefficients)

    @pytest.mark.parametrize("rows", [1, 2999, 3001, 6000, 2**30])
    def test_another_number_of_rows(self, rows: int) -> None:
        """More rows than there are would mean less noise: n is compared with the source's own before anything is charged."""
        for source in (ArraySource(ROWS), NoSource(3000, 3)):
            curator = opened(source, Grid(1.0), ZCDP(1), "replace", SeededBits(0))
            asked = Solution(curator.public.second_moment(), rows, 0, Fraction(1, 10))
            with pytest.raises(
                ParameterError, match=r"question must be about this curator's rows, got something else\. Hint: "
            ):
                curator.noisy(asked, ZCDP(1), noise="gaussian")
            assert untouched(curator)
        own = opened(ArraySource(ROWS), Grid(1.0), ZCDP(1), "replace", SeededBits(0))
        own.noisy(Solution(own.public.second_moment(), 3000, 0, Fraction(1, 10)), ZCDP(1), noise="gaussian")
        assert len(charged(own)) == 1

    def test_add_remove_has_no_public_rows(self) -> None:
        curator = opened(NoSource(3000, 3), Grid(1.0), ZCDP(1), "add-remove", SeededBits(0))
        question = Solution(curator.public.second_moment(), 3000, 0, Fraction(1))
        with pytest.raises(ParameterError, match="question must be about this curator's rows"):
            curator.noisy(question, ZCDP(1), noise="gaussian")
        with pytest.raises(ParameterError, match="neighbors must be 'replace' for coefficients"):
            question.sensitivity_squared("add-remove")
        assert untouched(curator)

    @pytest.mark.parametrize("noise", ["wishart", "frobenius", "gaussian", "float"])
    def test_noise_that_does_not_serve_it(self, noise: str) -> None:
        curator = opened(NoSource(10, 3), Grid(1.0), PureDP(1), "replace", SeededBits(0))
        with pytest.raises(ParameterError, match="noise must"):
            curator.noisy(Solution(curator.public.second_moment(), 10, 0, Fraction(1)), PureDP(1), noise=noise)
        assert untouched(curator)


class TestTargets:
    @pytest.mark.parametrize("target", ["x9", "X0", "", -1, 3, True, None, 1.0, ["x0"], ("x0",), 10**30], ids=repr)
    def test_of_arrays(self, target: Any) -> None:
        with pytest.raises(ParameterError, match=r"target must .+, got .+\. Hint: "):
            dpcov.ridge(ROWS, PureDP(1), target, alpha=0.1, row_norm=1)

    @pytest.mark.parametrize("target", ["sex", "sex=F", "sex=M", 1, 2], ids=repr)
    def test_levels(self, target: Any) -> None:
        """A level counts 0 or 1, and its own column's others would be its features."""
        with pytest.raises(ParameterError, match=r"target must be (one feature|a column of numbers), got .+\. Hint: "):
            dpcov.ridge(people(3), PureDP(1), target, alpha=0.1, schema=SCHEMA)

    def test_names_and_positions(self) -> None:
        given: list[tuple[Any, int]] = [("x1", 1), (np.int64(2), 2), ("x0", 0)]
        for target, other in given:
            one, two = (dpcov.ridge(ROWS, PureDP(1), t, alpha=0.1, row_norm=1, seed=9201) for t in (target, other))
            assert one.options["target"] == two.options["target"] == other
            assert one.answers[0].integers.tobytes() == two.answers[0].integers.tobytes()
        chosen = dpcov.ridge(ROWS, PureDP(1), "x0", alpha=0.1, row_norm=1, columns=["x2", "x0"], seed=9201)
        assert (chosen.feature_names, chosen.options["target"]) == (("x2", "x0"), 1)
        assert chosen.ridge().feature_names == ("x2",)

    def test_empty_data(self) -> None:
        with pytest.raises(ParameterError, match=r"data must have 1 to 2\*\*30 rows, got 0\. Hint: "):
            dpcov.ridge(ROWS[:0], PureDP(1), 0, alpha=0.1, row_norm=1)
        with pytest.raises(ParameterError, match=r"data must have at least two columns, .+, got 1\. Hint: "):
            dpcov.ridge(ROWS[:, :1], PureDP(1), 0, alpha=0.1, row_norm=1)


@cache
def example(notion: int = 0) -> dpcov.Release:
    """3000 rows of norm 1, α = 1: finer steps than the coarsest, so that other sizes have others."""
    return dpcov.ridge(ROWS, NOTIONS[notion], "x1", alpha=1.0, row_norm=1, seed=9203)


class TestOtherUses:
    @pytest.mark.parametrize(
        "given",
        [
            {"target": "x0"},
            {"target": 2},
            {"alpha": 0.5},
            {"alpha": 0},
            {"features": ["x0"]},
            {"target": "x0", "features": ["x1", "x2"]},
        ],
        ids=str,
    )
    def test_another_model(self, given: dict[str, Any]) -> None:
        with pytest.raises(ReleaseError, match=r"release must hold the model you ask for, got only that of 'x1' .+ Hint: "):
            example().ridge(**given)

    @pytest.mark.parametrize("alpha", [None, "none", -1.0, float("nan")])
    def test_no_penalty_at_all(self, alpha: Any) -> None:
        with pytest.raises(ParameterError, match=r"alpha must be .+, got .+\. Hint: "):
            example().ridge(alpha=alpha)

    def test_an_array_for_alpha(self) -> None:
        with pytest.raises((ParameterError, ReleaseError), match=r" must .+, got .+\. Hint: "):
            example().ridge(alpha=np.array([0.5, 1.0]))  # type: ignore[arg-type]

    @pytest.mark.parametrize("given", [{}, {"target": "x1"}, {"target": 1, "alpha": 1.0}, {"features": [0, 2]}], ids=str)
    def test_the_model_itself(self, given: dict[str, Any]) -> None:
        found = example().ridge(**given)
        assert (found.target, found.feature_names, found.alpha, found.intercept) == ("x1", ("x0", "x2"), 1.0, 0.0)
        assert np.isfinite(found.predict(ROWS[:5, [0, 2]])).all()

    @pytest.mark.parametrize("name", ["covariance", "second_moment", "mean", "components", "explained", "encoded_covariance"])
    def test_what_it_does_not_hold(self, name: str) -> None:
        for release in (example(), parse(sealed(record_of(example())))):
            with pytest.raises(ReleaseError, match=r"release must .+, got .+\. Hint: .+\."):
                getattr(release, name)

    def test_what_cannot_be_made_of_it(self) -> None:
        calls: list[Callable[[], Any]] = [
            lambda: example().pca(),
            lambda: example().pca(1),
            lambda: dpcov.convergence(example()),
            lambda: example().confidence,
            lambda: example().expected_error,
        ]
        for call in calls:
            with pytest.raises(ReleaseError, match=r"release must .+, got .+\. Hint: .+\."):
                call()

    def test_the_record_says_what_it_is(self) -> None:
        assert repr(example()).startswith("<Release of a ridge: PureDP(epsilon=1), replace, output-perturbation, n=3000, d=3")
        assert "1-DP for replacing any one of the 3000 rows" in example().statement()
        assert (example().kind, example().requested) == ("ridge", "output-perturbation")


def test_messages_do_not_quote_the_data() -> None:
    rows = np.full((5, 3), SECRET)
    for bad in ({"alpha": 0}, {"target": "x9"}, {"alpha": 1e300}, {"row_norm": None}):
        given: dict[str, Any] = {"target": 0, "alpha": 0.1, "row_norm": 1} | bad
        with pytest.raises(ParameterError) as caught:
            dpcov.ridge(rows, PureDP(1), given.pop("target"), **given)
        assert "424242" not in str(caught.value)
