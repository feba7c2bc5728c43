"""What the tables of regressions share: the exact moments of rows, and the error of a linear model on those rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpcov
from benchmarks.common import Mean
from dpcov.kernel.budget import Budget
from dpcov.release.record import Release
from dpcov.uses.ridge import RidgeModel
from dpcov.uses.solving import solved

Floats = NDArray[np.float64]

NOTHING = 1e-10  # of the largest eigenvalue of correlations: directions that levels of one column leave empty


@dataclass(frozen=True, eq=False)
class Truth:
    """Exact moments of rows: with them the mean squared error of any linear model on the rows is exact, too."""

    mean: Floats
    covariance: Floats

    @classmethod
    def of(cls, rows: Floats) -> Truth:
        mean = rows.mean(axis=0)
        centred = rows - mean
        return cls(mean, centred.T @ centred / len(rows))

    @property
    def variances(self) -> Floats:
        return np.asarray(self.covariance.diagonal())

    def about(self, center: bool) -> Floats:
        """Return the covariance, or the second moment about 0: what a release with or without a mean estimates."""
        return self.covariance if center else np.asarray(self.covariance + np.outer(self.mean, self.mean))

    def error(self, target: int, places: Sequence[int], weights: Floats, intercept: float = 0.0) -> float:
        """Return the mean squared error on the rows."""
        u = np.zeros(len(self.mean))
        u[target] = 1.0
        u[list(places)] -= weights
        return float(u @ self.covariance @ u + (self.mean @ u - intercept) ** 2)

    def least(self, target: int, places: Sequence[int], center: bool) -> float:
        """Return the mean squared error of least squares, with an intercept where the rows are centred."""
        x, moment = list(places), self.about(center)
        scale = np.sqrt(np.maximum(moment[x, x], np.finfo(np.float64).tiny))
        values, vectors = np.linalg.eigh(moment[np.ix_(x, x)] / np.outer(scale, scale))
        kept = values > NOTHING * values[-1]
        along = vectors[:, kept].T @ (moment[x, target] / scale)
        return float(moment[target, target] - along @ (along / values[kept]))

    def ridge(self, target: int, places: Sequence[int], alpha: float, center: bool) -> Floats:
        """Return the exact coefficients at this penalty."""
        x, moment = list(places), self.about(center)
        return solved(moment[np.ix_(x, x)], moment[x, target], alpha)


def others(d: int, target: int) -> list[int]:
    return [j for j in range(d) if j != target]


def model_error(truth: Truth, release: Release, model: RidgeModel) -> float:
    """Return the mean squared error of a model on the rows, in the user's units."""
    places = {name: j for j, name in enumerate(release.feature_names)}
    chosen = [places[name] for name in model.feature_names]
    return truth.error(places[model.target], chosen, model.coefficients, model.intercept)


def errors(
    rows: Floats, truth: Truth, targets: Sequence[int], budget: Budget, runs: int, first: int = 0, **options: Any
) -> Floats:
    """Return mean squared errors divided by variances, a row for each of the seeds from the first on, a column for each target.

    Every target is predicted from all other columns, with alpha="auto", from one release.
    """
    found = []
    for seed in range(first, first + runs):
        release = dpcov.covariance(rows, budget, row_norm=1, seed=seed, **options)
        found.append([model_error(truth, release, release.ridge(j)) / truth.variances[j] for j in targets])
    return np.array(found)


def mean_over(errors: Floats) -> Mean:
    """Return the mean over targets, with the standard error over runs."""
    return Mean.of([float(value) for value in errors.mean(axis=1)])


def cell(mean: Mean, digits: int = 3) -> str:
    return f"{mean.value:.{digits}f} ± {mean.error:.{digits}f}"


def show(name: str, place: str, cells: Iterable[object], *more: object) -> None:
    """Print a line of a table, when it is there."""
    print("| " + " | ".join(str(each) for each in (name, place, *cells, *more)) + " |", flush=True)
