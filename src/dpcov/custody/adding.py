"""What releases of one data set add up to: exact sums, in the notion in which the data set's total was set.

Every rule here is additive composition against a limit that was fixed before the first spend. That matters: later budgets may
be chosen after earlier results were seen, and then only such limits are known to hold (docs/ledger.md has the theorems).

=================  ================================================================================
total              what a release counts
=================  ================================================================================
ε (pure)           its ε; it must be pure
ρ (zCDP)           its ρ; a pure one ε²/2
ε and δ, summed    its ε and its δ; it must be pure or (ε, δ)
ε and δ, as zCDP   as under ρ, against the largest ρ that implies the total
=================  ================================================================================

An (ε, δ) total is used in one of the last two ways, never in a mixture; its first spend says in which. That spend was chosen
before any result was seen, so that the choice tells nothing.

Noise that is drawn in floats is off with a tiny probability. A pure release counts `TAIL` for that, in a sum of its own, and a
curator that has a purse refuses noise that would need more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dpcov.errors import BudgetError, DpcovError, ParameterError
from dpcov.kernel.budget import MAX_BITS, ZCDP, ApproxDP, Budget, PureDP, compose
from dpcov.kernel.questions.moments import REPLACE

TAIL = Fraction(1, 2**64)
"""The δ that each pure release counts for noise drawn in floats, whether or not it has such noise: usual ones need 2⁻¹⁰⁰."""

MOST_TAILS = Fraction(1, 2**40)
"""All tails together, where the total itself has no δ."""

TAILS_OF_DELTA = Fraction(1, 1024)
"""The part of an (ε, δ) total's δ that is kept for tails where its releases add up as zCDP."""

SUMMED, AS_RHO = "epsilon and delta", "rho"


@dataclass(frozen=True)
class Cost:
    """What one release counts: for the neighbours of the total, in the release's own notion."""

    budget: Budget
    tail: Fraction

    @property
    def most_tail(self) -> Fraction | None:
        """How often noise drawn in floats may be off, before it needs more δ than it counts; None where δ has it already.

        What is within p of an ε-DP release is (ε, (1 + e^ε)·p)-DP: docs/guarantee.md.
        """
        if not isinstance(self.budget, PureDP):
            return None
        exponent = math.ceil(float(self.budget.epsilon) * 1.4426950408889634) + 1  # 1 + e^ε ≤ 2^(ε/ln 2 + 1), rounded up
        return self.tail / 2**exponent if exponent < 2**20 else Fraction(0)


def cost_of(budget: Budget, neighbors: str, of_total: str) -> Cost:
    """Return what a release for these neighbours promises to those of the total.

    Replacing a row is removing one and adding another: ε and √ρ double. Replacing alone says nothing of adding and removing.
    """
    if neighbors == of_total or of_total == REPLACE:
        counted = budget if neighbors == of_total else _twice(budget)
        return Cost(counted, TAIL if isinstance(counted, PureDP) else Fraction(0))
    raise ParameterError(
        f"neighbors must be {of_total!r} as in the ledger's total, got {neighbors!r}. "
        f"Hint: neighbors={of_total!r}; hiding a row's values does not hide whether it is there."
    )


def _twice(budget: Budget) -> Budget:
    if isinstance(budget, PureDP):
        return PureDP(2 * budget.epsilon)
    if isinstance(budget, ZCDP):
        return ZCDP(4 * budget.rho)
    grown = (1 + _power_up(budget.epsilon)) * budget.delta if budget.epsilon < 700 else Fraction(1)  # floats end at e^709
    if grown >= 1:
        raise BudgetError(
            f"delta must stay below 1 when it is counted for replaced rows, got {budget!r}. Hint: lower epsilon or delta."
        )
    return ApproxDP(2 * budget.epsilon, grown)


def _power_up(epsilon: Fraction) -> Fraction:
    """Return e^ε, rounded up to twelve digits."""
    return Fraction(repr(float(f"{math.exp(float(epsilon)) * (1 + 1e-11):.12g}")))


