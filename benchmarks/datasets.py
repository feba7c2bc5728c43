"""The data sets of the accuracy tables: from scikit-learn, from public originals, from copies in a folder, or drawn.

Where a name ends in 01, columns are scaled to [0, 1] first; then all is divided by the largest norm of a row. Scaling looks at
the data: right for experiments, never for a private release.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator
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


def wine01(_: Path | None) -> Rows:
    from sklearn.datasets import load_wine

    return to_unit_ball(to_unit_interval(load_wine().data))


def cancer(_: Path | None) -> Rows:
    from sklearn.datasets import load_breast_cancer

    return to_unit_ball(load_breast_cancer().data)


def cancer01(folder: Path | None) -> Rows:
    return to_unit_ball(to_unit_interval(cancer(folder)))


def digits(_: Path | None) -> Rows:
    from sklearn.datasets import load_digits

    return to_unit_ball(load_digits().data)


def airfoil(folder: Path | None) -> Rows:
    if folder is None:
        rows = _openml("airfoil_self_noise")
    else:
        rows = np.loadtxt(folder / "airfoil_self_noise.csv.gz", delimiter=",", skiprows=1)
    return to_unit_ball(rows)


def airfoil01(folder: Path | None) -> Rows:
    return to_unit_ball(to_unit_interval(airfoil(folder)))


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


def dong(n: int, d: int, bins: int, seed: int = 0) -> Rows:
    """Return the synthetic rows of Dong, Liang, Yi (NeurIPS 2022), section 6.1: Z·U, centred, with norms by Zipf's law.

    The k-th bin holds a part of the rows proportional to 1/k³, of norm 2^{k−bins}; with one bin all norms are 1.
    """
    random = np.random.default_rng([seed, n, d, bins])
    rows = random.standard_normal((n, d)) @ random.uniform(size=(d, d))
    rows -= rows.mean(axis=0)
    k = np.arange(1, bins + 1)
    last_row = np.rint(n * np.cumsum(k**-3.0) / np.sum(k**-3.0))  # of each bin
    norms = 2.0 ** (k[np.searchsorted(last_row, np.arange(n), side="right")] - bins)
    return np.asarray(rows * (norms / np.linalg.norm(rows, axis=1))[:, None])


def _openml(name: str) -> Rows:
    from sklearn.datasets import fetch_openml

    data = fetch_openml(name, version=1, as_frame=False)
    target = np.asarray(data.target, dtype=np.float64).reshape(-1, 1)
    return data.data if name.startswith("mnist") else np.hstack([data.data, target])


DATASETS: dict[str, Callable[[Path | None], Rows]] = {
    "wine": wine,
    "wine01": wine01,
    "airfoil": airfoil,
    "airfoil01": airfoil01,
    "cancer": cancer,
    "cancer01": cancer01,
    "digits": digits,
    "adult": adult,
    "mnist": mnist,
    "dong, N = 1": lambda _: dong(50_000, 200, 1),
    "dong, N = 4": lambda _: dong(50_000, 200, 4),
}


def available(names: Iterable[str], folder: Path | None) -> Iterator[tuple[str, Rows]]:
    """Yield the named data sets; of those that cannot be had, say why."""
    for name in names:
        try:
            rows = DATASETS[name](folder)
        except Exception as reason:  # a missing folder or no network: say so and go on
            print(f"{name}: skipped ({type(reason).__name__}: {reason})")
            continue
        yield name, rows
