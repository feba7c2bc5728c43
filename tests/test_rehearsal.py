"""Every run is rehearsed before anything is spent: a budget is refused whole or served whole, and nobody notices otherwise."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.errors import BudgetError, DpcovError
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.face import Face
from dpcov.kernel.questions.calibrated import noise_for
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import ALL
from dpcov.mechanisms.base import Mechanism, Named
from dpcov.mechanisms.rehearsing import Still, Zeros
from dpcov.mechanisms.running import planned, released
from dpcov.mechanisms.shared import shares
from dpcov.mechanisms.standardized import covariance as standardized
from dpcov.release.estimate import Estimate
from dpcov.release.record import Release, Transcript
from dpcov.sources.array import ArraySource
from dpcov.sources.opening import open_source
from dpcov.verify.testing import opened
from tests.helpers.by_hand import by_hand
from tests.helpers.small import untouched

ROWS = np.random.default_rng(77).uniform(-0.3, 0.3, (60, 4))
NEEDED: dict[str, dict[str, Any]] = {"pca": {"k": 2}, "ridge": {"target": 0, "alpha": 0.5}}
SCHEMA = dpcov.Schema({f"x{j}": dpcov.Numeric(-0.3, 0.3) for j in range(4)})


def budgets(named: Named, exponent: float) -> list[Budget]:
    """Return a budget of each notion that is served."""
    some: list[Budget] = [PureDP(float(10**exponent)), ZCDP(float(100**exponent)), ApproxDP(float(10**exponent), 1e-12)]
    return [budget for budget in some if type(budget) in named.serves]


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("named", ALL, ids=lambda named: f"{named.target} {named.name}")
def test_a_budget_is_refused_whole_or_served_whole(named: Named, neighbors: str) -> None:
    """From budgets that are too small for everything to some that are not: never after a charge."""
    if neighbors not in named.neighbors:
        return
    options = NEEDED.get(named.target, {}) | ({"sweeps": 3} if "sweeps" in named.options else {})
    described = named.bound == "schema"
    source = open_source(ROWS, None, SCHEMA, True) if described else ArraySource(ROWS)
    rows = Encoding(tuple(SCHEMA.feature_names), 1.0, constant=True, midpoints=True, schema=SCHEMA) if described else Grid(1.0)
    for exponent in np.arange(-10.5, -4, 0.5):
        for budget in budgets(named, float(exponent)):
            curator = opened(source, rows, budget, neighbors, SeededBits(0))
            try:
                released(named, curator, budget, **options)
            except DpcovError:
                assert untouched(curator)


LEAST: dict[tuple[str, str], list[tuple[Budget, dict[str, Any]]]] = {
    ("covariance", "adaptive"): [(PureDP(float(10**-5.89)), {})],
    ("covariance", "coinpress"): [(ZCDP(float(10**-11.5)), {})],
    ("mean", "coinpress"): [(PureDP("1e-10"), {}), (PureDP("1e-9"), {"covariance": 1.0})],
    ("pca", "screened"): [(PureDP("1e-6"), {"k": 2})],
}
"""Budgets that are enough for what is rehearsed, and not for what other answers could lead to."""


@pytest.mark.parametrize(("target", "name"), LEAST)
def test_what_depends_on_answers_is_refused_at_its_least_share(target: str, name: str) -> None:
    """Under add-remove, where n is an answer. The control: without the declaration the run goes on, and may spend."""
    rows, mechanism = np.random.default_rng(78).uniform(-0.2, 0.2, (60, 16)), dpcov.MECHANISMS[target][name]
    assert isinstance(mechanism, Mechanism)
    alone = dataclasses.replace(mechanism, name="alone", least=None)
    for budget, options in LEAST[target, name]:
        curator = opened(ArraySource(rows), Grid(1.0), budget, "add-remove", SeededBits(0))
        with pytest.raises(dpcov.ParameterError, match="Hint: spend more"):
            released(mechanism, curator, budget, **options)
        assert untouched(curator)
        with pytest.raises(dpcov.ParameterError, match="Hint: spend more"):  # nor does a dry run say that it would be served
            planned(mechanism, curator.public, budget, **options)
        curator = opened(ArraySource(rows), Grid(1.0), budget, "add-remove", SeededBits(0))
        with contextlib.suppress(DpcovError):
            released(alone, curator, budget, **options)
        assert not untouched(curator)


def test_every_declaration_of_a_least_share_is_tried() -> None:
    declared = {(one.target, one.name) for one in ALL if isinstance(one, Mechanism) and one.least is not None}
    assert declared == set(LEAST)


def test_a_budget_too_small_for_private_units_still_buys_a_matrix() -> None:
    """The smallest budget that a table is served with, to a thousandth: it goes to the encoded rows as a whole."""
    said: dict[str, Any] = {"schema": SCHEMA, "mechanism": "standardized", "neighbors": "add-remove"}
    refused, served = -9.0, 0.0
    while served - refused > 0.0004:
        exponent = (refused + served) / 2
        try:
            dpcov.rehearse("covariance", ROWS, PureDP(float(10**exponent)), **said)
            served = exponent
        except DpcovError:
            refused = exponent
    found = dpcov.rehearse("covariance", ROWS, PureDP(float(10**served)), **said)
    assert [spend.asked for spend in found.spent] == ["radius", "second moment"]


def test_digits_leave_room_for_shares_of_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    long = Fraction(1, 2**2990 + 1)
    for budget in (PureDP(long), ZCDP(long)):
        with pytest.raises(dpcov.ParameterError, match="have at most 900 digits"):
            shares.check_room(budget)
    shares.check_room(PureDP(Fraction(1, 2**2900 + 1)))

    def refuse(budget: Budget) -> None:
        raise dpcov.ParameterError(f"room must be left, got {budget!r}. Hint: shorter fractions.")

    monkeypatch.setattr(standardized, "check_room", refuse)
    with pytest.raises(dpcov.ParameterError, match="room must be left"):
        dpcov.covariance(ROWS, PureDP(3), schema=SCHEMA, mechanism="standardized")


def ask_too_much(curator: Face, budget: Budget) -> None:
    moment = curator.second_moment()
    curator.prefetch(moment)
    curator.noisy(moment, budget.share("3/4"), noise=noise_for(budget))
    curator.noisy(moment, budget.share("3/4"), noise=noise_for(budget))


def ignore(transcript: Transcript, postprocess: str) -> Estimate:  # noqa: ARG001 - the signature
    return Estimate(covariance=np.zeros((transcript.encoding.d, transcript.encoding.d)))


GREEDY = Mechanism(target="covariance", name="greedy", serves=(PureDP, ZCDP), ask=ask_too_much, estimate=ignore)


def test_a_mechanism_that_asks_for_too_much_spends_nothing() -> None:
    curator = opened(ArraySource(ROWS), Grid(1.0), PureDP(1), "replace", SeededBits(0))
    with pytest.raises(BudgetError, match="charges must fit into the budget"):
        released(GREEDY, curator, PureDP(1))
    assert untouched(curator)


@pytest.mark.parametrize("how", ["by prefetching", "by n"])
def test_a_number_of_rows_that_a_file_tells_late_is_rehearsed_with(tmp_path: Path, how: str) -> None:
    """What is served for many rows is refused for few: after the reading that tells, and before anything is spent."""

    def ask(curator: Face, budget: Budget) -> None:
        moment = curator.second_moment()
        if how == "by prefetching":
            curator.prefetch(moment)
        part = "1/2" if curator.n > 100 else "3/4"
        curator.noisy(moment, budget.share(part), noise=noise_for(budget))
        curator.noisy(moment, budget.share(part), noise=noise_for(budget))

    mechanism = dataclasses.replace(GREEDY, ask=ask)
    for count, served in ((60, False), (120, True)):
        path = tmp_path / f"{count}.csv"
        lines = [",".join(map(str, row)) for row in np.tile(ROWS, (2, 1))[:count]]
        path.write_text("\n".join(["a,b,c,d", *lines]), encoding="utf-8")
        curator = opened(open_source(path), Grid(1.0), PureDP(1), "replace", SeededBits(0))
        assert not curator.public.knows_n
        if served:
            assert len(released(mechanism, curator, PureDP(1)).answers) == 2
        else:
            with pytest.raises(BudgetError, match="charges must fit into the budget"):
                released(mechanism, curator, PureDP(1))
            assert untouched(curator)


def test_what_cannot_be_computed_with_zeros_is_not_refused() -> None:
    """A stranger's step that fails on zeros, and not on what is answered."""

    def ask(curator: Face, budget: Budget) -> None:
        first, second = budget.split("1/2", "1/2")
        answer = curator.noisy(curator.second_moment(), first, noise=noise_for(budget))
        if answer.matrix[0, 0] == 0:
            raise ZeroDivisionError
        curator.noisy(curator.second_moment(), second, noise=noise_for(budget))

    release = dpcov.covariance(ROWS, PureDP(1), row_norm=1, mechanism=dataclasses.replace(GREEDY, ask=ask), seed=0)
    assert len(release.spent) == 2


