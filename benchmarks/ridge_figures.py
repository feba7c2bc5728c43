"""Every column predicted from all others on wine and airfoil, by mechanism; and the pictures of the regressions.

After Amin et al. (2018): raw units divided by the largest norm, no intercept, mean squared errors averaged over targets; here
divided by the average variance, which all mechanisms share. ``wine01`` and ``airfoil01`` have columns in [0, 1].
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import dpcov
from benchmarks.coinpress_runs import table
from benchmarks.common import Mean, write
from benchmarks.datasets import available
from benchmarks.principal_runs import panels, read
from benchmarks.ridge_runs import Floats, Truth, errors, others
from dpcov.kernel.budget import Budget

DATA = ("wine", "airfoil", "wine01", "airfoil01")
EPSILONS = ("0.1", "0.5", "1", "2", "4")
MECHANISMS = ("laplace", "gaussian", "eigenvectors", "auto")
DELTA = "1e-10"  # of `gaussian`
POOLED, EACH = "pooled", "each"  # average MSE / average variance; average of MSE / variance
ADULT, TABLE = "ridge_adult.csv", "ridge_table.csv"
STYLES = {  # colours that the colour-blind can tell apart (Okabe and Ito), and markers
    "laplace": ("#0072b2", "s"),
    "gaussian": ("#009e73", "v"),
    "eigenvectors": ("#e69f00", "d"),
    "auto": ("#d55e00", "o"),
}
ROUNDING = 1e-9  # where nothing was found, errors are equal but for rounding
Cell = dict[str, Mean]
Place = tuple[str, bool, str, str]
"""Data, whether centred, measure, epsilon."""


def budget_of(mechanism: str, epsilon: str) -> Budget:
    return dpcov.ApproxDP(epsilon, DELTA) if mechanism == "gaussian" else dpcov.PureDP(epsilon)


def by_mechanism(folder: Path | None, runs: int = 50) -> None:
    cells: dict[Place, Cell] = {}
    records: list[dict[str, object]] = []
    print(f"\nall columns, each from the others, {runs} seeds; gaussian has δ = {DELTA}, the others are pure")
    print("pooled: average MSE / average variance; each: average of MSE / variance\n")
    table(["data", "", "measure", "ε", "non-private", *MECHANISMS, "best"], [])
    for name, rows in available(DATA, folder):
        truth, d = Truth.of(rows), rows.shape[1]
        measures = {POOLED: truth.variances / truth.variances.mean()} | ({EACH: np.ones(d)} if name.endswith("01") else {})
        for center in (False, True):
            least = np.array([truth.least(j, others(d, j), center) for j in range(d)]) / truth.variances
            found = {
                (epsilon, line): errors(rows, truth, range(d), budget_of(line, epsilon), runs, mechanism=line, center=center)
                for epsilon in EPSILONS
                for line in MECHANISMS
            }
            for measure, weights in measures.items():
                for epsilon in EPSILONS:
                    cell = {line: _weighted(found[epsilon, line], weights) for line in MECHANISMS}
                    cells[name, center, measure, epsilon] = cell
                    exact = float(np.mean(least * weights))
                    where: dict[str, object] = {"data": name, "center": center, "measure": measure, "epsilon": epsilon}
                    where["non-private"] = exact
                    records += [where | {"line": m, "error": mean.value, "s.e.": mean.error} for m, mean in cell.items()]
                    shown = [f"{mean.value:.3f} ± {mean.error:.3f}" for mean in cell.values()]
                    place = [name, "centred" if center else "uncentred", measure, epsilon, f"{exact:.3f}"]
                    print("| " + " | ".join([*place, *shown, _best(cell)]) + " |", flush=True)
    write(TABLE, records)
    for center in (False, True):
        _judge({place: cell for place, cell in cells.items() if place[1] == center}, "centred" if center else "uncentred")


def _weighted(errors: Floats, weights: Floats) -> Mean:
    return Mean.of([float(value) for value in (errors * weights).mean(axis=1)])


def _best(cell: Cell) -> str:
    """Name the best, and `auto` where it is no worse than the best by more than a standard error of the difference."""
    best = min(cell, key=lambda line: cell[line].value)
    if best == "auto":
        second = min((line for line in cell if line != "auto"), key=lambda line: cell[line].value)
        return "auto" if _apart(cell["auto"], cell[second]) else f"auto, tied with {second}"
    return best if _apart(cell[best], cell["auto"]) else f"{best}, tied with auto"


def _worst(cell: Cell) -> str:
    """Name the worst, nobody where two are equally bad: several may have found nothing."""
    second, worst = sorted(cell, key=lambda line: cell[line].value)[-2:]
    return worst if cell[worst].value > cell[second].value * (1 + ROUNDING) else ""


def _apart(smaller: Mean, larger: Mean) -> bool:
    return larger.value - smaller.value > float(np.hypot(smaller.error, larger.error)) + ROUNDING * larger.value


def _judge(cells: Mapping[Place, Cell], name: str) -> None:
    """Print what was wanted: `auto` never the worst, and the best on average."""
    if not cells:
        return
    print(f"\n{name}, {len(cells)} cells; the ratio to auto is a geometric mean\n")
    table(["mechanism", "mean error", "ratio to auto", "best", "worst"], [])
    for line in MECHANISMS:
        mean = np.mean([cell[line].value for cell in cells.values()])
        ratio = np.exp(np.mean([np.log(cell[line].value / cell["auto"].value) for cell in cells.values()]))
        best = sum(min(cell, key=lambda each: cell[each].value) == line for cell in cells.values())
        worst = sum(_worst(cell) == line for cell in cells.values())
        print(f"| {line} | {mean:.3f} | {ratio:.3f} | {best} | {worst} |")
    for verdict in ("auto, tied", "tied with auto", "beaten", "worst"):
        print(f"  {verdict}: {'; '.join(_places(cells, verdict)) or 'none'}")


def _places(cells: Mapping[Place, Cell], verdict: str) -> list[str]:
    """List the cells where `auto` is tied, beaten by more than a standard error, or has the largest error."""
    found = []
    for (data, _, measure, epsilon), cell in cells.items():
        best, worst = _best(cell), _worst(cell) == "auto"
        beaten = "auto" not in best
        if worst if verdict == "worst" else beaten if verdict == "beaten" else verdict in best:
            found.append(f"{data} {measure} ε = {epsilon}" + (f" ({best.split(',')[0]})" if verdict != "auto, tied" else ""))
    return found


def pictures(folder: Path) -> None:
    """Draw what the results hold; of what they do not, say so."""
    for name, results, drawn in (("adult", ADULT, _adult), ("table", TABLE, _table)):
        records = read(results)
        if records:
            drawn(folder / f"ridge-{name}.png", records)
        else:
            print(f"{name}: skipped (it is drawn from {results}, which is not there or empty)")


def _adult(path: Path, records: list[dict[str, str]]) -> None:
    """Draw the error of each target against epsilon, its mean as a line, its worst as a tick, least squares dashed."""
    centred = [record for record in records if record["line"] == "centred"]
    targets = list(dict.fromkeys(record["target"] for record in centred if record["target"] != "mean"))
    figure, axes = panels(len(targets), 2.1 * len(targets), 3.2)
    for one, target in zip(axes, targets, strict=True):
        here = [record for record in centred if record["target"] == target]
        points = np.array(
            [[float(record[key]) for key in ("epsilon", "error", "worst")] for record in here if record["epsilon"] != "inf"]
        )
        epsilon, error, worst = points.T
        one.fill_between(epsilon, error, worst, color="#d55e00", alpha=0.2, linewidth=0, label="up to the worst seed")
        one.plot(epsilon, error, "o-", color="#d55e00", markersize=4, linewidth=1.4, label="mean over seeds")
        exact = next(float(record["error"]) for record in here if record["epsilon"] == "inf")
        one.axhline(exact, color="black", linestyle="--", linewidth=1, label="least squares, not private")
        one.axhline(1.0, color="#999999", linestyle=":", linewidth=1, label="predicting the mean")
        _log_axis(one, [f"{value:g}" for value in epsilon])
        one.set(ylim=(0, 1.1))
        one.set_title(target, fontsize=9)
        if one is not axes[0]:
            one.set_yticklabels([])
    axes[0].set_ylabel("MSE / variance")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    figure.savefig(path, dpi=110)


def _table(path: Path, records: list[dict[str, str]]) -> None:
    """Draw the uncentred errors against epsilon, by mechanism, with two standard errors to either side."""
    names = list(dict.fromkeys(record["data"] for record in records))
    figure, axes = panels(len(names), 3.1 * len(names), 3.6)
    for one, name in zip(axes, names, strict=True):
        measure = EACH if name.endswith("01") else POOLED
        here = [r for r in records if r["data"] == name and r["center"] == "False" and r["measure"] == measure]
        for line, (color, marker) in STYLES.items():
            points = np.array([[float(r[key]) for key in ("epsilon", "error", "s.e.")] for r in here if r["line"] == line])
            x, y, error = points.T
            one.errorbar(x, y, 2 * error, color=color, marker=marker, label=line, markersize=4, linewidth=1.4)
        exact = float(here[0]["non-private"])
        one.axhline(exact, color="black", linestyle="--", linewidth=1, label="least squares, not private")
        _log_axis(one, list(EPSILONS))
        one.set(yscale="log")
        low, high = one.get_ylim()
        ticks = [tick for tick in (0.4, 0.6, 0.8, 1.0, 1.2, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0) if low <= tick <= high]
        one.set_yticks(ticks, [f"{tick:g}" for tick in ticks], fontsize=8)
        one.set_yticks([], minor=True)
        one.set_title(f"{name}, " + ("average of MSE / variance" if measure == EACH else "MSE / variance, pooled"), fontsize=9)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False, fontsize=8)
    figure.savefig(path, dpi=100)


def _log_axis(axes: Any, ticks: list[str]) -> None:
    axes.set(xscale="log", xlabel="ε")
    axes.set_xticks([float(tick) for tick in ticks], ticks, fontsize=8)
    axes.set_xticks([], minor=True)
