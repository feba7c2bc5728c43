"""Releases about people: from every function, into a file and back, charged, replayed on neighbours, and what is refused."""

from __future__ import annotations

import dataclasses
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpcov
from dpcov.errors import BudgetError, DpcovError, ParameterError, ReleaseError
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.calibrate import exponential_rate, sparse_vector_epsilon
from dpcov.kernel.noise.choice import Exponential, SparseVector
from dpcov.kernel.noise.laws import DiscreteGaussian, DiscreteLaplace
from dpcov.kernel.questions.calibrated import calibrated
from dpcov.kernel.questions.choices import Quantile, Radius
from dpcov.kernel.questions.moments import Count, SecondMoment, Sum
from dpcov.kernel.questions.norms import Norms
from dpcov.kernel.rows.aside import aside_of
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.running import released
from dpcov.release.file import parse, text_of
from dpcov.sources.array import ArraySource
from dpcov.verify.replay import replay
from dpcov.verify.testing import Noiseless, opened
from tests.helpers.people import asked, encoding_of, joined, source_of
from tests.helpers.small import NULLABLE, assert_same, sealed

ALONE = {"most_rows": 0, "weight": "", "max_weight": 0.0, "searched": False}
RHO, PURE, BOTH = dpcov.ZCDP(1), dpcov.PureDP(4), dpcov.ApproxDP(2, "1/1000000")
DRAW = np.random.default_rng(7400)
PEOPLE = [DRAW.normal(size=(m, 4)) * [0.4, 0.3, 0.2, 0.1] for m in [1, 2, 7, 30] * 15]
ROWS = joined(PEOPLE)
WHO = DRAW.integers(0, 700, 3000)
TABLE = pd.DataFrame(
    {"a": np.linspace(-2, 3, 3000), "b": np.array(["x", "y", "z"])[WHO % 3], "c": np.arange(3000.0) % 7, "who": WHO}
)
BUDGETS: dict[type, Any] = {dpcov.PureDP: PURE, dpcov.ZCDP: RHO, dpcov.ApproxDP: BOTH}
NEEDED: dict[str, dict[str, Any]] = {
    "covariance": {"row_norm": 1.0},
    "mean": {"radius": 5.0},
    "pca": {"row_norm": 1.0, "k": 2},
    "ridge": {"row_norm": 1.0, "target": 0, "alpha": 0.1},
    "ppca": {"approximate": True, "sweeps": 3},
    "standardized": {"row_norm": None, "schema": NULLABLE, "data": TABLE, "unit": "who", "center": True},
}
CASES = [
    (target, name, relation, notion)
    for target, known in MECHANISMS.items()
    for name, named in known.items()
    for relation in named.neighbors
    for notion in named.serves
]


@pytest.mark.parametrize(("target", "name", "relation", "notion"), CASES)
def test_every_mechanism_releases_people_and_its_file_comes_back(target: str, name: str, relation: str, notion: Any) -> None:
    given = {"data": ROWS, "unit": 4, "mechanism": name, "seed": 7401} | NEEDED[target] | NEEDED.get(name, {})
    given |= {} if target == "ridge" else {"neighbors": relation}
    made = getattr(dpcov, target)(given.pop("data"), BUDGETS[notion], **given)
    back = parse(text_of(made))
    assert_same(back, made)
    assert back.retrace().difference == ""
    assert back.unit == ("who" if name == "standardized" else "x4")
    if relation == "replace":
        assert made.n == (len(np.unique(WHO)) if name == "standardized" else len(PEOPLE))
        assert f"all rows of any one of the {made.n} people" in dataclasses.replace(made, seeded=False).statement()
    else:
        assert "all rows of any one person" in dataclasses.replace(made, seeded=False).statement()


