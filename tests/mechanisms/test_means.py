"""Means: the centre moves to where the last answer put it, baselines are their formulas, Karwa and Vadhan's clips.

Then: bad radii, origins, covariances and options are refused before a row is read or a share spent; wild rows are not.
"""

from __future__ import annotations

import itertools
import math
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpcov
from dpcov import Release
from dpcov.errors import ParameterError
from dpcov.kernel.answer import Answer
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP, compose
from dpcov.kernel.curator import Curator
from dpcov.kernel.noise.choice import Exponential
from dpcov.kernel.noise.laws import DiscreteLaplace
from dpcov.kernel.questions.bins import Rank
from dpcov.kernel.questions.moments import Sum
from dpcov.kernel.rows.frames import Frame
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.coinpress.mean_rounds import LAST_SHARES
from dpcov.mechanisms.running import released
from dpcov.schema import Numeric, Schema
from dpcov.verify.testing import NoSource, SeededBits, opened
from dpcov.verify.testing import scripted as scripted_curator
from tests.helpers.quiet import Floats, quiet_curator
from tests.helpers.small import untouched
from tests.mechanisms.test_coinpress import ROOT, ROWS, frame

MEANS = MECHANISMS["mean"]
NEIGHBORS = ["replace", "add-remove"]
BUDGETS: list[Budget] = [ZCDP("0.5"), PureDP(1), ApproxDP(1, "1e-6")]
HALF, D = BUDGETS[0], 4
COVARIANCE = ROOT @ ROOT.T
FAR = np.array([300.0, -200.0, 100.0, 50.0])
RADIUS = 1000.0
SKEWED = np.random.default_rng(92).exponential(size=(1001, 3)) * [1.0, 3.0, 9.0] + [5.0, -20.0, 0.0]


def quiet(name: str, rows: Floats, budget: Budget = HALF, *, radius: float = RADIUS, **options: Any) -> Release:
    neighbors = options.pop("neighbors", "replace")
    return released(MEANS[name], quiet_curator(rows, budget, row_norm=radius, neighbors=neighbors), budget, **options)


def scripted(name: str, answers: list[Any], d: int = D, *, n: int = 1000, radius: float = RADIUS, **options: Any) -> Release:
    neighbors = options.pop("neighbors", "replace")
    curator = scripted_curator(answers, n=n, d=d, budget=HALF, row_norm=radius, neighbors=neighbors)
    return released(MEANS[name], curator, HALF, **options)


def sums(release: Release) -> list[Answer]:
    return release.every(Sum)


def asked(release: Release) -> list[str]:
    return [spend.asked for spend in release.spent]


def norm_bound(d: int, beta: float) -> float:
    """Return what a Gaussian norm exceeds with probability beta at most (Laurent and Massart)."""
    return math.sqrt(d + 2 * math.sqrt(d * math.log(1 / beta)) + 2 * math.log(1 / beta))


def clipped_mean(rows: Floats, where: Frame) -> Floats:
    """Return the mean of rows clipped to a ball, in floats."""
    away = rows - where.centre
    lengths = np.linalg.norm(away, axis=1, keepdims=True)
    return np.asarray(where.centre + (away * np.minimum(1.0, float(where.extent) / lengths)).mean(axis=0))


