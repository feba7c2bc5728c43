"""Planted bugs in engines: sums that are integers still, and wrong; words that quote cells; rows that leave a cluster."""

from __future__ import annotations

import shutil
from importlib.util import find_spec

from tests.engines.planted import QUOTED, WORKER
from tests.mutation.form import Mutant, mutant

CLUSTER = "sources/cluster.py"
DASK = "sources/dask.py"
SPARK = "sources/spark.py"
ON_SPARK = "sources/on_spark.py"
PARQUET = "sources/parquet.py"
INPUTS = "estimators/inputs.py"

PLACE = '"in a database" if is_in_database(X) else "on a cluster"'

TEST_CLUSTER = "tests/engines/test_cluster.py::"
TEST_DASK = "tests/engines/test_dask.py::"
TEST_RECORDS = "tests/engines/test_spark_records.py::"
TEST_SPARK = "tests/engines/test_spark.py::"

OF_CLUSTERS = {
    "sums of a cluster added twice": mutant(
        (
            CLUSTER,
            "found = added([zeros, *table.run(task, len(zeros.integers))])",
            "found = added([zeros, *2 * table.run(task, len(zeros.integers))])",
        ),
        by=TEST_CLUSTER + "test_every_question_has_the_same_integers[cuts1-False]",
    ),
    "sums of a cluster in floats": mutant(
        (CLUSTER, "np.array([sums.rows], dtype=np.int64)", "np.array([sums.rows], dtype=np.float64)"),
        by=TEST_CLUSTER + "test_every_question_has_the_same_integers[cuts0-True]",
    ),
    "partitions without rows end the sum": mutant(
        (
            CLUSTER,
            "    for reply in replies:\n",
            "    for reply in takewhile(lambda reply: reply.integers[0] != 0, replies):\n",
        ),
        (
            CLUSTER,
            "from typing import Any, NamedTuple, Self\n",
            "from itertools import takewhile\nfrom typing import Any, NamedTuple, Self\n",
        ),
        by=TEST_CLUSTER + "test_every_question_has_the_same_integers[cuts2-False]",
    ),
    "a cluster without partitions has no sums": mutant(
        (
            CLUSTER,
            "found = added([zeros, *table.run(task, len(zeros.integers))])",
            "found = added(table.run(task, len(zeros.integers)))",
        ),
        by=TEST_CLUSTER + "test_a_table_without_partitions_has_the_sums_of_no_rows",
    ),
    "replies that a cluster still holds are overwritten": mutant(
        (CLUSTER, "total = reply.integers.copy()", "total = reply.integers"),
        by=TEST_CLUSTER + "test_sums_are_exact_where_floats_are_not_and_wrap_around",
    ),
    "partitions that failed are left out": mutant(
        (
            CLUSTER,
            "        if reply.error is not None:\n            return reply\n",
            "        if reply.error is not None:\n            continue\n",
        ),
        by=TEST_CLUSTER + "TestErrors::test_one_of_a_partition_is_told_in_its_words",
    ),
    "workers quote what a library says": mutant(
        (WORKER, *QUOTED), by=TEST_CLUSTER + "TestErrors::test_one_of_a_library_is_not"
    ),
    "workers of any version": mutant(
        (WORKER, "if version != __version__:", "if False:"),
        by=TEST_CLUSTER + "TestErrors::test_workers_of_another_version_are_refused",
    ),
    "statistics that keep rows are sent": mutant(
        (CLUSTER, "if type(statistic) not in SENT:", "if False:"),
        by=TEST_CLUSTER + "TestRowsStayWhereTheyAre::test_kept_rows",
    ),
}

OF_DASK = {
    "the last partition of many is left out": mutant(
        (DASK, "for start in range(0, len(replies), FAN_IN)]", "for start in range(0, max(len(replies) - 2, 1), FAN_IN)]"),
        by=TEST_DASK + "test_every_question_about_a_frame_has_the_same_integers[of pandas objects-False]",
    ),
    "chunks of some columns are taken for rows": mutant(
        (DASK, "self._data.rechunk({1: -1}).to_delayed()", "self._data.to_delayed()"),
        by=TEST_DASK + "test_every_question_about_an_array_has_the_same_integers[rows and columns-False]",
    ),
    "errors of Dask quote cells": mutant(
        (
            DASK,
            "        with reading(HINT):\n            return _summed(task, _frame, self._data.to_delayed())\n",
            "        if HINT:\n            return _summed(task, _frame, self._data.to_delayed())\n",
        ),
        by=TEST_DASK + "test_an_error_of_the_graph_quotes_nothing",
    ),
    "estimators bring the rows of a cluster here": mutant(
        (INPUTS, "or is_unread_table(data) or is_elsewhere(data)", "or is_unread_table(data)"),
        by=TEST_DASK + "TestEstimators::test_of_an_array",
    ),
    "estimators convert what is on a cluster": mutant(
        (
            INPUTS,
            "    if is_elsewhere(X):\n        place = PLACE\n        raise ParameterError(\n".replace("PLACE", PLACE),
            "    if False:\n        place = PLACE\n        raise ParameterError(\n".replace("PLACE", PLACE),
        ),
        by=TEST_DASK + "TestEstimators::test_what_wants_rows_is_refused",
    ),
}

