"""Weights of which the largest is found privately: releases, their files, what an answer costs, and how much weights cost."""

from __future__ import annotations

import dataclasses
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import dpcov
from dpcov.errors import DpcovError, ParameterError, ReleaseError
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import pays_for
from dpcov.kernel.calibrate import exponential_rate
from dpcov.kernel.noise.choice import Exponential
from dpcov.kernel.noise.laws import DiscreteGaussian, DiscreteLaplace
from dpcov.kernel.questions.moments import Count
from dpcov.kernel.questions.weights import HeavyWeight, SquaredWeights, Weights
from dpcov.kernel.rows.aside import aside_of
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.release.check import check_answers
from dpcov.release.file import parse, text_of
from dpcov.report.release_lines import weights_line
from dpcov.report.releases import facts
from dpcov.sources.array import ArraySource
from dpcov.verify.replay import replay
from dpcov.verify.testing import opened
from tests.helpers.people import encoding_of, joined
from tests.helpers.small import assert_same, sealed

RHO, PURE, BOTH = dpcov.ZCDP(1), dpcov.PureDP(4), dpcov.ApproxDP(2, "1/1000000")
HUGE = dpcov.ZCDP(10**9)
BUDGETS: dict[type, Any] = {dpcov.PureDP: PURE, dpcov.ZCDP: RHO, dpcov.ApproxDP: BOTH}
DRAW = np.random.default_rng(7530)
TABLE = pd.DataFrame({"a": np.linspace(-2, 3, 3000), "c": np.arange(3000.0) % 7, "who": DRAW.integers(0, 700, 3000)})
TABLE["w"] = DRAW.lognormal(size=3000) * 100
TABLE.loc[:6, "w"] = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e308, 1e300]
SCHEMA = dpcov.Schema({"a": dpcov.Numeric(-2, 3), "c": dpcov.Numeric(0, 6)})
FOUND: dict[str, Any] = {"weight": "w", "max_weight": 1e6, "clip_weight": "private"}
WAYS: dict[str, dict[str, Any]] = {
    "rows": FOUND,
    "people": FOUND | {"unit": "who"},
    "rows of people": FOUND | {"unit": "who", "weighting": "rows", "most_rows": 5},
}
NEEDED: dict[str, dict[str, Any]] = {
    "covariance": {"row_norm": 9.0},
    "mean": {"radius": 9.0},
    "pca": {"row_norm": 9.0, "k": 1},
    "standardized": {"row_norm": None, "schema": SCHEMA, "center": True},
    "coinpress": {"row_norm": None, "upper": 9},
}
CASES = [
    (target, name, notion)
    for target in ("covariance", "mean", "pca")
    for name, named in MECHANISMS[target].items()
    for notion in named.serves
    if name not in ("karwa-vadhan", "ppca", "mod-sulq")  # which want a covariance, three columns, or (epsilon, delta) alone
]


@pytest.mark.parametrize(("target", "name", "notion"), CASES)
def test_every_mechanism_finds_a_weight_first_and_its_file_comes_back(target: str, name: str, notion: Any) -> None:
    given = NEEDED[target] | (NEEDED.get(name, {}) if target != "mean" else {}) | WAYS["people"]
    columns = {} if "schema" in given else {"columns": ["a", "c"]}
    made = getattr(dpcov, target)(TABLE, BUDGETS[notion], mechanism=name, seed=7531, **columns, **given)
    assert [type(answer.question) for answer in made.answers[:2]] == [HeavyWeight, SquaredWeights]
    cut = int(made.answers[0].integers[0])
    assert made.answers[0].question.aside.cut is None
    assert {answer.question.aside.cut for answer in made.answers[1:]} == {cut}
    assert made.max_weight == pytest.approx(1e6 * 2 ** (-cut / 8))
    back = parse(text_of(made))
    assert_same(back, made)
    assert (back.max_weight, back.effective_n) == (made.max_weight, made.effective_n)
    assert back.retrace().difference == ""


def counts(given: dict[str, Any], most: float) -> Any:
    """Return what each row counts, by pandas."""
    found = np.clip(TABLE["w"].where(TABLE["w"] > 0, 0.0) / most, 0, 1)
    rows = TABLE.groupby("who")["who"].transform("size") if "unit" in given else np.ones(3000)
    return np.asarray(found / np.maximum(rows, given.get("most_rows", 0)))


