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

from dpcov.kernel.noise.matrix import WishartDifference
from dpcov.release.estimate import PrivateUnits
from dpcov.spectra import WISHART_EDGE
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


def _tails(units: PrivateUnits, level: float) -> float:
    return float(quantile(np.array(peaks(units.law, len(units.owner) + 1)[0]), level))
