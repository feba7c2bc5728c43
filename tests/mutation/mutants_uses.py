"""Planted bugs in what is computed from a release: edits, and the tests that must fail because of them."""

from __future__ import annotations

Edits = list[tuple[str, str, str]]

RIDGE, PENALTY, LEVEL = "uses/ridge.py", "uses/penalty.py", "uses/noise_level.py"
LEMMA, SELECTION, PREDICTION = "uses/lemma.py", "uses/selection.py", "uses/prediction.py"
SOLVING, FITS = "uses/solving.py", "uses/fits.py"
LAWS, RULE, REFUSED = "tests/uses/test_ridge.py::", "tests/uses/test_penalty.py::", "tests/uses/test_ridge_refusals.py::"
RANDOM = LAWS + "test_it_is_scikit_learns_for_random_schemas_subsets_and_penalties"
PLAIN = LAWS + "test_without_a_schema_units_are_the_users"
INTERVALS, COEFFICIENTS, LIMITS = "uses/intervals.py", "uses/coefficient_intervals.py", "tests/uses/test_intervals.py::"
DERIVATIVES = LIMITS + "test_errors_are_those_of_derivatives"
MEAN = RULE + "TestNoiseLevel::test_the_noise_of_the_mean_counts"
DESCRIPTION, DESCRIBED = "uses/description.py", "tests/uses/test_description.py::"
STANDING, CLEAR = "uses/standing_out.py", "tests/uses/test_standing_out.py::TestOfCovariances::"
EQUAL = RULE + "test_the_residual_is_what_noise_explains"

OWN = "tests/mechanisms/test_own_mechanism.py::"
POPULATION = "tests/uses/test_population.py::"
QUIET = POPULATION + "TestWithoutNoise::"

