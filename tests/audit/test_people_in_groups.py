"""Neighbours that differ in all rows of one person, in whatever groups they are: what each answer really cost.

Columns are x0 and x1, the group x2, whose a row is x3, and its weight x4. Replay is exact; nothing here fails by chance.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpcov.kernel.budget import ApproxDP, Budget
from dpcov.mechanisms import MECHANISMS
from dpcov.request import request
from dpcov.schema import Categorical
from dpcov.schema.whose import Whose
from dpcov.sources.base import Source
from dpcov.sources.by import By
from dpcov.sources.opening import open_source
from dpcov.verify.replay import Step, replay
from tests.audit.test_groups import CASES, LEVELS

Floats = NDArray[np.float64]
WAYS: dict[str, Whose] = {
    "people": Whose(unit="x3"),
    "many rows": Whose(unit="x3", weighting="rows", most_rows=10),
    "weights": Whose(unit="x3", weight="x4", max_weight=2.0),
}
FULL = 0.5**0.5


def person(who: float, *rows: tuple[float, float, float], copies: int = 1, weight: float = 5.0) -> Floats:
    """Return rows (x0, x1, group) of one person, again and again."""
    return np.array([[*row, who, weight] for row in rows] * copies)


SHARED = [person(who, (0.3, 0.1, who % 4), (-0.2, 0.6, (who + 1) % 4), copies=1 + int(who)) for who in range(6)]
ONE = person(9.0, (FULL, FULL, 0.0))
MANY = person(9.0, (FULL, FULL, 2.0), copies=10_000)
EVERYWHERE = person(9.0, (1.0, 0.0, 0.0), (0.0, 1.0, 1.0), (FULL, FULL, 2.0), (9.0, 9.0, 7.0), copies=40)
ODD = person(9.0, (np.nan, np.inf, 1.0), (1e308, -1e308, 2.0), (0.0, 0.0, np.nan), copies=3)
LIGHT = person(9.0, (FULL, FULL, 1.0), weight=0.0)
PAIRS: dict[str, list[tuple[Floats, Floats | None]]] = {
    "replace": [(ONE, MANY), (MANY, EVERYWHERE), (EVERYWHERE, ODD), (LIGHT, ONE)],
    "add-remove": [(MANY, None), (EVERYWHERE, None), (ODD, None)],
}
WORST: dict[str, tuple[Floats, Floats | None]] = {"replace": (ONE, MANY), "add-remove": (ONE, None)}


def replayed(
    name: str, budget: Budget, neighbors: str, center: bool, way: str, pair: tuple[Floats, Floats | None], **options: Any
) -> list[Step]:
    asked = request(
        "covariance",
        budget,
        mechanism=name,
        bound=1.0,
        schema=None,
        neighbors=neighbors,
        center=center,
        whose=WAYS[way],
        by={"x2": LEVELS},
        options=options,
    )

    def source(someone: Floats | None) -> Source:
        rows = np.concatenate(SHARED if someone is None else [*SHARED, someone])
        return open_source(rows, ["x0", "x1"], aside=asked.aside, by=By("x2", Categorical(LEVELS)))

    first, second = map(source, pair)
    encoding = asked.encoding(first)
    mechanism = MECHANISMS["covariance"][name]
    return replay(mechanism, first, second, grid=encoding, budget=budget, neighbors=neighbors, **options)


def squares(way: str, budget: Budget) -> list[str]:
    """Return what is asked first of rows with weights, but of an (epsilon, delta) that is spent as such."""
    return ["squared weights"] if way == "weights" and not isinstance(budget, ApproxDP) else []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("name", "budget", "neighbors", "center"), CASES)
def test_no_person_costs_more_than_was_charged(name: str, budget: Budget, neighbors: str, center: bool, way: str) -> None:
    """One row against ten thousand in another group, rows of all groups and of none, no numbers at all, and no weight."""
    for pair in PAIRS[neighbors]:
        steps = replayed(name, budget, neighbors, center, way, pair)
        asked = [*squares(way, budget), "second moments of groups", *(["counts of groups"] if not center else [])]
        assert [step.asked for step in steps] == asked
        for step in steps:
            assert step.cost <= step.allowed, (pair, step)


@pytest.mark.parametrize(("name", "budget", "neighbors", "center"), CASES)
def test_the_worst_people_cost_all_of_it(name: str, budget: Budget, neighbors: str, center: bool) -> None:
    """Sizes of ten thousand rows are rounded down, by a fiftieth; a constant in front takes a little of an L1 norm."""
    for step in replayed(name, budget, neighbors, center, "people", WORST[neighbors]):
        assert float(step.cost) > (0.8 if center and name == "laplace" else 0.95) * float(step.allowed)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
def test_a_private_radius_is_part_of_the_price(neighbors: str, way: str) -> None:
    budget = ApproxDP(1, "1e-6").to_zcdp()
    for pair in PAIRS[neighbors]:
        steps = replayed("gaussian", budget, neighbors, True, way, pair, clip="private")
        assert [step.asked for step in steps] == [*squares(way, budget), "radius", "second moments of groups"]
        assert all(step.cost <= step.allowed for step in steps)
        assert sum((step.charged.amounts()[0] for step in steps), start=Fraction(0)) <= budget.rho
