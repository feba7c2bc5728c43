"""What a choice and a search may follow the data for their price: exact, rounded down, and refused beyond what is proved."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcov.errors import ParameterError
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import ZCDP, PureDP
from dpcov.kernel.calibrate import exponential_rate, sparse_vector_epsilon
from dpcov.kernel.noise.choice import MAX_RATE, Exponential, SparseVector
from dpcov.kernel.noise.discrete import MAX_SCALE, MIN_SCALE

AMOUNTS = ["1e-30", "1e-9", "0.001", "0.3", "1", "2", "1/3", "7.5", "1e6", "1e100"]
LAST_DIGITS = Fraction(1, 2**50)
MISTAKES = [Fraction(95, 100), Fraction(105, 100)]


def slack(amount: str) -> Fraction:
    """How far below its exact value a square may be: less than 2⁻⁵⁰ of itself above ρ = 2⁻⁶⁰."""
    return LAST_DIGITS if Fraction(amount) > Fraction(1, 2**60) else Fraction(1, 1000)


@pytest.mark.parametrize("amount", AMOUNTS)
class TestCalibration:
    def test_pure(self, amount: str) -> None:
        """A choice ranges over 2·rate, a search costs its ε: exact, so 5 % off fails."""
        assert 2 * exponential_rate(PureDP(amount)) == Fraction(amount)
        assert sparse_vector_epsilon(PureDP(amount)) == Fraction(amount)

    def test_zcdp(self, amount: str) -> None:
        """(2·rate)²/8 and ε²/2 are ρ, never more, and less by the last digits only."""
        rho = Fraction(amount)
        for squared in (exponential_rate(ZCDP(amount)) ** 2 / 2, sparse_vector_epsilon(ZCDP(amount)) ** 2 / 2):
            assert rho * (1 - slack(amount)) <= squared <= rho

    @pytest.mark.parametrize("mistake", MISTAKES)
    def test_five_percent_would_be_seen(self, amount: str, mistake: Fraction) -> None:
        """The control of the two tests above."""
        rho = Fraction(amount)
        for exact in (exponential_rate(ZCDP(amount)), sparse_vector_epsilon(ZCDP(amount))):
            assert not rho * (1 - slack(amount)) <= (mistake * exact) ** 2 / 2 <= rho
        assert 2 * mistake * exponential_rate(PureDP(amount)) != Fraction(amount)

    def test_a_choice_may_follow_the_data_more_closely_than_a_search(self, amount: str) -> None:
        """Bounded range costs ε²/8 in place of ε²/2: for the same ρ a choice has ε = 2·rate, twice that of a search."""
        ratio = exponential_rate(ZCDP(amount)) / sparse_vector_epsilon(ZCDP(amount))
        assert abs(ratio - 1) <= slack(amount)

    def test_shares_never_cost_more_than_the_whole(self, amount: str) -> None:
        for parts in ([Fraction(1, 7)] * 7, [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]):
            assert sum(2 * exponential_rate(PureDP(amount).share(part)) for part in parts) == Fraction(amount)
            for cost in (exponential_rate, sparse_vector_epsilon):
                assert sum(cost(ZCDP(amount).share(part)) ** 2 / 2 for part in parts) <= Fraction(amount)


class TestExponential:
    @pytest.mark.parametrize("rate", [Fraction(0), Fraction(-1), MAX_RATE + Fraction(1, 10**30)])
    def test_a_rate_outside_is_refused(self, rate: Fraction) -> None:
        with pytest.raises(ParameterError, match=r"rate must be above 0 and at most 1024, got one outside\. Hint: "):
            Exponential(rate)

    def test_a_lower_rate_is_more_noise(self) -> None:
        """As a file is checked: a law may only follow the scores less closely than its price allows."""
        one = Exponential(Fraction(1))
        assert [Exponential(Fraction(rate)).is_at_least(one) for rate in ("1/2", "1", "1.05")] == [True, True, False]
        assert not one.is_at_least(SparseVector(Fraction(1), Fraction(1)))


class TestSparseVector:
    @pytest.mark.parametrize("scale", [MIN_SCALE / 2, MAX_SCALE * 2, Fraction(0), Fraction(-1)])
    def test_a_scale_outside_is_refused(self, scale: Fraction) -> None:
        for scales in ((scale, Fraction(1)), (Fraction(1), scale)):
            with pytest.raises(ParameterError, match="scale of the noise must be between"):
                SparseVector(*scales)

    def test_larger_scales_are_more_noise(self) -> None:
        law = SparseVector(Fraction(2), Fraction(3))
        for threshold, query in [("2", "3"), ("9", "9")]:
            assert SparseVector(Fraction(threshold), Fraction(query)).is_at_least(law)
        for threshold, query in [("1.9", "3"), ("2", "2.85"), ("1.9", "9"), ("9", "2.85")]:
            assert not SparseVector(Fraction(threshold), Fraction(query)).is_at_least(law)
        assert not law.is_at_least(Exponential(Fraction(1)))


@pytest.mark.parametrize("law", [Exponential(Fraction(2, 7)), SparseVector(Fraction(10, 3), Fraction(7))])
def test_a_law_is_written_and_read_and_adds_nothing(law: Exponential | SparseVector) -> None:
    assert type(law).from_json({name: Fraction(text) for name, text in law.to_json().items()}) == law
    assert law.numerics == "exact"
    chosen = np.array([3, 16, 400])
    assert law.settle(chosen) is chosen
    for refused in (lambda: law.draw([1], SeededBits(0)), law.spread):
        with pytest.raises(NotImplementedError):
            refused()
