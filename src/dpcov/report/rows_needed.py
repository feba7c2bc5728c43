"""How many rows one private component needs, by the theorems of Chaudhuri, Sarwate and Sinha (2013)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dpcov.mechanisms.pca.mod_sulq import MOD_SULQ
from dpcov.mechanisms.pca.ppca import PPCA
from dpcov.report.text import by

if TYPE_CHECKING:
    from rich.console import Console

    from dpcov.evaluate.plan import RowsNeeded

LARGEST_EXACT = 10**15


def write(out: Console, found: RowsNeeded) -> None:
    """Print a line for each theorem."""
    from rich.table import Table

    wanted = f"correlation {found.correlation:g} with the true component"
    title = f"d = {found.d}, gap = {found.gap:g}, epsilon = {found.epsilon:g}, {wanted}"
    table = Table("rows", "theorem", "what it says", title=title, title_justify="left", show_lines=True)
    table.columns[0].justify = "right"
    for rows, theorem, sentence in _lines(found):
        table.add_row("-" if rows is None else _count(rows), theorem, sentence)
    out.print(table)
    out.print(
        "Theorems of Chaudhuri, Sarwate and Sinha (2013), for rows of norm at most 1 and neighbours that replace one row."
    )
    out.print("They hold for all data with this gap: fewer rows than enough may do for yours.")


def record(found: RowsNeeded) -> dict[str, Any]:
    """Return the numbers for machines."""
    return found.to_dict()


def columns(found: RowsNeeded) -> dict[str, Any]:
    """Return a line for each theorem."""
    return dict(zip(("rows", "theorem", "what it says"), map(list, zip(*_lines(found), strict=True)), strict=True))


def _lines(found: RowsNeeded) -> Iterator[tuple[int | None, str, str]]:
    """Yield a number of rows, where it comes from, and one sentence about it."""
    sure = f"with probability {100 * (1 - found.beta):g} %"
    wanted = f"correlation {found.correlation:g}"
    yield found.enough, "7, tight", f"Enough for one direction drawn by the exponential mechanism to reach {wanted} {sure}."
    release = by(f"dpcov release --pca 1 --mechanism {PPCA.name}", f"dpcov.pca(..., 1, mechanism={PPCA.name!r})")
    yield (
        found.enough_for_release,
        "7, tight",
        f"The same for {release}, which keeps {100 * (1 - found.direction_share):.3g} % of epsilon to tell "
        "what the direction explains.",
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
