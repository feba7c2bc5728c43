"""The discrete samplers: the exact law, at every scale, by floats and by the exact path alike.

Size: each statistical test rejects correct code with probability 1e-6 (Pearson's statistic, cells pooled to 20 expected
draws). Power: a scale 5 % off is rejected with probability above 1 − 1e-6 wherever the law allows it; the tests named
``..._would_be_caught`` compute this and feed the wrong sampler to the same test.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import mpmath
import numpy as np
import opendp.prelude as dp
import pytest
from numpy.typing import NDArray

from dpcov.errors import ParameterError
from dpcov.kernel.bits import Bits, SeededBits
from dpcov.kernel.noise import discrete
from dpcov.kernel.noise.discrete import DOUBT, LOG_ERROR, TRUSTED_WORD, discrete_gaussian, discrete_laplace, exp_enclosure
from tests.helpers.stats import (
    GAUSSIAN_QUANTILES,
    LAPLACE_QUANTILES,
    SIZE,
    Cells,
    Integers,
    chi_square,
    gaussian_cells,
    laplace_cells,
    miss,
    quantile_edges,
    two_samples,
    two_sided,
)

Sampler = Callable[[Fraction, int, Bits], Integers]

FAR = Fraction(math.isqrt(10 * 2**64))  # 2³²·√10 to ten digits: neither a power of two nor near one
LAPLACE_SCALES = [
    Fraction(1, 10),
    Fraction(1, 2),
    Fraction(1),
    Fraction(33, 10),
    Fraction(100),
    2**16 - Fraction(1, 3),  # the last scale without low bits
    Fraction(2**16),  # the first with one
    Fraction(2**20),
    FAR,
    Fraction(2**50),
]
VARIANCES = [
    Fraction(1, 4),
    Fraction(1),
    Fraction(33, 10) ** 2,
    Fraction(100**2),
    Fraction((2**16 - 1) ** 2 - 1),  # proposal 2¹⁶ − 1: the last without low bits
    Fraction((2**16 - 1) ** 2),  # proposal 2¹⁶: the first with one
    Fraction(2**40),
    Fraction(10 * 2**64),
    Fraction(2**100),
]
MISTAKES = [Fraction(95, 100), Fraction(105, 100)]


def close(scale: Fraction) -> bool:
    """Whether a few integers hold nearly all the mass, so that each is a cell of its own."""
    return scale <= 1


def laplace_law(scale: Fraction, edges_of: Fraction) -> Cells:
    edges = np.arange(-9, 10) if close(edges_of) else quantile_edges(float(edges_of), LAPLACE_QUANTILES)
    return laplace_cells(float(scale), edges)


def gaussian_law(variance: Fraction, edges_of: Fraction) -> Cells:
    edges = np.arange(-9, 10) if close(edges_of) else quantile_edges(math.sqrt(edges_of), GAUSSIAN_QUANTILES)
    return gaussian_cells(math.sqrt(variance), edges)


def laplace_size(scale: Fraction) -> int:
    """Return the number of draws; at 1/10 only one draw in 10 000 is not 0, so many are needed."""
    return 8_000_000 if scale < Fraction(1, 2) else 200_000


GAUSSIAN_SIZE = 200_000


def scale_id(value: Fraction) -> str:
    return f"{float(value):.7g}"


class Words:
    """Bits from a list, then from a seed."""

    seeded = True

    def __init__(self, first: Iterable[int] = (), seed: int = 0) -> None:
        self._first, self._rest = list(first), SeededBits(seed)

    def words(self, count: int) -> NDArray[np.uint64]:
        taken = np.array(self._first[:count], dtype=np.uint64)
        del self._first[:count]
        return np.concatenate([taken, self._rest.words(count - len(taken))])


class NoWords:
    """Bits that must not be asked."""

    seeded = True

    def words(self, count: int) -> NDArray[np.uint64]:
        raise AssertionError(f"{count} more words were drawn where 64 bits decide")


class SmallWords:
    """Words below 2⁴⁴, which the filter never trusts: all of them, or those that accept or reject a proposal."""

    seeded = True

    def __init__(self, seed: int, *, only_last_third: bool = False) -> None:
        self._bits, self._only_last_third = SeededBits(seed), only_last_third

    def words(self, count: int) -> NDArray[np.uint64]:
        words = self._bits.words(count)
        words[2 * count // 3 if self._only_last_third else 0 :] >>= np.uint64(20)
        return words


def force(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send every decision to the exact path, which then looks at the same few γ again and again: each exp(−γ) is kept."""
    monkeypatch.setattr(discrete, "TRUSTED_WORD", np.uint64(2**64 - 1))
    monkeypatch.setattr(discrete, "exp_enclosure", cache(exp_enclosure))


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send every decision to the exact path (all words but 2⁶⁴ − 1)."""
    force(monkeypatch)


def true_exp(gamma: Fraction) -> mpmath.mpf:
    return mpmath.exp(-mpmath.mpf(gamma.numerator) / gamma.denominator)


def true_inverse(uniform: Fraction, scale: Fraction) -> int:
    """Return ⌊−scale·log U⌋ at the caller's precision."""
    minus_log = -mpmath.log(mpmath.mpf(uniform.numerator) / uniform.denominator)
    return int(mpmath.floor(minus_log * scale.numerator / scale.denominator))


