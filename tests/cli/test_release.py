"""``dpcov release``: what it makes, and that a dry run makes nothing."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcov
from dpcov.cli.progress import pace
from dpcov.kernel.budget import pays_for
from dpcov.sources.base import Portion
from tests.cli.shell import NUMBER, PROGRAM, SECRET, assert_refused, call, people, run, write_people

BUDGETS = {
    "pure": (["--epsilon", "1"], dpcov.PureDP(1)),
    "zCDP": (["--rho", "0.1"], dpcov.ZCDP("0.1")),
    "approx": (["--epsilon", "1", "--delta", "1e-6"], dpcov.ApproxDP(1, "1e-6")),
}


@pytest.fixture(autouse=True)
def _in_a_folder_with_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_people(tmp_path)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("notion", BUDGETS)
@pytest.mark.parametrize("encoding", [["--schema", "people.toml", "--center"], ["--row-norm", "60", "--columns", "age"]])
def test_a_release_holds_what_was_asked_for(encoding: list[str], notion: str, neighbors: str) -> None:
    words, budget = BUDGETS[notion]
    made = call("release", "people.csv", *words, *encoding, "--neighbors", neighbors, "-o", "out.json")
    assert (made.code, made.err) == (0, "")
    release = dpcov.load("out.json")
    assert (release.privacy, release.neighbors, release.seeded) == (budget, neighbors, False)
    assert release.center == ("--center" in encoding)
    assert (release.n == 2000) or neighbors == "add-remove"
    assert release.statement() in made.out
    assert "dpcov show out.json" in made.out
    assert SECRET not in made.out.replace("SECRETARY", "")
    assert str(NUMBER) not in made.out


def test_it_runs_in_a_process_of_its_own(tmp_path: Path) -> None:
    made = run("release", "people.parquet", "--epsilon", "1", "--schema", "people.toml", "-o", "out.json", cwd=tmp_path)
    assert (made.code, made.err) == (0, "")
    assert dpcov.load("out.json").feature_names == ("age", "job=clerk", "job=nurse", "job=SECRETARY")


def test_csv_and_parquet_give_the_same_release() -> None:
    for ending in ("csv", "parquet"):
        made = call(
            "release", f"people.{ending}", "--rho", "1", "--schema", "people.toml", "--seed", "7", "-o", f"{ending}.json"
        )
        assert made.code == 0
        assert "NOT private" in made.err
    assert Path("csv.json").read_bytes() == Path("parquet.json").read_bytes()
    schema = dpcov.Schema.read("people.toml")
    direct = dpcov.covariance(people(), dpcov.ZCDP(1), schema=schema, seed=7)
    assert np.array_equal(direct.second_moment, dpcov.load("csv.json").second_moment)


def test_options_reach_the_library() -> None:
    words = ["--epsilon", "1", "--schema", "people.toml", "--mechanism", "laplace", "--postprocess", "project"]
    assert call("release", "people.csv", *words, "--option", "constants=paper", "--columns", "job", "-o", "out.json").code == 0
    release = dpcov.load("out.json")
    assert (release.mechanism, release.postprocess) == ("laplace", "project")
    assert release.options == {"clip": "none", "constants": "paper"}
    assert release.feature_names == ("job=clerk", "job=nurse", "job=SECRETARY")


def test_json_is_one_object_with_the_facts() -> None:
    made = call("release", "people.csv", "--rho", "0.5", "--schema", "people.toml", "--center", "--json", "-o", "out.json")
    facts, release = json.loads(made.out), dpcov.load("out.json")
    assert facts["file"] == "out.json"
    assert facts["kind"] == "covariance"
    assert facts["privacy"] == {"notion": "zCDP", "rho": "1/2"}
    assert facts["statement"] == release.statement()
    found = release.describe()
    assert found.mean is not None
    assert facts["mean"] == found.mean.values.tolist()
    assert found.deviation is not None
    assert facts["standard_deviation"] == found.deviation.values.tolist()
    assert facts["standard_error"]["mean"] == found.mean.standard_error.tolist()
    assert facts["clear_of_noise"]["standard_deviation"] == found.deviation.clear.tolist()
    assert facts["clear_of_noise"]["correlations"] == {"clear": len(found.pairs()), "pairs": 3}
    assert facts["feature_names"] == list(release.feature_names)
    assert (facts["n"], facts["d"], facts["seeded"], facts["neighbors"]) == (2000, 4, False, "replace")
    assert facts["expected_error"] == release.expected_error


def test_quiet_prints_nothing() -> None:
    made = call("release", "people.csv", "--rho", "1", "--schema", "people.toml", "--quiet", "-o", "out.json")
    assert (made.code, made.out, made.err) == (0, "", "")


def test_many_features_are_cut_short() -> None:
    pq.write_table(pa.table({f"x{j}": [0.5] * 10 for j in range(30)}), "wide.parquet")
    made = call("release", "wide.parquet", "--rho", "1", "--row-norm", "1", "-o", "wide.json")
    assert "and 25 more features, none of them clear of noise" in made.out
    assert "x4" in made.out
    assert "x5" not in made.out


def test_unicode_and_hostile_names_are_printed_safely(tmp_path: Path) -> None:
    pq.write_table(pa.table({"Größe, m": [1.0] * 9, "[red]:smile:": [1.0] * 9, "\x1b[31m\n": [1.0] * 9}), "naïve.parquet")
    words = ("release", "naïve.parquet", "--rho", "1", "--row-norm", "1", "-o", "größe.json")
    made = run(*words, cwd=tmp_path)
    assert made.code == 0, made.err
    assert "Größe, m" in made.out
    assert "[red]:smile:" in made.out
    assert "\x1b" not in made.out
    assert run("show", "größe.json", cwd=tmp_path, PYTHONIOENCODING="ascii").code == 0
    quoted = call("release", "naïve.parquet", "--rho", "1", "--row-norm", "1", "--columns", '"Größe, m"', "-o", "one.json")
    assert quoted.code == 0, quoted.err
    assert dpcov.load("one.json").feature_names == ("Größe, m",)


def test_force_overwrites_an_earlier_release() -> None:
    words = ("release", "people.csv", "--rho", "1", "--schema", "people.toml", "-o", "out.json")
    assert call(*words).code == 0
    first = Path("out.json").read_bytes()
    assert_refused(call(*words), 2)
    assert Path("out.json").read_bytes() == first
    assert call(*words, "--force").code == 0
    assert Path("out.json").read_bytes() != first


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_a_release_that_cannot_be_written_is_printed(words: list[str], tmp_path: Path) -> None:
    def small_files_only() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    data = ("release", "people.csv", "--rho", "1", "--schema", "people.toml", "-o", "out.json", *words)
    made = run(*data, cwd=tmp_path, before=small_files_only, PYTHONDONTWRITEBYTECODE="1")
    assert made.code == 4
    assert "paid for, and is on stdout" in made.err
    assert len(made.err.splitlines()) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"people.csv", "people.parquet", "people.toml"}
    Path("rescued.json").write_text(made.out, encoding="utf-8")
    assert dpcov.load("rescued.json").n == 2000


def test_a_file_that_appears_meanwhile_is_not_overwritten(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*arguments: object, **settings: object) -> dpcov.Release:
        Path("out.json").write_text("another's", encoding="utf-8")
        return original(*arguments, **settings)  # type: ignore[arg-type]

    original = dpcov.covariance
    monkeypatch.setattr("dpcov.api.covariance", slow)
    made = call("release", "people.csv", "--rho", "1", "--schema", "people.toml", "-o", "out.json")
    assert made.code == 4
    assert json.loads(made.out)["n"] == 2000
    assert Path("out.json").read_text(encoding="utf-8") == "another's"


def test_progress_is_for_terminals_and_shows_no_number_of_rows(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    for words, seen in (((), True), (("--quiet",), False)):
        ours, theirs = pty.openpty()
        command = [
            *PROGRAM,
            "release",
            "people.csv",
            "--rho",
            "1",
            "--schema",
            "people.toml",
            "--force",
            "-o",
            "o.json",
            *words,
        ]
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=theirs) as process:
            os.close(theirs)
            said = b""
            while True:
                try:
                    part = os.read(ours, 4096)
                except OSError:  # the other end is closed
                    break
                if not part:
                    break
                said += part
        os.close(ours)
        assert process.returncode == 0
        assert (b"drawing noise" in said) == seen
        assert b"2000" not in said


@pytest.mark.parametrize("output", [[], ["-o", "out.json"]])
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("notion", BUDGETS)
def test_a_dry_run_predicts_and_touches_nothing(
    notion: str, neighbors: str, output: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = "gaussian" if notion == "zCDP" else "wishart"
    words = ["people.parquet", *BUDGETS[notion][0], "--schema", "people.toml", "--mechanism", mechanism]
    words += ["--neighbors", neighbors, "--json"]
    assert call("release", *words, "-o", "real.json").code == 0
    real = dpcov.load("real.json")

    def no_rows(*_: object) -> None:
        raise AssertionError("a row was read")

    for table in ("ParquetTable", "CsvTable"):
        monkeypatch.setattr(f"dpcov.sources.files.{table}.batches", no_rows)
    before = {path.name for path in tmp_path.iterdir()}
    planned = call("release", *words, "--dry-run", *output)
    assert planned.code == 0, planned.err
    facts = json.loads(planned.out)
    assert [(entry["asked"], entry["noise"]) for entry in facts["asked"]] == [(s.asked, s.noise) for s in real.spent]
    assert [entry["budget"] for entry in facts["asked"]] == [spend.budget.to_json() for spend in real.spent]
    assert facts["mechanism"] == real.mechanism
    assert facts["expected_error_times_n"] == pytest.approx(real.expected_error * real.n, rel=1e-12)
    assert facts["n"] == (2000 if neighbors == "replace" else None)
    assert ("expected_error" in facts) == (neighbors == "replace")
    assert {path.name for path in tmp_path.iterdir()} == before
    text = call("release", *words[:-1], "--dry-run", *output)
    assert "nothing is spent" in text.out
    assert ("2000" in text.out) == (neighbors == "replace")


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("notion", BUDGETS)
def test_a_dry_run_of_auto_names_what_may_be_asked(notion: str, neighbors: str) -> None:
    """What later questions cost depends on earlier answers; what is asked first, and the sum, are known."""
    words = [
        "people.parquet",
        *BUDGETS[notion][0],
        "--schema",
        "people.toml",
        "--no-center",
        "--neighbors",
        neighbors,
        "--json",
    ]
    assert call("release", *words, "-o", "real.json", "--seed", "3").code == 0
    facts, real = json.loads(call("release", *words, "--dry-run").out), dpcov.load("real.json")
    assert facts["mechanism"] == real.mechanism == "rescaled"
    assert {spend.asked for spend in real.spent} <= {entry["asked"] for entry in facts["asked"]}
    assert facts["asked"][0]["budget"] == real.spent[0].budget.to_json()
    assert pays_for(real.privacy, [spend.budget for spend in real.spent])


def test_a_dry_run_of_csv_does_not_know_n() -> None:
    words = ["--rho", "1", "--schema", "people.toml", "--mechanism", "gaussian", "--dry-run"]
    planned = call("release", "people.csv", *words)
    assert "n is not known before reading" in planned.out
    assert " / n" in planned.out


def test_a_dry_run_warns_of_matrices_beyond_a_gigabyte() -> None:
    levels = ", ".join(str(level) for level in range(12_000))
    Path("wide.toml").write_text(f"[columns]\nage = {{ levels = [{levels}] }}\n", encoding="utf-8")
    planned = call("release", "people.csv", "--epsilon", "1", "--schema", "wide.toml", "--dry-run")
    assert planned.code == 0, planned.err
    assert "1.2 GB" in planned.out


class TestWorkers:
    WORDS = ("people.csv", "--rho", "1", "--schema", "people.toml", "--seed", "7", "--quiet")

    def test_the_file_is_the_same_for_any_number(self, tmp_path: Path) -> None:
        for number in ("1", "2"):
            assert call("release", *self.WORDS, "--workers", number, "-o", f"{number}.json").code == 0
        assert (tmp_path / "1.json").read_bytes() == (tmp_path / "2.json").read_bytes()

    @pytest.mark.parametrize("number", ["0", "-1", "257", "1.5", "two", ""])
    def test_bad_numbers(self, number: str, tmp_path: Path) -> None:
        refused = call("release", *self.WORDS, "--workers", number, "-o", "x.json")
        assert refused.code == 2
        assert "workers" in refused.err
        assert not (tmp_path / "x.json").exists()

    def test_a_dry_run(self) -> None:
        assert "nothing is spent" in call("release", *self.WORDS[:-1], "--workers", "2", "--dry-run").out


def test_a_file_of_a_pattern_is_not_overwritten(tmp_path: Path) -> None:
    before = (tmp_path / "people.csv").read_bytes()
    refused = call("release", "peop*.csv", "--rho", "1", "--schema", "people.toml", "-o", "people.csv", "--force")
    assert refused.code == 2
    assert "must not be one of the input files" in refused.err
    assert (tmp_path / "people.csv").read_bytes() == before


@pytest.mark.parametrize(
    ("fraction", "seconds", "words"),
    [
        (None, 9.0, "reading"),
        (0.5, 9.0, "reading"),  # what reads does not say how many rows
        (Portion(0, 50_000), 9.0, "reading"),
        (Portion(50, 9_999), 9.0, "reading"),  # too few to be told
        (Portion(50, 123_456), 0.5, "reading"),
        (Portion(50, 123_456), 8.0, "reading, 15,000 rows/s, 8 s left"),
        (Portion(10, 987_654_321), 33.0, "reading, 30,000,000 rows/s, 5 min left"),
    ],
)
def test_the_pace_of_reading(fraction: float | None, seconds: float, words: str) -> None:
    assert pace(fraction, seconds) == words
