r"""Mean of each column by itself, clipped once to its public interval: the naive way, d times.

Each of d columns gets a d-th of the budget, so the noise of a coordinate grows like √d where a ball's does not.

Paper    baseline of Biswas et al. (NeurIPS 2020), "naïve coordinatewise".
Proof    docs/mechanisms/coordinatewise.md
Differs  Gaussian noise under zCDP, and a wider interval (``constants="paper"``: Laplace noise with ε = √(2ρ/d) in each column,
         three deviations beyond the radius, as in the authors' program, which clips nothing and is not private).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dpcov.bounds import gaussian_norm
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.questions.calibrated import LAPLACE
from dpcov.kernel.questions.moments import Sum
from dpcov.kernel.rows.frames import Box
from dpcov.mechanisms.base import Mechanism
from dpcov.mechanisms.coinpress.mean_rounds import TAIL
from dpcov.mechanisms.shared.additive import wants_paper
from dpcov.mechanisms.shared.local import from_last_sum
from dpcov.mechanisms.shared.means import Origin, as_tuple, ask_sum, checked_deviations, checked_origin, usual_finish
from dpcov.mechanisms.shared.shares import by_way_of_rho
from dpcov.release.estimate import Estimate
from dpcov.release.record import Option, Transcript

PAPER_REACH = 3.0  # deviations beyond the radius


def ask(
    curator: Face, budget: Budget, *, origin: Origin = 0.0, covariance: ArrayLike | None = None, constants: str = "tight"
) -> None:
    """Release the mean of each column, clipped once to its public interval.

    Parameters
    ----------
    origin : number or list of numbers
        The mean lies within ``radius`` of this public point, and so does that of each column.
    covariance : number, list or matrix, optional
        Only its diagonal counts: values are clipped where few Gaussian ones would be cut. None: at ``radius``.
    constants : {"tight", "paper"}
        "paper" adds Laplace noise, also under zCDP, and clips at three deviations beyond the radius.

    Privacy
    -------
    ``budget`` (ZCDP, PureDP, or ApproxDP by way of ρ): one noisy sum, and under add-remove one count.
    """
    paper = wants_paper(constants)
    point, halves = checked_origin(origin, curator.d), np.full(curator.d, curator.grid.row_norm)
    if covariance is not None:
        halves = halves + checked_deviations(covariance, curator.d) * (PAPER_REACH if paper else gaussian_norm(1, TAIL))
    total = Sum(Box(as_tuple(point), as_tuple(halves)), curator.d)
    ask_sum(curator, by_way_of_rho(budget), total, LAPLACE if paper else None)


def estimate(transcript: Transcript, postprocess: str, *, origin: Origin = 0.0, **_options: Option) -> Estimate:
    """Divide the noisy sum by n, and move the mean into the public ball."""
    return from_last_sum(transcript, postprocess, origin, Box)


COORDINATEWISE = Mechanism(
    target="mean",
    name="coordinatewise",
    serves=(PureDP, ZCDP, ApproxDP),
    ask=ask,
    estimate=estimate,
    postprocess=("project", "none"),
    finish=usual_finish,
    bound="radius",
    covariances=("covariance",),
    places=("origin",),
)
