"""Make up a survey: 4000 people, ten columns, for docs/tutorial.md.

python examples/survey/table.py survey.csv

No real person is in it. The law of the rows is in `survey`, so that the truth can stand beside what a private release says:

- income = −22 + 2.4·education + 0.25·age + 0.5·hours + 4 for men + noise of deviation 10, in thousands a year
- rent = 3 + 0.18·income + 4 in the city + noise of deviation 3, in hundreds a month
- satisfaction = 7.5 − 0.02·commute + 0.15·sport + noise of deviation 1.6, from 0 to 10
- sport and sex depend on nothing

All are rounded, and kept within what people have.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

Floats = NDArray[np.float64]

ROWS, SEED = 4000, 7
REGIONS = ("city", "suburbs", "country")


def survey(rows: int = ROWS, seed: int = SEED) -> pa.Table:
    """Return the table."""
    random = np.random.default_rng(seed)
    age = within(18, 75, random.normal(44, 13, rows))
    male = random.integers(0, 2, rows)
    region = random.choice(3, rows, p=[0.4, 0.35, 0.25])
    education = within(8, 21, random.normal(13.5 - 0.03 * (age - 44), 2.5))
    hours = within(5, 60, random.normal(36, 7, rows))
    commute = within(0, 120, random.gamma(4, np.array([5, 9, 11])[region]))
    sport = within(0, 15, random.normal(4, 2, rows), 1)
    income = within(0, 120, -22 + 2.4 * education + 0.25 * age + 0.5 * hours + 4 * male + random.normal(0, 10, rows), 1)
    rent = within(0, 40, 3 + 0.18 * income + 4 * (region == 0) + random.normal(0, 3, rows), 1)
    satisfaction = within(0, 10, 7.5 - 0.02 * commute + 0.15 * sport + random.normal(0, 1.6, rows))
    return pa.table(
        {
            "age": age.astype(int),
            "sex": np.array(["female", "male"])[male],
            "region": np.array(REGIONS)[region],
            "education": education.astype(int),
            "hours": hours.astype(int),
            "commute": commute.astype(int),
            "sport": sport,
            "income": income,
            "rent": rent,
            "satisfaction": satisfaction.astype(int),
        }
    )


def within(least: float, most: float, values: Floats, decimals: int = 0) -> Floats:
    """Return values as they are written down: rounded, and no further out than people are."""
    return np.clip(np.round(values, decimals), least, most)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="survey.csv")
    given = parser.parse_args(arguments)
    table = survey()
    csv.write_csv(table, given.output)
    print(f"{given.output}: {table.num_rows} people, {table.num_columns} columns")


if __name__ == "__main__":
    main()
