"""coinpress for covariances: what is asked and paid for, how an indefinite answer is finished, and what guards the rounds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov import Release
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, compose
from dpcov.kernel.questions.norms import Trace
from dpcov.mechanisms.coinpress.covariance import COINPRESS
from dpcov.mechanisms.coinpress.rounds import LAST_SHARES
from dpcov.mechanisms.running import released
from dpcov.verify.testing import scripted as scripted_curator
from tests.helpers.quiet import Floats, quiet_curator
from tests.mechanisms.test_coinpress import BOUND, HALF, ROUNDS, ROWS, UPPER, frame, moments, rotated, whitener

NEIGHBORS = ["replace", "add-remove"]
BUDGETS: list[Budget] = [HALF, ApproxDP(1, "1e-6")]
MANY = 4000


def scripted(answers: list[Any], d: int = 4, budget: Budget = HALF, **options: Any) -> Release:
    neighbors = options.pop("neighbors", "replace")
    curator = scripted_curator(answers, n=MANY, d=d, budget=budget, neighbors=neighbors)
    return released(COINPRESS, curator, budget, **({"upper": UPPER, "rounds": 1} | options))


def back(release: Release) -> Floats:
    return frame(moments(release)[-1]).unwhitener


class TestFinishing:
    """Eigenvalues 0.3, 0.2, 0.01 and −0.15 of the last answer, in its coordinates."""

    NOISY = MANY * rotated(0.3, 0.2, 0.01, -0.15)

    @pytest.mark.parametrize("upper", [UPPER, BOUND], ids=["number", "matrix"])
    def test_a_negative_eigenvalue_becomes_zero(self, upper: Any) -> None:
        """Not 0.15, its absolute value, as in the authors' program."""
        release = scripted([self.NOISY], upper=upper)
        expected = back(release) @ rotated(0.3, 0.2, 0.01, 0) @ back(release).T
        assert release.postprocess == "project"
        assert np.allclose(release.covariance, expected, rtol=0, atol=1e-7 * np.abs(expected).max())
        assert np.linalg.eigvalsh(release.covariance)[0] < 1e-9 * np.abs(expected).max()

    def test_nor_is_it_folded_on_the_way(self) -> None:
        """A first answer of −0.15 counts as nothing: the whitener stretches its direction as far as noise allows."""
        release = scripted([self.NOISY, MANY * rotated(0.3, 0.3, 0.3, 0.3), 0.0], rounds=2)
        first, last = moments(release)
        turned = whitener(last) @ np.linalg.inv(whitener(first))
        values = np.sort(1 / np.linalg.eigvalsh(turned) ** 2) / frame(first).deviations ** 2
        assert np.allclose(values - values[0], [0, 0.01, 0.2, 0.3], rtol=0, atol=1e-5)

    def test_none_is_raw(self) -> None:
        release = scripted([self.NOISY], upper=BOUND, postprocess="none")
        expected = back(release) @ self.NOISY / MANY @ back(release).T
        assert np.allclose(release.covariance, expected, rtol=0, atol=1e-7 * np.abs(expected).max())
        assert np.linalg.eigvalsh(release.covariance)[0] < -1

    @pytest.mark.parametrize(
        ("upper", "lower"), [(50.0, 2.0), (BOUND / 10, BOUND / 5000), (BOUND, BOUND)], ids=["numbers", "matrices", "equal"]
    )
    def test_clip_keeps_to_the_bounds(self, upper: Any, lower: Any) -> None:
        """In the coordinates of the upper bound eigenvalues go into [1/condition, 1]; those inside stay as they are."""
        release = scripted([self.NOISY], upper=upper, lower=lower, postprocess="clip")
        most, least = (bound * np.eye(4) if isinstance(bound, float) else bound for bound in (upper, lower))
        slack = 1e-6 * np.abs(most).max()  # the whitener has 26 bits
        assert np.linalg.eigvalsh(most - release.covariance)[0] > -slack
        assert np.linalg.eigvalsh(release.covariance - least)[0] > -slack
        root = whitener(moments(release)[0])
        condition = 1 / np.linalg.eigvalsh(root @ least @ root.T)[0]
        values = np.linalg.eigvalsh(root @ release.covariance @ root.T)
        clip = frame(moments(release)[0]).deviations ** 2
        expected = np.clip(clip * np.array([-0.15, 0.01, 0.2, 0.3]), 1 / condition, 1)
        assert np.allclose(values, expected, rtol=0, atol=1e-6)
        assert release.notes["condition"] == pytest.approx(condition, rel=1e-6)

    def test_a_scripted_scale(self) -> None:
        """The wide trace over the clipped one, both in whitened units; at least 0.3."""
        for number, scale in ((500.0, None), (-100.0, 0.3), (0.0, 0.3)):
            release = scripted([MANY * rotated(0.3, 0.2, 0.1, 0.1), MANY * rotated(0.2, 0.2, 0.1, 0.1), number], rounds=2)
            last, wide = release.answers[-2:]
            found = scale or number * frame(wide).deviations ** 2 / (MANY * 0.6 * frame(last).deviations ** 2)
            expected = found * back(release) @ rotated(0.2, 0.2, 0.1, 0.1) @ back(release).T
            assert np.allclose(release.covariance, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


class TestGuard:
    def test_long_rows_that_clipping_hid_widen_the_ellipsoid(self) -> None:
        """A wide trace nine times the clipped one: the whitener shrinks by the root of that, in all directions."""
        shape, number, turned = MANY * rotated(0.1, 0.1, 0.1, 0.1), 0.0, []
        for _ in range(2):
            release = scripted([shape, shape, number, shape, 1.0], rounds=3, budget=ZCDP(10**4))
            asked = moments(release)
            turned.append(whitener(asked[2]) @ np.linalg.inv(whitener(asked[1])))
            guard = release.take(Trace)
            number = 9 * 0.4 * MANY * (frame(asked[1]).deviations / frame(guard).deviations) ** 2
            assert frame(guard).deviations > 1.5 * frame(asked[1]).deviations
        assert np.allclose(turned[0], turned[1] * 3, rtol=0.02, atol=1e-3)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.notion)
