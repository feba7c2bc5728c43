"""The noise laws a release can carry: how to draw them, how large they are, and how a file names them.

All scales are in grid steps of the question. Exact laws live here; the two that are rounded are in `kernel.noise.matrix`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.bits import Bits
from dpcov.kernel.noise.discrete import check_scale, check_variance, discrete_gaussian, discrete_laplace

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Spread:
    """What post-processing needs to know of a noise matrix: second moments of its entries and the shape of its spectrum."""

    diagonal_variance: float
    off_diagonal_variance: float
    wishart: bool = False
    """Whether the spectrum is that of a difference of two Wishart matrices; else a semicircle."""

    def scaled(self, factor: float) -> Spread:
        """Return the spread of the noise times ``factor``."""
        squared = factor * factor  # infinite where it overflows: a power would raise
        return Spread(self.diagonal_variance * squared, self.off_diagonal_variance * squared, self.wishart)

    def rms(self, d: int) -> float:
        """Return the root mean square of the Frobenius norm of d by d noise."""
        return float(np.sqrt(d * self.diagonal_variance + d * (d - 1) * self.off_diagonal_variance))


class NoiseLaw(Protocol):
    """A law of integer noise, the same for any data."""

    law: ClassVar[str]
    numerics: ClassVar[str]

    def draw(self, sizes: Sequence[int], bits: Bits) -> Integers:
        """Draw noise for parts of these sizes."""
        ...

    def settle(self, total: Integers) -> Integers:
        """Return what is answered for exact sum plus noise: itself, or rounded to a public lattice."""
        ...

    def spread(self) -> Spread:
        """Describe the noise on a second moment."""
        ...

    def is_at_least(self, other: NoiseLaw) -> bool:
        """Whether this law has as much noise as another of its kind."""
        ...

    def to_json(self) -> dict[str, str]:
        """Return the parameters as text."""
        ...

    @classmethod
    def from_json(cls, record: Mapping[str, Fraction]) -> Self:
        """Make the law from what `to_json` wrote, its values read as fractions."""
        ...


@runtime_checkable
class RoundedLaw(Protocol):
    """A law drawn in floats: within total variation ``tail`` of one whose cost, ``excess`` included, is proved."""

    @property
    def excess(self) -> Fraction:
        """The ε that rounding costs, calibrated away."""
        ...

    @property
    def tail(self) -> Fraction:
        """The probability that the error bound of the floats does not hold."""
        ...


@dataclass(frozen=True)
class DiscreteGaussian:
    """Independent discrete Gaussians; entries of one part share a variance, in squared grid steps."""

    variances: tuple[tuple[str, Fraction], ...]
    law: ClassVar[str] = "discrete gaussian"
    numerics: ClassVar[str] = "exact"

    def __post_init__(self) -> None:
        for _, variance in self.variances:
            check_variance(variance)

    def draw(self, sizes: Sequence[int], bits: Bits) -> Integers:
        """Draw the parts one after another."""
        pairs = zip(self.variances, sizes, strict=True)
        return np.concatenate([discrete_gaussian(variance, size, bits) for (_, variance), size in pairs])

    def settle(self, total: Integers) -> Integers:
        """Return the sum itself: the noise is exact."""
        return total

    def spread(self) -> Spread:
        """Variances of the first part (the diagonal) and the last (the triangle above it)."""
        return Spread(float(self.variances[0][1]), float(self.variances[-1][1]))

    def is_at_least(self, other: NoiseLaw) -> bool:
        """Compare the parts' variances."""
        if not isinstance(other, DiscreteGaussian) or [n for n, _ in self.variances] != [n for n, _ in other.variances]:
            return False
        return all(a >= b for (_, a), (_, b) in zip(self.variances, other.variances, strict=True))

    def to_json(self) -> dict[str, str]:
        """Return the variances by part."""
        return {name: str(variance) for name, variance in self.variances}

    @classmethod
    def from_json(cls, record: Mapping[str, Fraction]) -> Self:
        """Read the variances by part."""
        return cls(tuple(record.items()))


@dataclass(frozen=True)
class DiscreteLaplace:
    """Independent discrete Laplace noise of one scale on every entry."""

    scale: Fraction
    law: ClassVar[str] = "discrete laplace"
    numerics: ClassVar[str] = "exact"

    def __post_init__(self) -> None:
        check_scale(self.scale)

    def draw(self, sizes: Sequence[int], bits: Bits) -> Integers:
        """Draw all entries alike."""
        return discrete_laplace(self.scale, sum(sizes), bits)

    def settle(self, total: Integers) -> Integers:
        """Return the sum itself: the noise is exact."""
        return total

    def spread(self) -> Spread:
        """Each entry has the variance 2q/(1−q)² of a discrete Laplace number, q = exp(−1/scale)."""
        variance = 0.5 / np.sinh(min(0.5 / float(self.scale), 300.0)) ** 2
        return Spread(float(variance), float(variance))

    def is_at_least(self, other: NoiseLaw) -> bool:
        """Compare the scales."""
        return isinstance(other, DiscreteLaplace) and self.scale >= other.scale

    def to_json(self) -> dict[str, str]:
        """Return the scale."""
        return {"scale": str(self.scale)}

    @classmethod
    def from_json(cls, record: Mapping[str, Fraction]) -> Self:
        """Read the scale."""
        return cls(**record)
