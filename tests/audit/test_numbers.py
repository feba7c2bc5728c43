"""Numbers under the noise: integers all the way, from the given bits and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpcov import ZCDP, covariance
from dpcov.curator import Curator
from dpcov.privacy.bits import SeededBits
from dpcov.privacy.discrete import discrete_gaussian
from dpcov.privacy.noise import DiscreteGaussian
from dpcov.sources.array import ArraySource
from dpcov.statistics.grid import Grid
from dpcov.statistics.moments import SecondMoment

DATA = np.random.default_rng(3).uniform(-0.4, 0.4, size=(500, 4))


def test_answer_is_the_exact_sum_plus_integer_noise_from_the_bits() -> None:
    """Float noise, or float addition, differs from this in the last bits; other randomness differs everywhere."""
    source = ArraySource(DATA)
    statistic = SecondMoment(Grid(1.0), 4)
    answer = Curator(source, Grid(1.0), ZCDP("0.1"), "replace", SeededBits(5)).noisy(statistic, ZCDP("0.1"), noise="gaussian")
    bits = SeededBits(5)
    assert isinstance(answer.noise, DiscreteGaussian)
    (_, diagonal), (_, upper) = answer.noise.variances
    noise = np.concatenate([discrete_gaussian(diagonal, 4, bits), discrete_gaussian(upper, 6, bits)])
    assert np.array_equal(answer.integers, source.total(statistic) + noise)


def test_noise_does_not_depend_on_the_data() -> None:
    """Same bits, other rows: answer minus exact sum is the same integer vector, also where sums exceed 2⁵³."""
    big = np.tile([[1.0, 0.0, 0.0, 0.0]], (2**22, 1))  # its first sum is 2⁵⁴: float64 would lose bits
    noises = []
    for data in (DATA, big):
        source, statistic = ArraySource(data), SecondMoment(Grid(1.0), 4)
        answer = Curator(source, Grid(1.0), ZCDP(1), "replace", SeededBits(6)).noisy(statistic, ZCDP(1), noise="gaussian")
        noises.append(answer.integers - source.total(statistic))
    assert np.array_equal(noises[0], noises[1])
    assert np.any(noises[0] % 2 == 1)


def test_two_releases_differ_and_only_seeded_ones_repeat() -> None:
    free = [covariance(DATA, ZCDP("0.1"), row_norm=1, mechanism="gaussian") for _ in range(2)]
    assert not np.array_equal(free[0].answers[0].integers, free[1].answers[0].integers)
    assert not free[0].seeded
    seeded = [covariance(DATA, ZCDP("0.1"), row_norm=1, mechanism="gaussian", seed=1) for _ in range(2)]
    assert np.array_equal(seeded[0].answers[0].integers, seeded[1].answers[0].integers)
    assert seeded[0].seeded
    assert "not private" in seeded[0].statement()
    assert "not private" in repr(seeded[0])


@pytest.mark.parametrize("center", [False, True])
def test_the_number_of_rows_is_private_under_add_remove(center: bool) -> None:
    """Nothing in the release but the noisy count depends on n: over 40 seeds, n varies and is not always the truth."""
    options: dict[str, Any] = {"row_norm": 1, "neighbors": "add-remove", "center": center}
    counts = {covariance(DATA, ZCDP("0.01"), seed=s, **options).n for s in range(40)}
    assert len(counts) > 20
