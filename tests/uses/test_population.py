"""Intervals about the population: textbook formulas where there is no noise, coverage where there is, and what they refuse.

Coverage is counted over 200 seeded draws of rows, each released with its own noise, at level 0.9. A binomial test of each
number rejects correct code with probability 1e-6 at most in each direction: below 157 hits, above 197. What that would catch is
in `test_it_would_be_noticed`; that noise is counted, too, where it is large, is in `test_intervals_grow_with_noise...`.
"""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy import stats

import dpcov
from dpcov import Categorical, Numeric, ParameterError, Release, ReleaseError, Schema
from dpcov.release.estimate import PrivateUnits
from dpcov.uses.clipped_rows import lost_by_clipping
from dpcov.uses.clipping import most_lost
from dpcov.uses.coefficient_errors import DrawnResiduals, EntryNoise
from dpcov.uses.drawn_rows import quantiles
from dpcov.uses.sampling import kurtosis, pairs_seen, share_variance
from dpcov.uses.tails import quantile
from dpcov.uses.weights import cut_by_ranges, lost_by_weights

Floats = NDArray[np.float64]

LEVEL, RUNS, LEAST, MOST = 0.9, 200, 157, 197
QUANTILE = float(stats.norm.isf(0.05))
N = 1000
ROOT = np.array([[1.0, 0.0, 0.0], [0.5, 0.8, 0.0], [-0.3, 0.4, 0.6]])
MEAN = np.array([0.5, 0.0, -0.2])
QUIET = dpcov.ZCDP(10**9)
SCHEMA = Schema(
    {"age": Numeric(0, 100), "pay": Numeric(0, 2000), "sex": Categorical(["f", "m"]), "town": Categorical(["a", "b", "c"])}
)


MOVED = np.array([0.8, 0.6])
Z = np.random.default_rng(9).multivariate_normal(np.zeros(2), [[1, 0.6], [0.6, 1]], 200_000)


def rows(seed: int, n: int = N) -> Floats:
    return np.asarray(np.random.default_rng([77, seed]).standard_normal((n, 3)) @ ROOT.T + MEAN)


def released(data: Any, budget: Any = QUIET, **settings: Any) -> Release:
    given: dict[str, Any] = {"row_norm": 10.0, "center": True, "mechanism": "gaussian", "seed": 0} | settings
    return dpcov.covariance(data, budget, **given)


def people(n: int = 4000, seed: int = 3) -> tuple[Any, Floats]:
    draw = np.random.default_rng(seed)
    age = np.clip(50 + 12 * draw.standard_normal(n), 0, 100)
    sex, town = (draw.random(n) < 0.4).astype(int), draw.choice(3, n, p=[0.2, 0.5, 0.3])
    pay = np.clip(500 + 10 * age + 100 * sex + 80 * draw.standard_normal(n), 0, 2000)
    table = pa.table({"age": age, "pay": pay, "sex": np.array(["f", "m"])[sex], "town": np.array(["a", "b", "c"])[town]})
    return table, np.column_stack([age, pay, np.eye(2)[sex], np.eye(3)[town]])


TABLE, FEATURES = people()