def series_exp(gamma: Fraction) -> tuple[Fraction, Fraction]:
    """Return exp(−γ) between bounds 2⁻²⁰⁰ apart, from its series in whole numbers: no Decimal, no mpmath.

    Terms are held in units of 2⁻⁴⁰⁰. Rounding each one down costs a unit, which later terms multiply by less than
    e⁶⁰ < 2⁸⁷; fewer than 2¹⁰ terms are needed, so all the errors together are far below 2⁻²⁰⁰.
    """
    if gamma > 60:
        return Fraction(0), Fraction(1, 2**85)  # as e > 2.7 and 2.7⁶⁰ > 2⁸⁵
    total, term, k = 2**400, 2**400, 0
    while term:
        k += 1
        term = term * gamma.numerator // (gamma.denominator * k)
        total += -term if k % 2 else term
    return Fraction(total - 2**199, 2**400), Fraction(total + 2**199, 2**400)


@pytest.mark.parametrize("scale", LAPLACE_SCALES, ids=scale_id)
def test_laplace_has_its_law(scale: Fraction) -> None:
    """Size 1e-6. Catches a scale 5 % off (next test), a zero counted twice and rounded continuous noise."""
    draws = discrete_laplace(scale, laplace_size(scale), SeededBits(101))
    assert laplace_law(scale, scale).p_value(draws) > SIZE


@pytest.mark.parametrize("mistake", MISTAKES, ids=scale_id)
@pytest.mark.parametrize("scale", LAPLACE_SCALES, ids=scale_id)
def test_a_wrong_laplace_scale_would_be_caught(scale: Fraction, mistake: Fraction) -> None:
    right, wrong, size = laplace_law(scale, scale), laplace_law(scale * mistake, scale), laplace_size(scale)
    assert miss(right, wrong, size) < 1e-6
    if scale * mistake <= discrete.MAX_SCALE:
        assert right.p_value(discrete_laplace(scale * mistake, size, SeededBits(102))) < SIZE


@pytest.mark.parametrize("variance", VARIANCES, ids=scale_id)
def test_gaussian_has_its_law(variance: Fraction) -> None:
    """Size 1e-6. Catches a σ 5 % off (next test), a zero counted twice and rounded continuous noise."""
    draws = discrete_gaussian(variance, GAUSSIAN_SIZE, SeededBits(103))
    assert gaussian_law(variance, variance).p_value(draws) > SIZE


@pytest.mark.parametrize("mistake", MISTAKES, ids=scale_id)
@pytest.mark.parametrize("variance", VARIANCES, ids=scale_id)
def test_a_wrong_gaussian_sigma_would_be_caught(variance: Fraction, mistake: Fraction) -> None:
    wrong_variance = variance * mistake**2
    right, wrong = gaussian_law(variance, variance), gaussian_law(wrong_variance, variance)
    assert miss(right, wrong, GAUSSIAN_SIZE) < 1e-6
    if wrong_variance <= discrete.MAX_SCALE**2:
        assert right.p_value(discrete_gaussian(wrong_variance, GAUSSIAN_SIZE, SeededBits(104))) < SIZE


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1)], ids=scale_id)
def test_other_laws_would_be_caught(scale: Fraction) -> None:
    """Negative controls: rounded continuous noise, and the zero that comes with both signs."""
    generator = np.random.default_rng(115)
    laplace, gaussian = laplace_law(scale, scale), gaussian_law(scale**2, scale**2)
    rounded = np.rint(generator.laplace(scale=float(scale), size=200_000)).astype(np.int64)
    assert laplace.p_value(rounded) < SIZE
    rounded = np.rint(generator.normal(scale=float(scale), size=200_000)).astype(np.int64)
    assert gaussian.p_value(rounded) < SIZE
    draws = discrete_laplace(scale, 200_000, SeededBits(116))
    assert laplace.p_value(np.concatenate([draws, draws[draws == 0]])) < SIZE


