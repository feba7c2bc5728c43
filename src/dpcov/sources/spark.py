"""Frames of Spark: summed partition by partition in Python workers on the executors, and added after one shuffle.

The sum of a partition is cut into runs of entries. Each run has its place, and all runs of one place meet in one task: so many
tasks share the adding, none holds more than its part of a sum, and the driver gets one sum, however many partitions there are.
Only operations on frames are used, with which Spark counts each partition once whatever fails in between; accumulators would
count a repeated task twice. Where people have several rows, one more shuffle brings all rows of a person into one partition.
Frames of Spark Connect have the same operations.

Files of an `OnSpark` are read by the workers themselves: the frame has a row for each task, the number of its pieces of files.
"""

from __future__ import annotations

import os
import pickle
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from functools import lru_cache
from threading import Lock
from typing import Any, Self

import numpy as np
import pyarrow as pa

from dpcov.errors import EngineError, ParameterError
from dpcov.paths import checked_path
from dpcov.sources.cluster import HINT, ClusterTable, Integers, PartitionTable, Reply, Task, added
from dpcov.sources.files import PARQUET, open_file
from dpcov.sources.many import members_of
from dpcov.sources.on_spark import OnSpark
from dpcov.sources.pieces import pieces_of
from dpcov.sources.places import URI
from dpcov.sources.tables import Batch, Table, reading

RUN = 2**15
"""Integers of a run: 256 KB. Sums of up to 250 columns are one run, and one task adds them."""

MOST_TASKS = 64  # that add: enough for 2000 columns, and few enough that none is idle on a small cluster

TASK_CELLS = 2**24
"""So many cells of files make a task: a tenth of a second of work, where a task itself takes a few hundredths."""

TOGETHER = 64  # columns of one array at most: its cells are moved within the cache of a processor

MAX_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
MAX_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
NO_LIMIT = str(2**31 - 1)  # with which Spark does not measure batches

_settings = Lock()
"""Whoever has it may change settings of a session. Who does not reads as well, more slowly."""

LITTLE_ENDIAN = np.dtype("<i8")
RECORD = "place int, integers binary, error string"
ARROW_RECORD = pa.schema([("place", pa.int32()), ("integers", pa.binary()), ("error", pa.string())])

