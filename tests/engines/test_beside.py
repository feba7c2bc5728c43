"""Whose rows are they, what do they weigh, in which group are they: the same integers, whoever sums them."""

from __future__ import annotations

import itertools
import multiprocessing
import pickle
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import dpcov
from dpcov.errors import DpcovError, EngineError, ParameterError, SchemaError
from dpcov.kernel.account import Account
from dpcov.kernel.questions.moments import Count, SecondMoment
from dpcov.kernel.rows.aside import SHARE_BITS
from dpcov.kernel.rows.grid import Grid
from dpcov.release.file import text_of
from dpcov.sources import array as arrays
from dpcov.sources import csv_file, opening, parquet, pieces
from dpcov.sources import divided as parts_of_people
from dpcov.sources.arrow import ArrowSource
from dpcov.sources.cluster import Cluster, ClusterTable, PartitionTable, Reply, Shard, Task, joined
from dpcov.sources.divided import DividedPeople, PeopleOfPart, Tally, named, spread, tally_of
from dpcov.sources.opening import open_source
from dpcov.sources.pool import Pool
from dpcov.sources.split import CHANGED, Here, SplitSource
from dpcov.sources.user_map import UserMap
from tests.engines.beside import (
    ARRAYS,
    ASIDES,
    GROUPS,
    NUMBERED_GROUPS,
    array,
    aside,
    check,
    cuts,
    expected,
    expected_groups,
    expected_of_array,
    grouped,
    table,
)
from tests.engines.engines import Lent
from tests.engines.test_cluster import Partitions, partition
from tests.sources.mixed import NUMBERS, SCHEMA

POOL = Pool(2)
either = pytest.mark.parametrize("center", [False, True])


def backwards(function: Any, parts: Any) -> list[Any]:
    """A user's map whose results come in another order, after a way to another process and back."""
    sent = pickle.dumps(function)
    found = [pickle.loads(pickle.dumps(pickle.loads(sent)(pickle.loads(pickle.dumps(part))))) for part in parts]
    return found[::-1]


ENGINES: dict[str, Any] = {"parts": Here(), "pool": Lent(POOL), "map": UserMap(backwards)}
any_engine = pytest.mark.parametrize("engine", ENGINES)


