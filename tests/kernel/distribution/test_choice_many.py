"""Choices among very many candidates: each has exactly the stated probability, and the words that are drawn are public.

Size: each statistical test rejects correct code with probability 1e-6. Power: a rate 5 % off is rejected with probability above
1 − 1e-6 (10 to 15 % where the draws are few); the tests named ``..._would_be_caught`` compute this and feed the wrong law to
the same test. What is too unlikely to be drawn is proposed by hand, word for word, on both sides of its exact boundary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from dpcov.kernel.bits import Bits, SeededBits
from dpcov.kernel.noise import choice, discrete
from dpcov.kernel.noise.choice import MANY, MANY_PROPOSALS, MAX_RATE, MOST_ZEROS, Exponential, choose_among_many
from dpcov.kernel.noise.discrete import compare
from dpcov.kernel.noise.sampler import RandomSampler
from dpcov.kernel.questions.bins import Bins, Rank
from dpcov.kernel.questions.table import Histograms, Interval
from dpcov.kernel.rows.columns import Columns
from dpcov.kernel.rows.frames import Box
from tests.helpers.stats import SIZE, Cells, Floats, Integers, miss
from tests.kernel.distribution.test_choice import Unseeded
from tests.kernel.distribution.test_discrete import SmallWords, Words

FAR = -(2**31)


@dataclass(frozen=True)
class Groups:
    """Candidates in groups of one score each, and how many draws tell a rate that is so far off."""

    scores: tuple[int, ...]
    sizes: tuple[int, ...]
    rate: Fraction
    draws: int
    mistake: Fraction = Fraction(5, 100)

    def all_scores(self) -> Integers:
        return np.repeat(np.array(self.scores), self.sizes)

    def law(self, factor: Fraction | int = 1) -> Cells:
        with mpmath.workdps(30):
            best = max(self.scores)
            masses = [
                n * mpmath.exp((s - best) * mpmath.mpf(float(factor * self.rate)))
                for s, n in zip(self.scores, self.sizes, strict=True)
            ]
            found = np.array([float(mass / mpmath.fsum(masses)) for mass in masses])
        return Cells(np.cumsum(self.sizes)[:-1] - 1, found)

    def choices(self, seed: int, factor: Fraction | int = 1, draws: int | None = None) -> Integers:
        bits, scores = SeededBits(seed), self.all_scores()
        return np.array([choose_among_many(scores, factor * self.rate, bits) for _ in range(draws or self.draws)])


def doubling(steps: int, rate: Fraction) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Scores 0, −1, …, each with as many candidates as make its group as likely as the others."""
    return tuple(range(0, -steps, -1)), tuple(round(4 * math.exp(float(rate) * j)) for j in range(steps))


NEAR = round(1e6 * math.log(2**17))
GROUPS = {
    "all kinds of gaps": Groups(*doubling(17, Fraction(2, 5)), Fraction(2, 5), 15_000),
    "gaps of three halvings": Groups(*doubling(4, Fraction(2)), Fraction(2), 12_000),
    "a few among far ones": Groups((FAR, 0, -5, FAR, -6, -7), (99, 1, 100, 500, 200, 300), Fraction(1), 8000),
    "one dominates": Groups((3, -2, -3), (5, 300, 100), Fraction(1), 8000, Fraction(15, 100)),
    "a long list, most of it far": Groups(
        (-NEAR, FAR, 0), (2**17, 2**17 + 2**10, 1), Fraction(1, 10**6), 400, Fraction(10, 100)
    ),
}
SHORT = [name for name, groups in GROUPS.items() if sum(groups.sizes) < 2**15]


@pytest.mark.parametrize("groups", GROUPS.values(), ids=list(GROUPS))
def test_choices_have_their_law(groups: Groups) -> None:
    """Size 1e-6, group by group. Catches a rate off (next test), and proposals that are not taken back where they must be."""
    indices = groups.choices(1001)
    assert groups.law().p_value(indices) > SIZE
    assert (groups.all_scores()[indices] > FAR).all()  # exp(−2147) at most


@pytest.mark.parametrize("groups", GROUPS.values(), ids=list(GROUPS))
def test_a_wrong_rate_would_be_caught(groups: Groups) -> None:
    for factor in (1 - groups.mistake, 1 + groups.mistake):
        assert miss(groups.law(), groups.law(factor), groups.draws) < 1e-6


@pytest.mark.audit
@pytest.mark.parametrize("groups", GROUPS.values(), ids=list(GROUPS))
def test_choices_at_a_wrong_rate_are_caught(groups: Groups) -> None:
    assert groups.law().p_value(groups.choices(1002, 1 - groups.mistake)) < SIZE