class TestNoiseOff:
    """Without noise: the averages over people of the averages over their rows, as pandas groups them."""

    @pytest.mark.parametrize("relation", ["replace", "add-remove"])
    @pytest.mark.parametrize("center", [False, True])
    def test_moments_means_and_covariances(self, relation: str, center: bool) -> None:
        source = source_of([rows * 0.3 for rows in PEOPLE])
        grid = Grid(1.0, center=center)
        curator = opened(source, encoding_of(source, grid), RHO, relation, sampler=Noiseless())
        made = released(MECHANISMS["covariance"]["gaussian"], curator, RHO, postprocess="none")
        table = pd.DataFrame(ROWS[:, :4] * 0.3)
        mean = table.groupby(ROWS[:, 4]).mean().mean().to_numpy()
        products = pd.DataFrame(np.einsum("ni,nj->nij", table, table).reshape(-1, 16))
        second = products.groupby(ROWS[:, 4]).mean().mean().to_numpy().reshape(4, 4)
        assert made.n == 60
        assert np.abs(made.second_moment - second).max() < 2e-5
        if center:
            assert np.abs(made.mean - mean).max() < 2e-5
            assert np.abs(made.covariance - (second - np.outer(mean, mean))).max() < 2e-5

    @pytest.mark.parametrize("mechanism", ["clipped", "coordinatewise"])
    def test_means(self, mechanism: str) -> None:
        source = source_of(PEOPLE)
        curator = opened(source, encoding_of(source, Grid(9.0)), RHO, sampler=Noiseless())
        made = released(MECHANISMS["mean"][mechanism], curator, RHO, postprocess="none")
        mean = pd.DataFrame(ROWS[:, :4]).groupby(ROWS[:, 4]).mean().mean()
        assert np.abs(made.mean - mean.to_numpy()).max() < 4e-4


class TestReplay:
    """One person is another: one row against ten thousand, far outside, of norm 0, or missing altogether."""

    ONE = np.array([[0.8, 0.6, 0.0, 0.0]])
    MANY = np.tile([[0.0, 0.0, 0.8, -0.6]], (10_000, 1))
    MIXED = np.array([[9.0, -9.0, 9.0, 9.0], [0.0, 0.0, 0.0, 0.0], [np.nan, np.inf, 1.0, 0.1]])

    @pytest.mark.parametrize("relation", ["replace", "add-remove"])
    @pytest.mark.parametrize(("target", "name"), [(t, n) for t in ("covariance", "mean", "pca") for n in MECHANISMS[t]])
    def test_no_answer_costs_more_than_its_charge(self, target: str, name: str, relation: str) -> None:
        mechanism = MECHANISMS[target][name]
        if relation not in mechanism.neighbors or name in ("standardized", "ppca"):
            pytest.skip("served otherwise, or in a limit only")
        options: dict[str, Any] = {"coinpress": {"upper": 4.0}}.get(name, {}) if target == "covariance" else {}
        options |= {"k": 2} if target == "pca" else {}
        shared = PEOPLE[:20]
        budget = BUDGETS[mechanism.serves[0]]
        pairs = [(self.ONE, self.MANY), (self.MANY, self.MIXED)]
        for one, other in pairs if relation == "replace" else [(self.MANY, None), (self.ONE, None)]:
            first, second = source_of([*shared, one]), source_of(shared if other is None else [*shared, other])
            for step in replay(
                mechanism, first, second, grid=encoding_of(first, Grid(5.0)), budget=budget, neighbors=relation, **options
            ):
                assert step.cost <= step.allowed, step

    @pytest.mark.parametrize(("name", "budget"), [("gaussian", RHO), ("wishart", PURE), ("frobenius", PURE)])
    def test_the_worst_people_cost_all_of_it(self, name: str, budget: Any) -> None:
        """A sensitivity 5 % too large would be seen here; one that is too small above."""
        first, second = source_of([*PEOPLE, self.ONE]), source_of([*PEOPLE, self.MANY])
        steps = replay(
            MECHANISMS["covariance"][name],
            first,
            second,
            grid=encoding_of(first, Grid(1.0)),
            budget=budget,
            neighbors="replace",
        )
        assert 0.98 <= float(steps[-1].cost) / float(steps[-1].allowed) <= 1


