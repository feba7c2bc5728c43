"""Planted bugs in the papers' bounds."""

from __future__ import annotations

from tests.mutation.form import mutant

EIGENVECTORS = "bounds/eigenvectors.py"
PRINCIPAL = "bounds/principal.py"

TEST_BOUNDS = "tests/bounds/test_bounds.py::"
TEST_PRINCIPAL = "tests/bounds/test_principal.py::"
TEST_SUBSPACE = "tests/kernel/calibration/test_subspace.py::"

PLANTED = {
    "Lemma 4 for twice the rate": mutant(
        (EIGENVECTORS, "-epsilon * alpha / (2 * sensitivity)", "-epsilon * alpha / sensitivity"),
        by=TEST_BOUNDS + "test_the_exponential_mechanism_fails_no_more_often_than_lemma_4_says",
    ),
    "what a low rank cannot have left out": mutant(
        (EIGENVECTORS, "missed = float(np.linalg.norm(true[count:]))", "missed = 0.0"),
        by=TEST_BOUNDS + "test_rank_by_hand",
    ),
    "the paper's last direction free in its bound": mutant(
        (EIGENVECTORS, 'drawn = true if constants == "paper" else true[:-1]', "drawn = true[:-1]"),
        by=TEST_BOUNDS + "test_the_papers_own_algorithm_pays_for_every_direction",
    ),
    "Theorem 8 as printed with the lemma's packing": mutant(
        (PRINCIPAL, 'return math.exp(log) if constants == "paper" else', "return"),
        by=TEST_PRINCIPAL + "TestTheorem8::test_as_printed",
    ),
    "equation (5) with d for d + 1": mutant(
        (PRINCIPAL, "((d + 1) / epsilon *", "(d / epsilon *"),
        by=(
            TEST_SUBSPACE + "TestModSulq::test_beta_is_that_of_the_paper",
            TEST_PRINCIPAL + "TestTheorem15::test_against_the_paper_at_every_phi",
        ),
    ),
    "equation (5) without its last term": mutant(
        (PRINCIPAL, " + 1 / math.sqrt(epsilon)) / n", ") / n"), by=TEST_SUBSPACE + "TestModSulq::test_beta_is_that_of_the_paper"
    ),
    "Theorem 7 with d for d - 1": mutant(
        (PRINCIPAL, "2 * (d - 1) * log, epsilon", "2 * d * log, epsilon"),
        by=TEST_PRINCIPAL + "TestTheorem7::test_the_last_line_of_its_proof",
    ),
    "Theorem 7 with a sixteenth of the rows": mutant(
        (PRINCIPAL, "(d - 1) * log, epsilon * gap * miss)", "(d - 1) * log, 16 * epsilon * gap * miss)"),
        by=(
            TEST_PRINCIPAL + "TestTheorem7::test_the_correlation_holds_by_quadrature",
            TEST_PRINCIPAL + "TestTheorem7::test_the_correlation_holds_in_draws",
        ),
    ),
    "Theorem 8 as misprinted": mutant(
        (PRINCIPAL, "else 1 - math.sqrt(-math.expm1(log))", "else math.exp(log)"),
        by=TEST_PRINCIPAL + "TestTheorem8::test_the_packing_holds_exp_d_directions",
    ),
    "Theorem 15 at a quarter": mutant(
        (PRINCIPAL, "1 - away / 4 *", "1 - away / 2 *"),
        by=TEST_PRINCIPAL + "TestTheorem15::test_against_the_paper_at_every_phi",
    ),
}
