"""Harder data for CoinPress: mean and covariance together, in columns of different scales; and where it fails."""

from __future__ import annotations

from functools import partial

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

D, K = 10, 10 * 10**0.5


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
    for times, parts in {10: (0.01, 0.02, 0.05, 0.1, 0.15, 0.2), 3: (0.02, 0.05, 0.1, 0.2)}.items():
        cells |= {f"{part:.0%} of 5000 rows {times} times longer": long_rows(5000, part, times) for part in parts}
    above = (0.001, 1, 4, 100, 10_000)
    cells |= {f"5000 rows, covariance {times:g} · upper": isotropic(5000, D, times * K) for times in above}
    records: list[dict[str, object]] = []
    for name, make in cells.items():
        both = compare(make, runs, {"coinpress": partial(_traced, private=True)}, partial(_traced, private=False))
        found = {line: trimmed([error for error, _ in pairs]) for line, pairs in both.items()}
        found["trace"] = trimmed([trace for _, trace in both["coinpress"]])
        row: dict[str, object] = {"cell": name}
        for line, mean in found.items():
            row |= {line: mean.value, f"{line} s.e.": mean.error}
        records.append(row)
    print(f"\ncoinpress, d = {D}, upper = {K:.3g}, lower = 1, {RHO!r}, {runs} runs; an estimate of 0 has error {D**0.5:.3g}\n")
    rows = [[row["cell"], *(shown(row, line, f"{line} s.e.") for line in ("sample", "coinpress", "trace"))] for row in records]
    table(["", "error of the sample", "of coinpress", "its trace over the true one"], rows)
    write("coinpress_limits.csv", records)


def _traced(rows: Floats, _: Floats, truth: Floats, seed: int, *, private: bool) -> tuple[float, float]:
    estimate = _private(rows, seed) if private else rows.T @ rows / len(rows)
    return mahalanobis(estimate, truth), float(np.trace(estimate) / np.trace(truth))


def _private(rows: Floats, seed: int) -> Floats:
    return dpcov.covariance(rows, RHO, mechanism="coinpress", upper=K, seed=seed).covariance
