"""The data sets of the accuracy tables: from scikit-learn, from public originals, or from copies in a folder.

Scaling looks at the data (largest row norm, minima and maxima): right for experiments, never for a private release.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]


def to_unit_ball(rows: Rows) -> Rows:
    return np.asarray(rows / np.linalg.norm(rows, axis=1).max())


def to_unit_interval(rows: Rows) -> Rows:
    low, high = rows.min(axis=0), rows.max(axis=0)
    return np.asarray((rows - low) / np.where(high > low, high - low, 1.0))


def wine(_: Path | None) -> Rows:
    from sklearn.datasets import load_wine

    return to_unit_ball(load_wine().data)


def cancer01(_: Path | None) -> Rows:
    from sklearn.datasets import load_breast_cancer

    return to_unit_ball(to_unit_interval(load_breast_cancer().data))


def digits(_: Path | None) -> Rows:
    from sklearn.datasets import load_digits

    return to_unit_ball(load_digits().data)


def airfoil01(folder: Path | None) -> Rows:
    if folder is None:
        rows = _openml("airfoil_self_noise")
    else:
        rows = np.loadtxt(folder / "airfoil_self_noise.csv.gz", delimiter=",", skiprows=1)
    return to_unit_ball(to_unit_interval(rows))


def adult(folder: Path | None) -> Rows:
    """Six numeric columns scaled to [0, 1], then 102 one-hot columns; ``?`` is a level like any other."""
    if folder is None:
        raise FileNotFoundError("adult is read from a folder with adult.data.gz and adult.test.gz")
    records = []
    for name in ("adult.data.gz", "adult.test.gz"):
        with gzip.open(folder / name, "rt") as lines:
            cells = ([cell.strip() for cell in line.split(",")] for line in lines)
            records += [row[:14] for row in cells if len(row) == 15]
    table = np.array(records)
    numeric = [0, 2, 4, 10, 11, 12]
    columns = [to_unit_interval(table[:, numeric].astype(np.float64))]
    for j in sorted(set(range(14)) - set(numeric)):
        columns.append((table[:, j, None] == np.unique(table[:, j])).astype(np.float64))
    return to_unit_ball(np.hstack(columns))


def mnist(folder: Path | None) -> Rows:
    """60 000 images; x/(255·28) has norm at most 1 whatever the image."""
    if folder is None:
        return _openml("mnist_784")[:60_000] / (255 * 28)
    with gzip.open(folder / "train-images-idx3-ubyte.gz") as file:
        pixels = np.frombuffer(file.read(), dtype=np.uint8, offset=16)
    return pixels.reshape(60_000, 784) / (255.0 * 28.0)


def _openml(name: str) -> Rows:
    from sklearn.datasets import fetch_openml

    data = fetch_openml(name, version=1, as_frame=False)
    target = np.asarray(data.target, dtype=np.float64).reshape(-1, 1)
    return data.data if name.startswith("mnist") else np.hstack([data.data, target])


DATASETS: dict[str, Callable[[Path | None], Rows]] = {
    "wine": wine,
    "airfoil01": airfoil01,
    "cancer01": cancer01,
    "digits": digits,
    "adult": adult,
    "mnist": mnist,
}
