r"""Questions whose answer is one of the public radii of `Norms`: each is made of counts that one row moves by at most 1.

Of people with several rows counts are in units of 2⁻ᵇ: then one person moves them by at most 2ᵇ, and rates are divided by it,
noise is multiplied.

- `Quantile`, for the exponential mechanism: which radius leaves about M rows outside?
- `Radius`, for the sparse vector technique: the first radius, from below, with few rows outside.
- `Bias`, for the sparse vector technique: the first radius, from above, where clipping costs more than noise.

The queries of `Radius` and of `Bias` are monotone: between two neighbours they all move the same way, because each is a sum
over rows of a function that grows with the row's norm. That is what halves the noise (docs/mechanisms/adaptive.md). Those of
a person with several rows need not be monotone, but between two neighbours all moves, and 0, lie within one step, which is
enough: docs/mechanisms/people.md.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from dpcov.errors import ParameterError, shown
from dpcov.kernel.questions.measure import Integers, Measure, Question, are_all
from dpcov.kernel.questions.norms import Norms
from dpcov.strict_json import each

if TYPE_CHECKING:
    from dpcov.kernel.public import Public
    from dpcov.kernel.questions.filing import Reading, Writing
    from dpcov.strict_json import Fields

WEIGHT_BITS = 20  # of the weights in `Quantile`
LARGEST = 2**61  # a public number that is compared with counts, in their units
BIAS_BITS = 16  # one row moves a bias by at most 2¹⁶ steps


def check_rows(rows: object) -> None:
    """Refuse a number of rows that is none, or so large that sums with it would wrap."""
    if type(rows) is not int or not 0 <= rows <= LARGEST:
        raise ParameterError(
            f"rows must be an integer of at least 0, got {shown(rows)}. Hint: it says how many rows may lie outside."
        )


def outside(counts: Integers) -> Integers:
    """Return, from the counts of the bins, how many rows are longer than τ₀, τ₁, …, and at last how many there are."""
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])


def rank_scores(running: Integers, rows: int) -> Integers:
    """Return −max(Nₖ − M, M − Nₖ₊₁, 0) for running counts N: how many rows must change before the M-th lies in bin k."""
    return np.asarray(np.minimum(np.minimum(rows - running[:-1], running[1:] - rows), 0))


class Indexed(Question):
    """A question whose answer is one of ``candidates``, found by counts that one row moves by at most ``moved``."""

    @property
    @abstractmethod
    def counted(self) -> Measure:
        """The counts that it is about."""

    @property
    @abstractmethod
    def candidates(self) -> int:
        """How many there are to choose from."""

    @property
    def moved(self) -> int:
        """How far one row, or one person with all rows, moves a count: 1 in units of the counts."""
        return self.counted.person

    def whole(self, rows: int) -> int:
        """Return a public number of rows, or of people, in the units of the counts; beyond what there can be it is cut."""
        return min(rows * self.moved, LARGEST)

    @property
    def size(self) -> int:
        """One index."""
        return 1

    @property
    def exact_size(self) -> int:
        """The counts."""
        return self.counted.size

    @property
    def is_local(self) -> bool:
        """Whether its counts are of rows in public coordinates."""
        return self.counted.is_local

    def fits(self, public: Public) -> bool:
        """Whether its counts are of such rows."""
        return self.counted.fits(public)

    def admits(self, integers: Integers) -> bool:
        """Whether it is the index of a candidate."""
        return super().admits(integers) and 0 <= int(integers[0]) < self.candidates


class Choice(Indexed):
    """One that the exponential mechanism answers: by integer scores, and public weights."""

    @abstractmethod
    def scores(self, counts: Integers) -> Integers:
        """Return a score for each candidate; one row moves each by at most `moved`."""

    @property
    @abstractmethod
    def weights(self) -> Integers:
        """A public positive integer for each candidate."""

    all_alike: ClassVar[bool] = False
    """Whether all weights are 1."""


class Search(Indexed):
    """One that the sparse vector technique answers: by the first of some queries that reaches a threshold."""

    @property
    @abstractmethod
    def step(self) -> int:
        """What one row moves a query by, at most; between neighbours the moves of all queries and 0 differ by no more."""

    threshold: int

    @abstractmethod
    def values(self, counts: Integers) -> Integers:
        """Return the queries, in the order in which they are looked at."""


class AmongRadii(Indexed):
    """One whose candidates are the public radii of `Norms`."""

    norms: Norms

    @property
    def counted(self) -> Norms:
        """The counts that it is about."""
        return self.norms

    def fits(self, public: Public) -> bool:
        """Whether its counts are those that are proved, and of such rows."""
        return type(self.norms) is Norms and super().fits(public)

    @abstractmethod
    def place(self, index: int) -> int:
        """Return k of the radius row_norm·2^{−k/q} that an answer means, q radii to the octave."""

    def radius(self, index: int) -> float:
        """Return the radius that an answer means, as a part of row_norm."""
        return float(np.exp2(-self.place(index) / self.norms.per_octave))


@dataclass(frozen=True)
class Quantile(AmongRadii, Choice):
    """Which radius, of each ``every``-th, has about ``rows`` rows outside.

    ``prior`` are public weights, one for each of them; by default the larger radii are a little likelier: ∝ τ^¼.
    """

    norms: Norms
    rows: int
    every: int = 1
    prior: tuple[int, ...] = ()
    name = "radius"
    serves_people: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_rows(self.rows)
        if type(self.every) is not int or not 1 <= self.every <= self.norms.last or self.norms.last % self.every:
            raise ParameterError(
                f"every must be an integer that divides {self.norms.last}, got {shown(self.every)}. Hint: 1 takes every radius."
            )
        if self.prior == ():
            usual = np.rint(self.norms.radii[:: self.every] ** 0.25 * 2**WEIGHT_BITS)
            object.__setattr__(self, "prior", tuple(np.maximum(usual, 1.0).astype(np.int64).tolist()))
        known = type(self.prior) is tuple and are_all(self.prior, int)
        if not known or len(self.prior) != self.candidates or not 1 <= min(self.prior) <= max(self.prior) <= 2**30:
            raise ParameterError(
                "prior must hold an integer from 1 to 2**30 for each radius, got something else. Hint: leave it out."
            )

    @property
    def candidates(self) -> int:
        """How many radii there are."""
        return self.norms.last // self.every + 1

    def scores(self, counts: Integers) -> Integers:
        """Return −max(Nₖ − M, M − Nₖ₊₁, 0): how many rows must change before τₖ is the M-th largest norm's."""
        longer = np.append(outside(counts)[: -1 : self.every], counts.sum())
        return rank_scores(longer, self.whole(self.rows))

    @property
    def weights(self) -> Integers:
        """The prior."""
        return np.array(self.prior, dtype=np.int64)

    def place(self, index: int) -> int:
        """Each ``every``-th radius is a candidate."""
        return index * self.every

    def to_json(self, writing: Writing) -> dict[str, Any]:
        """Store the bins, the rows outside, which radii, and their weights."""
        return {**self.norms.to_json(writing), "outside": self.rows, "every": self.every, "weights": list(self.prior)}

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:
        """Read what `to_json` wrote."""
        norms, rows, every = Norms.from_json(fields, reading), fields.take("outside", int), fields.take("every", int)
        weights = tuple(each(fields.take("weights", list), int, "weights"))
        if not weights:
            raise ParameterError(
                "weights must hold one number for each radius, got none. Hint: the release file stores all of them."
            )
        return cls(norms, rows, every, weights)