class TestCoinpress:
    @pytest.mark.parametrize("rounds", [1, 2, 3, 5, 10, "auto"])
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    def test_without_noise_it_is_the_mean(self, neighbors: str, rounds: Any) -> None:
        """Rotated rows, far from the origin: within a hundredth of a deviation, the price of the last clip."""
        release = quiet("coinpress", ROWS + FAR, covariance=COVARIANCE, rounds=rounds, neighbors=neighbors)
        away = np.linalg.solve(ROOT, release.mean - (ROWS + FAR).mean(axis=0))
        assert np.linalg.norm(away) < 0.01
        assert release.options["rounds"] == rounds
        assert release.notes["rounds"] == len(sums(release))

    def test_the_centre_moves_to_each_answer(self) -> None:
        """Scripted sums in whitened coordinates: c′ = c + W⁻¹s/n, from the record alone; W is far from symmetric."""
        told = [100 * np.array([0.5, -0.3, 0.2, 0.1]), 100 * np.array([-0.1, 0.4, 0.3, 0.2]), 100 * np.ones(D)]
        release = scripted("coinpress", told, covariance=COVARIANCE, rounds=3)
        centre = np.zeros(D)
        for answer, sum_of in zip(sums(release), told, strict=True):
            assert np.allclose(frame(answer).centre, centre, rtol=0, atol=1e-3)
            whitener = frame(answer).extent * frame(answer).deviations
            assert np.allclose(whitener @ COVARIANCE @ whitener.T, np.eye(D), rtol=0, atol=1e-5)
            centre = centre + np.linalg.inv(frame(answer).extent) @ sum_of / 1000
        assert np.abs(centre).max() > 1
        assert np.allclose(release.mean, centre, rtol=0, atol=1e-3)

    def test_the_centre_stays_in_the_public_ball(self) -> None:
        """An answer beyond the radius is moved to its surface, before it is used and at last."""
        options: dict[str, Any] = {"radius": 10.0, "covariance": 1.0, "rounds": 2, "origin": 3.0}
        release = scripted("coinpress", [np.full(D, 900.0)] * 2, **options)
        assert np.allclose(frame(sums(release)[1]).centre, 8.0)
        assert np.allclose(release.mean, 8.0)
        raw = scripted("coinpress", [np.full(D, 900.0)] * 2, postprocess="none", **options)
        last = frame(sums(raw)[1])
        assert np.allclose(raw.mean, last.centre + 0.9 * last.extent)
        assert np.linalg.norm(raw.mean - 3.0) > 10.5

    def test_balls_shrink(self) -> None:
        release = quiet("coinpress", ROWS / 10 + FAR, covariance=1.0, rounds=4)
        extents = [float(frame(answer).extent) for answer in sums(release)]
        assert all(after < before for before, after in itertools.pairwise(extents[:3]))
        assert extents[0] >= RADIUS > 100 * extents[-1]

    def test_proved_constants_cut_nothing(self) -> None:
        release = quiet("coinpress", ROWS + FAR, covariance=COVARIANCE, constants="proved")
        assert np.allclose(release.mean, (ROWS + FAR).mean(axis=0), rtol=0, atol=1e-2)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.notion)
@pytest.mark.parametrize("name", [name for name in MEANS if name != "auto"])
def test_what_is_asked_and_paid(name: str, budget: Budget, neighbors: str) -> None:
    """Together exactly the budget, (ε, δ) by way of ρ; under add-remove the count first, a fiftieth."""
    for options in ({"covariance": 1.0}, {} if name == "karwa-vadhan" else {"covariance": None}):
        release = quiet(name, ROWS / 10 + FAR, budget, neighbors=neighbors, **options)
        whole = budget.to_zcdp() if isinstance(budget, ApproxDP) else budget
        assert compose(*(spend.budget for spend in release.spent)) == whole
        names, left = asked(release), Fraction(1)
        shares = [spend.budget.amounts()[0] / whole.amounts()[0] for spend in release.spent]
        if neighbors == "add-remove":
            assert (names.pop(0), shares.pop(0)) == ("count", Fraction(1, 50))
            left = Fraction(49, 50)
        if name in ("clipped", "coordinatewise"):
            assert names == ["sum"]
        elif name == "karwa-vadhan":
            assert names == ["bins", "sum"]
            assert shares == [left / 4, left * 3 / 4]
        elif name == "symq":
            assert names == ["quantile"] * 2 * D
            assert shares == [left / (2 * D)] * 2 * D
        elif options["covariance"] is not None:
            assert names == ["sum"] * len(names)
            assert len(set(shares[:-1])) == 1
            assert shares[-1] / left in LAST_SHARES
        laws = {spend.noise for spend in release.spent} - {"exponential mechanism", "exponential"}
        assert laws <= {"discrete laplace" if isinstance(budget, PureDP) else "discrete gaussian"}


