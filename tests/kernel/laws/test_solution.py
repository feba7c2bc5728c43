"""Laws of ridge coefficients: solved as exact numbers would be, and moved by one row no further than the theorem says.

The bound is attained in the limit: u = (−w, 1) halves the angle between the two rows that are exchanged, and the direction
between them has no other rows. So 5 % less of it is caught here, for any penalty.
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
from dpcov.kernel.budget import ZCDP
from dpcov.kernel.questions.measure import Integers
from dpcov.kernel.questions.moments import MAX_ROWS, SecondMoment
from dpcov.kernel.questions.solution import Solution, unit_alpha
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.grid import Grid
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import NoSource
from tests.helpers.rows import Floats, fuzz, tables
from tests.helpers.watched import watched

EXAMPLES = settings(max_examples=40)
ALPHAS = [Fraction(1, 10**6), Fraction(1, 1000), Fraction(1, 7), Fraction(1), Fraction(1000)]


def solution(n: int, d: int, alpha: Any, target: int | None = None) -> Solution:
    return Solution(SecondMoment(Grid(1.0), d), n, d - 1 if target is None else target, Fraction(alpha))


def answered(asked: Solution, rows: Floats) -> Integers:
    return asked.of_moment(ArraySource(rows).total(asked.moment))


def moved(asked: Solution, one: Floats, other: Floats) -> tuple[int, int]:
    """The squared L2 and the L1 distance of two answers, in Python's integers."""
    gaps = [int(a) - int(b) for a, b in zip(answered(asked, one), answered(asked, other), strict=True)]
    return sum(gap**2 for gap in gaps), sum(abs(gap) for gap in gaps)


def assert_bounded(asked: Solution, one: Floats, other: Floats) -> None:
    squared, total = moved(asked, one, other)
    assert squared <= asked.sensitivity_squared("replace")
    assert total <= asked.sensitivity_l1("replace")


def largest(alpha: float) -> float:
    """W, the norm of the largest coefficients."""
    return 1 / math.sqrt(4 * alpha * (1 + alpha))


def longest_row(alpha: float) -> tuple[float, float]:
    """A feature and a target: rows that are all like this have coefficients of norm W."""
    share = alpha / (1 + 2 * alpha)
    return math.sqrt(share), math.sqrt(1 - share)


def worst(alpha: float, n: int) -> tuple[Floats, Floats]:
    """Two features turned by 45°, so that both coefficients move alike, and a target; the last row is another one."""
    feature, target = longest_row(alpha)
    along = np.array([-largest(alpha), 0.0, 1.0]) / math.hypot(largest(alpha), 1)
    side = np.array([0.0, 1.0, 0.0])
    turn = np.array([[1.0, 1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, math.sqrt(2)]]) / math.sqrt(2)
    rest = np.tile([feature, 0.0, target], (n - 1, 1))
    one, other = (np.vstack([rest, (along + sign * side) / math.sqrt(2)]) @ turn.T for sign in (1, -1))
    return one, other


WORST = [(0.003, 30_000), (0.01, 10_000), (0.1, 1_000), (1.0, 100), (10.0, 20), (1000.0, 2)]
"""Penalties, and so many rows that λ = n·α is large: the exchanged row itself then hardly counts in T′ + λ."""


