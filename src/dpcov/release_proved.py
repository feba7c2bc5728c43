"""Whether the rounds of a release that calls its confidence region proved are those that the proof is about.

The recursion of docs/mechanisms/coinpress.md is followed with the recorded answers: rows must not have been clipped closer than
it needs, and each round must stand where the answers before it put it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from dpcov.bounds import COVARIANCE_EVENTS, MEAN_EVENTS, covariance_bounds, gaussian_norm, mean_radius, round_beta
from dpcov.estimate import noisy_moment
from dpcov.estimate_framed import frame_of, noise_deviation, rounded_square
from dpcov.kernel.rows.frame import Frame
from dpcov.kernel.rows.frames import of_frame
from dpcov.release.record import Release
from dpcov.strict_json import refuse

Floats = NDArray[np.float64]

SLACK = 1e-3  # whiteners are rounded, and their rounding is known to so much


def check_proved_mean(release: Release) -> None:
    """Follow radius and centre of a mean."""
    answers = [answer for answer in release.answers if answer.frame is not None]
    first = frame_of(answers[0])
    radius, centre = release.row_norm * _norm(_whitener(first)), first.centre
    for number, answer in enumerate(answers, start=1):
        frame = frame_of(answer)
        part = round_beta(_beta(release), number, len(answers), MEAN_EVENTS) / release.n
        least = radius + gaussian_norm(release.d, part)
        if not frame.deviations >= least * (1 - SLACK) or not _close(frame, first):
            refuse("consistent", "rows clipped closer than its proof needs")
        if not np.allclose(frame.centre, centre, rtol=1e-9, atol=1e-9 * release.row_norm):
            refuse("consistent", "a round that does not stand where the one before it led")
        deviation = noise_deviation(answer, release.n) * frame.deviations
        reached = mean_radius(release.n, release.d, deviation, part) + of_frame(frame).rounding * frame.deviations
        if reached < radius:
            with np.errstate(all="ignore"):
                radius, centre = reached, frame.point(answer.values / release.n)


def check_proved_covariance(release: Release) -> None:
    """Follow the whiteners of a covariance: none may exceed what the answer before it proves."""
    answers = [answer for answer in release.answers if answer.frame is not None]
    for number, answer in enumerate(answers, start=1):
        frame = frame_of(answer)
        part = round_beta(_beta(release), number, len(answers), COVARIANCE_EVENTS)
        hidden, low, _ = covariance_bounds(release.n, release.d, noise_deviation(answer, release.n), part)
        if low == 0 or not frame.deviations >= gaussian_norm(release.d, part / release.n) * (1 - SLACK):
            refuse("consistent", "fewer rows, or rows clipped closer, than its proof needs")
        if number < len(answers):
            values, vectors = np.linalg.eigh(noisy_moment(answer, release.d, release.n)[0])
            with np.errstate(all="ignore"):  # what overflows is refused
                outer = (np.maximum(values, 0.0) + hidden + rounded_square(of_frame(frame).rounding)) / low
                turned = _whitener(frame_of(answers[number])) @ frame.unwhitener @ vectors * np.sqrt(outer)
            if not _norm(turned) <= 1 + SLACK:
                refuse("consistent", "a whitener that the answer before it does not prove")


def _whitener(frame: Frame) -> Floats:
    """Return the matrix that turns rows into standard deviations; for a ball, whatever its columns, 1 by 1."""
    if frame.kind == "ball":
        return np.array([[frame.deviations / float(frame.extent)]])
    return np.asarray(frame.extent * frame.deviations)


def _close(frame: Frame, first: Frame) -> bool:
    """Whether two rounds have the same whitener, but for rounding."""
    if frame.kind != first.kind:
        return False
    with np.errstate(all="ignore"):
        back = np.array([[float(first.extent)]]) if first.kind == "ball" else first.unwhitener
        moved = _whitener(frame) @ back / first.deviations - np.eye(len(back))
        return bool(np.linalg.norm(moved) * math.sqrt(len(frame.centre) / len(back)) <= SLACK)


def _norm(matrix: Floats) -> float:
    """Return the largest singular value; of what is not finite NaN, which is within no bound: LAPACK would raise."""
    return float(np.linalg.norm(matrix, 2)) if np.isfinite(matrix).all() else math.nan


def _beta(release: Release) -> float:
    return float(release.options["beta"])
