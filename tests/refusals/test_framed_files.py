"""Release files of means and of coinpress: they come back bit for bit, and a forged one is refused with a reason."""

from __future__ import annotations

import copy
import json
import pickle
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.errors import ParameterError, ReleaseError
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.mechanisms.mean import MEANS
from dpcov.release.file import _checksum, parse, text_of
from dpcov.schema import Categorical, Numeric, Schema

Record = dict[str, Any]

NEIGHBORS = ["replace", "add-remove"]
BUDGETS: list[Budget] = [ZCDP("0.5"), PureDP(1), ApproxDP(1, "1e-6")]
ROWS = np.random.default_rng(95).normal(size=(400, 3)) @ np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
SCHEMA = Schema({"a": Numeric(-5, 5), "b": Numeric(0, 10), "c": Categorical([1, 2, 3])})
TABLE = {"a": ROWS[:, 0], "b": ROWS[:, 1] + 5, "c": (np.arange(400) % 3 + 1).astype(float)}
COVARIANCES: list[dict[str, Any]] = [
    {},
    {"rounds": 1},
    {"rounds": 3, "postprocess": "none"},
    {"postprocess": "clip", "upper": np.diag([50.0, 60.0, 70.0])},
    {"center": True, "radius": 20.0},
    {"centring": "pairs"},
    {"constants": "proved"},
]


def covariance(**options: Any) -> dpcov.Release:
    given: dict[str, Any] = {"upper": 100.0, "mechanism": "coinpress", "seed": 5} | options
    return dpcov.covariance(ROWS, given.pop("budget", BUDGETS[0]), **given)


def mean(name: str, budget: Budget = BUDGETS[0], **options: Any) -> dpcov.Release:
    given: dict[str, Any] = {"radius": 20.0, "mechanism": name, "seed": 5} | options
    return dpcov.mean(ROWS, budget, **given)


def estimates(release: dpcov.Release) -> list[bytes]:
    if release.kind == "mean":
        noisy = [] if release.mechanism == "symq" else [repr(release.expected_error).encode()]  # of choices there is none
        return [release.mean.tobytes(), *noisy]
    means = [release.mean.tobytes(), release.second_moment.tobytes()] if release.center else []
    return [release.covariance.tobytes(), repr(release.expected_error).encode(), *means]


def assert_comes_back(release: dpcov.Release, folder: Path) -> None:
    release.save(folder / "release.json")
    for back in (dpcov.load(folder / "release.json"), pickle.loads(pickle.dumps(release)), copy.deepcopy(release)):
        assert text_of(back) == text_of(release)
        assert estimates(back) == estimates(release)
        assert (back.spent, back.options, back.statement()) == (release.spent, release.options, release.statement())


@pytest.mark.parametrize("neighbors", NEIGHBORS)
class TestRoundTrips:
    @pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.notion)
    @pytest.mark.parametrize("name", MEANS)
    def test_means(self, name: str, budget: Budget, neighbors: str, tmp_path: Path) -> None:
        for options in ({}, {"covariance": 2.0}, {"covariance": np.cov(ROWS.T), "postprocess": "none", "origin": 1.0}):
            assert_comes_back(mean(name, budget, neighbors=neighbors, **options), tmp_path)

    @pytest.mark.parametrize("options", COVARIANCES, ids=str)
    def test_covariances(self, options: dict[str, Any], neighbors: str, tmp_path: Path) -> None:
        if (options.get("centring") == "pairs" or "constants" in options) and neighbors == "add-remove":
            with pytest.raises(ParameterError, match=r"^(neighbors must be 'replace' for pairs|constants must be 'practical')"):
                covariance(neighbors=neighbors, **options)
            return
        for budget in (BUDGETS[0], BUDGETS[2]):
            assert_comes_back(covariance(budget=budget, neighbors=neighbors, **options), tmp_path)

    def test_schemas(self, neighbors: str, tmp_path: Path) -> None:
        import pandas as pd

        table = pd.DataFrame(TABLE)
        for center in (False, True):
            made = dpcov.covariance(
                table, BUDGETS[0], schema=SCHEMA, mechanism="coinpress", center=center, neighbors=neighbors, seed=5
            )
            assert_comes_back(made, tmp_path)
        for name in MEANS:
            known: dict[str, Any] = {"covariance": 1.0} if name == "karwa-vadhan" else {}  # its bins need it
            released = dpcov.mean(table, BUDGETS[0], schema=SCHEMA, mechanism=name, neighbors=neighbors, seed=5, **known)
            assert_comes_back(released, tmp_path)
            assert np.all((released.mean >= SCHEMA.bounds()[0]) & (released.mean <= SCHEMA.bounds()[1]))


