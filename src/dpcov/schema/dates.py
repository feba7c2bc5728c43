"""Dates as bounds: they count in days since 1970-01-01, an origin that is public and the same for every table.

A day is its midnight. What has a time zone counts as its moment in UTC; what has none is taken as it stands. No clock is read
here: dates are numpy's.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from dpcov.errors import ParameterError, shown

DATE, DATETIME = "date", "datetime"
ORIGIN = "1970-01-01"
FIRST, LAST = -719162.0, 2932897.0  # days of 0001-01-01, and of the end of 9999-12-31
MICROSECONDS = 86_400_000_000  # of a day
ISO = re.compile(
    r"(?P<plain>[0-9]{4}-[0-9]{2}-[0-9]{2}(?P<time>[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?)?)"
    r"(?P<zone>Z|(?P<sign>[+-])(?P<hours>[0-9]{2}):?(?P<minutes>[0-9]{2}))?"
)


def bound(name: str, value: Any) -> tuple[float, str] | None:
    """Return a date in days, with its kind: a date, one with a time, or ISO text; None for what is none of them."""
    kinds = {kind.__name__ for kind in type(value).__mro__ if kind.__module__ == "datetime"}
    if kinds & {DATE, DATETIME}:
        return bound(name, str(value.isoformat()))
    if isinstance(value, np.datetime64):
        if np.isnat(value):
            raise ParameterError(f"{name} must be a date, got NaT. Hint: write a public bound, such as 2019-01-01.")
        unit = "D" if np.datetime_data(value.dtype)[0] == "D" else "us"
        return bound(name, str(np.datetime_as_string(value, unit=unit, casting="unsafe")))  # type: ignore[call-overload]
    found = ISO.fullmatch(value) if isinstance(value, str) else None
    if found is None or (found["zone"] and not found["time"]):
        return None
    try:
        moment = np.datetime64(found["plain"], "us").astype(np.int64)
    except ValueError:
        moment = None
    if moment is None or int(found["hours"] or 0) > 23 or int(found["minutes"] or 0) > 59 or found["plain"] < "0001":
        raise ParameterError(f"{name} must be a date that there is, got {shown(value)}. Hint: 2019-01-01, or 2019-01-01T12:00.")
    east = (-60 if found["sign"] == "-" else 60) * (60 * int(found["hours"] or 0) + int(found["minutes"] or 0))
    days, rest = divmod(int(moment) - 10**6 * east, MICROSECONDS)
    return days + rest / MICROSECONDS, DATETIME if found["time"] else DATE


def iso(days: float, kind: str) -> str:
    """Return a bound as text, from which `bound` makes the same number."""
    whole = int(days // 1)
    if kind == DATE:
        return str(np.datetime64(whole, "D"))
    moment = whole * MICROSECONDS + round((days - whole) * MICROSECONDS)
    return str(np.datetime64(moment, "us").astype("datetime64[s]") if moment % 10**6 == 0 else np.datetime64(moment, "us"))
