"""What is known before the first question is asked: the encoding of rows, the relation of neighbours, n where it is public."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Self

from dpcov.kernel.questions.groups import GroupCounts, GroupedMoment
from dpcov.kernel.questions.moments import REPLACE, SecondMoment
from dpcov.kernel.questions.norms import Norms, Trace
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.grid import Grid


def hides_n(of: Any) -> bool:
    """Whether n, by which estimates divide, is private, and a noisy number tells it: of facts, or of a transcript."""
    return bool(of.neighbors != REPLACE or of.encoding.partial)


class Facts:
    """What follows from public facts about the rows, and the questions that can be made of them."""

    encoding: Encoding
    neighbors: str
    known_n: int | None
    rereadable: bool

    @property
    def grid(self) -> Grid:
        """The grid of unclipped rows."""
        return self.encoding.grid

    @property
    def d(self) -> int:
        """The number of coordinates of an encoded row: one more than features where rows have a constant."""
        return self.encoding.width

    @property
    def described(self) -> bool:
        """Whether a schema says what the columns mean; values are then clipped to its bounds."""
        return self.encoding.schema is not None

    @property
    def hides_n(self) -> bool:
        """Whether n, by which estimates divide, is private: under add-remove, and where people may count less than once."""
        return hides_n(self)

    @property
    def knows_n(self) -> bool:
        """Whether nothing need be read for a public n: not so of CSV files and streams before their first reading."""
        return self.neighbors != REPLACE or self.known_n is not None

    @property
    def most_rows(self) -> int:
        """The most rows that there can be, as is public: n under replace where it is known, else what sums have room for."""
        n = None if self.hides_n else self.known_n
        return self.encoding.most_rows if n is None else n

    def second_moment(self, radius: float = 1.0) -> SecondMoment:
        """Return the question Σ z zᵀ of the encoded rows, clipped at a part of row_norm."""
        return SecondMoment(self.grid if radius == 1.0 else self.grid.clipped(radius), self.d, aside=self.encoding.aside)

    @property
    def groups(self) -> int:
        """How many groups there are; 0 where rows have none."""
        return 0 if self.encoding.groups is None else self.encoding.groups.count

    def grouped_moment(self, radius: float = 1.0) -> GroupedMoment:
        """Return the question Σ z zᵀ of the encoded rows of each group, clipped at a part of row_norm."""
        rows = self.grid if radius == 1.0 else self.grid.clipped(radius)
        return GroupedMoment(rows, self.d, self.groups, aside=self.encoding.aside)

    def group_counts(self) -> GroupCounts:
        """Return the question of how many rows each group has, or how much they count."""
        return GroupCounts(self.groups, aside=self.encoding.aside)

    def beyond(self, inner: float, outer: float) -> SecondMoment:
        """Return the question Σ z zᵀ of what clipping at ``inner`` takes from rows clipped at ``outer``."""
        between = Annulus(self.grid.clipped(inner), self.grid.clipped(outer))
        return SecondMoment(between, self.d, aside=self.encoding.aside)

    def norms(self, per_octave: int, octaves: int) -> Norms:
        """Return the question of how many rows there are in each bin of the norm."""
        return Norms(self.grid, self.d, per_octave, octaves, aside=self.encoding.aside)

    def trace(self, radius: float = 1.0) -> Trace:
        """Return the question Σ ‖z‖² of the encoded rows, clipped at a part of row_norm."""
        return Trace(self.grid.clipped(radius), self.d, aside=self.encoding.aside)


@dataclass(frozen=True)
class Public(Facts):
    """Public facts about the rows.

    Attributes
    ----------
    encoding : Encoding
        How rows become integers.
    neighbors : {"replace", "add-remove"}
        Which data sets must look alike.
    known_n : int, optional
        The number of rows under replace, where nothing need be read for it.
    rereadable : bool
        Whether the rows can be read more than once: true of all but some streams.
    """

    encoding: Encoding
    neighbors: str
    known_n: int | None = None
    rereadable: bool = True

    def apart(self) -> Self:
        """Return equal facts for a mechanism, which could set what is frozen: a curator checks questions by its own."""
        whole = self.encoding
        own = replace(whole, schema=deepcopy(whole.schema), groups=deepcopy(whole.groups), aside=deepcopy(whole.aside))
        return replace(self, encoding=own)
