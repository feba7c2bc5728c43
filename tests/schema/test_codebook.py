"""Codebooks: what their lines become, in all usual spellings, and what is refused with its line."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpcov.errors import EngineError, ParameterError, SchemaError
from dpcov.schema.codebook import HEADINGS, drafted, parse, read
from dpcov.schema.file import parse as parse_schema
from dpcov.sources.fitting import drafted as drafted_schema

BOOK = """\
Variable Name;Type;Min;Max;Categories;Units;Missing;Label
patient_id;id;;;;;;
age;integer;18;110;;years;no;Age at admission
sex;categorical;;;1=female|2=male;;yes;
admitted;date;2019-01-01;2024-12-31;;;;
systolic;numeric;;;;mmHg;yes;first measurement
temp;float;.5;43.;;°C;flag;
smoker;bool;;;;;;
ward;text;;;medicine|surgery;;99;
grade;string;;;1|2;;;
ill;;;;true|false;;;
crp;num;0;500;;;-9;
other;;;;;;;

half;numeric;0;;;;;
"""
EXPECTED: dict[str, Any] = {
    "patient_id": {"ignore": True},
    "age": {"lower": 18, "upper": 110, "integer": True},
    "sex": {"levels": [1, 2], "nullable": True},
    "admitted": {"lower": "2019-01-01", "upper": "2024-12-31"},
    "systolic": {"lower": "nan", "upper": "nan"},
    "temp": {"lower": 0.5, "upper": 43.0, "nullable": True, "missing": "flag"},
    "smoker": {"levels": [False, True]},
    "ward": {"levels": ["medicine", "surgery"], "nullable": True},
    "grade": {"levels": ["1", "2"]},
    "ill": {"levels": [True, False]},
    "crp": {"lower": 0, "upper": 500, "nullable": True},
    "other": {},
    "half": {"lower": 0, "upper": "nan"},
}


def columns(text: str) -> dict[str, Any]:
    """The entries of a draft; NaN as text, which can be compared."""

    def plain(value: Any) -> Any:
        return "nan" if value != value else value

    found = tomllib.loads(text)["columns"]
    return {name: {key: plain(value) for key, value in entry.items()} for name, entry in found.items()}


def test_what_each_line_becomes() -> None:
    assert columns(drafted(parse(BOOK))) == EXPECTED


def test_comments_have_units_meanings_codes_and_lines() -> None:
    lines = dict(line.split('" = ', 1) for line in drafted(parse(BOOK)).partition("[columns]\n")[2].splitlines())
    assert lines['"age'].endswith("# years; Age at admission; line 3 of the codebook")
    assert "1=female, 2=male" in lines['"sex']
    assert "usual: lower = 50, upper = 280 in mmHg (" in lines['"systolic']
    assert "cells may be missing: nullable = true" in lines['"systolic']
    assert "(-9) count as numbers: blank them" in lines['"crp']
    assert "count as numbers" not in lines['"ward']
    assert lines['"half'].endswith("line 15 of the codebook")


def test_a_draft_that_is_complete_is_a_schema() -> None:
    whole = {name: one for name, one in parse(BOOK).items() if name not in ("systolic", "other", "half")}
    schema = parse_schema(drafted(whole))
    assert list(schema.columns) == list(whole)
    with pytest.raises(SchemaError, match="no bounds or levels for 'systolic', 'other'; column 'half': upper must be"):
        parse_schema(drafted(parse(BOOK)))


@pytest.mark.parametrize("sign", [",", ";", "\t", "|"])
@pytest.mark.parametrize("heading", ["name", "Variable", "COLUMN", "Field Name", "var_name", "variable-name"])
def test_headings_and_signs(sign: str, heading: str) -> None:
    text = sign.join([heading, "MINIMUM", "upper bound"]) + "\n" + sign.join(["age", "0", "120"]) + "\n"
    assert columns(drafted(parse(text))) == {"age": {"lower": 0, "upper": 120}}


@pytest.mark.parametrize("text", ["18-90", "18 to 90", "18..90", "[18, 90]", "18 – 90", "(18;90)"])
def test_ranges(text: str) -> None:
    assert columns(drafted(parse(f'name\trange\nage\t"{text}"\n')))["age"] == {"lower": 18, "upper": 90}


def test_ranges_of_negative_numbers_and_dates() -> None:
    found = columns(drafted(parse("name,range\nx,-5 to -2\nat,2019-01-01 to 2020-01-01\n")))
    assert found == {"x": {"lower": -5, "upper": -2}, "at": {"lower": "2019-01-01", "upper": "2020-01-01"}}


def test_required_is_the_other_way_round() -> None:
    found = columns(drafted(parse("name,min,max,required\na,0,1,yes\nb,0,1,no\nc,0,1,\n")))
    assert [entry.get("nullable", False) for entry in found.values()] == [False, True, False]


def test_levels_that_look_like_comparisons() -> None:
    found = columns(drafted(parse("name,levels\nincome,<=50K; >50K\nshort,1:low;2:high\n")))
    assert found == {"income": {"levels": ["<=50K", ">50K"]}, "short": {"levels": [1, 2]}}


def test_lines_that_hold_line_ends() -> None:
    text = 'name,label,min,max\na,"two\nlines",0,1\nb,,0,x\n'
    with pytest.raises(SchemaError, match=r"under 'max' in line 4 \(b\), got 'x'"):
        parse(text)
    assert "two\\nlines" in drafted(parse(text.replace("x", "1")))


REFUSED = {
    "no name heading": ("what,min\nage,0\n", "a heading for the names of columns in its first line"),
    "nothing": ("", "a heading for the names"),
    "headings only": ("name,min\n", "at least one column, got only headings"),
    "two names": ("name,variable\na,b\n", "one heading for name, got 'name' and 'variable'"),
    "two bounds": ("name,min,lower\na,0,1\n", "one heading for lower, got 'min' and 'lower'"),
    "an empty name": ("name,min\nage,0\n,1\n", "a name under 'name' in line 3, got ''"),
    "a name twice": (
        "name,min\nage,0\nage,1\n",
        "each column once under 'name' in line 3, got 'age'. Hint: it stands in line 2",
    ),
    "no number": ("name,min,max\nage,0,old\n", "a number or a date under 'max' in line 2 (age), got 'old'"),
    "thousands": ('name,min,max\nage,0,"1,000"\n', "a number or a date under 'max' in line 2 (age), got '1,000'"),
    "a unit": ("name,Min Value,max\nage,0 years,9\n", "under 'Min Value' in line 2 (age), got '0 years'"),
    "no such day": ("name,min,max\nat,2019-02-30,2020-01-01\n", "a number or a date under 'min' in line 2 (at)"),
    "swapped": ("name,min,max\nage,90,18\n", "under 'max' in line 2 (age), got '18'. Hint: lower must be below upper"),
    "a date and a number": ("name,min,max\nat,2019-01-01,5\n", "must both be dates or both be numbers"),
    "infinite": ("name,min,max\nage,0,1e999\n", "under 'max' in line 2 (age), got '1e999'"),
    "endless": (f"name,min,max\nage,0,{'9' * 5000}\n", "a number or a date under 'max' in line 2 (age)"),
    "endless levels": (f"name,levels\na,1;{'9' * 60}x;1\n", "levels must differ"),
    "a kind": (
        "name,type\nage,numric\n",
        "a kind that is known under 'type' in line 2 (age), got 'numric'. Hint: did you mean 'numeric'",
    ),
    "commas": ('name,levels\nsex,"female, male"\n', "levels with ; or | between them under 'levels' in line 2 (sex)"),
    "a level twice": ("name,levels\nsex,a;b;a\n", "under 'levels' in line 2 (sex), got 'a;b;a'. Hint: levels must differ"),
    "mixed levels": ("name,levels\nsex,;|;\n", "under 'levels' in line 2 (sex), got ';|;'. Hint: levels must hold"),
    "bounds of text": (
        "name,type,min,max\nsex,text,0,1\n",
        "a kind of numbers where there are bounds under 'type' in line 2 (sex)",
    ),
    "a range": ("name,range\nage,adults\n", "a range such as 18 to 90 under 'range' in line 2 (age), got 'adults'"),
    "a range beside bounds": ("name,range,min\nage,0-9,0\n", "no range beside two bounds"),
    "a range of nothing": ("name,range\nage,9-0\n", "under 'range' in line 2 (age), got '9-0'. Hint: lower must be below"),
    "required": ("name,required\nage,perhaps\n", "yes or no under 'required' in line 2 (age), got 'perhaps'"),
    "too many cells": ("name,min\nage,0,1\n", "at most 2 cells in line 2, as many as headings, got 3"),
    "an open quote": ('name,min\n"age,0\n', "quotes that do not end"),
    "data": ("x" * 10_000_001, "more than ten million characters"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_and_where(case: str) -> None:
    text, message = REFUSED[case]
    with pytest.raises(SchemaError) as told:
        parse(text)
    assert message in str(told.value)
    assert "\n" not in str(told.value)
    assert "Hint: " in str(told.value)


@given(st.text(max_size=80))
def test_any_text_is_a_codebook_or_refused(text: str) -> None:
    for body in (text, f"name,type,min,max,levels,missing\n{text}", f"name,levels,about\na,{text}\n"):
        try:
            found = parse(body)
        except SchemaError:
            continue
        assert list(tomllib.loads(drafted(found))["columns"]) == list(found)


def test_files(tmp_path: Path) -> None:
    (tmp_path / "book.csv").write_bytes(b"\xef\xbb\xbfname,min,max\r\nage,0,120\r\n")
    assert list(read(tmp_path / "book.csv")) == ["age"]
    (tmp_path / "bytes.csv").write_bytes(b"name\n\xff\xfe\n")
    with pytest.raises(SchemaError, match="UTF-8"):
        read(tmp_path / "bytes.csv")
    for path in (tmp_path / "nowhere.csv", tmp_path):
        with pytest.raises(EngineError, match="codebook must be a file that can be read"):
            read(path)


class TestWithATable:
    TABLE = pa.table({"age": [1], "town": ["x"], "heart_rate": [1.0]})

    def test_the_table_says_which_columns_there_are(self, tmp_path: Path) -> None:
        (tmp_path / "book.csv").write_text("name,min,max\nweight,0,9\nage,0,120\n", encoding="utf-8")
        text = drafted_schema(self.TABLE, tmp_path / "book.csv")
        assert columns(text) == {
            "age": {"lower": 0, "upper": 120},
            "town": {"levels": []},
            "heart_rate": {"lower": "nan", "upper": "nan"},
        }
        assert "not in the codebook; usual: lower = 20, upper = 250" in text
        assert text.endswith('# In the codebook, and not in the table: "weight"\n')

    def test_one_of_them_is_needed(self) -> None:
        with pytest.raises(ParameterError, match="data or codebook must be given"):
            drafted_schema()


def test_no_spelling_means_two_things() -> None:
    spellings = [name for names in HEADINGS.values() for name in names]
    assert len(set(spellings)) == len(spellings)
