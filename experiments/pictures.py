"""One look for all pictures: lines with bands of two standard errors, and the known numbers as markers on them.

Colours are those of Okabe and Ito, which the colour-blind can tell apart; dashes tell lines apart that share a colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image

from experiments.frame import Experiment, Panel
from experiments.results import Record, read_records
from experiments.targets import SOURCES, Target, targets

Dash = Literal["-", "--", "-.", ":"]
Style = tuple[str, Dash, float]
COLORS = ("#0072b2", "#009e73", "#e69f00", "#cc79a7", "#56b4e9", "#b8a900", "#8c564b")
OURS = "#d55e00"
PLAIN: dict[str, tuple[str, Dash]] = {
    "zero model": ("#777777", ":"),
    "non-private": ("#000000", "--"),
    "zero matrix": ("#777777", ":"),
    "majority": ("#777777", ":"),
}
"""Lines that have nothing to do with privacy."""
DASHES: tuple[Dash, ...] = ("-", "--", "-.", ":")
MARKS = {"P": "*", "A": "x", "R": "+", "D": "D", "M": "1"}
WIDTH, HEIGHT, MOST_ACROSS, DPI, SHADES = 3.7, 3.0, 3, 90, 128


def new_figure(count: int, width: float = WIDTH, height: float = HEIGHT) -> tuple[Figure, list[Any]]:
    """Return a figure with so many axes, at most three in a row."""
    across = min(count, MOST_ACROSS)
    down = -(-count // across)
    figure = Figure(figsize=(width * across, height * down + 0.9), layout="constrained")
    FigureCanvasAgg(figure)
    axes = list(np.ravel(figure.subplots(down, across, squeeze=False)))
    for one in axes[count:]:
        one.set_axis_off()
    for one in axes[:count]:
        one.spines[["top", "right"]].set_visible(False)
    return figure, axes[:count]


def save(figure: Figure, path: Path) -> None:
    """Write a picture of few colours, which makes the file small."""
    drawn = BytesIO()
    figure.savefig(drawn, dpi=DPI, format="png")
    Image.open(drawn).convert("RGB").quantize(SHADES, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
        path, optimize=True
    )


def draw(experiment: Experiment, results: Path, path: Path) -> None:
    """Draw the results of an experiment, if there are any."""
    records = read_records(results)
    panels = [panel for panel in experiment.panels if any(r.panel == panel.name for r in records)]
    if not panels:
        return
    shown = {panel.name for panel in panels}
    lines = list(dict.fromkeys(record.line for record in records if record.panel in shown))
    styles = _styles(lines, experiment.ours)
    known = targets(experiment.folder, experiment.name)
    figure, all_axes = new_figure(len(panels), *((8.0, 3.6) if len(panels) == 1 else (WIDTH, HEIGHT)))
    for axes, panel in zip(all_axes, panels, strict=True):
        _panel(axes, panel, [r for r in records if r.panel == panel.name], [t for t in known if t.panel == panel.name], styles)
    handles = [Line2D([], [], color=styles[line][0], linestyle=styles[line][1], linewidth=styles[line][2]) for line in lines]
    marks = [mark for mark in MARKS if any(t.source == mark and t.panel in shown for t in known)]
    handles += [Line2D([], [], color="#333333", linestyle="", marker=MARKS[mark], markersize=7) for mark in marks]
    names = [*lines, *(SOURCES[mark] for mark in marks)]
    columns = 4 if len(panels) > 2 else 3
    figure.legend(handles, names, loc="outside lower center", ncols=columns, frameon=False, fontsize=8)
    figure.suptitle(experiment.title, fontsize=10)
    save(figure, path)


def _styles(lines: Sequence[str], ours: Sequence[str]) -> dict[str, Style]:
    others = [line for line in lines if line not in ours and line not in PLAIN]
    styles: dict[str, Style] = {
        line: (COLORS[place % len(COLORS)], DASHES[place // len(COLORS) % len(DASHES)], 1.3)
        for place, line in enumerate(others)
    }
    styles |= {line: (OURS, DASHES[place % len(DASHES)], 2.2) for place, line in enumerate(ours)}
    return styles | {line: (*style, 1.3) for line, style in PLAIN.items()}


def _panel(axes: Any, panel: Panel, records: Sequence[Record], known: Sequence[Target], styles: dict[str, Style]) -> None:
    places = list(dict.fromkeys(record.x for record in records))
    numbers = {x: float(index) for index, x in enumerate(places)} if _named(places) else {x: float(x) for x in places}
    here_lines = list(dict.fromkeys(record.line for record in records))
    beside = {line: 0.6 * (index / len(here_lines) - 0.5) if _named(places) else 0.0 for index, line in enumerate(here_lines)}
    for line in here_lines:
        here = sorted((numbers[r.x], r.value, r.error) for r in records if r.line == line)
        x, value, error = np.array(here).T
        color, dash, width = styles[line]
        if _named(places):
            axes.errorbar(x + beside[line], value, 2 * error, color=color, marker="o", linestyle="", capsize=2, markersize=5)
            continue
        axes.plot(x, value, color=color, linestyle=dash, linewidth=width, marker="." if len(x) < 30 else "")
        low = value - 2 * error
        if panel.yscale == "log":
            low = np.maximum(low, value / 10)  # a band that reaches 0 would fill the panel
        axes.fill_between(x, low, value + 2 * error, color=color, alpha=0.18, linewidth=0)
    for target in known:
        x = numbers.get(target.x, np.nan if _named(places) else float(target.x))
        color = styles.get(target.line, ("#333333", "-", 1.0))[0]
        axes.plot(
            [x + beside.get(target.line, 0.0)],
            [target.value],
            marker=MARKS[target.source],
            color=color,
            linestyle="",
            markersize=8,
        )
    if _named(places):
        axes.set_xticks(range(len(places)), places, fontsize=8, rotation=20 if len(places) > 4 else 0)
    else:
        axes.set_xscale(panel.xscale)
    axes.set(yscale=panel.yscale, xlabel=panel.xlabel, ylabel=panel.ylabel)
    if panel.limits:
        axes.set_ylim(*panel.limits)
    axes.set_title(panel.name, fontsize=9)
    axes.tick_params(labelsize=8)


def _named(places: Sequence[str]) -> bool:
    """Whether places are names and not numbers."""
    try:
        return not [float(x) for x in places]
    except ValueError:
        return True
