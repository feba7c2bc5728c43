"""Make up a survey: 4000 people, ten columns, for docs/tutorial.md.

python examples/survey/table.py survey.csv

No real person is in it. The law of the rows is in `survey`, so that the truth can stand beside what a private release says:

- income = −22 + 2.4·education + 0.25·age + 0.5·hours + 4 for men + noise of deviation 10, in thousands a year
- rent = 3 + 0.18·income + 4 in the city + noise of deviation 3, in hundreds a month
- satisfaction = 7.5 − 0.02·commute + 0.15·sport + noise of deviation 1.6, from 0 to 10
- sport and sex depend on nothing
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

ROWS, SEED = 4000, 7
REGIONS = ("city", "suburbs", "country")


def survey(rows: int = ROWS, seed: int = SEED) -> pa.Table:
    """Return the table."""
    random = np.random.default_rng(seed)
    age = np.clip(np.round(random.normal(44, 13, rows)), 18, 75)
    male = random.integers(0, 2, rows)
    region = random.choice(3, rows, p=[0.4, 0.35, 0.25])
    education = np.clip(np.round(random.normal(13.5 - 0.03 * (age - 44), 2.5)), 8, 21)
    hours = np.clip(np.round(random.normal(36, 7, rows)), 5, 60)
    commute = np.clip(np.round(random.gamma(4, np.array([5, 9, 11])[region])), 0, 120)
    sport = np.clip(np.round(random.normal(4, 2, rows), 1), 0, 15)
    income = np.clip(np.round(-22 + 2.4 * education + 0.25 * age + 0.5 * hours + 4 * male + random.normal(0, 10, rows), 1), 0, 120)
    rent = np.clip(np.round(3 + 0.18 * income + 4 * (region == 0) + random.normal(0, 3, rows), 1), 0, 40)
    satisfaction = np.clip(np.round(7.5 - 0.02 * commute + 0.15 * sport + random.normal(0, 1.6, rows)), 0, 10)
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