class TestWithoutNoise:
    """A budget of 10⁹: intervals are those of any textbook, with maximum-likelihood variances."""

    def test_means(self) -> None:
        x = rows(0)
        found = released(x).interval(LEVEL)
        assert found.mean is not None
        half = QUANTILE * x.std(axis=0) / math.sqrt(N)
        assert found.mean.lower == pytest.approx(x.mean(axis=0) - half, abs=1e-3 * float(half.min()) + 2e-4)
        assert (found.mean.upper - found.mean.lower) / 2 == pytest.approx(half, rel=1e-3)
        assert found.population
        assert "drawn from" in found.about

    def test_deviations_of_normal_columns(self) -> None:
        x = rows(0)
        found, v = released(x).interval(LEVEL).deviations, rows(0).var(axis=0)
        half = QUANTILE * math.sqrt(2 / N) * v
        assert found.lower == pytest.approx(np.sqrt(v - half), rel=1e-3)
        assert found.upper == pytest.approx(np.sqrt(v + half), rel=1e-3)
        assert found.standard_error == pytest.approx(x.std(axis=0) / math.sqrt(2 * N), rel=1e-3)

    def test_correlations_are_fishers(self) -> None:
        r = np.asarray(np.corrcoef(rows(0).T))
        found = released(rows(0)).interval(LEVEL).correlations
        for (i, j), sign, ends in (((0, 1), -1, found.lower), ((1, 2), 1, found.upper), ((2, 0), 1, found.upper)):
            assert ends[i, j] == pytest.approx(math.tanh(math.atanh(r[i, j]) + sign * QUANTILE / math.sqrt(N - 3)), abs=1e-3)
        assert found.lower == pytest.approx(found.lower.T, abs=0)
        assert found.lower.diagonal().tolist() == found.upper.diagonal().tolist() == [1.0, 1.0, 1.0]

    @pytest.mark.parametrize("alpha", ["auto", 0, 0.5], ids=str)
    def test_coefficients_are_those_of_least_squares_whatever_the_penalty(self, alpha: Any) -> None:
        x = rows(0)
        design = np.column_stack([np.ones(N), x[:, :2]])
        w = np.linalg.lstsq(design, x[:, 2], rcond=None)[0]
        spread = np.sqrt(np.mean((x[:, 2] - design @ w) ** 2) * np.linalg.inv(design.T @ design).diagonal())
        model = released(x).ridge("x2", alpha=alpha)
        found = model.interval(LEVEL)
        assert found.intercept is not None
        assert model.penalised == (alpha == 0.5)
        assert found.coefficients.estimate == pytest.approx(w[1:], abs=1e-3)
        assert (found.coefficients.upper - found.coefficients.lower) / 2 == pytest.approx(QUANTILE * spread[1:], rel=2e-3)
        assert float(found.intercept.upper - found.intercept.lower) / 2 == pytest.approx(QUANTILE * spread[0], rel=2e-3)
        if not model.penalised:
            assert model.coefficients == pytest.approx(found.coefficients.estimate, rel=1e-12)
            assert model.intercept == pytest.approx(float(found.intercept.estimate), rel=1e-9)

    def test_in_private_units(self) -> None:
        release = released(TABLE, dpcov.ZCDP(10**6), schema=SCHEMA, row_norm=None, mechanism="auto", center=None)
        assert release.estimate.units is not None
        n, found = len(FEATURES), release.interval(LEVEL)
        assert found.mean is not None
        half = QUANTILE * FEATURES.std(axis=0) / math.sqrt(n)
        assert (found.mean.upper - found.mean.lower) / 2 == pytest.approx(half, rel=0.03)
        own = found.deviations
        assert (own.upper - own.lower)[:2] / 2 == pytest.approx(
            QUANTILE * FEATURES[:, :2].std(axis=0) / math.sqrt(2 * n), rel=0.1
        )
        p = FEATURES[:, 2].mean()
        ends = p + np.array([1, -1]) * half[2]  # f is the larger share: the larger it is, the smaller the deviation
        assert (own.lower[2], own.upper[2]) == (
            pytest.approx(math.sqrt(ends[0] * (1 - ends[0])), rel=2e-3),
            pytest.approx(math.sqrt(ends[1] * (1 - ends[1])), rel=2e-3),
        )
        r = np.asarray(np.corrcoef(FEATURES.T))[0, 1]
        fisher = [math.tanh(math.atanh(r) + sign * QUANTILE / math.sqrt(n - 3)) for sign in (-1, 1)]
        assert (found.correlations.lower[0, 1], found.correlations.upper[0, 1]) == pytest.approx(fisher, abs=3e-3)

    def test_about_the_rows_nothing_is_left(self) -> None:
        found = released(rows(0)).interval(LEVEL, about="rows")
        assert not found.population
        for part in (found.mean, found.deviations, found.correlations, found.entries):
            assert part is not None
            assert np.abs(part.upper - part.lower).max() < 1e-3


class TestCoverage:
    """n = 1000 rows of three normal columns, ρ = 1: noise about half as large as the sampling error."""

    def test_it_would_be_noticed(self) -> None:
        """A sampling error that is forgotten, and intervals that are twice too wide."""
        noise_alone = 2 * stats.norm.cdf(QUANTILE * math.sqrt(0.25 / 1.25)) - 1
        assert stats.binom.cdf(LEAST - 1, RUNS, noise_alone) > 1 - 1e-6
        assert stats.binom.sf(MOST, RUNS, 2 * stats.norm.cdf(2 * QUANTILE) - 1) > 0.9
        assert stats.binom.cdf(LEAST - 1, RUNS, LEVEL) <= 1e-6
        assert stats.binom.sf(MOST, RUNS, LEVEL) <= 1e-6

    def test_of_all_four_kinds(self) -> None:
        covariance = ROOT @ ROOT.T
        deviation = np.sqrt(covariance.diagonal())
        exact = np.linalg.solve(covariance[:2, :2], covariance[:2, 2])
        hits: dict[str, list[NDArray[np.bool_]]] = {"mean": [], "deviations": [], "correlations": [], "coefficients": []}
        for run in range(RUNS):
            release = released(rows(run), dpcov.ZCDP(1), row_norm=5.0, seed=run + 1000)
            found = release.interval(LEVEL)
            assert found.mean is not None
            hits["mean"].append(found.mean.contains(MEAN))
            hits["deviations"].append(found.deviations.contains(deviation))
            hits["correlations"].append(
                found.correlations.contains(covariance / np.outer(deviation, deviation))[[0, 0, 1], [1, 2, 2]]
            )
            hits["coefficients"].append(release.ridge("x2").interval(LEVEL).coefficients.contains(exact))
        for kind, each in hits.items():
            counts = np.sum(each, axis=0)
            assert (counts >= LEAST).all(), (kind, counts)
            assert (counts <= MOST).all(), (kind, counts)


def test_intervals_grow_with_noise_and_shrink_with_rows() -> None:
    def widths(release: Release) -> Floats:
        found = release.interval(LEVEL)
        assert found.mean is not None
        parts = (found.mean, found.deviations, found.correlations, release.ridge("x2").interval(LEVEL).coefficients)
        return np.array([float(np.mean(part.upper - part.lower)) for part in parts])

    quiet, loud = widths(released(rows(0))), widths(released(rows(0), dpcov.ZCDP("0.3")))
    few = widths(released(rows(0)[:250]))
    assert (loud > 1.1 * quiet).all()
    assert few == pytest.approx(2 * quiet, rel=0.25)


