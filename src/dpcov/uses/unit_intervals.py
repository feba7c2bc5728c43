r"""Intervals for a table that was measured in private units: noise is isotropic between the coordinates z, and known there.

An entry of the covariance has the variance that `PrivateUnits` tells, and the relative error of the sum of weights on top. Sums
of entries of the noise are taken to have the tails of one on its diagonal; means, which may be averages with noise of longer
tails, those of Laplace noise. Eigenvalues are as far from the raw ones as the operator norm of the noise allows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcov.release.estimate import PrivateUnits
from dpcov.uses.sampling import skewness
from dpcov.uses.tails import peaks, quantile, widest

if TYPE_CHECKING:
    from dpcov.release.record import Release
    from dpcov.uses.weights import CutByRanges, LostByWeights

Floats = NDArray[np.float64]
Parts = tuple[Floats, Floats, Floats]
"""Estimates, half widths and standard errors, of encoded features."""

SKEWED = 0.25  # skewness of a beta law from which on weights are taken to move a mean
LAPLACE_TAILS = 1.0  # 1/k of Laplace noise
ABOUT = (
    "the rows within their released ranges, each with its weight; over the noise; not over which rows were drawn, nor what "
    "ranges and weights took"
)


def unit_entries(units: PrivateUnits, level: float, sampling: Floats | float = 0.0) -> Parts:
    """For each entry of the covariance."""
    error = np.hypot(np.sqrt(units.noise), units.weight_error * units.raw)
    return units.raw, *with_sampling(error, peaks(units.law, len(units.owner) + 1)[0], sampling, level)


def unit_means(
    release: Release,
    units: PrivateUnits,
    level: float,
    taken: tuple[LostByWeights, CutByRanges] | None = None,
    sampling: Floats | float = 0.0,
) -> Parts:
    """For each entry of the mean; about the population, what weights and ranges took is given back."""
    mean = units.raw_mean
    if taken is None:
        return mean, *with_sampling(units.mean_error, LAPLACE_TAILS, sampling, level)
    lost, cut = taken
    weighing = units.weighing
    back = weighing.averaged * lost.mean
    noise = np.sqrt(_with_what_was_missing(units, lost) + (lost.uncertain * back) ** 2)
    with np.errstate(all="ignore"):  # long rows are on one side of a skewed column: what was asked without weights is safer
        apart = (np.abs(skewness(release, (units.deviation * release.units) ** 2)) > SKEWED) & np.isfinite(weighing.apart)
    within = np.where(apart, weighing.apart_within, weighing.within)  # ranges took nothing of what was asked between the bounds
    middle = np.where(apart, weighing.apart, mean + back) + within * cut.mean
    noise = np.hypot(np.where(apart, weighing.apart_noise, noise), within * cut.mean_error)
    drawn = sampling * np.where(apart, 1.0, lost.drawn_means)
    return middle, *with_sampling(noise, number_tails(units), drawn, level)


def _with_what_was_missing(units: PrivateUnits, lost: LostByWeights) -> Floats:
    """Return the variance of the noise of means to which what weights took was given back."""
    of_weighted = units.mean_variance * np.einsum("ij,ij->i", units.back, units.back) / units.seen**2
    more = lost.on_means**2 @ of_weighted - of_weighted
    return np.asarray(units.mean_noise**2 + units.weighing.averaged**2 * np.maximum(more, 0.0))


def number_tails(units: PrivateUnits) -> float:
    """Return 1/k of the noise on answers about single columns: normal where that of the matrix is, else Laplace's."""
    return LAPLACE_TAILS if peaks(units.law, 1)[0] > 0 else 0.0


def with_sampling(noise: Floats, peaked: float, sampling: Floats | float, level: float) -> tuple[Floats, Floats]:
    """Return half widths and standard errors of noise with these tails and a normal error of variance ``sampling``."""
    with np.errstate(all="ignore"):
        total = noise**2 + sampling
        share = np.where(total > 0, noise**2 / total, 1.0)
        factor = quantile(np.nan_to_num(share, nan=1.0) ** 2 * peaked, level)
        error = np.sqrt(total)
        return factor * error, error


def unit_eigenvalues(units: PrivateUnits, level: float) -> Parts:
    """For each eigenvalue of the covariance, the largest first: Weyl's inequality."""
    values = np.linalg.eigvalsh(units.raw)[::-1]
    edge = widest(units.law) * math.sqrt(len(units.owner) + 1)
    stretch = float(np.linalg.norm(units.back / units.coordinate_seen, 2)) ** 2
    half, error = (stretch * math.sqrt(units.variance) * (edge + reach * math.sqrt(2)) for reach in (_tails(units, level), 1.0))
    return np.asarray(values, dtype=np.float64), np.full(len(values), half), np.full(len(values), error)


def _tails(units: PrivateUnits, level: float) -> float:
    return float(quantile(np.array(peaks(units.law, len(units.owner) + 1)[0]), level))
