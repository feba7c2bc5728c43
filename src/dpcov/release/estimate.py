"""What a mechanism makes of its answers: estimates of the encoded rows, and what is known of the noise in them.

All of it is post-processing, in the units of the encoded rows (without a schema: the data's own). A field that a release does
not have is None. `Release` brings the user's units; `dpcov.uses` computes with the noise, whatever mechanism it is of.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcov.errors import ReleaseError
from dpcov.kernel.answer import Answer
from dpcov.kernel.noise.laws import NoiseLaw, Spread

Floats = NDArray[np.float64]

MOST_ASSEMBLED = 8192
"""Columns of a matrix that is made of fewer numbers than it has: it takes 0.5 GB, and a file of 100 kB can ask for it."""


def check_assembled(d: int) -> None:
    """Refuse to make a matrix of so many columns from a few numbers: an answer that is a matrix is as large as its file."""
    if d > MOST_ASSEMBLED:
        raise ReleaseError(
            f"release must have at most {MOST_ASSEMBLED} columns for a matrix assembled from a few numbers, got {d}. "
            f"Hint: ask for the matrix, or for components."
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Estimate:
    """What a release says, and how certain that is.

    Attributes
    ----------
    mean : array, optional
        The mean of encoded rows.
    covariance : array, optional
        About ``mean`` where there is one; else the second moment about ``origin``.
    origin : array, optional
        The public point that rows were taken to have as their mean; by default 0.
    radius : float, optional
        The norm at which rows were clipped; None where they were clipped in public coordinates of their own.
    longer : float
        About how many rows, at most, are longer than a privately chosen radius whose scale was not bought back.
    k : int, optional
        How many components were asked for.
    components : Components, optional
        Directions that were drawn or found, with what was asked along them.
    coefficients : Coefficients, optional
        One regression.
    raw : RawMatrix, optional
        A noisy second moment, every entry of which has noise of a known size.
    without_raw : str
        What to do for intervals where there is none.
    noise : NoisyMatrix, NoisyDirections or NoisyCoordinates, optional
        What is left of the noise in ``covariance``; None where nothing was asked and it is 0, and where a mechanism does not
        tell: standard errors are NaN then, and a penalty or a number of components must be given.
    seen : InMatrix or Along, optional
        What was answered along directions, to be compared with noise alone; by default ``raw`` says it. Without either nobody
        knows how many components stand out.
    mean_noise : MeanNoise, optional
        The noise of a mean that is no part of ``raw``.
    expected_error : float, optional
        The r.m.s. norm of the noise in the raw second moment, or mean.
    region : callable, optional
        Computes where the truth may lie.
    units : PrivateUnits, optional
        The private units in which a table was measured, and what is known in them.
    own : OwnPart, optional
        Of a group: which part of the estimate is its own.
    """

    mean: Floats | None = None
    covariance: Floats | None = None
    origin: Floats | None = None
    radius: float | None = None
    longer: float = 0.0
    k: int | None = None
    components: Components | None = None
    coefficients: Coefficients | None = None
    raw: RawMatrix | None = None
    without_raw: str = "a mechanism that asks for one noisy matrix has noise of a known size on every entry"
    noise: NoisyMatrix | NoisyDirections | NoisyCoordinates | None = None
    seen: InMatrix | Along | None = None
    mean_noise: MeanNoise | None = None
    expected_error: float | None = None
    region: Callable[[], ConfidenceBall | ConfidenceEllipsoids] | None = None
    units: PrivateUnits | None = None
    own: OwnPart | None = None

    def __repr__(self) -> str:
        held = [field.name for field in fields(self) if field.default is None and getattr(self, field.name) is not None]
        return f"<Estimate: {', '.join(held)}>"


@dataclass(frozen=True, eq=False)
class OwnPart:
    """How far a group's covariance was drawn towards those of all groups, before its spectrum was denoised.

    Attributes
    ----------
    part : array of shape (d, d)
        Which part of each entry is the group's own: 1 where it is alone, 0 where noise hides how it differs.
    standard_error : array of shape (d, d)
        Of each entry, encoded: of the noise that is left, and of what is not known of the difference (empirical Bayes).
    """

    part: Floats
    standard_error: Floats


@dataclass(frozen=True, eq=False)
class PrivateUnits:
    """A table measured in the private units of its columns: coordinates z, of which encoded features are linear functions.

    Attributes
    ----------
    back : array of shape (features, coordinates)
        A feature's difference from its mean is its row times that of z.
    forward : array of shape (features, coordinates)
        The coordinates of one unit of a feature: z is the sum over a row's cells, up to a constant.
    centre : array
        The features where z is 0: what a missing cell counts as.
    owner, column : arrays
        The column of each coordinate, and of each feature.
    mean, raw_covariance : arrays
        Of z, with all of their noise; missing cells are 0.
    raw_mean : array
        Of encoded features: what intervals are about, which of a group is not drawn towards others.
    mean_variance, weight_error : float
        Variance of the noise of an entry of that mean, and the relative standard error of the sum of weights.
    covariance : array
        Of z, positive semidefinite, between cells that are there.
    variance : float
        That of the noise of an entry of the covariance of z, above the diagonal; twice as much on it.
    left : float
        The same of ``covariance``: less where a group's was drawn towards others.
    raw : array
        The covariance of features with all of its noise, whose variances are ``noise``.
    deviation, deviation_error, mean_error : arrays
        Of encoded features; what the smaller weights of long rows may have taken is part of the errors.
    mean_noise, reported_noise : arrays
        The standard errors that noise alone gives to the mean and to the square of ``deviation``; where two answers about a
        variance disagree, what separates them.
    divisor : array
        The variances that correlations are divided by.
    weighing : Weighing
        What makes the weights of rows.
    variance_noise : array
        The relative standard error that noise alone gives to what correlations are divided by.
    correlation, raw_correlation, correlation_error : arrays
        Of features: denoised, and with all of their noise.
    low, high : arrays
        The range of each feature, encoded, within which it was measured.
    reach : array
        The public bounds of each number, encoded: −reach to reach.
    seen, seen_error : array
        The share of cells that are there, and its standard error; 0 where all of them are.
    """

    back: Floats
    forward: Floats
    centre: Floats
    owner: NDArray[np.intp]
    column: NDArray[np.intp]
    mean: Floats
    raw_mean: Floats
    raw_covariance: Floats
    mean_variance: float
    weight_error: float
    law: NoiseLaw
    covariance: Floats
    variance: float
    left: float
    raw: Floats
    noise: Floats
    deviation: Floats
    deviation_error: Floats
    variance_noise: Floats
    mean_error: Floats
    mean_noise: Floats
    reported_noise: Floats
    divisor: Floats
    weighing: Weighing
    correlation: Floats
    raw_correlation: Floats
    correlation_error: Floats
    low: Floats
    high: Floats
    reach: Floats
    seen: Floats
    seen_error: Floats

    @property
    def coordinate_seen(self) -> Floats:
        """The share of cells that are there, by coordinate."""
        by_column = dict(zip(self.column.tolist(), self.seen.tolist(), strict=True))
        return np.array([by_column[column] for column in self.owner.tolist()])


@dataclass(frozen=True, eq=False)
class Weighing:
    """How long rows (a, z) get smaller weights: min(1, R²/(a² + ‖z‖²)), and what of the estimate that is about.

    Attributes
    ----------
    row_norm, corner : float
        R and a.
    weight, noise : float
        The mean weight of rows, with its noise, and the variance of the noise in Σ wzzᵀ/n above the diagonal.
    divided, told, averaged : arrays
        Which part of ``divisor``, of the square of ``deviation``, and of the mean, is of the weighted moment, by feature.
    within : array
        Which part of the mean is of cells that count as the ends of their range beyond it.
    apart, apart_noise, apart_within : arrays
        Means that were asked apart, without weights, their noise, and which part of them is of such cells; NaN where there are
        none.
    variance, variance_noise : arrays
        Variances that were asked apart, and their noise, infinite where there are none.
    """

    row_norm: float
    corner: float
    weight: float
    noise: float
    divided: Floats
    told: Floats
    averaged: Floats
    within: Floats
    apart: Floats
    apart_noise: Floats
    apart_within: Floats
    variance: Floats
    variance_noise: Floats


def error_of_spread(share: Floats, error: Floats) -> Floats:
    """Return the standard error of p(1 − p), the variance of a level, from that of its share, to second order."""
    return np.asarray(np.sqrt((1 - 2 * share) ** 2 * error**2 + 2 * error**4))


@dataclass(frozen=True, eq=False)
class Components:
    """Orthonormal rows, what lies along each, and all there is: second moments of encoded rows."""

    rows: Floats
    explained: Floats
    total: float


@dataclass(frozen=True, eq=False)
class Coefficients:
    """The coefficients of one regression of ``target`` on all other features, with the penalty ``alpha``."""

    answer: Answer
    target: int
    alpha: float


@dataclass(frozen=True, eq=False)
class RawMatrix:
    """A noisy second moment of rows clipped at a radius, and the factor by which the estimate multiplies it.

    ``deviation`` is the relative standard deviation of the factor's own noise, from the answer ``by``.
    """

    moment: Answer
    scale: float = 1.0
    deviation: float = 0.0
    by: Answer | None = None


@dataclass(frozen=True, eq=False)
class NoisyMatrix:
    """An estimate that was made of one noisy matrix: both with the constant coordinate, in units of the radius.

    ``stretch`` is what the estimate, and the noise with it, was multiplied with after denoising.
    """

    noisy: Floats
    spread: Spread
    estimate: Floats
    stretch: float = 1.0


@dataclass(frozen=True, eq=False)
class NoisyDirections:
    """An estimate Σ valueᵢ·uᵢuᵢᵀ, in units of the radius, of drawn directions; ``variance`` is that of a value."""

    concentrations: tuple[float, ...]
    variance: float
    estimate: Floats


@dataclass(frozen=True, eq=False)
class NoisyCoordinates:
    """An estimate B(Z)Bᵀ of a matrix Z with isometric noise, ``deviation`` on the diagonal; a factor's error comes on top."""

    back: Floats
    deviation: float
    scale_error: float = 0.0


