"""Differences of pairs: the same integers from every container and block size, one pair moved by one row, and refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcov
from dpcov.errors import ParameterError
from dpcov.kernel.questions.bins import Bins
from dpcov.kernel.questions.moments import Count, SecondMoment, Sum
from dpcov.kernel.questions.norms import Norms, Trace
from dpcov.kernel.rows.frames import Ball, Box, Ellipsoid
from dpcov.kernel.rows.grid import Grid
from dpcov.sources import base, csv_file, tables
from dpcov.sources import parquet as parquet_file
from dpcov.sources.array import ArraySource
from dpcov.sources.opening import open_source
from dpcov.sources.paired import PairedSource
from tests.helpers.rows import Floats, fuzz

D = 3
Statistic = Count | Sum | SecondMoment | Trace | Norms | Bins
WHITENER = np.array([[1.5, 0.25, 0.0], [-0.5, 0.75, 0.5], [0.0, 1.0, -0.125]])
STATISTICS: list[Statistic] = [
    Count(),
    Sum(Grid(1.0), D),
    SecondMoment(Grid(1.0), D),
    SecondMoment(Ellipsoid((0.0,) * D, WHITENER), D),
    Sum(Ball((0.5,) * D, 2.0), D),
    Trace(Ellipsoid((0.0,) * D, WHITENER), D),
    Norms(Grid(1.0), D, 2, 3),
    Bins(Box((0.0,) * D, (2.0,) * D), D, 5),
]
COLUMNS = [f"c{j}" for j in range(D)]
SIZES = [1, 2, 3, 5, 7, 16, 101, 1000]

each_n = pytest.mark.parametrize("n", [0, 1, 2, 3, 40, 41, 101])


def by_hand(statistic: Statistic, rows: Floats) -> list[int]:
    """NumPy's differences of whole arrays, one block; the last of an odd number of rows is left out."""
    even = rows[: len(rows) // 2 * 2]
    with np.errstate(all="ignore"):
        differences = (even[::2] - even[1::2]) * (1 / np.sqrt(2))
    entries: list[int] = ArraySource(differences).total(statistic).tolist()
    return entries


def wild(n: int) -> Floats:
    return fuzz(851, n, D)


def as_csv(folder: Path, rows: Floats) -> Path:
    np.savetxt(folder / "rows.csv", rows, delimiter=",", header=",".join(COLUMNS), comments="", fmt="%.17g")
    return folder / "rows.csv"


def as_parquet(folder: Path, rows: Floats) -> Path:
    pq.write_table(as_arrow(folder, rows), folder / "rows.parquet", row_group_size=7)
    return folder / "rows.parquet"


def as_arrow(folder: Path, rows: Floats) -> Any:  # noqa: ARG001
    table = pa.table({name: rows[:, j] for j, name in enumerate(COLUMNS)})
    return pa.concat_tables([table[:0], table[:1], table[:0], table[1:4], table[4:4], table[4:]])


CONTAINERS: dict[str, Callable[[Path, Floats], Any]] = {
    "array": lambda _, rows: rows,
    "columns": lambda _, rows: np.asfortranarray(rows),
    "csv": as_csv,
    "parquet": as_parquet,
    "pandas": lambda _, rows: pd.DataFrame(rows, columns=COLUMNS),
    "arrow": as_arrow,
    "polars": lambda _, rows: pl.DataFrame(rows, schema=COLUMNS),
}


def paired(data: Any) -> PairedSource:
    return PairedSource(open_source(data), "replace")


class TestSums:
    @each_n
    @pytest.mark.parametrize("size", SIZES)
    def test_arrays_in_blocks_of_any_size(self, n: int, size: int) -> None:
        source = PairedSource(ArraySource(wild(n), size), "replace")
        assert source.n == source.known_n == n // 2
        for statistic in STATISTICS:
            assert source.total(statistic).tolist() == by_hand(statistic, wild(n)), statistic.name
            assert source.total(statistic).tolist() == by_hand(statistic, wild(n))  # and again: no row is left over

    @pytest.mark.parametrize("n", [40, 41])
    @pytest.mark.parametrize("size", [1, 3, 4, 1000])
    @pytest.mark.parametrize("container", CONTAINERS)
    def test_every_container(self, container: str, size: int, n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Batches and blocks of any size, odd ones too."""
        data = CONTAINERS[container](tmp_path, wild(n))
        monkeypatch.setattr(tables, "BATCH_ROWS", size)
        monkeypatch.setattr(parquet_file, "PARQUET_ROWS", size)
        monkeypatch.setattr(csv_file, "CSV_BLOCK", 150 * size)
        monkeypatch.setattr(base, "BLOCK_ROWS", size)
        monkeypatch.setattr(base, "BLOCK_ELEMENTS", size)
        source = paired(data)
        for statistic in STATISTICS:
            assert source.total(statistic).tolist() == by_hand(statistic, wild(n)), statistic.name
        assert (source.n, source.known_n, source.d) == (n // 2, n // 2, D)

    def test_sums_are_exact_at_the_largest_block(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A statistic's own limit on blocks holds for pairs, of which there are half as many."""
        monkeypatch.setattr(Sum, "max_block", 5)
        assert paired(wild(101)).total(STATISTICS[1]).tolist() == by_hand(STATISTICS[1], wild(101))

    def test_the_rows_differ_enough_to_show_a_wrong_pair(self) -> None:
        rows = wild(40)
        for statistic in STATISTICS[1:]:
            assert by_hand(statistic, rows) != by_hand(statistic, np.roll(rows, 1, axis=0))

    def test_callers_rows_are_not_written_to(self) -> None:
        rows = wild(41)
        kept = rows.copy()
        for statistic in STATISTICS:
            PairedSource(ArraySource(rows, 3), "replace").total(statistic)
        assert rows.tobytes() == kept.tobytes()


class TestNeighbours:
    @pytest.mark.parametrize("statistic", STATISTICS, ids=lambda statistic: statistic.name)
    def test_a_replaced_row_moves_one_pair(self, statistic: Statistic) -> None:
        """By the statistic of that pair's difference alone, so by no more than its sensitivity; the odd row moves nothing."""
        rows, weights = wild(41), [part.weight for part in statistic.parts for _ in range(part.size)]
        for place in range(41):
            other = rows.copy()
            other[place] = fuzz(852 + place, 1, D)[0]
            moved = paired(rows).total(statistic) - paired(other).total(statistic)
            pair = slice(place // 2 * 2, place // 2 * 2 + 2)
            alone = np.array(by_hand(statistic, rows[pair])) - np.array(by_hand(statistic, other[pair]))
            assert moved.tolist() == alone.tolist()
            squared = sum(weight * int(gap) ** 2 for weight, gap in zip(weights, moved, strict=True))
            assert squared <= statistic.sensitivity_squared("replace")

    def test_an_added_row_would_move_all(self) -> None:
        """Why add-remove is refused."""
        rows, statistic = np.random.default_rng(853).normal(size=(200, D)), STATISTICS[2]
        moved = np.array(by_hand(statistic, rows)) - np.array(by_hand(statistic, rows[1:]))
        assert (moved.astype(float) ** 2).sum() > 4 * statistic.sensitivity_squared("add-remove")


class Untouched:
    """Rows that nobody may read."""

    def __init__(self, *, ordered: bool) -> None:
        self.ordered = ordered

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was read")


class TestRefusals:
    def test_before_anything_is_read(self) -> None:
        for neighbors in ("add-remove", "other", None):
            with pytest.raises(ParameterError, match=r"neighbors must be 'replace' for pairs, got 'add-remove'\. Hint: "):
                PairedSource(Untouched(ordered=True), neighbors)  # type: ignore[arg-type]
        with pytest.raises(
            ParameterError, match=r"data must have rows in a fixed order for pairs, got a query or stream\. Hint: "
        ):
            PairedSource(Untouched(ordered=False), "replace")

    def release(self, data: Any, neighbors: str = "replace") -> dpcov.Release:
        arguments: dict[str, Any] = {"mechanism": "coinpress", "upper": 10, "centring": "pairs", "neighbors": neighbors}
        return dpcov.covariance(data, dpcov.ZCDP(5), seed=854, **arguments)

    def test_streams_and_queries(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        table = as_arrow(tmp_path, np.random.default_rng(855).normal(size=(60, D)))
        monkeypatch.setattr(tables.StreamTable, "batches", lambda *_: pytest.fail("a row was read"))
        for data in (table.to_reader(max_chunksize=7), duckdb.connect().from_arrow(table)):
            with pytest.raises(ParameterError, match="data must have rows in a fixed order for pairs"):
                self.release(data)
        with pytest.raises(ParameterError, match="neighbors must be 'replace' for pairs"):
            self.release(table, "add-remove")

    @pytest.mark.parametrize("container", CONTAINERS)
    def test_a_release_from_every_ordered_container_is_the_same(self, container: str, tmp_path: Path) -> None:
        rows = np.random.default_rng(856).normal(size=(201, D)) + 5
        found, expected = self.release(CONTAINERS[container](tmp_path, rows)), self.release(rows)
        assert found.n == expected.n == 100
        assert found.covariance.tobytes() == expected.covariance.tobytes()
        assert [answer.integers.tolist() for answer in found.answers] == [a.integers.tolist() for a in expected.answers]
