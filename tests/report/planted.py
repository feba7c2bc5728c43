"""Planted bugs in how results are shown."""

from __future__ import annotations

from tests.mutation.form import mutant

TEST_PICTURES = "tests/report/test_pictures.py::"

PLANTED = {
    "two parts of the variance with errors of their own": mutant(
        ("uses/component_errors.py", "own = own * (trace / parts)", "pass"),
        by="tests/uses/test_component_errors.py::test_a_part_and_the_rest_are_equally_uncertain",
    ),
    "colours that are strong next to noise": mutant(
        ("report/pictures.py", "np.abs(values) / errors", "1 / errors"),
        by=TEST_PICTURES + "test_colours_fade_with_the_evidence",
    ),
    "faded colours on white": mutant(
        ("report/pictures.py", "axis.set_facecolor(DROWNED)", "pass"),
        by=TEST_PICTURES + "test_a_heat_map_fades_and_says_so",
    ),
    "features drawn for the levels of their own column": mutant(
        ("report/correlations.py", "(found.clear & np.not_equal.outer(numbers, numbers))", "found.clear"),
        by=TEST_PICTURES + "test_levels_of_one_column_are_no_pair",
    ),
    "all parts of the variance that may not be all": mutant(
        ("uses/component_errors.py", "np.append(together[:-1], 0.0) if whole else together", "together"),
        by="tests/report/test_results.py::test_all_components_together_explain_all_and_loadings_fit",
    ),
    "correlations drawn without their errors": mutant(
        ("report/pictures.py", "_cell(float(value), error) if error > 0", 'f"{value:.2f}" if error > 0'),
        by="tests/report/test_results.py::test_pictures_print_no_correlation_without_its_error",
    ),
    "a long list that begins with noise": mutant(
        ("report/text.py", "places = sorted(seen[:limit]) or places[:MOST_NOISY]", "places = places[:limit]"),
        by="tests/report/test_text.py::test_of_many_features_the_clear_ones_are_listed",
    ),
    "a note that writes on the terminal": mutant(
        ("report/release_lines.py", "printable(str(value))", "value"),
        by="tests/cli/test_show.py::test_a_file_cannot_write_on_the_terminal[note]",
    ),
}
