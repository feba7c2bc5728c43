"""A release and its ledger: spent after the first complete reading and before the first draw, whatever happens then."""

from __future__ import annotations

import copy
import os
import pickle
import re
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpcov
from dpcov.custody import store
from dpcov.custody.state import MOST_ATTEMPTS
from dpcov.kernel.account import Account
from dpcov.kernel.curator import Curator
from dpcov.kernel.questions.directions import Directions
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.sums import ExactSums
from dpcov.release.file import digest, parse, text_of
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import encoding_of
from tests.helpers.watched import WatchedAccount, WatchedSampler, WatchedSums

ROWS = np.full((1000, 2), 0.5)
ONE = dpcov.ZCDP(1)


@pytest.fixture
def ledger(tmp_path: Path) -> dpcov.Ledger:
    made = dpcov.Ledger.create(tmp_path / "budget.db")
    made.add("trees", ONE)
    return made


@pytest.fixture
def trees(ledger: dpcov.Ledger) -> dpcov.DataSet:
    return ledger.dataset("trees", why="how thick they grow", who="Ada")


def events(ledger: dpcov.Ledger) -> list[str]:
    return [event["event"] for event in ledger.history("trees").events]


def left(ledger: dpcov.Ledger) -> Any:
    return ledger.status().of("trees").left


QUARTER = dpcov.ZCDP("0.25")


def release(trees: dpcov.DataSet, budget: Any = QUARTER, data: Any = ROWS, **settings: Any) -> dpcov.Release:
    return dpcov.covariance(data, budget, ledger=trees, **({"row_norm": 1} | settings))


