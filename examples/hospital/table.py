"""Make up a table of hospital stays: 8000 rows, 31 columns, one stay of each patient, so that a row is a person.

python examples/hospital/table.py stays.parquet
python examples/hospital/table.py stays.csv

No real person is in it, and the law of the rows is known, so that the truth can stand beside what a private release says:

1. Eight independent traits of a patient, all of mean 0 and variance 1: normal, but for ``male``, which is 1 or −1.
2. A quantity has the score z = loadings · traits + noise, where normal noise completes its variance to 1. The cell increases
   with z: μ + σz, median·exp(σz), or 100 − median·exp(−σz), kept within limits of nature, then rounded. So scores have the
   correlation Σ loading·loading, and so have cells of the first kind, but for limits and rounding.
3. A category is drawn with probabilities in proportion to weight · exp(pulls · traits). Most diagnoses have a home ward, whose
   weight they multiply by e³.
4. The day of admission depends on nothing.
5. Cells go missing by panels, which are measured together, at rates that depend on the ward alone: 6 % to 40 % of a column.
   So observed cells are not quite like all cells: lactate is measured where patients are worse. `truth` tells both.

Of CRP about 0.2 % of the cells lie above the bound of hospital.toml, of any other column at most 0.1 % outside of theirs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv, parquet

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Cells = dict[str, NDArray[Any]]
"""Quantities as floats, categories as positions in their lists of levels."""

ROWS = 8000
SEED = 19
LAST_DAY = 365  # days are counted from 1 on 1 January
TRAITS = ("age", "male", "severity", "inflammation", "kidney", "metabolic", "pressure", "duration")
HOME_PULL = 3.0  # log-odds of the home ward of a diagnosis: a third to nine tenths of its patients lie there
TRUTH_ROWS, TRUTH_SEED, BLOCK = 1_000_000, 1_000_019, 25_000


def normal(mean: float, deviation: float) -> Callable[[Floats], Floats]:
    """Return μ + σz."""
    return lambda score: mean + deviation * score


def lognormal(median: float, sigma: float) -> Callable[[Floats], Floats]:
    """Return median·exp(σz)."""
    return lambda score: median * np.exp(sigma * score)


def below_100(median: float, sigma: float) -> Callable[[Floats], Floats]:
    """Return 100 − median·exp(−σz): a percentage that is nearly always nearly 100."""
    return lambda score: 100.0 - median * np.exp(-sigma * score)


@dataclass(frozen=True)
class Quantity:
    """A numeric column: its shape, the limits of nature, decimals, and the loadings of its score on the traits."""

    shape: Callable[[Floats], Floats]
    least: float
    most: float
    decimals: int
    loadings: dict[str, float]

    def cells(self, traits: Floats, noise: Floats) -> Floats:
        """Return what is written into the table."""
        loadings = along_traits(self.loadings)
        score = traits @ loadings + np.sqrt(1.0 - loadings @ loadings) * noise
        return np.asarray(np.round(np.clip(self.shape(score), self.least, self.most), self.decimals), dtype=np.float64)


def along_traits(named: dict[str, float]) -> Floats:
    """Return a number for each trait, 0 for those that are not named."""
    return np.array([named.get(trait, 0.0) for trait in TRAITS])


QUANTITIES = {
    "length_of_stay": Quantity(  # days
        lognormal(4.6, 0.85), 0, 1000, 0, {"duration": 0.75, "severity": 0.40, "age": 0.20, "inflammation": 0.15}
    ),
    "age": Quantity(normal(60, 18), 18, 105, 0, {"age": 1.0}),  # years
    "height": Quantity(normal(170, 9.8), 100, 230, 0, {"male": 0.68, "age": -0.18}),  # cm
    "weight": Quantity(lognormal(76, 0.22), 25, 350, 0, {"metabolic": 0.55, "male": 0.35, "age": -0.10}),  # kg
    "systolic": Quantity(  # mmHg
        normal(132, 20), 30, 300, 0, {"pressure": 0.70, "age": 0.35, "severity": -0.25, "metabolic": 0.15}
    ),
    "diastolic": Quantity(normal(76, 12), 10, 200, 0, {"pressure": 0.65, "severity": -0.20, "age": -0.10}),  # mmHg
    "heart_rate": Quantity(  # a minute
        lognormal(82, 0.19), 10, 300, 0, {"severity": 0.35, "inflammation": 0.35, "age": -0.10, "pressure": -0.10}
    ),
    "temperature": Quantity(normal(36.9, 0.65), 28, 44, 1, {"inflammation": 0.60, "severity": 0.10}),  # °C
    "respiratory_rate": Quantity(lognormal(17, 0.22), 3, 80, 0, {"severity": 0.50, "inflammation": 0.30}),  # a minute
    "oxygen_saturation": Quantity(  # %
        below_100(3.5, 0.60), 30, 100, 0, {"severity": -0.50, "inflammation": -0.25, "age": -0.15}
    ),
    "sodium": Quantity(normal(138.5, 4.5), 90, 200, 0, {"severity": -0.15, "age": -0.12, "kidney": -0.10}),  # mmol/L
    "potassium": Quantity(normal(4.1, 0.5), 1, 10, 1, {"kidney": 0.40, "severity": 0.10}),  # mmol/L
    "creatinine": Quantity(lognormal(82, 0.42), 5, 3000, 0, {"kidney": 0.75, "age": 0.30, "male": 0.30}),  # µmol/L
    "haemoglobin": Quantity(  # g/dL
        normal(12.6, 2.1), 2, 25, 1, {"male": 0.35, "age": -0.30, "kidney": -0.25, "severity": -0.25, "inflammation": -0.15}
    ),
    "leucocytes": Quantity(lognormal(8.2, 0.40), 0, 300, 1, {"inflammation": 0.55, "severity": 0.15}),  # 10⁹/L
    "crp": Quantity(lognormal(12, 1.30), 0, 1000, 1, {"inflammation": 0.80, "severity": 0.25}),  # C-reactive protein, mg/L
    "glucose": Quantity(lognormal(6.3, 0.30), 0.5, 80, 1, {"metabolic": 0.65, "severity": 0.20, "age": 0.15}),  # mmol/L
    "lactate": Quantity(lognormal(1.4, 0.55), 0.2, 40, 1, {"severity": 0.65, "inflammation": 0.15}),  # mmol/L
    "albumin": Quantity(normal(37, 6), 5, 70, 0, {"inflammation": -0.50, "severity": -0.30, "age": -0.25}),  # g/L
    "cost": Quantity(  # euros
        lognormal(5200, 1.05), 0, 2_000_000, 0, {"duration": 0.65, "severity": 0.55, "age": 0.10, "kidney": 0.10}
    ),
}

# Each level with its weight before traits act, and their pulls.
CATEGORIES: dict[str, dict[str, tuple[float, dict[str, float]]]] = {
    "icd_chapter": {
        "I infections": (4, {"inflammation": 1.2}),
        "II neoplasms": (11, {"age": 0.4}),
        "III blood": (1, {}),
        "IV endocrine": (4, {"metabolic": 0.8}),
        "V mental": (6, {"age": -0.5}),
        "VI nervous": (5, {}),
        "VII eye": (2, {"severity": -0.8}),
        "VIII ear": (1, {"severity": -0.8}),
        "IX circulatory": (14, {"age": 0.8, "pressure": 0.4, "male": 0.2}),
        "X respiratory": (7, {"inflammation": 0.8, "severity": 0.4}),
        "XI digestive": (11, {"inflammation": 0.2}),
        "XII skin": (2, {"inflammation": 0.5}),
        "XIII musculoskeletal": (9, {"severity": -0.6, "inflammation": -0.4}),
        "XIV genitourinary": (6, {"kidney": 0.8}),
        "XV pregnancy": (0.08, {"male": -4.0, "age": -1.8, "severity": -0.4}),
        "XVII congenital": (0.5, {"age": -0.6}),
        "XVIII symptoms": (6, {}),
        "XIX injury": (10, {"duration": 0.2}),
        "XX external causes": (0.5, {}),
        "XXI health services": (3, {"severity": -0.5}),
    },
    "ward": {
        "medicine": (10, {"inflammation": 0.3}),
        "surgery": (8, {}),
        "cardiology": (2, {}),
        "neurology": (1.5, {}),
        "oncology": (1, {}),
        "orthopaedics": (2, {"severity": -0.3}),
        "maternity": (0.1, {"male": -3.0}),
        "psychiatry": (1, {"age": -0.3}),
        "geriatrics": (3, {"age": 1.5}),
        "intensive care": (2, {"severity": 1.5}),
    },
    "admission_kind": {
        "elective": (40, {"severity": -0.6}),
        "emergency": (45, {"severity": 0.4}),
        "transfer": (8, {"severity": 0.6, "duration": 0.3}),
        "day case": (7, {"duration": -1.0}),
    },
    "insurance": {"public": (78, {}), "private": (16, {"age": 0.2}), "none": (3, {"age": -0.6}), "other": (3, {})},
    "smoking": {
        "never": (50, {"male": -0.3}),
        "former": (28, {"age": 0.4}),
        "current": (22, {"age": -0.4, "metabolic": -0.1}),
    },
    "diabetes": {"no": (82, {}), "yes": (18, {"metabolic": 1.3, "age": 0.5})},
    "readmission": {"no": (88, {}), "yes": (12, {"severity": 0.6, "age": 0.3, "duration": 0.3})},
}
LEVELS = {"sex": ["female", "male"]} | {name: list(levels) for name, levels in CATEGORIES.items()}

HOME_WARDS = {
    "I infections": "medicine",
    "II neoplasms": "oncology",
    "IV endocrine": "medicine",
    "V mental": "psychiatry",
    "VI nervous": "neurology",
    "VII eye": "surgery",
    "IX circulatory": "cardiology",
    "X respiratory": "medicine",
    "XI digestive": "surgery",
    "XIII musculoskeletal": "orthopaedics",
    "XV pregnancy": "maternity",
    "XIX injury": "orthopaedics",
}

# Columns that are measured together, how often they are not, and wards where that differs.
PANELS: list[tuple[tuple[str, ...], float, dict[str, float]]] = [
    (("height",), 0.25, {"intensive care": 0.50, "maternity": 0.05}),
    (("weight",), 0.12, {"intensive care": 0.30, "maternity": 0.03}),
    (("systolic", "diastolic", "heart_rate"), 0.06, {"psychiatry": 0.15, "intensive care": 0.01}),
    (("temperature",), 0.08, {"psychiatry": 0.30, "intensive care": 0.01}),
    (("respiratory_rate",), 0.30, {"psychiatry": 0.60, "intensive care": 0.01}),
    (("oxygen_saturation",), 0.12, {"psychiatry": 0.45, "intensive care": 0.01}),
    (("sodium", "potassium", "creatinine"), 0.08, {"psychiatry": 0.30, "maternity": 0.35, "intensive care": 0.01}),
    (("haemoglobin", "leucocytes"), 0.07, {"psychiatry": 0.30, "intensive care": 0.01}),
    (("crp",), 0.18, {"psychiatry": 0.55, "maternity": 0.40, "intensive care": 0.02}),
    (("glucose",), 0.20, {"psychiatry": 0.40, "intensive care": 0.02}),
    (("lactate",), 0.40, {"psychiatry": 0.80, "maternity": 0.70, "intensive care": 0.02}),
    (("albumin",), 0.38, {"oncology": 0.15, "geriatrics": 0.15, "intensive care": 0.10}),
    (("smoking",), 0.15, {"intensive care": 0.35}),
]

COLUMNS = [
    *("stay_id", "patient_id", "admission_day", "length_of_stay", "age", "sex", "insurance", "ward", "icd_chapter"),
    *("admission_kind", "smoking", "diabetes", "readmission", "height", "weight", "systolic", "diastolic", "heart_rate"),
    *("temperature", "respiratory_rate", "oxygen_saturation", "sodium", "potassium", "creatinine", "haemoglobin"),
    *("leucocytes", "crp", "glucose", "lactate", "albumin", "cost"),
]
IDENTIFIERS = COLUMNS[:2]


@dataclass(frozen=True, eq=False)
class Moments:
    """Means, deviations and correlations; a level counts 0 or 1.

    Attributes
    ----------
    feature_names : tuple of str
        Columns, and ``column=level`` where they have levels.
    observed : array
        The share of cells that the figures are from.
    mean, deviation : array
        Of the cells that are there.
    correlation : array
        Of each pair, where both cells are there.
    """

    feature_names: tuple[str, ...]
    observed: Floats
    mean: Floats
    deviation: Floats
    correlation: Floats

    @property
    def covariance(self) -> Floats:
        """Correlations times deviations."""
        return self.correlation * np.outer(self.deviation, self.deviation)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="stays.csv or stays.parquet")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args(arguments)
    if given.output.suffix not in (".csv", ".parquet"):
        parser.error("the output must end in .csv or .parquet")
    table = hospital(given.rows, given.seed)
    if given.output.suffix == ".csv":
        csv.write_csv(table, given.output)
    else:
        parquet.write_table(table, given.output)
    print(f"{given.output}: {table.num_rows} rows, {table.num_columns} columns")


def hospital(rows: int = ROWS, seed: int = SEED) -> pa.Table:
    """Return the table, a pyarrow.Table: whole numbers, decimals and text, null where a cell is missing."""
    random = np.random.default_rng(seed)
    cells, missing = draw(rows, random)
    columns = {
        "stay_id": pa.array([f"S{number:07}" for number in range(1, rows + 1)]),
        "patient_id": pa.array([f"P{number:07}" for number in random.permutation(rows) + 1]),
    }
    for name in COLUMNS[len(IDENTIFIERS) :]:
        if name in LEVELS:
            column = np.array(LEVELS[name])[cells[name]]
        elif name in QUANTITIES and QUANTITIES[name].decimals > 0:
            column = cells[name]
        else:
            column = cells[name].astype(np.int64)
        columns[name] = pa.array(column, mask=missing.get(name))
    return pa.table({name: columns[name] for name in COLUMNS})


def draw(rows: int, random: np.random.Generator) -> tuple[Cells, dict[str, Flags]]:
    """Return the complete cells, and for each column of a panel which of them go missing."""
    traits = random.standard_normal((rows, len(TRAITS)))
    male = random.integers(0, 2, rows)
    traits[:, TRAITS.index("male")] = 2 * male - 1
    cells: Cells = {"sex": male, "admission_day": random.integers(1, LAST_DAY + 1, rows)}
    for name, quantity in QUANTITIES.items():
        cells[name] = quantity.cells(traits, random.standard_normal(rows))
    for name, levels in CATEGORIES.items():
        weights, pulls = zip(*levels.values(), strict=True)
        log_odds = np.log(weights) + traits @ np.array([along_traits(pull) for pull in pulls]).T
        if name == "ward":
            log_odds += home_pulls()[cells["icd_chapter"]]
        cells[name] = np.argmax(log_odds + random.gumbel(size=log_odds.shape), axis=1)  # a draw from the softmax
    missing: dict[str, Flags] = {}
    for names, usual, elsewhere in PANELS:
        rates = np.array([elsewhere.get(ward, usual) for ward in LEVELS["ward"]])
        missing |= dict.fromkeys(names, random.random(rows) < rates[cells["ward"]])
    return cells, missing


def home_pulls() -> Floats:
    """Return what a diagnosis (row) adds to the log-odds of a ward (column)."""
    return np.array(
        [[HOME_PULL * (HOME_WARDS.get(chapter) == ward) for ward in LEVELS["ward"]] for chapter in LEVELS["icd_chapter"]]
    )


@cache
def truth(*, observed: bool = False) -> Moments:
    """Return the moments of the law, from a million rows: of the complete cells, or of those that do not go missing.

    They are off by the sampling error of a million rows, 11 times less than that of 8000.
    """
    random = np.random.default_rng(TRUTH_SEED)
    blocks = (draw(BLOCK, random) for _ in range(TRUTH_ROWS // BLOCK))
    return moments((cells, missing if observed else {}) for cells, missing in blocks)


def moments(blocks: Iterable[tuple[Cells, dict[str, Flags]]]) -> Moments:
    """Return the moments of blocks of rows: of each pair of features, over the rows where both are there."""
    names = tuple(
        f"{name}={level}" if level else name for name in COLUMNS[len(IDENTIFIERS) :] for level in LEVELS.get(name, [""])
    )
    rows = 0
    both, sums, squares, products = np.zeros((4, len(names), len(names)))
    for cells, missing in blocks:
        values, there = features(cells, missing)
        rows += len(values)
        both += there.T @ there
        sums += values.T @ there  # of the row's feature, where the column's feature is there, too
        squares += (values**2).T @ there
        products += values.T @ values
    means = sums / both
    variances = squares / both - means**2
    with np.errstate(invalid="ignore"):  # a level that few rows have may be constant where another cell is there
        correlation = (products / both - means * means.T) / np.sqrt(variances * variances.T)
    return Moments(names, np.diag(both) / rows, np.diag(means), np.sqrt(np.diag(variances)), correlation)


def features(cells: Cells, missing: dict[str, Flags]) -> tuple[Floats, Floats]:
    """Return a column for each feature, 0 where a cell is missing, and a column that is 1 where it is there."""
    values, there = [], []
    for name in COLUMNS[len(IDENTIFIERS) :]:
        present = 1.0 - missing.get(name, np.zeros(len(cells[name])))
        each = (cells[name] == place for place in range(len(LEVELS[name]))) if name in LEVELS else [cells[name]]
        for column in each:
            values.append(column * present)
            there.append(present)
    return np.column_stack(values), np.column_stack(there)


if __name__ == "__main__":
    main()
