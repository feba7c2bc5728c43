"""Intervals hold as often as they say, over the noise; they have the right quantiles and units, and refuse what they must.

Coverage is counted over 200 seeded releases of one data set at level 0.9. A binomial test of each number rejects correct code
with probability 1e-6 at most in each direction: below 157 hits; and, where intervals must not be too wide, above 197. What that
would catch is asserted in `test_it_would_be_noticed`: half of a variance forgotten, or a standard error twice too large.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pandas
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy import integrate, stats

import dpcov
from dpcov import Categorical, Numeric, ParameterError, Release, ReleaseError, Schema
from dpcov.kernel.questions.choices import Quantile
from dpcov.kernel.questions.moments import Count, SecondMoment
from dpcov.kernel.questions.overlap import Overlap
from dpcov.kernel.rows.annulus import Annulus
from dpcov.mechanisms import running
from dpcov.mechanisms.covariance.gaussian import GAUSSIAN
from dpcov.mechanisms.covariance.rescaled import denoised
from dpcov.uses import tails
from dpcov.uses.coefficient_intervals import CoefficientIntervals, coefficient_intervals
from dpcov.uses.intervals import Interval, intervals
from dpcov.uses.tails import peaks, quantile

Floats = NDArray[np.float64]

LEVEL, SIZE, RUNS = 0.9, 1e-6, 200
LEAST, MOST, DRAWS = 157, 197, 3000
BUDGETS: dict[str, Any] = {
    "gaussian": dpcov.ZCDP(0.5),
    "laplace": dpcov.PureDP(1),
    "wishart": dpcov.PureDP(1),
    "frobenius": dpcov.PureDP(1),
}
noises = pytest.mark.parametrize("noise", list(BUDGETS))


def rows(n: int = 400, d: int = 3) -> Floats:
    """Return correlated rows of norm at most 1 with a mean, from a stream that no release draws its noise from."""
    x = np.random.default_rng((1, 5)).normal(size=(n, d)) * 0.25
    x[:, -1] += 0.8 * x[:, 0]
    x[:, 0] += 0.3
    return np.asarray(x / np.maximum(1, np.linalg.norm(x, axis=1, keepdims=True)))


def released(noise: str, data: Any = None, **settings: Any) -> Release:
    given = {"row_norm": 1, "seed": 0} | settings
    budget = given.pop("budget", BUDGETS.get(noise))
    return dpcov.covariance(rows() if data is None else data, budget, mechanism=noise, **given)


def moments(x: Floats, center: bool) -> tuple[Floats, Floats]:
    mean = x.mean(axis=0) * center
    return mean, x.T @ x / len(x) - np.outer(mean, mean)


def chance(hits: int, *, at_most: bool = True) -> bool:
    """Whether so many of `RUNS` hits may come of intervals that hold as often as they say (or more often, if allowed)."""
    few = stats.binomtest(hits, RUNS, LEVEL, alternative="less").pvalue >= SIZE
    many = stats.binomtest(hits, RUNS, LEVEL, alternative="greater").pvalue >= SIZE
    return bool(few and (many or not at_most))


def counts(hit: Callable[[int], NDArray[np.bool_]]) -> list[int]:
    total = np.sum([hit(seed) for seed in range(RUNS)], axis=0)
    return [int(count) for count in np.ravel(total)]


def model(release: Release, alpha: float, level: float = LEVEL) -> CoefficientIntervals:
    return coefficient_intervals(release, release.d - 1, range(release.d - 1), alpha, level)


def ridge_of(mean: Floats, covariance: Floats, alpha: float) -> tuple[Floats, float]:
    weights = np.linalg.solve(covariance[:-1, :-1] + alpha * np.eye(len(mean) - 1), covariance[:-1, -1])
    return np.asarray(weights, dtype=np.float64), float(mean[-1] - mean[:-1] @ weights)


@pytest.mark.parametrize("level", [1e-6, 0.5, 0.9, 0.95, 0.999, 1 - 1e-12])
def test_quantiles_are_those_of_the_laws(level: float) -> None:
    """Normal, Laplace, and differences of Gammas as mpmath has them: the sum of two Laplace numbers has k = 2."""
    found = quantile(np.array([0.0, 1.0, 0.5]), level)
    assert found[0] == pytest.approx(stats.norm.isf((1 - level) / 2), rel=1e-9)
    assert found[1] == pytest.approx(-math.log1p(-level) / math.sqrt(2), rel=1e-7)
    with mpmath.workdps(30):
        t = mpmath.mpf(float(found[2])) * 2  # its variance is 4; P(|X| > t) = (1 + t/2)·exp(−t)
        assert float((1 + t / 2) * mpmath.exp(-t)) == pytest.approx(1 - level, rel=1e-7, abs=1e-9 * level)


@pytest.mark.parametrize("k", [1.5, 3.0, 40.0, 5000.0])
def test_quantiles_against_an_integral(k: float) -> None:
    found = float(quantile(np.array(1 / k), 0.97)) * math.sqrt(2 * k)
    inside, _ = integrate.quad(
        lambda w: stats.gamma.pdf(w, k) * (2 * stats.norm.cdf(found / math.sqrt(2 * w)) - 1),
        float(stats.gamma.ppf(1e-14, k)),
        float(stats.gamma.isf(1e-14, k)),
        limit=500,
    )
    assert inside == pytest.approx(0.97, abs=1e-7)


def test_many_quantiles_are_interpolated() -> None:
    peaked = np.linspace(0, 1, 200)
    one_by_one = [float(quantile(np.array(value), 0.95)) for value in peaked[::20]]
    assert quantile(peaked, 0.95)[::20] == pytest.approx(one_by_one, rel=1e-4)


@noises
def test_the_laws_have_these_tails(noise: str) -> None:
    """Entries of drawn noise, standardised, stay within the quantile as often as it says.

    A binomial test of 3000 draws at 1e-6. Normal quantiles for Laplace noise would be seen with probability 0.95.
    """
    from dpcov.kernel.bits import SeededBits
    from dpcov.uses.raw import raw_moment

    release = released(noise, center=False)
    moment = release.take(SecondMoment)
    raw, bits = raw_moment(release), SeededBits(3)
    if moment.law.numerics == "exact":  # independent entries
        drawn = moment.law.draw((DRAWS, DRAWS), bits).reshape(2, DRAWS)
    else:
        drawn = np.array([moment.law.draw((3, 3), bits)[[0, 3]] for _ in range(DRAWS)]).T
    scaled = drawn * (2.0**-moment.unit_bits / release.n)
    for entry, variance, peaked in zip(scaled, (raw.diagonal, raw.off), raw.peaked, strict=True):
        inside = int(np.sum(np.abs(entry) <= math.sqrt(variance) * float(quantile(np.array(peaked), 0.99))))
        assert stats.binomtest(inside, DRAWS, 0.99).pvalue >= SIZE
    normal = -math.expm1(-math.sqrt(2) * stats.norm.isf(0.005))  # of Laplace noise within the normal quantile
    assert stats.binom.cdf(int(stats.binom.ppf(SIZE / 2, DRAWS, 0.99)) - 1, DRAWS, normal) > 0.95


def derivatives(release: Release, estimates: Callable[[Release], Floats]) -> tuple[Floats, Floats]:
    """Return the variance and the bias of estimates by differences: each noisy integer is moved there and back."""

    def moved(place: int, step: int, of_count: bool) -> Floats:
        answers = list(release.answers)
        wanted = Count if of_count else SecondMoment
        at = next(j for j, a in enumerate(answers) if type(a.question) is wanted)
        integers = answers[at].integers.copy()
        integers[place] += step
        answers[at] = dataclasses.replace(answers[at], integers=integers)
        n = release.n
        if of_count or (place == 0 and release.center and release.neighbors != "replace"):
            n += step if of_count else step // 4 ** (release.encoding.bits - 1)
        return estimates(dataclasses.replace(release, answers=tuple(answers), n=n))

    moment, count = release.take(SecondMoment), release.find(Count)
    width, step = release.d + release.center, release.n // 500 * 4 ** (release.encoding.bits - 1)
    spread = moment.law.spread()
    parts = [
        (j, step, False, spread.diagonal_variance if j < width else spread.off_diagonal_variance)
        for j in range(len(moment.integers))
    ]
    if count is not None:
        parts.append((0, release.n // 500, True, count.law.spread().diagonal_variance))
    middle = estimates(release)
    variance, bias = np.zeros_like(middle), np.zeros_like(middle)
    for place, size, of_count, noise in parts:
        up, down = moved(place, size, of_count), moved(place, -size, of_count)
        variance += ((up - down) / (2 * size)) ** 2 * noise
        bias += (up + down - 2 * middle) / size**2 * noise / 2
    return variance, bias


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_errors_are_those_of_derivatives(noise: str, center: bool, neighbors: str) -> None:
    """Standard errors, and under replace corrections for bias, are those of estimates that are made from moved answers."""
    generator = np.random.default_rng((1, 9))
    x = generator.uniform(size=(20_000, 3)) ** [1, 2, 3] * [1, 10, 100] + [5, 0, -20]
    x[:, 2] += 40 * x[:, 0] - 200
    schema = Schema({"a": Numeric(5, 6), "b": Numeric(0, 10), "c": Numeric(-20, 120)})
    budget = dpcov.ZCDP(1) if noise == "gaussian" else dpcov.PureDP(3)
    table = pandas.DataFrame(x, columns=["a", "b", "c"])
    release = released(noise, table, row_norm=None, schema=schema, budget=budget, center=center, neighbors=neighbors)

    def estimates(changed: Release) -> Floats:
        raw = changed.finished("none")
        encoded, units = raw.encoded_covariance, raw.units
        weights = np.linalg.solve(encoded[:2, :2] + 0.5 * np.eye(2), encoded[:2, 2]) * units[2] / units[:2]
        mean = raw.mean if center else np.zeros(3)
        return np.concatenate([raw.covariance[np.triu_indices(3)], weights, [mean[2] - weights @ mean[:2]], mean])

    variance, bias = derivatives(release, estimates)
    found, fitted = intervals(release), model(release, 0.5)
    parts = [(found.entries.estimate[np.triu_indices(3)], found.entries.standard_error[np.triu_indices(3)])]
    parts += [(fitted.coefficients.estimate, fitted.coefficients.standard_error)]
    if fitted.intercept is not None and found.mean is not None:
        intercept = np.atleast_1d(fitted.intercept.estimate), np.atleast_1d(fitted.intercept.standard_error)
        parts += [intercept, (found.mean.estimate, found.mean.standard_error)]
    estimate, error = (np.concatenate(column) for column in zip(*parts, strict=True))
    assert fitted.clear
    assert error == pytest.approx(np.sqrt(variance)[: len(error)], rel=0.003)
    if neighbors == "replace":
        raw = estimates(release)[: len(error)]
        gap = raw - estimate - bias[: len(error)]
        assert (np.abs(gap) <= 0.05 * np.abs(bias[: len(error)]) + 1e-9 * np.abs(raw)).all()
        assert (np.abs(bias[6:8]) > 1e-9 * np.abs(raw[6:8])).all()  # or nothing was compared


@pytest.mark.parametrize("center", [False, True])
def test_eigenvalues_are_corrected_by_derivatives(center: bool) -> None:
    """Far from each other, their errors and biases are those of eigenvalues of moved answers."""
    x = rows(20_000) * [1, 0.6, 0.9]
    release = released("gaussian", x, budget=dpcov.ZCDP(1), center=center)

    def estimates(changed: Release) -> Floats:
        raw = changed.finished("none")
        return np.asarray(np.linalg.eigvalsh(raw.encoded_covariance)[::-1], dtype=np.float64)

    variance, bias = derivatives(release, estimates)
    found = intervals(release).eigenvalues
    assert found.standard_error == pytest.approx(np.sqrt(variance), rel=0.01)
    assert estimates(release) - found.estimate == pytest.approx(bias, rel=0.05)


def test_eigenvalues_of_nothing_but_noise_hold() -> None:
    """The largest of five stands out by chance: corrected for its neighbours it would be missed too often."""
    found = [intervals(released("gaussian", np.zeros((100, 5)), seed=seed), LEVEL).eigenvalues for seed in range(RUNS)]
    assert all(chance(int(hits), at_most=False) for hits in np.sum([each.contains(np.zeros(5)) for each in found], axis=0))


@pytest.mark.parametrize("d", [1, 2, 7])
def test_kurtosis_is_that_of_the_noise(d: int) -> None:
    """The excess is 3/k: of χ² it is 12/m, of a product of normal numbers 6, and sums divide; Frobenius from its moments."""
    wishart, frobenius = (released(noise, rows(d=d)).take(SecondMoment) for noise in ("wishart", "frobenius"))
    terms, entries = d + 1, d * (d + 1) // 2
    assert peaks(wishart.law, d) == pytest.approx((12 / terms / 2 / 3, 6 / (2 * terms) / 3))
    fourth = math.prod(range(entries, entries + 4)) * 3 / (entries * (entries + 2))
    assert peaks(frobenius.law, d)[1] == pytest.approx((fourth / (entries + 1) ** 2 - 3) / 3)


@pytest.mark.parametrize(
    ("noise", "center", "neighbors"),
    [
        ("gaussian", False, "replace"),
        ("gaussian", True, "add-remove"),
        ("laplace", False, "add-remove"),
        pytest.param("laplace", True, "replace", marks=pytest.mark.audit),
        ("wishart", True, "replace"),
        pytest.param("frobenius", True, "add-remove", marks=pytest.mark.audit),
    ],
)
def test_entries_mean_and_coefficients_hold(noise: str, center: bool, neighbors: str) -> None:
    x = rows()
    mean, covariance = moments(x, center)
    weights, intercept = ridge_of(mean, covariance, 0.1)
    upper = np.triu_indices(3)

    def hit(seed: int) -> NDArray[np.bool_]:
        release = released(noise, x, center=center, neighbors=neighbors, seed=seed)
        found, fitted = intervals(release, LEVEL), model(release, 0.1)
        parts = [found.entries.contains(covariance)[upper], fitted.encoded.contains(weights)]
        if found.mean is not None and fitted.intercept is not None:
            parts += [found.mean.contains(mean), np.atleast_1d(fitted.intercept.contains(intercept))]
        return np.concatenate([*parts, found.eigenvalues.contains(np.linalg.eigvalsh(covariance)[::-1])])

    found = counts(hit)
    exact = found[:6] + found[8:-4] if center else found[:6]
    assert all(chance(hits) for hits in exact)
    assert all(chance(hits, at_most=False) for hits in found)  # the others may be wide


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_uncentred_rows_of_a_noisy_number_hold(mechanism: str) -> None:
    """One column of equal rows: the noise of n is a large part of the noise."""
    x = np.full((150, 1), 0.95)
    truth = moments(x, False)[1]
    found = counts(
        lambda seed: intervals(released(mechanism, x, neighbors="add-remove", seed=seed), LEVEL).entries.contains(truth)
    )
    assert chance(found[0], at_most=False)


def test_it_would_be_noticed() -> None:
    """Half of a variance forgotten is seen in one number with probability 0.45, and there are many; so is a double width."""
    assert [chance(hits) for hits in (LEAST - 1, LEAST, MOST, MOST + 1)] == [False, True, True, False]
    reach = stats.norm.ppf((1 + LEVEL) / 2)
    assert stats.binom.cdf(LEAST - 1, RUNS, 2 * stats.norm.cdf(reach / math.sqrt(2)) - 1) > 0.45
    assert stats.binom.sf(MOST, RUNS, 2 * stats.norm.cdf(2 * reach) - 1) > 0.99


@noises
@pytest.mark.parametrize("center", [False, True])
def test_intervals_shrink_with_rows_and_budget(noise: str, center: bool) -> None:
    """Standard errors go with 1/n, and with 1/ε or 1/√ρ: the public mean's part too, where rows are the same."""
    x, more = rows(), np.tile(rows(), (3, 1))
    budget = BUDGETS[noise]
    double = dpcov.ZCDP(4 * budget.rho) if noise == "gaussian" else dpcov.PureDP(2 * budget.epsilon)
    mean = np.zeros(3)

    def errors(data: Floats, **settings: Any) -> Floats:
        found = intervals(released(noise, data - data.mean(axis=0) * center + mean, center=center, **settings))
        return (found.entries if found.mean is None else found.mean).standard_error

    once = errors(x)
    assert errors(more) == pytest.approx(once / 3, rel=1e-6)
    assert errors(x, budget=double) == pytest.approx(once / 2, rel=1e-6)