OF_RECORDS = {
    "one run of a place is all of it": mutant(
        (SPARK, "sums[place] = sums[place] + run if place in sums else run", "sums[place] = run"),
        by=TEST_RECORDS + "test_runs_are_added_wherever_they_meet[2-1]",
    ),
    "runs are added in floats": mutant(
        (
            SPARK,
            "np.frombuffer(content, dtype=LITTLE_ENDIAN).astype(np.int64)",
            "np.frombuffer(content, dtype=LITTLE_ENDIAN) * 1.0",
        ),
        by=TEST_RECORDS + "test_a_place_that_was_cut_in_two_is_added_here",
    ),
    "runs in the order in which they came": mutant(
        (SPARK, "[sums[place] for place in sorted(sums)]", "[sums[place] for place in sums]"),
        by=TEST_RECORDS + "test_runs_are_added_wherever_they_meet[3--1]",
    ),
    "partitions of Spark that failed are left out": mutant(
        (
            SPARK,
            "        if error is not None:\n            return {}, error\n",
            "        if error is not None:\n            continue\n",
        ),
        by=TEST_RECORDS + "test_an_error_of_one_partition_is_all_that_comes_back",
    ),
    "a sum of Spark without its last run": mutant(
        (SPARK, "if len(integers) != size:", "if False:"),
        by=TEST_RECORDS + "test_a_sum_that_lacks_a_run_is_refused[2]",
    ),
    "cells of an array by row": mutant(
        (SPARK, ".reshape(rows, width).T.ravel()", ".reshape(rows, width).ravel()"),
        by=TEST_RECORDS + "TestCellsThatTravelTogether::test_they_come_apart_as_they_were[cuts0]",
    ),
    "cells before a slice of arrays": mutant(
        (SPARK, "lists.flatten().take(", "lists.values.take("),
        by=TEST_RECORDS + "TestCellsThatTravelTogether::test_they_come_apart_as_they_were[cuts1]",
    ),
    "the last pieces of files are dealt to nobody": mutant(
        (SPARK, "    if together:\n        yield together\n", ""),
        by=TEST_RECORDS + "TestFiles::test_each_row_is_dealt_once[500-2]",
    ),
    "pieces of files are dealt to each task that follows": mutant(
        (SPARK, "            together, cells = [], 0\n", "            cells = 0\n"),
        by=TEST_RECORDS + "TestFiles::test_each_row_is_dealt_once[1-8]",
    ),
    "pieces of files are all the file": mutant(
        (PARQUET, "piece._groups, piece.rows = run, rows", "piece.rows = rows"),
        by=TEST_RECORDS + "TestFiles::test_each_row_is_dealt_once[1-8]",
    ),
    "a record that shows where rows are": mutant(
        (ON_SPARK, "path: str | os.PathLike[str] = field(repr=False)", "path: str | os.PathLike[str] = field()"),
        by=TEST_RECORDS + "TestFiles::test_a_record_shows_no_path",
    ),
    "columns in the order of their types": mutant(
        (SPARK, "[columns[place] for place in range(len(names))]", "list(columns.values())"),
        by=TEST_RECORDS + "TestCellsThatTravelTogether::test_they_come_apart_as_they_were[cuts0]",
    ),
}

OF_SPARK = {
    "a task has the sums of its first piece": mutant(
        (
            SPARK,
            "return _records(added(replies)) if replies else iter(())",
            "return _records(replies[0]) if replies else iter(())",
        ),
        by=TEST_SPARK + "TestFiles::test_a_path_from_where_this_process_is",
    ),
    "paths that are relative to this process": mutant(
        (SPARK, "checked_path(path).absolute()", "checked_path(path)"),
        by=TEST_SPARK + "TestFiles::test_a_path_from_where_this_process_is",
    ),
    "a file that one worker lacks is a broken one": mutant(
        (PARQUET, "except (FileNotFoundError, PermissionError):", "except InterruptedError:"),
        by=TEST_SPARK + "TestFiles::test_files_that_workers_do_not_see",
    ),
    "columns in the order of Spark": mutant(
        (
            SPARK,
            "places = [self.names.index(name) for name in columns]",
            "places = sorted(self.names.index(name) for name in columns)",
        ),
        by=TEST_SPARK + "test_columns_are_found_by_their_exact_names",
    ),
    "a setting of the session changed for good": mutant(
        (SPARK, "after.callback(_put_back, settings, own)", "after.callback(len, settings.getAll)"),
        by=TEST_SPARK + "TestTheLimitOfABatch::test_a_reading_leaves_the_session_as_it_was",
    ),
    "a default that is written down": mutant(
        (SPARK, "own = settings.get(MAX_BYTES, None)", "own = settings.get(MAX_BYTES)"),
        by=TEST_SPARK + "TestTheLimitOfABatch::test_it_is_lifted_and_put_back[None]",
    ),
    "two readings that change a setting": mutant(
        (SPARK, "if _settings.acquire(blocking=False):", "if _settings.acquire(blocking=False) or True:"),
        (SPARK, "            after.callback(_settings.release)\n", ""),
        by=TEST_SPARK + "TestTheLimitOfABatch::test_of_two_readings_one_lifts_it",
    ),
    "batches without an end": mutant(
        (SPARK, "if limit and rows > 0 and all(map(_has_one_size, types)):", "if limit and all(map(_has_one_size, types)):"),
        by=TEST_SPARK + "TestTheLimitOfABatch::test_where_it_may_be_met_it_stays[settings1-types1]",
    ),
}

HAS_DASK = find_spec("distributed") is not None
HAS_SPARK = find_spec("pyspark") is not None and shutil.which("java") is not None

PLANTED: dict[str, Mutant] = OF_CLUSTERS | OF_RECORDS | (OF_DASK if HAS_DASK else {}) | (OF_SPARK if HAS_SPARK else {})
"""Where an engine is not installed its tests are skipped, and catch nothing."""
