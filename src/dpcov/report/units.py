"""Numbers of features as people read them: a place in time as a date, what lies between two of them in days."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from dpcov.report.text import rounded, span
from dpcov.schema.dates import FIRST, LAST, ORIGIN

if TYPE_CHECKING:
    from dpcov.schema import Schema

FINE = 0.5  # days: an error below it leaves something to say of the time of day
DAYS = f"days since {ORIGIN}"


class Units:
    """How the numbers of features are written: those of dates as dates and days, others as they are."""

    def __init__(self, schema: Schema | None, features: int) -> None:
        self._dates: Sequence[str | None] = [None] * features if schema is None else schema.dates()

    @property
    def dated(self) -> list[int]:
        """The features that are dates."""
        return [place for place, kind in enumerate(self._dates) if kind is not None]

    def value(self, place: int, value: float, error: float) -> tuple[str, str]:
        """Write a value of a feature, such as its mean, with its standard error."""
        number, known = rounded(value, error)
        if self._dates[place] is None:
            return number, known
        return moment(value, fine=error < FINE), _in_days(rounded(error, error)[1] if math.isfinite(error) else known)

    def distance(self, place: int, value: float, error: float) -> tuple[str, str]:
        """Write a distance between values of a feature, such as its deviation, with its standard error."""
        number, known = rounded(value, error)
        return (number, known) if self._dates[place] is None else (_in_days(number), _in_days(known))

    def span(self, place: int, lower: float, upper: float) -> str:
        """Write an interval of values."""
        if self._dates[place] is None:
            return span(lower, upper)
        fine = upper - lower < 2 * FINE
        return f"{moment(lower, fine=fine)} to {moment(upper, fine=fine)}"


def moment(days: float, *, fine: bool = False) -> str:
    """Return days since 1970 as a date, with the time of day where that is wanted."""
    if math.isnan(days):
        return "?"
    if not FIRST <= days < LAST - 1:
        return "before 0001-01-01" if days < FIRST else "after 9999-12-30"
    whole = math.floor(days)
    if fine:
        return (datetime(1970, 1, 1) + timedelta(whole, minutes=round((days - whole) * 1440))).isoformat(" ", "minutes")
    return (date(1970, 1, 1) + timedelta(round(days))).isoformat()


def bounds(column_dates: str | None, lower: float, upper: float, digits: int = 6) -> str:
    """Write the bounds of a column."""
    if column_dates is None:
        return f"{lower:.{digits}g} to {upper:.{digits}g}"
    fine = lower % 1 != 0 or upper % 1 != 0
    return f"{moment(lower, fine=fine)} to {moment(upper, fine=fine)}"


def _in_days(number: str) -> str:
    return f"{number} days"
