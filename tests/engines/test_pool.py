"""A pool of processes: what is refused, what happens when one of them fails, and that none is left behind."""

from __future__ import annotations

import io
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from threadpoolctl import threadpool_info

import dpcov
from dpcov.errors import DpcovError, EngineError, ParameterError
from dpcov.kernel.account import Account
from dpcov.kernel.questions.moments import Count
from dpcov.sources import csv_file, parquet, pool
from dpcov.sources.array import ArraySource
from dpcov.sources.base import LEAST_ROWS, Portion
from dpcov.sources.opening import open_source
from dpcov.sources.pool import Pool
from dpcov.sources.split import Here, PartSums, SplitSource
from dpcov.sources.worker import BROKEN, serve
from tests.engines.test_every_engine import children

ROWS = np.random.default_rng(5).normal(size=(400, 3))
BAD: list[Any] = [0, -1, 257, 2.0, "2", None, True, [2], np.int64(2), 10**30]


@pytest.fixture
def unspent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail whoever charges the budget."""

    def charge(_: Account, *budgets: object) -> NoReturn:
        raise AssertionError(f"{budgets!r} were charged")

    monkeypatch.setattr(Account, "charge", charge)


@pytest.fixture
def nobody_left() -> Iterator[None]:
    """Insist that no process is left."""
    before = children()
    yield
    assert children() == before


CALLS: dict[str, Callable[..., object]] = {
    "covariance": lambda data, **more: dpcov.covariance(data, dpcov.ZCDP(1), row_norm=1, **more),
    "mean": lambda data, **more: dpcov.mean(data, dpcov.ZCDP(1), radius=1, **more),
    "pca": lambda data, **more: dpcov.pca(data, dpcov.ZCDP(1), 1, row_norm=1, **more),
    "ridge": lambda data, **more: dpcov.ridge(data, dpcov.PureDP(1), "x0", alpha=1, row_norm=1, **more),
    "rehearse": lambda data, **more: dpcov.rehearse("covariance", data, dpcov.ZCDP(1), row_norm=1, **more),
}


@pytest.mark.parametrize("workers", BAD, ids=str)
@pytest.mark.parametrize("call", CALLS)
def test_a_bad_number_is_refused_before_data_are_opened(call: str, workers: Any) -> None:
    with pytest.raises(
        ParameterError, match=r"^workers must be a whole number from 1 to 256, or a function such as pool.map, got .+\. Hint: "
    ):
        CALLS[call]("no such file.csv", workers=workers)


def test_pairs_are_refused() -> None:
    """Their order would be lost; so would it be in any source that comes in parts."""
    asked: dict[str, Any] = {"mechanism": "coinpress", "centring": "pairs", "upper": 4}
    with pytest.raises(ParameterError, match="workers must be 1 for pairs of rows"):
        dpcov.covariance(ROWS, dpcov.ZCDP(1), workers=2, **asked)
    assert dpcov.covariance(ROWS, dpcov.ZCDP(1), workers=1, **asked).n == 200
    assert not SplitSource(ArraySource(ROWS), Here()).ordered


@pytest.mark.usefixtures("nobody_left")
def test_a_rehearsal_starts_nothing() -> None:
    CALLS["rehearse"](ROWS, workers=2)


@dataclass(frozen=True)
class Odd:
    """A part that does something else than to sum."""

    what: str
    share: float = 0.5

    def sums(self, statistic: Any) -> PartSums:  # noqa: ARG002
        if self.what == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.what == "raise":
            raise KeyError("SECRET 424242")
        if self.what == "threads":
            (library,) = [one for one in threadpool_info() if one["user_api"] == "blas" and "numpy" in one["filepath"]]
            return PartSums(np.array([library["num_threads"]]), 1, self.share)
        if self.what == "refuse":
            raise EngineError("data must be whole, got 'a.csv'. Hint: copy it.")
        return PartSums(np.ones(1, dtype=np.int64), 1, self.share)


class OddSource(ArraySource):
    """Rows that some parts cannot be read of."""

    what = "die"

    def parts(self) -> Iterator[Any]:
        yield from (Odd(what) for what in ("", "", "", self.what, "", ""))


@pytest.mark.usefixtures("nobody_left", "unspent")
@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("die", "workers must stay alive until the rows are read, got one that ended before"),
        ("raise", "data must be readable to the end by each worker, got an error in one of them"),
        ("refuse", "data must be whole, got 'a.csv'"),
    ],
)
def test_a_worker_that_fails_ends_in_one_clear_error(what: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OddSource, "what", what)
    monkeypatch.setattr("dpcov.request.open_source", lambda *_: OddSource(ROWS))
    with pytest.raises(EngineError, match=words) as raised:
        dpcov.covariance(ROWS, dpcov.ZCDP(1), row_norm=1, workers=2)
    assert "SECRET" not in str(raised.value)
    assert raised.value.__context__ is None
    assert raised.value.__cause__ is None


@pytest.mark.usefixtures("nobody_left")
def test_a_worker_has_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many threads as cores, in as many processes as cores, would wait for each other."""
    for name in pool.THREADS:
        monkeypatch.setenv(name, "2")
    engine = Pool(1)
    assert [found.integers.tolist() for found in engine.run(Count(), [Odd("threads")]) if found.integers is not None] == [[1]]
    engine.close()


