"""Every block of code on every page is run by a test, or says why not.

A block's mark stands behind its language: three backticks, `python dask`. `RUN_BY` says which test runs which mark; blocks
without one are run here or in tests/test_docs.py. What cannot run is marked `unrun`, with the reason, and counted.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcov
from dpcov.cli import cli
from tests.test_docs import PAGES, all_blocks, blocks, names
from tests.test_quickstart import in_this_process, made_up

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

RUN_BY = {
    "python": "tests/test_docs.py",
    "python run": "tests/test_run_pages.py",
    "sh run": "tests/test_run_pages.py",
    "python gallery": "tests/test_gallery.py",
    "python adult": "tests/test_quickstart.py",
    "sh install": "tests/test_docs.py",
    "python dask": "tests/engines/test_dask.py",
    "python spark": "tests/engines/test_spark.py",
    "python torch": "tests/engines/test_torch.py",
    "python postgres": "tests/engines/test_sql.py",
    "python ray": "tests/engines/test_user_map.py",
    "pycon": "tests/test_docs.py",  # those of docstrings, which the page is made of
} | {
    f"python {mark}": "tests/test_page_blocks.py"
    for mark in ("setup", "setup ours", "ours", "diffprivlib", "opendp", "statsmodels")
}
ELSEWHERE = {"README.md": "tests/test_docs.py", "docs/quickstart.md": "tests/test_quickstart.py"}
"""Pages whose plain shell blocks have a test of their own; those of all others are run here."""

NO_CODE = {"": "a drawing, or what code prints", "text": "what code prints", "toml": "read as TOML below"}
UNRUN = [
    ("docs/engines.md", "sh unrun needs psql and its database"),
    ("docs/evidence.md", "sh unrun takes a quarter of an hour in a checkout"),
    ("docs/evidence.md", "sh unrun takes half an hour in a checkout"),
    ("docs/quickstart.md", "sh unrun needs a network"),
    ("docs/signing-and-isolation.md", "sh unrun asks for a passphrase"),
    ("docs/signing-and-isolation.md", "sh unrun waits for its moment"),
]


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_every_block_is_run_or_says_why_not(page: Path) -> None:
    """And all of them are seen: as many fences open as close."""
    name, text = str(page.relative_to(ROOT)), page.read_text(encoding="utf-8")
    found = all_blocks(page)
    assert 2 * len(found) == len(re.findall(r"^ *```", text, flags=re.MULTILINE))
    for kind, _ in found:
        if kind.startswith("sh unrun "):
            assert (name, kind) in UNRUN
        else:
            assert kind in ("sh", "sh audit") or kind in RUN_BY or kind in NO_CODE, f"{name}: no test runs {kind!r}"


def test_those_that_are_not_run_are_counted() -> None:
    found = [(str(page.relative_to(ROOT)), kind) for page in PAGES for kind, _ in all_blocks(page) if "unrun" in kind]
    assert sorted(found) == UNRUN


@pytest.mark.parametrize("kind", sorted(RUN_BY))
def test_the_tests_that_are_named_look_for_these_blocks(kind: str) -> None:
    assert any(kind == found for page in PAGES for found, _ in all_blocks(page)), "no page has such a block: leave it out"
    source = (ROOT / RUN_BY[kind]).read_text(encoding="utf-8")
    assert f'"{kind}"' in source or kind in ("python run", "sh run", "python gallery", "pycon")  # run by the page's maker


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "toml")], ids=lambda page: page.stem)
def test_toml_is_read(page: Path, tmp_path: Path) -> None:
    for block in blocks(page, "toml"):
        tomllib.loads(block)
        if block.startswith("[columns]"):
            (tmp_path / "schema.toml").write_text(block, encoding="utf-8")
            assert dpcov.Schema.read(tmp_path / "schema.toml").columns


# Shell blocks, each in a folder that has what the page speaks of.

POLICY = 'rho = 0.1\nmechanisms = ["gaussian", "standardized"]\nschema = "adult.toml"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Made-up people, a release of theirs, a key and policies, under the names that the pages use."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    made_up(2000).to_csv(tmp_path / "adult.csv", index=False)
    shutil.copy(ROOT / "examples" / "adult" / "adult.toml", tmp_path / "adult.toml")
    columns = "age = { lower = 18, upper = 90 }\nincome = { lower = 0, upper = 200000 }\n"
    columns += 'region = { levels = ["north", "south", "east"] }\n'
    (tmp_path / "people.toml").write_text(f"[columns]\n{columns}", encoding="utf-8")
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    (tmp_path / "stricter.toml").write_text(f"{POLICY}second_person = true\n", encoding="utf-8")
    dpcov.covariance(np.full((500, 3), 0.3), dpcov.ZCDP(0.1), row_norm=1).save(tmp_path / "adult.json")
    ages = np.arange(600) % 72 + 18
    people = pa.table({"age": ages, "income": 900 * ages, "region": [["north", "south", "east"][age % 3] for age in ages]})
    pq.write_table(people, tmp_path / "people.parquet")
    schema = dpcov.Schema.read(tmp_path / "people.toml")
    dpcov.covariance(people, dpcov.ZCDP(0.1), schema=schema).save(tmp_path / "people.json")
    with contextlib.chdir(tmp_path):
        dpcov.new_signing_key("office-key")
    return tmp_path


def afresh(block: str, folder: Path) -> None:
    """Remove what a block is about to make, where an earlier one made it as well."""
    for made in re.findall(r" (?:-o|ledger init) (\S+)", block):
        for path in folder.glob(f"{made}*"):
            path.unlink()
        if made.endswith(".db"):  # and the note beside the rows that says which ledger keeps their budget
            for path in folder.glob("*adult.csv.*"):
                path.unlink()


SHELL = [page for page in PAGES if blocks(page, "sh") and str(page.relative_to(ROOT)) not in ELSEWHERE]


@pytest.mark.parametrize("page", SHELL, ids=lambda page: page.stem)
def test_shell_blocks_run(page: Path, folder: Path) -> None:
    """In their order; every command ends well."""
    for block in blocks(page, "sh"):
        if "--isolated" in block and sys.platform != "linux":
            continue  # where nothing isolates, nothing is read
        afresh(block, folder)
        in_this_process(block, folder)
    assert {page.stem for page in SHELL} >= {"ledger", "planning", "signing-and-isolation"}


@pytest.mark.audit
def test_the_audits_of_the_page_run(folder: Path) -> None:
    (block,) = blocks(DOCS / "evidence.md", "sh audit")
    assert in_this_process(block, folder).count("docs/mechanisms/") == 3


@pytest.mark.parametrize(
    "line",
    [
        line
        for page in PAGES
        for kind, text in all_blocks(page)
        if kind.startswith("sh ") and kind not in ("sh run", "sh install")
        for line in text.splitlines()
        if line.startswith("dpcov ")
    ],
)
def test_commands_that_are_not_run_here_exist(line: str) -> None:
    """Their names, and every option that they are given."""
    _, name, *rest = line.split()
    command: click.Command = cli.commands[name]
    if isinstance(command, click.Group):
        command = command.commands[rest.pop(0)]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in rest if word.startswith("--")} <= known


# Other libraries' calls beside ours.

OTHERS = DOCS / "coming-from.md"
PYTHON_OF = {"diffprivlib": os.environ.get("DPCOV_DIFFPRIVLIB", sys.executable)}
"""diffprivlib does not go with the scikit-learn of this environment: the variable names a Python that has it."""


def test_our_calls_beside_those_of_others_run() -> None:
    (rows,), (ours,) = blocks(OTHERS, "python setup"), blocks(OTHERS, "python setup ours")
    namespace: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for block in [rows, ours, *blocks(OTHERS, "python ours")]:
            exec(block, namespace)
    assert len(blocks(OTHERS, "python ours")) == 3


@pytest.mark.parametrize("library", ["diffprivlib", "opendp", "statsmodels"])
def test_the_calls_of_others_run(library: str) -> None:
    python = PYTHON_OF.get(library, sys.executable)
    (rows,), (theirs,) = blocks(OTHERS, "python setup"), blocks(OTHERS, f"python {library}")
    known = ["python diffprivlib", "python opendp", "python statsmodels"]
    assert f"python {library}" in known
    if subprocess.run([python, "-c", f"import {library}"], capture_output=True, check=False).returncode != 0:
        pytest.skip(f"{library} is not installed, or does not go with what is: its block on docs/coming-from.md is not run")
    run = subprocess.run([python, "-c", rows + theirs], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
