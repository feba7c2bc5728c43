"""Audits of `standardized`: exactly, by replay on neighbours of every kind; its spending on many paths; and from outside.

Replay is exact and rejects no correct code. The black box accuses correct code with probability below 1e-6; a copy with half of
the noise must be found by it.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta as beta_law

from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP, compose, pays_for
from dpcov.kernel.face import Face
from dpcov.kernel.noise.sampler import RandomSampler
from dpcov.kernel.questions.moments import NEIGHBORS, REPLACE
from dpcov.kernel.questions.norms import Norms
from dpcov.kernel.questions.table import ColumnMoments, Histograms, LevelCounts, Range
from dpcov.kernel.rows.columns import Columns
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.rows.standard import LevelUnits, NumericUnits, Standard, Units
from dpcov.mechanisms.running import released
from dpcov.mechanisms.standardized import columns as asked_of_columns
from dpcov.mechanisms.standardized.covariance import STANDARDIZED
from dpcov.release.record import Release
from dpcov.schema import Categorical, Numeric, Schema
from dpcov.sources.base import Source
from dpcov.sources.kept import KeptSource
from dpcov.sources.opening import open_source
from dpcov.verify.replay import PrivacyViolationError, Step, replay
from dpcov.verify.testing import SeededBits, opened
from tests.helpers.by_hand import by_hand
from tests.helpers.peeking import sums_behind

Row = dict[str, Any]
GRID = Grid(1.0, center=True)
CENTRED: dict[str, Any] = {"grid": GRID}

MIXED = Schema(
    {
        "wide": Numeric(-1, 1),
        "town": Categorical(["x", "y", "z"]),
        "narrow": Numeric(-1, 1),
        "gaps": Numeric(-1, 1, nullable=True),
        "flat": Numeric(-1, 1),
        "grade": Categorical([1, 2], nullable=True),
    }
)
NUMBERS = Schema({name: column for name, column in MIXED.used.items() if isinstance(column, Numeric)})
LEVELS = Schema({name: column for name, column in MIXED.used.items() if isinstance(column, Categorical)})
SCHEMAS = {"mixed": MIXED, "numbers": NUMBERS, "levels": LEVELS}

HIGH: Row = {"wide": 1.0, "town": "x", "narrow": 1.0, "gaps": 1.0, "flat": 1.0, "grade": 1.0}
LOW: Row = {"wide": -1.0, "town": "y", "narrow": -1.0, "gaps": -1.0, "flat": -1.0, "grade": 2.0}
HALF: Row = LOW | {"wide": -0.5, "narrow": -0.5, "gaps": -0.5, "flat": -0.5}
MISSING: Row = {"wide": np.nan, "town": None, "narrow": np.nan, "gaps": np.nan, "flat": np.nan, "grade": np.nan}
USUAL: Row = {"wide": 0.1, "town": "z", "narrow": 0.3, "gaps": 0.2, "flat": 0.25, "grade": 2.0}
PAIRS: dict[str, tuple[Row, Row]] = {
    "end to end": (HIGH, LOW),
    "three quarters": (HIGH, HALF),
    "observed or missing": (HIGH, MISSING),
    "at the other end or missing": (LOW, MISSING),
    "another level": (USUAL, USUAL | {"town": "x", "grade": 1.0}),
    "no such level": (USUAL, USUAL | {"town": "nowhere", "grade": 7.0}),
    "drowned or not": (USUAL, USUAL | {"narrow": -1.0, "flat": 1.0}),
    "wild": (USUAL, MISSING | {"wide": np.inf, "narrow": -np.inf, "flat": 1e308}),
    "far in one column": (USUAL, USUAL | {"narrow": 0.31, "wide": 1.0}),
}


def others(n: int, seed: int = 7) -> Any:
    """Rows that all neighbours share: a wide column, one of a hundredth of its bounds, one with gaps, one that never varies."""
    draw = np.random.default_rng([seed, n])
    return pd.DataFrame(
        {
            "wide": np.clip(draw.normal(0, 0.4, n), -1, 1),
            "town": draw.choice(np.array(["x", "y", "z"], dtype=object), n),
            "narrow": 0.3 + 0.005 * draw.normal(size=n),
            "gaps": np.where(draw.random(n) < 0.3, np.nan, draw.uniform(-1, 1, n)),
            "flat": np.full(n, 0.25),
            "grade": np.where(draw.random(n) < 0.2, np.nan, draw.integers(1, 3, n)),
        }
    )


def tables(pair: str, neighbors: str, n: int, schema: Schema, nullable: bool = True) -> tuple[Source, Source]:
    """Return two tables of n rows whose last one differs; or one of them does not have it."""
    first, second = PAIRS[pair]
    shared = others(n - 1)
    columns = {name: column if nullable else replace(column, nullable=False) for name, column in schema.used.items()}
    frames = [pd.concat([shared, pd.DataFrame([row]).astype(shared.dtypes)], ignore_index=True) for row in (first, second)]
    if neighbors != REPLACE:
        frames[1] = shared
    one, other = (open_source(frame, schema=Schema(columns), center=True) for frame in frames)
    return one, other


def replayed(budget: Budget, neighbors: str, sources: tuple[Source, Source]) -> list[Step]:
    """Replay both ways, and check that each pays for all of its answers."""
    steps = []
    for way in (sources, sources[::-1]):
        made = replay(STANDARDIZED, *way, budget=budget, neighbors=neighbors, **CENTRED)
        assert pays_for(budget, [step.charged for step in made])
        steps += made
    return steps


def check(steps: list[Step]) -> None:
    assert steps
    for step in steps:
        assert step.cost <= step.allowed * (1 + 1e-9), step


@pytest.fixture
def coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Histograms of 2¹² bins a column, not of 2¹⁷: what a row can cost is the same, and it is found out ten times as fast."""
    monkeypatch.setattr(asked_of_columns, "MOST_BITS", 12)


