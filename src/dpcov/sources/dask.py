"""Frames and arrays of Dask: summed partition by partition where the scheduler puts them, and added in a tree.

Where people have several rows, these are brought together first: rows are cut by who they are of, and cut again, until a task
has all rows of its people; each row moves as often as there are levels, in memory.

The scheduler is the one that Dask would use itself: the client of this process, or its threads. A frame that is not persisted
is computed again for each reading.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pyarrow as pa

from dpcov.sources.array import checked_rows
from dpcov.sources.cluster import HINT, ClusterTable, Reply, Shard, Task, added, joined
from dpcov.sources.sparse import SparseRows, is_sparse
from dpcov.sources.tables import ArrayTable, PandasTable, Table, cell_type, reading

FAN_IN = 8
"""So many sums are added by one task: 9 sums in the memory of a worker, and a tree of depth 4 above 4096 partitions."""


FAN_OUT = 16
"""Into so many shards, at most, a task cuts its rows: 1000 partitions take three levels and 33 000 small tasks."""


class DaskFrame(ClusterTable):
    """A frame of Dask; its partitions are pandas frames, each checked as one is."""

    kind, joins_people = "a Dask frame", True

    def __init__(self, data: Any) -> None:
        empty = PandasTable(data._meta)
        super().__init__(empty.names, empty.types)
        self._data = data

    def select(self, columns: Sequence[str]) -> Self:
        """Select columns, so that a file is read for these only."""
        labels = list(self._data.columns)
        return type(self)(self._data[[labels[self.names.index(name)] for name in columns]])

    def run(self, task: Task, size: int) -> list[Reply]:  # noqa: ARG002 - Dask knows how to send any
        """Sum each partition."""
        with reading(HINT):
            return _summed(task, _frame, self._data.to_delayed())


class DaskArray(ClusterTable):
    """A two-dimensional array of Dask, under given names; chunks that hold some columns only are put together first."""

    kind, joins_people = "a Dask array", True

    def __init__(self, data: Any, names: Sequence[str]) -> None:
        self._data = data
        super().__init__(names, [pa.from_numpy_dtype(cell_type(data.dtype))] * len(names))
        self.rows = None if np.isnan(data.shape[0]) else int(data.shape[0])

    def select(self, columns: Sequence[str]) -> Self:
        """Select columns."""
        return type(self)(self._data[:, [self.names.index(name) for name in columns]], columns)

    def run(self, task: Task, size: int) -> list[Reply]:  # noqa: ARG002 - Dask knows how to send any
        """Sum each run of rows."""
        with reading(HINT):
            return _summed(task, _array, self._data.rechunk({1: -1}).to_delayed().ravel().tolist(), self.names)


def _frame(partition: Any) -> Table:
    return PandasTable(partition)


def _array(chunk: Any, names: list[str]) -> Table:
    return ArrayTable(SparseRows(chunk) if is_sparse(chunk) else checked_rows(chunk), names)


def _reply(task: Task, opened: Any, partition: Any, *more: Any) -> Reply:
    return task.reply(opened(partition, *more))


def _shard(task: Task, opened: Any, partition: Any, *more: Any) -> Shard:
    return task.shard(opened(partition, *more))


def _summed(task: Task, opened: Any, partitions: list[Any], *more: Any) -> list[Reply]:
    """Return the sum over partitions, added in a tree, so that nobody holds more than a few sums; none of no partition."""
    from dask.delayed import delayed

    sent = delayed(task, traverse=False)  # once, not with every partition
    if task.unit:
        levels = max(math.ceil(math.log(max(len(partitions), 1), FAN_OUT)), 1)
        fan = math.ceil(len(partitions) ** (1 / levels))
        shards = [delayed(_shard)(sent, opened, partition, *more) for partition in partitions]
        replies = [delayed(Task.reply_of)(sent, shard) for shard in _with_all_rows(sent, shards, fan)]
    else:
        replies = [delayed(_reply)(sent, opened, partition, *more) for partition in partitions]
    while len(replies) > 1:
        replies = [delayed(added)(replies[start : start + FAN_IN]) for start in range(0, len(replies), FAN_IN)]
    return [reply.compute() for reply in replies]


def _with_all_rows(sent: Any, shards: list[Any], fan: int, level: int = 0) -> list[Any]:
    """Return shards each of which has all rows of its people: about as many, and nobody holds more than a share of the rows."""
    from dask.delayed import delayed

    if len(shards) <= 1:
        return shards
    cut = [delayed(Task.cut, nout=fan)(sent, shard, fan, level) for shard in shards]
    found: list[Any] = []
    for place in range(fan):
        mine = [pieces[place] for pieces in cut]
        together = [delayed(joined)(mine[start : start + fan]) for start in range(0, len(mine), fan)]
        found += _with_all_rows(sent, together, fan, level + 1)
    return found
