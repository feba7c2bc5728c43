"""What reads text that a stranger wrote: release files, schemas, codebooks, and the CSV files of a table.

A target has *seeds*, valid inputs; an *edit*, which makes another input of one without breaking what comes first in it (a
checksum that does not fit, brackets that do not close: nothing behind them would be reached); and *read*, which does with an
input what the library does, and a little more where it is accepted. `read` returns "refused" or "accepted"; whatever it raises
is a finding. What a refusal says is looked at, too: one printable line of bounded length, which does not quote a cell.
"""

from __future__ import annotations

import json
import pickle
import random
import re
import tempfile
import tomllib
import zlib
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import dpcov
from dpcov.errors import DpcovError, EngineError, ParameterError, ReleaseError, SchemaError
from dpcov.release.file import parse as parse_release
from dpcov.schema import SAID, codebook
from dpcov.schema import file as schema_file
from dpcov.schema.drafts import quoted
from dpcov.sources import csv_file
from dpcov.sources.files import open_file
from tests.helpers import forged
from tests.helpers.small import sealed

REFUSED, ACCEPTED = "refused", "accepted"
LONGEST_MESSAGE = 2000  # characters, beyond four times those of the input: a name may stand in it twice, and escaped
LARGEST_SEED = 8192  # bytes
SOME = 11
"""One in so many forged releases is a seed: `tests/release/test_fuzzed_files.py` sees that every mechanism is among them."""
CELL = "QZXJ"
"""Stands in every cell of the CSV files that are tried: no message may hold it."""
SELDOM, RARELY = 4, 64
"""One input of so many that are accepted is used as well, where its use takes longer than reading it."""

Edit = Callable[[bytes, random.Random, Callable[[bytes], bytes]], bytes]


@dataclass(frozen=True)
class Target:
    """A reader, how inputs are made for it, and what of the library is watched while it reads."""

    seeds: Callable[[], list[bytes]]
    edit: Edit
    read: Callable[[bytes], str]
    files: tuple[str, ...]
    """Of the package: those whose branches a run is measured by."""


def check_message(error: DpcovError, data: bytes) -> None:
    """Insist on one printable line that is not endless: who wrote a file must not write on a screen."""
    message = str(error)
    assert message.isprintable(), "a message that cannot be printed"
    assert len(message) <= LONGEST_MESSAGE + 4 * len(data), "an endless message"
    assert re.fullmatch(r".+ must .+, got .+\. Hint: .+[.?]", message), "a message in another form"


def one_in(number: int, data: bytes) -> bool:
    """Whether it is this input's turn: a function of the input alone."""
    return zlib.crc32(data) % number == 0


def text_of(data: bytes) -> str:
    return data.decode("utf-8", "replace")


# --------------------------------------------------------------------------------------------------------------- releases


@cache
def release_seeds() -> list[bytes]:
    return [text.encode() for text in forged.starts(SOME) if len(text) <= LARGEST_SEED]


def edit_release(data: bytes, draw: random.Random, native: Callable[[bytes], bytes]) -> bytes:
    """Edit the tree of a release as a forger does, and seal it; once in a while edit its letters."""
    if draw.random() < 1 / 8:
        return native(data)
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        tree = None
    if not isinstance(tree, dict) or not tree:
        tree = json.loads(draw.choice(release_seeds()))
    try:
        draw.choice(_edits())(tree, draw)
        return sealed(tree).encode()
    except RecursionError:
        return draw.choice(release_seeds())


@cache
def _edits() -> tuple[Callable[[Any, random.Random], None], ...]:
    return forged.edits(SOME)


