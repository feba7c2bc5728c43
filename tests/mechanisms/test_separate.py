"""separate and the option clip: what is asked and paid for, and what becomes of an indefinite noisy matrix."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov import Release
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP, compose
from dpcov.kernel.questions.along import Diagonal
from dpcov.kernel.questions.choices import Quantile
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.covariance.separate import SEPARATE
from dpcov.mechanisms.running import released
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import scripted
from tests.helpers.quiet import quiet_curator, radii, skewed
from tests.mechanisms.test_gaussian import ROTATION_3, rotated

NEIGHBORS = ["replace", "add-remove"]
BUDGETS: list[Budget] = [ZCDP("0.1"), PureDP(1), ApproxDP(1, "1e-6")]
ROWS = skewed(3000, 3, 41)


def run(answers: list[Any], d: int, budget: Budget = BUDGETS[0], *, n: int = 10, **options: Any) -> Release:
    neighbors = options.pop("neighbors", "replace")
    curator = scripted(answers, n=n, d=d, budget=budget, neighbors=neighbors)
    return released(SEPARATE, curator, budget, **options)


def of_rho(budget: Budget) -> PureDP | ZCDP:
    return budget.to_zcdp() if isinstance(budget, ApproxDP) else budget


def served(name: str) -> list[Budget]:
    notions = {"gaussian": (ZCDP, ApproxDP), "projection": (ZCDP, ApproxDP), "separate": (ZCDP, PureDP, ApproxDP)}
    return [budget for budget in BUDGETS if isinstance(budget, notions.get(name, (PureDP, ApproxDP)))]


class TestEstimate:
    def test_values_stand_on_the_eigenvectors_of_the_noisy_matrix(self) -> None:
        """V diag(VᵀSV) Vᵀ, V of S plus indefinite noise: a transposed V, or one of S, is off by 0.05 and more."""
        noise = len(ROWS) * rotated(0.05, -0.1, 0.01)
        for budget in (ZCDP(1), PureDP(1000)):
            curator = quiet_curator(ROWS, budget, noise=noise)
            release = released(SEPARATE, curator, budget, postprocess="none")
            moment = ROWS.T @ ROWS
            values, basis = np.linalg.eigh(moment + noise)
            assert values[0] < 0 < values[1]
            expected = (basis * np.einsum("ij,ij->j", basis, moment @ basis)) @ basis.T
            assert np.allclose(release.second_moment, expected / len(ROWS), rtol=0, atol=1e-4)
            assert not np.allclose(release.second_moment, moment / len(ROWS), rtol=0, atol=2e-3)

    def test_the_largest_eigenvalue_goes_to_the_largest_one_of_an_indefinite_matrix(self) -> None:
        """An SVD sorts by absolute values: it would put 6 on the direction of −9."""
        noisy = ROTATION_3 @ np.diag([-9.0, 1.0, 5.0]) @ ROTATION_3.T
        release = run([noisy, [6, 3, 1]], 3, constants="paper", postprocess="none")
        expected = ROTATION_3 @ np.diag([1.0, 3.0, 6.0]) @ ROTATION_3.T
        assert np.allclose(release.second_moment, expected / 10, rtol=0, atol=1e-6)

    def test_a_tie_of_opposite_signs_is_no_tie(self) -> None:
        """Eigenvalues 4 and −4 have one singular value, for which any two directions would do."""
        release = run([4 * rotated(1, -1), [5, 2]], 2, postprocess="none")
        assert np.allclose(release.second_moment, rotated(0.5, 0.2), rtol=0, atol=1e-6)

    @pytest.mark.parametrize(
        ("postprocess", "expected"),
        [("project", (0.75, 0.25, 0.0)), ("clip", (0.9, 0.4, 0.0)), ("none", (0.9, 0.4, -0.3))],
    )
    def test_postprocessing_by_hand(self, postprocess: str, expected: tuple[float, ...]) -> None:
        release = run([10 * rotated(3, 2, 1), [9, 4, -3]], 3, postprocess=postprocess)
        assert np.allclose(release.second_moment, rotated(*expected), rtol=0, atol=1e-6)

    def test_defaults(self) -> None:
        answers = [10 * rotated(3, 2, 1), [9, 4, -3]]
        assert run(answers, 3).postprocess == "project"
        assert run(answers, 3, constants="paper").postprocess == "none"
        assert run(answers, 3, constants="program").postprocess == "clip"
        assert run(answers, 3).options == {"clip": "none", "constants": "tight"}


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.notion)
class TestSpending:
    @pytest.mark.parametrize("constants", ["tight", "paper", "program"])
    def test_halves(self, budget: Budget, neighbors: str, constants: str) -> None:
        """Half and half of what the count leaves; together exactly the budget, (ε, δ) by way of ρ."""
        answers = [np.eye(3), [3, 2, 1], 10]
        release = run(answers, 3, budget, neighbors=neighbors, constants=constants)
        whole = of_rho(budget)
        count = Fraction(0)
        if neighbors == "add-remove":
            count = Fraction(4, 23) if isinstance(whole, PureDP) else Fraction(1, 8)
        half = whole.share((1 - count) / 2)
        values = "diagonal in a basis" if constants == "tight" else "spectrum"
        expected = [("second moment", half), (values, half)] + ([("count", whole.share(count))] if count else [])
        assert [(spend.asked, spend.budget) for spend in release.spent] == expected
        assert compose(*(spend.budget for spend in release.spent)) == whole
        matrix = (
            "discrete gaussian" if isinstance(whole, ZCDP) else ("wishart difference", "discrete laplace")[constants != "tight"]
        )
        assert release.spent[0].noise == matrix
        assert release.spent[1].noise == ("discrete gaussian" if isinstance(whole, ZCDP) else "discrete laplace")

    def test_a_private_radius_comes_first_and_leaves_the_rest(self, budget: Budget, neighbors: str) -> None:
        curator = quiet_curator(ROWS, budget, neighbors=neighbors)
        release = released(SEPARATE, curator, budget, clip="private")
        asked = [spend.asked for spend in release.spent]
        assert asked == ["radius", "second moment", "diagonal in a basis"] + ["count"] * (neighbors == "add-remove")
        assert compose(*(spend.budget for spend in release.spent)) == of_rho(budget)
        moment, along = release.take(SecondMoment), release.take(Diagonal)
        assert radii(moment) == radii(along) == (release.clip_radius,)
        assert 0 < release.clip_radius < 1


CLIPPING = ("gaussian", "wishart", "laplace", "frobenius", "separate", "projection")
CASES = [(name, budget) for name in CLIPPING for budget in served(name)]


class TestClip:
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize(("name", "budget"), CASES, ids=str)
    def test_a_public_radius_is_a_smaller_row_norm(self, name: str, budget: Budget, neighbors: str) -> None:
        """The same integers, noise and all, and the same estimate: clipping at τ with noise for another radius would differ."""
        options: dict[str, Any] = {"mechanism": name, "neighbors": neighbors, "seed": 42}
        clipped = dpcov.covariance(ROWS, budget, row_norm=2.5, clip=0.15, **options)
        small = dpcov.covariance(ROWS, budget, row_norm=0.15, **options)
        for one, other in zip(clipped.answers, small.answers, strict=True):
            assert one.integers.tolist() == other.integers.tolist()
            assert one.laws == other.laws
        assert clipped.spent == small.spent
        assert clipped.second_moment.tobytes() == small.second_moment.tobytes()
        assert clipped.clip_radius == 0.15
        assert clipped.options["clip"] == 0.15
        assert clipped.expected_error * 2.5**2 == pytest.approx(small.expected_error * 0.15**2, rel=1e-12)

    @pytest.mark.parametrize("center", [False, True])
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize(("name", "budget"), CASES, ids=str)
    def test_a_private_radius_clips_there(self, name: str, budget: Budget, neighbors: str, center: bool) -> None:
        """Without noise the integers are those of rows clipped at the chosen radius, of which M are longer, to within a bin."""
        curator = quiet_curator(ROWS, budget, neighbors=neighbors, center=center)
        release = released(MECHANISMS["covariance"][name], curator, budget, clip="private")
        chosen, moment = release.take(Quantile), release.take(SecondMoment)
        assert isinstance(chosen.question, Quantile)
        tau = 2.0 ** (-chosen.question.place(int(chosen.integers[0])) / chosen.question.norms.per_octave)
        rows = chosen.question.rows
        assert radii(moment) == pytest.approx((tau,), rel=1e-15)
        norms = np.linalg.norm(ROWS, axis=1)
        coarsest = 2.0 ** (-8 / 16)
        assert np.sum(norms > tau) <= rows <= np.sum(norms > tau * coarsest)
        exact = ArraySource(ROWS).total(curator.public.second_moment(tau))
        assert np.array_equal(moment.integers, moment.law.settle(exact))
        assert compose(*(spend.budget for spend in release.spent)) == (
            PureDP(1) if release.mechanism in ("wishart", "laplace", "frobenius") else of_rho(budget)
        )
