"""Budgets that promise next to nothing are refused before anything is spent, unless it is said that this is meant."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pytest

import dpcov
from dpcov.errors import ParameterError
from dpcov.kernel.account import Account
from dpcov.kernel.budget import Budget
from dpcov.request import request
from dpcov.sources.array import ArraySource
from tests.cli.shell import assert_refused, call
from tests.helpers.untouchable import Untouchable

ROWS = np.random.default_rng(3).uniform(-0.5, 0.5, (100, 3))
WEAK: list[Budget] = [dpcov.PureDP("20.001"), dpcov.ZCDP("5.001"), dpcov.ApproxDP("20.001", "1e-9")]
STRONG: list[Budget] = [dpcov.PureDP(20), dpcov.ZCDP(5), dpcov.ApproxDP(20, "1e-9")]

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "covariance": lambda data, budget, **said: dpcov.covariance(data, budget, row_norm=1, **said),
    "mean": lambda data, budget, **said: dpcov.mean(data, budget, radius=1, **said),
    "pca": lambda data, budget, **said: dpcov.pca(data, budget, 1, row_norm=1, **said),
    "ridge": lambda data, budget, **said: dpcov.ridge(data, budget, "x0", alpha=1, row_norm=1, **said),
    "rehearse": lambda data, budget, **said: dpcov.rehearse("covariance", data, budget, row_norm=1, **said),
}


def amounts(budget: Budget) -> dict[str, Any]:
    return dict(zip(budget.names, budget.amounts(), strict=True))


ESTIMATORS: dict[str, Callable[..., Any]] = {
    "PrivateCovariance": lambda X, budget, **said: dpcov.PrivateCovariance(row_norm=1, **amounts(budget), **said).fit(X),
    "PrivateMean": lambda X, budget, **said: dpcov.PrivateMean(radius=1, **amounts(budget), **said).fit(X),
    "PrivatePCA": lambda X, budget, **said: dpcov.PrivatePCA(1, row_norm=1, **amounts(budget), **said).fit(X),
    "PrivateRidge": lambda X, budget, **said: dpcov.PrivateRidge(
        0.1, row_norm=1, target_bound=1, **amounts(budget), **said
    ).fit(X, X[:, 0]),
}
EVERYONE = FUNCTIONS | ESTIMATORS


@pytest.fixture
def unspent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a charge fail the test."""

    def charge(*_: object) -> NoReturn:
        raise AssertionError("something was spent")

    monkeypatch.setattr(Account, "charge", charge)


@pytest.mark.parametrize("name", EVERYONE)
@pytest.mark.parametrize("budget", WEAK, ids=repr)
def test_an_epsilon_above_twenty_is_refused_by_everyone(name: str, budget: Budget) -> None:
    data = ROWS if name in ESTIMATORS else Untouchable()
    with pytest.raises(ParameterError, match=r"must be at most (20|5).*, got .*allow_weak=True goes on\.$"):
        EVERYONE[name](data, budget)


@pytest.mark.parametrize("name", EVERYONE)
def test_a_word_goes_on(name: str) -> None:
    for budget in (dpcov.PureDP(21), dpcov.ApproxDP(1, "0.01")):
        EVERYONE[name](ROWS, budget, allow_weak=True)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("budget", STRONG, ids=repr)
def test_twenty_is_served(name: str, budget: Budget) -> None:
    FUNCTIONS[name](ROWS, budget)


def test_what_is_seeded_is_not_private_anyway() -> None:
    for budget in (dpcov.PureDP(1000), dpcov.ApproxDP(1, "0.5")):
        assert dpcov.covariance(ROWS, budget, row_norm=1, seed=1).seeded


def test_the_limits_agree() -> None:
    """ρ = 5 has an epsilon of about 20 at the delta where nobody says how many rows there are."""
    assert dpcov.ZCDP(5).epsilon("1e-6") == pytest.approx(20, rel=0.05)


