"""How the commands talk: one console, names that cannot garble a terminal, tables of moderate length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console
    from rich.table import Table

    from dpcov.release import Release
    from dpcov.uses.intervals import Interval

WIDTH = 100  # of help texts always; of tables where stdout is no terminal
LONGEST_NAME = 22  # of a feature, in pictures and lists


def console() -> Console:
    """Return a console for stdout; square brackets in names mean nothing to it."""
    import sys

    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else WIDTH)


def printable(name: str) -> str:
    """Return a name without line breaks and terminal codes, cut short."""
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    return plain if len(plain) <= 60 else plain[:57] + "..."


def shortened(name: str) -> str:
    """Keep both ends of a long name: levels of a column differ at the end."""
    half = LONGEST_NAME // 2
    return name if len(name) <= LONGEST_NAME else f"{name[:half]}…{name[-half + 1 :]}"


def spends_table(release: Release, title: str = "spent") -> Table:
    """List every question that was asked of the data."""
    from rich.table import Table

    table = Table("asked", "noise", "cost", title=f"{title}: {len(release.spent)} question(s)", title_justify="left")
    for spend in release.spent:
        table.add_row(spend.asked, spend.noise, repr(spend.budget))
    return table


def features_table(names: Sequence[str], columns: Mapping[str, NDArray[np.float64]], title: str, limit: int | None) -> Table:
    """List numbers for each feature, the first ``limit`` of them; the caption says how many more there are."""
    from rich.table import Table

    hidden = 0 if limit is None else max(0, len(names) - limit)
    caption = f"... and {hidden} more features" if hidden else None
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left")
    table.add_column("feature", overflow="fold")
    for heading in columns:
        table.add_column(heading, justify="right")
    for name, *numbers in list(zip(names, *columns.values(), strict=True))[: len(names) - hidden]:
        table.add_row(printable(name), *(f"{number:.4g}" for number in numbers))
    return table


def print_promise(out: Console, release: Release) -> None:
    """Print what a release is, and what it promises."""
    out.print(repr(release), style="bold", soft_wrap=True)
    out.print(f"Privacy: {release.statement()}", soft_wrap=True)


def percent(level: float) -> str:
    """Return a probability in percent."""
    return f"{100 * level:.12g} %"


def span(lower: float, upper: float) -> str:
    """Return an interval as text; both ends have as many decimals as give its width three digits."""
    import math

    width, largest = upper - lower, max(abs(lower), abs(upper))
    if not 0 < width < math.inf or not 1e-3 <= largest < 1e6:
        return f"{lower:.3g} to {upper:.3g}"
    decimals = min(max(0, 2 - math.floor(math.log10(width))), 9)
    return f"{lower:z.{decimals}f} to {upper:z.{decimals}f}"


def finite(numbers: NDArray[np.float64] | float) -> Any:
    """Return numbers as JSON has them: what is not finite is null."""
    import numpy as np

    array = np.asarray(numbers, dtype=np.float64)
    cells = array.astype(object)
    cells[~np.isfinite(array)] = None
    return cells.tolist()


def interval_record(interval: Interval) -> dict[str, Any]:
    """Return intervals for machines."""
    return {
        "estimate": finite(interval.estimate),
        "lower": finite(interval.lower),
        "upper": finite(interval.upper),
        "standard_error": finite(interval.standard_error),
    }
