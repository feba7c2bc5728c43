"""Every planted bug is caught, by the tests named beside it.

A copy of the package is edited, the named tests run against the copy in a process of their own, and each name must end
in a failed test: an error while collecting, or a test that passes, is not a catch.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutation.background import BENCH, against, copy
from tests.mutation.mutants import MUTANTS


@pytest.mark.parametrize("name", MUTANTS)
def test_planted_bug_is_caught(name: str) -> None:
    problem = BENCH.verdict(name)
    assert problem is None, problem


SOUND = "tests/kernel/laws/test_grid.py::test_shrink_zeroes_a_row_that_still_breaks_the_bound"


def test_the_copy_is_what_runs(tmp_path: Path) -> None:
    """The control: without it a harness that tested the original would call every bug uncaught, or none."""
    copy(tmp_path)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    code = "import dpcov; print(dpcov.__file__)"
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.startswith(str(tmp_path))
    assert against(tmp_path, SOUND).code == pytest.ExitCode.OK


def test_a_copy_that_cannot_be_imported_is_no_catch(tmp_path: Path) -> None:
    copy(tmp_path)
    (tmp_path / "dpcov" / "__init__.py").write_text("raise RuntimeError('planted')", encoding="utf-8")
    run = against(tmp_path, SOUND)
    assert run.code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
    assert f"FAILED {SOUND}" not in run.said


def test_the_original_is_no_copy(tmp_path: Path) -> None:
    """A folder without the package: the installed one would be imported, and its run has no verdict."""
    run = against(tmp_path, SOUND)
    assert run.code is None
    assert "was tested instead of the copy" in run.said
