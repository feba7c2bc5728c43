"""The hospital's page and the tutorial run as written, and print what they show; `make docs` writes what they print now."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [DOCS / "hospital.md", DOCS / "visits.md", DOCS / "tutorial.md"]
TOOL = runpy.run_path(str(ROOT / "docs" / "run_page.py"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_shows_what_its_blocks_print(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert TOOL["refreshed"](text, tmp_path) == text, "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_of_it_is_run_or_printed(page: Path) -> None:
    """A block of another kind would be looked at by nobody; the truth stands beside what is private."""
    text = page.read_text(encoding="utf-8")
    kinds = re.findall(r"^```(.+)$", text, flags=re.MULTILINE)
    assert set(kinds) == {"sh run", "python run", "text"}
    assert text.count("```text\n") == len(re.findall(r"^```\n```text$", text, flags=re.MULTILINE))
    with_truth = re.findall(r"^```text\n(?:(?!```).*\n)*?.*\b(?:true|law)\b", text, flags=re.MULTILINE)
    assert len(with_truth) >= 5


def test_every_step_of_the_hospital_is_there_in_the_shell() -> None:
    text = PAGES[0].read_text(encoding="utf-8")
    shell = "".join(block for kind, block in TOOL["BLOCK"].findall(text) if kind == "sh run")
    for command in ("schema check", "plan", "release", "show", "correlation", "ridge", "predict", "sample"):
        assert f"dpcov {command} " in shell


def test_the_survey_follows_its_law() -> None:
    """That of its docstring, which the tutorial compares with; rounding and limits take at most six hundredths of it."""
    survey = runpy.run_path(str(ROOT / "examples" / "survey" / "table.py"))["survey"](200_000, 1).to_pandas()
    survey["male"], survey["city"] = survey["sex"] == "male", survey["region"] == "city"
    laws: dict[str, dict[str, float]] = {
        "income": {"education": 2.4, "age": 0.25, "hours": 0.5, "male": 4},
        "rent": {"income": 0.18, "city": 4},
        "satisfaction": {"commute": -0.02, "sport": 0.15},
    }
    for target, law in laws.items():
        design = np.column_stack([np.ones(len(survey)), survey[list(law)].astype(float)])
        _, *found = np.linalg.lstsq(design, survey[target], rcond=None)[0]
        np.testing.assert_allclose(found, list(law.values()), rtol=0.06)


def test_a_page_that_lies_is_found_out(tmp_path: Path) -> None:
    """In either language, with another output, with none, and with one too many."""
    honest = (
        "```sh run\necho 2 > two\ncat two\n```\n```text\n2\n```\nso\n```python run\nx = open('two').read()\nprint(x)\n```\n"
    )
    (tmp_path / "a").mkdir()
    true = TOOL["refreshed"](honest, tmp_path / "a")
    assert true.endswith("print(x)\n```\n```text\n2\n\n```\n")
    lies = (true.replace("```text\n2\n```", "```text\n3\n```"), true.replace("```text\n2\n\n```\n", ""), honest)
    for place, lie in enumerate(lies):
        (tmp_path / str(place)).mkdir()
        assert TOOL["refreshed"](lie, tmp_path / str(place)) == true != lie
    quiet = "```python run\nx = 1\n```\n```text\n1\n```\n"
    (tmp_path / "b").mkdir()
    assert TOOL["refreshed"](quiet, tmp_path / "b") == "```python run\nx = 1\n```\n"


@pytest.mark.parametrize("block", ["```sh run\nfalse\n```\n", "```python run\nraise SystemExit(3)\n```\n"])
def test_a_block_that_fails_is_no_output(block: str, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError):
        TOOL["refreshed"](block, tmp_path)


def test_the_command_checks_and_writes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```python run\nprint(1 + 1)\n```\n```text\n3\n```\n", encoding="utf-8")
    with pytest.raises(SystemExit) as refused:
        TOOL["main"]([str(page), "--check"])
    assert refused.value.code == 1
    TOOL["main"]([str(page)])
    assert page.read_text(encoding="utf-8").endswith("```text\n2\n```\n")
    TOOL["main"]([str(page), "--check"])
