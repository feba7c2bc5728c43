"""How two groups differ: means, deviations and the correlations that differ most, each with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dpcov.report.text import NOISE, by, interval_record, new_table, percent, print_promise, printable, rounded, span
from dpcov.uses.description import CLEAR
from dpcov.uses.held import is_centered
from dpcov.uses.selection import column_of_feature

if TYPE_CHECKING:
    from rich.console import Console

    from dpcov.uses.between import Differences
    from dpcov.uses.intervals import Interval

MOST = 20

Listed = tuple[str, "Interval", list[tuple[int, ...]], list[str]]


def write(out: Console, found: Differences, everything: bool = False) -> None:
    """Print differences under the promise of their release."""
    release = found.first
    lists = listed(found)  # refused before anything is printed
    print_promise(out, release if release.part is None else release.part.whole)
    first, second = map(printable, found.groups)
    out.print(f"What {first} has more than {second}; a number that noise may have made is not shown.", soft_wrap=True)
    for what, interval, places, names in lists:
        shown = places if everything else places[:MOST]
        table = new_table(what, len(places) - len(shown))
        table.add_column("feature", overflow="fold")
        for heading in ("difference", "standard error", f"{percent(found.level)} interval"):
            table.add_column(heading, justify="right", no_wrap=True)
        for place, name in zip(shown, names, strict=False):
            numbers = rounded(float(interval.estimate[place]), float(interval.standard_error[place]))
            clear = is_clear(interval, place)
            ends = span(float(interval.lower[place]), float(interval.upper[place]))
            table.add_row(printable(name), numbers[0] if clear else NOISE, numbers[1], ends, style=None if clear else "dim")
        out.print(table)
    asked = by("--json", "to_frame()")
    out.print(f"Intervals are of each group's own numbers: none is drawn towards the others. {asked} has all.", soft_wrap=True)


def is_clear(interval: Interval, place: tuple[int, ...]) -> bool:
    """Whether a difference is three standard errors from 0."""
    return bool(abs(interval.estimate[place]) > CLEAR * interval.standard_error[place])


def listed(found: Differences) -> list[Listed]:
    """Return what is listed: for each list its title, intervals, places and names."""
    release = found.first
    names = list(release.feature_names)
    every: list[tuple[int, ...]] = [(place,) for place in range(release.d)]
    lists: list[Listed] = []
    if found.mean is not None:
        lists.append(("means", found.mean, every, names))
    centred = is_centered(release)
    lists.append(("standard deviations" if centred else "root mean squares", found.deviations, every, names))
    columns = column_of_feature(release.schema, release.feature_names)
    rows, others = np.triu_indices(release.d, 1)
    pairs = [(i, j) for i, j in zip(rows.tolist(), others.tolist(), strict=True) if columns[i] != columns[j]]
    told = found.correlations
    with np.errstate(all="ignore"):
        pairs.sort(key=lambda pair: -float(np.nan_to_num(abs(told.estimate[pair] / told.standard_error[pair]))))
    if pairs:
        both = [f"{names[i]} · {names[j]}" for i, j in pairs]
        lists.append(("correlations" if centred else "cosines about 0", told, [*pairs], both))
    return lists


def record(found: Differences) -> dict[str, Any]:
    """Return differences for machines."""
    from dpcov.report.releases import promise

    first, second = found.groups
    own = {
        "group": first,
        "less": second,
        "level": found.level,
        "feature_names": list(found.first.feature_names),
        "deviations": interval_record(found.deviations),
        "correlations": interval_record(found.correlations),
        **({} if found.mean is None else {"mean": interval_record(found.mean)}),
    }
    return {**promise(found.first if found.first.part is None else found.first.part.whole), **own}


def columns(found: Differences) -> dict[str, Any]:
    """Return a line for each number."""
    lines: list[tuple[str, str, float, float, float, float]] = []
    for what, interval, places, names in listed(found):
        parts = (interval.estimate, interval.standard_error, interval.lower, interval.upper)
        for place, name in zip(places, names, strict=True):
            estimate, error, lower, upper = (float(part[place]) for part in parts)
            lines.append((what, name, estimate, error, lower, upper))
    keys = ("of", "feature", "difference", "standard_error", "lower", "upper")
    return {key: [line[place] for line in lines] for place, key in enumerate(keys)}
