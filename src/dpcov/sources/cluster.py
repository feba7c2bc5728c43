"""Tables on a cluster: each worker adds up the rows that it has, and integer sums are all that leaves it.

A `Task` travels to the workers: the question, and what the columns mean. A `Reply` comes back from each partition: how many
rows it has, and their sums; or how many people, where people have several rows. Then the cluster first brings all rows of a
person into one partition, and whoever sums it counts each person's rows itself, in the very rows that it sums: no identifier
and no count of a person leaves it. Replies are added on the way, in any order and any grouping, since int64 addition modulo
2⁶⁴ has no rounding. An error comes back as its words, which are this library's: those of others may quote cells.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpcov._version import __version__
from dpcov.errors import ParameterError
from dpcov.kernel.questions.asked import SUMMED
from dpcov.kernel.questions.clipped_pair import ClippedPair
from dpcov.kernel.questions.together import Together
from dpcov.kernel.rows.aside import Aside
from dpcov.kernel.sums import check_exact_blas
from dpcov.schema import Schema
from dpcov.sources.arrow import ArrowPart
from dpcov.sources.by import By
from dpcov.sources.divided import named, spread
from dpcov.sources.split import PartSums
from dpcov.sources.tables import BATCH_ROWS, Batch, Table
from dpcov.sources.worker import Failure, check_version, in_words, raised

Integers = NDArray[np.int64]

SENT = (*SUMMED, Together, ClippedPair)
"""What is a sum and nothing else. Other statistics keep rows for this process, which must not have them."""

HINT = f"the cluster's own log says more; each worker needs dpcov {__version__}, and memory for a partition"
BROKEN = "data must be readable to the end by each worker, got an error in one of them. Hint: check what a partition holds."


NO_SUMS = np.empty(0, dtype=np.int64)


class Reply(NamedTuple):
    """The number of rows and, after it, their sums; or the kind and the words of an error."""

    integers: Integers
    error: Failure | None = None

    @classmethod
    def of(cls, sums: PartSums) -> Self:
        """Put the number of rows and their sums into one row of integers: all of them are added alike."""
        assert sums.integers is not None
        return cls(np.concatenate([np.array([sums.rows], dtype=np.int64), sums.integers.ravel()]))


class Shard(NamedTuple):
    """Rows on their way to where all rows of their people are; or the kind and the words of an error."""

    tables: list[PartitionTable]
    error: Failure | None = None


@dataclass(frozen=True)
class Task:
    """What a worker is to do with the rows of a partition; it can be pickled."""

    statistic: Any
    columns: list[str] | None
    schema: Schema | None
    center: bool
    by: By | None = None
    aside: Aside | None = None
    version: str = __version__

    @property
    def unit(self) -> str:
        """The column that says whose a row is; empty where a partition need not have all rows of its people."""
        return "" if self.aside is None else self.aside.unit

    def sums(self, table: Table) -> PartSums:
        """Sum over a table as one that is here."""
        part = ArrowPart(table, self.columns, self.schema, self.center, None, self.by, self.aside)
        return part.sums(self.statistic)

    def shard(self, table: Table) -> Shard:
        """Take the rows that are somebody's from a table; never raise."""
        shard, failure = in_words(lambda: [self._owned(table)], BROKEN)
        return Shard([], failure) if shard is None else Shard(shard)

    def _owned(self, table: Table) -> PartitionTable:
        """Keep the rows that are somebody's, with what tells people apart in place of the cell: no dictionary travels along."""
        check_version(self.version)
        if (identify := getattr(table, "identify", None)) is not None:  # a table that reads identifiers otherwise than features
            identify(self.unit)
        kept, place = [], table.names.index(self.unit)
        for batch, _ in table.batches(table.names, BATCH_ROWS):
            keys = named(batch.column(place))
            kept.append(batch.set_column(place, self.unit, keys).filter(keys.is_valid()))
        return PartitionTable(table.names, table.types, kept)

    def cut(self, shard: Shard, count: int, level: int) -> list[Shard]:
        """Cut rows into shards, by who they are of, by other bits at each level; never raise, as logs show arguments."""
        if shard.error is not None:
            return [shard] * count
        found, failure = in_words(lambda: self._cut(shard, count, level), BROKEN)
        return [Shard([], failure)] * count if found is None else found

    def _cut(self, shard: Shard, count: int, level: int) -> list[Shard]:
        found: list[list[PartitionTable]] = [[] for _ in range(count)]
        for table in shard.tables:
            cut: list[list[Batch]] = [[] for _ in range(count)]
            for batch in table.kept:
                place = (spread(batch.column(self.unit)) // np.uint64(count**level) % np.uint64(count)).astype(np.int64)
                order, ends = np.argsort(place, kind="stable"), np.cumsum(np.bincount(place, minlength=count))
                sorted_rows = batch.take(pa.array(order))
                for number, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
                    if end > start:
                        cut[number].append(_copied(sorted_rows.slice(start, end - start)))
            for number, batches in enumerate(cut):
                found[number].append(PartitionTable(table.names, table.types, batches))
        return [Shard(tables) for tables in found]

    def reply_of(self, shard: Shard) -> Reply:
        """Sum over all rows of some people; never raise."""
        return Reply(NO_SUMS, shard.error) if shard.error is not None else self.reply(JoinedTable(shard.tables))

    def reply(self, table: Table) -> Reply:
        """Sum over a table, which may have no rows; never raise."""
        reply, failure = in_words(lambda: self._summed(table), BROKEN)
        return Reply(NO_SUMS, failure) if reply is None else reply

    def _summed(self, table: Table) -> Reply:
        check_version(self.version)
        check_exact_blas()
        return Reply.of(self.sums(self._owned(table) if self.unit and not table.rereadable else table))


def joined(shards: Iterable[Shard]) -> Shard:
    """Put shards together; never raise. An error in one of them is all that is left of them."""
    mine = list(shards)
    for shard in mine:
        if shard.error is not None:
            return shard
    tables, failure = in_words(lambda: _joined([table for shard in mine for table in shard.tables]), BROKEN)
    return Shard([], failure) if tables is None else Shard(tables)


def _joined(tables: list[PartitionTable]) -> list[PartitionTable]:
    """Put tables of the same columns together."""
    alike: dict[Any, PartitionTable] = {}
    for table in tables:
        first = alike.setdefault((*table.names, *table.types), PartitionTable(table.names, table.types, []))
        first.kept.extend(table.kept)
    return [PartitionTable(table.names, table.types, list(_larger(table.kept))) for table in alike.values()]


def _larger(batches: Iterable[Batch]) -> Iterator[Batch]:
    """Put small batches together: each costs as much as a thousand rows."""
    waiting: list[Batch] = []
    for batch in batches:
        if waiting and (sum(map(len, waiting)) >= BATCH_ROWS or batch.schema != waiting[0].schema):
            yield pa.concat_batches(waiting)
            waiting = []
        waiting.append(batch)
    if waiting:
        yield pa.concat_batches(waiting)


def _copied(batch: Batch) -> Batch:
    """Return rows without those beside them in memory, which would travel with them."""
    return pa.concat_batches([batch])


def added(replies: Iterable[Reply]) -> Reply:
    """Add replies, at least one; an error in one of them is all that is left of them."""
    total: Integers | None = None
    for reply in replies:
        if reply.error is not None:
            return reply
        if total is None:
            total = reply.integers.copy()  # a cluster may still have the reply itself
        else:
            total += reply.integers
    assert total is not None
    return Reply(total)


class ClusterTable(ABC):
    """A table whose rows stay where they are. Partitions come in any order, so its rows make no pairs."""

    parsed, decimal = False, "."
    rereadable, ordered = True, False
    rows: int | None = None
    kind: str
    """What messages call it."""

    joins_people = False
    """Whether `run` brings all rows of a person to one worker, where the task says that they have an owner."""

    def __init__(self, names: Sequence[str], types: Sequence[Any]) -> None:
        self.names, self.types = list(names), list(types)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[tuple[Batch, float | None]]:  # noqa: ARG002
        """Refuse: rows do not come here."""
        raise ParameterError(_not_here(self.kind))

    def pieces(self, columns: Sequence[str]) -> Iterator[tuple[Self, float]]:
        """Yield the table itself, with these columns only: the cluster has cut it already."""
        yield self.select(columns), 1.0

    @abstractmethod
    def select(self, columns: Sequence[str]) -> Self:
        """Return the table with these columns, in this order."""

    @abstractmethod
    def run(self, task: Task, size: int) -> list[Reply]:
        """Run the task over each partition once, and return the sum of the replies, of so many integers, in one or several."""


class Cluster:
    """The engine of such tables."""

    joins_people = True  # into one part: `Task` counts them there

    def run(self, statistic: Any, parts: Iterable[Any]) -> Iterator[PartSums]:
        """Yield the sums over the table, which is one part."""
        for part in parts:
            yield _sums(statistic, part)

    def close(self) -> None:
        """Do nothing: the cluster is the user's."""


def _sums(statistic: Any, part: ArrowPart) -> PartSums:
    table: Any = part.table
    if type(statistic) not in SENT:
        raise ParameterError(_not_here(table.kind))
    if part.aside is not None and part.aside.unit and not table.joins_people:  # a person would count in each partition
        raise ParameterError(
            f"unit must be left out for {table.kind}, got {part.aside.unit!r}. Hint: pass a frame of Dask or Spark."
        )
    task = Task(statistic, part.columns, part.schema, part.center, part.by, part.aside)
    # A cluster may have no partition at all, but a table without rows has sums too.
    nothing = task.sums(PartitionTable(table.names, table.types, [], getattr(table, "written", frozenset())))
    zeros = Reply.of(nothing)
    found = added([zeros, *table.run(task, len(zeros.integers))])
    if found.error is not None:
        raise raised(*found.error)
    assert nothing.integers is not None
    return PartSums(found.integers[1:].reshape(nothing.integers.shape), int(found.integers[0]), 1.0)


def _not_here(kind: str) -> str:
    return (
        f"data must be rows that this process can read for this, got {kind}, whose rows stay on the cluster. "
        f"Hint: bring a part of them here, as a pandas frame."
    )


class PartitionTable:
    """Batches that a worker is handed, once, or as a list."""

    parsed, decimal = False, "."
    ordered = False
    rows: int | None = None

    def __init__(
        self, names: Sequence[str], types: Sequence[Any], batches: Iterable[Batch], written: frozenset[str] = frozenset()
    ) -> None:
        self.names, self.types, self._batches, self.written = list(names), list(types), batches, written
        self.rereadable = isinstance(batches, list)

    @property
    def kept(self) -> list[Batch]:
        """The batches that were kept."""
        assert isinstance(self._batches, list)
        return self._batches

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[tuple[Batch, float | None]]:  # noqa: ARG002
        """Pass them on, with these columns."""
        for batch in self._batches:
            yield batch.select(list(columns)), None


class JoinedTable(PartitionTable):
    """Tables of several partitions, each checked as one that is alone."""

    def __init__(self, tables: list[PartitionTable]) -> None:
        super().__init__(tables[0].names, tables[0].types, [batch for table in tables for batch in table.kept])
        self.members = [(table, "") for table in tables]
