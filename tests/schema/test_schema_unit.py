"""A schema that says whose a row is: what it is refused for, and that every entry point then promises people."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpcov
from dpcov.errors import DpcovError, ParameterError, SchemaError
from dpcov.release.file import parse as parse_release
from dpcov.release.file import text_of
from dpcov.schema.file import digest, parse
from tests.cli.shell import assert_refused, call
from tests.schema.test_schema_file import assert_clear

RHO = dpcov.ZCDP(1)
DRAW = np.random.default_rng(7500)
VISITS = pd.DataFrame({"who": DRAW.integers(0, 300, 3000), "dose": DRAW.uniform(0, 1, 3000), "w": DRAW.uniform(0, 2, 3000)})
VISITS["effect"] = VISITS["dose"] / 2
COLUMNS = "[columns]\ndose = { lower = 0, upper = 1 }\neffect = { lower = 0, upper = 1 }\n"
PEOPLE = parse('unit = "who"\n' + COLUMNS)
ALONE = parse(COLUMNS)

CALLS: dict[str, Any] = {
    "covariance": lambda data, schema, **more: dpcov.covariance(data, RHO, schema=schema, **more),
    "mean": lambda data, schema, **more: dpcov.mean(data, RHO, schema=schema, **more),
    "pca": lambda data, schema, **more: dpcov.pca(data, RHO, 1, schema=schema, **more),
    "ridge": lambda data, schema, **more: dpcov.ridge(data, RHO, "effect", alpha=0.1, schema=schema, **more),
    "PrivateCovariance": lambda data, schema, **more: dpcov.PrivateCovariance(rho=1, schema=schema, **more).fit(data).release_,
    "PrivateMean": lambda data, schema, **more: dpcov.PrivateMean(rho=1, schema=schema, **more).fit(data).release_,
    "PrivatePCA": lambda data, schema, **more: dpcov.PrivatePCA(1, rho=1, schema=schema, **more).fit(data).release_,
    "PrivateRidge": lambda data, schema, **more: dpcov.PrivateRidge(rho=1, schema=schema, **more).fit(data).release_,
}


class TestRefused:
    @pytest.mark.parametrize(
        ("above", "words"),
        [
            ("unit = ''", "name of a column"),
            ("unit = 3", "name of a column"),
            ("unit = true", "name of a column"),
            ("unit = ['who']", "name of a column"),
            ("unit = 'dose'", "no feature"),
            ("weight = 'dose'\nmax_weight = 2", "no feature"),
            ("unit = 'w'\nweight = 'w'\nmax_weight = 2", "two columns"),
            ("weighting = 'rows'\nmost_rows = 3", "without unit"),
            ("unit = 'who'\nweighting = 'rows'", "most_rows must be given"),
            ("unit = 'who'\nmost_rows = 3", "most_rows must be given"),
            ("unit = 'who'\nweighting = 'visits'", "weighting must be"),
            ("unit = 'who'\nweighting = 3", "weighting must be"),
            ("unit = 'who'\nweighting = 'rows'\nmost_rows = 2.0", "whole number"),
            ("unit = 'who'\nweighting = 'rows'\nmost_rows = 0", "whole number"),
            ("weight = 'w'", "max_weight must be given"),
            ("max_weight = 3", "weight must be given"),
            ("weight = 'w'\nmax_weight = nan", "max_weight must be"),
            ("weight = 'w'\nmax_weight = -1", "max_weight must be"),
            ("weight = 'w'\nmax_weight = true", "max_weight must be"),
            ("weight = 'w'\nmax_weight = 1e300", "max_weight must be"),
            ("weight = 'w'\nmax_weight = " + "9" * 400, "max_weight must be"),
            ("units = 'who'", "nothing else but"),
        ],
    )
    def test_a_file_that_says_nothing_clear_of_people(self, above: str, words: str) -> None:
        with pytest.raises(SchemaError, match=words) as caught:
            parse(f"{above}\n{COLUMNS}")
        assert_clear(caught.value)

    def test_a_column_that_features_are_made_of(self) -> None:
        with pytest.raises(SchemaError, match="no feature, got 'who'"):
            parse('unit = "who"\n[columns]\nlog = { of = "who", lower = 1, upper = 9, transform = "log" }\n')

    @pytest.mark.parametrize(
        "given",
        [
            {"unit": "w"},
            {"unit": 0},
            {"weight": "v"},
            {"max_weight": 3},
            {"weighting": "person"},
            {"most_rows": 8},
            {"unit": np.array(["who"])},
        ],
    )
    @pytest.mark.parametrize("name", ["covariance", "mean", "pca"])
    def test_an_argument_that_says_another_thing(self, name: str, given: dict[str, Any]) -> None:
        said = parse('unit = "who"\nweighting = "rows"\nmost_rows = 9\nweight = "w"\nmax_weight = 2\n' + COLUMNS)
        with pytest.raises(ParameterError, match=f"{next(iter(given))} must be") as caught:
            CALLS[name](VISITS, said, **given)
        assert_clear(caught.value)

    @pytest.mark.parametrize("name", ["covariance", "mean", "pca", "ridge"])
    @pytest.mark.parametrize("columns", [["who", "dose"], ["dose", "effect", "who"]])
    def test_a_feature_that_tells_people_apart(self, name: str, columns: list[str]) -> None:
        with pytest.raises(DpcovError, match="no feature, and not that of groups, got 'who'"):
            CALLS[name](VISITS, PEOPLE, columns=columns)

    def test_a_table_without_people(self) -> None:
        with pytest.raises(SchemaError, match="unit must be a column of the data, got 'who' and no column"):
            dpcov.covariance(VISITS[["dose", "effect"]], RHO, schema=PEOPLE)

    def test_a_regression_by_itself_of_weighted_rows(self) -> None:
        weighted = parse('weight = "w"\nmax_weight = 2\n' + COLUMNS)
        with pytest.raises(ParameterError, match=r"must be left out of a regression .* dpcov\.covariance takes them"):
            dpcov.ridge(VISITS, RHO, "effect", alpha=0.1, schema=weighted)


@pytest.mark.parametrize("name", CALLS)
class TestEveryEntryPoint:
    def test_promises_people(self, name: str) -> None:
        made = CALLS[name](VISITS, PEOPLE)
        assert (made.unit, made.n) == ("who", VISITS["who"].nunique())
        assert f"all rows of any one of the {made.n} people" in made.statement()
        assert CALLS[name](VISITS, ALONE).n == len(VISITS)

    def test_a_schema_that_was_copied_or_pickled_does_so_too(self, name: str) -> None:
        for one in (copy.deepcopy(PEOPLE), pickle.loads(pickle.dumps(PEOPLE)), PEOPLE.select(["effect", "dose"])):
            assert CALLS[name](VISITS, one).unit == "who"


@pytest.mark.parametrize("name", ["covariance", "mean", "pca", "ridge"])
def test_an_argument_may_say_the_same_or_more(name: str) -> None:
    assert CALLS[name](VISITS, PEOPLE, unit="who").unit == "who"
    assert CALLS[name](VISITS, ALONE, unit="who").unit == "who"
    if name != "ridge":
        made = CALLS[name](VISITS, PEOPLE, weighting="rows", most_rows=5, weight="w", max_weight=2)
        assert (made.encoding.aside.most_rows, made.encoding.aside.weight) == (5, "w")


def test_the_release_is_that_of_the_arguments_and_its_file_comes_back() -> None:
    said = parse('unit = "who"\nweighting = "rows"\nmost_rows = 9\nweight = "w"\nmax_weight = 2\n' + COLUMNS)
    one = dpcov.covariance(VISITS, RHO, schema=said, seed=7501)
    beside: dict[str, Any] = {"unit": "who", "weighting": "rows", "most_rows": 9, "weight": "w", "max_weight": 2}
    other = dpcov.covariance(VISITS, RHO, schema=ALONE, seed=7501, **beside)
    assert text_of(one) == text_of(other)
    back = parse_release(text_of(one))
    assert (back.unit, back.schema) == ("who", ALONE)
    assert back.retrace().difference == ""


@pytest.mark.parametrize(
    "entry", ["who = { }", "who = { levels = [] }", "who = { lower = nan, upper = nan }", "who = { ignore = true }"]
)
def test_its_entry_may_stay_as_it_was_drafted(entry: str) -> None:
    made = dpcov.covariance(VISITS, RHO, schema=parse(f'unit = "who"\n{COLUMNS}{entry}\n'))
    assert made.feature_names == ("dose", "effect")
    assert made.unit == "who"


def test_an_array_has_it_where_the_schema_says() -> None:
    described = parse(f'unit = "who"\n{COLUMNS}who = {{ ignore = true }}\n')
    made = dpcov.covariance(VISITS[["dose", "effect", "who"]].to_numpy(), RHO, schema=described)
    assert (made.n, made.unit) == (VISITS["who"].nunique(), "who")
    with pytest.raises(SchemaError, match="each column of an array"):
        dpcov.covariance(VISITS[["dose", "effect", "who"]].to_numpy(), RHO, schema=PEOPLE)


class TestDigest:
    def test_it_covers_people(self) -> None:
        others = [
            ALONE,
            parse('unit = "w"\n' + COLUMNS),
            parse('unit = "who"\nweighting = "rows"\nmost_rows = 9\n' + COLUMNS),
            parse('unit = "who"\nweight = "w"\nmax_weight = 2\n' + COLUMNS),
        ]
        assert len({digest(one) for one in (PEOPLE, *others)}) == 5
        assert all(one != PEOPLE for one in others)
        assert digest(parse('unit = "who"\nweighting = "person"\n' + COLUMNS)) == digest(PEOPLE)

    def test_that_of_features_alone_is_what_it_was(self) -> None:
        """Ledgers hold it."""
        assert digest(ALONE) == "sha256:eb380bb75eb9cf75e87f5cdbd259d47168a937c6cd202a2bf58b0f6e07b9e399"

    def test_a_policy_holds_releases_to_it(self, tmp_path: Path) -> None:
        ledger = dpcov.Ledger.create(tmp_path / "budget.db")
        ledger.add("visits", dpcov.ZCDP(3), unit="who", policy=dpcov.Policy(schema=PEOPLE))
        visits = ledger.dataset("visits")
        with pytest.raises(ParameterError, match="schema must be that of the ledger's policy"):
            dpcov.covariance(VISITS, RHO, schema=ALONE, unit="who", ledger=visits)
        made = dpcov.covariance(VISITS, RHO, schema=PEOPLE, ledger=visits)
        assert made.unit == "who"

    def test_a_policy_holds_releases_by_group_to_it(self, tmp_path: Path) -> None:
        grouped = parse(COLUMNS + "ward = { levels = [0, 1] }\n")
        ledger = dpcov.Ledger.create(tmp_path / "budget.db")
        ledger.add("visits", dpcov.ZCDP(3), policy=dpcov.Policy(schema=grouped))
        table = VISITS.assign(ward=VISITS["who"] % 2)
        made = dpcov.covariance(table, RHO, schema=grouped, by="ward", ledger=ledger.dataset("visits"))
        assert made.groups == ("0", "1")

    def test_a_ledger_of_rows_refuses_people(self, tmp_path: Path) -> None:
        ledger = dpcov.Ledger.create(tmp_path / "budget.db")
        ledger.add("visits", dpcov.ZCDP(3))
        with pytest.raises(ParameterError, match="unit must be"):
            dpcov.covariance(VISITS, RHO, schema=PEOPLE, ledger=ledger.dataset("visits"))


class TestShell:
    @pytest.fixture(autouse=True)
    def _visits(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        VISITS.to_parquet(tmp_path / "visits.parquet")
        (tmp_path / "visits.toml").write_text('unit = "who"\n' + COLUMNS)
        monkeypatch.chdir(tmp_path)

    @pytest.mark.parametrize("command", ["release", "mean"])
    def test_releases_are_about_people(self, command: str) -> None:
        made = call(command, "visits.parquet", "--rho", "1", "--schema", "visits.toml", "-o", "r.json")
        assert made.code == 0, made.err
        assert dpcov.load("r.json").unit == "who"
        dry = call(command, "visits.parquet", "--rho", "1", "--schema", "visits.toml", "--dry-run", "--json")
        assert '"unit": "who"' in dry.out
        assert_refused(call(command, "visits.parquet", "--rho", "1", "--schema", "visits.toml", "--unit", "w", "--dry-run"), 2)

    def test_a_check_says_who_a_person_is(self) -> None:
        checked = call("schema", "check", "visits.toml", "visits.parquet")
        assert checked.code == 0, checked.err
        assert "A person is a value of 'who', with all rows that have it: each counts once." in " ".join(checked.out.split())
        assert "does not use: w (not mentioned)" in " ".join(checked.out.split())
        assert '"unit": "who"' in call("schema", "check", "visits.toml", "--json").out
        Path("visits.toml").write_text(COLUMNS)
        assert "A row is a person" in call("schema", "check", "visits.toml").out
        Path("visits.toml").write_text('unit = "nobody"\n' + COLUMNS)
        assert_refused(call("schema", "check", "visits.toml", "visits.parquet"), 2)

    def test_a_draft_offers_it_by_names_alone(self) -> None:
        table = VISITS.rename(columns={"who": "patientNumber", "w": "visit_id"})
        table.to_parquet("named.parquet")
        drafted = call("schema", "init", "named.parquet").out
        assert '# unit = "patientNumber" ' in drafted
        assert drafted.count("an identifier, by its name") == 2
        completed = drafted.replace("# unit", "unit").replace("# others", "others")
        completed = completed.replace('"dose" = { lower = nan, upper = nan }', '"dose" = { lower = 0, upper = 1 }')
        assert parse(completed).unit == "patientNumber"
        assert '# unit = "patient_id" ' in call("schema", "init", "visits.parquet").out

    def test_a_hostile_name_stays_in_its_comment(self) -> None:
        VISITS.rename(columns={"w": "id\nothers = 3\n"}).to_parquet("named.parquet")
        drafted = call("schema", "init", "named.parquet").out
        with pytest.raises(SchemaError, match="no bounds or levels"):
            parse(drafted)
