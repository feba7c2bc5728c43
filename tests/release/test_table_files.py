"""Files of releases in private units: they come back as they were, nullable columns with them; and what no schema says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.errors import ParameterError, ReleaseError, SchemaError
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.standard import Standard
from dpcov.release.file import parse, text_of
from dpcov.schema.file import from_record, to_record
from dpcov.schema.file import parse as parse_schema
from tests.helpers.small import NULLABLE, Record, record_of, releases, sealed

NAMES = [name for name in releases() if "standardized" in name]
each_release = pytest.mark.parametrize("name", NAMES)


def rows_of(release: dpcov.Release) -> Standard:
    question = release.answers[-1].question
    assert isinstance(question, SecondMoment)
    assert isinstance(question.grid, Standard)
    return question.grid


@each_release
class TestFiles:
    def test_units_come_back_as_they_were(self, name: str, tmp_path: Path) -> None:
        release = releases()[name]
        release.save(tmp_path / "one.json")
        again = dpcov.load(tmp_path / "one.json")
        before, after = rows_of(release), rows_of(again)
        assert after == before
        assert hash(after) == hash(before)
        for one, other in zip(before.units.levels, after.units.levels, strict=True):
            assert one.vectors.tobytes() == other.vectors.tobytes()
            assert one.back.tobytes() == other.back.tobytes()
        assert text_of(again) == text_of(release)
        assert np.array_equal(again.covariance, release.covariance)
        assert np.array_equal(again.mean, release.mean)

    def test_nullable_comes_back(self, name: str) -> None:
        release = releases()[name]
        again = parse(text_of(release))
        assert again.schema == NULLABLE == release.schema
        assert again.schema is not None
        assert [column.nullable for column in again.schema.used.values()] == [True, True, False]

    def test_units_stand_once(self, name: str) -> None:
        """Though norms and the moment are asked of them."""
        record = record_of(releases()[name])
        (units,) = record["frames"]
        asked = [answer["question"]["rows"] for answer in record["answers"] if "rows" in answer["question"]]
        assert [rows["frame"] for rows in asked] == [0, 0]
        assert set(units) == {"numeric", "levels"}

    def test_units_that_nobody_asked_about_are_refused(self, name: str) -> None:
        record = record_of(releases()[name])
        record["frames"].append(record["frames"][0])
        with pytest.raises(ReleaseError):
            parse(sealed(record))

    def test_rows_must_be_those_of_the_schema(self, name: str) -> None:
        """Another weight, other levels, none at all, or columns about zero: units and bins are of other rows."""

        def weight(record: Record) -> None:
            record["encoding"]["schema"]["c"]["weight"] = 3.0

        def levels(record: Record) -> None:
            record["encoding"]["schema"]["b"]["levels"] = ["x", "y", "w"]
            record["encoding"]["feature_names"] = ["a", "b=x", "b=y", "b=w", "c"]

        def nothing(record: Record) -> None:
            record["encoding"]["schema"] = None

        def about_zero(record: Record) -> None:
            record["encoding"]["midpoints"] = False

        for edit in (levels, nothing, about_zero):
            record = record_of(releases()[name])
            edit(record)
            with pytest.raises(ReleaseError):
                parse(sealed(record))
        record = record_of(releases()[name])
        weight(record)  # ranges of bins are parts of the bounds, and units have their own: only what was said is another
        assert parse(sealed(record)).n == releases()[name].n

    def test_private_units_are_of_centred_rows(self, name: str) -> None:
        """A file may say that rows had no constant in front: it is read, and nothing is made of it."""
        record = record_of(releases()[name])
        record["encoding"]["constant"] = False
        with pytest.raises(ReleaseError, match="release must be of centred rows for this mechanism"):
            parse(sealed(record)).describe()

    def test_a_file_may_say_that_no_cell_is_missing(self, name: str) -> None:
        """Nullable is what a schema says; what was asked stands in the questions."""
        record = record_of(releases()[name])
        record["encoding"]["schema"]["a"]["nullable"] = False
        assert parse(sealed(record)).n == releases()[name].n


class TestNullable:
    @pytest.mark.parametrize("entry", ["{ lower = 0, upper = 1, nullable = true }", "{ levels = ['a'], nullable = true }"])
    def test_a_schema_says_so(self, entry: str) -> None:
        (column,) = parse_schema(f"[columns]\na = {entry}\n").used.values()
        assert column.nullable is True
        (other,) = parse_schema(f"[columns]\na = {entry.replace('true', 'false')}\n").used.values()
        assert other.nullable is False
        assert other != column

    def test_it_is_false_where_nothing_is_said(self) -> None:
        schema = parse_schema("[columns]\na = { lower = 0, upper = 1 }\nb = { levels = ['x'], weight = 2 }\n")
        assert [column.nullable for column in schema.used.values()] == [False, False]

    @pytest.mark.parametrize("value", ["1", "0", "'true'", "[true]", "1.0", "2020-01-01"])
    @pytest.mark.parametrize("entry", ["lower = 0, upper = 1", "levels = ['a']"])
    def test_anything_else_is_refused(self, entry: str, value: str) -> None:
        with pytest.raises(SchemaError, match=r"column 'a': nullable must be True or False, got .*\. Hint: "):
            parse_schema(f"[columns]\na = {{ {entry}, nullable = {value} }}\n")

    @pytest.mark.parametrize("value", [1, 0, None, "true", np.True_, [True]], ids=repr)
    def test_in_python_as_well(self, value: Any) -> None:
        for make in (lambda: dpcov.Numeric(0, 1, nullable=value), lambda: dpcov.Categorical(["a"], nullable=value)):
            with pytest.raises(ParameterError, match=r"nullable must be True or False, got .*\. Hint: "):
                make()

    @pytest.mark.parametrize(
        "entry", ["{ nullable = true }", "{ ignore = true, nullable = true }", "{ lower = 0, nullable = true }"]
    )
    def test_it_describes_no_column_by_itself(self, entry: str) -> None:
        with pytest.raises(SchemaError, match=r"column 'a' must have lower and upper, or levels, or product, or ignore = true"):
            parse_schema(f"[columns]\na = {entry}\n")

    def test_a_record_has_it(self) -> None:
        record = json.loads(json.dumps(to_record(NULLABLE)))
        assert [entry["nullable"] for entry in record.values()] == [True, True, False]
        assert from_record(record) == NULLABLE
        record["a"]["nullable"] = False
        assert from_record(record) != NULLABLE
