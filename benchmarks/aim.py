"""AIM's synthetic rows on Adult, measured as benchmarks/units.py measures releases: the strongest public alternative.

python -m venv aim && aim/bin/pip install dpmm==0.1.9                  an environment of its own, Python 3.10 or 3.11
python -m benchmarks.aim --data DIR --python aim/bin/python            minutes to hours for each run, by model size and rounds

Columns of numbers are cut into equal bins between their public bounds and a synthetic cell is the middle of its bin; levels are
as they are. Regressions are least squares on the synthetic rows, and predict the true ones. AIM is private under add-remove.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import dpcov
from benchmarks.units import count_of
from benchmarks.units_runs import (
    ALL,
    DEVIATION,
    FROBENIUS,
    MEAN,
    NUMERIC,
    RIDGE,
    Figures,
    Measured,
    features,
    in_encoded_units,
    observed_moments,
)
from benchmarks.units_tables import TABLES, Table

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

TINY = 1e-9  # of the variance of a predictor: a least squares penalty where levels of a column sum to 1


def codes_of(table: Table, bins: int) -> tuple[Codes, list[int]]:
    """Return each cell as the number of its bin or level, and how many there are; a level that is none is one more."""
    found, sizes = [], []
    for name, column in table.schema.used.items():
        if isinstance(column, dpcov.Numeric):
            cells = np.clip(table.rows[name].to_numpy().astype(np.float64), column.lower, column.upper)
            part = (cells - column.lower) / (column.upper - column.lower)
            found.append(np.minimum((part * bins).astype(np.int64), bins - 1))
            sizes.append(bins)
        else:
            place = {level: i for i, level in enumerate(column.levels)}
            found.append(np.array([place.get(cell, len(place)) for cell in table.rows[name].to_pylist()]))
            sizes.append(len(place) + 1 if (found[-1] == len(place)).any() else len(place))
    return np.column_stack(found), sizes


def rows_of(table: Table, codes: Codes, bins: int) -> Any:
    """Return the table that codes stand for: middles of bins, and levels."""
    columns: dict[str, Any] = {}
    for place, (name, column) in enumerate(table.schema.used.items()):
        if isinstance(column, dpcov.Numeric):
            columns[name] = column.lower + (codes[:, place] + 0.5) * (column.upper - column.lower) / bins
        else:
            columns[name] = pa.array([*column.levels, None]).take(pa.array(codes[:, place]))
    return pa.table(columns)


def errors(measured: Measured, rows: Any) -> Figures:
    """Return the errors of what synthetic rows say."""
    schema, varies = measured.table.schema, measured.deviation > 0
    synthetic = features(rows, schema)
    mean, deviation, correlation = observed_moments(synthetic)
    relative = np.abs(deviation / np.where(varies, measured.deviation, np.nan) - 1)
    moment = in_encoded_units(schema, mean, correlation * np.outer(deviation, deviation))
    size = np.linalg.norm(measured.second_moment)
    return measured.correlation_errors(correlation) | {
        DEVIATION: float(relative[measured.numeric & varies].mean()),
        MEAN: float((np.abs(mean - measured.mean)[varies] / measured.deviation[varies]).mean()),
        RIDGE: float(np.mean([regression_error(measured, synthetic, target) for target in measured.targets])),
        FROBENIUS: float(np.linalg.norm(moment - measured.second_moment) / size),
    }


def regression_error(measured: Measured, synthetic: Floats, target: int) -> float:
    """Return the squared error over the variance, on the true rows, of least squares on synthetic ones."""
    others = np.flatnonzero(measured.column != measured.column[target])
    centre, scale = synthetic.mean(axis=0), np.maximum(synthetic.std(axis=0), 1e-12)
    z = (synthetic - centre) / scale
    gram = z[:, others].T @ z[:, others] / len(z) + TINY * np.eye(len(others))
    weights = np.linalg.solve(gram, z[:, others].T @ z[:, target] / len(z))
    truth = (measured.values - centre) / scale
    predicted = truth[:, others] @ weights
    return float(np.mean((predicted - truth[:, target]) ** 2) / truth[:, target].var())


def synthetic_codes(python: Path, names: list[str], codes: Codes, sizes: list[int], settings: dict[str, Any]) -> Any:
    """Run AIM in its own environment; return what it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "codes.npz"), Path(folder, "synthetic.npz")
        np.savez(source, codes=codes, sizes=sizes, names=names)
        script = Path(__file__).with_name("aim_rows.py")
        subprocess.run([python, script, source, target, json.dumps(settings)], check=True)
        return dict(np.load(target))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with a copy of adult")
    parser.add_argument("--python", type=Path, required=True, help="of the environment that has dpmm")
    parser.add_argument("--rho", type=float, help="of zCDP; by default what (1, 1e-9)-DP allows: 0.015")
    parser.add_argument("--bins", type=count_of, default=32)
    parser.add_argument("--model-size", type=float, default=80.0, help="megabytes; the package's default is 80")
    parser.add_argument("--rounds", type=count_of, help="by default 16 for each column")
    parser.add_argument("--seeds", type=count_of, default=1, metavar="N", help="seeds 0 to N - 1")
    options = parser.parse_args()
    table = TABLES["adult"](options.data)
    measured = Measured.of(table)
    codes, sizes = codes_of(table, options.bins)
    print("binned rows without noise:", line(errors(measured, rows_of(table, codes, options.bins))), flush=True)
    for seed in range(options.seeds):
        settings = {"rho": options.rho, "seed": seed, "model_size": options.model_size, "rounds": options.rounds}
        found = synthetic_codes(options.python, list(table.schema.used), codes, sizes, settings)
        said = f"seed {seed}, rho {float(found['rho']):.4f}, {int(found['marginals'])} marginals of {int(found['pairs'])} pairs"
        figures = errors(measured, rows_of(table, found["codes"], options.bins))
        print(f"{said}, {float(found['seconds']):.0f} s:", line(figures), flush=True)


def line(figures: Figures) -> str:
    return ", ".join(f"{name} {figures[name]:.4f}" for name in (NUMERIC, ALL, DEVIATION, MEAN, RIDGE, FROBENIUS))


if __name__ == "__main__":
    main()
