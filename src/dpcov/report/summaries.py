"""Tables of estimates with standard errors, t, p and intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from dpcov.uses.summary import Summary


def write(out: Console, found: Summary) -> None:
    """Print a table, and what is assumed."""
    out.print(str(found), soft_wrap=True)


def record(found: Summary) -> dict[str, Any]:
    """Return a table for machines, by column."""
    return found.to_dict()


def columns(found: Summary) -> dict[str, Any]:
    """Return a line for each number."""
    numbers = {"estimate": found.estimate, "standard_error": found.standard_error, "t": found.t, "p": found.p}
    return {"name": list(found.names), **numbers, "lower": found.lower, "upper": found.upper}
