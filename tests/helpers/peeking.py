"""How a dishonest mechanism would look at the data: what replay must catch. No honest one has a way to them."""

from __future__ import annotations

from typing import Any

from dpcov.kernel.face import Face
from dpcov.kernel.sums import Sums


def sums_behind(face: Face) -> Sums:
    """Break in through what a function remembers: the exact sums of the curator that a mechanism was handed."""
    [remembered] = face._pass_on.__closure__ or ()
    primitives: dict[str, Any] = remembered.cell_contents
    sums: Sums = primitives["noisy"].__self__._sums
    return sums
