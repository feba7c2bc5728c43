r"""Where the truth may lie: a ball for a mean, two ellipsoids for a covariance, with the probability that they fail.

They are about the *distribution* that rows were drawn from, a Gaussian one: noise and sampling are both in them. With
``constants="proved"`` the whole chain of rounds is proved, and the probability is at most beta (docs/mechanisms/coinpress.md).
With practical constants the same formulas are applied to the last answer as if no row had been cut, and n were known: a guide,
not a proof.

A region is called proved only where the rounds are those that the proof is about. Its recursion is followed with the recorded
answers: rows must not have been clipped closer than it needs, and each round must stand where the answers before it put it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcov.bounds import COVARIANCE_EVENTS, MEAN_EVENTS, covariance_bounds, gaussian_norm, mean_radius, round_beta
from dpcov.errors import ReleaseError, check_choice, check_real
from dpcov.kernel.answer import Answer
from dpcov.kernel.budget import PureDP
from dpcov.kernel.noise.laws import DiscreteGaussian
from dpcov.kernel.questions.measure import Question
from dpcov.kernel.questions.moments import REPLACE, SecondMoment, Sum
from dpcov.kernel.rows.frames import Ball, Ellipsoid
from dpcov.mechanisms.coinpress.last_round import last_round
from dpcov.mechanisms.shared.local import Shape, mean_of_sum, shape_of
from dpcov.release.estimate import ConfidenceBall, ConfidenceEllipsoids, check_assembled
from dpcov.release.record import Transcript

Floats = NDArray[np.float64]

PRACTICAL, PROVED, PAPER = "practical", "proved", "paper"
SLACK = 1e-3  # whiteners are rounded, and their rounding is known to so much
MOST_ROWS = 2**53  # beyond which no bound is stated
LARGEST = 1e150  # of errors, in deviations of the rows: their squares are ordinary floats


@dataclass(frozen=True)
class Claim:
    """What is to be said of a region: the probability that it may fail with, and whether that was to be proved."""

    beta: float
    proved: bool


def checked_claim(constants: object, beta: object) -> Claim:
    """Return what the options ask for, or refuse them."""
    check_choice("constants", constants, (PRACTICAL, PROVED, PAPER), "'proved' has more noise")
    least = check_real("beta", beta, "above 0 and below 1", 1e-12, 1 - 1e-12, "0.1 is the default")
    return Claim(least, constants == PROVED)


def rounded_square(rounding: float) -> float:
    """Return by how much a second moment of rows of norm 1 can be off where each row is off by ``rounding``."""
    return 2 * rounding + rounding * rounding


def confidence_ball(transcript: Transcript, origin: Floats, claim: Claim) -> ConfidenceBall:
    """Return the ball, in the user's units, around the raw mean of the last round: moved into its bounds it could leave it."""
    answer, n, encoding = transcript.take(Sum, last=True), transcript.n, transcript.encoding
    rows = shape_of(answer, Ball, Ellipsoid)
    frame = rows.frame
    if isinstance(rows, Ball):
        check_assembled(encoding.d)
    _check_bounded(n, _deviation(answer, n, rows))
    with np.errstate(all="ignore"):
        proved = claim.proved and _is_proved_mean(transcript, origin, claim.beta)
        part = round_beta(claim.beta, 1, 1, MEAN_EVENTS) / n if proved else claim.beta
        radius = mean_radius(n, encoding.d, _deviation(answer, n, rows), part) + rows.rounding * frame.deviations
        whitener = _whitener(rows) if isinstance(rows, Ellipsoid) else _whitener(rows) * np.eye(encoding.d)
        centre = encoding.offsets + encoding.units * mean_of_sum(answer, n)
        return ConfidenceBall(centre, radius, whitener / encoding.units, claim.beta, proved)


def confidence_ellipsoids(
    transcript: Transcript, origin: Floats, upper: Floats | None, claim: Claim, *, centred: bool
) -> ConfidenceEllipsoids:
    """Return the two matrices between which the covariance lies, in the user's units.

    ``upper`` is the public bound that a proof starts from; None where nothing was to be proved.
    """
    last, n, encoding = last_round(transcript, centred=centred), transcript.n, transcript.encoding
    _check_bounded(n, rounded_square(last.rows.rounding) * last.scale)
    with np.errstate(all="ignore"):
        proved = upper is not None and not centred and _is_proved_covariance(transcript, origin, upper, claim.beta)
        part = round_beta(claim.beta, 1, 1, COVARIANCE_EVENTS) if proved else claim.beta / 2
        noise, low, high = covariance_bounds(n, encoding.d, last.isometric, part)
        hidden = (noise + rounded_square(last.rows.rounding)) * last.scale
        values, vectors = np.linalg.eigh(last.covariance)
        inner = (last.covariance - hidden * np.eye(encoding.d)) / high  # cutting it off at 0 would no longer be below Σ
        outer = (vectors * (np.maximum(values, 0.0) + hidden)) @ vectors.T
        units, frame = np.outer(encoding.units, encoding.units), last.rows.frame
        wide = frame.shape(outer) / low * units if low > 0 else np.full((encoding.d, encoding.d), np.inf)
        return ConfidenceEllipsoids(frame.shape(inner) * units, wide, claim.beta, proved)


