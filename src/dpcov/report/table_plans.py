"""A plan of a table: what its release will be able to tell, in the table's own units, and error against budget."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcov.evaluate.table_plan import NO_CORRELATION, Outlook, TablePlan
from dpcov.report.pictures import new_figure
from dpcov.report.text import NOISE, UNKNOWN, budget_words, by, counted, digits, new_table, printable
from dpcov.report.units import bounds
from dpcov.schema import Categorical, Numeric
from dpcov.uses.description import CLEAR

if TYPE_CHECKING:
    from rich.console import Console

MOST_COLUMNS = 40  # listed, unless all are asked for
SAME = 0.05  # smaller changes of an error are nothing to speak of
NOTHING = "none"  # in place of a deviation: whatever it is, it cannot be told from noise


def write(out: Console, found: TablePlan, everything: bool = False, within: bool = False) -> None:
    """Print the error that each column will have, then that of correlations, and what would make them smaller.

    ``within`` a dry run, what is planned was said already.
    """
    outlook = found.outlook
    if not within:
        rows = f"{found.n} {found.counted}, {counted(len(found.schema.used), 'column')}"
        out.print(f"Plan: {rows}, {budget_words(found.budget)}, neighbours: {found.neighbors}.", style="bold", soft_wrap=True)
        out.print(found.risk, soft_wrap=True)
    names = _listed(found)
    hidden = 0 if everything else max(0, len(names) - MOST_COLUMNS)
    table = new_table("expected errors, in the columns' own units", hidden, "column")
    table.add_column("column", overflow="fold")
    for heading in ("between", "mean ±", "deviations seen from"):
        table.add_column(heading, justify="right")
    for name, cells in list(names.items())[: len(names) - hidden]:
        table.add_row(printable(name), *cells)
    out.print(table)
    out.print("\n".join(_lines(found, outlook)), soft_wrap=True)


def _listed(found: TablePlan) -> dict[str, tuple[str, str, str]]:
    """Return what is printed of each column: its bounds, the error of its mean, the least deviation that can be seen."""
    lines = {}
    for name, place in found.schema.places().items():
        column, errors = found.schema.used[name], found.outlook.mean[place]
        if isinstance(column, Numeric):
            width = column.upper - column.lower
            least = float(found.outlook.deviation_from[place][0])
            seen = UNKNOWN if math.isnan(least) else NOTHING if least > width / 2 else digits(least)
            error = digits(float(errors[0])) if not CLEAR * errors[0] > width / 2 else NOISE
            lines[name] = (bounds(column.dates, column.lower, column.upper), error, seen)
        else:
            share = float(np.median(errors))
            error = f"{digits(100 * share)} %" if not CLEAR * share > 1 / 2 else NOISE
            lines[name] = (counted(len(column.levels), "level"), error, "")
    return lines


def _lines(found: TablePlan, outlook: Outlook) -> list[str]:
    """Say how large the error of a correlation will be, and what would make errors smaller."""
    said = [_correlation(outlook)]
    if found.chosen is not None:
        columns = len(dict.fromkeys(found.chosen.columns))
        said.append(f"With the {counted(columns, 'column')} you chose: {_gained(found.chosen, outlook)}.")
    if found.narrower is not None:
        said.append(_narrower(found.narrower, outlook))
    if any(NOISE in cells for cells in _listed(found).values()):
        said.append(f"{NOISE}: a mean cannot be told from noise, wherever it lies between its bounds.")
    if any(isinstance(column, Categorical) for column in found.schema.used.values()):
        said.append("For a column of levels, ± is of the share of a level.")
    said.append("±: one standard error, of the noise; it leaves out which people happened to be in the table.")
    other = by("`dpcov plan --spread`", "dpcov.plan_table(..., spread=)")
    said.append(
        f"Predicted from the schema and the number of {found.counted} alone, by releases ({printable(outlook.ran)}) of made-up "
        f"rows: {found.assumed}. Real columns differ: {other} takes another deviation."
    )
    return said


def _correlation(outlook: Outlook) -> str:
    if math.isnan(outlook.correlation):
        return "A correlation: the size of its noise is not known beforehand."
    if not outlook.shows_correlations:
        return "No correlation can be seen: more rows, a larger budget or fewer columns are needed."
    size = digits(outlook.correlation)
    return f"A correlation ± {size}: those below {digits(CLEAR * outlook.correlation)} cannot be told from noise."


def _narrower(other: Outlook, outlook: Outlook) -> str:
    """Say what bounds half as wide would give; where correlations get worse, that is no advice, and why.

    A column whose variance drowns in its noise pays for a private range, which tells its spread; one that fills too much of its
    bounds pays as well, but the range is hardly narrower than they are, and is not kept.
    """
    if not other.correlation > (1 + SAME) * outlook.correlation:
        return f"With bounds half as wide: {_gained(other, outlook)}."
    return (
        f"Narrower bounds would not help correlations: with bounds half as wide, {_gained(other, outlook)}. "
        "Fewer columns would then get a private range, which tells their spread."
    )


def _gained(other: Outlook, outlook: Outlook) -> str:
    """Say what another schema would give: the error of a correlation, and by how much means change."""
    size = f"a correlation ± {digits(other.correlation)}" if other.shows_correlations else "no correlation can be seen"
    places = [outlook.feature_names.index(name) for name in other.feature_names]
    with np.errstate(all="ignore"):
        ratio = float(np.median(other.mean / outlook.mean[places]))
    if not math.isfinite(ratio):
        return size
    return f"{size}, errors of means " + ("as they are" if abs(ratio - 1) < SAME else f"{ratio:.2g} times as large")


def record(found: TablePlan) -> dict[str, Any]:
    """Return a plan for machines."""
    return found.to_dict()


def columns(found: TablePlan) -> dict[str, Any]:
    """Return a line for each feature."""
    outlook = found.outlook
    low, high = found.schema.bounds()
    return {
        "feature": list(outlook.feature_names),
        "column": list(outlook.columns),
        "lower": low,
        "upper": high,
        "mean_error": outlook.mean,
        "deviation_from": outlook.deviation_from,
    }


def figure(found: TablePlan) -> Any:
    """Return a figure: the error of a correlation, and of means in widths of the bounds, against the budget."""
    from matplotlib.ticker import FuncFormatter, LogLocator

    curve, planned = found.curve, found.outlook if found.chosen is None else found.chosen
    names, widths = list(found.outlook.feature_names), np.subtract(*found.schema.bounds()[::-1])
    width = widths[[names.index(name) for name in planned.feature_names]]
    sizes = [float(getattr(one.budget, one.budget.names[0])) for one in curve]
    columns_of = counted(len(dict.fromkeys(planned.columns)), "column")
    drawn = new_figure(9.0, 4.4, f"Expected errors: {found.n} {found.counted}, {columns_of}, neighbours: {found.neighbors}")
    said = f"Predicted from the schema and the number of {found.counted} alone, by releases of made-up rows"
    drawn.supxlabel(said, fontsize=8)
    panels = {
        "a correlation ±": [one.correlation for one in curve],
        "a mean ±, in widths of its bounds": [float(np.median(one.mean / width)) for one in curve],
    }
    axes = drawn.subplots(1, 2)
    for axis, (label, errors) in zip(axes, panels.items(), strict=True):
        axis.set_yscale("log")
        known = [error for error in errors if 0 < error < math.inf] or [1.0]
        axis.set_ylim(min(known) / 1.5, max(known) * 1.5)
        if axis is axes[0] and max(known) > NO_CORRELATION:
            axis.set_ylim(min(*known, NO_CORRELATION) / 1.5, 1)
            axis.axhspan(NO_CORRELATION, 1, color="#eeeeee", zorder=0, label="no correlation can be seen")
        axis.plot(sizes, np.where(np.isfinite(errors), errors, np.nan), color="#0072b2", marker="o", markersize=5)
        place = curve.index(planned)
        axis.plot(sizes[place], errors[place], color="#d55e00", marker="o", markersize=9, linestyle="none", label="planned")
        axis.set_xscale("log")
        axis.set_xticks(sizes, [f"{size:g}" for size in sizes])
        axis.set_xticks([], minor=True)
        axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_yticks([], minor=True)
        axis.set_xlabel(found.budget.names[0])
        axis.set_title(label, fontsize=10)
        axis.grid(visible=True, color="#e4e4e4", linewidth=0.6)
        axis.tick_params(labelsize=8)
        for edge in ("top", "right"):
            axis.spines[edge].set_visible(False)
        axis.legend(frameon=False, fontsize=9)
    return drawn
