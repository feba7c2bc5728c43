"""``dpcov compare``: what a new user sees, the files it writes, and what it refuses."""

from __future__ import annotations

import csv
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_wine

import dpcov
from dpcov.kernel.budget import Budget
from tests.cli.shell import PROGRAM, assert_refused, call, run, write_people

PNG = b"\x89PNG\r\n\x1a\n"
SCHEMED = ["--schema", "people.toml"]
FEW = ["--mechanism", "auto", "--mechanism", "gaussian", "--runs", "2"]


@pytest.fixture(autouse=True)
def _in_a_folder_with_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_people(tmp_path)
    monkeypatch.chdir(tmp_path)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_the_new_user_s_command(tmp_path: Path) -> None:
    load_wine(as_frame=True).data.to_csv(tmp_path / "wine.csv", index=False)
    made = run("compare", "wine.csv", "--row-norm", "1700", "--epsilon", "0.1,1,4", "-o", "compare.png", cwd=tmp_path)
    assert (made.code, made.err) == (0, "")
    assert (tmp_path / "compare.png").read_bytes().startswith(PNG)
    lines = made.out.splitlines()
    assert "NOT private" in lines[0]
    assert "n = 178, d = 13" in lines[1]
    names = [line.split()[1] for line in lines if line.startswith(("│", "|"))]
    of_arrays = {name for name, named in dpcov.MECHANISMS["covariance"].items() if named.bound != "schema"}
    assert set(names) == {*of_arrays, "zero"}
    assert names[-1] == "zero"
    assert all(f"epsilon {number}" in made.out for number in ("0.1", "1", "4"))
    assert "Smallest error: " in made.out
    assert "The smallest of these budgets that clearly beats the zero matrix: epsilon " in made.out
    assert "dpcov release DATA --epsilon 1 --row-norm 1700" in made.out  # 0.1 does not, and 4 is more than is needed
    assert lines[-1] == "Written to compare.png."


