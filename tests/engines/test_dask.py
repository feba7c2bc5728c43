"""Frames and arrays of Dask: the same integers and releases, refusals, and workers that die."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse

import dpcov
from dpcov.errors import EngineError, ParameterError, SchemaError
from dpcov.release.file import text_of
from dpcov.sources.cluster import Reply
from dpcov.sources.fitting import drafted
from dpcov.sources.opening import open_source
from tests.engines import beside
from tests.engines.engines import array, expected
from tests.engines.test_every_engine import RELEASES, in_memory
from tests.sources.mixed import CONTAINERS, NUMBERS, SCHEMA, arrow
from tests.test_docs import ROOT, blocks

dask = pytest.importorskip("dask", reason="dask is not installed: make engines")
dd = pytest.importorskip("dask.dataframe", reason="dask's frames are not installed: make engines")
da = pytest.importorskip("dask.array", reason="dask's arrays are not installed: make engines")
distributed = pytest.importorskip("distributed", reason="distributed is not installed: make engines")

pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword:DeprecationWarning")  # dask's reading of Parquet, of pandas

BUDGET = dpcov.ZCDP(1)


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Tasks run in this thread, unless a test has a cluster."""
    with dask.config.set(scheduler="synchronous"):
        yield


def in_partitions(frame: Any, *cuts: int) -> Any:
    """A frame in partitions of these rows, without rows where two are equal."""
    ends = [(start, end) for start, end in zip([0, *cuts], [*cuts, len(frame)], strict=True)]
    return dd.from_map(lambda rows: frame.iloc[rows[0] : rows[1]], ends, meta=frame.iloc[:0])


FRAMES = {
    **{f"of {name}": name for name in ("pandas objects", "pandas str", "pandas categories", "pandas on arrow")},
    "of one partition": "pandas objects",
}


def made(container: str, folder: Path) -> Any:
    if container == "of parquet":
        for start in range(0, 240, 50):
            pq.write_table(arrow()[start : start + 50], folder / f"{start}.parquet", row_group_size=20)
        return dd.read_parquet(str(folder), dtype_backend="pyarrow", split_row_groups=True)
    if container == "of one partition":
        return dd.from_pandas(CONTAINERS["pandas objects"](folder), npartitions=1, sort=False)
    return in_partitions(CONTAINERS[FRAMES[container]](folder), 0, 1, 1, 7, 30, 90, 91, 200, 240)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("container", [*FRAMES, "of parquet"])
def test_every_question_about_a_frame_has_the_same_integers(container: str, center: bool, tmp_path: Path) -> None:
    """Of ten partitions, three without rows: more than are added by one task."""
    source = open_source(made(container, tmp_path), None, SCHEMA, center)
    assert source.known_n is None
    for question, integers in expected(center):
        assert source.total(question).tolist() == integers, question.name
    assert source.n == 240
    assert source.feature_names == SCHEMA.feature_names


@pytest.mark.parametrize("center", [False, True])
def test_every_question_about_plain_numbers_has_the_same_integers(center: bool, tmp_path: Path) -> None:
    source = open_source(made("of pandas on arrow", tmp_path), NUMBERS, None, center)
    for question, integers in expected(center, None):
        assert source.total(question).tolist() == integers, question.name


ARRAYS = {
    "rows": lambda: da.from_array(array(), chunks=(31, 5)),
    "rows and columns": lambda: da.from_array(array(), chunks=((0, 100, 1, 139), (2, 3))),
    "unknown chunks": lambda: (lambda rows: rows[da.ones(240, chunks=50, dtype=bool)])(da.from_array(array(), chunks=(50, 5))),
    "sparse chunks": lambda: da.from_array(array(), chunks=(80, 5)).map_blocks(
        scipy.sparse.csr_array, meta=scipy.sparse.csr_array((0, 0)), dtype=float
    ),
}


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("kind", ARRAYS)
def test_every_question_about_an_array_has_the_same_integers(kind: str, center: bool) -> None:
    source = open_source(ARRAYS[kind](), None, None, center)
    assert source.known_n == (None if kind == "unknown chunks" else 240)
    for question, integers in expected(center, None):
        assert source.total(question).tolist() == integers, question.name
    assert source.feature_names == ("x0", "x1", "x2", "x3", "x4")