class TestReplace:
    @pytest.mark.parametrize("name", EVERYONE)
    def test_delta_must_be_below_one_in_n(self, name: str, unspent: None, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG002
        """An array tells its number of rows: none of them is read."""

        def total(*_: object) -> NoReturn:
            raise AssertionError("the rows were read")

        monkeypatch.setattr(ArraySource, "total", total)
        for delta in ("0.01", "0.5"):
            with pytest.raises(ParameterError, match=rf"delta must be below 1/n = 0\.01, got {re.escape(delta)}\."):
                EVERYONE[name](ROWS, dpcov.ApproxDP(1, delta))

    @pytest.mark.parametrize("name", FUNCTIONS)
    def test_just_below_it_is_served(self, name: str) -> None:
        FUNCTIONS[name](ROWS, dpcov.ApproxDP(1, "0.0099"))

    @pytest.mark.parametrize("mechanism", ["auto", "gaussian", "adaptive", "separate"])
    def test_a_file_is_read_first_and_nothing_is_spent(self, tmp_path: Path, mechanism: str, unspent: None) -> None:  # noqa: ARG002
        path = tmp_path / "rows.csv"
        np.savetxt(path, ROWS, delimiter=",", header="a,b,c", comments="")
        with pytest.raises(ParameterError, match=r"delta must be below 1/n = 0\.01, got 0\.01\."):
            dpcov.covariance(path, dpcov.ApproxDP(1, "0.01"), row_norm=1, columns=list("abc"), mechanism=mechanism)

    def test_so_is_a_table_with_a_schema(self, tmp_path: Path, unspent: None) -> None:  # noqa: ARG002
        path = tmp_path / "rows.csv"
        np.savetxt(path, ROWS, delimiter=",", header="a,b,c", comments="")
        schema = dpcov.Schema({name: dpcov.Numeric(-1, 1) for name in "abc"})
        for function in (dpcov.covariance, dpcov.mean):
            with pytest.raises(ParameterError, match=r"delta must be below 1/n"):
                function(path, dpcov.ApproxDP(1, "0.02"), schema=schema)

    def test_so_is_a_stream_that_can_be_read_once(self, unspent: None) -> None:  # noqa: ARG002
        table = pa.table({name: ROWS[:, j] for j, name in enumerate("abc")})
        with pytest.raises(ParameterError, match=r"delta must be below 1/n"):
            dpcov.covariance(table.to_reader(), dpcov.ApproxDP(1, "0.01"), row_norm=1, mechanism="gaussian")

    def test_expected_n_is_for_a_private_number(self) -> None:
        with pytest.raises(ParameterError, match=r"expected_n must be left out with neighbors='replace'"):
            dpcov.covariance(Untouchable(), dpcov.PureDP(1), row_norm=1, expected_n=100)


class TestAddRemove:
    """The number of rows is private: it must not decide what is refused, so all is refused before the data are opened."""

    def test_a_millionth_is_the_limit(self) -> None:
        for name in ("covariance", "mean", "pca", "rehearse"):
            with pytest.raises(ParameterError, match=r"delta must be at most 1e-6 where .*, got 2e-06\..*expected_n=NUMBER"):
                FUNCTIONS[name](Untouchable(), dpcov.ApproxDP(1, "2e-6"), neighbors="add-remove")
            FUNCTIONS[name](ROWS, dpcov.ApproxDP(1, "1e-6"), neighbors="add-remove")

    def test_or_one_in_a_public_guess(self) -> None:
        for name in ("covariance", "mean", "pca", "rehearse"):
            with pytest.raises(ParameterError, match=r"delta must be below 1/expected_n = 0\.001, got 0\.001\."):
                FUNCTIONS[name](Untouchable(), dpcov.ApproxDP(1, "0.001"), neighbors="add-remove", expected_n=1000)

    @pytest.mark.parametrize("n", [0, 1, 50, 5000])
    def test_the_number_of_rows_decides_nothing(self, n: int) -> None:
        """A delta that is too large for 5000 rows, and small enough for 50: served for a guess of 100 rows, whatever n is."""
        rows = np.zeros((n, 2))
        release = dpcov.covariance(
            rows, dpcov.ApproxDP(1, "0.009"), row_norm=1, mechanism="gaussian", neighbors="add-remove", expected_n=100
        )
        assert release.privacy == dpcov.ApproxDP(1, "0.009")

    @pytest.mark.parametrize("bad", [0, -1, 1.5, "100", True, float("nan"), [100]])
    def test_what_is_no_number_of_rows(self, bad: Any) -> None:
        with pytest.raises(ParameterError, match=r"expected_n must be a whole number of at least 1"):
            dpcov.covariance(Untouchable(), dpcov.PureDP(1), row_norm=1, neighbors="add-remove", expected_n=bad)


@pytest.mark.parametrize("bad", [None, 1, "yes", np.True_])
def test_allow_weak_is_true_or_false(bad: Any) -> None:
    with pytest.raises(ParameterError, match=r"allow_weak must be True or False"):
        dpcov.covariance(Untouchable(), dpcov.PureDP(1), row_norm=1, allow_weak=bad)


def test_pairs_are_two_people() -> None:
    """A hundred people are fifty differences: a delta of one in sixty is refused."""
    asked = request(
        "covariance", dpcov.ZCDP(1), mechanism="coinpress", bound=None, schema=None, allow_weak=False,
        options={"upper": 1.0, "centring": "pairs"},
    )  # fmt: skip
    with pytest.raises(ParameterError, match=r"delta must be below 1/n = 0\.01, "):
        asked.check_n(50, dpcov.ApproxDP(1, "1/60"))


class TestCommands:
    @pytest.fixture(autouse=True)
    def _rows(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        np.savetxt("rows.csv", ROWS, delimiter=",", header="a,b,c", comments="")

    @pytest.mark.parametrize(
        ("words", "flags"),
        [
            (["--epsilon", "21"], "--epsilon must be at most 20, got --epsilon 21."),
            (["--rho", "6"], "--rho must be at most 5, about epsilon = 20 at delta = 1e-6, got --rho 6."),
            (["--epsilon", "1", "--delta", "0.01"], "--delta must be below 1/n = 0.01, got 0.01."),
            (
                ["--epsilon", "1", "--delta", "1e-5", "--neighbors", "add-remove"],
                "--delta must be at most 1e-6 where the number of rows is private, got 1e-05. Hint: --expected-n NUMBER,",
            ),
            (
                ["--epsilon", "1", "--delta", "0.01", "--neighbors", "add-remove", "--expected-n", "100"],
                "--delta must be below 1/expected_n = 0.01, got 0.01.",
            ),
        ],
    )
    def test_flags_are_named_and_one_goes_on(self, words: list[str], flags: str) -> None:
        for command in (["release", "rows.csv", "--row-norm", "1"], ["mean", "rows.csv", "--radius", "1"]):
            refused = call(*command, "--columns", "a,b", *words, "-o", "out.json")
            assert_refused(refused, 2)
            assert flags in refused.err
            assert "; --yes-weak goes on." in refused.err
            assert not Path("out.json").exists()
            told = call(*command, "--columns", "a,b", *words, "-o", "out.json", "--yes-weak", "--quiet")
            assert (told.code, told.err) == (0, "")
            Path("out.json").unlink()

    def test_a_dry_run_refuses_as_well(self) -> None:
        refused = call("release", "rows.csv", "--row-norm", "1", "--columns", "a,b", "--epsilon", "21", "--dry-run")
        assert_refused(refused, 2)
        assert "--yes-weak goes on." in refused.err
