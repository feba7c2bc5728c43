r"""Intervals for the coefficients of a regression: from the public law of the noise, and the draw of rows.

With H the raw matrix of (1, x) and y, K its noise, D = diag(0, 1, …, 1), ω = (b, w) and u = (ω, −1), the exact coefficients
solve (H − K)u + αDω = 0 in the rows of (1, x). So, exactly,

.. math:: ω_* - \hat ω = A^{-1}(K u_*), \qquad A = H_{zz} + αD.

Where A is large against K, the right side is all but linear in the noise, and its small bias is taken off. Elsewhere only
‖F u‖ ≤ ‖F‖·‖u‖ is used, with F the error of the raw covariance, and ‖w‖ ≤ √(C_yy/α)/2, which is true of any ridge regression.

About a population α is 0: what a penalty would make of it nobody asks for. For n rows whose residuals have the variance s²
whatever the features are, the exact coefficients vary around the population's with the covariance s²A⁻¹/n; s² = uᵀHu, or its
own standard error where that is larger. In private units that is multiplied with what residuals of drawn rows, which depend on
features and have weights, make of it.

The noise of a coefficient is as large as u* makes it, which errs with it. With t the error and E[u* | t] = u + g·t, the
variance is V(t) = V + 2t·Q(u, g) + t²·Q(g, g), and the interval holds the t with t² ≤ q²·V(t), as Fieller's does for a ratio.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ReleaseError, check_real
from dpcov.kernel.answer import Answer
from dpcov.release.record import Release
from dpcov.uses.coefficient_errors import DrawnResiduals, EntryNoise
from dpcov.uses.intervals import Interval, checked_level, interval
from dpcov.uses.raw import ONE_DEVIATION, RawMoment
from dpcov.uses.regression import Between, Regression, regression
from dpcov.uses.sampling import ROWS, about_population, rows_seen
from dpcov.uses.selection import column_of_feature
from dpcov.uses.tails import peaks, quantile

Floats = NDArray[np.float64]

UNSTABLE = 0.3  # Σ v/aₖ² over the eigenvalues aₖ of A: beyond it the inverse of A is too far from linear in the noise
SHAKY = 0.02  # v·‖A⁻¹w‖²/‖u‖², the relative variance of ‖u‖: beyond it the standard errors are too often too small
MARGIN = 1.5  # standard deviations of ‖u‖ by which intervals are wider for it
SINGULAR = 1e-12  # of the largest eigenvalue


@dataclass(frozen=True, eq=False)
class CoefficientIntervals:
    """Intervals for coefficients: of least squares on the population, or of the same ridge regression on the exact matrix.

    Attributes
    ----------
    coefficients, intercept : Interval
        In the user's units, the intercept as arrays without dimensions; None where the release is not centred.
    encoded : Interval
        The coefficients in encoded coordinates, where the penalty is on their squares.
    clear : bool
        Whether the matrix stands clear of its noise; else the intervals are much wider, and hold for all coefficients at once.
    population : bool
        Whether they are about the population: over which rows were drawn, too.
    """

    coefficients: Interval
    intercept: Interval | None
    encoded: Interval
    clear: bool
    population: bool = False


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """Coefficients of coordinates by least squares on the raw moments, where these are clear of noise.

    Attributes
    ----------
    along : array
        The coefficients, less the bias that noise gives them.
    intercept : float
        That of the target's coordinate, in units of the radius.
    covariance : array
        The raw covariance of predictors and, last, the target, in units of the squared radius.
    residual : array
        The covariance of the noise in C_xy − C_xx·along, in units of the radius to the fourth.
    """

    along: Floats
    intercept: float
    covariance: Floats
    residual: Floats


@dataclass(frozen=True, eq=False)
class _System:
    """The linear system of a regression, in units of the radius, and the noise in it."""

    raw: RawMoment
    x: list[int]
    y: int
    alpha: float
    centred: bool
    rows: float = math.inf
    """How many rows were drawn; infinite: they are the population."""
    like: DrawnResiduals | None = None

    def least_squares(self) -> LeastSquares | None:
        """Return the coefficients of the system, None where it is not clear of noise."""
        wanted = np.eye(len(self.x) + self.centred)
        found, _, _, clear = self.functional(wanted, ONE_DEVIATION)
        if not clear:
            return None
        along, u = found[int(self.centred) :], np.append(found, -1.0)
        variances = self._variances()
        noise = variances * np.outer(u, u)
        np.fill_diagonal(noise, variances @ u**2)
        own = slice(int(self.centred), -1)
        return LeastSquares(along, float(found[0]) if self.centred else 0.0, self.raw.covariance, noise[own, own])

    def functional(self, wanted: Floats, level: float) -> tuple[Floats, Floats, Floats, bool]:
        """Return estimates, widths and standard errors of wanted·ω, a row each, and whether A is clear of the noise.

        Widths are those below the estimates and, in the second row, above them.
        """
        raw, x, mean = self.raw, self.x, self.raw.mean[self.x]
        covariance = raw.covariance
        values, vectors = np.linalg.eigh(covariance[np.ix_(x, x)] + self.alpha * np.eye(len(x)))
        kept = np.abs(values) > SINGULAR * max(float(np.abs(values).max()), float(np.abs(covariance).max()))
        inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
        weights = inverse @ covariance[x, self.y]
        noise = raw.off + raw.along * 2 * float(mean @ mean) / len(x)
        inverted = noise * float(np.sum((1 / values[kept]) ** 2))
        shaky = noise * float(np.sum((inverse @ weights) ** 2)) / (1 + float(weights @ weights))
        clear = bool(kept.all() and values[0] > 0 and shaky <= SHAKY and inverted <= UNSTABLE)
        lifted = inverse
        if self.centred:  # the inverse of ((1, m), (m, C + mm + α)), by blocks
            cross = -inverse @ mean
            lifted = np.block([[np.array([[1 - mean @ cross]]), cross[None, :]], [cross[:, None], inverse]])
            weights = np.concatenate([[raw.mean[self.y] - mean @ weights], weights])
        if not clear:
            half, error = (self._wide(wanted, inverse, often, bool(kept.all())) for often in (level, ONE_DEVIATION))
            return wanted @ weights, np.array([half, half]), error, False
        return *self._linear(wanted @ lifted, wanted, lifted, weights, shaky, level), True

    def _residual_variance(self, u: Floats) -> float:
        """Return that of the target, given the features; never below its own standard error."""
        w = u[int(self.centred) :]
        found = float(w @ self.raw.covariance @ w) + self.raw.along * float(w @ w)
        variance = self.raw.off * 2 * float(w @ w) ** 2
        return max(found, math.sqrt(variance))

    def _variances(self) -> Floats:
        """Return the variance of each entry of K, for (1, x, y); the constant's own is public, or part of the gain."""
        raw, size = self.raw, len(self.x) + 1 + self.centred
        variances = np.full((size, size), raw.off)
        np.fill_diagonal(variances, raw.diagonal)
        if self.centred:
            variances[0, :] = variances[:, 0] = raw.along
            variances[0, 0] = 0.0
        return variances

    def _linear(
        self, rows: Floats, wanted: Floats, lifted: Floats, weights: Floats, shaky: float, level: float
    ) -> tuple[Floats, Floats, Floats]:
        """Return what wanted·A⁻¹K u, linear in the noise, has for variance, and the estimates without their bias."""
        raw, variances, own = self.raw, self._variances(), lifted.diagonal()
        mixed = variances[:-1, :-1].copy()
        np.fill_diagonal(mixed, 0.0)
        seeming = np.diag(variances[:-1, :-1] @ own) + mixed * lifted  # E[K A⁻¹ K]
        corrected = weights - lifted @ (seeming @ weights)
        rows = rows - rows @ seeming @ lifted  # what takes off the bias takes off noise, too
        u = np.append(corrected, -1.0)
        size = np.maximum(np.abs(rows).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        c = np.hstack([rows / size, np.zeros((len(rows), 1))])
        above = variances.copy()
        np.fill_diagonal(above, 0.0)
        both = c * u
        variance = c**2 @ (above @ u**2) + np.einsum("ij,ij->i", both @ above, both) + both**2 @ variances.diagonal()
        penalised = c[:, :-1] * corrected * self.alpha
        if self.centred:
            penalised[:, 0] = both[:, 0]  # the constant's noise is the count's
        if self.rows < math.inf:
            small, residual = wanted / size, self._residual_variance(u) / self.rows
            drawn = np.maximum(residual * np.einsum("ij,jk,ik->i", small, lifted, small), 0.0)
            if self.like is not None and self.like.rows.shape[1] == wanted.shape[1]:  # a forged file may hold other columns
                factor, moved = self.like.of(wanted)
                drawn = drawn * factor + (moved / size[:, 0]) ** 2
            square = (penalised.sum(axis=1) * raw.gain) ** 2
            noise = EntryNoise(c, variances)
            together = (noise.with_each(u)[:, :-1] + residual * small) @ lifted  # how all of ω err with what is wanted
            half, error = self._fieller(noise, u, np.hstack([together, np.zeros((len(c), 1))]), square, drawn, level)
            return wanted @ corrected, half * size[:, 0], error * size[:, 0]
        half, error = raw.half_width(variance, self._peaked(c, u), penalised.sum(axis=1), level)
        half = half * (1 + MARGIN * math.sqrt(shaky))
        return wanted @ corrected, np.array([half, half]) * size[:, 0], error * size[:, 0]

    def _fieller(
        self, noise: EntryNoise, u: Floats, together: Floats, square: Floats, drawn: Floats, level: float
    ) -> tuple[Floats, Floats]:
        """Return the widths below and above of what is as uncertain as u makes it, and standard errors."""
        variance = noise.products(u, u)
        total = np.maximum(variance + square + drawn, np.finfo(np.float64).tiny)
        tails = (variance / total) ** 2 * self._peaked(noise.rows, u) + (square / total) ** 2 * self.raw.gain_peaked
        factor = quantile(tails, level)
        g = together / total[:, None]
        first, second = factor**2 * noise.products(u, g), 1 - factor**2 * noise.products(g, g)
        with np.errstate(all="ignore"):
            reach = np.sqrt(first**2 + factor**2 * total * second)
            half = np.where(second > 0, np.array([reach - first, reach + first]) / second, np.inf)
        return half, np.sqrt(total)

    def _peaked(self, c: Floats, u: Floats) -> Floats:
        """Return 1/k of Σ cᵢKᵢⱼuⱼ: of independent entries by how evenly it is spread, of others the largest there is."""
        if not self.raw.independent:
            return np.full(len(c), self.raw.peaked[0])
        even = np.sum(c**4, axis=1) / np.maximum(np.sum(c**2, axis=1), np.finfo(np.float64).tiny) ** 2
        return np.asarray(even * float(np.sum(u**4)) / float(np.sum(u**2)) ** 2)

    def _wide(self, wanted: Floats, inverse: Floats, level: float, solvable: bool) -> Floats:
        """Return half widths by norms only; infinite where they say nothing."""
        error, shift = self.raw.norms(level)
        u = math.hypot(1.0, self.longest(error))
        if not solvable or not math.isfinite(u * error):
            return np.full(len(wanted), math.inf)
        mean = self.raw.mean[self.x]
        on_weights = wanted[:, 1:] - wanted[:, :1] * mean if self.centred else wanted
        on_mean = np.abs(wanted[:, 0]) if self.centred else np.zeros(len(wanted))
        return np.asarray(np.linalg.norm(on_weights @ inverse, axis=1) * error * u + on_mean * shift * u)

    def longest(self, error: float) -> float:
        """Return a bound on ‖w‖ where the covariance is off by at most ``error``: √c/(c + α) is largest at c = α."""
        variance = max(float(self.raw.covariance[self.y, self.y]) + error, 0.0)
        return math.sqrt(variance / self.alpha) / 2 if self.alpha > 0 else math.inf


def coefficient_intervals(
    release: Release,
    target_place: int,
    places: Sequence[int],
    alpha: float,
    level: float = 0.95,
    about: str = ROWS,
    references: Sequence[int] = (),
) -> CoefficientIntervals:
    """Return intervals for the coefficients of a regression: see `RidgeModel.interval`.

    Parameters
    ----------
    target_place, places : int, sequence of int
        Positions of the target and of the features in ``release.feature_names``.
    alpha : float
        The penalty on squared encoded coefficients, about the rows; about the population there is none.
    level : float
        How often each interval holds.
    about : {"population", "rows"}
        What is to lie in them; "rows": over the noise alone.
    references : sequence of int
        Levels among the features that the others of their columns are compared with; they have no coefficient.

    Raises
    ------
    ReleaseError
        Where the release has no noisy second moment, or of coefficients that were released themselves nobody knows how much
        another draw of rows would change them.
    """
    level, population = checked_level(level), about_population(about)
    penalty = check_real("alpha", alpha, "0 or more, and finite", 0.0, 1e300, "0 is least squares")
    if release.estimate.coefficients is not None:
        if population:
            raise ReleaseError(
                "release must hold a covariance for intervals about the population, got one regression. Hint: about='rows'."
            )
        return _of_coefficients(release, release.estimate.coefficients.answer, target_place, list(places), level)
    if population:
        penalty = 0.0
    found = regression(release, target_place, places)
    reported = [j for j in places if j not in set(references)]
    unit, back = release.units[target_place], release.units[target_place] / release.units[reported]
    if len(found.covariance) == 1 or found.size == 0:  # constant columns: nothing was asked of them, and nothing is known
        nothing = np.zeros(len(reported)), np.full(len(reported), math.inf), np.full(len(reported), math.inf)
        encoded = interval(*nothing, level)
        return CoefficientIntervals(encoded, None, encoded, False, population)
    raw, wanted, centred = found.raw, compared(release, found.wanted, places, references), release.encoding.constant
    with np.errstate(all="ignore"):
        system = _system(found, min(penalty / found.radius / found.radius, 1e300), drawn=population)
        estimate, half, error, clear = system.functional(wanted, level)
        own = slice(len(reported))
        encoded = _around(estimate[own], half[:, own], error[own], level)
        if not clear:  # |f·w| ≤ ‖f‖·‖w‖
            sizes = np.linalg.norm(wanted[own, int(centred) :], axis=1)
            encoded = _within(encoded, sizes * system.longest(raw.norms(level)[0]))
        coefficients = _in_units(encoded, back)
        if not centred:
            return CoefficientIntervals(coefficients, None, encoded, clear, population)
        origin = float(release.offsets[target_place] + unit * found.target_centre)
    around = _around(estimate[-1:], half[:, -1:], error[-1:], level)
    middle, lower, upper = (np.asarray(part[0] * unit + origin) for part in (around.estimate, around.lower, around.upper))
    intercept = Interval(middle, lower, upper, np.asarray(around.standard_error[0] * unit), level)
    return CoefficientIntervals(coefficients, intercept, encoded, clear, population)


def _system(found: Regression, penalty: float, *, drawn: bool) -> _System:
    """Return the system of a regression; about a population, with as many rows as have all of its cells, about."""
    x = list(range(len(found.raw.mean) - 1))
    rows = float(rows_seen(found.release)[[*found.places, found.place]].min()) if drawn else math.inf
    like = _drawn_residuals(found.between) if drawn and found.between is not None else None
    return _System(found.raw, x, len(x), penalty, found.release.encoding.constant, rows, like)


def _drawn_residuals(between: Between) -> DrawnResiduals | None:
    """Return those of rows like the release's; None where cells are missing, as nobody knows of how many together."""
    from dpcov.uses.weights import lost_by_weights

    if (between.units.seen < 1).any():
        return None
    lost = lost_by_weights(between.units)
    return DrawnResiduals(lost.rows @ between.rows.T, lost.weights)


def least_squares(found: Regression) -> LeastSquares | None:
    """Return least squares on the raw moments; None where there are none, or where they are not clear of noise."""
    if found.release.estimate.raw is None and found.between is None:
        return None
    if len(found.covariance) == 1 or found.size == 0:
        return None
    with np.errstate(all="ignore"):
        return _system(found, 0.0, drawn=False).least_squares()


def compared(release: Release, rows: Floats, places: Sequence[int], references: Sequence[int]) -> Floats:
    """Return rows for encoded coefficients of features, and at last the intercept, as differences from reference levels.

    A row has one level of each column, so that a constant can move from levels to the intercept: with references r the
    coefficients are w_l − w_r, and the intercept grows by that of each r.
    """
    if not references:
        return rows
    columns, place = column_of_feature(release.schema, release.feature_names), {j: i for i, j in enumerate(places)}
    of_column = {columns[r]: place[r] for r in references}
    found = rows.copy()
    for i, j in enumerate(places):
        if columns[j] in of_column:
            found[i] = rows[i] - rows[of_column[columns[j]]]
    for r in references:
        found[-1] = found[-1] + rows[place[r]] / release.units[r]
    return np.delete(found, [place[r] for r in references], axis=0)


def _of_coefficients(release: Release, answer: Answer, target_place: int, x: list[int], level: float) -> CoefficientIntervals:
    """Return intervals for coefficients that were released themselves: their noise is their only error."""
    deviation = np.full(len(x), answer.deviation)
    half = quantile(np.array(peaks(answer.law, 1)[0]), level) * deviation + 2.0**-answer.unit_bits / 2
    encoded = interval(answer.values.copy(), half, deviation, level)
    with np.errstate(all="ignore"):
        return CoefficientIntervals(_in_units(encoded, release.units[target_place] / release.units[x]), None, encoded, True)


def _in_units(encoded: Interval, back: Floats) -> Interval:
    """Return intervals for encoded coefficients in the user's units."""
    bounds = encoded.estimate * back, encoded.lower * back, encoded.upper * back
    return Interval(*bounds, encoded.standard_error * back, encoded.level)


def _around(estimate: Floats, half: Floats, error: Floats, level: float) -> Interval:
    """Return intervals with these widths below and above estimates; what is not known is infinite."""
    lower, upper = estimate - half[0], estimate + half[1]
    lower, upper = np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper)
    return Interval(estimate.copy(), lower, upper, error.copy(), level)


def _within(found: Interval, longest: Floats) -> Interval:
    """Cut intervals at the most that coefficients can be."""
    lower, upper = np.maximum(found.lower, -longest), np.minimum(found.upper, longest)
    empty = lower > upper
    lower, upper = np.where(empty, -longest, lower), np.where(empty, longest, upper)
    return Interval(np.clip(found.estimate, lower, upper), lower, upper, found.standard_error.copy(), found.level)
