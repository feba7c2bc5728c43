r"""Mean of each column by a histogram that finds where its values are, and a clipped sum around that place.

With bins of one standard deviation the fullest noisy one is next to the mean. Values are then clipped to an interval around it
that cuts few of them, and their sum gets noise of that interval's size, not of the public radius.

Paper    Karwa, Vadhan (ITCS 2018), for known variance, in each column; baseline KV of Biswas et al. (NeurIPS 2020).
Proof    docs/mechanisms/karwa-vadhan.md
Differs  a finite histogram over the public interval, so that no δ is needed; discrete noise; zCDP as well as pure DP
         (``constants="paper"``: halves, bins, intervals and Laplace noise as in the program of Biswas et al.).

==============  ==========================================================================
code            mathematics
==============  ==========================================================================
``fullest``     the largest noisy bin of each column
``halves``      half the width of :math:`[X_{min}, X_{max}]`
==============  ==========================================================================
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from dpcov.errors import ParameterError
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.questions.bins import Bins
from dpcov.kernel.questions.calibrated import LAPLACE, noise_for
from dpcov.kernel.questions.moments import Sum
from dpcov.kernel.rows.frames import Box
from dpcov.mechanisms.base import Mechanism
from dpcov.mechanisms.shared.additive import wants_paper
from dpcov.mechanisms.shared.clipping import check_rereadable
from dpcov.mechanisms.shared.local import from_last_sum
from dpcov.mechanisms.shared.means import (
    Origin,
    as_tuple,
    ask_count,
    check_two_rows,
    checked_deviations,
    checked_origin,
    column_scale,
    left_after_count,
    usual_finish,
)
from dpcov.mechanisms.shared.shares import by_way_of_rho
from dpcov.release.estimate import Estimate
from dpcov.release.record import Option, Transcript

HISTOGRAM_SHARE = {"tight": Fraction(1, 4), "paper": Fraction(1, 2)}
BETA = 0.1  # the probability that some value of Gaussian data is cut
BESIDE = 2.0  # deviations from the middle of the fullest bin to the mean, at most, by the paper's lemma
PAPER_REACH, PAPER_NOISE = Fraction(7, 2), Fraction(13, 2)  # deviations: where values are clipped, and what noise is for


def ask(
    curator: Face, budget: Budget, *, origin: Origin = 0.0, covariance: ArrayLike | None = None, constants: str = "tight"
) -> None:
    """Release the mean of each column, clipped around the fullest bin of a noisy histogram.

    Parameters
    ----------
    origin : number or list of numbers
        The mean lies within ``radius`` of this public point.
    covariance : number, list or matrix, optional
        Only its diagonal counts: the public variances of the columns; 1 by default, to be given with a schema.
    constants : {"tight", "paper"}
        "paper" adds Laplace noise, also under zCDP, for wider intervals than values are clipped to.

    Privacy
    -------
    ``budget`` (ZCDP, PureDP, or ApproxDP by way of ρ): one noisy histogram, one noisy sum, and under add-remove one count.
    """
    paper = wants_paper(constants)
    point, whole = checked_origin(origin, curator.d), by_way_of_rho(budget)
    if covariance is None and curator.described:
        raise ParameterError("covariance must be given with a schema, got none. Hint: pass the public variance of each column.")
    widths = checked_deviations(1.0 if covariance is None else covariance, curator.d)
    radius = curator.grid.row_norm
    if paper:  # one bin around the origin, and as many of one deviation on either side as hold the radius
        beside = math.ceil(radius / float(widths.min()))
        count, reach = 2 * beside + 1, (beside + 0.5) * widths
    else:
        count, reach = max(1, math.ceil(2 * radius / float(widths.min()))), np.full(curator.d, radius)
    bins = Bins(Box(as_tuple(point), as_tuple(reach)), curator.d, count)
    left = left_after_count(curator, whole)
    for_bins, for_sum = left.share(HISTOGRAM_SHARE[constants]), left.share(1 - HISTOGRAM_SHARE[constants])
    noise = LAPLACE if paper else noise_for(left)
    check_rereadable(curator, "a histogram first")
    check_two_rows(curator)
    curator.prefetch(bins, derive=False)  # read before anything is charged
    check_two_rows(curator)  # of a stream only now
    ask_count(curator, whole)
    at_least = column_scale(curator, for_bins) if paper else None
    counts = curator.noisy(bins, for_bins, noise=noise, at_least=at_least).integers.reshape(curator.d, count)
    fullest = np.argmax(counts, axis=1)
    middles = point + reach * ((2 * fullest + 1) / count - 1)
    halves = widths * (float(PAPER_REACH) if paper else BESIDE + math.sqrt(2 * math.log(2 * curator.n * curator.d / BETA)))
    at_least = PAPER_NOISE / PAPER_REACH * column_scale(curator, for_sum) if paper else None
    curator.noisy(Sum(Box(as_tuple(middles), as_tuple(halves)), curator.d), for_sum, noise=noise, at_least=at_least)


def estimate(transcript: Transcript, postprocess: str, *, origin: Origin = 0.0, **_options: Option) -> Estimate:
    """Divide the noisy sum by n, and move the mean into the public ball."""
    return from_last_sum(transcript, postprocess, origin, Box)


KARWA_VADHAN = Mechanism(
    target="mean",
    name="karwa-vadhan",
    serves=(PureDP, ZCDP, ApproxDP),
    ask=ask,
    estimate=estimate,
    postprocess=("project", "none"),
    finish=usual_finish,
    bound="radius",
    covariances=("covariance",),
    places=("origin",),
)
