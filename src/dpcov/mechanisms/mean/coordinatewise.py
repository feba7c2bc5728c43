r"""Mean of each column by itself, clipped once to its public interval: the naive way, d times.

Each of d columns gets a d-th of the budget, so the noise of a coordinate grows like √d where a ball's does not.

Paper    baseline of Biswas et al. (NeurIPS 2020), "naïve coordinatewise".
Proof    docs/mechanisms/coordinatewise.md
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpcov.bounds import gaussian_norm
from dpcov.kernel.budget import Budget
from dpcov.kernel.curator import Curator
from dpcov.kernel.questions.moments import Sum
from dpcov.kernel.rows.frames import Box
from dpcov.mechanisms.coinpress.mean_rounds import TAIL
from dpcov.mechanisms.shared.means import (
    Floats,
    Origin,
    as_tuple,
    checked_covariance,
    checked_origin,
    checked_postprocess,
    release_sum,
)
from dpcov.mechanisms.shared.shares import by_way_of_rho
from dpcov.release.record import Release


def coordinatewise(
    curator: Curator,
    budget: Budget,
    *,
    postprocess: str | None = None,
    origin: Origin = 0.0,
    covariance: ArrayLike | None = None,
) -> Release:
    """Release the mean of each column, clipped once to its public interval.

    Parameters
    ----------
    origin : number or list of numbers
        The mean lies within ``radius`` of this public point, and so does that of each column.
    covariance : number, list or matrix, optional
        Only its diagonal counts: values are clipped where few Gaussian ones would be cut. None: at ``radius``.

    Privacy
    -------
    ``budget`` (ZCDP, PureDP, or ApproxDP by way of ρ): one noisy sum, and under add-remove one count.
    """
    chosen, point, whole = checked_postprocess(postprocess), checked_origin(curator, origin), by_way_of_rho(budget)
    halves = np.full(curator.d, curator.grid.row_norm)
    if covariance is not None:
        halves = halves + deviations(covariance, curator.d) * gaussian_norm(1, TAIL)
    total = Sum(Box(as_tuple(point), as_tuple(halves)), curator.d)
    return release_sum(curator, whole, total, "coordinatewise", chosen)


def deviations(covariance: ArrayLike, d: int) -> Floats:
    """Return the standard deviation of each column of a public covariance."""
    return np.asarray(np.sqrt(np.diag(checked_covariance(covariance, d))))
