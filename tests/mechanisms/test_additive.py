"""laplace, frobenius, wishart and auto: what they ask and pay, what they make of it, and that their files hold it."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov import PureDP, Release
from dpcov.errors import ParameterError, ReleaseError
from dpcov.kernel.account import Account
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, compose
from dpcov.kernel.curator import Curator
from dpcov.kernel.noise.laws import DiscreteLaplace
from dpcov.kernel.noise.matrix import FrobeniusNoise, WishartDifference
from dpcov.kernel.public import Public
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.running import released
from dpcov.release.file import parse, text_of
from dpcov.spectra import shrink
from dpcov.verify.testing import Noiseless, NoSource, ScriptedSums, encoding_of, scripted
from tests.helpers.small import assert_same, sealed

NEIGHBORS = ["replace", "add-remove"]
PURE = ["laplace", "frobenius", "wishart"]
LAW_NAMES = {"laplace": "discrete laplace", "frobenius": "frobenius", "wishart": "wishart difference"}
UNIT = 4**16  # grid steps in one unit of the second moment
BUDGETS: list[Budget] = [PureDP("0.7"), ApproxDP("0.7", "1e-9")]
ROWS = np.random.default_rng(701).uniform(-0.4, 0.4, size=(50, 4))


def run(name: str, budget: Budget, d: int, *, neighbors: str = "replace", n: int = 10, **options: Any) -> Release:
    """Run a mechanism on scripted answers, the identity, and a count of ``n``: of rows that can be read once.

    `auto` then takes plain noise.
    """
    known = n if neighbors == "replace" else None
    once = Public(encoding_of(Grid(1.0), NoSource(n, d)), neighbors, known, rereadable=False)
    curator = Curator(ScriptedSums([np.eye(d), n], once, n), Account(budget), Noiseless())
    return released(MECHANISMS["covariance"][name], curator, budget, **options)


def scale(release: Release) -> Fraction:
    law = release.answers[0].law
    assert isinstance(law, DiscreteLaplace | WishartDifference | FrobeniusNoise)
    return law.scale


@pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "approx"])
@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("name", PURE)
class TestSpending:
    def test_replace(self, name: str, d: int, budget: Budget) -> None:
        """One question for the whole ε; δ is not touched."""
        release = run(name, budget, d)
        spends = [(spend.asked, spend.noise, spend.budget) for spend in release.spent]
        assert spends == [("second moment", LAW_NAMES[name], PureDP("0.7"))]
        assert release.privacy == budget
        assert (release.mechanism, release.requested, release.n) == (name, name, 10)

    def test_add_remove(self, name: str, d: int, budget: Budget) -> None:
        """The second moment first, then the count with 4/(5d+8) of ε, always by discrete Laplace; together exactly ε."""
        release = run(name, budget, d, neighbors="add-remove", n=20)
        share = Fraction(4, 5 * d + 8) * Fraction(7, 10)
        assert [(spend.asked, spend.noise, spend.budget) for spend in release.spent] == [
            ("second moment", LAW_NAMES[name], PureDP(Fraction(7, 10) - share)),
            ("count", "discrete laplace", PureDP(share)),
        ]
        assert compose(*(spend.budget for spend in release.spent)) == PureDP("0.7")
        assert release.answers[1].law == DiscreteLaplace(1 / share)
        assert release.n == 20


@pytest.mark.parametrize("name", PURE)
class TestRefusals:
    def test_unknown_options(self, name: str) -> None:
        with pytest.raises(ParameterError, match="postprocess must be one of"):
            run(name, PureDP(1), 2, postprocess="sort")
        if name != "wishart":
            with pytest.raises(ParameterError, match="constants must be one of"):
                run(name, PureDP(1), 2, constants="loose")


class TestConstants:
    @pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "approx"])
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize("d", [1, 2, 5])
    def test_laplace_of_the_papers(self, d: int, neighbors: str, budget: Budget) -> None:
        """2d/ε of what the moment is given, exactly."""
        release = run("laplace", budget, d, neighbors=neighbors, constants="paper")
        spent = release.spent[0].budget
        assert isinstance(spent, PureDP)
        assert scale(release) == 2 * d * UNIT / spent.epsilon

    @pytest.mark.parametrize("budget", BUDGETS, ids=["pure", "approx"])
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize("d", [2, 5])
    def test_frobenius_of_the_papers(self, d: int, neighbors: str, budget: Budget) -> None:
        """2√2/ε under replace, 2/ε under add-remove: the exponential mechanism's factor two, to 1e-11 and not below."""
        release = run("frobenius", budget, d, neighbors=neighbors, constants="paper")
        spent = release.spent[0].budget
        assert isinstance(spent, PureDP)
        squared = (scale(release) * spent.epsilon / UNIT) ** 2
        expected = 8 if neighbors == "replace" else 4
        assert expected <= squared <= expected * (1 + Fraction(1, 10**11))

    @pytest.mark.parametrize("name", ["laplace", "frobenius"])
    def test_they_only_add_noise(self, name: str) -> None:
        for d in (1, 2, 5):
            for neighbors in NEIGHBORS:
                paper, tight = (run(name, PureDP(1), d, neighbors=neighbors, constants=c) for c in ("paper", "tight"))
                assert scale(paper) > 1.5 * float(scale(tight))
                assert paper.spent == tight.spent
                assert (paper.options, tight.options) == tuple({"clip": "none", "constants": c} for c in ("paper", "tight"))