@pytest.fixture(autouse=True, scope="module")
def _end_the_pool() -> Iterator[None]:
    yield
    POOL.close()


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut a table of 240 rows into many parts."""
    monkeypatch.setattr(arrays, "PART_ELEMENTS", 300)
    monkeypatch.setattr(csv_file, "CSV_BLOCK", 3000)
    monkeypatch.setattr(csv_file, "CSV_PIECE", 4000)
    monkeypatch.setattr(parquet, "PIECE_ROWS", 90)
    monkeypatch.setattr(pieces, "PIECE_BYTES", 6000)
    monkeypatch.setattr(parts_of_people, "RUN", 5)


def in_parquet(folder: Path) -> Path:
    pq.write_table(table(), folder / "t.parquet", row_group_size=17)
    return folder / "t.parquet"


def in_folder(folder: Path) -> Path:
    (folder / "parts").mkdir()
    for number, (start, end) in enumerate(cuts()):
        pq.write_table(table()[start:end], folder / "parts" / f"{number}.parquet", row_group_size=40)
    return folder / "parts"


HELD: dict[str, Any] = {
    "arrow": lambda _: pa.concat_tables([table()[start:end] for start, end in cuts()]),
    "parquet": in_parquet,
    "folder": in_folder,
    "duckdb": lambda _: duckdb.from_arrow(table()),
    "polars, lazy": lambda _: pl.DataFrame(pl.from_arrow(table())).lazy(),
}


def divided(engine: str, data: Any, *given: Any, **more: Any) -> SplitSource:
    source: Any = open_source(data, *given, **more)
    return SplitSource(source, ENGINES[engine])


class TestParts:
    """A person's rows stand in several parts, whose sums are made elsewhere."""

    @either
    @pytest.mark.parametrize(
        ("kind", "engine"),
        [
            *((kind, "parts") for kind in ASIDES),
            *((kind, engine) for kind in ("unit", "text, weight") for engine in ("pool", "map")),
        ],
    )
    def test_of_files(self, kind: str, engine: str, center: bool, tmp_path: Path) -> None:
        source = divided(engine, in_parquet(tmp_path), None, SCHEMA, center, aside=ASIDES[kind])
        check(source, expected(kind, center))

    @any_engine
    @pytest.mark.parametrize("held", HELD)
    @pytest.mark.parametrize("kind", ["text, weight"])
    def test_of_everything(self, kind: str, held: str, engine: str, tmp_path: Path) -> None:
        """Also of queries, whose rows may come in another order each time."""
        source = divided(engine, HELD[held](tmp_path), NUMBERS, None, False, aside=ASIDES[kind])
        check(source, expected(kind, False, None))
        assert source.n == (240 if not ASIDES[kind].unit else open_source(table(), NUMBERS, aside=ASIDES[kind]).n)

    @any_engine
    def test_of_text(self, engine: str, tmp_path: Path) -> None:
        """A CSV file has the identifiers as text."""
        text = table().select([*NUMBERS, "patient", "amount"])
        pyarrow.csv.write_csv(text.set_column(3, "größe", text["größe"].cast(pa.float64())), tmp_path / "t.csv")
        beside = aside("patient", 0, "amount")
        here = open_source(tmp_path / "t.csv", NUMBERS, aside=beside)
        source = divided(engine, tmp_path / "t.csv", NUMBERS, aside=beside)
        asked = [(question, here.total(question).tolist()) for question, _ in expected("text, weight", False, None)]
        check(source, asked)
        assert len(list(source._source.parts())) == 3

    @either
    @any_engine
    @pytest.mark.parametrize("kind", ARRAYS)
    @pytest.mark.parametrize("held", ["array", "npy"])
    def test_of_arrays(self, held: str, kind: str, engine: str, center: bool, tmp_path: Path) -> None:
        data: Any = array("number")
        if held == "npy":
            np.save(tmp_path / "t.npy", data)
            data = tmp_path / "t.npy"
        source = divided(engine, data, [0, 1, 2, 3, 4], None, center, aside=ARRAYS[kind])
        check(source, expected_of_array(kind, center))

    @either
    @any_engine
    @pytest.mark.parametrize("numbered", [False, True])
    def test_of_groups(self, numbered: bool, engine: str, center: bool, tmp_path: Path) -> None:
        by = NUMBERED_GROUPS if numbered else GROUPS
        source = divided(engine, in_folder(tmp_path), *grouped(by), center, by=by)
        check(source, expected_groups(center, numbered))

    def test_whole_numbers_of_an_array_are_told_apart_with_a_schema_as_well(self) -> None:
        rows = np.column_stack([np.ones(4, dtype=np.int64), 2**53 + np.arange(4) // 2])
        schema = dpcov.Schema({"x": dpcov.Numeric(0, 1), "who": dpcov.Ignored()})
        assert open_source(rows, schema=schema, aside=aside("who")).n == 2 == open_source(rows, aside=aside("x1")).n


RELEASES: dict[str, dict[str, Any]] = {
    "people": {"unit": "patient", "mechanism": "standardized"},
    "rows of people": {"unit": "who", "weighting": "rows", "most_rows": 3},
    "weights": {"weight": "amount", "max_weight": 5.0, "neighbors": "add-remove", "mechanism": "gaussian"},
    "groups": {"by": "stadt", "mechanism": "gaussian"},
}


def released(data: Any, name: str, **given: Any) -> str:
    return text_of(dpcov.covariance(data, dpcov.ZCDP(1), schema=SCHEMA, seed=7, **RELEASES[name], **given))


@pytest.mark.parametrize("name", RELEASES)
def test_a_seeded_release_is_the_same_byte_by_byte(name: str, tmp_path: Path) -> None:
    assert released(in_folder(tmp_path), name, workers=2) == released(table(), name)


def test_workers_of_other_libraries(tmp_path: Path) -> None:
    data = in_parquet(tmp_path)
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert released(data, "people", workers=pool.imap_unordered) == released(table(), "people")
    with ThreadPoolExecutor(2) as threads:
        assert released(data, "people", workers=threads.map) == released(table(), "people")


class Shuffled(ClusterTable):
    """A cluster that brings all rows of a person together by cutting shards, as Dask does."""

    kind, joins_people = "a table in partitions", True

    def __init__(self, tables: Sequence[Any], like: Any) -> None:
        super().__init__(like.schema.names, like.schema.types)
        self.tables, self._like = tables, like

    def select(self, columns: Sequence[str]) -> Self:
        chosen = list(columns)
        return type(self)([one.select(chosen) for one in self.tables], self._like.select(chosen))

    def run(self, task: Task, size: int) -> list[Reply]:
        task = pickle.loads(pickle.dumps(task))
        if not task.unit:
            return [task.reply(partition(one)) for one in self.tables]
        cut = [task.cut(pickle.loads(pickle.dumps(task.shard(partition(one)))), 3, 0) for one in self.tables]
        twice = [[task.cut(joined([pieces[place] for pieces in cut]), 3, 1)] for place in range(3)]
        replies = [task.reply_of(joined([found[0][place]])) for found in twice for place in range(3)]
        assert all(len(reply.integers) == size for reply in replies if reply.error is None)
        return replies


def on_cluster(tables: Sequence[Any], names: Any = None, schema: Any = None, center: bool = False, **given: Any) -> SplitSource:
    return SplitSource(ArrowSource(Shuffled(tables, tables[0]), names, schema, center, **given), Cluster())


def in_tables() -> list[Any]:
    return [table()[start:end] for start, end in cuts()]


class TestClusters:
    """All rows of a person are brought together, and counted where they are summed."""

    @either
    @pytest.mark.parametrize("kind", ASIDES)
    def test_every_question_has_the_same_integers(self, kind: str, center: bool) -> None:
        check(on_cluster(in_tables(), None, SCHEMA, center, aside=ASIDES[kind]), expected(kind, center))
        source = on_cluster(in_tables(), NUMBERS, None, center, aside=ASIDES[kind])
        check(source, expected(kind, center, None))
        assert source.n == open_source(table(), NUMBERS, aside=ASIDES[kind]).n

    @either
    @pytest.mark.parametrize("numbered", [False, True])
    def test_groups(self, numbered: bool, center: bool) -> None:
        by = NUMBERED_GROUPS if numbered else GROUPS
        check(on_cluster(in_tables(), *grouped(by), center, by=by), expected_groups(center, numbered))

    def test_a_cluster_that_leaves_rows_where_they_are_is_refused(self) -> None:
        """A person would count once in each partition."""
        rows = pa.table({"a": [0.5], "who": [1]})
        source = SplitSource(ArrowSource(Partitions(rows, rows), ["a"], aside=aside("who")), Cluster())
        for asked in (SecondMoment(Grid(1.0), 1, aside=aside("who")), Count(aside=aside("who"))):
            with pytest.raises(ParameterError, match="unit must be left out for a table in partitions, got 'who'"):
                source.total(asked)

    def test_identifiers_of_another_kind_in_one_partition_are_refused(self) -> None:
        """1 and 1.0 would be two people."""
        tables = [pa.table({"a": [0.5], "who": [1]}), pa.table({"a": [0.5], "who": [1.0]})]
        with pytest.raises(SchemaError, match="one kind in each file, got 'who' as numbers and whole numbers"):
            on_cluster(tables, ["a"], aside=aside("who")).total(SecondMoment(Grid(1.0), 1, aside=aside("who")))

    def test_an_error_in_one_partition_is_told_in_its_words(self) -> None:
        tables = [pa.table({"a": [0.5], "who": [1]}), pa.table({"a": ["SECRET"], "who": [1]})]
        with pytest.raises(SchemaError, match="column 'a' must be numeric, got the declared type string"):
            on_cluster(tables, ["a"], aside=aside("who")).total(SecondMoment(Grid(1.0), 1, aside=aside("who")))

    def test_an_error_of_a_library_is_not(self) -> None:
        class Broken:
            names, types = ["a", "who"], [pa.float64(), pa.int64()]

            def batches(self, *_: Any) -> Any:
                raise ValueError("SECRET")

        broken: Any = Broken()
        task = Task(SecondMoment(Grid(1.0), 1), ["a"], None, False, aside=aside("who"))
        failed = joined([task.shard(partition(pa.table({"a": [0.5], "who": [1]}))), *task.cut(task.shard(broken), 1, 0)])
        assert failed.error is not None
        assert failed.error[0] == "EngineError"
        assert "SECRET" not in str(task.reply_of(failed))

    def test_nor_is_one_on_the_way(self) -> None:
        """What fails with rows among its arguments is written into logs, rows and all."""
        task = Task(SecondMoment(Grid(1.0), 1), ["a"], None, False, aside=aside("who"))
        broken = Shard([PartitionTable(["a", "who"], [pa.float64(), pa.int64()], [pa.table({"a": ["SECRET"]}), "SECRET"])])
        for found in (*task.cut(broken, 2, 0), joined([broken])):
            assert found.error is not None
            assert found.error[0] == "EngineError"
            assert "SECRET" not in str(found)


class TestTables:
    """What changes between two readings gives nobody more than one share."""

    def test_quotas_of_all_parts_add_up_to_the_rows_of_a_person(self) -> None:
        draw = np.random.default_rng(8102)
        who = draw.integers(0, 30, 400)
        parts = [pa.array(part) for part in np.split(who, np.sort(draw.integers(0, 400, 9)))]
        whole, tallies = DividedPeople(), [tally_of([part]) for part in parts]
        whole.counted_apart(tallies)
        assert whole.n == len(np.unique(who))
        for _ in range(2):
            whole.start()
            quotas = [whole.quota(tally) for tally in tallies]
            given = np.zeros(30, dtype=np.int64)
            for quota in quotas:
                np.add.at(given, quota.keys.to_numpy(), quota.rows)
                assert (quota.whole == np.bincount(who, minlength=30)[quota.keys.to_numpy()]).all()
            assert given.tolist() == np.bincount(who, minlength=30).tolist()
            assert not whole.quota(tallies[-1]).rows.any()  # asked once more, there is nothing left

    @pytest.mark.parametrize("most_rows", [0, 3])
    def test_parts_that_change_give_no_person_more_than_one_share(self, most_rows: int) -> None:
        """What was counted in a part, and what is read in it, need not be the same."""
        draw = np.random.default_rng(8103)
        counted, read = (np.array_split(draw.integers(0, 8, 300), 7) for _ in range(2))
        known = DividedPeople(most_rows)
        tallies = [tally_of([part]) for part in counted]
        known.counted_apart(tallies)
        known.start()
        total = np.zeros(8)
        for tally, part in zip(tallies, read, strict=True):
            here = PeopleOfPart(known.quota(tally), most_rows)
            here.start()
            np.add.at(total, part, here.shares(pa.array(part)))
        assert (total <= 2**SHARE_BITS).all()
        assert total.max() > 2 ** (SHARE_BITS - 1)

    def test_strangers_and_nobody_have_no_share_in_a_part(self) -> None:
        known = DividedPeople()
        tally = tally_of([pa.array(["a", None, "b", "nan"])])
        assert tally.read == 4
        known.counted_apart([tally])
        known.start()
        here = PeopleOfPart(known.quota(tally), 0)
        here.start()
        assert here.shares(pa.array(["nan", "", None, "c", "a", "b"])).tolist() == [0, 0, 0, 0, *[2.0**52] * 2]
        assert known.quota(Tally(pa.array([b"c"], pa.large_binary()), np.array([5]), 5)).rows.tolist() == []

    @pytest.mark.parametrize("engine", ENGINES)
    def test_a_file_of_other_parts(self, engine: str, tmp_path: Path) -> None:
        source = divided(engine, in_parquet(tmp_path), NUMBERS, aside=ASIDES["unit"])
        assert source.n == 9
        one = SecondMoment(Grid(50.0), 5, aside=ASIDES["unit"])
        source.total(one)
        pq.write_table(table()[:120], tmp_path / "t.parquet", row_group_size=8)
        with pytest.raises(EngineError, match=CHANGED):
            source.total(one)

    def test_rows_that_change_their_owner(self, tmp_path: Path) -> None:
        """As many rows, all of them of one person, who had few of them: most count for nothing."""
        rows = pa.table({"who": [1, 2, 3, 4], "a": [1.0] * 4, "b": [0.0] * 4})
        question = SecondMoment(Grid(1.0), 2, aside=aside("who"))
        for engine in ENGINES:
            pq.write_table(rows, tmp_path / "t.parquet", row_group_size=1)
            source = divided(engine, tmp_path / "t.parquet", ["a", "b"], aside=aside("who"))
            assert source.total(question)[0] == 4 << question.unit_bits
            pq.write_table(rows.set_column(0, "who", pa.array([1] * 4)), tmp_path / "t.parquet", row_group_size=1)
            assert source.total(question)[0] <= 1 << question.unit_bits


class TestFailures:
    def test_a_worker_that_dies_between_two_readings(self, tmp_path: Path) -> None:
        """The next reading hands out all quotas anew."""
        pool = Pool(2)
        source: Any = open_source(in_parquet(tmp_path), NUMBERS, aside=ASIDES["unit"])
        divided = SplitSource(source, pool)
        question, integers = expected("unit", False, None)[2]
        try:
            assert divided.n == 9
            pool._processes[0].kill()
            pool._processes[0].wait()
            with pytest.raises(EngineError, match="workers must stay alive"):
                divided.total(question)
            assert divided.total(question).tolist() == integers
        finally:
            divided.close()

    def test_an_interrupt_while_people_are_counted_leaves_nobody_behind(self, tmp_path: Path) -> None:
        def stopped(portion: Any) -> None:  # noqa: ARG001
            raise KeyboardInterrupt

        source: Any = open_source(in_parquet(tmp_path), NUMBERS, aside=ASIDES["unit"])
        pool = Pool(2)
        with pytest.raises(KeyboardInterrupt):
            _ = SplitSource(source, pool, stopped).n
        assert not pool._processes

    def test_one_that_fails_while_people_are_counted_costs_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def charge(*_: object) -> None:
            raise AssertionError("something was spent")

        def failing(task: Any, parts: Any) -> Any:  # noqa: ARG001
            raise ValueError(f"SECRET {list(parts)}")

        monkeypatch.setattr(Account, "charge", charge)
        with pytest.raises(EngineError, match="workers must return the sums of each part once") as caught:
            dpcov.covariance(in_parquet(tmp_path), dpcov.ZCDP(1), schema=SCHEMA, unit="who", workers=failing)
        assert caught.value.__context__ is None
        assert "SECRET" not in str(caught.value)

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"unit": "nobody there"}, "unit must be a column of the data"),
            ({"unit": "height"}, "which is one"),
            ({"unit": "smoker"}, "which is one"),
            ({"weight": "patient", "max_weight": 1}, "column 'patient' must be numeric"),
            ({"by": "patient"}, "by must be a column with levels in the schema"),
            ({"unit": "who", "mechanism": "coinpress", "centring": "pairs", "schema": None, "upper": 9}, "pairs"),
        ],
    )
    @pytest.mark.parametrize("where", ["pool", "cluster"])
    def test_what_says_nothing_of_people_is_refused_before_anything_is_read(
        self, where: str, given: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def read(*_: object) -> None:
            raise AssertionError("rows were read")

        def on_a_cluster(data: Any, schema: Any) -> Any:  # noqa: ARG001
            return Shuffled([data], data)

        monkeypatch.setattr(Pool, "run", read)
        monkeypatch.setattr(Shuffled, "run", read)
        monkeypatch.setattr(opening, "is_on_cluster", lambda _: where == "cluster")
        monkeypatch.setattr(opening, "_cluster_table", on_a_cluster)
        settings = {"schema": SCHEMA, "workers": 2 if where == "pool" else 1} | given
        with pytest.raises(DpcovError, match=words):
            dpcov.covariance(table(), dpcov.ZCDP(1), **settings)


class TestIdentifiers:
    @pytest.mark.parametrize("name", ["who", "number", "patient"])
    def test_rows_of_a_person_meet_whatever_holds_them(self, name: str) -> None:
        column = table()[name].combine_chunks()
        kinds = [column, column.dictionary_encode()]
        kinds += [column.cast(pa.binary()), column.cast(pa.large_string())] if name == "patient" else []
        whole = spread(column)
        keys = named(column).to_pylist()
        for kind in kinds:
            assert named(kind).to_pylist() == keys
            assert spread(kind).tolist() == whole.tolist()
            assert np.concatenate([spread(kind[start : start + 1]) for start in range(240)]).tolist() == whole.tolist()
        words = {key: word for key, word in zip(keys, whole.tolist(), strict=True) if key is not None}
        assert len(set(words.values())) == len(words) - (name == "patient")  # texts of 65 and 66 letters go one way

    def test_they_are_spread_evenly(self) -> None:
        for column in (
            np.arange(3000),
            np.arange(3000) * 1.0,
            np.arange(3000) * 2.0**40,
            pa.array([f"p{i}" for i in range(3000)]),
        ):
            for count, level in itertools.product((2, 7, 16), (0, 1, 2)):
                places = spread(column) // np.uint64(count**level) % np.uint64(count)
                assert np.bincount(places.astype(int), minlength=count).max() < 1.5 * 3000 / count


def test_a_count_of_people_is_never_that_of_rows(tmp_path: Path) -> None:
    for beside, n in ((ASIDES["unit"], 9), (ASIDES["one person"], 1), (ASIDES["nobody"], 0), (ASIDES["each a person"], 240)):
        for source in (
            divided("parts", in_parquet(tmp_path), NUMBERS, aside=beside),
            on_cluster(in_tables(), NUMBERS, aside=beside),
        ):
            assert source.known_n is None
            assert source.total(Count(aside=beside)).tolist() == [n]
            assert source.known_n == source.n == n


def test_shards_are_records_without_an_error() -> None:
    assert joined([Shard([])]) == Shard([])
