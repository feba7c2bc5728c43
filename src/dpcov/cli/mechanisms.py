"""``dpcov mechanisms``: what there is to choose from."""

from __future__ import annotations

import inspect
import json
from typing import TYPE_CHECKING, Any

import click

from dpcov.cli.options import json_option

if TYPE_CHECKING:
    from dpcov.kernel.budget import Budget
    from dpcov.mechanisms.base import Named

COMMANDS = {
    "covariance": "dpcov release --mechanism",
    "mean": "dpcov mean --mechanism",
    "pca": "dpcov release --pca K --mechanism",
    "ridge": "dpcov.ridge(..., mechanism=...), in Python only",
}
NEEDED = ("k", "target", "alpha")
"""What mechanisms must be told: no options, as the command or the function has words for them."""


@click.command(epilog="\b\nExample:\n  dpcov mechanisms")
@json_option
def mechanisms(as_json: bool) -> None:
    """List the mechanisms, the budgets they serve and their options."""
    from dpcov.mechanisms import MECHANISMS

    if as_json:
        listed = {
            target: {
                name: {"notions": [b.notion for b in served(one)], "options": own_options(one), "summary": one.summary}
                for name, one in known.items()
            }
            for target, known in MECHANISMS.items()
        }
        click.echo(json.dumps(listed))
        return
    from rich.table import Table

    from dpcov.report.text import console

    for target, command in COMMANDS.items():
        table = Table("mechanism", "budgets", "options", "what it does", title=command, title_justify="left")
        for name, one in MECHANISMS[target].items():
            settings = "\n".join(f"{option}={default}" for option, default in own_options(one).items())
            budgets = "\n".join(" ".join(f"--{amount}" for amount in b.names) for b in served(one))
            table.add_row(name, budgets, settings, one.summary)
        console().print(table)


def own_options(named: Named) -> dict[str, Any]:
    """Return what --option may set, with the defaults; None: it must be given."""
    given = {name: default for name, default in named.options.items() if name not in NEEDED}
    return {name: None if default is inspect.Parameter.empty else default for name, default in given.items()}


def served(named: Named) -> list[type[Budget]]:
    """Return the notions that a mechanism takes, the strictest first."""
    from dpcov.kernel.budget import ZCDP, ApproxDP, PureDP

    notions: tuple[type[Budget], ...] = (PureDP, ZCDP, ApproxDP)
    return [notion for notion in notions if notion in named.serves]
