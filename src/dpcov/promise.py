"""What a release would promise: budgets, deltas, seeds and ledgers that promise nothing, or next to nothing, are refused."""

from __future__ import annotations

import numbers
from fractions import Fraction

from dpcov.custody.ledger import DataSet
from dpcov.errors import ParameterError, shown
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.questions.moments import REPLACE

MOST_EPSILON = 20
"""What it bounds is then a factor of half a billion, which is no bound; usual ones are below 10."""

MOST_RHO = 5
"""Of zCDP: its epsilon is 20.6 at the usual delta."""

USUAL_DELTA = Fraction(1, 10**6)
"""The largest delta where nobody says how many rows to expect: below one in the number of rows for most tables."""

GO_ON = "allow_weak=True goes on"


def check_budget(budget: object) -> None:
    """Refuse what is no budget."""
    if type(budget) not in (PureDP, ZCDP, ApproxDP):
        raise ParameterError(f"budget must be a PureDP, ZCDP or ApproxDP, got {shown(budget)}. Hint: write dpcov.ZCDP(0.1).")


def check_seed(seed: int | None) -> None:
    """Refuse what is no seed, before any data are opened."""
    if seed is not None:
        SeededBits(seed)


def check_ledger(ledger: object, seed: int | None) -> None:
    """Refuse what is no data set of a ledger, or a release that nobody would count as private."""
    if ledger is not None and not isinstance(ledger, DataSet):
        raise ParameterError(
            f"ledger must be a data set of a ledger, got {shown(ledger)}. Hint: dpcov.Ledger('budget.db').dataset('adult')."
        )
    if ledger is not None and seed is not None:
        raise ParameterError(
            f"seed must be left out with a ledger, got {shown(seed)}. Hint: what is seeded is not private, at any budget."
        )


def check_epsilon(budget: Budget) -> None:
    """Refuse a budget that promises next to nothing."""
    rule, most, amount = f"at most {MOST_EPSILON}", Fraction(MOST_EPSILON), budget.amounts()[0]
    if isinstance(budget, ZCDP):
        rule, most = f"at most {MOST_RHO:g}, about epsilon = {MOST_EPSILON} at delta = 1e-6", Fraction(MOST_RHO)
    if amount > most:
        raise ParameterError(
            f"{budget.names[0]} must be {rule}, got {budget!r}. Hint: with more hardly anything is hidden; {GO_ON}."
        )


def check_expected_n(expected_n: int | None, neighbors: str) -> None:
    """Refuse a guess of the rows that is none, or where their number is public."""
    if expected_n is None:
        return
    if not isinstance(expected_n, numbers.Integral) or isinstance(expected_n, bool) or expected_n < 1:
        raise ParameterError(
            f"expected_n must be a whole number of at least 1, got {shown(expected_n)}. Hint: a public guess of the rows."
        )
    if neighbors == REPLACE:
        raise ParameterError(
            "expected_n must be left out with neighbors='replace', got one. Hint: the number of rows is public there."
        )


def check_delta(budget: Budget, neighbors: str, expected_n: int | None) -> None:
    """Refuse a delta with which a release may publish a row; under add-remove n itself is neither known here nor asked for."""
    if not isinstance(budget, ApproxDP) or neighbors == REPLACE:
        return
    if expected_n is not None:
        check_delta_of(budget, int(expected_n), "expected_n")
    elif budget.delta > USUAL_DELTA:
        raise ParameterError(
            f"delta must be at most 1e-6 where the number of rows is private, got {float(budget.delta):g}. "
            f"Hint: expected_n=NUMBER, a public guess of the rows, sets another limit; {GO_ON}."
        )


def check_delta_of(budget: ApproxDP, n: int, name: str) -> None:
    """Refuse a delta that is not below one in a public number of rows."""
    if budget.delta * n >= 1:
        raise ParameterError(
            f"delta must be below 1/{name} = {1 / n:.3g}, got {float(budget.delta):g}. "
            f"Hint: with more, a release may publish a person's row and keep its promise; {GO_ON}."
        )
