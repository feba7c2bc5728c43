"""Goodness-of-fit tests with a stated size, their power, and exact laws to compare with.

Every test of this folder uses `SIZE`: correct code is rejected with probability one in a million.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import mpmath
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

SIZE = 1e-6
MIN_EXPECTED = 20  # draws per cell: below it the chi-square law of the statistic is too rough an approximation

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Cells:
    """Integers cut into ranges: cell i holds (edges[i−1], edges[i]], the first and last reach to infinity."""

    edges: Integers
    probabilities: Floats

    def counts(self, draws: Integers) -> Integers:
        cells = np.searchsorted(self.edges, draws, side="left")
        return np.bincount(cells, minlength=len(self.edges) + 1)

    def p_value(self, draws: Integers) -> float:
        return chi_square(self.counts(draws), self.probabilities)


def chi_square(counts: ArrayLike, probabilities: ArrayLike) -> float:
    """Return the p-value of Pearson's test of the counts against the probabilities."""
    observed = np.asarray(counts, dtype=np.float64)
    expected = observed.sum() * np.asarray(probabilities, dtype=np.float64)
    groups = _pool(expected)
    observed, expected = _sums(observed, groups), _sums(expected, groups)
    if len(expected) == 1:
        raise ValueError("one cell is left after pooling: draw more")
    return float(stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), len(expected) - 1))


def two_samples(first: ArrayLike, second: ArrayLike) -> float:
    """Return the p-value of Pearson's test that two rows of counts have one law."""
    table = np.array([first, second], dtype=np.float64)
    groups = _pool(table.sum(axis=0) * table.sum(axis=1).min() / table.sum())
    pooled = np.stack([_sums(row, groups) for row in table])
    expected = np.outer(pooled.sum(axis=1), pooled.sum(axis=0)) / pooled.sum()
    return float(stats.chi2.sf(((pooled - expected) ** 2 / expected).sum(), pooled.shape[1] - 1))


def miss(right: Cells, wrong: Cells, draws: int) -> float:
    """Return the probability that draws from ``wrong`` pass the test for ``right``.

    The statistic is then noncentral chi-square, with the noncentrality n·Σ (q − p)²/p.
    """
    if not np.array_equal(right.edges, wrong.edges):
        raise ValueError("the two laws must be cut at the same edges")
    expected = draws * right.probabilities
    groups = _pool(expected)
    p, q = _sums(expected, groups), _sums(draws * wrong.probabilities, groups)
    return float(stats.ncx2.cdf(stats.chi2.isf(SIZE, len(p) - 1), len(p) - 1, ((q - p) ** 2 / p).sum()))


def two_sided(value: float, degrees: float) -> float:
    """Return the two-sided p-value of a value that is chi-square with these degrees of freedom."""
    return float(2 * min(stats.chi2.sf(value, degrees), stats.chi2.cdf(value, degrees)))


def laplace_cells(scale: float, edges: Integers) -> Cells:
    """Cut the law P(x) ∝ exp(−|x|/scale) on the integers: closed form, at 40 digits."""
    with mpmath.workdps(40):
        ratio = mpmath.exp(-1 / mpmath.mpf(scale))

        def at_most(m: int) -> mpmath.mpf:
            return ratio ** (-m) / (1 + ratio) if m < 0 else 1 - ratio ** (m + 1) / (1 + ratio)

        return _cut(edges, [at_most(int(edge)) for edge in edges])


def gaussian_cells(sigma: float, edges: Integers) -> Cells:
    """Cut the law P(x) ∝ exp(−x²/(2σ²)) on the integers, at 40 digits.

    Up to σ = 100 by summing. Above, by the integral up to m + 1/2: it differs from the sum over integers ≤ m by about
    φ′/24 (Euler and Maclaurin), so a cell of 2 % of the mass is off by at most 1/σ² of itself, 2e-10 at σ = 2¹⁶.
    """
    with mpmath.workdps(40):
        if sigma > 100:
            return _cut(edges, [mpmath.ncdf((int(edge) + mpmath.mpf(1) / 2) / sigma) for edge in edges])
        reach = max(math.ceil(14 * sigma), *(abs(int(edge)) for edge in edges)) + 2
        weights = [mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * mpmath.mpf(sigma) ** 2)) for x in range(-reach, reach + 1)]
        total, running, at_most = mpmath.fsum(weights), mpmath.mpf(0), []
        for weight in weights:
            running += weight
            at_most.append(running / total)
        return _cut(edges, [at_most[int(edge) + reach] for edge in edges])


def quantile_edges(scale: float, quantiles: Floats) -> Integers:
    """Return the distinct integers nearest to scale × quantiles: some fifty cells, or one for each likely integer."""
    return np.unique(np.rint(scale * quantiles).astype(np.int64))


LAPLACE_QUANTILES: Floats = stats.laplace.ppf(np.arange(1, 50) / 50)
GAUSSIAN_QUANTILES: Floats = stats.norm.ppf(np.arange(1, 50) / 50)


def _cut(edges: Integers, at_most: list[mpmath.mpf]) -> Cells:
    steps = [mpmath.mpf(0), *at_most, mpmath.mpf(1)]
    return Cells(edges, np.array([float(b - a) for a, b in pairwise(steps)]))


def _pool(expected: Floats) -> Integers:
    """Number the groups of neighbouring cells that each expect `MIN_EXPECTED` draws or more."""
    groups, group, held = np.empty(len(expected), dtype=np.int64), 0, 0.0
    for index, amount in enumerate(expected):
        groups[index] = group
        held += amount
        if held >= MIN_EXPECTED:
            group, held = group + 1, 0.0
    if held:  # the leftover joins its neighbour
        groups[groups == group] = max(group - 1, 0)
    return groups


def _sums(values: Floats, groups: Integers) -> Floats:
    return np.asarray(np.bincount(groups, weights=values), dtype=np.float64)