class TestEstimates:
    @pytest.mark.parametrize("relation", ["replace", "add-remove"])
    @pytest.mark.parametrize("way", WAYS)
    def test_means_and_the_effective_size_are_those_of_the_weights_as_they_count(self, way: str, relation: str) -> None:
        given = WAYS[way] | {"max_weight": 3000.0}
        made = dpcov.covariance(
            TABLE, HUGE, schema=SCHEMA, center=True, mechanism="gaussian", neighbors=relation, seed=7532, **given
        )
        assert made.max_weight is not None
        whole = counts(WAYS[way], made.max_weight)
        assert made.mean == pytest.approx(np.average(TABLE[["a", "c"]], axis=0, weights=whole), abs=0.005)
        assert made.n == pytest.approx(whole.sum(), abs=1)
        if way == "rows":
            assert made.effective_n == pytest.approx(whole.sum() ** 2 / (whole**2).sum(), rel=0.02)
        people = pd.Series(whole).groupby(TABLE["who"]).sum() if way != "rows" else pd.Series(whole)
        assert made.n <= made.independent_n <= made.effective_n <= people.sum() ** 2 / (people**2).sum() * 1.02
        assert made.effective_n_error < 0.01 * made.effective_n

    def test_a_bound_that_is_far_too_large_costs_little(self) -> None:
        """The weight that counts as 1 has about the wanted number above it, whatever was said: over 20 octaves."""
        found = []
        for most in (1e4, 1e6, 1e8):
            given = FOUND | {"max_weight": most}
            made = [dpcov.mean(TABLE, dpcov.PureDP(8), radius=9, columns=["a", "c"], seed=7533 + k, **given) for k in range(5)]
            [asked] = made[0].every(HeavyWeight)
            assert isinstance(asked.question, HeavyWeight)
            above = [int((TABLE["w"] > one.max_weight).sum()) for one in made]
            assert asked.question.rows == 125
            found.append(float(np.median(above)))
        assert max(found) < 250
        assert min(found) > 60

    def test_rows_that_count_alike_are_as_many_as_they_are(self) -> None:
        made = dpcov.mean(TABLE, RHO, radius=9, columns=["a", "c"])
        assert (made.weight, made.max_weight, made.independent_n, made.effective_n_error) == ("", None, 3000, 0.0)
        some = dpcov.mean(TABLE, RHO, radius=9, columns=["a"], unit="who", weighting="rows", most_rows=5)
        assert (some.max_weight, some.effective_n, some.effective_n_error) == (None, some.n, math.inf)

    def test_intervals_are_made_with_the_effective_size(self) -> None:
        made = dpcov.covariance(TABLE, HUGE, schema=SCHEMA, center=True, seed=7534, weight="w", max_weight=3000)
        careful = dataclasses.replace(made, answers=tuple(a for a in made.answers if type(a.question) is not SquaredWeights))
        assert careful.independent_n == careful.effective_n == made.n
        means: list[Any] = [one.interval().mean for one in (made, careful)]
        widths = [one.upper - one.lower for one in means]
        assert widths[0] / widths[1] == pytest.approx(math.sqrt(made.n / made.independent_n), rel=0.01)
        assert made.independent_n == pytest.approx(made.effective_n / 1.5, rel=0.01)

    def test_noise_in_the_squares_makes_intervals_wider_never_narrower(self) -> None:
        """Squares of 300 people at a hundredth of a small budget: hardly told, and then n is taken."""
        part = TABLE.iloc[:300]
        made = [
            dpcov.mean(part, dpcov.PureDP(1), radius=9, columns=["a"], seed=k, weight="w", max_weight=300) for k in range(40)
        ]
        assert all(one.n <= one.independent_n <= one.effective_n for one in made)
        assert sum(one.independent_n == one.n for one in made) > 30
        assert all(one.effective_n_error > 0.2 * one.n for one in made)


