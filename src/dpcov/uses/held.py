"""What a release holds: uses that need a covariance refuse all else, and say what they got."""

from __future__ import annotations

from typing import NoReturn

from dpcov.errors import ReleaseError
from dpcov.release.record import Release


def holds_covariance(release: Release) -> bool:
    """Whether the whole covariance was asked for; a release of components may have made one on its way."""
    return release.estimate.covariance is not None and release.estimate.k is None


def is_centered(release: Release) -> bool:
    """Whether a release estimates the covariance about the mean: by a mean, or by differences of rows."""
    return release.center or release.encoding.pairs


def check_covariance(release: Release, use: str) -> None:
    """Refuse a release that holds no covariance; ``use`` says what it would be for."""
    if not holds_covariance(release):
        raise ReleaseError(
            f"release must hold a covariance for {use}, got {what_it_holds(release)}. Hint: make one with dpcov.covariance."
        )


def tells_noise(release: Release) -> bool:
    """Whether it is known how large the noise in a covariance is; one of zeros has none: nothing was asked."""
    return release.estimate.noise is not None or not release.encoded_covariance.any()


def refuse_silent(use: str, hint: str) -> NoReturn:
    """Refuse what needs the size of the noise, of a release that does not tell it."""
    raise ReleaseError(f"release must say how large its noise is for {use}, got a mechanism that does not. Hint: {hint}.")


def what_it_holds(release: Release) -> str:
    """Say what a release is about, for an error message."""
    estimate = release.estimate
    if estimate.coefficients is not None:
        return "one regression"
    if estimate.k is not None:
        return "components"
    return "a mean" if estimate.covariance is None else "a covariance"
