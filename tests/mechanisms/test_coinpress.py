"""coinpress for covariances: whiteners are turned from the left and undone from both sides, whatever the number of rounds.

Covariances are rotated and of condition 100, so that no factor is symmetric; noise is that of a test, or none.
Then: what is no public bound, no radius, no number of rounds is refused before a row is read.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpcov
from dpcov import Release
from dpcov.errors import ParameterError
from dpcov.kernel.answer import Answer
from dpcov.kernel.budget import ZCDP, Budget
from dpcov.kernel.curator import Curator
from dpcov.kernel.face import Face
from dpcov.kernel.noise.laws import DiscreteGaussian
from dpcov.kernel.questions.choices import Indexed
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.frames import Ball, Box, Ellipsoid, Frame
from dpcov.kernel.rows.grid import Grid
from dpcov.linalg import unpack
from dpcov.mechanisms.coinpress.covariance import COINPRESS
from dpcov.mechanisms.running import released
from dpcov.release.estimate import ConfidenceEllipsoids
from dpcov.sources.array import ArraySource
from dpcov.sources.paired import PairedSource
from dpcov.verify.testing import NoSource, SeededBits, encoding_of, opened, scripted
from tests.helpers.quiet import Floats, QuietSampler, quiet_curator
from tests.helpers.small import untouched
from tests.mechanisms.cases import LONG_ROWS

ROUNDS = [2, 3, 5, 10]
HALF = ZCDP("0.5")
LARGE = ZCDP(10**6)  # no row is clipped, nothing is widened
D, UPPER = 4, 1000.0
DRAW = np.random.default_rng(91)
ROTATION = np.linalg.qr(DRAW.normal(size=(D, D)))[0]
ROOT = ROTATION * np.sqrt([100.0, 30.0, 5.0, 1.0])  # of a covariance of condition 100
SPHERE = DRAW.normal(size=(4000, D))
SPHERE *= math.sqrt(D) / np.linalg.norm(SPHERE, axis=1, keepdims=True)
EVEN = SPHERE @ ROOT.T  # all rows at the same Mahalanobis distance: none is clipped where the whitener is right
ROWS = DRAW.normal(size=(4000, D)) @ ROOT.T
TURN = np.linalg.qr(DRAW.normal(size=(D, D)))[0]  # another rotation, for noise


def rotated(*eigenvalues: float) -> Floats:
    return np.asarray((TURN * eigenvalues) @ TURN.T)


NOISE = 100.0 * rotated(1.0, -0.6, 0.3, -0.1)  # on sums over 4000 rows of norm 1 at most
BOUND = rotated(3000.0, 2000.0, 800.0, 500.0)  # a matrix as the upper bound: the first whitener has no symmetry either


def mahalanobis(estimate: Floats, truth: Floats) -> float:
    """Return ‖T^{-1/2} E T^{-1/2} − 1‖ in Frobenius norm."""
    inverse = np.linalg.inv(np.linalg.cholesky(truth))
    return float(np.linalg.norm(inverse @ estimate @ inverse.T - np.eye(len(truth))))


def second(rows: Floats) -> Floats:
    return np.asarray(rows.T @ rows / len(rows))


def frame(answer: Answer) -> Frame:
    question = answer.question
    rows = getattr(question.counted if isinstance(question, Indexed) else question, "grid", None)
    assert isinstance(rows, Ball | Box | Ellipsoid)
    return rows.frame


def whitener(answer: Answer) -> Floats:
    """Return W itself: the frame's is over the clip."""
    return np.asarray(frame(answer).extent * frame(answer).deviations)


def moments(release: Release) -> list[Answer]:
    return release.every(SecondMoment)


def whitened(answer: Answer, n: int) -> Floats:
    """Return the noisy second moment of whitened rows."""
    return np.asarray(unpack(answer.values, D) / n * frame(answer).deviations ** 2)


def quiet(rows: Floats = ROWS, budget: Budget = HALF, *, noise: Floats | None = None, **options: Any) -> Release:
    given: dict[str, Any] = {"upper": UPPER} | options
    return released(COINPRESS, quiet_curator(rows, budget, noise=noise), budget, **given)


