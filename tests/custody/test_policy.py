"""Policies: what every release must keep to, before a row is read; and the rule of two people."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.custody import people
from tests.custody.test_ledger import Unreadable, events, left

ROWS = np.full((1000, 2), 0.5)
SCHEMA = dpcov.Schema({"x": dpcov.Numeric(0, 1), "y": dpcov.Numeric(0, 1)})
OTHER = dpcov.Schema({"x": dpcov.Numeric(0, 2), "y": dpcov.Numeric(0, 1)})
TENTH = dpcov.ZCDP("0.1")


@pytest.fixture
def ledger(tmp_path: Path) -> dpcov.Ledger:
    return dpcov.Ledger.create(tmp_path / "budget.db")


def ruled(ledger: dpcov.Ledger, **rules: Any) -> dpcov.DataSet:
    """Return a data set with a policy."""
    ledger.add("trees", dpcov.ZCDP(1), policy=dpcov.Policy(**rules))
    return ledger.dataset("trees")


class TestRules:
    @pytest.mark.parametrize(
        ("rules", "budget", "settings", "message"),
        [
            ({"rho": "0.1"}, dpcov.ZCDP("0.2"), {"row_norm": 1}, r"rho must be at most 0\.1 a release.*got 0\.2"),
            ({"rho": "0.1"}, dpcov.PureDP("0.5"), {"row_norm": 1}, r"rho must be at most 0\.1 a release.*got 0\.125"),
            ({"rho": "0.1"}, dpcov.ZCDP("0.05"), {"row_norm": 1, "neighbors": "add-remove"}, r"at most 0\.1.*got 0\.2"),
            ({"epsilon": "0.5"}, dpcov.PureDP("0.6"), {"row_norm": 1}, r"epsilon must be at most 0\.5"),
            ({"epsilon": "0.5"}, TENTH, {"row_norm": 1}, "budget must be in a notion .* limit, got ZCDP"),
            ({"mechanisms": ["wishart"]}, TENTH, {"row_norm": 1}, "allows: 'wishart', got 'rescaled', which 'auto' stands for"),
            ({"mechanisms": ["wishart"]}, TENTH, {"row_norm": 1, "mechanism": "gaussian"}, "got 'gaussian'. Hint"),
            ({"neighbors": "add-remove"}, TENTH, {"row_norm": 1}, "neighbors must be 'add-remove' by the ledger's policy"),
            ({"schema": SCHEMA}, TENTH, {"row_norm": 1}, "schema must be that of the ledger's policy, got none"),
            ({"schema": SCHEMA}, TENTH, {"schema": OTHER}, "schema must be that of the ledger's policy, got another one"),
        ],
        ids=[
            *("rho", "pure as rho", "counted twice", "epsilon", "another notion", "alias", "mechanism", "neighbors"),
            *("no schema", "another schema"),
        ],
    )
    def test_what_breaks_one_is_refused_before_reading(
        self, ledger: dpcov.Ledger, rules: Any, budget: Any, settings: dict[str, Any], message: str
    ) -> None:
        trees = ruled(ledger, **rules)
        data: Any = ROWS if "schema" in settings else Unreadable()
        with pytest.raises((dpcov.ParameterError, dpcov.BudgetError), match=message):
            dpcov.covariance(data, budget, ledger=trees, **settings)
        with pytest.raises((dpcov.ParameterError, dpcov.BudgetError), match=message):
            dpcov.rehearse("covariance", data, budget, ledger=trees, **settings)
        assert (left(ledger), events(ledger)) == (dpcov.ZCDP(1), ["opened"])

    def test_what_keeps_to_all_of_them_passes(self, ledger: dpcov.Ledger) -> None:
        trees = ruled(ledger, rho="0.1", mechanisms=["standardized"], neighbors="replace", schema=SCHEMA)
        made = dpcov.covariance(ROWS, TENTH, schema=SCHEMA, ledger=trees)
        assert made.mechanism == "standardized"
        assert ledger.verify(made).intact

    def test_a_delta_has_its_limit(self, ledger: dpcov.Ledger) -> None:
        ledger.add("trees", dpcov.ApproxDP(1, "1e-6"), policy=dpcov.Policy(epsilon="0.5", delta="1e-8"))
        trees = ledger.dataset("trees")
        with pytest.raises(dpcov.BudgetError, match="delta must be at most 1e-08"):
            trees.rehearse(dpcov.ApproxDP("0.1", "1e-7"), "replace", {})
        trees.rehearse(dpcov.ApproxDP("0.5", "1e-8"), "replace", {})
        trees.rehearse(dpcov.PureDP("0.5"), "replace", {})

    def test_a_policy_that_is_changed_during_a_release_holds(self, ledger: dpcov.Ledger) -> None:
        purse = ruled(ledger).attempt(TENTH, "replace", {})
        ledger.change_policy("trees", dpcov.Policy(rho="0.05"))
        with pytest.raises(dpcov.BudgetError, match=r"at most 0\.05"):
            purse.take()
        assert (left(ledger), events(ledger)) == (dpcov.ZCDP(1), ["opened", "attempted", "policy"])
        assert ledger.verify().intact

    def test_no_policy_asks_for_nothing(self, ledger: dpcov.Ledger) -> None:
        ledger.add("trees", dpcov.ZCDP(1))
        assert ledger.status().of("trees").policy == dpcov.Policy()
        assert dpcov.Policy().lines() == ["no rules beside the total"]

    def test_spending_beside_it_shows(self, ledger: dpcov.Ledger) -> None:
        """As whoever does who writes entries with a chain that is whole."""
        trees = ruled(ledger)
        purse = trees.attempt(dpcov.ZCDP("0.3"), "replace", {})
        ledger.change_policy("trees", dpcov.Policy(rho="0.1"))
        original = dpcov.Policy.refuse
        try:
            dpcov.Policy.refuse = lambda *_: None  # type: ignore[method-assign]
            purse.take()
        finally:
            dpcov.Policy.refuse = original  # type: ignore[method-assign]
        assert ledger.verify().faults == ("entry 5 breaks the policy",)


class TestFiles:
    def write(self, folder: Path, text: str) -> Path:
        (folder / "policy.toml").write_text(text, encoding="utf-8")
        (folder / "adult.toml").write_text("[columns]\nx = { lower = 0, upper = 1 }\ny = { lower = 0, upper = 1 }\n", "utf-8")
        return folder / "policy.toml"

    def test_one_with_everything(self, tmp_path: Path) -> None:
        text = 'epsilon = 0.5\ndelta = 1e-8\nrho = "1/3"\nmechanisms = ["gaussian"]\nneighbors = "replace"\n'
        found = dpcov.Policy.read(self.write(tmp_path, text + 'schema = "adult.toml"\nsecond_person = true\n'))
        assert found == dpcov.Policy(
            epsilon="0.5",
            delta="1e-8",
            rho="1/3",
            mechanisms=["gaussian"],
            neighbors="replace",
            schema=SCHEMA,
            second_person=True,
        )
        assert dpcov.Policy(**found.to_json()) == found

    def test_numbers_are_read_by_their_text(self, tmp_path: Path) -> None:
        assert dpcov.Policy.read(self.write(tmp_path, "rho = 0.1")).to_json()["rho"] == "1/10"

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("rho = 0.1 = 2", "must be a file in TOML"),
            ("sigma = 2", "must have no other keys"),
            ("mechanism = ['gaussian']", "did you mean 'mechanisms'"),
            ("rho = 0", "rho must be greater than 0"),
            ("rho = 'much'", "rho must be a finite number"),
            ("rho = []", "rho must be a number"),
            ("delta = 1e-6", "delta must come with epsilon"),
            ("epsilon = 1\ndelta = 2", "delta must be above 0 and below 1"),
            ("mechanisms = 'gaussian'", "mechanisms must be a list"),
            ("mechanisms = []", "mechanisms must be a list"),
            ("mechanisms = [3]", "mechanisms must be text"),
            ("neighbors = 'all'", "neighbors must be"),
            ("second_person = 'yes'", "second_person must be True or False"),
            ("schema = 3", "schema must be text"),
            ("schema = 'none.toml'", "schema must be a file"),
        ],
    )
    def test_what_is_none(self, ledger: dpcov.Ledger, tmp_path: Path, text: str, message: str) -> None:
        with pytest.raises((dpcov.ParameterError, dpcov.EngineError), match=message):
            ledger.add("trees", dpcov.ZCDP(1), policy=self.write(tmp_path, text))
        assert ledger.status().standings == ()

    def test_one_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(dpcov.EngineError, match="policy must be a file that can be read"):
            dpcov.Policy.read(tmp_path / "none.toml")
        with pytest.raises(dpcov.ParameterError, match="policy must be a Policy or the path"):
            dpcov.Policy.read(3)  # type: ignore[arg-type]
        for wrong in (3, "adult.toml"):
            with pytest.raises(dpcov.ParameterError, match=r"schema must be a Schema.*Schema\.read"):
                dpcov.Policy(schema=wrong)  # type: ignore[arg-type]


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Become another user of this machine."""

    def become(name: str) -> None:
        monkeypatch.setattr(people, "_name", lambda: name)

    become("ada")
    return become


