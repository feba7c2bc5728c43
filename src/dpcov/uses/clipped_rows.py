r"""What clipping at a privately chosen radius took from a centred release, found on drawn rows: a parametric bootstrap.

Rows x, in units of the radius, were measured as cx with c = min(1, 1/‖x‖), so that means and variances come out too small: by a
tenth where there are 500 rows at ε = 1. How much depends on what rows are like, so some are drawn: numbers by a normal copula
with the margins of `drawn_rows`, levels by their shares. Means μ and variances v of numbers whose clipped moments are the
measured ones are found by steps. What is measured moves with them by

.. math:: J_{jk} = δ_{jk}·E[c] - E[x_j x_k·c/‖x‖^2; \text{ long rows}], \qquad K = d(E[c^2 x_j^2] - E[c x_j]^2)/dv_k,

so that errors grow by J⁻¹ and K⁻¹. No more rows may be long than the choice of the radius leaves: drawn rows are shortened
until that is so. Where that may be most of the rows their scale is not known, and nothing is found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from dpcov.release.record import Release
from dpcov.uses.clipping import clipped_share, most_lost
from dpcov.uses.drawn_rows import SCORES, STEEPEST, correlated, independent_normals, quantiles
from dpcov.uses.raw import raw_moment
from dpcov.uses.sampling import levels_of
from dpcov.uses.selection import column_places

Floats = NDArray[np.float64]

STEPS = 6  # in which means and variances are found
MOST_LONG = 0.5  # share of the rows that may be longer than the radius: beyond it their scale is not known
UNLIKE = 0.3  # standard deviation, over laws of rows, of what is lost over what drawn rows lose
FARTHEST = 4.0  # times a measured variance: what it may have been


@dataclass(frozen=True, eq=False)
class LostByClipping:
    """What clipping took from means and covariances of features, in units of the radius, and what becomes of their errors.

    Attributes
    ----------
    mean, covariance : array
        What is to be added.
    on_means, on_entries : array
        What the variance of their noise is to be multiplied with.
    drawn_means, drawn_entries : array
        The same for their variance over draws of rows.
    uncertain : float
        The standard error of what is to be added, in parts of itself.
    """

    mean: Floats
    covariance: Floats
    on_means: Floats
    on_entries: Floats
    drawn_means: Floats
    drawn_entries: Floats
    uncertain: float = UNLIKE


@lru_cache(maxsize=4)
def lost_by_clipping(release: Release) -> LostByClipping | None:
    """Return what a private radius took from rows like these; None where it took nothing, or most of the rows may be long."""
    share = clipped_share(release)
    if not release.encoding.constant or most_lost(release) == 0 or share > MOST_LONG:
        return None
    raw, numbers = raw_moment(release), ~levels_of(release)
    with np.errstate(all="ignore"):
        measured = np.nan_to_num(raw.covariance)
        np.fill_diagonal(measured, np.maximum(measured.diagonal() + raw.along, math.sqrt(raw.diagonal)))
        own, draw = measured.diagonal()[numbers], _Draw.of(release, numbers)
        mean, covariance = raw.mean.copy(), measured.copy()
        found = _Clipped.of(draw.rows(mean, covariance), share, numbers)
        for _ in range(STEPS):
            mean = mean + np.linalg.solve(found.moved, raw.mean - found.mean)
            step = np.linalg.solve(found.kept, own - found.covariance.diagonal()[numbers])
            variances = np.clip(covariance.diagonal()[numbers] + step, own / FARTHEST, own * FARTHEST)
            covariance = measured + found.lost_covariance
            covariance[numbers, numbers] = variances  # of the diagonal
            found = _Clipped.of(draw.rows(mean, covariance), share, numbers)
        return found.lost()


@dataclass(frozen=True, eq=False)
class _Draw:
    """Normal numbers of which rows are made: correlated ones for numbers, and one for each column of levels."""

    normals: Floats
    places: list[slice]
    numbers: NDArray[np.bool_]
    low: Floats
    high: Floats

    @classmethod
    def of(cls, release: Release, numbers: NDArray[np.bool_]) -> _Draw:
        normals = independent_normals(release.d)
        if release.schema is None:
            return cls(normals, [], numbers, np.full(release.d, -math.inf), np.full(release.d, math.inf))
        units = release.units * release.clip_radius
        low, high = ((bound - release.offsets) / units for bound in release.schema.bounds())
        places = [place for place in column_places(release.schema).values() if not numbers[place].any()]
        return cls(normals, places, numbers, low, high)

    def rows(self, mean: Floats, covariance: Floats) -> Floats:
        """Return rows with these means and, of numbers, covariances."""
        from scipy.special import ndtr

        found, numbers, variances = np.empty_like(self.normals), np.flatnonzero(self.numbers), covariance.diagonal()
        roots = np.sqrt(variances[numbers])
        between = np.clip(covariance[np.ix_(numbers, numbers)] / np.outer(roots, roots), -1.0, 1.0)
        between[np.diag_indices(len(numbers))] = 1.0
        normals = correlated(self.normals[:, numbers], np.nan_to_num(between))[0]
        for j, own in zip(numbers.tolist(), normals.T, strict=True):
            table = quantiles(float(self.low[j]), float(self.high[j]), float(mean[j]), float(variances[j]), SCORES)
            found[:, j] = np.interp(own, SCORES, table)
        for place in self.places:
            low, one = self.low[place], self.high[place] - self.low[place]
            shares = np.maximum((mean[place] - low) / one, 0.0)
            shares = shares / max(float(shares.sum()), 1.0)  # cells may be none of the levels
            chosen = np.searchsorted(np.cumsum(shares), ndtr(self.normals[:, place.start]), side="right")
            found[:, place] = low + one * (chosen[:, None] == np.arange(len(shares)))
        return found


@dataclass(frozen=True, eq=False)
class _Clipped:
    """Drawn rows x, which were clipped at norm 1."""

    rows: Floats
    factor: Floats
    """c, by which each row was shortened."""
    long: Floats
    """1/‖x‖² of long rows; 0 of others."""
    numbers: NDArray[np.bool_]

    @classmethod
    def of(cls, rows: Floats, share: float, numbers: NDArray[np.bool_]) -> _Clipped:
        """Return rows that are shortened together until no more than a share of them is long."""
        rows = rows / max(float(np.quantile(np.linalg.norm(rows, axis=1), 1 - share)), 1.0)
        squares = np.sum(rows**2, axis=1)
        long = squares > 1
        return cls(rows, np.where(long, 1 / np.sqrt(squares), 1.0), np.where(long, 1 / squares, 0.0), numbers)

    @cached_property
    def mean(self) -> Floats:
        """Of clipped rows."""
        return np.asarray(self.factor @ self.rows / len(self.rows))

    @property
    def lost_mean(self) -> Floats:
        return np.asarray(self.rows.mean(axis=0) - self.mean)

    @cached_property
    def covariance(self) -> Floats:
        """Of clipped rows."""
        away = self.rows * self.factor[:, None] - self.mean
        return np.asarray(away.T @ away / len(away))

    @property
    def lost_covariance(self) -> Floats:
        away = self.rows - self.rows.mean(axis=0)
        return np.asarray(away.T @ away / len(away) - self.covariance)

    @property
    def kept(self) -> Floats:
        """K, of numbers; no steeper than what is known of rows that are all long."""
        x, mean, c, long = self.rows[:, self.numbers], self.mean[self.numbers], self.factor, self.long
        away = x - x.mean(axis=0)
        found = ((mean * x * (c * long)[:, None] - x**2 * (c**2 * long)[:, None]).T) @ (x * away)
        found[np.diag_indices(len(mean))] += np.sum(away * (c[:, None] ** 2 * x - c[:, None] * mean), axis=0)
        one = np.eye(len(mean))
        lost = one - found / np.sum(away**2, axis=0)
        steep = np.maximum(np.abs(lost).sum(axis=1, keepdims=True), STEEPEST)
        return np.asarray(one - lost * (STEEPEST / steep))

    @property
    def moved(self) -> Floats:
        """J; of levels, the part of a share that is left."""
        x, n = self.rows, len(self.rows)
        both = np.outer(self.numbers, self.numbers)
        found = np.where(both, -((x.T * (self.factor * self.long)) @ x) / n, 0.0)
        plain = x.mean(axis=0)
        level = np.divide(self.mean, plain, out=np.ones_like(plain), where=plain > 0)
        found[np.diag_indices(len(plain))] += np.where(self.numbers, self.factor.mean(), np.maximum(level, 1 - STEEPEST))
        return found

    def lost(self) -> LostByClipping:
        x, c, mean = self.rows, self.factor[:, None], self.mean
        away, clipped = x - x.mean(axis=0), x * c
        back = np.linalg.inv(self.moved)
        heavy = (clipped - mean) @ back.T
        drawn_means = np.mean(heavy**2, axis=0) / np.maximum(np.mean(away**2, axis=0), 1e-300)
        grown = np.linalg.inv(self.kept)
        on_entries, drawn = (back.diagonal() ** 2).copy(), drawn_means.copy()
        on_entries[self.numbers] = np.sum(grown**2, axis=1)
        squares = ((clipped - mean)[:, self.numbers] ** 2) @ grown.T
        drawn[self.numbers] = np.var(squares, axis=0) / np.maximum(np.var(away[:, self.numbers] ** 2, axis=0), 1e-300)
        return LostByClipping(
            self.lost_mean,
            self.lost_covariance,
            np.sum(back**2, axis=1),
            np.sqrt(np.outer(on_entries, on_entries)),
            drawn_means,
            np.sqrt(np.outer(drawn, drawn)),
        )
