r"""Private choices among a public list: the exponential mechanism and the sparse vector technique, both exact.

- `choose`: P(k) ∝ weightₖ·exp(rate·scoreₖ), for integer scores that one row moves by at most 1 either way. Log-probabilities
  then range over 2·rate: 2·rate-bounded-range, hence 2·rate-DP and (2·rate)²/8-zCDP.
- `choose_among_many`: the same law with equal weights, for a million candidates.
- `first_above`: the first of some integers that exceeds a threshold, noise on both: ε-DP whatever their number.

Proofs: docs/mechanisms/rescaled.md and docs/mechanisms/adaptive.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError
from dpcov.kernel.bits import Bits
from dpcov.kernel.noise.discrete import check_scale, compare, discrete_laplace
from dpcov.kernel.noise.laws import NoiseLaw, Spread

Integers = NDArray[np.int64]

PROPOSALS = 256  # at a time, for a seed: its stream goes on after the batch with the first accepted one
SURE = 20  # but for probability e⁻²⁰ the first look finds a candidate that is accepted, whatever the scores are
MOST_PROPOSALS = 2**17  # about 20 ms; where more would be needed, as for more than 4096 bins, another look is likelier
MANY = 2**12  # candidates: beyond it `choose` would need more proposals than `MOST_PROPOSALS`
MANY_PROPOSALS = 2**9
MOST_ZEROS = 40  # candidates less likely than 2⁻⁴⁰ are proposed like those; 2²⁰ of them fit into 63 bits
MAX_RATE = Fraction(2**10)
"""A larger rate decides nothing that this one leaves open; with scores below 2³¹ the exponents stay exact enough in float64."""


def choose(scores: Integers, weights: Integers, rate: Fraction, bits: Bits) -> int:
    """Draw k with probability ∝ weights[k]·exp(rate·scores[k]), exactly: propose by weight, accept by score.

    A proposal is accepted with probability exp(−rate·(best − score)), decided as in `kernel.noise.discrete`. The first accepted
    one counts; all of a batch are looked at. How many are made before the first look is public, and enough: else the time would
    tell how many candidates are nearly as good as the best.
    """
    gaps = int(scores.max()) - scores
    ends = np.cumsum(weights)
    width = int(ends[-1]).bit_length()
    shift = np.uint64(64 - width)
    # A candidate of the best score is proposed with probability weight/2ʷⁱᵈᵗʰ, and then accepted.
    enough = min(math.ceil(SURE * 2**width / int(weights.min())), MOST_PROPOSALS)
    count = PROPOSALS if bits.seeded else max(enough, PROPOSALS)
    while True:
        words = bits.words(2 * count)
        place = (words[:count] >> shift).astype(np.int64)
        proposed = np.minimum(ends_up_to(place, ends, int(weights.min())), len(scores) - 1)
        gap = gaps[proposed]
        with np.errstate(all="ignore"):
            gamma = np.multiply(gap, float(rate), dtype=np.float64)  # two roundings: relative error 2⁻⁵¹
            accepted = compare(words[count:], gamma, gap, gap, lambda gap, _: gap * rate, bits)
        accepted &= place < ends[-1]
        if accepted.any():
            return int(proposed[np.argmax(accepted)])


def ends_up_to(places: Integers, ends: Integers, apart: int) -> Integers:
    """Count the ends that are not beyond each place, as `np.searchsorted` does, in a fifth of its time.

    Ends are at least ``apart`` from each other. In a bucket of places that is no wider there is one of them at most, so one
    comparison decides.
    """
    bits = apart.bit_length() - 1
    buckets = (int(ends[-1]) >> bits) + 1
    if buckets > len(places):  # making the table would take longer than it saves
        return np.searchsorted(ends, places, side="right")
    inside = np.minimum(places, ends[-1])
    found: Integers = np.searchsorted(ends, np.arange(buckets) << bits, side="right")[inside >> bits]
    found += np.append(ends, ends[-1] + 1)[found] <= inside
    return found


def choose_among_many(scores: Integers, rate: Fraction, bits: Bits) -> int:
    """Draw k with probability ∝ exp(rate·scores[k]), exactly, where few of very many candidates may be likely.

    Give each candidate a uniform Uₖ, and accept it where Uₖ < exp(−γₖ), γₖ = rate·(best − score). Proposing all alike would
    take as many proposals as there are candidates. So propose k with probability ∝ 2^{−bₖ}, bₖ ≤ γₖ/log 2 a whole number: that
    is the probability that Uₖ starts with bₖ zeros, as it must to be accepted; the bits after them decide. Which bₖ are taken
    changes the time alone: they may be off by rounding as long as 2^{−bₖ} ≥ exp(−γₖ), which one less makes sure.

    As 2^{−b} ≤ 4·exp(−γ), but for candidates beyond `MOST_ZEROS` that add up to 2⁻²⁰ at most, every eighth word proposes one
    that is accepted, or more. So a public number of them is enough but for probability (7/8)⁵¹² < e⁻⁶⁰, whatever the scores
    are.
    """
    gaps = int(scores.max()) - scores
    with np.errstate(all="ignore"):
        gamma = np.multiply(gaps, float(rate), dtype=np.float64)
        zeros = np.clip(np.floor(gamma / math.log(2)) - 1, 0, MOST_ZEROS).astype(np.int64)
    ends = np.cumsum(np.int64(1) << (MOST_ZEROS - zeros))
    width = int(ends[-1]).bit_length()
    shift = np.uint64(64 - width)
    while True:
        words = bits.words(2 * MANY_PROPOSALS)
        place = (words[:MANY_PROPOSALS] >> shift).astype(np.int64)
        proposed = np.minimum(np.searchsorted(ends, place, side="right"), len(scores) - 1)
        gap, first = gaps[proposed], zeros[proposed]
        with np.errstate(all="ignore"):
            near = np.multiply(gap, float(rate), dtype=np.float64)
            accepted = compare(words[MANY_PROPOSALS:], near, gap, gap, lambda gap, _: gap * rate, bits, first)
        accepted &= place < ends[-1]
        if accepted.any():
            return int(proposed[np.argmax(accepted)])


def first_above(values: Integers, threshold: int, law: SparseVector, bits: Bits) -> int:
    """Return the first k with values[k] + noise ≥ threshold + noise, or their number where there is none; all are drawn."""
    level = threshold + int(discrete_laplace(law.threshold, 1, bits)[0])
    noisy = values + discrete_laplace(law.query, len(values), bits)
    above = np.flatnonzero(noisy >= level)
    return int(above[0]) if len(above) else len(values)


class _Chosen:
    """What the laws of choices share: nothing is added to anything."""

    numerics: ClassVar[str] = "exact"

    def draw(self, sizes: Sequence[int], bits: Bits) -> NoReturn:
        """Refuse: there is nothing to add noise to."""
        raise NotImplementedError

    def settle(self, total: Integers) -> Integers:
        """Return the choice itself."""
        return total

    def spread(self) -> Spread:
        """Refuse: there is no noise matrix."""
        raise NotImplementedError


@dataclass(frozen=True)
class Exponential(_Chosen):
    """The exponential mechanism: probabilities ∝ exp(rate·score)."""

    rate: Fraction
    law: ClassVar[str] = "exponential"

    def __post_init__(self) -> None:
        if not 0 < self.rate <= MAX_RATE:
            raise ParameterError(
                "rate must be above 0 and at most 1024, got one outside. Hint: every private choice costs some budget."
            )

    def is_at_least(self, other: NoiseLaw) -> bool:
        """Whether this one follows the scores no more closely."""
        return isinstance(other, Exponential) and self.rate <= other.rate

    def to_json(self) -> dict[str, str]:
        """Return the rate."""
        return {"rate": str(self.rate)}

    @classmethod
    def from_json(cls, record: Mapping[str, Fraction]) -> Self:
        """Read the rate."""
        return cls(**record)


@dataclass(frozen=True)
class SparseVector(_Chosen):
    """The scales of the Laplace noise on the threshold and on each query, in steps of the queries."""

    threshold: Fraction
    query: Fraction
    law: ClassVar[str] = "sparse vector"

    def __post_init__(self) -> None:
        check_scale(self.threshold)
        check_scale(self.query)

    def is_at_least(self, other: NoiseLaw) -> bool:
        """Compare both scales."""
        return isinstance(other, SparseVector) and self.threshold >= other.threshold and self.query >= other.query

    def to_json(self) -> dict[str, str]:
        """Return the scales."""
        return {"threshold": str(self.threshold), "query": str(self.query)}

    @classmethod
    def from_json(cls, record: Mapping[str, Fraction]) -> Self:
        """Read the scales."""
        return cls(**record)
