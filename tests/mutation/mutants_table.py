"""Planted bugs in what is asked of the columns of a table, in private units, and in choices among very many candidates."""

from __future__ import annotations

Edits = list[tuple[str, str, str]]

TABLE, STANDARD, COLUMNS = "kernel/questions/table.py", "kernel/rows/standard.py", "kernel/rows/columns.py"
CHOICE, DISCRETE, SUMS = "kernel/noise/choice.py", "kernel/noise/discrete.py", "kernel/sums.py"
MEASURE, FILING, ARROW, KEPT = (
    "kernel/questions/measure.py",
    "kernel/questions/filing.py",
    "sources/arrow.py",
    "sources/kept.py",
)

LAWS, CALIBRATED = "tests/kernel/laws/test_table.py::", "tests/kernel/calibration/test_table.py::"
MANY, BY_COLUMN = "tests/kernel/distribution/test_choice_many.py::", "tests/sources/test_by_column.py::"
FORGED = "tests/release/test_forged.py::test_a_forged_file_is_refused"
MOVED = LAWS + "test_neighbours_move_no_further_than_the_sensitivity"
CLOSED, EXACTLY = CALIBRATED + "TestClosedForms::test_sensitivities_are_what_was_proved", CALIBRATED + "TestExactly::"
FURTHER = LAWS + "TestColumnMoments::test_no_pair_of_cells_moves_them_further"
MOMENTS, INTERVAL, UNITS = LAWS + "TestColumnMoments::", LAWS + "TestInterval::", LAWS + "TestUnits::"
OF_BINS = "{REPLACE: 2, ADD_REMOVE: 1}[neighbors] * len(self.columns.numeric)"
OF_LEVELS = "{REPLACE: 2, ADD_REMOVE: 1}[neighbors] * len(self.columns.levels)"
MIDDLES = "np.sign(odd) * ((np.abs(odd) << MOMENT_BITS) // wide)"