class TestNeighbours:
    @pytest.mark.parametrize("d", [2, 3, 5, 8])
    @given(data=st.data())
    @EXAMPLES
    def test_any_rows_at_all(self, d: int, data: st.DataObject) -> None:
        """NaN, infinity, 1e308, one row only."""
        rows, row = data.draw(tables(d, 1, 4)), data.draw(tables(d, 1, 1))
        alpha, target = data.draw(st.sampled_from(ALPHAS)), data.draw(st.integers(0, d - 1))
        assert_bounded(solution(len(rows), d, alpha, target), rows, np.concatenate([rows[:-1], row]))

    @pytest.mark.parametrize("alpha", ALPHAS, ids=str)
    @pytest.mark.parametrize("n", [1, 2, 7, 300])
    def test_rows_along_and_against_the_residual(self, n: int, alpha: Fraction) -> None:
        """z along u = (−w, 1), across it, to both sides of it, for rows that have large coefficients and for wild ones."""
        for d in (2, 3, 8):
            draw = np.random.default_rng((9100, n, d))
            direction = np.append(draw.normal(size=d - 1), 0.0)
            feature, target = longest_row(float(alpha))
            rest = np.tile(feature * direction / np.linalg.norm(direction) + target * np.eye(d)[-1], (n - 1, 1))
            for others in (rest, fuzz(9101, n - 1, d)):
                asked = solution(n, d, alpha)
                one = np.vstack([others, draw.normal(size=d)])
                coefficients = np.ldexp(answered(asked, one).astype(float), -asked.unit_bits)
                u = np.append(-coefficients, 1.0) / np.linalg.norm(np.append(coefficients, 1.0))
                side = np.linalg.qr(np.column_stack([u, draw.normal(size=d)]))[0][:, 1]
                for row in (u, -u, side, u + side, u - side, np.zeros(d), np.eye(d)[0], np.full(d, np.nan), np.full(d, 1e308)):
                    for other in (-row, side, u - side):
                        assert_bounded(asked, np.vstack([others, row]), np.vstack([others, other]))

    @pytest.mark.parametrize(("alpha", "n"), WORST)
    def test_the_bounds_are_attained(self, alpha: float, n: int) -> None:
        """Both distances within 2.5 % of their bounds: one 5 % too small would be below."""
        asked = solution(n, 3, alpha)
        one, other = worst(alpha, n)
        assert_bounded(asked, one, other)
        squared, total = moved(asked, one, other)
        assert squared >= 0.975**2 * asked.sensitivity_squared("replace")
        assert total >= Fraction(975, 1000) * asked.sensitivity_l1("replace")

    @pytest.mark.parametrize("alpha", [20, 1000])
    def test_the_bound_is_attained_by_one_row(self, alpha: int) -> None:
        """n = 1: (x, y) becomes (x, −y), and w becomes −w; 2W is 2a/(1 + 2a) of the bound."""
        row = np.array([longest_row(alpha)])
        asked = solution(1, 2, alpha)
        squared, total = moved(asked, row, row * [1, -1])
        assert 0.97**2 * asked.sensitivity_squared("replace") <= squared <= asked.sensitivity_squared("replace")
        assert Fraction(97, 100) * asked.sensitivity_l1("replace") <= total <= asked.sensitivity_l1("replace")
        assert math.isclose(math.sqrt(squared) * 2.0**-asked.unit_bits, 2 * largest(alpha), rel_tol=2e-3)


class TestSize:
    @pytest.mark.parametrize("alpha", [1e-4, 0.01, 1.0, 100.0])
    def test_the_largest_coefficients(self, alpha: float) -> None:
        asked = solution(40, 2, alpha)
        [found] = answered(asked, np.tile(longest_row(alpha), (40, 1)))
        assert found * 2.0**-asked.unit_bits == pytest.approx(largest(alpha), rel=2e-3)

    @given(data=st.data())
    @EXAMPLES
    def test_none_are_larger(self, data: st.DataObject) -> None:
        d, alpha = data.draw(st.integers(2, 5)), data.draw(st.sampled_from(ALPHAS))
        rows = data.draw(tables(d, 1))
        found = answered(solution(len(rows), d, alpha), rows)
        steps = 2.0 ** solution(len(rows), d, alpha).unit_bits
        assert np.linalg.norm(found.astype(float)) <= largest(float(alpha)) * steps * (1 + 1e-6) + math.sqrt(d)


def exact_coefficients(asked: Solution, total: Integers) -> list[Fraction]:
    """(T_xx + n·α)⁻¹ T_xy, by elimination with fractions."""
    d, upper = asked.d, iter(total.tolist())
    matrix = [[Fraction(0)] * d for _ in range(d)]
    for i in range(d):
        matrix[i][i] = Fraction(next(upper), 4**16)
    for i in range(d):
        for j in range(i + 1, d):
            matrix[i][j] = matrix[j][i] = Fraction(next(upper), 4**16)
    others = [j for j in range(d) if j != asked.target]
    system = [[matrix[i][j] + asked.rows * asked.alpha * (i == j) for j in others] + [matrix[i][asked.target]] for i in others]
    for k, row in enumerate(system):
        system[k] = row = [entry / row[k] for entry in row]
        for i, other in enumerate(system):
            if i != k:
                system[i] = [a - other[k] * b for a, b in zip(other, row, strict=True)]
    return [row[-1] for row in system]


