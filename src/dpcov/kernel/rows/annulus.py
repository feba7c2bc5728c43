"""What clipping removed: rows between two radii, shortened to what lies outside the inner one.

A row x with τ < ‖x‖ becomes x/‖x‖·√(min(‖x‖, u)² − τ²), the others nothing, so that the second moment of the clipped rows plus
that of these is the second moment of the rows clipped at u. Integers of norm² at most 4ᵏ − T, with T = ⌊4ᵏτ²/u²⌋. Which rows
are longer than τ is decided by their integers on the grid of τ, so both moments are made in one go.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError
from dpcov.kernel.rows.grid import SHRINK, Grid, Longer, scaled


@dataclass(frozen=True)
class Annulus:
    """The part of rows outside ``inner``, on the grid of ``outer``."""

    inner: Grid
    outer: Grid

    def __post_init__(self) -> None:
        if self.inner.center or self.outer.center or not self.inner.row_norm < self.outer.row_norm:
            raise ParameterError(
                "annulus must lie between two radii of uncentred rows, got something else. Hint: choose inner below outer."
            )

    @property
    def row_norm(self) -> float:
        """The outer radius: what the integer R stands for."""
        return self.outer.row_norm

    @property
    def bits(self) -> int:
        """Those of the outer grid."""
        return self.outer.bits

    @property
    def one(self) -> int:
        """The integer that stands for the outer radius."""
        return self.outer.one

    @property
    def center(self) -> bool:
        """Rows have no constant coordinate."""
        return False

    @property
    def removed(self) -> int:
        """T, the squared inner radius in integers of the outer grid, rounded down."""
        ratio = Fraction(self.inner.row_norm) / Fraction(self.outer.row_norm)
        return int(self.one**2 * ratio**2)

    @property
    def reach(self) -> int:
        """What ‖z‖² may be: 4ᵏ − T."""
        return self.one**2 - self.removed

    def width(self, d: int) -> int:
        """Return how many coordinates a row of d columns has."""
        return d

    def encode(self, rows: NDArray[np.float64], *, scratch: bool = False) -> NDArray[np.float64]:
        """Return the integer rows, only those that may not be zero, with ‖z‖² ≤ 4ᵏ − T."""
        return self.encode_both(rows, scratch=scratch)[1]

    def encode_both(
        self, rows: NDArray[np.float64], *, scratch: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the rows clipped at the inner radius, and what that took from them."""
        return self.encode_parts(rows, scratch=scratch)[:2]

    def encode_parts(
        self, rows: NDArray[np.float64], *, scratch: bool = False
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]:
        """Return the same, and which rows it was taken from."""
        taken: list[tuple[NDArray[np.float64], NDArray[np.intp]]] = []
        clipped = self.inner.encode_both(rows, scratch, lambda longer: taken.append((self._beyond(longer), longer.places)))
        return clipped, *taken[0]

    def _beyond(self, longer: Longer) -> NDArray[np.float64]:
        """Shorten rows of the inner grid to √(min(‖x‖, u)² − τ²), in units of the outer one."""
        place = np.empty_like(longer.rows)
        scaled(longer.rows, self.shortening(longer.norms, longer.far), self.reach, out=place)
        return place

    @property
    def ratio(self) -> float:
        """τ²/u²."""
        return (self.inner.row_norm / self.outer.row_norm) ** 2

    def shortening(self, norms: NDArray[np.float64], far: NDArray[np.bool_] | Literal[False]) -> NDArray[np.float64]:
        """Return what shortens integer rows of these squared norms, on the grid of the inner radius, to their part outside."""
        radius = float(self.one**2)
        length = np.where(far, radius, np.minimum(norms * self.ratio, radius)) - radius * self.ratio
        factors = np.sqrt(np.maximum(length, 0.0) / np.maximum(norms, 1.0)) * SHRINK
        return np.where((norms > self.inner.radius_squared) | far, factors, 0.0)
