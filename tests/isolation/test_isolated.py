"""`dpcov.isolated`: the release crosses, checked as a stranger's file is, or an error in this library's own words."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.isolation import parent
from dpcov.release.file import text_of
from tests.cli.shell import NUMBER, SECRET, write_people
from tests.isolation.probe import can_isolate, needs_walls, replaced
from tests.isolation.test_walls import await_end

BUDGET = dpcov.ZCDP("0.1")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path)
    np.save(tmp_path / "rows.npy", np.full((500, 3), 0.5))
    return tmp_path


def schema() -> dpcov.Schema:
    return dpcov.Schema.read("people.toml")


@needs_walls
class TestReleases:
    @pytest.mark.parametrize("seed", [3])
    def test_it_is_the_release_that_the_function_makes(self, seed: int) -> None:
        for function, data, settings in (
            (dpcov.covariance, "people.csv", {"schema": schema()}),
            (dpcov.covariance, dpcov.Csv("people.csv", separator=","), {"schema": schema(), "mechanism": "standardized"}),
            (dpcov.mean, Path("rows.npy"), {"radius": 10, "covariance": [1, 1, 1]}),
            (dpcov.pca, "rows.npy", {"k": 1, "row_norm": 1, "screen": False}),
        ):
            here = function(data, BUDGET, seed=seed, **settings)
            there = dpcov.isolated(function, data, BUDGET, seed=seed, **settings)
            assert text_of(there) == text_of(here)

    def test_noise_is_the_systems_each_time(self) -> None:
        made = [dpcov.isolated(dpcov.covariance, "rows.npy", BUDGET, row_norm=1) for _ in range(2)]
        assert not made[0].seeded
        assert text_of(made[0]) != text_of(made[1])

    def test_a_ledger_is_charged_there_and_knows_the_release(self) -> None:
        ledger = dpcov.Ledger.create("budget.db")
        ledger.add("people", dpcov.ZCDP("0.15"), data="people.csv")
        people = ledger.dataset("people", why="the report", who="Ada")
        made = dpcov.isolated(dpcov.covariance, "people.csv", BUDGET, schema=schema(), ledger=people)
        assert made.ledger is not None
        assert ledger.verify(made).intact
        assert [(event["event"], event["who"], event["why"]) for event in ledger.history("people").events][-1] == (
            "released",
            "Ada",
            "the report",
        )
        with pytest.raises(dpcov.BudgetError, match=r"has left, rho = 0\.05"):
            dpcov.isolated(dpcov.covariance, "people.csv", BUDGET, schema=schema(), ledger=people)
        with pytest.raises(dpcov.ParameterError, match="ledger must be given"):
            dpcov.isolated(dpcov.covariance, "people.csv", BUDGET, schema=schema())

    @pytest.mark.parametrize(
        ("data", "settings", "kind", "said"),
        [
            ("nowhere.csv", {"row_norm": 1}, dpcov.EngineError, "no such file"),
            ("rows.npy", {}, dpcov.ParameterError, "row_norm or schema must be given"),
            ("rows.npy", {"row_norm": -1}, dpcov.ParameterError, "row_norm must be"),
            ("rows.npy", {"row_norm": 1, "mechanism": "rescald"}, dpcov.ParameterError, "did you mean 'rescaled'"),
            ("people.csv", {"schema": dpcov.Schema({"weight": dpcov.Numeric(0, 1)})}, dpcov.SchemaError, "weight"),
        ],
    )
    def test_errors_are_those_of_the_function(
        self, data: str, settings: dict[str, Any], kind: type[Exception], said: str
    ) -> None:
        with pytest.raises(kind, match=said) as error:
            dpcov.isolated(dpcov.covariance, data, BUDGET, **settings)
        with pytest.raises(kind) as plain:
            dpcov.covariance(data, BUDGET, **settings)
        assert str(error.value) == str(plain.value)

    def test_no_process_is_left(self, monkeypatch: pytest.MonkeyPatch) -> None:
        started = []
        start = subprocess.Popen

        def noted(*arguments: Any, **settings: Any) -> Any:
            started.append(start(*arguments, **settings))
            return started[-1]

        monkeypatch.setattr(subprocess, "Popen", noted)
        dpcov.isolated(dpcov.covariance, "rows.npy", BUDGET, row_norm=1)
        (process,) = started
        assert process.returncode == -signal.SIGKILL
        await_end(process.pid)


REFUSED: list[tuple[Any, Any, dict[str, Any], str]] = [
    (print, "rows.npy", {}, "function must be dpcov.covariance"),
    ("covariance", "rows.npy", {}, "function must be dpcov.covariance"),
    (dpcov.covariance, np.ones((3, 3)), {"row_norm": 1}, "got a ndarray"),
    (dpcov.covariance, None, {"row_norm": 1}, "got a NoneType"),
    (dpcov.covariance, "s3://bucket/people.parquet", {"row_norm": 1}, "an address, which needs the network"),
    (dpcov.covariance, "https://example.org/people.csv", {"row_norm": 1}, "an address, which needs the network"),
    (dpcov.covariance, dpcov.Csv("https://example.org/people.csv"), {"row_norm": 1}, "an address, which needs the network"),
    (dpcov.covariance, "rows.npy", {"row_norm": 1, "workers": 2}, "workers must be 1 when isolated, got 2"),
    (dpcov.covariance, "rows.npy", {"row_norm": 1, "workers": map}, "workers must be 1 when isolated"),
    (dpcov.covariance, "rows.npy", {"row_norm": 1, "progress": print}, "progress must be left out"),
    (dpcov.covariance, "rows.npy", {"row_norm": 1, "mechanism": object()}, "mechanism must be a name"),
    (dpcov.covariance, "rows.npy", {"row_norm": 1, "ledger": "budget.db"}, "ledger must be a data set of one"),
    (dpcov.covariance, "rows.npy", {"row_norm": lambda: 1}, "one that cannot cross into a process"),
    (dpcov.pca, "rows.npy", {"row_norm": 1}, "arguments must be those of dpcov.pca, got others"),
]


@pytest.mark.parametrize(("function", "data", "settings", "said"), REFUSED)
def test_what_cannot_be_isolated_is_refused_before_a_process_starts(
    monkeypatch: pytest.MonkeyPatch, function: Any, data: Any, settings: dict[str, Any], said: str
) -> None:
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("a process was started"))
    with pytest.raises(dpcov.ParameterError) as error:
        dpcov.isolated(function, data, BUDGET, **settings)
    assert said in str(error.value)


def test_where_nothing_can_be_isolated_nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never silently weaker."""
    monkeypatch.setattr(parent, "_answered", lambda _: {"failed": "walls", "said": "no network namespace: refused"})
    with pytest.raises(dpcov.EngineError, match="isolated must be on a system that can isolate a process, got no network"):
        dpcov.isolated(dpcov.covariance, "rows.npy", BUDGET, row_norm=1)


