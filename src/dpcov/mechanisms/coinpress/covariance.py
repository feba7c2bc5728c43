r"""Covariance from rounds that whiten the rows by the last estimate, so that noise follows the data and not the public bounds.

With lower ⪯ Σ ⪯ upper a first whitener makes Σ at most 1 in every direction, but in some it may be far smaller, and drowned
in noise. A noisy second moment Z of the whitened rows, widened by its noise to U, bounds it better: W ← U^{-1/2}W. After a few
rounds no direction is far from 1, rows are clipped where they are, and the last round's noise is small in all of them.

Paper    Biswas, Dong, Kamath, Ullman (NeurIPS 2020), MVCRec.
Proof    docs/mechanisms/coinpress.md
Differs  whiteners are multiplied from the left throughout and undone from both sides (the authors' program mixes two
         conventions, and errs from three rounds on); isometric noise; a projection onto the cone, not absolute values; each
         radius from the private trace of the round before, so that the public bounds matter in the first round only; number of
         rounds and prices by a public rule; rows of heavy tails, which the last clip shortens, get their scale back by one more
         number; means and covariances together. ``constants="paper"``: the rounds of their program, in `printed`, with the
         whitener put right.

==============  ====================================================================================
code            mathematics
==============  ====================================================================================
``whitener``    :math:`W`, so that :math:`y = W(x - c)`
``clip``        :math:`\gamma`
``noisy``       :math:`Z`, the noisy second moment of y
``widened``     the eigenvalues of :math:`U`
==============  ====================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dpcov.bounds import COVARIANCE_EVENTS, round_beta, sampling_gap
from dpcov.errors import ParameterError, ReleaseError, check_choice, check_real
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget
from dpcov.kernel.face import Face
from dpcov.kernel.noise.laws import Spread
from dpcov.kernel.public import Facts
from dpcov.kernel.questions.moments import SecondMoment, Sum
from dpcov.linalg import from_spectrum
from dpcov.mechanisms.base import RAW, Least, Mechanism
from dpcov.mechanisms.coinpress.bounds import LARGEST_CONDITION, checked_bounds, checked_upper
from dpcov.mechanisms.coinpress.confidence import PAPER, PRACTICAL, checked_claim, confidence_ellipsoids
from dpcov.mechanisms.coinpress.last_round import ellipsoid_of, last_round
from dpcov.mechanisms.coinpress.printed import ask_as_printed
from dpcov.mechanisms.coinpress.whitening import Whitening, check_whitening, least_whitening
from dpcov.mechanisms.shared.clipping import check_rereadable
from dpcov.mechanisms.shared.local import WITHOUT_RAW, mean_noise
from dpcov.mechanisms.shared.means import (
    Floats,
    Origin,
    ask_count,
    check_provable,
    check_two_rows,
    checked_origin,
    checked_rounds,
    left_after_count,
)
from dpcov.mechanisms.shared.shares import by_way_of_rho
from dpcov.release.estimate import Estimate, InMatrix, NoisyCoordinates
from dpcov.release.record import Option, Transcript

NO_CENTRING, BY_MEAN, BY_PAIRS = CENTRING = ("none", "mean", "pairs")


def ask(
    curator: Face,
    budget: Budget,
    *,
    upper: ArrayLike | None = None,
    lower: ArrayLike | None = None,
    radius: float | None = None,
    origin: Origin = 0.0,
    centring: str = "none",
    rounds: str | int = "auto",
    constants: str = "practical",
    beta: float = 0.1,
) -> dict[str, Option]:
    """Release the covariance by rounds of whitening, from weak bounds.

    Parameters
    ----------
    upper, lower : number, list or matrix, optional
        Public bounds of the covariance, lower ⪯ Σ ⪯ upper: a variance, one for each column, or a matrix. By default upper is
        row_norm², or 1 in the units of a schema, and lower is a millionth of it; where upper is given, lower is 1. They
        may be far too wide: the price is logarithmic.
    radius : float, optional
        Where rows are centred, the mean lies within this distance of origin; row_norm by default.
    origin : number or list of numbers
        A public guess of the mean; 0 by default. Rows that are not centred are taken to have this mean. Not for pairs.
    centring : {"none", "mean", "pairs"}
        "mean" (what center=True means) asks for the mean as well, in each round. "pairs" takes differences of rows 1 and 2,
        3 and 4, and so on: no mean is needed, half of the rows are lost; for ordered data and replace only.
    rounds : "auto" or int
        How often rows are whitened; "auto" is found from public numbers.
    constants : {"practical", "proved", "paper"}
        "proved" clips where no row of Gaussian data is cut, and widens by what noise and sampling can hide, but for a
        probability beta; more noise. "paper" has the constants of the paper's figures, two rounds where ``rounds`` is "auto",
        and noise on the whole triangle.
    beta : float
        The probability that the confidence ellipsoids may fail with.

    Privacy
    -------
    ``budget`` (ZCDP, or ApproxDP by way of ρ): in each round one noisy second moment, from the second on one noisy trace, one
    noisy sum where the mean is asked for; under add-remove one count.

    Utility
    -------
    Theorem 2.4 of the paper, for Gaussian rows with ``constants="proved"``: `Release.confidence`.
    """
    claim = checked_claim(constants, beta)
    check_choice("centring", centring, CENTRING, "center=True asks for the mean as well")
    if constants != PRACTICAL and centring == BY_MEAN:
        which = "proved" if claim.proved else "the paper's"
        raise ParameterError(
            f"centring must be 'none' or 'pairs' for {which} constants, got 'mean'. Hint: set constants='practical'."
        )
    if (centring == BY_PAIRS) != curator.encoding.pairs:
        raise ParameterError(
            "centring must be 'pairs' exactly if rows are differences, got only one of the two. Hint: use dpcov.covariance."
        )
    count, point = checked_rounds(rounds), checked_origin(origin, curator.d)
    if centring == BY_PAIRS and point.any():
        raise ParameterError("origin must be left out with centring='pairs', got one. Hint: differences of rows have mean 0.")
    bounds = checked_bounds(upper, lower, curator.grid.row_norm, curator.d)
    whole = by_way_of_rho(budget)
    check_rereadable(curator, "rounds")
    reach = _checked_radius(curator, radius, centring)
    left = left_after_count(curator, whole)
    assert isinstance(left, ZCDP)
    check_whitening(bounds, point, reach)
    check_provable(curator, whole, constants)
    check_two_rows(curator, read=True)
    if claim.proved:
        _check_enough_rows(curator, claim.beta, count or 1)  # "auto" takes as many rounds as can be proved
    ask_count(curator, whole)
    if constants == PAPER:
        return {"rounds": ask_as_printed(curator, left, bounds, point, count), "condition": bounds.condition}
    state = Whitening(curator, left, bounds, point, reach, count, claim)
    state.ask()
    return {"rounds": len(state.plan.shares), "condition": bounds.condition}


def least(public: Facts, budget: Budget, *, rounds: str | int, **_options: Any) -> Iterator[Least]:
    """Yield what a round asks at its least share: how many rounds there are depends on n."""
    left = left_after_count(public, by_way_of_rho(budget))
    assert isinstance(left, ZCDP)
    yield from least_whitening(public, left, checked_rounds(rounds))


def estimate(
    transcript: Transcript,
    postprocess: str,
    *,
    upper: ArrayLike | None = None,
    origin: Origin = 0.0,
    centring: str = "none",
    constants: str = "practical",
    beta: float = 0.1,
    **_options: Option,
) -> Estimate:
    """Lead the last noisy second moment back to the units of rows, without negative eigenvalues, or within the bounds."""
    claim, d = checked_claim(constants, beta), transcript.encoding.d
    check_choice("centring", centring, CENTRING, "center=True asks for the mean as well")
    if (centring == BY_PAIRS) != transcript.encoding.pairs:
        raise ReleaseError(
            "release must hold pairs exactly if centring='pairs', got only one of the two. Hint: ask for the original."
        )
    point, centred = checked_origin(origin, d), centring == BY_MEAN
    bound = checked_upper(upper, transcript.encoding.row_norm, d) if claim.proved else None
    last = last_round(transcript, centred=centred)
    frame = last.rows.frame
    covariance = frame.shape(last.covariance if postprocess == RAW else positive_part(last.covariance))
    back, deviation = frame.unwhitener, math.sqrt(last.spread.diagonal_variance) * last.scale
    return Estimate(
        mean=None if last.mean is None else frame.point(last.mean),
        covariance=_within_bounds(transcript, covariance) if postprocess == "clip" else covariance,
        origin=point if centring == NO_CENTRING else None,
        without_raw=WITHOUT_RAW,
        noise=NoisyCoordinates(back, deviation, last.scale_error),
        seen=InMatrix(
            last.covariance - last.of_mean**2 * np.eye(d),  # what takes the bias of mmᵀ off would be noise along some of them
            last.spread.scaled(last.scale),
            back,
            last.mean,
            last.of_mean,
        ),
        mean_noise=None if last.told is None else mean_noise(transcript, last.told, frame),
        expected_error=_noise_norm(back, last.spread),
        region=partial(confidence_ellipsoids, transcript, point, bound, claim, centred=centred),
    )


def positive_part(matrix: Floats) -> Floats:
    """Return the nearest positive semidefinite matrix: negative eigenvalues become 0, not their absolute values."""
    return from_spectrum(*np.linalg.eigh(matrix))


def _within_bounds(transcript: Transcript, covariance: Floats) -> Floats:
    """Return the covariance between the public bounds: its eigenvalues relative to the upper one in [1/condition, 1]."""
    condition = transcript.note("condition", 1.0, 2 * LARGEST_CONDITION)
    first = ellipsoid_of(transcript.take(Sum, SecondMoment)).frame  # whitened by the upper bound
    whitener = first.extent * first.deviations
    relative = whitener @ covariance @ whitener.T
    if not np.isfinite(relative).all():
        raise ReleaseError("release must hold bounds of ordinary size, got others. Hint: choose another postprocess.")
    values, vectors = np.linalg.eigh(relative)
    back = first.unwhitener / first.deviations @ vectors
    return np.asarray((back * np.clip(values, 1 / condition, 1.0)) @ back.T)


def _noise_norm(back: Floats, spread: Spread) -> float:
    """Return the r.m.s. norm of BNBᵀ for noise N of variances a on the diagonal and b beside it, G = BᵀB.

    E‖BNBᵀ‖² = b·((tr G)² + ‖G‖²) + (a − 2b)·ΣGⱼⱼ², of which the second part is 0 for isometric noise.
    """
    squares = back.T @ back
    whole = float(np.hypot(np.trace(squares), np.linalg.norm(squares))) * math.sqrt(spread.off_diagonal_variance)
    more = math.sqrt(max(spread.diagonal_variance - 2 * spread.off_diagonal_variance, 0.0))
    less = math.sqrt(max(2 * spread.off_diagonal_variance - spread.diagonal_variance, 0.0))
    diagonal = float(np.linalg.norm(squares.diagonal()))
    rest = math.sqrt(max(whole - less * diagonal, 0.0)) * math.sqrt(whole + less * diagonal)
    return math.hypot(rest, more * diagonal)


def _check_enough_rows(curator: Face, beta: float, rounds: int) -> None:
    """Refuse proved constants where they prove nothing: a covariance needs several times more rows than columns."""
    if sampling_gap(curator.n, curator.d, round_beta(beta, 1, rounds, COVARIANCE_EVENTS)) >= 1:
        raise ParameterError("data must have more rows for proved constants, got too few. Hint: set constants='practical'.")


def _checked_radius(public: Facts, radius: float | None, centring: str) -> float:
    """Return how far the mean may lie from the origin: 0 where it is not asked for."""
    if centring != BY_MEAN:
        if radius is not None:
            raise ParameterError("radius must be left out unless rows are centred, got one. Hint: set center=True.")
        return 0.0
    if radius is None:
        return public.grid.row_norm
    return check_real("radius", radius, "a positive number", 1e-150, 1e150, "how far the mean may lie from the origin")


COINPRESS = Mechanism(
    target="covariance",
    name="coinpress",
    serves=(ZCDP, ApproxDP),
    ask=ask,
    estimate=estimate,
    postprocess=("project", "clip", "none"),
    centring="own",
    bound="covariance",
    covariances=("upper", "lower"),
    places=("radius", "origin"),
    least=least,
)
