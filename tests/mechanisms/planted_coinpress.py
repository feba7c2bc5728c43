"""Planted bugs in coinpress, of covariances and of means."""

from __future__ import annotations

from tests.mutation.form import mutant

CONFIDENCE = "mechanisms/coinpress/confidence.py"
COVARIANCE = "mechanisms/coinpress/covariance.py"
LAST_ROUND = "mechanisms/coinpress/last_round.py"
MEAN = "mechanisms/coinpress/mean.py"
PRINTED = "mechanisms/coinpress/printed.py"
UNKNOWN_SCALE = "mechanisms/coinpress/unknown_scale.py"
WHITENING = "mechanisms/coinpress/whitening.py"

TEST_COINPRESS = "tests/mechanisms/test_coinpress.py::"
AS_PRINTED = TEST_COINPRESS + "TestAsPrinted::"
TEST_COINPRESS_CONFIDENCE = "tests/mechanisms/test_coinpress_confidence.py::"
TEST_COINPRESS_QUESTIONS = "tests/mechanisms/test_coinpress_questions.py::"
TEST_UNKNOWN_SCALE = "tests/mechanisms/test_unknown_scale.py::"
TEST_FRAMED_FILES = "tests/release/test_framed_files.py::"
TEST_REHEARSAL = "tests/api/test_rehearsal.py::"
LEFT = TEST_COINPRESS + "TestUnderNoise::test_whiteners_are_turned_from_the_left"
TRUTH = TEST_COINPRESS + "TestWithoutNoise::test_the_truth_comes_back"
HIDDEN = TEST_FRAMED_FILES + "test_what_only_the_mechanism_knows_is_a_verdict"
LEAST = TEST_REHEARSAL + "test_what_depends_on_answers_is_refused_at_its_least_share"

EXACT_N = '__import__("tests.helpers.peeking", fromlist=["sums_behind"]).sums_behind(self.curator).n'
TURNED = "(vectors / np.sqrt(widened)) @ vectors.T @ applied"

