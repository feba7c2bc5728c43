"""Principal components from a release: any number of them, at no further cost in privacy."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcov.errors import ParameterError, ReleaseError, shown
from dpcov.release.record import Release
from dpcov.results import Drawable
from dpcov.uses.arrays import as_array
from dpcov.uses.held import refuse_silent, what_it_holds
from dpcov.uses.standing_out import noise_limits, standing_out

if TYPE_CHECKING:
    from dpcov.uses.component_errors import ComponentErrors

Floats = NDArray[np.float64]

CLEAR = 3.0  # standard errors, as in descriptions
NOTHING = 1e-12  # of the total: the rounding of an estimate that is 0


@dataclass(frozen=True, eq=False, repr=False)
class PrincipalComponents(Drawable):
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
    standing_out : int or None
        How many of the first stand out of the noise: along how many the exact second moment (centred: covariance) can be told
        from 0, given the law of the noise alone. Rows that vary alike in all directions stand out in all, with little noise.
        None where the mechanism does not tell how large its noise is. One release of pure noise in a few hundred has one that
        stands out by chance; of drawn directions about a mean far longer than rows vary, one in ten.
    feature_names : tuple of str
        What the d entries of a component belong to.
    offsets, scales : arrays of shape (d,)
        Rows are encoded as (x − offsets)/scales before they are projected.
    release : Release
        What it was made of.
    """

    components: Floats
    explained: Floats
    total: float
    standing_out: int | None
    feature_names: tuple[str, ...]
    offsets: Floats
    scales: Floats
    release: Release = field(repr=False)

    @property
    def k(self) -> int:
        """The number of components."""
        return len(self.components)

    @property
    def readable(self) -> int:
        """How many of the first are worth reading: those that stand out of the noise; all of them where nobody knows."""
        return self.k if self.standing_out is None else self.standing_out

    @property
    def held(self) -> PrincipalComponents:
        """All components that the release holds: those after these show where to stop."""
        try:
            return principal_components(self.release, self.release.d)
        except ReleaseError:  # directions were asked for: as many as were wanted
            return principal_components(self.release)

    @cached_property
    def errors(self) -> ComponentErrors:
        """Standard errors about the population, of noise and of the draw of rows, and which loadings are determined."""
        from dpcov.uses.component_errors import component_errors

        return component_errors(self.release, self.components, self.explained, self.total, population=True)

    @cached_property
    def clear(self) -> NDArray[np.bool_]:
        """Which loadings are clear of noise and of the draw of rows, by three standard errors, where they are determined.

        All of those where the release does not tell how large their errors are.
        """
        clear = np.isnan(self.errors.loadings) | (np.abs(self.components) > CLEAR * self.errors.loadings)
        clear &= self.errors.determined[:, None]
        clear[self.readable :] = False
        return clear

    @cached_property
    def noise_edge(self) -> Floats:
        """What noise alone could have put along each component: it stands out above. NaN where nobody knows."""
        return noise_limits(self.release, self.components)

    @cached_property
    def ratio(self) -> Floats:
        """The part of the total along each component; 0 where nothing was found at all."""
        return self.explained / self.total if self.total > 0 else np.zeros(self.k)

    def __repr__(self) -> str:
        clear = "" if self.standing_out is None else f", {self.standing_out} clear of noise"
        return f"<PrincipalComponents: {self.k} of {len(self.feature_names)} directions{clear}>"

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
    found = release.estimate.components
    if found is None and release.estimate.covariance is None:
        held = what_it_holds(release)
        raise ReleaseError(
            f"release must hold a covariance or components, got {held}. Hint: make one with dpcov.covariance or dpcov.pca."
        )
    if k is None and release.estimate.k is not None:
        return asked_components(release)
    with np.errstate(all="ignore"):  # extreme units and budgets overflow harmlessly inside
        values, vectors, total = _from_matrix(release) if found is None else (found.explained, found.rows, found.total)
    told = standing_out(release, vectors)
    clear = None if told is None else min(told, int((values > NOTHING * total).sum()))
    count = _count(k, values, total, clear, len(release.feature_names))
    components = vectors[:count]
    largest = np.take_along_axis(components, np.abs(components).argmax(axis=1)[:, None], axis=1)
    components = components * np.where(largest < 0, -1.0, 1.0)
    explained = values[:count].copy()
    for array in (components, explained):
        array.flags.writeable = False
    offsets = release.mean if release.center else release.offsets
    clear = None if clear is None else min(clear, count)
    return PrincipalComponents(components, explained, total, clear, release.feature_names, offsets, release.units, release)


def asked_components(release: Release) -> PrincipalComponents:
    """Return as many components as were asked for when the release was made."""
    if release.estimate.k is None:
        raise ReleaseError("release must be made by dpcov.pca, got another kind. Hint: use release.pca(k).")
    return principal_components(release, release.estimate.k)


def _from_matrix(release: Release) -> tuple[Floats, Floats, float]:
    """Return the eigenvalues of the estimate, descending, and its eigenvectors in rows; those of the raw matrix where it is.

    Denoising keeps the eigenvectors of an additive release and their order; but where it finds nothing, only the raw matrix
    still has an order.
    """
    matrix, raw = release.encoded_covariance, release.estimate.raw
    if raw is not None and not release.center:
        vectors = raw.moment.decomposition[1]
        values = np.einsum("ij,ij->j", vectors, matrix @ vectors)
    else:
        values, vectors = np.linalg.eigh(matrix)
    values = np.maximum(values, 0.0)[::-1]
    return values, vectors.T[::-1], float(values.sum())


def _count(k: int | float | None, values: Floats, total: float, clear: int | None, d: int) -> int:
    """Return how many components are wanted."""
    if k is None and clear is None:
        refuse_silent("counting the components that stand out of it", "give k")
    if k is None:
        return max(1, clear or 0)
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
            f"release must hold {k} components, got {len(values)}. Hint: release more, or a covariance, which has all of them."
        )
    return int(k)


def _checked(rows: ArrayLike, columns: int, name: str) -> Floats:
    array = as_array(name, rows)
    if array.ndim != 2 or array.shape[1] != columns or array.dtype.kind not in "biuf":
        raise ParameterError(
            f"{name} must be numbers in {columns} columns, got an array that is not. Hint: one row per person."
        )
    return array.astype(np.float64)
