"""Laws of the overlap ⟨S, Q⟩: exact in integers, and moved by one row no further than its sensitivity says."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcov.errors import ParameterError
from dpcov.kernel.public import Public
from dpcov.kernel.questions.basis import GivenBasis
from dpcov.kernel.questions.measure import Integers
from dpcov.kernel.questions.moments import NEIGHBORS, SecondMoment
from dpcov.kernel.questions.overlap import Overlap
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.grid import Grid
from dpcov.linalg import pack
from tests.helpers.rows import Floats, tables

EXAMPLES = settings(max_examples=40)
WHOLE, RING = Grid(1.0), Annulus(Grid(0.5), Grid(1.0))


def basis(d: int, seed: int) -> Floats:
    return np.asarray(np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0])


def overlap(d: int, seed: int, grid: Grid | Annulus = WHOLE, along: Floats | None = None) -> Overlap:
    weights = np.random.default_rng(seed).uniform(size=d) if along is None else along
    return Overlap(SecondMoment(grid, d), GivenBasis(basis(d, seed)), tuple(weights.tolist()))


def rounded_matrix(question: Overlap) -> list[list[int]]:
    """V diag(w) Vᵀ in multiples of 2⁻²⁰, by way of Fractions."""
    vectors = [[Fraction(x) for x in row] for row in question.basis.columns.tolist()]
    weights = [Fraction(w) for w in question.weights]
    return [[round(2**20 * sum(w * a * b for w, a, b in zip(weights, u, v, strict=True))) for v in vectors] for u in vectors]


def product(matrix: list[list[int]], sums: Integers) -> int:
    """⟨S, Q⟩ entry by entry, in Python's integers."""
    return sum(q * int(s) for qs, ss in zip(matrix, sums.tolist(), strict=True) for q, s in zip(qs, ss, strict=True))


def sums_of(question: Overlap, rows: Floats) -> Integers:
    return question.moment.of(rows)


def answered(question: Overlap, sums: Integers) -> int:
    [value] = question.of_moment(pack(sums)).tolist()
    return int(value)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("grid", [WHOLE, RING], ids=["whole", "ring"])
class TestValue:
    @given(data=st.data())
    @EXAMPLES
    def test_it_is_exact_and_rounded_down(self, d: int, grid: Grid | Annulus, data: st.DataObject) -> None:
        """In steps of 2⁻¹⁶ of R²: ⌊Σ Qᵢⱼ·Sᵢⱼ / 2^{20 + 32 − 16}⌋."""
        question = overlap(d, data.draw(st.integers(0, 2**20)), grid)
        sums = sums_of(question, data.draw(tables(d)))
        assert answered(question, sums) == product(rounded_matrix(question), sums) // 2**36

    @given(data=st.data())
    @EXAMPLES
    def test_neighbours_move_it_no_further_than_is_said(self, d: int, grid: Grid | Annulus, data: st.DataObject) -> None:
        question, rows = overlap(d, data.draw(st.integers(0, 2**20)), grid), data.draw(tables(d, 1))
        value = answered(question, sums_of(question, rows))
        for other in (rows[:-1], np.concatenate([rows[:-1], data.draw(tables(d, 1, 1))])):
            moved = value - answered(question, sums_of(question, other))
            assert abs(moved) <= question.sensitivity_l1("replace") == question.sensitivity_l1("add-remove")

    def test_entries_near_two_to_the_62_do_not_overflow(self, d: int, grid: Grid | Annulus) -> None:
        """Signs as in the matrix itself: the largest sums of products there are."""
        for seed in range(801, 811):
            question = overlap(d, seed, grid, np.ones(d) if seed % 2 else None)
            matrix = rounded_matrix(question)
            for sign in (1, -1):
                sums = sign * np.where(np.array(matrix) < 0, -1, 1).astype(np.int64) * np.int64(2**62 - 1)
                assert answered(question, sums) == product(matrix, sums) // 2**36


@pytest.mark.parametrize("d", [1, 2, 5, 60])
@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("grid", [WHOLE, RING], ids=["whole", "ring"])
class TestSensitivity:
    def test_the_longest_rows_along_it_move_it_as_far(self, d: int, neighbors: str, grid: Grid | Annulus) -> None:
        """A row along the top eigenvector of the rounded Q, for one along the lowest or none: within 1 % of the bound."""
        for seed in range(811, 816):
            along = np.linspace(0, 1, d) if d > 1 else np.ones(1)
            question = overlap(d, seed, grid, along)
            factor = question.basis.columns * np.sqrt(along)
            vectors = np.linalg.eigh(np.rint(factor @ factor.T * 2**20))[1]
            rows = 3 * np.vstack([vectors.T, vectors[:, -1]])  # other rows, and the one that goes
            lowest = 3 * vectors[:, :1].T if d > 1 else np.zeros((1, 1))
            other = rows[:-1] if neighbors == "add-remove" else np.vstack([rows[:-1], lowest])
            moved = answered(question, sums_of(question, rows)) - answered(question, sums_of(question, other))
            assert 0.99 * question.sensitivity_l1(neighbors) <= moved <= question.sensitivity_l1(neighbors)

    def test_what_it_is_made_of(self, d: int, neighbors: str, grid: Grid | Annulus) -> None:
        """The reach of a row, d·2⁻¹⁹ of it for the rounding of Q, a step for the result's: 5 % less would be missing."""
        question = overlap(d, 816, grid)
        reach = Fraction(grid.reach, grid.one**2) * 2**16
        assert question.sensitivity_l1(neighbors) == reach + reach * d / 2**19 + 1
        squared = question.sensitivity_l1(neighbors) ** 2
        assert squared <= question.sensitivity_squared(neighbors) < squared + 1
        assert [(part.weight, part.size) for part in question.parts] == [(1, 1)]

    def test_rounding_the_matrix_moves_no_row_further_than_that(self, d: int, neighbors: str, grid: Grid | Annulus) -> None:
        """Eigenvalues of the rounded Q lie between −d·2⁻²⁰ and 1 + d·2⁻²⁰: then two rows differ by 1 + d·2⁻¹⁹ of the reach."""
        for seed in range(817, 822):
            question = overlap(d, seed, grid, (np.random.default_rng(seed).uniform(size=d) > 0.5).astype(np.float64))
            factor = question.basis.columns * np.sqrt(question.weights)
            eigenvalues = np.linalg.eigvalsh(np.rint(factor @ factor.T * 2**20)) / 2**20
            assert -d / 2**20 <= eigenvalues[0] + 1e-12
            assert eigenvalues[-1] - 1e-12 <= 1 + d / 2**20
            assert question.sensitivity_l1(neighbors) >= (eigenvalues[-1] - eigenvalues[0]) * grid.reach / 2**16


