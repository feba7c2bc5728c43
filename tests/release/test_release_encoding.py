"""Release files with a schema and a centre: they come back bit for bit, and those with another encoding are refused."""

from __future__ import annotations

import copy
import json
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dpcov
from dpcov.errors import ReleaseError
from dpcov.release.file import parse, text_of
from dpcov.schema import Categorical, Ignored, Numeric, Schema
from tests.helpers.small import Record, record_of, sealed

SCHEMA = Schema(
    {
        "größe \n\"'": Numeric(-1.5, 0.1 + 0.2, weight=0.3),
        "note": Ignored(),
        "stadt": Categorical(["東京", "", "a=b"]),
        "grade": Categorical([1, 2.5, -(2**53)], weight=7),
        "smoker": Categorical([True, False]),
    }
)
TABLE = pd.DataFrame(
    {
        "smoker": [True, False, True],
        "größe \n\"'": [0.1, np.nan, 9.0],
        "stadt": ["東京", "x", None],
        "grade": [1.0, 2.5, 3.0],
    }
)


def example(**changes: Any) -> dpcov.Release:
    arguments: dict[str, Any] = {"schema": SCHEMA, "center": True, "mechanism": "gaussian", "seed": 5}
    return dpcov.covariance(TABLE, dpcov.ZCDP(2), **(arguments | changes))


def plain(**changes: Any) -> dpcov.Release:
    rows = np.array([[0.5, -0.25], [0.3, 0.9]])
    arguments: dict[str, Any] = {"row_norm": 1.5, "mechanism": "gaussian", "seed": 5}
    return dpcov.covariance(rows, dpcov.ZCDP(2), **(arguments | changes))


def saved(release: dpcov.Release, folder: Path) -> dpcov.Release:
    release.save(folder / "release.json")
    return dpcov.load(folder / "release.json")


def assert_same(back: dpcov.Release, release: dpcov.Release) -> None:
    assert text_of(back) == text_of(release)
    assert (back.center, back.n, back.feature_names) == (release.center, release.n, release.feature_names)
    assert back.second_moment.tobytes() == release.second_moment.tobytes()
    assert back.covariance.tobytes() == release.covariance.tobytes()
    if release.center:
        assert back.mean.tobytes() == release.mean.tobytes()
    if release.schema is not None:
        assert back.schema is not None
        assert back.schema.used == release.schema.used
        assert list(back.schema.used) == list(release.schema.used)
    assert back.statement() == release.statement()


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize("postprocess", ["shrink", "none"])
@pytest.mark.parametrize("make", [example, plain])
def test_round_trips(
    make: Callable[..., dpcov.Release], postprocess: str, center: bool, neighbors: str, tmp_path: Path
) -> None:
    release = make(neighbors=neighbors, center=center, postprocess=postprocess)
    for back in (saved(release, tmp_path), pickle.loads(pickle.dumps(release)), copy.deepcopy(release), copy.copy(release)):
        assert_same(back, release)


@pytest.mark.parametrize("budget", [dpcov.PureDP(1), dpcov.ApproxDP(1, 1e-6)])
@pytest.mark.parametrize("mechanism", ["auto", "laplace", "frobenius", "wishart"])
def test_round_trips_of_other_noises(mechanism: str, budget: Any, tmp_path: Path) -> None:
    release = dpcov.covariance(TABLE, budget, schema=SCHEMA, center=True, mechanism=mechanism, neighbors="add-remove", seed=6)
    assert len(release.spent) == (3 if mechanism == "auto" else 1)  # a count, and a private radius: few rows go by their bounds
    assert_same(saved(release, tmp_path), release)


def test_a_pickle_of_a_forged_release_is_refused() -> None:
    function, (text, mechanisms) = example().__reduce__()
    assert mechanisms == ()
    with pytest.raises(ReleaseError):
        function(text.replace('"constant": true', '"constant": false'), mechanisms)


@pytest.mark.parametrize("key", ["feature_names", "row_norm", "grid_bits", "constant", "midpoints", "pairs", "schema"])
def test_an_encoding_says_all(key: str) -> None:
    for release in (plain(), example()):
        record = record_of(release)
        del record["encoding"][key]
        assert_refused(record, f"encoding.{key} is a")


def assert_refused(record: Record, reason: str = "") -> None:
    with pytest.raises(ReleaseError) as raised:
        parse(sealed(record))
    message = str(raised.value)
    assert re.fullmatch(r"(?s)release file must be .+, got .+\. Hint: .+\.", message), message
    assert reason in message


def schema_of(record: Record) -> dict[str, Any]:
    found: dict[str, Any] = record["encoding"]["schema"]
    return found


def put_schema(record: Record, changes: Record) -> None:
    record["encoding"]["schema"] = schema_of(record) | changes


def without(record: Record, name: str, *, in_names: bool = False) -> None:
    if in_names:
        record["encoding"]["feature_names"] = [feature for feature in record["encoding"]["feature_names"] if feature != name]
    record["encoding"]["schema"] = {key: value for key, value in schema_of(record).items() if key != name}


