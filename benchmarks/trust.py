"""How often 95 % intervals about the population hold, where the truth is known: means, deviations, correlations, coefficients.

python -m benchmarks.trust --runs 200

A cell is a law of the rows, n, d and a budget. Each run draws n people from the law, releases them through a schema, and looks
whether the intervals hold what is true of the law itself, not of the rows nor of what bounds, ranges and weights left of them.
Columns are functions of normal numbers with the correlations 0.6·0.8^|i − j| beside the diagonal:

=============  =============================================================================================================
``normal``     mean 1, deviation 2; bounds five deviations away
``bounded``    uniform, and the root of a uniform number, on their bounds, in turns
``mixed``      normal, uniform, two levels, three levels, in turns
``lognormal``  exp(z/2); bounds 0 and 30, which one cell in 10¹¹ exceeds; means and coefficients only
=============  =============================================================================================================

Printed for each cell and kind of number: coverage in percent (over runs and numbers), and the mean width over 3.92 times the
r.m.s. error of the centres: 1 is a width that a known normal error would have. Numbers of levels of one column follow from each
other, so correlations are those between columns.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import ndtr

import dpcov
from benchmarks.coinpress_runs import table
from benchmarks.common import write

Floats = NDArray[np.float64]

LEVEL = 0.95
LOWEST, HIGHEST, LEAST = 93.0, 97.0, 91.0  # per cent: wanted in nine cells of ten, and in all
WIDEST = 1.25  # times 3.92 r.m.s. errors
SIZES = ((500, 3), (2000, 5), (8000, 10), (20_000, 10), (50_000, 20))  # n, d
BUDGETS: dict[str, Any] = {
    "ε = 1": dpcov.PureDP(1),
    "ρ = 0.1": dpcov.ZCDP("0.1"),
    "(1, 1e-6)": dpcov.ApproxDP(1, "0.000001"),
}
LAWS = ("normal", "bounded", "mixed", "lognormal")
KINDS = ("means", "deviations", "correlations", "coefficients")
MODEL = 4  # columns of a regression: the first from the next
TRUTH_ROWS, BLOCK = 4_000_000, 200_000  # drawn to know what has no closed form


@dataclass(frozen=True)
class Cell:
    law: str
    n: int
    d: int
    budget: str


def cells() -> Iterator[Cell]:
    for law in LAWS:
        for n, d in SIZES:
            for budget in BUDGETS:
                yield Cell(law, n, d, budget)


def kind_of(law: str, column: int) -> str:
    """Say what a column is: mixed tables have four kinds in turns."""
    if law == "mixed":
        return ("normal", "uniform", "two", "three")[column % 4]
    if law == "bounded":
        return ("uniform", "beta")[column % 2]
    return law


def schema(law: str, d: int) -> dpcov.Schema:
    columns: dict[str, Any] = {
        "normal": dpcov.Numeric(-9, 11),
        "uniform": dpcov.Numeric(0, 10),
        "beta": dpcov.Numeric(0, 1),
        "lognormal": dpcov.Numeric(0, 30),
        "two": dpcov.Categorical(["no", "yes"]),
        "three": dpcov.Categorical(["a", "b", "c"]),
    }
    return dpcov.Schema({f"c{j}": columns[kind_of(law, j)] for j in range(d)})


@lru_cache
def root(d: int) -> Floats:
    """Return a root of the correlations of the normal numbers beneath."""
    place = np.arange(d)
    correlation = 0.6 * 0.8 ** np.abs(place[:, None] - place[None, :])
    np.fill_diagonal(correlation, 1.0)
    return np.linalg.cholesky(correlation)


def number(kind: str, z: Floats) -> Floats:
    """Return cells of a column of numbers."""
    if kind == "normal":
        return np.asarray(1 + 2 * z)
    return np.asarray(np.exp(z / 2) if kind == "lognormal" else 10 * ndtr(z) if kind == "uniform" else np.sqrt(ndtr(z)))


def cells_of(law: str, z: Floats) -> tuple[dict[str, Any], Floats]:
    """Return the table that normal numbers make, and its features."""
    columns: dict[str, Any] = {}
    features = []
    for j, one in enumerate(z.T):
        kind = kind_of(law, j)
        if kind in ("two", "three"):
            names = np.array(["no", "yes"] if kind == "two" else ["a", "b", "c"])
            code = np.searchsorted([0.3] if kind == "two" else [-0.3, 0.9], one)
            columns[f"c{j}"] = names[code]
            features += list(np.eye(len(names))[code].T)
        else:
            values = number(kind, one)
            columns[f"c{j}"] = values
            features.append(values)
    return columns, np.column_stack(features)


@lru_cache
def truth(law: str, d: int) -> tuple[Floats, Floats]:
    """Return mean and covariance of the features: of many rows, drawn in pairs z and −z."""
    random, total, square, count = np.random.default_rng(12345), 0.0, 0.0, 0
    pivot = cells_of(law, np.zeros((1, d)))[1][0]
    for _ in range(TRUTH_ROWS // BLOCK // 2):
        z = random.standard_normal((BLOCK, d)) @ root(d).T
        for sign in (1, -1):
            x = cells_of(law, sign * z)[1] - pivot
            total, square, count = total + x.sum(axis=0), square + x.T @ x, count + len(x)
    mean = total / count
    return mean + pivot, square / count - np.outer(mean, mean)


def released(cell: Cell, run: int) -> dpcov.Release:
    random = np.random.default_rng([run, cell.n, cell.d, LAWS.index(cell.law), list(BUDGETS).index(cell.budget)])
    columns, _ = cells_of(cell.law, random.standard_normal((cell.n, cell.d)) @ root(cell.d).T)
    seed = int(random.integers(2**31))
    return dpcov.covariance(pa.table(columns), BUDGETS[cell.budget], schema=schema(cell.law, cell.d), seed=seed)


def kinds_of(law: str) -> Sequence[str]:
    return (KINDS[0], KINDS[3]) if law == "lognormal" else KINDS


def found_in(cell: Cell, release: dpcov.Release) -> dict[str, tuple[Floats, Floats, Floats, Floats]]:
    """Return the centres, ends and truths of all intervals, in deviations of their features where they have units."""
    mean, covariance = truth(cell.law, cell.d)
    deviation = np.sqrt(covariance.diagonal())
    intervals = release.interval(LEVEL)
    names = np.array([name.split("=")[0] for name in release.feature_names])
    apart = np.triu(names[:, None] != names[None, :], 1)
    numbers = ~np.array(["=" in name for name in release.feature_names])
    assert intervals.mean is not None
    found = {
        "means": _parts(intervals.mean, mean, 1 / deviation),
        "deviations": tuple(part[numbers] for part in _parts(intervals.deviations, deviation, 1 / deviation)),
        "correlations": tuple(
            part[apart] for part in _parts(intervals.correlations, covariance / np.outer(deviation, deviation), 1.0)
        ),
    }
    features = [f"c{j}" for j in range(1, min(MODEL, cell.d))]
    model = release.ridge("c0", features=features)
    of = list(release.feature_names)
    x, y = [of.index(name) for name in model.feature_names], of.index("c0")
    exact = np.asarray(np.linalg.solve(covariance[np.ix_(x, x)], covariance[x, y]), dtype=np.float64)
    found["coefficients"] = _parts(model.interval(LEVEL).coefficients, exact, deviation[x] / deviation[y])
    return {kind: found[kind] for kind in kinds_of(cell.law)}


def _parts(found: Any, exact: Floats, unit: Floats | float) -> tuple[Floats, Floats, Floats, Floats]:
    return found.estimate * unit, found.lower * unit, found.upper * unit, exact * unit


def measured(cell: Cell, runs: int) -> dict[str, tuple[float, float, float]]:
    """Return coverage in percent, width over 3.92 r.m.s. errors, and the part of intervals that say something, by kind."""
    parts: dict[str, list[tuple[Floats, ...]]] = {kind: [] for kind in kinds_of(cell.law)}
    for run in range(runs):
        for kind, numbers in found_in(cell, released(cell, run)).items():
            parts[kind].append(numbers)
    result = {}
    for kind, each in parts.items():
        centre, lower, upper, exact = (np.concatenate([one[i] for one in each]) for i in range(4))
        inside = 100 * float(np.mean((lower <= exact) & (exact <= upper)))
        most = 2.0 if kind == "correlations" else np.inf
        told = np.isfinite(upper - lower) & (upper - lower < most)
        width = float(np.mean((upper - lower)[told])) if told.any() else np.nan
        error = float(np.sqrt(np.mean((centre - exact)[told] ** 2))) if told.any() else np.nan
        result[kind] = inside, width / (3.92 * error), float(np.mean(told))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="releases for each cell")
    parser.add_argument("--law", choices=LAWS, action="append", help="only these laws")
    arguments = parser.parse_args()
    lines: list[list[str]] = []
    records: list[dict[str, object]] = []
    verdicts: dict[str, list[tuple[float, float, float]]] = {kind: [] for kind in KINDS}
    for cell in cells():
        if arguments.law and cell.law not in arguments.law:
            continue
        found = measured(cell, arguments.runs)
        line = [cell.law, str(cell.n), str(cell.d), cell.budget]
        for kind in KINDS:
            if kind not in found:
                line.append("")
                continue
            inside, width, told = found[kind]
            verdicts[kind].append((inside, width, told))
            line.append(f"{inside:.1f} ({width:.2f})" + f" [{100 * told:.0f}]" * (told < 1))
            records.append({**vars(cell), "kind": kind, "coverage": inside, "width": width, "told": told})
        lines.append(line)
        print(*line, sep=" | ", flush=True)
    table(["law", "n", "d", "budget", *KINDS], lines)
    print("coverage in percent (mean width over 3.92 r.m.s. errors) [percent of intervals that say anything, if not all]")
    for kind, each in verdicts.items():
        if each:
            held = [LOWEST <= inside <= HIGHEST for inside, _, _ in each]
            wide = [width <= WIDEST for _, width, _ in each]
            lowest = min(inside for inside, _, _ in each)
            print(
                f"{kind}: {sum(held)} of {len(each)} cells within {LOWEST:.0f} to {HIGHEST:.0f} %, lowest {lowest:.1f} "
                f"(wanted: {LEAST:.0f}), width at most {WIDEST} in {sum(wide)}"
            )
    write("trust.csv", records)


if __name__ == "__main__":
    main()
