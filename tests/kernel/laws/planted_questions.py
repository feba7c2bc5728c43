"""Planted bugs in what may be asked."""

from __future__ import annotations

from tests.mutation.form import mutant

ALONG = "kernel/questions/along.py"
BASIS = "kernel/questions/basis.py"
BINS = "kernel/questions/bins.py"
CHOICES = "kernel/questions/choices.py"
DERIVED = "kernel/questions/derived.py"
DIRECTIONS = "kernel/questions/directions.py"
FILING = "kernel/questions/filing.py"
MEASURE = "kernel/questions/measure.py"
MOMENTS = "kernel/questions/moments.py"
NORMS = "kernel/questions/norms.py"
OVERLAP = "kernel/questions/overlap.py"
REMADE = "kernel/questions/remade.py"
SOLUTION = "kernel/questions/solution.py"
SPECTRAL = "kernel/questions/spectral.py"

TEST_AUDIT_FRAMES = "tests/audit/test_frames.py::"
TEST_HOSTILE_MECHANISMS = "tests/audit/test_hostile_mechanisms.py::"
TEST_TYPES_THAT_PRETEND = "tests/audit/test_types_that_pretend.py::"
TEST_FLOAT_STEPS = "tests/kernel/calibration/test_float_steps.py::"
TEST_CALIBRATION_FRAMES = "tests/kernel/calibration/test_frames.py::"
TEST_CALIBRATION_SOLUTION = "tests/kernel/calibration/test_solution.py::"
TEST_RANK = "tests/kernel/distribution/test_rank.py::"
TEST_BINS = "tests/kernel/laws/test_bins.py::"
TEST_CHOICES = "tests/kernel/laws/test_choices.py::"
TEST_OVERLAP = "tests/kernel/laws/test_overlap.py::"
TEST_QUESTIONS = "tests/kernel/laws/test_questions.py::"
TEST_LAWS_SOLUTION = "tests/kernel/laws/test_solution.py::"
TEST_SPECTRAL = "tests/kernel/laws/test_spectral.py::"
TEST_SUBSPACE = "tests/kernel/laws/test_subspace.py::"
TEST_FILE_SIZES = "tests/release/test_file_sizes.py::"
TEST_FORGED = "tests/release/test_forged.py::"
PINNED = TEST_CALIBRATION_SOLUTION + "TestClosedForms::test_pinned"
ATTAINED = TEST_LAWS_SOLUTION + "TestNeighbours::test_the_bounds_are_attained"
PLACE = TEST_FILE_SIZES + "test_a_place_is_checked_before_it_is_an_exponent"
FORGED = TEST_FORGED + "test_a_forged_file_is_refused"

LARGEST = "sqrt_up(1 / (4 * self.alpha * (1 + self.alpha)))"
MOVED = "sqrt_up(1 + self._largest**2) / (self.rows * self.alpha)"

