"""A stream that can be read once serves every mechanism that reads once, in both relations, or nothing is charged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpcov
from dpcov.kernel.account import Account
from dpcov.sources.arrow import ArrowSource

ROWS = np.random.default_rng(8).normal(size=(300, 3)) * 0.3
TWICE = (
    "adaptive",
    "rescaled",
    "coinpress",
    "standardized",
)  # what they ask depends on answers: tests/mechanisms/test_clipping.py, test_coinpress.py
GAUSSIAN = ("gaussian", "projection")
CASES: list[dict[str, Any]] = [{"mechanism": name} for name in dpcov.MECHANISMS["covariance"] if name not in TWICE]
CASES += [{"mechanism": "eigenvectors", "values": "spectrum"}, {"mechanism": "eigenvectors", "rank": 1}]


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("options", CASES, ids=lambda options: "-".join(map(str, options.values())))
def test_a_reader_is_read_once_for_all_questions(options: dict[str, Any], neighbors: str, center: bool) -> None:
    budget = dpcov.ZCDP(5) if options["mechanism"] in GAUSSIAN else dpcov.PureDP(5)
    table = pa.table({f"c{j}": ROWS[:, j] for j in range(3)})
    made = [
        dpcov.covariance(data, budget, row_norm=1, neighbors=neighbors, center=center, seed=3, **options)
        for data in (table.to_reader(max_chunksize=70), table.to_reader(max_chunksize=300))
    ]
    for one, other in zip(made[0].answers, made[1].answers, strict=True):
        assert np.array_equal(one.integers, other.integers)


@pytest.mark.parametrize(
    "options",
    [{}, {"center": True}, {"mechanism": "gaussian", "clip": "private"}, {"mechanism": "separate", "clip": "private"}],
    ids=str,
)
def test_a_file_of_unknown_length_is_read_twice(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for the norms, which tell n as well, and once for the rows clipped where they say."""
    np.savetxt(tmp_path / "rows.csv", ROWS, delimiter=",", header="a,b,c", comments="")
    blocks, readings = ArrowSource._blocks, []

    def counted(self: ArrowSource, rows: int, *more: Any) -> Any:
        readings.append(rows)
        return blocks(self, rows, *more)

    monkeypatch.setattr(ArrowSource, "_blocks", counted)
    dpcov.covariance(tmp_path / "rows.csv", dpcov.ZCDP(1), row_norm=1, columns=list("abc"), **options)
    assert len(readings) == 2


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> pa.RecordBatchReader:
    """Return a stream that breaks, and forbid to charge anything."""

    def batches() -> Any:
        yield pa.record_batch({"c0": [0.1]})
        raise OSError("the wire was cut")

    def charged(*_: Any) -> None:
        raise AssertionError("something was charged")

    monkeypatch.setattr(Account, "charge", charged)
    return pa.RecordBatchReader.from_batches(pa.schema([("c0", pa.float64())]), batches())


@pytest.mark.parametrize("options", CASES, ids=lambda options: "-".join(map(str, options.values())))
def test_a_stream_that_breaks_costs_nothing(options: dict[str, Any], broken: pa.RecordBatchReader) -> None:
    budget = dpcov.ZCDP(5) if options["mechanism"] in GAUSSIAN else dpcov.PureDP(5)
    with pytest.raises(dpcov.EngineError):
        dpcov.covariance(broken, budget, row_norm=1, neighbors="add-remove", **options)


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("budget", [dpcov.PureDP(5), dpcov.ZCDP(5)], ids=str)
@pytest.mark.parametrize("mechanism", ["auto", "clipped", "coordinatewise", "symq"])
def test_nor_does_it_for_a_mean(mechanism: str, budget: Any, neighbors: str, broken: pa.RecordBatchReader) -> None:
    with pytest.raises(dpcov.EngineError):
        dpcov.mean(broken, budget, radius=1, neighbors=neighbors, mechanism=mechanism)
