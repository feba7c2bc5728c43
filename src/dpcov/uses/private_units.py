r"""Regressions from a table that was measured in the private units of its columns: coordinates z, where the noise is isotropic.

A column of numbers is one coordinate, k levels are k − 1. So a regression is solved between coordinates, with the penalty on
squared coefficients of z: of standardised numbers, and of levels in the same measure. With orthonormal rows P for what can be
predicted from, f for the target, S the covariance of z,

.. math:: u = (P S P^T + α)^{-1} P S f/\|f\|, \qquad \text{prediction of } f·z = \|f\|\,u·Pz.

A cell's coordinates are a function of the cell, so a prediction is a sum over cells: a coefficient for each number, and one for
each level of a column, all of them at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcov.release.estimate import PrivateUnits
from dpcov.uses.noise_level import Coordinates

Floats = NDArray[np.float64]

SINGULAR = 1e-9  # of the largest: directions below it are not there


@dataclass(frozen=True, eq=False)
class UnitSystem:
    """A regression between coordinates.

    Attributes
    ----------
    rows : array of shape (predictors + 1, coordinates)
        Orthonormal; the last is the target's direction.
    size : float
        The target, encoded, for each unit along its direction.
    forward : array of shape (features, predictors)
        Encoded coefficients of features for each of u, divided by ``size``.
    """

    rows: Floats
    size: float
    forward: Floats
    units: PrivateUnits

    @property
    def covariance(self) -> Floats:
        """That of the predictors and the target's direction."""
        return np.asarray(self.rows @ self.units.covariance @ self.rows.T)

    @property
    def noise(self) -> Coordinates:
        """What noise is in it."""
        return Coordinates(self.rows / self.units.coordinate_seen, self.units.variance)

    @property
    def own(self) -> int:
        """The place of the target."""
        return len(self.rows) - 1


def unit_system(units: PrivateUnits, place: int, places: Sequence[int]) -> UnitSystem:
    """Return the regression of one feature on others, which are of other columns."""
    target = units.back[place]
    size = float(np.linalg.norm(target))
    chosen, rows, forward = np.array(places), [], []
    for column in dict.fromkeys(units.column[chosen].tolist()):
        features, own = chosen[units.column[chosen] == column], np.flatnonzero(units.owner == column)
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
    direction = target / size if size > 0 else np.zeros(len(target))
    inward = np.zeros((len(chosen), sum(part.shape[1] for _, part in forward)))
    at, where = 0, {int(feature): i for i, feature in enumerate(chosen)}
    for features, part in forward:
        inward[[where[int(feature)] for feature in features], at : at + part.shape[1]] = part
        at += part.shape[1]
    return UnitSystem(np.vstack([*rows, direction[None, :]]), size, inward, units)
