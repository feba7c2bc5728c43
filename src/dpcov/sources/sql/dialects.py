"""How each database writes the few operations that exact integers need.

Every one of them is an IEEE operation on doubles, or exact arithmetic of integers. What a database does on its own must not
matter: cells that are not finite are gone before anything is computed, and where a database raises on overflow or underflow
the operation is not reached (`strict`). Whether the operations are what they say is tried on public rows before each release
(`check`), literals by reading them back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase

from dpcov.schema.dates import MICROSECONDS

MOST = 1.7976931348623157e308
"""The largest double: what is not between it and its negative is no number."""

LARGEST_SPLIT = 2**53
"""Decimals up to here are multiplied as a whole, as Arrow does; larger ones by their whole part and the rest."""

NANOSECONDS = 1000 * MICROSECONDS


@dataclass(frozen=True)
class Dialect:
    """How a database writes what is computed.

    Attributes
    ----------
    number : callable
        A literal that is this double, exactly.
    nearest, nearest_far, toward_zero : callable
        A double rounded half to even, below 2⁵¹ and any, and cut.
    whole : callable
        A double that is an integer as one of 64 bits.
    total : callable
        The sum of such integers, in at least 100 bits.
    listed_integers, listed, joined : callable
        Several integers as one list, several doubles, and several integers as one text with commas between.
    literal : callable
        A literal of text.
    text : callable
        A condition: that a cell is this text, byte by byte; ``lower`` takes ASCII capitals for small letters.
    as_text, said, octets : callable
        A cell of text or of an enumeration as text; text without the blanks around it, in small letters, of ASCII both; and
        what is alike for two texts only where all their bytes are: it refuses what is no text.
    quoted : callable
        A name.
    numbers : mapping
        For each kind of cells how they become doubles; None where one is no number.
    infinite : mapping
        For kinds that can be: a condition that a cell is larger than all doubles.
    quotient : callable
        An integer that is not negative, divided by a positive one and rounded down.
    nothing : mapping
        What stands where there is no key, no list of integers, or no list of doubles.
    streamed, kept : str
        What stands before a select of which rows pass through, and of one that is made once and read twice.
    fence : str
        What stands behind a select, so that no optimiser computes its columns anew wherever they are used.
    strict : bool
        Whether doubles that overflow, or become 0, raise an error.
    """

    name: str
    number: Callable[[float], str]
    nearest: Callable[[str], str]
    nearest_far: Callable[[str], str]
    toward_zero: Callable[[str], str]
    whole: Callable[[str], str]
    total: Callable[[str], str]
    listed_integers: Callable[[Iterable[str]], str]
    listed: Callable[[Iterable[str]], str]
    joined: Callable[[Iterable[str]], str]
    literal: Callable[[str], str]
    text: Callable[[str, str, bool], str]
    as_text: Callable[[str], str]
    said: Callable[[str], str]
    octets: Callable[[str], str]
    quoted: Callable[[str], str]
    numbers: Mapping[str, Callable[[str, int], str]]
    infinite: Mapping[str, Callable[[str], str]]
    quotient: Callable[[str, str], str]
    nothing: Mapping[str, str]
    streamed: str
    kept: str
    fence: str
    strict: bool


def _with_exponent(number: float) -> str:
    """Return the shortest digits that are this double, with an exponent: otherwise they might be taken for a decimal."""
    digits = repr(float(number))
    return digits if "e" in digits else f"{digits}e0"


def _escaped(name: str, sign: str) -> str:
    return sign + name.replace(sign, 2 * sign) + sign


def _in_small_letters(trimmed: str) -> str:
    """Return text with small letters for the capitals of ASCII, whatever the language of the database."""
    return f"translate({trimmed}, '{ascii_uppercase}', '{ascii_lowercase}')"


BLANKS = "' ' || " + " || ".join(f"chr({code})" for code in range(9, 14))
"""Those of ASCII: a space, a tabulator, and what ends a line or a page."""


def _finite(cell: str, most: str) -> str:
    return f"CASE WHEN {cell} BETWEEN -{most} AND {most} THEN {cell} END"


def _truth(cell: str, _: int) -> str:
    return f"CASE WHEN {cell} THEN 1 WHEN NOT {cell} THEN 0 END"


def _decimal(steps: str, scale: int, double: str, number: Callable[[float], str], divide: str) -> str:
    """Return what Arrow makes of a decimal of at most 18 digits: its digits times a power of ten, in two parts if many.

    ``steps`` are the digits as an integer.
    """
    one = 10**scale
    unit = number(float(f"1e-{scale}"))
    split = f"CAST({steps} {divide} {one} AS {double}) + CAST({steps} % {one} AS {double}) * {unit}"
    return f"CASE WHEN abs({steps}) <= {LARGEST_SPLIT} THEN CAST({steps} AS {double}) * {unit} ELSE {split} END"


def _days(ticks: str, per_day: int, double: str, divide: str) -> str:
    """Return whole days, and the part of the next one, of an integer of ticks."""
    rest = f"((({ticks}) % {per_day} + {per_day}) % {per_day})"
    days = f"CAST((({ticks}) - {rest}) {divide} {per_day} AS {double})"
    return f"{days} + CAST({rest} AS {double}) / CAST({per_day} AS {double})"


FOREVER = 1e9
"""In days: an infinite date is beyond every bound of dates."""


def _dated(cell: str, number: Callable[[float], str], days: str) -> str:
    beyond = f"CASE WHEN {cell} > DATE '1970-01-01' THEN {number(FOREVER)} ELSE {number(-FOREVER)} END"
    return f"CASE WHEN {cell} IS NULL THEN NULL WHEN isfinite({cell}) THEN {days} ELSE {beyond} END"


def _duckdb_number(number: float) -> str:
    return f"CAST({_with_exponent(number)} AS DOUBLE)"


def _duckdb_text(cell: str, level: str, lower: bool) -> str:
    octets = "".join(f"\\x{octet:02X}" for octet in level.encode())
    text = f"CAST({cell} AS VARCHAR)"
    return f"encode({f'lower({text})' if lower else text}) = '{octets}'::BLOB"


def _duckdb_decimal(cell: str, scale: int) -> str:
    steps = f"CAST(CAST({cell} AS DECIMAL(38, {scale})) * {10**scale} AS BIGINT)"
    return _decimal(steps, scale, "DOUBLE", _duckdb_number, "//")


def _duckdb_ticks(function: str, per_day: int, kind: str) -> Callable[[str, int], str]:
    def days(cell: str, _: int) -> str:
        moment = f"CAST({cell} AS {kind})"
        return _dated(moment, _duckdb_number, _days(f"{function}({moment})", per_day, "DOUBLE", "//"))

    return days


MAGIC = _duckdb_number(1.5 * 2.0**52)
"""Doubles beside it are the integers: what is added is rounded, half to even, and what is left is exact."""

DUCKDB = Dialect(
    name="duckdb",
    number=_duckdb_number,
    nearest=lambda x: f"(({x} + {MAGIC}) - {MAGIC})",  # a tenth of the time of round_even
    nearest_far=lambda x: f"round_even({x}, 0)",
    toward_zero=lambda x: f"trunc({x})",
    whole=lambda x: f"CAST({x} AS BIGINT)",
    total=lambda x: f"sum({x})",
    listed_integers=lambda all_of: f"CAST([{', '.join(all_of)}] AS HUGEINT[])",
    listed=lambda all_of: f"[{', '.join(all_of)}]",
    joined=lambda all_of: f"array_to_string([{', '.join(all_of)}], ',')",
    literal=lambda text: _escaped(text, "'"),
    text=_duckdb_text,
    as_text=lambda x: f"CAST({x} AS VARCHAR)",
    said=lambda x: _in_small_letters(f"trim({x}, {BLANKS})"),
    octets=lambda x: f"encode({x})",
    quoted=lambda name: _escaped(name, '"'),
    numbers={
        "float": lambda cell, _: _finite(f"CAST({cell} AS DOUBLE)", _duckdb_number(MOST)),
        "whole": lambda cell, _: f"CAST({cell} AS DOUBLE)",
        "boolean": _truth,
        "decimal": _duckdb_decimal,
        "nothing": lambda _cell, _: "CAST(NULL AS DOUBLE)",
        "date": lambda cell, _: _dated(cell, _duckdb_number, f"CAST(date_diff('day', DATE '1970-01-01', {cell}) AS DOUBLE)"),
        "time": _duckdb_ticks("epoch_us", MICROSECONDS, "TIMESTAMP"),
        "zoned time": _duckdb_ticks("epoch_us", MICROSECONDS, "TIMESTAMPTZ"),
        "fine time": _duckdb_ticks("epoch_ns", NANOSECONDS, "TIMESTAMP_NS"),
    },
    infinite={"float": lambda cell: f"isinf({cell}) AND {cell} > 0"},
    quotient=lambda a, b: f"({a} // {b})",
    nothing={
        "key": "CAST(NULL AS BIGINT)",
        "sums": "CAST(NULL AS HUGEINT[])",
        "entries": "CAST(NULL AS DOUBLE[])",
    },
    streamed="NOT MATERIALIZED ",
    kept="MATERIALIZED ",
    fence="",
    strict=False,
)


def _postgres_number(number: float) -> str:
    return f"'{float(number)!r}'::float8"


def _postgres_literal(text: str) -> str:
    """Return text that means the same whatever the server takes backslashes for."""
    return "E'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _postgres_text(cell: str, level: str, lower: bool) -> str:
    if "\0" in level:  # no text there has that sign
        return "FALSE"
    text = f'CAST({cell} AS text) COLLATE "C"'
    return f"{f'lower({text})' if lower else text} = {_postgres_literal(level)}"


def _postgres_decimal(cell: str, scale: int) -> str:
    steps = f"CAST({cell} * {10**scale} AS bigint)"
    return f"CASE WHEN {cell} <> 'NaN' THEN {_decimal(steps, scale, 'float8', _postgres_number, '/')} END"


def _postgres_numeric(cell: str, _: int) -> str:
    """Digits without a declared end: what is beyond doubles is missing, as an infinite number is; what is below is 0."""
    near = f"CASE WHEN abs({cell}) >= 1e-300 THEN CAST({cell} AS float8) ELSE '0'::float8 END"
    return f"CASE WHEN {cell} BETWEEN -1.7976931348623157e308 AND 1.7976931348623157e308 THEN {near} END"


def _postgres_ticks(cell: str, _: int) -> str:
    ticks = f"CAST(extract(epoch FROM {cell}) * 1000000 AS bigint)"
    return _dated(cell, _postgres_number, _days(ticks, MICROSECONDS, "float8", "/"))


POSTGRES = Dialect(
    name="postgres",
    number=_postgres_number,
    nearest=lambda x: f"round({x})",
    nearest_far=lambda x: f"round({x})",
    toward_zero=lambda x: f"trunc({x})",
    whole=lambda x: f"CAST({x} AS bigint)",
    total=lambda x: f"sum({x})",
    listed_integers=lambda all_of: f"CAST(ARRAY[{', '.join(all_of)}] AS numeric[])",
    listed=lambda all_of: f"ARRAY[{', '.join(all_of)}]",
    joined=lambda all_of: f"array_to_string(ARRAY[{', '.join(all_of)}], ',')",
    literal=_postgres_literal,
    text=_postgres_text,
    as_text=lambda x: f"CAST({x} AS text)",
    said=lambda x: _in_small_letters(f"btrim({x}, {BLANKS})"),
    octets=lambda x: f"convert_to({x}, getdatabaseencoding()::name)",
    quoted=lambda name: _escaped(name, '"'),
    numbers={
        "float": lambda cell, _: _finite(f"CAST({cell} AS float8)", _postgres_number(MOST)),
        "whole": lambda cell, _: f"CAST({cell} AS float8)",
        "boolean": lambda cell, _: f"CAST({_truth(cell, 0)} AS float8)",
        "decimal": _postgres_decimal,
        "numeric": _postgres_numeric,
        "nothing": lambda _cell, _: "CAST(NULL AS float8)",
        "date": lambda cell, _: _dated(cell, _postgres_number, f"CAST({cell} - DATE '1970-01-01' AS float8)"),
        "time": _postgres_ticks,
        "zoned time": _postgres_ticks,
    },
    infinite={
        "float": lambda cell: f"{cell} = 'Infinity'",
        "numeric": lambda cell: f"{cell} > {MOST!r} AND {cell} <> 'NaN'",
    },
    quotient=lambda a, b: f"({a} / {b})",
    nothing={
        "key": "CAST(NULL AS bigint)",
        "sums": "CAST(NULL AS numeric[])",
        "entries": "CAST(NULL AS float8[])",
    },
    streamed="",
    kept="MATERIALIZED ",
    fence=" OFFSET 0",
    strict=True,
)


def _spark_number(number: float) -> str:
    return f"{_with_exponent(number)}D"


def _spark_text(cell: str, level: str, lower: bool) -> str:
    text = f"CAST({cell} AS STRING)"
    octets = level.encode().hex().upper()
    return f"CAST({f'lower({text})' if lower else text} AS BINARY) = X'{octets}'"


SPARK = Dialect(
    name="spark",
    number=_spark_number,
    nearest=lambda x: f"rint({x})",
    nearest_far=lambda x: f"rint({x})",
    toward_zero=lambda x: f"CAST(CAST({x} AS BIGINT) AS DOUBLE)",
    whole=lambda x: f"CAST({x} AS BIGINT)",
    total=lambda x: f"sum(CAST({x} AS DECIMAL(28, 0)))",
    listed_integers=lambda all_of: f"array({', '.join(f'CAST({one} AS DECIMAL(38, 0))' for one in all_of)})",
    listed=lambda all_of: f"array({', '.join(all_of)})",
    joined=lambda all_of: f"concat_ws(',', {', '.join(f'CAST({one} AS STRING)' for one in all_of)})",
    literal=lambda text: "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'",
    text=_spark_text,
    as_text=lambda x: f"CAST({x} AS STRING)",
    said=lambda x: _in_small_letters(f"btrim({x}, {BLANKS})"),
    octets=lambda x: f"CAST({x} AS BINARY)",
    quoted=lambda name: _escaped(name, "`"),
    numbers={
        "float": lambda cell, _: _finite(f"CAST({cell} AS DOUBLE)", _spark_number(MOST)),
        "boolean": lambda cell, _: f"CAST({_truth(cell, 0)} AS DOUBLE)",
        "nothing": lambda _cell, _: "CAST(NULL AS DOUBLE)",
    },
    infinite={"float": lambda cell: f"{cell} = CAST('Infinity' AS DOUBLE)"},
    quotient=lambda a, b: f"({a} div {b})",
    nothing={
        "key": "CAST(NULL AS BIGINT)",
        "sums": "CAST(NULL AS ARRAY<DECIMAL(38, 0)>)",
        "entries": "CAST(NULL AS ARRAY<DOUBLE>)",
    },
    streamed="",
    kept="",
    fence="",
    strict=False,
)

DIALECTS = {dialect.name: dialect for dialect in (DUCKDB, POSTGRES, SPARK)}
