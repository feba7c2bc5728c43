"""Pairs of features and how they go together, from a release alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ReleaseError
from dpcov.release import Release
from dpcov.uses.selection import column_of_feature

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Pair:
    """Two features, their correlation, and the standard error that noise gives it: NaN where nobody knows."""

    first: str
    second: str
    value: float
    noise: float


def largest_pairs(release: Release, matrix: Floats, top: int) -> tuple[list[Pair], int]:
    """Return the largest correlations in absolute value between features of different columns, and how many there are."""
    columns = column_of_feature(release.schema, release.feature_names)
    rows, others = np.triu_indices(release.d, 1)
    _, numbers = np.unique(columns, return_inverse=True)
    apart = (numbers[rows] != numbers[others]) & (matrix[rows, others] != 0)
    rows, others = rows[apart], others[apart]
    order = np.argsort(-np.abs(matrix[rows, others]), kind="stable")[:top]
    noise = _noise(release, matrix)
    names = release.feature_names
    pairs = [
        Pair(names[i], names[j], float(matrix[i, j]), float(noise[i, j]))
        for i, j in zip(rows[order], others[order], strict=True)
    ]
    return pairs, int(apart.sum())


def _noise(release: Release, matrix: Floats) -> Floats:
    """Return the standard errors of the covariances, divided by what their estimates were divided by."""
    try:
        errors = release.interval().entries.standard_error
    except ReleaseError:
        return np.full(matrix.shape, np.nan)
    with np.errstate(all="ignore"):
        noise = errors * np.abs(matrix / release.covariance)
    return np.where(np.isfinite(noise), noise, np.nan)
