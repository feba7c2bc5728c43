"""Planted bugs in covariances from rows of bounded norm."""

from __future__ import annotations

from tests.mutation.form import mutant

ADAPTIVE = "mechanisms/covariance/adaptive.py"
ADAPTIVE_NOISE = "mechanisms/covariance/adaptive_noise.py"
RESCALED = "mechanisms/covariance/rescaled.py"
ADDITIVE = "mechanisms/shared/additive.py"
MOMENT = "mechanisms/shared/moment.py"

TEST_FEW_ROWS = "tests/audit/test_few_rows.py::"
TEST_ADAPTIVE = "tests/mechanisms/test_adaptive.py::"
PRINTED_DIRECTIONS = "tests/mechanisms/test_eigenvectors.py::TestAsPrinted::"
TEST_RESCALED = "tests/mechanisms/test_rescaled.py::"
TEST_SEPARATE = "tests/mechanisms/test_separate.py::"
TEST_ARCHITECTURE = "tests/test_architecture.py::"
FEW = TEST_FEW_ROWS + "test_few_rows_ask_and_release_nothing_else"
PRIVATE = TEST_ARCHITECTURE + "test_a_mechanism_reaches_into_nothing_private"

EXACT_N = 'curator._pass_on.__closure__[0].cell_contents["n"].__closure__[0].cell_contents._sums.n'

