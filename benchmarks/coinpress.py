"""CoinPress and private means, beside what was wanted of them, their rivals in the library and the figures of their paper.

``targets``: Mahalanobis errors over 100 runs beside the targets and the sample's own error on the same data.
``rounds``: covariance for t = 1, 2, 3, 5, 10 and the automatic number. ``speed``: seconds, and the ratio to X.T @ X plus eigh.
``joint`` and ``limits``: mean and covariance together, and where it fails (benchmarks/coinpress_harder.py). ``means`` and
``figures``: what the paper's figures show (benchmarks/coinpress_figures.py); ``picture PATH`` draws them from the results.

Run number s has its own data and seed=s, for s = 0, 1, ...; errors are trimmed means, a tenth from either side as in the paper.
"""

from __future__ import annotations

import argparse
import sys
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
from benchmarks import coinpress_figures, coinpress_harder
from benchmarks.coinpress_runs import (
    RHO,
    Drawn,
    Floats,
    Maker,
    covariances,
    gaussian,
    isotropic,
    means,
    shown,
    table,
    trimmed,
)
from benchmarks.common import write
from benchmarks.speed import cpu_seconds

D, K = 10, 10 * 10**0.5
SIZES = (1000, 3000, 10_000)
COVARIANCE_TARGETS = {"isotropic": (0.55, 0.225, 0.112), "skewed": (0.52, 0.228, 0.109)}
MEAN_TARGETS = (0.276, 0.142, 0.0712)
ROUNDS = (1, 2, 3, 5, 10, "auto")
TO_BEST = 1.3
RIVAL, RIVAL_OPTIONS = 'mechanism="auto"', {"mechanism": "auto", "row_norm": 100.0}
SPECTRA: dict[str, Callable[[float], Floats]] = {
    "isotropic": lambda _: np.ones(D),
    "skewed": lambda condition: np.repeat([condition, 1.0], D // 2),
    "log-spaced": lambda condition: np.geomspace(1, condition, D),
}
SECONDS = 1.0


def spectrum(name: str, n: int, condition: float) -> Maker:
    """Return what draws Gaussian rows with these eigenvalues in a random basis."""

    def make(random: np.random.Generator) -> Drawn:
        basis, _ = np.linalg.qr(random.standard_normal((D, D)))
        return gaussian(n, np.zeros(D), (basis * SPECTRA[name](condition)) @ basis.T, random)

    return make


def targets() -> None:
    cells = [
        (f"covariance, {name}", n, target, covariances(spectrum(name, n, K), 100, {"auto": {"upper": K}}))
        for name, wanted in COVARIANCE_TARGETS.items()
        for n, target in zip(SIZES, wanted, strict=True)
    ]
    cells += [
        ("mean", n, target, means(isotropic(n, 50), 100, {"auto": {"covariance": 1.0}}, 10 * 50**0.5))
        for n, target in zip(SIZES, MEAN_TARGETS, strict=True)
    ]
    records: list[dict[str, object]] = []
    for name, n, target, errors in cells:
        found, sample, ratio = trimmed(errors["auto"]), trimmed(errors["sample"]), trimmed(errors["auto"], errors["sample"])
        row = {"estimate": name, "n": n, "error": found.value, "s.e.": found.error, "target": target}
        row |= {"missed": found.value > target, "sample": sample.value, "sample s.e.": sample.error}
        records.append(row | {"ratio": ratio.value, "ratio s.e.": ratio.error})
    write("coinpress_targets.csv", records)
    rows = []
    for row in records:
        missed = "missed" if row["missed"] else "met"
        found_and_wanted = [shown(row, "error", "s.e."), row["target"], missed]
        beside = [shown(row, "sample", "sample s.e."), shown(row, "ratio", "ratio s.e.")]
        rows.append([row["estimate"], row["n"], *found_and_wanted, *beside])
    print(f"\nd = {D}, upper = 10√d; means: d = 50, radius = 10√d, covariance known; {RHO!r}; trimmed means of 100 runs\n")
    table(["", "n", "error", "target", "", "of the sample", "ratio"], rows)
    print(f"\n{sum(bool(row['missed']) for row in records)} of {len(records)} targets missed")


def rounds(runs: int) -> None:
    records: list[dict[str, object]] = []
    lines: dict[str, dict[str, object]] = {str(t): {"rounds": t} for t in ROUNDS}
    print(f"\nMahalanobis error of the covariance by rounds, d = {D}, upper = K, lower = 1, {RHO!r}, {runs} runs\n")
    rows = []
    for n in (3000, 20_000):
        for condition in (K, 100.0):
            for name in SPECTRA:
                options = {line: {**option, "upper": condition} for line, option in lines.items()} | {RIVAL: RIVAL_OPTIONS}
                errors = covariances(spectrum(name, n, condition), runs, options)
                found = {line: trimmed(errors[line]) for line in errors}
                best = min((line for line in lines if line not in ("1", "auto")), key=lambda line: found[line].value)
                ratio = trimmed(errors["auto"], errors[best])
                for line, mean in found.items():
                    row: dict[str, object] = {
                        "n": n,
                        "K": condition,
                        "spectrum": name,
                        "line": line,
                        "error": mean.value,
                        "s.e.": mean.error,
                    }
                    records.append(row | {"best": best, "auto/best": ratio.value, "s.e. of it": ratio.error})
                cells = [str(found[line]) for line in ("sample", *lines, RIVAL)]
                missed = "  missed" * (ratio.value > TO_BEST)
                rows.append([name, n, f"{condition:.3g}", *cells, f"{ratio.value:.3f} ± {ratio.error:.1g}{missed}"])
    table(["spectrum", "n", "K", "sample", *(f"t = {t}" for t in ROUNDS), RIVAL, "t = auto / best t > 1"], rows)
    write("coinpress_rounds.csv", records)
    worst = max(float(str(row["auto/best"])) for row in records)
    print(f"\nworst t = auto / best t > 1: {worst:.3f} (limit {TO_BEST})")
    print("the authors' program, skewed, n = 20 000, K = 100: .074 at its best t, .513 at t = 3, 2.36 at t = 5")


def speed() -> None:
    records: list[dict[str, object]] = []
    for d in (10, 50, 500):
        rows, radius = np.random.default_rng((1, d)).standard_normal((2000, d)), 10 * d**0.5
        calls: dict[str, Callable[[], object]] = {
            "mean": partial(_mean, rows, radius, covariance=1.0),
            "mean, covariance unknown": partial(_mean, rows, radius),
            "covariance": partial(_covariance, rows, radius),
            "mean and covariance": partial(_covariance, rows, radius, center=True, radius=radius),
        }
        floor = partial(_floor, rows)
        for name, call in calls.items():
            call()  # warm up
            floors, times = zip(*[(cpu_seconds(floor), cpu_seconds(call)) for _ in range(7)], strict=True)
            taken, least = median(times), median(floors)
            records.append({"release": name, "d": d, "seconds": taken, "floor": least, "ratio": taken / least})
    print(f"\nn = 2000, {RHO!r}, one BLAS thread, CPU time; floor: X.T @ X plus eigh; limit {SECONDS:g} s at d = 500\n")
    rows_shown = []
    for row in records:
        missed = "missed" * (float(str(row["seconds"])) > SECONDS)
        rows_shown.append([row["release"], row["d"], f"{row['seconds']:.4f} s", f"{row['ratio']:.1f}", missed])
    table(["release", "d", "time", "ratio to the floor", ""], rows_shown)
    write("coinpress_speed.csv", records)


def _floor(rows: Floats) -> object:
    return np.linalg.eigh(rows.T @ rows)


def _mean(rows: Floats, radius: float, **options: Any) -> Floats:
    return dpcov.mean(rows, RHO, radius=radius, **options).mean


def _covariance(rows: Floats, upper: float, **options: Any) -> Floats:
    return dpcov.covariance(rows, RHO, mechanism="coinpress", upper=upper, **options).covariance


PARTS: dict[str, Callable[[], None]] = {
    "targets": targets,
    "rounds": partial(rounds, 40),
    "means": coinpress_figures.means_by_mechanism,
    "joint": partial(coinpress_harder.joint, 20),
    "limits": partial(coinpress_harder.limits, 40),
    "speed": speed,
    "figures": coinpress_figures.covariance_by_rows,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="?", default="all", choices=["all", *PARTS, "picture"])
    parser.add_argument("path", type=Path, nargs="?", help="of the picture")
    options = parser.parse_args()
    if options.what == "picture":
        coinpress_figures.picture(options.path)
        return
    for name in PARTS if options.what == "all" else [options.what]:
        start = time.perf_counter()
        PARTS[name]()
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