class TestCalibration:
    """What one person moves is what one row moves: in units that are 2ᵇ or 4ᵉ times finer the noise is as much larger."""

    QUESTIONS = (SecondMoment(Grid(1.0), 4), Sum(Grid(1.0), 4), Norms(Grid(1.0), 4, 2, 4))

    @pytest.mark.parametrize("relation", ["replace", "add-remove"])
    @pytest.mark.parametrize("question", QUESTIONS)
    def test_noise_is_that_of_rows(self, question: Any, relation: str) -> None:
        people = asked(question, 4)
        assert people.unit_bits - question.unit_bits == {"second moment": 4}.get(question.name, 18)
        finer = 2 ** (people.unit_bits - question.unit_bits)
        row, person = (calibrated(one, RHO, relation, "gaussian") for one in (question, people))
        assert isinstance(row, DiscreteGaussian)
        assert isinstance(person, DiscreteGaussian)
        assert person.variances == tuple((name, variance * finer**2) for name, variance in row.variances)
        row, person = (calibrated(one, PURE, relation, "laplace") for one in (question, people))
        assert isinstance(row, DiscreteLaplace)
        assert isinstance(person, DiscreteLaplace)
        assert float(person.scale) == pytest.approx(float(row.scale) * finer, rel=1e-9)

    def test_a_choice_and_a_search(self) -> None:
        source = source_of(PEOPLE)
        curator = opened(source, encoding_of(source, Grid(1.0)), RHO, bits=SeededBits(7402))
        norms = curator.public.norms(2, 4)
        chosen = curator.choose(Quantile(norms, 9), dpcov.ZCDP("1/4"))
        found = curator.first_above(Radius(norms, 9), dpcov.ZCDP("1/8"))
        scale = 2 * 2**18 / sparse_vector_epsilon(dpcov.ZCDP("1/8"))
        assert isinstance(chosen.law, Exponential)
        assert isinstance(found.law, SparseVector)
        assert chosen.law.rate == exponential_rate(dpcov.ZCDP("1/4")) / 2**18
        assert (found.law.threshold, found.law.query) == (scale, scale)

    def test_a_question_that_is_not_proved_for_people(self, monkeypatch: pytest.MonkeyPatch) -> None:
        source = source_of(PEOPLE)
        curator = opened(source, encoding_of(source, Grid(1.0)), RHO)
        monkeypatch.setattr(SecondMoment, "serves_people", False)
        with pytest.raises(ParameterError, match="unit must be left out"):
            curator.noisy(curator.public.second_moment(), RHO, noise="gaussian")
        assert curator.answers == ()

    def test_a_source_of_people_is_not_read_as_rows(self) -> None:
        source = source_of(PEOPLE)
        with pytest.raises(ParameterError, match="encoding must have the unit of the source"):
            opened(source, dataclasses.replace(encoding_of(source, Grid(1.0)), aside=None), RHO)


class TestPublicFacts:
    def test_n_counts_people(self) -> None:
        made = dpcov.covariance(ROWS, RHO, row_norm=1, unit=4)
        assert made.n == 60
        assert "n=60" in repr(made)
        counts = dpcov.covariance(ROWS, RHO, row_norm=1, unit=4, neighbors="add-remove", mechanism="gaussian")
        [count] = counts.every(Count)
        assert counts.n == max(1, int(count.integers[0]))
        assert abs(counts.n - 60) < 40  # a deviation of 5 at two hundredths of the budget: e^-32

    def test_delta_is_compared_with_people(self) -> None:
        delta = dpcov.ApproxDP(1, "1/100")  # below 1 in so many rows, not in so many people
        with pytest.raises(ParameterError, match="delta"):
            dpcov.covariance(ROWS, dpcov.ApproxDP(1, "1/50"), row_norm=1, unit=4)
        assert len(ROWS) > 500
        assert delta.delta < Fraction(1, 60)

    def test_a_rehearsal_reads_nothing(self, tmp_path: Path) -> None:
        path = tmp_path / "visits.csv"
        TABLE.to_csv(path, index=False)
        found = dpcov.rehearse("covariance", path, RHO, row_norm=9, columns=["a", "c"], unit="who")
        assert found.n is None
        assert found.to_dict()["unit"] == "who"
        made = dpcov.covariance(path, RHO, row_norm=9, columns=["a", "c"], unit="who")
        assert made.n == len(np.unique(WHO))

    def test_more_people_than_there_is_room_for(self) -> None:
        room = dpcov.covariance(ROWS, RHO, row_norm=1, unit=4, max_rows=2**31)
        assert (room.encoding.bits, room.encoding.most_rows) == (15, 2**32)
        assert dpcov.covariance(ROWS, RHO, row_norm=1, unit=4).encoding.most_rows == 2**26
        with pytest.raises(ParameterError, match=r"2\*\*34 people"):
            dpcov.covariance(ROWS, RHO, row_norm=1, unit=4, max_rows=2**35)