USES_MUTANTS: dict[str, tuple[Edits, tuple[str, ...]]] = {
    "noise that is not told is taken to be 0": (
        [("uses/noise_level.py", "elif not tells_noise(release):", "elif False:")],
        (
            OWN + "TestSilent::test_a_penalty_must_be_given[uncentred]",
            OWN + "TestSilent::test_a_penalty_must_be_given[centred]",
        ),
    ),
    "components stand out of noise that is not told": (
        [(STANDING, "(found.covariance is None or found.covariance.any())", "False")],
        (OWN + "TestSilent::test_so_must_a_number_of_components[uncentred]",),
    ),
    "an infinite error where it is not known": (
        [(DESCRIPTION, "math.nan if release.covariance.any() else math.inf", "math.inf")],
        (OWN + "TestSilent::test_standard_errors_are_not_known[uncentred]",),
    ),
    "coefficients in the units of the feature": (
        [(FITS, "encoded * (units[place] / units[chosen])", "encoded * (units[chosen] / units[place])")],
        (RANDOM,),
    ),
    "an intercept that forgets the features": (
        [(FITS, "float(release.mean[place] - coefficients @ release.mean[chosen])", "float(release.mean[place])")],
        (RANDOM, PLAIN + "[True]"),
    ),
    "a penalty on the whole loss": (
        [
            (
                SOLVING,
                "cho_factor(unit + penalty * np.eye(len(unit)))",
                "cho_factor(unit + penalty * np.eye(len(unit)) / len(unit))",
            )
        ],
        (RANDOM,),
    ),
    "negative eigenvalues taken by their size": (
        [(SOLVING, "lifted = np.maximum(values, 0.0) + penalty", "lifted = np.abs(values) + penalty")],
        (LAWS + "TestSolved::test_negative_eigenvalues_count_as_zero",),
    ),
    "noise divided by rounding": (
        [(SOLVING, "SINGULAR = 1e-12", "SINGULAR = 0.0")],
        (LAWS + "TestSolved::test_without_a_penalty_it_is_the_smallest_least_squares_solution",),
    ),
    "a level predicted from the others of its column": (
        [(SELECTION, "if columns[j] != columns[target]]", "if j != target]")],
        (LAWS + "test_a_columns_levels_stand_together",),
    ),
    "features in the order of the table": (
        [(SELECTION, "return tuple(places)", "return tuple(sorted(places))")],
        (PLAIN + "[False]",),
    ),
    "predictions that forget what is encoded as 0": (
        [(RIDGE, "products + float(weights @ offsets) + fitted.intercept", "products + fitted.intercept")],
        (LAWS + "test_a_columns_levels_stand_together",),
    ),
    "unknown levels that pass": (
        [(PREDICTION, "if unknown.any():", "if unknown.all():")],
        (LAWS + "TestNewData::test_unknown_levels_are_refused",),
    ),
    "missing cells that are refused": (
        [
            (
                PREDICTION,
                "(positions(cells, column, trimmed=self.parsed) < 0) & ~missing(cells)",
                "positions(cells, column, trimmed=self.parsed) < 0",
            )
        ],
        (LAWS + "TestNewData::test_missing_cells_count_as_in_the_release",),
    ),
    "a rule by the norm of the residual alone": (
        [(PENALTY, "residuals * np.sqrt(products) / noise[:-1]", "residuals**2 / noise[:-1]")],
        (EQUAL + "[wishart-False]", EQUAL + "[laplace-False]"),
    ),
    "noise without its caution": (
        [(PENALTY, "noise = CAUTION**2 * level.squares", "noise = level.squares")],
        (EQUAL + "[wishart-False]", EQUAL + "[auto-False]"),
    ),
    "a penalty in units of the largest eigenvalue": (
        [(PENALTY, "return system.largest * _penalty(system, found", "return _penalty(system, found")],
        (RULE + "test_units_do_not_matter[1000.0-False]",),
    ),
    "a share that counts what noise seems to explain": (
        [(PENALTY, "return min(max(gained - seeming, 0.0), 1.0)", "return min(max(gained, 0.0), 1.0)")],
        (RULE + "test_the_explained_share_is_not_what_noise_seems_to_explain[True]",),
    ),
    "a level without the noise of the mean": (
        [(LEVEL, "if self.mean is None:\n            return rows", "if True:\n            return rows")],
        (MEAN,),
    ),
    "a level in the units of the lifted rows": (
        [(LEVEL, "factor = self.unit / scale * self.unit  #", "factor = self.unit / scale  #")],
        (MEAN,),
    ),
    "denoising that leaves all noise": (
        [
            (
                LEVEL,
                "variances = noise.off_diagonal_variance * stretch**2 * slope**2",
                "variances = noise.off_diagonal_variance * stretch**2 * slope**0",
            )
        ],
        (RULE + "TestNoiseLevel::test_denoising_lowers_it",),
    ),
    "a bound without the size of the coefficients": (
        [(LEMMA, "error * math.hypot(1.0, float(np.linalg.norm(coefficients)))", "error")],
        (RULE + "TestLemma::test_it_is_the_lemmas_for_raw_coefficients",),
    ),
    "a bound that trusts the noisy eigenvalue": (
        [(LEMMA, "float(np.linalg.eigvalsh(system)[0]) - error, 0.0)", "float(np.linalg.eigvalsh(system)[0]), 0.0)")],
        (RULE + "TestLemma::test_it_is_the_lemmas_for_raw_coefficients",),
    ),
    "entries without the noise of the mean": (
        [(INTERVALS, "*_by_mean(raw, raw.mean[:, None], raw.mean[None, :]))", ")")],
        (DERIVATIVES + "[gaussian-True-replace]",),
    ),
    "a diagonal with the noise of the others": (
        [
            (
                INTERVALS,
                "raw.combined((raw.diagonal, on), *_by_mean(raw, 2 * raw.mean",
                "raw.combined((raw.off, on), *_by_mean(raw, 2 * raw.mean",
            )
        ],
        (DERIVATIVES + "[gaussian-False-replace]",),
    ),
    "Laplace noise with normal tails": (
        [("uses/tails.py", "        return 1.0, 1.0\n", "        return 0.0, 0.0\n")],
        (LIMITS + "test_the_laws_have_these_tails[laplace]",),
    ),
    "Wishart noise with tails of half the freedom": (
        [("uses/tails.py", "return 2 / (width + 1), 1 / (width + 1)", "return 4 / (width + 1), 2 / (width + 1)")],
        (LIMITS + "test_kurtosis_is_that_of_the_noise[7]",),
    ),
    "a noisy count that is taken for the rows": (
        [("uses/raw.py", "count, peaked = _count(release)", "count, peaked = 0.0, 0.0")],
        (DERIVATIVES + "[gaussian-False-add-remove]",),
    ),
    "coefficients with the noise of the target alone": (
        [(COEFFICIENTS, "u = np.append(corrected, -1.0)", "u = np.append(0 * corrected, -1.0)")],
        (DERIVATIVES + "[gaussian-False-replace]",),
    ),
    "coefficients that keep their bias": (
        [(COEFFICIENTS, "corrected = weights - lifted @ (seeming @ weights)", "corrected = weights")],
        (DERIVATIVES + "[gaussian-False-replace]",),
    ),
    "eigenvalues that keep what noise adds": (
        [(INTERVALS, "values - np.where(apart, shift, 0.0)", "values")],
        (LIMITS + "test_eigenvalues_are_corrected_by_derivatives[False]",),
    ),
    "noise that is called clear": (
        [(DESCRIPTION, "CLEAR = 3.0", "CLEAR = 1.0")],
        (DESCRIBED + "test_independent_columns_are_seldom_called_correlated[wishart-budget1]",),
    ),
    "a level's deviation that is its share": (
        [(DESCRIPTION, "raw[levels], noise[levels] = p * (1 - p),", "raw[levels], noise[levels] = p,")],
        (DESCRIBED + "test_levels_have_shares_and_the_deviation_of_their_shares[shrink]",),
    ),
    "errors that do not know of clipping": (
        [("uses/clipping.py", "return min(1.0, release.estimate.longer / release.n)", "return 0.0")],
        (DESCRIBED + "test_a_radius_that_few_rows_cannot_find_makes_nothing_clear",),
    ),
    "means that are clear of 0 and not of their bounds": (
        [(DESCRIPTION, "return np.minimum(means - low, high - means)", "return np.abs(means)")],
        (DESCRIBED + "test_a_mean_is_clear_where_it_is_inside_the_bounds",),
    ),
    "errors of means in the units of their frame": (
        [
            (
                "mechanisms/shared/local.py",
                "answer.deviation / transcript.n * _units(frame)",
                "answer.deviation / transcript.n * np.ones(len(frame.centre))",
            )
        ],
        (DESCRIBED + "test_means_by_themselves_have_errors[replace-clipped]",),
    ),
    "a variance for the standard error of drawn directions": (
        [(DESCRIPTION, "np.sqrt(release.noise_level.entry_variances())", "release.noise_level.entry_variances()")],
        (DESCRIBED + "test_errors_are_as_large_as_they_say[eigenvectors-True-replace]",),
    ),
    "levels that noise alone makes vary": (
        [("uses/correlation.py", "variances[block] = np.maximum(variances[block], known)", "pass")],
        ("tests/uses/test_correlation.py::test_shares_sharpen_correlations",),
    ),
    "synthetic shares that projection moves": (
        [("uses/synthetic.py", "SHIFTS = 20", "SHIFTS = 0")],
        ("tests/uses/test_synthetic.py::test_impossible_conditional_means_do_not_move_shares",),
    ),
    "noise that is stretched by a guess": (
        [
            (
                LEVEL,
                "noise, stretch = found.spread, found.stretch",
                "noise, stretch = found.spread, max(float(denoised[-1] / values[-1]), 1.0) if found.stretch > 1 else 1.0",
            )
        ],
        (RULE + "test_the_noise_is_stretched_as_the_estimate_was",),
    ),
    "a cache that keeps releases": (
        [
            (
                "release/uses.py",
                "    @cached_property\n    def noise_level(",
                "    @property\n    @__import__('functools').lru_cache\n    def noise_level(",
            )
        ],
        (RULE + "test_what_was_computed_goes_with_its_release[gaussian]",),
    ),
    "a cache that keeps answers": (
        [
            (
                "kernel/answer.py",
                "    @cached_property\n    def decomposition(",
                "    @property\n    @__import__('functools').lru_cache\n    def decomposition(",
            )
        ],
        (RULE + "test_what_was_computed_goes_with_its_release[rescaled]",),
    ),
    "a decomposition for each target": (
        [(PENALTY, "system = found.release.decomposition if found.is_whole else", "system =")],
        (RULE + "test_targets_share_their_decompositions",),
    ),
    "every eigenvalue of a centred release stands out": (
        [
            (
                STANDING,
                "return _in_matrix(components, raw.covariance, noise, raw.mean, math.sqrt(raw.along))",
                "return _in_matrix(components, raw.covariance, noise.scaled(0.0 if release.center else 1.0))",
            )
        ],
        (CLEAR + "test_what_is_strong_does[0.0-wishart-pure-True]", CLEAR + "test_what_is_strong_does[0.1-gaussian-rho-True]"),
    ),
    "values asked apart without their noise": (
        [(STANDING, "np.fill_diagonal(variances, deviation**2)", "np.fill_diagonal(variances, 0.0)")],
        (
            CLEAR + "test_noise_alone_does_not_stand_out[separate-pure-False]",
            CLEAR + "test_noise_alone_does_not_stand_out[eigenvectors-rho-True]",
        ),
    ),
    "an edge that forgets the noise of the mean": (
        [(STANDING, "limit *= (beyond + 1 / beyond) / 2", "limit *= 1.0")],
        ("tests/uses/test_standing_out.py::test_the_noise_of_a_long_mean_moves_the_edge",),
    ),
    "public coordinates without their noise": (
        [
            (
                "mechanisms/coinpress/covariance.py",
                "Spread(deviation * deviation, deviation * deviation / 2)",
                "Spread(0.0, 0.0)",
            )
        ],
        (CLEAR + "test_noise_alone_does_not_stand_out[coinpress-rho-False]",),
    ),
    "which rows were drawn is forgotten": (
        [("uses/raw.py", "np.sqrt((variance + sampling) * (1 - lost) + square)", "np.sqrt(variance * (1 - lost) + square)")],
        (QUIET + "test_means",),
    ),
    "coefficients of rows that are all there are": (
        [(COEFFICIENTS, "np.maximum(variance + square + drawn,", "np.maximum(variance + square,")],
        (QUIET + "test_coefficients_are_those_of_least_squares_whatever_the_penalty[auto]",),
    ),
    "a fourth moment for a variance": (
        [(INTERVALS, "(kurtosis(release, v * scale * scale) - 1)", "kurtosis(release, v * scale * scale)")],
        (QUIET + "test_deviations_of_normal_columns",),
    ),
    "Fisher's z as a correlation": (
        [("uses/sampling.py", "return np.tanh(middle - half), np.tanh(middle + half)", "return middle - half, middle + half")],
        (QUIET + "test_correlations_are_fishers",),
    ),
    "an interval for the people about a penalised coefficient": (
        [(COEFFICIENTS, "    if population:\n        penalty = 0.0\n", "")],
        (QUIET + "test_coefficients_are_those_of_least_squares_whatever_the_penalty[0.5]",),
    ),
    "a reference that is not in the intercept": (
        [(RIDGE, "intercept = intercept + sum(own.values())", "intercept = intercept + 0.0")],
        (LAWS + "test_a_columns_levels_stand_together",),
    ),
    "a penalty where least squares wins": (
        [(PENALTY, "- own >= CLEARLY * own", "- own < CLEARLY * own")],
        (POPULATION + "TestLeastSquares::test_the_interval_of_the_first_example_holds_its_slope",),
    ),
    "rows that are long without their constant": (
        [("uses/drawn_rows.py", "long = units.weighing.corner**2 + np.sum(", "long = np.sum(")],
        (POPULATION + "TestTaken::test_by_weights",),
    ),
    "a range that cuts nothing off": (
        [("uses/weights.py", "middle = first + about - within", "middle = first")],
        (POPULATION + "TestTaken::test_by_a_range",),
    ),
    "variances that noise makes small": (
        [("uses/sampling.py", "    p = np.clip(shares, away, 1 - away)\n", "    p = np.clip(shares, 0.0, 1.0)\n")],
        (POPULATION + "test_a_share_that_noise_makes_0_is_not_certain",),
    ),
    "a mean that is given back what it lost as if it were centred": (
        [("uses/weights.py", "-ratio * scale * (inverse @ weighted.about)", "-ratio * scale * weighted.about[draw.numbers]")],
        (POPULATION + "TestTaken::test_means_by_weights_and_what_becomes_of_their_errors",),
    ),
    "variances whose errors do not grow": (
        [("uses/weights.py", "np.asarray(np.linalg.inv(one - slopes), dtype=np.float64)", "one.copy()")],
        (POPULATION + "TestTaken::test_errors_of_variances_grow_as_what_is_missing_is_given_back",),
    ),
    "correlations whose errors do not grow": (
        [("uses/drawn_rows.py", "slope = (1 + of_product) / np.outer(roots, roots)", "slope = 1 / np.outer(roots, roots)")],
        (POPULATION + "TestTaken::test_errors_of_correlations_grow_by_the_slope_of_weighted_ones",),
    ),
    "a mean weight that cancels in correlations with levels": (
        [("uses/spread_intervals.py", "(1 - np.add.outer(divided, divided) / 2)", "0.0")],
        (POPULATION + "TestTaken::test_the_noise_of_the_mean_weight_is_in_correlations_with_levels",),
    ),
    "residuals that do not depend on features": (
        [("uses/coefficient_intervals.py", "drawn = drawn * factor + (moved", "drawn = drawn + (moved")],
        (POPULATION + "TestResiduals::test_they_are_in_intervals_about_the_population",),
    ),
    "noise that is counted once beside the diagonal": (
        [("uses/coefficient_errors.py", ' + np.einsum("ij,ij->i", (c * u) @ above, c * h)', "")],
        (POPULATION + "TestFieller::test_products_are_those_of_sums_over_entries",),
    ),
    "what clipping may have taken is forgotten about the population": (
        [(INTERVALS, "taken = np.hypot(half, factor * lost * (size / BOUND + half)) - half", "taken = 0.0 * half")],
        (POPULATION + "test_the_most_that_clipping_may_have_taken_counts_as_three_standard_errors",),
    ),
    "correlations of independent columns that are clear": (
        [
            (
                "uses/description.py",
                "return np.asarray(1 / np.sqrt(np.minimum.outer(seen, seen)))",
                "return 0 * np.outer(seen, seen)",
            )
        ],
        (
            "tests/uses/test_description.py::test_correlations_of_independent_columns_are_rarely_clear[True]",
            "tests/uses/test_description.py::test_correlations_of_independent_columns_are_rarely_clear[False]",
        ),
    ),
    "a tail that ends where a beta law's does": (
        [("uses/drawn_rows.py", "> LONG * math.sqrt(relative)", "> 1e9")],
        (POPULATION + "test_a_column_next_to_one_bound_and_far_from_the_other_has_a_long_tail[1.0-1.6487212707001282]",),
    ),
    "means asked apart that are drawn to the middle": (
        [("mechanisms/standardized/means.py", "column = _unbiased(column)", "pass")],
        ("tests/mechanisms/test_standardized_units.py::TestMeans::test_what_was_asked_apart_is_not_drawn_to_what_is_usual",),
    ),
    "variances asked apart that are drawn to what is usual": (
        [("mechanisms/standardized/means.py", "usual + (column.variance - usual) / trust", "column.variance")],
        ("tests/mechanisms/test_standardized_units.py::TestMeans::test_what_was_asked_apart_is_not_drawn_to_what_is_usual",),
    ),
    "Laplace noise with the reach of normal noise": (
        [("mechanisms/standardized/columns.py", "ALL_SEEN = {True: 7.0,", "ALL_SEEN = {True: 4.0,")],
        ("tests/uses/test_private_units.py::test_a_complete_column_is_not_taken_to_be_empty",),
    ),
    "Laplace noise on counts of levels with the reach of normal noise": (
        [("mechanisms/standardized/columns.py", "reach = ALL_SEEN[is_laplace(answer)]", "reach = ALL_SEEN[False]")],
        (
            "tests/uses/test_private_units.py::test_a_count_that_noise_explains_is_no_sign_of_missing_cells[PureDP(epsilon=4)-7.0]",
        ),
    ),
    "an outlier of Laplace noise for the better share": (
        [("mechanisms/standardized/estimate.py", "APART[laplace] * np.hypot", "APART[False] * np.hypot")],
        (
            "tests/uses/test_private_units.py::"
            "test_a_count_is_taken_for_the_share_where_noise_does_not_explain_how_far_off_it_is[PureDP(epsilon=4)-7.0]",
        ),
    ),
    "an outlier of Laplace noise for the better mean": (
        [("mechanisms/standardized/means.py", "EXPLAINED[laplace] * math.hypot", "EXPLAINED[False] * math.hypot")],
        ("tests/uses/test_private_units.py::test_an_outlier_of_laplace_noise_is_not_taken_for_the_better_mean",),
    ),
}