def near_singular(seed: int, n: int, d: int) -> Floats:
    """Features that are one up to 1e-4, of very different sizes, and a target that depends on them."""
    draw = np.random.default_rng((9110, seed))
    common = draw.uniform(-1, 1, size=(n, 1))
    rows = common + 1e-4 * draw.normal(size=(n, d))
    rows[:, :-1] *= 0.1 ** np.arange(d - 1)
    return np.asarray(rows / 3)


class TestNumbers:
    @pytest.mark.parametrize("alpha", [Fraction(1, 10**9), Fraction(1, 10**6), Fraction(1, 3), Fraction(10**6)], ids=str)
    @pytest.mark.parametrize("d", [2, 3, 5])
    def test_they_are_those_of_exact_numbers(self, d: int, alpha: Fraction) -> None:
        """Within the documented error of float64, (4d(3d + 1) + 4)·2⁻⁵³·(1 + a)/a·(1 + W), and half a step for each."""
        for seed in range(3):
            rows = near_singular(seed, 30, d)
            asked = solution(len(rows), d, alpha, seed % d)
            total = ArraySource(rows).total(asked.moment)
            found, exact = asked.of_moment(total).tolist(), exact_coefficients(asked, total)
            off = math.sqrt(sum((Fraction(f, 2**asked.unit_bits) - e) ** 2 for f, e in zip(found, exact, strict=True)))
            relative = (4 * d * (3 * d + 1) + 4) * 2.0**-53
            allowed = 1.01 * relative * (1 + 1 / float(alpha)) * (1 + largest(float(alpha)))
            assert off <= allowed + math.sqrt(d - 1) / 2 * 2.0**-asked.unit_bits

    def test_they_are_near_even_where_the_bound_is_loose(self) -> None:
        """α = 1e-9: the worst case allows an error of 0.1; typical matrices err by less than 1e-4 of the coefficients."""
        rows = near_singular(3, 50, 4)
        asked = solution(50, 4, Fraction(1, 10**9))
        total = ArraySource(rows).total(asked.moment)
        exact = np.array([float(entry) for entry in exact_coefficients(asked, total)])
        found = np.ldexp(asked.of_moment(total).astype(float), -asked.unit_bits)
        assert np.linalg.norm(found - exact) <= 1e-4 * np.linalg.norm(exact)

    def test_they_are_in_the_order_of_the_other_columns(self) -> None:
        """A target in the middle: neither it nor its neighbour may be taken for a feature."""
        draw = np.random.default_rng(9120)
        features = draw.normal(size=(500, 3)) / 6
        rows = np.column_stack([features[:, 0], features @ [0.5, -1.0, 0.25], features[:, 1:]])
        asked = solution(500, 4, Fraction(1, 10**6), 1)
        found = np.ldexp(answered(asked, rows).astype(float), -asked.unit_bits)
        assert np.allclose(found, [0.5, -1.0, 0.25], rtol=0, atol=1e-3)

    def test_nothing_gives_zeros(self) -> None:
        for rows in (np.zeros((3, 4)), np.full((3, 4), np.nan)):
            assert not answered(solution(3, 4, Fraction(1, 10**6)), rows).any()

    @pytest.mark.parametrize("alpha", ALPHAS, ids=str)
    def test_steps_are_fine(self, alpha: Fraction) -> None:
        """One row moves the coefficients by 2¹⁰ steps for each root of their number, and coefficients fit into int64."""
        for n in (1, 10**3, MAX_ROWS):
            for d in (2, 5, 60):
                asked = solution(n, d, alpha)
                bound = math.sqrt(1 + largest(float(alpha)) ** 2) / (n * float(alpha))
                assert bound * 2.0**asked.unit_bits >= 2**10 * math.sqrt(d)
                assert largest(float(alpha)) * 2.0**asked.unit_bits <= 2.0**61


class Sneaky(int):
    """An integer that compares and divides as it likes."""

    def __rmul__(self, other: Any) -> Any:
        return other * 10**6


class Tame(Solution):
    """A statistic that is proved, with another sensitivity."""

    def sensitivity_squared(self, neighbors: str) -> int:  # noqa: ARG002
        return 1


class Slim(Fraction):
    """A penalty that looks larger to those who count noise."""


