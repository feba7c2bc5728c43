"""What a question is: integers made from rows, of which one row can move only so much, and how it stands in a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import repeat
from operator import is_
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.aside import Aside
from dpcov.kernel.rows.frames import FRAMED
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.rows.standard import Standard

if TYPE_CHECKING:
    from dpcov.kernel.public import Public
    from dpcov.kernel.questions.filing import Reading, Writing
    from dpcov.strict_json import Fields

Rows = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Part:
    """A run of entries that share a weight in the squared distance Σ weight·(difference)²."""

    name: str
    weight: int
    size: int


@dataclass(frozen=True)
class Question(ABC):
    """What may be asked of rows. It stores every public number that it is asked with, so a file can say what was asked.

    ``shapes`` are the ways to clip rows for which its sensitivity is proved. ``aside`` is what stands beside the features of
    its rows; a curator sets its own.
    """

    aside: Aside | None = field(default=None, kw_only=True)

    name: ClassVar[str]
    tag: ClassVar[str] = ""
    """What a file calls it, where not by its name."""

    shapes: ClassVar[tuple[type, ...]] = ()

    serves_people: ClassVar[bool] = False
    """Whether its sensitivity is proved for people with several rows, too: docs/mechanisms/people.md."""

    by_group: ClassVar[bool] = False
    """Whether it is given the position of each row's group, after all other entries."""

    @property
    def names(self) -> tuple[str, ...]:
        """What is paid for, one by one."""
        return (self.name,)

    @property
    @abstractmethod
    def size(self) -> int:
        """How many integers its answer has."""

    @property
    def exact_size(self) -> int:
        """How many exact integers are read for it: of choices and draws, of what they are made from."""
        return self.size

    @property
    def weighs(self) -> bool:
        """Whether rows or people may count less than once."""
        return self.aside is not None and self.aside.partial

    @property
    def person_bits(self) -> int:
        """Counts of people are in units of 2 to minus this; 0 where each row is a person."""
        return 0 if self.aside is None else self.aside.share_bits

    @property
    def person(self) -> int:
        """What counts as one row, or one person with all rows."""
        return 1 << self.person_bits

    @property
    def by_column(self) -> bool:
        """Whether it is given rows by column, with missing cells told apart, not by feature."""
        return type(getattr(self, "grid", None)) is Standard

    @property
    def is_local(self) -> bool:
        """Whether it is about rows in public coordinates of its own: a ball, a box or an ellipsoid."""
        return type(getattr(self, "grid", None)) in FRAMED

    def fits(self, public: Public) -> bool:
        """Whether it is about rows that are encoded so, clipped no farther out than they are."""
        rows: Any = getattr(self, "grid", None)
        return type(rows) in self.shapes and rows_fit(rows, getattr(self, "d", None), public)

    def admits(self, integers: Integers) -> bool:
        """Whether these can be its answer, whatever the rows and the noise."""
        return integers.shape == (self.size,)

    def gives_n(self, integers: Integers) -> int | None:  # noqa: ARG002
        """Return the number of rows, at least 1, that an answer tells; None where it tells none."""
        return None

    @abstractmethod
    def to_json(self, writing: Writing) -> dict[str, Any]:
        """Return what a file stores of it."""

    @classmethod
    @abstractmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:
        """Make it from what `to_json` wrote."""


def are_all(values: tuple[object, ...], kind: type) -> bool:
    """Whether values are of this type, and of no other that equals it or is made from it."""
    return all(map(is_, map(type, values), repeat(kind)))


def rows_fit(rows: Any, d: object, public: Public) -> bool:
    """Whether rows have the coordinates of this encoding, and a clip within it, or one of their own."""
    whole = public.grid
    if type(rows) is Standard:  # its own clip, too
        alike = rows.bits == whole.bits and rows.units.columns == public.encoding.columns
        return alike and type(d) is int and d == rows.width
    if type(rows) in FRAMED:  # its own clip holds for any centre and any extent
        return not whole.center and rows.bits == whole.bits and type(d) is int and d == public.d == len(rows.centre)
    if type(d) is not int or d != public.d:
        return False
    grids = (rows.inner, rows.outer) if type(rows) is Annulus else (rows,)
    return all(
        type(grid) is Grid and (grid.bits, grid.center) == (whole.bits, whole.center) and grid.row_norm <= whole.row_norm
        for grid in grids
    )


class Measure(Question):
    """Integers that one row can move only so far: what noise is added to."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Part, ...]:
        """The runs of its entries, in storage order."""

    @property
    def size(self) -> int:
        """How many integers its answer has."""
        return sum(part.size for part in self.parts)

    @property
    @abstractmethod
    def unit_bits(self) -> int:
        """One step of the integers is 2⁻ᵘⁿⁱᵗ⁻ᵇⁱᵗˢ in the encoded rows' units."""

    @abstractmethod
    def sensitivity_squared(self, neighbors: str) -> int:
        """Return the largest Σ weight·(difference)² between neighbours."""

    @abstractmethod
    def sensitivity_l1(self, neighbors: str) -> Fraction:
        """Return a bound on Σ |difference| between neighbours, rounded up."""


class Summable(Protocol):
    """A sum over rows of a map into integers. Merging is ``+``, modulo 2⁶⁴."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def max_block(self) -> int:
        """How many rows `of` may be given at a time."""
        ...

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of what `of` returns."""
        ...

    def of(self, rows: Rows, *, scratch: bool = False) -> Integers:
        """Return the sum over a block of raw rows; ``scratch`` ones may be overwritten."""
        ...

    def entries(self, total: Integers) -> Integers:
        """Return the entries of a sum of blocks in storage order."""
        ...