class TestDefaults:
    @pytest.mark.parametrize("name", PURE)
    def test_postprocess(self, name: str) -> None:
        assert run(name, PureDP(1), 2).postprocess == "shrink"
        for chosen in ("shrink", "project", "clip", "none"):
            assert run(name, PureDP(1), 2, postprocess=chosen).postprocess == chosen

    @pytest.mark.parametrize("name", ["laplace", "frobenius", "gaussian"])
    def test_papers_clip(self, name: str) -> None:
        budget = ZCDP(1) if name == "gaussian" else PureDP(1)
        clipping = "program" if name == "gaussian" else "paper"  # the text of Dong et al. clips no eigenvalues
        assert run(name, budget, 2, constants=clipping).postprocess == "clip"
        assert run(name, budget, 2, constants="paper", postprocess="project").postprocess == "project"

    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize(
        ("d", "budget"),
        [(2, PureDP(1)), (5, PureDP(1)), (3, ZCDP("0.1")), (40, ApproxDP(1, "1e-6")), (5, ApproxDP(1, "1e-25"))],
    )
    def test_auto_is_the_mechanism_it_resolves_to(self, d: int, budget: Budget, neighbors: str) -> None:
        """Where rows can be read once; else they are clipped: tests/mechanisms/test_rescaled.py."""
        release = run("auto", budget, d, neighbors=neighbors, postprocess="project")
        assert release.requested == "auto"
        same = run(release.mechanism, budget, d, neighbors=neighbors, postprocess="project")
        assert release.spent == same.spent
        assert [answer.law for answer in release.answers] == [answer.law for answer in same.answers]
        assert np.array_equal(release.second_moment, same.second_moment)
        assert (release.postprocess, same.requested, release.privacy) == ("project", release.mechanism, budget)

    def test_auto_passes_the_postprocess_on(self) -> None:
        assert run("auto", PureDP(1), 3, postprocess="none").postprocess == "none"