@pytest.mark.usefixtures("nobody_left")
def test_a_worker_that_died_between_two_readings() -> None:
    engine = Pool(2)
    source = SplitSource(ArraySource(ROWS), engine)
    assert source.total(Lines()).tolist() == [400]
    (victim, _) = engine._processes
    victim.kill()
    victim.wait()
    with pytest.raises(EngineError, match="workers must stay alive"):
        source.total(Lines())
    source.close()


class Lines:
    """A question that is no count, so that it is not answered from memory."""

    name, max_block, shape = "rows", 2**53, (1,)

    def of(self, rows: Any, *, scratch: bool = False) -> Any:  # noqa: ARG002
        return np.array([len(rows)], dtype=np.int64)

    def entries(self, total: Any) -> Any:
        return total


@pytest.mark.usefixtures("nobody_left", "unspent")
def test_a_machine_that_starts_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool.sys, "executable", "/no/such/python")  # type: ignore[attr-defined]
    with pytest.raises(EngineError, match=r"workers must be processes that this machine can start, got an error \("):
        dpcov.covariance(ROWS, dpcov.ZCDP(1), row_norm=1, workers=2)


def ragged(folder: Path) -> Path:
    (folder / "t.csv").write_text("a,b\n" + "1,2\n" * 300 + "424242\n" + "1,2\n" * 300, encoding="utf-8")
    return folder / "t.csv"


def truncated(folder: Path) -> str:
    for name in ("a", "b"):
        place = folder / f"{name}.parquet"
        pq.write_table(pa.table({"a": np.arange(9000.0), "b": np.arange(9000.0)}), place, row_group_size=1000)
    content = bytearray(place.read_bytes())
    content[60_000:70_000] = bytes(10_000)
    place.write_bytes(content)
    return f"{folder}/*.parquet"


@pytest.mark.usefixtures("nobody_left", "unspent")
@pytest.mark.parametrize(("make", "name"), [(ragged, "'t.csv'"), (truncated, r"'b.parquet' \(file 2 of 2\)")])
def test_a_broken_file_is_named_and_costs_nothing(
    make: Callable[[Path], Any], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_file, "CSV_BLOCK", 200)
    monkeypatch.setattr(csv_file, "CSV_PIECE", 400)
    monkeypatch.setattr(parquet, "PIECE_ROWS", 2000)
    with pytest.raises(EngineError, match=f"data must be readable to the end, got an error in {name} before it") as raised:
        dpcov.covariance(make(tmp_path), dpcov.ZCDP(1), row_norm=9, columns=["a", "b"], workers=2)
    assert "424242" not in str(raised.value)


@pytest.mark.usefixtures("nobody_left")
def test_an_interrupt_leaves_nobody_behind() -> None:
    def interrupted() -> Iterator[Any]:
        yield Odd("")
        raise KeyboardInterrupt

    engine, before = Pool(2), children()
    with pytest.raises(KeyboardInterrupt):
        list(engine.run(Count(), interrupted()))
    assert children() == before
    assert list(engine.run(Count(), iter([Odd("")]))) != []  # and it can be used again
    engine.close()


SCRIPT = """
import sys, dpcov
print("ready", flush=True)
made = dpcov.covariance(sys.argv[1], dpcov.ZCDP(1), row_norm=1, columns=["a"], workers=2, seed=1)
made.save(sys.argv[2])
"""


def test_a_script_needs_no_guard(tmp_path: Path) -> None:
    """Processes are started anew and do not run the script again, as those of multiprocessing do."""
    (tmp_path / "t.csv").write_text("a\n" + "0.5\n" * 1000, encoding="utf-8")
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, "script.py", "t.csv", "out.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"ready\n", b"")
    assert dpcov.load(tmp_path / "out.json").n == 1000


