"""Release files of means and of coinpress: they come back bit for bit; what a forged one cannot hide is refused with a reason.

`test_forged` has what is refused of any file. Here are the coordinates, and what only the mechanism could know: such a file
loads, and neither its estimates nor its regions say more than its answers do.
"""

from __future__ import annotations

import base64
import copy
import json
import pickle
import re
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.errors import ParameterError, ReleaseError
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.mechanisms import MECHANISMS
from dpcov.release.file import parse, text_of
from dpcov.schema import Categorical, Numeric, Schema
from tests.helpers.forged import is_retraced, verdict
from tests.helpers.rows import Floats
from tests.helpers.small import Record, sealed
from tests.release.test_file_sizes import at_most, zeros

MEANS = MECHANISMS["mean"]

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


def last(record: Record, name: str) -> Record:
    """Return the frame of the last answer to a question."""
    found: Record = next(answer for answer in reversed(record["answers"]) if answer["question"]["asked"] == name)
    return frame_of(record, found)


def frame_of(record: Record, answer: Record) -> Record:
    found: Record = record["frames"][answer["question"]["rows"]["frame"]]
    return found


def framed(record: Record) -> Record:
    """Return the frame of the last answer."""
    return frame_of(record, record["answers"][-1])


def question(record: Record) -> Record:
    """Return the last question."""
    found: Record = record["answers"][-1]["question"]
    return found


def less_noise(answer: Record) -> None:
    parameters = answer["noise"][0]["parameters"]
    for name, value in parameters.items():
        top, _, bottom = value.partition("/")
        factor = (101, 100) if name == "rate" else (99, 100)
        parameters[name] = f"{int(top) * factor[0]}/{int(bottom or 1) * factor[1]}"


def swap(record: Record, one: int, other: int) -> None:
    """Exchange two answers, and what was paid for them."""
    rows = record["answers"]
    rows[one], rows[other] = rows[other], rows[one]


def drop(record: Record, place: int) -> None:
    """Leave out an answer, and coordinates that none is about any more."""
    del record["answers"][place]
    used = [answer["question"]["rows"]["frame"] for answer in record["answers"] if "rows" in answer["question"]]
    kept = sorted(set(used))
    record["frames"] = [record["frames"][frame] for frame in kept]
    for answer in record["answers"]:
        if "rows" in answer["question"]:
            answer["question"]["rows"]["frame"] = kept.index(answer["question"]["rows"]["frame"])


def named(record: Record, name: str) -> None:
    record["mechanism"]["name"] = record["requested"]["name"] = name


def option(record: Record, **changes: Any) -> None:
    record["mechanism"]["options"].update(changes)


