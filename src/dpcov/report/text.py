"""How results are put into words: one console, names that cannot garble a terminal, tables of moderate length."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any

from dpcov.errors import printable as printable  # its place is below releases, which say what they are with it

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from dpcov.kernel.answer import Spend
    from dpcov.kernel.budget import Budget
    from dpcov.release.mark import Mark
    from dpcov.release.record import Release
    from dpcov.uses.description import Reading
    from dpcov.uses.intervals import Interval

WIDTH = 100  # of help texts always; of tables where stdout is no terminal
LONGEST_NAME = 22  # of a feature, in pictures and lists
NOISE = "≈ noise"  # in place of a number that cannot be told from it
MORE = "More rows, a larger budget, fewer columns or narrower bounds would show more."
SILENT = "the size of the noise is not known: it depends on the data, or the mechanism does not say"
UNKNOWN = "?"  # in place of a standard error that the release does not tell
MOST_DIGITS = 6  # of a number whose noise is tiny
MOST_NOISY = 5  # features in a list of many in which nothing is clear of noise: they show how large the noise is

Write = Callable[[int, float, float], tuple[str, str]]
"""Writes a number of a feature, by its place, and the number's standard error."""


def console() -> Console:
    """Return a console for stdout; square brackets in names mean nothing to it."""
    import sys

    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else WIDTH)


_in_python: ContextVar[bool] = ContextVar("in_python", default=False)


def by(command: str, python: str) -> str:
    """Return how to do something in the words of whoever reads: commands and flags on a terminal, Python in a notebook."""
    return python if _in_python.get() else command


@contextmanager
def speaking_python() -> Iterator[None]:
    """Let results name functions and arguments in place of commands and flags."""
    before = _in_python.set(True)
    try:
        yield
    finally:
        _in_python.reset(before)


def page(write: Callable[[Console], None]) -> str:
    """Return as HTML what is printed on a console of moderate width, in Python's words; names are escaped."""
    import io

    from rich.console import Console

    out = Console(highlight=False, markup=False, emoji=False, width=WIDTH, file=io.StringIO(), record=True)
    with speaking_python():
        write(out)
    style = "white-space:pre-wrap;line-height:normal;font-family:Menlo,Consolas,monospace"
    return out.export_html(inline_styles=True, code_format=f'<pre style="{style}">{{code}}</pre>')


def new_table(title: str, hidden: int = 0, what: str = "") -> Table:
    """Return a table under a title, with a line below that counts what is not listed."""
    from rich.table import Table

    caption = f"... and {hidden} more{' ' * bool(what)}{what}{'s' * (hidden > 1 and bool(what))}" if hidden else None
    return Table(title=one_line(title), title_justify="left", caption=caption, caption_justify="left")


def one_line(title: str) -> Text:
    """Return a title that a narrow table does not break."""
    from rich.text import Text

    return Text(title, no_wrap=True, overflow="ignore")


def shortened(name: str) -> str:
    """Keep both ends of a long name: levels of a column differ at the end."""
    half = LONGEST_NAME // 2
    return name if len(name) <= LONGEST_NAME else f"{name[:half]}…{name[-half + 1 :]}"


def spends_table(spent: Sequence[Spend], title: str = "spent") -> Table:
    """List every question that was asked of the data."""
    from rich.table import Table

    heading = one_line(f"{title}: {counted(len(spent), 'question')}")
    table = Table("asked", "noise", "cost", title=heading, title_justify="left")
    for spend, alike in groupby(spent):
        times = len(list(alike))
        table.add_row(
            f"{times} × " * (times > 1) + spend.asked, spend.noise, budget_words(spend.budget) + " each" * (times > 1)
        )
    return table


def budget_words(budget: Budget) -> str:
    """Write a budget in four digits; ≈ where that is not all of it, which JSON has."""
    return ", ".join(f"{name} {_short(getattr(budget, name))}" for name in budget.names)


def _short(amount: Fraction) -> str:
    said = f"{float(amount):.4g}"
    return f"{'=' if Fraction(said) == amount else '≈'} {said}"


