"""What holds on every cluster: sums are added exactly, each once, and errors say nothing of cells. No cluster is needed."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pytest

import dpcov
from dpcov.errors import EngineError, ParameterError, SchemaError
from dpcov.kernel.questions.moments import Count, SecondMoment, Sum
from dpcov.kernel.rows.grid import Grid
from dpcov.schema import Categorical, Schema
from dpcov.sources.arrow import ArrowSource
from dpcov.sources.cluster import Cluster, ClusterTable, PartitionTable, Reply, Task, added
from dpcov.sources.kept import KeptSource
from dpcov.sources.split import SplitSource
from tests.engines.engines import expected
from tests.sources.mixed import NUMBERS, SCHEMA, arrow

SUM = Sum(Grid(1.0), 1)


class Partitions(ClusterTable):
    """A cluster of one: tables of Arrow, one after the other; tasks and replies are pickled, as on the way to a worker."""

    kind = "a table in partitions"

    def __init__(self, *parts: Any, like: Any = None) -> None:
        self._parts, self._like = parts, parts[0] if like is None else like
        super().__init__(self._like.schema.names, self._like.schema.types)

    def select(self, columns: Sequence[str]) -> Self:
        chosen = list(columns)
        return type(self)(*(part.select(chosen) for part in self._parts), like=self._like.select(chosen))

    def run(self, task: Task, size: int) -> list[Reply]:
        sent = pickle.dumps(task)
        replies = [pickle.loads(pickle.dumps(pickle.loads(sent).reply(partition(part)))) for part in self._parts]
        assert all(len(reply.integers) == size for reply in replies if reply.error is None)
        return replies


def partition(table: Any) -> PartitionTable:
    return PartitionTable(table.schema.names, table.schema.types, table.to_batches())


def opened(
    table: ClusterTable, schema: Schema | None = None, center: bool = False, names: list[str] | None = None
) -> SplitSource:
    return SplitSource(ArrowSource(table, names, schema, center), Cluster())


def numbers(*cells: float) -> Any:
    return pa.table({"x": pa.array(cells, pa.float64())})


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("cuts", [[], [100], [0, 0, 1, 1, 7, 239, 240]])
def test_every_question_has_the_same_integers(cuts: list[int], center: bool) -> None:
    """Partitions without rows among them, at both ends and between."""
    parts = [arrow()[start:end] for start, end in zip([0, *cuts], [*cuts, 240], strict=True)]
    for schema, names in ((SCHEMA, None), (None, NUMBERS)):
        source = opened(Partitions(*parts), schema, center, names)
        for question, integers in expected(center, schema):
            found = source.total(question)
            assert found.tolist() == integers, question.name
            assert found.dtype == np.int64
        assert source.n == 240


def test_a_table_without_partitions_has_the_sums_of_no_rows() -> None:
    source = opened(Partitions(like=arrow()), SCHEMA)
    empty = ArrowSource(partition(arrow()[:0]), None, SCHEMA)
    moment = SecondMoment(Grid(1.0), source.d)
    assert source.total(moment).tolist() == empty.total(moment).tolist()
    assert source.n == 0


def test_sums_are_exact_where_floats_are_not_and_wrap_around() -> None:
    large = [Reply(np.array([1, entry], dtype=np.int64)) for entry in (2**62 + 1, 2**62 + 2, 2**62 + 4)]
    found = added([*large[:1], added(large[1:])])
    assert found.integers.tolist() == [3, 3 * 2**62 + 7 - 2**64]
    assert [reply.integers[1] for reply in large] == [2**62 + 1, 2**62 + 2, 2**62 + 4]  # a cluster may hold them still


def test_the_number_of_rows_is_counted_on_the_way() -> None:
    source = opened(Partitions(numbers(0.5, 0.25), numbers(), numbers(1.0)))
    assert source.known_n is None
    source.total(SUM)
    assert source.known_n == 3
    assert source.total(Count()).tolist() == [3]


def test_a_table_that_changes_is_refused() -> None:
    table = Partitions(numbers(0.5), numbers(0.25))
    source = opened(table)
    source.total(SUM)
    table._parts = table._parts[:1]
    with pytest.raises(EngineError, match="data must be the same each time"):
        source.total(SUM)


class TestErrors:
    def test_one_of_a_partition_is_told_in_its_words(self) -> None:
        """A partition may be of another type than the table says: it is refused as a table of that type is."""
        text = pa.table({"x": ["SECRET"]})
        with pytest.raises(SchemaError, match="column 'x' must be numeric, got the declared type string"):
            opened(Partitions(numbers(0.5), text, numbers(0.25))).total(SUM)

    def test_one_of_a_library_is_not(self) -> None:
        class Broken:
            schema = numbers().schema

            def to_batches(self) -> Any:
                raise ValueError("SECRET")
                yield

        broken: Any = Broken()
        table = PartitionTable(broken.schema.names, broken.schema.types, broken.to_batches())
        assert Task(SUM, ["x"], None, False).reply(table).error == (
            "EngineError",
            "data must be readable to the end by each worker, got an error in one of them. Hint: check what a partition holds.",
        )

    def test_nothing_is_added_to_one(self) -> None:
        failed = Task(SUM, ["y"], None, False).reply(partition(numbers(0.5)))
        fine = Task(SUM, ["x"], None, False).reply(partition(numbers(0.5)))
        for replies in ([failed, fine], [fine, failed], [added([fine, failed]), fine]):
            error = added(replies).error
            assert error is not None
            assert error[0] == "SchemaError"

    def test_workers_of_another_version_are_refused(self) -> None:
        """They may encode rows otherwise, and their sums would still be integers."""
        error = Task(SUM, ["x"], None, False, version="0.0.9").reply(partition(numbers(0.5))).error
        assert error is not None
        assert error[0] == "EngineError"
        assert error[1].startswith("workers must have dpcov 0.0.9, as the process that asks, got ")


class TestRowsStayWhereTheyAre:
    """Whatever wants rows, not sums, is refused before anything is read."""

    def test_kept_rows(self) -> None:
        with pytest.raises(ParameterError, match="got a table in partitions, whose rows stay on the cluster"):
            KeptSource(opened(Partitions(numbers(0.5))))

    def test_batches(self) -> None:
        schema = Schema({"x": Categorical(["a"])})
        table = Partitions(pa.table({"x": ["a"]}))
        with pytest.raises(ParameterError, match="whose rows stay on the cluster"):
            ArrowSource(table, None, schema).total(SUM)


def test_a_release_is_the_same_byte_by_byte() -> None:
    """From partitions as from the table: the noise is drawn here, once."""
    from dpcov.release.file import text_of
    from dpcov.request import request

    asked = request("covariance", dpcov.ZCDP(1), mechanism="auto", bound=None, schema=SCHEMA, center=True, seed=7, options={})
    source = opened(Partitions(arrow()[:99], arrow()[99:]), SCHEMA, True)
    here = ArrowSource(partition(arrow()), None, SCHEMA, True)
    assert text_of(asked.run(source, dpcov.ZCDP(1))) == text_of(dpcov.covariance(arrow(), dpcov.ZCDP(1), schema=SCHEMA, seed=7))
    assert here.feature_names == source.feature_names
