"""A number of rows that is public, and known only after the first reading: what a curator lets be looked at then, and when."""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import dpcov
from dpcov.errors import BudgetError, ParameterError
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.face import Face
from dpcov.kernel.public import Public
from dpcov.kernel.questions.choices import Quantile, Radius
from dpcov.kernel.questions.directions import Directions, Subspace
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms.running import released
from dpcov.sources.opening import open_source
from dpcov.verify.testing import opened
from tests.helpers.by_hand import by_hand
from tests.helpers.small import untouched

ROWS = np.random.default_rng(78).uniform(-0.3, 0.3, (60, 4))
HALF = PureDP("1/2")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    lines = [",".join(map(str, row)) for row in ROWS]
    (tmp_path / "rows.csv").write_text("\n".join(["a,b,c,d", *lines]), encoding="utf-8")
    return tmp_path / "rows.csv"


def curator_of(path: Path, neighbors: str = "replace") -> Curator:
    return opened(open_source(path), Grid(1.0), PureDP(1), neighbors, SeededBits(0))


def radius(curator: Curator) -> Quantile:
    return Quantile(curator.public.norms(4, 4), 10, 1, (1,) * 17)


def rising(curator: Curator) -> Radius:
    return Radius(curator.public.norms(4, 4), 1)


def sums_in(trace: TracebackType | None) -> list[NDArray[np.generic]]:
    """Return the arrays that the frames of a traceback hold."""
    held = []
    while trace is not None:
        held += [value for value in trace.tb_frame.f_locals.values() if isinstance(value, np.ndarray) and value.any()]
        trace = trace.tb_next
    return held


READING: dict[str, Callable[[Curator], Any]] = {
    "n": lambda c: c.n,
    "prefetch": lambda c: c.prefetch(c.public.second_moment()),
    "noisy": lambda c: c.noisy(c.public.second_moment(), HALF, noise="laplace"),
    "choose": lambda c: c.choose(radius(c), HALF),
    "first above": lambda c: c.first_above(rising(c), HALF),
    "peel": lambda c: c.peel(Directions(c.public.second_moment(), 1), HALF, noise="laplace"),
    "subspace": lambda c: c.subspace(Subspace(c.public.second_moment(), 2), HALF, sweeps=1),
}


@pytest.mark.parametrize("way", READING)
def test_public_facts_are_looked_at_once_before_the_first_charge(way: str, path: Path) -> None:
    curator = curator_of(path)
    seen: list[tuple[Public, bool]] = []
    curator.when_n_is_known(lambda public: seen.append((public, untouched(curator))))
    assert not curator.public.knows_n
    for _ in range(2):
        READING[way](curator)
    assert seen == [(dataclasses.replace(curator.public, known_n=60), True)]


@pytest.mark.parametrize("way", READING)
def test_what_is_refused_then_costs_nothing(way: str, path: Path) -> None:
    curator = curator_of(path)

    def refuse(public: Public) -> None:
        raise ParameterError(f"data must have more rows, got {public.known_n}. Hint: none.")

    curator.when_n_is_known(refuse)
    with pytest.raises(ParameterError, match="got 60"):
        READING[way](curator)
    assert untouched(curator)


@pytest.mark.parametrize("way", READING)
def test_under_add_remove_no_number_of_rows_is_told(way: str, path: Path) -> None:
    """It is private: whoever looks sees the same public facts as before."""
    curator = curator_of(path, "add-remove")
    before, seen = curator.public, list[Public]()
    curator.when_n_is_known(seen.append)
    if way == "n":
        curator.ask_n(HALF)
    READING[way](curator)
    assert seen == [before]
    assert seen[0].known_n is None


def test_after_a_charge_nothing_is_looked_at(path: Path) -> None:
    curator = curator_of(path)
    curator.noisy(curator.public.second_moment(), HALF, noise="laplace")
    seen: list[Public] = []
    curator.when_n_is_known(seen.append)
    assert curator.n == 60
    curator.prefetch(curator.public.second_moment())
    curator.noisy(curator.public.second_moment(), HALF, noise="laplace")
    assert seen == []


def test_a_rehearsal_cannot_ask_the_curator_of_the_run(path: Path) -> None:
    """It would spend between what the run's question was found to afford and its charge, with its exact sum at hand."""
    faces: list[Face] = []

    def ask(face: Face, budget: Budget) -> None:
        faces.append(face)
        one = faces[1] if len(faces) > 2 else face  # the first rehearsal, the run, the rehearsal that knows n
        one.noisy(one.second_moment(), budget.share("3/4"), noise="laplace")

    curator = curator_of(path)
    with pytest.raises(ParameterError, match="asked by the run, got one from its rehearsal") as refused:
        released(by_hand(ask), curator, PureDP(1))
    assert len(faces) == 3
    assert untouched(curator)
    assert sums_in(refused.tb) == []


def test_who_catches_the_refusal_is_refused_again(path: Path) -> None:
    curator, tries = curator_of(path), list[int]()

    def ask(face: Face, budget: Budget) -> None:
        for place in range(2):
            try:
                return greedy(face, budget)
            except BudgetError:
                tries.append(place)
                if place:
                    raise
        return None

    with pytest.raises(BudgetError):
        released(by_hand(ask), curator, PureDP(1))
    assert tries
    assert untouched(curator)


def test_a_mechanism_has_no_such_door(path: Path) -> None:
    assert not hasattr(Face(curator_of(path)), "when_n_is_known")


def greedy(face: Face, budget: Budget) -> None:
    """Ask at once, and for more than there is where rows are few."""
    face.noisy(face.second_moment(), budget.share("1/2"), noise="laplace")
    face.noisy(face.second_moment(), budget.share("1/2" if face.n > 100 else "3/4"), noise="laplace")


def test_the_first_answer_may_be_what_tells_n(path: Path) -> None:
    """A mechanism that prefetches nothing is rehearsed with the number of rows, too: after the reading, before its charge."""
    curator = curator_of(path)
    with pytest.raises(BudgetError, match="charges must fit into the budget"):
        released(by_hand(greedy), curator, PureDP(1))
    assert untouched(curator)
    with path.open("a", encoding="utf-8") as file:
        file.write("\n" + "\n".join([",".join(map(str, row)) for row in ROWS]))
    assert (
        len(dpcov.covariance(path, PureDP(1), row_norm=1, columns=list("abcd"), mechanism=by_hand(greedy), seed=0).answers) == 2
    )


def test_a_refusal_keeps_no_exact_sum(path: Path) -> None:
    """Nothing has been charged for it: no frame of the traceback may hold it."""
    with pytest.raises(BudgetError) as refused:
        released(by_hand(greedy), curator_of(path), PureDP(1))
    assert "_look_again" in [frame.name for frame in traceback.extract_tb(refused.tb)]
    assert sums_in(refused.tb) == []
