"""The noise is as small as its lemma allows and no smaller; a scale 5 % off fails every test here."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import dp_accounting
import mpmath
import numpy as np
import opendp.prelude as dp
import pytest
from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss

from dpcov.kernel.budget import ZCDP, ApproxDP, PureDP
from dpcov.kernel.calibrate import analytic_gaussian_sigma, gaussian_variance, laplace_scale, log_analytic_delta

EPSILONS = [1e-4, 1e-3, 1e-2, 0.1, 0.5, 1.0, 3.0, 10.0, 30.0, 100.0]
DELTAS = [1e-12, 1e-9, 1e-6, 1e-3, 0.05, 0.3]
GRID = list(product(EPSILONS, DELTAS))

MISTAKES = [Fraction(95, 100), Fraction(105, 100)]


def true_delta(sigma: mpmath.mpf, epsilon: Fraction) -> mpmath.mpf:
    """Φ(r/2 − ε/r) − e^ε·Φ(−r/2 − ε/r) for r = 1/σ: what the continuous Gaussian of sensitivity 1 costs."""
    e, ratio = mpmath.mpf(epsilon.numerator) / epsilon.denominator, 1 / sigma
    return mpmath.ncdf(ratio / 2 - e / ratio) - mpmath.exp(e) * mpmath.ncdf(-ratio / 2 - e / ratio)


def is_least(sigma: float, budget: ApproxDP) -> bool:
    """Whether σ is private and a σ smaller by 1e-9 is not, at 80 digits (the two terms cancel)."""
    with mpmath.workdps(80):
        exact, target = mpmath.mpf(sigma), mpmath.mpf(budget.delta.numerator) / budget.delta.denominator
        fits = true_delta(exact, budget.epsilon) <= target
        return bool(fits and true_delta(exact * (1 - mpmath.mpf("1e-9")), budget.epsilon) > target)


@pytest.mark.parametrize(
    ("sensitivity_squared", "rho", "variance"),
    [(1, "1/2", 1), (2, "0.1", 10), (Fraction(1, 3), "1/7", Fraction(7, 6)), (2 * 16**16, 0.1, 10 * 16**16)],
)
def test_gaussian_variance_is_exact(sensitivity_squared: Fraction, rho: float, variance: Fraction) -> None:
    assert gaussian_variance(Fraction(sensitivity_squared), ZCDP(rho)) == variance


@pytest.mark.parametrize(
    ("sensitivity", "epsilon", "scale"),
    [(1, 1, 1), (2, 0.1, 20), (Fraction(1, 3), "1/7", Fraction(7, 3)), (4**16, 0.3, Fraction(10 * 4**16, 3))],
)
def test_laplace_scale_is_exact(sensitivity: Fraction, epsilon: float, scale: Fraction) -> None:
    assert laplace_scale(Fraction(sensitivity), PureDP(epsilon)) == scale


def renyi_cost(variance: Fraction, shift: int) -> float:
    """Return the largest D_α/α between discrete Gaussians this far apart, over some orders α: their ρ."""
    with mpmath.workdps(30):
        spread = 2 * mpmath.mpf(variance.numerator) / variance.denominator
        reach = range(-400, 401)
        total = mpmath.fsum(mpmath.exp(-(x**2) / spread) for x in reach)
        return max(
            float(
                mpmath.log(mpmath.fsum(mpmath.exp((-a * x**2 + (a - 1) * (x - shift) ** 2) / spread) for x in reach) / total)
                / (a - 1)
                / a
            )
            for a in map(mpmath.mpf, ["1.01", "1.5", "2", "3", "4.7", "11"])
        )


@pytest.mark.parametrize(("shift", "rho"), [(1, 0.5), (1, 0.02), (2, 2), (3, "1/3")])
def test_gaussian_variance_costs_exactly_rho(shift: int, rho: float) -> None:
    """By the definition of zCDP, summed over the integers: at whole α the lemma is an equality."""
    variance = gaussian_variance(Fraction(shift**2), ZCDP(rho))
    promised = float(ZCDP(rho).rho)
    assert renyi_cost(variance, shift) == pytest.approx(promised, rel=1e-9)
    for mistake in MISTAKES:
        assert renyi_cost(variance * mistake, shift) != pytest.approx(promised, rel=0.04)


@pytest.mark.parametrize(("sensitivity", "amount"), [(1, 0.5), (2, 0.02), (4**8, 3.0)])
def test_gaussian_and_laplace_agree_with_opendp(sensitivity: int, amount: float) -> None:
    dp.enable_features("contrib")
    sigma = math.sqrt(gaussian_variance(Fraction(sensitivity**2), ZCDP(amount)))
    gaussian: Any = dp.m.make_gaussian(dp.atom_domain(T="i64"), dp.absolute_distance(T="f64"), scale=sigma)
    assert gaussian.map(float(sensitivity)) == pytest.approx(amount, rel=1e-12)
    scale = float(laplace_scale(Fraction(sensitivity), PureDP(amount)))
    laplace: Any = dp.m.make_laplace(dp.atom_domain(T="i64"), dp.absolute_distance(T="i64"), scale=scale)
    assert laplace.map(sensitivity) == pytest.approx(amount, rel=1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_analytic_sigma_is_the_least(epsilon: float, delta: float) -> None:
    budget = ApproxDP(epsilon, delta)
    sigma = analytic_gaussian_sigma(1.0, budget)
    assert is_least(sigma, budget)
    for mistake in MISTAKES:
        assert not is_least(sigma * float(mistake), budget)


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(1e-9, 1e-6), (1e-9, 1e-12), (1, 1e-100), (1, "1e-400"), (1, 0.999), (1e3, 1e-9), (1e4, 1e-6)],
)
def test_analytic_sigma_is_the_least_far_out(epsilon: float, delta: float) -> None:
    budget = ApproxDP(epsilon, delta)
    assert is_least(analytic_gaussian_sigma(1.0, budget), budget)


@pytest.mark.parametrize("epsilon", [1e5, 1e6, 1e8, 1e12, 1e17])
def test_analytic_sigma_exists_for_any_epsilon(epsilon: float) -> None:
    """σ = 1 is the first guess; there δ is far below what float64 holds and must not stop the search."""
    budget = ApproxDP(epsilon, 1e-6)
    sigma = analytic_gaussian_sigma(1.0, budget)
    with mpmath.workdps(80):
        assert true_delta(mpmath.mpf(sigma), budget.epsilon) <= mpmath.mpf("1e-6")


def test_analytic_sigma_scales_with_the_sensitivity() -> None:
    budget = ApproxDP(1, 1e-6)
    for sensitivity in [1e-9, 0.3, 2.0**33]:
        assert analytic_gaussian_sigma(sensitivity, budget) == pytest.approx(
            sensitivity * analytic_gaussian_sigma(1.0, budget), rel=1e-14
        )


def test_log_analytic_delta_against_80_digits() -> None:
    """On both sides of ratio = 1, where the formula changes."""
    ratios = [*np.geomspace(1e-6, 30, 40), 1.0, math.nextafter(1.0, 0.0)]
    with mpmath.workdps(80):
        for ratio, epsilon in product(ratios, [Fraction(1, 1000), Fraction(1), Fraction(10)]):
            truth = mpmath.log(true_delta(1 / mpmath.mpf(ratio), epsilon))
            if truth > -40:
                assert abs(log_analytic_delta(float(ratio), float(epsilon)) - truth) <= 1e-11


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_analytic_sigma_agrees_with_dp_accounting(epsilon: float, delta: float) -> None:
    """Its calibration, and the δ of its Gaussian privacy loss; each is float64 with a cancellation of its own."""
    sigma = analytic_gaussian_sigma(1.0, ApproxDP(epsilon, delta))
    assert sigma == pytest.approx(dp_accounting.get_sigma_gaussian(epsilon, delta), rel=1e-6)
    loss = GaussianPrivacyLoss(sigma, sensitivity=1)
    assert loss.get_delta_for_epsilon(epsilon) == pytest.approx(delta, rel=1e-4)
