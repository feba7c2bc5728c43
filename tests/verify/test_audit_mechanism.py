"""`audit_mechanism`: what is right passes, what is wrong is found, each kind of wrong by the evidence that is made for it.

All audits are seeded, so that nothing here is left to chance. Seeds apart, what is right would be accused with probability
1e-6 for each audit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpcov.errors import ParameterError
from dpcov.kernel import curator as curator_module
from dpcov.kernel.account import Account
from dpcov.kernel.bits import Bits, SeededBits
from dpcov.kernel.budget import ZCDP, Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.face import Face
from dpcov.kernel.noise.laws import DiscreteGaussian, DiscreteLaplace, NoiseLaw
from dpcov.kernel.noise.matrix import FrobeniusNoise, WishartDifference
from dpcov.kernel.noise.sampler import RandomSampler
from dpcov.kernel.questions import calibrated as calibrated_module
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.schema import Categorical, Numeric, Schema
from dpcov.sources.array import ArraySource
from dpcov.verify import noise_check
from dpcov.verify.audit import Audit, audit_mechanism
from dpcov.verify.likelihood import log_ratio
from dpcov.verify.neighbours import Dice, Numbers, Records, any_pair, changed_pair, pair_of
from dpcov.verify.noise_check import check_noise, laplace_sizes
from dpcov.verify.recording import PrivacyViolationError
from dpcov.verify.replay import rerun
from tests.helpers.by_hand import by_hand
from tests.helpers.peeking import sums_behind

Change = Callable[[pytest.MonkeyPatch], None]
SCHEMA = Schema({"age": Numeric(17, 90), "gone": Numeric(0, 1, nullable=True), "sex": Categorical(["F", "M"])})
FEW: dict[str, Any] = {"seed": 5, "pairs": 40, "trials": 0, "draws": 0}


def audited(name: Any = "gaussian", budget: Budget = ZCDP("0.5"), **settings: Any) -> Audit:  # noqa: B008 - it is frozen
    return audit_mechanism(name, budget, **FEW | settings)


CASES: dict[str, tuple[str, str, Budget, dict[str, Any]]] = {
    "covariance": ("covariance", "gaussian", ZCDP("0.5"), {"trials": 100, "draws": 5000}),
    "drawn directions": ("covariance", "eigenvectors", PureDP(1), {"trials": 20, "draws": 5000}),
    "choices, rounded noise": ("covariance", "adaptive", PureDP(1), {"trials": 20, "draws": 2000}),
    "a mean": ("mean", "coinpress", ZCDP("0.5"), {"neighbors": "replace"}),
    "components": ("pca", "ppca", PureDP(1), {"options": {"k": 1}, "trials": 20}),
    "a regression": (
        "ridge",
        "output-perturbation",
        PureDP(1),
        {"options": {"target": 0, "alpha": 0.1}, "neighbors": "replace"},
    ),
    "a table": ("covariance", "auto", PureDP(20), {"schema": SCHEMA, "pairs": 6}),
    "a table, centred": ("covariance", "gaussian", ZCDP("0.5"), {"schema": SCHEMA, "trials": 20}),
}


@pytest.mark.parametrize("case", CASES)
def test_what_is_right_is_not_refuted(case: str) -> None:
    target, name, budget, settings = CASES[case]
    found = audited(name, budget, target=target, **{"neighbors": "add-remove", **settings})
    assert not found.refuted, found.violations
    assert found.pairs == settings.get("pairs", 40)
    assert found.prices
    assert found.dearest <= 1 + 1e-9
    assert "not refuted" in repr(found)


def test_the_search_finds_what_costs_most() -> None:
    """So that noise which is 0.1 % too small for its price would be found; 1 % of laplace noise, whose worst rows are rare."""
    for name, budget in (
        ("gaussian", ZCDP("0.5")),
        ("laplace", PureDP(1)),
        ("wishart", PureDP(1)),
        ("eigenvectors", PureDP(1)),
    ):
        for neighbors in ("replace", "add-remove"):
            found = audited(name, budget, neighbors=neighbors, pairs=150)
            assert all(worst.share > (0.99 if name == "laplace" else 0.999) for worst in found.prices), (
                name,
                neighbors,
                found.prices,
            )


# What is wrong: five of the kernel, then of mechanisms.


def times(factor: Fraction) -> Change:
    """Draw less noise than is recorded."""

    def change(monkeypatch: pytest.MonkeyPatch) -> None:
        right = RandomSampler._draw

        def short(self: RandomSampler, question: Any, law: NoiseLaw) -> Any:
            return right(self, question, law) * factor.numerator // factor.denominator

        monkeypatch.setattr(RandomSampler, "_draw", short)

    return change


def same_noise_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is drawn for one answer is taken for the next one, too."""
    right = RandomSampler._draw
    kept: list[Any] = []

    def again(self: RandomSampler, question: Any, law: NoiseLaw) -> Any:
        drawn = right(self, question, law)
        if kept and len(kept[0]) == len(drawn):
            return kept.pop()
        kept[:] = [drawn]
        return drawn

    monkeypatch.setattr(RandomSampler, "_draw", again)


