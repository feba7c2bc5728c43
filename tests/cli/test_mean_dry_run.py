"""``dpcov mean --dry-run`` checks everything, tells what would be asked, and reads, spends and writes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.shell import assert_refused, call

MEASURED = "a,b\n" + "".join(f"{5 + i % 7},{50 + i % 11}\n" for i in range(200))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "measured.csv"
    path.write_text(MEASURED)
    return path


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        (["--mechanism", "clipped"], ["sum"]),
        (["--mechanism", "clipped", "--neighbors", "add-remove"], ["count", "sum"]),
        (["--mechanism", "coordinatewise"], ["sum"]),
        (["--mechanism", "karwa-vadhan", "--variance", "4,9"], ["bins", "sum"]),
        (["--mechanism", "symq"], ["quantile"] * 4),
        (["--variance", "4,9", "--option", "rounds=3", "--mechanism", "coinpress"], ["sum"] * 3),
    ],
)
def test_it_lists_what_would_be_asked(table: Path, options: list[str], asked: list[str]) -> None:
    run = call("mean", table, "--rho", "0.5", "--radius", "100", "--dry-run", "--json", *options)
    assert run.code == 0
    record = json.loads(run.out)
    assert (record["dry_run"], record["kind"]) == (True, "mean")
    assert [question["asked"] for question in record["asked"]] == asked
    assert list(table.parent.iterdir()) == [table]


def test_the_noise_of_one_sum_is_known_beforehand(table: Path) -> None:
    """2·100/√(2·½) on each of two coordinates of the sum."""
    run = call("mean", table, "--rho", "0.5", "--radius", "100", "--mechanism", "clipped", "--dry-run", "--json")
    assert json.loads(run.out)["expected_error_times_n"] == pytest.approx(200 * 2**0.5, rel=1e-3)


@pytest.mark.parametrize("options", [["--variance", "0,1"], ["--option", "rounds=0"], ["--origin", "1,2,3"], ["--seed", "-1"]])
def test_bad_input_is_refused(table: Path, options: list[str]) -> None:
    run = call("mean", table, "--rho", "0.5", "--radius", "100", "--mechanism", "coinpress", "--dry-run", *options)
    assert_refused(run, 2)


def test_people_read_it(table: Path) -> None:
    run = call("mean", table, "--rho", "0.5", "--radius", "100", "--dry-run")
    assert "nothing is spent" in run.out
    assert "depends on what the rounds find" in " ".join(run.out.split())


def test_it_names_the_columns_and_says_what_text_counts_as(tmp_path: Path) -> None:
    """A column of names in a CSV file would be read as missing numbers: seen before it is paid for."""
    columns = ["--columns", "name," + ",".join(f"x{i}" for i in range(9))]
    wide = ",".join(f"x{i}" for i in range(9))
    (tmp_path / "wide.csv").write_text(f"name,{wide}\nanna{',1' * 9}\n", encoding="utf-8")
    (tmp_path / "wide.toml").write_text("[columns]\nx0 = { lower = 0, upper = 1 }\n", encoding="utf-8")
    said = "No schema: every column is read as numbers, and a cell that is none counts as missing."
    path = str(tmp_path / "wide.csv")
    told = call("release", path, *columns, "--rho", "0.5", "--row-norm", "100", "--dry-run").out
    assert "10 features (name, x0, x1, x2, x3, x4, ...), n is not known before reading." in told
    assert said in told
    described = call("release", path, "--rho", "0.5", "--schema", str(tmp_path / "wide.toml"), "--dry-run").out
    assert "1 feature (x0), n is not known before reading." in described
    assert said not in described
