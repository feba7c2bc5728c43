"""Tables that commands write: CSV text as `dpcov release` reads it, and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from dpcov.release.record import Release

LINES = 2**14  # at a time


def table_of(release: Release, rows: Any) -> Any:
    """Return rows as an Arrow table with the names of the release."""
    if not isinstance(rows, np.ndarray):
        return rows
    return pa.table({name: rows[:, j] for j, name in enumerate(release.feature_names)})


def column_table(name: str, cells: Any) -> Any:
    """Return an Arrow table of one column."""
    return pa.table({name: cells})


def csv_text(table: Any) -> Iterator[str]:
    """Yield a CSV in pieces: quotes only where they are needed, numbers with all digits, true and false in small letters."""
    yield _lines([table.column_names])
    for batch in table.to_batches(LINES):
        columns = [_cells(column) for column in batch.columns]
        yield _lines(zip(*columns, strict=True))


def _cells(column: Any) -> list[Any]:
    cells = column.to_pylist()
    return [str(cell).lower() for cell in cells] if pa.types.is_boolean(column.type) else cells


def _lines(rows: Any) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def parquet_bytes(table: Any) -> bytes:
    """Return a Parquet file."""
    import pyarrow.parquet as pq

    target = io.BytesIO()
    pq.write_table(table, target)
    return target.getvalue()
