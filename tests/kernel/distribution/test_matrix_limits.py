"""Where the two matrix noises end: the coarsest lattice, the largest entry, the largest ε. No randomness, no tolerance in ε."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest

from dpcov.errors import ParameterError
from dpcov.kernel.noise.matrix import TAIL, calibrate_frobenius, calibrate_wishart, covers
from dpcov.linalg import triangle_size
from tests.kernel.distribution.test_matrix import KINDS, R2, Laws

NUCLEAR = 2 * R2
ROOM = Fraction(2**62)
"""An entry of exact sum plus noise has 63 bits, and a release leaves one of them for the sum."""

NOISES = pytest.mark.parametrize("noise", KINDS)
COLUMNS = pytest.mark.parametrize("d", [1, 2, 13])


def law_of(noise: str, d: int, epsilon: Fraction, least_scale: Fraction = Fraction(0)) -> Laws:
    if noise == "wishart":
        return calibrate_wishart(d, NUCLEAR, epsilon, least_scale)
    return calibrate_frobenius(d, Fraction(NUCLEAR), epsilon, least_scale)


def largest_entry(noise: str, d: int) -> float:
    """Bound an entry per unit of the scale: twice a Gamma number of (d+1)/2, or the radius, one of D, but for exp(−TAIL)."""
    shape = (d + 1) / 2 if noise == "wishart" else triangle_size(d)
    return (2 if noise == "wishart" else 1) * (shape + math.sqrt(2 * shape * TAIL) + TAIL)


def last(fits: Callable[[Fraction], bool]) -> Fraction:
    """Return, to nine digits, the largest scale that fits."""
    low, high = Fraction(2**36), Fraction(2**62)
    assert fits(low)
    assert not fits(high)
    while high > low * (1 + Fraction(1, 10**9)):
        middle = Fraction(math.sqrt(low * high))
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


@NOISES
@pytest.mark.parametrize("d", [784, 4096])
def test_the_lattice_is_no_coarser_than_the_noise(noise: str, d: int) -> None:
    """Down to the smallest ε that is served, where rounding costs more than a hundredth of it: steps then add to the noise."""
    coarse = 0
    for halvings in range(100):
        try:
            law = law_of(noise, d, Fraction(1, 2**halvings))
        except ParameterError:
            break
        deviation = math.sqrt(law.spread().off_diagonal_variance - 4.0**law.lattice / 12)
        assert 2.0**law.lattice <= deviation * (1 + 1e-9)
        coarse += 2.0**law.lattice > deviation / 2
    assert coarse > 1  # else nothing asked for so coarse a lattice


@NOISES
@COLUMNS
def test_the_largest_noise_that_is_calibrated(noise: str, d: int) -> None:
    """Four times the largest entry and a step of the lattice just fit into 62 bits: `covers` asks for half of that."""

    def fits(scale: Fraction) -> bool:
        try:
            return law_of(noise, d, Fraction(1), scale).scale >= scale
        except ParameterError:
            return False

    scale = last(fits)
    room = 4 * Fraction(largest_entry(noise, d)) * scale + 2 ** law_of(noise, d, Fraction(1), scale).lattice
    assert float(room / ROOM) == pytest.approx(1, abs=1e-7)


@NOISES
@COLUMNS
def test_the_largest_noise_that_is_read(noise: str, d: int) -> None:
    """Twice the largest entry and a step of the lattice just fit into 62 bits."""
    law = replace(law_of(noise, d, Fraction(1)), lattice=60, excess=Fraction(1, 2))
    scale = last(lambda scale: covers(replace(law, scale=scale), Fraction(NUCLEAR), Fraction(1)))
    assert float((2 * Fraction(largest_entry(noise, d)) * scale + 2**60) / ROOM) == pytest.approx(1, abs=1e-7)


@NOISES
@COLUMNS
def test_a_larger_epsilon_is_served_as_ten_to_the_twelfth(noise: str, d: int) -> None:
    """The noise is at its floor long before, and what rounding costs grows with ε: up to there it is charged in full."""
    below, at, beyond = (law_of(noise, d, Fraction(10**digits)) for digits in (11, 12, 15))
    assert beyond == at
    assert at.scale == pytest.approx(below.scale, rel=1e-6)
    assert float(at.excess / below.excess) == pytest.approx(10, rel=0.02)
