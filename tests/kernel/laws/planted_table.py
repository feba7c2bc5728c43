"""Planted bugs in questions about the columns of a table."""

from __future__ import annotations

from tests.mutation.form import mutant

QUESTIONS_COLUMNS = "kernel/questions/columns.py"
TABLE = "kernel/questions/table.py"
ROWS_COLUMNS = "kernel/rows/columns.py"

TEST_STANDARDIZED = "tests/audit/test_standardized.py::"
TEST_CALIBRATION_TABLE = "tests/kernel/calibration/test_table.py::"
TEST_COLUMNS = "tests/kernel/laws/test_columns.py::"
TEST_LAWS_TABLE = "tests/kernel/laws/test_table.py::"
CHARGE = TEST_STANDARDIZED + "TestReplay::test_no_answer_costs_more_than_its_charge"
CLOSED = TEST_CALIBRATION_TABLE + "TestClosedForms::test_sensitivities_are_what_was_proved"
EXACTLY = TEST_CALIBRATION_TABLE + "TestExactly::"
REACHED = TEST_COLUMNS + "test_the_bounds_are_reached"
MOMENTS = TEST_LAWS_TABLE + "TestColumnMoments::"
FURTHER = TEST_LAWS_TABLE + "TestColumnMoments::test_no_pair_of_cells_moves_them_further"
INTERVAL = TEST_LAWS_TABLE + "TestInterval::"
MOVED = TEST_LAWS_TABLE + "test_neighbours_move_no_further_than_the_sensitivity"

L1 = "return Fraction({REPLACE: 2 if self.d > 1 else 1, ADD_REMOVE: 1}[neighbors] * self.moment.scaled_reach)"
OF_BINS = "{REPLACE: 2, ADD_REMOVE: 1}[neighbors] * len(self.columns.numeric)"
OF_LEVELS = "{REPLACE: 2, ADD_REMOVE: 1}[neighbors] * len(self.columns.levels)"
MIDDLES = "np.sign(odd) * ((np.abs(odd) << MOMENT_BITS) // wide)"

