r"""How far principal components may be from those of the population: first-order perturbation theory.

With C = Σ λᵢuᵢuᵢᵀ the exact covariance and E the error of its estimate, to first order the eigenvalue of uₖ moves by uₖᵀEuₖ,
and uₖ by Σⱼ uⱼ·(uⱼᵀEuₖ)/(λₖ − λⱼ). So a loading i of component k has the variance

.. math:: \sum_{j \ne k} u_{ji}^2 \, c_{kj}, \qquad c_{kj} = V_{kj}/(λ_k - λ_j)^2, \qquad V_{kj} = E(u_j^T E u_k)^2,

and Σⱼ c_kj is the squared tangent of the angle between the component and the exact one. E is the noise, as `noise_level` has
it, and about the population the draw of normal rows: λₖλⱼ/n in V_kj, 2λₖ²/n in V_kk. A noisy common factor moves all
eigenvalues alike, and no loading.

Where one c_kj is large, two directions have eigenvalues that errors cannot tell apart: any mixture of them would do as well,
and loadings are not determined. Where their sum is, the component leans towards noise as a whole.

Estimates and gaps are those of the denoised matrix, or of the block of a noisy one in which directions were looked for. The
errors of directions that were drawn at once depend on the exact spectrum: only those of what was asked along them are told.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcov.release.estimate import Along, InMatrix, NoisyCoordinates, NoisyDirections, NoisyMatrix
from dpcov.release.record import Release
from dpcov.uses.held import tells_noise
from dpcov.uses.noise_level import Coordinates, Eigenbasis, NoiseLevel
from dpcov.uses.raw import raw_moment

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

NEIGHBOUR = 0.1  # c_kj: a gap of about three standard errors, below which two directions cannot be told apart
MOST = 32  # components whose noise is found to the last product
LEANING = 0.5  # Σⱼ c_kj: half of what lies along a component of 35 degrees is beside the exact one


@dataclass(frozen=True, eq=False)
class ComponentErrors:
    """Standard errors of components, all in encoded units.

    Attributes
    ----------
    explained, ratio : array of shape (k,)
        Those of what lies along each component, and of its part of the total; NaN where the release does not tell.
    cumulative : array of shape (k,)
        Those of the sums of the first parts.
    total : float
        That of the variance in all directions.
    loadings : array of shape (k, d)
        Those of the entries of each component; NaN where the release does not tell.
    determined : array of bool
        Whether a component's eigenvalue is far enough from its neighbours for its loadings to mean something.
    """

    explained: Floats
    ratio: Floats
    cumulative: Floats
    total: float
    loadings: Floats
    determined: Flags

    def __post_init__(self) -> None:
        for array in (self.explained, self.ratio, self.cumulative, self.loadings, self.determined):
            array.flags.writeable = False


def component_errors(
    release: Release, components: Floats, values: Floats, total: float, *, population: bool
) -> ComponentErrors:
    """Return the errors of orthonormal rows, the first eigenvectors, and of the ``values`` that lie along them."""
    with np.errstate(all="ignore"):  # extreme units and budgets overflow harmlessly inside
        return _errors(release, components, values, np.float64(total), 1 / release.independent_n if population else 0.0)


def _errors(release: Release, components: Floats, values: Floats, total: np.float64, drawn: float) -> ComponentErrors:
    k = len(components)
    found = _noisy_matrix(release, components, values)
    if found is None:
        return _of_numbers(release, components, values, total, drawn)
    level, rest, along = found
    directions = np.vstack([components, rest])
    variances = level.form_variances(directions, range(release.d))
    between = _between(level, components, directions, variances)
    gain = _gain(release)
    floor = np.maximum(along, np.sqrt(np.maximum(variances, 0.0)))
    gaps = along[:k, None] - along[None, :]
    own = variances[:k] + 2 * drawn * floor[:k] ** 2
    if isinstance(release.estimate.noise, NoisyDirections):  # less lies along a drawn direction than along the exact one
        own = own + np.nansum(np.where(gaps != 0, between / np.abs(gaps), 0.0), axis=1) ** 2
    explained = np.sqrt(own + (gain * values) ** 2)
    mixed = between + drawn * np.outer(floor[:k], floor)
    share = mixed / gaps**2
    share[np.arange(k), np.arange(k)] = 0.0
    share = np.where(np.isnan(share), np.inf, share)
    loadings = np.sqrt(np.einsum("kj,ji->ki", np.minimum(share, 1e300), directions**2))
    determined = (share.max(axis=1) <= NEIGHBOUR) & (share.sum(axis=1) <= LEANING)
    trace = _trace_variance(release, level) + 2 * drawn * float(np.sum(floor**2)) + _moved(release, total) ** 2
    drawn_directions = isinstance(release.estimate.noise, NoisyDirections)
    parts = _of_parts(values, own, total, trace, within=not drawn_directions, whole=k == release.d)
    return ComponentErrors(explained, *parts, float(np.sqrt(trace + (gain * total) ** 2)), loadings, determined)


def _moved(release: Release, total: np.float64) -> np.float64:
    """Return by how much denoising moved the total: the trace of the raw matrix is off by its noise alone."""
    if release.estimate.raw is None or release.estimate.components is not None:
        return np.float64(0)
    raw = raw_moment(release)
    return np.float64(total - (np.trace(raw.covariance) + raw.along * release.d) * np.float64(release.clip_radius) ** 2)


def _of_parts(
    values: Floats, own: Floats, total: float, trace: float, *, within: bool, whole: bool = False
) -> tuple[Floats, Floats]:
    """Return the standard errors of λₖ/T, and of sums of them, by the variances of λₖ and of T; a common factor cancels.

    The error of T is that of λₖ, ``within`` it, and that of the rest: (1 − ρ)²·var λₖ + ρ²·(var T − var λₖ) for ρ = λₖ/T.
    Not so of some drawn directions: what they miss lies along others.

    Of the ``whole`` spectrum all parts together are 1, and some of them are as uncertain as the others: var T, with what
    denoising moved, is then shared out among the λₖ. Of fewer it is left to the rest.
    """
    if not total > 0:
        return np.full(len(values), np.inf), np.full(len(values), np.inf)
    if whole and 0 < (parts := float(np.sum(own))) < math.inf:
        trace = max(trace, parts)
        own = own * (trace / parts)

    def error(part: Floats, variance: Floats) -> Floats:
        if not within and not whole:
            return np.asarray(np.sqrt(variance + part**2 * trace) / total)
        rest = np.maximum(trace - variance, 0.0)
        return np.asarray(np.sqrt((1 - part) ** 2 * variance + part**2 * rest) / total)

    together = error(np.cumsum(values) / total, np.cumsum(own))
    return error(values / total, own), np.append(together[:-1], 0.0) if whole else together


def _noisy_matrix(release: Release, components: Floats, values: Floats) -> tuple[NoiseLevel, Floats, Floats] | None:
    """Return the noise in the matrix of which components are eigenvectors, its other ones, and all of its eigenvalues.

    None where they were not looked for in a matrix, or nobody knows its noise.
    """
    found, seen, k = release.estimate, release.estimate.seen, len(components)
    if found.components is None:
        if not tells_noise(release):
            return None
        rest, left = _complement(release.encoded_covariance, components)
        return _turned(release), rest, np.concatenate([values, np.maximum(left, 0.0)])
    if not isinstance(seen, InMatrix) or found.radius is None:
        return None
    rest, _ = _complement(seen.back @ seen.matrix @ seen.back.T, components)
    rows = np.vstack([components, rest]) @ seen.back
    along = np.einsum("ij,ij->i", rows, rows @ seen.matrix) * found.radius**2
    return Coordinates(seen.back * found.radius, seen.spread.off_diagonal_variance), rest[: release.d - k], along


def _turned(release: Release) -> NoiseLevel:
    """Return the noise of a covariance; where entries on the diagonal have no more than others, along directions they have."""
    level, found = release.noise_level, release.estimate.noise
    if not isinstance(level, Eigenbasis) or not isinstance(found, NoisyMatrix):
        return level
    variances, spread = level.variances.copy(), found.spread
    if 0 < spread.diagonal_variance < 2 * spread.off_diagonal_variance:
        np.fill_diagonal(variances, variances.diagonal() * (2 * spread.off_diagonal_variance / spread.diagonal_variance))
    return dataclasses.replace(level, variances=variances)


def _complement(matrix: Floats, components: Floats) -> tuple[Floats, Floats]:
    """Return the eigenvectors of a matrix that the components leave out, in rows, and their eigenvalues."""
    k, d = components.shape
    beside = np.linalg.svd(components, full_matrices=True)[2][k:]
    values, vectors = np.linalg.eigh(beside @ matrix @ beside.T) if k < d else (np.zeros(0), np.zeros((0, 0)))
    return np.asarray(vectors.T @ beside), np.asarray(values)


def _inside(level: Eigenbasis) -> Floats:
    """Return the rows of features in the basis of the noise."""
    return level.rows(range(len(level.basis) - (level.mean is not None))) * level.unit


def _between(level: NoiseLevel, rows: Floats, others: Floats, own: Floats) -> Floats:
    """Return the variance of uᵀEv for each row u and each v of the others, of which rows are the first."""
    if isinstance(level, Coordinates):
        left, right = rows @ level.back, others @ level.back
        squares = np.outer((left**2).sum(axis=1), (right**2).sum(axis=1))
        return np.asarray(level.variance * (squares + (left @ right.T) ** 2))
    assert isinstance(level, Eigenbasis)
    inside, off = _inside(level), level.variances.copy()
    left, right = rows @ inside, others @ inside
    np.fill_diagonal(off, 0.0)
    found = (left**2 @ level.variances) @ (right**2).T
    for place, one in enumerate(left[:MOST]):  # beyond, nobody reads loadings: products of different signs are left out
        both = one * right
        found[place] += np.einsum("ij,ij->i", both @ off, both)
    places = np.arange(len(rows))
    found[places, places] = own[: len(rows)]
    return np.asarray(found)


def _trace_variance(release: Release, level: NoiseLevel) -> float:
    """Return the variance of the trace of E: of a denoised matrix that of the raw one, as what it leaves out counts, too."""
    if isinstance(level, Coordinates):
        return float(2 * level.variance * np.sum((level.back.T @ level.back) ** 2))
    assert isinstance(level, Eigenbasis)
    inside, variances, found = _inside(level), level.variances, release.estimate.noise
    if isinstance(found, NoisyMatrix):
        variances = np.full_like(variances, found.spread.off_diagonal_variance * found.stretch**2)
        np.fill_diagonal(variances, found.spread.diagonal_variance * found.stretch**2)
    products = inside.T @ inside
    both = 2 * variances - np.diag(variances.diagonal())
    return float(np.sum(both * products**2))


def _gain(release: Release) -> float:
    """Return the relative standard error of a common factor: a noisy n, a noisy scale, what weights took in all."""
    noise, units = release.estimate.noise, release.estimate.units
    if units is not None:
        whole = release.describe().deviation
        assert whole is not None
        squares = (whole.values / release.units) ** 2
        lost = float(np.sum(squares)) / max(float(np.trace(release.encoded_covariance)), 1e-300) - 1
        return math.hypot(units.weight_error, lost)
    if isinstance(noise, NoisyCoordinates):
        return noise.scale_error
    return raw_moment(release).gain if release.estimate.raw is not None else 0.0


def _of_numbers(release: Release, components: Floats, values: Floats, total: np.float64, drawn: float) -> ComponentErrors:
    """Return the errors of what was asked along components, where that is known; those of loadings are not."""
    k, seen = len(components), release.estimate.seen
    unit = np.float64(release.estimate.radius or math.nan) ** 2
    variance = np.float64(math.nan)
    if isinstance(seen, Along):
        variance = (seen.deviation * unit) ** 2
    own = variance + 2 * drawn * values**2
    trace = (k + 1) * variance + 2 * drawn * float(np.sum(values**2))
    unknown = np.full(components.shape, math.nan)
    parts = _of_parts(values, own, total, trace, within=True)
    return ComponentErrors(np.sqrt(own), *parts, float(np.sqrt(trace)), unknown, np.ones(k, dtype=np.bool_))
