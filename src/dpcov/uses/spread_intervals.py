r"""Intervals for standard deviations and correlations, of all that noise and, about a population, the draw of rows may do.

*Deviations.* An interval for the variance, with the noise of its entry and the sampling variance (κ − 1)σ⁴/n, whose ends' roots
are taken. That of a level is √(p(1 − p)) over the interval for its share p.

*Correlations.* With r the raw estimate, e the standard error that noise gives it, q the quantile of both laws together, and
(l, u) the ends of Fisher's interval with q for 1.96,

.. math:: r - \sqrt{(qe)^2 + (r - l)^2} \ \text{ to } \ r + \sqrt{(qe)^2 + (u - r)^2}.

Squares of distances add up as variances do (Zou and Donner 2008): without noise this is Fisher's interval, without a draw of
rows the noise's own. It never divides noise by 1 − r², which noise can make 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcov.release.estimate import PrivateUnits, error_of_spread
from dpcov.uses.sampling import fisher, levels_of, pairs_seen
from dpcov.uses.selection import column_of_feature
from dpcov.uses.tails import peaks, quantile
from dpcov.uses.unit_intervals import with_sampling

if TYPE_CHECKING:
    from dpcov.uses.intervals import Interval, Intervals
    from dpcov.uses.weights import CutByRanges, LostByWeights

Floats = NDArray[np.float64]

KNOWN = 3.0  # standard errors: a variance that is nearer to 0 divides nothing


def deviation_intervals(found: Intervals) -> Interval:
    """Return intervals for standard deviations, in the data's units."""
    from dpcov.uses.intervals import Interval

    release, raw = found.release, found._raw
    with np.errstate(all="ignore"):
        if isinstance(raw, PrivateUnits):
            squares = release.units**2
            variance, noise = _variances(raw, found.taken)
            drawn = found._of_variances * (1.0 if found.taken is None else found.taken[0].drawn_variances)
            half, error = with_sampling(noise, peaks(raw.law, len(raw.owner) + 1)[0], drawn, found.level)
            variance, half, error = variance * squares, half * squares, error * squares
        else:
            entries = found.entries
            variance, error = entries.estimate.diagonal(), entries.standard_error.diagonal()
            half = (entries.upper.diagonal() - entries.lower.diagonal()) / 2
        lower, upper = (np.sqrt(np.maximum(end, 0.0)) for end in (variance - half, variance + half))
        middle = np.sqrt(np.maximum(variance, 0.0))
        spread = np.where(middle > 0, np.minimum(error / (2 * middle), np.sqrt(error)), np.sqrt(error))
    levels, mean = levels_of(release), found.mean
    if mean is not None and levels.any():
        p = np.clip(mean.estimate, 0.0, 1.0)
        ends = [np.clip(end, 0.0, 1.0) for end in (mean.lower, mean.upper)]
        low, high = (np.sqrt(end * (1 - end)) for end in ends)
        inside = (ends[0] <= 0.5) & (ends[1] >= 0.5)
        own = np.sqrt(p * (1 - p))
        with np.errstate(all="ignore"):
            of_level = np.sqrt(own**2 + error_of_spread(p, mean.standard_error)) - own
        middle, spread = np.where(levels, own, middle), np.where(levels, of_level, spread)
        lower = np.where(levels, np.minimum(low, high), lower)
        upper = np.where(levels, np.where(inside, 0.5, np.maximum(low, high)), upper)
    lower, upper = np.nan_to_num(lower, nan=0.0, posinf=np.inf), np.where(np.isnan(upper), np.inf, upper)
    return Interval(middle, lower, upper, spread, found.level)


