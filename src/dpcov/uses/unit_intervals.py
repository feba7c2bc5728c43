r"""Intervals for a table that was measured in private units: noise is isotropic between the coordinates z, and known there.

An entry of the covariance has the variance that `PrivateUnits` tells, and the relative error of the sum of weights on top. Sums
of entries of the noise are taken to have the tails of one on its diagonal; means, which may be averages with noise of longer
tails, those of Laplace noise. Eigenvalues are as far from the raw ones as the operator norm of the noise allows.

Regressions are between orthonormal combinations of z: noise stays isotropic there, so their intervals are those of any noisy
second moment, at the penalty on coefficients of z, and lead back to features by a linear map.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.noise.matrix import WishartDifference
from dpcov.release.estimate import PrivateUnits
from dpcov.spectra import WISHART_EDGE
from dpcov.uses.private_units import UnitSystem
from dpcov.uses.raw import RawMoment
from dpcov.uses.tails import peaks, quantile

if TYPE_CHECKING:
    from dpcov.release.record import Release

Floats = NDArray[np.float64]
Parts = tuple[Floats, Floats, Floats]
"""Estimates, half widths and standard errors, of encoded features."""

LAPLACE_TAILS = 1.0  # 1/k of Laplace noise
ABOUT = (
    "the rows within their released ranges, each with its weight; over the noise; not over which rows were drawn, nor what "
    "ranges and weights took"
)


def unit_entries(units: PrivateUnits, level: float) -> Parts:
    """For each entry of the covariance."""
    error = np.hypot(np.sqrt(units.noise), units.weight_error * units.raw)
    return units.raw, _tails(units, level) * error, error


def unit_means(release: Release, units: PrivateUnits, level: float) -> Parts:
    """For each entry of the mean."""
    mean = (release.mean - release.offsets) / release.units
    return mean, float(quantile(np.array(LAPLACE_TAILS), level)) * units.mean_error, units.mean_error


def unit_eigenvalues(units: PrivateUnits, level: float) -> Parts:
    """For each eigenvalue of the covariance, the largest first: Weyl's inequality."""
    values = np.linalg.eigvalsh(units.raw)[::-1]
    edge = (WISHART_EDGE / math.sqrt(2) if isinstance(units.law, WishartDifference) else 2.0) * math.sqrt(len(units.owner) + 1)
    stretch = float(np.linalg.norm(units.back / units.coordinate_seen, 2)) ** 2
    half, error = (stretch * math.sqrt(units.variance) * (edge + reach * math.sqrt(2)) for reach in (_tails(units, level), 1.0))
    return np.asarray(values, dtype=np.float64), np.full(len(values), half), np.full(len(values), error)


def unit_raw(units: PrivateUnits, system: UnitSystem) -> RawMoment:
    """Return the raw second moment of the predictors and the target of a regression, and the mean, between coordinates.

    Cells that are missing stretch the noise of their columns; all are taken to be stretched as the most.
    """
    rows = system.rows / units.coordinate_seen
    within = units.owner[:, None] == units.owner
    raw = units.raw_covariance * np.where(within, units.coordinate_seen, 1.0)
    mean = rows @ units.mean
    least = float(units.coordinate_seen[(system.rows != 0).any(axis=0)].min(initial=1.0))
    off, along = units.variance / least**4, units.mean_variance / least**2
    covariance = rows @ raw @ rows.T
    width = len(units.owner) + 1
    peaked = peaks(units.law, width)[0]
    return RawMoment(
        covariance + np.outer(mean, mean),
        mean,
        2 * off,
        off,
        along,
        units.weight_error,
        units.weight_error,
        peaked,
        0.0,
        units.law,
        width,
    )


def unit_wanted(release: Release, units: PrivateUnits, system: UnitSystem, places: Sequence[int]) -> Floats:
    """Return what encoded coefficients, and at last the intercept less the target's centre, are of (b, u): a row each.

    y = centre + size·(b + u·Lᵀ(x − centreₓ)), L the map from u to coefficients of features; the intercept is where features
    are 0 in the data's units.
    """
    chosen = list(places)
    forward = system.size * system.forward
    coefficients = np.hstack([np.zeros((len(chosen), 1)), forward])
    zero = -release.offsets[chosen] / release.units[chosen] - units.centre[chosen]
    intercept = np.concatenate([[system.size], zero @ forward])
    return np.vstack([coefficients, intercept])


def _tails(units: PrivateUnits, level: float) -> float:
    return float(quantile(np.array(peaks(units.law, len(units.owner) + 1)[0]), level))
