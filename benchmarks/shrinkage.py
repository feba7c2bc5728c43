"""Rules for denoising a spectrum, side by side on the same noisy matrices.

Each rule maps ascending noisy eigenvalues, the spread of the noise and a bound on the trace to eigenvalues. Printed is its
Frobenius error, averaged over runs, as a ratio to the oracle that knows diag(VᵀSV): the geometric mean and the worst cell; and
against the zero matrix and `project`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from threadpoolctl import threadpool_limits

import dpcov
from benchmarks.common import plain
from benchmarks.datasets import DATASETS, Rows, to_unit_ball, to_unit_interval
from dpcov.kernel.budget import Budget
from dpcov.kernel.noise.laws import Spread
from dpcov.linalg import project_simplex
from dpcov.spectra import _denoised, edge, shrink_spectrum

Floats = NDArray[np.float64]
Rule = Callable[[Floats, Spread, float], Floats]


def unsmoothed(noisy: Floats, noise: Spread, bound: float) -> Floats:
    """Stein's sums with isotonic regression."""
    gap = noisy[:, None] - noisy[None, :]
    np.fill_diagonal(gap, np.inf)
    sums = noisy - 2 * noise.off_diagonal_variance * (1 / gap).sum(axis=1)
    return np.clip(isotonic_regression(sums).x, 0, bound)


def smoothed(noisy: Floats, noise: Spread, bound: float) -> Floats:
    """The rotation-invariant estimator alone."""
    return np.clip(isotonic_regression(_denoised(noisy, noise)).x, 0, bound)


def spiked(noisy: Floats, noise: Spread, bound: float) -> Floats:
    """√(w² − edge²) above the edge, zero below."""
    return np.minimum(np.sqrt(np.maximum(np.maximum(noisy, 0) ** 2 - edge(len(noisy), noise) ** 2, 0)), bound)


def thresholded(noisy: Floats, noise: Spread, bound: float) -> Floats:
    """The smoothed estimator; below the edge the mean where it is two standard deviations from zero, else zero."""
    values = smoothed(noisy, noise, bound)
    below = noisy <= edge(len(noisy), noise) * (1 + 1.5 * len(noisy) ** (-2 / 3))
    if below.any():
        mean = noisy[below].mean()
        values[below] = mean if mean > 2 * np.sqrt(noise.diagonal_variance / below.sum()) else 0.0
    return np.clip(isotonic_regression(values).x, 0, bound)


RULES: dict[str, Rule] = {
    "zero": lambda noisy, *_: np.zeros_like(noisy),
    "clip": lambda noisy, _, bound: np.clip(noisy, 0, bound),
    "project": lambda noisy, _, bound: project_simplex(noisy, bound),
    "unsmoothed sums": unsmoothed,
    "smoothed": smoothed,
    "smoothed, edge rule": thresholded,
    "spiked": spiked,
    "shrink (ours)": lambda noisy, noise, bound: shrink_spectrum(noisy, noise, bound),
}
BUDGETS: list[Budget] = [*map(dpcov.PureDP, ("0.1", "1", "4")), *map(dpcov.ZCDP, ("0.01", "0.1", "1"))]


def small_sets() -> dict[str, Rows]:
    from sklearn.datasets import load_diabetes, load_iris

    random = np.random.default_rng(5)
    return {
        "iris": to_unit_ball(load_iris().data),
        "diabetes": to_unit_ball(to_unit_interval(load_diabetes().data)),
        "isotropic, d = 10": to_unit_ball(random.normal(size=(2000, 10))),
        "decaying, d = 30": to_unit_ball(random.normal(size=(3000, 30)) / np.arange(1, 31)),
        "spiked, d = 40": to_unit_ball(random.normal(size=(5000, 1)) + 0.3 * random.normal(size=(5000, 40))),
    }


def errors(rows: Rows, budget: Budget, runs: int) -> tuple[dict[str, float], float]:
    """Return the mean error of each rule, and of the oracle."""
    truth = rows.T @ rows / len(rows)
    found: dict[str, list[float]] = {name: [] for name in (*RULES, "oracle")}
    for seed in range(runs):
        release = dpcov.covariance(rows, budget, row_norm=1, mechanism=plain(budget), postprocess="none", seed=seed)
        answer = release.answers[0]
        noise = answer.spread.scaled(1 / release.n)
        noisy, vectors = np.linalg.eigh(release.second_moment)
        best = np.einsum("ij,ij->j", vectors, truth @ vectors)
        left = max(float(np.sum(truth**2) - best @ best), 0.0)
        for name, rule in RULES.items():
            found[name].append(float(np.sqrt(np.sum((rule(noisy, noise, 1.0) - best) ** 2) + left)))
        found["oracle"].append(float(np.sqrt(left)))
    means = {name: float(np.mean(values)) for name, values in found.items()}
    return means, means.pop("oracle")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with copies of airfoil and adult")
    folder = parser.parse_args().data
    sets = {name: DATASETS[name](folder) for name in ("wine", "cancer01", "digits")} | small_sets()
    if folder is not None:
        sets |= {name: DATASETS[name](folder) for name in ("airfoil01", "adult")}
    cells = [errors(rows, b, 6 if rows.shape[1] > 100 else 20) for rows in sets.values() for b in BUDGETS]
    print(f"{len(cells)} cells: {', '.join(sets)}; {', '.join(repr(b) for b in BUDGETS)}")
    print(f"{'rule':<22}{'mean ratio to oracle':>22}{'worst':>8}{'worst to zero':>15}{'worst to project':>18}")
    for name in RULES:
        to_oracle = np.array([means[name] / oracle for means, oracle in cells])
        to_zero = max(means[name] / means["zero"] for means, _ in cells)
        to_project = max(means[name] / means["project"] for means, _ in cells)
        mean = np.exp(np.mean(np.log(to_oracle)))
        print(f"{name:<22}{mean:22.2f}{to_oracle.max():8.2f}{to_zero:15.2f}{to_project:18.2f}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
