"""Rows that are to be summed on a device: what a user says. Nothing here needs torch."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpcov.errors import ParameterError, shown
from dpcov.sources.sparse import is_sparse


@dataclass(frozen=True, eq=False)
class OnDevice:
    """An array, and the device that its rows are moved to, block by block, to be summed there.

    A tensor of torch needs no such record: it is summed where it is. The release is the same, whatever the device.

    Parameters
    ----------
    data : array, sparse matrix, path to a .npy file, or tensor
        The rows.
    device : str
        What torch calls it: "cuda", "cuda:1", "cpu". It must compute in float64 as processors do, which is checked before
        anything is read.

    Examples
    --------
    >>> OnDevice(np.zeros((4, 2)), "cuda")
    OnDevice(device='cuda')
    """

    data: Any = field(repr=False)
    device: str = "cuda"

    def __post_init__(self) -> None:
        path = isinstance(self.data, str | os.PathLike) and str(os.fspath(self.data)).lower().endswith(".npy")
        if not (path or isinstance(self.data, np.ndarray) or is_sparse(self.data) or is_tensor(self.data)):
            raise ParameterError(
                f"data must be an array, a tensor or a path to a .npy file to be summed on a device, "
                f"got {type(self.data).__name__}. Hint: numpy.save('rows.npy', rows) makes one."
            )
        if not isinstance(self.device, str) or not re.fullmatch(r"[a-z]+(:[0-9]{1,3})?", self.device):
            raise ParameterError(f"device must be what torch calls it, got {shown(self.device)}. Hint: 'cuda' or 'cuda:1'.")


def is_tensor(data: object) -> bool:
    """Whether data are a tensor of torch, which need not be imported for that."""
    return any(kind.__module__ == "torch" and kind.__name__ == "Tensor" for kind in type(data).__mro__)


def is_on_device(data: object) -> bool:
    """Whether the sums of data are to be made by torch."""
    return isinstance(data, OnDevice) or is_tensor(data)