def one_noise_for_all_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies along each direction is answered with the noise of the first."""

    def later(self: RandomSampler, question: Any, law: NoiseLaw) -> Callable[[int, int], int]:
        noise = self._draw(question, law)
        return lambda place, exact: exact + int(noise[0])  # noqa: ARG005

    monkeypatch.setattr(RandomSampler, "noisy_later", later)


def uncharged(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second question is free."""
    right = Account.charge
    monkeypatch.setattr(Account, "charge", lambda self, *charges: None if self.answers else right(self, *charges))
    monkeypatch.setattr(Account, "refuse_beyond", lambda *_: None)
    monkeypatch.setattr("dpcov.mechanisms.running.check_made", lambda _: None)


def of_the_other_relation(neighbors: str) -> Change:
    """Noise for the wrong neighbours."""

    def change(monkeypatch: pytest.MonkeyPatch) -> None:
        right = calibrated_module.calibrated

        def wrong(question: Any, budget: Budget, _: str, noise: str, floor: Any = None) -> NoiseLaw:
            return right(question, budget, neighbors, noise, floor)

        monkeypatch.setattr(curator_module, "calibrated", wrong)

    return change


def half_a_sensitivity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under add-remove a row counts as if it were half as long."""
    right = SecondMoment.sensitivity_l1
    monkeypatch.setattr(
        SecondMoment,
        "sensitivity_l1",
        lambda self, neighbors: right(self, neighbors) / (2 if neighbors == "add-remove" else 1),
    )


def twice(face: Face, budget: Any) -> None:
    """Two moments, for a budget that pays for both."""
    for _ in range(2):
        face.noisy(face.second_moment(), budget.share(Fraction(1, 2)), noise="laplace")


def thrice_for_two(face: Face, budget: Any) -> None:
    """A question more than the budget pays for."""
    for _ in range(3):
        face.noisy(face.second_moment(), budget.share(Fraction(1, 2)), noise="laplace")


WRONG: dict[str, tuple[Change, Any, dict[str, Any], str]] = {
    "95 % of the noise": (times(Fraction(19, 20)), "laplace", {"draws": 100_000, "width": 12}, "noise must follow its law"),
    "a quarter of the noise": (times(Fraction(1, 4)), "laplace", {"trials": 400, "width": 1}, "epsilon must be at least "),
    "the same noise twice": (same_noise_twice, by_hand(twice), {}, "noise of its own, got the same noise twice in 40 runs"),
    "one noise for all values": (one_noise_for_all_values, "eigenvectors", {}, "got the same noise twice in 40 runs"),
    "a question for nothing": (uncharged, by_hand(thrice_for_two), {}, "must cost no more than the budget together"),
    "replace as add-remove": (of_the_other_relation("add-remove"), "laplace", {}, "the second moment must cost no more than"),
    "half a sensitivity": (half_a_sensitivity, "laplace", {"neighbors": "add-remove"}, "got 2 times as much"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_in_the_kernel_is_found(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them by the evidence that is named, and the same audit of right code finds nothing."""
    change, mechanism, settings, said = WRONG[wrong]
    if wrong != "a question for nothing":  # which right code refuses to answer
        assert not audited(mechanism, PureDP(1), **settings).refuted
    change(monkeypatch)
    found = audited(mechanism, PureDP(1), **settings)
    assert found.refuted
    assert any(said in violation for violation in found.violations), found.violations
    assert "REFUTED" in repr(found)