PLANTED = {
    "what is explained without what is not": mutant(
        (ALONG, "np.trace(matrix) - along.sum()", "np.trace(matrix)"),
        by=(TEST_SUBSPACE + "TestExplained::test_they_are_tight", TEST_SUBSPACE + "TestExplained::test_numbers"),
    ),
    "what is left of the trace as if it were one number": mutant(
        (ALONG, "steps_lost(self.d + 2, self.rows, times=self.count) - each", "0"),
        by=TEST_FLOAT_STEPS + "TestFormula::test_what_is_left_of_the_trace",
    ),
    "a stranger's basis": mutant(
        (ALONG, " or type(self.basis) not in BASES:", ":"),
        by=TEST_QUESTIONS + "TestFitsExactly::test_bases_are_those_that_are_proved",
    ),
    "components in the first columns": mutant(
        (BASIS, "columns[list(self._moment.columns)] = vectors", "columns[: self._moment.d] = vectors"),
        by="tests/mechanisms/test_screened.py::test_a_rotated_subspace_comes_back_in_its_columns",
    ),
    "a basis with more columns than coordinates": mutant(
        (BASIS, " or len(rows[0]) > len(rows):", ":"),
        (DERIVED, "    if not 1 <= count <= d:", "    if False:"),
        by=TEST_FILE_SIZES + "test_a_basis_of_too_many_columns",
    ),
    "bins of one column only": mutant(
        (BINS, "return {REPLACE: 2, ADD_REMOVE: 1}[neighbors] * self.d", "return {REPLACE: 2, ADD_REMOVE: 1}[neighbors]"),
        by=(
            TEST_BINS + "TestBins::test_the_bounds_are_attained[2]",
            TEST_CALIBRATION_FRAMES + "TestSensitivity::test_it_is_that_of_the_table[replace-2-bins]",
            TEST_AUDIT_FRAMES + "TestMeans::test_pairs_cost_what_was_charged_and_no_more[karwa-vadhan-zCDP-replace]",
        ),
    ),
    "bins of one column only, in absolute values": mutant(
        (BINS, "Fraction({REPLACE: 2, ADD_REMOVE: 1}[neighbors] * self.d * self.person)", "Fraction(2)"),
        by=(
            TEST_BINS + "TestBins::test_the_bounds_are_attained[2]",
            TEST_AUDIT_FRAMES + "TestMeans::test_pairs_cost_what_was_charged_and_no_more[karwa-vadhan-pure-replace]",
        ),
    ),
    "the rank of the first column": mutant(
        (BINS, "self.bins.count)[self.column]", "self.bins.count)[0]"),
        by=TEST_RANK + "test_choices_have_their_law[rank, the other column]",
    ),
    "a rank among directions": mutant(
        (BINS, "type(self.bins) is Bins and ", ""),
        by=TEST_HOSTILE_MECHANISMS + "test_choices_are_made_from_proved_counts[a rank among directions]",
    ),
    "an asymmetric score": mutant(
        (CHOICES, "running[1:] - rows)", "2 * (running[1:] - rows))"),
        by=(
            TEST_CHOICES + "TestQuantile::test_one_row_moves_each_score_by_at_most_one",
            "tests/audit/test_clipped.py::TestReplay::test_no_pair_costs_more_than_was_charged",
        ),
    ),
    "a score that is not cut at zero": mutant(
        (
            CHOICES,
            "np.minimum(np.minimum(rows - running[:-1], running[1:] - rows), 0)",
            "np.minimum(rows - running[:-1], running[1:] - rows)",
        ),
        by=TEST_CHOICES + "TestQuantile::test_a_score_is_minus_the_rows_in_the_wrong_place",
    ),
    "a rank of the wrong sign": mutant(
        (CHOICES, "np.minimum(rows - running[:-1], running[1:] - rows)", "np.minimum(running[:-1] - rows, rows - running[1:])"),
        by=(
            TEST_BINS + "TestRank::test_a_score_is_minus_the_rows_in_the_wrong_place",
            TEST_RANK + "test_choices_have_their_law[rank, pure]",
        ),
    ),
    "a rank that counts a row twice": mutant(
        (CHOICES, "running[1:] - rows)", "2 * (running[1:] - rows))"),
        by=(
            TEST_BINS + "TestRank::test_one_row_moves_each_score_by_at_most_one",
            TEST_AUDIT_FRAMES + "TestMeans::test_pairs_cost_what_was_charged_and_no_more[symq-pure-replace]",
        ),
    ),
    "a prior that is ignored": mutant(
        (CHOICES, "        if self.prior == ():\n", "        if True:\n"),
        by=(
            TEST_RANK + "test_choices_have_their_law[prior]",
            TEST_BINS + "TestPrior::test_it_is_the_weights_and_changes_no_score",
        ),
    ),
    "a place that is an exponent unchecked": mutant(
        (CHOICES, " and 0 <= int(integers[0]) < self.candidates", ""),
        by=(
            FORGED + "[an index beyond the candidates]",
            PLACE + "[adaptive--1000000000000000000]",
            PLACE + "[rescaled--1000000000000000000]",
        ),
    ),
    "weights that a file leaves out": mutant(
        (CHOICES, "        if not weights:\n", "        if False:\n"), by=FORGED + "[weights that are none]"
    ),
    "a radius among sums": mutant(
        (CHOICES, "type(self.norms) is Norms and ", ""),
        by=TEST_HOSTILE_MECHANISMS + "test_choices_are_made_from_proved_counts[a radius among sums]",
    ),
    "an index beyond the candidates": mutant(
        (CHOICES, " and 0 <= int(integers[0]) < self.candidates", ""), by=FORGED + "[an index beyond the candidates]"
    ),
    "float64 errs for one of two neighbours": mutant(
        (DERIVED, "Fraction(4 * times * work * max", "Fraction(2 * times * work * max"),
        by=TEST_FLOAT_STEPS + "TestFormula::test_an_error_of_both_neighbours_is_in_it",
    ),
    "numbers of a second moment of a stranger": mutant(
        (DERIVED, "type(self.moment) is SecondMoment and super()", "super()"),
        by=TEST_QUESTIONS + "TestFitsExactly::test_a_moment_is_a_whole_one",
    ),
    "a file's directions not orthogonal": mutant(
        (DIRECTIONS, "return not self.orthogonal or bool(", "return True or bool("),
        by="tests/release/test_components_files.py::test_a_forged_file_is_refused[not orthogonal]",
    ),
    "a matrix of all columns for few components": mutant(
        (DIRECTIONS, "np.abs(rows @ rows.T - np.eye(self.count)).max()", "np.abs(rows.T @ rows @ rows.T - rows.T).max()"),
        by=TEST_FILE_SIZES + "test_many_columns_still_load",
    ),
    "a direction twice": mutant(
        (DIRECTIONS, "return not self.orthogonal or bool(", "return True or bool("), by=FORGED + "[not orthogonal]"
    ),
    "directions of any length": mutant(
        (DIRECTIONS, "if not np.all(np.abs(np.linalg.norm(rows, axis=1) - 1) <= slack):", "if False:"),
        by=FORGED + "[no unit vectors]",
    ),
    "directions of a second moment of a stranger": mutant(
        (DIRECTIONS, "type(self.moment) is SecondMoment and type(self.count)", "type(self.count)"),
        by=TEST_QUESTIONS + "TestFitsExactly::test_a_moment_is_a_whole_one",
    ),
    "a stranger's values along directions": mutant(
        (DIRECTIONS, "type(self.values) in VALUED.values()\n            and ", ""),
        by=TEST_QUESTIONS + "TestFitsExactly::test_values_are_those_of_the_directions",
    ),
    "values of other directions": mutant(
        (DIRECTIONS, "and (self.values.moment, self.values.count) == (self.moment, self.count)\n            ", ""),
        by=TEST_QUESTIONS + "TestFitsExactly::test_values_are_those_of_the_directions",
    ),
    "a ball that is whitened by a matrix": mutant(
        (
            FILING,
            "    return of_frame(Frame(centre, extent, deviations))\n",
            "    frame = Frame(centre, extent, deviations)\n"
            "    assert frame.extent.ndim == 2 or np.isfinite(frame.unwhitener).all()\n"
            "    return of_frame(frame)\n",
        ),
        by=TEST_FILE_SIZES + "test_invented_columns[coinpress-1500]",
    ),
    "a basis counted from the end": mutant(
        (FILING, "self.answers[place] if 0 <= place < len(self.answers)", "self.answers[place] if place < len(self.answers)"),
        by=FORGED + "[a basis of a later answer]",
    ),
    "coordinates counted from the end": mutant(
        (FILING, "self.frames[place] if 0 <= place < len(self.frames)", "self.frames[place] if place < len(self.frames)"),
        by=FORGED + "[a frame that does not stand there]",
    ),
    "a frame of other columns": mutant(
        (MEASURE, "d == public.d == len(rows.centre)", "d == public.d"),
        by=TEST_BINS + "TestDoor::test_what_is_not[a longer centre]",
    ),
    "units of other columns": mutant(
        (MEASURE, "rows.units.columns == public.encoding.columns", "True"),
        by="tests/kernel/laws/test_table.py::TestDoor::test_what_is_not[units of other bounds]",
    ),
    "coordinates in other units": mutant(
        (MEASURE, "not whole.center and rows.bits == whole.bits and", "not whole.center and"),
        by=FORGED + "[other bits than its frames have]",
    ),
    "rows clipped farther out than they are encoded": mutant(
        (MEASURE, " and grid.row_norm <= whole.row_norm", ""),
        by=(
            FORGED + "[a radius beyond the encoding]",
            "tests/kernel/test_curator.py::TestStatisticsThatDoNotFit::test_another_shape_or_grid",
        ),
    ),
    "coordinates of another grid": mutant(
        (MEASURE, "not whole.center and rows.bits == whole.bits and", "not whole.center and"),
        by=FORGED + "[other bits than its frames have]",
    ),
    "a count of its own for columns": mutant(
        (MEASURE, "if type(d) is not int or d != public.d:", "if d != public.d:"),
        by=TEST_QUESTIONS + "TestFitsExactly::test_columns",
    ),
    "numbers of a type that says it is another": mutant(
        (MEASURE, "all(map(is_, map(type, values), repeat(kind)))", "set(map(type, values)) == {kind}"),
        by=TEST_TYPES_THAT_PRETEND + "test_a_number_of_a_type_that_says_it_is_another",
    ),
    "sensitivity wrong": mutant(
        (MOMENTS, "{REPLACE: 2 if self.d > 1 else 1, ADD_REMOVE: 1}[neighbors] * self.scaled_reach**2", "self.scaled_reach**2"),
        by=(
            "tests/audit/test_audit.py::test_replay_never_costs_more_than_was_charged",
            "tests/kernel/laws/test_moments.py::TestSensitivity::test_replacing_a_row_moves_no_further[second moment-2]",
        ),
    ),
    "L1 sensitivity 5 percent too small": mutant(
        (MOMENTS, "ADD_REMOVE: add_remove}[neighbors] * self", "ADD_REMOVE: add_remove}[neighbors] * 19 / 20 * self"),
        by="tests/kernel/calibration/test_calibrated.py::TestLaws::test_laplace",
    ),
    "sums of a box with the noise of a ball": mutant(
        (
            MOMENTS,
            "{REPLACE: 4, ADD_REMOVE: 1}[neighbors] * self.grid.reach",
            "{REPLACE: 4, ADD_REMOVE: 1}[neighbors] * self.grid.one**2",
        ),
        by=(
            TEST_CALIBRATION_FRAMES + "TestSensitivity::test_some_neighbours_move_as_far[replace-2-sum, box]",
            TEST_AUDIT_FRAMES + "TestMeans::test_pairs_cost_what_was_charged_and_no_more[karwa-vadhan-zCDP-add-remove]",
        ),
    ),
    "one bin moves where a row is replaced": mutant(
        (
            NORMS,
            "        return {REPLACE: 2, ADD_REMOVE: 1}[neighbors]\n",
            "        return {REPLACE: 1, ADD_REMOVE: 1}[neighbors]\n",
        ),
        by="tests/kernel/laws/test_norms.py::TestNeighbours::test_a_replaced_row_leaves_one_bin_for_another",
    ),
    "norms of a ball seen from 0": mutant(
        (NORMS, "longer_than(self.grid.placed(rows), radii", "longer_than(rows, radii"),
        by=TEST_BINS + "TestNorms::test_norms_are_seen_from_the_centre[2]",
    ),
    "a trace in a box": mutant(
        (NORMS, "frames import Ball, Ellipsoid", "frames import Ball, Box, Ellipsoid"),
        (NORMS, "(Grid, Ball, Ellipsoid)", "(Grid, Ball, Box, Ellipsoid)"),
        by=TEST_BINS + "TestDoor::test_what_is_not[trace of a box]",
    ),
    "bins of any number of octaves": mutant(
        (NORMS, "not 1 <= self.per_octave <= 1024 or not 1 <= self.octaves <= 2048", "False"),
        by=TEST_FILE_SIZES + "test_numbers_of_questions_are_checked_before_they_are_sizes[octaves--1000000000000000000]",
    ),
    "the overlap moves by half": mutant(
        (OVERLAP, "return reach * (1 + Fraction", "return reach / 2 * (1 + Fraction"),
        by=TEST_OVERLAP + "TestSensitivity::test_the_longest_rows_along_it_move_it_as_far",
    ),
    "the overlap with the noise of the whole ball": mutant(
        (OVERLAP, "self.reach * Fraction(2**VALUE_BITS)", "Fraction(2**VALUE_BITS)"),
        by=TEST_OVERLAP + "TestSensitivity::test_the_longest_rows_along_it_move_it_as_far",
    ),
    "a stranger's basis of an overlap": mutant(
        (OVERLAP, "type(self.basis) in BASES and ", ""),
        by=TEST_QUESTIONS + "TestFitsExactly::test_bases_are_those_that_are_proved",
    ),
    "a basis that grows after it was checked": mutant(
        (REMADE, "made = GivenBasis(asked.columns)", "made = asked"),
        by=TEST_HOSTILE_MECHANISMS + "TestBases::test_what_is_used_is_what_was_checked",
    ),
    "numbers in a question that are in others' hands": mutant(
        (REMADE, "else remade(getattr(asked, name), aside) for", "else getattr(asked, name) for"),
        by=TEST_HOSTILE_MECHANISMS + "TestWhatIsKept::test_numbers_that_are_others_by_now",
    ),
    "a type that says it is another": mutant(
        (REMADE, "if type(kind) is not type and type(kind) is not ABCMeta:", "if False:"),
        by=TEST_TYPES_THAT_PRETEND + "test_a_question_of_a_type_that_says_it_is_another",
    ),
    "a second moment of a stranger, made anew": mutant(
        (REMADE, "elif kind in MADE:", 'elif hasattr(kind, "__dataclass_fields__"):'),
        (DERIVED, "type(self.moment) is SecondMoment and super()", "super()"),
        by="tests/kernel/laws/test_doors.py::TestStrangers::test_what_a_question_is_made_of[face-replace]",
    ),
    "coefficients of half the norm": mutant(
        (SOLUTION, LARGEST, LARGEST.replace("(4 *", "(16 *")), by=ATTAINED + "[0.01-10000]"
    ),
    "a norm of coefficients without its root": mutant((SOLUTION, LARGEST, LARGEST.removeprefix("sqrt_up")), by=PINNED),
    "a norm of coefficients for small penalties only": mutant((SOLUTION, LARGEST, "sqrt_up(1 / (4 * self.alpha))"), by=PINNED),
    "a residual without the target": mutant((SOLUTION, MOVED, MOVED.replace("1 + ", "")), by=ATTAINED + "[1000.0-2]"),
    "a distance without its root": mutant((SOLUTION, MOVED, MOVED.replace("sqrt_up", "")), by=PINNED),
    "coefficients that move in one place": mutant(
        (SOLUTION, "return self._distance(neighbors) * sqrt_up(Fraction(self.d - 1))", "return self._distance(neighbors)"),
        by=ATTAINED + "[0.1-1000]",
    ),
    "rounding that is not counted": mutant(
        (SOLUTION, "return moved + sqrt_up(Fraction(self.d - 1))", "return moved"),
        by=TEST_CALIBRATION_SOLUTION + "test_rounding_is_counted_where_steps_are_coarse",
    ),
    "a penalty that is the same for any n": mutant(
        (SOLUTION, "+= float(self.rows * self.alpha)", "+= float(self.alpha)"),
        by=TEST_LAWS_SOLUTION + "TestNumbers::test_they_are_those_of_exact_numbers[3-1/3]",
    ),
    "the target among its features": mutant(
        (SOLUTION, "np.delete(np.arange(self.d), self.target)", "np.arange(self.d - 1)"),
        by=TEST_LAWS_SOLUTION + "TestNumbers::test_they_are_in_the_order_of_the_other_columns",
    ),
    "a penalty over row_norm": mutant(
        (SOLUTION, "Fraction(alpha) / Fraction(row_norm) ** 2", "Fraction(alpha) / Fraction(row_norm)"),
        by=TEST_LAWS_SOLUTION + "test_penalties_of_rows_of_norm_one",
    ),
    "coefficients of more rows than there are": mutant(
        (SOLUTION, " and self.rows == public.known_n", ""),
        by="tests/mechanisms/test_output_perturbation.py::TestBeforeCharging::test_another_number_of_rows[6000]",
    ),
    "coefficients of rows in an annulus": mutant(
        (SOLUTION, "= (Grid,)  # rows of norm 1", "= OfMoment.shapes  # rows of norm 1"),
        by=TEST_LAWS_SOLUTION + "TestRefusals::test_a_curator_answers_its_own_rows_and_this_class_only",
    ),
    "values move by one only": mutant(
        (
            SPECTRAL,
            "Fraction({REPLACE: 2 if self.d > 1 else 1, ADD_REMOVE: 1}[neighbors] * 2**VALUE_BITS)",
            "Fraction(2**VALUE_BITS)",
        ),
        by=(
            TEST_SPECTRAL + "TestSensitivities::test_rows_of_every_kind",
            "tests/audit/test_directions.py::test_values_use_their_budget",
        ),
    ),
    "quotients with the sensitivity of a diagonal": mutant(
        (SPECTRAL, "return Fraction(self.count * (2**VALUE_BITS + self.lost[0]))", "return super().sensitivity_l1(neighbors)"),
        by=TEST_SPECTRAL + "TestSensitivities::test_they_are_tight",
    ),
    "one draw for all eigenvalues": mutant(
        (SPECTRAL, "super().fits(public) and self.count == public.d", "super().fits(public)"),
        by=TEST_SPECTRAL + "TestDoor::test_questions",
    ),
    "the last value answered again": mutant(
        (SPECTRAL, " and 1 <= self.count <= public.d", ""),
        (DIRECTIONS, " and 1 <= self.count <= public.d", ""),
        by=TEST_SPECTRAL + "TestDoor::test_peels",
    ),
    "values that move half as far": mutant(
        (
            SPECTRAL,
            "return moved * self.reach + each * self.count + more",
            "return moved * self.reach / 2 + each * self.count + more",
        ),
        by=(
            TEST_SUBSPACE + "TestExplained::test_they_are_tight",
            TEST_SUBSPACE + "TestExplained::test_extremal_rows",
            "tests/audit/test_subspace.py::test_what_is_explained_uses_its_budget[replace]",
        ),
    ),
    "a file's own n for what float64 loses": mutant(
        (SPECTRAL, "self.rows >= public.most_rows", "self.rows >= (public.known_n or 1)"),
        by=TEST_FILE_SIZES + "test_a_file_cannot_lower_the_rows_that_float64_is_counted_for[1]",
    ),
}
