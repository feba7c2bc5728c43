"""The noise of `output-perturbation` against the closed forms of its page: a scale 5 % off fails.

Nothing here is random: laws are compared with Δ = √(1 + 1/(4a(1 + a)))/(n·a), a = alpha/row_norm².
"""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.calibrate import analytic_gaussian_sigma
from dpcov.kernel.noise.laws import DiscreteGaussian, DiscreteLaplace
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.questions.solution import Solution
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms.ridge.output_perturbation import OUTPUT_PERTURBATION
from dpcov.mechanisms.running import released
from dpcov.verify.testing import scripted

SMALL = 2e-3  # rounding to steps costs a thousandth of Δ at most
CASES = [(n, d, alpha) for n in (1, 1000, 10**6) for d in (2, 3, 9, 40) for alpha in (1e-6, 1e-3, 0.1, 1.0, 1000.0)]


def delta(n: int, alpha: float) -> float:
    """Δ of the theorem, with many digits."""
    with mpmath.workdps(40):
        a = mpmath.mpf(alpha)
        return float(mpmath.sqrt(1 + 1 / (4 * a * (1 + a))) / (n * a))


def float_error(d: int, alpha: float) -> float:
    """What is set aside for float64, for each of two neighbours: twice the bound of the page."""
    largest = 1 / math.sqrt(4 * alpha * (1 + alpha))
    return 2 * (4 * d * (3 * d + 1) + 4) * 2.0**-53 * ((1 + 1 / alpha) * largest + 1 / alpha) * 1.02


def padded(n: int, d: int, alpha: float) -> float:
    """Δ with all that numbers may add to it: nowhere here more than 1 %."""
    whole = delta(n, alpha) * (1 + SMALL) + 2 * float_error(d, alpha)
    assert whole <= 1.012 * delta(n, alpha)
    return whole


def spread(budget: Budget, n: int, d: int, alpha: float, row_norm: float = 1.0) -> float:
    """The scale (pure) or σ of what is added to each coefficient by the mechanism."""
    curator = scripted([np.zeros(d - 1)], n=n, d=d, budget=budget, row_norm=row_norm)
    [answer] = released(OUTPUT_PERTURBATION, curator, budget, target=0, alpha=alpha).answers
    law = answer.law
    if isinstance(law, DiscreteLaplace):
        assert isinstance(budget, PureDP)
        return float(law.scale) * 2.0**-answer.unit_bits
    assert isinstance(law, DiscreteGaussian)
    [(name, variance)] = law.variances
    assert name == "coefficients"
    return math.sqrt(variance) * 2.0**-answer.unit_bits


class TestClosedForms:
    @pytest.mark.parametrize("epsilon", ["0.01", "1", "3"])
    def test_pure(self, epsilon: str) -> None:
        for n, d, alpha in CASES:
            found = spread(PureDP(epsilon), n, d, alpha) * float(epsilon) / math.sqrt(d - 1)
            assert delta(n, alpha) <= found <= padded(n, d, alpha)

    @pytest.mark.parametrize("rho", ["0.0001", "0.5", "8"])
    def test_zcdp(self, rho: str) -> None:
        for n, d, alpha in CASES:
            found = spread(ZCDP(rho), n, d, alpha) * math.sqrt(2 * float(rho))
            assert delta(n, alpha) <= found <= padded(n, d, alpha)

    @pytest.mark.parametrize("budget", [ApproxDP(1, "1e-6"), ApproxDP("0.1", "1e-9"), ApproxDP(3, "1e-5")], ids=repr)
    def test_approximate(self, budget: ApproxDP) -> None:
        """Balle and Wang's σ, or through zCDP where δ is too small for discrete noise to pass as continuous."""
        for n, d, alpha in CASES:
            found = spread(budget, n, d, alpha)
            multipliers = analytic_gaussian_sigma(1.0, budget), 1 / math.sqrt(2 * float(budget.to_zcdp().rho))
            assert any(delta(n, alpha) <= found / sigma <= 1.005 * padded(n, d, alpha) for sigma in multipliers)

    def test_a_tiny_delta_goes_through_zcdp(self) -> None:
        budget = ApproxDP(1, "1e-60")
        expected = delta(50, 0.1) / math.sqrt(2 * float(budget.to_zcdp().rho))
        assert expected <= spread(budget, 50, 4, 0.1) <= expected * (1 + SMALL)

    @pytest.mark.parametrize("row_norm", [0.01, 3.0, 1e6])
    def test_units(self, row_norm: float) -> None:
        """Coefficients have no unit; alpha has that of squared rows."""
        for budget in (PureDP(1), ZCDP("0.5")):
            found = spread(budget, 500, 4, 0.02 * row_norm**2, row_norm)
            assert found == pytest.approx(spread(budget, 500, 4, 0.02), rel=1e-9)

    def test_a_penalty_in_the_units_of_rows(self) -> None:
        found = spread(PureDP(1), 500, 4, 5.0, 3.0) / math.sqrt(3)
        assert delta(500, 5 / 9) <= found <= padded(500, 4, 5 / 9)

    def test_pinned(self) -> None:
        """By hand: a = 1/4 has W² = 1/(5/4) = 4/5, so Δ = √(9/5)/(100/4) = 0.0536656."""
        assert delta(100, 0.25) == pytest.approx(0.0536656, abs=1e-7)
        assert spread(PureDP(1), 100, 5, 0.25) == pytest.approx(2 * 0.0536656, rel=SMALL)
        assert spread(ZCDP("0.5"), 100, 5, 0.25) == pytest.approx(0.0536656, rel=SMALL)


