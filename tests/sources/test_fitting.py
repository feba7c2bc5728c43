"""Whether a table has the columns of a schema, and how many others."""

from __future__ import annotations

import pyarrow as pa

import dpcov
from dpcov.sources.fitting import Fit, fitted


def test_columns_that_are_not_used_are_counted() -> None:
    """A flagged column has a second feature, which is none of the table's."""
    table = pa.table({"age": [1.0, None], "size": [1.0, 2.0], "name": ["a", "b"]})
    age, flagged = dpcov.Numeric(0, 5, nullable=True), dpcov.Numeric(0, 5, nullable=True, missing="flag")
    assert fitted(dpcov.Schema({"age": age, "size": age}), table) == Fit(1, declared=True)
    assert fitted(dpcov.Schema({"age": flagged, "size": flagged}), table) == Fit(1, declared=True)
    assert fitted(dpcov.Schema({"size": flagged, "age": dpcov.Ignored()}), table) == Fit(2, declared=True)
