"""What is usual of fields: suggestions in drafts, by name alone, as comments that count for nothing."""

from __future__ import annotations

import tomllib

import pytest

from dpcov.errors import SchemaError
from dpcov.schema import Numeric, Schema
from dpcov.schema.drafts import BOOLEAN, DATED, NUMERIC, TEXT, UNKNOWN, draft, remark
from dpcov.schema.file import parse
from dpcov.schema.usual import USUAL, usual


@pytest.mark.parametrize(
    ("name", "lower", "upper"),
    [
        *(("age", "0", "120"), ("Age", "0", "120"), ("patient_age", "0", "120"), ("ageAtAdmission", "0", "120")),
        *(("systolic", "50", "280"), ("SBP", "50", "280"), ("diastolic_bp", "20", "160"), ("blood pressure", "20", "280")),
        *(("heart_rate", "20", "250"), ("HeartRate", "20", "250"), ("height", "120", "220"), ("body-weight", "30", "250")),
        *(("bmi", "10", "80"), ("temperature", "32", "43"), ("income", "0", "500000"), ("hours-per-week", "0", "99")),
        *(("birth_weight", "300", "7000"), ("birth_year", "1900", "2030"), ("SpO2", "50", "100"), ("glucose", "1", "50")),
    ],
)
def test_fields_are_known_by_name(name: str, lower: str, upper: str) -> None:
    found = usual(name)
    assert found is not None
    assert (found.bounds[0].lower, found.bounds[0].upper) == (lower, upper)


@pytest.mark.parametrize(
    "name",
    [
        "stage",
        "average",
        "age_group",
        "mother age",
        "fnlwgt",
        "sample_weight",
        "weight_unit",
        "x",
        "",
        "temp",
        "mileage",
        "sextant",
    ],
)
def test_names_that_mean_something_else_are_not(name: str) -> None:
    assert usual(name) is None


@pytest.mark.parametrize("field", USUAL, ids=lambda field: " ".join(field.names))
def test_each_suggestion_is_a_schema_with_a_reason(field: object) -> None:
    assert field in USUAL
    one = next(known for known in USUAL if known is field)
    assert one.reason
    assert usual("_".join(one.names)) is one
    for keys in [one.levels] if one.levels else [(each.lower, each.upper) for each in one.bounds]:
        text = f"levels = {keys}" if one.levels else f"lower = {keys[0]}, upper = {keys[1]}{', integer = true' * one.integer}"
        assert text in one.suggestion()
        assert parse(f"[columns]\nx = {{ {text} }}\n").used


def test_a_known_unit_has_its_own_bounds() -> None:
    found = usual("temperature")
    assert found is not None
    assert found.suggestion("degF") == found.suggestion("°F")
    assert found.suggestion("°F").startswith("usual: lower = 90, upper = 110 in °F (")
    assert found.suggestion("kelvin") == found.suggestion()


def test_what_is_usual_is_a_comment_and_no_bound() -> None:
    text = draft([("age", NUMERIC), ("sex", TEXT), ("income", UNKNOWN), ("bmi", TEXT), ("height", BOOLEAN), ("weight", DATED)])
    columns = tomllib.loads(text)["columns"]
    assert str(columns.pop("age")) == "{'lower': nan, 'upper': nan}"
    assert columns == {
        "sex": {"levels": []},
        "income": {},
        "bmi": {"levels": []},
        "height": {"levels": [False, True]},
        "weight": {},
    }
    with pytest.raises(SchemaError, match="no bounds or levels for 'age', 'sex', 'income'"):
        parse(text)
    lines = text.partition("[columns]\n")[2].splitlines()
    assert ["usual: " in line for line in lines] == [True, True, True, False, False, False]


def test_a_suggestion_can_be_taken_as_it_stands() -> None:
    told = remark("age", NUMERIC).removeprefix("usual: ").partition(" in ")[0]
    assert parse(f"[columns]\nage = {{ {told} }}\n") == Schema({"age": Numeric(0, 120)})