GREAT = "größe \n\"'"
FORGED: dict[str, Callable[[Record], Any]] = {
    "constant flipped": lambda r: r["encoding"].update(constant=False),
    "constant is a number": lambda r: r["encoding"].update(constant=1),
    "constant is null": lambda r: r["encoding"].update(constant=None),
    "midpoints are a number": lambda r: r["encoding"].update(midpoints=1),
    "pairs of rows with a constant": lambda r: r["encoding"].update(pairs=True),
    "schema is null": lambda r: r["encoding"].update(schema=None),
    "schema is a list": lambda r: r["encoding"].update(schema=[]),
    "another row norm": lambda r: r["encoding"].update(row_norm=2.0),
    "another row norm by a hair": lambda r: r["encoding"].update(row_norm=1.0000000000000002),
    "a column more": lambda r: put_schema(r, {"new": {"lower": 0, "upper": 1, "weight": 1.0}}),
    "a column less": lambda r: without(r, "stadt"),
    "a column less, in the names too": lambda r: without(r, GREAT, in_names=True),
    "columns in another order": lambda r: r["encoding"].update(schema=dict(reversed(schema_of(r).items()))),
    "a column ignored": lambda r: put_schema(r, {GREAT: {"ignore": True}}),
    "a level less": lambda r: schema_of(r)["stadt"]["levels"].pop(),
    "no levels": lambda r: schema_of(r)["stadt"].update(levels=[]),
    "another level": lambda r: schema_of(r)["stadt"]["levels"].__setitem__(0, "Tokyo"),
    "levels in another order": lambda r: schema_of(r)["smoker"]["levels"].reverse(),
    "a level twice": lambda r: schema_of(r)["stadt"]["levels"].__setitem__(0, "a=b"),
    "mixed levels": lambda r: schema_of(r)["grade"].update(levels=[1, 2.5, "3"]),
    "a numeric column": lambda r: put_schema(r, {"smoker": {"lower": 0, "upper": 1, "weight": 1.0}}),
    "bounds swapped": lambda r: schema_of(r)[GREAT].update(lower=1, upper=-1),
    "bounds equal": lambda r: schema_of(r)[GREAT].update(lower=1, upper=1),
    "bounds as text": lambda r: schema_of(r)[GREAT].update(lower="-1.5"),
    "bounds as truth": lambda r: schema_of(r)[GREAT].update(upper=True),
    "no upper": lambda r: schema_of(r)[GREAT].pop("upper"),
    "weight 0": lambda r: schema_of(r)[GREAT].update(weight=0),
    "unknown key": lambda r: schema_of(r)[GREAT].update(unit="cm"),
    "entry is a list": lambda r: put_schema(r, {GREAT: [0, 1]}),
    "names of others": lambda r: r["encoding"].update(
        feature_names=[f"x{k}" for k in range(len(r["encoding"]["feature_names"]))]
    ),
    "unknown encoding": lambda r: r["encoding"].update(radius=1.0),
}


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("case", FORGED)
def test_forged_encodings(case: str, neighbors: str) -> None:
    record = record_of(example(neighbors=neighbors))
    before = json.dumps(record)
    assert parse(sealed(record)).center  # good before it is forged
    FORGED[case](record)
    assert json.dumps(record) != before
    assert_refused(record)


def test_a_plain_release_cannot_be_given_a_centre_or_a_schema() -> None:
    for changes in ({"constant": True}, {"schema": {"x0": {"lower": 0, "upper": 1}, "x1": {"lower": 0, "upper": 1}}}):
        record = record_of(plain())
        record["encoding"].update(changes)
        assert_refused(record, "consistent")


def test_a_schema_left_out_leaves_numbers_without_units() -> None:
    """Nothing in a file contradicts that: they are then those of the encoded rows."""
    record = record_of(example())
    record["encoding"]["schema"] = {}
    assert parse(sealed(record)).covariance.tobytes() == example().encoded_covariance.tobytes()


def test_n_must_be_that_of_the_corner() -> None:
    record = record_of(example(neighbors="add-remove"))
    assert_refused(record | {"n": record["n"] + 1}, "noisy count")
    record["answers"][0]["integers"][0] += 4**15
    assert_refused(record, "noisy count")


def test_a_count_beside_the_corner_is_the_one_that_counts() -> None:
    """A curator would answer both: n is then the count's, and a file that says the corner's is refused."""
    record, beside = (record_of(example(neighbors="add-remove", center=center)) for center in (True, False))
    (count,) = (answer for answer in beside["answers"] if answer["question"]["asked"] == "count")
    record["privacy"]["rho"] = "1000"
    record["answers"].append(count)
    count["integers"] = [record["n"] + 17]
    assert_refused(record, "noisy count")
    assert parse(sealed(record | {"n": record["n"] + 17})).n == record["n"] + 17


def test_estimates_of_the_wrong_kind_are_refused() -> None:
    with pytest.raises(ReleaseError, match=r"centred.*Hint: make it with center=True"):
        _ = example(center=False).mean
