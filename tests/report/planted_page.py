"""Planted bugs in the page of a release: in the numbers that Python puts into it, and in what its script makes of them."""

from __future__ import annotations

from tests.mutation.form import Mutant, mutant
from tests.report.browser import HAS_BROWSER

TEST = "tests/report/test_page.py::"
IN_BROWSER = "tests/report/test_page_in_browser.py::"
PAGE = "report/page/"
SOLVES = IN_BROWSER + "test_the_explorer_solves_what_ridge_solves"

IN_PYTHON = {
    "a name that ends the page's facts": mutant(
        (PAGE + "__init__.py", 'return text.replace("<", "\\\\u003c").replace', "return text.replace"),
        by=TEST + "TestEveryPage::test_its_facts_are_json_that_ends_where_it_ends[hostile]",
    ),
    "a page that may run any script": mutant(
        (PAGE + "__init__.py", 'f"script-src {_hash(script)}"', '''"script-src 'unsafe-inline'"'''),
        by=TEST + "TestEveryPage::test_its_policy_names_its_script_and_style_and_nothing_else[rows]",
    ),
    "a page whose policy comes after the title": mutant(
        (PAGE + "page.html", '<meta http-equiv="Content-Security-Policy" content="{{POLICY}}">\n', ""),
        (PAGE + "page.html", "</title>\n", '</title>\n<meta http-equiv="Content-Security-Policy" content="{{POLICY}}">\n'),
        by=TEST + "TestEveryPage::test_its_policy_names_its_script_and_style_and_nothing_else[rows]",
    ),
    "a picture from elsewhere in a page": mutant(
        (PAGE + "page.html", '<link rel="icon" href="data:,">', '<link rel="icon" href="https://example.org/icon.png">'),
        by=TEST + "TestEveryPage::test_it_needs_nothing_from_elsewhere[rows]",
    ),
    "questions under the name of their noise": mutant(
        (PAGE + "overview.py", "{escape(printable(asked, 200))}", "{printable(noise, 200)}"),
        by=TEST + "TestTheOverview::test_it_says_what_was_promised_and_asked",
    ),
    "levels counted as deviations": mutant(
        (PAGE + "overview.py", "found.deviation, ~found.is_level)", "found.deviation, slice(None))"),
        by=TEST + "TestTheOverview::test_its_counts_are_those_of_the_description",
    ),
    "a page about people that speaks of rows": mutant(
        (PAGE + "overview.py", 'differ = "the rows of one person" if release.unit else "one row"', 'differ = "one row"'),
        by=TEST + "TestOfWhom::test_people",
    ),
    "a page that says nothing of groups": mutant(
        (PAGE + "overview.py", 'groups = "" if said is None else', 'groups = "" if said is not None else'),
        by=TEST + "TestOfWhom::test_groups",
    ),
    "all groups together with rows of none of them": mutant(
        (PAGE + "__init__.py", "about = subject(release)", "about = release"),
        by=TEST + "TestOfWhom::test_groups",
    ),
    "a seeded release without its stamp": mutant(
        (PAGE + "overview.py", "if release.seeded:", "if not release.seeded:"),
        by=TEST + "TestTheOverview::test_what_must_be_known_first_is_stamped",
    ),
    "noise among the numbers of a large page": mutant(
        (PAGE + "content.py", "np.where(found.clear, found.values, 0.0))  # noise", "found.values)  # noise"),
        by=TEST + "test_a_large_page_shows_no_number_that_is_noise",
    ),
    "levels of a column apart in the heat map": mutant(
        (PAGE + "content.py", "for column in leaves_list(tree)", "for column in leaves_list(tree)[::-1][:-1]"),
        by=TEST + "TestNumbers::test_columns_that_go_together_are_neighbours_and_levels_stay_together",
    ),
    "a plan whose noise holds the draw of rows": mutant(
        (PAGE + "content.py", "np.median(rows.correlation.standard_error", "np.median(correlation.standard_error"),
        by=TEST + "TestThePlan::test_it_begins_with_the_errors_of_the_release",
    ),
    "bytes of a number in another order": mutant(
        (PAGE + "store.py", "own.view(np.uint8).reshape(-1, own.itemsize).T", "own.view(np.uint8).reshape(-1, own.itemsize)"),
        by=TEST + "TestNumbers::test_the_store_gives_back_what_was_put_in",
    ),
    "levels compared with the rarest": mutant(
        (PAGE + "regressions.py", "found.append(max(own, key=", "found.append(min(own, key="),
        by=TEST + "TestNumbers::test_levels_are_compared_with_the_level_that_ridge_takes",
    ),
    "a product among the features of its factors": mutant(
        (PAGE + "regressions.py", "if k != i and own & other", "if k != i and own == other"),
        by=TEST + "TestNumbers::test_columns_of_the_same_cells_are_no_features_of_each_other",
    ),
    "a large page with every matrix": mutant(
        (PAGE + "regressions.py", "LARGE = 256", "LARGE = 2560"),
        by=TEST + "TestNumbers::test_a_page_of_784_features_is_little_more_than_its_matrix",
    ),
}

