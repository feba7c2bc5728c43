"""``dpcov mechanisms``: what there is to choose from."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from dpcov.cli.options import json_option

if TYPE_CHECKING:
    from dpcov.kernel.budget import Budget
    from dpcov.release.record import Release

COMMANDS = {
    "covariance": "dpcov release --mechanism",
    "mean": "dpcov mean --mechanism",
    "pca": "dpcov release --pca K --mechanism",
    "ridge": "dpcov.ridge(..., mechanism=...), in Python only",
}
NEEDED = {"k": 1, "target": 0, "alpha": 0.1}
"""What mechanisms must be told, with an example: no options, as the command or the function has words for them."""


@click.command(epilog="\b\nExample:\n  dpcov mechanisms")
@json_option
def mechanisms(as_json: bool) -> None:
    """List the mechanisms, the budgets they serve and their options."""
    from dpcov.mechanisms import MECHANISMS

    if as_json:
        listed = {
            target: {
                name: {"notions": [b.notion for b in served(run)], "options": own_options(run), "summary": summary(run)}
                for name, run in runs.items()
            }
            for target, runs in MECHANISMS.items()
        }
        click.echo(json.dumps(listed))
        return
    from rich.table import Table

    from dpcov.cli.text import console

    for target, command in COMMANDS.items():
        table = Table("mechanism", "budgets", "options", "what it does", title=command, title_justify="left")
        for name, run in MECHANISMS[target].items():
            settings = "\n".join(f"{option}={default}" for option, default in own_options(run).items())
            budgets = "\n".join(" ".join(f"--{amount}" for amount in b.names) for b in served(run))
            table.add_row(name, budgets, settings, summary(run))
        console().print(table)


def summary(run: Callable[..., Release]) -> str:
    """Return the first line of a mechanism's docstring."""
    return (inspect.getdoc(run) or "").partition("\n")[0]


def own_options(run: Callable[..., Release]) -> dict[str, Any]:
    """Return what --option may set."""
    from dpcov.mechanisms import options_of

    return {name: default for name, default in options_of(run).items() if name not in NEEDED}


def served(run: Callable[..., Release]) -> list[Budget]:
    """Return a budget of each notion that a mechanism takes: it is tried, without data."""
    from dpcov.cli.rehearsal import Shape, rehearse
    from dpcov.errors import ParameterError
    from dpcov.kernel.budget import ZCDP, ApproxDP, PureDP
    from dpcov.mechanisms import options_of

    budgets: tuple[Budget, ...] = (PureDP(1), ZCDP(1), ApproxDP(1, "1e-6"))
    needed = {name: example for name, example in NEEDED.items() if name in options_of(run)}
    taken = []
    for budget in budgets:
        try:
            rehearse(run, Shape(("x0", "x1"), known_n=1000), budget, options=needed)
        except ParameterError:
            continue
        taken.append(budget)
    return taken