class TestARelease:
    def test_it_is_charged_in_whole_and_carries_its_entry(self, ledger: dpcov.Ledger, trees: dpcov.DataSet) -> None:
        made = release(trees)
        assert left(ledger) == dpcov.ZCDP("0.75")
        assert events(ledger) == ["opened", "attempted", "spent", "released"]
        spent, kept = ledger.history("trees").events[2:]
        assert made.ledger is not None
        assert (made.ledger.ledger, made.ledger.entry) == (ledger.identifier, spent["sequence"])
        assert (spent["who"], spent["why"]) == ("Ada", "how thick they grow")
        assert spent["facts"]["what"] == {"target": "covariance", "mechanism": "auto", "resolved": "rescaled", "row_norm": 1.0}
        assert (spent["facts"]["neighbors"], spent["facts"]["unit"]) == ("replace", "row")
        assert kept["facts"] == {"spent": spent["sequence"], "digest": digest(made)}
        assert ledger.verify(made).intact

    @pytest.mark.parametrize("function", [dpcov.mean, dpcov.pca, dpcov.ridge])
    def test_every_function_takes_one(self, ledger: dpcov.Ledger, trees: dpcov.DataSet, function: Any) -> None:
        settings: dict[str, Any] = {"radius": 1} if function is dpcov.mean else {"row_norm": 1}
        settings |= {dpcov.pca: {"k": 1}, dpcov.ridge: {"target": 0, "alpha": 1}}.get(function, {})
        made = function(ROWS, dpcov.ZCDP("0.25"), ledger=trees, **settings)
        assert ledger.verify(made).intact
        assert left(ledger) == dpcov.ZCDP("0.75")

    @pytest.mark.parametrize(
        "estimator",
        [
            dpcov.PrivateCovariance(rho="0.25", row_norm=1),
            dpcov.PrivateMean(rho="0.25", radius=1),
            dpcov.PrivatePCA(1, rho="0.25", row_norm=1),
            dpcov.PrivateRidge(rho="0.25", row_norm=1, target_bound=1),
        ],
        ids=lambda estimator: type(estimator).__name__,
    )
    def test_estimators_do_too_and_their_clones(self, ledger: dpcov.Ledger, trees: dpcov.DataSet, estimator: Any) -> None:
        from sklearn.base import clone

        fitted = clone(estimator.set_params(ledger=trees)).fit(ROWS, ROWS[:, 0])
        assert ledger.verify(fitted.release_).intact
        assert left(ledger) == dpcov.ZCDP("0.75")

    def test_its_file_holds_the_mark_and_is_checked(self, ledger: dpcov.Ledger, trees: dpcov.DataSet, tmp_path: Path) -> None:
        made = release(trees)
        made.save(tmp_path / "release.json")
        loaded = dpcov.load(tmp_path / "release.json")
        assert loaded.ledger == made.ledger
        assert ledger.verify(loaded, loaded.finished("none"), pickle.loads(pickle.dumps(loaded))).intact

    def test_an_edited_release_shows(self, ledger: dpcov.Ledger, trees: dpcov.DataSet) -> None:
        made = release(trees)
        other = replace(made, notes={"looks": "better"})
        found = ledger.verify(made, other)
        assert found.faults == ("release 2 is not the one that entry 4 paid for: it was edited",)

    def test_a_seeded_one_is_refused(self, ledger: dpcov.Ledger, trees: dpcov.DataSet) -> None:
        with pytest.raises(dpcov.ParameterError, match="seed must be left out with a ledger"):
            release(trees, seed=1)
        assert events(ledger) == ["opened"]
        made = release(trees)
        with pytest.raises(dpcov.ReleaseError, match="seeded release that was charged"):
            parse(text_of(replace(made, seeded=True)))

    def test_a_markov_chain_is_refused_before_anything_is_read(self, ledger: dpcov.Ledger, trees: dpcov.DataSet) -> None:
        with pytest.raises(dpcov.ParameterError, match="Markov chain"):
            dpcov.pca(Unreadable(), dpcov.PureDP("0.1"), 2, row_norm=1, mechanism="ppca", approximate=True, ledger=trees)
        assert (left(ledger), events(ledger)) == (ONE, ["opened"])

    def test_rounded_noise_that_is_off_too_often_is_refused(self, ledger: dpcov.Ledger) -> None:
        """At ε = 60 a tail of 2⁻¹¹⁰ grows to 2⁻²³: more than is counted for it."""
        ledger.add("birds", dpcov.PureDP(100))
        birds = ledger.dataset("birds")
        with pytest.raises(dpcov.BudgetError, match="rounded noise"):
            release(birds, dpcov.PureDP(60), mechanism="wishart", allow_weak=True)
        assert ledger.status().of("birds").left == dpcov.PureDP(100)
        release(birds, dpcov.PureDP(60), mechanism="laplace", allow_weak=True)
        release(birds, dpcov.PureDP(20), mechanism="wishart")
        assert ledger.status().of("birds").left == dpcov.PureDP(20)

    def test_what_does_not_fit_is_refused_before_anything_is_read(self, ledger: dpcov.Ledger, trees: dpcov.DataSet) -> None:
        with pytest.raises(dpcov.BudgetError, match=r"what 'trees' has left, rho = 1, got ZCDP\(rho=1.5\)"):
            release(trees, dpcov.ZCDP("1.5"), Unreadable())
        with pytest.raises(dpcov.ParameterError, match="adds up with the ledger's rho"):
            release(trees, dpcov.ApproxDP(1, "1e-6"), Unreadable())
        assert (left(ledger), events(ledger)) == (ONE, ["opened"])

    def test_another_relation_counts_as_what_it_means(self, ledger: dpcov.Ledger, trees: dpcov.DataSet) -> None:
        release(trees, neighbors="add-remove")
        assert left(ledger) is None
        ledger.add("birds", ONE, neighbors="add-remove")
        with pytest.raises(dpcov.ParameterError, match="neighbors must be 'add-remove'"):
            release(ledger.dataset("birds"))

    def test_a_rehearsal_asks_for_room_and_takes_none(self, ledger: dpcov.Ledger, trees: dpcov.DataSet) -> None:
        found = dpcov.rehearse("covariance", ROWS, dpcov.ZCDP("0.25"), row_norm=1, ledger=trees)
        assert sum(spend.budget.amounts()[0] for spend in found.spent) == Fraction(1, 4)
        with pytest.raises(dpcov.BudgetError, match="has left"):
            dpcov.rehearse("covariance", ROWS, dpcov.ZCDP(2), row_norm=1, ledger=trees)
        assert events(ledger) == ["opened"]