def test_noise_never_makes_an_interval_short() -> None:
    """Rows of zeros: raw variances are noise, negative ones among them, and intervals reach at least as far as noise alone."""
    for seed in range(5):
        release = released(np.zeros((300, 3)), dpcov.ZCDP("0.1"), row_norm=1.0, seed=seed)
        rows_only, found = release.interval(about="rows"), release.interval()
        for one, other in ((rows_only.mean, found.mean), (rows_only.entries, found.entries)):
            assert one is not None
            assert other is not None
            assert (other.upper >= one.upper).all()
            assert (other.lower <= one.lower).all()
        assert (found.deviations.lower == 0).all()
        off = ~np.eye(3, dtype=bool)
        assert (found.correlations.lower[off] == -1).all()
        assert (found.correlations.upper[off] == 1).all()


def test_a_share_that_noise_makes_0_is_not_certain() -> None:
    found = share_variance(np.array([0.0, -0.2, 0.01, 0.3, 1.0]), np.array([0.1, 0.1, 0.1, 0.1, 0.0]))
    assert found == pytest.approx([0.09, 0.09, 0.09, 0.21, 0.0])


def test_kurtosis_is_normal_far_from_bounds_and_that_of_a_beta_law_near_them() -> None:
    draw = np.random.default_rng(1)
    schema = Schema({"far": Numeric(-10, 10), "even": Numeric(0, 1), "late": Numeric(0, 20)})
    late = draw.exponential(1.0, 5000)
    table = pa.table({"far": draw.standard_normal(5000), "even": draw.random(5000), "late": np.minimum(late, 20)})
    release = dpcov.covariance(table, QUIET, schema=schema, mechanism="gaussian", seed=0)
    found = kurtosis(release, release.covariance.diagonal())
    assert found[0] == 3.0
    assert found[1] == pytest.approx(1.8, abs=0.02)
    assert 6 < found[2] < 10  # 9 for the exponential law without an end


