"""From raw rows to integer rows of bounded norm: the clip that the sensitivities rest on.

A row's integers are a function of that row and of public numbers alone. Each step is elementwise and correctly
rounded (IEEE division, product, square root, rint), or an exact maximum, or a sum of integers below 2⁵³, which float64 adds
exactly in any order. So no block size, memory layout, thread count or vector unit can change them, and the final
inequality ‖z‖² ≤ 4ᵏ is checked on the integers themselves.

Centred grids put a constant in front: z = (a, √(1−a²)·x) with a = ½, so that one second moment holds n, Σx and Σxxᵀ. Only the
x part is shrunk, to ‖x‖² ≤ 4ᵏ − a²: shrinking z as a whole would make the constant depend on the row.

Most rows are shorter than the radius: rounding is all they need. Longer ones are scaled back, together with enough of the
former that their number is a multiple of a public batch: scaling leaves those as they are, so it is a matter of time only. What
time may tell is said in docs/guarantee.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, check_real, shown
from dpcov.kernel.rows.centring import CONSTANT_BITS

DEFAULT_BITS = 16
MAX_FEATURES = 2**15
"""A second moment of so many columns fills 8 GB. Sums of d squares of at most 4ᵏ, k ≤ 16, stay below 2⁵³: exact."""

SHRINK = 1 - 2.0**-40
"""Makes a shrunk row end strictly inside the ball in spite of the roundings of the square root and the product."""

LARGEST_ROW_NORM, SMALLEST_ROW_NORM, SMALLEST_RADIUS = 1e150, 1e-150, 9e-154
"""Of rows, and of rows clipped below: squares stay ordinary floats. Ten octaves lie between, for private clipping."""

SUM_BITS = 62
"""Exact sums of squares stay below 2⁶²: one bit of int64 is left for the noise, and one for the sign."""

MOST_ROWS = 2**46  # for which there is a grid: of 8 bits

CHUNK = 2**18  # elements at a time, so that the passes below stay in cache
BATCHES = 32  # per block: rows that go the long way are counted in so many steps

WILD = 2.0**52
"""Sums of squares below it are exact, in any order. Rows beyond it, and rows with entries that are not finite, are rare."""


def most_rows(bits: int) -> int:
    """Return how many rows of norm 1 on a grid of so many bits have an exact second moment."""
    return 1 << (SUM_BITS - 2 * bits)


def bits_for(rows: int) -> int:
    """Return the bits of the finest grid on which so many rows have an exact second moment."""
    return min(DEFAULT_BITS, (SUM_BITS - (rows - 1).bit_length()) // 2)


class Longer(NamedTuple):
    """The rows of a block that were longer than the radius, and some others: their integers before, and norm²."""

    rows: NDArray[np.float64]
    norms: NDArray[np.float64]
    far: NDArray[np.bool_]
    """Rows so far outside that only their direction is kept."""

    places: NDArray[np.intp]
    """Which rows of the block they are."""


@dataclass(frozen=True)
class Grid:
    """The public grid: rows are divided by ``row_norm``, rounded to multiples of 2⁻ᵇⁱᵗˢ and clipped to norm 1.

    With ``center`` they get a constant first coordinate ½ and the rest is scaled by √¾.
    """

    row_norm: float
    bits: int = DEFAULT_BITS
    center: bool = False
    finest: ClassVar[int] = DEFAULT_BITS

    def __post_init__(self) -> None:
        object.__setattr__(self, "row_norm", checked_row_norm(self.row_norm, SMALLEST_RADIUS))
        if type(self.bits) is not int or type(self.center) is not bool:  # NumPy's integers would wrap in sensitivities
            raise ParameterError(
                "bits must be an int and center True or False, got other types. Hint: 16 and False are the defaults."
            )
        if not 1 <= self.bits <= self.finest:
            raise ParameterError(f"bits must be between 1 and {self.finest}, got {shown(self.bits)}. Hint: 16 is the default.")

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

    @property
    def reach(self) -> int:
        """What ‖z‖² may be, the constant included: 4ᵏ."""
        return self.one**2

    def clipped(self, radius: float) -> Grid:
        """Return the grid of rows clipped at this part of row_norm."""
        return replace(self, row_norm=self.row_norm * radius)

    def width(self, d: int) -> int:
        """Return how many coordinates a row of d columns has."""
        return d + self.center

    def placed(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rows themselves: they are seen from 0."""
        return rows

    def encode(self, rows: NDArray[np.float64], *, scratch: bool = False) -> NDArray[np.float64]:
        """Return integer rows z, held in float64, with ‖z‖² ≤ 4ᵇⁱᵗˢ, exactly, for any floats whatsoever.

        Blocks stored column by column stay so: the layout changes the speed, never an integer. Only ``scratch`` is written to.
        """
        return self.encode_both(rows, scratch, lambda _: None)

    def encode_both(self, rows: NDArray[np.float64], scratch: bool, see: Callable[[Longer], None]) -> NDArray[np.float64]:
        """Encode, and let ``see`` have the longer rows as they were before they were clipped."""
        columnar = rows.flags.f_contiguous and not rows.flags.c_contiguous
        order: Literal["F", "C"] = "F" if columnar else "C"
        in_place = scratch and not self.center
        z = rows if in_place else np.empty((len(rows), self.width(rows.shape[1])), order=order)
        z[:, : self.center] = self.constant
        x, norms, far = z[:, self.center :], np.empty(len(rows)), np.zeros(len(rows), dtype=np.bool_)
        step = max(1, CHUNK // rows.shape[1])
        space = np.empty((min(step, len(rows)), rows.shape[1]), order=order) if in_place else None
        with np.errstate(all="ignore"):  # a caller's np.seterr(all="raise") must not turn a value into an exception
            for start in range(0, len(rows), step):
                part = slice(start, start + step)
                out = x[part] if space is None else space[: len(x[part])]
                self._round(rows[part], out, norms[part], far[part], columnar)
                if space is not None:
                    x[part] = out
            longer = batched((norms > self.radius_squared) | far)
            found = Longer(x[longer], norms[longer], far[longer], longer)
            see(found)
            x[longer] = shrunk(found.rows, found.norms, self.radius_squared)
        return z

    def _round(
        self,
        rows: NDArray[np.float64],
        z: NDArray[np.float64],
        norms: NDArray[np.float64],
        far: NDArray[np.bool_],
        columnar: bool,
    ) -> None:
        """Write multiples of row_norm/2ᵏ (centred: row_norm/(√¾·2ᵏ)), their squared norms, and which are far outside."""
        np.multiply(rows, math.sqrt(self.radius_squared) / self.row_norm, out=z)
        np.rint(z, out=z)
        norms[:] = squared_norms(z, columnar)  # exact below 2⁵², and beyond it whatever the order; NaN stays NaN
        wild = np.flatnonzero(~(norms < WILD))
        if len(wild):
            z[wild], norms[wild], far[wild] = self._tamed(rows[wild])

    def _tamed(self, x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
        """Return wild rows as integers, their squared norms, and whether they are far outside.

        Entries that are not finite are 0. Where the rest is still beyond exact sums, its largest entry becomes the radius, so
        that 1e308 neither overflows nor loses its direction.
        """
        x = np.where(np.isfinite(x), x, 0.0)
        z = np.rint(x * (math.sqrt(self.radius_squared) / self.row_norm))
        far = ~(squared_norms(z) < WILD)
        scale = math.sqrt(self.radius_squared) / np.abs(x[far]).max(axis=1, initial=0.0)
        z[far] = np.rint(x[far] * scale[:, None])
        return z, squared_norms(z), far


def checked_row_norm(row_norm: float, least: float = SMALLEST_ROW_NORM, name: str = "row_norm") -> float:
    """Return a bound on the norm of rows, or refuse one whose squares are no ordinary floats."""
    if type(row_norm) is float and least <= row_norm <= LARGEST_ROW_NORM:  # as nearly always, without writing a rule for it
        return row_norm
    rule, hint = f"a finite number between {least:g} and 1e150", "use units in which rows have a sensible size"
    return check_real(name, row_norm, rule, least, LARGEST_ROW_NORM, hint)


def shrunk(x: NDArray[np.float64], norms: NDArray[np.float64], radius_squared: int) -> NDArray[np.float64]:
    """Scale integer rows of these squared norms towards zero, in place, until ‖x‖² ≤ radius² holds in integers."""
    scaled(x, shrinkage(norms, radius_squared), radius_squared, out=x)
    return x


def shrinkage(norms: NDArray[np.float64], radius_squared: int) -> NDArray[np.float64]:
    """Return what brings integer rows of these squared norms into the ball, and leaves those that are in it."""
    return np.where(norms > radius_squared, math.sqrt(radius_squared) / np.sqrt(norms) * SHRINK, 1.0)


def scaled(x: NDArray[np.float64], factors: NDArray[np.float64], radius_squared: int, out: NDArray[np.float64]) -> None:
    """Multiply integer rows, cut towards zero, and make sure of ‖x‖² ≤ radius² in integers."""
    np.multiply(x, factors[:, None], out=out)
    np.trunc(out, out=out)
    # Truncation cannot lengthen a row, so nothing is ever zeroed here; the sensitivity rests on this line all the same.
    out[~(squared_norms(out) <= radius_squared)] = 0.0


def squared_norms(x: NDArray[np.float64], columnar: bool = False) -> NDArray[np.float64]:
    """Add up squares the way that suits the layout: exactly, where they are integers with a sum below 2⁵³."""
    return np.asarray(np.einsum("ij,ij->i", x, x) if columnar else np.linalg.vecdot(x, x))


def batched(marked: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return where the marked rows are, and some of the others, so that their number is a multiple of a public batch."""
    batch = max(1, len(marked) // BATCHES)
    found = np.flatnonzero(marked)
    missing = min(-len(found) % batch, len(marked) - len(found))
    return np.concatenate([found, np.flatnonzero(~marked)[:missing]]) if missing else found