class TestBaselines:
    @pytest.mark.parametrize(
        ("covariance", "reach"), [(None, 0.0), (4.0, 2.0), (COVARIANCE, 10.0)], ids=["none", "number", "matrix"]
    )
    def test_clipped(self, covariance: Any, reach: float) -> None:
        """To the ball of the radius, or that and where few Gaussian rows would be cut."""
        release = quiet("clipped", ROWS + 7, radius=20.0, covariance=covariance, origin=[7.0, 0.0, 7.0, 0.0])
        where = frame(sums(release)[0])
        assert float(where.extent) == pytest.approx(20 + reach * norm_bound(D, 0.01), rel=1e-12)
        assert np.allclose(where.centre, [7, 0, 7, 0])
        assert np.allclose(release.mean, clipped_mean(ROWS + 7, where), rtol=0, atol=1e-3)

    @pytest.mark.parametrize("covariance", [None, [1.0, 4.0, 9.0, 16.0]], ids=["none", "numbers"])
    def test_coordinatewise(self, covariance: Any) -> None:
        halves = 10.0 + (0.0 if covariance is None else np.array([1.0, 2.0, 3.0, 4.0]) * norm_bound(1, 0.01))
        release = quiet("coordinatewise", ROWS, radius=10.0, covariance=covariance, origin=1.0)
        expected = np.clip(ROWS, 1 - halves, 1 + halves).mean(axis=0)
        assert np.abs(expected - ROWS.mean(axis=0)).max() > 0.01  # some values are clipped
        assert np.allclose(release.mean, expected, rtol=0, atol=1e-3)

    @pytest.mark.parametrize("level", [0.25, 0.1, 0.4])
    def test_symq(self, level: float) -> None:
        """The middle between two quantiles of each column, to within a bin; of skewed columns it is not the mean."""
        release = quiet("symq", SKEWED, radius=64.0, level=level)
        middle = np.quantile(SKEWED, [level, 1 - level], axis=0).mean(axis=0)
        assert np.allclose(release.mean, middle, rtol=0, atol=2 * 64 / 4096 + 0.1)
        assert np.abs(middle - SKEWED.mean(axis=0)).max() > 0.5
        ranks = [answer.question for answer in release.every(Rank)]
        rows = round(level * 1001)
        asked = [(rank.candidates, rank.column, rank.rows) for rank in ranks if isinstance(rank, Rank)]
        assert asked == [(4096, j, r) for j in range(3) for r in (rows, 1001 - rows)]
        assert len(release.answers) == 6

    def test_symq_by_hand(self) -> None:
        """4096 bins from −2 to 2, 1024 to the unit: the middle between the middles of bins 1000 and 3000, 0 and 4095."""
        counts = np.zeros((2, 4096))
        counts[0, [1000, 2000, 3000]], counts[1, [0, 4095]] = [30, 20, 50], [50, 50]
        release = scripted("symq", [counts.ravel()] * 4, 2, n=100, radius=2.0, origin=[10.0, 0.0])
        assert release.mean.tolist() == [8 + 2000.5 / 1024, 0.0]


