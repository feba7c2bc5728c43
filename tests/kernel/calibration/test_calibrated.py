"""From statistic, relation and budget to the law of the noise: every combination, against the formulas and against search.

Nothing here is random but the starting points of a search; a constant 5 % off fails.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize

from dpcov.errors import ParameterError
from dpcov.kernel.account import Account
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP, decimal_text, pays_for
from dpcov.kernel.calibrate import SIGMA_SLACK, analytic_gaussian_sigma
from dpcov.kernel.curator import Curator
from dpcov.kernel.noise.laws import DiscreteGaussian, DiscreteLaplace
from dpcov.kernel.noise.matrix import FrobeniusNoise, WishartDifference, calibrate_frobenius, calibrate_wishart
from dpcov.kernel.public import Public
from dpcov.kernel.questions import calibrated as calibrated_module
from dpcov.kernel.questions.calibrated import DISCRETE_GAP, OTHER_DIGITS, calibrated, check_tail, is_analytic, is_enough
from dpcov.kernel.questions.moments import NEIGHBORS, Count, SecondMoment, Sum
from dpcov.kernel.rows.grid import Grid
from dpcov.linalg import pack, triangle_size, unpack
from dpcov.mechanisms.covariance.auto import AUTO
from dpcov.mechanisms.running import released
from dpcov.mechanisms.shared.additive import plan_additive, predicted_errors
from dpcov.release.statement import promise
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import Noiseless, NoSource, ScriptedSums, encoding_of, opened

Floats = NDArray[np.float64]
Statistic = Count | Sum | SecondMoment
GRID = Grid(1.0)
R = 2**16
DIMENSIONS = (1, 2, 3, 4, 5, 13)
EPSILONS = [Fraction(1, 100), Fraction(1), Fraction(7, 3)]
RHOS = [Fraction(1, 1000), Fraction(1, 10), Fraction(5)]


def b_of(d: int, neighbors: str) -> float:
    """B(d): the L1 sensitivity of the triangle for rows of norm 1."""
    if neighbors == "add-remove":
        return (d + 1) / 2
    return {1: 1.0, 2: math.sqrt(5)}.get(d, 2 + math.sqrt((d - 1) * (d - 2) / 2))


def frobenius_squared(d: int, neighbors: str) -> int:
    return 2 if neighbors == "replace" and d > 1 else 1


def private_statistics(neighbors: str, d: int) -> list[Statistic]:
    return [Sum(GRID, d), SecondMoment(GRID, d), *([Count()] if neighbors == "add-remove" else [])]


def euclidean_squared(statistic: Statistic, neighbors: str) -> int:
    """Δ₂² of MATHS 1 in grid steps."""
    if isinstance(statistic, Count):
        return 1
    if isinstance(statistic, Sum):
        return (4 if neighbors == "replace" else 1) * R**2
    assert isinstance(statistic, SecondMoment)
    return frobenius_squared(statistic.d, neighbors) * R**4


class TestLaws:
    @pytest.mark.parametrize("rho", RHOS)
    @pytest.mark.parametrize("d", DIMENSIONS)
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    def test_gaussian_under_zcdp(self, neighbors: str, d: int, rho: Fraction) -> None:
        """σ² = Δ²/(2ρ), half of it above the diagonal: exact fractions."""
        for statistic in private_statistics(neighbors, d):
            law = calibrated(statistic, ZCDP(rho), neighbors, "gaussian")
            variance = Fraction(euclidean_squared(statistic, neighbors)) / (2 * rho)
            names = [part.name for part in statistic.parts]
            expected = [variance, variance / 2] if isinstance(statistic, SecondMoment) else [variance]
            assert isinstance(law, DiscreteGaussian)
            assert law.variances == tuple(zip(names, expected, strict=True))

    @pytest.mark.parametrize("epsilon", EPSILONS)
    @pytest.mark.parametrize("d", DIMENSIONS)
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    def test_laplace(self, neighbors: str, d: int, epsilon: Fraction) -> None:
        """b = Δ₁/ε: exact for the count and add-remove, rounded up by at most 1e-11 where Δ₁ has a root."""
        for statistic in private_statistics(neighbors, d):
            law = calibrated(statistic, PureDP(epsilon), neighbors, "laplace")
            assert isinstance(law, DiscreteLaplace)
            if isinstance(statistic, Count):
                assert law.scale == 1 / epsilon
                continue
            factor = 2 if neighbors == "replace" else 1
            exact = factor * math.sqrt(d) * R if isinstance(statistic, Sum) else b_of(d, neighbors) * R**2
            assert float(law.scale * epsilon) == pytest.approx(exact, rel=2e-12)
            if isinstance(statistic, Sum):
                assert (law.scale * epsilon) ** 2 >= factor**2 * d * R**2
            elif neighbors == "add-remove":
                assert law.scale == Fraction(d + 1, 2) * R**2 / epsilon
            elif d >= 3:
                assert (law.scale * epsilon / R**2 - 2) ** 2 >= Fraction((d - 1) * (d - 2), 2)
            elif d == 2:
                assert (law.scale * epsilon / R**2) ** 2 >= 5

    @pytest.mark.parametrize("rho", RHOS)
    @pytest.mark.parametrize("d", DIMENSIONS)
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    def test_laplace_under_zcdp(self, neighbors: str, d: int, rho: Fraction) -> None:
        """b² = Δ₂²/(2ρ), the variance of a Gaussian at this price, rounded up by at most 1e-9."""
        for statistic in private_statistics(neighbors, d):
            law = calibrated(statistic, ZCDP(rho), neighbors, "laplace")
            assert isinstance(law, DiscreteLaplace)
            squared = Fraction(euclidean_squared(statistic, neighbors)) / (2 * rho)
            assert squared <= law.scale**2 <= squared * (1 + Fraction(1, 10**9))
            assert is_enough(law, statistic, ZCDP(rho), neighbors)
            assert not is_enough(DiscreteLaplace(law.scale * (1 - Fraction(1, 10**6))), statistic, ZCDP(rho), neighbors)

    @pytest.mark.parametrize("scale", ["0.7", "2", "11"])
    @pytest.mark.parametrize("moved", [1, 2, 5])
    def test_a_laplace_number_is_as_concentrated_as_its_price(self, scale: str, moved: int) -> None:
        """D_α ≤ α·(δ/b)²/2 for discrete Laplace numbers that are δ apart, at 40 digits: what the price of a sum rests on."""
        with mpmath.workdps(40):
            b = mpmath.mpf(scale)
            reach = int(120 * b) + 50 + moved
            weights = {x: mpmath.exp(-abs(x) / b) for x in range(-reach, reach + 1)}
            total = mpmath.fsum(weights.values())
            for order in (mpmath.mpf("1.001"), 2, 5, 40):
                power = mpmath.fsum(
                    weights[x] ** order * weights[x - moved] ** (1 - order) for x in weights if x - moved in weights
                )
                divergence = mpmath.log(power / total) / (order - 1)
                assert 0 < divergence <= order * (moved / b) ** 2 / 2

    @pytest.mark.parametrize("epsilon", EPSILONS)
    @pytest.mark.parametrize("d", DIMENSIONS)
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    def test_wishart_and_frobenius(self, neighbors: str, d: int, epsilon: Fraction) -> None:
        """s = Δ_*/(2(ε − excess)) and Δ_F/(ε − excess), to 1e-12 and never below."""
        moment = SecondMoment(GRID, d)
        nuclear = frobenius_squared(d, neighbors)  # 2 or 1, as the square of Δ_F
        wishart = calibrated(moment, PureDP(epsilon), neighbors, "wishart")
        assert isinstance(wishart, WishartDifference)
        exact = Fraction(nuclear * R**2, 2) / (epsilon - wishart.excess)
        assert exact <= wishart.scale <= exact * (1 + Fraction(1, 10**12))
        frobenius = calibrated(moment, PureDP(epsilon), neighbors, "frobenius")
        assert isinstance(frobenius, FrobeniusNoise)
        ratio = frobenius.scale**2 * (epsilon - frobenius.excess) ** 2 / (nuclear * R**4)
        assert 1 <= ratio <= 1 + Fraction(1, 10**11)
        for law in (wishart, frobenius):
            assert law.d == d
            assert law.excess < epsilon * Fraction(1, 10**5)

    @pytest.mark.parametrize(("epsilon", "delta"), [(1, "1e-6"), ("0.1", "1e-9"), (8, "0.01")])
    @pytest.mark.parametrize("d", [1, 2, 13])
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    def test_gaussian_under_approximate_dp(self, neighbors: str, d: int, epsilon: Any, delta: str) -> None:
        """Balle and Wang's σ at δ − (1+e^ε)·0.021·Σ1/σⱼ²: within 1e-9 of it, and never below the one at δ."""
        budget = ApproxDP(epsilon, delta)
        law = calibrated(SecondMoment(GRID, d), budget, neighbors, "gaussian")
        assert isinstance(law, DiscreteGaussian)
        (_, diagonal), (_, upper) = law.variances
        assert upper == diagonal / 2
        sensitivity = math.sqrt(frobenius_squared(d, neighbors)) * R**2
        plain = analytic_gaussian_sigma(1.0, budget)
        assert plain <= math.sqrt(diagonal) / sensitivity * (1 + 1e-15)
        assert math.sqrt(diagonal) == pytest.approx(plain * sensitivity, rel=1e-6)
        gap = (1 + math.exp(float(budget.epsilon))) * 0.021 * d * d / float(diagonal)
        lowered = analytic_gaussian_sigma(1.0, ApproxDP(budget.epsilon, budget.delta - Fraction(gap)))
        assert lowered * (1 - 1e-10) <= math.sqrt(diagonal) / sensitivity <= lowered * (1 + 1e-9)

    def test_what_does_not_fit_is_refused(self) -> None:
        """Every noise serves its own notions and statistics only."""
        budgets: dict[str, Budget] = {"pure": PureDP(1), "zCDP": ZCDP(1), "approx": ApproxDP(1, "1e-6")}
        fits = {"gaussian": {"zCDP", "approx"}, "laplace": {"pure", "zCDP"}, "wishart": {"pure"}, "frobenius": {"pure"}}
        for noise, notions in fits.items():
            for notion, budget in budgets.items():
                if notion in notions:
                    calibrated(SecondMoment(GRID, 2), budget, "replace", noise)
                else:
                    with pytest.raises(ParameterError, match=r"noise must serve .* Hint: "):
                        calibrated(SecondMoment(GRID, 2), budget, "replace", noise)
        for noise in ("wishart", "frobenius"):
            for statistic in (Sum(GRID, 2), Count()):
                with pytest.raises(ParameterError, match="noise must serve"):
                    calibrated(statistic, PureDP(1), "add-remove", noise)
        for noise in ("", "Gaussian", "cauchy"):
            with pytest.raises(ParameterError, match="noise must serve"):
                calibrated(SecondMoment(GRID, 2), ZCDP(1), "replace", noise)
        with pytest.raises(ParameterError, match="statistic must be private"):
            calibrated(Count(), PureDP(1), "replace", "laplace")

    @pytest.mark.parametrize("floor", [Fraction(1, 10**6), Fraction(1, 2), Fraction(3), Fraction(1000)])
    @pytest.mark.parametrize(
        ("noise", "budget"),
        [("gaussian", ZCDP(1)), ("laplace", PureDP(1)), ("laplace", ZCDP(1)), ("wishart", PureDP(1)), ("frobenius", PureDP(1))],
    )
    def test_a_floor_only_raises(self, noise: str, budget: Budget, floor: Fraction) -> None:
        moment = SecondMoment(GRID, 3)
        without, with_floor = (calibrated(moment, budget, "replace", noise, least) for least in (None, floor))
        assert with_floor.is_at_least(without)
        assert is_enough(with_floor, moment, budget, "replace")
        if isinstance(with_floor, DiscreteGaussian) and isinstance(without, DiscreteGaussian):
            for (_, raised), (_, plain) in zip(with_floor.variances, without.variances, strict=True):
                assert raised == max(plain, floor * R**4)
        elif isinstance(with_floor, DiscreteLaplace) and isinstance(without, DiscreteLaplace):
            assert with_floor.scale == max(without.scale, floor * R**2)
        else:
            assert isinstance(with_floor, WishartDifference | FrobeniusNoise)
            assert isinstance(without, WishartDifference | FrobeniusNoise)
            least = max(without.scale, floor * R**2)
            assert least * (1 - Fraction(1, 10**6)) <= with_floor.scale <= least * (1 + Fraction(1, 10**6))
            assert with_floor.scale >= floor * R**2
            assert 2.0**with_floor.lattice <= math.sqrt(with_floor.spread().off_diagonal_variance) / 8 * (1 + 1e-6)


