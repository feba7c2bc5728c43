"""Mutants run beside the other tests, on the cores that those leave idle: each test waits for its own verdict.

Each run is a process of its own. Where that is safe it is forked from one that has imported the libraries (`warm`): to
import them again took longer than most tests that catch a mutant. The package itself is imported in the new process.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import Phase, settings

from tests.mutation.mutants import MUTANTS

ROOT = Path(__file__).parents[2]
OPTIONS = ["-q", "-rf", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-x"]
# The libraries were imported before pytest could rewrite the assertions of its plug-ins: of no interest.
OPTIONS += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]

if sys.platform == "linux":
    PROCESSES = multiprocessing.get_context("forkserver")
    PROCESSES.set_forkserver_preload(["tests.mutation.warm"])
else:
    PROCESSES = multiprocessing.get_context("spawn")


class Bench:
    """A pool of workers, and the verdict on each mutant: None where it was caught, else what went wrong."""

    def __init__(self) -> None:
        self._verdicts: dict[str, Future[str | None]] = {}
        self._pool: ThreadPoolExecutor | None = None

    def open(self) -> Callable[[Callable[[], None]], Future[None]]:
        """Take all cores but that of the tests; return how to hand work to them."""
        self._pool = ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1))
        return self._pool.submit

    def start(self, names: list[str]) -> None:
        """Start on these mutants, after what was handed over before."""
        assert self._pool is not None
        self._verdicts = {name: self._pool.submit(verdict, name) for name in names}

    def verdict(self, name: str) -> str | None:
        """Return the verdict on a mutant; one that nobody has begun is tried here, rather than waited for."""
        begun = self._verdicts[name]
        return verdict(name) if begun.cancel() else begun.result()

    def stop(self) -> None:
        """Drop what has not begun."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)


BENCH = Bench()


def verdict(name: str) -> str | None:
    """Run the tests that must catch a mutant against a copy that has it; say which of them did not fail."""
    with tempfile.TemporaryDirectory() as folder:
        plant(name, Path(folder))
        for test in MUTANTS[name].caught_by:
            run = against(Path(folder), test)
            if run.code != pytest.ExitCode.TESTS_FAILED or f"FAILED {test}" not in run.said:
                return f"{test} did not fail:\n{run.said[-2000:]}"
    return None


def plant(name: str, folder: Path) -> None:
    """Copy the package and put the bug in."""
    copy(folder)
    for edit in MUTANTS[name].edits:
        path = folder / "dpcov" / edit.file
        text = path.read_text(encoding="utf-8")
        assert text.count(edit.old) == 1, f"{edit.file} no longer holds the planted line once: {edit.old!r}"
        path.write_text(text.replace(edit.old, edit.new), encoding="utf-8")


def copy(folder: Path) -> None:
    """Copy the package into a folder."""
    shutil.copytree(ROOT / "src" / "dpcov", folder / "dpcov")


class Run(NamedTuple):
    """How a run of pytest ended, and what it said; it has no code where it was not pytest that ended it."""

    code: int | None
    said: str


def against(folder: Path, test: str) -> Run:
    """Run a test in a process of its own, against the package in a folder."""
    code, said = folder / "code", folder / "said"
    code.unlink(missing_ok=True)
    process = PROCESSES.Process(target=_run, args=(folder, test, code, said))
    process.start()
    process.join()
    words = said.read_text(encoding="utf-8", errors="replace") if said.exists() else "nothing was run"
    return Run(int(code.read_text(encoding="utf-8")) if code.exists() else None, words)


def _run(folder: Path, test: str, code: Path, said: Path) -> None:
    """Be the process: as ``python -m pytest`` is, with the folder in front."""
    with said.open("wb") as to:
        os.dup2(to.fileno(), 1)
        os.dup2(to.fileno(), 2)
    os.chdir(ROOT)
    os.environ.pop("PYTEST_ADDOPTS", None)
    os.environ |= {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "COVERAGE_PROCESS_START": ""}
    sys.path[:] = [str(ROOT), str(folder), *(entry for entry in sys.path if entry not in ("", str(ROOT)))]
    if "dpcov" in sys.modules:
        raise RuntimeError("the package was imported before the copy could be")
    # An example that fails is enough, the smallest one is not asked for. Settings of the tests' own begin from these.
    settings.register_profile("planted", phases=[phase for phase in Phase if phase not in (Phase.shrink, Phase.explain)])
    settings.load_profile("planted")
    ended = pytest.main([*OPTIONS, f"--basetemp={folder / 'temporary'}", test])
    sys.stdout.flush()
    where = sys.modules["dpcov"].__file__ if "dpcov" in sys.modules else None
    if where is not None and not where.startswith(str(folder)):
        raise RuntimeError(f"{where} was tested instead of the copy")
    code.write_text(str(int(ended)), encoding="utf-8")
