"""Principal components from a release: any number of them, at no further cost in privacy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcov.errors import ParameterError, ReleaseError, shown
from dpcov.estimate import APART, block_vectors, noisy_moment
from dpcov.estimate_framed import noise_deviation
from dpcov.kernel.answer import Answer
from dpcov.linalg import monotone, orthonormal_rows, project_simplex
from dpcov.release.record import Release
from dpcov.spectra import shrink_spectrum
from dpcov.uses.standing_out import standing_out

Floats = NDArray[np.float64]

NOTHING = 1e-12  # of the total: the rounding of an estimate that is 0
CLEAR = 3.0  # standard deviations: what was asked apart counts from there; 2 was worse, 4 alike (docs/mechanisms/screened.md)


@dataclass(frozen=True, eq=False)
class PrincipalComponents:
    """Directions in which rows vary most, by a private estimate.

    With a schema all of it is in encoded units: each column from its offset, divided by its scale, so that columns in different
    units can be compared. Else in the data's.

    Attributes
    ----------
    components : array of shape (k, d)
        Orthonormal rows, the most important first; the largest entry of each is positive.
    explained : array of shape (k,)
        Estimated variance along each (for a release that is not centred: second moment).
    total : float
        Estimated variance in all directions together.
    standing_out : int
        How many of the first stand out of the noise: along how many the exact second moment (centred: covariance) can be told
        from 0, given the law of the noise alone. Rows that vary alike in all directions stand out in all, with little noise.
    feature_names : tuple of str
        What the d entries of a component belong to.
    offsets, scales : arrays of shape (d,)
        Rows are encoded as (x − offsets)/scales before they are projected.
    """

    components: Floats
    explained: Floats
    total: float
    standing_out: int
    feature_names: tuple[str, ...]
    offsets: Floats
    scales: Floats

    @property
    def k(self) -> int:
        """The number of components."""
        return len(self.components)

    @cached_property
    def ratio(self) -> Floats:
        """The part of the total along each component; 0 where nothing was found at all."""
        return self.explained / self.total if self.total > 0 else np.zeros(self.k)

    def transform(self, rows: ArrayLike) -> Floats:
        """Return the coordinates of rows along the components. Of private rows they are private: nothing is added to them."""
        encoded = _checked(rows, len(self.scales), "rows")
        with np.errstate(all="ignore"):  # 1e308 is data like any other
            return np.asarray(((encoded - self.offsets) / self.scales) @ self.components.T)

    def inverse_transform(self, scores: ArrayLike) -> Floats:
        """Return the rows, in the data's units, that lie in the subspace and have these coordinates."""
        coordinates = _checked(scores, self.k, "scores")
        with np.errstate(all="ignore"):
            return np.asarray(coordinates @ self.components * self.scales + self.offsets)


def principal_components(release: Release, k: int | float | None = None) -> PrincipalComponents:
    """Return the first k principal components of a release: see `Release.pca`."""
    if release.kind == "mean":
        raise ReleaseError("release must hold a covariance or components, got a mean. Hint: dpcov.covariance or dpcov.pca.")
    if k is None and release.kind == "pca":
        return asked_components(release)
    asked = release.answer("explained")
    with np.errstate(all="ignore"):  # extreme units and budgets overflow harmlessly inside
        values, vectors, total = _from_matrix(release) if asked is None else _from_asked(release, asked)
    clear = min(standing_out(release, vectors), int((values > NOTHING * total).sum()))
    count = _count(k, values, total, clear, len(release.feature_names))
    components = vectors[:count]
    largest = np.take_along_axis(components, np.abs(components).argmax(axis=1)[:, None], axis=1)
    components = components * np.where(largest < 0, -1.0, 1.0)
    explained = values[:count].copy()
    for array in (components, explained):
        array.flags.writeable = False
    offsets = release.mean if release.center else release.offsets
    return PrincipalComponents(components, explained, total, min(clear, count), release.feature_names, offsets, release.units)


def asked_components(release: Release) -> PrincipalComponents:
    """Return as many components as were asked for when the release was made."""
    k = release.options.get("k")
    if not isinstance(k, int):
        raise ReleaseError("release must be of components, got another. Hint: release.pca(k).")
    return principal_components(release, k)


