"""The mean of a column of numbers, from the weighted rows and from what was asked of the column itself."""

from __future__ import annotations

import math

from dpcov.kernel.questions.table import ONE
from dpcov.mechanisms.standardized.columns import NumericColumn

EXPLAINED = 3.0  # standard errors by which two answers about a mean may differ by noise alone
OF_FAR_END = 1 / 3
"""Rows that lost weight are taken to be a deviation from the mean of a column, or so much of what the range reaches farther to
one side of it than to the other: it was 0 to 0.7 of that on tables with skewed columns."""


def mean_of(column: NumericColumn, weighted: tuple[float, float], deviation: float, lost: float) -> tuple[float, float]:
    """Return the mean of a column and its standard error, from that of weighted rows and what the column was asked itself.

    Small weights of long rows take from the weighted mean, and a range takes from both. Each is counted as an error: by how
    much it may be, or by how much farther the answers are from each other than noise explains.
    """
    lopsided = abs(column.mean - column.middle)
    own = math.hypot(column.mean_noise, 1 / column.bins, column.half / ONE)  # cells count as the middles of bins, in steps
    apart = abs(column.mean - weighted[0]) - EXPLAINED * math.hypot(own, weighted[1])
    taken = max(lost * max(deviation, OF_FAR_END * 2 * lopsided), apart)
    within, error = averaged((weighted[0], math.hypot(weighted[1], taken)), (column.mean, own))
    if column.whole is None:
        return within, error
    whole = column.whole[0], math.hypot(column.whole[1], 1 / column.bins, 1 / ONE)
    return averaged((within, math.hypot(error, column.outside * lopsided)), whole)


def averaged(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Return the average of two numbers, each given with its standard error, that has the smallest error; and that error."""
    whole = math.hypot(one[1], other[1])
    if not 0 < whole < math.inf:
        return other
    part = (other[1] / whole) ** 2
    return part * one[0] + (1 - part) * other[0], one[1] * (other[1] / whole)
