r"""Public transforms of numbers: logarithm, square, square root.

Each is a map of one number to one, made of additions, multiplications, divisions and square roots, which float64 rounds
correctly: so a number becomes the same one wherever it stands in a block, and on every machine. A library's logarithm does
not promise that: it may differ in the last digit between the middle and the end of a block, and a row's integers would then
depend on the rows before it.

The logarithm: x = m·2ᵉ with m in [√½, √2), and

.. math:: \log x = e \log 2 + 2 \operatorname{artanh} s, \qquad s = \frac{m - 1}{m + 1}, \quad |s| \le 0.172.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ROOT_OF_HALF = 0.7071067811865476
LOG_2 = (0.6931471803691238, 1.9082149292705877e-10)  # their sum is log 2; the first has 33 bits: its multiples are exact
TERMS = 12  # of artanh's series: the next one is below 0.172²⁴/25 = 2e-20 of the first


@dataclass(frozen=True)
class Transform:
    """A map of numbers, elementwise; NaN stays NaN.

    Attributes
    ----------
    apply : callable
        The map.
    undo : callable
        Its inverse, into bounds: of the two roots of a square the one between them, the positive one where both are.
    allows : callable
        Whether a lower bound is one that the map can start from.
    rule : str
        The same for people.
    """

    apply: Callable[[Floats], Floats]
    undo: Callable[[Floats, float, float], Floats]
    allows: Callable[[float], bool]
    rule: str

    def image(self, lower: float, upper: float) -> tuple[float, float]:
        """Return the least and the largest value between bounds: at one of them, or at 0."""
        with np.errstate(all="ignore"):
            ends = self.apply(np.array([lower, upper, min(max(0.0, lower), upper)]))
        return float(ends.min()), float(ends.max())


def log(x: Floats) -> Floats:
    """Return natural logarithms of positive numbers, to four units in the last place."""
    mantissa, exponent = np.frexp(x)
    small = mantissa < ROOT_OF_HALF
    mantissa = np.where(small, 2 * mantissa, mantissa)
    exponent = (exponent - small).astype(np.float64)
    s = (mantissa - 1) / (mantissa + 1)
    square, series = s * s, np.full(np.shape(x), 1 / (2 * TERMS - 1))
    for term in range(TERMS - 2, -1, -1):
        series = series * square + 1 / (2 * term + 1)
    return np.asarray(exponent * LOG_2[0] + (2 * s * series + exponent * LOG_2[1]))


def _root(y: Floats, lower: float, upper: float) -> Floats:
    """Return the root that lies between the bounds."""
    root = np.sqrt(np.maximum(y, 0.0))
    return np.where((root >= lower) & (root <= upper), root, -root)


TRANSFORMS: dict[str, Transform] = {
    "log": Transform(log, lambda y, _low, _high: np.exp(y), lambda lower: lower > 0, "above 0"),
    "sqrt": Transform(np.sqrt, lambda y, _low, _high: y * y, lambda lower: lower >= 0, "0 or more"),
    "square": Transform(lambda x: x * x, _root, lambda _lower: True, "any number"),
}
