"""Release the made-up hospital stays once, at ε = 1, and look at the figures beside the truth.

python examples/hospital/look.py
python examples/hospital/look.py --mechanism wishart

The truth is of all cells, whether they go missing or not (`table.truth`). After ± stands the standard error that the noise of
the release gives a figure. Which 8000 patients were drawn adds a sampling error: 0.011 deviations to a mean, about 0.011 to a
correlation. Columns whose cells may be missing are nullable in the schema: their figures are of the cells that are there, which
differ a little from all cells, as wards decide what is measured. An error of a regression is the mean squared error over the
target's variance: predicting the mean has 1.
The noise has a seed, so that anyone gets the same lines; the release is therefore not private.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import dpcov
from dpcov.uses.description import Reading

if TYPE_CHECKING or __package__:
    from examples.hospital.table import ROWS, Moments, hospital, truth
else:  # run as a script: Python looks in the folder of this file
    from table import ROWS, Moments, hospital, truth

Floats = NDArray[np.float64]

SCHEMA = Path(__file__).parent / "hospital.toml"
BUDGET = dpcov.PureDP(1)
PAIRS = 3  # shown of each kind of correlation
REGRESSIONS = {
    "length_of_stay": ["age", "albumin", "lactate"],
    "systolic": ["age", "diastolic", "heart_rate"],
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, release, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mechanism", default="auto", help="a name that `dpcov mechanisms` lists")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--seed", type=int, default=0, help="of the noise")
    given = parser.parse_args(arguments)
    table, schema = hospital(given.rows), dpcov.Schema.read(SCHEMA)
    release = dpcov.covariance(table, BUDGET, schema=schema, mechanism=given.mechanism, seed=given.seed)
    true = truth()
    assert true.feature_names == release.feature_names
    print(f"{given.rows} stays, {release.d} features, {BUDGET}, {given.mechanism}; (noise): cannot be told from noise")
    print("\n".join([*quantities(release, true, table), *correlations(release, true), *regressions(release, true)]))


def quantities(release: dpcov.Release, true: Moments, table: pa.Table) -> list[str]:
    """Return a line for each numeric column: the share of missing cells, mean and deviation, each beside the true one."""
    found = release.describe()
    assert found.mean is not None
    assert found.deviation is not None
    numeric = np.flatnonzero(~found.is_level).tolist()
    lines = [f"{'':18}{'missing':>8}{'mean':>18}{'true':>9}{'':8}{'deviation':>18}{'true':>9}"]
    for i in numeric:
        name = true.feature_names[i]
        missing = table[name].null_count / table.num_rows
        lines.append(
            f"{name:18}{missing:8.0%}{beside(found.mean, true.mean, i):35}{beside(found.deviation, true.deviation, i)}"
        )
    shifts = np.abs(found.mean.values - true.mean)[numeric] / true.deviation[numeric]
    wrong = np.abs(found.deviation.values / true.deviation - 1)[numeric]
    lines.append(
        f"Means are off by {np.median(shifts):.2f} true deviations (median; worst {shifts.max():.1f}), "
        f"deviations by {np.median(wrong):.0%} (worst {wrong.max():.0%})."
    )
    return [line.rstrip() for line in lines]


def beside(found: Reading, true: Floats, place: int) -> str:
    """Return a figure with its standard error, the true one, and whether it is lost in noise."""
    value = f"{digits(found.values[place], 4)} ± {digits(found.standard_error[place], 2)}"
    return f"{value:>18}{digits(true[place], 4):>9}{'' if found.clear[place] else ' (noise)'}"


def digits(number: float, count: int) -> str:
    """Return a number with so many significant digits, without an exponent."""
    return np.format_float_positional(number, precision=count, unique=False, fractional=False, trim="-")


def correlations(release: dpcov.Release, true: Moments) -> list[str]:
    """Return how far off the correlations are, and the truly strongest: between numeric columns, and with levels."""
    found = release.describe()
    assert found.correlation is not None
    pairs = sorted(found.pairs(clear=False), key=lambda pair: -abs(true.correlation[pair]))
    numeric = [(i, j) for i, j in pairs if not found.is_level[i] and not found.is_level[j]]
    levels: dict[tuple[str, str], tuple[int, int]] = {}  # one pair of levels for two columns: the other sex has the same
    for i, j in pairs:
        if found.is_level[i] or found.is_level[j]:
            levels.setdefault((found.columns[i], found.columns[j]), (i, j))
    own, own_zero = mean_errors(found.correlation, true, numeric)
    every, every_zero = mean_errors(found.correlation, true, pairs)
    lines = [
        f"Correlations are off by {own:.3f} between numeric columns (answering 0: {own_zero:.3f}), "
        f"by {every:.3f} over all pairs ({every_zero:.3f}).",
        f"Of {len(pairs)} correlations {len(found.pairs())} are clear of noise. The truly strongest:",
    ]
    for pair in [*numeric[:PAIRS], *list(levels.values())[:PAIRS]]:
        names = " and ".join(true.feature_names[place] for place in pair)
        figures = f"{found.correlation.values[pair]:+.2f} ± {found.correlation.standard_error[pair]:.2f}"
        lost = "" if found.correlation.clear[pair] else " (noise)"
        lines.append(f"  {names:48}{figures}   true {true.correlation[pair]:+.2f}{lost}")
    return lines


def mean_errors(found: Reading, true: Moments, pairs: list[tuple[int, int]]) -> tuple[float, float]:
    """Return the mean absolute error over these pairs, and that of answering 0."""
    places = tuple(np.array(pairs).T)
    return float(np.abs(found.values - true.correlation)[places].mean()), float(np.abs(true.correlation)[places].mean())


def regressions(release: dpcov.Release, true: Moments) -> list[str]:
    """Return coefficients and errors, each beside that of the best linear prediction."""
    lines, covariance = [], true.covariance
    for target, features in REGRESSIONS.items():
        place, places = true.feature_names.index(target), [true.feature_names.index(name) for name in features]
        between, along, variance = covariance[np.ix_(places, places)], covariance[places, place], covariance[place, place]
        best, found = np.linalg.solve(between, along), release.ridge(target, features=features).coefficients
        error, least = (1 + (w @ between @ w - 2 * w @ along) / variance for w in (found, best))
        lines.append(f"{target} from {', '.join(features)}: error {error:.2f}, the least is {least:.2f}. Coefficients:")
        lines += [f"  {name:20}{w:+.3f}   true {exact:+.3f}" for name, w, exact in zip(features, found, best, strict=True)]
    return lines


if __name__ == "__main__":
    main()