@cache
def text(kind: str) -> str:
    """Return the text of a release to be forged: each has a count and several rounds."""
    made = {
        "covariance": lambda: covariance(rounds=3, neighbors="add-remove"),
        "clip": lambda: covariance(rounds=2, postprocess="clip"),
        "centred": lambda: covariance(rounds=2, center=True, radius=20.0),
        "known": lambda: mean("coinpress", covariance=1.0, rounds=2, neighbors="add-remove"),
        "unknown": lambda: mean("coinpress", BUDGETS[1]),
        "clipped": lambda: mean("clipped", BUDGETS[2]),
        "karwa-vadhan": lambda: mean("karwa-vadhan", BUDGETS[1]),
        "symq": lambda: mean("symq", neighbors="add-remove"),
    }
    return text_of(made[kind]())


def record_of(kind: str) -> Record:
    found: Record = json.loads(text(kind))
    return found


def sealed(record: Record) -> str:
    body = {key: value for key, value in record.items() if key != "checksum"}
    return json.dumps(body | {"checksum": _checksum(body)})


def last(record: Record, name: str) -> Record:
    found: Record = next(answer for answer in reversed(record["answers"]) if answer["statistic"] == name)
    return found


def framed(record: Record) -> Record:
    """Return the frame of the last answer."""
    found: Record = record["answers"][-1]["frame"]
    return found


def less_noise(answer: Record) -> None:
    parameters = answer["noise"]["parameters"]
    for name, value in parameters.items():
        top, _, bottom = value.partition("/")
        factor = (101, 100) if name == "rate" else (99, 100)
        parameters[name] = f"{int(top) * factor[0]}/{int(bottom or 1) * factor[1]}"


def drop(record: Record, place: int, *keys: str) -> None:
    for key in keys:
        del record[key][place]


def swap(record: Record, one: int, other: int) -> None:
    """Exchange two answers, and what was paid for them."""
    for rows in (record["answers"], record["spent"]):
        rows[one], rows[other] = rows[other], rows[one]


