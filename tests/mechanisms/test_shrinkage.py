"""Shrinkage: what holds for any spectrum, where it helps, and that it is told the right noise.

Seeds are literal; the averages below are of fixed draws and reject nothing that they once accepted.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from dpcov.kernel.budget import ZCDP
from dpcov.kernel.noise.laws import Spread
from dpcov.linalg import project_simplex
from dpcov.mechanisms.covariance.gaussian import GAUSSIAN
from dpcov.mechanisms.running import released
from dpcov.spectra import POSTPROCESS, project, shrink, shrink_spectrum
from dpcov.verify.testing import scripted

Floats = NDArray[np.float64]
SILENCE = Spread(0.0, 0.0)

numbers = st.one_of(
    st.floats(-10, 10), st.floats(-1e150, 1e150), st.sampled_from([0.0, -0.0, 1.0, 0.5, -1.0, 1e-300, 1e100, -1e100])
)


def spectra(most: int = 8) -> st.SearchStrategy[Floats]:
    return st.lists(numbers, min_size=1, max_size=most).map(lambda values: np.sort(np.array(values)))


variances = st.one_of(st.floats(0, 10), st.sampled_from([0.0, 1e-300, 1e-12, 1.0, 1e12, 1e100]))
spreads = st.builds(lambda v, w: Spread(2 * v, v, wishart=w), variances, st.booleans())
bounds = st.sampled_from([1.0, 1e-6, 30.0])


def assert_feasible(shrunk: Floats, bound: float) -> None:
    assert np.isfinite(shrunk).all()
    assert (shrunk >= 0).all()
    assert (np.diff(shrunk) >= -1e-12 * bound).all()
    assert shrunk.sum() <= bound * (1 + 1e-9)


class TestAnySpectrum:
    # Beyond 1e16 times the bound a sum loses all digits of the others.
    @example(np.array([-7.958220797707723e33, 0, 0, 0, 0, 0, 0, 1.0]), SILENCE, 1.0)
    @given(spectra(), spreads, bounds)
    @settings(max_examples=600)
    def test_ascending_nonnegative_finite_and_bounded(self, noisy: Floats, noise: Spread, bound: float) -> None:
        with np.errstate(all="ignore"):
            shrunk = shrink_spectrum(noisy, noise, bound)
        assert shrunk.shape == noisy.shape
        assert_feasible(shrunk, bound)

    @given(st.integers(0, 2**32), st.sampled_from([0.0, 1e-9, 1e-3, 0.1, 10.0, 1e6]), st.booleans())
    @settings(max_examples=60)
    def test_fifty_columns(self, seed: int, deviation: float, is_wishart: bool) -> None:
        random = np.random.default_rng(seed)
        noisy = np.sort(random.exponential(0.02, 50) + deviation * random.normal(size=50))
        noisy[:: random.integers(1, 9)] = noisy[0]  # ties
        noise = Spread(2 * deviation**2 / 50, deviation**2 / 50, wishart=is_wishart)
        assert_feasible(shrink_spectrum(np.sort(noisy), noise, 1.0), 1.0)

    @given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8), bounds)
    @settings(max_examples=300)
    def test_without_noise_it_is_clip_and_project(self, values: list[float], bound: float) -> None:
        """Up to float64's error in a sum of such numbers, 1e-8."""
        noisy = bound * np.sort(np.array(values))
        expected = project_simplex(np.clip(noisy, 0, bound), bound)
        for silence in (SILENCE, replace(SILENCE, wishart=True)):
            assert np.allclose(shrink_spectrum(noisy, silence, bound), expected, rtol=0, atol=1e-8 * bound)

    @given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
    @settings(max_examples=100)
    def test_without_noise_a_possible_spectrum_stays(self, values: list[float]) -> None:
        truth = np.sort(np.array(values)) / max(1.0, 1.0001 * sum(values))
        assert np.allclose(shrink_spectrum(truth, SILENCE, 1.0), truth, rtol=0, atol=1e-15)

    @pytest.mark.parametrize("d", [1, 2, 5, 50])
    @pytest.mark.parametrize("is_wishart", [False, True])
    @pytest.mark.parametrize("power", [-20, -1, 1, 13])
    def test_units_do_not_matter(self, d: int, is_wishart: bool, power: int) -> None:
        """Everything times a power of two gives the result times it, bit for bit."""
        random = np.random.default_rng(601 + d)
        factor = 2.0**power
        for deviation in (0.01, 0.1, 1.0):
            noisy = np.sort(random.exponential(1 / d, d) + deviation * random.normal(size=d))
            noise = Spread(2 * deviation**2 / d, deviation**2 / d, wishart=is_wishart)
            scaled = shrink_spectrum(noisy * factor, noise.scaled(factor), factor)
            assert np.array_equal(scaled, factor * shrink_spectrum(noisy, noise, 1.0))

    def test_units_of_any_size_have_a_noise(self) -> None:
        """A file may have any; where squares overflow it is infinite, which no error says."""
        assert Spread(2.0, 1.0).scaled(1e200) == Spread(math.inf, math.inf)
        assert Spread(2.0, 1.0).scaled(3.0) == Spread(18.0, 9.0)


def orthogonal(random: np.random.Generator, d: int) -> Floats:
    return np.asarray(np.linalg.qr(random.normal(size=(d, d)))[0])


