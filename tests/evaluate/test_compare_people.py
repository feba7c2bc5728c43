"""Comparisons about people: errors against the exact moments of people's averages, or of weighted rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpcov
from dpcov.errors import DpcovError
from tests.cli.shell import assert_refused, call

DRAW = np.random.default_rng(7570)
WHO = np.minimum(DRAW.geometric(0.02, 4000), 150)
TABLE = pd.DataFrame({"who": WHO, "a": DRAW.uniform(-0.7, 0.7, 4000) + (WHO == 1) * 0.3, "w": DRAW.uniform(-0.5, 3, 4000)})
TABLE["b"] = TABLE["a"] / 2
COUNTS = TABLE.groupby("who")["who"].transform("size")
SCHEMA = dpcov.Schema({"a": dpcov.Numeric(-1, 1), "b": dpcov.Numeric(-1, 1)}, unit="who")
WEIGHT = TABLE["w"].clip(0, 2) / 2
WAYS: dict[str, tuple[dict[str, Any], pd.Series]] = {
    "people": ({"unit": "who"}, 1 / COUNTS),
    "rows of people": ({"unit": "who", "weighting": "rows", "most_rows": 9}, 1 / COUNTS.clip(lower=9)),
    "weights": ({"weight": "w", "max_weight": 2}, WEIGHT),
    "both": ({"unit": "who", "weight": "w", "max_weight": 2}, WEIGHT / COUNTS),
}
BUDGET = dpcov.ZCDP(1)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("center", [False, True])
def test_the_truth_is_that_of_averages(way: str, center: bool) -> None:
    given, counts = WAYS[way]
    found = dpcov.compare(TABLE, BUDGET, ["gaussian"], row_norm=1.5, columns=["a", "b"], center=center, runs=5, seed=1, **given)
    rows = TABLE[["a", "b"]].to_numpy()
    exact = rows.T @ (rows * counts.to_numpy()[:, None]) / counts.sum()
    mean = rows.T @ counts.to_numpy() / counts.sum()
    truth = exact - np.outer(mean, mean) * center
    assert found.zero == pytest.approx(np.linalg.norm(truth) / 1.5**2, rel=1e-3)
    assert found.n == round(counts.sum())
    cell = found.best(BUDGET)
    predicted = dpcov.covariance(
        TABLE,
        BUDGET,
        row_norm=1.5,
        columns=["a", "b"],
        center=center,
        mechanism="gaussian",
        postprocess="none",
        seed=1,
        **given,
    ).expected_error
    assert cell.error is not None
    assert cell.error < 3 * predicted / 1.5**2


def test_a_schema_that_names_people_makes_it_about_them() -> None:
    found, rows = (dpcov.compare(TABLE, BUDGET, ["gaussian"], schema=one, runs=2) for one in (SCHEMA, SCHEMA.of_features()))
    assert (found.n, found.counted) == (TABLE["who"].nunique(), "people")
    assert f"n = {found.n} people" in str(found)
    assert (rows.n, rows.counted) == (4000, "rows")
    assert rows.zero != found.zero


def test_every_mechanism_is_compared_on_people() -> None:
    found = dpcov.compare(TABLE, BUDGET, schema=SCHEMA, runs=2)
    served = {cell.mechanism for cell in found.cells if cell.error is not None}
    assert served == {
        cell.mechanism for cell in dpcov.compare(TABLE, BUDGET, schema=SCHEMA.of_features(), runs=2).cells if cell.error
    }


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"unit": "nobody"}, "unit must be a column of the data"),
        ({"unit": "a"}, "no feature"),
        ({"weight": "w"}, "max_weight must be given"),
        ({"weighting": "rows", "most_rows": 3}, "without unit"),
        ({"unit": 3.5}, "name of a column"),
    ],
)
def test_what_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(DpcovError, match=words):
        dpcov.compare(TABLE, BUDGET, row_norm=1.5, columns=["a", "b"], runs=2, **given)


def test_on_the_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    TABLE.to_parquet("visits.parquet")
    given = ("--rho", "1", "--row-norm", "2", "--columns", "a,b", "--mechanism", "gaussian", "--runs", "2")
    found = call("compare", "visits.parquet", *given, "--unit", "who", "--weight", "w", "--max-weight", "2")
    assert found.code == 0, found.err
    said = " ".join(found.out.split())
    assert "people, d = 2" in said
    assert "--unit who --weight w --max-weight 2" in said
    record = json.loads(call("compare", "visits.parquet", *given, "--unit", "who", "--json").out)
    assert (record["n"], record["counted"]) == (TABLE["who"].nunique(), "people")
    assert_refused(call("compare", "visits.parquet", *given, "--unit", "nobody"), 2)
