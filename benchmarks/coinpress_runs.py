"""What the tables of CoinPress and of means share: data drawn anew for each run, Mahalanobis errors, trimmed means, tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import dpcov
from benchmarks.common import Mean

Floats = NDArray[np.float64]
Options = dict[str, Any]
Drawn = tuple[Floats, Floats, Floats]
"""Rows, their true mean and their true covariance."""
Maker = Callable[[np.random.Generator], Drawn]
Error = TypeVar("Error")
Run = Callable[[Floats, Floats, Floats, int], Error]
"""From rows, true mean, true covariance and seed to an error."""

RHO = dpcov.ZCDP("0.5")
TRIM = 0.1


def compare(make: Maker, runs: int, lines: Mapping[str, Run[Error]], sample: Run[Error]) -> dict[str, list[Error]]:
    """Return the errors of the sample's own estimate, first, and of the lines, on the same data, for seeds 0, 1, ..."""
    all_lines = {"sample": sample, **lines}
    errors: dict[str, list[Error]] = {line: [] for line in all_lines}
    for seed in range(runs):
        drawn = make(
            np.random.default_rng((1, seed))
        )  # default_rng(seed) would give the bits that the release draws noise from
        for line, run in all_lines.items():
            errors[line].append(run(*drawn, seed))
    return errors


def covariances(make: Maker, runs: int, lines: Mapping[str, Options]) -> dict[str, list[float]]:
    """Return the Mahalanobis errors of covariances, by `coinpress` but where the options say so, of rows with mean 0."""

    def line(options: Options) -> Run[float]:
        def run(rows: Floats, _: Floats, truth: Floats, seed: int) -> float:
            release = dpcov.covariance(rows, RHO, seed=seed, **{"mechanism": "coinpress", **options})
            return mahalanobis(release.second_moment, truth)

        return run

    def sample(rows: Floats, _: Floats, truth: Floats, __: int) -> float:
        return mahalanobis(rows.T @ rows / len(rows), truth)

    return compare(make, runs, {name: line(options) for name, options in lines.items()}, sample)


def means(make: Maker, runs: int, lines: Mapping[str, Options], radius: float) -> dict[str, list[float]]:
    """Return the Mahalanobis errors of means."""

    def line(options: Options) -> Run[float]:
        def run(rows: Floats, mean: Floats, covariance: Floats, seed: int) -> float:
            return mahalanobis(dpcov.mean(rows, RHO, radius=radius, seed=seed, **options).mean - mean, covariance)

        return run

    def sample(rows: Floats, mean: Floats, covariance: Floats, _: int) -> float:
        return mahalanobis(rows.mean(axis=0) - mean, covariance)

    return compare(make, runs, {name: line(options) for name, options in lines.items()}, sample)


def mahalanobis(estimate: Floats, covariance: Floats) -> float:
    """Return |Σ^-½ v| of the error v of a mean, ‖Σ^-½ A Σ^-½ − 1‖_F of a covariance A."""
    factor = np.linalg.cholesky(covariance)
    white = np.linalg.solve(factor, estimate)
    return float(np.linalg.norm(white if estimate.ndim == 1 else np.linalg.solve(factor, white.T) - np.eye(len(factor))))


def gaussian(n: int, mean: Floats, covariance: Floats, random: np.random.Generator) -> Drawn:
    rows = random.standard_normal((n, len(mean))) @ np.linalg.cholesky(covariance).T + mean
    return rows, mean, covariance


def isotropic(n: int, d: int, variance: float = 1.0, distance: float = 0.0) -> Maker:
    """Return what draws Gaussian rows, their mean so far from 0 in a random direction."""

    def make(random: np.random.Generator) -> Drawn:
        direction = random.standard_normal(d)
        return gaussian(n, distance * direction / np.linalg.norm(direction), variance * np.eye(d), random)

    return make


def trimmed(values: Sequence[float], over: Sequence[float] | None = None) -> Mean:
    """Return the trimmed mean, or the ratio of two over the same runs, with the standard error of the jackknife."""
    pairs = np.array([values, np.ones(len(values)) if over is None else over])
    runs = pairs.shape[1]
    left_out = [_ratio(np.delete(pairs, run, axis=1)) for run in range(runs)]
    return Mean(_ratio(pairs), float(np.std(left_out) * np.sqrt(runs - 1)))


def _ratio(pairs: Floats) -> float:
    ordered = np.sort(pairs, axis=1)
    cut = int(TRIM * pairs.shape[1] + 0.5)
    above, below = ordered[:, cut : pairs.shape[1] - cut].mean(axis=1)
    return float(above / below)


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table in Markdown."""
    for cells in (head, ["---"] * len(head), *rows):
        print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def shown(row: Mapping[str, Any], value: str, deviation: str) -> str:
    """Return a value of a record with its standard error, to four digits."""
    return f"{row[value]:.4f} ± {row[deviation]:.4f}"