class TestTaken:
    """What weights and ranges took is found again, of rows that are as they are taken to be."""

    @staticmethod
    def units() -> tuple[Release, PrivateUnits]:
        draw = np.random.default_rng(4).standard_normal((3000, 2)) @ np.array([[1, 0.6], [0, 0.8]])
        schema = Schema({"a": Numeric(-6, 6), "b": Numeric(-6, 6)})
        release = dpcov.covariance(draw, dpcov.ZCDP(10**6), schema=schema, seed=0)
        assert release.estimate.units is not None
        return release, release.estimate.units

    def weighted(self, mean: tuple[float, float] = (0.0, 0.0), **changes: Any) -> PrivateUnits:
        """Return units of which rows with this mean, variances 1 and a correlation of 0.6 were weighted, without noise."""
        _, units = self.units()
        z = Z + np.array(mean)
        weights = np.minimum(1, 3.0 / (1.0 + np.sum(z**2, axis=1)))
        about = weights @ z / weights.sum()
        seen = (z.T * weights) @ z / weights.sum() - np.outer(about, about)
        given: dict[str, Any] = {"weight": float(weights.mean()), "noise": 0.0, "averaged": np.ones(2)} | changes
        weighing = dataclasses.replace(
            units.weighing, row_norm=math.sqrt(3.0), corner=1.0, variance_noise=np.full(2, np.inf), **given
        )
        return dataclasses.replace(
            units,
            back=np.eye(2),
            centre=np.zeros(2),
            reach=np.full(2, 1e3),
            low=np.full(2, -1e3),
            high=np.full(2, 1e3),
            mean=about,
            covariance=seen,
            raw=seen,
            divisor=seen.diagonal(),
            mean_variance=0.0,
            weight_error=1e9,  # nothing is known of how rows differ from drawn ones
            weighing=weighing,
        )

    def test_by_weights(self) -> None:
        units = self.weighted()
        found = lost_by_weights(units)
        truth = np.array([[1, 0.6], [0.6, 1]])
        assert np.abs(truth - units.raw).max() > 0.15
        assert units.raw + found.covariance == pytest.approx(truth, abs=0.03)
        assert found.variance == pytest.approx(np.ones(2), abs=0.03)
        assert found.mean == pytest.approx(np.zeros(2), abs=5e-3)
        longer = dataclasses.replace(units.weighing, weight=1 - 1.2 * float(1 - found.weights.mean()))
        other = lost_by_weights(dataclasses.replace(units, weighing=longer, weight_error=1e-9))
        assert other.covariance[0, 1] > 1.1 * found.covariance[0, 1]  # rows that have smaller weights lost more
        assert other.uncertain < 1e-6 < found.uncertain
        wide = dataclasses.replace(units, weighing=dataclasses.replace(units.weighing, row_norm=100.0))
        assert lost_by_weights(wide).covariance == pytest.approx(np.zeros((2, 2)), abs=1e-12)
        assert lost_by_weights(wide).drawn_correlations == pytest.approx(np.ones((2, 2)), abs=0.1)

    @pytest.mark.parametrize(("reach", "error"), [(1e3, 0.15), (1.5, 0.05), (4.0 * 0.8, 0.1)], ids=["far", "near", "between"])
    def test_bounds_leave_room_for_longer_tails(self, reach: float, error: float) -> None:
        """What rows unlike the drawn ones lose is the less certain the farther public bounds are: two deviations, or six."""
        units = self.weighted()
        assert units.divisor == pytest.approx([0.8**2] * 2, rel=0.2)
        near = dataclasses.replace(units, reach=np.full(2, reach) * np.sqrt(units.divisor) / 0.8)
        assert lost_by_weights(near).uncertain == pytest.approx(error, abs=1e-3)

    def test_means_by_weights_and_what_becomes_of_their_errors(self) -> None:
        """Rows about (0.3, 0.2) where weights are about 0: the weighted mean is nearer to 0."""
        centre = np.array([0.3, 0.2])
        units = self.weighted((0.3, 0.2))
        found = lost_by_weights(units)
        assert np.abs(units.mean - centre).min() > 0.03
        assert units.mean + found.mean == pytest.approx(centre, abs=0.015)
        for j in range(2):
            step = np.zeros(2)
            step[j] = 0.05
            up, down = (lost_by_weights(dataclasses.replace(units, mean=units.mean + sign * step)).mean for sign in (1, -1))
            assert np.eye(2)[j] + (up - down) / 0.1 == pytest.approx(found.on_means[:, j], abs=0.02)
        weights = np.minimum(1, 3.0 / (1.0 + np.sum((Z + centre) ** 2, axis=1)))
        influence = (Z + centre - units.mean) * (weights / weights.mean())[:, None] @ found.on_means.T
        assert found.drawn_means == pytest.approx(influence.var(axis=0), rel=0.05)

    @pytest.mark.parametrize("mean", [(0.0, 0.0), (0.8, 0.4)], ids=["centred", "moved"])
    def test_errors_of_variances_grow_as_what_is_missing_is_given_back(self, mean: tuple[float, float]) -> None:
        units = self.weighted(mean, noise=1e-4)
        found, slopes = lost_by_weights(units), []
        for j in range(2):
            step = np.zeros((2, 2))
            step[j, j] = 0.02
            up, down = (lost_by_weights(dataclasses.replace(units, raw=units.raw + sign * step)).variance for sign in (1, -1))
            slopes.append((up - down) / 0.04 / units.weighing.weight)
        assert np.array(slopes).diagonal().min() > 1.3
        error = math.sqrt(2e-4) * np.linalg.norm(np.array(slopes), axis=0)
        missing = np.array(slopes).T @ (found.variance - units.weighing.weight * units.raw.diagonal())
        error = np.hypot(error, found.uncertain * missing)
        assert found.variance_error == pytest.approx(error, rel=0.05)
        apart = dataclasses.replace(
            units.weighing, variance=np.array([1.03, np.nan]), variance_noise=np.array([error[0], np.inf])
        )
        both = lost_by_weights(dataclasses.replace(units, weighing=apart))
        assert both.variance == pytest.approx([(found.variance[0] + 1.03) / 2, found.variance[1]], abs=2e-3)
        assert both.variance_error == pytest.approx([found.variance_error[0] / math.sqrt(2), found.variance_error[1]], rel=0.05)

    def test_errors_of_correlations_grow_by_the_slope_of_weighted_ones(self) -> None:
        units = self.weighted()
        found = lost_by_weights(units)

        def of(correlation: float) -> float:
            z = Z.copy()
            z[:, 1] = correlation * Z[:, 0] + math.sqrt(1 - correlation**2) * (Z[:, 1] - 0.6 * Z[:, 0]) / 0.8
            weights = np.minimum(1, 3.0 / (1.0 + np.sum(z**2, axis=1)))
            c = (z.T * weights) @ z
            return float(c[0, 1] / math.sqrt(c[0, 0] * c[1, 1]))

        assert found.on_correlations[0, 1] == pytest.approx(0.1 / (of(0.65) - of(0.55)), abs=0.03)
        weights = np.minimum(1, 3.0 / (1.0 + np.sum(Z**2, axis=1)))
        x = Z / np.sqrt(units.raw.diagonal())
        r = float(units.raw[0, 1] / math.sqrt(units.raw[0, 0] * units.raw[1, 1]))
        influence = weights / weights.mean() * (x[:, 0] * x[:, 1] - r / 2 * (x[:, 0] ** 2 + x[:, 1] ** 2))
        expected = float(influence.var()) * found.on_correlations[0, 1] ** 2 / (1 - r**2) ** 2
        assert found.drawn_correlations[0, 1] == pytest.approx(expected, rel=0.08)

    def test_the_noise_of_the_mean_weight_is_in_correlations_with_levels(self) -> None:
        """Variances of numbers are divided by it, as covariances are, those of levels are not."""
        release = dpcov.covariance(TABLE, dpcov.ZCDP(1), schema=SCHEMA, seed=0)
        found = release.interval(about="rows")
        assert isinstance(found._raw, PrivateUnits)
        sure = dataclasses.replace(found, _raw=dataclasses.replace(found._raw, weight_error=0.0)).correlations
        more = np.sqrt(found.correlations.standard_error**2 - sure.standard_error**2)
        error, divided = found._raw.weight_error, found._raw.weighing.divided
        assert (divided[2:] == 0).all()
        for i, j in ((0, 1), (0, 2), (3, 5)):
            left = 1 - (divided[i] + divided[j]) / 2
            assert more[i, j] == pytest.approx(abs(found._raw.raw_correlation[i, j]) * error * left, rel=1e-3, abs=1e-9)

    def test_by_a_range(self) -> None:
        release, units = self.units()
        x = np.random.default_rng(2).normal(0.5, 1.0, 400_000)
        cut = np.clip(x, -1.0, 1.5)
        low, high, deviation, centre = units.low.copy(), units.high.copy(), units.deviation.copy(), release.units[0]
        low[0], high[0], deviation[0] = -1.0 / centre, 1.5 / centre, cut.std() / centre
        narrow = dataclasses.replace(units, low=low, high=high, deviation=deviation)
        mean = release.mean.copy()
        mean[0] = cut.mean()
        moved = dataclasses.replace(release.estimate, mean=(mean - release.offsets) / release.units)
        release.__dict__.update(estimate=moved, mean=mean)  # both are computed once, and kept there
        found = cut_by_ranges(release, narrow)
        assert cut.mean() + found.mean[0] * centre == pytest.approx(0.5, abs=0.05)
        assert cut.var() + found.variance[0] * centre**2 == pytest.approx(1.0, abs=0.1)
        assert (found.mean[1], found.variance[1]) == (0.0, 0.0)


