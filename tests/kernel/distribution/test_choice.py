"""Choices and searches: each outcome has exactly the stated probability.

Size: each statistical test rejects correct code with probability 1e-6. Power: a rate or a scale 5 % off is rejected with
probability above 1 − 1e-6 (15 % and 25 % where the draws are few or one option dominates); the tests named
``..._would_be_caught`` compute this and feed the wrong law to the same test.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcov.kernel.bits import Bits, SeededBits
from dpcov.kernel.noise import choice, discrete
from dpcov.kernel.noise.choice import SparseVector, choose, ends_up_to, first_above
from dpcov.kernel.noise.discrete import discrete_laplace
from dpcov.kernel.questions.choices import Quantile
from dpcov.kernel.questions.norms import Norms
from dpcov.kernel.rows.grid import Grid
from tests.helpers.stats import SIZE, Cells, Floats, Integers, miss
from tests.kernel.distribution.test_discrete import Words, series_exp


@dataclass(frozen=True)
class Options:
    """What is chosen from, how many draws tell a rate 5 % off, or another mistake."""

    scores: Integers
    weights: Integers
    rate: Fraction
    draws: int
    mistake: Fraction = Fraction(5, 100)

    def law(self, factor: Fraction = Fraction(1)) -> Cells:
        return Cells(np.arange(len(self.scores) - 1), choice_law(self.scores, self.weights, factor * self.rate))

    def choices(self, seed: int, factor: Fraction = Fraction(1), draws: int | None = None) -> Integers:
        bits = SeededBits(seed)
        indices = [choose(self.scores, self.weights, factor * self.rate, bits) for _ in range(draws or self.draws)]
        return np.array(indices)

    @property
    def wrongs(self) -> list[Fraction]:
        return [1 - self.mistake, 1 + self.mistake]


def choice_law(scores: Integers, weights: Integers, rate: Fraction | float) -> Floats:
    """P(k) ∝ weight·exp(rate·score)."""
    logs = np.log(weights) + float(rate) * scores
    shares = np.exp(logs - logs.max())
    return np.asarray(shares / shares.sum())


def search_law(values: Integers, threshold: int, law: SparseVector) -> Floats:
    """P(k) = Σ_t P(threshold noise = t)·Π_{j<k} P(query j stays below)·P(query k does not); the last entry: none does.

    P(x) ∝ r^|x| on the integers, r = exp(−1/scale), so P(x ≥ m) = r^m/(1 + r) for m > 0 and 1 − r^{1−m}/(1 + r) else.
    Beyond sixty scales lies exp(−60).
    """
    reach = int(60 * law.threshold) + 2
    noise = np.arange(-reach, reach + 1)
    ratio, query = np.exp(-1 / float(law.threshold)), float(law.query)
    chances = (1 - ratio) / (1 + ratio) * ratio ** np.abs(noise)
    needed = threshold + noise[:, None] - values[None, :]
    tails = np.exp(-np.where(needed > 0, needed, 1 - needed) / query) / (1 + np.exp(-1 / query))
    above = np.where(needed > 0, tails, 1 - tails)
    none_before = np.cumprod(np.column_stack([np.ones(len(noise)), 1 - above]), axis=1)
    return np.asarray(chances @ (none_before * np.column_stack([above, np.ones(len(noise))])))


def quantile() -> tuple[Integers, Integers]:
    """Return the scores and weights that a release would have: 2000 rows, 400 of them to be outside."""
    rows = np.exp(np.random.default_rng(400).normal(-3, 1, (2000, 1)))
    question = Quantile(Norms(Grid(1.0), 1, 16, 10), 400)
    return question.scores(question.norms.of(rows)), question.weights


STEPS = np.arange(17)
NEVER = -(2**31)
CHOICES = {
    "many": Options(-STEPS, np.rint(4 * np.exp(0.4 * STEPS)).astype(np.int64), Fraction(2, 5), 15_000),
    "huge gaps": Options(np.array([0, NEVER, -6, -7, NEVER, -6]), np.array([1, 99, 200, 300, 1, 200]), Fraction(1), 8000),
    "one dominates": Options(np.array([3, -2, -2, -3]), np.array([5, 6, 6, 6]), Fraction(1), 12_000, Fraction(1, 4)),
    "as asked": Options(*quantile(), Fraction(1, 50), 10_000, Fraction(15, 100)),
}


@pytest.mark.parametrize("options", CHOICES.values(), ids=list(CHOICES))
def test_choices_have_their_law(options: Options) -> None:
    """Size 1e-6. Catches a rate 5 % off (next test), weights left out, and a draw that is not the first accepted."""
    indices = options.choices(401)
    assert options.law().p_value(indices) > SIZE
    assert not np.isin(indices, np.flatnonzero(options.scores == NEVER)).any()  # exp(−2³¹)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.audit] if name == "huge gaps" else [])  # which takes longest
        for name, options in CHOICES.items()
        if len(options.scores) < 20
    ],
)
def test_choices_without_a_seed_have_their_law_at_a_second_look_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Size 1e-6. Two or three proposals at a time: most choices need several looks, which the system's bits seldom do.

    A sixth of the draws is enough: what a second look could do wrong, such as a rate that is a quarter smaller, is large.
    """
    monkeypatch.setattr(choice, "PROPOSALS", 2)
    monkeypatch.setattr(choice, "MOST_PROPOSALS", 3)
    options, bits = CHOICES[name], Unseeded(414)
    draws = options.draws // 6
    assert miss(options.law(), options.law(Fraction(3, 4)), draws) < 1e-6
    indices = [choose(options.scores, options.weights, options.rate, bits) for _ in range(draws)]
    assert bits.drawn > 2 * 3 * draws  # else there was no second look
    assert options.law().p_value(np.array(indices)) > SIZE


