"""Dates where people read them: a place in time is a date, what lies between two of them days."""

from __future__ import annotations

import json
import math
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpcov
from dpcov.report.units import Units, bounds, moment
from dpcov.schema import Categorical, Numeric, Schema
from tests.cli.shell import assert_refused, call

SCHEMA = Schema(
    {
        "ward": Categorical(["a", "b"]),
        "admitted": Numeric(date(2019, 1, 1), date(2024, 12, 31)),
        "seen": Numeric("2019-01-01T00:00", "2025-01-01T00:00"),
        "stay": Numeric(0, 60),
    }
)
TOML = """[columns]
ward = { levels = ["a", "b"] }
admitted = { lower = 2019-01-01, upper = 2024-12-31 }
seen = { lower = 2019-01-01T00:00, upper = 2025-01-01T00:00:00 }
stay = { lower = 0, upper = 60 }
"""


def people(n: int = 4000) -> Any:
    random = np.random.default_rng(51)
    day = random.integers(18300, 19300, n)
    moment = (day * 86_400_000_000 + random.integers(0, 10**11, n)).astype("datetime64[us]")
    return pa.table(
        {
            "ward": np.where(random.random(n) < 0.3, "a", "b"),
            "admitted": day.astype("datetime64[D]"),
            "seen": moment,
            "stay": 5 + (day - 18300) / 100 + random.exponential(2, n),
        }
    )


PEOPLE = people()
RELEASE = dpcov.covariance(PEOPLE, dpcov.PureDP(20), schema=SCHEMA, seed=1)


@pytest.mark.parametrize(
    ("days", "text", "fine"),
    [
        (0.0, "1970-01-01", "1970-01-01 00:00"),
        (0.6, "1970-01-02", "1970-01-01 14:24"),
        (-0.6, "1969-12-31", "1969-12-31 09:36"),
        (18993.25, "2022-01-01", "2022-01-01 06:00"),
        (math.inf, "after 9999-12-30", "after 9999-12-30"),
        (-math.inf, "before 0001-01-01", "before 0001-01-01"),
        (1e12, "after 9999-12-30", "after 9999-12-30"),
        (math.nan, "?", "?"),
    ],
)
def test_days_are_written_as_dates(days: float, text: str, fine: str) -> None:
    assert (moment(days), moment(days, fine=True)) == (text, fine)


def test_errors_are_days_and_other_columns_are_left_alone() -> None:
    units = Units(SCHEMA, 5)
    assert units.dated == [2, 3]
    assert units.value(2, 18993.25, 12.34) == ("2022-01-01", "12 days")
    assert units.value(2, 18993.25, 0.0123) == ("2022-01-01 06:00", "0.012 days")
    assert units.value(2, 18993.25, math.inf) == ("2022-01-01", "∞ days")
    assert units.value(4, 5.0, 0.5) == ("5.00", "0.50")
    assert units.distance(3, 583.4, 4.3) == ("583.4 days", "4.3 days")
    assert units.span(2, 18993.0, 19000.0) == "2022-01-01 to 2022-01-08"
    assert units.span(4, 1.0, 2.0) == "1.00 to 2.00"
    assert Units(None, 2).dated == []
    assert bounds("datetime", 0.0, 1.5) == "1970-01-01 00:00 to 1970-01-02 12:00"
    assert bounds(None, 0.5, 120.0) == "0.5 to 120"


@pytest.fixture
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    RELEASE.save("release.json")
    Path("people.toml").write_text(TOML.replace("T00:00,", "T00:00:00,"), encoding="utf-8")
    PEOPLE.to_pandas().to_csv("people.csv", index=False)


def near(text: str, day: float, most: float) -> bool:
    return abs((date.fromisoformat(text) - date(1970, 1, 1)).days - day) <= most