BUDGETS: list[Budget] = [PureDP(20), ZCDP(8), ApproxDP(30, "1e-6")]
RICH: list[Budget] = [PureDP(400), ZCDP(4000), ApproxDP(1000, "1e-6")]


@pytest.mark.parametrize("neighbors", NEIGHBORS)
class TestReplay:
    @pytest.mark.parametrize("pair", PAIRS)
    @pytest.mark.parametrize("budget", BUDGETS, ids=repr)
    def test_no_answer_costs_more_than_its_charge(self, budget: Budget, pair: str, neighbors: str) -> None:
        for schema in SCHEMAS.values():
            check(replayed(budget, neighbors, tables(pair, neighbors, 300, schema)))

    @pytest.mark.usefixtures("coarse")
    @pytest.mark.parametrize("budget", BUDGETS, ids=repr)
    def test_nor_where_gaps_are_not_declared(self, budget: Budget, neighbors: str) -> None:
        for pair in PAIRS:
            check(replayed(budget, neighbors, tables(pair, neighbors, 300, MIXED, nullable=False)))

    @pytest.mark.usefixtures("coarse")
    @pytest.mark.parametrize("budget", BUDGETS + RICH, ids=repr)
    def test_nor_of_few_rows(self, budget: Budget, neighbors: str) -> None:
        """1 to 45: rows by their bounds, caps at n, columns that drown with one row and not with another."""
        for n in (1, 2, 3, 6, 14, 45):
            for pair in ("end to end", "drowned or not", "observed or missing"):
                check(replayed(budget, neighbors, tables(pair, neighbors, n, MIXED)))

    def test_nor_of_one_row_or_none(self, neighbors: str) -> None:
        if neighbors == REPLACE:
            pytest.skip("an empty table is refused where n is public")
        for budget in RICH:
            check(replayed(budget, neighbors, tables("end to end", neighbors, 1, NUMBERS)))


@pytest.mark.usefixtures("coarse")
@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("budget", BUDGETS[:2], ids=repr)
def test_worst_rows_cost_all_of_it(budget: Budget, neighbors: str) -> None:
    """Noise that is 5 % too large for its price would show."""
    dearest: dict[str, float] = {}
    for pair in PAIRS:
        for step in replayed(budget, neighbors, tables(pair, neighbors, 300, MIXED)):
            dearest[step.asked] = max(dearest.get(step.asked, 0.0), float(step.cost) / float(step.allowed))
    asked = {"column moments", "interval", "level counts", "radius", "second moment"}
    assert set(dearest) == asked | ({"count"} if neighbors != REPLACE else set())
    for name in ("column moments", "interval", "level counts"):
        one_way = name == "interval" and neighbors != REPLACE  # scores of wide and of narrow runs still move apart
        assert dearest[name] > (0.24 if one_way else 0.95), (name, dearest[name])
    assert dearest["second moment"] > 0.5


