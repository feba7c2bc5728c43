"""A file whose budget a ledger keeps is released from at that ledger's expense only, whatever it is called."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcov
from dpcov.custody.claim import ENDING, claim

TENTH = dpcov.ZCDP("0.1")


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """A table in a folder of its own."""
    folder = tmp_path / "tables"
    folder.mkdir()
    pq.write_table(pa.table({"x": np.full(100, 0.5), "y": np.full(100, -0.5)}), folder / "adult.parquet")
    return folder / "adult.parquet"


@pytest.fixture
def ledger(tmp_path: Path, rows: Path) -> dpcov.Ledger:
    made = dpcov.Ledger.create(tmp_path / "budget.db")
    made.add("adult", dpcov.ZCDP(1), data=rows)
    made.add("birds", dpcov.ZCDP(1))
    return made


def release(data: Any, ledger: dpcov.DataSet | None = None) -> dpcov.Release:
    return dpcov.covariance(data, TENTH, row_norm=1, columns=["x", "y"], ledger=ledger)


def test_it_is_charged_where_it_is_kept(ledger: dpcov.Ledger, rows: Path) -> None:
    assert ledger.verify(release(rows, ledger.dataset("adult"))).intact


def test_nowhere_and_elsewhere_it_is_refused(ledger: dpcov.Ledger, rows: Path, tmp_path: Path) -> None:
    other = dpcov.Ledger.create(tmp_path / "other.db")
    other.add("adult", dpcov.ZCDP(1))
    with pytest.raises(dpcov.ParameterError, match=r"ledger must be given.*dataset\('adult'\)"):
        release(rows)
    for wrong in (ledger.dataset("birds"), other.dataset("adult")):
        with pytest.raises(dpcov.ParameterError, match="another or another name"):
            release(rows, wrong)
    assert [standing.releases for standing in (*ledger.status().standings, *other.status().standings)] == [0, 0, 0]


def test_other_ways_to_the_same_file_are_refused_too(
    ledger: dpcov.Ledger, rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link.parquet").symlink_to(rows)
    (tmp_path / "elsewhere").symlink_to(rows.parent)
    monkeypatch.chdir(rows.parent)
    ways = [
        tmp_path / "link.parquet",
        tmp_path / "elsewhere" / rows.name,
        "adult.parquet",
        rows.parent,
        "*.parquet",
        f"file://{rows}",
    ]
    for way in ways:
        with pytest.raises(dpcov.ParameterError, match="ledger must be given"):
            release(way)
    assert release(rows.parent, ledger.dataset("adult")).n == 100  # the claim itself is no table of the folder


def test_a_text_file_with_its_signs(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("x;y\n0,5;0,5\n", encoding="utf-8")
    made = dpcov.Ledger.create(tmp_path / "budget.db")
    made.add("t", dpcov.ZCDP(1), data=tmp_path / "t.txt")
    with pytest.raises(dpcov.ParameterError, match="ledger must be given"):
        release(dpcov.Csv(tmp_path / "t.txt", separator=";", decimal=","))


def test_a_folder_claims_what_is_in_it(tmp_path: Path, rows: Path) -> None:
    made = dpcov.Ledger.create(tmp_path / "budget.db")
    made.add("tables", dpcov.ZCDP(1), data=rows.parent)
    for data in (rows, rows.parent):
        with pytest.raises(dpcov.ParameterError, match="ledger must be given"):
            release(data)
    release(rows, made.dataset("tables"))


def test_a_second_ledger_cannot_claim_it(ledger: dpcov.Ledger, rows: Path, tmp_path: Path) -> None:
    other = dpcov.Ledger.create(tmp_path / "other.db")
    with pytest.raises(dpcov.ParameterError, match="must have one ledger"):
        other.add("adult", dpcov.ZCDP(1), data=rows)
    with pytest.raises(dpcov.ParameterError, match="must have one ledger"):
        ledger.add("again", dpcov.ZCDP(1), data=rows)
    assert (other.status().standings, len(ledger.status().standings)) == ((), 2)


def test_of_two_that_claim_it_at_once_one_gets_it(rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both have looked, and found no claim: the second one's file is not written over the first one's."""
    ledgers = [dpcov.Ledger.create(tmp_path / f"{number}.db") for number in range(2)]
    monkeypatch.setattr("dpcov.custody.ledger.claimed_place", lambda data, *_: Path(data).resolve())
    ledgers[0].add("adult", dpcov.ZCDP(1), data=rows)
    with pytest.raises(dpcov.ParameterError, match="must have one ledger"):
        ledgers[1].add("adult", dpcov.ZCDP(1), data=rows)
    assert ledgers[1].status().standings == ()
    release(rows, ledgers[0].dataset("adult"))


