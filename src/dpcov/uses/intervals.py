r"""Intervals for means, deviations, correlations, entries of a covariance and eigenvalues.

``about="rows"``: about the rows as they were encoded, over the noise alone, whose law is public. ``about="population"``: about
what the rows were drawn from; the variance of that draw, estimated by `sampling`, is added to the noise's. Where a private
choice of the radius may have clipped many rows, they are wider by what that may have taken; about the population what it took
from rows like these is given back instead, where that can be told. Their centres are *raw* estimates, not the denoised ones:
how far those are off for the matrix at hand, no interval can say.
docs/intervals.md derives them and says how often they held.

=============  =======================================================================================
code           mathematics
=============  =======================================================================================
``matrix``     :math:`H = M + E`, second moment about 0; variances ``off`` and ``diagonal`` of E
``mean``       :math:`\hat m = m + δ`, variance ``along`` of each entry of δ
``entries``    :math:`H - \hat m \hat m^T + v_m`, for :math:`C = M - m m^T`
``shift``      :math:`\sum_j v_{kj}/(w_k - w_j)`, what noise adds to the eigenvalue :math:`w_k`
``crowding``   :math:`\sum_j v_{kj}/(w_k - w_j)^2`, how far that can be trusted
=============  =======================================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcov.errors import check_real
from dpcov.release.estimate import PrivateUnits
from dpcov.release.record import Release
from dpcov.results import Drawable
from dpcov.uses.arrays import as_wide
from dpcov.uses.clipping import most_lost
from dpcov.uses.raw import ONE_DEVIATION, RawMoment, raw_moment
from dpcov.uses.sampling import ROWS, about_population, kurtosis, levels_of, pairs_seen, rows_seen, share_variance
from dpcov.uses.tails import quantile
from dpcov.uses.unit_intervals import ABOUT as ABOUT_UNITS
from dpcov.uses.unit_intervals import unit_eigenvalues, unit_entries, unit_means

if TYPE_CHECKING:
    from dpcov.uses.clipped_rows import LostByClipping
    from dpcov.uses.weights import CutByRanges, LostByWeights

Floats = NDArray[np.float64]

BOUND = 3.0  # standard errors that the most which clipping may have taken counts as
CROWDED = 0.07  # beyond it an eigenvalue's neighbours are so near that only the norm of the noise bounds its error
ABOUT = (
    "the rows as they were encoded; over the noise, and what a privately chosen radius may have taken; not over which rows "
    "were drawn, nor what a public radius or bounds took"
)
ABOUT_SCALE = (
    "the second moment of the clipped rows times the scale that gives back what clipping took, over the noise only; that "
    "clipping changes more than the scale is not in them"
)


ABOUT_POPULATION = (
    "the people that the rows were drawn from; over the noise, and over which rows were drawn, with errors whose size the "
    "release tells; numbers are taken to be normal or, near the ends of their ranges, to have a beta law: deviations of "
    "columns with longer tails come out too small, and too certain; not over what public bounds or a public radius took"
)


@dataclass(frozen=True, eq=False)
class Interval:
    """Intervals for one number or many, each of which holds with probability ``level``.

    Attributes
    ----------
    estimate : array
        Raw estimates, without bias where that is known. They may be impossible: a variance below 0, for example.
    lower, upper : array
        Infinite where the noise says nothing.
    standard_error : array
        Standard deviation of the error; where an interval is made of norms, half of its width at a level of 68 %.
    level : float
        The probability with which each of them holds: over the noise, and about the population over the draw of rows, too.
    """

    estimate: Floats
    lower: Floats
    upper: Floats
    standard_error: Floats
    level: float

    def __post_init__(self) -> None:
        for array in (self.estimate, self.lower, self.upper, self.standard_error):
            array.flags.writeable = False

    def contains(self, truth: ArrayLike) -> NDArray[np.bool_]:
        """Whether numbers lie in their intervals, one by one."""
        exact = as_wide("truth", truth, self.lower.shape)
        return np.asarray((self.lower <= exact) & (exact <= self.upper))

    def above_zero(self) -> Interval:
        """Return what is left of the intervals of numbers that are never negative."""
        return self.within(0.0, math.inf)

    def within(self, low: ArrayLike, high: ArrayLike) -> Interval:
        """Return what is left of the intervals of numbers that lie between bounds."""
        least, most = as_wide("low", low, self.lower.shape), as_wide("high", high, self.lower.shape)
        lower, upper = (np.clip(end, least, most) for end in (self.lower, self.upper))
        return Interval(self.estimate, lower, upper, self.standard_error, self.level)


@dataclass(frozen=True, eq=False, repr=False)
class Intervals(Drawable):
    """Intervals for what a release holds: see `Release.interval`.

    Attributes
    ----------
    level : float
        The probability with which each of them holds.
    about : str
        What they are about, and what they leave out.
    release : Release
        What it was made of.
    population : bool
        Whether they are about the population: over which rows were drawn, too.
    """

    level: float
    about: str
    release: Release = field(repr=False)
    _raw: RawMoment | PrivateUnits = field(repr=False)
    population: bool = False

    @cached_property
    def entries(self) -> Interval:
        """For each entry of the covariance (of an uncentred release: second moment), in the data's units."""
        lost = self.clipped
        return self._widened(self.noisy_entries, 0.0, squared=True) if lost is None else self._raw_entries(lost)

    @cached_property
    def variances(self) -> Interval:
        """For the diagonal of `entries`; in private units, about the population, squares of `deviations`."""
        found = self.entries
        if self.population and isinstance(self._raw, PrivateUnits):  # with what weights and ranges took
            roots = self.deviations
            with np.errstate(all="ignore"):
                error = np.hypot(2 * roots.estimate * roots.standard_error, roots.standard_error**2)
                return Interval(roots.estimate**2, roots.lower**2, roots.upper**2, error, self.level)
        parts = (found.estimate, found.lower, found.upper, found.standard_error)
        estimate, lower, upper, error = (part.diagonal().copy() for part in parts)
        return Interval(estimate, lower, upper, error, found.level).above_zero()

    @cached_property
    def noisy_entries(self) -> Interval:
        """The same over the noise alone, without what clipping may have taken: a common factor cancels in correlations."""
        raw = self._raw
        if isinstance(raw, PrivateUnits):
            units = self.release.units
            return interval(*unit_entries(raw, self.level, self._of_entries()), self.level, units[:, None], units[None, :])
        return self._raw_entries(None)

    def _raw_entries(self, lost: LostByClipping | None) -> Interval:
        """Return intervals for entries without private units, with what clipping took from rows like these."""
        raw, d = self._raw, self.release.d
        assert isinstance(raw, RawMoment)
        on, above = raw.peaked
        variance, peaked = raw.combined((raw.off, above), *_by_mean(raw, raw.mean[:, None], raw.mean[None, :]))
        variance, peaked = (np.array(np.broadcast_to(array, (d, d))) for array in (variance, peaked))
        diagonal = raw.combined((raw.diagonal, on), *_by_mean(raw, 2 * raw.mean, np.zeros(d)))
        for matrix, entries in zip((variance, peaked), diagonal, strict=True):
            np.fill_diagonal(matrix, entries)
        estimate = raw.covariance
        about_zero = estimate - np.outer(raw.mean, raw.mean)
        drawn = self._of_entries()
        if lost is not None:
            variance, drawn = variance * lost.on_entries, drawn * lost.drawn_entries + (lost.uncertain * lost.covariance) ** 2
            estimate = estimate + lost.covariance
        half, error = raw.half_width(variance, peaked, about_zero, self.level, drawn)
        np.fill_diagonal(estimate, estimate.diagonal() + raw.along)
        radius = self.release.clip_radius
        units = self.release.units * radius
        return interval(estimate, half + raw.step / 2, error, self.level, units[:, None], units[None, :])

    @cached_property
    def mean(self) -> Interval | None:
        """For each entry of the mean, in the data's units, within a schema's bounds; None where the release is not centred."""
        found, schema = self.unbounded_mean, self.release.schema
        return found if found is None or schema is None else found.within(*schema.bounds())

    @cached_property
    def unbounded_mean(self) -> Interval | None:
        """The same as far as noise and the draw of rows reach, past the bounds, too: what standard errors are told of."""
        raw = self._raw
        if not self.release.encoding.constant:
            return None
        if isinstance(raw, PrivateUnits):
            parts = unit_means(self.release, raw, self.level, self.taken, self._of_means())
            return interval(*parts, self.level, self.release.units, offsets=self.release.offsets)
        variance, peaked = np.full(self.release.d, raw.along), np.full(self.release.d, raw.peaked[1])
        middle, drawn, lost = raw.mean, self._of_means(), self.clipped
        if lost is not None:
            middle, variance = middle + lost.mean, variance * lost.on_means
            drawn = drawn * lost.drawn_means + (lost.uncertain * lost.mean) ** 2
        half, error = raw.half_width(variance, peaked, raw.mean, self.level, drawn)
        half = half + raw.step / 2 * np.sqrt(raw.along / raw.off)
        units = self.release.units * self.release.clip_radius
        found = interval(middle, half, error, self.level, units, offsets=self.release.offsets)
        return found if lost is not None else self._widened(found, self.release.offsets)

    @cached_property
    def deviations(self) -> Interval:
        """For each standard deviation (of an uncentred release: root mean square), in the data's units.

        Roots of the ends of an interval for the variance; of a level with share p, √(p(1 − p)) over the interval for p.
        """
        from dpcov.uses.spread_intervals import deviation_intervals

        return deviation_intervals(self)

    @cached_property
    def correlations(self) -> Interval:
        """For each correlation (of an uncentred release: cosine about 0), between −1 and 1.

        From −1 to 1 where the variance of one of the two is not clear of noise: nobody knows what was divided by.
        """
        from dpcov.uses.spread_intervals import correlation_intervals

        return correlation_intervals(self)

    @cached_property
    def taken(self) -> tuple[LostByWeights, CutByRanges] | None:
        """What smaller weights of long rows, and privately chosen ranges, took from rows like those of the release.

        It is added to what means, deviations and correlations are made of, about the population; None where nothing is.
        """
        from dpcov.uses.weights import cut_by_ranges, lost_by_weights

        if not self.population or not isinstance(self._raw, PrivateUnits):
            return None
        with np.errstate(all="ignore"):
            return lost_by_weights(self._raw), cut_by_ranges(self.release, self._raw)

    @cached_property
    def clipped(self) -> LostByClipping | None:
        """What clipping at a privately chosen radius took from rows like those of the release, in units of the radius.

        It is added to means and covariances, about the population; None where nothing is.
        """
        from dpcov.uses.clipped_rows import lost_by_clipping

        return lost_by_clipping(self.release) if self.population and isinstance(self._raw, RawMoment) else None

    @cached_property
    def _variances(self) -> Floats:
        """The variances of features, encoded (without private units: over the squared radius), for sampling errors."""
        raw, release = self._raw, self.release
        if isinstance(raw, PrivateUnits):
            scale, found, mean, error = release.units, raw.deviation**2, release.mean, raw.mean_noise * release.units
            found = np.maximum(found, raw.reported_noise)
        else:
            scale = release.units * release.clip_radius
            found = np.maximum(raw.covariance.diagonal() + raw.along, math.sqrt(raw.diagonal))
            mean, error = raw.mean * scale + release.offsets, math.sqrt(raw.along) * scale
        levels = levels_of(release)
        if release.encoding.constant and levels.any():
            with np.errstate(all="ignore"):
                found = np.where(levels, share_variance(mean, error) / scale / scale, found)
        return np.asarray(found)

    def _of_means(self) -> Floats | float:
        """Return the variances of means over the draw of rows; 0 about the rows."""
        return self._variances / rows_seen(self.release) if self.population else 0.0

    def _of_entries(self) -> Floats | float:
        """Return the variances of entries of the covariance over the draw of rows, as for normal rows; 0 about the rows."""
        if not self.population:
            return 0.0
        raw, v = self._raw, self._variances
        covariance = raw.raw if isinstance(raw, PrivateUnits) else raw.covariance
        with np.errstate(all="ignore"):
            found = (np.outer(v, v) + np.minimum(covariance**2, np.outer(v, v))) / pairs_seen(self.release)
        np.fill_diagonal(found, self._of_variances)
        return np.asarray(found)

    @property
    def _of_variances(self) -> Floats:
        """The variances of variances over the draw of rows, in the squared units of `_variances`; 0 about the rows."""
        release, v = self.release, self._variances
        if not self.population:
            return np.zeros(len(v))
        scale = release.units if isinstance(self._raw, PrivateUnits) else release.units * release.clip_radius
        with np.errstate(all="ignore"):
            found = (kurtosis(release, v * scale * scale) - 1) * v * v / rows_seen(release)
            if release.encoding.constant:  # (1 − 2p)²·p(1 − p): what p(1 − p) moves by as p does, and 2/n² of that where p is ½
                share = v * scale * scale
                of_level = v * v * (np.maximum(1 / np.maximum(share, 1e-300) - 4, 0.0) + 2 / rows_seen(release))
                found = np.where(levels_of(release), of_level / rows_seen(release), found)
        return np.asarray(found)

    @cached_property
    def eigenvalues(self) -> Interval:
        """For each eigenvalue of the encoded covariance, the largest first.

        Where an eigenvalue stands apart from the others: corrected for what noise adds on average. Elsewhere: as far from the
        raw one as the operator norm of the noise allows (Weyl's inequality), which is true of all of them at once.
        """
        raw, d, radius = self._raw, self.release.d, self.release.clip_radius
        if isinstance(raw, PrivateUnits):
            values, half, error = unit_eigenvalues(raw, self.level)
            half, error = (part + self._of_norm(values, often) for part, often in ((half, self.level), (error, ONE_DEVIATION)))
            return interval(values, half, error, self.level).above_zero()
        values, vectors = np.linalg.eigh(raw.covariance + raw.along * np.eye(d))
        values, along = values[::-1], (raw.mean @ vectors[:, ::-1]) ** 2
        gaps = values[:, None] - values[None, :]
        np.fill_diagonal(gaps, np.inf)
        with np.errstate(all="ignore"):  # equal eigenvalues: infinitely crowded
            between = (raw.off + raw.along * (along[:, None] + along[None, :])) / gaps
            shift, crowding = between.sum(axis=1), (between / gaps).sum(axis=1)
        apart = crowding <= CROWDED  # False for NaN
        crowding = np.where(apart, crowding, 0.0)
        own = np.maximum(raw.diagonal, 2 * raw.off * (d > 1)) * (1 + crowding)
        variance, peaked = raw.combined((own, raw.peaked[0]), (4 * raw.along * along, raw.peaked[1]))
        drawn = 2 * values**2 / self.release.independent_n if self.population else 0.0
        half, error = raw.half_width(variance, peaked, along - values, self.level, drawn)
        wide, one = (raw.norms(often)[0] + raw.along + self._of_norm(values, often) for often in (self.level, ONE_DEVIATION))
        half, error = np.where(apart, half + raw.step / 2, wide), np.where(apart, error, one)
        found = interval(values - np.where(apart, shift, 0.0), half, error, self.level, np.full(d, radius), np.full(d, radius))
        return self._widened(found, 0.0, squared=True).above_zero()

    def _of_norm(self, values: Floats, level: float) -> float:
        """Return what the norm of the error that a draw of normal rows adds stays below; 0 about the rows."""
        if not self.population:
            return 0.0
        root = math.sqrt(self.release.d) + math.sqrt(-2 * math.log1p(-level))  # Davidson and Szarek (2001), in units of √n
        part = root / math.sqrt(self.release.independent_n)
        return float(np.abs(values).max()) * (2 * part + part**2)

    def __repr__(self) -> str:
        return f"<Intervals of {self.release.d} features, each with probability {self.level:g}>"

    def _widened(self, found: Interval, zero: Floats | float, *, squared: bool = False) -> Interval:
        """Add what clipping at a privately chosen radius may have taken of the distance from what is encoded as 0."""
        lost = most_lost(self.release, squared=squared)
        if lost == 0:
            return found
        with np.errstate(all="ignore"):
            half, error, size = (found.upper - found.lower) / 2, found.standard_error, np.abs(found.estimate - zero)
            taken, error = lost * (size + half), np.hypot(error, lost * (size / BOUND + error))
            if self.population:  # one of several errors, of which none is at its worst where others are
                factor = float(quantile(np.array(0.0), self.level))
                taken = np.hypot(half, factor * lost * (size / BOUND + half)) - half
            return Interval(found.estimate.copy(), found.lower - taken, found.upper + taken, error, self.level)


