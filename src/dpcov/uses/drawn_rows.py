r"""Rows that are drawn as those of a table in private units may have been, with their weights: what a bootstrap is made of.

They have the released means and correlations: numbers by a normal copula with normal margins, others where a public bound is
near, cut at their ranges; levels by their shares; and cells are missing as often as in the release. Weighted and plain
statistics are of the same drawn rows, so that the chance in them all but cancels, and depend on the release only.

With w the weight of a row x, W = E w and L = a² + ‖x‖², the mean m(μ) = E[wx]/W of rows about μ has the derivative

.. math:: J = 1 - (2/W)·E[(x - m)x^T·w/L; \text{ long rows}],

so that μ = m − J⁻¹(m(m) − m), and an error of m becomes J⁻¹ times itself. What is missing of variances v of numbers, which is
v − E w(x − m)², has the derivatives, as v changes the distance of x from μ,

.. math:: D_{jk} = δ_{jk}·(1 - E[w(x_j - m_j)(x_j - μ_j)]/v_j) + E[(w/L)(x_j - m_j)^2x_k(x_k - μ_k); \text{ long rows}]/v_k.

The derivative of a weighted correlation by that of the normal numbers g beneath is taken with their score yyᵀ − Σ⁻¹, y = Σ⁻¹g.
What a statistic varies by over draws of rows is the variance of its influence function on drawn rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.bits import SeededBits
from dpcov.kernel.noise.normal import normals
from dpcov.release.estimate import PrivateUnits
from dpcov.uses.sampling import FAR, NEAR

Floats = NDArray[np.float64]

DRAWS = 4096  # rows, in pairs g and −g: what they say is known to two hundredths of itself
STEEPEST = 0.75  # sum of a row of D, or part that a slope is below 1: the scale of rows that are all long is not known
LEAST_VALUE = 1e-3  # of a correlation matrix: its inverse stays ordinary
LONG = 6.0  # deviations to the farther bound, from which on a column next to the other has a long tail
CLOSEST = 0.98  # r² of columns that are drawn, as a divisor
SCORES = np.linspace(-4.5, 4.5, 121)  # normal numbers at which the quantiles of a column are known


@dataclass(frozen=True, eq=False)
class WeightedRows:
    """Drawn rows x with their weights, 0 where cells are missing, of which a share ``seen`` of each coordinate is there."""

    rows: Floats
    weights: Floats
    long: Floats
    """w/L of long rows; 0 of others."""
    seen: Floats
    within: NDArray[np.bool_]

    @cached_property
    def weight(self) -> float:
        """The mean weight."""
        return float(self.weights.mean())

    @cached_property
    def mean(self) -> Floats:
        """The weighted mean."""
        return np.asarray(self.weights @ self.rows / self.weights.sum())

    @property
    def about(self) -> Floats:
        """The weighted mean less the plain one, of cells that are there."""
        return np.asarray((self.mean - self.rows.mean(axis=0)) / self.seen)

    @cached_property
    def inverse(self) -> Floats:
        """The inverse of what the weighted mean moves by as rows do."""
        x = self.rows
        moved = 2 / self.weight * (((x - self.mean).T * self.long) @ x) / len(x)
        return np.asarray(
            np.linalg.inv(np.eye(len(moved)) - moved * min(1.0, STEEPEST / max(float(np.linalg.norm(moved, 2)), 1e-9)))
        )

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        """Plain and weighted covariances of cells that are there; the latter were they not divided by the mean weight."""
        x, n = self.rows, len(self.rows)
        plain, mean = x.T @ x / n, x.mean(axis=0)
        weighted = (x.T * self.weights) @ x / n
        both = np.where(self.within, np.sqrt(np.outer(self.seen, self.seen)), np.outer(self.seen, self.seen))
        return (plain - np.outer(mean, mean)) / both, (weighted - self.weight * np.outer(self.mean, self.mean)) / both

    @property
    def lost(self) -> Floats:
        """What is missing of weighted covariances."""
        plain, weighted = self._moments
        return np.asarray(plain - weighted / self.weight)

    @property
    def whole(self) -> Floats:
        """What is missing of variances that are not divided by the mean weight."""
        plain, weighted = self._moments
        return np.asarray((plain - weighted).diagonal())

    def lost_correlation(self, numbers: NDArray[np.intp]) -> Floats:
        """Return what is missing of the correlations of numbers."""
        plain, weighted = (part[np.ix_(numbers, numbers)] for part in self._moments)
        roots, heavy = np.sqrt(plain.diagonal()), np.sqrt(weighted.diagonal())
        return np.asarray(plain / np.outer(roots, roots) - weighted / np.outer(heavy, heavy))

    def slopes(self, variances: Floats, numbers: NDArray[np.intp]) -> Floats:
        """Return D, of coordinates that are numbers."""
        rows, seen = self.rows[:, numbers], self.seen[numbers]
        plain, away = rows - rows.mean(axis=0) / seen, rows - self.mean[numbers]
        plain = np.where(rows == 0, 0.0, plain)  # a missing cell stays where it is
        found = (away**2 * self.long[:, None]).T @ (rows * plain)
        found[np.diag_indices(len(numbers))] += np.sum(plain**2 - self.weights[:, None] * away * plain, axis=0)
        return np.asarray(found / variances / len(rows) / seen[:, None])

    def drawn_means(self, numbers: NDArray[np.intp], averaged: Floats) -> Floats:
        """Return the variances of means, in parts of those without weights; of each a part is of weighted rows."""
        plain = (self.rows - self.rows.mean(axis=0))[:, numbers]
        heavy = ((self.rows - self.mean) * (self.weights / self.weight)[:, None]) @ self.inverse[numbers].T
        return np.asarray(np.mean((averaged * heavy + (1 - averaged) * plain) ** 2, axis=0) / np.mean(plain**2, axis=0))

    def drawn_variances(self, numbers: NDArray[np.intp], told: Floats, grown: Floats) -> Floats:
        """Return the variances of variances, likewise."""
        squares = (self.rows[:, numbers] - self.rows.mean(axis=0)[numbers]) ** 2 / self.seen[numbers]
        heavy = squares * (told * self.weights[:, None] + 1 - told)
        return np.asarray(np.var(heavy @ grown.T, axis=0) / np.var(squares, axis=0))

    def correlations(self, numbers: NDArray[np.intp], scores: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        """Return by how much errors of correlations grow, and their variances over draws in parts of (1 − r²)²/n."""
        y, precision = scores
        x, n = self.rows[:, numbers] - self.mean[numbers], len(self.rows)
        x = x / np.sqrt(np.mean(x**2, axis=0))
        relative = self.weights / self.weight
        more, both = (relative - 1)[:, None] / n, (x.T * relative) @ x / n
        roots = np.sqrt(both.diagonal())
        r = both / np.outer(roots, roots)
        of_product = (x * y * more).T @ (x * y) - precision * ((x * more).T @ x)
        of_square = (x**2 * y * more).T @ y - precision * (x**2 * more).sum(axis=0)[:, None]
        of_square = of_square / both.diagonal()[:, None]
        slope = (1 + of_product) / np.outer(roots, roots) - r / 2 * (of_square + of_square.T)
        x, heavy = x / roots, relative[:, None] ** 2 / n
        fourth = (x**2 * heavy).T @ x**2
        third, own = (x**3 * heavy).T @ x, fourth.diagonal()
        influence = fourth - r * (third + third.T) + r**2 / 4 * (2 * fourth + np.add.outer(own, own))
        np.fill_diagonal(slope, 1.0)
        np.fill_diagonal(influence, 1.0)
        np.fill_diagonal(r, 0.0)
        grown = 1 / np.clip(slope, 1 - STEEPEST, 1 / (1 - STEEPEST))
        return grown, grown**2 * influence / (1 - np.minimum(r**2, CLOSEST)) ** 2


@dataclass(frozen=True, eq=False)
class DrawnRows:
    """Drawn rows of coordinates about their means: numbers by a normal copula, levels by their shares."""

    numbers: NDArray[np.intp]
    tables: list[Floats]
    independent: Floats
    correlation: Floats
    cells: Floats
    there: NDArray[np.bool_] | None

    @classmethod
    def of(cls, units: PrivateUnits) -> DrawnRows:
        """Return rows like those of a release, before their numbers have variances and correlations."""
        from scipy.special import ndtr

        size = len(units.owner)
        independent, cells = independent_normals(size), np.zeros((DRAWS, size))
        numbers: list[int] = []
        tables: list[Floats] = []
        for column in dict.fromkeys(units.owner.tolist()):
            own, features = np.flatnonzero(units.owner == column), np.flatnonzero(units.column == column)
            if len(features) == 1:
                numbers.append(int(own[0]))
                tables.append(_own_quantiles(units, int(features[0])))
            else:
                one = units.high[features] - units.low[features]
                shares = np.maximum(
                    (units.centre[features] + units.back[features] @ units.mean - units.low[features]) / one, 0.0
                )
                shares = shares / shares.sum() if shares.sum() > 0 else np.full(len(one), 1 / len(one))
                levels = units.forward[np.ix_(features, own)] * one[:, None]
                chosen = np.searchsorted(np.cumsum(shares)[:-1], ndtr(independent[:, own[0]]))
                cells[:, own] = (levels - shares @ levels)[chosen]
        places = np.array(numbers, dtype=np.intp)
        sizes = np.sqrt(np.maximum(units.covariance.diagonal()[places], 1e-300))
        correlation = units.covariance[np.ix_(places, places)] / np.outer(sizes, sizes)
        return cls(places, tables, independent[:, places], correlation, cells, _there(units))

    def normal(self, missing: Floats | float) -> tuple[Floats, Floats]:
        """Return the normal numbers beneath, one for each column of numbers, and the root of their correlations.

        These are the measured ones with what is missing of them, as far as there are such.
        """
        return correlated(self.independent, self.correlation + missing)

    def weighted(self, units: PrivateUnits, variances: Floats, missing: Floats | float = 0.0) -> WeightedRows:
        """Return rows whose numbers have these variances, about the means of the release, with their weights."""
        seen, rows, normal = units.coordinate_seen, self.cells.copy(), self.normal(missing)[0]
        for j, (place, table) in enumerate(zip(self.numbers.tolist(), self.tables, strict=True)):
            one = np.interp(normal[:, j], SCORES, table)
            rows[:, place] = math.sqrt(variances[j]) * (one - one.mean()) / max(float(one.std()), 1e-300)
        rows += units.mean / seen
        if self.there is not None:
            rows *= self.there
            seen = self.there.mean(axis=0)
        long = units.weighing.corner**2 + np.sum(rows**2, axis=1)
        weights = np.minimum(1.0, units.weighing.row_norm**2 / long)
        short = np.where(weights < 1, weights / long, 0.0)
        return WeightedRows(rows, weights, short, seen, np.equal.outer(units.owner, units.owner))

    def scores(self, missing: Floats | float) -> tuple[Floats, Floats]:
        """Return Σ⁻¹g of the normal numbers g beneath, and Σ⁻¹."""
        normal, root = self.normal(missing)
        precision = np.asarray(np.linalg.inv(root @ root.T))
        return normal @ precision, precision


def correlated(independent: Floats, correlation: Floats) -> tuple[Floats, Floats]:
    """Return normal numbers with correlations that are near these, as far as there are such, and the root of theirs."""
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, LEAST_VALUE))
    root /= np.linalg.norm(root, axis=1, keepdims=True)
    return independent @ root.T, root


def _there(units: PrivateUnits) -> NDArray[np.bool_] | None:
    """Return which drawn cells are there; None: all."""
    from scipy.special import ndtr

    if (units.coordinate_seen >= 1).all():
        return None
    columns = list(dict.fromkeys(units.owner.tolist()))
    chances = ndtr(independent_normals(2 * len(columns))[:, len(columns) :])  # in any order, independent of cells
    which = np.array([columns.index(column) for column in units.owner.tolist()])
    return np.asarray(chances[:, which] < units.coordinate_seen)


@lru_cache(maxsize=8)
def independent_normals(size: int) -> Floats:
    """Return independent normal numbers, always the same, each with its negative."""
    half = normals(DRAWS // 2 * size, SeededBits(0)).reshape(-1, size)
    found = np.concatenate([half, -half])
    found.flags.writeable = False
    return found


def _own_quantiles(units: PrivateUnits, feature: int) -> Floats:
    """Return the quantiles of a column at `SCORES`: by its public bounds, and within the range in which it was measured."""
    mean = float(units.centre[feature] + units.back[feature] @ units.mean)
    reach = float(units.reach[feature])
    return np.clip(
        quantiles(-reach, reach, mean, float(units.divisor[feature]), SCORES), units.low[feature], units.high[feature]
    )


def quantiles(low: float, high: float, mean: float, variance: float, scores: Floats) -> Floats:
    """Return quantiles at normal scores: of a normal law far from public bounds, else of a beta law between them.

    Of a column next to one bound and far from the other, such as an income: of a lognormal law, which has the longer tail.
    """
    from scipy.special import betaincinv, ndtr

    width = max(high - low, 1e-300)
    part, relative = (mean - low) / width, variance / width / width
    if not 0 < part < 1 or min(part, 1 - part) > FAR * math.sqrt(max(relative, 0.0)):
        return np.asarray(mean + math.sqrt(max(variance, 0.0)) * scores)
    if min(part, 1 - part) < NEAR * math.sqrt(relative) and max(part, 1 - part) > LONG * math.sqrt(relative):
        near, away, side = (low, mean - low, 1.0) if part < 0.5 else (high, high - mean, -1.0)
        square = math.log1p(variance / away / away)
        return np.clip(near + side * away * np.exp(side * math.sqrt(square) * scores - square / 2), low, high)
    size = part * (1 - part) / min(max(relative, 1e-12), 0.9 * part * (1 - part)) - 1
    return np.asarray(low + width * betaincinv(part * size, (1 - part) * size, ndtr(scores)))