class TestRefused:
    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"unit": ""}, "name of a column"),
            ({"unit": True}, "name of a column"),
            ({"unit": -1}, "name of a column"),
            ({"unit": 2.0}, "name of a column"),
            ({"unit": "x9"}, "column of the array"),
            ({"unit": "x0", "columns": ["x0", "x1"]}, "no feature"),
            ({"mechanism": "coinpress", "row_norm": None, "upper": 4, "centring": "pairs"}, "pairs"),
            ({"mechanism": "coinpress", "row_norm": None, "upper": 4, "constants": "proved"}, "averages"),
        ],
    )
    def test_what_says_nothing_of_people(self, given: dict[str, Any], words: str) -> None:
        with pytest.raises(DpcovError, match=words):
            dpcov.covariance(ROWS, RHO, **({"unit": 4, "row_norm": 1} | given))

    def test_nobody_at_all(self) -> None:
        nobody = np.column_stack([np.ones((9, 2)), np.full(9, np.nan)])
        with pytest.raises(ParameterError, match="1 to 2\\*\\*26 people, got 0"):
            dpcov.covariance(nobody, RHO, row_norm=1, unit=2)
        made = dpcov.covariance(nobody, RHO, row_norm=1, unit=2, neighbors="add-remove", mechanism="gaussian")
        assert made.n >= 1

    @pytest.mark.parametrize("people", [1, 400])
    def test_all_rows_one_person_s_or_each_another_s(self, people: int) -> None:
        rows = np.column_stack([np.full((400, 2), 0.5), np.arange(400) % people])
        made = dpcov.covariance(rows, dpcov.ZCDP(10**6), row_norm=1, unit=2, mechanism="gaussian", allow_weak=True)
        assert made.n == people
        assert np.abs(made.second_moment - 0.25).max() < 0.01


class TestFiles:
    TEXT = text_of(dpcov.covariance(ROWS, RHO, row_norm=1, unit=4, mechanism="rescaled", seed=7403))

    def test_the_unit_stands_beside_the_neighbours(self) -> None:
        record = json.loads(self.TEXT)
        keys = list(record)
        assert keys[keys.index("neighbors") + 1] == "unit"
        assert record["unit"] == {"column": "x4", "finer": 2, "share_bits": 18} | ALONE
        assert json.loads(text_of(dpcov.covariance(ROWS, RHO, row_norm=1)))["unit"] == {}

    @pytest.mark.parametrize(
        "unit",
        [
            {"column": "x4", "finer": 2, "share_bits": 18},
            {"column": "x4", "finer": 2, "share_bits": 18, "more": 1} | ALONE,
            {"column": "x1", "finer": 2, "share_bits": 18} | ALONE,
            {"column": "x4", "finer": 2, "share_bits": 19} | ALONE,
            {"column": "x4", "finer": 1, "share_bits": 18} | ALONE,
            {"column": "x4", "finer": 3, "share_bits": 16} | ALONE,
            {"column": "x4", "finer": 2, "share_bits": 0} | ALONE,
            {"column": 4, "finer": 2, "share_bits": 18} | ALONE,
            {"column": "x4", "finer": 2, "share_bits": 18} | ALONE | {"most_rows": 3},
            {"column": "x4", "finer": 2, "share_bits": 18} | ALONE | {"weight": "w"},
            {"column": "x4", "finer": 2, "share_bits": 18} | ALONE | {"max_weight": 2.0},
            {"column": "", "finer": 2, "share_bits": 18} | ALONE,
        ],
    )
    def test_other_units_are_refused(self, unit: dict[str, Any]) -> None:
        """Other steps would be other noise: less of it, but for the fewer bits that leave more room."""
        record = json.loads(self.TEXT) | {"unit": unit}
        with pytest.raises(ReleaseError):
            parse(sealed(record))

    def test_a_rate_of_rows_is_refused(self) -> None:
        """A choice that follows counts of people as closely as those of rows."""
        record = json.loads(self.TEXT)
        [law] = [noise for answer in record["answers"] for noise in answer["noise"] if noise["law"] == "exponential"]
        rate = Fraction(law["parameters"]["rate"])
        law["parameters"]["rate"] = str(rate * Fraction(21, 20))
        with pytest.raises(ReleaseError, match="less noise"):
            parse(sealed(record))

    def test_a_release_says_who_a_person_is(self) -> None:
        made = parse(self.TEXT)
        assert made.unit == "x4"
        said = dataclasses.replace(made, seeded=False)
        assert "'x4'" in said.statement()
        assert "at this person's rows" in said.risk()