class TestSaid:
    def test_a_release_says_what_counts_as_one_and_what_weights_cost(self) -> None:
        made = dpcov.covariance(TABLE, RHO, schema=SCHEMA, center=True, seed=7535, **FOUND)
        said = weights_line(made)
        assert said is not None
        assert f"what is above {made.max_weight:.4g}, found privately below 1e+06, counts as that" in said
        told = facts(made)
        assert (told["max_weight"], told["effective_n"]) == (made.max_weight, made.effective_n)
        assert f"about {made.effective_n:,.0f} (± {made.effective_n_error:.2g}) rows of equal weight" in said
        asked = dpcov.covariance(TABLE, BOTH, schema=SCHEMA, center=True, seed=7536, weight="w", max_weight=300)
        said = weights_line(asked)
        assert said is not None
        assert f"at least {asked.n:,} rows of equal weight" in said
        assert "what is above 300, as asked," in said
        assert weights_line(dpcov.covariance(TABLE, RHO, schema=SCHEMA, center=True)) is None


class TestCost:
    SHARED = tuple(np.column_stack([DRAW.normal(size=(m, 2)) * 0.4, DRAW.uniform(0, 3, m)]) for m in (1, 3, 30) * 9)
    HEAVY = np.array([[0.0, 1.0, 1e308]] * 20)
    MANY = np.tile([[1.0, 0.0, 2.0]], (10_000, 1))
    NONE = np.array([[0.7, 0.7, np.nan], [0.7, 0.7, -1.0], [np.nan, np.inf, -np.inf]])
    PAIRS = ((HEAVY, MANY), (MANY, NONE), (NONE, HEAVY), (HEAVY, None))

    @pytest.mark.parametrize("most_rows", [0, 20])
    @pytest.mark.parametrize("relation", ["replace", "add-remove"])
    @pytest.mark.parametrize("name", ["gaussian", "wishart", "rescaled", "separate", "eigenvectors"])
    def test_no_answer_costs_more_than_was_charged(self, name: str, relation: str, most_rows: int) -> None:
        mechanism = MECHANISMS["covariance"][name]
        aside = aside_of("x3", 16, 2**26, most_rows=most_rows, weight="x2", max_weight=50.0, searched=True)
        budget = BUDGETS[mechanism.serves[0]]
        for one, other in self.PAIRS:
            if (other is None) != (relation == "add-remove"):
                continue
            sides = ([*self.SHARED, one], [*self.SHARED] if other is None else [*self.SHARED, other])
            first, second = (ArraySource(joined(people), columns=["x0", "x1"], aside=aside) for people in sides)
            steps = replay(mechanism, first, second, grid=encoding_of(first, Grid(2.0)), budget=budget, neighbors=relation)
            assert [step.asked for step in steps[:2]] == ["largest weight", "squared weights"]
            for step in steps:
                assert step.cost <= step.allowed, step

    @pytest.mark.parametrize("budget", [PURE, RHO])
    def test_the_worst_people_cost_all_of_it(self, budget: Any) -> None:
        """A sensitivity 5 % too large would be seen here, one that is too small above."""
        aside = aside_of("x3", 16, 2**26, weight="x2", max_weight=50.0, searched=True)
        light = np.column_stack([np.zeros((400, 2)), np.full(400, 1.0)])
        people = [light[i : i + 1] for i in range(400)]
        first, second = (
            ArraySource(joined([*people, np.array([[0.0, 0.0, weight]])]), columns=["x0", "x1"], aside=aside)
            for weight in (50.0, 0.0)
        )
        mechanism = MECHANISMS["covariance"]["rescaled"]
        steps = replay(mechanism, first, second, grid=encoding_of(first, Grid(2.0)), budget=budget)
        assert 0.98 <= float(steps[1].cost) / float(steps[1].allowed) <= 1
        assert 0.8 <= float(steps[0].cost) / float(steps[0].allowed) <= 1  # a tenth of all moves, too: 0.9, or its square


def asked_of(table: pd.DataFrame, **given: Any) -> Any:
    """Return a curator of rows with weights."""
    aside = aside_of("", 16, 2**26, weight="x2", max_weight=1e6, **given)
    source = ArraySource(table[["a", "c", "w"]].to_numpy(), columns=["x0", "x1"], aside=aside)
    return opened(source, encoding_of(source, Grid(9.0)), PURE, bits=SeededBits(7537))


