"""Estimates from one noisy second moment: what the mechanisms share that release one, in the units of the encoded rows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ReleaseError
from dpcov.kernel.answer import Answer
from dpcov.kernel.noise.choice import Exponential
from dpcov.kernel.noise.laws import NoiseLaw, Spread
from dpcov.kernel.questions.choices import Quantile
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.centring import CONSTANT, SCALE_SQUARED, mean_and_covariance, with_public_corner
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms.base import RAW
from dpcov.mechanisms.shared.pooling import Drawn, Noisy, drawn_together
from dpcov.release.estimate import Estimate, NoisyMatrix, OwnPart, RawMatrix
from dpcov.release.groups import GroupSize, Part
from dpcov.release.record import Option, Transcript
from dpcov.spectra import POSTPROCESS

Floats = NDArray[np.float64]

MANY_RADII = 1000  # that a private choice is among, at least, the likelier ones counted more than once


def from_noisy_moment(transcript: Transcript, postprocess: str, **_options: Option) -> Estimate:
    """Return the estimate from one noisy second moment, post-processed; what options there were is in the answer."""
    moment = taken_moment(transcript)
    (noisy, spread), own = noisy_matrix(transcript, moment), None
    if postprocess != RAW and transcript.part is not None and transcript.part.level is not None:
        drawn = drawn_together(*_groups(transcript.part), centred=transcript.encoding.constant)
        noisy, spread, own = drawn.moment, drawn.noise, _own_part(transcript, drawn, radius_of(moment))
    lifted = POSTPROCESS[postprocess](noisy, 1.0, spread)
    mean, covariance = moments_of(transcript, lifted, radius_of(moment), postprocess)
    return Estimate(
        mean=mean,
        covariance=covariance,
        radius=radius_of(moment),
        longer=rows_longer(transcript),
        raw=RawMatrix(moment),
        noise=NoisyMatrix(noisy, spread, lifted),
        expected_error=expected_error(transcript, moment),
        own=own,
    )


def _own_part(transcript: Transcript, drawn: Drawn, radius: float) -> OwnPart:
    """Return which part of a group's covariance is its own, without the constant."""
    first = int(transcript.encoding.constant)
    scale = radius**2 / (SCALE_SQUARED if first else 1.0)
    return OwnPart(drawn.own[first:, first:], drawn.standard_error[first:, first:] * scale)


def _groups(part: Part) -> tuple[Noisy, int]:
    """Return the noisy moments of all groups, and which one is asked about."""
    others = part.others
    moments = [taken_moment(other) for other in others]
    count = others[0].find(GroupSize)
    of_rows = moments[0].deviation / CONSTANT**2 if count is None else count.deviation
    rows = np.array([float(other.n) for other in others])
    matrices = [noisy_matrix(other, moment)[0] for other, moment in zip(others, moments, strict=True)]
    return Noisy(np.array(matrices), moments[0].spread, rows, of_rows), part.whole.groups.index(str(part.level))


def taken_moment(transcript: Transcript) -> Answer:
    """Return the noisy second moment of rows clipped at a radius, or refuse a transcript without."""
    moment = transcript.take(SecondMoment)
    if not isinstance(moment.question, SecondMoment) or type(moment.question.grid) is not Grid:
        raise ReleaseError(
            "release must hold a second moment of rows clipped at a radius, got another kind. Hint: another version?"
        )
    return moment


def radius_of(moment: Answer) -> float:
    """Return the norm at which the rows of a noisy second moment were clipped."""
    assert isinstance(moment.question, SecondMoment)
    assert isinstance(moment.question.grid, Grid)
    return moment.question.grid.row_norm


def noisy_matrix(transcript: Transcript, moment: Answer) -> tuple[Floats, Spread]:
    """Return the raw noisy second moment, divided by n, and the spread of its noise; what a constant makes of it is exact."""
    noisy, spread = moment.matrix / transcript.n, moment.spread.scaled(1 / transcript.n)
    return with_public_corner(noisy) if transcript.encoding.constant else noisy, spread


def moments_of(transcript: Transcript, lifted: Floats, radius: float, postprocess: str) -> tuple[Floats | None, Floats]:
    """Return mean (None where rows have no constant) and covariance from an estimate in units of the radius."""
    if not transcript.encoding.constant:
        return None, lifted * radius * radius
    mean, covariance = mean_and_covariance(lifted)
    if postprocess != RAW:
        if transcript.encoding.schema is None:
            mean = mean / max(1.0, float(np.linalg.norm(mean)))
        np.fill_diagonal(covariance, np.maximum(covariance.diagonal(), 0.0))  # rounding may leave a variance of 0 at −1e-16
    return mean * radius, covariance * radius * radius


def rows_longer(transcript: Transcript) -> float:
    """Return about how many rows, at most, are longer than the privately chosen radius, the last one; 0 where there is none.

    The exponential mechanism is typically off by ln(radii)/rate rows, and e times as rarely by 1/rate rows more.
    """
    found = transcript.every(Quantile)
    if not found:
        return 0.0
    chosen = found[-1]
    assert isinstance(chosen.question, Quantile)
    assert isinstance(chosen.law, Exponential)
    return chosen.question.rows + math.log(MANY_RADII) / max(
        float(chosen.law.rate * chosen.question.moved), 1e-300
    )  # a file may have any rate


def expected_error(transcript: Transcript, moment: Answer) -> float:
    """Return the r.m.s. Frobenius norm of the noise in the raw second moment of encoded rows."""
    encoding = transcript.encoding
    error = raw_error(moment.law, moment.unit_bits, encoding.width, encoding.constant) / transcript.n
    return error * (radius_of(moment) / encoding.row_norm) ** 2


def raw_error(noise: NoiseLaw, unit_bits: int, width: int, center: bool) -> float:
    """Return the r.m.s. Frobenius norm of the noise in n times the second moment of encoded rows.

    ``width`` counts the coordinates; of centred rows the constant one is left out and the rest scaled back to norm 1.
    """
    scale = 2.0**-unit_bits / (SCALE_SQUARED if center else 1.0)
    return noise.spread().scaled(scale).rms(width - center)
