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
from dpcov.kernel.bits import Bits, SeededBits
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP, pays_for
from dpcov.kernel.curator import Curator
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.questions.choices import Quantile, Radius
from dpcov.kernel.questions.measure import Measure, Statistic, Summable
from dpcov.kernel.questions.moments import Count, SecondMoment, Sum
from dpcov.kernel.rows.grid import Grid
from dpcov.sources.array import ArraySource
from dpcov.sources.base import Source
from dpcov.verify.testing import NoSource, ScriptedCurator

ONE = ZCDP(1)


def curator(source: Source, *, neighbors: str = "replace", bits: Bits | None = None) -> Curator:
    return Curator(source, Grid(1.0), ONE, neighbors, bits or SeededBits(0))


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
        with pytest.raises(BudgetError, match=r"budget must fit .*, got .*\. Hint: "):
            asked.noisy(asked.second_moment(), budget, noise="gaussian")
        assert asked.spent == ()

    def test_shares_that_exceed_the_whole_by_a_hair(self) -> None:
        asked = ScriptedCurator([np.eye(2)] * 3, n=4, d=2, budget=ONE)
        for share in (Fraction(1, 3), Fraction(2, 3)):
            asked.noisy(asked.second_moment(), ZCDP(share), noise="gaussian")
        with pytest.raises(BudgetError):
            asked.noisy(asked.second_moment(), ZCDP(Fraction(1, 10**9)), noise="gaussian")
        assert len(asked.spent) == 2

    @pytest.mark.parametrize("budget", [PureDP(1), ApproxDP(1, 1e-6)])
    def test_another_notion(self, budget: Budget) -> None:
        asked = curator(NoSource(4, 2))
        with pytest.raises((ParameterError, BudgetError), match="ZCDP"):
            asked.noisy(asked.second_moment(), budget, noise="gaussian")

    def test_a_promise_of_another_notion(self) -> None:
        asked = Curator(NoSource(4, 2), Grid(1.0), PureDP(1), "replace", SeededBits(0))
        with pytest.raises(BudgetError, match="PureDP"):
            asked.noisy(asked.second_moment(), ONE, noise="gaussian")

    def test_another_noise(self) -> None:
        asked = curator(NoSource(4, 2))
        with pytest.raises(ParameterError, match="noise must serve"):
            asked.noisy(asked.second_moment(), ONE, noise="laplace")

    def test_the_public_count_under_replace(self) -> None:
        asked = curator(NoSource(4, 2))
        for question in (lambda: asked.noisy(Count(), ONE, noise="gaussian"), lambda: asked.ask_n(ONE)):
            with pytest.raises(ParameterError, match=r"must be private.*Hint: use curator\.n"):
                question()
        assert asked.n == 4

    def test_the_private_count_before_it_is_paid_for(self) -> None:
        asked = curator(NoSource(4, 2), neighbors="add-remove")
        with pytest.raises(ParameterError, match="n must be asked for"):
            _ = asked.n

    def test_a_second_count(self) -> None:
        asked = ScriptedCurator([7, 8], n=4, d=2, budget=ONE, neighbors="add-remove")
        asked.ask_n(ZCDP("0.1"))
        with pytest.raises(ParameterError, match="asked for once"):
            asked.ask_n(ZCDP("0.1"))
        assert (asked.n, len(asked.spent)) == (7, 1)


class TestOrder:
    def test_a_failed_read_costs_nothing(self) -> None:
        source, bits = Watched(failures=1), CountedBits(0)
        asked = curator(source, bits=bits)
        with pytest.raises(OSError, match="disk"):
            asked.noisy(asked.second_moment(), ONE, noise="gaussian")
        assert (asked.spent, bits.draws) == ((), 0)
        asked.noisy(asked.second_moment(), ONE, noise="gaussian")  # all of it is still there
        assert len(asked.spent) == 1

    def test_a_failed_draw_has_been_charged(self) -> None:
        source = Watched()
        asked = curator(source, bits=BrokenBits())
        with pytest.raises(OSError, match="entropy"):
            asked.noisy(asked.second_moment(), ONE, noise="gaussian")
        with pytest.raises(BudgetError):
            asked.noisy(asked.second_moment(), ZCDP(Fraction(1, 10**9)), noise="gaussian")
        assert source.reads == ["second moment"]

    @pytest.mark.parametrize("search", [False, True])
    def test_choices_and_searches_keep_the_order_too(self, search: bool) -> None:
        """Nothing for a read that fails, all of it before the first bit of the choice, and one line of record."""

        def ask(asked: Curator, share: Fraction = Fraction(1)) -> None:
            norms = asked.norms(1, 10)
            _ = asked.first_above(Radius(norms, 2), ZCDP(share)) if search else asked.choose(Quantile(norms, 2), ZCDP(share))

        source, bits = Watched(failures=1), CountedBits(0)
        asked = curator(source, bits=bits)
        with pytest.raises(OSError, match="disk"):
            ask(asked)
        assert (asked._charged, asked.spent, bits.draws) == ([], (), 0)
        ask(asked, Fraction(1, 2))
        assert [(spend.asked, spend.budget) for spend in asked.spent] == [("radius", ZCDP("0.5"))]
        with pytest.raises(BudgetError):
            ask(asked)
        assert source.reads == ["norms", "norms"]  # the last was refused before reading
        broken = curator(Watched(), bits=BrokenBits())
        with pytest.raises(OSError, match="entropy"):
            ask(broken)
        assert (broken._charged, broken.spent) == ([ONE], ())

    def test_the_record_keeps_the_order_of_the_questions(self) -> None:
        asked = curator(Watched(), neighbors="add-remove")
        statistics: list[Statistic] = [Sum(asked.grid, 2), asked.second_moment(), Sum(asked.grid, 2)]
        asked.ask_n(ZCDP("0.1"))
        for index, statistic in enumerate(statistics, start=2):
            asked.noisy(statistic, ZCDP(Fraction(index, 10)), noise="gaussian")
        assert [(spend.asked, spend.budget) for spend in asked.spent] == [
            ("count", ZCDP("0.1")),
            ("sum", ZCDP("0.2")),
            ("second moment", ZCDP("0.3")),
            ("sum", ZCDP("0.4")),
        ]
        release = asked.release("covariance", "by hand", postprocess="none")
        assert release.spent == asked.spent
        assert [answer.statistic for answer in release.answers] == ["count", "sum", "second moment", "sum"]

    def test_a_floor_can_only_add_noise(self) -> None:
        answers = []
        for floor in (None, Fraction(1, 1000), Fraction(3, 4), Fraction(7)):
            asked = ScriptedCurator([np.eye(2)], n=4, d=2, budget=ONE)
            answers.append(asked.noisy(asked.second_moment(), ONE, at_least=floor, noise="gaussian").noise.to_json())
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


