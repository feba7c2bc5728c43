"""``dpcov plan pca``: how many rows one private component needs, by the theorems of Chaudhuri et al. (2013)."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from dpcov.cli.options import json_option

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLE = "\b\nExample:\n  dpcov plan pca --d 100 --gap 0.1 --epsilon 0.1"
LARGEST_EXACT = 10**15


@dataclass(frozen=True)
class Rows:
    """How many rows are enough, and how many are needed; None where a theorem says nothing."""

    d: int
    gap: float
    largest: float
    epsilon: float
    delta: float
    correlation: float
    beta: float
    enough: int
    enough_for_release: int
    direction_share: float
    enough_as_printed: int
    needed_by_any: int | None
    needed_by_any_from_correlation: float | None
    needed_by_mod_sulq: int | None


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
    found = planned(d, gap, epsilon, delta, correlation, largest, beta)
    if as_json:
        click.echo(json.dumps(asdict(found), allow_nan=False))
        return
    from rich.table import Table

    from dpcov.report.text import console

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


def planned(d: int, gap: float, epsilon: str, delta: str, correlation: float, largest: float, beta: float) -> Rows:
    """Return what the theorems say, or refuse numbers that they are not about."""
    from dpcov.bounds import least_rows, least_rows_scope, mod_sulq_rows, ppca_rows
    from dpcov.errors import ParameterError
    from dpcov.kernel.budget import ApproxDP
    from dpcov.kernel.rows.grid import MAX_FEATURES
    from dpcov.mechanisms.shared.components import EXPLAINED

    if not 2 <= d <= MAX_FEATURES:
        raise ParameterError(f"d must be an integer from 2 to {MAX_FEATURES}, got {d}. Hint: one column has no directions.")
    budget = ApproxDP(epsilon, delta)
    size, miss = float(budget.epsilon), float(budget.delta)
    try:
        enough = ppca_rows(d, gap, size, correlation, largest=largest, beta=beta)
        printed = ppca_rows(d, gap, size, correlation, largest=largest, beta=beta, constants="paper")
        needed, scope = least_rows(d, gap, size, correlation), least_rows_scope(d)
        mod_sulq = mod_sulq_rows(d, size, miss, correlation)
        return Rows(
            d=d,
            gap=gap,
            largest=largest,
            epsilon=size,
            delta=miss,
            correlation=correlation,
            beta=beta,
            enough=_whole(enough),
            enough_for_release=_whole(enough / float(1 - EXPLAINED)),
            direction_share=float(1 - EXPLAINED),
            enough_as_printed=_whole(printed),
            needed_by_any=_whole(needed) if needed > 0 else None,
            needed_by_any_from_correlation=scope if scope < 1 else None,
            needed_by_mod_sulq=_whole(mod_sulq) if mod_sulq > 1 else None,
        )
    except ArithmeticError:
        raise ParameterError(
            f"epsilon and gap must be large enough for a number of rows, got {size:g} and {gap:g}. Hint: spend more."
        ) from None


def _lines(found: Rows) -> Iterator[tuple[int | None, str, str]]:
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


def _silence(found: Rows) -> str:
    """Say why Theorem 8 is silent."""
    scope = found.needed_by_any_from_correlation
    if scope is None:
        return "it takes three features or more"
    if found.gap > 0.5:
        return "it is about gaps of at most 0.5"
    return f"for d = {found.d} it starts at correlation {math.ceil(scope * 1e4) / 1e4:g}"


def _whole(rows: float) -> int:
    """Round up, but for what rounding added."""
    return max(1, math.ceil(rows * (1 - 1e-12)))


def _count(rows: int) -> str:
    return f"{rows:,}" if rows < LARGEST_EXACT else f"{rows:.3g}"
