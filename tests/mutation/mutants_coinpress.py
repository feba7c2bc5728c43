"""Planted bugs in coinpress and the means: edits, and the tests that must fail because of them."""

from __future__ import annotations

Edits = list[tuple[str, str, str]]

COVARIANCE, QUESTIONS = "tests/mechanisms/test_coinpress.py::", "tests/mechanisms/test_coinpress_questions.py::"
MEANS, UNKNOWN = "tests/mechanisms/test_means.py::", "tests/mechanisms/test_unknown_scale.py::"
FILES = "tests/release/test_framed_files.py::"
STATE, ESTIMATE, LAST, VADHAN = (
    "mechanisms/coinpress/whitening.py",
    "mechanisms/coinpress/covariance.py",
    "mechanisms/coinpress/last_round.py",
    "mechanisms/mean/karwa_vadhan.py",
)
MEAN, SCALE, REGION, LOCAL = (
    "mechanisms/coinpress/mean.py",
    "mechanisms/coinpress/unknown_scale.py",
    "mechanisms/coinpress/confidence.py",
    "mechanisms/shared/local.py",
)
CONFIDENCE = "tests/mechanisms/test_coinpress_confidence.py::TestWhatIsCalledProvedHolds::"
REFUSED = "tests/mechanisms/test_means_refusals.py::"
HIDDEN = FILES + "test_what_only_the_mechanism_knows_is_a_verdict"
EXACT_N = '__import__("tests.helpers.peeking", fromlist=["sums_behind"]).sums_behind(self.curator).n'
BY_NAME = "zip(*(sorted(each, key=lambda answer: answer.question.name) for each in (made, known)), strict=False)"
TURNED = "(vectors / np.sqrt(widened)) @ vectors.T @ applied"
LEAST = "tests/test_rehearsal.py::test_what_depends_on_answers_is_refused_at_its_least_share"

LEFT = COVARIANCE + "TestUnderNoise::test_whiteners_are_turned_from_the_left"
BOTH = COVARIANCE + "TestUnderNoise::test_they_are_undone_from_both_sides"
TRUTH = COVARIANCE + "TestWithoutNoise::test_the_truth_comes_back"

