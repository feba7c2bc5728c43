"""What is called proved is refused where nothing is; with a schema, bounds are in its units and rows are where it says.

A file that calls itself proved is read all the same: its region says whether its rounds are those that the proof is about.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpcov
from dpcov.bounds import round_beta, sampling_gap
from dpcov.errors import ParameterError, ReleaseError
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.running import released
from dpcov.release.file import parse, text_of
from dpcov.schema import Categorical, Numeric, Schema
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import NoSource, SeededBits, opened
from tests.helpers.forged import verdict
from tests.helpers.small import Record, sealed, untouched

NEIGHBORS = ["replace", "add-remove"]
BUDGETS: list[Budget] = [ZCDP("0.5"), PureDP(1), ApproxDP(1, "1e-6")]
KNOWN: dict[str, dict[str, Any]] = {"mean": {"covariance": 2.0}, "covariance": {"upper": 10.0}}

SCHEMA = Schema({"a": Numeric(0, 10), "b": Numeric(-200, 0), "c": Categorical(["x", "y"])})
FULL = np.diag([4.0, 900.0, 0.25, 0.25]) + 0.01
TABLE = pd.DataFrame({"a": [1.0] * 50, "b": [-1.0] * 50, "c": ["x", "y"] * 25})


def curator(budget: Budget, neighbors: str, n: int = 5000) -> Curator:
    """Return a curator whose source fails the test when it is read."""
    return opened(NoSource(n, 3), Grid(20.0), budget, neighbors, SeededBits(0))


@pytest.mark.parametrize("kind", KNOWN)
@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.notion)
@pytest.mark.parametrize("rounds", [1, 3, "auto"])
def test_only_a_public_n_and_gaussian_noise(kind: str, neighbors: str, budget: Budget, rounds: Any) -> None:
    """Where it is proved a row is read; where it is not, none is, and nothing is charged."""
    asked, run = curator(budget, neighbors), MECHANISMS[kind]["coinpress"]
    if neighbors == "replace" and not isinstance(budget, PureDP):
        with pytest.raises(AssertionError, match="read"):
            released(run, asked, budget, constants="proved", rounds=rounds, **KNOWN[kind])
        return
    pure = kind == "covariance" and isinstance(budget, PureDP)  # served by no constants
    what = "budget of mechanism 'coinpress' must be ZCDP" if pure else "constants must be 'practical' under add-remove"
    with pytest.raises(ParameterError, match=rf"^{what}.+, got .+\. Hint: .+\.$"):
        released(run, asked, budget, constants="proved", rounds=rounds, **KNOWN[kind])
    assert untouched(asked)


@pytest.mark.parametrize(("d", "beta"), [(1, 0.1), (3, 0.1), (3, 1e-9), (20, 0.5)])
def test_a_covariance_needs_rows(d: int, beta: float) -> None:
    """As many as `sampling_gap` allows, below which a second moment bounds nothing; a mean needs only two."""
    part = round_beta(beta, 1, 1, 3)
    least = math.floor((math.sqrt(d) + math.sqrt(2 * math.log(2 / part))) ** 2) + 1
    assert sampling_gap(least, d, part) < 1 <= sampling_gap(least - 1, d, part)
    settings: dict[str, Any] = {"mechanism": "coinpress", "constants": "proved", "beta": beta, "rounds": 1, "seed": 1}
    rows = np.random.default_rng(96).normal(size=(least, d))
    assert dpcov.covariance(rows, BUDGETS[0], upper=10.0, **settings).confidence.proved
    with pytest.raises(ParameterError, match=r"^data must have more rows for proved constants, got too few\. Hint: "):
        dpcov.covariance(rows[1:], BUDGETS[0], upper=10.0, **settings)
    with pytest.raises(ParameterError, match=r"^data must have more rows for proved constants"):  # a pair is one row
        dpcov.covariance(rows, BUDGETS[0], upper=10.0, centring="pairs", **settings)
    assert dpcov.mean(rows[:2], BUDGETS[0], radius=10.0, covariance=1.0, **settings).confidence.proved


@pytest.mark.parametrize("rounds", [2, 3, 10])
@pytest.mark.parametrize("d", [1, 3])
def test_several_rounds_are_proved_or_refused(d: int, rounds: int) -> None:
    """Rounds before the last may fail less often, and need more rows: no number of them ends a release that was paid for."""
    for n in range(2, 120, 3):
        rows = np.random.default_rng(97).normal(size=(n, d))
        asked = opened(ArraySource(rows), Grid(1.0), BUDGETS[0], "replace", SeededBits(1))
        try:
            made = released(
                MECHANISMS["covariance"]["coinpress"], asked, BUDGETS[0], upper=10.0, constants="proved", rounds=rounds
            )
        except ParameterError:
            assert untouched(asked)
            assert n < 100
        else:
            assert parse(text_of(made)).confidence.proved


@pytest.mark.parametrize("kind", KNOWN)
def test_nothing_is_proved_of_rows_that_are_cut_at_the_bounds_of_a_schema(kind: str) -> None:
    release: Any = dpcov.mean if kind == "mean" else dpcov.covariance
    known = KNOWN["mean"] if kind == "mean" else {"upper": 4 * FULL, "lower": FULL}
    settings = {"mechanism": "coinpress", "schema": SCHEMA, "constants": "proved"}
    with pytest.raises(ParameterError, match=r"^constants must be 'practical' .+ with a schema, got 'proved'\. Hint: "):
        release(TABLE, BUDGETS[0], **settings, **known)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_nothing_is_proved_of_a_mean_and_a_covariance_together(neighbors: str) -> None:
    asked = curator(BUDGETS[0], neighbors)
    with pytest.raises(ParameterError, match=r"^centring must be 'none' or 'pairs' for proved constants, got 'mean'"):
        released(MECHANISMS["covariance"]["coinpress"], asked, BUDGETS[0], upper=10.0, centring="mean", constants="proved")
    assert untouched(asked)


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("name", ["upper", "lower"])
@pytest.mark.parametrize("bad", [[1.0, 2.0, 3.0], -1.0, "1", True, 1j, np.eye(3), -FULL], ids=str)
def test_bounds_in_the_units_of_a_schema(bad: Any, name: str, center: bool) -> None:
    settings: dict[str, Any] = {"mechanism": "coinpress", "schema": SCHEMA, "center": center, "upper": 4 * FULL}
    with pytest.raises(ParameterError, match=rf"^{name} must be a positive number, 4 of them, or a positive definite 4 by 4"):
        dpcov.covariance(TABLE, BUDGETS[0], **(settings | {name: bad}))
    assert dpcov.covariance(TABLE, BUDGETS[0], lower=FULL / 10, seed=1, **settings).d == 4


@pytest.mark.parametrize(
    "given", [{"radius": 1.0, "center": True}, {"origin": 1.0}, {"origin": [0.0] * 4, "center": True}], ids=str
)
def test_a_schema_says_where_rows_are(given: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=r"^(radius|origin) must be left out with a schema, got one\. Hint: "):
        dpcov.covariance(TABLE, BUDGETS[0], mechanism="coinpress", schema=SCHEMA, **given)


ROWS = np.random.default_rng((1, 97)).standard_normal((600, 2))


@cache
def proved(kind: str) -> str:
    """Return the file of two rounds that are proved."""
    settings: dict[str, Any] = {"mechanism": "coinpress", "constants": "proved", "rounds": 2, "seed": 1}
    own: dict[str, Any] = {"upper": 10.0} if kind == "covariance" else {"radius": 50.0}
    own |= {} if kind == "covariance" else {"covariance": [1.0, 4.0] if kind == "stretched mean" else 1.0}
    release: dpcov.Release = getattr(dpcov, kind.rpartition(" ")[2])(ROWS, ZCDP(1), **settings, **own)
    assert release.confidence.proved
    return text_of(release)


def frames(record: Record) -> list[Record]:
    found: list[Record] = [record["frames"][answer["question"]["rows"]["frame"]] for answer in record["answers"]]
    return found


def stretch(frame: Record, factor: float) -> None:
    extent = frame["extent"]
    frame["extent"] = [[factor * x for x in row] for row in extent] if isinstance(extent, list) else extent / factor


def option(**changes: Any) -> Callable[[Record], Any]:
    return lambda record: record["mechanism"]["options"].update(changes)


def drop_round(record: Record, place: int) -> None:
    del record["answers"][place], record["frames"][place]
    record["answers"][0]["question"]["rows"]["frame"] = 0


def add_trace(record: Record) -> None:
    """A question more, which the proof knows nothing of, and a promise that pays for it."""
    answer = json.loads(json.dumps(record["answers"][-1]))
    answer["question"]["asked"], answer["integers"] = "trace", answer["integers"][:1]
    (noise,) = answer["noise"]
    noise["parameters"] = {"trace": noise["parameters"].get("diagonal", "1" + "0" * 30)}
    noise["charge"]["rho"] = "1/1000000"
    noise["parameters"]["trace"] = str(2**100)
    record["answers"].append(answer)
    record["privacy"]["rho"] = "10"


def reversed_rounds(record: Record) -> None:
    record["answers"].reverse()


def another_noise(record: Record) -> None:
    """More noise off the diagonal than a bound for isometric noise allows for."""
    for answer in record["answers"]:
        (noise,) = answer["noise"]
        noise["parameters"]["off-diagonal"] = noise["parameters"]["diagonal"]


def more_integers(record: Record) -> None:
    record["answers"][0]["integers"][0] += 2**40


BOTH, MEAN, COVARIANCE = ("mean", "stretched mean", "covariance"), ("mean", "stretched mean"), ("covariance",)
SCHEMA_OF_TWO: Record = {name: {"lower": -1.0, "upper": 1.0, "weight": 1.0} for name in ("a", "b")}
TAMPERED: dict[str, tuple[tuple[str, ...], Callable[[Record], Any]]] = {
    "a second round elsewhere": (BOTH, lambda r: frames(r)[1].update(centre=[1000.0, 0.0])),
    "a first round elsewhere": (BOTH, lambda r: frames(r)[0].update(centre=[1.0, 0.0])),
    "a larger ball": (MEAN, lambda r: r["encoding"].update(row_norm=1e9)),
    "a smaller last radius": (("mean",), lambda r: stretch(frames(r)[1], 1000.0)),
    "a smaller last ellipsoid": (("stretched mean",), lambda r: stretch(frames(r)[1], 1000.0)),
    "rows clipped closer": (BOTH, lambda r: frames(r)[0].update(deviations=frames(r)[0]["deviations"] * 0.9)),
    "rows clipped closer in the last round": (BOTH, lambda r: frames(r)[1].update(deviations=frames(r)[1]["deviations"] * 0.9)),
    "too few rows": (COVARIANCE, lambda r: r.update(n=3)),
    "more rows than the first radius is for": (MEAN, lambda r: r.update(n=2**30)),
    "a whitener that nothing proves": (COVARIANCE, lambda r: stretch(frames(r)[1], 3.0)),
    "a first whitener beyond the bound": (COVARIANCE, lambda r: stretch(frames(r)[0], 3.0)),
    "another bound": (COVARIANCE, option(upper=100.0)),
    "another mean": (BOTH, option(origin=5.0)),
    "rarer failures": (BOTH, option(beta=1e-9)),
    "practical after all": (BOTH, option(constants="practical")),
    "a mean besides": (COVARIANCE, option(centring="mean")),
    "the first round left out": (MEAN, lambda r: drop_round(r, 0)),
    "another answer to the first round": (("mean",), more_integers),
    "rounds in another order": (BOTH, reversed_rounds),
    "noise that is not isometric": (COVARIANCE, another_noise),
    "a question more": (BOTH, add_trace),
    "the bounds of a schema": (
        BOTH,
        lambda r: r["encoding"].update(schema=SCHEMA_OF_TWO, row_norm=1.0, feature_names=["a", "b"]),
    ),
}


@pytest.mark.parametrize("case", TAMPERED)
def test_tampered_rounds_are_not_called_proved(case: str) -> None:
    """They load, whatever they call themselves, and have a region like any other; or none."""
    kinds, tamper = TAMPERED[case]
    for kind in kinds:
        record: Record = json.loads(proved(kind))
        assert parse(sealed(record)).confidence.proved  # good before it is tampered with
        tamper(record)
        back = parse(sealed(record))
        assert verdict(sealed(record)) == ("loaded", "")
        try:
            region = back.confidence
        except ReleaseError:
            continue
        assert not region.proved, kind


@pytest.mark.parametrize("kind", BOTH)
def test_what_changes_no_round_stays_proved(kind: str) -> None:
    """Wider clips, more noise, more often failing: the proof holds for them, and so it says."""
    record: Record = json.loads(proved(kind))
    record["mechanism"]["options"]["beta"] = 0.2
    record["mechanism"]["options"]["rounds"] = "auto"
    record["dpcov_version"] = "0"
    assert parse(sealed(record)).confidence.proved
