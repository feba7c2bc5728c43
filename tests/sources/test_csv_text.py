"""CSV files with other separators, decimal commas and older encodings: the same cells, the same integers."""

from __future__ import annotations

import codecs
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest

import dpcov
from dpcov import Csv
from dpcov.errors import ParameterError
from dpcov.kernel.questions.moments import Count, SecondMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.sources.csv_text import BYTES, ENCODINGS, in_utf_8
from dpcov.sources.opening import open_source
from tests.cli.shell import assert_refused, call

SCHEMA = dpcov.Schema(
    {"größe": dpcov.Numeric(0, 3), "ort": dpcov.Categorical(["Köln", "Zürich, Stadt"]), "stufe": dpcov.Categorical([1.5, 2])}
)
LINES = [
    ("größe", "ort", "stufe"),
    ("1.75", "Köln", "1.5"),
    ("-.5", "Zürich, Stadt", "2"),
    ("2", "", "2.0"),
    ("1e0", "Bonn", "x"),
]


def written(path: Path, separator: str, decimal: str, encoding: str) -> Path:
    """Write the lines; cells that hold the separator are quoted."""
    head, *rows = LINES
    cells = [head, *((a.replace(".", decimal), b, c.replace(".", decimal)) for a, b, c in rows)]
    quoted = [[f'"{cell}"' if separator in cell else cell for cell in row] for row in cells]
    content = "\n".join(separator.join(row) for row in quoted).encode(encoding)
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def sums(data: Any, schema: dpcov.Schema = SCHEMA) -> tuple[list[int], int]:
    source = open_source(data, schema=schema, center=True)
    return source.total(SecondMoment(Grid(1.0, center=True), source.d)).tolist(), int(source.total(Count())[0])


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "cp1252", "utf-16", "UTF8", "iso-8859-15", "utf-16-le"])
@pytest.mark.parametrize(("separator", "decimal"), [(";", ","), ("|", "."), ("\t", ","), (",", "."), (":", ",")])
@pytest.mark.parametrize("name", ["people.csv", "people.txt", "people.csv.gz"])
def test_however_it_is_written_the_integers_are_the_same(
    tmp_path: Path, separator: str, decimal: str, encoding: str, name: str
) -> None:
    usual = written(tmp_path / "usual.csv", ",", ".", "utf-8")
    other = written(tmp_path / name, separator, decimal, encoding)
    assert sums(Csv(other, separator=separator, decimal=decimal, encoding=encoding)) == sums(usual)


def test_the_usual_file_is_read_as_ever(tmp_path: Path) -> None:
    usual = written(tmp_path / "usual.csv", ",", ".", "utf-8")
    assert sums(Csv(usual)) == sums(str(usual)) == sums(Csv(str(usual), separator=","))
    tabs = written(tmp_path / "usual.tsv", "\t", ",", "utf-8")
    assert sums(Csv(tabs, decimal=",")) == sums(usual)


@pytest.mark.parametrize(("decimal", "there"), [(".", ["1.5", " 2 ", "1e1"]), (",", ["1,5", " 2 ", "1e1"])])
def test_a_mark_between_thousands_makes_a_missing_cell(tmp_path: Path, decimal: str, there: list[str]) -> None:
    """And so does the other decimal sign: 1.234 is not guessed to be a thousand."""
    path = tmp_path / "numbers.csv"
    schema = dpcov.Schema({"x": dpcov.Numeric(-10, 10_000)})
    absent = ["1.234,5", "1,234.5", "1'234", "1 234", "1_234", "1.5" if decimal == "," else "1,5", "1\u00a0234"]

    def read(cells: list[str]) -> tuple[list[int], int]:
        path.write_text("x;y\n" + "".join(f"{cell};0\n" for cell in cells), encoding="utf-8")
        return sums(Csv(path, separator=";", decimal=decimal), schema)

    for cell in absent:
        assert read([cell, "1"]) == read(["", "1"])
    for cell in there:
        assert read([cell, "1"]) != read(["", "1"])


@pytest.mark.parametrize(
    "encoding", ["latin-1", "cp1252", "cp437", "mac-roman", "koi8-r", "utf-16", "utf-32", "gb18030", "shift_jis"]
)
def test_no_bytes_are_refused(encoding: str) -> None:
    """An error would tell that some cell holds them."""
    assert codecs.lookup(encoding).name.startswith(ENCODINGS)
    every = bytes(i for i in range(256) if i not in b'\r\n;"') * 3
    stream = in_utf_8(io.BytesIO("a;b\n1;2\n".encode(encoding) + every + "\n3;4\n".encode(encoding)), encoding)
    assert b"".join(iter(lambda: stream.read(7), b"")).decode("utf-8")


