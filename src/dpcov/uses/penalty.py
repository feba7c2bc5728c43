r"""The penalty of a regression, from the release's own noise: docs/ridge.md, "alpha='auto'".

Let C be the released covariance, an estimate with errors, c its column of the target and w(α) the ridge coefficients: the
normal equations are left with the residual c − C_xx w = αw. With u = (−w, 1), noise alone leaves one of expected square
L² = E‖[Eu]_x‖²; a smaller residual fits the noise. The rule takes the largest α whose residual noise explains, measured half
by its norm (Morozov's discrepancy principle) and half by its product with c (the positive part of James and Stein):

.. math:: ‖αw‖·\sqrt{αw·c} ≤ (τL)^2, \qquad τ = 1.3

and w = 0 where c itself is no larger than its noise. With C₊ = Q diag(q) Qᵀ over features and target, u is a column of
(C₊ + α)⁻¹, divided by its diagonal entry: all α come from one decomposition, which targets share.

Few features whose covariance is clear of noise need no penalty, which would only bias them. With w₀ the least-squares
coefficients of the raw moments, A = C_xx raw and K the covariance of the noise in their residual, their risk (ŵ − w)ᵀA(ŵ − w)
is tr A⁻¹K on average, and Stein's estimate of that of w(α) is ‖w(α) − w₀‖²_A + 2·tr (A + α)⁻¹K − tr A⁻¹K. That estimate is
noisy itself, and least squares can be read: a penalty must halve the risk.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcov.release.record import Release
from dpcov.uses.noise_level import Eigenbasis, NoiseLevel
from dpcov.uses.regression import Regression

if TYPE_CHECKING:
    from dpcov.uses.coefficient_intervals import LeastSquares

Floats = NDArray[np.float64]

CAUTION = 1.3  # τ
CLEARLY = 0.5  # of the risk of least squares: a penalty with more is not worth coefficients that are drawn towards 0
LEAST, MOST = -40, 10  # powers of two, times the largest eigenvalue, between which a penalty is looked for
NOTHING = 2.0**40  # times the largest eigenvalue: a penalty that leaves nothing of the coefficients


@dataclass(frozen=True, eq=False)
class Decomposed:
    """The positive part of a covariance over features and target, in units of its largest eigenvalue."""

    largest: float
    values: Floats
    vectors: Floats

    def directions(self, place: int, alphas: Floats) -> Floats:
        """Return u = (−w, 1) for each penalty, in rows: 1 at the target's place."""
        columns = (self.vectors[place] / (self.values + alphas[:, None])) @ self.vectors.T
        return np.asarray(columns / columns[:, [place]])

    def moments(self, place: int) -> Floats:
        """Return the covariances of features with the target, and 0 at its own place."""
        column = self.vectors @ (self.values * self.vectors[place])
        column[place] = 0.0
        return np.asarray(column)


def automatic_penalty(found: Regression) -> float:
    """Return the penalty of a regression."""
    system = found.release.decomposition if found.is_whole else decomposed(found.covariance)
    if system.largest <= 0:
        return found.radius * found.radius  # nothing was found: any penalty gives zeros
    with np.errstate(all="ignore"):  # extreme units and noises overflow harmlessly inside
        return system.largest * _penalty(system, found.noise, found.chosen, found.own)


def least_squares_wins(least: LeastSquares, alpha: float, along: Floats) -> bool:
    """Whether a penalty, in units of the squared radius, does not clearly have the smaller estimated risk."""
    system = least.covariance[:-1, :-1]
    values, vectors = np.linalg.eigh(system)
    noise = np.einsum("ij,ij->j", vectors, least.residual @ vectors)
    with np.errstate(all="ignore"):
        own, penalised = float(np.sum(noise / values)), float(np.sum(noise / (values + alpha)))
        moved = along - least.along
        return bool(float(moved @ system @ moved) + 2 * penalised - own >= CLEARLY * own)


def explained_by_least_squares(least: LeastSquares) -> float:
    """Return about which share of the target's variance least squares explains, as `explained_share` does, by raw moments."""
    whole = float(least.covariance[-1, -1])
    if not whole > 0:
        return 0.0
    with np.errstate(all="ignore"):
        system, aim = least.covariance[:-1, :-1] / whole, least.covariance[:-1, -1] / whole
        return _gain(system, aim, least.along, least.residual / whole / whole, 0.0)


