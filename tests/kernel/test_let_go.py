"""Exact sums do not outlive the call that released: nothing but reference counts frees them, at once."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.errors import BudgetError, ParameterError
from dpcov.kernel import curator as curator_module
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.face import Face
from dpcov.kernel.peel import Peel
from dpcov.kernel.questions import along, spectral
from dpcov.kernel.questions.choices import Quantile, Radius
from dpcov.kernel.questions.directions import Directions, Subspace
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.sums import ExactSums
from dpcov.mechanisms import running
from dpcov.mechanisms.running import released
from dpcov.release.record import Release
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import opened
from tests.helpers.by_hand import by_hand

ROWS = np.random.default_rng(97).normal(size=(500, 4)) * 0.3
RUNS: list[tuple[str, Budget, dict[str, Any]]] = [
    ("covariance", PureDP(4), {"mechanism": name})
    for name in (
        "auto",
        "eigenvectors",
        "kapralov-talwar",
        "separate",
        "adaptive",
        "rescaled",
        "wishart",
        "laplace",
        "frobenius",
    )
] + [
    ("covariance", PureDP(4), {"mechanism": "eigenvectors", "values": "spectrum"}),
    ("covariance", ZCDP(1), {"mechanism": "eigenvectors", "rank": 2, "neighbors": "add-remove"}),
    ("covariance", ZCDP(1), {"mechanism": "gaussian", "center": True}),
    ("covariance", ZCDP(1), {"mechanism": "coinpress", "upper": 1.0, "row_norm": None}),
    ("mean", ZCDP(1), {"radius": 1.0, "row_norm": None}),
    ("mean", ZCDP(1), {"radius": 1.0, "row_norm": None, "mechanism": "symq"}),
    ("pca", PureDP(4), {"k": 1}),
    ("pca", PureDP(4), {"k": 2, "mechanism": "eigenvectors"}),
    ("pca", PureDP(4), {"k": 1, "mechanism": "ppca"}),
    ("pca", PureDP(4), {"k": 2, "mechanism": "ppca", "approximate": True, "sweeps": 2}),
    ("pca", ApproxDP(1, "1e-6"), {"k": 2, "mechanism": "mod-sulq"}),
    ("ridge", PureDP(4), {"target": 0, "alpha": 0.1}),
]


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[weakref.ref[Any]]]:
    """Every exact sum, as integers and as floats, and every curator, while no collector runs."""
    alive: list[weakref.ref[Any]] = []

    def watch(place: Any, name: str, number: int | None) -> None:
        real = getattr(place, name)

        def watched(*arguments: Any, **named: Any) -> Any:
            result = real(*arguments, **named)
            alive.append(weakref.ref(result if number is None else arguments[number]))
            return result

        monkeypatch.setattr(place, name, watched)

    watch(ArraySource, "total", None)
    watch(spectral, "to_floats", None)
    watch(along, "to_floats", None)
    watch(curator_module, "to_floats", None)
    watch(Curator, "__init__", 0)
    gc.disable()
    try:
        yield alive
    finally:
        gc.enable()


@pytest.mark.parametrize(("kind", "budget", "options"), RUNS, ids=lambda value: str(value))
def test_exact_sums_are_gone_after_a_release(
    kind: str, budget: Budget, options: dict[str, Any], exact: list[weakref.ref[Any]]
) -> None:
    arguments = {name: value for name, value in ({"row_norm": 1.0} | options).items() if value is not None}
    release: Release = getattr(dpcov, kind)(ROWS, budget, **arguments)
    assert release.answers
    assert len(exact) >= 2
    assert not any(reference() is not None for reference in exact)


@pytest.fixture
def unrehearsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """These mechanisms take notes on their run: a rehearsal before it, which has no rows, would be among them."""
    monkeypatch.setattr(running, "rehearsed", lambda mechanism, curator, budget, options: curator)  # noqa: ARG005


def holds_nothing(curator: Curator, peel: Peel) -> bool:
    assert isinstance(curator._sums, ExactSums)
    return not (curator._sums._kept or curator._peels or peel._matrix.size or peel._guess.size)


def test_a_curator_and_a_peel_that_are_kept_hold_nothing(exact: list[weakref.ref[Any]]) -> None:
    curator = opened(ArraySource(ROWS), Grid(1.0), PureDP(1))
    moment = curator.public.second_moment()
    curator.prefetch(moment)
    peel = curator.peel(Directions(moment, 1), PureDP(1), noise="laplace")
    assert [reference() is not None for reference in exact[1:]] == [True, True]  # the control: integers, and floats
    assert not holds_nothing(curator, peel)
    peel.direction(peel.left)
    peel.skip()
    peel.close()
    curator.close()
    assert [reference() is not None for reference in exact[1:]] == [False, False]
    assert holds_nothing(curator, peel)
    del curator
    assert peel.closed
    assert exact[0]() is None  # nor does the peel keep the curator


@pytest.mark.usefixtures("unrehearsed")
@pytest.mark.parametrize("ending", ["closed", "open", "interrupted", "forgotten"])
def test_whoever_keeps_the_curator_keeps_no_sums(ending: str, exact: list[weakref.ref[Any]]) -> None:
    """After a release, a refusal of one that is not complete, an interrupt, and where it is let go of by hand."""
    curator = opened(ArraySource(ROWS), Grid(1.0), PureDP(1))
    peels: list[Peel] = []

    def ask(face: Face, budget: PureDP) -> None:
        moment = face.second_moment()
        face.prefetch(moment)
        handed = face.peel(Directions(moment, 1), budget, noise="laplace")
        peels.extend(curator._peels)
        assert [reference() is not None for reference in exact[1:]] == [True, True]
        if ending == "interrupted":
            raise KeyboardInterrupt
        if ending == "closed":
            handed.direction(handed.left)
            handed.skip()
            handed.close()

    if ending == "forgotten":
        ask(Face(curator), PureDP(1))
        curator.forget()
    elif ending == "closed":
        assert len(released(by_hand(ask), curator, PureDP(1)).answers) == 1
    else:
        with pytest.raises((KeyboardInterrupt, ParameterError)):
            released(by_hand(ask), curator, PureDP(1))
    assert holds_nothing(curator, peels[0])
    assert [reference() is not None for reference in exact[1:]] == [False, False]
    with pytest.raises(ParameterError, match="must be"):
        peels[0].direction(Fraction(1))


@pytest.mark.usefixtures("unrehearsed")
@pytest.mark.parametrize("ending", ["released", "failed", "by hand"])
def test_whoever_keeps_the_face_asks_nothing_more(ending: str) -> None:
    """Half of the budget is left, and the rows are: what was asked of them after the release would stand in no file."""
    source = ArraySource(ROWS.copy())
    curator, kept, half = opened(source, Grid(1.0), PureDP(1)), [], PureDP("1/2")
    rows = weakref.ref(source)
    del source

    def ask(face: Face, budget: PureDP) -> None:  # noqa: ARG001
        kept.append(face)
        face.noisy(face.second_moment(), half, noise="laplace")
        if ending == "failed":
            raise KeyError

    if ending == "by hand":
        ask(Face(curator), PureDP(1))
        curator.forget()
    elif ending == "released":
        assert released(by_hand(ask), curator, PureDP(1)).n == 500
    else:
        with pytest.raises(KeyError):
            released(by_hand(ask), curator, PureDP(1))
    (face,) = kept
    moment = face.second_moment()
    questions: list[Any] = [
        lambda: face.noisy(moment, half, noise="laplace"),
        lambda: face.choose(Quantile(face.norms(1, 3), 3), half),
        lambda: face.first_above(Radius(face.norms(1, 3), 3), half),
        lambda: face.subspace(Subspace(moment, 2), half, sweeps=0),
        lambda: face.peel(Directions(moment, 1), half, noise="laplace"),
    ]
    for question in questions:
        with pytest.raises(BudgetError, match="before the release is made"):
            question()
    with pytest.raises(ParameterError, match="curator must be open"):
        face.prefetch(moment)
    assert (face.n, face.known_n, len(curator.answers)) == (500, 500, 1)  # what is public stays so
    assert rows() is None


@pytest.mark.parametrize("name", ["eigenvectors", "separate"])
def test_exact_sums_are_gone_after_a_run_that_failed(
    name: str, exact: list[weakref.ref[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the middle, say: an open peel and the curator are in a cycle."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    where = "noise.sampler.bingham" if name == "eigenvectors" else "curator.Answer"
    monkeypatch.setattr(f"dpcov.kernel.{where}", interrupted)
    with pytest.raises(KeyboardInterrupt):
        dpcov.covariance(ROWS, PureDP(1), row_norm=1.0, mechanism=name)
    assert len(exact) >= 2
    assert not any(reference() is not None for reference in exact[1:])  # the curator itself may stand in the traceback


@pytest.mark.parametrize("what", ["curator", "sums", "account", "peel"])
@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, pickle.dumps], ids=lambda how: how.__name__)
def test_what_holds_exact_numbers_is_neither_copied_nor_pickled(what: str, how: Any) -> None:
    """A pickle of a curator would be a file with its rows; a copy of an account would spend the rest a second time."""
    curator = opened(ArraySource(ROWS), Grid(1.0), PureDP(3))
    moment = curator.public.second_moment()
    curator.prefetch(moment)
    peel = curator.peel(Directions(moment, 1), PureDP(1), noise="laplace")
    held = {"curator": curator, "sums": curator._sums, "account": curator._account, "peel": peel}[what]
    with pytest.raises(ParameterError, match=r"must stay where its rows are, got a copy or a pickle of it\. Hint: "):
        how(held)


def test_a_face_and_a_source_do_not_leave_their_process() -> None:
    curator = opened(ArraySource(ROWS), Grid(1.0), PureDP(3))
    for held in (Face(curator), ArraySource(ROWS)):
        with pytest.raises((AttributeError, TypeError, pickle.PicklingError)):
            pickle.dumps(held)
