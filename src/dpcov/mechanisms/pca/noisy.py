"""Eigenvectors of a noisy second moment, with our noise."""

from __future__ import annotations

from dpcov.kernel.budget import Budget
from dpcov.kernel.curator import Curator
from dpcov.kernel.questions.calibrated import GAUSSIAN, WISHART
from dpcov.mechanisms.shared.additive import release_additive
from dpcov.mechanisms.shared.components import checked_k
from dpcov.release.record import Release


def wishart(curator: Curator, budget: Budget, *, k: int, clip: str | float = "none") -> Release:
    """Release the first k eigenvectors of a second moment with Wishart-difference noise.

    Parameters
    ----------
    k : int
        How many components.
    clip : {"none", "private"} or float
        Where rows are clipped before the noise: at row_norm, at a radius found for a part of the budget, or at this one.

    Privacy
    -------
    ``budget`` (PureDP, or ApproxDP with δ unused): that of `wishart` for covariances.
    """
    return _release(curator, budget, WISHART, k, clip)


def gaussian(curator: Curator, budget: Budget, *, k: int, clip: str | float = "none") -> Release:
    """Release the first k eigenvectors of a second moment with isometric Gaussian noise.

    Parameters
    ----------
    k : int
        How many components.
    clip : {"none", "private"} or float
        Where rows are clipped before the noise: at row_norm, at a radius found for a part of the budget, or at this one.

    Privacy
    -------
    ``budget`` (ZCDP or ApproxDP): that of `gaussian` for covariances.
    """
    return _release(curator, budget, GAUSSIAN, k, clip)


def _release(curator: Curator, budget: Budget, noise: str, k: int, clip: str | float) -> Release:
    count = checked_k(k, curator.d - curator.grid.center)
    return release_additive(curator, noise, budget, postprocess="shrink", clip=clip, kind="pca", name=noise, k=count)
