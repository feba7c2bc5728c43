"""The last value that is allowed, and the first one beyond it that is refused: of public numbers, and exactly.

Messages, files and proofs name these limits. One that moves would refuse files that were written, or serve what is not proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpcov
from dpcov.errors import ParameterError
from dpcov.kernel.account import unwritten
from dpcov.kernel.budget import ZCDP, PureDP, exact_fraction
from dpcov.kernel.noise.choice import Exponential
from dpcov.kernel.noise.discrete import check_scale, check_variance
from dpcov.kernel.noise.drawn import MatrixBingham
from dpcov.kernel.noise.matrix import WishartDifference
from dpcov.kernel.questions.bins import Bins
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.questions.norms import Norms
from dpcov.kernel.questions.solution import Solution
from dpcov.kernel.rows.aside import aside_of
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.frames import Ball, Box, Ellipsoid
from dpcov.kernel.rows.grid import Grid, checked_row_norm
from dpcov.kernel.rows.standard import LevelUnits, NumericUnits

GRID = Grid(1.0)


@dataclass(frozen=True)
class Limit:
    """What takes a value, the last one on its side, and the first one beyond."""

    takes: Callable[[Any], object]
    last: Any
    beyond: Any


def least(takes: Callable[[Any], object], last: float) -> Limit:
    return Limit(takes, last, math.nextafter(last, -math.inf))


def most(takes: Callable[[Any], object], last: float) -> Limit:
    return Limit(takes, last, math.nextafter(last, math.inf))


LIMITS: dict[str, Limit] = {
    "least row_norm": least(checked_row_norm, 1e-150),
    "most row_norm": most(checked_row_norm, 1e150),
    "least radius": least(Grid, 9e-154),
    "most radius": most(Grid, 1e150),
    "least bits": Limit(lambda bits: Grid(1.0, bits), 1, 0),
    "most bits": Limit(lambda bits: Grid(1.0, bits), 16, 17),
    "least rows": Limit(Encoding(("x",), 1.0).check_n, 1, 0),
    "most rows": Limit(Encoding(("x",), 1.0).check_n, 2**30, 2**30 + 1),
    "most digits of a numerator": Limit(lambda x: ZCDP(Fraction(x, x - 1)), 2**3000 - 1, 2**3000 + 1),
    "most digits of a denominator": Limit(lambda x: ZCDP(Fraction(1, x)), 2**3000 - 1, 2**3000),
    "most digits of a share": Limit(lambda x: exact_fraction("share", Fraction(1, x)), 2**3000 - 1, 2**3000),
    "most epsilon": Limit(PureDP, 10**300, 10**300 + 1),
    "least scale of noise": Limit(check_scale, Fraction(1, 2**20), Fraction(1, 2**20 + 1)),
    "most scale of noise": Limit(check_scale, Fraction(2**56), Fraction(2**56) + Fraction(1, 2**20)),
    "least variance of noise": Limit(check_variance, Fraction(1, 2**40), Fraction(1, 2**40 + 1)),
    "most variance of noise": Limit(check_variance, Fraction(2**112), Fraction(2**112) + 1),
    "most rate of a choice": Limit(Exponential, Fraction(1024), Fraction(1024) + Fraction(1, 2**20)),
    "least sweeps": Limit(lambda sweeps: MatrixBingham(Fraction(1), sweeps), 1, 0),
    "most sweeps": Limit(lambda sweeps: MatrixBingham(Fraction(1), sweeps), 10**7, 10**7 + 1),
    "most matrices": Limit(lambda blocks: WishartDifference(1, Fraction(1), 0, Fraction(0), Fraction(0), blocks), 4096, 4097),
    "coarsest lattice": Limit(lambda lattice: WishartDifference(1, Fraction(1), lattice, Fraction(0), Fraction(0)), 61, 62),
    "largest scale of a matrix": Limit(
        lambda s: WishartDifference(1, s, 0, Fraction(0), Fraction(0)), Fraction(2**62), 2**62 + 1
    ),
    "least entry of a centre": least(lambda x: Ball((x,), 1.0), -1e150),
    "most entry of a centre": most(lambda x: Ball((x,), 1.0), 1e150),
    "most entry of a half width": most(lambda x: Box((0.0,), (x,)), 1e150),
    "least entry of a half width": least(lambda x: Box((0.0,), (x,)), 1e-150),
    "most deviations": Limit(lambda x: Ball((0.0,), 1.0, x), math.nextafter(1e150, 0), 1e150),
    "least whitener": Limit(lambda x: Ellipsoid((0.0,), np.array([[x]])), 1.0001e-150, 0.9999e-150),
    "most whitener": Limit(lambda x: Ellipsoid((0.0,), np.array([[x]])), 0.9999e150, 1.0001e150),
    "least deviation of a column": least(lambda x: NumericUnits(-1.0, 1.0, 0.0, x), 1e-12),
    "most deviation of a column": most(lambda x: NumericUnits(-1.0, 1.0, 0.0, x), 1e12),
    "least divisor of a level": least(lambda x: LevelUnits((0, 1), (0.5, 0.5), (1.0, x)), 1e-12),
    "most divisor of a level": most(lambda x: LevelUnits((0, 1), (0.5, 0.5), (1.0, x)), 1e12),
    "most shares of levels": Limit(lambda x: LevelUnits((0, 1), (0.5, 0.5 + x), (1.0, 1.0)), 0.9999e-9, 1.0001e-9),
    "least shares of levels": Limit(lambda x: LevelUnits((0, 1), (0.5, 0.5 - x), (1.0, 1.0)), 0.9999e-9, 1.0001e-9),
    "most weight of a person": most(lambda weight: aside_of("who", 16, 2**26, 0, "weight", weight), 1e150),
    "least bins of an octave": Limit(lambda bins: Norms(GRID, 1, bins, 1), 1, 0),
    "most bins of an octave": Limit(lambda bins: Norms(GRID, 1, bins, 1), 1024, 1025),
    "least octaves": Limit(lambda octaves: Norms(GRID, 1, 1, octaves), 1, 0),
    "most octaves": Limit(lambda octaves: Norms(Grid(1e150), 1, 1, octaves), 1006, 1008),
    "most bins": Limit(lambda bins: Bins(Box((0.0,), (1.0,)), 1, bins), 2**24, 2**24 + 1),
    "least rows of a regression": Limit(lambda rows: Solution(SecondMoment(GRID, 2), rows, 0, Fraction(1)), 1, 0),
    "most rows of a regression": Limit(lambda rows: Solution(SecondMoment(GRID, 2), rows, 0, Fraction(1)), 2**30, 2**30 + 1),
    "most alpha": Limit(
        lambda alpha: Solution(SecondMoment(GRID, 2), 9, 0, alpha), Fraction(10**9), Fraction(10**9) + Fraction(1, 10**9)
    ),
    "least alpha": Limit(
        lambda alpha: Solution(SecondMoment(GRID, 2), 9, 0, alpha), Fraction(1, 10**9), Fraction(1, 10**9 + 1)
    ),
}


def test_denominators_of_2_to_the_19_bits_fit_into_a_file() -> None:
    """All of them, where no others are there already; one bit more does not."""
    numbers = {(1, 2**2047 + odd) for odd in range(1, 2 * 256, 2)}
    assert unwritten(numbers, 0) == ""
    assert unwritten({*numbers, (1, 1)}, 0) == unwritten(numbers, 0, 1) == "numbers in too many digits"


def test_there_is_room_for_2_to_the_26_people_unless_more_are_expected() -> None:
    """It decides how fine counts and shares are: 18 bits, and 2 more than the grid has."""
    table = pa.table({"x": [0.1, 0.2, 0.3], "who": ["a", "b", "b"]})
    release = dpcov.covariance(table, ZCDP(1), row_norm=1, unit="who", columns=["x"], mechanism="gaussian")
    assert release.encoding.aside == aside_of("who", 16, 2**26)
    assert release.encoding.room == "2**26"


@pytest.mark.parametrize("name", LIMITS)
def test_the_last_is_taken_and_the_next_is_refused(name: str) -> None:
    limit = LIMITS[name]
    limit.takes(limit.last)
    with pytest.raises(ParameterError, match=r" must .*, got .*\. Hint: .*\."):
        limit.takes(limit.beyond)
