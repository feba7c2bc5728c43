"""Harder data for CoinPress: mean and covariance together, in columns of different scales; and where it fails."""

from __future__ import annotations

import numpy as np
import pyarrow

import dpcov
from benchmarks.coinpress_runs import (
    RHO,
    Drawn,
    Floats,
    Maker,
    Options,
    Run,
    compare,
    gaussian,
    isotropic,
    mahalanobis,
    shown,
    table,
    trimmed,
)
from benchmarks.common import write

D, UPPER = 10, 10 * 10**0.5
ROW_NORM = 100.0


def spread_out(n: int, away: float) -> Maker:
    """Return what draws correlated columns with deviations from 1 to 1000, the mean ``away`` deviations from 0."""
    scales = np.geomspace(1, 1000, D)

    def make(random: np.random.Generator) -> Drawn:
        factors = random.standard_normal((2 * D, D))
        correlation = np.corrcoef(factors, rowvar=False)
        direction = random.standard_normal(D)
        mean = away * scales * direction / np.linalg.norm(direction)
        return gaussian(n, mean, correlation * np.outer(scales, scales), random)

    return make


def joint(runs: int) -> None:
    records: list[dict[str, object]] = []
    upper, radius = 1e7, 1e6  # variances are between 1e-2 and 1e7 in every direction, the mean within 1000 · 1000
    longest = radius + (upper * D) ** 0.5
    reach = {f"x{place}": 1010 * scale for place, scale in enumerate(np.geomspace(1, 1000, D))}
    schema = dpcov.Schema({name: dpcov.Numeric(-bound, bound) for name, bound in reach.items()})
    lines: dict[str, Options] = {
        "coinpress": {"mechanism": "coinpress", "upper": upper, "lower": 1e-2, "radius": radius},
        "auto, row_norm": {"mechanism": "auto", "row_norm": longest},
        "auto, schema": {"mechanism": "auto", "schema": schema},
    }
    print(f"\nMean and covariance, {D} columns with deviations from 1 to 1000, correlated; {RHO!r}, {runs} runs; Mahalanobis\n")
    rows = []
    for n in (3000, 10_000, 50_000):
        for away in (0.0, 10.0, 1000.0):
            both = compare(spread_out(n, away), runs, {name: _both(name, options) for name, options in lines.items()}, _sample)
            for place, what in enumerate(("mean", "covariance")):
                found = {line: trimmed([pair[place] for pair in pairs]) for line, pairs in both.items()}
                row: dict[str, object] = {"n": n, "deviations away": away, "of": what}
                records += [row | {"line": line, "error": mean.value, "s.e.": mean.error} for line, mean in found.items()]
                rows.append([what, n, f"{away:g}", *(str(mean) for mean in found.values())])
    table(["of", "n", "deviations away", "sample", *lines], rows)
    print(f"\nan estimate of 0 has error {D**0.5:.3g} of the covariance, and 'deviations away', or more, of the mean")
    write("coinpress_joint.csv", records)


def _both(name: str, options: Options) -> Run[tuple[float, float]]:
    def errors(rows: Floats, mean: Floats, covariance: Floats, seed: int) -> tuple[float, float]:
        data = pyarrow.table({f"x{place}": column for place, column in enumerate(rows.T)}) if "schema" in name else rows
        release = dpcov.covariance(data, RHO, center=True, seed=seed, **options)
        return mahalanobis(release.mean - mean, covariance), mahalanobis(release.covariance, covariance)

    return errors


def _sample(rows: Floats, mean: Floats, covariance: Floats, _: int) -> tuple[float, float]:
    return mahalanobis(rows.mean(axis=0) - mean, covariance), mahalanobis(np.cov(rows, rowvar=False), covariance)


def long_rows(n: int, part: float, times: float) -> Maker:
    """Return what draws isotropic rows, but for a part of them that are so many times longer."""

    def make(random: np.random.Generator) -> Drawn:
        longer = np.where(np.arange(n) < round(part * n), times, 1.0)
        rows = random.standard_normal((n, D)) * longer[:, None]
        return rows, np.zeros(D), np.eye(D) * np.mean(longer**2)

    return make


def limits(runs: int) -> None:
    """Print where estimates are bad: few rows, few long rows, rows above the public bound."""
    cells: dict[str, Maker] = {f"{n} rows": isotropic(n, D) for n in (100, 200, 300, 500, 700, 1000)}
    cells |= {f"{n} rows, d = 50": isotropic(n, 50) for n in (2000, 5000, 10_000)}
    for times, parts in {10: (0.01, 0.02, 0.05, 0.1, 0.15, 0.2), 3: (0.02, 0.05, 0.1, 0.2)}.items():
        cells |= {f"{part:.0%} of 5000 rows {times} times longer": long_rows(5000, part, times) for part in parts}
    above = (0.001, 1, 4, 100, 10_000)
    cells |= {f"5000 rows, covariance {times:g} · upper": isotropic(5000, D, times * UPPER) for times in above}
    records: list[dict[str, object]] = []
    for name, make in cells.items():
        both = compare(make, runs, {"coinpress": _coinpress, "auto": _automatic}, _moment)
        found = {line: trimmed([error for error, _ in pairs]) for line, pairs in both.items()}
        found["trace"] = trimmed([trace for _, trace in both["coinpress"]])
        row: dict[str, object] = {"cell": name}
        for line, mean in found.items():
            row |= {line: mean.value, f"{line} s.e.": mean.error}
        records.append(row)
    print(f"\nd = {D}, {RHO!r}, {runs} runs; coinpress: upper = 10√d, lower = 1; auto: row_norm = {ROW_NORM:g}")
    print("an estimate of 0 has error √d = 3.16, at d = 50 7.07\n")
    columns = ("sample", "coinpress", "auto", "trace")
    table(
        ["", "error of the sample", "of coinpress", "of auto", "trace of coinpress over the true one"],
        [[row["cell"], *(shown(row, line, f"{line} s.e.") for line in columns)] for row in records],
    )
    write("coinpress_limits.csv", records)


def _coinpress(rows: Floats, _: Floats, truth: Floats, seed: int) -> tuple[float, float]:
    upper = 10 * rows.shape[1] ** 0.5
    return _judged(dpcov.covariance(rows, RHO, mechanism="coinpress", upper=upper, seed=seed).covariance, truth)


def _automatic(rows: Floats, _: Floats, truth: Floats, seed: int) -> tuple[float, float]:
    return _judged(dpcov.covariance(rows, RHO, row_norm=ROW_NORM, seed=seed).second_moment, truth)


def _moment(rows: Floats, _: Floats, truth: Floats, __: int) -> tuple[float, float]:
    return _judged(rows.T @ rows / len(rows), truth)


def _judged(estimate: Floats, truth: Floats) -> tuple[float, float]:
    return mahalanobis(estimate, truth), float(np.trace(estimate) / np.trace(truth))
