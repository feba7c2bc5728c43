"""``dpcov plan pca``: how many rows one private component needs, by the theorems of Chaudhuri et al. (2013)."""

from __future__ import annotations

import click

from dpcov.cli.options import json_option
from dpcov.cli.telling import print_json

EXAMPLE = "\b\nExample:\n  dpcov plan pca --d 100 --gap 0.1 --epsilon 0.1"


@click.command(name="pca", epilog=EXAMPLE)
@click.option("--d", type=int, required=True, help="Number of features: a column of text counts once per level.")
@click.option("--gap", type=float, required=True, help="Gap between the two largest eigenvalues of the mean of x xᵀ.")
@click.option(
    "--epsilon", metavar="NUMBER", required=True, help="Budget of pure DP; with --delta for Gaussian noise on the matrix."
)
@click.option("--delta", metavar="NUMBER", default="1e-6", show_default=True, help="For Gaussian noise on the matrix only.")
@click.option(
    "--correlation",
    type=float,
    default=0.9,
    show_default=True,
    help="The correlation that you want with the true first component.",
)
@click.option("--largest", type=float, default=1.0, show_default=True, help="The largest eigenvalue, at most 1.")
@click.option("--beta", type=float, default=0.05, show_default=True, help="The probability with which this may fail.")
@json_option
def plan_pca(
    d: int, gap: float, epsilon: str, delta: str, correlation: float, largest: float, beta: float, as_json: bool
) -> None:
    """Predict how many rows, of norm at most 1, one private principal component needs."""
    from dpcov.evaluate.plan import plan_pca as planned
    from dpcov.report import record, write
    from dpcov.report.text import console

    found = planned(d, gap, epsilon, delta=delta, correlation=correlation, largest=largest, beta=beta)
    if as_json:
        print_json(record(found))
    else:
        write(console(), found)
