r"""Questions whose answer is one of the public radii of `Norms`: each is made of counts that one row moves by at most 1.

- `Quantile`, for the exponential mechanism: which radius leaves about M rows outside?
- `Radius`, for the sparse vector technique: the first radius, from below, with few rows outside.
- `Bias`, for the sparse vector technique: the first radius, from above, where clipping costs more than noise.

The queries of `Radius` and of `Bias` are monotone: between two neighbours they all move the same way, because each is a sum
over rows of a function that grows with the row's norm. That is what halves the noise (docs/mechanisms/adaptive.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpcov.errors import ParameterError
from dpcov.kernel.questions.measure import Integers
from dpcov.kernel.questions.norms import Norms

WEIGHT_BITS = 20  # of the weights in `Quantile`
LARGEST = 2**61
BIAS_BITS = 16  # one row moves a bias by at most 2¹⁶ steps


def check_rows(rows: object) -> None:
    """Refuse a number of rows that is none, or so large that sums with it would wrap."""
    if type(rows) is not int or not 0 <= rows <= LARGEST:
        raise ParameterError("rows must be an int of at least 0, got another. Hint: how many rows may lie outside.")


def outside(counts: Integers) -> Integers:
    """Return, from the counts of the bins, how many rows are longer than τ₀, τ₁, …, and at last how many there are."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])


def rank_scores(running: Integers, rows: int) -> Integers:
    """Return −max(Nₖ − M, M − Nₖ₊₁, 0) for running counts N: how many rows must change before the M-th lies in bin k."""
    return np.asarray(np.minimum(np.minimum(rows - running[:-1], running[1:] - rows), 0))


@dataclass(frozen=True)
class Quantile:
    """Which radius, of each ``every``-th, has about ``rows`` rows outside.

    ``prior`` are public weights, one for each of them; by default the larger radii are a little likelier: ∝ τ^¼.
    """

    norms: Norms
    rows: int
    every: int = 1
    prior: tuple[int, ...] = ()
    name = "radius"

    def __post_init__(self) -> None:
        check_rows(self.rows)
        if type(self.every) is not int or not 1 <= self.every <= self.norms.last or self.norms.last % self.every:
            raise ParameterError("every must divide the number of radii, got another. Hint: 1, 2, 4 or 8.")
        known = type(self.prior) is tuple and all(type(weight) is int and 1 <= weight <= 2**30 for weight in self.prior)
        if not known or len(self.prior) not in (0, self.norms.last // self.every + 1):
            raise ParameterError("prior must be an integer from 1 to 2**30 for each radius, got others. Hint: leave it out.")

    @property
    def counted(self) -> Norms:
        """The counts that it is about."""
        return self.norms

    def scores(self, counts: Integers) -> Integers:
        """Return −max(Nₖ − M, M − Nₖ₊₁, 0): how many rows must change before τₖ is the M-th largest norm's."""
        longer = np.append(outside(counts)[: -1 : self.every], counts.sum())
        return rank_scores(longer, self.rows)

    @property
    def weights(self) -> Integers:
        """Public integers: the prior, or ∝ τ^¼."""
        if self.prior:
            return np.array(self.prior, dtype=np.int64)
        weights = np.rint(self.norms.radii[:: self.every] ** 0.25 * 2**WEIGHT_BITS)
        return np.asarray(np.maximum(weights, 1.0), dtype=np.int64)

    def record(self, index: int) -> list[int]:
        """Return k and q of the chosen radius 2^{−k/q}, and how many rows were to lie outside."""
        return [index * self.every, self.norms.per_octave, self.rows]


@dataclass(frozen=True)
class Radius:
    """The first radius, from the smallest up, with at most ``rows`` rows outside; the largest where there is none."""

    norms: Norms
    rows: int
    name = "radius"
    step = 1

    def __post_init__(self) -> None:
        check_rows(self.rows)

    @property
    def counted(self) -> Norms:
        """The counts that it is about."""
        return self.norms

    def values(self, counts: Integers) -> Integers:
        """Return minus the number of rows outside, for τ_L, τ_{L−1}, …, τ₀."""
        return -outside(counts)[-2::-1]

    @property
    def threshold(self) -> int:
        """What a query must reach."""
        return -self.rows

    def record(self, index: int) -> list[int]:
        """Return k and q of the radius 2^{−k/q}, the largest beyond the last query, and how many rows may lie outside."""
        return [max(self.norms.last - index, 0), self.norms.per_octave, self.rows]


@dataclass(frozen=True)
class Bias:
    """The last radius, from τ_first down, before the bias of clipping exceeds the public ``noises``; both in units of τ_first².

    A row of bin b < k adds (τ_b² − τₖ²)/τ_first² to the bias at τₖ, in whole steps; longer rows count as of bin ``first``.
    """

    norms: Norms
    first: int
    noises: tuple[int, ...]
    name = "threshold"
    step = 2**BIAS_BITS
    threshold = 0

    def __post_init__(self) -> None:
        if self.norms.per_octave != 1 or type(self.first) is not int or not 0 <= self.first <= self.norms.last:
            raise ParameterError("bias must be of whole octaves from one of them on, got others. Hint: Norms(per_octave=1).")
        # beyond LARGEST int64 would wrap
        known = type(self.noises) is tuple and all(type(noise) is int and abs(noise) <= LARGEST for noise in self.noises)
        if len(self.noises) != self.norms.last + 1 - self.first or not known:
            raise ParameterError("noises must be an integer for each radius, got others. Hint: in steps of 2**-16.")

    @property
    def counted(self) -> Norms:
        """The counts that it is about."""
        return self.norms

    def values(self, counts: Integers) -> Integers:
        """Return bias minus noise for τ_first and each smaller radius."""
        kept = counts[self.first :].copy()
        kept[0] += counts[: self.first].sum()
        depth = np.minimum(np.arange(len(kept)), BIAS_BITS)  # beyond it 4^{−depth} rounds to nothing
        size = self.step >> np.minimum(2 * depth, BIAS_BITS + 1)
        lost = np.maximum(size[None, :] - size[:, None], 0)  # [k, b]: what a row of bin b loses at τₖ
        return np.asarray(lost @ kept - np.array(self.noises, dtype=np.int64))

    def record(self, index: int) -> list[int]:
        """Return k and q of the radius 2^{−k/q} before the one that the index means; no rows are wanted outside."""
        return [min(self.first + max(index - 1, 0), self.norms.last), self.norms.per_octave, 0]


SEARCHED = (Radius, Bias)
"""What is proved: a curator searches nothing else."""
