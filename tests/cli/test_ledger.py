"""``dpcov ledger``, and releases that are charged to one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dpcov
from tests.cli.shell import Result, assert_refused, call, write_people

INIT = ("ledger", "init", "budget.db", "--dataset", "adult", "--rho", "1")
RELEASE = ("release", "people.csv", "--row-norm", "60", "--columns", "age")
CHARGED = (*RELEASE, "--ledger", "budget.db", "--dataset", "adult", "--rho", "0.1")


@pytest.fixture(autouse=True)
def _in_a_folder_with_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_people(tmp_path)
    monkeypatch.chdir(tmp_path)


def told(*words: str) -> str:
    """Run a command that must succeed, and return what it prints."""
    made = call(*words)
    assert (made.code, made.err) == (0, ""), made.err
    return made.out


def spent() -> list[str]:
    return [str(amount) for amount in dpcov.Ledger("budget.db").status().of("adult").amounts]


def test_the_way_from_total_to_verification() -> None:
    assert "rho = 1" in told(*INIT, "--data", "people.csv", "--why", "survey")
    assert "Paid for by entry 4" in told(*CHARGED, "-o", "one.json", "--why", "annual report")
    assert "rho = 0.9" in told("ledger", "status", "budget.db")
    history = told("ledger", "history", "budget.db", "--dataset", "adult")
    for words in ("may lose rho = 1", "spent rho = 0.1", "annual report", "survey"):
        assert words in " ".join(history.split())
    verified = told("ledger", "verify", "budget.db", "one.json")
    assert "intact. 5 entries checked, and 1 release held against them" in verified
    assert len(told("ledger", "export", "budget.db").splitlines()) == 5
    assert "Paid for by entry 4" in told("show", "one.json")


def test_machines_get_all_of_it() -> None:
    told(*INIT)
    made = json.loads(told(*CHARGED, "-o", "one.json", "--json"))
    assert made["ledger"]["entry"] == 4
    status = json.loads(told("ledger", "status", "budget.db", "--json"))
    assert status["data_sets"][0]["left"] == {"notion": "zCDP", "rho": "9/10"}
    history = json.loads(told("ledger", "history", "budget.db", "--json"))
    assert [entry["event"] for entry in history["entries"]] == ["created", "opened", "attempted", "spent", "released"]
    assert json.loads(told("ledger", "verify", "budget.db", "one.json", "--json"))["intact"]


def test_a_long_history_is_cut_short() -> None:
    told(*INIT)
    with dpcov.Ledger("budget.db").store.writing() as writing:
        for _ in range(150):
            writing.add("resumed", "adult", "Ada", "", {})
    assert "52 earlier: --all lists them." in told("ledger", "history", "budget.db")
    assert "earlier" not in told("ledger", "history", "budget.db", "--all")
    assert len(json.loads(told("ledger", "history", "budget.db", "--json"))["entries"]) == 152


def test_a_mean_is_charged_as_well() -> None:
    told(*INIT)
    words = ("--columns", "age", "--radius", "100", "--rho", "0.1", "--ledger", "budget.db", "--dataset", "adult")
    told("mean", "people.csv", *words, "-o", "mean.json")
    assert spent() == ["1/10"]


def test_a_dry_run_is_refused_what_a_run_is_and_takes_nothing() -> None:
    told(*INIT)
    told(*CHARGED, "--dry-run")
    refused = call(*CHARGED[:-1], "2", "--dry-run")
    assert (refused.code, "what 'adult' has left, rho = 1, got --rho 2" in refused.err) == (3, True)
    assert spent() == ["0"]
    assert dpcov.Ledger("budget.db").verify().entries == 2


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((*RELEASE, "--rho", "0.1"), 2, "Hint: --ledger FILE --dataset 'adult'"),
        ((*CHARGED[:-3], "adlt", "--rho", "0.1"), 2, "did you mean 'adult'"),
        ((*CHARGED, "--seed", "1"), 2, "--seed must be left out"),
        ((*RELEASE, "--ledger", "budget.db", "--rho", "0.1"), 2, "give --ledger FILE together with --dataset NAME"),
        ((*RELEASE, "--rho", "0.1", "--why", "x"), 2, "--why is for the ledger"),
        ((*CHARGED[:-2], "--epsilon", "1", "--delta", "1e-6"), 2, "adds up with the ledger's rho"),
        ((*CHARGED[:-1], "0.95"), 0, ""),
        ((*CHARGED[:-1], "1.5"), 3, "has left"),
        ((*RELEASE, "--ledger", "none.db", "--dataset", "adult", "--rho", "0.1"), 4, "`dpcov ledger init` makes one"),
    ],
)
def test_what_is_refused_and_how(words: tuple[str, ...], code: int, message: str) -> None:
    told(*INIT, "--data", "people.csv")
    made = call(*words, "-o", "out.json")
    assert (made.code, Path("out.json").exists()) == (code, code == 0), made.err
    assert message in made.err
    assert spent() == (["0"] if code else ["19/20"])


@pytest.mark.parametrize(
    "words",
    [
        ("--rho", "1", "--data", "none.csv"),
        ("--rho", "1", "--policy", "none.toml"),
        ("--rho", "1", "--why", "x" * 3000),
        ("--rho", "0"),
        ("--rho", "1", "--neighbors", "all"),
        ("--rho", "1", "--dataset", ""),
        ("--rho", "1", "--dataset", "adult "),
        ("--rho", "1", "--dataset", "ad\u202eult"),
        ("--rho", "1", "--dataset", "\x1b[2J"),
    ],
)
def test_what_is_refused_at_the_beginning_leaves_no_file(words: tuple[str, ...]) -> None:
    before = sorted(Path().iterdir())
    refused = call("ledger", "init", "budget.db", "--dataset", "adult", *words)
    assert (refused.code in (2, 4), refused.out) == (True, ""), refused.err
    assert sorted(Path().iterdir()) == before


def test_a_file_that_has_a_ledger_gets_no_second_one_and_no_empty_file() -> None:
    told(*INIT, "--data", "people.csv")
    refused = call("ledger", "init", "other.db", "--dataset", "adult", "--rho", "1", "--data", "people.csv")
    assert (refused.code, Path("other.db").exists()) == (2, False)
    told("ledger", "init", "budget.db", "--dataset", "birds", "--rho", "1")


def test_a_rule_cannot_steer_a_terminal() -> None:
    Path("policy.toml").write_text('mechanisms = ["\\u001b[2Jgauss\\u202eian"]\n', encoding="utf-8")
    told(*INIT, "--policy", "policy.toml", "--why", "\x1b[31mred\u202e")
    for words in (("policy", "budget.db", "--dataset", "adult"), ("status", "budget.db"), ("history", "budget.db")):
        assert told("ledger", *words).replace("\n", "").isprintable()
        assert r"\u202e" in told("ledger", *words)


def test_a_policy_is_shown_and_changed() -> None:
    Path("policy.toml").write_text('rho = 0.05\nmechanisms = ["gaussian"]\n', encoding="utf-8")
    told(*INIT, "--policy", "policy.toml")
    assert told("ledger", "policy", "budget.db", "--dataset", "adult").splitlines() == [
        "at most rho = 0.05 a release",
        "mechanisms: gaussian",
    ]
    assert "at most rho = 0.05 a release" in told("ledger", "status", "budget.db")
    refused = call(*CHARGED, "-o", "out.json")
    assert (refused.code, "--rho must be at most 0.05" in refused.err) == (3, True)
    Path("two.toml").write_text("second_person = true\n", encoding="utf-8")
    told("ledger", "policy", "budget.db", "--dataset", "adult", "--policy", "two.toml", "--why", "agreed")
    shown = json.loads(told("ledger", "policy", "budget.db", "--dataset", "adult", "--json"))
    assert shown["policy"] == {"second_person": True}
    refused = call(*CHARGED, "-o", "out.json")
    assert (refused.code, "dpcov ledger approve" in refused.err) == (3, True)
    assert "by two people" in " ".join(told("ledger", "history", "budget.db").split())


def test_another_user_approves(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("two.toml").write_text("second_person = true\n", encoding="utf-8")
    told(*INIT, "--policy", "two.toml")
    approve = ("ledger", "approve", "budget.db", "--dataset", "adult")
    for words in ((), ("--rho", "0.1", "--policy", "two.toml")):
        refused = call(*approve, *words)
        assert_refused(refused, 2)
        assert "give the budget of the release" in refused.err
    with monkeypatch.context() as other:
        other.setattr("dpcov.custody.people._name", lambda: "bob")
        told(*approve, "--rho", "0.1", "--why", "seen")
        told(*approve, "--policy", "two.toml")
    told(*CHARGED, "-o", "out.json")
    assert spent() == ["1/10"]
    told("ledger", "policy", "budget.db", "--dataset", "adult", "--policy", "two.toml")


def test_readings_in_vain_are_allowed_again() -> None:
    told(*INIT)
    with dpcov.Ledger("budget.db").store.writing() as writing:
        for _ in range(100):
            writing.add("attempted", "adult", "Ada", "", {})
    refused = call(*CHARGED, "-o", "out.json")
    assert (refused.code, "dpcov ledger resume" in refused.err) == (3, True)
    told("ledger", "resume", "budget.db", "--dataset", "adult", "--why", "the disk was replaced")
    told(*CHARGED, "-o", "out.json")


def test_a_ledger_that_was_put_back_is_red() -> None:
    told(*INIT)
    before = Path("budget.db").read_bytes()
    told(*CHARGED, "-o", "one.json")
    Path("budget.db").write_bytes(before)
    found = call("ledger", "verify", "budget.db", "one.json")
    assert (found.code, found.err) == (3, "")
    assert "NOT INTACT" in found.out
    assert "release 1 knows a later state of this ledger" in found.out


def test_a_release_that_cannot_be_recorded_is_printed_and_recorded_later(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpcov.custody.store import Writing

    told(*INIT)
    add = Writing.add

    def failing(self: Writing, event: str, *others: object) -> object:
        if event == "released":
            raise dpcov.EngineError("ledger must be a file that can be written, got a full disk. Hint: make room.")
        return add(self, event, *others)  # type: ignore[arg-type]

    with monkeypatch.context() as broken:
        broken.setattr(Writing, "add", failing)
        made = call(*CHARGED, "-o", "one.json")
    assert (made.code, Path("one.json").exists()) == (4, False)
    assert "is on stdout. Hint: save that text, then `dpcov ledger record`" in made.err
    Path("saved.json").write_text(made.out, encoding="utf-8")
    assert "its digest was never recorded" in told("ledger", "verify", "budget.db", "saved.json")
    told("ledger", "record", "budget.db", "saved.json")
    assert "never" not in told("ledger", "verify", "budget.db", "saved.json")


class TestWithoutALedger:
    """`--force` says what two releases of one table add up to."""

    def twice(self, *first: str, second: tuple[str, ...]) -> Result:
        told(*RELEASE, *first, "-o", "out.json", "--quiet")
        made = call(*RELEASE, *second, "-o", "out.json", "--quiet", "--force")
        assert (made.code, made.out) == (0, "")
        return made

    @pytest.mark.parametrize(
        ("first", "second", "cost"),
        [
            (("--rho", "0.1"), ("--rho", "0.2"), "cost rho = 0.3 (replace)"),
            (("--epsilon", "1"), ("--epsilon", "0.5"), "cost epsilon = 1.5 (replace)"),
            (("--epsilon", "1"), ("--rho", "0.1"), "cost rho = 0.6 (replace)"),
            (("--rho", "0.1", "--neighbors", "add-remove"), ("--rho", "0.1"), "cost rho = 0.5 (replace)"),
            (
                ("--epsilon", "1", "--delta", "1e-6"),
                ("--rho", "0.1"),
                "cost rho = 0.6, but for a probability of 1e-06 (replace)",
            ),
            (("--epsilon", "1", "--delta", "1e-5"), ("--epsilon", "1"), "cost epsilon = 2, delta = 1e-05 (replace)"),
        ],
    )
    def test_of_two(self, first: tuple[str, ...], second: tuple[str, ...], cost: str) -> None:
        made = self.twice(*first, second=second)
        assert f"If it was of the same table, both together {cost}" in made.err
        assert "`dpcov ledger init` keeps count" in made.err

    def test_what_was_seeded_or_is_no_release_costs_nothing(self) -> None:
        told(*RELEASE, "--rho", "0.1", "-o", "out.json", "--quiet")
        seeded = call(*RELEASE, "--rho", "0.1", "--seed", "1", "-o", "out.json", "--quiet", "--force")
        assert "both together" not in seeded.err
        assert call(*RELEASE, "--rho", "0.1", "-o", "out.json", "--quiet", "--force").err == ""
        Path("out.json").write_text("something else", encoding="utf-8")
        assert call(*RELEASE, "--rho", "0.1", "-o", "out.json", "--quiet", "--force").err == ""

    def test_what_a_ledger_did_not_count_is_said(self) -> None:
        told(*INIT)
        told(*RELEASE, "--rho", "0.1", "-o", "out.json", "--quiet")
        made = call(*CHARGED, "-o", "out.json", "--quiet", "--force")
        assert "both together cost rho = 0.2 (replace)" in made.err
        assert "The ledger counts the second only." in made.err

    def test_with_a_ledger_it_keeps_count(self) -> None:
        told(*INIT)
        for words in ((), ("--force",)):
            assert told(*CHARGED, "-o", "out.json", "--quiet", *words) == ""
        assert spent() == ["1/5"]
