"""The mean of a column of numbers, from the weighted rows and from what was asked of the column itself, and its variance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.questions.table import ONE
from dpcov.mechanisms.standardized.columns import PRIOR, TRUSTED, NumericColumn

Floats = NDArray[np.float64]

EXPLAINED = {True: 5.0, False: 3.0}
"""Standard errors of Laplace and of normal noise by which two answers about a mean may differ by noise alone: once in 1200
columns, and in 370."""
OF_FAR_END = 1 / 3
"""Rows that lost weight are taken to be a deviation from the mean of a column, or so much of what the range reaches farther to
one side of it than to the other: it was 0 to 0.7 of that on tables with skewed columns."""


@dataclass(frozen=True)
class ColumnMean:
    """The mean of a column of numbers.

    Attributes
    ----------
    value, error : float
        The mean and its standard error, of which what weights and ranges may have taken is part.
    of_noise : float
        The standard error that noise alone gives it.
    weighted, within : float
        Which part of it is the mean of weighted rows, and which is of cells that count as the ends of a range beyond it.
    """

    value: float
    error: float
    of_noise: float
    weighted: float
    within: float = 1.0


@dataclass(frozen=True, eq=False)
class Means:
    """Means of features and their errors, with what `ColumnMean` says of each, which shares of levels have, too."""

    values: Floats
    errors: Floats
    of_noise: Floats
    parts: tuple[Floats, Floats]
    """Which are of weighted rows, and within ranges."""


def mean_of(
    column: NumericColumn, weighted: tuple[float, float], deviation: float, lost: float, *, laplace: bool = False
) -> ColumnMean:
    """Return the mean of a column, from that of weighted rows with its standard error and what the column was asked itself.

    Small weights of long rows take from the weighted mean, and a range takes from both. Each is counted as an error: by how
    much it may be, or by how much farther the answers are from each other than noise explains: Laplace noise explains more.
    """
    own = _own_error(column)
    apart = abs(column.mean - weighted[0]) - EXPLAINED[laplace] * math.hypot(own, weighted[1])
    taken = max(lost * max(deviation, OF_FAR_END * 2 * _lopsided(column)), apart)
    of_weighted = math.hypot(weighted[1], taken)
    value, error = averaged((weighted[0], of_weighted), (column.mean, own))
    part = best_part(of_weighted, own)
    return _between_bounds(column, ColumnMean(value, error, _of_average(part, weighted[1], own), part))


def asked_apart(columns: Mapping[int, NumericColumn], reach: Floats) -> tuple[Floats, Floats, Floats]:
    """Return means that know no weights, their noise, and which part of them is of cells within a range, by feature.

    Encoded, ``reach`` being one unit of a feature; NaN for features that were not asked apart.
    """
    mean, noise, within = (np.full(len(reach), np.nan) for _ in range(3))
    for feature, column in columns.items():
        if column.asked and not column.constant:
            column = _unbiased(column)
            own = _own_error(column)
            found = _between_bounds(column, ColumnMean(column.mean, own, own, 0.0))
            mean[feature], noise[feature], within[feature] = found.value, found.of_noise, found.within
    return mean * reach, noise * reach, within


def asked_variances(columns: Mapping[int, NumericColumn], reach: Floats) -> tuple[Floats, Floats]:
    """Return variances that were asked apart, without weights and without what is usual weighed in, and their noise.

    Encoded, ``reach`` being one unit of a feature; NaN and infinite for features that were not asked apart.
    """
    variance, noise = np.full(len(reach), np.nan), np.full(len(reach), np.inf)
    for feature, column in columns.items():
        if column.asked and not column.constant and column.variance > 0:
            usual, trust = PRIOR * column.half**2, TRUSTED**2 / (TRUSTED**2 + (column.noise / column.half**2) ** 2)
            variance[feature], noise[feature] = usual + (column.variance - usual) / trust, column.noise
    return variance * reach**2, noise * reach**2


def _unbiased(column: NumericColumn) -> NumericColumn:
    """Return a column whose means were not drawn towards the middles of their ranges, as those of centres are."""
    away = 1 + (column.mean_noise / column.half) ** 2 / TRUSTED
    mean, whole = column.middle + away * (column.mean - column.middle), column.whole
    if whole is not None:
        whole = whole[0] * (1 + whole[1] ** 2 / TRUSTED), whole[1]
    return replace(column, mean=mean, whole=whole)


def _between_bounds(column: NumericColumn, found: ColumnMean) -> ColumnMean:
    """Average the mean within a range with that between the bounds, where both were asked."""
    if column.whole is None:
        return found
    whole = column.whole[0], math.hypot(column.whole[1], 1 / column.bins, 1 / ONE)
    error = math.hypot(found.error, column.outside * _lopsided(column))
    part = best_part(error, whole[1])
    both = averaged((found.value, error), whole)
    return ColumnMean(*both, _of_average(part, found.of_noise, whole[1]), part * found.weighted, part)


def _own_error(column: NumericColumn) -> float:
    return math.hypot(column.mean_noise, 1 / column.bins, column.half / ONE)  # cells count as the middles of bins, in steps


def _lopsided(column: NumericColumn) -> float:
    return abs(column.mean - column.middle)


def averaged(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Return the average of two numbers, each given with its standard error, that has the smallest error; and that error."""
    whole = math.hypot(one[1], other[1])
    if not 0 < whole < math.inf:
        return other
    part = best_part(one[1], other[1])
    return part * one[0] + (1 - part) * other[0], one[1] * (other[1] / whole)


def best_part(one: float, other: float) -> float:
    """Return which part the first of two numbers has in their best average, from their standard errors."""
    whole = math.hypot(one, other)
    return (other / whole) ** 2 if 0 < whole < math.inf else 0.0


def _of_average(part: float, one: float, other: float) -> float:
    """Return the standard error of an average with given parts of two numbers."""
    return math.hypot(part * one, (1 - part) * other) if part > 0 else other