PLANTED = {
    "a noise beyond floats that raises": mutant(
        ("kernel/noise/laws.py", "squared = factor * factor", "squared = factor**2"),
        by="tests/mechanisms/test_shrinkage.py::TestAnySpectrum::test_units_of_any_size_have_a_noise",
    ),
    "the program's divisor in what is printed": mutant(
        (ADAPTIVE_NOISE, 'EASED if constants == "program" else 1.0', "EASED"),
        by=(
            TEST_ADAPTIVE + "TestNoises::test_the_papers_bounds",
            TEST_ADAPTIVE + "TestProgram::test_as_printed_the_additive_noise_is_taken_up_to_a_thousand_columns",
        ),
    ),
    "the program's noises compared before clipping costs": mutant(
        (ADAPTIVE, "        tau /= 2  # the radius", "        tau /= 1  # the radius"),
        by=TEST_ADAPTIVE + "TestProgram::test_the_noises_are_compared_where_the_search_stopped",
    ),
    "a radius's share that the program does not spend": mutant(
        (ADAPTIVE, '"program": (Fraction(0), Fraction(1, 8)', '"program": (Fraction(1, 8), Fraction(1, 8)'),
        (ADAPTIVE, "sum(shares if searched else shares[1:])", "sum(shares)"),
        by=TEST_ADAPTIVE + "TestSpending::test_shares_on_either_path",
    ),
    "1/epsilon forgotten, as in the program": mutant(
        (ADAPTIVE_NOISE, "Noises(scale * whole, 2 * scale", "Noises(scale * epsilon * whole, 2 * scale"),
        by=TEST_ADAPTIVE + "TestNoises::test_the_programs_bounds_of_laplace_noise",
    ),
    "eigenvalues clipped where the text does not": mutant(
        (ADDITIVE, '{"paper": RAW, "program": "clip"}', '{"paper": "clip", "program": "clip"}'),
        by=(TEST_SEPARATE + "TestEstimate::test_defaults", TEST_ADAPTIVE + "TestSpending::test_shares_on_either_path"),
    ),
    "the papers' eigenvalues made to descend": mutant(
        (
            "mechanisms/shared/directions.py",
            'told = spectrum.values if constants == "paper" else monotone(spectrum.values, increasing=False)',
            "told = monotone(spectrum.values, increasing=False)",
        ),
        by=PRINTED_DIRECTIONS + "test_eigenvalues_are_used_as_they_were_answered",
    ),
    "the papers' last direction free": mutant(
        ("mechanisms/covariance/eigenvectors.py", "free = 0 if paper else 1", "free = 1"),
        by=PRINTED_DIRECTIONS + "test_the_shares_are_those_of_corollary_1",
    ),
    "the papers' values by an option": mutant(
        ("mechanisms/covariance/eigenvectors.py", 'apart = paper or values == "spectrum"', 'apart = values == "spectrum"'),
        by=PRINTED_DIRECTIONS + "test_eigenvalues_are_used_as_they_were_answered",
    ),
    "a threshold that no rehearsal tells of": mutant(
        ("rehearsal.py", "find(Quantile, Radius, Bias)", "find(Quantile, Radius)"),
        by="tests/mechanisms/test_every_mechanism.py::test_a_rehearsal_asks_what_the_run_asks[covariance adaptive replace]",
    ),
    "epsilon forgotten in the bound of the trace": mutant(
        (ADAPTIVE, "-math.log(2 * beta) / float(budget.epsilon)", "-math.log(2 * beta)"),
        by=TEST_ADAPTIVE + "TestNoises::test_what_the_search_weighs",
    ),
    "the trace of adaptive capped at the exact n": mutant(
        (
            ADAPTIVE,
            "    if not curator.hides_n:\n        trace = min(trace, float(curator.n))\n",
            f"    trace = min(trace, float({EXACT_N}))\n",
        ),
        by=(PRIVATE + "[mechanisms/covariance/adaptive.py]", FEW + "[covariance adaptive 0-PureDP(epsilon=8)-add-remove]"),
    ),
    "what may be asked last that is not declared": mutant(
        (ADAPTIVE, "    least=least,\n", ""),
        by="tests/api/test_rehearsal.py::test_what_depends_on_answers_is_refused_at_its_least_share[covariance-adaptive]",
    ),
    "tau in place of its square in the noise of adaptive": mutant(
        (ADAPTIVE_NOISE, "return tau**2 * self.whole", "return tau * self.whole"),
        by=TEST_ADAPTIVE + "TestNoises::test_what_the_search_weighs",
    ),
    "the square of tau in the first term of separate's noise": mutant(
        (ADAPTIVE_NOISE, "2 * tau * math.sqrt(trace", "2 * tau**2 * math.sqrt(trace"),
        by=TEST_ADAPTIVE + "TestNoises::test_what_the_search_weighs",
    ),
    "the budget forgotten in the papers' noise": mutant(
        (ADAPTIVE_NOISE, "unit = 1 / math.sqrt(budget.rho)", "unit = 1.0"),
        by=TEST_ADAPTIVE + "TestNoises::test_the_papers_bounds",
    ),
    "shares of rescaled beyond the whole": mutant(
        (RESCALED, "whole.share(left - for_scale)", "whole.share(left)"), by=TEST_RESCALED + "TestSpending::test_everything"
    ),
    "the scale in units of the outer radius": mutant(
        (RESCALED, "float(overlap.values[0]) * reach / transcript.n", "float(overlap.values[0]) / transcript.n"),
        by=TEST_RESCALED + "TestEstimate::test_the_denoised_matrix_times_its_scale",
    ),
    "an interval around a scale of nothing": mutant(
        (RESCALED, "if overlap is not None and eigenvalues[-1] > 0:", "if overlap is not None:"),
        by="tests/release/test_fuzzed_files.py::test_a_scale_of_nothing",
    ),
    "half of the exact n outside the radius of rescaled": mutant(
        (RESCALED, "rows_to_clip(noise, robust), curator.n / 2", f"rows_to_clip(noise, robust), {EXACT_N} / 2"),
        by=(PRIVATE + "[mechanisms/covariance/rescaled.py]", FEW + "[covariance rescaled 0-PureDP(epsilon=8)-add-remove]"),
    ),
    "values on the rows of the basis": mutant(
        ("mechanisms/covariance/separate.py", "assembled(basis.T, values)", "assembled(basis, values)"),
        by=TEST_SEPARATE + "TestEstimate::test_values_stand_on_the_eigenvectors_of_the_noisy_matrix",
    ),
    "nothing set aside for the radius": mutant(
        (ADDITIVE, "whole.share(1 - plan.share), moment", "whole, moment"),
        by=TEST_SEPARATE + "TestClip::test_a_private_radius_clips_there",
    ),
    "a public radius that is ignored": mutant(
        (ADDITIVE, "1.0 if isinstance(where, str) else where / curator.grid.row_norm", "1.0"),
        by=TEST_SEPARATE + "TestClip::test_a_public_radius_is_a_smaller_row_norm",
    ),
    "a stream read for its norms": mutant(
        ("mechanisms/shared/clipping.py", "    if not curator.rereadable:\n", "    if False:\n"),
        by="tests/mechanisms/test_clipping.py::test_a_stream_has_no_private_radius",
    ),
    "shrinkage reads n times the noise": mutant(
        (MOMENT, "moment.spread.scaled(1 / transcript.n)", "moment.spread"),
        by="tests/mechanisms/test_additive.py::test_shrinkage_is_told_the_noise_of_the_mean_not_of_the_sum",
    ),
    "a second moment of rows that were clipped elsewhere": mutant(
        (MOMENT, "if not isinstance(moment.question, SecondMoment) or type(moment.question.grid) is not Grid:", "if False:"),
        by="tests/release/test_hostile.py::test_the_answers_of_any_mechanism_under_the_name_of_any_other",
    ),
}
