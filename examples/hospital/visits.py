"""Make up a table of visits: 20 000 patients, each with one or several, wards, and weights of a study, for docs/visits.md.

python examples/hospital/visits.py visits.csv

No real person is in it. The law of the rows is in `visits`, so that the truth can stand beside what a private release says:

- Patients have an age, a sex, and a frailty that nobody writes down: normal, of mean 0 and deviation 1.
- A patient comes 1 + Poisson(exp(0.5 + 0.8·frailty)) times: the frail come more often, up to some sixty times, so that an
  average over visits is not one over patients.
- Most visits are on the patient's own ward, one of five is on any. Old patients' own ward is more often geriatrics.
- systolic = 112 + 0.3·age − 5·frailty + 5 in cardiology + 9 of the patient + 10 of the visit, in mmHg
- creatinine = 75·exp(0.2·frailty + 0.008·(age − 60) + 0.15 of the patient + 0.1 of the visit), in µmol/L
- days = exp(0.9 + 0.35·frailty + 0.4 of the visit) + 1, and 3 more in geriatrics
- cost = 900·days + 25·(creatinine − 75) + 1500 of the visit, and 2500 more in surgery, in euros
- The study drew patients from 65 on three times as often as younger ones: their weights are about 2, those of others about 6.

"Of the patient" and "of the visit" stand for normal noise of that deviation. All are rounded, and kept within limits of nature.
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

PATIENTS, SEED = 20_000, 23
WARDS = ("medicine", "surgery", "cardiology", "geriatrics")
OLD = 65  # years


def visits(patients: int = PATIENTS, seed: int = SEED) -> pa.Table:
    """Return the table, visits of all patients in the order of time."""
    random = np.random.default_rng(seed)
    age = within(18, 102, random.normal(61, 16, patients))
    male = random.integers(0, 2, patients)
    frailty = random.normal(0, 1, patients)
    own_ward = np.where((age >= OLD) & (random.random(patients) < 0.45), 3, random.choice(3, patients, p=[0.5, 0.3, 0.2]))
    weight = within(0.5, 12, np.where(age >= OLD, 2.0, 6.0) * random.uniform(0.8, 1.25, patients), 2)
    pressure, kidney = random.normal(0, 9, patients), random.normal(0, 0.15, patients)
    number = random.permutation(patients)

    whose = np.repeat(np.arange(patients), 1 + random.poisson(np.exp(0.5 + 0.8 * frailty)))
    whose = random.permutation(whose)
    rows = len(whose)
    ward = np.where(random.random(rows) < 0.2, random.integers(0, len(WARDS), rows), own_ward[whose])
    systolic = 112 + 0.3 * age[whose] - 5 * frailty[whose] + 5 * (ward == 2) + pressure[whose] + random.normal(0, 10, rows)
    log_creatinine = 0.2 * frailty[whose] + 0.008 * (age[whose] - 60) + kidney[whose] + random.normal(0, 0.1, rows)
    creatinine = 75 * np.exp(log_creatinine)
    days = np.exp(0.9 + 0.35 * frailty[whose] + random.normal(0, 0.4, rows)) + 1 + 3 * (ward == 3)
    cost = 900 * days + 25 * (creatinine - 75) + 2500 * (ward == 1) + random.normal(0, 1500, rows)
    return pa.table(
        {
            "patient_id": np.array([f"P{one:06}" for one in number + 1])[whose],
            "weight": weight[whose],
            "ward": np.array(WARDS)[ward],
            "age": age[whose].astype(int),
            "sex": np.array(["female", "male"])[male[whose]],
            "systolic": within(40, 260, systolic).astype(int),
            "creatinine": within(10, 1500, creatinine).astype(int),
            "days": within(1, 90, days).astype(int),
            "cost": within(200, 100_000, cost).astype(int),
        }
    )


def within(least: float, most: float, numbers: Floats, decimals: int = 0) -> Floats:
    """Return what people may have, rounded."""
    return np.asarray(np.round(np.clip(numbers, least, most), decimals), dtype=np.float64)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="visits.csv")
    parser.add_argument("--patients", type=int, default=PATIENTS)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args(arguments)
    table = visits(given.patients, given.seed)
    csv.write_csv(table, given.output)
    print(f"{given.output}: {table.num_rows} visits of {given.patients} patients, {table.num_columns} columns")


if __name__ == "__main__":
    main()