@pytest.mark.parametrize(("scores", "truth"), [(1.0, math.exp(0.5)), (-2.0, math.exp(-1.0)), (9.0, 30.0)])
def test_a_column_next_to_one_bound_and_far_from_the_other_has_a_long_tail(scores: float, truth: float) -> None:
    """exp(z/2) between 0 and 30, and its mirror image; near both bounds it would have a beta law."""
    mean, variance = math.exp(1 / 8), math.exp(0.25) * (math.exp(0.25) - 1)
    at = np.array([scores])
    assert quantiles(0.0, 30.0, mean, variance, at) == pytest.approx([truth], rel=1e-9)
    assert quantiles(-30.0, 0.0, -mean, variance, -at) == pytest.approx([-truth], rel=1e-9)
    assert quantiles(0.0, 1.0, 0.5, 1 / 12, np.array([0.5])) == pytest.approx([stats.norm.cdf(0.5)], rel=1e-6)
    assert quantiles(-30.0, 30.0, 1.0, 1.0, np.array([2.0])) == pytest.approx([3.0])


def clipped(budget: Any = QUIET, n: int = 20_000) -> Release:
    """Rows of `MOVED` with variances 1 and a correlation of 0.6, clipped at 1.8 as if that had been chosen privately."""
    schema = Schema({"a": Numeric(-6, 6), "b": Numeric(-6, 6)})
    data = pa.table(dict(zip("ab", (Z[:n] + MOVED).T, strict=True)))
    radius = 1.8 / 6 / math.sqrt(2)
    release = dpcov.covariance(data, budget, schema=schema, mechanism="gaussian", clip=radius, center=True, seed=0)
    release.__dict__.update(estimate=dataclasses.replace(release.estimate, longer=0.45 * n))
    return release


class TestMissing:
    """Where cells are missing, the noisy share of those that are there divides the distance of a mean from its centre."""

    @staticmethod
    def release(budget: Any) -> Release:
        draw = np.random.default_rng(5)
        cells = [pa.array(1 + draw.standard_normal(8000), mask=draw.random(8000) < gone) for gone in (0.3, 0.5, 0.3, 0.5)]
        schema = Schema({f"c{j}": Numeric(-5, 7, nullable=True) for j in range(4)})
        return dpcov.covariance(pa.table({f"c{j}": cell for j, cell in enumerate(cells)}), budget, schema=schema, seed=2)

    def test_means(self) -> None:
        units = self.release(dpcov.PureDP("0.5")).estimate.units
        assert units is not None
        away = np.abs(units.back @ units.mean) / units.seen
        of_share = units.weighing.averaged * units.seen_error / units.seen * away
        assert (units.mean_noise >= of_share).all()
        assert (of_share > 0.8 * units.mean_noise).any()  # and it is most of the error where the centre is far off

    def test_rows_that_have_both_cells(self) -> None:
        release = self.release(dpcov.ZCDP(10**6))
        assert pairs_seen(release) == pytest.approx(
            8000 * (np.outer([0.7, 0.5, 0.7, 0.5], [0.7, 0.5, 0.7, 0.5]) ** (1 - np.eye(4) / 2)), rel=0.05
        )
        assert (pairs_seen(released(rows(0))) == N).all()

    def test_all_cells_are_there(self) -> None:
        units = dpcov.covariance(TABLE, dpcov.PureDP(1), schema=SCHEMA, seed=0).estimate.units
        assert units is not None
        assert (units.seen_error == 0).all()