class Unreadable:
    """A stream of rows that fails the test when it is read."""

    def __arrow_c_schema__(self) -> object:
        return pa.schema({f"x{j}": pa.float64() for j in range(5)}).__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        def batches() -> Iterator[pa.RecordBatch]:
            raise AssertionError("the data were read")
            yield

        schema = pa.schema({f"x{j}": pa.float64() for j in range(5)})
        return pa.RecordBatchReader.from_batches(schema, batches()).__arrow_c_stream__()


@dataclass
class WatchedPurse:
    """A purse that notes when it is emptied, or refuses."""

    done: list[str]
    refuses: bool = False
    most_tail: Fraction | None = None

    def take(self) -> None:
        self.done.append("take")
        if self.refuses:
            raise dpcov.BudgetError("others were faster")


class TestTheOrder:
    """Read, take, charge, draw: in the kernel, with doubles that note what they do."""

    def curator(self, refuses: bool = False) -> tuple[Curator, Account, list[str]]:
        done: list[str] = []
        source = ArraySource(ROWS)
        account = WatchedAccount(ONE, done, WatchedPurse(done, refuses))
        sums = WatchedSums(ExactSums(source, encoding_of(Grid(1.0), source), "replace"), done)
        return Curator(sums, account, WatchedSampler(0, done)), account, done

    @pytest.mark.parametrize("kind", ["noisy", "choose", "first_above", "peel", "subspace"])
    def test_the_purse_is_emptied_between_reading_and_drawing(self, kind: str) -> None:
        curator, _, done = self.curator()
        ask(curator, kind)
        ask(curator, kind)
        assert done[:3] == ["read", "take", "charge"]
        assert done.count("take") == 1
        assert done.index("take") < done.index("draw")

    @pytest.mark.parametrize("kind", ["noisy", "choose", "first_above", "peel", "subspace"])
    def test_a_purse_that_refuses_ends_it(self, kind: str) -> None:
        """Nothing is charged or drawn, asking again asks the purse again, and no exact number stands in the traceback."""
        curator, account, done = self.curator(refuses=True)
        for _ in range(2):
            with pytest.raises(dpcov.BudgetError, match="others were faster") as caught:
                ask(curator, kind)
        assert (set(done), account.charged, curator.answers) == ({"read", "take"}, [], ())
        assert done.count("take") == 2
        frames = []
        trace = caught.value.__traceback__
        while trace is not None:
            frames.append(trace.tb_frame)
            trace = trace.tb_next
        kernel = [frame for frame in frames if "dpcov/kernel" in frame.f_code.co_filename]
        assert kernel
        for frame in kernel:
            assert not [name for name, value in frame.f_locals.items() if isinstance(value, np.ndarray)], frame.f_code.co_name


def ask(curator: Curator, kind: str) -> None:
    """Ask one question of this kind, at a tenth of the budget."""
    from dpcov.kernel.questions.choices import Quantile, Radius
    from dpcov.kernel.questions.directions import Subspace

    tenth, public = dpcov.ZCDP("0.1"), curator.public
    moment = public.second_moment()
    norms = public.norms(1, 10)
    if kind == "noisy":
        curator.noisy(moment, tenth, noise="gaussian")
    elif kind == "choose":
        curator.choose(Quantile(norms, 500), tenth)
    elif kind == "first_above":
        curator.first_above(Radius(norms, 10), tenth)
    elif kind == "peel":
        peel = curator.peel(Directions(moment, 1), tenth, noise="gaussian")
        peel.direction(Fraction(1))
        peel.skip()
        peel.close()
    else:
        curator.subspace(Subspace(moment, 1), tenth, sweeps=0)


