"""From raw rows to integer rows of bounded norm: the clip that the sensitivities rest on.

A row's integers are a function of that row and of public numbers alone. Each step is elementwise and correctly
rounded (IEEE division, product, square root, rint), or an exact maximum, or a sum of integers below 2⁵³, which float64 adds
exactly in any order. So no block size, memory layout, thread count or vector unit can change them, and the final
inequality ‖z‖² ≤ 4ᵏ is checked on the integers themselves.

Centred grids put a constant in front: z = (a, √(1−a²)·x) with a = ½, so that one second moment holds n, Σx and Σxxᵀ. Only the
x part is shrunk, to ‖x‖² ≤ 4ᵏ − a²: shrinking z as a whole would make the constant depend on the row.

Every element goes through the same operations whatever its value; there is no branch on data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcov.centring import CONSTANT_BITS
from dpcov.errors import check_real

DEFAULT_BITS = 16
MAX_FEATURES = 2**15
"""A second moment of so many columns fills 8 GB. Sums of d squares of at most 4ᵏ, k ≤ 16, stay below 2⁵³: exact."""

SHRINK = 1 - 2.0**-40
"""Makes a shrunk row end strictly inside the ball in spite of the roundings of the square root and the product."""

CHUNK = 2**17  # elements at a time, so that the dozen passes below stay in cache


@dataclass(frozen=True)
class Grid:
    """The public grid: rows are divided by ``row_norm``, rounded to multiples of 2⁻ᵇⁱᵗˢ and clipped to norm 1.

    With ``center`` they get a constant first coordinate ½ and the rest is scaled by √¾.
    """

    row_norm: float
    bits: int = DEFAULT_BITS
    center: bool = False

    def __post_init__(self) -> None:
        rule = "a finite number between 1e-150 and 1e150"
        hint = "use units in which rows have a sensible size"
        object.__setattr__(self, "row_norm", check_real("row_norm", self.row_norm, rule, 1e-150, 1e150, hint))
        check_real("bits", self.bits, "between 1 and 16", 1, DEFAULT_BITS, "16 is the default")

    @property
    def one(self) -> int:
        """The integer that stands for 1."""
        return 1 << self.bits

    @property
    def constant(self) -> int:
        """The first coordinate of centred rows, a = ½; 0 where there is none."""
        return self.one >> CONSTANT_BITS if self.center else 0

    @property
    def radius_squared(self) -> int:
        """What ‖x‖² may be, in integers: 4ᵏ − a²."""
        return self.one**2 - self.constant**2

    def width(self, d: int) -> int:
        """Return how many coordinates a row of d columns has."""
        return d + self.center

    def encode(self, rows: NDArray[np.float64], *, scratch: bool = False) -> NDArray[np.float64]:
        """Return integer rows z, held in float64, with ‖z‖² ≤ 4ᵇⁱᵗˢ, exactly, for any floats whatsoever.

        Blocks stored column by column stay so: the layout changes the speed, never an integer. Only ``scratch`` is written to.
        """
        columnar = rows.flags.f_contiguous and not rows.flags.c_contiguous
        in_place = scratch and not self.center
        z = rows if in_place else np.empty((len(rows), self.width(rows.shape[1])), order="F" if columnar else "C")
        z[:, : self.center] = self.constant
        step = max(1, CHUNK // rows.shape[1])
        with np.errstate(all="ignore"):  # a caller's np.seterr(all="raise") must not turn a value into an exception
            for start in range(0, len(rows), step):
                x = z[start : start + step, self.center :]
                if not in_place:
                    x[:] = rows[start : start + step]
                self._round(x, columnar)
                shrink(x, self.radius_squared, columnar)
        return z

    def _round(self, x: NDArray[np.float64], columnar: bool) -> None:
        """Turn values into multiples of row_norm/2ᵏ (centred: row_norm/(√¾·2ᵏ)), in place."""
        np.copyto(x, 0.0, where=~np.isfinite(x))
        # A row with an entry beyond row_norm is divided by that entry, so that 1e308 neither overflows nor loses its
        # direction; its norm stays at least 1, so the clip still meets it.
        sizes = np.abs(x)  # per row; reduceat is faster than max(axis=1) where rows are contiguous
        peak = sizes.max(axis=1) if columnar else np.maximum.reduceat(sizes.ravel(), np.arange(0, x.size, x.shape[1]))
        radius = math.sqrt(self.radius_squared)
        np.multiply(x, (radius / np.maximum(peak, self.row_norm))[:, None], out=x)
        np.rint(x, out=x)


def shrink(x: NDArray[np.float64], radius_squared: int, columnar: bool) -> None:
    """Scale integer rows towards zero, in place, until ‖x‖² ≤ radius² holds in integers."""
    norms = _squared_norms(x, columnar)
    factors = np.where(norms > radius_squared, math.sqrt(radius_squared) / np.sqrt(norms) * SHRINK, 1.0)
    np.multiply(x, factors[:, None], out=x)
    np.trunc(x, out=x)
    # Truncation cannot lengthen a row, so nothing is ever zeroed here; the sensitivity rests on this line all the same.
    x[~(_squared_norms(x, columnar) <= radius_squared)] = 0.0


def _squared_norms(x: NDArray[np.float64], columnar: bool) -> NDArray[np.float64]:
    """Add up squares of integers, exactly, the way that suits the layout."""
    return np.asarray(np.einsum("ij,ij->i", x, x) if columnar else np.linalg.vecdot(x, x))
