r"""Correlations from a release's denoised covariance, divided by standard deviations that no noise can shrink too far.

The variance of a level with share p is p(1 − p), and the covariance of two levels l, m of a column is −p_l·p_m, whatever the
rows: a cell has one level at most. Shares are known better than variances, so they serve where there are some. Of a noisy
variance and p(1 − p) the larger one is taken: where p itself is mostly noise, a small divisor would blow the noise up.
docs/synthetic.md compares.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpcov.release.record import Release
from dpcov.schema import Categorical
from dpcov.uses.selection import column_places

Floats = NDArray[np.float64]


def denoised_correlation(release: Release) -> Floats:
    """Return the (d, d) matrix of correlations: symmetric, finite, between −1 and 1, 1 on its diagonal.

    Where nothing of a column's variance was found, its correlations are 0. For a release that is not centred they are cosines
    about 0: of the second moment. Each entry is an estimate of its own, so the matrix need not be positive semidefinite.
    """
    covariance = release.encoded_covariance
    if release.schema is None or not release.center:
        return scaled(covariance, covariance.diagonal())
    low, high = release.schema.bounds()
    shares = np.clip((release.mean - low) / (high - low), 0.0, 1.0)
    used = release.schema.used
    blocks = [block for name, block in column_places(release.schema).items() if isinstance(used[name], Categorical)]
    variances = covariance.diagonal().copy()
    for block in blocks:
        known = shares[block] * (1 - shares[block]) / release.units[block] ** 2
        variances[block] = np.maximum(variances[block], known)
    found = scaled(covariance, variances)
    for block in blocks:
        p = shares[block]
        found[block, block] = scaled(-np.outer(p, p), p * (1 - p))
    return found


def scaled(matrix: Floats, variances: Floats) -> Floats:
    """Return a symmetric matrix, divided by the roots of the variances on both sides, as correlations must be."""
    deviations = np.sqrt(np.maximum(variances, 0.0))
    with np.errstate(all="ignore"):  # quotients may overflow: they end at ±1
        ratio = matrix / np.maximum.outer(deviations, deviations) / np.minimum.outer(deviations, deviations)
    ratio[deviations == 0, :] = 0.0
    ratio[:, deviations == 0] = 0.0
    np.fill_diagonal(ratio, 1.0)
    return np.clip(ratio, -1.0, 1.0)