def run(ask: Callable[..., Any], **options: Any) -> Release:
    """Release with a mechanism that asks so."""
    return dpcov.covariance(ROWS, PureDP(1), row_norm=1, mechanism=by_hand(ask), seed=0, **options)


def test_a_mechanism_that_catches_errors_is_rehearsed_as_it_runs() -> None:
    """A rehearsal ends where all is spent: that is no error, and what a mechanism does about errors is not what it would do."""

    def ask(curator: Face, budget: Budget) -> None:
        try:
            curator.noisy(curator.second_moment(), budget, noise="laplace")
        except Exception:
            raise dpcov.ParameterError("noise must be drawn, got an error. Hint: none.") from None

    assert len(run(ask).answers) == 1


def test_charges_of_more_digits_together_than_a_budget_has_are_served() -> None:
    """Five parts whose sum has 1400 digits: a curator adds them up, and a rehearsal must not refuse what it serves."""

    def ask(curator: Face, budget: Budget) -> None:  # noqa: ARG001 - the signature
        for more in range(5):
            part = PureDP(Fraction(10**279, 10**280 + 2 * more + 1))
            curator.noisy(curator.second_moment(), part, noise="laplace")

    assert len(run(ask).answers) == 5


class TestListsAmongOptions:
    def test_what_a_rehearsal_takes_out_of_them_is_there_in_the_run(self) -> None:
        def ask(curator: Face, budget: Budget, *, parts: Any) -> None:
            while parts:
                curator.noisy(curator.second_moment(), budget.share(parts.pop()), noise="laplace")

        release = run(ask, parts=[0.25, 0.75])
        assert [spend.budget for spend in release.spent] == [PureDP("3/4"), PureDP("1/4")]
        assert release.options["parts"] == [0.25, 0.75]

    def test_also_after_the_reading_that_tells_how_many_rows_there_are(self, tmp_path: Path) -> None:
        """Which is in the middle of the run: the second rehearsal has what the first one had."""
        seen: list[Any] = []

        def ask(curator: Face, budget: Budget, *, parts: Any) -> None:
            seen.append(list(parts))
            part = parts.pop()
            curator.prefetch(curator.second_moment())
            curator.noisy(curator.second_moment(), budget.share(part), noise="laplace")

        path = tmp_path / "rows.csv"
        path.write_text("\n".join(["a,b,c,d", *(",".join(map(str, row)) for row in ROWS)]), encoding="utf-8")
        curator = opened(open_source(path), Grid(1.0), PureDP(1), "replace", SeededBits(0))
        released(by_hand(ask), curator, PureDP(1), parts=[0.5])
        assert seen == [[0.5]] * 3


