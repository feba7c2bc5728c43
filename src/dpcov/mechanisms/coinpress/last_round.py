"""What the answers of the last round of `coinpress` say of a covariance, in the coordinates in which they were asked."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ReleaseError
from dpcov.kernel.answer import Answer
from dpcov.kernel.noise.laws import Spread
from dpcov.kernel.questions.moments import SecondMoment, Sum
from dpcov.kernel.questions.norms import Trace
from dpcov.kernel.rows.frames import Ellipsoid
from dpcov.mechanisms.shared.local import shape_of
from dpcov.release.record import Transcript

Floats = NDArray[np.float64]

LEAST_SCALE = 0.3  # a trace below this part of the clipped one is noise


@dataclass(frozen=True, eq=False)
class LastRound:
    """Estimates in whitened coordinates, and the size of their noise.

    Attributes
    ----------
    rows : Ellipsoid
        The coordinates.
    covariance : array
        The raw second moment, times ``scale``; about ``mean`` where that was asked for, without the noise of it on average.
    spread : Spread
        The noise of the second moment before it was multiplied.
    scale, scale_error : float
        What the rows that clipping shortened give back, and its relative standard error.
    mean : array, optional
        Where it was asked for.
    told : Answer, optional
        The noisy sum that it is from, and ``of_mean``: the standard deviation of the noise on an entry of ``mean``.
    """

    rows: Ellipsoid
    covariance: Floats
    spread: Spread
    scale: float
    scale_error: float
    mean: Floats | None
    told: Answer | None
    of_mean: float

    @property
    def isometric(self) -> float:
        """The deviation, on the diagonal, of isometric noise that is no smaller in any direction."""
        return math.sqrt(max(self.spread.diagonal_variance, 2 * self.spread.off_diagonal_variance))


def last_round(transcript: Transcript, *, centred: bool) -> LastRound:
    """Return what the last second moment says, with the last sum where rows are centred, and the trace that came after them."""
    moment, n = transcript.take(SecondMoment, last=True), transcript.n
    rows = ellipsoid_of(moment)
    scale, scale_error = _clipping_scale(moment, transcript.answers[-1])
    noisy, spread = moment.matrix / n * scale, moment.spread.scaled(1 / n)
    if not np.isfinite(noisy).all():
        raise ReleaseError("release must hold traces of ordinary size, got others. Hint: ask for the original.")
    if not centred:
        return LastRound(rows, noisy, spread, scale, scale_error, None, None, 0.0)
    told = transcript.take(Sum, last=True)
    if ellipsoid_of(told) != rows:
        raise ReleaseError(
            "release must hold mean and covariance in the same coordinates, got different ones. Hint: another version?"
        )
    mean, of_mean = told.values / n, told.deviation / n
    # The noise of the mean adds its variance to the square of the mean: it is taken off again.
    about = noisy - np.outer(mean, mean) + of_mean**2 * np.eye(len(mean))
    return LastRound(rows, about, spread, scale, scale_error, mean, told, of_mean)


def ellipsoid_of(answer: Answer) -> Ellipsoid:
    """Return the ellipsoid that the rows of an answer were clipped to, or refuse one of other rows."""
    rows = shape_of(answer, Ellipsoid)
    assert isinstance(rows, Ellipsoid)
    return rows


def _clipping_scale(moment: Answer, wide: Answer) -> tuple[float, float]:
    """Return the trace without clipping over the trace with it, and its relative standard error: a quotient of noisy numbers.

    ``wide`` is the last answer: where it is no trace, rows were clipped too far out to lose much.
    """
    if not isinstance(wide.question, Trace):
        return 1.0, 0.0
    d = len(moment.matrix)
    traces = float(wide.values[0]), float(np.sum(moment.values[:d]))
    noise = wide.deviation, moment.deviation * math.sqrt(d)
    error = math.hypot(*(size / trace for size, trace in zip(noise, traces, strict=True))) if min(traces) > 0 else math.inf
    unclipped, clipped = (
        trace * ellipsoid_of(answer).deviations ** 2 for trace, answer in zip(traces, (wide, moment), strict=True)
    )
    return max(unclipped / clipped, LEAST_SCALE) if clipped > 0 else 1.0, error
