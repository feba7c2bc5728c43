"""standardized: the deviation by which a noisy column is measured, and means that know what weights and ranges may take."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import dpcov
from dpcov.kernel.budget import ZCDP, Budget, PureDP
from dpcov.mechanisms.standardized.columns import NumericColumn
from dpcov.mechanisms.standardized.means import asked_apart, asked_variances, mean_of
from dpcov.mechanisms.standardized.units import ABOUT, likely_variance, usual_variance
from dpcov.schema import Categorical, Numeric, Schema
from dpcov.uses.unit_intervals import unit_means
from dpcov.uses.weights import cut_by_ranges, lost_by_weights

Floats = NDArray[np.float64]


class TestDeviations:
    """A variance that noise may have made is weighed against what a range usually holds."""

    @staticmethod
    def column(variance: float, noise: float, **known: Any) -> NumericColumn:
        """Return a column whose range is an eighth of its bounds."""
        within: dict[str, Any] = {"asked": True, "outside": 0.01, "whole": (0.0, 1.0)} | known
        return NumericColumn(0, 128, 1024, variance=variance, noise=noise, **within)

    def test_what_is_usual_is_what_normal_columns_have(self) -> None:
        """A hundredth outside 2.58 deviations: an interval of that half width, or up to twice it, and a range of twice that."""
        half = 128 / 1024
        assert usual_variance(self.column(0.0, 1.0)) == pytest.approx(half**2 / (2 * 5.152 * 5.152), rel=1e-3)
        quarter = usual_variance(self.column(0.0, 1.0, outside=0.25))
        assert quarter == pytest.approx(half**2 / (2 * 2.3007**2), rel=1e-3)
        assert usual_variance(self.column(0.0, 1.0, outside=1.0)) == pytest.approx(half**2 / 9)

    def test_a_variance_that_is_sure_is_taken(self) -> None:
        assert likely_variance(self.column(1e-4, 4e-6)) == 1e-4
        assert likely_variance(self.column(1e-4, 6e-6)) == pytest.approx(1e-4, rel=0.02)

    def test_noise_alone_says_nothing(self) -> None:
        usual = usual_variance(self.column(0.0, 1.0))
        assert likely_variance(self.column(0.0, 1e3)) == pytest.approx(usual, rel=5e-3)
        assert likely_variance(self.column(1.0, 1e-9, asked=False)) == pytest.approx(usual, rel=5e-3)

    def test_between_the_bounds_the_answer_is_taken(self) -> None:
        """Bounds may be as wide as they like; only a variance below its noise is that noise, and a ninth at most."""
        found = [likely_variance(NumericColumn(0, 8, 8, variance=v, noise=0.02, asked=True)) for v in (0.01, 0.03, 0.3)]
        assert found == [0.02, 0.03, 0.3]
        assert likely_variance(NumericColumn(0, 8, 8, variance=0.0, noise=1.0, asked=True)) == pytest.approx(1 / 9)

    def test_it_grows_with_the_answer(self) -> None:
        usual = usual_variance(self.column(0.0, 1.0))
        found = [likely_variance(self.column(part * usual, usual / 2)) for part in np.linspace(0, 4, 30)]
        assert (np.diff(found) > 0).all()
        assert found[0] > 0.1 * usual
        assert found[-1] < 4 * usual

    def test_it_costs_the_least(self) -> None:
        """Noise of a column's own correlations is s²/v, that of the others v/s²: over 4000 columns their mean is the smallest.

        20 % more or less would cost 2 % more on average, which is 9 standard errors of the difference or more.
        """
        draw = np.random.default_rng(11)
        range_ = NumericColumn(0, 8, 8, asked=True, outside=0.02, whole=(0.0, 1.0))
        v = np.clip(usual_variance(range_) * np.exp(ABOUT * draw.normal(size=4000)), 2e-5, 0.8)
        noise = 0.012
        answers = np.maximum(v + draw.laplace(0, noise / np.sqrt(2), 4000), 0.0)
        s = np.array([likely_variance(replace(range_, variance=a, noise=noise)) for a in answers])

        def cost(divisors: Floats) -> Floats:
            return divisors / v + v / divisors

        for other in (1.2 * s, s / 1.2, np.maximum(answers, noise)):
            gain = cost(other) - cost(s)
            assert gain.mean() > 5 * gain.std() / np.sqrt(len(v))


def skewed(n: int) -> Any:
    """Draw a lognormal column, one that is mostly 0, and four others; a fifth of all cells is missing."""
    draw = np.random.default_rng(12)
    common = draw.normal(size=n)
    cells = {
        "cost": np.exp(5 + 0.4 * common + 0.9 * draw.normal(size=n)),
        "savings": np.where(draw.random(n) < 0.2, draw.exponential(4000 * np.exp(0.4 * common)), 0.0),
        "age": draw.uniform(18, 90, n),
        "height": 170 + 10 * draw.normal(size=n),
        "score": common + draw.normal(size=n),
        "ward": np.array(list("abc"), dtype=object)[np.digitize(common, [-0.4, 0.6])],
    }
    return pa.table({name: pa.array(column, mask=draw.random(n) < 0.2) for name, column in cells.items()})


SKEWED = Schema(
    {
        "cost": Numeric(0, 10_000, nullable=True),
        "savings": Numeric(0, 50_000, nullable=True),
        "age": Numeric(18, 90, nullable=True),
        "height": Numeric(100, 240, nullable=True),
        "score": Numeric(-6, 6, nullable=True),
        "ward": Categorical(["a", "b", "c"], nullable=True),
    }
)


class TestMeans:
    """Smaller weights of long rows, and the cut of a range, take from the means of skewed columns."""

    @pytest.mark.parametrize("budget", [pytest.param(PureDP(4), marks=pytest.mark.audit), ZCDP("0.1")], ids=str)
    def test_the_bias_of_a_mean_is_below_its_standard_error(self, budget: Budget) -> None:
        """Over 80 releases: at a bias of 0.5 standard errors or less the average is above 1 with probability 1e-6 or less.

        Where weights and ranges are not counted, it is 1.6 and more for savings.
        """
        table = skewed(6000)
        truth = np.array([np.nanmean(np.clip(table[name].to_numpy(), c.lower, c.upper)) for name, c in numbers()])
        ratios = []
        for seed in range(80):
            mean = dpcov.covariance(table, budget, schema=SKEWED, seed=seed).describe("rows").mean
            assert mean is not None
            ratios.append((mean.values[: len(truth)] - truth) / mean.standard_error[: len(truth)])
        assert np.abs(np.mean(ratios, axis=0)).max() < 1
        assert np.std(ratios, axis=0).max() < 1.5

    def test_what_weights_may_take_is_an_error_of_the_weighted_mean(self) -> None:
        """Near the lower end of its bounds: 3 % of the weight, a third of the 1.6 that the upper end is farther away."""
        column = NumericColumn(0, 2**17, 2**17, mean=-0.8, mean_noise=0.1, asked=True)
        found = mean_of(column, (-0.85, 0.001), 0.05, 0.03)
        taken = 0.03 * 1.6 / 3
        assert found.error == pytest.approx(1 / math.hypot(1 / 0.1, 1 / math.hypot(taken, 0.001)), rel=1e-6)
        assert -0.85 < found.value < -0.845
        symmetric = replace(column, mean=0.0)
        assert mean_of(symmetric, (0.0, 0.001), 0.05, 0.03).error == pytest.approx(math.hypot(0.0015, 0.001), rel=1e-3)

    def test_answers_that_are_far_from_each_other_are_not_averaged_by_noise(self) -> None:
        column = NumericColumn(0, 2**17, 2**17, mean=0.0, mean_noise=0.01, asked=True)
        found = mean_of(column, (-0.2, 0.001), 0.05, 0.0)
        assert abs(found.value) < 0.001  # 0.2 less three errors is what weights took
        assert found.error == pytest.approx(0.01, rel=0.01)

    def test_what_a_range_may_take_is_an_error_of_all_that_was_measured_within(self) -> None:
        """2 % of the cells outside, the mean 0.1 from the middle of the range; the mean between the bounds is as certain."""
        column = NumericColumn(0, 2**15, 2**17, mean=-0.85, mean_noise=1e-4, asked=True, outside=0.02, whole=(-0.84, 0.002))
        assert column.middle == -0.75
        found = mean_of(column, (-0.85, 1e-4), 0.05, 0.0)
        assert found.value == pytest.approx(-0.845, abs=1e-4)
        assert found.error == pytest.approx(0.002 / math.sqrt(2), rel=0.01)

    @pytest.mark.parametrize("whole", [None, (-0.84, 0.004)], ids=["bounds", "range"])
    def test_the_parts_of_a_mean_and_the_error_of_noise_alone(self, whole: tuple[float, float] | None) -> None:
        """The value moves with each answer by its part; noise alone is what the parts make of the noise of each."""
        column = NumericColumn(0, 2**15, 2**17, mean=-0.85, mean_noise=0.004, asked=True, outside=0.02, whole=whole)
        noisy = -0.851, 0.002
        found, step = mean_of(column, noisy, 0.1, 0.03), 1e-6
        moved = mean_of(column, (noisy[0] + step, noisy[1]), 0.1, 0.03)
        assert (moved.value - found.value) / step == pytest.approx(found.weighted, rel=1e-6)
        of_both = np.array([found.weighted, found.within - found.weighted, 1 - found.within]) * [0.002, 0.004, 0.004]
        assert found.of_noise == pytest.approx(float(np.linalg.norm(of_both)), rel=1e-3)
        assert found.of_noise < found.error
        assert 0 < found.weighted < found.within
        assert (found.within == 1) == (whole is None)

    def test_what_was_asked_apart_is_not_drawn_to_what_is_usual(self) -> None:
        """A noisy mean is drawn to the middle of its range, to be safe as a centre, and a noisy variance to a ninth."""
        drawn, trust = 0.1 / (0.1 + 0.2**2), 0.1**2 / (0.1**2 + 0.05**2)
        column = NumericColumn(
            0,
            2**16,
            2**17,
            mean=-0.5 + 0.5 * 0.4 * drawn,
            mean_noise=0.5 * 0.2,
            variance=0.25 * (trust * 0.15 + (1 - trust) / 9),
            noise=0.25 * 0.05,
            asked=True,
        )
        assert (column.middle, column.half) == (-0.5, 0.5)
        mean, of_mean, within = asked_apart({0: column}, np.array([3.0]))
        variance, of_variance = asked_variances({0: column}, np.array([3.0]))
        assert mean == pytest.approx([3 * (-0.5 + 0.5 * 0.4)])
        assert of_mean == pytest.approx([3 * 0.5 * 0.2], rel=1e-3)
        assert within == pytest.approx([1.0])
        assert variance == pytest.approx([9 * 0.25 * 0.15])
        assert of_variance == pytest.approx([9 * 0.25 * 0.05])  # the noise of the answer itself
        whole = asked_apart({0: replace(column, whole=(-0.31 / (1 + 0.01**2 / 0.1), 0.01))}, np.array([3.0]))
        assert whole[0] == pytest.approx([3 * -0.31], abs=0.01)  # the mean between the bounds is much more certain
        unasked = asked_variances({0: replace(column, asked=False)}, np.array([3.0]))
        assert np.isnan(unasked[0]).all()
        assert np.isinf(unasked[1]).all()

    def test_a_range_takes_only_from_what_was_asked_within_it(self) -> None:
        """About the population; where nothing of a mean was, it is the mean between the bounds."""
        release = dpcov.covariance(skewed(6000), PureDP(4), schema=SKEWED, seed=1)
        units = release.estimate.units
        assert units is not None
        lost, cut, without = lost_by_weights(units), cut_by_ranges(release, units), np.zeros(release.d)
        assert np.abs(cut.mean).max() > 0
        weighing = replace(units.weighing, within=without, averaged=without, apart=np.full(release.d, np.nan))
        between, _, _ = unit_means(release, replace(units, weighing=weighing), 0.95, (lost, cut))
        assert release.units * between + release.offsets == pytest.approx(release.mean)


def numbers() -> list[tuple[str, Numeric]]:
    return [(name, column) for name, column in SKEWED.used.items() if isinstance(column, Numeric)]
