"""A small release of every mechanism, relation and way to centre, with every question and every law among them; and forging.

Nothing here knows what a mechanism asks: the registry says which there are and what they serve, `NEEDED` what must be given.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

import dpcov
from dpcov.errors import ReleaseError
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.face import Face
from dpcov.kernel.questions.along import Diagonal, Explained
from dpcov.kernel.questions.basis import DirectionsOf, EigenvectorsOf, GivenBasis
from dpcov.kernel.questions.calibrated import noise_for
from dpcov.kernel.questions.directions import Subspace
from dpcov.kernel.questions.overlap import Overlap
from dpcov.kernel.questions.table import ColumnMoments, Histograms, Interval, LevelCounts, Range
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.base import Mechanism
from dpcov.release.estimate import Estimate
from dpcov.release.file import _checksum, text_of
from dpcov.release.record import Transcript

Record = dict[str, Any]
Asked = dict[str, Any]
Value = TypeVar("Value")

BUDGETS: dict[type, Budget] = {PureDP: PureDP(2), ZCDP: ZCDP("1/2"), ApproxDP: ApproxDP(2, "1/1000000")}
PURE, RHO = BUDGETS[PureDP], BUDGETS[ZCDP]
ROWS = np.random.default_rng(4100).normal(size=(60, 4)) * [0.4, 0.3, 0.2, 0.1]
MANY = np.random.default_rng(4101).normal(size=(2000, 16)) * 0.6 ** np.arange(16) * 0.5
SCHEMA = dpcov.Schema({"a": dpcov.Numeric(-2, 3), "b": dpcov.Categorical(["x", "y"]), "c": dpcov.Numeric(0, 10, weight=2)})
NULLABLE = dpcov.Schema(
    {
        "a": dpcov.Numeric(-2000, 3000, nullable=True),
        "b": dpcov.Categorical(["x", "y"], nullable=True),
        "c": dpcov.Numeric(0, 10, weight=2),
    }
)
PEOPLE = pa.table({"a": np.linspace(-2, 3, 3000), "b": ["x", "y", "z"] * 1000, "c": np.arange(3000.0) % 7})
TABLE = pa.table({"a": np.linspace(-2, 3, 60), "b": ["x", "y", "z"] * 20, "c": np.arange(60.0) / 6})


def ask_everything(curator: Face, budget: Budget) -> None:
    """Ask what no mechanism of the library asks: counts of norms, along given numbers, along a part of the eigenvectors."""
    share, moment, d = budget.share("1/8"), curator.second_moment(), curator.d
    noise, turned = noise_for(budget), GivenBasis(np.linalg.qr(np.arange(d * d).reshape(d, d) + np.eye(d))[0])
    found = curator.noisy(moment, share, noise=noise)
    drawn = curator.subspace(Subspace(moment, 2), share.to_zcdp() if isinstance(share, ApproxDP) else share, sweeps=2)
    curator.noisy(curator.norms(2, 3), share, noise=noise)
    curator.noisy(curator.beyond(0.25, 0.5), share, noise=noise)
    curator.noisy(Diagonal.of(moment, turned), share, noise=noise)
    curator.noisy(Diagonal.of(moment, EigenvectorsOf(found, 2)), share, noise=noise)
    curator.noisy(Explained.of(moment, DirectionsOf(drawn)), share, noise=noise)
    curator.noisy(Overlap(moment, turned, tuple(j / d for j in range(d))), share, noise=noise)


def ask_columns(curator: Face, budget: Budget) -> None:
    """Ask about the columns of a table: what a release in private units asks, and the counts that this is made of."""
    share, noise = budget.share("1/5"), noise_for(budget)
    assert curator.encoding.columns is not None
    histograms = Histograms(curator.encoding.columns, 3)
    if curator.neighbors == "add-remove":
        curator.ask_n(share)
    curator.noisy(histograms, share, noise=noise)
    curator.noisy(LevelCounts(curator.encoding.columns), share, noise=noise)
    curator.noisy(ColumnMoments(histograms, (Range(0, 1, 6, 70), Range(1, 0, 8))), share, noise=noise)
    curator.choose(Interval(histograms, 1, 5), share.to_zcdp() if isinstance(share, ApproxDP) else share)


def no_estimate(transcript: Transcript, postprocess: str) -> Estimate:
    """Refuse."""
    raise ReleaseError(f"release must be of another mechanism, got {transcript.mechanism!r}. Hint: {postprocess} helps.")


STRANGER = Mechanism(target="covariance", name="everything", serves=(PureDP, ZCDP), ask=ask_everything, estimate=no_estimate)
OF_COLUMNS = Mechanism(
    target="covariance", name="columns", serves=(PureDP, ZCDP), ask=ask_columns, estimate=no_estimate, centring="homogeneous"
)

NEEDED: dict[str, Asked] = {
    "covariance": {"row_norm": 1.0},
    "mean": {"radius": 5.0},
    "pca": {"row_norm": 1.0, "k": 2},
    "ridge": {"row_norm": 1.0, "target": 0, "alpha": 0.1},
    "ppca": {"approximate": True, "sweeps": 3},
    "standardized": {"row_norm": None, "data": PEOPLE, "schema": NULLABLE, "center": True},
}
NORM: Asked = {"row_norm": 1.0}
OWN_COLUMNS: Asked = {"data": PEOPLE, "schema": NULLABLE, "center": True, "mechanism": OF_COLUMNS}
MORE: dict[str, tuple[str, Budget, Asked]] = {
    "a public radius": ("covariance", RHO, NORM | {"mechanism": "gaussian", "clip": 0.3}),
    "a private radius": ("covariance", PURE, NORM | {"mechanism": "wishart", "clip": "private"}),
    "a schema": ("covariance", RHO, {"data": TABLE, "mechanism": "gaussian", "schema": SCHEMA, "center": True}),
    "many rows": ("covariance", PURE, NORM | {"data": MANY, "mechanism": "rescaled"}),
    "long rows": ("covariance", RHO, NORM | {"data": MANY[:, :3], "mechanism": "adaptive"}),
    "a spectrum": ("covariance", PURE, NORM | {"mechanism": "eigenvectors", "values": "spectrum"}),
    "many columns": ("pca", PURE, NORM | {"data": MANY, "mechanism": "screened", "k": 2}),
    "pairs": ("covariance", RHO, {"mechanism": "coinpress", "upper": 4.0, "centring": "pairs"}),
    "balls": ("mean", RHO, {"mechanism": "coinpress", "radius": 5.0, "covariance": 0.1, "rounds": 2}),
    "ellipsoids": ("mean", RHO, {"mechanism": "coinpress", "radius": 5.0, "covariance": [0.1, 0.2, 0.3, 0.4]}),
    "proved": ("covariance", RHO, {"data": MANY[:, :2], "mechanism": "coinpress", "upper": 4.0, "constants": "proved"}),
    "a stranger": ("covariance", RHO, NORM | {"mechanism": STRANGER}),
    "columns": ("covariance", RHO, OWN_COLUMNS),
    "pure columns": ("covariance", PURE, OWN_COLUMNS | {"neighbors": "add-remove"}),
    "groups": ("covariance", RHO, {"data": TABLE, "mechanism": "gaussian", "schema": SCHEMA, "by": "b"}),
    "pure groups": (
        *("covariance", PURE),
        {"data": TABLE, "mechanism": "wishart", "schema": SCHEMA, "by": "b", "center": False, "neighbors": "add-remove"},
    ),
    "a pure stranger": ("covariance", PURE, NORM | {"mechanism": STRANGER, "neighbors": "replace"}),
}
"""Beside one of each: what makes a mechanism ask otherwise, and questions that none of the library asks."""


def requests() -> Iterator[tuple[str, str, Budget, Asked]]:
    """Yield what to ask for, by a name; the notions that a mechanism serves take turns."""
    for target, mechanisms in MECHANISMS.items():
        for name, named in mechanisms.items():
            ways = [(relation, center) for relation in named.neighbors for center in (False, True)]
            served = [way for way in ways if not way[1] or named.centring != "no"]
            for turn, (relation, center) in enumerate(served):
                asked: Asked = {"mechanism": name, **NEEDED[target], **NEEDED.get(name, {})}
                asked |= ({} if target == "ridge" else {"neighbors": relation}) | ({"center": True} if center else {})
                budget = BUDGETS[named.serves[turn % len(named.serves)]]
                yield f"{target}, {name}, {relation}{', centred' * center}", target, budget, asked
    for name, (target, budget, asked) in MORE.items():
        yield name, target, budget, asked


class Lazy(Mapping[str, Value]):
    """What is made when it is first taken, and kept; its names are there before, so that tests are collected in no time."""

    def __init__(self, names: Iterable[str], make: Callable[[str], Value]) -> None:
        self._names, self._make = dict.fromkeys(names), cache(make)

    def __getitem__(self, name: str) -> Value:
        if name not in self._names:
            raise KeyError(name)
        return self._make(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@cache
def releases() -> Lazy[dpcov.Release]:
    """Return all of them, by name."""
    known = {name: (target, budget, given) for name, target, budget, given in requests()}

    def made(name: str) -> dpcov.Release:
        target, budget, given = known[name]
        asked = {"data": ROWS, "seed": 4102} | given
        release: dpcov.Release = getattr(dpcov, target)(asked.pop("data"), budget, **asked)
        return release

    return Lazy(known, made)


@cache
def texts() -> Lazy[str]:
    """Return their files."""
    return Lazy(releases(), lambda name: text_of(releases()[name]))


def record_of(release: dpcov.Release) -> Record:
    """Return a release's file as a tree."""
    found: Record = json.loads(text_of(release))
    return found


def sealed(record: Record) -> str:
    """Write a record with a checksum that fits, as a forger would."""
    body = {key: value for key, value in record.items() if key != "checksum"}
    return json.dumps(body | {"checksum": _checksum(body)})


def assert_same(back: dpcov.Release, release: dpcov.Release) -> None:
    """Insist that all fields of two releases are equal, and their answers bit for bit."""
    for field in dataclasses.fields(dpcov.Release):
        if field.name != "answers":
            assert getattr(back, field.name) == getattr(release, field.name), field.name
    for one, other in zip(back.answers, release.answers, strict=True):
        assert (one.question, one.unit_bits) == (other.question, other.unit_bits)
        assert (one.laws, one.charges) == (other.laws, other.charges)
        assert one.integers.dtype == other.integers.dtype
        assert one.integers.tobytes() == other.integers.tobytes()


def charged(curator: Curator) -> list[Budget]:
    """Return all that was charged, for answers and for none."""
    return curator._account.charged


def untouched(curator: Curator) -> bool:
    """Whether nothing was charged, nor answered."""
    return (curator.answers, charged(curator)) == ((), [])
