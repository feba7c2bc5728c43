"""Laws of schemas: encoded records have norm at most 1, estimates come back in the table's units, files lose nothing."""

from __future__ import annotations

import copy
import math
import pickle
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcov.errors import ParameterError, SchemaError
from dpcov.kernel.rows.grid import Grid
from dpcov.schema import LARGEST, SMALLEST, Categorical, Column, Ignored, Numeric, Schema
from dpcov.schema.drafts import NUMERIC, TEXT, UNKNOWN, draft
from dpcov.schema.file import from_record, parse, read, to_record
from dpcov.sources.array import ArraySource
from dpcov.sources.arrow import ArrowSource
from dpcov.sources.opening import open_source
from tests.helpers.rows import SPECIAL

repeatable = settings(max_examples=100)

bounds = st.one_of(
    st.floats(-1e6, 1e6), st.floats(-LARGEST, LARGEST), st.sampled_from([0.0, -0.0, 1.0, LARGEST, -LARGEST, 5e-324, 1e-300])
)
pairs = st.tuples(bounds, bounds).map(sorted).map(tuple).filter(lambda pair: pair[1] - pair[0] >= SMALLEST)
weights = st.one_of(st.just(1.0), st.floats(1e-6, 1e6))
any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
AWKWARD = [
    '"',
    "'",
    "\\",
    "\n",
    "\r",
    "\t",
    "\x7f",
    "\x00",
    "\x1f",
    "\u2028",
    "a.b",
    "a b",
    "#",
    "=",
    "]",
    "年齢",
    "🙂",
    "e\u0301",
    "\ufeff",
]
names = st.one_of(st.sampled_from(AWKWARD), any_text.filter(bool))
levels = st.one_of(
    st.lists(st.one_of(any_text, st.sampled_from(AWKWARD)), min_size=1, max_size=4, unique=True),
    st.lists(st.integers(-(2**53), 2**53), min_size=1, max_size=4, unique=True),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=4, unique_by=lambda x: x + 0.0),
    st.sampled_from([[True], [False, True], [True, False]]),
)
numeric = st.builds(lambda pair, weight: Numeric(pair[0], pair[1], weight), pairs, weights)
described: st.SearchStrategy[Column] = st.one_of(numeric, st.builds(Categorical, levels, weights), st.just(Ignored()))


def usable(columns: dict[str, Column]) -> bool:
    try:
        Schema(columns)
    except SchemaError:  # nothing used, or "a" with level "b" beside a column called "a=b"
        return False
    return True


schemas = st.dictionaries(names, described, min_size=1, max_size=4).filter(usable).map(Schema)


tabular = schemas.filter(lambda schema: "\0" not in "".join(schema.columns))
"""Arrow passes names on as C strings, which end at a NUL."""


def cell_of(column: Numeric | Categorical) -> st.SearchStrategy[Any]:
    if isinstance(column, Numeric):
        return st.one_of(st.none(), st.floats(), st.sampled_from(SPECIAL), st.floats(column.lower, column.upper))
    other = {"text": any_text, "number": st.floats(), "boolean": st.booleans()}[column.kind]
    return st.one_of(st.none(), other, st.sampled_from(list(column.levels)))


def arrow_type(column: Numeric | Categorical) -> Any:
    kind = "number" if isinstance(column, Numeric) else column.kind
    return {"number": pa.float64(), "text": pa.string(), "boolean": pa.bool_()}[kind]


def rows_of(schema: Schema, cells: dict[str, list[Any]], center: bool) -> Any:
    table = pa.table({name: pa.array(cells[name], arrow_type(column)) for name, column in schema.used.items()})
    source = open_source(table, None, schema, center)
    assert isinstance(source, ArrowSource)
    return np.concatenate([block.copy() for block in source._blocks(100)] or [np.empty((0, source.d))])


@pytest.mark.parametrize("center", [False, True])
@given(data=st.data())
@repeatable
def test_any_cells_become_rows_of_norm_at_most_one(center: bool, data: st.DataObject) -> None:
    schema, n = data.draw(tabular), data.draw(st.integers(0, 4))
    cells = {name: data.draw(st.lists(cell_of(c), min_size=n, max_size=n)) for name, c in schema.used.items()}
    rows = rows_of(schema, cells, center)
    assert rows.shape == (n, len(schema.feature_names))
    assert np.isfinite(rows).all()
    # An offset that float64 cannot hold exactly can add a rounding of the bounds to a range that is much smaller than they are.
    wide = all(
        c.upper - c.lower >= 1e-6 * max(abs(c.lower), abs(c.upper)) for c in schema.used.values() if isinstance(c, Numeric)
    )
    if wide:
        assert np.linalg.norm(rows, axis=1).max(initial=0) <= 1 + 1e-9


