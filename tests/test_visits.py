"""The made-up visits: the table fits its schema, and has the law that the generator states. Seeds are literal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dpcov
from examples.hospital.visits import OLD, WARDS, visits

pd = pytest.importorskip("pandas")
ROOT = Path(__file__).parents[1]
SCHEMA = dpcov.Schema.read(ROOT / "examples" / "hospital" / "visits.toml")
TABLE = visits(5000, 11).to_pandas()
PEOPLE = TABLE.groupby("patient_id")
FAR = 5.5  # standard errors; each of the sixteen numbers below is further off less than four times in 10⁸, were the seed drawn


def test_the_table_is_that_of_the_schema() -> None:
    assert SCHEMA.unit == "patient_id"
    assert set(SCHEMA.columns) == set(TABLE.columns) - {"patient_id", "weight"}
    assert set(TABLE["ward"]) == set(WARDS) == set(SCHEMA.columns["ward"].levels)  # type: ignore[union-attr]
    for name, column in SCHEMA.columns.items():
        if isinstance(column, dpcov.Numeric):
            assert TABLE[name].between(column.lower, column.upper).all()
    assert TABLE["weight"].between(0.5, 8).all()


def test_the_same_seed_makes_the_same_table() -> None:
    assert visits(50, 1).equals(visits(50, 1))
    assert not visits(50, 1).equals(visits(50, 2))


def test_what_is_of_a_person_is_the_same_in_all_visits() -> None:
    assert (PEOPLE[["weight", "age", "sex"]].nunique() == 1).all(axis=None)
    assert len(PEOPLE) == 5000


def test_rows_have_the_stated_law() -> None:
    """Means of patients, and of residuals, that the law gives; far off are less than one table in a million."""

    def about(numbers: object, mean: float) -> None:
        found = np.asarray(numbers, dtype=np.float64)
        assert abs(found.mean() - mean) <= FAR * found.std() / np.sqrt(len(found))

    about(PEOPLE.size(), 1 + np.exp(0.5 + 0.8**2 / 2))  # of a Poisson number whose log-mean is normal
    one = PEOPLE.first()
    old = one["age"] >= OLD
    about(one["weight"][old], 2.0 * (0.8 + 1.25) / 2)
    about(one["weight"][~old], 6.0 * (0.8 + 1.25) / 2)
    about(one["sex"] == "male", 0.5)
    each = 1 / PEOPLE["patient_id"].transform("size")
    of_ward = TABLE["systolic"] - 112 - 0.3 * TABLE["age"] - 5 * (TABLE["ward"] == "cardiology")
    about((of_ward * each).groupby(TABLE["patient_id"]).sum(), 0.0)
    cost = TABLE["cost"] - 25 * (TABLE["creatinine"] - 75) - 2500 * (TABLE["ward"] == "surgery")
    design = np.column_stack([np.ones(len(TABLE)), TABLE["days"]])
    slope = np.linalg.lstsq(design, cost.to_numpy(), rcond=None)[0][1]
    assert slope == pytest.approx(900, rel=0.06)  # rounded days, and costs that are kept above 200, take a few per cent


def test_the_table_is_written_by_a_script(tmp_path: Path) -> None:
    words = ["examples/hospital/visits.py", str(tmp_path / "visits.csv"), "--patients", "20"]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "visits of 20 patients, 9 columns" in done.stdout