def in_its_notes(face: Face, budget: Any) -> dict[str, int]:
    face.ask_n(budget.share(Fraction(1, 2)))
    face.noisy(face.second_moment(), budget.share(Fraction(1, 2)), noise="laplace")
    return {"rows": sums_behind(face).n}


def by_the_rows(face: Face, budget: Any) -> None:
    face.ask_n(budget.share(Fraction(1, 2)))
    share = Fraction(1, 2) if sums_behind(face).n > 3 else Fraction(1, 4)
    face.noisy(face.second_moment(), budget.share(share), noise="laplace")


def in_an_error(face: Face, budget: Any) -> None:
    face.ask_n(budget.share(Fraction(1, 2)))
    face.noisy(face.second_moment(), budget.share(Fraction(1, 2)), noise="laplace")
    if sums_behind(face).n == 3:
        raise ValueError("no three")


@pytest.mark.parametrize(
    ("ask", "said"),
    [(in_its_notes, "the same file"), (by_the_rows, "the same questions"), (in_an_error, "an error for one of them")],
    ids=["in its notes", "by what it asks", "by failing"],
)
def test_a_mechanism_that_reads_n_privately_is_found(ask: Callable[..., Any], said: str) -> None:
    found = audited(by_hand(ask), PureDP(1), neighbors="add-remove", pairs=200)
    assert found.refuted
    assert said in found.violations[0]


def test_a_mechanism_that_fails_alike_says_nothing_of_a_row() -> None:
    def failing(face: Face, budget: Any) -> None:
        noisy = face.noisy(face.second_moment(), budget, noise="laplace")
        if noisy.integers[0] % 2:
            raise ValueError("an odd answer")

    found = audited(by_hand(failing), PureDP(1))
    assert 5 < found.refused < 35
    assert not found.refuted


def test_both_ways_of_an_error_for_one_neighbour() -> None:
    """Where the recorded run fails, and where the replayed one does."""
    rows = np.eye(3)
    for one, other in ((rows, rows[:-1]), (rows[:-1], rows)):
        with pytest.raises(PrivacyViolationError, match="an error for one of them"):
            rerun(by_hand(in_an_error), one, other, Grid(1.0), PureDP(1), "add-remove", {}, SeededBits(1))


def test_a_draw_that_no_answer_was_charged_for_is_found() -> None:
    def hidden(face: Face, budget: Any) -> None:
        face.noisy(face.second_moment(), budget, noise="laplace")
        curator: Curator = face._pass_on.__closure__[0].cell_contents["noisy"].__self__  # type: ignore[index]
        answer = curator.answers[0]
        curator._sampler.noisy(answer.question, answer.law, np.zeros_like(answer.integers))  # type: ignore[arg-type]

    found = audited(by_hand(hidden), PureDP(1))
    assert found.violations == ("all that is drawn must be in the release and charged, got a draw that is not",)


# The parts.


