"""Planted bugs in frames, bins, ranks, priors and pairs: edits, and the tests that must fail because of them."""

from __future__ import annotations

Edits = list[tuple[str, str, str]]

FRAMES, BINS, PAIRED = (
    "tests/kernel/laws/test_frames.py::",
    "tests/kernel/laws/test_bins.py::",
    "tests/sources/test_paired.py::",
)
CALIBRATION, AUDIT = "tests/kernel/calibration/test_frames.py::", "tests/audit/test_frames.py::"
PRODUCT = "            y = np.rint(np.ldexp(z @ self._matrix.T, -self._exponent))\n"

PLANTED: dict[str, tuple[Edits, tuple[str, ...]]] = {
    "a float product in place of integers": (
        [
            (
                "kernel/rows/frames.py",
                PRODUCT,
                "            y = np.rint((rows - np.array(self.centre)) @ self.whitener.T * self.one)\n",
            )
        ],
        (
            FRAMES + "TestLocality::test_integers_depend_on_their_row_alone[13-ellipsoid]",
            FRAMES + "TestEllipsoid::test_it_equals_its_four_steps_in_fractions[5-ellipsoid]",
        ),
    ),
    "a whitener that a file does not hold": (
        [("kernel/rows/frames.py", "            wanted = kept\n", "            break\n")],
        (FRAMES + "TestEllipsoid::test_a_whitener_is_read_as_it_was_asked[0.9999999981373549]",),
    ),
    "a whitener transposed": (
        [("kernel/rows/frames.py", "z @ self._matrix.T", "z @ self._matrix")],
        (
            FRAMES + "TestEllipsoid::test_it_equals_its_four_steps_in_fractions[5-ellipsoid]",
            FRAMES + "TestEllipsoid::test_it_is_the_map_clipped_to_norm_one",
            FRAMES + "TestFrame::test_a_point_has_the_coordinates_that_it_was_made_from[ellipsoid]",
        ),
    ),
    "the ellipsoid's clip left out": (
        [("kernel/rows/frames.py", "        return STEPS.encode(y, scratch=True)\n", "        return np.asarray(y)\n")],
        (
            FRAMES + "TestBounds::test_rows_stay_inside[2-ellipsoid]",
            CALIBRATION + "TestSensitivity::test_some_neighbours_move_as_far[replace-2-sum, ellipsoid]",
            AUDIT + "TestMeans::test_pairs_cost_what_was_charged_and_no_more[coinpress, matrix-zCDP-replace]",
        ),
    ),
    "the box's clip left out": (
        [("kernel/rows/frames.py", "np.clip(self.placed(rows), -1.0, 1.0) * self.one", "self.placed(rows) * self.one")],
        (FRAMES + "TestBounds::test_rows_stay_inside[2-box]",),
    ),
    "the fine grid's clip left out": (
        [
            (
                "kernel/rows/frames.py",
                "z = self._fine.encode(placed, scratch=True)",
                "z = np.rint(np.where(np.isfinite(placed), placed, 0.0) * (self._fine.one / self._fine.row_norm))",
            )
        ],
        (FRAMES + "TestEllipsoid::test_it_equals_its_four_steps_in_fractions[5-ellipsoid]",),
    ),
    "a whitener of too many bits": (
        [("kernel/rows/frames.py", "WHITENER_BITS = 26", "WHITENER_BITS = 30")],
        (FRAMES + "TestBounds::test_products_of_integers_are_exact",),
    ),
    "a fine grid of too many bits": (
        [("kernel/rows/frames.py", "(EXACT_BITS - columns) // 2", "EXACT_BITS // 2")],
        (FRAMES + "TestBounds::test_products_of_integers_are_exact[500]",),
    ),
    "the whitener that was asked for recorded": (
        [("kernel/rows/frames.py", '("whitener", kept)', '("whitener", self.whitener)')],
        (
            FRAMES + "TestEllipsoid::test_it_equals_its_four_steps_in_fractions[5-ellipsoid]",
            FRAMES + "TestEllipsoid::test_the_recorded_whitener_is_near_the_one_asked_for",
        ),
    ),
    "a box as small as a ball": (
        [("kernel/rows/frames.py", "return len(self.centre) * self.one**2", "return self.one**2")],
        (
            CALIBRATION + "TestSensitivity::test_it_is_that_of_the_table[replace-2-sum, box]",
            CALIBRATION + "TestSensitivity::test_some_neighbours_move_as_far[add-remove-5-sum, box]",
            AUDIT + "TestMeans::test_pairs_cost_what_was_charged_and_no_more[coordinatewise-zCDP-replace]",
        ),
    ),
    "sums of a box with the noise of a ball": (
        [
            (
                "kernel/questions/moments.py",
                "{REPLACE: 4, ADD_REMOVE: 1}[neighbors] * self.grid.reach",
                "{REPLACE: 4, ADD_REMOVE: 1}[neighbors] * self.grid.one**2",
            )
        ],
        (
            CALIBRATION + "TestSensitivity::test_some_neighbours_move_as_far[replace-2-sum, box]",
            AUDIT + "TestMeans::test_pairs_cost_what_was_charged_and_no_more[karwa-vadhan-zCDP-add-remove]",
        ),
    ),
    "missing entries of a box kept": (
        [("kernel/rows/frames.py", "np.where(np.isfinite(rows), y, 0.0)", "np.asarray(y)")],
        (
            FRAMES + "TestLocality::test_missing_entries_count_as_the_centres[box]",
            BINS + "TestBins::test_bins_are_equal_and_hold_their_lower_ends",
        ),
    ),
    "a covariance led back by the transposed factor": (
        [("kernel/rows/frames.py", "back @ matrix @ back.T", "back.T @ matrix @ back")],
        (FRAMES + "TestFrame::test_shape_and_unwhitener_lead_back[ellipsoid]",),
    ),
    "bins of one column only": (
        [
            (
                "kernel/questions/bins.py",
                "return {REPLACE: 2, ADD_REMOVE: 1}[neighbors] * self.d",
                "return {REPLACE: 2, ADD_REMOVE: 1}[neighbors]",
            )
        ],
        (
            BINS + "TestBins::test_the_bounds_are_attained[2]",
            CALIBRATION + "TestSensitivity::test_it_is_that_of_the_table[replace-2-bins]",
            AUDIT + "TestMeans::test_pairs_cost_what_was_charged_and_no_more[karwa-vadhan-zCDP-replace]",
        ),
    ),
    "bins of one column only, in absolute values": (
        [("kernel/questions/bins.py", "Fraction({REPLACE: 2, ADD_REMOVE: 1}[neighbors] * self.d)", "Fraction(2)")],
        (
            BINS + "TestBins::test_the_bounds_are_attained[2]",
            AUDIT + "TestMeans::test_pairs_cost_what_was_charged_and_no_more[karwa-vadhan-pure-replace]",
        ),
    ),
    "a rank of the wrong sign": (
        [
            (
                "kernel/questions/choices.py",
                "np.minimum(rows - running[:-1], running[1:] - rows)",
                "np.minimum(running[:-1] - rows, rows - running[1:])",
            )
        ],
        (
            BINS + "TestRank::test_a_score_is_minus_the_rows_in_the_wrong_place",
            "tests/kernel/distribution/test_rank.py::test_choices_have_their_law[rank, pure]",
        ),
    ),
    "a rank that counts a row twice": (
        [("kernel/questions/choices.py", "running[1:] - rows)", "2 * (running[1:] - rows))")],
        (
            BINS + "TestRank::test_one_row_moves_each_score_by_at_most_one",
            AUDIT + "TestMeans::test_pairs_cost_what_was_charged_and_no_more[symq-pure-replace]",
        ),
    ),
    "the rank of the first column": (
        [("kernel/questions/bins.py", "self.bins.count)[self.column]", "self.bins.count)[0]")],
        ("tests/kernel/distribution/test_rank.py::test_choices_have_their_law[rank, the other column]",),
    ),
    "choices at twice the rate": (
        [
            (
                "kernel/curator.py",
                "Exponential(min(exponential_rate(budget), MAX_RATE))",
                "Exponential(2 * exponential_rate(budget))",
            )
        ],
        (
            "tests/kernel/distribution/test_rank.py::test_choices_have_their_law[rank, zCDP]",
            AUDIT + "TestMeans::test_pairs_cost_what_was_charged_and_no_more[symq-zCDP-add-remove]",
        ),
    ),
    "a prior that is ignored": (
        [("kernel/questions/choices.py", "        if self.prior == ():\n", "        if True:\n")],
        (
            "tests/kernel/distribution/test_rank.py::test_choices_have_their_law[prior]",
            BINS + "TestPrior::test_it_is_the_weights_and_changes_no_score",
        ),
    ),
    "norms of a ball seen from 0": (
        [("kernel/questions/norms.py", "longer_than(self.grid.placed(rows), radii", "longer_than(rows, radii")],
        (BINS + "TestNorms::test_norms_are_seen_from_the_centre[2]",),
    ),
    "a trace in a box": (
        [
            ("kernel/questions/norms.py", "frames import Ball, Ellipsoid", "frames import Ball, Box, Ellipsoid"),
            ("kernel/questions/norms.py", "(Grid, Ball, Ellipsoid)", "(Grid, Ball, Box, Ellipsoid)"),
        ],
        (BINS + "TestDoor::test_what_is_not[trace of a box]",),
    ),
    "a frame of other columns": (
        [("kernel/questions/measure.py", "d == public.d == len(rows.centre)", "d == public.d")],
        (BINS + "TestDoor::test_what_is_not[a longer centre]",),
    ),
    "a row that waits for no partner": (
        [("sources/paired.py", "self._waiting.append(rows[end:].copy())", "pass")],
        (PAIRED + "TestSums::test_arrays_in_blocks_of_any_size[3-41]",),
    ),
    "a waiting row that is overwritten": (
        [("sources/paired.py", "self._waiting.append(rows[end:].copy())", "self._waiting.append(rows[end:])")],
        (PAIRED + "TestSums::test_every_container[arrow-3-41]",),
    ),
    "pairs of twice the covariance": (
        [("sources/paired.py", "HALF = 1 / math.sqrt(2)", "HALF = 1.0")],
        (PAIRED + "TestSums::test_arrays_in_blocks_of_any_size[2-40]",),
    ),
    "pairs where rows are added": (
        [("sources/paired.py", "        if neighbors != REPLACE:\n", "        if False:\n")],
        (PAIRED + "TestRefusals::test_before_anything_is_read",),
    ),
    "pairs of a stream": (
        [("sources/paired.py", "        if not source.ordered:\n", "        if False:\n")],
        (PAIRED + "TestRefusals::test_streams_and_queries",),
    ),
}
