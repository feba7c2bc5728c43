"""Exact sums do not outlive the call that released: nothing but reference counts frees them, at once."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.kernel import drawing
from dpcov.kernel.bits import SystemBits
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.questions import spectral
from dpcov.kernel.rows.grid import Grid
from dpcov.release.record import Release
from dpcov.sources.array import ArraySource

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
    watch(drawing, "to_floats", None)
    watch(Curator, "__init__", 0)
    gc.collect()
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


def test_a_curator_and_a_peel_that_are_kept_hold_nothing(exact: list[weakref.ref[Any]]) -> None:
    curator = Curator(ArraySource(ROWS), Grid(1.0), PureDP(1), "replace", SystemBits())
    curator.hold()
    peel = curator.peel(spectral.Values(curator.second_moment(), 1), None, PureDP(1), noise="laplace")
    assert [reference() is not None for reference in exact[1:]] == [True, True]  # the control: integers, and floats
    peel.direction(peel.left)
    peel.skip()
    peel.close()
    curator.release("covariance", "by hand", postprocess="none")
    assert [reference() is not None for reference in exact[1:]] == [False, False]
    assert peel._matrix.size == peel._guess.size == 0
    del curator
    assert peel.closed
    assert exact[0]() is None  # nor does the peel keep the curator


@pytest.mark.parametrize("name", ["eigenvectors", "separate"])
def test_exact_sums_are_gone_after_a_run_that_failed(
    name: str, exact: list[weakref.ref[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the middle, say: an open peel and the curator are in a cycle."""

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    where = "bingham" if name == "eigenvectors" else "Answer"
    monkeypatch.setattr(f"dpcov.{'drawing' if name == 'eigenvectors' else 'curator'}.{where}", interrupted)
    with pytest.raises(KeyboardInterrupt):
        dpcov.covariance(ROWS, PureDP(1), row_norm=1.0, mechanism=name)
    assert len(exact) >= 2
    assert not any(reference() is not None for reference in exact[1:])  # the curator itself may stand in the traceback
