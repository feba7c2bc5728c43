"""Exact counts of cells that will not count as they stand: for custodians, and loudly not private."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcov
from dpcov.errors import DpcovError, ParameterError, SchemaError
from dpcov.evaluate.looking import ColumnLook
from tests.cli.shell import assert_refused, call

SCHEMA = dpcov.Schema(
    {
        "age": dpcov.Numeric(0, 100, nullable=True, missing="flag"),
        "job": dpcov.Categorical(["clerk", "nurse"]),
        "grade": dpcov.Categorical([1, 2]),
        "name": dpcov.Ignored(),
    }
)
TABLE = pa.table(
    {
        "age": pa.array([20.0, None, float("nan"), -1.0, 101.0, 100.0, float("inf"), 0.0]),
        "job": ["clerk", "nurse", "Nurse", "", None, "boss", "clerk", "clerk"],
        "grade": pa.array([1, 2, 3, None, 1, 1, 1, 4]),
        "name": ["x"] * 8,
    }
)
FOUND = {"age": ColumnLook(2, 1, 2), "job": ColumnLook(2, 2, 0), "grade": ColumnLook(1, 2, 0)}


def parquet(folder: Path) -> Path:
    pq.write_table(TABLE, folder / "people.parquet")
    return folder / "people.parquet"


def csv(folder: Path) -> Path:
    path = folder / "people.csv"
    path.write_text(TABLE.to_pandas().astype({"grade": "Int64"}).to_csv(index=False), encoding="utf-8")
    return path


CONTAINERS: dict[str, Any] = {
    "arrow": lambda _: TABLE,
    "reader": lambda _: TABLE.to_reader(),
    "pandas": lambda _: TABLE.to_pandas(),
    "polars": lambda _: pl.from_arrow(TABLE),
    "parquet": parquet,
    "csv": csv,
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_counts_are_those_of_the_cells(container: str, tmp_path: Path) -> None:
    found = dpcov.look(CONTAINERS[container](tmp_path), SCHEMA)
    assert found.rows == 8
    assert found.columns == FOUND
    assert "NOT private" in repr(found)
    assert found.to_dict()["private"] is False


def test_arrays_and_decimal_signs(tmp_path: Path) -> None:
    schema = dpcov.Schema({"a": dpcov.Numeric(0, 2), "b": dpcov.Ignored()})
    array = np.array([[1.0, 9.0], [np.nan, 9.0], [3.0, 9.0], [np.inf, 9.0]])
    assert dpcov.look(array, schema).columns == {"a": ColumnLook(1, 1, 1)}
    path = tmp_path / "commas.csv"
    path.write_text("a;b\n1,5;x\n1.234,5;x\n;x\n7;x\n", encoding="utf-8")
    assert dpcov.look(dpcov.Csv(path, separator=";", decimal=","), schema).columns == {"a": ColumnLook(1, 1, 1)}
    assert dpcov.look(dpcov.Csv(path, separator=";"), schema).columns == {"a": ColumnLook(1, 2, 1)}


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="schema must be a Schema"):
        dpcov.look(TABLE, "people.toml")  # type: ignore[arg-type]
    for data in (TABLE.drop_columns(["job"]), TABLE.drop_columns(["job"]).to_reader(), TABLE.to_pandas().drop(columns="job")):
        with pytest.raises(SchemaError, match="one column 'job'"):
            dpcov.look(data, SCHEMA)
    with pytest.raises(DpcovError):
        dpcov.look(tmp_path / "nowhere.csv", SCHEMA)


class TestCommand:
    @pytest.fixture(autouse=True)
    def _files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        csv(tmp_path)
        text = "age = { lower = 0, upper = 100 }\njob = { levels = ['clerk', 'nurse'] }\ngrade = { levels = [1, 2] }\n"
        Path("people.toml").write_text(f"[columns]\n{text}", encoding="utf-8")

    def test_text_is_loud(self) -> None:
        told = call("schema", "check", "people.toml", "people.csv", "--look")
        assert (told.code, told.err) == (0, "")
        assert "NOT PRIVATE: these are exact counts" in told.out
        assert "cells of 8 rows: NOT PRIVATE" in told.out
        for name, found in FOUND.items():
            line = next(line for line in told.out.partition("NOT PRIVATE: ")[2].splitlines() if f" {name} " in line)
            assert [word for word in line.split() if word.isdigit()] == [
                str(found.missing),
                str(found.unmatched),
                str(found.clipped),
            ]

    def test_machines_are_told_as_well(self) -> None:
        found = json.loads(call("schema", "check", "people.toml", "people.csv", "--look", "--json").out)["look"]
        assert found["private"] is False
        assert found["warning"].startswith("NOT PRIVATE")
        assert found["columns"]["age"] == {"missing": 2, "unmatched": 1, "clipped": 2}

    def test_without_the_word_nothing_is_counted(self) -> None:
        plain = call("schema", "check", "people.toml", "people.csv", "--json")
        assert "look" not in json.loads(plain.out)
        assert_refused(call("schema", "check", "people.toml", "--look"), 2)


def test_pandas_objects_are_text() -> None:
    """A column of Python objects holds text or nothing, as in every other reading."""
    schema = dpcov.Schema({"job": dpcov.Categorical(["clerk"])})
    frame = pd.DataFrame({"job": pd.Series(["clerk", 3, None], dtype=object)})
    assert dpcov.look(frame, schema).columns == {"job": ColumnLook(2, 0, 0)}
