"""The noise laws a release can carry: how to draw from them, and how a file names them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpcov.privacy.bits import Bits
from dpcov.privacy.discrete import check_variance, discrete_gaussian


@dataclass(frozen=True)
class DiscreteGaussian:
    """Independent discrete Gaussians; entries of one part share a variance, in squared grid steps."""

    variances: tuple[tuple[str, Fraction], ...]
    law: ClassVar[str] = "discrete gaussian"
    numerics: ClassVar[str] = "exact"

    def __post_init__(self) -> None:
        for _, variance in self.variances:
            check_variance(variance)

    def draw(self, sizes: Iterable[int], bits: Bits) -> NDArray[np.int64]:
        """Draw the parts one after another; ``sizes`` are their numbers of entries."""
        pairs = zip(self.variances, sizes, strict=True)
        return np.concatenate([discrete_gaussian(variance, size, bits) for (_, variance), size in pairs])
