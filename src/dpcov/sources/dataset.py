"""Datasets and scanners of pyarrow: many files, filters and other filesystems, as pyarrow describes them.

A dataset's own schema says what its columns are: where a file lacks one, pyarrow has nulls there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dpcov.sources.pieces import Piece, packed
from dpcov.sources.tables import Batch, reading


class DatasetTable:
    """A dataset, or a fragment of one."""

    parsed, decimal = False, "."
    rereadable = ordered = True
    rows: int | None = None

    def __init__(self, data: Any, kind: Any = None) -> None:
        self._data, self._kind = data, kind
        self._schema = data.schema if kind is None else kind
        self.names, self.types = list(self._schema.names), list(self._schema.types)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[tuple[Batch, float | None]]:
        """Scan the columns, in the dataset's order."""
        given = {} if self._kind is None else {"schema": self._kind}
        with reading():
            scanner = self._data.scanner(columns=list(columns), batch_size=rows, use_threads=False, **given)
            for batch in scanner.to_batches():
                yield batch.select(list(columns)), None

    def pieces(self, columns: Sequence[str]) -> Iterator[Piece]:
        """Yield a piece for each row group of Parquet, for each file of another format; of a filtered dataset cells."""
        try:
            fragments = list(self._data.get_fragments())
        except ValueError:  # pyarrow has none of a dataset with a filter
            fragments = []
        if not fragments or any(not hasattr(fragment, "filesystem") for fragment in fragments):
            yield from packed(self, columns)
            return
        for fragment in fragments:
            with reading():
                parts = fragment.split_by_row_group() if hasattr(fragment, "split_by_row_group") else [fragment]
            for part in parts or [fragment]:
                yield DatasetTable(part, self._schema), None
