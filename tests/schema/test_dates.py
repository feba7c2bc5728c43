"""Dates as bounds: what they are in days, how files keep them, and what is refused."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.errors import ParameterError, SchemaError
from dpcov.schema import Numeric, Product, Schema
from dpcov.schema.dates import FIRST, LAST, bound, iso
from dpcov.schema.file import from_record, parse, to_record


def column(text: str) -> Numeric:
    found = parse(f"[columns]\nat = {text}\n").used["at"]
    assert isinstance(found, Numeric)
    return found


@pytest.mark.parametrize(
    ("text", "days", "kind"),
    [
        ("{ lower = 1970-01-01, upper = 1970-01-31 }", 30, "date"),
        ('{ lower = "1970-01-01", upper = "1970-01-31" }', 30, "date"),
        ("{ lower = 1969-12-01, upper = 1969-12-31 }", -1, "date"),
        ("{ lower = 1970-01-01, upper = 1970-01-31T12:00:00 }", 30.5, "datetime"),
        ("{ lower = 1970-01-01T00:00:00Z, upper = 1970-01-31T06:00:00-06:00 }", 30.5, "datetime"),
        ('{ lower = "1970-01-01", upper = "1970-01-31 12:00" }', 30.5, "datetime"),
        ('{ lower = "1970-01-01", upper = "1970-01-31T14:00+02:00" }', 30.5, "datetime"),
    ],
)
def test_a_bound_counts_in_days(text: str, days: float, kind: str) -> None:
    found = column(text)
    assert (found.upper, found.dates) == (days, kind)


def test_python_says_the_same() -> None:
    days = Numeric(date(2019, 1, 1), date(2024, 12, 31))
    assert days == column("{ lower = 2019-01-01, upper = 2024-12-31 }")
    assert days == Numeric(np.datetime64("2019-01-01"), np.datetime64("2024-12-31"))  # type: ignore[arg-type]
    times = Numeric(datetime(2019, 1, 1, 6, tzinfo=timezone(timedelta(hours=6))), pd.Timestamp("2024-12-31"))
    assert times == column("{ lower = 2019-01-01T00:00:00, upper = 2024-12-31 }")
    assert (days.lower, days.upper, days.midpoint) == (17897, 20088, 18992.5)


@given(st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31)))
def test_a_bound_comes_back_from_its_text(moment: datetime) -> None:
    for value in (moment, moment.date()):
        found = bound("lower", value)
        assert found is not None
        assert FIRST <= found[0] <= LAST
        assert bound("lower", iso(*found)) == found


def test_files_copies_and_pickles_keep_them() -> None:
    schema = Schema({"at": Numeric("2019-01-01T08:30", "2024-12-31", nullable=True, missing="flag"), "x": Numeric(0, 1)})
    assert to_record(schema)["at"]["lower"] == "2019-01-01T08:30:00"
    for again in (
        from_record(to_record(schema)),
        copy.deepcopy(schema),
        pickle.loads(pickle.dumps(schema)),
        Schema(schema.columns),
    ):
        assert again == schema
        assert again.dates() == ["datetime", None, None, None]


REFUSED = {
    "one number": ("{ lower = 2019-01-01, upper = 5 }", "both be dates or both be numbers"),
    "the other number": ("{ lower = 5, upper = 2019-01-01 }", "both be dates or both be numbers"),
    "one word": ("{ lower = 2019-01-01, upper = 'today' }", "both be dates or both be numbers"),
    "words": ("{ lower = 'yesterday', upper = 'today' }", "or a date such as 2019-01-31"),
    "no such day": ("{ lower = '2019-02-30', upper = '2020-01-01' }", "lower must be a date that there is"),
    "no such hour": ("{ lower = '2019-02-01', upper = '2020-01-01T25:00' }", "upper must be a date that there is"),
    "swapped": ("{ lower = 2024-01-01, upper = 2019-01-01 }", "lower must be below upper"),
    "the same day": ("{ lower = 2024-01-01, upper = 2024-01-01 }", "lower must be below upper"),
    "another order": ("{ lower = '01.02.2019', upper = '01.02.2020' }", "or a date such as"),
    "a time": ("{ lower = 08:00:00, upper = 09:00:00 }", "lower must be a finite number"),
    "whole numbers": ("{ lower = 2019-01-01, upper = 2020-01-01, integer = true }", "integer must be left out for dates"),
    "a logarithm": ("{ lower = 2019-01-01, upper = 2020-01-01, transform = 'log' }", "transform must be left out for dates"),
    "a list": ("{ lower = [2019-01-01], upper = 2020-01-01 }", "both be dates or both be numbers"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_and_how(case: str) -> None:
    text, message = REFUSED[case]
    with pytest.raises(SchemaError) as told:
        column(text)
    assert str(told.value).startswith("column 'at': ")
    assert message in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("given", [{"dates": "month"}, {"dates": 1}, {"dates": True}])
def test_kinds_of_dates_that_there_are_not(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="dates must be one of 'date', 'datetime'"):
        Numeric(0, 1, **given)


def test_days_that_there_are_not() -> None:
    with pytest.raises(ParameterError, match="upper must be a day of the years 1 to 9999"):
        Numeric(0, 1e9, dates="date")
    with pytest.raises(ParameterError, match="lower must be a date, got NaT"):
        Numeric(np.datetime64("NaT"), date(2020, 1, 1))  # type: ignore[arg-type]


def test_dates_are_no_factors() -> None:
    with pytest.raises(SchemaError, match="column 'p': product must be of numbers or levels, got dates"):
        Schema({"at": Numeric("2019-01-01", "2020-01-01"), "x": Numeric(0, 1), "p": Product(["at", "x"])})


def test_a_zone_is_no_shift_of_the_wall() -> None:
    assert bound("lower", datetime(2020, 1, 1, tzinfo=UTC)) == bound("lower", datetime(2020, 1, 1))
