"""Numbers derived from the exact second moment: its eigenvalues, and its diagonal in a public orthonormal basis.

They are computed in float64, rounded to multiples of 2⁻¹⁶ of a row, and answered with exact noise. For rows of norm at most 1

=====================  =============================  =============  ==========
distance               bound                          replace        add-remove
=====================  =============================  =============  ==========
L1 of either           Weyl and trace; trace          2 (d=1: 1)     1
L2 of either           Hoffman-Wielandt; Frobenius    √2 (d=1: 1)    1
=====================  =============================  =============  ==========

What rounding and float64 add to each number is in the sensitivities (docs/guarantee.md, "Numbers from float64"): two steps,
and more only where rows times columns exceed 2³⁵.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

import numpy as np

from dpcov.errors import ParameterError
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.noise.sphere import eigenvalues
from dpcov.kernel.questions.bins import Bins
from dpcov.kernel.questions.columns import Block, Squares
from dpcov.kernel.questions.derived import VALUE_BITS, Floats, OfMoment, checked_basis, steps_lost
from dpcov.kernel.questions.measure import Integers, Measure, Part
from dpcov.kernel.questions.moments import ADD_REMOVE, MAX_ROWS, REPLACE, STATISTICS, SecondMoment, Sum
from dpcov.kernel.questions.norms import Norms, Trace
from dpcov.kernel.questions.overlap import Overlap
from dpcov.kernel.questions.solution import Solution
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.frames import FRAMED, Ball, Box, Ellipsoid
from dpcov.kernel.rows.grid import Grid
from dpcov.linalg import sqrt_up, unpack

NOISE_ROWS = 2**29
"""How much noise all values along subtracted directions may have together, in rows: half of the largest table's sum."""

TAIL = 80.0  # exceeding that has probability e⁻⁸⁰, below 2⁻¹¹⁵: as in `privacy.matrix`


def to_floats(total: Integers, moment: SecondMoment) -> Floats:
    """Return the exact second moment as floats, in units of rows of norm 1."""
    return np.ldexp(unpack(total, moment.d).astype(np.float64), -moment.unit_bits)


def to_steps(values: Floats) -> Integers:
    """Round numbers to multiples of 2⁻¹⁶."""
    return np.rint(np.ldexp(values, VALUE_BITS)).astype(np.int64)


@dataclass(frozen=True)
class Values(OfMoment):
    """``count`` numbers that are the diagonal of the second moment in some orthonormal basis, or its eigenvalues.

    ``rows`` is a public bound on the number of rows; a curator sets its own.
    """

    count: int
    rows: int = field(default=MAX_ROWS, kw_only=True)
    name = "diagonal"

    @property
    def parts(self) -> tuple[Part, ...]:
        """One run of numbers."""
        return (Part("values", 1, self.count),)

    def among(self, rows: int) -> Self:
        """Return the same numbers of so many rows."""
        sized = copy.copy(self)
        object.__setattr__(sized, "rows", rows)
        return sized

    @property
    def lost(self) -> tuple[int, int]:
        """The steps by which each number may be further apart, and by how many more the last one."""
        return steps_lost(self.d + 2, self.rows), 0

    def check_noise(self, law: NoiseLaw) -> None:
        """Refuse noise that would spoil the numbers to come: none does where directions are projected out."""

    def sensitivity_squared(self, neighbors: str) -> int:
        """(√(2·4¹⁶) + 2√count)², rounded up."""
        squared = {REPLACE: 2 if self.d > 1 else 1, ADD_REMOVE: 1}[neighbors] * 4**VALUE_BITS
        each, more = self.lost
        norm = sqrt_up(Fraction(squared)) * self.reach + each * sqrt_up(Fraction(self.count)) + more
        return math.ceil(norm**2)

    def sensitivity_l1(self, neighbors: str) -> Fraction:
        """2·2¹⁶ + 2·count."""
        moved = Fraction({REPLACE: 2 if self.d > 1 else 1, ADD_REMOVE: 1}[neighbors] * 2**VALUE_BITS)
        each, more = self.lost
        return moved * self.reach + each * self.count + more


@dataclass(frozen=True)
class AlongBasis(Values):
    """The numbers of a `Diagonal` or an `Explained` as a file tells them: their noise does not depend on the basis."""

    name: str

    @property
    def lost(self) -> tuple[int, int]:
        """As of what it stands for."""
        return _lost_with_rest(self) if self.name == Explained.name else super().lost


def _lost_with_rest(measure: Values) -> tuple[int, int]:
    """Return the steps by which numbers may be further apart; what is left of the trace has the errors of all, and its own."""
    each = steps_lost(measure.d + 2, measure.rows)
    return each, steps_lost(measure.d + 2, measure.rows, times=measure.count) - each


@dataclass(frozen=True)
class Quotients(Values):
    """``count`` numbers uᵀCu for unit vectors that need not be orthogonal, where C is S less what was answered before.

    Each may move by 1. C is no longer than S and all noise together; subtracting each answer rounds its entries three times.
    """

    name = "quotients"

    @property
    def lost(self) -> tuple[int, int]:
        """As many as of more rows, and by more operations."""
        return steps_lost(self.d + 2 + 2 * self.count, self.rows + NOISE_ROWS), 0

    def check_noise(self, law: NoiseLaw) -> None:
        """Refuse so much noise that, once subtracted, float64 would lose more of the rows than ``lost`` allows for."""
        deviation = math.sqrt(law.spread().diagonal_variance) * 2.0**-VALUE_BITS
        if (self.count + math.sqrt(2 * self.count * TAIL) + TAIL) * deviation > NOISE_ROWS:
            raise ParameterError(
                f"budget must leave noise that float64 can subtract, got one where a value has {deviation:.2g} rows of it. "
                f"Hint: spend more, or mechanism='eigenvectors', which subtracts none."
            )

    def sensitivity_squared(self, neighbors: str) -> int:  # noqa: ARG002 - 1 in either relation
        """count·(2¹⁶ + 2)²."""
        return self.count * int(2**VALUE_BITS + self.lost[0]) ** 2

    def sensitivity_l1(self, neighbors: str) -> Fraction:  # noqa: ARG002
        """count·(2¹⁶ + 2)."""
        return Fraction(self.count * (2**VALUE_BITS + self.lost[0]))


