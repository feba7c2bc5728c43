"""The tables of benchmarks/units.py, each with a schema that is public knowledge.

Bounds and levels come from documents that are published with the tables, from what a survey or an instrument can record, or,
for drawn tables, from the law that they are drawn by; ``-x10`` and the like make them too wide on purpose.

=====================================  =======================================================================================
table                                  what it is
=====================================  =======================================================================================
``adult``, ``adult-x10``               48 842 people; examples/adult/adult.toml, and its upper bounds times 10
``census``                             199 523 people of two later surveys, 7 numeric and 10 categorical columns, 102 features
``airfoil``, ``wine``, ``cancer``      measurements, all numeric
``diabetes``, ``diabetes-x10``         the same; bounds ten times as far from their middle
``mixed-2k``, ``-20k``, ``-200k``      drawn: every kind of column; ``-x10``, ``-x100``, ``-x1000``: upper bounds times so much
``mixed-20k-missing``                  a fifth of all cells is missing, in columns declared nullable where dpcov knows the word
``mixed-20k-missing-undeclared``       the same rows; no column is declared nullable
=====================================  =======================================================================================
"""

from __future__ import annotations

import bz2
import dataclasses
import gzip
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import dpcov

Floats = NDArray[np.float64]

SEEDS = 20
MISSING = 0.2  # of the cells of each column, independently


@dataclass(frozen=True, eq=False)
class Table:
    """Rows, and what the public knows of them; ``seeds``: how many releases are measured unless told otherwise."""

    rows: Any  # a pyarrow table
    schema: dpcov.Schema
    seeds: int = SEEDS


def numeric(lower: float, upper: float, *, nullable: bool = False) -> dpcov.Numeric:
    return dpcov.Numeric(lower, upper, **_declared(dpcov.Numeric, nullable))


def categorical(levels: list[str], *, nullable: bool = False) -> dpcov.Categorical:
    return dpcov.Categorical(levels, **_declared(dpcov.Categorical, nullable))


def knows_nullable(kind: type[dpcov.Numeric] | type[dpcov.Categorical]) -> bool:
    """Whether this version of dpcov lets a column say that cells may be missing."""
    return any(field.name == "nullable" for field in dataclasses.fields(kind))


def _declared(kind: type[dpcov.Numeric] | type[dpcov.Categorical], nullable: bool) -> dict[str, Any]:
    return {"nullable": True} if nullable and knows_nullable(kind) else {}


def widened(schema: dpcov.Schema, factor: float) -> dpcov.Schema:
    """Multiply all upper bounds."""
    return _with_bounds(schema, lambda column: (column.lower, column.upper * factor))


def widened_about_middle(schema: dpcov.Schema, factor: float) -> dpcov.Schema:
    """Move both bounds away from their middle."""

    def bounds(column: dpcov.Numeric) -> tuple[float, float]:
        half = factor * (column.upper - column.lower) / 2
        return column.midpoint - half, column.midpoint + half

    return _with_bounds(schema, bounds)


def _with_bounds(schema: dpcov.Schema, bounds: Callable[[dpcov.Numeric], tuple[float, float]]) -> dpcov.Schema:
    columns = dict(schema.columns)
    for name, column in columns.items():
        if isinstance(column, dpcov.Numeric):
            lower, upper = bounds(column)
            columns[name] = dataclasses.replace(column, lower=lower, upper=upper)
    return dpcov.Schema(columns)


def adult(folder: Path | None, factor: float = 1) -> Table:
    from examples.adult import table

    schema = dpcov.Schema.read(Path(table.__file__).with_name("adult.toml"))
    return Table(table.original(_given(folder)), widened(schema, factor))


