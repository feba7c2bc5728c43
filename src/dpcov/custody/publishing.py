"""When a release appears: at a moment that was said in public beforehand, and not when the work happens to be done.

How long a release takes may depend on rows (docs/known-limitations.md). Whoever sees no more than the file appear learns the
moment that was announced; where the work takes longer, one of the moments after it, a public period apart.
"""

from __future__ import annotations

import math
import os
import re
import time
from datetime import datetime, timedelta
from itertools import count, product
from numbers import Real
from pathlib import Path

from dpcov.errors import ParameterError, shown
from dpcov.paths import checked_path, write_secret
from dpcov.release.file import text_of
from dpcov.release.record import Release

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
SHORTEST, LONGEST = 1, 7 * 86400  # seconds of a period
FURTHEST = 366 * 86400  # seconds from now
GLANCE = 1.0  # seconds: how often the clock is read, which may be set meanwhile
ASIDE = ".unpublished"


class Publication:
    """A public moment, and a public period: a release is published at the moment, or at the first later one that it can meet.

    Parameters
    ----------
    at : str or datetime
        "23:00" or "23:00:30", the next time that clocks here show it; or a date and time as "2030-01-31T23:00", with "Z" or
        "+02:00" for other zones.
    every : str, number or timedelta
        Where the work is not done by then: how long after it the next chance is, "10m" for ten minutes ("s", "h", "d"), or
        seconds. Choose it so long that the work surely needs no more than one.

    Examples
    --------
    >>> import dpcov
    >>> moment = dpcov.Publication("23:00", every="1h")  # before anything is spent
    >>> moment.save(release, "adult.json")  # doctest: +SKIP
    """

    def __init__(self, at: str | datetime, *, every: str | float | timedelta = "10m") -> None:
        self.every = _period(every)
        self.at = _moment(at, time.time())

    def __repr__(self) -> str:
        return f"<Publication at {self.told}, else every {self.every:g} s>"

    @property
    def told(self) -> str:
        """The moment, in the time of this machine's clocks."""
        return datetime.fromtimestamp(self.at).astimezone().isoformat(sep=" ", timespec="seconds")

    def moment(self, now: float) -> float:
        """Return when a release appears that is done now, in seconds since 1970."""
        return self.at + self.every * max(math.ceil((now - self.at) / self.every), 0)

    def wait(self) -> None:
        """Return at the moment; after it, at the next chance."""
        moment = self.moment(time.time())
        while (left := moment - time.time()) > 0:
            time.sleep(min(left, GLANCE))

    def save(self, release: Release, path: str | os.PathLike[str]) -> None:
        """Wait, then save a release: until then no file of it exists.

        Where the wait is interrupted, the release is written at once to a new file beside it, ``path.unpublished``, which only
        you can read: it was paid for, and when it appears is then your doing.

        Raises
        ------
        EngineError
            The file cannot be written.
        """
        target = checked_path(path)
        try:
            self.wait()
        except BaseException:
            put_aside(release, target)
            raise
        release.save(target)


def put_aside(release: Release, path: str | os.PathLike[str]) -> Path:
    """Write a release that will not be published to a new file, ``path.unpublished``, and return its name.

    Where another one was kept so before, the name has a number.
    """
    target, text = checked_path(path), text_of(release).encode()
    for number in count(1):
        aside = target.with_name(target.name + ASIDE + f"-{number}" * (number > 1))
        try:
            write_secret(aside, text, name="path")
        except ParameterError:  # there is one
            continue
        return aside
    raise AssertionError("numbers do not end")


def _moment(at: object, now: float) -> float:
    """Return a moment in seconds since 1970; one that is past, or no moment at all, is refused."""
    rule, hint = "publish_at must be a time to come", "'23:00', or '2030-01-31T23:00'"
    try:
        found = _clock(at, now) if isinstance(at, str) else at
        seconds = found.timestamp() if isinstance(found, datetime) else math.nan
    except (ValueError, OverflowError, OSError):  # no such time, or no such year on this machine
        seconds = math.nan
    if math.isnan(seconds):
        raise ParameterError(f"{rule}, got {shown(at)}. Hint: {hint}.")
    if seconds <= now:
        raise ParameterError(f"{rule}, got {shown(at)}, which is past. Hint: {hint}; the clock shows {_shown(now)}.")
    if seconds > now + FURTHEST:
        raise ParameterError(f"{rule}, a year at most, got {shown(at)}. Hint: {hint}.")
    return seconds


def _clock(text: str, now: float) -> datetime:
    """Return the next time that clocks here show it, or the date and time that is meant."""
    if not re.fullmatch("[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?", text):
        if "T" not in text and " " not in text.strip():  # a date alone would mean its first moment
            raise ValueError
        return datetime.fromisoformat(text)
    hour, minute, second = (int(part) for part in (text + ":00").split(":")[:3])
    today = datetime.fromtimestamp(now).replace(hour=hour, minute=minute, second=second, microsecond=0)
    for days, fold in product(range(3), (0, 1)):  # in the night in which clocks are changed a time comes twice, or not at all
        found = (today + timedelta(days=days)).replace(fold=fold)
        if found.timestamp() > now and datetime.fromtimestamp(found.timestamp()) == found:
            return found
    raise ValueError


def _period(every: object) -> float:
    """Return a period in seconds, or refuse it."""
    found = re.fullmatch("([0-9]{1,6})([smhd])", every) if isinstance(every, str) else None
    if found is not None:
        seconds: float = int(found[1]) * UNITS[found[2]]
    elif isinstance(every, timedelta):
        seconds = every.total_seconds()
    elif isinstance(every, Real) and not isinstance(every, bool):
        try:
            seconds = float(every)
        except OverflowError:
            seconds = math.inf
    else:
        seconds = math.nan
    if not SHORTEST <= seconds <= LONGEST:
        raise ParameterError(
            f"publish_every must be from one second to seven days, got {shown(every)}. Hint: '10m', '1h' or '1d'."
        )
    return seconds


def _shown(now: float) -> str:
    return datetime.fromtimestamp(now).strftime("%H:%M:%S")
