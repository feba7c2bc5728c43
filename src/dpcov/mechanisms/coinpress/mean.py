r"""Mean from rounds that clip rows to ever smaller balls around the last guess.

A public ball may be far too large: noise follows its radius. The first answers only move and shrink it; the last one, with most
of the budget, is the estimate. The cost of a weak guess then grows like the logarithm of the radius.

Paper    Biswas, Dong, Kamath, Ullman (NeurIPS 2020), MVMRec.
Proof    docs/mechanisms/coinpress.md
Differs  number of rounds, prices and last clip by a public rule; any covariance, also an unknown one, where each round first
         chooses its radius as a private quantile of the distances from the centre; integers; add-remove and pure DP as well.
         ``constants="paper"``: prices and clips of the authors' program.

==============  ====================================================================================
code            mathematics
==============  ====================================================================================
``centre``      :math:`c_i`
``clip``        :math:`r_i + \gamma`, in standard deviations
``shares``      :math:`\rho_i/\rho`
==============  ====================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcov.errors import ParameterError, check_choice
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.public import Facts
from dpcov.kernel.questions.calibrated import noise_for
from dpcov.kernel.questions.moments import Sum
from dpcov.kernel.rows.frames import Ball, Ellipsoid
from dpcov.linalg import whitener_of
from dpcov.mechanisms.base import Least, Mechanism
from dpcov.mechanisms.coinpress.confidence import PAPER, PRACTICAL, checked_claim, confidence_ball
from dpcov.mechanisms.coinpress.mean_rounds import Plan, plan, smallest_share
from dpcov.mechanisms.coinpress.unknown_scale import ask_unknown_scale, least_early_share
from dpcov.mechanisms.shared.clipping import check_rereadable
from dpcov.mechanisms.shared.local import from_last_sum, mean_in_ball, mean_of_sum
from dpcov.mechanisms.shared.means import (
    Origin,
    as_tuple,
    ask_count,
    check_ordinary_radius,
    check_provable,
    check_two_rows,
    checked_origin,
    checked_rounds,
    checked_variances,
    left_after_count,
    sum_noise,
    unit_ball,
    usual_finish,
)
from dpcov.mechanisms.shared.shares import by_way_of_rho
from dpcov.release.estimate import Estimate
from dpcov.release.record import Option, Transcript

Floats = NDArray[np.float64]

MOST_DEVIATIONS = 1e30  # deviations


def ask(
    curator: Face,
    budget: Budget,
    *,
    origin: Origin = 0.0,
    covariance: ArrayLike | None = None,
    rounds: str | int = "auto",
    constants: str = "practical",
    beta: float = 0.1,
) -> dict[str, Option]:
    """Release the mean by rounds that clip to ever smaller balls.

    Parameters
    ----------
    origin : number or list of numbers
        The mean lies within ``radius`` of this public point.
    covariance : number, list or matrix, optional
        The public covariance of rows: a variance, one for each column, or a matrix. None: it is not known, and clipping
        radii are found privately.
    rounds : "auto" or int
        How often the ball is moved; "auto" is found from public numbers.
    constants : {"practical", "proved", "paper"}
        "proved" clips where no row of Gaussian data is cut but for a probability beta; more noise. "paper" has the prices and
        clips of the paper's figures, and two rounds where ``rounds`` is "auto".
    beta : float
        The probability that a confidence ball may fail with.

    Privacy
    -------
    ``budget`` (ZCDP, PureDP, or ApproxDP by way of ρ): a noisy sum in each round, before it a choice of radius where the
    covariance is not known, and under add-remove one count.

    Utility
    -------
    Theorem 2.2 of the paper, for Gaussian rows with ``constants="proved"``: `Release.confidence`.
    """
    claim = checked_claim(constants, beta)
    count, point = checked_rounds(rounds), checked_origin(origin, curator.d)
    whole = by_way_of_rho(budget)
    check_ordinary_radius(curator)
    check_rereadable(curator, "rounds")
    check_provable(curator, whole, constants)
    if covariance is None:
        check_choice("constants", constants, (PRACTICAL,), "'proved' and 'paper' need a public covariance")
        used, strength = ask_unknown_scale(curator, whole, point, count)
        return {"rounds": used, "strength": strength}
    known = _known(covariance, curator.d)
    radius = _in_deviations(curator, known)
    left = left_after_count(curator, whole)
    check_two_rows(curator, read=True)
    ask_count(curator, whole)
    noise = sum_noise(curator, left)
    proof = (claim.beta, _shape(point, known, 1.0).rounding) if claim.proved else (None, 0.0)
    made = plan(radius, curator.n, curator.d, noise, count, *proof, paper=constants == PAPER)
    _ask_rounds(curator, left, made, known, point, free=constants != PRACTICAL)
    return {"rounds": len(made.shares)}


def least(
    public: Facts, budget: Budget, *, covariance: ArrayLike | None, rounds: str | int, **_options: Any
) -> Iterator[Least]:
    """Yield a round's sum at the least share that a round can have, whatever n is."""
    left = left_after_count(public, by_way_of_rho(budget))
    share = least_early_share(left) if covariance is None else smallest_share(checked_rounds(rounds))
    yield Least(Sum(unit_ball(public.d), public.d), left.share(share), noise_for(left))