def answering(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Let the process answer with anything: whoever took it over could."""
    code = f"import os\ndef probe(asked):\n    os.write(sys.argv and ANSWERS, {text.encode()!r})\n    os._exit(0)"
    replaced(monkeypatch, code)
    monkeypatch.setattr(parent, "START", parent.START.replace("\nchild._answer", "\nANSWERS = {answers}\nchild._answer"))


@needs_walls
class TestWhatCrosses:
    @pytest.mark.parametrize(
        "text",
        [
            "",
            "{",
            "[]",
            '"release"',
            "{}",
            '{"release": 1}',
            '{"said": "hello"}',
            "[" * 100_000,
            '{"release": "nothing"}',
            '{"release": "{}"}',
        ],
    )
    def test_an_answer_that_is_none_is_an_error(self, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
        answering(monkeypatch, text)
        with pytest.raises(dpcov.EngineError, match=r"Nothing was published\."):
            dpcov.isolated(dpcov.covariance, "rows.npy", BUDGET, row_norm=1)

    def test_a_forged_release_is_refused_as_a_file_would_be(self, monkeypatch: pytest.MonkeyPatch) -> None:
        made = text_of(dpcov.covariance("rows.npy", BUDGET, row_norm=1))
        answering(monkeypatch, json.dumps({"release": made.replace('"replace"', '"add-remove"')}))
        with pytest.raises(dpcov.EngineError, match="must answer with a release, got something else"):
            dpcov.isolated(dpcov.covariance, "rows.npy", BUDGET, row_norm=1)

    def test_an_endless_answer_is_cut(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(parent, "LARGEST", 2**20)
        replaced(monkeypatch, "def probe(asked): return dict(release='x' * 2**22)")
        with pytest.raises(dpcov.EngineError, match="at most 1 GiB"):
            dpcov.isolated(dpcov.covariance, "rows.npy", BUDGET, row_norm=1)

    @pytest.mark.parametrize("kind", ["SystemExit", "__builtins__", "bug", "ValueError"])
    def test_an_error_of_another_kind_is_one_generic_line(self, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
        replaced(monkeypatch, f"def probe(asked): return dict(failed={kind!r}, said={SECRET!r})")
        with pytest.raises(dpcov.EngineError, match="an error that is not one of dpcov's") as error:
            dpcov.isolated(dpcov.covariance, "rows.npy", BUDGET, row_norm=1)
        assert SECRET not in str(error.value)

    def test_words_are_cut_and_cannot_steer_a_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        replaced(
            monkeypatch, "def probe(asked): return dict(failed='SchemaError', said=chr(27) + '[2J' + chr(10) + 'x' * 10**6)"
        )
        with pytest.raises(dpcov.SchemaError) as error:
            dpcov.isolated(dpcov.covariance, "rows.npy", BUDGET, row_norm=1)
        assert str(error.value).isprintable()
        assert len(str(error.value)) <= parent.LONGEST

    def test_an_error_that_quotes_a_cell_does_not_cross(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nor do warnings, prints and tracebacks."""
        code = f"""
            def made(**order):
                import warnings
                warnings.warn({SECRET!r})
                print({SECRET!r}, file=sys.stderr, flush=True)
                print({SECRET!r}, flush=True)
                raise ValueError("cannot parse {NUMBER}")
            child._made = made
            probe = child._answer
            """
        replaced(monkeypatch, textwrap.dedent(code))
        run = subprocess.run([sys.executable, "-c", SHOWN.format(start=parent.START)], capture_output=True, text=True)
        assert run.stdout == "an error that is not one of dpcov's\n", run.stderr
        assert run.stderr == ""


SHOWN = """
import dpcov
from dpcov.isolation import parent
parent.START = {start!r}
try:
    dpcov.isolated(dpcov.covariance, "rows.npy", dpcov.ZCDP(1), row_norm=1)
except dpcov.EngineError as error:
    assert "SECRET" not in str(error) and "424242" not in str(error) and error.__context__ is None
    print("an error that is not one of dpcov's" if "not one of dpcov's" in str(error) else error)
"""


@needs_walls
class TestCrashes:
    @pytest.mark.parametrize(
        ("death", "said"),
        [
            ("os.kill(os.getpid(), 11)", "by SIGSEGV"),
            ("os.kill(os.getpid(), 9)", "by SIGKILL"),
            ("os.abort()", "by SIGABRT"),
            ("os._exit(3)", "before its answer"),
        ],
    )
    def test_a_process_that_dies_ends_in_an_error(self, monkeypatch: pytest.MonkeyPatch, death: str, said: str) -> None:
        replaced(monkeypatch, f"import os\ndef probe(asked): {death}")
        with pytest.raises(dpcov.EngineError, match=f"got one that ended {said}. Nothing was published."):
            dpcov.isolated(dpcov.covariance, "rows.npy", BUDGET, row_norm=1)

    def test_one_that_dies_before_it_hears_its_order_does_too(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(parent, "START", "raise SystemExit(1)")
        settings = {"options": list(range(300_000))}  # more than a pipe holds
        with pytest.raises(dpcov.EngineError, match="got one that ended before its answer"):
            dpcov.isolated(dpcov.mean, "rows.npy", BUDGET, radius=1, **settings)

    def test_memory_that_is_too_small_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """By a limit that is set before numpy is imported: there it ends in an error of some kind, or a death."""
        body = (
            "import resource\nreal = child._answer\ndef probe(asked):\n"
            "    import dpcov.api\n    size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
            "    resource.setrlimit(resource.RLIMIT_AS, (size + 2**24, size + 2**24))\n    return real(asked)"
        )
        replaced(monkeypatch, body)
        np.save("wide.npy", np.zeros((300, 3000)))
        with pytest.raises(dpcov.EngineError, match=r"memory must hold the matrices|Nothing was published"):
            dpcov.isolated(dpcov.covariance, "wide.npy", BUDGET, row_norm=1)

    def test_a_ledger_stays_whole_and_the_spend_stays_spent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Killed between the spend and the answer."""
        ledger = dpcov.Ledger.create("budget.db")
        ledger.add("people", dpcov.ZCDP(1))
        body = "import os\nreal = child._made\ndef made(**order):\n    real(**order)\n    os.kill(os.getpid(), 9)\n"
        replaced(monkeypatch, body + "child._made = made\nprobe = child._answer")
        with pytest.raises(dpcov.EngineError, match="by SIGKILL"):
            dpcov.isolated(dpcov.covariance, "rows.npy", BUDGET, row_norm=1, ledger=ledger.dataset("people"))
        assert ledger.verify().intact
        assert ledger.status().of("people").left == dpcov.ZCDP("0.9")


SLOW = """
import os, sys, time
from dpcov.isolation import parent
parent.START = {start!r}
from dpcov.cli import main
main(["release", "rows.npy", "--rho", "1", "--row-norm", "1", "--isolated", "-o", "out.json"])
"""


@needs_walls
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -15), (signal.SIGKILL, -9)])
def test_an_end_from_outside_leaves_no_process_and_no_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    body = f"import os, time\ndef probe(asked):\n    os.mkdir({str(folder / 'at')!r} + str(os.getpid()))\n    time.sleep(600)"
    replaced(monkeypatch, body)
    with subprocess.Popen(
        [sys.executable, "-c", SLOW.format(start=parent.START)], stderr=subprocess.PIPE, text=True
    ) as process:
        while not (at := list(folder.glob("at*"))):
            assert process.poll() is None
            time.sleep(0.02)
        child = int(at[0].name.removeprefix("at"))
        process.send_signal(number)
        assert process.wait(60) == code
    await_end(child)
    assert not (folder / "out.json").exists()
    assert not list(folder.glob(".dpcov*"))


def test_a_machine_that_can_isolate_does() -> None:
    """And on one that cannot, the same call is refused."""
    if can_isolate():
        assert dpcov.isolated(dpcov.covariance, "rows.npy", BUDGET, row_norm=1).d == 3
    else:
        with pytest.raises(dpcov.EngineError, match="isolated must be on a system that can isolate a process"):
            dpcov.isolated(dpcov.covariance, "rows.npy", BUDGET, row_norm=1)
