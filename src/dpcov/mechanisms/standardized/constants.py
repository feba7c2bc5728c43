"""The estimate of a table in which no column varied."""

from __future__ import annotations

import numpy as np

from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.questions.table import ColumnMoments, Interval, LevelCounts
from dpcov.kernel.rows.columns import Columns
from dpcov.mechanisms.standardized.by_group import rows_asked
from dpcov.mechanisms.standardized.columns import grouped, level_columns, read_columns
from dpcov.release.estimate import Estimate, NoisyCoordinates
from dpcov.release.record import Transcript


def of_constants(transcript: Transcript, columns: Columns) -> Estimate:
    """Return the estimate of a table in which no column varied: no second moment was asked for.

    Numbers lie where their intervals are, levels have the shares that were counted, and all is taken to be uncorrelated.
    """
    n, encoding, schema = rows_asked(transcript), transcript.encoding, transcript.encoding.schema
    counts = transcript.find(LevelCounts)
    asked = transcript.every(ColumnMoments, Interval)
    found = [] if schema is None else read_columns(asked, columns, schema, n)
    if schema is None or not all(one.constant for one in found) or (columns.levels and counts is None):
        transcript.take(SecondMoment)  # which is not there: refused
        raise AssertionError
    mean, covariance = np.zeros(encoding.d), np.zeros((encoding.d, encoding.d))
    for (number, reach), one in zip(columns.numeric, found, strict=True):
        feature = columns.features[number]
        mean[feature], covariance[feature, feature] = one.mean * reach, one.variance * reach**2
    levels = level_columns(schema, columns, counts, n, grouped(columns, counts, n, 0.0))
    for (number, _), level in zip(columns.levels, levels, strict=True):
        own = columns.own(number)
        p, unit = level.parts * level.shares[level.groups], 1 / encoding.units[own]
        mean[own], covariance[own, own] = p * unit, (np.diag(p) - np.outer(p, p)) * np.outer(unit, unit)
    known = NoisyCoordinates(np.diag(np.sqrt(covariance.diagonal())), 1.0)  # noise is all that there may be
    return Estimate(mean=mean, covariance=covariance, radius=encoding.row_norm, noise=known)
