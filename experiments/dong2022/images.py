"""Figure 4 and its versions for single digits: MNIST, pixels divided by 255·28, so that any image has norm at most 1."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np

import dpcov
from benchmarks.datasets import mnist
from experiments.data import folder_with
from experiments.dong2022.lines import EM, OURS, PRINTED, ZERO, Floats, errors, lines
from experiments.dong2022.synthetic import BUDGETS, ERROR
from experiments.frame import Experiment, Lines, Panel, Point

IMAGES, LABELS = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"
COMMON = ("GaussCov", "SeparateCov", "AdaptiveCov", PRINTED, ZERO, OURS)
QUICK_BUDGETS = (1e-3, 0.1, 10.0)
SIZES = (600, 2000, 6000, 20_000, 60_000)
DIGITS_SHOWN = (0, 1, 2)


@lru_cache(maxsize=1)
def _images(folder: Path | None) -> Floats:
    return mnist(folder_with(folder, IMAGES))


@lru_cache(maxsize=1)
def _labels(folder: Path | None) -> np.ndarray:
    with gzip.open(folder_with(folder, LABELS) / LABELS) as file:
        return np.frombuffer(file.read(), dtype=np.uint8, offset=8)


def run(point: Point, wanted: Lines, seed: int, folder: Path | None) -> Mapping[str, float]:
    """Take a random part of the images, or all of one digit."""
    rows = _images(folder)
    if "digit" in point.settings:
        rows = rows[_labels(folder) == point.settings["digit"]]
    elif (n := int(point.settings["n"])) < len(rows):
        rows = rows[np.random.default_rng((1, seed)).permutation(len(rows))[:n]]
    return errors(point, wanted, rows, dpcov.ZCDP(f"{point.settings['rho']:g}"), seed)


def _figure4(quick: bool) -> list[Point]:
    runs, budgets = 2 if quick else 20, QUICK_BUDGETS if quick else BUDGETS
    points = []
    for n in (6000, 60_000):
        names = lines(*COMMON, *([EM] if n == 6000 or not quick else []))
        points += [Point(f"n = {n}", rho, names, runs, {"n": n, "rho": rho}) for rho in budgets]
    sizes = (600, 6000, 60_000) if quick else SIZES
    return points + [Point("ρ = 0.1", float(n), lines(*COMMON), runs, {"n": n, "rho": 0.1}) for n in sizes]


def _digits(quick: bool) -> list[Point]:
    runs, budgets = 2 if quick else 20, QUICK_BUDGETS if quick else BUDGETS
    settings = [(f"digit {digit}", rho, {"digit": digit, "rho": rho}) for digit in DIGITS_SHOWN for rho in budgets]
    return [Point(panel, rho, lines(*COMMON), runs, where) for panel, rho, where in settings]


FIGURE4 = Experiment(
    "dong2022",
    "figure4",
    "MNIST, 784 columns: against budget and rows",
    (Panel("n = 6000", "ρ", ERROR), Panel("n = 60000", "ρ", ERROR), Panel("ρ = 0.1", "rows n", ERROR)),
    _figure4,
    run,
    ours=(OURS,),
)
DIGITS = Experiment(
    "dong2022",
    "digits",
    "MNIST, single digits (the paper's Appendix J)",
    tuple(Panel(f"digit {digit}", "ρ", ERROR) for digit in DIGITS_SHOWN),
    _digits,
    run,
    ours=(OURS,),
)
