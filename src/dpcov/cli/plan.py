"""``dpcov plan``: how large the error will be, before anything is spent."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from dpcov.cli.options import budget_options, json_option, neighbors_option
from dpcov.cli.plan_pca import plan_pca

if TYPE_CHECKING:
    from dpcov.kernel.budget import Budget

EXAMPLE = "\b\nExample:\n  dpcov plan covariance --n 48842 --d 110 --epsilon 1"


@click.group(epilog=EXAMPLE)
def plan() -> None:
    """Predict errors, or how many rows are needed, from public numbers, without data."""


plan.add_command(plan_pca)


@plan.command(epilog=EXAMPLE)
@click.option("--n", type=int, required=True, help="Number of rows.")
@click.option("--d", type=int, required=True, help="Number of features: a column of text counts once per level.")
@budget_options
@neighbors_option
@click.option("--center", is_flag=True, help="Predict for a centred covariance.")
@json_option
def covariance(n: int, d: int, budget: Budget, neighbors: str, center: bool, as_json: bool) -> None:
    """Predict the r.m.s. Frobenius error of a covariance release, for rows of norm 1, before post-processing."""
    from dpcov.evaluate.plan import plan_covariance

    predictions = plan_covariance(n, d, budget, neighbors=neighbors, center=center)
    if as_json:
        click.echo(json.dumps({prediction.mechanism: prediction.expected_error for prediction in predictions}))
        return
    from rich.table import Table

    from dpcov.report.text import console

    title = f"{budget!r}, {neighbors}, n = {n}, d = {d}{', centred' if center else ''}"
    table = Table("mechanism", "expected error", "", title=title, title_justify="left")
    for place, prediction in enumerate(predictions):
        table.add_row(prediction.mechanism, f"{prediction.expected_error:.3g}", "" if place else "smallest")
    out = console()
    out.print(table)
    out.print("r.m.s. Frobenius error of the raw second moment, for rows of norm 1; no second moment is larger than 1.")
    if not center:
        out.print("auto usually clips first, which is not shown here: dpcov compare tells what that gives for data like yours.")
