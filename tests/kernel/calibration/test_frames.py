"""What sums in public coordinates are calibrated to: the tables of the proofs, kept by all neighbours and attained by some.

Nothing here is random. Sensitivities and noise are compared with exact numbers: a constant 5 % off fails.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.kernel.budget import ZCDP, PureDP
from dpcov.kernel.noise.laws import DiscreteGaussian, DiscreteLaplace
from dpcov.kernel.questions.bins import Bins
from dpcov.kernel.questions.calibrated import calibrated
from dpcov.kernel.questions.moments import NEIGHBORS, SecondMoment, Sum
from dpcov.kernel.questions.norms import Norms, Trace
from dpcov.kernel.rows.frames import Ball, Box, Ellipsoid
from dpcov.linalg import unpack
from dpcov.sources.array import ArraySource
from tests.helpers.rows import Floats, tables
from tests.kernel.laws.test_frames import whitener

R = 2**16
Statistic = Sum | SecondMoment | Trace | Bins | Norms
EXAMPLES = settings(max_examples=15)
NAMES = ["sum, ball", "sum, box", "sum, ellipsoid", "moment, ball", "moment, ellipsoid", "trace, ball", "trace, ellipsoid"]
NAMES += ["bins", "norms"]
DIMENSIONS = [1, 2, 3, 5]

each_name = pytest.mark.parametrize("name", NAMES)
each_d = pytest.mark.parametrize("d", DIMENSIONS)
each_relation = pytest.mark.parametrize("neighbors", NEIGHBORS)


def made(name: str, d: int) -> Statistic:
    centre = tuple((0.25 * np.arange(d) - 0.5).tolist())
    ball, box = Ball(centre, 0.75), Box(centre, tuple((2.0 ** np.arange(d)).tolist()))
    ellipsoid = Ellipsoid(centre, whitener(831, d))
    kinds: dict[str, Statistic] = {"bins": Bins(box, d, 7), "norms": Norms(ball, d, 2, 3), "sum, box": Sum(box, d)}
    kinds |= {"sum, ball": Sum(ball, d), "moment, ball": SecondMoment(ball, d), "trace, ball": Trace(ball, d)}
    kinds |= {"sum, ellipsoid": Sum(ellipsoid, d), "moment, ellipsoid": SecondMoment(ellipsoid, d)}
    kinds |= {"trace, ellipsoid": Trace(ellipsoid, d)}
    return kinds[name]


def table(name: str, d: int, neighbors: str) -> tuple[int, float]:
    """Δ₂² and Δ₁ of the proofs, in steps."""
    replace = neighbors == "replace"
    by_columns = {1: 1.0, 2: math.sqrt(5)}
    triangle = by_columns.get(d, 2 + math.sqrt((d - 1) * (d - 2) / 2)) if replace else (d + 1) / 2
    ends, pair = (2 if replace else 1), (2 if replace and d > 1 else 1)
    return {
        "sum, ball": (ends**2 * R**2, ends * math.sqrt(d) * R),
        "sum, box": (ends**2 * d * R**2, ends * d * R),
        "sum, ellipsoid": (ends**2 * R**2, ends * math.sqrt(d) * R),
        "moment, ball": (pair * R**4, triangle * R**2),
        "moment, ellipsoid": (pair * R**4, triangle * R**2),
        "trace, ball": (R**4, float(R**2)),
        "trace, ellipsoid": (R**4, float(R**2)),
        "bins": (ends * d, float(ends * d)),
        "norms": (ends, float(ends)),
    }[name]


def distances(statistic: Statistic, one: Floats, other: Floats) -> tuple[int, int]:
    """Σ weight·difference² and Σ |difference|, in Python's integers."""
    sums = [ArraySource(rows).total(statistic).tolist() for rows in (one, other)]
    gaps = [a - b for a, b in zip(*sums, strict=True)]
    weights = [part.weight for part in statistic.parts for _ in range(part.size)]
    return sum(w * gap**2 for w, gap in zip(weights, gaps, strict=True)), sum(abs(gap) for gap in gaps)


def point(statistic: Any, y: list[float]) -> Floats:
    """A row of these coordinates."""
    return np.asarray(statistic.grid.frame.point(np.array(y)))[None]


def worst(name: str, d: int, neighbors: str) -> tuple[list[float], list[float] | None]:
    """Coordinates of rows far outside that move a statistic as far as it goes in the Euclidean norm."""
    first, second, middle = (1e3 * np.eye(d)[0]).tolist(), (1e3 * np.eye(d)[-1]).tolist(), [0.0] * d
    corner = [1e3] * d
    if name in ("sum, box", "bins"):
        first, second = corner, [-1e3] * d
    elif name.startswith("sum"):
        second = [-entry for entry in first]
    elif not name.startswith("moment") or d == 1:
        second = middle
    return first, second if neighbors == "replace" else None


