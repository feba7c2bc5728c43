"""Exponential and normal numbers: their laws, their error against 60 digits, and what the rarest words give.

Size: each statistical test rejects correct code with probability 1e-6. Power: a scale 5 % off is rejected with probability
above 1 − 1e-6, as the tests named ``..._would_be_caught`` compute and show.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from dpcov.kernel.bits import Bits, SeededBits
from dpcov.kernel.noise.normal import RELATIVE_ERROR, exponentials, normals
from tests.helpers.stats import SIZE, Floats, chi_square

DRAWS = 400_000
ONES = 2**64 - 1
Sampler = Callable[[int, Bits], Floats]

LAWS: dict[str, tuple[Sampler, Callable[[Floats], Floats], Callable[[Floats], Floats]]] = {
    "exponential": (exponentials, stats.expon.cdf, stats.expon.ppf),
    "normal": (normals, stats.norm.cdf, stats.norm.ppf),
}


class Words:
    """Bits from a list; asking for more than it holds fails."""

    seeded = True

    def __init__(self, words: Sequence[int]) -> None:
        self._left = list(words)

    def words(self, count: int) -> NDArray[np.uint64]:
        assert count <= len(self._left), "more words were asked for than the test foresaw"
        taken, self._left = self._left[:count], self._left[count:]
        return np.array(taken, dtype=np.uint64)

    @property
    def left(self) -> int:
        return len(self._left)


class Recorded(SeededBits):
    """Seeded words that remember what they were."""

    def __init__(self, seed: int, *, small: bool = False) -> None:
        super().__init__(seed)
        self.log: list[int] = []
        self._small = small

    def words(self, count: int) -> NDArray[np.uint64]:
        words = super().words(count)
        if self._small:  # each with a random number of leading zeros, so that all magnitudes occur
            words = words >> (words & np.uint64(31)) * np.uint64(2)
        self.log += [int(word) for word in words]
        return words


def _interval(*words: int) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Return the ends of the interval of uniform numbers that start with these words."""
    seen, unit = 0, mpmath.mpf(1)
    for word in words:
        seen, unit = (seen << 64) + word, unit / 2**64
    return seen * unit, (seen + 1) * unit


def _uniforms(count: int, words: Sequence[int], start: int) -> tuple[list[tuple[mpmath.mpf, mpmath.mpf]], int]:
    """Read what `normal._uniforms` reads: a word each; another where it starts with eight equal bits; a third where all are.

    Near 1 the third word may count for U or for 1 − U: two words then say enough.
    """
    high, position = words[start : start + count], start + count
    short = [index for index, word in enumerate(high) if min(word, ONES - word) < 2**56]
    low = dict(zip(short, words[position : position + len(short)], strict=True))
    position += len(short)
    intervals = []
    for index, word in enumerate(high):
        seen = [word, low[index]] if index in low else [word]
        if word in (0, ONES):
            seen += [words[position]] if word == 0 else []
            position += 1
        intervals.append(_interval(*seen))
    return intervals, position


def ideal_exponentials(count: int, words: Sequence[int], start: int = 0) -> tuple[list[tuple[mpmath.mpf, mpmath.mpf]], int]:
    """Return for each −log U its least and largest value over the bits that were not drawn."""
    uniforms, position = _uniforms(count, words, start)
    return [(-mpmath.log(b), -mpmath.log(a) if a else mpmath.inf) for a, b in uniforms], position


def ideal_normals(count: int, words: Sequence[int]) -> list[mpmath.mpf]:
    """Recompute normals at the caller's precision, taking the middle of what the bits leave open."""
    pairs = (count + 1) // 2
    lengths, position = ideal_exponentials(pairs, words)
    angles, position = _uniforms(pairs, words, position)
    octants = np.array(words[position:], dtype=np.uint64).view(np.uint8)
    first, second = [], []
    for (a, b), (low, high), octant in zip(lengths, angles, octants[:pairs], strict=True):
        length, angle = mpmath.sqrt(a + b), (low + high) / 2 * mpmath.pi / 4
        near, far = length * mpmath.cos(angle), length * mpmath.sin(angle)
        x, y = (far, near) if octant & 4 else (near, far)
        first.append(-x if octant & 1 else x)
        second.append(-y if octant & 2 else y)
    return (first + second)[:count]


