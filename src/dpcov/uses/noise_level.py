r"""How much noise is left in the released covariance, along what a regression looks at: E‖[Eu]_x‖² for u = (−w, 1).

Three laws, by what the estimate was made of. All are in encoded units.

- *A noisy matrix, denoised*: in its eigenbasis V the noise of the entry (i, k) is multiplied by the slope of denoising,
  (ξᵢ − ξₖ)/(nᵢ − nₖ) for noisy eigenvalues n and denoised ones ξ, to first order: what was shrunk to nothing has no noise left.
- *Directions*, drawn one after the other with concentrations cᵢ: entry (i, k) has variance |ξᵢ − ξₖ|/(2cᵢn), at most that of
  a direction drawn at random.
- *Rows in public coordinates* with unwhitener B: E = BNBᵀ with isometric noise N.

Centred releases denoise the lifted matrix H of rows (a, b·x/r). C u = (r/b)·[H z]_x for the z with z_x = (r/b)·u, [H z]₀ = 0:
that is z₀ = −m·u/a. So noise E in H moves C u by (r/b)·([E z]_x − (H_x0/H_00)·[E z]₀), H_x0/H_00 = (b/(a·r))·m: in the
basis V the rows of features, and of z, are V_x − (b/(a·r))·m·V₀.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.rows.centring import CONSTANT, SCALE_SQUARED
from dpcov.release.estimate import NoisyCoordinates, NoisyDirections, NoisyMatrix
from dpcov.release.record import Release
from dpcov.uses.held import refuse_silent, tells_noise

Floats = NDArray[np.float64]


class NoiseLevel(Protocol):
    """What is left of the noise."""

    def squares(self, directions: Floats, chosen: Sequence[int], own: int, scale: float = 1.0) -> Floats:
        """Return E‖[Eu]_x‖²/scale² for each row u over the chosen features; x are all of them but the one at ``own``."""
        ...

    def residual(self, direction: Floats, chosen: Sequence[int], own: int, scale: float = 1.0) -> Floats:
        """Return the covariance of [Eu]_x/scale."""
        ...

    def entry_variances(self) -> Floats:
        """Return the variance of each entry of E."""
        ...

    def form_variances(self, directions: Floats, chosen: Sequence[int]) -> Floats:
        """Return the variance of uᵀEu for each row u over the chosen features."""
        ...


@dataclass(frozen=True, eq=False)
class Eigenbasis:
    """Independent noise on the entries of the estimate in its own eigenbasis, the columns of ``basis``, with its ``values``.

    ``mean``, of encoded rows, and ``unit`` = r/b lift a direction where the release is centred.
    """

    basis: Floats
    values: Floats
    variances: Floats
    mean: Floats | None
    unit: float

    def squares(self, directions: Floats, chosen: Sequence[int], own: int, scale: float = 1.0) -> Floats:
        """Σᵢ hᵢ Σₖ varianceᵢₖ·(Vᵀz)ₖ², hᵢ what of the basis vector i lies in the features."""
        rows = self.rows(chosen)
        features = (np.delete(rows, own, axis=0) ** 2).sum(axis=0)
        factor = self.unit / scale * self.unit  # in this order: squares of extreme units are no floats
        return np.asarray((directions @ rows) ** 2 @ (self.variances.T @ features) * factor**2)

    def residual(self, direction: Floats, chosen: Sequence[int], own: int, scale: float = 1.0) -> Floats:
        """V_x diag(Σₖ varianceᵢₖ·(Vᵀz)ₖ²) V_xᵀ."""
        rows, factor = self.rows(chosen), self.unit / scale * self.unit
        features = np.delete(rows, own, axis=0)
        return np.asarray((features * (self.variances @ (direction @ rows) ** 2 * factor**2)) @ features.T)

    def entry_variances(self) -> Floats:
        """R N Rᵀ, R the rows of all features."""
        rows = self.rows(range(len(self.basis) - (self.mean is not None))) * self.unit
        between = self.variances - np.diag(self.variances.diagonal())
        found = _entry_variances(rows, rows, self.variances)
        np.fill_diagonal(found, found.diagonal() + _entry_variances(rows, rows, between).diagonal())
        return found

    def form_variances(self, directions: Floats, chosen: Sequence[int]) -> Floats:
        """Σᵢₖ varianceᵢₖ·(Vᵀz)ᵢ²(Vᵀz)ₖ², off the diagonal twice."""
        parts = (directions @ self.rows(chosen) * self.unit) ** 2
        both = 2 * self.variances - np.diag(self.variances.diagonal())
        return np.asarray(np.einsum("ij,ij->i", parts @ both, parts))

    def mean_variances(self) -> Floats:
        """Return the variance of each entry of a centred release's mean: the first row of the lifted matrix is (a·b/r)·m."""
        return np.asarray(_entry_variances(self.basis[:1], self.basis[1:], self.variances)[0] * (self.unit / CONSTANT) ** 2)

    def rows(self, chosen: Sequence[int]) -> Floats:
        """Return the rows of features in the basis, about the mean where there is one."""
        rows = np.asarray(self.basis[np.asarray(chosen) + (self.mean is not None)])
        if self.mean is None:
            return rows
        return np.asarray(rows - np.outer(self.mean[list(chosen)] / (CONSTANT * self.unit), self.basis[0]))


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Isometric noise in public coordinates: a variance above the diagonal, and the way back to encoded rows."""

    back: Floats
    variance: float

    def squares(self, directions: Floats, chosen: Sequence[int], own: int, scale: float = 1.0) -> Floats:
        """v·(‖z‖²·‖B_x‖² + ‖B_x z‖²) with z = Bᵀu."""
        part = self.back[list(chosen)] / math.sqrt(scale)
        inner, features = directions @ part, np.delete(part, own, axis=0)
        return np.asarray(
            self.variance * ((inner**2).sum(axis=1) * float((features**2).sum()) + ((inner @ features.T) ** 2).sum(axis=1))
        )

    def residual(self, direction: Floats, chosen: Sequence[int], own: int, scale: float = 1.0) -> Floats:
        """v·(‖z‖²·B_xB_xᵀ + B_x z zᵀB_xᵀ)."""
        part = self.back[list(chosen)] / math.sqrt(scale)
        inner, features = direction @ part, np.delete(part, own, axis=0)
        moved = features @ inner
        return np.asarray(self.variance * (float(inner @ inner) * (features @ features.T) + np.outer(moved, moved)))

    def entry_variances(self) -> Floats:
        """v·(‖bᵢ‖²·‖bⱼ‖² + (bᵢ·bⱼ)²), bᵢ the rows of B."""
        products = self.back @ self.back.T
        squares = products.diagonal()
        return np.asarray(self.variance * (np.outer(squares, squares) + products**2))

    def form_variances(self, directions: Floats, chosen: Sequence[int]) -> Floats:
        """2v·‖z‖⁴."""
        return np.asarray(2 * self.variance * ((directions @ self.back[list(chosen)]) ** 2).sum(axis=1) ** 2)


def _entry_variances(rows: Floats, others: Floats, variances: Floats) -> Floats:
    """Return the variance of each entry of A N Bᵀ for independent entries of N, without products of different signs."""
    return np.asarray(rows**2 @ variances @ (others**2).T)


def noise_level(release: Release) -> NoiseLevel:
    """Return what is left of the noise of a release's covariance."""
    found, lifted = release.estimate.noise, release.encoding.constant
    if isinstance(found, NoisyCoordinates):
        return Coordinates(found.back, found.deviation * found.deviation / 2)
    if isinstance(found, NoisyMatrix):
        basis, values, variances = _of_matrix(found)
    elif isinstance(found, NoisyDirections):
        basis, values, variances = _of_directions(found, release.n)
    elif not tells_noise(release):
        refuse_silent("alpha='auto'", "give a number, such as alpha=0.01")
    else:  # too few rows for the budget: nothing was asked, and the estimate is 0
        width = len(release.encoded_covariance) + lifted
        basis, values, variances = np.eye(width), np.zeros(width), np.zeros((width, width))
    mean = (release.mean - release.offsets) / release.units if lifted else None
    scale = release.clip_radius
    unit = scale / math.sqrt(SCALE_SQUARED) if lifted else scale  # r/b, or r: the estimate is in units of r²
    return Eigenbasis(basis, values, variances, mean, unit)


