"""Planted bugs in means and in answers in local coordinates."""

from __future__ import annotations

from tests.mutation.form import mutant

KARWA_VADHAN = "mechanisms/mean/karwa_vadhan.py"
SYMQ = "mechanisms/mean/symq.py"
LOCAL = "mechanisms/shared/local.py"
MEANS = "mechanisms/shared/means.py"

TEST_COINPRESS_CONFIDENCE = "tests/mechanisms/test_coinpress_confidence.py::"
TEST_COINPRESS_PROVED = "tests/mechanisms/test_coinpress_proved.py::"
TEST_MEANS = "tests/mechanisms/test_means.py::"
AS_PRINTED = TEST_MEANS + "TestAsPrinted::"
TEST_ARCHITECTURE = "tests/test_architecture.py::"
CONFIDENCE = TEST_COINPRESS_CONFIDENCE + "TestWhatIsCalledProvedHolds::"
PRIVATE = TEST_ARCHITECTURE + "test_a_mechanism_reaches_into_nothing_private"

EXACT_N = 'curator._pass_on.__closure__[0].cell_contents["n"].__closure__[0].cell_contents._sums.n'

PLANTED = {
    "the columns forgotten in a column's epsilon": mutant(
        (MEANS, "sqrt_up(moved**2 * public.d / (2 * budget.rho))", "sqrt_up(Fraction(moved**2) / (2 * budget.rho))"),
        by=AS_PRINTED + "test_laplace_noise_in_each_column",
    ),
    "Karwa and Vadhan's values clipped where only noise reaches": mutant(
        (KARWA_VADHAN, "widths * (float(PAPER_REACH) if paper", "widths * (float(PAPER_NOISE) if paper"),
        by=AS_PRINTED + "test_karwa_and_vadhans_bins_are_around_whole_deviations",
    ),
    "Karwa and Vadhan's printed bins from the origin": mutant(
        (KARWA_VADHAN, "2 * beside + 1, (beside + 0.5) * widths", "2 * beside, beside * widths"),
        by=AS_PRINTED + "test_karwa_and_vadhans_bins_are_around_whole_deviations",
    ),
    "all of a column's epsilon for each quantile": mutant(
        (SYMQ, "sqrt_down(2 * budget.rho / d)) / 4", "sqrt_down(2 * budget.rho / d)) / 2"),
        by=AS_PRINTED + "test_symq_draws_with_a_quarter_of_a_columns_epsilon",
    ),
    "quartiles for the paper's quantiles": mutant(
        (SYMQ, "        level = PAPER_LEVEL\n", ""),
        by=AS_PRINTED + "test_symq_draws_with_a_quarter_of_a_columns_epsilon",
    ),
    "the printed rounds of a mean moved into the ball": mutant(
        ("mechanisms/coinpress/mean.py", "free=constants != PRACTICAL", "free=claim.proved"),
        by=AS_PRINTED + "test_coinpress_takes_two_rounds_and_leaves_the_ball",
    ),
    "half of the budget for the last round of the paper": mutant(
        ("mechanisms/coinpress/mean_rounds.py", "PAPER_ROUNDS = Fraction(3, 4), 2", "PAPER_ROUNDS = Fraction(1, 2), 2"),
        by=AS_PRINTED + "test_coinpress_clips_as_its_program",
    ),
    "Karwa and Vadhan's box around the origin": mutant(
        (KARWA_VADHAN, "Box(as_tuple(middles), as_tuple(halves))", "Box(as_tuple(point), as_tuple(halves))"),
        by=TEST_MEANS + "TestKarwaVadhan::test_the_second_box_is_around_the_fullest_bin",
    ),
    "Karwa and Vadhan's values not clipped": mutant(
        (KARWA_VADHAN, "Box(as_tuple(middles), as_tuple(halves))", "Box(as_tuple(middles), as_tuple(1e6 * halves))"),
        by=(
            TEST_MEANS + "TestKarwaVadhan::test_the_second_box_is_around_the_fullest_bin",
            TEST_MEANS + "TestKarwaVadhan::test_it_really_clips",
        ),
    ),
    "Karwa and Vadhan's emptiest bin": mutant(
        (KARWA_VADHAN, "np.argmax(counts, axis=1)", "np.argmin(counts, axis=1)"),
        by=TEST_MEANS + "TestKarwaVadhan::test_bins_and_boxes_follow_origin_and_variances",
    ),
    "both quantiles on one side": mutant(
        (SYMQ, "for rows in (lower, curator.n - lower):", "for rows in (lower, lower):"),
        by=TEST_MEANS + "TestBaselines::test_symq",
    ),
    "the rank of symq from the exact n": mutant(
        (SYMQ, "min(round(level * curator.n), curator.n)", f"min(round(level * {EXACT_N}), curator.n)"),
        by=(
            PRIVATE + "[mechanisms/mean/symq.py]",
            "tests/audit/test_few_rows.py::test_few_rows_ask_and_release_nothing_else[mean symq 0-ZCDP(rho=8)-add-remove]",
        ),
    ),
    "a mechanism that looks at frames": mutant(
        (
            SYMQ,
            "min(round(level * curator.n), curator.n)",
            "min(round(level * curator.n), curator.n) if ValueError().with_traceback(None).tb_frame else 0",
        ),
        by=PRIVATE + "[mechanisms/mean/symq.py]",
    ),
    "a file's shapes not checked": mutant(
        (LOCAL, "or not isinstance(grid, shapes or (Ball, Box, Ellipsoid))", ""),
        by="tests/release/test_framed_files.py::test_what_only_the_mechanism_knows_is_a_verdict[a ball for a moment]",
    ),
    "errors of means in the units of their frame": mutant(
        (
            LOCAL,
            "answer.deviation / transcript.n * _units(frame)",
            "answer.deviation / transcript.n * np.ones(len(frame.centre))",
        ),
        by="tests/uses/test_description.py::test_means_by_themselves_have_errors[replace-clipped]",
    ),
    "a proof with a noisy n": mutant(
        (MEANS, "public.neighbors != REPLACE or isinstance(budget, PureDP)", "isinstance(budget, PureDP)"),
        by=(
            TEST_COINPRESS_PROVED + "test_only_a_public_n_and_gaussian_noise",
            CONFIDENCE + "test_nothing_is_called_proved_where_nothing_is",
        ),
    ),
    "a proof with Laplace noise": mutant(
        (MEANS, "public.neighbors != REPLACE or isinstance(budget, PureDP)", "public.neighbors != REPLACE"),
        by=(
            TEST_COINPRESS_PROVED + "test_only_a_public_n_and_gaussian_noise",
            CONFIDENCE + "test_nothing_is_called_proved_where_nothing_is",
        ),
    ),
    "a mean's count charged before its rows are held": mutant(
        (MEANS, "    curator.prefetch(total, derive=False)", "    pass"),
        by="tests/mechanisms/test_means.py::TestStreams::test_one_reading_is_enough[clipped-add-remove]",
    ),
}
