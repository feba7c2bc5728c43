"""Is the noise that is drawn the noise that is recorded? Replay prices laws; this draws from them, through the sampler.

Each law of noise that is added is drawn many times, and how large it is compared with its exact distribution: by the inequality
of Dvoretzky, Kiefer and Wolfowitz with Massart's constant, which holds for any sample size and any distribution. And no two
numbers of a run may have the same noise: their difference would be exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.bits import Bits
from dpcov.kernel.noise.laws import DiscreteGaussian, DiscreteLaplace, NoiseLaw
from dpcov.kernel.noise.matrix import FrobeniusNoise, WishartDifference
from dpcov.kernel.noise.sampler import Sampler
from dpcov.kernel.questions.measure import Measure
from dpcov.linalg import triangle_size, unpack
from dpcov.verify.recording import Kept, Measured, Opened, Valued

Floats = NDArray[np.float64]

DRAWN = 100_000
"""Numbers of each kind of noise: a scale that is 5 % off moves the distribution of its size by 0.018 (Laplace) to 0.024
(Gaussian), and 0.0085 is allowed."""

MATRICES = 40_000
"""Of noise that is drawn as a whole, one number of which is compared: 5 % of a scale move it by at least 0.024, and 0.0135 is
allowed."""

LEAST_DRAWN = 500
"""Answers that are drawn even where there is no time."""

ROUNDING = 1e-3
"""What rounding to a lattice, and a sum in place of an integral, may move a distribution."""

RARE = 0.01
"""How likely it may be, in a run, that two numbers have the same noise by chance: numbers of so little noise that it would be
likelier are left out."""


@dataclass(frozen=True)
class Drawn:
    """A kind of noise: how many numbers were drawn, how far off their distribution is, and how far it may be."""

    law: str
    numbers: int
    distance: float
    allowed: float

    @property
    def wrong(self) -> bool:
        """Whether it is not the recorded law."""
        return self.distance > self.allowed


def check_noise(
    question: Measure,
    law: NoiseLaw,
    sampler: Sampler,
    bits: Bits,
    alpha: float,
    most: int = DRAWN,
    go_on: Callable[[], bool] = lambda: True,
) -> Drawn:
    """Draw a law many times, as answers to random numbers, and compare; a right sampler is accused with probability ``alpha``.

    Fewer numbers are drawn where it may not go on, and a law must then be further off to be accused.
    Where answers are rounded to a lattice, random numbers within a cell of it make what rounding adds independent of the noise,
    and so small beside it that sizes keep their distribution to 10⁻³.
    """
    whole = isinstance(law, WishartDifference | FrobeniusNoise)
    size = sum(part.size for part in question.parts)
    times = min(most, MATRICES) if whole else -(-most // size)
    exact = (bits.words(times * size) >> np.uint64(64 - getattr(law, "lattice", 16))).astype(np.int64).reshape(times, size)
    drawn = [sampler.noisy(question, law, one) - one for place, one in enumerate(exact) if place < LEAST_DRAWN or go_on()]
    noise = np.array(drawn, dtype=np.float64)
    below, upto = _ranks(question, law, noise)
    between = (bits.words(len(upto)) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    rounding = ROUNDING if whole else 0.0
    allowed = math.sqrt(math.log(2 / alpha) / (2 * len(upto))) + rounding
    return Drawn(law.law, len(upto), _distance(below + between * (upto - below)), allowed)


Ranks = tuple[Floats, Floats]
"""Of each number the probabilities, by its law, of less than it, and of at most it: the same where it is no integer. A random
number between them is uniform if the law is right, also of numbers with several laws."""


def _distance(ranks: Floats) -> float:
    """Return the Kolmogorov-Smirnov distance of a sample from uniform numbers."""
    places = np.arange(len(ranks) + 1) / len(ranks)
    ordered = np.sort(ranks)
    return float(max((places[1:] - ordered).max(), (ordered - places[:-1]).max()))


def _ranks(question: Measure, law: NoiseLaw, noise: Floats) -> Ranks:
    """Return where each size stands in its distribution."""
    from scipy.special import gammainc

    if isinstance(law, DiscreteLaplace):
        return _at(np.abs(noise).reshape(-1), lambda most: laplace_sizes(float(law.scale), most))
    if isinstance(law, DiscreteGaussian):
        ends = np.cumsum([part.size for part in question.parts])[:-1]
        each = zip(np.split(np.abs(noise), ends, axis=1), law.variances, strict=True)
        ranks = [_at(sizes.reshape(-1), _gaussian(float(variance))) for sizes, (_, variance) in each]
        below, upto = (np.concatenate([rank[which] for rank in ranks]) for which in (0, 1))
        return below, upto
    if isinstance(law, FrobeniusNoise):
        lengths = np.array([np.linalg.norm(unpack(entries, law.d)) for entries in noise]) / float(law.scale)
        found = gammainc(triangle_size(law.d), lengths)
        return found, found
    assert isinstance(law, WishartDifference)
    traces = np.abs(noise[:, : law.d].sum(axis=1)) / (2 * float(law.scale))
    found = _gamma_differences(law.d * (law.d + 1) / 2, traces)
    return found, found


def _at(sizes: Floats, law: Callable[[Floats], Floats]) -> Ranks:
    """Return the probabilities of less than each size, and of at most it, by what tells those of at most a size."""
    return law(sizes - 1), law(sizes)


def laplace_sizes(scale: float, most: Floats) -> Floats:
    """P(|X| ≤ k) = 1 − 2qᵏ⁺¹/(1 + q) of discrete Laplace noise, q = exp(−1/scale)."""
    ratio = math.exp(-1 / scale)
    return np.where(most < 0, 0.0, 1 - 2 * np.exp(-(most + 1) / scale) / (1 + ratio))


def _gaussian(variance: float) -> Callable[[Floats], Floats]:
    """P(|X| ≤ k) of discrete Gaussian noise: a sum, or for a variance above 10⁶ the integral, 10⁻⁶ of it off at most."""
    from scipy.special import erf

    if variance > 1e6:
        return lambda most: np.where(most < 0, 0.0, erf((most + 0.5) / math.sqrt(2 * variance)))
    numbers = np.arange(int(40 * math.sqrt(variance)) + 2)
    chances = np.exp(-(numbers**2) / (2 * variance)) * np.where(numbers == 0, 1, 2)
    ends = np.concatenate([[0.0], np.cumsum(chances / chances.sum())])
    return lambda most: ends[np.clip(most + 1, 0, len(ends) - 1).astype(np.int64)]


def _gamma_differences(shape: float, sizes: Floats) -> Floats:
    """P(|G − H| ≤ x) of two Gamma numbers of one shape: the integral over H, by Gauss and Laguerre's rule."""
    from scipy.special import gammainc, gammaln, roots_laguerre

    places, weights = roots_laguerre(120)
    density = weights * np.exp((shape - 1) * np.log(places) - gammaln(shape))
    grid = np.linspace(0, float(sizes.max()) + 1e-9, 2000)
    upper = gammainc(shape, places[None, :] + grid[:, None]) @ density
    lower = gammainc(shape, np.maximum(places[None, :] - grid[:, None], 0.0)) @ density
    return np.interp(sizes, grid, upper - lower)


