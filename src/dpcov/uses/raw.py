r"""The raw noisy second moment of a release, with the law of what separates it from the exact one: all of it is public.

Rows are in units of the radius at which they were clipped. With E the noise, η the relative error of a common factor (the noisy
number of rows under add-remove, a noisy scale that gives back what clipping took), the raw matrix is H = M + E − η·M, to first
order.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ReleaseError
from dpcov.kernel.answer import Answer
from dpcov.kernel.noise.laws import DiscreteLaplace, NoiseLaw
from dpcov.kernel.questions.moments import Count
from dpcov.kernel.rows.centring import CONSTANT, SCALE_SQUARED
from dpcov.release.estimate import Along, Estimate, NoisyDirections
from dpcov.release.groups import GroupSize
from dpcov.release.record import Release
from dpcov.uses.tails import peaks, quantile, widest

Floats = NDArray[np.float64]

ONE_DEVIATION = 0.6827  # how often normal noise stays within a standard deviation


@dataclass(frozen=True, eq=False)
class RawMoment:
    """Raw estimates and the size of their noise, in units of the radius.

    Attributes
    ----------
    matrix : array of shape (d, d)
        Second moment; of centred rows about 0 as well, so that all noise in it is additive.
    mean : array of shape (d,)
        Zeros where the release is not centred.
    diagonal, off, along : float
        Variances of the noise of an entry of ``matrix`` on and above the diagonal, and of an entry of ``mean``.
    gain : float
        Standard deviation of the relative error of a common factor, and ``count``: the part of it that divides.
    """

    matrix: Floats
    mean: Floats
    diagonal: float
    off: float
    along: float
    gain: float
    count: float
    gain_peaked: float
    step: float
    law: NoiseLaw
    width: int

    @property
    def covariance(self) -> Floats:
        """The raw covariance, or second moment. The noise of a mean takes ``along`` off the diagonal, on average."""
        return np.asarray(self.matrix - np.outer(self.mean, self.mean))

    def of(self, places: Sequence[int]) -> RawMoment:
        """Return what concerns these features only: fewer of them have less noise together."""
        chosen = list(places)
        return dataclasses.replace(self, matrix=self.matrix[np.ix_(chosen, chosen)], mean=self.mean[chosen])

    @property
    def independent(self) -> bool:
        """Whether entries with tails are independent: sums of them are then nearer to normal."""
        return isinstance(self.law, DiscreteLaplace)

    @property
    def peaked(self) -> tuple[float, float]:
        """The 1/k of an entry on the diagonal, and above it."""
        return peaks(self.law, self.width)

    def combined(self, *parts: tuple[Floats | float, float]) -> tuple[Floats, Floats]:
        """Return variance and 1/k of a sum of entries, from the variance and 1/k of each."""
        total = np.asarray(sum(variance for variance, _ in parts), dtype=np.float64)
        shares = [
            (np.divide(variance, total, out=np.zeros(total.shape), where=total > 0), peaked) for variance, peaked in parts
        ]
        power = 2 if self.independent else 1  # entries of the others share their W
        return total, np.asarray(sum(share**power * peaked for share, peaked in shares))

    def half_width(
        self, variance: Floats, peaked: Floats, gain: Floats, level: float, sampling: Floats | float = 0.0
    ) -> tuple[Floats, Floats]:
        """Return half of the width, and the standard error, for noise of this variance and a common factor's error ``gain``·η.

        A noisy count divides. As with Fieller's interval for a ratio that is infinite where the count may be 0. ``sampling`` is
        the variance of a normal error on top: it makes the tails lighter.
        """
        square = (gain * self.gain) ** 2
        total = variance + square + sampling
        with np.errstate(all="ignore"):
            shares = np.where(total > 0, variance / total, 1.0)
            of_gain = 1 - shares - np.where(total > 0, sampling / total, 0.0)
        factor = quantile(shares**2 * peaked + of_gain**2 * self.gain_peaked, level)
        lost = np.minimum((factor * self.count) ** 2, 1.0)
        with np.errstate(all="ignore"):
            half = factor * np.sqrt((variance + sampling) * (1 - lost) + square) / (1 - lost)
        return np.where(lost < 1, half, np.inf), np.sqrt(total)

    def norms(self, level: float) -> tuple[float, float]:
        """Return what ‖F‖ and ‖δ‖ stay below together with probability ``level``, at least.

        F is the error of the raw covariance in the operator norm, δ that of the mean. The noise's own norm is taken to be at
        most the edge of its spectrum plus a quantile along one direction: exact for d = 1, and more than enough beyond.
        """
        from scipy.special import gammaincinv

        d, centred = len(self.matrix), self.along > 0
        part = 1 - (1 - level) / (1 + centred + (self.gain > 0))
        factor, normal = (float(quantile(np.array(peaked), part)) for peaked in (self.peaked[0], 0.0))
        edge = widest(self.law) * math.sqrt(d - 1)
        noise = math.sqrt(self.off) * edge + factor * math.sqrt(max(self.diagonal, 2 * self.off * (d > 1)))
        tails = factor / normal if normal > 0 else 1.0
        shift = math.sqrt(self.along * 2 * float(gammaincinv(d / 2, part))) * tails
        lost = float(quantile(np.array(self.gain_peaked), part)) * self.gain
        if lost >= 1:
            return math.inf, math.inf
        length = float(np.linalg.norm(self.mean))
        shift = (shift + lost * length) / (1 - lost)
        largest = float(np.abs(np.linalg.eigvalsh(self.matrix)).max()) if lost > 0 else 0.0
        whole = (noise + lost * largest) / (1 - lost)
        return whole + 2 * length * shift + shift**2, shift


def raw_moment(release: Release) -> RawMoment:
    """Return the raw noisy second moment of a release, or refuse one that has none."""
    found = release.estimate.raw
    if found is None:
        raise ReleaseError(
            f"release must hold one noisy second moment for intervals, got {_instead(release.estimate)}. "
            f"Hint: {release.estimate.without_raw}."
        )
    moment, scale, n = found.moment, found.scale, release.n
    noisy, spread, width = moment.matrix / n, moment.spread.scaled(1 / n), len(moment.matrix)
    step = 2.0 ** (getattr(moment.law, "lattice", 0) - moment.unit_bits) / n
    if not release.encoding.constant:
        count, peaked = _count(release)
        gain = math.hypot(count, found.deviation)
        share = (count / gain) ** 2 if gain > 0 else 1.0
        peaked = share**2 * peaked + (1 - share) ** 2 * _peaked_number(found.by)
        variances = spread.diagonal_variance * scale**2, spread.off_diagonal_variance * scale**2
        return RawMoment(noisy * scale, np.zeros(width), *variances, 0.0, gain, count, peaked, step * scale, moment.law, width)
    about = CONSTANT * math.sqrt(SCALE_SQUARED)
    count = 0.0 if release.n_is_public else math.sqrt(spread.diagonal_variance / CONSTANT**4 + 1 / 12 / n**2)
    return RawMoment(
        noisy[1:, 1:] / SCALE_SQUARED,
        noisy[0, 1:] / about,
        spread.diagonal_variance / SCALE_SQUARED**2,
        spread.off_diagonal_variance / SCALE_SQUARED**2,
        spread.off_diagonal_variance / about**2,
        count,
        count,
        0.0 if count == 0 else peaks(moment.law, width)[0],
        step / SCALE_SQUARED,
        moment.law,
        width,
    )


def _count(release: Release) -> tuple[float, float]:
    """Return the relative standard deviation of a noisy count, and 1/k of its law; zeros where n is public."""
    count = release.find(Count, GroupSize)
    return (0.0, 0.0) if count is None else (count.deviation / release.n, _peaked_number(count))


def _peaked_number(answer: Answer | None) -> float:
    return 1.0 if answer is not None and isinstance(answer.law, DiscreteLaplace) else 0.0


def _instead(estimate: Estimate) -> str:
    """Say what an estimate is made of that has no raw matrix."""
    if estimate.radius is None:
        return "answers in rounds"
    if isinstance(estimate.noise, NoisyDirections):
        return "drawn directions"
    return "eigenvalues asked separately" if isinstance(estimate.seen, Along) else "none"
