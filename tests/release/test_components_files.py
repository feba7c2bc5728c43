"""What a file of components holds, and what it may not."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov import ZCDP, ApproxDP, PureDP
from dpcov.errors import ReleaseError
from dpcov.kernel.budget import Budget
from dpcov.release.file import parse, text_of
from tests.helpers.forged import is_retraced, verdict
from tests.helpers.small import Record, assert_same, record_of, sealed
from tests.mechanisms.test_components import options_of

NEIGHBORS = ["replace", "add-remove"]
PURE, RHO, APPROX = PureDP(1), ZCDP("0.5"), ApproxDP(1, "1e-6")
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
                assert_same(back, release)
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


def test_a_promise_follows_the_law_and_not_the_name() -> None:
    """A file of `ppca` that says "uniform" promises ε without the limit, and a uniform subspace has that; and the reverse."""
    for name, approximate in (("ppca", False), ("random", True)):
        record = json.loads(text(name, "replace"))
        another_drawn_law(record)
        assert ("private at stationarity only" in parse(sealed(record)).statement()) == approximate


def test_mod_sulq_has_the_noise_of_its_paper() -> None:
    """A file with the noise of gaussian, or of another promise, that bears its name is as private; it did not ask so."""
    made = record_of(dpcov.pca(ROWS, ApproxDP(1, "1e-6"), 2, row_norm=1, mechanism="gaussian", seed=3))
    made["mechanism"] = {"name": "mod-sulq", "options": {"k": 2}}
    made["postprocess"] = "clip"
    assert verdict(sealed(made)) == ("loaded", "")
    assert not is_retraced(parse(sealed(made)))
    honest = dpcov.pca(ROWS, ApproxDP(1, "1e-6"), 2, row_norm=1, mechanism="mod-sulq", seed=3)
    assert parse(text_of(honest)).mechanism == "mod-sulq"
    assert is_retraced(parse(text_of(honest)))


def test_a_chain_of_one_direction_is_none() -> None:
    """One direction has an exact draw: `Curator.subspace` refuses a chain for it, and so does a file."""
    record = json.loads(text("random", "replace", 1))
    another_drawn_law(record)
    with pytest.raises(ReleaseError, match="release file must be consistent, got a subspace with noise of the wrong kind"):
        parse(sealed(record))


def test_releases_of_components_have_no_covariance() -> None:
    for name in SERVED:
        release = parse(sealed(json.loads(text(name, "replace"))))
        for estimate in ("covariance", "second_moment"):
            with pytest.raises(ReleaseError, match=r"release must .+, got .+\. Hint: .+\."):
                getattr(release, estimate)
