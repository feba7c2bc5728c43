"""Planted bugs: each is an edit of the source, and the tests that must fail because of it, by name."""

from __future__ import annotations

from dataclasses import dataclass

from tests.mutation.mutants_coinpress import COINPRESS
from tests.mutation.mutants_files import FILES_MUTANTS
from tests.mutation.mutants_frames import PLANTED
from tests.mutation.mutants_review import REVIEW_MUTANTS
from tests.mutation.mutants_ridge import RIDGE_MUTANTS
from tests.mutation.mutants_screened import SCREENED_MUTANTS
from tests.mutation.mutants_slips import SLIPS_MUTANTS
from tests.mutation.mutants_standardized import STANDARDIZED_MUTANTS
from tests.mutation.mutants_subspaces import SUBSPACES
from tests.mutation.mutants_table import TABLE_MUTANTS
from tests.mutation.mutants_uses import USES_MUTANTS

FORGED = "tests/release/test_forged.py::test_a_forged_file_is_refused"


@dataclass(frozen=True)
class Edit:
    """Replace the only occurrence of ``old`` in a file of the package."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Mutant:
    edits: tuple[Edit, ...]
    caught_by: tuple[str, ...]


def mutant(*edits: tuple[str, str, str], by: str | tuple[str, ...]) -> Mutant:
    return Mutant(tuple(Edit(*edit) for edit in edits), (by,) if isinstance(by, str) else by)


MUTANTS = {
    "scale halved": mutant(
        ("kernel/calibrate.py", "sensitivity_squared / (2 * budget.rho)", "sensitivity_squared / (8 * budget.rho)"),
        by=(
            "tests/audit/test_audit.py::test_replay_never_costs_more_than_was_charged",
            "tests/audit/test_audit.py::test_black_box_stays_under_the_promise[e1 by e2]",
        ),
    ),
    "variance 5 percent too small": mutant(
        (
            "kernel/calibrate.py",
            "sensitivity_squared / (2 * budget.rho)",
            "sensitivity_squared * 19 / (40 * budget.rho)",
        ),
        by=(
            "tests/audit/test_audit.py::test_replay_never_costs_more_than_was_charged",
            "tests/kernel/calibration/test_calibrate.py::test_gaussian_variance_is_exact",
        ),
    ),
    "sensitivity wrong": mutant(
        (
            "kernel/questions/moments.py",
            "{REPLACE: 2 if self.d > 1 else 1, ADD_REMOVE: 1}[neighbors] * self.grid.reach**2",
            "self.grid.reach**2",
        ),
        by=(
            "tests/audit/test_audit.py::test_replay_never_costs_more_than_was_charged",
            "tests/kernel/laws/test_moments.py::TestSensitivity::test_replacing_a_row_moves_no_further[second moment-2]",
        ),
    ),
    "clip after sum": mutant(
        ("kernel/rows/grid.py", "shrunk(found.rows, found.norms, self.radius_squared)", "found.rows"),
        ("kernel/questions/moments.py", "(z.T @ z).astype", "np.clip(z.T @ z, -len(z) * 2.0**32, len(z) * 2.0**32).astype"),
        by=(
            "tests/audit/test_audit.py::test_replay_of_wild_rows",
            "tests/kernel/laws/test_moments.py::test_sums_equal_those_of_python_integers",
        ),
    ),
    "NaN passes the clip": mutant(
        ("kernel/rows/grid.py", "x = np.where(np.isfinite(x), x, 0.0)", "x = np.where(np.isinf(x), 0.0, x)"),
        (
            "kernel/rows/grid.py",
            "out[~(squared_norms(out) <= radius_squared)]",
            "out[squared_norms(out) > radius_squared]",
        ),
        by=(
            "tests/audit/test_audit.py::test_replay_of_wild_rows",
            "tests/kernel/laws/test_grid.py::test_any_floats_become_integers_inside_the_ball",
        ),
    ),
    "infinity passes as the largest value": mutant(
        ("kernel/rows/grid.py", "x = np.where(np.isfinite(x), x, 0.0)", "x = np.nan_to_num(x)"),
        by="tests/kernel/laws/test_grid.py::test_rows_that_are_not_finite_lose_only_those_entries",
    ),
    "off-diagonal variance doubled": mutant(
        ("kernel/questions/calibrated.py", "max(variance / part.weight, least)", "max(variance, least)"),
        by=(
            "tests/audit/test_audit.py::test_the_worst_neighbours_use_the_whole_budget",
            "tests/mechanisms/test_gaussian.py::TestNoise::test_replace",
        ),
    ),
    "charge after the draw": mutant(
        (
            "kernel/curator.py",
            "        self._account.charge(budget)\n"
            "        return self._account.record(Answer(question, (law,), (budget,), self._sampler.noisy(question, law, exact)",
            "        drawn = self._sampler.noisy(question, law, exact)\n        self._account.charge(budget)\n"
            "        return self._account.record(Answer(question, (law,), (budget,), drawn",
        ),
        by="tests/kernel/test_curator.py::TestOrder::test_a_failed_draw_has_been_charged",
    ),
    "charge before the read": mutant(
        (
            "kernel/curator.py",
            "        exact = self._read(question)\n        self._account.charge(budget)\n",
            "        self._account.charge(budget)\n        exact = self._read(question)\n",
        ),
        by="tests/kernel/test_curator.py::TestOrder::test_a_failed_read_costs_nothing",
    ),
    "float noise": mutant(
        (
            "kernel/noise/laws.py",
            "discrete_gaussian(variance, size, bits) for",
            "np.rint(np.random.default_rng().normal(0, float(variance) ** 0.5, size)).astype(np.int64) for",
        ),
        by="tests/audit/test_numbers.py::test_answer_is_the_exact_sum_plus_integer_noise_from_the_bits",
    ),
    "float addition": mutant(
        (
            "kernel/noise/sampler.py",
            "law.settle(exact + self._draw(question, law))",
            "(exact.astype(np.float64) + self._draw(question, law)).astype(np.int64)",
        ),
        by="tests/audit/test_numbers.py::test_noise_does_not_depend_on_the_data",
    ),
    "zero drawn twice": mutant(
        ("kernel/noise/discrete.py", "        accepted &= ~(negative & (magnitude == 0))\n", ""),
        by="tests/kernel/distribution/test_discrete.py::test_laplace_has_its_law",
    ),
    "acceptance without the low bits": mutant(
        ("kernel/noise/discrete.py", "low * inverse + distance", "distance"),
        by="tests/kernel/distribution/test_discrete.py::test_the_computed_gamma_is_within_its_bound",
    ),
    "one draw for all entries": mutant(
        ("kernel/curator.py", "if made is None or not made.fits(self.public):", "if made is None:"),
        by="tests/kernel/test_curator.py::TestStatisticsThatDoNotFit::test_another_shape_or_grid",
    ),
    "the last check is loose": mutant(
        (
            "kernel/rows/grid.py",
            "out[~(squared_norms(out) <= radius_squared)]",
            "out[squared_norms(out) > radius_squared * 1.1]",
        ),
        by="tests/kernel/laws/test_grid.py::test_shrink_zeroes_a_row_that_still_breaks_the_bound",
    ),
    "overspending allowed": mutant(
        ("kernel/account.py", "if not pays_for(self._budget, charges):", "if False:"),
        by="tests/kernel/test_curator.py::TestRefusedBeforeReading::test_more_than_is_left",
    ),
    "true n under add-remove": mutant(
        (
            "kernel/curator.py",
            "        if self.public.neighbors == REPLACE:\n            rows = self._sums.n\n",
            "        if True:\n            rows = self._sums.n\n",
        ),
        by=("tests/audit/test_numbers.py::test_the_number_of_rows_is_private_under_add_remove",),
    ),
    "seed not stamped": mutant(
        ("mechanisms/running.py", "seeded=curator.seeded", "seeded=False"),
        by="tests/audit/test_numbers.py::test_two_releases_differ_and_only_seeded_ones_repeat",
    ),
    "rho rounded up": mutant(
        ("kernel/budget.py", "rho * (1 - ROUNDING)", "rho * (1 + ROUNDING)"),
        by="tests/kernel/calibration/test_budget.py::test_rho_errs_downwards_and_hardly",
    ),
    "one Wishart only": mutant(
        ("kernel/noise/matrix.py", "plus @ plus.T - minus @ minus.T", "plus @ plus.T"),
        by=(
            "tests/kernel/distribution/test_matrix.py::TestWishart::test_one_column_is_laplace",
            "tests/audit/test_pure_audit.py::test_black_box_stays_under_the_promise[wishart-replace]",
        ),
    ),
    "Wishart scale halved": mutant(
        ("kernel/noise/matrix.py", "        Fraction(nuclear, 2),\n", "        Fraction(nuclear, 4),\n"),
        by=(
            "tests/kernel/calibration/test_calibrated.py::TestLaws::test_wishart_and_frobenius",
            "tests/audit/test_pure_audit.py::TestReplay::test_no_pair_costs_more_than_was_charged",
        ),
    ),
    "d degrees of freedom": mutant(
        ("kernel/noise/matrix.py", "shape = (2, self.d, self.d + 1)", "shape = (2, self.d, self.d)"),
        by="tests/kernel/distribution/test_matrix.py::TestWishart::test_one_column_is_laplace",
    ),
    "noise rounded alone": mutant(
        (
            "kernel/noise/sampler.py",
            "law.settle(exact + self._draw(question, law))",
            "exact + law.settle(self._draw(question, law))",
        ),
        by="tests/kernel/distribution/test_matrix.py::TestLattice::test_the_sum_is_rounded_not_the_noise",
    ),
    "radius Gamma(D-1)": mutant(
        ("kernel/noise/matrix.py", "math.fsum(exponentials(count, bits))", "math.fsum(exponentials(count - 1, bits))"),
        by="tests/kernel/distribution/test_matrix.py::TestFrobenius::test_the_radius_is_gamma",
    ),
    "shrinkage reads n times the noise": mutant(
        ("mechanisms/shared/moment.py", "moment.spread.scaled(1 / transcript.n)", "moment.spread"),
        by="tests/mechanisms/test_additive.py::test_shrinkage_is_told_the_noise_of_the_mean_not_of_the_sum",
    ),
    "L1 sensitivity 5 percent too small": mutant(
        (
            "kernel/questions/moments.py",
            "ADD_REMOVE: add_remove}[neighbors] * self",
            "ADD_REMOVE: add_remove}[neighbors] * 19 / 20 * self",
        ),
        by="tests/kernel/calibration/test_calibrated.py::TestLaws::test_laplace",
    ),
    "delta not lowered": mutant(
        ("kernel/questions/calibrated.py", "budget.delta - Fraction(gap * 1.01)", "budget.delta + Fraction(gap * 1.01)"),
        by="tests/kernel/calibration/test_calibrated.py::TestDiscreteUnderApproximateDP::test_the_true_delta_of_a_count[0.0005-0.0001]",
    ),
    "centred rows in the whole ball": mutant(
        ("kernel/rows/grid.py", "return self.one**2 - self.constant**2", "return self.one**2"),
        by=(
            "tests/audit/test_centring.py::test_one_question_never_costs_more_than_was_charged",
            "tests/kernel/laws/test_centring.py::test_any_floats_keep_the_constant_and_stay_in_the_ball",
        ),
    ),
    "a constant that depends on the row": mutant(
        (
            "kernel/rows/grid.py",
            "z[:, : self.center] = self.constant",
            "z[:, : self.center] = self.constant * np.isfinite(rows[:, :1])",
        ),
        by="tests/audit/test_centring.py::test_the_corner_never_depends_on_a_row",
    ),
    "columnar norms leave a column out": mutant(
        ("kernel/rows/grid.py", 'np.einsum("ij,ij->i", x, x)', 'np.einsum("ij,ij->i", x[:, 1:], x[:, 1:])'),
        by=(
            "tests/kernel/laws/test_grid.py::test_scratch_rows_give_the_same_integers",
            "tests/sources/test_same_integers.py::test_without_a_schema_every_container_of_numbers_is_its_array",
        ),
    ),
    "n of centred rows from the data": mutant(
        (
            "kernel/curator.py",
            "told = n_of(self.answers)",
            "told = self._sums.n if self.public.grid.center else n_of(self.answers)",
        ),
        by="tests/audit/test_numbers.py::test_the_number_of_rows_is_private_under_add_remove[True]",
    ),
    "missing numbers count as zero": mutant(
        ("sources/arrow.py", "description, offset, scale, description.midpoint)", "description, offset, scale, 0.0)"),
        by="tests/sources/test_noise_off.py::TestPandas::test_mean_and_covariance",
    ),
    "weights not normalised": mutant(
        ("schema/__init__.py", "total = math.hypot(*(column.weight for column in self.used.values()))", "total = 1.0"),
        by="tests/schema/test_schema.py::test_any_cells_become_rows_of_norm_at_most_one",
    ),
    "offset forgotten on the way back": mutant(
        ("release/record.py", "mean = self.offsets + self.units * encoded", "mean = self.units * encoded"),
        by="tests/sources/test_noise_off.py::TestPandas::test_mean_and_covariance",
    ),
    "a blank cell deletes its row": mutant(
        ("sources/files.py", "ignore_empty_lines=len(columns) == 0 or len(self.names) > 1,", "ignore_empty_lines=True,"),
        by="tests/sources/test_promises.py::test_a_cell_cannot_delete_its_row",
    ),
    "a second reading of nothing": mutant(
        ("sources/arrow.py", "if self._n not in (None, counted):", "if False:"),
        by="tests/sources/test_tables.py::test_a_stream_answers_one_question",
    ),
    "exceptions keep the cells": mutant(
        ("sources/tables.py", "        error.__context__ = None\n", "        pass\n"),
        by="tests/sources/test_promises.py::test_a_broken_line_is_quoted_nowhere",
    ),
    "the acceptance's sign inverted": mutant(
        (
            "kernel/noise/sphere.py",
            "-(ratio - m) / 2 + m / 2 * np.log(ratio / m)",
            "-(ratio - m) / 2 - m / 2 * np.log(ratio / m)",
        ),
        by="tests/kernel/distribution/test_sphere.py::TestCheckValues::test_mean_square",
    ),
    "exponent epsilon in place of its half": mutant(
        ("kernel/calibrate.py", 'SPAN = {"replace": 2, "add-remove": 1}', 'SPAN = {"replace": 1, "add-remove": 1}'),
        by=(
            "tests/kernel/calibration/test_directions.py::TestConcentration::test_pure",
            "tests/kernel/calibration/test_directions.py::TestConcentration::test_zcdp",
            "tests/audit/test_directions.py::TestReplay::test_no_pair_costs_more_than_was_charged",
            "tests/audit/test_directions.py::test_black_box",
        ),
    ),
    "bounded range as pure in zCDP": mutant(
        ("kernel/calibrate.py", "sqrt_down(8 * budget.rho) / SPAN", "sqrt_down(16 * budget.rho) / SPAN"),
        by=(
            "tests/kernel/calibration/test_directions.py::TestConcentration::test_zcdp",
            "tests/audit/test_directions.py::test_the_worst_pair_uses_the_directions_budget",
        ),
    ),
    "a reflector of the wrong sign": mutant(
        (
            "kernel/peel.py",
            "reflector[0] += 1.0 if vector[0] >= 0 else -1.0",
            "reflector[0] += -1.0 if vector[0] >= 0 else 1.0",
        ),
        by="tests/kernel/laws/test_spectral.py::TestPeel::test_projection",
    ),
    "not deflated": mutant(
        ("kernel/peel.py", "matrix[1:, 1:] - np.outer(tail, half_tail) - np.outer(half_tail, tail)", "matrix[1:, 1:]"),
        by=(
            "tests/kernel/laws/test_spectral.py::TestPeel::test_projection",
            "tests/mechanisms/test_eigenvectors.py::TestEigenvectors::test_noise_off_gives_the_truth",
        ),
    ),
    "not subtracted": mutant(
        ("kernel/peel.py", "self._matrix = self._matrix - value * np.outer(vector, vector)", "pass"),
        by=(
            "tests/kernel/laws/test_spectral.py::TestPeel::test_subtraction",
            "tests/mechanisms/test_eigenvectors.py::TestKapralovTalwar::test_noise_off_gives_the_truth",
        ),
    ),
    "the best proposal instead of the first": mutant(
        (
            "kernel/noise/sphere.py",
            "int(np.argmax(accepted))",
            'int(np.argmax(np.where(accepted, np.einsum("ij,ij->j", vectors, matrix @ vectors), -np.inf)))',
        ),
        by="tests/kernel/distribution/test_sphere.py::TestFirstAccepted::test_it_is_taken",
    ),
    "values move by one only": mutant(
        (
            "kernel/questions/spectral.py",
            "Fraction({REPLACE: 2 if self.d > 1 else 1, ADD_REMOVE: 1}[neighbors] * 2**VALUE_BITS)",
            "Fraction(2**VALUE_BITS)",
        ),
        by=(
            "tests/kernel/laws/test_spectral.py::TestSensitivities::test_rows_of_every_kind",
            "tests/audit/test_directions.py::test_values_use_their_budget",
        ),
    ),
    "quotients with the sensitivity of a diagonal": mutant(
        (
            "kernel/questions/spectral.py",
            "return Fraction(self.count * (2**VALUE_BITS + self.lost[0]))",
            "return super().sensitivity_l1(neighbors)",
        ),
        by="tests/kernel/laws/test_spectral.py::TestSensitivities::test_they_are_tight",
    ),
    "shares beyond the whole": mutant(
        ("kernel/peel.py", "not 0 < share <= self._left", "not 0 < share <= 1"),
        by="tests/kernel/laws/test_spectral.py::TestPeel::test_shares_beyond_the_whole_are_refused",
    ),
    "a peel that is not charged": mutant(
        ("kernel/curator.py", "        self._account.charge(*charges)\n", ""),
        by="tests/kernel/laws/test_spectral.py::TestDoor::test_the_whole_peel_is_charged_at_once",
    ),
    "one draw for all eigenvalues": mutant(
        ("kernel/questions/spectral.py", "super().fits(public) and self.count == public.d", "super().fits(public)"),
        by="tests/kernel/laws/test_spectral.py::TestDoor::test_questions",
    ),
    "the last value answered again": mutant(
        ("kernel/questions/spectral.py", " and 1 <= self.count <= public.d", ""),
        ("kernel/questions/directions.py", " and 1 <= self.count <= public.d", ""),
        by="tests/kernel/laws/test_spectral.py::TestDoor::test_peels",
    ),
    "concentrations of a file not added up": mutant(
        ("release/check.py", "return sum(exponents) <= charge.epsilon", "return max(exponents) <= charge.epsilon"),
        by=FORGED + "[less noise than the charge buys]",
    ),
    "tau in place of its square in the noise of adaptive": mutant(
        ("mechanisms/covariance/adaptive_noise.py", "return tau**2 * self.whole", "return tau * self.whole"),
        by="tests/mechanisms/test_adaptive.py::TestNoises::test_what_the_search_weighs",
    ),
    "the square of tau in the first term of separate's noise": mutant(
        ("mechanisms/covariance/adaptive_noise.py", "2 * tau * math.sqrt(trace", "2 * tau**2 * math.sqrt(trace"),
        by="tests/mechanisms/test_adaptive.py::TestNoises::test_what_the_search_weighs",
    ),
    "the budget forgotten in the papers' noise": mutant(
        ("mechanisms/covariance/adaptive_noise.py", "unit = 1 / math.sqrt(budget.rho)", "unit = 1.0"),
        by="tests/mechanisms/test_adaptive.py::TestNoises::test_the_papers_bounds",
    ),
    "epsilon forgotten in the bound of the trace": mutant(
        ("mechanisms/covariance/adaptive.py", "-math.log(2 * beta) / float(budget.epsilon)", "-math.log(2 * beta)"),
        by="tests/mechanisms/test_adaptive.py::TestNoises::test_what_the_search_weighs",
    ),
    "eigenvectors of an SVD": mutant(
        ("kernel/answer.py", "np.ascontiguousarray(self.decomposition[1][:, ::-1])", "np.linalg.svd(self.matrix)[0]"),
        by="tests/mechanisms/test_separate.py::TestEstimate::test_the_largest_eigenvalue_goes_to_the_largest_one_of_an_indefinite_matrix",
    ),
    "values on the rows of the basis": mutant(
        ("mechanisms/covariance/separate.py", "assembled(basis.T, values)", "assembled(basis, values)"),
        by="tests/mechanisms/test_separate.py::TestEstimate::test_values_stand_on_the_eigenvectors_of_the_noisy_matrix",
    ),
    "query noise halved where it is drawn": mutant(
        (
            "kernel/noise/choice.py",
            "discrete_laplace(law.query, len(values), bits)",
            "discrete_laplace(law.query / 2, len(values), bits)",
        ),
        by="tests/kernel/distribution/test_choice.py::test_searches_have_their_law",
    ),
    "query noise halved where it is calibrated": mutant(
        ("kernel/curator.py", "max(query_noise * scale, MIN_SCALE)", "max(query_noise * scale / 2, MIN_SCALE)"),
        by=(
            "tests/mechanisms/test_adaptive.py::TestSpending::test_noise_of_the_searches",
            "tests/audit/test_clipped.py::TestReplay::test_no_pair_costs_more_than_was_charged",
        ),
    ),
    "no noise on the threshold": mutant(
        ("kernel/noise/choice.py", "threshold + int(discrete_laplace(law.threshold, 1, bits)[0])", "threshold"),
        by="tests/kernel/distribution/test_choice.py::test_searches_have_their_law",
    ),
    "rate doubled": mutant(
        (
            "kernel/calibrate.py",
            "(budget.epsilon if isinstance(budget, PureDP) else sqrt_down(8 * budget.rho)) / 2",
            "budget.epsilon if isinstance(budget, PureDP) else sqrt_down(8 * budget.rho)",
        ),
        by="tests/audit/test_clipped.py::TestReplay::test_no_pair_costs_more_than_was_charged",
    ),
    "an asymmetric score": mutant(
        ("kernel/questions/choices.py", "running[1:] - rows)", "2 * (running[1:] - rows))"),
        by=(
            "tests/kernel/laws/test_choices.py::TestQuantile::test_one_row_moves_each_score_by_at_most_one",
            "tests/audit/test_clipped.py::TestReplay::test_no_pair_costs_more_than_was_charged",
        ),
    ),
    "a score that is not cut at zero": mutant(
        (
            "kernel/questions/choices.py",
            "np.minimum(np.minimum(rows - running[:-1], running[1:] - rows), 0)",
            "np.minimum(rows - running[:-1], running[1:] - rows)",
        ),
        by="tests/kernel/laws/test_choices.py::TestQuantile::test_a_score_is_minus_the_rows_in_the_wrong_place",
    ),
    "the annulus with tau for its square": mutant(
        ("kernel/rows/annulus.py", "int(self.one**2 * ratio**2)", "int(self.one**2 * ratio)"),
        by="tests/kernel/laws/test_annulus.py::TestBounds::test_the_reach_is_the_difference_of_squares",
    ),
    "rows of the annulus not verified": mutant(
        ("kernel/rows/annulus.py", "factors, 0.0), self.reach, out=", "factors, 0.0), self.one**2, out="),
        by="tests/kernel/laws/test_annulus.py::TestBounds::test_a_row_that_still_breaks_the_bound_is_dropped",
    ),
    "what clipping leaves counted as taken": mutant(
        ("kernel/rows/annulus.py", " - radius * shrinkage", ""),
        by="tests/kernel/laws/test_annulus.py::TestWhole::test_the_two_make_the_whole",
    ),
    "the overlap moves by half": mutant(
        ("kernel/questions/overlap.py", "return reach * (1 + Fraction", "return reach / 2 * (1 + Fraction"),
        by="tests/kernel/laws/test_overlap.py::TestSensitivity::test_the_longest_rows_along_it_move_it_as_far",
    ),
    "the overlap with the noise of the whole ball": mutant(
        ("kernel/questions/overlap.py", "self.reach * Fraction(2**VALUE_BITS)", "Fraction(2**VALUE_BITS)"),
        by="tests/kernel/laws/test_overlap.py::TestSensitivity::test_the_longest_rows_along_it_move_it_as_far",
    ),
    "one bin moves where a row is replaced": mutant(
        (
            "kernel/questions/norms.py",
            "        return {REPLACE: 2, ADD_REMOVE: 1}[neighbors]\n",
            "        return {REPLACE: 1, ADD_REMOVE: 1}[neighbors]\n",
        ),
        by="tests/kernel/laws/test_norms.py::TestNeighbours::test_a_replaced_row_leaves_one_bin_for_another",
    ),
    "charge after the choice": mutant(
        (
            "kernel/curator.py",
            "        self._account.charge(budget)\n"
            "        return self._account.record(_indexed(question, law, budget, self._sampler.choice(question, law, counts)",
            "        index = self._sampler.choice(question, law, counts)\n        self._account.charge(budget)\n"
            "        return self._account.record(_indexed(question, law, budget, index",
        ),
        by="tests/kernel/test_curator.py::TestOrder::test_choices_and_searches_keep_the_order_too",
    ),
    "charge after the search": mutant(
        (
            "kernel/curator.py",
            "        self._account.charge(budget)\n"
            "        return self._account.record(_indexed(question, law, budget, self._sampler.search(question, law, counts)",
            "        index = self._sampler.search(question, law, counts)\n        self._account.charge(budget)\n"
            "        return self._account.record(_indexed(question, law, budget, index",
        ),
        by="tests/kernel/test_curator.py::TestOrder::test_choices_and_searches_keep_the_order_too",
    ),
    "the radius at the true quantile": mutant(
        (
            "kernel/noise/sampler.py",
            "choose(scores, question.weights, law.rate, self._bits)",
            "int(np.argmax(scores))",
        ),
        by="tests/audit/test_clipped.py::test_a_private_radius_is_drawn",
    ),
    "shares of rescaled beyond the whole": mutant(
        ("mechanisms/covariance/rescaled.py", "whole.share(left - for_scale)", "whole.share(left)"),
        by=("tests/mechanisms/test_rescaled.py::TestSpending::test_everything",),
    ),
    "nothing set aside for the radius": mutant(
        ("mechanisms/shared/additive.py", "whole.share(1 - plan.share), moment", "whole, moment"),
        by="tests/mechanisms/test_separate.py::TestClip::test_a_private_radius_clips_there",
    ),
    "rows clipped at twice the radius of their noise": mutant(
        (
            "kernel/rows/grid.py",
            "batched((norms > self.radius_squared) | far)",
            "batched((norms > 4 * self.radius_squared) | far)",
        ),
        by=(
            "tests/kernel/laws/test_grid.py::test_any_floats_become_integers_inside_the_ball",
            "tests/audit/test_audit.py::test_replay_of_wild_rows",
        ),
    ),
    "a public radius that is ignored": mutant(
        ("mechanisms/shared/additive.py", "1.0 if isinstance(where, str) else where / curator.grid.row_norm", "1.0"),
        by="tests/mechanisms/test_separate.py::TestClip::test_a_public_radius_is_a_smaller_row_norm",
    ),
    "the scale in units of the outer radius": mutant(
        (
            "mechanisms/covariance/rescaled.py",
            "float(overlap.values[0]) * reach / transcript.n",
            "float(overlap.values[0]) / transcript.n",
        ),
        by="tests/mechanisms/test_rescaled.py::TestEstimate::test_the_denoised_matrix_times_its_scale",
    ),
    "a stream read for its norms": mutant(
        ("mechanisms/shared/clipping.py", "    if not curator.rereadable:\n", "    if False:\n"),
        by="tests/mechanisms/test_clipping_refusals.py::test_a_stream_has_no_private_radius",
    ),
    "a file's rate not checked": mutant(
        ("release/check.py", "enough = law.rate <= exponential_rate(charge)", "enough = True"),
        by=FORGED + "[less noise than the charge buys]",
    ),
    "a file's radius not compared with its choice": mutant(
        ("verify/retrace.py", "sorted({*one, *other}):", 'sorted({*one, *other} - {"rows"}):'),
        by=(
            "tests/verify/test_retrace.py::TestWhatAnswersLeadTo::test_a_radius_that_was_not_chosen[wishart]",
            "tests/verify/test_retrace.py::TestWhatAnswersLeadTo::test_rows_that_were_clipped_elsewhere[rescaled]",
        ),
    ),
}

MUTANTS |= {name: mutant(*edits, by=by) for name, (edits, by) in (PLANTED | COINPRESS | SCREENED_MUTANTS | SUBSPACES).items()}
MUTANTS |= {name: mutant(*edits, by=by) for name, (edits, by) in TABLE_MUTANTS.items()}
MUTANTS |= {
    name: mutant(*edits, by=by) for name, (edits, by) in (RIDGE_MUTANTS | USES_MUTANTS | FILES_MUTANTS | REVIEW_MUTANTS).items()
}
MUTANTS |= {name: mutant(*edits, by=by) for name, (edits, by) in (STANDARDIZED_MUTANTS | SLIPS_MUTANTS).items()}
