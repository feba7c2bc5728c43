"""`output-perturbation`: what is refused before anything is read or charged, data that are no obstacle, and forged files."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpcov
from dpcov import ZCDP, ApproxDP, Categorical, Numeric, PureDP, Schema
from dpcov.errors import BudgetError, EngineError, ParameterError, ReleaseError
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import Budget
from dpcov.kernel.questions.solution import Solution
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.running import released
from dpcov.release.file import parse
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import NoSource, opened
from tests.helpers.forged import verdict
from tests.helpers.small import Record, charged, record_of, sealed, untouched
from tests.helpers.untouchable import Untouchable

BUDGETS: list[Budget] = [PureDP(1), ZCDP("0.5"), ApproxDP(1, "1e-6")]
SECRET = 424242.5  # stands for the data: no message may show it
ROWS = np.random.default_rng(9200).normal(size=(3000, 3)) / 3
SCHEMA = Schema({"age": Numeric(0, 100), "sex": Categorical(["F", "M"]), "income": Numeric(-2000, 8000, weight=2)})
TABLE = pd.DataFrame({"age": [30.0, 40.0, np.nan], "sex": ["F", "M", "?"], "income": [1e3, -5e9, 2e3]})


def ask(
    budget: Budget = PureDP(1),  # noqa: B008
    neighbors: str = "replace",
    *,
    n: int = 10,
    d: int = 3,
    center: bool = False,
    **changes: Any,
) -> str:
    """Run the mechanism on a source that fails the test when it is read; it must refuse, and nothing may be charged."""
    curator = opened(NoSource(n, d), Grid(1.0, center=center), budget, neighbors, SeededBits(0))
    with pytest.raises(ParameterError) as caught:
        released(MECHANISMS["ridge"]["output-perturbation"], curator, budget, **({"target": 0, "alpha": 0.1} | changes))
    assert re.fullmatch(r"(?s).+ must .+, got .+\. Hint: .+\.", str(caught.value)), str(caught.value)
    assert untouched(curator)
    return str(caught.value)


class TestBeforeReading:
    def test_rows_that_it_does_not_serve(self) -> None:
        assert ask(center=True).startswith("center must be False for mechanism 'output-perturbation', got True")
        assert ask(neighbors="add-remove").startswith("neighbors must be 'replace' for mechanism 'output-perturbation'")
        assert ask(d=1).startswith("data must have at least two columns")
        assert ask(n=0).startswith("data must have 1 to 2**30 rows, got 0")
        assert ask(n=2**30 + 1).startswith("data must have 1 to 2**30 rows, got 1073741825")

    @pytest.mark.parametrize(
        ("name", "changes"),
        [
            ("row_norm or schema", {"row_norm": None}),
            ("row_norm or schema", {"schema": SCHEMA}),
            ("row_norm", {"row_norm": -1}),
            ("row_norm", {"row_norm": math.nan}),
            ("schema", {"row_norm": None, "schema": {"age": (0, 1)}}),
            ("mechanism", {"mechanism": "gaussian"}),
            ("mechanism", {"mechanism": ["output-perturbation"]}),
            ("seed", {"seed": -1}),
            ("seed", {"seed": "0"}),
        ],
        ids=str,
    )
    def test_parameters(self, name: str, changes: dict[str, Any]) -> None:
        with pytest.raises(ParameterError, match=rf"^{name} must be .+, got .+\. Hint: "):
            dpcov.ridge(Untouchable(), PureDP(1), 0, **({"alpha": 0.1, "row_norm": 1} | changes))


class TestBeforeCharging:
    @pytest.mark.parametrize("alpha", [1e-10, 1e-300, 1e10, 1e300])
    def test_penalties_out_of_range(self, alpha: float) -> None:
        """n of a stream is known when it was read; where float64 errs too much, or noise is nothing but float64's error."""
        for budget in BUDGETS:
            curator = opened(ArraySource(ROWS), Grid(1.0), budget, "replace", SeededBits(0))
            with pytest.raises(ParameterError, match=r"alpha must be .+, got .+\. Hint: "):
                released(MECHANISMS["ridge"]["output-perturbation"], curator, budget, target=0, alpha=alpha)
            assert untouched(curator)

    @pytest.mark.parametrize(
        "budget", [PureDP("1e-30"), PureDP("1e-320"), ZCDP("1e-60"), ZCDP("1e-250"), ApproxDP("1e-30", "1e-60")], ids=repr
    )
    def test_budgets_too_small_for_their_noise(self, budget: Budget) -> None:
        curator = opened(ArraySource(ROWS), Grid(1.0), budget, "replace", SeededBits(0))
        with pytest.raises(ParameterError, match=r" must .+, got .+\. Hint: "):
            released(MECHANISMS["ridge"]["output-perturbation"], curator, budget, target=0, alpha=0.1)
        assert untouched(curator)

    def test_a_blas_that_fails(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It cannot, for these matrices; if it did, nothing would be spent, and no row told."""

        def failing(matrix: Any) -> Any:
            raise np.linalg.LinAlgError(f"not positive definite: {matrix}")

        monkeypatch.setattr(np.linalg, "cholesky", failing)
        curator = opened(ArraySource(ROWS), Grid(1.0), PureDP(1), "replace", SeededBits(0))
        with pytest.raises(
            EngineError, match=r"^a positive definite matrix must have a Cholesky factor, and had none\. Hint: "
        ):
            released(MECHANISMS["ridge"]["output-perturbation"], curator, PureDP(1), target=0, alpha=0.1)
        assert untouched(curator)

    def test_a_file_is_read_for_its_rows(self, tmp_path: Path) -> None:
        """n of a CSV file is known after a reading: the same release as from the array, but for what text loses."""
        path = tmp_path / "rows.csv"
        pd.DataFrame(ROWS, columns=["x0", "x1", "x2"]).to_csv(path, index=False)
        found = [dpcov.ridge(data, PureDP(1), "x1", alpha=0.1, row_norm=1, seed=0) for data in (path, ROWS)]
        assert found[0].n == 3000
        assert np.array_equal(found[0].ridge().coefficients, found[1].ridge().coefficients)

    def test_overspending(self) -> None:
        curator = opened(ArraySource(ROWS), Grid(1.0), PureDP(1), "replace", SeededBits(0))
        with pytest.raises(BudgetError, match="charges must fit into the budget"):
            released(MECHANISMS["ridge"]["output-perturbation"], curator, PureDP(2), target=0, alpha=0.1)
        assert untouched(curator)

    @pytest.mark.parametrize("rows", [1, 2999, 3001, 6000, 2**30])
    def test_another_number_of_rows(self, rows: int) -> None:
        """More rows than there are would mean less noise: n is compared with the source's own before anything is charged."""
        for source in (ArraySource(ROWS), NoSource(3000, 3)):
            curator = opened(source, Grid(1.0), ZCDP(1), "replace", SeededBits(0))
            asked = Solution(curator.public.second_moment(), rows, 0, Fraction(1, 10))
            with pytest.raises(
                ParameterError, match=r"question must be about this curator's rows, got something else\. Hint: "
            ):
                curator.noisy(asked, ZCDP(1), noise="gaussian")
            assert untouched(curator)
        own = opened(ArraySource(ROWS), Grid(1.0), ZCDP(1), "replace", SeededBits(0))
        own.noisy(Solution(own.public.second_moment(), 3000, 0, Fraction(1, 10)), ZCDP(1), noise="gaussian")
        assert len(charged(own)) == 1

    def test_add_remove_has_no_public_rows(self) -> None:
        curator = opened(NoSource(3000, 3), Grid(1.0), ZCDP(1), "add-remove", SeededBits(0))
        question = Solution(curator.public.second_moment(), 3000, 0, Fraction(1))
        with pytest.raises(ParameterError, match="question must be about this curator's rows"):
            curator.noisy(question, ZCDP(1), noise="gaussian")
        with pytest.raises(ParameterError, match="neighbors must be 'replace' for coefficients"):
            question.sensitivity_squared("add-remove")
        assert untouched(curator)

    @pytest.mark.parametrize("noise", ["wishart", "frobenius", "gaussian", "float"])
    def test_noise_that_does_not_serve_it(self, noise: str) -> None:
        curator = opened(NoSource(10, 3), Grid(1.0), PureDP(1), "replace", SeededBits(0))
        with pytest.raises(ParameterError, match="noise must"):
            curator.noisy(Solution(curator.public.second_moment(), 10, 0, Fraction(1)), PureDP(1), noise=noise)
        assert untouched(curator)


class TestTargets:
    @pytest.mark.parametrize("target", ["x9", "X0", "", -1, 3, True, None, 1.0, ["x0"], ("x0",), 10**30], ids=repr)
    def test_of_arrays(self, target: Any) -> None:
        with pytest.raises(ParameterError, match=r"target must .+, got .+\. Hint: "):
            dpcov.ridge(ROWS, PureDP(1), target, alpha=0.1, row_norm=1)

    @pytest.mark.parametrize("target", ["sex", "sex=F", "sex=M", 1, 2], ids=repr)
    def test_levels(self, target: Any) -> None:
        """A level counts 0 or 1, and its own column's others would be its features."""
        with pytest.raises(ParameterError, match=r"target must be (one feature|a column of numbers), got .+\. Hint: "):
            dpcov.ridge(TABLE, PureDP(1), target, alpha=0.1, schema=SCHEMA)

    def test_names_and_positions(self) -> None:
        given: list[tuple[Any, int]] = [("x1", 1), (np.int64(2), 2), ("x0", 0)]
        for target, other in given:
            one, two = (dpcov.ridge(ROWS, PureDP(1), t, alpha=0.1, row_norm=1, seed=9201) for t in (target, other))
            assert one.options["target"] == two.options["target"] == other
            assert one.answers[0].integers.tobytes() == two.answers[0].integers.tobytes()
        chosen = dpcov.ridge(ROWS, PureDP(1), "x0", alpha=0.1, row_norm=1, columns=["x2", "x0"], seed=9201)
        assert (chosen.feature_names, chosen.options["target"]) == (("x2", "x0"), 1)
        assert chosen.ridge().feature_names == ("x2",)

    def test_empty_data(self) -> None:
        with pytest.raises(ParameterError, match=r"data must have 1 to 2\*\*30 rows, got 0\. Hint: "):
            dpcov.ridge(ROWS[:0], PureDP(1), 0, alpha=0.1, row_norm=1)
        with pytest.raises(ParameterError, match=r"data must have at least two columns, .+, got 1\. Hint: "):
            dpcov.ridge(ROWS[:, :1], PureDP(1), 0, alpha=0.1, row_norm=1)


def test_a_forged_target_that_is_a_level() -> None:
    release = dpcov.ridge(TABLE, ZCDP("0.5"), "age", alpha=0.1, schema=SCHEMA, seed=0)
    record = record_of(release)
    record["mechanism"]["options"]["target"] = 1
    assert verdict(sealed(record)) == ("loaded", "")
    with pytest.raises(ReleaseError, match=r"release must .+, got .+ Hint: "):  # its answer is of another target
        parse(sealed(record)).ridge()
    record["answers"][0]["question"]["target"] = 1  # no release has that, but an answer to it would be as private
    assert verdict(sealed(record)) == ("loaded", "")
    assert parse(sealed(record)).ridge().target == "sex=F"


@cache
def example(notion: int = 0) -> dpcov.Release:
    """3000 rows of norm 1, α = 1: finer steps than the coarsest, so that other sizes have others."""
    return dpcov.ridge(ROWS, BUDGETS[notion], "x1", alpha=1.0, row_norm=1, seed=9203)


@pytest.mark.parametrize("notion", [0, 1, 2])
def test_round_trip(tmp_path: Path, notion: int) -> None:
    described = dpcov.ridge(TABLE, BUDGETS[notion], "income", alpha=0.5, schema=SCHEMA, seed=9204)
    for release in (example(notion), described):
        release.save(tmp_path / "release.json")
        for back in (dpcov.load(tmp_path / "release.json"), pickle.loads(pickle.dumps(release)), copy.deepcopy(release)):
            for field in dataclasses.fields(dpcov.Release):
                if field.name != "answers":
                    assert getattr(back, field.name) == getattr(release, field.name)
            assert [answer.question for answer in back.answers] == [answer.question for answer in release.answers]
            assert [answer.laws for answer in back.answers] == [answer.laws for answer in release.answers]
            one, other = back.ridge(), release.ridge()
            assert one.coefficients.tobytes() == other.coefficients.tobytes()
            assert (one.target, one.feature_names, one.alpha) == (other.target, other.feature_names, other.alpha)
            assert back.statement() == release.statement()


def with_option(name: str, value: Any) -> Callable[[Record], None]:
    return lambda record: record["mechanism"]["options"].update({name: value})


def asked(**changes: Any) -> Callable[[Record], None]:
    return lambda record: record["answers"][0]["question"].update(changes)


def scaled_noise(record: Record) -> None:
    parameters = record["answers"][0]["noise"][0]["parameters"]
    parameters.update({name: str(Fraction(value) * Fraction(99, 100)) for name, value in parameters.items()})


def as_mechanism(name: str) -> Callable[[Record], None]:
    return lambda record: record["mechanism"].update(name=name)


def twice(record: Record) -> None:
    record["answers"].append(copy.deepcopy(record["answers"][0]))


def paid_less(record: Record) -> None:
    for budget in (record["answers"][0]["noise"][0]["charge"], record["privacy"]):
        key = "rho" if "rho" in budget else "epsilon"
        budget[key] = str(Fraction(budget[key]) / 2)


BAD_QUESTIONS: dict[str, list[Any]] = {
    "target": [-1, 3, True, 1.0, "x1", "1", 10**30, None],
    "alpha": ["0", "-1", "99/100", "1/10", 1, 1.0, True, "1.0", "1/1" + "0" * 12, "1" + "0" * 12, None],
    "n": [2999, 1500, 30_000, 0, -1, True, 3000.0, 2**30 + 1],
    "clip": ["private", 0.5],
    "columns": [[0]],
}
FORGED: dict[str, Callable[[Record], Any]] = {
    **{f"{name}={value!r}": asked(**{name: value}) for name, values in BAD_QUESTIONS.items() for value in values},
    "no target": lambda r: r["answers"][0]["question"].pop("target"),
    "no alpha": lambda r: r["answers"][0]["question"].pop("alpha"),
    "a row less": lambda r: r.update(n=2999),
    "half the rows": lambda r: r.update(n=1500),
    "ten times the rows": lambda r: r.update(n=30_000),
    "no rows": lambda r: r.update(n=0),
    "too many rows": lambda r: r.update(n=2**30 + 1),
    "longer rows": asked(rows={"radius": 1.01}),
    "rows that are longer than the longest": lambda r: r["encoding"].update(row_norm=0.1),
    "centred": lambda r: r["encoding"].update(constant=True),
    "a coefficient less": lambda r: r["answers"][0]["integers"].pop(),
    "a coefficient more": lambda r: r["answers"][0]["integers"].append(0),
    "less noise": scaled_noise,
    "paid less": paid_less,
    "nothing paid": lambda r: r["answers"][0].update(noise=[]),
    "answered twice": twice,
    "rows of an annulus": asked(rows={"inner": 0.5, "outer": 1.0}),
    "a second moment": asked(asked="second moment"),
    "a spectrum": asked(asked="spectrum"),
    "a kind of its own": lambda r: r.update(kind="solution"),
    "add-remove": lambda r: r.update(neighbors="add-remove"),
    "another version": lambda r: r.update(format_version=2),
    "a column less": lambda r: r["encoding"]["feature_names"].pop(),
    "a column more": lambda r: r["encoding"]["feature_names"].append("x3"),
}
BAD_OPTIONS: dict[str, list[Any]] = {
    "target": [-1, 0, 3, True, 1.0, "x1", "1", 10**15],
    "alpha": [0.0, -1.0, 0.99, 0.1, 1, True, "1.0", 1e-12, 1e-300, 5e-324, 1e12, 1e300, 100.0],
    "k": [2],
    "clip": ["private", 0.5],
    "depth": [3],
    "rank": [1],
}
HIDDEN: dict[str, Callable[[Record], Any]] = {
    **{f"{name}={value!r}": with_option(name, value) for name, values in BAD_OPTIONS.items() for value in values},
    "no target": lambda r: r["mechanism"]["options"].pop("target"),
    "no alpha": lambda r: r["mechanism"]["options"].pop("alpha"),
    "no options": lambda r: r["mechanism"]["options"].clear(),
    "nothing answered": lambda r: r.update(answers=[]),
    "clipped": asked(rows={"radius": 0.5}),
    "another norm": lambda r: r["encoding"].update(row_norm=1.01),
    "a mean": lambda r: r.update(kind="mean"),
    "a covariance": lambda r: r.update(kind="covariance"),
    "components": lambda r: r.update(kind="pca"),
    "another mechanism": as_mechanism("gaussian"),
    "an unknown mechanism": as_mechanism("objective-perturbation"),
    "another postprocess": lambda r: r.update(postprocess="shrink"),
}


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_file_is_refused(case: str) -> None:
    for notion in range(3):
        record = record_of(example(notion))
        assert parse(sealed(record)).n == 3000
        FORGED[case](record)
        with pytest.raises(ReleaseError, match=r"release file must be .+, got .+\. Hint: "):
            pytest.fail(f"{parse(sealed(record))!r} loads")


@pytest.mark.parametrize("case", HIDDEN)
def test_what_only_the_mechanism_knows_is_a_verdict(case: str) -> None:
    """The question stands in the file, and is paid for; that the options say otherwise is no matter of privacy."""
    for notion in range(3):
        record = record_of(example(notion))
        assert parse(sealed(record)).retrace().agrees
        HIDDEN[case](record)
        assert verdict(sealed(record)) == ("loaded", "")
        back = parse(sealed(record))
        try:
            agrees = back.retrace().agrees
        except ReleaseError:  # no mechanism has this name
            agrees = False
        assert agrees == (case in ("another postprocess", "alpha=1"))  # an integer is as good
        if agrees and case == "alpha=1":
            assert back.ridge().alpha == 1.0
        else:
            with pytest.raises(ReleaseError, match=r"release must .+(, got|: ).+ Hint: "):
                back.ridge()


@pytest.mark.parametrize("options", [{"target": 0}, {"target": 0, "alpha": 0.1}], ids=str)
def test_a_covariance_has_no_target(options: dict[str, Any]) -> None:
    record = record_of(dpcov.covariance(ROWS, PureDP(1), row_norm=1, mechanism="wishart", seed=9205))
    record["mechanism"]["options"] |= options
    with pytest.raises(ReleaseError, match="release must have the options of 'wishart'"):
        _ = parse(sealed(record)).covariance


class TestOtherUses:
    @pytest.mark.parametrize(
        "given",
        [
            {"target": "x0"},
            {"target": 2},
            {"alpha": 0.5},
            {"alpha": 0},
            {"features": ["x0"]},
            {"target": "x0", "features": ["x1", "x2"]},
        ],
        ids=str,
    )
    def test_another_model(self, given: dict[str, Any]) -> None:
        with pytest.raises(ReleaseError, match=r"release must hold the model you ask for, got only that of 'x1' .+ Hint: "):
            example().ridge(**given)

    @pytest.mark.parametrize("alpha", [None, "none", -1.0, float("nan")])
    def test_no_penalty_at_all(self, alpha: Any) -> None:
        with pytest.raises(ParameterError, match=r"alpha must be .+, got .+\. Hint: "):
            example().ridge(alpha=alpha)

    def test_an_array_for_alpha(self) -> None:
        with pytest.raises((ParameterError, ReleaseError), match=r" must .+, got .+\. Hint: "):
            example().ridge(alpha=np.array([0.5, 1.0]))  # type: ignore[arg-type]

    @pytest.mark.parametrize("given", [{}, {"target": "x1"}, {"target": 1, "alpha": 1.0}, {"features": [0, 2]}], ids=str)
    def test_the_model_itself(self, given: dict[str, Any]) -> None:
        found = example().ridge(**given)
        assert (found.target, found.feature_names, found.alpha, found.intercept) == ("x1", ("x0", "x2"), 1.0, 0.0)
        assert np.isfinite(found.predict(ROWS[:5, [0, 2]])).all()

    @pytest.mark.parametrize("name", ["covariance", "second_moment", "mean", "components", "explained", "encoded_covariance"])
    def test_what_it_does_not_hold(self, name: str) -> None:
        for release in (example(), parse(sealed(record_of(example())))):
            with pytest.raises(ReleaseError, match=r"release must .+, got .+\. Hint: .+\."):
                getattr(release, name)

    def test_what_cannot_be_made_of_it(self) -> None:
        calls: list[Callable[[], Any]] = [
            lambda: example().pca(),
            lambda: example().pca(1),
            lambda: dpcov.convergence(example()),
            lambda: example().confidence,
            lambda: example().expected_error,
        ]
        for call in calls:
            with pytest.raises(ReleaseError, match=r"release must .+, got .+\. Hint: .+\."):
                call()

    def test_the_record_says_what_it_is(self) -> None:
        assert repr(example()).startswith("<Release of a ridge: PureDP(epsilon=1), replace, output-perturbation, n=3000, d=3")
        assert "1-DP for replacing any one of the 3000 rows" in example().statement()
        assert (example().kind, example().requested) == ("ridge", "output-perturbation")


def test_messages_do_not_quote_the_data() -> None:
    rows = np.full((5, 3), SECRET)
    for bad in ({"alpha": 0}, {"target": "x9"}, {"alpha": 1e300}, {"row_norm": None}):
        given: dict[str, Any] = {"target": 0, "alpha": 0.1, "row_norm": 1} | bad
        with pytest.raises(ParameterError) as caught:
            dpcov.ridge(rows, PureDP(1), given.pop("target"), **given)
        assert "424242" not in str(caught.value)