class TestIsEnough:
    """What a file must show: exactly the noise that its price needs, where that is a fraction."""

    A_LITTLE = 1 - Fraction(1, 10**15)
    MOMENT = SecondMoment(GRID, 3)

    @pytest.mark.parametrize("part", [0, 1])
    def test_variances(self, part: int) -> None:
        law = calibrated(self.MOMENT, ZCDP("1/7"), "replace", "gaussian")
        assert isinstance(law, DiscreteGaussian)
        assert is_enough(law, self.MOMENT, ZCDP("1/7"), "replace")
        less = tuple((name, size * (self.A_LITTLE if i == part else 1)) for i, (name, size) in enumerate(law.variances))
        assert not is_enough(DiscreteGaussian(less), self.MOMENT, ZCDP("1/7"), "replace")

    def test_scales(self) -> None:
        law = calibrated(self.MOMENT, PureDP("1/7"), "replace", "laplace")
        assert isinstance(law, DiscreteLaplace)
        assert is_enough(law, self.MOMENT, PureDP("1/7"), "replace")
        assert not is_enough(DiscreteLaplace(law.scale * self.A_LITTLE), self.MOMENT, PureDP("1/7"), "replace")

    def test_variances_that_are_found_with_logarithms(self) -> None:
        """Within a twentieth of what the calibration adds: another machine's last digits, and no more."""
        budget = ApproxDP(1, "1e-6")
        law = calibrated(self.MOMENT, budget, "replace", "gaussian")
        assert isinstance(law, DiscreteGaussian)
        assert 2 * SIGMA_SLACK == 20 * (1 - OTHER_DIGITS)
        for missing, enough in (("0", True), ("9e-13", True), ("11e-13", False)):
            lower = DiscreteGaussian(tuple((name, size * (1 - Fraction(missing))) for name, size in law.variances))
            assert is_enough(lower, self.MOMENT, budget, "replace") is enough

    @pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1), Fraction(50), Fraction(10**13)])
    @pytest.mark.parametrize("d", [1, 3, 40])
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize("noise", ["wishart", "frobenius"])
    def test_rounded_noise(self, noise: str, neighbors: str, d: int, epsilon: Fraction) -> None:
        """Scale and excess pay for one ε together, and the excess must cover what rounding to this lattice costs."""
        moment, budget = SecondMoment(GRID, d), PureDP(epsilon)
        law = calibrated(moment, budget, neighbors, noise)
        assert isinstance(law, WishartDifference | FrobeniusNoise)

        def enough(**other: Any) -> bool:
            return is_enough(replace(law, **other), moment, budget, neighbors)

        assert enough()
        assert enough(scale=law.scale * 2, lattice=law.lattice + 1)
        assert enough(scale=law.scale * (1 + law.excess / epsilon), excess=law.excess * (1 + Fraction(1, 10**10)))
        if epsilon <= 1:  # else the least deviation decides, and a little less of it would do
            assert not enough(scale=law.scale * self.A_LITTLE)
            assert not enough(excess=law.excess * (1 + Fraction(1, 10**6)))
        assert not enough(scale=law.scale / 2**20)
        assert not enough(excess=law.excess / 4)
        assert not enough(lattice=law.lattice - 4)
        assert not enough(lattice=0)
        assert not enough(tail=law.tail / 2)
        assert not enough(d=d + 1)
        assert not enough(excess=epsilon * 2)

    def test_an_excess_of_another_machine(self) -> None:
        """Its logarithm may end in other digits, and then the float that is next to the scale is taken."""
        budget = PureDP("1/7")
        law = calibrated(self.MOMENT, budget, "replace", "wishart")
        assert isinstance(law, WishartDifference)
        for digits in (-(10**-14), 10**-14):
            excess = Fraction(math.ceil(law.excess * Fraction(1 + digits) * 2**64), 2**64)
            exact = Fraction(R**2) / (budget.epsilon - excess)
            scale = Fraction(math.nextafter(float(exact), math.inf))
            assert is_enough(replace(law, excess=excess, scale=scale), self.MOMENT, budget, "replace")