def test_where_no_claim_can_be_written_nothing_is_added(tmp_path: Path) -> None:
    made = dpcov.Ledger.create(tmp_path / "budget.db")
    with pytest.raises(dpcov.EngineError, match="folder must be writable"):
        made.add("adult", dpcov.ZCDP(1), data="/proc/self/status")
    assert (made.status().standings, made.verify().entries) == ((), 1)


def test_after_a_crash_between_claim_and_entry_it_is_added_again(
    tmp_path: Path, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crashing(*arguments: Any) -> None:
        claim(*arguments)
        os._exit(0)

    made = dpcov.Ledger.create(tmp_path / "budget.db")
    child = os.fork()
    if child == 0:
        monkeypatch.setattr("dpcov.custody.ledger.claim", crashing)
        made.add("adult", dpcov.ZCDP(1), data=rows)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert rows.with_name(rows.name + ENDING).exists()
    with pytest.raises(dpcov.ParameterError, match="ledger must be given"):
        release(rows)
    made.add("adult", dpcov.ZCDP(1), data=rows)
    release(rows, made.dataset("adult"))


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"ledger": "x"}', "\xff", "x" * 20_000])
def test_a_damaged_claim_is_refused(ledger: dpcov.Ledger, rows: Path, text: str) -> None:
    rows.with_name(rows.name + ENDING).write_text(text, encoding="latin-1")
    for dataset in (None, ledger.dataset("adult")):
        with pytest.raises(dpcov.EngineError, match="put it back from a backup"):
            release(rows, dataset)
    assert ledger.status().of("adult").left == dpcov.ZCDP(1)


def test_rows_that_are_moved_to_a_device_are_refused_too(ledger: dpcov.Ledger, tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", np.full((100, 2), 0.5))
    ledger.add("moved", dpcov.ZCDP(1), data=tmp_path / "rows.npy")
    moved = dpcov.OnDevice(tmp_path / "rows.npy", "cpu")
    with pytest.raises(dpcov.ParameterError, match="ledger must be given"):
        dpcov.covariance(moved, TENTH, row_norm=1)


def test_what_does_not_exist_cannot_be_claimed(tmp_path: Path) -> None:
    made = dpcov.Ledger.create(tmp_path / "budget.db")
    with pytest.raises(dpcov.EngineError, match="exists"):
        made.add("adult", dpcov.ZCDP(1), data=tmp_path / "none.csv")
    assert made.verify().entries == 1


def test_data_without_a_file_are_free(ledger: dpcov.Ledger) -> None:
    """A frame, an array, an address: nobody can tell what they are of."""
    from dpcov.custody.claim import refuse_claimed

    release(pa.table({"x": [0.5] * 10, "y": [0.5] * 10}))
    for data in ("s3://bucket/adult.parquet", np.zeros((3, 2)), "\0", "n" * 5000):
        refuse_claimed(data, None)
    assert ledger.status().of("adult").releases == 0


def test_what_makes_no_release_asks_for_no_ledger(ledger: dpcov.Ledger, rows: Path) -> None:
    found = dpcov.compare(rows, [TENTH], ["gaussian"], row_norm=1, runs=2)
    assert len(found.cells) == 1
    assert ledger.status().of("adult").releases == 0
