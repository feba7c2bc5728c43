"""A draft of a schema from a codebook: a CSV file with a line for each column of a table, which says what it may hold.

A codebook is public: it was written by whoever designed the table, not computed from its rows. Its headings are recognised in
their usual spellings; what cannot be understood is refused with its line and its heading, since a guess would be a bound that
nobody meant. What a codebook leaves open is left open in the draft.
"""

from __future__ import annotations

import csv
import io
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dpcov.errors import EngineError, SchemaError, did_you_mean, printable, raise_alone, shown
from dpcov.schema.dates import bound
from dpcov.schema.drafts import BOOLEAN, DATED, DRAFTS, NUMERIC, TEXT, UNKNOWN, header, line, quoted, remark
from dpcov.schema.file import from_record

IGNORED, WHOLE = "ignored", "whole"
HEADINGS: dict[str, tuple[str, ...]] = {
    "name": ("name", "variable", "column", "field", "variablename", "columnname", "fieldname", "varname", "var", "feature"),
    "kind": ("type", "kind", "datatype", "variabletype", "columntype", "fieldtype", "class"),
    "lower": ("lower", "min", "minimum", "lowerbound", "minvalue", "minimumvalue", "low", "validmin", "from"),
    "upper": ("upper", "max", "maximum", "upperbound", "maxvalue", "maximumvalue", "high", "validmax", "to"),
    "range": ("range", "validrange", "allowedrange", "bounds"),
    "levels": ("levels", "categories", "values", "codes", "choices", "options", "allowedvalues", "validvalues", "valuelabels"),
    "unit": ("unit", "units"),
    "missing": ("missing", "nullable", "missingallowed", "maybemissing", "missingvalues", "missingcodes", "na", "optional"),
    "required": ("required", "mandatory", "notnull"),
    "about": (
        "description",
        "label",
        "definition",
        "question",
        "meaning",
        "comment",
        "comments",
        "note",
        "notes",
        "variablelabel",
    ),
}
"""What a heading may be called, without blanks, hyphens and underscores, in small letters."""

KINDS: dict[str, tuple[str, ...]] = {
    NUMERIC: ("numeric", "number", "float", "double", "real", "decimal", "continuous", "num", "scale", "ratio", "interval"),
    WHOLE: ("integer", "int", "count", "whole", "discrete", "int64", "int32", "long"),
    TEXT: (
        "categorical",
        "category",
        "factor",
        "nominal",
        "ordinal",
        "enum",
        "text",
        "string",
        "str",
        "char",
        "character",
        "varchar",
    ),
    BOOLEAN: ("boolean", "bool", "logical", "binary", "truefalse"),
    DATED: ("date", "datetime", "timestamp"),
    IGNORED: ("id", "identifier", "key", "ignore", "ignored", "freetext", "name", "skip"),
}
ALWAYS_TEXT = ("text", "string", "str", "char", "character", "varchar")  # kinds of which levels that look like numbers are text
YES, NO = ("yes", "y", "true", "1", "allowed", "x"), ("", "no", "n", "false", "0", "none", "never", "-")
NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
LABELLED = re.compile(rf"({NUMBER})\s*[=:]\s*(.+)")  # a code and what it stands for
SIGNS = ",;\t|"
LONGEST_NUMBER = 40  # characters
LONGEST = 10_000_000  # characters: no codebook is longer
ORIGIN = "A draft from a codebook."


@dataclass(frozen=True)
class Described:
    """What a codebook says of a column: the entry of a draft, and a comment."""

    entry: str
    comment: str = ""


@dataclass
class _Line:
    """A line of a codebook, by what its headings mean, with their own names for messages."""

    number: int
    cells: Mapping[str, str]
    headings: Mapping[str, str] = field(repr=False)

    def get(self, what: str) -> str:
        return self.cells.get(what, "").strip()

    def refuse(self, what: str, rule: str, hint: str) -> SchemaError:
        """Return an error that names line, heading and column."""
        name, heading = self.get("name"), self.headings.get(what, what)
        of = f" ({printable(name)})" if name and what != "name" else ""
        got = shown(self.get(what))
        return SchemaError(f"codebook must have {rule} under {heading!r} in line {self.number}{of}, got {got}. Hint: {hint}.")


