"""A mechanism's record is checked when it is made: a fault in it must not show when a budget is spent."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import dpcov
from dpcov.errors import ParameterError
from dpcov.kernel.budget import ZCDP, Budget
from dpcov.kernel.face import Face
from dpcov.mechanisms import ALL, checked_mechanism
from dpcov.mechanisms.base import RESERVED, Mechanism
from dpcov.release.estimate import Estimate
from dpcov.release.record import Transcript


def ask(curator: Face, budget: Budget, *, floor: float = 0.0) -> None: ...


def estimate(transcript: Transcript, postprocess: str, *, floor: float = 0.0) -> Estimate:  # noqa: ARG001
    return Estimate()


def by_position(curator: Face, budget: Budget, floor: float = 0.0) -> None: ...


def any_options(curator: Face, budget: Budget, **options: Any) -> None: ...


def no_budget(curator: Face) -> None: ...


def own_seed(curator: Face, budget: Budget, *, seed: int = 0) -> None: ...


def own_radius(curator: Face, budget: Budget, *, radius: float = 0.0) -> None: ...


def without_options(transcript: Transcript, postprocess: str) -> Estimate: ...  # type: ignore[empty-body]


def one_more(transcript: Transcript, postprocess: str, *, floor: float, ceiling: float) -> Estimate: ...  # type: ignore[empty-body]


def one_by_position(transcript: Transcript, postprocess: str, floor: float = 0.0) -> Estimate: ...  # type: ignore[empty-body]


def with_any(transcript: Transcript, postprocess: str, **options: Any) -> Estimate: ...  # type: ignore[empty-body]


FACTS: dict[str, Any] = {"target": "covariance", "name": "mine", "serves": (ZCDP,), "ask": ask, "estimate": estimate}
BAD: list[tuple[str, dict[str, Any]]] = [
    ("target of a mechanism must be one of", {"target": "cov"}),
    ("target of a mechanism must be one of", {"target": None}),
    ("name of a mechanism must be text, got ''", {"name": ""}),
    ("name of a mechanism must be text, got 3", {"name": 3}),
    ("serves of a mechanism must be a tuple", {"serves": ZCDP}),
    ("serves of a mechanism must be a tuple", {"serves": ()}),
    ("serves of a mechanism must be a tuple", {"serves": [ZCDP]}),
    ("serves of a mechanism must be a tuple", {"serves": ("ZCDP",)}),
    ("serves of a mechanism must be a tuple", {"serves": (ZCDP(1),)}),
    ("neighbors of a mechanism must be a tuple", {"neighbors": "replace"}),
    ("neighbors of a mechanism must be a tuple", {"neighbors": ("swap",)}),
    ("postprocess of a mechanism must be a tuple of names, got ()", {"postprocess": ()}),
    ("postprocess of a mechanism must be a tuple of names, got 'none'", {"postprocess": "none"}),
    ("postprocess of a mechanism must be a tuple of names", {"postprocess": (1,)}),
    ("centring of a mechanism must be one of", {"centring": True}),
    ("options of a mechanism must be at least those that the record names, ['centring']", {"centring": "own"}),
    ("bound of a mechanism must be one of", {"bound": "norm"}),
    ("covariances of a mechanism must be a tuple that begins with the option that bounds rows", {"bound": "covariance"}),
    ("options of a mechanism must be at least those that the record names, ['upper']", {"covariances": ("upper",)}),
    ("options of a mechanism must be at least those that the record names, ['origin']", {"places": ("origin",)}),
    ("ask, or resolve of a mechanism must be a function", {"ask": None}),
    ("ask of a mechanism must be called as ask(curator, budget, *,", {"ask": by_position}),
    ("ask of a mechanism must be called as ask(curator, budget, *,", {"ask": any_options}),
    ("ask of a mechanism must be called as ask(curator, budget, *,", {"ask": no_budget}),
    ("options of a mechanism must be other names than dpcov.covariance takes itself, got ['seed']", {"ask": own_seed}),
    ("options of a mechanism must be other names than dpcov.mean takes itself", {"target": "mean", "ask": own_radius}),
    ("estimate of a mechanism must be a function", {"estimate": None}),
    ("estimate of a mechanism must be called as estimate(transcript, postprocess, *,", {"estimate": without_options}),
    ("estimate of a mechanism must be called as estimate(transcript, postprocess, *,", {"estimate": one_more}),
    ("estimate of a mechanism must be called as estimate(transcript, postprocess, *,", {"estimate": one_by_position}),
]


def said(changes: dict[str, Any]) -> str:
    fact, value = list(changes.items())[-1]
    return f"{fact} {value.__name__ if inspect.isfunction(value) else value}"


@pytest.mark.parametrize(("reason", "changes"), BAD, ids=[said(changes) for _, changes in BAD])
def test_a_fault_is_refused_when_the_record_is_made(reason: str, changes: dict[str, Any]) -> None:
    with pytest.raises(ParameterError) as refused:
        Mechanism(**{**FACTS, **changes})
    assert str(refused.value).startswith(reason)
    assert ", got " in str(refused.value)
    assert str(refused.value).partition(" Hint: ")[2].endswith(".")


def test_sound_records_are_made() -> None:
    assert list(Mechanism(**FACTS).options) == ["floor"]
    Mechanism(**{**FACTS, "estimate": with_any})
    Mechanism(**{**FACTS, "ask": own_radius, "estimate": with_any, "places": ("radius",)})


def test_reserved_names_are_those_of_the_functions() -> None:
    """All that they take, but what they hand on to a mechanism: options of some of the library's own."""
    functions = (dpcov.covariance, dpcov.mean, dpcov.pca, dpcov.ridge)
    taken = {name for function in functions for name in inspect.signature(function).parameters} - {"options"}
    assert set(RESERVED) == taken - {option for named in ALL for option in named.options}


def test_an_unknown_option_is_answered_with_those_who_have_it() -> None:
    for mechanism, option, hint in (
        ("auto", "clip", "gaussian and wishart have this option"),
        ("gaussian", "rounds", "coinpress has this option"),
        ("gaussian", "nonsense", "`dpcov mechanisms` lists them"),
    ):
        with pytest.raises(ParameterError, match=rf"got '{option}'\. Hint: {hint}\.$"):
            checked_mechanism("covariance", mechanism, [option])
