"""With a ledger the whole budget is taken after the first reading and before the first draw, whatever a mechanism asks."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.kernel.account import Account
from dpcov.kernel.budget import Budget
from dpcov.kernel.curator import Curator
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.sums import ExactSums
from dpcov.mechanisms.base import Mechanism
from dpcov.mechanisms.running import released
from dpcov.sources.array import ArraySource
from tests.helpers.watched import WatchedAccount, WatchedSampler, WatchedSums
from tests.mechanisms.cases import BUDGETS, CASES, named, served
from tests.mechanisms.test_every_mechanism import COLUMNS, ROW_NORM, WAYS, Key


@dataclass
class Noting:
    """A purse that notes when it is emptied."""

    done: list[str]
    most_tail: Fraction | None = None

    def take(self) -> None:
        self.done.append("take")


@pytest.mark.parametrize(("key", "neighbors"), [way for way in WAYS if isinstance(named(way.values[0]), Mechanism)])  # type: ignore[arg-type]
def test_every_mechanism_pays_between_its_first_reading_and_its_first_draw(key: Key, neighbors: str) -> None:
    """Also those that read twice, ask for n, peel, search or choose: once, and before anything else of theirs is charged."""
    rows = np.random.default_rng(7).uniform(-0.4, 0.4, size=(2000, COLUMNS[key[0]]))
    for budget in served(key, BUDGETS):
        done = order(key, neighbors, budget, rows)
        assert done.count("take") == 1
        assert done.index("read") < done.index("take") < done.index("charge") < done.index("draw")


def order(key: Key, neighbors: str, budget: Budget, rows: Any) -> list[str]:
    """Return what was done in a run, in order."""
    source = ArraySource(rows)
    encoding = Encoding(source.feature_names, ROW_NORM[key[0]])
    done: list[str] = []
    account: Account = WatchedAccount(budget, done, Noting(done))
    sums = WatchedSums(ExactSums(source, encoding, neighbors), done)
    released(named(key), Curator(sums, account, WatchedSampler(3, done)), budget, **CASES[key].needed)
    return done


def test_exact_sums_from_elsewhere_are_charged_once_they_are_read(tmp_path: Path) -> None:
    """The statement itself costs nothing, not even an attempt; sums that are not those of the statement cost nothing either."""
    duckdb = pytest.importorskip("duckdb")
    ledger = dpcov.Ledger.create(tmp_path / "budget.db")
    ledger.add("people", dpcov.ZCDP(1))
    settings: dict[str, Any] = {"row_norm": 1, "columns": ["a", "b"], "mechanism": "gaussian"}
    settings |= {"ledger": ledger.dataset("people")}
    query, path = "SELECT 0.25::DOUBLE AS a, -0.5::DOUBLE AS b FROM range(500)", tmp_path / "sums.txt"
    with pytest.raises(dpcov.SqlToRun) as printed:
        dpcov.covariance(dpcov.sql_text(query, "duckdb"), dpcov.ZCDP("0.1"), **settings)
    assert [event["event"] for event in ledger.history("people").events] == ["opened"]
    with pytest.raises(dpcov.BudgetError, match="has left"):
        dpcov.covariance(dpcov.sql_text(query, "duckdb"), dpcov.ZCDP(2), **settings)
    path.write_text("nonsense", encoding="ascii")
    path.chmod(0o600)
    with pytest.raises(dpcov.EngineError, match="exact sums must be those"):
        dpcov.covariance(dpcov.sql_text(query, exact_sums=path), dpcov.ZCDP("0.1"), **settings)
    assert [event["event"] for event in ledger.history("people").events][1:] == ["attempted", "failed"]
    assert ledger.status().of("people").left == dpcov.ZCDP(1)
    path.write_text(str(duckdb.sql(printed.value.statement).fetchall()[0][0]), encoding="ascii")
    made = dpcov.covariance(dpcov.sql_text(query, exact_sums=path), dpcov.ZCDP("0.1"), **settings)
    assert ledger.verify(made).intact
    assert ledger.status().of("people").left == dpcov.ZCDP("0.9")