def estimate(
    transcript: Transcript,
    postprocess: str,
    *,
    origin: Origin = 0.0,
    covariance: ArrayLike | None = None,
    constants: str = "practical",
    beta: float = 0.1,
    **_options: Option,
) -> Estimate:
    """Divide the last noisy sum by n, and move the mean into the public ball; with a known covariance, say where it may lie.

    Of an unknown covariance the mean is believed only so far as noise allows: ``strength``.
    """
    claim, d = checked_claim(constants, beta), transcript.encoding.d
    strength, region = 1.0, None
    if covariance is None:
        strength = transcript.note("strength", 0.0, 1.0)
    else:
        checked_variances(covariance, d)
        region = partial(confidence_ball, transcript, checked_origin(origin, d), claim)
    return from_last_sum(transcript, postprocess, origin, Ball, Ellipsoid, strength=strength, region=region)


def _known(covariance: ArrayLike, d: int) -> Floats:
    """Return a public covariance as a matrix; where it is a multiple of 1, the one variance alone."""
    found = checked_variances(covariance, d)
    if found.ndim == 1:
        return found[:1] if np.all(found == found[0]) else np.diag(found)
    return found[0, :1] if np.array_equal(found, found[0, 0] * np.eye(d)) else found


def _in_deviations(public: Facts, covariance: Floats) -> float:
    """Return how many deviations the mean may be from the origin, in the direction in which they are smallest."""
    matrix = covariance[:, None] if covariance.ndim == 1 else covariance  # of one column: they are all alike
    deviations = public.grid.row_norm * float(np.linalg.norm(whitener_of(matrix), 2))
    if not deviations <= MOST_DEVIATIONS:
        raise ParameterError(
            f"radius must be at most {MOST_DEVIATIONS:g} standard deviations, got more. Hint: take a smaller radius."
        )
    return deviations


def _ask_rounds(curator: Face, budget: PureDP | ZCDP, made: Plan, covariance: Floats, origin: Floats, *, free: bool) -> None:
    """Ask for the sums, each around what the one before it told, also outside the public ball where that is ``free``."""
    centre, n, radius = origin, curator.n, curator.grid.row_norm
    for share, clip, moves in zip(made.shares, made.clips, made.moves, strict=True):
        total = Sum(_shape(centre, covariance, clip), curator.d)
        answer = curator.noisy(total, budget.share(share), noise=noise_for(budget))
        if moves:
            # A Euclidean step into the ball may lead away from the mean in deviations: a proof does without it.
            centre = mean_of_sum(answer, n) if free else mean_in_ball(answer, n, origin, radius)


def _shape(centre: Floats, covariance: Floats, clip: float) -> Ball | Ellipsoid:
    """Return the ball, or ellipsoid, of rows within so many deviations of the centre."""
    if covariance.ndim == 1:
        return Ball(as_tuple(centre), math.sqrt(covariance[0]) * clip, clip)
    return Ellipsoid(as_tuple(centre), whitener_of(covariance) / clip, clip)


COINPRESS_MEAN = Mechanism(
    target="mean",
    name="coinpress",
    serves=(PureDP, ZCDP, ApproxDP),
    ask=ask,
    estimate=estimate,
    postprocess=("project", "none"),
    finish=usual_finish,
    bound="radius",
    covariances=("covariance",),
    places=("origin",),
    least=least,
)
