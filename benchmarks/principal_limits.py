"""Where the automatic choice of components has less advantage, or none: zCDP, loose bounds, data without small columns."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

import dpcov
from benchmarks.coinpress_runs import table
from benchmarks.common import Mean, write
from benchmarks.principal_runs import BEST, EPSILON, LINES, Line, Maker, cells, compare, read, records_of
from experiments.chaudhuri2013.sets import Floats, Table, at_hand, subset

RHO = dpcov.ZCDP("0.005")  # what epsilon = 0.1 implies
ZCDP_LINES: dict[str, Line] = {
    "auto": (RHO, {}),
    "gaussian": (RHO, {"mechanism": "gaussian"}),
    "gaussian, clipped": (RHO, {"mechanism": "gaussian", "clip": "private"}),
}
PURE_LINES: dict[str, Line] = {
    "auto": LINES["auto"],
    "unscreened": (EPSILON, {"mechanism": "screened", "screen": False}),
    "wishart, clipped": (EPSILON, {"mechanism": "wishart", "clip": "private"}),
    "wishart": LINES["wishart"],
    "ppca": LINES["ppca"],
}
SIZES = {"insurance": (2000, 9822), "kddcup": (3000, 30_000), "census": (60_000,)}
LOOSE, RUNS = 10.0, 5
LIMITS = "principal_limits.csv"


def isotropic(n: int, d: int, random: np.random.Generator) -> Floats:
    """Draw rows of norm 1 that have no direction."""
    rows = random.standard_normal((n, d))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def spiked(n: int, d: int, along_columns: bool, random: np.random.Generator) -> Floats:
    """Draw rows of norm 1, half of whose square lies along four directions: columns, or four in a random basis."""
    scales = np.full(d, np.sqrt(0.5 / (d - 4)))
    scales[:4] = np.sqrt(0.125)
    rows = random.standard_normal((n, d)) * scales
    if not along_columns:
        rows = rows @ np.linalg.qr(random.standard_normal((d, d)))[0]
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def minority(n: int, d: int, part: float, random: np.random.Generator) -> Floats:
    """Draw rows of which a part has norm 1 and lies along two columns; the others have norm 0.1 and lie along two others."""
    rows = np.zeros((n, d))
    angle, long = random.uniform(0, 2 * np.pi, n), random.random(n) < part
    rows[:, 0], rows[:, 1] = np.cos(angle), np.sin(angle)
    rows[~long] = 0.1 * np.roll(rows[~long], 2, axis=1)
    return rows


def rotated(rows: Table, n: int, random: np.random.Generator) -> Table:
    basis, _ = np.linalg.qr(random.standard_normal((rows.shape[1], rows.shape[1])))
    return np.asarray(subset(rows, n, random) @ basis.astype(rows.dtype))


def limits(names: list[str], folder: Path | None) -> None:
    records: dict[tuple[str, ...], dict[str, object]] = {_place(record): dict(record) for record in read(LIMITS)}
    zcdp: list[list[object]] = []
    pure: list[list[object]] = []

    def add(what: str, n: int, make: Maker, k: int, runs: int, lines: Mapping[str, Line], row_norm: float = 1.0) -> None:
        found: dict[str, Mean] = compare(make, runs, k, lines, row_norm)
        for record in records_of(found, what=what, n=n, k=k, runs=runs, zcdp=lines is ZCDP_LINES):
            records[_place(record)] = record
        (zcdp if lines is ZCDP_LINES else pure).append([what, n, k, *cells(found)])
        write(LIMITS, list(records.values()))  # data sets that are not at hand keep what they had

    for along in (True, False):
        where = "along columns" if along else "rotated"
        for n in (5000, 20_000, 50_000):
            add(f"spiked, d = 100, {where}", n, partial(spiked, n, 100, along), 4, RUNS, PURE_LINES)
    add("isotropic, d = 50", 20_000, partial(isotropic, 20_000, 50), 5, RUNS, PURE_LINES)
    for part in (0.02, 0.05, 0.2):
        add(f"long minority of {part:.0%}, d = 20", 20_000, partial(minority, 20_000, 20, part), 2, RUNS, PURE_LINES)
    for name, (rows, k) in at_hand([name for name in SIZES if name in names], folder):
        for n in SIZES[name]:
            add(name, n, partial(subset, rows, n), k, RUNS, ZCDP_LINES)
            add(f"{name}, row_norm = {LOOSE:g}", n, partial(subset, rows, n), k, RUNS, PURE_LINES, LOOSE)
            if name == "kddcup":
                add(f"{name}, rotated", n, partial(rotated, rows, n), k, RUNS, PURE_LINES)
    print(f"\nvariance captured, {RHO!r}\n")
    table(["data", "n", "k", BEST, *ZCDP_LINES], zcdp)
    print(f"\nvariance captured, {EPSILON!r}\n")
    table(["data", "n", "k", BEST, *PURE_LINES], pure)


def _place(record: Mapping[str, object]) -> tuple[str, ...]:
    return tuple(str(record[key]) for key in ("what", "n", "zcdp", "line"))