class TestClipped:
    """What a private radius took from rows like those of a release is given back, about the population."""

    def test_means_and_covariances(self) -> None:
        """Normal rows of which a third is clipped; drawn ones tell what they lost to a tenth of it."""
        found, rows = clipped().interval(), clipped().interval(about="rows")
        assert found.mean is not None
        assert rows.mean is not None
        truth, exact = MOVED + Z[:20_000].mean(axis=0), np.cov(Z[:20_000].T)
        assert np.abs(rows.mean.estimate - truth).min() > 0.04
        assert found.mean.estimate == pytest.approx(truth, abs=0.01)
        assert np.abs(rows.variances.estimate - 1).min() > 0.2
        assert found.entries.estimate == pytest.approx(exact, abs=0.05)
        assert found.deviations.estimate == pytest.approx(np.sqrt(exact.diagonal()), abs=0.025)

    def test_errors_grow_as_much_as_what_is_measured_moves_less(self) -> None:
        """Rows of other means and variances: what becomes of the difference tells J⁻¹ and K⁻¹."""
        lost = lost_by_clipping(clipped())
        assert lost is not None
        z = Z + MOVED

        def seen(moved: Floats) -> tuple[Floats, Floats]:
            cut = moved * np.minimum(1, 1.8 / np.linalg.norm(moved, axis=1))[:, None]
            return cut.mean(axis=0), cut.var(axis=0)

        moved, kept = np.zeros((2, 2)), np.zeros((2, 2))
        for k in range(2):
            step = np.eye(2)[k] * 0.05
            moved[:, k] = (seen(z + step)[0] - seen(z - step)[0]) / 0.1
            up, down = (MOVED + Z * np.sqrt(1 + sign * step) for sign in (1, -1))
            kept[:, k] = (seen(up)[1] - seen(down)[1]) / 0.1
        assert lost.on_means == pytest.approx(np.sum(np.linalg.inv(moved) ** 2, axis=1), rel=0.04)
        assert lost.on_entries.diagonal() == pytest.approx(np.sum(np.linalg.inv(kept) ** 2, axis=1), rel=0.08)
        assert lost.on_entries.diagonal().min() > 3
        cut = z * np.minimum(1, 1.8 / np.linalg.norm(z, axis=1))[:, None]
        heavy = (cut - cut.mean(axis=0)) @ np.linalg.inv(moved).T
        assert lost.drawn_means == pytest.approx(heavy.var(axis=0), rel=0.04)
        squares = (cut - cut.mean(axis=0)) ** 2 @ np.linalg.inv(kept).T
        assert lost.drawn_entries.diagonal() == pytest.approx(squares.var(axis=0) / 2, rel=0.1)

    def test_errors_are_in_intervals(self) -> None:
        """Noise and the draw of rows grow, and three tenths of what was given back count as an error."""
        release = clipped(dpcov.ZCDP(1), 4000)
        found, lost = release.interval(), lost_by_clipping(release)
        assert lost is not None
        plain = dataclasses.replace(found)
        plain.__dict__["clipped"] = None
        own, units = found.entries.standard_error, (release.units * release.clip_radius)[0] ** 2
        noise = dataclasses.replace(found, population=False).noisy_entries.standard_error
        drawn = np.sqrt(plain.noisy_entries.standard_error**2 - noise**2)
        expected = np.sqrt(noise**2 * lost.on_entries + drawn**2 * lost.drawn_entries + (0.3 * lost.covariance * units) ** 2)
        assert own == pytest.approx(expected, rel=1e-6)
        assert lost.covariance[0, 0] * units > 0.1

    def test_levels(self) -> None:
        """A row of a level and a number, of which those with large numbers are clipped: the share is given back."""
        draw = np.random.default_rng(6)
        sex, pay = draw.random(20_000) < 0.3, np.clip(draw.normal(0, 0.3, 20_000), -1, 1)
        table = pa.table({"sex": np.array(["f", "m"])[sex.astype(int)], "pay": pay})
        schema = Schema({"sex": Categorical(["f", "m"]), "pay": Numeric(-1, 1)})
        settings: dict[str, Any] = {"schema": schema, "mechanism": "gaussian", "center": True, "seed": 0}
        release = dpcov.covariance(table, QUIET, clip=0.75, **settings)
        release.__dict__.update(estimate=dataclasses.replace(release.estimate, longer=0.45 * 20_000))
        found, rows = release.interval(), release.interval(about="rows")
        assert found.mean is not None
        assert rows.mean is not None
        assert np.abs(rows.mean.estimate[:2] / [1 - sex.mean(), sex.mean()] - 1).min() > 0.012
        assert found.mean.estimate[:2] == pytest.approx([1 - sex.mean(), sex.mean()], rel=0.004)

    def test_no_more_rows_are_long_than_the_radius_leaves(self) -> None:
        """Noise says that a variance is large; a hundredth of the rows may be long."""
        release = clipped()
        release.__dict__.update(estimate=dataclasses.replace(release.estimate, longer=200.0))
        few, many = (lost_by_clipping(one) for one in (release, clipped()))
        assert few is not None
        assert many is not None
        assert 0 < few.covariance[0, 0] < 0.05 * many.covariance[0, 0]

    def test_where_most_rows_may_be_long_nothing_is_known(self) -> None:
        release = clipped()
        release.__dict__.update(estimate=dataclasses.replace(release.estimate, longer=0.6 * 20_000))
        assert lost_by_clipping(release) is None
        assert lost_by_clipping(released(rows(0))) is None  # a public radius is the custodian's own


def test_the_most_that_clipping_may_have_taken_counts_as_three_standard_errors() -> None:
    """About the rows it is added to the interval; about the population, where rows are not known, one error beside others."""
    data = np.random.default_rng(3).standard_normal((500, 3))
    schema = Schema({f"c{j}": Numeric(-9, 11) for j in range(3)})
    release = dpcov.covariance(data, dpcov.PureDP("0.3"), schema=schema, seed=0)
    lost = most_lost(release, squared=True)
    assert lost > 0.1
    for about in ("population", "rows"):
        found = release.interval(0.95, about=about)
        assert found.clipped is None
        noisy, whole = found.noisy_entries, found.entries
        half, size = (noisy.upper - noisy.lower) / 2, np.abs(noisy.estimate)
        wider = np.hypot(half, 1.96 * lost * (size / 3 + half)) if about == "population" else half + lost * (size + half)
        assert (whole.upper - whole.lower) / 2 == pytest.approx(wider, rel=1e-4)


