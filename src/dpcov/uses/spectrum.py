"""Eigenvalues of what a release says of its columns, with their standard errors and where noise alone would put them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcov.release.record import Release
from dpcov.uses.description import CLEAR, Description, around_raw, entries_of, of_draw
from dpcov.uses.held import is_centered
from dpcov.uses.sampling import POPULATION, ROWS, rows_seen

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Eigenvalues, and where noise alone would put them.

    Attributes
    ----------
    values, errors : array
        The eigenvalues, the largest first, and their standard errors, about what those of the description are.
    clear : array of bool
        Which of them are too large for noise.
    about, edge : float
        Noise alone would put them within ``edge`` of ``about``; NaN where the release does not tell how large its noise is.
    features : int
        How many features they are of: those whose deviation is clear of noise.
    """

    values: Floats
    errors: Floats
    clear: Flags
    about: float
    edge: float
    features: int


def spectrum(release: Release, found: Description) -> Spectrum:
    """Return the eigenvalues of the correlations; of an uncentred second moment, whose columns share a unit, its own.

    Noise with standard errors s moves eigenvalues by about 2·max √Σ sᵢⱼ², and the one along v by 3 standard errors at most.
    Only those that are too large for noise are called clear: a small one may be 0, or the estimate not positive semidefinite.

    About the population 1/√n counts beside s, as the eigenvalues of independent columns are not 1 in any n rows; and the one
    along v, λ, has the variance of tr(A·δS) for A = vvᵀ − λ·diag(v²) and normal rows, (2/n)·tr(ARAR) (Girshick 1939).
    """
    assert found.deviation is not None
    assert found.correlation is not None
    people, correlated = found.about == POPULATION, is_centered(release) or release.schema is not None
    if correlated:
        known = np.flatnonzero(found.deviation.clear)
        matrix, about = found.correlation.values[np.ix_(known, known)], 1.0
        noise = release.describe(ROWS).correlation
        assert noise is not None
        errors = noise.standard_error[np.ix_(known, known)]
    else:
        known, about = np.arange(release.d), 0.0
        matrix, errors = release.covariance, entries_of(release, around_raw(release)).standard_error
    if len(known) == 0:
        edge = 0.0 if found.deviation.known else math.nan
        return Spectrum(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.bool_), about, edge, 0)
    size = max(float(np.abs(matrix).max()), np.finfo(np.float64).tiny)
    with np.errstate(all="ignore"):  # extreme units
        values, vectors = np.linalg.eigh(matrix / size)
        squares, parts = (errors / size) ** 2, vectors**2
        own = np.sqrt(2 * np.einsum("ik,ij,jk->k", parts, squares, parts, optimize=True))
        if people and correlated:
            n = float(rows_seen(release)[known].min())
            squares = squares + of_draw(release)[np.ix_(known, known)] ** 2 / size**2
            np.fill_diagonal(squares, 0.0)
            inner = np.einsum("ik,ij,jk->k", parts, matrix**2, parts, optimize=True)
            drawn = values**2 * (1 - 2 * values * size * (parts**2).sum(axis=0) + inner)
            own = np.hypot(own, np.sqrt(2 / n * np.maximum(drawn, 0.0)))
        elif people:
            own = np.hypot(own, np.abs(values) * math.sqrt(2 / release.independent_n))
        edge = 2 * math.sqrt(float(squares.sum(axis=1).max()))
        clear = values - about / size > np.maximum(edge, CLEAR * own)
    return Spectrum(values[::-1] * size, own[::-1] * size, clear[::-1], about, edge * size, len(known))
