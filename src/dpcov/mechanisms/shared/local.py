r"""Estimates from answers about rows in public coordinates of their own: those of a ball, a box or an ellipsoid.

Estimates are in the units of encoded rows. The last answer counts; the ones before it served to place it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ReleaseError
from dpcov.kernel.answer import Answer
from dpcov.kernel.questions.moments import Count, SecondMoment, Sum
from dpcov.kernel.questions.norms import Trace
from dpcov.kernel.rows.frames import Ball, Box, Ellipsoid, Frame
from dpcov.linalg import into_ball
from dpcov.mechanisms.base import RAW
from dpcov.mechanisms.shared.means import checked_origin
from dpcov.release.estimate import ConfidenceBall, Estimate, MeanNoise
from dpcov.release.record import Transcript

Floats = NDArray[np.float64]
Shape = Ball | Box | Ellipsoid

WITHOUT_RAW = "release.confidence has regions for means with a known covariance, and for covariances of 'coinpress'"
"""What to do for intervals, which need one noisy matrix of rows clipped at a radius."""


def shape_of(answer: Answer, *shapes: type[Shape]) -> Shape:
    """Return what the rows of an answer were clipped to, or refuse one that was clipped to none of these; by default to any."""
    question = answer.question
    grid = question.grid if isinstance(question, Sum | SecondMoment | Trace) else None
    if not isinstance(grid, Ball | Box | Ellipsoid) or not isinstance(grid, shapes or (Ball, Box, Ellipsoid)):
        raise ReleaseError(
            f"release must hold a {question.name} in the public coordinates of its mechanism, got other coordinates. "
            f"Hint: it was made by another version, or edited."
        )
    return grid


def frame_of(answer: Answer, *shapes: type[Shape]) -> Frame:
    """Return the public coordinates of an answer, or refuse one whose rows were clipped to none of these shapes."""
    return shape_of(answer, *shapes).frame


def mean_of_sum(answer: Answer, n: int, strength: float = 1.0) -> Floats:
    """Return the mean that a noisy sum tells, ``strength`` of the way from the centre of its coordinates."""
    with np.errstate(all="ignore"):
        return frame_of(answer).point(answer.values / n * strength)


def mean_in_ball(answer: Answer, n: int, origin: Floats, radius: float, strength: float = 1.0) -> Floats:
    """Return the mean that a noisy sum tells, inside the public ball around the origin."""
    with np.errstate(all="ignore"):
        return into_ball(mean_of_sum(answer, n, strength), origin, radius)


def from_last_sum(
    transcript: Transcript,
    postprocess: str,
    origin: object,
    *shapes: type[Shape],
    strength: float = 1.0,
    longer: float = 0.0,
    region: Callable[[], ConfidenceBall] | None = None,
) -> Estimate:
    """Return the estimate of a mechanism whose last answer is a noisy sum of rows in one of these shapes.

    The mean is moved into the public ball, and ``strength`` says how far the sum is to be believed, unless it is wanted raw;
    ``longer`` rows may be outside of the shape.
    """
    point, n = checked_origin(origin, transcript.encoding.d), transcript.n
    answer = transcript.take(Sum, last=True)
    frame = frame_of(answer, *shapes)
    raw = postprocess == RAW
    mean = mean_of_sum(answer, n) if raw else mean_in_ball(answer, n, point, transcript.encoding.row_norm, strength)
    noise = mean_noise(transcript, answer, frame)
    return Estimate(
        mean=mean,
        longer=longer,
        without_raw=WITHOUT_RAW,
        mean_noise=noise,
        expected_error=float(np.linalg.norm(noise.deviation)),
        region=region,
    )


def mean_noise(transcript: Transcript, answer: Answer, frame: Frame) -> MeanNoise:
    """Return the noise of the mean that a noisy sum tells, and of the count that it is divided by."""
    count = transcript.find(Count)
    relative = 0.0 if count is None else count.deviation / transcript.n
    return MeanNoise(answer.deviation / transcript.n * _units(frame), frame.centre, relative)


def _units(frame: Frame) -> Floats:
    """Return the norms of the unwhitener's rows: how far noise of deviation 1 on each coordinate moves each feature."""
    if frame.extent.ndim < 2:  # no need for a matrix
        return np.broadcast_to(np.asarray(frame.extent), frame.centre.shape).astype(np.float64)
    return np.asarray(np.linalg.norm(frame.unwhitener, axis=1))
