"""Survey weights: how much accuracy they cost, what a private choice of the largest saves, and whether intervals hold.

``python -m benchmarks.weights --data FOLDER`` prints the tables of docs/people.md, from adult.data, adult.test and
census-income.data, packed or not; without a folder those that are about made-up rows. ``--part`` prints one of them.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dpcov
from dpcov.mechanisms import MECHANISMS

ADULT = ["age", "workclass", "fnlwgt", "education", "education-num", "marital", "occupation", "relationship", "race"]
ADULT += ["sex", "gain", "loss", "hours", "country", "income"]
ADULT_BOUNDS = {"age": (17, 90), "education-num": (1, 16), "hours": (1, 99), "gain": (0, 99999), "loss": (0, 4356)}
CENSUS = {0: "age", 5: "wage", 16: "gain", 17: "loss", 18: "dividends", 24: "weight", 30: "employees", 39: "weeks"}
CENSUS_BOUNDS = {
    "age": (0, 90),
    "wage": (0, 9999),
    "gain": (0, 99999),
    "loss": (0, 4608),
    "employees": (0, 6),
    "weeks": (0, 52),
}
HUGE = dpcov.ZCDP(10**9)


@dataclass(frozen=True)
class Table:
    """Rows with weights, and what is known of them in public: bounds of the columns, and of the weights a tight one."""

    name: str
    rows: pd.DataFrame
    bounds: Mapping[str, tuple[float, float]]
    weight: str
    tight: float

    @property
    def schema(self) -> dpcov.Schema:
        """The schema of the columns of numbers."""
        return dpcov.Schema({name: dpcov.Numeric(*ends) for name, ends in self.bounds.items()})

    def exact(self, weighted: bool) -> tuple[Any, Any, Any]:
        """Return means, deviations and correlations of the rows."""
        values = self.rows[list(self.bounds)].to_numpy(dtype=np.float64)
        weights = self.rows[self.weight].to_numpy(dtype=np.float64) if weighted else np.ones(len(values))
        covariance = np.cov(values, rowvar=False, aweights=weights, bias=True)
        scale = np.sqrt(np.diag(covariance))
        return np.average(values, axis=0, weights=weights), scale, covariance / np.outer(scale, scale)


def adult(folder: Path) -> pd.DataFrame:
    """Return both parts of Adult."""
    files = [_found(folder, name) for name in ("adult.data", "adult.test")]
    return pd.concat([pd.read_csv(file, names=ADULT, skipinitialspace=True, comment="|") for file in files], ignore_index=True)


def census(folder: Path) -> pd.DataFrame:
    """Return the numbers of Census-Income, and its weights."""
    return pd.read_csv(_found(folder, "census-income.data"), header=None, usecols=list(CENSUS)).rename(columns=CENSUS)


def _found(folder: Path, name: str) -> Path:
    return next(file for file in sorted(folder.glob(f"{name}*")) if file.suffix in ("", ".data", ".test", ".gz", ".bz2"))


def tables(folder: Path | None) -> Iterator[Table]:
    """Yield tables with weights: Adult's and the census's own, and Adult with weights of heavier tails that go with age."""
    if folder is None:
        return
    rows, draw = adult(folder), np.random.default_rng(7510)
    older = 0.3 * (rows["age"] - rows["age"].mean()) / rows["age"].std()
    made = rows.assign(
        lognormal=np.exp(draw.normal(size=len(rows)) + older), pareto=(draw.pareto(1.5, len(rows)) + 1) * np.exp(older)
    )
    yield Table("Adult, fnlwgt", made, ADULT_BOUNDS, "fnlwgt", 500_000)
    yield Table("Census-Income, instance weight", census(folder), CENSUS_BOUNDS, "weight", 5_000)
    yield Table("Adult, log-normal weights", made, ADULT_BOUNDS, "lognormal", 10)
    yield Table("Adult, Pareto weights", made, ADULT_BOUNDS, "pareto", 20)


def accuracy(folder: Path | None, runs: int) -> None:
    """Compare errors with a tight public bound, with one that is loose, and with a private choice below it."""
    for table in tables(folder):
        largest = float(table.rows[table.weight].max())
        print(f"\n{table.name}: {len(table.rows):,} rows, {len(table.bounds)} columns, epsilon = 1, {runs} runs\n")
        print("| weights | error of correlations | of means, in deviations | counts as 1 |")
        print("|---|---|---|---|")
        ways: list[tuple[str, dict[str, Any]]] = [("without", {})]
        bounds = [("a tight", table.tight), ("the largest as", largest), ("10 times the largest as", 10 * largest)]
        bounds += [("1000 times the largest as", 1000 * largest)]
        for name, most in bounds:
            given: dict[str, Any] = {"weight": table.weight, "max_weight": most}
            ways += [(f"{name} bound", given), (f"{name} bound, private", given | {"clip_weight": "private"})]
        alone = 0.0
        for name, given in ways:
            mean, scale, correlation = table.exact(bool(given))
            pairs, errors, of_means, counts = np.triu_indices(len(scale), 1), [], [], []
            for _ in range(runs):
                made = dpcov.covariance(table.rows, dpcov.PureDP(1), schema=table.schema, center=True, **given)
                errors.append(np.abs(np.asarray(made.correlation()) - correlation)[pairs].mean())
                of_means.append((np.abs(made.mean - mean) / scale).mean())
                counts.append(made.max_weight or np.nan)
            alone = alone or float(np.mean(errors))
            ratio = f"{np.mean(errors):.4f} ({np.mean(errors) / alone:.2f})"
            print(f"| {name} | {ratio} | {np.mean(of_means):.4f} | {np.median(counts):,.4g} |", flush=True)


def hajek(people: int = 20_000) -> None:
    """Compare means with the exact ones of Hájek where noise is nothing: each mechanism that serves weights."""
    draw = np.random.default_rng(7511)
    who = np.repeat(np.arange(people), draw.integers(1, 8, people))
    rows = pd.DataFrame({"age": draw.uniform(18, 90, len(who)), "hours": draw.uniform(1, 80, len(who)), "who": who})
    rows["w"] = draw.lognormal(size=len(who)) * rows["age"]
    bounds = {"age": (0, 100), "hours": (0, 100)}
    schema = dpcov.Schema({name: dpcov.Numeric(*ends) for name, ends in bounds.items()})
    visits = rows.groupby("who")["who"].transform("size")
    shared: dict[str, Any] = {"weight": "w", "max_weight": 1e6, "clip_weight": "private"}
    ways: dict[str, tuple[dict[str, Any], Any]] = {
        "weight": (shared, 1.0),
        "weight and unit": (shared | {"unit": "who"}, visits),
        "weight and rows of people": (shared | {"unit": "who", "weighting": "rows", "most_rows": 3}, np.maximum(visits, 3)),
    }
    print(f"\n{len(rows):,} rows of {people:,} people, budgets without end: largest relative errors of Hájek's means\n")
    print("| mechanism | " + " | ".join(ways) + " |")
    print("|---" * (len(ways) + 1) + "|")
    for target in ("mean", "covariance"):
        for name, mechanism in MECHANISMS[target].items():
            if target == "covariance" and mechanism.centring == "no":  # no mean
                continue
            budget, found = HUGE if dpcov.ZCDP in mechanism.serves else dpcov.PureDP(10**6), []
            for given, parts in ways.values():
                exact = np.average(rows[list(bounds)], axis=0, weights=rows["w"] / parts)
                more: dict[str, Any] = {"center": True} if target == "covariance" else {}
                more |= {"covariance": np.diag([500.0, 500.0])} if name == "karwa-vadhan" else {}
                made = getattr(dpcov, target)(rows, budget, schema=schema, mechanism=name, allow_weak=True, **more, **given)
                found.append(f"{(np.abs(made.mean - exact) / exact).max():.3%}")
            print(f"| {target}, {name} | " + " | ".join(found) + " |", flush=True)


def coverage(runs: int, rows: int = 5000) -> None:
    """Count how often intervals about the population hold, and how wide they are: with the effective size, and with n.

    The population is that of the weights as they count: what is beyond the largest is cut.
    """
    draw = np.random.default_rng(7512)
    schema = dpcov.Schema({"x": dpcov.Numeric(-5, 5), "y": dpcov.Numeric(-5, 5)})
    print(f"\n{rows:,} rows of a weighted sample, {runs} runs: how often intervals of 95 % about the population hold\n")
    print("| weights | rho | means | with n | correlation | with n | width of means, of the correlation, beside n |")
    print("|---|---|---|---|---|---|---|")
    for name in ("unrelated", "with the values", "with the spread"):
        many = _sample(draw, 10**6, name)
        for rho in (0.1, 5):
            held, widths = [], []
            for _ in range(runs):
                part = many.iloc[draw.integers(0, len(many), rows)]
                given: dict[str, Any] = {"weight": "w", "max_weight": 100, "clip_weight": "private"}
                made = dpcov.covariance(part, dpcov.ZCDP(rho), schema=schema, center=True, **given)
                both = [_holds(one, _truth(many, made.max_weight)) for one in (made, _careful(made))]
                held.append([found for one, _ in both for found in one])
                widths.append(np.divide(both[0][1], both[1][1]))
            means, correlation, of_n, pair = np.mean(held, axis=0)
            wide = np.median(widths, axis=0)
            found = f"{means:.3f} | {of_n:.3f} | {correlation:.3f} | {pair:.3f} | {wide[0]:.2f}, {wide[1]:.2f}"
            print(f"| {name} | {rho} | {found} |", flush=True)


def _sample(draw: Any, rows: int, how: str) -> pd.DataFrame:
    """Draw rows of a normal population of correlation 1/2, each with a probability, and weigh them by its inverse."""
    x = draw.normal(size=6 * rows)
    y = 0.5 * x + np.sqrt(0.75) * draw.normal(size=len(x))
    weight = np.exp(0.5 * {"unrelated": draw.normal(size=len(x)), "with the values": x, "with the spread": np.abs(x)}[how])
    kept = np.flatnonzero(draw.random(len(x)) * 6 * weight < np.median(weight))
    return pd.DataFrame({"x": x, "y": y, "w": weight}).iloc[kept]


def _truth(many: pd.DataFrame, most: float | None) -> tuple[Any, float]:
    """Return means and the correlation of a large sample whose weights are cut."""
    weights = many["w"].clip(upper=most).to_numpy()
    values = many[["x", "y"]].to_numpy()
    covariance = np.cov(values, rowvar=False, aweights=weights)
    return np.average(values, axis=0, weights=weights), covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])


def _careful(made: dpcov.Release) -> dpcov.Release:
    """Return the same release as if the squares of weights had not been asked for."""
    return dataclasses.replace(made, answers=tuple(one for one in made.answers if one.question.name != "squared weights"))


def _holds(made: dpcov.Release, truth: tuple[Any, float]) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return whether intervals hold, and how wide they are: of means, of the correlation."""
    found = made.interval(0.95)
    mean: Any = found.mean
    low, high, pair = mean.lower, mean.upper, found.correlations
    means = float(np.mean((low <= truth[0]) & (high >= truth[0])))
    correlation = float(pair.lower[0, 1] <= truth[1] <= pair.upper[0, 1])
    return (means, correlation), (float(np.mean(high - low)), float(pair.upper[0, 1] - pair.lower[0, 1]))


def main() -> None:
    """Print all tables, or one part."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", type=Path, help="folder with adult.data, adult.test and census-income.data")
    options.add_argument("--runs", type=int, default=40)
    options.add_argument("--part", choices=("accuracy", "hajek", "coverage"))
    given = options.parse_args()
    if given.part in (None, "accuracy"):
        accuracy(given.data, given.runs)
    if given.part in (None, "hajek"):
        hajek()
    if given.part in (None, "coverage"):
        coverage(10 * given.runs)


if __name__ == "__main__":
    main()
