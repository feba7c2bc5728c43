"""Amounts of budgets at their limits, and their sums: few are added one by one, of many the equal ones at once."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dpcov.errors import ParameterError
from dpcov.kernel.budget import FEW, LARGEST, PureDP, compose, pays_for, read_exact

TINY = Fraction(1, 10**800)


@pytest.mark.parametrize("sign", [1, -1])
def test_the_largest_number(sign: int) -> None:
    assert read_exact("value", Fraction(sign * LARGEST)) == sign * LARGEST
    for over in (1, Fraction(1, 3), TINY):
        with pytest.raises(ParameterError, match=r"value must be at most 1e300 and have at most 900 digits, got .*\. Hint: "):
            read_exact("value", sign * (LARGEST + over))


@pytest.mark.parametrize("amount", [Fraction(0), Fraction(-1, 10**800), "0", "-1e-9"], ids=repr)
def test_nothing_is_no_amount(amount: Fraction | str) -> None:
    with pytest.raises(ParameterError, match=r"epsilon must be greater than 0, got .*\. Hint: "):
        PureDP(amount)


@pytest.mark.parametrize("count", [1, 2, FEW - 1, FEW, FEW + 1, 3 * FEW])
@pytest.mark.parametrize("kinds", [1, 2, 1000], ids=lambda kinds: f"{kinds} kinds")
def test_sums_are_exact(count: int, kinds: int) -> None:
    charges = [PureDP(Fraction(1, 3 + place % kinds) + TINY) for place in range(count)]
    total = Fraction(0)
    for charge in charges:
        total += charge.epsilon
    assert compose(*charges) == PureDP(total)
    assert pays_for(PureDP(total), charges)
    assert not pays_for(PureDP(total - TINY / 10), charges)
