"""Planted bugs in whose rows are, where rows of a person stand in several parts or come from several partitions."""

from __future__ import annotations

from importlib.util import find_spec

from tests.engines.planted_clusters import HAS_DASK, HAS_SPARK
from tests.mutation.form import Mutant, mutant

ARROW = "sources/arrow.py"
CLUSTER = "sources/cluster.py"
DASK = "sources/dask.py"
DEVICE = "sources/device_sums.py"
DIVIDED = "sources/divided.py"
SPARK = "sources/spark.py"
SPLIT = "sources/split.py"
TORCH = "sources/torch.py"
USER_MAP = "sources/user_map.py"

BESIDE = "tests/engines/test_beside.py::"
FILES = BESIDE + "TestParts::test_of_files"
CHANGES = BESIDE + "TestTables::"
TOGETHER = BESIDE + "TestClusters::test_every_question_has_the_same_integers"
N = BESIDE + "test_a_count_of_people_is_never_that_of_rows"
ON_DEVICE = "tests/engines/test_torch.py::"

OF_PARTS = {
    "each part gives shares to all rows of its people": mutant(
        (DIVIDED, "rows[places] = quota.whole, quota.rows", "rows[places] = quota.whole, quota.whole"),
        by=CHANGES + "test_parts_that_change_give_no_person_more_than_one_share[0]",
    ),
    "each part shares out by its own rows alone": mutant(
        (DIVIDED, "rows[places] = quota.whole, quota.rows", "rows[places] = quota.rows, quota.rows"),
        by=FILES + "[unit-parts-False]",
    ),
    "parts that share out more rows than a person has": mutant(
        (DIVIDED, "granted = np.minimum(tally.rows[known], self._left[whose])", "granted = tally.rows[known]"),
        by=CHANGES + "test_quotas_of_all_parts_add_up_to_the_rows_of_a_person",
    ),
    "people of a part by the beginning of their names": mutant(
        (
            DIVIDED,
            "    texts = column.cast(pa.large_binary())\n",
            "    texts = pc.binary_slice(column.cast(pa.binary()), 0, 64)\n",
        ),
        by=FILES + "[text-parts-False]",
    ),
    "rows of a part that are nobody's, taken for one person's": mutant(
        (DIVIDED, "return pa.array(words.view(np.int64), mask=~known)", "return pa.array(words.view(np.int64))"),
        by=FILES + "[unit-parts-False]",
    ),
    "names of a part that name nobody, taken for people": mutant(
        (DIVIDED, "pc.if_else(people._says_who(texts), texts,", "pc.if_else(pc.is_valid(texts), texts,"),
        by=FILES + "[text-parts-False]",
    ),
    "rows of all parts counted as people": mutant(
        (SPLIT, "        self._n = people.n\n", "        self._n = self._rows\n"), by=N
    ),
    "what a part counted, taken for another's": mutant(
        (USER_MAP, " and list(sums.integers.of_parts) == [number]:", ":"),
        by="tests/engines/test_user_map.py::test_counts_of_another_part_are_refused",
    ),
    "the rows of all partitions counted as people": mutant(
        (ARROW, "counted = source.n if self.quota is None else source.rows", "counted = source.rows"), by=N
    ),
    "people counted in each partition of a cluster": mutant(
        (CLUSTER, "part.aside.unit and not table.joins_people:", "part.aside.unit and False:"),
        by=BESIDE + "TestClusters::test_a_cluster_that_leaves_rows_where_they_are_is_refused",
    ),
    "rows that are cut by where they stand": mutant(
        (
            CLUSTER,
            "order, ends = np.argsort(place, kind",
            "place = place * 0 + np.arange(len(place)) % count\n                order, ends = np.argsort(place, kind",
        ),
        by=TOGETHER + "[unit-False]",
    ),
    "rows that are cut by their names' place in a batch": mutant(
        (
            DIVIDED,
            "words = people._mixed(people._identifiers(keys, {})[0])",
            "words = keys.dictionary_encode().indices.fill_null(0).to_numpy().astype(np.uint64)",
        ),
        by=TOGETHER + "[text-False]",
    ),
}

OF_DEVICES = {
    "rows of people on a device that rounding made longer": mutant(
        (DEVICE, "    found.copy_(exact.trunc().where(long[:, None], found))  #", "    assert long is not None  #"),
        by=ON_DEVICE + "test_rows_of_people_that_try_to_break_things[cpu]",
    ),
    "people on a device whose reading never begins": mutant(
        (TORCH, "                self._people.start()\n", ""),
        by=ON_DEVICE + "test_people_and_weights_have_the_same_integers[tensor, moved-unit-False-cpu]",
    ),
    "people who are counted by rows on a device": mutant(
        (TORCH, "            if there is None or of_people:\n", "            if there is None:\n"),
        by=ON_DEVICE + "test_a_count_of_people_is_no_count_of_rows[cpu]",
    ),
    "groups of a device in the order of their rows": mutant(
        (DEVICE, "[device.moved(order)]", ""), by=ON_DEVICE + "test_groups_have_the_same_integers[False-cpu]"
    ),
}

OF_DASK = {
    "rows of people that stay in two partitions": mutant(
        (DASK, "    if len(shards) <= 1:\n", "    if len(shards) <= 2:\n"),
        by="tests/engines/test_dask.py::test_rows_of_a_person_are_brought_together_at_every_number_of_partitions[2]",
    ),
}

OF_SPARK = {
    "rows of people that stay where they are": mutant(
        (SPARK, 'return keyed.repartition("who").drop("who")', 'return keyed.drop("who")'),
        by="tests/engines/test_spark.py::test_people_and_weights_have_the_same_integers[unit]",
    ),
}

PLANTED: dict[str, Mutant] = (
    OF_PARTS | (OF_DEVICES if find_spec("torch") else {}) | (OF_DASK if HAS_DASK else {}) | (OF_SPARK if HAS_SPARK else {})
)
"""Where an engine is not installed its tests are skipped, and catch nothing."""
