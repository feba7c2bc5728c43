"""Releases by group about people, and with weights: exact numbers, files, statements, ledgers, refusals."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpcov
from dpcov.errors import DpcovError, ParameterError, ReleaseError
from dpcov.kernel.account import Account
from dpcov.kernel.curator import Curator
from dpcov.kernel.questions.groups import GroupCounts, GroupedMoment
from dpcov.kernel.questions.weights import SquaredWeights
from dpcov.kernel.sums import ExactSums
from dpcov.mechanisms.running import released
from dpcov.release.file import parse, text_of
from dpcov.release.groups import GroupSize
from dpcov.release.record import Release
from dpcov.report.release_lines import weights_line
from dpcov.report.releases import facts
from dpcov.request import request
from dpcov.schema.whose import Whose
from dpcov.verify.testing import Noiseless
from tests.helpers.small import sealed

DRAW = np.random.default_rng(7520)
N, LEVELS = 6000, ["north", "south", "east"]
WHO = DRAW.integers(0, 900, N)
REGION = np.array([*LEVELS, "elsewhere"])[DRAW.choice(4, N, p=[0.5, 0.3, 0.15, 0.05])]
ROWS = DRAW.normal(size=(N, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]]) + (REGION == "east")[:, None] + 0.3 * (WHO % 3)[:, None]
TABLE = pd.DataFrame({"who": WHO, "a": ROWS[:, 0], "region": REGION, "b": ROWS[:, 1], "w": DRAW.lognormal(size=N)})
SCHEMA = dpcov.Schema({"a": dpcov.Numeric(-6, 6), "region": dpcov.Categorical(LEVELS), "b": dpcov.Numeric(-6, 6)})
WAYS: dict[str, dict[str, Any]] = {
    "people": {"unit": "who"},
    "many rows": {"unit": "who", "weighting": "rows", "most_rows": 5},
    "weights of rows": {"weight": "w", "max_weight": 3.0},
    "weights": {"unit": "who", "weight": "w", "max_weight": 3.0},
}
BUDGETS: dict[str, Any] = {"gaussian": dpcov.ZCDP(1), "wishart": dpcov.PureDP(3), "laplace": dpcov.PureDP(3)}
each_way = pytest.mark.parametrize("way", WAYS)
each_mechanism = pytest.mark.parametrize("mechanism", BUDGETS)
each_relation = pytest.mark.parametrize("neighbors", ["replace", "add-remove"])


def shares(way: str) -> Any:
    """Return what each row counts: with m all rows of its person, in whatever groups they are."""
    given = WAYS[way]
    m = TABLE.groupby("who")["who"].transform("size") if "unit" in given else pd.Series(np.ones(N))
    return np.asarray((np.minimum(TABLE["w"] / 3, 1) if "weight" in given else 1.0) / np.maximum(m, given.get("most_rows", 0)))


def made(mechanism: str, neighbors: str, way: str, **said: Any) -> Release:
    said = {"schema": SCHEMA, "by": "region", "seed": 7521, **WAYS[way], **said}
    return dpcov.covariance(TABLE, said.pop("budget", BUDGETS.get(mechanism)), mechanism=mechanism, neighbors=neighbors, **said)


def exact(mechanism: str, neighbors: str, way: str, center: bool) -> Release:
    """Return a release without noise."""
    budget = BUDGETS[mechanism] if mechanism == "gaussian" else dpcov.PureDP(10_000)  # on a fine lattice
    asked = request(
        "covariance",
        budget,
        mechanism=mechanism,
        bound=None,
        schema=SCHEMA,
        neighbors=neighbors,
        center=center,
        whose=Whose(**WAYS[way]),
        by="region",
        seed=1,
        options={},
    )
    source = asked.source(TABLE, None)
    curator = Curator(ExactSums(source, asked.encoding(source), neighbors), Account(budget), Noiseless())
    return released(asked.named, curator, budget, postprocess="none")


@each_way
@each_relation
@each_mechanism
class TestExact:
    def test_each_group_is_the_weighted_average_of_its_rows(self, mechanism: str, neighbors: str, way: str) -> None:
        release, share = exact(mechanism, neighbors, way, center=True), shares(way)
        for level in (*LEVELS, None):
            part = release.pooled if level is None else release[level]
            mine = REGION != "elsewhere" if level is None else level == REGION
            assert part.n == pytest.approx(share[mine].sum(), abs=1)
            mean = np.average(ROWS[mine], axis=0, weights=share[mine])
            assert np.allclose(part.mean, mean, atol=6 / part.n)  # n is told in whole numbers
            covariance = np.cov(ROWS[mine].T, aweights=share[mine], ddof=0)
            assert np.allclose(part.covariance, covariance, atol=30 / part.n)

    def test_sizes_are_asked_for_where_no_corner_tells_them(self, mechanism: str, neighbors: str, way: str) -> None:
        release, share = exact(mechanism, neighbors, way, center=False), shares(way)
        squares = [SquaredWeights] if "weight" in WAYS[way] else []
        assert [type(answer.question) for answer in release.answers] == [*squares, GroupedMoment, GroupCounts]
        partial = way != "people" or neighbors == "add-remove"
        inside = share[REGION != "elsewhere"].sum()
        assert release.n == pytest.approx(inside if partial else len(np.unique(WHO)), rel=2e-3)
        for level in LEVELS:
            mine = level == REGION
            assert release[level].n == pytest.approx(share[mine].sum(), abs=1)
            assert release[level].take(GroupSize).values == pytest.approx(share[mine].sum(), rel=2e-3)
            second = (ROWS[mine] * share[mine, None]).T @ ROWS[mine] / share[mine].sum()
            assert np.allclose(release[level].second_moment, second, atol=40 / release[level].n)


@each_way
@each_relation
@pytest.mark.parametrize("mechanism", [*BUDGETS, "auto"])
@pytest.mark.parametrize("center", [True, False])
def test_a_release_is_one_file_with_a_release_for_each_group(mechanism: str, neighbors: str, way: str, center: bool) -> None:
    release = made(mechanism, neighbors, way, center=center, budget=BUDGETS.get(mechanism, dpcov.ZCDP(1)))
    assert release.retrace().agrees
    back = parse(text_of(release))
    for level in LEVELS:
        assert np.array_equal(back[level].covariance, release[level].covariance)
        assert back[level].n == release[level].n
        assert not release[level].n_is_public
    assert np.array_equal(back.pooled.covariance, release.pooled.covariance)
    assert np.isfinite(release.between("north", "south").correlations.estimate).all()
    assert release.n_is_public == (way == "people" and neighbors == "replace")
    assert release["east"].statement() == release.statement()
    unit = WAYS[way].get("unit", "")
    assert release.unit == unit
    said = release.statement()
    assert ("rows with one value of 'who' are a person's" in said) == bool(unit)


class TestEffectiveSize:
    @pytest.mark.parametrize("clip", ["none", "private"])
    @pytest.mark.parametrize("center", [True, False])
    def test_all_groups_together_tell_n_with_the_noise_of_each(self, center: bool, clip: str) -> None:
        release = made("gaussian", "replace", "weights", center=center, clip_weight=clip)
        pooled = release.pooled
        assert release.n == pooled.n
        assert release.effective_n_error == pytest.approx(pooled.effective_n_error, rel=1e-9)
        for part in (release, pooled, *(release[level] for level in LEVELS)):
            assert weights_line(part) is not None
            assert 0 < facts(part)["effective_n_error"] < part.effective_n


class TestPromise:
    def test_a_file_with_the_noise_of_rows_is_refused(self) -> None:
        """Two excesses in place of those of all three groups, or the steps of rows in place of parts of people."""
        record = json.loads(text_of(made("wishart", "replace", "people")))
        of_rows = json.loads(
            text_of(dpcov.covariance(TABLE, dpcov.PureDP(3), schema=SCHEMA, by="region", mechanism="wishart", seed=1))
        )
        [answer], [other] = record["answers"], of_rows["answers"]
        assert parse(sealed(record)).n == len(np.unique(WHO))
        for name in ("scale", "excess"):
            forged = json.loads(json.dumps(record))
            [law] = forged["answers"][0]["noise"]
            law["parameters"][name] = other["noise"][0]["parameters"][name]
            with pytest.raises(ReleaseError):
                parse(sealed(forged))
        assert answer["noise"][0]["parameters"]["blocks"] == "3"

    def test_a_ledger_is_charged_once(self, tmp_path: Any) -> None:
        ledger = dpcov.Ledger.create(tmp_path / "budget.db")
        ledger.add("visits", dpcov.ZCDP(1), unit="who")
        dataset, half = ledger.dataset("visits"), dpcov.ZCDP("1/2")
        with pytest.raises(ParameterError, match="unit must be that of the ledger's total"):
            dpcov.covariance(TABLE, half, schema=SCHEMA, by="region", mechanism="gaussian", ledger=dataset)
        release = dpcov.covariance(TABLE, half, schema=SCHEMA, by="region", unit="who", mechanism="gaussian", ledger=dataset)
        assert ledger.status().of("visits").left == half
        assert ledger.verify(release).intact

    @pytest.mark.parametrize(
        ("said", "words"),
        [
            ({"unit": "region"}, "not that of groups"),
            ({"weight": "region", "max_weight": 2}, "not that of groups"),
            ({"unit": "a"}, "no feature"),
            ({"unit": "nobody"}, "column of the data"),
        ],
    )
    def test_what_is_refused(self, said: dict[str, Any], words: str) -> None:
        with pytest.raises(DpcovError, match=words):
            dpcov.covariance(TABLE, dpcov.ZCDP(1), schema=SCHEMA, by="region", mechanism="gaussian", **said)


def test_arrays_have_both_columns_by_position() -> None:
    """Whose a row is, and which group it is in."""
    rows = np.column_stack([ROWS, [LEVELS.index(one) if one in LEVELS else 9 for one in REGION], WHO])
    given: dict[str, Any] = {"row_norm": 9, "mechanism": "gaussian", "seed": 7522, "unit": 3}
    release = dpcov.covariance(rows, dpcov.ZCDP(1), by={"x2": [0, 1, 2]}, **given)
    assert release.feature_names == ("x0", "x1")
    assert (release.n, release.unit) == (len(np.unique(WHO)), "x3")
    assert release["0"].n == pytest.approx(shares("people")[REGION == "north"].sum(), abs=20)


def in_turn(task: Any, parts: Any) -> Any:
    """Stand for a pool: the parts that there are, one by one."""
    return map(task, parts)


def test_other_processes_have_the_same_integers() -> None:
    """In parts, each with its own rows of a person."""
    one, other = made("gaussian", "replace", "weights"), made("gaussian", "replace", "weights", workers=in_turn)
    for answer, found in zip(one.answers, other.answers, strict=True):
        assert np.array_equal(found.integers, answer.integers)


def test_files_have_the_same_integers(tmp_path: Any) -> None:
    expected = made("gaussian", "replace", "weights").answers
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    TABLE.to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        found = dpcov.covariance(
            tmp_path / name,
            dpcov.ZCDP(1),
            schema=SCHEMA,
            by="region",
            mechanism="gaussian",
            seed=7521,
            **WAYS["weights"],
        )
        for answer, other in zip(found.answers, expected, strict=True):
            assert np.array_equal(answer.integers, other.integers)
