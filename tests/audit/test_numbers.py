"""Numbers under the noise: integers all the way, from the given bits and nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpcov import ZCDP, PureDP, covariance
from dpcov.kernel.bits import SeededBits, SystemBits
from dpcov.kernel.budget import Budget
from dpcov.kernel.noise.discrete import discrete_gaussian
from dpcov.kernel.noise.laws import DiscreteGaussian
from dpcov.kernel.questions.directions import Directions
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import opened

DATA = np.random.default_rng(3).uniform(-0.4, 0.4, size=(500, 4))


def test_answer_is_the_exact_sum_plus_integer_noise_from_the_bits() -> None:
    """Float noise, or float addition, differs from this in the last bits; other randomness differs everywhere."""
    source = ArraySource(DATA)
    statistic = SecondMoment(Grid(1.0), 4)
    answer = opened(source, Grid(1.0), ZCDP("0.1"), "replace", SeededBits(5)).noisy(statistic, ZCDP("0.1"), noise="gaussian")
    bits = SeededBits(5)
    assert isinstance(answer.law, DiscreteGaussian)
    (_, diagonal), (_, upper) = answer.law.variances
    noise = np.concatenate([discrete_gaussian(diagonal, 4, bits), discrete_gaussian(upper, 6, bits)])
    assert np.array_equal(answer.integers, source.total(statistic) + noise)


def test_noise_does_not_depend_on_the_data() -> None:
    """Same bits, other rows: answer minus exact sum is the same integer vector, also where sums exceed 2⁵³."""
    big = np.tile([[1.0, 0.0, 0.0, 0.0]], (2**22, 1))  # its first sum is 2⁵⁴: float64 would lose bits
    noises = []
    for data in (DATA, big):
        source, statistic = ArraySource(data), SecondMoment(Grid(1.0), 4)
        answer = opened(source, Grid(1.0), ZCDP(1), "replace", SeededBits(6)).noisy(statistic, ZCDP(1), noise="gaussian")
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
    assert (
        "for replacing any one of the 500 rows (each row is a person), not against those who time it; column names"
        in free[0].statement()
    )
    assert "not private" in repr(seeded[0])


@pytest.mark.parametrize("center", [False, True])
def test_the_number_of_rows_is_private_under_add_remove(center: bool) -> None:
    """Nothing in the release but the noisy count depends on n: over 40 seeds, n varies and is not always the truth."""
    options: dict[str, Any] = {"row_norm": 1, "neighbors": "add-remove", "center": center}
    counts = {covariance(DATA, ZCDP("0.01"), seed=s, **options).n for s in range(40)}
    assert len(counts) > 20


@pytest.mark.parametrize(
    ("name", "budget"), [("eigenvectors", PureDP(1)), ("eigenvectors", ZCDP(1)), ("kapralov-talwar", PureDP(1))]
)
def test_each_value_of_a_peel_has_its_own_noise(name: str, budget: Budget) -> None:
    """Along any direction of no rows there is nothing but noise: with one for all, the differences would be exact.

    Noise of a deviation of 2¹⁶ steps repeats itself among four with probability below 1e-4; the seed is one where it does not.
    """
    release = covariance(np.zeros((50, 4)), budget, row_norm=1, mechanism=name, seed=3)
    answer = release.take(Directions)
    assert isinstance(answer.question, Directions)
    values = answer.question.told(answer.integers).tolist()
    assert len(values) == len(set(values)) == 4


@pytest.mark.parametrize(("budget", "noise"), [(ZCDP(1), "gaussian"), (PureDP(1), "laplace"), (PureDP(1), "wishart")])
def test_a_question_asked_twice_has_other_noise(budget: Budget, noise: str) -> None:
    """Of the system's bits too; all entries are the same with probability below 2⁻⁴⁰."""
    for bits in (SeededBits(3), SystemBits()):
        curator = opened(ArraySource(np.zeros((5, 2))), Grid(1.0), budget, "replace", bits)
        half = budget.share("0.5")
        answers = [curator.noisy(curator.public.second_moment(), half, noise=noise) for _ in range(2)]
        assert answers[0].law == answers[1].law
        assert not np.array_equal(answers[0].integers, answers[1].integers)