ALL = ("covariance", "clip", "centred", "known", "unknown", "clipped", "karwa-vadhan", "symq")
SUMS = ("known", "unknown", "clipped", "karwa-vadhan")
COUNTED = ("covariance", "known", "symq")
Cases = list[tuple[str, tuple[str, ...], Callable[[Record], Any]]]
FORGED: Cases = [
    ("less noise in the last answer", ALL, lambda r: less_noise(r["answers"][-1])),
    ("less noise in the first answer", ALL, lambda r: less_noise(r["answers"][0])),
    ("a budget that was not paid", ALL, lambda r: r["answers"][-1]["noise"][0]["charge"].update(epsilon="x", rho="x")),
    ("a charge dropped", ALL, lambda r: r["answers"][-1].update(noise=[])),
    ("the first charge dropped", ALL, lambda r: r["answers"][0].update(noise=[])),
    ("the count dropped", COUNTED, lambda r: drop(r, 0)),
    ("a frame removed", ALL, lambda r: question(r).update(rows={})),
    ("frames removed", ALL, lambda r: r.update(frames=[])),
    ("a frame of nobody", ALL, lambda r: r["frames"].append(r["frames"][0])),
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
    ("a moment in a box", ("covariance",), lambda r: last(r, "second moment").update(extent=[1.0, 1.0, 1.0])),
    ("integers more", ALL, lambda r: r["answers"][-1]["integers"].append(1)),
    ("integers less", ALL, lambda r: r["answers"][-1]["integers"].pop()),
    ("radii", ALL, lambda r: question(r)["rows"].update(radius=0.5)),
    ("rows of the whole table", SUMS, lambda r: question(r).update(rows={"radius": 1.0})),
    ("another question", ALL, lambda r: question(r).update(asked="overlap")),
    ("an unknown kind", ALL, lambda r: r.update(kind="median")),
    ("another n", COUNTED, lambda r: r.update(n=r["n"] + 1)),
    ("a column more", ALL, lambda r: r["encoding"]["feature_names"].append("x9")),
    ("a bin beyond the last", ("symq",), lambda r: r["answers"][-1].update(integers=[4096])),
    ("a column beyond the last", ("symq",), lambda r: question(r).update(column=3)),
    ("a moment for the sum", ("known",), lambda r: question(r).update(asked="second moment")),
    ("a constant in front", ALL, lambda r: r["encoding"].update(constant=True)),
    ("a ball for bins of a box", ("symq",), lambda r: framed(r).update(extent=1.0)),
    ("a box for a ball", ("known", "unknown", "clipped"), lambda r: framed(r).update(extent=[1.0, 1.0, 1.0])),
    ("pairs that may be added", ("covariance",), lambda r: r["encoding"].update(pairs=True)),
    ("a count with coordinates", ("known",), lambda r: r["answers"][0]["question"].update(rows={"frame": 0})),
]
HIDDEN: Cases = [
    ("an answer dropped", ALL, lambda r: drop(r, -1)),
    (
        "all answers dropped",
        ("clip", "centred", "unknown", "clipped", "karwa-vadhan"),
        lambda r: r.update(answers=[], frames=[]),
    ),
    ("another kind", ALL, lambda r: r.update(kind="covariance" if r["kind"] == "mean" else "mean")),
    ("a covariance's mechanism", SUMS, lambda r: named(r, "gaussian")),
    ("a mean's mechanism", ("covariance",), lambda r: named(r, "clipped")),
    ("another postprocess", ALL, lambda r: r.update(postprocess="shrink")),
    ("an unknown option", ALL, lambda r: option(r, steps=3)),
    ("a bound dropped", ("clip",), lambda r: r["notes"].pop("condition")),
    ("a mean of no sum", ("clip", "covariance"), lambda r: option(r, centring="mean")),
    ("no mean of sums", ("centred",), lambda r: option(r, centring="none")),
    ("a strength beyond 1", ("unknown",), lambda r: r["notes"].update(strength=1e300)),
    ("a column twice", ("symq",), lambda r: [a["question"].update(column=0) for a in r["answers"][1:]]),
    ("other rounds", ("covariance", "known"), lambda r: option(r, rounds=17)),
    ("questions in another order", ("covariance", "centred", "unknown"), lambda r: swap(r, -1, -2)),
    ("the count last", COUNTED, lambda r: swap(r, 0, -1)),
    ("a ball for a moment", ("covariance", "clip", "centred"), lambda r: last(r, "second moment").update(extent=1.0)),
    ("a ball for a box", ("karwa-vadhan",), lambda r: framed(r).update(extent=1.0)),
    ("rounds of none", ("clipped", "karwa-vadhan", "symq"), lambda r: option(r, rounds=1)),
    ("another's option", ("covariance", "known"), lambda r: option(r, level=0.25)),
    ("an option dropped", ALL, lambda r: r["mechanism"]["options"].popitem()),
    ("bounds for a mean", SUMS, lambda r: r.update(postprocess="clip")),
    ("a proof that is none", ("covariance", "centred", "known", "unknown"), lambda r: option(r, constants="proved")),
    ("a proof of rows clipped closer", ("clip",), lambda r: option(r, constants="proved")),
    ("pairs of none", ("clip",), lambda r: option(r, centring="pairs")),
]


def forged(kind: str, forge: Callable[[Record], Any]) -> str:
    record = record_of(kind)
    before = json.dumps(record)
    parse(sealed(record))  # good before it is forged
    forge(record)
    assert json.dumps(record) != before
    return sealed(record)


@pytest.mark.parametrize(("case", "kinds", "forge"), FORGED, ids=[case for case, _, _ in FORGED])
def test_a_forged_file_is_refused(case: str, kinds: tuple[str, ...], forge: Callable[[Record], Any]) -> None:
    for kind in kinds:
        with pytest.raises(ReleaseError) as raised:
            pytest.fail(f"{case}: {parse(forged(kind, forge))!r} loads")
        assert re.fullmatch(r"(?s)release file must be .+, got .+\. Hint: .+\.", str(raised.value)), str(raised.value)


