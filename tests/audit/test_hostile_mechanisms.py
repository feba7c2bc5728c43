"""What a mechanism could try against the curator that it is handed: each would leak, or spend for nothing, and is refused.

Every case here was once possible, or is what a reviewer tried first. Nothing is random: refusals, and exact equality.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import dpcov
from dpcov.errors import BudgetError, ParameterError, ReleaseError
from dpcov.kernel.account import Account
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.curator import Curator
from dpcov.kernel.face import Face
from dpcov.kernel.questions.along import Diagonal, Explained
from dpcov.kernel.questions.basis import EigenvectorsOf, GivenBasis
from dpcov.kernel.questions.bins import Bins, Rank
from dpcov.kernel.questions.choices import Quantile, Radius
from dpcov.kernel.questions.columns import Squares
from dpcov.kernel.questions.derived import OfMoment
from dpcov.kernel.questions.directions import Directions, Subspace
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.questions.overlap import Overlap
from dpcov.kernel.questions.spectral import Values
from dpcov.kernel.rows.aside import USUAL_PEOPLE, aside_of
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.frames import Box
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms.base import Alias
from dpcov.mechanisms.running import released
from dpcov.release.estimate import Estimate
from dpcov.release.record import Transcript
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import opened
from tests.helpers.by_hand import by_hand
from tests.helpers.watched import watched

D = 3
TINY = dpcov.PureDP("1/1000")


def curator() -> Curator:
    rows = np.random.default_rng(7).normal(size=(50, D)) * 0.4
    return opened(ArraySource(rows), Grid(1.5), dpcov.PureDP(3), bits=SeededBits(0))


def charged(made: Curator) -> list[Any]:
    return [charge for answer in made.answers for charge in answer.charges]


class Spy(OfMoment):
    """A question that is none of the proved ones: it would keep the exact sum."""

    name = "spy"
    seen: NDArray[np.int64] | None = None

    def of_moment(self, total: NDArray[np.int64]) -> NDArray[np.int64]:
        type(self).seen = total
        raise ParameterError("seen")


CHOICES: dict[str, Callable[[Face], Any]] = {
    "a radius among sums": lambda face: face.first_above(Radius(face.second_moment(), 3), TINY),  # type: ignore[arg-type]
    "a quantile among sums": lambda face: face.choose(Quantile(face.second_moment(), 3, 1, (1,)), TINY),  # type: ignore[arg-type]
    "a rank among directions": lambda face: face.choose(Rank(Subspace(face.second_moment(), 2), 0, 1), TINY),  # type: ignore[arg-type]
    "a rank among what is kept": lambda face: face.choose(Rank(Spy(face.second_moment()), 0, 0), TINY),  # type: ignore[abstract, arg-type]
}


@pytest.mark.parametrize("ask", CHOICES.values(), ids=CHOICES)
def test_choices_are_made_from_proved_counts(ask: Callable[[Face], Any]) -> None:
    """Sums move by far more than counts do: noise for counts would show them."""
    made = curator()
    with pytest.raises((ParameterError, AttributeError, TypeError)):
        ask(Face(made))
    assert charged(made) == []
    assert Spy.seen is None


class TestBases:
    def test_what_is_used_is_what_was_checked(self) -> None:
        """A basis that is longer than it was would stretch the numbers out of the noise."""
        made = curator()
        face, basis = Face(made), GivenBasis(np.eye(D))
        with pytest.raises(AttributeError):
            basis.columns = np.eye(D) * 2.0**14
        basis.columns.flags.writeable = True
        basis.columns[:] = np.eye(D) * 2.0**14
        with pytest.raises(ParameterError, match="orthonormal"):
            face.noisy(Diagonal.of(face.second_moment(), basis), TINY, noise="laplace")
        with pytest.raises(ParameterError, match="orthonormal"):
            face.noisy(Overlap(face.second_moment(), basis, (1.0,) * D), TINY, noise="laplace")
        assert charged(made) == []

    def test_eigenvectors_are_those_of_the_answer(self) -> None:
        """Whatever is done to a basis that was found in one: the question finds it again."""
        answers = []
        for factor in (1.0, 2.0):
            made = curator()
            face = Face(made)
            moment = face.second_moment()
            basis = EigenvectorsOf(face.noisy(moment, TINY, noise="laplace"))
            basis.columns.flags.writeable = True
            basis.columns[:] *= factor
            answers.append(face.noisy(Diagonal.of(moment, basis), TINY, noise="laplace"))
            assert charged(made) == [TINY, TINY]
        assert answers[0].integers.tolist() == answers[1].integers.tolist()

    def test_what_is_decomposed_once_for_all_cannot_be_changed(self) -> None:
        face = Face(curator())
        for found in face.noisy(face.second_moment(), TINY, noise="laplace").decomposition:
            with pytest.raises(ValueError, match="read-only"):
                found[:] = 0.0

    def test_a_basis_is_refused_before_anything_is_read(self) -> None:
        """An exact sum that was read would stand in the traceback of the refusal."""
        asked = watched(ArraySource(np.eye(D)), Grid(1.5), dpcov.PureDP(3))
        face = Face(asked.curator)
        moment = face.second_moment()
        answer = face.noisy(moment, TINY, noise="laplace")
        values, vectors = answer.decomposition
        vars(answer)["decomposition"] = (values, 2 * vectors)
        before = list(asked.done)
        for question in (Diagonal, Explained):
            with pytest.raises(ParameterError, match="orthonormal"):
                face.noisy(question.of(moment, EigenvectorsOf(answer, 2)), TINY, noise="laplace")
        with pytest.raises(ParameterError, match="orthonormal"):
            face.noisy(Overlap(moment, EigenvectorsOf(answer), (1.0,) * D), TINY, noise="laplace")
        assert asked.done == before

    def test_what_a_draw_is_told_is_checked_before_anything_is_read(self) -> None:
        """Objects whose truth is computed would be asked for it beside the exact sum."""
        asked = watched(ArraySource(np.eye(D)), Grid(1.5), dpcov.PureDP(3))
        face, other = Face(asked.curator), Certain()
        strange: list[Any] = [other, [], 0.0]
        for sweeps in strange:
            with pytest.raises(ParameterError, match="sweeps must be an integer"):
                face.subspace(Subspace(face.second_moment(), 2), TINY, sweeps=sweeps)
        with pytest.raises(ParameterError, match="fixed must be True or False"):
            face.peel(Directions(face.second_moment(), 1), TINY, noise="laplace", fixed=other)  # type: ignore[arg-type]
        assert asked.untouched

    def test_answers_of_others_are_no_basis(self) -> None:
        """A file could not say what was asked."""
        other = Face(curator())
        foreign = other.noisy(other.second_moment(), TINY, noise="laplace")
        made = curator()
        face = Face(made)
        with pytest.raises(ParameterError, match="come from an answer of this curator"):
            face.noisy(Diagonal.of(face.second_moment(), EigenvectorsOf(foreign)), TINY, noise="laplace")
        assert charged(made) == []


def put(frozen: Any, **attributes: Any) -> None:
    """Set attributes of what is frozen."""
    for name, value in attributes.items():
        object.__setattr__(frozen, name, value)


class TestWhatIsKept:
    """Budgets, questions and answers are frozen, which stops mistakes: who means to can still set what they hold."""

    HALF = dpcov.PureDP("3/2")

    def test_a_budget_that_shrinks_after_it_was_charged(self) -> None:
        made = curator()
        face, mine = Face(made), dpcov.PureDP("3/2")
        answer = face.noisy(face.second_moment(), mine, noise="laplace")
        put(mine, epsilon=Fraction(1, 1000))
        assert answer.charges == (self.HALF,)
        face.noisy(face.second_moment(), self.HALF, noise="laplace")
        with pytest.raises(BudgetError):
            face.noisy(face.second_moment(), TINY, noise="laplace")

    def test_nor_one_in_an_answer(self) -> None:
        made = curator()
        face = Face(made)
        for _ in range(2):
            answer = face.noisy(face.second_moment(), self.HALF, noise="laplace")
            put(answer.charges[0], epsilon=Fraction(1, 1000))
        with pytest.raises(BudgetError):
            face.noisy(face.second_moment(), TINY, noise="laplace")

    def test_nor_directions(self) -> None:
        made = curator()
        face, mine, own = Face(made), dpcov.PureDP(1), dpcov.PureDP(2)
        moment = face.second_moment()
        peel = face.peel(Directions(moment, 1, Values(moment, 1)), mine, own, noise="laplace")
        for budget in (mine, own):
            put(budget, epsilon=Fraction(100))
        peel.direction(Fraction(1))
        peel.value()
        answer = peel.close()
        assert answer.charges == (dpcov.PureDP(1), dpcov.PureDP(2))
        assert answer.law.to_json() == {"1": "1/2"}
        with pytest.raises(BudgetError):
            face.noisy(moment, TINY, noise="laplace")

    def test_a_budget_that_grows(self) -> None:
        """The mechanism is handed the budget of the whole run, and that is not the one of the account."""

        calls = []

        def ask(face: Face, budget: Any) -> None:
            calls.append(budget)
            if len(calls) == 1:  # a rehearsal would refuse it
                return
            put(budget, epsilon=Fraction(10**6))
            face.noisy(face.second_moment(), dpcov.PureDP(10), noise="laplace")

        with pytest.raises(BudgetError):
            dpcov.covariance(np.zeros((9, D)), dpcov.PureDP(1), row_norm=1.0, mechanism=by_hand(ask))

    def test_an_account_has_a_budget_of_its_own(self) -> None:
        """Whoever still holds the one that it was opened with cannot make it pay for more."""
        budget = dpcov.PureDP(1)
        account = Account(budget)
        put(budget, epsilon=Fraction(10**6))
        with pytest.raises(BudgetError):
            account.charge(dpcov.PureDP(10))

    def test_nor_does_that_of_the_caller(self) -> None:
        """Who spends the same budget again on other rows would spend another one."""

        def ask(face: Face, budget: Any) -> None:
            face.noisy(face.second_moment(), TINY, noise="laplace")
            put(budget, epsilon=Fraction(10**6))

        budget = dpcov.PureDP(1)
        dpcov.covariance(np.zeros((9, D)), budget, row_norm=1.0, mechanism=by_hand(ask))
        assert budget == dpcov.PureDP(1)

    @pytest.mark.parametrize(
        "own", [lambda asked: asked.__dict__.update, lambda asked: partial(put, asked)], ids=["vars", "set"]
    )
    def test_a_question_with_a_sensitivity_of_its_own(self, own: Callable[[Any], Callable[..., None]]) -> None:
        made = curator()
        face = Face(made)
        sound, moment = face.noisy(face.second_moment(), TINY, noise="laplace"), face.second_moment()
        own(moment)(sensitivity_l1=lambda neighbors: Fraction(1, 10**6))  # noqa: ARG005
        answer = face.noisy(moment, TINY, noise="laplace")
        assert answer.law == sound.law
        assert "sensitivity_l1" not in vars(answer.question)

    def test_numbers_that_are_others_by_now(self) -> None:
        made = curator()
        face = Face(made)
        rounded, wider = face.second_moment(0.5), face.second_moment()
        put(rounded.grid, bits=16.0)
        with pytest.raises(ParameterError, match="bits must be an int"):
            face.noisy(rounded, TINY, noise="laplace")
        put(wider, d=float(D))
        with pytest.raises(ParameterError, match="about this curator's rows"):
            face.noisy(Diagonal.of(wider, GivenBasis(np.eye(D))), TINY, noise="laplace")
        assert charged(made) == []

    def test_a_fraction_that_changes(self) -> None:
        made = curator()
        face, bound = Face(made), Fraction(1, 10**4)
        moment = face.second_moment()
        answer = face.subspace(Subspace(moment, 2), TINY, sweeps=1, at_most=bound)
        put(bound, _numerator=5)
        assert answer.law.to_json()["concentration"] == "1/10000"

    def test_a_release_that_no_file_would_hold(self) -> None:
        """What was answered is in the hands of the mechanism: it is looked at as the reading of a file does."""

        def ask(face: Face, budget: Any) -> None:
            answer = face.noisy(face.second_moment(), budget, noise="laplace")
            put(answer.law, scale=Fraction(1))

        with pytest.raises(ReleaseError, match="less noise than the promise needs"):
            dpcov.covariance(np.zeros((9, D)), dpcov.PureDP(1), row_norm=1.0, mechanism=by_hand(ask))


def one_column(facts: Any) -> None:
    """Say that rows have one column, in all that is held."""
    put(facts.encoding, feature_names=("x0",))
    if facts.encoding.schema is not None:
        put(facts.encoding.schema, columns={"x0": dpcov.Numeric(-1, 1)})


class TestEncodings:
    """Counts in bins move once for each column: who could say that there is one would have the noise for one."""

    BINS = Bins(Box((0.0,), (1.0,)), 1, 4)

    @pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
    def test_it_is_not_that_of_the_curator(self, neighbors: str) -> None:
        def ask(face: Face, budget: Any) -> None:
            one_column(face)
            assert face.d == 1
            face.noisy(self.BINS, budget, noise="laplace")

        made = opened(ArraySource(np.full((9, D), 0.5)), Grid(1.0), dpcov.PureDP(1), neighbors=neighbors)
        with pytest.raises(ParameterError, match="about this curator's rows"):
            ask(Face(made), dpcov.PureDP(1))
        assert charged(made) == []
        assert made.public.d == D
        with pytest.raises(ParameterError, match="about this curator's rows"):
            dpcov.covariance(np.full((9, D), 0.5), dpcov.PureDP(1), row_norm=1, neighbors=neighbors, mechanism=by_hand(ask))

    def test_nor_is_what_its_least_shares_are_told_by(self) -> None:
        """They are declared before the run, which would then find another encoding."""

        def least(public: Any, budget: Any) -> list[Any]:
            one_column(public)
            put(budget, epsilon=Fraction(10**6))
            return []

        def ask(face: Face, budget: Any) -> None:
            assert (face.d, budget) == (D, dpcov.PureDP(1))
            face.noisy(face.second_moment(), budget, noise="laplace")

        mine = replace(by_hand(ask), least=least)
        assert dpcov.covariance(np.full((9, D), 0.5), dpcov.PureDP(1), row_norm=1, mechanism=mine).d == D

    def test_nor_is_what_a_name_is_resolved_by(self) -> None:
        def resolve(public: Any, budget: Any, postprocess: str | None) -> Any:
            one_column(public)
            put(budget, epsilon=Fraction(10**6))
            return dpcov.MECHANISMS["covariance"]["laplace"], postprocess, {}

        mine = Alias(target="covariance", name="any", serves=(dpcov.PureDP,), resolve=resolve)
        assert dpcov.covariance(np.full((9, D), 0.5), dpcov.PureDP(1), row_norm=1, mechanism=mine).d == D

    def test_nor_its_schema(self) -> None:
        schema = dpcov.Schema({name: dpcov.Numeric(-1, 1) for name in "abc"})

        def ask(face: Face, budget: Any) -> None:
            put(face.encoding.schema.columns["a"], upper=1e9)  # type: ignore[union-attr]
            one_column(face)
            face.noisy(SecondMoment(Grid(1.0), D), budget, noise="laplace")

        table = {name: [0.5] * 9 for name in "abc"}
        release = dpcov.covariance(pa.table(table), dpcov.PureDP(1), schema=schema, center=False, mechanism=by_hand(ask))
        assert release.schema == schema
        assert list(schema.columns.values()) == [dpcov.Numeric(-1, 1)] * D

    def test_nor_its_groups(self) -> None:
        def ask(face: Face, budget: Any) -> None:
            put(face.encoding.groups, levels=("south", "north"))
            face.noisy(face.grouped_moment(), budget.share(Fraction(1, 2)), noise="laplace")
            face.noisy(face.group_counts(), budget.share(Fraction(1, 2)), noise="laplace")

        made = replace(by_hand(ask), groups=True)
        table = pa.table({"x": [0.5] * 9, "where": ["north"] * 9})
        release = dpcov.covariance(table, dpcov.PureDP(1), row_norm=1, mechanism=made, by={"where": ["north", "south"]})
        assert release.groups == ("north", "south")

    @pytest.mark.parametrize(
        "said", [{"max_weight": float("nan")}, {"share_bits": 1}, {"weight": "", "most_rows": 0}], ids=repr
    )
    def test_nor_what_stands_beside_its_rows(self, said: dict[str, Any]) -> None:
        """Answers show their questions, which say how people and weights are counted: who sets that has set a copy."""
        rows = np.column_stack([np.full((9, D), 0.5), np.ones(9), np.ones(9)])

        def ask(face: Face, budget: Any) -> None:
            own = replace(face.encoding.aside)  # type: ignore[type-var]
            first = face.noisy(Squares(face.second_moment()), budget.share(Fraction(1, 3)), noise="laplace")
            for shown in (first.question, first.question.moment, face.encoding, face.second_moment()):  # type: ignore[attr-defined]
                put(shown.aside, **said)
            second = face.noisy(face.second_moment(), budget.share(Fraction(1, 3)), noise="laplace")
            assert second.question.aside == own
            face.ask_n(budget.share(Fraction(1, 3)))

        asked: dict[str, Any] = {"unit": f"x{D}", "weight": f"x{D + 1}", "max_weight": 1.0}
        release = dpcov.covariance(rows, dpcov.PureDP(1), row_norm=1, mechanism=by_hand(ask), **asked)
        assert release.encoding.aside == aside_of(f"x{D}", 16, USUAL_PEOPLE, 0, f"x{D + 1}", 1.0)


class Greedy(Fraction):
    """A share that leaves all of the budget."""

    def __rsub__(self, other: Any) -> Any:
        return other


class Certain:
    """A bound on the concentration that binds nothing."""

    def __lt__(self, other: object) -> bool:
        return True

    def __le__(self, other: object) -> bool:
        return False

    def __float__(self) -> float:
        return 1e12


class TestDirections:
    def peel(self, made: Curator) -> Any:
        face = Face(made)
        moment = face.second_moment()
        return face.peel(Directions(moment, 2, Values(moment, 2)), TINY, TINY, noise="laplace")

    def test_shares_are_exact_fractions(self) -> None:
        with pytest.raises(BudgetError, match="share must be"):
            self.peel(curator()).direction(Greedy(1, 2))

    @pytest.mark.parametrize("bound", [Certain(), 0.25])
    def test_bounds_are_exact_fractions(self, bound: Any) -> None:
        with pytest.raises(ParameterError, match="at_most must be a Fraction"):
            self.peel(curator()).direction(Fraction(1, 2), at_most=bound)

    def test_all_are_drawn_and_valued(self) -> None:
        """A shorter answer would be paid for, and in no file."""
        peel = self.peel(curator())
        peel.direction(Fraction(1, 2))
        peel.value()
        with pytest.raises(ParameterError, match="all directions must be drawn"):
            peel.close()
        peel.direction(Fraction(1, 2))
        peel.value()
        assert len(peel.close().integers) == 2 * D + 2

    def test_the_matrix_is_not_to_be_had(self) -> None:
        peel = self.peel(curator())
        assert not [name for name in dir(peel) if isinstance(getattr(peel, name), np.ndarray)]
        assert not hasattr(peel, "__dict__")


def test_columns_are_those_of_the_source() -> None:
    """Counts in bins move once for each column: fewer names would mean less noise."""
    source = ArraySource(np.zeros((4, D)))
    with pytest.raises(ParameterError, match="columns of the source"):
        opened(source, Encoding(("x0",), 1.0), dpcov.PureDP(1))
    made = opened(source, Encoding(source.feature_names, 1.0), dpcov.PureDP(1))
    Face(made).noisy(Bins(Box((0.0,) * D, (1.0,) * D), D, 2), TINY, noise="laplace")


@pytest.mark.parametrize(
    ("note", "kept"),
    [
        (object(), "a value of type Face"),
        (float("inf"), "inf"),
        ([[[1]]], "a value of type list"),
        (10**30, str(10**30)),
        (Fraction(10**400, 3), f"{Fraction(10**400, 3)!r:.57}..."),
    ],
    ids=["an object", "infinite", "deep", "long", "beyond floats"],
)
def test_notes_are_what_a_file_can_hold(note: Any, kept: str) -> None:
    """A curator in a note would lead from the release to the rows; the release, which is paid for, keeps its type as text."""

    def ask(curator: Face, budget: Any) -> dict[str, Any]:
        curator.noisy(curator.second_moment(), budget, noise="laplace")
        return {"x": curator if type(note) is object else note}

    def estimate(transcript: Transcript, postprocess: str) -> Estimate:
        raise NotImplementedError

    mine = dpcov.Mechanism(target="covariance", name="mine", serves=(dpcov.PureDP,), ask=ask, estimate=estimate)
    assert dict(released(mine, curator(), dpcov.PureDP(1)).notes) == {"x": kept}


@pytest.mark.parametrize("value", [object(), float("nan"), {"a": 1}], ids=["an object", "NaN", "a dictionary"])
def test_options_are_what_a_file_can_hold(value: Any) -> None:
    """Found out before anything is spent."""

    def ask(curator: Face, budget: Any, *, own: Any = 0) -> None:  # noqa: ARG001
        raise AssertionError("asked")

    def estimate(transcript: Transcript, postprocess: str, *, own: Any = 0) -> Estimate:
        raise NotImplementedError

    mine = dpcov.Mechanism(target="covariance", name="mine", serves=(dpcov.PureDP,), ask=ask, estimate=estimate)
    made = curator()
    with pytest.raises(ParameterError, match="options must be"):
        released(mine, made, dpcov.PureDP(1), own=value)
    assert charged(made) == []


@pytest.mark.parametrize("value", [object(), float("nan"), {"a": 1}], ids=["an object", "NaN", "a dictionary"])
def test_options_of_an_alias_are_what_a_file_can_hold(value: Any) -> None:
    """Also where what it stands for gets another one of the same name."""

    def ask(curator: Face, budget: Any, *, own: Any = 0) -> None:  # noqa: ARG001
        curator.noisy(curator.second_moment(), budget, noise="laplace")

    def resolve(public: Any, budget: Any, postprocess: str | None, *, own: Any = 0) -> Any:  # noqa: ARG001
        return by_hand(ask), postprocess, {"own": 1.0}

    alias = Alias(target="covariance", name="mine", serves=(dpcov.PureDP,), resolve=resolve)
    made = curator()
    with pytest.raises(ParameterError, match="options must be"):
        released(alias, made, dpcov.PureDP(1), own=value)
    assert charged(made) == []