def test_a_scale_far_below_one_gives_zeros() -> None:
    """Another value has probability below 1e-15 in all; there is no power against 5 %, as the law has no spread."""
    assert not discrete_laplace(Fraction(1, 1000), 100_000, SeededBits(105)).any()
    assert not discrete_gaussian(Fraction(1, 100), 100_000, SeededBits(106)).any()
    assert not discrete_gaussian(Fraction(1, 10**6), 100_000, SeededBits(107)).any()


def sample(sampler: Sampler, scale: Fraction, size: int, seed: int) -> Integers:
    """Draw with ``scale`` standing for b or for σ."""
    return sampler(scale if sampler is discrete_laplace else scale**2, size, SeededBits(seed))


LARGE = [2**16 - Fraction(1, 3), Fraction(2**16), Fraction(2**20), FAR, Fraction(2**50)]


@pytest.mark.parametrize("scale", LARGE, ids=scale_id)
@pytest.mark.parametrize("sampler", [discrete_laplace, discrete_gaussian])
def test_low_bits_and_sign_are_uniform(sampler: Sampler, scale: Fraction) -> None:
    """Size 1e-6 for each choice of bits; the fifty wide cells above cannot see them.

    The lowest six bits, then six across the seam between the geometric and the uniform part, each together with the
    sign: over so short a stretch the law is flat to 2⁻¹². Catches a bit that is 1 with probability 0.48 or 0.52 with
    probability above 1 − 1e-6, as asserted.
    """
    bins, uniform = np.arange(127), np.full(128, 1 / 128)
    biased = uniform * np.where(np.arange(128) % 2, 1.04, 0.96)
    assert miss(Cells(bins, uniform), Cells(bins, biased), 200_000) < 1e-6
    draws = sample(sampler, scale, 200_000, 108)
    magnitude = np.abs(draws)
    for shift in {0, max(0, math.floor(scale).bit_length() - discrete.COARSE_BITS - 3)}:
        cells = 2 * ((magnitude >> shift) & 63) + (draws < 0)
        assert chi_square(np.bincount(cells, minlength=128), uniform) > SIZE


@pytest.mark.parametrize("scale", [Fraction(100), *LARGE], ids=scale_id)
@pytest.mark.parametrize("sampler", [discrete_laplace, discrete_gaussian])
def test_a_moment_is_right(sampler: Sampler, scale: Fraction) -> None:
    """Size 1e-6, two-sided. Catches a scale 5 % off with probability above 1 − 1e-30, and too few large draws.

    2·Σ|x|/b is chi-square with 2n degrees for Laplace and Σx²/σ² with n for the Gaussian, up to relative errors of
    1/(6b²) and exp(−2π²σ²): below a hundredth of a standard deviation for 200 000 draws.
    """
    size = 200_000
    wrongs = [mistake for mistake in MISTAKES if scale * mistake <= discrete.MAX_SCALE]

    def p_value(draws: Integers) -> float:
        scaled = np.abs(draws) / float(scale)
        if sampler is discrete_laplace:
            return two_sided(2 * float(scaled.sum()), 2 * size)
        return two_sided(float((scaled**2).sum()), size)

    assert p_value(sample(sampler, scale, size, 109)) > SIZE
    for mistake in wrongs:
        assert p_value(sample(sampler, scale * mistake, size, 110)) < SIZE