def seen(rows: Floats, coordinates: Frame) -> Floats:
    """Return rows in coordinates, clipped: in floats, by the formula."""
    y = (rows - coordinates.centre) @ coordinates.extent.T
    return np.asarray(y / np.maximum(1.0, np.linalg.norm(y, axis=1, keepdims=True)))


class TestWithoutNoise:
    @pytest.mark.parametrize("rounds", [1, *ROUNDS, "auto"])
    def test_the_truth_comes_back(self, rounds: Any) -> None:
        """Rows of the same Mahalanobis norm are clipped by a wrong whitener only."""
        assert mahalanobis(quiet(EVEN, rounds=rounds).covariance, second(EVEN)) < 1e-3
        assert mahalanobis(quiet(ROWS, LARGE, rounds=rounds).covariance, second(ROWS)) < 1e-3
        assert mahalanobis(quiet(ROWS, rounds=rounds).covariance, second(ROWS)) < 0.015  # clipped, and given back

    @pytest.mark.parametrize("rounds", [1, *ROUNDS])
    def test_proved_constants_cut_nothing(self, rounds: int) -> None:
        release = quiet(rounds=rounds, constants="proved")
        assert mahalanobis(release.covariance, second(ROWS)) < 1e-3
        assert [spend.asked for spend in release.spent] == ["second moment"] * rounds

    @pytest.mark.parametrize("rounds", ROUNDS)
    def test_the_last_whitener_makes_rows_round(self, rounds: int) -> None:
        """No eigenvalue of W Σ Wᵀ above 1, and after the first rounds none is far below."""
        last = whitener(moments(quiet(rounds=rounds))[-1])
        values = np.linalg.eigvalsh(last @ second(ROWS) @ last.T)
        assert values[-1] < 1.01
        assert values[0] > (0.1 if rounds == 2 else 0.8)

    @pytest.mark.parametrize("rounds", ROUNDS)
    def test_it_is_the_moment_of_clipped_rows_with_its_scale(self, rounds: int) -> None:
        """In floats, on the coordinates of the record: W⁻¹ (Σ y yᵀ/n) W⁻ᵀ, times the wide trace over the clipped one."""
        release = quiet(rounds=rounds)
        last, wide = release.answers[-2:]
        clipped = seen(ROWS, frame(last))
        assert np.mean(np.linalg.norm(clipped, axis=1) > 1 - 1e-9) > 0.002  # some rows are clipped
        scale = np.trace(second(seen(ROWS, frame(wide)))) * frame(wide).deviations ** 2
        scale /= np.trace(second(clipped)) * frame(last).deviations ** 2
        back = np.linalg.inv(frame(last).extent)
        assert np.allclose(release.covariance, scale * back @ second(clipped) @ back.T, rtol=0, atol=1e-3 * 100)


