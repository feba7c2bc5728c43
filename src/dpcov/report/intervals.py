"""Intervals as lists of named numbers: means and variances of features, entries of pairs, eigenvalues by rank."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcov.report.releases import is_centred
from dpcov.report.text import percent, printable, rounded, span
from dpcov.uses.intervals import Interval, Intervals

if TYPE_CHECKING:
    from rich.table import Table

    from dpcov.release.record import Release

Floats = NDArray[np.float64]
Places = tuple[NDArray[np.intp], ...]


@dataclass(frozen=True, eq=False)
class Listed:
    """Intervals under one heading.

    ``names`` are columns of text, a cell for each of the ``places`` in the intervals' arrays, in the order of the list. Numbers
    less ``zero``, divided by ``unit``, can be compared with each other.
    """

    key: str
    title: str
    interval: Interval
    names: dict[str, list[str]]
    places: Places
    note: str = ""
    zero: Floats | float = 0.0
    unit: Floats | float = 1.0


def listed(release: Release, found: Intervals, of: str | None) -> list[Listed]:
    """Return what was asked for; by default means, where there are some, and variances."""
    if of == "entries":
        return [_entries(release, found)]
    if of == "eigenvalues":
        return [_eigenvalues(release, found)]
    names = {"feature": list(release.feature_names)}
    every = np.arange(release.d)
    low, ranges = _ranges(release)
    lists = []
    if found.mean is not None and of in (None, "mean"):
        lists.append(Listed("mean", "means", found.mean, names, (every,), "", low, ranges))
    numbers = every if found.mean is None else np.flatnonzero(~release.describe().is_level)
    if of in (None, "variances") and len(numbers):
        what = "variances" if is_centred(release) else "second moments"
        known = "" if len(numbers) == release.d else "The variance of a level follows from its share p: p(1 − p)."
        names = {"feature": [release.feature_names[j] for j in numbers]}
        one = Listed(what.replace(" ", "_"), what, _diagonal(found.entries), names, (numbers,), known, 0.0, ranges**2)
        lists.append(one)
    return lists


def _ranges(release: Release) -> tuple[Floats, Floats]:
    """Return the lower bound of each feature and its range; without a schema 0 and 1."""
    if release.schema is None:
        return np.zeros(release.d), np.ones(release.d)
    low, high = release.schema.bounds()
    return low, high - low


def _diagonal(entries: Interval) -> Interval:
    parts = (entries.estimate, entries.lower, entries.upper, entries.standard_error)
    estimate, lower, upper, error = (part.diagonal().copy() for part in parts)
    return Interval(estimate, lower, upper, error, entries.level)


def _entries(release: Release, found: Intervals) -> Listed:
    """List entries above the diagonal, those that stand out of the noise most first: their units differ."""
    rows, columns = np.triu_indices(release.d, 1)
    entries = found.entries
    with np.errstate(all="ignore"):
        clear = np.nan_to_num(np.abs(entries.estimate / entries.standard_error)[rows, columns])
    order = np.argsort(-clear, kind="stable")
    places = (rows[order], columns[order])
    names = {f"feature{' ' * i}": [release.feature_names[j] for j in places[i]] for i in range(2)}
    what = "covariances" if is_centred(release) else "entries of the second moment"
    note = "Pairs are in the order in which they stand out of the noise."
    ranges = _ranges(release)[1]
    key = "covariance" if is_centred(release) else "second_moment"
    return Listed(key, what, entries, names, places, note, 0.0, np.outer(ranges, ranges))


def _eigenvalues(release: Release, found: Intervals) -> Listed:
    ranks = [str(rank + 1) for rank in range(release.d)]
    encoded = " of encoded columns" if release.schema is not None else ""
    note = "Where neighbours are too near to be told apart, an interval is as wide as the norm of the noise allows."
    return Listed("eigenvalues", f"eigenvalues{encoded}", found.eigenvalues, {"rank": ranks}, (np.arange(release.d),), note)


def interval_table(one: Listed, level: float, limit: int | None) -> Table:
    """List estimates with their intervals, the first ``limit`` of them."""
    from rich.table import Table

    count = len(one.places[0])
    hidden = 0 if limit is None else max(0, count - limit)
    caption = f"... and {hidden} more" if hidden else None
    table = Table(title=one.title, title_justify="left", caption=caption, caption_justify="left")
    for heading in one.names:
        table.add_column(heading.strip(), overflow="fold")
    for heading in ("estimate", "standard error", f"{percent(level)} interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    found = one.interval
    for row in range(count - hidden):
        place = tuple(axis[row] for axis in one.places)
        numbers = rounded(float(found.estimate[place]), float(found.standard_error[place]))
        names = (printable(column[row]) for column in one.names.values())
        table.add_row(*names, *numbers, span(found.lower[place], found.upper[place]))
    return table