@pytest.mark.parametrize("options", CHOICES.values(), ids=list(CHOICES))
def test_a_wrong_rate_would_be_caught(options: Options) -> None:
    for factor in options.wrongs:
        assert miss(options.law(), options.law(factor), options.draws) < 1e-6


@pytest.mark.audit
@pytest.mark.parametrize("options", CHOICES.values(), ids=list(CHOICES))
def test_choices_at_a_wrong_rate_are_caught(options: Options) -> None:
    for factor in options.wrongs:
        assert options.law().p_value(options.choices(402, factor)) < SIZE


def test_other_choices_would_be_caught() -> None:
    """Negative controls: weights left out; and the last accepted of a batch or its best, in place of the first."""
    options = CHOICES["many"]
    right = options.law()
    unweighted = Options(options.scores, np.ones(17, dtype=np.int64), options.rate, 2000)
    assert right.p_value(unweighted.choices(403)) < SIZE
    best_of_two = np.minimum(options.choices(404, draws=2000), options.choices(405, draws=2000))
    assert right.p_value(best_of_two) < SIZE


def test_the_largest_rate_and_ties() -> None:
    """At rate 1024 only the best are chosen, by their weights. Size 1e-6; 6000 draws catch a weight that is half too large."""
    scores, weights = np.array([-1, 0, -5, 0, NEVER]), np.array([40, 2, 40, 3, 40])
    bits = SeededBits(406)
    indices = np.array([choose(scores, weights, choice.MAX_RATE, bits) for _ in range(200)])
    assert set(indices.tolist()) == {1, 3}
    ties = Options(np.zeros(3, dtype=np.int64), np.array([1, 2, 5]), Fraction(1), 6000)
    assert ties.law().p_value(ties.choices(407)) > SIZE
    wrong = Cells(np.arange(2), np.array([1.5, 2, 5]) / 8.5)
    assert miss(ties.law(), wrong, ties.draws) < 1e-6


def test_one_option_is_chosen() -> None:
    assert choose(np.array([-7]), np.array([3]), Fraction(1), SeededBits(408)) == 0


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send every decision to the exact path, a few proposals at a time."""
    monkeypatch.setattr(discrete, "TRUSTED_WORD", np.uint64(2**64 - 1))
    monkeypatch.setattr(choice, "PROPOSALS", 8)


@pytest.mark.usefixtures("forced")
def test_choices_by_the_exact_path_alone_have_their_law() -> None:
    """Size 1e-6. With 800 draws it catches a rate a third too small, and an exact path that rounds or is reversed."""
    options = Options(-np.arange(8), np.arange(1, 9) ** 3, Fraction(2, 3), 800)
    assert options.law().p_value(options.choices(409)) > SIZE
    assert miss(options.law(), options.law(Fraction(2, 3)), options.draws) < 1e-6


@pytest.mark.parametrize("name", CHOICES)
def test_filter_and_exact_path_choose_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "PROPOSALS", 8)
    filtered = CHOICES[name].choices(410, draws=50)
    monkeypatch.setattr(discrete, "TRUSTED_WORD", np.uint64(2**64 - 1))
    assert np.array_equal(CHOICES[name].choices(410, draws=50), filtered)


def reference(options: Options, words: list[int]) -> int | None:
    """Take the first accepted proposal of a batch, with whole numbers and Fractions only."""
    length = int(options.weights.sum()).bit_length()
    half = len(words) // 2
    for first, second in zip(words[:half], words[half:], strict=True):
        place, index = first >> (64 - length), 0
        while index < len(options.weights) and place >= options.weights[index]:
            place -= int(options.weights[index])
            index += 1
        if index == len(options.weights):
            continue
        lower, upper = series_exp((int(options.scores.max()) - int(options.scores[index])) * options.rate)
        if Fraction(second + 1, 2**64) <= lower:
            return index
        assert Fraction(second, 2**64) >= upper, "64 bits do not decide: choose another seed"
    return None


@pytest.mark.parametrize("name", CHOICES)
def test_choices_equal_a_reference_in_fractions(name: str) -> None:
    """Word for word, batch after batch."""
    options, bits, same = CHOICES[name], SeededBits(411), SeededBits(411)
    for _ in range(30):
        expected = None
        while expected is None:
            expected = reference(options, [int(word) for word in same.words(2 * choice.PROPOSALS)])
        assert choose(options.scores, options.weights, options.rate, bits) == expected


class Unseeded(SeededBits):
    """Known words that pass for the system's: more proposals are made before the first look."""

    seeded = False

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.drawn = 0

    def words(self, count: int) -> NDArray[np.uint64]:
        self.drawn += count
        return super().words(count)


