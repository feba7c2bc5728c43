"""Small models and clear pairs: are printed coefficients as good as the raw ones, and is what is called clear really there?

python -m benchmarks.small_models --data DIR
python -m benchmarks.small_models --seeds 10      without Adult: independent columns and missing cells

``models``       five regressions of three features on Adult at ε = 1. R.m.s. errors of the coefficients that a model prints, in
                 deviations of feature and target, over those of the raw least squares (``alpha=0``): at most 1.05 is wanted.
                 ``explained`` over the truth, on average: within 10 % is wanted. Intervals about the rows: how often they hold.
``clear``        of Adult's pairs of features with a correlation of .2 or more, 60 % or more are to be called clear.
``independent``  of pairs of columns that are drawn independently, at most one in 200 is to be called clear.
``missing``      means where 15 % and 30 % of the cells are missing: how often 95 % intervals about the population hold.

The truth of the first two is that of the rows, of the others that of the law they are drawn by. Run number s has seed=s.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import dpcov
from benchmarks.units_runs import features, observed_moments
from examples.adult.table import original

Floats = NDArray[np.float64]

BUDGET = dpcov.PureDP(1)
SCHEMA = Path(__file__).parents[1] / "examples" / "adult" / "adult.toml"
MODELS = {
    "income=>50K": ("education-num", "age", "sex=Male"),
    "hours-per-week": ("age", "sex=Male", "income=>50K"),
    "age": ("hours-per-week", "education-num", "sex=Male"),
    "income=>50K ": ("marital-status=Married-civ-spouse", "sex=Male", "hours-per-week"),  # the same target once more
    "education-num": ("age", "income=>50K", "sex=Male"),
}
MOST, NEAR = 1.05, 0.10  # printed over raw errors; how far `explained` may be off on average
STRONG, SEEN = 0.2, 0.6  # of pairs that are so correlated, so many are to be called clear
FALSE = 1 / 200  # of independent pairs: called clear, at most
ROWS, COLUMNS = 8000, 10  # of drawn tables
LEVEL = 0.95


class Fitted(NamedTuple):
    """Errors of the coefficients that are printed, and of the raw ones, in deviations; `explained` over the truth."""

    printed: Floats
    raw: Floats
    explained: float
    held: NDArray[np.bool_]
    penalised: bool


class Truth(NamedTuple):
    """What the rows have, by feature."""

    names: tuple[str, ...]
    columns: NDArray[np.intp]
    deviation: Floats
    covariance: Floats

    @classmethod
    def of(cls, rows: pa.Table, schema: dpcov.Schema) -> Truth:
        """Return the moments of cells between their bounds."""
        _, deviation, correlation = observed_moments(features(rows, schema))
        columns = np.repeat(np.arange(len(schema.used)), schema.widths())
        return cls(schema.feature_names, columns, deviation, correlation * np.outer(deviation, deviation))

    def model(self, target: str, of: Sequence[str]) -> tuple[Floats, float]:
        """Return the coefficients of least squares, and the share of the variance that they explain."""
        x, y = [self.names.index(name) for name in of], self.names.index(target)
        along = self.covariance[x, y]
        exact = np.asarray(np.linalg.solve(self.covariance[np.ix_(x, x)], along))
        return exact, float(exact @ along / self.covariance[y, y])

    def units(self, target: str, of: Sequence[str]) -> Floats:
        """Return what takes coefficients to deviations of feature and target."""
        x, y = [self.names.index(name) for name in of], self.names.index(target)
        return np.asarray(self.deviation[x] / self.deviation[y])


def fitted(release: dpcov.Release, truth: Truth, target: str, of: Sequence[str]) -> Fitted:
    """Fit one model as people do, and as least squares on the raw moments."""
    model, raw = release.ridge(target, features=list(of)), release.ridge(target, features=list(of), alpha=0.0)
    (exact, share), units = truth.model(target, of), truth.units(target, of)
    assert tuple(model.feature_names) == tuple(of)
    intervals = model.interval(LEVEL, about="rows").coefficients
    held = (intervals.lower <= exact) & (exact <= intervals.upper)
    return Fitted(
        (model.coefficients - exact) * units, (raw.coefficients - exact) * units, model.explained / share, held, model.penalised
    )


def rms(errors: Sequence[Floats]) -> Floats:
    """Return root mean squares over runs."""
    return np.asarray(np.sqrt(np.mean(np.square(errors), axis=0)))


def adult(folder: Path, seeds: range) -> None:
    """Print a line for each small model, and how many strong pairs are called clear."""
    rows, schema = original(folder), dpcov.Schema.read(SCHEMA)
    truth = Truth.of(rows, schema)
    with np.errstate(all="ignore"):
        correlation = truth.covariance / np.outer(truth.deviation, truth.deviation)
    apart = np.triu(truth.columns[:, None] != truth.columns[None, :], 1)
    strong = apart & (np.abs(correlation) >= STRONG)
    runs: dict[str, list[Fitted]] = {name: [] for name in MODELS}
    clear, wrong = [], []
    for seed in seeds:
        release = dpcov.covariance(rows, BUDGET, schema=schema, seed=seed)
        for name, of in MODELS.items():
            runs[name].append(fitted(release, truth, name.strip(), of))
        found = release.describe().correlation
        assert found is not None
        clear.append(float(found.clear[strong].mean()))
        far = np.abs(found.values - correlation) > 3 * found.standard_error
        wrong.append(float(far[apart & found.clear].mean()))
    print(f"Adult, {BUDGET}, {len(seeds)} seeds: r.m.s. errors of coefficients, in deviations")
    for name, of in MODELS.items():
        each = runs[name]
        printed, raw = rms([one.printed for one in each]), rms([one.raw for one in each])
        ratio, explained = float((printed / raw).max()), float(np.mean([one.explained for one in each]))
        held = np.mean([one.held for one in each], axis=0)
        good = ratio <= MOST and abs(explained - 1) <= NEAR
        print(
            f"  {name.strip()} <- {', '.join(of)}: printed {_listed(printed)}, raw {_listed(raw)}, worst ratio {ratio:.3f}; "
            f"explained {explained:.2f}; intervals hold {', '.join(f'{100 * share:.0f}' for share in held)} %; "
            f"penalised {sum(one.penalised for one in each)}; {_verdict(good)}"
        )
    seen = float(np.mean(clear))
    print(
        f"Pairs with |r| >= {STRONG}: {int(strong.sum())}, clear {100 * seen:.0f} %, worst seed {100 * min(clear):.0f} %; "
        f"{_verdict(seen >= SEEN)}. Of clear ones {100 * np.mean(wrong):.1f} % are off by three standard errors or more."
    )


def independent(seeds: range) -> None:
    """Print how many pairs of independent columns are called clear."""
    schema = dpcov.Schema({f"c{j}": dpcov.Numeric(-6, 6) for j in range(COLUMNS)})
    pairs, clear = np.triu_indices(COLUMNS, 1), 0
    for seed in seeds:
        rows = np.random.default_rng([seed, 1]).standard_normal((ROWS, COLUMNS))
        found = dpcov.covariance(_table(rows), BUDGET, schema=schema, seed=seed).describe().correlation
        assert found is not None
        clear += int(found.clear[pairs].sum())
    number = len(seeds) * len(pairs[0])
    verdict = _verdict(clear <= FALSE * number)
    print(f"Independent columns, {ROWS} x {COLUMNS}: {clear} of {number} pairs are called clear; {verdict}")


def missing(seeds: range) -> None:
    """Print how often intervals of means hold where cells are missing, and how wide they are beside the errors."""
    schema = dpcov.Schema({f"c{j}": dpcov.Numeric(-5, 7, nullable=True) for j in range(COLUMNS)})
    for gone in (0.15, 0.30):
        held, errors, widths = [], [], []
        for seed in seeds:
            random = np.random.default_rng([seed, int(100 * gone)])
            rows = 1 + random.standard_normal((ROWS, COLUMNS))
            table = _table(rows, random.random(rows.shape) < gone)
            found = dpcov.covariance(table, BUDGET, schema=schema, seed=seed).interval(LEVEL).mean
            assert found is not None
            held.append((found.lower <= 1) & (found.upper >= 1))
            errors.append(found.estimate - 1)
            widths.append(found.upper - found.lower)
        off = float(np.sqrt(np.mean(np.square(errors))))
        print(
            f"Means with {100 * gone:.0f} % missing, {ROWS} x {COLUMNS}: intervals hold {100 * np.mean(held):.1f} %, "
            f"off by {off:.3f} deviations (r.m.s.), width {np.mean(widths) / (3.92 * off):.2f} times 3.92 of it"
        )


def _table(rows: Floats, gone: Any = None) -> pa.Table:
    masks: Any = [None] * rows.shape[1] if gone is None else gone.T
    return pa.table({f"c{j}": pa.array(cells, mask=mask) for j, (cells, mask) in enumerate(zip(rows.T, masks, strict=True))})


def _listed(numbers: Floats) -> str:
    return ", ".join(f"{number:.3f}" for number in numbers)


def _verdict(good: bool) -> str:
    return "as wanted" if good else "MISSED"


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, run, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=50, help="releases of each table")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with UCI's adult.data and adult.test")
    given = parser.parse_args(arguments)
    seeds = range(given.seeds)
    independent(seeds)
    missing(seeds)
    if given.data is not None:
        adult(given.data, seeds)


if __name__ == "__main__":
    main()