@pytest.mark.parametrize("kind", ["unit", "floats", "text, weight", "number, rows, weight", "one person", "weight"])
def test_people_weights_and_groups_of_a_frame(kind: str) -> None:
    """Rows of a person stand in several of ten partitions, three of which have no rows."""
    frame = beside.table().to_pandas(types_mapper=lambda kind: None if pa.types.is_string(kind) else pd.ArrowDtype(kind))
    rows = in_partitions(frame, 0, 1, 1, 7, 30, 90, 91, 200, 240)
    beside.check(open_source(rows, None, SCHEMA, True, aside=beside.ASIDES[kind]), beside.expected(kind, True)[:4])
    if kind == "weight":
        beside.check(open_source(rows, *beside.grouped(beside.GROUPS), by=beside.GROUPS), beside.expected_groups(False, False))


@pytest.mark.parametrize("partitions", [1, 2, 16, 17, 40])
def test_rows_of_a_person_are_brought_together_at_every_number_of_partitions(partitions: int) -> None:
    whole = table_of_people(["text"])
    rows = dd.from_pandas(whole, npartitions=partitions, sort=False)
    kind = "text, weight"
    moment = [pair for pair in beside.expected(kind, False, None) if pair[0].name == "second moment"][:1]
    beside.check(open_source(rows, NUMBERS, None, aside=beside.ASIDES[kind]), moment)


def table_of_people(categories: Sequence[str] = ()) -> Any:
    """Names are categories, which need not be the same in each partition."""
    frame = beside.table().to_pandas(types_mapper=lambda kind: None if pa.types.is_string(kind) else pd.ArrowDtype(kind))
    return frame.assign(patient=frame["patient"].astype("category")) if categories else frame


@pytest.mark.parametrize("chunks", [(31, 7), ((0, 100, 1, 139), (2, 5))])
@pytest.mark.parametrize("kind", beside.ARRAYS)
def test_people_and_weights_of_an_array(kind: str, chunks: Any) -> None:
    rows = da.from_array(beside.array("number"), chunks=chunks)
    source = open_source(rows, [0, 1, 2, 3, 4], aside=beside.ARRAYS[kind])
    beside.check(
        source, [pair for pair in beside.expected_of_array(kind, False) if pair[0].name in ("count", "norms", "trace")]
    )


def test_identifiers_stay_on_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes here is one sum."""
    delayed = importlib.import_module("dask.delayed")
    came: list[Any] = []
    brought = delayed.Delayed.compute

    def watched(self: Any, **given: Any) -> Any:
        came.append(brought(self, **given))
        return came[-1]

    monkeypatch.setattr(delayed.Delayed, "compute", watched)
    rows = dd.from_pandas(table_of_people(), npartitions=9, sort=False)
    source = open_source(rows, NUMBERS, aside=beside.ASIDES["text"])
    question, integers = beside.expected("text", False, None)[1]
    assert source.total(question).tolist() == integers
    [reply] = came
    assert type(reply) is Reply
    assert reply.integers.shape == (1 + len(integers),)
    assert reply.error is None


def test_an_array_with_a_schema_and_an_array_of_some_columns() -> None:
    schema, rows = SCHEMA.select(NUMBERS), da.from_array(array(), chunks=(31, 2))
    moment = expected(False)[0][0]
    assert open_source(rows, None, schema).total(moment).tolist() == [240]
    first = dpcov.covariance(rows, BUDGET, schema=schema, seed=7)
    assert text_of(first) == text_of(dpcov.covariance(array(), BUDGET, schema=schema, seed=7))
    second = dpcov.covariance(rows, BUDGET, row_norm=50, columns=[3, 0], seed=7)
    assert text_of(second) == text_of(dpcov.covariance(array(), BUDGET, row_norm=50, columns=[3, 0], seed=7))


@pytest.mark.parametrize("release", RELEASES)
def test_a_seeded_release_is_the_same_byte_by_byte(release: str, tmp_path: Path) -> None:
    target, budget, settings = RELEASES[release]
    found = getattr(dpcov, target)(made("of pandas on arrow", tmp_path), budget, seed=7, **settings)
    assert text_of(found) == in_memory(release)


def test_the_scheduler_is_dasks_own(tmp_path: Path) -> None:
    """Threads, here: whatever is set as the default is used."""
    used = []

    def scheduler(graph: Any, keys: Any, **settings: Any) -> Any:
        used.append(keys)
        return dask.threaded.get(graph, keys, num_workers=2, **settings)

    with dask.config.set(scheduler=scheduler):
        source = open_source(made("of pandas objects", tmp_path), None, SCHEMA)
        assert all(source.total(question).tolist() == integers for question, integers in expected(False)[:4])
    assert len(used) == 4


class TestEstimators:
    """Of scikit-learn's kind: what they do with an array or frame in memory, `numpy.asarray`, would bring all rows here."""

    @pytest.fixture(autouse=True)
    def _rows_stay_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def brought(*_: object, **__: object) -> None:
            raise AssertionError("rows came here")

        monkeypatch.setattr(da.Array, "__array__", brought)
        monkeypatch.setattr(dd.DataFrame, "__array__", brought)
        monkeypatch.setattr(dd.DataFrame, "__len__", brought)

    def test_of_a_frame(self, tmp_path: Path) -> None:
        estimator = dpcov.PrivateCovariance(rho=1, schema=SCHEMA, random_state=7)
        there = estimator.fit(made("of pandas str", tmp_path)).covariance_
        assert there.tolist() == estimator.fit(CONTAINERS["pandas str"](tmp_path)).covariance_.tolist()

    def test_of_an_array(self) -> None:
        estimator = dpcov.PrivateCovariance(rho=1, row_norm=50, random_state=7)
        there = estimator.fit(da.from_array(array(), chunks=(100, 5))).covariance_
        assert there.tolist() == estimator.fit(array()).covariance_.tolist()

    def test_what_wants_rows_is_refused(self) -> None:
        schema = dpcov.Schema({"x": dpcov.Numeric(0, 1), "y": dpcov.Numeric(0, 1)})
        rows = np.full((500, 2), 0.5)
        with pytest.raises(ParameterError, match="y must be left out where X is on a cluster"):
            dpcov.PrivateRidge(rho=1, schema=schema, target="y").fit(unreadable()[["x"]], rows[:, 1])
        with pytest.raises(ParameterError, match="got a DataFrame on a cluster"):
            dpcov.PrivateRidge(rho=1, row_norm=1, target_bound=1).fit(unreadable(), rows[:, 1])
        with pytest.raises(ParameterError, match="whose rows stay on the cluster"):
            dpcov.PrivatePCA(rho=1, schema=schema, n_components=1, random_state=0).fit(rows).transform(unreadable())


