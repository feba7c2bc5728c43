"""Planted bugs in what the user says, and in its rehearsal."""

from __future__ import annotations

from tests.mutation.form import mutant

REQUEST = "request.py"

GRID = "kernel/rows/grid.py"
MAX_ROWS = "tests/api/test_max_rows.py::"

PLANTED = {
    "a grid whose sums have no room for the rows": mutant(
        (GRID, "(SUM_BITS - (rows - 1).bit_length()) // 2)", "(SUM_BITS + 2 - (rows - 1).bit_length()) // 2)"),
        (GRID, "return 1 << (SUM_BITS - 2 * bits)", "return 1 << (SUM_BITS + 2 - 2 * bits)"),
        by=MAX_ROWS + "TestBits::test_the_finest_grid_with_room_for_the_sums[10000000000]",
    ),
    "rows in private units on the usual grid": mutant(
        ("kernel/rows/standard.py", "return Grid(self.row_norm, self.bits)", "return Grid(self.row_norm)"),
        by="tests/kernel/laws/test_table.py::TestStandard::test_the_bounds_of_the_moment_are_nearly_attained[replace-14]",
    ),
    "private units of a file on the usual grid": mutant(
        ("kernel/questions/filing.py", 'fields.take("radius", float), self.encoding.bits)', 'fields.take("radius", float))'),
        by=MAX_ROWS + "test_they_come_back_from_a_file_which_cannot_claim_a_finer_grid",
    ),
    "more rows than sums have room for": mutant(
        ("kernel/rows/encoding.py", "if not 1 <= n <= self.most_rows:", "if n < 1:"),
        by=MAX_ROWS + "test_more_rows_than_there_is_room_for_are_refused_before_anything_is_spent",
    ),
    "local coordinates on a coarser grid": mutant(
        (
            REQUEST,
            '    if named.bound == "covariance":\n        raise ParameterError(\n            f"max_rows',
            '    if False:\n        raise ParameterError(\n            f"max_rows',
        ),
        by=MAX_ROWS + "test_local_coordinates_have_one_grid",
    ),
    "a rehearsal that forgets what is asked last": mutant(
        ("rehearsal.py", "(*asked, *added)", "asked"),
        by="tests/mechanisms/test_own_mechanism.py::TestTools::test_a_rehearsal_counts_what_may_be_asked_last",
    ),
    "bounds in encoded units": mutant(
        (REQUEST, "matrix / np.outer(scales, scales)", "matrix"),
        by="tests/mechanisms/test_coinpress_confidence.py::test_a_schema_is_a_matter_of_units",
    ),
    "a seed that is looked at before the mechanism": mutant(
        (REQUEST, "    check_budget(budget)\n    named", "    check_seed(seed)\n    check_budget(budget)\n    named"),
        by="tests/api/test_request.py::test_of_several_faults_the_first_in_one_order_is_told[covariance]",
    ),
    "any epsilon is served": mutant(
        ("promise.py", "    if amount > most:\n", "    if amount > 1000 * most:\n"),
        by="tests/api/test_weak.py::test_an_epsilon_above_twenty_is_refused_by_everyone",
    ),
    "a delta of one in n is served": mutant(
        ("promise.py", "if budget.delta * n >= 1:", "if budget.delta * n > 1:"),
        by=(
            "tests/api/test_weak.py::TestReplace::test_delta_must_be_below_one_in_n",
            "tests/api/test_weak.py::TestAddRemove::test_or_one_in_a_public_guess",
        ),
    ),
    "delta is not compared with the rows of a file": mutant(
        ("request.py", "        curator.when_n_is_known(lambda public: self.check_n(public.known_n, budget))\n", ""),
        by="tests/api/test_weak.py::TestReplace::test_a_file_is_read_first_and_nothing_is_spent",
    ),
    "a private number of rows is compared with delta": mutant(
        ("request.py", "source.known_n if self.neighbors == REPLACE else None", "source.known_n"),
        by="tests/api/test_weak.py::TestAddRemove::test_the_number_of_rows_decides_nothing",
    ),
    "a delta that nobody compares under add-remove": mutant(
        ("promise.py", "elif budget.delta > USUAL_DELTA:", "elif budget.delta > 1:"),
        by="tests/api/test_weak.py::TestAddRemove::test_a_millionth_is_the_limit",
    ),
    "the word to go on is not needed": mutant(
        ("request.py", "strong = not allow_weak and seed is None", "strong = False"),
        by=(
            "tests/api/test_weak.py::test_an_epsilon_above_twenty_is_refused_by_everyone",
            "tests/api/test_weak.py::TestCommands::test_a_dry_run_refuses_as_well",
        ),
    ),
    "columns of text are paid for as numbers": mutant(
        ("request.py", 'if getattr(opened, "guesses_types", False) and', "if False and"),
        by="tests/sources/test_tables.py::TestColumnsOfText::test_they_must_be_named_without_a_schema",
    ),
}
