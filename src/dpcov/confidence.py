r"""Where the truth may lie: a ball for a mean, two ellipsoids for a covariance, with the probability that they fail.

They are about the *distribution* that rows were drawn from, a Gaussian one: noise and sampling are both in them. With
``constants="proved"`` the whole chain of rounds is proved, and the probability is at most beta (docs/mechanisms/coinpress.md).
With practical constants the same formulas are applied to the last answer as if no row had been cut, and n were known: a guide,
not a proof.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcov.bounds import COVARIANCE_EVENTS, MEAN_EVENTS, covariance_bounds, mean_radius, round_beta
from dpcov.errors import ReleaseError
from dpcov.estimate import Released
from dpcov.estimate_framed import (
    frame_of,
    framed_second_moment,
    given_back,
    last_answer,
    noise_deviation,
    rounded_square,
)
from dpcov.kernel.rows.frames import of_frame

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ConfidenceBall:
    """The mean lies where ‖whitener·(mean − centre)‖ ≤ radius: a ball where the covariance was taken to be a multiple of 1."""

    centre: Floats
    radius: float
    whitener: Floats
    beta: float
    proved: bool

    def contains(self, mean: ArrayLike) -> bool:
        """Whether a mean lies in it."""
        return bool(np.linalg.norm(self.whitener @ (np.asarray(mean) - self.centre)) <= self.radius)


@dataclass(frozen=True, eq=False)
class ConfidenceEllipsoids:
    """The covariance lies between: inner ⪯ Σ ⪯ outer.

    inner may have negative eigenvalues: it says nothing along them. outer is infinite where there are too few rows to bound it.
    """

    inner: Floats
    outer: Floats
    beta: float
    proved: bool

    def contains(self, covariance: ArrayLike) -> bool:
        """Whether a covariance lies between the two."""
        between = np.asarray(covariance, dtype=np.float64)
        if not np.isfinite(self.outer).all():
            return bool(np.linalg.eigvalsh(between - self.inner)[0] >= 0)
        return bool(min(np.linalg.eigvalsh(between - self.inner)[0], np.linalg.eigvalsh(self.outer - between)[0]) >= 0)


def confidence_ball(release: Released, units: Floats, offsets: Floats) -> ConfidenceBall:
    """Return the ball around the raw mean of the last round: moved into public bounds it could leave it. User's units."""
    beta, proved = _promise(release)
    if release.options.get("scale") != "known":
        raise ReleaseError(
            "release must know the covariance for a confidence ball, got one that does not. Hint: mean(..., covariance=)."
        )
    answer = last_answer(release, "sum")
    frame = frame_of(answer)
    part = round_beta(beta, 1, 1, MEAN_EVENTS) / release.n if proved else beta
    radius = mean_radius(release.n, release.d, noise_deviation(answer, release.n) * frame.deviations, part)
    radius += of_frame(frame).rounding * frame.deviations
    whitener = np.linalg.inv(frame.unwhitener) * frame.deviations / units
    centre = offsets + units * frame.point(answer.values / release.n)
    return ConfidenceBall(centre, radius, whitener, beta, proved)


def confidence_ellipsoids(release: Released, units: Floats) -> ConfidenceEllipsoids:
    """Return the two matrices between which the covariance lies."""
    beta, proved = _promise(release)
    answer = last_answer(release, "second moment")
    frame = frame_of(answer)
    part = round_beta(beta, 1, 1, COVARIANCE_EVENTS) if proved else beta / 2
    hidden, low, high = covariance_bounds(release.n, release.d, noise_deviation(answer, release.n), part)
    hidden = (hidden + rounded_square(of_frame(frame).rounding)) * given_back(release, answer)
    noisy = framed_second_moment(release)[1]
    values, vectors = np.linalg.eigh(noisy)
    inner = (noisy - hidden * np.eye(release.d)) / high  # cutting it off at 0 would no longer be below Σ
    outer = (vectors * (np.maximum(values, 0.0) + hidden)) @ vectors.T
    scale = np.outer(units, units)
    wide = frame.shape(outer) / low * scale if low > 0 else np.full((release.d, release.d), np.inf)
    return ConfidenceEllipsoids(frame.shape(inner) * scale, wide, beta, proved)


def _promise(release: Released) -> tuple[float, bool]:
    beta = release.options.get("beta")
    if not isinstance(beta, float):
        raise ReleaseError(
            "release must be one of 'coinpress' for confidence regions, got another. Hint: mechanism='coinpress'."
        )
    return beta, release.options.get("constants") == "proved"
