"""CSV files, streamed in bounded memory: every cell is text, and what it stands for is decided cell by cell."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from dpcov.errors import EngineError, ParameterError
from dpcov.sources.csv_cuts import cuts
from dpcov.sources.csv_text import UTF_8, in_utf_8, is_utf_8, keeps_ascii
from dpcov.sources.pieces import Piece, packed
from dpcov.sources.places import Place
from dpcov.sources.tables import Batch, reading

CSV_BLOCK = 2**22  # bytes of text at a time; a single line may not be longer
CSV_PIECE = 2**23  # bytes of text, at least, for another process at a time

OTHER_SEPARATORS = {",": ";\t|", "\t": ";|"}  # of those that a name says; one that a person says is believed
LINES = (
    "check that the file is whole and in UTF-8, and that each line has as many cells as the first; "
    "dpcov.Csv takes another separator or encoding"
)
MARK = codecs.BOM_UTF8


def check_header(names: Sequence[str], where: str) -> None:
    """Refuse names that are numbers or blanks: the first line would be a person's row, and names are published."""
    if any(re.fullmatch(r"\s*[-+]?[0-9.,]+([eE][-+]?[0-9]+)?\s*|\s*", name) for name in names):
        raise ParameterError(
            f"data must have a first line of column names, got {where} with numbers or blanks there. "
            f"Hint: add a line of names; else the release would publish a person's row as names."
        )


class CsvTable:
    """A CSV file with a line of names, or the records between two of its bytes."""

    parsed = True
    rereadable = ordered = True
    rows = None

    def __init__(
        self, place: Place, separator: str, compression: str | None, decimal: str = ".", encoding: str = UTF_8
    ) -> None:
        self._place, self._separator, self._compression = place, separator, compression
        self.decimal, self._encoding = decimal, encoding
        self._bounds: tuple[int, int] | None = None
        with reading(LINES, place.name):
            empty = place.size() == 0
        if empty:
            raise EngineError(
                f"data must have a first line of column names, got {place.name}, which is empty. Hint: check the file."
            )
        with reading(LINES, place.name):
            self.names = list(self._reader([])[0].schema.names)
        if len(self.names) == 1 and any(other in self.names[0] for other in OTHER_SEPARATORS.get(separator, "")):
            kind = "tabs" if separator == "\t" else "commas"
            raise ParameterError(
                f"data must have {kind} between columns, got {place.name} with another separator in its first line. "
                f"Hint: dpcov.Csv(path, separator=';') says what separates them."
            )
        self.types: list[Any] = [pa.large_binary()] * len(self.names)

    def check_names(self) -> None:
        """Refuse a first line that holds numbers or blanks."""
        check_header(self.names, self._place.name)

    def _reader(self, columns: Sequence[str]) -> tuple[Any, Any]:
        """Open the file; the second result tells how far its bytes were read."""
        from pyarrow import csv

        raw = self._place.stream()
        stream = pa.CompressedInputStream(raw, self._compression) if self._compression else raw
        if self._bounds is not None:
            first, end = self._bounds
            stream = raw.get_stream(first, end - first)
        if not is_utf_8(self._encoding):
            stream = pa.PythonFile(in_utf_8(stream, self._encoding), mode="r")
        reader = csv.open_csv(
            stream,
            read_options=csv.ReadOptions(
                use_threads=False,
                block_size=CSV_BLOCK,
                column_names=self.names if self._bounds is not None and self._bounds[0] > 0 else None,
            ),
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
        with reading(LINES, self._place.name):
            size = self._place.size() or 1
            reader, raw = self._reader(columns)
            for batch in reader:
                yield batch.select(list(columns)), min(raw.tell() / size, 1.0)

    def pieces(self, columns: Sequence[str]) -> Iterator[Piece]:
        """Yield runs of records by where they stand in the file; of one that cannot be cut, cells that were read here."""
        if self._compression is not None or not keeps_ascii(self._encoding) or not self._place.is_local:
            yield from packed(self, columns)
            return
        with reading(LINES, self._place.name):
            size, start = self._place.size(), 0
            for end in self._cuts():
                if end - start >= CSV_PIECE and not self._has_mark(end):
                    yield self._between(start, end), (end - start) / size
                    start = end
            if start < size:
                yield self._between(start, size), (size - start) / size

    def _cuts(self) -> Iterator[int]:
        with self._place.stream() as file:
            marked = file.read(len(MARK)) == MARK
            file.seek(len(MARK) if marked else 0)
            chunks = iter(lambda: file.read(CSV_BLOCK), b"")
            yield from (len(MARK) * marked + cut for cut in cuts(chunks, self._separator))

    def _has_mark(self, start: int) -> bool:
        """Whether a record begins with what the reader would take for the mark of a file, and leave out."""
        with self._place.stream() as file:
            file.seek(start)
            return bool(file.read(len(MARK)) == MARK)

    def _between(self, start: int, end: int) -> CsvTable:
        """Return the records between two bytes; those at the beginning come after the names."""
        piece = object.__new__(CsvTable)
        piece.__dict__ |= self.__dict__ | {"_bounds": (start, end)}
        return piece
