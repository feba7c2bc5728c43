"""Planted bugs in how rows become integers."""

from __future__ import annotations

from tests.mutation.form import mutant

ANNULUS = "kernel/rows/annulus.py"
FRAMES = "kernel/rows/frames.py"
GRID = "kernel/rows/grid.py"
STANDARD = "kernel/rows/standard.py"

TEST_AUDIT = "tests/audit/test_audit.py::"
TEST_CENTRING = "tests/audit/test_centring.py::"
TEST_AUDIT_FRAMES = "tests/audit/test_frames.py::"
TEST_CALIBRATION_FRAMES = "tests/kernel/calibration/test_frames.py::"
TEST_ANNULUS = "tests/kernel/laws/test_annulus.py::"
TEST_LAWS_FRAMES = "tests/kernel/laws/test_frames.py::"
TEST_GRID = "tests/kernel/laws/test_grid.py::"
TEST_TABLE = "tests/kernel/laws/test_table.py::"
TEST_COINPRESS = "tests/mechanisms/test_coinpress.py::"
TEST_FORGED = "tests/release/test_forged.py::"
COSTS_MORE = "tests/audit/test_standardized.py::TestReplay::test_no_answer_costs_more_than_its_charge"
UNITS = TEST_TABLE + "TestUnits::"
BOTH = TEST_COINPRESS + "TestUnderNoise::test_they_are_undone_from_both_sides"
TRUTH = TEST_COINPRESS + "TestWithoutNoise::test_the_truth_comes_back"
FORGED = TEST_FORGED + "test_a_forged_file_is_refused"

PRODUCT = "            y = np.rint(np.ldexp(z @ self._matrix.T, -self._exponent))\n"