def _check_bounded(n: int, size: float) -> None:
    """Refuse numbers for which no bound is stated: no mechanism is told such, but a file may hold them."""
    if n > MOST_ROWS or not size <= LARGEST:
        raise ReleaseError("release must hold numbers of ordinary size for a region, got others. Hint: ask for the original.")


def _is_proved_mean(transcript: Transcript, origin: Floats, beta: float) -> bool:
    """Follow radius and centre of a mean."""
    rounds = _rounds(transcript, Sum, Ball, Ellipsoid)
    if not rounds:
        return False
    n, d, row_norm = transcript.n, transcript.encoding.d, transcript.encoding.row_norm
    first = rounds[0][1]
    radius, centre = row_norm * _norm(_whitener(first)), origin
    for number, (answer, rows) in enumerate(rounds, start=1):
        frame, deviation = rows.frame, _deviation(answer, n, rows)
        part = round_beta(beta, number, len(rounds), MEAN_EVENTS) / n
        least = radius + gaussian_norm(d, part)
        if not frame.deviations >= least * (1 - SLACK) or not _are_alike(rows, first) or not deviation <= LARGEST:
            return False  # rows were clipped closer than the proof needs
        if not np.allclose(frame.centre, centre, rtol=1e-9, atol=1e-9 * row_norm):
            return False  # a round does not stand where the one before it led
        reached = mean_radius(n, d, deviation, part) + rows.rounding * frame.deviations
        if reached < radius:
            radius, centre = reached, mean_of_sum(answer, n)
    return True


def _is_proved_covariance(transcript: Transcript, origin: Floats, upper: Floats, beta: float) -> bool:
    """Follow the whiteners of a covariance: the first may not exceed the bound, and none what the answer before it proves."""
    rounds = _rounds(transcript, SecondMoment, Ellipsoid)
    n, d = transcript.n, transcript.encoding.d
    if not rounds:
        return False
    first = _whitener(rounds[0][1])
    if not _norm(first @ upper @ first.T) <= (1 + SLACK) ** 2:
        return False
    for number, (answer, rows) in enumerate(rounds, start=1):
        frame = rows.frame
        part = round_beta(beta, number, len(rounds), COVARIANCE_EVENTS)
        hidden, low, _ = covariance_bounds(n, d, answer.deviation / n, part)
        if low == 0 or not frame.deviations >= gaussian_norm(d, part / n) * (1 - SLACK):
            return False  # there are fewer rows, or they were clipped closer, than the proof needs
        if not np.array_equal(frame.centre, origin):
            return False  # rows are taken to have this mean
        if number < len(rounds):
            values, vectors = answer.decomposition
            outer = (np.maximum(values / n, 0.0) + hidden + rounded_square(rows.rounding)) / low
            turned = _whitener(rounds[number][1]) @ frame.unwhitener @ vectors * np.sqrt(outer)
            if not _norm(turned) <= 1 + SLACK:
                return False  # the answer before it does not prove this whitener
    return True


def _rounds(transcript: Transcript, question: type[Question], *shapes: type[Shape]) -> list[tuple[Answer, Shape]]:
    """Return all answers with the shapes of their rows, where they are what a proof is about; else none.

    That is: nothing but such questions about such rows, which no schema cuts, with isometric Gaussian noise, and a public n.
    """
    if transcript.neighbors != REPLACE or isinstance(transcript.privacy, PureDP) or transcript.encoding.schema is not None:
        return []
    if transcript.encoding.aside is not None:  # averages over the rows of a person are no Gaussian rows
        return []
    found: list[tuple[Answer, Shape]] = []
    for answer in transcript.answers:
        rows = answer.question.grid if isinstance(answer.question, Sum | SecondMoment) else None
        if type(answer.question) is not question or not isinstance(rows, Ball | Ellipsoid) or type(rows) not in shapes:
            return []
        if not _is_isometric(answer):
            return []
        found.append((answer, rows))
    return found


def _is_isometric(answer: Answer) -> bool:
    """Whether the noise is Gaussian; of a second moment, no more than the same in every direction."""
    if not isinstance(answer.law, DiscreteGaussian):
        return False
    spread = answer.law.spread()
    return type(answer.question) is Sum or 2 * spread.off_diagonal_variance <= spread.diagonal_variance * (1 + SLACK)


def _deviation(answer: Answer, n: int, rows: Shape) -> float:
    """Return the standard deviation of the noise on each coordinate of a mean, in deviations of the rows."""
    return answer.deviation / n * rows.frame.deviations


def _whitener(rows: Shape) -> Floats:
    """Return the matrix that turns rows into standard deviations; for a ball, whatever its columns, 1 by 1."""
    frame = rows.frame
    if isinstance(rows, Ball):
        return np.array([[frame.deviations / rows.radius]])
    return np.asarray(frame.extent * frame.deviations)


def _are_alike(rows: Shape, first: Shape) -> bool:
    """Whether two rounds have the same whitener, but for rounding."""
    if type(rows) is not type(first):
        return False
    frame = first.frame
    back = np.array([[first.radius]]) if isinstance(first, Ball) else frame.unwhitener
    apart = _whitener(rows) @ back / frame.deviations - np.eye(len(back))
    return bool(np.linalg.norm(apart) * math.sqrt(len(frame.centre) / len(back)) <= SLACK)


def _norm(matrix: Floats) -> float:
    """Return the largest singular value; of what is not finite NaN, which is within no bound: LAPACK would raise."""
    return float(np.linalg.norm(matrix, 2)) if np.isfinite(matrix).all() else math.nan