class TestKarwaVadhan:
    def test_the_second_box_is_around_the_fullest_bin(self) -> None:
        """20 bins of one deviation from −10 to 10: bin 17 is from 7 to 8, bin 3 from −7 to −6."""
        counts = np.zeros((2, 20))
        counts[0, [4, 17]], counts[1, [3, 18]] = [90, 100], [55, 45]
        release = scripted("karwa-vadhan", [counts.ravel(), [10.0, -20.0]], 2, n=100, radius=10.0, postprocess="none")
        bins, total = (frame(answer) for answer in release.answers)
        assert (bins.centre.tolist(), bins.extent.tolist()) == ([0.0, 0.0], [10.0, 10.0])
        assert np.allclose(total.centre, [7.5, -6.5])
        half = 2 + math.sqrt(2 * math.log(2 * 100 * 2 / 0.1))
        assert np.allclose(total.extent, half)
        assert np.allclose(release.mean, [7.5 + 0.1 * half, -6.5 - 0.2 * half], rtol=0, atol=1e-3)

    def test_bins_and_boxes_follow_origin_and_variances(self) -> None:
        """Bins are as narrow as the smallest deviation asks for, boxes as wide as each column's."""
        release = quiet("karwa-vadhan", SKEWED, radius=64.0, covariance=[1.0, 9.0, 81.0], origin=[0.0, 0.0, 8.0])
        bins, total = release.answers
        assert len(bins.integers) == 3 * 128
        assert int(bins.integers.sum()) == 3 * 1001
        half = 2 + math.sqrt(2 * math.log(2 * 1001 * 3 / 0.1))
        assert np.allclose(frame(total).extent, half * np.array([1.0, 3.0, 9.0]))
        for column, start in enumerate([-64.0, -64.0, -56.0]):
            counts = np.histogram(SKEWED[:, column], bins=128, range=(start, start + 128))[0]
            assert frame(total).centre[column] == pytest.approx(start + np.argmax(counts) + 0.5)

    def test_it_really_clips(self) -> None:
        """Ten rows at ±1e6: they move the answer by ten times a box over n at most; a sum that does not clip, by 1e4."""
        rows = np.random.default_rng(93).normal(size=(1000, 3)) + np.array([30.0, -40.0, 0.0])
        plain = quiet("karwa-vadhan", rows, radius=100.0, postprocess="none")
        for value in (1e6, -1e6, 1e300, np.inf, np.nan):
            wild = rows.copy()
            wild[:10] = value
            release = quiet("karwa-vadhan", wild, radius=100.0, postprocess="none")
            half = frame(release.answers[-1]).extent
            assert np.all(np.abs(release.mean - plain.mean) <= 10 / 1000 * 2 * half)
            if value == 1e6:
                expected = np.clip(wild, frame(release.answers[-1]).centre - half, frame(release.answers[-1]).centre + half)
                assert np.allclose(release.mean, expected.mean(axis=0), rtol=0, atol=1e-3)