class TestUnderNoise:
    @pytest.mark.parametrize("rounds", ROUNDS)
    def test_whiteners_are_turned_from_the_left(self, rounds: int) -> None:
        """W′ W⁻¹ is the symmetric inverse root of Z₊ widened: with W transposed, or turned from the right, it is not."""
        release = quiet(rounds=rounds, noise=NOISE, upper=BOUND)
        asked = moments(release)
        assert len(asked) == rounds
        for number, (answer, following) in enumerate(itertools.pairwise(asked)):
            turned = whitener(following) @ np.linalg.inv(whitener(answer))
            assert np.allclose(turned, turned.T, rtol=0, atol=1e-5 * np.abs(turned).max())
            noisy = whitened(answer, release.n)
            values, vectors = np.linalg.eigh(noisy)
            assert number > 0 or values[0] < 0  # the first is indefinite
            spread = math.sqrt(answer.law.spread().diagonal_variance) * 2.0**-answer.unit_bits / release.n
            widening = 0.5 * spread * frame(answer).deviations ** 2 * math.sqrt(2 * D)
            expected = (vectors * (np.maximum(values, 0) + widening)) @ vectors.T
            found = np.linalg.inv(turned @ turned)
            factor = float(np.trace(found) / np.trace(expected))  # long rows can widen it, from the second round on
            assert factor == pytest.approx(1, rel=1e-5) if number == 0 else 1 - 1e-5 < factor < 1.5
            assert np.allclose(found, factor * expected, rtol=0, atol=1e-4 * np.abs(expected).max())

    @pytest.mark.parametrize("rounds", [1, *ROUNDS])
    def test_they_are_undone_from_both_sides(self, rounds: int) -> None:
        """Raw: W⁻¹ Z W⁻ᵀ with the noise inside, to the last digits; W is far from symmetric."""
        release = quiet(rounds=rounds, noise=NOISE, upper=BOUND, postprocess="none")
        last = moments(release)[-1]
        scale, wide = 1.0, release.answers[-1]
        if rounds > 1:
            traced = np.trace(unpack(last.values, D)) * frame(last).deviations ** 2
            scale = float(wide.values[0]) * frame(wide).deviations ** 2 / traced
        assert np.abs(frame(last).extent - frame(last).extent.T).max() > 0.05 * np.abs(frame(last).extent).max()
        back = np.linalg.inv(frame(last).extent)
        exact = seen(ROWS, frame(last))
        expected = scale * back @ (second(exact) + NOISE / len(ROWS)) @ back.T
        assert np.allclose(release.covariance, expected, rtol=0, atol=1e-4 * np.abs(expected).max())
        assert np.array_equal(release.covariance, release.covariance.T)

    @pytest.mark.parametrize("rounds", ROUNDS)
    def test_the_clip_is_in_the_units_of_the_covariance(self, rounds: int) -> None:
        """In units a thousand times larger all frames are: nothing depends on what 1 means."""
        one, other = quiet(rounds=rounds), quiet(ROWS * 1024, upper=UPPER * 4.0**10, lower=4.0**10, rounds=rounds)
        assert np.allclose(one.covariance * 4.0**10, other.covariance, rtol=1e-9, atol=0)


class TestAsPrinted:
    """``constants="paper"``: the rounds of the authors' program, with the whitener turned from one side."""

    @pytest.mark.parametrize("rounds", [1, *ROUNDS, "auto"])
    def test_rounds_and_prices(self, rounds: Any) -> None:
        """¼/(t − 1) and ¾, one second moment each and nothing else; the same clip throughout; two rounds by default."""
        release = quiet(rounds=rounds, constants="paper")
        count = 2 if rounds == "auto" else rounds
        assert [spend.asked for spend in release.spent] == ["second moment"] * count
        shares = [float(spend.budget.amounts()[0]) * 2 for spend in release.spent]
        assert shares == ([1.0] if count == 1 else [pytest.approx(0.25 / (count - 1))] * (count - 1) + [0.75])
        gamma = math.sqrt(D + 2 * math.sqrt(D * math.log(10)) + 2 * math.log(10))
        for answer, spend in zip(moments(release), release.spent, strict=True):
            assert frame(answer).deviations == pytest.approx(gamma, rel=1e-12)
            assert isinstance(answer.law, DiscreteGaussian)
            rho = spend.budget.amounts()[0]
            assert [variance for _, variance in answer.law.variances] == [4**answer.unit_bits / rho] * 2  # of all entries
        assert (release.notes["rounds"], release.postprocess) == (count, "project")

    @pytest.mark.parametrize("rounds", ROUNDS)
    def test_every_whitener_is_turned_from_the_left(self, rounds: int) -> None:
        """W′ W⁻¹ = (Z₊ + η)^{-1/2}, η = ½(2√(d/n) + d/n): symmetric, as the program's is only where all are multiples of 1."""
        release = quiet(rounds=rounds, noise=NOISE, upper=BOUND, constants="paper")
        eta = (2 * math.sqrt(D / 4000) + D / 4000) / 2
        for answer, following in itertools.pairwise(moments(release)):
            turned = whitener(following) @ np.linalg.inv(whitener(answer))
            assert np.allclose(turned, turned.T, rtol=0, atol=1e-5 * np.abs(turned).max())
            values, vectors = np.linalg.eigh(whitened(answer, release.n))
            expected = (vectors * (np.maximum(values, 0) + eta)) @ vectors.T
            assert np.allclose(np.linalg.inv(turned @ turned), expected, rtol=0, atol=1e-4 * np.abs(expected).max())

    def test_its_noise_is_told_as_it_is(self) -> None:
        """Independent on the whole triangle: r.m.s. d·σ in whitened units; regions are as wide as that needs, and no proof."""
        release = quiet(rounds=1, constants="paper", lower=UPPER)
        [answer] = moments(release)
        unit = frame(answer).deviations ** 2 * UPPER
        assert release.expected_error == pytest.approx(D * answer.deviation / 4000 * unit, rel=1e-6)
        isometric = quiet(rounds=1, lower=UPPER)
        [other] = moments(isometric)
        found = math.sqrt(D * (D + 1) / 2) * other.deviation / 4000 * frame(other).deviations ** 2 * UPPER
        assert isometric.expected_error == pytest.approx(found, rel=1e-6)
        region = release.confidence
        assert isinstance(region, ConfidenceEllipsoids)
        assert not region.proved

    def test_rows_far_below_the_bounds_end_in_a_release(self) -> None:
        """Where each round would stretch by 1/√η without end."""
        release = quiet(ROWS * 1e-9, rounds=10, constants="paper")
        assert np.isfinite(release.covariance).all()


