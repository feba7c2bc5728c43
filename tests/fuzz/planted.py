"""Planted bugs: what fuzzing and a stopwatch found, made again."""

from __future__ import annotations

from tests.mutation.form import mutant

GRID = "kernel/rows/grid.py"
INPUTS = "estimators/inputs.py"
TEST_FOUND = "tests/fuzz/test_found.py::"
TEST_GRID = "tests/kernel/laws/test_grid.py::"
TEST_LET_GO = "tests/kernel/test_let_go.py::"
ELSE = TEST_FOUND + "test_a_file_that_is_something_else_is_not_kept_behind_the_error"
REFUSED = TEST_FOUND + "test_an_argument_of_another_type_is_refused"

PLANTED = {
    "an error that keeps what was no release": mutant(
        (
            "strict_json.py",
            '    raise_alone(ReleaseError(f"release file must be {rule}, got {found}. Hint: {hint}."))',
            '    raise ReleaseError(f"release file must be {rule}, got {found}. Hint: {hint}.") from None',
        ),
        by=(ELSE + "[lines of JSON]", ELSE + "[bytes]"),
    ),
    "an error that keeps what was no schema": mutant(
        (
            "schema/file.py",
            '        raise_alone(SchemaError("schema must be a text file',
            '        raise (SchemaError("schema must be a text file',
        ),
        by=ELSE + "[schema]",
    ),
    "an error that keeps what was no codebook": mutant(
        (
            "schema/codebook.py",
            '        raise_alone(SchemaError("codebook must be',
            '        raise (SchemaError("codebook must be',
        ),
        by=ELSE + "[codebook]",
    ),
    "keys of a schema on the screen": mutant(
        ("schema/file.py", 'printable(", ".join(sorted(keys)))', '", ".join(sorted(keys))'),
        by=TEST_FOUND + "test_keys_of_a_schema_do_not_reach_the_screen_as_they_are",
    ),
    "new rows of a wrong shape left to scikit-learn": mutant(
        (INPUTS, "    if not plain or array.ndim != 2:\n", "    if False:\n"),
        by=TEST_FOUND + "TestEstimators::test_rows_of_another_shape_are_not_printed",
    ),
    "new complex rows left to scikit-learn": mutant(
        (INPUTS, '    if array.dtype.kind == "c":  # scikit-learn', "    if False:  # scikit-learn"),
        by=TEST_FOUND + "TestEstimators::test_complex_rows_are_not_printed",
    ),
    "a position that tells what stands in the first line": mutant(
        ("sources/opening.py", "schema is not None and names[int(column)] not in schema.used", "False"),
        by=TEST_FOUND + "test_a_position_does_not_tell_the_first_line_of_a_file",
    ),
    "progress that is called whatever it is": mutant(
        ("request.py", "        checked_progress(progress)\n", ""),
        by=REFUSED + "[progress]",
    ),
    "a curator that can be copied": mutant(
        ("kernel/curator.py", "class Curator(Held):", "class Curator:"),
        by=TEST_LET_GO + "test_what_holds_exact_numbers_is_neither_copied_nor_pickled[copy-curator]",
    ),
    "an account that can be copied": mutant(
        ("kernel/account.py", "class Account(Held):", "class Account:"),
        by=TEST_LET_GO + "test_what_holds_exact_numbers_is_neither_copied_nor_pickled[copy-account]",
    ),
    "no batch where no row goes the long way": mutant(
        (GRID, "others[: batch - len(found) % batch]", "others[: -len(found) % batch]"),
        by=(
            TEST_GRID + "test_a_first_row_that_is_marked_changes_no_number_of_rows",
            TEST_GRID + "test_rows_go_the_long_way_in_public_numbers",
        ),
    ),
    "rows that are not finite go the long way alone": mutant(
        (GRID, "wild = batched(~(norms < WILD))", "wild = np.flatnonzero(~(norms < WILD))"),
        by=TEST_GRID + "test_rows_go_the_long_way_in_public_numbers",
    ),
}