PLANTED = {
    "the program's whitener, turned from the other side": mutant(
        (
            PRINTED,
            "(vectors / np.sqrt(np.maximum(values, 0.0) + hidden)) @ vectors.T @ (frame.whitener * frame.deviations)",
            "(frame.whitener * frame.deviations) @ (vectors / np.sqrt(np.maximum(values, 0.0) + hidden)) @ vectors.T",
        ),
        by=AS_PRINTED + "test_every_whitener_is_turned_from_the_left",
    ),
    "isometric noise in the paper's rounds": mutant(
        (PRINTED, "noise=GAUSSIAN, at_least=at_least)", "noise=GAUSSIAN)"), by=AS_PRINTED + "test_rounds_and_prices"
    ),
    "the paper's eta without its half": mutant(
        (PRINTED, "(2 * math.sqrt(d / n) + d / n) / 2", "2 * math.sqrt(d / n) + d / n"),
        by=AS_PRINTED + "test_every_whitener_is_turned_from_the_left",
    ),
    "any noise taken for isometric": mutant(
        (COVARIANCE, "return math.hypot(rest, more * diagonal)", "return whole"),
        by=AS_PRINTED + "test_its_noise_is_told_as_it_is",
    ),
    "an inner ellipsoid cut off at zero": mutant(
        (
            CONFIDENCE,
            "inner = (last.covariance - hidden * np.eye(encoding.d)) / high",
            "inner = (vectors * np.maximum(values - hidden, 0.0)) @ vectors.T / high",
        ),
        by=(
            TEST_COINPRESS_CONFIDENCE + "TestWhatIsCalledProvedHolds::test_a_direction_that_drowns_in_noise[1]",
            TEST_COINPRESS_CONFIDENCE + "TestWhatIsCalledProvedHolds::test_a_direction_that_drowns_in_noise[2]",
        ),
    ),
    "a ball around a mean that was moved": mutant(
        (CONFIDENCE, "import Shape, mean_of_sum, shape_of", "import Shape, mean_in_ball, mean_of_sum, shape_of"),
        (
            CONFIDENCE,
            "encoding.units * mean_of_sum(answer, n)",
            "encoding.units * mean_in_ball(answer, n, origin, encoding.row_norm)",
        ),
        by=TEST_COINPRESS_CONFIDENCE + "TestWhatIsCalledProvedHolds::test_a_mean_at_the_edge_of_its_ball",
    ),
    "a file's proof not checked": mutant(
        (
            CONFIDENCE,
            "proved = upper is not None and not centred and _is_proved_covariance(transcript, origin, upper, claim.beta)",
            "proved = claim.proved",
        ),
        by=(HIDDEN + "[a proof of rows clipped closer]", HIDDEN + "[a proof that is none]"),
    ),
    "a file's proof of a mean not checked": mutant(
        (CONFIDENCE, "proved = claim.proved and _is_proved_mean(transcript, origin, claim.beta)", "proved = claim.proved"),
        by=HIDDEN + "[a proof that is none]",
    ),
    "absolute values for a projection": mutant(
        (
            COVARIANCE,
            "return from_spectrum(*np.linalg.eigh(matrix))",
            "return from_spectrum(np.abs(np.linalg.eigh(matrix)[0]), np.linalg.eigh(matrix)[1])",
        ),
        by=TEST_COINPRESS_QUESTIONS + "TestFinishing::test_a_negative_eigenvalue_becomes_zero",
    ),
    "bounds that are not those of the covariance": mutant(
        (COVARIANCE, "back = first.unwhitener / first", "back = first.unwhitener.T / first"),
        by=TEST_COINPRESS_QUESTIONS + "TestFinishing::test_clip_keeps_to_the_bounds[matrices]",
    ),
    "a proof of too few rows": mutant(
        (COVARIANCE, "if sampling_gap(curator.n, curator.d,", "if sampling_gap(4 * curator.n, curator.d,"),
        by="tests/mechanisms/test_coinpress_proved.py::test_a_covariance_needs_rows[3-0.1]",
    ),
    "rounds whose least share is not declared": mutant(
        (COVARIANCE, "    least=least,\n", ""), by=LEAST + "[covariance-coinpress]"
    ),
    "public coordinates without their noise": mutant(
        (COVARIANCE, "last.spread.scaled(last.scale),", "last.spread.scaled(0.0),"),
        by="tests/uses/test_standing_out.py::TestOfCovariances::test_noise_alone_does_not_stand_out[coinpress-rho-False]",
    ),
    "the scale upside down": mutant(
        (LAST_ROUND, "max(unclipped / clipped, LEAST_SCALE)", "max(clipped / unclipped, LEAST_SCALE)"),
        by=TEST_COINPRESS_QUESTIONS + "TestFinishing::test_a_scripted_scale",
    ),
    "the scale in units of its own frame": mutant(
        (
            LAST_ROUND,
            "trace * ellipsoid_of(answer).deviations ** 2 for",
            "trace * (1.0 if answer is wide else ellipsoid_of(answer).deviations) ** 2 for",
        ),
        by=(TEST_COINPRESS_QUESTIONS + "TestFinishing::test_a_scripted_scale", TRUTH),
    ),
    "the variance of a noisy mean kept": mutant(
        (LAST_ROUND, " + of_mean**2 * np.eye(len(mean))", ""),
        by=TEST_COINPRESS + "TestCentred::test_the_noise_of_the_mean_is_taken_off",
    ),
    "a mean whose centre stays at the origin": mutant(
        (MEAN, "if free else mean_in_ball(answer, n, origin, radius)", "if free else origin"),
        by="tests/mechanisms/test_means.py::TestCoinpress::test_the_centre_moves_to_each_answer",
    ),
    "proved centres that are moved into the ball": mutant(
        (MEAN, "mean_of_sum(answer, n) if free else mean_in_ball", "mean_in_ball"),
        by=TEST_COINPRESS_CONFIDENCE + "TestWhatIsCalledProvedHolds::test_a_mean_at_the_edge_of_its_ball",
    ),
    "rounds of a mean whose least share is not declared": mutant(
        (MEAN, "    least=least,\n", ""), by=LEAST + "[mean-coinpress]"
    ),
    "rounds of a mean of unknown scale whose least share is not declared": mutant(
        (MEAN, "least_early_share(left) if covariance is None else", "1 if covariance is None else"),
        by=LEAST + "[mean-coinpress]",
    ),
    "a proved centre moved by noise": mutant(
        (MEAN, "        if moves:\n", "        if True:\n"),
        by="tests/mechanisms/test_coinpress_proved_rounds.py::test_rounds_that_cannot_help_leave_the_centre",
    ),
    "a matrix for one variance": mutant(
        (MEAN, "        checked_variances(covariance, d)\n", "        _known([1.0, 2.0] * (d // 2), d)\n"),
        by="tests/release/test_file_sizes.py::test_uses_of_invented_columns[coinpress]",
    ),
    "the exact n on the way to a mean": mutant(
        (UNKNOWN_SCALE, "mean_in_ball(answer, self.n, self", f"mean_in_ball(answer, {EXACT_N}, self"),
        by=TEST_UNKNOWN_SCALE + "TestRounds::test_a_noisy_number_of_rows_is_the_one_that_counts",
    ),
    "choices of a radius that are not counted": mutant(
        (UNKNOWN_SCALE, "        self.left -= exact\n", ""), by=TEST_UNKNOWN_SCALE + "TestSpending::test_exactly_the_budget"
    ),
    "a sum clipped at another radius than the chosen one": mutant(
        (UNKNOWN_SCALE, "Sum(Ball(as_tuple(self.centre), clip)", "Sum(Ball(as_tuple(self.centre), 2 * clip)"),
        by=TEST_UNKNOWN_SCALE + "TestRounds::test_each_sum_is_clipped_at_the_radius_that_was_chosen",
    ),
    "a round that transposes the whitener before it": mutant(
        (WHITENING, "@ vectors.T @ applied", "@ vectors.T @ applied.T"), by=LEFT
    ),
    "a whitener turned from the right": mutant(
        (WHITENING, TURNED, "applied @ (vectors / np.sqrt(widened)) @ vectors.T"), by=LEFT
    ),
    "a whitener turned by eigenvectors of the wrong side": mutant(
        (WHITENING, "(vectors / np.sqrt(widened)) @ vectors.T", "(vectors.T / np.sqrt(widened)) @ vectors"), by=(LEFT, TRUTH)
    ),
    "absolute values in a round": mutant(
        (WHITENING, "np.maximum(values, 0.0) + self.rule.widening", "np.abs(values) + self.rule.widening"),
        by=(TEST_COINPRESS_QUESTIONS + "TestFinishing::test_nor_is_it_folded_on_the_way", LEFT),
    ),
    "nothing widened": mutant(
        (WHITENING, "+ self.rule.widening(deviation)", "+ 0.01 * self.rule.widening(deviation)"), by=LEFT
    ),
    "no guard against long rows": mutant(
        (WHITENING, "1e-300), 1.0), MOST_GUARDED)", "1e-300), 1.0), 1.0)"),
        by=TEST_COINPRESS_QUESTIONS + "TestGuard::test_long_rows_that_clipping_hid_widen_the_ellipsoid",
    ),
    "the approach paid for twice": mutant(
        (WHITENING, "budget.share(1 - APPROACH_SHARE) if self.approach else budget", "budget"),
        by=TEST_COINPRESS_QUESTIONS + "TestSpending::test_the_questions_and_their_shares",
    ),
    "a covariance whose centre stays at the origin": mutant(
        (WHITENING, "into_ball(frame.frame.point(y), self.origin, self.radius)", "self.origin"),
        by=TEST_COINPRESS + "TestCentred::test_mean_and_covariance_of_rows_far_away",
    ),
    "whiteners that leave the bounds": mutant(
        (WHITENING, "self.bounds.within(turned, least=0.0 if self.proved else None)", "turned"),
        by=TEST_COINPRESS_QUESTIONS + "test_whiteners_stay_within_the_bounds",
    ),
}
