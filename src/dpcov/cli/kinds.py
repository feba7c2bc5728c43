"""What a release holds, in words, and how commands refuse one that holds something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcov.release.record import Release


def check_covariance(release: Release, use: str) -> None:
    """Refuse a release that holds no covariance; ``use`` says what it would be for."""
    from dpcov.errors import ReleaseError
    from dpcov.uses.held import holds_covariance, what_it_holds

    if not holds_covariance(release):
        hint = "`dpcov release` without --pca makes one" if release.estimate.k is not None else "`dpcov release` makes one"
        raise ReleaseError(f"release must hold a covariance for {use}, got {what_it_holds(release)}. Hint: {hint}.")


def reason(error: Exception) -> str:
    """Return what an error says, without its hint, which may speak of Python."""
    return str(error).partition(" Hint:")[0].rstrip(".")
