"""Intervals: means and variances of features, entries of pairs, eigenvalues by rank, as lists and as dots with lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ReleaseError
from dpcov.report.pictures import COLOURS, DROWNED, bare, error_bars, new_figure
from dpcov.report.text import (
    MORE,
    NOISE,
    by,
    interval_record,
    new_table,
    percent,
    print_promise,
    printable,
    rounded,
    shortened,
    span,
)
from dpcov.report.units import Units
from dpcov.uses.description import CLEAR
from dpcov.uses.held import is_centered
from dpcov.uses.intervals import Interval, Intervals
from dpcov.uses.sampling import POPULATION, ROWS

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from dpcov.release.record import Release

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Places = tuple[NDArray[np.intp], ...]

OF = ("mean", "variances", "entries", "eigenvalues")
MOST = 20
MOST_DRAWN = 40
UNITS = {"mean": "as a part of the column's range", "covariance": "in units of the columns' ranges, squared"}


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
    clear: Flags | None = None
    values_in: Units | None = None  # where the numbers are values of features, which may be dates

    @property
    def is_clear(self) -> Flags:
        """Which of the intervals' numbers can be told from noise; by default those that are three standard errors from 0."""
        if self.clear is not None:
            return self.clear
        with np.errstate(all="ignore"):
            return np.asarray(np.abs(self.interval.estimate) > CLEAR * self.interval.standard_error)


def write(out: Console, found: Intervals, of: str | None = None, everything: bool = False) -> None:
    """Print intervals under the promise of their release."""
    from dpcov.report.release_lines import clip_line

    lists = listed(found, of)  # refused before anything is printed
    print_promise(out, found.release)
    if line := clip_line(found.release):
        out.print(line, soft_wrap=True)
    if not any(one.is_clear[one.places].any() for one in lists):
        every = by("--all lists them all the same", "to_frame() has them all the same")
        what = " or ".join(one.title for one in lists)
        out.print(
            f"Nothing can be seen: the noise of the release is too large to tell its {what} ({every}). {MORE}", soft_wrap=True
        )
        if not everything:
            return
    for one in lists:
        out.print(interval_table(one, found.level, None if everything else MOST))
        if one.note:
            out.print(one.note, soft_wrap=True)
    if any(not one.is_clear[one.places].all() for one in lists):
        out.print(f"{NOISE}: within {CLEAR:g} standard errors of what no signal at all would show.", soft_wrap=True)
    out.print(f"About: {found.about}.", soft_wrap=True)
    rest = (
        "The level is that of each interval alone: of many, some miss. Raw estimates may be impossible, as a variance below 0."
    )
    out.print(rest, soft_wrap=True)


def record(found: Intervals, of: str | None = None) -> dict[str, Any]:
    """Return intervals for machines."""
    from dpcov.report.releases import promise

    facts = {**promise(found.release), "level": found.level, "about": found.about}
    facts |= {"feature_names": list(found.release.feature_names)}
    facts |= {"population": found.population}
    return facts | {
        one.key: {**interval_record(one.interval), "clear_of_noise": one.is_clear.tolist()} for one in listed(found, of)
    }


def columns(found: Intervals) -> dict[str, Any]:
    """Return a line for each mean and variance."""
    cells: dict[str, list[Any]] = {name: [] for name in ("of", "feature", "estimate", "standard_error", "lower", "upper")}
    for one in listed(found):
        inside = one.interval
        for place, name in zip(one.places[0], one.names["feature"], strict=True):
            numbers = (inside.estimate[place], inside.standard_error[place], inside.lower[place], inside.upper[place])
            for heading, cell in zip(cells, (one.title, name, *map(float, numbers)), strict=True):
                cells[heading].append(cell)
    return cells


def listed(found: Intervals, of: str | None = None) -> list[Listed]:
    """Return what was asked for, one of `OF`; by default means, where there are some, and variances."""
    release = found.release
    if of == "mean" and found.mean is None:
        raise ReleaseError("release must be centred for means, got one that is not. Hint: make it with center=True.")
    if of == "entries":
        return [_entries(release, found)]
    if of == "eigenvalues":
        return [_eigenvalues(release, found)]
    names = {"feature": list(release.feature_names)}
    every = np.arange(release.d)
    low, ranges = _ranges(release)
    lists, said = [], release.describe(POPULATION if found.population else ROWS)
    if found.mean is not None and of in (None, "mean"):
        clear = None if said.mean is None else said.mean.clear
        units = Units(release.schema, release.d)
        lists.append(Listed("mean", "means", found.mean, names, (every,), "", low, ranges, clear, units))
    numbers = every if found.mean is None else np.flatnonzero(~said.is_level)
    if of in (None, "variances") and len(numbers):
        what = "variances" if is_centered(release) else "second moments"
        known = "" if len(numbers) == release.d else "The variance of a level follows from its share p: p(1 − p)."
        names = {"feature": [release.feature_names[j] for j in numbers]}
        clear = None if said.deviation is None else said.deviation.clear
        one = Listed(what.replace(" ", "_"), what, found.variances, names, (numbers,), known, 0.0, ranges**2, clear)
        lists.append(one)
    return lists


