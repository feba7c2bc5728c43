"""Frames of Spark: the same integers and releases, refusals, and workers that die."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpcov
from dpcov.errors import EngineError, ParameterError, SchemaError
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.questions.together import Together
from dpcov.kernel.rows.grid import Grid
from dpcov.release.file import text_of
from dpcov.schema import Schema
from dpcov.sources import cluster, parquet
from dpcov.sources import spark as engine
from dpcov.sources.fitting import drafted
from dpcov.sources.opening import open_source
from dpcov.sources.spark import MAX_BYTES, MAX_ROWS, NO_LIMIT, RUN
from dpcov.sources.sql import check
from dpcov.sources.sql.beside import Beside
from dpcov.sources.sql.columns import Meaning
from dpcov.sources.sql.dialects import SPARK as SPARK_SQL
from dpcov.sources.sql.statement import Statement
from tests.engines import beside
from tests.engines.engines import MIXED, expected, parquet_files
from tests.engines.test_every_engine import RELEASES, in_memory
from tests.sources.mixed import NUMBERS, SCHEMA, arrow
from tests.test_docs import ROOT, blocks

sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed: make engines")
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs a Java runtime, and there is none: apt-get install default-jre-headless", allow_module_level=True)

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")

BUDGET = dpcov.ZCDP(1)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One session on two cores, in which a task is tried twice; its files are in a folder of the tests."""
    folder = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto",  # half the time of short jobs
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.executorEnv.PYTHONPATH": os.pathsep.join([str(Path(dpcov.__file__).parents[1]), *sys.path]),
        "spark.local.dir": str(folder),
        "spark.log.level": "OFF",
        "spark.pyspark.python": sys.executable,
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    builder = sql.SparkSession.builder.master("local[2,2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with contextlib.chdir(folder):
        session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def _rows_stay_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other way of a frame to this process is closed."""

    def brought(*_: object, **__: object) -> None:
        raise AssertionError("rows came to the driver")

    for way in ("toArrow", "toPandas", "toLocalIterator", "__arrow_c_stream__"):
        monkeypatch.setattr(sql.DataFrame, way, brought)


@pytest.fixture(scope="session")
def frame(spark: Any) -> Any:
    """The table in five partitions, at least two of them without rows: their column has three values."""
    return spark.createDataFrame(arrow()).repartition(5, "smoker")


def asked_together(source: Any, center: bool, schema: Schema | None) -> None:
    """Compare all integers, in two readings: questions about rows by column, and all others."""
    for by_column in (False, True):
        alike = [(question, exact) for question, exact in expected(center, schema) if at_columns(question) == by_column]
        if alike:
            together = Together(tuple(question for question, _ in alike))
            for (question, exact), found in zip(alike, together.split(source.total(together)), strict=True):
                assert found.tolist() == exact, question.name


def at_columns(question: Any) -> bool:
    return bool(getattr(question, "by_column", False))


@pytest.mark.parametrize("center", [False, True])
def test_every_question_has_the_same_integers(frame: Any, center: bool) -> None:
    source = open_source(frame, None, SCHEMA, center)
    assert source.known_n is None
    asked_together(source, center, SCHEMA)
    assert source.n == 240
    assert source.feature_names == SCHEMA.feature_names
    asked_together(open_source(frame, NUMBERS, None, center), center, None)


@pytest.fixture(scope="session")
def people(spark: Any) -> Any:
    """Rows of a person stand in several partitions; an own number of partitions after a shuffle, one of which may be empty."""
    spark.conf.set("spark.sql.shuffle.partitions", "5")
    return spark.createDataFrame(beside.table()).repartition(4)


@pytest.mark.parametrize("kind", ["unit", "floats", "text, weight", "number, rows, weight", "one person", "nobody", "weight"])
def test_people_and_weights_have_the_same_integers(people: Any, kind: str) -> None:
    source = open_source(people, None, SCHEMA, False, aside=beside.ASIDES[kind])
    counts = [pair for pair in beside.expected(kind, False) if pair[0].name == "count"]
    sums = [pair for pair in beside.expected(kind, False) if pair[0].name != "count"]
    together = Together(tuple(question for question, _ in sums))
    for (question, exact), found in zip(sums, together.split(source.total(together)), strict=True):
        assert found.tolist() == exact, question.name
    beside.check(source, counts)


def test_groups_have_the_same_integers(people: Any) -> None:
    names, schema = beside.grouped(beside.GROUPS)
    beside.check(open_source(people, names, schema, by=beside.GROUPS), beside.expected_groups(False, False)[:1])


def test_text_is_compared_by_its_bytes_whatever_the_collation(spark: Any) -> None:
    rows = spark.sql("SELECT double(id % 7) / 7 AS a, collate(if(id % 2 = 0, 'A', 'a'), 'UTF8_LCASE') AS who FROM range(20)")
    source = open_source(rows, ["a"], aside=beside.aside("who"))
    assert source.n == 2


def test_people_though_a_worker_is_killed(people: Any, tmp_path: Path) -> None:
    """Spark starts another, and its rows go to the others anew."""
    marker = str(tmp_path / "killed")

    def dying(batches: Any) -> Any:
        for batch in batches:
            if len(batch) and not Path(marker).exists():
                Path(marker).touch()
                os._exit(1)
            yield batch

    given: dict[str, Any] = {"schema": SCHEMA, "unit": "patient", "mechanism": "gaussian", "seed": 7}
    found = dpcov.covariance(people.mapInArrow(dying, people.schema), BUDGET, **given)
    assert Path(marker).exists()
    assert text_of(found) == text_of(dpcov.covariance(beside.table(), BUDGET, **given))


@pytest.mark.parametrize("release", ["three readings, by column", "add-remove"])
def test_a_seeded_release_is_the_same_byte_by_byte(frame: Any, release: str) -> None:
    target, budget, settings = RELEASES[release]
    assert text_of(getattr(dpcov, target)(frame, budget, seed=7, **settings)) == in_memory(release)


def test_a_sum_in_several_runs(spark: Any) -> None:
    """Of more columns than one record has the sums of."""
    rows = np.random.default_rng(3).normal(size=(40, 270)).round(3)
    table = pa.table({f"c{j}": rows[:, j] for j in range(270)})
    moment = SecondMoment(Grid(50.0), 270)
    found = open_source(spark.createDataFrame(table).repartition(3)).total(moment)
    assert len(found) > RUN
    assert found.tolist() == open_source(rows).total(moment).tolist()


NUMBERS_ALONE = [pa.float64(), pa.decimal128(9, 2), pa.bool_()]


class TestTheLimitOfABatch:
    """It is lifted while Spark reads, where it cannot be met, and the session has its own again."""

    @pytest.fixture(autouse=True)
    def _own(self, spark: Any) -> Iterator[None]:
        yield
        for name in (MAX_BYTES, MAX_ROWS):
            spark.conf.unset(name)

    @pytest.mark.parametrize("own", [None, "50000000"])
    def test_it_is_lifted_and_put_back(self, spark: Any, own: str | None) -> None:
        if own:
            spark.conf.set(MAX_BYTES, own)
        for error in (contextlib.nullcontext(), pytest.raises(ZeroDivisionError)):
            with error, engine._unmeasured(spark.conf, NUMBERS_ALONE):
                assert spark.conf.get(MAX_BYTES) == NO_LIMIT
                assert isinstance(error, contextlib.nullcontext) or 1 // 0
            assert spark.conf.get(MAX_BYTES, None) == own

    def test_of_two_readings_one_lifts_it(self, spark: Any) -> None:
        """The second begins while it is lifted and ends after it was put back."""
        first, second = (engine._unmeasured(spark.conf, NUMBERS_ALONE) for _ in range(2))
        with contextlib.ExitStack() as later:
            with first:
                later.enter_context(second)
                assert spark.conf.get(MAX_BYTES) == NO_LIMIT
            assert spark.conf.get(MAX_BYTES, None) is None
        assert spark.conf.get(MAX_BYTES, None) is None

    @pytest.mark.parametrize(
        ("settings", "types"),
        [
            ({}, [*NUMBERS_ALONE, pa.string()]),
            ({MAX_ROWS: "0"}, NUMBERS_ALONE),
            ({MAX_ROWS: "100000"}, [pa.float64()] * 50),
            ({MAX_BYTES: "400000"}, NUMBERS_ALONE),
        ],
    )
    def test_where_it_may_be_met_it_stays(self, spark: Any, settings: dict[str, str], types: list[Any]) -> None:
        for name, value in settings.items():
            spark.conf.set(name, value)
        known = spark.conf.get(MAX_BYTES)
        with engine._unmeasured(spark.conf, types):
            assert spark.conf.get(MAX_BYTES) == known

    def test_a_reading_leaves_the_session_as_it_was(self, spark: Any) -> None:
        before = dict(spark.conf.getAll)
        open_source(spark.range(3)).total(SecondMoment(Grid(5.0), 1))
        assert dict(spark.conf.getAll) == before


def test_columns_are_found_by_their_exact_names(spark: Any) -> None:
    """Spark itself would take 'A' for 'a', and a dot for a field."""
    names = ["A", "a", "b.c", "d`e", "b"]
    rows = np.random.default_rng(4).normal(size=(30, 5)).round(3)
    table = pa.table(dict(zip(names, rows.T, strict=True)))
    moment = SecondMoment(Grid(50.0), 4)
    chosen = ["d`e", "a", "b.c", "A"]
    assert open_source(spark.createDataFrame(table), chosen).total(moment).tolist() == (
        open_source(table, chosen).total(moment).tolist()
    )


def test_a_printed_statement_has_the_same_integers(spark: Any) -> None:
    """Of public rows that are as odd as can be; the other statements of the check had them as well."""
    for of, place in ((False, 2), (True, 5), (True, -1)):  # centred rows; weighted rows of people; groups
        case = check.asked(beside=of)[place]
        cells = {name: check.CELLS[name] for name in ("ab" if case.schema is None else check.CELLS)}
        meaning, more = Meaning(cells, case.schema, case.center), Beside(case.aside, case.by, check.CELLS)
        statement = Statement(SPARK_SQL, check.values(SPARK_SQL), meaning, case.statistic, more)
        found = statement.found([tuple(row) for row in spark.sql(statement.text).collect()])
        integers = np.ravel(case.statistic.entries(statement.read(found))).tolist()
        assert (statement.n(found), integers) == check.expected(beside=of)[place]


def test_without_partitions(spark: Any) -> None:
    empty = spark.createDataFrame([], "height double, stadt string")
    schema = SCHEMA.select(["height", "stadt"])
    settings: dict[str, Any] = {"schema": schema, "neighbors": "add-remove", "mechanism": "gaussian", "seed": 7}
    assert text_of(dpcov.covariance(empty, BUDGET, **settings)) == text_of(dpcov.covariance(arrow()[:0], BUDGET, **settings))


def test_an_estimator(frame: Any) -> None:
    estimator = dpcov.PrivateCovariance(rho=1, schema=SCHEMA, random_state=7)
    there = estimator.fit(frame).covariance_
    assert there.tolist() == estimator.fit(arrow()).covariance_.tolist()


def test_the_pages_examples_run(spark: Any, tmp_path: Path) -> None:
    of_a_frame, of_files = blocks(ROOT / "docs" / "engines.md", "python spark")
    with contextlib.chdir(tmp_path):
        exec(of_files, {})
    found: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(of_a_frame, found)
    assert found["spark"] is spark
    age = 18 + np.arange(20_000) % 72
    income = 20_000 + 900 * (np.arange(20_000) % 72) + np.arange(20_000) % 7000
    here = dpcov.covariance(np.column_stack([age, income]), dpcov.ZCDP(0.5), schema=found["schema"], seed=7)
    assert text_of(found["release"]) == text_of(here)


@pytest.fixture
def unreadable(spark: Any) -> Any:
    """A frame that nothing can be read of, and of every type that is neither number nor text."""
    columns = "x double, y decimal(9,2), note string, day date, at timestamp, parts array<int>"
    return spark.read.schema(columns).parquet(spark.conf.get("spark.local.dir")).where("raise_error('read') is null")


class TestRefusedBeforeAnythingIsRead:
    def test_pairs(self, unreadable: Any) -> None:
        with pytest.raises(ParameterError, match="data must have rows in a fixed order for pairs"):
            dpcov.covariance(unreadable, BUDGET, row_norm=1, columns=["x"], mechanism="coinpress", centring="pairs")

    def test_workers(self, unreadable: Any) -> None:
        with pytest.raises(ParameterError, match="workers must be 1 for data on a cluster, which has its own, got 2"):
            dpcov.covariance(unreadable, BUDGET, row_norm=1, columns=["x"], workers=2)

    @pytest.mark.parametrize(
        ("name", "told"),
        [
            ("z", "must have one column 'z'"),
            ("note", "column 'note' must be numeric, got the declared type string"),
            ("day", r"column 'day' must be numeric, got the declared type date32\[day\]"),
            ("at", "column 'at' must be numeric, got the declared type timestamp"),
            ("parts", "column 'parts' must be numeric, got the declared type of nested values"),
        ],
    )
    def test_columns_and_types(self, unreadable: Any, name: str, told: str) -> None:
        with pytest.raises(SchemaError, match=told):
            dpcov.covariance(unreadable, BUDGET, row_norm=1, columns=["x", name])

    def test_what_wants_rows(self, unreadable: Any) -> None:
        with pytest.raises(ParameterError, match="got a Spark frame, whose rows stay on the cluster"):
            dpcov.look(unreadable, dpcov.Schema({"x": dpcov.Numeric(0, 1)}))

    def test_streams(self, spark: Any) -> None:
        with pytest.raises(ParameterError, match="data must be a table with an end, got a stream"):
            dpcov.covariance(spark.readStream.format("rate").load(), BUDGET, row_norm=1)

    def test_a_draft_of_a_schema_is_made_of_names_and_types(self, unreadable: Any) -> None:
        same = pa.table({"x": [0.5], "y": [0.5], "note": ["a"]})
        assert drafted(unreadable.select("x", "y", "note")) == drafted(same)


class TestWorkersThatFail:
    def test_a_seeded_release_though_a_worker_is_killed(self, frame: Any, tmp_path: Path) -> None:
        """Spark starts another, and runs its task anew."""
        target, budget, settings = RELEASES["add-remove"]
        marker = str(tmp_path / "killed")

        def dying(batches: Any) -> Any:
            for batch in batches:
                if len(batch) and not Path(marker).exists():
                    Path(marker).touch()
                    os._exit(1)
                yield batch

        found = getattr(dpcov, target)(frame.mapInArrow(dying, frame.schema), budget, seed=7, **settings)
        assert Path(marker).exists()
        assert text_of(found) == in_memory("add-remove")

    def test_one_that_never_succeeds_ends_in_an_error_that_quotes_nothing(self, frame: Any) -> None:
        def failing(batches: Any) -> Any:
            for batch in batches:
                raise ValueError(f"SECRET {batch}")
                yield batch

        with pytest.raises(EngineError, match="data must be readable to the end, got an error before it") as caught:
            dpcov.covariance(frame.mapInArrow(failing, frame.schema), BUDGET, schema=SCHEMA)
        assert caught.value.__context__ is None
        assert caught.value.__cause__ is None
        assert "SECRET" not in str(caught.value)


class TestFiles:
    """They are read by the workers, each its own pieces."""

    @pytest.fixture(autouse=True)
    def _small_tasks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(parquet, "PIECE_ROWS", 30)
        monkeypatch.setattr(engine, "TASK_CELLS", 500)

    @pytest.mark.parametrize("container", ["folder of parquet", "parquet of other types", "folders that name towns", "parquet"])
    def test_every_question_has_the_same_integers(self, spark: Any, container: str, tmp_path: Path) -> None:
        source = open_source(dpcov.OnSpark(spark, MIXED[container](tmp_path)), None, SCHEMA, True)
        assert source.known_n == 240  # as their footers say
        asked_together(source, True, SCHEMA)
        assert source.feature_names == SCHEMA.feature_names

    @pytest.mark.parametrize("center", [False, True])
    def test_every_question_about_numbers_has_the_same_integers(self, spark: Any, center: bool, tmp_path: Path) -> None:
        asked_together(open_source(dpcov.OnSpark(spark, parquet_files(tmp_path)), NUMBERS, None, center), center, None)

    @pytest.mark.parametrize("release", ["three readings, by column", "add-remove"])
    def test_a_seeded_release_is_the_same_byte_by_byte(self, spark: Any, release: str, tmp_path: Path) -> None:
        target, budget, settings = RELEASES[release]
        data = dpcov.OnSpark(spark, parquet_files(tmp_path))
        assert text_of(getattr(dpcov, target)(data, budget, seed=7, **settings)) == in_memory(release)

    @pytest.mark.parametrize("width", [4, 270])
    def test_sums_are_added_there_where_they_are_large(self, spark: Any, width: int, tmp_path: Path) -> None:
        rows = np.random.default_rng(3).normal(size=(60, width)).round(3)
        pq.write_table(pa.table({f"c{j}": rows[:, j] for j in range(width)}), tmp_path / "wide.parquet", row_group_size=20)
        moment = SecondMoment(Grid(50.0), width)
        found = open_source(dpcov.OnSpark(spark, tmp_path / "wide.parquet")).total(moment)
        assert found.tolist() == open_source(rows).total(moment).tolist()

    def test_an_estimator(self, spark: Any, tmp_path: Path) -> None:
        estimator = dpcov.PrivateCovariance(rho=1, schema=SCHEMA, random_state=7)
        there = estimator.fit(dpcov.OnSpark(spark, parquet_files(tmp_path))).covariance_
        assert there.tolist() == estimator.fit(arrow()).covariance_.tolist()

    def test_a_path_from_where_this_process_is(self, spark: Any, tmp_path: Path) -> None:
        """Workers are somewhere else."""
        parquet_files(tmp_path)
        moment = SecondMoment(Grid(50.0), 1)
        with contextlib.chdir(tmp_path):
            found = open_source(dpcov.OnSpark(spark, "part-*.parquet"), ["height"]).total(moment)
        assert found.tolist() == open_source(arrow(), ["height"]).total(moment).tolist()

    def test_a_worker_that_is_killed_while_it_reads(self, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Its task is run anew, and counts once."""
        data, marker = dpcov.OnSpark(spark, parquet_files(tmp_path)), str(tmp_path / "killed")

        class Dying(cluster.Task):
            def reply(self, table: Any) -> Any:
                found = super().reply(table)
                if not Path(marker).exists():
                    Path(marker).touch()
                    os._exit(1)
                return found

        monkeypatch.setattr(cluster, "Task", Dying)
        target, budget, settings = RELEASES["add-remove"]
        found = getattr(dpcov, target)(data, budget, seed=7, **settings)
        assert Path(marker).exists()
        assert text_of(found) == in_memory("add-remove")

    @pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="a name that means another file in each process")
    def test_files_that_workers_do_not_see(self, spark: Any, tmp_path: Path) -> None:
        parquet_files(tmp_path)
        ledger = dpcov.Ledger.create(tmp_path / "budget.db")
        ledger.add("people", BUDGET)
        data = dpcov.OnSpark(spark, "/proc/self/cwd/part-*.parquet")
        told = r"files that each process can read, got 'part-\d+.parquet' \(file \d of 4\), which one cannot"
        with contextlib.chdir(tmp_path), pytest.raises(EngineError, match=told):
            dpcov.covariance(data, BUDGET, schema=SCHEMA, ledger=ledger.dataset("people"))
        assert ledger.status().of("people").left == BUDGET

    def test_files_that_are_others_than_they_were(self, spark: Any, tmp_path: Path) -> None:
        source = open_source(dpcov.OnSpark(spark, parquet_files(tmp_path, rows=240)), None, SCHEMA)
        pq.write_table(arrow()[:200], tmp_path / "part-0.parquet", row_group_size=17)
        with pytest.raises(EngineError, match="data must be"):
            source.total(SecondMoment(Grid(1.0), source.d))

    def test_refused_before_anything_is_read(self, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        data = dpcov.OnSpark(spark, parquet_files(tmp_path))
        monkeypatch.setattr(engine.SparkFiles, "run", lambda *_: pytest.fail("read"))
        with pytest.raises(ParameterError, match="workers must be 1 for data on a cluster"):
            dpcov.covariance(data, BUDGET, schema=SCHEMA, workers=2)
        with pytest.raises(ParameterError, match="data must have rows in a fixed order for pairs"):
            dpcov.covariance(data, BUDGET, row_norm=1, columns=["height"], mechanism="coinpress", centring="pairs")
        with pytest.raises(
            SchemaError, match=r"column 'note' must be numeric, got the declared type string in 'part-0.parquet'"
        ):
            dpcov.covariance(data, BUDGET, row_norm=1, columns=["note"])
        with pytest.raises(SchemaError, match=r"must have one column 'z', got no column of that name in 'part-0.parquet'"):
            dpcov.covariance(data, BUDGET, row_norm=1, columns=["z"])
        with pytest.raises(ParameterError, match="got files on Spark, whose rows stay on the cluster"):
            dpcov.look(data, SCHEMA)
