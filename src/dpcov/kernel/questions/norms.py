r"""How long the rows are: counts by norm, and the sum of squared norms.

Radii are public, τₖ = row_norm·2^{−k/q}, q to the octave. Each row falls into one bin, τₖ₊₁ < ‖x‖ ≤ τₖ, so a histogram moves by
1 in two bins where a row is replaced and in one where it is added; every count of rows outside a radius moves by at most 1.

======================  =========================  ==========  ==========
statistic               distance                   replace     add-remove
======================  =========================  ==========  ==========
`Norms`                 L2², L1                    2           1
rows outside a radius   absolute, all one way      1           1
`Trace`                 absolute                   R²          R²
======================  =========================  ==========  ==========

A bin is a function of its row alone (`lengths`). Norms are seen from 0, or from the centre of a `Ball`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError
from dpcov.kernel.questions.measure import Integers, Part, Rows
from dpcov.kernel.questions.moments import ADD_REMOVE, EXACT, REPLACE, CountedRows, SumOverRows
from dpcov.kernel.rows.frames import Ball, Ellipsoid
from dpcov.kernel.rows.grid import SMALLEST_RADIUS, Grid, squared_norms
from dpcov.kernel.rows.lengths import longer_than
from dpcov.kernel.rows.standard import Standard

if TYPE_CHECKING:
    from dpcov.kernel.questions.filing import Reading, Writing
    from dpcov.strict_json import Fields


@dataclass(frozen=True)
class Norms(CountedRows):
    """How many rows there are in each bin of the norm: ``per_octave`` bins to a factor of two, over ``octaves``."""

    grid: Grid | Ball | Standard
    d: int
    per_octave: int
    octaves: int
    name = "norms"
    serves_people: ClassVar[bool] = True
    shapes: ClassVar[tuple[type, ...]] = (Grid, Ball, Standard)

    def __post_init__(self) -> None:
        whole = type(self.per_octave) is int and type(self.octaves) is int
        if not whole or not 1 <= self.per_octave <= 1024 or not 1 <= self.octaves <= 2048:
            raise ParameterError(
                "norms must have 1 to 1024 bins in each of 1 to 2048 octaves, got more or fewer. Hint: 16 and 10 are usual."
            )
        if self.grid.row_norm * 2.0**-self.octaves < SMALLEST_RADIUS:
            raise ParameterError(
                "norms must have radii of at least 9e-154, got smaller ones. Hint: use units in which rows are larger."
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """A count for each bin."""
        return (self.last + 1,)

    @property
    def last(self) -> int:
        """The number of the last bin, of all rows shorter than every radius."""
        return self.per_octave * self.octaves

    @property
    def radii(self) -> NDArray[np.float64]:
        """τ₀ = 1 and the shorter ones, in units of row_norm."""
        return np.exp2(-np.arange(self.last + 1) / self.per_octave)

    @property
    def ascending(self) -> NDArray[np.float64]:
        """The radii that a row may be longer than, in its own units, the shortest first."""
        return self.radii[:0:-1] * self.grid.row_norm

    @property
    def parts(self) -> tuple[Part, ...]:
        """One run of counts."""
        return (Part("bins", 1, self.last + 1),)

    def of(self, rows: Rows, *, scratch: bool = False) -> Integers:  # noqa: ARG002
        """Count the block's rows by bin."""
        if self.aside is None:
            return np.bincount(self.bins(rows), minlength=self.last + 1).astype(np.int64)
        features, shares = self.aside.apart(rows)
        return np.bincount(self.bins(features), self.aside.counted(shares), self.last + 1).astype(np.int64)

    def entries(self, total: Integers) -> Integers:
        """Return the counts."""
        return total

    def bins(self, rows: Rows) -> NDArray[np.int64]:
        """Return each row's bin: how many of τ₁, τ₂, … it is not longer than."""
        radii = self.ascending
        if isinstance(self.grid, Standard):  # each square is a sum over cells in one order: a function of its row alone
            return np.asarray(self.last - np.searchsorted(radii**2, self.grid.units.squares(rows), side="left"))
        return np.asarray(self.last - longer_than(self.grid.placed(rows), radii, self.per_octave))

    def to_json(self, writing: Writing) -> dict[str, Any]:
        """Store the rows and the bins."""
        return {"rows": writing.rows(self.grid), "per octave": self.per_octave, "octaves": self.octaves}

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:
        """Read the rows and the bins."""
        rows = reading.rows(fields.take("rows", dict))
        if type(rows) not in cls.shapes:
            raise ParameterError(
                "norms must be of rows in a grid, a ball or private units, got rows of another shape. Hint: use Grid or Ball."
            )
        return cls(rows, reading.coordinates(rows), fields.take("per octave", int), fields.take("octaves", int))  # type: ignore[arg-type]

    def sensitivity_squared(self, neighbors: str) -> int:
        """One bin loses a row and another gains one; or one bin changes."""
        return {REPLACE: 2, ADD_REMOVE: 1}[neighbors] * self.person**2

    def sensitivity_l1(self, neighbors: str) -> Fraction:
        """One bin loses a row and another gains one; or one bin changes."""
        return Fraction({REPLACE: 2, ADD_REMOVE: 1}[neighbors] * self.person)


@dataclass(frozen=True)
class Trace(SumOverRows):
    """Σ ‖z‖² over the integer rows."""

    grid: Grid | Ball | Ellipsoid
    name = "trace"
    serves_people: ClassVar[bool] = True
    shape = (1,)
    shapes: ClassVar[tuple[type, ...]] = (Grid, Ball, Ellipsoid)

    @property
    def unit_bits(self) -> int:
        """Squares of coordinates are multiples of 4⁻ᵏ; of people of 4⁻ᵏ⁻ᵉ."""
        return 2 * (self.grid.bits + self.finer)

    @property
    def max_block(self) -> int:
        """Partial sums stay exact: ‖z‖² ≤ 4ᵏ."""
        return EXACT // self.scaled_one**2

    @property
    def parts(self) -> tuple[Part, ...]:
        """One number."""
        return (Part("trace", 1, 1),)

    def of(self, rows: Rows, *, scratch: bool = False) -> Integers:
        """Add up the squared norms of the block's integer rows."""
        return np.array([squared_norms(self.scaled(rows, scratch=scratch)).sum()]).astype(np.int64)

    def entries(self, total: Integers) -> Integers:
        """Return the one number."""
        return total

    def sensitivity_squared(self, neighbors: str) -> int:  # noqa: ARG002 - the same in both relations
        """0 ≤ ‖z‖² ≤ R²."""
        return self.scaled_reach**2

    def sensitivity_l1(self, neighbors: str) -> Fraction:  # noqa: ARG002
        """0 ≤ ‖z‖² ≤ R²."""
        return Fraction(self.scaled_reach)