@dataclass(frozen=True)
class Sum:
    """What was spent of a total so far.

    Attributes
    ----------
    adds : str
        What adds up: "epsilon", "rho" or "epsilon and delta"; empty before the first spend of an (ε, δ) total.
    amounts, limits : tuple of Fraction
        The sums, and what they must not exceed.
    tails, most_tails : Fraction
        The same of the tails that stand beside ε or ρ. Where δ adds up they are part of it.
    """

    adds: str
    amounts: tuple[Fraction, ...]
    limits: tuple[Fraction, ...]
    tails: Fraction
    most_tails: Fraction

    @classmethod
    def empty(cls, total: Budget) -> Sum:
        """Return nothing spent of a total."""
        limits = tuple(total.amounts())
        most = Fraction(0) if isinstance(total, ApproxDP) else MOST_TAILS
        return cls(ADDS[type(total)], (Fraction(0),) * len(limits), limits, Fraction(0), most)

    @property
    def fits(self) -> bool:
        """Whether nothing exceeds its limit."""
        spent = (*self.amounts, self.tails)
        return all(amount <= limit for amount, limit in zip(spent, (*self.limits, self.most_tails), strict=True))

    @property
    def left(self) -> tuple[Fraction, ...]:
        """What may still be spent, in what adds up."""
        return tuple(limit - amount for amount, limit in zip(self.amounts, self.limits, strict=True))

    def begun(self, total: Budget, first: Budget) -> Sum:
        """Return the sum of an (ε, δ) total as its first spend makes it add up; of another as it is."""
        if self.adds:
            return self
        if not isinstance(first, ZCDP):
            return replace(self, adds=SUMMED)
        tails = total.amounts()[1] * TAILS_OF_DELTA
        try:
            limit = ApproxDP(total.amounts()[0], total.amounts()[1] - tails).to_zcdp().rho
        except ParameterError:
            raise BudgetError(
                f"budget must be epsilon where the total is too small to be held as rho, got {first!r} for {total!r}. "
                f"Hint: give epsilon, with or without delta."
            ) from None
        return Sum(AS_RHO, (Fraction(0),), (limit,), Fraction(0), tails)

    def plus(self, cost: Cost) -> Sum:
        """Return the sum with one more release in it, whether or not it fits; refuse one that cannot be counted so."""
        budget = cost.budget
        if self.adds == AS_RHO and isinstance(budget, PureDP):
            budget = budget.to_zcdp()
        if self.adds == SUMMED and isinstance(budget, PureDP):
            added: list[Fraction] = [budget.epsilon, cost.tail]
        elif isinstance(budget, COUNTED[self.adds]):
            added = budget.amounts()
        else:
            raise ParameterError(
                f"budget must be one that adds up with the ledger's {self.adds}, got {budget!r}. Hint: {INSTEAD[self.adds]}."
            )
        amounts = tuple(amount + one for amount, one in zip(self.amounts, added, strict=True))
        left = (limit - amount for limit, amount in zip(self.limits, amounts, strict=True))
        if any(number.denominator.bit_length() > MAX_BITS for number in (*amounts, *left)):
            raise BudgetError(
                "budgets of one data set must add up to at most 900 digits, got more. Hint: choose a rounder number."
            )
        tails = self.tails if self.adds == SUMMED else self.tails + cost.tail
        return replace(self, amounts=amounts, tails=tails)

    def to_json(self) -> dict[str, Any]:
        """Return the sum as an entry holds it, limits included: they are rounded, and may be rounded otherwise elsewhere."""
        lists = {"amounts": [str(one) for one in self.amounts], "limits": [str(one) for one in self.limits]}
        return {"adds": self.adds, **lists, "tails": str(self.tails), "most_tails": str(self.most_tails)}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Sum:
        """Read what `to_json` wrote."""
        amounts, limits = (tuple(Fraction(text) for text in record[name]) for name in ("amounts", "limits"))
        return cls(str(record["adds"]), amounts, limits, Fraction(record["tails"]), Fraction(record["most_tails"]))


def together(first: Budget, among: str, second: Budget, among_second: str) -> tuple[Budget | None, Fraction, str]:
    """Return what two releases of one table promise together, but for which probability, and for which neighbours.

    Two are a sum that was fixed in advance, so each may be counted in the notion that both have. None where the sum promises
    nothing: a δ of 1 or more.
    """
    of_both = among if among == among_second else REPLACE
    try:
        costs = [cost_of(budget, neighbors, of_both).budget for budget, neighbors in ((first, among), (second, among_second))]
        kinds = {type(budget) for budget in costs}
        deltas = sum((budget.delta for budget in costs if isinstance(budget, ApproxDP)), start=Fraction(0))
        if kinds == {PureDP, ApproxDP}:
            return ApproxDP(sum(budget.amounts()[0] for budget in costs), deltas), Fraction(0), of_both
        if len(kinds) == 2:  # with ρ: what is (ε, δ)-DP is ε-DP but for a probability of δ (docs/ledger.md, Rounded noise)
            return compose(*map(_as_rho, costs)), deltas, of_both
        return compose(*costs), Fraction(0), of_both
    except DpcovError:
        return None, Fraction(1), of_both


def _as_rho(budget: Budget) -> ZCDP:
    return budget if isinstance(budget, ZCDP) else PureDP(budget.epsilon).to_zcdp()


ADDS: dict[type[Budget], str] = {PureDP: "epsilon", ZCDP: AS_RHO, ApproxDP: ""}
COUNTED: dict[str, type[Budget]] = {"epsilon": PureDP, AS_RHO: ZCDP, SUMMED: ApproxDP}
INSTEAD = {
    "epsilon": "give epsilon alone; a weaker notion says nothing about pure privacy",
    AS_RHO: "give rho, or epsilon alone, which counts as epsilon**2 / 2",
    SUMMED: "give epsilon, with or without delta; rho adds up only where the first release of the data set gave it",
}
