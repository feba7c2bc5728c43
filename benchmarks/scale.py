"""How fast exact sums are read: rows per second, CPU against X.T @ X and against decoding, peak memory, workers, devices.

And how large the files of releases are, and how long they take to write and to load.

One BLAS thread. What is compared takes turns, and a ratio is the median of the ratios of neighbouring turns, so that other work
on the machine hits both alike. Ratios are of CPU time. The gain of two workers is one of wall time, which needs two idle cores:
the load of the machine is printed beside it, and so is the gain by the CPU time of the busiest process, which needs none.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import dpcov
from benchmarks.common import write
from benchmarks.tables import write_csv, write_parquet
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.rows.grid import Grid
from dpcov.sources.array import ArraySource
from dpcov.sources.opening import open_source
from dpcov.sources.pool import Pool
from dpcov.sources.split import SplitSource
from dpcov.sources.sql.database import sql

WIDTHS = {20: None, 50: None, 108: None, 200: 1.3, 400: None, 784: 1.15}
"""Columns, with what the pass may cost beside a plain product."""
CELLS = 2**24  # of an array: 128 MB
NORM = 10.0


def cpu_seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def moment(data: Any) -> None:
    """One pass: every row clipped and rounded, every product exact."""
    source = open_source(data)
    source.total(SecondMoment(Grid(NORM), source.d))


def in_core(rounds: int) -> list[dict[str, object]]:
    """Compare a pass over an array with one product in plain floats."""
    records: list[dict[str, object]] = []
    print(f"{'array':22} {'rows/s':>12} {'of X.T @ X':>10} {'target':>7}")
    for d, target in WIDTHS.items():
        rows = np.random.default_rng(d).standard_normal((CELLS // d, d)) * (0.5 * NORM / d**0.5)
        cpu_seconds(lambda: moment(rows)), rows.T @ rows  # noqa: B023 - warm up
        turns = [(cpu_seconds(lambda: rows.T @ rows), cpu_seconds(lambda: moment(rows))) for _ in range(rounds)]  # noqa: B023
        ratio, speed = median(ours / plain for plain, ours in turns), len(rows) / median(ours for _, ours in turns)
        missed = "  missed" * (target is not None and ratio > target)
        print(f"{f'{len(rows)} x {d}':22} {speed:12.3g} {ratio:10.2f} {target or '':>7}{missed}", flush=True)
        records.append({"what": "array", "rows": len(rows), "d": d, "rows/s": speed, "ratio": ratio, "target": target})
    return records


def decode_and_gram(path: Path) -> None:
    """Decode every column and add up plain float64 Gram matrices."""
    file = pq.ParquetFile(path, pre_buffer=False, buffer_size=2**16)
    total = np.zeros((file.metadata.num_columns,) * 2)
    for batch in file.iter_batches(batch_size=2**14, use_threads=False):
        block = np.empty((batch.num_columns, len(batch)))
        for row, column in zip(block, batch.columns, strict=True):
            row[:] = column.to_numpy()
        total += block @ block.T


JOBS: dict[str, Callable[[Path], None]] = {"decode and Gram": decode_and_gram, "exact second moment": moment}


def run_job(job: str, path: Path) -> None:
    """Run one job in this process, and print its CPU seconds and peak of resident memory in MB."""
    with tempfile.TemporaryDirectory() as folder:  # warm up: imports and the once-per-process checks
        write_parquet(Path(folder) / "small.parquet", 100, 3)
        JOBS[job](Path(folder) / "small.parquet")
    seconds = cpu_seconds(lambda: JOBS[job](path))
    status = Path("/proc/self/status").read_text(encoding="ascii")
    print(json.dumps([seconds, int(re.findall(r"VmHWM:\s*(\d+)", status)[0]) / 1024]))


def measured(job: str, path: Path) -> tuple[float, float]:
    command = [sys.executable, "-m", "benchmarks.scale", "--job", job, "--path", str(path)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds, megabytes = json.loads(printed)
    return seconds, megabytes


def parquet(folder: Path, rows: int, rounds: int) -> list[dict[str, object]]:
    """Compare a pass over a file with decoding it, each in a process of its own."""
    path = folder / "big.parquet"
    write_parquet(path, rows, 50)
    turns = [(measured("decode and Gram", path), measured("exact second moment", path)) for _ in range(rounds)]
    ratio = median(ours[0] / plain[0] for plain, ours in turns)
    speed, peak = rows / median(ours[0] for _, ours in turns), max(ours[1] for _, ours in turns)
    print(f"\nParquet, {rows} x 50: {ratio:.2f} of decoding and a plain Gram (target 1.25), {speed:.3g} rows/s, ", end="")
    print(f"peak {peak:.0f} MB (target 400)", flush=True)
    return [{"what": "parquet", "rows": rows, "d": 50, "rows/s": speed, "ratio": ratio, "target": 1.25, "peak MB": peak}]


def cpu_of(pool: Pool) -> list[float]:
    """Return the CPU seconds of each process of a pool."""
    ticks = os.sysconf("SC_CLK_TCK")
    stats = [Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii") for process in pool._processes]
    return [sum(map(int, stat.rpartition(")")[2].split()[11:13])) / ticks for stat in stats]


def opened(path: Path, names: list[str]) -> Any:
    """Return a source that can be taken apart."""
    return open_source(path, names)


class Turn(NamedTuple):
    """One reading: wall seconds, CPU seconds of this process, and of each worker."""

    wall: float
    here: float
    there: list[float]

    @property
    def longest(self) -> float:
        """What it would take were no core shared: the busiest process."""
        return max(self.here, *self.there, 0.0)


def workers(folder: Path, rows: int, rounds: int) -> list[dict[str, object]]:
    """Compare two workers with one, and with none, on a CSV file and on a Parquet file of many row groups."""
    text, columnar, names = folder / "big.csv", folder / "groups.parquet", [f"c{j}" for j in range(20)]
    write_csv(text, rows, 20)
    write_parquet(columnar, 4 * rows, 20)
    pq.write_table(pq.read_table(columnar), columnar, row_group_size=2**17)
    records: list[dict[str, object]] = []
    for path in (text, columnar):
        pools = {number: Pool(number) for number in (1, 2)}
        sources: dict[int, Any] = {number: SplitSource(opened(path, names), pool) for number, pool in pools.items()}
        sources[0] = open_source(path, names)
        turns: dict[int, list[Turn]] = {number: [] for number in sources}
        for turn in range(rounds + 1):
            for number, source in sources.items():
                before = cpu_of(pools[number]) if number and turn else []
                wall, here = time.perf_counter(), time.process_time()
                source.total(SecondMoment(Grid(NORM), 20))
                wall, here = time.perf_counter() - wall, time.process_time() - here
                after = cpu_of(pools[number]) if number and turn else []
                if turn:  # the first one starts processes
                    turns[number].append(Turn(wall, here, [b - a for a, b in zip(before, after, strict=True)]))
        for pool in pools.values():
            pool.close()
        gains = [(one.wall / two.wall, one.longest / two.longest) for one, two in zip(turns[1], turns[2], strict=True)]
        alone = [(none.wall / two.wall, none.longest / two.longest) for none, two in zip(turns[0], turns[2], strict=True)]
        load = os.getloadavg()[0]
        (wall, cpu), (wall0, cpu0) = ((median(part) for part in zip(*ratios, strict=True)) for ratios in (gains, alone))
        print(f"\n{path.name}: two workers against one {wall:.2f} by wall, {cpu:.2f} by CPU of the busiest (target 1.7 on CSV)")
        print(f"against this process alone {wall0:.2f} by wall, {cpu0:.2f} by CPU; load {load:.1f} on {os.cpu_count()} cores")
        for number in (0, 1, 2):
            here, there = (median(value) for value in ([t.here for t in turns[number]], [sum(t.there) for t in turns[number]]))
            print(
                f"{number} workers: {median(t.wall for t in turns[number]):.2f} s; CPU {here:.2f} s here, {there:.2f} s there"
            )
        records.append({"what": path.name, "d": 20, "gain by wall": wall, "gain by CPU": cpu, "load": load})
    return records


def repetition(rounds: int) -> list[dict[str, object]]:
    """Compare tables of ever more rows, which are one block over and over: what a row costs must not grow with their number."""
    records: list[dict[str, object]] = []
    print("\nn x 20, a block over and over, against the first by the row")
    first = 0.0
    block = np.random.default_rng(20).standard_normal((10**5, 20)) * (0.5 * NORM / 20**0.5)
    for n in (10**5, 10**6, 10**7, 10**8):
        source = ArraySource(Repeated(block, n))
        question = SecondMoment(Grid(NORM), 20)
        seconds = median(cpu_seconds(lambda: source.total(question)) for _ in range(rounds if n < 10**7 else 1))  # noqa: B023
        first = first or seconds / n
        print(f"n = {n:<10.0e} {seconds:8.2f} s, {n / seconds:.3g} rows/s, {seconds / n / first:.2f}", flush=True)
        records.append({"what": "repetition", "rows": n, "d": 20, "rows/s": n / seconds, "ratio": seconds / n / first})
    return records


class Repeated:
    """Rows that are one array over and over, in no memory of their own."""

    def __init__(self, block: NDArray[np.float64], n: int) -> None:
        self._block, self.shape, self.dtype = block, (n, block.shape[1]), block.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> NDArray[np.float64]:
        first, last, _ = rows.indices(len(self))
        return self._block.take(range(first, last), axis=0, mode="wrap")

    def part(self, start: int, rows: int) -> Any:
        return Repeated(np.roll(self._block, -start, axis=0), min(rows, len(self) - start))


def files(folder: Path, rounds: int) -> list[dict[str, object]]:
    """Measure how large a release's file is, and how long it takes to write and to load, with all checks."""
    records: list[dict[str, object]] = []
    print(f"\n{'file of':30} {'MB':>6} {'write s':>8} {'load s':>8}  (target at d = 4096: 75 MB, 2 s)")
    for d in (784, 2048, 4096):
        rows = np.random.default_rng(d).standard_normal((2000, d)) * (0.5 / d**0.5)
        for mechanism, budget in (("gaussian", dpcov.ZCDP(0.5)), ("wishart", dpcov.PureDP(1))):
            release, path = dpcov.covariance(rows, budget, row_norm=1.0, mechanism=mechanism, seed=0), folder / "release.json"
            written = median(cpu_seconds(lambda: release.save(path)) for _ in range(rounds))  # noqa: B023
            loaded = median(cpu_seconds(lambda: dpcov.load(path)) for _ in range(rounds))  # noqa: B023
            size = path.stat().st_size / 1e6
            missed = "  missed" * (size > 75 or loaded > 2)
            print(f"{f'{mechanism}, d = {d}':30} {size:6.1f} {written:8.2f} {loaded:8.2f}{missed}", flush=True)
            records.append({"what": f"file, {mechanism}", "d": d, "MB": size, "write s": written, "load s": loaded})
    return records


