"""Many processes charge one data set, and processes are killed: nothing is overspent, and nothing is lost."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import dpcov

PROCESSES = 8
FAST = Path("/dev/shm")  # each charge waits for the disk twice: that is what takes the time elsewhere


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path


def in_children(work: Callable[[int], None], count: int) -> None:
    """Run work in so many forked processes, and insist that all end well."""
    children = []
    for number in range(count):
        child = os.fork()
        if child == 0:
            try:
                work(number)
            except BaseException:
                os._exit(1)
            os._exit(0)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0] * count


def race(place: Path, charges: int) -> None:
    """Charge from eight processes, a little more than there is, and count what went through."""
    path = place / "budget.db"
    each = Fraction(1, charges)
    fit = charges * 9 // 10
    dpcov.Ledger.create(path).add("trees", dpcov.ZCDP(each * fit))

    def charge(number: int) -> None:
        trees = dpcov.Ledger(path).dataset("trees")
        kept = []
        for _ in range(charges // PROCESSES):
            try:
                purse = trees.attempt(dpcov.ZCDP(each), "replace", {"process": number})
                purse.take()
                assert purse.mark is not None
                kept.append(purse.mark.entry)
            except dpcov.BudgetError:
                continue
        (place / f"kept-{number}").write_text(" ".join(map(str, kept)), encoding="utf-8")

    in_children(charge, PROCESSES)
    ledger = dpcov.Ledger(path)
    standing = ledger.status().of("trees")
    told = [int(entry) for number in range(PROCESSES) for entry in (place / f"kept-{number}").read_text().split()]
    written = [event["sequence"] for event in ledger.history("trees").events if event["event"] == "spent"]
    assert standing.amounts[0] == each * fit == standing.limits[0]  # never above, and none lost
    assert sorted(told) == written
    assert len(told) == len(set(told)) == fit
    assert ledger.verify().intact


def test_racing_charges_never_overspend(place: Path) -> None:
    race(place, 800)


@pytest.mark.audit
@pytest.mark.skipif(not FAST.is_dir(), reason="there is no disk in memory to hold a hundred thousand charges")
def test_a_hundred_thousand_racing_charges() -> None:
    place = FAST / f"dpcov-race-{os.getpid()}"
    place.mkdir()
    began = time.monotonic()
    try:
        race(place, 100_000)
    finally:
        for file in place.iterdir():
            file.unlink()
        place.rmdir()
    print(f"100 000 racing charges from {PROCESSES} processes: 90 000 fit and went through, {time.monotonic() - began:.0f} s")


def kill_releases(place: Path, kills: int, seed: int) -> tuple[int, int]:
    """Kill processes at random moments while they release; return how many releases got out, and how many were paid for.

    A process says when it begins a release. It is killed during its second, third or fourth one, as much later as a release
    takes, times a random number: on a busy machine as on an idle one at any moment of it.
    """
    path, rows = place / "budget.db", np.full((200, 2), 0.5)
    dpcov.Ledger.create(path).add("trees", dpcov.ZCDP(10**6))
    chance = random.Random(seed)
    release(path, rows).save(place / "release-first.json")  # here, so that no child has to import anything
    for number in range(kills):
        begun, beginning = os.pipe()
        child = os.fork()
        if child == 0:
            for turn in range(10**6):
                os.write(beginning, b".")
                release(path, rows).save(place / f"release-{number}-{turn}.json")
        times = []
        for _ in range(chance.randint(2, 4)):
            os.read(begun, 1)
            times.append(time.monotonic())
        time.sleep(1.5 * chance.random() * (times[-1] - times[-2]))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(begun)
        os.close(beginning)
    ledger = dpcov.Ledger(path)
    releases = [dpcov.load(file) for file in place.glob("release-*.json")]
    found = ledger.verify(*releases)
    assert found.faults == ()
    assert not [remark for remark in found.remarks if "digest was never recorded" in remark]  # recorded before it appears
    standing = ledger.status().of("trees")
    assert standing.amounts[0] == Fraction(standing.releases, 100)
    assert standing.releases - standing.unfinished >= len(releases)
    return len(releases), standing.releases


def release(path: Path, rows: NDArray[np.float64]) -> dpcov.Release:
    trees = dpcov.Ledger(path).dataset("trees")
    return dpcov.covariance(rows, dpcov.ZCDP("0.01"), row_norm=1, ledger=trees)


def test_what_reached_a_release_is_in_the_ledger_when_processes_are_killed(place: Path) -> None:
    kill_releases(place, 25, 1)


@pytest.mark.audit
def test_a_thousand_kills(place: Path) -> None:
    made, paid = kill_releases(place, 1000, 2)
    assert made > 1000  # one at least of each process
    assert paid > made
    print(f"1000 processes killed at random moments: {made} releases, {paid} paid for, all of them in an intact ledger")
