"""Whether a device computes as this processor does: tried on public rows, shares and integers, before anything is read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import EngineError
from dpcov.kernel.questions.clipped_pair import ClippedPair
from dpcov.kernel.questions.groups import GroupedMoment
from dpcov.kernel.questions.moments import SecondMoment, Sum
from dpcov.kernel.questions.norms import Norms, Trace
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.aside import Aside
from dpcov.kernel.rows.grid import Grid
from dpcov.sources.device_sums import Device, DeviceSums, encoded


def check_device(device: Device) -> None:
    """Refuse a device that differs from this processor: on public rows and integers, before anything is read."""
    with np.errstate(all="ignore"):
        if not (_converts(device) and _encodes(device)):
            raise EngineError(DIFFERS.format(name=device.name))


def check_products(device: Device, d: int) -> None:
    """Refuse a device whose products of so many columns are not exact on integers up to 2⁵³."""
    for rows, columns in ((64, d), (16, d), (1, 1)):
        row, column = np.indices((rows, columns))
        integers = (row * 7919 + column * 104729) % 2**24 - 2**23
        integers[:, 0] = 2**23 - 1  # 64·(2²³ − 1)² is just below 2⁵²
        there, floats = device.zeros((columns, columns)), device.moved(integers.astype(np.float64))
        there.addmm_(floats.T, floats)
        corner = device.brought(there[:40, -40:])
        if corner.dtype != np.float64 or not np.array_equal(corner, integers.T[:40] @ integers[:, -40:]):
            raise EngineError(DIFFERS.format(name=device.name))


def _converts(device: Device) -> bool:
    """Whether numbers of every type become the float64 that they are, or the nearest: the smallest ones, too."""
    found = [
        _as_float64(device, np.array(bits, dtype=f"i{np.dtype(kind).itemsize}").view(kind)) == numbers
        for kind, bits, numbers in CONVERTED
    ]
    return all(found)


def _as_float64(device: Device, numbers: NDArray[Any]) -> list[float]:
    there = device.zeros(numbers.shape).copy_(device.moved(numbers))
    found: list[float] = device.brought(there).tolist()
    return found


def _encodes(device: Device) -> bool:
    """Whether rows that try to break things have the same integers, and the same sums."""
    for grid in GRIDS:
        rows = hostile(grid.row_norm)
        z, left = encoded(grid, device.moved(rows), device)
        if left.all() or not np.array_equal(device.brought(z)[~left], grid.encode(rows)[~left]):
            return False
        wide = grid.width(rows.shape[1])
        asked: list[Any] = [SecondMoment(grid, wide), Sum(grid, wide), Trace(grid, wide), Norms(grid, wide, 5, 4)]
        if not all(_alike(device, question, rows) for question in asked):
            return False
        shares = np.resize(SHARES, len(rows))[:, None]
        if not all(_alike(device, replace(question, aside=PUBLIC), np.hstack([rows, shares])) for question in asked):
            return False
        groups = np.resize([0.0, 2.0, np.nan, 1.0], len(rows))[:, None]
        if not _alike(device, GroupedMoment(grid, wide, 3), np.hstack([rows, groups])):
            return False
    return all(_alike(device, ClippedPair(annulus, 5), hostile(annulus.outer.row_norm)) for annulus in ANNULI)


def _alike(device: Device, question: Any, rows: NDArray[np.float64]) -> bool:
    sums = DeviceSums(question, device)
    sums.of(rows)
    return np.array_equal(sums.whole(), question.of(rows))


def hostile(row_norm: float) -> NDArray[np.float64]:
    """Return public rows that try to break things: halfway between two integers, on the radius, just beside it, far outside."""
    place = np.arange(640)
    ordinary = (place * 0.6180339887498949 % 1.0 - 0.5).reshape(128, 5) * np.exp2(np.arange(-8.0, 8.0, 0.125))[:, None]
    ties = (place[:40].reshape(8, 5) + 0.5) / 2**16
    on = np.array([[0.6, 0.8, 0, 0, 0], [1, 0, 0, 0, 0], [0.5, 0.5, 0.5, 0.5, 0], [1, 2, 2, 4, 4], [-2, 3, 6, 0, 0]])
    on /= np.sqrt(np.square(on).sum(axis=1))[:, None]
    beside = np.vstack([on * (1 + step * 2.0**-20) for step in (-1, 1, 16)])
    strange = np.array([[np.nan, 0.5, 0, 0, 0], [np.inf, 1, 0, 0, 0], [1e308, -1e308, 0, 0, 0], [5e-324, 2e-310, 0, 0, 0]])
    return np.vstack([ordinary, ties, -ties, on, beside, on * 2.0**20, strange, strange * 1e-140]) * row_norm


PUBLIC = Aside("x5", 2, 18)
SHARES = np.array([2.0**52, 0.0, 1.0, 2.0**52 // 3, 2.0**51 - 1, 2.0**52 // 100, 2.0**34, 2.0**52 - 1])
GRIDS = (Grid(1.0), Grid(3.7, center=True), Grid(1e-40, 12), Grid(1e120, 16, center=True))
ANNULI = (Annulus(Grid(0.3), Grid(1.0)), Annulus(Grid(1.7, 9), Grid(2.9, 9)))
TINY, LARGE = 2.0**-149, 2.0**53
CONVERTED: tuple[tuple[str, list[int], list[float]], ...] = (
    ("float64", [1, 2**52 - 1, -(2**63)], [5e-324, 2.2250738585072009e-308, -0.0]),
    ("float32", [1, 2**23 - 1, -(2**31) + 1, 0x7F7FFFFF], [TINY, (2**23 - 1) * TINY, -TINY, 2.0**128 - 2.0**104]),
    ("float16", [1, 1023, 0x7BFF], [2.0**-24, 1023 * 2.0**-24, 65504.0]),
    ("int64", [2**53 + 1, 2**53 + 3, -(2**53) - 1, 2**63 - 1], [LARGE, LARGE + 4, -LARGE, 2.0**63]),
    ("int32", [-(2**31), 2**31 - 1], [-(2.0**31), 2.0**31 - 1]),
    ("uint8", [-1, 127], [255.0, 127.0]),
    ("uint16", [-1, 2**15 - 1], [2.0**16 - 1, 2.0**15 - 1]),
    ("uint32", [-1, 2**31 - 1], [2.0**32 - 1, 2.0**31 - 1]),
    ("uint64", [-1, 2**10 - 2**63, 2**10 + 1 - 2**63, 2**53 + 3], [2.0**64, 2.0**63, 2.0**63 + 2**11, LARGE + 4]),
)
"""Numbers by their bits, and what they are."""

DIFFERS = (
    "device must compute as this processor does, and {name} does not. "
    "Hint: bring the rows here, tensor.cpu().numpy(); and undo torch.set_flush_denormal."
)