class TestCentred:
    FAR = ROOT @ np.full(D, 500.0)  # a thousand deviations from the origin

    @pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
    @pytest.mark.parametrize("rounds", [1, *ROUNDS, "auto"])
    def test_mean_and_covariance_of_rows_far_away(self, rounds: Any, neighbors: str) -> None:
        rows = ROWS + self.FAR
        for budget, close in ((HALF, 0.02), (LARGE, 1e-3)):
            curator = quiet_curator(rows, budget, neighbors=neighbors)
            release = released(COINPRESS, curator, budget, upper=UPPER, centring="mean", radius=1e5, rounds=rounds)
            assert mahalanobis(release.covariance, np.cov(rows.T, bias=True)) < close
            assert np.linalg.norm(np.linalg.solve(ROOT, release.mean - rows.mean(axis=0))) < close
            assert np.allclose(
                release.second_moment, release.covariance + np.outer(release.mean, release.mean), rtol=1e-12, atol=0
            )

    def test_an_origin_is_not_in_the_way(self) -> None:
        rows = ROWS + self.FAR
        options: dict[str, Any] = {"upper": UPPER, "centring": "mean", "radius": 100.0, "origin": self.FAR - 5}
        release = released(COINPRESS, quiet_curator(rows, LARGE), LARGE, **options)
        assert mahalanobis(release.covariance, np.cov(rows.T, bias=True)) < 1e-3

    def test_a_public_origin_is_part_of_the_second_moment(self) -> None:
        """Rows that are taken to have this mean: Σ about it, and Σ + o oᵀ about 0."""
        far = released(COINPRESS, quiet_curator(ROWS + self.FAR, LARGE), LARGE, upper=UPPER, origin=self.FAR)
        assert mahalanobis(far.covariance, second(ROWS)) < 1e-3
        assert np.allclose(far.second_moment, far.covariance + np.outer(self.FAR, self.FAR), rtol=1e-12, atol=0)
        near = released(COINPRESS, quiet_curator(ROWS, LARGE), LARGE, upper=UPPER)
        assert np.array_equal(near.second_moment, near.covariance)

    def test_the_noise_of_the_mean_is_taken_off(self) -> None:
        """Z − m mᵀ + σ²: the square of a noisy mean is too large by its variance."""
        before = approaches(scripted([], n=4000, d=D, budget=HALF))
        answers = [np.zeros(D)] * before + [np.zeros(D), 1000 * rotated(0.4, 0.3, 0.2, 0.1)]
        curator = scripted(answers, n=4000, d=D, budget=HALF)
        release = released(COINPRESS, curator, HALF, upper=UPPER, centring="mean", radius=1.0, rounds=1)
        told, moment = release.answers[-2:]
        variance = told.law.spread().diagonal_variance * 4.0**-told.unit_bits / 4000**2
        back = frame(moment).unwhitener
        expected = back @ (rotated(0.1, 0.075, 0.05, 0.025) + variance * np.eye(D)) @ back.T
        assert np.allclose(release.covariance, expected, rtol=0, atol=1e-6 * np.abs(expected).max())

    def test_pairs_need_no_mean(self) -> None:
        rows = ROWS + self.FAR
        source = PairedSource(ArraySource(rows), "replace")
        encoding = dataclasses.replace(encoding_of(Grid(1.0), source), pairs=True)
        curator = opened(source, encoding, LARGE, sampler=QuietSampler())
        release = released(COINPRESS, curator, LARGE, upper=UPPER, centring="pairs")
        differences = (rows[::2] - rows[1::2]) / math.sqrt(2)
        assert release.n == len(rows) // 2
        assert not release.center
        assert mahalanobis(release.covariance, second(differences)) < 1e-3


