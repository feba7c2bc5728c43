"""What people read of a release, beside the truth: the errors of one release, and the same of no release and of the rows.

A cell counts as the schema counts it: clipped to the bounds. The truth of a column with missing cells is that of the observed
ones, and of a pair of columns that of the rows in which both are observed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg  # noqa: F401 - brings a BLAS of its own, which must be loaded before its threads can be limited
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import dpcov
from benchmarks.common import plain
from benchmarks.ridge_runs import Truth, others
from benchmarks.units_tables import Table

Floats = NDArray[np.float64]
Budget = dpcov.PureDP | dpcov.ZCDP
Figures = dict[str, float]

NUMERIC, ALL, DEVIATION, MEAN, RIDGE, FROBENIUS = FIGURES = ("corr numeric", "corr all", "sd", "mean", "ridge", "Frobenius")
SECONDS = "CPU s"
MECHANISMS = ("old", "new", "auto")
STANDARDIZED = "standardized"
TARGETS = 6  # of ridge: the first numeric columns
PREDICTED_ROWS = 50_000  # for larger tables so many rows, chosen once, are predicted


class Run(NamedTuple):
    """One release to be made and measured."""

    budget: Budget
    mechanism: str
    neighbors: str
    seed: int


@dataclass(frozen=True, eq=False)
class Measured:
    """A table and the truth about it, by feature.

    ``numeric`` and ``column`` say which features are numeric and which column each belongs to; ``second_moment`` is that of
    encoded rows; ``predicted`` are the rows that regressions are measured on, ``values`` their features.
    """

    table: Table
    numeric: NDArray[np.bool_]
    column: NDArray[np.intp]
    mean: Floats
    deviation: Floats
    correlation: Floats
    second_moment: Floats
    predicted: Any
    values: Floats

    @classmethod
    def of(cls, table: Table) -> Measured:
        rows, schema = features(table.rows, table.schema), table.schema
        widths, kinds = schema.widths(), [isinstance(column, dpcov.Numeric) for column in schema.used.values()]
        mean, deviation, correlation = observed_moments(rows)
        moment = in_encoded_units(schema, mean, correlation * np.outer(deviation, deviation))
        chosen = np.arange(len(rows))
        if len(rows) > PREDICTED_ROWS:
            chosen = np.sort(np.random.default_rng(0).choice(len(rows), PREDICTED_ROWS, replace=False))
        return cls(
            table,
            np.repeat(kinds, widths),
            np.repeat(np.arange(len(widths)), widths),
            mean,
            deviation,
            correlation,
            moment,
            table.rows.take(chosen),
            rows[chosen],
        )

    @property
    def targets(self) -> list[int]:
        """The features that regressions predict."""
        return [int(j) for j in np.flatnonzero(self.numeric & (self.deviation > 0))[:TARGETS]]

    def correlation_errors(self, correlation: Floats) -> Figures:
        """Return mean absolute errors among numeric columns, and among all features of different columns."""
        i, j = np.triu_indices(len(self.mean), 1)
        counts = (self.deviation[i] > 0) & (self.deviation[j] > 0) & (self.column[i] != self.column[j])
        errors, numeric = np.abs(correlation - self.correlation)[i, j], self.numeric[i] & self.numeric[j]
        return {NUMERIC: float(errors[counts & numeric].mean()), ALL: float(errors[counts].mean())}

    def errors(self, release: dpcov.Release) -> Figures:
        deviation = release.describe().deviation
        assert deviation is not None
        assert release.feature_names == self.table.schema.feature_names
        varies = self.deviation > 0
        relative = np.abs(deviation.values / np.where(varies, self.deviation, np.nan) - 1)
        shifts = np.abs(release.mean - self.mean)[varies] / self.deviation[varies]
        moment = in_encoded_units(self.table.schema, release.mean, release.covariance)
        size = np.linalg.norm(self.second_moment)
        return self.correlation_errors(release.correlation()) | {
            DEVIATION: float(relative[self.numeric & varies].mean()),
            MEAN: float(shifts.mean()),
            RIDGE: float(np.mean([self.ridge_error(release, target) for target in self.targets])),
            FROBENIUS: float(np.linalg.norm(moment - self.second_moment) / size),
        }

    def ridge_error(self, release: dpcov.Release, target: int) -> float:
        """Return the mean squared error over the variance, where the target is observed; predicting the mean has 1."""
        truth = self.values[:, target]
        predicted = release.ridge(release.feature_names[target]).predict(self.predicted)
        observed = ~np.isnan(truth)  # a prediction that is NaN must show
        return float(np.mean((predicted - truth)[observed] ** 2) / truth[observed].var())

    def without_release(self) -> dict[str, Figures]:
        """Return what answering 0 to every correlation has, and least squares on the rows that are predicted."""
        zero = self.correlation_errors(np.zeros_like(self.correlation)) | {RIDGE: 1.0}
        return {"answer 0": zero, "non-private": {NUMERIC: 0.0, ALL: 0.0, RIDGE: self.least_squares()}}

    def least_squares(self) -> float:
        """Return the mean error of least squares, missing predictors being the mean."""
        filled = np.where(np.isnan(self.values), np.nanmean(self.values, axis=0), self.values)
        truth, errors = Truth.of(filled), []
        for target in self.targets:
            observed = ~np.isnan(self.values[:, target])
            of_target = truth if observed.all() else Truth.of(filled[observed])
            least = of_target.least(target, others(filled.shape[1], target), center=True)
            errors.append(least / of_target.variances[target])
        return float(np.mean(errors))


def features(rows: Any, schema: dpcov.Schema) -> Floats:
    """Return numbers clipped to their bounds and a column of 0 and 1 for each level, NaN where a cell is missing."""
    found = []
    for name, column in schema.used.items():
        if isinstance(column, dpcov.Numeric):
            found.append(np.clip(rows[name].to_numpy().astype(np.float64), column.lower, column.upper)[:, None])
        else:
            cells = rows[name].to_numpy()
            levels = (cells[:, None] == np.array(column.levels, dtype=object)).astype(np.float64)
            levels[rows[name].is_null().to_numpy()] = np.nan
            found.append(levels)
    return np.hstack(found)


def observed_moments(rows: Floats) -> tuple[Floats, Floats, Floats]:
    """Return means and deviations of what is observed, and correlations over the rows in which both are, as pandas does."""
    mean, deviation = np.nanmean(rows, axis=0), np.nanstd(rows, axis=0)
    seen = ~np.isnan(rows)
    scaled = np.where(seen, (rows - mean) / np.where(deviation > 0, deviation, 1.0), 0.0)
    weight = seen.astype(np.float64)
    both = weight.T @ weight
    first, second = scaled.T @ weight / both, (scaled**2).T @ weight / both  # entry (i, j): of i, where j is observed, too
    variance = np.maximum(second - first**2, 0.0)
    scale = np.sqrt(variance * variance.T)
    product = scaled.T @ scaled / both - first * first.T
    correlation = np.divide(product, scale, out=np.zeros_like(product), where=scale > 0)
    return mean, deviation, correlation


def in_encoded_units(schema: dpcov.Schema, mean: Floats, covariance: Floats) -> Floats:
    """Return the second moment of rows that the schema encodes about the middle of its bounds."""
    away, scales = mean - schema.offsets(center=True), schema.scales(center=True)
    return np.asarray((covariance + np.outer(away, away)) / np.outer(scales, scales))


def available(mechanism: str) -> bool:
    return mechanism != "new" or STANDARDIZED in dpcov.MECHANISMS["covariance"]


def make_release(table: Table, run: Run) -> dpcov.Release:
    """Make a release, down to its covariance: the estimate is made when it is first read."""
    options: dict[str, dict[str, Any]] = {
        "old": {"mechanism": plain(run.budget), "clip": "private"},
        "new": {"mechanism": STANDARDIZED},
        "auto": {},
    }
    common: dict[str, Any] = {"schema": table.schema, "center": True, "neighbors": run.neighbors, "seed": run.seed}
    release = dpcov.covariance(table.rows, run.budget, **common, **options[run.mechanism])
    assert np.isfinite(release.covariance).all()
    return release


def measure(measured: Measured, run: Run) -> Figures:
    """Make one release; return its errors and the CPU seconds that it took."""
    start = time.process_time()
    release = make_release(measured.table, run)
    seconds = time.process_time() - start
    return measured.errors(release) | {SECONDS: seconds}


def warm_up(measured: Measured, runs: Sequence[Run]) -> None:
    """Pay for imports and the once-per-process checks before the clock starts: one small release of each kind."""
    small = Table(measured.table.rows.slice(0, 100), measured.table.schema)
    for run in {(type(run.budget), run.mechanism): run for run in runs}.values():
        make_release(small, run)


def measure_all(measured: Measured, runs: Sequence[Run], jobs: int) -> Iterator[Figures]:
    """Yield the figures of each run, in order, from so many processes; each has one BLAS thread."""
    if jobs == 1:
        with threadpool_limits(1):
            warm_up(measured, runs)
            yield from map(partial(measure, measured), runs)
        return
    with get_context("spawn").Pool(jobs, _hold, (measured, runs)) as pool:  # forked threads of Arrow and BLAS might hang
        yield from pool.imap(_measure_held, runs)


_held: list[Measured] = []
"""What a process of the pool measures: sent once, not with every run."""


def _hold(measured: Measured, runs: Sequence[Run]) -> None:
    threadpool_limits(1)
    warm_up(measured, runs)
    _held[:] = [measured]


def _measure_held(run: Run) -> Figures:
    return measure(_held[0], run)
