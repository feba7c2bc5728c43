"""Planted bugs in `standardized`: edits, and the tests that must fail because of them."""

from __future__ import annotations

Edits = list[tuple[str, str, str]]

ASKING, COLUMNS = "mechanisms/standardized/covariance.py", "mechanisms/standardized/columns.py"
READING, TABLE = "mechanisms/standardized/estimate.py", "kernel/questions/table.py"
STANDARD = "kernel/rows/standard.py"
AUDIT, SCRIPTED = "tests/audit/test_standardized.py::", "tests/mechanisms/test_standardized.py::"
PATHS = AUDIT + "test_the_shares_of_every_path_are_the_budget"
CHARGE = AUDIT + "TestReplay::test_no_answer_costs_more_than_its_charge"
FEW = AUDIT + "TestReplay::test_nor_of_few_rows"
PANDAS, GAPS = (
    SCRIPTED + "TestWithoutNoise::test_complete_columns_are_what_pandas_says",
    SCRIPTED + "TestWithoutNoise::test_so_are_columns_with_gaps",
)
UNITS, FORGED = SCRIPTED + "TestUnits::", SCRIPTED + "TestForged::"
UNITS_FILE, MEANS_FILE = "mechanisms/standardized/units.py", "mechanisms/standardized/means.py"
DEVIATIONS, MEANS = (f"tests/mechanisms/test_standardized_units.py::{name}::" for name in ("TestDeviations", "TestMeans"))

