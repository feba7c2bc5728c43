"""Documents cannot lie: their Python runs, their quoted lines exist, their links lead somewhere."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import re
from pathlib import Path

import numpy as np
import pytest

import dpcov
from dpcov.cli import cli

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
names = [str(page.relative_to(ROOT)) for page in PAGES]


def blocks(page: Path, language: str) -> list[str]:
    fenced = re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return [text for found, text in fenced if found == language]


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for block in blocks(page, "python"):
        with contextlib.redirect_stdout(io.StringIO()):
            exec(block, {})


def test_the_readme_shows_what_its_code_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    readme = ROOT / "README.md"
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(blocks(readme, "python")[0], {})
    shown = blocks(readme, "")[-1].replace("...", "").split()
    assert shown == printed.getvalue().split()[: len(shown)]


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/mechanisms/*.md")), ids=lambda page: page.stem)
def test_quoted_lines_exist(page: Path) -> None:
    quotes = re.findall(r"^\|[^|]*\| `(src/[^`]*)` \| `([^`]*)` \|$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(quotes) >= 4
    for file, line in quotes:
        assert line in (ROOT / file).read_text(encoding="utf-8"), f"{file} no longer holds {line!r}"


def test_every_mechanism_has_its_page_and_its_line_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for mechanisms in dpcov.MECHANISMS.values():
        for name in mechanisms:
            assert (ROOT / "docs" / "mechanisms" / f"{name}.md").is_file()
            assert f"`{name}`" in readme


def test_every_command_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in cli.commands:
        assert f"dpcov {command}" in readme


@pytest.mark.parametrize("page", PAGES, ids=names)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("module", ["dpcov", "dpcov.api", "dpcov.plan", "dpcov.testing"])
def test_docstring_examples(module: str) -> None:
    results = doctest.testmod(importlib.import_module(module), extraglobs={"np": np})
    assert results.attempted > 0
    assert results.failed == 0