class TestCalibration:
    def test_a_choice_is_drawn_at_the_rate_of_one_person(self) -> None:
        answer = asked_of(TABLE, searched=True).choose(HeavyWeight(50, 10), dpcov.PureDP("1/2"))
        assert isinstance(answer.law, Exponential)
        assert answer.law.rate == exponential_rate(dpcov.PureDP("1/2")) / 2**18

    def test_noise_is_that_of_one_person(self) -> None:
        half = dpcov.PureDP("1/2")
        squares, weights = (asked_of(TABLE).noisy(one, half, noise="laplace").law for one in (SquaredWeights(), Weights()))
        assert isinstance(squares, DiscreteLaplace)
        assert isinstance(weights, DiscreteLaplace)
        assert float(squares.scale) == pytest.approx(2 * 2**18, rel=1e-9)
        assert float(weights.scale) == pytest.approx(4 * 2**18, rel=1e-9)
        aside = aside_of("", 16, 2**26, weight="x2", max_weight=1e6)
        source = ArraySource(TABLE[["a", "c", "w"]].to_numpy(), columns=["x0", "x1"], aside=aside)
        curator = opened(source, encoding_of(source, Grid(9.0)), RHO)
        law = curator.noisy(SquaredWeights(), dpcov.ZCDP("1/8"), noise="gaussian").law
        assert isinstance(law, DiscreteGaussian)
        assert dict(law.variances) == {"squared weights": 4 * 4**18}

    def test_a_weight_is_found_once_and_only_where_it_is_searched(self) -> None:
        curator = asked_of(TABLE, searched=True)
        curator.choose(HeavyWeight(50, 10), dpcov.PureDP(1))
        for other in (curator, asked_of(TABLE)):
            with pytest.raises(ParameterError, match="question must be about this curator's rows"):
                other.choose(HeavyWeight(50, 10), dpcov.PureDP(1))

    def test_what_is_asked_after_the_choice_is_of_the_weight_that_was_chosen(self) -> None:
        curator = asked_of(TABLE, searched=True)
        before = curator.noisy(Count(), dpcov.PureDP("1/4"), noise="laplace")
        chosen = curator.choose(HeavyWeight(50, 10), dpcov.PureDP(2))
        after = curator.noisy(Count(), dpcov.PureDP(1), noise="laplace")
        most = 1e6 * 2 ** (-int(chosen.integers[0]) / 8)
        assert before.question.aside.cut is None
        assert after.question.aside.cut == chosen.integers[0]
        assert after.values[0] == pytest.approx(counts({}, most).sum(), abs=40)  # of scale 1: e^-40
        assert before.values[0] < 150

    def test_an_approximate_budget_is_spent_by_way_of_rho_or_of_epsilon(self) -> None:
        for mechanism, notion in (("gaussian", dpcov.ZCDP), ("wishart", dpcov.PureDP)):
            made = dpcov.covariance(TABLE, BOTH, row_norm=9, columns=["a", "c"], mechanism=mechanism, **FOUND)
            assert {type(spend.budget) for spend in made.spent} == {notion}