TABLE_MUTANTS: dict[str, tuple[Edits, tuple[str, ...]]] = {
    # sensitivities
    "bins that move by one where a cell is replaced": (
        [(TABLE, OF_BINS, "len(self.columns.numeric)")],
        (LAWS + "TestHistograms::test_the_bounds_are_attained[replace]", CLOSED + "[bins, replaced]"),
    ),
    "bins of one column": (
        [(TABLE, OF_BINS, "{REPLACE: 2, ADD_REMOVE: 1}[neighbors]")],
        (LAWS + "TestHistograms::test_the_bounds_are_attained[add-remove]", MOVED + "[histograms-replace]"),
    ),
    "levels that move by one where a cell is replaced": (
        [(TABLE, OF_LEVELS, "len(self.columns.levels)")],
        (LAWS + "TestLevelCounts::test_the_bounds_are_attained[replace]", CLOSED + "[levels, replaced]"),
    ),
    "levels of one column": (
        [(TABLE, OF_LEVELS, "{REPLACE: 2, ADD_REMOVE: 1}[neighbors]")],
        (LAWS + "TestLevelCounts::test_the_bounds_are_attained[add-remove]",),
    ),
    "moments in L1 5 percent too small where a cell is replaced": (
        [(TABLE, "max(Fraction(9, 4) * ONE + 1, appears)", "max(Fraction(171, 80) * ONE + 1, appears)")],
        (FURTHER + "[0-replace]", CLOSED + "[numbers, replaced]"),
    ),
    "moments in L1 5 percent too small where a cell appears": (
        [(TABLE, "appears = Fraction(2 * ONE + weight)", "appears = Fraction(19 * (2 * ONE + weight), 20)")],
        (FURTHER + "[16384-add-remove]", EXACTLY + "test_moments[0]"),
    ),
    "moments in L2 5 percent too small where a cell is replaced": (
        [(TABLE, "max(4 * ONE**2 + 2 * ONE + 1, appears)", "max(4 * ONE**2 * 19 // 20, appears)")],
        (FURTHER + "[0-replace]", CLOSED + "[numbers, replaced]"),
    ),
    "moments in L2 5 percent too small where a cell appears": (
        [(TABLE, "appears: int = 2 * ONE**2 + weight**2", "appears: int = (2 * ONE**2 + weight**2) * 19 // 20")],
        (FURTHER + "[32768-add-remove]", EXACTLY + "test_moments[0]"),
    ),
    "the cells that are there left out in L1": (
        [(TABLE, "appears = Fraction(2 * ONE + weight)", "appears = Fraction(2 * ONE)")],
        (FURTHER + "[16384-add-remove]", FURTHER + "[92681-replace]"),
    ),
    "the cells that are there left out in L2": (
        [(TABLE, "appears: int = 2 * ONE**2 + weight**2", "appears: int = 2 * ONE**2")],
        (FURTHER + "[32768-add-remove]", EXACTLY + f"test_moments[{2**17}]"),
    ),
    "no room for a square that is rounded down": (
        [(TABLE, "max(4 * ONE**2 + 2 * ONE + 1, appears)", "max(4 * ONE**2, appears)")],
        (EXACTLY + "test_moments[0]",),
    ),
    "columns of which the largest counts": (
        [
            (
                TABLE,
                "return sum(_cell_squared(one.weight, neighbors) for one in self.ranges)",
                "return max(_cell_squared(one.weight, neighbors) for one in self.ranges)",
            )
        ],
        (MOMENTS + "test_columns_add_up[replace]", CLOSED + "[three columns, added]"),
    ),
    # what is counted
    "squares that are not those of the rounded cells": (
        [(TABLE, "(cells * cells) >> MOMENT_BITS", "np.rint((odd / wide) ** 2 * ONE).astype(np.int64)")],
        (MOMENTS + "test_each_bin_of_a_range_counts_as_its_middle[3-40]",),
    ),
    "cells that are rounded away from the middle": (
        [(TABLE, MIDDLES, "np.sign(odd) * -((-np.abs(odd) << MOMENT_BITS) // wide)")],
        (MOMENTS + "test_each_bin_of_a_range_counts_as_its_middle[3-40]",),
    ),
    "cells beyond the range that are left out": (
        [(TABLE, "            inside[0] += counts[: one.low].sum()\n", "")],
        (MOMENTS + "test_each_bin_of_a_range_counts_as_its_middle[3-40]",),
    ),
    "cells that are not clipped to the range": (
        [
            (
                TABLE,
                "            odd = 2 * np.arange(wide, dtype=np.int64) + 1 - wide",
                "            odd = 4 * np.arange(wide, dtype=np.int64) + 2 - 2 * wide",
            )
        ],
        (FURTHER + "[0-replace]", MOVED + "[moments, weight 0-replace]"),
    ),
    "missing cells in the first bin": (
        [(TABLE, "there.ravel().astype(np.int64))", "np.ones(there.size, dtype=np.int64))")],
        (
            LAWS + "TestHistograms::test_bins_hold_their_lower_ends",
            LAWS + "TestHistograms::test_each_cell_is_in_the_bin_that_plain_python_says[4]",
        ),
    ),
    "a bin beyond the last": (
        [(TABLE, "np.clip(steps, 0, self.bins - 1)", "np.clip(steps, 0, self.bins)")],
        (LAWS + "TestHistograms::test_each_cell_is_in_the_bin_that_plain_python_says[4]",),
    ),
    "cells that are not clipped to their bounds": (
        [(COLUMNS, "np.clip(rows[:, self.places] / self.reaches, -1.0, 1.0)", "rows[:, self.places] / self.reaches")],
        (LAWS + "TestHistograms::test_bins_hold_their_lower_ends",),
    ),
    "unknown cells that are the last level": (
        [(COLUMNS, "np.where(known, cells, count).astype(np.intp)", "np.where(known, cells, count - 1).astype(np.intp)")],
        (LAWS + "TestLevelCounts::test_each_cell_is_a_level_or_none", UNITS + "test_missing_cells_are_the_centre"),
    ),
    # intervals
    "intervals without the rule of halves": (
        [(TABLE, "                scores = np.minimum(scores, least - self.rows)\n", "")],
        (
            INTERVAL + "test_scores_are_those_of_a_slow_count[3]",
            INTERVAL + "test_the_best_holds_all_but_some_rows_and_none_of_its_halves_does",
        ),
    ),
    "two halves of three": (
        [
            (
                TABLE,
                "np.minimum(np.minimum(finer[0:-2:2], finer[1:-1:2]), finer[2::2])",
                "np.minimum(finer[0:-2:2], finer[2::2])",
            )
        ],
        (INTERVAL + "test_scores_are_those_of_a_slow_count[5]",),
    ),
    "halves that are added up": (
        [
            (
                TABLE,
                "np.minimum(np.minimum(finer[0:-2:2], finer[1:-1:2]), finer[2::2])",
                "finer[0:-2:2] + finer[1:-1:2] + finer[2::2]",
            )
        ],
        (
            INTERVAL + "test_scores_are_those_of_a_slow_count[3]",
            INTERVAL + "test_one_cell_of_many_rows_as_well[add-remove]",
        ),
    ),
    "scores by twice the rows outside": (
        [(TABLE, "scores = np.minimum(0, self.rows - outside)", "scores = np.minimum(0, self.rows - 2 * outside)")],
        (
            INTERVAL + "test_one_row_moves_each_score_by_at_most_one[add-remove]",
            INTERVAL + "test_one_cell_of_many_rows_as_well[replace]",
        ),
    ),
    "an interval of its neighbour": (
        [(TABLE, "low = (index - self._first(k)) * (wide // 2)", "low = (index - self._first(k)) * wide")],
        (INTERVAL + "test_candidates_are_the_half_overlapping_runs[3]",),
    ),
    "more candidates than there are": (
        [(TABLE, "return self._first(self.octaves + 1)", "return self._first(self.octaves + 1) + 1")],
        (INTERVAL + "test_the_finest", FORGED + "[an index beyond the candidates]"),
    ),
    # choices among many
    "a zero more in a comparison": (
        [(DISCRETE, "margin = margin + zeros * math.log(2)", "margin = margin + (zeros + 1) * math.log(2)")],
        (MANY + "TestCompare::test_by_its_law[False]", MANY + "test_filter_and_exact_path_choose_the_same[all kinds of gaps]"),
    ),
    "a zero less on the exact path": (
        [
            (
                DISCRETE,
                "self._value, self._length, self._bits = word, zeros + 64, bits",
                "self._value, self._length, self._bits = word, zeros + 63, bits",
            )
        ],
        (MANY + "TestCompare::test_by_its_law[True]", MANY + "TestByHand::test_further_words_decide[1/3]"),
    ),
    "no zeros on the exact path": (
        [(DISCRETE, "0 if zeros is None else int(zeros[index])", "0")],
        (
            MANY + "TestCompare::test_words_that_floats_do_not_decide",
            MANY + "test_choices_by_the_exact_path_alone_have_their_law",
        ),
    ),
    "proposals that are no upper bound": (
        [(CHOICE, "np.floor(gamma / math.log(2)) - 1", "np.floor(gamma / math.log(2)) + 1")],
        (MANY + "test_choices_have_their_law[all kinds of gaps]", MANY + "TestByHand::test_one_word_decides[7/5]"),
    ),
    "proposals that are not taken back": (
        [(CHOICE, "gap * rate, bits, first)", "gap * rate, bits)")],
        (MANY + "test_choices_have_their_law[all kinds of gaps]",),
    ),
    "candidates proposed all alike": (
        [(CHOICE, "np.cumsum(np.int64(1) << (MOST_ZEROS - zeros))", "np.cumsum(np.ones(len(zeros), dtype=np.int64))")],
        (MANY + "test_choices_have_their_law[a few among far ones]",),
    ),
    "a place beyond all that is the last candidate": (
        [
            (
                CHOICE,
                "lambda gap, _: gap * rate, bits, first)\n        accepted &= place < ends[-1]\n",
                "lambda gap, _: gap * rate, bits, first)\n",
            )
        ],
        (MANY + "test_a_place_beyond_all_is_no_candidate",),
    ),
    "proposals that the scores tell": (
        [(CHOICE, "words = bits.words(2 * MANY_PROPOSALS)", "words = bits.words(2 * MANY_PROPOSALS + 2 * int(zeros.max()))")],
        (MANY + "test_the_number_of_proposals_is_public[of all scores-1024]",),
    ),
    # private units
    "missing cells at the middle of the bounds": (
        [
            (
                STANDARD,
                "yield np.where(np.isfinite(z), z, 0.0)",
                "yield np.where(np.isfinite(z), z, -units.centre / units.deviation)",
            )
        ],
        (UNITS + "test_missing_cells_are_the_centre", UNITS + "test_each_cell_has_its_own_coordinates"),
    ),
    "rows that are not clipped to ranges": (
        [(STANDARD, "np.clip(rows[:, column], units.low, units.high)", "rows[:, column]")],
        (UNITS + "test_numbers_are_clipped_to_their_range",),
    ),
    "rows in private units that are not clipped": (
        [
            (
                STANDARD,
                "return Grid(self.row_norm).encode(self.placed(rows), scratch=True)",
                "return np.rint(self.placed(rows) / self.row_norm * self.one)",
            )
        ],
        (LAWS + "TestStandard::test_any_floats_become_integers_inside_the_ball", MOVED + "[second moment-replace]"),
    ),
    "a constant that is not scaled with its row": (
        [
            (
                STANDARD,
                "return Grid(self.row_norm).encode(self.placed(rows), scratch=True)",
                "z = Grid(self.row_norm).encode(self.placed(rows), scratch=True)\n"
                "        z[:, :1] = np.rint(self.corner / self.row_norm * self.one)\n"
                "        return z",
            )
        ],
        (
            LAWS + "TestStandard::test_a_long_row_is_scaled_as_a_whole",
            LAWS + "TestStandard::test_any_floats_become_integers_inside_the_ball",
        ),
    ),
    "levels that are not centred": (
        [(STANDARD, "plain = (np.eye(len(shares)) - shares) * inward", "plain = np.eye(len(shares)) * inward")],
        (
            LAWS + "TestLevelUnits::test_the_mean_is_the_origin[several]",
            LAWS + "TestLevelUnits::test_vectors_are_as_the_formula_says[several]",
        ),
    ),
    "a basis that is not orthogonal to the divisors": (
        [(STANDARD, "mirror = np.array(self.divisors) / norm", "mirror = np.array(self.shares) / norm")],
        (LAWS + "TestLevelUnits::test_the_basis_is_orthonormal_and_orthogonal_to_the_divisors[several]",),
    ),
    "a table of products of matrices": (
        [
            (
                STANDARD,
                "of_group = (self.stretch * (plain - np.outer(along, self._mirror) / self._mirror[0]))[:, 1:]",
                "of_group = self.stretch * plain @ self.basis",
            )
        ],
        (LAWS + "TestLevelUnits::test_the_table_is_made_elementwise",),
    ),
    "cells of no level at the mean, whose share is counted": (
        [(STANDARD, "none = of_group[-1:] if", "none = 0 * of_group[-1:] if")],
        (
            LAWS + "TestLevelUnits::test_a_cell_that_is_none_of_them_is_the_mean_or_a_group_of_its_own[none of them]",
            LAWS + "TestLevelUnits::test_the_mean_is_the_origin[none of them]",
        ),
    ),
    "lengths of levels without their last coordinate": (
        [(STANDARD, "for coordinate in self.vectors.T:", "for coordinate in self.vectors.T[:-1]:")],
        (
            UNITS + "test_squares_are_those_of_the_coordinates",
            LAWS + "TestLevelUnits::test_lengths_are_those_of_the_vectors[pooled]",
        ),
    ),
    "flags of what is missing": (
        [
            (
                ARROW,
                "return np.isfinite(cells.values(column, self._table.decimal)).astype(np.intp)",
                "return np.isnan(cells.values(column, self._table.decimal)).astype(np.intp)",
            )
        ],
        (BY_COLUMN + "test_flags_say_whether_a_cell_is_there[parquet]",),
    ),
    "shares that sum to anything": (
        [(STANDARD, "abs(sum(self.shares) - 1) > 1e-9", "False")],
        (LAWS + "TestRefusals::test_other_units_of_levels", FORGED + "[units that are none]"),
    ),
    "ranges beyond the bounds": (
        [(STANDARD, "known and -1 <= self.low <= self.centre <= self.high <= 1 and self.low < self.high", "known")],
        (LAWS + "TestRefusals::test_other_units_of_numbers", FORGED + "[units that are none]"),
    ),
    "a corner as long as the radius": (
        [(STANDARD, "not 0 <= self.corner < self.row_norm", "not 0 <= self.corner <= self.row_norm")],
        (LAWS + "TestRefusals::test_another_corner", FORGED + "[a corner that is none]"),
    ),
    # the door
    "units of other columns": (
        [(MEASURE, "rows.units.columns == public.encoding.columns", "True")],
        (LAWS + "TestDoor::test_what_is_not[units of other bounds]",),
    ),
    "columns of another schema": (
        [(TABLE, "type(self.columns) is Columns and self.columns == public.encoding.columns", "type(self.columns) is Columns")],
        (LAWS + "TestDoor::test_what_is_not[histograms of other bounds]",),
    ),
    "columns of pairs": (
        [("kernel/rows/encoding.py", "self.midpoints and not self.pairs and", "self.midpoints and")],
        (LAWS + "TestDoor::test_of_rows_that_are_encoded_otherwise_it_is_not[pairs-histograms]",),
    ),
    # reading
    "encoded rows where rows by column are wanted": (
        [
            (
                SUMS,
                "for question in questions if question.by_column == by_column)",
                "for question in questions)",
            )
        ],
        (BY_COLUMN + "test_sums_of_both_kinds_of_rows_can_be_read_ahead",),
    ),
    "missing numbers at the midpoint": (
        [(ARROW, "description, offset, scale, np.nan)", "description, offset, scale, description.midpoint)")],
        (
            BY_COLUMN + "TestEveryContainer::test_has_the_same_rows[parquet]",
            BY_COLUMN + "TestEveryContainer::test_has_the_same_rows[csv]",
        ),
    ),
    "unknown levels before the first": (
        [
            (
                ARROW,
                "                np.copyto(row, np.nan, where=row < 0)\n",
                "                np.copyto(row, 0.0, where=row < 0)\n",
            )
        ],
        (BY_COLUMN + "TestEveryContainer::test_has_the_same_integers[pandas objects]",),
    ),
    "all cells kept": (
        [
            (
                ARROW,
                "kept = kept if sum(one.size for one in kept) <= KEPT_CELLS else None",
                "kept = kept if sum(one.size for one in kept) else None",
            )
        ],
        (BY_COLUMN + "TestKeptCells::test_they_are_bounded[300]",),
    ),
    "kept cells that are overwritten": (
        [(ARROW, "if space.size < width * len(part) or kept is not None:", "if space.size < width * len(part):")],
        (BY_COLUMN + "TestEveryContainer::test_in_blocks_of_any_size_kept_or_not[8388608-arrow table]",),
    ),
    "rows of a comparison that are overwritten": (
        [(KEPT, "if scratch or self.by_column else rows", "if scratch else rows")],
        (BY_COLUMN + "TestKeptSource::test_it_has_the_sums_of_its_source[100]",),
    ),
}
