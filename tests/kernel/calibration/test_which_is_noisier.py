"""Which of two laws has as much noise: only one of the same kind, for the same numbers, can."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpcov.errors import ParameterError
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.noise.drawn import Bingham
from dpcov.kernel.noise.laws import DiscreteGaussian, DiscreteLaplace
from dpcov.kernel.noise.matrix import FrobeniusNoise, WishartDifference
from dpcov.kernel.noise.sphere import bingham

ONE, TWO = Fraction(1), Fraction(2)
LAWS: dict[str, tuple[Any, list[Any], list[Any]]] = {
    # a law; those that have as much noise; those that have less, or are no comparison
    "gaussian": (
        DiscreteGaussian((("a", ONE), ("b", TWO))),
        [DiscreteGaussian((("a", ONE), ("b", TWO))), DiscreteGaussian((("a", TWO), ("b", TWO)))],
        [
            DiscreteGaussian((("a", TWO), ("b", ONE))),
            DiscreteGaussian((("b", TWO), ("a", TWO))),
            DiscreteGaussian((("a", TWO),)),
            DiscreteLaplace(TWO),
        ],
    ),
    "laplace": (DiscreteLaplace(ONE), [DiscreteLaplace(ONE), DiscreteLaplace(TWO)], [DiscreteLaplace(ONE / 2)]),
    "directions": (
        Bingham((("1", ONE), ("2", ONE))),
        [Bingham((("1", ONE), ("2", ONE))), Bingham((("1", ONE / 2), ("2", ONE)))],
        [Bingham((("1", TWO), ("2", ONE / 2))), Bingham((("1", ONE),)), DiscreteLaplace(ONE)],
    ),
}
for made in (WishartDifference, FrobeniusNoise):
    law = made(3, TWO, 2, ONE, Fraction(1, 2**100))
    other = FrobeniusNoise if made is WishartDifference else WishartDifference
    LAWS[law.law] = (
        law,
        [law, replace(law, scale=Fraction(3)), replace(law, lattice=3)],
        [
            replace(law, scale=ONE),
            replace(law, lattice=1),
            replace(law, d=4),
            replace(law, tail=Fraction(1, 2**99)),
            other(3, TWO, 2, ONE, Fraction(1, 2**100)),
            DiscreteLaplace(Fraction(100)),
        ],
    )


@pytest.mark.parametrize("kind", LAWS)
def test_as_much_noise(kind: str) -> None:
    law, enough, less = LAWS[kind]
    assert [one.is_at_least(law) for one in enough] == [True] * len(enough)
    assert [one.is_at_least(law) for one in less] == [False] * len(less)


@pytest.mark.parametrize(
    "change",
    [{"lattice": -1}, {"lattice": 62}, {"d": 0}, {"scale": Fraction(0)}, {"scale": Fraction(2**62 + 1)}, {"excess": 2**64}],
    ids=repr,
)
@pytest.mark.parametrize("made", [WishartDifference, FrobeniusNoise])
def test_noise_that_no_answer_holds(made: Any, change: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=r"the noise must fit into 64-bit integers, got too large a scale\. Hint: "):
        replace(made(3, TWO, 2, ONE, Fraction(1, 2**100)), **change)


@pytest.mark.parametrize("concentration", [Fraction(0), Fraction(-1, 10**9)])
def test_a_direction_that_costs_nothing(concentration: Fraction) -> None:
    with pytest.raises(
        ParameterError, match=r"concentrations must be positive, got 0 or less\. Hint: every private draw costs some budget\."
    ):
        Bingham((("1", ONE), ("2", concentration)))


@pytest.mark.parametrize("fixed", [False, True])
def test_there_is_one_direction_in_one_coordinate(fixed: bool) -> None:
    """Nothing is drawn for it."""
    bits = SeededBits(0)
    found = bingham(np.array([[-3.0]]), 2.0, np.array([-3.0]), bits, fixed=fixed)
    np.testing.assert_array_equal(found, [1.0], strict=True)
    np.testing.assert_array_equal(bits.words(3), SeededBits(0).words(3))
