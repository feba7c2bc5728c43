"""What each sampler draws from a literal seed, and how many words it asks for: recorded on purpose, and compared by a test.

``python -m tests.kernel.distribution.streams`` writes streams.json. A seed gives the same release on the same version, and the
time of a draw is that of its words: so another order of draws, or another number of proposals, is a decision. Whoever makes it
records anew, and says so in CHANGELOG.md.

Integers of exact samplers are the same on every machine. Floats are compared to six digits, and matrices are diagonal at first,
so that another machine's LAPACK draws the same.
"""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.bits import Bits, SeededBits
from dpcov.kernel.budget import PureDP
from dpcov.kernel.noise.choice import SparseVector, choose, choose_among_many, first_above
from dpcov.kernel.noise.discrete import MAX_SCALE, MAX_VARIANCE, discrete_gaussian, discrete_laplace
from dpcov.kernel.noise.matrix import FrobeniusNoise, WishartDifference
from dpcov.kernel.noise.normal import exponentials, normals
from dpcov.kernel.noise.sphere import bingham
from dpcov.kernel.noise.subspace import _Column, matrix_bingham, uniform_subspace
from dpcov.kernel.questions.directions import DIRECTION_BITS, Directions
from dpcov.kernel.rows.grid import Grid
from dpcov.linalg import triangle_size
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import opened

FILE = Path(__file__).with_name("streams.json")
SHOWN = 10
"""So many numbers of a draw are recorded as they are; of all integers a checksum."""

Numbers = NDArray[Any]
Draw = Callable[[Bits], Numbers]


class Noted(SeededBits):
    """Words that note how many were asked for; without ``seeded`` they pass for the system's, ``small`` ones are rare words."""

    def __init__(self, seed: int, *, seeded: bool = True, small: bool = False) -> None:
        super().__init__(seed)
        self.seeded, self._small = seeded, small
        self.asked: list[int] = []

    def words(self, count: int) -> NDArray[np.uint64]:
        self.asked.append(count)
        words = super().words(count)
        return words >> (words & np.uint64(31)) if self._small else words


SCALES = {
    "1/10": Fraction(1, 10),
    "1": Fraction(1),
    "3.3": Fraction(33, 10),
    "just below 2**16": 2**16 - Fraction(1, 3),
    "2**16": Fraction(2**16),
    "2**32 and more": Fraction(math.isqrt(10 * 2**64)),
    "the largest": MAX_SCALE,
}
SCORES = -((np.arange(161) - 60) ** 2) // 8
WEIGHTS = np.rint(4 * np.exp(0.02 * np.arange(161))).astype(np.int64)
MANY = -np.abs(np.arange(6000) - 2500)
SPECTRUM = np.array([9.0, 7.0, 6.5, 3.0, 1.0, 0.5, 0.0])
SPARSE = SparseVector(Fraction(5), Fraction(10))
LATTICE = Fraction(2**20), 3, Fraction(0), Fraction(0)


def spectrum(m: int) -> NDArray[np.float64]:
    return np.geomspace(40.0, 0.1, m)


def directions(d: int, count: int, epsilon: int, bits: Bits) -> Numbers:
    """Draw directions of a diagonal matrix one after the other, as a release does."""
    rows = np.diag(np.sqrt(spectrum(d) / 41))
    curator = opened(ArraySource(rows), Grid(1.0), PureDP(epsilon), "replace", bits)
    peel = curator.peel(Directions(curator.public.second_moment(), count), PureDP(epsilon), noise="laplace")
    for _ in range(count):
        peel.direction(Fraction(1, count))
        peel.skip()
    return np.ldexp(peel.close().integers, -DIRECTION_BITS)


def rounded(law: WishartDifference | FrobeniusNoise, bits: Bits) -> Numbers:
    """Draw noise that is computed in floats and then rounded: another machine may round an entry the other way."""
    return law.draw([law.d, triangle_size(law.d) - law.d], bits).astype(np.float64)


def laplace(scale: Fraction) -> Draw:
    return lambda bits: discrete_laplace(scale, 100, bits)


def gaussian(scale: Fraction) -> Draw:
    return lambda bits: discrete_gaussian(scale**2, 100, bits)


def direction(eigenvalues: Numbers, guess: Numbers | None = None, *, fixed: bool = False) -> Draw:
    """Draw a direction of a diagonal matrix from a guess at its eigenvalues, the right one unless it is said."""
    guessed = eigenvalues if guess is None else guess
    return lambda bits: bingham(np.diag(eigenvalues), 2.0, guessed, bits, fixed=fixed)


