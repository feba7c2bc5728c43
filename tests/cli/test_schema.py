"""``dpcov schema``: drafts and checks, without reading a row."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcov
from tests.cli.shell import NUMBER, SCHEMA, SECRET, assert_refused, call, run, write_people


@pytest.fixture(autouse=True)
def _in_a_folder_with_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_people(tmp_path)
    monkeypatch.chdir(tmp_path)

    def no_rows(*_: object) -> None:
        raise AssertionError("a row was read")

    for table in ("ParquetTable", "CsvTable"):
        monkeypatch.setattr(f"dpcov.sources.files.{table}.batches", no_rows)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_draft_has_names_and_kinds_and_no_values(ending: str, tmp_path: Path) -> None:
    drafted = call("schema", "init", f"people.{ending}")
    assert (drafted.code, drafted.err) == (0, "")
    for name in ("age", "job", "name"):
        assert f'"{name}" = ' in drafted.out
    assert ('"age" = { lower = nan, upper = nan }' in drafted.out) == (ending == "parquet")
    assert ('"job" = { levels = [] }' in drafted.out) == (ending == "parquet")
    assert SECRET not in drafted.out
    assert str(NUMBER) not in drafted.out
    assert run("schema", "init", f"people.{ending}", cwd=tmp_path) == drafted


def test_a_draft_can_be_completed_and_used() -> None:
    assert call("schema", "init", "people.parquet", "-o", "draft.toml").code == 0
    draft = Path("draft.toml").read_text(encoding="utf-8")
    assert_refused(call("schema", "check", "draft.toml"), 2)
    complete = draft.replace("lower = nan, upper = nan", "lower = 0, upper = 100")
    complete = complete.replace('"name" = { levels = [] }', '"name" = { ignore = true }').replace("[]", '["clerk"]')
    Path("draft.toml").write_text(complete, encoding="utf-8")
    checked = json.loads(call("schema", "check", "draft.toml", "people.parquet", "--json").out)
    assert (checked["d"], checked["unused_columns"]) == (2, ["name"])
    assert_refused(call("schema", "init", "people.parquet", "-o", "draft.toml"), 2)
    assert Path("draft.toml").read_text(encoding="utf-8") == complete
    assert call("schema", "init", "people.parquet", "-o", "draft.toml", "--force").code == 0
    assert Path("draft.toml").read_text(encoding="utf-8") == draft


def test_a_draft_says_how_to_leave_the_rest_as_it_is() -> None:
    """The line that is switched off works once it is switched on, and the columns left are named as ignored."""
    assert call("schema", "init", "people.csv", "-o", "draft.toml").code == 0
    draft = Path("draft.toml").read_text(encoding="utf-8")
    complete = draft.replace('"age" = { }', '"age" = { lower = 0, upper = 100 }')
    Path("draft.toml").write_text(complete, encoding="utf-8")
    refused = call("schema", "check", "draft.toml")
    assert_refused(refused, 2)
    assert "no bounds or levels for 'job', 'name'" in refused.err
    Path("draft.toml").write_text(complete.replace("# others", "others"), encoding="utf-8")
    assert dpcov.Schema.read("draft.toml").feature_names == ("age",)
    assert "does not use: job (ignored), name (ignored)." in call("schema", "check", "draft.toml", "people.csv").out
    Path("short.toml").write_text('others = "ignore"\n[columns]\nage = { lower = 0, upper = 100 }\n', encoding="utf-8")
    assert "does not use: job (ignored), name (ignored)." in call("schema", "check", "short.toml", "people.parquet").out


def test_all_missing_columns_are_told_at_once() -> None:
    text = "".join(f"{name} = {{ lower = 0, upper = 100 }}\n" for name in ("age", "Job", "height"))
    Path("other.toml").write_text(f"[columns]\n{text}", encoding="utf-8")
    for data in ("people.csv", "people.parquet"):
        refused = call("schema", "check", "other.toml", data)
        assert_refused(refused, 2)
        assert "one column 'Job', 'height', got no column of these names" in refused.err


def test_unusual_names_survive_the_draft() -> None:
    names = ["Größe in m", 'say "hi"', "a.b", "line\nbreak", "[columns]", "日本"]
    pq.write_table(pa.table({name: [1.0] for name in names}), "odd.parquet")
    assert call("schema", "init", "odd.parquet", "-o", "odd.toml").code == 0
    text = Path("odd.toml").read_text(encoding="utf-8").replace("nan, upper = nan", "0, upper = 1")
    Path("odd.toml").write_text(text, encoding="utf-8")
    assert dpcov.Schema.read("odd.toml").feature_names == tuple(names)
    assert call("schema", "check", "odd.toml", "odd.parquet").code == 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["init", "nowhere.csv"], 4),
        (["init", "people.toml"], 2),
        (["init", "twice.parquet"], 2),
        (["init", "people.csv", "-o", "missing/draft.toml"], 4),
        (["init", "people.csv", "-o", "people.csv", "--force"], 2),
        (["check", "nowhere.toml"], 4),
        (["check", "people.csv"], 2),
        (["check", "people.toml", "other.parquet"], 2),
        (["check", "people.toml", "nowhere.csv"], 4),
        (["check", "numbers.toml", "people.parquet"], 2),
    ],
)
def test_bad_input_is_refused(arguments: list[str], code: int) -> None:
    pq.write_table(pa.Table.from_arrays([pa.array([1.0]), pa.array([1.0])], names=["age", "age"]), "twice.parquet")
    pq.write_table(pa.table({"age": [1.0]}), "other.parquet")
    Path("numbers.toml").write_text("[columns]\njob = { lower = 0, upper = 1 }", encoding="utf-8")
    before = sorted(Path().iterdir())
    assert_refused(call("schema", *arguments), code)
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize("data", [[], ["people.csv"], ["people.parquet"]])
def test_check_describes_each_column(data: list[str]) -> None:
    text = SCHEMA + "name = { ignore = true }\n"
    Path("full.toml").write_text(text.replace("upper = 100", "upper = 100, weight = 2"), encoding="utf-8")
    checked = call("schema", "check", "full.toml", *data)
    assert (checked.code, checked.err) == (0, "")
    for words in ("0 to 100", "3 levels", "80.0%", "20.0%", "ignored", "d = 4 features"):
        assert words in checked.out
    assert ("does not use: name (ignored)." in checked.out) == bool(data)
    facts = json.loads(call("schema", "check", "full.toml", *data, "--json").out)
    assert facts["d"] == 4
    assert facts["columns"]["age"] == {"kind": "numeric", "range": "0 to 100", "share": 0.8, "features": 1}
    assert facts["unused_columns"] == (["name"] if data else None)


def test_check_names_the_columns_that_are_not_used() -> None:
    """A column that the schema forgot is named, and told from one that it ignores; of very many, the first."""
    table = pa.table({name: [1.0] for name in ("age", "id", "forgotten", *(f"x{i}" for i in range(30)))})
    pq.write_table(table, "wide.parquet")
    Path("wide.toml").write_text("[columns]\nage = { lower = 0, upper = 1 }\nid = { ignore = true }\n", encoding="utf-8")
    checked = call("schema", "check", "wide.toml", "wide.parquet")
    assert "does not use: id (ignored), forgotten (not mentioned), x0 (not mentioned), " in checked.out
    assert "x17 (not mentioned), ... and 12 more (--json has all)." in checked.out
    assert "x18" not in checked.out
    assert (
        json.loads(call("schema", "check", "wide.toml", "wide.parquet", "--json").out)["unused_columns"]
        == table.column_names[1:]
    )
    pq.write_table(table.select(["age"]), "narrow.parquet")
    Path("narrow.toml").write_text("[columns]\nage = { lower = 0, upper = 1 }\n", encoding="utf-8")
    assert "Every column of the table is used." in call("schema", "check", "narrow.toml", "narrow.parquet").out


def test_wide_bounds_are_written_out() -> None:
    Path("wide.toml").write_text("[columns]\nage = { lower = -0.5, upper = 1500000 }\n", encoding="utf-8")
    assert "-0.5 to 1500000" in call("schema", "check", "wide.toml").out


class TestCodebooks:
    BOOK = "name;type;min;max;levels;unit\nage;integer;0;120;;years\njob;text;;;clerk|nurse;\nname;ignore;;;;\n"

    def test_a_codebook_alone_or_beside_a_table(self, tmp_path: Path) -> None:
        Path("book.csv").write_text(self.BOOK, encoding="utf-8")
        for data in ((), ("people.csv",), ("people.parquet",)):
            told = call("schema", "init", *data, "--from", "book.csv", "-o", "made.toml", "--force")
            assert (told.code, told.err) == (0, "")
            assert told.out.strip().endswith(f"dpcov schema check made.toml {data[0] if data else 'DATA'}")
            assert call("schema", "check", "made.toml", "people.parquet").code == 0
        assert call("schema", "init", "--from", "book.csv").out == run("schema", "init", "--from", "book.csv", cwd=tmp_path).out

    @pytest.mark.parametrize(
        ("book", "words"),
        [
            (BOOK.replace("120", "old"), "under 'max' in line 2 (age), got 'old'"),
            (BOOK.replace("integer", "intger"), "under 'type' in line 2 (age)"),
            (BOOK.replace("clerk|nurse", "clerk, nurse"), "under 'levels' in line 3 (job)"),
            (BOOK.replace("name;", "what;", 1), "a heading for the names of columns"),
        ],
    )
    def test_what_is_wrong_is_named_with_its_line(self, book: str, words: str) -> None:
        Path("book.csv").write_text(book, encoding="utf-8")
        told = call("schema", "init", "people.csv", "--from", "book.csv", "-o", "made.toml")
        assert_refused(told, 2)
        assert words in told.err
        assert not Path("made.toml").exists()

    def test_no_file_no_codebook_and_one_that_would_be_overwritten(self) -> None:
        assert_refused(call("schema", "init", "--from", "nowhere.csv"), 4)
        assert_refused(call("schema", "init"), 2)
        Path("book.csv").write_text(self.BOOK, encoding="utf-8")
        assert_refused(call("schema", "init", "--from", "book.csv", "-o", "book.csv", "--force"), 2)
        assert_refused(call("schema", "init", "--from", "book.csv", "--separator", ";"), 2)

    def test_suggestions_are_comments(self) -> None:
        drafted = call("schema", "init", "people.parquet").out
        line = next(line for line in drafted.splitlines() if line.startswith('"age"'))
        assert line.startswith('"age" = { lower = nan, upper = nan }  # usual: lower = 0, upper = 120 in years (')