STANDARDIZED_MUTANTS: dict[str, tuple[Edits, tuple[str, ...]]] = {
    "a share of a table that is taken twice": ([(ASKING, "        self.left -= share\n", "")], (PATHS,)),
    "a count of a table that is not paid for": (
        [(ASKING, "curator.ask_n(plan.take(FOR_COUNT))", "curator.ask_n(whole.share(FOR_COUNT))")],
        (PATHS,),
    ),
    "the whole budget for each range": (
        [(ASKING, "self.take(for_ranges / len(narrow))", "self.budget.share(for_ranges)")],
        (PATHS,),
    ),
    "the whole budget for the matrix of a table": (
        [(ASKING, "self.curator.noisy(moment, self.budget.share(self.left)", "self.curator.noisy(moment, self.budget")],
        (PATHS,),
    ),
    "the exact n of a table": (
        [
            (
                "kernel/curator.py",
                "if self.public.neighbors == REPLACE:\n            return self._sums.n",
                "if True:\n            return self._sums.n",
            )
        ],
        (f"{FEW}[PureDP(epsilon=400)-add-remove]", UNITS + "test_decisions_follow_the_noisy_number_of_rows"),
    ),
    "cells that are there for free": (
        [(TABLE, "appears = Fraction(2 * ONE + weight)", "appears = Fraction(2 * ONE)")],
        (f"{CHARGE}[PureDP(epsilon=20)-observed or missing-add-remove]",),
    ),
    "squares of cells that are there for free": (
        [(TABLE, "appears: int = 2 * ONE**2 + weight**2", "appears: int = 2 * ONE**2")],
        (f"{CHARGE}[ZCDP(rho=8)-observed or missing-add-remove]",),
    ),
    "cells beyond a range that are not cut": (
        [(TABLE, "inside[-1] += counts[one.high :].sum()", "inside[-1] += 3 * counts[one.high :].sum()")],
        (f"{CHARGE}[PureDP(epsilon=20)-end to end-replace]",),
    ),
    "levels of one column only": (
        [
            (
                TABLE,
                '"""In each column one level loses a cell and another gains one; or one count changes."""\n'
                "        return {REPLACE: 2, ADD_REMOVE: 1}[neighbors] * len(self.columns.levels)",
                '"""Two counts."""\n        return {REPLACE: 2, ADD_REMOVE: 1}[neighbors]',
            )
        ],
        (f"{CHARGE}[ZCDP(rho=8)-another level-replace]", f"{CHARGE}[PureDP(epsilon=20)-end to end-add-remove]"),
    ),
    "scores of intervals that count twice": (
        [(TABLE, "scores = np.minimum(0, self.rows - outside)", "scores = np.minimum(0, 2 * (self.rows - outside))")],
        (f"{CHARGE}[ZCDP(rho=8)-drowned or not-replace]",),
    ),
    "intervals that may be far too wide": (
        [(TABLE, "                scores = np.minimum(scores, least - self.rows)\n", "")],
        (UNITS + "test_only_columns_that_drown_get_a_range",),
    ),
    "columns that drown by where they lie": (
        [(COLUMNS, "if column.variance < DROWNED", "if column.mean**2 + column.variance < DROWNED")],
        (UNITS + "test_only_columns_that_drown_get_a_range",),
    ),
    "noise of a variance without that of its mean": (
        [(COLUMNS, "math.hypot(noise, 2 * mean * noise,", "math.hypot(noise, 20 * mean * noise,")],
        (UNITS + "test_the_variance_decides_and_not_where_the_column_lies",),
    ),
    "moments asked again between the bounds": (
        [(COLUMNS, "Range(i, columns[i].low, columns[i].high,", "Range(i, 0, columns[i].bins,")],
        (UNITS + "test_only_columns_that_drown_get_a_range",),
    ),
    "the corner of a table overwritten by n": (
        [(READING, "weight = max(float(lifted[0, 0]) * square, LEAST_CORNER * corner)", "weight = corner")],
        (UNITS + "test_rows_are_scaled_as_a_whole",),
    ),
    "a constant that is not scaled with its row": (
        [
            (
                STANDARD,
                "return Grid(self.row_norm).encode(self.placed(rows), scratch=True)",
                "z = Grid(self.row_norm).encode(self.placed(rows), scratch=True)\n"
                "        z[:, : int(self.corner > 0)] = np.rint(self.one * self.corner / self.row_norm)\n"
                "        return z",
            )
        ],
        (f"{CHARGE}[ZCDP(rho=8)-end to end-add-remove]",),
    ),
    "missing cells of a table at the middle of the bounds": (
        [
            (
                STANDARD,
                "yield np.where(np.isfinite(z), z, 0.0)",
                "yield np.where(np.isfinite(z), z, -units.centre / units.deviation)",
            )
        ],
        (UNITS + "test_missing_cells_are_at_the_private_centre",),
    ),
    "means over missing cells": (
        [(READING, "back = lift.matrix / own", "back = lift.matrix * 1.0")],
        (f"{GAPS}[replace]",),
    ),
    "variances divided twice by what is there": (
        [(READING, "exact.diagonal() * seen, found.diagonal() * seen,", "exact.diagonal(), found.diagonal(),")],
        (f"{GAPS}[replace]",),
    ),
    "levels that lie in another order": (
        [
            (
                "mechanisms/standardized/units.py",
                "lift.matrix[features, own] = column.parts[:, None] * table.back[column.groups]",
                "lift.matrix[features, own] = column.parts[:, None] * table.back[column.groups][::-1]",
            )
        ],
        (f"{PANDAS}[replace]",),
    ),
    "a quantile of a share that float64 takes for 1": (
        [(UNITS_FILE, "inv_cdf(min(1 - column.outside / 2, 1 - 2**-53))", "inv_cdf(1 - column.outside / 2)")],
        ("tests/verify/test_retrace.py::test_a_table_of_more_rows_than_there_can_be",),
    ),
    "a budget of a table that is refused in the middle": (
        [(ASKING, "if not plan.is_affordable():", "if False:")],
        ("tests/test_rehearsal.py::test_a_budget_too_small_for_private_units_still_buys_a_matrix",),
    ),
    "digits of a budget that run out in the middle": (
        [(ASKING, "    check_room(whole)\n", "")],
        ("tests/test_rehearsal.py::test_digits_leave_room_for_shares_of_shares",),
    ),
    "a table of constants without an estimate": (
        [(READING, "if transcript.find(SecondMoment) is None and", "if False and")],
        (SCRIPTED + "TestConstant::test_a_table_of_constants_has_means_and_no_second_moment",),
    ),
    "a table of constants of which nothing was asked": (
        [(READING, "not all(one.constant for one in found) or (columns.levels and counts is None):", "False:")],
        (SCRIPTED + "TestConstant::test_answers_that_leave_a_column_unknown_are_no_table_of_constants",),
    ),
    "noise that is a column's unit": (
        [(UNITS_FILE, "    if column.whole is None:  #", "    if True:  #")],
        (DEVIATIONS + "test_it_costs_the_least",),
    ),
    "the mean variance as a unit": (
        [
            (
                UNITS_FILE,
                "math.sqrt(float(weights @ RATIOS) / float(weights @ (1 / RATIOS)))",
                "float(weights @ RATIOS) / weights.sum()",
            )
        ],
        (DEVIATIONS + "test_it_costs_the_least", DEVIATIONS + "test_noise_alone_says_nothing"),
    ),
    "a usual variance of any range": (
        [(UNITS_FILE, "z = NormalDist().inv_cdf(min(1 - column.outside / 2, 1 - 2**-53))", "z = 2.2")],
        (DEVIATIONS + "test_what_is_usual_is_what_normal_columns_have",),
    ),
    "weights that take nothing from a mean": (
        [(MEANS_FILE, "taken = max(lost * max(deviation, OF_FAR_END * 2 * _lopsided(column)), apart)", "taken = 0.0")],
        (
            MEANS + "test_what_weights_may_take_is_an_error_of_the_weighted_mean",
            MEANS + "test_answers_that_are_far_from_each_other_are_not_averaged_by_noise",
        ),
    ),
    "a range that takes nothing from a mean": (
        [(MEANS_FILE, "math.hypot(found.error, column.outside * _lopsided(column))", "found.error")],
        (MEANS + "test_what_a_range_may_take_is_an_error_of_all_that_was_measured_within",),
    ),
    "means of skewed columns by their noise alone": (
        [
            (MEANS_FILE, "taken = max(lost * max(deviation, OF_FAR_END * 2 * _lopsided(column)), apart)", "taken = 0.0"),
            (MEANS_FILE, "math.hypot(found.error, column.outside * _lopsided(column))", "found.error"),
        ],
        (MEANS + "test_the_bias_of_a_mean_is_below_its_standard_error[ZCDP(rho=0.1)]",),
    ),
    "a mean between the bounds that weights took from, too": (
        [(MEANS_FILE, "part * found.weighted, part)", "found.weighted, part)")],
        (MEANS + "test_the_parts_of_a_mean_and_the_error_of_noise_alone[range]",),
    ),
    "what weights may take as noise": (
        [(MEANS_FILE, "_of_average(part, weighted[1], own)", "error")],
        (MEANS + "test_the_parts_of_a_mean_and_the_error_of_noise_alone[bounds]",),
    ),
    "ranges that took from what was asked between the bounds": (
        [("uses/unit_intervals.py", "mean + back) + within * cut.mean", "mean + back) + cut.mean")],
        (MEANS + "test_a_range_takes_only_from_what_was_asked_within_it",),
    ),
    "shares of levels that are more than 1 together": (
        [("release/record.py", "mean[place] = project_simplex(mean[place], 1.0)", "pass")],
        ("tests/schema/test_shares.py::test_one_by_one_they_would_be_more",),
    ),
    "rows of a forged radius": (
        [(READING, "if not FARTHEST[0] <= rows.row_norm <= FARTHEST[1] or", "if")],
        (FORGED + "test_a_radius_beyond_all_rows[1e+149]",),
    ),
}
