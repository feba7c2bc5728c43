"""Planted bugs in the checks that come before anything is spent: slips that would cost a budget."""

from __future__ import annotations

Edits = list[tuple[str, str, str]]

SCHEMA_FILE, ARROW, REQUEST, SUMS = "schema/file.py", "sources/arrow.py", "request.py", "kernel/sums.py"
WRITTEN, CHECKED = "tests/schema/test_schema_file.py::", "tests/cli/test_schema.py::"
WEAK, TEXTS = "tests/test_weak.py::", "tests/sources/test_csv_text.py::"

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
    "any epsilon is served": (
        [(REQUEST, "    if amount > most:\n", "    if amount > 1000 * most:\n")],
        (WEAK + "test_an_epsilon_above_twenty_is_refused_by_everyone",),
    ),
    "a delta of one in n is served": (
        [(REQUEST, "if budget.delta * n >= 1:", "if budget.delta * n > 1:")],
        (WEAK + "TestReplace::test_delta_must_be_below_one_in_n", WEAK + "TestAddRemove::test_or_one_in_a_public_guess"),
    ),
    "delta is not compared with the rows of a file": (
        [(SUMS, "            self._check_n(n)\n", "            pass\n")],
        (WEAK + "TestReplace::test_a_file_is_read_first_and_nothing_is_spent",),
    ),
    "a private number of rows is compared with delta": (
        [(SUMS, "if self._neighbors == REPLACE and n is not None and self._check_n", "if n is not None and self._check_n")],
        (WEAK + "TestAddRemove::test_the_number_of_rows_decides_nothing",),
    ),
    "a delta that nobody compares under add-remove": (
        [(REQUEST, "elif budget.delta > USUAL_DELTA:", "elif budget.delta > 1:")],
        (WEAK + "TestAddRemove::test_a_millionth_is_the_limit",),
    ),
    "the word to go on is not needed": (
        [(REQUEST, "strong = not allow_weak and seed is None", "strong = False")],
        (WEAK + "test_an_epsilon_above_twenty_is_refused_by_everyone", WEAK + "TestCommands::test_a_dry_run_refuses_as_well"),
    ),
    "thousands are guessed": (
        [("sources/cells.py", 'COMMA_NUMBER = NUMBER.replace(r"\\.", ",")', 'COMMA_NUMBER = NUMBER.replace(r"\\.", "[.,]")')],
        (TEXTS + "test_a_mark_between_thousands_makes_a_missing_cell",),
    ),
    "bytes that mean nothing raise": (
        [("sources/csv_text.py", '(errors="replace")', '(errors="strict")')],
        (TEXTS + "test_no_bytes_are_refused",),
    ),
    "cells outside the bounds are not counted as clipped": (
        [("evaluate/looking.py", "(values < described.lower) | (values > described.upper)", "(values < described.lower)")],
        ("tests/evaluate/test_looking.py::test_counts_are_those_of_the_cells",),
    ),
    "what is exact is not called so": (
        [("evaluate/looking.py", '{"private": False, "warning": WARNING, ', "{")],
        ("tests/evaluate/test_looking.py::TestCommand::test_machines_are_told_as_well",),
    ),
    "whole numbers rounded out of their bounds": (
        [("uses/synthetic.py", "float(math.ceil(column.lower))", "float(math.floor(column.lower))")],
        ("tests/uses/test_synthetic.py::TestWholeNumbers::test_synthetic_cells_are_whole_and_within_the_bounds",),
    ),
    "columns of text are paid for as numbers": (
        [(REQUEST, 'if getattr(opened, "guesses_types", False) and', "if False and")],
        ("tests/sources/test_tables.py::TestColumnsOfText::test_they_must_be_named_without_a_schema",),
    ),
    "clones spend in silence": (
        [("estimators/common.py", "_families[made] = _families.setdefault(self, [0])", "_families[made] = [0]")],
        ("tests/estimators/test_spending.py::test_a_cross_validation_warns",),
    ),
    "a warning after the budget is gone": (
        [
            ("estimators/common.py", "        self._warn_of_spending()\n        settings", "        settings"),
            (
                "estimators/common.py",
                "        self._keep(self.release_)\n",
                "        self._warn_of_spending()\n        self._keep(self.release_)\n",
            ),
        ],
        ("tests/estimators/test_spending.py::test_nothing_is_spent_where_warnings_are_errors[PrivateMean]",),
    ),
}