@dataclass(frozen=True, eq=False)
class InMatrix:
    """A noisy matrix in which directions were looked for; ``back`` turns directions of rows into its own.

    ``of_mean`` is the standard deviation of the noise on an entry of ``mean``, whose square was taken off.
    """

    matrix: Floats
    spread: Spread
    back: Floats
    mean: Floats | None = None
    of_mean: float = 0.0


@dataclass(frozen=True, eq=False)
class Along:
    """Numbers that were asked along the columns of a basis; ``errors`` are variances beside the diagonal, in this basis.

    Without errors there are none. Without a basis, both are those of ``noise``.
    """

    law: NoiseLaw
    deviation: float
    basis: Floats | None = None
    values: Floats | None = None
    errors: Floats | None = None


@dataclass(frozen=True, eq=False)
class MeanNoise:
    """The standard deviation of the noise of each entry, NaN where not known; a noisy n moves the mean from ``centre``."""

    deviation: Floats
    centre: Floats
    relative: float = 0.0


@dataclass(frozen=True, eq=False)
class ConfidenceBall:
    """The mean lies where ‖whitener·(mean − centre)‖ ≤ radius: a ball where the covariance was taken to be a multiple of 1.

    Attributes
    ----------
    centre, radius, whitener
        Of the region, in the data's units.
    beta : float
        The probability that the mean lies outside, for rows drawn from a Gaussian.
    proved : bool
        Whether that is a theorem, with ``constants="proved"``; else it is a measured rule.
    """

    centre: Floats
    radius: float
    whitener: Floats
    beta: float
    proved: bool

    def contains(self, mean: ArrayLike) -> bool:
        """Whether a mean lies in it."""
        return bool(np.linalg.norm(self.whitener @ (np.asarray(mean) - self.centre)) <= self.radius)


@dataclass(frozen=True, eq=False)
class ConfidenceEllipsoids:
    """The covariance lies between: inner ⪯ Σ ⪯ outer.

    inner may have negative eigenvalues: it says nothing along them. outer is infinite where there are too few rows to bound it.

    Attributes
    ----------
    inner, outer : array of shape (d, d)
        The two bounds, in the data's units.
    beta, proved
        As in `ConfidenceBall`.
    """

    inner: Floats
    outer: Floats
    beta: float
    proved: bool

    def contains(self, covariance: ArrayLike) -> bool:
        """Whether a covariance lies between the two."""
        between = np.asarray(covariance, dtype=np.float64)
        if not np.isfinite(self.outer).all():
            return bool(np.linalg.eigvalsh(between - self.inner)[0] >= 0)
        return bool(min(np.linalg.eigvalsh(between - self.inner)[0], np.linalg.eigvalsh(self.outer - between)[0]) >= 0)