class TestAsPrinted:
    """``constants="paper"``: what the authors' program does, whose figures these are compared with; nothing moves the mean."""

    ROWS = np.random.default_rng(97).normal(size=(800, 3))

    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.notion)
    def test_laplace_noise_in_each_column(self, budget: Budget, neighbors: str) -> None:
        """ε = √(2ρ/d), or ε/d, for a column that a row moves by 2, or 1, times where it is clipped."""
        whole = budget.to_zcdp() if isinstance(budget, ApproxDP) else budget
        moved, left = (2.0, 1.0) if neighbors == "replace" else (1.0, 49 / 50)
        release = quiet("coordinatewise", self.ROWS, budget, neighbors=neighbors, radius=9.0, covariance=1.0, constants="paper")
        total = sums(release)[0]
        assert np.allclose(frame(total).extent, 9 + 3)
        assert release.postprocess == "none"
        assert float(scale_of(total)) == pytest.approx(moved / column_epsilon(whole, left, 3), rel=1e-9)
        release = quiet("karwa-vadhan", self.ROWS, budget, neighbors=neighbors, radius=9.0, constants="paper")
        bins, total = release.answers[-2:]
        half = column_epsilon(whole, left / 2, 3)
        assert float(scale_of(bins)) == pytest.approx(moved / half, rel=1e-9)
        assert float(scale_of(total)) == pytest.approx(
            moved * 13 / 7 / half, rel=1e-9
        )  # noise for 6.5 deviations, clipped at 3.5
        assert [spend.budget for spend in release.spent[-2:]] == [whole.share(Fraction(left).limit_denominator(50) / 2)] * 2

    def test_karwa_and_vadhans_bins_are_around_whole_deviations(self) -> None:
        """Radius 6, deviation 2: seven bins of width 2, the middle one from −1 to 1 around the origin."""
        counts = np.zeros((2, 7))
        counts[0, [0, 5]], counts[1, [3, 4]] = [40, 60], [70, 30]
        release = scripted(
            "karwa-vadhan", [counts.ravel(), [14.0, -7.0]], 2, n=100, radius=6.0, covariance=4.0, constants="paper"
        )
        bins, total = (frame(answer) for answer in release.answers)
        assert np.allclose(bins.extent, 7)
        assert np.allclose(total.centre, [4, 0])
        assert np.allclose(total.extent, 7)  # 3.5 deviations
        assert np.allclose(release.mean, [4 + 0.14 * 7, -0.07 * 7], rtol=0, atol=1e-3)

    def test_karwa_and_vadhans_columns_have_bins_of_their_own_width(self) -> None:
        release = quiet("karwa-vadhan", SKEWED, radius=64.0, covariance=[1.0, 9.0, 81.0], constants="paper")
        bins, total = release.answers
        assert len(bins.integers) == 3 * 129
        assert np.allclose(frame(bins).extent, 64.5 * np.array([1.0, 3.0, 9.0]))
        assert np.allclose(frame(total).extent, 3.5 * np.array([1.0, 3.0, 9.0]))

    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.notion)
    def test_symq_draws_with_a_quarter_of_a_columns_epsilon(self, budget: Budget, neighbors: str) -> None:
        whole = budget.to_zcdp() if isinstance(budget, ApproxDP) else budget
        left = 1.0 if neighbors == "replace" else 49 / 50
        release = quiet("symq", self.ROWS, budget, neighbors=neighbors, radius=9.0, constants="paper")
        drawn = release.every(Rank)
        assert [answer.question.rows for answer in drawn if isinstance(answer.question, Rank)] == [280, 520] * 3
        for answer in drawn:
            assert isinstance(answer.law, Exponential)
            assert float(answer.law.rate) == pytest.approx(column_epsilon(whole, left, 3) / 4, rel=1e-9)
        assert compose(*(spend.budget for spend in release.spent)) == whole

    @pytest.mark.parametrize("rounds", [1, 2, 5])
    def test_coinpress_clips_as_its_program(self, rounds: int) -> None:
        """Prices ¼/(t − 1) and ¾; r′ = γ·√(1/n + s²), γ the 99 % bound, and clips at min(√(r² + 6r + γ²), r + γ)."""
        rows = ROWS / 10 + FAR
        release = quiet("coinpress", rows, covariance=1.0, rounds=rounds, constants="paper")
        shares = [float(spend.budget.amounts()[0]) * 2 for spend in release.spent]
        assert shares == ([1.0] if rounds == 1 else [pytest.approx(0.25 / (rounds - 1))] * (rounds - 1) + [0.75])
        gamma, r = norm_bound(D, 0.01), RADIUS
        for answer, share in zip(sums(release), shares, strict=True):
            clip = min(math.sqrt(r * r + 6 * r + gamma * gamma), r + gamma)
            assert frame(answer).deviations == pytest.approx(clip, rel=1e-9)
            r = gamma * math.sqrt(1 / len(rows) + (2 * clip / len(rows)) ** 2 / (2 * 0.5 * share))
        assert np.allclose(release.mean, rows.mean(axis=0), rtol=0, atol=1e-2)

    def test_coinpress_takes_two_rounds_and_leaves_the_ball(self) -> None:
        """Where the paper says nothing: the t of its figures. A noisy mean is not moved back."""
        options: dict[str, Any] = {"radius": 10.0, "covariance": 1.0, "origin": 3.0, "constants": "paper"}
        release = scripted("coinpress", [np.full(D, 900.0)] * 2, **options)
        first, last = (frame(answer) for answer in sums(release))
        assert np.allclose(last.centre, 3 + 0.9 * first.extent)
        assert np.allclose(release.mean, last.centre + 0.9 * last.extent)
        assert (release.notes["rounds"], release.postprocess) == (2, "none")


