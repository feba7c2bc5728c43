"""Planted bugs in engines: sums that are integers still, and wrong; words that quote cells; rows that leave a cluster."""

from __future__ import annotations

from importlib.util import find_spec

from tests.mutation.form import Mutant, mutant

CLUSTER = "sources/cluster.py"
DASK = "sources/dask.py"

TEST_CLUSTER = "tests/engines/test_cluster.py::"
TEST_DASK = "tests/engines/test_dask.py::"

OF_CLUSTERS = {
    "sums of a cluster added twice": mutant(
        (
            CLUSTER,
            "found = added([Reply.of(nothing), *table.run(task)])",
            "found = added([Reply.of(nothing), *2 * table.run(task)])",
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
        (CLUSTER, "found = added([Reply.of(nothing), *table.run(task)])", "found = added(table.run(task))"),
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
        (
            CLUSTER,
            "except Exception:  # its words may quote a cell\n            return _failure(EngineError.__name__, BROKEN)\n",
            "except Exception as error:\n            return _failure(EngineError.__name__, str(error))\n",
        ),
        by=TEST_CLUSTER + "TestErrors::test_one_of_a_library_is_not",
    ),
    "workers of any version": mutant(
        (CLUSTER, "if self.version != __version__:", "if False:"),
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
            "        with reading(HINT):\n            return _summed(task, _of_frame, self._data.to_delayed())\n",
            "        if HINT:\n            return _summed(task, _of_frame, self._data.to_delayed())\n",
        ),
        by=TEST_DASK + "test_an_error_of_the_graph_quotes_nothing",
    ),
}

PLANTED: dict[str, Mutant] = OF_CLUSTERS | (OF_DASK if find_spec("distributed") else {})
"""Where an engine is not installed its tests are skipped, and catch nothing."""