@given(data=st.data())
@repeatable
def test_decoding_undoes_encoding(data: st.DataObject) -> None:
    center = data.draw(st.booleans())
    schema = data.draw(tabular)
    low, high = schema.bounds()
    scales, offsets = schema.scales(center), schema.offsets(center)
    cells: dict[str, list[Any]] = {
        name: [c.lower, c.upper, None] if isinstance(c, Numeric) else [c.levels[0], c.levels[-1], None]
        for name, c in schema.used.items()
    }
    decoded = rows_of(schema, cells, center) * scales + offsets
    place = 0
    for column in schema.used.values():
        if isinstance(column, Numeric):
            size = max(abs(column.lower), abs(column.upper))
            expected = [column.lower, column.upper, column.midpoint]
            assert decoded[:, place] == pytest.approx(expected, rel=1e-15, abs=4e-16 * size)
            assert (low[place], high[place]) == (column.lower, column.upper)
            place += 1
        else:
            width = len(column.levels)
            expected_rows = np.zeros((3, width))
            expected_rows[0, 0] = expected_rows[1, -1] = 1
            assert decoded[:, place : place + width] == pytest.approx(expected_rows, abs=1e-15)
            assert set(low[place : place + width]) | set(high[place : place + width]) == {0.0, 1.0}
            place += width
    assert place == len(schema.feature_names) == len(scales) == len(offsets)


@given(schema=schemas, center=st.booleans())
@repeatable
def test_squares_of_scales_are_finite_and_not_zero(schema: Schema, center: bool) -> None:
    with np.errstate(all="raise"):
        squares = np.outer(schema.scales(center), schema.scales(center))
        assert np.all(squares * 2.0**31 < np.inf)
        assert np.all(squares > 0)


def test_weights_are_shares_of_the_norm() -> None:
    schema = Schema({"a": Numeric(-1, 1, weight=3), "b": Categorical(["x"], weight=4)})
    assert rows_of(schema, {"a": [1.0], "b": ["x"]}, center=True)[0].tolist() == pytest.approx([0.6, 0.8])
    assert schema.scales(True).tolist() == pytest.approx([1 / 0.6, 1 / 0.8])
    for factor in (1e-6, 1e5):  # only their ratio counts
        scaled = Schema({"a": Numeric(-1, 1, weight=3 * factor), "b": Categorical(["x"], weight=4 * factor)})
        assert scaled.scales(True) == pytest.approx(schema.scales(True), rel=1e-14)


def test_a_missing_value_is_the_midpoint_whatever_the_offset() -> None:
    schema = Schema({"a": Numeric(10, 30)})
    assert rows_of(schema, {"a": [None]}, center=False)[0].tolist() == pytest.approx([20 / 30])
    assert rows_of(schema, {"a": [None]}, center=True).tolist() == [[0.0]]
    assert Numeric(-LARGEST, LARGEST).midpoint == 0.0


def test_ten_thousand_levels_and_columns() -> None:
    schema = Schema({"x": Categorical([f"level {k}" for k in range(10**4)])})
    cells = ["level 9999", None, "level 0", "level 10000"]
    rows = rows_of(schema, {"x": cells}, center=False)
    assert np.argwhere(rows).tolist() == [[0, 9999], [2, 0]]
    assert rows[0, 9999] == 1.0
    wide = Schema({f"c{k}": Numeric(0, 1) for k in range(10**4)})
    table = pa.table({name: pa.array([1.0, 0.0]) for name in wide.columns})
    source = open_source(table, list(wide.columns)[::-1], wide, center=True)
    assert source.feature_names[:2] == ("c9999", "c9998")
    assert wide.scales(True).tolist() == pytest.approx([50.0] * 10**4)


@given(schema=schemas)
@repeatable
def test_records_hold_the_used_columns(schema: Schema) -> None:
    record = to_record(schema)
    back = from_record(record)
    assert list(back.columns) == list(schema.used)
    assert back.used == schema.used
    assert [type(level) for c in back.used.values() if isinstance(c, Categorical) for level in c.levels] == [
        type(level) for c in schema.used.values() if isinstance(c, Categorical) for level in c.levels
    ]
    assert back.feature_names == schema.feature_names
    assert to_record(back) == record


@given(schema=schemas)
@repeatable
def test_copies_are_equal(schema: Schema) -> None:
    for same in (pickle.loads(pickle.dumps(schema)), copy.deepcopy(schema), copy.copy(schema)):
        assert same == schema
        assert list(same.columns) == list(schema.columns)
        assert hash(same) == hash(schema)


