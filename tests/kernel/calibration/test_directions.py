"""How concentrated a draw may be for its price: exact, rounded down, and never more in all than was charged."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from dpcov.kernel.budget import ZCDP, PureDP
from dpcov.kernel.calibrate import bingham_concentration
from dpcov.mechanisms.shared.directions import share_of_rest, weights_of
from dpcov.mechanisms.shared.shares import STEPS

SPAN = {"replace": 2, "add-remove": 1}
AMOUNTS = ["1e-30", "1e-9", "0.001", "0.3", "1", "2", "1/3", "7.5", "1e6", "1e100"]
LAST_DIGITS = Fraction(1, 2**50)


@pytest.mark.parametrize("neighbors", SPAN)
@pytest.mark.parametrize("amount", AMOUNTS)
class TestConcentration:
    def test_pure(self, amount: str, neighbors: str) -> None:
        """ε/2 under replace, ε under add-remove: a row moves uᵀSu within [−1, 1] or [0, 1]. Exact, so 5 % off fails."""
        assert bingham_concentration(PureDP(amount), neighbors) == Fraction(amount) / SPAN[neighbors]

    def test_zcdp(self, amount: str, neighbors: str) -> None:
        """ε²/8 = ρ: √(8ρ)/2 and √(8ρ), rounded down by less than 2⁻⁵⁰ of itself (above ρ = 2⁻⁶⁰)."""
        squared = (SPAN[neighbors] * bingham_concentration(ZCDP(amount), neighbors)) ** 2
        exact = 8 * Fraction(amount)
        assert 0 < squared <= exact
        assert squared >= exact * (1 - (LAST_DIGITS if Fraction(amount) > Fraction(1, 2**60) else Fraction(1, 1000)))

    @pytest.mark.parametrize("mistake", [Fraction(95, 100), Fraction(105, 100)])
    def test_five_percent_would_be_seen(self, amount: str, neighbors: str, mistake: Fraction) -> None:
        """The control of the two tests above: a wrong constant is neither equal nor inside the last digits."""
        wrong = mistake * bingham_concentration(ZCDP(amount), neighbors)
        exact = 8 * Fraction(amount)
        assert not exact * (1 - LAST_DIGITS) <= (SPAN[neighbors] * wrong) ** 2 <= exact

    def test_shares_never_add_up_to_more(self, amount: str, neighbors: str) -> None:
        """As the curator prices a release: Σ span·c ≤ ε, Σ (span·c)²/8 ≤ ρ."""
        for parts in ([Fraction(1, 7)] * 7, [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)], [Fraction(1, STEPS)] * 3):
            pure = [SPAN[neighbors] * bingham_concentration(PureDP(amount).share(part), neighbors) for part in parts]
            assert sum(pure) == Fraction(amount) * sum(parts)
            zcdp = [SPAN[neighbors] * bingham_concentration(ZCDP(amount).share(part), neighbors) for part in parts]
            assert sum(exponent**2 for exponent in zcdp) / 8 <= Fraction(amount) * sum(parts)


def test_another_relation_is_refused() -> None:
    with pytest.raises(KeyError):
        bingham_concentration(PureDP(1), "swap")


class TestShares:
    """What a direction takes of the budget that is left, whatever the noisy values were."""

    @pytest.mark.parametrize(
        "weights",
        [
            [1.0] * 9,
            [1e300, *[1e-300] * 40],
            [1e-300, *[1e300] * 40],
            [1.0, *[1e-30] * 2000],
            [0.0, 1.0],
            [5.0],
            [1e16, 1.0, 1.0],
        ],
        ids=["even", "all first", "all last", "many", "nothing", "one", "beyond digits"],
    )
    def test_they_use_up_the_whole_and_never_run_out(self, weights: list[float]) -> None:
        left = Fraction(1)
        for i in range(len(weights)):
            share = share_of_rest(np.array(weights[i:]), left)
            assert 0 < share <= left
            left -= share
        assert left == 0

    def test_they_never_run_out_when_every_guess_says_all_first(self) -> None:
        """The case that broke: each direction in turn is thought to be the only one, as for rank-one data at a large ε."""
        left = Fraction(1)
        for i in range(10):
            weights = np.full(10 - i, 1e-12)
            weights[0] = 1.0
            share = share_of_rest(weights, left)
            assert 0 < share <= left
            left -= share
        assert left == 0

    def test_proportions(self) -> None:
        """√(λ+τ) of ε, (λ+τ)^⅔ of ρ, negative values counting as 0; rounded down to one part in 2⁴⁰."""
        values = np.array([9.0, 4.0, 0.0, -3.0])
        assert weights_of(values, 0.0, PureDP(1)).tolist() == [3.0, 2.0, 0.0, 0.0]
        assert weights_of(values, 7.0, PureDP(1)).tolist() == np.sqrt([16.0, 11.0, 7.0, 7.0]).tolist()
        assert np.allclose(weights_of(values, 7.0, ZCDP(1)), np.array([16.0, 11.0, 7.0, 7.0]) ** (2 / 3), rtol=1e-14, atol=0)
        share = share_of_rest(np.array([3.0, 2.0, 1.0]), Fraction(1, 2))
        assert Fraction(1, 4) - Fraction(2, STEPS) < share <= Fraction(1, 4)
        assert (share * STEPS).denominator == 1
