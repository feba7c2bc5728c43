"""The public coordinates of an answer: which affine image of the rows it is about, and the way back to their units.

A curator may be asked about rows as seen from a public centre: clipped to a *ball*, to a *box*, or, after a linear map, to
an *ellipsoid*. Centre and map were known before the question: they are part of it, and stand beside the answer.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Frame:
    """Coordinates y of rows x, with ‖y‖ ≤ 1, or |yⱼ| ≤ 1 in a box.

    ``extent`` is the radius of a ball, y = (x − centre)/radius; the half widths of a box, the same for each column; or the
    whitener W of an ellipsoid, y = W(x − centre). ``deviations`` is a label: how many standard deviations a mechanism took the
    norm 1 to be, so that ``extent`` can be told from its guess of the covariance.
    """

    centre: Floats
    extent: Floats
    deviations: float = 1.0

    def __post_init__(self) -> None:
        self.centre.flags.writeable = self.extent.flags.writeable = False

    @property
    def kind(self) -> str:
        """One of "ball", "box" and "ellipsoid"."""
        return ("ball", "box", "ellipsoid")[self.extent.ndim]

    @property
    def unwhitener(self) -> Floats:
        """The matrix that leads back: x = centre + unwhitener·y."""
        if self.extent.ndim == 2:
            return np.asarray(np.linalg.inv(self.extent))
        return np.diag(np.broadcast_to(self.extent, self.centre.shape)).astype(np.float64)

    def point(self, y: Floats) -> Floats:
        """Return the row whose coordinates are y."""
        if self.extent.ndim == 2:
            return np.asarray(self.centre + np.linalg.solve(self.extent, y))
        return np.asarray(self.centre + self.extent * y)

    def shape(self, matrix: Floats) -> Floats:
        """Return, in the units of rows, a second moment or covariance of coordinates y, exactly symmetric."""
        back = self.unwhitener
        moved = back @ matrix @ back.T
        return np.asarray((moved + moved.T) / 2)