def l1(x: Floats, y: Floats) -> float:
    return float(np.abs(pack(np.outer(x, x) - np.outer(y, y))).sum())


def nuclear(x: Floats, y: Floats) -> float:
    return float(np.abs(np.linalg.eigvalsh(np.outer(x, x) - np.outer(y, y))).sum())


def into_ball(v: Floats) -> Floats:
    return v / max(1.0, float(np.linalg.norm(v)))


def worst_pair(d: int, neighbors: str, distance: Any, seed: int) -> float:
    """Search the largest distance over pairs of rows in the ball: random pairs, then Nelder and Mead from the best."""
    random = np.random.default_rng(seed)

    def minus(z: Any) -> float:
        y = into_ball(z[d:]) if neighbors == "replace" else np.zeros(d)
        return -float(distance(into_ball(z[:d]), y))

    starts = sorted(random.normal(size=(2000, 2 * d)), key=minus)[:4]
    found: list[Any] = [minimize(minus, start, method="Nelder-Mead", tol=1e-8) for start in starts]
    return max(-float(result.fun) for result in found)


def largest_l1(d: int, neighbors: str) -> float:
    """Return the exact maximum of Σ_{i≤j} |xᵢxⱼ − yᵢyⱼ| over the ball.

    It is the largest tr(M(xxᵀ − yyᵀ)) over the matrices M of signs, halved off the diagonal: λ_max(M) − λ_min(M), where a row
    that would count the wrong way is zero.
    """
    signs = np.array(list(product([-1.0, 1.0], repeat=triangle_size(d))))
    signs[:, d:] /= 2
    spectra = np.linalg.eigvalsh(np.stack([unpack(row, d) for row in signs]))
    highest, lowest = np.maximum(spectra[:, -1], 0), np.maximum(-spectra[:, 0], 0)
    return float((highest + lowest).max() if neighbors == "replace" else np.maximum(highest, lowest).max())