def test_every_step_is_looked_at() -> None:
    """Else the tests above would say nothing of intervals, nor of moments that are asked again."""
    source = tables("end to end", REPLACE, 300, MIXED)[0]
    release = released(STANDARDIZED, opened(source, GRID, ZCDP(8), REPLACE, SeededBits(1)), ZCDP(8))
    asked = [spend.asked for spend in release.spent]
    assert asked[:3] == ["column moments", "interval", "interval"]
    assert asked[3:] == ["column moments", "level counts", "radius", "second moment"]


def test_integers_of_a_row_depend_on_no_other_row() -> None:
    """Alone, in a block, in either layout: in private units, by its norm, and in the bins of its cells."""
    draw = np.random.default_rng(17)
    for _ in range(60):
        columns = Columns(((0, 0.5), (2, 0.25)), ((1, 3), (3, 5)))
        numbers = tuple(
            NumericUnits(-reach, reach, float(draw.uniform(-reach, reach)), float(10 ** draw.uniform(-12, 1)))
            for _, reach in columns.numeric
        )
        levels = []
        for _, count in columns.levels:
            shares = draw.dirichlet(np.ones(count))
            divisors = np.sqrt(np.maximum(shares * (1 - shares), 0.1))
            levels.append(LevelUnits(tuple(range(count)), tuple(shares.tolist()), tuple(divisors.tolist())))
        units, radius, n = Units(columns, numbers, tuple(levels)), float(10 ** draw.uniform(-3, 3)), 40
        cells = draw.uniform(-0.6, 0.6, size=(n, 4))
        wild = draw.choice([np.nan, np.inf, -np.inf, 1e308, -0.0, 5e-324], size=(n, 4))
        rows = np.where(draw.random((n, 4)) < 0.2, wild, cells)
        for place, count in columns.levels:
            rows[:, place] = draw.choice([*range(count), np.nan, -1.0, count, 1e300], n)
        standard, norms = Standard(units, 0.3 * radius, radius), Norms(Standard(units, 0.0, radius), units.size, 8, 7)
        whole, bins = standard.encode(rows), norms.bins(rows)
        assert (np.einsum("ij,ij->i", whole, whole) <= 4**16).all()
        assert (whole == np.rint(whole)).all()
        counted: tuple[Any, ...] = (Histograms(columns, 7), LevelCounts(columns))
        apart = [np.sum([one.of(rows[i : i + 1]) for i in range(n)], axis=0) for one in counted]
        assert all((one.of(rows) == sums).all() for one, sums in zip(counted, apart, strict=True))
        for part in (slice(i, i + width) for i in range(n) for width in (1, 3)):
            for laid in (rows[part].copy(order="C"), rows[part].copy(order="F")):
                assert (standard.encode(laid) == whole[part]).all()
                assert (norms.bins(laid) == bins[part]).all()


def test_half_of_the_noise_is_caught_by_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = tables("three quarters", REPLACE, 300, MIXED)
    check(replayed(PureDP(20), REPLACE, sources))
    right = ColumnMoments.sensitivity_l1
    monkeypatch.setattr(ColumnMoments, "sensitivity_l1", lambda self, neighbors: right(self, neighbors) / 2)
    with pytest.raises(AssertionError, match="column moments"):
        check(replayed(PureDP(20), REPLACE, sources))


def test_a_mechanism_that_looks_is_caught() -> None:
    """Which columns drown, decided by the exact moments instead of the noisy ones."""
    first, second = tables("drowned or not", REPLACE, 300, NUMBERS)

    def peeking(curator: Face, budget: Any) -> None:
        columns = curator.encoding.columns
        assert columns is not None
        histograms = Histograms(columns, 10)
        every = ColumnMoments(histograms, tuple(Range(i, 0, 1024) for i in range(4)))
        exact = sums_behind(curator).read(every)
        spread = [exact[2 * i + 1] - exact[2 * i] ** 2 / (300 * 2**16) for i in range(4)]
        ranges = tuple(Range(i, 0, 512 if spread[i] < 5000 else 1024) for i in range(4))
        curator.noisy(ColumnMoments(histograms, ranges), budget, noise="laplace")

    with pytest.raises(PrivacyViolationError):
        replay(replace(by_hand(peeking), centring="homogeneous"), first, second, grid=GRID, budget=PureDP(2))


