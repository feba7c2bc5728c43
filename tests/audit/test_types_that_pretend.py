"""Types whose own type says that they equal any other: none of them passes for a question, or for a number in one."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.errors import ParameterError
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.curator import Curator
from dpcov.kernel.face import Face
from dpcov.kernel.questions.choices import Quantile
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.questions.norms import Norms
from dpcov.kernel.questions.remade import MADE, PLAIN, remade
from dpcov.kernel.rows.grid import Grid
from dpcov.sources.array import ArraySource
from dpcov.verify.testing import opened

D = 3
REFUSED = r"question must be about this curator's rows, got something else\. Hint: "


def pretending(*whom: type) -> Any:
    """Return a type of types that equal each of these, and are found where the last of them is looked for."""

    class Pretender(ABCMeta):
        def __eq__(cls, other: object) -> bool:
            return other in whom or other is cls

        def __hash__(cls) -> int:
            return hash(whom[-1])

    return Pretender


def curator() -> Curator:
    rows = np.random.default_rng(3).normal(size=(50, D)) * 0.4
    return opened(ArraySource(rows), Grid(1.5), dpcov.PureDP(3), bits=SeededBits(0))


def test_the_pretence_works() -> None:
    """The control: such a type is found in a tuple and in a set of others."""
    own = pretending(SecondMoment)("Own", (), {})
    assert own in (int, SecondMoment)
    assert own in MADE
    assert pretending(int)("Number", (int,), {}) in PLAIN


@pytest.mark.parametrize("held", [lambda made: made, Face], ids=["curator", "face"])
@pytest.mark.parametrize("whom", [SecondMoment, int], ids=["a question", "a number"])
def test_a_question_of_a_type_that_says_it_is_another(held: Callable[[Curator], Any], whom: type) -> None:
    seen: list[Any] = []

    def of(self: Any, rows: Any, *, scratch: bool = False) -> Any:  # noqa: ARG001
        seen.append(rows)
        return np.zeros((D, D), dtype=np.int64)

    made = curator()
    own = pretending(SecondMoment, whom)("Own", (SecondMoment,), {"of": of})
    asked = own(made.public.grid, D)
    with pytest.raises(ParameterError, match=REFUSED):
        held(made).noisy(asked, dpcov.PureDP(1), noise="laplace")
    with pytest.raises(ParameterError, match=REFUSED):
        held(made).prefetch(asked)
    assert not seen
    assert made.answers == ()


@pytest.mark.parametrize("place", [0, 4, 8])
def test_a_number_of_a_type_that_says_it_is_another(place: int) -> None:
    own = pretending(int)("Number", (int,), {"__slots__": ()})
    prior = tuple(own(2) if number == place else 2 for number in range(9))
    norms = Norms(Grid(1.0), D, 2, 4)
    with pytest.raises(
        ParameterError, match=r"prior must hold an integer from 1 to 2\*\*30 for each radius, got something else\. Hint: "
    ):
        Quantile(norms, 2, 1, prior)
    with pytest.raises(ParameterError, match=REFUSED):
        remade(prior)
    assert remade((2,) * 9) == (2,) * 9


def test_what_is_made_anew_has_types_that_can_not_pretend() -> None:
    """Else the library's own questions would be refused."""
    assert {type(kind) for kind in (*MADE, *PLAIN)} <= {type, ABCMeta}