@pytest.mark.parametrize("d", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("neighbors", NEIGHBORS)
class TestSensitivities:
    def test_triangle(self, neighbors: str, d: int) -> None:
        """Never exceeded, and reached within 4.5 % (exactly for d ≤ 2 and add-remove): 5 % more or less fails."""
        bound = float(SecondMoment(GRID, d).sensitivity_l1(neighbors) / R**2)
        largest = largest_l1(d, neighbors)
        slack = 0.045 if neighbors == "replace" and d > 2 else 1e-11
        assert (1 - slack) * bound <= largest <= bound * (1 + 1e-12)
        assert 0.999 * largest <= worst_pair(d, neighbors, l1, 501) <= largest * (1 + 1e-12)  # the search finds no more

    def test_nuclear(self, neighbors: str, d: int) -> None:
        """Never exceeded, and reached exactly: e1 by e2, or e1 by nothing."""
        bound = SecondMoment(GRID, d).sensitivity_nuclear(neighbors) / R**2
        unit = np.eye(max(d, 2))[:, :d]
        replaced = unit[1] if neighbors == "replace" else np.zeros(d)
        assert nuclear(unit[0], replaced) == bound
        assert 0.999 * bound <= worst_pair(d, neighbors, nuclear, 502) <= bound * (1 + 1e-12)


def discrete_tail(sigma: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    """Return Σ (P(x) − e^ε·P(x−1))₊ for the discrete Gaussian: its true δ for a number that moves by one."""
    reach = int(15 * sigma) + 2
    half = [mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * sigma**2)) for x in range(reach + 1)]
    weights = [*half[:0:-1], *half]
    total, factor = mpmath.fsum(weights), mpmath.exp(epsilon)
    return mpmath.fsum(max(b - factor * a, 0) for b, a in pairwise(weights)) / total