class TestLedger:
    def test_rows_and_people_are_not_added_up(self, tmp_path: Path) -> None:
        ledger = dpcov.Ledger.create(tmp_path / "budget.db")
        ledger.add("rows", RHO)
        ledger.add("people", RHO, unit="x4")
        rows, people = ledger.dataset("rows"), ledger.dataset("people")
        half = dpcov.ZCDP("1/2")
        for dataset, unit in ((rows, 4), (people, None), (people, 3)):
            with pytest.raises(ParameterError, match="unit must be that of the ledger's total"):
                dpcov.covariance(ROWS, half, row_norm=1, unit=unit, ledger=dataset)
        made = dpcov.covariance(ROWS, half, row_norm=1, unit=4, ledger=people)
        dpcov.covariance(ROWS, half, row_norm=1, ledger=rows)
        status = ledger.status()
        assert [status.of(name).unit for name in ("people", "rows")] == ["person: x4", "row"]
        assert status.of("people").left == half
        assert ledger.verify(made).intact
        with pytest.raises(BudgetError):
            dpcov.covariance(ROWS, RHO, row_norm=1, unit=4, ledger=people)

    def test_a_release_of_another_unit_is_not_what_was_paid_for(self, tmp_path: Path) -> None:
        ledger = dpcov.Ledger.create(tmp_path / "budget.db")
        ledger.add("people", RHO, unit="x4")
        made = dpcov.covariance(ROWS, RHO, row_norm=1, unit=4, ledger=ledger.dataset("people"))
        edited = dataclasses.replace(made, encoding=dataclasses.replace(made.encoding, aside=None))
        assert not ledger.verify(edited).intact

    def test_a_column_that_is_called_row(self, tmp_path: Path) -> None:
        ledger = dpcov.Ledger.create(tmp_path / "budget.db")
        ledger.add("rows", RHO)
        with pytest.raises(ParameterError, match="unit must be that"):
            dpcov.covariance(
                TABLE.rename(columns={"who": "row"}), RHO, row_norm=9, columns=["a"], unit="row", ledger=ledger.dataset("rows")
            )


WEIGHTS = np.random.default_rng(7410).lognormal(size=len(TABLE)) * 100
WEIGHTED = TABLE.assign(w=WEIGHTS, x=np.sin(np.arange(3000.0)))
WEIGHTED.loc[:5, "w"] = [np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300]
WAYS: dict[str, dict[str, Any]] = {
    "weights of rows": {"weight": "w", "max_weight": 300},
    "weights of visits": {"unit": "who", "weight": "w", "max_weight": 300},
    "rows": {"unit": "who", "weighting": "rows", "most_rows": 5},
    "weighted rows": {"unit": "who", "weighting": "rows", "most_rows": 5, "weight": "w", "max_weight": 300},
    "weights found": {"unit": "who", "weight": "w", "max_weight": 300, "clip_weight": "private"},
}


def counts(given: dict[str, Any]) -> Any:
    """Return what each row counts, by pandas."""
    found = np.clip(WEIGHTED["w"].where(WEIGHTED["w"] > 0, 0.0) / 300, 0, 1) if "weight" in given else np.ones(3000)
    visits = WEIGHTED.groupby("who")["who"].transform("size") if "unit" in given else np.ones(3000)
    return np.asarray(found / np.maximum(visits, given.get("most_rows", 0)))


ALIKE: list[dict[str, Any]] = [{}, {"weighting": "rows", "most_rows": 1}]


