"""Planted bugs in the release in units of each column."""

from __future__ import annotations

from tests.mutation.form import mutant

COLUMNS = "mechanisms/standardized/columns.py"
CONSTANTS = "mechanisms/standardized/constants.py"
COVARIANCE = "mechanisms/standardized/covariance.py"
ESTIMATE = "mechanisms/standardized/estimate.py"
MEANS = "mechanisms/standardized/means.py"
UNITS = "mechanisms/standardized/units.py"

TEST_AUDIT_STANDARDIZED = "tests/audit/test_standardized.py::"
TEST_MECHANISMS_STANDARDIZED = "tests/mechanisms/test_standardized.py::"
TEST_STANDARDIZED_UNITS = "tests/mechanisms/test_standardized_units.py::"
TEST_REHEARSAL = "tests/api/test_rehearsal.py::"
PATHS = TEST_AUDIT_STANDARDIZED + "test_the_shares_of_every_path_are_the_budget"
GAPS = TEST_MECHANISMS_STANDARDIZED + "TestWithoutNoise::test_so_are_columns_with_gaps"
DEVIATIONS = TEST_STANDARDIZED_UNITS + "TestDeviations::"

PLANTED = {
    "no room for shares": mutant(
        ("mechanisms/shared/shares.py", "    budget.share(Fraction(STEPS**2 - 1, STEPS**2))\n", ""),
        by=TEST_REHEARSAL + "test_digits_leave_room_for_shares_of_shares",
    ),
    "columns that drown by where they lie": mutant(
        (COLUMNS, "if column.variance < DROWNED", "if column.mean**2 + column.variance < DROWNED"),
        by=TEST_MECHANISMS_STANDARDIZED + "TestUnits::test_only_columns_that_drown_get_a_range",
    ),
    "noise of a variance without that of its mean": mutant(
        (COLUMNS, "math.hypot(noise, 2 * mean * noise,", "math.hypot(noise, 20 * mean * noise,"),
        by=TEST_MECHANISMS_STANDARDIZED + "TestUnits::test_the_variance_decides_and_not_where_the_column_lies",
    ),
    "moments asked again between the bounds": mutant(
        (COLUMNS, "Range(i, columns[i].low, columns[i].high,", "Range(i, 0, columns[i].bins,"),
        by=TEST_MECHANISMS_STANDARDIZED + "TestUnits::test_only_columns_that_drown_get_a_range",
    ),
    "a share of a table that is taken twice": mutant((COVARIANCE, "        self.left -= share\n", ""), by=PATHS),
    "a count of a table that is not paid for": mutant(
        (COVARIANCE, "curator.ask_n(plan.take(FOR_COUNT))", "curator.ask_n(whole.share(FOR_COUNT))"), by=PATHS
    ),
    "the whole budget for each range": mutant(
        (COVARIANCE, "self.take(for_ranges / len(narrow))", "self.budget.share(for_ranges)"), by=PATHS
    ),
    "the whole budget for the matrix of a table": mutant(
        (COVARIANCE, "self.curator.noisy(moment, self.budget.share(self.left)", "self.curator.noisy(moment, self.budget"),
        by=PATHS,
    ),
    "a budget of a table that is refused in the middle": mutant(
        (COVARIANCE, "if not plan.is_affordable():", "if False:"),
        by=TEST_REHEARSAL + "test_a_budget_too_small_for_private_units_still_buys_a_matrix",
    ),
    "digits of a budget that run out in the middle": mutant(
        (COVARIANCE, "    check_room(whole)\n", ""), by=TEST_REHEARSAL + "test_digits_leave_room_for_shares_of_shares"
    ),
    "the corner of a table overwritten by n": mutant(
        (ESTIMATE, "weight = max(float(lifted[0, 0]) * square, LEAST_CORNER * corner)", "weight = corner"),
        by=TEST_MECHANISMS_STANDARDIZED + "TestUnits::test_rows_are_scaled_as_a_whole",
    ),
    "means over missing cells": mutant(
        (ESTIMATE, "back = lift.matrix / own", "back = lift.matrix * 1.0"), by=GAPS + "[replace]"
    ),
    "variances divided twice by what is there": mutant(
        (
            ESTIMATE,
            "exact.diagonal() * seen - gaps, found.diagonal() * seen - gaps,",
            "exact.diagonal() - gaps, found.diagonal() - gaps,",
        ),
        by=GAPS + "[replace]",
    ),
    "the last answer alone tells how many cells are there": mutant(
        (COLUMNS, "weight = 1 / (1 + (other[1] / one[1]) ** 2)", "weight = 1.0"),
        by="tests/uses/test_private_units.py::test_what_two_answers_say_of_the_cells_that_are_there_is_averaged",
    ),
    "deviations that do not know how uncertain their share of cells is": mutant(
        ("uses/spread_intervals.py", "of_share = variance * units.seen_error / units.seen", "of_share = 0.0 * variance"),
        by=(
            "tests/uses/test_private_units.py::test_shares_of_cells_are_as_uncertain_as_they_say_and_so_are_deviations[replace]"
        ),
    ),
    "a table of constants without an estimate": mutant(
        (ESTIMATE, "if transcript.find(SecondMoment) is None and", "if False and"),
        by=TEST_MECHANISMS_STANDARDIZED + "TestConstant::test_a_table_of_constants_has_means_and_no_second_moment",
    ),
    "a table of constants of which nothing was asked": mutant(
        (CONSTANTS, "not all(one.constant for one in found) or (columns.levels and counts is None):", "False:"),
        by=TEST_MECHANISMS_STANDARDIZED + "TestConstant::test_answers_that_leave_a_column_unknown_are_no_table_of_constants",
    ),
    "rows of a forged radius": mutant(
        (ESTIMATE, "if not FARTHEST[0] <= rows.row_norm <= FARTHEST[1] or", "if"),
        by=TEST_MECHANISMS_STANDARDIZED + "TestForged::test_a_radius_beyond_all_rows[1e+149]",
    ),
    "weights that take nothing from a mean": mutant(
        (
            "mechanisms/standardized/means.py",
            "taken = max(lost * max(deviation, OF_FAR_END * 2 * _lopsided(column)), apart)",
            "taken = 0.0",
        ),
        by=(
            "tests/mechanisms/test_standardized_units.py::TestMeans::test_what_weights_may_take_is_an_error_of_the_weighted_mean",
            "tests/mechanisms/test_standardized_units.py::TestMeans::test_answers_that_are_far_from_each_other_are_not_averaged_by_noise",
        ),
    ),
    "a range that takes nothing from a mean": mutant(
        ("mechanisms/standardized/means.py", "math.hypot(found.error, column.outside * _lopsided(column))", "found.error"),
        by="tests/mechanisms/test_standardized_units.py::TestMeans::test_what_a_range_may_take_is_an_error_of_all_that_was_measured_within",
    ),
    "means of skewed columns by their noise alone": mutant(
        (
            "mechanisms/standardized/means.py",
            "taken = max(lost * max(deviation, OF_FAR_END * 2 * _lopsided(column)), apart)",
            "taken = 0.0",
        ),
        ("mechanisms/standardized/means.py", "math.hypot(found.error, column.outside * _lopsided(column))", "found.error"),
        by="tests/mechanisms/test_standardized_units.py::TestMeans::test_the_bias_of_a_mean_is_below_its_standard_error[ZCDP(rho=0.1)]",
    ),
    "levels that lie in another order": mutant(
        (
            UNITS,
            "lift.matrix[features, own] = column.parts[:, None] * table.back[column.groups]",
            "lift.matrix[features, own] = column.parts[:, None] * table.back[column.groups][::-1]",
        ),
        by=TEST_MECHANISMS_STANDARDIZED + "TestWithoutNoise::test_complete_columns_are_what_pandas_says[replace]",
    ),
    "a quantile of a share that float64 takes for 1": mutant(
        (UNITS, "inv_cdf(min(1 - column.outside / 2, 1 - 2**-53))", "inv_cdf(1 - column.outside / 2)"),
        by="tests/verify/test_retrace.py::test_a_table_of_more_rows_than_there_can_be",
    ),
    "noise that is a column's unit": mutant(
        (UNITS, "    if column.whole is None:  #", "    if True:  #"), by=DEVIATIONS + "test_it_costs_the_least"
    ),
    "the mean variance as a unit": mutant(
        (
            UNITS,
            "math.sqrt(float(weights @ RATIOS) / float(weights @ (1 / RATIOS)))",
            "float(weights @ RATIOS) / weights.sum()",
        ),
        by=(DEVIATIONS + "test_it_costs_the_least", DEVIATIONS + "test_noise_alone_says_nothing"),
    ),
    "a usual variance of any range": mutant(
        (UNITS, "z = NormalDist().inv_cdf(min(1 - column.outside / 2, 1 - 2**-53))", "z = 2.2"),
        by=DEVIATIONS + "test_what_is_usual_is_what_normal_columns_have",
    ),
    "means asked apart that are drawn to the middle": mutant(
        ("mechanisms/standardized/means.py", "column = _unbiased(column)", "pass"),
        by="tests/mechanisms/test_standardized_units.py::TestMeans::test_what_was_asked_apart_is_not_drawn_to_what_is_usual",
    ),
    "variances asked apart with the noise of what was never drawn to what is usual": mutant(
        ("mechanisms/standardized/means.py", "/ trust, column.noise\n", "/ trust, column.noise / trust\n"),
        by="tests/mechanisms/test_standardized_units.py::TestMeans::test_what_was_asked_apart_is_not_drawn_to_what_is_usual",
    ),
    "means for which it is certain how many cells are missing": mutant(
        ("mechanisms/standardized/estimate.py", "np.hypot(mean_noise, self.gone[lift.column] * away)", "mean_noise"),
        by="tests/uses/test_population.py::TestMissing::test_means",
    ),
    "variances asked apart that are drawn to what is usual": mutant(
        ("mechanisms/standardized/means.py", "usual + (column.variance - usual) / trust", "column.variance"),
        by="tests/mechanisms/test_standardized_units.py::TestMeans::test_what_was_asked_apart_is_not_drawn_to_what_is_usual",
    ),
    "Laplace noise with the reach of normal noise": mutant(
        ("mechanisms/standardized/columns.py", "ALL_SEEN = {True: 7.0,", "ALL_SEEN = {True: 4.0,"),
        by="tests/uses/test_private_units.py::test_a_complete_column_is_not_taken_to_be_empty",
    ),
    "Laplace noise on counts of levels with the reach of normal noise": mutant(
        ("mechanisms/standardized/columns.py", "reach = ALL_SEEN[is_laplace(answer)]", "reach = ALL_SEEN[False]"),
        by="tests/uses/test_private_units.py::test_a_count_that_noise_explains_is_no_sign_of_missing_cells[PureDP(epsilon=4)-7.0]",
    ),
    "an outlier of Laplace noise for the better share": mutant(
        ("mechanisms/standardized/estimate.py", "APART[laplace] * np.hypot", "APART[False] * np.hypot"),
        by="tests/uses/test_private_units.py::test_a_count_is_taken_for_the_share_where_noise_does_not_explain_how_far_off_it_is[PureDP(epsilon=4)-7.0]",
    ),
    "an outlier of Laplace noise for the better mean": mutant(
        ("mechanisms/standardized/means.py", "EXPLAINED[laplace] * math.hypot", "EXPLAINED[False] * math.hypot"),
        by="tests/uses/test_private_units.py::test_an_outlier_of_laplace_noise_is_not_taken_for_the_better_mean",
    ),
    "a mean between the bounds that weights took from, too": mutant(
        ("mechanisms/standardized/means.py", "part * found.weighted, part)", "found.weighted, part)"),
        by="tests/mechanisms/test_standardized_units.py::TestMeans::test_the_parts_of_a_mean_and_the_error_of_noise_alone[range]",
    ),
    "what weights may take as noise": mutant(
        ("mechanisms/standardized/means.py", "_of_average(part, weighted[1], own)", "error"),
        by="tests/mechanisms/test_standardized_units.py::TestMeans::test_the_parts_of_a_mean_and_the_error_of_noise_alone[bounds]",
    ),
}
