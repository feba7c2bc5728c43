"""How far the variances along the components of `screened` are off: those of its block beside those that were asked apart."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

import dpcov
from benchmarks.coinpress_runs import table
from benchmarks.common import write
from benchmarks.principal_runs import EPSILON
from dpcov.kernel.budget import Budget
from dpcov.kernel.questions.along import Explained
from dpcov.kernel.rows.grid import Grid
from experiments.chaudhuri2013.sets import Floats, Table, at_hand, second_moment, subset

RUNS = 20
SIZES = {"insurance": (2000, 9822), "kddcup": (3000, 30_000), "localization": (3000, 57_623)}
EUROPE = (4.8, 1.2, 0.7, 0.6, *[0.5] * 16)  # about the spectrum of the map of Europe in the CoinPress paper, 1387 rows
VARIANCES = "principal_variances.csv"
Case = tuple[str, Callable[[np.random.Generator], Table], int, Budget, float]


def drawn(n: int, spectrum: tuple[float, ...], degrees: float, random: np.random.Generator) -> Floats:
    """Draw rows with this spectrum, up to a factor: Gaussian ones, or with heavier tails for few degrees of freedom."""
    lengths = np.sqrt(degrees / random.chisquare(degrees, size=(n, 1))) if np.isfinite(degrees) else 1.0
    return np.asarray(random.standard_normal((n, len(spectrum))) * np.sqrt(spectrum) * lengths)


def long_rows(n: int, d: int, random: np.random.Generator) -> Floats:
    """Draw rows of which one in a hundred is long, along the first component: as many as clipping may leave outside."""
    rows = random.standard_normal((n, d)) * np.sqrt(np.array([0.3, 0.2, 0.1, *[0.002] * (d - 3)]))
    rows[random.random(n) < 0.01] = 7 * np.eye(d)[0]
    return np.asarray(rows)


def variances(names: list[str], folder: Path | None) -> None:
    rho = dpcov.ZCDP("0.1")
    cases: list[Case] = []
    for name, (rows, k) in at_hand([name for name in SIZES if name in names], folder):
        cases += [(name, partial(subset, rows, n), k, EPSILON, 1.0) for n in SIZES[name]]
    cases += [("like Europe", partial(drawn, 1387, EUROPE, np.inf), 2, rho, bound) for bound in (10.0, 30.0, 100.0)]
    cases += [("t with 3 degrees", partial(drawn, n, EUROPE, 3.0), 2, rho, 100.0) for n in (2000, 20_000)]
    cases += [(f"long rows, d = {d}", partial(long_rows, 20_000, d), 3, rho, 100.0) for d in (20, 500)]
    print(f"\nr.m.s. error of the variances along the components, as a part of their norm, {RUNS} runs")
    print("swapped: in how many of them those asked apart would put another component first\n")
    table(["data", "n", "budget", "row_norm", "asked apart", "explained", "swapped"], [])
    records: list[dict[str, object]] = []
    for name, make, k, budget, bound in cases:
        errors = np.zeros((RUNS, 2))
        swapped = 0
        for seed in range(RUNS):
            rows = make(np.random.default_rng((1, seed)))
            release = dpcov.pca(rows, budget, k, row_norm=bound, seed=seed)
            truth = np.einsum("ij,ij->i", release.components, release.components @ second_moment(rows))
            asked = release.take(Explained)
            assert isinstance(asked.question, Explained)
            assert isinstance(asked.question.moment.grid, Grid)
            apart = asked.values[:-1] / release.n * asked.question.moment.grid.row_norm**2
            errors[seed] = [np.linalg.norm(found - truth) / np.linalg.norm(truth) for found in (apart, release.explained)]
            swapped += int(apart.argmax() != 0)
        apart_error, error = np.sqrt((errors**2).mean(axis=0))
        print(f"| {name} | {len(rows)} | {budget!r} | {bound:g} | {apart_error:.3f} | {error:.3f} | {swapped} |", flush=True)
        records.append({"data": name, "n": len(rows), "budget": repr(budget), "row_norm": bound})
        records[-1] |= {"asked apart": apart_error, "explained": error, "swapped": swapped}
    write(VARIANCES, records)