def device(rounds: int) -> list[dict[str, object]]:
    """Compare a second moment of rows that are on a device with a product in float32 there, and with two cores here.

    Two cores take half the time of one: that is what they can do at best.
    """
    try:
        import torch
    except ImportError:
        print("\ntorch is not installed: nothing was measured on a device")
        return []
    card = torch.cuda.is_available()
    name = torch.cuda.get_device_name() if card else "cpu"
    print(f"\non {name}: medians of {rounds + 1} turns, in seconds")
    heads = ("exact", "float32", "ratio", "two cores here", "times", "auto", "again")
    print(f"{'rows':>16} " + " ".join(f"{head:>14}" for head in heads))
    records: list[dict[str, object]] = []
    for n, d in ((10**6, 1024), (2 * 10**6, 1024), (10**6, 4096)) if card else ((2**14, 1024), (2**12, 4096)):
        rows = torch.randn((n, d), device="cuda" if card else "cpu") * (0.5 * NORM / d**0.5)
        held = rows if card else dpcov.OnDevice(rows, "cpu")
        there, question = open_source(held), SecondMoment(Grid(NORM), d)
        exact = median(seconds_on(there.total, question, card) for _ in range(rounds + 1))  # the first one tries the device
        plain = median(seconds_on(lambda x: x.T @ x, rows, card) for _ in range(rounds + 1))
        here = open_source(rows[: 2**14].cpu().numpy())
        beside = median(seconds_on(here.total, question, card) for _ in range(3)) * n / min(n, 2**14) / 2
        first, again = (seconds_on(released, held, card) for _ in range(2))
        figures = (exact, plain, exact / plain, beside, beside / exact, first, again)
        print(f"{f'{n} x {d}':>16} " + " ".join(f"{figure:14.3f}" for figure in figures), flush=True)
        record = {"what": f"on {name}", "rows": n, "d": d, "rows/s": n / exact, "ratio": exact / plain, "two cores": beside}
        records.append({**record, "exact s": exact, "auto s": again})
    return records


