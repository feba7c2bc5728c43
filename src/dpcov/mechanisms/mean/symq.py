r"""Mean of each column as the middle between two of its quantiles, equally far from either end.

For symmetric values the middle between the p-th and the (1 − p)-th quantile is the mean. Each quantile is drawn by the
exponential mechanism, whose error is counted in rows, not in units: a loose public radius costs little.

Paper    Du, Foot, Moniot, Bray, Groce (2020), SYMQ, in each column; baseline of Biswas et al. (NeurIPS 2020).
Proof    docs/mechanisms/symq.md
Differs  quantiles are bins of a public grid, drawn exactly; ``level`` is an option; the budget is shared equally by 2d draws,
         each ε²/8-zCDP (``constants="paper"``: level 0.35, and ε/2 of ε = √(2ρ/d) for each draw, of which ε²/2 is the price).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from dpcov.bounds import gaussian_norm
from dpcov.errors import ParameterError, ReleaseError, check_real
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.questions.bins import Bins, Rank
from dpcov.kernel.rows.frames import Box
from dpcov.linalg import into_ball, sqrt_down
from dpcov.mechanisms.base import RAW, Mechanism
from dpcov.mechanisms.coinpress.mean_rounds import TAIL
from dpcov.mechanisms.shared.additive import wants_paper
from dpcov.mechanisms.shared.local import WITHOUT_RAW
from dpcov.mechanisms.shared.means import (
    Floats,
    Origin,
    as_tuple,
    ask_count,
    check_two_rows,
    checked_deviations,
    checked_origin,
    left_after_count,
    usual_finish,
)
from dpcov.mechanisms.shared.shares import by_way_of_rho
from dpcov.release.estimate import Estimate, MeanNoise
from dpcov.release.record import Option, Transcript

PER_DEVIATION = 64  # bins, where the variance is known
BINS = 2**12  # where it is not
MOST = 2**16
LEVEL, PAPER_LEVEL = 0.25, 0.35


def ask(
    curator: Face,
    budget: Budget,
    *,
    origin: Origin = 0.0,
    covariance: ArrayLike | None = None,
    level: float = LEVEL,
    constants: str = "tight",
) -> None:
    """Release the mean of each column as the middle between two of its quantiles.

    Parameters
    ----------
    origin : number or list of numbers
        The mean lies within ``radius`` of this public point.
    covariance : number, list or matrix, optional
        Only its diagonal counts: the public variances of the columns, for the size of the bins. None: 4096 bins.
    level : float
        The lower quantile, above 0 and below 1/2; quartiles by default. "paper" has 0.35.
    constants : {"tight", "paper"}
        "paper" draws each quantile with less of the budget than it pays for, as the authors' program does.

    Privacy
    -------
    ``budget`` (ZCDP, PureDP, or ApproxDP by way of ρ): two choices for each column, and under add-remove one count.
    """
    level = check_real("level", level, "above 0 and below 1/2", 1e-6, 0.5 - 1e-6, "0.25 takes the quartiles")
    paper = wants_paper(constants)
    if paper:
        if level not in (LEVEL, PAPER_LEVEL):
            raise ParameterError(f"level must be {PAPER_LEVEL} for the paper's constants, got {level}. Hint: leave it out.")
        level = PAPER_LEVEL
    point, whole = checked_origin(origin, curator.d), by_way_of_rho(budget)
    radius, count = curator.grid.row_norm, BINS
    if covariance is not None:
        sizes = checked_deviations(covariance, curator.d)
        radius += float(sizes.max()) * gaussian_norm(1, TAIL)
        count = min(math.ceil(2 * radius / float(sizes.min()) * PER_DEVIATION), MOST)
    bins = Bins(Box(as_tuple(point), (radius,) * curator.d), curator.d, count)
    left = left_after_count(curator, whole)
    check_two_rows(curator)
    curator.prefetch(bins, derive=False)  # read before anything is charged
    check_two_rows(curator)  # of a stream only now
    ask_count(curator, whole)
    lower = max(0, min(round(level * curator.n), curator.n))
    each = left.share(Fraction(1, 2 * curator.d))
    at_most = _paper_rate(left, curator.d) if paper else None
    for column in range(curator.d):
        for rows in (lower, curator.n - lower):
            curator.choose(Rank(bins, column, rows), each, at_most=at_most)


def estimate(transcript: Transcript, postprocess: str, *, origin: Origin = 0.0, **_options: Option) -> Estimate:
    """Take the middle between the two quantiles of each column, and move the mean into the public ball."""
    point = checked_origin(origin, transcript.encoding.d)
    mean = _middles(transcript)
    return Estimate(
        mean=mean if postprocess == RAW else into_ball(mean, point, transcript.encoding.row_norm),
        without_raw=WITHOUT_RAW,
        mean_noise=MeanNoise(np.full(len(mean), np.nan), point),  # the error of a quantile depends on the data
    )


def _middles(transcript: Transcript) -> Floats:
    """Return, for each column, the middle between the two quantiles, each in the middle of its bin."""
    total, asked = np.zeros(transcript.encoding.d), np.zeros(transcript.encoding.d, dtype=np.int64)
    for answer in transcript.every(Rank):
        question = answer.question
        assert isinstance(question, Rank)
        box, column = question.bins.grid, question.column
        total[column] += box.centre[column] + box.halves[column] * question.middle(int(answer.integers[0]))
        asked[column] += 1
    if not np.all(asked == 2):
        raise ReleaseError("release must hold two quantiles of each column, got more or fewer. Hint: another version?")
    return total / 2


def _paper_rate(budget: PureDP | ZCDP, d: int) -> Fraction:
    """Return ε/4 for the ε that a column has: half of it for each of two draws, and ε/2 in the exponential mechanism."""
    return (budget.epsilon / d if isinstance(budget, PureDP) else sqrt_down(2 * budget.rho / d)) / 4


SYMQ = Mechanism(
    target="mean",
    name="symq",
    serves=(PureDP, ZCDP, ApproxDP),
    ask=ask,
    estimate=estimate,
    postprocess=("project", "none"),
    finish=usual_finish,
    bound="radius",
    covariances=("covariance",),
    places=("origin",),
)
