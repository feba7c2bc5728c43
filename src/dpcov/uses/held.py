"""What a release holds: uses that need a covariance refuse all else, and say what they got."""

from __future__ import annotations

from dpcov.release.record import Release


def holds_covariance(release: Release) -> bool:
    """Whether the whole covariance was asked for; a release of components may have made one on its way."""
    return release.estimate.covariance is not None and release.estimate.k is None


def what_it_holds(release: Release) -> str:
    """Say what a release is about, for an error message."""
    estimate = release.estimate
    if estimate.coefficients is not None:
        return "one regression"
    if estimate.k is not None:
        return "components"
    return "a mean" if estimate.covariance is None else "a covariance"