@pytest.mark.parametrize("name", ["laplace", "separate", "adaptive", "auto", "kapralov-talwar"])
def test_a_log_ratio_is_no_larger_than_the_price(name: str) -> None:
    """Under pure DP the price bounds the log-ratio of any answer; of directions and matrices constants are left out of both."""
    dice, kind = Dice(SeededBits(9)), Numbers(2)
    seen = 0.0
    for number in range(60):
        tables = any_pair(kind, "replace", dice).tables()
        first, second = (ArraySource(kind.data(rows)) for rows in tables)
        mechanism = MECHANISMS["covariance"][name]
        made = rerun(mechanism, first, second, Grid(1.0), PureDP(2), "replace", {}, SeededBits(number))
        found, price = log_ratio(made.both), math.fsum(float(step.cost) for step in made.steps)
        assert abs(found) <= price * (1 + 1e-6) + 1e-6, (name, number, found, price)
        seen = max(seen, abs(found))
    assert seen > 0.5


LAWS: dict[str, tuple[NoiseLaw, int, int]] = {
    "laplace": (DiscreteLaplace(Fraction(2**33)), 20, 100_000),
    "a few steps of laplace": (DiscreteLaplace(Fraction(7, 3)), 20, 100_000),
    "gaussian": (DiscreteGaussian((("diagonal", Fraction(4**30)), ("above the diagonal", Fraction(4**30) / 2))), 20, 100_000),
    "a few steps of gaussian": (DiscreteGaussian((("diagonal", Fraction(5)), ("above", Fraction(3)))), 20, 100_000),
    "wishart": (WishartDifference(2, Fraction(2**32), 30, Fraction(0), Fraction(0)), 2, 10_000),
    "frobenius": (FrobeniusNoise(6, Fraction(2**32), 30, Fraction(0), Fraction(0)), 6, 5000),
}


class Short:
    """A sampler of nine tenths of the noise."""

    def __init__(self, bits: Bits) -> None:
        self._inner = RandomSampler(bits)

    def noisy(self, question: Any, law: NoiseLaw, exact: Any) -> Any:
        noise = self._inner.noisy(question, law, np.zeros_like(exact))
        return law.settle(exact + np.rint(noise * 0.9).astype(np.int64))


@pytest.mark.parametrize("name", LAWS)
def test_noise_is_held_against_its_law(name: str) -> None:
    """Size 1e-6. Power: nine tenths of it are found, but of a few steps, which rounding restores; 95 % below, in an audit."""
    law, d, most = LAWS[name]
    question = SecondMoment(Grid(1.0), d)
    right = check_noise(question, law, RandomSampler(SeededBits(3)), SeededBits(4), 1e-6, most)
    assert not right.wrong
    short = check_noise(question, law, Short(SeededBits(3)), SeededBits(4), 1e-6, most)  # type: ignore[arg-type]
    assert short.wrong or "a few" in name
    assert short.distance > right.distance


def test_the_sizes_of_laplace_noise_add_up() -> None:
    numbers = np.arange(-1, 400)
    ratio = math.exp(-3 / 7)
    chances = (1 - ratio) / (1 + ratio) * ratio ** numbers[1:] * np.where(numbers[1:] == 0, 1, 2)
    assert np.allclose(laplace_sizes(7 / 3, numbers.astype(float)), np.concatenate([[0.0], np.cumsum(chances)]))


def test_what_chance_does_is_allowed() -> None:
    """P(more events than are allowed) is below alpha: so it is of as many independent ones as there are runs."""
    assert noise_check._most_by_chance([0.0] * 9, 1e-6) == 0
    assert noise_check._most_by_chance([1e-9] * 200, 1e-6) == 0
    assert noise_check._most_by_chance([1e-5] * 200, 1e-6) == 2
    assert noise_check._most_by_chance([1.0] * 3, 1e-6) > 3


# Neighbours that somebody chose, and those that are searched.

E1, E2 = [1.0, 0.0], [0.0, 1.0]


def test_chosen_neighbours() -> None:
    found = audited(pairs=[(np.array([E1, E1]), np.array([E1, E2])), (np.array([E2]), np.array([E1]))])
    assert (found.pairs, found.refuted) == (2, False)
    assert found.prices[0].share == 1
    table = pa.table({"age": [20, 30], "gone": [None, 0.5], "sex": ["F", "M"]})
    assert audited(pairs=[(table, table.slice(1))], schema=SCHEMA, neighbors="add-remove").pairs == 1
    assert audited(pairs=[(table.slice(1), table)], schema=SCHEMA, neighbors="add-remove").pairs == 1