ALL = ("covariance", "clip", "centred", "known", "unknown", "clipped", "karwa-vadhan", "symq")
SUMS = ("known", "unknown", "clipped", "karwa-vadhan")
FORGED: list[tuple[str, tuple[str, ...], Callable[[Record], Any]]] = [
    ("less noise in the last answer", ALL, lambda r: less_noise(r["answers"][-1])),
    ("less noise in the first answer", ALL, lambda r: less_noise(r["answers"][0])),
    ("a budget that was not paid", ALL, lambda r: r["spent"][-1]["budget"].update({next(iter(r["privacy"])): "x"})),
    ("a spend dropped", ALL, lambda r: drop(r, -1, "spent")),
    ("the first spend dropped", ALL, lambda r: drop(r, 0, "spent")),
    ("an answer dropped", ALL, lambda r: drop(r, -1, "answers")),
    ("all answers dropped", ALL, lambda r: r.update(answers=[], spent=[])),
    ("the last answer and its spend dropped", ("symq", "karwa-vadhan", "clipped"), lambda r: drop(r, -1, "answers", "spent")),
    ("the count dropped", ("covariance", "known", "symq"), lambda r: drop(r, 0, "answers", "spent")),
    ("a frame removed", ALL, lambda r: r["answers"][-1].update(frame={})),
    ("frames removed", ALL, lambda r: [answer.update(frame={}) for answer in r["answers"]]),
    ("a frame without a centre", ALL, lambda r: framed(r).pop("centre")),
    ("a frame with more", ALL, lambda r: framed(r).update(kind="ball")),
    ("a centre of fewer columns", ALL, lambda r: framed(r)["centre"].pop()),
    ("a centre of integers", ALL, lambda r: framed(r).update(centre=[0, 0, 0])),
    ("a centre beyond all numbers", ALL, lambda r: framed(r).update(centre=[1e200, 0.0, 0.0])),
    ("a text for an extent", ALL, lambda r: framed(r).update(extent="1.0")),
    ("a negative extent", SUMS, lambda r: framed(r).update(extent=-1.0)),
    ("an extent of zero", ALL, lambda r: framed(r).update(extent=0.0)),
    ("an extent of two columns", ALL, lambda r: framed(r).update(extent=[1.0, 1.0])),
    ("an extent that is not square", ALL, lambda r: framed(r).update(extent=[[1.0, 0.0, 0.0], [0.0, 1.0]])),
    ("an extent of lists and numbers", ALL, lambda r: framed(r).update(extent=[[1.0, 0.0, 0.0], 1.0, 1.0])),
    ("a singular whitener", ALL, lambda r: framed(r).update(extent=[[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])),
    ("a whitener of zeros", ALL, lambda r: framed(r).update(extent=[[0.0] * 3] * 3)),
    ("no deviations", ALL, lambda r: framed(r).update(deviations=0.0)),
    ("a moment in a box", ("covariance",), lambda r: last(r, "second moment")["frame"].update(extent=[1.0, 1.0, 1.0])),
    ("integers more", ALL, lambda r: r["answers"][-1]["integers"].append(1)),
    ("integers less", ALL, lambda r: r["answers"][-1]["integers"].pop()),
    ("radii", ALL, lambda r: r["answers"][-1].update(radii=[0.5])),
    ("another unit", ALL, lambda r: r["answers"][-1].update(unit_bits=8)),
    ("another kind", ALL, lambda r: r.update(kind="covariance" if r["kind"] == "mean" else "mean")),
    ("a covariance's mechanism", SUMS, lambda r: r.update(mechanism="gaussian", requested="gaussian")),
    ("a mean's mechanism", ("covariance",), lambda r: r.update(mechanism="clipped", requested="clipped")),
    ("another question", ALL, lambda r: r["answers"][-1].update(statistic="overlap")),
    ("another postprocess", ALL, lambda r: r.update(postprocess="shrink")),
    ("an unknown option", ALL, lambda r: r["options"].update(steps=3)),
    ("another n", ("covariance", "known", "symq"), lambda r: r.update(n=r["n"] + 1)),
    ("a column more", ALL, lambda r: r["feature_names"].append("x9")),
    ("a bin beyond the last", ("symq",), lambda r: r["answers"][-1]["integers"].__setitem__(0, 4096)),
    ("a column beyond the last", ("symq",), lambda r: r["answers"][-1]["integers"].__setitem__(2, 3)),
    ("a moment for the sum", ("known",), lambda r: r["answers"][-1].update(statistic="second moment")),
    ("a bound dropped", ("clip",), lambda r: r["options"].pop("condition")),
    ("a mean of no sum", ("clip", "covariance"), lambda r: r["encoding"].update(center=True)),
    ("no mean of sums", ("centred",), lambda r: r["encoding"].update(center=False)),
    ("a strength beyond 1", ("unknown",), lambda r: r["options"].update(strength=1e300)),
    ("a column twice", ("symq",), lambda r: [a["integers"].__setitem__(2, 0) for a in r["answers"][1:]]),
    ("other rounds", ("covariance", "known"), lambda r: r["options"].update(rounds=17)),
    ("questions in another order", ("covariance", "centred", "unknown"), lambda r: swap(r, -1, -2)),
    ("the count last", ("covariance", "known", "symq"), lambda r: swap(r, 0, -1)),
    ("a ball for a moment", ("covariance", "clip", "centred"), lambda r: last(r, "second moment")["frame"].update(extent=1.0)),
    ("a box for a ball", ("known", "unknown", "clipped"), lambda r: framed(r).update(extent=[1.0, 1.0, 1.0])),
    ("a ball for a box", ("karwa-vadhan", "symq"), lambda r: framed(r).update(extent=1.0)),
    ("rounds of none", ("clipped", "karwa-vadhan", "symq"), lambda r: r["options"].update(rounds=1)),
    ("another's option", ("covariance", "known"), lambda r: r["options"].update(level=0.25)),
    ("an option dropped", ("covariance", "known", "unknown", "symq"), lambda r: r["options"].pop(next(iter(r["options"])))),
    ("bounds for a mean", SUMS, lambda r: r.update(postprocess="clip")),
    ("a proof that is none", ("covariance", "centred", "known", "unknown"), lambda r: r["options"].update(constants="proved")),
    ("a proof of rows clipped closer", ("clip",), lambda r: r["options"].update(constants="proved")),
    ("pairs that may be added", ("covariance",), lambda r: r["options"].update(centring="pairs")),
    ("a count with coordinates", ("known",), lambda r: r["answers"][0].update(frame=copy.deepcopy(framed(r)))),
]


def check(case: str, kind: str, forge: Callable[[Record], Any]) -> None:
    record = record_of(kind)
    before = json.dumps(record)
    parse(sealed(record))  # good before it is forged
    forge(record)
    assert json.dumps(record) != before, case
    with pytest.raises(ReleaseError) as raised:
        parse(sealed(record))
    assert re.fullmatch(r"(?s)release file must be .+, got .+\. Hint: .+\.", str(raised.value)), str(raised.value)


@pytest.mark.parametrize(("case", "kinds", "forge"), FORGED, ids=[case for case, _, _ in FORGED])
def test_a_forged_file_is_refused(case: str, kinds: tuple[str, ...], forge: Callable[[Record], Any]) -> None:
    for kind in kinds:
        check(case, kind, forge)


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_none(constant: str) -> None:
    for kind in ("covariance", "known"):
        forged = re.sub(r'"deviations": [0-9.]+', f'"deviations": {constant}', text(kind), count=1)
        forged = forged.replace('"centre": [0.0', f'"centre": [{constant}', 1)
        with pytest.raises(ReleaseError):
            parse(forged)
