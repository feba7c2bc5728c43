"""Made-up rows whose principal components are known, and how tests release them.

Rows have norm at most 1 and second moments of 0.25, 0.06 and less along the columns of BASIS.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dpcov
from tests.cli.shell import Result, call
from tests.helpers.folders import made_once

NAMES = ["height", "weight", "age", "income", "steps", "sleep"]
RANDOM = np.random.default_rng(5)
BASIS = np.linalg.qr(RANDOM.normal(size=(6, 6)))[0]
ROWS = RANDOM.uniform(-1, 1, size=(4000, 6)) * [0.86, 0.42, 0.2, 0.1, 0.05, 0.02] @ BASIS.T
TRUTH = BASIS[:, 0]
SPEND = ["--epsilon", "1", "--row-norm", "1", "--columns", ",".join(NAMES)]
CHAIN = ["--mechanism", "ppca", "--option", "approximate=true", "--option", "sweeps=300"]
MECHANISMS = {name: ["--mechanism", name] for name in dpcov.MECHANISMS["pca"]} | {"ppca": CHAIN}


@made_once
def write_table(folder: Path) -> None:
    """Write the rows as people.csv and people.parquet."""
    frame = pd.DataFrame(ROWS, columns=NAMES)
    frame.to_csv(folder / "people.csv", index=False)
    frame.to_parquet(folder / "people.parquet")


def contents() -> dict[str, bytes]:
    """Return all files of the folder."""
    return {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}


def released(*words: str, k: int = 2, spend: list[str] = SPEND) -> Result:
    """Release components as pca.json, with a seed."""
    made = call("release", "people.parquet", "--pca", str(k), *spend, *words, "--seed", "3", "-o", "pca.json")
    assert made.code == 0, made.err
    return made


def covariance(**settings: Any) -> dpcov.Release:
    """Release a covariance as covariance.json."""
    release = dpcov.covariance(ROWS, dpcov.PureDP(1), row_norm=1, seed=1, **settings)
    release.save("covariance.json")
    return release


def size(path: str) -> tuple[int, int]:
    """Return width and height of a whole PNG file."""
    content = Path(path).read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    assert content.endswith(b"IEND\xaeB`\x82")
    width, height = struct.unpack(">II", content[16:24])
    return width, height