class TestResiduals:
    """Rows (x, y) with y = 2x + e: least squares has the variance E x²e²/(E x²)²/n, not E e²/E x²/n."""

    def test_that_depend_on_features(self) -> None:
        x, e = Z[:, 0], (Z[:, 1] - 0.6 * Z[:, 0]) / 0.8
        for scale, factor in ((np.ones_like(x), 1.0), (np.abs(x), 3.0)):
            found = DrawnResiduals(np.column_stack([x, 2 * x + scale * e]), np.ones(len(x)))
            grown, moved = found.of(np.array([[0.0, 1.0]]))
            assert grown == pytest.approx([factor], rel=0.02)
            assert moved == pytest.approx([0.0], abs=1e-9)

    def test_weights_move_coefficients(self) -> None:
        weights = np.minimum(1, 3.0 / (1.0 + np.sum(Z**2, axis=1)))
        _, moved = DrawnResiduals(Z, weights).of(np.array([[0.0, 1.0]]))
        c = (Z.T * weights) @ Z
        assert moved == pytest.approx([0.6 - c[0, 1] / c[0, 0]], abs=5e-3)
        assert moved[0] > 0.05

    def test_they_are_in_intervals_about_the_population(self) -> None:
        """Two uniform columns with a normal copula: errors are as large as those of the rows' own sandwich, about."""
        share = stats.norm.cdf(Z[:20_000])
        schema = Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)})
        model = dpcov.covariance(share, dpcov.ZCDP(10**4), schema=schema, seed=0, columns=["a", "b"]).ridge("b")
        x, y = (share - share.mean(axis=0)).T
        residual = y - x * (x @ y) / (x @ x)
        plain, sandwich = math.sqrt(np.mean(residual**2) / (x @ x)), math.sqrt(float(x**2 @ residual**2)) / float(x @ x)
        assert abs(sandwich / plain - 1) > 0.04
        assert model.interval().coefficients.standard_error == pytest.approx([sandwich], rel=0.025)


class TestFieller:
    def test_products_are_those_of_sums_over_entries(self) -> None:
        draw = np.random.default_rng(3)
        c, u, h = draw.normal(size=(2, 3)), draw.normal(size=3), draw.normal(size=(2, 3))
        variances = draw.uniform(1, 2, (3, 3))
        variances = variances + variances.T
        noise = EntryNoise(c, variances)
        for row in range(2):
            by_hand, each = 0.0, np.zeros(3)
            for i in range(3):
                for j in range(i, 3):
                    of = np.zeros(3)
                    of[i] += u[j]
                    of[j] += u[i] * (i != j)
                    other = c[row, i] * h[row, j] + (c[row, j] * h[row, i] if i != j else 0.0)
                    by_hand += variances[i, j] * float(c[row] @ of) * other
                    each += variances[i, j] * float(c[row] @ of) * of
            assert noise.products(u, h)[row] == pytest.approx(by_hand)
            assert noise.with_each(u)[row] == pytest.approx(each)

    def test_coverage_where_noise_is_large(self) -> None:
        """One feature with slope 1, noise a tenth of its variance: 200 draws, size 1e-6 on either side."""
        held = 0
        for seed in range(RUNS):
            x = np.random.default_rng([21, seed]).standard_normal((1000, 2))
            x[:, 1] += x[:, 0]
            found = released(x, dpcov.ZCDP("0.06"), seed=seed, center=False).ridge("x1").interval(LEVEL)
            held += bool(found.coefficients.contains(1.0).all())
        assert LEAST <= held <= MOST


class TestLeastSquares:
    def test_the_interval_of_the_first_example_holds_its_slope(self) -> None:
        """income = 900·age + noise, n = 20 000, ε = 1, 20 draws: 11 hits or fewer of a 95 % interval have a chance of 2e-7.

        Of intervals about a penalised slope, which held for one draw in three, 12 hits or more have one of 1 %.
        """
        schema, held = Schema({"age": Numeric(18, 90), "income": Numeric(0, 150_000)}), 0
        for seed in range(20):
            draw = np.random.default_rng([5, seed])
            age = draw.integers(18, 91, 20_000)
            table = pa.table({"age": age, "income": 900 * age + draw.normal(0, 9000, 20_000)})
            model = dpcov.covariance(table, dpcov.PureDP(1), schema=schema, seed=seed).ridge("income")
            assert not model.penalised
            held += bool(model.interval().coefficients.contains(900.0).all())
        assert held >= 12

    def test_many_features_below_the_noise_are_penalised(self) -> None:
        data = np.random.default_rng(0).standard_normal((500, 30)) * 0.1
        model = released(data, dpcov.ZCDP("0.01"), row_norm=1.0).ridge("x0")
        assert model.penalised
        found = model.interval()
        assert not found.clear
        assert np.isinf(found.coefficients.upper).all()

    def test_nothing_to_be_seen_of_one_feature_is_penalised(self) -> None:
        """A slope of 0: least squares is noise, and the mean has the smaller risk more often than not."""
        draw = np.random.default_rng(8).standard_normal((2000, 2))
        chosen = [released(draw, dpcov.ZCDP("0.05"), row_norm=5.0, seed=seed).ridge("x1").penalised for seed in range(20)]
        assert sum(chosen) >= 8


