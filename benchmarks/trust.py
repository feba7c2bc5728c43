"""How often 95 % intervals about the population hold, where the truth is known: means, deviations, correlations, coefficients.

python -m benchmarks.trust --runs 200
python -m benchmarks.trust --runs 0      the table of what was run already
python -m benchmarks.trust --tailed      columns with longer tails than a release supposes

A cell is a law of the rows, n, d and a budget. Each run draws n people from the law, releases them through a schema, and looks
whether the intervals hold what is true of the law itself, not of the rows nor of what bounds, ranges and weights left of them.
Columns are functions of normal numbers with the correlations 0.6·0.8^|i − j| beside the diagonal:

=============  =============================================================================================================
``normal``     mean 1, deviation 2; bounds five deviations away
``bounded``    uniform, and the root of a uniform number, on their bounds, in turns
``mixed``      normal, uniform, two levels, three levels, in turns
``lognormal``  exp(z/2); bounds 0 and 30, which one cell in 10¹¹ exceeds; means and coefficients only
=============  =============================================================================================================

With ``--tailed``, of mean 1, deviation 2, and bounds ten deviations away: ``logistic``, ``student`` (5 degrees), ``laplace``;
and ``lognormal`` again: means and deviations.

Printed for each cell and kind of number: coverage in percent (over runs and numbers), and the mean width over 3.92 times the
r.m.s. error of the centres: 1 is a width that a known normal error would have. Numbers of levels of one column follow from each
other, so correlations are those between columns.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

import dpcov
from benchmarks.coinpress_runs import table
from benchmarks.common import RESULTS, write

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
TAILED = ("logistic", "student", "laplace")
DEGREES = 5.0
KINDS = ("means", "deviations", "correlations", "coefficients")
MODEL = 4  # columns of a regression: the first from the next
LEVELS = {"two": (("no", "yes"), (0.3,)), "three": (("a", "b", "c"), (-0.3, 0.9))}  # names, and where the next ones begin
TERMS, STEP, SPAN = 60, 0.001, 9000  # of a series, and of sums over normal numbers: the truth is known to six digits


@dataclass(frozen=True)
class Cell:
    law: str
    n: int
    d: int
    budget: str


def cells(*, tailed: bool = False) -> Iterator[Cell]:
    for law in (*TAILED, "lognormal") if tailed else LAWS:
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
        **dict.fromkeys(TAILED, dpcov.Numeric(-19, 21)),
        **{kind: dpcov.Categorical(list(names)) for kind, (names, _) in LEVELS.items()},
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
    if kind in TAILED:
        return np.asarray(1 + 2 * np.sign(z) * quantile(kind, np.abs(z)))
    return np.asarray(np.exp(z / 2) if kind == "lognormal" else 10 * ndtr(z) if kind == "uniform" else np.sqrt(ndtr(z)))


def quantile(law: str, z: Floats) -> Floats:
    """Return numbers of laws of mean 0 and variance 1 that are exceeded as often as normal ones z ≥ 0, to all digits."""
    beyond = ndtr(-z)
    if law == "logistic":
        return np.asarray(math.sqrt(3) / math.pi * (np.log1p(-beyond) - np.log(beyond)))
    if law == "laplace":
        return np.asarray(-np.log(2 * beyond) / math.sqrt(2))
    return np.asarray(-stdtrit(DEGREES, beyond) * math.sqrt((DEGREES - 2) / DEGREES))


def features_of(kind: str, z: Floats) -> tuple[Any, Floats]:
    """Return the cells of a column that normal numbers make, and its features in columns."""
    if kind not in LEVELS:
        values = number(kind, z)
        return values, values[:, None]
    names, starts = LEVELS[kind]
    code = np.searchsorted(starts, z)
    return pa.DictionaryArray.from_arrays(code.astype(np.int8), list(names)), np.eye(len(names))[code]


@lru_cache
def truth(law: str, d: int) -> tuple[Floats, Floats]:
    """Return mean and covariance of the features.

    Between columns by Mehler's formula: of functions of two normal numbers with correlation ρ, whose coefficients in normed
    Hermite polynomials are c and c′, the covariance is the sum of c·c′·ρᵏ over k ≥ 1.
    """
    z: Floats = (np.arange(-SPAN, SPAN, dtype=np.float64) + 0.5) * STEP  # middles: where levels begin is an edge
    chances = np.exp(-(z**2) / 2)
    chances /= chances.sum()
    polynomials = [np.ones_like(z), z]
    for k in range(2, TERMS):
        polynomials.append((z * polynomials[-1] - math.sqrt(k - 1) * polynomials[-2]) / math.sqrt(k))
    series, means, squares = [], [], []
    for j in range(d):
        features = features_of(kind_of(law, j), z)[1]
        means.append(features.T @ chances)
        series.append(np.array(polynomials[1:]) * chances @ features)
        squares.append((features.T * chances) @ features - np.outer(means[-1], means[-1]))
    between, powers = root(d) @ root(d).T, np.arange(1, TERMS)[:, None]
    blocks = [
        [squares[i] if i == j else (series[i] * between[i, j] ** powers).T @ series[j] for j in range(d)] for i in range(d)
    ]
    return np.concatenate(means), np.block(blocks)


def released(cell: Cell, run: int) -> dpcov.Release:
    random = np.random.default_rng([run, cell.n, cell.d, (*LAWS, *TAILED).index(cell.law), list(BUDGETS).index(cell.budget)])
    rows = random.standard_normal((cell.n, cell.d)) @ root(cell.d).T
    columns = {f"c{j}": features_of(kind_of(cell.law, j), z)[0] for j, z in enumerate(rows.T)}
    seed = int(random.integers(2**31))
    return dpcov.covariance(pa.table(columns), BUDGETS[cell.budget], schema=schema(cell.law, cell.d), seed=seed)


def kinds_of(law: str, *, tailed: bool = False) -> Sequence[str]:
    if tailed:
        return KINDS[:2]
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
    return found


def _parts(found: Any, exact: Floats, unit: Floats | float) -> tuple[Floats, Floats, Floats, Floats]:
    return found.estimate * unit, found.lower * unit, found.upper * unit, exact * unit


def runs_of(cell: Cell, first: int, runs: int, folder: Path, kinds: Sequence[str]) -> list[dict[str, list[list[float]]]]:
    """Return centres, ends and truths of runs, by kind; those that the folder holds are read, others are run and kept there."""
    path, kept = folder / f"{cell.law}-{cell.n}-{cell.d}-{list(BUDGETS).index(cell.budget)}.jsonl", {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            run = json.loads(line)
            kept[run["run"]] = run["found"]
    for number in range(first, first + runs):
        if number not in kept:
            found = {kind: parts for kind, parts in found_in(cell, released(cell, number)).items() if kind in kinds}
            kept[number] = {kind: [[float(f"{x:.7g}") for x in part] for part in parts] for kind, parts in found.items()}
            folder.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"run": number, "found": kept[number]}) + "\n")
    return [kept[number] for number in (range(first, first + runs) if runs else sorted(kept))]


def measured(each: Sequence[dict[str, list[list[float]]]], kind: str) -> tuple[float, float, float, float]:
    """Return coverage in percent and its standard error, width over 3.92 r.m.s. errors, and the part that says something."""
    centre, lower, upper, exact = (np.array([run[kind][i] for run in each]) for i in range(4))
    inside = (lower <= exact) & (exact <= upper)
    told = np.isfinite(upper - lower) & (upper - lower < (2.0 if kind == "correlations" else np.inf))
    width = float(np.mean((upper - lower)[told])) if told.any() else np.nan
    error = float(np.sqrt(np.mean((centre - exact)[told] ** 2))) if told.any() else np.nan
    between = float(np.std(100 * inside.mean(axis=1))) / math.sqrt(len(each))  # numbers of one run are not independent
    return 100 * float(np.mean(inside)), between, width / (3.92 * error), float(np.mean(told))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="releases for each cell; 0: those that the folder holds")
    parser.add_argument("--first", type=int, default=0, help="the first run: others have other rows and other noise")
    parser.add_argument("--cells", action="append", help="only these, such as 'mixed 500' or 'ρ'; may be given more than once")
    parser.add_argument("--tailed", action="store_true", help="laws with long tails, means and deviations only")
    parser.add_argument(
        "--to",
        type=Path,
        help="folder of runs, results/trust or results/trust_tailed by default; those that it holds are not run again",
    )
    arguments = parser.parse_args()
    lines: list[list[str]] = []
    records: list[dict[str, object]] = []
    folder = arguments.to or RESULTS / ("trust_tailed" if arguments.tailed else "trust")
    for cell in cells(tailed=arguments.tailed):
        name = f"{cell.law} {cell.n} {cell.d} {cell.budget}"
        if arguments.cells and not any(wanted in name for wanted in arguments.cells):
            continue
        kinds = kinds_of(cell.law, tailed=arguments.tailed)
        each = runs_of(cell, arguments.first, arguments.runs, folder, kinds)
        if not each:
            continue
        line = [cell.law, str(cell.n), str(cell.d), cell.budget, str(len(each))]
        for kind in KINDS:
            if kind not in kinds:
                line.append("")
                continue
            inside, error, width, told = measured(each, kind)
            line.append(f"{inside:.1f} ± {error:.1f} ({width:.2f})" + f" [{100 * told:.0f}]" * (told < 1))
            records.append(
                {
                    **vars(cell),
                    "runs": len(each),
                    "kind": kind,
                    "coverage": inside,
                    "error": error,
                    "width": width,
                    "told": told,
                }
            )
        lines.append(line)
        print(*line, sep=" | ", flush=True)
    table(["law", "n", "d", "budget", "runs", *KINDS], lines)
    print("coverage in percent (mean width over 3.92 r.m.s. errors) [percent of intervals that say anything, if not all]")
    for kind in KINDS:
        verdict(kind, [record for record in records if record["kind"] == kind])
    write(f"{folder.name}.csv", records)


def verdict(kind: str, records: Sequence[dict[str, Any]]) -> None:
    if records:
        held = [record["coverage"] for record in records]
        within, above, below = (
            sum(one) for one in zip(*((LOWEST <= x <= HIGHEST, x > HIGHEST, x < LEAST) for x in held), strict=True)
        )
        narrow = sum(record["width"] <= WIDEST for record in records)
        print(
            f"{kind}: {within} of {len(held)} cells within {LOWEST:.0f} to {HIGHEST:.0f} %, {above} above, {below} below "
            f"{LEAST:.0f} % (lowest {min(held):.1f}); width at most {WIDEST} in {narrow}"
        )


if __name__ == "__main__":
    main()
