"""A release appears at the moment that was said, or a public period after it; what is paid for is kept in any case."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpcov
from dpcov.custody import publishing
from dpcov.release.file import text_of

NOW = datetime(2030, 1, 31, 22, 15, tzinfo=UTC).timestamp()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that stands still, but for those who sleep."""
    now = [NOW]

    def sleep(seconds: float) -> None:
        assert 0 < seconds <= publishing.GLANCE
        now[0] += seconds

    monkeypatch.setattr(time, "time", lambda: now[0])
    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    return now


def made() -> dpcov.Release:
    return dpcov.covariance(np.full((100, 2), 0.5), dpcov.ZCDP(1), row_norm=1)


@pytest.mark.usefixtures("clock")
class TestTheMoment:
    @pytest.mark.parametrize(
        ("text", "minutes"),
        [
            ("22:16", 1),
            ("22:15:30", 0.5),
            ("22:15", 24 * 60),  # now is past
            ("22:14", 24 * 60 - 1),
            ("00:00", 105),
            ("0:00", 105),
            ("2030-01-31T23:00", 45),
            ("2030-01-31 23:00:00", 45),
            ("2030-01-31T23:00:00Z", 45),
            ("2030-02-01T00:00:00+01:00", 45),
            (datetime(2030, 1, 31, 23, tzinfo=UTC), 45),
            (datetime(2030, 1, 31, 23), 45),
        ],
    )
    def test_it_is_read(self, text: str | datetime, minutes: float) -> None:
        assert dpcov.Publication(text).at == NOW + 60 * minutes

    @pytest.mark.parametrize(
        "text",
        [
            *(
                "",
                "now",
                "24:00",
                "23:60",
                "23:00:61",
                "9:3",
                "23",
                "2030-01-31",
                "2030-02-30T12:00",
                "23:00 tomorrow",
                "٢٣:٠٠",
            ),
            *(
                "2030-01-31T22:15",
                "1999-01-01T00:00",
                "2031-03-01T00:00",
                "9999-12-31T23:59",
                "0001-01-01T00:00",
                5,
                None,
                NOW + 60,
            ),
        ],
    )
    def test_what_is_none_or_past_or_far_is_refused(self, text: Any) -> None:
        with pytest.raises(dpcov.ParameterError, match=r"^publish_at must be a time to come.*Hint: "):
            dpcov.Publication(text)

    @pytest.mark.parametrize(
        ("every", "seconds"), [("1s", 1), ("10m", 600), ("2h", 7200), ("7d", 604800), (90, 90), (timedelta(minutes=3), 180)]
    )
    def test_a_period_is_read(self, every: Any, seconds: float) -> None:
        assert dpcov.Publication("23:00", every=every).every == seconds

    @pytest.mark.parametrize(
        "every", ["", "m", "10", "-1m", "0s", "8d", "1.5h", "10 m", 0, -1, math.nan, math.inf, True, None, [1]]
    )
    def test_a_period_that_is_none_is_refused(self, every: Any) -> None:
        with pytest.raises(dpcov.ParameterError, match=r"^publish_every must be from one second to seven days"):
            dpcov.Publication("23:00", every=every)