def _of_matrix(found: NoisyMatrix) -> tuple[Floats, Floats, Floats]:
    values, basis = np.linalg.eigh(found.noisy)
    denoised = np.einsum("ij,ij->j", basis, found.estimate @ basis)
    noise, stretch = found.spread, found.stretch
    slope = _slopes(values * stretch, denoised)
    variances = noise.off_diagonal_variance * stretch**2 * slope**2
    np.fill_diagonal(variances, noise.diagonal_variance * stretch**2 * slope.diagonal() ** 2)
    return basis, denoised, variances


def _slopes(noisy: Floats, denoised: Floats) -> Floats:
    """Return (ξᵢ − ξₖ)/(nᵢ − nₖ) within [0, 1]; on the diagonal the larger of the two next to it."""
    gaps = noisy[:, None] - noisy[None, :]
    with np.errstate(all="ignore"):
        slopes = (denoised[:, None] - denoised[None, :]) / gaps
    slopes = np.clip(np.nan_to_num(slopes, nan=0.0, posinf=1.0, neginf=0.0), 0.0, 1.0)
    beside = np.diagonal(slopes, 1)
    own = np.maximum(np.append(beside, 0.0), np.insert(beside, 0, 0.0)) if len(noisy) > 1 else np.ones(1)
    np.fill_diagonal(slopes, own)
    return slopes


def _of_directions(found: NoisyDirections, n: int) -> tuple[Floats, Floats, Floats]:
    ascending, vectors = np.linalg.eigh(found.estimate)
    values, basis = ascending[::-1], vectors[:, ::-1]
    size = len(values)
    concentrations = np.full(size, np.inf)
    drawn = found.concentrations[:size]
    concentrations[: len(drawn)] = drawn
    first = np.minimum(np.arange(size)[:, None], np.arange(size)[None, :])
    gaps = np.abs(values[:, None] - values[None, :])
    variances = np.minimum(gaps / (2 * concentrations[first] * n), gaps**2 / np.maximum(size - first, 1))
    np.fill_diagonal(variances, found.variance)
    return np.ascontiguousarray(basis), values, variances
