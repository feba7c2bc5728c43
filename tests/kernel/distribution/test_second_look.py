"""A batch without an accepted proposal is followed by another: what it says is forgotten, and nothing is chosen from it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcov.kernel.noise.choice import MANY_PROPOSALS, PROPOSALS, choose, choose_among_many

BEYOND, ACCEPTED = 3 << 62, 2**60  # three alike fill three of four places; the best is accepted whatever the second word is


class Batches:
    """Words batch by batch, each asked for whole; asking for more fails."""

    seeded = True

    def __init__(self, *batches: list[int]) -> None:
        self.left = list(batches)

    def words(self, count: int) -> NDArray[np.uint64]:
        words = np.array(self.left.pop(0), dtype=np.uint64)
        assert len(words) == count
        return words


@pytest.mark.parametrize("rejected", [1, 3])
@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("many", [False, True], ids=["few", "many"])
def test_the_first_accepted_one_of_a_later_batch(many: bool, place: int, rejected: int) -> None:
    alike = np.zeros(3, dtype=np.int64)
    count = MANY_PROPOSALS if many else PROPOSALS
    none = [*[BEYOND] * count, *[ACCEPTED] * count]
    some = [BEYOND, place << 62, *[((place + 1) % 3) << 62] * (count - 2), *[ACCEPTED] * count]
    bits = Batches(*[none] * rejected, some)
    if many:
        assert choose_among_many(alike, Fraction(1), bits) == place
    else:
        assert choose(alike, np.ones(3, dtype=np.int64), Fraction(1), bits) == place
    assert not bits.left