@noises
@pytest.mark.parametrize("center", [False, True])
def test_with_hardly_any_noise_they_close_in_on_the_truth(noise: str, center: bool) -> None:
    x = np.rint(rows() * 2**10) / 2**10  # on the grid
    budget = dpcov.ZCDP(1e12) if noise == "gaussian" else dpcov.PureDP(1e7)
    release = released(noise, x, budget=budget, center=center)
    mean, covariance = moments(x, center)
    found, fitted = intervals(release), model(release, 0.05)
    assert found.entries.estimate == pytest.approx(covariance, abs=1e-5)
    assert float((found.entries.upper - found.entries.lower).max()) < 1e-5
    assert found.eigenvalues.estimate == pytest.approx(np.linalg.eigvalsh(covariance)[::-1], abs=1e-5)
    weights, intercept = ridge_of(mean, covariance, 0.05)
    assert fitted.clear
    assert fitted.coefficients.estimate == pytest.approx(weights, abs=1e-3)
    if fitted.intercept is not None and found.mean is not None:
        assert fitted.intercept.estimate == pytest.approx(intercept, abs=1e-3)
        assert found.mean.estimate == pytest.approx(mean, abs=1e-4)


def test_the_estimates_are_raw() -> None:
    """They are those of postprocess="none"; but the bias that the mean's noise brings is taken off the diagonal."""
    for center in (False, True):
        release = released("gaussian", center=center)
        raw = release.finished("none")
        found = intervals(release)
        bias = 0.0 if found.mean is None else float(found.mean.standard_error[0]) ** 2
        assert found.entries.estimate == pytest.approx(raw.covariance + bias * np.eye(3), rel=1e-12)
        if found.mean is not None:
            assert found.mean.estimate == pytest.approx(raw.mean, rel=1e-12)
        assert intervals(released("gaussian", center=center, postprocess="project")).entries.lower == pytest.approx(
            found.entries.lower
        )


