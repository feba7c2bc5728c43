"""rescaled: what it asks and pays on each of its paths, and that the estimate is the denoised matrix times its scale."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov import Release
from dpcov.errors import ParameterError
from dpcov.kernel.answer import Answer
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP, compose, pays_for
from dpcov.kernel.questions.choices import Quantile
from dpcov.kernel.questions.measure import Question
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.questions.overlap import Overlap
from dpcov.linalg import unpack
from dpcov.mechanisms.covariance.auto import AUTO
from dpcov.mechanisms.covariance.rescaled import RESCALED
from dpcov.mechanisms.running import released
from dpcov.mechanisms.shared.matrix_noise import best_noise
from dpcov.spectra import cautious_spectrum
from dpcov.verify.testing import scripted
from tests.helpers.quiet import QuietSampler, quiet_curator, radii, skewed
from tests.mechanisms.test_gaussian import ROTATION_3, rotated

NEIGHBORS = ["replace", "add-remove"]
BUDGETS: list[Budget] = [ZCDP("0.1"), PureDP(1), ApproxDP(1, "1e-6"), ApproxDP(8, "1e-6")]
LARGE = ZCDP(10**6)  # denoising changes next to nothing
MANY = 10_000
ROWS = skewed(6000, 3, 61)


def bins(place: int, rows: int = MANY) -> list[int]:
    """Return counts that make 2^{−place/16} the best radius: no row is longer, all are just shorter."""
    return [rows if k == place else 0 for k in range(161)]


def run(
    answers: list[Any], d: int = 3, budget: Budget = LARGE, *, n: int = MANY, row_norm: float = 1.0, **options: Any
) -> Release:
    neighbors = options.pop("neighbors", "replace")
    curator = scripted(answers, n=n, d=d, budget=budget, neighbors=neighbors, row_norm=row_norm)
    return released(RESCALED, curator, budget, **options)


def asked(release: Release) -> list[str]:
    return [spend.asked for spend in release.spent]


def answer(release: Release, name: str) -> Answer:
    kinds: dict[str, type[Question]] = {"radius": Quantile, "second moment": SecondMoment, "overlap": Overlap}
    return release.take(kinds[name])


def outside(release: Release) -> int:
    """Return how many rows were to lie outside the radius."""
    question = answer(release, "radius").question
    assert isinstance(question, Quantile)
    return question.rows


def total(release: Release) -> Budget:
    return compose(*(spend.budget for spend in release.spent))


def whole_of(budget: Budget, spent: Release) -> Budget:
    """Return the budget in the notion that was chosen for it: of (ε, δ) it is ε, or ρ where that gives less noise."""
    if isinstance(budget, ApproxDP):
        return PureDP(budget.epsilon) if isinstance(spent.spent[0].budget, PureDP) else budget.to_zcdp()
    return budget


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
class TestSpending:
    @pytest.mark.parametrize("options", [{}, {"robust": True}, {"numerics": "exact"}], ids=str)
    def test_everything(self, budget: Budget, neighbors: str, options: dict[str, Any]) -> None:
        """A radius, a matrix, a number, n before them; together exactly the budget."""
        release = released(RESCALED, quiet_curator(ROWS, budget, neighbors=neighbors), budget, **options)
        assert asked(release) == ["count"] * (neighbors == "add-remove") + ["radius", "second moment", "overlap"]
        assert total(release) == whole_of(budget, release)
        assert release.options == {"robust": False, "numerics": "rounded"} | options
        assert (release.mechanism, release.postprocess, release.privacy) == ("rescaled", "shrink", budget)

    def test_nothing_lies_between_the_radii(self, budget: Budget, neighbors: str) -> None:
        """The largest radius: all that is left for the matrix, and no scale to ask for."""
        release = run([MANY] * (neighbors == "add-remove") + [bins(0), np.eye(3)], 3, budget, neighbors=neighbors)
        assert asked(release)[-2:] == ["radius", "second moment"]
        assert total(release) == whole_of(budget, release)
        assert radii(answer(release, "second moment")) == (1.0,)

    def test_one_column(self, budget: Budget, neighbors: str) -> None:
        """A scale is all there is: the matrix has it."""
        release = run([MANY] * (neighbors == "add-remove") + [bins(64), [[500.0]]], 1, budget, neighbors=neighbors)
        assert asked(release)[-2:] == ["radius", "second moment"]
        assert total(release) == whole_of(budget, release)
        assert radii(answer(release, "second moment")) == (0.25,)  # four times the radius 1/16

    def test_an_estimate_of_zero_has_no_scale(self, budget: Budget, neighbors: str) -> None:
        release = run([MANY] * (neighbors == "add-remove") + [bins(48), -np.eye(3)], 3, budget, neighbors=neighbors)
        assert asked(release)[-2:] == ["radius", "second moment"]
        assert not release.second_moment.any()
        assert pays_for(budget, [spend.budget for spend in release.spent])

    def test_too_few_rows(self, budget: Budget, neighbors: str) -> None:
        """Nothing is asked but n where it is private, and the estimate is zero."""
        small = type(budget)(*(amount / 10**4 if place == 0 else amount for place, amount in enumerate(budget.amounts())))
        release = run([5.0], 3, small, n=5, neighbors=neighbors)
        assert asked(release) == ["count"] * (neighbors == "add-remove")
        assert release.second_moment.tolist() == np.zeros((3, 3)).tolist()
        assert not release.spent or total(release).amounts()[0] < small.amounts()[0] / 2


class TestHope:
    @pytest.mark.parametrize(("n", "hope"), [(12, False), (13, True)])
    def test_the_public_number_of_rows_decides(self, n: int, hope: bool) -> None:
        """2.2 standard deviations times √d: 2.2·√(1/(2·0.1))·√6 = 12.05 for six columns."""
        release = run([bins(0, n), np.eye(6)], 6, ZCDP("0.1"), n=n)
        assert bool(release.spent) is hope

    def test_a_noisy_number_of_rows_decides(self) -> None:
        """Scripted far from the truth: the truth must not matter."""
        for count, n, hope in ((3, MANY, False), (MANY, 3, True)):
            release = run([count, bins(0), np.eye(3)], 3, ZCDP("0.1"), n=n, neighbors="add-remove")
            assert (len(release.spent) > 1) is hope
            assert release.n == count


class TestEstimate:
    @pytest.mark.parametrize("row_norm", [1.0, 3.0])
    def test_the_denoised_matrix_times_its_scale(self, row_norm: float) -> None:
        """Ŝ·(1 + p·λ_max/‖Ŝ‖²): τ = 2^{−3/2}, u = √7·τ; p is answered in units of u², the matrix in units of τ²."""
        matrix, p = MANY * rotated(0.5, 0.3, 0.1), 2000.0
        release = run([bins(24), matrix, p], row_norm=row_norm)
        inner, outer = row_norm * 2**-1.5, row_norm * 2**-1.5 * math.sqrt(7)
        assert radii(answer(release, "second moment")) == pytest.approx((inner,), rel=1e-15)
        assert radii(answer(release, "overlap")) == pytest.approx((inner, outer), rel=1e-14)
        scale = 1 + p / MANY * 7 * 0.5 / (0.5**2 + 0.3**2 + 0.1**2)
        assert np.allclose(release.second_moment, rotated(0.5, 0.3, 0.1) * scale * inner**2, rtol=0, atol=2e-4 * row_norm**2)

    def test_under_noise_it_is_the_denoised_matrix_that_is_stretched(self) -> None:
        """Exactly, at a budget where denoising moves every eigenvalue; by its own formula, on the answers of the release."""
        release = run([bins(24), MANY * rotated(0.5, 0.01, 0.002), 2000.0], budget=ZCDP("0.001"))
        moment = answer(release, "second moment")
        values, vectors = np.linalg.eigh(unpack(moment.values, 3) / MANY)
        clean = cautious_spectrum(values, moment.law.spread().scaled(2.0**-32 / MANY), 1.0)
        assert np.abs(clean - values).max() > 1e-3
        clean = clean * (1 + 2000 / MANY * 7 * clean[-1] / np.sum(clean**2))
        assert np.allclose(release.second_moment, (vectors * clean) @ vectors.T / 8, rtol=0, atol=1e-12)

    @pytest.mark.parametrize(("p", "lost"), [(-500.0, 0.0), (2 * MANY, 6.0)])
    def test_the_scale_stays_possible(self, p: float, lost: float) -> None:
        """Between nothing and all that rows between the radii could hold; and the trace within row_norm²."""
        release = run([bins(24), MANY * rotated(0.06, 0.03, 0.01), p])
        scale = 1 + lost * 0.06 / (0.06**2 + 0.03**2 + 0.01**2)
        expected = min(scale * 0.1 / 8, 1.0)
        assert np.trace(release.second_moment) == pytest.approx(expected, rel=2e-3)

    def test_an_unlucky_radius_gives_zero(self) -> None:
        """Each row outside adds 1 to the trace: 55/√ρ of them should be there, and a trace of 100 says that they are not."""
        release = run([bins(0), 100 * rotated(0.8, 0.1, 0.1)], budget=ZCDP("0.01"))
        assert outside(release) > 200
        assert not release.second_moment.any()

    def test_none_is_the_raw_matrix_with_the_same_scale(self) -> None:
        raw = run([bins(24), MANY * rotated(0.5, 0.3, -0.1), 2000.0], postprocess="none")
        scale = float(raw.second_moment[0, 0] / (rotated(0.5, 0.3, -0.1)[0, 0] / 8))
        assert scale > 1.5
        assert np.allclose(raw.second_moment, scale * rotated(0.5, 0.3, -0.1) / 8, rtol=0, atol=1e-9)
        usual = raw.finished("shrink").second_moment
        assert np.linalg.eigvalsh(usual)[-1] == pytest.approx(scale * 0.5 / 8, rel=1e-3)  # the largest is not shrunk

    def test_without_noise_the_number_is_what_clipping_took_along_the_estimate(self) -> None:
        """Σ (min(‖x‖, u)² − τ²)₊·x̂ᵀQx̂, Q = Ŝ/λ_max, in floats: a transposed or permuted basis is off by 10 % and more."""
        for budget in BUDGETS:
            sampler = QuietSampler()
            release = released(RESCALED, quiet_curator(ROWS, budget, sampler=sampler), budget)
            overlap = sampler.asked[-1]
            assert isinstance(overlap, Overlap)
            basis, along_basis = overlap.basis.columns, np.array(overlap.weights)
            inner, outer = radii(answer(release, "overlap"))
            norms = np.linalg.norm(ROWS, axis=1)
            lengths = np.maximum(np.minimum(norms, outer) ** 2 - inner**2, 0.0)
            public = (basis * along_basis) @ basis.T
            along = np.einsum("ij,jk,ik->i", ROWS, public, ROWS) / norms**2
            expected = float(lengths @ along)
            found = float(answer(release, "overlap").values[0]) * outer**2
            assert found == pytest.approx(expected, rel=1e-3)
            swapped = (basis.T * along_basis) @ basis
            wrong = lengths @ (np.einsum("ij,jk,ik->i", ROWS, swapped, ROWS) / norms**2)
            assert abs(wrong / expected - 1) > 0.1

    def test_without_noise_it_is_close_to_the_truth(self) -> None:
        """Clipped at τ alone it would lose a fifth of the trace and more."""
        truth = ROWS.T @ ROWS / len(ROWS)
        release = released(RESCALED, quiet_curator(ROWS, ZCDP("0.01")), ZCDP("0.01"))
        assert np.linalg.norm(release.second_moment - truth) < 0.12 * np.linalg.norm(truth)
        clipped = dataclasses.replace(release, answers=release.answers[:-1])  # without the number
        assert np.trace(clipped.second_moment) < 0.8 * np.trace(truth)


class TestRobust:
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize("d", [1, 2, 3, 10, 40])
    @pytest.mark.parametrize("budget", BUDGETS[:2], ids=str)
    def test_it_clips_less(self, budget: Budget, d: int, neighbors: str) -> None:
        rows = []
        for robust in (False, True):
            answers = [MANY] * (neighbors == "add-remove") + [bins(0), np.eye(d)]
            release = run(answers, d, budget, neighbors=neighbors, robust=robust)
            rows.append(outside(release))
        assert rows[1] <= rows[0]

    def test_it_keeps_a_long_minority(self) -> None:
        """Rows of norm 1 at right angles to the others, fewer than are clipped by default: of their direction more is kept."""
        rows = np.zeros((6000, 2))
        rows[:, 0] = 0.05
        rows[:28] = [0.0, 1.0]
        plain, robust = (released(RESCALED, quiet_curator(rows, ZCDP(1)), ZCDP(1), robust=option) for option in (False, True))
        assert robust.second_moment[1, 1] > 2 * plain.second_moment[1, 1]


class TestSplit:
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize("budget", BUDGETS[:2], ids=str)
    def test_shares_are_what_is_left(self, budget: Budget, neighbors: str) -> None:
        """Never more than is left, and none negative, whatever the radii."""
        noise = best_noise(scripted([], n=MANY, d=3, budget=budget, neighbors=neighbors).public, budget, "rounded")
        assert noise is not None
        for left in (Fraction(99, 100), Fraction(1, 2), Fraction(1, 10)):
            for inner, outer in ((1e-3, 1.0), (0.1, 0.2), (0.5, 0.5000001), (1.0, 1.0)):
                scale = noise.scale_share(outer / inner, left)
                assert 0 <= scale < left
                assert (scale == 0) == (inner == outer)

    def test_the_balance(self) -> None:
        """zCDP: the ratio of the errors, Δ·h over 0.85·c₀τ²; pure: to the power ⅔. Shares are whole thousandths."""
        for budget, power in ((ZCDP("0.1"), 1.0), (PureDP(1), 2 / 3)):
            noise = best_noise(scripted([], n=MANY, d=3, budget=budget).public, budget, "rounded")
            assert noise is not None
            left = Fraction(9, 10)
            scale = noise.scale_share(3.0, left)
            number = 1 / math.sqrt(2 * 0.1) if power == 1 else math.sqrt(2)
            expected = ((9 - 1) * number / (0.85 * noise.error)) ** power
            assert float(scale / (left - scale)) == pytest.approx(expected, rel=0.02)


class TestAuto:
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize("budget", BUDGETS, ids=str)
    @pytest.mark.parametrize("options", [{}, {"postprocess": "none"}, {"robust": True, "numerics": "exact"}], ids=str)
    def test_it_is_rescaled(self, budget: Budget, neighbors: str, options: dict[str, Any]) -> None:
        chosen, same = (
            released(named, quiet_curator(ROWS, budget, neighbors=neighbors), budget, **options) for named in (AUTO, RESCALED)
        )
        assert (chosen.mechanism, chosen.requested) == ("rescaled", "auto")
        assert (chosen.spent, chosen.options) == (same.spent, same.options)
        assert chosen.second_moment.tobytes() == same.second_moment.tobytes()

    @pytest.mark.parametrize("options", [{"center": True}, {"postprocess": "project"}, {"postprocess": "clip"}], ids=str)
    def test_unless_it_does_not_fit(self, options: dict[str, Any]) -> None:
        release = dpcov.covariance(ROWS, ZCDP(1), row_norm=1, seed=62, **options)
        assert (release.mechanism, release.requested, asked(release)) == ("gaussian", "auto", ["radius", "second moment"])
        assert release.options["clip"] == "private"

    def test_nor_for_a_stream(self) -> None:
        import pyarrow as pa

        reader = pa.table({"a": ROWS[:, 0], "b": ROWS[:, 1]}).to_reader()
        release = dpcov.covariance(reader, ZCDP(1), row_norm=1, seed=63)
        assert (release.mechanism, release.requested, release.options["clip"]) == ("gaussian", "auto", "none")

    @pytest.mark.parametrize("options", [{"center": True}, {"postprocess": "clip"}], ids=str)
    def test_robust_is_refused_where_it_means_nothing(self, options: dict[str, Any]) -> None:
        with pytest.raises(ParameterError, match="robust must be False"):
            dpcov.covariance(ROWS, ZCDP(1), row_norm=1, robust=True, **options)


def test_rotations_of_these_tests_are_no_symmetries() -> None:
    """Otherwise a transposed factor could not be seen."""
    basis = np.linalg.eigh(ROWS.T @ ROWS)[1]
    assert np.abs(basis - basis.T).max() > 0.1
    assert np.abs(ROTATION_3 @ np.diag([3, 2, 1]) @ ROTATION_3.T - np.diag([3, 2, 1])).max() > 0.1