def p_value(draws: Floats, law: str, cells: int = 20) -> float:
    """Return the p-value of Pearson's test with cells of equal probability."""
    edges = LAWS[law][2](np.arange(1, cells) / cells)
    return chi_square(np.bincount(np.searchsorted(edges, draws), minlength=cells), np.full(cells, 1 / cells))


@pytest.mark.parametrize("law", LAWS)
def test_the_law(law: str) -> None:
    """Size 1e-6 for each of the two tests. Catches a scale 5 % off (next test), a shift, and any bump in the middle."""
    sampler, cdf, _ = LAWS[law]
    draws = sampler(DRAWS, SeededBits(301))
    assert p_value(draws, law) > SIZE
    assert stats.kstest(cdf(draws), "uniform").pvalue > SIZE


@pytest.mark.parametrize("mistake", [0.95, 1.05])
@pytest.mark.parametrize("law", LAWS)
def test_a_wrong_scale_would_be_caught(law: str, mistake: float) -> None:
    """Pearson's statistic is then noncentral chi-square: computed, and shown on the sampler itself."""
    sampler, cdf, ppf = LAWS[law]
    wrong = np.diff(cdf(ppf(np.arange(21) / 20) / mistake))
    noncentrality = DRAWS * float(((wrong - 0.05) ** 2).sum()) / 0.05
    assert stats.ncx2.cdf(stats.chi2.isf(SIZE, 19), 19, noncentrality) < 1e-6
    assert p_value(mistake * sampler(DRAWS, SeededBits(302)), law) < SIZE


@pytest.mark.parametrize(("law", "edge"), [("exponential", 8.0), ("normal", 3.5)])
def test_the_tail_has_its_weight(law: str, edge: float) -> None:
    """Exact binomial test, size 1e-6, of the share beyond a far point; a tail 30 % too light or heavy fails with 1 − 1e-6."""
    sampler, cdf, _ = LAWS[law]
    share, count = float(1 - cdf(np.array([edge]))[0]), 4_000_000
    beyond = int(np.sum(sampler(count, SeededBits(303)) > edge))
    assert stats.binomtest(beyond, count, share).pvalue > SIZE


def test_the_two_halves_are_independent() -> None:
    """Size 1e-6 each. The second half is made of the same lengths and angles as the first.

    Catches a correlation of 0.02 in x·y or in x²·y² with probability above 1 − 1e-6: a √2 forgotten, or one angle for both.
    """
    draws = normals(2 * DRAWS, SeededBits(304))
    first, second = draws[:DRAWS], draws[DRAWS:]
    products = first * second  # variance 1
    squares = (first**2 - 1) * (second**2 - 1) / 2  # variance 1
    for values in (products, squares):
        assert 2 * stats.norm.sf(abs(float(values.sum())) / np.sqrt(DRAWS)) > SIZE
    ranks = 8 * np.searchsorted(OCTILES, first) + np.searchsorted(OCTILES, second)
    assert chi_square(np.bincount(ranks, minlength=64), np.full(64, 1 / 64)) > SIZE


OCTILES: Floats = stats.norm.ppf(np.arange(1, 8) / 8)


def test_neighbours_in_one_half_are_independent() -> None:
    """Size 1e-6, 64 cells. Catches words that are used twice."""
    draws = normals(2 * DRAWS, SeededBits(305))
    ranks = 8 * np.searchsorted(OCTILES, draws[:-1:2]) + np.searchsorted(OCTILES, draws[1::2])
    assert chi_square(np.bincount(ranks, minlength=64), np.full(64, 1 / 64)) > SIZE


def test_the_angle_is_uniform_over_octants_and_within() -> None:
    """Size 1e-6, 64 cells of π/32. Catches an octant that is hit twice or never, and an angle over another range."""
    draws = normals(2 * DRAWS, SeededBits(306))
    angles = np.arctan2(draws[DRAWS:], draws[:DRAWS])
    cells = np.floor((angles + np.pi) / (2 * np.pi) * 64).astype(np.int64).clip(0, 63)
    assert chi_square(np.bincount(cells, minlength=64), np.full(64, 1 / 64)) > SIZE


@pytest.mark.parametrize("small", [False, True])
def test_exponentials_err_less_than_is_claimed(small: bool) -> None:
    """Against 60 digits from the same words, ordinary ones and ones of every magnitude; a float error beyond 2⁻⁴⁷ fails."""
    bits = Recorded(307, small=small)
    draws = exponentials(3000, bits)
    with mpmath.workdps(60):
        intervals, used = ideal_exponentials(3000, bits.log)
        assert used == len(bits.log)
        for draw, (low, high) in zip(draws.tolist(), intervals, strict=True):
            assert low * (1 - RELATIVE_ERROR) <= draw <= high * (1 + RELATIVE_ERROR)


