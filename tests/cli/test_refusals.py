"""Bad input to ``dpcov release``: the right exit code, one line, no cell of the data, no file, and the same in a dry run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.shell import NUMBER, SCHEMA, SECRET, assert_refused, call, people, write_people

BUDGET = ["--rho", "1"]
SCHEMED = ["--schema", "people.toml"]
CSV = ["people.csv"]
OUTPUT = ["-o", "out.json"]


def written(name: str, text: str | bytes) -> Callable[[], None]:
    def write() -> None:
        Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())

    return write


def nothing() -> None:
    pass


def cut_parquet() -> None:
    Path("cut.parquet").write_bytes(Path("people.parquet").read_bytes()[:-40])


def broken_page() -> None:
    """A Parquet file whose footer is whole and whose pages are not."""
    pq.write_table(people(), "broken.parquet", compression="none", use_dictionary=False)
    content = bytearray(Path("broken.parquet").read_bytes())
    content[4:60] = b"\xff" * 56
    Path("broken.parquet").write_bytes(bytes(content))


def folder_and_devices() -> None:
    Path("folder").mkdir()


def without_rows() -> None:
    pq.write_table(people().slice(0, 0), "none.parquet")


def twice() -> None:
    pq.write_table(pa.Table.from_arrays([pa.array([1.0]), pa.array([1.0])], names=["age", "age"]), "twice.parquet")


# name: what to prepare, the arguments, the exit code. Nothing of this needs a row to be refused.
BEFORE_READING = {
    "no budget": (nothing, [*CSV, *SCHEMED, *OUTPUT], 2),
    "two budgets": (nothing, [*CSV, *BUDGET, "--epsilon", "1", *SCHEMED, *OUTPUT], 2),
    "budget of nothing": (nothing, [*CSV, "--epsilon", "0", *SCHEMED, *OUTPUT], 2),
    "negative budget": (nothing, [*CSV, "--epsilon", "-1", *SCHEMED, *OUTPUT], 2),
    "budget of text": (nothing, [*CSV, "--rho", "much", *SCHEMED, *OUTPUT], 2),
    "budget that is too small": (nothing, [*CSV, "--epsilon", "1e-300", *SCHEMED, *OUTPUT], 2),
    "no public knowledge": (nothing, [*CSV, *BUDGET, *OUTPUT], 2),
    "both kinds of it": (nothing, [*CSV, *BUDGET, *SCHEMED, "--row-norm", "1", *OUTPUT], 2),
    "row norm of nothing": (nothing, [*CSV, *BUDGET, "--row-norm", "0", *OUTPUT], 2),
    "row norm nan": (nothing, [*CSV, *BUDGET, "--row-norm", "nan", *OUTPUT], 2),
    "seed": (nothing, [*CSV, *BUDGET, *SCHEMED, "--seed", "-1", *OUTPUT], 2),
    "mechanism": (nothing, [*CSV, *BUDGET, *SCHEMED, "--mechanism", "magic", *OUTPUT], 2),
    "mechanism of another notion": (nothing, [*CSV, *BUDGET, *SCHEMED, "--mechanism", "laplace", *OUTPUT], 2),
    "postprocess": (nothing, [*CSV, *BUDGET, *SCHEMED, "--postprocess", "magic", *OUTPUT], 2),
    "neighbors": (nothing, [*CSV, *BUDGET, *SCHEMED, "--neighbors", "swap", *OUTPUT], 2),
    "option of no mechanism": (nothing, [*CSV, *BUDGET, *SCHEMED, "--option", "magic=1", *OUTPUT], 2),
    "option of the library": (nothing, [*CSV, *BUDGET, *SCHEMED, "--option", "seed=1", *OUTPUT], 2),
    "option without value": (nothing, [*CSV, *BUDGET, *SCHEMED, "--option", "numerics", *OUTPUT], 2),
    "option with a wrong value": (nothing, [*CSV, *BUDGET, *SCHEMED, "--option", "numerics=1", *OUTPUT], 2),
    "option twice": (nothing, [*CSV, *BUDGET, *SCHEMED, *["--option", "numerics=exact"] * 2, *OUTPUT], 2),
    "no such column": (nothing, [*CSV, *BUDGET, *SCHEMED, "--columns", "age,wage", *OUTPUT], 2),
    "no such column without schema": (nothing, [*CSV, *BUDGET, "--row-norm", "1", "--columns", "wage", *OUTPUT], 2),
    "columns of nothing": (nothing, [*CSV, *BUDGET, *SCHEMED, "--columns", "age,,job", *OUTPUT], 2),
    "column twice": (nothing, [*CSV, *BUDGET, "--row-norm", "1", "--columns", "age,age", *OUTPUT], 2),
    "schema with another column": (
        written("s.toml", SCHEMA + "wage = { lower = 0, upper = 1 }"), [*CSV, *BUDGET, "--schema", "s.toml", *OUTPUT], 2,
    ),
    "swapped bounds": (
        written("s.toml", "[columns]\nage = { lower = 100, upper = 0 }"), [*CSV, *BUDGET, "--schema", "s.toml", *OUTPUT], 2,
    ),
    "draft of a schema": (
        written("s.toml", "[columns]\nage = { lower = nan, upper = nan }"), [*CSV, *BUDGET, "--schema", "s.toml", *OUTPUT], 2,
    ),
    "schema that is no TOML": (written("s.toml", "age: 1"), [*CSV, *BUDGET, "--schema", "s.toml", *OUTPUT], 2),
    "no such schema": (nothing, [*CSV, *BUDGET, "--schema", "s.toml", *OUTPUT], 4),
    "text column": (nothing, ["people.parquet", *BUDGET, "--row-norm", "1", *OUTPUT], 2),
    "text column with bounds": (
        written("s.toml", "[columns]\njob = { lower = 0, upper = 1 }"),
        ["people.parquet", *BUDGET, "--schema", "s.toml", *OUTPUT], 2,
    ),
    "two columns of one name": (twice, ["twice.parquet", *BUDGET, "--row-norm", "1", *OUTPUT], 2),
    "no such data": (nothing, ["nowhere.csv", *BUDGET, *SCHEMED, *OUTPUT], 4),
    "a directory as data": (folder_and_devices, ["folder", *BUDGET, *SCHEMED, *OUTPUT], 4),
    "another ending": (written("people.doc", SECRET), ["people.doc", *BUDGET, *SCHEMED, *OUTPUT], 2),
    "an empty file": (written("empty.csv", ""), ["empty.csv", *BUDGET, *SCHEMED, *OUTPUT], 4),
    "an empty Parquet file": (written("empty.parquet", ""), ["empty.parquet", *BUDGET, *SCHEMED, *OUTPUT], 4),
    "a truncated Parquet file": (cut_parquet, ["cut.parquet", *BUDGET, *SCHEMED, *OUTPUT], 4),
    "text called Parquet": (written("t.parquet", f"{SECRET},{NUMBER}"), ["t.parquet", *BUDGET, *SCHEMED, *OUTPUT], 4),
    "a Parquet file without rows": (without_rows, ["none.parquet", *BUDGET, *SCHEMED, *OUTPUT], 2),
    "a CSV file without names": (
        written("n.csv", f"{NUMBER},{SECRET}\n1,a\n"), ["n.csv", *BUDGET, "--row-norm", "1", *OUTPUT], 2,
    ),
    "output in no folder": (nothing, [*CSV, *BUDGET, *SCHEMED, "-o", "missing/out.json"], 4),
    "output is a directory": (folder_and_devices, [*CSV, *BUDGET, *SCHEMED, "-o", "folder"], 4),
    "output is a directory, by force": (folder_and_devices, [*CSV, *BUDGET, *SCHEMED, "-o", "folder", "--force"], 4),
    "output is a device": (nothing, [*CSV, *BUDGET, *SCHEMED, "-o", "/dev/null", "--force"], 4),
    "output below a file": (nothing, [*CSV, *BUDGET, *SCHEMED, "-o", "people.csv/out.json"], 4),
    "output exists": (written("out.json", "paid for"), [*CSV, *BUDGET, *SCHEMED, *OUTPUT], 2),
    "output is the data": (nothing, [*CSV, *BUDGET, *SCHEMED, "-o", "people.csv", "--force"], 2),
    "output is the schema": (nothing, [*CSV, *BUDGET, *SCHEMED, "-o", "people.toml", "--force"], 2),
    "output without a name": (nothing, [*CSV, *BUDGET, *SCHEMED, "-o", ""], 2),
}  # fmt: skip

WHILE_READING = {
    "a ragged CSV file": (
        written("r.csv", f"age,job\n1,clerk\n{NUMBER},{SECRET},{SECRET}\n"), ["r.csv", *BUDGET, *SCHEMED, *OUTPUT], 4,
    ),
    "a ragged end": (
        written("r.csv", "age,job\n" + "1,clerk\n" * 1_200_000 + f"{SECRET}\n"), ["r.csv", *BUDGET, *SCHEMED, *OUTPUT], 4,
    ),
    "a CSV file without rows": (written("h.csv", "age,job\n"), ["h.csv", *BUDGET, *SCHEMED, *OUTPUT], 2),
    "a broken page": (broken_page, ["broken.parquet", *BUDGET, *SCHEMED, *OUTPUT], 4),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _in_a_folder_with_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_people(tmp_path)
    monkeypatch.chdir(tmp_path)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("case", [*BEFORE_READING, *WHILE_READING])
def test_bad_input_is_refused(case: str, tmp_path: Path) -> None:
    prepare, arguments, code = (BEFORE_READING | WHILE_READING)[case]
    prepare()
    before = contents(tmp_path)
    assert_refused(call("release", *arguments), code)
    assert contents(tmp_path) == before


@pytest.mark.parametrize("case", BEFORE_READING)
def test_a_dry_run_refuses_the_same_with_the_same_words(case: str, tmp_path: Path) -> None:
    prepare, arguments, _ = BEFORE_READING[case]
    prepare()
    before = contents(tmp_path)
    assert call("release", *arguments, "--dry-run") == call("release", *arguments)
    assert contents(tmp_path) == before


def test_an_output_is_needed_unless_it_is_a_dry_run() -> None:
    assert_refused(call("release", *CSV, *BUDGET, *SCHEMED), 2)


def test_values_of_options_are_numbers_where_they_look_so() -> None:
    from dpcov.mechanisms.option_text import read_options

    read = read_options(["a=3", "b=-2.5e-3", "c=true", "d=False", "e=paper", "f=", "g=1=2", "h=nan"])
    assert read == {"a": 3, "b": -2.5e-3, "c": True, "d": False, "e": "paper", "f": "", "g": "1=2", "h": "nan"}
    assert [type(value) for value in read.values()] == [int, float, bool, bool, str, str, str, str]