def released(rows: Any) -> None:
    """Make a whole release with its estimate."""
    _ = dpcov.covariance(rows, dpcov.ZCDP(0.1), row_norm=NORM).second_moment


def seconds_on(call: Callable[[Any], object], given: Any, card: bool) -> float:
    """Return the wall time of a call, until the card has done what it was given."""
    import torch

    start = time.perf_counter()
    call(given)
    if card:
        torch.cuda.synchronize()
    return time.perf_counter() - start


def in_database(rows: int, rounds: int) -> list[dict[str, object]]:
    """Compare one statement of DuckDB with reading the same rows through Arrow, one thread each, without the check."""
    import duckdb  # a machine with a card may have none

    records: list[dict[str, object]] = []
    for d in (20, 50):
        database = duckdb.connect()
        database.execute("SET threads = 1")
        table = pa.table({f"x{j}": column for j, column in enumerate(np.random.default_rng(d).standard_normal((d, rows)))})
        database.register("here", table)
        database.execute("CREATE TABLE people AS SELECT * FROM here")
        inside, outside = (
            open_source(sql(database, "SELECT * FROM people")),
            open_source(database.cursor().sql("SELECT * FROM people")),
        )
        asked = SecondMoment(Grid(NORM), d)
        inside.total(asked)  # and what is done once
        turns = [
            (cpu_seconds(lambda: outside.total(asked)), cpu_seconds(lambda: inside.total(asked)))  # noqa: B023
            for _ in range(rounds)
        ]
        ratio = median(ours / through for through, ours in turns)
        speeds = [rows / median(turn[place] for turn in turns) for place in (1, 0)]
        print(f"DuckDB, {rows} x {d}: {speeds[0]:.3g} rows/s inside, {speeds[1]:.3g} through Arrow: {ratio:.1f}", flush=True)
        records.append({"what": "inside DuckDB", "rows": rows, "d": d, "rows/s": speeds[0], "ratio": ratio})
    return records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000, help="of the Parquet file")
    parser.add_argument("--text-rows", type=int, default=1_000_000, help="of the files that workers read")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", choices=["array", "parquet", "workers", "repetition", "files", "device", "database"])
    parser.add_argument("--job", choices=JOBS)
    parser.add_argument("--path", type=Path)
    options = parser.parse_args()
    if options.job:
        run_job(options.job, options.path)
        return
    records: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder:
        if options.only in (None, "array"):
            records += in_core(options.rounds)
        if options.only in (None, "parquet"):
            records += parquet(Path(folder), options.rows, options.rounds)
        if options.only in (None, "database"):
            records += in_database(options.rows // 10, options.rounds)
        if options.only in (None, "workers"):
            records += workers(Path(folder), options.text_rows, options.rounds)
        if options.only in (None, "repetition"):
            records += repetition(options.rounds)
        if options.only in (None, "files"):
            records += files(Path(folder), options.rounds)
        if options.only in (None, "device"):
            records += device(options.rounds)
    fields = dict.fromkeys(name for record in records for name in record)
    write("scale.csv", [{name: record.get(name) for name in fields} for record in records])


if __name__ == "__main__":
    main()