def test_units_are_the_users_with_a_schema() -> None:
    """A schema in other units gives the same noise: all intervals follow, for coefficients and intercept as well."""
    generator = np.random.default_rng((1, 7))
    age, pay = generator.uniform(20, 80, 500), generator.uniform(0, 10, 500)
    sex = generator.choice(["F", "M"], 500)
    table = pandas.DataFrame({"age": age, "sex": sex, "pay": pay})
    far = pandas.DataFrame({"age": age * 12, "sex": sex, "pay": pay * 1000 - 7})
    levels = Categorical(["F", "M"])
    near = released(
        "gaussian",
        table,
        row_norm=None,
        schema=Schema({"age": Numeric(20, 80), "sex": levels, "pay": Numeric(0, 10)}),
        center=True,
    )
    schema = Schema({"age": Numeric(240, 960), "sex": levels, "pay": Numeric(-7, 9993)})
    other = released("gaussian", far, row_norm=None, schema=schema, center=True)
    factors = np.array([12, 1, 1, 1000.0])
    first, second = intervals(near), intervals(other)
    for bound in ("estimate", "lower", "upper", "standard_error"):
        assert getattr(second.entries, bound) == pytest.approx(
            getattr(first.entries, bound) * np.outer(factors, factors), rel=1e-6
        )
        assert getattr(second.eigenvalues, bound) == pytest.approx(getattr(first.eigenvalues, bound), rel=1e-6)
    assert first.mean is not None
    assert second.mean is not None
    assert second.mean.lower == pytest.approx(first.mean.lower * factors - [0, 0, 0, 7], rel=1e-6)
    before, after = model(near, 0.02), model(other, 0.02)
    assert after.encoded.lower == pytest.approx(before.encoded.lower, rel=1e-5)
    assert after.coefficients.upper == pytest.approx(before.coefficients.upper * 1000 / factors[:3], rel=1e-5)
    assert before.intercept is not None
    assert after.intercept is not None
    assert after.intercept.lower == pytest.approx(before.intercept.lower * 1000 - 7, rel=1e-5)
    x = np.column_stack([age, sex == "F", sex == "M", pay]).astype(float)
    assert np.mean(first.entries.contains(moments(x, True)[1])) > 0.7  # one draw of 10 intervals at 0.95: far less than chance


