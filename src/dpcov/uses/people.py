"""Descriptions about the people that rows were drawn from: the same readings with what the draw of rows adds to the noise.

Variances of the draw are those of `sampling`. Tables in private units have estimates and standard errors from
`Release.interval`, which gives back what weights and ranges took.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpcov.release.estimate import error_of_spread
from dpcov.uses.description import CLEAR, Correlation, Description, Reading, inside, of_odds
from dpcov.uses.sampling import POPULATION, kurtosis, rows_seen, share_variance

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def with_people(found: Description) -> Description:
    """Return the same numbers with the variances that the draw of rows adds to those of the noise."""
    assert found.deviation is not None
    assert found.correlation is not None
    release, levels, roots = found.release, found.is_level, found.deviation.values
    mean, seen = found.mean, rows_seen(release)
    with np.errstate(all="ignore"):  # extreme units and budgets overflow harmlessly inside
        noise = (roots + found.deviation.standard_error) ** 2 - roots**2
        variances = np.maximum(roots**2, np.where(np.isfinite(noise), noise, 0.0))
        drawn = np.sqrt(np.maximum(kurtosis(release, variances) - 1, 0.0) / seen) * variances
        if mean is not None:
            of_share = np.where(levels, share_variance(mean.values, mean.standard_error), variances)
            error = np.hypot(mean.standard_error, np.sqrt(of_share) / np.sqrt(seen))
            mean = Reading(mean.values, error, mean.clear & (inside(release, mean.values) > CLEAR * error))
            of_level = error_of_spread(mean.values, error)
        errors = np.hypot(noise, drawn)
        if mean is not None:
            errors = np.where(levels, of_level, errors)
        errors = np.sqrt(roots**2 + errors) - roots
        r, own = found.correlation.values, found.correlation.standard_error
        within = np.minimum(np.abs(r), np.maximum(1 - own, 0.0))  # an estimate of 1 is no certainty
        total = np.hypot(own, (1 - within**2) / np.sqrt(np.minimum.outer(seen, seen)))
        if mean is not None and levels.any():
            total = np.where(_same_levels(found), of_odds(r, mean), total)
    np.fill_diagonal(total, 0.0)
    deviation = Reading(roots, np.where(np.isnan(errors), found.deviation.standard_error, errors), found.deviation.clear)
    total = np.where(np.isnan(total), own, total)
    with np.errstate(all="ignore"):
        clear = found.correlation.clear & (np.abs(r) > CLEAR * total)
    np.fill_diagonal(clear, deviation.clear)
    return _about_people(found, mean, deviation, r, total, clear)


def given_back(found: Description) -> Description:
    """Return what a table in private units says of people: what weights and ranges took from its rows is given back.

    Not so of a group, whose estimates are drawn towards all groups together, and intervals are not: it has its estimates.
    """
    assert found.mean is not None
    assert found.deviation is not None
    assert found.correlation is not None
    release, levels = found.release, found.is_level
    intervals = release.interval(about=POPULATION)
    means, widths, pairs = intervals.mean, intervals.deviations, intervals.correlations
    assert means is not None
    alone = release.part is None or release.part.level is None
    values = np.where(levels, np.clip(means.estimate, 0.0, 1.0), means.estimate) if alone else found.mean.values
    error = _unknown_is_infinite(means.standard_error)
    with np.errstate(all="ignore"):
        mean = Reading(values, error, inside(release, values) > CLEAR * error)
        width = widths.estimate.copy() if alone else found.deviation.values
        deviation = Reading(width, _unknown_is_infinite(widths.standard_error), found.deviation.clear)
        total = _unknown_is_infinite(pairs.standard_error)
        clear = found.correlation.clear & (np.abs(pairs.estimate) > CLEAR * total)
    np.fill_diagonal(clear, deviation.clear)
    own = np.where(clear, pairs.estimate, found.correlation.values) if alone else found.correlation.values
    return _about_people(found, mean, deviation, own, total, clear)


def _about_people(
    found: Description, mean: Reading | None, deviation: Reading, values: Floats, errors: Floats, clear: Flags
) -> Description:
    names, columns, release = found.feature_names, found.columns, found.release
    correlation = Correlation(values, errors, clear, names, columns, release, POPULATION)
    return Description(names, columns, found.is_level, mean, deviation, correlation, release, POPULATION)


def _unknown_is_infinite(errors: Floats) -> Floats:
    return np.where(np.isnan(errors), np.inf, errors)


def _same_levels(found: Description) -> Flags:
    """Return which pairs are levels of one column."""
    columns = np.array(found.columns)
    return np.asarray(np.equal.outer(columns, columns) & found.is_level)