COINPRESS: dict[str, tuple[Edits, tuple[str, ...]]] = {
    "a round that transposes the whitener before it": (
        [(STATE, "@ vectors.T @ applied", "@ vectors.T @ applied.T")],
        (LEFT,),
    ),
    "a whitener turned from the right": (
        [(STATE, TURNED, "applied @ (vectors / np.sqrt(widened)) @ vectors.T")],
        (LEFT,),
    ),
    "a whitener turned by eigenvectors of the wrong side": (
        [(STATE, "(vectors / np.sqrt(widened)) @ vectors.T", "(vectors.T / np.sqrt(widened)) @ vectors")],
        (LEFT, TRUTH),
    ),
    "a whitener undone from one side": (
        [("kernel/rows/frames.py", "moved = back @ matrix @ back.T", "moved = back @ matrix")],
        (BOTH, TRUTH),
    ),
    "a whitener undone by its transpose": (
        [("kernel/rows/frames.py", "moved = back @ matrix @ back.T", "moved = back.T @ matrix @ back")],
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
        [(LAST, "max(unclipped / clipped, LEAST_SCALE)", "max(clipped / unclipped, LEAST_SCALE)")],
        (QUESTIONS + "TestFinishing::test_a_scripted_scale",),
    ),
    "the scale in units of its own frame": (
        [
            (
                LAST,
                "trace * ellipsoid_of(answer).deviations ** 2 for",
                "trace * (1.0 if answer is wide else ellipsoid_of(answer).deviations) ** 2 for",
            )
        ],
        (QUESTIONS + "TestFinishing::test_a_scripted_scale", TRUTH),
    ),
    "no guard against long rows": (
        [(STATE, "1e-300), 1.0), MOST_GUARDED)", "1e-300), 1.0), 1.0)")],
        (QUESTIONS + "TestGuard::test_long_rows_that_clipping_hid_widen_the_ellipsoid",),
    ),
    "bounds that are not those of the covariance": (
        [(ESTIMATE, "back = first.unwhitener / first", "back = first.unwhitener.T / first")],
        (QUESTIONS + "TestFinishing::test_clip_keeps_to_the_bounds[matrices]",),
    ),
    "the approach paid for twice": (
        [(STATE, "budget.share(1 - APPROACH_SHARE) if self.approach else budget", "budget")],
        (QUESTIONS + "TestSpending::test_the_questions_and_their_shares",),
    ),
    "the variance of a noisy mean kept": (
        [(LAST, " + of_mean**2 * np.eye(len(mean))", "")],
        (COVARIANCE + "TestCentred::test_the_noise_of_the_mean_is_taken_off",),
    ),
    "a covariance whose centre stays at the origin": (
        [(STATE, "into_ball(frame.frame.point(y), self.origin, self.radius)", "self.origin")],
        (COVARIANCE + "TestCentred::test_mean_and_covariance_of_rows_far_away",),
    ),
    "a mean whose centre stays at the origin": (
        [(MEAN, "if proved else mean_in_ball(answer, n, origin, radius)", "if proved else origin")],
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
        [("mechanisms/mean/symq.py", "for rows in (lower, curator.n - lower):", "for rows in (lower, lower):")],
        (MEANS + "TestBaselines::test_symq",),
    ),
    "the exact n on the way to a mean": (
        [(SCALE, "mean_in_ball(answer, self.n, self", f"mean_in_ball(answer, {EXACT_N}, self")],
        (UNKNOWN + "TestRounds::test_a_noisy_number_of_rows_is_the_one_that_counts",),
    ),
    "choices of a radius that are not counted": (
        [(SCALE, "        self.left -= exact\n", "")],
        (UNKNOWN + "TestSpending::test_exactly_the_budget",),
    ),
    "a sum clipped at another radius than the chosen one": (
        [
            (
                SCALE,
                "Sum(Ball(as_tuple(self.centre), clip)",
                "Sum(Ball(as_tuple(self.centre), 2 * clip)",
            )
        ],
        (UNKNOWN + "TestRounds::test_each_sum_is_clipped_at_the_radius_that_was_chosen",),
    ),
    "whiteners that leave the bounds": (
        [(STATE, "self.bounds.within(turned, least=0.0 if self.proved else None)", "turned")],
        (QUESTIONS + "test_whiteners_stay_within_the_bounds",),
    ),
    "an inner ellipsoid cut off at zero": (
        [
            (
                REGION,
                "inner = (last.covariance - hidden * np.eye(encoding.d)) / high",
                "inner = (vectors * np.maximum(values - hidden, 0.0)) @ vectors.T / high",
            )
        ],
        (CONFIDENCE + "test_a_direction_that_drowns_in_noise[1]", CONFIDENCE + "test_a_direction_that_drowns_in_noise[2]"),
    ),
    "a ball around a mean that was moved": (
        [
            (REGION, "import Shape, mean_of_sum, shape_of", "import Shape, mean_in_ball, mean_of_sum, shape_of"),
            (
                REGION,
                "encoding.units * mean_of_sum(answer, n)",
                "encoding.units * mean_in_ball(answer, n, origin, encoding.row_norm)",
            ),
        ],
        (CONFIDENCE + "test_a_mean_at_the_edge_of_its_ball",),
    ),
    "proved centres that are moved into the ball": (
        [(MEAN, "mean_of_sum(answer, n) if proved else mean_in_ball", "mean_in_ball")],
        (CONFIDENCE + "test_a_mean_at_the_edge_of_its_ball",),
    ),
    "a proof with a noisy n": (
        [
            (
                "mechanisms/shared/means.py",
                "public.neighbors != REPLACE or isinstance(budget, PureDP)",
                "isinstance(budget, PureDP)",
            )
        ],
        (
            "tests/mechanisms/test_coinpress_proved.py::test_only_a_public_n_and_gaussian_noise",
            CONFIDENCE + "test_nothing_is_called_proved_where_nothing_is",
        ),
    ),
    "a proof with Laplace noise": (
        [
            (
                "mechanisms/shared/means.py",
                "public.neighbors != REPLACE or isinstance(budget, PureDP)",
                "public.neighbors != REPLACE",
            )
        ],
        (
            "tests/mechanisms/test_coinpress_proved.py::test_only_a_public_n_and_gaussian_noise",
            CONFIDENCE + "test_nothing_is_called_proved_where_nothing_is",
        ),
    ),
    "a proof of too few rows": (
        [
            (
                ESTIMATE,
                "if sampling_gap(curator.n, curator.d,",
                "if sampling_gap(4 * curator.n, curator.d,",
            )
        ],
        ("tests/mechanisms/test_coinpress_proved.py::test_a_covariance_needs_rows[3-0.1]",),
    ),
    "rounds whose least share is not declared": (
        [(ESTIMATE, "    least=least,\n", "")],
        (LEAST + "[covariance-coinpress]",),
    ),
    "rounds of a mean whose least share is not declared": (
        [(MEAN, "    least=least,\n", "")],
        (LEAST + "[mean-coinpress]",),
    ),
    "rounds of a mean of unknown scale whose least share is not declared": (
        [(MEAN, "least_early_share(left) if covariance is None else", "1 if covariance is None else")],
        (LEAST + "[mean-coinpress]",),
    ),
    "a mean's count charged before its rows are held": (
        [("mechanisms/shared/means.py", "    curator.prefetch(total, derive=False)", "    pass")],
        (REFUSED + "TestStreams::test_one_reading_is_enough[clipped-add-remove]",),
    ),
    "an origin left out of the second moment": (
        [("release/record.py", "covariance + np.outer(self.units * origin, self.units * origin)", "covariance")],
        (COVARIANCE + "TestCentred::test_a_public_origin_is_part_of_the_second_moment",),
    ),
    "bounds in encoded units": (
        [("request.py", "matrix / np.outer(scales, scales)", "matrix")],
        ("tests/mechanisms/test_coinpress_confidence.py::test_a_schema_is_a_matter_of_units",),
    ),
    "a file's questions taken in any order": (
        [
            (
                "verify/retrace.py",
                "if isinstance(one[1].question, Directions) == drawn)",
                "if type(one[1].question) is type(question))",
            ),
            ("verify/retrace.py", "zip(made, known, strict=False)", BY_NAME),
        ],
        (HIDDEN + "[questions in another order]",),
    ),
    "a file's shapes not checked": (
        [(LOCAL, "or not isinstance(grid, shapes or (Ball, Box, Ellipsoid))", "")],
        (HIDDEN + "[a ball for a moment]",),
    ),
    "a file's proof not checked": (
        [
            (
                REGION,
                "proved = upper is not None and not centred and _is_proved_covariance(transcript, origin, upper, claim.beta)",
                "proved = claim.proved",
            )
        ],
        (HIDDEN + "[a proof of rows clipped closer]", HIDDEN + "[a proof that is none]"),
    ),
    "a file's proof of a mean not checked": (
        [(REGION, "proved = claim.proved and _is_proved_mean(transcript, origin, claim.beta)", "proved = claim.proved")],
        (HIDDEN + "[a proof that is none]",),
    ),
    "a proved centre moved by noise": (
        [(MEAN, "        if moves:\n", "        if True:\n")],
        ("tests/mechanisms/test_coinpress_proved_rounds.py::test_rounds_that_cannot_help_leave_the_centre",),
    ),
    "rounding left out of a proof's check": (
        [("kernel/rows/frames.py", "return super().rounding + fine *", "return super().rounding + 0 * fine *")],
        ("tests/mechanisms/test_coinpress_proved_rounds.py::test_rounding_is_bounded",),
    ),
    "a file's quantile not compared with its price": (
        [
            (
                "release/check.py",
                "enough = law.rate <= exponential_rate(charge)",
                "enough = question.is_local or law.rate <= exponential_rate(charge)",
            )
        ],
        (FILES + "test_a_forged_file_is_refused[less noise in the last answer]",),
    ),
}