class TestDiscreteUnderApproximateDP:
    @pytest.mark.parametrize(("epsilon", "delta"), [("0.0005", "0.0001"), ("0.001", "0.00001")])
    def test_the_true_delta_of_a_count(self, epsilon: str, delta: str) -> None:
        """Summed over the integers at 30 digits: at most δ, and more than 0.98 δ, so that a σ 1 % off would show."""
        law = calibrated(Count(), ApproxDP(epsilon, delta), "add-remove", "gaussian")
        assert isinstance(law, DiscreteGaussian)
        with mpmath.workdps(30):
            variance = law.variances[0][1]
            sigma = mpmath.sqrt(mpmath.mpf(variance.numerator) / variance.denominator)
            assert sigma >= 1000
            true, target = discrete_tail(sigma, mpmath.mpf(epsilon)), mpmath.mpf(delta)
            assert mpmath.mpf("0.98") * target <= true <= target
            assert discrete_tail(sigma * mpmath.mpf("0.99"), mpmath.mpf(epsilon)) > target

    @pytest.mark.parametrize("budget", [ApproxDP(1, "1e-6"), ApproxDP("0.001", "1e-300")])
    def test_coarse_noise_is_refused(self, budget: ApproxDP) -> None:
        """A count at ε = 1 has σ near 5 steps, where the discrete δ exceeds the continuous one; so does any gap above δ/100."""
        with pytest.raises(ParameterError, match=r"delta must exceed .* Hint: "):
            calibrated(Count(), budget, "add-remove", "gaussian")

    @pytest.mark.parametrize("sigma", [5, 20, 1000])
    def test_total_variation_to_the_rounded_gaussian(self, sigma: int) -> None:
        """The lemma behind 0.021: by summation at 30 digits, below 0.021/σ² and above 0.019/σ²."""
        with mpmath.workdps(30):
            reach = 12 * sigma
            scale = sigma * mpmath.sqrt(2)
            edges = [mpmath.erf((x - mpmath.mpf(1) / 2) / scale) / 2 for x in range(reach + 2)]
            cells = [b - a for a, b in pairwise(edges)]
            weights = [mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * sigma**2)) for x in range(reach + 1)]
            total = 2 * mpmath.fsum(weights) - weights[0]
            gaps = [abs(cell - weight / total) for cell, weight in zip(cells, weights, strict=True)]
            variation = (2 * mpmath.fsum(gaps) - gaps[0]) / 2
            assert mpmath.mpf("0.019") < variation * sigma**2 < mpmath.mpf("0.021")
        assert DISCRETE_GAP == 0.021


def closed_forms(d: int, amount: float, neighbors: str, notion: type) -> dict[str, float]:
    """Return the r.m.s. errors of MATHS 3 and 4 for rows of norm 1, after the count's share."""
    half = neighbors == "add-remove"
    if notion is ZCDP:
        rho = amount * (1 - 1 / (2 * d + 2)) if half else amount
        variance = frobenius_squared(d, neighbors) / (2 * rho)
        return {"gaussian": math.sqrt(d * (d + 1) / 2 * variance)}
    epsilon = amount * (1 - 4 / (5 * d + 8)) if half else amount
    entries, one = triangle_size(d), half or d == 1
    return {
        "wishart": (d + 1) * math.sqrt(2 * d) / epsilon / (2 if one else 1),
        "frobenius": math.sqrt((1 if one else 2) * entries * (entries + 1)) / epsilon,
        "laplace": math.sqrt(2) * d * b_of(d, neighbors) / epsilon,
    }


