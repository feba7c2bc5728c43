"""Shares of a budget that several mechanisms agree on."""

from __future__ import annotations

from fractions import Fraction

from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP

STEPS = 2**40  # shares of a budget are multiples of one part in so many: exact, and short


def by_way_of_rho(budget: Budget) -> PureDP | ZCDP:
    """Return the budget as what several answers compose in; (ε, δ) by way of ρ."""
    return budget.to_zcdp() if isinstance(budget, ApproxDP) else budget


def check_room(budget: PureDP | ZCDP) -> None:
    """Refuse a budget whose digits leave no room for shares of shares, before anything is spent."""
    budget.share(Fraction(STEPS**2 - 1, STEPS**2))


def count_share(budget: Budget, d: int) -> Fraction:
    """Return the count's share under add-remove, the best for ‖second moment‖_F ≈ 0.35: docs/mechanisms/gaussian.md."""
    return Fraction(4, 5 * d + 8) if isinstance(budget, PureDP) else Fraction(1, 2 * d + 2)
