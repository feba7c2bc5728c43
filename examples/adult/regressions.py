"""Twenty regressions from one private release of the Adult table, each beside the fit that sees the rows.

python examples/adult/regressions.py adult.csv adult-release.json

The release is all that the private models know. The table is public, so that their errors can be measured here; with a table of
your own you would not have them. An error is the mean squared error over the target's variance: predicting the mean has 1.
"""

from __future__ import annotations

import argparse

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dpcov

REGRESSIONS: list[tuple[str, list[str] | None]] = [
    ("age", None),  # None: from all other columns
    ("fnlwgt", None),
    ("education-num", None),
    ("capital-gain", None),
    ("capital-loss", None),
    ("hours-per-week", None),
    ("income=>50K", None),
    ("sex=Female", None),
    ("marital-status=Never-married", None),
    ("workclass=Private", None),
    ("hours-per-week", ["sex", "age", "income"]),
    ("hours-per-week", ["occupation", "workclass"]),
    ("age", ["marital-status", "relationship"]),
    ("age", ["workclass", "income", "hours-per-week"]),
    ("education-num", ["occupation", "income"]),
    ("income=>50K", ["education-num", "age", "hours-per-week"]),
    ("income=>50K", ["marital-status", "sex"]),
    ("income=>50K", ["occupation", "education"]),
    ("relationship=Husband", ["sex", "age", "income"]),
    ("marital-status=Never-married", ["age", "sex"]),
]


def main() -> None:
    """Read the command line, fit the models, print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", help="adult.csv, for the truth")
    parser.add_argument("release", help="what `dpcov release adult.csv --schema adult.toml` wrote")
    arguments = parser.parse_args()
    release, table = dpcov.load(arguments.release), csv.read_csv(arguments.table)
    if release.schema is None or not release.center:
        parser.error("the release must have a schema and a mean: `dpcov release adult.csv --schema adult.toml`")
    errors = []
    print("| target | from | error with the rows | error from the release |\n|---|---|---|---|")
    for target, features in REGRESSIONS:
        model = release.ridge(target, features=features)
        truth = values(table, release.schema, [target.split("=")[0]])[target]
        design = np.column_stack(list(values(table, release.schema, model.columns).values()))
        exact = make_pipeline(StandardScaler(), LinearRegression()).fit(design, truth)  # in raw units it would drop directions
        errors.append([error(truth, exact.predict(design)), error(truth, model.predict(table))])
        given = "all other columns" if features is None else ", ".join(features)
        print(f"| {target} | {given} | {errors[-1][0]:.3f} | {errors[-1][1]:.3f} |")
    print(f"| mean | | {np.mean(errors, axis=0)[0]:.3f} | {np.mean(errors, axis=0)[1]:.3f} |")


def values(table: pa.Table, schema: dpcov.Schema, columns: list[str] | tuple[str, ...]) -> dict[str, NDArray[np.float64]]:
    """Return the features of these columns: numbers as they are, a column of 0 and 1 for each level."""
    found = {}
    for name in columns:
        column, cells = schema.columns[name], table[name].to_numpy()
        if isinstance(column, dpcov.Numeric):
            found[name] = cells.astype(np.float64)
        elif isinstance(column, dpcov.Categorical):
            found |= {f"{name}={level}": (cells == level).astype(np.float64) for level in column.names}
    return found


def error(truth: NDArray[np.float64], predicted: NDArray[np.float64]) -> float:
    """Return the mean squared error divided by the variance."""
    return float(np.mean((truth - predicted) ** 2) / truth.var())


if __name__ == "__main__":
    main()