class TestPredictions:
    @pytest.mark.parametrize("d", [1, 2, 3, 4, 10, 60])
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    def test_closed_forms(self, neighbors: str, d: int) -> None:
        """Within 1e-3: what rounding costs; 5 % in any constant fails."""
        for amount in (0.1, 1.0, 20.0):
            for budget in (PureDP(amount), ZCDP(amount)):
                expected = closed_forms(d, amount, neighbors, type(budget))
                assert predicted_errors(SecondMoment(Grid(1.0), d), budget, neighbors) == pytest.approx(expected, rel=1e-3)

    @pytest.mark.parametrize("d", [2, 3, 10])
    def test_approximate_dp(self, d: int) -> None:
        """The pure noises at ε with δ unused, and one Gaussian: analytic under replace, by conversion under add-remove."""
        budget = ApproxDP(1, "1e-6")
        for neighbors in NEIGHBORS:
            errors = predicted_errors(SecondMoment(Grid(1.0), d), budget, neighbors)
            assert {name: errors.pop(name) for name in ("wishart", "frobenius", "laplace")} == pytest.approx(
                closed_forms(d, 1.0, neighbors, PureDP), rel=1e-3
            )
            if neighbors == "replace":
                expected = analytic_gaussian_sigma(math.sqrt(2), budget) * math.sqrt(d * (d + 1) / 2)
            else:
                expected = closed_forms(d, float(budget.to_zcdp().rho), neighbors, ZCDP)["gaussian"]
            assert errors == {"gaussian": pytest.approx(expected, rel=1e-6)}

    def test_the_counts_share(self) -> None:
        """4/(5d+8) of a pure budget, 1/(2d+2) of ρ, nothing under replace; the parts add up exactly."""
        for d in (1, 2, 7):
            for noise, budget, share in (
                ("wishart", PureDP(1), Fraction(4, 5 * d + 8)),
                ("laplace", PureDP(1), Fraction(4, 5 * d + 8)),
                ("gaussian", ZCDP(1), Fraction(1, 2 * d + 2)),
            ):
                asked = plan_additive(noise, budget, SecondMoment(GRID, d), "add-remove")
                assert (asked.moment_budget, asked.count_budget) == (type(budget)(1 - share), type(budget)(share))
                assert plan_additive(noise, budget, SecondMoment(GRID, d), "replace").count_budget is None


def chosen(d: int, budget: Budget, neighbors: str) -> str:
    """Return which noise `auto` takes where rows can be read once, so that it cannot clip."""
    known = 10 if neighbors == "replace" else None
    once = Public(encoding_of(GRID, NoSource(10, d)), neighbors, known, rereadable=False)
    curator = Curator(ScriptedSums([np.eye(d), 10], once, 10), Account(budget), Noiseless())
    return released(AUTO, curator, budget).mechanism


class TestAuto:
    @pytest.mark.parametrize(
        ("d", "neighbors", "expected"),
        [
            (2, "replace", "frobenius"),
            (3, "replace", "frobenius"),
            (4, "replace", "wishart"),
            (5, "replace", "wishart"),
            (40, "replace", "wishart"),
            (2, "add-remove", "wishart"),
            (3, "add-remove", "wishart"),
            (40, "add-remove", "wishart"),
        ],
    )
    def test_pure(self, d: int, neighbors: str, expected: str) -> None:
        for epsilon in ("0.01", 1, 30):
            assert chosen(d, PureDP(epsilon), neighbors) == expected

    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize("d", [1, 2, 40])
    def test_zcdp(self, d: int, neighbors: str) -> None:
        assert chosen(d, ZCDP("0.1"), neighbors) == "gaussian"

    @pytest.mark.parametrize(
        ("d", "budget", "expected"),
        [
            (40, ApproxDP(1, "1e-6"), "gaussian"),
            (10, ApproxDP(1, "1e-6"), "gaussian"),
            (3, ApproxDP(1, "1e-6"), "frobenius"),
            (40, ApproxDP(1, "1e-25"), "wishart"),
            (40, ApproxDP(1, "1e-300"), "gaussian"),  # through zCDP; the tail of rounded noise does not fit into δ
            (4, ApproxDP(10, "1e-12"), "wishart"),
            (2, ApproxDP(10, "1e-12"), "frobenius"),
        ],
    )
    def test_approximate_dp_takes_the_smaller(self, d: int, budget: Budget, expected: str) -> None:
        errors = predicted_errors(SecondMoment(Grid(1.0), d), budget, "replace")
        assert chosen(d, budget, "replace") == expected == min(errors, key=errors.__getitem__)

    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    def test_rounded_noise_needs_a_delta_above_its_tail(self, neighbors: str) -> None:
        """Its tail counts 1 + e^ε times: 2⁻¹⁰⁰ pays for it, 1e-300 does not."""
        rounded = {"wishart", "frobenius"}
        assert rounded <= set(predicted_errors(SecondMoment(Grid(1.0), 5), ApproxDP(1, Fraction(1, 2**100)), neighbors))
        assert not rounded & set(predicted_errors(SecondMoment(Grid(1.0), 5), ApproxDP(1, "1e-300"), neighbors))
        law = calibrated(SecondMoment(GRID, 5), PureDP(1), neighbors, "wishart")
        assert isinstance(law, WishartDifference)
        for factor, fits in ((Fraction(38, 10), True), (Fraction(36, 10), False)):  # around 1 + e
            served = predicted_errors(SecondMoment(Grid(1.0), 5), ApproxDP(1, law.tail * factor), neighbors)
            assert ("wishart" in served) is fits

    def test_exact_numerics(self) -> None:
        for d in (2, 10):
            assert set(predicted_errors(SecondMoment(Grid(1.0), d), PureDP(1), "replace", "exact")) == {"laplace"}
            assert set(predicted_errors(SecondMoment(Grid(1.0), d), ZCDP(1), "replace", "exact")) == {"gaussian"}