class TestSpending:
    @pytest.mark.parametrize("centring", ["none", "mean"])
    @pytest.mark.parametrize("rounds", [1, *ROUNDS])
    def test_the_questions_and_their_shares(self, rounds: int, centring: str, budget: Budget, neighbors: str) -> None:
        """Together exactly the budget, (ε, δ) by way of ρ; equal rounds before the last; a fiftieth for n."""
        curator = quiet_curator(ROWS, budget, neighbors=neighbors)
        centred: dict[str, Any] = {"centring": "mean", "radius": 100.0} if centring == "mean" else {}
        release = released(COINPRESS, curator, budget, upper=UPPER, rounds=rounds, **centred)
        whole = budget.to_zcdp() if isinstance(budget, ApproxDP) else budget
        assert isinstance(whole, ZCDP)
        spent = list(release.spent)
        assert compose(*(spend.budget for spend in spent)) == whole
        assert {spend.noise for spend in spent} == {"discrete gaussian"}
        shares = [(spend.asked, spend.budget.amounts()[0] / whole.rho) for spend in spent]
        left = Fraction(1)
        if neighbors == "add-remove":
            assert shares.pop(0) == ("count", Fraction(1, 50))
            left = Fraction(49, 50)
        mean = ["sum"] * (centring == "mean")
        early = [*mean, "second moment"]
        guarded = [*mean, "second moment", "trace"]
        rest = early + guarded * (rounds - 2) + guarded if rounds > 1 else early
        names = [name for name, _ in shares]
        approach = len(names) - len(rest)
        assert names == ["sum"] * approach + rest
        assert (approach > 0) == (centring == "mean")
        if approach:
            assert sum(share for _, share in shares[:approach]) == left / 20
            left *= Fraction(19, 20)
        if rounds > 1:
            size = len(early)
            first = sum(share for _, share in shares[approach : approach + size])
            assert left - (rounds - 1) * first in [left * last for last in LAST_SHARES]
            assert shares[-1][1] == left / 20  # the scale
            for k in range(rounds - 2):
                block = shares[approach + size + k * len(guarded) :][: len(guarded)]
                assert sum(share for _, share in block) == first

    def test_auto_is_recorded_as_a_number(self, budget: Budget, neighbors: str) -> None:
        release = released(COINPRESS, quiet_curator(ROWS, budget, neighbors=neighbors), budget, upper=UPPER)
        assert release.options["rounds"] == "auto"
        assert release.notes["rounds"] == len(moments(release))
        assert (release.mechanism, release.postprocess, release.center) == ("coinpress", "project", False)


