"""Planted bugs in schemas."""

from __future__ import annotations

from tests.mutation.form import mutant

PLANTED = {
    "weights not normalised": mutant(
        ("schema/__init__.py", "total = math.hypot(*(column.weight for column in self.used.values()))", "total = 1.0"),
        by="tests/schema/test_schema.py::test_any_cells_become_rows_of_norm_at_most_one",
    ),
}