@pytest.mark.parametrize(
    ("promise", "charges", "paid"),
    [
        (PureDP(1), [PureDP("0.5"), PureDP("0.5")], True),
        (PureDP(1), [PureDP("0.5"), PureDP("0.5000000000000000000001")], False),
        (PureDP(1), [ZCDP("0.0001")], False),
        (PureDP(1), [ApproxDP("0.1", "1e-300")], False),
        (ZCDP(1), [ZCDP(Fraction(1, 3))] * 3, True),
        (ZCDP(1), [ZCDP(Fraction(1, 3))] * 4, False),
        (ZCDP(1), [PureDP("0.0001")], False),
        (ApproxDP(1, "1e-6"), [ApproxDP("0.5", "5e-7")] * 2, True),
        (ApproxDP(1, "1e-6"), [ApproxDP("0.5", "6e-7")] * 2, False),
        (ApproxDP(1, "1e-6"), [ApproxDP("0.6", "1e-7")] * 2, False),
        (ApproxDP(1, "1e-6"), [PureDP("0.3"), PureDP("0.7")], True),
        (ApproxDP(1, "1e-6"), [PureDP("0.3"), PureDP("0.71")], False),
        (ApproxDP(1, "1e-6"), [ApproxDP(1, "1e-6").to_zcdp()], True),
        (ApproxDP(1, "1e-6"), [ZCDP(ApproxDP(1, "1e-6").to_zcdp().rho * Fraction(100001, 100000))], False),
    ],
)
def test_what_a_promise_pays_for(promise: Budget, charges: list[Budget], paid: bool) -> None:
    assert pays_for(promise, charges) is paid


def test_a_promise_pays_for_no_mixture() -> None:
    assert not pays_for(ApproxDP(1, "1e-6"), [PureDP("0.1"), ZCDP("0.001")])
    assert not pays_for(ApproxDP(1, "1e-6"), [ApproxDP("0.1", "1e-7"), PureDP("0.1")])
    assert not pays_for(PureDP(1), [])


@pytest.mark.parametrize("noise", ["wishart", "frobenius"])
@pytest.mark.parametrize("epsilon", ["1e-320", "1e-200", "1e-18"])
def test_a_noise_beyond_int64_is_refused_without_floats(noise: str, epsilon: str) -> None:
    """float() of such scales overflows: the refusal must come before it."""
    with pytest.raises(ParameterError, match="epsilon must leave room"):
        calibrated(SecondMoment(Grid(1.0), 3), PureDP(epsilon), "replace", noise)


def test_a_delta_beyond_any_noise_is_refused() -> None:
    with pytest.raises(ParameterError, match="delta must be larger"):
        calibrated(SecondMoment(Grid(1.0), 3), ApproxDP("1e-300", "1e-300"), "replace", "gaussian")


@pytest.mark.parametrize(("delta", "analytic"), [("3.98742e-4", True), ("3.99142e-4", False)])
def test_noise_is_near_continuous_from_a_thousand_steps_on(delta: str, analytic: bool) -> None:
    """At ε ≈ 0 a count's σ is 1/(√(2π)·δ): 1000.5 steps, and 999.5."""
    budget = ApproxDP("1e-9", delta)
    assert abs(analytic_gaussian_sigma(1.0, budget) - 1000) == pytest.approx(0.5, abs=0.01)
    assert is_analytic(Count(), budget, "add-remove") == analytic


