"""Replay of `standardized` by group on neighbours of every kind, of rows and of people: exact, nothing fails by chance."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP, pays_for
from dpcov.kernel.questions.moments import NEIGHBORS, REPLACE
from dpcov.mechanisms.standardized.covariance import STANDARDIZED
from dpcov.request import request
from dpcov.schema import Categorical, Schema
from dpcov.schema.whose import Whose
from dpcov.verify.replay import Step, replay
from tests.audit.test_standardized import HIGH, LOW, MISSING, MIXED, USUAL, Row, others

SCHEMA = Schema({**MIXED.columns, "region": Categorical(["n", "s", "e"])})
BUDGETS: dict[str, Budget] = {"pure": PureDP(4), "zcdp": ZCDP(1), "approx": ApproxDP(4, "1e-9")}
WAYS: dict[str, Whose] = {
    "rows": Whose(),
    "people": Whose(unit="who"),
    "weights": Whose(unit="who", weight="w", max_weight=2.0),
}
SHARED = others(600).assign(region=np.array(["n", "s", "e", "nowhere"])[np.arange(600) % 4], who=np.arange(600) // 2, w=1.5)


def person(*rows: tuple[Row, str | None], copies: int = 1, w: float = 5.0) -> Any:
    """Return the rows of one person."""
    made = pd.DataFrame([row | {"region": region, "who": 9000, "w": w} for row, region in rows] * copies)
    return made.astype({name: kind for name, kind in SHARED.dtypes.items() if name not in ("region", "town")})


ALONE: dict[str, tuple[Any, Any]] = {
    "another group": (person((HIGH, "n")), person((HIGH, "s"))),
    "end to end in two groups": (person((HIGH, "n")), person((LOW, "e"))),
    "into no group": (person((USUAL, "s")), person((HIGH, "nowhere"))),
    "nothing there": (person((LOW, "e")), person((MISSING, None))),
}
MANY: dict[str, tuple[Any, Any]] = {
    "one row or many": (person((HIGH, "n")), person((HIGH, "s"), copies=3000)),
    "in all groups": (person((HIGH, "n"), (LOW, "s"), (USUAL, "e"), (LOW, "nowhere"), copies=20), person((MISSING, "s"))),
    "without weight": (person((HIGH, "n"), w=-1.0), person((LOW, "n"), (HIGH, "e"))),
}


def replayed(budget: Budget, neighbors: str, way: str, pair: tuple[Any, Any]) -> list[Step]:
    asked = request(
        "covariance",
        budget,
        mechanism="standardized",
        bound=None,
        schema=SCHEMA,
        neighbors=neighbors,
        center=True,
        whose=WAYS[way],
        by="region",
        options={},
    )
    tables = [pd.concat([SHARED, one], ignore_index=True) for one in pair]
    if neighbors != REPLACE:
        tables[1] = SHARED
    first, second = (asked.source(table, None) for table in tables)
    return replay(STANDARDIZED, first, second, grid=asked.encoding(first), budget=budget, neighbors=neighbors)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize(
    ("way", "name"), [*(("rows", name) for name in ALONE), *((way, name) for way in ("people", "weights") for name in MANY)]
)
def test_no_answer_costs_more_than_was_charged(way: str, name: str, budget: str, neighbors: str) -> None:
    pair = {**ALONE, **MANY}[name]
    for both in (pair, pair[::-1]):
        steps = replayed(BUDGETS[budget], neighbors, way, both)
        assert pays_for(BUDGETS[budget], [step.charged for step in steps])
        assert steps[-1].asked == "second moments of groups"
        for step in steps:
            assert step.cost <= step.allowed * (1 + 1e-9), step


def test_a_row_that_changes_its_group_costs_the_moment_all_of_it() -> None:
    """The longest row, under zCDP: the last answer is paid for in full, and no more."""
    step = replayed(BUDGETS["zcdp"], REPLACE, "rows", ALONE["another group"])[-1]
    assert Fraction(98, 100) * Fraction(step.allowed) <= Fraction(step.cost) <= step.allowed