@pytest.mark.parametrize("kind", ["pure", "zcdp", "approximate"])
class TestOrder:
    """More rows, a larger penalty or a larger budget never mean more noise."""

    def budget(self, kind: str, amount: float) -> Budget:
        if kind == "approximate":
            return ApproxDP(amount, "1e-6")
        return PureDP(amount) if kind == "pure" else ZCDP(amount)

    def test_in_the_budget(self, kind: str) -> None:
        found = [spread(self.budget(kind, amount), 200, 4, 0.1) for amount in (0.01, 0.1, 1, 2, 5)]
        assert found == sorted(found, reverse=True)
        assert found[0] > 5 * found[-1]

    def test_in_rows(self, kind: str) -> None:
        found = [spread(self.budget(kind, 1), n, 4, 0.1) for n in (1, 2, 10, 1000, 10**6, 2**30)]
        assert found == sorted(found, reverse=True)
        assert found[1] == pytest.approx(found[0] / 2, rel=SMALL)

    def test_in_the_penalty(self, kind: str) -> None:
        found = [spread(self.budget(kind, 1), 100, 4, float(alpha)) for alpha in np.geomspace(1e-6, 1e6, 40)]
        assert found == sorted(found, reverse=True)


def test_what_sensitivities_are_made_of() -> None:
    """Δ in steps, twice the documented error of float64 for each of two neighbours, and half a step for each rounding."""
    for n, d, alpha in CASES:
        asked = Solution(SecondMoment(Grid(1.0), d), n, 0, Fraction(alpha))
        root = math.sqrt(d - 1)
        expected = (delta(n, alpha) + 2 * float_error(d, alpha)) * 2.0**asked.unit_bits + root
        found = math.sqrt(asked.sensitivity_squared("replace"))
        assert found == pytest.approx(expected, rel=1e-6)
        assert float(asked.sensitivity_l1("replace")) == pytest.approx(expected * root, rel=1e-6)


@pytest.mark.parametrize("d", [2, 3, 4, 8, 15, 24])
def test_steps_are_as_fine_as_they_must_be_and_no_finer(d: int) -> None:
    """The fewest bits, 16 at least, for which a row moves the coefficients by 2¹⁶·(1 + ⌊√d⌋) steps: 2¹⁶·√d and more."""
    for n in (1, 1000, 12_345, 50_000, 2**20, 3 * 2**20):
        for alpha in ("0.001", "0.01", "0.5", "1000"):
            bits = Solution(SecondMoment(Grid(1.0), d), n, 0, Fraction(alpha)).unit_bits
            steps = delta(n, float(alpha)) * 2.0**bits
            assert steps >= 2**16 * math.sqrt(d) * (1 - 1e-9)
            assert bits == 16 or steps / 2 <= 2**16 * (1 + math.isqrt(d)) * (1 + 1e-9) + 1


def test_rounding_is_counted_where_steps_are_coarse() -> None:
    """A row moves the coefficients by 2¹⁶·√d steps or more: the √(d − 1) of rounding is up to 2⁻¹⁶ of it, and is there."""
    asked = Solution(SecondMoment(Grid(1.0), 15), 2**20, 0, Fraction(1))
    moved = delta(2**20, 1.0) * 2.0**asked.unit_bits
    found = math.sqrt(asked.sensitivity_squared("replace"))
    assert moved + math.sqrt(14) <= found <= moved + 1.01 * math.sqrt(14) + 2 * float_error(15, 1.0) * 2.0**asked.unit_bits
    assert moved / 2**18 < math.sqrt(14) < moved / 2**16