def test_noise_is_near_continuous_where_the_difference_is_a_hundredth_of_delta() -> None:
    """(1 + e^ε)·0.021/σ² ≤ δ/100, for budgets at which the left side falls by 4 % from one to the next."""
    budgets = [ApproxDP(0.0012 * 1.02**k, "1e-6") for k in range(40)]
    gaps = [(1 + math.exp(float(budget.epsilon))) * 0.021 / analytic_gaussian_sigma(1.0, budget) ** 2 for budget in budgets]
    verdicts = [is_analytic(Count(), budget, "add-remove") for budget in budgets]
    assert verdicts == [gap <= 1e-8 for gap in gaps]
    assert verdicts[0]
    assert not verdicts[-1]


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("d", DIMENSIONS)
def test_delta_is_lowered_by_what_discrete_noise_differs(d: int, neighbors: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """(1 + e^ε)·0.021·Σ 1/σᵢ²: entries above the diagonal have half the variance, so the sum is d²/σ², not d(d+1)/(2σ²)."""
    budget, seen = ApproxDP(1, "1e-6"), []

    def sigma(sensitivity: float, asked: ApproxDP) -> float:
        seen.append(asked.delta)
        return analytic_gaussian_sigma(sensitivity, asked)

    monkeypatch.setattr(calibrated_module, "analytic_gaussian_sigma", sigma)
    moment = SecondMoment(GRID, d)
    calibrated(moment, budget, neighbors, "gaussian")
    variance = analytic_gaussian_sigma(1.0, budget) ** 2 * moment.sensitivity_squared(neighbors)
    gap = (1 + math.e) * DISCRETE_GAP * d**2 / variance
    assert float(budget.delta - seen[-1]) == pytest.approx(1.01 * gap, rel=1e-9, abs=0)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_the_frobenius_sensitivity_is_rounded_up(neighbors: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """√2·2³² is no fraction: one that is a little below would promise a little too much."""
    seen: list[Fraction] = []

    def spied(d: int, sensitivity: Fraction, epsilon: Fraction, least: Fraction) -> FrobeniusNoise:
        seen.append(sensitivity)
        return calibrate_frobenius(d, sensitivity, epsilon, least)

    monkeypatch.setattr(calibrated_module, "calibrate_frobenius", spied)
    for d in DIMENSIONS:
        moment = SecondMoment(GRID, d)
        calibrated(moment, PureDP(1), neighbors, "frobenius")
        assert moment.sensitivity_squared(neighbors) <= seen[-1] ** 2 <= moment.sensitivity_squared(neighbors) + 1


class TestStatedDelta:
    """What a release of pure noise that is rounded promises: (ε, (1 + e^ε)·Σ tails)-DP, never less."""

    @pytest.mark.parametrize("tails", [1, 2, 3])
    @pytest.mark.parametrize("epsilon", ["1e-9", "0.3", "1", "20", "50", "60"])
    @pytest.mark.parametrize("d", [1, 3, 100])
    def test_it_covers_all_tails(self, d: int, epsilon: str, tails: int) -> None:
        """And is the smallest power of two that does: to 60 digits."""
        law = calibrate_wishart(d, 2 * 4**16, Fraction(1), Fraction(0))
        text = promise(PureDP(epsilon), [law] * tails)
        assert text.startswith(f"({decimal_text(Fraction(epsilon))}, delta)-DP with delta = 2**-")
        with mpmath.workdps(60):
            needed = (1 + mpmath.exp(mpmath.mpf(epsilon))) * tails * law.tail.numerator / law.tail.denominator
            stated = mpmath.mpf(2) ** -int(text.partition("2**-")[2].partition(" ")[0])
            assert needed <= stated < 2 * needed * (1 + mpmath.mpf("1e-8"))

    def test_known_values(self) -> None:
        """At d = 3: 2⁻¹¹⁰ at ε = 1, 2⁻⁸³ at 20, 2⁻³⁹ at 50, and at 100 no δ below 1 is left."""
        law = calibrate_wishart(3, 2 * 4**16, Fraction(1), Fraction(0))
        assert law.tail == Fraction(1, 2**112)
        assert [promise(PureDP(e), [law]) for e in (1, 20, 50)] == [
            f"({e}, delta)-DP with delta = 2**-{k} (rare errors in rounding the noise)"
            for e, k in ((1, 110), (20, 83), (50, 39))
        ]
        assert promise(PureDP(100), [law, law]) == (
            "within a probability of 2**-110 (rare errors in rounding the noise) of a release that is 100-DP"
        )
        assert promise(ApproxDP(1, "1e-6"), [law]) == "(1, 1e-06)-DP"

    def test_a_promise_takes_the_sum_of_tails(self) -> None:
        """Two answers with rounded noise fit into a δ that either would fit alone, only where both do."""
        law = calibrate_wishart(3, 2 * 4**16, Fraction(1), Fraction(0))
        once = Fraction((1 + math.e) * float(law.tail))
        for laws, delta in (([law], once * 101 / 100), ([law, law], once * 201 / 100)):
            check_tail(laws, ApproxDP(1, delta))
        for laws, delta in (([law], once * 99 / 100), ([law, law], once * 199 / 100)):
            with pytest.raises(ParameterError, match="tail"):
                check_tail(laws, ApproxDP(1, delta))

    def test_a_curator_takes_the_sum_too(self) -> None:
        law = calibrate_wishart(2, 2 * 4**16, Fraction(1, 2), Fraction(0))
        budget = ApproxDP(1, Fraction((1 + math.e) * float(law.tail)) * 3 / 2)
        curator = opened(ArraySource(np.zeros((4, 2))), GRID, budget, "replace", SeededBits(0))
        curator.noisy(curator.public.second_moment(), PureDP("0.5"), noise="wishart")
        with pytest.raises(ParameterError, match="tail"):
            curator.noisy(curator.public.second_moment(), PureDP("0.5"), noise="wishart")
        assert len(curator.answers) == 1


@pytest.mark.parametrize("d", [1, 2, 13, 100, 784])
def test_tails_cover_their_event(d: int) -> None:
    """A row of Wishart's normals beyond its bound: e⁻⁸⁰ for each of 2d rows; a radius of Frobenius': once. And unseen bits."""
    epsilon, entries = Fraction(10), triangle_size(d)
    wishart = calibrate_wishart(d, 2 * 4**16, epsilon, Fraction(0))
    frobenius = calibrate_frobenius(d, Fraction(2**33), epsilon, Fraction(0))
    with mpmath.workdps(60):
        event, unseen = mpmath.exp(-80), mpmath.mpf(2) ** -135
        for law, least in (
            (wishart, 2 * d * event + 2 * d * (d + 1) * unseen),
            (frobenius, event + 2 * entries * unseen),
        ):
            assert least <= mpmath.mpf(law.tail.numerator) / law.tail.denominator <= 2.01 * least
