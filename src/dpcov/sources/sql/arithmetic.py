"""Operations on doubles that give the bits of IEEE arithmetic and cannot raise, whatever a cell holds.

Some databases raise where a product or quotient overflows, or becomes 0. They are only given operands with which it does
neither: the least operand with which it does not become 0 is found here, by the same IEEE operation.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from functools import cache

from dpcov.sources.sql.chain import Chain

TINY = 1e-163  # the product of two smaller numbers is 0
SCALED = 2.0**500
VANISHES = 2.0**-75  # of numbers that were scaled: their product itself is then 2⁻¹⁰⁷⁵ at most, which rounds to 0


def times(chain: Chain, x: str, by: float, whole: bool = False) -> str:
    """Return the product with a public number, where it does not overflow; ``whole`` numbers never vanish in it."""
    if by == 1.0:
        return x
    product = f"({x} * {chain.dialect.number(by)})"
    return product if whole or abs(by) > 1 else _unless_tiny(chain, x, _least(by, divided=False), product)


def over(chain: Chain, x: str, by: float) -> str:
    """Return the quotient by a public number, where it does not overflow."""
    quotient = f"({x} / {chain.dialect.number(by)})"
    return quotient if abs(by) < 1 else _unless_tiny(chain, x, _least(by, divided=True), quotient)


def square(chain: Chain, x: str) -> str:
    """Return the square, where it does not overflow."""
    return _unless_tiny(chain, x, _smallest(lambda number: number * number), f"({x} * {x})")


def product(chain: Chain, a: str, b: str) -> str:
    """Return the product of two cells, where it does not overflow."""
    if not chain.dialect.strict:
        return f"({a} * {b})"
    number = chain.dialect.number
    scaled = f"abs(({a} * {number(SCALED)}) * ({b} * {number(SCALED)}))"  # of numbers below 1, not both tiny: neither end
    small = f"CASE WHEN {scaled} > {number(VANISHES)} THEN {a} * {b} ELSE {number(0)} END"
    both = f"abs({a}) < {number(TINY)} AND abs({b}) < {number(TINY)}"
    below = f"abs({a}) < {number(1)} AND abs({b}) < {number(1)}"
    return f"(CASE WHEN {both} THEN {number(0)} WHEN {below} THEN {small} ELSE {a} * {b} END)"


def added(terms: Sequence[str]) -> str:
    """Return a sum of numbers whose sums are exact in any order, nested as little as possible."""
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return f"({added(terms[:middle])} + {added(terms[middle:])})"


def squares(names: Sequence[str]) -> str:
    """Return the sum of squares of integers."""
    return added([f"{name} * {name}" for name in names])


def largest(terms: Sequence[str]) -> str:
    """Return the largest of several numbers."""
    return terms[0] if len(terms) == 1 else f"greatest({', '.join(terms)})"


def bounded(chain: Chain, x: str, low: float, high: float) -> str:
    """Return a number, clipped; NULL stays NULL."""
    x, (least, most) = chain.let(x), map(chain.dialect.number, (low, high))  # greatest() and least() are slower
    return f"CASE WHEN {x} < {least} THEN {least} WHEN {x} > {most} THEN {most} ELSE {x} END"


def bucket(chain: Chain, x: str, edges: Sequence[float], first: int = 0) -> str:
    """Return how many ascending edges a number is larger than, by halving."""
    if not edges:
        return str(first)
    middle = len(edges) // 2
    above = bucket(chain, x, edges[middle + 1 :], first + middle + 1)
    below = bucket(chain, x, edges[:middle], first)
    return f"CASE WHEN {x} > {chain.dialect.number(edges[middle])} THEN {above} ELSE {below} END"


def largest_factor(by: float) -> float:
    """Return the largest number whose product with this one is finite."""
    return _bisected(lambda number: math.isfinite(number * by)) if by > 1 else math.inf


def _unless_tiny(chain: Chain, x: str, least: float, result: str) -> str:
    if not chain.dialect.strict:
        return result
    return f"(CASE WHEN abs({x}) >= {chain.dialect.number(least)} THEN {result} ELSE {chain.dialect.number(0)} END)"


@cache
def _least(by: float, *, divided: bool) -> float:
    return _smallest((lambda number: number / by) if divided else (lambda number: number * by))


def _smallest(result: Callable[[float], float]) -> float:
    """Return the smallest number of which the result is not 0."""
    return math.nextafter(_bisected(lambda number: result(number) == 0), math.inf)


def _bisected(holds: Callable[[float], bool]) -> float:
    """Return the largest number for which a condition holds, that does so up to it and no farther: doubles sort as integers."""
    low, high = 0, struct.unpack("<q", struct.pack("<d", math.inf))[0]
    while high - low > 1:
        middle = (low + high) // 2
        if holds(struct.unpack("<d", struct.pack("<q", middle))[0]):
            low = middle
        else:
            high = middle
    found: float = struct.unpack("<d", struct.pack("<q", low))[0]
    return found
