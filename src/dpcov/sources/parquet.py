"""Parquet files, streamed in bounded memory: names and types are in the footer, and so is the number of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import pyarrow as pa

from dpcov.errors import EngineError, raise_alone
from dpcov.sources.pieces import Piece
from dpcov.sources.places import Place
from dpcov.sources.tables import Batch, reading

PARQUET_ROWS = 2**14  # at most, at a time; of few columns more, so that they have as many cells as NARROW columns
NARROW = 4
BUFFER = 2**16  # bytes of a column read at a time; else Arrow holds whole row groups in memory
PIECE_ROWS = 2**17
"""Row groups smaller than this are read together: opening a file again costs a few thousand rows."""


class ParquetTable:
    """A Parquet file, or some of its row groups, read a few thousand rows at a time."""

    parsed, decimal = False, "."
    rereadable = ordered = True

    def __init__(self, place: Place, groups: Sequence[int] | None = None) -> None:
        self._place, self._groups = place, groups
        file = self._open()
        self.names, self.types = list(file.schema_arrow.names), list(file.schema_arrow.types)
        with reading(where=place.name):
            counts = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        self._counts = counts
        self.rows: int | None = sum(counts if groups is None else (counts[group] for group in groups))

    def _open(self) -> Any:
        import pyarrow.parquet as pq

        try:
            return pq.ParquetFile(self._place.stream(), pre_buffer=False, buffer_size=BUFFER)
        except (FileNotFoundError, PermissionError):  # of a worker on another machine, or one that is gone since it was found
            raise_alone(
                EngineError(
                    f"data must be files that each process can read, got {self._place.name}, which one cannot. "
                    f"Hint: the path must lead to the same file wherever rows are read."
                )
            )
        except (pa.ArrowException, OSError, ValueError):
            raise_alone(
                EngineError(f"data must be a complete Parquet file, got {self._place.name}, which is not. Hint: copy it again.")
            )

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[tuple[Batch, float | None]]:
        """Decode the columns in batches."""
        done, total = 0, self.rows or 1
        file = self._open()
        with reading(where=self._place.name):
            for batch in file.iter_batches(
                batch_size=min(rows, PARQUET_ROWS * max(NARROW // max(len(columns), 1), 1)),
                row_groups=self._groups,
                columns=list(columns),
                use_threads=False,
            ):
                done += len(batch)
                yield batch.select(list(columns)), done / total

    def pieces(self, columns: Sequence[str]) -> Iterator[Piece]:  # noqa: ARG002 - a row group has all of them
        """Yield runs of row groups; a file of one row group, or of none, is one piece."""
        run, last = list[int](), len(self._counts) - 1
        for group in range(len(self._counts)):
            run.append(group)
            rows = sum(self._counts[one] for one in run)
            if rows >= PIECE_ROWS or group == last:
                piece = copy(self)  # opening the file again would read its footer once for each piece
                piece._groups, piece.rows = run, rows
                yield piece, rows / (self.rows or 1)
                run = []
        if last < 0:
            yield self, 1.0
