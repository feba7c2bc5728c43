"""Planted bugs in what is computed from a release: edits, and the tests that must fail because of them."""

from __future__ import annotations

Edits = list[tuple[str, str, str]]

RIDGE, PENALTY, LEVEL = "uses/ridge.py", "uses/penalty.py", "uses/noise_level.py"
LEMMA, SELECTION, PREDICTION = "uses/lemma.py", "uses/selection.py", "uses/prediction.py"
LAWS, RULE, REFUSED = "tests/laws/test_ridge.py::", "tests/laws/test_penalty.py::", "tests/refusals/test_ridge.py::"
RANDOM = LAWS + "test_it_is_scikit_learns_for_random_schemas_subsets_and_penalties"
PLAIN = LAWS + "test_without_a_schema_units_are_the_users"
MEAN = RULE + "TestNoiseLevel::test_the_noise_of_the_mean_counts"
EQUAL = RULE + "test_the_residual_is_what_noise_explains"

USES_MUTANTS: dict[str, tuple[Edits, tuple[str, ...]]] = {
    "coefficients in the units of the feature": (
        [(RIDGE, "encoded * (units[place] / units[chosen])", "encoded * (units[chosen] / units[place])")],
        (RANDOM,),
    ),
    "an intercept that forgets the features": (
        [(RIDGE, "float(release.mean[place] - coefficients @ release.mean[chosen])", "float(release.mean[place])")],
        (RANDOM, PLAIN + "[True]"),
    ),
    "a penalty on the whole loss": (
        [
            (
                RIDGE,
                "cho_factor(unit + penalty * np.eye(len(unit)))",
                "cho_factor(unit + penalty * np.eye(len(unit)) / len(unit))",
            )
        ],
        (RANDOM,),
    ),
    "negative eigenvalues taken by their size": (
        [(RIDGE, "lifted = np.maximum(values, 0.0) + penalty", "lifted = np.abs(values) + penalty")],
        (LAWS + "TestSolved::test_negative_eigenvalues_count_as_zero",),
    ),
    "noise divided by rounding": (
        [(RIDGE, "SINGULAR = 1e-12", "SINGULAR = 0.0")],
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
        [(RIDGE, "products + float(weights @ offsets) + self.intercept", "products + self.intercept")],
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
        [(PENALTY, "return system.largest * _penalty(", "return _penalty(")],
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
}
