"""Cells that are dates: the same days from every type and container, and missing where there is none."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import dpcov
from dpcov.errors import SchemaError
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.schema import Numeric, Schema
from dpcov.schema.dates import DATE, DATETIME
from dpcov.sources import base, csv_file, tables
from dpcov.sources import parquet as parquet_file
from dpcov.sources.dates import dates, days
from dpcov.sources.opening import open_source
from tests.sources.mixed import parquet, written
from tests.sources.test_by_column import rows_of

Floats = NDArray[np.float64]
EPOCH = datetime(1970, 1, 1)
SCHEMA = Schema(
    {
        "day": Numeric(date(2019, 1, 1), date(2024, 12, 31), nullable=True, missing="flag"),
        "moment": Numeric("2019-06-01T06:00", "2021-06-01T18:30:00.25", weight=2),
        "stay": Numeric(0, 60),
    }
)
RANDOM = np.random.default_rng(41)
DAYS: list[date | None] = [
    None if gone else date(2018, 1, 1) + timedelta(int(k))
    for k, gone in zip(RANDOM.integers(0, 3000, 200), RANDOM.random(200) < 0.1, strict=True)
]
MOMENTS: list[datetime | None] = [
    None if gone else datetime(2019, 1, 1) + timedelta(microseconds=int(k))
    for k, gone in zip(RANDOM.integers(0, 10**14, 200), RANDOM.random(200) < 0.1, strict=True)
]
STAYS = RANDOM.exponential(5, 200).tolist()


def exact(moment: date | None) -> float:
    """Days since 1970 in plain Python."""
    if moment is None:
        return math.nan
    gone = (moment if isinstance(moment, datetime) else datetime(moment.year, moment.month, moment.day)) - EPOCH
    return gone.days + (gone.seconds * 10**6 + gone.microseconds) / 86_400_000_000


def arrow(unit: str = "us", day: Any = None, zone: str | None = None) -> Any:
    cells = pa.array(MOMENTS, pa.timestamp("us")).cast(pa.timestamp(unit))
    return pa.table(
        {
            "day": pa.array(DAYS, pa.date32()).cast(day or pa.date32()),
            "moment": cells if zone is None else cells.cast(pa.int64()).cast(pa.timestamp(unit, zone)),
            "stay": STAYS,
        }
    )


def csv_text(separator: str = "T", end: str = "") -> bytes:
    def cell(moment: date | None) -> str:
        if isinstance(moment, datetime):
            return moment.isoformat(separator) + end
        return "" if moment is None else moment.isoformat()

    lines = [f"{cell(day)},{cell(moment)},{stay!r}" for day, moment, stay in zip(DAYS, MOMENTS, STAYS, strict=True)]
    return "\n".join(["day,moment,stay", *lines, ""]).encode()


CONTAINERS: dict[str, Any] = {
    "arrow": lambda _: arrow(),
    "nanoseconds": lambda _: arrow("ns"),
    "date64": lambda _: arrow(day=pa.date64()),
    "days as timestamps": lambda _: arrow(day=pa.timestamp("s")),
    "a zone": lambda _: arrow(zone="Asia/Kathmandu"),
    "dictionaries": lambda _: arrow().set_column(0, "day", arrow()["day"].dictionary_encode()),
    "pandas": lambda _: arrow().to_pandas().assign(day=pd.to_datetime(pd.Series(DAYS))),
    "pandas on arrow": lambda _: arrow().to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda _: pl.from_arrow(arrow()),
    "duckdb": lambda _: duckdb.connect().from_arrow(arrow()),
    "parquet": lambda folder: parquet(folder, arrow()),
    "csv": lambda folder: written(folder, "t.csv", csv_text()),
    "csv with blanks": lambda folder: written(folder, "t.csv", csv_text(" ")),
    "csv in UTC": lambda folder: written(folder, "t.csv", csv_text(end="Z")),
    "csv with an offset": lambda folder: written(folder, "t.csv", csv_text(end="+00:00")),
}
any_container = pytest.mark.parametrize("container", CONTAINERS)


def total(data: Any, center: bool = True) -> list[int]:
    source, grid = open_source(data, None, SCHEMA, center), Grid(1.0, center=center)
    entries: list[int] = source.total(SecondMoment(grid, grid.width(source.d))).tolist()
    return entries


@any_container
def test_every_container_has_the_days_of_plain_python(container: str, tmp_path: Path) -> None:
    found = rows_of(open_source(CONTAINERS[container](tmp_path), None, SCHEMA, True))
    (_, offset, scale), _, (_, later, fine), _ = SCHEMA.encodings(True)
    lower, upper = SCHEMA.bounds()
    first = np.clip([exact(day) for day in DAYS], lower[0], upper[0])
    second = np.clip([exact(moment) for moment in MOMENTS], lower[3], upper[3])
    np.testing.assert_array_equal(found[:, 0], (first - offset) * (1 / scale))
    np.testing.assert_array_equal(found[:, 2], (second - later) * (1 / fine))
    np.testing.assert_array_equal(found[:, 1], [float(day is not None) for day in DAYS])


@any_container
@pytest.mark.parametrize("rows", [1, 7, None])
def test_the_same_integers_in_blocks_of_any_size(
    container: str, rows: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, whole = CONTAINERS[container](tmp_path), total(arrow())
    if rows is not None:
        monkeypatch.setattr(base, "BLOCK_ELEMENTS", 1)
        monkeypatch.setattr(base, "BLOCK_ROWS", rows)
        monkeypatch.setattr(tables, "BATCH_ROWS", rows)
        monkeypatch.setattr(parquet_file, "PARQUET_ROWS", rows)
        monkeypatch.setattr(csv_file, "CSV_BLOCK", 150 * rows)
    assert total(data) == whole


@given(st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31, 23, 59, 59, 999999)), st.sampled_from("T "))
@settings(max_examples=300)
def test_text_is_read_as_python_reads_it(moment: datetime, between: str) -> None:
    texts = [moment.isoformat(between), f"  {moment.isoformat(between)}\t", moment.date().isoformat(), moment.isoformat() + "Z"]
    found = days(pa.array(texts))
    midnight = datetime(moment.year, moment.month, moment.day)
    assert found.tolist() == [exact(moment), exact(moment), exact(midnight), exact(moment)]


@given(st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 12, 31)), st.integers(-1439, 1439))
def test_zones_are_moved_to_utc(moment: datetime, minutes: int) -> None:
    sign, away = "-" if minutes < 0 else "+", abs(minutes)
    text = f"{moment.isoformat()}{sign}{away // 60:02}:{away % 60:02}"
    assert days(pa.array([text])).tolist() == [exact(datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None))]


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "20190101", "2019-1-1", "01.02.2019", "1/2/2019", "2019", "2019-13-01", "2019-00-01", "2019-02-29"),
        *("2019-01-00", "2019-01-32", "2019-04-31", "0000-01-01", "12019-01-01", "2019-01-01T24:00", "2019-01-01T12:60"),
        *("2019-01-01T12:00:60", "2019-01-01T12", "2019-01-01T12:00:00.", "2019-01-01T12:00:00.1234567890", "2019-01-01Z"),
        *("2019-01-01T12:00+24:00", "2019-01-01T12:00+02:60", "2019-01-01T12:00 PST", "NaT", "nan", "2019-01-01\n", "17897"),
        *("２０１９-01-01", "2019-01-01x", "x2019-01-01", "-2019-01-01"),
    ],
)
def test_any_other_text_is_missing(text: str) -> None:
    assert np.isnan(days(pa.array([text, None, "2020-02-29"]))).tolist() == [True, True, False]


@given(st.lists(st.one_of(st.none(), st.binary(max_size=20)), max_size=5))
def test_no_bytes_raise(cells: list[bytes | None]) -> None:
    assert len(days(pa.array(cells, pa.large_binary()))) == len(cells)


@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), max_size=6), st.sampled_from(["s", "ms", "us", "ns"]))
def test_any_ticks_become_days(ticks: list[int | None], unit: str) -> None:
    per_day = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}[unit]
    found = days(pa.array(ticks, pa.int64()).cast(pa.timestamp(unit)))
    expected = [math.nan if tick is None else tick // per_day + tick % per_day / per_day for tick in ticks]
    np.testing.assert_array_equal(found, expected)


def test_days_come_back_as_dates() -> None:
    numbers = np.array([exact(moment) for moment in MOMENTS if moment is not None])
    assert dates(numbers, DATETIME).to_pylist() == [moment for moment in MOMENTS if moment is not None]
    whole = np.array([exact(day) for day in DAYS if day is not None])
    assert dates(whole, DATE).to_pylist() == [day for day in DAYS if day is not None]
    assert dates(whole[:2], DATE, mask=np.array([True, False])).to_pylist()[0] is None


class TestRefusals:
    """By the declared type alone, before a row is read, naming the column."""

    @pytest.mark.parametrize("kind", [pa.float64(), pa.int64(), pa.string(), pa.bool_(), pa.time64("us"), pa.duration("s")])
    def test_a_type_that_holds_no_dates(self, kind: Any) -> None:
        table = arrow().set_column(0, "day", pa.nulls(len(DAYS), kind))
        with pytest.raises(SchemaError, match="column 'day' must hold dates, as its bounds are some, got the declared type"):
            dpcov.covariance(table, dpcov.PureDP(1), schema=SCHEMA)

    def test_dates_where_bounds_are_numbers(self) -> None:
        with pytest.raises(SchemaError, match="column 'day' must be numeric, got the declared type date32"):
            open_source(arrow(), None, Schema({"day": Numeric(0, 1)}))

    def test_arrays_hold_no_dates(self) -> None:
        with pytest.raises(SchemaError, match="column 'day' must hold dates"):
            open_source(np.zeros((5, 3)), None, SCHEMA)

    def test_a_column_of_nothing_is_missing(self) -> None:
        table = arrow().set_column(0, "day", pa.nulls(len(DAYS)))
        rows = rows_of(open_source(table, None, SCHEMA, True))
        assert np.isnan(rows[:, 0]).all()
