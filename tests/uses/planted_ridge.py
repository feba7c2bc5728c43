"""Planted bugs in regressions from a release."""

from __future__ import annotations

from tests.mutation.form import mutant

LEMMA = "uses/lemma.py"
NOISE_LEVEL = "uses/noise_level.py"
PENALTY = "uses/penalty.py"
PREDICTION = "uses/prediction.py"
RIDGE = "uses/ridge.py"
SELECTION = "uses/selection.py"
SOLVING = "uses/solving.py"

TEST_OWN_MECHANISM = "tests/mechanisms/test_own_mechanism.py::"
TEST_PENALTY = "tests/uses/test_penalty.py::"
TEST_RIDGE = "tests/uses/test_ridge.py::"
MEAN = TEST_PENALTY + "TestNoiseLevel::test_the_noise_of_the_mean_counts"
EQUAL = TEST_PENALTY + "test_the_residual_is_what_noise_explains"
RANDOM = TEST_RIDGE + "test_it_is_scikit_learns_for_random_schemas_subsets_and_penalties"
PLAIN = TEST_RIDGE + "test_without_a_schema_units_are_the_users"

PLANTED = {
    "a bound without the size of the coefficients": mutant(
        (LEMMA, "error * math.hypot(1.0, float(np.linalg.norm(coefficients)))", "error"),
        by=TEST_PENALTY + "TestLemma::test_it_is_the_lemmas_for_raw_coefficients",
    ),
    "a bound that trusts the noisy eigenvalue": mutant(
        (LEMMA, "float(np.linalg.eigvalsh(system)[0]) - error, 0.0)", "float(np.linalg.eigvalsh(system)[0]), 0.0)"),
        by=TEST_PENALTY + "TestLemma::test_it_is_the_lemmas_for_raw_coefficients",
    ),
    "noise that is not told is taken to be 0": mutant(
        (NOISE_LEVEL, "elif not tells_noise(release):", "elif False:"),
        by=(
            TEST_OWN_MECHANISM + "TestSilent::test_a_penalty_must_be_given[uncentred]",
            TEST_OWN_MECHANISM + "TestSilent::test_a_penalty_must_be_given[centred]",
        ),
    ),
    "a level without the noise of the mean": mutant(
        (NOISE_LEVEL, "if self.mean is None:\n            return rows", "if True:\n            return rows"), by=MEAN
    ),
    "a level in the units of the lifted rows": mutant(
        (NOISE_LEVEL, "factor = self.unit / scale * self.unit  #", "factor = self.unit / scale  #"), by=MEAN
    ),
    "denoising that leaves all noise": mutant(
        (
            NOISE_LEVEL,
            "variances = noise.off_diagonal_variance * stretch**2 * slope**2",
            "variances = noise.off_diagonal_variance * stretch**2 * slope**0",
        ),
        by=TEST_PENALTY + "TestNoiseLevel::test_denoising_lowers_it",
    ),
    "noise that is stretched by a guess": mutant(
        (
            NOISE_LEVEL,
            "noise, stretch = found.spread, found.stretch",
            "noise, stretch = found.spread, max(float(denoised[-1] / values[-1]), 1.0) if found.stretch > 1 else 1.0",
        ),
        by=TEST_PENALTY + "test_the_noise_is_stretched_as_the_estimate_was",
    ),
    "a rule by the norm of the residual alone": mutant(
        (PENALTY, "residuals * np.sqrt(products) / noise[:-1]", "residuals**2 / noise[:-1]"),
        by=(EQUAL + "[wishart-False]", EQUAL + "[laplace-False]"),
    ),
    "noise without its caution": mutant(
        (PENALTY, "noise = CAUTION**2 * level.squares", "noise = level.squares"),
        by=(EQUAL + "[wishart-False]", EQUAL + "[auto-False]"),
    ),
    "a penalty in units of the largest eigenvalue": mutant(
        (PENALTY, "return system.largest * _penalty(system, found", "return _penalty(system, found"),
        by=TEST_PENALTY + "test_units_do_not_matter[1000.0-False]",
    ),
    "a share that counts what noise seems to explain": mutant(
        (PENALTY, "return min(max(gained - seeming, 0.0), 1.0)", "return min(max(gained, 0.0), 1.0)"),
        by=TEST_PENALTY + "test_the_explained_share_is_not_what_noise_seems_to_explain[True]",
    ),
    "a decomposition for each target": mutant(
        (PENALTY, "system = found.release.decomposition if found.is_whole else", "system ="),
        by=TEST_PENALTY + "test_targets_share_their_decompositions",
    ),
    "a mean that is not taken off": mutant(
        (PREDICTION, "(kept - self._centre) @", "kept @"), by="tests/estimators/test_pca.py::test_transform_and_its_inverse"
    ),
    "unknown levels that pass": mutant(
        (PREDICTION, "if unknown.any():", "if unknown.all():"), by=TEST_RIDGE + "TestNewData::test_unknown_levels_are_refused"
    ),
    "missing cells that are refused": mutant(
        (
            PREDICTION,
            "(positions(cells, column, trimmed=self.parsed, decimal=self.decimal) < 0) & ~missing(cells)",
            "positions(cells, column, trimmed=self.parsed, decimal=self.decimal) < 0",
        ),
        by=TEST_RIDGE + "TestNewData::test_missing_cells_count_as_in_the_release",
    ),
    "coefficients in the units of the feature": mutant(
        ("uses/fits.py", "encoded * (units[place] / units[chosen])", "encoded * (units[chosen] / units[place])"),
        by="tests/uses/test_ridge.py::test_it_is_scikit_learns_for_random_schemas_subsets_and_penalties",
    ),
    "an intercept that forgets the features": mutant(
        ("uses/fits.py", "float(release.mean[place] - coefficients @ release.mean[chosen])", "float(release.mean[place])"),
        by=(
            "tests/uses/test_ridge.py::test_it_is_scikit_learns_for_random_schemas_subsets_and_penalties",
            "tests/uses/test_ridge.py::test_without_a_schema_units_are_the_users[True]",
        ),
    ),
    "predictions that forget what is encoded as 0": mutant(
        ("uses/ridge.py", "products + float(weights @ offsets) + fitted.intercept", "products + fitted.intercept"),
        by="tests/uses/test_ridge.py::test_a_columns_levels_stand_together",
    ),
    "a level predicted from the others of its column": mutant(
        (SELECTION, "if not values[columns[j]] & values[columns[target]]]", "if j != target]"),
        by=TEST_RIDGE + "test_a_columns_levels_stand_together",
    ),
    "features in the order of the table": mutant(
        (SELECTION, "return tuple(places)", "return tuple(sorted(places))"), by=PLAIN + "[False]"
    ),
    "a penalty on the whole loss": mutant(
        (
            SOLVING,
            "cho_factor(unit + penalty * np.eye(len(unit)))",
            "cho_factor(unit + penalty * np.eye(len(unit)) / len(unit))",
        ),
        by=RANDOM,
    ),
    "negative eigenvalues taken by their size": mutant(
        (SOLVING, "lifted = np.maximum(values, 0.0) + penalty", "lifted = np.abs(values) + penalty"),
        by=TEST_RIDGE + "TestSolved::test_negative_eigenvalues_count_as_zero",
    ),
    "noise divided by rounding": mutant(
        (SOLVING, "SINGULAR = 1e-12", "SINGULAR = 0.0"),
        by=TEST_RIDGE + "TestSolved::test_without_a_penalty_it_is_the_smallest_least_squares_solution",
    ),
    "a column of two levels predicts its reference": mutant(
        ("uses/selection.py", "return own[0] + own[1] - base, reference", "return base, reference"),
        by="tests/uses/test_ridge.py::test_a_column_of_two_levels_is_predicted_by_the_level_that_is_not_its_reference",
    ),
}
