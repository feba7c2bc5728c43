"""One file per mechanism. A mechanism never sees data: it asks a curator, and computes with the answers."""

from __future__ import annotations

from collections.abc import Collection

from dpcov.errors import ParameterError, ReleaseError, check_choice, shown
from dpcov.mechanisms.base import Described, Mechanism, Named
from dpcov.mechanisms.coinpress.covariance import COINPRESS
from dpcov.mechanisms.coinpress.mean import COINPRESS_MEAN
from dpcov.mechanisms.covariance.adaptive import ADAPTIVE
from dpcov.mechanisms.covariance.auto import AUTO
from dpcov.mechanisms.covariance.eigenvectors import EIGENVECTORS
from dpcov.mechanisms.covariance.frobenius import FROBENIUS
from dpcov.mechanisms.covariance.gaussian import GAUSSIAN
from dpcov.mechanisms.covariance.kapralov_talwar import KAPRALOV_TALWAR
from dpcov.mechanisms.covariance.laplace import LAPLACE
from dpcov.mechanisms.covariance.projection import PROJECTION
from dpcov.mechanisms.covariance.rescaled import RESCALED
from dpcov.mechanisms.covariance.separate import SEPARATE
from dpcov.mechanisms.covariance.wishart import WISHART
from dpcov.mechanisms.mean.auto import AUTO_MEAN
from dpcov.mechanisms.mean.clipped import CLIPPED
from dpcov.mechanisms.mean.coordinatewise import COORDINATEWISE
from dpcov.mechanisms.mean.karwa_vadhan import KARWA_VADHAN
from dpcov.mechanisms.mean.symq import SYMQ
from dpcov.mechanisms.pca.auto import AUTO_PCA
from dpcov.mechanisms.pca.eigenvectors import EIGENVECTORS_PCA
from dpcov.mechanisms.pca.gaussian import GAUSSIAN_PCA
from dpcov.mechanisms.pca.mod_sulq import MOD_SULQ
from dpcov.mechanisms.pca.ppca import PPCA
from dpcov.mechanisms.pca.random import RANDOM
from dpcov.mechanisms.pca.screened import SCREENED
from dpcov.mechanisms.pca.wishart import WISHART_PCA
from dpcov.mechanisms.ridge.output_perturbation import OUTPUT_PERTURBATION
from dpcov.mechanisms.standardized.covariance import STANDARDIZED
from dpcov.release.record import TARGETS, Release

ALL: tuple[Named, ...] = (
    *(AUTO, GAUSSIAN, WISHART, FROBENIUS, LAPLACE, PROJECTION, SEPARATE, ADAPTIVE, RESCALED, COINPRESS, EIGENVECTORS),
    STANDARDIZED,
    *(KAPRALOV_TALWAR, AUTO_MEAN, COINPRESS_MEAN, CLIPPED, COORDINATEWISE, KARWA_VADHAN, SYMQ),
    *(AUTO_PCA, SCREENED, GAUSSIAN_PCA, WISHART_PCA, EIGENVECTORS_PCA, PPCA, MOD_SULQ, RANDOM, OUTPUT_PERTURBATION),
)
MECHANISMS: dict[str, dict[str, Named]] = {
    target: {named.name: named for named in ALL if named.target == target} for target in TARGETS
}
"""The mechanisms by what they release, then by name: docs/mechanisms/README.md lists their facts.

A value is a `Mechanism`, or an alias such as ``auto`` that stands for one of several.
"""


def is_own(mechanism: Described) -> bool:
    """Whether a mechanism is one of the library's own; refuse a stranger's that takes the name of one."""
    known = MECHANISMS.get(mechanism.target, {}).get(mechanism.name)
    if known is not None and known is not mechanism:
        raise ParameterError(
            f"name of a mechanism must be new, got {mechanism.name!r}, which this library uses. Hint: choose another name."
        )
    return known is mechanism


def checked_mechanism(target: str, named: str | Named, options: Collection[str]) -> Named:
    """Return a mechanism, by its name or as it is, or refuse an unknown name or option."""
    if isinstance(named, Described):
        if named.target != target:
            raise ParameterError(f"mechanism must be for a {target}, got one for a {named.target}. Hint: dpcov.{named.target}.")
        is_own(named)
        found: Named = named
    else:
        check_choice("mechanism", named, MECHANISMS[target], "`dpcov mechanisms` lists them")
        found = MECHANISMS[target][named]
    found.check_options(options)
    return found


def mechanism_of(release: Release) -> Mechanism:
    """Return the mechanism that a release was made by, or refuse one that is not known here."""
    found = release.record or MECHANISMS.get(release.kind, {}).get(release.mechanism)
    if isinstance(found, Mechanism):
        return found
    raise ReleaseError(
        f"release must come from a mechanism that is known here, got {shown(release.mechanism)}. "
        f"Hint: dpcov.load(path, mechanisms=[...]) takes it; the promise and the answers can be read without it."
    )


def ridge_mechanism(mechanism: str | Named | None) -> str | Named:
    """Return the mechanism for a regression, by default the only one."""
    return next(iter(MECHANISMS["ridge"])) if mechanism is None else mechanism
