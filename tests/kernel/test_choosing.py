"""Choosing, searching and holding: refuse, read, charge, draw, record, in that order; each step is made to fail in turn."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcov.errors import BudgetError, EngineError, ParameterError
from dpcov.kernel.account import Account
from dpcov.kernel.answer import Answer
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.noise.choice import MAX_RATE, Exponential, SparseVector
from dpcov.kernel.noise.discrete import MIN_SCALE
from dpcov.kernel.noise.sampler import RandomSampler
from dpcov.kernel.questions.basis import GivenBasis
from dpcov.kernel.questions.choices import Bias, Quantile, Radius
from dpcov.kernel.questions.clipped_pair import ClippedPair
from dpcov.kernel.questions.measure import Measure, Question, Summable
from dpcov.kernel.questions.moments import MAX_ROWS, SecondMoment
from dpcov.kernel.questions.norms import Norms, Trace
from dpcov.kernel.questions.overlap import Overlap
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.sums import ExactSums
from dpcov.mechanisms.running import released
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import NoSource, encoding_of, opened, scripted
from tests.helpers.by_hand import by_hand
from tests.helpers.quiet import radii

TWO = PureDP(2)
ROWS = np.array([[1.0, 0.0], [0.3, 0.4], [0.3, 0.0], [0.0, 0.1]])
NORMS = Norms(Grid(1.0), 2, 1, 4)
QUESTIONS: dict[str, Quantile | Radius | Bias] = {
    "choice": Quantile(NORMS, 2),
    "radius": Radius(NORMS, 1),
    "bias": Bias(NORMS, 1, (0, 1, 2, 3)),
}

each_question = pytest.mark.parametrize("question", QUESTIONS.values(), ids=list(QUESTIONS))


def ask(curator: Curator, question: Any, budget: Any) -> Answer:
    """Choose or search, whichever the question is for."""
    return curator.choose(question, budget) if isinstance(question, Quantile) else curator.first_above(question, budget)


class Logged(ArraySource):
    """Four rows that say when they are read; the first ``failures`` times it fails."""

    def __init__(self, log: list[str], failures: int = 0) -> None:
        super().__init__(ROWS)
        self.log, self.failures = log, failures

    def total(self, statistic: Summable) -> NDArray[np.int64]:
        self.log.append(f"read {statistic.name}")
        if self.failures:
            self.failures -= 1
            raise OSError("the disk is gone")
        return super().total(statistic)


class LoggedBits(SeededBits):
    """Words that say when they are drawn, or fail."""

    def __init__(self, log: list[str], broken: bool = False) -> None:
        super().__init__(0)
        self.log, self.broken = log, broken

    def words(self, count: int) -> NDArray[np.uint64]:
        if self.log[-1] != "draw":
            self.log.append("draw")
        if self.broken:
            raise OSError("no entropy")
        return super().words(count)


class LoggedAccount(Account):
    """An account whose charges and records are in the same log."""

    def __init__(self, budget: Budget, log: list[str]) -> None:
        super().__init__(budget)
        self.log = log

    def charge(self, *budgets: Budget) -> None:
        super().charge(*budgets)
        self.log.append("charge")

    def record(self, answer: Answer) -> Answer:
        kept = super().record(answer)
        self.log.append("record")
        return kept


def logged(
    *, failures: int = 0, broken: bool = False, budget: Budget = TWO, neighbors: str = "replace"
) -> tuple[Curator, list[str]]:
    """A real curator, and the log of what it does."""
    log: list[str] = []
    source = Logged(log, failures)
    sums = ExactSums(source, encoding_of(Grid(1.0), source), neighbors)
    return Curator(sums, LoggedAccount(budget, log), RandomSampler(LoggedBits(log, broken))), log


def unread(budget: Budget = TWO, neighbors: str = "replace", grid: Grid | None = None) -> Curator:
    """A curator that fails the test when it reads."""
    return opened(NoSource(4, 2), grid or Grid(1.0), budget, neighbors, SeededBits(0))


def charged(curator: Curator) -> list[Budget]:
    return curator._account.charged


def kept(curator: Curator) -> dict[Question, Any]:
    assert isinstance(curator._sums, ExactSums)
    return curator._sums._kept


def moment(radius: float = 1.0) -> SecondMoment:
    return SecondMoment(Grid(radius), 2)


def ring(inner: float, outer: float) -> SecondMoment:
    """What clipping at the one radius takes from rows clipped at the other."""
    return SecondMoment(Annulus(Grid(inner), Grid(outer)), 2)


class TestOrder:
    @each_question
    def test_read_charge_draw_record(self, question: Any) -> None:
        curator, log = logged()
        ask(curator, question, TWO)
        assert log == ["read norms", "charge", "draw", "record"]

    @each_question
    def test_a_failed_read_costs_nothing(self, question: Any) -> None:
        curator, log = logged(failures=1)
        with pytest.raises(OSError, match="disk"):
            ask(curator, question, TWO)
        assert (log, charged(curator), curator.answers) == (["read norms"], [], ())
        ask(curator, question, TWO)  # all of it is still there
        assert len(curator.answers) == 1

    @each_question
    def test_a_failed_draw_has_been_charged(self, question: Any) -> None:
        curator, log = logged(broken=True)
        with pytest.raises(OSError, match="entropy"):
            ask(curator, question, TWO)
        with pytest.raises(BudgetError, match="charges must fit into the budget"):
            ask(curator, question, PureDP(Fraction(1, 10**9)))
        assert log == ["read norms", "charge", "draw"]

    @each_question
    def test_a_source_of_another_shape_is_not_charged(self, question: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(ArraySource, "total", lambda *_: np.zeros(3, dtype=np.int64))
        curator, _ = logged()
        with pytest.raises(EngineError, match="an int64 for each entry"):
            ask(curator, question, TWO)
        assert charged(curator) == []


class Sub(Quantile):
    """A question that follows the data more closely than is proved."""


class SubNorms(Norms):
    """Counts of which one row might move more, and that say that they are the others."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Norms)

    def __hash__(self) -> int:
        return hash(NORMS)