def test_a_noisy_number_of_rows_is_the_one_that_counts() -> None:
    """Scripted at half the truth: estimates double, and the truth is nowhere."""
    release = scripted([MANY / 2, MANY * rotated(0.2, 0.2, 0.1, 0.1)], neighbors="add-remove")
    expected = 2 * back(release) @ rotated(0.2, 0.2, 0.1, 0.1) @ back(release).T
    assert release.n == MANY / 2
    assert np.allclose(release.covariance, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("rounds", [1, 2, 5])
def test_few_columns_have_no_scale_to_buy_back(d: int, rounds: int) -> None:
    rows = ROWS[:, :d]
    release = released(COINPRESS, quiet_curator(rows, HALF), HALF, upper=UPPER, rounds=rounds)
    guards = ["second moment", "trace"] * max(rounds - 2, 0)
    assert [spend.asked for spend in release.spent] == ["second moment", *guards, "second moment"][: 1 + 2 * (rounds - 1)]
    assert np.allclose(release.covariance, rows.T @ rows / len(rows), rtol=0.02, atol=0.5)


@pytest.mark.parametrize("options", [{}, {"rounds": 3}, {"center": True, "radius": 50.0}, {"constants": "proved"}], ids=str)
def test_a_seed_gives_the_same_release(options: dict[str, Any]) -> None:
    one, same, other = (
        dpcov.covariance(ROWS, HALF, upper=UPPER, mechanism="coinpress", seed=seed, **options) for seed in (7, 7, 8)
    )
    assert one.covariance.tobytes() == same.covariance.tobytes()
    assert one.covariance.tobytes() != other.covariance.tobytes()
    assert one.seeded


def test_defaults_of_the_bounds() -> None:
    """Without upper it is row_norm², and lower a millionth; with a schema both are those of encoded rows."""
    release = dpcov.covariance(ROWS, HALF, row_norm=200.0, mechanism="coinpress", seed=7)
    assert release.notes["condition"] == pytest.approx(1e6, rel=1e-6)
    first = release.answers[0]
    assert np.allclose(whitener(first), np.eye(4) / 200.0, rtol=1e-6, atol=1e-12)
    assert release.options["centring"] == "none"
    centred = dpcov.covariance(ROWS, HALF, row_norm=200.0, mechanism="coinpress", center=True, seed=7)
    assert (centred.options["centring"], centred.center) == ("mean", True)


@pytest.mark.parametrize("budget", [HALF, ZCDP(10**6)], ids=str)
@pytest.mark.parametrize("rounds", [8, 10])
@pytest.mark.parametrize("upper", [100.0, rotated(3000.0, 2000.0, 800.0, 500.0)], ids=["number", "matrix"])
def test_whiteners_stay_within_the_bounds(upper: Any, rounds: int, budget: Budget) -> None:
    """Two equal columns: along their difference there is nothing but noise, which each round would stretch further.

    No direction needs more than √condition; the mechanism allows 16 times as much. The release is complete, and right.
    """
    rows = ROWS[:, [0, 1, 2, 2]] / np.sqrt(np.mean(ROWS[:, [0, 1, 2, 2]] ** 2, axis=0))
    release = dpcov.covariance(rows, budget, mechanism="coinpress", upper=upper, rounds=rounds, seed=7)
    first = np.linalg.inv(whitener(release.answers[0]))
    most = 16 * np.sqrt(release.note("condition", 1.0, 1e12)) * (1 + 1e-4)
    largest = max(np.linalg.norm(whitener(answer) @ first, 2) for answer in release.answers)
    assert most / 2 < largest < most
    assert compose(*(spend.budget for spend in release.spent)) == budget
    assert np.allclose(release.covariance, rows.T @ rows / len(rows), rtol=0, atol=0.1)