class TestTheNightInWhichClocksAreChanged:
    """In Berlin: on 31 March 2030 there is no 02:30, on 27 October it comes twice."""

    @pytest.fixture
    def in_berlin(self, clock: list[float], monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
        monkeypatch.setenv("TZ", "Europe/Berlin")
        time.tzset()
        if time.tzname == ("Europe", "Europe"):
            pytest.skip("this machine has no names of time zones")
        yield clock
        monkeypatch.undo()
        time.tzset()

    @pytest.mark.parametrize(
        ("now", "text", "expected"),
        [
            ("2030-03-31T01:00+01:00", "02:30", "2030-04-01T02:30+02:00"),
            ("2030-03-31T01:00+01:00", "03:30", "2030-03-31T03:30+02:00"),
            ("2030-03-31T01:00+01:00", "00:30", "2030-04-01T00:30+02:00"),
            ("2030-10-27T01:00+02:00", "02:30", "2030-10-27T02:30+02:00"),
            ("2030-10-27T02:40+02:00", "02:30", "2030-10-27T02:30+01:00"),
            ("2030-10-27T02:40+02:00", "02:50", "2030-10-27T02:50+02:00"),
            ("2030-10-27T02:40+01:00", "02:50", "2030-10-27T02:50+01:00"),
            ("2030-10-27T02:40+01:00", "02:30", "2030-10-28T02:30+01:00"),
        ],
    )
    def test_it_is_the_next_time_that_clocks_show(self, in_berlin: list[float], now: str, text: str, expected: str) -> None:
        in_berlin[0] = datetime.fromisoformat(now).timestamp()
        assert dpcov.Publication(text).at == datetime.fromisoformat(expected).timestamp()


@given(late=st.floats(-1e6, 1e6), every=st.floats(1, 604800))
def test_every_moment_is_the_first_that_is_public_and_not_past(late: float, every: float) -> None:
    """So that two runs which take less than a period more than announced appear together, whatever they took."""
    found = dpcov.Publication(datetime.now(UTC) + timedelta(days=60), every=every)
    now = found.at + late
    steps = (found.moment(now) - found.at) / every
    assert abs(steps - round(steps)) < 1e-6 * max(steps, 1)
    assert steps >= 0
    assert found.moment(now) >= now - 1e-3
    assert found.moment(now) - every < now + 1e-3 or found.moment(now) == found.at


class TestWaiting:
    def test_it_ends_at_the_moment_or_at_the_next_one(self, clock: list[float]) -> None:
        moment = dpcov.Publication("22:20", every="10m")
        moment.wait()
        assert clock[0] == pytest.approx(NOW + 300, abs=1e-3)
        clock[0] = NOW + 300.5  # the work took longer
        moment.wait()
        assert clock[0] == pytest.approx(NOW + 900, abs=1e-3)

    def test_a_clock_that_is_set_meanwhile_is_followed(self, clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
        moment = dpcov.Publication("23:00")
        slept = []

        def sleep(seconds: float) -> None:
            slept.append(seconds)
            clock[0] += 3600 if len(slept) == 3 else seconds

        monkeypatch.setattr(time, "sleep", sleep)
        moment.wait()
        assert len(slept) == 3

    def test_one_that_is_set_back_is_waited_for(self, clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
        """The moment is one of the clock: before the clock shows it nothing appears."""
        moment = dpcov.Publication("22:16")
        back = [600.0]

        def sleep(seconds: float) -> None:
            clock[0] += seconds - (back.pop() if back else 0)

        monkeypatch.setattr(time, "sleep", sleep)
        moment.wait()
        assert clock[0] == pytest.approx(moment.at, abs=1e-3)

    def test_no_file_is_there_before(self, tmp_path: Path, clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
        seen = []

        def sleep(seconds: float) -> None:
            seen.append([path.name for path in tmp_path.iterdir()])
            clock[0] += 60 * seconds

        monkeypatch.setattr(time, "sleep", sleep)
        release = made()
        dpcov.Publication("22:20").save(release, tmp_path / "out.json")
        assert seen == [[]] * 5
        assert text_of(dpcov.load(tmp_path / "out.json")) == text_of(release)

    def test_what_is_paid_for_is_kept_where_the_wait_is_interrupted(
        self, tmp_path: Path, clock: list[float], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Under another name: nobody who waits for the file takes it for published."""

        def sleep(seconds: float) -> None:
            assert clock[0] + seconds > NOW
            raise KeyboardInterrupt

        monkeypatch.setattr(time, "sleep", sleep)
        release = made()
        with pytest.raises(KeyboardInterrupt):
            dpcov.Publication("22:20").save(release, tmp_path / "out.json")
        (kept,) = tmp_path.iterdir()
        assert kept.name == "out.json.unpublished"
        assert kept.stat().st_mode & 0o777 == 0o600
        assert text_of(dpcov.load(kept)) == text_of(release)


def test_what_was_kept_aside_before_is_not_in_the_way(tmp_path: Path) -> None:
    """Nor is it written over: each was paid for."""
    releases = [made() for _ in range(3)]
    kept = [publishing.put_aside(release, tmp_path / "out.json") for release in releases]
    assert [path.name for path in kept] == ["out.json.unpublished", "out.json.unpublished-2", "out.json.unpublished-3"]
    assert [text_of(dpcov.load(path)) for path in kept] == [text_of(release) for release in releases]


def test_by_the_clock_on_the_wall(tmp_path: Path) -> None:
    """The file's own times are those of the moment, or later by what writing takes."""
    moment = dpcov.Publication(datetime.now(UTC) + timedelta(seconds=1.2))
    moment.save(made(), tmp_path / "out.json")
    assert (tmp_path / "out.json").stat().st_mtime >= moment.at - 0.05  # file systems take their time from a coarser clock
