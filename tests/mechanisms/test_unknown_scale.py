"""The mean where the covariance is not known: radii are chosen, centres follow, and the last sum gets all that is left."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov import Release
from dpcov.kernel.answer import Answer
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP, compose
from dpcov.kernel.questions.choices import Quantile
from dpcov.mechanisms.coinpress.mean import COINPRESS_MEAN
from dpcov.mechanisms.running import released
from dpcov.verify.testing import scripted
from tests.helpers.quiet import Floats, quiet_curator
from tests.mechanisms.test_coinpress import ROOT, ROWS, frame

NEIGHBORS = ["replace", "add-remove"]
BUDGETS: list[Budget] = [ZCDP("0.5"), PureDP(1), ApproxDP(1, "1e-6")]
HALF = BUDGETS[0]
FAR = np.array([300.0, -200.0, 100.0, 50.0])
RADIUS = 1000.0


def quiet(rows: Floats = ROWS, budget: Budget = HALF, *, radius: float = RADIUS, **options: Any) -> Release:
    neighbors = options.pop("neighbors", "replace")
    return released(COINPRESS_MEAN, quiet_curator(rows, budget, row_norm=radius, neighbors=neighbors), budget, **options)


def asked(release: Release) -> list[str]:
    return [spend.asked for spend in release.spent]


def radius_of(answer: Answer, farthest: float) -> float:
    """Return the radius of a choice: 2^{−k/q} of the farthest."""
    assert isinstance(answer.question, Quantile)
    place = answer.question.place(int(answer.integers[0]))
    return float(farthest * 2.0 ** (-place / answer.question.norms.per_octave))


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.notion)
class TestSpending:
    @pytest.mark.parametrize("radius", [400.0, 1e4, 1e6])
    def test_exactly_the_budget(self, budget: Budget, neighbors: str, radius: float) -> None:
        """However many rounds private answers make it take: a radius before each sum, perhaps one more before the last."""
        release = quiet(ROWS + FAR, budget, neighbors=neighbors, radius=radius)
        whole = budget.to_zcdp() if isinstance(budget, ApproxDP) else budget
        assert compose(*(spend.budget for spend in release.spent)) == whole
        names = asked(release)
        assert names[: names.index("radius")] == ["count"] * (neighbors == "add-remove")
        assert names[-2:] == ["radius", "sum"]
        assert all("radius" in pair for pair in itertools.pairwise(names[names.index("radius") :]))
        assert release.notes["rounds"] == names.count("sum")
        assert release.options["covariance"] is None
        assert release.spent[-1].budget.amounts()[0] > 0.3 * whole.amounts()[0]

    @pytest.mark.parametrize("rounds", [1, 2, 3])
    def test_rounds_are_at_most_those_asked_for(self, budget: Budget, neighbors: str, rounds: int) -> None:
        release = quiet(ROWS + FAR, budget, neighbors=neighbors, rounds=rounds)
        assert 1 <= asked(release).count("sum") <= rounds
        whole = budget.to_zcdp() if isinstance(budget, ApproxDP) else budget
        assert compose(*(spend.budget for spend in release.spent)) == whole


class TestRounds:
    def test_each_sum_is_clipped_at_the_radius_that_was_chosen(self) -> None:
        """And taken around the centre that the radius was about, which is where the sum before it put the mean."""
        release = quiet(ROWS + FAR)
        centre, chosen = np.zeros(4), math.inf
        for answer in release.answers:
            assert np.allclose(frame(answer).centre, centre, rtol=0, atol=1e-9)
            extent = float(frame(answer).extent)
            if answer.question.name == "radius":
                assert extent == pytest.approx(4 * RADIUS)
                chosen = radius_of(answer, extent)
            else:
                assert extent == pytest.approx(chosen, rel=1e-12)
                centre = centre + extent * answer.values / release.n
        assert asked(release).count("sum") > 1
        assert np.linalg.norm(centre - FAR) < 10

    def test_without_noise_it_is_the_mean_of_clipped_rows(self) -> None:
        """By the formula, in floats; and it is close to the mean: the origin is two hundred deviations away."""
        rows = ROWS + FAR
        release = quiet(rows, postprocess="none")
        where = frame(release.answers[-1])
        away = rows - where.centre
        away *= np.minimum(1.0, float(where.extent) / np.linalg.norm(away, axis=1, keepdims=True))
        assert np.allclose(release.mean, where.centre + away.mean(axis=0), rtol=0, atol=1e-3)
        assert np.linalg.norm(np.linalg.solve(ROOT, release.mean - rows.mean(axis=0))) < 0.1
        outside = np.mean(np.linalg.norm(rows - where.centre, axis=1) > float(where.extent))
        assert 0.0001 < outside < 0.05

    def test_a_mean_that_is_not_believed_is_drawn_to_its_centre(self) -> None:
        """strength = b²/(b² + noise²) times the last step; "none" is the raw one."""
        release = quiet(ROWS[:60] + FAR, PureDP("0.5"))
        strength = release.note("strength", 0.0, 1.0)
        assert 0 < strength < 0.99
        last = release.answers[-1]
        step = float(frame(last).extent) * last.values / release.n
        assert np.allclose(release.mean, frame(last).centre + strength * step, rtol=1e-9, atol=1e-9)
        raw = quiet(ROWS[:60] + FAR, PureDP("0.5"), postprocess="none")
        assert np.allclose(raw.mean, frame(last).centre + step, rtol=1e-9, atol=1e-9)

    def test_units_do_not_matter(self) -> None:
        """A power of two times everything: the same integers are asked for and answered."""
        one = quiet(ROWS + FAR)
        for factor in (2.0**-300, 2.0**20, 2.0**300):
            other = quiet((ROWS + FAR) * factor, radius=RADIUS * factor)
            assert asked(one) == asked(other)
            assert all(np.array_equal(a.integers, b.integers) for a, b in zip(one.answers, other.answers, strict=True))
            assert np.allclose(one.mean * factor, other.mean, rtol=1e-12, atol=0)

    def test_a_noisy_number_of_rows_is_the_one_that_counts(self) -> None:
        """Scripted: 500 for a thousand rows. Half of 500 lie outside the median radius, and sums are over 500."""
        counts = [0] * 20 + [250, 0, 250] + [0] * 30
        fine = [0] * 100 + [500] + [0] * 108
        answers: list[Any] = [500.0, counts, np.array([100.0, 0.0]), counts, np.zeros(2), *[fine, np.zeros(2)] * 10]
        curator = scripted(answers, n=1000, d=2, budget=HALF, neighbors="add-remove", row_norm=RADIUS)
        release = released(COINPRESS_MEAN, curator, HALF, rounds=2)
        assert release.n == 500
        chosen, told = release.answers[1], release.answers[2]
        assert isinstance(chosen.question, Quantile)
        assert (chosen.question.norms.per_octave, chosen.question.rows) == (2, 250)
        assert told.question.name == "sum"
        following = frame(release.answers[3])
        assert np.allclose(following.centre, [float(frame(told).extent) * 100 / 500, 0.0], rtol=1e-3, atol=1e-3)


class TestWildRows:
    @pytest.mark.parametrize("value", [1e6, -1e12, 1e308, np.inf, np.nan])
    def test_a_few_outliers_move_it_little(self, value: float) -> None:
        """Ten rows of 4000, wherever they are: by at most ten clipped rows, and what they change of the radius."""
        rows = ROWS + FAR
        wild = rows.copy()
        wild[:10] = value
        away = quiet(wild).mean - quiet(rows).mean
        assert np.linalg.norm(np.linalg.solve(ROOT, away)) < 0.2

    @pytest.mark.parametrize("spread", [0.0, 1e-12, 1e-3])
    def test_rows_that_hardly_vary(self, spread: float) -> None:
        """Noise follows the rows' own spread, or a public fraction of the radius where there is none."""
        rows = FAR + spread * ROWS
        errors = [np.linalg.norm(dpcov.mean(rows, HALF, radius=RADIUS, seed=seed).mean - FAR) for seed in range(5)]
        assert max(errors) < 1e-2 + spread

    def test_few_rows_say_little_and_nothing_breaks(self) -> None:
        for n in (2, 3, 10, 30):
            release = dpcov.mean(ROWS[:n], PureDP("0.1"), radius=RADIUS, seed=5)
            assert np.isfinite(release.mean).all()
            assert np.linalg.norm(release.mean) <= RADIUS * (1 + 1e-12)


def test_a_seed_gives_the_same_release() -> None:
    one, same, other = (dpcov.mean(ROWS + FAR, HALF, radius=RADIUS, seed=seed) for seed in (1, 1, 2))
    assert one.mean.tobytes() == same.mean.tobytes() != other.mean.tobytes()
    assert math.isfinite(one.expected_error)
