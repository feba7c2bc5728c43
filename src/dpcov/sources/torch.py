"""Tensors of torch, and arrays that are moved to a device block by block: their sums are made there (`device_sums`).

Products of float32 may be TF32 on a card; all products here are of float64, which never are. Noise is drawn on this machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import EngineError, ParameterError, raise_alone
from dpcov.kernel.questions.measure import Integers, Summable
from dpcov.kernel.questions.moments import Count
from dpcov.kernel.rows.aside import Aside
from dpcov.schema import Schema
from dpcov.sources.array import RULE, ArraySource, RowsElsewhere, checked_rows
from dpcov.sources.arrow import ArrowSource
from dpcov.sources.base import Progress, add_up, default_block_rows
from dpcov.sources.by import By
from dpcov.sources.device_check import check_device, check_products
from dpcov.sources.device_sums import Apart, Tensor, sums_on
from dpcov.sources.on_device import OnDevice
from dpcov.sources.tables import ArrayTable, reading

BLOCK_ELEMENTS = 2**24
"""A block and what is made of it are four arrays of so many float64 at most: 512 MB of the device.

On an H200 blocks of half the size take a tenth more time, of twice the size a twentieth less."""

NUMBERS = {
    **{name: name for name in ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64")},
    **{name: name for name in ("float16", "float32", "float64", "bool")},
    "bfloat16": "float32",
}
"""The types of tensors that are read, and those of NumPy that hold the same numbers."""

HINT = "check that the device has memory to spare, and that the tensor was not freed"


class TorchDevice:
    """A device, by its name, or refused where torch cannot use it here."""

    def __init__(self, name: str) -> None:
        self.name = name
        try:
            import torch

            self._device, self._wide = torch.device(name), torch.float64
            self.brought(self.zeros((1,)))
        except ImportError:
            raise_alone(
                EngineError("package torch must be installed for devices, and is not. Hint: pip install 'dpcov[torch]'.")
            )
        except Exception:
            raise_alone(
                EngineError(f"device must be one that torch can use here, with float64, got {name!r}. Hint: 'cpu' always is.")
            )

    def zeros(self, shape: tuple[int, ...]) -> Tensor:
        """Return zeros of float64 there."""
        import torch

        return torch.zeros(shape, dtype=self._wide, device=self._device)

    def moved(self, rows: Any) -> Tensor:
        """Return a block of rows there; numbers that torch does not have become float64 here, as they would in the kernel."""
        import torch

        if not isinstance(rows, np.ndarray):
            return rows.to(self._device)
        if rows.dtype.name not in NUMBERS or not rows.dtype.isnative:
            with np.errstate(all="ignore"):
                rows = rows.astype(np.float64)
        return torch.from_numpy(np.require(rows, requirements=["C", "W"])).to(self._device)

    def brought(self, tensor: Tensor) -> NDArray[Any]:
        """Return a tensor as an array here."""
        tensor = tensor.to("cpu")
        return np.asarray((tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy())

    def check(self, d: int) -> None:
        """Refuse a device that differs from this processor, once each."""
        _check_once(self.name)
        _check_products_once(self.name, d)


@cache
def _check_once(name: str) -> None:
    check_device(TorchDevice(name))


@cache
def _check_products_once(name: str, d: int) -> None:
    check_products(TorchDevice(name), d)


class TensorRows:
    """The rows of a tensor, where it is; asked for some of them it brings them here."""

    def __init__(self, tensor: Tensor) -> None:
        kind, layout = str(tensor.dtype).removeprefix("torch."), str(tensor.layout).removeprefix("torch.")
        if kind not in NUMBERS or layout != "strided" or tensor.is_meta:
            got = kind if kind not in NUMBERS else f"a {layout} one" if layout != "strided" else "one without values"
            raise ParameterError(f"{RULE}, or such a tensor, got {got}. Hint: tensor.to_dense().to(torch.float32).")
        self._tensor = tensor.detach()
        self.shape: tuple[int, ...] = tuple(int(size) for size in tensor.shape)
        self.dtype: np.dtype[Any] = np.dtype(NUMBERS[kind])
        self.device = TorchDevice(str(tensor.device))
        self.here = str(tensor.device) == "cpu"  # as an array: the kernel's own blocks stay in cache, which torch's do not

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> NDArray[np.generic]:
        return self.device.brought(self.block(rows))

    def block(self, rows: slice) -> Tensor:
        """Return some rows as they are, where they are."""
        one = self._tensor
        last = one.storage_offset() + sum((size - 1) * step for size, step in zip(one.shape, one.stride(), strict=True))
        if one.numel() and (last + 1) * one.element_size() > one.untyped_storage().nbytes():  # torch would read on
            raise EngineError(f"data must be readable to the end, got a tensor without memory. Hint: {HINT}.")
        return one[rows].resolve_neg()

    def part(self, start: int, rows: int) -> Any:
        """Return some rows for another process, which has them as an array."""
        return self[start : start + rows]


class MovedRows:
    """Rows that are here, or a tensor, and the device that they are moved to."""

    def __init__(self, rows: NDArray[np.generic] | RowsElsewhere, device: str) -> None:
        self._rows = checked_rows(rows)
        self.shape: tuple[int, ...] = self._rows.shape
        self.dtype: np.dtype[Any] = self._rows.dtype
        self.device, self.here = TorchDevice(device), False

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> NDArray[np.generic]:
        return self._rows[rows]

    def block(self, rows: slice) -> Any:
        """Return some rows, which are then moved."""
        return self._rows.block(rows) if isinstance(self._rows, TensorRows) else self._rows[rows]

    def part(self, start: int, rows: int) -> Any:
        """Return some rows for another process."""
        return self[start : start + rows] if isinstance(self._rows, np.ndarray) else self._rows.part(start, rows)


def sums_of(rows: TensorRows | MovedRows, d: int, statistic: Summable) -> Any:
    """Return the statistic with sums that are made where the rows are, or are moved to; None where they are made here."""
    if rows.here:
        return None
    there = sums_on(rows.device, statistic)
    if there is not None:
        rows.device.check(d)
    return there


class DeviceArray(ArraySource):
    """What can be is summed on the device, and other questions here, block by block."""

    def __init__(
        self,
        rows: TensorRows | MovedRows,
        columns: Sequence[str | int] | None,
        progress: Progress | None,
        aside: Aside | None = None,
    ) -> None:
        super().__init__(rows, columns=columns, progress=progress, aside=aside)
        self._rows = rows

    def total(self, statistic: Summable) -> Integers:
        """Add the statistic over blocks of rows."""
        with reading(HINT):
            there = sums_of(self._rows, self.d, statistic)
            of_people = self._people is not None and isinstance(statistic, Count) and not statistic.weighs
            if there is None or of_people:
                return super().total(statistic)
            if self._people is not None:
                _ = self.n  # people are counted first
                self._people.start()
            return add_up(there, self._there(min(max(BLOCK_ELEMENTS // (self.d + 1), 1), statistic.max_block)))

    def _there(self, rows: int) -> Iterator[Any]:
        total = len(self._rows)
        for start in range(0, max(total, 1), rows):
            whole = self._rows.block(slice(start, start + rows))
            block = whole if self._places is None else whole[:, self._places]
            yield block if self.aside is None else Apart(block, np.column_stack(self._beside(partial(self._here, whole))))
            self._progress(min((start + rows) / max(total, 1), 1.0), min(start + rows, total))

    def _owners(self) -> Iterator[NDArray[np.generic]]:
        """Bring the column that says whose the rows are, and no other."""
        step = default_block_rows(1)
        for start in range(0, len(self._rows), step):
            yield self._here(self._rows.block(slice(start, start + step)), self._whose)

    def _here(self, block: Any, place: int) -> NDArray[np.generic]:
        column = block[:, place]
        return column if isinstance(column, np.ndarray) else self._rows.device.brought(column)


class DeviceTable(ArrowSource):
    """The same with a schema, by which rows are encoded here and then moved."""

    def __init__(
        self,
        rows: TensorRows | MovedRows,
        names: Sequence[str],
        columns: Sequence[str] | None,
        schema: Schema | None,
        center: bool,
        progress: Progress | None,
        aside: Aside | None = None,
        by: By | None = None,
    ) -> None:
        super().__init__(ArrayTable(rows, names), columns, schema, center, progress, aside, by)
        self._elsewhere = rows

    def total(self, statistic: Summable) -> Integers:
        """Add the statistic over all batches."""
        with reading(HINT):
            there = None if isinstance(statistic, Count) else sums_of(self._elsewhere, self.d, statistic)
            return super().total(statistic if there is None else there)


def device_rows(data: Any, rows: NDArray[np.generic] | RowsElsewhere | None) -> TensorRows | MovedRows:
    """Return the rows of a tensor, or of an `OnDevice`: ``rows`` are its data, where they are no tensor."""
    if not isinstance(data, OnDevice):
        return TensorRows(data)
    return MovedRows(TensorRows(data.data) if rows is None else rows, data.device)
