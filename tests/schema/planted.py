"""Planted bugs in schemas."""

from __future__ import annotations

from tests.mutation.form import mutant

PLANTED = {
    "columns that a copied schema shares": mutant(
        (
            "schema/__init__.py",
            "_twin(column) for name, column in self.columns.items()",
            "column for name, column in self.columns.items()",
        ),
        by="tests/audit/test_hostile_mechanisms.py::TestEncodings::test_nor_its_schema",
    ),
    "weights not normalised": mutant(
        ("schema/__init__.py", "total = math.hypot(*(column.weight for column in self.used.values()))", "total = 1.0"),
        by="tests/schema/test_schema.py::test_any_cells_become_rows_of_norm_at_most_one",
    ),
}