@pytest.mark.parametrize("radius", [1e-140, 1.0, 1e150])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 1e-300, 1e300])
def test_any_units_and_empty_data_give_numbers(radius: float, center: bool, alpha: float) -> None:
    for x in (rows() * radius, np.zeros((20, 3))):
        for neighbors in ("replace", "add-remove"):
            release = released("gaussian", x, row_norm=radius, center=center, neighbors=neighbors)
            found, fitted = intervals(release), model(release, alpha)
            for part in (found.entries, found.mean, found.eigenvalues, fitted.coefficients, fitted.encoded, fitted.intercept):
                if part is not None:
                    assert np.isfinite(part.estimate).all()
                    assert (part.lower <= part.upper).all()
                    assert not np.isnan(part.standard_error).any()


@pytest.mark.parametrize("center", [False, True])
def test_features_come_in_any_order_and_number(center: bool) -> None:
    release = released("laplace", rows(5000, 4), center=center)
    one, other = (coefficient_intervals(release, 1, places, 0.05) for places in ((0, 3), (3, 0)))
    assert one.coefficients.lower == pytest.approx(other.coefficients.lower[::-1], rel=1e-9)
    encoded = release.finished("none").encoded_covariance
    weights = np.linalg.solve(encoded[np.ix_([0, 3], [0, 3])] + 0.05 * np.eye(2), encoded[[0, 3], 1])
    assert one.encoded.estimate == pytest.approx(weights, rel=0.05)


