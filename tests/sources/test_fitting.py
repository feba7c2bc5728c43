"""Whether a table has the columns of a schema, and which others."""

from __future__ import annotations

import pyarrow as pa
import pytest

import dpcov
from dpcov.errors import SchemaError
from dpcov.sources.fitting import Fit, drafted, fitted


def test_columns_that_are_not_used_are_named() -> None:
    """A flagged column has a second feature, which is none of the table's."""
    table = pa.table({"age": [1.0, None], "size": [1.0, 2.0], "name": ["a", "b"]})
    age, flagged = dpcov.Numeric(0, 5, nullable=True), dpcov.Numeric(0, 5, nullable=True, missing="flag")
    assert fitted(dpcov.Schema({"age": age, "size": age}), table) == Fit(("name",), declared=True)
    assert fitted(dpcov.Schema({"age": flagged, "size": flagged}), table) == Fit(("name",), declared=True)
    assert fitted(dpcov.Schema({"size": flagged, "age": dpcov.Ignored()}), table) == Fit(("age", "name"), declared=True)


def test_a_draft_follows_declared_types() -> None:
    """Each kind of column gets the entry that a person has to complete, or none where nothing can be known."""
    day, time = pa.array([0], pa.date32()), pa.array([0], pa.time32("s"))
    table = pa.table({"size": [1.0], "town": ["a"], "ill": [True], "on": day, "at": time})
    assert drafted(table).partition("[columns]\n")[2].splitlines() == [
        '"size" = { lower = nan, upper = nan }',
        '"town" = { levels = [] }',
        '"ill" = { levels = [false, true] }',
        '"on" = { }  # dates: lower = 2019-01-01, upper = 2024-12-31, say',
        '"at" = { }  # lower and upper, or levels, or ignore = true',
    ]


def test_a_name_that_stands_twice_is_refused() -> None:
    table = pa.table([[1.0], [2.0]], names=["age", "age"])
    with pytest.raises(SchemaError, match="data must have a different name for each column, got two columns of the same name"):
        drafted(table)