def test_candidates_of_one_score_are_alike() -> None:
    """Size 1e-6, candidate by candidate; one of 64 that were three times as likely would be seen."""
    groups = Groups((0, -3), (4, 60), Fraction(1), 12_000)
    single = Groups((0,) * 4 + (-3,) * 60, (1,) * 64, Fraction(1), 12_000)
    indices = groups.choices(1003)
    assert single.law().p_value(indices) > SIZE
    tripled = single.law().probabilities.copy()
    tripled[40] *= 3
    assert miss(single.law(), Cells(single.law().edges, tripled / tripled.sum()), 12_000) < 1e-6


def test_all_alike() -> None:
    """Size 1e-6: a list longer than 2¹⁸, cut into 4 parts; one that were three times as likely would be seen."""
    count, draws = 2**18 + 5, 400
    bits, scores = SeededBits(1004), np.full(count, -7)
    indices = np.array([choose_among_many(scores, Fraction(1, 3), bits) for _ in range(draws)])
    edges = np.arange(1, 4) * (count // 4)
    right = Cells(edges, np.diff([-1, *edges, count - 1]) / count)
    assert right.p_value(indices) > SIZE
    more = right.probabilities * np.where(np.arange(4) == 2, 3.0, 1.0)
    assert miss(right, Cells(edges, more / more.sum()), draws) < 1e-6


def test_the_largest_rate_takes_the_best() -> None:
    scores = np.full(5000, -1)
    scores[[17, 4000]] = 0
    bits = SeededBits(1005)
    indices = [choose_among_many(scores, MAX_RATE, bits) for _ in range(200)]
    assert set(indices) == {17, 4000}
    assert 60 < indices.count(17) < 140  # beyond with probability 1e-8


def test_one_candidate() -> None:
    assert choose_among_many(np.array([-7]), Fraction(1), SeededBits(1006)) == 0


# ------------------------------------------------------------------------------------------------------------ the exact path


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send every decision to the exact path, a few proposals at a time."""
    monkeypatch.setattr(discrete, "TRUSTED_WORD", np.uint64(2**64 - 1))
    monkeypatch.setattr(choice, "MANY_PROPOSALS", 8)


@pytest.mark.usefixtures("forced")
def test_choices_by_the_exact_path_alone_have_their_law() -> None:
    """Size 1e-6. With 800 draws it catches a rate a third too small, and an exact path that forgets the zeros."""
    groups = Groups(*doubling(6, Fraction(3, 2)), Fraction(3, 2), 800)
    assert groups.law().p_value(groups.choices(1007)) > SIZE
    assert miss(groups.law(), groups.law(Fraction(2, 3)), groups.draws) < 1e-6


@pytest.mark.parametrize("name", SHORT)
def test_filter_and_exact_path_choose_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "MANY_PROPOSALS", 8)
    filtered = GROUPS[name].choices(1008, draws=50)
    monkeypatch.setattr(discrete, "TRUSTED_WORD", np.uint64(2**64 - 1))
    assert np.array_equal(GROUPS[name].choices(1008, draws=50), filtered)


def digits(gamma: Fraction, length: int) -> int:
    """⌊exp(−γ)·2ˡᵉⁿᵍᵗʰ⌋."""
    with mpmath.workprec(length + 200):
        return int(mpmath.floor(mpmath.exp(-mpmath.mpf(gamma.numerator) / gamma.denominator) * mpmath.mpf(2) ** length))


def zeros_of(gap: int, rate: Fraction) -> int:
    """How many zeros a proposal stands for: rounding may change it, so it is told in floats, and its bound checked exactly."""
    zeros = min(max(math.floor(gap * float(rate) / math.log(2)) - 1, 0), MOST_ZEROS)
    assert digits(gap * rate, 64 + zeros) <= 2**64  # 2⁻ᶻᵉʳᵒˢ is an upper bound of exp(−γ)
    return zeros


class Proposal:
    """Words that propose one candidate by hand, with a uniform number by hand; else, at a second look, the first, the best."""

    def __init__(self, scores: list[int], rate: Fraction, candidate: int) -> None:
        zeros = [zeros_of(max(scores) - score, rate) for score in scores]
        widths = [1 << (MOST_ZEROS - one) for one in zeros]
        self.gamma, self.zeros = (max(scores) - scores[candidate]) * rate, zeros[candidate]
        self._start, end = sum(widths[:candidate]), sum(widths)
        self._shift = 64 - end.bit_length()
        self._last = (self._start + widths[candidate] - 1) << self._shift
        self._none = end << self._shift
        assert end < 2 ** end.bit_length()  # there is a place that is no candidate's

    def words(self, uniform: int, more: tuple[int, ...] = (), *, last: bool = False) -> Bits:
        places = [self._last if last else self._start << self._shift, *[self._none] * (MANY_PROPOSALS - 1)]
        again = [0] * MANY_PROPOSALS + [2**60] * MANY_PROPOSALS
        return Words([*places, uniform, *[2**60] * (MANY_PROPOSALS - 1), *more, *again])


RATES = [Fraction(1, 3), Fraction(693147180559945309, 10**18), Fraction(693147180559945310, 10**18), Fraction(7, 5)]
GAPS = [0, *range(1, 36), 40, 41, 43]  # from no zeros to more than `MOST_ZEROS`


@pytest.mark.parametrize("rate", RATES, ids=str)
class TestByHand:
    """Each candidate is accepted below its exact boundary, and not above: by floats, and where they do not decide."""

    SCORES: tuple[int, ...] = tuple(-gap for gap in GAPS)

    def found(self, rate: Fraction, bits: Bits) -> int:
        return choose_among_many(np.array(self.SCORES), rate, bits)

    def test_one_word_decides(self, rate: Fraction) -> None:
        for k in range(1, len(GAPS)):
            proposal = Proposal(list(self.SCORES), rate, k)
            edge = digits(proposal.gamma, 64 + proposal.zeros)
            for last in (False, True):
                if edge > 0:
                    assert self.found(rate, proposal.words(edge - 1, last=last)) == k
                assert self.found(rate, proposal.words(edge + 1, last=last)) == 0
            for below in (edge // 2, edge * 9 // 10):
                assert self.found(rate, proposal.words(below)) == (k if edge else 0)
            for above in (edge * 11 // 10 + 1, 2**64 - 1):
                if edge < above < 2**64:
                    assert self.found(rate, proposal.words(above)) == 0

    def test_further_words_decide(self, rate: Fraction) -> None:
        """The first 64 bits after the zeros are those of the boundary: the next ones are drawn and compared."""
        for k in range(1, len(GAPS)):
            proposal = Proposal(list(self.SCORES), rate, k)
            edge = digits(proposal.gamma, 128 + proposal.zeros)
            first, second = divmod(edge, 2**64)
            assert self.found(rate, proposal.words(first, (second - 1,))) == k
            assert self.found(rate, proposal.words(first, (second + 1,))) == 0

    def test_the_best_is_always_accepted(self, rate: Fraction) -> None:
        scores = [*self.SCORES[1:], 0]
        for uniform in (0, 1, 2**44 - 1, 2**63, 2**64 - 1):
            assert (
                choose_among_many(np.array(scores), rate, Proposal(scores, rate, len(scores) - 1).words(uniform))
                == len(GAPS) - 1
            )


def test_a_place_beyond_all_is_no_candidate() -> None:
    """Not even the last: three alike fill three of four places."""
    alike = np.zeros(3, dtype=np.int64)
    for place in range(3):
        beyond, wanted = 3 << 62, place << 62
        words = [beyond, wanted, *[3 << 62] * (MANY_PROPOSALS - 2), *[2**60] * MANY_PROPOSALS]
        assert choose_among_many(alike, Fraction(1), Words(words)) == place


def test_far_candidates_are_rejected_by_the_exact_path() -> None:
    """Gaps whose exp has more digits than memory: a uniform number that begins with 104 zeros is not below it."""
    scores = [0, -(2**31), -(2**20)]
    for rate in (MAX_RATE, Fraction(1)):
        for k in (1, 2):
            for uniform in (1, 2**20, 2**44):
                assert choose_among_many(np.array(scores), rate, Proposal(scores, rate, k).words(uniform)) == 0
            assert choose_among_many(np.array(scores), rate, Proposal(scores, rate, k).words(0, (0, 5))) == 0


class TestCompare:
    """U < exp(−γ) where U begins with zeros that were not drawn."""

    @pytest.mark.parametrize("forced", [False, True])
    def test_by_its_law(self, forced: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        """P = 2ᶻᵉʳᵒˢ·exp(−γ): within six standard deviations, beyond with probability 2e-9; one zero more or less is twice."""
        if forced:
            monkeypatch.setattr(discrete, "TRUSTED_WORD", np.uint64(2**64 - 1))
        count = 1000 if forced else 100_000
        for number, (zeros, gamma) in enumerate(
            [(0, Fraction(1, 2)), (3, Fraction(5, 2)), (17, Fraction(25, 2)), (40, Fraction(28))]
        ):
            chance = 2.0**zeros * math.exp(-float(gamma))
            assert 0.1 < chance < 1
            accepted = decided(SeededBits(1010 + number).words(count), gamma, zeros, SeededBits(1020))
            assert abs(accepted.mean() - chance) < 6 * math.sqrt(chance * (1 - chance) / count)

    def test_words_that_floats_do_not_decide(self) -> None:
        """Below 2⁴⁴, with zeros before them: P(U < exp(−γ)) = 2^{zeros + 20}·exp(−γ)."""
        gamma, zeros, count = Fraction(29), 21, 1000
        chance = 2.0 ** (zeros + 20) * math.exp(-29)
        accepted = decided(SmallWords(1030).words(count), gamma, zeros, SeededBits(1031))
        assert 0.1 < chance < 0.9
        assert abs(accepted.mean() - chance) < 6 * math.sqrt(chance * (1 - chance) / count)

    def test_no_zeros_are_what_was_before(self) -> None:
        words, gap = SeededBits(1032).words(500), np.arange(500) % 7
        near = gap / 3.0
        plain = compare(words, near, gap, gap, lambda gap, _: Fraction(gap, 3), SeededBits(1033))
        none = compare(words, near, gap, gap, lambda gap, _: Fraction(gap, 3), SeededBits(1033), np.zeros(500, dtype=np.int64))
        assert np.array_equal(plain, none)


def decided(words: NDArray[np.uint64], gamma: Fraction, zeros: int, bits: Bits) -> Floats:
    count = len(words)
    none = np.zeros(count, dtype=np.int64)
    found = compare(words, np.full(count, float(gamma)), none, none, lambda *_: gamma, bits, np.full(count, zeros))
    return np.asarray(found, dtype=np.float64)


# -------------------------------------------------------------------------------------------------------------- public words

LISTS: dict[str, Integers] = {
    "all alike": np.zeros(2**18 + 1, dtype=np.int64),
    "one best, the others far": np.where(np.arange(2**18) == 77, 0, -(10**9)),
    "one best, the others near": np.where(np.arange(2**18) == 77, 0, -1),
    "of all scores": -np.arange(2**18) // 16,
    "short": -np.arange(5000) % 90,
}


@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(207, 100), Fraction(27), MAX_RATE], ids=str)
@pytest.mark.parametrize("name", LISTS)
def test_the_number_of_proposals_is_public(name: str, rate: Fraction) -> None:
    """Whatever the scores are the same words are drawn, with a seed or without, and one look is enough.

    A second look has probability e⁻⁶⁰ for each, further words for an exact decision 5e-4; seeds are literal.
    """
    bits = Unseeded(1040)
    chosen = choose_among_many(LISTS[name], rate, bits)
    assert bits.drawn == 2 * MANY_PROPOSALS
    assert choose_among_many(LISTS[name], rate, SeededBits(1040)) == chosen


@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(207, 100), Fraction(27)], ids=str)
@pytest.mark.parametrize("scores", [-np.arange(600) % 150, np.where(np.arange(513) == 5, 0, -1), np.zeros(513, dtype=np.int64)])
def test_every_eighth_word_is_accepted(scores: Integers, rate: Fraction, monkeypatch: pytest.MonkeyPatch) -> None:
    """One proposal at a time: of 1000 draws the mean is 8 at most. 9.5 is beyond it by six standard deviations."""
    monkeypatch.setattr(choice, "MANY_PROPOSALS", 1)
    bits = Unseeded(1041)
    for _ in range(1000):
        choose_among_many(scores, rate, bits)
    assert bits.drawn / 2 <= 9.5 * 1000


def test_the_sampler_takes_it_for_many_candidates_that_are_alike() -> None:
    """And for no others: a public number of candidates decides."""
    columns, law = Columns(((0, 1.0),), ()), Exponential(Fraction(1, 9))
    wanted = {11: 20 * 2**12, 12: 2 * MANY_PROPOSALS, 17: 2 * MANY_PROPOSALS}
    for bits_of, words in wanted.items():
        bits, question = Unseeded(1042), Interval(Histograms(columns, bits_of), 0, 3)
        assert (question.candidates > MANY) == (words == 2 * MANY_PROPOSALS)
        RandomSampler(bits).choice(question, law, np.ones(question.histograms.size, dtype=np.int64))
        assert bits.drawn == (words if words == 2 * MANY_PROPOSALS else 2 * words)
    weighted, bits = Rank(Bins(Box((0.0,), (1.0,)), 1, 5000), 0, 3), Unseeded(1043)
    assert not weighted.all_alike
    RandomSampler(bits).choice(weighted, law, np.ones(5000, dtype=np.int64))
    assert bits.drawn >= 2 * 2**17