OF_THESE_ROWS = r"^question must be about this curator's rows, got .*\. Hint: "


class TestRefusedBeforeReading:
    @pytest.mark.parametrize(
        "question",
        [
            None,
            NORMS,
            Sub(NORMS, 2),
            Radius(NORMS, 1),
            Quantile(SubNorms(Grid(1.0), 2, 1, 4), 2),
            Quantile(Norms(Grid(1.5), 2, 1, 4), 2),
            Quantile(Norms(Grid(1.0, 8), 2, 1, 4), 2),
            Quantile(Norms(Grid(1.0), 3, 1, 4), 2),
        ],
        ids=["none", "norms", "subclass", "search", "other norms", "radius", "bits", "columns"],
    )
    def test_what_is_not_proved_to_be_chosen(self, question: Any) -> None:
        curator = unread()
        with pytest.raises(ParameterError, match=OF_THESE_ROWS):
            curator.choose(question, TWO)
        assert charged(curator) == []

    @pytest.mark.parametrize(
        "question",
        [None, Quantile(NORMS, 2), Radius(SubNorms(Grid(1.0), 2, 1, 4), 1), Radius(Norms(Grid(2.0), 2, 1, 4), 1)],
        ids=["none", "choice", "other norms", "radius"],
    )
    def test_what_is_not_proved_to_be_searched(self, question: Any) -> None:
        with pytest.raises(ParameterError, match=OF_THESE_ROWS):
            unread().first_above(question, TWO)

    @each_question
    @pytest.mark.parametrize("budget", [ApproxDP(1, "1e-6"), 1.0, None], ids=["approx", "number", "none"])
    def test_another_notion(self, question: Any, budget: Any) -> None:
        curator = unread(ApproxDP(5, "1e-5"))
        with pytest.raises(ParameterError, match=r"budget must be a PureDP or ZCDP, got .*\. Hint: "):
            ask(curator, question, budget)

    @each_question
    @pytest.mark.parametrize("budget", [PureDP("2.0000000000000000000001"), ZCDP(1)], ids=["more", "other"])
    def test_more_than_is_left(self, question: Any, budget: Any) -> None:
        curator = unread()
        with pytest.raises(BudgetError, match=r"charges must fit into the budget .*, got .*\. Hint: "):
            ask(curator, question, budget)
        assert charged(curator) == []

    @pytest.mark.parametrize("query_noise", [0, -1, 0.5, 1.0, True, None, "2"])
    def test_less_noise_on_the_queries(self, query_noise: Any) -> None:
        with pytest.raises(ParameterError, match=r"query_noise must be an integer of at least 1, got .*\. Hint: "):
            unread().first_above(Radius(NORMS, 1), TWO, query_noise=query_noise)

    def test_so_small_a_budget_that_noise_has_no_law(self) -> None:
        with pytest.raises(ParameterError, match="scale of the noise must be between"):
            unread().first_above(Radius(NORMS, 1), PureDP("1e-20"))
        for question in QUESTIONS.values():
            with pytest.raises(ParameterError, match="rho must be larger"):
                ask(unread(ZCDP(1)), question, ZCDP("1e-60"))

    @pytest.mark.parametrize("n", [0, MAX_ROWS + 1])
    @each_question
    def test_a_public_number_of_rows_without_room(self, question: Any, n: int) -> None:
        curator = opened(NoSource(n, 2), Grid(1.0), TWO, "replace", SeededBits(0))
        for asked in (
            lambda: ask(curator, question, TWO),
            lambda: curator.prefetch(NORMS),
            lambda: curator.prefetch(moment()),
        ):
            with pytest.raises(ParameterError, match="data must have 1 to"):
                asked()


