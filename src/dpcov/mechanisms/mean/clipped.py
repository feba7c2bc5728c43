r"""Mean of rows clipped once to the public ball: the naive way, which others improve on.

Paper    Biswas et al. (NeurIPS 2020), MVMRec with t = 1.
Proof    docs/mechanisms/clipped.md
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from dpcov.bounds import gaussian_norm
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.questions.moments import Sum
from dpcov.kernel.rows.frames import Ball
from dpcov.mechanisms.base import Mechanism
from dpcov.mechanisms.coinpress.mean_rounds import TAIL
from dpcov.mechanisms.shared.local import from_last_sum
from dpcov.mechanisms.shared.means import Origin, as_tuple, ask_sum, checked_origin, checked_variances
from dpcov.mechanisms.shared.shares import by_way_of_rho
from dpcov.release.estimate import Estimate
from dpcov.release.record import Option, Transcript


def ask(curator: Face, budget: Budget, *, origin: Origin = 0.0, covariance: ArrayLike | None = None) -> None:
    """Release the mean of rows clipped once to the public ball.

    Parameters
    ----------
    origin : number or list of numbers
        The mean lies within ``radius`` of this public point.
    covariance : number, list or matrix, optional
        The public covariance of rows: they are clipped where few Gaussian ones with a mean in the ball would be cut. None:
        they are clipped to the ball itself.

    Privacy
    -------
    ``budget`` (ZCDP, PureDP, or ApproxDP by way of ρ): one noisy sum, and under add-remove one count.
    """
    point, reach = checked_origin(origin, curator.d), 0.0
    if covariance is not None:
        known = checked_variances(covariance, curator.d)
        largest = known.max() if known.ndim == 1 else np.linalg.eigvalsh(known)[-1]
        reach = math.sqrt(float(largest)) * gaussian_norm(curator.d, TAIL)
    total = Sum(Ball(as_tuple(point), curator.grid.row_norm + reach), curator.d)
    ask_sum(curator, by_way_of_rho(budget), total)


def estimate(transcript: Transcript, postprocess: str, *, origin: Origin = 0.0, **_options: Option) -> Estimate:
    """Divide the noisy sum by n, and move the mean into the public ball."""
    return from_last_sum(transcript, postprocess, origin, Ball)


CLIPPED = Mechanism(
    target="mean",
    name="clipped",
    serves=(PureDP, ZCDP, ApproxDP),
    ask=ask,
    estimate=estimate,
    postprocess=("project", "none"),
    bound="radius",
    covariances=("covariance",),
    places=("origin",),
)