IN_SCRIPT = {
    "another caution in the page's penalty": mutant(
        (PAGE + "ridge.js", "const CAUTION = 1.3;", "const CAUTION = 1.29;"),
        by=SOLVES + "[rounds]",
    ),
    "negative eigenvalues in the page": mutant(
        (PAGE + "ridge.js", "const lifted = Math.max(values[k], 0) + penalty;", "const lifted = values[k] + penalty;"),
        by=SOLVES + "[raw]",
    ),
    "levels that are not compared in the page": mutant(
        (PAGE + "ridge.js", "fit.coefficients[at.get(j)] - (own.get(held.columns[j]) ?? 0)", "fit.coefficients[at.get(j)]"),
        by=SOLVES + "_in_private_units",
    ),
    "least squares with the bias of noise in the page": mutant(
        (PAGE + "intervals.js", "weights.map((x, i) => x - bias[i])", "weights.map(x => x)"),
        by=SOLVES + "[rows]",
    ),
    "intervals without the draw of rows in the page": mutant(
        (PAGE + "intervals.js", "spread = residualVariance(found) / rows", "spread = 0 / rows"),
        by=SOLVES + "[rows]",
    ),
    "missing cells that count as seen in the page": mutant(
        (PAGE + "ridge.js", "const off = units.variance / least ** 4;", "const off = units.variance;"),
        by=SOLVES + "_in_private_units",
    ),
    "noise of a group in the page that its estimate has not": mutant(
        (PAGE + "ridge.js", "inCoordinates(seen, units.left, m, width)", "inCoordinates(seen, units.variance, m, width)"),
        by=SOLVES + "_of_groups_and_weights[a group]",
    ),
    "a plan that counts weighed people": mutant(
        (PAGE + "content.py", "None if release.encoding.partial else release.n", "release.n"),
        by=SOLVES + "_of_groups_and_weights[weights]",
    ),
    "noise that denoising left out of the page's R²": mutant(
        (PAGE + "noise.js", "const own = n === 1 ? 1 : Math.max(", "const own = n === 1 ? 1 : Math.min("),
        by=SOLVES + "[rows]",
    ),
    "a cell beside the pointer": mutant(
        (PAGE + "heatmap.js", "row = Math.floor(y / frame.size), d", "row = Math.ceil(y / frame.size), d"),
        by=IN_BROWSER + "TestTheHeatMap::test_a_cell_is_its_pair",
    ),
    "names that become elements": mutant(
        (
            PAGE + "draw.js",
            "title: short && long ? shown : null }, shown);",
            "title: null }, document.createRange().createContextualFragment(shown));",
        ),
        by=IN_BROWSER + "TestNamesThatABrowserWouldRun::test_they_are_text",
    ),
    "a large matrix of other eigenvalues": mutant(
        (PAGE + "read.js", "map(x => x * noise.stretch)", "map(x => x)"),
        by=IN_BROWSER + "test_a_large_release_is_solved_from_its_eigenvectors",
    ),
    "text that can hardly be seen": mutant(
        (PAGE + "page.css", "--soft: #4d5a68;", "--soft: #b0b8c0;"),
        by=IN_BROWSER + "test_no_serious_fault_for_those_who_cannot_see_it[private units-False]",
    ),
}

PLANTED: dict[str, Mutant] = IN_PYTHON | (IN_SCRIPT if HAS_BROWSER else {})
"""Where there is no browser its tests are skipped, and catch nothing."""
