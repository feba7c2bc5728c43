r"""What is asked of single columns, and how the answers are read: centres, variances, ranges, shares of levels.

Cells are between −1 and 1 here, their bounds. Noise of a mean over n rows is called ``noise``, in these units.

A column whose variance drowns in its noise gets a *range*: an interval with about M cells outside, chosen privately, stretched
by 2 about its middle. Then its moments are asked again, within the range, where the same noise is small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ReleaseError
from dpcov.kernel.answer import Answer
from dpcov.kernel.budget import ZCDP, PureDP
from dpcov.kernel.noise.laws import DiscreteLaplace
from dpcov.kernel.questions.moments import REPLACE
from dpcov.kernel.questions.table import MOST_BINS, MOST_BITS, ONE, ColumnMoments, Histograms, Interval, Range
from dpcov.kernel.rows.columns import Columns
from dpcov.schema import Categorical, Numeric, Schema

Floats = NDArray[np.float64]

PRIOR = 1 / 9  # the variance between bounds of −1 and 1 where nothing is known: a deviation of a third
TRUSTED = 0.1  # noise of a variance, or of a mean, at which half of the answer is that of `PRIOR`, or of the middle
DROWNED = {PureDP: 5.0, ZCDP: 4.0}  # times its noise: a smaller variance may be noise; Laplace noise has longer tails
STRETCH = 2  # a range is so many times the interval that was chosen
NARROWER = 0.7  # of the bounds: a wider range is not worth having
ALL_SEEN = {True: 7.0, False: 4.0}
"""Deviations of Laplace and of normal noise that a share of cells that are there may be below 1 where none should be missing:
once in 40 000 complete columns it is lower. One that seems to be all but empty is measured in units that are far off."""
LEAST_SEEN = 0.05  # share of cells that are there: divisors stay away from 0
NATS = 8.0  # by so much an interval that is far too wide is less likely: M = 2·NATS/ε′ cells are left outside
FINEST = 16  # halvings: cells in so narrow an interval are one value
WEIGHTS = {  # of a cell that is there, in parts of 1: the largest for which its count is free, or cheap, beside the moments
    (PureDP, True): Fraction(1, 4),
    (PureDP, False): Fraction(1, 4),
    (ZCDP, True): Fraction(141421, 100000),
    (ZCDP, False): Fraction(1, 2),
}


@dataclass(frozen=True)
class NumericColumn:
    """What is known of a column of numbers, −1 and 1 at its bounds.

    ``low`` and ``high`` are bins, ``noise`` the standard deviation of the noise of ``variance``; ``asked``: whether the moments
    within this range were, else they are a guess. Where the range is narrower than the bounds, ``outside`` is the share of
    cells that may be outside, and ``whole`` the mean between the bounds with the standard deviation of its noise.
    ``counted`` is the share of cells that are there by all answers together, with the standard deviation of its noise, and
    ``seen`` what it is taken to be.
    """

    low: int
    high: int
    bins: int
    mean: float = 0.0
    variance: float = PRIOR
    noise: float = PRIOR
    mean_noise: float = math.inf
    seen: float = 1.0
    counted: tuple[float, float] = (1.0, math.inf)
    asked: bool = False
    constant: bool = False
    nullable: bool = False
    outside: float = 0.0
    whole: tuple[float, float] | None = None

    @property
    def middle(self) -> float:
        """The middle of the range."""
        return (self.low + self.high) / self.bins - 1

    @property
    def half(self) -> float:
        """Half of the width of the range."""
        return (self.high - self.low) / self.bins

    @property
    def seen_noise(self) -> float:
        """The standard deviation of the noise of the share of cells that are there; 0 where all of them are."""
        return self.counted[1] if self.seen < 1 else 0.0


def histograms_of(columns: Columns) -> Histograms:
    """Return histograms as fine as memory allows."""
    most = (MOST_BINS // len(columns.numeric)).bit_length() - 1
    return Histograms(columns, min(MOST_BITS, most))


def moments_on(
    histograms: Histograms, columns: Sequence[NumericColumn], chosen: Sequence[int], weight: Fraction
) -> ColumnMoments:
    """Return the question of the moments of chosen columns within their ranges, and of how many cells are there.

    That count is free under replace: it moves no further with the moments than they do by themselves.
    """
    return ColumnMoments(histograms, tuple(Range(i, columns[i].low, columns[i].high, int(weight * ONE)) for i in chosen))


def weight_for(budget: PureDP | ZCDP, neighbors: str) -> Fraction:
    """Return the weight of a cell that is there."""
    return WEIGHTS[type(budget), neighbors == REPLACE]


def unknown(histograms: Histograms, schema: Schema) -> list[NumericColumn]:
    """Return columns of which nothing is known but their bounds, and whether cells may be missing."""
    numeric = [column for column in schema.used.values() if isinstance(column, Numeric)]
    return [NumericColumn(0, histograms.bins, histograms.bins, nullable=column.nullable) for column in numeric]


def with_moments(columns: Sequence[NumericColumn], answer: Answer, n: int) -> list[NumericColumn]:
    """Return the columns with what an answer says of their moments."""
    assert isinstance(answer.question, ColumnMoments)
    found, values, noise = list(columns), iter((answer.values / n).tolist()), answer.deviation / n
    for one in answer.question.ranges:
        total, squares = next(values), next(values)
        column = replace(found[one.column], low=one.low, high=one.high)
        if one.weight:
            counted = _both(column.counted, (next(values) * ONE / one.weight, noise * ONE / one.weight))
            seen = share_seen(counted[0], ALL_SEEN[is_laplace(answer)] * counted[1], nullable=column.nullable)
            column = replace(column, counted=counted, seen=seen)
        found[one.column] = _with_moments(column, total, squares, noise)
    return found


def _both(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    """Return the average of two answers to one question by the variances of their noise: a range leaves no cell out."""
    weight = 1 / (1 + (other[1] / one[1]) ** 2)
    return (1 - weight) * one[0] + weight * other[0], math.sqrt(weight) * other[1]


def is_laplace(answer: Answer | None) -> bool:
    """Whether the noise of an answer has the longer tails."""
    return answer is not None and isinstance(answer.law, DiscreteLaplace)


def share_seen(answered: float, reach: float, *, nullable: bool) -> float:
    """Return the share of cells that are there: all of them, where a column is not nullable and noise explains the rest."""
    if not nullable and answered > 1 - reach:
        return 1.0
    return min(max(answered, LEAST_SEEN), 1.0)


def _with_moments(column: NumericColumn, total: float, squares: float, noise: float) -> NumericColumn:
    """Divide by the share of cells that are there, whose own noise counts, too: of x/o it is x times that of o."""
    seen, of_seen = column.seen, column.seen_noise
    mean, square = min(max(total / seen, -1.0), 1.0), min(max(squares / seen, 0.0), 1.0)
    of_mean = math.hypot(noise, mean * of_seen) / seen
    # the square of a noisy mean has noise, too
    of_variance = math.hypot(noise, 2 * mean * noise, (square - 2 * mean**2) * of_seen) / seen
    within_bins = 1 / (3 * (column.high - column.low) ** 2)  # cells were moved to the middles of their bins
    found = square - mean**2 + of_mean**2 - within_bins
    trust = TRUSTED**2 / (TRUSTED**2 + of_variance**2)
    half = column.half
    return replace(
        column,
        mean=column.middle + half * mean * TRUSTED / (TRUSTED + of_mean**2),
        variance=max(trust * found + (1 - trust) * PRIOR, 0.0) * half**2,
        noise=of_variance * half**2,
        mean_noise=of_mean * half,
        asked=True,
        constant=False,
    )


def drowned(columns: Sequence[NumericColumn], budget: PureDP | ZCDP) -> list[int]:
    """Return the columns whose variance may be noise."""
    return [i for i, column in enumerate(columns) if column.variance < DROWNED[type(budget)] * column.noise]


def rows_outside(budget: PureDP | ZCDP, draws: int, share: Fraction) -> int:
    """Return M, the cells that each of some choices leaves outside at a share of the budget together."""
    if isinstance(budget, PureDP):
        return math.ceil(2 * NATS * draws / float(budget.epsilon * share))
    return math.ceil(2 * NATS / math.sqrt(8 * budget.rho * share / draws))


def share_outside(budget: PureDP | ZCDP, draws: int, rows: float) -> float:
    """Return the share for which these choices leave about so many cells outside."""
    if isinstance(budget, PureDP):
        return 2 * NATS * draws / (rows * float(budget.epsilon))
    return (2 * NATS / rows) ** 2 * draws / (8 * float(budget.rho))


def with_range(columns: Sequence[NumericColumn], answer: Answer, n: int) -> list[NumericColumn]:
    """Return the columns, one of them with the range that was chosen for it: constant, where all cells lie in one place."""
    question = answer.question
    assert isinstance(question, Interval)
    low, high, halvings = question.interval(int(answer.integers[0]))
    found, column = list(columns), columns[question.column]
    around = (high - low) * (STRETCH - 1) // 2
    wide = replace(column, low=max(low - around, 0), high=min(high + around, column.bins))
    if halvings == FINEST:
        place = replace(column, low=low, high=high)
        found[question.column] = replace(place, mean=place.middle, variance=place.half**2 / 3, constant=True)
    elif wide.high - wide.low < NARROWER * column.bins:
        guess = PRIOR * wide.half**2
        wide = replace(wide, outside=min(question.rows / n, 1.0), whole=(column.mean, column.mean_noise))
        found[question.column] = replace(wide, mean=wide.middle, variance=guess, noise=guess, mean_noise=wide.half, asked=False)
    return found


def read_columns(answers: Sequence[Answer], columns: Columns, schema: Schema, n: int) -> list[NumericColumn]:
    """Return what answers say of the columns of numbers, in the order in which they were asked, on the bins they are about."""
    if not columns.numeric:
        return []
    histograms: Histograms | None = None
    found: list[NumericColumn] = []
    for answer in answers:
        question = answer.question
        assert isinstance(question, ColumnMoments | Interval)
        if histograms is None:
            histograms, found = question.histograms, unknown(question.histograms, schema)
        if question.histograms != histograms:
            raise ReleaseError("release must hold answers about the same bins, got different bins. Hint: another version?")
        found = with_moments(found, answer, n) if isinstance(question, ColumnMoments) else with_range(found, answer, n)
    return found if histograms is not None else unknown(histograms_of(columns), schema)


@dataclass(frozen=True, eq=False)
class LevelColumn:
    """Shares of the groups of a column's levels, among cells that are there; the group of each level, and its part of it.

    ``noise`` is that of a level's share; infinite where shares were not asked for. The last share may be that of cells which
    are none of the levels. ``seen`` is the share of cells that are there, with noise of its own.
    """

    shares: Floats
    groups: NDArray[np.intp]
    parts: Floats
    noise: float
    seen: float
    seen_noise: float

    @property
    def pooled(self) -> NDArray[np.bool_]:
        """Which levels share a group."""
        return np.asarray(np.bincount(self.groups)[self.groups] > 1)


def grouped(columns: Columns, answer: Answer | None, n: int, least: float) -> list[NDArray[np.intp]]:
    """Return the group of each level of each column: its own, or the last one where its share is below ``least``."""
    found = []
    for shares in _level_shares(columns, answer, n):
        rare = shares < least if answer is not None else np.zeros(len(shares), dtype=np.bool_)
        groups = np.arange(len(shares))
        if rare.sum() > 1:
            groups[~rare], groups[rare] = np.arange(np.count_nonzero(~rare)), np.count_nonzero(~rare)
        found.append(groups)
    return found


def level_columns(
    schema: Schema, columns: Columns, answer: Answer | None, n: int, groups: Sequence[NDArray[np.intp]]
) -> list[LevelColumn]:
    """Return what an answer says of the columns of categories, whose levels were grouped so; without one all are alike."""
    nullable = [column.nullable for column in schema.used.values() if isinstance(column, Categorical)]
    noise = math.inf if answer is None else answer.deviation / n
    shares = _level_shares(columns, answer, n)
    reach = ALL_SEEN[is_laplace(answer)]
    return [_level_column(p, g, known, noise, reach) for p, g, known in zip(shares, groups, nullable, strict=True)]


def _level_shares(columns: Columns, answer: Answer | None, n: int) -> list[Floats]:
    counts = [count for _, count in columns.levels]
    if answer is None:
        return [np.full(count, 1 / count) for count in counts]
    return np.split(answer.values / n, np.cumsum(counts)[:-1])


def _level_column(shares: Floats, groups: NDArray[np.intp], nullable: bool, noise: float, reach: float) -> LevelColumn:
    of_sum = noise * math.sqrt(len(shares))
    there = share_seen(float(shares.sum()), reach * of_sum, nullable=nullable)
    seen, none = (there, 0.0) if nullable else (1.0, 1 - there)
    parts = np.ones(len(shares))
    for group in np.flatnonzero(np.bincount(groups) > 1):
        inside = groups == group
        small = np.maximum(shares[inside], 0.0)
        even = min(noise / max(float(small.mean()), 1e-12), 1.0)  # noisy shares of rare levels are drawn to their mean
        small = (1 - even) * small + even * small.mean()
        parts[inside] = small / small.sum() if small.sum() > 0 else 1 / len(small)
    of_group = np.maximum(np.bincount(groups, shares), 0.0)
    total = float(of_group.sum())
    known = of_group / total if total > 0 else np.full(len(of_group), 1 / len(of_group))
    if none > 0:
        known = np.append(known * (1 - none), none)
    return LevelColumn(known, groups, parts, noise / seen, seen, of_sum if seen < 1 else 0.0)