def test_a_system_that_noise_could_make_singular_has_wide_intervals() -> None:
    """They hold for features with hardly any variance and large coefficients, where the linear ones would not."""
    x = rows()
    x[:, 1] *= 0.2
    x[:, 2] = 5 * x[:, 1] + 0.1 * x[:, 0]
    mean, covariance = moments(x, False)
    weights = ridge_of(mean, covariance, 1e-4)[0]
    assert np.abs(weights).max() > 3
    found = [model(released("gaussian", x, seed=seed), 1e-4) for seed in range(100)]
    assert sum(fit.clear for fit in found) < 20
    missed = np.sum([~fit.encoded.contains(weights) for fit in found], axis=0)
    assert missed.max() <= 30  # P(more than 30 of 100 at 0.1) < 1e-6
    assert all(np.isfinite(fit.encoded.upper).all() for fit in found)
    assert not np.isfinite(model(released("gaussian", np.zeros((20, 3))), 0.0).encoded.upper).any()


def test_the_scale_of_rescaled_is_in_them() -> None:
    """The raw matrix times its noisy scale holds the clipped rows times the exact one, and says so."""
    x = np.random.default_rng((1, 8)).normal(size=(2000, 3)) * [0.3, 0.2, 0.1]

    def clipped(radius: float) -> Floats:
        short = x * np.minimum(1, radius / np.linalg.norm(x, axis=1, keepdims=True))
        return np.asarray(short.T @ short / len(x))

    def hit(seed: int) -> NDArray[np.bool_]:
        release = released("rescaled", x, budget=dpcov.PureDP(1), seed=seed)
        moment, chosen, overlap = (release.take(kind) for kind in (SecondMoment, Quantile, Overlap))
        assert isinstance(overlap.question, Overlap)
        between = overlap.question.moment.grid
        assert isinstance(between, Annulus)
        inner, outer = between.inner.row_norm, between.outer.row_norm
        values, vectors = denoised(moment, release.n, chosen), moment.decomposition[1]
        removed = vectors.T @ (clipped(outer) - clipped(inner)) @ vectors / inner**2
        scale = 1 + float(values @ removed.diagonal()) / float(values @ values)
        found = intervals(release, LEVEL)
        assert "scale" in found.about
        return found.entries.contains(clipped(inner) * scale)[np.triu_indices(3)]

    assert all(chance(hits) for hits in counts(hit))


