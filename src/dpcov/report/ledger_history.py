"""What happened in a ledger: a line for each entry."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dpcov.kernel.budget import decimal_text
from dpcov.report.text import by, new_table, printable

if TYPE_CHECKING:
    from rich.console import Console

    from dpcov.custody.telling import LedgerHistory

MOST_ENTRIES = 100  # that a command lists: the last ones


def write(out: Console, found: LedgerHistory) -> None:
    """Print the entries in order, and how many came before them."""
    table = new_table(printable(found.path.name))
    table.add_column("entry", justify="right")
    for heading in ("time", "who", "data set", "what", "why"):
        table.add_column(heading, overflow="fold")
    for event in found.events:
        day = printable(event["time"][:16].replace("T", " "))
        table.add_row(
            str(event["sequence"]),
            day,
            _who(event),
            printable(event["dataset"], 200),
            printable(_what(event), 200),
            printable(event["why"], 200),
        )
    out.print(table)
    if found.earlier:
        out.print(f"{found.earlier} earlier: {by('--all lists them', 'leave `last` out')}.")


def _who(event: dict[str, Any]) -> str:
    """Say who wrote an entry, and as which user where that is another name."""
    who, user = printable(event["who"], 200), printable(event["user"], 200)
    return who if who == user else f"{who} ({user})"


def _what(event: dict[str, Any]) -> str:
    """Say in a few words what an entry is about."""
    facts = event["facts"]
    budget = facts.get("budget") or facts.get("total") or {}
    amounts = ", ".join(f"{name} = {_short(amount)}" for name, amount in budget.items() if name != "notion")
    made = facts.get("what", {})
    said = {
        "created": "a new ledger",
        "opened": f"may lose {amounts} ({facts.get('neighbors')}, each {printable(str(facts.get('unit')))})"
        + "".join("; " + rule for rule in _rules(facts)),
        "attempted": f"attempt: {made.get('target')} by {made.get('mechanism')}, {amounts}",
        "spent": f"spent {amounts} for attempt {facts.get('attempt')}",
        "released": f"release of {facts.get('spent')}: {str(facts.get('digest'))[7:23]}…",
        "failed": f"attempt {facts.get('attempt')} failed: {facts.get('error')}"
        + "; it stays spent" * bool(facts.get("spent")),
        "resumed": "attempts allowed again",
        "policy": "policy: " + _policy(facts),
        "approved": f"approved: {'policy: ' + _policy(facts) if 'policy' in facts else amounts}",
    }
    return said.get(event["event"], str(event["event"]))


def _short(amount: str) -> str:
    return decimal_text(Fraction(amount))


def _policy(facts: dict[str, Any]) -> str:
    return "; ".join(_rules(facts)) or "none"


def _rules(facts: dict[str, Any]) -> list[str]:
    """Say what a policy asks for, as the entry has it."""
    rules = facts.get("policy") or {}
    said = [f"{name} at most {_short(rules[name])}" for name in ("epsilon", "delta", "rho") if name in rules]
    if "mechanisms" in rules:
        said.append("by " + " or ".join(rules["mechanisms"]))
    if "neighbors" in rules:
        said.append(f"for {rules['neighbors']}")
    return said + ["with one schema"] * ("schema" in rules) + ["by two people"] * bool(rules.get("second_person"))


def record(found: LedgerHistory) -> dict[str, Any]:
    """Return the entries for machines."""
    return {"entries": list(found.events), "earlier": found.earlier}


def columns(found: LedgerHistory) -> dict[str, Any]:
    """Return a line for each entry."""
    keys = ("sequence", "time", "who", "dataset", "event", "why")
    return {key: [event[key] for event in found.events] for key in keys} | {"what": [_what(event) for event in found.events]}
