r"""One regression of one feature on others, in the coordinates in which it is solved, and the way back to features.

Most releases are solved in the encoded features themselves. A table that was measured in the private units of its columns is
solved between its coordinates z, where the noise is isotropic: a column of numbers is one coordinate, k levels are k − 1. With
orthonormal rows P for what can be predicted from, f for the target, S the covariance of z,

.. math:: u = (P S P^T + α)^{-1} P S f/\|f\|, \qquad \text{prediction of } f·z = \|f\|\,u·Pz,

so the penalty is on coefficients of standardised numbers, and of levels in the same measure. The coordinates of a cell are a
function of the cell, so a prediction is a sum over cells: a coefficient for each number, and one for each level of a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpcov.release.estimate import PrivateUnits
from dpcov.release.record import Release
from dpcov.uses.noise_level import Coordinates, NoiseLevel
from dpcov.uses.raw import RawMoment, raw_moment
from dpcov.uses.tails import peaks

Floats = NDArray[np.float64]

SINGULAR = 1e-9  # of the largest: directions below it are not there


@dataclass(frozen=True, eq=False)
class Between:
    """Orthonormal combinations of the coordinates of private units, in rows, and the noise in their second moment."""

    units: PrivateUnits
    rows: Floats

    @property
    def noise(self) -> Coordinates:
        """What noise is in the denoised covariance."""
        return Coordinates(self.rows / self.units.coordinate_seen, self.units.left)

    @property
    def raw(self) -> RawMoment:
        """The raw second moment and the mean.

        Cells that are missing stretch the noise of their columns; all are taken to be stretched as the most.
        """
        units = self.units
        rows, within = self.rows / units.coordinate_seen, units.owner[:, None] == units.owner
        mean = rows @ units.mean
        covariance = rows @ (units.raw_covariance * np.where(within, units.coordinate_seen, 1.0)) @ rows.T
        least = float(units.coordinate_seen[(self.rows != 0).any(axis=0)].min(initial=1.0))
        off, width = units.variance / least**4, len(units.owner) + 1
        return RawMoment(
            covariance + np.outer(mean, mean),
            mean,
            2 * off,
            off,
            units.mean_variance / least**2,
            units.weight_error,
            units.weight_error,
            peaks(units.law, width)[0],
            0.0,
            units.law,
            width,
        )


@dataclass(frozen=True, eq=False)
class Regression:
    """A regression between coordinates.

    Attributes
    ----------
    place, places : int, tuple of int
        The target and the features in ``release.feature_names``.
    own : int
        The target among the coordinates; all others are predicted from.
    chosen : tuple of int
        Where the coordinates stand in ``noise``.
    covariance : array
        That of the coordinates, denoised.
    forward : array of shape (features, predictors)
        Encoded coefficients of features for each coefficient of a coordinate, divided by ``size``.
    size : float
        The target, encoded, for each unit of its coordinate.
    radius : float
        The unit of ``raw``, in which a penalty is divided by its square.
    centre, target_centre : array, float
        Features and target, encoded, where the coordinates are 0.
    between : Between, optional
        What the coordinates are of private units; None: they are encoded features.
    """

    release: Release
    place: int
    places: tuple[int, ...]
    own: int
    chosen: tuple[int, ...]
    covariance: Floats
    forward: Floats
    size: float
    radius: float
    centre: Floats
    target_centre: float
    between: Between | None = None

    @property
    def noise(self) -> NoiseLevel:
        """What noise is left in the covariance."""
        return self.release.noise_level if self.between is None else self.between.noise

    @cached_property
    def raw(self) -> RawMoment:
        """The raw noisy second moment of the predictors and, last, the target."""
        if self.between is not None:
            return self.between.raw
        return raw_moment(self.release).of([*(j for j in self.chosen if j != self.place), self.place])

    @property
    def is_whole(self) -> bool:
        """Whether the coordinates are all features of a release, as they stand in it: then targets share a decomposition."""
        return self.between is None and len(self.chosen) == self.release.d

    @property
    def predictors(self) -> Floats:
        """The covariance of what is predicted from."""
        return np.delete(np.delete(self.covariance, self.own, axis=0), self.own, axis=1)

    @property
    def aim(self) -> Floats:
        """The covariances of the predictors with the target."""
        return np.delete(self.covariance[self.own], self.own)

    @property
    def variance(self) -> float:
        """That of the target."""
        return float(self.covariance[self.own, self.own])

    def coefficients(self, along: Floats) -> Floats:
        """Return the encoded coefficients of features, for those of coordinates."""
        return np.asarray(self.size * (self.forward @ along))

    @property
    def stretch(self) -> float:
        """How much longer the coefficients of features can be than those of coordinates."""
        return 1.0 if self.between is None else self.size * float(np.linalg.norm(self.forward, 2))

    @property
    def wanted(self) -> Floats:
        """What encoded coefficients are of (b, u), a row each, and at last the intercept less the target's centre.

        Without a constant there is no b, and no intercept. y = centre + size·(b + u·Lᵀ(x − centreₓ)), L the map from u to
        coefficients of features, b in units of the radius; the intercept is where features are 0 in the data's units.
        """
        forward, x = self.size * self.forward, list(self.places)
        if not self.release.encoding.constant:
            return forward
        zero = -self.release.offsets[x] / self.release.units[x] - self.centre
        coefficients = np.hstack([np.zeros((len(x), 1)), forward])
        return np.vstack([coefficients, np.concatenate([[self.radius * self.size], zero @ forward])])


def regression(release: Release, place: int, places: Sequence[int]) -> Regression:
    """Return the regression of one feature on others, which are of other columns."""
    if release.estimate.units is not None:
        return _in_private_units(release, release.estimate.units, place, places)
    chosen = tuple(sorted((*places, place)))
    covariance, own = release.encoded_covariance, chosen.index(place)
    predictors = [j for j in chosen if j != place]
    return Regression(
        release,
        place,
        tuple(places),
        own,
        chosen,
        covariance if len(chosen) == release.d else covariance[np.ix_(chosen, chosen)],
        np.equal.outer(np.array(places), np.array(predictors)).astype(np.float64),
        1.0,
        release.clip_radius,
        np.zeros(len(places)),
        0.0,
    )


def _in_private_units(release: Release, units: PrivateUnits, place: int, places: Sequence[int]) -> Regression:
    """Return the regression between orthonormal combinations of the coordinates, the last of them the target's direction."""
    target = units.back[place]
    size = float(np.linalg.norm(target))
    x, rows, forward = np.array(places), [], []
    for column in dict.fromkeys(units.column[x].tolist()):
        features, own = x[units.column[x] == column], np.flatnonzero(units.owner == column)
        if len(own) == 0:
            continue
        basis = np.zeros((len(own), units.back.shape[1]))
        basis[np.arange(len(own)), own] = 1.0
        if len(features) == np.count_nonzero(units.column == column):
            rows.append(basis)
            forward.append((features, units.forward[np.ix_(features, own)]))
        else:  # only what these levels tell of the column
            left, values, right = np.linalg.svd(units.back[np.ix_(features, own)], full_matrices=False)
            kept = values > SINGULAR * max(float(values.max()), np.finfo(np.float64).tiny)
            rows.append(right[kept] @ basis)
            forward.append((features, left[:, kept] / values[kept]))
    inward = np.zeros((len(x), sum(part.shape[1] for _, part in forward)))
    at, where = 0, {int(feature): i for i, feature in enumerate(x)}
    for features, part in forward:
        inward[[where[int(feature)] for feature in features], at : at + part.shape[1]] = part
        at += part.shape[1]
    direction = target / size if size > 0 else np.zeros(len(target))
    system = np.vstack([*rows, direction[None, :]])
    return Regression(
        release,
        place,
        tuple(places),
        len(system) - 1,
        tuple(range(len(system))),
        np.asarray(system @ units.covariance @ system.T),
        inward,
        size,
        1.0,
        units.centre[x],
        float(units.centre[place]),
        Between(units, system),
    )
