"""How good is `dpcov.plan_table`? Its prediction beside the errors that releases really have, on tables whose truth is known.

python -m benchmarks.planning
python -m benchmarks.planning --data DIR

The truth is that of the rows, so errors are of noise, clipping and ranges, not of sampling. Ratios are medians over columns of
numbers, or pairs of them: predicted standard error over r.m.s. error of the releases (correlations: of the raw ones, as shown
where they are clear), and over the standard error that they print.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import dpcov
from dpcov.evaluate.demo import BOUNDS
from dpcov.kernel.budget import Budget
from dpcov.schema import Categorical, Numeric
from examples.adult.table import original
from examples.hospital.table import hospital

Floats = NDArray[np.float64]

EXAMPLES = Path(__file__).parents[1] / "examples"
TEN = ["age", "sex", "length_of_stay", "systolic", "heart_rate", "temperature", "crp", "lactate", "albumin", "cost"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, compare, print a line for each table and budget."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with UCI's adult.data and adult.test")
    given = parser.parse_args(arguments)
    print(f"{'':10}{'':22}{'means: /actual /printed':>26}{'correlations: predicted  printed   actual  /actual':>54}")
    for name, table, schema, budget in cases(given.data):
        print(f"{name:10}{budget!s:22}{ratios(table, schema, budget, range(given.seeds))}", flush=True)


def cases(adult: Path | None) -> list[tuple[str, pa.Table, dpcov.Schema, Budget]]:
    """Return tables with budgets."""
    stays, schema = hospital(), dpcov.Schema.read(EXAMPLES / "hospital" / "hospital.toml")
    budgets: list[Budget] = [dpcov.PureDP(1), dpcov.PureDP(4), dpcov.ZCDP("0.1")]
    found = [("hospital", stays, schema, budget) for budget in budgets]
    found += [("ten of it", stays.select(TEN), schema.select(TEN), budget) for budget in (budgets[0], budgets[2])]
    wines = wine()
    bounds = dpcov.Schema({name: Numeric(*pair) for name, pair in BOUNDS.items()})
    found += [("wine", wines, bounds, budget) for budget in (dpcov.ZCDP(1), dpcov.PureDP(4))]
    if adult is not None:
        people, census = original(adult), dpcov.Schema.read(EXAMPLES / "adult" / "adult.toml")
        found += [("adult", people, census, budget) for budget in (budgets[0], budgets[2])]
    return found


def wine() -> pa.Table:
    """Return six columns of 178 wines."""
    from sklearn.datasets import load_wine

    wines = load_wine()
    return pa.table({name: wines.data[:, wines.feature_names.index(name)] for name in BOUNDS})


def ratios(table: pa.Table, schema: dpcov.Schema, budget: Budget, seeds: Sequence[int]) -> str:
    """Return predicted over actual and over printed errors, of means and of correlations."""
    found = [dpcov.covariance(table, budget, schema=schema, seed=seed).describe() for seed in seeds]
    plan = dpcov.plan_table(schema, budget, n=table.num_rows).outlook
    numbers = np.flatnonzero(~plan.is_level)
    means, correlations = truth(table, schema)
    pairs = tuple(np.array([(i, j) for i in numbers for j in numbers if i < j]).T)
    held = [(one, one.mean, one.correlation) for one in found if one.mean is not None and one.correlation is not None]
    actual = rms([mean.values - means for _, mean, _ in held])
    printed = np.median([mean.standard_error for _, mean, _ in held], axis=0)
    raw = rms([_raw(one, correlation)[pairs] - correlations[pairs] for one, _, correlation in held])
    said = np.median([correlation.standard_error[pairs] for *_, correlation in held], axis=0)
    of_means = [float(np.median((plan.mean / other)[numbers])) for other in (actual, printed)]
    return (
        f"{of_means[0]:18.2f}{of_means[1]:8.2f}{plan.correlation:25.3f}{np.median(said):9.3f}{np.median(raw):9.3f}"
        f"{np.median(plan.correlation / raw):9.2f}"
    )


def _raw(found: dpcov.Description, correlation: dpcov.Correlation) -> Floats:
    """Return correlations before they are drawn towards 0."""
    units = found.release.estimate.units
    return correlation.values if units is None else units.raw_correlation


def rms(errors: Sequence[Floats]) -> Floats:
    """Return root mean squares over runs."""
    return np.asarray(np.sqrt(np.mean(np.square(errors), axis=0)))


def truth(table: pa.Table, schema: dpcov.Schema) -> tuple[Floats, Floats]:
    """Return means, and correlations by the cells that both columns have, of the cells between their bounds."""
    features = []
    for name, column in schema.used.items():
        cells = table[name].to_pandas().to_numpy()
        if isinstance(column, Categorical):
            there = ~np.array([cell is None for cell in cells])
            features += [np.where(there, cells == level, np.nan).astype(np.float64) for level in column.levels]
        else:
            features.append(np.clip(np.asarray(cells, dtype=np.float64), column.lower, column.upper))
    import pandas as pd

    frame = pd.DataFrame(np.array(features).T)
    return frame.mean().to_numpy(), frame.corr().to_numpy()


if __name__ == "__main__":
    main()
