"""A picture of a comparison: error against budget, a panel for each notion of privacy, drawn without a display."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpcov.errors import ParameterError
from dpcov.evaluate.comparison import CAUTION, Cell, Comparison
from dpcov.kernel.budget import Budget, decimal_text
from dpcov.linalg import monotone

FORMATS = ("png", "svg", "pdf")
NOTIONS = {"pure": "pure DP", "zCDP": "zCDP", "approx": "approximate DP"}
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8c6d31", "#56b4e9", "#7a3e9d", "#c1272d", "#e69f00", "#4d4d4d")
MARKERS = "osD^vPX"
GAP = 0.052  # between labels, as a part of the height
MOST_TICKS = 8
WIDE, NARROW = 7.0, 4.0  # inches, of panels with several budgets and with one

Points = list[tuple[float, float, float]]
"""Budget, error and standard error."""


def picture_format(path: Path) -> str:
    """Return the format that a file's name asks for."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise ParameterError(f"picture must be a name that ends in .png, .svg or .pdf, got {str(path)!r}. Hint: compare.png.")
    return ending


def drawn(comparison: Comparison, ending: str) -> bytes:
    """Return the picture as a file in this format."""
    from matplotlib.figure import Figure

    panels: dict[tuple[str, ...], list[Budget]] = {}
    for budget in comparison.budgets:
        panels.setdefault(_panel(budget), []).append(budget)
    widths = [WIDE if len(budgets) > 1 else NARROW for budgets in panels.values()]
    figure = Figure(figsize=(max(sum(widths), WIDE), 5.4), dpi=150, layout="constrained")
    title = f"Error of the {comparison.target}: n = {comparison.n}, d = {comparison.d}, neighbours: {comparison.neighbors}"
    figure.suptitle(f"{title}\nmean of {comparison.runs} runs ± standard error", fontsize=11)
    figure.supxlabel(CAUTION, fontsize=8, color="#a02020")
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False, width_ratios=widths)[0]
    places = {cell.mechanism: None for cell in comparison.cells}
    styles = {name: _style(name, place) for place, name in enumerate(places)}
    bottom, top = _limits(comparison)
    for axis, (panel, budgets) in zip(axes, panels.items(), strict=True):
        axis.set_xscale("log")
        _error_axis(axis, bottom, top)
        axis.set_title(panel[0], fontsize=10)
        _budget_axis(axis, budgets)
        if comparison.zero > 0:
            axis.axhline(comparison.zero, color="#777777", linewidth=1.2, linestyle="--")
        _lines(axis, comparison, budgets, styles, (bottom, top))
    axes[0].set_ylabel("Frobenius error, for rows of norm at most 1")
    target = io.BytesIO()
    figure.savefig(target, format=ending)
    return target.getvalue()


def _panel(budget: Budget) -> tuple[str, ...]:
    """Return what the budgets of one panel share: the notion, and δ."""
    rest = [f"{name} = {decimal_text(getattr(budget, name))}" for name in budget.names[1:]]
    return (", ".join([NOTIONS[budget.notion], *rest]), budget.names[0])


def _size(budget: Budget) -> float:
    return float(getattr(budget, budget.names[0]))


def _style(name: str, place: int) -> dict[str, Any]:
    """Return how a mechanism is drawn; auto is a broad band below the line of what it chose."""
    if name.partition(":")[0] == "auto":
        band = {"color": "#222222", "linewidth": 7, "alpha": 0.25, "zorder": 1, "solid_capstyle": "round"}
        return band | {"elinewidth": 0, "marker": "o", "markersize": 10, "markeredgewidth": 0}
    colour, round_ = COLOURS[place % len(COLOURS)], place // len(COLOURS)
    return {
        "color": colour,
        "linewidth": 1.4,
        "marker": MARKERS[place % len(MARKERS)],
        "markersize": 4,
        "capsize": 2,
        "linestyle": ("-", "-.", ":")[round_ % 3],
    }


def _limits(comparison: Comparison) -> tuple[float, float]:
    """Return the range of errors, with room at both ends."""
    errors = [cell.error for cell in comparison.cells if cell.error] + [comparison.zero] * (comparison.zero > 0)
    return (min(errors) / 1.5, max(errors) * 1.5) if errors else (0.1, 1.0)


def _error_axis(axis: Any, bottom: float, top: float) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator

    axis.set_yscale("log")
    axis.set_ylim(bottom, top)
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if top < 1000 * bottom else (1.0,)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_yticks([], minor=True)


def _budget_axis(axis: Any, budgets: Sequence[Budget]) -> None:
    sizes = sorted(_size(budget) for budget in budgets)
    room = max((sizes[-1] / sizes[0]) ** 0.05, 1.05)
    axis.set_xlim(sizes[0] / room, sizes[-1] * room)
    axis.set_xlabel(budgets[0].names[0])
    if len(sizes) <= MOST_TICKS:
        axis.set_xticks(sizes, [f"{size:g}" for size in sizes])
        axis.set_xticks([], minor=True)
    axis.grid(visible=True, which="major", color="#e4e4e4", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.tick_params(labelsize=8)
    for edge in ("top", "right"):
        axis.spines[edge].set_visible(False)


def _lines(
    axis: Any,
    comparison: Comparison,
    budgets: Sequence[Budget],
    styles: dict[str, dict[str, Any]],
    limits: tuple[float, float],
) -> None:
    """Draw a line for each mechanism, with its name at the right end."""
    ends: dict[str, tuple[float, float, str]] = {}
    for name, cells in comparison.ranked().items():
        points = _points([cell for cell in cells if cell.budget in budgets])
        if points:
            sizes, errors, bars = zip(*points, strict=True)
            axis.errorbar(sizes, errors, yerr=bars, **styles[name])
            ends[name] = (*points[-1][:2], styles[name]["color"])
    if comparison.zero > 0:
        ends["zero matrix"] = (axis.get_xlim()[1], comparison.zero, "#777777")
    low, high = (math.log(limit) for limit in limits)
    heights = {name: (math.log(y) - low) / (high - low) for name, (_, y, _) in ends.items()}
    for name, height in _apart(heights).items():
        x, y, colour = ends[name]
        axis.annotate(
            name,
            (x, y),
            (1.04, height),
            textcoords="axes fraction",
            color=colour,
            fontsize=8,
            va="center",
            parse_math=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5, "alpha": 0.6, "shrinkA": 1, "shrinkB": 3},
        )


def _points(cells: Sequence[Cell]) -> Points:
    """Return what can be drawn on a logarithmic scale, the smallest budget first."""
    points = []
    for cell in sorted(cells, key=lambda cell: _size(cell.budget)):
        if cell.error and cell.standard_error is not None:
            points.append((_size(cell.budget), cell.error, min(cell.standard_error, 0.99 * cell.error)))
    return points


def _apart(heights: dict[str, float]) -> dict[str, float]:
    """Move labels as little as possible so that they do not overlap, in their order, from bottom to top."""
    names = sorted(heights, key=heights.__getitem__)
    steps = GAP * np.arange(len(names))
    free = monotone(np.array([heights[name] for name in names]) - steps, increasing=True)
    return dict(zip(names, np.clip(free, 0.0, max(0.0, 1.0 - GAP * (len(names) - 1))) + steps, strict=True))
