"""Exact replay of every mechanism on tables of 1 to 45 rows, where minima and caps that involve n bind.

With hundreds of rows a cap at n or n/2 never shows: a mechanism that took the exact n for it under add-remove would ask the
same. Replay is exact and rejects no correct code, whatever bits it draws.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from dpcov.errors import ParameterError
from dpcov.kernel.budget import Budget, pays_for
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.sources.array import ArraySource
from dpcov.sources.base import Source
from dpcov.sources.paired import PairedSource
from dpcov.verify.replay import replay
from dpcov.verify.testing import encoding_of
from tests.mechanisms.cases import CASES

SIZES, MORE_SIZES = (1, 2, 3, 6, 14, 45), (4, 5, 9, 10, 21, 32)
RUNS = [
    pytest.param(*key, options, budget, id=f"{' '.join(key)} {i}-{budget!r}")
    for key, case in CASES.items()
    for i, (options, budgets) in enumerate(case.runs)
    for budget in budgets
]


each_relation = pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
each_run = pytest.mark.parametrize(("kind", "name", "options", "budget"), RUNS)


def check(kind: str, name: str, options: dict[str, Any], budget: Budget, neighbors: str, sizes: Sequence[int]) -> None:
    """Rows of norm up to 1, where caps at n matter most; the dropped or replaced one is the longest."""
    paired = options.get("centring") == "pairs"
    if (kind == "ridge" or paired) and neighbors == "add-remove":
        pytest.skip("served under replace only")
    refused = 0
    for n in sizes:
        draw = np.random.default_rng(n)
        rows = draw.normal(size=(n, 3))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True) * draw.uniform(1, 3, size=(n, 1))
        rows[-1] = [1.0, 0.0, 0.0]
        other = np.vstack([rows[:-1], [[0.0, -0.5, 0.5]]]) if neighbors == "replace" else rows[:-1]
        sources: list[Source] = [ArraySource(rows), ArraySource(other)]
        grid: Grid | Encoding = Grid(1.0)
        if paired:
            sources = [PairedSource(source, neighbors) for source in sources]
            grid = dataclasses.replace(encoding_of(Grid(1.0), sources[0]), pairs=True)
        for one, two in (sources, sources[::-1]):
            try:
                steps = replay(MECHANISMS[kind][name], one, two, grid=grid, budget=budget, neighbors=neighbors, **options)
            except ParameterError:
                assert neighbors == "replace"  # of a private n, a refusal would tell
                refused += 1
                continue
            assert not steps or pays_for(budget, [step.charged for step in steps])
            for step in steps:
                assert step.cost <= step.allowed * (1 + 1e-9), (n, step)
    assert refused <= 10  # too few public rows for what is asked


@each_relation
@each_run
def test_few_rows_ask_and_release_nothing_else(
    kind: str, name: str, options: dict[str, Any], budget: Budget, neighbors: str
) -> None:
    check(kind, name, options, budget, neighbors, SIZES)


@pytest.mark.audit
@each_relation
@each_run
def test_nor_do_more_sizes(kind: str, name: str, options: dict[str, Any], budget: Budget, neighbors: str) -> None:
    check(kind, name, options, budget, neighbors, MORE_SIZES)