def test_the_noise_of_the_scale_is_added() -> None:
    """Moving the overlap by a standard deviation moves the raw estimate by what is left of the standard error."""
    x = np.random.default_rng((1, 8)).normal(size=(2000, 3)) * [0.3, 0.2, 0.1]
    release = released("rescaled", x, budget=dpcov.PureDP(4))
    moment, overlap = release.take(SecondMoment), release.take(Overlap)
    deviation = math.sqrt(overlap.law.spread().diagonal_variance)
    moved = dataclasses.replace(overlap, integers=overlap.integers + round(deviation))
    raw = release.finished("none")
    other = dataclasses.replace(raw, answers=tuple(moved if answer is overlap else answer for answer in raw.answers))
    noise, spread = moment.matrix / release.n, moment.spread.scaled(1 / release.n)
    squares = np.full((3, 3), spread.off_diagonal_variance)
    np.fill_diagonal(squares, spread.diagonal_variance)
    scale = raw.covariance[0, 0] / noise[0, 0]
    expected = np.sqrt(squares * scale**2 + (other.covariance - raw.covariance) ** 2)
    assert (np.abs(other.covariance - raw.covariance)[0, 0] / expected[0, 0]) > 0.1  # it is no small part
    assert intervals(release).entries.standard_error == pytest.approx(expected, rel=1e-3)


