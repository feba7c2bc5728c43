"""What a schema, and a file that should hold one, is refused for: one line that names the column."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpcov.errors import DpcovError, EngineError, ParameterError, SchemaError
from dpcov.schema import Categorical, Ignored, Numeric, Schema
from dpcov.schema.file import parse, read

NAN, INF = float("nan"), float("inf")

ENTRIES = {
    "no table": "17",
    "text": "'numeric'",
    "a list": "[0, 120]",
    "nothing": "{ }",
    "only lower": "{ lower = 0 }",
    "only upper": "{ upper = 0 }",
    "only weight": "{ weight = 1 }",
    "nan": "{ lower = nan, upper = 1 }",
    "inf": "{ lower = 0, upper = inf }",
    "-inf": "{ lower = -inf, upper = 0 }",
    "swapped": "{ lower = 2, upper = 1 }",
    "equal": "{ lower = 1, upper = 1.0 }",
    "all but equal": "{ lower = 0, upper = 5e-324 }",
    "too large": "{ lower = 0, upper = 1e200 }",
    "endless": "{ lower = 0, upper = " + "9" * 400 + " }",
    "text as a bound": "{ lower = '0', upper = 1 }",
    "truth as a bound": "{ lower = false, upper = 1 }",
    "truth as the other bound": "{ lower = 0, upper = true }",
    "one date as a bound": "{ lower = 2020-01-01, upper = 2021 }",
    "a list as a bound": "{ lower = [0], upper = 1 }",
    "integer 1": "{ lower = 0, upper = 1, integer = 1 }",
    "integer levels": "{ levels = [1, 2], integer = true }",
    "no whole number": "{ lower = 0.1, upper = 0.9, integer = true }",
    "weight 0": "{ lower = 0, upper = 1, weight = 0 }",
    "weight below 0": "{ levels = ['a'], weight = -1 }",
    "weight nan": "{ lower = 0, upper = 1, weight = nan }",
    "weight inf": "{ levels = ['a'], weight = inf }",
    "weight 1e7": "{ levels = ['a'], weight = 1e7 }",
    "weight true": "{ levels = ['a'], weight = true }",
    "weight text": "{ levels = ['a'], weight = '1' }",
    "no levels": "{ levels = [] }",
    "levels twice": "{ levels = ['a', 'b', 'a'] }",
    "numbers twice": "{ levels = [1, 2, 1.0] }",
    "zero twice": "{ levels = [0.0, -0.0] }",
    "mixed levels": "{ levels = ['a', 1] }",
    "truth and numbers": "{ levels = [true, 1] }",
    "truth and text": "{ levels = [true, 'false'] }",
    "dates": "{ levels = [2020-01-01] }",
    "nested levels": "{ levels = [['a'], ['b']] }",
    "tables as levels": "{ levels = [{a = 1}] }",
    "levels as text": "{ levels = 'ab' }",
    "levels as a number": "{ levels = 2 }",
    "levels as a table": "{ levels = { a = 1 } }",
    "nan as a level": "{ levels = [1.0, nan] }",
    "inf as a level": "{ levels = [inf] }",
    "a level beyond float64": "{ levels = [9007199254740993] }",
    "ignore false": "{ ignore = false }",
    "ignore 1": "{ ignore = 1 }",
    "ignore and bounds": "{ ignore = true, lower = 0, upper = 1 }",
    "ignore and weight": "{ ignore = true, weight = 1 }",
    "levels and bounds": "{ levels = ['a'], lower = 0, upper = 1 }",
    "unknown key": "{ lower = 0, upper = 1, unit = 'cm' }",
    "misspelt key": "{ Lower = 0, upper = 1 }",
}


def assert_clear(error: DpcovError) -> str:
    message = str(error)
    assert re.fullmatch(r".+ must .+, got .+\. Hint: .+[.?]", message), message
    return message


@pytest.mark.parametrize("case", ENTRIES)
def test_a_wrong_entry_is_named(case: str, tmp_path: Path) -> None:
    text = f"[columns]\ngood = {{ lower = 0, upper = 1 }}\n'größe 1' = {ENTRIES[case]}\n"
    path = tmp_path / "schema.toml"
    path.write_text(text, encoding="utf-8")
    for reader, argument in ((parse, text), (read, str(path)), (Schema.read, str(path))):
        with pytest.raises(SchemaError) as raised:
            reader(argument)
        assert "column 'größe 1'" in assert_clear(raised.value)
        assert isinstance(raised.value, ValueError)


def test_the_entries_around_a_wrong_one_are_right() -> None:
    # Otherwise every refusal above could be about them.
    assert parse("[columns]\ngood = { lower = 0, upper = 1 }\n'größe 1' = { levels = ['a'] }").feature_names == (
        "good",
        "größe 1=a",
    )


def test_all_wrong_entries_are_told_at_once() -> None:
    text = (
        "[columns]\na = { }\ngood = { lower = 0, upper = 1 }\nb = { lower = nan, upper = nan }\nc = { levels = [] }\n"
        "d = { lower = 2, upper = 1 }\ne = { levels = ['x', 'x'] }\nf = 7\n"
    )
    with pytest.raises(SchemaError) as raised:
        parse(text)
    message = assert_clear(raised.value)
    assert "no bounds or levels for 'a', 'b', 'c'; " in message
    for name in "def":
        assert f"column '{name}'" in message
    assert "good" not in message
    assert message.count("Hint: ") == 1


def test_of_very_many_wrong_entries_some_are_told() -> None:
    for entry, word in (("{ }", "'c199'"), ("{ lower = 2, upper = 1 }", "column 'c199'")):
        with pytest.raises(SchemaError) as raised:
            parse("[columns]\n" + "".join(f"c{i} = {entry}\n" for i in range(5000)))
        message = assert_clear(raised.value)
        assert word in message
        assert "'c200'" not in message
        assert "; and 4800 more. Hint: " in message


class TestOthers:
    DRAFT = "[columns]\na = { }\nb = { lower = nan, upper = nan }\nc = { levels = [] }\nage = { lower = 0, upper = 1 }\n"

    def test_what_is_left_as_drafted_is_ignored(self) -> None:
        schema = parse('others = "ignore"\n' + self.DRAFT)
        assert schema.others == "ignore"
        assert schema.feature_names == ("age",)
        assert [name for name, column in schema.columns.items() if isinstance(column, Ignored)] == ["a", "b", "c"]
        with pytest.raises(SchemaError, match="no bounds or levels for 'a', 'b', 'c'"):
            parse(self.DRAFT)

    @pytest.mark.parametrize(
        "entry",
        [
            "{ lower = 0, upper = nan }",
            "{ lower = nan, upper = nan, weight = 2 }",
            "{ levels = [], weight = 2 }",
            "{ weight = 1 }",
        ],
    )
    def test_what_was_begun_is_not(self, entry: str) -> None:
        with pytest.raises(SchemaError, match="column 'b'"):
            parse(f'others = "ignore"\n[columns]\nage = {{ lower = 0, upper = 1 }}\nb = {entry}\n')

    @pytest.mark.parametrize("others", ["'Ignore'", "true", "['ignore']", "''", "'keep'", "nan"])
    def test_other_words_are_refused(self, others: str) -> None:
        with pytest.raises(SchemaError, match="others must be 'ignore'") as raised:
            parse(f"others = {others}\n[columns]\nage = {{ lower = 0, upper = 1 }}\n")
        assert_clear(raised.value)

    def test_python_copies_and_pickles(self) -> None:
        schema = Schema({"age": Numeric(0, 1)}, others="ignore")
        assert copy.deepcopy(schema).others == pickle.loads(pickle.dumps(schema)).others == "ignore"
        assert schema == Schema({"age": Numeric(0, 1)})
        bad: Any
        for bad in ("all", 1, True, [], b"ignore"):
            with pytest.raises(SchemaError) as raised:
                Schema({"age": Numeric(0, 1)}, others=bad)
            assert_clear(raised.value)


FILES = {
    "empty": "",
    "no columns": "title = 'x'",
    "columns is a list": "columns = [1]",
    "columns is text": "columns = 'age'",
    "array of tables": "[[columns]]\nage = { ignore = true }",
    "other tables": "[columns]\nage = { lower = 0, upper = 1 }\n[other]\n",
    "a key beside": "x = 1\n[columns]\nage = { lower = 0, upper = 1 }",
    "columns without any": "[columns]\n",
    "all ignored": "[columns]\nage = { ignore = true }",
    "twice the same column": "[columns]\nage = { lower = 0, upper = 1 }\nage = { lower = 0, upper = 1 }",
    "a name with a blank": "[columns]\nmy age = { lower = 0, upper = 1 }",
    "an empty name": "[columns]\n'' = { lower = 0, upper = 1 }",
    "a dotted name": "[columns]\na.b = { lower = 0, upper = 1 }",
    "two features alike": "[columns]\n'a=b' = { lower = 0, upper = 1 }\na = { levels = ['b'] }",
    "not closed": "[columns]\nage = { lower = 0",
    "CSV": "age,sex\n17,f\n",
    "JSON": '{"columns": {}}',
    "nesting": "[columns]\na = " + "[" * 50_000,
    "digits": "[columns]\na = { lower = 0, upper = " + "9" * 5000 + " }",
    "NUL": "\0",
}


@pytest.mark.parametrize("case", FILES)
def test_another_file_is_refused(case: str) -> None:
    with pytest.raises(SchemaError) as raised:
        parse(FILES[case])
    assert_clear(raised.value)


def test_bytes_and_paths(tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_bytes("[columns]\n'größe' = { lower = 0, upper = 1 }".encode("latin-1"))
    with pytest.raises(SchemaError, match="UTF-8") as wrong:
        read(path)
    assert_clear(wrong.value)
    for missing in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(EngineError) as absent:
            read(missing)
        assert_clear(absent.value)
    bad: Any
    for bad in (None, 3, b"schema.toml", {"age": 1}):
        with pytest.raises(ParameterError) as argument:
            read(bad)
        assert_clear(argument.value)


BOUNDS: list[tuple[Any, Any]] = [
    (NAN, 1), (0, NAN), (INF, INF), (-INF, INF), (1, 0), (1, 1), (0, 1e-200), (-1e140, 0), (0, 10**400), (True, 2),
    (0, np.True_), ("0", 1), (None, 1), (0, None), (0, [1]), (0, 1j), (np.zeros(1), 1), (0.0, -0.0),
]  # fmt: skip


@pytest.mark.parametrize(("lower", "upper"), BOUNDS)
def test_bounds(lower: Any, upper: Any) -> None:
    with pytest.raises(ParameterError) as raised:
        Numeric(lower, upper)
    assert_clear(raised.value)


LEVELS: list[Any] = [
    "ab", b"ab", "", (), [], None, 3, {"a", "b"}, {"a": 1}, iter("ab"), np.array(["a", "b"]), ["a", "a"], [1, True],
    ["a", None], [None], [b"a"], [1j], [NAN], [1.0, -INF], [10**400], [2**53 + 1], [10**5000], [1, 1.0], [True, True],
    [["a"]], [np.float64(NAN)],
]  # fmt: skip


@pytest.mark.parametrize("levels", LEVELS, ids=range(len(LEVELS)))
def test_levels(levels: Any) -> None:
    with pytest.raises(ParameterError) as raised:
        Categorical(levels)
    assert_clear(raised.value)


@pytest.mark.parametrize("weight", [0, -1, NAN, INF, 1e-7, 1e7, True, None, "1", [1], 10**400])
def test_weights(weight: Any) -> None:
    for make in (lambda: Numeric(0, 1, weight), lambda: Categorical(["a"], weight)):
        with pytest.raises(ParameterError, match="weight must be") as raised:
            make()
        assert_clear(raised.value)


COLUMNS: list[Any] = [
    None, [], "age", {}, {"a": Ignored()}, {"a": (0, 1)}, {"a": Numeric}, {"a": None}, {1: Numeric(0, 1)}, {"": Numeric(0, 1)},
    {None: Numeric(0, 1)}, {"\ud800": Numeric(0, 1)}, {"a": Categorical(["\udfff"])}, {b"a": Numeric(0, 1)},
    {"a=1": Numeric(0, 1), "a": Categorical([1])}, {"a": Categorical(["b=c"]), "a=b": Categorical(["c"])},
    [("a", Numeric(0, 1))],
]  # fmt: skip


@pytest.mark.parametrize("columns", COLUMNS, ids=lambda columns: ascii(columns)[:30])
def test_columns(columns: Any) -> None:
    with pytest.raises(SchemaError) as raised:
        Schema(columns)
    assert_clear(raised.value)


def test_selections() -> None:
    schema = Schema({"a": Numeric(0, 1), "b": Categorical(["x"]), "c": Ignored()})
    assert schema.select(["b", "a"]).feature_names == ("b=x", "a")
    for names in (["a", "a"], ["c"], ["A"], ["d"], []):
        with pytest.raises(SchemaError) as raised:
            schema.select(names)
        assert_clear(raised.value)


def test_nothing_can_be_changed_afterwards() -> None:
    columns: dict[str, Any] = {"a": Numeric(0, 1)}
    levels = ["x", "y"]
    schema, category = Schema(columns), Categorical(levels)
    columns["b"] = Numeric(0, 1)
    levels.append("z")
    assert list(schema.columns) == ["a"]
    assert category.levels == ("x", "y")
    with pytest.raises(TypeError):
        schema.columns["b"] = Numeric(0, 1)  # type: ignore[index]
    with pytest.raises(AttributeError):
        schema.columns["a"].upper = 2  # type: ignore[union-attr, misc]