def test_a_rehearsal_reads_and_draws_nothing() -> None:
    """Its sums are zeros and its sampler is still: neither has rows or bits."""
    public = opened(ArraySource(ROWS), Grid(1.0), PureDP(1), "replace", SeededBits(0)).public
    sums = Zeros(public)
    assert not sums.read(public.second_moment()).any()
    assert vars(sums) == {"public": public}
    assert not hasattr(Still(), "_bits")


class TestRehearsal:
    def test_what_it_says(self) -> None:
        found = dpcov.rehearse("covariance", ROWS, ZCDP("0.5"), row_norm=2, mechanism="gaussian")
        run = dpcov.covariance(ROWS, ZCDP("0.5"), row_norm=2, mechanism="gaussian", seed=0)
        assert found.expected_error == run.expected_error
        assert found.unknown_because is None
        assert found.expected_error_times_n == pytest.approx(run.expected_error * 60, rel=1e-15)
        assert (found.n, found.d, found.center, found.matrix_bytes) == (60, 4, False, 8 * 16)
        assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["asked"][0]["asked"] == "second moment"
        assert repr(found) == "Rehearsal(covariance by gaussian, postprocess shrink: second moment for ZCDP(rho=0.5))"

    def test_a_private_n_is_not_told(self) -> None:
        found = dpcov.rehearse("covariance", ROWS, ZCDP("0.5"), row_norm=2, mechanism="gaussian", neighbors="add-remove")
        assert (found.n, found.expected_error) == (None, None)
        assert found.expected_error_times_n is not None
        assert "60" not in json.dumps(found.to_dict())

    @pytest.mark.parametrize(
        ("target", "said", "why"),
        [
            ("covariance", {"schema": SCHEMA}, "the columns' private units"),
            ("mean", {"radius": 10}, "what the rounds find"),
            ("pca", {"row_norm": 1, "k": 1}, "the gaps of the spectrum"),
            ("covariance", {"row_norm": 1, "mechanism": "eigenvectors"}, "drawn directions"),
            ("covariance", {"row_norm": 1}, "nothing would be asked"),
        ],
    )
    def test_why_an_error_is_not_known(self, target: str, said: dict[str, Any], why: str) -> None:
        rows = ROWS if target != "covariance" or "schema" not in said else np.tile(ROWS, (1000, 1))
        budget = ZCDP("0.0001") if why.startswith("nothing") else ZCDP("0.5")
        found = dpcov.rehearse(target, rows, budget, **said)
        assert (found.expected_error, found.expected_error_times_n) == (None, None)
        assert found.unknown_because is not None
        assert why in found.unknown_because

    def test_whether_it_depends_on_answers(self) -> None:
        rows = np.tile(ROWS, (100, 1))
        private = {"mechanism": "gaussian", "clip": "private"}
        for said, depends in (({"mechanism": "gaussian"}, False), (private, True), ({}, True)):
            assert dpcov.rehearse("covariance", rows, ZCDP("0.5"), row_norm=1, **said).depends_on_answers is depends

    def test_arguments_that_the_function_does_not_take(self) -> None:
        with pytest.raises(dpcov.ParameterError, match=r"arguments must be those of dpcov\.pca: .*'k'"):
            dpcov.rehearse("pca", ROWS, ZCDP(1), row_norm=1)
        with pytest.raises(dpcov.ParameterError, match=r"target must be one of .* Hint: did you mean 'covariance'"):
            dpcov.rehearse("covarience", ROWS, ZCDP(1), row_norm=1)