def scale_of(answer: Answer) -> Fraction:
    """Return the scale of Laplace noise on numbers in [−1, 1], or on counts."""
    assert isinstance(answer.law, DiscreteLaplace)
    return answer.law.scale / Fraction(2**answer.unit_bits)


def column_epsilon(whole: Budget, part: float, d: int) -> float:
    """Return the ε of each of d columns."""
    if isinstance(whole, PureDP):
        return float(whole.epsilon) * part / d
    assert isinstance(whole, ZCDP)
    return math.sqrt(2 * float(whole.rho) * part / d)


class TestAuto:
    @pytest.mark.parametrize("options", [{}, {"covariance": 1.0}], ids=str)
    def test_it_is_coinpress(self, options: dict[str, Any]) -> None:
        chosen, same = (
            dpcov.mean(ROWS, HALF, radius=100.0, seed=3, mechanism=name, **options) for name in ("auto", "coinpress")
        )
        assert (chosen.mechanism, chosen.requested, chosen.kind) == ("coinpress", "auto", "mean")
        assert chosen.mean.tobytes() == same.mean.tobytes()
        assert chosen.spent == same.spent

    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    def test_a_stream_is_read_once(self, neighbors: str) -> None:
        reader = pa.table({"a": ROWS[:, 0], "b": ROWS[:, 1]}).to_reader()
        release = dpcov.mean(reader, HALF, radius=100.0, neighbors=neighbors, seed=3)
        assert (release.mechanism, release.requested) == ("clipped", "auto")
        assert asked(release)[-1] == "sum"


@pytest.mark.parametrize("name", MEANS)
def test_a_seed_gives_the_same_release(name: str) -> None:
    one, same, other = (dpcov.mean(ROWS, HALF, radius=100.0, mechanism=name, seed=seed) for seed in (7, 7, 8))
    assert one.mean.tobytes() == same.mean.tobytes() != other.mean.tobytes()
    assert one.seeded


def test_a_noisy_number_of_rows_is_the_one_that_counts() -> None:
    """Scripted at half the truth: what is told of the way to the mean doubles."""
    release = scripted("clipped", [500.0, np.full(D, 100.0)], neighbors="add-remove", radius=10.0)
    assert (release.n, release.mean.tolist()) == (500, pytest.approx([2.0] * D, abs=1e-3))


MESSAGE = r"(?s)%s\b.* must .+, got .+\. Hint: .+\."


def curator(budget: Budget = HALF, *, n: int = 5000, d: int = 3, **options: Any) -> Curator:
    """Return a curator whose source fails the test when it is read."""
    source = NoSource(n, d, rereadable=options.pop("rereadable", True))
    return opened(source, Grid(20.0), budget, options.pop("neighbors", "replace"), SeededBits(0))


