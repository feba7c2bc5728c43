"""``dpcov mean``: what a new user sees, what is written, and what is refused; ``dpcov show`` of a mean.

Rows are normal with deviations 1, 2 and 3. Sampling is not in the way: estimates are compared with the mean of the file, from
which noise at rho = 0.5 and clipping move them by less than a tenth of a deviation (measured, with these seeds: 0.02).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpcov
from tests.cli.shell import NUMBER, SECRET, assert_refused, assert_told, call, run
from tests.helpers.folders import made_once

NAMES, SCALES = ["height", "width", "depth"], np.array([1.0, 2.0, 3.0])
ROWS = np.random.default_rng(41).normal(size=(4000, 3)) * SCALES + [10.0, 20.0, -30.0]
TRUTH = ROWS.mean(axis=0)
WHERE, SPEND = ["--radius", "1000"], ["--rho", "0.5"]
PROVED = ["--mechanism", "coinpress", "--option", "constants=proved", "--variance", "9"]
SCHEMA = """[columns]
height = { lower = 0, upper = 20 }
width = { lower = 0, upper = 50 }
depth = { lower = -60, upper = 0 }
colour = { levels = ["red", "blue"] }
"""


@made_once
def write_measurements(folder: Path) -> None:
    frame = pd.DataFrame(ROWS, columns=NAMES)
    frame.to_csv(folder / "m.csv", index=False)
    frame.to_parquet(folder / "m.parquet")
    frame["colour"] = ["red", "blue", "red", SECRET] * 1000
    frame.loc[::100, "height"] = np.nan
    frame.loc[1, "width"] = NUMBER
    frame.to_csv(folder / "mixed.csv", index=False)
    frame.to_parquet(folder / "mixed.parquet")
    (folder / "m.toml").write_text(SCHEMA, encoding="utf-8")


@pytest.fixture(autouse=True)
def _in_a_folder_with_measurements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_measurements(tmp_path)


def near(found: Any, truth: Any = TRUTH, scales: Any = SCALES) -> bool:
    return bool(np.all(np.abs(np.asarray(found) - truth) < 0.1 * np.asarray(scales)))


def contents() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path().iterdir()}


@pytest.mark.parametrize("file", ["m.csv", pytest.param("m.parquet", marks=pytest.mark.audit)])
def test_the_new_user_s_command(file: str, tmp_path: Path) -> None:
    before = contents()
    made = run("mean", file, *SPEND, *WHERE, "-o", "mean.json", cwd=tmp_path)
    assert (made.code, made.err) == (0, "")
    assert all(words in made.out for words in ("0.5-zCDP", "replacing any one of the 4000 rows"))
    lines = made.out.splitlines()
    shown = {line.split()[1]: float(line.split()[3]) for line in lines if line.startswith(("│", "|"))}
    assert list(shown) == NAMES
    assert near(list(shown.values()))
    assert lines[-2:] == ["Written to mean.json. Next:", "  dpcov show mean.json"]
    assert {name: content for name, content in contents().items() if name != "mean.json"} == before
    assert near(dpcov.load("mean.json").mean)


@pytest.mark.parametrize("words", [[], ["--variance", "1,4,9"], ["--origin", "9,19,-31", "--option", "covariance=[1,4,9]"]])
def test_a_release_is_written_and_shown(words: list[str]) -> None:
    made = call("mean", "m.csv", *SPEND, *WHERE, *words, "--seed", "5", "-o", "mean.json")
    assert made.code == 0
    assert made.err.startswith("dpcov: --seed makes the noise predictable: this release is NOT private.")
    assert made.out.endswith("Written to mean.json. Next:\n  dpcov show mean.json\n")
    release = dpcov.load("mean.json")
    assert (release.kind, release.requested, release.mechanism, release.n) == ("mean", "auto", "coinpress", 4000)
    assert near(release.mean)
    shown = call("show", "mean.json")
    assert (shown.code, shown.err) == (0, "")
    named = "Release of a mean: rho = 0.5, neighbours: replace, coinpress, n = 4000, d = 3, seeded: not private\n"
    assert shown.out.startswith(named)
    assert_told(shown.out, release)
    assert "rows clipped in public coordinates, round by round" in shown.out
    assert not any(absent in shown.out for absent in ("Eigenvalues", "standard deviation"))


def test_files_of_both_kinds_and_the_library_agree() -> None:
    for ending in ("csv", "parquet"):
        assert call("mean", f"m.{ending}", *SPEND, *WHERE, "--seed", "7", "-o", f"{ending}.json").code == 0
    assert Path("csv.json").read_bytes() == Path("parquet.json").read_bytes()
    direct = dpcov.mean(ROWS, dpcov.ZCDP("0.5"), radius=1000, seed=7)
    assert np.array_equal(direct.mean, dpcov.load("csv.json").mean)


@pytest.mark.parametrize("words", [["--variance", "1,4,9"], []], ids=["known", "unknown"])
def test_json_is_one_object_with_the_facts(words: list[str]) -> None:
    made = call("mean", "m.parquet", *SPEND, *WHERE, *words, "--seed", "5", "--json", "--quiet", "-o", "mean.json")
    facts = json.loads(made.out)
    assert facts["file"] == "mean.json"
    assert (facts["kind"], facts["d"], facts["seeded"]) == ("mean", 3, True)
    assert facts["feature_names"] == NAMES
    assert facts["privacy"] == {"notion": "zCDP", "rho": "1/2"}
    assert near(facts["mean"])
    assert ("confidence" in facts) == bool(words)
    assert not {"covariance", "second_moment", "eigenvalues", "standard_deviation"} & set(facts)
    if words:
        confidence = facts["confidence"]
        assert (confidence["proved"], confidence["beta"]) == (False, 0.1)
        assert confidence["centre"] == facts["mean"]
        assert 0 < confidence["radius"] < 0.1
    shown = json.loads(call("show", "mean.json", "--json").out)
    assert {name: shown[name] for name in facts} == facts
    assert [entry["asked"] for entry in shown["spent"]] == [spend.asked for spend in dpcov.load("mean.json").spent]


def test_proved_constants_are_called_so() -> None:
    words = [*PROVED, "--option", "beta=0.05"]
    facts = json.loads(call("mean", "m.csv", *SPEND, *WHERE, *words, "--json", "-o", "mean.json").out)
    assert facts["confidence"]["proved"] is True
    assert facts["confidence"]["beta"] == facts["options"]["beta"] == 0.05


@pytest.mark.parametrize("file", ["mixed.csv", "mixed.parquet"])
def test_a_schema_missing_cells_and_unknown_levels(file: str) -> None:
    """A missing height counts as the centre of a round, which is near the mean; an unknown colour as none."""
    made = call("mean", file, *SPEND, "--schema", "m.toml", "--seed", "1", "-o", "mean.json")
    assert made.code == 0, made.err
    release = dpcov.load("mean.json")
    assert release.feature_names == (*NAMES, "colour=red", "colour=blue")
    assert near(release.mean, [*TRUTH, 0.5, 0.25], [*SCALES, 1, 1])
    assert not any(secret in made.out for secret in (SECRET, str(NUMBER)))
    assert "colour=blue" in call("show", "mean.json").out


@pytest.mark.parametrize("mechanism", dpcov.MECHANISMS["mean"])
@pytest.mark.parametrize("words", [["--rho", "5"], ["--epsilon", "4"], ["--epsilon", "4", "--delta", "1e-6"]])
def test_one_column_by_every_mechanism(mechanism: str, words: list[str]) -> None:
    """One column, a narrow ball, large budgets; a mechanism that does not serve one says so, and nothing else happens."""
    guess = ["--columns", "width", "--radius", "10", "--origin", "18", "--variance", "4"]
    if mechanism in ("clipped", "coordinatewise"):
        guess = guess[:-2]  # they have no use for it
    made = call("mean", "mixed.csv", *words, *guess, "--mechanism", mechanism, "--seed", "2", "-o", "mean.json")
    if made.code == 2:
        assert_refused(made, 2)
        assert "budget" in made.err
        assert not Path("mean.json").exists()
        return
    release = dpcov.load("mean.json")
    assert release.feature_names == ("width",)
    assert near(release.mean, TRUTH[1], 2.0)


def test_settings_reach_the_library() -> None:
    words = ["--mechanism", "coinpress", "--postprocess", "none", "--neighbors", "add-remove", "--columns", "depth,height"]
    asked = ["--option", "rounds=2", "--option", "covariance=[[9,0],[0,1]]"]
    assert call("mean", "m.csv", *SPEND, *WHERE, *words, *asked, "-o", "mean.json").code == 0
    release = dpcov.load("mean.json")
    assert (release.mechanism, release.postprocess, release.neighbors) == ("coinpress", "none", "add-remove")
    assert (release.options["rounds"], release.options["covariance"]) == (2, [[9, 0], [0, 1]])
    assert release.feature_names == ("depth", "height")
    assert near(release.mean, TRUTH[[2, 0]], [3, 1])


def test_json_tells_the_whole_region() -> None:
    facts = json.loads(call("mean", "m.csv", *SPEND, *WHERE, "--variance", "4", "--seed", "1", "--json", "-o", "mean.json").out)
    assert np.allclose(facts["confidence"]["whitener"], np.eye(3) / 2)


def test_quiet_writes_and_says_nothing() -> None:
    made = call("mean", "m.csv", *SPEND, *WHERE, "--quiet", "-o", "mean.json")
    assert (made.code, made.out, made.err) == (0, "", "")
    assert near(dpcov.load("mean.json").mean)


def test_an_output_that_exists_is_kept_unless_forced() -> None:
    Path("mean.json").write_text("paid for", encoding="utf-8")
    words = ("mean", "m.csv", *SPEND, *WHERE, "-o", "mean.json")
    assert_refused(call(*words), 2)
    assert Path("mean.json").read_text(encoding="utf-8") == "paid for"
    assert call(*words, "--force").code == 0
    assert dpcov.load("mean.json").kind == "mean"


def test_a_mean_has_no_picture() -> None:
    assert call("mean", "m.csv", *SPEND, *WHERE, "--quiet", "-o", "mean.json").code == 0
    before = contents()
    for words in ([], ["--json"]):
        assert_refused(call("show", "mean.json", "--plot", "mean.png", *words), 2)
    assert contents() == before


# The arguments and the exit code. Nothing of this needs a row to be refused.
REFUSED: dict[str, tuple[list[str], int]] = {
    "no budget": (["m.csv", *WHERE], 2),
    "no public knowledge": (["m.csv", *SPEND], 2),
    "both kinds of it": (["m.csv", *SPEND, *WHERE, "--schema", "m.toml"], 2),
    "radius of nothing": (["m.csv", *SPEND, "--radius", "0"], 2),
    "radius that is no number": (["m.csv", *SPEND, "--radius", "far"], 2),
    "origin of another length": (["m.csv", *SPEND, *WHERE, "--origin", "1,2"], 2),
    "origin of text": (["m.csv", *SPEND, *WHERE, "--origin", "here"], 2),
    "origin with a schema": (["mixed.csv", *SPEND, "--schema", "m.toml", "--origin", "1"], 2),
    "variance of another length": (["m.csv", *SPEND, *WHERE, "--variance", "1,2"], 2),
    "variance with a gap": (["m.csv", *SPEND, *WHERE, "--variance", "1,,2"], 2),
    "variance of nothing": (["m.csv", *SPEND, *WHERE, "--variance", "0"], 2),
    "list that does not end": (["m.csv", *SPEND, *WHERE, "--option", "covariance=[1,2"], 2),
    "list of nothing known": (["m.csv", *SPEND, *WHERE, "--option", "covariance=[1,NaN,1]"], 2),
    "list of text": (["m.csv", *SPEND, *WHERE, "--option", 'covariance=["1","x","1"]'], 2),
    "mechanism of covariances": (["m.csv", *SPEND, *WHERE, "--mechanism", "gaussian"], 2),
    "option of no mechanism": (["m.csv", *SPEND, *WHERE, "--option", "magic=1"], 2),
    "option of the library": (["m.csv", *SPEND, *WHERE, "--option", "seed=1"], 2),
    "origin as an option": (["m.csv", *SPEND, *WHERE, "--origin", "1", "--option", "origin=1"], 2),
    "origin by an option alone": (["m.csv", *SPEND, *WHERE, "--option", "origin=1"], 2),
    "variance twice": (["m.csv", *SPEND, *WHERE, "--variance", "1", "--option", "covariance=4"], 2),
    "proved under add-remove": (["m.csv", *SPEND, *WHERE, *PROVED, "--neighbors", "add-remove"], 2),
    "proved under pure DP": (["m.csv", "--epsilon", "1", *WHERE, *PROVED], 2),
    "postprocess": (["m.csv", *SPEND, *WHERE, "--postprocess", "shrink"], 2),
    "no such column": (["m.csv", *SPEND, *WHERE, "--columns", "height,wage"], 2),
    "text column": (["mixed.parquet", *SPEND, *WHERE], 2),
    "no such data": (["nowhere.csv", *SPEND, *WHERE], 4),
    "output in no folder": (["m.csv", *SPEND, *WHERE, "-o", "missing/mean.json"], 4),
    "output is the data": (["m.csv", *SPEND, *WHERE, "-o", "m.csv", "--force"], 2),
    "seed": (["m.csv", *SPEND, *WHERE, "--seed", "-1"], 2),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_before_a_row_is_read(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_rows(*_: object) -> None:
        raise AssertionError("a row was read")

    for table in ("ParquetTable", "CsvTable"):
        monkeypatch.setattr(f"dpcov.sources.files.{table}.batches", no_rows)
    arguments, code = REFUSED[case]
    output = [] if "-o" in arguments else ["-o", "mean.json"]
    before = contents()
    assert_refused(call("mean", *arguments, *output), code)
    assert contents() == before


@pytest.mark.parametrize("words", [[], ["--quiet"], ["--json"]])
@pytest.mark.parametrize("command", [["mean", "m.csv", *WHERE], ["release", "m.csv", "--row-norm", "100"]])
def test_nothing_is_spent_on_what_would_not_be_kept(command: list[str], words: list[str]) -> None:
    before = contents()
    refused = call(*command, *SPEND, *words)
    assert_refused(refused, 2)
    assert "give --output FILE: what is paid for must be kept; or --dry-run, which spends nothing" in refused.err
    assert contents() == before


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_one_row_is_refused(ending: str) -> None:
    frame = pd.DataFrame({"a": [float(NUMBER)], "b": [1.0]})
    frame.to_csv("one.csv", index=False)
    frame.to_parquet("one.parquet")
    assert_refused(call("mean", f"one.{ending}", *SPEND, *WHERE, "-o", "mean.json"), 2)