@pytest.mark.parametrize("bins", [2, 161, 4096])
@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1), Fraction(1000)])
def test_the_number_of_proposals_is_public(bins: int, rate: Fraction) -> None:
    """Whether all candidates are alike, one is best by far, or any: the same words are drawn, and one look is enough.

    A second look has probability e⁻²⁰ for each (e⁻¹⁶ for 4096); seeds are literal.
    """
    best = np.full(bins, -(10**6))
    best[bins // 2] = 0
    weights = np.ones(bins, dtype=np.int64)
    for scores in (np.zeros(bins, dtype=np.int64), best, -np.arange(bins)):
        bits = Unseeded(412)
        choose(scores, weights, rate, bits)
        assert bits.drawn == 2 * max(256, min(20 * 2 ** bins.bit_length(), 2**17))


@pytest.mark.parametrize("name", CHOICES)
def test_the_first_of_many_proposals_counts(name: str) -> None:
    """One large batch against the reference in fractions, proposal by proposal."""
    options, bits = CHOICES[name], Unseeded(413)
    found = choose(options.scores, options.weights, options.rate, bits)
    words = [int(word) for word in SeededBits(413).words(bits.drawn)]
    half = len(words) // 2
    for start in range(0, half, 64):
        expected = reference(options, words[start : start + 64] + words[half + start : half + start + 64])
        if expected is not None:
            break
    assert found == expected


def test_a_place_beyond_the_weights_is_proposed_again() -> None:
    """Weights 1, 2, 2 fill five of eight places: the others are no option, and no option's neighbour."""
    scores, weights = np.zeros(3, dtype=np.int64), np.array([1, 2, 2])
    for place, expected in [(0, 0), (1, 1), (2, 1), (3, 2), (4, 2)]:
        beyond, wanted = 6 << 61, place << 61
        words = [beyond, wanted, *[7 << 61] * (choice.PROPOSALS - 2), *[2**60] * choice.PROPOSALS]
        assert choose(scores, weights, Fraction(1), Words(words)) == expected


@dataclass(frozen=True)
class Search:
    """Integers, a threshold, the noise on both, and how many searches tell a scale 5 % off."""

    values: Integers
    law: SparseVector
    searches: int
    threshold: int = 0

    def cells(self, law: SparseVector | None = None) -> Cells:
        return Cells(np.arange(len(self.values)), search_law(self.values, self.threshold, law or self.law))

    def indices(self, law: SparseVector | None = None) -> Integers:
        found = [first_above(self.values, self.threshold, law or self.law, SeededBits(0)) for _ in range(self.searches)]
        return np.array(found)


class Pool:
    """Stands in for `discrete_laplace`: its own draws, made many at a time and each handed out once."""

    def __init__(self, seed: int) -> None:
        self._bits, self._left = SeededBits(seed), dict[Fraction, Integers]()

    def __call__(self, scale: Fraction, size: int, bits: Bits) -> Integers:  # noqa: ARG002
        left = self._left.get(scale, np.zeros(0, dtype=np.int64))
        if len(left) < size:
            left = discrete_laplace(scale, 500_000, self._bits)
        self._left[scale] = left[size:]
        return left[:size]


QUARTER = Fraction(1, 4)
SEARCHES = {
    "threshold": Search(np.arange(-24, 25, 4), SparseVector(Fraction(5), QUARTER), 60_000),
    "queries": Search(np.arange(-90, -30) // 3, SparseVector(QUARTER, Fraction(4)), 15_000),
    "both": Search(np.arange(-30, 10, 2), SparseVector(Fraction(4), Fraction(4)), 35_000),
    "mostly none": Search(np.full(30, 975), SparseVector(Fraction(5), Fraction(5)), 30_000, threshold=1000),
}
SEEN = {"threshold": (1, 0), "queries": (0, 1), "both": (1, 1), "mostly none": (1, 1)}
"""Which scales are changed, together: one that hardly matters to an outcome cannot be seen in it."""


def rescaled(name: str, factor: Fraction) -> SparseVector:
    (threshold, query), law = SEEN[name], SEARCHES[name].law
    return SparseVector(law.threshold * factor**threshold, law.query * factor**query)


@pytest.mark.parametrize("name", SEARCHES)
def test_searches_have_their_law(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Size 1e-6, all outcomes, the last of them that no query was above. Catches a scale 5 % off (next test)."""
    search = SEARCHES[name]
    assert search.cells().probabilities.sum() == pytest.approx(1, abs=1e-12)
    assert search.cells().probabilities[-1] > 1e-3
    monkeypatch.setattr(choice, "discrete_laplace", Pool(421))
    assert search.cells().p_value(search.indices()) > SIZE


@pytest.mark.parametrize("name", SEARCHES)
def test_a_wrong_scale_would_be_caught(name: str) -> None:
    search = SEARCHES[name]
    for factor in (Fraction(105, 100), Fraction(95, 100)):
        assert miss(search.cells(), search.cells(rescaled(name, factor)), search.searches) < 1e-6


@pytest.mark.audit
@pytest.mark.parametrize("name", SEARCHES)
def test_searches_at_a_wrong_scale_are_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    search = SEARCHES[name]
    monkeypatch.setattr(choice, "discrete_laplace", Pool(422))
    assert search.cells().p_value(search.indices(rescaled(name, Fraction(95, 100)))) < SIZE


def test_a_search_uses_the_noise_as_it_is_drawn() -> None:
    """One number for the threshold, then one for each query: "at least" counts as above, and all are drawn."""
    values, law = np.arange(-12, 6) // 2, SparseVector(Fraction(3), Fraction(7, 2))
    for seed in range(430, 480):
        bits = SeededBits(seed)
        level = -2 + int(discrete_laplace(law.threshold, 1, bits)[0])
        noisy = (values + discrete_laplace(law.query, len(values), bits)).tolist()
        expected = next((k for k, value in enumerate(noisy) if value >= level), len(values))
        found = SeededBits(seed)
        assert first_above(values, -2, law, found) == expected
        assert found.words(1) == bits.words(1)


def test_without_noise_a_search_is_a_comparison() -> None:
    """At the least scale: equal is above, and there may be none."""
    quiet = SparseVector(discrete.MIN_SCALE, discrete.MIN_SCALE)
    values = np.array([-5, 3, 4, 9])
    for threshold, expected in [(-5, 0), (-4, 1), (4, 2), (5, 3), (10, 4), (2**62, 4)]:
        assert first_above(values, threshold, quiet, SeededBits(481)) == expected


class TestEndsUpTo:
    @pytest.mark.parametrize(
        "weights",
        [[1], [7], [1, 1, 1], [5, 8, 5, 13], [2**17 + 1, 2**20, 2**18 - 1], [2**20] * 40, [3] * 1000, [1, 2**9, 1, 64]],
        ids=["one", "one of seven", "least", "mixed", "large", "powers", "many", "far apart"],
    )
    def test_it_counts_as_a_search_does_at_every_edge_and_between(self, weights: list[int]) -> None:
        ends = np.cumsum(weights)
        edges = np.concatenate([[0], ends, ends - 1, ends + 1, [2 ** int(ends[-1]).bit_length() - 1]])
        between = np.random.default_rng(5).integers(0, 2 * int(ends[-1]), size=4000)
        places = np.concatenate([edges, between])
        assert np.array_equal(ends_up_to(places, ends, min(weights)), np.searchsorted(ends, places, side="right"))

    def test_few_places_among_far_ends_need_no_table(self) -> None:
        ends = np.cumsum([1, 2**46])
        assert ends_up_to(np.array([0, 1, 2**46, 2**46 + 1]), ends, 1).tolist() == [0, 1, 1, 2]
