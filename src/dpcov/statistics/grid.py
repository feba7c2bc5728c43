"""From raw rows to integer rows of bounded norm: the clip that the sensitivities rest on.

A row's integers are a function of that row and of public numbers alone. Each step is elementwise and correctly
rounded (IEEE division, product, square root, rint), or an exact maximum, or a sum of integers below 2⁵³, which float64 adds
exactly in any order. So no block size, memory layout, thread count or vector unit can change them, and the final
inequality ‖z‖² ≤ 4ᵏ is checked on the integers themselves.

Every element goes through the same operations whatever its value; there is no branch on data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import check_real

DEFAULT_BITS = 16
MAX_FEATURES = 2**15
"""A second moment of so many columns fills 8 GB. Sums of d squares of at most 4ᵏ, k ≤ 16, stay below 2⁵³: exact."""

SHRINK = 1 - 2.0**-40
"""Makes a shrunk row end strictly inside the ball in spite of the roundings of the square root and the product."""

CHUNK = 2**17  # elements at a time, so that the dozen passes below stay in cache


@dataclass(frozen=True)
class Grid:
    """The public grid: rows are divided by ``row_norm``, rounded to multiples of 2⁻ᵇⁱᵗˢ and clipped to norm 1."""

    row_norm: float
    bits: int = DEFAULT_BITS

    def __post_init__(self) -> None:
        rule = "a finite number between 1e-150 and 1e150"
        hint = "use units in which rows have a sensible size"
        object.__setattr__(self, "row_norm", check_real("row_norm", self.row_norm, rule, 1e-150, 1e150, hint))
        check_real("bits", self.bits, "between 1 and 16", 1, DEFAULT_BITS, "16 is the default")

    @property
    def one(self) -> int:
        """The integer that stands for 1."""
        return 1 << self.bits

    def encode(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return integer rows z, held in float64, with ‖z‖² ≤ 4ᵇⁱᵗˢ, exactly, for any floats whatsoever."""
        z = np.empty(rows.shape)
        step = max(1, CHUNK // rows.shape[1])
        with np.errstate(all="ignore"):  # a caller's np.seterr(all="raise") must not turn a value into an exception
            for start in range(0, len(rows), step):
                chunk = z[start : start + step]
                chunk[:] = rows[start : start + step]
                self._round(chunk)
                shrink(chunk, self.one)
        return z

    def _round(self, z: NDArray[np.float64]) -> None:
        """Turn values into multiples of row_norm/2ᵏ, in place."""
        np.copyto(z, 0.0, where=~np.isfinite(z))
        # A row with an entry beyond row_norm is divided by that entry, so that 1e308 neither overflows nor loses its
        # direction; its norm stays at least 1, so the clip still meets it.
        peak = np.maximum.reduceat(np.abs(z).ravel(), np.arange(0, z.size, z.shape[1]))  # per row; faster than max(axis=1)
        np.multiply(z, (self.one / np.maximum(peak, self.row_norm))[:, None], out=z)
        np.rint(z, out=z)


def shrink(z: NDArray[np.float64], radius: int) -> None:
    """Scale integer rows towards zero, in place, until ‖z‖² ≤ radius² holds in integers."""
    norms = np.linalg.vecdot(z, z)
    factors = np.where(norms > radius**2, radius / np.sqrt(norms) * SHRINK, 1.0)
    np.multiply(z, factors[:, None], out=z)
    np.trunc(z, out=z)
    # Truncation cannot lengthen a row, so nothing is ever zeroed here; the sensitivity rests on this line all the same.
    z[~(np.linalg.vecdot(z, z) <= radius**2)] = 0.0
