"""Several sums read at once, of rows and of pairs of rows, and pairs of pairs: each is what it is when read alone."""

from __future__ import annotations

import numpy as np
import pytest

from dpcov.kernel.questions.clipped_pair import ClippedPair
from dpcov.kernel.questions.measure import Summable
from dpcov.kernel.questions.moments import Count, SecondMoment, Sum
from dpcov.kernel.questions.together import Together
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.grid import Grid
from dpcov.sources.array import ArraySource
from dpcov.sources.base import Source
from dpcov.sources.paired import PairedSource

D = 3
GRID = Grid(2.0)
QUESTIONS: tuple[Summable, ...] = (Count(), Sum(GRID, D), SecondMoment(GRID, D))


def rows(n: int) -> ArraySource:
    return ArraySource(np.random.default_rng(n).normal(size=(n, D)))


@pytest.mark.parametrize("n", [1, 2, 7, 40])
@pytest.mark.parametrize("paired", [False, True])
def test_each_is_what_it_is_alone(n: int, paired: bool) -> None:
    source: Source = PairedSource(rows(n), "replace") if paired else rows(n)
    together = Together(QUESTIONS)
    for question, sums in zip(QUESTIONS, together.split(source.total(together)), strict=True):
        np.testing.assert_array_equal(sums, source.total(question), strict=True)


def test_shapes_are_of_what_is_summed() -> None:
    block = np.random.default_rng(0).normal(size=(5, D))
    for summed in (Together(QUESTIONS), ClippedPair(Annulus(Grid(0.5), GRID), D)):
        assert summed.of(block).shape == summed.shape


@pytest.mark.parametrize("n", [4, 7, 40])
def test_pairs_of_pairs(n: int) -> None:
    """Pairs have an order, so that they can be paired again; what is left over at each step is left out."""
    twice = PairedSource(PairedSource(rows(n), "replace"), "replace")
    assert twice.ordered is True
    assert twice.n == n // 4
    np.testing.assert_array_equal(twice.total(Count()), [n // 4])
