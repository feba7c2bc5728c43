"""What a release and the one whose file it replaces add up to, where no ledger keeps count of them."""

from __future__ import annotations

from pathlib import Path

from dpcov.custody.adding import together
from dpcov.errors import DpcovError, printable
from dpcov.kernel.budget import Budget, decimal_text
from dpcov.release.file import load
from dpcov.release.record import Release


def said_of_both(before: Path, made: Release) -> list[str]:
    """Say what two releases cost if they are of one table; nothing where the file is none, or one ledger counted both."""
    try:
        first = load(before)
    except DpcovError:  # another file: nothing to add to
        return []
    if made.seeded or first.seeded or _is_counted(first, made):
        return []
    both, but_for, neighbors = together(first.privacy, first.neighbors, made.privacy, made.neighbors)
    if first.encoding.unit != made.encoding.unit:  # rows and people are not added up
        cost = "cost more than any one number says"
    elif both is None:
        cost = "promise nothing: their delta adds up to 1 or more"
    else:
        cost = (
            f"cost {_amounts(both)}" + f", but for a probability of {decimal_text(but_for)}" * (but_for > 0) + f" ({neighbors})"
        )
    return [
        f"{printable(before.name)} held a release already. If it was of the same table, both together {cost}, "
        f"and whoever has a copy of the first has both. "
        + ("`dpcov ledger init` keeps count." if made.ledger is None else "The ledger counts the second only.")
    ]


def _is_counted(first: Release, made: Release) -> bool:
    return first.ledger is not None and made.ledger is not None and first.ledger.ledger == made.ledger.ledger


def _amounts(budget: Budget) -> str:
    return ", ".join(f"{name} = {decimal_text(amount)}" for name, amount in zip(budget.names, budget.amounts(), strict=True))