@pytest.mark.parametrize("scale", [3.3, 2.0**20])
@pytest.mark.parametrize("sampler", [discrete_laplace, discrete_gaussian])
def test_draws_agree_with_opendp(sampler: Sampler, scale: float) -> None:
    """Two-sample chi-square, size 1e-6 (OpenDP cannot be seeded). Catches a scale 15 % off with 1 − 1e-6.

    That is asserted too: with n draws each, the noncentrality is half of that of one sample against its law.
    """
    dp.enable_features("contrib")
    size, is_laplace = 40_000, sampler is discrete_laplace
    metric = dp.l1_distance(T="i64") if is_laplace else dp.l2_distance(T="f64")
    make: Any = dp.m.make_laplace if is_laplace else dp.m.make_gaussian
    theirs = np.array(make(dp.vector_domain(dp.atom_domain(T="i64")), metric, scale=scale)([0] * size), dtype=np.int64)
    ours = sample(sampler, Fraction(scale), size, 111)

    law, quantiles = (laplace_cells, LAPLACE_QUANTILES) if is_laplace else (gaussian_cells, GAUSSIAN_QUANTILES)
    edges = quantile_edges(scale, quantiles)
    right = law(scale, edges)
    assert two_samples(right.counts(ours), right.counts(theirs)) > SIZE
    for mistake in [0.85, 1.15]:
        assert miss(right, law(scale * mistake, edges), size // 2) < 1e-6


GAMMAS = [
    Fraction(0),
    Fraction(1, 10**60),
    Fraction(1, 2**64),
    Fraction(1, 3),
    Fraction(1),
    Fraction(10**30 + 1, 10**30),
    Fraction(22, 7) ** 9 / 1000,
    Fraction(44),
    Fraction(1000, 3),
]


@pytest.mark.parametrize(
    ("gamma", "length"),
    [*product(GAMMAS, [64, 128, 192]), (Fraction(10**5), 64)],  # the last one has 43 000 digits
)
def test_exp_enclosure_encloses_and_is_narrow(gamma: Fraction, length: int) -> None:
    """Narrower than one more bit of U, or a comparison might never end."""
    lower, upper = exp_enclosure(gamma, length)
    assert 0 <= lower <= upper <= 1
    assert upper - lower < Fraction(1, 2**length)
    with mpmath.workdps(100):
        truth = true_exp(gamma)
        assert mpmath.mpf(lower.numerator) / lower.denominator <= truth
        assert truth <= mpmath.mpf(upper.numerator) / upper.denominator


def test_exp_enclosure_agrees_with_fractions() -> None:
    """Two ways to the same number, with nothing in common."""
    for gamma in [Fraction(0), Fraction(1, 10**9), Fraction(1, 3), Fraction(7), Fraction(443, 10)]:
        lower, upper = exp_enclosure(gamma, 40)
        below, above = series_exp(gamma)
        assert lower <= above
        assert below <= upper


WORDS = [0, 1, 2, 2**20, 2**44 - 1, 2**44, 2**44 + 1, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1]


@pytest.mark.parametrize("word", WORDS)
def test_below_exp_decides_like_mpmath(word: int) -> None:
    """The first word is given, the next ones are set: so U is known and so is the answer."""
    with mpmath.workdps(120):
        for gamma in [*GAMMAS, Fraction(45), Fraction(89), Fraction(10**6), Fraction(10**18)]:
            for second in [0, 2**63, 2**64 - 1]:
                third = 2**62 + 12345
                value = (word << 128) + (second << 64) + third
                expected = mpmath.mpf(value) / 2**192 < true_exp(gamma)
                assert discrete._LazyUniform(word, Words([second, third], seed=201)).below_exp(gamma) == expected


def test_further_bits_decide_where_the_first_say_little() -> None:
    """−log U lies anywhere between −log(6·2⁻⁶⁴) and −log(5·2⁻⁶⁴): floats see only the second."""
    words = np.array([5], dtype=np.uint64)
    found = {int(discrete._invert(words, Fraction(1000), SeededBits(seed))[0]) for seed in range(20)}
    assert found <= {
        *range(math.floor(1000 * (64 * math.log(2) - math.log(6))), math.ceil(1000 * (64 * math.log(2) - math.log(5))))
    }
    assert len(found) > 10


@pytest.mark.parametrize("scale", [Fraction(1, 1000), Fraction(1, 3), Fraction(1), Fraction(33, 10), Fraction(2**16)])
@pytest.mark.parametrize("word", WORDS)
def test_inverted_is_that_of_mpmath(word: int, scale: Fraction) -> None:
    second = 2**62 + 12345
    with mpmath.workdps(120):
        expected = true_inverse(Fraction((word << 64) + second, 2**128), scale)
    assert discrete._LazyUniform(word, Words([second], seed=202)).inverted(scale) == expected


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(33, 10), Fraction(1000), 2**16 - Fraction(1, 3)])
@pytest.mark.parametrize("steps", [1, 2, 7])
def test_bits_on_a_boundary_are_read_to_the_end(scale: Fraction, steps: int) -> None:
    """U follows exp(−m/b) for 128 bits and departs in the 192nd: one step to either side decides ⌊−b·log U⌋."""
    with mpmath.workdps(150):
        boundary = int(mpmath.floor(true_exp(steps / scale) * mpmath.mpf(2) ** 192))
    gamma, none = steps / scale, np.zeros(1, dtype=np.int64)
    for offset, expected in [(-1, steps), (2, steps - 1)]:
        value = boundary + offset
        words, tail = np.array([value >> 128], dtype=np.uint64), [(value >> 64) % 2**64, value % 2**64]
        assert discrete._invert(words, scale, Words(tail))[0] == expected
        accepted = discrete.compare(words, np.array([float(gamma)]), none, none, lambda *_: gamma, Words(tail))
        assert accepted[0] == (offset < 0)


