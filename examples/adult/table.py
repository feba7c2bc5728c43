"""Write the Adult census table (UCI, 1996; 48 842 people) as one CSV or Parquet file with a line of names.

python examples/adult/table.py adult.csv               fetched from OpenML
python examples/adult/table.py --data DIR adult.csv    from UCI's adult.data and adult.test in DIR (.gz too)
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import csv, parquet

NUMERIC = {"age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"}
NAMES = [
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"),
    *("race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income"),
]


def main() -> None:
    """Read the command line, write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="adult.csv or adult.parquet")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with UCI's adult.data and adult.test")
    arguments = parser.parse_args()
    if arguments.output.suffix not in (".csv", ".parquet"):
        parser.error("the output must end in .csv or .parquet")
    table = fetched() if arguments.data is None else original(arguments.data)
    if arguments.output.suffix == ".csv":
        csv.write_csv(table, arguments.output)
    else:
        parquet.write_table(table, arguments.output)
    print(f"{arguments.output}: {table.num_rows} rows, {table.num_columns} columns")


def original(folder: Path) -> pa.Table:
    """Return the table from the two files that UCI publishes."""
    rows = [row for name in ("adult.data", "adult.test") for row in records(folder, name)]
    return table_of(list(zip(*rows, strict=True)))


def records(folder: Path, name: str) -> list[list[str]]:
    """Return the cells of a file; the comment and the empty lines of the originals do not have 15 of them."""
    plain, packed = folder / name, folder / f"{name}.gz"
    if not plain.is_file() and not packed.is_file():
        raise SystemExit(
            f"{folder} has neither {plain.name} nor {packed.name}: they are at https://archive.ics.uci.edu/dataset/2"
        )
    text = plain.read_text() if plain.is_file() else gzip.decompress(packed.read_bytes()).decode()
    rows = ([cell.strip() for cell in line.split(",")] for line in text.splitlines())
    return [[*row[:-1], row[-1].removesuffix(".")] for row in rows if len(row) == len(NAMES)]


def fetched() -> pa.Table:
    """Return the same table from OpenML (needs pandas and the network); there an unknown cell is missing instead of "?"."""
    from sklearn.datasets import fetch_openml

    try:
        frame = fetch_openml("adult", version=2, as_frame=True).frame.rename(columns={"class": "income"})
    except OSError as error:  # no network, or nobody answers
        raise SystemExit(f"OpenML cannot be reached ({error}): give --data DIR with UCI's adult.data and adult.test") from None
    return table_of([frame[name].astype(object).where(frame[name].notna(), "?").tolist() for name in NAMES])


def table_of(columns: Sequence[Sequence[object]]) -> pa.Table:
    """Give the columns their names and types."""
    arrays = {
        name: pa.array([int(float(str(cell))) for cell in cells], pa.int64())
        if name in NUMERIC
        else pa.array([str(cell).strip() for cell in cells], pa.string())
        for name, cells in zip(NAMES, columns, strict=True)
    }
    return pa.table(arrays)


if __name__ == "__main__":
    main()