CENSUS_BOUNDS = {  # by what the survey can record, as in adult.toml
    "age": (0, 90),  # the survey writes 90 for older people, too
    "wage per hour": (0, 9999),  # cents, four digits
    "capital gains": (0, 99999),  # dollars a year, five digits
    "capital losses": (0, 5000),  # dollars a year; larger losses are clipped
    "dividends from stocks": (0, 99999),  # dollars a year, five digits
    "num persons worked for employer": (0, 6),  # none, and six classes of size
    "weeks worked in year": (0, 52),
}
CENSUS_LEVELS = (  # levels are those of census-income.names
    "class of worker",
    "education",
    "marital stat",
    "major industry code",
    "major occupation code",
    "race",
    "sex",
    "full or part time employment stat",
    "tax filer stat",
    "income",
)


def census(folder: Path | None) -> Table:
    """Census-Income (KDD), the training part; the label, which the file leaves without a name, is called income."""
    text = gzip.decompress((_given(folder) / "census-income.names.gz").read_bytes()).decode("latin-1")
    lines = [line.removesuffix(".") for line in text.splitlines() if line.strip() and not line.startswith("|")]
    label, *attributes = lines
    described = dict(line.split(":", 1) for line in attributes) | {"income": label}
    records = bz2.decompress((_given(folder) / "census-income.data.bz2").read_bytes()).decode("latin-1").splitlines()
    cells = zip(*([cell.strip() for cell in record.removesuffix(".").split(",")] for record in records), strict=True)
    rows = dict(zip(described, cells, strict=True))
    columns: dict[str, Any] = {name: pa.array([float(cell) for cell in rows[name]]) for name in CENSUS_BOUNDS}
    columns |= {name: pa.array(rows[name]) for name in CENSUS_LEVELS}
    schema: dict[str, dpcov.Numeric | dpcov.Categorical] = {name: numeric(*CENSUS_BOUNDS[name]) for name in CENSUS_BOUNDS}
    schema |= {name: categorical([level.strip() for level in described[name].split(",")]) for name in CENSUS_LEVELS}
    return Table(pa.table(columns), dpcov.Schema(schema), seeds=8)


AIRFOIL_BOUNDS = {
    "Freq": (0, 20_000),  # Hz: what people hear
    "Angle": (0, 25),  # degrees; beyond the stall at any speed
    "Length": (0, 0.35),  # metres: the largest section has a chord of one foot
    "Vel": (0, 75),  # metres a second: the wind tunnel's fastest
    "Displ": (0, 0.06),  # metres: a fifth of the largest chord
    "Pressure": (100, 145),  # decibels
}


def airfoil(folder: Path | None) -> Table:
    rows = np.loadtxt(_given(folder) / "airfoil_self_noise.csv.gz", delimiter=",", skiprows=1)
    return _numeric_table(rows, AIRFOIL_BOUNDS)


def wine(_: Path | None) -> Table:
    from sklearn.datasets import load_wine

    return _described_table(load_wine())


def cancer(_: Path | None) -> Table:
    from sklearn.datasets import load_breast_cancer

    return _described_table(load_breast_cancer())


DIABETES_BOUNDS = {  # round figures that a physician could name without the data
    "age": (18, 80),
    "sex": (1, 2),
    "bmi": (15, 45),
    "bp": (50, 140),  # mmHg, mean of systole and diastole
    "s1": (80, 320),  # mg/dl, cholesterol
    "s2": (20, 260),  # mg/dl, low-density lipoproteins
    "s3": (15, 110),  # mg/dl, high-density lipoproteins
    "s4": (1, 10),  # s1/s3
    "s5": (3, 7),  # logarithm of triglycerides in mg/dl
    "s6": (50, 130),  # mg/dl, glucose
    "progression": (0, 350),  # scikit-learn's documentation: 25 to 346
}


def diabetes(_: Path | None, factor: float = 1) -> Table:
    from sklearn.datasets import load_diabetes

    data = load_diabetes(scaled=False)
    table = _numeric_table(np.column_stack([data.data, data.target]), DIABETES_BOUNDS)
    return Table(table.rows, widened_about_middle(table.schema, factor))


def _described_table(data: Any) -> Table:
    """Take the bounds from the published description, whose summary has a line "name: least largest" for each column."""
    lines = re.findall(r"^ *\w.*: +([\d.]+) +([\d.]+)(?: |$)", data.DESCR, re.MULTILINE)
    bounds = {name: (float(low), float(high)) for name, (low, high) in zip(data.feature_names, lines, strict=True)}
    return _numeric_table(data.data, bounds)


