"""Values along directions move no further than their sensitivities say, and peeling is what it claims to be."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcov.errors import BudgetError, EngineError, ParameterError
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.face import Face, PeelFace
from dpcov.kernel.noise.drawn import Bingham
from dpcov.kernel.noise.sphere import MAX_CONCENTRATION, best_kappa
from dpcov.kernel.peel import Peel, _projected, reflector_of
from dpcov.kernel.public import Public
from dpcov.kernel.questions.along import Diagonal
from dpcov.kernel.questions.basis import GivenBasis
from dpcov.kernel.questions.derived import checked_basis
from dpcov.kernel.questions.directions import Directions, directions_of
from dpcov.kernel.questions.moments import NEIGHBORS, SecondMoment
from dpcov.kernel.questions.spectral import Quotients, Spectrum, Values, to_floats, to_steps
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms.base import Mechanism
from dpcov.mechanisms.running import released
from dpcov.mechanisms.shared.moment import from_noisy_moment
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import Noiseless, opened, scripted
from tests.helpers.moments import GRID, Floats, Integers, moment, total
from tests.helpers.rows import neighbours, tables
from tests.helpers.watched import Watched, watched


def basis(d: int, seed: int) -> Floats:
    return np.asarray(np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0])


def diagonal_of(moment: SecondMoment, columns: Floats) -> Diagonal:
    return Diagonal.of(moment, GivenBasis(columns))


def assert_within(measure: Values, first: Integers, second: Integers, neighbors: str) -> None:
    gaps = [int(a) - int(b) for a, b in zip(first, second, strict=True)]
    assert sum(gap**2 for gap in gaps) <= measure.sensitivity_squared(neighbors)
    assert sum(abs(gap) for gap in gaps) <= measure.sensitivity_l1(neighbors)


def extremal(d: int, seed: int) -> tuple[Floats, Floats]:
    """Return rows of norm 1, the last of them orthogonal to the one that replaces it."""
    vectors = basis(d, seed)
    return np.vstack([vectors.T, vectors[:, 0]]), (vectors[:, -1] if d > 1 else np.zeros(1))


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("d", [1, 2, 5])
class TestSensitivities:
    @settings(max_examples=60)
    @given(data=st.data())
    def test_rows_of_every_kind(self, d: int, neighbors: str, data: st.DataObject) -> None:
        rows, other = data.draw(tables(d, 1)), data.draw(tables(d, 1, 1))
        first, second = (total(table) for table in neighbours(rows, other, neighbors))
        self.check(d, neighbors, first, second, data.draw(st.integers(0, 2**32 - 1)))

    def test_extremal_rows(self, d: int, neighbors: str) -> None:
        for seed in range(900, 950):
            rows, other = extremal(d, seed)
            first, second = (total(table) for table in neighbours(rows, other, neighbors))
            self.check(d, neighbors, first, second, seed)
            self.check(d, neighbors, 2**20 * first, 2**20 * first + (second - first), seed)  # many rows, one of them moved

    def check(self, d: int, neighbors: str, first: Integers, second: Integers, seed: int) -> None:
        spectrum = Spectrum(moment(d), d)
        assert_within(spectrum, spectrum.of_moment(first), spectrum.of_moment(second), neighbors)
        for count in {1, d}:
            diagonal = diagonal_of(moment(d), basis(d, seed)[:, :count])
            assert_within(diagonal, diagonal.of_moment(first), diagonal.of_moment(second), neighbors)
        directions = np.random.default_rng(seed).normal(size=(7, d))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        quotients = [
            to_steps(np.einsum("ij,jk,ik->i", directions, to_floats(sums, moment(d)), directions)) for sums in (first, second)
        ]
        assert_within(Quotients(moment(d), 7), quotients[0], quotients[1], neighbors)

    def test_they_are_tight(self, d: int, neighbors: str) -> None:
        """To the two steps for each number: 5 % less would be passed by e1 replaced by e2, or dropped."""
        one, columns = 2**16, {"replace": min(d, 2), "add-remove": 1}[neighbors]
        for measure in (Values(moment(d), d), Spectrum(moment(d), d), diagonal_of(moment(d), np.eye(d))):
            assert measure.sensitivity_l1(neighbors) == columns * one + 2 * d
            norm = math.sqrt(measure.sensitivity_squared(neighbors))
            assert norm == pytest.approx(math.sqrt(columns) * one + 2 * math.sqrt(d), abs=1e-3)
            assert norm >= math.sqrt(columns) * one + 2 * math.sqrt(d)
        assert Quotients(moment(d), 3).sensitivity_l1(neighbors) == 3 * (one + 2)
        assert Quotients(moment(d), 3).sensitivity_squared(neighbors) == 3 * (one + 2) ** 2
        rows = np.eye(d)[[0]]
        other = np.eye(d)[[1]] if d > 1 else np.zeros((1, 1))
        first, second = (total(table) for table in neighbours(rows, other, neighbors))
        diagonal = diagonal_of(moment(d), np.eye(d))
        gaps = np.abs(diagonal.of_moment(first) - diagonal.of_moment(second))
        assert int(gaps.sum()) == columns * one

    def test_rounding_is_to_the_nearest_step(self, d: int, neighbors: str) -> None:
        rows, _ = extremal(d, 951)
        sums = total(rows if neighbors == "replace" else rows[:-1])
        exact = to_floats(sums, moment(d))
        assert np.abs(np.ldexp(diagonal_of(moment(d), np.eye(d)).of_moment(sums), -16) - exact.diagonal()).max() <= 2.0**-17
        assert np.all(np.diff(Spectrum(moment(d), d).of_moment(sums)) <= 0)


GOOD = basis(3, 960)
GOOD_PART = GOOD[:, :2].copy()
HIDDEN = np.ma.MaskedArray(np.diag([1.0, 1.0, 1e3]), mask=np.diag([0, 0, 1]))  # its checks would not see 1000


class TestBasis:
    @pytest.mark.parametrize(
        "bad",
        [
            GOOD * (1 + 1e-11),
            GOOD * 2,
            GOOD_PART,
            GOOD[:2],
            GOOD[:, [0, 0, 1]],
            np.where(np.eye(3) == 1, np.nan, GOOD),
            np.where(np.eye(3) == 1, np.inf, GOOD),
            np.zeros((3, 3)),
            np.tril(np.ones((3, 3))),
            GOOD.tolist(),
            GOOD.ravel(),
            np.eye(3, dtype=np.float32),
            HIDDEN,
            np.array([[1, 0, 0], [16, 1, 0], [0, 16, 1]], dtype=np.int8),  # 16² wraps to 0: a norm of 1, it would seem
        ],
        ids=[
            "longer",
            "twice",
            "narrow",
            "short",
            "twice one",
            "nan",
            "inf",
            "zero",
            "tilted",
            "list",
            "flat",
            "32",
            "hidden",
            "wraps",
        ],
    )
    def test_another_is_refused(self, bad: Any) -> None:
        """Fewer columns are a basis, of fewer numbers: three of them would not fit."""
        if bad is GOOD_PART:
            rows = Public(Encoding(("x0", "x1", "x2"), 1.0), "replace", 10)
            assert diagonal_of(moment(3), bad).fits(rows)
            assert not Diagonal(moment(3), 3, GivenBasis(bad)).fits(rows)
            return
        with pytest.raises(
            ParameterError,
            match=r"basis must (be .*, got (something else|one that is not)|have 1 to 2 columns, got 3)\. Hint: ",
        ):
            GivenBasis(bad)

    @pytest.mark.parametrize(("d", "count"), [(4, 3), (2, 3), (3, 2), (3, 4)])
    def test_it_is_of_the_stated_size(self, d: int, count: int) -> None:
        """Orthonormal columns of another length would be those of other rows."""
        with pytest.raises(
            ParameterError, match=r"basis must be a float64 matrix of the stated size, got something else\. Hint: "
        ):
            checked_basis(GOOD, d, count)
        with pytest.raises(ParameterError, match="basis must have 1 to 3 columns, got 0"):
            checked_basis(GOOD[:, :0], 3, 0)

    def test_orthonormal_ones_are_taken(self) -> None:
        for count in (1, 2, 3):
            assert diagonal_of(moment(3), GOOD[:, :count]).parts[0].size == count
        assert diagonal_of(moment(3), GOOD) == diagonal_of(moment(3), GOOD.copy())
        assert diagonal_of(moment(3), GOOD) != diagonal_of(moment(3), np.eye(3))
        assert hash(diagonal_of(moment(3), GOOD)) == hash(diagonal_of(moment(3), GOOD.copy()))

    def test_a_caller_cannot_change_it_afterwards(self) -> None:
        vectors = GOOD.copy()
        question = diagonal_of(moment(3), vectors)
        vectors *= 100
        assert question == diagonal_of(moment(3), GOOD)
        with pytest.raises(ValueError, match="read-only"):
            question.basis.columns[0] = 5.0


class Doubled(SecondMoment):
    """A moment that moves twice as far as its sensitivity says."""

    def of(self, rows: Floats, *, scratch: bool = False) -> Integers:
        return 2 * super().of(rows, scratch=scratch)


BARE = Directions(moment(3), 3)
VALUED = Directions(moment(3), 3, Values(moment(3), 3))


class TestDoor:
    """What the curator must not answer, because its noise would be too small."""

    def curator(self, d: int = 3) -> Watched:
        return watched(ArraySource(np.eye(d)), GRID, PureDP(1), "replace", 970)

    @pytest.mark.parametrize(
        "statistic",
        [
            Spectrum(moment(3), 1),  # one draw for three eigenvalues
            Spectrum(moment(2), 2),
            Spectrum(SecondMoment(Grid(2.0), 3), 3),
            Spectrum(Doubled(GRID, 3), 3),
            diagonal_of(Doubled(GRID, 3), np.eye(3)),
            Values(moment(3), 3),
            Quotients(moment(3), 3),
        ],
        ids=["one draw", "narrow", "grid", "doubled", "doubled diagonal", "values", "quotients"],
    )
    def test_questions(self, statistic: Any) -> None:
        asked = self.curator()
        with pytest.raises(ParameterError, match="question must be about this curator's rows"):
            asked.curator.noisy(statistic, PureDP(1), noise="laplace")
        assert asked.untouched

    @pytest.mark.parametrize(
        "measure",
        [
            Values(moment(3), 4),  # the last direction would be valued twice for the price of once
            Values(moment(3), 0),
            Values(moment(2), 2),
            Values(Doubled(GRID, 3), 3),
            Quotients(Doubled(GRID, 3), 3),
            Spectrum(moment(3), 3),
            diagonal_of(moment(3), np.eye(3)),
        ],
        ids=["four", "none", "narrow", "doubled", "doubled quotients", "spectrum", "diagonal"],
    )
    @pytest.mark.parametrize("paid", [True, False])
    def test_peels(self, measure: Any, paid: bool) -> None:
        asked, half = self.curator(), PureDP("0.5")
        questions = [Directions(measure.moment, measure.count, measure)]
        if measure.moment != moment(3) or measure.count != 3:  # neither do the directions fit
            questions.append(Directions(measure.moment, measure.count))
        for question in questions:
            with pytest.raises(ParameterError, match="question must be about this curator's rows"):
                asked.curator.peel(question, half, half if paid else None, noise="laplace")
        assert asked.untouched

    @pytest.mark.parametrize(
        "measure",
        [Values(moment(3), 2), Values(SecondMoment(Grid(0.5), 3), 3), Values(moment(2), 3)],
        ids=["two", "half", "narrow"],
    )
    def test_values_are_along_these_directions(self, measure: Values) -> None:
        """As many, and of the same rows."""
        asked, half = self.curator(), PureDP("0.5")
        with pytest.raises(ParameterError, match="question must be about this curator's rows"):
            asked.curator.peel(Directions(moment(3), 3, measure), half, half, noise="laplace")
        assert asked.untouched

    def test_values_and_their_budget_come_together(self) -> None:
        asked, half = self.curator(), PureDP("0.5")
        for question, values in ((VALUED, None), (BARE, half)):
            with pytest.raises(
                ParameterError, match=r"values must be asked for together with their budget, got only one .* Hint: "
            ):
                asked.curator.peel(question, half, values, noise="laplace")
        assert asked.untouched

    def test_a_notion_that_directions_do_not_have(self) -> None:
        curator = opened(ArraySource(np.eye(3)), GRID, ApproxDP(1, "1e-6"), "replace", SeededBits(970))
        budget: Any = ApproxDP(1, "1e-6")
        with pytest.raises(ParameterError, match=r"directions must be a PureDP or ZCDP, got .* Hint: "):
            curator.peel(BARE, budget, noise="laplace")

    def test_sums_that_may_have_wrapped(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Under add-remove the number of rows is not checked before; eigenvalues of wrapped sums have no sensitivity."""
        monkeypatch.setattr(ArraySource, "n", property(lambda _: 2**30 + 1))
        questions: list[Callable[[Curator], object]] = [
            lambda curator: curator.noisy(Spectrum(moment(3), 3), PureDP(1), noise="laplace"),
            lambda curator: curator.peel(BARE, PureDP(1), noise="laplace"),
        ]
        for question in questions:
            asked = watched(ArraySource(np.eye(3)), GRID, PureDP(1), "add-remove", 970)
            with pytest.raises(ParameterError, match="at most"):
                question(asked.curator)
            assert asked.account.charged == []

    def test_the_whole_peel_is_charged_at_once(self) -> None:
        """Before the first draw, whether or not it is ever closed."""
        asked = self.curator()
        curator = asked.curator
        with pytest.raises(BudgetError, match="charges must fit into the budget"):
            curator.peel(VALUED, PureDP("0.5"), PureDP("0.6"), noise="laplace")
        curator.peel(VALUED, PureDP("0.5"), PureDP("0.4"), noise="laplace")
        assert asked.account.charged == [PureDP("0.5"), PureDP("0.4")]
        with pytest.raises(BudgetError, match="charges must fit into the budget"):
            curator.peel(Directions(moment(3), 1), PureDP("0.2"), noise="laplace")
        curator.peel(Directions(moment(3), 1), PureDP("0.1"), noise="laplace")
        with pytest.raises(BudgetError, match="charges must fit into the budget"):
            curator.noisy(Spectrum(moment(3), 3), PureDP("1e-9"), noise="laplace")

    def test_what_the_spectrum_and_the_diagonal_answer(self) -> None:
        """Noise far below a step: the exact numbers, descending, and along the given columns."""
        rows = np.array([[0.5, 0.0], [0.0, 1.0], [0.3, 0.4]])
        exact = to_floats(total(rows), moment(2))
        for budget, noise in ((PureDP("1e9"), "laplace"), (ZCDP("1e18"), "gaussian")):
            curator = opened(ArraySource(rows), GRID, budget, "replace", SeededBits(971))
            half: Budget = budget.share(Fraction(1, 2))
            answer = curator.noisy(Spectrum(moment(2), 2), half, noise=noise)
            assert np.allclose(answer.values, np.linalg.eigvalsh(exact)[::-1], rtol=0, atol=1e-3)
            turned = basis(2, 972)
            answer = curator.noisy(diagonal_of(moment(2), turned), half, noise=noise)
            assert np.allclose(answer.values, (turned.T @ exact @ turned).diagonal(), rtol=0, atol=1e-3)
            assert [spend.asked for one in curator.answers for spend in one.spent] == ["spectrum", "diagonal in a basis"]