def read_release(data: bytes) -> str:
    """Read a release, and use what was read once."""
    try:
        release = parse_release(text_of(data))
    except ReleaseError as error:
        check_message(error, data)
        return REFUSED
    if not one_in(SELDOM, data):
        return ACCEPTED
    uses = list(forged.USES)
    use = uses[zlib.crc32(data) // SELDOM % len(uses)]
    try:
        with forged.suppress_declared(use):
            forged.USES[use](release)
    except Exception as error:
        error.add_note(f"in {use}")
        raise
    return ACCEPTED


# ---------------------------------------------------------------------------------------------------------------- schemas

SCHEMAS = (
    '[columns]\nage = { lower = 17, upper = 90 }\nsex = { levels = ["Female", "Male"], weight = 0.5 }\n'
    "name = { ignore = true }\n",
    '[columns]\nincome = { lower = 1000, upper = 500000, transform = "log" }\n'
    '"age" = { lower = 0, upper = 120, integer = true }\n'
    '"age squared" = { of = "age", about = 50, transform = "square" }\n"age * income" = { product = ["age", "income"] }\n',
    '[columns]\nage = { lower = 0, upper = 9 }\nsex = { levels = ["f", "m"] }\n"age * m" = { product = ["age", "sex=m"] }\n',
    'others = "ignore"\n[columns]\na = { lower = nan, upper = nan }\nb = { levels = [] }\n'
    "c = { }\nd = { lower = -1.5, upper = 2e3 }\n",
    "[columns]\nborn = { lower = 1900-01-01, upper = 2024-12-31, nullable = true }\n"
    'seen = { lower = "2019-01-01T00:00:00", upper = 2024-12-31T23:59:59, missing = "flag", nullable = true }\n',
    "[columns]\ngrade = { levels = [1, 2.5, 3], nullable = true, missing = 'flag', weight = 2 }\n"
    "smoker = { levels = [true, false] }\n",
    '[columns.a]\nlower = 0\nupper = 1\n[columns."b c"]\nlevels = ["x", """y""", \'z\']\nweight = 1_0.5\n',
    '[columns]\nx = { lower = 0, upper = 100, transform = "sqrt" }\n'
    'y = { of = "x", lower = 1, upper = 50, transform = "log" }\n',
    'unit = "who"\nweighting = "rows"\nmost_rows = 9\nweight = "w"\nmax_weight = 2.5\n[columns]\n'
    "x = { lower = 0, upper = 100 }\nwho = { }\n",
)
WORDS = (
    *("lower", "upper", "levels", "weight", "nullable", "missing", "of", "about", "transform", "integer", "product", "ignore"),
    *(
        "columns",
        *SAID,
        '"flag"',
        '"log"',
        '"sqrt"',
        '"square"',
        '"ignore"',
        '"age"',
        '"a=x"',
        "true",
        "false",
        "nan",
        "inf",
    ),
    *("-inf", "0", "-0.0", "1", "2", "1e308", "-1e308", "5e-324", "1e-13", "1e150", "0.1", "9007199254740993", "9" * 30),
    *("1900-01-01", "9999-12-31", "0001-01-01", "2019-01-01T00:00:00", "07:32:00", "2019-01-01T00:00:00+05:00", '"2019-01-01"'),
    *(
        '""',
        '" "',
        '"\\u0000"',
        '"\\u001b[31m"',
        '"\\u202e"',
        '"é"',
        '"\\U0001F600"',
        '"' + "x" * 300 + '"',
        "[]",
        "{ }",
        "[[1]]",
    ),
    *("=", ",", "{", "}", "[", "]", ".", "\n", "#", '"""', "'", "\\", "0x1F", "0o7", "0b1", "1_000", "+5", "[[columns]]"),
)
TOKEN = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'|[\w.+\-:]+|\n|[^\S\n]+|.", re.DOTALL)


def edit_words(data: bytes, draw: random.Random, native: Callable[[bytes], bytes], seeds: tuple[str, ...], own: Any) -> bytes:
    """Put, drop, double, swap words, or take a line of another input; once in a while edit letters."""
    if draw.random() < 1 / 8:
        return native(data)
    words = TOKEN.findall(text_of(data))[:2000] or TOKEN.findall(draw.choice(seeds))
    for _ in range(draw.choice((1, 1, 2, 4))):
        how, place, other = draw.randrange(7), draw.randrange(len(words) + 1), draw.randrange(len(words) + 1)
        if how <= 1 and place < len(words):
            words[place] = draw.choice(own)
        elif how == 2:
            words.insert(place, draw.choice(own))
        elif how == 3:
            del words[place : place + draw.choice((1, 1, 2, 8))]
        elif how == 4 and place < len(words) and other < len(words):
            words[place], words[other] = words[other], words[place]
        elif how == 5:
            words[place:place] = words[other : other + draw.choice((1, 4, 16))]
        else:
            words[place:place] = TOKEN.findall(draw.choice(draw.choice(seeds).splitlines(keepends=True)))
    return "".join(words).encode()


def edit_schema(data: bytes, draw: random.Random, native: Callable[[bytes], bytes]) -> bytes:
    """Edit the tree of a schema, as forgers do that of a release, or its words: most of the latter is TOML no more."""
    if draw.random() < 1 / 3:
        return edit_words(data, draw, native, SCHEMAS, WORDS)
    try:
        tree = tomllib.loads(text_of(data))
    except (ValueError, RecursionError):
        tree = tomllib.loads(draw.choice(SCHEMAS))
    columns = tree.get("columns")
    if draw.random() < 1 / 4 and isinstance(columns, dict):
        name, entry = draw.choice(list(entries().items()))
        columns[draw.choice((name, "new", *columns))] = deepcopy(entry)
    else:
        edit: Callable[[Any, random.Random], None] = draw.choice(TREE_EDITS)
        if tree:
            edit(tree, draw)
    try:
        return "".join(f"{toml(key)} = {toml(value)}\n" for key, value in tree.items()).encode("utf-8", "replace")
    except RecursionError:
        return draw.choice(SCHEMAS).encode()


@cache
def entries() -> dict[str, Any]:
    """Return all columns of the seeds."""
    return {name: entry for text in SCHEMAS for name, entry in tomllib.loads(text)["columns"].items()}


def another_word(tree: Any, draw: random.Random) -> None:
    """Put another value or another key where one stands."""
    holder, key = forged.a_place(tree, draw)
    if isinstance(key, str) and draw.random() < 1 / 3:
        holder[draw.choice(KEYS)] = holder.pop(key)
    else:
        holder[key] = draw.choice(VALUES)


KEYS = (
    *("lower", "upper", "levels", "weight", "nullable", "missing", "of", "about", "transform", "integer", *SAID),
    "product",
    "ignore",
)
VALUES: tuple[Any, ...] = (
    *(
        "flag",
        "log",
        "sqrt",
        "square",
        "ignore",
        "age",
        "income",
        "sex=f",
        "age=1",
        "",
        " ",
        "\x00",
        "\x1b[31m",
        "\u202e",
        "x" * 300,
    ),
    *(
        True,
        False,
        0,
        1,
        -1,
        2,
        17,
        0.5,
        1e-13,
        1e13,
        1e150,
        -1e308,
        5e-324,
        -0.0,
        float("nan"),
        float("inf"),
        2**53 + 1,
        10**30,
    ),
    *(date(1, 1, 1), date(1900, 1, 1), date(9999, 12, 31), datetime(2019, 1, 1), datetime(2019, 1, 1, tzinfo=UTC), time(7, 32)),
    *(
        "2019-01-01",
        "2019-01-01T00:00:00",
        "2019-02-30",
        ["a", "b"],
        [1, 2],
        [True],
        [0.0, -0.0],
        [],
        {},
        [[]],
        ["age", "income"],
    ),
)
TREE_EDITS = (
    *(another_word, another_word, forged.replace_value, forged.replace_number, forged.edit_list, forged.exchange),
    *(forged.delete, forged.rename, forged.replace_type, forged.nest),
)


def toml(value: Any) -> str:
    """Write a value as TOML does; what it has no form for, nothing and huge integers, as text."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml(str(key))} = {toml(entry)}" for key, entry in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date | time):
        return value.isoformat()
    return repr(value) if isinstance(value, int | float) else quoted(str(value))


def read_schema(data: bytes) -> str:
    """Read a schema; what was read describes features, survives a file and a copy, and once in a while encodes a table."""
    try:
        schema = schema_file.parse(text_of(data))
    except SchemaError as error:
        check_message(error, data)
        return REFUSED
    assert repr(schema).isprintable(), "a repr that cannot be printed"
    assert len(schema.feature_names) == sum(schema.widths()) == len(schema.offsets(True)) == len(schema.dates())
    assert np.isfinite([schema.offsets(False), schema.scales(True), *schema.bounds()]).all(), "a scale that is none"
    written = json.loads(json.dumps(schema_file.to_record(schema), allow_nan=False))
    again = schema_file.from_record(written)
    assert schema_file.to_record(again) == written, "a schema that is not read as it was written"
    assert schema_file.digest(again) == schema_file.digest(schema.of_features())
    assert (schema_file.digest(again) == schema_file.digest(schema)) == (not schema.whose.checked().names)
    assert deepcopy(schema) == schema, "a copy that differs"
    if one_in(RARELY, data):
        assert pickle.loads(pickle.dumps(schema)) == schema, "a pickle that differs"
        release_with(schema)
    return ACCEPTED


HOSTILE_CELLS = (None, "", " ", "1", "-1e308", "nan", "inf", "x", "Female", "true", "2020-02-30", "1900-01-01", CELL, "9" * 400)


def release_with(schema: dpcov.Schema) -> None:
    """Release a table of text that a schema describes: its cells are hostile, and only its types may be refused."""
    columns = [*schema.table_columns(schema.used), *schema.whose.checked().names]
    cells = {name: [HOSTILE_CELLS[(i + j) % len(HOSTILE_CELLS)] for i in range(20)] for j, name in enumerate(columns)}
    numeric = {name for name, column in schema.cells().items() if isinstance(column, dpcov.Numeric)}
    made = {
        name: pa.array([float(i) * 10.0 ** (17 * i) for i in range(-10, 10)]) if name in numeric else pa.array(cells[name])
        for name in columns
    }
    try:
        dpcov.covariance(pa.table(made), dpcov.ZCDP(1), schema=schema, mechanism="gaussian", seed=1)
    except (ParameterError, SchemaError) as error:
        check_silent(error)


# -------------------------------------------------------------------------------------------------------------- codebooks

CODEBOOKS = (
    "Variable Name;Type;Min;Max;Categories;Units;Missing;Label\npatient_id;id;;;;;;\nage;integer;18;110;;years;no;Age\n"
    "sex;categorical;;;1=female|2=male;;yes;\nadmitted;date;2019-01-01;2024-12-31;;;;\ntemp;float;.5;43.;;°C;flag;\n"
    "smoker;bool;;;;;;\nward;text;;;medicine|surgery;;99;\ncrp;num;0;500;;;-9;\nother;;;;;;;\n",
    'name,type,range,levels,required,note\nage,int,18 to 110,,yes,"years, at admission"\nsex,factor,,f;m,no,\n'
    'dose,real,"0,5",,,\n',
    "field\tkind\tlow\thigh\na\tnumeric\t-1e3\t+2.5\nb\tboolean\t\t\nc\tinterval\t2019-01-01\t2020-01-01\n",
    "column|values|nullable\ngrade|1; 2; 3|1\nlevel|true;false|\ncity|Paris;Lyon|x\n",
)
SIGNS = (
    *(";", ",", "\t", "|", "\n", "\r\n", '"', '""', " ", "name", "type", "min", "max", "range", "levels", "unit", "missing"),
    *("required", "label", "numeric", "integer", "categorical", "boolean", "date", "id", "text", "varchar(20)", "flag", "yes"),
    *("no", "nan", "inf", "1e400", "-0", "00", "1_000", "1,5", "9" * 50, "1=a", "1:b", "18 to 110", "[0, 1]", "5 - 3", "(1;2)"),
    *(
        "2019-01-01",
        "2019-13-01",
        "0001-01-01",
        "true|false",
        "a|a",
        "1|1.0",
        "\x00",
        "\x1b[31m",
        "\u202e",
        "'",
        "\\",
        "#",
        "é",
    ),
    *("﻿", "\u2028", "\x85", "\x7f", "x" * 300, "= 1", "{", "}", "[columns]", "٣", "²", "１２"),
)


def edit_codebook(data: bytes, draw: random.Random, native: Callable[[bytes], bytes]) -> bytes:
    return edit_words(data, draw, native, CODEBOOKS, SIGNS)


def read_codebook(data: bytes) -> str:
    """Read a codebook; its draft is TOML, and has the columns of the codebook and no entry that nobody wrote."""
    try:
        entries = codebook.parse(text_of(data))
    except SchemaError as error:
        check_message(error, data)
        return REFUSED
    draft = codebook.drafted(entries, absent=list(entries)[:2])
    record = tomllib.loads(draft)
    assert set(record) == {"columns"}, "a draft with something else in it"
    assert list(record["columns"]) == list(entries), "a draft with other columns"
    try:
        schema_file.parse(draft)
    except SchemaError as error:
        check_message(error, data)
    return ACCEPTED


# -------------------------------------------------------------------------------------------------------------- CSV files

WAYS: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"separator": ";"},
    {"separator": ";", "decimal": ","},
    {"separator": "\t", "encoding": "latin-1"},
    {"encoding": "utf-16"},
    {"encoding": "shift_jis"},
    {"encoding": "cp1252", "separator": "|"},
)
"""How a file is said to be written: its first byte chooses one."""
TABLES = (
    b"\x00a,b\n1,QZXJ\n2,3\n-1e308,\n",
    b'\x08a,b\n"1\nQZXJ",2\n3,"x""y"\n',
    b"\x02a;b\n1,5;QZXJ\n;2\n",
    b"\x03a;b\n1,5;QZXJ\n-,5;2e3\n",
    b"\x04a\tb\nQZXJ\t\xe9\n1\t2\n",
    b"\x05" + "a,b\n1,QZXJ\n2,x\n".encode("utf-16"),
    b"\x06" + "a,b\n1,QZXJ\n2,東京\n".encode("shift_jis"),
    b"\x07a|b\n1|QZXJ\n2|\x80\n",
    b"\x00a\n1\n\nQZXJ\n42\n\n",
    b"\x00\xef\xbb\xbfa,b\r\n1,QZXJ\r\n,\r\n2,nan\r\n",
    b"\x00QZXJ,QZXJ\n1,2\n",
    b"\x00a,b,c\n" + b"1,QZXJ,x\n" * 40,
)
PIECES = (
    *(
        b",",
        b";",
        b"\t",
        b"|",
        b"\n",
        b"\r",
        b"\r\n",
        b'"',
        b'""',
        b'"\n"',
        b" ",
        b"QZXJ",
        b"1",
        b"-1e308",
        b"nan",
        b"inf",
        b"",
    ),
    *(
        b"1e400",
        b"0x1F",
        b"1,5",
        b"\x00",
        b"\xff",
        b"\xfe\xff",
        b"\xef\xbb\xbf",
        b"\xe9",
        b"\x1b[31m",
        b"a,b",
        b"true",
        b"TRUE",
    ),
    *(b"2020-01-01", b"1" * 400, b"QZXJ" * 50, b"\xf0\x9f\x98\x80", b"\x0c", b"\x1a", b"#", b"'", b"\\", b"=1+1", b"a", b"b"),
)
CSV_SCHEMA = dpcov.Schema({"a": dpcov.Numeric(0, 10, nullable=True), "b": dpcov.Categorical(["x", "y", "3"])})
SMALL_BLOCK = 64  # bytes: of text read at a time, and in a piece


def edit_table(data: bytes, draw: random.Random, native: Callable[[bytes], bytes]) -> bytes:
    """Put, drop, double or swap cells and line ends; once in a while edit bytes."""
    if draw.random() < 1 / 8 or len(data) < 3:
        return native(data)
    found = [part for part in re.split(rb"([,;\t|\n\r\"])", data[1:]) if part]
    for _ in range(draw.choice((1, 2, 4))):
        place, other, how = draw.randrange(len(found) + 1), draw.randrange(len(found) + 1), draw.randrange(4)
        if how == 0 and place < len(found):
            found[place] = draw.choice(PIECES)
        elif how == 1:
            found.insert(place, draw.choice(PIECES))
        elif how == 2:
            del found[place : place + draw.choice((1, 1, 3))]
        else:
            found[place:place] = found[other : other + draw.choice((1, 4, 16))]
    first = data[:1] if draw.random() < 0.9 else bytes([draw.randrange(256)])
    return first + b"".join(found)


@cache
def folder() -> Path:
    """Return where the tables of this process are written."""
    held = tempfile.TemporaryDirectory()
    FOLDERS.append(held)
    return Path(held.name)


FOLDERS: list[tempfile.TemporaryDirectory[str]] = []


def read_table(data: bytes) -> str:
    """Release a CSV file, as numbers or as a schema describes it; read in pieces it has the same records."""
    first, content = (data or b"\x00")[0], data[1:]
    way, described = WAYS[first % len(WAYS)], bool(first // len(WAYS) % 2)
    path = folder() / ("table.tsv" if way.get("separator") == "\t" else "table.csv")
    path.write_bytes(content)
    table: Any = dpcov.Csv(path, **way) if way else path
    asked: dict[str, Any] = {"schema": CSV_SCHEMA} if described else {"row_norm": 1.0, "columns": ["a"]}
    try:
        release = dpcov.covariance(table, dpcov.ZCDP(1), mechanism="gaussian", center=False, seed=1, **asked)
    except (ParameterError, SchemaError, EngineError) as error:
        check_message(error, data)
        check_silent(error)
        return REFUSED
    if one_in(8, data):
        in_pieces(table, release.n)
    return ACCEPTED


def in_pieces(table: Any, n: int) -> None:
    """Insist that a file which is cut has the records of the whole: for one that is read in small blocks at all."""
    block, piece = csv_file.CSV_BLOCK, csv_file.CSV_PIECE
    try:
        whole = list(records(open_file(table)))
        assert len(whole) == n, "another number of records"
        csv_file.CSV_BLOCK, csv_file.CSV_PIECE = SMALL_BLOCK, SMALL_BLOCK
        pieces = [part for part, _ in open_file(table).pieces(["a"])]  # type: ignore[attr-defined]
        csv_file.CSV_BLOCK = block
        assert [record for part in pieces for record in records(part)] == whole, "pieces with other records"
    except EngineError as error:
        check_silent(error)  # a line is longer than a small block
    finally:
        csv_file.CSV_BLOCK, csv_file.CSV_PIECE = block, piece


def records(table: Any) -> Iterator[bytes]:
    for batch, _ in table.batches(["a"], 100):
        yield from batch.column(0).to_pylist()


def check_silent(error: BaseException) -> None:
    """Insist that neither an error nor what Python keeps behind it quotes a cell."""
    seen: BaseException | None = error
    while seen is not None:
        assert CELL not in f"{seen} {seen!r} {seen.args} {getattr(seen, '__notes__', '')}", "a message that quotes a cell"
        seen = seen.__cause__ or seen.__context__


READING = ("strict_json.py", "release/file.py", "release/check.py", "release/integers.py", "release/record.py")
TARGETS = {
    "release": Target(release_seeds, edit_release, read_release, (*READING, "kernel/questions/", "kernel/rows/")),
    "schema": Target(lambda: [text.encode() for text in SCHEMAS], edit_schema, read_schema, ("schema/",)),
    "codebook": Target(lambda: [text.encode() for text in CODEBOOKS], edit_codebook, read_codebook, ("schema/codebook.py",)),
    "table": Target(lambda: list(TABLES), edit_table, read_table, ("sources/csv_",)),
}
