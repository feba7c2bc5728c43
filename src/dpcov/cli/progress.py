"""A progress bar on stderr, for people only: a percentage, how many rows a second, how long it will take.

It never shows a number of rows; how fast they are read is told with two digits, of a number that has two digits itself.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Report = Callable[[float | None], None]


@contextmanager
def progress_bar(quiet: bool, work: str | None = None, chain: str | None = None) -> Iterator[Report | None]:
    """Yield what to call with the fraction read so far, None where it is unknown; no bar where nobody would see it.

    With ``work`` the fraction is that of the work after reading, and None means that rows are still being read. With ``chain``
    rows are read once, and fractions that come after the whole are those of a long draw.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        bar.add_task("reading", total=None)
        (task,) = bar.tasks

        is_read = False
        begun, last = time.monotonic(), 0.0

        def report(fraction: float | None) -> None:
            nonlocal is_read, begun, last
            if (fraction or 0.0) < last:  # another reading
                begun = time.monotonic()
            last = fraction or 0.0
            drawing = chain is not None and is_read
            is_read = is_read or fraction == 1
            after = fraction == 1 if work is None else fraction is not None
            task.description = (
                (work or chain or "drawing noise") if after or drawing else pace(fraction, time.monotonic() - begun)
            )
            pulses = fraction is None or (after and work is None and not drawing)
            task.total = None if pulses else 1.0  # without a total the bar pulses
            task.completed = fraction or 0.0

        yield report


def pace(fraction: float | None, seconds: float) -> str:
    """Say how fast rows are read, and how long it will take, once that can be told."""
    rows = getattr(fraction, "rows", 0)
    if not fraction or not rows or seconds < 1:
        return "reading"
    left = seconds * (1 - fraction) / fraction
    minutes = f"{math.ceil(left / 60)} min" if left > 90 else f"{math.ceil(left)} s"
    return f"reading, {float(f'{rows / seconds:.1e}'):,.0f} rows/s, {minutes} left"
