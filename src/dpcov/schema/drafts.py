"""Drafts of schemas, for a person to complete: from names and declared types, with what is public knowledge as comments."""

from __future__ import annotations

import json
from collections.abc import Iterable

from dpcov.schema.usual import is_identifier, usual

NUMERIC, BOOLEAN, TEXT, DATED, UNKNOWN = "numeric", "boolean", "text", "dated", "unknown"
"""What the declared type of a column tells a draft."""

FROM_TYPES = "A draft from names and types alone."
RULES = """\
# {origin} Complete it with public knowledge: never look a bound or a level up in the data.
#   {{ lower = 0, upper = 120 }}         numbers; values outside are clipped
#   {{ lower = 2019-01-01, upper = 2024-12-31 }}   dates
#   {{ levels = ["no", "yes"] }}         categories; missing and unknown cells count as none of them
#   {{ ignore = true }}                  not read
# nullable = true where cells may be missing: their share is then released, and numbers are about what was observed;
# with missing = "flag" as well, a column of its own says whether a cell is there, with its correlations.
# integer = true beside bounds where cells are whole numbers: synthetic rows then have whole ones, too.
# transform = "log", "sqrt" or "square" beside bounds: cells are clipped, and then transformed. More columns for regressions:
#   "age squared" = {{ of = "age", about = 50, transform = "square" }}   (age - 50)², which hardly goes with age itself
#   "age * male" = {{ product = ["age", "sex=Male"] }}
# An optional weight (default 1) gives a column a larger share of the accuracy.
# "usual:" is what is publicly known of fields with such names, and why; nobody looked at the data. Take it where meaning
# and unit are yours.
# others = "ignore"                  # without the first #, entries that are left as drafted are not read
# unit = {unit}                # without the first #: the column that says whose a row is, where people may have
#   several rows. Without it a row is a person, and somebody with ten rows is protected ten times less. It needs no entry.

[columns]
"""
DRAFTS = {
    NUMERIC: "{ lower = nan, upper = nan }",
    BOOLEAN: "{ levels = [false, true] }",
    TEXT: "{ levels = [] }",
    DATED: "{ }",
    UNKNOWN: "{ }",
}
REMARKS = {
    DATED: "dates: lower = 2019-01-01, upper = 2024-12-31, say",
    UNKNOWN: "lower and upper, or levels, or ignore = true",
}
"""What is said of an entry that is open, where no field is known by its name."""

USUAL_UNIT = "patient_id"
IDENTIFIER = "an identifier, by its name: if it says whose a row is, name it as unit above; else ignore = true"


def header(names: Iterable[str], origin: str = FROM_TYPES) -> str:
    """Return what stands above the entries: where they come from, and how to complete them; by names, who may be a person."""
    people = sorted(filter(is_identifier, names), key=lambda name: not is_identifier(name, of_person=True))
    return RULES.format(origin=origin, unit=quoted(next(iter(people), USUAL_UNIT)))


def draft(columns: Iterable[tuple[str, str]]) -> str:
    """Draft a schema from names and declared types: bounds and levels are for a person."""
    known = dict(columns)
    return header(known) + "".join(line(name, DRAFTS[kind], remark(name, kind)) for name, kind in known.items())


def remark(name: str, kind: str, unit: str = "") -> str:
    """Return what is publicly known of a column by its name, or what its entry may be; nothing of one that is complete."""
    if is_identifier(name):
        return IDENTIFIER
    found = usual(name)
    fits = found is not None and kind in ((TEXT, UNKNOWN) if found.levels else (NUMERIC, UNKNOWN))
    return found.suggestion(unit) if found is not None and fits else REMARKS.get(kind, "")


def line(name: str, entry: str, comment: str = "") -> str:
    """Return a line of the file."""
    return f"{quoted(name)} = {entry}{'  # ' * bool(comment)}{comment}\n"


def quoted(text: str) -> str:
    """Write text as TOML does; JSON's escapes are TOML's, but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
