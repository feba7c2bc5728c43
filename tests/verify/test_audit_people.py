"""Audits whose neighbours are whole people: what is right is not refuted, and each way to promise a row instead is found.

All audits are seeded. Prices are exact: what is right is never accused by them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dpcov
from dpcov.errors import ParameterError
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.questions.moments import SumOverRows
from dpcov.kernel.rows.aside import SHARE_BITS, Aside, Weighed
from dpcov.mechanisms import MECHANISMS
from dpcov.schema.whose import Checked
from dpcov.sources import people
from dpcov.sources.people import People as Counted
from dpcov.verify.audit import Audit, audit_mechanism
from dpcov.verify.neighbours import Dice, Numbers, Records
from dpcov.verify.people import People

FEW: dict[str, Any] = {"seed": 7590, "trials": 0, "draws": 0, "pairs": 6}
TABLE = dpcov.Schema({"age": dpcov.Numeric(17, 90, nullable=True), "sex": dpcov.Categorical(["F", "M"])}, unit="who")
NEEDED: dict[str, dict[str, Any]] = {
    "standardized": {"schema": TABLE, "center": True, "pairs": 4},
    "ppca": {"options": {"k": 1, "approximate": True, "sweeps": 3}},
    "output-perturbation": {"options": {"target": 0, "alpha": 0.1}},
}
OPTIONS: dict[str, dict[str, Any]] = {"pca": {"k": 1}, "covariance": {}, "mean": {}, "ridge": {}}
NAMES = [(target, name) for target, known in MECHANISMS.items() for name in known]


def audited(name: str, budget: Any = dpcov.ZCDP("0.5"), **settings: Any) -> Audit:  # noqa: B008 - it is frozen
    return audit_mechanism(name, budget, **FEW | {"unit": True} | settings)


@pytest.mark.parametrize(("target", "name"), NAMES)
def test_no_mechanism_costs_more_of_a_person_than_is_charged(target: str, name: str) -> None:
    """Replacement where it is served, as it can cost more; removal is replayed mechanism by mechanism in `test_people`."""
    relation = MECHANISMS[target][name].neighbors[0]
    notion = MECHANISMS[target][name].serves[0]
    budget = {dpcov.PureDP: dpcov.PureDP(4), dpcov.ZCDP: dpcov.ZCDP("0.5"), dpcov.ApproxDP: dpcov.ApproxDP(1, "1e-6")}[notion]
    settings: dict[str, Any] = {"options": OPTIONS[target]} | NEEDED.get(name, {})
    if (target, name) == ("covariance", "coinpress"):
        settings["options"] = {"upper": 4.0}
    found = audited(name, budget, target=target, neighbors=relation, **settings)
    assert not found.refuted, found.violations
    assert found.protected == "person"
    assert found.pairs > found.refused


@pytest.mark.parametrize("relation", ["replace", "add-remove"])
@pytest.mark.parametrize("more", [{}, {"max_weight": 3.0}, {"most_rows": 4}, {"most_rows": 4, "max_weight": 1e-3}])
def test_weights_and_rows_that_count_alike(more: dict[str, Any], relation: str) -> None:
    found = audited("gaussian", neighbors=relation, **more, pairs=10)
    assert not found.refuted, found.violations
    assert ("count" in {worst.asked for worst in found.prices}) == (bool(more) or relation == "add-remove")


@pytest.mark.parametrize("relation", ["replace", "add-remove"])
def test_the_search_finds_people_who_cost_all_of_it(relation: str) -> None:
    """So noise that is 0.1 % too small for people would be found."""
    found = audited("gaussian", neighbors=relation, pairs=100)
    assert all(worst.share > 0.999 for worst in found.prices), found.prices


def rows_that_count_fully(_: Any, column: Any, __: Any = None) -> Any:
    return np.full(len(column), 2.0**SHARE_BITS)


def roots_for_shares(self: Aside, shares: Any) -> Any:
    """Count a person with m rows as √m people."""
    return np.floor(np.ldexp(np.sqrt(np.ldexp(shares, -SHARE_BITS)), self.share_bits))


def clipped_after_scaling(self: Any, rows: Any, **_: Any) -> Any:
    """Scale the floats by √(1/m), and clip what is then still too long: m long rows of a person are m rows of full length."""
    features, shares = self.aside.apart(rows)
    scaled = np.nan_to_num(features) * np.sqrt(np.ldexp(shares, -SHARE_BITS))[:, None]
    return self.grid.encode(scaled, scratch=False) * 2.0**self.aside.finer


def twice_as_heavy(self: Aside, rows: Any) -> Weighed:
    """Let the heaviest rows count as two."""
    beside = rows[:, -self.width :]
    return Weighed(2 * beside[:, 0], beside[:, 1] if self.unit else np.ones(len(rows)))


def everybody_known(column: Any, long: Any) -> Any:
    words, known = RIGHT(column, long)
    return words, np.ones_like(known)


RIGHT = people._identifiers
WRONG: dict[str, tuple[Any, str, Callable[..., Any], dict[str, Any]]] = {
    "each row counts fully": (Counted, "shares", rows_that_count_fully, {}),
    "a root where a share is meant": (Aside, "counted", roots_for_shares, {"name": "rescaled"}),
    "clipping after scaling": (SumOverRows, "scaled", clipped_after_scaling, {}),
    "nobody's rows are one person's": (people, "_identifiers", everybody_known, {}),
    "weights beyond their bound": (Aside, "weighed", twice_as_heavy, {"max_weight": 2.0}),
}


@pytest.mark.parametrize("relation", ["replace", "add-remove"])
@pytest.mark.parametrize("bug", WRONG)
def test_a_promise_about_rows_is_found(bug: str, relation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    holder, name, wrong, settings = WRONG[bug]
    monkeypatch.setattr(holder, name, wrong)
    given: dict[str, Any] = {"name": "gaussian", "neighbors": relation, "pairs": 60} | settings
    assert audited(**given).refuted


class TestChosenPairs:
    ONE = np.array([[0.5, 0.5, 1.0], [0.1, 0.2, 2.0]])

    def test_one_row_against_ten_thousand(self) -> None:
        many = np.concatenate([self.ONE[:1], np.tile([[0.0, -1.0, 2.0]], (10_000, 1))])
        found = audited("gaussian", pairs=[(self.ONE, many)])
        assert not found.refuted
        assert 0 < found.dearest <= 1

    def test_people_beside_each_other_are_no_neighbours(self) -> None:
        other = self.ONE * [[-1.0, 1.0, 1.0]]
        with pytest.raises(ParameterError, match="differ in one person"):
            audited("gaussian", pairs=[(self.ONE, other)])

    def test_rows_of_nobody_are_no_person(self) -> None:
        nobody = np.concatenate([self.ONE, [[9.0, 9.0, np.nan]]])
        with pytest.raises(ParameterError, match="differ in one person"):
            audited("gaussian", pairs=[(nobody, self.ONE)])
        assert audited("gaussian", pairs=[(self.ONE, self.ONE[:1])], neighbors="add-remove").pairs == 1

    def test_tables(self) -> None:
        one = pa.table({"age": [20.0, 30.0, 40.0], "sex": ["F", "M", "F"], "who": [1, 1, 2]})
        other = pa.table({"age": [20.0, 30.0, None], "sex": ["F", "M", "?"], "who": [1, 1, 2]})
        found = audited("gaussian", unit=False, schema=TABLE, pairs=[(one, other)])
        assert (found.protected, found.refuted) == ("person", False)
        with pytest.raises(ParameterError, match="with the column 'who'"):
            audited("gaussian", schema=TABLE, pairs=[(one.drop_columns("who"), other)])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"unit": "who"}, "unit must be True or False"),
        ({"unit": 1}, "unit must be True or False"),
        ({"unit": False, "most_rows": 3}, "unit must be True where"),
        ({"unit": False, "max_weight": 3}, "unit must be True where"),
        ({"max_weight": -1.0}, "max_weight must be"),
        ({"max_weight": np.nan}, "max_weight must be"),
        ({"most_rows": 0}, "most_rows must be"),
        ({"schema": TABLE, "most_rows": 2.5}, "most_rows must be"),
    ],
)
def test_what_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        audited("gaussian", **given)


def test_made_up_people_are_the_same_table_again() -> None:
    """What is searched can be written, and chosen: people of `rows` are those that `data` was made of."""
    dice = Dice(SeededBits(7591))
    for kind, whose in (
        (Numbers(2), Checked("x3", 0, "x2", 2.0)),
        (Numbers(2), Checked("x2", 0, "", 0.0)),
        (Records(TABLE), Checked("who", 0, "w", 2.0)),
    ):
        made = People(kind, whose)
        persons = [made.row(dice) for _ in range(6)]
        persons = [(records, min(times, 3), ()) for records, times, _ in persons]
        back = made.rows(made.data(persons))
        assert [len(records) for records, _, _ in back] == [len(records) * times for records, times, _ in persons]
        assert repr(made.data(back)) == repr(made.data(persons))
