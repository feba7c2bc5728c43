r"""Rows as seen from a public centre: clipped to a ball, a box or an ellipsoid, as integers.

Centre and shape were known before the question: they are part of it, and a `Frame` of them leads back to the units of rows.

As on the plain grid, a row's integers are a function of that row and of public numbers alone, and the inequality that the
sensitivities rest on is checked on the integers themselves.

A float product ``rows @ W.T`` would not do: BLAS adds in an order that depends on the block: another row could change the last
bits of this one. `Ellipsoid` therefore works on integers from the start:

1. u = (x − centre)·s, elementwise, with powers of two s, so that the ellipsoid just fits into the box [−1, 1]ᵈ;
2. z, the integers of u on a fine grid of k₀ bits, clipped to a ball around the box. Rows outside it are outside the ellipsoid:
   they are moved along their ray, and end on the same point of its surface;
3. y = M z, with M the whitener in integers of at most 26 bits. Every sum is an integer, and
   Σ |Mᵢⱼzⱼ| ≤ ‖Mᵢ‖·‖z‖ ≤ √d·2²⁶·2^{k₀} ≤ 2⁵³ because 2k₀ + log₂ d ≤ 53: exact in float64, in any order;
4. y is scaled by a power of two, rounded, and clipped to norm 1 on the plain grid: ‖y‖² ≤ 4ᵏ in integers.

The record holds the whitener that M stands for, not the one that was asked for. Proofs: docs/mechanisms/coinpress.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, shown
from dpcov.kernel.rows.grid import DEFAULT_BITS, Grid, checked_row_norm

Floats = NDArray[np.float64]

WHITENER_BITS = 26
EXACT_BITS = 53
ROUNDINGS = 8  # of a whitener, at most; 2 are the rule: the second changes nothing
LARGEST = 1e150
STEPS = Grid(2.0**DEFAULT_BITS)
"""The plain grid for rows that are integers already, of which 2¹⁶ stand for 1."""


@dataclass(frozen=True, eq=False)
class Frame:
    """Coordinates y of rows x, with ‖y‖ ≤ 1, or |yⱼ| ≤ 1 in a box.

    ``extent`` is the radius of a ball, y = (x − centre)/radius; the half widths of a box, the same for each column; or the
    whitener W of an ellipsoid, y = W(x − centre). ``deviations`` is a label: how many standard deviations a mechanism took the
    norm 1 to be, so that ``extent`` can be told from its guess of the covariance.
    """

    centre: Floats
    extent: Floats
    deviations: float = 1.0

    def __post_init__(self) -> None:
        self.centre.flags.writeable = self.extent.flags.writeable = False

    @property
    def kind(self) -> str:
        """One of "ball", "box" and "ellipsoid"."""
        return ("ball", "box", "ellipsoid")[self.extent.ndim]

    @property
    def unwhitener(self) -> Floats:
        """The matrix that leads back: x = centre + unwhitener·y."""
        if self.extent.ndim == 2:
            return np.asarray(np.linalg.inv(self.extent))
        return np.diag(np.broadcast_to(self.extent, self.centre.shape)).astype(np.float64)

    def point(self, y: Floats) -> Floats:
        """Return the row whose coordinates are y."""
        if self.extent.ndim == 2:
            return np.asarray(self.centre + np.linalg.solve(self.extent, y))
        return np.asarray(self.centre + self.extent * y)

    def shape(self, matrix: Floats) -> Floats:
        """Return, in the units of rows, a second moment or covariance of coordinates y, exactly symmetric."""
        back = self.unwhitener
        moved = back @ matrix @ back.T
        return np.asarray((moved + moved.T) / 2)


@dataclass(frozen=True)
class _Fine(Grid):
    """A finer grid for rows on their way to another; sums on it would not leave room for the noise."""

    finest: ClassVar[int] = EXACT_BITS // 2 - 2


class Framed:
    """What the three shapes share."""

    bits = DEFAULT_BITS
    one = STEPS.one
    center = False
    centre: tuple[float, ...]

    @property
    def reach(self) -> int:
        """What ‖z‖² may be, in integers."""
        return self.one**2

    @property
    def rounding(self) -> float:
        """How far a row inside can be from its integers, in units of norm 1: half a step in each coordinate."""
        return math.sqrt(len(self.centre)) / (2 * self.one)


@dataclass(frozen=True)
class Ball(Framed):
    """Rows clipped to a ball: z = (x − centre)/radius on the plain grid."""

    centre: tuple[float, ...]
    radius: float
    deviations: float = 1.0

    def __post_init__(self) -> None:
        _check_numbers("centre", self.centre)
        _check_deviations(self.deviations)
        object.__setattr__(self, "radius", checked_row_norm(self.radius))

    @property
    def row_norm(self) -> float:
        """The radius."""
        return self.radius

    @property
    def frame(self) -> Frame:
        """The public coordinates."""
        return Frame(np.array(self.centre), np.array(self.radius), self.deviations)

    def placed(self, rows: Floats) -> Floats:
        """Return the rows as seen from the centre."""
        with np.errstate(all="ignore"):
            return np.asarray(rows - np.array(self.centre))

    def encode(self, rows: Floats, *, scratch: bool = False) -> Floats:  # noqa: ARG002 - the difference is a new array
        """Return integer rows with ‖z‖² ≤ 4ᵏ; an entry that is missing counts as the centre's."""
        return Grid(self.radius).encode(self.placed(rows), scratch=True)


