"""What the mechanisms for means share: the public origin, the notion in which answers compose, and the size of their noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcov.errors import ParameterError, check_real, shown
from dpcov.kernel.budget import ZCDP, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.public import Facts
from dpcov.kernel.questions.calibrated import calibrated, noise_for
from dpcov.kernel.questions.measure import Measure
from dpcov.kernel.questions.moments import REPLACE, Sum
from dpcov.kernel.rows.frames import LARGEST, Ball
from dpcov.linalg import as_numbers, is_positive_definite, sqrt_up
from dpcov.mechanisms.base import RAW
from dpcov.release.record import Transcript

Floats = NDArray[np.float64]
Origin = float | Sequence[float] | NDArray[np.float64]

COUNT_SHARE = Fraction(1, 50)
"""What n costs where it is private: an n that is off by a part moves a mean by that part of its distance from the centre."""

FARTHEST_ORIGIN = 1e140  # the mean may lie a radius beyond it


def checked_origin(origin: object, d: int) -> Floats:
    """Return the public point that the mean lies around, a number for each column."""
    point = as_numbers(origin)
    if point is None or point.shape not in ((), (d,)) or not np.all(np.abs(point) <= FARTHEST_ORIGIN):
        raise ParameterError(
            f"origin must be one finite number or {d} of them, got {shown(origin)}. Hint: give a public guess of the mean."
        )
    return np.array(np.broadcast_to(point, (d,)))


def checked_covariance(covariance: ArrayLike, d: int, name: str = "covariance") -> Floats:
    """Return a public positive definite matrix: a variance, a variance for each column, or a matrix."""
    found = checked_variances(covariance, d, name)
    return np.diag(found) if found.ndim == 1 else found


def checked_variances(covariance: ArrayLike, d: int, name: str = "covariance") -> Floats:
    """Return a public covariance: the variance of each column where no more is given, else a positive definite matrix."""
    rule = f"{name} must be a positive number, {d} of them, or a positive definite {d} by {d} matrix"
    hint = "for columns that do not vary, take a small positive variance"
    given = as_numbers(covariance)
    if given is None:
        raise ParameterError(f"{rule}, got {shown(covariance)}. Hint: {hint}.")
    if given.shape in ((), (d,)):  # no need for a matrix
        if not np.all(np.abs(given) <= LARGEST) or not np.sqrt(np.maximum(given, 0.0)).min() > 1 / LARGEST:
            raise ParameterError(f"{rule}, got {shown(covariance)}. Hint: {hint}.")
        return np.array(np.broadcast_to(given, (d,)))
    matrix = given
    if matrix.shape != (d, d) or not np.all(np.abs(matrix) <= LARGEST):
        raise ParameterError(f"{rule}, got {shown(covariance)}. Hint: {hint}.")
    roots = np.sqrt(np.maximum(matrix.diagonal(), 0.0))
    possible = bool(np.all(np.abs(matrix) <= 2 * np.outer(roots, roots)))  # else quotients by the roots could overflow
    if not possible or not is_positive_definite(matrix, smallest=1 / LARGEST, least=1e-12):
        raise ParameterError(f"{rule}, got {shown(covariance)}. Hint: {hint}.")
    return np.asarray((matrix + matrix.T) / 2)


def checked_deviations(covariance: ArrayLike, d: int) -> Floats:
    """Return the standard deviation of each column of a public covariance."""
    found = checked_variances(covariance, d)
    return np.asarray(np.sqrt(found if found.ndim == 1 else found.diagonal()))


def checked_rounds(rounds: object, most: int = 100) -> int | None:
    """Return a number of rounds; None: it is to be found."""
    if rounds == "auto" and isinstance(rounds, str):
        return None
    if not isinstance(rounds, int | np.integer) or isinstance(rounds, bool) or not 1 <= rounds <= most:
        raise ParameterError(f"rounds must be 'auto' or 1 to {most}, got {shown(rounds)}. Hint: 'auto' is close to the best.")
    return int(rounds)


def check_two_rows(curator: Face, *, read: bool = False) -> None:
    """Refuse a public n of one row, which is neither a mean nor a spread of anything; ``read`` reads a file for its n."""
    if not curator.hides_n and (read or curator.knows_n) and curator.n < 2:
        raise ParameterError(
            f"data must have at least 2 rows (or pairs), got {curator.n}. Hint: one sample has no others to hide among."
        )


def check_ordinary_radius(public: Facts) -> None:
    """Refuse radii whose multiples and parts, on the way, could leave the range of ordinary floats."""
    hint = "use units in which rows have a sensible size"
    check_real("radius", public.grid.row_norm, "between 1e-130 and 1e130", 1e-130, 1e130, hint)


@dataclass(frozen=True)
class Noise:
    """How much noise a share of the budget leaves on one coordinate of the sum of rows of norm 1."""

    budget: PureDP | ZCDP
    whole: float

    def deviation(self, share: float) -> float:
        """Return its standard deviation at a share of the budget."""
        return self.whole / (share if isinstance(self.budget, PureDP) else math.sqrt(share))


def sum_noise(public: Facts, budget: PureDP | ZCDP) -> Noise:
    """Return the noise of sums over rows in a ball."""
    return Noise(budget, unit_noise(public, Sum(unit_ball(public.d), public.d), budget))


def unit_ball(d: int) -> Ball:
    """Return the ball of rows of norm 1: noise is as large there as in any shape of that reach."""
    return Ball((0.0,) * d, 1.0)


def unit_noise(public: Facts, measure: Measure, budget: PureDP | ZCDP) -> float:
    """Return the deviation of the noise on one entry of a measure of rows of norm 1."""
    law = calibrated(measure, budget, public.neighbors, noise_for(budget))
    return math.sqrt(law.spread().diagonal_variance) * 2.0**-measure.unit_bits


def ask_count(curator: Face, budget: PureDP | ZCDP) -> None:
    """Ask for n where it is private."""
    if curator.hides_n:
        curator.ask_n(budget.share(COUNT_SHARE))


def left_after_count(public: Facts, budget: PureDP | ZCDP) -> PureDP | ZCDP:
    """Return what is left of the budget after n, where it is private."""
    if not public.hides_n:
        return budget
    return budget.share(1 - COUNT_SHARE)


def ask_sum(curator: Face, budget: PureDP | ZCDP, total: Sum, noise: str | None = None) -> None:
    """Ask for one sum, by default with the exact noise of the notion, and for n where it is private."""
    left = left_after_count(curator, budget)
    curator.prefetch(total, derive=False)  # read before anything is charged
    ask_count(curator, budget)
    curator.noisy(total, left, noise=noise or noise_for(left))


def column_scale(public: Facts, budget: PureDP | ZCDP) -> Fraction:
    """Return the scale of Laplace noise on sums of numbers in [−1, 1] where each column is answered by itself.

    As the papers' baselines do: each of d columns has its own ε, ε/d or √(2ρ/d), and a row moves it by 2 (add-remove: 1).
    """
    moved = 2 if public.neighbors == REPLACE else 1
    if isinstance(budget, PureDP):
        return moved * public.d / budget.epsilon
    return sqrt_up(moved**2 * public.d / (2 * budget.rho))


def usual_finish(transcript: Transcript) -> str:
    """Return how a mean is finished: moved into the public ball; not after a paper's constants, which leave it where it is."""
    return RAW if transcript.options.get("constants") == "paper" else "project"


def as_tuple(point: Floats) -> tuple[float, ...]:
    """Return a point as the kernel takes it."""
    return tuple(float(number) for number in point)


def check_provable(public: Facts, budget: PureDP | ZCDP, constants: str) -> None:
    """Refuse proved constants where nothing is proved: a noisy n, other noise than Gaussian, rows cut at bounds, averages."""
    if constants == "proved" and public.encoding.aside is not None:
        raise ParameterError(
            "constants must be 'practical' where a person has several rows, got 'proved'. "
            "Hint: the proof is about Gaussian rows, not about averages of them."
        )
    if constants == "proved" and (public.neighbors != REPLACE or isinstance(budget, PureDP) or public.described):
        raise ParameterError(
            "constants must be 'practical' under add-remove, under pure DP and with a schema, got 'proved'. "
            "Hint: the proof needs Gaussian noise, a known n and rows that no schema clips."
        )