PLANTED = {
    "the annulus with tau for its square": mutant(
        (ANNULUS, "int(self.one**2 * ratio**2)", "int(self.one**2 * ratio)"),
        by=TEST_ANNULUS + "TestBounds::test_the_reach_is_the_difference_of_squares",
    ),
    "rows of the annulus not verified": mutant(
        (ANNULUS, "longer.far), self.reach, out=", "longer.far), self.one**2, out="),
        by=TEST_ANNULUS + "TestBounds::test_a_row_that_still_breaks_the_bound_is_dropped",
    ),
    "what clipping leaves counted as taken": mutant(
        (ANNULUS, " - radius * self.ratio", ""), by=TEST_ANNULUS + "TestWhole::test_the_two_make_the_whole"
    ),
    "columns of pairs": mutant(
        ("kernel/rows/encoding.py", "self.midpoints and not self.pairs and", "self.midpoints and"),
        by=TEST_TABLE + "TestDoor::test_of_rows_that_are_encoded_otherwise_it_is_not[pairs-histograms]",
    ),
    "a float product in place of integers": mutant(
        (FRAMES, PRODUCT, "            y = np.rint((rows - np.array(self.centre)) @ self.whitener.T * self.one)\n"),
        by=(
            TEST_LAWS_FRAMES + "TestLocality::test_integers_depend_on_their_row_alone[13-ellipsoid]",
            TEST_LAWS_FRAMES + "TestEllipsoid::test_it_equals_its_four_steps_in_fractions[5-ellipsoid]",
        ),
    ),
    "a whitener that a file does not hold": mutant(
        (FRAMES, "            wanted = kept\n", "            break\n"),
        by=TEST_LAWS_FRAMES + "TestEllipsoid::test_a_whitener_is_read_as_it_was_asked[0.9999999981373549]",
    ),
    "a whitener transposed": mutant(
        (FRAMES, "z @ self._matrix.T", "z @ self._matrix"),
        by=(
            TEST_LAWS_FRAMES + "TestEllipsoid::test_it_equals_its_four_steps_in_fractions[5-ellipsoid]",
            TEST_LAWS_FRAMES + "TestEllipsoid::test_it_is_the_map_clipped_to_norm_one",
            TEST_LAWS_FRAMES + "TestFrame::test_a_point_has_the_coordinates_that_it_was_made_from[ellipsoid]",
        ),
    ),
    "the ellipsoid's clip left out": mutant(
        (FRAMES, "        return STEPS.encode(y, scratch=True)\n", "        return np.asarray(y)\n"),
        by=(
            TEST_LAWS_FRAMES + "TestBounds::test_rows_stay_inside[2-ellipsoid]",
            TEST_CALIBRATION_FRAMES + "TestSensitivity::test_some_neighbours_move_as_far[replace-2-sum, ellipsoid]",
            TEST_AUDIT_FRAMES + "TestMeans::test_pairs_cost_what_was_charged_and_no_more[coinpress, matrix-zCDP-replace]",
        ),
    ),
    "the box's clip left out": mutant(
        (FRAMES, "np.clip(self.placed(rows), -1.0, 1.0) * self.one", "self.placed(rows) * self.one"),
        by=TEST_LAWS_FRAMES + "TestBounds::test_rows_stay_inside[2-box]",
    ),
    "the fine grid's clip left out": mutant(
        (
            FRAMES,
            "z = self._fine.encode(placed, scratch=True)",
            "z = np.rint(np.where(np.isfinite(placed), placed, 0.0) * (self._fine.one / self._fine.row_norm))",
        ),
        by=TEST_LAWS_FRAMES + "TestEllipsoid::test_it_equals_its_four_steps_in_fractions[5-ellipsoid]",
    ),
    "a whitener of too many bits": mutant(
        (FRAMES, "WHITENER_BITS = 26", "WHITENER_BITS = 30"),
        by=TEST_LAWS_FRAMES + "TestBounds::test_products_of_integers_are_exact",
    ),
    "a fine grid of too many bits": mutant(
        (FRAMES, "(EXACT_BITS - columns) // 2", "EXACT_BITS // 2"),
        by=TEST_LAWS_FRAMES + "TestBounds::test_products_of_integers_are_exact[500]",
    ),
    "the whitener that was asked for recorded": mutant(
        (FRAMES, '("whitener", kept)', '("whitener", self.whitener)'),
        by=(
            TEST_LAWS_FRAMES + "TestEllipsoid::test_it_equals_its_four_steps_in_fractions[5-ellipsoid]",
            TEST_LAWS_FRAMES + "TestEllipsoid::test_the_recorded_whitener_is_near_the_one_asked_for",
        ),
    ),
    "a box as small as a ball": mutant(
        (FRAMES, "return len(self.centre) * self.one**2", "return self.one**2"),
        by=(
            TEST_CALIBRATION_FRAMES + "TestSensitivity::test_it_is_that_of_the_table[replace-2-sum, box]",
            TEST_CALIBRATION_FRAMES + "TestSensitivity::test_some_neighbours_move_as_far[add-remove-5-sum, box]",
            TEST_AUDIT_FRAMES + "TestMeans::test_pairs_cost_what_was_charged_and_no_more[coordinatewise-zCDP-replace]",
        ),
    ),
    "missing entries of a box kept": mutant(
        (FRAMES, "np.where(np.isfinite(rows), y, 0.0)", "np.asarray(y)"),
        by=(
            TEST_LAWS_FRAMES + "TestLocality::test_missing_entries_count_as_the_centres[box]",
            "tests/kernel/laws/test_bins.py::TestBins::test_bins_are_equal_and_hold_their_lower_ends",
        ),
    ),
    "a covariance led back by the transposed factor": mutant(
        (FRAMES, "back @ matrix @ back.T", "back.T @ matrix @ back"),
        by=TEST_LAWS_FRAMES + "TestFrame::test_shape_and_unwhitener_lead_back[ellipsoid]",
    ),
    "a whitener undone from one side": mutant(
        (FRAMES, "moved = back @ matrix @ back.T", "moved = back @ matrix"), by=(BOTH, TRUTH)
    ),
    "a whitener undone by its transpose": mutant(
        (FRAMES, "moved = back @ matrix @ back.T", "moved = back.T @ matrix @ back"), by=(BOTH, TRUTH + "[5]")
    ),
    "rounding left out of a proof's check": mutant(
        (FRAMES, "return super().rounding + fine *", "return super().rounding + 0 * fine *"),
        by="tests/mechanisms/test_coinpress_proved_rounds.py::test_rounding_is_bounded",
    ),
    "coordinates with a label that no file has": mutant(
        (FRAMES, "not 0 < deviations < LARGEST", "not deviations < 10 * LARGEST"),
        by=TEST_LAWS_FRAMES + "test_labels_are_those_that_a_file_can_have",
    ),
    "clip after sum": mutant(
        (GRID, "shrunk(found.rows, found.norms, self.radius_squared)", "found.rows"),
        ("kernel/questions/moments.py", "(z.T @ z).astype", "np.clip(z.T @ z, -len(z) * 2.0**32, len(z) * 2.0**32).astype"),
        by=(
            TEST_AUDIT + "test_replay_of_wild_rows",
            "tests/kernel/laws/test_moments.py::test_sums_equal_those_of_python_integers",
        ),
    ),
    "NaN passes the clip": mutant(
        (GRID, "x = np.where(np.isfinite(x), x, 0.0)", "x = np.where(np.isinf(x), 0.0, x)"),
        (GRID, "out[~(squared_norms(out) <= radius_squared)]", "out[squared_norms(out) > radius_squared]"),
        by=(TEST_AUDIT + "test_replay_of_wild_rows", TEST_GRID + "test_any_floats_become_integers_inside_the_ball"),
    ),
    "infinity passes as the largest value": mutant(
        (GRID, "x = np.where(np.isfinite(x), x, 0.0)", "x = np.nan_to_num(x)"),
        by=TEST_GRID + "test_rows_that_are_not_finite_lose_only_those_entries",
    ),
    "the last check is loose": mutant(
        (GRID, "out[~(squared_norms(out) <= radius_squared)]", "out[squared_norms(out) > radius_squared * 1.1]"),
        by=TEST_GRID + "test_shrink_zeroes_a_row_that_still_breaks_the_bound",
    ),
    "centred rows in the whole ball": mutant(
        (GRID, "return self.one**2 - self.constant**2", "return self.one**2"),
        by=(
            TEST_CENTRING + "test_one_question_never_costs_more_than_was_charged",
            "tests/kernel/laws/test_centring.py::test_any_floats_keep_the_constant_and_stay_in_the_ball",
        ),
    ),
    "a constant that depends on the row": mutant(
        (GRID, "z[:, : self.center] = self.constant", "z[:, : self.center] = self.constant * np.isfinite(rows[:, :1])"),
        by=TEST_CENTRING + "test_the_corner_never_depends_on_a_row",
    ),
    "columnar norms leave a column out": mutant(
        (GRID, 'np.einsum("ij,ij->i", x, x)', 'np.einsum("ij,ij->i", x[:, 1:], x[:, 1:])'),
        by=(
            TEST_GRID + "test_scratch_rows_give_the_same_integers",
            "tests/sources/test_same_integers.py::test_without_a_schema_every_container_of_numbers_is_its_array",
        ),
    ),
    "rows clipped at twice the radius of their noise": mutant(
        (GRID, "batched((norms > self.radius_squared) | far)", "batched((norms > 4 * self.radius_squared) | far)"),
        by=TEST_GRID + "test_rows_near_the_boundary_end_inside_the_ball",
    ),
    "norms without their highest digits": mutant(
        ("kernel/rows/lengths.py", "for place in range(3)]", "for place in (0, 1, 1)]"),
        by="tests/kernel/laws/test_norms.py::TestBins::test_exact_integers_count_as_fractions_do",
    ),
    "missing cells at the middle of the bounds": mutant(
        (
            STANDARD,
            "yield np.where(np.isfinite(z), z, 0.0)",
            "yield np.where(np.isfinite(z), z, -units.centre / units.deviation)",
        ),
        by=(UNITS + "test_missing_cells_are_the_centre", UNITS + "test_each_cell_has_its_own_coordinates"),
    ),
    "rows that are not clipped to ranges": mutant(
        (STANDARD, "np.clip(rows[:, column], units.low, units.high)", "rows[:, column]"),
        by=UNITS + "test_numbers_are_clipped_to_their_range",
    ),
    "rows in private units that are not clipped": mutant(
        (
            STANDARD,
            "return self._grid.encode(self.placed(rows), scratch=True)",
            "return np.rint(self.placed(rows) / self.row_norm * self.one)",
        ),
        by=(
            TEST_TABLE + "TestStandard::test_any_floats_become_integers_inside_the_ball",
            TEST_TABLE + "test_neighbours_move_no_further_than_the_sensitivity[second moment-replace]",
        ),
    ),
    "a corner that is not scaled with its row": mutant(
        (
            STANDARD,
            "return self._grid.encode(self.placed(rows), scratch=True)",
            "z = self._grid.encode(self.placed(rows), scratch=True)\n"
            "        z[:, :1] = np.rint(self.corner / self.row_norm * self.one)\n"
            "        return z",
        ),
        by=(
            TEST_TABLE + "TestStandard::test_a_long_row_is_scaled_as_a_whole",
            TEST_TABLE + "TestStandard::test_any_floats_become_integers_inside_the_ball",
        ),
    ),
    "levels that are not centred": mutant(
        (STANDARD, "plain = (np.eye(len(shares)) - shares) * inward", "plain = np.eye(len(shares)) * inward"),
        by=(
            TEST_TABLE + "TestLevelUnits::test_the_mean_is_the_origin[several]",
            TEST_TABLE + "TestLevelUnits::test_vectors_are_as_the_formula_says[several]",
        ),
    ),
    "a basis that is not orthogonal to the divisors": mutant(
        (STANDARD, "mirror = np.array(self.divisors) / norm", "mirror = np.array(self.shares) / norm"),
        by=TEST_TABLE + "TestLevelUnits::test_the_basis_is_orthonormal_and_orthogonal_to_the_divisors[several]",
    ),
    "a table of products of matrices": mutant(
        (
            STANDARD,
            "of_group = (self.stretch * (plain - np.outer(along, self._mirror) / self._mirror[0]))[:, 1:]",
            "of_group = self.stretch * plain @ self.basis",
        ),
        by=TEST_TABLE + "TestLevelUnits::test_the_table_is_made_elementwise",
    ),
    "cells of no level at the mean, whose share is counted": mutant(
        (STANDARD, "none = of_group[-1:] if", "none = 0 * of_group[-1:] if"),
        by=(
            TEST_TABLE + "TestLevelUnits::test_a_cell_that_is_none_of_them_is_the_mean_or_a_group_of_its_own[none of them]",
            TEST_TABLE + "TestLevelUnits::test_the_mean_is_the_origin[none of them]",
        ),
    ),
    "lengths of levels without their last coordinate": mutant(
        (STANDARD, "for coordinate in self.vectors.T:", "for coordinate in self.vectors.T[:-1]:"),
        by=(
            UNITS + "test_squares_are_those_of_the_coordinates",
            TEST_TABLE + "TestLevelUnits::test_lengths_are_those_of_the_vectors[pooled]",
        ),
    ),
    "shares that sum to anything": mutant(
        (STANDARD, "abs(sum(self.shares) - 1) > 1e-9", "False"),
        by=(TEST_TABLE + "TestRefusals::test_other_units_of_levels", FORGED + "[units that are none]"),
    ),
    "ranges beyond the bounds": mutant(
        (STANDARD, "known and -1 <= self.low <= self.centre <= self.high <= 1 and self.low < self.high", "known"),
        by=(TEST_TABLE + "TestRefusals::test_other_units_of_numbers", FORGED + "[units that are none]"),
    ),
    "a corner as long as the radius": mutant(
        (STANDARD, "not 0 <= self.corner < self.row_norm", "not 0 <= self.corner <= self.row_norm"),
        by=(TEST_TABLE + "TestRefusals::test_another_corner", FORGED + "[a corner that is none]"),
    ),
    "a constant that is not scaled with its row": mutant(
        (
            STANDARD,
            "return self._grid.encode(self.placed(rows), scratch=True)",
            "z = self._grid.encode(self.placed(rows), scratch=True)\n"
            "        z[:, : int(self.corner > 0)] = np.rint(self.one * self.corner / self.row_norm)\n"
            "        return z",
        ),
        by=COSTS_MORE + "[ZCDP(rho=8)-end to end-add-remove]",
    ),
    "missing cells of a table at the middle of the bounds": mutant(
        (
            STANDARD,
            "yield np.where(np.isfinite(z), z, 0.0)",
            "yield np.where(np.isfinite(z), z, -units.centre / units.deviation)",
        ),
        by="tests/mechanisms/test_standardized.py::TestUnits::test_missing_cells_are_at_the_private_centre",
    ),
}
