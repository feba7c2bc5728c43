"""A comparison of mechanisms: a table of errors, which one to use and how, and error against budget."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcov.evaluate.comparison import CAUTION, ZERO, Cell, Comparison, budget_text
from dpcov.kernel.budget import Budget, decimal_text
from dpcov.linalg import monotone
from dpcov.report.pictures import new_figure
from dpcov.report.text import by

if TYPE_CHECKING:
    from rich.console import Console

NOTIONS = {"pure": "pure DP", "zCDP": "zCDP", "approx": "approximate DP"}
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8c6d31", "#56b4e9", "#7a3e9d", "#c1272d", "#e69f00", "#4d4d4d")
MARKERS = "osD^vPX"
GAP = 0.052  # between labels, as a part of the height
MOST_TICKS = 8
WIDE, NARROW = 7.0, 4.0  # inches, of panels with several budgets and with one

Points = list[tuple[float, float, float]]
"""Budget, error and standard error."""


def write(out: Console, found: Comparison, settings: Sequence[str] = ()) -> None:
    """Print the table, which mechanism to use, and how; ``settings`` are the flags of a release like those that were tried."""
    from rich.table import Table
    from rich.text import Text

    best = found.best_cells()
    table = Table()
    table.add_column("mechanism", overflow="fold")
    for budget in found.budgets:
        table.add_column(budget_text(budget).replace(" with ", "\n"), justify="right")
    for cells in found.ranked().values():
        marks = [cell == best.get(cell.budget) for cell in cells]
        shown = [
            Text(f"{cell.text} *", style="bold") if mark else Text(f"{cell.text}  ")
            for cell, mark in zip(cells, marks, strict=True)
        ]
        table.add_row(Text(_name(cells)), *shown)
    table.add_section()
    table.add_row(ZERO, *[f"{found.zero:.3g}  "] * len(found.budgets))
    out.print(CAUTION, style="bold", soft_wrap=True)
    facts = f"{found.size}, d = {found.d}, neighbours: {found.neighbors}"
    out.print(f"Frobenius error of the {found.target}, for rows of norm at most 1; {facts}.", soft_wrap=True)
    out.print(table)
    empty = "does not serve the budget" + ", or centred rows" * found.center
    out.print(f"Mean of {found.runs} runs ± standard error. * the smallest; - {empty}.", soft_wrap=True)
    out.print("Differences of less than two standard errors may be chance.", soft_wrap=True)
    for sentence in _advice(found, best, settings):
        out.print(sentence, soft_wrap=True)


def _name(cells: list[Cell]) -> str:
    """Return a mechanism's name; of auto also what it chose."""
    name, chosen = cells[0].mechanism, dict.fromkeys(cell.ran for cell in cells if cell.ran is not None)
    return f"{name} ({', '.join(chosen)})" if name.partition(":")[0] == "auto" and chosen else name


def _advice(found: Comparison, best: dict[Budget, Cell], settings: Sequence[str]) -> list[str]:
    """Say which mechanism has the smallest error where, and propose the smallest budget that is worth spending."""
    useful: dict[str, list[str]] = {}
    hopeless, smallest = [], found.sufficient
    for budget, cell in best.items():
        if cell.clearly_below(found.zero):
            useful.setdefault(_name([cell]), []).append(budget_text(budget))
        else:
            hopeless.append(budget_text(budget))
    sentences = []
    if not best:
        rows, listed = " for centred rows" * found.center, by("dpcov mechanisms", "dpcov.MECHANISMS")
        sentences.append(f"None of these mechanisms serves these budgets{rows}: {listed} lists what each serves.")
    if hopeless:
        advice = "spend more, use fewer columns or more rows"
        sentences.append(f"At {_listed(hopeless)} nothing clearly beats the zero matrix, which costs nothing: {advice}.")
    if smallest is not None:
        sentences.append("Smallest error: " + "; ".join(f"{name} at {_listed(where)}" for name, where in useful.items()) + ".")
        same = by("", ", with the same bounds and options")
        if len(found.budgets) > 1:
            worth = "a larger one buys a smaller error, for less privacy"
            sentences.append(
                f"The smallest of these budgets that clearly beats the zero matrix: {budget_text(smallest.budget)}; {worth}."
            )
        sentences.append(f"Then, on the rows to be protected{same}:\n  {by(_command(smallest, settings), _call(smallest))}")
    return sentences


def _listed(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _call(cell: Cell) -> str:
    """Return the release that this cell tried, in Python; who compared has the rest of its arguments at hand."""
    name = cell.mechanism.partition(":")[0]
    return f"dpcov.covariance(data, dpcov.{cell.budget!r}, mechanism={name!r}, ...)"


def _command(cell: Cell, settings: Sequence[str]) -> str:
    """Return the release that this cell tried."""
    name, _, options = cell.mechanism.partition(":")
    budget = [word for amount in cell.budget.names for word in (f"--{amount}", decimal_text(getattr(cell.budget, amount)))]
    mechanism = [] if name == "auto" else ["--mechanism", name]
    chosen = [word for option in options.split(",") if option for word in ("--option", option)]
    return f"dpcov release DATA {shlex.join([*budget, *settings, *mechanism, *chosen])} -o release.json"


def record(found: Comparison) -> dict[str, Any]:
    """Return a comparison for machines."""
    return {
        "caution": CAUTION,
        "target": found.target,
        "n": found.n,
        "counted": found.counted,
        "d": found.d,
        "neighbors": found.neighbors,
        "runs": found.runs,
        "zero": found.zero,
        "cells": [_record(cell) for cell in found.cells],
        "best": [_record(cell) for cell in found.best_cells().values()],
        "sufficient": None if found.sufficient is None else _record(found.sufficient),
    }


def _record(cell: Cell) -> dict[str, Any]:
    measured = {"ran": cell.ran, "error": cell.error, "standard_error": cell.standard_error}
    return {"mechanism": cell.mechanism, "budget": cell.budget.to_json(), **measured}


def columns(found: Comparison) -> dict[str, Any]:
    """Return a line for each mechanism at each budget."""
    cells: dict[str, Any] = {
        "mechanism": [cell.mechanism for cell in found.cells],
        "budget": [budget_text(cell.budget) for cell in found.cells],
    }
    return cells | {name: [getattr(cell, name) for cell in found.cells] for name in ("ran", "error", "standard_error")}


def figure(comparison: Comparison) -> Any:
    """Return a figure: error against budget, a panel for each notion of privacy."""
    panels: dict[tuple[str, ...], list[Budget]] = {}
    for budget in comparison.budgets:
        panels.setdefault(_panel(budget), []).append(budget)
    widths = [WIDE if len(budgets) > 1 else NARROW for budgets in panels.values()]
    title = f"Error of the {comparison.target}: {comparison.size}, d = {comparison.d}, neighbours: {comparison.neighbors}"
    drawn = new_figure(max(sum(widths), WIDE), 5.4, f"{title}\nmean of {comparison.runs} runs ± standard error")
    drawn.supxlabel(CAUTION, fontsize=8, color="#a02020")
    axes = drawn.subplots(1, len(panels), sharey=True, squeeze=False, width_ratios=widths)[0]
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
    return drawn


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
