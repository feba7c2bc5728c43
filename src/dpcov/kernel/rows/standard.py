r"""Rows of a table in private units: each column from its own centre, in its own deviation; levels as public vectors.

A cell of numbers x, clipped to a public range, becomes z = (x − centre)/deviation; a missing one is the centre, z = 0. The
levels of a column of categories are k groups with shares p that sum to 1 and public divisors s. As levels add up to 1, k groups
are k − 1 coordinates: group g becomes

.. math:: z = w\,Q^T \mathrm{diag}(1/s)\,(e_g - p), \qquad w = ((k - 1)/k)^{1/4},

Q an orthonormal basis of what is orthogonal to s; a missing cell is z = 0. It is a table of public vectors, made once.

Each cell's coordinates are a function of that cell and of public numbers, elementwise or looked up. The row (a, z), a the
public constant in front, is then clipped *as a whole* to the radius on the plain grid: sensitivities rest on that clip alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError
from dpcov.kernel.rows.columns import Columns
from dpcov.kernel.rows.grid import DEFAULT_BITS, Grid, checked_row_norm

Floats = NDArray[np.float64]

LEAST, MOST = 1e-12, 1e12
"""Deviations, divisors and shares are between: coordinates then are ordinary numbers."""


@dataclass(frozen=True)
class NumericUnits:
    """A range of encoded values, a centre within and a deviation: 0 for a constant column, which has no coordinate."""

    low: float
    high: float
    centre: float
    deviation: float

    def __post_init__(self) -> None:
        known = all(type(x) is float and math.isfinite(x) for x in (self.low, self.high, self.centre, self.deviation))
        inside = known and -1 <= self.low <= self.centre <= self.high <= 1 and self.low < self.high
        if not inside or not (self.deviation == 0 or LEAST <= self.deviation <= MOST):
            raise ParameterError(
                "units must be a range, a centre inside it and a deviation, got something else. Hint: low < high."
            )


@dataclass(frozen=True)
class LevelUnits:
    """Which group each level belongs to, and the share and the divisor of each group.

    Where there is one more share than groups, it is that of cells which are none of the levels: they are a group, too.
    """

    groups: tuple[int, ...]
    shares: tuple[float, ...]
    divisors: tuple[float, ...]

    def __post_init__(self) -> None:
        ints = type(self.groups) is tuple and all(type(group) is int for group in self.groups)
        floats = all(type(part) is tuple and all(type(x) is float for x in part) for part in (self.shares, self.divisors))
        sized = ints and floats and len(self.shares) == len(self.divisors) <= len(self.groups) + 1
        found = set(self.groups) if sized else set()
        ranked = found == set(range(len(found))) and len(self.shares) - len(found) in (0, 1)
        if not sized or not ranked or not all(0 <= p <= 1 for p in self.shares):
            raise ParameterError(
                "groups of levels must have a share each, from 0 to 1, got something else. Hint: groups count from 0."
            )
        if abs(sum(self.shares) - 1) > 1e-9 or not all(LEAST <= s <= MOST for s in self.divisors):
            raise ParameterError(
                "shares of levels must sum to 1, with positive divisors, got something else. Hint: divide shares by their sum."
            )

    @property
    def size(self) -> int:
        """How many coordinates there are: one fewer than groups."""
        return len(self.shares) - 1

    @cached_property
    def _mirror(self) -> Floats:
        """The vector of a reflection that moves s onto the first axis."""
        norm = math.sqrt(math.fsum(s * s for s in self.divisors))
        mirror = np.array(self.divisors) / norm
        mirror[0] += 1.0  # s is positive: no cancellation
        return mirror

    @cached_property
    def basis(self) -> Floats:
        """Q, a row for each group: the last columns of the reflection."""
        reflection = np.eye(len(self.divisors)) - np.outer(self._mirror, self._mirror) / self._mirror[0]
        return np.asarray(reflection[:, 1:])

    @property
    def stretch(self) -> float:
        """w: a column of many levels counts a little less."""
        return math.sqrt(math.sqrt((len(self.shares) - 1) / len(self.shares)))

    @cached_property
    def vectors(self) -> Floats:
        """The coordinates of each level, and at last those of a cell that is none of them.

        Elementwise, but for one sum that is rounded once: the table is the same bit for bit wherever and whenever it is made,
        as products of matrices in floats are not. Otherwise all rows of a level could differ between two runs.
        """
        inward, shares = 1 / np.array(self.divisors), np.array(self.shares)
        middle = math.fsum((shares * inward * self._mirror).tolist())
        along = inward * self._mirror - middle  # (e_g − p)/s times the mirror
        plain = (np.eye(len(shares)) - shares) * inward
        of_group = (self.stretch * (plain - np.outer(along, self._mirror) / self._mirror[0]))[:, 1:]
        none = of_group[-1:] if len(self.shares) > max(self.groups) + 1 else np.zeros((1, self.size))
        return np.concatenate([of_group[list(self.groups)], none])

    @cached_property
    def lengths(self) -> Floats:
        """The squared norms of `vectors`, coordinate by coordinate: one order of addition wherever it is."""
        total = np.zeros(len(self.groups) + 1)
        for coordinate in self.vectors.T:
            total += coordinate * coordinate
        return total

    @cached_property
    def back(self) -> Floats:
        """Return the matrix that takes coordinates to groups: 0 or 1 less their shares."""
        return np.asarray(np.array(self.divisors)[:, None] * self.basis / self.stretch) if self.size else np.zeros((1, 0))


@dataclass(frozen=True)
class Units:
    """The units of each column: `Columns` in the order of each kind."""

    columns: Columns
    numeric: tuple[NumericUnits, ...]
    levels: tuple[LevelUnits, ...]

    def __post_init__(self) -> None:
        known = type(self.columns) is Columns and type(self.numeric) is tuple and type(self.levels) is tuple
        known = (
            known and all(type(one) is NumericUnits for one in self.numeric) and all(type(o) is LevelUnits for o in self.levels)
        )
        fits = known and len(self.numeric) == len(self.columns.numeric) and len(self.levels) == len(self.columns.levels)
        if not fits or not all(len(o.groups) == n for o, (_, n) in zip(self.levels, self.columns.levels, strict=True)):
            raise ParameterError(
                "units must hold one entry for each column, got more or fewer. Hint: every level needs a group."
            )
        if self.size < 1:
            raise ParameterError("units must leave at least one column that varies, got none. Hint: all columns are constant.")

    @property
    def size(self) -> int:
        """How many coordinates z has."""
        return sum(one.deviation > 0 for one in self.numeric) + sum(one.size for one in self.levels)

    def placed(self, rows: Floats, corner: float) -> Floats:
        """Return (corner, z) for each row by column; without a corner z alone."""
        front = int(corner > 0)
        placed = np.empty((front + self.size, len(rows)))
        placed[:front] = corner
        place = front
        for z in self._numbers(rows):
            placed[place] = z
            place += 1
        for column, levels in enumerate(self.levels):
            if levels.size:
                positions = self.columns.positions(rows, column)
                np.take(levels.vectors.T, positions, axis=1, out=placed[place : place + levels.size], mode="clip")
                place += levels.size
        return placed.T

    def squares(self, rows: Floats) -> Floats:
        """Return ‖z‖² for each row by column, cell by cell."""
        total = np.zeros(len(rows))
        for z in self._numbers(rows):
            total += z * z
        for column, levels in enumerate(self.levels):
            if levels.size:
                total += levels.lengths[self.columns.positions(rows, column)]
        return total

    def _numbers(self, rows: Floats) -> Iterator[Floats]:
        """Yield the coordinate of each column of numbers that is not constant."""
        with np.errstate(all="ignore"):
            for (column, _), units in zip(self.columns.numeric, self.numeric, strict=True):
                if units.deviation > 0:
                    z = (np.clip(rows[:, column], units.low, units.high) - units.centre) * (1 / units.deviation)
                    yield np.where(np.isfinite(z), z, 0.0)


@dataclass(frozen=True)
class Standard:
    """Rows in private units, with a constant in front unless it is 0, clipped as a whole to the radius."""

    units: Units
    corner: float
    row_norm: float
    bits: int = DEFAULT_BITS
    center = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "row_norm", checked_row_norm(self.row_norm))
        if type(self.units) is not Units or type(self.corner) is not float or not 0 <= self.corner < self.row_norm:
            raise ParameterError(
                "corner must be 0 or more and below the radius, got something else. Hint: a third of the radius."
            )
        _ = self._grid  # refuses bits that no grid has

    @property
    def one(self) -> int:
        """The integer that stands for 1."""
        return 1 << self.bits

    @property
    def reach(self) -> int:
        """What ‖z‖² may be, the constant included, in integers."""
        return self.one**2

    @property
    def width(self) -> int:
        """How many coordinates a row has."""
        return self.units.size + (self.corner > 0)

    def placed(self, rows: Floats) -> Floats:
        """Return the rows in private units."""
        return self.units.placed(rows, self.corner)

    def encode(self, rows: Floats, *, scratch: bool = False) -> Floats:  # noqa: ARG002 - placed rows are a new array
        """Return integer rows with ‖z‖² ≤ 4ᵏ."""
        return self._grid.encode(self.placed(rows), scratch=True)

    @property
    def _grid(self) -> Grid:
        return Grid(self.row_norm, self.bits)
