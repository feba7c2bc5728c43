"""Pictures of principal components: what they explain and what they are made of; and chains that may have converged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcov.report.components import all_held, worth_reading
from dpcov.report.pictures import COLOURS, DROWNED, png
from dpcov.report.releases import is_centred
from dpcov.report.text import printable, shortened

if TYPE_CHECKING:
    from dpcov.release.record import Release
    from dpcov.uses.pca import PrincipalComponents

Floats = NDArray[np.float64]

MOST_BARS = 30
MOST_TICKS = 15
MOST_COMPONENTS = 12  # columns of the heat map
MOST_FEATURES = 25  # its rows: those with the largest loadings
MOST_POINTS = 2000  # of a chain: more cannot be seen
PALE = "#b9c4d3"


def components_picture(release: Release, found: PrincipalComponents) -> bytes:
    """Return a PNG: the explained variance above the cumulative ratio's line, beside a heat map of the largest loadings."""
    from matplotlib.figure import Figure

    shown, hidden = _features(found)
    k = min(found.k, MOST_COMPONENTS)
    held = all_held(release)  # those beside the chosen ones show where to stop
    bars = min(len(held.explained), MOST_BARS)
    height = max(4.2, 0.23 * len(shown) + 1.6)
    widths = [max(4.2, 0.24 * bars + 1.5), max(3.6, 0.52 * k + 2.9)]
    figure = Figure(figsize=(sum(widths), height), dpi=150, layout="constrained")
    figure.suptitle(repr(release)[1:-1], parse_math=False, fontsize=10, wrap=True)
    left, right = figure.subplots(1, 2, width_ratios=widths)
    _scree(left, held, found.k, bars, "variance" if is_centred(release) else "second moment")
    _heat_map(figure, right, found, shown, k)
    parts = [f"{len(shown)} of {len(found.feature_names)} features"] * hidden
    parts += [f"{k} of {found.k} components"] * (k < found.k)
    right.set_title("loadings" + (f" ({', '.join(parts)})" if parts else ""), fontsize=10)
    return png(figure)


def _features(found: PrincipalComponents) -> tuple[NDArray[np.int64], bool]:
    """Return the features with the largest loadings, in the order of the table, and whether there are others."""
    size = np.abs(found.components[:MOST_COMPONENTS]).max(axis=0)
    largest = np.argsort(-size, kind="stable")[:MOST_FEATURES]
    return np.sort(largest), len(size) > MOST_FEATURES


def _scree(axis: Any, held: PrincipalComponents, chosen: int, bars: int, what: str) -> None:
    from matplotlib.ticker import FixedLocator, MaxNLocator, PercentFormatter

    places = np.arange(1, bars + 1)
    clear = worth_reading(held)
    colours = [DROWNED if place > clear else COLOURS[0] if place <= chosen else PALE for place in places]
    axis.bar(places, held.explained[:bars], color=colours, width=0.72)
    axis.set_xlabel("component")
    axis.set_ylabel(f"explained {what}", color=COLOURS[0])
    axis.xaxis.set_major_locator(FixedLocator(places.tolist()) if bars <= MOST_TICKS else MaxNLocator(integer=True))
    axis.set_xlim(0.3, max(bars, 2) + 0.7)
    axis.set_ylim(0, 1.08 * max(float(held.explained.max()), 1e-300))
    ratio = axis.twinx()
    running = np.cumsum(held.ratio)[: min(bars, clear)]
    ratio.plot(
        places[: len(running)], running, color=COLOURS[1], marker="o", markersize=4 if bars <= 20 else 2.5, linewidth=1.2
    )
    ratio.set_ylim(0, 1.08)
    ratio.set_yticks(np.linspace(0, 1, 6))
    ratio.yaxis.set_major_formatter(PercentFormatter(1.0))
    ratio.set_ylabel("cumulative ratio", color=COLOURS[1])
    parts = [f"the first {bars} of {held.k}"] * (held.k > bars) + [f"dark: {chosen} chosen"] * (chosen < min(bars, clear))
    parts += ["grey: noise"] * (clear < bars)
    axis.set_title(f"explained {what}" + (f" ({', '.join(parts)})" if parts else ""), fontsize=10)
    for side in (axis, ratio):
        side.tick_params(labelsize=8)
        side.spines["top"].set_visible(False)


def _heat_map(figure: Any, axis: Any, found: PrincipalComponents, shown: NDArray[np.int64], k: int) -> None:
    from matplotlib import colormaps

    matrix = found.components[:k, shown].T.copy()
    matrix[:, worth_reading(found) :] = np.nan
    largest = max(float(np.nanmax(np.abs(matrix), initial=0.0)), 1e-300)
    image = axis.imshow(
        matrix,
        cmap=colormaps["RdBu_r"].with_extremes(bad=DROWNED),
        vmin=-largest,
        vmax=largest,
        aspect="auto",
        interpolation="nearest",
    )
    names = [shortened(printable(found.feature_names[j])) for j in shown]
    axis.set_xticks(range(k), [f"PC{i + 1}" for i in range(k)], fontsize=8)
    axis.set_yticks(range(len(shown)), names, fontsize=8, parse_math=False)  # a name may hold a $
    axis.tick_params(length=0)
    for (i, j), value in np.ndenumerate(matrix):
        if np.isnan(value):
            continue
        colour = "white" if abs(value) > 0.6 * largest else "black"
        axis.text(j, i, f"{value:z.2f}", ha="center", va="center", fontsize=7, color=colour)
    for edge in axis.spines.values():
        edge.set_visible(False)
    figure.colorbar(image, ax=axis, shrink=0.8, aspect=30, pad=0.02).ax.tick_params(labelsize=8)


def convergence_picture(release: Release, traces: Floats) -> bytes:
    """Return a PNG: F_k(T) of each chain on a logarithmic scale, as in Figure 2 of the paper."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    chains, length = traces.shape
    k = release.estimate.k
    times = np.unique(np.rint(np.linspace(1, length, min(length, MOST_POINTS))).astype(int))
    figure = Figure(figsize=(7.6, 4.6), dpi=150, layout="constrained")
    axis = figure.subplots()
    for row, trace in enumerate(traces):
        colour = colormaps["viridis"](0.85 * row / max(chains - 1, 1))
        axis.plot(times, trace[times - 1], color=colour, linewidth=1.1, label="simulated chains" if row == 0 else None)
    axis.plot(times, times**-0.5, color="#666666", linewidth=1, linestyle="--", label="independent draws, about")
    axis.set_yscale("log")
    axis.set_xlim(0, length)
    axis.set_xlabel("T, sweeps")
    axis.set_ylabel(f"$F_{{{k}}}(T)$, logarithmic scale")
    figure.suptitle(
        f"Has the chain converged? k = {k}, d = {release.d}, n = {release.n}, {chains} chain{'s' * (chains > 1)}", fontsize=11
    )
    axis.set_title("chains that know no row, for the released spectrum; falling to 0 is evidence, not proof", fontsize=9)
    axis.grid(visible=True, which="major", color="#e4e4e4", linewidth=0.6)
    axis.tick_params(labelsize=8)
    for edge in ("top", "right"):
        axis.spines[edge].set_visible(False)
    axis.legend(frameon=False, fontsize=9)
    return png(figure)
