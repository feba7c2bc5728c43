"""Private principal components beside what was wanted, their rivals and the figures of Chaudhuri, Sarwate, Sinha (2013).

``scaling``: variance captured against the number of rows (Figures 3 and 4). ``limits``: other budgets, loose bounds, data that
suit the automatic choice badly (benchmarks/principal_limits.py). ``targets``: what was wanted, judged by the tables that these
two left in the results. ``speed``: CPU seconds, and the ratio to X.T @ X plus eigh. ``variances``: how far off what is said of
the variance along components is (benchmarks/principal_variances.py). ``pictures DIR`` draws ``scaling`` from the results. The
paper's other figures and its tables: `python -m experiments chaudhuri2013`.

Data sets are read from copies in ``--data DIR``; ``--only NAME`` takes one of them. Run number s has its own rows and seed=s.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import scipy.linalg  # noqa: F401 - brings a BLAS of its own, which must be loaded before its threads can be limited
from threadpoolctl import threadpool_limits

import dpcov
from benchmarks import principal_figures, principal_limits, principal_variances
from benchmarks.coinpress_runs import table
from benchmarks.common import Mean, run, write
from benchmarks.principal_runs import BEST, EPSILON, LINES, SWEEPS, captured, cells, compare, read, records_of, subspace
from benchmarks.speed import cpu_seconds
from dpcov.kernel.budget import Budget
from experiments.chaudhuri2013.sets import SETS, Floats, at_hand, second_moment, subset

SIZES = {
    "insurance": (1000, 2000, 4000, 7000, 9822),
    "kddcup": (1000, 3000, 10_000, 30_000, 100_000, 494_021),
    "census": (3000, 7000, 20_000, 60_000, 199_523),
    "localization": (1000, 3000, 10_000, 57_623),
    "mnist": (20_000, 60_000),
}
TO_PPCA, USEFUL, TO_BEST = 0.95, 0.5, 0.99
LONG = 20_000  # sweeps, the paper's
SCALING, TARGETS, SPEED = "principal_scaling.csv", "principal_targets.csv", "principal_speed.csv"


def scaling(names: list[str], folder: Path | None) -> None:
    print(f"\nvariance captured, {EPSILON!r}; mod-sulq: delta = 0.01; ppca: {SWEEPS} sweeps, all of epsilon for the subspace\n")
    for name, (rows, k) in at_hand(names, folder):
        records = [record for record in read(SCALING) if record["data"] != name]
        table([name, "n", "runs", BEST, *LINES], [])
        for n in SIZES[name]:
            runs = 10 if n <= 10_000 else 5 if n < 100_000 else 3
            found = compare(partial(subset, rows, n), runs, k, LINES)
            print(f"| {name} | {n} | {runs} | " + " | ".join(cells(found)) + " |", flush=True)
            records += [{key: str(value) for key, value in row.items()} for row in records_of(found, data=name, n=n, runs=runs)]
            write(SCALING, records)


def targets() -> None:
    means: dict[tuple[str, int], dict[str, Mean]] = {}
    drawn = [record | {"data": record["what"]} for record in read(principal_limits.LIMITS) if record["zcdp"] == "False"]
    for record in [*read(SCALING), *drawn]:
        cell = means.setdefault((record["data"], int(record["n"])), {})
        cell[record["line"]] = Mean(float(record["captured"]), float(record["s.e."]))
    if not means:
        print("targets: skipped (they are judged by the table of scaling, which is not there)")
        return
    wanted: list[tuple[str, str, int, Mean, float]] = []
    for (name, n), found in means.items():
        if found["ppca"].value > USEFUL * found[BEST].value:
            wanted.append(("auto / ppca", name, n, found["auto"].over(found["ppca"]), TO_PPCA))
        if name not in SIZES:  # a table of limits, without mod-sulq
            continue
        wanted.append(("auto / mod-sulq", name, n, found["auto"].over(found["mod-sulq"]), 1.0))
        if n == max(SIZES[name]):
            limit = TO_BEST if name == "kddcup" else 0.0
            wanted.append(("auto / " + BEST, name, n, found["auto"].over(found[BEST]), limit))
    records: list[dict[str, object]] = [
        {"what": what, "data": name, "n": n, "ratio": ratio.value, "s.e.": ratio.error, "target": limit or "", "met": met}
        for what, name, n, ratio, limit in sorted(wanted, key=lambda each: each[0])
        for met in ["" if not limit else "ok" if ratio.value >= limit else "missed"]
    ]
    write(TARGETS, records)
    lines = [[r["what"], r["data"], r["n"], f"{r['ratio']:.3f} ± {r['s.e.']:.3f}", r["target"], r["met"]] for r in records]
    print(f"\nauto / ppca where ppca captures more than half of {BEST}; no target: reported only\n")
    table(["", "data", "n", "ratio", "target", ""], lines)
    for where, inside in (("data sets as they are", True), ("drawn, rotated and loosely bounded rows", False)):
        judged = [r["met"] for r in records if (r["data"] in SIZES) == inside and r["met"]]
        print(f"\n{where}: {judged.count('missed')} of {len(judged)} targets missed")


def speed(names: list[str], folder: Path | None) -> None:
    print("\none BLAS thread, CPU time, float64; ratio: to X.T @ X plus eigh\n")
    table(["data", "", "time", "ratio", "captured"], [])
    for name, (narrow, k) in at_hand([name for name in ("kddcup", "census") if name in names], folder):
        records: list[dict[str, object]] = [dict(record) for record in read(SPEED) if record["data"] != name]
        rows = narrow.astype(np.float64)
        del narrow
        moment = second_moment(rows)
        floor = median(cpu_seconds(partial(_floor, rows)) for _ in range(3))
        calls = {"auto": (LINES["auto"], 3), "wishart": (LINES["wishart"], 3), f"ppca, {SWEEPS} sweeps": (LINES["ppca"], 3)}
        if name == "kddcup":  # minutes for census
            calls[f"ppca, {LONG} sweeps"] = (subspace(EPSILON.epsilon, LONG), 1)
        for line, ((budget, options), times) in calls.items():
            timed = [_timed(rows, budget, k, options) for _ in range(times)]
            seconds, part = median(taken for taken, _ in timed), captured(timed[-1][1], moment)
            print(f"| {name} | {line} | {seconds:.2f} s | {seconds / floor:.1f} | {part:.4f} |", flush=True)
            row: dict[str, object] = {"data": name, "n": len(rows), "d": rows.shape[1], "k": k, "line": line}
            records.append(row | {"seconds": seconds, "ratio": seconds / floor, "captured": part})
        write(SPEED, records)


def _floor(rows: Floats) -> object:
    return np.linalg.eigh(rows.T @ rows)


def _timed(rows: Floats, budget: Budget, k: int, options: dict[str, Any]) -> tuple[float, Floats]:
    start = time.process_time()
    release = dpcov.pca(rows, budget, k, row_norm=1, seed=0, **options)
    return time.process_time() - start, release.components


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", default="all")
    parser.add_argument("path", type=Path, nargs="?", help="the folder of the pictures")
    parser.add_argument("--data", type=Path, help="folder with copies of the data sets")
    parser.add_argument("--only", choices=list(SETS), help="one data set")
    options = parser.parse_args()
    names = [options.only] if options.only else list(SETS)
    parts: dict[str, Callable[[], None]] = {
        "scaling": partial(scaling, names, options.data),
        "limits": partial(principal_limits.limits, names, options.data),
        "variances": partial(principal_variances.variances, names, options.data),
        "targets": targets,
        "speed": partial(speed, names, options.data),
    }
    if options.what == "pictures":
        principal_figures.pictures(options.path)
        return
    run(parser, options.what, parts)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
