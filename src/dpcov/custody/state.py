"""What a data set of a ledger may lose, what it has lost, and what its releases must keep to: read from its last entries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dpcov.custody.adding import Cost, Sum, cost_of
from dpcov.custody.approving import approval_of_release
from dpcov.custody.people import current_user
from dpcov.custody.policy import Policy
from dpcov.custody.store import Writing
from dpcov.errors import BudgetError, ParameterError, did_you_mean, printable, shown
from dpcov.kernel.budget import NOTIONS, Budget, decimal_text

MOST_ATTEMPTS = 100
"""Readings of a data set that may end before anything is drawn, one after the other: more are no accident."""


@dataclass(frozen=True)
class State:
    """How a data set stands: ``spent`` until entry ``last``, under the ``policy`` that entry ``since`` set."""

    name: str
    total: Budget
    neighbors: str
    spent: Sum
    last: int
    policy: Policy
    since: int
    unit: str

    @classmethod
    def of(cls, reading: Writing, name: object) -> State:
        """Return the state of a data set, or refuse a name that is none, and what was edited."""
        opened = reading.last(name, "opened") if isinstance(name, str) else None
        if opened is None or not isinstance(name, str):
            raise ParameterError(
                f"data set must be one of the ledger's, got {shown(name)}. "
                f"Hint: {did_you_mean(name, reading.datasets())}`dpcov ledger status` lists them."
            )
        last, changed = reading.last(name, "spent"), reading.last(name, "policy") or opened
        until = 0 if last is None else last.sequence
        try:
            total, policy = read_budget(opened.facts["total"]), Policy(**changed.facts["policy"])
            spent = Sum.empty(total) if last is None else Sum.from_json(last.facts["after"])
            facts = opened.facts
            return cls(name, total, facts["neighbors"], spent, until, policy, changed.sequence, facts["unit"])
        except (KeyError, TypeError, ValueError):  # with a chain that somebody made anew
            raise BudgetError(
                f"ledger must be as it was written, got entries of {shown(name)} that nobody writes. "
                f"Hint: `dpcov ledger verify`."
            ) from None

    def with_release(self, budget: Budget, neighbors: str, what: Mapping[str, Any]) -> tuple[Cost, Sum]:
        """Return what a release counts, and the sum with it; refuse it where there is no room, or the policy forbids it."""
        cost = cost_of(budget, neighbors, self.neighbors)
        self.refuse_by_policy(cost, neighbors, what)
        return cost, self.with_cost(cost)

    def refuse_unit(self, unit: str) -> None:
        """Refuse a release that protects somebody else than the total: rows and people are not added up."""
        if unit != self.unit:
            raise ParameterError(
                f"unit must be that of the ledger's total, which is for each {printable(self.unit)}, "
                f"got a release for each {printable(unit)}. Hint: unit= is the column that says whose a row is."
            )

    def refuse_by_policy(self, cost: Cost, neighbors: str, what: Mapping[str, Any]) -> None:
        """Refuse what does not keep to the policy."""
        self.policy.refuse(cost.budget, neighbors, what)

    def with_cost(self, cost: Cost) -> Sum:
        """Return the sum with one more release, or refuse it where there is no room."""
        grown = self.spent.begun(self.total, cost.budget).plus(cost)
        if not grown.fits:
            raise BudgetError(
                f"budget must fit into what {shown(self.name)} has left, {left_text(self.spent)}, got {cost.budget!r}. "
                f"Hint: ask for less; what was spent cannot be had again."
            )
        return grown

    def approval(self, reading: Writing, facts: Mapping[str, Any]) -> int:
        """Return the entry by which a second person approved a release; 0 where none need; refuse one that lacks it."""
        if not self.policy.second_person:
            return 0
        return approval_of_release(reading, self.name, self.since, current_user(), facts).sequence

    def refuse_too_many_attempts(self, reading: Writing) -> None:
        """Refuse a data set that was read too often in vain."""
        resumed = reading.last(self.name, "resumed")
        since = max(self.last, 0 if resumed is None else resumed.sequence)
        if reading.count(self.name, "attempted", since) >= MOST_ATTEMPTS:
            raise BudgetError(
                f"a data set must not be read in vain more than {MOST_ATTEMPTS} times in a row, got {shown(self.name)}. "
                f"Hint: find out why, then `dpcov ledger resume`."
            )


def left_text(spent: Sum) -> str:
    """Return what is left, as people write it."""
    names = spent.adds.split(" and ") if spent.adds else ["epsilon", "delta"]
    return ", ".join(f"{name} = {decimal_text(left)}" for name, left in zip(names, spent.left, strict=True))


def read_budget(record: Mapping[str, str]) -> Budget:
    """Return a budget from its exact text."""
    kind = NOTIONS[record["notion"]]
    return kind(*(record[name] for name in kind.names))