class TestPartial:
    """Survey weights, and rows that count alike: Hájek's means and covariances, divided by a noisy total."""

    HUGE = dpcov.ZCDP(10**9)

    @pytest.mark.parametrize("relation", ["replace", "add-remove"])
    @pytest.mark.parametrize("way", WAYS)
    def test_means_are_hajek_s(self, way: str, relation: str) -> None:
        made = dpcov.mean(
            WEIGHTED,
            self.HUGE,
            radius=9,
            columns=["a", "c", "x"],
            neighbors=relation,
            mechanism="clipped",
            seed=7411,
            **WAYS[way],
        )
        exact = np.average(WEIGHTED[["a", "c", "x"]], axis=0, weights=counts(WAYS[way]))
        rounded = 0.5 / counts(WAYS[way]).sum()  # the total is told in whole numbers
        assert np.abs(made.mean - exact).max() <= (0.0005 + rounded) * np.abs(exact).max()
        assert made.n == pytest.approx(counts(WAYS[way]).sum(), abs=1)

    @pytest.mark.parametrize("relation", ["replace", "add-remove"])
    @pytest.mark.parametrize("mechanism", ["gaussian", "rescaled", "eigenvectors", "separate", "standardized"])
    @pytest.mark.parametrize("way", WAYS)
    def test_covariances_and_regressions(self, way: str, mechanism: str, relation: str) -> None:
        schema = dpcov.Schema({"a": dpcov.Numeric(-2, 3), "c": dpcov.Numeric(0, 6), "x": dpcov.Numeric(-1, 1)})
        center = mechanism != "rescaled"
        made = dpcov.covariance(
            WEIGHTED, self.HUGE, schema=schema, neighbors=relation, mechanism=mechanism, seed=7412, center=center, **WAYS[way]
        )
        assert parse(text_of(made)).retrace().difference == ""
        if center:
            exact = np.cov(WEIGHTED[["a", "c", "x"]], rowvar=False, aweights=counts(WAYS[way]), ddof=0)
            assert np.abs(made.covariance - exact).max() < 0.02 * np.abs(exact).max()
        assert made.n == pytest.approx(counts(WAYS[way]).sum(), abs=1)

    def test_most_rows_of_one_is_each_person_once(self) -> None:
        once, alike = (
            dpcov.covariance(WEIGHTED, RHO, row_norm=9, columns=["a", "c"], unit="who", seed=7413, **more) for more in ALIKE
        )
        assert (once.second_moment == alike.second_moment).all()

    @pytest.mark.parametrize("relation", ["replace", "add-remove"])
    @pytest.mark.parametrize("name", [n for n in MECHANISMS["covariance"] if n not in ("standardized", "projection", "auto")])
    def test_a_person_s_weights_cost_no_more_than_was_charged(self, name: str, relation: str) -> None:
        """Of weight 1 against 0, of other rows, and of ten thousand rows against one that hardly counts."""
        mechanism = MECHANISMS["covariance"][name]
        beside = aside_of("x3", 16, 2**26, most_rows=20, weight="x2", max_weight=2.0)
        draw = np.random.default_rng(7414)
        shared = [np.column_stack([draw.normal(size=(m, 2)) * 0.4, draw.uniform(0, 3, m)]) for m in (1, 3, 30) * 9]
        heavy, many = np.array([[0.0, 1.0, 9.0]] * 20), np.tile([[1.0, 0.0, 2.0]], (10_000, 1))
        light = np.array([[0.7, 0.7, 0.0]])
        options: dict[str, Any] = {"upper": 4.0} if name == "coinpress" else {}
        for one, other in ((heavy, many), (many, light)) if relation == "replace" else ((many, None),):
            sides = ([*shared, one], shared if other is None else [*shared, other])
            first, second = (ArraySource(joined(people), columns=["x0", "x1"], aside=beside) for people in sides)
            budget = BUDGETS[mechanism.serves[0]]
            grid = encoding_of(first, Grid(2.0))
            for step in replay(mechanism, first, second, grid=grid, budget=budget, neighbors=relation, **options):
                assert step.cost <= step.allowed, step

    @pytest.mark.parametrize(
        ("given", "words"),
        [
            ({"weighting": "rows", "most_rows": 3}, "without unit"),
            ({"unit": "who", "weighting": "rows"}, "most_rows must be given"),
            ({"unit": "who", "most_rows": 3}, "most_rows must be given"),
            ({"unit": "who", "weighting": "visits"}, "weighting must be"),
            ({"unit": "who", "weighting": "rows", "most_rows": 0}, "1 to 2"),
            ({"weight": "w"}, "max_weight must be given"),
            ({"max_weight": 3}, "weight must be given"),
            ({"weight": "w", "max_weight": 0}, "max_weight must be"),
            ({"weight": "w", "max_weight": np.nan}, "max_weight must be"),
            ({"weight": "b", "max_weight": 1}, "must be numeric"),
            ({"weight": "a", "max_weight": 1}, "no feature"),
            ({"weight": "none", "max_weight": 1}, "column of the data"),
            ({"weight": "w", "max_weight": 1, "unit": "w"}, "two columns"),
        ],
    )
    def test_what_is_refused(self, given: dict[str, Any], words: str) -> None:
        with pytest.raises(DpcovError, match=words):
            dpcov.covariance(WEIGHTED, RHO, row_norm=9, columns=["a", "c"], **given)

    def test_a_regression_by_itself_takes_no_weights(self) -> None:
        with pytest.raises(TypeError, match="weight"):
            dpcov.ridge(WEIGHTED, RHO, "a", alpha=1, row_norm=9, weight="w", max_weight=3)  # type: ignore[call-arg]
