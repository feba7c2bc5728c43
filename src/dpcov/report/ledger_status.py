"""What is left of the budgets in a ledger: a table with a bar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcov.custody.policy import Policy
from dpcov.report.text import budget_words, counted, new_table, printable

if TYPE_CHECKING:
    from rich.console import Console

    from dpcov.custody.telling import LedgerStatus, Standing

WIDTH = 20  # of a bar, in characters
NO_RULES = Policy()
PROTECTS = {"replace": "values", "add-remove": "presence"}


def write(out: Console, found: LedgerStatus) -> None:
    """Print a line for each data set."""
    if not found.standings:
        out.print("No data set yet. `dpcov ledger init` sets what one may lose in all.")
        return
    table = new_table(printable(found.path.name))
    for heading in ("data set", "protects", "total", "left"):
        table.add_column(heading)
    table.add_column("releases", justify="right")
    table.add_column("spent")
    for standing in found.standings:
        left = "nothing" if standing.left is None else budget_words(standing.left)
        paid = f"{standing.releases}" + f" ({standing.unfinished} without a digest)" * (standing.unfinished > 0)
        total, whom = budget_words(standing.total), f"a {printable(standing.unit)}'s {PROTECTS[standing.neighbors]}"
        table.add_row(printable(standing.name), whom, total, left, paid, _bar(standing))
    out.print(table)
    for standing in found.standings:
        if standing.policy != NO_RULES:
            out.print(
                f"{printable(standing.name)}, policy: {'; '.join(map(printable, standing.policy.lines()))}.", soft_wrap=True
            )
        if standing.tails:
            bits = f"2**-{int(standing.tails.denominator / standing.tails.numerator).bit_length() - 1}"
            out.print(f"{printable(standing.name)}: and delta = {bits} for rare errors in rounding the noise.")
    waiting = sum(standing.unfinished for standing in found.standings)
    if waiting:
        out.print(
            f"{counted(waiting, 'release')} paid for and not recorded: still running, or crashed. What was paid stays spent."
        )


def _bar(standing: Standing) -> str:
    filled = round(WIDTH * standing.share)
    return "█" * filled + "░" * (WIDTH - filled) + f" {standing.share:.1%}"


def record(found: LedgerStatus) -> dict[str, Any]:
    """Return it for machines: amounts as exact text."""
    return {"data_sets": [standing.to_dict() for standing in found.standings]}


def columns(found: LedgerStatus) -> dict[str, Any]:
    """Return a line for each data set."""
    told = [standing.to_dict() for standing in found.standings]
    names = ("dataset", "neighbors", "unit", "adds", "share", "releases", "unfinished")
    amounts = {
        "total": [budget_words(standing.total) for standing in found.standings],
        "left": ["" if standing.left is None else budget_words(standing.left) for standing in found.standings],
    }
    return {name: [line[name] for line in told] for name in names} | amounts
