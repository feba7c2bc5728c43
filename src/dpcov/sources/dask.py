"""Frames and arrays of Dask: summed partition by partition where the scheduler puts them, and added in a tree.

The scheduler is the one that Dask would use itself: the client of this process, or its threads. A frame that is not persisted
is computed again for each reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pyarrow as pa

from dpcov.sources.array import checked_rows
from dpcov.sources.cluster import HINT, ClusterTable, Reply, Task, added
from dpcov.sources.sparse import SparseRows, is_sparse
from dpcov.sources.tables import ArrayTable, PandasTable, reading

FAN_IN = 8
"""So many sums are added by one task: 9 sums in the memory of a worker, and a tree of depth 4 above 4096 partitions."""


class DaskFrame(ClusterTable):
    """A frame of Dask; its partitions are pandas frames, each checked as one is."""

    kind = "a Dask frame"

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
            return _summed(task, _of_frame, self._data.to_delayed())


class DaskArray(ClusterTable):
    """A two-dimensional array of Dask, under given names; chunks that hold some columns only are put together first."""

    kind = "a Dask array"

    def __init__(self, data: Any, names: Sequence[str]) -> None:
        self._data = data
        super().__init__(names, [pa.bool_() if data.dtype.kind == "b" else pa.float64()] * len(names))
        self.rows = None if np.isnan(data.shape[0]) else int(data.shape[0])

    def select(self, columns: Sequence[str]) -> Self:
        """Select columns."""
        return type(self)(self._data[:, [self.names.index(name) for name in columns]], columns)

    def run(self, task: Task, size: int) -> list[Reply]:  # noqa: ARG002 - Dask knows how to send any
        """Sum each run of rows."""
        with reading(HINT):
            return _summed(task, _of_array, self._data.rechunk({1: -1}).to_delayed().ravel().tolist(), self.names)


def _of_frame(task: Task, partition: Any) -> Reply:
    return task.reply(PandasTable(partition))


def _of_array(task: Task, chunk: Any, names: list[str]) -> Reply:
    return task.reply(ArrayTable(SparseRows(chunk) if is_sparse(chunk) else checked_rows(chunk), names))


def _summed(task: Task, of: Any, partitions: list[Any], *more: Any) -> list[Reply]:
    """Return the sum over partitions, added in a tree, so that nobody holds more than a few sums; none of no partition."""
    from dask.delayed import delayed

    sent = delayed(task, traverse=False)  # once, not with every partition
    replies = [delayed(of)(sent, partition, *more) for partition in partitions]
    while len(replies) > 1:
        replies = [delayed(added)(replies[start : start + FAN_IN]) for start in range(0, len(replies), FAN_IN)]
    return [reply.compute() for reply in replies]