class TestRecord:
    def scripted(self, budget: Budget = TWO, counts: tuple[int, ...] = (1, 2, 4, 8, 0)) -> Curator:
        return scripted([np.array(counts, dtype=np.float64)] * 3, n=15, d=2, budget=budget)

    def meaning(self, answer: Answer) -> tuple[str, float]:
        """Return what was asked, and the radius that was found."""
        assert isinstance(answer.question, Quantile | Radius | Bias)
        assert (answer.integers.shape, answer.unit_bits) == ((1,), 0)
        assert answer.question.admits(answer.integers)
        return answer.question.name, answer.question.radius(int(answer.integers[0]))

    @pytest.mark.parametrize(("wanted", "place"), [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (7, 2), (8, 3), (15, 3)])
    def test_a_choice_is_the_radius_its_octave_and_the_rows_wanted(self, wanted: int, place: int) -> None:
        """The scripted curator takes the best score: 1, 3, 7 and 15 rows lie outside the radii."""
        answer = self.scripted().choose(Quantile(NORMS, wanted), TWO)
        assert answer.integers.tolist() == [place]
        assert answer.question == Quantile(NORMS, wanted)
        assert self.meaning(answer) == ("radius", 2.0**-place)

    def test_a_coarser_choice_names_the_same_radii(self) -> None:
        curator = self.scripted()
        answer = curator.choose(Quantile(curator.public.norms(2, 2), 9, every=2), TWO)
        assert isinstance(answer.question, Quantile)
        assert (answer.integers.tolist(), answer.question.place(1), answer.question.rows) == ([1], 2, 9)
        assert self.meaning(answer) == ("radius", 2.0 ** (-2 / 2))

    @pytest.mark.parametrize(("allowed", "place"), [(0, 0), (1, 1), (2, 1), (3, 2), (7, 3), (14, 3), (15, 4)])
    def test_a_search_for_a_radius(self, allowed: int, place: int) -> None:
        answer = self.scripted().first_above(Radius(NORMS, allowed), TWO)
        assert answer.question == Radius(NORMS, allowed)
        assert answer.integers.tolist() == [4 - place]  # as the radii are looked at, from below
        assert self.meaning(answer) == ("radius", 2.0**-place)

    @pytest.mark.parametrize(("noise", "place"), [(0, 0), (1, 0), (2**16, 1), (6 * 2**14, 2), (7 * 2**14, 3), (8 * 2**14, 4)])
    def test_a_search_for_a_threshold(self, noise: int, place: int) -> None:
        """Biases at 1, ½, ¼, ⅛, 1/16: 0, 0.75, 1.31, 1.64, 1.82 rows; the radius before the first above the noise."""
        answer = self.scripted().first_above(Bias(NORMS, 0, (noise,) * 5), TWO)
        assert answer.question == Bias(NORMS, 0, (noise,) * 5)
        assert self.meaning(answer) == ("threshold", 2.0**-place)

    @pytest.mark.parametrize(("budget", "rate"), [(PureDP(1), Fraction(1, 2)), (ZCDP("0.5"), Fraction(1))])
    def test_the_law_of_a_choice(self, budget: Any, rate: Fraction) -> None:
        """2·rate is ε; under zCDP √(8ρ)."""
        curator = self.scripted(budget)
        answer = curator.choose(Quantile(NORMS, 3), budget)
        assert answer.law == Exponential(rate)
        assert curator.answers == (answer,)
        assert [(spend.asked, spend.noise, spend.budget) for spend in answer.spent] == [("radius", "exponential", budget)]

    @pytest.mark.parametrize(("budget", "scale"), [(PureDP(1), 2), (ZCDP(2), 1), (ZCDP("0.5"), 2)])
    @pytest.mark.parametrize("query_noise", [1, 2])
    def test_the_law_of_a_search(self, budget: Any, scale: int, query_noise: int) -> None:
        """Half of ε for the threshold, half for the queries: scales 2/ε; under zCDP ε = √(2ρ); a bias has steps of 2⁻¹⁶."""
        questions = ((Radius(NORMS, 3), 1, "radius"), (Bias(NORMS, 0, (0,) * 5), 2**16, "threshold"))
        for question, step, name in questions:
            curator = self.scripted(budget)
            answer = curator.first_above(question, budget, query_noise=query_noise)
            assert answer.law == SparseVector(Fraction(scale * step), Fraction(query_noise * scale * step))
            assert curator.answers == (answer,)
            assert [(spend.asked, spend.noise, spend.budget) for spend in answer.spent] == [(name, "sparse vector", budget)]

    def test_a_budget_beyond_use_has_the_last_law_that_is_proved(self) -> None:
        most = PureDP("1e30")
        assert self.scripted(most).choose(Quantile(NORMS, 3), most).laws == (Exponential(MAX_RATE),)
        assert self.scripted(most).first_above(Radius(NORMS, 3), most).laws == (SparseVector(MIN_SCALE, MIN_SCALE),)

    def test_a_release_holds_what_was_chosen(self) -> None:
        def asks(face: Any, budget: Budget) -> None:  # noqa: ARG001
            for question in QUESTIONS.values():
                ask(face, question, PureDP("0.5"))

        curator, _ = logged()
        release = released(by_hand(asks), curator, TWO)
        assert [answer.question.name for answer in release.answers] == ["radius", "radius", "threshold"]
        assert release.answers == curator.answers
        assert [spend.budget for spend in release.spent] == [PureDP("0.5")] * 3

    def test_a_real_choice_follows_the_rows(self) -> None:
        """With a budget that leaves no doubt: two of four rows are longer than ¼ and not ½."""
        curator, _ = logged(budget=PureDP(2000))
        assert self.meaning(curator.choose(Quantile(NORMS, 2), PureDP(1000))) == ("radius", 0.5)
        assert self.meaning(curator.first_above(Radius(NORMS, 1), PureDP(1000))) == ("radius", 0.5)