def explained_share(found: Regression, alpha: float, along: Floats) -> float:
    """Return about which share of the target's variance coefficients explain, without what they only seem to: 0 to 1.

    By the released matrix alone the gain is 2w·c − wᵀC_xx w. As w was fitted to the same noise, that is too large, to first
    order by 2·tr (C_xx + α)⁻¹K, with K the covariance of the noise in the residual (Stein 1981).
    """
    whole = found.variance
    if not whole > 0:
        return 0.0
    with np.errstate(all="ignore"):
        noise = found.noise.residual(np.insert(-along, found.own, 1.0), found.chosen, found.own, whole)
        return _gain(found.predictors / whole, found.aim / whole, along, noise, alpha / whole)


def explained_error(found: Regression, least: LeastSquares | None, along: Floats, share: float) -> float:
    """Return the standard error of the share R² that a model explains, about the population.

    With u = (−w, 1) the residual variance is off by uᵀEu, as w is where it is least, and the whole by E_yy: R² has the variance
    (var uᵀEu − (1 − (1 − t)²)·var E_yy)/C_yy² of noise, t = 1 − R², whose two errors share that of y; and 4R²t²/n of the draw.
    """
    with np.errstate(all="ignore"):
        if least is not None:
            own = max(found.raw.diagonal, 2 * found.raw.off)
            whole, residual = float(least.covariance[-1, -1]), own * (1 + float(along @ along)) ** 2
        else:
            whole, y = found.variance, np.zeros(len(found.chosen))
            y[found.own] = 1.0
            both = np.array([np.insert(-along, found.own, 1.0), y])
            residual, own = found.noise.form_variances(both, found.chosen).tolist()
        if not whole > 0:
            return math.inf
        t = 1 - share
        noise = max(residual - (1 - (1 - t) ** 2) * own, share**2 * own) / whole / whole
        return math.sqrt(noise + 4 * share * t * t / found.release.independent_n)


def _gain(system: Floats, aim: Floats, weights: Floats, noise: Floats, alpha: float) -> float:
    """Return what coefficients gain, without what they gain from noise, all in units of the target's variance."""
    gained = 2 * float(weights @ aim) - float(weights @ system @ weights)
    values, vectors = np.linalg.eigh(system)
    lifted = np.maximum(values, 0.0) + alpha
    along = np.einsum("ij,ij->j", vectors, noise @ vectors)
    seeming = 2 * float(np.sum(along[lifted > 0] / lifted[lifted > 0]))
    return min(max(gained - seeming, 0.0), 1.0) if np.isfinite(gained - seeming) else 0.0


def _penalty(system: Decomposed, level: NoiseLevel, chosen: tuple[int, ...], own: int) -> float:
    """Return the largest penalty, in units of the largest eigenvalue, whose residual the noise explains."""
    moments, alphas = system.moments(own), np.exp2(np.arange(LEAST, MOST + 1, dtype=np.float64))
    none = np.zeros((1, len(chosen)))
    none[0, own] = 1.0
    directions = np.concatenate([system.directions(own, alphas), none])
    noise = CAUTION**2 * level.squares(directions, chosen, own, system.largest)
    if float(moments @ moments) <= noise[-1]:
        return NOTHING
    coefficients = -directions[:-1]
    coefficients[:, own] = 0.0
    residuals = alphas * np.linalg.norm(coefficients, axis=1)
    products = alphas * np.maximum(coefficients @ moments, 0.0)
    excess = np.nan_to_num(np.log2(residuals * np.sqrt(products) / noise[:-1]), nan=0.0, posinf=2000.0, neginf=-2000.0)
    beyond = int(np.searchsorted(np.maximum.accumulate(excess), 0.0, side="right"))  # the first that is too large
    if beyond == 0:
        return float(alphas[0])
    if beyond == len(alphas):
        return NOTHING
    low, high = excess[beyond - 1], excess[beyond]
    return float(alphas[beyond - 1] * 2.0 ** (low / (low - high)))


def decomposition(release: Release) -> Decomposed:
    """Return that of a release's covariance, which all targets that are predicted from all others share."""
    level = release.noise_level
    if not release.center and isinstance(level, Eigenbasis):  # the estimate was made of them
        return _positive(level.values * level.unit * level.unit, level.basis)
    return decomposed(release.encoded_covariance)


def decomposed(covariance: Floats) -> Decomposed:
    """Return the decomposition of the covariance of features and target."""
    scale = float(np.abs(covariance).max())
    if not 0 < scale < np.inf:
        return _positive(np.zeros(len(covariance)), np.eye(len(covariance)))
    values, vectors = np.linalg.eigh(covariance / scale)
    return _positive(values * scale, vectors)


def _positive(values: Floats, vectors: Floats) -> Decomposed:
    largest = float(values.max())
    if largest <= 0:
        return Decomposed(0.0, np.zeros(len(values)), vectors)
    return Decomposed(largest, np.maximum(values / largest, 0.0), vectors)