def repeated(draw: Callable[[Bits], Any], count: int) -> Draw:
    return lambda bits: np.ravel([draw(bits) for _ in range(count)])


DRAWS: dict[str, Draw] = {
    **{f"laplace of scale {name}": laplace(scale) for name, scale in SCALES.items()},
    **{f"gaussian of scale {name}": gaussian(scale) for name, scale in SCALES.items()},
    "laplace, many": lambda bits: discrete_laplace(Fraction(1), 40_000, bits),
    "gaussian, many": lambda bits: discrete_gaussian(MAX_VARIANCE / 7, 40_000, bits),
    "exponentials": lambda bits: exponentials(9, bits),
    "normals": lambda bits: normals(35, bits),
    "choice": repeated(lambda bits: choose(SCORES, WEIGHTS, Fraction(2, 5), bits), 9),
    "choice of one of two": repeated(lambda bits: choose(SCORES[:2], WEIGHTS[:2], Fraction(1, 50), bits), 9),
    "choice at the largest rate": repeated(lambda bits: choose(SCORES, WEIGHTS, Fraction(2**10), bits), 9),
    "choice among many": repeated(lambda bits: choose_among_many(MANY, Fraction(1, 9), bits), 9),
    "choice among many at the largest rate": repeated(lambda bits: choose_among_many(MANY, Fraction(2**10), bits), 9),
    "search": repeated(lambda bits: first_above(np.arange(-40, 41, 4), 0, SPARSE, bits), 9),
    "wishart in one column": lambda bits: rounded(WishartDifference(1, *LATTICE), bits),
    "wishart": lambda bits: rounded(WishartDifference(4, *LATTICE), bits),
    "wishart of three": lambda bits: rounded(WishartDifference(2, *LATTICE, 3), bits),
    "frobenius": lambda bits: rounded(FrobeniusNoise(4, *LATTICE), bits),
    **{f"direction in {m}": repeated(direction(spectrum(m)), 9) for m in (1, 2, 5, 40)},
    "direction in 7, fixed": repeated(direction(SPECTRUM, fixed=True), 3),
    "direction in 7, guessed too low": repeated(direction(SPECTRUM, 0 * SPECTRUM), 9),
    "direction in 7, guessed too high": repeated(direction(SPECTRUM, 9 * SPECTRUM), 9),
    "directions of 6": lambda bits: directions(6, 6, 200, bits),
    "directions of 30": lambda bits: directions(30, 12, 4000, bits),
    "directions of 60": lambda bits: directions(60, 30, 20_000, bits),
    "subspace, uniform": lambda bits: uniform_subspace(5, 3, bits).ravel(),
    "subspace": lambda bits: np.abs(matrix_bingham(SPECTRUM, 3, 0.5, 4, bits)).ravel(),
    "subspace, one normal number less than a block": lambda bits: used(bits, 2**16 - 1),
    "subspace, a block": lambda bits: used(bits, 2**16),
    "subspace, one normal number more than a block": lambda bits: used(bits, 2**16 + 1),
}


def used(bits: Bits, count: int) -> Numbers:
    """Use so many of a chain's normal numbers, one hundred at a time."""
    column = _Column(2 * (SPECTRUM[0] - SPECTRUM), 3, bits)
    return np.concatenate([column._normals(min(100, count - start)) for start in range(0, count, 100)])


RARE = ("laplace of scale 3.3", "gaussian of scale 3.3", "exponentials", "normals")
CHOICES = ("choice", "choice of one of two", "choice among many")

CASES: dict[str, tuple[Callable[[], Noted], Draw]] = {
    **{name: (lambda: Noted(7000), draw) for name, draw in DRAWS.items()},
    **{f"{name}, rare words": (lambda: Noted(7001, small=True), DRAWS[name]) for name in RARE},
    **{f"{name}, without a seed": (lambda: Noted(7002, seeded=False), DRAWS[name]) for name in CHOICES},
}
"""Words, and what draws from them."""


def told(name: str) -> dict[str, Any]:
    """Draw, and return what is recorded: how many words, in how many calls, the most at once, and the numbers."""
    words, draw = CASES[name]
    bits = words()
    numbers = draw(bits)
    asked = {"words": sum(bits.asked), "calls": len(bits.asked), "most at once": max(bits.asked, default=0)}
    if np.issubdtype(numbers.dtype, np.integer):
        asked["crc32"] = zlib.crc32(numbers.astype("<i8").tobytes())
    return asked | {"drawn": numbers[:SHOWN].tolist()}


def main() -> None:
    lines = [f"{json.dumps(name)}: {json.dumps(told(name))}" for name in CASES]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