PLANTED = {
    "numbers of a table that say by an error that there are many rows": mutant(
        (TABLE, "[int((one.weight * inside).sum())]", "[one.weight * int(inside.sum())]"),
        by=MOMENTS + "test_a_larger_one_wraps_and_nothing_tells",
    ),
    "squares that move by one where a row is replaced": mutant(
        (QUESTIONS_COLUMNS, L1, L1.replace("2 if self.d > 1 else 1", "1")),
        by=(REACHED + "[replace]", "tests/audit/test_screened.py::TestReplay::test_no_answer_costs_more_than_its_charge"),
    ),
    "squares of two columns that move by one in L2": mutant(
        (
            QUESTIONS_COLUMNS,
            "{REPLACE: 2 if self.d > 1 else 1, ADD_REMOVE: 1}[neighbors] * self.moment.scaled_reach**2",
            "self.moment.scaled_reach**2",
        ),
        by=REACHED + "[replace]",
    ),
    "a block of neighbouring columns": mutant(
        (QUESTIONS_COLUMNS, "kept = np.array(self.columns)", "kept = np.arange(self.d)"),
        by=TEST_COLUMNS + "TestLaws::test_they_are_parts_of_the_exact_matrix[5]",
    ),
    "a block with columns twice": mutant(
        (QUESTIONS_COLUMNS, "all(a < b for a, b", "all(a <= b for a, b"), by=TEST_COLUMNS + "test_other_columns_are_refused"
    ),
    "a block of numpy's integers": mutant(
        (QUESTIONS_COLUMNS, "all(type(column) is int for column in self.columns)", "True"),
        by=TEST_COLUMNS + "test_other_columns_are_refused",
    ),
    "a block of a wider table": mutant(
        (QUESTIONS_COLUMNS, "rows_fit(self.grid, self.whole, public)", "rows_fit(self.grid, public.d, public)"),
        by=TEST_COLUMNS + "test_a_curator_answers_blocks_of_its_own_rows_only",
    ),
    "a block whose size counts as it likes": mutant(
        (QUESTIONS_COLUMNS, "type(self.d) is int and type(self.whole) is int and type", "type"),
        by=TEST_COLUMNS + "test_sizes_are_plain_integers",
    ),
    "bins that move by one where a cell is replaced": mutant(
        (TABLE, OF_BINS, "len(self.columns.numeric)"),
        by=(TEST_LAWS_TABLE + "TestHistograms::test_the_bounds_are_attained[replace]", CLOSED + "[bins, replaced]"),
    ),
    "bins of one column": mutant(
        (TABLE, OF_BINS, "{REPLACE: 2, ADD_REMOVE: 1}[neighbors]"),
        by=(TEST_LAWS_TABLE + "TestHistograms::test_the_bounds_are_attained[add-remove]", MOVED + "[histograms-replace]"),
    ),
    "levels that move by one where a cell is replaced": mutant(
        (TABLE, OF_LEVELS, "len(self.columns.levels)"),
        by=(TEST_LAWS_TABLE + "TestLevelCounts::test_the_bounds_are_attained[replace]", CLOSED + "[levels, replaced]"),
    ),
    "levels of one column": mutant(
        (TABLE, OF_LEVELS, "{REPLACE: 2, ADD_REMOVE: 1}[neighbors]"),
        by=TEST_LAWS_TABLE + "TestLevelCounts::test_the_bounds_are_attained[add-remove]",
    ),
    "moments in L1 5 percent too small where a cell is replaced": mutant(
        (TABLE, "max(Fraction(9, 4) * ONE + 1, appears)", "max(Fraction(171, 80) * ONE + 1, appears)"),
        by=(FURTHER + "[0-replace]", CLOSED + "[numbers, replaced]"),
    ),
    "moments in L1 5 percent too small where a cell appears": mutant(
        (TABLE, "appears = Fraction(2 * ONE + weight)", "appears = Fraction(19 * (2 * ONE + weight), 20)"),
        by=(FURTHER + "[16384-add-remove]", EXACTLY + "test_moments[0]"),
    ),
    "moments in L2 5 percent too small where a cell is replaced": mutant(
        (TABLE, "max(4 * ONE**2 + 2 * ONE + 1, appears)", "max(4 * ONE**2 * 19 // 20, appears)"),
        by=(FURTHER + "[0-replace]", CLOSED + "[numbers, replaced]"),
    ),
    "moments in L2 5 percent too small where a cell appears": mutant(
        (TABLE, "appears: int = 2 * ONE**2 + weight**2", "appears: int = (2 * ONE**2 + weight**2) * 19 // 20"),
        by=(FURTHER + "[32768-add-remove]", EXACTLY + "test_moments[0]"),
    ),
    "the cells that are there left out in L1": mutant(
        (TABLE, "appears = Fraction(2 * ONE + weight)", "appears = Fraction(2 * ONE)"),
        by=(FURTHER + "[16384-add-remove]", FURTHER + "[92681-replace]"),
    ),
    "the cells that are there left out in L2": mutant(
        (TABLE, "appears: int = 2 * ONE**2 + weight**2", "appears: int = 2 * ONE**2"),
        by=(FURTHER + "[32768-add-remove]", EXACTLY + "test_moments[131072]"),
    ),
    "no room for a square that is rounded down": mutant(
        (TABLE, "max(4 * ONE**2 + 2 * ONE + 1, appears)", "max(4 * ONE**2, appears)"), by=EXACTLY + "test_moments[0]"
    ),
    "columns of which the largest counts": mutant(
        (
            TABLE,
            "return sum(_cell_squared(one.weight, neighbors) for one in self.ranges)",
            "return max(_cell_squared(one.weight, neighbors) for one in self.ranges)",
        ),
        by=(MOMENTS + "test_columns_add_up[replace]", CLOSED + "[three columns, added]"),
    ),
    "squares that are not those of the rounded cells": mutant(
        (TABLE, "(cells * cells) >> MOMENT_BITS", "np.rint((odd / wide) ** 2 * ONE).astype(np.int64)"),
        by=MOMENTS + "test_each_bin_of_a_range_counts_as_its_middle[3-40]",
    ),
    "cells that are rounded away from the middle": mutant(
        (TABLE, MIDDLES, "np.sign(odd) * -((-np.abs(odd) << MOMENT_BITS) // wide)"),
        by=MOMENTS + "test_each_bin_of_a_range_counts_as_its_middle[3-40]",
    ),
    "cells beyond the range that are left out": mutant(
        (TABLE, "            inside[0] += counts[: one.low].sum()\n", ""),
        by=MOMENTS + "test_each_bin_of_a_range_counts_as_its_middle[3-40]",
    ),
    "cells that are not clipped to the range": mutant(
        (
            TABLE,
            "            odd = 2 * np.arange(wide, dtype=np.int64) + 1 - wide",
            "            odd = 4 * np.arange(wide, dtype=np.int64) + 2 - 2 * wide",
        ),
        by=(FURTHER + "[0-replace]", MOVED + "[moments, weight 0-replace]"),
    ),
    "missing cells in the first bin": mutant(
        (TABLE, "(there * counted).ravel().astype(np.int64))", "np.ones(there.size, dtype=np.int64))"),
        by=(
            TEST_LAWS_TABLE + "TestHistograms::test_bins_hold_their_lower_ends",
            TEST_LAWS_TABLE + "TestHistograms::test_each_cell_is_in_the_bin_that_plain_python_says[4]",
        ),
    ),
    "a bin beyond the last": mutant(
        (TABLE, "np.clip(steps, 0, self.bins - 1)", "np.clip(steps, 0, self.bins)"),
        by=TEST_LAWS_TABLE + "TestHistograms::test_each_cell_is_in_the_bin_that_plain_python_says[4]",
    ),
    "intervals without the rule of halves": mutant(
        (TABLE, "                scores = np.minimum(scores, least - self.whole(self.rows))\n", ""),
        by=(
            INTERVAL + "test_scores_are_those_of_a_slow_count[3]",
            INTERVAL + "test_the_best_holds_all_but_some_rows_and_none_of_its_halves_does",
        ),
    ),
    "two halves of three": mutant(
        (TABLE, "np.minimum(np.minimum(finer[0:-2:2], finer[1:-1:2]), finer[2::2])", "np.minimum(finer[0:-2:2], finer[2::2])"),
        by=INTERVAL + "test_scores_are_those_of_a_slow_count[5]",
    ),
    "halves that are added up": mutant(
        (
            TABLE,
            "np.minimum(np.minimum(finer[0:-2:2], finer[1:-1:2]), finer[2::2])",
            "finer[0:-2:2] + finer[1:-1:2] + finer[2::2]",
        ),
        by=(INTERVAL + "test_scores_are_those_of_a_slow_count[3]", INTERVAL + "test_one_cell_of_many_rows_as_well[add-remove]"),
    ),
    "scores by twice the rows outside": mutant(
        (TABLE, "scores = np.minimum(0, self.whole(self.rows) - outside)", "scores = np.minimum(0, self.rows - 2 * outside)"),
        by=(
            INTERVAL + "test_one_row_moves_each_score_by_at_most_one[add-remove]",
            INTERVAL + "test_one_cell_of_many_rows_as_well[replace]",
        ),
    ),
    "an interval of its neighbour": mutant(
        (TABLE, "low = (index - self._first(k)) * (wide // 2)", "low = (index - self._first(k)) * wide"),
        by=INTERVAL + "test_candidates_are_the_half_overlapping_runs[3]",
    ),
    "more candidates than there are": mutant(
        (TABLE, "return self._first(self.octaves + 1)", "return self._first(self.octaves + 1) + 1"),
        by=(
            INTERVAL + "test_the_finest",
            "tests/release/test_forged.py::test_a_forged_file_is_refused[an index beyond the candidates]",
        ),
    ),
    "columns of another schema": mutant(
        (TABLE, "type(self.columns) is Columns and self.columns == public.encoding.columns", "type(self.columns) is Columns"),
        by=TEST_LAWS_TABLE + "TestDoor::test_what_is_not[histograms of other bounds]",
    ),
    "cells that are there for free": mutant(
        (TABLE, "appears = Fraction(2 * ONE + weight)", "appears = Fraction(2 * ONE)"),
        by=CHARGE + "[PureDP(epsilon=20)-observed or missing-add-remove]",
    ),
    "squares of cells that are there for free": mutant(
        (TABLE, "appears: int = 2 * ONE**2 + weight**2", "appears: int = 2 * ONE**2"),
        by=CHARGE + "[ZCDP(rho=8)-observed or missing-add-remove]",
    ),
    "cells beyond a range that are not cut": mutant(
        (TABLE, "inside[-1] += counts[one.high :].sum()", "inside[-1] += 3 * counts[one.high :].sum()"),
        by=CHARGE + "[PureDP(epsilon=20)-end to end-replace]",
    ),
    "levels of one column only": mutant(
        (
            TABLE,
            '"""In each column one level loses a cell and another gains one; or one count changes."""\n'
            "        return {REPLACE: 2, ADD_REMOVE: 1}[neighbors] * len(self.columns.levels)",
            '"""Two counts."""\n        return {REPLACE: 2, ADD_REMOVE: 1}[neighbors]',
        ),
        by=(CHARGE + "[ZCDP(rho=8)-another level-replace]", CHARGE + "[PureDP(epsilon=20)-end to end-add-remove]"),
    ),
    "scores of intervals that count twice": mutant(
        (TABLE, "scores = np.minimum(0, self.whole(self.rows) - outside)", "scores = np.minimum(0, 2 * (self.rows - outside))"),
        by=CHARGE + "[ZCDP(rho=8)-drowned or not-replace]",
    ),
    "intervals that may be far too wide": mutant(
        (TABLE, "                scores = np.minimum(scores, least - self.whole(self.rows))\n", ""),
        by="tests/mechanisms/test_standardized.py::TestUnits::test_only_columns_that_drown_get_a_range",
    ),
    "cells that are not clipped to their bounds": mutant(
        (ROWS_COLUMNS, "np.clip(rows[:, self.places] / self.reaches, -1.0, 1.0)", "rows[:, self.places] / self.reaches"),
        by=TEST_LAWS_TABLE + "TestHistograms::test_bins_hold_their_lower_ends",
    ),
    "unknown cells that are the last level": mutant(
        (ROWS_COLUMNS, "np.where(known, cells, count).astype(np.intp)", "np.where(known, cells, count - 1).astype(np.intp)"),
        by=(
            TEST_LAWS_TABLE + "TestLevelCounts::test_each_cell_is_a_level_or_none",
            TEST_LAWS_TABLE + "TestUnits::test_missing_cells_are_the_centre",
        ),
    ),
}
