"""Planted bugs in taking sources apart, and in adding them up elsewhere."""

from __future__ import annotations

from tests.mutation.form import mutant

CUTS = "sources/csv_cuts.py"
POOL = "sources/pool.py"
USER_MAP = "sources/user_map.py"
WORKER = "sources/worker.py"
SPLIT = "sources/split.py"
MANY = "sources/many.py"

TEST_CUTS = "tests/sources/test_csv_cuts.py::"
TEST_ENGINES = "tests/engines/test_every_engine.py::test_every_question_about_a_table_has_the_same_integers"
TEST_NUMBERS = "tests/engines/test_every_engine.py::test_every_question_about_plain_numbers_has_the_same_integers"
TEST_FILES = "tests/sources/test_many_files.py::"
TEST_POOL = "tests/engines/test_pool.py::"
TEST_MAP = "tests/engines/test_user_map.py::"

QUOTED = (
    "    except Exception:  # its words may quote a cell\n        return None, (EngineError.__name__, broken)\n",
    "    except Exception as error:\n        return None, (EngineError.__name__, str(error))\n",
)
"""What a library says of an error is passed on."""

PLANTED = {
    "a part of a user's map that counts twice": mutant(
        (USER_MAP, "missing.remove(number)", "missing.discard(number)"),
        by=TEST_MAP + "test_each_part_counts_once_or_nothing_is_answered[twice]",
    ),
    "a part of a user's map that is lost": mutant(
        (
            USER_MAP,
            "if failed or missing or next(numbered, None) is not None:",
            "if failed or next(numbered, None) is not None:",
        ),
        by=TEST_MAP + "test_each_part_counts_once_or_nothing_is_answered[without_one]",
    ),
    "parts that a user's map never took": mutant(
        (USER_MAP, "if failed or missing or next(numbered, None) is not None:", "if failed or missing:"),
        by=TEST_MAP + "test_each_part_counts_once_or_nothing_is_answered[silent]",
    ),
    "one number of a user's map is added to all": mutant(
        (USER_MAP, "if not counted or others not in (None, sums.integers.shape):", "if not counted:"),
        by=TEST_MAP + "test_each_part_counts_once_or_nothing_is_answered[one entry]",
    ),
    "an error of a user's map stays behind": mutant(
        (
            USER_MAP,
            "failed = True  # raised outside, where nothing refers to it",
            'raise EngineError("workers must return the sums of each part once, got an error or other") from None',
        ),
        by=TEST_MAP + "test_each_part_counts_once_or_nothing_is_answered[dying]",
    ),
    "a user's map that quotes": mutant(
        (WORKER, *QUOTED), by=TEST_MAP + "test_a_part_that_cannot_be_read_is_told_in_our_words[raise]"
    ),
    "only the last part counts": mutant(
        (SPLIT, "total = found.integers if total is None else total + found.integers", "total = found.integers"),
        by=TEST_ENGINES + "[csv-parts-True]",
    ),
    "parts that have an order": mutant(
        (SPLIT, "    ordered = False\n", "    ordered = True\n"), by=TEST_POOL + "test_pairs_are_refused"
    ),
    "parts of other rows at a second reading": mutant(
        (SPLIT, "if self._rows not in (None, rows):", "if False:"),
        by=TEST_POOL + "test_a_second_reading_of_other_rows_is_noticed",
    ),
    "a worker that forgets its last part": mutant(
        (WORKER, "total = found.integers if total is None else total + found.integers", "total = found.integers"),
        by=TEST_POOL + "TestAWorker::test_it_adds_up_what_it_was_given",
    ),
    "a worker that goes on with the sum before": mutant(
        (WORKER, "statistic, total = content, None", "statistic = content"),
        by=TEST_POOL + "TestAWorker::test_it_adds_up_what_it_was_given",
    ),
    "a worker that quotes": mutant((WORKER, *QUOTED), by=TEST_POOL + "TestAWorker::test_its_errors_quote_nothing"),
    "a worker that dies unnoticed": mutant(
        (
            POOL,
            "    except Exception:  # a pipe that broke, an answer that was cut short\n        results.put(",
            "    except Exception:\n        for _ in range(2):\n            results.put(PartSums(None, 0))\n        len(",
        ),
        by=TEST_POOL + "test_a_worker_that_fails_ends_in_one_clear_error",
    ),
    "an interrupt that leaves processes": mutant(
        (
            POOL,
            "            self.close()\n            for _ in range(self._workers):",
            "            for _ in range(self._workers):",
        ),
        by=TEST_POOL + "test_an_interrupt_leaves_nobody_behind",
    ),
    "threads of its own for each product": mutant(
        (POOL, 'environment = os.environ | dict.fromkeys(THREADS, "1")', "environment = dict(os.environ)"),
        by=TEST_POOL + "test_a_worker_has_one_thread",
    ),
    "a cut inside quotes": mutant(
        (CUTS, "outside = lines[(np.searchsorted(quotes, lines) + inside) % 2 == 0]", "outside = lines"),
        by=TEST_CUTS + "test_pieces_hold_the_records_of_the_file_whatever_it_holds",
    ),
    "quotes of an earlier chunk forgotten": mutant(
        (CUTS, "        inside = bool((len(quotes) + inside) % 2)\n", "        inside = bool(len(quotes) % 2)\n"),
        by=TEST_CUTS + "test_pieces_hold_the_records_of_the_file_whatever_it_holds",
    ),
    "a quote inside a cell taken for its beginning": mutant(
        (CUTS, "if not behind[opens].all() or not", "if not"),
        by=TEST_CUTS + "test_no_cut_behind_a_quote_that_is_out_of_place",
    ),
    "a quote behind a closed cell": mutant(
        (CUTS, "behind[opens].all() or not _closed_well(found, before, inside, quotes, opens, between)", "behind[opens].all()"),
        by=TEST_CUTS + "test_no_cut_behind_a_quote_that_is_out_of_place",
    ),
    "the names cut off": mutant(
        (CUTS, "and start + int(outside[-1]) > first:", "and first >= 0:"), by=TEST_CUTS + "test_cuts_behind_each_record"
    ),
    "the last row groups left out": mutant(
        ("sources/parquet.py", "if rows >= PIECE_ROWS or group == last:", "if rows >= PIECE_ROWS:"),
        by=TEST_ENGINES + "[folder of parquet-parts-False]",
    ),
    "rows of a mapped file from its beginning": mutant(
        ("sources/mapped.py", "return MappedRows(self._path, self._start + start,", "return MappedRows(self._path, start,"),
        by=TEST_FILES + "test_rows_of_a_mapped_file_and_of_parts_of_its_parts",
    ),
    "runs that overlap": mutant(
        ("sources/array.py", "rows = array[start : start + step] if", "rows = array[start : start + step + 1] if"),
        by=TEST_NUMBERS + "[array-parts-False]",
    ),
    "files in any order": mutant(
        (
            "sources/places.py",
            "placed = sorted(found, key=lambda place: place.path)",
            "placed = sorted(found, key=lambda place: place.path, reverse=True)",
        ),
        by=TEST_FILES + "TestFound::test_in_the_order_of_their_paths",
    ),
    "only the first file is checked": mutant(
        (MANY, 'return getattr(table, "members", [(table, "")])', 'return getattr(table, "members", [(table, "")])[:1]'),
        by=TEST_FILES + "test_refused[dates in place of numbers]",
    ),
    "a missing value in the name of a folder is a level": mutant(
        ("sources/places.py", "None if value == NO_VALUE else unquote(value)", "unquote(value)"),
        by=TEST_FILES + "TestFound::test_the_keys_of_folders",
    ),
    "names of folders in messages": mutant(
        ("sources/places.py", "{self._pure.name!r}", "{self.path!r}"),
        by=TEST_FILES + "test_a_folder_is_not_named",
    ),
    "the exact number of rows while they are read": mutant(
        ("sources/base.py", "if rows >= LEAST_ROWS else 0", "if rows >= LEAST_ROWS else rows"),
        by=TEST_POOL + "TestProgress::test_rows_are_told_with_two_digits_or_not_at_all",
    ),
    "a sheet whose cells decide its types": mutant(
        ("sources/through_pandas.py", "dtype=object, keep_default_na=False", "keep_default_na=False"),
        by=TEST_FILES + "TestThroughPandas::test_a_sheet_is_text_cell_by_cell",
    ),
}
