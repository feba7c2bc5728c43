r"""What people read of a release: means, deviations and correlations, each with its standard error.

``about="population"``, the default: standard errors about the people that the rows were drawn from, of noise and of that draw
together, by the formulas of `sampling`. Tables in private units have them, and the estimates, from `Release.interval`, which
gives back what weights and ranges took. ``about="rows"``: of the noise alone. A mean that comes without a covariance does not
tell how rows vary, and has those of the noise, whatever was asked.

A number is *clear of noise* where it is further than three standard errors away from what noise alone would show (for noise
with longer tails: further than it goes as rarely): a deviation or a correlation from 0, a mean from the nearest public bound
(without a schema: from 0). A correlation is clear only where both of its deviations are: else nobody knows what it was divided
by.

Deviations and correlations that are clear come from the *raw* noisy matrix, as only its errors are known: denoising draws them
towards 0, by more than their standard errors where there are many columns. They must be clear by both, as the largest of many
raw numbers are large by chance. Those that are not clear are the denoised ones.

Standard errors of noisy matrices and sums are exact; those of directions, and of values that were asked apart, hold to first
order. Where rows were clipped at a privately chosen radius, a third of what that may have taken from means and covariances is
added: with few rows the choice itself is noise, and all rows may have been shortened to next to nothing. A common factor
cancels in correlations.

Which deviations are clear depends on the noise alone: rows that vary come from a population that does. A correlation of
different columns is clear only where it is further from 0 than three times what noise and the draw of rows, 1/√n, make
together, whatever it is about: columns that are independent have correlations in any n rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, shown
from dpcov.release.estimate import NoisyCoordinates, PrivateUnits, error_of_spread
from dpcov.release.record import Release
from dpcov.results import Drawable, Result
from dpcov.schema import Categorical
from dpcov.uses.clipping import knows_no_mean, most_lost
from dpcov.uses.correlation import denoised_correlation
from dpcov.uses.held import holds_covariance, is_centered
from dpcov.uses.intervals import Interval, Intervals
from dpcov.uses.noise_level import Eigenbasis
from dpcov.uses.sampling import POPULATION, ROWS, about_population, pairs_seen
from dpcov.uses.selection import column_of_feature, column_places

if TYPE_CHECKING:
    from dpcov.uses.spectrum import Spectrum

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

CLEAR = 3.0  # standard errors: normal noise exceeds them once in 370 numbers,
SURELY = 2.0  # standard errors that a correlation is weaker than it seems, where pairs are sorted by their strength
RARELY = math.erf(CLEAR / math.sqrt(2))  # and stays within them with this probability


@dataclass(frozen=True, eq=False)
class Reading:
    """Numbers with their standard errors.

    Attributes
    ----------
    values : array
        The estimates.
    standard_error : array
        Infinite where noise drowns everything, NaN where the release does not tell.
    clear : array of bool
        Whether a number can be told from noise.
    """

    values: Floats
    standard_error: Floats
    clear: Flags

    def __post_init__(self) -> None:
        for array in (self.values, self.standard_error, self.clear):
            array.flags.writeable = False

    @property
    def known(self) -> bool:
        """Whether the size of the noise is known at all."""
        return not bool(np.isnan(self.standard_error).any())


@dataclass(frozen=True, eq=False, repr=False)
class Correlation(Reading, Drawable):
    """Correlations with their standard errors: square arrays, a row for each feature.

    Attributes
    ----------
    feature_names : tuple of str
        What rows and columns of the arrays belong to.
    columns : tuple of str
        The column of each feature: the levels of one share it.
    release : Release
        What they were read of.
    about : {"population", "rows"}
        What standard errors are about.
    """

    feature_names: tuple[str, ...]
    columns: tuple[str, ...]
    release: Release = field(repr=False)
    about: str = ROWS

    def pairs(self, *, clear: bool = True) -> list[tuple[int, int]]:
        """Return the pairs of features of different columns, the strongest first; unless told otherwise only clear ones.

        As strong counts what a correlation has at least, its size less two standard errors, where these are known: of many, the
        largest are large because their noise is.
        """
        if not isinstance(clear, bool):
            raise ParameterError(f"clear must be True or False, got {shown(clear)}. Hint: False has those in the noise, too.")
        _, numbers = np.unique(np.array(self.columns), return_inverse=True)
        rows, others = np.triu_indices(len(self.columns), 1)
        wanted = numbers[rows] != numbers[others]
        if clear:
            wanted &= self.clear[rows, others]
        rows, others = rows[wanted], others[wanted]
        least = np.abs(self.values[rows, others]) - (SURELY * self.standard_error[rows, others] if self.known else 0.0)
        order = np.argsort(-least, kind="stable")
        return list(zip(rows[order].tolist(), others[order].tolist(), strict=True))

    def __repr__(self) -> str:
        return f"<Correlation: {len(self.pairs())} of {len(self.pairs(clear=False))} pairs clear of noise>"


@dataclass(frozen=True, eq=False, repr=False)
class Description(Result):
    """What a release says of its columns, and how certain that is: see `Release.describe`.

    Attributes
    ----------
    feature_names : tuple of str
        What the numbers belong to.
    columns : tuple of str
        The column of each feature: the levels of one share it.
    is_level : array of bool
        Which features are levels: their means are shares, and their deviations follow from them.
    mean, deviation : Reading or None
    correlation : Correlation or None
        In the data's units; None where the release holds none. Of a release that is not centred, ``deviation`` are root mean
        squares and ``correlation`` cosines about 0.
    release : Release
        What it was made of.
    about : {"population", "rows"}
        What standard errors are about: noise and the draw of rows together, or the noise alone. A release without a covariance
        does not tell how rows vary, and has the second.
    """

    feature_names: tuple[str, ...]
    columns: tuple[str, ...]
    is_level: Flags
    mean: Reading | None
    deviation: Reading | None
    correlation: Correlation | None
    release: Release = field(repr=False)
    about: str = ROWS

    def pairs(self, *, clear: bool = True) -> list[tuple[int, int]]:
        """Return the pairs of features of different columns, by the size of their correlation; only clear ones unless told."""
        return [] if self.correlation is None else self.correlation.pairs(clear=clear)

    @property
    def nothing(self) -> bool:
        """Whether no deviation and no correlation is clear of noise, as far as its size is known."""
        if self.deviation is None or not self.deviation.known:
            return False
        return not self.deviation.clear[~self.is_level].any() and not self.pairs()

    @property
    def spectrum(self) -> Spectrum:
        """Eigenvalues of the correlations; of an uncentred second moment, whose columns share a unit, its own."""
        from dpcov.uses.spectrum import spectrum

        return spectrum(self.release, self)

    def __repr__(self) -> str:
        held = [name for name in ("mean", "deviation", "correlation") if getattr(self, name) is not None]
        return f"<Description of {len(self.feature_names)} features: {', '.join(held) or 'nothing'}>"


def describe(release: Release, about: str = POPULATION) -> Description:
    """Return means, deviations and correlations with their standard errors: see `Release.describe`."""
    found = _of_rows(release)
    if not about_population(about) or found.deviation is None:
        return found
    from dpcov.uses.people import given_back, with_people

    return with_people(found) if release.estimate.units is None else given_back(found)


def _of_rows(release: Release) -> Description:
    """Return what is about the rows alone, over the noise."""
    names = release.feature_names
    levels = np.zeros(release.d, dtype=np.bool_)
    if release.schema is not None:
        for name, place in column_places(release.schema).items():
            levels[place] = isinstance(release.schema.used[name], Categorical)
    columns = tuple(column_of_feature(release.schema, names))
    if release.estimate.units is not None:
        return _in_units(release, release.estimate.units, columns, levels)
    around = around_raw(release)
    mean = None if release.estimate.mean is None else _mean(release, levels, around)
    if not holds_covariance(release):
        return Description(names, columns, levels, mean, None, None, release)
    entries, lost = entries_of(release, around, clipping=False), most_lost(release, squared=True)
    # What clipping takes from a variance leaves it positive: noise alone decides whether there is one, unless most is lost.
    reach = entries.reach if lost <= 1 else np.full_like(entries.reach, np.inf)
    errors = entries.standard_error if lost == 0 else entries_of(release, around).standard_error
    deviation = _deviation(release, levels, _Raw(entries.values, errors, reach), mean)
    correlation = _correlation(release, columns, levels, entries, mean, deviation)
    return Description(names, columns, levels, mean, deviation, correlation, release)


def _in_units(release: Release, units: PrivateUnits, columns: tuple[str, ...], levels: Flags) -> Description:
    """Return what was found in private units: there each estimate has its own noise, and is shrunk by it unless it is clear."""
    means = np.where(levels, np.clip(release.mean, 0.0, 1.0), release.mean)
    error = units.mean_error * release.units
    mean = Reading(means, error, inside(release, means) > CLEAR * error)
    widths, of_width = units.deviation * release.units, units.deviation_error * release.units
    with np.errstate(all="ignore"):
        p, of_share = means, error
        of_level = error_of_spread(p, of_share)
        spread = np.sqrt(np.maximum(p * (1 - p), 0.0))
        widths = np.where(levels, spread, widths)
        of_width = np.where(levels, np.sqrt(spread**2 + of_level) - spread, of_width)
        of_variance = 2 * widths * of_width + of_width**2
        deviation = Reading(widths, of_width, widths**2 > CLEAR * of_variance)
        relative = np.where(levels, of_level / spread**2, units.variance_noise)
        noise = np.sqrt(units.correlation_error**2 + units.raw_correlation**2 / 4 * np.add.outer(relative**2, relative**2))
        same = np.equal.outer(units.column, units.column) & levels
        odds = of_share / (p * (1 - p))
        noise = np.where(same, np.abs(units.correlation) / 2 * np.hypot.outer(odds, odds), noise)
        both = np.logical_and.outer(deviation.clear, deviation.clear)
        least = np.minimum(np.abs(units.correlation), np.abs(units.raw_correlation))
        clear = both & (least > CLEAR * np.hypot(noise, np.where(same, 0.0, of_draw(release))))
    noise = np.where(np.isnan(noise), np.inf, np.maximum(noise, noise.T))
    clear &= clear.T
    np.fill_diagonal(noise, 0.0)
    np.fill_diagonal(clear, deviation.clear)
    values = np.where(clear, units.raw_correlation, units.correlation)
    correlation = Correlation(values, noise, clear, release.feature_names, columns, release)
    return Description(release.feature_names, columns, levels, mean, deviation, correlation, release)


def of_odds(correlation: Floats, mean: Reading) -> Floats:
    """Return standard errors of −√(p·q/((1 − p)(1 − q))), the correlation of two levels of a column."""
    odds = mean.standard_error / (mean.values * (1 - mean.values))
    return np.asarray(np.abs(correlation) / 2 * np.hypot.outer(odds, odds))


@dataclass(frozen=True, eq=False)
class _Raw:
    """Raw estimates (where there are none: the estimates), their standard errors, and how far noise reaches."""

    values: Floats
    standard_error: Floats
    reach: Floats


def around_raw(release: Release) -> Intervals | None:
    """Return intervals as wide as noise reaches; None where no entry has noise of a known size."""
    return None if release.estimate.raw is None else release.interval(RARELY, about="rows")


def _mean(release: Release, levels: Flags, around: Intervals | None) -> Reading:
    """Return means: inside the bounds by more than their noise reaches where they are clear."""
    values = np.where(levels, np.clip(release.mean, 0.0, 1.0), release.mean)
    found = None if around is None else around.unbounded_mean
    raw = _of_errors(values, _mean_errors(release)) if found is None else _of_interval(found)
    away = np.minimum(inside(release, values), inside(release, raw.values))
    return Reading(values, raw.standard_error, away > raw.reach)


def _of_interval(found: Interval) -> _Raw:
    with np.errstate(all="ignore"):
        return _Raw(found.estimate, found.standard_error, (found.upper - found.lower) / 2)


def _of_errors(values: Floats, errors: Floats) -> _Raw:
    return _Raw(values, errors, CLEAR * errors)


def inside(release: Release, means: Floats) -> Floats:
    """Return how far means are inside the public bounds; without a schema, how far from 0."""
    if release.schema is None:
        return np.abs(means)
    low, high = release.schema.bounds()
    return np.minimum(means - low, high - means)


def _mean_errors(release: Release) -> Floats:
    """Return the standard errors of a mean that is no part of a raw matrix, in the data's units; NaN where nothing tells.

    Infinite where rows are so few that the radius at which they were clipped is noise itself.
    """
    noise = release.estimate.mean_noise
    if knows_no_mean(release):
        return np.full(release.d, np.inf)
    with np.errstate(all="ignore"):
        if noise is not None:  # a noisy count divides the distance from what the sum was about
            moved = (release.mean - release.offsets) / release.units - noise.centre
            return np.asarray(np.hypot(noise.deviation, noise.relative * moved) * release.units)
        level = None if release.estimate.noise is None else release.noise_level
        if not isinstance(level, Eigenbasis) or level.mean is None:
            return np.full(release.d, np.nan)
        return np.asarray(np.sqrt(level.mean_variances()) * release.units)


def entries_of(release: Release, around: Intervals | None, *, clipping: bool = True) -> _Raw:
    """Return the raw covariance with its noise, and with what clipping may have taken unless told otherwise."""
    if around is not None:
        return _of_interval(around.entries if clipping else around.noisy_entries)
    noise = release.estimate.noise
    if noise is None:  # nothing was asked, or it does not tell
        return _of_errors(
            release.covariance, np.full((release.d, release.d), math.nan if release.covariance.any() else math.inf)
        )
    scale_error = noise.scale_error if isinstance(noise, NoisyCoordinates) else 0.0
    with np.errstate(all="ignore"):
        errors = np.sqrt(release.noise_level.entry_variances()) * np.outer(release.units, release.units)
        return _of_errors(release.covariance, np.hypot(errors, scale_error * release.covariance))


def _deviation(release: Release, levels: Flags, entries: _Raw, mean: Reading | None) -> Reading:
    """Return roots of variances; those of levels are √(p(1 − p)), and known as well as p is."""
    raw, noise, reach = (part.diagonal().copy() for part in (entries.values, entries.standard_error, entries.reach))
    if mean is not None and levels.any():
        p, error = mean.values[levels], mean.standard_error[levels]
        raw[levels], noise[levels] = p * (1 - p), error_of_spread(p, error)
        reach[levels] = CLEAR * noise[levels]
    with np.errstate(all="ignore"):
        denoised = np.where(levels & (mean is not None), raw, np.maximum(release.covariance.diagonal(), 0.0))
        clear = np.minimum(raw, denoised) > reach
        variances = np.where(clear, raw, denoised)
        roots = np.sqrt(variances)
        errors = np.sqrt(variances + noise) - roots  # the upper end: a variance near 0 has no tangent
    return Reading(roots, errors, clear)


def of_draw(release: Release) -> Floats:
    """Return the standard error that the draw of rows gives to the correlation of independent columns, 1/√n of their cells."""
    if not is_centered(release):
        return np.zeros((release.d, release.d))  # cosines about 0 are not 0 for independent columns
    return np.asarray(1 / np.sqrt(pairs_seen(release)))


def _correlation(
    release: Release, columns: tuple[str, ...], levels: Flags, entries: _Raw, mean: Reading | None, deviation: Reading
) -> Correlation:
    """Return correlations, with the noise of what they were divided by."""
    denoised, roots = denoised_correlation(release), deviation.values
    both = np.logical_and.outer(deviation.clear, deviation.clear)
    with np.errstate(all="ignore"):
        values, noise, reach = (
            part / np.maximum.outer(roots, roots) / np.minimum.outer(roots, roots)  # in this order: units may be extreme
            for part in (entries.values, entries.standard_error, entries.reach)
        )
        values = np.clip(values, -1.0, 1.0)
        relative = np.where(levels, (1 + deviation.standard_error / roots) ** 2 - 1, noise.diagonal())  # errors of variances
        noise = np.sqrt(noise**2 + values**2 / 4 * np.add.outer(relative**2, relative**2))
        least = CLEAR * np.hypot(noise, of_draw(release))
        clear = both & (np.minimum(np.abs(values), np.abs(denoised)) > np.maximum(reach, least))
        if mean is not None and levels.any():  # levels of one column: −√(p·q/((1 − p)(1 − q))), by their shares alone
            same = np.equal.outer(np.array(columns), np.array(columns)) & levels
            values = np.where(same, denoised, values)
            noise = np.where(same, of_odds(values, mean), noise)
            clear = np.where(same, both & (np.abs(values) > CLEAR * noise), clear)
    undefined = math.nan if np.isnan(entries.standard_error).all() else math.inf  # not known, or of a deviation of 0
    noise = np.where(np.isnan(noise), undefined, np.maximum(noise, noise.T))  # units in another order differ in the last digit
    clear &= clear.T
    values = np.triu(np.where(clear, values, denoised))
    values += np.triu(values, 1).T
    for matrix, own in ((values, 1.0), (noise, 0.0), (clear, deviation.clear)):
        np.fill_diagonal(matrix, own)
    return Correlation(values, noise, clear, release.feature_names, columns, release)
