"""Tests that run in a process beside the others, where a whole run would leave a core idle.

The process is an ordinary pytest with this file as a plug-in: it writes its reports to a file, a line each, and the tests
hand them on as their own when their turn comes. A test without a whole report (the process ended early) runs as any other.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("tests/audit/", "tests/kernel/distribution/")  # half of the work
OPTIONS = "PYTEST_ADDOPTS"
ASKED, ANSWERED = "DPCOV_TESTS_ASKED", "DPCOV_TESTS_ANSWERED"

PLAIN = ("-q", "-v", "-r", "--durations")


def allowed(config: pytest.Config) -> bool:
    """Only a run without options that a process of its own would not know of."""
    options = [str(word) for word in config.invocation_params.args if str(word).startswith("-")]
    return all(option.startswith(PLAIN) for option in options) and OPTIONS not in os.environ and (os.cpu_count() or 1) > 1


class Beside:
    """The process, and the reports on its tests."""

    def __init__(self, items: list[pytest.Item]) -> None:
        self.names = [item.nodeid for item in items if item.nodeid.startswith(FOLDERS)]
        self._folder = tempfile.TemporaryDirectory()
        self._asked, self._answered = (Path(self._folder.name) / name for name in ("asked", "answered"))
        self._asked.write_text(json.dumps(self.names), encoding="utf-8")
        self._answered.touch()
        self._read = 0
        self._reports: dict[str, list[dict[str, Any]]] = {}
        self._run: Future[None] | None = None
        self._running: subprocess.Popen[bytes] | None = None

    def start(self, submit: Callable[[Callable[[], None]], Future[None]]) -> None:
        """Start the process, where a pool has room."""
        self._run = submit(self._process)

    def stop(self) -> None:
        """End the process where tests were interrupted, and leave nothing behind."""
        if self._run is not None and not self._run.cancel():
            if self._running is not None:
                self._running.terminate()
            self._run.result()
        self._folder.cleanup()

    def reports(self, name: str) -> list[dict[str, Any]]:
        """Wait for the reports on a test, from its set-up to its tear-down; there are none if it will not be run there."""
        while True:
            ended = self._run is None or self._run.cancel() or self._run.done()
            self._read_on()
            found = self._reports.get(name, [])
            if found and found[-1]["when"] == "teardown":
                return found
            if ended:
                return []
            time.sleep(0.02)

    def _read_on(self) -> None:
        with self._answered.open(encoding="utf-8") as file:
            file.seek(self._read)
            while (line := file.readline()).endswith("\n"):
                report = json.loads(line)
                self._reports.setdefault(report["nodeid"], []).append(report)
                self._read = file.tell()

    def _process(self) -> None:
        environment = os.environ | {ASKED: str(self._asked), ANSWERED: str(self._answered)}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.beside"]
        command += [f"--basetemp={Path(self._folder.name) / 'temporary'}", *dict.fromkeys(n.split("::")[0] for n in self.names)]
        with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            self._running = run


def hand_on(item: pytest.Item, reports: list[dict[str, Any]]) -> None:
    """Report on a test what the process did."""
    hook = item.config.hook
    hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in reports:
        told = hook.pytest_report_from_serializable(config=item.config, data=dict(report))
        if isinstance(told.longrepr, list):  # where and why it was skipped: JSON has no tuples
            told.longrepr = tuple(told.longrepr)
        hook.pytest_runtest_logreport(report=told)
    hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


class _Answers:
    """The plug-in: run what was asked for, in that order, and write the reports."""

    def __init__(self, config: pytest.Config, asked: Path, answered: Path) -> None:
        self._config, self._answered = config, answered
        self._asked = {name: place for place, name in enumerate(json.loads(asked.read_text(encoding="utf-8")))}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((item for item in items if item.nodeid in self._asked), key=lambda item: self._asked[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        with self._answered.open("a", encoding="utf-8") as file:
            file.write(json.dumps(data) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    """Be the plug-in, in the process beside the tests."""
    if ASKED in os.environ:
        config.pluginmanager.register(_Answers(config, Path(os.environ.pop(ASKED)), Path(os.environ.pop(ANSWERED))))
