"""Planted bugs in schemas."""

from __future__ import annotations

from tests.mutation.form import mutant

CODEBOOK = "schema/codebook.py"
COLUMNS = "schema/columns.py"
DERIVED = "schema/derived.py"
TRANSFORMS = "schema/transforms.py"

CELLS = "tests/sources/test_derived.py::test_cells_are_clipped_then_transformed_then_multiplied"
TEST_CODEBOOK = "tests/schema/test_codebook.py::"
TEST_DATES = "tests/schema/test_dates.py::"
TEST_DERIVED = "tests/schema/test_derived.py::"

UNIT = "tests/schema/test_schema_unit.py::"
COPIED = UNIT + "TestEveryEntryPoint::test_a_schema_that_was_copied_or_pickled_does_so_too[covariance]"

PLANTED = {
    "a schema's people are dropped where a release is asked for": mutant(
        ("request.py", "whose, schema = whose.joined(schema.whose), schema.of_features()", "schema = schema.of_features()"),
        by=tuple(
            f"{UNIT}TestEveryEntryPoint::test_promises_people[{name}]" for name in ("covariance", "mean", "ridge", "PrivatePCA")
        ),
    ),
    "people that are read, and not promised": mutant(
        ("request.py", "            aside=self.aside,\n", ""), by=UNIT + "TestEveryEntryPoint::test_promises_people[covariance]"
    ),
    "a schema's people are lost in a pickle": mutant(
        ("schema/__init__.py", "return Schema, (dict(self.columns), *said)", "return Schema, (dict(self.columns),)"), by=COPIED
    ),
    "a schema's people are lost in a copy": mutant(
        ("schema/__init__.py", "        for name in SAID:\n", "        for name in SAID[:1]:\n"), by=COPIED
    ),
    "a schema's people are lost where columns are chosen": mutant(
        (
            "schema/__init__.py",
            "return replace(self, columns={name: used[name] for name in names}, others=None)",
            "return Schema({name: used[name] for name in names})",
        ),
        by=COPIED,
    ),
    "a schema's people are lost in its file": mutant(
        ("schema/file.py", "return Schema(found, others=others, **whose)", "return Schema(found, others=others)"),
        by=UNIT + "TestEveryEntryPoint::test_promises_people[covariance]",
    ),
    "a digest that does not cover people": mutant(
        ("schema/file.py", "[record, whose] if whose.names else record", "record"),
        by=UNIT + "TestDigest::test_a_policy_holds_releases_to_it",
    ),
    "an argument that overrules the schema": mutant(
        ("schema/whose.py", "if said is not None and said != described:", "if False:"),
        by=UNIT + "TestRefused::test_an_argument_that_says_another_thing[covariance-given0]",
    ),
    "columns that a copied schema shares": mutant(
        (
            "schema/__init__.py",
            "_twin(column) for name, column in self.columns.items()",
            "column for name, column in self.columns.items()",
        ),
        by="tests/audit/test_hostile_mechanisms.py::TestEncodings::test_nor_its_schema",
    ),
    "the transform of unclipped cells": mutant(
        (COLUMNS, "TRANSFORMS[self.transform].apply(inside)", "TRANSFORMS[self.transform].apply(cells)"), by=CELLS
    ),
    "clipping after the transform": mutant(
        (
            COLUMNS,
            "return inside if self.transform is None else TRANSFORMS[self.transform].apply(inside)",
            "return np.clip(TRANSFORMS[self.transform or 'square'].apply(cells), self.lower, self.upper)",
        ),
        by=CELLS,
    ),
    "a shift before the clip": mutant(
        (
            COLUMNS,
            "inside = inside if self.about is None else inside - self.about",
            "inside = inside if self.about is None else cells - self.about",
        ),
        by=CELLS,
    ),
    "a shift that bounds do not know": mutant(
        (COLUMNS, "lower, upper = (end - (self.about or 0.0) for end in", "lower, upper = (end for end in"),
        by=TEST_DERIVED + "test_what_is_about_a_number",
    ),
    "infinite cells at the bounds": mutant(
        (COLUMNS, "np.where(np.isfinite(cells), np.clip", "np.where(~np.isnan(cells), np.clip"), by=CELLS
    ),
    "missing factors at the bound": mutant(
        (COLUMNS, "np.clip(cells, self.lower, self.upper), np.nan)", "np.clip(cells, self.lower, self.upper), self.lower)"),
        by=CELLS,
    ),
    "a library's logarithm": mutant(
        (TRANSFORMS, "Transform(log, lambda", "Transform(lambda x: np.log(x) + len(x) * 1e-16, lambda"),
        by=TEST_DERIVED + "test_a_number_becomes_the_same_one_wherever_it_stands[log]",
    ),
    "a logarithm of too few terms": mutant(
        (TRANSFORMS, "TERMS = 12", "TERMS = 9"), by=TEST_DERIVED + "test_a_logarithm_is_one_to_four_units_in_the_last_place"
    ),
    "a square between the squares of its bounds": mutant(
        (
            TRANSFORMS,
            "self.apply(np.array([lower, upper, min(max(0.0, lower), upper)]))",
            "self.apply(np.array([lower, upper]))",
        ),
        by=TEST_DERIVED + "test_a_square_is_least_at_zero[bounds2-image2]",
    ),
    "a product between those of equal ends": mutant(
        (DERIVED, "ends = np.multiply.outer(*(", "ends = np.multiply(*("),
        by=TEST_DERIVED + "test_a_product_lies_between_those_of_the_ends[one1-other1-image1]",
    ),
    "a product that is never missing": mutant(
        (DERIVED, "nullable = any(factor.nullable for factor in factors)", "nullable = False"),
        by=TEST_DERIVED + "test_a_product_may_be_missing_where_one_of_its_columns_may",
    ),
    "zones of bounds are left out": mutant(
        ("schema/dates.py", "divmod(int(moment) - 10**6 * east, MICROSECONDS)", "divmod(int(moment), MICROSECONDS)"),
        by=TEST_DATES
        + "test_a_bound_counts_in_days[{ lower = 1970-01-01T00:00:00Z, upper = 1970-01-31T06:00:00-06:00 }-30.5-datetime]",
    ),
    "logarithms of dates": mutant(
        (COLUMNS, "            if getattr(self, name) is not None:\n", "            if False:\n"),
        by=TEST_DATES + "test_what_is_refused_and_how[a logarithm]",
    ),
    "bounds of a codebook the other way round": mutant(
        (CODEBOOK, 'for what in ("lower", "upper"))', 'for what in ("upper", "lower"))'),
        by=TEST_CODEBOOK + "test_what_each_line_becomes",
    ),
    "a line of a codebook that is counted otherwise": mutant(
        (CODEBOOK, "starts.append(before + 1)", "starts.append(before)"),
        by=TEST_CODEBOOK + "test_what_is_refused_and_where[no number]",
    ),
    "levels at commas": mutant(
        (CODEBOOK, 'if len(parts) == 1 and "," in cell:', "if False:"),
        by=TEST_CODEBOOK + "test_what_is_refused_and_where[commas]",
    ),
    "what is usual is taken": mutant(
        ("schema/drafts.py", 'NUMERIC: "{ lower = nan, upper = nan }"', 'NUMERIC: "{ lower = 0, upper = 120 }"'),
        by="tests/schema/test_usual.py::test_what_is_usual_is_a_comment_and_no_bound",
    ),
    "weights not normalised": mutant(
        ("schema/__init__.py", "total = math.hypot(*(column.weight for column in self.used.values()))", "total = 1.0"),
        by="tests/schema/test_schema.py::test_any_cells_become_rows_of_norm_at_most_one",
    ),
    "a column that lacks one bound is left out": mutant(
        ("schema/file.py", "and all(isinstance(one, float)", "and any(isinstance(one, float)"),
        by="tests/schema/test_schema_file.py::TestOthers::test_what_was_begun_is_not",
    ),
    "drafts are left out unasked": mutant(
        ("schema/file.py", "left = (others == IGNORE or name in beside) and _is_draft(entry)", "left = _is_draft(entry)"),
        by=(
            "tests/schema/test_schema_file.py::TestOthers::test_what_is_left_as_drafted_is_ignored",
            "tests/schema/test_schema_file.py::test_all_wrong_entries_are_told_at_once",
        ),
    ),
}