@dataclass(frozen=True)
class Box(Framed):
    """Rows clipped column by column: zⱼ = (xⱼ − centreⱼ)/halfⱼ on the plain grid, so ‖z‖² ≤ d·4ᵏ."""

    centre: tuple[float, ...]
    halves: tuple[float, ...]

    def __post_init__(self) -> None:
        _check_numbers("centre", self.centre)
        _check_numbers("halves", self.halves)
        if len(self.halves) != len(self.centre) or min(self.halves) < 1 / LARGEST:
            raise ParameterError(
                "halves must hold a positive number for each column, got something else. Hint: half the width of each."
            )

    @property
    def reach(self) -> int:
        """What ‖z‖² may be: 4ᵏ for each column."""
        return len(self.centre) * self.one**2

    @property
    def frame(self) -> Frame:
        """The public coordinates."""
        return Frame(np.array(self.centre), np.array(self.halves))

    def placed(self, rows: Floats) -> Floats:
        """Return the rows in half widths from the centre; an entry that is missing counts as the centre's."""
        with np.errstate(all="ignore"):
            y = (rows - np.array(self.centre)) / np.array(self.halves)
        return np.where(np.isfinite(rows), y, 0.0)

    def encode(self, rows: Floats, *, scratch: bool = False) -> Floats:  # noqa: ARG002 - the difference is a new array
        """Return integer rows with |zⱼ| ≤ 2ᵏ."""
        return np.asarray(np.rint(np.clip(self.placed(rows), -1.0, 1.0) * self.one))