def test_a_draft_of_a_schema_is_made_of_names_and_types() -> None:
    import pandas as pd

    assert drafted(unreadable()) == drafted(pd.DataFrame({"x": [0.5], "y": [0.5]}))


def test_the_pages_example_runs() -> None:
    [code] = blocks(ROOT / "docs" / "engines.md", "python dask")
    exec(code, {})


def test_progress_is_told_once_for_each_reading(tmp_path: Path) -> None:
    told: list[float | None] = []
    dpcov.covariance(made("of one partition", tmp_path), BUDGET, schema=SCHEMA, mechanism="gaussian", progress=told.append)
    assert told == [1.0]


def unreadable(kind: Any = float) -> Any:
    """A frame that nothing may be read of."""

    def read(_: int) -> Any:
        raise AssertionError("a partition was read")

    import pandas as pd

    return dd.from_map(read, [0, 1], meta=pd.DataFrame({"x": pd.Series(dtype=kind), "y": pd.Series(dtype="float64")}))


class TestRefusedBeforeAnythingIsRead:
    def test_pairs(self) -> None:
        with pytest.raises(ParameterError, match="data must have rows in a fixed order for pairs"):
            dpcov.covariance(unreadable(), BUDGET, row_norm=1, mechanism="coinpress", centring="pairs")

    def test_workers(self) -> None:
        with pytest.raises(ParameterError, match="workers must be 1 for data on a cluster, which has its own, got 2"):
            dpcov.covariance(unreadable(), BUDGET, row_norm=1, workers=2)

    def test_columns_and_types(self) -> None:
        with pytest.raises(SchemaError, match="must have one column 'z'"):
            dpcov.covariance(unreadable(), BUDGET, row_norm=1, columns=["z"])
        with pytest.raises(SchemaError, match="column 'x' must be numeric, got the declared type large_string"):
            dpcov.covariance(unreadable(object), BUDGET, row_norm=1)

    def test_what_wants_rows(self) -> None:
        schema = dpcov.Schema({"x": dpcov.Numeric(0, 1), "y": dpcov.Numeric(0, 1)})
        release = dpcov.covariance(np.full((500, 2), 0.5), BUDGET, schema=schema, seed=0)
        for wanted in (
            lambda: dpcov.look(unreadable(), schema),
            lambda: dpcov.compare(unreadable(), BUDGET, schema=schema, runs=2),
            lambda: release.ridge("y", alpha=0.1).predict(unreadable()),
        ):
            with pytest.raises(ParameterError, match="got a Dask frame, whose rows stay on the cluster"):
                wanted()

    @pytest.mark.parametrize(
        ("shape", "kind", "got"), [((4,), float, "1 dimension"), ((4, 2), str, "str_"), ((4, 0), float, "got 0")]
    )
    def test_arrays_that_are_no_tables(self, shape: tuple[int, ...], kind: type, got: str) -> None:
        with pytest.raises(ParameterError, match=got):
            dpcov.covariance(da.zeros(shape).astype(kind), BUDGET, row_norm=1)

    def test_a_schema_for_other_columns(self) -> None:
        with pytest.raises(SchemaError, match="got 1 descriptions for 2 columns"):
            dpcov.covariance(da.zeros((4, 2)), BUDGET, schema=dpcov.Schema({"x": dpcov.Numeric(0, 1)}))