def _from_asked(release: Release, asked: Answer) -> tuple[Floats, Floats, float]:
    """Return what lies along directions that were drawn, or found in a block; no row has more than the squared radius in all.

    The eigenvectors of a block are in its own order, and directions that were drawn one after the other in theirs: both are
    better known than the variances, which are made to descend. A subspace that was drawn at once has no order but theirs.
    """
    block, radius = release.answer("block"), asked.radii[0] if asked.radii else release.row_norm
    subspace, told = release.answer("subspace"), asked.values / release.n
    if block is not None:
        rows = block_vectors(block, release.d)[: len(told) - 1]
        told = _of_block(release, block, asked, (release.clip_radius / radius) ** 2)
    elif subspace is not None:
        order = np.argsort(-told[:-1], kind="stable")
        rows, told = orthonormal_rows(subspace.values.reshape(-1, release.d))[order], np.append(told[order], told[-1])
    else:
        rows = orthonormal_rows(release.directions)
        told = np.append(monotone(told[:-1], increasing=False), told[-1])
    values = project_simplex(told, 1.0) * radius * radius
    return values[:-1], rows, float(values.sum())


def _of_block(release: Release, block: Answer, asked: Answer, unit: float) -> Floats:
    """Return the variance along the eigenvectors of a block and beside them, as a part of the squared radius that was asked.

    ``unit`` is the block's squared radius, as such a part. The block had nearly all of the budget, and its noise is in units
    of the smaller radius: its denoised eigenvalues are far better numbers than those that were asked apart, of rows clipped
    farther out (docs/mechanisms/screened.md). These say what clipping took, where they say it clearly: along the components
    one factor for all, beside them a number.
    """
    noisy, noise = noisy_moment(block, len(block.columns), release.n)
    held = shrink_spectrum(np.linalg.eigvalsh(noisy).astype(np.float64), noise, 1.0)[::-1] * unit
    told, deviation = asked.values / release.n, noise_deviation(asked, release.n)
    along, squares = held[: len(told) - 1], release.answer("squares")
    trace = float(held.sum()) if squares is None else max(float(held.sum()), float(squares.values.sum()) / release.n * unit)
    beside, size = trace - float(along.sum()), float(np.linalg.norm(along))
    if size > 0:
        along = along * (1 + _clear(float((told[:-1] - along) @ along) / size, deviation) / size)  # least squares
    return np.append(along, beside + _clear(float(told[-1]) - beside, deviation))


def _clear(excess: float, deviation: float) -> float:
    """Return what is left of a number seen through noise, 0 below some standard deviations: the positive part of Stein's."""
    return excess * (1 - (CLEAR * deviation / excess) ** 2) if excess > CLEAR * deviation else 0.0


def _from_matrix(release: Release) -> tuple[Floats, Floats, float]:
    """Return the eigenvalues of the estimate, descending, and its eigenvectors in rows; those of the raw matrix where it is.

    Denoising keeps the eigenvectors of an additive release and their order; but where it finds nothing, only the raw matrix
    still has an order.
    """
    matrix = release.encoded_covariance
    moment = release.answer("second moment")
    apart = any(answer.statistic in APART for answer in release.answers)
    if moment is not None and moment.frame is None and not release.center and not apart:
        vectors = np.linalg.eigh(noisy_moment(moment, release.d, release.n)[0])[1]
        values = np.einsum("ij,ij->j", vectors, matrix @ vectors)
    else:
        values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(values, 0.0)[::-1]
    return values, vectors.T[::-1], float(values.sum())


def _count(k: int | float | None, values: Floats, total: float, clear: int, d: int) -> int:
    """Return how many components are wanted."""
    if k is None:
        return max(1, clear)
    if isinstance(k, float) and 0 < k < 1:
        reached = np.flatnonzero(np.cumsum(values) >= k * total)
        return int(reached[0]) + 1 if len(reached) else len(values)
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= d:
        raise ParameterError(
            f"k must be an integer from 1 to {d}, a part between 0 and 1, or None, got {shown(k)}. "
            f"Hint: None takes what stands out of the noise."
        )
    if k > len(values):
        raise ReleaseError(
            f"release must hold {k} components, got {len(values)}. Hint: release more of them, or a covariance, which has all."
        )
    return int(k)


def _checked(rows: ArrayLike, columns: int, name: str) -> Floats:
    array = np.asarray(rows)
    if array.ndim != 2 or array.shape[1] != columns or array.dtype.kind not in "biuf":
        raise ParameterError(f"{name} must be numbers in {columns} columns, got another array. Hint: a row per person.")
    return array.astype(np.float64)