@pytest.mark.parametrize(
    ("one", "other", "neighbors"),
    [
        ([E1], [E1], "replace"),
        ([E1, E1], [E2, E2], "replace"),
        ([E1], [E1, E2], "replace"),
        ([E1], [E2], "add-remove"),
        ([E1], [E1], "add-remove"),
    ],
)
def test_tables_that_are_no_neighbours_are_refused(one: Sequence[Any], other: Sequence[Any], neighbors: str) -> None:
    with pytest.raises(ParameterError, match=r"pairs must be tables that differ in one row.*, got others. Hint: neighbors="):
        audited(pairs=[(np.array(one), np.array(other))], neighbors=neighbors)


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("kind", [Numbers(3), Records(SCHEMA)], ids=["numbers", "records"])
def test_searched_tables_are_neighbours(kind: Any, neighbors: str) -> None:
    """However often a pair is changed; and they hold what is dangerous."""
    dice = Dice(SeededBits(11))
    cells: set[str] = set()
    sizes: set[int] = set()
    pair = any_pair(kind, neighbors, dice)
    for number in range(300):
        pair = changed_pair(kind, pair, dice) if number % 7 else any_pair(kind, neighbors, dice)
        first, second = pair.tables()
        sizes.add(len(first))
        assert len(second) == len(first) - (neighbors == "add-remove")
        assert kind.data(second) is not None
        cells |= {repr(cell) for row in (*first, *second) for cell in row}
        if repr(pair.row) != repr(pair.other):
            assert pair_of(first, second, neighbors).row == pair.row or repr(pair.row).count("nan")
    assert {1, 2, 45} <= sizes
    assert {"nan", "inf", "-inf", "1e+308"} <= cells
    assert isinstance(kind, Numbers) or {"None", "'no such level'", "'F'", "17.0", "90.0", "163.0"} <= cells


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"pairs": 0}, "pairs must be a whole number"),
        ({"trials": -1}, "trials must be a whole number"),
        ({"draws": 1.5}, "draws must be a whole number"),
        ({"width": 0}, "width must be a whole number"),
        ({"alpha": 0.6}, "alpha must be above 0"),
        ({"seconds": 0}, "seconds must be positive"),
        ({"target": "median"}, "target must be one of"),
        ({"options": {"clip": 7}}, "clip must be"),
        ({"options": {"clap": 7}}, "options of 'gaussian' must be among"),
        ({"pairs": [(np.eye(3), np.eye(3))]}, "pairs must be arrays of 2 columns"),
        ({"pairs": [({"age": [1]}, {"age": [1]})], "schema": SCHEMA}, "pairs must be tables with the columns"),
    ],
)
def test_bad_parameters(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        audited(**settings)


def test_a_limit_of_time_ends_an_audit() -> None:
    """At least one pair is tried; how many more is the machine's."""
    found = audited(pairs=10**6, trials=10**6, draws=10**6, seconds=0.5, seed=None)
    assert 1 <= found.pairs < 10**6
    assert found.trials < 10**6
    assert not found.refuted
    assert not found.seeded


def test_without_a_seed_no_audit_repeats() -> None:
    once, again = (audited(seed=None, pairs=3, draws=300).noise[0].distance for _ in range(2))
    assert once != again


def test_an_audit_repeats_and_reports_progress() -> None:
    fractions: list[float | None] = []
    once, again = (audited(trials=20, draws=100, progress=fractions.append) for _ in range(2))
    assert once == again
    assert 0 <= min(filter(None, fractions)) <= max(filter(None, fractions)) <= 1
    assert once.to_frame().shape == (1, 2)
    assert "not refuted" in once._repr_html_()
