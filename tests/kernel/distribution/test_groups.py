"""Noise on matrices by group: each block has that of one matrix, and no two blocks share any.

Size: each test rejects correct code with probability 1e-6. Power: the same tests reject a scale 5 % off, and blocks with a
correlation of .1.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import ZCDP, Budget, PureDP
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.questions.calibrated import calibrated
from dpcov.kernel.questions.groups import GroupedMoment
from dpcov.kernel.rows.grid import Grid
from tests.helpers.stats import SIZE, Floats

D, K, COUNT = 3, 4, 8000
QUESTION = GroupedMoment(Grid(1.0), D, K)
NOISES: dict[str, Budget] = {"gaussian": ZCDP(1), "laplace": PureDP(1), "wishart": PureDP(1)}
KURTOSIS = {"gaussian": 3.0, "laplace": 6.0, "wishart": 3 + 6 / (D + 1)}
"""At most: of an entry on the diagonal."""


def draws(noise: str) -> tuple[NoiseLaw, Floats]:
    """Return noise by draw, block and entry, the diagonal of a block first, in units of one standard deviation."""
    law = calibrated(QUESTION, NOISES[noise], "replace", noise)
    bits = SeededBits(2300)
    sizes = [part.size for part in QUESTION.parts]
    spread = law.spread()
    unit = np.sqrt([*[spread.diagonal_variance] * D, *[spread.off_diagonal_variance] * (D * (D - 1) // 2)])
    return law, np.stack([QUESTION.blocks(law.draw(sizes, bits)) for _ in range(COUNT)]) / unit


@pytest.mark.parametrize("noise", NOISES)
def test_blocks_have_the_stated_noise_and_share_none(noise: str) -> None:
    _, found = draws(noise)
    tests = K * 6 + (K * 6) ** 2
    reach = float(stats.norm.isf(SIZE / 2 / tests))
    squares = (found**2).mean(axis=0)  # 1, with standard error √((kurtosis − 1)/COUNT)
    error = math.sqrt((KURTOSIS[noise] - 1) / COUNT)
    assert np.abs(squares - 1).max() < reach * error
    pooled = float(squares.mean())  # of 24 entries: sharp enough for a scale 5 % off
    assert abs(pooled - 1) < 5 * error / math.sqrt(12)
    assert abs(pooled * 0.95**2 - 1) > 5 * error / math.sqrt(12)
    flat = found.reshape(COUNT, -1)
    correlation = flat.T @ flat / COUNT
    np.fill_diagonal(correlation, 0.0)
    between = np.kron(np.eye(K), np.ones((6, 6))) == 0
    assert np.abs(correlation[between]).max() < reach / math.sqrt(COUNT)
    assert reach / math.sqrt(COUNT) < 0.1
