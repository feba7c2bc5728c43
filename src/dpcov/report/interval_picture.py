"""A picture of intervals: a dot with a line for each number, in units in which they can be compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpcov.release.record import Release
from dpcov.report.intervals import Listed
from dpcov.report.pictures import COLOURS, bare, png
from dpcov.report.text import percent, printable, shortened

MOST = 40  # numbers in a picture
UNITS = {"mean": "as a part of the column's range", "covariance": "in units of the columns' ranges, squared"}


def interval_picture(release: Release, lists: list[Listed]) -> bytes:
    """Return a PNG with a panel for each list."""
    from matplotlib.figure import Figure

    rows = max(min(len(one.places[0]), MOST) for one in lists)
    figure = Figure(figsize=(1.2 + 4.6 * len(lists), max(2.8, 0.2 * rows + 1.6)), dpi=150, layout="constrained")
    figure.suptitle(repr(release)[1:-1], parse_math=False, fontsize=9, wrap=True)
    axes = figure.subplots(1, len(lists), squeeze=False)[0]
    for axis, one in zip(axes, lists, strict=True):
        _panel(axis, one, scaled=release.schema is not None and one.key != "eigenvalues")
    return png(figure)


def _panel(axis: Any, one: Listed, *, scaled: bool) -> None:
    count = min(len(one.places[0]), MOST)
    shown = tuple(place[:count] for place in one.places)
    with np.errstate(all="ignore"):
        middle, lower, upper = (
            ((part - one.zero) / one.unit)[shown] for part in (one.interval.estimate, one.interval.lower, one.interval.upper)
        )
    known = np.isfinite(middle) & np.isfinite(lower) & np.isfinite(upper)
    places = np.arange(count)
    reach = np.maximum(np.stack([middle - lower, upper - middle])[:, known], 0.0)
    axis.errorbar(
        middle[known],
        places[known],
        xerr=reach,
        fmt="o",
        color=COLOURS[0],
        ecolor=COLOURS[1],
        markersize=2.5,
        linewidth=1.1,
        capsize=2,
    )
    names = zip(*(column[:count] for column in one.names.values()), strict=True)
    labels = [" · ".join(shortened(printable(name)) for name in pair) for pair in names]
    axis.set_yticks(places, labels, fontsize=7, parse_math=False)  # a name may hold a $
    axis.set_ylim(count - 0.4, -0.6)
    bare(axis)
    hidden = f" ({count} of {len(one.places[0])})" if count < len(one.places[0]) else ""
    axis.set_title(f"{one.title}, {percent(one.interval.level)} intervals{hidden}", fontsize=9)
    axis.set_xlabel(UNITS.get(one.key, UNITS["covariance"]) if scaled else "", fontsize=8)
    axis.tick_params(axis="x", labelsize=7)
