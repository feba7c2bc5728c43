"""Planted bugs in reading rows."""

from __future__ import annotations

from tests.mutation.form import mutant

ARROW = "sources/arrow.py"
DATES = "sources/dates.py"
DESCRIBED = "sources/described.py"
PAIRED = "sources/paired.py"

TEST_BY_COLUMN = "tests/sources/test_by_column.py::"
TEST_DATES = "tests/sources/test_dates.py::"
TEST_DERIVED = "tests/sources/test_derived.py::"
TEST_PAIRED = "tests/sources/test_paired.py::"
TEST_PROMISES = "tests/sources/test_promises.py::"

PEOPLE = "tests/sources/test_people.py::"

PLANTED = {
    "whole numbers among Python objects are nobody's": mutant(
        ("sources/tables.py", "[identifier if name == self._unit else _text for name in columns]", "[_text for _ in columns]"),
        by=PEOPLE + "TestPythonObjects::test_are_told_apart_by_what_they_are[objects-cells0]",
    ),
    "identifiers of an array that float64 merges": mutant(
        ("sources/tables.py", 'if kind.kind in "biu" else', 'if kind.kind in "b" else'),
        by=PEOPLE + "TestArraysWithASchema::test_beyond_two_to_the_53[int64]",
    ),
    "missing numbers count as zero": mutant(
        (ARROW, "description, offset, scale, description.midpoint)", "description, offset, scale, 0.0)"),
        by="tests/sources/test_noise_off.py::TestPandas::test_mean_and_covariance",
    ),
    "a second reading of nothing": mutant(
        (ARROW, "if self._rows not in (None, counted):", "if False:"),
        by="tests/sources/test_tables.py::test_a_stream_answers_one_question",
    ),
    "flags of what is missing": mutant(
        (
            DESCRIBED,
            "return np.isfinite(values(batch.column(of), described, table)).astype(np.intp)",
            "return np.isnan(values(batch.column(of), described, table)).astype(np.intp)",
        ),
        by=TEST_BY_COLUMN + "test_flags_say_whether_a_cell_is_there[parquet]",
    ),
    "missing numbers at the midpoint": mutant(
        (ARROW, "description, offset, scale, np.nan)", "description, offset, scale, description.midpoint)"),
        by=(
            TEST_BY_COLUMN + "TestEveryContainer::test_has_the_same_rows[parquet]",
            TEST_BY_COLUMN + "TestEveryContainer::test_has_the_same_rows[csv]",
        ),
    ),
    "unknown levels before the first": mutant(
        (
            ARROW,
            "                np.copyto(row, np.nan, where=row < 0)\n",
            "                np.copyto(row, 0.0, where=row < 0)\n",
        ),
        by=TEST_BY_COLUMN + "TestEveryContainer::test_has_the_same_integers[pandas objects]",
    ),
    "all cells kept": mutant(
        (
            ARROW,
            "kept = kept if sum(one.size for one in kept) <= KEPT_CELLS else None",
            "kept = kept if sum(one.size for one in kept) else None",
        ),
        by=TEST_BY_COLUMN + "TestKeptCells::test_they_are_bounded[300]",
    ),
    "kept cells that are overwritten": mutant(
        (ARROW, "if space.size < width * len(part) or kept is not None:", "if space.size < width * len(part):"),
        by=TEST_BY_COLUMN + "TestEveryContainer::test_in_blocks_of_any_size_kept_or_not[8388608-arrow table]",
    ),
    "a missing factor counted as 0": mutant(
        (
            DESCRIBED,
            "return np.where(found < 0, np.nan, found == described.place)",
            "return np.where(found < 0, 0.0, found == described.place)",
        ),
        by=TEST_DERIVED + "test_cells_are_clipped_then_transformed_then_multiplied",
    ),
    "a factor of another column's cells": mutant(
        (
            DESCRIBED,
            "multiply([_factor(batch.column(of), described, table)",
            "multiply([_factor(batch.column(0), described, table)",
        ),
        by=TEST_DERIVED + "test_cells_are_clipped_then_transformed_then_multiplied",
    ),
    "the level before the one that was named": mutant(
        (DESCRIBED, "found == described.place)", "found == described.place - 1)"),
        by=TEST_DERIVED + "test_cells_are_clipped_then_transformed_then_multiplied",
    ),
    "types of a product's columns go unchecked": mutant(
        (ARROW, "check_types(types, name, column, texts=texts, where=where)", "pass"),
        by=TEST_DERIVED + "TestRefusals::test_a_declared_type_that_does_not_fit",
    ),
    "missing dates at the origin": mutant(
        (DATES, "return np.where(np.asarray(pc.is_null(ticks).to_numpy(zero_copy_only=False)), np.nan, found)", "return found"),
        by=TEST_DATES + "test_any_ticks_become_days",
    ),
    "moments rounded before they are divided": mutant(
        (
            DATES,
            "return np.asarray(whole.astype(np.float64) + (ticks - whole * per_day).astype(np.float64) / per_day)",
            "return ticks / per_day",
        ),
        by=TEST_DATES + "test_any_ticks_become_days",
    ),
    "a 30th of February": mutant(
        (DATES, "known &= (day >= 1) & (day <= of_month)", "known &= (day >= 1) & (day <= 31)"),
        by=TEST_DATES + "test_any_other_text_is_missing[2019-02-29]",
    ),
    "zones east for west": mutant(
        (DATES, 'number("minute") - east *', 'number("minute") + east *'), by=TEST_DATES + "test_zones_are_moved_to_utc"
    ),
    "numbers where dates are declared": mutant(
        (DESCRIBED, "if isinstance(described, Numeric) and described.dates is not None:", "if False:"),
        by=TEST_DATES + "TestRefusals::test_arrays_hold_no_dates",
    ),
    "any type may hold dates": mutant(
        (DATES, "(parsed and is_text(kind))):", "True):"), by=TEST_DATES + "TestRefusals::test_arrays_hold_no_dates"
    ),
    "a blank cell deletes its row": mutant(
        ("sources/csv_file.py", "ignore_empty_lines=len(columns) == 0 or len(self.names) > 1,", "ignore_empty_lines=True,"),
        by=TEST_PROMISES + "test_a_cell_cannot_delete_its_row",
    ),
    "a mark of a file is taken off a cell where a piece begins": mutant(
        ("sources/csv_file.py", "if end - start >= CSV_PIECE and not self._has_mark(end):", "if end - start >= CSV_PIECE:"),
        by="tests/sources/test_csv_cuts.py::test_pieces_hold_the_records_of_the_file_whatever_it_holds",
    ),
    "flags counted as columns of a table": mutant(
        (
            "sources/fitting.py",
            "tuple(name for name in table.names if name not in read)",
            "tuple(table.names[len(schema.used) :])",
        ),
        by="tests/sources/test_fitting.py::test_columns_that_are_not_used_are_named",
    ),
    "rows of a comparison that are overwritten": mutant(
        ("sources/kept.py", "if scratch or self.by_column else rows", "if scratch else rows"),
        by=TEST_BY_COLUMN + "TestKeptSource::test_it_has_the_sums_of_its_source[100]",
    ),
    "a row that waits for no partner": mutant(
        (PAIRED, "self._waiting.append(rows[end:].copy())", "pass"),
        by=TEST_PAIRED + "TestSums::test_arrays_in_blocks_of_any_size[3-41]",
    ),
    "a waiting row that is overwritten": mutant(
        (PAIRED, "self._waiting.append(rows[end:].copy())", "self._waiting.append(rows[end:])"),
        by=TEST_PAIRED + "TestSums::test_every_container[arrow-3-41]",
    ),
    "pairs of twice the covariance": mutant(
        (PAIRED, "HALF = 1 / math.sqrt(2)", "HALF = 1.0"), by=TEST_PAIRED + "TestSums::test_arrays_in_blocks_of_any_size[2-40]"
    ),
    "pairs where rows are added": mutant(
        (PAIRED, "        if neighbors != REPLACE:\n", "        if False:\n"),
        by=TEST_PAIRED + "TestRefusals::test_before_anything_is_read",
    ),
    "pairs of a stream": mutant(
        (PAIRED, "        if not source.ordered:\n", "        if False:\n"),
        by=TEST_PAIRED + "TestRefusals::test_streams_and_queries",
    ),
    "exceptions keep the cells": mutant(
        ("errors.py", "        error.__context__ = None\n", "        pass\n"),
        by=TEST_PROMISES + "test_a_broken_line_is_quoted_nowhere",
    ),
    "only the first missing column is told": mutant(
        ("sources/arrow.py", "map(repr, missing or repeated[:1])", "map(repr, (missing or repeated)[:1])"),
        by="tests/cli/test_schema.py::test_all_missing_columns_are_told_at_once",
    ),
    "thousands are guessed": mutant(
        ("sources/cells.py", 'COMMA_NUMBER = NUMBER.replace(r"\\.", ",")', 'COMMA_NUMBER = NUMBER.replace(r"\\.", "[.,]")'),
        by="tests/sources/test_csv_text.py::test_a_mark_between_thousands_makes_a_missing_cell",
    ),
    "bytes that mean nothing raise": mutant(
        ("sources/csv_text.py", '(errors="replace")', '(errors="strict")'),
        by="tests/sources/test_csv_text.py::test_no_bytes_are_refused",
    ),
}
