r"""How much the rows weigh: counts by weight, the choice of the weight that counts as 1, and the sum of squares.

Edges are public, eₖ = max_weight·2^{−k/8}. A row with m rows of its person counts ⌊2ᵇ/max(m, M)⌋ in the bin of its weight,
eₖ₊₁ < w ≤ eₖ, and nothing where its weight is 0: a person counts at most 1 in all bins together, and so does the number beyond
an edge. A row that counts s, of weight p in parts of the largest, adds p·s to the sum of squares, and a person at most 1.

===================  =========================  ==========  ==========
statistic            distance                   replace     add-remove
===================  =========================  ==========  ==========
`Weights`            L2², L1                    2           1
weights above eₖ     absolute                   1           1
`SquaredWeights`     absolute                   1           1
===================  =========================  ==========  ==========

`HeavyWeight` is for the exponential mechanism: which edge has about M people beyond? From its answer on a weight counts as it
does at that edge: `weighed_by`. Proof: docs/mechanisms/people.md, part 7.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from dpcov.errors import ParameterError, shown
from dpcov.kernel.questions.choices import Choice, check_rows, outside, rank_scores
from dpcov.kernel.questions.measure import Integers, Part, Rows
from dpcov.kernel.questions.moments import ADD_REMOVE, REPLACE, CountedRows
from dpcov.kernel.rows.aside import CUTS_PER_OCTAVE, LAST_CUT, SHARE_BITS, Aside, Weighed

if TYPE_CHECKING:
    from dpcov.kernel.answer import Answer
    from dpcov.kernel.public import Public
    from dpcov.kernel.questions.filing import Reading, Writing
    from dpcov.strict_json import Fields

MOST_PART = 2**20

EDGES = 2.0 ** (SHARE_BITS - np.arange(LAST_CUT + 1) / CUTS_PER_OCTAVE)
"""e₀ = 1 and the smaller ones, in 2⁻⁵² of max_weight."""


class AboutWeights(CountedRows):
    """What the two have in common that are about weights alone."""

    serves_people: ClassVar[bool] = True

    def fits(self, public: Public) -> bool:
        """Whether rows have weights."""
        return public.encoding.aside is not None and bool(public.encoding.aside.weight)

    def entries(self, total: Integers) -> Integers:
        """Return the numbers."""
        return total

    def to_json(self, writing: Writing) -> dict[str, Any]:  # noqa: ARG002
        """Store nothing: the edges are the same for all."""
        return {}

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:  # noqa: ARG003
        """Read nothing."""
        return cls()


@dataclass(frozen=True)
class Weights(AboutWeights):
    """How many people have a weight in each bin, whatever it counts as: by edges below the public ``max_weight``."""

    name = "weights"
    shape = (LAST_CUT + 1,)

    @property
    def parts(self) -> tuple[Part, ...]:
        """One run of counts."""
        return (Part("bins", 1, LAST_CUT + 1),)

    def of(self, rows: Rows, *, scratch: bool = False) -> Integers:  # noqa: ARG002
        """Count the block's rows by bin: how many of e₁, e₂, … a weight is not above."""
        if self.aside is None:
            return np.zeros(self.shape, dtype=np.int64)
        thetas, parts = replace(self.aside, cut=None).weighed(rows)
        alike = np.where(thetas > 0, 2.0**SHARE_BITS, 0.0)
        bins = LAST_CUT - np.searchsorted(EDGES[:0:-1], thetas, side="left")
        return np.bincount(bins, self.aside.counted(Weighed(alike, parts).shares), LAST_CUT + 1).astype(np.int64)

    def sensitivity_squared(self, neighbors: str) -> int:
        """Return what one person leaves and another enters: at most 1 each, over all bins."""
        return {REPLACE: 2, ADD_REMOVE: 1}[neighbors] * self.person**2

    def sensitivity_l1(self, neighbors: str) -> Fraction:
        """Return what one person leaves and another enters: at most 1 each, over all bins."""
        return Fraction({REPLACE: 2, ADD_REMOVE: 1}[neighbors] * self.person)


@dataclass(frozen=True)
class SquaredWeights(AboutWeights):
    """Σ p·s: of rows that are people Σ p², with which the effective size of the sample is (Σ p)²/Σ p²; else no less."""

    name = "squared weights"
    shape = (1,)

    @property
    def parts(self) -> tuple[Part, ...]:
        """One number."""
        return (Part("squared weights", 1, 1),)

    def of(self, rows: Rows, *, scratch: bool = False) -> Integers:  # noqa: ARG002
        """Add up ⌊2ᵇ·p·s⌋, no more than what a row counts: p ≤ 1, and rounding keeps the order."""
        if self.aside is None:
            return np.zeros(1, dtype=np.int64)
        weighed = self.aside.weighed(rows)
        squares = weighed.shares * np.ldexp(weighed.thetas, -SHARE_BITS)
        return np.array([self.aside.counted(squares).sum()]).astype(np.int64)

    def sensitivity_squared(self, neighbors: str) -> int:  # noqa: ARG002 - the same in both relations
        """Return 1: a person adds between 0 and 1."""
        return self.person**2

    def sensitivity_l1(self, neighbors: str) -> Fraction:  # noqa: ARG002
        """Return 1: a person adds between 0 and 1."""
        return Fraction(self.person)


@dataclass(frozen=True)
class HeavyWeight(Choice):
    """Which edge has about ``rows`` people beyond it, or one in ``part`` of all where that is fewer.

    A weight counts from its answer on as it does at that edge.
    """

    rows: int
    part: int
    name = "largest weight"
    serves_people: ClassVar[bool] = True
    all_alike: ClassVar[bool] = True
    candidates = LAST_CUT + 1

    def __post_init__(self) -> None:
        check_rows(self.rows)
        if type(self.part) is not int or not MOST_PART >= self.part >= 1:
            raise ParameterError(
                f"part must be an integer of at least 1, got {shown(self.part)}. Hint: 2 cuts half of all weights at most."
            )

    @property
    def counted(self) -> Weights:
        """The counts that it is about."""
        return Weights(aside=self.aside)

    def fits(self, public: Public) -> bool:
        """Whether a weight is to be chosen, and none was."""
        aside = public.encoding.aside
        return aside is not None and aside.searched and aside.cut is None

    def scores(self, counts: Integers) -> Integers:
        """Return −max(Nₖ − M, M − Nₖ₊₁, 0): how many people must change before eₖ is just above the M-th largest weight."""
        beyond = outside(counts)
        return rank_scores(beyond, min(self.whole(self.rows), int(beyond[-1]) // self.part))

    @property
    def weights(self) -> Integers:
        """No edge is likelier than another."""
        return np.ones(self.candidates, dtype=np.int64)

    def to_json(self, writing: Writing) -> dict[str, Any]:  # noqa: ARG002
        """Store how many people are to lie beyond."""
        return {"beyond": self.rows, "part": self.part}

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:  # noqa: ARG003
        """Read how many people are to lie beyond."""
        return cls(fields.take("beyond", int), fields.take("part", int))


def weighed_by(aside: Aside | None, answers: Sequence[Answer]) -> tuple[Aside | None, int | None]:
    """Return what stands beside rows after these answers, and which of them says what a weight counts as, if one does."""
    if aside is None or not aside.searched:
        return aside, None
    for place, answer in enumerate(answers):
        if type(answer.question) is HeavyWeight:
            return replace(aside, cut=int(answer.integers[0])), place
    return aside, None
