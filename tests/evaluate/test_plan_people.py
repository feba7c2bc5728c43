"""Plans about people: n counts them, a total that is private is paid for, and words say whom it is about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.errors import DpcovError
from tests.cli.shell import call

SCHEMA = dpcov.Schema({"age": dpcov.Numeric(18, 110), "stay": dpcov.Numeric(0, 120)}, unit="who")
ROWS = SCHEMA.of_features()
BUDGET = dpcov.ZCDP("0.5")
WEIGHTED: dict[str, Any] = {"weight": "w", "max_weight": 2.0}


class TestPlan:
    @pytest.mark.parametrize("given", [{"schema": SCHEMA}, {"d": 2, "unit": "who"}])
    def test_people_cost_what_rows_cost(self, given: dict[str, Any]) -> None:
        found, rows = dpcov.plan("covariance", BUDGET, n=8000, **given), dpcov.plan("covariance", BUDGET, n=8000, d=2)
        assert (found.counted, rows.counted) == ("people", "rows")
        assert found.to_dict() == rows.to_dict()

    @pytest.mark.parametrize("more", [WEIGHTED, {"weighting": "rows", "most_rows": 5}])
    def test_a_private_total_is_paid_for(self, more: dict[str, Any]) -> None:
        found = dpcov.plan("covariance", BUDGET, n=8000, schema=SCHEMA, **more)
        rows = dpcov.plan("covariance", BUDGET, n=8000, d=2, mechanism="gaussian")
        assert found.best.expected_error is not None
        assert rows.best.expected_error is not None
        assert rows.best.expected_error < found.best.expected_error < 1.11 * rows.best.expected_error
        assert "count" in [spend.asked for spend in found.best.spent]

    def test_it_predicts_what_a_release_says(self) -> None:
        draw = np.random.default_rng(7580)
        rows = np.column_stack([draw.normal(size=(3000, 2)) * 0.3, np.arange(3000) // 3])
        made = dpcov.covariance(rows, BUDGET, row_norm=1, unit=2, mechanism="gaussian", seed=1)
        planned = dpcov.plan("covariance", BUDGET, n=1000, d=2, mechanism="gaussian", unit="who")
        assert planned.best.expected_error == pytest.approx(made.expected_error, rel=1e-6)

    def test_what_is_refused(self) -> None:
        with pytest.raises(DpcovError, match="unit must be that of the schema"):
            dpcov.plan("covariance", BUDGET, n=8000, schema=SCHEMA, unit="w")
        with pytest.raises(DpcovError, match="max_weight must be given"):
            dpcov.plan("covariance", BUDGET, n=8000, d=2, weight="w")


class TestTables:
    def test_people_of_a_schema(self) -> None:
        found, rows = (dpcov.plan_table(one, BUDGET, n=8000) for one in (SCHEMA, ROWS))
        assert (found.counted, rows.counted) == ("people", "rows")
        assert found.outlook.mean == pytest.approx(rows.outlook.mean, rel=0.5)
        assert "this person's rows" in found.risk
        assert "this person's row," in rows.risk
        assert found.to_dict()["counted"] == "people"

    @pytest.mark.parametrize("more", [WEIGHTED, {"weighting": "rows", "most_rows": 50}])
    def test_what_all_count_together(self, more: dict[str, Any]) -> None:
        found = dpcov.plan_table(SCHEMA, BUDGET, n=8000, **more)
        assert found.outlook.mean == pytest.approx(dpcov.plan_table(ROWS, BUDGET, n=8000).outlook.mean, rel=0.7)

    def test_what_is_refused(self) -> None:
        with pytest.raises(DpcovError, match="unit must be that of the schema"):
            dpcov.plan_table(SCHEMA, BUDGET, n=8000, unit="w")


def test_a_dry_run_of_weights_does_not_take_rows_for_their_total() -> None:
    rows = np.column_stack([np.full((100, 2), 0.5), np.ones(100)])
    found = dpcov.rehearse("covariance", rows, BUDGET, row_norm=1, weight=2, max_weight=50)
    assert (found.n, found.expected_error) == (None, None)
    assert dpcov.rehearse("covariance", rows, BUDGET, row_norm=1).n == 100


def test_on_the_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.toml").write_text('unit = "who"\n[columns]\nage = { lower = 18, upper = 110 }\nstay = { lower = 0, upper = 120 }\n')
    found = call("plan", "--schema", "t.toml", "--n", "8000", "--rho", "0.5")
    assert found.code == 0, found.err
    assert "Plan: 8000 people, 2 columns" in found.out
    assert json.loads(call("plan", "--schema", "t.toml", "--n", "8000", "--rho", "0.5", "--json").out)["counted"] == "people"
    found = call("plan", "covariance", "--n", "8000", "--d", "4", "--rho", "0.5", "--unit", "who")
    assert "n = 8000 people, d = 4" in " ".join(found.out.split())
    Path("visits.csv").write_text("who,age,stay\n1,30,2\n1,40,3\n2,50,4\n")
    dry = call("release", "visits.csv", "--schema", "t.toml", "--rho", "0.5", "--dry-run")
    assert dry.code == 0, dry.err
    assert "`dpcov plan --schema FILE --n PEOPLE`" in dry.out
