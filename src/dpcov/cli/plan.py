"""``dpcov plan``: how large the error will be, before anything is spent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dpcov.cli.groups import TableByDefault
from dpcov.cli.options import budget_options, json_option, neighbors_option, people_options
from dpcov.cli.plan_pca import plan_pca
from dpcov.cli.plan_table import EXAMPLE as TABLE_EXAMPLE
from dpcov.cli.plan_table import plan_table
from dpcov.cli.telling import print_json

if TYPE_CHECKING:
    from dpcov.kernel.budget import Budget

EXAMPLE = "\b\nExample:\n  dpcov plan covariance --n 48842 --d 110 --epsilon 1"


@click.group(cls=TableByDefault, epilog=f"{TABLE_EXAMPLE}\n  dpcov plan covariance --n 48842 --d 110 --epsilon 1")
def plan() -> None:
    """Predict errors, or how many rows are needed, from public numbers, without data.

    Options without a command are those of `dpcov plan table`.
    """


plan.add_command(plan_table)
plan.add_command(plan_pca)


@plan.command(epilog=EXAMPLE, short_help="Predict the error of a covariance release.")
@click.option("--n", type=int, required=True, help="Number of rows, with --unit of people.")
@click.option("--d", type=int, required=True, help="Number of features: a column of text counts once per level.")
@budget_options
@neighbors_option
@people_options
@click.option("--center", is_flag=True, help="Predict for a centred covariance.")
@json_option
def covariance(n: int, d: int, budget: Budget, neighbors: str, center: bool, as_json: bool, **whose: Any) -> None:
    """Predict the r.m.s. Frobenius error of a covariance release, for rows of norm 1, before post-processing."""
    from dpcov.evaluate.plan import plan
    from dpcov.report import record, write
    from dpcov.report.text import console

    found = plan("covariance", budget, n=n, d=d, neighbors=neighbors, center=center, **whose)
    if as_json:
        print_json(record(found))
    else:
        write(console(), found)