def test_json_and_csv_hold_what_the_library_finds() -> None:
    words = ["--epsilon", "0.5, 1", "--rho", "0.1", *SCHEMED, "--center", "--neighbors", "add-remove", "--columns", "job"]
    made = call("compare", "people.csv", *words, *FEW, "--seed", "3", "--csv", "table.csv", "--json")
    assert (made.code, made.err) == (0, "")
    found = json.loads(made.out)
    budgets: list[Budget] = [dpcov.PureDP("0.5"), dpcov.PureDP(1), dpcov.ZCDP("0.1")]
    expected = dpcov.compare(
        "people.csv", budgets, ["auto", "gaussian"], schema=dpcov.Schema.read("people.toml"),
        center=True, neighbors="add-remove", columns=["job"], runs=2, seed=3,
    )  # fmt: skip
    assert (found["n"], found["d"], found["zero"], found["target"]) == (2000, 3, expected.zero, "covariance")
    assert [cell["error"] for cell in found["cells"]] == [cell.error for cell in expected.cells]
    assert [cell["budget"] for cell in found["best"]] == [budget.to_json() for budget in budgets]
    assert found["sufficient"]["budget"] == dpcov.PureDP("0.5").to_json()
    assert "NOT private" in found["caution"]
    with Path("table.csv").open(newline="", encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 6


def test_approximate_budgets_and_options_of_mechanisms() -> None:
    words = ["--epsilon", "0.5,1", "--delta", "1e-6", "--row-norm", "100", "--columns", "age", "--runs", "2"]
    made = call("compare", "people.csv", *words, "--mechanism", "gaussian:constants=paper,clip=90")
    assert (made.code, made.err) == (0, "")
    assert "delta 1e-06" in made.out
    command = "dpcov release DATA --epsilon 0.5 --delta 1e-06 --row-norm 100 --columns age --mechanism gaussian"
    assert f"{command} --option constants=paper --option clip=90 -o release.json" in made.out


def test_a_hopeless_budget_is_called_so() -> None:
    noisy = ["--mechanism", "kapralov-talwar", "--mechanism", "gaussian", "--runs", "3"]
    made = call("compare", "people.csv", "--epsilon", "1e-4", *SCHEMED, "--no-center", *noisy)
    assert "nothing clearly beats the zero matrix" in made.out
    assert "dpcov release" not in made.out
    unserved = call("compare", "people.csv", "--rho", "1", *SCHEMED, "--mechanism", "laplace", "--runs", "2")
    assert unserved.code == 0
    assert "-" in unserved.out
    assert "Smallest" not in unserved.out
    assert "None of these mechanisms serves these budgets for centred rows" in unserved.out


@pytest.mark.parametrize("words", [[], ["--center"], ["--no-center"]])
def test_rows_are_centred_as_those_of_a_release_are(words: list[str]) -> None:
    """With a schema by default: what is advised is the release that was tried."""
    made = call("compare", "people.csv", "--rho", "1", *SCHEMED, *FEW, *words)
    assert (made.code, made.err) == (0, "")
    centred = words != ["--no-center"]
    assert ("- does not serve the budget, or centred rows." in made.out) is centred
    assert f"schema people.toml {'--center' if centred else '--no-center'} " in made.out
    released = call("release", "people.csv", "--rho", "1", *SCHEMED, *words, "--json", "-o", "release.json")
    assert json.loads(released.out)["center"] is centred


REFUSED: dict[str, tuple[list[str], int]] = {
    "no budget": ([*SCHEMED], 2),
    "delta alone": (["--delta", "1e-6", *SCHEMED], 2),
    "delta with rho alone": (["--delta", "1e-6", "--rho", "1", *SCHEMED], 2),
    "a gap in a list": (["--epsilon", "1,,2", *SCHEMED], 2),
    "a budget of nothing": (["--rho", "1,0", *SCHEMED], 2),
    "no public knowledge": (["--rho", "1"], 2),
    "both kinds of it": (["--rho", "1", "--row-norm", "1", *SCHEMED], 2),
    "no such schema": (["--rho", "1", "--schema", "nowhere.toml"], 4),
    "mechanism": (["--rho", "1", *SCHEMED, "--mechanism", "magic"], 2),
    "option": (["--rho", "1", *SCHEMED, "--mechanism", "gaussian:magic=1"], 2),
    "value of an option": (["--rho", "1", *SCHEMED, "--mechanism", "gaussian:constants=magic"], 2),
    "one run": (["--rho", "1", *SCHEMED, "--runs", "1"], 2),
    "seed": (["--rho", "1", *SCHEMED, "--seed", "-1"], 2),
    "columns": (["--rho", "1", *SCHEMED, "--columns", "wage"], 2),
    "another ending": (["--rho", "1", *SCHEMED, "-o", "compare.txt"], 2),
    "a picture in no folder": (["--rho", "1", *SCHEMED, "-o", "nowhere/compare.png"], 4),
    "a table over the data": (["--rho", "1", *SCHEMED, "--csv", "people.csv", "--force"], 2),
    "a picture that exists": (["--rho", "1", *SCHEMED, "-o", "old.png"], 2),
    "a table that exists": (["--rho", "1", *SCHEMED, "--csv", "old.png"], 2),
    "one file for both": (["--rho", "1", *SCHEMED, "-o", "new.png", "--csv", "./new.png"], 2),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_before_a_row_is_read(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("a row was read")

    monkeypatch.setattr("dpcov.sources.kept.KeptSource.__init__", fail)
    Path("old.png").write_bytes(b"old")
    before = contents(tmp_path)
    words, code = REFUSED[case]
    assert_refused(call("compare", "people.csv", *words), code)
    assert contents(tmp_path) == before


def test_force_overwrites() -> None:
    Path("old.png").write_bytes(b"old")
    assert call("compare", "people.csv", "--rho", "1", *SCHEMED, *FEW, "-o", "old.png", "--force").code == 0
    assert Path("old.png").read_bytes().startswith(PNG)


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt, 130), (OSError(28, "No space left on device"), 4)])
def test_a_failure_leaves_no_file(error: Any, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("dpcov.evaluate.comparing._Bench.cell", fail)
    before = contents(tmp_path)
    ended = call("compare", "people.csv", "--rho", "1", *SCHEMED, *FEW, "-o", "compare.png", "--csv", "table.csv")
    assert (ended.code, ended.out) == (code, "")
    assert len(ended.err.strip().splitlines()) == 1
    assert contents(tmp_path) == before


def test_a_file_that_breaks_off_is_an_error_of_the_machine(tmp_path: Path) -> None:
    Path("ragged.csv").write_text("age,job\n1,clerk\n2,nurse,7\n", encoding="utf-8")
    assert_refused(call("compare", "ragged.csv", "--rho", "1", *SCHEMED, *FEW, "-o", "compare.png"), 4)
    assert not (tmp_path / "compare.png").exists()


def test_progress_is_for_terminals(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    command = [*PROGRAM, "compare", "people.csv", "--rho", "0.1,1", *SCHEMED, "--runs", "10", "--mechanism", "eigenvectors"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        said = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            said += part
    os.close(ours)
    assert process.returncode == 0
    assert b"comparing" in said