class TestEstimates:
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize("d", [1, 2, 5])
    @pytest.mark.parametrize("name", [*PURE, "auto"])
    def test_expected_error_is_the_noise_over_n(self, name: str, d: int, neighbors: str) -> None:
        """From the law's own variances, d on the diagonal and d(d−1) off it; a noise not divided by n fails."""
        release = run(name, PureDP(1), d, neighbors=neighbors, n=37)
        spread = release.answers[0].law.spread()
        total = d * spread.diagonal_variance + d * (d - 1) * spread.off_diagonal_variance
        assert release.expected_error == pytest.approx(math.sqrt(total) / UNIT / 37, rel=1e-12)

    @pytest.mark.parametrize("d", [2, 5])
    def test_expected_error_in_closed_form(self, d: int) -> None:
        entries = d * (d + 1) // 2
        wishart, frobenius = (run(name, PureDP(2), d, n=10).expected_error for name in ("wishart", "frobenius"))
        assert wishart == pytest.approx((d + 1) * math.sqrt(2 * d) / 2 / 10, rel=1e-3)
        assert frobenius == pytest.approx(math.sqrt(2 * entries * (entries + 1)) / 2 / 10, rel=1e-3)

    @pytest.mark.parametrize("name", PURE)
    def test_a_scripted_answer_comes_back_rotated_as_it_was(self, name: str) -> None:
        """Raw: to half a lattice step; at ε = 1000 noise is far below the signal and shrinking changes little."""
        rotation = np.eye(3) - np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0]) / 7
        truth = (rotation * [0.5, 0.3, 0.1]) @ rotation.T
        for postprocess, tolerance in (("none", 1e-4), ("shrink", 2e-3)):
            curator = scripted([100 * truth], n=100, d=3, budget=PureDP(1000), row_norm=2.0)
            release = released(MECHANISMS["covariance"][name], curator, PureDP(1000), postprocess=postprocess)
            assert np.allclose(release.second_moment, 4 * truth, rtol=0, atol=tolerance)

    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize("postprocess", ["shrink", "project", "clip"])
    @pytest.mark.parametrize("epsilon", ["1e-6", 1, "1e6"])
    @pytest.mark.parametrize("name", [*PURE, "auto"])
    def test_end_to_end(self, name: str, epsilon: Any, postprocess: str, neighbors: str) -> None:
        """One column, one row, zeros, the largest and the smallest budgets: finite, symmetric, positive semidefinite."""
        for rows in (ROWS, ROWS[:, :1], ROWS[:1], np.zeros((5, 3)), np.ones((1, 1))):
            release = dpcov.covariance(
                rows, PureDP(epsilon), row_norm=1, mechanism=name, postprocess=postprocess, neighbors=neighbors, seed=702
            )
            estimate = release.second_moment
            assert np.isfinite(estimate).all()
            assert np.array_equal(estimate, estimate.T)
            spectrum = np.linalg.eigvalsh(estimate)
            assert spectrum[0] >= -1e-12
            assert spectrum[-1] <= 1 + 1e-9
            if release.find(SecondMoment) is None:
                assert release.mechanism == "rescaled"  # of so few rows nothing is asked but their number
                assert not estimate.any()
                continue
            assert release.expected_error > 0
            assert math.isfinite(release.expected_error)

    @pytest.mark.parametrize("name", PURE)
    def test_a_large_budget_gives_the_truth(self, name: str) -> None:
        release = dpcov.covariance(ROWS, PureDP("1e6"), row_norm=1, mechanism=name, seed=703)
        assert np.allclose(release.second_moment, ROWS.T @ ROWS / len(ROWS), rtol=0, atol=1e-4)


