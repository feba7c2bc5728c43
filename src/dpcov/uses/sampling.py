r"""Which people happened to be in the table: the sampling variance of what a release says, estimated from the release itself.

Rows are taken to be n independent draws from a population; with weights n is `Release.independent_n`. With
σ² the variance of a column, κ its kurtosis, p the share of a level, ρ a correlation and s² the residual variance of a
regression, the errors of exact statistics are about normal with

=============================  ======================================================================================
mean                           σ²/n; of a level p(1 − p)/n
variance                       (κ − 1)·σ⁴/n
covariance                     (σᵢ²σⱼ² + cᵢⱼ²)/n
correlation                    1/(n − 3), for Fisher's z = artanh ρ
coefficients                   s²·C_xx⁻¹/n
=============================  ======================================================================================

A release does not know κ. It is taken to be 3, as of a normal law, where both ends of a column's range are three deviations
away or more; that of the beta law with this mean and deviation where one is within two, or where that is longer-tailed; and in
between in between. A column with longer tails has a deviation that is less certain than is said.

Each σ² is itself noisy. It is never taken to be below its own standard error: intervals must not be short by luck.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, shown
from dpcov.release.record import Release
from dpcov.schema import Categorical
from dpcov.uses.selection import column_places

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

POPULATION, ROWS = "population", "rows"
NORMAL = 3.0  # the kurtosis of a normal law
FAR, NEAR = 3.0, 2.0  # deviations: from ends of a range that are so far, or so near, a column is normal, or bounded
TINY = float(np.finfo(np.float64).tiny)


def about_population(about: object) -> bool:
    """Whether intervals are about the population, or refuse what is neither that nor the rows."""
    if not isinstance(about, str) or about not in (POPULATION, ROWS):
        raise ParameterError(
            f"about must be 'population' or 'rows', got {shown(about)}. Hint: 'rows' leaves out which people were drawn."
        )
    return about == POPULATION


def levels_of(release: Release) -> Flags:
    """Return which features are levels: 0 or 1 in each row."""
    levels = np.zeros(release.d, dtype=np.bool_)
    if release.schema is not None:
        for name, place in column_places(release.schema).items():
            levels[place] = isinstance(release.schema.used[name], Categorical)
    return levels


def rows_seen(release: Release) -> Floats:
    """Return how many cells of each feature are there, about, and at least 1: of rows that count alike, with weights."""
    units = release.estimate.units
    return np.maximum(release.independent_n * (np.ones(release.d) if units is None else units.seen), 1.0)


def pairs_seen(release: Release) -> Floats:
    """Return how many rows have both cells of each pair of features, about, where cells are missing independently."""
    seen, units = rows_seen(release), release.estimate.units
    fewer = np.minimum.outer(seen, seen)
    if units is None:
        return fewer
    same = np.equal.outer(units.column, units.column)
    return np.where(same, fewer, np.maximum(fewer * np.maximum.outer(units.seen, units.seen), 1.0))


def share_variance(shares: Floats, errors: Floats) -> Floats:
    """Return p(1 − p), of shares that are no nearer to 0 or 1 than their standard errors."""
    away = np.minimum(np.where(np.isfinite(errors), errors, 0.5), 0.5)
    p = np.clip(shares, away, 1 - away)
    return np.asarray(p * (1 - p))


def kurtosis(release: Release, variances: Floats) -> Floats:
    """Return that of each column of numbers, by its place within its range; variances are in the data's units."""
    if release.schema is None or not release.center:
        return np.full(release.d, NORMAL)
    with np.errstate(all="ignore"):
        a, b, away = _beta(release, variances)
        size = a + b
        bounded = 3 + 6 * ((a - b) ** 2 * (size + 1) - a * b * (size + 2)) / (a * b * (size + 2) * (size + 3))
        weight = np.clip((away - NEAR) / (FAR - NEAR), 0.0, 1.0)
    return np.where(bounded >= NORMAL, bounded, weight * NORMAL + (1 - weight) * bounded)


def skewness(release: Release, variances: Floats) -> Floats:
    """Return that of the beta law of each column of numbers; 0 where both ends of its range are far away."""
    if release.schema is None or not release.center:
        return np.zeros(release.d)
    with np.errstate(all="ignore"):
        a, b, away = _beta(release, variances)
        found = 2 * (b - a) * np.sqrt(a + b + 1) / ((a + b + 2) * np.sqrt(a * b))
    return np.where(away >= FAR, 0.0, found)


def _beta(release: Release, variances: Floats) -> tuple[Floats, Floats, Floats]:
    """Return a and b of the beta law of each column within its range, and how many deviations away its nearer end is."""
    assert release.schema is not None
    low, high = release.schema.bounds()
    units = release.estimate.units
    if units is not None:
        low, high = (part * release.units + release.offsets for part in (units.low, units.high))
    width = np.maximum(high - low, TINY)
    part = np.clip((release.mean - low) / width, 1e-6, 1 - 1e-6)
    relative = np.clip(variances / width / width, 1e-12, part * (1 - part) * 0.999)
    size = part * (1 - part) / relative - 1
    return part * size, (1 - part) * size, np.minimum(part, 1 - part) / np.sqrt(relative)


def fisher(correlation: Floats, n: Floats, factor: Floats) -> tuple[Floats, Floats]:
    """Return the ends of Fisher's intervals: artanh ρ is about normal with variance 1/(n − 3)."""
    with np.errstate(all="ignore"):
        middle = np.arctanh(np.clip(correlation, -1 + 1e-12, 1 - 1e-12))
        half = factor / np.sqrt(np.maximum(n - 3, 1.0))
    return np.tanh(middle - half), np.tanh(middle + half)