class TestRefusals:
    @pytest.mark.parametrize("rows", [0, -1, MAX_ROWS + 1, 10**30, True, 5.0, "5", None, Sneaky(5), np.int64(5)], ids=repr)
    def test_rows(self, rows: Any) -> None:
        with pytest.raises(ParameterError, match=r"data must have 1 to 2\*\*30 rows, got .+\. Hint: "):
            Solution(SecondMoment(Grid(1.0), 3), rows, 0, Fraction(1))

    @pytest.mark.parametrize("target", [-1, 3, 10**30, True, 1.0, "x1", None, Sneaky(1), np.int64(1)], ids=repr)
    def test_target(self, target: Any) -> None:
        with pytest.raises(ParameterError, match=r"target must be the position of one of two columns or more, got .+\. Hint: "):
            Solution(SecondMoment(Grid(1.0), 3), 5, target, Fraction(1))

    def test_one_column(self) -> None:
        with pytest.raises(ParameterError, match="target must be the position of one of two columns or more"):
            Solution(SecondMoment(Grid(1.0), 1), 5, 0, Fraction(1))

    @pytest.mark.parametrize(
        "alpha", [Fraction(0), Fraction(-1), Fraction(1, 10**10), Fraction(10**10), 0.1, 1, True, "1", None, Slim(1)], ids=repr
    )
    def test_alpha(self, alpha: Any) -> None:
        with pytest.raises(ParameterError, match=r"alpha must be between 1e-9 and 1e9 times row_norm squared, got .+\. Hint: "):
            Solution(SecondMoment(Grid(1.0), 3), 5, 0, alpha)

    def test_a_penalty_that_float64_cannot_serve(self) -> None:
        """At 2000 columns float64 could err by a hundredth of n·α where α is below 2e-6."""
        moment = SecondMoment(Grid(1.0), 2000)
        with pytest.raises(ParameterError, match="alpha must be larger for so many rows and columns"):
            Solution(moment, 10, 0, Fraction(1, 10**6))
        assert Solution(moment, 10, 0, Fraction(3, 10**6)).d == 2000

    def test_add_remove(self) -> None:
        """λ needs a public n."""
        for bound in (solution(5, 3, 1).sensitivity_squared, solution(5, 3, 1).sensitivity_l1):
            with pytest.raises(ParameterError, match="neighbors must be 'replace' for coefficients"):
                bound("add-remove")

    def test_a_curator_answers_its_own_rows_and_this_class_only(self) -> None:
        whole = SecondMoment(Grid(1.0), 3)
        with pytest.raises(AssertionError, match="the data were read for second moment"):
            watched(NoSource(5, 3), Grid(1.0), ZCDP(1)).curator.noisy(solution(5, 3, 1), ZCDP(1), noise="gaussian")
        others: list[Any] = [Tame(whole, 5, 0, Fraction(1)), solution(5, 4, 1), solution(4, 3, 1), solution(6, 3, 1)]
        for grid in (Grid(2.0), Grid(1.0, bits=12), Grid(1.0, center=True), Annulus(Grid(0.5), Grid(1.0))):
            others.append(Solution(SecondMoment(grid, 3), 5, 0, Fraction(1)))
        for other in others:
            asked = watched(NoSource(5, 3), Grid(1.0), ZCDP(1))
            with pytest.raises(ParameterError, match="question must be about this curator's rows"):
                asked.curator.noisy(other, ZCDP(1), noise="gaussian")
            assert asked.untouched

    def test_it_is_not_held(self) -> None:
        asked = watched(NoSource(5, 3), Grid(1.0), ZCDP(1))
        with pytest.raises(ParameterError, match="question must be"):
            asked.curator.prefetch(solution(5, 3, 1))
        assert asked.untouched


def test_equal_questions_are_equal() -> None:
    """As replays compare them."""
    assert hash(solution(5, 3, 1)) == hash(solution(5, 3, 1))
    assert solution(5, 3, 1) == solution(5, 3, 1)
    for other in (solution(6, 3, 1), solution(5, 3, 2), solution(5, 3, 1, 0), solution(5, 4, 1)):
        assert solution(5, 3, 1) != other


def test_penalties_of_rows_of_norm_one() -> None:
    """(1/n)·Σ(y − w·x)² + α‖w‖² in units of R: everything but α is divided by R². Exact, in fractions."""
    assert unit_alpha(0.5, 4.0) == Fraction(1, 32)
    assert unit_alpha(0.1, 3.0) == Fraction(0.1) / 9
    assert unit_alpha(1e-300, 1e150) == Fraction(1e-300) / Fraction(1e150) ** 2 > 0
