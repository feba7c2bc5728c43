"""``dpcov plan``: how large the error will be, before anything is spent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from dpcov.privacy.budget import Budget

EXAMPLE = "\b\nExample:\n  dpcov plan covariance --n 48842 --d 108 --epsilon 1"


@click.group(epilog=EXAMPLE)
def plan() -> None:
    """Predict errors from public numbers, without data."""


@plan.command(epilog=EXAMPLE)
@click.option("--n", type=int, required=True, help="Number of rows.")
@click.option("--d", type=int, required=True, help="Number of columns.")
@click.option("--epsilon", help="Pure DP, or approximate DP with --delta.")
@click.option("--delta", help="With --epsilon: approximate DP.")
@click.option("--rho", help="zCDP, in place of --epsilon.")
@click.option("--neighbors", default="replace", show_default=True, help="replace or add-remove.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def covariance(n: int, d: int, epsilon: str | None, delta: str | None, rho: str | None, neighbors: str, as_json: bool) -> None:
    """Predict the r.m.s. Frobenius error of a covariance release, for rows of norm 1, before post-processing."""
    from dpcov.plan import plan_covariance

    budget = read_budget(epsilon, delta, rho)
    predictions = plan_covariance(n, d, budget, neighbors=neighbors)
    if as_json:
        click.echo(json.dumps({prediction.mechanism: prediction.expected_error for prediction in predictions}))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("mechanism", "expected error", "", title=f"{budget!r}, {neighbors}, n = {n}, d = {d}", title_justify="left")
    for place, prediction in enumerate(predictions):
        table.add_row(prediction.mechanism, f"{prediction.expected_error:.3g}", "" if place else "what auto chooses")
    console = Console(highlight=False)
    console.print(table)
    console.print("r.m.s. Frobenius error of the raw second moment, for rows of norm 1; no second moment is larger than 1.")


def read_budget(epsilon: str | None, delta: str | None, rho: str | None) -> Budget:
    """Turn --epsilon, --delta and --rho into one budget."""
    from dpcov.privacy.budget import ZCDP, ApproxDP, PureDP

    if rho is not None and epsilon is None and delta is None:
        return ZCDP(rho)
    if epsilon is not None and rho is None:
        return PureDP(epsilon) if delta is None else ApproxDP(epsilon, delta)
    raise click.UsageError("give --rho, or --epsilon with or without --delta")
