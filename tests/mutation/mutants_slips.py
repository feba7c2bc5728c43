"""Planted bugs in the checks that come before anything is spent: slips that would cost a budget."""

from __future__ import annotations

Edits = list[tuple[str, str, str]]

SCHEMA_FILE, ARROW = "schema/file.py", "sources/arrow.py"
WRITTEN, CHECKED = "tests/schema/test_schema_file.py::", "tests/cli/test_schema.py::"

SLIPS_MUTANTS: dict[str, tuple[Edits, tuple[str, ...]]] = {
    "a column that lacks one bound is left out": (
        [(SCHEMA_FILE, "and all(isinstance(one, float)", "and any(isinstance(one, float)")],
        (WRITTEN + "TestOthers::test_what_was_begun_is_not",),
    ),
    "drafts are left out unasked": (
        [(SCHEMA_FILE, "Ignored() if others == IGNORE and _is_draft(entry) else", "Ignored() if _is_draft(entry) else")],
        (WRITTEN + "TestOthers::test_what_is_left_as_drafted_is_ignored", WRITTEN + "test_all_wrong_entries_are_told_at_once"),
    ),
    "only the first missing column is told": (
        [(ARROW, "map(repr, missing or repeated[:1])", "map(repr, (missing or repeated)[:1])")],
        (CHECKED + "test_all_missing_columns_are_told_at_once",),
    ),
}
