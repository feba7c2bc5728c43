"""A picture of a correlation matrix: a heat map in which the features of a column stand together."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from dpcov.release.record import Release
from dpcov.report.pictures import heat_map, png
from dpcov.report.releases import what_correlates
from dpcov.report.text import printable, shortened
from dpcov.uses.description import Description
from dpcov.uses.selection import column_of_feature

MOST_NAMES = 40  # of features; beyond, columns are named instead
SMALLEST = 5.5  # points: names that would need less are left out


def correlation_picture(release: Release, found: Description) -> bytes:
    """Return a PNG: blue to red around white at 0, grey where it may be noise, with thin lines between columns."""
    from matplotlib.figure import Figure

    assert found.correlation is not None
    d = release.d
    side = min(max(0.3 * d, 3.0), 9.0)
    figure = Figure(figsize=(side + 2.8, side + 2.0), dpi=150, layout="constrained")
    figure.suptitle(repr(release)[1:-1], parse_math=False, fontsize=9, wrap=True)
    axis = figure.subplots()
    shown = heat_map(axis, what_correlates(release), found.correlation, 72 * side / d)
    blocks = _blocks(release)
    _separate(axis, blocks, d)
    _name(axis, release, blocks, 72 * side / d)
    for edge in axis.spines.values():
        edge.set_linewidth(0.4)
    figure.colorbar(shown, ax=axis, shrink=0.8, aspect=30, pad=0.02).ax.tick_params(labelsize=8)
    return png(figure)


def _blocks(release: Release) -> list[tuple[str, int, int]]:
    """Return each column with the place of its first feature and their number."""
    blocks, start = [], 0
    for name, members in groupby(column_of_feature(release.schema, release.feature_names)):
        width = len(list(members))
        blocks.append((name, start, width))
        start += width
    return blocks


def _separate(axis: Any, blocks: list[tuple[str, int, int]], d: int) -> None:
    """Draw lines between columns where some have several features."""
    if len(blocks) == d:
        return
    for _, start, _ in blocks[1:]:
        axis.axhline(start - 0.5, color="#555555", linewidth=0.4)
        axis.axvline(start - 0.5, color="#555555", linewidth=0.4)


def _name(axis: Any, release: Release, blocks: list[tuple[str, int, int]], cell: float) -> None:
    """Name features, or, where there are many, columns, or nothing at all; ``cell`` is the size of one in points."""
    if release.d <= MOST_NAMES:
        marks = [(shortened(printable(name)), float(j)) for j, name in enumerate(release.feature_names)]
        size = min(max(0.8 * cell, SMALLEST), 9.0)
    elif len(blocks) < release.d and (room := cell * min(width for *_, width in blocks)) >= SMALLEST:
        marks = [(shortened(printable(name)), start + (width - 1) / 2) for name, start, width in blocks]
        size = min(0.95 * room, 8.0)
    else:
        marks, size = [], SMALLEST
        axis.set_xlabel(f"{release.d} features, in the order of the release", fontsize=9)
    names, places = [name for name, _ in marks], [place for _, place in marks]
    axis.set_xticks(places, names, rotation=90, fontsize=size, parse_math=False)  # a name may hold a $
    axis.set_yticks(places, names, fontsize=size, parse_math=False)
    axis.tick_params(length=2 if names else 0)