def _ranges(release: Release) -> tuple[Floats, Floats]:
    """Return the lower bound of each feature and its range; without a schema 0 and 1."""
    if release.schema is None:
        return np.zeros(release.d), np.ones(release.d)
    low, high = release.schema.bounds()
    return low, high - low


def _entries(release: Release, found: Intervals) -> Listed:
    """List entries above the diagonal, those that stand out of the noise most first: their units differ."""
    rows, columns = np.triu_indices(release.d, 1)
    entries = found.entries
    with np.errstate(all="ignore"):
        clear = np.nan_to_num(np.abs(entries.estimate / entries.standard_error)[rows, columns])
    order = np.argsort(-clear, kind="stable")
    places = (rows[order], columns[order])
    names = {f"feature{' ' * i}": [release.feature_names[j] for j in places[i]] for i in range(2)}
    what = "covariances" if is_centered(release) else "entries of the second moment"
    note = "Pairs are sorted by how far they stand out of the noise."
    ranges = _ranges(release)[1]
    key = "covariance" if is_centered(release) else "second_moment"
    return Listed(key, what, entries, names, places, note, 0.0, np.outer(ranges, ranges))


def _eigenvalues(release: Release, found: Intervals) -> Listed:
    ranks = [str(rank + 1) for rank in range(release.d)]
    encoded = " of encoded columns" if release.schema is not None else ""
    note = "Where neighbours are too close to be told apart, an interval is as wide as the norm of the noise."
    return Listed("eigenvalues", f"eigenvalues{encoded}", found.eigenvalues, {"rank": ranks}, (np.arange(release.d),), note)


def interval_table(one: Listed, level: float, limit: int | None) -> Table:
    """List estimates with their intervals, the first ``limit`` of them."""
    count = len(one.places[0])
    hidden = 0 if limit is None else max(0, count - limit)
    table = new_table(one.title, hidden)
    for heading in one.names:
        table.add_column(heading.strip(), overflow="fold")
    for heading in ("estimate", "standard error", f"{percent(level)} interval"):
        table.add_column(heading, justify="right", no_wrap=True)
    found = one.interval
    for row in range(count - hidden):
        place = tuple(axis[row] for axis in one.places)
        pair, ends = (found.estimate[place], found.standard_error[place]), (found.lower[place], found.upper[place])
        if one.values_in is None:
            numbers, inside = rounded(float(pair[0]), float(pair[1])), span(*ends)
        else:
            numbers, inside = one.values_in.value(place[0], *map(float, pair)), one.values_in.span(place[0], *map(float, ends))
        names = (printable(column[row]) for column in one.names.values())
        if not one.is_clear[place]:
            numbers = NOISE, numbers[1]
        if ends[0] == ends[1] and pair[1] > 0:  # where it was cut at the end of what is possible, nothing was left
            inside = NOISE
        table.add_row(*names, *numbers, inside, style=None if one.is_clear[place] else "dim")
    return table


def figure(found: Intervals, of: str | None = None) -> Any:
    """Return a figure with a panel for each list."""
    release, lists = found.release, listed(found, of)
    rows = max(min(len(one.places[0]), MOST_DRAWN) for one in lists)
    what = " and the ".join(one.title for one in lists)
    title = f"What the {what} of the population may be" if found.population else f"How far noise may have moved the {what}"
    drawn = new_figure(1.2 + 4.6 * len(lists), max(2.8, 0.2 * rows + 1.8), title, release, size=9)
    axes = drawn.subplots(1, len(lists), squeeze=False)[0]
    for axis, one in zip(axes, lists, strict=True):
        _panel(axis, one, scaled=release.schema is not None and one.key != "eigenvalues")
    return drawn


def _panel(axis: Any, one: Listed, *, scaled: bool) -> None:
    count = min(len(one.places[0]), MOST_DRAWN)
    shown = tuple(place[:count] for place in one.places)
    with np.errstate(all="ignore"):
        middle, lower, upper = (
            ((part - one.zero) / one.unit)[shown] for part in (one.interval.estimate, one.interval.lower, one.interval.upper)
        )
    places = np.arange(count)
    clear = one.is_clear[shown]
    for which, dot, line in ((clear, *COLOURS), (~clear, "#b0b0b0", DROWNED)):
        ends = (part[which] for part in (np.clip(middle, lower, upper), lower, upper))  # a dot below 0 is no variance
        error_bars(axis, places[which], *ends, color=dot, ecolor=line, markersize=2.5)
    names = zip(*(column[:count] for column in one.names.values()), strict=True)
    labels = [" · ".join(shortened(printable(name)) for name in pair) for pair in names]
    axis.set_yticks(places, labels, fontsize=7, parse_math=False)  # a name may hold a $
    axis.set_ylim(count - 0.4, -0.6)
    bare(axis)
    parts = [f"{count} of {len(one.places[0])}"] * (count < len(one.places[0]))
    parts += ["grey: not clear of noise"] * (not clear.all())
    hidden = f" ({', '.join(parts)})" if parts else ""
    axis.set_title(f"{one.title}, {percent(one.interval.level)} intervals{hidden}", fontsize=9)
    axis.set_xlabel(UNITS.get(one.key, UNITS["covariance"]) if scaled else "", fontsize=8)
    axis.tick_params(axis="x", labelsize=7)
