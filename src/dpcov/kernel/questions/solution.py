r"""The coefficients of one ridge regression, solved from the exact second moment: what output perturbation adds noise to.

For rows z = (x, y) of norm at most 1, T = Σ z zᵀ and λ = n·α they are w = (T_xx + λ)⁻¹ T_xy. With u = (−w, 1), a neighbour's
T′ that differs in one of n rows has w′ − w = (T′_xx + λ)⁻¹ [(T′ − T) u]_x, hence

.. math:: ‖w' - w‖ ≤ \sqrt{1 + ‖w‖^2}/λ, \qquad ‖w‖ ≤ 1/\sqrt{4α(1 + α)}

as ‖T′ − T‖ ≤ 1, and tr T ≤ n: docs/mechanisms/output-perturbation.md. Computed in float64; a bound on its error (Higham 2002,
section 10.1) and a step for rounding are in the sensitivity.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from dpcov.errors import EngineError, ParameterError, shown
from dpcov.kernel.budget import exact_fraction
from dpcov.kernel.questions.derived import OfMoment
from dpcov.kernel.questions.measure import Integers, Part
from dpcov.kernel.questions.moments import MAX_ROWS, REPLACE, SecondMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.linalg import sqrt_up, unpack
from dpcov.strict_json import fraction_of

if TYPE_CHECKING:
    from dpcov.kernel.public import Public
    from dpcov.kernel.questions.filing import Reading, Writing
    from dpcov.strict_json import Fields

FINENESS = 16  # one row moves the coefficients by at least 2¹⁶ steps for each root of their number
LARGEST_BITS = 61  # of a coefficient in steps
LEAST_ALPHA, LARGEST_ALPHA = Fraction(1, 10**9), Fraction(10**9)
WORST_ERROR = Fraction(1, 100)  # of float64, relative to the smallest eigenvalue: alpha is refused beyond


def unit_alpha(alpha: float, row_norm: float) -> Fraction:
    """Return a penalty in the units of rows as the one for rows of norm 1, exactly."""
    return Fraction(alpha) / Fraction(row_norm) ** 2


@dataclass(frozen=True)
class Solution(OfMoment):
    """Ridge coefficients of a target among the coordinates, all the others its features, from ``rows`` rows.

    ``alpha`` penalises the coefficients of rows of norm 1, in (1/n)·loss.
    """

    rows: int
    target: int
    alpha: Fraction
    name = "solution"
    serves_people: ClassVar[bool] = True
    shapes: ClassVar[tuple[type, ...]] = (Grid,)  # rows of norm 1, as its bound needs

    def __post_init__(self) -> None:
        if type(self.rows) is not int or not 1 <= self.rows <= MAX_ROWS:
            raise ParameterError(
                f"data must have 1 to 2**30 rows, got {shown(self.rows)}. Hint: an empty table has no regression."
            )
        if self.moment.d < 2 or type(self.target) is not int or not 0 <= self.target < self.moment.d:
            raise ParameterError(
                f"target must be the position of one of two columns or more, got {shown(self.target)}. Hint: count from 0."
            )
        if type(self.alpha) is not Fraction or not LEAST_ALPHA <= self.alpha <= LARGEST_ALPHA:
            fraction = type(self.alpha) is Fraction
            found = f"{float(min(self.alpha, Fraction(10**300))):.3g} of it" if fraction else shown(self.alpha)
            raise ParameterError(
                f"alpha must be between 1e-9 and 1e9 times row_norm squared, got {found}. Hint: 0.01 times is a good start."
            )
        exact_fraction("alpha", self.alpha)  # a file holds no longer one
        fits = self._largest * 2**self.unit_bits <= 2**LARGEST_BITS
        if self._backward_error * (1 + 1 / self.alpha) > WORST_ERROR or not fits:
            raise ParameterError(
                f"alpha must be larger for so many rows and columns, got {float(self.alpha):.3g} times row_norm². "
                f"Hint: try 0.01 times."
            )

    @property
    def parts(self) -> tuple[Part, ...]:
        """One run of coefficients."""
        return (Part("coefficients", 1, self.d - 1),)

    @property
    def unit_bits(self) -> int:  # type: ignore[override]  # finer than what else is derived: coefficients hardly move
        """So fine that a row moves the coefficients by many steps, and rounding costs little."""
        steps: int = math.ceil(2**FINENESS * (math.isqrt(self.d) + 1) / self._moved)
        return max(16, steps.bit_length())

    @property
    def _largest(self) -> Fraction:
        """The largest norm of coefficients that any rows can have."""
        return sqrt_up(1 / (4 * self.alpha * (1 + self.alpha)))

    @property
    def _moved(self) -> Fraction:
        """How far one row moves the coefficients: √(1 + ‖w‖²)/(nα)."""
        return sqrt_up(1 + self._largest**2) / (self.rows * self.alpha)

    @property
    def _backward_error(self) -> Fraction:
        """‖ΔM‖/‖M‖ of a system that float64 solves instead: 4d(3d+1) units for Cholesky's, 4 for its entries, all doubled."""
        return Fraction(8 * self.d * (3 * self.d + 1) + 8, 2**53)

    @property
    def _float_error(self) -> Fraction:
        """How far computed coefficients can be from the exact ones."""
        return self._backward_error * ((1 + 1 / self.alpha) * self._largest + 1 / self.alpha) * Fraction(102, 100)

    def fits(self, public: Public) -> bool:
        """Whether n is public, and this one."""
        return super().fits(public) and not public.hides_n and self.rows == public.known_n

    def to_json(self, writing: Writing) -> dict[str, Any]:
        """Store the rows, how many there are, the target and the penalty."""
        return {**super().to_json(writing), "n": self.rows, "target": self.target, "alpha": str(self.alpha)}

    @classmethod
    def from_json(cls, fields: Fields, reading: Reading) -> Self:
        """Read what `to_json` wrote."""
        moment, rows, target = SecondMoment.from_json(fields, reading), fields.take("n", int), fields.take("target", int)
        return cls(moment, rows, target, fraction_of(fields.take("alpha", str)))

    def of_moment(self, total: Integers) -> Integers:
        """Solve for the coefficients, in the order of the other coordinates."""
        matrix = np.ldexp(unpack(total, self.moment.d).astype(np.float64), -self.moment.unit_bits)
        others = np.delete(np.arange(self.d), self.target)
        system = matrix[np.ix_(others, others)]
        system[np.diag_indices(len(others))] += float(self.rows * self.alpha)
        try:
            factor = np.linalg.cholesky(system)
        except np.linalg.LinAlgError:  # cannot be: its eigenvalues are above λ by more than float64 can err
            raise EngineError(
                "a positive definite matrix must have a Cholesky factor, and had none. Hint: install another numpy (BLAS)."
            ) from None
        from scipy.linalg import solve_triangular

        half = solve_triangular(factor, matrix[others, self.target], lower=True, check_finite=False)
        coefficients = solve_triangular(factor, half, lower=True, trans="T", check_finite=False)
        return np.rint(np.ldexp(coefficients, self.unit_bits)).astype(np.int64)

    def sensitivity_squared(self, neighbors: str) -> int:
        """Square the Euclidean distance: what one row moves, twice the error of float64, and a step for each rounding."""
        return math.ceil(self._distance(neighbors) ** 2)

    def sensitivity_l1(self, neighbors: str) -> Fraction:
        """√(d−1) times the Euclidean one."""
        return self._distance(neighbors) * sqrt_up(Fraction(self.d - 1))

    def _distance(self, neighbors: str) -> Fraction:
        if neighbors != REPLACE:
            raise ParameterError(
                "neighbors must be 'replace' for coefficients, got 'add-remove'. Hint: dpcov.covariance serves both."
            )
        moved: Fraction = (self._moved + 2 * self._float_error) * 2**self.unit_bits
        return moved + sqrt_up(Fraction(self.d - 1))