def read(path: str | os.PathLike[str]) -> dict[str, Described]:
    """Read a codebook: for each column the entry of a draft.

    Raises
    ------
    SchemaError
        The file is no codebook, or says something that cannot be understood: the message names line and heading.
    EngineError
        The file cannot be opened.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise EngineError(
            f"codebook must be a file that can be read, got {str(path)!r} ({error.strerror}). Hint: check the path."
        ) from None
    except ValueError:
        raise_alone(SchemaError("codebook must be a CSV file in UTF-8, got other bytes. Hint: save it as UTF-8."))
    return parse(text)


def parse(text: str) -> dict[str, Described]:
    """Turn the text of a codebook into entries of a draft."""
    found: dict[str, Described] = {}
    first: dict[str, int] = {}
    for one in _lines(text):
        name = one.get("name")
        if not name:
            raise one.refuse("name", "a name", "each line describes one column; remove lines that describe none")
        if name in first:
            raise one.refuse("name", "each column once", f"it stands in line {first[name]}, too")
        first[name], found[name] = one.number, _described(one)
    if not found:
        raise SchemaError("codebook must describe at least one column, got only headings. Hint: add a line for each column.")
    return found


def drafted(entries: Mapping[str, Described], absent: Sequence[str] = ()) -> str:
    """Return a draft with these entries, as text; ``absent`` columns are named below."""
    named = f"# In the codebook, and not in the table: {', '.join(map(quoted, absent))}\n" if absent else ""
    return header(entries, ORIGIN) + "".join(line(name, one.entry, one.comment) for name, one in entries.items()) + named


def _lines(text: str) -> list[_Line]:
    """Split a codebook into lines whose headings are known, by the sign that its first line has most of."""
    if len(text) > LONGEST:
        raise SchemaError(
            "codebook must be a short table, got more than ten million characters. Hint: give the codebook, not the data."
        )
    top = text.partition("\n")[0]
    sign = max(SIGNS, key=top.count)
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=sign, strict=True))
    except csv.Error:
        raise SchemaError(
            "codebook must be a CSV file, got quotes that do not end. Hint: open and save it with a spreadsheet."
        ) from None
    names = [cell.strip() for cell in rows[0]] if rows else []
    meant = [_meaning(cell) for cell in names]
    for what in (what for what in meant if what is not None):
        if meant.count(what) > 1:
            both = " and ".join(repr(name) for name, one in zip(names, meant, strict=True) if one == what)
            raise SchemaError(f"codebook must have one heading for {what}, got {both}. Hint: rename one of them.")
    if "name" not in meant:
        known = ", ".join(HEADINGS["name"][:4])
        raise SchemaError(f"codebook must have a heading for the names of columns in its first line, got none. Hint: {known}.")
    headings = {what: name for what, name in zip(meant, names, strict=True) if what is not None}
    found = []
    ends = _ends(text, sign)
    for number, cells in zip(ends, rows[1:], strict=False):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) > len(names):
            raise SchemaError(
                f"codebook must have at most {len(names)} cells in line {number}, as many as headings, got {len(cells)}. "
                f"Hint: quote cells that hold {sign!r}."
            )
        own = {what: cell for what, cell in zip(meant, cells, strict=False) if what is not None}
        found.append(_Line(number, own, headings))
    return found


def _ends(text: str, sign: str) -> list[int]:
    """Return the line of the file in which each record after the first begins."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=sign)
    starts, before = [], 0
    for _ in reader:
        starts.append(before + 1)
        before = reader.line_num
    return starts[1:]


def _meaning(heading: str) -> str | None:
    word = _word(heading)
    return next((what for what, names in HEADINGS.items() if word in names), None)


def _word(text: str) -> str:
    return re.sub(r"[\s_\-./]", "", text).lower()


def _described(one: _Line) -> Described:
    """Return the entry of a line: ignored, levels, bounds, or what is still open."""
    kind, text = _kind(one), _word(one.get("kind")) in ALWAYS_TEXT
    if kind == IGNORED:
        return Described("{ ignore = true }", _comment(one))
    ends, levels, optional = _ends_of(one), one.get("levels"), _optional(one)
    if levels and not (kind in (NUMERIC, WHOLE, DATED) and any(ends)):
        entry, labels = _levels(one, text)
        return Described(_entry(one, {"levels": entry}, optional), _comment(one, labels, codes=False))
    unused = "its levels are not used" if levels else ""
    if any(ends) and kind in (TEXT, BOOLEAN):
        raise one.refuse("kind", "a kind of numbers where there are bounds", "numeric, integer or date; or give levels")
    if any(ends):
        whole = {"integer": "true"} if kind == WHOLE else {}
        both = {name: end or "nan" for name, end in zip(("lower", "upper"), ends, strict=True)}
        entry = _entry(one, {**both, **whole}, optional) if all(ends) else _table({**both, **whole, **optional})
        return Described(entry, _comment(one, "" if all(ends) else _usual(one, NUMERIC), unused))
    drawn = NUMERIC if kind == WHOLE else kind
    if drawn == BOOLEAN:
        return Described(_entry(one, {"levels": "[false, true]"}, optional), _comment(one, codes=False))
    return Described(DRAFTS[drawn], _comment(one, _usual(one, drawn), "cells may be missing: nullable = true" * bool(optional)))


def _usual(one: _Line, kind: str) -> str:
    """Return what is publicly known of such a column."""
    return remark(one.get("name"), kind, one.get("unit"))


