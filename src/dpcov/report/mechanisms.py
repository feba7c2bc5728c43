"""The mechanisms: what there is to choose from, which budgets each serves, and its options."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from dpcov.dry_run import OWN_OPTIONS
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.base import Named
from dpcov.report.text import new_table

if TYPE_CHECKING:
    from rich.console import Console

COMMANDS = {
    "covariance": "dpcov release --mechanism",
    "mean": "dpcov mean --mechanism",
    "pca": "dpcov release --pca K --mechanism",
    "ridge": "dpcov.ridge(..., mechanism=...), in Python only",
}


def write(out: Console) -> None:
    """Print a table for each of what can be released."""
    for target, command in COMMANDS.items():
        table = new_table(command)
        for heading in ("mechanism", "budgets", "options", "what it does"):
            table.add_column(heading)
        for name, one in MECHANISMS[target].items():
            settings = "\n".join(f"{option}={default}" for option, default in own_options(one).items())
            budgets = "\n".join(" ".join(f"--{amount}" for amount in b.names) for b in notions(one))
            table.add_row(name, budgets, settings, one.summary)
        out.print(table)


def record() -> dict[str, Any]:
    """Return all mechanisms for machines."""
    return {
        target: {
            name: {"notions": [b.notion for b in notions(one)], "options": own_options(one), "summary": one.summary}
            for name, one in known.items()
        }
        for target, known in MECHANISMS.items()
    }


def own_options(named: Named) -> dict[str, Any]:
    """Return what --option may set, with the defaults; None: it must be given. Functions and flags have words for others."""
    said = OWN_OPTIONS[named.target]
    given = {name: default for name, default in named.options.items() if name not in said}
    return {name: None if default is inspect.Parameter.empty else default for name, default in given.items()}


def notions(named: Named) -> list[type[Budget]]:
    """Return the notions that a mechanism takes, the strictest first."""
    every: tuple[type[Budget], ...] = (PureDP, ZCDP, ApproxDP)
    return [notion for notion in every if notion in named.serves]