def definite(d: int, seed: int) -> Floats:
    turned = basis(d, seed)
    matrix = (turned * (1 + np.arange(d) ** 2)) @ turned.T
    return (matrix + matrix.T) / 2


class RandomDirections(Noiseless):
    """A sampler without noise whose directions are uniform: deflation is seen away from eigenvectors."""

    def direction(self, matrix: Floats, concentration: float, guess: Floats, fixed: bool) -> Floats:  # noqa: ARG002
        vector = np.random.default_rng(len(matrix)).normal(size=len(matrix))
        return np.asarray(vector / np.linalg.norm(vector))


def peeled(d: int, kind: type[Values] = Values, *, paid: bool = True, count: int | None = None) -> tuple[Curator, Peel]:
    """Open a scripted peel whose values carry no noise."""
    curator = scripted([definite(d, 980 + d)], n=100, d=d, budget=PureDP(2), sampler=RandomDirections())
    number = d if count is None else count
    question = Directions(moment(d), number, kind(moment(d), number) if paid else None)
    return curator, curator.peel(question, PureDP(1), PureDP(1) if paid else None, noise="laplace")


class TestPeel:
    @pytest.mark.parametrize("d", [1, 2, 3, 5, 30])
    def test_directions_are_orthonormal_and_values_lie_along_them(self, d: int) -> None:
        curator, peel = peeled(d)
        values = []
        for i in range(d):
            peel.direction(peel.left / (2 if i < d - 2 else 1))
            values.append(peel.value())
        answer = peel.close()
        assert curator.answers == (answer,)
        assert isinstance(answer.question, Directions)
        rows = directions_of(answer)
        assert rows.shape == (d, d)
        assert np.abs(rows @ rows.T - np.eye(d)).max() < 1e-5
        exact = np.einsum("ij,jk,ik->i", rows, definite(d, 980 + d), rows)
        assert np.allclose(values, exact, rtol=1e-5, atol=1e-4)
        assert np.ldexp(answer.question.told(answer.integers).astype(float), -16).tolist() == values
        assert math.fsum(values) == pytest.approx(float(np.trace(definite(d, 980 + d))), abs=1e-3)
        assert answer.question.admits(answer.integers)
        assert isinstance(answer.law, Bingham)
        assert len(answer.law.concentrations) == answer.question.drawn == d - 1  # the last one is determined
        assert answer.charges == (PureDP(1), PureDP(1))
        assert peel.left == (1 if d == 1 else 0)

    @pytest.mark.parametrize("sign", [1.0, -1.0])
    @pytest.mark.parametrize("d", [2, 3, 8])
    def test_projection(self, d: int, sign: float) -> None:
        """The deflated matrix is C in a basis of what is orthogonal to the direction; H maps the direction to an axis."""
        matrix = definite(d, 990)
        for vector in (*basis(d, 991), sign * np.eye(d)[0], sign * np.eye(d)[-1]):
            reflector = reflector_of(vector)
            householder = np.eye(d) - 2 * np.outer(reflector, reflector)
            assert np.allclose(np.abs(householder @ vector), np.eye(d)[0], rtol=0, atol=1e-14)
            rest = householder[:, 1:]
            assert np.allclose(vector @ rest, 0, rtol=0, atol=1e-14)
            assert np.allclose(_projected(matrix, reflector), rest.T @ matrix @ rest, rtol=0, atol=1e-12)

    def test_subtraction(self) -> None:
        _, peel = peeled(3, Quotients)
        peel.direction(Fraction(1, 2))
        vector = peel._vectors[0]
        value = peel.value()
        exact = definite(3, 983)
        assert value == pytest.approx(float(vector @ exact @ vector), abs=1e-4)
        assert np.allclose(peel._matrix, exact - value * np.outer(vector, vector), rtol=0, atol=1e-6)

    @pytest.mark.parametrize("shares", [["1/2", "1/2", "1/1000"], ["1", "1/1000"], ["1001/1000"], ["0"], ["-1/2"]])
    def test_shares_beyond_the_whole_are_refused(self, shares: list[str]) -> None:
        """And a share that is refused is not taken."""
        _, peel = peeled(5)
        for share in shares[:-1]:
            peel.direction(Fraction(share))
            peel.value()
        left = peel.left
        with pytest.raises(BudgetError, match=r"share must be above 0 and at most .* Hint: "):
            peel.direction(Fraction(shares[-1]))
        assert (peel.left, len(peel._vectors)) == (left, len(shares) - 1)

    def test_the_last_direction_is_free(self) -> None:
        _, peel = peeled(2)
        peel.direction(Fraction(1))
        peel.value()
        peel.direction(Fraction(0))
        peel.value()
        with pytest.raises(ParameterError, match=r"direction\(\) must be called once for each direction"):
            peel.direction(Fraction(0))

    def test_the_order_of_questions(self) -> None:
        curator, peel = peeled(3)
        for early in (peel.value, peel.skip):
            with pytest.raises(ParameterError, match="must be drawn before"):
                early()
        peel.direction(Fraction(1, 3))
        with pytest.raises(ParameterError, match=r"direction\(\) must be called once for each direction"):
            peel.direction(Fraction(1, 3))
        peel.value()
        for twice in (peel.value, peel.skip):
            with pytest.raises(ParameterError, match="must be drawn before"):
                twice()
        peel.direction(Fraction(1, 3))
        peel.value()
        with pytest.raises(ParameterError, match="all directions must be drawn, with the values that were paid for"):
            peel.close()
        peel.direction(Fraction(1, 3))
        with pytest.raises(ParameterError, match="all directions must be drawn, with the values that were paid for"):
            peel.close()
        peel.value()
        peel.close()
        for late in (peel.close, peel.value, peel.skip, lambda: peel.direction(Fraction(1, 3))):
            with pytest.raises(ParameterError, match=r" must .* got .*\. Hint: "):
                late()
        assert [spend.asked for one in curator.answers for spend in one.spent] == ["directions", "diagonal"]

    def test_a_run_that_was_given_up_answers_nothing(self) -> None:
        curator, peel = peeled(2)
        peel.direction(Fraction(1))
        curator.forget()
        for late in (peel.value, peel.skip):
            with pytest.raises(ParameterError, match="must be drawn before"):
                late()

    def test_it_is_closed_once_and_says_so(self) -> None:
        _, peel = peeled(2, paid=False)
        for _ in range(2):
            peel.direction(Fraction(1, 2))
            peel.skip()
        peel.close()
        with pytest.raises(ParameterError, match=r"must still be open, got a closed one\. Hint: call close\(\) once"):
            peel.close()

    def test_a_record_that_was_interrupted_is_not_made_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The answer may be on record already: a second close would record the same draws twice."""
        _, peel = peeled(2, paid=False)
        for _ in range(2):
            peel.direction(Fraction(1, 2))
            peel.skip()

        def interrupted(_: object) -> Any:
            raise KeyboardInterrupt

        monkeypatch.setattr(peel, "_record", interrupted)
        with pytest.raises(KeyboardInterrupt):
            peel.close()
        assert peel.closed
        with pytest.raises(ParameterError, match="must still be open"):
            peel.close()

    def test_a_value_that_was_paid_for_is_not_skipped(self) -> None:
        """A record would have fewer values than its question says."""
        curator, peel = peeled(2)
        peel.direction(Fraction(1))
        peel.skip()
        peel.direction(Fraction(0))
        peel.value()
        with pytest.raises(ParameterError, match="all directions must be drawn, with the values that were paid for"):
            peel.close()
        assert curator.answers == ()

    def test_no_more_directions_than_were_asked_for(self) -> None:
        _, peel = peeled(5, count=1)
        peel.direction(Fraction(1, 2))
        peel.value()
        with pytest.raises(ParameterError, match="got a call out of turn"):
            peel.direction(Fraction(1, 2))

    def test_values_that_were_not_paid_for(self) -> None:
        _, peel = peeled(3, paid=False)
        peel.direction(Fraction(1, 2))
        with pytest.raises(ParameterError, match="values must be paid for"):
            peel.value()
        assert math.isnan(peel.skip())

    def test_what_is_subtracted_must_be_valued(self) -> None:
        _, peel = peeled(3, Quotients)
        peel.direction(Fraction(1, 2))
        with pytest.raises(ParameterError, match="must get a value before it is subtracted"):
            peel.skip()

    def test_at_most_only_adds_noise(self) -> None:
        _, peel = peeled(5)
        for at_most, expected in (
            (Fraction(1, 100), Fraction(1, 100)),
            (Fraction(10**9), Fraction(1, 8)),
            (None, Fraction(1, 8)),
        ):
            peel.direction(Fraction(1, 4), at_most=at_most)
            peel.value()
            assert peel._concentrations[-1] == expected
        for bad in (Fraction(0), Fraction(-1)):
            with pytest.raises(ParameterError, match="at_most must be above 0"):
                peel.direction(Fraction(1, 4), at_most=bad)
        assert peel.left == Fraction(1, 4)

    def test_a_concentration_that_float64_cannot_hold_is_lowered(self) -> None:
        """From about 1e17 on κ and 2cλ₁ are one number and no proposal is ever accepted."""
        curator = scripted([definite(2, 982)], n=100, d=2, budget=PureDP("1e300"), sampler=RandomDirections())
        half = PureDP("1e299")
        peel = curator.peel(Directions(moment(2), 2, Values(moment(2), 2)), half, half, noise="laplace")
        peel.direction(Fraction(1))
        assert peel._concentrations == [MAX_CONCENTRATION]
        assert MAX_CONCENTRATION * 2**30 < 2**50


def test_a_release_waits_for_the_last_peel() -> None:
    """A mechanism that left one open would release less than it charged for; what was open is shut, and on no record."""
    left: list[PeelFace] = []
    faces: list[Face] = []

    def ask(curator: Face, budget: Budget) -> None:
        faces.append(curator)
        curator.noisy(moment(3), budget.share(Fraction(1, 2)), noise="laplace")
        if len(faces) == 1:
            return  # the rehearsal, which would refuse it before anything is spent
        quarter = PureDP(1).share(Fraction(1, 4))
        left.append(curator.peel(VALUED, quarter, quarter, noise="laplace"))

    careless = Mechanism(target="covariance", name="careless", serves=(PureDP,), ask=ask, estimate=from_noisy_moment)
    curator = opened(ArraySource(np.eye(3)), Grid(1.0), PureDP(1), "replace", SeededBits(0))
    with pytest.raises(ParameterError, match="every peel must be closed"):
        released(careless, curator, PureDP(1))
    assert [answer.question for answer in curator.answers] == [moment(3)]
    for late in (left[0].close, left[0].value, left[0].skip, lambda: left[0].direction(Fraction(1, 3))):
        with pytest.raises(ParameterError, match=r" must .* got .*\. Hint: "):
            late()


def test_a_decomposition_that_fails_says_nothing_of_the_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> None:
        raise np.linalg.LinAlgError("424242")

    monkeypatch.setattr(np.linalg, "eigvalsh", fails)
    asked = watched(ArraySource(np.eye(3)), Grid(1.0), PureDP(2))
    with pytest.raises(EngineError, match="must converge") as caught:
        asked.curator.peel(VALUED, PureDP(1), PureDP(1), noise="laplace")
    assert caught.value.__context__ is None
    assert (asked.done, asked.account.charged) == (["read"], [])


def test_the_search_for_kappa_ends_on_nonsense() -> None:
    assert math.isnan(best_kappa(np.array([np.nan, np.nan]), 1.0))
