"""Planted bugs that a machine made (tests/mutation/machine.py), and no test saw until then."""

from __future__ import annotations

from tests.mutation.form import mutant

ACCOUNT = "kernel/account.py"
CALIBRATED = "kernel/questions/calibrated.py"
DERIVED = "kernel/questions/derived.py"
DISCRETE = "kernel/noise/discrete.py"
FRAMES = "kernel/rows/frames.py"
MATRIX = "kernel/noise/matrix.py"
STANDARD = "kernel/rows/standard.py"
SUBSPACE = "kernel/noise/subspace.py"

TEST_CALIBRATED = "tests/kernel/calibration/test_calibrated.py::test_noise_is_near_continuous_"
TEST_CURATOR = "tests/kernel/test_curator.py::TestFilesCanHoldIt::"
TEST_DISCRETE = "tests/kernel/distribution/test_discrete.py::"
TEST_FRAMES = "tests/kernel/laws/test_frames.py::"
TEST_MATRIX = "tests/kernel/distribution/test_matrix.py::"
TEST_SPECTRAL = "tests/kernel/laws/test_spectral.py::"
OF_THE_STATED_SIZE = TEST_SPECTRAL + "TestBasis::test_it_is_of_the_stated_size"
STREAMS = "tests/kernel/distribution/test_streams.py::test_a_draw_is_the_recorded_one"
SPARE_SHARE = TEST_MATRIX + "test_half_of_what_is_spare_must_be_left"