@dataclass(frozen=True, eq=False)
class Ellipsoid(Framed):
    """Rows clipped to an ellipsoid: z = W(x − centre) on the plain grid, with ‖z‖ ≤ 1; see above."""

    centre: tuple[float, ...]
    whitener: Floats
    deviations: float = 1.0
    _scales: Floats = field(init=False, repr=False)
    _fine: _Fine = field(init=False, repr=False)
    _matrix: Floats = field(init=False, repr=False)
    _exponent: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        _check_numbers("centre", self.centre)
        _check_deviations(self.deviations)
        d = len(self.centre)
        wanted = self.whitener
        if type(wanted) is not np.ndarray or wanted.dtype != np.float64 or wanted.shape != (d, d):
            raise ParameterError(
                f"whitener must be a float64 array, {d} by {d}, got something else. Hint: the inverse root of a covariance."
            )
        columns = math.ceil(math.log2(d)) if d > 1 else 0
        fine = _Fine(2.0 ** ((columns + 1) // 2), min((EXACT_BITS - columns) // 2, _Fine.finest))
        unit = self.one * fine.row_norm / fine.one
        # Once is enough but for the rare matrix that rounding moves across a power of two, where integers of 26 bits get
        # coarser: what a file holds must be read as it was asked.
        for _ in range(ROUNDINGS):
            scales = np.ldexp(1.0, -np.frexp(_half_widths(wanted))[1])  # the ellipsoid's half widths become ½ to 1
            steps = wanted / scales * unit
            exponent = WHITENER_BITS - int(np.frexp(np.abs(steps).max())[1])
            matrix = np.rint(np.ldexp(steps, exponent))
            kept = np.ldexp(matrix, -exponent) * scales / unit
            if np.array_equal(kept, wanted):
                break
            wanted = kept
        _half_widths(kept)  # rounding must not have made it singular
        kept.flags.writeable = matrix.flags.writeable = scales.flags.writeable = False
        for name, value in (
            ("whitener", kept),
            ("_scales", scales),
            ("_fine", fine),
            ("_matrix", matrix),
            ("_exponent", exponent),
        ):
            object.__setattr__(self, name, value)

    @property
    def rounding(self) -> float:
        """How far a row inside can be from its integers: half a step at the end, and half a fine one, stretched, before."""
        fine = math.sqrt(len(self.centre)) * self._fine.row_norm / (2 * self._fine.one)
        return super().rounding + fine * float(np.linalg.norm(self.whitener / self._scales, 2))

    @property
    def frame(self) -> Frame:
        """The public coordinates, with the whitener as it is applied."""
        return Frame(np.array(self.centre), self.whitener, self.deviations)

    def encode(self, rows: Floats, *, scratch: bool = False) -> Floats:  # noqa: ARG002 - the difference is a new array
        """Return integer rows with ‖z‖² ≤ 4ᵏ; an entry that is missing counts as the centre's."""
        with np.errstate(all="ignore"):
            placed = (rows - np.array(self.centre)) * self._scales
            z = self._fine.encode(placed, scratch=True)
            y = np.rint(np.ldexp(z @ self._matrix.T, -self._exponent))
        return STEPS.encode(y, scratch=True)

    def __eq__(self, other: object) -> bool:
        return (
            type(other) is Ellipsoid
            and (self.centre, self.deviations) == (other.centre, other.deviations)
            and np.array_equal(self.whitener, other.whitener)
        )

    def __hash__(self) -> int:
        return hash((self.centre, self.deviations, self.whitener.tobytes()))


def _half_widths(whitener: Floats) -> Floats:
    """Return how far the ellipsoid ‖Wx‖ ≤ 1 reaches along each axis: the norms of the rows of W⁻¹."""
    rule = "whitener must be invertible, of ordinary numbers, got one that is not. Hint: the inverse root of a covariance."
    with np.errstate(all="ignore"):
        try:
            widths = np.linalg.norm(np.linalg.inv(whitener), axis=1)
        except np.linalg.LinAlgError:
            raise ParameterError(rule) from None
        largest = np.abs(whitener).max()
    if not (widths.min() > 1 / LARGEST and widths.max() < LARGEST and 1 / LARGEST < largest < LARGEST):
        raise ParameterError(rule)
    return np.asarray(widths)


def _check_numbers(name: str, numbers: object) -> None:
    known = type(numbers) is tuple and len(numbers) > 0 and all(type(number) is float for number in numbers)
    if not known or not all(abs(number) <= LARGEST for number in numbers):  # type: ignore[attr-defined]
        raise ParameterError(
            f"{name} must be a tuple of finite floats, one for each column, got something else. Hint: tuple(map(float, ...))."
        )


def _check_deviations(deviations: object) -> None:
    if type(deviations) is not float or not 0 < deviations < LARGEST:
        raise ParameterError(
            f"deviations must be a float above 0 and below 1e150, got {shown(deviations)}. Hint: 1.0 is the default."
        )


def of_frame(frame: Frame) -> Ball | Box | Ellipsoid:
    """Return the encoding that public coordinates describe."""
    centre = tuple(frame.centre.tolist())
    if frame.kind == "ball":
        return Ball(centre, float(frame.extent), frame.deviations)
    if frame.kind == "box":
        return Box(centre, tuple(np.asarray(frame.extent).tolist()))
    return Ellipsoid(centre, np.array(frame.extent), frame.deviations)


FRAMED: tuple[type, ...] = (Ball, Box, Ellipsoid)
"""The shapes whose clips are proved."""