def test_a_letter_across_two_readings_stays_whole() -> None:
    text = "a;b\n" + "x;ü€\n" * BYTES
    stream = in_utf_8(io.BytesIO(text.encode("utf-16")), "utf-16")
    assert b"".join(iter(lambda: stream.read(1000), b"")).decode("utf-8") == text


BAD: list[dict[str, Any]] = [
    {"separator": ""}, {"separator": ";;"}, {"separator": "a"}, {"separator": '"'}, {"separator": "."}, {"separator": 1},
    {"decimal": ";"}, {"decimal": None}, {"decimal": ","}, {"separator": ",", "decimal": ","},
    {"encoding": "klingon"}, {"encoding": "rot13"}, {"encoding": "idna"}, {"encoding": None}, {"encoding": "base64"},
    {"encoding": "unicode_escape"}, {"encoding": "a\0b"}, {"path": 3}, {"path": Csv("a.csv")},
]  # fmt: skip


@pytest.mark.parametrize("given", BAD, ids=repr)
def test_what_is_no_way_to_write_a_table(given: dict[str, Any]) -> None:
    with pytest.raises(
        ParameterError, match=r"^(separator|decimal|encoding|path) must be? .+, got .+\. Hint: .+\.$|must differ"
    ):
        Csv(**{"path": "people.csv", **given})


def test_a_parquet_file_has_no_separator(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(ParameterError, match="data must be a CSV file"):
        open_source(Csv(tmp_path / "a.parquet", separator=";"))


class TestCommands:
    FLAGS = ("--separator", ";", "--decimal", ",", "--encoding", "latin-1")

    @pytest.fixture(autouse=True)
    def _files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        written(tmp_path / "german.csv", ";", ",", "latin-1")
        written(tmp_path / "usual.csv", ",", ".", "utf-8")
        text = "größe = { lower = 0, upper = 3 }\nort = { levels = ['Köln'] }\nstufe = { levels = [1.5, 2] }\n"
        Path("people.toml").write_text("[columns]\n" + text.replace("größe", "'größe'"), encoding="utf-8")

    @pytest.mark.parametrize("command", ["release", "mean"])
    def test_releases_are_alike(self, command: str) -> None:
        common = ("--epsilon", "1", "--schema", "people.toml", "--seed", "1", "--quiet")
        assert call(command, "german.csv", *self.FLAGS, *common, "-o", "german.json").code == 0
        assert call(command, "usual.csv", *common, "-o", "usual.json").code == 0
        assert Path("german.json").read_text(encoding="utf-8") == Path("usual.json").read_text(encoding="utf-8")

    def test_every_command_that_reads_a_table_takes_them(self) -> None:
        assert '"größe"' in call("schema", "init", "german.csv", *self.FLAGS).out
        checked = json.loads(call("schema", "check", "people.toml", "german.csv", *self.FLAGS, "--json").out)
        assert checked["unused_columns"] == []
        common = ("--epsilon", "1", "--schema", "people.toml")
        dry = call("release", "german.csv", *self.FLAGS, *common, "--dry-run")
        assert (dry.code, dry.err) == (0, "")
        made = call("release", "german.csv", *self.FLAGS, *common, "-o", "out.json", "--quiet")
        assert made.code == 0
        new = ("predict", "out.json", "german.csv", "--target", "größe", "--features", "stufe", "--quiet")
        assert call(*new, *self.FLAGS).out == call(*(word.replace("german", "usual") for word in new)).out
        assert call("compare", "german.csv", *self.FLAGS, *common, "--runs", "1", "--mechanism", "gaussian:clip=none").code in (
            0,
            2,
        )

    def test_a_tab_can_be_written(self, tmp_path: Path) -> None:
        written(tmp_path / "tabs.txt", "\t", ".", "utf-8")
        for sign in ("tab", "\\t", "\t"):
            assert call("schema", "check", "people.toml", "tabs.txt", "--separator", sign).code == 0

    def test_refusals_name_flags(self) -> None:
        broken = call("schema", "check", "people.toml", "german.csv", "--encoding", "latin-1")
        assert_refused(broken, 4)
        assert "--separator and --encoding say that they are others" in broken.err
        Path("plain.csv").write_text("a;b\n1;2\n", encoding="utf-8")
        told = call("schema", "init", "plain.csv")
        assert_refused(told, 2)
        assert "Hint: --separator ';' says what separates them." in told.err
        assert_refused(call("schema", "check", "people.toml", "--separator", ";"), 2)
        assert "--encoding must be" in call("schema", "init", "german.csv", "--encoding", "klingon").err
        assert "--separator must be" in call("schema", "init", "german.csv", "--separator", "ab").err