GOOD = basis(3, 830)
GOOD_PART = GOOD[:, :2].copy()
HIDDEN = np.ma.MaskedArray(np.diag([1.0, 1.0, 1e3]), mask=np.diag([0, 0, 1]))  # its checks would not see 1000
ONES = (1.0, 1.0, 1.0)
ROWS = Public(Encoding(("x0", "x1", "x2"), 1.0), "replace", 100)


class TestRefusals:
    @pytest.mark.parametrize(
        "along",
        [
            (1.0, 1.0, 1 + 1e-15),
            (-1e-300, 1.0, 1.0),
            (np.nan, 0.0, 0.0),
            (np.inf, 0.0, 0.0),
            (1.0, 1.0),
            (1.0,) * 4,
            ((1.0, 1.0, 1.0),),
            1.0,
            [1.0, 1.0, 1.0],
            np.ones(3),
            (True, 1.0, 1.0),
            (1, 1.0, 1.0),
            tuple(np.ones(3)),
        ],
        ids=["above", "below", "nan", "inf", "two", "four", "nested", "number", "list", "array", "true", "integer", "NumPy's"],
    )
    def test_weights(self, along: Any) -> None:
        with pytest.raises(ParameterError, match=r"weights must hold a number from 0 to 1 .*, got something else\. Hint: "):
            Overlap(SecondMoment(WHOLE, 3), GivenBasis(GOOD), along)

    @pytest.mark.parametrize(
        "bad",
        [
            GOOD * (1 + 1e-11),
            GOOD_PART,
            GOOD[:2],
            GOOD[:, [0, 0, 1]],
            np.where(np.eye(3) == 1, np.nan, GOOD),
            np.zeros((3, 3)),
            GOOD.tolist(),
            GOOD.ravel(),
            np.eye(3, dtype=np.float32),
            HIDDEN,
            np.eye(3, dtype=np.int64),
        ],
        ids=["longer", "narrow", "short", "twice one", "nan", "zero", "list", "flat", "32", "hidden", "integers"],
    )
    def test_bases(self, bad: Any) -> None:
        """What is orthonormal but no whole basis is made, and does not fit: no curator answers it."""
        if bad is GOOD_PART:
            assert not Overlap(SecondMoment(WHOLE, 3), GivenBasis(bad), ONES).fits(ROWS)
            return
        with pytest.raises(
            ParameterError,
            match=r"basis must (be .*, got (something else|one that is not)|have 1 to 2 columns, got 3)\. Hint: ",
        ):
            GivenBasis(bad)

    def test_no_basis_at_all(self) -> None:
        """Columns that nobody checked, and a basis of a class that could show others the second time."""

        class Sly(GivenBasis):
            pass

        others: list[Any] = [GOOD, None, Sly(GOOD), GivenBasis(basis(4, 830))]
        for other in others:
            assert not Overlap(SecondMoment(WHOLE, 3), other, ONES).fits(ROWS)
        assert Overlap(SecondMoment(WHOLE, 3), GivenBasis(GOOD), ONES).fits(ROWS)


def test_a_caller_cannot_change_it_afterwards() -> None:
    """The basis is copied, and the copy read-only, weights are a tuple: the sensitivity was proved for what was checked."""
    vectors = GOOD.copy()
    question = Overlap(SecondMoment(WHOLE, 3), GivenBasis(vectors), ONES)
    vectors *= 100
    assert question == Overlap(SecondMoment(WHOLE, 3), GivenBasis(GOOD), ONES)
    assert np.array_equal(question.basis.columns, GOOD)
    with pytest.raises(ValueError, match="read-only"):
        question.basis.columns[0] = 5.0
    assert type(question.weights) is tuple


def test_equal_questions_are_equal() -> None:
    """As replays compare them."""
    question = Overlap(SecondMoment(WHOLE, 3), GivenBasis(GOOD), ONES)
    same = Overlap(SecondMoment(WHOLE, 3), GivenBasis(GOOD.copy()), (1.0, 1.0, 1.0))
    assert question == same
    assert hash(question) == hash(same)
    assert question != Overlap(SecondMoment(WHOLE, 3), GivenBasis(GOOD), (0.5, 0.5, 0.5))
    assert question != Overlap(SecondMoment(WHOLE, 3), GivenBasis(np.eye(3)), ONES)
    assert question != Overlap(SecondMoment(RING, 3), GivenBasis(GOOD), ONES)
    assert (question.d, question.grid) == (3, WHOLE)