@dataclass(frozen=True)
class Spectrum(Values):
    """All eigenvalues of the second moment, descending."""

    name = "spectrum"

    def of_moment(self, total: Integers) -> Integers:
        """Decompose the exact matrix."""
        return to_steps(eigenvalues(to_floats(total, self.moment)))


@dataclass(frozen=True, eq=False)
class Diagonal(Values):
    """bᵢᵀSbᵢ for the orthonormal columns bᵢ of a public basis."""

    basis: Floats
    name = "diagonal in a basis"

    def __post_init__(self) -> None:
        object.__setattr__(self, "basis", checked_basis(self.basis, self.moment.d, self.count))

    def of_moment(self, total: Integers) -> Integers:
        """Multiply by the basis from both sides."""
        return to_steps(np.einsum("ij,ij->j", self.basis, to_floats(total, self.moment) @ self.basis))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Diagonal) or type(other) is not type(self):
            return False
        return other.moment == self.moment and np.array_equal(other.basis, self.basis)

    def __hash__(self) -> int:
        return hash((self.moment, self.count))


@dataclass(frozen=True, eq=False)
class Explained(Diagonal):
    """bᵢᵀSbᵢ for the orthonormal columns bᵢ, and what of the trace is left: the diagonal in a whole basis, its end summed.

    For each row these are squares that sum to ‖x‖² ≤ 1, so the bounds are those of a diagonal.
    """

    name = "explained"

    def __post_init__(self) -> None:
        if type(self.count) is not int or self.count < 2:
            raise ParameterError("count must be 2 or more, got another. Hint: one for each direction, and one for the rest.")
        object.__setattr__(self, "basis", checked_basis(self.basis, self.moment.d, self.count - 1))

    @property
    def lost(self) -> tuple[int, int]:
        """What is left of the trace loses more."""
        return _lost_with_rest(self)

    def of_moment(self, total: Integers) -> Integers:
        """Multiply by the basis from both sides, and take the result from the trace."""
        matrix = to_floats(total, self.moment)
        along = np.einsum("ij,ij->j", self.basis, matrix @ self.basis)
        return to_steps(np.append(along, np.trace(matrix) - along.sum()))

    __hash__ = Diagonal.__hash__


ANSWERED: tuple[type, ...] = (*STATISTICS, Norms, Trace, Bins, Spectrum, Diagonal, Explained, Overlap, Squares, Block, Solution)
PEELED: tuple[type, ...] = (Values, Quotients)
"""What is proved: a curator answers nothing else, at once or direction by direction."""


def check_measure(measure: Measure, moment: SecondMoment, known: tuple[type, ...]) -> None:
    """Refuse what is not proved: other measures, of other rows, or more numbers than an orthonormal basis has.

    Any radius is: each grid enforces its own. They stay within that of ``moment`` so that the record can say what was asked.
    """
    grid = getattr(measure, "grid", moment.grid)
    d = measure.whole if isinstance(measure, Block) else getattr(measure, "d", moment.d)
    if type(grid) in FRAMED:  # its own clip holds for any centre and any extent
        fits = _is_framed(measure, moment)
    else:
        fits = type(d) is int and d == moment.d and _is_within(grid, moment.grid)
    if isinstance(measure, OfMoment):
        fits = fits and type(measure.moment) is SecondMoment
    if isinstance(measure, Solution):
        fits = fits and type(grid) is Grid  # rows of norm 1, as its bound needs
    if isinstance(measure, Values):
        fits = fits and type(measure.count) is int and measure.count in range(1, moment.d + 1)
        fits = fits and (not isinstance(measure, Spectrum) or measure.count == moment.d)
    if type(measure) not in known or not fits:
        raise ParameterError("statistic must be one of this curator's rows, got another. Hint: curator.second_moment().")


def _is_framed(measure: Any, moment: SecondMoment) -> bool:
    """Whether a sum over rows in a public frame has the coordinates of this curator's rows, and a clip for its own map."""
    grid, whole = measure.grid, moment.grid
    shapes = {Sum: FRAMED, SecondMoment: (Ball, Ellipsoid), Trace: (Ball, Ellipsoid), Norms: (Ball,), Bins: (Box,)}
    return (
        type(grid) in shapes.get(type(measure), ())
        and type(measure.d) is int
        and measure.d == moment.d == len(grid.centre)
        and (grid.bits, grid.center) == (whole.bits, whole.center)
    )


def _is_within(grid: object, whole: object) -> bool:
    if type(grid) is Annulus:
        return _is_within(grid.inner, whole) and _is_within(grid.outer, whole)
    return (
        type(grid) is Grid
        and type(whole) is Grid
        and (grid.bits, grid.center) == (whole.bits, whole.center)
        and grid.row_norm <= whole.row_norm
    )
