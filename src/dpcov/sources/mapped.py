"""Arrays in .npy files, mapped into memory: only the rows that are being summed are in it."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import EngineError, ParameterError, raise_alone
from dpcov.sources.places import Place, find, is_remote

NPY = ".npy"


class MappedRows:
    """Rows of a .npy file, by their numbers; pickled, it is the path and the numbers."""

    def __init__(self, path: str | os.PathLike[str], start: int = 0, rows: int | None = None) -> None:
        text = str(os.fspath(path))
        if is_remote(text):
            raise ParameterError("data must be on this machine for .npy files, got a URI. Hint: copy the file first.")
        (place, *others) = find(text, (NPY,))
        if others:
            raise ParameterError("data must be one .npy file, got several. Hint: write them into one array first.")
        self._path, self._start = place.path, start
        self._array = _mapped(place)
        self._rows = len(self._array) - start if rows is None else rows
        self.shape: tuple[int, ...] = (self._rows, *self._array.shape[1:])
        self.dtype: np.dtype[Any] = self._array.dtype

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, rows: slice) -> NDArray[np.generic]:
        first, last, _ = rows.indices(self._rows)
        return self._array[self._start + first : self._start + last]

    def part(self, start: int, rows: int) -> MappedRows:
        """Return some of the rows."""
        return MappedRows(self._path, self._start + start, min(rows, self._rows - start))

    def __reduce__(self) -> tuple[Any, ...]:
        return MappedRows, (self._path, self._start, self._rows)


def _mapped(place: Place) -> NDArray[np.generic]:
    try:
        array = np.load(place.path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        raise_alone(
            EngineError(f"data must be a complete .npy file of numbers, got {place.name}, which is not. Hint: write it again.")
        )
    return np.atleast_1d(array)
