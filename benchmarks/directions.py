"""Mechanisms that draw directions: how long they take, how often proposals are accepted, how far off they are.

``speed`` is CPU time as a ratio to one X.T @ X plus one eigh of the same data, taken in turns in the same run. ``accuracy`` is
the Frobenius error of the second moment over seeded runs, as a table for docs/experiments/eigenvectors.md and a CSV file;
``picture PATH`` draws that file.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401 - brings a BLAS of its own, which must be loaded before its threads can be limited
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import dpcov
from benchmarks.common import RESULTS, error, write
from benchmarks.datasets import Rows, available
from benchmarks.speed import ROWS, cpu_seconds
from dpcov.kernel.bits import Bits
from dpcov.kernel.budget import Budget
from dpcov.kernel.noise import sphere

LIMITS = {108: 6.0, 200: 6.0, 400: 8.0, 784: 14.0}
RUNS = {"wine": 50, "airfoil01": 50, "adult": 8}
EPSILONS = ("0.01", "0.1", "0.2", "0.5", "1", "2", "4")
DELTA = "1e-10"
Options = dict[str, Any]


def sampled(allocation: str, values: str, constants: str) -> Options:
    return {"mechanism": "eigenvectors", "allocation": allocation, "values": values, "constants": constants}


LINES: dict[str, Options] = {
    "AD of the paper": sampled("adaptive", "spectrum", "paper"),
    "AD, tight": sampled("adaptive", "spectrum", "tight"),
    "AD, values on the basis": sampled("adaptive", "basis", "paper"),
    "AD, basis and tight (the default)": sampled("adaptive", "basis", "tight"),
    "IT-U of the paper": sampled("uniform", "spectrum", "paper"),
    "IT-U, tight": sampled("uniform", "spectrum", "tight"),
    "IT-U, values on the basis": sampled("uniform", "basis", "paper"),
    "IT-U, basis and tight": sampled("uniform", "basis", "tight"),
    "KT of the paper": {"mechanism": "kapralov-talwar", "constants": "paper"},
    "KT, tight": {"mechanism": "kapralov-talwar"},
    "laplace of the paper": {"mechanism": "laplace", "constants": "paper"},
    "laplace, tight, shrunk": {"mechanism": "laplace"},
    "wishart, clipped": {"mechanism": "wishart", "postprocess": "clip"},
    "wishart, shrunk": {"mechanism": "wishart"},
    "auto": {"mechanism": "auto"},
    f"gaussian, δ = {DELTA}, shrunk": {"mechanism": "gaussian"},
}
DRAWN = {"wine": "178 rows, 13 columns", "adult": "48 842 rows, 108 columns"}
PICTURE = {
    "AD of the paper": ("#e0a080", "o--"),
    "AD, basis and tight (the default)": ("#d1602b", "o-"),
    "IT-U of the paper": ("#c9a0c9", "s--"),
    "KT of the paper": ("#9a9a9a", "v--"),
    "laplace of the paper": ("#c8c8c8", "^--"),
    "wishart, shrunk": ("#2c5f9e", "o-"),
    f"gaussian, δ = {DELTA}, shrunk": ("#7fb07f", "d-"),
}


def drawn(rows: Rows, epsilon: str, timing: str, seed: int | None = None) -> NDArray[np.float64]:
    budget = dpcov.PureDP(epsilon)
    return dpcov.covariance(rows, budget, row_norm=1, mechanism="eigenvectors", timing=timing, seed=seed).second_moment


def isotropic(d: int) -> Rows:
    rows = np.random.default_rng(d).standard_normal((ROWS, d))
    return np.asarray(rows / np.linalg.norm(rows, axis=1).max())


def decaying(d: int) -> Rows:
    """Return rows with standard deviations 1, 1/2, 1/3, ... along the columns."""
    rows = np.random.default_rng(d).standard_normal((ROWS, d)) / np.arange(1, d + 1)
    return np.asarray(rows / np.linalg.norm(rows, axis=1).max())


def ratio(rows: Rows, epsilon: str, rounds: int, *, timing: str = "batches") -> tuple[float, float]:
    """Return the seconds of the floor and the ratio of the medians."""

    def floor() -> object:
        return np.linalg.eigh(rows.T @ rows)

    def draw() -> object:
        return drawn(rows, epsilon, timing)

    floor(), draw()  # warm up
    floors, draws = zip(*[(cpu_seconds(floor), cpu_seconds(draw)) for _ in range(rounds)], strict=True)
    return median(floors), median(draws) / median(floors)


@contextmanager
def counted() -> Iterator[list[tuple[int, int, int]]]:
    """Record the dimension, the proposals and the acceptances of each batch."""
    batches: list[tuple[int, int, int]] = []
    original = sphere._propose

    def propose(lower: sphere.Floats, count: int, bits: Bits) -> tuple[sphere.Floats, NDArray[np.bool_], float]:
        vectors, accepted, trace = original(lower, count, bits)
        batches.append((len(lower), count, int(accepted.sum())))
        return vectors, accepted, trace

    sphere._propose = propose
    try:
        yield batches
    finally:
        sphere._propose = original


def acceptance(rows: Rows, epsilon: str, timing: str) -> tuple[float, float]:
    """Return the acceptance in the first tenth of the directions, and that of all directions, times √m of their dimension m."""
    d = rows.shape[1]
    with counted() as batches:
        for seed in range(max(1, 300 // d)):
            drawn(rows, epsilon, timing, seed)
    dimension, proposed, accepted = np.array(batches, dtype=np.float64).T
    first = dimension > 0.9 * d
    return accepted[first].sum() / proposed[first].sum(), accepted.sum() / (proposed / np.sqrt(dimension)).sum()


def speed(*, quick: bool) -> None:
    print(f"eigenvectors, all directions, n = {ROWS}, one BLAS thread, CPU time as a ratio to X.T @ X plus eigh")
    head = ("ε = 1", "ε = .01", "ε = 100", "limit", "decaying, ε = 100", "fixed, ε = 1")
    print(f"{'d':>5} {'floor':>9} " + " ".join(f"{name:>{max(8, len(name))}}" for name in head))
    for d, limit in LIMITS.items():
        if quick and d > 200:
            continue
        rounds, rows = 3 if quick else {108: 21, 200: 11, 400: 5, 784: 3}[d], isotropic(d)
        cells = [ratio(rows, epsilon, rounds) for epsilon in ("1", "0.01", "100")]
        numbers = (
            " ".join(f"{value:8.2f}" for _, value in cells) + f" {limit:8.1f} {ratio(decaying(d), '100', rounds)[1]:17.2f}"
        )
        fixed = f" {ratio(rows, '1', min(rounds, 5), timing='fixed')[1]:12.2f}" if d <= 200 else ""
        print(f"{d:5d} {cells[0][0] * 1e3:7.1f}ms {numbers}{fixed}", flush=True)
    print("\nmean acceptance: in the first tenth of the directions | in all of them, times √dimension (0.667 wanted)")
    kinds = [(make, epsilon) for make in (isotropic, decaying) for epsilon in ("1", "100", "10000")]
    for timing in ("fixed", "batches"):
        print(f"timing={timing!r}")
        print(f"{'d':>5} {'1/(1.5√d)':>10}" + "".join(f"{make.__name__ + ', ε ' + e:>21}" for make, e in kinds))
        for d in (10, 50) if quick else (3, 5, 10, 20, 50, 108, 200):
            pairs = [acceptance(make(d), epsilon, timing) for make, epsilon in kinds]
            print(f"{d:5d} {1 / (1.5 * d**0.5):10.3f}" + "".join(f"{a:12.3f} | {b:6.3f}" for a, b in pairs), flush=True)


def accuracy(folder: Path | None, only: list[str], *, quick: bool) -> None:
    records: list[dict[str, object]] = []
    for name, rows in available(only, folder):
        truth = rows.T @ rows / len(rows)
        runs = max(RUNS[name] // 10, 2) if quick else RUNS[name]
        epsilons = ("0.1", "1") if quick else EPSILONS
        print(f"\n{name}, n = {rows.shape[0]}, d = {rows.shape[1]}, {runs} runs; the zero matrix {np.linalg.norm(truth):.3f}\n")
        print("| | " + " | ".join(f"ε = {e}" for e in epsilons) + " |\n|---" + "|---" * len(epsilons) + "|")
        zero = float(np.linalg.norm(truth))
        records += [{"data": name, "line": "zero", "epsilon": epsilon, "mean": zero, "s.e.": 0.0} for epsilon in epsilons]
        for line, options in LINES.items():
            cells = []
            for epsilon in epsilons:
                wants_delta = options["mechanism"] == "gaussian"
                budget: Budget = dpcov.ApproxDP(epsilon, DELTA) if wants_delta else dpcov.PureDP(epsilon)
                mean = error(rows, truth, budget, runs, **options)
                cells.append(str(mean))
                records.append({"data": name, "line": line, "epsilon": epsilon, "mean": mean.value, "s.e.": mean.error})
            print(f"| {line} | " + " | ".join(cells) + " |", flush=True)
            print(f"{name}: {line}", file=sys.stderr, flush=True)
    if quick:
        return
    write("directions.csv", records)


def picture(path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    curves: dict[tuple[str, str], list[tuple[float, float]]] = defaultdict(list)
    with (RESULTS / "directions.csv").open(newline="", encoding="utf-8") as file:
        for record in csv.DictReader(file):
            curves[record["data"], record["line"]].append((float(record["epsilon"]), float(record["mean"])))
    figure = Figure(figsize=(9, 4), layout="constrained")
    FigureCanvasAgg(figure)
    for axes, (name, title) in zip(figure.subplots(1, 2), DRAWN.items(), strict=True):
        for line, (color, style) in PICTURE.items():
            axes.plot(*np.array(curves[name, line]).T, style, color=color, label=line, markersize=4)
        axes.plot(*np.array(curves[name, "zero"]).T, ":", color="black", label="the zero matrix", linewidth=0.8)
        axes.set(xscale="log", yscale="log", xlabel="ε", ylabel="Frobenius error of the second moment")
        axes.set_title(f"{name}: {title}", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    figure.savefig(path, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["speed", "accuracy", "picture"])
    parser.add_argument("path", type=Path, nargs="?", help="of the picture")
    parser.add_argument("--data", type=Path, help="folder with copies of airfoil and adult")
    parser.add_argument("--only", nargs="*", default=list(RUNS), choices=list(RUNS), help="data sets")
    parser.add_argument("--quick", action="store_true", help="fewer sizes, budgets and runs")
    options = parser.parse_args()
    if options.what == "speed":
        speed(quick=options.quick)
    elif options.what == "accuracy":
        accuracy(options.data, options.only, quick=options.quick)
    else:
        picture(options.path)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
