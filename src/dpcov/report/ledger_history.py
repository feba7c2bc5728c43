"""What happened in a ledger: a line for each entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcov.report.text import by, new_table, printable

if TYPE_CHECKING:
    from rich.console import Console

    from dpcov.custody.telling import LedgerHistory

MOST_ENTRIES = 100  # that are listed: the last ones


def write(out: Console, found: LedgerHistory, limit: int | None = MOST_ENTRIES) -> None:
    """Print the entries in order, the last ones where there are many."""
    listed = found.events if limit is None else found.events[-limit:]
    hidden = len(found.events) - len(listed)
    table = new_table(printable(found.path.name))
    table.add_column("entry", justify="right")
    for heading in ("time", "who", "data set", "what", "why"):
        table.add_column(heading, overflow="fold")
    for event in listed:
        day = printable(event["time"][:16].replace("T", " "))
        names = (printable(event[key], 200) for key in ("who", "dataset"))
        table.add_row(str(event["sequence"]), day, *names, printable(_what(event), 200), printable(event["why"], 200))
    out.print(table)
    if hidden:
        out.print(f"{hidden} earlier: {by('--all lists them', 'to_frame() has them')}.")


def _what(event: dict[str, Any]) -> str:
    """Say in a few words what an entry is about."""
    facts = event["facts"]
    budget = facts.get("budget") or facts.get("total") or {}
    amounts = ", ".join(f"{name} = {amount}" for name, amount in budget.items() if name != "notion")
    made = facts.get("what", {})
    said = {
        "created": "a new ledger",
        "opened": f"may lose {amounts} ({facts.get('neighbors')})",
        "attempted": f"attempt: {made.get('target')} by {made.get('mechanism')}, {amounts}",
        "spent": f"spent {amounts} for attempt {facts.get('attempt')}",
        "released": f"release of {facts.get('spent')}: {str(facts.get('digest'))[7:23]}…",
        "failed": f"attempt {facts.get('attempt')} failed: {facts.get('error')}"
        + "; it stays spent" * bool(facts.get("spent")),
        "resumed": "attempts allowed again",
    }
    return said.get(event["event"], str(event["event"]))


def record(found: LedgerHistory) -> dict[str, Any]:
    """Return the entries for machines."""
    return {"entries": list(found.events)}


def columns(found: LedgerHistory) -> dict[str, Any]:
    """Return a line for each entry."""
    keys = ("sequence", "time", "who", "dataset", "event", "why")
    return {key: [event[key] for event in found.events] for key in keys} | {"what": [_what(event) for event in found.events]}