@pytest.mark.usefixtures("_folder")
class TestCommands:
    def test_show(self) -> None:
        told = call("show", "release.json")
        line = next(line for line in told.out.splitlines() if line.startswith("│ admitted "))
        _, _, mean, error, deviation, _, _ = (cell.strip() for cell in line.split("│"))
        assert near(mean, 18800, 40)
        assert error.endswith(" days")
        assert deviation.endswith(" days")
        assert abs(float(deviation.removesuffix(" days")) - 289) < 30
        found = json.loads(call("show", "release.json", "--json").out)
        assert found["dates"] == {"admitted": "days since 1970-01-01", "seen": "days since 1970-01-01"}
        assert abs(found["mean"][2] - 18800) < 40

    def test_interval(self) -> None:
        told = call("interval", "release.json", "--of", "mean").out
        line = next(line for line in told.splitlines() if line.startswith("│ seen "))
        lower, _, upper = line.split("│")[-2].strip().partition(" to ")
        assert near(lower, 18800, 60)
        assert near(upper, 18800, 60)
        assert lower < upper

    def test_predictions_of_a_date_are_dates(self) -> None:
        assert (
            call("predict", "release.json", "people.csv", "--target", "admitted", "--level", "0.9", "-o", "out.csv").code == 0
        )
        found = pd.read_csv("out.csv", parse_dates=["admitted", "lower", "upper"])
        assert ((found["lower"] < found["admitted"]) & (found["admitted"] < found["upper"])).all()
        gap = (found["admitted"] - PEOPLE.to_pandas()["admitted"].astype("datetime64[ns]")).dt.days
        assert abs(gap.mean()) < 30
        assert "admitted (in days since 1970-01-01) from" in call("ridge", "release.json", "--target", "admitted").out

    def test_synthetic_rows_are_dates_and_fit_the_schema(self) -> None:
        assert call("sample", "release.json", "-n", "300", "-o", "made.csv").code == 0
        assert call("schema", "check", "people.toml", "made.csv").code == 0
        found = json.loads(call("schema", "check", "people.toml", "made.csv", "--look", "--json").out)["look"]["columns"]
        assert all(column == {"missing": 0, "unmatched": 0, "clipped": 0} for column in found.values())
        made = pd.read_csv("made.csv", parse_dates=["admitted", "seen"])
        assert (made["admitted"] == made["admitted"].dt.normalize()).all()
        assert abs((made["admitted"] - pd.Timestamp("1970-01-01")).dt.days.mean() - 18800) < 60

    def test_a_schema_is_shown_with_its_dates(self) -> None:
        told = call("schema", "check", "people.toml", "people.csv").out
        assert "2019-01-01 to 2024-12-31" in told
        assert "2019-01-01 to 2025-01-01" in told
        assert "2019-01-01 to 2024-12-31" in call("plan", "--schema", "people.toml", "--epsilon", "1", "--n", "4000").out

    @pytest.mark.parametrize("bad", ["2019-13-01", "2019-02-30", "'2019-02-30'", "5", "'May'"])
    def test_a_bound_that_is_no_date(self, bad: str) -> None:
        Path("bad.toml").write_text(TOML.replace("2019-01-01, upper = 2024", f"{bad}, upper = 2024"), encoding="utf-8")
        assert_refused(call("release", "people.csv", "--epsilon", "1", "--schema", "bad.toml", "-o", "out.json"), 2)
        assert not Path("out.json").exists()


def test_a_summary_says_what_its_numbers_are() -> None:
    means, _ = RELEASE.summary()
    assert means is not None
    assert means.notes[-1] == "In days since 1970-01-01: admitted, seen."


def test_a_level_is_said_to_be_one_and_a_transform_is_not() -> None:
    schema = Schema({"ward": SCHEMA.columns["ward"], "stay": Numeric(1, 60, transform="log")})
    release = dpcov.covariance(PEOPLE, dpcov.PureDP(20), schema=schema, seed=1)

    def line(target: str) -> str:
        from dpcov.report.models import model_line

        return model_line(release.ridge(target).reading(), None)

    assert "ward=a (1 where it is so, else 0) from" in line("ward=a")
    assert line("stay").startswith("Model: log(stay) from")


def test_a_look_counts_what_is_no_date() -> None:
    rows = pa.table({"admitted": pa.array([date(2018, 1, 1), None, date(2020, 1, 1)])})
    found = dpcov.look(rows, SCHEMA.select(["admitted"])).columns["admitted"]
    assert (found.missing, found.unmatched, found.clipped) == (1, 0, 1)