SLOW = """
import os, sys, time
from dpcov.sources.pool import Pool
from dpcov.kernel.questions.moments import Count
sys.path.insert(0, {folder!r})
from slow import Slow
pool = Pool(2)
for found in pool.run(Count(), (Slow(i) for i in range(1000))):
    if found.rows and sys.argv[1:] != ["told"]:
        print(*(process.pid for process in pool._processes), flush=True)
        sys.argv[1:] = ["told"]
"""
PART = """
import time
from dpcov.sources.split import PartSums
class Slow:
    share = None
    def __init__(self, number): self.number = number
    def sums(self, statistic):
        time.sleep(0.05 if self.number < 2 else 3)
        return PartSums(statistic.of([0]), 1, None)
"""


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_process_survives_the_one_that_started_it(stop: signal.Signals, tmp_path: Path) -> None:
    """An interrupt goes to all of them, as from a terminal, and ends all at once; the others only to the one that reads."""
    (tmp_path / "slow.py").write_text(PART, encoding="utf-8")
    command = [sys.executable, "-c", SLOW.format(folder=str(tmp_path))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        workers = [int(word) for word in process.stdout.readline().split()]
        assert len(workers) == 2
        if stop == signal.SIGINT:
            os.killpg(process.pid, stop)
        else:
            os.kill(process.pid, stop)
        process.wait(timeout=30)
        until = time.monotonic() + 30
        while any(map(is_alive, workers)) and time.monotonic() < until:
            time.sleep(0.02)
        assert not any(map(is_alive, workers))


def is_alive(number: int) -> bool:
    """Whether a process runs; one that has ended may wait for its entry to be cleared."""
    try:
        status = Path(f"/proc/{number}/stat").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


class TestAWorker:
    def answers(self, *orders: tuple[str, Any]) -> list[tuple[str, Any]]:
        """Return what a worker answers to these orders, in this process."""
        written = io.BytesIO()
        serve(io.BytesIO(b"".join(pickle.dumps(order) for order in orders)), written)
        written.seek(0)
        return [pickle.load(written) for _ in orders]

    def test_it_adds_up_what_it_was_given(self) -> None:
        parts = [("add", part) for part in ArraySource(ROWS).parts()]
        asked = [("ask", Count()), *parts, *parts, ("total", None), ("ask", Count()), ("total", None)]
        *told, total, again, nothing = self.answers(*asked)
        assert told == [("", None), ("", 400), ("", 400)]
        assert (total[0], total[1].tolist(), again, nothing) == ("", [800], ("", None), ("", None))

    def test_its_errors_quote_nothing(self) -> None:
        told = self.answers(("ask", Count()), ("add", Odd("raise")), ("add", Odd("refuse")), ("add", Odd("")))
        assert told[1] == ("EngineError", BROKEN)
        assert told[2] == ("EngineError", "data must be whole, got 'a.csv'. Hint: copy it.")
        assert told[3] == ("", 1)


class TestProgress:
    @pytest.mark.usefixtures("nobody_left")
    def test_it_ends_at_one_in_whole_percents(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(csv_file, "CSV_BLOCK", 500)
        monkeypatch.setattr(csv_file, "CSV_PIECE", 600)
        (tmp_path / "t.csv").write_text("a\n" + "0.5\n" * 2000, encoding="utf-8")
        told: list[Any] = []
        asked: dict[str, Any] = {"row_norm": 1, "columns": ["a"], "mechanism": "gaussian"}
        dpcov.covariance(tmp_path / "t.csv", dpcov.ZCDP(1), workers=2, progress=told.append, **asked)
        assert told == sorted(told)
        assert told[-1] == 1.0
        assert len(told) > 5
        assert all(type(one) is Portion and one.rows == 0 for one in told)

    def test_unknown_stays_unknown(self) -> None:
        told: list[Any] = []
        reader = pa.table({"a": ROWS[:, 0]}).to_reader(max_chunksize=10)
        source: Any = open_source(reader)
        SplitSource(source, Here(), told.append).total(Count())
        assert told == [None]

    @pytest.mark.parametrize(
        ("rows", "about"),
        [(0, 0), (57, 0), (LEAST_ROWS - 1, 0), (10_000, 10_000), (12_999, 12_000), (987_654_321, 980_000_000)],
    )
    def test_rows_are_told_with_two_digits_or_not_at_all(self, rows: int, about: int) -> None:
        assert Portion(37, rows).rows == about
        assert Portion(37, rows) == 0.37


def test_a_second_reading_of_other_rows_is_noticed() -> None:
    class Shrinking(ArraySource):
        def parts(self) -> Iterator[Any]:
            found = list(super().parts())
            self._array = self._array[:-1]
            return iter(found)

    source = SplitSource(Shrinking(ROWS), Here())
    source.total(Lines())
    with pytest.raises(DpcovError, match="data must be the same each time they are read"):
        source.total(Lines())
