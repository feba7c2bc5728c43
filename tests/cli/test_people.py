"""``--unit``, ``--weighting`` and ``--weight`` on the shell, and a ledger that protects people."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcov
from tests.cli.shell import assert_refused, call

BUDGET = ("--rho", "1", "--columns", "dose,effect")


@pytest.fixture
def visits(tmp_path: Path) -> Path:
    draw = np.random.default_rng(7600)
    table = pd.DataFrame({"who": [f"P{one:03d}" for one in draw.integers(0, 300, 3000)], "dose": draw.uniform(0, 1, 3000)})
    table["effect"], table["weight"] = table["dose"] / 2, draw.uniform(0, 2, 3000)
    table.to_csv(tmp_path / "visits.csv", index=False)
    return tmp_path / "visits.csv"


def test_a_release_is_about_people_and_says_so(visits: Path, tmp_path: Path) -> None:
    made = call("release", visits, *BUDGET, "--row-norm", "2", "--unit", "who", "-o", tmp_path / "r.json")
    assert made.code == 0, made.err
    assert "all rows of any one of the 300 people" in " ".join(made.out.split())
    release = dpcov.load(tmp_path / "r.json")
    assert (release.n, release.unit) == (300, "who")
    shown = call("show", tmp_path / "r.json")
    assert "300 people" in " ".join(shown.out.split())
    assert json.loads(call("show", tmp_path / "r.json", "--json").out)["unit"]["column"] == "who"


@pytest.mark.parametrize(
    "options",
    [
        ["--unit", "who", "--weighting", "rows", "--most-rows", "5"],
        ["--weight", "weight", "--max-weight", "2"],
        ["--weight", "weight", "--max-weight", "2000", "--clip-weight", "private"],
        ["--unit", "who", "--weight", "weight", "--max-weight", "2"],
    ],
)
def test_rows_that_count_less_than_once(visits: Path, tmp_path: Path, options: list[str]) -> None:
    made = call("mean", visits, *BUDGET, "--radius", "3", *options, "-o", tmp_path / "m.json")
    assert made.code == 0, made.err
    found = dpcov.load(tmp_path / "m.json")
    assert found.mean == pytest.approx([0.5, 0.25], abs=0.2)
    assert call("mean", visits, *BUDGET, "--radius", "3", *options, "--dry-run").code == 0


@pytest.mark.parametrize(
    "options", [["--unit", "nobody"], ["--unit", "dose"], ["--weight", "weight"], ["--most-rows", "3"], ["--weighting", "rows"]]
)
def test_what_is_refused(visits: Path, options: list[str]) -> None:
    assert_refused(call("release", visits, *BUDGET, "--row-norm", "2", *options), 2)


def test_a_ledger_of_people(visits: Path, tmp_path: Path) -> None:
    ledger = ("--ledger", tmp_path / "budget.db", "--dataset", "visits")
    opened = call("ledger", "init", tmp_path / "budget.db", "--dataset", "visits", "--unit", "who", "--rho", "2")
    assert opened.code == 0, opened.err
    assert_refused(call("release", visits, *BUDGET, "--row-norm", "2", *ledger, "-o", tmp_path / "r.json"), 2)
    made = call("release", visits, *BUDGET, "--row-norm", "2", "--unit", "who", *ledger, "-o", tmp_path / "r.json")
    assert made.code == 0, made.err
    status = json.loads(call("ledger", "status", tmp_path / "budget.db", "--json").out)
    assert status["data_sets"][0]["unit"] == "person: who"
    entries = [json.loads(line) for line in call("ledger", "export", tmp_path / "budget.db").out.splitlines()]
    assert [entry["facts"]["unit"] for entry in entries if entry["event"] in ("opened", "spent")] == ["person: who"] * 2
