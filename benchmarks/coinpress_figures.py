"""What the figures of Biswas, Dong, Kamath, Ullman (2020) show: means by mechanism, covariance against the number of rows.

In the tables of means the true mean lies halfway between the public origin and the end of the public radius, in a random
direction: at the origin a mechanism that fails to move would look perfect. Errors are in deviations of a coordinate.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.coinpress_runs import (
    RHO,
    Drawn,
    Maker,
    Options,
    covariances,
    isotropic,
    means,
    table,
    trimmed,
)
from benchmarks.common import RESULTS, write

SIZES = (1000, 2000, 4000, 10_000)
RADII = (10, 100, 1000, 10_000)
RUNS, SLOW_RUNS = 60, 6
LINES: dict[str, Options] = {
    "coinpress": {"mechanism": "coinpress", "covariance": 1.0},
    "coinpress, t = 2": {"mechanism": "coinpress", "covariance": 1.0, "rounds": 2},
    "coinpress, t = 10": {"mechanism": "coinpress", "covariance": 1.0, "rounds": 10},
    "coinpress, covariance unknown": {"mechanism": "auto"},
    "clipped": {"mechanism": "clipped", "covariance": 1.0},
    "coordinatewise": {"mechanism": "coordinatewise", "covariance": 1.0},
    "karwa-vadhan": {"mechanism": "karwa-vadhan", "covariance": 1.0},
    "symq": {"mechanism": "symq", "covariance": 1.0},
}
KNOWN_AND_NOT = ("coinpress", "coinpress, covariance unknown")
ROWS = (600, 1000, 1500, 2200, 3000, 5000, 7000, 10_000)
COVARIANCE_LINES: dict[str, Options] = {
    "t = 1": {"rounds": 1},
    "t = 2": {"rounds": 2},
    "t = 5": {"rounds": 5},
    "automatic": {"rounds": "auto"},
}
AUTHORS = {3: 0.513, 5: 2.36}  # rounds: errors of their program, skewed, n = 20 000, upper = 100
STYLES = (  # colours that the colour-blind can tell apart (Okabe and Ito), and markers
    ("#0072b2", "o"),
    ("#d55e00", "s"),
    ("#009e73", "v"),
    ("#000000", "D"),
    ("#cc79a7", "^"),
    ("#e69f00", "d"),
)


def laplace(n: int, d: int, distance: float) -> Maker:
    """Return what draws a multivariate Laplace distribution of covariance 1."""

    def make(random: np.random.Generator) -> Drawn:
        rows, mean, covariance = isotropic(n, d, 1.0, distance)(random)
        return (rows - mean) * np.sqrt(random.exponential(size=(n, 1))) + mean, mean, covariance

    return make


def student(n: int, d: int, distance: float) -> Maker:
    """Return what draws a multivariate t distribution with three degrees of freedom, of covariance 1."""

    def make(random: np.random.Generator) -> Drawn:
        rows, mean, covariance = isotropic(n, d, 1.0, distance)(random)
        return (rows - mean) / np.sqrt(random.chisquare(3, size=(n, 1))) + mean, mean, covariance

    return make


def means_by_mechanism() -> None:
    records: list[dict[str, object]] = []
    for d in (50, 2):
        radius = 10 * d**0.5
        cells: list[tuple[int, float, Maker]] = [(n, radius, isotropic(n, d, 1.0, radius / 2)) for n in SIZES]
        print(f"\nmeans, d = {d}, radius = 10√d, {RHO!r}, {RUNS} runs (symq at d = 50: {SLOW_RUNS})\n")
        records += _by_line("n", d, cells, [str(n) for n in SIZES])
    radii = [times * 50**0.5 for times in RADII]
    print("\nmeans, d = 50, n = 1000, by radius\n")
    cells = [(1000, radius, isotropic(1000, 50, 1.0, radius / 2)) for radius in radii]
    records += _by_line("radius", 50, cells, [f"{times}√d" for times in RADII])
    write("coinpress_means.csv", records)
    excess()
    misjudged()


def _by_line(part: str, d: int, cells: Sequence[tuple[int, float, Maker]], names: Sequence[str]) -> list[dict[str, object]]:
    records: list[dict[str, object]] = []
    found: dict[str, list[str]] = defaultdict(list)
    for n, radius, make in cells:
        quick = {line: options for line, options in LINES.items() if line != "symq" or d < 50}
        errors = means(make, RUNS, quick, radius)
        if d >= 50:
            errors |= {"symq": means(make, SLOW_RUNS, {"symq": LINES["symq"]}, radius)["symq"]}
        for line, values in errors.items():
            mean = trimmed(values)
            found[line].append(str(mean))
            records.append(
                {"part": part, "d": d, "n": n, "radius": radius, "line": line, "error": mean.value, "s.e.": mean.error}
            )
    table(["", *names], [[line, *shown] for line, shown in found.items()])
    return records


def excess() -> None:
    """Print the error beyond the sample's for rows with longer tails than a Gaussian's."""
    records, rows = [], []
    radius = 10 * 50**0.5
    for name, draw in {"Gaussian": isotropic_at, "multivariate Laplace": laplace, "Student t₃": student}.items():
        for n in (1000, 3000, 10_000):
            errors = means(draw(n, 50, radius / 2), RUNS, {line: LINES[line] for line in KNOWN_AND_NOT}, radius)
            sample = trimmed(errors["sample"])
            beyond = {line: trimmed(np.subtract(errors[line], errors["sample"]).tolist()) for line in KNOWN_AND_NOT}
            row: dict[str, object] = {"rows": name, "n": n, "sample": sample.value}
            for line, mean in beyond.items():
                row |= {line: mean.value, f"{line} s.e.": mean.error}
            records.append(row)
            rows.append([name, n, sample, *beyond.values()])
    print(f"\nmeans, d = 50, radius = 10√d, {RUNS} runs: error of the sample, and what privacy adds to it\n")
    table(["rows", "n", "sample", *(f"excess: {line}" for line in KNOWN_AND_NOT)], rows)
    write("coinpress_tails.csv", records)


def isotropic_at(n: int, d: int, distance: float) -> Maker:
    return isotropic(n, d, 1.0, distance)


def misjudged() -> None:
    """Print the error, in true deviations, where the deviations that are assumed are not those of the rows."""
    records, rows = [], []
    radius = 10 * 50**0.5
    for times in (0.01, 0.1, 1.0, 3.0, 10.0):
        make = isotropic(3000, 50, times**2, radius / 2)
        errors = means(make, RUNS, {line: LINES[line] for line in KNOWN_AND_NOT}, radius)
        found = {line: trimmed(values) for line, values in errors.items()}
        records += [{"times": times, "line": line, "error": mean.value, "s.e.": mean.error} for line, mean in found.items()]
        rows.append([f"{times:g}", *found.values()])
    print(f"\nmeans, d = 50, n = 3000, radius = 10√d, {RUNS} runs: deviations are so many times those assumed (1)\n")
    table(["", "sample", *KNOWN_AND_NOT], rows)
    write("coinpress_misjudged.csv", records)


def covariance_by_rows() -> None:
    d, upper = 10, 10 * 10**0.5
    records: list[dict[str, object]] = []
    found: dict[str, list[str]] = defaultdict(list)
    for n in ROWS:
        lines = {line: {**options, "upper": upper} for line, options in COVARIANCE_LINES.items()}
        for line, values in covariances(isotropic(n, d), RUNS, lines).items():
            mean = trimmed(values)
            found[line].append(str(mean))
            records.append({"n": n, "line": line, "error": mean.value, "s.e.": mean.error})
    print(f"\ncovariance, isotropic, d = {d}, upper = 10√d, {RHO!r}, {RUNS} runs, by rows\n")
    table(["", *(str(n) for n in ROWS)], [[line, *shown] for line, shown in found.items()])
    write("coinpress_rows.csv", records)


def picture(path: Path) -> None:
    """Draw errors as ratios to the sample's own."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 7), layout="constrained")
    FigureCanvasAgg(figure)
    (by_rows, by_rounds), (by_size, by_radius) = figure.subplots(2, 2)
    by_rows.set(title="Covariance: d = 10, isotropic, upper = 10√d", xlabel="rows n")
    _draw(by_rows, _ratios("coinpress_rows.csv", "n"), STYLES[: len(COVARIANCE_LINES)], (600, 1000, 3000, 10_000))
    by_rounds.set(title="Covariance: d = 10, n = 20 000, upper = 100", xlabel="rounds t")
    _draw_rounds(by_rounds)
    styles = [STYLES[place] for place in (3, 0, 1, 2, 4, 5)]
    by_size.set(title="Mean: d = 50, radius = 10√d", xlabel="rows n")
    _draw(by_size, _ratios("coinpress_means.csv", "n", part="n", d="50"), styles, SIZES)
    by_radius.set(title="Mean: d = 50, n = 1000", xlabel="radius / √d")
    _draw(by_radius, _ratios("coinpress_means.csv", "radius", 50**0.5, part="radius"), styles, RADII)
    for axes in (by_rows, by_rounds, by_size, by_radius):
        axes.axhline(1, color="black", linestyle="--", linewidth=1)
        axes.set(ylabel="error / error of the sample", yscale="log")
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter("")
        axes.title.set_fontsize(10)
        axes.spines[["top", "right"]].set_visible(False)
    by_rows.legend(frameon=False, fontsize=9)
    by_rounds.legend(frameon=False, fontsize=9)
    figure.legend(*by_size.get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    figure.savefig(path, dpi=100)


def _read(name: str, **where: str) -> list[dict[str, str]]:
    with (RESULTS / name).open(newline="", encoding="utf-8") as file:
        return [record for record in csv.DictReader(file) if all(record[key] == value for key, value in where.items())]


def _ratios(name: str, across: str, unit: float = 1.0, **where: str) -> dict[str, list[tuple[float, float]]]:
    """Return for each line its errors over those of the sample; of many numbers of rounds only the automatic one."""
    records = _read(name, **where)
    sample = {record[across]: float(record["error"]) for record in records if record["line"] == "sample"}
    curves: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for record in records:
        if record["line"] not in ("sample", "coinpress, t = 2", "coinpress, t = 10"):
            place = float(record[across]) / unit
            curves[record["line"]].append((place, float(record["error"]) / sample[record[across]]))
    return curves


def _draw(
    axes: Any, curves: dict[str, list[tuple[float, float]]], styles: Sequence[tuple[str, str]], ticks: Sequence[int]
) -> None:
    for (line, points), (color, marker) in zip(curves.items(), styles, strict=True):
        axes.plot(*np.array(points).T, marker=marker, color=color, label=line, markersize=5)
    axes.set(xscale="log")
    axes.set_xticks(ticks, [f"{tick:,}".replace(",", " ") for tick in ticks])
    axes.set_xticks([], minor=True)


def _draw_rounds(axes: Any) -> None:
    """Draw errors against the number of rounds, and what is known of the authors' program."""
    for name, (color, marker) in zip(("isotropic", "skewed", "log-spaced"), STYLES[:3], strict=True):
        found = {row["line"]: row for row in _read("coinpress_rounds.csv", n="20000", K="100.0", spectrum=name)}
        sample = float(found["sample"]["error"])
        rounds = [line for line in found if line.isdigit()]
        values = [float(found[line]["error"]) / sample for line in rounds]
        axes.plot([int(line) for line in rounds], values, marker=marker, color=color, label=name, markersize=5)
        if name == "skewed":
            theirs = [error / sample for error in AUTHORS.values()]
            axes.plot(list(AUTHORS), theirs, "x:", color="#555555", label="skewed, authors' program", markersize=7)
    axes.set_xticks([1, 2, 3, 5, 10])
