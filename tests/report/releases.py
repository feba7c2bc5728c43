"""Releases of every kind that a page can be of: seeded, small, made once."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pyarrow as pa

import dpcov
from tests.cli.linear_rows import made

HOSTILE = (
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 2</script>",
    '"><img src=x onerror="window.hacked = 3">',
    'it\'s "quoted" `${window.hacked = 4}` \\',
    "عمود \u202e gnp.exe",
    "<!-- --!>" + "long " * 2048,
)
LEVELS = ("</script>", "<b>bold</b>")


@cache
def every_kind() -> dict[str, dpcov.Release]:
    """Return releases by what they are."""
    rows = np.random.default_rng(2601).normal(size=(3000, 5)) * [0.4, 0.3, 0.2, 0.1, 0.1]
    rows[:, 2] += rows[:, 0] / 3
    few = np.random.default_rng(2602).uniform(size=(178, 4))
    bounds = dpcov.Schema({f"c{j}": dpcov.Numeric(0, 1) for j in range(4)})
    approximate = {"mechanism": "ppca", "approximate": True, "sweeps": 5}
    return {
        "table": made()["centred.json"],
        "private units": in_units(),
        "about 0": dpcov.covariance(rows, dpcov.ZCDP(1), row_norm=1, seed=3),
        "rows": dpcov.covariance(rows, dpcov.ZCDP(1), row_norm=1, center=True, mechanism="gaussian", seed=3),
        "raw": dpcov.covariance(
            rows[:200], dpcov.ZCDP(Fraction(1, 20)), row_norm=1, mechanism="gaussian", postprocess="none", seed=3
        ),
        "rounds": made()["rounds.json"],
        "drawn": made()["drawn.json"],
        "one column": made()["single.json"],
        "mean": made()["mean.json"],
        "components": made()["pca.json"],
        "approximate": dpcov.pca(rows, dpcov.PureDP(1), 2, row_norm=1, seed=3, **approximate),  # type: ignore[arg-type]
        "one regression": made()["one.json"],
        "hopeless": dpcov.covariance(
            pa.table({f"c{j}": few[:, j] for j in range(4)}), dpcov.PureDP("0.1"), schema=bounds, seed=3
        ),
        "hostile": hostile(),
        **of_wards(),
    }


@cache
def in_units() -> dpcov.Release:
    """Return a release of a table that was measured in private units, with levels, missing cells and a product."""
    random = np.random.default_rng(2603)
    n = 20_000
    age, job = random.uniform(20, 60, n), random.integers(0, 3, n)
    pay = 900 * age + 6000 * (job == 1) + random.normal(0, 9000, n)
    seen = random.random(n) < 0.8
    columns: dict[str, dpcov.Numeric | dpcov.Categorical | dpcov.Product] = {
        "age": dpcov.Numeric(18, 90),
        "job": dpcov.Categorical(["clerk", "nurse", "cook"]),
        "pay": dpcov.Numeric(0, 120_000),
        "score": dpcov.Numeric(-5, 5, nullable=True),
        "age by pay": dpcov.Product(["age", "pay"]),
    }
    table = pa.table({
        "age": age, "job": np.array(["clerk", "nurse", "cook"])[job], "pay": pay,
        "score": pa.array(random.normal(0, 1, n) + age / 40, mask=~seen),
    })  # fmt: skip
    return dpcov.covariance(table, dpcov.ZCDP(1), schema=dpcov.Schema(columns), seed=4)


@cache
def of_wards() -> dict[str, dpcov.Release]:
    """Return releases of visits: of wards, some of them in none, and of people with several visits and weights."""
    random = np.random.default_rng(2606)
    n = 6000
    age, sex = random.uniform(20, 60, n), random.choice(["f", "m"], n)
    table = pa.table({
        "who": random.integers(0, 2500, n), "weight": np.exp(random.normal(0, 0.5, n)),
        "ward": random.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2]), "age": age, "sex": sex,
        "pay": 900 * age + 6000 * (sex == "m") + random.normal(0, 9000, n),
    })  # fmt: skip
    columns: dict[str, dpcov.Numeric | dpcov.Categorical] = {
        "ward": dpcov.Categorical(["a", "b"]),
        "age": dpcov.Numeric(18, 90),
        "sex": dpcov.Categorical(["f", "m"]),
        "pay": dpcov.Numeric(0, 120_000),
    }
    schema, budget = dpcov.Schema(columns), dpcov.ZCDP(1)
    weighed = {"weight": "weight", "max_weight": 1000.0, "clip_weight": "private"}
    people = {"unit": "who", "by": "ward", "mechanism": "standardized"}
    return {
        "groups": dpcov.covariance(table, budget, schema=schema, by="ward", mechanism="gaussian", seed=6),
        "a group": dpcov.covariance(table, budget, schema=schema, **people, **weighed, seed=6)["b"],  # type: ignore[arg-type]
        "weights": dpcov.covariance(table, budget, schema=schema, **weighed, seed=6),  # type: ignore[arg-type]
    }


def hostile() -> dpcov.Release:
    """Return a release whose names and levels are text that a browser would run."""
    random = np.random.default_rng(2604)
    columns: dict[str, dpcov.Numeric | dpcov.Categorical] = {name: dpcov.Numeric(0, 1) for name in HOSTILE}
    cells = {name: random.uniform(size=4000) for name in HOSTILE}
    cells[HOSTILE[1]] = cells[HOSTILE[0]] * 0.7 + cells[HOSTILE[1]] * 0.3
    columns["<kind>"] = dpcov.Categorical(list(LEVELS))
    table = pa.table({**cells, "<kind>": np.array(LEVELS)[random.integers(0, 2, 4000)]})
    return dpcov.covariance(table, dpcov.ZCDP(2), schema=dpcov.Schema(columns), seed=5)


@cache
def large() -> dpcov.Release:
    """Return a release of more features than a page stores every number of: the first ten go together."""
    random = np.random.default_rng(2605)
    rows = random.normal(size=(20_000, 280)) * 0.002
    rows[:, :10] = random.normal(size=(20_000, 1)) * 0.2 + random.normal(size=(20_000, 10)) * 0.1
    return dpcov.covariance(rows, dpcov.ZCDP(1), row_norm=4, seed=6)
