"""Figure 5: texts as hashed counts of words, of 20 Newsgroups: the paper's news commentaries were not to be had.

Only the order of the lines can be compared. As in the paper each text has norm 1, or all are divided by the largest norm.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import numpy as np

import dpcov
from experiments.data import MissingDataError, folder_with
from experiments.dong2022.lines import EM, OURS, PRINTED, ZERO, Floats, errors, lines
from experiments.dong2022.synthetic import BUDGETS, ERROR
from experiments.frame import Experiment, Lines, Options, Panel, Point

TEXTS = "20news-bydate.jsonl.gz"
UNIT, LARGEST = "norm 1", "largest norm 1"
WIDTHS = (32, 128, 512)
COMMON = ("GaussCov", "SeparateCov", "AdaptiveCov", PRINTED, ZERO, OURS)
DEFAULTS: Options = {"d": 128, "n": 15_000, "rho": 0.1}


@lru_cache(maxsize=6)
def counted(folder: Path | None, d: int, norm: str) -> Floats:
    """Return the texts as rows."""
    from sklearn.feature_extraction.text import HashingVectorizer

    hashed = HashingVectorizer(n_features=d, alternate_sign=False, norm="l2" if norm == UNIT else None, decode_error="ignore")
    rows = hashed.transform(_texts(folder)).toarray()
    return np.asarray(rows / max(np.linalg.norm(rows, axis=1).max(), 1.0))


@lru_cache(maxsize=1)
def _texts(folder: Path | None) -> list[str]:
    if folder is None:
        from sklearn.datasets import fetch_20newsgroups

        try:
            return list(fetch_20newsgroups(subset="all").data)
        except OSError as reason:
            raise MissingDataError(f"20 Newsgroups could not be fetched ({reason})") from None
    with gzip.open(folder_with(folder, TEXTS) / TEXTS, "rt", encoding="utf-8") as file:
        return [json.loads(line)["text"] for line in file]


def run(point: Point, wanted: Lines, seed: int, folder: Path | None) -> Mapping[str, float]:
    d, n, rho, norm = (point.settings[name] for name in ("d", "n", "rho", "norm"))
    rows = counted(folder, int(d), str(norm))
    chosen = rows[np.random.default_rng((1, seed)).permutation(len(rows))[: int(n)]]
    return errors(point, wanted, chosen, dpcov.ZCDP(f"{rho:g}"), seed)


def _points(quick: bool) -> list[Point]:
    runs, points = 3 if quick else 50, []
    for norm in (UNIT, LARGEST):
        grids: dict[str, tuple[float, ...]] = {
            "d": WIDTHS,
            "n": (1000, 4000, 15_000) if quick else (1000, 2000, 4000, 8000, 15_000),
            "rho": (1e-3, 0.1, 10.0) if quick else BUDGETS,
        }
        for name, grid in grids.items():
            for x in grid:
                settings = {**DEFAULTS, "norm": norm, name: x}
                names = (*COMMON, *([EM] if settings["d"] <= 128 else []))
                points.append(Point(f"{norm}, against {name}", float(x), lines(*names), runs, settings))
    return points


FIGURE5 = Experiment(
    "dong2022",
    "figure5",
    "Texts as hashed counts (20 Newsgroups, not the paper's data): d = 128, n = 15 000, ρ = 0.1, but for what varies",
    tuple(Panel(f"{norm}, against {name}", name, ERROR) for norm in (UNIT, LARGEST) for name in ("d", "n", "rho")),
    _points,
    run,
    ours=(OURS,),
)
