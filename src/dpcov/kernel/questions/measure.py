"""What a statistic is: integers that one row can move only so far, and sums over rows that make them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Part:
    """A run of entries that share a weight in the squared distance Σ weight·(difference)²."""

    name: str
    weight: int
    size: int


class Measure(Protocol):
    """Integers that one row can move only so far: what noise is calibrated to."""

    @property
    def name(self) -> str:
        """What a record calls it."""
        ...

    @property
    def parts(self) -> tuple[Part, ...]:
        """The runs of its entries, in storage order."""
        ...

    @property
    def unit_bits(self) -> int:
        """One step of the integers is 2⁻ᵘⁿⁱᵗ⁻ᵇⁱᵗˢ in the encoded rows' units."""
        ...

    def sensitivity_squared(self, neighbors: str) -> int:
        """Return the largest Σ weight·(difference)² between neighbours."""
        ...

    def sensitivity_l1(self, neighbors: str) -> Fraction:
        """Return a bound on Σ |difference| between neighbours, rounded up."""
        ...


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


class Statistic(Measure, Summable, Protocol):
    """A sum over rows of a *bounded* map: it brings its sensitivity."""