@pytest.mark.parametrize("small", [False, True])
def test_normals_err_less_than_is_claimed(small: bool) -> None:
    """As above; beside the claim, the bits that were not drawn count for 2⁻⁵⁷ at most in these words."""
    bits = Recorded(308, small=small)
    draws = normals(3001, bits)
    with mpmath.workdps(60):
        for draw, ideal in zip(draws.tolist(), ideal_normals(3001, bits.log), strict=True):
            assert abs(draw - ideal) <= RELATIVE_ERROR * (1 + 2.0**-10) * abs(ideal)


def check_one(words: Sequence[int]) -> int:
    """Draw one exponential from these words, check it against 80 digits and return how many words it took."""
    bits = Words(words)
    draw = float(exponentials(1, bits)[0])
    with mpmath.workdps(80):
        [(least, most)], used = ideal_exponentials(1, words)
        assert least * (1 - RELATIVE_ERROR) <= draw <= most * (1 + RELATIVE_ERROR)
    assert used == len(words) - bits.left
    return used


def test_complements_are_as_accurate() -> None:
    """Near U = 1 the answer is 1 − U: words that start with up to 64 ones, which random words do not show."""
    for k in range(65):
        for low in (0, 1, 2**40 + 1, 2**63 + 5, ONES):
            check_one([ONES - (2**k - 1), low, 2**63])


@pytest.mark.parametrize(
    ("high", "used"),
    [(0, 3), (1, 2), (2**56 - 1, 2), (2**56, 1), (2**63, 1), (ONES - 2**56, 1), (ONES - 2**56 + 1, 2), (ONES, 3)],
)
def test_more_bits_where_few_are_significant(high: int, used: int) -> None:
    """128 bits after eight equal ones, 192 after 64: in the right place, for 0, 1 and a half in each of the later words.

    Catches a last word that is added to the middle of the interval that it should divide: the tail would end at 2⁻¹²⁹.
    """
    for low, last in product([0, 1, 2**63, ONES], repeat=2):
        assert check_one([high, low, last]) == used


def test_all_zeros_and_all_ones() -> None:
    """The smallest uniform is near 2⁻¹⁹² and not 0, the largest leaves 1 − U above 0: nothing is infinite or zero."""
    assert 191 * np.log(2) < exponentials(1, Words([0, 0, 0]))[0] < 194 * np.log(2)
    assert 0 < exponentials(1, Words([ONES, ONES, ONES]))[0] <= 2.0**-127
    assert exponentials(1, Words([2**63]))[0] == pytest.approx(np.log(2), rel=RELATIVE_ERROR)


def test_tails_are_not_cut() -> None:
    """53-bit uniforms end at 8.6 standard deviations, 64-bit ones at 9.5; tiny words go beyond 13 on every side."""
    for octant in range(8):
        # length from small words; an angle near 0, as its words are small too; then the octant
        pair = normals(2, Words([0, 0, 2**63, 0, 0, 2**63, octant]))
        assert np.abs(pair).max() > 13
        assert 0 < np.abs(pair).min() < 1e-35
        assert (np.signbit(pair) == [bool(octant & 1), bool(octant & 2)]).all()
        assert (np.abs(pair[1]) > np.abs(pair[0])) == bool(octant & 4)


def needed(word: int) -> list[int]:
    """Return a word and what is drawn after it."""
    return [word, 7, 7] if word in (0, ONES) else [word, 7] if min(word, ONES - word) < 2**56 else [word]


def test_always_finite_and_never_zero() -> None:
    """Every mixture of extreme words, also under a caller's np.seterr(all="raise")."""
    with np.errstate(all="raise"):
        for length, angle in product([0, 1, 2**32 - 1, 2**56 - 1, 2**56, 2**63, ONES - 1, ONES], repeat=2):
            pair = normals(2, Words([*needed(length), *needed(angle), 0]))
            assert np.isfinite(pair).all()
            assert pair.all()


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 16, 17])
def test_any_count(count: int) -> None:
    for sampler in (exponentials, normals):
        draws = sampler(count, SeededBits(309))
        assert draws.shape == (count,)
        assert draws.dtype == np.float64
