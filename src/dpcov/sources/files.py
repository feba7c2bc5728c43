"""Parquet and CSV files, streamed in bounded memory.

Names and types come from the file's header, the number of rows of a Parquet file from its footer. Messages never quote a cell.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from dpcov.errors import EngineError, ParameterError
from dpcov.paths import checked_path
from dpcov.sources.tables import Batch, Table, raise_alone, reading

PARQUET_ROWS = 2**14  # at most, at a time
BUFFER = 2**16  # bytes of a column read at a time; else Arrow holds whole row groups in memory
CSV_BLOCK = 2**22  # bytes of text at a time; a single line may not be longer

SEPARATORS = {".csv": ",", ".tsv": "\t"}
OTHER_SEPARATORS = {",": ";\t|", "\t": ";|"}
LINES = "check that the file is whole and in UTF-8, and that each line has as many cells as the first"
COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}


def open_file(path: str | os.PathLike[str]) -> Table:
    """Open a table by the ending of its name."""
    checked = checked_path(path)
    try:
        found = checked.is_file()
        what = "a directory" if checked.is_dir() else "no such file"
    except OSError as error:  # a name too long, a folder that may not be entered
        found, what = False, str(error.strerror)
    if not found:
        raise EngineError(f"data must be a file, got {str(checked)!r} ({what}). Hint: check the path.")
    suffixes = [suffix.lower() for suffix in checked.suffixes]
    plain = suffixes[:-1] if suffixes and suffixes[-1] in COMPRESSED else suffixes
    if suffixes and suffixes[-1] in (".parquet", ".pq"):
        return ParquetTable(checked)
    if plain and plain[-1] in SEPARATORS:
        return CsvTable(checked, SEPARATORS[plain[-1]], COMPRESSED.get(suffixes[-1]))
    raise ParameterError(
        f"data must end in .parquet, .csv or .tsv (also .gz, .bz2, .zst), got {checked.name!r}. "
        f"Hint: rename or convert the file."
    )


class ParquetTable:
    """A Parquet file, read a few thousand rows at a time."""

    parsed = False
    rereadable = ordered = True

    def __init__(self, path: Path) -> None:
        self._path = path
        file = self._open()
        self.names, self.types = list(file.schema_arrow.names), list(file.schema_arrow.types)
        self.rows: int | None = file.metadata.num_rows

    def _open(self) -> Any:
        import pyarrow.parquet as pq

        try:
            return pq.ParquetFile(self._path, pre_buffer=False, buffer_size=BUFFER)
        except (pa.ArrowException, OSError, ValueError):
            raise_alone(
                EngineError(
                    f"data must be a complete Parquet file, got {self._path.name!r}, which is not. Hint: copy it again."
                )
            )

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[tuple[Batch, float | None]]:
        """Decode the columns in batches."""
        done, total = 0, self.rows or 1
        file = self._open()
        with reading():
            for batch in file.iter_batches(batch_size=min(rows, PARQUET_ROWS), columns=list(columns), use_threads=False):
                done += len(batch)
                yield batch.select(list(columns)), done / total


class CsvTable:
    """A CSV file with a line of names: every cell is text, and what it stands for is decided cell by cell."""

    parsed = True
    rereadable = ordered = True
    rows = None

    def __init__(self, path: Path, separator: str, compression: str | None) -> None:
        self._path, self._separator, self._compression = path, separator, compression
        if path.stat().st_size == 0:
            raise EngineError(
                f"data must have a first line of column names, got {path.name!r}, which is empty. Hint: check the file."
            )
        with reading(LINES):
            self.names = list(self._reader([])[0].schema.names)
        if len(self.names) == 1 and any(other in self.names[0] for other in OTHER_SEPARATORS[separator]):
            kind = "tabs" if separator == "\t" else "commas"
            raise ParameterError(
                f"data must have {kind} between columns, got {path.name!r} with another separator in its first line. "
                f"Hint: export the file again; .csv means commas, .tsv means tabs."
            )
        self.types: list[Any] = [pa.large_binary()] * len(self.names)

    def check_names(self) -> None:
        """Refuse a first line that holds numbers or blanks: it would be a person's row, and names are published."""
        if any(re.fullmatch(r"\s*[-+]?[0-9.]+([eE][-+]?[0-9]+)?\s*|\s*", name) for name in self.names):
            raise ParameterError(
                f"data must have a first line of column names, got {self._path.name!r} with numbers or blanks there. "
                f"Hint: add a line of names; else the release would publish a person's row as names."
            )

    def _reader(self, columns: Sequence[str]) -> tuple[Any, Any]:
        """Open the file; the second result tells how far its bytes were read."""
        from pyarrow import csv

        raw = pa.OSFile(str(self._path), "rb")
        stream = pa.CompressedInputStream(raw, self._compression) if self._compression else raw
        reader = csv.open_csv(
            stream,
            read_options=csv.ReadOptions(use_threads=False, block_size=CSV_BLOCK),
            parse_options=csv.ParseOptions(
                delimiter=self._separator,
                newlines_in_values=True,
                ignore_empty_lines=len(columns) == 0 or len(self.names) > 1,  # of one column, a blank line is a blank cell
            ),
            # Bytes, so that no cell is refused for its encoding; no cell is taken for null by its spelling.
            convert_options=csv.ConvertOptions(
                column_types=dict.fromkeys(columns, pa.large_binary()),
                include_columns=list(columns) or None,
                null_values=[],
                strings_can_be_null=False,
            ),
        )
        return reader, raw

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[tuple[Batch, float | None]]:  # noqa: ARG002
        """Parse the file in blocks of text."""
        with reading(LINES):
            size = self._path.stat().st_size or 1
            reader, raw = self._reader(columns)
            for batch in reader:
                yield batch.select(list(columns)), min(raw.tell() / size, 1.0)
