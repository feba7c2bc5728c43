"""What a release holds, in words, and how commands refuse one that holds something else."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpcov.release.record import Release

HELD = {"covariance": "a covariance", "mean": "a mean", "pca": "components", "ridge": "one regression"}


def check_covariance(release: Release, use: str) -> None:
    """Refuse a release that holds no covariance; ``use`` says what it would be for."""
    from dpcov.errors import ReleaseError

    if release.kind != "covariance":
        hint = "`dpcov release` without --pca makes one" if release.kind == "pca" else "`dpcov release` makes one"
        raise ReleaseError(f"release must hold a covariance for {use}, got {HELD[release.kind]}. Hint: {hint}.")


def reason(error: Exception) -> str:
    """Return what an error says, without its hint, which may speak of Python."""
    return str(error).partition(" Hint:")[0].rstrip(".")
