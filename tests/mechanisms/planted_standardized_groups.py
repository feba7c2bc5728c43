"""Planted bugs in `standardized` by group."""

from __future__ import annotations

from tests.mutation.form import mutant

BY_GROUP = "mechanisms/standardized/by_group.py"
ESTIMATE = "mechanisms/standardized/estimate.py"
TESTS = "tests/mechanisms/test_standardized_groups.py::"
EXACT = TESTS + "test_without_noise_each_group_is_that_of_its_rows[replace-rows]"

PLANTED = {
    "a group's size by all rows": mutant(
        ("release/groups.py", "    n = n_of(made) or _weight(made)", "    n = n_of(made) or whole.n"),
        by=EXACT,
    ),
    "answers about all rows for a group": mutant(
        (ESTIMATE, "found, levels = by_group.of_group_alone(found, levels)", "pass"),
        by=EXACT,
    ),
    "answers about all rows divided by a group's": mutant(
        (BY_GROUP, "return transcript.n if transcript.part is None else transcript.part.whole.n", "return transcript.n"),
        by=TESTS + "test_missing_cells_are_those_of_all_rows",
    ),
    "a group that noise hides with means outside all bounds": mutant(
        (
            BY_GROUP,
            "return max(float(transcript.n), moment.deviation * (rows.row_norm / rows.corner) ** 2)",
            "return float(transcript.n)",
        ),
        by=TESTS + "TestFiles::test_noise_is_the_least_that_a_group_is_divided_by",
    ),
    "intervals that are drawn towards other groups": mutant(
        (BY_GROUP, "    units = replace(\n        own.units,", "    units = replace(\n        drawn.units,"),
        by=TESTS + "TestDrawing::test_what_intervals_are_made_of_is_a_group_s_own",
    ),
    "penalties for the noise of a group alone": mutant(
        (BY_GROUP, "        left=drawn.units.left,\n", ""),
        by=TESTS + "TestDrawing::test_what_intervals_are_made_of_is_a_group_s_own",
    ),
    "groups that are not drawn": mutant(
        (ESTIMATE, "    if postprocess == RAW or transcript.part is None", "    if True or transcript.part is None"),
        by=TESTS + "TestDrawing::test_it_gains",
    ),
    "no sizes where no column varies": mutant(
        ("mechanisms/standardized/covariance.py", "    elif curator.groups:\n", "    elif False:\n"),
        by=TESTS + "TestPaths::test_where_no_column_varies_sizes_are_asked[replace]",
    ),
}