class TestPlan:
    def test_it_is_what_a_release_expects(self) -> None:
        found = dpcov.plan("covariance", PureDP(1), n=60, d=4)
        assert [one.expected_error for one in found.predictions] == sorted(found.to_dict().values())  # type: ignore[type-var]
        for one in found.predictions:
            release = dpcov.covariance(ROWS, PureDP(1), row_norm=1, mechanism=one.mechanism, seed=0)
            assert one.expected_error == pytest.approx(release.expected_error, rel=1e-12)
            assert one.spent == release.spent

    def test_mechanisms_that_are_named(self) -> None:
        found = dpcov.plan("covariance", ZCDP(1), n=60, d=4, mechanism=["eigenvectors", "gaussian"])
        assert [one.mechanism for one in found.predictions] == ["gaussian", "eigenvectors"]
        assert (
            found.best.expected_error
            == dpcov.rehearse("covariance", ROWS, ZCDP(1), row_norm=1, mechanism="gaussian").expected_error
        )
        assert found.predictions[1].unknown_because is not None

    def test_of_a_schema_and_other_targets(self) -> None:
        assert dpcov.plan("covariance", ZCDP(1), n=60, schema=SCHEMA, center=True).d == 4
        assert dpcov.plan("mean", ZCDP(1), n=60, d=4, mechanism="clipped").best.expected_error is not None
        assert dpcov.plan("pca", ZCDP(1), n=60, d=4, k=2).best.unknown_because is not None
        assert dpcov.plan("ridge", ZCDP(1), n=60, d=4, target="x0", alpha=1.0).best.spent

    def test_refusals(self) -> None:
        for said, words in (({}, "got neither"), ({"d": 4, "schema": SCHEMA}, "got both"), ({"d": 0}, "d must be an integer")):
            with pytest.raises(dpcov.ParameterError, match=words):
                dpcov.plan("covariance", ZCDP(1), n=60, **said)

    def test_rows_for_components(self) -> None:
        found = dpcov.plan_pca(100, 0.1, 0.1, correlation=0.999)
        assert found.needed_by_any is not None
        assert found.needed_by_any < found.enough < found.enough_for_release < found.enough_as_printed
        assert dpcov.plan_pca(100, 0.1, 0.1).needed_by_any is None
        assert found.to_dict()["enough"] == found.enough
        with pytest.raises(dpcov.ParameterError, match="d must be an integer from 2"):
            dpcov.plan_pca(1, 0.1, 0.1)
