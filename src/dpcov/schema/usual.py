"""Bounds that are public knowledge about usual fields, by their names: suggestions for a person who completes a draft.

They come from what people, bodies, calendars and instruments can be, and never from rows. A name may mean something else, and
a unit may be another: so they stand in drafts as comments, with their reasons, and count only once a person has taken them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Bounds:
    """Bounds of a field in one unit, as a draft has them."""

    unit: str
    lower: str
    upper: str
    also: tuple[str, ...] = ()  # other spellings of the unit, in small letters


@dataclass(frozen=True)
class Usual:
    """A field that many tables have.

    ``names`` are words that a column's name must hold together, in any order; ``other`` are words with which it is another
    field. ``bounds`` are by unit, the most usual first; a field of ``levels`` has none.
    """

    names: tuple[str, ...]
    reason: str
    bounds: tuple[Bounds, ...] = ()
    levels: str = ""
    integer: bool = False
    other: tuple[str, ...] = ()

    def suggestion(self, unit: str = "") -> str:
        """Return what a comment says: keys as in the file, unit and reason; of the unit that is known, if it is among them."""
        if self.levels:
            return f"usual: levels = {self.levels} ({self.reason})"
        known = [one for one in self.bounds if unit and plain(unit) in (plain(one.unit), *one.also)]
        whole = ", integer = true" * self.integer
        parts = [f"lower = {one.lower}, upper = {one.upper}{whole} in {one.unit}" for one in known or self.bounds]
        return f"usual: {', or '.join(parts)} ({self.reason})"


GROUPED = (
    "group",
    "band",
    "class",
    "category",
    "cat",
    "code",
    "grp",
    "flag",
    "missing",
    "date",
    "id",
    "type",
    "unit",
    "method",
)
"""Words that make another field of any of those below: an age group is no age."""

MG_DL = ("mg/dl", "mgdl")
MMOL_L = ("mmol/l", "mmoll")
PER_MINUTE = ("/min", "bpm", "permin", "perminute", "1/min")

USUAL = (
    Usual(
        ("age",),
        "the oldest age on record is 122; narrower where the table is of adults or children only",
        (Bounds("years", "0", "120", ("year", "y", "yr", "yrs")),),
        other=("mother", "father", "gestational", "onset", "diagnosis"),
    ),
    Usual(
        ("birth", "year"),
        "few who live were born before 1910; the upper bound is the year of the data",
        (Bounds("years", "1900", "2030"),),
        integer=True,
    ),
    Usual(("sex",), "as the table spells them", levels='["female", "male"]'),
    Usual(("gender",), "as the table spells them, with all answers that the form allows", levels='["female", "male", "other"]'),
    Usual(
        ("height",),
        "of adults; the smallest and the tallest on record are 55 and 272 cm",
        (
            Bounds("cm", "120", "220", ("centimetres", "centimeters")),
            Bounds("m", "1.2", "2.2", ("metres", "meters")),
            Bounds("in", "47", "87", ("inches", "inch")),
        ),
    ),
    Usual(
        ("weight",),
        "of adults; scales in hospitals end at 200 to 300 kg",
        (Bounds("kg", "30", "250", ("kilograms",)), Bounds("lb", "66", "550", ("lbs", "pounds"))),
        other=("sample", "sampling", "survey", "final", "birth", "person", "pwgt"),
    ),
    Usual(
        ("birth", "weight"),
        "of babies that live; the heaviest on record had 10 kg",
        (Bounds("g", "300", "7000", ("grams",)), Bounds("kg", "0.3", "7")),
    ),
    Usual(("bmi",), "of adults; below 12 and above 70 people hardly live", (Bounds("kg/m²", "10", "80", ("kg/m2", "kgm2")),)),
    Usual(("systolic",), "what cuffs can measure", (Bounds("mmHg", "50", "280", ()),)),
    Usual(("diastolic",), "what cuffs can measure", (Bounds("mmHg", "20", "160", ()),)),
    Usual(("sbp",), "systolic blood pressure: what cuffs can measure", (Bounds("mmHg", "50", "280", ()),)),
    Usual(("dbp",), "diastolic blood pressure: what cuffs can measure", (Bounds("mmHg", "20", "160", ()),)),
    Usual(
        ("blood", "pressure"),
        "both of its values; what cuffs can measure",
        (Bounds("mmHg", "20", "280", ()),),
        other=("systolic", "diastolic"),
    ),
    Usual(("heart", "rate"), "of living adults", (Bounds("a minute", "20", "250", PER_MINUTE),)),
    Usual(("pulse",), "of living adults", (Bounds("a minute", "20", "250", PER_MINUTE),), other=("pressure", "oximetry")),
    Usual(("respiratory", "rate"), "breaths of living adults", (Bounds("a minute", "5", "60", PER_MINUTE),)),
    Usual(
        ("temperature",),
        "of a living body; for weather or machines choose others",
        (Bounds("°C", "32", "43", ("c", "celsius", "degc")), Bounds("°F", "90", "110", ("f", "fahrenheit", "degf"))),
    ),
    Usual(
        ("oxygen", "saturation"), "a percentage; below 50 oximeters do not measure", (Bounds("%", "50", "100", ("percent",)),)
    ),
    Usual(("spo2",), "a percentage; below 50 oximeters do not measure", (Bounds("%", "50", "100", ("percent",)),)),
    Usual(
        ("glucose",),
        "in blood; what meters can show",
        (Bounds("mmol/L", "1", "50", MMOL_L), Bounds("mg/dL", "18", "900", MG_DL)),
    ),
    Usual(("cholesterol",), "in blood, total", (Bounds("mmol/L", "1", "20", MMOL_L), Bounds("mg/dL", "40", "800", MG_DL))),
    Usual(
        ("creatinine",),
        "in blood",
        (Bounds("µmol/L", "10", "1500", ("umol/l", "µmoll", "umoll")), Bounds("mg/dL", "0.1", "17", MG_DL)),
    ),
    Usual(
        ("haemoglobin",), "in blood", (Bounds("g/dL", "3", "22", ("g/dl", "gdl")), Bounds("g/L", "30", "220", ("g/l", "gl")))
    ),
    Usual(("hemoglobin",), "in blood", (Bounds("g/dL", "3", "22", ("g/dl", "gdl")), Bounds("g/L", "30", "220", ("g/l", "gl")))),
    Usual(("hba1c",), "a percentage; more is hardly seen", (Bounds("%", "3", "20", ("percent",)),)),
    Usual(("sodium",), "in blood", (Bounds("mmol/L", "100", "180", MMOL_L),)),
    Usual(("potassium",), "in blood", (Bounds("mmol/L", "1.5", "9", MMOL_L),)),
    Usual(("hours", "week"), "a week has 168; more than 99 is rarely asked for", (Bounds("hours", "0", "99", ("h",)),)),
    Usual(
        ("income",),
        "a year; a few have more, and are clipped: choose a bound by published statistics of your country",
        (Bounds("your currency", "0", "500000"),),
    ),
    Usual(("salary",), "a year; a few have more, and are clipped", (Bounds("your currency", "0", "500000"),)),
    Usual(("wage",), "an hour; a few have more, and are clipped", (Bounds("your currency", "0", "200"),)),
    Usual(("education", "years"), "from none to a doctorate", (Bounds("years", "0", "25", ("year",)),), integer=True),
    Usual(("children",), "few have more, and are clipped", (Bounds("persons", "0", "12"),), integer=True),
    Usual(("household", "size"), "few are larger, and are clipped", (Bounds("persons", "1", "15"),), integer=True),
    Usual(("length", "stay"), "few stay in a hospital longer, and are clipped", (Bounds("days", "0", "120", ("day", "d")),)),
    Usual(("percent",), "by its meaning", (Bounds("%", "0", "100", ("percent",)),)),
    Usual(("percentage",), "by its meaning", (Bounds("%", "0", "100", ("percent",)),)),
    Usual(("month",), "of a year", (Bounds("months", "1", "12"),), integer=True),
    Usual(("hour",), "of a day", (Bounds("hours", "0", "23"),), integer=True),
    Usual(("latitude",), "by its meaning", (Bounds("degrees", "-90", "90"),)),
    Usual(("longitude",), "by its meaning", (Bounds("degrees", "-180", "180"),)),
)


IDENTIFIERS = {"id", "ids", "uid", "uuid", "guid", "identifier", "pseudonym", "mrn", "ssn"}
"""Words that make a field one that tells somebody or something apart."""

NUMBERED = {"number", "no", "nr", "num", "key", "code", "hash"}
PERSONS = {
    *("patient", "person", "people", "customer", "client", "user", "member", "subject", "participant", "respondent"),
    *("employee", "staff", "student", "pupil", "citizen", "resident", "household", "account", "cardholder", "mrn", "ssn"),
}
"""Whom an identifier may be of; with one of the words above also where none says that it is an identifier."""


def is_identifier(name: str, *, of_person: bool = False) -> bool:
    """Whether a column tells somebody or something apart, by its name alone; or a person."""
    words = _words(name)
    known = bool(words & IDENTIFIERS or (words & NUMBERED and words & PERSONS))
    return known and (not of_person or bool(words & PERSONS))


def usual(name: str) -> Usual | None:
    """Return the field that a column's name tells, if any: the one with the most words in it."""
    words = _words(name)
    fits = [one for one in USUAL if words.issuperset(one.names) and not words & {*one.other, *GROUPED}]
    return max(fits, key=lambda one: len(one.names), default=None)


def _words(name: str) -> set[str]:
    """Return the words that a name is made of, in small letters: heartRate has two, and is one."""
    split = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    return set(re.findall(r"[a-z0-9]+", f"{name} {split}".lower()))


def plain(unit: str) -> str:
    """Return a unit without blanks and dots, in small letters: as spellings are compared."""
    return re.sub(r"[\s.]", "", unit).lower()