def assert_refused(asked: Curator, name: str, budget: Budget, what: str, **options: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        released(MEANS[name], asked, budget, **options)
    assert re.fullmatch(MESSAGE % what, str(caught.value)), str(caught.value)
    assert untouched(asked)


@pytest.mark.parametrize("name", ["coinpress", "karwa-vadhan", "symq", "auto"])
@pytest.mark.parametrize("n", [0, 1])
def test_two_rows_at_least(name: str, n: int) -> None:
    for budget in BUDGETS:
        assert_refused(curator(budget, n=n), name, budget, "data")


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_too_many_bins(neighbors: str) -> None:
    """Bins of a thousand-millionth of the radius: more than memory should hold."""
    assert_refused(curator(neighbors=neighbors), "karwa-vadhan", HALF, "bins", covariance=1e-18)


class TestInterface:
    def refuse(self, match: str, **options: Any) -> None:
        with pytest.raises(ParameterError, match=match):
            dpcov.mean(np.ones((30, 3)), options.pop("budget", HALF), **options)

    @pytest.mark.parametrize("radius", [0, 0.0, -1.0, np.nan, np.inf, True, "1", [1.0], 1e151])
    def test_radius(self, radius: Any) -> None:
        for name in MEANS:
            self.refuse("radius must be", radius=radius, mechanism=name)

    def test_radius_or_schema(self) -> None:
        schema = Schema({"x0": Numeric(0, 1), "x1": Numeric(0, 1), "x2": Numeric(0, 1)})
        self.refuse("radius or schema must be given, got neither")
        self.refuse("radius or schema must be given, got both", radius=1.0, schema=schema)
        self.refuse("schema must be a Schema", schema={"x0": [0, 1]})
        for origin in (1.0, [0.0, 0.0, 1.0], None, "zero"):
            self.refuse("origin must be left out with a schema", schema=schema, origin=origin)
        self.refuse("covariance must be given with a schema", schema=schema, mechanism="karwa-vadhan")

    def test_names_budgets_and_options(self) -> None:
        self.refuse("mechanism must be one of", radius=1.0, mechanism="gaussian")
        self.refuse("budget must be", radius=1.0, budget=1.0)
        self.refuse("neighbors must be", radius=1.0, neighbors="swap")
        self.refuse("must be among", radius=1.0, steps=3)
        self.refuse("must be among", radius=1.0, mechanism="clipped", rounds=3)
        self.refuse("must be among", radius=1.0, upper=3)

    @pytest.mark.parametrize("origin", ["1", True, ["1", "2", "3"]], ids=str)
    def test_text_and_truth_are_no_origin(self, origin: Any) -> None:
        self.refuse("origin must be", radius=1.0, origin=origin)

    @pytest.mark.parametrize("n", [0, 1])
    def test_files_of_no_rows(self, n: int, tmp_path: Path) -> None:
        """Their n is known only after a reading."""
        path = tmp_path / "rows.csv"
        path.write_text("a,b\n" + "1,2\n" * n, encoding="utf-8")
        for name in ("auto", "karwa-vadhan", "symq"):
            with pytest.raises(ParameterError, match="data must have"):
                dpcov.mean(path, HALF, radius=1.0, mechanism=name)


class TestStreams:
    CASES: tuple[tuple[str, dict[str, Any]], ...] = (
        ("coinpress", {}),
        ("coinpress", {"covariance": 1.0, "rounds": 3}),
        ("coinpress", {"covariance": 1.0}),
        ("karwa-vadhan", {}),
    )

    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize(("name", "options"), CASES, ids=str)
    def test_several_rounds_are_refused_before_reading(self, name: str, options: dict[str, Any], neighbors: str) -> None:
        for budget in BUDGETS:
            assert_refused(curator(budget, rereadable=False, neighbors=neighbors), name, budget, "data", **options)
        reader = pa.table({"a": np.ones(200), "b": np.ones(200)}).to_reader()
        with pytest.raises(ParameterError, match="data must be readable twice"):
            dpcov.mean(reader, HALF, radius=1e6, mechanism=name, neighbors=neighbors, **options)
        assert reader.read_all().num_rows == 200

    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize("name", ["auto", "clipped", "coordinatewise", "symq"])
    def test_one_reading_is_enough(self, name: str, neighbors: str) -> None:
        reader = pa.table({"a": np.ones(200), "b": np.ones(200)}).to_reader()
        release = dpcov.mean(reader, ZCDP(100), radius=4.0, mechanism=name, neighbors=neighbors, seed=1)
        assert np.allclose(release.mean, 1.0, rtol=0, atol=0.2)
