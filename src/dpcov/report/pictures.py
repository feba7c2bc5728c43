"""Pictures of a release: heat maps of correlations and their spectra, drawn without a display."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.report.text import printable, shortened
from dpcov.uses.description import Reading, Spectrum

Floats = NDArray[np.float64]

MOST_NAMES = 150  # beyond, names would be too small to read: features are numbered
MOST_DIGITS = 10
MOST_NUMBERS = 16  # up to here the cells have room for their numbers
COLOURS = ("#1f3b5c", "#d1662f")
DROWNED = "#e4e4e4"  # what cannot be told from noise


def picture(
    title: str,
    names: Sequence[str],
    matrices: Mapping[str, Floats | Reading],
    spectra: Mapping[str, Floats | Spectrum],
    of: str,
) -> bytes:
    """Return a PNG: a heat map for each matrix, side by side, above their eigenvalues; what may be noise is grey."""
    from matplotlib.figure import Figure

    d = len(names)
    side = min(max(0.38 * d, 3.0), 10.0)
    width = max(side * len(matrices) + 2.6, 6.5)
    figure = Figure(figsize=(width, side + 4.6), dpi=150, layout="constrained")
    figure.suptitle(title, parse_math=False, fontsize=11)
    grid = figure.add_gridspec(2, len(matrices), height_ratios=[side + 1.2, 2.6])
    axes = [figure.add_subplot(grid[0, place]) for place in range(len(matrices))]
    for place, (axis, (heading, matrix)) in enumerate(zip(axes, matrices.items(), strict=True)):
        shown = heat_map(axis, heading, matrix, 72 * side / d)
        _label(axis, names, size=min(max(0.8 * 72 * side / d, 3.5), 9.0), rows=place == 0)
    bar = figure.colorbar(shown, ax=axes, shrink=0.8, aspect=30, pad=0.02)
    bar.ax.tick_params(labelsize=8)
    _spectrum(figure.add_subplot(grid[1, :]), spectra, of)
    return png(figure)


def png(figure: Any) -> bytes:
    """Return a figure as a PNG file."""
    target = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a letter that the font lacks is drawn as a box
        figure.savefig(target, format="png")
    return target.getvalue()


def bare(axis: Any) -> None:
    """Draw 0 and a faint grid across a list of numbers, and no frame around it."""
    axis.axvline(0, color="#444444", linewidth=0.8)
    axis.grid(visible=True, axis="x", color="#e4e4e4", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.tick_params(axis="y", length=0)
    for edge in ("top", "right", "left"):
        axis.spines[edge].set_visible(False)


def heat_map(axis: Any, heading: str, matrix: Floats | Reading, points: float) -> Any:
    """Draw one matrix, of a reading only what is clear of noise, where that is known; ``points`` is the size of a cell."""
    from matplotlib import colormaps

    values = matrix.values if isinstance(matrix, Reading) else matrix
    if isinstance(matrix, Reading) and matrix.known:
        values = np.where(matrix.clear, values, np.nan)
    drowned = bool(np.isnan(values).any())
    colours = colormaps["RdBu_r"].with_extremes(bad=DROWNED)
    shown = axis.imshow(np.clip(values, -1, 1), cmap=colours, vmin=-1, vmax=1, interpolation="nearest")
    axis.set_title(heading + "\n(grey: cannot be told from noise)" * drowned, fontsize=10)
    if len(values) <= MOST_NUMBERS:
        for (i, j), value in np.ndenumerate(values):
            if np.isfinite(value):
                colour = "white" if abs(value) > 0.6 else "black"
                text = f"{value:z.2f}" if len(values) <= MOST_DIGITS else f"{value:z.1f}"
                axis.text(j, i, text, ha="center", va="center", fontsize=min(0.33 * points, 9), color=colour)
    return shown


def _label(axis: Any, names: Sequence[str], *, size: float, rows: bool) -> None:
    if len(names) > MOST_NAMES:
        axis.set_xlabel("feature, counted from 0")
        return
    short = [shortened(printable(name)) for name in names]
    axis.set_xticks(range(len(names)), short, rotation=90, fontsize=size, parse_math=False)  # a name may hold a $
    axis.set_yticks(range(len(names)), short if rows else [""] * len(names), fontsize=size, parse_math=False)


def _spectrum(axis: Any, spectra: Mapping[str, Floats | Spectrum], of: str) -> None:
    """Draw eigenvalues; the band is where noise alone would put them, and hollow those that are not clear of it."""
    from matplotlib.ticker import MaxNLocator

    for (label, drawn), colour, marker in zip(spectra.items(), COLOURS, "os", strict=False):
        values = drawn.values if isinstance(drawn, Spectrum) else drawn
        places, size = np.arange(1, len(values) + 1), 4 if len(values) <= 40 else 2
        if isinstance(drawn, Spectrum):
            band = (drawn.about - drawn.edge, drawn.about + drawn.edge)
            if np.isfinite(drawn.edge) and len(values):
                axis.axhspan(*band, color=DROWNED, zorder=0, label="noise alone")
            axis.plot(places[~drawn.clear], values[~drawn.clear], marker, color="#9a9a9a", markersize=size, fillstyle="none")
            values = np.where(drawn.clear, values, np.nan)  # a line must not lead through noise
        axis.plot(places, values, color=colour, marker=marker, markersize=size, linewidth=1, label=label)
    axis.set_title(f"eigenvalues of the {of}", fontsize=10)
    axis.axhline(0, color="#999999", linewidth=0.6)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.tick_params(labelsize=8)
    for edge in ("top", "right"):
        axis.spines[edge].set_visible(False)
    if axis.get_legend_handles_labels()[0]:
        axis.legend(frameon=False, fontsize=9)
