"""A progress bar on stderr, for people only. It shows a percentage, never a number of rows."""

from __future__ import annotations

import sys
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

        def report(fraction: float | None) -> None:
            nonlocal is_read
            drawing = chain is not None and is_read
            is_read = is_read or fraction == 1
            after = fraction == 1 if work is None else fraction is not None
            task.description = (work or chain or "drawing noise") if after or drawing else "reading"
            pulses = fraction is None or (after and work is None and not drawing)
            task.total = None if pulses else 1.0  # without a total the bar pulses
            task.completed = fraction or 0.0

        yield report