def gaussian_noise(random: np.random.Generator, d: int, variance: float) -> tuple[Floats, Spread]:
    """Draw isometric Gaussian noise with this variance above the diagonal."""
    square = random.normal(size=(d, d)) * math.sqrt(variance / 2)
    return square + square.T, Spread(2 * variance, variance)


def wishart_noise(random: np.random.Generator, d: int, variance: float) -> tuple[Floats, Spread]:
    """Draw a difference of Wisharts with this variance above the diagonal, 2(d+1)s²."""
    plus, minus = random.normal(size=(2, d, d + 1)) * (variance / (2 * (d + 1))) ** 0.25
    return plus @ plus.T - minus @ minus.T, Spread(2 * variance, variance, wishart=True)


NOISES = {"gaussian": gaussian_noise, "wishart": wishart_noise}


def planted(random: np.random.Generator, d: int) -> Floats:
    """Return a second moment with three directions that hold most of its trace."""
    spectrum = np.full(d, 0.1 / d)
    spectrum[-3:] = [0.1, 0.2, 0.4]
    basis = orthogonal(random, d)
    return np.asarray((basis * spectrum) @ basis.T)


def distance(a: Floats, b: Floats) -> float:
    return float(np.linalg.norm(a - b))


@pytest.mark.parametrize("name", NOISES)
class TestMatrices:
    @pytest.mark.parametrize("d", [2, 3, 8, 50])
    @pytest.mark.parametrize("variance", [1e-8, 1e-4, 1e-2])
    def test_a_rotation_before_is_a_rotation_after(self, name: str, d: int, variance: float) -> None:
        random = np.random.default_rng(611)
        noise, spread = NOISES[name](random, d, variance)
        noisy, basis = noise + np.eye(d) / (2 * d), orthogonal(random, d)
        turned = basis @ noisy @ basis.T
        expected = basis @ shrink(noisy, 1.0, spread) @ basis.T
        assert np.allclose(shrink((turned + turned.T) / 2, 1.0, spread), expected, rtol=0, atol=1e-9)

    @pytest.mark.parametrize("deviation", [0.01, 0.02, 0.04])
    def test_better_than_projection_on_spikes(self, name: str, deviation: float) -> None:
        """The reason for it: the mean error of 20 draws at d = 30 is at least 8 % below that of the projection."""
        random = np.random.default_rng(612)
        errors = []
        for _ in range(20):
            truth = planted(random, 30)
            noise, spread = NOISES[name](random, 30, deviation**2)
            errors.append([distance(rule(truth + noise, 1.0, spread), truth) for rule in (shrink, project)])
        shrunk, projected = np.mean(errors, axis=0)
        assert shrunk < 0.92 * projected

    @pytest.mark.parametrize("deviation", [0.3, 3.0, 1e3])
    def test_hopeless_noise_costs_little_more_than_nothing(self, name: str, deviation: float) -> None:
        """d = 50: never more than 5 % farther from the truth than the zero matrix; clipping is many times as far."""
        random = np.random.default_rng(613)
        for _ in range(10):
            truth = planted(random, 50)
            noise, spread = NOISES[name](random, 50, deviation**2)
            assert distance(shrink(truth + noise, 1.0, spread), truth) <= 1.05 * distance(0 * truth, truth)
            assert distance(POSTPROCESS["clip"](truth + noise, 1.0, spread), truth) > 2 * distance(0 * truth, truth)


class TestTheNoiseItIsTold:
    """A release shrinks S/n, so the noise is that of S divided by n; told that of S, it would flatten everything."""

    @pytest.mark.parametrize(("answer", "n"), [(40.0, 1000), (-30.0, 1000), (900.0, 1000), (3.0, 10)])
    def test_one_column_by_its_closed_form(self, answer: float, n: int) -> None:
        """To 1e-9: within five deviations of zero, the mean of a normal number cut to [0, 1]; else itself."""
        rho = ZCDP("0.0005")  # σ = √1000 in the sum
        release = released(GAUSSIAN, scripted([[[answer]]], n=n, d=1, budget=rho), rho)
        observed, deviation = answer / n, math.sqrt(1000.0) / n
        expected = cut_mean(observed, deviation, 1.0) if observed < 5 * deviation else observed
        assert release.second_moment[0, 0] == pytest.approx(expected, abs=1e-9)

    def test_one_spectrum(self) -> None:
        """To 1e-9: two eigenvalues stand out and stay, the two below the edge share what their sum says, all to the larger.

        Told the noise of S, shrinkage gives 1/8 to each of the four.
        """
        rotation = np.eye(4) - np.outer([1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]) / 15
        noisy, rho = np.array([-0.015, 0.03, 0.09, 0.5]), ZCDP("0.01")  # σ = 10 in the sum
        answer = (rotation * noisy) @ rotation.T * 1000
        release = released(GAUSSIAN, scripted([answer], n=1000, d=4, budget=rho), rho)
        expected = [0.0, cut_mean(0.015, 0.01 * math.sqrt(2), 0.41), 0.09, 0.5]
        assert np.allclose(release.second_moment, (rotation * expected) @ rotation.T, rtol=0, atol=1e-9)
        told_of_the_sum = shrink_spectrum(noisy, Spread(100.0, 50.0), 1.0)
        assert np.allclose(told_of_the_sum, 0.125, rtol=0, atol=1e-4)


def cut_mean(observed: float, deviation: float, room: float) -> float:
    """Return the mean of a normal number cut to [0, room]."""
    cut = stats.truncnorm(-observed / deviation, (room - observed) / deviation, loc=observed, scale=deviation)
    return float(cut.mean())
