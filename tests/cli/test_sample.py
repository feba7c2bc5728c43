"""``dpcov sample``: made-up rows, from a release alone."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcov
from tests.cli.linear_rows import COLUMNS, NOT_COVARIANCES, assert_only_the_release_is_opened, assert_refusal, made
from tests.cli.shell import call

pytestmark = pytest.mark.usefixtures("releases")

NOTE = (
    "dpcov: synthetic rows, made from the release alone: they have about its means and covariances, and nothing else. "
    "Means: 7 of 7 clear of noise. Deviations: 2 of 2. Correlations: 3 of 17. What is not clear of noise in the release is "
    "noise in these rows, too.\n"
)
REFUSED = {
    "no rows": (["centred.json", "-n", "0"], 2, "--rows"),
    "half a row": (["centred.json", "-n", "1.5"], 2, "--rows"),
    "a negative seed": (["centred.json", "--seed", "-1"], 2, "--seed"),
    "no mean": (["about0.json"], 2, "release must be centred for synthetic rows"),
    "no release": (["new.csv"], 2, "release"),
    "a missing file": (["nowhere.json"], 4, "nowhere.json"),
    "another kind of output": (["centred.json", "-o", "rows.xlsx"], 2, "ends in .csv or .parquet"),
    "no ending": (["centred.json", "-o", "rows"], 2, "ends in .csv or .parquet"),
    "an output that is there": (["centred.json", "-o", "people.csv"], 2, "must not exist yet"),
    "an output in no folder": (["centred.json", "-o", "nowhere/rows.csv"], 4, "folder"),
    **{f"of {file}": ([file], 2, reason) for file, reason in NOT_COVARIANCES.items()},
}


def test_rows_are_within_the_schema_and_have_its_moments() -> None:
    told = call("sample", "centred.json", "-n", "3000", "--seed", "7")
    assert (told.code, told.err) == (0, NOTE)
    frame = pd.read_csv(io.StringIO(told.out))
    assert list(frame.columns) == list(COLUMNS)
    assert len(frame) == 3000
    assert set(frame["sex"]) == {"Female", "Male"}
    assert frame["age"].between(20, 60).all()
    assert frame["age"].mean() == pytest.approx(made()["centred.json"].mean[0], abs=1)
    assert np.corrcoef(frame["age"], frame["hours"])[0, 1] == pytest.approx(0.65, abs=0.12)
    assert call("sample", "centred.json", "--seed", "7").out.count("\n") == 1001


def test_a_seed_makes_the_same_rows_again() -> None:
    words = ("sample", "centred.json", "-n", "50")
    assert call(*words, "--seed", "7").out == call(*words, "--seed", "7").out
    assert call(*words, "--seed", "7").out != call(*words, "--seed", "8").out
    assert call(*words).out != call(*words).out
    assert call(*words, "--quiet").err == ""


def test_files_of_both_kinds_hold_the_same_rows() -> None:
    words = ("sample", "centred.json", "-n", "200", "--seed", "7")
    printed = call(*words).out
    for name in ("rows.csv", "rows.parquet"):
        told = call(*words, "-o", name)
        assert (told.code, told.out, told.err) == (0, f"200 synthetic rows written to {name}.\n", NOTE)
    assert Path("rows.csv").read_text(encoding="utf-8") == printed
    pd.testing.assert_frame_equal(pd.read_csv("rows.csv"), pd.read_parquet("rows.parquet"), check_dtype=False)
    assert call(*words, "-o", "rows.csv").code == 2
    assert call("sample", "centred.json", "-n", "1", "-o", "rows.csv", "--force").out.startswith("1 synthetic row written")


def test_rows_without_a_schema_have_the_names_of_features() -> None:
    frame = pd.read_csv(io.StringIO(call("sample", "numbers.json", "-n", "2000", "--seed", "7").out))
    assert list(frame.columns) == ["age", "hours", "half"]
    assert frame.mean().to_numpy() == pytest.approx(made()["numbers.json"].mean, abs=3)


def test_synthetic_rows_can_be_released_and_predicted() -> None:
    assert call("sample", "centred.json", "-n", "500", "--seed", "1", "-o", "rows.csv").code == 0
    told = call("predict", "centred.json", "rows.csv", "--target", "hours", "--alpha", "0.001", "--score")
    assert told.code == 0, told.err


def test_booleans_and_numbers_are_levels_as_they_are_read() -> None:
    columns: dict[str, dpcov.Numeric | dpcov.Categorical] = {
        "happy": dpcov.Categorical([False, True]),
        "rooms": dpcov.Categorical([1, 2, 3]),
        "a, b": dpcov.Categorical(["x, y", 'say "z"']),
    }
    random = np.random.default_rng(0)
    frame = pd.DataFrame({name: random.choice(list(c.levels), 300) for name, c in columns.items()})  # type: ignore[union-attr]
    release = dpcov.covariance(frame, dpcov.ZCDP(2), schema=dpcov.Schema(columns), center=True, mechanism="gaussian", seed=0)
    release.save("odd.json")
    assert call("sample", "odd.json", "-n", "100", "--seed", "1", "-o", "rows.csv").code == 0
    cells = pd.read_csv("rows.csv", dtype=str)
    assert set(cells["happy"]) == {"false", "true"}
    assert set(cells["rooms"]) == {"1", "2", "3"}
    assert set(cells["a, b"]) == {"x, y", 'say "z"'}
    again = call("predict", "odd.json", "rows.csv", "--target", "happy=true", "--alpha", "1", "--score")
    assert again.code == 0, again.err


@pytest.mark.parametrize("words", [[], ["-o", "rows.parquet"], ["--seed", "1"]])
def test_no_data_are_opened(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert_only_the_release_is_opened(monkeypatch, "sample", "centred.json", "-n", "20", *words)


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_made_up_is_refused(case: str) -> None:
    arguments, code, reason = REFUSED[case]
    assert_refusal(["sample", *arguments], code, reason)
