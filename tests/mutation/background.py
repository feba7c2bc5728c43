"""Mutants run beside the other tests, on the cores that those leave idle: each test waits for its own verdict."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from tests.mutation.mutants import MUTANTS

ROOT = Path(__file__).parents[2]


class Bench:
    """A pool of workers, and the verdict on each mutant: None where it was caught, else what went wrong."""

    def __init__(self) -> None:
        self._verdicts: dict[str, Future[str | None]] = {}
        self._pool: ThreadPoolExecutor | None = None

    def start(self, names: list[str]) -> None:
        """Start on these mutants, on all cores but that of the tests."""
        self._pool = ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1))
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
        environment = os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}", "COVERAGE_PROCESS_START": ""}
        command = [sys.executable, "-m", "pytest", "-q", "-rf", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-x"]
        for test in MUTANTS[name].caught_by:
            run = subprocess.run([*command, test], cwd=ROOT, env=environment, capture_output=True, text=True)
            if run.returncode != 1 or f"FAILED {test}" not in run.stdout:
                return f"{test} did not fail:\n{run.stdout[-2000:]}{run.stderr[-2000:]}"
    return None


def plant(name: str, folder: Path) -> None:
    """Copy the package and put the bug in."""
    shutil.copytree(ROOT / "src" / "dpcov", folder / "dpcov")
    for edit in MUTANTS[name].edits:
        path = folder / "dpcov" / edit.file
        text = path.read_text(encoding="utf-8")
        assert text.count(edit.old) == 1, f"{edit.file} no longer holds the planted line once: {edit.old!r}"
        path.write_text(text.replace(edit.old, edit.new), encoding="utf-8")