def parameters(record: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = record["answers"][0]["noise"][0]["parameters"]
    return found


def saved(tmp_path: Path, name: str, **options: Any) -> tuple[Release, dict[str, Any]]:
    release = dpcov.covariance(ROWS, PureDP(1), row_norm=1, mechanism=name, seed=704, **options)
    release.save(tmp_path / "release.json")
    record: dict[str, Any] = json.loads((tmp_path / "release.json").read_text(encoding="utf-8"))
    return release, record


def lower_scale(record: dict[str, Any]) -> None:
    parameters(record)["scale"] = str(Fraction(parameters(record)["scale"]) * Fraction(999, 1000))


def finer_lattice(record: dict[str, Any]) -> None:
    """Answers are still multiples; the claim is that rounding was finer, and cost more than was set aside."""
    parameters(record)["lattice"] = "1"


def coarser_lattice(record: dict[str, Any]) -> None:
    """Answers are then no multiples of the step."""
    parameters(record)["lattice"] = "55"


def less_excess(record: dict[str, Any]) -> None:
    parameters(record)["excess"] = "1/" + "9" * 30


def more_excess(record: dict[str, Any]) -> None:
    """An excess of ε: nothing would be left for the noise."""
    parameters(record)["excess"] = "1"


def off_the_lattice(record: dict[str, Any]) -> None:
    record["answers"][0]["integers"][0] += 1


def another_dimension(record: dict[str, Any]) -> None:
    parameters(record)["d"] = "3"


def half_a_lattice(record: dict[str, Any]) -> None:
    parameters(record)["lattice"] = "61/2"


def no_tail(record: dict[str, Any]) -> None:
    del parameters(record)["tail"]


def exact_numerics(record: dict[str, Any]) -> None:
    record["answers"][0]["noise"][0]["numerics"] = "exact"


EDITS: list[Callable[[dict[str, Any]], None]] = [
    lower_scale,
    finer_lattice,
    coarser_lattice,
    less_excess,
    more_excess,
    off_the_lattice,
    another_dimension,
    half_a_lattice,
    no_tail,
    exact_numerics,
]


class TestFiles:
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize("constants", ["tight", "paper"])
    @pytest.mark.parametrize("name", [*PURE, "auto"])
    def test_bit_for_bit(self, tmp_path: Path, name: str, constants: str, neighbors: str) -> None:
        options = {"constants": constants} if name in ("laplace", "frobenius") else {}
        release, _ = saved(tmp_path, name, neighbors=neighbors, **options)
        back = dpcov.load(tmp_path / "release.json")
        assert_same(back, release)
        assert back.second_moment.tobytes() == release.second_moment.tobytes()

    @pytest.mark.parametrize("name", ["frobenius", "wishart"])
    @pytest.mark.parametrize("edit", EDITS)
    def test_an_edited_rounded_law_is_refused(self, tmp_path: Path, name: str, edit: Callable[[dict[str, Any]], None]) -> None:
        """With a fresh checksum: what no curator can have written."""
        _, record = saved(tmp_path, name)
        assert parse(sealed(record)).mechanism == name
        edit(record)
        with pytest.raises(ReleaseError, match=r"release file must be .* Hint: "):
            parse(sealed(record))

    def test_a_smaller_laplace_scale_is_refused(self, tmp_path: Path) -> None:
        _, record = saved(tmp_path, "laplace")
        lower_scale(record)
        with pytest.raises(ReleaseError, match="less noise than the promise needs"):
            parse(sealed(record))

    def test_a_loose_answer_is_named(self, tmp_path: Path) -> None:
        """The file says which of the two kinds of noise it holds."""
        for name, numerics in (("laplace", "exact"), ("wishart", "rounded"), ("frobenius", "rounded")):
            _, record = saved(tmp_path, name)
            assert record["answers"][0]["noise"][0]["numerics"] == numerics


def test_no_mechanism_serves_a_vanishing_budget() -> None:
    for center in (False, True):
        with pytest.raises(ParameterError, match="too little for any mechanism"):
            dpcov.covariance(np.zeros((3, 2)), dpcov.PureDP("1e-30"), row_norm=1, center=center)
    with pytest.raises(ParameterError, match="too little for any mechanism"):
        dpcov.plan("covariance", dpcov.PureDP("1e-30"), n=10, d=3)
    with pytest.raises(ParameterError, match="n must be an integer"):
        dpcov.plan("covariance", dpcov.PureDP(1), n=0, d=3)


def test_a_mechanism_under_another_name_is_found() -> None:
    """Each answer is paid for, whoever asked it, so the file is read; that the other mechanism did not ask shows."""
    release = dpcov.covariance(np.zeros((3, 5)), dpcov.PureDP(1), row_norm=1, mechanism="wishart", seed=1)
    read = parse(text_of(dataclasses.replace(release, mechanism="laplace", requested="laplace")))
    found = read.retrace()
    assert not found.agrees
    assert found.difference == (
        "answer 1 ('second moment') must have noise of the law discrete laplace, got wishart difference"
    )


@pytest.mark.parametrize("mechanism", ["wishart", "laplace", "frobenius"])
def test_shrinkage_is_told_the_noise_of_the_mean_not_of_the_sum(mechanism: str) -> None:
    """Told n times the noise it would take every eigenvalue for noise and spread them evenly."""
    n, d = 400, 5
    sums = np.diag([0.0, 1.0, 2.0, 60.0, 300.0])
    curator = scripted([sums], n=n, d=d, budget=PureDP(1))
    release = released(MECHANISMS["covariance"][mechanism], curator, PureDP(1))
    answer = release.answers[0]
    noise = answer.law.spread().scaled(2.0**-32 / n)
    raw = release.finished("none").second_moment
    assert np.allclose(release.second_moment, shrink(raw, 1.0, noise), rtol=0, atol=1e-12)
    top = float(np.linalg.eigvalsh(release.second_moment)[-1])
    assert 0.6 < top < 0.8  # 300/400 stands far above the noise; with n times the noise it would be below 0.3