class Drawing(Curator):
    """A real curator that lists its draws."""

    def __init__(self, source: Source) -> None:
        super().__init__(source, Grid(1.0), ONE, "replace", SeededBits(0))
        self.drawn: list[str] = []

    def _draw(self, statistic: Measure, law: NoiseLaw) -> NDArray[np.int64]:
        self.drawn.append(statistic.name)
        return super()._draw(statistic, law)


@pytest.mark.parametrize(("threads", "share", "winners"), [(2, Fraction(1), 1), (5, Fraction(1, 3), 3)])
def test_threads_cannot_spend_the_same_share(threads: int, share: Fraction, winners: int) -> None:
    asked = Drawing(Meeting(threads))
    outcomes: list[type] = []

    def ask() -> None:
        try:
            outcomes.append(type(asked.noisy(Sum(asked.grid, 2), ZCDP(share), noise="gaussian")))
        except BudgetError as error:
            outcomes.append(type(error))

    running = [threading.Thread(target=ask) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    assert len(outcomes) == threads
    assert outcomes.count(BudgetError) == threads - winners
    assert len(asked.spent) == winners
    assert asked.drawn == ["sum"] * winners  # whoever was refused drew nothing


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
            shared._charge(ZCDP("0.6"))
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
    """Another's corner was paid for elsewhere, or not at all."""
    grid = Grid(1.0, center=True)
    asked, other = (Curator(ArraySource(np.zeros((9, 1))), grid, ONE, "add-remove", SeededBits(k)) for k in range(2))
    own, foreign = (each.noisy(each.second_moment(), ONE, noise="gaussian") for each in (asked, other))
    for answer in (foreign, dataclasses.replace(own, integers=own.integers * 2)):
        with pytest.raises(ParameterError, match="moment must be this curator's answer"):
            asked.take_n(answer)
    asked.take_n(own)
    assert asked.n >= 1


class TestStatisticsThatDoNotFit:
    """A statistic of other rows could lower its sensitivity, or share one draw among many entries."""

    @pytest.mark.parametrize(
        "statistic",
        [SecondMoment(Grid(1.0), 1), Sum(Grid(1.0), 1), SecondMoment(Grid(2.0), 2), SecondMoment(Grid(1.0, 8), 2)],
    )
    def test_another_shape_or_grid(self, statistic: Any) -> None:
        with pytest.raises(ParameterError, match="statistic must be"):
            curator(NoSource(4, 2)).noisy(statistic, ONE, noise="gaussian")

    def test_a_home_made_statistic(self) -> None:
        class Cheap(SecondMoment):
            def sensitivity_squared(self, neighbors: str) -> int:  # noqa: ARG002
                return 1

        with pytest.raises(ParameterError, match="statistic must be"):
            curator(NoSource(4, 2)).noisy(Cheap(Grid(1.0), 2), ONE, noise="gaussian")

    def test_a_source_of_another_shape_is_not_charged(self) -> None:
        class Short:
            n, known_n, d, feature_names, schema, rereadable, ordered = 4, 4, 2, ("a", "b"), None, True, True

            def total(self, statistic: Any) -> Any:  # noqa: ARG002
                return np.zeros(1, dtype=np.int64)

        asked = curator(Short())
        with pytest.raises(EngineError):
            asked.noisy(asked.second_moment(), ONE, noise="gaussian")
        assert asked._charged == []


@pytest.mark.parametrize("neighbors", ["Replace", "substitute", None, 1])
def test_an_unknown_relation_is_refused(neighbors: Any) -> None:
    with pytest.raises(ParameterError, match="neighbors must be"):
        Curator(NoSource(4, 2), Grid(1.0), ONE, neighbors, SeededBits(0))


@pytest.mark.parametrize("name", ["neighbors", "budget", "grid", "n", "d"])
def test_what_the_promise_rests_on_cannot_be_reassigned(name: str) -> None:
    with pytest.raises(AttributeError):
        setattr(curator(NoSource(4, 2)), name, 0)


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
    asked = Curator(NoSource(4, 2), Grid(1.0), promise, "replace", SeededBits(0))
    with pytest.raises(ParameterError, match="tail"):
        asked.noisy(asked.second_moment(), PureDP(1), noise=noise)
    assert asked._charged == []
