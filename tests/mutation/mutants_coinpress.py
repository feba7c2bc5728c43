"""Planted bugs in coinpress and the means: edits, and the tests that must fail because of them."""

from __future__ import annotations

Edits = list[tuple[str, str, str]]

COVARIANCE, QUESTIONS = "tests/scripted/test_coinpress.py::", "tests/scripted/test_coinpress_questions.py::"
MEANS, UNKNOWN = "tests/scripted/test_means.py::", "tests/scripted/test_unknown_scale.py::"
FILES = "tests/refusals/test_framed_files.py::"
STATE, ESTIMATE, VADHAN = "mechanisms/coinpress_state.py", "estimate_framed.py", "mechanisms/means/karwa_vadhan.py"

LEFT = COVARIANCE + "TestUnderNoise::test_whiteners_are_turned_from_the_left"
BOTH = COVARIANCE + "TestUnderNoise::test_they_are_undone_from_both_sides"
TRUTH = COVARIANCE + "TestWithoutNoise::test_the_truth_comes_back"

COINPRESS: dict[str, tuple[Edits, tuple[str, ...]]] = {
    "a round that transposes the whitener before it": (
        [(STATE, "@ vectors.T @ applied)", "@ vectors.T @ applied.T)")],
        (LEFT,),
    ),
    "a whitener turned from the right": (
        [(STATE, "(vectors / np.sqrt(widened)) @ vectors.T @ applied)", "applied @ (vectors / np.sqrt(widened)) @ vectors.T)")],
        (LEFT,),
    ),
    "a whitener turned by eigenvectors of the wrong side": (
        [(STATE, "(vectors / np.sqrt(widened)) @ vectors.T", "(vectors.T / np.sqrt(widened)) @ vectors")],
        (LEFT, TRUTH),
    ),
    "a whitener undone from one side": (
        [("frame.py", "moved = back @ matrix @ back.T", "moved = back @ matrix")],
        (BOTH, TRUTH),
    ),
    "a whitener undone by its transpose": (
        [("frame.py", "moved = back @ matrix @ back.T", "moved = back.T @ matrix @ back")],
        (BOTH, COVARIANCE + "TestWithoutNoise::test_the_truth_comes_back[5]"),
    ),
    "absolute values for a projection": (
        [
            (
                ESTIMATE,
                "return from_spectrum(*np.linalg.eigh(matrix))",
                "return from_spectrum(np.abs(np.linalg.eigh(matrix)[0]), np.linalg.eigh(matrix)[1])",
            )
        ],
        (QUESTIONS + "TestFinishing::test_a_negative_eigenvalue_becomes_zero",),
    ),
    "absolute values in a round": (
        [(STATE, "np.maximum(values, 0.0) + self.rule.widening", "np.abs(values) + self.rule.widening")],
        (QUESTIONS + "TestFinishing::test_nor_is_it_folded_on_the_way", LEFT),
    ),
    "nothing widened": (
        [(STATE, "+ self.rule.widening(deviation)", "+ 0.01 * self.rule.widening(deviation)")],
        (LEFT,),
    ),
    "the scale upside down": (
        [
            (
                ESTIMATE,
                "float(wide.values[0]) * frame_of(wide).deviations ** 2 / traced",
                "traced / (float(wide.values[0]) * frame_of(wide).deviations ** 2)",
            )
        ],
        (QUESTIONS + "TestFinishing::test_a_scripted_scale",),
    ),
    "the scale in units of its own frame": (
        [(ESTIMATE, "float(wide.values[0]) * frame_of(wide).deviations ** 2 / traced", "float(wide.values[0]) / traced")],
        (QUESTIONS + "TestFinishing::test_a_scripted_scale", TRUTH),
    ),
    "no guard against long rows": (
        [(STATE, "1e-300), 1.0), MOST_GUARDED)", "1e-300), 1.0), 1.0)")],
        (QUESTIONS + "TestGuard::test_long_rows_that_clipping_hid_widen_the_ellipsoid",),
    ),
    "bounds that are not those of the covariance": (
        [(ESTIMATE, "back = np.linalg.inv(whitener) @ vectors", "back = np.linalg.inv(whitener).T @ vectors")],
        (QUESTIONS + "TestFinishing::test_clip_keeps_to_the_bounds[matrices]",),
    ),
    "the approach paid for twice": (
        [(STATE, "budget.share(1 - APPROACH_SHARE) if self.approach else budget", "budget")],
        (QUESTIONS + "TestSpending::test_the_questions_and_their_shares",),
    ),
    "the variance of a noisy mean kept": (
        [(ESTIMATE, " + noise_deviation(told, release.n) ** 2 * np.eye(release.d)", "")],
        (COVARIANCE + "TestCentred::test_the_noise_of_the_mean_is_taken_off",),
    ),
    "a covariance whose centre stays at the origin": (
        [(STATE, "into_ball(frame.frame.point(y), self.origin, self.radius)", "self.origin")],
        (COVARIANCE + "TestCentred::test_mean_and_covariance_of_rows_far_away",),
    ),
    "a mean whose centre stays at the origin": (
        [("mechanisms/means/coinpress.py", "if proved else moved(curator, answer, origin)", "if proved else origin")],
        (MEANS + "TestCoinpress::test_the_centre_moves_to_each_answer",),
    ),
    "Karwa and Vadhan's box around the origin": (
        [(VADHAN, "Box(as_tuple(middles), as_tuple(halves))", "Box(as_tuple(point), as_tuple(halves))")],
        (MEANS + "TestKarwaVadhan::test_the_second_box_is_around_the_fullest_bin",),
    ),
    "Karwa and Vadhan's values not clipped": (
        [(VADHAN, "Box(as_tuple(middles), as_tuple(halves))", "Box(as_tuple(middles), as_tuple(1e6 * halves))")],
        (
            MEANS + "TestKarwaVadhan::test_the_second_box_is_around_the_fullest_bin",
            MEANS + "TestKarwaVadhan::test_it_really_clips",
        ),
    ),
    "Karwa and Vadhan's emptiest bin": (
        [(VADHAN, "np.argmax(counts, axis=1)", "np.argmin(counts, axis=1)")],
        (MEANS + "TestKarwaVadhan::test_bins_and_boxes_follow_origin_and_variances",),
    ),
    "both quantiles on one side": (
        [("mechanisms/means/symq.py", "for rows in (lower, curator.n - lower):", "for rows in (lower, lower):")],
        (MEANS + "TestBaselines::test_symq",),
    ),
    "the exact n on the way to a mean": (
        [
            (
                "mechanisms/means/common.py",
                "frame_of(answer).point(answer.values / curator.n)",
                "frame_of(answer).point(answer.values / curator._source.n)",
            )
        ],
        (UNKNOWN + "TestRounds::test_a_noisy_number_of_rows_is_the_one_that_counts",),
    ),
    "choices of a radius that are not counted": (
        [("mechanisms/means/unknown_scale.py", "        self.left -= exact\n", "")],
        (UNKNOWN + "TestSpending::test_exactly_the_budget",),
    ),
    "a sum clipped at another radius than the chosen one": (
        [
            (
                "mechanisms/means/unknown_scale.py",
                "Sum(Ball(as_tuple(self.centre), clip)",
                "Sum(Ball(as_tuple(self.centre), 2 * clip)",
            )
        ],
        (UNKNOWN + "TestRounds::test_each_sum_is_clipped_at_the_radius_that_was_chosen",),
    ),
    "a file's quantile not compared with its price": (
        [("release_framed.py", "        self.check_paid(answer, spend)\n", "")],
        (FILES + "test_a_forged_file_is_refused",),
    ),
}
