"""Files of statistics programs and spreadsheets, read through pandas where that is installed; they must fit into memory.

What a column is must not depend on its cells. Stata, SPSS and SAS declare it, and labelled numbers stay the numbers that they
are. A spreadsheet declares nothing: there every cell is text, as in a CSV file, and what it stands for is decided cell by cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from dpcov.errors import EngineError, raise_alone
from dpcov.sources.csv_file import check_header
from dpcov.sources.places import Place
from dpcov.sources.tables import BATCH_ROWS, Batch, PandasTable, Table, reading

SHEETS = (".xlsx", ".xlsm", ".xls", ".ods")
READERS = (*SHEETS, ".dta", ".sav", ".zsav", ".sas7bdat", ".xpt")


def open_by_pandas(place: Place) -> Table:
    """Read a file whole."""
    if not place.is_local:
        raise EngineError(f"data must be on this machine for this format, got {place.name} behind a URI. Hint: copy it first.")
    ending = place.endings[-1]
    try:
        import pandas

        if ending in SHEETS:
            return SheetTable(_read(place, pandas.read_excel, header=None, dtype=object, keep_default_na=False), place)
        if ending == ".dta":
            return PandasTable(_read(place, pandas.read_stata, convert_categoricals=False, convert_dates=False))
        if ending in (".sav", ".zsav"):
            return PandasTable(_read(place, pandas.read_spss, convert_categoricals=False))
        return PandasTable(_read(place, pandas.read_sas, encoding="infer" if ending == ".sas7bdat" else "latin-1"))
    except ImportError as error:
        package = error.name or (re.findall(r"'(\w+)'|\b(openpyxl|xlrd|odfpy|pyreadstat)\b", str(error)) or [("pandas", "")])[0]
        named = package if isinstance(package, str) else "".join(package)
        raise_alone(
            EngineError(f"package {named} must be installed to read {place.name}, and is not. Hint: pip install {named}.")
        )


def _read(place: Place, read: Any, **options: Any) -> Any:
    """Call a reader of pandas; its messages may quote cells, but for those about packages."""
    missing: ImportError | None = None
    with reading(where=place.name):
        try:
            return read(place.path, **options)
        except ImportError as error:
            missing = error
    assert missing is not None
    raise missing


class SheetTable:
    """The first sheet of a spreadsheet, with a row of names."""

    parsed, decimal = True, "."
    rereadable = ordered = True

    def __init__(self, cells: Any, place: Place) -> None:
        if len(cells) == 0:
            raise EngineError(
                f"data must have a first row of column names, got {place.name}, which is empty. Hint: check the first sheet."
            )
        self._place = place
        self.names = [_text(cell) or "" for cell in cells.iloc[0]]
        self._columns = [[_text(cell) for cell in cells.iloc[1:, j]] for j in range(len(self.names))]
        self.types: list[Any] = [pa.large_binary()] * len(self.names)
        self.rows: int | None = len(cells) - 1

    def check_names(self) -> None:
        """Refuse a first row that holds numbers or blanks."""
        check_header(self.names, self._place.name)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[tuple[Batch, float | None]]:
        """Yield slices of the sheet."""
        total, step = self.rows or 0, min(rows, BATCH_ROWS)
        for start in range(0, total, step):
            cells = [self._columns[self.names.index(name)][start : start + step] for name in columns]
            arrays = [pa.array([None if one is None else one.encode("utf-8", "replace") for one in each]) for each in cells]
            yield (
                pa.record_batch([array.cast(pa.large_binary()) for array in arrays], names=list(columns)),
                (min(start + step, total) / total),
            )


def _text(cell: Any) -> str | None:
    """Return what a cell would be in a CSV file; a date is no number and no level, so it is missing."""
    if isinstance(cell, bool | np.bool_ | str):
        return str(cell)
    if isinstance(cell, int | float | np.integer | np.floating):
        return None if cell != cell else repr(cell.item() if isinstance(cell, np.generic) else cell)
    return None