PLANTED = {
    "a number that takes room each time": mutant(
        (ACCOUNT, "self._numbers |= new", "self._numbers &= new"), by=TEST_CURATOR + "test_the_same_numbers_take_room_once"
    ),
    "a whole number that is a fraction of nothing": mutant(
        (ACCOUNT, "int(denominator or 1)", "int(denominator or 0)"), by=TEST_CURATOR + "test_whole_numbers_are_fractions_of_one"
    ),
    "a decomposition that can be changed": mutant(
        ("kernel/answer.py", "vectors.flags.writeable = False", "vectors.flags.writeable = True"),
        by="tests/audit/test_hostile_mechanisms.py::TestBases::test_what_is_decomposed_once_for_all_cannot_be_changed",
    ),
    "a conversion without its slack where epsilon is small": mutant(
        ("kernel/budget.py", "best + ROUNDING * max(1.0, abs(best)))", "best + ROUNDING * min(1.0, abs(best)))"),
        by="tests/kernel/calibration/test_budget.py::test_epsilon_errs_upwards_and_hardly",
    ),
    "a default of the face that is not the curator's": mutant(
        ("kernel/face.py", "query_noise: int = 1", "query_noise: int = 2"),
        by="tests/kernel/laws/test_doors.py::TestFace::test_what_is_left_out_is_what_the_curator_has_for_it",
    ),
    "floats that decide on words that say little": mutant(
        (DISCRETE, "TRUSTED_WORD = np.uint64(2**44)", "TRUSTED_WORD = np.uint64(1)"),
        by=TEST_DISCRETE + "test_further_bits_decide_where_the_first_say_little",
    ),
    "half of the doubt": mutant(
        (DISCRETE, "DOUBT = 2.0**-34", "DOUBT = 2.0**-35"), by=TEST_DISCRETE + "test_floats_are_in_doubt_as_far_as_they_can_err"
    ),
    "an entry of Wishart noise that errs by 5 % more than is counted": mutant(
        (MATRIX, "(2.1 * RELATIVE_ERROR", "(1.995 * RELATIVE_ERROR"),
        by=TEST_MATRIX + "test_an_entry_errs_by_no_more_than_is_counted",
    ),
    "a law that is read without its spare share": mutant((MATRIX, "(1 + SPARE / 2)", "(1 - SPARE / 2)"), by=SPARE_SHARE),
    "a lattice coarser than the noise": mutant(
        (MATRIX, "math.floor(math.log2(terms.deviation * scale))", "math.ceil(math.log2(terms.deviation * scale))"),
        by="tests/kernel/distribution/test_matrix_limits.py::test_the_lattice_is_no_coarser_than_the_noise[784-wishart]",
    ),
    "proposals for what is filled": mutant(
        (DISCRETE, "2 * (size - filled) + 32", "2 * (size + filled) + 32"), by=STREAMS + "[gaussian of scale 1]"
    ),
    "a block that is left before its last number": mutant(
        (SUBSPACE, "self._used + count > len(self._stock)", "self._used + count >= len(self._stock)"),
        by=STREAMS + "[subspace, a block]",
    ),
    "a step of Newton's that is none": mutant(
        (
            SUBSPACE,
            "factor.trace * (factor.trace - 1) / factor.squared_trace",
            "factor.trace * (factor.trace - 2) / factor.squared_trace",
        ),
        by="tests/kernel/distribution/test_subspace.py::TestColumn::test_kappa_is_found_in_few_factorings",
    ),
    "a chain whose first number is 0": mutant(
        (SUBSPACE, "self._stock, self._used = np.zeros(0), 0", "self._stock, self._used = np.zeros(1), 0"),
        by="tests/kernel/distribution/test_subspace.py::TestColumn::test_normal_numbers_are_used_once",
    ),
    "a float that is above": mutant(
        ("kernel/noise/sphere.py", "math.nextafter(nearest, 0.0)", "math.nextafter(nearest, 1.0)"),
        by="tests/kernel/calibration/test_subspace.py::TestLaws::test_the_float_that_is_drawn_with_is_not_above",
    ),
    "a value of a peel that was given up": mutant(
        ("kernel/peel.py", "if self._closed or self._taken ==", "if self._taken =="),
        by=TEST_SPECTRAL + "TestPeel::test_a_run_that_was_given_up_answers_nothing",
    ),
    "a peel that is closed again after an interrupt": mutant(
        ("kernel/peel.py", "self._closed = True\n        rows = self._directions()", "rows = self._directions()"),
        by=TEST_SPECTRAL + "TestPeel::test_a_record_that_was_interrupted_is_not_made_again",
    ),
    "analytic noise whatever its difference": mutant(
        (CALIBRATED, "float(budget.delta) / 100", "float(budget.delta) * 100"),
        by=TEST_CALIBRATED + "where_the_difference_is_a_hundredth_of_delta",
    ),
    "analytic noise of fewer steps": mutant(
        (CALIBRATED, "smallest >= 1000", "smallest >= 950"), by=TEST_CALIBRATED + "from_a_thousand_steps_on"
    ),
    "noises that are a list": mutant(
        ("kernel/questions/choices.py", "known = type(self.noises) is tuple and all(", "known = all("),
        by="tests/kernel/laws/test_choices.py::TestBias::test_other_noises_are_refused",
    ),
    "a basis of other rows": mutant((DERIVED, " or basis.shape != (d, count)", ""), by=OF_THE_STATED_SIZE),
    "a basis of no columns": mutant((DERIVED, "if not 1 <= count <= d", "if not 0 <= count <= d"), by=OF_THE_STATED_SIZE),
    "a trace that writes into the rows": mutant(
        (
            "kernel/questions/norms.py",
            'scratch: bool = False) -> Integers:\n        """Add up the squared norms',
            'scratch: bool = True) -> Integers:\n        """Add up the squared norms',
        ),
        by="tests/kernel/laws/test_norms.py::TestTrace::test_rows_are_left_as_they_are",
    ),
    "ranges of which one is of integers": mutant(
        (
            "kernel/questions/table.py",
            "ints = type(self.ranges) is tuple and all(",
            "ints = type(self.ranges) is tuple and any(",
        ),
        by="tests/kernel/laws/test_table.py::TestColumnMoments::test_other_ranges_are_refused",
    ),
    "a mean without rows": mutant(
        ("kernel/rows/centring.py", "else np.zeros(len(lifted) - 1)", "else np.ones(len(lifted) - 1)"),
        by="tests/kernel/laws/test_centring.py::test_a_noisy_number_of_rows_below_one_has_its_mean_in_the_middle",
    ),
    "a box that cuts": mutant(
        (FRAMES, "np.rint(np.clip(self.placed(rows)", "np.trunc(np.clip(self.placed(rows)"),
        by=TEST_FRAMES + "test_a_box_rounds_to_the_nearest_integer",
    ),
    "a ball that cuts the corners of its box": mutant(
        (FRAMES, "columns = math.ceil(math.log2(d))", "columns = math.floor(math.log2(d))"),
        by=TEST_FRAMES + "TestEllipsoid::test_the_corner_of_the_box_is_inside_the_ball",
    ),
    "a clip that ends on the sphere": mutant(
        ("kernel/rows/grid.py", "SHRINK = 1 - 2.0**-40", "SHRINK = 1 + 2.0**-40"),
        by="tests/kernel/laws/test_grid.py::test_clipped_rows_end_strictly_inside[1]",
    ),
    "room for more people than are usual": mutant(
        ("kernel/rows/aside.py", "USUAL_PEOPLE = 2**26", "USUAL_PEOPLE = 2**30"),
        by="tests/kernel/test_public_limits.py::test_there_is_room_for_2_to_the_26_people_unless_more_are_expected",
    ),
    "rows that are finite in the place of those that are not": mutant(
        ("kernel/rows/lengths.py", "batched(~np.isfinite(squares))", "batched(np.isfinite(squares))"),
        by="tests/kernel/laws/test_norms.py::TestBins::test_only_rows_at_a_radius_need_fractions",
    ),
    "a corner too many": mutant(
        (
            "kernel/questions/groups.py",
            "integers[: self.count * self.d : self.d]",
            "integers[: self.count * self.d + 1 : self.d]",
        ),
        by="tests/kernel/laws/test_groups.py::TestPrivateNumberOfRows::test_a_centred_moment_tells_it_by_all_corners_together",
    ),
    "a whitener of negative numbers that is refused": mutant(
        (FRAMES, "largest = np.abs(whitener).max()", "largest = whitener.max()"),
        by=TEST_FRAMES + "TestEllipsoid::test_a_mirrored_whitener_mirrors_the_integers",
    ),
    "floats that are sure too soon": mutant(
        ("kernel/rows/lengths.py", "SURE = 2.0**-36", "SURE = 2.1**-36"),
        by="tests/kernel/laws/test_norms.py::test_floats_decide_only_where_twice_their_error_does_not_matter",
    ),
    "a cell that is no level and counts as the last": mutant(
        (STANDARD, "if len(self.shares) > max(self.groups) + 1 else", "if len(self.shares) <= max(self.groups) + 1 else"),
        by="tests/kernel/laws/test_table.py::TestLevelUnits::test_a_cell_that_is_none_of_them_is_the_mean_or_a_group_of_its_own[two]",
    ),
    "an underflow that a caller is told of": mutant(
        (
            STANDARD,
            'with np.errstate(all="ignore"):\n            for (column, _), units in zip(self.columns.numeric',
            "if True:\n            for (column, _), units in zip(self.columns.numeric",
        ),
        by="tests/kernel/laws/test_table.py::TestStandard::test_what_underflows_raises_nothing",
    ),
}