def approaches(curator: Curator) -> int:
    """Return how many sums come before the first round, from the public plan."""
    from dpcov.mechanisms.coinpress.bounds import checked_bounds
    from dpcov.mechanisms.coinpress.confidence import checked_claim
    from dpcov.mechanisms.coinpress.whitening import Whitening

    bounds, claim = checked_bounds(UPPER, None, 1.0, D), checked_claim("practical", 0.1)
    return len(Whitening(Face(curator), HALF, bounds, np.zeros(D), 1.0, 1, claim).approach)


NEIGHBORS = ["replace", "add-remove"]
MESSAGE = r"(?s)%s\b.* must .+, got .+\. Hint: .+\."


def curator(budget: Budget = HALF, *, n: int = 5000, d: int = 3, row_norm: float = 2.0, **options: Any) -> Curator:
    """Return a curator whose source fails the test when it is read."""
    source = NoSource(n, d, rereadable=options.pop("rereadable", True))
    encoding = Encoding(source.feature_names, row_norm, pairs=options.pop("centring", "none") == "pairs")
    return opened(source, encoding, budget, options.pop("neighbors", "replace"), SeededBits(0))


def assert_refused(asked: Curator, what: str, budget: Budget = HALF, **options: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        released(COINPRESS, asked, budget, **options)
    assert re.fullmatch(MESSAGE % what, str(caught.value)), str(caught.value)
    assert untouched(asked)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_pairs_are_of_differences(neighbors: str) -> None:
    """The encoding says of what rows are: a mechanism that was told otherwise asks nothing."""
    assert_refused(curator(neighbors=neighbors), "centring", upper=10.0, centring="pairs")
    assert_refused(curator(neighbors=neighbors, centring="pairs"), "centring", upper=10.0)


@pytest.mark.parametrize("n", [0, 1])
def test_two_rows_at_least(n: int) -> None:
    cases: list[dict[str, Any]] = [{}, {"centring": "mean", "radius": 1.0}, {"centring": "pairs"}]
    for options in cases:
        assert_refused(curator(n=n, centring=options.get("centring")), "data", upper=10.0, **options)
    with pytest.raises(ParameterError, match=r"data must have at least 2 rows \(or pairs\), got 1\. Hint: one sample"):
        dpcov.covariance(np.eye(3), HALF, mechanism="coinpress", upper=10.0, centring="pairs")  # one pair


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("options", [{}, {"rounds": 3}, {"centring": "mean", "radius": 1.0}], ids=str)
def test_a_stream_is_refused_before_reading(options: dict[str, Any], neighbors: str) -> None:
    assert_refused(curator(rereadable=False, neighbors=neighbors), "data", upper=10.0, **options)
    reader = pa.table({"a": np.ones(20), "b": np.ones(20)}).to_reader()
    with pytest.raises(ParameterError, match="data must be readable twice"):
        dpcov.covariance(reader, HALF, mechanism="coinpress", upper=10.0, neighbors=neighbors, **options)
    assert reader.read_all().num_rows == 20


@pytest.mark.parametrize("budget", [ZCDP("1e-28"), ZCDP("1e-20"), ZCDP("1e-14")], ids=str)
@pytest.mark.parametrize("options", [{}, {"rounds": 3}, {"centring": "mean", "radius": 1.0}], ids=str)
def test_nor_is_a_count_spent_on_it(budget: Budget, options: dict[str, Any]) -> None:
    """Either all is answered, or nothing is charged."""
    rows = np.ones((300, 3))
    asked = opened(ArraySource(rows), Grid(2.0), budget, "add-remove", SeededBits(0))
    try:
        released(COINPRESS, asked, budget, upper=10.0, **options)
    except ParameterError:
        assert untouched(asked)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("rounds", [pytest.param(60, marks=pytest.mark.audit), 100])
def test_many_rounds_of_little_are_planned_or_refused(rounds: int, neighbors: str) -> None:
    for exponent in (-12, -8, -6, -4, -2):
        budget = ZCDP(f"1e{exponent}")
        asked = opened(ArraySource(np.ones((300, 3))), Grid(2.0), budget, neighbors, SeededBits(0))
        try:
            assert np.isfinite(released(COINPRESS, asked, budget, upper=10.0, rounds=rounds).covariance).all()
        except ParameterError:
            assert untouched(asked)


class TestInterface:
    def refuse(self, match: str, **options: Any) -> None:
        with pytest.raises(ParameterError, match=match):
            dpcov.covariance(np.ones((30, 3)), HALF, mechanism="coinpress", **options)

    def test_bounds_are_required(self) -> None:
        self.refuse("must be given, got neither")
        self.refuse("must be given, got neither", lower=1.0)

    def test_radius_is_required_for_centred_rows(self) -> None:
        self.refuse("radius must be given for centred rows", upper=10.0, center=True)

    def test_however_it_is_said(self) -> None:
        """Not 1, which is what the grid without a row_norm happens to have."""
        self.refuse("radius must be given for centred rows", upper=10.0, centring="mean")

    def test_one_way_to_centre(self) -> None:
        for centring in ("none", "pairs", "median"):
            self.refuse("centring must be 'mean'", upper=10.0, radius=1.0, center=True, centring=centring)
        self.refuse("center must be True or False", upper=10.0, center="yes")

    def test_pairs_need_an_order_and_a_public_n(self) -> None:
        self.refuse("neighbors must be 'replace' for pairs", upper=10.0, centring="pairs", neighbors="add-remove")
        reader = pa.table({"a": np.ones(20)}).to_reader()
        with pytest.raises(ParameterError, match="data must have rows in a fixed order for pairs"):
            dpcov.covariance(reader, HALF, mechanism="coinpress", upper=10.0, centring="pairs")

    def test_unknown_options(self) -> None:
        for name in ("clip", "k", "t", "Upper", "steps"):
            self.refuse("options of 'coinpress' must be among", upper=10.0, **{name: 1})

    @pytest.mark.parametrize("n", [0, 1])
    @pytest.mark.parametrize("centring", ["none", "pairs"])
    def test_files_of_no_rows(self, n: int, centring: str, tmp_path: Path) -> None:
        """Their n is known only after a reading."""
        path = tmp_path / "rows.csv"
        path.write_text("a,b\n" + "1,2\n" * n, encoding="utf-8")
        with pytest.raises(ParameterError, match="data must have"):
            dpcov.covariance(path, HALF, mechanism="coinpress", upper=10.0, centring=centring)


@pytest.mark.parametrize("case", ["equal columns", "constant rows"])
def test_a_singular_covariance_does_not_end_the_rounds(case: str) -> None:
    """With much to spend the whitener grows in each round along what does not vary: it must stop, not raise after charges."""
    release = dpcov.covariance(LONG_ROWS[case], ZCDP(10**6), mechanism="coinpress", upper=1e4, rounds=10, seed=71)
    assert np.isfinite(release.covariance).all()
