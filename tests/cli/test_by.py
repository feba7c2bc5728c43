"""``dpcov release --by``, ``dpcov show --group`` and ``--between``, and the other commands about one group."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcov
from tests.cli.shell import assert_refused, run
from tests.cli.shell import call as call_in_process

SCHEMA = """[columns]
age = { lower = 0, upper = 100 }
region = { levels = ["north", "south", "east"] }
pressure = { lower = 50, upper = 200 }
"""


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(7700)
    age = generator.uniform(20, 90, 6000)
    place = np.arange(6000) % 20
    region = np.where(place == 0, "east", np.where(place < 8, "south", "north"))
    table = pa.table({"age": age, "region": region, "pressure": 70 + age * 0.8 + 10 * (region == "south")})
    pq.write_table(table, "people.parquet")
    Path("people.toml").write_text(SCHEMA, encoding="utf-8")


def call(*said: str) -> str:
    """Run a command that succeeds, and return what it prints."""
    found = call_in_process(*said)
    assert found.code == 0, found.err
    return found.out


def made(*more: str) -> str:
    return call(
        *("release", "people.parquet", "--rho", "1", "--schema", "people.toml", "--by", "region"),
        *("--mechanism", "gaussian", "--seed", "1", "-o", "r.json", *more),
    )


def test_a_release_names_its_groups() -> None:
    told = made()
    assert "Groups by region: north, south, east. What follows is of all of them together" in told
    assert "dpcov show r.json --group north shows one" in told
    assert dpcov.load("r.json").groups == ("north", "south", "east")


def test_a_dry_run_asks_once() -> None:
    told = call(
        *("release", "people.parquet", "--epsilon", "1", "--schema", "people.toml", "--by", "region", "--dry-run"),
        *("--mechanism", "wishart"),
    )
    assert "second moments of groups" in told
    assert "would be asked: 1 question" in told


@pytest.mark.parametrize(
    "options",
    [
        ["--unit", "who"],
        ["--unit", "who", "--weighting", "rows", "--most-rows", "3"],
        ["--unit", "who", "--weight", "weight", "--max-weight", "2"],
    ],
)
def test_people_with_several_rows_and_weights(options: list[str]) -> None:
    """Into a ledger about people, a file, and what is shown of a group."""
    visits = pq.read_table("people.parquet")
    visits = visits.append_column("who", pa.array(np.arange(6000) % 700))
    pq.write_table(visits.append_column("weight", pa.array(np.linspace(0, 2, 6000))), "people.parquet")
    call("ledger", "init", "budget.db", "--dataset", "visits", "--unit", "who", "--rho", "1")
    told = made(*options)
    assert "Groups by region: north, south, east." in told
    assert "all rows of any one" in " ".join(told.split())
    paid = (
        *("release", "people.parquet", "--rho", "1", "--schema", "people.toml", "--by", "region"),
        *("--mechanism", "gaussian", "--ledger", "budget.db", "--dataset", "visits", "-o", "paid.json"),
    )
    call(*paid, *options)
    entries = [json.loads(line) for line in call("ledger", "export", "budget.db").splitlines()]
    assert [entry["facts"]["unit"] for entry in entries if entry["event"] == "spent"] == ["person: who"]
    release = dpcov.load("paid.json")
    assert (release.groups, release.unit) == (("north", "south", "east"), "who")
    shown = " ".join(call("show", "paid.json", "--group", "south").split())
    n = release["south"].n
    size = f"{n} people are" if len(options) == 2 else f"people count {n} together,"
    assert f"its {size} a noisy number, too" in shown


class TestShow:
    def test_one_group(self) -> None:
        made()
        told = call("show", "r.json", "--group", "east")
        assert "group east" in told
        assert "Group east of 3 by region: estimates are drawn towards all groups together by" in told
        assert told != call("show", "r.json")

    def test_differences(self) -> None:
        made()
        told = call("show", "r.json", "--between", "south", "north")
        assert "What south has more than north; a number that noise may have made is not shown." in told
        found = json.loads(call("show", "r.json", "--between", "south", "north", "--json"))
        assert (found["group"], found["less"], found["groups"]) == ("south", "north", ["north", "south", "east"])
        release = dpcov.load("r.json").between("south", "north")
        assert release.mean is not None
        assert found["mean"]["estimate"] == release.mean.estimate.tolist()
        assert found["mean"]["lower"][1] < 10 < found["mean"]["upper"][1]

    def test_what_noise_may_have_made_is_not_shown(self) -> None:
        """Ages are alike in all groups."""
        made()
        line = next(line for line in call("show", "r.json", "--between", "south", "north").splitlines() if "│ age " in line)
        assert "≈ noise" in line

    def test_machines_get_the_group(self) -> None:
        made()
        found = json.loads(call("show", "r.json", "--group", "south", "--json"))
        assert (found["by"], found["group"], found["n"]) == ("region", "south", dpcov.load("r.json")["south"].n)
        assert found["group_rows"] == [dpcov.load("r.json")[level].n for level in ("north", "south", "east")]


def test_other_commands_are_about_one_group() -> None:
    made()
    release = dpcov.load("r.json")["south"]
    found = json.loads(call("ridge", "r.json", "--target", "pressure", "--group", "south", "--json"))
    assert found["group"] == "south"
    assert found["n"] == release.n
    assert release.ridge("pressure").coefficients[0] == pytest.approx(0.8, abs=0.3)
    for command in (["interval"], ["correlation"], ["pca"], ["sample", "-n", "3"]):
        assert call(*command, "r.json", "--group", "south") != call(*command, "r.json")


@pytest.mark.parametrize(
    ("said", "about"),
    [
        (
            ["release", "people.parquet", "--rho", "1", "--row-norm", "3", "--by", "region", "-o", "o.json"],
            "--by needs --schema",
        ),
        (
            [
                "release",
                "people.parquet",
                "--rho",
                "1",
                "--schema",
                "people.toml",
                "--pca",
                "1",
                "--by",
                "region",
                "-o",
                "o.json",
            ],
            "--by cannot be used with --pca",
        ),
        (
            ["release", "people.parquet", "--rho", "1", "--schema", "people.toml", "--by", "age", "-o", "o.json"],
            "--by must be a column with levels in the schema",
        ),
        (["show", "r.json", "--group", "west"], "--group must be one of north, south, east"),
        (["show", "r.json", "--between", "north", "north"], "groups must differ"),
        (["show", "r.json", "--group", "north", "--between", "north", "south"], "give --between alone"),
    ],
)
def test_refusals(said: list[str], about: str, tmp_path: Path) -> None:
    made()
    told = run(*said, cwd=tmp_path)
    assert_refused(told, 2)
    assert about in told.err
    assert not Path("o.json").exists()
