"""What a release can be used for, as its methods: each is one call into `dpcov.uses`, and none costs privacy."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ReleaseError
from dpcov.release.groups import subject
from dpcov.results import Drawable

if TYPE_CHECKING:
    from dpcov.release.estimate import ConfidenceBall, ConfidenceEllipsoids
    from dpcov.release.record import Release
    from dpcov.uses.between import Differences
    from dpcov.uses.description import Description
    from dpcov.uses.intervals import Intervals
    from dpcov.uses.noise_level import NoiseLevel
    from dpcov.uses.pca import PrincipalComponents
    from dpcov.uses.penalty import Decomposed
    from dpcov.uses.ridge import RidgeModel
    from dpcov.uses.summary import Summary
    from dpcov.verify.retrace import Retraced

Floats = NDArray[np.float64]


class Uses(Drawable):
    """Methods of `Release`."""

    @property
    def _release(self) -> Release:
        """What uses are about: of a whole release with groups, all of them together."""
        return subject(cast("Release", self))

    def pca(self, k: int | float | None = None) -> PrincipalComponents:
        """Return principal components, at no cost in privacy.

        Parameters
        ----------
        k : int, float or None
            How many; or, between 0 and 1, as many as explain this part of the variance; or None: as many as were asked for, and
            of a covariance as many as stand out of the noise, at least one.
        """
        from dpcov.uses.pca import principal_components

        return principal_components(self._release, k)

    @property
    def components(self) -> Floats:
        """As many principal components as were asked for, an orthonormal row each: those of `pca`."""
        return self._asked.components

    @property
    def explained(self) -> Floats:
        """The estimated variance along `components`."""
        return self._asked.explained

    @cached_property
    def _asked(self) -> PrincipalComponents:
        from dpcov.uses.pca import asked_components

        return asked_components(self._release)

    def ridge(
        self,
        target: str | int | None = None,
        *,
        alpha: float | str = "auto",
        features: Sequence[str | int] | None = None,
        reference: Mapping[str, object] | str | None = None,
    ) -> RidgeModel:
        """Fit a ridge regression, at no cost in privacy: any target, any features, any number of times.

        (1/n)·Σ(y − b − w·x)² + alpha·‖w‖² is least, in encoded coordinates (without a schema: the data's own). The intercept
        b is free where the release is centred; else the model goes through what is encoded as 0.

        Parameters
        ----------
        target : str or int
            What is predicted: a feature by name ("age", "sex=Male") or position.
        alpha : float or "auto"
            The penalty, 0 or more. 0 is least squares: on the raw noisy moments where these are clear of noise; elsewhere the
            denoised matrix is trusted as if it were exact, and where it is singular the smallest coefficients are taken.
            "auto" is 0 where that is estimated to have the smaller error, else a penalty from the release's own noise.
        features : list of names or positions, optional
            What it is predicted from; a column with levels stands for all of them. By default all other columns.
        reference : mapping of columns to levels, or "none", optional
            The level of a named column that its others are compared with, by default the most frequent one by the release; it
            has no coefficient. Predictions do not depend on it. "none": a coefficient for every level, which only a penalty can
            tell apart.
        """
        from dpcov.uses.ridge import ridge

        return ridge(self._release, target, alpha=alpha, features=features, reference=reference)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write one HTML file that shows the release in any browser, without a network: docs/report.md.

        Means, correlations, components, and any regression, solved in the page by the same closed form as `ridge`. It costs no
        privacy. The file appears whole or not at all, in place of one that was there.
        """
        from dpcov.results import write_page

        write_page(self, path)

    @cached_property
    def noise_level(self) -> NoiseLevel:
        """How much noise is left in the covariance, for the penalty "auto"."""
        from dpcov.uses.noise_level import noise_level

        with np.errstate(all="ignore"):
            return noise_level(self._release)

    @cached_property
    def decomposition(self) -> Decomposed:
        """The decomposition of the covariance, which all targets that are predicted from all others share."""
        from dpcov.uses.penalty import decomposition

        return decomposition(self._release)

    def correlation(self) -> Floats:
        """Return the correlation matrix, entry by entry: finite, between −1 and 1; of an uncentred release, cosines about 0.

        Entries that are clear of noise come from the raw matrix, others from the denoised one: ``describe().correlation`` tells
        which, and has their standard errors and their picture. As each is an estimate of its own, the matrix need not be
        positive semidefinite.
        """
        from dpcov.uses.held import what_it_holds

        found = self.describe().correlation
        if found is None:
            held = what_it_holds(self._release)
            raise ReleaseError(f"release must hold a covariance, got {held}. Hint: make one with dpcov.covariance.")
        return found.values.copy()

    def describe(self, about: str = "population") -> Description:
        """Return means, deviations and correlations, each with its standard error and whether it is clear of noise.

        What that means, and how well it holds: docs/reading.md.

        Parameters
        ----------
        about : {"population", "rows"}
            "population": standard errors about the people that the rows were drawn from, of noise and of that draw together.
            "rows": of the noise alone. A mean that comes without a covariance has only these.
        """
        from dpcov.uses.description import describe
        from dpcov.uses.sampling import about_population

        about_population(about)
        if about not in self._descriptions:
            self._descriptions[about] = describe(self._release, about)
        return self._descriptions[about]

    @cached_property
    def _descriptions(self) -> dict[str, Description]:
        return {}

    def interval(self, level: float = 0.95, about: str = "population") -> Intervals:
        """Return intervals for means, deviations, correlations, entries of the covariance and eigenvalues: docs/intervals.md.

        Parameters
        ----------
        level : float
            How often each of them holds.
        about : {"population", "rows"}
            "population": about the people that the rows were drawn from. The sampling variance, estimated from the release, is
            added to that of the noise; what is assumed is in ``about`` of the result. "rows": about the rows alone, over the
            noise, whose law is public: nothing is assumed.
        """
        from dpcov.uses.intervals import intervals

        return intervals(self._release, level, about)

    def between(self, first: object, second: object, level: float = 0.95, about: str = "population") -> Differences:
        """Return what one group has more than another, with intervals of the differences: docs/groups.md.

        Parameters
        ----------
        first, second : levels
            Two of ``groups``.
        level, about
            As in `interval`.
        """
        from dpcov.uses.between import between

        return between(cast("Release", self), first, second, level, about)

    def summary(self, level: float = 0.95) -> tuple[Summary | None, Summary | None]:
        """Return two tables, of means and of correlations between columns: estimate, standard error, t, p and interval.

        About the population, as `interval` is by default. None where the release is not centred, or has one column.
        """
        from dpcov.uses.summary import release_summary

        return release_summary(self._release, level)

    def sample(self, m: int, *, seed: int | None = None) -> Any:
        """Return m synthetic rows: a pyarrow table within the schema, or without one an array.

        They have about the released moments, and know nothing else of the data: docs/synthetic.md. The seed only repeats them.
        """
        from dpcov.uses.synthetic import synthetic

        return synthetic(self._release, m, seed=seed)

    @property
    def confidence(self) -> ConfidenceBall | ConfidenceEllipsoids:
        """Where the truth may lie, in the data's units, where a mechanism tells: a ball around the mean, or two ellipsoids."""
        region = self._release.estimate.region
        if region is None:
            hint = "dpcov.mean(..., covariance=) has one, and so have covariances that are found in rounds"
            raise ReleaseError(f"release must hold a confidence region, got none. Hint: {hint}.")
        return region()

    def retrace(self) -> Retraced:
        """Run the mechanism over the recorded answers, and say whether it would have asked for just these.

        A verdict on a file whose numbers are consistent already, never a condition for reading it.
        """
        from dpcov.verify.retrace import retrace

        release = cast("Release", self)
        return retrace(release if release.part is None else release.part.whole)