class Broken:
    """A stream that ends in an error."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        schema = pa.schema({"x": pa.float64(), "y": pa.float64()})

        def batches() -> Iterator[pa.RecordBatch]:
            yield pa.record_batch([pa.array([0.5]), pa.array([0.5])], schema=schema)
            raise self.error

        return pa.RecordBatchReader.from_batches(schema, batches()).__arrow_c_stream__()


class TestFailures:
    def test_a_reading_that_fails_costs_nothing_and_is_noted(self, ledger: dpcov.Ledger, trees: dpcov.DataSet) -> None:
        with pytest.raises(dpcov.EngineError):
            release(trees, data=Broken(OSError("cell 12345 is broken")))
        assert (left(ledger), events(ledger)) == (ONE, ["opened", "attempted", "failed"])
        failed = ledger.history("trees").events[-1]
        assert failed["facts"] == {"attempt": 3, "spent": 0, "error": "EngineError"}
        assert "12345" not in "".join(ledger.export())

    def test_so_does_one_that_is_interrupted(self, ledger: dpcov.Ledger, trees: dpcov.DataSet) -> None:
        def stop(_: float | None) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            release(trees, data=pa.table({"x": [0.5] * 10, "y": [0.5] * 10}), progress=stop)
        assert left(ledger) == ONE
        assert ledger.history("trees").events[-1]["facts"]["error"] == "another error"

    def test_too_many_in_a_row_are_no_accident(self, ledger: dpcov.Ledger, trees: dpcov.DataSet) -> None:
        with ledger.store.writing() as writing:
            for _ in range(MOST_ATTEMPTS - 1):
                writing.add("attempted", "trees", "Ada", "", {})
        trees.attempt(dpcov.ZCDP("0.1"), "replace", {})
        with pytest.raises(dpcov.BudgetError, match=r"read in vain.*dpcov ledger resume"):
            release(trees, data=Unreadable())
        ledger.resume("trees", why="the disk was replaced")
        release(trees)
        assert left(ledger) == dpcov.ZCDP("0.75")

    def test_a_release_ends_the_count(self, ledger: dpcov.Ledger, trees: dpcov.DataSet) -> None:
        with ledger.store.writing() as writing:
            for _ in range(MOST_ATTEMPTS - 1):
                writing.add("attempted", "trees", "Ada", "", {})
        release(trees)
        with ledger.store.writing() as writing:
            for _ in range(MOST_ATTEMPTS - 1):
                writing.add("attempted", "trees", "Ada", "", {})
        release(trees)
        assert left(ledger) == dpcov.ZCDP("0.5")

    def test_what_was_spent_stays_spent_when_a_draw_fails(
        self, ledger: dpcov.Ledger, trees: dpcov.DataSet, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def no_bits(*_: object) -> None:
            raise OSError("no randomness")

        first = ledger.verify()
        monkeypatch.setattr("dpcov.request.SystemBits.words", no_bits)
        monkeypatch.setattr(store, "random_digits", lambda: "0" * 32)
        with pytest.raises(OSError, match="no randomness"):
            release(trees)
        assert left(ledger) == dpcov.ZCDP("0.75")
        assert ledger.history("trees").events[-1]["facts"]["spent"] == 4
        found = ledger.verify()
        assert (first.remarks, found.intact) == ((), True)
        assert "paid for, and no release recorded: 1 (entry 4)" in found.remarks[0]

    def test_a_process_that_is_killed_after_the_spend_leaves_it_spent(self, ledger: dpcov.Ledger, trees: dpcov.DataSet) -> None:
        child = os.fork()
        if child == 0:
            trees.attempt(dpcov.ZCDP("0.25"), "replace", {}).take()
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)
        assert left(ledger) == dpcov.ZCDP("0.75")
        assert ledger.status().of("trees").unfinished == 1

    @pytest.mark.parametrize(
        ("place", "spent", "unfinished"),
        [
            ("dpcov.custody.ledger.DataSet.attempt", 0, 0),
            ("dpcov.kernel.sums.ExactSums.read", 0, 0),
            ("dpcov.custody.purse.Purse.take", 1, 1),
            ("dpcov.kernel.noise.sampler.RandomSampler.noisy", 1, 1),
            ("dpcov.custody.purse.Purse.recorded", 1, 0),
        ],
    )
    def test_a_process_that_is_killed_anywhere_leaves_what_it_had_spent(
        self,
        ledger: dpcov.Ledger,
        trees: dpcov.DataSet,
        monkeypatch: pytest.MonkeyPatch,
        place: str,
        spent: int,
        unfinished: int,
    ) -> None:
        """Killed just after each station: before the spend it costs nothing, after it all, and the next release goes on."""
        path, kind, name = place.rsplit(".", 2)
        owner = getattr(import_module(path), kind)
        done = getattr(owner, name)

        def killing(*arguments: Any, **named: Any) -> None:
            done(*arguments, **named)
            os.kill(os.getpid(), signal.SIGKILL)

        child = os.fork()
        if child == 0:
            monkeypatch.setattr(owner, name, killing)
            release(trees, mechanism="gaussian")
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        standing = ledger.status().of("trees")
        assert (standing.amounts[0], standing.unfinished) == (Fraction(spent, 4), unfinished)
        assert ledger.verify().intact
        assert ledger.verify(release(trees)).intact

    def test_an_interrupt_just_after_the_spend_is_noted_as_spent(
        self, ledger: dpcov.Ledger, trees: dpcov.DataSet, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It is in the ledger before this process knows its entry."""
        spend = dpcov.DataSet.spend

        def interrupted(*arguments: Any) -> None:
            spend(*arguments)
            raise KeyboardInterrupt

        monkeypatch.setattr(dpcov.DataSet, "spend", interrupted)
        with pytest.raises(KeyboardInterrupt):
            release(trees)
        assert ledger.history("trees").events[-1]["facts"] == {"attempt": 3, "spent": 4, "error": "another error"}
        assert left(ledger) == dpcov.ZCDP("0.75")

    def test_others_that_were_faster_leave_too_little(self, ledger: dpcov.Ledger, trees: dpcov.DataSet) -> None:
        first, second = (trees.attempt(dpcov.ZCDP("0.75"), "replace", {}) for _ in range(2))
        first.take()
        with pytest.raises(dpcov.BudgetError, match=r"rho = 0\.25"):
            second.take()
        assert left(ledger) == dpcov.ZCDP("0.25")

    def test_a_release_that_cannot_be_recorded_is_not_lost(
        self, ledger: dpcov.Ledger, trees: dpcov.DataSet, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The disk fails between spend and record: the error has the release, and the ledger takes its digest later."""
        from dpcov.custody.store import Writing

        add = Writing.add

        def failing(self: Writing, event: str, *others: Any) -> Any:
            if event == "released":
                raise dpcov.EngineError("ledger must be a file that can be written")
            return add(self, event, *others)

        monkeypatch.setattr(Writing, "add", failing)
        with pytest.raises(dpcov.EngineError) as caught:
            release(trees)
        monkeypatch.undo()
        made = caught.value.release  # type: ignore[attr-defined]
        found = ledger.verify(made)
        assert found.intact
        assert "its digest was never recorded" in found.remarks[-1]
        ledger.record(made)
        assert (ledger.verify(made).remarks, ledger.status().of("trees").unfinished) == ((), 0)
        with pytest.raises(dpcov.ParameterError, match="not be recorded yet"):
            ledger.record(made)


class TestOldCopies:
    def test_a_release_knows_of_a_later_state(self, ledger: dpcov.Ledger, trees: dpcov.DataSet) -> None:
        first = release(trees)
        before = ledger.path.read_bytes()
        second = release(trees)
        ledger.path.write_bytes(before)
        assert ledger.verify(first).intact
        found = ledger.verify(first, second)
        assert not found.intact
        assert "release 2 knows a later state of this ledger: entry 7 is missing" in found.faults[0]

    def test_one_that_was_put_back_and_used_again_shows(self, ledger: dpcov.Ledger, trees: dpcov.DataSet) -> None:
        before = ledger.path.read_bytes()
        lost = release(trees)
        ledger.path.write_bytes(before)
        kept = release(trees)
        found = ledger.verify(kept, lost)
        assert found.faults == ("release 2 knows another entry 4: this ledger was put back, and used again",)

    def test_the_last_entries_cannot_be_cut_off(self, ledger: dpcov.Ledger, trees: dpcov.DataSet) -> None:
        import sqlite3

        made = release(trees)
        connection = sqlite3.connect(ledger.path)
        connection.execute("DROP TRIGGER never_removed")
        connection.execute("DELETE FROM entries WHERE sequence > 2")
        connection.execute(next(statement for statement in store.STATEMENTS if "never_removed" in statement))
        connection.commit()
        connection.close()
        assert ledger.verify().intact  # the ledger alone cannot tell
        assert not ledger.verify(made).intact

    def test_a_release_of_another_ledger_or_none(self, ledger: dpcov.Ledger, tmp_path: Path) -> None:
        other = dpcov.Ledger.create(tmp_path / "other.db")
        other.add("trees", ONE)
        found = ledger.verify(release(other.dataset("trees")), dpcov.covariance(ROWS, ONE, row_norm=1))
        assert found.faults == ("release 1 was charged to another ledger", "release 2 was charged to no ledger")

    def test_the_order_is_by_number_whatever_the_clock_says(
        self, ledger: dpcov.Ledger, trees: dpcov.DataSet, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Yesterday(datetime):
            @classmethod
            def now(cls, _: Any = None) -> Any:
                return datetime.fromisoformat("1999-12-31T23:59:59+00:00")

        first = release(trees)
        monkeypatch.setattr(store, "datetime", Yesterday)
        second = release(trees)
        assert ledger.verify(first, second).intact
        assert left(ledger) == dpcov.ZCDP("0.5")
        times = [event["time"] for event in ledger.history("trees").events]
        assert times[-1] < times[0]


class TestWhatIsKept:
    def test_nothing_of_the_rows(self, ledger: dpcov.Ledger, trees: dpcov.DataSet) -> None:
        """Two tables that differ in every row make the same entries, but for random digits, digests and times."""
        lines = []
        for value in (0.5, -0.123456):
            release(trees, data=np.full((1000, 2), value))
            kept = list(ledger.export())[-3:]
            lines.append([re.sub(r'"(salt|hash|digest|time)": "[^"]*"', "", line) for line in kept])
        one, other = (re.sub(r"\d+", "N", "".join(kept)) for kept in lines)
        assert one == other
        assert "123456" not in "".join(ledger.export()).replace(str(ledger.identifier), "")

    def test_no_durations(self, ledger: dpcov.Ledger, trees: dpcov.DataSet, monkeypatch: pytest.MonkeyPatch) -> None:
        """How long a release took to draw may depend on the rows: its entries have one time, that of the attempt."""
        from itertools import count

        minutes = count()

        class Running(datetime):
            @classmethod
            def now(cls, _: Any = None) -> Any:
                return datetime.fromisoformat(f"2030-01-01T00:{next(minutes):02d}:00+00:00")

        monkeypatch.setattr(store, "datetime", Running)
        release(trees)
        assert len({event["time"] for event in ledger.history("trees").events[1:]}) == 1

    def test_a_hash_confirms_no_guess(self, tmp_path: Path) -> None:
        """The same history twice has other hashes: random digits are in every entry."""
        heads = set()
        for name in ("one.db", "two.db"):
            made = dpcov.Ledger.create(tmp_path / name)
            made.add("trees", ONE)
            salts = [event.told["salt"] for event in list_entries(made)]
            assert len(set(salts)) == 2
            assert all(re.fullmatch("[0-9a-f]{32}", salt) for salt in salts)
            heads.add(made.verify().head)
        assert len(heads) == 2


def list_entries(ledger: dpcov.Ledger) -> list[store.Entry]:
    with ledger.store.reading() as reading:
        return list(reading.entries())


class TestBadInput:
    def test_what_is_no_ledger(self) -> None:
        for wrong in ("budget.db", 3, object()):
            with pytest.raises(dpcov.ParameterError, match="data set of a ledger"):
                dpcov.covariance(Unreadable(), ONE, row_norm=1, ledger=wrong)  # type: ignore[arg-type]

    def test_a_ledger_without_the_name_of_a_data_set(self, ledger: dpcov.Ledger) -> None:
        with pytest.raises(dpcov.ParameterError, match=r"Ledger.*\.dataset\('adult'\)"):
            dpcov.covariance(Unreadable(), ONE, row_norm=1, ledger=ledger)  # type: ignore[arg-type]

    def test_a_data_set_that_is_not_there(self, ledger: dpcov.Ledger) -> None:
        with pytest.raises(dpcov.ParameterError, match="did you mean 'trees'"):
            ledger.dataset("tres")
        with pytest.raises(dpcov.ParameterError, match="one of the ledger's"):
            ledger.history("birds")
        with pytest.raises(dpcov.ParameterError, match="one of the ledger's"):
            ledger.status().of("birds")

    def test_a_total_is_set_once(self, ledger: dpcov.Ledger) -> None:
        with pytest.raises(dpcov.ParameterError, match="set for good"):
            ledger.add("trees", dpcov.ZCDP(2))
        assert left(ledger) == ONE

    @pytest.mark.parametrize(
        "given",
        [{"name": ""}, {"name": "x" * 2001}, {"name": 3}, {"name": "\ud800"}, {"why": 3}, {"who": ""}, {"neighbors": "any"}],
    )
    def test_words_that_are_none(self, ledger: dpcov.Ledger, given: dict[str, Any]) -> None:
        with pytest.raises(dpcov.ParameterError):
            ledger.add(**{"name": "birds", "total": ONE, **given})
        assert len(ledger.status().standings) == 1

    def test_a_total_that_is_none(self, ledger: dpcov.Ledger) -> None:
        with pytest.raises(dpcov.ParameterError, match="budget must be"):
            ledger.add("birds", 3)  # type: ignore[arg-type]

    def test_a_release_that_is_none(self, ledger: dpcov.Ledger) -> None:
        with pytest.raises(dpcov.ParameterError, match="Release objects"):
            ledger.verify("release.json")  # type: ignore[arg-type]

    def test_options_that_a_mechanism_refuses_leave_no_entry(self, ledger: dpcov.Ledger, trees: dpcov.DataSet) -> None:
        with pytest.raises(dpcov.ParameterError):
            release(trees, data=Unreadable(), mechanism="gaussian", constants="nobody's")
        assert events(ledger) == ["opened"]


def test_handles_can_be_copied_and_pickled(ledger: dpcov.Ledger, trees: dpcov.DataSet) -> None:
    """They hold the name of a file, and no connection."""
    for handle in (copy.deepcopy(trees), pickle.loads(pickle.dumps(trees))):
        release(handle)
    assert left(ledger) == dpcov.ZCDP("0.5")


def test_threads_share_one(ledger: dpcov.Ledger, trees: dpcov.DataSet) -> None:
    refused: list[BaseException] = []

    def charge() -> None:
        for _ in range(10):
            try:
                trees.attempt(dpcov.ZCDP("0.04"), "replace", {}).take()
            except dpcov.BudgetError as error:
                refused.append(error)

    threads = [threading.Thread(target=charge) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (left(ledger), len(refused)) == (None, 15)
    assert ledger.verify().intact


def test_results_are_shown(ledger: dpcov.Ledger, trees: dpcov.DataSet) -> None:
    release(trees)
    for result in (ledger.status(), ledger.history(), ledger.verify()):
        assert "budget.db" in result._repr_html_()
        assert len(result.to_frame()) >= (0 if result is not ledger.verify() else 1)
    assert ledger.status().to_frame()["left"].tolist() == ["rho = 0.75"]
