r"""What private clipping took from a table in private units, found on drawn rows: a parametric bootstrap.

*Weights.* Rows count with weights f² = min(1, R²/(a² + ‖z‖²)): long ones less, so that variances come out too small, by a tenth
where there are 500 rows. How much depends on what rows are like. So rows are drawn with the released means and covariance,
numbers by a normal copula with normal margins, beta ones where an end of the range is near, levels by their shares. With Σ(S)
the weighted covariance of drawn rows of covariance S, the release has Ŝ = Σ(S), and S is found by steps S ← Ŝ + S − Σ(S). Both
covariances are of the same drawn rows, so that the chance in them all but cancels, and depend on the release only.

Other rows lose more or less, in about the measure in which their mean weight differs, which is released: what was found is
multiplied with (1 − released mean weight)/(1 − that of drawn rows), as far as the noise of the first allows.

*Ranges.* Cells beyond a privately chosen range count as its end. The law with the public bounds whose cut mean and variance are
those that were measured is found by steps, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.bits import SeededBits
from dpcov.kernel.noise.normal import normals
from dpcov.release.estimate import PrivateUnits
from dpcov.release.record import Release
from dpcov.uses.sampling import FAR

Floats = NDArray[np.float64]

DRAWS = 4096  # rows, in pairs z and −z: what they say is known to a hundredth of itself
STEPS = 2
UNLIKE = 0.3  # standard deviation, over laws of rows, of what is lost over what drawn rows lose
MOST = 2.0  # times what they lose
LARGER, STEEPEST = 0.1, 0.5  # of a covariance: the step in which slopes are found; and the steepest that is believed
ALONE = 0.6  # of the slope where all variances grow alike: about that where one does
CUTS = 3  # steps in which what a range cut off is found
MOST_CUT = 3.0  # times a variance within a range: what it may be without
UNLIKE_CUT = 0.5  # of what a range cut off: its standard error, as tails are the least known of a law
NARROWER = 1e-3  # of the public bounds: a range that is one
FINE = np.linspace(-6.0, 6.0, 241)
CHANCES = np.exp(-(FINE**2) / 2) / np.exp(-(FINE**2) / 2).sum()  # that a normal number is near each of these
SCORES = np.linspace(-4.5, 4.5, 121)  # normal numbers at which the quantiles of a column are known


@dataclass(frozen=True, eq=False)
class LostByWeights:
    """What weights took from a covariance of encoded features.

    Attributes
    ----------
    covariance : array
        What is missing of a weighted covariance, Σ f²zzᵀ/Σ f² about the weighted mean: for correlations, in which a factor
        cancels.
    whole : array
        What is missing of Σ f²zzᵀ/n, which does not divide by a noisy sum of weights: for variances.
    mean : array
        What is missing of a weighted mean.
    uncertain : float
        The standard error of all three, in parts of themselves.
    amplified : array
        By how much an error of a variance grows as what it lost is given back: noise that makes it larger makes that larger.
    """

    covariance: Floats
    whole: Floats
    mean: Floats
    uncertain: float
    amplified: Floats


def lost_by_weights(units: PrivateUnits) -> LostByWeights:
    """Return what weights took from rows like these, corrected by how many rows are long."""
    back = units.back / units.coordinate_seen
    size, features = len(units.owner), len(back)
    draw, found = _Rows.of(units), units.covariance
    lost = whole = np.zeros_like(found)
    weight, about = 1.0, np.zeros(size)
    for _ in range(STEPS + 1 if size else 0):
        weight, about, lost, whole = _weighted(units, draw.with_covariance(found + lost))
    if not size or weight >= 1:
        nothing = np.zeros((features, features))
        return LostByWeights(nothing, nothing, np.zeros(features), 0.0, np.ones(features))
    prior = UNLIKE * (1 - weight)
    known = prior**2 / (prior**2 + units.weight_error**2)
    ratio = min(max(1 + known * ((1 - units.weighing.weight) / (1 - weight) - 1), 0.0), MOST)
    numbers = np.isin(units.column, units.owner[draw.numbers])  # shares of levels are counted
    mean = np.where(numbers, -ratio * (back @ about), 0.0)
    more = _weighted(units, draw.with_covariance((found + lost) * (1 + LARGER)))[3]
    slope, own = back @ (more - whole) @ back.T, back @ (found + lost) @ back.T
    with np.errstate(all="ignore"):
        steep = np.nan_to_num(np.clip(ALONE * ratio * slope.diagonal() / (LARGER * own.diagonal()), 0.0, STEEPEST))
    weighted, divided = (np.asarray(ratio * (back @ part @ back.T)) for part in (lost, whole))
    return LostByWeights(weighted, divided, mean, UNLIKE * math.sqrt(1 - known), np.where(numbers, 1 / (1 - steep), 1.0))


def _weighted(units: PrivateUnits, rows: Floats) -> tuple[float, Floats, Floats, Floats]:
    """Return the mean weight of rows about 0, their weighted mean, and what is missing of both covariances."""
    long = units.weighing.corner**2 + np.sum((units.mean + rows) ** 2, axis=1)
    weights = np.minimum(1.0, units.weighing.row_norm**2 / long)
    weight, about = float(weights.mean()), weights @ rows / weights.sum()
    drawn, seen = rows.T @ rows / len(rows), (rows.T * weights) @ rows / len(rows) - weight * np.outer(about, about)
    return weight, about, drawn - seen / weight, drawn - seen


@dataclass(frozen=True, eq=False)
class _Rows:
    """Drawn rows of coordinates: numbers by a normal copula, levels by their shares."""

    normal: Floats
    numbers: NDArray[np.intp]
    tables: list[Floats]
    fixed: Floats

    @classmethod
    def of(cls, units: PrivateUnits) -> _Rows:
        from scipy.special import ndtr

        size = len(units.owner)
        normal, fixed = _drawn(size), np.zeros((DRAWS, size))
        numbers: list[int] = []
        tables: list[Floats] = []
        for column in dict.fromkeys(units.owner.tolist()):
            own, features = np.flatnonzero(units.owner == column), np.flatnonzero(units.column == column)
            if len(features) == 1:
                numbers.append(int(own[0]))
                tables.append(_quantiles(units, int(features[0])))
            else:
                one = units.high[features] - units.low[features]
                shares = np.maximum(
                    (units.centre[features] + units.back[features] @ units.mean - units.low[features]) / one, 0.0
                )
                shares = shares / shares.sum() if shares.sum() > 0 else np.full(len(one), 1 / len(one))
                levels = units.forward[np.ix_(features, own)] * one[:, None]
                chosen = np.searchsorted(np.cumsum(shares)[:-1], ndtr(normal[:, own[0]]))
                fixed[:, own] = (levels - shares @ levels)[chosen]
        return cls(normal, np.array(numbers, dtype=np.intp), tables, fixed)

    def with_covariance(self, covariance: Floats) -> Floats:
        """Return rows whose numbers have these variances, and about these correlations."""
        rows, numbers = self.fixed.copy(), self.numbers
        sizes = np.sqrt(np.maximum(covariance.diagonal()[numbers], 1e-300))
        values, vectors = np.linalg.eigh(covariance[np.ix_(numbers, numbers)] / np.outer(sizes, sizes))
        drawn = self.normal[:, numbers] @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
        for j, (size, table) in enumerate(zip(sizes, self.tables, strict=True)):
            cells = np.interp(drawn[:, j], SCORES, table)
            rows[:, numbers[j]] = size * (cells - cells.mean()) / max(float(cells.std()), 1e-300)
        return rows


@lru_cache(maxsize=8)
def _drawn(size: int) -> Floats:
    """Return independent normal numbers, always the same, each with its negative."""
    half = normals(DRAWS // 2 * size, SeededBits(0)).reshape(-1, size)
    found = np.concatenate([half, -half])
    found.flags.writeable = False
    return found


def _quantiles(units: PrivateUnits, feature: int) -> Floats:
    """Return the quantiles of a column at `SCORES`: of a normal law far from the ends of its range, else of a beta law."""
    from scipy.special import betaincinv, ndtr

    low, width = float(units.low[feature]), float(units.high[feature] - units.low[feature])
    part = (float(units.centre[feature] + units.back[feature] @ units.mean) - low) / max(width, 1e-300)
    relative = float(units.divisor[feature]) / max(width, 1e-300) ** 2
    if not 0 < part < 1 or min(part, 1 - part) > FAR * math.sqrt(max(relative, 0.0)):
        return SCORES
    size = part * (1 - part) / min(max(relative, 1e-9), 0.9 * part * (1 - part)) - 1
    return np.asarray(betaincinv(part * size, (1 - part) * size, ndtr(SCORES)))


@dataclass(frozen=True, eq=False)
class CutByRanges:
    """What privately chosen ranges cut off means and variances of encoded features.

    Attributes
    ----------
    mean, variance : array
        What is to be added.
    mean_error, variance_error : array
        Its standard errors.
    """

    mean: Floats
    variance: Floats
    mean_error: Floats
    variance_error: Floats


def cut_by_ranges(release: Release, units: PrivateUnits) -> CutByRanges:
    """Return what ranges that are narrower than the public bounds cut off, were columns normal, or beta near their bounds."""
    mean, variance = np.zeros(release.d), np.zeros(release.d)
    if release.schema is not None:
        low, high = ((bound - release.offsets) / release.units for bound in release.schema.bounds())
        means = (release.mean - release.offsets) / release.units
        for j in np.flatnonzero((units.low > low + NARROWER * (high - low)) | (units.high < high - NARROWER * (high - low))):
            first, second = float(means[j]), float(units.deviation[j]) ** 2
            middle, square = first, second
            for _ in range(CUTS):
                cells = _law(low[j], high[j], middle, square)
                cut = np.clip(cells, units.low[j], units.high[j])
                about, within = float(CHANCES @ cells), float(CHANCES @ cut)
                spread = float(CHANCES @ (cut - within) ** 2)
                if not spread > 0:
                    break
                middle = first + about - within
                square = second * min(float(CHANCES @ (cells - about) ** 2) / spread, MOST_CUT)
            mean[j], variance[j] = middle - first, square - second
    return CutByRanges(mean, variance, UNLIKE_CUT * np.abs(mean), UNLIKE_CUT * variance)


def _law(low: float, high: float, mean: float, variance: float) -> Floats:
    """Return the quantiles at `FINE`, between public bounds."""
    from scipy.special import betaincinv, ndtr

    part, width = (mean - low) / (high - low), high - low
    relative = variance / width / width
    if not 0 < part < 1 or min(part, 1 - part) > FAR * math.sqrt(max(relative, 0.0)):
        return mean + math.sqrt(max(variance, 0.0)) * FINE
    size = part * (1 - part) / min(max(relative, 1e-12), 0.9 * part * (1 - part)) - 1
    return np.asarray(low + width * betaincinv(part * size, (1 - part) * size, ndtr(FINE)))