def reused(runs: Iterable[Sequence[Kept]], alpha: float) -> tuple[int, int]:
    """Return in how many runs two numbers have the same noise, and how many such runs there may be by chance."""
    found, chances = 0, []
    for steps in runs:
        numbers, most_likely = _rare_noise(steps)
        found += len(set(numbers)) < len(numbers)
        chances.append(min(1.0, len(numbers) * (len(numbers) - 1) / 2 * most_likely))
    return found, _most_by_chance(chances, alpha)


def _rare_noise(steps: Sequence[Kept]) -> tuple[list[int], float]:
    """Return the noise of a run that is hardly ever equal by chance, and how likely any value of it is at the most."""
    groups: list[tuple[float, list[int]]] = []
    law = None
    for step in steps:
        law = step.law if isinstance(step, Opened | Measured) else law
        if isinstance(step, Measured | Valued) and isinstance(law, DiscreteGaussian | DiscreteLaplace):
            drawn = np.atleast_1d(np.asarray(step.answer) - np.asarray(step.exact))
            groups.append((2 * _most_likely(law), [abs(int(number)) for number in drawn]))  # either sign
    numbers: list[int] = []
    most_likely = 0.0
    for chance, noise in sorted(groups, key=lambda group: group[0]):
        if (len(numbers) + len(noise)) ** 2 / 2 * chance > RARE:
            break
        numbers, most_likely = numbers + noise, chance
    return numbers, most_likely


def _most_likely(law: DiscreteGaussian | DiscreteLaplace) -> float:
    if isinstance(law, DiscreteLaplace):
        return 1 / (2 * float(law.scale))
    return 1 / math.sqrt(2 * math.pi * min(float(variance) for _, variance in law.variances))


def _most_by_chance(chances: Sequence[float], alpha: float) -> int:
    """Return a number of independent events that is exceeded with probability below ``alpha``: P(≥ m) ≤ (Σp)ᵐ/m!."""
    total = math.fsum(chances)
    most = 0
    while total > 0 and (most + 1) * math.log(total) - math.lgamma(most + 2) > math.log(alpha):
        most += 1
    return most
