"""What mechanisms for components refuse before reading, data that are no obstacle, and what a file of components holds."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import pickle
import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov import ZCDP, ApproxDP, PureDP
from dpcov.errors import BudgetError, ParameterError, ReleaseError
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import Budget
from dpcov.kernel.questions.directions import Subspace
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.running import released
from dpcov.release.file import parse
from dpcov.verify.testing import NoSource, opened
from tests.helpers.forged import verdict
from tests.helpers.small import Record, record_of, sealed, untouched

NEIGHBORS = ["replace", "add-remove"]
PURE, RHO, APPROX = PureDP(1), ZCDP("0.5"), ApproxDP(1, "1e-6")
CHAIN = {"approximate": True, "sweeps": 8}
SERVED: dict[str, list[Budget]] = {
    "ppca": [PURE, RHO, APPROX],
    "eigenvectors": [PURE, RHO, APPROX],
    "random": [PURE, RHO, APPROX],
    "wishart": [PURE, APPROX],
    "gaussian": [RHO, APPROX],
    "mod-sulq": [APPROX],
}
"""All mechanisms for components but the automatic ones, and the notions that they serve."""
DRAWN = ["ppca", "eigenvectors", "random"]
ROWS = np.random.default_rng((1, 5400)).normal(size=(60, 4)) / 3


def options_of(name: str) -> dict[str, Any]:
    return CHAIN if name == "ppca" else {}


def ask(name: str, budget: Budget, neighbors: str = "replace", *, d: int = 4, center: bool = False, **options: Any) -> str:
    """Run a mechanism on a source that fails the test when it is read; it must refuse, and nothing may be charged."""
    curator = opened(NoSource(10, d), Grid(1.0, center=center), budget, neighbors, SeededBits(0))
    with pytest.raises((ParameterError, BudgetError)) as caught:
        released(MECHANISMS["pca"][name], curator, options.pop("spend", budget), **options)
    assert re.fullmatch(r"(?s).+ must .+, got .+\. Hint: .+\.", str(caught.value)), str(caught.value)
    assert untouched(curator)
    return str(caught.value)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("name", SERVED)
class TestBeforeReading:
    def test_one_column(self, name: str, neighbors: str) -> None:
        for k in (0, 1):
            assert "two columns or more" in ask(name, SERVED[name][0], neighbors, d=1, k=k, **options_of(name))

    def test_overspending(self, name: str, neighbors: str) -> None:
        for budget in SERVED[name]:
            curator = opened(NoSource(10, 4), Grid(1.0), budget, neighbors, SeededBits(0))
            double: Budget = (
                ZCDP(1) if isinstance(budget, ZCDP) else PureDP(2) if isinstance(budget, PureDP) else ApproxDP(2, "2e-6")
            )
            with pytest.raises(BudgetError, match="charges must fit into the budget"):  # by a rehearsal: nothing is read
                released(MECHANISMS["pca"][name], curator, double, k=1, **options_of(name))
            assert untouched(curator)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
class TestOptions:
    @pytest.mark.parametrize("sweeps", [0, -1, 10**7 + 1, True, 2.0, "9", None, math.nan], ids=repr)
    @pytest.mark.parametrize("k", [1, 2])
    def test_sweeps(self, neighbors: str, sweeps: Any, k: int) -> None:
        assert ask("ppca", PURE, neighbors, k=k, approximate=True, sweeps=sweeps).startswith("sweeps must be an integer from 1")

    @pytest.mark.parametrize("approximate", [None, 1, 0, "yes", [True]], ids=repr)
    def test_approximate_is_true_or_false(self, neighbors: str, approximate: Any) -> None:
        for k in (1, 2):
            assert ask("ppca", PURE, neighbors, k=k, approximate=approximate).startswith("approximate must be True or False")

    def test_a_chain_needs_consent(self, neighbors: str) -> None:
        for options in ({}, {"approximate": False}):
            message = ask("ppca", PURE, neighbors, k=2, **options)
            assert message.startswith("approximate must be True for mechanism 'ppca' with k > 1, got False")
        release = dpcov.pca(ROWS, PURE, 1, row_norm=1, mechanism="ppca", neighbors=neighbors, seed=0)
        assert release.options["approximate"] is False

    @pytest.mark.parametrize("name", ["ppca", "eigenvectors", "random", "mod-sulq"])
    def test_centred_rows(self, neighbors: str, name: str) -> None:
        message = ask(name, APPROX, neighbors, center=True, k=2, **options_of(name))
        assert message.startswith(f"center must be False for mechanism {name!r}, got True")

    @pytest.mark.parametrize("name", ["wishart", "gaussian"])
    def test_centred_rows_have_as_many_components_as_columns_less_one(self, neighbors: str, name: str) -> None:
        assert "from 1 to 3" in ask(name, SERVED[name][0], neighbors, center=True, k=4)
        release = dpcov.pca(ROWS, SERVED[name][0], 3, row_norm=1, mechanism=name, neighbors=neighbors, center=True, seed=0)
        assert release.components.shape == (3, 4)

    @pytest.mark.parametrize("name", ["wishart", "gaussian"])
    @pytest.mark.parametrize("clip", ["public", 0.0, -1.0, 2.0, math.nan, True, None], ids=repr)
    def test_clip(self, neighbors: str, name: str, clip: Any) -> None:
        ask(name, SERVED[name][0], neighbors, k=1, clip=clip)


class TestPrimitive:
    """`Curator.subspace` refuses before reading, too."""

    @pytest.mark.parametrize(
        "bad",
        [
            {"k": 1},
            {"k": 0},
            {"k": 4},
            {"k": True},
            {"k": 2.0},
            {"k": np.int64(2)},
            {"sweeps": -1},
            {"sweeps": 10**7 + 1},
            {"sweeps": True},
            {"sweeps": 2.0},
            {"budget": APPROX},
            {"budget": 1},
            {"at_most": 0.5},
            {"at_most": Fraction(0)},
            {"at_most": Fraction(-1)},
            {"sweeps": 0, "k": 4},
            {"sweeps": 0, "k": 0},
        ],
        ids=str,
    )
    def test_parameters(self, bad: dict[str, Any]) -> None:
        curator = opened(NoSource(10, 4), Grid(1.0), PURE, "replace", SeededBits(0))
        given: dict[str, Any] = {"k": 2, "budget": PURE, "sweeps": 3} | bad
        with pytest.raises(ParameterError, match=r"(?s).+ must .+, got .+\. Hint: .+\."):
            curator.subspace(Subspace(curator.public.second_moment(), given.pop("k")), given.pop("budget"), **given)
        assert untouched(curator)

    def test_one_direction_without_sweeps(self) -> None:
        release = dpcov.pca(ROWS, PURE, 1, row_norm=1, mechanism="random", seed=0)
        assert release.components.shape == (1, 4)


@pytest.mark.parametrize(("n", "epsilon"), [(100, "1e9"), (2**14, "1e4"), (10**5, "10")], ids=str)
def test_rank_one_data_at_a_large_epsilon_end_in_a_release(n: int, epsilon: str) -> None:
    """A draw that never ended would show the data: n·ε of some million is in reach of ordinary tables."""
    rows = np.zeros((n, 6))
    rows[:, 0] = 1.0
    for neighbors in NEIGHBORS:
        release = dpcov.pca(
            rows, PureDP(epsilon), 3, row_norm=1, mechanism="ppca", neighbors=neighbors, seed=1, approximate=True, sweeps=4
        )
        assert np.linalg.norm(release.components[:, 0]) > 0.99


@pytest.mark.parametrize(("d", "k"), [(3, 2), (4, 3), (5, 4), (8, 6), (8, 7)])
def test_any_k_below_d(d: int, k: int) -> None:
    """The chain, too, has up to d − 1 columns."""
    rows = np.random.default_rng((1, d)).normal(size=(50, d)) / d
    release = dpcov.pca(rows, PURE, k, row_norm=1, mechanism="ppca", approximate=True, sweeps=3, seed=d)
    assert release.components.shape == (k, d)
    assert dpcov.convergence(release, chains=1, sweeps=3).shape == (1, 3)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("name", SERVED)
def test_round_trip(tmp_path: Path, name: str, k: int, neighbors: str) -> None:
    cases: list[dict[str, Any]] = [{}]
    if name in ("wishart", "gaussian"):
        cases += [{"center": True}, {"clip": "private"}, {"clip": 0.5}]
    for budget in SERVED[name]:
        for options in cases:
            release = dpcov.pca(
                ROWS, budget, k, row_norm=1, mechanism=name, neighbors=neighbors, seed=5401, **options_of(name), **options
            )
            release.save(tmp_path / "release.json")
            for back in (dpcov.load(tmp_path / "release.json"), pickle.loads(pickle.dumps(release)), copy.deepcopy(release)):
                for field in dataclasses.fields(dpcov.Release):
                    if field.name != "answers":
                        assert getattr(back, field.name) == getattr(release, field.name)
                assert [answer.question for answer in back.answers] == [answer.question for answer in release.answers]
                assert [answer.laws for answer in back.answers] == [answer.laws for answer in release.answers]
                assert [answer.charges for answer in back.answers] == [answer.charges for answer in release.answers]
                assert [a.integers.tobytes() for a in back.answers] == [a.integers.tobytes() for a in release.answers]
                assert back.components.tobytes() == release.components.tobytes()
                assert back.explained.tobytes() == release.explained.tobytes()
                assert back.statement() == release.statement()
            approximate = name == "ppca" and k > 1
            assert ("approximate: private at stationarity only" in release.statement()) == approximate
            # of chains too, and not of directions that have nothing to do with the rows
            assert ("for real numbers" in release.statement()) == (name in ("ppca", "eigenvectors"))
            assert release.seeded


@cache
def text(name: str, neighbors: str, k: int = 2) -> str:
    budget = SERVED[name][0]
    return json.dumps(
        record_of(dpcov.pca(ROWS, budget, k, row_norm=1, mechanism=name, neighbors=neighbors, seed=5402, **options_of(name)))
    )


def answer_of(record: Record, *names: str) -> Record:
    [answer] = [answer for answer in record["answers"] if answer["question"]["asked"] in names]
    found: Record = answer
    return found


def drawn_of(record: Record) -> Record:
    return answer_of(record, "directions", "subspace")


def noise_of(record: Record, *names: str) -> Record:
    (found,) = answer_of(record, *names)["noise"]
    return found  # type: ignore[no-any-return]


def noise_of_drawn(record: Record) -> Record:
    return noise_of(record, "directions", "subspace")


def more_concentrated(record: Record) -> None:
    parameters = noise_of_drawn(record)["parameters"]
    for name in parameters.keys() - {"sweeps"}:
        parameters[name] = str(Fraction(parameters[name]) * Fraction(1001, 1000))


def not_concentrated(record: Record) -> None:
    parameters = noise_of_drawn(record)["parameters"]
    parameters.update(dict.fromkeys(parameters.keys() - {"sweeps"}, "0"))


def sweeps(value: str) -> Callable[[Record], None]:
    return lambda record: noise_of_drawn(record)["parameters"].update(sweeps=value)


def not_orthogonal(record: Record) -> None:
    integers = drawn_of(record)["integers"]
    integers[4:8] = integers[:4]


def another_drawn_law(record: Record) -> None:
    """Say that the subspace has another law than its mechanism draws from: a promise without the limit, for example."""
    parameters = {"concentration": "1/1000", "sweeps": "9"}
    chain = {"law": "matrix bingham", "numerics": "markov chain", "parameters": parameters}
    uniform = {"law": "uniform", "numerics": "float", "parameters": {}}
    noise_of_drawn(record).update(uniform if record["mechanism"]["name"] == "ppca" else chain)


def discrete_law(record: Record) -> None:
    noise_of_drawn(record).update({"law": "discrete laplace", "numerics": "exact", "parameters": {"scale": "1000000"}})


def less_noise(record: Record) -> None:
    parameters = noise_of(record, "second moment", "explained")["parameters"]
    parameters.update({key: str(Fraction(value) * Fraction(9, 10)) for key, value in parameters.items()})


def renamed(record: Record, name: str) -> None:
    drawn_of(record)["question"]["asked"] = name


def paid_less(record: Record) -> None:
    charge = noise_of_drawn(record)["charge"]
    key = "rho" if "rho" in charge else "epsilon"
    charge[key] = str(Fraction(charge[key]) / 2)


def as_kind(kind: str) -> Callable[[Record], None]:
    return lambda record: record.update(kind=kind)


def with_option(name: str, value: Any) -> Callable[[Record], None]:
    return lambda record: record["mechanism"]["options"].update({name: value})


def as_mechanism(name: str) -> Callable[[Record], None]:
    return lambda record: record["mechanism"].update(name=name)


ALL, MATRICES, TOGETHER = list(SERVED), ["wishart", "gaussian", "mod-sulq"], ["ppca", "random"]
Cases = dict[str, tuple[list[str], Callable[[Record], Any]]]
FORGED: Cases = {
    "a direction less": (DRAWN, lambda r: drawn_of(r)["question"].update(count=1)),
    "a direction more": (DRAWN, lambda r: drawn_of(r)["question"].update(count=3)),
    "no directions": (DRAWN, lambda r: drawn_of(r)["question"].update(count=0)),
    "a subspace of all columns": (TOGETHER, lambda r: drawn_of(r).update(integers=[2**18 * (i % 5 == 0) for i in range(16)])),
    "no sweeps": (["ppca"], sweeps("0")),
    "half a sweep": (["ppca"], sweeps("1/2")),
    "sweeps left out": (["ppca"], lambda r: noise_of_drawn(r)["parameters"].pop("sweeps")),
    "sweeps beyond all": (["ppca"], sweeps(str(10**7 + 1))),
    "sweeps below zero": (["ppca"], sweeps("-1")),
    "more concentrated": (["ppca", "eigenvectors"], more_concentrated),
    "not concentrated": (["ppca", "eigenvectors"], not_concentrated),
    "paid less": (["ppca", "eigenvectors"], paid_less),
    "not orthogonal": (DRAWN, not_orthogonal),
    "not of norm 1": (DRAWN, lambda r: drawn_of(r)["integers"].__setitem__(0, drawn_of(r)["integers"][0] + 2**12)),
    "zero": (DRAWN, lambda r: drawn_of(r).update(integers=[0] * 8)),
    "a number less": (DRAWN, lambda r: drawn_of(r)["integers"].pop()),
    "a row less": (DRAWN, lambda r: drawn_of(r).update(integers=drawn_of(r)["integers"][:4])),
    "a law of sums": (DRAWN, discrete_law),
    "directions for a subspace": (TOGETHER, lambda r: renamed(r, "directions")),
    "nothing drawn": (DRAWN, lambda r: r["answers"].remove(drawn_of(r))),
    "drawn twice": (DRAWN, lambda r: drawn_of(r)["integers"].extend(drawn_of(r)["integers"])),
    "explained less": (DRAWN, lambda r: answer_of(r, "explained")["integers"].pop()),
    "explained more": (DRAWN, lambda r: answer_of(r, "explained")["integers"].append(0)),
    "less noise": (ALL, less_noise),
    "a kind of its own": (ALL, as_kind("components")),
    "centred": (ALL, lambda r: r["encoding"].update(constant=True)),
    "a charge dropped": (ALL, lambda r: r["answers"][-1].update(noise=[])),
    "another n": (["ppca", "wishart"], lambda r: r.update(n=r["n"] + 1) if r["neighbors"] == "add-remove" else r.update(n=0)),
}
HIDDEN: Cases = {
    "k of nothing": (ALL, with_option("k", 0)),
    "k of all columns": (ALL, with_option("k", 4)),
    "k of true": (ALL, with_option("k", True)),
    "k as text": (ALL, with_option("k", "2")),
    "k less": (DRAWN, with_option("k", 1)),
    "k more": (DRAWN, with_option("k", 3)),
    "no k": (ALL, lambda r: r["mechanism"]["options"].pop("k")),
    "other sweeps": (["ppca"], with_option("sweeps", 9)),
    "sweeps that are none": (["ppca"], with_option("sweeps", -1)),
    "explained left out": (DRAWN, lambda r: r["answers"].remove(answer_of(r, "explained"))),
    "a mean": (ALL, as_kind("mean")),
    "a covariance": (ALL, as_kind("covariance")),
    "another postprocess": (ALL, lambda r: r.update(postprocess="project")),
    "an unknown mechanism": (ALL, as_mechanism("svd")),
    "a covariance's mechanism": (ALL, as_mechanism("laplace")),
    "an unknown option": (ALL, with_option("depth", 3)),
    "another law of a subspace": (TOGETHER, another_drawn_law),
    "a chain that says it is none": (["ppca"], with_option("approximate", False)),
}


@pytest.mark.parametrize("case", FORGED)
def test_a_forged_file_is_refused(case: str) -> None:
    names, forge = FORGED[case]
    for name in names:
        for neighbors in NEIGHBORS:
            record = json.loads(text(name, neighbors))
            assert parse(sealed(record)).n == record["n"]
            if case == "less noise" and name == "mod-sulq":  # the paper's noise is more than the promise needs
                parameters = noise_of(record, "second moment")["parameters"]
                parameters.update(dict.fromkeys(parameters, "1"))
            else:
                forge(record)
            with pytest.raises(ReleaseError, match=r"release file must be .+, got .+\. Hint: "):
                pytest.fail(f"{name}: {parse(sealed(record))!r} loads")


@pytest.mark.parametrize("case", HIDDEN)
def test_what_only_the_mechanism_knows_is_a_verdict(case: str) -> None:
    """Each answer is paid for: such a file loads. Its mechanism would not have asked it, and says so."""
    names, forge = HIDDEN[case]
    for name in names:
        for neighbors in NEIGHBORS:
            record = json.loads(text(name, neighbors))
            assert is_retraced(parse(sealed(record))), name
            forge(record)
            assert verdict(sealed(record)) == ("loaded", ""), name
            assert case == "another postprocess" or not is_retraced(parse(sealed(record))), name


def is_retraced(release: dpcov.Release) -> bool:
    try:
        return release.retrace().agrees
    except ReleaseError:  # no mechanism has this name
        return False


def test_a_promise_follows_the_law_and_not_the_name() -> None:
    """A file of `ppca` that says "uniform" promises ε without the limit, and a uniform subspace has that; and the reverse."""
    for name, approximate in (("ppca", False), ("random", True)):
        record = json.loads(text(name, "replace"))
        another_drawn_law(record)
        assert ("private at stationarity only" in parse(sealed(record)).statement()) == approximate


def test_a_chain_of_one_direction_is_none() -> None:
    """One direction has an exact draw: `Curator.subspace` refuses a chain for it, and so does a file."""
    record = json.loads(text("random", "replace", 1))
    another_drawn_law(record)
    with pytest.raises(
        ReleaseError, match="release file must be consistent, got a subspace with a noise that it does not have"
    ):
        parse(sealed(record))


def test_releases_of_components_have_no_covariance() -> None:
    for name in SERVED:
        release = parse(sealed(json.loads(text(name, "replace"))))
        for estimate in ("covariance", "second_moment"):
            with pytest.raises(ReleaseError, match=r"release must .+, got .+\. Hint: .+\."):
                getattr(release, estimate)


class TestConvergence:
    def test_of_other_releases(self) -> None:
        others = [parse(sealed(json.loads(text(name, "replace")))) for name in SERVED if name != "ppca"]
        others += [parse(sealed(json.loads(text("ppca", "replace", 1)))), dpcov.covariance(ROWS, PURE, row_norm=1, seed=0)]
        for release in others:
            with pytest.raises(ReleaseError, match=r"release must be drawn by a Markov chain, got one that was not\. Hint: "):
                dpcov.convergence(release)

    @pytest.mark.parametrize("bad", [0, -1, True, 2.0, "3", None, 10**7 + 1], ids=repr)
    def test_parameters(self, bad: Any) -> None:
        release = parse(sealed(json.loads(text("ppca", "replace"))))
        with pytest.raises(ParameterError, match=r"chains must be an integer from 1 to 10\*\*7, got .*\. Hint: "):
            dpcov.convergence(release, chains=bad)
        if bad is not None:
            with pytest.raises(ParameterError, match=r"sweeps must be an integer from 1 to 10\*\*7, got .*\. Hint: "):
                dpcov.convergence(release, sweeps=bad)

    def test_it_repeats_and_its_chains_differ(self) -> None:
        """F_k(1) = 1; as long as the chain of the release; nothing but the release is needed."""
        release = parse(sealed(json.loads(text("ppca", "add-remove"))))
        found = dpcov.convergence(release, chains=3, seed=4)
        assert found.shape == (3, 8)
        assert np.allclose(found[:, 0], 1.0, rtol=0, atol=1e-12)
        assert np.all((found >= 0) & (found <= 1 + 1e-12))
        assert len({row.tobytes() for row in found}) == 3
        assert np.array_equal(dpcov.convergence(release, chains=1, sweeps=5, seed=5)[0], found[1, :5])