def test_a_partition_of_another_type_is_refused(tmp_path: Path) -> None:
    """As the file of another type in a folder is: Dask itself does not look."""
    frame = CONTAINERS["pandas on arrow"](tmp_path)[["height"]]
    other = frame.astype({"height": object})
    lying = dd.from_map(lambda part: part, [frame, other], meta=frame.iloc[:0])
    with pytest.raises(SchemaError, match="column 'height' must be numeric, got the declared type large_string"):
        dpcov.covariance(lying, BUDGET, row_norm=1)


def test_an_error_of_the_graph_quotes_nothing(tmp_path: Path) -> None:
    """Here, where Dask raises the exception itself, cell and all."""

    def failing(part: Any) -> Any:
        raise ValueError(f"SECRET {part.iloc[0]}")

    rows = made("of one partition", tmp_path)
    with pytest.raises(EngineError, match="data must be readable to the end, got an error before it") as caught:
        dpcov.covariance(rows.map_partitions(failing, meta=rows._meta), BUDGET, schema=SCHEMA)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert "SECRET" not in str(caught.value)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    settings = {
        "distributed.scheduler.allowed-failures": 1,
        "temporary-directory": str(tmp_path_factory.mktemp("dask")),
        "distributed.comm.timeouts.connect": "60s",
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


class TestACluster:
    """Two worker processes; one that dies is replaced, and its partitions are summed anew."""

    @pytest.fixture(autouse=True)
    def _its_scheduler(self, client: Any) -> Iterator[None]:  # noqa: ARG002
        with dask.config.set(scheduler=None):
            yield

    def test_a_seeded_release_though_a_worker_is_killed(self, tmp_path: Path) -> None:
        target, budget, settings = RELEASES["three readings, by column"]
        marker = str(tmp_path / "killed")

        def dying(part: Any) -> Any:
            if len(part) and not Path(marker).exists():
                Path(marker).touch()
                os._exit(1)
            return part

        rows = made("of pandas on arrow", tmp_path)
        found = getattr(dpcov, target)(rows.map_partitions(dying, meta=rows._meta), budget, seed=7, **settings)
        assert Path(marker).exists()
        assert text_of(found) == in_memory("three readings, by column")

    def test_people_though_a_worker_is_killed(self, tmp_path: Path) -> None:
        """On its way to the others half of its rows are lost, and are cut anew."""
        marker = str(tmp_path / "killed")

        def dying(part: Any) -> Any:
            if len(part) and not Path(marker).exists():
                Path(marker).touch()
                os._exit(1)
            return part

        rows = dd.from_pandas(table_of_people(), npartitions=7, sort=False)
        given: dict[str, Any] = {"schema": SCHEMA, "unit": "patient", "weight": "amount", "max_weight": 5.0, "seed": 7}
        found = dpcov.covariance(rows.map_partitions(dying, meta=rows._meta), BUDGET, mechanism="gaussian", **given)
        assert Path(marker).exists()
        assert text_of(found) == text_of(dpcov.covariance(beside.table(), BUDGET, mechanism="gaussian", **given))

    def test_one_that_never_succeeds_ends_in_an_error(self, tmp_path: Path) -> None:
        rows = made("of one partition", tmp_path)
        with pytest.raises(EngineError, match="data must be readable to the end, got an error before it"):
            dpcov.covariance(rows.map_partitions(lambda _: os._exit(1), meta=rows._meta), BUDGET, schema=SCHEMA)


def test_without_rows_add_remove_releases_and_replace_refuses() -> None:
    empty = dd.from_map(lambda _: arrow()[:0].to_pandas(types_mapper=None), [0], meta=arrow()[:0].to_pandas())
    schema = SCHEMA.select(["height", "stadt"])
    found = dpcov.covariance(empty, BUDGET, schema=schema, neighbors="add-remove", mechanism="gaussian", seed=7)
    here = dpcov.covariance(pa.table(arrow()[:0]), BUDGET, schema=schema, neighbors="add-remove", mechanism="gaussian", seed=7)
    assert text_of(found) == text_of(here)
    with pytest.raises(ParameterError, match="data must have 1 to"):
        dpcov.covariance(empty, BUDGET, schema=schema)
