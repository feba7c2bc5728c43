"""How sums travel through Spark: in runs, in any order, some added on the way. Neither Spark nor Java is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpcov
from dpcov.errors import EngineError, ParameterError
from dpcov.sources import parquet, spark
from dpcov.sources.cluster import Reply, added
from dpcov.sources.files import open_file
from tests.engines.engines import csv_files, parquet_files
from tests.sources.mixed import arrow

LARGE = [
    Reply(np.array([1, 2**62 + 1, -5, 7, 2**53 + 1, 0, 3], dtype=np.int64)),
    Reply(np.array([2, 2**62 + 3, 0, -7, 1, -(2**63), 4], dtype=np.int64)),
    Reply(np.array([0, 2**62, 1, 1, 2**53 + 2, -1, 5], dtype=np.int64)),
]
FAILED = Reply(np.empty(0, dtype=np.int64), ("SchemaError", "column 'x' must be numeric.\nHint: convert it."))


def cells(batches: Any) -> list[tuple[int, bytes, str | None]]:
    return [row for batch in batches for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)]


@pytest.fixture(autouse=True)
def _short_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark, "RUN", 3)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_runs_are_added_wherever_they_meet(workers: int, order: int) -> None:
    """Places are dealt to workers, as Spark does; what all of them return is one sum."""
    batches = [batch for reply in LARGE for batch in spark._records(reply)][::order]
    dealt = [[batch for batch in batches if batch.column(0)[0].as_py() % workers == worker] for worker in range(workers)]
    back = [record for part in dealt for record in cells(spark._added(part))][::order]
    assert len(back) == 3
    [found] = spark._replies(back, 7)
    assert found.integers.tolist() == added(LARGE).integers.tolist()
    assert found.integers.dtype == np.int64


def test_a_place_that_was_cut_in_two_is_added_here() -> None:
    back = [record for reply in LARGE for record in cells(spark._added(spark._records(reply)))]
    [found] = spark._replies(back, 7)
    assert found.integers.tolist() == added(LARGE).integers.tolist()


def test_an_error_of_one_partition_is_all_that_comes_back() -> None:
    for replies in ([*LARGE, FAILED], [FAILED, *LARGE]):
        back = cells(spark._added(batch for reply in replies for batch in spark._records(reply)))
        assert [reply.error for reply in spark._replies(back, 7)] == [FAILED.error]
        assert len(back) == 1


def test_no_partition_has_no_reply() -> None:
    assert list(spark._added([])) == []
    assert spark._replies([], 7) == []


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_sum_that_lacks_a_run_is_refused(lost: int) -> None:
    records = cells(spark._added(batch for reply in LARGE for batch in spark._records(reply)))
    del records[lost]
    with pytest.raises(EngineError, match="Spark must return each run of a sum"):
        spark._replies(records, 7)


def test_a_pandas_frame_on_spark_is_refused() -> None:
    on_spark = type("DataFrame", (), {"__module__": "pyspark.pandas.frame"})
    with pytest.raises(ParameterError, match="got a pandas frame on Spark"):
        dpcov.covariance(on_spark(), dpcov.ZCDP(1), row_norm=1)


class TestCellsThatTravelTogether:
    """Columns of one type are one array on the way to Python."""

    def test_numbers_of_one_type_are_one_array_and_text_is_alone(self) -> None:
        kinds = [pa.float64(), pa.string(), pa.bool_(), pa.float64(), pa.string(), pa.decimal128(9, 2), pa.bool_(), pa.null()]
        groups = spark._groups(kinds)
        assert groups == [[0, 3], [1], [2, 6], [4], [5], [7]]
        assert [spark._together(group) for group in groups[:2]] == ["array(c0, c3) AS g0", "c1 AS g1"]

    def test_arrays_have_an_end(self) -> None:
        groups = spark._groups([pa.int32()] * (2 * spark.TOGETHER + 1))
        assert [len(group) for group in groups] == [spark.TOGETHER, spark.TOGETHER, 1]
        assert [place for group in groups for place in group] == list(range(2 * spark.TOGETHER + 1))

    @pytest.mark.parametrize("cuts", [(240,), (100, 0, 100, 40)])
    def test_they_come_apart_as_they_were(self, cuts: tuple[int, ...]) -> None:
        """Nulls and NaN, too; rows may begin within an array, and a batch may have none."""
        table = arrow()
        groups = spark._groups(table.schema.types)
        packed = pa.table(
            {
                f"g{group[0]}": table.column(group[0])
                if len(group) == 1
                else pa.array(
                    [list(row) for row in zip(*(table.column(place).to_pylist() for place in group), strict=True)],
                    pa.list_(table.schema.types[group[0]]),
                )
                for group in groups
            }
        )
        [whole] = packed.to_batches()
        starts = np.cumsum([0, *cuts]).tolist()
        batches = [whole.slice(start, rows) for start, rows in zip(starts, cuts, strict=False)]
        found = pa.Table.from_batches(spark._apart(table.column_names, groups, batches))
        assert found.schema.types == table.schema.types
        assert repr(found.to_pydict()) == repr(table.to_pydict())  # in which NaN is NaN


class TestFiles:
    SESSION = type("SparkSession", (), {"__module__": "pyspark.sql.session"})()

    @pytest.mark.parametrize(("cells", "tasks"), [(1, 8), (500, 2), (10**9, 1)])
    def test_each_row_is_dealt_once(self, cells: int, tasks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(parquet, "PIECE_ROWS", 30)
        monkeypatch.setattr(spark, "TASK_CELLS", cells)
        dealt = list(spark._dealt(open_file(parquet_files(tmp_path, rows=240)), ["height", "grade", "member"]))
        read = [batch for task in dealt for piece in task for batch, _ in piece.batches(["height"], 1000)]
        assert len(dealt) == tasks
        assert repr(pa.Table.from_batches(read).to_pydict()) == repr(arrow().select(["height"]).to_pydict())

    def test_what_is_no_session_or_no_path(self, tmp_path: Path) -> None:
        with pytest.raises(ParameterError, match="spark must be a session of Spark, got str"):
            dpcov.OnSpark("local", "people.parquet")
        with pytest.raises(ParameterError, match="path must lead to Parquet files, got Table"):
            dpcov.OnSpark(self.SESSION, arrow())
        with pytest.raises(ParameterError, match=r"data must be files that end in .parquet or .pq here, got 't0.csv'"):
            dpcov.covariance(dpcov.OnSpark(self.SESSION, csv_files(tmp_path)), dpcov.ZCDP(1), row_norm=1)
        with pytest.raises(ParameterError, match="path must be the name of a file"):
            dpcov.covariance(dpcov.OnSpark(self.SESSION, ""), dpcov.ZCDP(1), row_norm=1)

    def test_a_record_shows_no_path(self) -> None:
        """Names of folders may be cells, and an address may hold a password."""
        assert repr(dpcov.OnSpark(self.SESSION, "s3://key:SECRET@bucket/people/")) == "OnSpark()"

    def test_a_ledger_that_keeps_the_budget_of_the_files(self, tmp_path: Path) -> None:
        ledger = dpcov.Ledger.create(tmp_path / "budget.db")
        folder = parquet_files(tmp_path / "people")
        ledger.add("people", dpcov.ZCDP(1), data=folder)
        with pytest.raises(ParameterError, match="whose budget is kept in one as 'people', got none"):
            dpcov.covariance(dpcov.OnSpark(self.SESSION, folder / "part-*.parquet"), dpcov.ZCDP(1), row_norm=1)
