"""How the tests run commands: in this process for speed, or in one of their own as a person does."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from dpcov.cli import main
from dpcov.release.record import Release
from dpcov.report.text import NOISE, rounded
from tests.helpers.folders import made_once

PROGRAM = (sys.executable, "-W", "error", "-c", "import sys; from dpcov.cli import main; main(sys.argv[1:])")
SECRET, NUMBER = "SECRET", 424242
"""Cells that no message may quote."""

SCHEMA = """[columns]
age = { lower = 0, upper = 100 }
job = { levels = ["clerk", "nurse", "SECRETARY"] }
"""


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


def call(*arguments: str | Path) -> Result:
    """Run a command in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return Result(int(ended.value.code or 0), out.getvalue(), err.getvalue())


def run(*arguments: str, cwd: Path, before: Callable[[], None] | None = None, **environment: str) -> Result:
    """Run a command in a process of its own; ``before`` runs there first."""
    done = subprocess.run(
        [*PROGRAM, *arguments],
        cwd=cwd,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
        preexec_fn=before,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def people(rows: int = 2000) -> pa.Table:
    """A small table with a name per row that must never be seen."""
    ages = [NUMBER if i == 0 else 20 + i % 50 for i in range(rows)]
    jobs = [("clerk", "nurse", "clerk", SECRET)[i % 4] for i in range(rows)]
    return pa.table({"age": pa.array(ages, pa.int64()), "job": jobs, "name": [f"{SECRET} {i}" for i in range(rows)]})


@made_once
def write_people(folder: Path) -> None:
    """Write the table as people.csv and people.parquet, and its schema as people.toml."""
    csv.write_csv(people(), folder / "people.csv")
    pq.write_table(people(), folder / "people.parquet")
    (folder / "people.toml").write_text(SCHEMA, encoding="utf-8")


def assert_told(out: str, release: Release) -> None:
    """Every mean and deviation stands in a table with its standard error; what is not clear of noise stands there as noise."""
    found = release.describe()
    for reading in (found.mean, found.deviation):
        if reading is None:
            continue
        for value, error, clear in zip(reading.values, reading.standard_error, reading.clear, strict=True):
            number, size = rounded(value, error)
            assert f"{number if clear else NOISE} │ {size} │" in re.sub(" +", " ", out)


def assert_refused(result: Result, code: int) -> None:
    """One line on stderr with the reason, nothing else, and no cell of the data."""
    assert result.code == code, result.err
    assert result.out == ""
    assert result.err.startswith("dpcov: ")
    assert len(result.err.splitlines()) == 1
    assert "Hint: " in result.err
    assert SECRET not in result.err.replace("SECRETARY", "")
    assert str(NUMBER) not in result.err
