"""``dpcov plan pca``: how many rows one private component needs, by the theorems of Chaudhuri et al. (2013)."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import click

from dpcov.cli.options import json_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpcov.evaluate.plan import RowsNeeded

EXAMPLE = "\b\nExample:\n  dpcov plan pca --d 100 --gap 0.1 --epsilon 0.1"
LARGEST_EXACT = 10**15


@click.command(name="pca", epilog=EXAMPLE)
@click.option("--d", type=int, required=True, help="Number of features: a column of text counts once per level.")
@click.option("--gap", type=float, required=True, help="Between the two largest eigenvalues of the mean of x xᵀ.")
@click.option("--epsilon", metavar="NUMBER", required=True, help="Pure DP; with --delta for Gaussian noise on the matrix.")
@click.option("--delta", metavar="NUMBER", default="1e-6", show_default=True, help="For Gaussian noise on the matrix only.")
@click.option("--correlation", type=float, default=0.9, show_default=True, help="Wanted, with the true first component.")
@click.option("--largest", type=float, default=1.0, show_default=True, help="The largest eigenvalue, at most 1.")
@click.option("--beta", type=float, default=0.05, show_default=True, help="The probability that it may go wrong.")
@json_option
def plan_pca(
    d: int, gap: float, epsilon: str, delta: str, correlation: float, largest: float, beta: float, as_json: bool
) -> None:
    """Predict how many rows, of norm at most 1, one private principal component needs."""
    from dpcov.evaluate.plan import plan_pca as planned

    found = planned(d, gap, epsilon, delta=delta, correlation=correlation, largest=largest, beta=beta)
    if as_json:
        click.echo(json.dumps(found.to_dict(), allow_nan=False))
        return
    from rich.table import Table

    from dpcov.cli.text import console

    title = f"d = {d}, gap = {gap:g}, epsilon = {found.epsilon:g}, correlation {correlation:g} with the true component"
    table = Table("rows", "theorem", "what it says", title=title, title_justify="left", show_lines=True)
    table.columns[0].justify = "right"
    for rows, theorem, sentence in _lines(found):
        table.add_row("-" if rows is None else _count(rows), theorem, sentence)
    out = console()
    out.print(table)
    out.print(
        "Theorems of Chaudhuri, Sarwate and Sinha (2013), for rows of norm at most 1 and neighbours that replace one row."
    )
    out.print("They hold for all data with this gap: fewer rows than enough may do for yours.")


def _lines(found: RowsNeeded) -> Iterator[tuple[int | None, str, str]]:
    """Yield a number of rows, where it comes from, and one sentence about it."""
    from dpcov.mechanisms.pca.mod_sulq import MOD_SULQ
    from dpcov.mechanisms.pca.ppca import PPCA

    sure = f"with probability {100 * (1 - found.beta):g} %"
    wanted = f"correlation {found.correlation:g}"
    yield found.enough, "7, tight", f"Enough for one direction drawn by the exponential mechanism to reach {wanted} {sure}."
    yield (
        found.enough_for_release,
        "7, tight",
        f"The same for dpcov release --pca 1 --mechanism {PPCA.name}, which keeps {100 * (1 - found.direction_share):.3g} % "
        "of epsilon to tell what the direction explains.",
    )
    yield found.enough_as_printed, "7, printed", "The same with the constants printed in the paper."
    if found.needed_by_any is not None:
        sentence = f"With fewer, no epsilon-DP algorithm at all reaches an expected {wanted} on all data with this gap."
    else:
        sentence = f"Says nothing about what every epsilon-DP algorithm needs: {_silence(found)}."
    yield found.needed_by_any, "8", sentence
    mod_sulq = f"{MOD_SULQ.name} at delta = {f'{found.delta:g}'.replace('e-0', 'e-')}"
    if found.needed_by_mod_sulq is not None:
        yield found.needed_by_mod_sulq, "15", f"With fewer, {mod_sulq} cannot reach an expected {wanted} on all data."
    else:
        yield None, "15", f"Says nothing about {mod_sulq} here: no number of rows is ruled out."


def _silence(found: RowsNeeded) -> str:
    """Say why Theorem 8 is silent."""
    scope = found.needed_by_any_from_correlation
    if scope is None:
        return "it takes three features or more"
    if found.gap > 0.5:
        return "it is about gaps of at most 0.5"
    return f"for d = {found.d} it starts at correlation {math.ceil(scope * 1e4) / 1e4:g}"


def _count(rows: int) -> str:
    return f"{rows:,}" if rows < LARGEST_EXACT else f"{rows:.3g}"
