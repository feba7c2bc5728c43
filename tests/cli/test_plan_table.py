"""``dpcov plan`` of a table, and what ``release --dry-run`` says of it: as text, JSON and pictures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dpcov
from tests.cli.shell import assert_refused, call, write_people

SAID = ["--schema", "people.toml", "--n", "2000", "--epsilon", "1"]
STARTS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.fixture(autouse=True)
def _in_a_folder_with_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_people(tmp_path)
    monkeypatch.chdir(tmp_path)


def test_it_says_what_the_library_finds() -> None:
    made = call("plan", *SAID, "--columns", "age", "--json")
    assert (made.code, made.err) == (0, "")
    found = json.loads(made.out)
    expected = dpcov.plan_table(dpcov.Schema.read("people.toml"), dpcov.PureDP(1), n=2000, columns=["age"])
    assert found == expected.to_dict()
    assert found["mean_error"] == expected.outlook.mean.tolist()
    assert found["chosen_columns"]["feature_names"] == ["age"]
    assert found["risk"] == expected.risk
    assert call("plan", "table", *SAID, "--columns", "age", "--json").out == made.out


def test_the_text() -> None:
    made = call("plan", *SAID, "--columns", "age,job")
    assert (made.code, made.err) == (0, "")
    assert "Plan: 2000 rows, 2 columns, epsilon = 1, neighbours: replace." in made.out
    assert "For one person: " in made.out
    (line,) = [line for line in made.out.splitlines() if " age " in line]
    assert [cell.strip() for cell in line.split("│")][2] == "0 to 100"
    for words in ("With the 2 columns you chose", "With bounds half as wide", "a deviation of 1/16", "share of a level"):
        assert words in made.out


def test_many_columns_are_shortened_unless_all_are_wanted() -> None:
    lines = [f"column{i} = {{ lower = 0, upper = 1 }}" for i in range(45)]
    Path("many.toml").write_text("\n".join(["[columns]", *lines]), encoding="utf-8")
    words = ["plan", "--schema", "many.toml", "--n", "100", "--rho", "0.1"]
    short, whole = call(*words).out, call(*words, "--all").out
    assert "... and 5 more columns" in short
    assert "column44" not in short
    assert "column44" in whole
    assert "No correlation can be seen" in short


@pytest.mark.parametrize("ending", STARTS)
def test_a_picture(ending: str) -> None:
    made = call("plan", *SAID, "--plot", f"plan.{ending}")
    assert made.out.endswith(f"Written to plan.{ending}.\n")
    assert Path(f"plan.{ending}").read_bytes().startswith(STARTS[ending])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--n", "5", "--epsilon", "1"], "Missing option '--schema'"),
        (["--schema", "people.toml", "--epsilon", "1"], "Missing option '--n'"),
        (["--schema", "people.toml", "--n", "5"], "give a privacy budget: --epsilon 1"),
        ([*SAID, "--n", "0"], "--n must be an integer from 1 to 2**30, got 0"),
        ([*SAID, "--spread", "2"], "--spread must be above 0 and at most 0.5, got 2.0"),
        ([*SAID, "--columns", "agee"], "did you mean 'age'"),
        ([*SAID, "--plot", "plan.gif"], "plan.gif"),
        ([*SAID, "--shema", "x"], "Did you mean '--schema'?"),
    ],
)
def test_bad_input_is_refused(words: list[str], said: str) -> None:
    assert_refused(refused := call("plan", *words), 2)
    assert said in refused.err


class TestDryRun:
    def test_of_a_file_that_tells_its_rows_it_holds_the_plan(self) -> None:
        words = ["release", "people.parquet", "--epsilon", "1", "--schema", "people.toml", "--dry-run"]
        made = call(*words)
        assert (made.code, made.err) == (0, "")
        assert made.out.count("For one person: ") == 1
        assert "expected errors, in the columns' own units" in made.out
        plan = dpcov.plan_table(dpcov.Schema.read("people.toml"), dpcov.PureDP(1), n=2000)
        assert json.loads(call(*words, "--json").out)["plan"] == plan.to_dict()
        some = json.loads(call(*words, "--columns", "age", "--json").out)["plan"]
        assert some["feature_names"] == ["age"]

    def test_where_n_is_not_known_or_private_it_says_how_to_plan(self) -> None:
        for words in (["people.csv"], ["people.parquet", "--neighbors", "add-remove"]):
            words = ["release", *words, "--epsilon", "1", "--schema", "people.toml", "--dry-run"]
            made = call(*words)
            assert (made.code, made.err) == (0, "")
            assert "`dpcov plan --schema FILE --n ROWS`" in made.out
            assert "expected errors" not in made.out
            assert "2000" not in made.out
            assert "plan" not in json.loads(call(*words, "--json").out)

    def test_without_private_units_there_is_no_plan(self) -> None:
        words = [
            "release",
            "people.parquet",
            "--epsilon",
            "1",
            "--schema",
            "people.toml",
            "--mechanism",
            "wishart",
            "--dry-run",
        ]
        assert "dpcov plan" not in call(*words).out
        assert "plan" not in json.loads(call(*words, "--json").out)
