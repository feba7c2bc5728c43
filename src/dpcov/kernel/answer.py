"""What left the curator: a noisy answer, and what was paid for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.budget import Budget
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.rows.frame import Frame

DIRECTION_BITS = 18  # directions are released as multiples of 2⁻¹⁸


@dataclass(frozen=True, eq=False)
class Answer:
    """A noisy sum as it left the curator: integers, the size of their unit, and the law of the noise in them.

    ``radii``, in the units of row_norm, say which rows it is about: (τ,) for rows clipped at τ, (τ, u) for what clipping at τ
    takes from rows clipped at u; none for the encoded rows as they are. ``frame``: the coordinates in which rows were clipped.
    ``columns``: which of them a block is about.
    """

    statistic: str
    integers: NDArray[np.int64]
    unit_bits: int
    noise: NoiseLaw
    radii: tuple[float, ...] = ()
    frame: Frame | None = None
    columns: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.integers.flags.writeable = False

    @property
    def values(self) -> NDArray[np.float64]:
        """The answer in units of the largest row that it is about."""
        return np.ldexp(self.integers.astype(np.float64), -self.unit_bits)


@dataclass(frozen=True)
class Spend:
    """One question that was asked of the data, and what it cost."""

    asked: str
    noise: str
    budget: Budget
