"""Exponential and normal numbers in float64, from the bit source, with a bound on their relative error.

They serve the matrix noises, for which no exact sampler is known. Tails are not cut: a uniform number has 64 bits, and 128 or
192 where it is so near to 0 or 1 that fewer than 56 of them are significant.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.bits import Bits

Floats = NDArray[np.float64]

RELATIVE_ERROR = 2.0**-47
"""Each number is within this relative error of the ideal function of all its bits: log, log1p, sqrt, sin and cos are
assumed within 16 units in the last place (NumPy documents 4; a test measures it), and at most four of them are chained."""

UNSEEN = 2.0**-135
"""Probability, for each normal number, that unseen bits matter more than that: one of two uniforms within 2⁻¹³⁷ of 0 or 1."""

SHORT_WORD = np.uint64(2**56)


def exponentials(count: int, bits: Bits) -> Floats:
    """Return standard exponential numbers −log U.

    Near U = 1 the logarithm would lose its relative accuracy: for U > 1/2 it is −log1p(−V), V = 1 − U from the complement.
    """
    uniform, complement = _uniforms(count, bits)
    with np.errstate(all="ignore"):
        return np.asarray(np.where(uniform > 0.5, -np.log1p(-complement), -np.log(uniform)))


def normals(count: int, bits: Bits) -> Floats:
    """Return standard normal numbers by Box and Muller: length √(2·exponential), angle uniform.

    The angle is drawn in [0, π/4), where sine and cosine are relatively accurate, and reflected into the other octants.
    """
    pairs = (count + 1) // 2
    length = np.sqrt(2 * exponentials(pairs, bits))
    angle = _uniforms(pairs, bits, sides=1)[0] * (np.pi / 4)
    octant = bits.words(-(-pairs // 8)).view(np.uint8)[:pairs]  # three bits of a byte for each pair
    near, far = length * np.cos(angle), length * np.sin(angle)
    swap = (octant & 4) != 0
    first = np.where(swap, far, near) * np.where(octant & 1, -1.0, 1.0)
    second = np.where(swap, near, far) * np.where(octant & 2, -1.0, 1.0)
    return np.concatenate([first, second])[:count]


def _uniforms(count: int, bits: Bits, sides: int = 2) -> list[Floats]:
    """Return U and, unless one side is enough, 1 − U, each relatively accurate, neither 0.

    64 bits leave at least 56 significant ones unless the word starts with eight equal bits; then 64 more are drawn, and where
    all 64 are equal, another 64.
    """
    high = bits.words(count)
    short = np.flatnonzero((high < SHORT_WORD) | (~high < SHORT_WORD))
    low = bits.words(len(short))
    results = []
    for first, second in ((high, low), (~high, ~low))[:sides]:
        values = first.astype(np.float64) * 2.0**-64  # the half is lost in float64, but for the words that follow
        values[short] = first[short] * 2.0**-64 + (second + 0.5) * 2.0**-128
        results.append(values)
    for place in np.flatnonzero((high[short] == 0) | (~high[short] == 0)):
        last = int(bits.words(1)[0])
        side, word = (0, int(low[place])) if high[short[place]] == 0 else (1, int(~low[place]))
        if side < sides:
            results[side][short[place]] = word * 2.0**-128 + (last + 0.5) * 2.0**-192
    return results
