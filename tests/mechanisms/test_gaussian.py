"""The gaussian mechanism on chosen answers: what it asks, what it pays, and what it makes of the answers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcov import Release
from dpcov.kernel.budget import ZCDP, ApproxDP, compose
from dpcov.kernel.noise.laws import DiscreteGaussian
from dpcov.mechanisms.covariance.gaussian import GAUSSIAN
from dpcov.mechanisms.running import released
from dpcov.verify.testing import scripted

Matrix = NDArray[np.float64]
GRID = 16**16  # squared grid steps in one squared unit of the second moment
RHO = Fraction(1, 10)

# Rotations with no symmetry of their own: a transposed or permuted factor changes the result.
ROTATION_2 = np.array([[0.6, -0.8], [0.8, 0.6]])
ROTATION_3 = np.eye(3) - 2 * np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) / 14


def rotated(*eigenvalues: float) -> Matrix:
    rotation = {1: np.eye(1), 2: ROTATION_2, 3: ROTATION_3}[len(eigenvalues)]
    return np.asarray(rotation @ np.diag(eigenvalues) @ rotation.T)


def run(answers: list[Any], d: int, *, n: int = 10, row_norm: float = 1.0, **options: Any) -> Release:
    neighbors = options.pop("neighbors", "replace")
    curator = scripted(answers, n=n, d=d, budget=ZCDP(RHO), neighbors=neighbors, row_norm=row_norm)
    return released(GAUSSIAN, curator, ZCDP(RHO), **options)


def variances(release: Release, index: int = 0) -> dict[str, Fraction]:
    law = release.answers[index].law
    assert isinstance(law, DiscreteGaussian)
    return dict(law.variances)


class TestEstimate:
    @pytest.mark.parametrize("eigenvalues", [(0.7,), (0.7, 0.2), (0.5, 0.3, 0.1)])
    @pytest.mark.parametrize("row_norm", [1.0, 3.0])
    def test_a_feasible_answer_comes_back_in_the_datas_units(self, eigenvalues: tuple[float, ...], row_norm: float) -> None:
        truth = rotated(*eigenvalues)
        release = run([10 * truth], len(eigenvalues), row_norm=row_norm, postprocess="project")
        # The script is rounded to the grid: half a step of 2⁻³² before the division by n.
        assert np.allclose(release.second_moment, truth * row_norm**2, rtol=0, atol=2.0**-32 * row_norm**2)
        assert np.array_equal(release.covariance, release.second_moment)

    @pytest.mark.parametrize(
        ("postprocess", "expected"),
        [
            ("project", (0.75, 0.25, 0.0)),  # positive part 0.9 + 0.4 exceeds 1 by 0.3: both give 0.15
            ("clip", (0.9, 0.4, 0.0)),
            ("none", (0.9, 0.4, -0.3)),
        ],
    )
    def test_postprocessing_by_hand(self, postprocess: str | None, expected: tuple[float, ...]) -> None:
        release = run([10 * rotated(0.9, 0.4, -0.3)], 3, postprocess=postprocess)
        assert np.allclose(release.second_moment, rotated(*expected), rtol=0, atol=1e-9)

    def test_clip_cuts_at_the_public_bound_too(self) -> None:
        release = run([10 * rotated(1.6, 0.5, -0.3)], 3, postprocess="clip", row_norm=2.0)
        assert np.allclose(release.second_moment, rotated(4.0, 2.0, 0.0), rtol=0, atol=1e-8)

    def test_defaults(self) -> None:
        answer = [10 * rotated(0.9, 0.4, -0.3)]
        assert run(answer, 3).postprocess == "shrink"
        assert run(answer, 3, constants="paper").postprocess == "none"
        assert run(answer, 3, constants="program").postprocess == "clip"
        assert run(answer, 3, constants="paper", postprocess="clip").postprocess == "clip"
        assert run(answer, 3, constants="program").answers[0].law == run(answer, 3, constants="paper").answers[0].law
        assert run(answer, 3).options == {"clip": "none", "constants": "tight"}
        assert run(answer, 3, constants="paper").options == {"clip": "none", "constants": "paper"}

    def test_the_raw_answer_is_kept_whatever_the_postprocess(self) -> None:
        noisy = 10 * rotated(0.9, 0.4, -0.3)
        kept = [run([noisy], 3, postprocess=name).answers[0].integers.tolist() for name in ("project", "clip", "none")]
        assert kept[0] == kept[1] == kept[2]


class TestNoise:
    @pytest.mark.parametrize("d", [2, 3])
    def test_replace(self, d: int) -> None:
        release = run([np.eye(d)], d)
        assert variances(release) == {"diagonal": GRID / RHO, "off-diagonal": GRID / RHO / 2}

    def test_replace_in_one_column(self) -> None:
        # One row moves x² by at most 1, not √2: half the variance.
        assert variances(run([[[5.0]]], 1))["diagonal"] == GRID / RHO / 2

    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_add_remove(self, d: int) -> None:
        release = run([np.eye(d), 10], d, neighbors="add-remove")
        left = RHO * Fraction(2 * d + 1, 2 * d + 2)
        assert variances(release) == {"diagonal": GRID / (2 * left), "off-diagonal": GRID / (4 * left)}
        assert variances(release, 1) == {"count": (2 * d + 2) / (2 * RHO)}

    @pytest.mark.parametrize("d", [1, 3])
    def test_the_papers_constants_make_all_entries_equal(self, d: int) -> None:
        replace = run([np.eye(d)], d, constants="paper")
        assert variances(replace) == {"diagonal": GRID / RHO, "off-diagonal": GRID / RHO}
        add_remove = run([np.eye(d), 10], d, constants="paper", neighbors="add-remove")
        left = RHO * Fraction(2 * d + 1, 2 * d + 2)
        assert variances(add_remove) == {"diagonal": GRID / (2 * left), "off-diagonal": GRID / (2 * left)}


class TestSpending:
    def test_replace_asks_one_question_for_everything(self) -> None:
        release = run([np.eye(3)], 3)
        assert [(spend.asked, spend.budget) for spend in release.spent] == [("second moment", ZCDP(RHO))]
        assert [answer.question.name for answer in release.answers] == ["second moment"]
        assert release.n == 10

    @pytest.mark.parametrize("d", [1, 2, 3])
    def test_add_remove_asks_for_n_last(self, d: int) -> None:
        release = run([np.eye(d), 10], d, neighbors="add-remove")
        share = Fraction(1, 2 * d + 2)
        assert [(spend.asked, spend.budget) for spend in release.spent] == [
            ("second moment", ZCDP(RHO * (1 - share))),
            ("count", ZCDP(RHO * share)),
        ]
        assert [answer.question.name for answer in release.answers] == ["second moment", "count"]
        assert compose(*(spend.budget for spend in release.spent)) == release.privacy == ZCDP(RHO)

    @pytest.mark.parametrize(("count", "n"), [(20, 20), (7.4, 7), (1, 1), (0, 1), (-5, 1), (-1e9, 1)])
    def test_n_is_the_noisy_count_and_at_least_one(self, count: float, n: int) -> None:
        release = run([0.5 * np.eye(2), count], 2, n=999, neighbors="add-remove", postprocess="none")
        assert release.n == n
        assert release.second_moment.tolist() == (0.5 * np.eye(2) / n).tolist()

    def test_the_record_names_the_noise_and_the_source_of_bits(self) -> None:
        release = run([np.eye(2)], 2)
        assert [spend.noise for spend in release.spent] == ["discrete gaussian"]
        assert release.seeded  # scripted answers are not private
        assert (release.mechanism, release.kind, release.neighbors) == ("gaussian", "covariance", "replace")


class TestApproximate:
    PROMISE = ApproxDP(1, "1e-6")

    def test_one_answer_is_calibrated_analytically(self) -> None:
        """Balle and Wang's multiplier for ε = 1, δ = 10⁻⁶ is 4.2248; through zCDP it would be 4.62."""
        curator = scripted([np.eye(3)], n=10, d=3, budget=self.PROMISE)
        release = released(GAUSSIAN, curator, self.PROMISE)
        assert [spend.budget for spend in release.spent] == [self.PROMISE]
        sigma = float(variances(release)["diagonal"] / (2 * GRID)) ** 0.5  # over the sensitivity √2
        assert abs(sigma / 4.2248 - 1) < 1e-4
        assert variances(release)["off-diagonal"] == variances(release)["diagonal"] / 2

    def test_two_answers_go_through_zcdp(self) -> None:
        curator = scripted([np.eye(3), 10], n=10, d=3, budget=self.PROMISE, neighbors="add-remove")
        release = released(GAUSSIAN, curator, self.PROMISE)
        assert compose(*(spend.budget for spend in release.spent)) == self.PROMISE.to_zcdp()
        assert release.privacy == self.PROMISE
