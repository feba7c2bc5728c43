"""Tables in pieces that another process can read.

A file is cut where it can be: a piece says which rows of which file it is. Of anything else, frames, queries and compressed
text, this process decodes the rows, and a piece brings their cells: what they mean is worked out by whoever gets them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from dpcov.sources.tables import BATCH_ROWS, Batch, Table

PIECE_BYTES = 2**22
"""Cells are sent when there are so many bytes of them: enough to outweigh the message, few enough to keep all busy."""

Piece = tuple[Table, float | None]
"""A table that can be pickled, and which share of the whole it is."""


def pieces_of(table: Any, columns: Sequence[str]) -> Iterator[Piece]:
    """Yield pieces that hold each row once."""
    return table.pieces(columns) if hasattr(table, "pieces") else packed(table, columns)


def packed(table: Table, columns: Sequence[str]) -> Iterator[Piece]:
    """Yield pieces that bring their cells."""
    waiting: list[Batch] = []
    size, sent, told, fraction = 0, False, 0.0, None
    for batch, fraction in table.batches(columns, BATCH_ROWS):
        waiting.append(batch)
        size += batch.nbytes
        if size >= PIECE_BYTES:
            yield PackedTable(waiting, table), None if fraction is None else fraction - told
            waiting, size, sent, told = [], 0, True, fraction or 0.0
    if waiting or not sent:  # a table without rows is a piece without rows
        yield PackedTable(waiting or [_no_rows(table, columns)], table), None if fraction is None else fraction - told


def _no_rows(table: Table, columns: Sequence[str]) -> Batch:
    types = dict(zip(table.names, table.types, strict=True))
    return pa.record_batch([pa.array([], types[name]) for name in columns], names=list(columns))


class PackedTable:
    """Cells of another table, as bytes."""

    rereadable = ordered = is_here = True

    def __init__(self, batches: list[Batch], of: Table) -> None:
        self.parsed, self.decimal = of.parsed, of.decimal
        self.written: frozenset[str] = getattr(of, "written", frozenset())
        kind = batches[0].schema
        self.names, self.types = list(kind.names), list(kind.types)
        self.rows: int | None = sum(map(len, batches))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, kind) as stream:
            for batch in batches:
                stream.write_batch(batch)
        self._content = sink.getvalue().to_pybytes()

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[tuple[Batch, float | None]]:  # noqa: ARG002
        """Yield the batches again."""
        with pa.ipc.open_stream(self._content) as stream:
            for batch in stream:
                yield batch.select(list(columns)), None
