"""Files by their names: which format they are in, one file or many.

Names and types come from headers, before a row is read. Messages never quote a cell.
"""

from __future__ import annotations

import os

from dpcov.errors import EngineError, ParameterError
from dpcov.sources.csv_file import CsvTable
from dpcov.sources.csv_text import Csv
from dpcov.sources.many import ManyFiles, WithKeys
from dpcov.sources.parquet import ParquetTable
from dpcov.sources.places import Place, find, is_remote
from dpcov.sources.tables import Table
from dpcov.sources.through_pandas import READERS, open_by_pandas

SEPARATORS = {".csv": ",", ".tsv": "\t"}
COMPRESSED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
PARQUET = (".parquet", ".pq")
ENDINGS = (*PARQUET, *SEPARATORS, *(text + packed for text in SEPARATORS for packed in COMPRESSED), *READERS)


def open_file(path: str | os.PathLike[str], only: tuple[str, ...] = ()) -> Table:
    """Open a table by the ending of its name, or as it is said to be written; of a folder or a pattern all files together.

    ``only`` are the endings that others are refused for.
    """
    how = path if isinstance(path, Csv) else None
    places = find(path, ENDINGS)
    for place in places if only else ():
        if not place.path.lower().endswith(only):
            raise ParameterError(
                f"data must be files that end in {' or '.join(only)} here, got {place.name}. "
                f"Hint: 'data/*.parquet' names those of one kind."
            )
    tables = [_open(place, how) for place in places]
    if len({type(table) for table in tables}) > 1:
        raise ParameterError(
            "data must be files of one kind, got several kinds. Hint: 'data/*.parquet' names those of one kind."
        )
    keyed = [WithKeys(table, place) if place.keys else table for table, place in zip(tables, places, strict=True)]
    return keyed[0] if len(places) == 1 else ManyFiles(keyed, places)


def _open(place: Place, how: Csv | None) -> Table:
    endings = place.endings
    last = endings[-1] if endings else ""
    name = place.name
    if last in PARQUET or last in READERS:
        if how is not None:
            kind = "a Parquet file" if last in PARQUET else "such a file"
            raise ParameterError(f"data must be a CSV file, got {name}. Hint: {kind} has no separator.")
        return ParquetTable(place) if last in PARQUET else open_by_pandas(place)
    plain = endings[:-1] if last in COMPRESSED else endings
    usual = SEPARATORS.get(plain[-1]) if plain else None
    how = how or Csv(place.path)
    if usual is not None or how.separator is not None:
        return CsvTable(place, how.separator or usual or ",", COMPRESSED.get(last), how.decimal, how.encoding)
    raise ParameterError(
        f"data must end in .parquet, .csv or .tsv (also .gz, .bz2, .zst), .npy, .xlsx, .dta, .sav or .sas7bdat, got {name}. "
        f"Hint: rename or convert the file."
    )


def local_files(data: object) -> list[str]:
    """Return the files on this machine that data are read from, where they are files: a release must overwrite none of them."""
    if not isinstance(data, str | os.PathLike) or is_remote(os.fspath(data)):
        return []
    try:
        return [place.path for place in find(data, ENDINGS)]
    except (EngineError, ParameterError):  # told where the data are opened
        return []