def test_intervals_are_read_only_and_nested() -> None:
    release = released("wishart", center=True)
    narrow, wide = intervals(release, 0.5), intervals(release, 0.99)
    for inner, outer in ((narrow.entries, wide.entries), (narrow.mean, wide.mean), (narrow.eigenvalues, wide.eigenvalues)):
        assert isinstance(inner, Interval)
        assert isinstance(outer, Interval)
        assert (outer.lower < inner.lower).all()
        assert (inner.upper < outer.upper).all()
        assert inner.standard_error == pytest.approx(outer.standard_error)
        for array in (inner.estimate, inner.lower, inner.upper, inner.standard_error):
            assert not array.flags.writeable
    assert intervals(release).level == 0.95
    assert "noise" in intervals(release).about


def test_means_end_at_the_public_bounds_and_their_errors_do_not() -> None:
    """A mean outside its bounds is impossible; how far noise reaches is what errors, and tests of a mean of 0, are made of."""
    schema = dpcov.Schema({"age": dpcov.Numeric(18, 90), "sex": dpcov.Categorical(["f", "m", "x"])})
    people = pa.table({"age": np.linspace(20.0, 80.0, 400), "sex": ["f", "m"] * 200})
    for mechanism in ("gaussian", "auto"):
        release = dpcov.covariance(people, dpcov.ZCDP("0.005"), schema=schema, center=True, mechanism=mechanism, seed=1)
        for about in ("rows", "population"):
            found = release.interval(0.999, about=about)
            mean, free = found.mean, found.unbounded_mean
            assert mean is not None
            assert free is not None
            low, high = schema.bounds()
            assert (mean.lower == np.clip(free.lower, low, high)).all()
            assert (mean.upper == np.clip(free.upper, low, high)).all()
            assert (free.lower < low).any()
            assert (mean.standard_error == free.standard_error).all()
            assert (mean.estimate == free.estimate).all()
        said = release.summary(0.999)[0]
        assert said is not None
        assert (said.lower >= low).all()
        assert (said.upper <= high).all()
        assert np.isfinite(said.p).all()


