"""What a reading of Parquet files costs on Dask and Spark, beside the same files in this process: CPU and wall time.

python -m benchmarks.clusters --rows 4000000 --columns 20 108 400

Schedulers and workers are warm: their first readings are not counted. What is compared takes turns. CPU time is that of
this process and of all below it, so that of a JVM and its Python workers, too. Spark reads the files into a frame, or its
workers read them themselves (`dpcov.OnSpark`); a pass that hands all rows to Python, column by column, where they are dropped,
stands beside both. Files of more columns have fewer rows, and as many cells.

--plain writes cells as they are, as Spark does itself where a dictionary saves nothing; pyarrow begins each column with a
dictionary of up to 131 072 numbers, which Spark takes long to read.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa

import dpcov
from benchmarks.common import write
from benchmarks.tables import write_parquet
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.sources.opening import open_source

PARTITIONS, NORM, WARMING = 8, 10.0, 3
ROWS_OF = 20  # columns: how many --rows is about
MOST = {"Dask": 1.5, "Spark": 4.0, "Spark, files": 1.5}  # times the CPU of one process that reads the same files
TICKS = os.sysconf("SC_CLK_TCK")


def below(parent: int) -> Iterator[int]:
    """Yield a process and all that it started, however indirectly."""
    yield parent
    for thread in Path(f"/proc/{parent}/task").glob("*/children"):
        for child in thread.read_text(encoding="ascii").split():
            yield from below(int(child))


def cpu_seconds() -> float:
    """Return the CPU time of all of them, of those that have ended, too."""
    total = 0
    for process in below(os.getpid()):
        try:
            stat = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
        except FileNotFoundError:  # it ended in between: its parent has its time
            continue
        total += sum(int(ticks) for ticks in stat.rpartition(")")[2].split()[11:15])
    return total / TICKS


def turn(call: Callable[[], object]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), cpu_seconds()
    call()
    return time.perf_counter() - wall, cpu_seconds() - cpu


def moment(data: Any) -> None:
    if callable(data):
        data()
        return
    source = open_source(data)
    source.total(SecondMoment(Grid(NORM), source.d))


@contextmanager
def of_dask(folder: Path) -> Iterator[dict[str, Any]]:
    import dask
    import dask.dataframe as dd

    with dask.config.set(scheduler="threads", num_workers=2):
        yield {"Dask": dd.read_parquet(folder)}


@contextmanager
def of_spark(folder: Path) -> Iterator[dict[str, Any]]:
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory() as local:
        settings = {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "2g",
            "spark.local.dir": local,
            "spark.log.level": "OFF",
            "spark.sql.warehouse.dir": f"{local}/warehouse",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.executorEnv.PYTHONPATH": os.pathsep.join([str(Path(dpcov.__file__).parents[1]), *sys.path]),
        }
        builder = SparkSession.builder.master("local[2]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        try:
            frame = session.read.parquet(str(folder))
            yield {
                "Spark": frame,
                "Spark, files": dpcov.OnSpark(session, folder),
                "Spark, all rows dropped": frame.mapInArrow(dropped, "n long").collect,
            }
        finally:
            session.stop()


def dropped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Take all rows, and return nothing of them."""
    for _ in batches:
        pass
    yield pa.RecordBatch.from_arrays([pa.array([0])], names=["n"])


CLUSTERS: dict[str, Callable[[Path], Any]] = {"Dask": of_dask, "Spark": of_spark}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=4_000_000, help=f"of {ROWS_OF} columns")
    parser.add_argument("--columns", type=int, nargs="+", default=[ROWS_OF])
    parser.add_argument("--plain", action="store_true", help="no dictionaries in the files")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=CLUSTERS)
    options = parser.parse_args()
    records: list[dict[str, object]] = []
    for columns in options.columns:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            rows = options.rows * ROWS_OF // columns // PARTITIONS
            for part in range(PARTITIONS):
                write_parquet(folder / f"{part}.parquet", rows, columns, dictionaries=not options.plain)
            known = {"d": columns, "rows": rows * PARTITIONS, "plain": options.plain}
            for cluster, opened in CLUSTERS.items():
                if options.only in (None, cluster):
                    records += [known | found for found in measured(opened, folder, columns, options.rounds)]
    write("clusters.csv", records)


def measured(opened: Callable[[Path], Any], folder: Path, columns: int, rounds: int) -> Iterator[dict[str, object]]:
    """Compare readings on a cluster with those of this process."""
    with opened(folder) as ways:
        every = {"one process": folder} | ways
        for data in (folder, *WARMING * list(ways.values())):
            moment(data)
        turns = [{way: turn(partial(moment, data)) for way, data in every.items()} for _ in range(rounds)]
    here = median(took["one process"][1] for took in turns)
    busy = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    print(f"{PARTITIONS} files of {columns} columns: {here:.2f} s of CPU in one process; {busy}", flush=True)
    for way in ways:
        wall, cpu = (median(took[way][part] / took["one process"][part] for took in turns) for part in (0, 1))
        target = f" (target {MOST[way]:g})" if way in MOST else ""
        print(f"  {way}: {cpu:.2f} of its CPU{target}, {wall:.2f} of its time", flush=True)
        yield {"what": way, "cpu": cpu, "wall": wall, "target": MOST.get(way, "")}


if __name__ == "__main__":
    main()
