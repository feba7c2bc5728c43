"""Sensitivities of questions about columns in closed form, and the noise that each price buys: 5 % off fails."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from dpcov.errors import ParameterError
from dpcov.kernel.budget import ZCDP, ApproxDP, PureDP
from dpcov.kernel.calibrate import analytic_gaussian_sigma
from dpcov.kernel.noise.laws import DiscreteGaussian, DiscreteLaplace
from dpcov.kernel.questions.calibrated import calibrated, noise_for
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.questions.norms import Norms
from dpcov.kernel.questions.table import ONE, ColumnMoments, Histograms, LevelCounts, Range
from dpcov.kernel.rows.columns import Columns
from dpcov.kernel.rows.standard import LevelUnits, NumericUnits, Standard, Units

REPLACE, ADD_REMOVE = "replace", "add-remove"
COLUMNS = Columns(((0, 0.5), (2, 0.25), (3, 0.125)), ((1, 4), (4, 2)))
HISTOGRAMS, LEVELS = Histograms(COLUMNS, 6), LevelCounts(COLUMNS)
QUARTER, HALF, ROOT = ONE // 4, ONE // 2, 141421 * ONE // 100000
MISTAKES = (Fraction(95, 100), Fraction(105, 100))


def moments(*weights: int) -> ColumnMoments:
    return ColumnMoments(HISTOGRAMS, tuple(Range(i, 8, 40, weight) for i, weight in enumerate(weights)))


def units(corner: float = 0.5) -> Standard:
    numeric = tuple(NumericUnits(-r, r, 0.0, r / 3) for _, r in COLUMNS.numeric)
    levels = tuple(LevelUnits(tuple(range(n)), (1 / n,) * n, (0.4,) * n) for _, n in COLUMNS.levels)
    return Standard(Units(COLUMNS, numeric, levels), corner, 2.0)


N = Fraction(ONE)
CLOSED: dict[str, tuple[Any, str, Fraction, Fraction]] = {
    # question, relation, L1, squared L2
    "bins, replaced": (HISTOGRAMS, REPLACE, Fraction(6), Fraction(6)),
    "bins, added": (HISTOGRAMS, ADD_REMOVE, Fraction(3), Fraction(3)),
    "levels, replaced": (LEVELS, REPLACE, Fraction(4), Fraction(4)),
    "levels, added": (LEVELS, ADD_REMOVE, Fraction(2), Fraction(2)),
    "numbers, replaced": (moments(0), REPLACE, Fraction(9, 4) * N, 4 * N**2),
    "numbers, added": (moments(0), ADD_REMOVE, 2 * N, 2 * N**2),
    "nullable by a quarter, replaced": (moments(QUARTER), REPLACE, Fraction(9, 4) * N, 4 * N**2),
    "nullable by a quarter, added": (moments(QUARTER), ADD_REMOVE, Fraction(9, 4) * N, Fraction(33, 16) * N**2),
    "nullable by the root of two, replaced": (moments(ROOT), REPLACE, Fraction(341421, 100000) * N, 4 * N**2),
    "nullable by the root of two, added": (moments(ROOT), ADD_REMOVE, Fraction(341421, 100000) * N, 4 * N**2),
    "nullable by a half, replaced": (moments(HALF), REPLACE, Fraction(5, 2) * N, 4 * N**2),
    "nullable by a half, added": (moments(HALF), ADD_REMOVE, Fraction(5, 2) * N, Fraction(9, 4) * N**2),
    "nullable by two, replaced": (moments(2 * ONE), REPLACE, 4 * N, 6 * N**2),
    "three columns, replaced": (moments(0, QUARTER, 0), REPLACE, Fraction(27, 4) * N, 12 * N**2),
    "three columns, added": (moments(0, HALF, QUARTER), ADD_REMOVE, Fraction(27, 4) * N, Fraction(101, 16) * N**2),
    "norms, replaced": (Norms(units(0.0), units(0.0).width, 8, 7), REPLACE, Fraction(2), Fraction(2)),
    "norms, added": (Norms(units(0.0), units(0.0).width, 8, 7), ADD_REMOVE, Fraction(1), Fraction(1)),
}


def is_proved(name: str, absolute: Fraction, squared: Fraction) -> bool:
    """Whether they are the closed forms: exactly for counts, else but for a step of rounding in each column."""
    question, _, wanted, wanted_squared = CLOSED[name]
    step = len(question.ranges) if isinstance(question, ColumnMoments) else 0
    return abs(absolute - wanted) <= step and abs(squared - wanted_squared) <= step * 4 * ONE


@pytest.mark.parametrize("name", CLOSED)
class TestClosedForms:
    def test_sensitivities_are_what_was_proved(self, name: str) -> None:
        question, neighbors, *_ = CLOSED[name]
        assert is_proved(name, question.sensitivity_l1(neighbors), Fraction(question.sensitivity_squared(neighbors)))

    @pytest.mark.parametrize("mistake", MISTAKES)
    def test_five_percent_would_be_seen(self, name: str, mistake: Fraction) -> None:
        """The control of the test above, in each of the two numbers."""
        question, neighbors, *_ = CLOSED[name]
        absolute, squared = question.sensitivity_l1(neighbors), Fraction(question.sensitivity_squared(neighbors))
        assert not is_proved(name, mistake * absolute, squared)
        assert not is_proved(name, absolute, mistake * squared)

    def test_pure_noise(self, name: str) -> None:
        """b = Δ₁/ε, exact."""
        question, neighbors, *_ = CLOSED[name]
        for epsilon in ("1/1000", "1/3", "1", "7"):
            law = calibrated(question, PureDP(epsilon), neighbors, "laplace")
            assert isinstance(law, DiscreteLaplace)
            assert law.scale * Fraction(epsilon) == question.sensitivity_l1(neighbors)

    def test_zcdp_noise(self, name: str) -> None:
        """σ² = Δ₂²/(2ρ), exact, in each part by its weight."""
        question, neighbors, *_ = CLOSED[name]
        for rho in ("1/1000", "1/3", "1", "7"):
            law = calibrated(question, ZCDP(rho), neighbors, "gaussian")
            assert isinstance(law, DiscreteGaussian)
            for part, (_, variance) in zip(question.parts, law.variances, strict=True):
                assert 2 * Fraction(rho) * variance * part.weight == question.sensitivity_squared(neighbors)


class TestExactly:
    """The integers themselves: one less is no bound any more."""

    @pytest.mark.parametrize("weight", [0, 1, QUARTER, HALF, ROOT, ONE, 2 * ONE])
    def test_moments(self, weight: int) -> None:
        question, appears, appears_squared = moments(weight), 2 * ONE + weight, 2 * ONE**2 + weight**2
        assert question.sensitivity_l1(ADD_REMOVE) == appears
        assert question.sensitivity_squared(ADD_REMOVE) == appears_squared
        assert question.sensitivity_l1(REPLACE) == max(Fraction(9 * ONE, 4) + 1, appears)
        assert question.sensitivity_squared(REPLACE) == max(4 * ONE**2 + 2 * ONE + 1, appears_squared)

    def test_counting_what_is_there_is_free(self) -> None:
        """A quarter in L1 and the root of two in L2 are the largest weights for which it is, where rows are replaced."""
        plain = moments(0)
        assert moments(QUARTER).sensitivity_l1(REPLACE) == plain.sensitivity_l1(REPLACE)
        assert moments(QUARTER + 2).sensitivity_l1(REPLACE) > plain.sensitivity_l1(REPLACE)
        assert moments(ROOT).sensitivity_squared(REPLACE) == plain.sensitivity_squared(REPLACE)
        beyond = math.isqrt(2 * ONE**2 + 2 * ONE + 1) + 1
        assert moments(beyond).sensitivity_squared(REPLACE) > plain.sensitivity_squared(REPLACE)

    def test_the_moment_in_private_units_is_that_of_a_ball(self) -> None:
        """Its radius is one in integers, whatever the units and the corner are."""
        for corner in (0.0, 0.5, 1.9):
            rows = units(corner)
            moment, reach = SecondMoment(rows, rows.width), 2**32
            assert moment.sensitivity_squared(REPLACE) == 2 * reach**2
            assert moment.sensitivity_squared(ADD_REMOVE) == reach**2
            assert (moment.sensitivity_nuclear(REPLACE), moment.sensitivity_nuclear(ADD_REMOVE)) == (2 * reach, reach)
            assert moment.sensitivity_l1(ADD_REMOVE) == Fraction(rows.width + 1, 2) * reach

    def test_relations_that_do_not_exist(self) -> None:
        for question in (HISTOGRAMS, LEVELS, Norms(units(0.0), units(0.0).width, 1, 2)):
            with pytest.raises(KeyError):
                question.sensitivity_squared("swap")


class TestUnits:
    """One step of the integers, in the units of what is asked."""

    def test_steps(self) -> None:
        assert (HISTOGRAMS.unit_bits, LEVELS.unit_bits, moments(0).unit_bits) == (0, 0, 16)
        assert SecondMoment(units(), units().width).unit_bits == 32

    def test_at_least_is_in_them(self) -> None:
        """Papers' constants can add noise and never remove any."""
        for question, kind in product((HISTOGRAMS, moments(0)), ("laplace", "gaussian")):
            budget = PureDP(1) if kind == "laplace" else ZCDP(1)
            plain: Any = calibrated(question, budget, REPLACE, kind)
            less: Any = calibrated(question, budget, REPLACE, kind, Fraction(1, 10**6))
            more: Any = calibrated(question, budget, REPLACE, kind, Fraction(10**6))
            assert less == plain
            step = 2**question.unit_bits
            if kind == "laplace":
                assert more.scale == 10**6 * step
            else:
                assert [variance for _, variance in more.variances] == [10**6 * step**2]

    def test_analytic_noise(self) -> None:
        """Balle and Wang's σ times the sensitivity, a little above, where noise is large enough to be as good as continuous."""
        budget, question = ApproxDP("1/10", "1/1000000"), moments(ROOT, 0, ROOT)
        law: Any = calibrated(question, budget, REPLACE, noise_for(budget))
        sigma = analytic_gaussian_sigma(1.0, budget) * math.sqrt(question.sensitivity_squared(REPLACE))
        assert 1 - 1e-9 <= math.sqrt(law.variances[0][1]) / sigma < 1.001

    def test_counts_have_no_analytic_noise(self) -> None:
        with pytest.raises(ParameterError, match=r"delta must exceed a hundred times the gap"):
            calibrated(LEVELS, ApproxDP(1, "1/1000000"), REPLACE, "gaussian")

    @pytest.mark.parametrize("question", [HISTOGRAMS, LEVELS, moments(0)], ids=lambda question: question.name)
    def test_no_matrix_noise_serves_them(self, question: Any) -> None:
        for kind in ("wishart", "frobenius"):
            with pytest.raises(ParameterError, match=r"noise must serve the statistic and the budget"):
                calibrated(question, PureDP(1), REPLACE, kind)
