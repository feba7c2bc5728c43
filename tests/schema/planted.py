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
    "a column that lacks one bound is left out": mutant(
        ("schema/file.py", "and all(isinstance(one, float)", "and any(isinstance(one, float)"),
        by="tests/schema/test_schema_file.py::TestOthers::test_what_was_begun_is_not",
    ),
    "drafts are left out unasked": mutant(
        ("schema/file.py", "Ignored() if others == IGNORE and _is_draft(entry) else", "Ignored() if _is_draft(entry) else"),
        by=(
            "tests/schema/test_schema_file.py::TestOthers::test_what_is_left_as_drafted_is_ignored",
            "tests/schema/test_schema_file.py::test_all_wrong_entries_are_told_at_once",
        ),
    ),
}
