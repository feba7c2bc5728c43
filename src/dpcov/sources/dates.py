"""From cells that are dates to days since 1970-01-01, and back.

Each cell by itself, and exactly up to one rounding: the day is a whole number, what is left of it a quotient of two integers.
So a moment is the same number in whatever unit or container it stands. What is no date is missing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpcov.errors import SchemaError
from dpcov.schema.dates import DATE, MICROSECONDS
from dpcov.sources.cells import Type, declared, is_text, looked_up, value_type

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": MICROSECONDS, "ns": 86_400_000_000_000}
TEXT = (
    r"^[ \t]*(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?:[T ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<part>[0-9]{1,9}))?)?"
    r"(?:Z|(?P<sign>[+-])(?P<hours>[0-9]{2}):?(?P<minutes>[0-9]{2}))?)?[ \t]*$"
)
"""ISO 8601: 2019-01-31, 2019-01-31T12:00, 2019-01-31 12:00:00.25+02:00."""

MOST = {"hour": 23, "minute": 59, "second": 59, "hours": 23, "minutes": 59}


def is_dated(kind: Type) -> bool:
    """Whether the declared type holds dates, with or without times."""
    kind = value_type(kind)
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def check_dated(name: str, kind: Type, *, parsed: bool, where: str = "") -> None:
    """Refuse a column whose declared type holds no dates; text in a CSV file (``parsed``) may. ``where`` names a file."""
    if not (is_dated(kind) or pa.types.is_null(value_type(kind)) or (parsed and is_text(kind))):
        raise SchemaError(
            f"column {name!r} must hold dates, as its bounds are some, got the declared type {declared(kind)}{where}. "
            f"Hint: convert it to dates first, or give it bounds that are numbers."
        )


def days(cells: Any) -> Floats:
    """Return days since 1970-01-01, NaN where a cell holds no date."""
    if pa.types.is_dictionary(cells.type):
        return looked_up(days(cells.dictionary), cells.indices, np.float64(np.nan))
    if pa.types.is_null(cells.type):
        return np.full(len(cells), np.nan)
    if is_text(cells.type):
        return _of_text(cells)
    if pa.types.is_date32(cells.type):
        return np.asarray(cells.cast(pa.int32()).cast(pa.float64()).to_numpy(zero_copy_only=False))
    unit = "ms" if pa.types.is_date64(cells.type) else cells.type.unit
    ticks = cells.cast(pa.int64())
    found = _split(np.asarray(pc.fill_null(ticks, 0).to_numpy(zero_copy_only=False)), PER_DAY[unit])
    return np.where(np.asarray(pc.is_null(ticks).to_numpy(zero_copy_only=False)), np.nan, found)


def dates(numbers: Floats, kind: str, *, mask: NDArray[np.bool_] | None = None) -> Any:
    """Return days as an Arrow column of dates, the nearest ones, or of times."""
    if kind == DATE:
        return pa.array(np.rint(numbers).astype(np.int32), pa.int32(), mask=mask).cast(pa.date32())
    whole = np.floor(numbers)
    ticks = whole.astype(np.int64) * MICROSECONDS + np.rint((numbers - whole) * MICROSECONDS).astype(np.int64)
    return pa.array(ticks, pa.int64(), mask=mask).cast(pa.timestamp("us"))


def _split(ticks: Integers, per_day: int) -> Floats:
    """Return whole days and the part of the next one: both exact in float64, and their sum rounded once."""
    whole = ticks // per_day
    return np.asarray(whole.astype(np.float64) + (ticks - whole * per_day).astype(np.float64) / per_day)


def _of_text(cells: Any) -> Floats:
    """Return days from ISO text, NaN for any other, a 30th of February among them."""
    fields = pc.extract_regex(cells.cast(pa.large_binary()), TEXT)

    def text(name: str) -> Any:
        return pc.struct_field(fields, name).cast(pa.large_string(), safe=False)

    def number(name: str) -> Integers:
        digits = pc.if_else(pc.equal(text(name), ""), "0", text(name))
        return np.asarray(pc.fill_null(digits.cast(pa.int64()), 0).to_numpy(zero_copy_only=False))

    year, month, day = number("year"), number("month"), number("day")
    known = ~np.asarray(pc.is_null(fields).to_numpy(zero_copy_only=False)) & (year >= 1) & (month >= 1) & (month <= 12)
    first = np.where(known, (year - 1970) * 12 + month - 1, 0).astype("datetime64[M]")
    of_month = ((first + 1).astype("datetime64[D]") - first.astype("datetime64[D]")).astype(np.int64)
    known &= (day >= 1) & (day <= of_month)
    for name, most in MOST.items():
        known &= number(name) <= most
    part = pc.fill_null(pc.ascii_rpad(text("part"), 9, "0").cast(pa.int64()), 0)
    east = np.where(np.asarray(pc.fill_null(pc.equal(text("sign"), "-"), False).to_numpy(zero_copy_only=False)), -1, 1)
    minutes = number("hour") * 60 + number("minute") - east * (number("hours") * 60 + number("minutes"))
    moment = (minutes * 60 + number("second")) * 10**9 + np.asarray(part.to_numpy(zero_copy_only=False))
    later = moment // PER_DAY["ns"]  # by its zone, a moment may lie on the day before or after
    whole = first.astype("datetime64[D]").astype(np.int64) + day - 1 + later
    found = whole.astype(np.float64) + (moment - later * PER_DAY["ns"]).astype(np.float64) / PER_DAY["ns"]
    return np.where(known, found, np.nan)
