"""Planted bugs in evaluate."""

from __future__ import annotations

from tests.mutation.form import mutant

TEST_PLAN = "tests/evaluate/test_table_plan.py::"
MEDIANS = TEST_PLAN + "TestPrediction::test_it_is_the_median_of_what_releases_of_made_up_rows_print"
NARROWER = TEST_PLAN + "TestPrediction::test_narrower_bounds_are_of_the_same_rows"
MADE_UP = TEST_PLAN + "TestMadeUpRows::"
WORDS = TEST_PLAN + "TestWords::"

PEOPLE = "tests/evaluate/test_compare_people.py::"

PLANTED = {
    "a comparison of rows where people were asked for": mutant(
        ("evaluate/comparing.py", "aside = aside_for(whose.checked(), DEFAULT_BITS, None)", "aside = None"),
        by=PEOPLE + "test_a_schema_that_names_people_makes_it_about_them",
    ),
    "a plan of rows where people were asked for": mutant(
        (
            "evaluate/table_plan.py",
            "tables = (made_up(self.made_from, self.n // times, self.spread, first + run, asked.aside)",
            "tables = (made_up(self.made_from, self.n // times, self.spread, first + run)",
        ),
        by="tests/evaluate/test_plan_people.py::TestTables::test_people_of_a_schema",
    ),
    "a total whose price a plan forgets": mutant(
        ("evaluate/plan.py", "if additive and not (beside.weight or beside.most_rows)", "if additive"),
        by="tests/evaluate/test_plan_people.py::TestPlan::test_a_private_total_is_paid_for[more0]",
    ),
    "a dry run that takes rows for the total of weights": mutant(
        ("request.py", "None if self.aside is not None and self.aside.partial else known_n)", "known_n)"),
        by="tests/evaluate/test_plan_people.py::test_a_dry_run_of_weights_does_not_take_rows_for_their_total",
    ),
    "a truth that is divided by all rows": mutant(
        (
            "evaluate/comparing.py",
            "to_floats(sums.read(moment), moment) / weight",
            "to_floats(sums.read(moment), moment) / sums.n",
        ),
        by=PEOPLE + "test_the_truth_is_that_of_averages[False-weights]",
    ),
    "cells outside the bounds are not counted as clipped": mutant(
        ("evaluate/looking.py", "(values < described.lower) | (values > described.upper)", "(values < described.lower)"),
        by="tests/evaluate/test_looking.py::test_counts_are_those_of_the_cells",
    ),
    "what is exact is not called so": mutant(
        ("evaluate/looking.py", '{"private": False, "warning": WARNING, ', "{"),
        by="tests/evaluate/test_looking.py::TestCommand::test_machines_are_told_as_well",
    ),
    "a plan takes means in place of medians": mutant(
        ("evaluate/table_plan.py", "kind: float(np.median(relative", "kind: float(np.mean(relative"), by=MEDIANS
    ),
    "a plan's least deviation is one standard error of a variance": mutant(
        ("evaluate/table_plan.py", "np.sqrt(CLEAR * of_variance)", "np.sqrt(of_variance)"), by=MEDIANS
    ),
    "a plan forgets the square of a deviation's error": mutant(
        ("evaluate/table_plan.py", "2 * found.deviation.values * error + error**2", "2 * found.deviation.values * error"),
        by=MEDIANS,
    ),
    "a plan forgets the widths of bounds": mutant(
        ("evaluate/table_plan.py", "for kind in alike]) * (high - low)", "for kind in alike])"), by=MEDIANS
    ),
    "people of narrower bounds shrink with them": mutant(
        ("evaluate/table_plan.py", "_Trial(asked, schema, half, n, wide)", "_Trial(asked, half, half, n, wide)"), by=NARROWER
    ),
    "narrower bounds are the same bounds": mutant(
        ("evaluate/table_plan.py", "upper=column.midpoint", "upper=column.upper"), by=NARROWER
    ),
    "the chosen columns are planned as all of them": mutant(
        (
            "evaluate/table_plan.py",
            "None if chosen is None else small.outlook(budget)",
            "None if chosen is None else whole.outlook(budget)",
        ),
        by=TEST_PLAN + "TestPrediction::test_columns_that_are_left_out_leave_more_for_the_others",
    ),
    "delta grows with the budgets of the picture": mutant(
        (
            "evaluate/table_plan.py",
            "ApproxDP(budget.epsilon * factor, budget.delta)",
            "ApproxDP(budget.epsilon * factor, budget.delta * factor)",
        ),
        by=TEST_PLAN + "TestPicture::test_errors_at_five_budgets",
    ),
    "rows that stand for several count once": mutant(
        ("evaluate/made_up.py", "self._source.total(statistic) * self._times", "self._source.total(statistic)"),
        by=MADE_UP + "test_repeated_rows_have_the_sums_of_a_table_that_repeats_them",
    ),
    "made-up cells are missing in every column": mutant(
        (
            "evaluate/made_up.py",
            "gone = bits.words(n) < GONE * 2.0**64 if column.nullable else None",
            "gone = bits.words(n) < GONE * 2.0**64",
        ),
        by=MADE_UP + "test_they_are_what_is_said_of_them",
    ),
    "made-up numbers are spread over half of what is said": mutant(
        ("evaluate/made_up.py", "reach * (spread / unit)", "reach * (spread / unit / 2)"),
        by=MADE_UP + "test_they_are_what_is_said_of_them",
    ),
    "made-up rows are always the same": mutant(
        ("evaluate/made_up.py", "SeededBits(FIRST_SEED + seed)", "SeededBits(FIRST_SEED)"),
        by=MADE_UP + "test_they_have_a_seed",
    ),
    "a deviation that cannot be seen is printed as a number": mutant(
        ("report/table_plans.py", "NOTHING if least > width / 2 else digits(least)", "digits(least)"),
        by=WORDS + "test_what_cannot_be_told_from_noise_is_no_number",
    ),
    "a mean that is noise is printed as a number": mutant(
        (
            "report/table_plans.py",
            "digits(float(errors[0])) if not CLEAR * errors[0] > width / 2 else NOISE",
            "digits(float(errors[0]))",
        ),
        by=WORDS + "test_what_cannot_be_told_from_noise_is_no_number",
    ),
    "correlations of one standard error are called clear": mutant(
        (
            "report/table_plans.py",
            "those below {digits(CLEAR * outlook.correlation)}",
            "those below {digits(outlook.correlation)}",
        ),
        by=WORDS + "test_numbers_are_those_of_the_plan",
    ),
    "shares are not in percent": mutant(
        ("report/table_plans.py", 'f"{digits(100 * share)} %"', 'f"{digits(share)} %"'),
        by=WORDS + "test_numbers_are_those_of_the_plan",
    ),
    "bounds that make correlations worse are advised": mutant(
        ("report/table_plans.py", "if not other.correlation > (1 + SAME) * outlook.correlation:", "if True:"),
        by=(
            WORDS + "test_narrower_bounds_are_advised_only_where_they_help",
            WORDS + "test_of_the_hospital_they_do_not_help",
        ),
    ),
}
