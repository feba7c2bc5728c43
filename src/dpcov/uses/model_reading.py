"""What a release says of a linear model beyond its coefficients: effects, intervals, and what is clear of noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ReleaseError
from dpcov.release.record import Release
from dpcov.results import Drawable
from dpcov.uses.description import CLEAR, RARELY
from dpcov.uses.held import holds_covariance, is_centered
from dpcov.uses.sampling import POPULATION, ROWS, about_population

if TYPE_CHECKING:
    from dpcov.uses.coefficient_intervals import CoefficientIntervals
    from dpcov.uses.intervals import Interval
    from dpcov.uses.ridge import RidgeModel

Floats = NDArray[np.float64]

NOTHING = 0.005  # of the variance explained
DROWNED = 1e-3  # of the target's own scale: the largest effect of a model that noise has left nothing of
TOO_WIDE = 10.0  # times the largest effect: half an interval that says nothing


@dataclass(frozen=True, eq=False, repr=False)
class ModelReading(Drawable):
    """A model, and what can be said of it from its release alone: see `RidgeModel.reading`.

    Attributes
    ----------
    release, model, level
        What it tells of; the level is that of the intervals.
    scales, per : array, str
        What a feature's coefficient is multiplied by to compare it with the others, and what that is.
    target_scale : float
        The same of the target.
    intervals, bound, silent
        As `RidgeModel.interval` and `RidgeModel.bound` have them; None where the release tells none, and ``silent`` says why.
    """

    release: Release
    model: RidgeModel
    level: float
    scales: Floats
    target_scale: float
    per: str
    intervals: CoefficientIntervals | None
    bound: float | None
    silent: str

    @cached_property
    def effects(self) -> Floats:
        """How much the prediction changes by each feature, in the target's units."""
        with np.errstate(all="ignore"):
            return np.asarray(self.model.coefficients * self.scales)

    @property
    def shown(self) -> Floats:
        """The coefficients that people read: the centres of their intervals; the model's own where intervals do not help."""
        return self.model.coefficients if self.useful is None else self.useful.estimate

    @cached_property
    def useful(self) -> Interval | None:
        """The intervals, where one of them at least is comparable with the largest effect; None: all are too wide to help."""
        if self.intervals is None:
            return None
        found = self.intervals.coefficients
        with np.errstate(all="ignore"):
            halves = (found.upper - found.lower) / 2 * self.scales
            helps = np.any(halves <= TOO_WIDE * np.abs(self.effects).max())
        return found if helps else None

    @cached_property
    def clear(self) -> NDArray[np.bool_] | None:
        """Which coefficients are clear of noise; None where intervals do not help.

        By three standard errors for one feature, and for many by as much as none of them exceeds by chance as rarely.
        """
        from scipy.special import ndtri

        found = self.useful
        if found is None:
            return None
        limit = float(ndtri(1 - (1 - RARELY) / 2 / len(self.effects)))
        return np.abs(found.estimate) > limit * found.standard_error

    @property
    def nothing(self) -> bool:
        """Whether nothing can be seen: nothing is clearly explained, and no effect is both sizeable and clear of noise."""
        explained, least = self.model.explained, max(NOTHING, CLEAR * self.model.explained_error)
        if math.isnan(explained) or (self.knows_target and explained >= least):  # NaN where the release does not tell
            return False
        return self.is_constant or self.clear is None or not self.clear.any()

    @property
    def is_constant(self) -> bool:
        """Whether the penalty leaves next to nothing of any effect."""
        return not float(np.abs(self.effects).max()) > DROWNED * self.target_scale

    @property
    def readable(self) -> bool:
        """Whether there are coefficients to read: some are clear of noise, or nobody knows how large their noise is."""
        if self.intervals is None:
            return not self.nothing
        return not self.nothing and self.clear is not None and bool(self.clear.any())

    @property
    def order(self) -> NDArray[np.intp]:
        """The features, those with the largest effects first; those that are clear of noise before all others."""
        drowned = np.zeros(len(self.effects), dtype=np.bool_) if self.clear is None else ~self.clear
        return np.lexsort((-np.abs(self.effects), drowned))

    @property
    def knows_target(self) -> bool:
        """Whether the variance of the target, of which a model explains a part, is clear of noise."""
        deviation = self.release.describe().deviation
        return deviation is not None and bool(deviation.clear[self.release.feature_names.index(self.model.target)])

    @property
    def size(self) -> float:
        """The norm of all encoded coefficients together, which ``bound`` is about."""
        return float(np.linalg.norm(self.model.encoded_coefficients))

    def __repr__(self) -> str:
        clear = "" if self.clear is None else f", {int(self.clear.sum())} of {len(self.clear)} coefficients clear of noise"
        return f"<ModelReading of {self.model!r}{clear}>"


def read_model(release: Release, model: RidgeModel, level: float, about: str = POPULATION) -> ModelReading:
    """Ask a release about a model: see `RidgeModel.reading`."""
    about_population(about)
    intervals, bound, silent = None, None, ""
    try:
        bound = model.bound(level)
        intervals = model.interval(level, about=about if holds_covariance(release) else ROWS)
    except ReleaseError as error:
        silent = str(error).partition(" Hint:")[0].rstrip(".")
    by_name = {name: place for place, name in enumerate(release.feature_names)}
    per, scales = comparable_scales(release)
    own = scales[[by_name[name] for name in model.feature_names]]
    return ModelReading(release, model, level, own, float(scales[by_name[model.target]]), per, intervals, bound, silent)


def comparable_scales(release: Release) -> tuple[str, Floats]:
    """Return what makes coefficients comparable: the range of each feature, or its estimated spread."""
    if release.schema is not None:
        low, high = release.schema.bounds()
        return "over its range", high - low
    if not holds_covariance(release):
        return "per unit", np.ones(release.d)
    heading = "standard deviation" if is_centered(release) else "root mean square"
    return f"per {heading}", np.sqrt(np.maximum(np.diag(release.covariance), 0.0))
