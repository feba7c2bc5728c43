"""Whether the rounds of a release that calls its confidence region proved are those that the proof is about.

The recursion of docs/mechanisms/coinpress.md is followed with the recorded answers: rows must not have been clipped closer than
it needs, and each round must stand where the answers before it put it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpcov.bounds import COVARIANCE_EVENTS, MEAN_EVENTS, covariance_bounds, gaussian_norm, mean_radius, round_beta
from dpcov.estimate import noisy_moment
from dpcov.estimate_framed import frame_of, noise_deviation, rounded_square
from dpcov.frame import Frame
from dpcov.release import Release
from dpcov.statistics.frames import of_frame
from dpcov.strict_json import refuse

SLACK = 1e-3  # whiteners are rounded, and their rounding is known to so much


def check_proved_mean(release: Release) -> None:
    """Follow radius and centre of a mean."""
    answers = [answer for answer in release.answers if answer.frame is not None]
    whitener = _whitener(frame_of(answers[0]))
    radius, centre = release.row_norm * float(np.linalg.norm(whitener, 2)), frame_of(answers[0]).centre
    for number, answer in enumerate(answers, start=1):
        frame = frame_of(answer)
        part = round_beta(_beta(release), number, len(answers), MEAN_EVENTS) / release.n
        least = radius + gaussian_norm(release.d, part)
        if frame.deviations < least * (1 - SLACK) or not _close(_whitener(frame), whitener):
            refuse("consistent", "rows clipped closer than its proof needs")
        if not np.allclose(frame.centre, centre, rtol=1e-9, atol=1e-9 * release.row_norm):
            refuse("consistent", "a round that does not stand where the one before it led")
        deviation = noise_deviation(answer, release.n) * frame.deviations
        reached = mean_radius(release.n, release.d, deviation, part) + of_frame(frame).rounding * frame.deviations
        if reached < radius:
            radius, centre = reached, frame.point(answer.values / release.n)


def check_proved_covariance(release: Release) -> None:
    """Follow the whiteners of a covariance: none may exceed what the answer before it proves."""
    answers = [answer for answer in release.answers if answer.frame is not None]
    for number, answer in enumerate(answers, start=1):
        frame = frame_of(answer)
        part = round_beta(_beta(release), number, len(answers), COVARIANCE_EVENTS)
        hidden, low, _ = covariance_bounds(release.n, release.d, noise_deviation(answer, release.n), part)
        if low == 0 or frame.deviations < gaussian_norm(release.d, part / release.n) * (1 - SLACK):
            refuse("consistent", "fewer rows, or rows clipped closer, than its proof needs")
        if number < len(answers):
            values, vectors = np.linalg.eigh(noisy_moment(answer, release.d, release.n)[0])
            outer = (np.maximum(values, 0.0) + hidden + rounded_square(of_frame(frame).rounding)) / low
            turned = _whitener(frame_of(answers[number])) @ frame.unwhitener @ vectors * np.sqrt(outer)
            if float(np.linalg.norm(turned, 2)) > 1 + SLACK:
                refuse("consistent", "a whitener that the answer before it does not prove")


def _whitener(frame: Frame) -> NDArray[np.float64]:
    """Return the matrix that turns rows into standard deviations."""
    return np.asarray(np.linalg.inv(frame.unwhitener) * frame.deviations)


def _close(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    return bool(np.linalg.norm(one @ np.linalg.inv(other) - np.eye(len(one))) <= SLACK)


def _beta(release: Release) -> float:
    return float(release.options["beta"])
