"""Lazy frames of polars: the query runs in batches, as polars streams them, once for each reading."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dpcov.sources.tables import BATCH_ROWS, Batch, reading


class LazyTable:
    """What a query of polars returns; it need not return its rows in the same order again."""

    parsed, decimal = False, "."
    rereadable, ordered = True, False
    rows: int | None = None

    def __init__(self, data: Any) -> None:
        self._data = data
        with reading():
            kind = data.clear().collect().to_arrow().schema  # names and types: an empty frame is collected
        self.names, self.types = list(kind.names), list(kind.types)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[tuple[Batch, float | None]]:
        """Run the query for these columns; where polars cannot stream it, whole."""
        with reading():
            query = self._data.select(list(columns))
            step = min(rows, BATCH_ROWS)
            frames = query.collect_batches(chunk_size=step) if hasattr(query, "collect_batches") else [query.collect()]
            for frame in frames:
                for batch in frame.to_arrow().to_batches():
                    yield batch.select(list(columns)), None
