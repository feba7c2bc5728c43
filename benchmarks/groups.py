"""Groups at the price of one: noise of each block, and what drawing small groups towards all of them together gains.

::

    python -m benchmarks.groups noise
    python -m benchmarks.groups pooling --data shared/data            # the data on which constants were chosen
    python -m benchmarks.groups pooling --data shared/data --measure  # other data, on which they were not
    python -m benchmarks.groups units --data shared/data              # Adult by kind of work, on which constants were chosen
    python -m benchmarks.groups units --data shared/data --measure    # Adult by marriage, on which they were not

``noise``: r.m.s. of the raw noise of a block's covariance for k groups at a fixed budget, over that of one group.
``pooling``: the error of each group's covariance, in the Frobenius norm of encoded rows, with and without pooling, both
denoised; r.m.s. over groups of a size and repetitions. One group is the plain release.
``units``: what people read of each group with all columns of Adult, measured in private units and by its bounds.
"""

from __future__ import annotations

import argparse
import dataclasses
import gzip
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

import dpcov
from benchmarks import units_tables
from benchmarks.units_runs import FIGURES, Measured
from benchmarks.units_tables import Table
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.release.record import Release

Floats = NDArray[np.float64]
BUDGETS: dict[str, dpcov.PureDP | dpcov.ZCDP] = {"ε=1": dpcov.PureDP(1), "ρ=.1": dpcov.ZCDP("0.1")}


def normal_groups(seed: int, k: int, sizes: list[int], d: int, apart: float, spread: float) -> tuple[Floats, NDArray[np.intp]]:
    """Return rows of k groups: one covariance, that of each group moved by ``spread``, means by ``apart`` deviations."""
    generator = np.random.default_rng(seed)
    factor = generator.normal(size=(d, d)) / np.sqrt(d) + np.eye(d)
    rows, groups = [], []
    for g in range(k):
        n = sizes[g % len(sizes)]
        own = factor + spread * generator.normal(size=(d, d)) / np.sqrt(d)
        rows.append(generator.normal(size=(n, d)) @ own.T + apart * generator.normal(size=d))
        groups.append(np.full(n, g))
    return np.concatenate(rows), np.concatenate(groups)


def released(
    rows: Floats, groups: NDArray[np.intp], k: int, budget: dpcov.PureDP | dpcov.ZCDP, seed: int, **said: Any
) -> Release:
    """Release rows within 4 by group; with one group plainly."""
    names = [f"c{j}" for j in range(rows.shape[1])]
    columns: dict[str, dpcov.Numeric | dpcov.Categorical] = {name: dpcov.Numeric(-4, 4) for name in names}
    mechanism = "gaussian" if isinstance(budget, dpcov.ZCDP) else "wishart"
    settings: dict[str, Any] = {"mechanism": mechanism, "seed": seed, "clip": "none", **said}
    if k == 1:
        return dpcov.covariance(rows, budget, schema=dpcov.Schema(columns), **settings)
    data = np.column_stack([rows, groups])
    schema = dpcov.Schema({**columns, "group": dpcov.Categorical(list(range(k)))})
    return dpcov.covariance(data, budget, schema=schema, by="group", **settings)