@pytest.mark.parametrize("about", ["rows", "population"])
@pytest.mark.parametrize("center", [False, True])
def test_variances_and_eigenvalues_end_at_zero(center: bool, about: str) -> None:
    """With noise as large as the rows; estimates stay raw, and may be below."""
    rows = np.random.default_rng(890).normal(size=(200, 6)) * 0.2
    release = dpcov.covariance(rows, dpcov.PureDP("0.5"), row_norm=1, mechanism="wishart", center=center, seed=891)
    found = release.interval(about=about)
    for part in (found.variances, found.eigenvalues):
        assert part.lower.min() == 0
        assert (part.upper >= part.lower).all()
    assert found.entries.lower.diagonal().min() < 0
    assert found.eigenvalues.estimate.min() < 0


def test_a_thousand_columns_are_served() -> None:
    """A million entries share a few quantiles: they are not computed one by one."""
    from dpcov.verify.testing import scripted

    curator = scripted([np.eye(1001) / 8], n=10**6, d=1000, budget=dpcov.ZCDP(1), center=True)
    release = running.released(GAUSSIAN, curator, dpcov.ZCDP(1))
    before = tails._quantile.cache_info().misses
    assert intervals(release).entries.lower.shape == (1000, 1000)
    assert tails._quantile.cache_info().misses - before <= 50


@pytest.mark.parametrize("level", [0, 1, 0.0, 1.0, -0.5, 2, math.nan, math.inf, True, "0.95", None, [0.5]])
def test_levels_are_probabilities(level: Any) -> None:
    release = released("gaussian")
    for refused in (lambda: intervals(release, level), lambda: model(release, 0.1, level)):
        with pytest.raises(ParameterError, match=r"level must be strictly between 0 and 1, got .* Hint: "):
            refused()


@pytest.mark.parametrize("alpha", [-1, math.nan, math.inf, True, "auto", None])
def test_penalties_are_numbers(alpha: Any) -> None:
    with pytest.raises(ParameterError, match=r"alpha must be 0 or more, and finite, got .* Hint: "):
        model(released("gaussian"), alpha)


@pytest.mark.parametrize(
    ("mechanism", "settings", "hint"),
    [
        ("coinpress", {"budget": dpcov.ZCDP(1)}, "release.confidence"),
        ("separate", {"budget": dpcov.ZCDP(1)}, "one noisy matrix"),
        ("eigenvectors", {"budget": dpcov.PureDP(10)}, "one noisy matrix"),
        ("kapralov-talwar", {"budget": dpcov.PureDP(10)}, "one noisy matrix"),
        ("rescaled", {"budget": dpcov.PureDP(1e-3)}, "nothing was asked"),
    ],
)
def test_releases_without_one_noisy_matrix_are_refused(mechanism: str, settings: Any, hint: str) -> None:
    release = released(mechanism, **settings)
    for refused in (lambda: intervals(release), lambda: model(release, 0.1)):
        with pytest.raises(ReleaseError, match=rf"release must hold .* Hint: .*{hint}"):
            refused()


def test_means_and_drawn_components_are_refused() -> None:
    mean = dpcov.mean(rows(), dpcov.ZCDP(1), radius=1, seed=0)
    drawn = dpcov.pca(rows(), dpcov.PureDP(5), 1, row_norm=1, seed=0)
    for release in (mean, drawn):
        with pytest.raises(ReleaseError, match=r"release must hold .* Hint: "):
            intervals(release)
