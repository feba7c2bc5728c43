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

from tests.mutation.background import BENCH, ROOT
from tests.mutation.mutants import MUTANTS


@pytest.mark.parametrize("name", MUTANTS)
def test_planted_bug_is_caught(name: str) -> None:
    problem = BENCH.verdict(name)
    assert problem is None, problem


def test_the_copy_is_what_runs(tmp_path: Path) -> None:
    """The control: without it a harness that tested the original would call every bug uncaught, or none."""
    shutil.copytree(ROOT / "src" / "dpcov", tmp_path / "dpcov")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    code = "import dpcov; print(dpcov.__file__)"
    run = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.startswith(str(tmp_path))