SAME_QUESTIONS = ("another postprocess", "bounds for a mean", "an option dropped")  # which had its default


@pytest.mark.parametrize(("case", "kinds", "forge"), HIDDEN, ids=[case for case, _, _ in HIDDEN])
def test_what_only_the_mechanism_knows_is_a_verdict(case: str, kinds: tuple[str, ...], forge: Callable[[Record], Any]) -> None:
    """It loads; every use ends, in numbers or in an error that is declared; the mechanism did not ask it; nothing is proved."""
    for kind in kinds:
        text = forged(kind, forge)
        assert verdict(text) == ("loaded", ""), f"{case}: {kind}"
        back = parse(text)
        if case not in SAME_QUESTIONS:
            assert not is_retraced(back), f"{case}: {kind}"
        try:
            assert not back.confidence.proved, f"{case}: {kind}"
        except ReleaseError:
            continue


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_none(constant: str) -> None:
    for kind in ("covariance", "known"):
        edited = re.sub(r'"deviations": [0-9.]+', f'"deviations": {constant}', text(kind), count=1)
        edited = edited.replace('"centre": [0.0', f'"centre": [{constant}', 1)
        with pytest.raises(ReleaseError, match="finite"):
            parse(edited)


class TestLargeMatrices:
    """More than ten thousand numbers of a whitener stand in a file as base64 of zlib's little-endian words."""

    D = 101

    @staticmethod
    @cache
    def made() -> dpcov.Release:
        rows = np.random.default_rng(96).normal(size=(4000, TestLargeMatrices.D))
        return dpcov.covariance(rows, ZCDP(10), upper=4.0, mechanism="coinpress", rounds=2, seed=6)

    def edited(self, change: Callable[[Floats], Floats | bytes]) -> str:
        record: Record = json.loads(text_of(self.made()))
        packed = record["frames"][-1]["extent"]
        words = np.frombuffer(zlib.decompress(base64.b64decode(packed)), dtype="<f8").reshape(self.D, self.D)
        changed = change(words.copy())
        content = changed if isinstance(changed, bytes) else zlib.compress(np.ascontiguousarray(changed).tobytes())
        record["frames"][-1]["extent"] = base64.b64encode(content).decode("ascii")
        return sealed(record)

    def test_they_come_back(self, tmp_path: Path) -> None:
        release = self.made()
        release.save(tmp_path / "release.json")
        assert (
            tmp_path / "release.json"
        ).stat().st_size < 32 * self.D**2  # two matrices, and noisy answers; as a list each has 20 D²
        assert text_of(dpcov.load(tmp_path / "release.json")) == text_of(release)
        assert parse(self.edited(lambda words: words)).covariance.tobytes() == release.covariance.tobytes()
        assert is_retraced(release)

    @pytest.mark.parametrize("cell", [np.nan, np.inf, 1e200])
    def test_numbers_that_are_none(self, cell: float) -> None:
        def planted(words: Floats) -> Floats:
            words[3, 5] = cell
            return words

        with pytest.raises(ReleaseError, match="coordinates are ordinary numbers"):
            parse(self.edited(planted))

    @pytest.mark.parametrize(
        "change", [lambda words: words[1:], lambda words: np.vstack([words, words[:1]]), lambda words: words.tobytes()]
    )
    def test_of_another_size_or_not_packed(self, change: Callable[[Floats], Floats | bytes]) -> None:
        with pytest.raises(ReleaseError, match=r"a matrix that does not fit its centre|base64 of zlib"):
            parse(self.edited(change))

    def test_a_bomb(self) -> None:
        """A file of 30 kB whose matrix would unpack to 128 MB."""
        record: Record = json.loads(text_of(self.made()))
        frame = record["frames"][-1]
        frame["centre"], frame["extent"] = [0.0] * 4096, base64.b64encode(zeros(128)).decode("ascii")
        text = sealed(record)
        with at_most(12, text), pytest.raises(ReleaseError, match="a matrix that does not fit its centre"):
            parse(text)

    def test_another_matrix_is_refused_or_is_another_question(self) -> None:
        assert not is_retraced(parse(self.edited(lambda words: np.ldexp(words, 1))))