def correlation_intervals(found: Intervals) -> Interval:
    """Return intervals for correlations."""
    from dpcov.uses.intervals import Interval

    release, raw = found.release, found._raw
    levels, mean = levels_of(release), found.mean
    columns = np.unique(np.array(column_of_feature(release.schema, release.feature_names)), return_inverse=True)[1]
    with np.errstate(all="ignore"):
        if isinstance(raw, PrivateUnits):
            values, noise, peaked = raw.raw_correlation, raw.correlation_error, peaks(raw.law, len(raw.owner) + 1)[0]
            relative = raw.variance_noise.copy()
            if found.taken is not None:
                values = _unweighted(raw, found.taken[0].covariance, levels)
                given = found.taken[0].uncertain * (values - raw.raw_correlation)
                noise = np.hypot(noise * found.taken[0].on_correlations, given)
        else:
            # what clipping took of all rows alike cancels in a quotient
            entries, peaked = found.noisy_entries, raw.peaked[0]
            roots = np.sqrt(np.maximum(entries.estimate.diagonal(), 0.0))
            values, noise = _over(entries.estimate, roots), _over(_noise_of(found), roots)
            relative = noise.diagonal().copy()
        if mean is not None and levels.any():
            p = np.clip(mean.estimate, 0.0, 1.0)
            alone = raw.mean_noise * release.units if isinstance(raw, PrivateUnits) else _mean_noise_of(found)
            known = error_of_spread(p, alone) / (p * (1 - p))
            if not isinstance(raw, PrivateUnits):  # the larger of a noisy variance and p(1 − p) would be biased: p(1 − p)
                roots = np.where(levels, np.sqrt(p * (1 - p)), roots)
                values, noise = _over(entries.estimate, roots), _over(_noise_of(found), roots)
            relative = np.where(levels, known, relative)
        squares = relative**2
        noise = np.sqrt(noise**2 + values**2 / 4 * np.add.outer(squares, squares))
        if isinstance(raw, PrivateUnits):  # the noisy mean weight cancels as far as variances were divided by it
            divided = raw.weighing.divided
            noise = np.hypot(noise, values * raw.weight_error * (1 - np.add.outer(divided, divided) / 2))
        known_both = np.logical_and.outer(relative * KNOWN < 1, relative * KNOWN < 1)
        r = np.clip(values, -1.0, 1.0)
        n = pairs_seen(release)
        if found.taken is not None:
            n = np.maximum(n / found.taken[0].drawn_correlations, 4.0)  # as uncertain as so many normal rows
        drawn = (1 - np.minimum(np.abs(r), np.maximum(1 - noise, 0.0)) ** 2) ** 2 / n if found.population else np.zeros_like(r)
        total = noise**2 + drawn
        factor = quantile(np.nan_to_num(np.where(total > 0, noise**2 / total, 1.0), nan=1.0) ** 2 * peaked, found.level)
        below, above = factor * noise, factor * noise
        if found.population:
            inner = np.clip(r, -np.maximum(1 - noise, 0.0), np.maximum(1 - noise, 0.0))
            low, high = fisher(inner, n, factor)
            below, above = np.hypot(below, inner - low), np.hypot(above, high - inner)
        error = np.sqrt(total)
        if mean is not None and levels.any():  # levels of one column: −√(p·q/((1 − p)(1 − q))), by their shares alone
            same = np.equal.outer(columns, columns) & levels
            odds = np.sqrt(p / (1 - p))
            reach = found.unbounded_mean
            assert reach is not None
            of_odds = mean.standard_error / (p * (1 - p))
            inside = np.clip(-np.outer(odds, odds), -1.0, 0.0)
            own = np.abs(inside) / 2 * np.hypot.outer(of_odds, of_odds)
            factor = (reach.upper - reach.lower) / 2 / mean.standard_error
            half = own * np.maximum.outer(factor, factor)
            r, error = np.where(same, inside, r), np.where(same, own, error)
            below, above = np.where(same, half, below), np.where(same, half, above)
            known_both = np.where(same, np.isfinite(half), known_both)
        lower, upper = np.maximum(r - below, -1.0), np.minimum(r + above, 1.0)
    lower = np.where(known_both & ~np.isnan(lower), lower, -1.0)
    upper = np.where(known_both & ~np.isnan(upper), upper, 1.0)
    r, error = np.where(np.isnan(r), 0.0, r), np.where(np.isnan(error), np.inf, error)
    for matrix, own_value in ((r, 1.0), (lower, 1.0), (upper, 1.0), (error, 0.0)):
        np.fill_diagonal(matrix, own_value)
    return Interval(_symmetric(r), _symmetric(lower), _symmetric(upper), _symmetric(error), found.level)


def _variances(units: PrivateUnits, taken: tuple[LostByWeights, CutByRanges] | None) -> tuple[Floats, Floats]:
    """Return variances of encoded features and the standard errors of their noise.

    About the rows, that of the sum of weights is part of it. About the population what weights took is given back instead, to a
    moment that was divided by n and not by this sum: the noise of the sum is then in what was given back.
    """
    if taken is None:
        told, own = units.weighing.told, units.raw.diagonal()
        return units.deviation**2, np.hypot(units.reported_noise, told * units.weight_error * own)
    lost, cut = taken
    variance = lost.variance + cut.variance
    of_share = variance * units.seen_error / units.seen  # that all answers about a variance were divided by
    return variance, np.hypot(np.hypot(lost.variance_error, cut.variance_error), of_share)


def _unweighted(units: PrivateUnits, lost: Floats, levels: NDArray[np.bool_]) -> Floats:
    """Return the raw correlations with what weights took from covariances and variances of numbers."""
    roots = np.sqrt(units.divisor)
    more = units.divisor + units.weighing.divided * np.where(levels, 0.0, lost.diagonal())
    numbers = np.logical_and.outer(~levels, ~levels)
    found = units.raw_correlation * np.outer(roots, roots) + np.where(numbers, lost, 0.0)
    return np.where(numbers & (units.divisor > 0), _over(found, np.sqrt(np.maximum(more, 0.0))), units.raw_correlation)


def _noise_of(found: Intervals) -> Floats:
    """Return the standard errors that noise alone gives to entries, in the data's units."""
    import dataclasses

    return dataclasses.replace(found, population=False).noisy_entries.standard_error


def _mean_noise_of(found: Intervals) -> Floats:
    import dataclasses

    mean = dataclasses.replace(found, population=False).mean
    assert mean is not None
    return mean.standard_error


def _over(matrix: Floats, roots: Floats) -> Floats:
    """Divide by roots on both sides, in this order: units may be extreme."""
    return np.asarray(matrix / np.maximum.outer(roots, roots) / np.minimum.outer(roots, roots))


def _symmetric(matrix: Floats) -> Floats:
    """Return a matrix with the upper triangle below: units in another order differ in the last digit."""
    upper = np.triu(matrix)
    return np.asarray(upper + np.triu(matrix, 1).T)