class TestFiles:
    MADE = dpcov.covariance(TABLE, RHO, row_norm=9, columns=["a", "c"], mechanism="gaussian", seed=7538, **FOUND)
    TEXT = text_of(MADE)

    def test_questions_name_the_answer_that_says_what_counts_as_one(self) -> None:
        record = json.loads(self.TEXT)
        assert record["unit"]["searched"] is True
        asked = [answer["question"] for answer in record["answers"]]
        assert asked[0] == {"asked": "largest weight", "beyond": 240, "part": 10}
        assert [question["max_weight of"] for question in asked[1:]] == [0] * len(asked[1:])

    @pytest.mark.parametrize("place", [1, -1, True, 0.0, None, "0"])
    def test_another_answer_is_refused(self, place: Any) -> None:
        record = json.loads(self.TEXT)
        record["answers"][1]["question"]["max_weight of"] = place
        with pytest.raises(ReleaseError):
            parse(sealed(record))

    def test_no_answer_is_refused(self) -> None:
        record = json.loads(self.TEXT)
        del record["answers"][2]["question"]["max_weight of"]
        with pytest.raises(ReleaseError):
            parse(sealed(record))

    def test_a_choice_that_nobody_wanted_is_refused(self) -> None:
        record = json.loads(self.TEXT)
        record["unit"]["searched"] = False
        for answer in record["answers"][1:]:
            del answer["question"]["max_weight of"]
        with pytest.raises(ReleaseError, match="does not describe"):
            parse(sealed(record))

    def test_a_second_choice_is_refused(self) -> None:
        record = json.loads(self.TEXT)
        second = json.loads(json.dumps(record["answers"][0]))
        second["question"]["max_weight of"] = 0
        record["answers"].insert(1, second)
        with pytest.raises(ReleaseError):
            parse(sealed(record))

    @pytest.mark.parametrize("index", [-1, 161, 10**6])
    def test_an_edge_that_there_is_not(self, index: int) -> None:
        record = json.loads(self.TEXT)
        record["answers"][0]["integers"] = [index]
        with pytest.raises(ReleaseError):
            parse(sealed(record))

    def test_a_release_whose_questions_have_another_weight_is_refused(self) -> None:
        first, *others = self.MADE.answers
        questions = [dataclasses.replace(one.question, aside=self.MADE.encoding.aside) for one in others]
        changed = [dataclasses.replace(one, question=question) for one, question in zip(others, questions, strict=True)]
        with pytest.raises(ReleaseError, match="another weight than that which was chosen"):
            check_answers(dataclasses.replace(self.MADE, answers=(first, *changed)))

    def test_a_rate_that_is_too_large_is_refused(self) -> None:
        record = json.loads(self.TEXT)
        parameters = record["answers"][0]["noise"][0]["parameters"]
        parameters["rate"] = str(Fraction(parameters["rate"]) * Fraction(21, 20))
        with pytest.raises(ReleaseError, match="less noise"):
            parse(sealed(record))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"clip_weight": "private"}, "clip_weight must be left out without a weight"),
        (FOUND | {"clip_weight": "hidden"}, "clip_weight must be"),
        (FOUND | {"clip_weight": True}, "clip_weight must be"),
        (FOUND | {"clip_weight": 5.0}, "clip_weight must be"),
    ],
)
def test_what_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(DpcovError, match=words):
        dpcov.covariance(TABLE, RHO, row_norm=9, columns=["a", "c"], **given)


def test_a_budget_that_cannot_be_split_is_refused() -> None:
    with pytest.raises(ParameterError, match="clip_weight must be 'none' for a mechanism"):
        dpcov.pca(TABLE, BOTH, 1, row_norm=9, columns=["a", "c"], mechanism="mod-sulq", **FOUND)
    made = dpcov.pca(TABLE, BOTH, 1, row_norm=9, columns=["a", "c"], mechanism="mod-sulq", weight="w", max_weight=300)
    assert made.find(SquaredWeights) is None


def test_streams_are_refused_before_anything_is_spent() -> None:
    table = pa.Table.from_pandas(TABLE[["a", "c", "w"]])
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches())
    with pytest.raises(ParameterError, match="readable twice for clip_weight='private'"):
        dpcov.covariance(reader, RHO, row_norm=9, columns=["a", "c"], **FOUND)


def test_a_rehearsal_says_what_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    TABLE.to_csv(path, index=False)
    found = dpcov.rehearse("covariance", path, RHO, row_norm=9, columns=["a", "c"], **FOUND)
    assert [spend.asked for spend in found.spent[:2]] == ["largest weight", "squared weights"]
    assert pays_for(RHO, [spend.budget for spend in found.spent])


@pytest.mark.parametrize("mechanism", ["gaussian", "standardized"])
@pytest.mark.parametrize("center", [True, False])
def test_groups_say_how_certain_their_weights_are(mechanism: str, center: bool) -> None:
    """A group is never worth more rows than its weights add up to, since squares were summed over all groups only."""
    if mechanism == "standardized" and not center:
        pytest.skip("standardized centres")
    table = TABLE.assign(g=np.where(TABLE["a"] < 0, "low", "high"))
    schema = dpcov.Schema({**SCHEMA.columns, "g": dpcov.Categorical(["low", "high"])})
    said: Any = {"weight": "w", "max_weight": 400, "by": "g", "center": center, "mechanism": mechanism}
    release = dpcov.covariance(table, dpcov.ZCDP(5), schema=schema, seed=7, **said)
    for part in (release, release["low"], release["high"], release.pooled):
        assert part.n <= part.effective_n <= 3000 * 1.2
        assert 0 < part.effective_n_error < part.effective_n
        assert weights_line(part)
