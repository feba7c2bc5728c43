"""docs/evidence.md cannot lie: each test and each planted bug that it names is there, and each mechanism is in its table."""

from __future__ import annotations

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import pytest

from benchmarks.evidence import BEGIN, END, LINES, TITLES
from tests.mutation.form import Mutant

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "evidence.md").read_text(encoding="utf-8")
TESTS = re.findall(r"`(tests/[\w/]+\.py(?:::\w+)*)`", PAGE)
ROWS = re.findall(r"^\|.*`(tests/[\w/]+\.py::[\w:]+)` \| (?:\*([^*]+)\* )?\|$", PAGE, flags=re.MULTILINE)


@cache
def defined(file: str) -> frozenset[str]:
    """Return the tests of a file, with the classes that they are in."""
    names: set[str] = set()

    def look(body: list[ast.stmt], outer: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                names.add(f"{outer}::{node.name}")
                look(node.body, f"{outer}::{node.name}")

    look(ast.parse((ROOT / file).read_text(encoding="utf-8")).body, file)
    return frozenset(names)


def planted() -> dict[str, Mutant]:
    """Return all bugs that are planted, by name."""
    found: dict[str, Mutant] = {}
    for path in sorted((ROOT / "tests").rglob("planted*.py")):
        found |= importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts)).PLANTED
    return found


def test_the_tables_are_read() -> None:
    """A row that is written otherwise would not be looked at."""
    assert len(ROWS) == sum(line.startswith("| ") and "`tests/" in line and ".toml" not in line for line in PAGE.splitlines())
    assert len(ROWS) >= 60


@pytest.mark.parametrize("test", sorted(set(TESTS)))
def test_each_test_that_is_named_is_there(test: str) -> None:
    file = test.partition("::")[0]
    assert (ROOT / file).is_file()
    assert test == file or test in defined(file)


def test_each_planted_bug_that_is_named_is_there() -> None:
    known = planted()
    assert not [name for _, name in ROWS if name and name not in known]


def test_reports_are_linked_by_their_number() -> None:
    links = re.findall(r"\[([^\]]+) (\d+)\]\(https://github\.com/([\w.-]+)/([\w.-]+)/(?:issues|pull)/(\d+)\)", PAGE)
    assert len(links) == PAGE.count("https://github.com/") > 20
    for _, number, _, _, linked in links:
        assert number == linked


def test_every_mechanism_is_in_the_table_and_keeps_its_promise_there() -> None:
    table = PAGE.partition(BEGIN)[2].partition(END)[0].strip().splitlines()
    assert table[0] == f"| {' | '.join(TITLES)} |"
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in table[2:]]
    assert [(row[0], row[1].partition("`")[2].partition("`")[0]) for row in cells] == [line[:2] for line in LINES]
    for *_, replaced, removed, proved, promised in cells:
        assert 0 <= float(replaced) <= 1
        assert removed == "" or 0 <= float(removed) <= 1
        assert float(proved) <= float(promised.split()[0])
