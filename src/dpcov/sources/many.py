"""Many files as one table: file after file, in the order of their paths.

Columns are found by name, in any order, and each file is checked before a row of any is read. Numbers may be of another type in
each file, since each cell becomes a float64 by itself. A column that one file lacks, or in which it has something else than
the others, is an error that names both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dpcov.errors import SchemaError
from dpcov.sources.pieces import Piece, pieces_of
from dpcov.sources.places import Place
from dpcov.sources.tables import Batch, Table, reading


class ManyFiles:
    """Tables one below the other."""

    def __init__(self, tables: Sequence[Any], places: Sequence[Place]) -> None:
        self.members = [(table, place.name) for table, place in zip(tables, places, strict=True)]
        first = tables[0]
        self.parsed, self.decimal, self.names, self.types = first.parsed, first.decimal, first.names, first.types
        self.rereadable, self.ordered = first.rereadable, first.ordered
        self.written: frozenset[str] = getattr(first, "written", frozenset())
        counts = [table.rows for table in tables]
        self.rows = None if None in counts else sum(counts)
        with reading():
            sizes = np.array([place.size() for place in places], dtype=np.float64)
        self._shares: list[float] = (sizes / max(sizes.sum(), 1.0)).tolist()

    def check_names(self) -> None:
        """Refuse first lines that are no names."""
        for table, _ in self.members:
            table.check_names()

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[tuple[Batch, float | None]]:
        """Yield the batches of each file."""
        before = 0.0
        for (table, _), share in zip(self.members, self._shares, strict=True):
            for batch, fraction in table.batches(columns, rows):
                yield batch, None if fraction is None else before + share * fraction
            before += share

    def pieces(self, columns: Sequence[str]) -> Iterator[Piece]:
        """Yield the pieces of each file."""
        for (table, _), of_all in zip(self.members, self._shares, strict=True):
            for piece, share in pieces_of(table, columns):
                yield piece, None if share is None else share * of_all


class WithKeys:
    """A file with the columns that its folders name: each cell is text, and the same in all of its rows."""

    def __init__(self, table: Any, place: Place) -> None:
        self._table, self._keys = table, dict(place.keys)
        both = sorted(set(table.names) & self._keys.keys())
        if both or len(self._keys) < len(place.keys):
            name = both[0] if both else place.keys[0][0]
            raise SchemaError(
                f"column {name!r} must be in the files or in the names of their folders, got it twice for {place.name}. "
                f"Hint: rename the folders."
            )
        self.parsed, self.decimal, self.rows = table.parsed, table.decimal, table.rows
        self.rereadable, self.ordered = table.rereadable, table.ordered
        self.names = [*table.names, *self._keys]
        self.types = [*table.types, *[pa.large_binary()] * len(self._keys)]
        self.written = frozenset(self._keys)

    def check_names(self) -> None:
        """Refuse a first line that is no names."""
        self._table.check_names()

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[tuple[Batch, float | None]]:
        """Put the columns of the folders beside those of the file."""
        inside = [name for name in columns if name not in self._keys]
        for batch, fraction in self._table.batches(inside or self._table.names[:1], rows):
            cells = [batch.column(name) if name in inside else self._cells(name, len(batch)) for name in columns]
            yield pa.record_batch(cells, names=list(columns)), fraction

    def pieces(self, columns: Sequence[str]) -> Iterator[Piece]:
        """Put them beside the pieces of the file."""
        inside = [name for name in columns if name not in self._keys] or self._table.names[:1]  # else no piece has rows
        for piece, share in pieces_of(self._table, inside):
            with_keys = object.__new__(WithKeys)
            with_keys.__dict__ |= self.__dict__ | {"_table": piece, "rows": piece.rows}
            yield with_keys, share

    def _cells(self, name: str, rows: int) -> Any:
        """Return one cell many times, stored once."""
        value = self._keys[name]
        entries = pa.array([None if value is None else value.encode("utf-8", "replace")], pa.large_binary())
        return pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), entries)


def members_of(table: Table) -> list[tuple[Table, str]]:
    """Return the files of a table, each with what messages call it; one that is no file by no name."""
    return getattr(table, "members", [(table, "")])
