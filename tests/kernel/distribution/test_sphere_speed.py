"""How soon a direction is drawn: guesses of eigenvalues, and a κ that is raised or moved. The law rests on none of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcov.kernel.bits import SeededBits
from dpcov.kernel.noise.sphere import _factor, _propose, _refined, best_kappa, peeled_guess
from tests.helpers.stats import Floats
from tests.kernel.distribution.test_sphere import Z, rotated


class TestGuess:
    SPECTRUM = np.array([9.0, 7.0, 6.5, 3.0, 1.0, 0.5, 0.0])

    def projected(self) -> Floats:
        """Return a matrix that one direction was taken out of."""
        return rotated(np.array([8.0, 6.6, 5.0, 2.0, 0.7, 0.2]), 885)[0]

    def test_it_has_the_mean_and_the_spread_of_what_is_left(self) -> None:
        matrix = self.projected()
        guess = peeled_guess(self.SPECTRUM, 2.0, matrix)
        assert float(guess.sum()) == pytest.approx(float(np.trace(matrix)), rel=1e-12)
        assert float(guess @ guess) == pytest.approx(float(np.sum(matrix**2)), rel=1e-12)

    def test_eigenvalues_are_lowered_by_the_shares_that_a_draw_takes(self) -> None:
        """λᵢ − (w₁ + … + wᵢ)·(λᵢ − λᵢ₊₁) with wᵢ ≈ 1/(κ − 2cλᵢ), but for the move and the stretch; Σw is 1 within 1/1000."""
        c = 2.0
        shares = 1 / (best_kappa(self.SPECTRUM, c) - 2 * c * self.SPECTRUM)
        lowered = self.SPECTRUM[:-1] - np.cumsum(shares)[:-1] * (self.SPECTRUM[:-1] - self.SPECTRUM[1:])
        guess = peeled_guess(self.SPECTRUM, c, self.projected())
        assert np.corrcoef(guess, lowered)[0, 1] > 1 - 1e-6
        assert (np.diff(guess) <= 0).all()

    def test_eigenvalues_that_are_alike_stay_so(self) -> None:
        assert np.allclose(peeled_guess(np.full(4, 3.0), 2.0, 3 * np.eye(3)), 3.0, rtol=0, atol=1e-12)


class TestRaised:
    """κ that is too small for a factor is raised in steps that double: never by more than twice of what it lacks."""

    RAISED = pytest.mark.parametrize(("lacking", "tried"), [(0.5, 1), (1.5, 3), (10.0, 15), (1000.0, 1023)])

    @RAISED
    def test_by_units(self, lacking: float, tried: int) -> None:
        """1, 3, 7, 15, ... are tried until κ is above 2cλ₁ = 32."""
        assert _factor(np.diag([4.0, 1.0]), 4.0, 32 - lacking)[1] == 32 - lacking + tried

    @RAISED
    def test_by_what_floats_resolve(self, lacking: float, tried: int) -> None:
        """Where a unit is lost in κ the first step is 2⁻⁴⁰ of it, a few thousand units in its last place."""
        top, unit = 2.0**80, 2.0**40
        kappa = _factor(np.diag([top / 2, 1.0]), 1.0, top - lacking * unit)[1]
        assert (kappa - top) / unit == pytest.approx(tried - lacking, abs=1e-3)


class TestRefined:
    """After a batch without success κ moves towards tr M⁻¹ = 1."""

    @pytest.mark.parametrize("m", [3, 8, 50])
    def test_it_stays_above_where_one_direction_stands_out(self, m: int) -> None:
        """Then the bound of the top eigenvalue of M⁻¹ is met, and nine tenths of what lies between κ and 2cλ₁ are gone."""
        for gap in (30.0, 1000.0):
            kappa = 2.0 * 1e6 + gap
            lower, same = _factor(np.diag([1e6, *np.zeros(m - 1)]), 1.0, kappa)
            assert same == kappa
            assert _refined(lower, kappa) - 2e6 == pytest.approx(gap / 10, rel=1e-6)

    def test_a_step_of_newton_elsewhere(self) -> None:
        """tr M⁻¹ = Σ 1/(κ − 2cλᵢ) has the derivative −Σ 1/(κ − 2cλᵢ)²."""
        values = np.array([5.0, 4.0, 1.0, 0.0])
        for kappa in (10.6, 11.0):
            lower, _ = _factor(rotated(values, 886)[0], 1.0, kappa)
            inverse = 1 / (kappa - 2 * values)
            step = float(inverse.sum() * (inverse.sum() - 1) / (inverse @ inverse))
            assert _refined(lower, kappa) == pytest.approx(kappa + step, rel=1e-9)


def test_a_batch_tells_the_trace() -> None:
    """Size 1e-6. E‖z‖² = tr M⁻¹: what decides whether κ is moved."""
    values, kappa = np.array([5.0, 4.0, 1.0, 0.0]), 13.0
    trace = float((1 / (kappa - 2 * values)).sum())
    found = _propose(_factor(rotated(values, 887)[0], 1.0, kappa)[0], 200_000, SeededBits(888))[2]
    error = math.sqrt(2 * float((1 / (kappa - 2 * values) ** 2).sum()) / 200_000)
    assert abs(found - trace) < Z * error