@dataclass(frozen=True)
class Radius(AmongRadii, Search):
    """The first radius, from the smallest up, with at most ``rows`` rows outside; the largest where there is none."""

    norms: Norms
    rows: int
    name = "radius"
    tag = "first radius"  # `Quantile` has the same name
    serves_people: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_rows(self.rows)

    @property
    def step(self) -> int:
        """That of a count."""
        return self.moved

    @property
    def candidates(self) -> int:
        """The radii, and none of them."""
        return self.norms.last + 2

    def values(self, counts: Integers) -> Integers:
        """Return minus the number of rows outside, for τ_L, τ_{L−1}, …, τ₀."""
        return -outside(counts)[-2::-1]

    @property
    def threshold(self) -> int:  # type: ignore[override]
        """What a query must reach."""
        return -self.whole(self.rows)

    def place(self, index: int) -> int:
        """Count from below, as the radii are looked at; beyond the last query it is the largest."""
        return max(self.norms.last - index, 0)

    def to_json(self, writing: Writing) -> dict[str, Any]:
        """Store the bins, and the rows outside."""
        return {**self.norms.to_json(writing), "outside": self.rows}

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:
        """Read what `to_json` wrote."""
        return cls(Norms.from_json(fields, reading), fields.take("outside", int))


@dataclass(frozen=True)
class Bias(AmongRadii, Search):
    """The last radius, from τ_first down, before the bias of clipping exceeds the public ``noises``; both in units of τ_first².

    A row of bin b < k adds (τ_b² − τₖ²)/τ_first² to the bias at τₖ, in whole steps; longer rows count as of bin ``first``.
    """

    norms: Norms
    first: int
    noises: tuple[int, ...]
    name = "threshold"
    serves_people: ClassVar[bool] = True
    threshold = 0

    def __post_init__(self) -> None:
        if self.norms.per_octave != 1 or type(self.first) is not int or not 0 <= self.first <= self.norms.last:
            raise ParameterError(
                "bias must be asked in whole octaves from one of them on, got something else. Hint: Norms(per_octave=1)."
            )
        # beyond LARGEST int64 would wrap
        known = type(self.noises) is tuple and all(type(noise) is int and abs(noise) <= LARGEST for noise in self.noises)
        if len(self.noises) != self.norms.last + 1 - self.first or not known:
            raise ParameterError(
                "noises must hold an integer for each radius, got something else. Hint: count in steps of 2**-16."
            )

    @property
    def step(self) -> int:
        """2¹⁶ steps of a count."""
        return self.moved << BIAS_BITS

    @property
    def candidates(self) -> int:
        """The radii from the first on, and none of them."""
        return len(self.noises) + 1

    def values(self, counts: Integers) -> Integers:
        """Return bias minus noise for τ_first and each smaller radius."""
        kept = counts[self.first :].copy()
        kept[0] += counts[: self.first].sum()
        depth = np.minimum(np.arange(len(kept)), BIAS_BITS)  # beyond it 4^{−depth} rounds to nothing
        size = 2**BIAS_BITS >> np.minimum(2 * depth, BIAS_BITS + 1)
        lost = np.maximum(size[None, :] - size[:, None], 0)  # [k, b]: what a row of bin b loses at τₖ
        noises = [max(-LARGEST, self.whole(noise)) for noise in self.noises]
        return np.asarray(lost @ kept - np.array(noises, dtype=np.int64))

    def place(self, index: int) -> int:
        """Return that before the one whose bias is too large."""
        return min(self.first + max(index - 1, 0), self.norms.last)

    def to_json(self, writing: Writing) -> dict[str, Any]:
        """Store the bins, the first radius and the noises."""
        return {**self.norms.to_json(writing), "first": self.first, "noises": list(self.noises)}

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:
        """Read what `to_json` wrote."""
        norms, first = Norms.from_json(fields, reading), fields.take("first", int)
        return cls(norms, first, tuple(each(fields.take("noises", list), int, "noises")))