def boundary_words(gammas: Iterable[Fraction], width: float) -> list[int]:
    """Return words at, next to and at a relative distance ``width`` from each 2⁶⁴·exp(−γ)."""
    with mpmath.workdps(60):
        centres = [int(mpmath.floor(true_exp(gamma) * 2**64)) for gamma in gammas]
    offsets = [(c, o) for c in centres for o in (-1, 0, 1, -int(c * width) - 1, int(c * width) + 1)]
    return [min(max(c + o, 0), 2**64 - 1) for c, o in offsets]


@pytest.mark.parametrize("scale", [Fraction(33, 10), Fraction(1000), 2**16 - Fraction(1, 3)], ids=scale_id)
def test_invert_near_its_boundaries(scale: Fraction) -> None:
    """Words inside, on the rim of and outside the filter's doubtful zone all get the true value."""
    steps = [1, 2, 3, 10, int(scale), int(5 * scale), int(13 * scale)]
    words = boundary_words([m / scale for m in steps], 2.0**-34) + boundary_words([m / scale for m in steps], 2.0**-33)
    for word in words:
        found = discrete._invert(np.array([word], dtype=np.uint64), scale, Words([2**63], seed=204))[0]
        with mpmath.workdps(60):
            assert found == true_inverse(Fraction((word << 64) + 2**63, 2**128), scale)


