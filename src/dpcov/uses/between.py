r"""How two groups of a release differ, with intervals of the differences: post-processing, at no cost in privacy.

Noise of different groups is independent, and so are rows drawn from different groups. Of two numbers with intervals
:math:`[l_1, u_1]` about :math:`\theta_1` and :math:`[l_2, u_2]` about :math:`\theta_2` the difference has

.. math:: \theta_1 - \theta_2 - \sqrt{(\theta_1 - l_1)^2 + (u_2 - \theta_2)^2}, \quad
          \theta_1 - \theta_2 + \sqrt{(u_1 - \theta_1)^2 + (\theta_2 - l_2)^2}

(Zou and Donner 2008): exact where both are normal, and near it where intervals are not symmetric, as those of correlations and
deviations. Intervals are those of `Release.interval`, about each group's own noisy numbers: none is drawn towards the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ReleaseError
from dpcov.release.record import Release
from dpcov.results import Result
from dpcov.uses.intervals import Interval, Intervals, checked_level
from dpcov.uses.sampling import about_population

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Differences(Result):
    """What one group has more than another: see `Release.between`.

    Attributes
    ----------
    first, second : Release
        The two groups.
    level : float
        The probability with which each interval holds.
    """

    first: Release = field(repr=False)
    second: Release = field(repr=False)
    level: float
    _intervals: tuple[Intervals, Intervals] = field(repr=False)

    @property
    def groups(self) -> tuple[str, str]:
        """The names of the two."""
        return _name(self.first), _name(self.second)

    @cached_property
    def mean(self) -> Interval | None:
        """For each mean of the first less that of the second, in the data's units; None where rows are not centred."""
        one, other = (found.unbounded_mean for found in self._intervals)
        return None if one is None or other is None else difference(one, other)

    @cached_property
    def deviations(self) -> Interval:
        """For each standard deviation (of an uncentred release: root mean square)."""
        return difference(*(found.deviations for found in self._intervals))

    @cached_property
    def correlations(self) -> Interval:
        """For each correlation (of an uncentred release: cosine about 0)."""
        return difference(*(found.correlations for found in self._intervals))

    @cached_property
    def entries(self) -> Interval:
        """For each entry of the covariance (of an uncentred release: second moment)."""
        return difference(*(found.entries for found in self._intervals))

    def __repr__(self) -> str:
        first, second = self.groups
        return f"<Differences of {first} and {second}: {self.first.d} features, each with probability {self.level:g}>"


def between(release: Release, first: object, second: object, level: float = 0.95, about: str = "population") -> Differences:
    """Return how two groups differ: see `Release.between`."""
    if not release.groups:
        raise ReleaseError("release must have groups to compare, got none. Hint: make it with by=.")
    one, other = release[first], release[second]
    if one is other:
        raise ReleaseError(f"groups must differ, got {_name(one)!r} twice. Hint: release.groups lists them.")
    about_population(about)
    both = one.interval(level, about), other.interval(level, about)
    return Differences(one, other, checked_level(level), both)


def difference(one: Interval, other: Interval) -> Interval:
    """Return the intervals of the differences of independent numbers."""
    with np.errstate(all="ignore"):
        estimate = one.estimate - other.estimate
        down = np.hypot(one.estimate - one.lower, other.upper - other.estimate)
        up = np.hypot(one.upper - one.estimate, other.estimate - other.lower)
        error = np.hypot(one.standard_error, other.standard_error)
        lower, upper = estimate - down, estimate + up
    lower, upper = np.where(np.isnan(lower), -np.inf, lower), np.where(np.isnan(upper), np.inf, upper)
    return Interval(estimate, lower, upper, error, one.level)


def _name(release: Release) -> str:
    return str(release.part.level) if release.part is not None else ""