def _numeric_table(rows: Floats, bounds: Mapping[str, tuple[float, float]]) -> Table:
    schema = dpcov.Schema({name: numeric(*ends) for name, ends in bounds.items()})
    return Table(pa.table(dict(zip(bounds, np.ascontiguousarray(rows.T), strict=True))), schema)


PLACES, GRADES = [f"place-{j}" for j in range(60)], ["A", "B", "C", "D", "E"]


def mixed(_: Path | None, n: int, factor: float = 1, *, missing: float = 0.0, nullable: bool = False) -> Table:
    """Draw people; whatever the bounds and whether cells are missing, they are the same people."""
    random = np.random.default_rng([19, n])
    rank, z = random.standard_normal(n), random.standard_normal((5, n))  # rank: what income, grade and savings share
    shares = 1 / np.arange(1, len(PLACES) + 1)
    place = random.choice(len(PLACES), n, p=shares / shares.sum())
    age = random.uniform(18, 90, n)
    height = 170 + 10 * z[0]
    income = np.exp(10 + 0.4 * rank + 0.3 * np.sin(place) + 0.5 * z[1])
    savings = np.where(random.uniform(size=n) < 0.2, random.exponential(4000 * np.exp(0.4 * rank)), 0.0)
    smokes = random.uniform(size=n) < 1 / (1 + np.exp(1 + 0.5 * rank + (age - 54) / 20))
    grade = np.searchsorted([-1.2, -0.3, 0.4, 1.2], rank + z[2])
    cells = {
        "income": income,  # lognormal
        "savings": savings,  # zero-inflated
        "age": age,  # uniform
        "height": height,
        "weight": 75 + 1.2 * (height - 170) + 4 * z[3],  # its correlation with height is 0.95
        "cost": np.exp(5 + (age - 54) / 40 + 0.6 * smokes + z[4]),  # lognormal, of a longer tail
        "smokes": np.array(["no", "yes"])[smokes.astype(np.intp)],
        "grade": np.array(GRADES)[grade],
        "place": np.array(PLACES)[place],
    }
    bounds = {"income": (0, 250_000), "savings": (0, 50_000), "age": (18, 90), "height": (120, 220), "weight": (10, 150)}
    bounds |= {"cost": (0, 10_000)}
    columns: dict[str, dpcov.Numeric | dpcov.Categorical]
    columns = {name: numeric(*ends, nullable=nullable) for name, ends in bounds.items()}
    levels = {"smokes": ["no", "yes"], "grade": GRADES, "place": PLACES}
    columns |= {name: categorical(known, nullable=nullable) for name, known in levels.items()}
    gone = random.uniform(size=(len(cells), n)) < missing
    arrays = {name: pa.array(values, mask=mask) for (name, values), mask in zip(cells.items(), gone, strict=True)}
    return Table(pa.table(arrays), widened(dpcov.Schema(columns), factor))


def _given(folder: Path | None) -> Path:
    if folder is None:
        raise FileNotFoundError("it is read from a folder: --data DIR")
    return folder


SIZES = {"2k": 2000, "20k": 20_000, "200k": 200_000}
FACTORS = {"": 1, "-x10": 10, "-x100": 100, "-x1000": 1000}

TABLES: dict[str, Callable[[Path | None], Table]] = {
    "adult": adult,
    "adult-x10": partial(adult, factor=10),
    "census": census,
    "airfoil": airfoil,
    "wine": wine,
    "cancer": cancer,
    "diabetes": diabetes,
    "diabetes-x10": partial(diabetes, factor=10),
    **{
        f"mixed-{size}{loose}": partial(mixed, n=n, factor=factor)
        for size, n in SIZES.items()
        for loose, factor in FACTORS.items()
    },
    "mixed-20k-missing": partial(mixed, n=20_000, missing=MISSING, nullable=True),
    "mixed-20k-missing-undeclared": partial(mixed, n=20_000, missing=MISSING),
}
