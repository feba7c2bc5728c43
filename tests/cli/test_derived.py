"""Transforms and products from the shell: schema, release, regression, predictions, synthetic rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.cli.shell import assert_refused, call

SCHEMA = """[columns]
age = { lower = 18, upper = 90 }
sex = { levels = ["F", "M"] }
income = { lower = 100, upper = 500000, transform = "log" }
"age squared" = { of = "age", transform = "square" }
"age * male" = { product = ["age", "sex=M"] }
"""


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    age, male = random.integers(18, 90, 2000), random.random(2000) < 0.5
    income = np.exp(6 + 0.1 * age - 0.001 * age**2 + 0.01 * age * male + random.normal(0, 0.3, 2000))
    pd.DataFrame({"age": age, "sex": np.where(male, "M", "F"), "income": income}).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "people.toml").write_text(SCHEMA, encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def release(*more: str) -> None:
    told = call("release", "people.csv", "--epsilon", "20", "--schema", "people.toml", "-o", "release.json", *more)
    assert told.code == 0, told.err


def test_a_schema_says_how_columns_are_made() -> None:
    told = call("schema", "check", "people.toml", "people.csv")
    assert told.code == 0
    for words in ("log(income)", "square(age)", "age × sex=M", "4.6051701", "Every column of the table is used."):
        assert words in told.out
    columns = json.loads(call("schema", "check", "people.toml", "--json").out)["columns"]
    assert columns["age * male"] == {"kind": "age × sex=M", "range": "0 to 90", "share": 0.2, "features": 1}


def test_looking_counts_the_cells_of_the_table() -> None:
    found = json.loads(call("schema", "check", "people.toml", "people.csv", "--look", "--json").out)["look"]
    assert list(found["columns"]) == ["age", "sex", "income"]


def test_regressions_predictions_and_synthetic_rows() -> None:
    release()
    wanted = ("--target", "log(income)", "--features", "age,age squared,sex,age * male")
    assert call("ridge", "release.json", *wanted).code == 0
    model = json.loads(call("ridge", "release.json", *wanted, "--json").out)
    assert "age * male" in json.dumps(model)
    told = call("predict", "release.json", "people.csv", *wanted, "-o", "predictions.csv")
    assert told.code == 0, told.err
    people, predictions = pd.read_csv("people.csv"), pd.read_csv("predictions.csv")["log(income)"]
    assert np.sqrt(((np.log(people["income"]) - predictions) ** 2).mean()) < 0.45
    assert "log(income)" in call("show", "release.json").out
    assert call("sample", "release.json", "-n", "50", "-o", "made.csv").code == 0
    assert list(pd.read_csv("made.csv")) == ["age", "sex", "income"]
    assert call("schema", "check", "people.toml", "made.csv").code == 0


def test_chosen_columns() -> None:
    release("--columns", "age squared,income")
    assert json.loads(Path("release.json").read_text(encoding="utf-8"))
    assert call("ridge", "release.json", "--target", "income").code == 0


@pytest.mark.parametrize(
    "entry",
    [
        "x = { lower = 0, upper = 1, transform = 'log' }",
        "x = { lower = 0, upper = 1, transform = 'tan' }",
        "x = { product = ['age', 'nobody'] }",
        "x = { product = ['age'] }",
        "x = { of = 'nobody', transform = 'log' }",
        "x = { of = 'weight', lower = 0, upper = 1 }",
    ],
)
def test_bad_entries_end_before_anything_is_spent(entry: str) -> None:
    Path("people.toml").write_text(SCHEMA + entry + "\n", encoding="utf-8")
    assert_refused(call("release", "people.csv", "--epsilon", "1", "--schema", "people.toml", "-o", "release.json"), 2)
    assert not Path("release.json").exists()
    assert_refused(call("schema", "check", "people.toml", "people.csv"), 2)
