"""What a release and the one whose file it replaces add up to, where no ledger keeps count of them."""

from __future__ import annotations

from pathlib import Path

from dpcov.custody.adding import together
from dpcov.errors import DpcovError
from dpcov.kernel.budget import Budget, decimal_text
from dpcov.release.file import load
from dpcov.release.record import Release


def said_of_both(before: Path, made: Release) -> list[str]:
    """Say what two releases cost if they are of one table; nothing where the file is none, or neither is to be counted."""
    if made.ledger is not None or made.seeded:
        return []
    try:
        first = load(before)
        if first.encoding.unit != made.encoding.unit:  # rows and people are not added up
            both, neighbors = None, ""
        else:
            both, neighbors = together(first.privacy, first.neighbors, made.privacy, made.neighbors)
    except DpcovError:  # another file, or a δ of 1: nothing to add to
        return []
    if first.seeded:
        return []
    cost = "cost more than any one number says" if both is None else f"cost {_amounts(both)} ({neighbors})"
    return [
        f"{before.name} held a release already. If it was of the same table, both together {cost}, and whoever has a copy of "
        f"the first has both. `dpcov ledger init` keeps count."
    ]


def _amounts(budget: Budget) -> str:
    return ", ".join(f"{name} = {decimal_text(amount)}" for name, amount in zip(budget.names, budget.amounts(), strict=True))