class TestSummary:
    def test_its_numbers_are_those_of_the_intervals(self) -> None:
        model = released(rows(0), dpcov.ZCDP(1)).ridge("x2")
        found, interval = model.summary(0.9), model.interval(0.9)
        assert found.names == ("intercept", "x0", "x1")
        assert found.estimate[1:] == pytest.approx(model.coefficients)
        assert found.lower[1:] == pytest.approx(interval.coefficients.lower)
        assert found.t == pytest.approx(found.estimate / found.standard_error)
        assert ((found.p < 0.1) == ((found.lower > 0) | (found.upper < 0))).all()
        assert json.loads(json.dumps(found.to_dict()))["names"] == ["intercept", "x0", "x1"]
        text = str(found)
        assert all(word in text for word in ("x2, by least squares", "std. error", "90 % interval", "same variance"))
        assert len(text.splitlines()) == 6
        assert not found.estimate.flags.writeable

    def test_p_is_normal_where_all_errors_are(self) -> None:
        for seed in range(3):
            found = released(np.random.default_rng(seed).standard_normal((1000, 3)), seed=seed).ridge("x0").summary()
            assert found.p == pytest.approx(2 * stats.norm.sf(np.abs(found.t)), rel=0.02, abs=1e-6)

    def test_levels_and_penalties_are_told(self) -> None:
        release = released(TABLE, dpcov.ZCDP(1), schema=SCHEMA, row_norm=None)
        found = release.ridge("pay", alpha=0.1, reference={"sex": "f"}).summary()
        assert "Levels are compared with sex=f, town=b." in found.notes
        assert any("penalised" in note for note in found.notes)
        assert found.names[1:] == ("age", "sex=m", "town=a", "town=c")

    def test_what_noise_hides_is_none(self) -> None:
        data = np.random.default_rng(0).standard_normal((500, 12)) * 0.1
        found = released(data, dpcov.ZCDP("0.01"), row_norm=1.0).ridge("x0").summary()
        assert np.isnan(found.p).all()
        assert set(found.to_dict()["p"]) == {None}
        assert "?" in str(found)

    def test_of_means_and_correlations(self) -> None:
        release = released(TABLE, dpcov.ZCDP(1), schema=SCHEMA, row_norm=None)
        means, pairs = release.summary(0.9)
        assert means is not None
        assert pairs is not None
        own = release.interval(0.9)
        assert own.mean is not None
        assert means.lower == pytest.approx(own.mean.lower)
        assert pairs.names[0] == "age, pay"
        assert not any(name.startswith("sex=f, sex") for name in pairs.names)
        assert pairs.upper[0] == own.correlations.upper[0, 1]
        assert pairs.p[0] < 1e-6
        plain = released(rows(0)[:, :1], center=False)
        assert plain.summary() == (None, None)


class TestRefusals:
    @pytest.mark.parametrize("about", ["people", "", None, 1, ["rows"], b"rows", np.array(["rows", "rows"])], ids=str)
    def test_about(self, about: Any) -> None:
        release = released(rows(0))
        for refused in (lambda: release.interval(0.9, about), lambda: release.ridge("x0").interval(0.9, about)):
            with pytest.raises(ParameterError, match="about must be 'population' or 'rows', got"):
                refused()

    @pytest.mark.parametrize("level", [0, 1, math.nan, "0.9", True])
    def test_level(self, level: Any) -> None:
        release = released(rows(0))
        for refused in (lambda: release.summary(level), lambda: release.ridge("x0").summary(level)):
            with pytest.raises(ParameterError, match="level must be"):
                refused()

    @pytest.mark.parametrize(
        ("reference", "features", "message"),
        [
            ("f", None, "reference must be a level for each of some columns, or 'none', got 'f'"),
            (3, None, "reference must be a level"),
            (["sex"], None, "reference must be a level"),
            ({"sex": "x"}, None, "reference must be one of the levels of 'sex', got 'x'. Hint: 'f', 'm'"),
            ({"sex": None}, None, "reference must be one of the levels of 'sex'"),
            ({"age": 3}, None, "reference must be of columns whose levels are all features, got 'age'"),
            ({"wage": "f"}, None, "reference must be of columns whose levels are all features, got 'wage'"),
            ({"sex": "f"}, ["age", "sex=m"], "reference must be of columns whose levels are all features, got 'sex'"),
        ],
        ids=str,
    )
    def test_references(self, reference: Any, features: Any, message: str) -> None:
        release = released(TABLE, schema=SCHEMA, row_norm=None)
        with pytest.raises(ParameterError, match=message):
            release.ridge("pay", reference=reference, features=features)

    def test_a_reference_needs_an_intercept(self) -> None:
        release = released(TABLE, schema=SCHEMA, row_norm=None, center=False)
        assert release.ridge("pay", alpha=0.1).references == ()
        with pytest.raises(ParameterError, match="not centred has no intercept, and so no reference"):
            release.ridge("pay", reference={"sex": "f"})

    def test_released_coefficients_know_no_population(self) -> None:
        model = dpcov.ridge(rows(0) / 10, dpcov.PureDP(1), "x1", alpha=0.1, row_norm=1, seed=0).ridge()
        with pytest.raises(ReleaseError, match="must hold a covariance for intervals about the population, got one regression"):
            model.interval()
        assert model.interval(about="rows").clear
        with pytest.raises(ParameterError, match="reference must be None for a released model"):
            model.release.ridge(reference={"x1": 0})


def test_variances_beyond_floats_have_the_longest_tail() -> None:
    """Of a forged file: what is not a number must not end in the error of a solver."""
    found = quantile(np.array([np.nan, 1.0, 0.0]), 0.95)
    assert found[0] == found[1] > found[2]
