"""Correlations: the pairs of features that are clear of noise, by their least strength, and the whole matrix as a heat map."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcov.report.descriptions import cell_lines, head_line, people_words, what_correlates
from dpcov.report.pictures import SMALLEST, heat_map, new_figure
from dpcov.report.text import MORE, SILENT, by, finite, new_table, print_promise, printable, reading_cells, shortened
from dpcov.uses.description import SURELY, Correlation
from dpcov.uses.held import is_centered

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MOST_PAIRS = 20
MOST_NAMES = 80  # of features; of more, only those of a pair that is clear of noise are drawn, or columns are named instead


def write(out: Console, found: Correlation, top: int = MOST_PAIRS) -> None:
    """Print the pairs that are clear of noise, the strongest first."""
    release, clear = found.release, found.pairs()
    centered = is_centered(release)
    what = "correlation" if centered else "cosine"
    print_promise(out, release)
    said_of = release.describe(found.about)
    out.print(head_line(said_of), style="bold", soft_wrap=True)
    said = []
    if clear:
        out.print(_table(found, clear, top, what))
        said.append(f"±: one standard error {people_words(found.about)}.")
        said.append(f"Sorted by their size less {SURELY:g} ±. Pairs that noise and the draw of rows could make are not listed.")
    elif not found.known:
        said.append(f"No {what} is listed: {SILENT}.")
    elif found.pairs(clear=False):
        said.append(f"No {what} is clear of noise, so none is listed. {MORE}")
    else:
        said.append("There is only one column, so there are no pairs.")
    said += cell_lines(release, said_of)
    if not centered:
        center = by("--center", "center=True")
        said.append(f"Rows were not centred: these are cosines about 0. {center} at the release gives correlations.")
    out.print("\n".join(said), soft_wrap=True)


def _table(found: Correlation, pairs: list[tuple[int, int]], top: int, what: str) -> Table:
    table = new_table(f"{what}s between columns that are clear of noise")
    hidden = max(0, len(pairs) - top)
    table.caption = f"... and {hidden} more pair{'s' * (hidden > 1)} clear of noise" if hidden else None
    for _ in range(2):
        table.add_column("feature", overflow="fold")
    for heading in (what, "±"):
        table.add_column(heading, justify="right", no_wrap=True)
    for pair in pairs[:top]:
        names = (printable(found.feature_names[place]) for place in pair)
        table.add_row(*names, *reading_cells(found, pair))
    return table


def record(found: Correlation, top: int = MOST_PAIRS) -> dict[str, Any]:
    """Return the matrix for machines, and the strongest pairs."""
    from dpcov.report.releases import promise

    matrix, errors = found.values, found.standard_error
    return {
        **promise(found.release),
        "of": "correlation" if is_centered(found.release) else "cosine",
        "about": found.about,
        "feature_names": list(found.feature_names),
        "correlation": matrix.tolist(),
        "standard_error": finite(errors),
        "clear_of_noise": found.clear.tolist(),
        "pairs": len(found.pairs(clear=False)),
        "largest": [
            {
                "features": [found.feature_names[place] for place in pair],
                "correlation": float(matrix[pair]),
                "standard_error": finite(errors[pair]),
            }
            for pair in found.pairs()[:top]
        ],
    }


def columns(found: Correlation) -> dict[str, Any]:
    """Return a line for each pair of features of different columns, the strongest first."""
    pairs = found.pairs(clear=False)
    names = {f"feature_{i + 1}": [found.feature_names[pair[i]] for pair in pairs] for i in range(2)}
    arrays = {"correlation": found.values, "standard_error": found.standard_error, "clear": found.clear}
    return names | {name: [array[pair].item() for pair in pairs] for name, array in arrays.items()}


def with_room(found: Correlation) -> tuple[Correlation, str]:
    """Return what a picture can name, and its heading: of many features those that go together with one of another column.

    Where even these are too many to be named, all are drawn.
    """
    heading, d = what_correlates(found.release), len(found.feature_names)
    numbers = np.unique(np.array(found.columns), return_inverse=True)[1]
    kept = np.flatnonzero((found.clear & np.not_equal.outer(numbers, numbers)).any(axis=1))
    if d <= MOST_NAMES or not 0 < len(kept) <= MOST_NAMES:
        return found, heading
    square = np.ix_(kept, kept)
    names, columns = (tuple(one[place] for place in kept) for one in (found.feature_names, found.columns))
    parts = (
        found.values[square],
        found.standard_error[square],
        found.clear[square],
        names,
        columns,
        found.release,
        found.about,
    )
    return Correlation(*parts), f"{heading} of the {len(kept)} features, of {d}, that are in a pair clear of noise"


def figure(found: Correlation) -> Any:
    """Return a figure: blue to red around white at 0, paler towards noise, grey where it may be noise; lines part columns."""
    title = f"Which of {len(found.feature_names)} features go together"
    found, heading = with_room(found)
    d = len(found.feature_names)
    side = min(max(0.3 * d, 3.0), 9.0)
    drawn = new_figure(side + 2.8, side + 2.0, title, found.release, size=9)
    axis = drawn.subplots()
    shown = heat_map(axis, heading, found, 72 * side / d)
    blocks = _blocks(found)
    _separate(axis, blocks, d)
    _name(axis, found, blocks, 72 * side / d)
    for edge in axis.spines.values():
        edge.set_linewidth(0.4)
    drawn.colorbar(shown, ax=axis, shrink=0.8, aspect=30, pad=0.02).ax.tick_params(labelsize=8)
    return drawn


def _blocks(found: Correlation) -> list[tuple[str, int, int]]:
    """Return each column with the place of its first feature and their number."""
    blocks, start = [], 0
    for name, members in groupby(found.columns):
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


def _name(axis: Any, found: Correlation, blocks: list[tuple[str, int, int]], cell: float) -> None:
    """Name features, or, where there are many, columns, or nothing at all; ``cell`` is the size of one in points."""
    d = len(found.feature_names)
    if d <= MOST_NAMES:
        marks = [(shortened(printable(name)), float(j)) for j, name in enumerate(found.feature_names)]
        size = min(max(0.8 * cell, SMALLEST), 9.0)
    elif len(blocks) < d and (room := cell * min(width for *_, width in blocks)) >= SMALLEST:
        marks = [(shortened(printable(name)), start + (width - 1) / 2) for name, start, width in blocks]
        size = min(0.75 * room, 8.0)
    else:
        marks, size = [], SMALLEST
        axis.set_xlabel(f"{d} features, in the order of the release", fontsize=9)
    names, places = [name for name, _ in marks], [place for _, place in marks]
    axis.set_xticks(places, names, rotation=90, fontsize=size, parse_math=False)  # a name may hold a $
    axis.set_yticks(places, names, fontsize=size, parse_math=False)
    axis.tick_params(length=2 if names else 0)


def about(found: Correlation) -> str:
    """Return what standard errors are about."""
    return found.about
