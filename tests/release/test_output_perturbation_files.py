"""What a file of coefficients holds, and what it may not."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpcov
from dpcov import ZCDP, Categorical, Numeric, PureDP, Schema
from dpcov.errors import ReleaseError
from dpcov.release.file import parse
from tests.helpers.forged import is_retraced, verdict
from tests.helpers.small import Record, assert_same, record_of, sealed
from tests.mechanisms.test_output_perturbation import NOTIONS, ROWS, example

TABLE = pd.DataFrame({"age": [30.0, 40.0, np.nan], "sex": ["F", "M", "?"], "income": [1e3, -5e9, 2e3]})
SCHEMA = Schema({"age": Numeric(0, 100), "sex": Categorical(["F", "M"]), "income": Numeric(-2000, 8000, weight=2)})


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


@pytest.mark.parametrize("notion", [0, 1, 2])
def test_round_trip(tmp_path: Path, notion: int) -> None:
    described = dpcov.ridge(TABLE, NOTIONS[notion], "income", alpha=0.5, schema=SCHEMA, seed=9204)
    for release in (example(notion), described):
        release.save(tmp_path / "release.json")
        for back in (dpcov.load(tmp_path / "release.json"), pickle.loads(pickle.dumps(release)), copy.deepcopy(release)):
            assert_same(back, release)
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
        agrees = is_retraced(back)
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