class TestTwoPeople:
    def test_nobody_releases_alone(self, ledger: dpcov.Ledger, user: Any) -> None:
        trees = ruled(ledger, second_person=True)
        with pytest.raises(dpcov.BudgetError, match=r"approved by a second person.*by another than ada@"):
            dpcov.covariance(Unreadable(), TENTH, row_norm=1, ledger=trees)
        ledger.approve("trees", TENTH)  # by herself
        with pytest.raises(dpcov.BudgetError, match="approved by a second person"):
            dpcov.covariance(Unreadable(), TENTH, row_norm=1, ledger=trees)
        user("bob")
        ledger.approve("trees", TENTH, why="seen the plan")
        user("ada")
        made = dpcov.covariance(ROWS, TENTH, row_norm=1, ledger=trees)
        assert events(ledger) == ["opened", "approved", "approved", "attempted", "spent", "released"]
        assert ledger.history("trees").events[4]["facts"]["approval"] == 4
        assert ledger.verify(made).intact

    def test_an_approval_is_used_once(self, ledger: dpcov.Ledger, user: Any) -> None:
        trees = ruled(ledger, second_person=True)
        user("bob")
        ledger.approve("trees", TENTH)
        user("ada")
        first, second = (trees.attempt(TENTH, "replace", {}) for _ in range(2))
        first.take()
        with pytest.raises(dpcov.BudgetError, match="approved by a second person"):
            second.take()
        assert left(ledger) == dpcov.ZCDP("0.9")

    def test_a_reading_that_fails_does_not_use_it(self, ledger: dpcov.Ledger, user: Any) -> None:
        trees = ruled(ledger, second_person=True)
        user("bob")
        ledger.approve("trees", TENTH)
        user("ada")
        trees.attempt(TENTH, "replace", {}).failed(dpcov.EngineError("broken"))
        trees.attempt(TENTH, "replace", {}).take()

    @pytest.mark.parametrize(
        ("approved", "asked"),
        [
            ({"budget": dpcov.ZCDP("0.05")}, {}),
            ({"budget": dpcov.PureDP("0.1")}, {}),
            ({"neighbors": "add-remove"}, {}),
            ({"mechanism": "gaussian"}, {"mechanism": "wishart", "resolved": "wishart"}),
            ({"mechanism": "auto"}, {"mechanism": "auto", "resolved": "rescaled"}),
        ],
    )
    def test_it_is_of_this_release(self, ledger: dpcov.Ledger, user: Any, approved: Any, asked: dict[str, str]) -> None:
        trees = ruled(ledger, second_person=True)
        user("bob")
        ledger.approve("trees", **{"budget": TENTH, **approved})
        user("ada")
        with pytest.raises(dpcov.BudgetError, match="approved by a second person"):
            trees.attempt(TENTH, "replace", asked)

    def test_a_name_of_ones_own_does_not_help(self, ledger: dpcov.Ledger, user: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """Neither `who` nor the name of the machine makes somebody else of a user; a variable is not even looked at."""
        trees = ruled(ledger, second_person=True)
        user("bob")
        ledger.approve("trees", TENTH)
        monkeypatch.setattr("dpcov.custody.people.platform.node", lambda: "another")
        with pytest.raises(dpcov.BudgetError, match="approved by a second person"):
            ledger.dataset("trees", who="Ada").attempt(TENTH, "replace", {})
        monkeypatch.undo()
        real = people.current_user()
        for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
            monkeypatch.setenv(name, "somebody")
        assert people.current_user() == real
        trees.attempt(TENTH, "replace", {})

    def test_a_policy_is_changed_by_two_and_withdraws_approvals(self, ledger: dpcov.Ledger, user: Any) -> None:
        trees, weaker = ruled(ledger, second_person=True), dpcov.Policy(rho="0.1", second_person=True)
        user("bob")
        ledger.approve("trees", TENTH)
        user("ada")
        for policy in (weaker, dpcov.Policy()):
            with pytest.raises(dpcov.BudgetError, match="policy of 'trees' must be approved"):
                ledger.change_policy("trees", policy)
        user("bob")
        ledger.approve("trees", policy=weaker)
        user("ada")
        with pytest.raises(dpcov.BudgetError, match="policy of 'trees' must be approved"):
            ledger.change_policy("trees", dpcov.Policy())
        ledger.change_policy("trees", weaker, why="agreed")
        assert ledger.status().of("trees").policy == weaker
        with pytest.raises(dpcov.BudgetError, match="approved by a second person"):
            trees.attempt(TENTH, "replace", {})
        assert ledger.verify().intact

    def test_entries_beside_the_rule_show(self, ledger: dpcov.Ledger, user: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        trees = ruled(ledger, second_person=True)
        user("ada")
        monkeypatch.setattr("dpcov.custody.state.approval_of_release", lambda reading, *_: reading.head())
        trees.attempt(TENTH, "replace", {}).take()
        with ledger.store.writing() as writing:
            writing.add("policy", "trees", "Ada", "", {"policy": {}, "approval": 0})
        assert ledger.verify().faults == (
            "entry 4 was not approved by a second person",
            "entry 5 changes a policy without a second person",
        )

    def test_what_cannot_be_approved(self, ledger: dpcov.Ledger) -> None:
        ledger.add("birds", dpcov.ZCDP(1))
        ruled(ledger, second_person=True)
        with pytest.raises(dpcov.ParameterError, match="nothing need be approved"):
            ledger.approve("birds", TENTH)
        for given in ({}, {"budget": TENTH, "policy": dpcov.Policy()}):
            with pytest.raises(dpcov.ParameterError, match="budget or policy must be given"):
                ledger.approve("trees", **given)  # type: ignore[arg-type]
        with pytest.raises(dpcov.BudgetError, match="has left"):
            ledger.approve("trees", dpcov.ZCDP(2))
        with pytest.raises(dpcov.ParameterError, match="adds up"):
            ledger.approve("trees", dpcov.ApproxDP(1, "1e-6"))
        assert events(ledger) == ["opened"]

    @pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can become another user")
    def test_another_user_of_the_machine_approves(self) -> None:
        """For good: a process that is another user's writes the entry, in a file that both may write."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "budget.db"
            trees = ruled(dpcov.Ledger.create(path), second_person=True)
            Path(folder).chmod(0o777)
            path.chmod(0o666)
            trees.ledger.approve("trees", TENTH)  # here, so that the child has to import nothing
            child = os.fork()
            if child == 0:
                os.setuid(65534)
                try:
                    dpcov.Ledger(path).approve("trees", TENTH)
                except BaseException:
                    os._exit(1)
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            trees.attempt(TENTH, "replace", {}).take()
            one, other = (event["user"] for event in trees.ledger.history("trees").events if event["event"] == "approved")
            assert one.partition("@")[0] != other.partition("@")[0]
            assert trees.ledger.history("trees").events[-1]["facts"]["approval"] == 4
            assert trees.ledger.verify().intact

    def test_a_rehearsal_needs_no_approval(self, ledger: dpcov.Ledger) -> None:
        trees = ruled(ledger, second_person=True)
        assert len(dpcov.rehearse("covariance", ROWS, TENTH, row_norm=1, ledger=trees).spent) == 3
