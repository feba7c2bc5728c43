"""Which of some public radii a row is longer than: exactly, for any floats, whatever block the row is in.

Radii are a geometric sequence, so a logarithm says where a squared norm lies. Floats decide where they are sure: adding
d ≤ 2¹⁵ squares in any order, with or without fused operations, errs by less than d·2⁻⁵² ≤ 2⁻³⁷ of the sum (squares that
underflow matter only below 1e-300), so a row is unsure where its computed square is not clearly between its two
neighbouring bounds; there exact integers decide. Bounds are put a little off the round numbers that data like.
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.rows.grid import batched, squared_norms

SURE = 2.0**-36
OFFSET = 1 + 2.0**-30
"""Radii are larger by half of this, so that rows of norm 1/2, 1/4, ... are clearly inside and need no integers."""

LIMB = 18  # bits: three limbs hold a float's digits, and their products, added over 2¹⁵ columns, stay below 2⁵³


def longer_than(rows: NDArray[np.float64], radii: NDArray[np.float64], per_octave: int) -> NDArray[np.int64]:
    """Count for each row how many of the radii, ``per_octave`` to a factor of two, ascending, it is longer than.

    Entries that are not finite count as 0.
    """
    bounds = bounds_of(radii)
    columnar = rows.flags.f_contiguous and not rows.flags.c_contiguous
    with np.errstate(all="ignore"):
        squares = squared_norms(rows, columnar)
        broken = batched(~np.isfinite(squares))
        squares[broken] = squared_norms(np.where(np.isfinite(rows[broken]), rows[broken], 0.0))
    longer, sure = by_squares(squares, bounds, per_octave)
    for row in np.flatnonzero(~sure):
        longer[row] = _exactly_longer(rows[row], bounds)
    return longer


def by_squares(
    squares: NDArray[np.float64], bounds: NDArray[np.float64], per_octave: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Count the bounds below each squared norm, added up by floats in any order, and say where that is sure."""
    with np.errstate(all="ignore"):
        place = (np.log2(squares) - np.log2(bounds[0])) * (per_octave / 2)
        longer = np.fmin(np.fmax(np.ceil(place), 0.0), len(bounds)).astype(np.int64)  # fmax has 0 for NaN
        below, above = np.append(-np.inf, bounds)[longer], np.append(bounds, np.inf)[longer]
        return longer, np.minimum(squares - below, above - squares) > SURE * squares


def bounds_of(radii: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what squared norms are compared with."""
    return radii**2 * OFFSET


def _exactly_longer(row: NDArray[np.float64], bounds: NDArray[np.float64]) -> int:
    """Count the bounds below a row's squared norm, without rounding.

    Entries are integers of 53 bits times powers of two. Those of one power are squared and added in limbs: few steps of Python,
    however many columns there are, so that such a row takes hardly longer than another.
    """
    parts, powers = np.frexp(row[np.isfinite(row)])
    digits = np.abs(np.ldexp(parts, 53)).astype(np.int64)
    limbs = np.stack([(digits >> (LIMB * place)) & (2**LIMB - 1) for place in range(3)]).astype(np.float64)
    square, least = 0, int(powers.min(initial=0))
    for power in np.unique(powers).tolist():
        among = limbs[:, powers == power]
        products = (among @ among.T).tolist()
        whole = sum(int(products[i][j]) << (LIMB * (i + j)) for i in range(3) for j in range(3))
        square += whole << (2 * (power - least))
    # a float is compared with a fraction exactly
    return bisect_left(bounds.tolist(), Fraction(square) * Fraction(2) ** (2 * (least - 53)))
