"""Arrays that are handed over with new data: whatever stands for one may raise what it likes, with cells in it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, raise_alone, shown


def as_array(name: str, given: Any) -> NDArray[Any]:
    """Return an array, or refuse what is none."""
    try:
        return np.asarray(given)
    except Exception:
        raise_alone(ParameterError(f"{name} must be an array, got {shown(given)}. Hint: numpy.asarray(rows)."))


def as_wide(name: str, given: Any, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return a number for each place of this shape, the same one for all where one is given."""
    try:
        with np.errstate(all="ignore"):
            return np.broadcast_to(np.asarray(given, dtype=np.float64), shape)
    except Exception:
        raise_alone(
            ParameterError(f"{name} must be a number, or numbers of shape {shape}, got {shown(given)}. Hint: leave it out.")
        )
