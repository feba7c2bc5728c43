"""Fits of a regression as they are made, with a penalty or without: of all levels, before any is compared with a reference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcov.release.record import Release
from dpcov.uses.regression import Regression, regression
from dpcov.uses.selection import column_of_feature
from dpcov.uses.solving import solved

if TYPE_CHECKING:
    from dpcov.uses.coefficient_intervals import LeastSquares

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fit as it was made: with all levels where there is a penalty, and what predictions are made of.

    Attributes
    ----------
    places : tuple of int
        The features in ``release.feature_names``.
    coefficients, intercept : array, float
        In the user's units.
    encoded : array
        The coefficients in encoded coordinates.
    along : array
        Those of the coordinates of ``system``; empty where the release holds coefficients.
    least : LeastSquares, optional
        What it is where there is no penalty and the raw moments are clear of noise.
    references : tuple of int
        Which of the features have no coefficient in the model that people read.
    """

    places: tuple[int, ...]
    coefficients: Floats
    intercept: float
    encoded: Floats
    alpha: float
    along: Floats
    system: Regression | None
    least: LeastSquares | None
    references: tuple[int, ...] = ()

    def stretch(self, release: Release) -> float:
        """Return how much longer differences from reference levels can be than the coefficients that they are made of."""
        if not self.references:
            return 1.0
        from dpcov.uses.coefficient_intervals import compared

        size = len(self.places)
        rows = compared(release, np.vstack([np.eye(size), np.zeros((1, size))]), self.places, self.references)
        return float(np.linalg.norm(rows[:-1], 2))


def penalised_fit(release: Release, system: Regression, alpha: float | str) -> Fitted:
    """Return the fit of the denoised covariance with a penalty, of all levels."""
    from dpcov.uses.penalty import automatic_penalty

    penalty = automatic_penalty(system) if isinstance(alpha, str) else alpha
    along = solved(system.predictors, system.aim, penalty, release.postprocess)
    return fitted(release, system.place, system.places, system.coefficients(along), penalty, system, along)


def least_squares_fit(
    release: Release, whole: Regression, places: tuple[int, ...], references: tuple[int, ...]
) -> Fitted | None:
    """Return least squares on the raw moments; None where these are not clear of noise.

    In private units levels have as many coordinates as they can; else the reference levels are left out.
    """
    from dpcov.uses.coefficient_intervals import least_squares

    kept = tuple(j for j in places if j not in references)
    system = whole if whole.between is not None or not references else regression(release, whole.place, kept)
    found = least_squares(system)
    if found is None:
        return None
    intercept = None
    if release.encoding.constant:
        rows = system.wanted
        origin = release.offsets[system.place] + release.units[system.place] * system.target_centre
        with np.errstate(all="ignore"):
            own = float(rows[-1] @ np.concatenate([[found.intercept], found.along]))
            intercept = float(origin + release.units[system.place] * own)
    coefficients = system.coefficients(found.along)
    return fitted(release, system.place, system.places, coefficients, 0.0, system, found.along, intercept, found)


def wins(least: Fitted, penalised: Fitted) -> bool:
    """Whether least squares is estimated to be nearer to the truth than the fit with a penalty."""
    from dpcov.uses.penalty import least_squares_wins

    assert least.least is not None
    assert least.system is not None
    along, radius = penalised.along, least.system.radius
    if len(along) != len(least.along):  # all levels there, all but one here: predictions are what both have
        kept = np.array([penalised.places.index(j) for j in least.places])
        columns, coefficients = column_of_feature(least.system.release.schema, least.system.release.feature_names), []
        own = {columns[j]: i for i, j in enumerate(penalised.places) if j not in least.places}
        for i in kept.tolist():
            away = own.get(columns[penalised.places[i]])
            coefficients.append(penalised.encoded[i] - (penalised.encoded[away] if away is not None else 0.0))
        order = np.argsort(least.places)  # the system has its features in their own order
        along = np.array(coefficients)[order]
    return least_squares_wins(least.least, penalised.alpha / radius / radius, along)


def fitted(
    release: Release,
    place: int,
    places: tuple[int, ...],
    encoded: Floats,
    alpha: float,
    system: Regression | None = None,
    along: Floats | None = None,
    intercept: float | None = None,
    least: LeastSquares | None = None,
) -> Fitted:
    """Return a fit in the user's units."""
    units, chosen = release.units, list(places)
    with np.errstate(all="ignore"):
        coefficients = encoded * (units[place] / units[chosen])
        if intercept is None:
            intercept = float(release.mean[place] - coefficients @ release.mean[chosen]) if release.center else 0.0
    if release.encoding.pairs:
        intercept = math.nan  # differences of rows know no mean
    return Fitted(places, coefficients, intercept, encoded, alpha, np.zeros(0) if along is None else along, system, least)
