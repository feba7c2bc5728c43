"""The rule of two people: what one wants released, another has approved, in an entry that is used up once.

An approval names a budget, the relation, and the mechanism where the approver cares. It holds for the next release that fits,
until the policy of the data set is changed: that withdraws all approvals. A change of a policy that asks for a second person
needs an approval of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcov.custody.people import is_same_person
from dpcov.custody.store import Entry, Writing
from dpcov.errors import BudgetError, shown
from dpcov.kernel.budget import Budget

APPROVED = "approved"


def of_release(budget: Budget, neighbors: str, mechanism: str) -> dict[str, Any]:
    """Return what an approval of a release says; an empty mechanism is any."""
    return {"budget": budget.to_json(), "neighbors": neighbors, "mechanism": mechanism}


def fits_release(facts: Mapping[str, Any], spent: Mapping[str, Any]) -> bool:
    """Whether an approval is of a release with these facts."""
    what = spent["what"]
    mechanism = facts.get("mechanism")
    return (
        facts.get("budget") == spent["budget"]
        and facts.get("neighbors") == spent["neighbors"]
        and (mechanism == "" or mechanism == what.get("resolved", what.get("mechanism")))
    )


def approval_of_release(reading: Writing, name: str, since: int, user: str, facts: Mapping[str, Any]) -> Entry:
    """Return an approval of a release by somebody else, which is not used yet; refuse a release that has none."""
    used = {entry.facts.get("approval") for entry in reading.after(name, "spent", since)}
    for entry in reading.after(name, APPROVED, since):
        if entry.sequence not in used and not is_same_person(entry.user, user) and fits_release(entry.facts, facts):
            return entry
    raise BudgetError(
        f"a release from {shown(name)} must be approved by a second person, got no approval of it by another than {user}. "
        f"Hint: they run `dpcov ledger approve`, with the same budget."
    )


def approval_of_policy(reading: Writing, name: str, since: int, user: str, policy: Mapping[str, Any]) -> Entry:
    """Return an approval of a policy by somebody else; refuse a change that has none."""
    for entry in reading.after(name, APPROVED, since):
        if not is_same_person(entry.user, user) and entry.facts.get("policy") == policy:
            return entry
    raise BudgetError(
        f"a policy of {shown(name)} must be approved by a second person, got no approval of this one by another than {user}. "
        f"Hint: they run `dpcov ledger approve --policy FILE`."
    )