TYPES = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
    "void": pa.null(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


class SparkFrame(ClusterTable):
    """A frame of Spark, or of Spark Connect."""

    kind, joins_people = "a Spark frame", True

    def __init__(self, data: Any) -> None:
        if not hasattr(data, "mapInArrow"):
            raise ParameterError("data must be a Spark frame, got a pandas frame on Spark. Hint: data.to_spark().")
        with reading(HINT):
            streaming, described = data.isStreaming, data.dtypes
        if streaming:
            raise ParameterError("data must be a table with an end, got a stream. Hint: write it to a table first.")
        super().__init__([name for name, _ in described], [_arrow_type(kind) for _, kind in described])
        self._data = data

    def select(self, columns: Sequence[str]) -> Self:
        """Select columns by their places: Spark takes 'a' for 'A', and a dot for a field."""
        places = [self.names.index(name) for name in columns]
        with reading(HINT):
            chosen = self._data.toDF(*(f"c{j}" for j in range(len(self.names)))).select(*(f"c{j}" for j in places))
        selected = type(self)(chosen)
        selected.names = list(columns)
        return selected

    def run(self, task: Task, size: int) -> list[Reply]:
        """Sum each partition on its executor."""
        names, types, groups = self.names, self.types, _groups(self.types)

        def of_partition(batches: Iterator[Batch]) -> Iterator[Batch]:
            return _records(task.reply(PartitionTable(names, types, _apart(names, groups, batches))))

        with reading(HINT), _unmeasured(self._data.sparkSession.conf, types):
            numbered = self._data.toDF(*(f"c{j}" for j in range(len(names))))
            if task.unit:
                numbered = _with_all_rows(numbered, names.index(task.unit), types)
            runs = numbered.selectExpr(*(_together(group) for group in groups)).mapInArrow(of_partition, RECORD)
            return _collected(_added_there(runs, size), size)


class SparkFiles(ClusterTable):
    """Parquet files, of which each executor reads its own pieces."""

    kind = "files on Spark"

    def __init__(self, data: OnSpark) -> None:
        path = os.fspath(data.path)
        # Workers run in other folders: a path that is relative to this one would lead them astray.
        self._table: Any = open_file(path if URI.match(path) else checked_path(path).absolute(), PARQUET)
        super().__init__(self._table.names, self._table.types)
        self.members, self.rows = members_of(self._table), self._table.rows
        self.written: frozenset[str] = getattr(self._table, "written", frozenset())
        self._session = data.spark

    def select(self, columns: Sequence[str]) -> Self:
        """Select columns, so that files are read for these only."""
        selected = copy(self)
        selected.names, selected.types = list(columns), [self.types[self.names.index(name)] for name in columns]
        return selected

    def run(self, task: Task, size: int) -> list[Reply]:
        """Send each task its pieces, by their files' names."""
        dealt = [pickle.dumps(pieces) for pieces in _dealt(self._table, self.names)]

        def of_files(batches: Iterator[Batch]) -> Iterator[Batch]:
            numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
            replies = [task.reply(piece) for number in numbers for piece in pickle.loads(dealt[number])]
            return _records(added(replies)) if replies else iter(())

        with reading(HINT):
            runs = self._session.range(0, len(dealt), 1, len(dealt)).mapInArrow(of_files, RECORD)
            return _collected(runs if len(dealt) * size <= RUN else _added_there(runs, size), size)


def _dealt(table: Any, columns: Sequence[str]) -> Iterator[list[Table]]:
    """Yield the pieces of each task."""
    together, cells = list[Table](), 0
    for piece, _ in pieces_of(table, columns):
        together.append(piece)
        cells += (piece.rows or 0) * len(columns)
        if cells >= TASK_CELLS:
            yield together
            together, cells = [], 0
    if together:
        yield together


def _added_there(runs: Any, size: int) -> Any:
    """Add the runs of each place on an executor, so that one sum comes here, whatever the number of tasks."""
    return runs.repartition(min(-(-size // RUN), MOST_TASKS), "place").mapInArrow(_added, RECORD)


def _collected(runs: Any, size: int) -> list[Reply]:
    return _replies(((row["place"], row["integers"], row["error"]) for row in runs.collect()), size)


def _with_all_rows(numbered: Any, place: int, types: Sequence[Any]) -> Any:
    """Bring all rows of a person into one partition: cells that name the same person must have the same key here.

    Keys that are equal may be of several people. Rows without an identifier are nobody's, and would fill one partition.
    """
    cell, kind = f"c{place}", types[place]
    if pa.types.is_floating(kind):
        key = f"nullif(CAST({cell} AS DOUBLE) + 0.0D, double('NaN'))"  # −0 is 0
    else:
        key = cell if _has_one_size(kind) else f"CAST({cell} AS BINARY)"  # whatever the collation
    keyed = numbered.selectExpr("*", f"{key} AS who").where("who IS NOT NULL")
    return keyed.repartition("who").drop("who")


def _arrow_type(kind: str) -> Any:
    """Return the Arrow type of a column that Spark calls so; what is neither number nor text is refused where it is used."""
    if found := re.fullmatch(r"decimal\((\d+),(\d+)\)", kind):
        return pa.decimal128(int(found[1]), int(found[2]))
    return TYPES["string"] if re.match(r"(var)?char\(|string ", kind) else TYPES.get(kind, pa.struct([]))


def _groups(types: Sequence[Any]) -> list[list[int]]:
    """Return the places of columns that travel as one array: of one type, and of cells that have all the same size.

    Spark hands rows to Python cell by cell, and measures every column of the batch after each row; an array is one column.
    """
    alike: dict[Any, list[int]] = {}
    for place, kind in enumerate(types):
        alike.setdefault(kind if _has_one_size(kind) else place, []).append(place)
    return [places[start : start + TOGETHER] for places in alike.values() for start in range(0, len(places), TOGETHER)]


def _has_one_size(kind: Any) -> bool:
    return bool(pa.types.is_primitive(kind) or pa.types.is_decimal(kind))


@contextmanager
def _unmeasured(settings: Any, types: Sequence[Any]) -> Iterator[None]:
    """Keep Spark from measuring the batch after each row, where the limit of the session cannot be met; it is put back."""
    with ExitStack() as after:
        if _settings.acquire(blocking=False):
            after.callback(_settings.release)
            with suppress(Exception):  # Spark before 4.1 has no limit, and a server may let nobody change it
                limit = re.fullmatch(r"(\d+)b?", settings.get(MAX_BYTES))
                rows = int(settings.get(MAX_ROWS))
                if limit and rows > 0 and all(map(_has_one_size, types)):
                    of_row = sum(kind.bit_width // 8 + 8 for kind in types)  # 8 for what is beside a cell: offsets, validity
                    if rows * of_row < int(limit[1]):
                        own = settings.get(MAX_BYTES, None)
                        settings.set(MAX_BYTES, NO_LIMIT)
                        after.callback(_put_back, settings, own)
        yield


def _put_back(settings: Any, own: str | None) -> None:
    if own is None:
        settings.unset(MAX_BYTES)
    else:
        settings.set(MAX_BYTES, own)


def _together(group: Sequence[int]) -> str:
    """Write the columns of a group as one."""
    cells = ", ".join(f"c{place}" for place in group)
    return f"array({cells}) AS g{group[0]}" if len(group) > 1 else f"{cells} AS g{group[0]}"


def _apart(names: list[str], groups: Sequence[Sequence[int]], batches: Iterable[Batch]) -> Iterator[Batch]:
    """Take arrays apart, and give the columns their places and names back."""
    for batch in batches:
        columns: dict[int, Any] = {}
        for group, cells in zip(groups, batch.columns, strict=True):
            columns.update(zip(group, _columns(cells, len(group)) if len(group) > 1 else [cells], strict=True))
        yield pa.RecordBatch.from_arrays([columns[place] for place in range(len(names))], names=names)


def _columns(lists: Any, width: int) -> list[Any]:
    """Return lists of so many cells each as columns."""
    rows = len(lists)
    cells = lists.flatten().take(_by_column(rows, width))
    return [cells.slice(start, rows) for start in range(0, rows * width, rows)] if rows else width * [cells]


@lru_cache(maxsize=4)  # batches but the last have the same number of rows
def _by_column(rows: int, width: int) -> Any:
    """Return where cells by column are among cells by row."""
    return pa.array(np.arange(rows * width).reshape(rows, width).T.ravel())


def _records(reply: Reply) -> Iterator[Batch]:
    """Yield a reply as records, one for each run; an error is a record without a run."""
    if reply.error is not None:
        yield _record(-1, b"", "\n".join(reply.error))
        return
    for place, start in enumerate(range(0, len(reply.integers), RUN)):
        yield _record(place, _packed(reply.integers[start : start + RUN]), None)


def _record(*cells: Any) -> Batch:
    columns = [pa.array([cell], kind) for cell, kind in zip(cells, ARROW_RECORD.types, strict=True)]
    return pa.RecordBatch.from_arrays(columns, schema=ARROW_RECORD)


def _packed(integers: Integers) -> bytes:
    return integers.astype(LITTLE_ENDIAN).tobytes()


def _added(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Add the runs of each place that has come to this worker."""
    sums, error = _add(
        cells for batch in batches for cells in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    )
    if error is not None:
        yield _record(-1, b"", error)
    for place, integers in sums.items():
        yield _record(place, _packed(integers), None)


def _add(records: Iterable[tuple[int, bytes, str | None]]) -> tuple[dict[int, Integers], str | None]:
    """Return the sum of the runs of each place, modulo 2⁶⁴; of records with an error nothing but the first."""
    sums: dict[int, Integers] = {}
    for place, content, error in records:
        if error is not None:
            return {}, error
        run = np.frombuffer(content, dtype=LITTLE_ENDIAN).astype(np.int64)
        sums[place] = sums[place] + run if place in sums else run
    return sums, None


def _replies(records: Iterable[tuple[int, bytes, str | None]], size: int) -> list[Reply]:
    """Put the runs together; a frame may have no partitions, and no runs."""
    sums, error = _add(records)
    if error is not None:
        kind, _, words = error.partition("\n")
        return [Reply(np.empty(0, dtype=np.int64), (kind, words))]
    if not sums:
        return []
    integers = np.concatenate([sums[place] for place in sorted(sums)])
    if len(integers) != size:
        raise EngineError("Spark must return each run of a sum, and did not. Hint: try again; look at the log of the driver.")
    return [Reply(integers)]
