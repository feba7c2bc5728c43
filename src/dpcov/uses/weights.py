r"""What private clipping took from a table in private units, found on drawn rows: a parametric bootstrap.

*Weights.* Rows x count with weights w = min(1, R²/(a² + ‖x‖²)): long ones less, so that variances come out too small, by a
tenth where there are 500 rows. How much depends on what rows are like, so `drawn_rows` draws some. Variances that are what was
measured and what drawn rows of these variances lose are found by Newton's steps; an error of what was measured grows by
(1 − D)⁻¹, that of a mean by J⁻¹, and that of a correlation by the inverse of its slope.

Other rows lose more or less, in about the measure in which their mean weight differs, which is released: what was found is
multiplied with (1 − released mean weight)/(1 − that of drawn rows), as far as the noise of the first allows.

*Ranges.* Cells beyond a privately chosen range count as its end. The law with the public bounds whose cut mean and variance are
those that were measured is found by steps, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpcov.release.estimate import PrivateUnits
from dpcov.release.record import Release
from dpcov.uses.drawn_rows import LONG, STEEPEST, DrawnRows, quantiles
from dpcov.uses.sampling import NEAR

Floats = NDArray[np.float64]

STEPS, MORE = 3, 2  # of Newton, for rows as they are drawn, and with what is known of how they differ
UNLIKE = 0.05, 0.15  # standard deviation, over laws of rows, of what is lost over what drawn rows lose: without room for longer
# tails, and where the farther public bound is `LONG` deviations away
MOST = 2.0  # times what they lose
FARTHEST = (0.25, 4.0)  # times a measured variance: what it may have been
EXPLAINED = 4.0  # standard errors by which two answers about a variance may differ by noise alone
CUTS = 3  # steps in which what a range cut off is found
MOST_CUT = 3.0  # times a variance within a range: what it may be without
UNLIKE_CUT = 0.5  # of what a range cut off: its standard error, as tails are the least known of a law
NARROWER = 1e-3  # of the public bounds: a range that is one
FINE = np.linspace(-6.0, 6.0, 241)
CHANCES = np.exp(-(FINE**2) / 2) / np.exp(-(FINE**2) / 2).sum()  # that a normal number is near each of these


@dataclass(frozen=True, eq=False)
class LostByWeights:
    """What weights took from a covariance of encoded features, and what giving it back does to errors.

    Attributes
    ----------
    covariance : array
        What is missing of a weighted covariance, Σ wxxᵀ/Σ w about the weighted mean: for correlations, in which a factor
        cancels.
    variance, variance_error : array
        The variances of features with what was missing, averaged with those that were asked apart, and the standard errors of
        noise and of what was missing.
    mean : array
        What is missing of a weighted mean.
    uncertain : float
        The standard error of what is missing, in parts of itself.
    on_means : array of shape (features, features)
        What an error of each weighted mean does to what it is with what was missing.
    on_correlations : array
        By how much the error of a weighted correlation grows.
    drawn_means, drawn_variances : array
        The variance over draws of rows, in parts of that without weights.
    drawn_correlations : array
        The same in parts of (1 − r²)²/n, as which it is for normal columns without weights.
    rows, weights : array
        Drawn coordinates, and their weights.
    """

    covariance: Floats
    variance: Floats
    variance_error: Floats
    mean: Floats
    uncertain: float
    on_means: Floats
    on_correlations: Floats
    drawn_means: Floats
    drawn_variances: Floats
    drawn_correlations: Floats
    rows: Floats
    weights: Floats


@lru_cache(maxsize=4)
def lost_by_weights(units: PrivateUnits) -> LostByWeights:
    """Return what weights took from rows like these, corrected by how many rows are long."""
    back, weighing = units.back, units.weighing
    features, draw = len(back), DrawnRows.of(units)
    places = np.array([int(np.flatnonzero(units.column == units.owner[k])[0]) for k in draw.numbers], dtype=np.intp)
    one, inside = np.eye(len(places)), np.ix_(places, places)
    own = back[places, draw.numbers] ** 2
    with np.errstate(all="ignore"):
        # what the noise of the mean took off is given back, too
        measured = weighing.weight * (units.raw.diagonal()[places] / own + units.mean_variance / units.seen[places] ** 2)
        least, most = (factor * units.divisor[places] / own for factor in FARTHEST)
    variances, missing = np.clip(measured, least, most), np.zeros_like(one)
    weighted, slopes, (ratio, uncertain) = draw.weighted(units, variances, missing), missing, (1.0, 0.0)
    for step in range(STEPS + MORE if len(places) else 0):
        if step == STEPS:  # not before: it would go back and forth with what it is made of
            ratio, uncertain = _like(units, weighted.weight, _unlike(units, places))
        slopes = ratio * weighted.slopes(variances, draw.numbers)
        slopes = slopes * np.minimum(1.0, STEEPEST / np.maximum(slopes.sum(axis=1, keepdims=True), STEEPEST))
        left = measured + ratio * weighted.whole[draw.numbers] - variances
        variances = np.clip(variances + np.linalg.solve(one - slopes, left), least, most)
        missing = ratio * weighted.lost_correlation(draw.numbers)
        weighted = draw.weighted(units, variances, missing)
    mean, on_means = np.zeros(features), np.eye(features)
    variance, error = units.deviation**2, units.reported_noise.copy()
    drawn_means, drawn_variances = np.ones(features), np.ones(features)
    on_correlations, drawn_correlations = (np.ones((features, features)) for _ in range(2))
    if len(places):
        scale, inverse = np.sqrt(own), weighted.inverse[draw.numbers]
        mean[places] = -ratio * scale * (inverse @ weighted.about)
        on_means[inside] = inverse[:, draw.numbers] * np.divide.outer(scale, scale)
        drawn_means[places] = weighted.drawn_means(draw.numbers, weighing.averaged[places])
        grown = np.asarray(np.linalg.inv(one - slopes), dtype=np.float64)
        off_centre = 1 + (units.mean[draw.numbers] / weighing.corner) ** 2
        noise = math.sqrt(2 * weighing.noise) * off_centre / units.seen[places]
        found, error[places], part = _averaged(
            (variances, np.sqrt(grown**2 @ noise**2 + (uncertain * ratio * (grown @ weighted.whole[draw.numbers])) ** 2)),
            (weighing.variance[places] / own, weighing.variance_noise[places] / own),
        )
        variance[places], error[places] = found * own, error[places] * own
        drawn_variances[places] = weighted.drawn_variances(draw.numbers, part, grown)
        on_correlations[inside], drawn_correlations[inside] = weighted.correlations(draw.numbers, draw.scores(missing))
    return LostByWeights(
        ratio * (back @ weighted.lost @ back.T),
        variance,
        error,
        mean,
        uncertain,
        on_means,
        on_correlations,
        drawn_means,
        drawn_variances,
        drawn_correlations,
        weighted.rows,
        weighted.weights,
    )


def _averaged(one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> tuple[Floats, Floats, Floats]:
    """Return the best average of numbers that are given with their errors, its error, and the part of the first ones.

    By how much farther they are from each other than errors explain is an error, too.
    """
    known = np.isfinite(other[1]) & np.isfinite(other[0])
    second, noise = np.where(known, other[0], one[0]), np.where(known, other[1], 1.0)
    part = np.where(known, noise**2 / (noise**2 + one[1] ** 2), 1.0)
    apart = np.maximum(np.abs(one[0] - second) - EXPLAINED * np.hypot(one[1], noise), 0.0)
    error = np.hypot(part * one[1], (1 - part) * noise)
    return part * one[0] + (1 - part) * second, np.hypot(error, apart), part


def _unlike(units: PrivateUnits, places: NDArray[np.intp]) -> float:
    """Return the standard deviation of what is lost over what drawn rows lose: public bounds leave room for longer tails."""
    with np.errstate(all="ignore"):
        mean = units.centre[places] + units.back[places] @ units.mean
        away = (units.reach[places] + np.abs(mean)) / np.sqrt(units.divisor[places])
    room = np.clip((np.nan_to_num(away, nan=LONG) - NEAR) / (LONG - NEAR), 0.0, 1.0)
    return UNLIKE[0] + (UNLIKE[1] - UNLIKE[0]) * float(room.mean())


def _like(units: PrivateUnits, weight: float, unlike: float) -> tuple[float, float]:
    """Return by how much more the real rows lose than drawn ones of this mean weight, and the standard error of that."""
    if weight >= 1:
        return 1.0, 0.0
    prior = unlike * (1 - weight)
    known = prior**2 / (prior**2 + units.weight_error**2)
    ratio = 1 + known * ((1 - units.weighing.weight) / (1 - weight) - 1)
    return min(max(ratio, 0.0), MOST), unlike * math.sqrt(1 - known)


@dataclass(frozen=True, eq=False)
class CutByRanges:
    """What privately chosen ranges cut off means and variances of encoded features.

    Attributes
    ----------
    mean, variance : array
        What is to be added.
    mean_error, variance_error : array
        Its standard errors.
    """

    mean: Floats
    variance: Floats
    mean_error: Floats
    variance_error: Floats


def cut_by_ranges(release: Release, units: PrivateUnits) -> CutByRanges:
    """Return what ranges that are narrower than the public bounds cut off, were columns normal, or beta near their bounds."""
    mean, variance = np.zeros(release.d), np.zeros(release.d)
    if release.schema is not None:
        low, high = ((bound - release.offsets) / release.units for bound in release.schema.bounds())
        means = (release.mean - release.offsets) / release.units
        for j in np.flatnonzero((units.low > low + NARROWER * (high - low)) | (units.high < high - NARROWER * (high - low))):
            first, second = float(means[j]), float(units.deviation[j]) ** 2
            middle, square = first, second
            for _ in range(CUTS):
                cells = quantiles(low[j], high[j], middle, square, FINE)
                cut = np.clip(cells, units.low[j], units.high[j])
                about, within = float(CHANCES @ cells), float(CHANCES @ cut)
                spread = float(CHANCES @ (cut - within) ** 2)
                if not spread > 0:
                    break
                middle = first + about - within
                square = second * min(float(CHANCES @ (cells - about) ** 2) / spread, MOST_CUT)
            mean[j], variance[j] = middle - first, square - second
    return CutByRanges(mean, variance, UNLIKE_CUT * np.abs(mean), UNLIKE_CUT * variance)
