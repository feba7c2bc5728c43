"""Planted bugs in what else is computed from a release."""

from __future__ import annotations

from tests.mutation.form import mutant

COEFFICIENT_INTERVALS = "uses/coefficient_intervals.py"
DESCRIPTION = "uses/description.py"
INTERVALS = "uses/intervals.py"
PCA = "uses/pca.py"
STANDING_OUT = "uses/standing_out.py"
TAILS = "uses/tails.py"

TEST_COMPONENTS = "tests/mechanisms/test_components.py::"
TEST_OWN_MECHANISM = "tests/mechanisms/test_own_mechanism.py::"
TEST_DESCRIPTION = "tests/uses/test_description.py::"
TEST_INTERVALS = "tests/uses/test_intervals.py::"
TEST_STANDING_OUT = "tests/uses/test_standing_out.py::"
DERIVATIVES = TEST_INTERVALS + "test_errors_are_those_of_derivatives"
CLEAR = TEST_STANDING_OUT + "TestOfCovariances::"

PLANTED = {
    "a share of cells that noise may have made": mutant(
        ("report/descriptions.py", "number if share > CLEAR * error else NOISE", "number"),
        by="tests/uses/test_private_units.py::test_a_share_of_cells_that_noise_may_have_made_is_no_number",
    ),
    "means outside their bounds": mutant(
        (INTERVALS, "found.within(*schema.bounds())", "found"),
        by="tests/cli/test_interval.py::test_means_lie_within_their_bounds",
    ),
    "a mean of rows that were clipped anywhere": mutant(
        ("uses/clipping.py", "clipped_share(release) >= HOPELESS", "clipped_share(release) > 1"),
        by=TEST_DESCRIPTION + "test_a_mean_of_too_few_rows_is_not_clear",
    ),
    "a test of a mean that its bounds decide": mutant(
        ("uses/summary.py", "release.interval(often).unbounded_mean", "release.interval(often).mean"),
        by=TEST_INTERVALS + "test_means_end_at_the_public_bounds_and_their_errors_do_not",
    ),
    "a new person of an impossible value": mutant(
        ("uses/prediction.py", "found.within(*(ends[place] for ends in model.release.schema.bounds()))", "found"),
        by="tests/cli/test_predict.py::test_intervals_end_at_the_bounds_of_the_target",
    ),
    "an interval from 0 to 0": mutant(
        ("report/intervals.py", "ends[0] == ends[1] and pair[1] > 0", "False"),
        by="tests/cli/test_interval.py::test_a_variance_of_which_nothing_is_left_is_noise",
    ),
    "variances below zero": mutant(
        ("uses/intervals.py", "return self.within(0.0, math.inf)", "return self"),
        by="tests/uses/test_intervals.py::test_variances_and_eigenvalues_end_at_zero",
    ),
    "a target predicted from its own square": mutant(
        (
            "uses/selection.py",
            "if schema is None else schema.values()",
            "if schema is None else {name: {name} for name in columns}",
        ),
        by="tests/uses/test_derived.py::test_what_the_target_is_computed_from_is_no_feature_by_default",
    ),
    "synthetic rows of logarithms": mutant(
        ("uses/synthetic.py", "values = column.undone(values)", "pass"),
        by="tests/uses/test_derived.py::TestSyntheticRows::test_are_a_table_like_the_released_one",
    ),
    "errors that do not know of clipping": mutant(
        ("uses/clipping.py", "return min(1.0, release.estimate.longer / release.n)", "return 0.0"),
        by=TEST_DESCRIPTION + "test_a_radius_that_few_rows_cannot_find_makes_nothing_clear",
    ),
    "coefficients with the noise of the target alone": mutant(
        (COEFFICIENT_INTERVALS, "u = np.append(corrected, -1.0)", "u = np.append(0 * corrected, -1.0)"),
        by=DERIVATIVES + "[gaussian-False-replace]",
    ),
    "coefficients that keep their bias": mutant(
        (COEFFICIENT_INTERVALS, "corrected = weights - lifted @ (seeming @ weights)", "corrected = weights"),
        by=DERIVATIVES + "[gaussian-False-replace]",
    ),
    "F_k of k columns at once": mutant(
        ("uses/convergence.py", " / (t + 1) / math.sqrt(k)", " / (t + 1)"),
        by="tests/kernel/distribution/test_subspace.py::TestConvergence::test_it_falls_from_one",
    ),
    "levels that noise alone makes vary": mutant(
        ("uses/correlation.py", "variances[block] = np.maximum(variances[block], known)", "pass"),
        by="tests/uses/test_correlation.py::test_shares_sharpen_correlations",
    ),
    "an infinite error where it is not known": mutant(
        (DESCRIPTION, "math.nan if release.covariance.any() else math.inf", "math.inf"),
        by=TEST_OWN_MECHANISM + "TestSilent::test_standard_errors_are_not_known[uncentred]",
    ),
    "correlations that are large by their noise first": mutant(
        (DESCRIPTION, "SURELY = 2.0", "SURELY = 0.0"),
        by=TEST_DESCRIPTION + "test_a_pair_of_large_error_is_not_the_strongest",
    ),
    "noise that is called clear": mutant(
        (DESCRIPTION, "CLEAR = 3.0", "CLEAR = 1.0"),
        by=TEST_DESCRIPTION + "test_independent_columns_are_seldom_called_correlated[wishart-budget1]",
    ),
    "a level's deviation that is its share": mutant(
        (DESCRIPTION, "raw[levels], noise[levels] = p * (1 - p),", "raw[levels], noise[levels] = p,"),
        by=TEST_DESCRIPTION + "test_levels_have_shares_and_the_deviation_of_their_shares[shrink]",
    ),
    "means that are clear of 0 and not of their bounds": mutant(
        (DESCRIPTION, "return np.minimum(means - low, high - means)", "return np.abs(means)"),
        by=TEST_DESCRIPTION + "test_a_mean_is_clear_where_it_is_inside_the_bounds",
    ),
    "a variance for the standard error of drawn directions": mutant(
        (DESCRIPTION, "np.sqrt(release.noise_level.entry_variances())", "release.noise_level.entry_variances()"),
        by=TEST_DESCRIPTION + "test_errors_are_as_large_as_they_say[eigenvectors-True-replace]",
    ),
    "entries without the noise of the mean": mutant(
        (INTERVALS, "*_by_mean(raw, raw.mean[:, None], raw.mean[None, :]))", ")"), by=DERIVATIVES + "[gaussian-True-replace]"
    ),
    "a diagonal with the noise of the others": mutant(
        (
            INTERVALS,
            "raw.combined((raw.diagonal, on), *_by_mean(raw, 2 * raw.mean",
            "raw.combined((raw.off, on), *_by_mean(raw, 2 * raw.mean",
        ),
        by=DERIVATIVES + "[gaussian-False-replace]",
    ),
    "eigenvalues that keep what noise adds": mutant(
        (INTERVALS, "values - np.where(apart, shift, 0.0)", "values"),
        by=TEST_INTERVALS + "test_eigenvalues_are_corrected_by_derivatives[False]",
    ),
    "components of either sign": mutant(
        (PCA, "components * np.where(largest < 0, -1.0, 1.0)", "components * 1.0"),
        by=(TEST_COMPONENTS + "TestMechanisms::test_noise_off_gives_the_truth", TEST_COMPONENTS + "TestOfCovariances"),
    ),
    "rows that come back without units": mutant(
        (PCA, "@ self.components * self.scales + self.offsets", "@ self.components + self.offsets"),
        by=(
            TEST_COMPONENTS + "TestUnits::test_encoded_in_transform_and_out_in_its_inverse",
            "tests/estimators/test_pca.py::test_schema_with_categories",
        ),
    ),
    "a noisy count that is taken for the rows": mutant(
        ("uses/raw.py", "count, peaked = _count(release)", "count, peaked = 0.0, 0.0"),
        by=DERIVATIVES + "[gaussian-False-add-remove]",
    ),
    "components stand out of noise that is not told": mutant(
        (STANDING_OUT, "(found.covariance is None or found.covariance.any())", "False"),
        by=TEST_OWN_MECHANISM + "TestSilent::test_so_must_a_number_of_components[uncentred]",
    ),
    "every eigenvalue of a centred release stands out": mutant(
        (
            STANDING_OUT,
            "return _in_matrix(components, raw.covariance, noise, raw.mean, math.sqrt(raw.along))",
            "return _in_matrix(components, raw.covariance, noise.scaled(0.0 if release.center else 1.0))",
        ),
        by=(
            CLEAR + "test_what_is_strong_does[0.0-wishart-pure-True]",
            CLEAR + "test_what_is_strong_does[0.1-gaussian-rho-True]",
        ),
    ),
    "values asked apart without their noise": mutant(
        (STANDING_OUT, "np.fill_diagonal(variances, deviation**2)", "np.fill_diagonal(variances, 0.0)"),
        by=(
            CLEAR + "test_noise_alone_does_not_stand_out[separate-pure-False]",
            CLEAR + "test_noise_alone_does_not_stand_out[eigenvectors-rho-True]",
        ),
    ),
    "an edge that forgets the noise of the mean": mutant(
        (STANDING_OUT, "limit *= (beyond + 1 / beyond) / 2", "limit *= 1.0"),
        by=TEST_STANDING_OUT + "test_the_noise_of_a_long_mean_moves_the_edge",
    ),
    "synthetic shares that projection moves": mutant(
        ("uses/synthetic.py", "SHIFTS = 20", "SHIFTS = 0"),
        by="tests/uses/test_synthetic.py::test_impossible_conditional_means_do_not_move_shares",
    ),
    "Laplace noise with normal tails": mutant(
        (TAILS, "        return 1.0, 1.0\n", "        return 0.0, 0.0\n"),
        by=TEST_INTERVALS + "test_the_laws_have_these_tails[laplace]",
    ),
    "Wishart noise with tails of half the freedom": mutant(
        (TAILS, "return 2 / (width + 1), 1 / (width + 1)", "return 4 / (width + 1), 2 / (width + 1)"),
        by=TEST_INTERVALS + "test_kurtosis_is_that_of_the_noise[7]",
    ),
    "whole numbers rounded out of their bounds": mutant(
        ("uses/synthetic.py", "float(math.ceil(column.lower))", "float(math.floor(column.lower))"),
        by="tests/uses/test_synthetic.py::TestWholeNumbers::test_synthetic_cells_are_whole_and_within_the_bounds",
    ),
    "which rows were drawn is forgotten": mutant(
        ("uses/raw.py", "np.sqrt((variance + sampling) * (1 - lost) + square)", "np.sqrt(variance * (1 - lost) + square)"),
        by="tests/uses/test_population.py::TestWithoutNoise::test_means",
    ),
    "coefficients of rows that are all there are": mutant(
        ("uses/coefficient_intervals.py", "np.maximum(variance + square + drawn,", "np.maximum(variance + square,"),
        by="tests/uses/test_population.py::TestWithoutNoise::test_coefficients_are_those_of_least_squares_whatever_the_penalty[auto]",
    ),
    "a fourth moment for a variance": mutant(
        ("uses/intervals.py", "(kurtosis(release, v * scale * scale) - 1)", "kurtosis(release, v * scale * scale)"),
        by="tests/uses/test_population.py::TestWithoutNoise::test_deviations_of_normal_columns",
    ),
    "Fisher's z as a correlation": mutant(
        ("uses/sampling.py", "return np.tanh(middle - half), np.tanh(middle + half)", "return middle - half, middle + half"),
        by="tests/uses/test_population.py::TestWithoutNoise::test_correlations_are_fishers",
    ),
    "an interval for the people about a penalised coefficient": mutant(
        ("uses/coefficient_intervals.py", "    if population:\n        penalty = 0.0\n", ""),
        by="tests/uses/test_population.py::TestWithoutNoise::test_coefficients_are_those_of_least_squares_whatever_the_penalty[0.5]",
    ),
    "a reference that is not in the intercept": mutant(
        ("uses/ridge.py", "intercept = intercept + sum(own.values())", "intercept = intercept + 0.0"),
        by="tests/uses/test_ridge.py::test_a_columns_levels_stand_together",
    ),
    "a penalty where least squares wins": mutant(
        ("uses/penalty.py", "- own >= CLEARLY * own", "- own < CLEARLY * own"),
        by="tests/uses/test_population.py::TestLeastSquares::test_the_interval_of_the_first_example_holds_its_slope",
    ),
    "rows that are long without their constant": mutant(
        ("uses/drawn_rows.py", "long = units.weighing.corner**2 + np.sum(", "long = np.sum("),
        by="tests/uses/test_population.py::TestTaken::test_by_weights",
    ),
    "a range that cuts nothing off": mutant(
        ("uses/weights.py", "middle = first + about - within", "middle = first"),
        by="tests/uses/test_population.py::TestTaken::test_by_a_range",
    ),
    "variances that noise makes small": mutant(
        ("uses/sampling.py", "    p = np.clip(shares, away, 1 - away)\n", "    p = np.clip(shares, 0.0, 1.0)\n"),
        by="tests/uses/test_population.py::test_a_share_that_noise_makes_0_is_not_certain",
    ),
    "a mean that is given back what it lost as if it were centred": mutant(
        ("uses/weights.py", "-ratio * scale * (inverse @ weighted.about)", "-ratio * scale * weighted.about[draw.numbers]"),
        by="tests/uses/test_population.py::TestTaken::test_means_by_weights_and_what_becomes_of_their_errors",
    ),
    "variances whose errors do not grow": mutant(
        ("uses/weights.py", "np.asarray(np.linalg.inv(one - slopes), dtype=np.float64)", "one.copy()"),
        by="tests/uses/test_population.py::TestTaken::test_errors_of_variances_grow_as_what_is_missing_is_given_back[centred]",
    ),
    "correlations whose errors do not grow": mutant(
        ("uses/drawn_rows.py", "slope = (1 + of_product) / np.outer(roots, roots)", "slope = 1 / np.outer(roots, roots)"),
        by="tests/uses/test_population.py::TestTaken::test_errors_of_correlations_grow_by_the_slope_of_weighted_ones",
    ),
    "a mean weight that cancels in correlations with levels": mutant(
        ("uses/spread_intervals.py", "(1 - np.add.outer(divided, divided) / 2)", "0.0"),
        by="tests/uses/test_population.py::TestTaken::test_the_noise_of_the_mean_weight_is_in_correlations_with_levels",
    ),
    "residuals that do not depend on features": mutant(
        ("uses/coefficient_intervals.py", "drawn = drawn * factor + (moved", "drawn = drawn + (moved"),
        by="tests/uses/test_population.py::TestResiduals::test_they_are_in_intervals_about_the_population",
    ),
    "noise that is counted once beside the diagonal": mutant(
        ("uses/coefficient_errors.py", ' + np.einsum("ij,ij->i", (c * u) @ above, c * h)', ""),
        by="tests/uses/test_population.py::TestFieller::test_products_are_those_of_sums_over_entries",
    ),
    "variances that move rows about 0": mutant(
        ("uses/drawn_rows.py", "plain, away = rows - rows.mean(axis=0) / seen, ", "plain, away = rows, "),
        by="tests/uses/test_population.py::TestTaken::test_errors_of_variances_grow_as_what_is_missing_is_given_back[moved]",
    ),
    "bounds that leave no room for longer tails": mutant(
        ("uses/weights.py", "(UNLIKE[1] - UNLIKE[0]) * float(room.mean())", "0.0"),
        by="tests/uses/test_population.py::TestTaken::test_bounds_leave_room_for_longer_tails[far]",
    ),
    "pairs of cells that are missing together": mutant(
        ("uses/sampling.py", "fewer * np.maximum.outer(units.seen, units.seen)", "fewer"),
        by="tests/uses/test_population.py::TestMissing::test_rows_that_have_both_cells",
    ),
    "means that a private radius took from": mutant(
        ("uses/intervals.py", "middle, variance = middle + lost.mean, ", "middle, variance = middle, "),
        by="tests/uses/test_population.py::TestClipped::test_means_and_covariances",
    ),
    "variances that a private radius took from": mutant(
        ("uses/intervals.py", "estimate = estimate + lost.covariance", "pass"),
        by="tests/uses/test_population.py::TestClipped::test_means_and_covariances",
    ),
    "what clipping took is known for certain": mutant(
        ("uses/intervals.py", " + (lost.uncertain * lost.covariance) ** 2", ""),
        by="tests/uses/test_population.py::TestClipped::test_errors_are_in_intervals",
    ),
    "errors of clipped variances that do not grow": mutant(
        ("uses/clipped_rows.py", "grown = np.linalg.inv(self.kept)", "grown = np.eye(int(self.numbers.sum()))"),
        by="tests/uses/test_population.py::TestClipped::test_errors_grow_as_much_as_what_is_measured_moves_less",
    ),
    "long rows whose clipping does not move with them": mutant(
        ("uses/clipped_rows.py", "-((x.T * (self.factor * self.long)) @ x) / n", "0.0"),
        by="tests/uses/test_population.py::TestClipped::test_errors_grow_as_much_as_what_is_measured_moves_less",
    ),
    "more long rows than a private radius leaves": mutant(
        ("uses/clipped_rows.py", "rows = rows / max(", "rows = rows / min("),
        by="tests/uses/test_population.py::TestClipped::test_no_more_rows_are_long_than_the_radius_leaves",
    ),
    "a radius that most rows may exceed": mutant(
        ("uses/clipped_rows.py", " or share > MOST_LONG:", ":"),
        by="tests/uses/test_population.py::TestClipped::test_where_most_rows_may_be_long_nothing_is_known",
    ),
    "what clipping may have taken is forgotten about the population": mutant(
        ("uses/intervals.py", "taken = np.hypot(half, factor * lost * (size / BOUND + half)) - half", "taken = 0.0 * half"),
        by="tests/uses/test_population.py::test_the_most_that_clipping_may_have_taken_counts_as_three_standard_errors",
    ),
    "cosines that the draw of rows makes are clear": mutant(
        (
            "uses/people.py",
            "clear = found.correlation.clear & (np.abs(r) > CLEAR * total)",
            "clear = found.correlation.clear.copy()",
        ),
        by="tests/uses/test_description.py::test_cosines_that_the_draw_of_rows_could_make_are_not_clear_about_the_population",
    ),
    "a share that noise may have explained is a result": mutant(
        ("uses/model_reading.py", "max(NOTHING, CLEAR * self.model.explained_error)", "NOTHING"),
        ("uses/model_reading.py", "(self.knows_target and explained >= least)", "explained >= least"),
        by="tests/uses/test_ridge.py::test_a_share_that_is_not_clear_of_its_error_explains_nothing",
    ),
    "correlations of independent columns that are clear": mutant(
        (
            "uses/description.py",
            "return np.asarray(1 / np.sqrt(pairs_seen(release)))",
            "return 0 * pairs_seen(release)",
        ),
        by=(
            "tests/uses/test_description.py::test_correlations_of_independent_columns_are_rarely_clear[True]",
            "tests/uses/test_description.py::test_correlations_of_independent_columns_are_rarely_clear[False]",
        ),
    ),
    "a tail that ends where a beta law's does": mutant(
        ("uses/drawn_rows.py", "> LONG * math.sqrt(relative)", "> 1e9"),
        by="tests/uses/test_population.py::test_a_column_next_to_one_bound_and_far_from_the_other_has_a_long_tail[1.0-1.6487212707001282]",
    ),
    "ranges that took from what was asked between the bounds": mutant(
        ("uses/unit_intervals.py", "mean + back) + within * cut.mean", "mean + back) + cut.mean"),
        by="tests/mechanisms/test_standardized_units.py::TestMeans::test_a_range_takes_only_from_what_was_asked_within_it",
    ),
    "a tail of what is not a number": mutant(
        ("uses/tails.py", "np.nan_to_num(peaked, nan=1.0)", "peaked"),
        by="tests/uses/test_population.py::test_variances_beyond_floats_have_the_longest_tail",
    ),
}