def noise() -> None:
    """Print the noise of a block by the number of groups."""
    print("noise of a block's second moment, entries above the diagonal: over that of one group\n")
    print("| budget | d | k = 4 | k = 16 | k = 64 |\n|---|---|---|---|---|")
    for name, budget in BUDGETS.items():
        for d in (3, 8):
            sizes = {k: drawn_noise(budget, d, k, 16_000 // (k * d)) for k in (1, 4, 16, 64)}
            ratios = " | ".join(f"{sizes[k] / sizes[1]:.3f}" for k in (4, 16, 64))
            print(f"| {name} | {d} | {ratios} |")


def drawn_noise(budget: dpcov.PureDP | dpcov.ZCDP, d: int, k: int, runs: int) -> float:
    """Return the r.m.s. noise of the entries above the diagonal, without the constant, times n of a group."""
    rows, groups = np.zeros((64, d)), np.arange(64) % k
    total, count = 0.0, 0
    for seed in range(runs):
        release = released(rows, groups, k, budget, seed)
        parts = [release] if k == 1 else [release[level] for level in release.groups]
        for part in parts:
            moment = part.take(SecondMoment)
            above = moment.matrix[1:, 1:][np.triu_indices(d, 1)]
            total, count = total + float((above**2).sum()), count + len(above)
    return float(np.sqrt(total / count))


Data = tuple[str, Floats, NDArray[np.intp], int]


def chosen_on(folder: Path | None) -> Iterator[Data]:
    """Yield the data on which the way of pooling was chosen."""
    for k in (4, 16, 64):
        for apart, spread in ((0.0, 0.0), (0.2, 0.2), (0.7, 0.7)):
            rows, groups = normal_groups(70 + k, k, [100, 400, 2000], 6, apart, spread)
            yield f"normal, k={k}, apart {apart}", rows, groups, k
    for k, d in ((4, 3), (16, 12), (64, 8)):
        for apart, spread in ((0.0, 0.0), (0.1, 0.3), (0.5, 0.1), (1.0, 1.0)):
            rows, groups = normal_groups(900 + k + d, k, [60, 250, 1000, 5000], d, apart, spread)
            yield f"normal, k={k}, d={d}, apart {apart}, {spread}", rows, groups, k
    generator = np.random.default_rng(950)
    rows, groups = normal_groups(951, 16, [150, 800], 5, 0.1, 0.1)
    yield "heavy tails, k=16", rows * np.sqrt(3 / generator.chisquare(5, len(rows)))[:, None], groups, 16
    odd = np.where((groups == 3)[:, None], -rows[:, ::-1] * 2, rows)
    yield "one group unlike the others, k=16", odd, groups, 16
    if folder is not None:
        yield from adult(folder, {6: "occupation", 13: "native country"})


def measured_on(folder: Path | None) -> Iterator[Data]:
    """Yield other data, which nobody looked at before: other numbers of groups and columns, sizes, laws, and real tables."""
    for k, d in ((3, 4), (8, 5), (32, 10)):
        for apart, spread in ((0.0, 0.0), (0.15, 0.15), (0.6, 0.3)):
            rows, groups = normal_groups(3000 + k + d, k, [90, 300, 700, 3000], d, apart, spread)
            yield f"normal, k={k}, d={d}, apart {apart}, {spread}", rows, groups, k
    generator = np.random.default_rng(3100)
    for k in (6, 24):
        groups = generator.choice(k, 12_000, p=generator.dirichlet(np.full(k, 0.7)))
        factor = generator.normal(size=(7, 7)) / np.sqrt(7) + np.eye(7)
        yield f"uniform, k={k}", generator.uniform(-1.5, 1.5, (12_000, 7)) @ factor.T, groups, k
        skew = generator.exponential(size=(12_000, 4)) - 1 + 0.3 * generator.normal(size=(k, 4))[groups]
        yield f"exponential, k={k}", skew, groups, k
    if folder is not None:
        yield from adult(folder, {1: "kind of work", 5: "marriage"})
        with gzip.open(folder / "airfoil_self_noise.csv.gz", "rt") as lines:
            table = np.array([[float(cell) for cell in line.split(",")] for line in list(lines)[1:]])
        levels, groups = np.unique(table[:, 3], return_inverse=True)
        rows = np.delete(table, 3, axis=1)
        yield "airfoil by velocity, k=4", (rows - rows.mean(axis=0)) / rows.std(axis=0), groups, len(levels)


def adult(folder: Path, columns: dict[int, str]) -> Iterator[Data]:
    """Yield Adult by some of its columns: numbers of people, in deviations."""
    records = []
    for name in ("adult.data.gz", "adult.test.gz"):
        with gzip.open(folder / name, "rt") as lines:
            cells = ([cell.strip() for cell in line.split(",")] for line in lines)
            records += [row for row in cells if len(row) == 15]
    table = np.array(records)
    rows = table[:, [0, 2, 4, 12]].astype(np.float64)  # age, weight, years of education, hours
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    for column, by in columns.items():
        levels, groups = np.unique(table[:, column], return_inverse=True)
        yield f"Adult by {by}, k={len(levels)}", rows, groups, len(levels)


def errors(data: Data, budget: dpcov.PureDP | dpcov.ZCDP, runs: int) -> dict[str, list[float]]:
    """Return squared errors by size of n·ε: pooled towards all, alone, and how large the truth is."""
    _, rows, groups, k = data
    encoded = np.clip(rows, -4, 4) / 4 / np.sqrt(rows.shape[1])
    amount = float(budget.epsilon) if isinstance(budget, dpcov.PureDP) else float(np.sqrt(8 * float(budget.rho)))
    found: dict[str, list[float]] = {}
    truths = [np.cov(encoded[groups == g].T, bias=True).reshape(rows.shape[1], -1) for g in range(k)]
    for seed in range(runs):
        release = released(rows, groups, k, budget, seed)
        for g in range(k):
            part = release[str(g)]
            size = "small" if (groups == g).sum() * amount < 500 else "large"
            own = alone(part)
            entry = found.setdefault(size, [0.0, 0.0, 0.0])
            for place, matrix in enumerate((part.encoded_covariance, own.encoded_covariance, np.zeros_like(truths[g]))):
                entry[place] += float(((matrix - truths[g]) ** 2).sum())
    return found


def alone(part: Release) -> Release:
    """Return a group's release as if the others were not there."""
    return dataclasses.replace(part, part=dataclasses.replace(part.part, level=None))  # type: ignore[type-var]


def pooling(data: Callable[[], Iterator[Data]], runs: int, only: str) -> None:
    """Print errors with pooling over those without."""
    print("error with pooling over that without; in brackets that of the answer 0 over it\n")
    print("| data | budget | n·ε < 500 | larger |\n|---|---|---|---|")
    for one in data():
        for name, budget in BUDGETS.items() if only in one[0] else ():
            found = errors(one, budget, runs)
            cells = [
                f"{np.sqrt(found[size][0] / found[size][1]):.3f} ({np.sqrt(found[size][2] / found[size][1]):.2f})"
                if size in found
                else ""
                for size in ("small", "large")
            ]
            print(f"| {one[0]} | {name} | {' | '.join(cells)} |", flush=True)


def units(by: str, folder: Path, runs: int) -> None:
    """Print errors of groups of more than 30 people, averaged over groups of a size and releases."""
    table = units_tables.adult(folder)
    groups = table.schema.columns[by]
    assert isinstance(groups, dpcov.Categorical)
    features = dpcov.Schema({name: one for name, one in table.schema.columns.items() if name != by}, table.schema.others)
    parts = {level: table.rows.filter(pc.equal(table.rows[by], level)) for level in groups.names}
    truths = {level: Measured.of(Table(rows, features)) for level, rows in parts.items() if len(rows) > 30}
    print(f"| Adult by {by} | mechanism | people | {' | '.join(FIGURES[:5])} |\n|---|---|---|---|---|---|---|---|")
    for name, budget in {**BUDGETS, "ρ=1": dpcov.ZCDP(1)}.items():
        additive = "gaussian" if isinstance(budget, dpcov.ZCDP) else "wishart"
        settings: dict[str, dict[str, Any]] = {additive: {"clip": "private"}, "standardized": {}}
        for mechanism, more in settings.items():
            found: dict[str, list[list[float]]] = {"over 2000": [], "fewer": []}
            for seed in range(runs):
                release = dpcov.covariance(
                    table.rows, budget, schema=table.schema, by=by, mechanism=mechanism, seed=seed, **more
                )
                for level, truth in truths.items():
                    errors = truth.errors(release[level])
                    found["over 2000" if len(parts[level]) > 2000 else "fewer"].append([errors[one] for one in FIGURES[:5]])
            for size, all_errors in found.items():
                cells = " | ".join(f"{error:.3f}" for error in np.mean(np.array(all_errors), axis=0))
                print(f"| {name} | {mechanism} | {size} | {cells} |", flush=True)


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["noise", "pooling", "units"])
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--runs", type=int, default=10)
    asked = parser.parse_args()
    if asked.what == "noise":
        noise()
    elif asked.what == "units":
        units("marital-status" if asked.measure else "workclass", asked.data, asked.runs)
    else:
        pooling(lambda: (measured_on if asked.measure else chosen_on)(asked.data), asked.runs, asked.only)


if __name__ == "__main__":
    main()
