"""What releases add up to: exactly, in one notion, for one relation, against limits that were fixed before."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.custody.adding import MOST_TAILS, SUMMED, TAIL, Sum, cost_of, together
from dpcov.errors import BudgetError, ParameterError
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP

TOTALS: list[Budget] = [PureDP(1), ZCDP(1), ApproxDP(1, "1e-6")]
amounts = st.fractions(Fraction(1, 1000), Fraction(1, 20), max_denominator=1000)


def spent(total: Budget, *budgets: Budget, neighbors: str = "replace") -> Sum:
    """Return the sum of releases, whether or not they fit."""
    found = Sum.empty(total)
    for budget in budgets:
        cost = cost_of(budget, neighbors, "replace")
        found = found.begun(total, cost.budget).plus(cost)
    return found


@given(st.lists(amounts, min_size=1, max_size=40))
def test_sums_are_exact(parts: list[Fraction]) -> None:
    for kind, index in ((PureDP, 0), (ZCDP, 0)):
        assert spent(kind(1), *(kind(part) for part in parts)).amounts[index] == sum(parts)


@given(st.lists(amounts, min_size=1, max_size=40))
def test_a_sum_fits_up_to_the_last_digit(parts: list[Fraction]) -> None:
    whole = sum(parts, start=Fraction(0))
    budgets = [ZCDP(part) for part in parts]
    assert spent(ZCDP(whole), *budgets).fits
    assert not spent(ZCDP(whole - Fraction(1, 10**30)), *budgets).fits


def test_ten_tenths_are_one() -> None:
    found = spent(PureDP(1), *[PureDP(0.1)] * 10)
    assert found.fits
    assert found.left == (Fraction(0),)
    assert not spent(PureDP(1), *[PureDP(0.1)] * 10, PureDP("1e-300")).fits


class TestNotions:
    def test_a_pure_total_takes_pure_releases_only(self) -> None:
        for other in (ZCDP("1e-9"), ApproxDP("1e-9", "1e-300")):
            with pytest.raises(ParameterError, match="adds up with the ledger's epsilon"):
                spent(PureDP(1), other)

    def test_a_pure_release_counts_half_its_square_as_rho(self) -> None:
        assert spent(ZCDP(1), PureDP("0.3"), ZCDP("0.1")).amounts == (Fraction(9, 200) + Fraction(1, 10),)

    def test_nothing_with_a_delta_is_zcdp(self) -> None:
        with pytest.raises(ParameterError, match="adds up with the ledger's rho"):
            spent(ZCDP(1), ApproxDP("0.001", "1e-12"))

    def test_an_epsilon_and_delta_total_that_begins_with_epsilon_is_summed(self) -> None:
        total = ApproxDP(2, "1e-6")
        found = spent(total, ApproxDP(1, "1e-7"), PureDP("1/2"))
        assert (found.adds, found.amounts) == (SUMMED, (Fraction(3, 2), Fraction(1, 10**7) + TAIL))
        with pytest.raises(ParameterError, match="epsilon and delta"):
            spent(total, PureDP(1), ZCDP("0.001"))
        assert not spent(total, PureDP(2), PureDP("1e-9")).fits
        assert not spent(total, ApproxDP(1, "6e-7"), ApproxDP(1, "6e-7")).fits

    def test_an_epsilon_and_delta_total_that_begins_with_rho_is_held_as_rho(self) -> None:
        """What was spent in the end, converted at once, is within the total: the tight conversion, not one for each."""
        total = ApproxDP(2, "1e-6")
        found = spent(total, *[ZCDP("0.008")] * 11)
        assert (found.adds, found.fits) == ("rho", True)
        assert ZCDP(found.amounts[0]).epsilon(total.delta) < 2
        assert ZCDP(found.limits[0]).epsilon(total.delta) == pytest.approx(2, rel=1e-3)
        assert ZCDP(found.limits[0]).epsilon(total.delta - found.most_tails) <= 2 * (1 + 2e-11)  # both conversions are rounded
        each = 11 * ZCDP("0.008").epsilon(Fraction(1, 10**6) / 11)
        assert each > 5  # what adding up (ε, δ) would have said
        with pytest.raises(ParameterError, match="adds up with the ledger's rho"):
            spent(total, ZCDP("0.001"), ApproxDP("0.1", "1e-9"))


class TestNeighbours:
    @pytest.mark.parametrize(
        ("budget", "counted"),
        [(PureDP("0.3"), PureDP("0.6")), (ZCDP("0.1"), ZCDP("0.4"))],
    )
    def test_adding_and_removing_counts_double_for_replacing(self, budget: Budget, counted: Budget) -> None:
        assert cost_of(budget, "add-remove", "replace").budget == counted

    def test_delta_grows_by_one_and_e_to_epsilon(self) -> None:
        """(ε, δ) twice in a row: P ≤ e^ε·(e^ε·Q + δ) + δ."""
        counted = cost_of(ApproxDP(1, "1e-6"), "add-remove", "replace").budget
        assert isinstance(counted, ApproxDP)
        assert counted.epsilon == 2
        assert 1 + math.e <= float(counted.delta * 10**6) <= (1 + math.e) * (1 + 1e-9)
        with pytest.raises(BudgetError, match="below 1"):
            cost_of(ApproxDP(20, "1e-6"), "add-remove", "replace")

    def test_replacing_says_nothing_of_adding_and_removing(self) -> None:
        for total in TOTALS:
            with pytest.raises(ParameterError, match="neighbors must be 'add-remove'"):
                cost_of(total, "replace", "add-remove")

    @pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
    @pytest.mark.parametrize("budget", TOTALS, ids=repr)
    def test_within_one_relation_nothing_changes(self, budget: Budget, neighbors: str) -> None:
        assert cost_of(budget, neighbors, neighbors).budget == budget


class TestTails:
    def test_every_pure_release_counts_one(self) -> None:
        assert spent(PureDP(1), PureDP("0.1"), PureDP("0.1")).tails == 2 * TAIL
        assert spent(ZCDP(1), PureDP("0.1"), ZCDP("0.1")).tails == TAIL

    def test_they_have_a_limit(self) -> None:
        full = Sum("epsilon", (Fraction(0),), (Fraction(1),), MOST_TAILS, MOST_TAILS)
        assert full.fits
        assert not full.plus(cost_of(PureDP("1e-9"), "replace", "replace")).fits

    @pytest.mark.parametrize("epsilon", ["0.01", "1", "5.3", "20", "70"])
    def test_what_a_curator_may_leave_out_needs_no_more_delta(self, epsilon: str) -> None:
        """(1 + e^ε) times the largest tail that is let through is at most what is counted, and at least an eighth of it."""
        most = cost_of(PureDP(epsilon), "replace", "replace").most_tail
        assert most is not None
        grown = (1 + math.exp(float(epsilon))) * float(most)
        assert float(TAIL) / 8 < grown <= float(TAIL)

    def test_for_replaced_rows_the_doubled_epsilon_counts(self) -> None:
        single, double = (cost_of(PureDP(3), neighbors, "replace").most_tail for neighbors in ("replace", "add-remove"))
        assert single is not None
        assert double is not None
        assert double <= single / 16

    def test_a_budget_with_a_delta_has_them_in_it(self) -> None:
        assert cost_of(ApproxDP(1, "1e-6"), "replace", "replace").most_tail is None

    def test_no_number_is_too_large(self) -> None:
        assert cost_of(PureDP("1e300"), "replace", "replace").most_tail == 0


def test_a_sum_is_read_back_as_it_was() -> None:
    for total in TOTALS:
        found = spent(total, PureDP("1/3"))
        assert Sum.from_json(found.to_json()) == found


def test_more_digits_than_a_file_holds_are_refused() -> None:
    with pytest.raises(BudgetError, match="900 digits"):
        spent(PureDP(1), PureDP(Fraction(1, 2**2900)), PureDP(Fraction(1, 3**1800)))


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((PureDP(1), "replace"), (PureDP(2), "replace"), (PureDP(3), "replace")),
        ((PureDP(1), "add-remove"), (PureDP(2), "add-remove"), (PureDP(3), "add-remove")),
        ((PureDP(1), "add-remove"), (PureDP(2), "replace"), (PureDP(4), "replace")),
        ((ZCDP("0.1"), "replace"), (PureDP(1), "replace"), (ZCDP("0.6"), "replace")),
        ((PureDP(1), "replace"), (ApproxDP(1, "1e-6"), "replace"), (ApproxDP(2, "1e-6"), "replace")),
        ((ApproxDP(1, "1e-6"), "replace"), (ApproxDP(2, "2e-6"), "replace"), (ApproxDP(3, "3e-6"), "replace")),
    ],
)
def test_two_releases_of_one_table(first: tuple[Budget, str], second: tuple[Budget, str], expected: tuple[Budget, str]) -> None:
    for one, other in ((first, second), (second, first)):
        both, but_for, neighbors = together(*one, *other)
        assert (both, neighbors) == expected
        assert but_for == 0


def test_two_releases_of_which_one_has_a_delta_and_one_a_rho() -> None:
    """(ε, δ) is ε-DP but for a probability of δ, and so ε²/2-zCDP."""
    rho, approx = (ZCDP("0.1"), "replace"), (ApproxDP(1, "1e-6"), "replace")
    for one, other in ((rho, approx), (approx, rho)):
        assert together(*one, *other) == (ZCDP("0.6"), Fraction(1, 10**6), "replace")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((ApproxDP(1, "0.6"), "replace"), (ApproxDP(1, "0.4"), "replace")),
        ((ApproxDP(9, "0.01"), "add-remove"), (PureDP(1), "replace")),
        ((PureDP("9e299"), "replace"), (PureDP("9e299"), "replace")),
    ],
)
def test_two_releases_whose_sum_promises_nothing(first: tuple[Budget, str], second: tuple[Budget, str]) -> None:
    assert together(*first, *second) == (None, Fraction(1), "replace")


def test_a_total_too_small_to_be_held_as_rho_is_one_of_epsilon() -> None:
    with pytest.raises(BudgetError, match="too small to be held as rho"):
        spent(ApproxDP("1e-300", "1e-300"), ZCDP("1e-299"))
    assert spent(ApproxDP("1e-300", "1e-300"), ApproxDP("1e-300", "1e-300")).fits
