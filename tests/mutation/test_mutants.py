"""Every planted bug is caught, by the tests named beside it.

A copy of the package is edited, the named tests run against the copy in a process of their own, and each name must end
in a failed test: an error while collecting, or a test that passes, is not a catch.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutation.mutants import MUTANTS

ROOT = Path(__file__).parents[2]


def plant(name: str, folder: Path) -> None:
    shutil.copytree(ROOT / "src" / "dpcov", folder / "dpcov")
    for edit in MUTANTS[name].edits:
        path = folder / "dpcov" / edit.file
        text = path.read_text(encoding="utf-8")
        assert text.count(edit.old) == 1, f"{edit.file} no longer holds the planted line once: {edit.old!r}"
        path.write_text(text.replace(edit.old, edit.new), encoding="utf-8")


@pytest.mark.parametrize("name", MUTANTS)
def test_planted_bug_is_caught(name: str, tmp_path: Path) -> None:
    plant(name, tmp_path)
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}", "COVERAGE_PROCESS_START": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "--no-header", "--tb=no", "-p", "no:cacheprovider"]
    for test in MUTANTS[name].caught_by:
        run = subprocess.run([*command, "-x", test], cwd=ROOT, env=environment, capture_output=True, text=True)
        assert run.returncode == 1, f"{test} did not fail:\n{run.stdout[-2000:]}{run.stderr[-2000:]}"
        assert f"FAILED {test}" in run.stdout


def test_the_copy_is_what_runs(tmp_path: Path) -> None:
    """The control: without it a harness that tested the original would call every bug uncaught, or none."""
    shutil.copytree(ROOT / "src" / "dpcov", tmp_path / "dpcov")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    code = "import dpcov; print(dpcov.__file__)"
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.startswith(str(tmp_path))
