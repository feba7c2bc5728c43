"""How sums travel through Spark: in runs, in any order, some added on the way. Neither Spark nor Java is needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.errors import EngineError, ParameterError
from dpcov.sources import spark
from dpcov.sources.cluster import Reply, added

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