@pytest.mark.parametrize("ulps", [-(2**13), 2**13])
@pytest.mark.parametrize("scale", [Fraction(33, 10), Fraction(1000), 2**16 - Fraction(1, 3)], ids=scale_id)
def test_a_poor_logarithm_changes_no_draw(scale: Fraction, ulps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """2¹³ units in the last place off, either way: the doubtful zones are wide enough that fractions decide what it spoils."""
    good = discrete._minus_log

    def poor(words: discrete.Words) -> discrete.Floats:
        exact = good(words)
        return np.asarray(exact + ulps * np.spacing(exact))

    monkeypatch.setattr(discrete, "_minus_log", poor)
    gammas = [m / scale for m in (1, 2, 3, 10, int(scale), int(5 * scale), int(13 * scale))]
    none, spoilt = np.zeros(1, dtype=np.int64), 0
    for width in (2.0**-41, 2.0**-39, 2.0**-37, 2.0**-36):
        for gamma, word in zip([g for g in gammas for _ in range(5)], boundary_words(gammas, width), strict=True):
            words = np.array([word], dtype=np.uint64)
            with mpmath.workdps(60):
                uniform = Fraction((word << 64) + 2**63, 2**128)
                inverse = true_inverse(uniform, scale)
                below = mpmath.mpf(uniform.numerator) / uniform.denominator < true_exp(gamma)
            assert discrete._invert(words, scale, Words([2**63], seed=204))[0] == inverse
            accepted = discrete.compare(
                words, np.array([float(gamma)]), none, none, lambda *_, g=gamma: g, Words([2**63], seed=204)
            )
            assert accepted[0] == below
            spoilt += (poor(words)[0] > float(gamma)) != below
    assert spoilt > 10  # else the logarithm was not poor enough to show anything


def test_floats_decide_from_the_first_word_that_says_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """From 2⁴⁴ on, as the error bound is proved; far from a boundary a word more for the exact path would be time alone."""
    exact: list[int] = []

    class Counted(discrete._LazyUniform):
        def __init__(self, word: int, bits: Bits, zeros: int = 0) -> None:
            exact.append(word)
            super().__init__(word, bits, zeros)

    monkeypatch.setattr(discrete, "_LazyUniform", Counted)
    words, none = np.array([2**44 - 1, 2**44], dtype=np.uint64), np.zeros(2, dtype=np.int64)
    discrete._invert(words, Fraction(33, 10), NoWords())
    discrete.compare(words, np.full(2, 3.0), none, none, lambda *_: Fraction(3), NoWords())
    assert exact == [2**44 - 1] * 2


def reference(scale: Fraction, exact_excess: Callable[[int, int], Fraction], words: list[int]) -> list[int]:
    """Draw one batch as the paper says, with Fractions only: the proposals in order, the rejected ones left out."""
    shift = max(0, math.floor(scale).bit_length() - 16)
    count = len(words) // 3

    def below(word: int, gamma: Fraction) -> bool:
        lower, upper = series_exp(gamma)
        if Fraction(word + 1, 2**64) <= lower:
            return True
        assert Fraction(word, 2**64) >= upper, "64 bits do not decide: choose another seed"
        return False

    def inverse(word: int) -> int:
        # A float points near the answer; Fractions alone decide it.
        guess = max(0, int(-math.log(max(word, 1) / 2**64) * float(scale / 2**shift)) - 2)
        while below(word, (guess + 1) * 2**shift / scale):
            guess += 1
        assert guess == 0 or below(word, guess * 2**shift / scale)
        return guess

    draws = []
    for first, second, third in zip(words[:count], words[count : 2 * count], words[2 * count :], strict=True):
        low = second % 2**shift
        magnitude = (inverse(first) << shift) + low
        negative = second >= 2**63
        if below(third, exact_excess(magnitude, low)) and not (negative and magnitude == 0):
            draws.append(-magnitude if negative else magnitude)
    return draws


@pytest.mark.parametrize("source", ["ordinary words", "small words", "forced"])
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(33, 10), Fraction(2**16), FAR], ids=scale_id)
@pytest.mark.parametrize("sampler", [discrete_laplace, discrete_gaussian])
def test_draws_equal_a_reference_in_fractions(
    sampler: Sampler, scale: Fraction, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Word for word: ordinary words go through the filter, small or forced ones through the exact path."""
    used: list[int] = []

    class Counted(discrete._LazyUniform):
        def __init__(self, word: int, bits: Bits, zeros: int = 0) -> None:
            used.append(word)
            super().__init__(word, bits, zeros)

    monkeypatch.setattr(discrete, "_LazyUniform", Counted)
    if source == "forced":
        force(monkeypatch)

    def bits() -> Bits:
        # Small words throughout propose only values beyond 13 scales, which a Gaussian would never accept.
        small = SmallWords(205, only_last_third=sampler is discrete_gaussian)
        return small if source == "small words" else SeededBits(205)

    size = 24
    proposals = 2 * size + 32  # of the first batch, which is large enough here
    words = [int(word) for word in bits().words(3 * proposals)]
    if sampler is discrete_laplace:
        expected = reference(scale, lambda _, low: low / scale, words)
    else:
        variance, proposal = scale**2, Fraction(math.floor(scale) + 1)
        centre = variance / proposal
        expected = reference(proposal, lambda m, low: low / proposal + (m - centre) ** 2 / (2 * variance), words)
    assert len(expected) >= size
    assert sampler(scale if sampler is discrete_laplace else scale**2, size, bits()).tolist() == expected[:size]
    exact_decisions = {"ordinary words": 0, "small words": proposals, "forced": 2 * proposals}[source]
    assert len(used) >= exact_decisions


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(33, 10), Fraction(2**20)], ids=scale_id)
def test_laplace_by_the_exact_path_alone_has_its_law(scale: Fraction) -> None:
    """Size 1e-6. With 2000 draws it catches a scale a third off, and an exact path that rounds or is reversed."""
    right = laplace_law(scale, scale)
    assert right.p_value(discrete_laplace(scale, 2000, SeededBits(206))) > SIZE
    assert miss(right, laplace_law(scale * Fraction(2, 3), scale), 2000) < 1e-6


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize("variance", [Fraction(1, 4), Fraction(33, 10) ** 2, Fraction(2**40)], ids=scale_id)
def test_gaussian_by_the_exact_path_alone_has_its_law(variance: Fraction) -> None:
    """Size 1e-6. With 2000 draws it catches a σ a third off, and an exact path that rounds or is reversed."""
    right = gaussian_law(variance, variance)
    assert right.p_value(discrete_gaussian(variance, 2000, SeededBits(207))) > SIZE
    assert miss(right, gaussian_law(variance * Fraction(4, 9), variance), 2000) < 1e-6


@pytest.mark.parametrize("scale", [Fraction(1, 10), Fraction(33, 10), Fraction(2**16), FAR], ids=scale_id)
@pytest.mark.parametrize("sampler", [discrete_laplace, discrete_gaussian])
def test_filter_and_exact_path_draw_the_same(sampler: Sampler, scale: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    filtered = sample(sampler, scale, 1000, 208)
    force(monkeypatch)
    assert np.array_equal(sample(sampler, scale, 1000, 208), filtered)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(33, 10), 2**16 - Fraction(1, 3)], ids=scale_id)
def test_filter_and_exact_path_invert_the_same(scale: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discrete, "exp_enclosure", cache(exp_enclosure))
    words = SeededBits(209).words(2000)
    exact = [discrete._LazyUniform(int(word), NoWords()).inverted(scale) for word in words]
    assert discrete._invert(words, scale, NoWords()).tolist() == exact


def test_filter_and_exact_path_compare_the_same() -> None:
    """γ from 0 to 14, and within a relative 2⁻³⁸ of −log U: closer than chance would bring them."""
    words = SeededBits(210).words(2000)
    gammas = np.linspace(0, 14, 1000)
    near = -np.log(words[1000:] / 2.0**64) * (1 + np.where(np.arange(1000) % 2, 1, -1) * 2.0**-38)
    gamma = np.concatenate([gammas, near])
    index = np.arange(2000)
    found = discrete.compare(words, gamma, index, index, lambda m, _: Fraction(float(gamma[m])), NoWords())
    exact = [discrete._LazyUniform(int(w), NoWords()).below_exp(Fraction(float(g))) for w, g in zip(words, gamma, strict=True)]
    assert found.tolist() == exact
    assert len(set(exact)) == 2


def trusted_words() -> NDArray[np.uint64]:
    """Return random words of every length from 2⁴⁴ on, and those where a logarithm is hard."""
    raw = SeededBits(211).words(8000)
    lengths = np.arange(8000) % 20
    spread = np.maximum(raw >> lengths.astype(np.uint64), TRUSTED_WORD)
    powers = [2**k + o for k in range(45, 64) for o in (-1, 0, 1)]
    near_one = [2**64 - 2**k for k in range(1, 64)]
    extremes = [2**44, 2**44 + 1, 2**64 - 1, 2**64 - 1024, 2**64 - 1025, *powers, *near_one]
    return np.concatenate([spread, np.array(extremes, dtype=np.uint64)])


def test_floats_are_in_doubt_as_far_as_they_can_err() -> None:
    """Beside the logarithm γ errs by 2⁻⁴⁷ + γ·2⁻⁴⁸, and so many zeros before the word by 2⁻⁴⁶."""
    assert DOUBT >= LOG_ERROR + 2.0**-46 + 2.0**-47


def test_the_computed_logarithm_is_within_its_bound() -> None:
    """For both ends of [w, w+1)·2⁻⁶⁴, at 40 digits; and numpy's part alone against 16 ulp, 512 times better than assumed."""
    words = trusted_words()
    found = discrete._minus_log(words)
    one_by_one = np.array([discrete._minus_log(words[i : i + 1])[0] for i in range(len(words))])
    inputs = words.astype(np.float64) * 2.0**-64
    with mpmath.workdps(40):
        for word, x, several, single in zip(words, inputs, found, one_by_one, strict=True):
            ends = [-mpmath.log(mpmath.mpf(int(word) + k) / 2**64) for k in (0, 1)]
            truth = -mpmath.log(mpmath.mpf(float(x)))
            for value in (several, single):  # numpy computes long and short arrays by different code
                assert max(abs(mpmath.mpf(float(value)) - end) for end in ends) <= LOG_ERROR
                assert abs(mpmath.mpf(float(value)) - truth) <= 16 * float(np.spacing(max(float(value), 1e-300)))


@pytest.mark.parametrize(
    "variance", [Fraction(1, 100), Fraction(33, 10) ** 2, Fraction(10 * 2**64), Fraction(2**100)], ids=scale_id
)
def test_the_computed_gamma_is_within_its_bound(variance: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """The filter rests on |float γ − γ| ≤ 2⁻⁴⁷ + γ·2⁻⁴⁸; checked in Fractions for the proposals of a real batch."""
    seen: list[tuple[float, Fraction]] = []

    def spy(
        words: NDArray[np.uint64],
        gamma: NDArray[np.float64],
        magnitude: Integers,
        low: Integers,
        exact: Callable[[int, int], Fraction],
        bits: Bits,  # noqa: ARG001
    ) -> NDArray[np.bool_]:
        seen.extend((float(g), exact(int(m), int(k))) for g, m, k in zip(gamma, magnitude, low, strict=True))
        return np.ones(len(words), dtype=np.bool_)

    monkeypatch.setattr(discrete, "compare", spy)
    discrete_gaussian(variance, 2000, SeededBits(212))
    discrete_gaussian(variance, 100, SmallWords(213))  # magnitudes far in the tail
    if variance > 1:
        discrete_laplace(Fraction(math.isqrt(math.floor(variance))), 2000, SeededBits(214))
    assert len(seen) > 4000
    for computed, exact in seen:
        assert abs(Fraction(computed) - exact) <= Fraction(1, 2**47) + exact / 2**48


@pytest.mark.parametrize("size", [0, 1, 2, 2**14 + 1])
@pytest.mark.parametrize("sampler", [discrete_laplace, discrete_gaussian])
def test_draws_are_int64_of_the_asked_size(sampler: Sampler, size: int) -> None:
    draws = sampler(Fraction(3), size, SeededBits(301))
    assert draws.dtype == np.int64
    assert draws.shape == (size,)


TINY, HUGE = Fraction(1, 10**400), Fraction(10**400)  # beyond float64
OUTSIDE = [Fraction(0), Fraction(-1), TINY, Fraction(1, 2**20) - TINY, Fraction(2**56) + TINY, HUGE]


@pytest.mark.parametrize("scale", OUTSIDE, ids=["0", "-1", "tiny", "below", "above", "huge"])
def test_scales_outside_the_range_are_refused(scale: Fraction) -> None:
    with pytest.raises(ParameterError, match=r"^scale of the noise must be .* 2\*\*56 .*\. Hint: .*\.$"):
        discrete_laplace(scale, 1, SeededBits(302))
    variance = scale * abs(scale)
    with pytest.raises(ParameterError, match=r"^variance of the noise must be .* 2\*\*112 .*\. Hint: .*\.$"):
        discrete_gaussian(variance, 1, SeededBits(302))


@pytest.mark.parametrize(
    ("scale", "told"),
    [(Fraction(0), "0 or less"), (Fraction(-1), "0 or less"), (TINY, r"about 2\*\*-1328"), (HUGE, r"about 2\*\*1328")],
    ids=["0", "-1", "tiny", "huge"],
)
def test_a_refusal_says_about_what_it_got(scale: Fraction, told: str) -> None:
    """A power of two: a fraction may have hundreds of digits."""
    with pytest.raises(ParameterError, match=rf"grid steps, got {told}\. Hint: "):
        discrete_laplace(scale, 1, SeededBits(302))


@pytest.mark.usefixtures("forced")
def test_the_smallest_scale_ends_by_the_exact_path_too() -> None:
    """There γ reaches 2³⁹, and exp(−γ) written out would fill the memory."""
    assert not discrete_laplace(discrete.MIN_SCALE, 200, SeededBits(303)).any()
    assert not discrete_gaussian(discrete.MIN_SCALE**2, 200, SeededBits(304)).any()
    assert discrete._LazyUniform(0, Words([0], seed=305)).inverted(discrete.MIN_SCALE) == 0