def intervals(release: Release, level: float = 0.95, about: str = ROWS) -> Intervals:
    """Return intervals for what a release holds: see `Release.interval`.

    Parameters
    ----------
    level : float
        How often each interval holds.
    about : {"population", "rows"}
        What is to lie in them; "rows": over the noise alone.

    Raises
    ------
    ReleaseError
        Where there is no noisy second moment, or more than one answer makes the estimate.
    """
    checked, population = checked_level(level), about_population(about)
    if release.estimate.units is not None:
        return Intervals(checked, ABOUT_POPULATION if population else ABOUT_UNITS, release, release.estimate.units, population)
    raw = raw_moment(release)
    scaled = release.estimate.raw is not None and release.estimate.raw.by is not None
    text = ABOUT_POPULATION if population else ABOUT_SCALE if scaled else ABOUT
    return Intervals(checked, text, release, raw, population)


def checked_level(level: object) -> float:
    """Return a probability strictly between 0 and 1, or refuse it."""
    rule = "strictly between 0 and 1"
    return check_real("level", level, rule, math.nextafter(0.0, 1.0), math.nextafter(1.0, 0.0), "0.95 is the default")


def interval(
    estimate: Floats, half: Floats, error: Floats, level: float, *units: Floats, offsets: Floats | float = 0.0
) -> Interval:
    """Return an interval in other units; overflow makes it infinite, never NaN."""
    with np.errstate(all="ignore"):
        parts = [estimate, estimate - half, estimate + half, error]
        for unit in units:
            parts = [part * unit for part in parts]
        middle, lower, upper = (part + offsets for part in parts[:3])
    lower, upper = np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper)
    return Interval(np.array(middle), lower, upper, np.array(parts[3]), level)


def _by_mean(raw: RawMoment, first: Floats, second: Floats) -> tuple[tuple[Floats, float], ...]:
    """Return the variances that the noise of the mean adds to an entry of the covariance; none where there is no mean."""
    above = raw.peaked[1]
    return ((raw.along * first**2, above), (raw.along * second**2, above)) if raw.along > 0 else ()