def a_path(number: int) -> tuple[Release, Budget]:
    """Return a release of a random table: any schema, any spread, any budget that can be served."""
    draw = np.random.default_rng([91, number])
    n = int(draw.choice([1, 2, 5, 30, 200, 1500]))
    columns: dict[str, Any] = {}
    cells: dict[str, Any] = {}
    for place in range(int(draw.integers(0, 5))):
        width = 10.0 ** draw.integers(-7, 1)
        found = draw.normal(size=n) * width * draw.integers(0, 2)
        cells[f"number {place}"] = np.where(draw.random(n) < draw.choice([0, 0.3, 1], p=[0.6, 0.3, 0.1]), np.nan, found)
        columns[f"number {place}"] = Numeric(-1, 1, nullable=bool(draw.integers(0, 2)))
    for place in range(int(draw.integers(0 if columns else 1, 4))):
        levels = [f"level {i}" for i in range(int(draw.choice([1, 2, 3, 12])))]
        cells[f"levels {place}"] = draw.choice(np.array(levels, dtype=object), n)
        columns[f"levels {place}"] = Categorical(levels, nullable=bool(draw.integers(0, 2)))
    amount = Fraction(int(draw.integers(1, 1000)), 7) * Fraction(10) ** int(draw.integers(-4, 3))
    notions: list[Budget] = [PureDP(amount), ZCDP(amount), ApproxDP(amount, "1e-9")]
    budget = notions[number % 3]
    neighbors = NEIGHBORS[int(draw.integers(0, 2))]
    source = open_source(pd.DataFrame(cells), schema=Schema(columns), center=True)
    curator = opened(source, GRID, budget, neighbors, sampler=RandomSampler(SeededBits(number)))
    return released(STANDARDIZED, curator, budget), budget


def test_the_shares_of_every_path_are_the_budget() -> None:
    """300 of them: the sum is the budget where a second moment was asked for in private units, else no more than it."""
    paths = set()
    for number in range(300):
        release, budget = a_path(number)
        charges = [spend.budget for spend in release.spent]
        asked = tuple(dict.fromkeys(spend.asked for spend in release.spent))
        paths.add(asked)
        assert pays_for(budget, charges), asked
        whole = budget.to_zcdp() if isinstance(budget, ApproxDP) else budget
        if {"column moments", "level counts"} & set(asked) and asked[-1] == "second moment":
            assert compose(*charges) == whole, asked
        assert np.isfinite(release.mean).all()
    assert len(paths) >= 10
    assert any("interval" in path for path in paths)
    assert any(path[-1] != "second moment" for path in paths)  # where all columns are constant nothing is left to ask
    assert ("radius", "second moment") in paths


TRIALS = 4000
RISK = 5e-7  # for each of two bounds


def proved_epsilon(monkeypatch: pytest.MonkeyPatch, noise: Fraction) -> float:
    """Bound ε from below, by how often both moments exceed those of a cell at its bound, which its neighbour has at −½."""
    right = ColumnMoments.sensitivity_l1
    with monkeypatch.context() as patched:
        patched.setattr(ColumnMoments, "sensitivity_l1", lambda self, neighbors: right(self, neighbors) * noise)
        found = []
        for extra, cell in enumerate((1.0, -0.5)):
            source = KeptSource(open_source(pd.DataFrame({"a": [cell]}), schema=Schema({"a": Numeric(-1, 1)}), center=True))
            above = 0
            for seed in range(TRIALS):
                curator = opened(source, GRID, PureDP(1), REPLACE, SeededBits(2 * seed + extra))
                columns = curator.public.encoding.columns
                assert columns is not None
                question = ColumnMoments(Histograms(columns, 6), (Range(0, 0, 64),))
                values = curator.noisy(question, PureDP(1), noise="laplace").values
                above += bool(values[0] > 0.98 and values[1] > 0.96)
            found.append(above)
    low = beta_law.ppf(RISK, found[0], TRIALS - found[0] + 1)
    high = beta_law.ppf(1 - RISK, found[1] + 1, TRIALS - found[1])
    return float(np.log(low / high))


@pytest.mark.audit
def test_moments_of_many_releases(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0.5 < proved_epsilon(monkeypatch, Fraction(1)) <= 1
    assert proved_epsilon(monkeypatch, Fraction(1, 2)) > 1
