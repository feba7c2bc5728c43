"""The curator's order: refuse, read, charge, draw, record. Each step is made to fail in turn."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcov.errors import BudgetError, EngineError, ParameterError
from dpcov.kernel import account
from dpcov.kernel.answer import Spend
from dpcov.kernel.bits import Bits, SeededBits
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP, pays_for
from dpcov.kernel.curator import Curator
from dpcov.kernel.face import Face
from dpcov.kernel.noise.laws import DiscreteLaplace, NoiseLaw
from dpcov.kernel.noise.sampler import RandomSampler
from dpcov.kernel.questions.choices import Quantile, Radius
from dpcov.kernel.questions.directions import Directions
from dpcov.kernel.questions.measure import Measure, Summable
from dpcov.kernel.questions.moments import Count, SecondMoment, Sum
from dpcov.kernel.questions.solution import Solution
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms.running import released
from dpcov.release.check import check_answers
from dpcov.release.record import Transcript
from dpcov.sources.array import ArraySource
from dpcov.sources.base import Source
from dpcov.verify.testing import NoSource, opened, scripted
from tests.helpers.by_hand import by_hand

ONE = ZCDP(1)


def curator(source: Source, *, neighbors: str = "replace", bits: Bits | None = None) -> Curator:
    return opened(source, Grid(1.0), ONE, neighbors, bits or SeededBits(0))


def moment(asked: Curator) -> SecondMoment:
    return asked.public.second_moment()


def charged(asked: Curator) -> list[Budget]:
    return asked._account._charged


def spent(asked: Curator) -> list[Spend]:
    return [spend for answer in asked.answers for spend in answer.spent]


@dataclass
class Watched(ArraySource):
    """A table of four rows that counts how often it is read, and fails the first ``failures`` times."""

    failures: int = 0
    reads: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(np.full((4, 2), 0.5))

    def total(self, statistic: Summable) -> NDArray[np.int64]:
        self.reads.append(statistic.name)
        if len(self.reads) <= self.failures:
            raise OSError("the disk is gone")
        return super().total(statistic)


class BrokenBits:
    """A generator that fails after the charge, when the noise is drawn."""

    seeded = True

    def words(self, count: int) -> NDArray[np.uint64]:
        raise OSError(f"no entropy for {count} words")


class CountedBits(SeededBits):
    """Seeded words that remember whether anyone asked."""

    draws = 0

    def words(self, count: int) -> NDArray[np.uint64]:
        self.draws += 1
        return super().words(count)


class TestRefusedBeforeReading:
    @pytest.mark.parametrize("budget", [ZCDP("1.0000000000000000000000001"), ZCDP(2)])
    def test_more_than_is_left(self, budget: Budget) -> None:
        asked = curator(NoSource(4, 2))
        with pytest.raises(BudgetError, match=r"charges must fit into the budget .*, got .*\. Hint: "):
            asked.noisy(moment(asked), budget, noise="gaussian")
        assert (spent(asked), charged(asked)) == ([], [])

    def test_shares_that_exceed_the_whole_by_a_hair(self) -> None:
        asked = scripted([np.eye(2)] * 3, n=4, d=2, budget=ONE)
        for share in (Fraction(1, 3), Fraction(2, 3)):
            asked.noisy(moment(asked), ZCDP(share), noise="gaussian")
        with pytest.raises(BudgetError):
            asked.noisy(moment(asked), ZCDP(Fraction(1, 10**9)), noise="gaussian")
        assert len(spent(asked)) == len(charged(asked)) == 2

    @pytest.mark.parametrize("budget", [PureDP(1), ApproxDP(1, 1e-6)])
    def test_another_notion(self, budget: Budget) -> None:
        asked = curator(NoSource(4, 2))
        with pytest.raises((ParameterError, BudgetError), match="ZCDP"):
            asked.noisy(moment(asked), budget, noise="gaussian")

    def test_a_promise_of_another_notion(self) -> None:
        asked = opened(NoSource(4, 2), Grid(1.0), PureDP(1), "replace", SeededBits(0))
        with pytest.raises(BudgetError, match="PureDP"):
            asked.noisy(moment(asked), ONE, noise="gaussian")

    def test_another_noise(self) -> None:
        asked = curator(NoSource(4, 2))
        with pytest.raises(ParameterError, match="noise must serve"):
            asked.noisy(moment(asked), ONE, noise="wishart")

    def test_the_public_count_under_replace(self) -> None:
        asked = curator(NoSource(4, 2))
        for question in (lambda: asked.noisy(Count(), ONE, noise="gaussian"), lambda: asked.ask_n(ONE)):
            with pytest.raises(ParameterError, match=r"must be private.*Hint: read curator\.n"):
                question()
        assert asked.n == 4

    def test_the_private_count_before_it_is_paid_for(self) -> None:
        asked = curator(NoSource(4, 2), neighbors="add-remove")
        with pytest.raises(ParameterError, match="n must be asked for"):
            _ = asked.n

    def test_a_second_count(self) -> None:
        asked = scripted([7, 8], n=4, d=2, budget=ONE, neighbors="add-remove")
        asked.ask_n(ZCDP("0.1"))
        with pytest.raises(ParameterError, match="asked for only once"):
            asked.ask_n(ZCDP("0.1"))
        assert (asked.n, len(spent(asked))) == (7, 1)


class TestOrder:
    def test_a_failed_read_costs_nothing(self) -> None:
        source, bits = Watched(failures=1), CountedBits(0)
        asked = curator(source, bits=bits)
        with pytest.raises(OSError, match="disk"):
            asked.noisy(moment(asked), ONE, noise="gaussian")
        assert (spent(asked), bits.draws) == ([], 0)
        asked.noisy(moment(asked), ONE, noise="gaussian")  # all of it is still there
        assert len(spent(asked)) == 1

    def test_a_failed_draw_has_been_charged(self) -> None:
        source = Watched()
        asked = curator(source, bits=BrokenBits())
        with pytest.raises(OSError, match="entropy"):
            asked.noisy(moment(asked), ONE, noise="gaussian")
        with pytest.raises(BudgetError):
            asked.noisy(moment(asked), ZCDP(Fraction(1, 10**9)), noise="gaussian")
        assert source.reads == ["second moment"]

    @pytest.mark.parametrize("search", [False, True])
    def test_choices_and_searches_keep_the_order_too(self, search: bool) -> None:
        """Nothing for a read that fails, all of it before the first bit of the choice, and one line of record."""

        def ask(asked: Curator, share: Fraction = Fraction(1)) -> None:
            norms = asked.public.norms(1, 10)
            _ = asked.first_above(Radius(norms, 2), ZCDP(share)) if search else asked.choose(Quantile(norms, 2), ZCDP(share))

        source, bits = Watched(failures=1), CountedBits(0)
        asked = curator(source, bits=bits)
        with pytest.raises(OSError, match="disk"):
            ask(asked)
        assert (charged(asked), spent(asked), bits.draws) == ([], [], 0)
        ask(asked, Fraction(1, 2))
        assert [(spend.asked, spend.budget) for spend in spent(asked)] == [("radius", ZCDP("0.5"))]
        with pytest.raises(BudgetError):
            ask(asked)
        assert source.reads == ["norms", "norms"]  # the last was refused before reading
        broken = curator(Watched(), bits=BrokenBits())
        with pytest.raises(OSError, match="entropy"):
            ask(broken)
        assert (charged(broken), spent(broken)) == ([ONE], [])

    def test_the_record_keeps_the_order_of_the_questions(self) -> None:
        def ask(face: Face, budget: Budget) -> None:  # noqa: ARG001
            questions: list[Measure] = [Sum(face.grid, 2), face.second_moment(), Sum(face.grid, 2)]
            face.ask_n(ZCDP("0.1"))
            for index, question in enumerate(questions, start=2):
                face.noisy(question, ZCDP(Fraction(index, 10)), noise="gaussian")

        asked = curator(Watched(), neighbors="add-remove")
        release = released(by_hand(ask), asked, ONE)
        assert [(spend.asked, spend.budget) for spend in spent(asked)] == [
            ("count", ZCDP("0.1")),
            ("sum", ZCDP("0.2")),
            ("second moment", ZCDP("0.3")),
            ("sum", ZCDP("0.4")),
        ]
        assert release.spent == tuple(spent(asked))
        assert [answer.question.name for answer in release.answers] == ["count", "sum", "second moment", "sum"]

    def test_a_floor_can_only_add_noise(self) -> None:
        answers = []
        for floor in (None, Fraction(1, 1000), Fraction(3, 4), Fraction(7)):
            asked = scripted([np.eye(2)], n=4, d=2, budget=ONE)
            answers.append(asked.noisy(moment(asked), ONE, at_least=floor, noise="gaussian").law.to_json())
        grid = 16**16
        assert answers == [
            {"diagonal": str(grid), "off-diagonal": str(grid // 2)},
            {"diagonal": str(grid), "off-diagonal": str(grid // 2)},
            {"diagonal": str(grid), "off-diagonal": str(grid * 3 // 4)},
            {"diagonal": str(7 * grid), "off-diagonal": str(7 * grid)},
        ]


class Meeting(ArraySource):
    """A table whose readers wait for each other: all have passed the first check before any is charged."""

    def __init__(self, readers: int) -> None:
        super().__init__(np.full((4, 2), 0.5))
        self._barrier = threading.Barrier(readers, timeout=30)

    def total(self, statistic: Summable) -> NDArray[np.int64]:
        self._barrier.wait()
        return super().total(statistic)


class Drawing(RandomSampler):
    """A real sampler that lists its draws."""

    def __init__(self) -> None:
        super().__init__(SeededBits(0))
        self.drawn: list[str] = []

    def noisy(self, question: Measure, law: NoiseLaw, exact: NDArray[np.int64]) -> NDArray[np.int64]:
        self.drawn.append(question.name)
        return super().noisy(question, law, exact)


@pytest.mark.parametrize(("threads", "share", "winners"), [(2, Fraction(1), 1), (5, Fraction(1, 3), 3)])
def test_threads_cannot_spend_the_same_share(threads: int, share: Fraction, winners: int) -> None:
    drawing = Drawing()
    asked = opened(Meeting(threads), Grid(1.0), ONE, sampler=drawing)
    outcomes: list[type] = []

    def ask() -> None:
        try:
            outcomes.append(type(asked.noisy(Sum(asked.public.grid, 2), ZCDP(share), noise="gaussian")))
        except BudgetError as error:
            outcomes.append(type(error))

    running = [threading.Thread(target=ask) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert len(outcomes) == threads
    assert outcomes.count(BudgetError) == threads - winners
    assert len(spent(asked)) == winners
    assert drawing.drawn == ["sum"] * winners  # whoever was refused drew nothing


def test_a_charge_and_its_verdict_are_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each verdict waits for another thread's: with a lock around both steps no second one comes, and the wait ends."""
    verdicts = threading.Barrier(2, timeout=0.5)

    def waiting(promise: Budget, charges: list[Budget]) -> bool:
        verdict = pays_for(promise, charges)
        with contextlib.suppress(threading.BrokenBarrierError):
            verdicts.wait()
        return verdict

    monkeypatch.setattr(account, "pays_for", waiting)
    shared, refused = account.Account(ONE), []

    def charge() -> None:
        try:
            shared.charge(ZCDP("0.6"))
        except BudgetError as error:
            refused.append(error)

    running = [threading.Thread(target=charge) for _ in range(2)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert len(refused) == 1
    assert shared._charged == [ZCDP("0.6")]


def test_n_is_taken_from_this_curators_own_answer() -> None:
    """Of centred rows, from the corner, as the file tells it; another's was paid for elsewhere, or not at all."""
    rows, grid = ArraySource(np.zeros((1000, 1))), Grid(1.0, center=True)
    asked, other = (opened(rows, grid, ONE, "add-remove", SeededBits(k)) for k in range(2))
    foreign = other.noisy(moment(other), ONE, noise="gaussian")
    with pytest.raises(ParameterError, match="n must be asked for"):
        _ = asked.n
    own = asked.noisy(moment(asked), ONE, noise="gaussian")
    assert (asked.n, other.n) == (own.question.gives_n(own.integers), foreign.question.gives_n(foreign.integers))
    corner = float(own.values[0]) * 4
    assert abs(asked.n - corner) <= 0.5
    assert 900 < asked.n < 1100
    assert asked.n != other.n


class TestStatisticsThatDoNotFit:
    """A statistic of other rows could lower its sensitivity, or share one draw among many entries."""

    @pytest.mark.parametrize(
        "statistic",
        [SecondMoment(Grid(1.0), 1), Sum(Grid(1.0), 1), SecondMoment(Grid(2.0), 2), SecondMoment(Grid(1.0, 8), 2)],
    )
    def test_another_shape_or_grid(self, statistic: Any) -> None:
        with pytest.raises(ParameterError, match="question must be about this curator's rows"):
            curator(NoSource(4, 2)).noisy(statistic, ONE, noise="gaussian")

    def test_a_home_made_statistic(self) -> None:
        class Cheap(SecondMoment):
            def sensitivity_squared(self, neighbors: str) -> int:  # noqa: ARG002
                return 1

        with pytest.raises(ParameterError, match="question must be about this curator's rows"):
            curator(NoSource(4, 2)).noisy(Cheap(Grid(1.0), 2), ONE, noise="gaussian")

    def test_a_source_of_another_shape_is_not_charged(self) -> None:
        class Short:
            n, known_n, d, feature_names, schema, rereadable, ordered = 4, 4, 2, ("a", "b"), None, True, True

            def total(self, statistic: Any) -> Any:  # noqa: ARG002
                return np.zeros(1, dtype=np.int64)

        asked = curator(Short())
        with pytest.raises(EngineError):
            asked.noisy(moment(asked), ONE, noise="gaussian")
        assert charged(asked) == []


@pytest.mark.parametrize("neighbors", ["Replace", "substitute", None, 1])
def test_an_unknown_relation_is_refused(neighbors: Any) -> None:
    with pytest.raises(ParameterError, match="neighbors must be"):
        opened(NoSource(4, 2), Grid(1.0), ONE, neighbors, SeededBits(0))


@pytest.mark.parametrize("name", ["neighbors", "budget", "grid", "n", "d", "public", "encoding", "known_n"])
def test_what_the_promise_rests_on_cannot_be_reassigned(name: str) -> None:
    asked = curator(NoSource(4, 2))
    with pytest.raises(AttributeError):
        setattr(asked if name in ("budget", "n", "public") else asked.public, name, 0)


def test_what_a_mechanism_is_handed_cannot_change_it() -> None:
    """It may tell itself another relation or another grid: the curator prices by its own, and refuses the rows of others."""
    asked = curator(Watched())
    face: Any = Face(asked)
    with contextlib.suppress(AttributeError):
        face.neighbors = "add-remove"
    with contextlib.suppress(AttributeError):
        face.encoding = dataclasses.replace(asked.public.encoding, row_norm=2.0)
    with pytest.raises(ParameterError, match="question must be about this curator's rows"):
        face.noisy(SecondMoment(Grid(2.0), 2), ONE, noise="gaussian")
    answer = face.noisy(SecondMoment(Grid(1.0), 2), ONE, noise="gaussian")
    again = curator(Watched())
    assert answer.laws == again.noisy(moment(again), ONE, noise="gaussian").laws
    assert asked.public == again.public


@pytest.mark.parametrize(("row_norm", "bits"), [(0.0, 16), (-1.0, 16), (np.nan, 16), (np.inf, 16), (1.0, 0), (1.0, 27)])
def test_a_grid_without_a_bound_is_refused(row_norm: float, bits: int) -> None:
    with pytest.raises(ParameterError):
        Grid(row_norm, bits)


def test_a_variance_in_floats_is_refused() -> None:
    with pytest.raises(ParameterError, match="at_least"):
        curator(NoSource(4, 2)).noisy(SecondMoment(Grid(1.0), 2), ONE, at_least=0.5, noise="gaussian")  # type: ignore[arg-type]


@pytest.mark.parametrize("promise", [ApproxDP(1, "1e-60"), ApproxDP(900, "1e-6")])
@pytest.mark.parametrize("noise", ["wishart", "frobenius"])
def test_rounded_noise_must_fit_into_delta(promise: ApproxDP, noise: str) -> None:
    """The trusted layer checks it, not only the mechanisms."""
    asked = opened(NoSource(4, 2), Grid(1.0), promise, "replace", SeededBits(0))
    with pytest.raises(ParameterError, match="tail"):
        asked.noisy(moment(asked), PureDP(1), noise=noise)
    assert charged(asked) == []


class TestFilesCanHoldIt:
    """What no file can hold is refused before anything is read: it would be paid for, and nobody could check it."""

    def of(self, budget: Budget, d: int = 2) -> Curator:
        return opened(ArraySource(np.zeros((9, d))), Grid(1.0), budget, bits=SeededBits(0))

    def test_charges_in_epsilon_and_delta(self) -> None:
        """They are slow to check, equal ones too: to other questions the noise is found anew."""
        asked, each = self.of(ApproxDP(1, "1/1000")), ApproxDP("1/200", "1/1000000")
        for _ in range(account.MOST_ANALYTIC):
            asked.noisy(moment(asked), each, noise="gaussian")
        with pytest.raises(BudgetError, match=r"fit into a file, got too many charges in \(epsilon, delta\)"):
            asked.noisy(moment(asked), each, noise="gaussian")
        assert len(asked.answers) == account.MOST_ANALYTIC
        check_answers(transcript_of(asked))

    def test_digits(self) -> None:
        asked = self.of(ONE)

        def ask() -> None:
            for i in range(220):
                floor = Fraction(10**885, 10**880 + i)
                asked.noisy(Sum(asked.public.grid, 2), ONE.share(Fraction(1, 1000)), noise="gaussian", at_least=floor)

        with pytest.raises(BudgetError, match="got numbers in too many digits"):
            ask()
        assert 150 < len(asked.answers) < 219
        check_answers(transcript_of(asked))

    def test_whole_numbers_are_fractions_of_one(self) -> None:
        assert account.numbers_of([DiscreteLaplace(Fraction(3))], [PureDP(3), PureDP("1/3")]) == {(3, 1), (1, 3)}

    def test_the_same_numbers_take_room_once(self) -> None:
        ours, numbers = account.Account(ONE), [(1, 2**3000 + i) for i in range(100)]
        for _ in range(3):  # 900 000 bits, if each counted
            ours.reserve(*numbers)
        with pytest.raises(BudgetError, match="got numbers in too many digits"):
            ours.reserve(*((1, other + 200) for _, other in numbers))

    def test_a_long_number(self) -> None:
        """Each is short enough, and what is made of them is not."""
        asked = opened(NoSource(9, 2), Grid(1.0), PureDP(1))
        for longer in (Fraction(10**999 + 1, 10**999), Fraction(10**999, 10**999 + 1)):
            with pytest.raises(ParameterError, match="at_least must have at most 900 digits"):
                asked.noisy(Sum(asked.public.grid, 2), PureDP(1), noise="laplace", at_least=longer)
            with pytest.raises(ParameterError, match="alpha must have at most 900 digits"):
                Solution(moment(asked), 9, 0, longer)
        solution = Solution(moment(asked), 9, 0, Fraction(10**300 + 7, 10**301))
        with pytest.raises(BudgetError, match="a number of more than 1000 digits"):
            asked.noisy(solution, PureDP(Fraction(10**890 + 1, 10**891)), noise="laplace")

    def test_shares_of_directions(self) -> None:
        """They are known only when directions are drawn: shorter ones may still be."""
        d = 200
        asked = self.of(PureDP(1), d)
        peel = asked.peel(Directions(asked.public.second_moment(), d), PureDP(1), noise="laplace")

        def draw() -> None:
            for i in range(d):
                peel.direction(Fraction(1, 10**880 + i))
                peel.skip()

        with pytest.raises(BudgetError, match="got numbers in too many digits"):
            draw()
        left = peel.left
        peel.direction(Fraction(1, 1000))
        assert peel.left == left - Fraction(1, 1000)


def transcript_of(asked: Curator) -> Transcript:
    return Transcript(
        kind="covariance",
        privacy=asked.budget,
        neighbors="replace",
        encoding=asked.public.encoding,
        n=asked.n,
        requested="by hand",
        mechanism="by hand",
        postprocess="none",
        answers=asked.answers,
        seeded=False,
        dpcov_version="0",
    )