@each_name
@each_d
@each_relation
class TestSensitivity:
    def test_it_is_that_of_the_table(self, name: str, d: int, neighbors: str) -> None:
        statistic, (squared, absolute) = made(name, d), table(name, d, neighbors)
        assert statistic.sensitivity_squared(neighbors) == squared
        assert absolute * (1 - 1e-12) <= statistic.sensitivity_l1(neighbors) <= absolute * (1 + 1e-9)

    @given(data=st.data())
    @EXAMPLES
    def test_neighbours_move_no_further(self, name: str, d: int, neighbors: str, data: st.DataObject) -> None:
        statistic, rows = made(name, d), data.draw(tables(d, least=1, most=3))
        other = rows[:-1] if neighbors == "add-remove" else np.concatenate([rows[:-1], data.draw(tables(d, 1, 1))])
        squared, absolute = distances(statistic, rows, other)
        assert squared <= statistic.sensitivity_squared(neighbors)
        assert absolute <= statistic.sensitivity_l1(neighbors)

    def test_some_neighbours_move_as_far(self, name: str, d: int, neighbors: str) -> None:
        """Within 1 %, a box and counts to the last step: any constant that is 5 % smaller is broken here."""
        statistic, (first, second) = made(name, d), worst(name, d, neighbors)
        rows = point(statistic, first)
        squared, _ = distances(statistic, rows, rows[:0] if second is None else point(statistic, second))
        least = 1.0 if name in ("sum, box", "bins", "norms") else 0.99
        assert least * statistic.sensitivity_squared(neighbors) <= squared <= statistic.sensitivity_squared(neighbors)

    def test_noise_is_what_its_price_allows(self, name: str, d: int, neighbors: str) -> None:
        """σ² = Δ₂²/(2ρ·weight) and b = Δ₁/ε, exactly."""
        statistic, (squared, _) = made(name, d), table(name, d, neighbors)
        weights = {part.name: part.weight for part in statistic.parts}
        for rho in (Fraction(1, 1000), Fraction(1, 7)):
            law = calibrated(statistic, ZCDP(rho), neighbors, "gaussian")
            assert isinstance(law, DiscreteGaussian)
            assert dict(law.variances) == {part: squared / (2 * rho * weight) for part, weight in weights.items()}
        for epsilon in (Fraction(1, 100), Fraction(7, 3)):
            scale = calibrated(statistic, PureDP(epsilon), neighbors, "laplace")
            assert isinstance(scale, DiscreteLaplace)
            assert scale.scale * epsilon == statistic.sensitivity_l1(neighbors)


@each_relation
@pytest.mark.parametrize("name", ["moment, ball", "moment, ellipsoid"])
def test_the_nuclear_norm_is_attained_too(name: str, neighbors: str) -> None:
    for d in DIMENSIONS:
        statistic, (first, second) = made(name, d), worst(name, d, neighbors)
        assert isinstance(statistic, SecondMoment)
        rows = [point(statistic, first), np.zeros((0, d)) if second is None else point(statistic, second)]
        sums = [unpack(ArraySource(part).total(statistic), d).astype(np.float64) for part in rows]
        found = np.abs(np.linalg.eigvalsh(sums[0] - sums[1])).sum() / statistic.sensitivity_nuclear(neighbors)
        assert 0.99 <= found <= 1 + 1e-12


@pytest.mark.parametrize("name", ["sum, ball", "sum, ellipsoid"])
@each_d
def test_rows_on_a_diagonal_move_sums_furthest_in_absolute_values(name: str, d: int) -> None:
    statistic = made(name, d)
    rows = point(statistic, [1e3] * d)
    for neighbors, other in (("replace", point(statistic, [-1e3] * d)), ("add-remove", rows[:0])):
        assert distances(statistic, rows, other)[1] >= 0.99 * statistic.sensitivity_l1(neighbors)


NUMBERS: list[Any] = [
    [0.0, 0.0],
    (),
    (0, 0),
    (np.float64(0), 0.0),
    (np.nan, 0.0),
    (np.inf, 0.0),
    (1e151, 0.0),
    (True, 0.0),
    None,
]
EYE = np.eye(2)
WHITENERS: list[Any] = [
    EYE * np.nan,
    np.diag([np.inf, 1.0]),
    np.diag([1.0, np.nan]),
    np.ones((2, 2)),
    0 * EYE,
    np.eye(3),
    np.eye(2, 3),
]
WHITENERS += [np.ma.masked_array(EYE), EYE.astype(int), EYE.astype(np.float32), EYE.tolist(), EYE * 1e151, EYE * 1e-151, 1.0]


class TestRefusals:
    @pytest.mark.parametrize("numbers", NUMBERS, ids=repr)
    def test_what_is_no_centre(self, numbers: Any) -> None:
        for make in (lambda: Ball(numbers, 1.0), lambda: Box(numbers, (1.0, 1.0)), lambda: Ellipsoid(numbers, EYE)):
            with pytest.raises(
                ParameterError, match=r"centre must be a tuple of finite floats, .*, got something else\. Hint: "
            ):
                make()
        with pytest.raises(ParameterError, match=r"halves must hold .*, got something else\. Hint: "):
            Box((0.0, 0.0), numbers)

    @pytest.mark.parametrize("halves", [(1.0,), (1.0, 0.0), (-1.0, 1.0), (1e-151, 1.0)], ids=repr)
    def test_what_are_no_half_widths(self, halves: Any) -> None:
        with pytest.raises(
            ParameterError, match=r"halves must hold a positive number for each column, got something else\. Hint: "
        ):
            Box((0.0, 0.0), halves)

    @pytest.mark.parametrize("wanted", WHITENERS, ids=repr)
    def test_what_is_no_whitener(self, wanted: Any) -> None:
        with pytest.raises(
            ParameterError,
            match=r"whitener must be (a float64 array, 2 by 2, got something else|invertible, .*, got one that is not)\. Hint",
        ):
            Ellipsoid((0.0, 0.0), wanted)

    @pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, 1e151, True, "1"], ids=repr)
    def test_what_is_no_radius_and_no_label(self, value: Any) -> None:
        with pytest.raises(ParameterError, match=r"row_norm must be .*, got .*\. Hint: "):
            Ball((0.0, 0.0), value)
        for make in (lambda: Ball((0.0,), 1.0, value), lambda: Ellipsoid((0.0, 0.0), EYE, value)):
            with pytest.raises(ParameterError, match=r"deviations must be .*, got .*\. Hint: "):
                make()  # a label: it changes no integer, but no file holds another
