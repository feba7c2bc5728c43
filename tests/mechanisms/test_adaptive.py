"""adaptive: what it asks, at which prices, what it weighs clipping against, and both ends of its path."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpcov import Release
from dpcov.bounds import eta, nu, omega
from dpcov.errors import ParameterError
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP, compose
from dpcov.kernel.noise.choice import SparseVector
from dpcov.kernel.questions.choices import Bias, Radius
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.questions.norms import Trace
from dpcov.mechanisms.covariance.adaptive import ADAPTIVE
from dpcov.mechanisms.covariance.adaptive_noise import EASED, EASED_PURE, Noises, noises_of
from dpcov.mechanisms.running import released
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import scripted
from tests.helpers.quiet import QuietSampler, quiet_curator, radii, skewed
from tests.mechanisms.test_gaussian import rotated
from tests.mechanisms.test_separate import of_rho

NEIGHBORS = ["replace", "add-remove"]
BUDGETS: list[Budget] = [ZCDP(1), PureDP(1), ApproxDP(1, "1e-6")]
SHARES = {
    "tight": (Fraction(1, 20), Fraction(1, 20), Fraction(3, 20)),
    "paper": (Fraction(1, 8), Fraction(1, 8), Fraction(1, 4)),
    "program": (Fraction(1, 8), Fraction(1, 8)),
}
OCTAVES = 498  # from row_norm 1 down to 1e-150
MANY = 10_000


class Watched(QuietSampler):
    """Tells the searches and their noise."""

    @property
    def searched(self) -> list[tuple[Radius | Bias, SparseVector]]:
        each = zip(self.asked, self.laws, strict=True)
        return [(asked, law) for asked, law in each if isinstance(asked, Radius | Bias) and isinstance(law, SparseVector)]


def bins(**rows: int) -> list[int]:
    """Return counts of rows by octave: ``_3=5`` are five rows with 2⁻⁴ < ‖x‖ ≤ 2⁻³."""
    counts = [0] * (OCTAVES + 1)
    for octave, number in rows.items():
        counts[int(octave[1:])] = number
    return counts


def run(
    answers: list[Any],
    d: int,
    budget: Budget = BUDGETS[0],
    *,
    neighbors: str = "replace",
    row_norm: float = 1.0,
    **options: Any,
) -> tuple[Release, Watched]:
    watched = Watched()
    curator = scripted(answers, n=MANY, d=d, budget=budget, neighbors=neighbors, row_norm=row_norm, sampler=watched)
    return released(ADAPTIVE, curator, budget, **options), watched


FIRST = bins(_2=MANY)  # all rows between 1/8 and 1/4: the radius is 1/4
NEVER, AT_ONCE, LATER = bins(_9=1), bins(_2=MANY), bins(_4=MANY)  # where clipping costs: nowhere before 2⁻⁹, at 1/8, at 1/32


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("constants", ["tight", "paper", "program"])
@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.notion)
class TestSpending:
    @pytest.mark.parametrize("apart", [False, True])
    def test_shares_on_either_path(self, budget: Budget, constants: str, neighbors: str, apart: bool) -> None:
        """A trace below 0 makes `separate` the better one in 400 columns, a large one never; all of it is the budget.

        The program searches for no radius.
        """
        d = 400 if apart else 3
        ending = [np.eye(d), np.ones(d), MANY] if apart else [np.eye(d), MANY]
        trace = -1e6 if apart else MANY / 2
        first = [] if constants == "program" else [FIRST]
        release, curator = run([*first, trace, AT_ONCE, *ending], d, budget, neighbors=neighbors, constants=constants)
        whole = of_rho(budget)
        values = ["diagonal in a basis" if constants == "tight" else "spectrum"] if apart else []
        count = ["count"] * (neighbors == "add-remove")
        found = ["radius"] * len(first) + ["trace", "threshold"]
        assert [spend.asked for spend in release.spent] == [*found, "second moment", *values, *count]
        shares = [spend.budget for spend in release.spent[: len(found)]]
        assert shares == [whole.share(share) for share in SHARES[constants]]
        assert compose(*(spend.budget for spend in release.spent)) == whole
        assert (release.mechanism, release.requested, release.privacy) == ("adaptive", "adaptive", budget)
        assert release.options == {"beta": 0.05, "constants": constants}
        usual = "project" if apart else "shrink"
        assert release.postprocess == {"paper": "none", "program": "clip"}.get(constants, usual)
        assert len(curator.searched) == len(found) - 1

    def test_noise_of_the_searches(self, budget: Budget, constants: str, neighbors: str) -> None:
        """Half of ε on the threshold, half on the queries, which move by 1 (2¹⁶ steps of bias); the paper: twice that."""
        first = [] if constants == "program" else [FIRST]
        answers = [*first, MANY / 2, AT_ONCE, np.eye(3), MANY]
        _, curator = run(answers, 3, budget, neighbors=neighbors, constants=constants)
        whole = of_rho(budget)
        shares = SHARES[constants][1:] if constants == "program" else SHARES[constants][::2]
        for (question, law), share in zip(curator.searched, shares, strict=True):
            step = 1 if isinstance(question, Radius) else 2**16
            amount = whole.share(share)
            epsilon = amount.epsilon if isinstance(amount, PureDP) else math.sqrt(2 * amount.rho)
            assert float(law.threshold) == pytest.approx(2 * step / float(epsilon), rel=1e-9)
            assert law.query == law.threshold * (1 if constants == "tight" else 2)
            assert (2 * step / law.threshold) ** 2 <= (epsilon**2 if isinstance(amount, PureDP) else 2 * amount.rho)


class TestPath:
    def test_the_rows_are_those_of_the_threshold(self) -> None:
        """r̃ = 1/4; clipping costs from 1/32 on; so 1/16, in units of row_norm 5/4."""
        release, curator = run([FIRST, MANY / 2, LATER, 10 * rotated(0.5, 0.3, 0.1)], 3, row_norm=1.25, postprocess="none")
        trace, moment = release.take(Trace), release.take(SecondMoment)
        assert (radii(trace), radii(moment)) == ((1.25 / 4,), (1.25 / 16,))
        assert np.allclose(release.second_moment, rotated(0.5, 0.3, 0.1) * (1.25 / 16) ** 2 / 1000, rtol=0, atol=1e-9)
        bias = curator.searched[1][0]
        assert isinstance(bias, Bias)
        assert bias.first == 2

    def test_nothing_to_clip(self) -> None:
        release, _ = run([FIRST, MANY / 2, AT_ONCE, np.eye(3)], 3)
        assert release.clip_radius == 0.25

    def test_without_noise_it_clips_and_answers_the_clipped_rows(self) -> None:
        rows = skewed(3000, 3, 51) / 8
        for budget in BUDGETS:
            curator = quiet_curator(rows, budget)
            release = released(ADAPTIVE, curator, budget, postprocess="none")
            moment = release.take(SecondMoment)
            assert release.clip_radius in (1 / 8, 1 / 16, 1 / 32)
            exact = ArraySource(rows).total(curator.public.second_moment(release.clip_radius))
            assert np.array_equal(moment.integers, moment.law.settle(exact))


def closed_form(d: int, last: PureDP | ZCDP, neighbors: str) -> Noises:
    """Return the root mean squares of MATHS 3 and 4, in units of rows of norm 1: the whole noise, and its two halves."""
    two = 2 if neighbors == "replace" else 1
    steps = 2 if neighbors == "replace" else 1 + math.ceil(4 * (d + 2) / 2**7)  # lost in float64: of 2³⁰ rows under add-remove
    if isinstance(last, ZCDP):
        moment = last.rho * (1 if neighbors == "replace" else Fraction(2 * d + 1, 2 * d + 2))
        half = float(last.rho / 2)
        operator = 2 * math.sqrt(two / (4 * half) * (d + 1))
        return Noises(math.sqrt(d * (d + 1) / 2 * two / (2 * moment)), operator, math.sqrt(d * two / (2 * half)))
    moment = last.epsilon * (1 if neighbors == "replace" else 1 - Fraction(4, 5 * d + 8))
    half = float(last.epsilon / 2)
    operator = 3.3302 * (d + 1) * two / (2 * half)
    return Noises(
        (d + 1) * math.sqrt(2 * d) * two / 2 / float(moment), operator, math.sqrt(2 * d) * (two + d * steps / 2**16) / half
    )


class TestNoises:
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize("d", [2, 30])
    @pytest.mark.parametrize("budget", [ZCDP("0.01"), ZCDP(4), PureDP("0.1"), PureDP(3)], ids=str)
    def test_root_mean_squares(self, budget: PureDP | ZCDP, d: int, neighbors: str) -> None:
        """To 1 in 1000: an ε or a half that is forgotten is off by 1.4 at least."""
        public = scripted([], n=MANY, d=d, budget=budget, neighbors=neighbors).public
        found, expected = noises_of(public, budget, 0.05, "tight"), closed_form(d, budget, neighbors)
        for name in ("whole", "operator", "values"):
            assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-3), name

    @pytest.mark.parametrize("rho", ["0.01", "4"])
    def test_the_papers_bounds(self, rho: str) -> None:
        public = scripted([], n=MANY, d=30, budget=ZCDP(rho)).public
        found, root = noises_of(public, ZCDP(rho), 0.05, "paper"), math.sqrt(float(rho))
        assert found.whole == pytest.approx(omega(30, 0.05) / root)
        assert found.operator == pytest.approx(math.sqrt(2) * nu(30, 0.025) / root)
        assert found.values == pytest.approx(math.sqrt(2) * eta(30, 0.025) / root)
        assert found.eased == 1
        assert noises_of(public, ZCDP(rho), 0.05, "program") == replace(found, eased=EASED)

    @pytest.mark.parametrize("epsilon", ["0.5", "3"])
    @pytest.mark.parametrize("d", [1, 2, 30, 400])
    def test_the_programs_bounds_of_laplace_noise(self, d: int, epsilon: str) -> None:
        """They hold, and not by much more than what the norms of so much noise are."""
        public = scripted([], n=MANY, d=d, budget=PureDP(epsilon)).public
        beta = 0.075
        found = noises_of(public, PureDP(epsilon), beta, "program")
        assert found.eased == EASED_PURE == 14
        draw = np.random.default_rng(5100 + d)
        scale = math.sqrt(2) * d / float(epsilon)
        noise = draw.laplace(scale=scale, size=(20, d, d))
        noise = np.triu(noise) + np.swapaxes(np.triu(noise, 1), 1, 2)
        sizes = [
            (found.whole, np.linalg.norm(noise, axis=(1, 2))),
            (found.operator, 2 * np.linalg.norm(noise, 2, axis=(1, 2))),  # at half of ε
            (found.values, np.linalg.norm(draw.laplace(scale=4 / float(epsilon), size=(20, d)), axis=1)),
        ]
        for bound, seen in sizes:
            assert seen.max() < bound < 80 * seen.mean()

    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize("budget", BUDGETS[:2], ids=lambda budget: budget.notion)
    @pytest.mark.parametrize(("d", "trace"), [(3, 5000.0), (400, 50.0), (400, 600.0)])
    def test_what_the_search_weighs(self, budget: PureDP | ZCDP, d: int, trace: float, neighbors: str) -> None:
        """min(τ²·whole, 2τ·√(trace·operator) + τ²·values) in steps of 2⁻¹⁶, τ = 1, 1/2, …: τ for τ² is off from 1/2 on."""
        answers = [FIRST, trace, AT_ONCE, np.eye(d), np.ones(d), MANY]
        _, curator = run(answers, d, budget, neighbors=neighbors)
        bias = curator.searched[1][0]
        assert isinstance(bias, Bias)
        last, for_trace = budget.share(Fraction(3, 4)), budget.share(Fraction(1, 20))
        noises = closed_form(d, last, neighbors)
        if isinstance(for_trace, ZCDP):
            upper = trace + math.sqrt(-2 * math.log(0.05 / 8) / (2 * for_trace.rho))
        else:
            upper = trace - math.log(2 * 0.05 / 8) / float(for_trace.epsilon)
        for k in range(12):
            tau = 2.0**-k
            apart = 2 * tau * math.sqrt(upper * noises.operator) + tau**2 * noises.values
            expected = min(tau**2 * noises.whole, apart)
            assert bias.noises[k] == pytest.approx(expected * 2**16, rel=2e-3, abs=2)

    def test_both_terms_are_seen(self) -> None:
        """Otherwise the test above could be about one of them only."""
        noises = Noises(whole=300.0, operator=4.0, values=10.0, eased=2.0)
        assert [noises.additive(tau) for tau in (1.0, 0.5)] == [300.0, 75.0]
        assert noises.separate(100.0, 1.0) == 2 * 20 / 2 + 10
        assert noises.separate(100.0, 0.5) == 2 * 10 / 2 + 2.5


@pytest.mark.parametrize(("constants", "spare"), [("tight", 4 * math.log(160)), ("paper", 6 * math.log(320))])
def test_how_many_rows_may_lie_outside_the_radius(constants: str, spare: float) -> None:
    _, curator = run([FIRST, MANY / 2, AT_ONCE, np.eye(3), MANY], 3, PureDP(1), constants=constants)
    radius = curator.searched[0][0]
    assert isinstance(radius, Radius)
    assert radius.rows == math.ceil(spare / float(SHARES[constants][0]))


class TestProgram:
    """What its authors ran: PAPERS' "program"."""

    def test_the_noises_are_compared_where_the_search_stopped(self) -> None:
        """At τ̃/2, where `gaussian` is better than it is at τ̃; where the search stops at once, at τ̃ itself."""
        d, rho = 200, ZCDP("0.1")
        noises = noises_of(scripted([], n=MANY, d=d, budget=rho).public, rho.share(Fraction(3, 4)), 0.075, "program")
        upper = MANY / 2 + math.sqrt(-2 * math.log(0.1 / 8) / (2 * float(rho.rho) / 8))
        assert noises.separate(upper, 1.0) < noises.additive(1.0)
        assert noises.separate(upper, 0.5) > noises.additive(0.5)
        for counts, clip, last in ((bins(_1=MANY), 0.5, "second moment"), (bins(_0=MANY), 1.0, "second moment")):
            release, _ = run([MANY / 2, counts, np.eye(d)], d, rho, constants="program")
            assert (release.clip_radius, release.spent[-1].asked) == (clip, last)
        at_once = [-10 * MANY, bins(_0=MANY), np.eye(d), np.ones(d)]  # no trace: `separate` at any radius
        release, _ = run(at_once, d, rho, constants="program")
        assert release.spent[-1].asked == "spectrum"

    def test_its_beta(self) -> None:
        """0.1, with which the trace is bounded; no other."""
        for beta in (0.05, 0.1):
            _, curator = run([MANY / 2, AT_ONCE, np.eye(3)], 3, constants="program", beta=beta)
            [(bias, _)] = curator.searched
            assert isinstance(bias, Bias)
            public = scripted([], n=MANY, d=3, budget=ZCDP(1)).public
            noises = noises_of(public, ZCDP("0.75"), 0.075, "program")
            upper = MANY / 2 + math.sqrt(-2 * math.log(0.1 / 8) / (2 / 8))
            expected = min(noises.additive(0.5), noises.separate(upper, 0.5))
            assert bias.noises[1] == pytest.approx(expected * 2**16, abs=1)
        with pytest.raises(
            ParameterError, match=r"beta must be 0\.1 for the program's constants, got 0\.2\. Hint: leave it out"
        ):
            run([], 3, constants="program", beta=0.2)

    def test_as_printed_the_additive_noise_is_taken_up_to_a_thousand_columns(self) -> None:
        """Without the program's divisor: what the paper's figures cannot have been made with."""
        for constants, asked in (("paper", "second moment"), ("program", "spectrum")):
            first = [bins(_0=MANY)] if constants == "paper" else []
            answers = [*first, MANY, bins(_0=MANY), np.eye(800), np.ones(800)]
            release, _ = run(answers, 800, ZCDP("0.1"), constants=constants)
            assert release.spent[-1].asked == asked
