"""Replay of every mechanism with options, budgets, tables and sizes that are drawn, not listed.

A number decides on all of it: the mechanism, the relation, the notion and its amount, whether there is a schema, whether rows
are centred, the options, and a pair of neighbours as an audit searches them. Values of options are those that `cases` has for
them, and others between; what a mechanism refuses of any rows is no run. Replay is exact, so it rejects no correct code; it
insists on the same questions, the same file and on prices within the charges.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import pytest

from dpcov.errors import DpcovError
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import ApproxDP, Budget
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.base import Named
from dpcov.request import is_bounded, request
from dpcov.schema import Categorical, Numeric, Schema
from dpcov.verify.neighbours import Dice, Kind, Numbers, Pair, Records, any_pair, changed_pair
from dpcov.verify.replay import rerun
from tests.mechanisms.cases import CASES, Options

KEYS = [(target, name) for target, names in MECHANISMS.items() for name in names]
FEW, BATCHES, A_BATCH = 400, 8, 500
LARGER = (120, 300)
"""Rows of tables that are larger than those of a search; one run in twenty."""


def values_of(key: tuple[str, str]) -> dict[str, list[Any]]:
    """Return the values that the table of cases has for each option, and the default."""
    case = CASES.get(key)
    told: Iterable[Options] = () if case is None else (*(run for run, _ in case.runs), *case.small, *case.wild, case.needed)
    defaults = MECHANISMS[key[0]][key[1]].options.items()
    found = {name: [] if default is inspect.Parameter.empty else [default] for name, default in defaults}
    for options in told:
        for name, value in options.items():
            if name in found:
                found[name].append(value)
    return {
        name: [value for value in values if value is not None or case is None or name not in case.needed]
        for name, values in found.items()
    }


VALUES = {key: values_of(key) for key in KEYS}


AS_THEY_ARE = ("k", "target", "upper", "lower", "rounds", "rank", "sweeps")
"""Options that are counts, or fit others of the same row only."""


def another(value: Any, dice: Dice) -> Any:
    """Return a number near a value, as often as the value itself; anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float) or dice.below(2):
        return value
    return float(value) * 10 ** (2 * dice.uniform() - 1)


def options_of(key: tuple[str, str], dice: Dice) -> Options:
    """Return options: those that are needed, and each other one as often as not."""
    needed = CASES[key].needed if key in CASES else {}
    return {
        name: dice.one_of(values) if name in AS_THEY_ARE else another(dice.one_of(values), dice)
        for name, values in VALUES[key].items()
        if values and (name in needed or dice.below(2))
    }


def schema_of(dice: Dice) -> Schema:
    """Return a schema of one to four columns."""
    columns: dict[str, Numeric | Categorical] = {}
    for place in range(1 + dice.below(4)):
        nullable = bool(dice.below(2))
        if dice.below(3):
            width = 10.0 ** (dice.below(7) - 3)
            columns[f"number {place}"] = Numeric(-width * dice.below(2), width, nullable=nullable)
        else:
            columns[f"levels {place}"] = Categorical([f"level {i}" for i in range(1 + dice.below(4))], nullable=nullable)
    return Schema(columns)


def budget_of(named: Named, dice: Dice) -> Budget:
    """Return a budget that it serves, from a hundredth to a hundred."""
    amount = Fraction(1 + dice.below(1000), 10) * Fraction(10) ** (dice.below(4) - 3)
    notion = dice.one_of(named.serves)
    return ApproxDP(amount, dice.one_of(("1e-6", "1e-9", "0.01"))) if notion is ApproxDP else notion(amount)


def larger(pair: Pair, kind: Kind, dice: Dice) -> Pair:
    """Return a pair of hundreds of rows."""
    usual = [kind.row(dice) for _ in range(7)]
    return Pair(tuple(dice.one_of(usual) for _ in range(dice.one_of(LARGER))), pair.row, pair.other)


def replayed(number: int) -> tuple[tuple[str, str], tuple[str, str, bool, bool] | None, str]:
    """Replay what a number stands for; return its kind, and None in its place with the reason where it was refused."""
    dice = Dice(SeededBits(number))
    key = KEYS[number % len(KEYS)]
    named = MECHANISMS[key[0]][key[1]]
    neighbors, budget = dice.one_of(named.neighbors), budget_of(named, dice)
    schema = schema_of(dice) if named.bound == "schema" or (named.centring != "own" and dice.below(3) == 0) else None
    center = named.bound == "schema" or (named.centring == "homogeneous" and bool(dice.below(2)))
    options = options_of(key, dice)
    bound = None if schema is not None or is_bounded(named, options) else 1.0
    kind: Kind = Numbers((2 if key[0] in ("pca", "ridge") else 1) + dice.below(3)) if schema is None else Records(schema)
    pair = any_pair(kind, neighbors, dice)
    pair = changed_pair(kind, pair, dice) if dice.below(2) else pair
    pair = larger(pair, kind, dice) if dice.below(20) == 0 else pair
    try:
        asked = request(
            *(key[0], budget), mechanism=named, bound=bound, schema=schema, neighbors=neighbors, center=center, options=options
        )
        first, second = (asked.source(kind.data(rows), None) for rows in pair.tables()[:: 1 if dice.below(2) else -1])
        settings = asked.settings(first)
        made = rerun(named, first, second, asked.encoding(first), budget, neighbors, settings, SeededBits(number))
    except DpcovError as error:
        if type(error).__name__ == "PrivacyViolationError":
            raise AssertionError((number, key, neighbors, budget, options, pair)) from error
        return key, None, str(error)
    for step in made.steps:
        assert step.cost <= step.allowed * (1 + 1e-9), (number, key, neighbors, budget, options, pair, step)
    return key, (neighbors, budget.notion, schema is not None, center), ""


def check(numbers: Iterable[int]) -> None:
    runs = [replayed(number) for number in numbers]
    served = Counter(key for key, kind, _ in runs if kind is not None)
    print(f"{served.total()} of {len(runs)} runs were served; of {len({kind for _, kind, _ in runs} - {None})} kinds.")
    assert served.total() > 0.6 * len(runs), Counter(why for _, kind, why in runs if kind is None).most_common(9)
    assert set(served) == set(KEYS)


def test_no_random_run_costs_more_than_its_charge() -> None:
    check(range(FEW))


@pytest.mark.audit
@pytest.mark.parametrize("batch", range(BATCHES))
def test_nor_do_thousands(batch: int) -> None:
    """4000 of them, none of those above."""
    begin = 10**6 + batch * A_BATCH
    check(range(begin, begin + A_BATCH))


def test_options_are_drawn_from_all_that_are_there() -> None:
    """So that a new option, or a new mechanism, is tried as well."""
    dice = Dice(SeededBits(2))
    drawn = {key: [options_of(key, dice) for _ in range(60)] for key in KEYS}
    for key, several in drawn.items():
        known = {name for name, values in VALUES[key].items() if values}
        assert {name for options in several for name in options} == known
    tried = [options.get("clip") for options in drawn["covariance", "gaussian"]]
    assert {"none", "private"} <= {clip for clip in tried if isinstance(clip, str)}
    assert len({clip for clip in tried if isinstance(clip, float)}) > 5
