"""Streaming from files: CPU time against decoding plus a plain Gram matrix, and peak memory. One BLAS thread.

Each line is a process of its own, so that its peak of resident memory is its own. Imports are paid before the clock starts.
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
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import dpcov


def write_parquet(path: Path, rows: int, columns: int, dictionaries: bool = True) -> None:
    """Write random normals in row groups of a million rows, which is pyarrow's own default, as dictionaries are."""
    random = np.random.default_rng(0)
    writer = None
    for start in range(0, rows, 2**20):
        part = random.normal(size=(columns, min(2**20, rows - start)))
        table = pa.table({f"c{j}": part[j] for j in range(columns)})
        writer = writer or pq.ParquetWriter(path, table.schema, use_dictionary=dictionaries)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def write_csv(path: Path, rows: int, columns: int) -> None:
    from pyarrow import csv

    random = np.random.default_rng(0)
    with csv.CSVWriter(path, pa.schema([(f"c{j}", pa.float64()) for j in range(columns)])) as writer:
        for start in range(0, rows, 2**17):
            part = random.normal(size=(columns, min(2**17, rows - start)))
            writer.write_table(pa.table({f"c{j}": part[j] for j in range(columns)}))


def floor(path: Path) -> None:
    """Decode every column and add up plain float64 Gram matrices."""
    file = pq.ParquetFile(path, pre_buffer=False, buffer_size=2**16)
    total = np.zeros((file.metadata.num_columns,) * 2)
    for batch in file.iter_batches(batch_size=2**14, use_threads=False):
        block = np.empty((batch.num_columns, len(batch)))
        for row, column in zip(block, batch.columns, strict=True):
            row[:] = column.to_numpy()
        total += block @ block.T


def release(path: Path) -> None:
    assert dpcov.covariance(path, dpcov.ZCDP("0.1"), row_norm=10, mechanism="gaussian").second_moment.any()


def automatic_release(path: Path) -> None:
    """Read the file twice: for the norms, and for the matrices of clipped rows."""
    assert dpcov.covariance(path, dpcov.ZCDP("0.1"), row_norm=10).mechanism == "rescaled"


def centred_release(path: Path) -> None:
    names = pq.ParquetFile(path).schema_arrow.names
    schema = dpcov.Schema({name: dpcov.Numeric(-4, 4) for name in names})
    assert dpcov.covariance(path, dpcov.ZCDP("0.1"), schema=schema, center=True).covariance.any()


JOBS = {
    "decode and Gram": floor,
    "release by gaussian": release,
    "release with a schema, centred": centred_release,
    "release by auto": automatic_release,
}


def measured(job: str, path: Path) -> tuple[float, float]:
    """Run one job in a process of its own; return CPU seconds and the peak of resident memory in MB."""
    command = [sys.executable, "-m", "benchmarks.tables", "--job", job, "--path", str(path)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds, megabytes = json.loads(printed)
    return seconds, megabytes


def run_job(job: str, path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:  # warm up: imports and the once-per-process checks
        small = Path(folder) / "small.parquet"
        write_parquet(small, 100, 3)
        JOBS[job](small)
    start = time.process_time()
    JOBS[job](path)
    seconds = time.process_time() - start
    status = Path("/proc/self/status").read_text(encoding="ascii")  # getrusage would tell the parent's peak, too
    print(json.dumps([seconds, int(re.findall(r"VmHWM:\s*(\d+)", status)[0]) / 1024]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--job", choices=JOBS)
    parser.add_argument("--path", type=Path)
    options = parser.parse_args()
    if options.job:
        run_job(options.job, options.path)
        return
    with tempfile.TemporaryDirectory() as folder:
        parquet, csv = Path(folder) / "big.parquet", Path(folder) / "big.csv"
        write_parquet(parquet, options.rows, 50)
        write_csv(csv, options.rows // 5, 20)
        print(f"{'Parquet, ' + str(options.rows) + ' x 50':40} {'CPU s':>8} {'ratio':>7} {'peak MB':>8}")
        base = 0.0
        for job in JOBS:
            seconds, megabytes = min(measured(job, parquet) for _ in range(3))
            base = base or seconds
            print(f"{job:40} {seconds:8.2f} {seconds / base:7.2f} {megabytes:8.0f}")
        seconds, megabytes = measured("release by gaussian", csv)
        print(f"{'CSV, ' + str(options.rows // 5) + ' x 20: release by gaussian':40} {seconds:8.2f} {'':7} {megabytes:8.0f}")


if __name__ == "__main__":
    main()
