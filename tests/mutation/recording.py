"""Which tests run which lines of the kernel, and how long each takes: what tells which tests a mistake needs.

`make audit` records it with the coverage it prints; ``python -m tests.mutation.machine --record`` does so alone. As a plugin
of pytest this module writes down what each test took; coverage itself notes which test runs a line (``--cov-context=test``).
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Generator
from functools import cached_property
from pathlib import Path

import coverage
import pytest

ROOT = Path(__file__).parents[2]
LINES = Path(os.environ.get("COVERAGE_FILE", ROOT / ".coverage"))  # as coverage itself has it
SECONDS = LINES.with_name(f"{LINES.name}.seconds.json")

SPENT = "processor_seconds"
"""What is added to a report."""

_took: dict[str, float] = defaultdict(float)
_since = [0.0]


def pytest_runtest_logstart() -> None:
    _since[0] = time.process_time()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note the processor's seconds since the last report: the clock's are those of other processes as well."""
    report = yield
    now = time.process_time()
    vars(report)[SPENT], _since[0] = now - _since[0], now
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up set-up, test and tear-down; where workers run the tests, their reports end up in one process."""
    _took[report.nodeid] += vars(report)[SPENT]


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        SECONDS.write_text(json.dumps(_took), encoding="utf-8")


class Record:
    """What was recorded; tests are known by their names."""

    def __init__(self, lines: Path = LINES, seconds: Path = SECONDS) -> None:
        self._data = coverage.CoverageData(str(lines))
        self._data.read()
        self.seconds: dict[str, float] = json.loads(seconds.read_text(encoding="utf-8"))
        self._by_line: dict[str, dict[int, set[str]]] = {}

    def tests(self, path: Path) -> dict[int, set[str]]:
        """Return the tests that run each line of a file; lines that run while it is imported have none."""
        if str(path) not in self._by_line:
            found: dict[int, set[str]] = {}
            for line, contexts in self._data.contexts_by_lineno(str(path)).items():
                found[line] = {context.rpartition("|")[0] for context in contexts if context} & self.seconds.keys()
            self._by_line[str(path)] = found
        return self._by_line[str(path)]

    @cached_property
    def breadth(self) -> dict[str, int]:
        """How many lines of the kernel each test runs: one that runs few is likelier to look at what they do."""
        found: dict[str, int] = defaultdict(int)
        for file in self._data.measured_files():
            if "/dpcov/kernel/" in file:
                for tests in self.tests(Path(file)).values():
                    for test in tests:
                        found[test] += 1
        return found
