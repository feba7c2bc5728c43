r"""Estimates from answers about rows in public coordinates: means, and the covariance of `coinpress`. No data here.

All are in the units of the rows as the curator saw them (with a schema: encoded). The last answer counts; the ones before it
served to place it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ReleaseError
from dpcov.estimate import Released, noisy_moment
from dpcov.kernel.answer import Answer
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.rows.frame import Frame
from dpcov.linalg import from_spectrum, into_ball

Floats = NDArray[np.float64]

LEAST_SCALE = 0.3  # a trace below this part of the clipped one is noise


def is_framed(release: Released) -> bool:
    """Whether a release's answers are about rows in public coordinates."""
    return any(answer.frame is not None for answer in release.answers)


def last_answer(release: Released, statistic: str) -> Answer:
    """Return the last answer to a question, or refuse a release that has none."""
    found = next((answer for answer in reversed(release.answers) if answer.statistic == statistic), None)
    if found is None:
        raise ReleaseError(f"release must hold a {statistic}, got none. Hint: it was made by hand.")
    return found


def frame_of(answer: Answer) -> Frame:
    """Return the coordinates of an answer that has some."""
    if answer.frame is None:
        raise ReleaseError("release must hold an answer in public coordinates, got another. Hint: it was made by hand.")
    return answer.frame


def framed_mean(release: Released) -> Floats:
    """Return the estimate of the mean, inside the public ball unless it is wanted raw."""
    quantiles = [answer for answer in release.answers if answer.statistic == "quantile"]
    if quantiles:
        mean = _middle(quantiles, release.d)
    else:
        answer = last_answer(release, "sum")
        strength = 1.0 if release.postprocess == "none" else float(release.options.get("strength", 1.0))
        mean = frame_of(answer).point(answer.values / release.n * strength)
    if release.postprocess == "none":
        return mean
    return into_ball(mean, first_frame(release).centre, release.row_norm)


def first_frame(release: Released) -> Frame:
    """Return the public coordinates that the first question was about."""
    return next(answer.frame for answer in release.answers if answer.frame is not None)


def _middle(quantiles: list[Answer], d: int) -> Floats:
    """Return, for each column, the middle between the two quantiles, each in the middle of its bin."""
    total = np.zeros(d)
    for answer in quantiles:
        place, bins, column = (int(number) for number in answer.integers[:3])
        frame = frame_of(answer)
        total[column] += frame.centre[column] + frame.extent[column] * ((2 * place + 1) / bins - 1)
    return total / 2


def framed_moments(release: Released) -> tuple[Floats, Floats]:
    """Return the mean (zeros where none was asked for) and the covariance, positive semidefinite unless it is wanted raw."""
    frame = frame_of(last_answer(release, "second moment"))
    mean, noisy = framed_second_moment(release)
    covariance = frame.shape(noisy if release.postprocess == "none" else positive_part(noisy))
    centre = frame.point(mean) if release.center else np.zeros(release.d)
    return centre, _within_bounds(release, covariance) if release.postprocess == "clip" else covariance


def framed_second_moment(release: Released) -> tuple[Floats, Floats]:
    """Return the mean (zeros where none was asked for) and the raw covariance in the coordinates of the last frame."""
    answer = last_answer(release, "second moment")
    noisy = noisy_moment(answer, release.d, release.n)[0] * given_back(release, answer)
    if not release.center:
        return np.zeros(release.d), noisy
    told = last_answer(release, "sum")
    mean = told.values / release.n
    # The noise of the mean adds its variance to the square of the mean: it is taken off again.
    return mean, noisy - np.outer(mean, mean) + noise_deviation(told, release.n) ** 2 * np.eye(release.d)


def given_back(release: Released, moment: Answer) -> float:
    """Return what the rows that clipping shortened give back: the trace without it over the trace with it."""
    wide = release.answers[-1]
    traced = float(np.sum(moment.values[: release.d])) * frame_of(moment).deviations ** 2
    if wide.statistic != "trace" or traced <= 0:
        return 1.0
    return max(float(wide.values[0]) * frame_of(wide).deviations ** 2 / traced, LEAST_SCALE)


def _within_bounds(release: Released, covariance: Floats) -> Floats:
    """Return the covariance between the public bounds: its eigenvalues relative to the upper one in [1/condition, 1]."""
    first = first_frame(release)
    whitener = first.extent * first.deviations
    values, vectors = np.linalg.eigh(whitener @ covariance @ whitener.T)
    inside = np.clip(values, 1 / float(release.options["condition"]), 1.0)
    back = np.linalg.inv(whitener) @ vectors
    return np.asarray((back * inside) @ back.T)


def positive_part(matrix: Floats) -> Floats:
    """Return the nearest positive semidefinite matrix: negative eigenvalues become 0, not their absolute values."""
    return from_spectrum(*np.linalg.eigh(matrix))


def framed_error(release: Released) -> float:
    """Return the r.m.s. norm of the noise in the last answer, in the units of rows: E‖BNBᵀ‖² = σ²((tr BᵀB)² + tr (BᵀB)²)/2."""
    if any(answer.statistic == "quantile" for answer in release.answers):
        raise ReleaseError("release must hold a noisy sum, got quantiles. Hint: their error depends on the data.")
    of_mean = not any(answer.statistic == "second moment" for answer in release.answers)
    answer = last_answer(release, "sum" if of_mean else "second moment")
    back = frame_of(answer).unwhitener
    with np.errstate(all="ignore"):
        deviation, squares = noise_deviation(answer, release.n), back.T @ back
        if of_mean:
            return deviation * math.sqrt(float(np.trace(squares)))
        return deviation * math.sqrt((float(np.trace(squares)) ** 2 + float(np.sum(squares**2))) / 2)


def rounded_square(rounding: float) -> float:
    """Return by how much a second moment of rows of norm 1 can be off where each row is off by ``rounding``."""
    return 2 * rounding + rounding**2


def noise_deviation(answer: Answer, n: int) -> float:
    """Return the standard deviation of the noise of one diagonal entry, or of one coordinate, in the frame's units."""
    return law_deviation(answer.noise, answer.unit_bits) / n


def law_deviation(law: NoiseLaw, unit_bits: int) -> float:
    """Return the standard deviation of one diagonal entry, or of one coordinate, in units of rows of norm 1."""
    return math.sqrt(law.spread().diagonal_variance) * 2.0**-unit_bits
