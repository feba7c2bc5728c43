"""Random calls of the public interface end as they are declared to end; `calls` says how they are made."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dpcov
from dpcov.errors import ParameterError
from tests.fuzz import calls, hostile

FEW = 500

pytestmark = pytest.mark.skipif(os.name != "posix", reason="timers as POSIX has them")


@pytest.fixture(scope="module", autouse=True)
def room() -> Iterator[Path]:
    with calls.room() as folder:
        yield folder


def test_random_calls_return_or_refuse() -> None:
    """Some of each: a generator whose calls all ended at their first argument would test that one only."""
    tally = calls.Tally().run(range(FEW))
    assert tally.undeclared == []
    assert sum(tally.count.values()) == FEW
    assert min(tally.count["returned"], tally.count["refused"]) > FEW / 5


@pytest.mark.audit
def test_a_hundred_thousand_calls() -> None:
    command = [sys.executable, "-m", "tests.fuzz.calls", "--calls", "100000"]
    run = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    print(run.stdout)
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_whole_interface_is_called() -> None:
    """A new function, class or command is called, too."""
    known = {name for name in dpcov.__all__ if callable(getattr(dpcov, name))}
    errors = {name for name in known if isinstance(kind := getattr(dpcov, name), type) and issubclass(kind, BaseException)}
    returned = {type(one).__name__ for one in calls.objects()} | {"Ledger", "DataSet", "Signer", "Signatures", "LedgerStatus"}
    returned |= {
        "Standing",
        "LedgerHistory",
        "Verification",
        "Score",
        "Outlook",
        "Look",
        "Differences",
    }  # what other calls return, and do little
    called = {
        *calls.FUNCTIONS,
        *calls.MADE,
        *calls.PLANS,
        *calls.SIGNED,
        *calls.LOOKED_AT,
        "rehearse",
        "compose",
        "sql",
        "sql_text",
    }
    estimators = {kind.__name__ for kind in calls.ESTIMATORS}
    elsewhere = {"isolated", "Mechanism", "Ignored", "SqlToRun", "convergence"}  # tests/isolation, tests/mechanisms, tests/uses
    assert known - errors <= called | returned | estimators | elsewhere
    what = {calls.call_of(number).what.split(" ")[0] for number in range(3000)}
    assert {*calls.FUNCTIONS, *calls.MADE, *calls.PLANS, "rehearse", "dpcov", *estimators} <= what


def test_the_same_number_makes_the_same_call() -> None:
    assert [calls.call_of(number).what for number in range(60)] == [calls.call_of(number).what for number in range(60)]


class TestVerdicts:
    """The controls: a harness that saw nothing would find nothing."""

    @staticmethod
    def verdict(monkeypatch: pytest.MonkeyPatch, run: Callable[[], Any]) -> tuple[str, str]:
        monkeypatch.setattr(calls, "call_of", lambda *_: calls.Call("a call", run))
        return calls.verdict(0)

    def test_what_is_declared(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.verdict(monkeypatch, lambda: 1) == ("returned", "")
        assert self.verdict(monkeypatch, lambda: dpcov.ZCDP(-1)) == ("refused", "")

    def test_another_error(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.verdict(monkeypatch, lambda: [][0])[0] == "a: IndexError"
        assert self.verdict(monkeypatch, lambda: float("x"))[0] == "a: ValueError"

    def test_a_warning(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert (
            self.verdict(monkeypatch, lambda: warnings.warn("overflow", RuntimeWarning, stacklevel=1))[0] == "a: RuntimeWarning"
        )

    def test_a_line_of_a_log(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.verdict(monkeypatch, lambda: logging.getLogger("dpcov").warning("a row"))[0] == "a: LoggedError"

    def test_a_word_on_the_screen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.verdict(monkeypatch, lambda: print("a row"))[0] == "a: ShellError"

    @pytest.mark.parametrize("where", ["message", "cause", "context", "bytes", "note"])
    def test_a_cell_in_an_error(self, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
        def quote() -> None:
            error = ParameterError("data must be whole" + f", got {hostile.WORD}" * (where == "message"))
            if where == "note":
                error.add_note(f"row {hostile.NUMBER}")
            if where == "bytes":
                error.__context__ = UnicodeDecodeError("utf-8", hostile.WORD.encode() + b"\xff", 4, 5, "invalid")
            if where == "context":
                error.__context__ = ValueError(hostile.WORD)
            raise error from (KeyError(hostile.NUMBER) if where == "cause" else None)

        assert self.verdict(monkeypatch, quote)[0] == "a: ShellError"

    def test_an_endless_one(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def endless() -> None:
            while True:
                pass

        monkeypatch.setattr(calls, "SECONDS", 0.02)
        assert self.verdict(monkeypatch, endless)[0] == "a: TooSlowError"

    def test_a_command_that_ends_as_none_may(self) -> None:
        with pytest.raises(calls.ShellError, match="ended with"):
            calls.ended(1, "", loud=False)
        with pytest.raises(calls.ShellError, match="a bug in dpcov"):
            calls.ended(4, "dpcov: a bug in dpcov ended the command", loud=False)
        with pytest.raises(calls.ShellError, match="shows a cell"):
            calls.ended(0, hostile.WORD, loud=False)
        calls.ended(0, hostile.WORD, loud=True)