class TestHolding:
    def test_the_second_moment_by_default(self) -> None:
        curator, log = logged()
        curator.prefetch(curator.public.second_moment())
        curator.noisy(curator.public.second_moment(), TWO, noise="laplace")
        assert log == ["read second moment", "charge", "draw", "record"]

    def test_norms_held_serve_every_choice(self) -> None:
        curator, log = logged()
        curator.prefetch(NORMS)
        for question in QUESTIONS.values():
            ask(curator, question, PureDP("0.5"))
        assert [line for line in log if line.startswith("read")] == ["read norms"]
        ask(curator, Quantile(curator.public.norms(2, 2), 1), PureDP("0.5"))  # others are read
        assert [line for line in log if line.startswith("read")] == ["read norms"] * 2

    def test_both_are_read_at_once(self) -> None:
        curator, log = logged(budget=ZCDP(3))
        clipped, removed = curator.public.second_moment(0.25), curator.public.beyond(0.25, 0.5)
        curator.prefetch(clipped, removed)
        assert log == ["read clipped pair"]
        assert (clipped, removed) == (moment(0.25), ring(0.25, 0.5))
        overlap = Overlap(removed, GivenBasis(np.eye(2)), (1.0, 1.0))
        answers = [curator.noisy(asked, ZCDP(1), noise="gaussian") for asked in (clipped, removed, overlap)]
        assert log == ["read clipped pair", *["charge", "draw", "record"] * 3]
        assert [radii(answer) for answer in answers] == [(0.25,), (0.25, 0.5), (0.25, 0.5)]

    def test_what_is_held_is_what_would_be_read(self) -> None:
        """Noise far below a step: the same answers, held or not."""
        loud = PureDP("1e15")
        (held, first), (read, second) = (logged(budget=PureDP("1e16")) for _ in range(2))
        trace = held.public.trace(0.5)
        held.prefetch(trace)
        held.prefetch(moment())
        held.prefetch(moment(0.25), ring(0.25, 1.0))
        for asked in (trace, moment(), moment(0.25), ring(0.25, 1.0)):
            answers = [curator.noisy(asked, loud, noise="laplace") for curator in (held, read)]
            assert answers[0].integers.tolist() == answers[1].integers.tolist()
            assert any(answers[0].integers)
        assert [len([line for line in log if "read" in line]) for log in (first, second)] == [3, 4]

    @pytest.mark.parametrize(
        "questions", [(moment(),), (NORMS,), (moment(0.25), ring(0.25, 0.5))], ids=["moment", "norms", "both"]
    )
    def test_a_failing_read_costs_nothing_and_holds_nothing(self, questions: tuple[Question, ...]) -> None:
        curator, _ = logged(failures=1)
        with pytest.raises(OSError, match="disk"):
            curator.prefetch(*questions)
        assert (kept(curator), charged(curator), curator.answers) == ({}, [], ())
        curator.prefetch(*questions)
        assert set(kept(curator)) == set(questions)

    @pytest.mark.parametrize(
        "statistic",
        [
            SubNorms(Grid(1.0), 2, 1, 4),
            Norms(Grid(1.5), 2, 1, 4),
            Trace(Grid(1.0), 3),
            Overlap(SecondMoment(Grid(1.0), 2), GivenBasis(np.eye(2)), (1.0, 1.0)),
        ],
        ids=["subclass", "radius", "columns", "no sum"],
    )
    def test_what_is_not_proved_is_not_held(self, statistic: Any) -> None:
        with pytest.raises(ParameterError, match=OF_THESE_ROWS):
            unread().prefetch(statistic)

    @pytest.mark.parametrize(("inner", "outer"), [(0.5, 1.5), (1.5, 2.0)])
    def test_radii_beyond_the_rows_are_refused_before_reading(self, inner: float, outer: float) -> None:
        with pytest.raises(ParameterError, match=OF_THESE_ROWS):
            unread().prefetch(moment(inner), ring(inner, outer))

    @pytest.mark.parametrize(("inner", "outer"), [(0.5, 0.5), (1.0, 0.5)])
    def test_radii_the_wrong_way_round_are_refused_before_reading(self, inner: float, outer: float) -> None:
        with pytest.raises(ParameterError, match="annulus must lie between two radii"):
            unread().public.beyond(inner, outer)

    def test_centred_rows_have_no_annulus(self) -> None:
        with pytest.raises(ParameterError, match="annulus must lie between two radii of uncentred rows"):
            unread(grid=Grid(1.0, center=True)).public.beyond(0.25, 0.5)

    def test_sums_that_may_have_wrapped(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Under add-remove the number of rows is private, and looked at only after reading; nothing is charged."""
        monkeypatch.setattr(Encoding, "most_rows", len(ROWS) - 1)
        held: list[tuple[Question, ...]] = [(moment(),), (moment(0.25), ring(0.25, 0.5))]
        for questions in held:
            curator, _ = logged(neighbors="add-remove")
            with pytest.raises(ParameterError, match="at most"):
                curator.prefetch(*questions)
            assert charged(curator) == []
        curator.prefetch(moment(), derive=False)  # nothing will be derived from them

    def test_searches_whose_queries_may_have_wrapped(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A bias counts rows in 2¹⁶ parts, people in 2³⁴: their products are looked at whether or not sums were read ahead."""
        monkeypatch.setattr(Encoding, "most_rows", len(ROWS) - 1)
        curator, _ = logged(neighbors="add-remove")
        norms = curator.public.norms(1, 3)
        curator.prefetch(norms, derive=False)
        for search in (Bias(norms, 0, (1, 2, 3, 4)), Radius(norms, 1)):
            with pytest.raises(ParameterError, match="at most"):
                curator.first_above(search, PureDP("0.1"))
        assert charged(curator) == []


class TestRadiiOfAnswers:
    """A record says which rows an answer is about; they never reach beyond the curator's own."""

    def test_clipped_rows_are_named(self) -> None:
        curator, _ = logged(budget=ZCDP(4))
        public = curator.public
        asked: list[Measure] = [public.second_moment(), public.second_moment(0.5), public.trace(), public.trace(0.25)]
        answers = [curator.noisy(question, ZCDP(1), noise="gaussian") for question in asked]
        assert [radii(answer) for answer in answers] == [(1.0,), (0.5,), (1.0,), (0.25,)]

    @pytest.mark.parametrize(
        "statistic",
        [
            SecondMoment(Grid(1.5), 2),
            Trace(Grid(1.5), 2),
            Trace(Grid(1.0, 8), 2),
            Norms(Grid(1.0), 3, 1, 4),
            ring(0.5, 1.5),
            SecondMoment(Annulus(Grid(0.5, 8), Grid(1.0)), 2),
            Overlap(ring(0.5, 1.5), GivenBasis(np.eye(2)), (1.0, 1.0)),
        ],
        ids=["moment", "trace", "bits", "columns", "ring", "ring of other bits", "overlap"],
    )
    def test_other_rows_are_refused(self, statistic: Any) -> None:
        with pytest.raises(ParameterError, match=OF_THESE_ROWS):
            unread(ZCDP(1)).noisy(statistic, ZCDP(1), noise="gaussian")

    def test_a_pair_is_never_answered(self) -> None:
        pair: Any = ClippedPair(Annulus(Grid(0.5), Grid(1.0)), 2)
        with pytest.raises(ParameterError, match=OF_THESE_ROWS):
            unread(ZCDP(1)).noisy(pair, ZCDP(1), noise="gaussian")


class TestAtMost:
    """A paper's lower rate: it can only make a choice noisier."""

    def rate(self, at_most: Fraction | None, budget: Budget = TWO) -> Fraction:
        curator, _ = logged(budget=budget)
        answer = curator.choose(QUESTIONS["choice"], budget, at_most=at_most)  # type: ignore[arg-type]
        assert isinstance(answer.law, Exponential)
        assert answer.charges == (budget,)
        return answer.law.rate

    def test_it_lowers_the_rate_and_never_raises_it(self) -> None:
        assert self.rate(None) == 1
        assert self.rate(Fraction(1, 3)) == Fraction(1, 3)
        assert self.rate(Fraction(7, 2)) == 1
        assert self.rate(Fraction(1, 5), ZCDP(2)) == Fraction(1, 5)

    @pytest.mark.parametrize("bad", [0.5, 1, "1/2", True, Fraction(0), Fraction(-1)])
    def test_what_is_no_rate_is_refused_before_anything_is_read(self, bad: Any) -> None:
        curator, log = logged()
        with pytest.raises(ParameterError, match=r"must be .*, got .*\. Hint: "):
            curator.choose(QUESTIONS["choice"], TWO, at_most=bad)  # type: ignore[arg-type]
        assert log == []
