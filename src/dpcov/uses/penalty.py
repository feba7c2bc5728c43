r"""The penalty of a regression, from the release's own noise: docs/ridge.md, "alpha='auto'".

Let C be the released covariance, an estimate with errors, c its column of the target and w(α) the ridge coefficients: the
normal equations are left with the residual c − C_xx w = αw. With u = (−w, 1), noise alone leaves one of expected square
L² = E‖[Eu]_x‖²; a smaller residual fits the noise. The rule takes the largest α whose residual noise explains, measured half
by its norm (Morozov's discrepancy principle) and half by its product with c (the positive part of James and Stein):

.. math:: ‖αw‖·\sqrt{αw·c} ≤ (τL)^2, \qquad τ = 1.3

and w = 0 where c itself is no larger than its noise. With C₊ = Q diag(q) Qᵀ over features and target, u is a column of
(C₊ + α)⁻¹, divided by its diagonal entry: all α come from one decomposition, which targets share.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcov.release.estimate import PrivateUnits
from dpcov.release.record import Release
from dpcov.uses.noise_level import Eigenbasis, NoiseLevel
from dpcov.uses.private_units import unit_system
from dpcov.uses.solving import solved

Floats = NDArray[np.float64]

CAUTION = 1.3  # τ
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


def automatic_penalty(release: Release, place: int, places: tuple[int, ...]) -> float:
    """Return the penalty for predicting one feature from others."""
    if release.estimate.units is not None:
        return _in_units(release.estimate.units, place, places)
    chosen = tuple(sorted((*places, place)))
    system = release.decomposition if len(chosen) == release.d else decomposed(release, chosen)
    if system.largest <= 0:
        return release.clip_radius * release.clip_radius  # nothing was found: any penalty gives zeros
    with np.errstate(all="ignore"):  # extreme units and noises overflow harmlessly inside
        return system.largest * _penalty(system, release.noise_level, chosen, chosen.index(place))


def _in_units(units: PrivateUnits, place: int, places: tuple[int, ...]) -> float:
    """Return the penalty of a regression between coordinates."""
    found = unit_system(units, place, places)
    values, vectors = np.linalg.eigh(found.covariance)
    system = _positive(values, vectors)
    if system.largest <= 0:
        return 1.0  # nothing was found: any penalty gives zeros
    with np.errstate(all="ignore"):
        return system.largest * _penalty(system, found.noise, tuple(range(found.own + 1)), found.own)


def explained_share(release: Release, place: int, places: tuple[int, ...], alpha: float, coefficients: Floats) -> float:
    """Return about which share of the target's variance a model explains, without what it only seems to: between 0 and 1.

    By the released matrix alone the gain is 2w·c − wᵀC_xx w. As w was fitted to the same noise, that is too large, to first
    order by 2·tr (C_xx + α)⁻¹K, with K the covariance of the noise in the residual (Stein 1981).
    """
    if release.estimate.units is not None:
        return _explained_in_units(release.estimate.units, place, places, alpha)
    covariance, chosen = release.encoded_covariance, tuple(sorted((*places, place)))
    whole = float(covariance[place, place])
    if not whole > 0:
        return 0.0
    own = chosen.index(place)
    by_place = dict(zip(places, coefficients, strict=True))
    ordered = [j for j in chosen if j != place]
    weights = np.array([by_place[j] for j in ordered])
    with np.errstate(all="ignore"):
        system, aim = covariance[np.ix_(ordered, ordered)] / whole, covariance[ordered, place] / whole
        noise = release.noise_level.residual(np.insert(-weights, own, 1.0), chosen, own, whole)
        return _gain(system, aim, weights, noise, alpha / whole)


def _explained_in_units(units: PrivateUnits, place: int, places: tuple[int, ...], alpha: float) -> float:
    found = unit_system(units, place, places)
    covariance, own = found.covariance, found.own
    whole = float(covariance[own, own])
    if not whole > 0:
        return 0.0
    with np.errstate(all="ignore"):
        system, aim = covariance[:own, :own] / whole, covariance[:own, own] / whole
        weights = solved(system, aim, alpha / whole)
        noise = found.noise.residual(np.append(-weights, 1.0), range(own + 1), own, whole)
        return _gain(system, aim, weights, noise, alpha / whole)


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


def decomposed(release: Release, chosen: tuple[int, ...]) -> Decomposed:
    """Return the decomposition over the chosen features, in the order of the columns; of all of them: `Uses.decomposition`."""
    level, whole = release.noise_level, len(chosen) == release.d
    if whole and not release.center and isinstance(level, Eigenbasis):  # the estimate was made of them
        return _positive(level.values * level.unit * level.unit, level.basis)
    matrix = release.encoded_covariance
    block = matrix if whole else matrix[np.ix_(chosen, chosen)]
    scale = float(np.abs(block).max())
    if not 0 < scale < np.inf:
        return _positive(np.zeros(len(block)), np.eye(len(block)))
    values, vectors = np.linalg.eigh(block / scale)
    return _positive(values * scale, vectors)


def _positive(values: Floats, vectors: Floats) -> Decomposed:
    largest = float(values.max())
    if largest <= 0:
        return Decomposed(0.0, np.zeros(len(values)), vectors)
    return Decomposed(largest, np.maximum(values / largest, 0.0), vectors)