def features_table(
    names: Sequence[str],
    columns: Mapping[str, NDArray[np.float64] | Reading],
    title: str,
    limit: int | None,
    writes: Mapping[str, Write] | None = None,
) -> Table:
    """List numbers for each feature; readings with their standard errors beside them.

    Of more than ``limit`` features those are listed that have a number clear of noise, and of these those with the most.
    ``writes`` says how those under a heading are written, where they are not plain numbers.
    """
    from dpcov.uses.description import Reading

    places = list(range(len(names)))
    clear = [numbers.clear for numbers in columns.values() if isinstance(numbers, Reading)]
    if limit is not None and len(names) > limit:
        of_each = [sum(bool(one[place]) for one in clear) for place in places]
        seen = sorted((place for place in places if of_each[place] or not clear), key=lambda place: -of_each[place])
        places = sorted(seen[:limit]) or places[:MOST_NOISY]
    table = new_table(title, len(names) - len(places), "feature")
    if len(places) < len(names) and clear:
        left = max(len(seen) - len(places), 0)
        table.caption = one_line(f"{table.caption}, {left or 'none'} of them clear of noise")
    table.add_column("feature", overflow="fold")
    cells: list[Sequence[str | Text]] = []
    for heading, numbers in columns.items():
        table.add_column(heading, justify="right")
        if isinstance(numbers, Reading):
            table.add_column("±", justify="right", no_wrap=True)
            write = (writes or {}).get(heading)
            cells += zip(*(reading_cells(numbers, place, write) for place in places), strict=True)
        else:
            cells.append([f"{number:#.4g}".removesuffix(".") for number in numbers[places]])
    for place, *row in zip(places, *cells, strict=True):
        table.add_row(printable(names[place]), *row)
    return table


def reading_cells(numbers: Reading, place: int | tuple[int, ...], write: Write | None = None) -> tuple[Text, Text]:
    """Return a number and its standard error as text; what is not clear of noise is no number, and grey."""
    from rich.text import Text

    pair = float(numbers.values[place]), float(numbers.standard_error[place])
    value, error = rounded(*pair) if write is None or not isinstance(place, int) else write(place, *pair)
    if not numbers.clear[place] and not error.startswith(UNKNOWN):
        return Text(NOISE, style="dim"), Text(error, style="dim")
    return Text(value), Text(error)


def rounded(value: float, error: float) -> tuple[str, str]:
    """Return a number with no more digits than its standard error allows, and the error with two."""
    if not math.isfinite(error):
        return f"{value:.4g}", UNKNOWN if math.isnan(error) else "∞"
    if error == 0:
        return f"{value:.4g}", "0"
    size = math.floor(math.log10(max(abs(value), error)))
    decimals = min(1 - math.floor(math.log10(error)), MOST_DIGITS - size)  # that the error shows
    if -5 < size < 7:
        return tuple(f"{round(part, decimals):z.{max(decimals, 0)}f}" for part in (value, error))  # type: ignore[return-value]
    return f"{value:.{max(size + decimals, 0)}e}", f"{error:.1e}"


def digits(number: float) -> str:
    """Write a standard error with two digits."""
    if math.isnan(number):
        return UNKNOWN
    if not math.isfinite(number):
        return "∞"
    if number == 0 or not 1e-4 <= abs(number) < 1e6:
        return f"{number:.2g}"
    short = float(f"{number:.1e}")
    return f"{short:.{max(1 - math.floor(math.log10(abs(short))), 0)}f}"


def print_promise(out: Console, release: Release) -> None:
    """Print what a release is, and what it promises."""
    out.print(_named(release), style="bold", soft_wrap=True)
    out.print(f"Privacy: {release.statement()}", soft_wrap=True)
    out.print(release.risk(), soft_wrap=True)
    if release.ledger is not None:
        out.print(ledger_line(release.ledger), soft_wrap=True)


def ledger_line(mark: Mark) -> str:
    """Say which entry paid for a release."""
    return f"Paid for by entry {mark.entry} of ledger {mark.ledger[:8]}…"


def _named(release: Release) -> str:
    """Say what a release is, as its `repr` does, in the words of a command."""
    python, words = repr(release.privacy), f"{budget_words(release.privacy)}, neighbours:"
    return repr(release)[1:-1].replace(f"{python},", words, 1).replace(" n=", " n = ").replace(" d=", " d = ")


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, which has an s where there are several."""
    return f"{number} {noun}{'s' * (number != 1)}"


def percent(level: float) -> str:
    """Return a probability in percent."""
    return f"{100 * level:.12g} %"


def span(lower: float, upper: float) -> str:
    """Return an interval as text; both ends have as many digits as give a standard error, a quarter of its width, two."""
    width, largest = upper - lower, max(abs(lower), abs(upper))
    if not 0 < width < math.inf or not 1e-3 <= largest < 1e6:
        return f"{lower:.3g} to {upper:.3g}"
    decimals = min(1 - math.floor(math.log10(width / 4)), 9)
    return " to ".join(f"{round(end, decimals):z.{max(decimals, 0)}f}" for end in (lower, upper))


def finite(numbers: NDArray[np.float64] | float | None) -> Any:
    """Return numbers as JSON has them: what is not finite is None."""
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
