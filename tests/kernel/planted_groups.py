"""Planted bugs in matrices by group."""

from __future__ import annotations

from tests.mutation.form import mutant

GROUPS = "kernel/questions/groups.py"
MEMBERS = "kernel/rows/groups.py"
MATRIX = "kernel/noise/matrix.py"
CALIBRATED = "kernel/questions/calibrated.py"
PARTS = "release/groups.py"

LAWS = "tests/kernel/laws/test_groups.py::"
CALIBRATION = "tests/kernel/calibration/test_groups.py::"
DISTRIBUTION = "tests/kernel/distribution/test_groups.py::"
RELEASES = "tests/mechanisms/test_groups.py::"
AUDIT = "tests/audit/test_groups.py::"
ARROW = "sources/arrow.py"
PEOPLE_LAWS = "tests/kernel/laws/test_people_in_groups.py::"
PEOPLE_COST = "tests/audit/test_people_in_groups.py::"
PEOPLE_RELEASES = "tests/api/test_people_in_groups.py::"

PLANTED = {
    "groups that a mechanism shares with its curator": mutant(
        ("kernel/public.py", "groups=deepcopy(whole.groups)", "groups=whole.groups"),
        by="tests/audit/test_hostile_mechanisms.py::TestEncodings::test_nor_its_groups",
    ),
    "matrices of groups that are not added where other sums are read with them": mutant(
        (
            "kernel/questions/together.py",
            "add_to(part.reshape(member.shape), rows)",
            "add_to(part.copy().reshape(member.shape), rows)",
        ),
        by=LAWS + "test_matrices_and_sizes_are_the_same_where_they_are_read_together",
    ),
    "one matrix's L1 for groups": mutant(
        (
            GROUPS,
            "return Fraction(WITH_NOTHING_SHARED[neighbors] * (self.d + 1), 2) * self.scaled_reach",
            "return (2 if neighbors == REPLACE else Fraction(self.d + 1, 2)) * Fraction(self.scaled_reach)",
        ),
        by=(
            LAWS + "TestTightness::test_the_bounds_are_attained[4]",
            LAWS + "TestTightness::test_they_are_those_of_the_table[5]",
            PEOPLE_COST + "test_no_person_costs_more_than_was_charged[laplace-PureDP-replace-False-people]",
        ),
    ),
    "a row that moves one block only": mutant(
        (
            GROUPS,
            "return self.count if several else WITH_NOTHING_SHARED[neighbors]",
            "return self.count if several else 1",
        ),
        by=CALIBRATION + "TestLaws::test_wishart[2-3-replace]",
    ),
    "a row that is in one group before and after": mutant(
        (GROUPS, "WITH_NOTHING_SHARED = {REPLACE: 2, ADD_REMOVE: 1}", "WITH_NOTHING_SHARED = {REPLACE: 1, ADD_REMOVE: 1}"),
        by=(
            LAWS + "TestTightness::test_the_bounds_are_attained[1]",
            LAWS + "TestTightness::test_they_are_those_of_the_table[2]",
        ),
    ),
    "a group's size as if it were public": mutant(
        (GROUPS, "return Fraction(WITH_NOTHING_SHARED[neighbors] * self.person)", "return Fraction(self.person)"),
        by=(
            LAWS + "TestTightness::test_the_bounds_are_attained[2]",
            AUDIT + "test_counts_of_groups_are_private_under_either_relation[replace]",
        ),
    ),
    "two excesses for a person who is in all groups": mutant(
        (
            GROUPS,
            "return self.count if several else WITH_NOTHING_SHARED[neighbors]",
            "return WITH_NOTHING_SHARED[neighbors]",
        ),
        by=(
            PEOPLE_LAWS + "TestTightness::test_a_person_may_be_in_all_groups",
            CALIBRATION + "TestPeople::test_every_block_that_a_person_may_move_costs_an_excess[8-64-replace-people]",
        ),
    ),
    "a person's rows counted in each group for themselves": mutant(
        (
            ARROW,
            "self._table.batches([self.aside.unit], default_block_rows(1))",
            "self._table.batches(_both(self), default_block_rows(1))",
        ),
        (ARROW, "yield batch.column(self.aside.unit), fraction", "yield _in_each(batch, self), fraction"),
        (
            ARROW,
            "return [self._people.shares(part.column(aside.unit))]",
            "return [self._people.shares(_in_each(part, self))]",
        ),
        (
            ARROW,
            "@dataclass(frozen=True)\nclass ArrowPart:",
            "def _both(source):\n    return [source.aside.unit] + ([source._by.of] if source._by else [])\n\n\n"
            "def _in_each(batch, source):\n    import pyarrow as pa\n\n"
            "    rows = zip(*(np.asarray(batch.column(name)).tolist() for name in _both(source)), strict=True)\n"
            "    return pa.array([str(row) for row in rows])\n\n\n"
            "@dataclass(frozen=True)\nclass ArrowPart:",
        ),
        by=(
            PEOPLE_LAWS + "TestTightness::test_a_person_may_be_in_all_groups",
            PEOPLE_LAWS + "TestWholeTables::test_averages_are_over_all_rows_of_a_person[people]",
            PEOPLE_COST + "test_no_person_costs_more_than_was_charged[gaussian-ZCDP-add-remove-True-people]",
        ),
    ),
    "sizes of groups with the noise of a part of a person": mutant(
        (
            GROUPS,
            "return Fraction(WITH_NOTHING_SHARED[neighbors] * self.person)",
            "return Fraction(WITH_NOTHING_SHARED[neighbors])",
        ),
        (GROUPS, "return WITH_NOTHING_SHARED[neighbors] * self.person**2", "return WITH_NOTHING_SHARED[neighbors]"),
        by=(
            PEOPLE_LAWS + "TestTightness::test_the_bounds_are_attained[1]",
            CALIBRATION + "TestPeople::test_exact_noise_is_that_of_rows[2-3-replace-people]",
        ),
    ),
    "rows of people in groups that count as whole people": mutant(
        (
            GROUPS,
            "z = self.scaled(rows[:, :-1], scratch=False)[order]",
            "z = self.grid.encode(rows[:, : self.d - getattr(self.grid, 'center', 0)])[order] * 2.0**self.finer",
        ),
        by=PEOPLE_LAWS + "TestTightness::test_the_bounds_are_attained[10000]",
    ),
    "sizes of people's groups in whole people": mutant(
        (PARTS, "return self.person_bits\n", "return super().unit_bits\n"),
        by=PEOPLE_RELEASES + "TestExact::test_sizes_are_asked_for_where_no_corner_tells_them[gaussian-replace-people]",
    ),
    "a row of no group in the last block": mutant(
        (MEMBERS, "group = np.where(known, positions, count)", "group = np.where(known, positions, count - 1)"),
        by=(LAWS + "TestNobodysRows::test_members", RELEASES + "test_rows_of_no_group_change_nothing"),
    ),
    "one noise for all blocks": mutant(
        (
            MATRIX,
            "drawn = np.array([self._draw_one(bits) for _ in range(self.blocks)])",
            "drawn = np.array([self._draw_one(bits)] * self.blocks)",
        ),
        by=DISTRIBUTION + "test_blocks_have_the_stated_noise_and_share_none[wishart]",
    ),
    "one excess for two blocks that move": mutant(
        (MATRIX, "return self.moved * one", "return one"),
        by=CALIBRATION + "TestLaws::test_wishart[2-3-replace]",
    ),
    "the tail of one block": mutant(
        (MATRIX, "tail=blocks * (2 * d", "tail=(2 * d"),
        by=(CALIBRATION + "test_tails_of_all_blocks_count", CALIBRATION + "TestLaws::test_wishart[8-64-replace]"),
    ),
    "a law of fewer blocks": mutant(
        (
            CALIBRATED,
            "alike = (law.d, law.blocks) == (statistic.d, statistic.count)",
            "alike = law.d == statistic.d",
        ),
        by=CALIBRATION + "TestLaws::test_wishart[2-3-replace]",
    ),
    "groups that nobody asked for": mutant(
        (
            GROUPS,
            "return groups is not None and groups.count == self.count and super().fits(public)",
            "return super().fits(public)",
        ),
        by="tests/kernel/laws/test_questions.py::TestFitsExactly::test_groups_are_as_many_as_the_rows_have",
    ),
    "diagonals and triangles of different groups": mutant(
        (
            GROUPS,
            "return np.concatenate([total[:, : self.d].ravel(), total[:, self.d :].ravel()])",
            "return np.concatenate([total[:, : self.d].T.ravel(), total[:, self.d :].ravel()])",
        ),
        by=(
            LAWS + "test_rows_in_private_units_have_groups_as_well",
            RELEASES + "TestExact::test_each_group_is_that_of_its_rows[gaussian-replace]",
        ),
    ),
    "a group's n as if it were public": mutant(
        (
            "release/groups.py",
            "return self._self.part is None and not hides_n(self._self)",
            "return not hides_n(self._self)",
        ),
        by=RELEASES + "TestTogether::test_a_group_has_a_noisy_number_of_rows",
    ),
    "the noise of one group for all together": mutant(
        (PARTS, "min(Fraction(variance) * count, MAX_VARIANCE)", "min(Fraction(variance), MAX_VARIANCE)"),
        by=RELEASES + "TestTogether::test_noise_of_a_sum",
    ),
    "all groups in place of one": mutant(
        ("release/groups.py", "return release.pooled if release.part is None else release", "return release.pooled"),
        by=RELEASES + "TestRelease::test_a_group_is_a_release_to_all_uses[gaussian-replace]",
    ),
    "groups for mechanisms that do not know them": mutant(
        ("mechanisms/base.py", "if groups and not self.groups:", "if False:"),
        by=RELEASES + "TestRefusals::test_mechanisms_that_do_not_serve_them",
    ),
    "the column of groups among the features": mutant(
        (
            "sources/by.py",
            "self.described.columns.items() if name != self.name}",
            "self.described.columns.items()}",
        ),
        by=RELEASES + "TestExact::test_each_group_is_that_of_its_rows[gaussian-replace]",
    ),
    "a source that does not tell groups": mutant(
        (
            "kernel/sums.py",
            'if encoding.groups != getattr(source, "groups", None):',
            "if False:",
        ),
        by=RELEASES + "TestSources::test_a_source_without_groups_is_refused",
    ),
    "differences of the same end": mutant(
        (
            "uses/between.py",
            "down = np.hypot(one.estimate - one.lower, other.upper - other.estimate)",
            "down = np.hypot(one.estimate - one.lower, other.estimate - other.lower) / 2",
        ),
        by=(RELEASES + "TestBetween::test_the_other_way_round", RELEASES + "TestBetween::test_how_often_they_hold"),
    ),
}
