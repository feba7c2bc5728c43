"""The data sets of Amin et al.: raw units divided by the largest norm, or columns in [0, 1] first.

The papers do not say which. Only in raw units do three of their remarks come out: AD beats G with δ = 10⁻³ at small ε on all
three sets, the two ways of splitting the budget hardly differ, and KT is furthest behind on adult. Both are run. Wine has 13
columns; the first paper counts the class, too. Scaling looks at the data: right for experiments, never for a private release.
"""

from __future__ import annotations

import gzip
from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks import datasets
from benchmarks.datasets import Rows
from experiments.data import folder_with

ADULT, AIRFOIL = ("adult.data.gz", "adult.test.gz"), "airfoil_self_noise.csv.gz"
NUMERIC = (0, 2, 4, 10, 11, 12)
UNIT = ", columns in [0, 1]"
NAMES = ("wine", "airfoil", "adult")
ALL_NAMES = (*NAMES, *(name + UNIT for name in NAMES))


@lru_cache(maxsize=2)
def rows_of(name: str, folder: Path | None) -> Rows:
    plain, scaled = name.removesuffix(UNIT), name.endswith(UNIT)
    if plain == "wine":
        return datasets.wine01(None) if scaled else datasets.wine(None)
    if plain == "airfoil":
        where = folder_with(folder, AIRFOIL)
        return datasets.airfoil01(where) if scaled else datasets.airfoil(where)
    where = folder_with(folder, *ADULT)
    return datasets.adult(where) if scaled else _raw_adult(where)


def _raw_adult(folder: Path) -> Rows:
    """Six numeric columns as they are, then 102 one-hot columns; ``?`` is a level like any other."""
    records = []
    for name in ADULT:
        with gzip.open(folder / name, "rt") as lines:
            cells = ([cell.strip() for cell in line.split(",")] for line in lines)
            records += [row[:14] for row in cells if len(row) == 15]
    table = np.array(records)
    columns = [table[:, list(NUMERIC)].astype(np.float64)]
    for j in sorted(set(range(14)) - set(NUMERIC)):
        columns.append((table[:, j, None] == np.unique(table[:, j])).astype(np.float64))
    return datasets.to_unit_ball(np.hstack(columns))