def _kind(one: _Line) -> str:
    word = _word(re.sub(r"\(.*\)", "", one.get("kind")))  # varchar(20)
    if not word:
        return UNKNOWN
    for kind, names in KINDS.items():
        if word in names:
            return kind
    every = [name for names in KINDS.values() for name in names]
    raise one.refuse(
        "kind", "a kind that is known", f"{did_you_mean(word, every)}numeric, integer, categorical, boolean, date or ignore"
    )


def _ends_of(one: _Line) -> tuple[str, str]:
    """Return the bounds as a draft writes them; nothing where one is not given."""
    if whole := one.get("range"):
        if one.get("lower") or one.get("upper"):
            raise one.refuse("range", "no range beside two bounds", "leave one of them out")
        value = rf"({NUMBER}|[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}})"
        split = re.fullmatch(rf"[\[(]?\s*{value}\s*(?:to|\.\.+|–|—|-|,|;)\s*{value}\s*[\])]?", whole)
        if split is None:
            raise one.refuse("range", "a range such as 18 to 90", "or two headings, min and max")
        low, high = (_end(one, "range", part) for part in split.groups())
    else:
        low, high = (_end(one, what, one.get(what)) for what in ("lower", "upper"))
    return low, high


def _end(one: _Line, what: str, text: str) -> str:
    """Return a bound as TOML has it: a number, or a date as text."""
    if not text or _is_number(text):
        return _toml_number(text) if text else ""
    try:
        dated = bound(what, text)
    except ValueError:
        dated = None
    if dated is None:
        raise one.refuse(what, "a number or a date", "write 120, 0.5, or 2019-01-31: no unit, no mark between thousands")
    return quoted(text)


def _is_number(text: str) -> bool:
    return len(text) <= LONGEST_NUMBER and re.fullmatch(NUMBER, text) is not None


def _toml_number(text: str) -> str:
    """Return a number as TOML has it, which wants digits on both sides of a point."""
    return str(int(text)) if re.fullmatch(r"[-+]?[0-9]+", text) else repr(float(text))


def _levels(one: _Line, text: bool) -> tuple[str, str]:
    """Return levels as TOML has them, and what codes stand for."""
    cell = one.get("levels")
    parts = [part.strip() for part in re.split(r"[;|]", cell)]
    parts = [part for part in parts if part]
    if len(parts) == 1 and "," in cell:
        raise one.refuse("levels", "levels with ; or | between them", "commas may be part of a level")
    labelled = [LABELLED.fullmatch(part) for part in parts]
    labels = ""
    if all(labelled) and len(parts) > 1:
        labels = ", ".join(part for part in parts)
        parts = [match[1] for match in labelled if match is not None]
    if not text and {part.lower() for part in parts} <= {"true", "false"}:
        return f"[{', '.join(part.lower() for part in parts)}]", labels
    if not text and all(_is_number(part) for part in parts):
        return f"[{', '.join(map(_toml_number, parts))}]", labels
    return f"[{', '.join(map(quoted, parts))}]", labels


def _optional(one: _Line) -> dict[str, str]:
    """Return what says that cells may be missing."""
    word = one.get("missing").lower()
    if word == "flag":
        return {"nullable": "true", "missing": '"flag"'}
    required = one.get("required").lower()
    if required and required not in (*YES, *NO):
        raise one.refuse("required", "yes or no", "no says that cells may be missing")
    return {"nullable": "true"} if word not in NO or (required and required in NO) else {}


def _comment(one: _Line, *remarks: str, codes: bool = True) -> str:
    """Return what a codebook says besides: unit, meaning, codes of missing cells where these would count, and its line."""
    told = one.get("missing")
    named = codes and told.lower() not in (*YES, *NO, "flag")
    missing = f"cells that hold a code for missing ({told}) count as numbers: blank them in the table" if named else ""
    parts = [one.get("unit"), one.get("about"), *remarks, missing]
    return printable("; ".join([part for part in parts if part] + [f"line {one.number} of the codebook"]), 1000)


def _entry(one: _Line, keys: Mapping[str, str], optional: Mapping[str, str]) -> str:
    """Return an entry, or refuse what no schema takes: swapped bounds, a level twice."""
    text = _table({**keys, **optional})
    try:
        from_record({"column": tomllib.loads(f"entry = {text}")["entry"]})
    except (SchemaError, ValueError) as error:
        what = "levels" if "levels" in keys else "range" if one.get("range") else "upper"
        reason = str(error).removeprefix("column 'column': ").partition(" Hint:")[0].rstrip(".")
        raise one.refuse(what, "what a schema can take", reason) from None
    return text


def _table(keys: Mapping[str, str]) -> str:
    return "{ " + ", ".join(f"{key} = {value}" for key, value in keys.items()) + " }"


def chosen(entries: Mapping[str, Described], names: Sequence[str], kinds: Mapping[str, str]) -> dict[str, Described]:
    """Return entries for the columns of a table, in its order; those that the codebook leaves out as names and types tell."""
    return {
        name: entries.get(name)
        or Described(DRAFTS[kinds[name]], "; ".join(filter(None, ["not in the codebook", remark(name, kinds[name])])))
        for name in names
    }
