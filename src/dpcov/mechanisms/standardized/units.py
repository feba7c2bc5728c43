r"""The units in which rows are measured: z = (x − centre)/deviation, and a table of vectors for the levels of each column.

A variance within a range that is not much larger than its noise is weighed against what columns have within their ranges: too
small a deviation fills the row with one column, too large a one hides the column in the noise. Between the bounds a variance is
at least as large as its noise. A level of share p has the deviation
√(p(1 − p)); as a divisor it is at least √0.1, so that rare levels do not make rows long.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.rows.columns import Columns
from dpcov.kernel.rows.standard import LEAST, LevelUnits, NumericUnits, Units
from dpcov.mechanisms.standardized.columns import PRIOR, LevelColumn, NumericColumn

Floats = NDArray[np.float64]

LEAST_SPREAD = 0.1  # of p(1 − p), as a divisor: .05 to .25 are within 5 % over all pairs (docs/mechanisms/standardized.md)
ABOUT = 1.0  # a factor e either way: the deviation of the logarithm of variances about `usual_variance`
SURE = 0.05  # noise of a variance, in parts of it, below which there is nothing to weigh
RATIOS = np.geomspace(1e-5, 1.0, 461)  # variances that are weighed


def units_of(columns: Columns, numeric: Sequence[NumericColumn], levels: Sequence[LevelColumn]) -> Units | None:
    """Return the units of each column, in encoded values; None where every column is constant."""
    numbers = tuple(_numeric_units(one, reach) for one, (_, reach) in zip(numeric, columns.numeric, strict=True))
    groups = tuple(_level_units(one) for one in levels)
    if not any(one.deviation > 0 for one in numbers) and not any(one.size for one in groups):
        return None
    return Units(columns, numbers, groups)


def _numeric_units(column: NumericColumn, reach: float) -> NumericUnits:
    low, high = column.middle - column.half, column.middle + column.half
    centre = min(max(column.mean, low), high)
    deviation = 0.0 if column.constant else max(math.sqrt(likely_variance(column)) * reach, LEAST)
    return NumericUnits(low * reach, high * reach, centre * reach, deviation)


def usual_variance(column: NumericColumn) -> float:
    """Return the variance that a normal column has within its range, of which some share is outside the interval in its middle.

    With z the normal quantile of that share the interval is 2z deviations wide, or up to twice that, and the range twice as
    wide as it: between 1/(4z²) and 1/(16z²) of the square of half the range. A uniform column has more, one of a few rare
    values less.
    """
    z = NormalDist().inv_cdf(min(1 - column.outside / 2, 1 - 2**-53))  # below 1, also of the enormous n of a forged file
    return min(1 / (8 * z**2), PRIOR) * column.half**2 if z > 0 else PRIOR * column.half**2


def likely_variance(column: NumericColumn) -> float:
    """Return the variance s² by which a column is measured, of a true one v that is known up to noise.

    Noise on its correlations grows with s²/v, and as rows grow with v/s² so does that on all others: s² = √(E v/E(1/v)) is the
    best, the mean being over what v may be given the answer. Noise is taken to be Laplace's, the longer tails of the two.
    """
    whole = column.half**2
    if column.whole is None:  # bounds may be as wide as they like: nothing is known but that noise must not fill the row
        return max(column.variance, min(column.noise, PRIOR * whole))
    if column.asked and column.noise <= SURE * column.variance:
        return column.variance
    weights = np.exp(-0.5 * (np.log(RATIOS * whole / usual_variance(column)) / ABOUT) ** 2)
    if column.asked:
        far = math.sqrt(2) * np.abs(RATIOS - column.variance / whole) * (whole / column.noise)
        weights *= np.exp(far.min() - far)
    return whole * math.sqrt(float(weights @ RATIOS) / float(weights @ (1 / RATIOS)))


def _level_units(column: LevelColumn) -> LevelUnits:
    shares = column.shares / column.shares.sum()
    divisors = np.sqrt(np.maximum(shares * (1 - shares), LEAST_SPREAD))
    return LevelUnits(tuple(column.groups.tolist()), tuple(shares.tolist()), tuple(divisors.tolist()))


def expected_square(units: Units) -> float:
    """Return the mean of ‖z‖² for rows that have these deviations and shares."""
    total = float(sum(one.deviation > 0 for one in units.numeric))
    for one in units.levels:
        shares = np.array(one.shares)
        if one.size:
            total += one.stretch**2 * float((shares * (1 - shares) / np.array(one.divisors) ** 2).sum())
    return total


@dataclass(frozen=True, eq=False)
class Lift:
    """The way back from z to features: numbers between −1 and 1 at their bounds, levels as 0 or 1.

    Attributes
    ----------
    matrix : array of shape (features, coordinates)
        A feature's difference from ``centre`` is its row times z.
    forward : array of shape (features, coordinates)
        The coordinates of one unit of a feature.
    centre : array
        The feature where z is 0.
    owner : array
        The column of each coordinate, and ``column`` of each feature, in the order of the schema.
    """

    matrix: Floats
    forward: Floats
    centre: Floats
    owner: NDArray[np.intp]
    column: NDArray[np.intp]
    is_level: NDArray[np.bool_]
    reach: Floats


def lift_of(units: Units, levels: Sequence[LevelColumn], d: int) -> Lift:
    """Return the way back from the units of columns to d features."""
    columns = units.columns
    lift = Lift(
        np.zeros((d, units.size)),
        np.zeros((d, units.size)),
        np.zeros(d),
        np.zeros(units.size, dtype=np.intp),
        np.zeros(d, dtype=np.intp),
        np.zeros(d, dtype=np.bool_),
        np.ones(d),
    )
    place = 0
    for (number, reach), one in zip(columns.numeric, units.numeric, strict=True):
        feature = columns.features[number]
        lift.column[feature], lift.reach[feature] = number, reach
        lift.centre[feature] = one.centre / reach
        if one.deviation > 0:
            lift.matrix[feature, place], lift.owner[place] = one.deviation / reach, number
            lift.forward[feature, place] = reach / one.deviation
            place += 1
    for (number, _), table, column in zip(columns.levels, units.levels, levels, strict=True):
        features, own = columns.own(number), slice(place, place + table.size)
        lift.column[features], lift.is_level[features], lift.owner[own] = number, True, number
        lift.centre[features] = column.parts * np.array(table.shares)[column.groups]
        lift.matrix[features, own] = column.parts[:, None] * table.back[column.groups]
        lift.forward[features, own] = table.vectors[:-1]
        place += table.size
    return lift


def share_covariance(levels: LevelUnits, shares: Floats) -> Floats:
    """Return the covariance of the coordinates of levels with these shares: those of diag(p) − ppᵀ."""
    p = np.bincount(levels.groups, shares)
    if len(levels.shares) > len(p):
        p = np.append(p, max(1 - float(p.sum()), 0.0))
    p = p / p.sum()
    inward = levels.stretch * levels.basis / np.array(levels.divisors)[:, None]
    return np.asarray(inward.T @ (np.diag(p) - np.outer(p, p)) @ inward)


def with_variances(covariance: Floats, variances: Floats) -> Floats:
    """Return a covariance with other variances, and the same correlations."""
    own = covariance.diagonal()
    factors = np.sqrt(np.divide(variances, own, out=np.ones(len(own)), where=own > 0))
    return np.asarray(covariance * np.outer(factors, factors))