@given(columns=st.dictionaries(names, st.sampled_from([NUMERIC, TEXT, UNKNOWN]), max_size=6), missing=st.data())
@repeatable
def test_drafts_are_toml_that_is_refused_until_complete(columns: dict[str, str], missing: st.DataObject) -> None:
    text = draft(columns.items())
    record = tomllib.loads(text)
    assert list(record["columns"]) == list(columns)
    with pytest.raises(SchemaError):
        parse(text)
    complete = (
        text.replace("lower = nan, upper = nan", "lower = -1, upper = 2.5")
        .replace("levels = []", "levels = ['a']")
        .replace("{ } ", "{ ignore = true } ")
    )
    if any(kind != UNKNOWN for kind in columns.values()) and usable_text(complete):
        assert list(parse(complete).columns) == list(columns)
        left = missing.draw(st.sampled_from([name for name, kind in columns.items()]))
        partly = tomllib.loads(complete)["columns"] | {left: record["columns"][left]}
        with pytest.raises(SchemaError) as raised:
            from_record(partly)
        assert repr(left) in str(raised.value)


def usable_text(text: str) -> bool:
    columns: dict[str, Column] = {
        name: Ignored() if "ignore" in entry else Numeric(0, 1) if "lower" in entry else Categorical(["a"])
        for name, entry in tomllib.loads(text)["columns"].items()
    }
    return usable(columns)


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "schéma.toml"
    text = """# comment\r
[columns]\r
"âge" = { lower = 17, upper = 90 }\r
sex = { levels = ["Female", "Mäle"], weight = 0.5 }\r
name = { ignore = true }\r
[columns.grade]\r
levels = [1, 2.5]\r
"""
    path.write_bytes(text.encode())
    expected = {
        "âge": Numeric(17, 90),
        "sex": Categorical(["Female", "Mäle"], weight=0.5),
        "name": Ignored(),
        "grade": Categorical([1, 2.5]),
    }
    for found in (read(path), read(str(path)), Schema.read(path), parse(text)):
        assert dict(found.columns) == expected
        assert list(found.columns) == list(expected)
    assert read(path).feature_names == ("âge", "sex=Female", "sex=Mäle", "grade=1", "grade=2.5")


def test_names_of_levels() -> None:
    schema = Schema({"a": Categorical([True, False]), "b": Categorical([1, 2.0, 1e300]), "c": Categorical(["", "x=y"])})
    assert schema.feature_names == ("a=true", "a=false", "b=1", "b=2.0", "b=1e+300", "c=", "c=x=y")


def test_the_grid_takes_encoded_rows_as_they_are() -> None:
    schema = Schema({"a": Numeric(0, 1), "b": Categorical(["x", "y"])})
    rows = rows_of(schema, {"a": [1.0, 0.0], "b": ["y", "x"]}, center=True)
    z = Grid(1.0, center=True).encode(rows)
    assert np.abs(z[:, 1:] - rows * math.sqrt(0.75) * 2**16).max() <= 2


def test_what_occurs_twice_is_named() -> None:
    """It is what the user wrote, and so public; names in a file's own first line are never shown (tests/sources)."""
    with pytest.raises(ParameterError, match=r"^levels must differ, got 'no' twice\. Hint: "):
        Categorical(["yes", "no", "maybe", "no"])
    with pytest.raises(SchemaError, match=r"^feature names must differ, got 'a=b' twice\. Hint: "):
        Schema({"a": Categorical(["b", "c"]), "a=b": Numeric(0, 1)})
    with pytest.raises(SchemaError, match=r"^columns must differ, got 'b' twice\. Hint: "):
        Schema({"a": Numeric(0, 1), "b": Numeric(0, 1)}).select(["a", "b", "b"])
    with pytest.raises(ParameterError, match=r"^columns must differ, got 'x1' twice\. Hint: "):
        ArraySource(np.eye(3), columns=[0, 1, "x1"])


class TestDeepCopy:
    def test_it_is_equal_and_shares_no_column(self) -> None:
        flagged = Numeric(0, 1, nullable=True, missing="flag")
        schema = Schema({"a": Numeric(0, 1, weight=2), "b": Categorical(["x", "y"]), "c": Ignored(), "d": flagged})
        copied = copy.deepcopy(schema)
        assert copied == schema
        assert (copied.feature_names, repr(copied)) == (schema.feature_names, repr(schema))
        assert [type(column) for column in copied.columns.values()] == [type(column) for column in schema.columns.values()]
        assert not any(copied.columns[name] is column for name, column in schema.columns.items())
        with pytest.raises(TypeError):
            copied.columns["e"] = Ignored()  # type: ignore[index]

    def test_what_is_not_plain_is_copied_too(self) -> None:
        """A type of the user's own may hold what can be set."""

        class Own(Numeric):
            pass

        own = Own(0, 1)
        object.__setattr__(own, "notes", ["mine"])
        copied = copy.deepcopy(Schema({"a": own})).columns["a"]
        assert type(copied) is Own
        assert vars(copied) == vars(own)
        assert vars(copied)["notes"] is not vars(own)["notes"]
