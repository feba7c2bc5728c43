"""Planted bugs in components."""

from __future__ import annotations

from tests.mutation.form import mutant

PPCA = "mechanisms/pca/ppca.py"
SCREENED = "mechanisms/pca/screened.py"
SCREENING = "mechanisms/pca/screening.py"
COMPONENTS = "mechanisms/shared/components.py"

TEST_COMPONENTS = "tests/mechanisms/test_components.py::"
TEST_SCREENED = "tests/mechanisms/test_screened.py::"
EXPLAINED = TEST_SCREENED + "TestExplained::"

PLANTED = {
    "directions that leave some of their budget": mutant(
        (
            "mechanisms/pca/eigenvectors.py",
            "even = Fraction(STEPS // count, STEPS)",
            "even = Fraction(STEPS // (count + 1), STEPS)",
        ),
        by=TEST_COMPONENTS + "TestDraws::test_shares_of_directions",
    ),
    "a standard deviation for a variance": mutant(
        ("mechanisms/pca/mod_sulq.py", "variance = Fraction(deviation) ** 2", "variance = Fraction(deviation)"),
        by="tests/kernel/calibration/test_subspace.py::TestModSulq::test_every_entry_has_it_and_no_less_than_ours",
    ),
    "a chain without consent": mutant(
        (PPCA, "if count > 1 and not approximate:", "if False:"),
        by="tests/mechanisms/test_components.py::TestOptions::test_a_chain_needs_consent",
    ),
    "explained with the budget of the draw": mutant(
        (PPCA, "DirectionsOf(drawn), left.share(EXPLAINED)", "DirectionsOf(drawn), for_directions"),
        by=TEST_COMPONENTS + "TestMechanisms::test_the_budget_is_spent_exactly[ppca-pure-replace]",
    ),
    "squares that are not paid for": mutant(
        (SCREENED, "        left -= share\n", ""), by=TEST_SCREENED + "test_the_questions_and_their_prices_add_up"
    ),
    "screening under zCDP": mutant(
        (SCREENED, "isinstance(noise.budget, PureDP) and noise.d", "noise.d"),
        by=TEST_SCREENED + "test_under_zcdp_nothing_is_screened",
    ),
    "variances of rows clipped at the inner radius": mutant(
        (SCREENED, "min(1.0, inner * noise.reach)", "inner"), by=TEST_SCREENED + "test_rows_are_clipped_where_the_radius_says"
    ),
    "the count before what can be refused": mutant(
        (SCREENED, "    least=least,\n", ""),
        by="tests/mechanisms/test_screened.py::test_a_budget_is_refused_whole_or_served_whole",
    ),
    "components in the order of what was asked apart": mutant(
        (
            SCREENED,
            "with_variances(basis.columns.T, told",
            "with_variances(basis.columns.T[np.argsort(-asked.values[:-1])], told",
        ),
        by=EXPLAINED + "test_components_are_in_the_order_of_the_block",
    ),
    "variances as they were asked apart": mutant(
        (SCREENED, "(CLEAR * deviation / excess) ** 2) if excess > CLEAR * deviation else 0.0", "0.0)"),
        by=(
            EXPLAINED + "test_noise_in_what_is_asked_apart_changes_nothing",
            EXPLAINED + "test_strong_directions_are_not_exchanged_where_the_bound_is_loose",
        ),
    ),
    "what clipping took is lost": mutant(
        (SCREENED, "if excess > CLEAR * deviation else 0.0", "if False else 0.0"),
        by=EXPLAINED + "test_what_clipping_clearly_took_is_given_back",
    ),
    "a block in the units of the other radius": mutant(
        (SCREENED, "scaled(1 / n), 1.0)[::-1] * unit", "scaled(1 / n), 1.0)[::-1]"),
        by=EXPLAINED + "test_they_are_in_the_units_of_the_block",
    ),
    "columns that hold least": mutant(
        (SCREENING, 'np.argsort(-squares, kind="stable")', 'np.argsort(squares, kind="stable")'),
        by=(
            TEST_SCREENED + "test_a_rotated_subspace_comes_back_in_its_columns",
            TEST_SCREENED + "TestColumns::test_columns_that_hold_little_are_dropped_where_noise_is_large",
        ),
    ),
    "components as strong in fewer columns": mutant(
        (SCREENING, "held = along * total * part", "held = along * total * np.ones_like(part)"),
        by=TEST_SCREENED + "TestColumns::test_where_all_hold_alike_none_is_dropped",
    ),
    "as many columns as components": mutant(
        (SCREENING, "k + 1\n", "k\n"), by=TEST_SCREENED + "TestColumns::test_there_are_always_more_than_components"
    ),
    "as many components as columns": mutant(
        (COMPONENTS, "not 1 <= k < d", "not 1 <= k <= d"),
        by="tests/mechanisms/test_every_mechanism.py::TestBeforeReading::test_bad_options[pca gaussian replace]",
    ),
    "components in the order of drawing": mutant(
        (COMPONENTS, 'order = np.argsort(-along, kind="stable")', "order = np.arange(len(along))"),
        by=TEST_COMPONENTS + "TestDraws::test_directions_are_sorted_by_what_lies_along_them",
    ),
    "directions in the order of their noisy variances": mutant(
        (COMPONENTS, "if isinstance(drawn.question, Subspace):", "if isinstance(drawn.question, Directions | Subspace):"),
        by=TEST_COMPONENTS + "TestDraws::test_directions_drawn_one_by_one_keep_their_order[replace]",
    ),
    "a matrix of nothing": mutant(
        (
            COMPONENTS,
            "            values=told[:-1],\n",
            "            values=told[:-1],\n            errors=np.zeros((basis.d, basis.d)),\n",
        ),
        by="tests/release/test_file_sizes.py::test_uses_of_invented_columns[random]",
    ),
}
