"""A question made anew of its public numbers: what is checked, calibrated and recorded is nothing that others still hold.

Questions, rows and bases are frozen, which keeps mistakes away: who means to can still set an attribute, a method among them,
or write into an array. A new one of the same type has neither.
"""

from __future__ import annotations

from abc import ABCMeta
from dataclasses import fields, replace
from fractions import Fraction
from functools import cache
from typing import Any, TypeVar

import numpy as np

from dpcov.errors import ParameterError
from dpcov.kernel.answer import Answer
from dpcov.kernel.questions.asked import ASKED
from dpcov.kernel.questions.basis import DirectionsOf, EigenvectorsOf, GivenBasis
from dpcov.kernel.questions.measure import are_all
from dpcov.kernel.questions.spectral import Quotients, Values
from dpcov.kernel.questions.table import Range
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.aside import Aside
from dpcov.kernel.rows.columns import Columns
from dpcov.kernel.rows.frames import FRAMED
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.rows.standard import LevelUnits, NumericUnits, Standard, Units

T = TypeVar("T")

PRIVATE_UNITS = (Columns, NumericUnits, LevelUnits, Units, Standard)
MADE = frozenset((*ASKED, Values, Quotients, Grid, Annulus, *FRAMED, *PRIVATE_UNITS, EigenvectorsOf, DirectionsOf))
"""What is made of its fields, all of which are public numbers, or made of these."""

ASIDE = "aside"  # the field of every question

PLAIN = frozenset((int, float, bool, type(None), Answer))
"""What cannot change; and answers, which a curator knows by their identity."""


def remade(asked: T, aside: Aside | None = None) -> T:
    """Return the same question, rows, basis or number, made anew; refuse what is none of those that are known.

    Questions, and those that they are made of, are about rows with this ``aside``, whatever they said.
    """
    made: Any
    kind: Any = type(asked)
    if type(kind) is not type and type(kind) is not ABCMeta:  # types of other types can say that they equal those below
        raise ParameterError(
            "question must be about this curator's rows, got something else. Hint: no class with a metaclass is accepted."
        )
    if kind in PLAIN:
        made = asked
    elif kind is Fraction:
        made = Fraction(asked.numerator, asked.denominator)  # type: ignore[attr-defined]
    elif kind is tuple:
        plain = are_all(asked, int) or are_all(asked, float)  # type: ignore[arg-type]
        made = asked if plain else tuple(remade(one, aside) for one in asked)  # type: ignore[attr-defined]  # neither can change
    elif kind is Range:
        made = Range(*(remade(one, aside) for one in asked))  # type: ignore[attr-defined]
    elif kind is np.ndarray:
        made = asked.copy()  # type: ignore[attr-defined]
    elif kind is GivenBasis:
        made = GivenBasis(asked.columns)  # type: ignore[attr-defined]  # a copy: what it was given may be other numbers by now
    elif kind in MADE:
        # What stands beside is a copy, too: an answer shows its question, and who has it could set the curator's own.
        beside = None if aside is None else replace(aside)
        made = kind(**{name: beside if name == ASIDE else remade(getattr(asked, name), aside) for name in _given(kind)})
    else:
        raise ParameterError(
            "question must be about this curator's rows, got something else. Hint: its parts are int, float or Fraction."
        )
    return made  # type: ignore[no-any-return]


@cache
def _given(kind: Any) -> tuple[str, ...]:
    """Return what such a question is made with: looked up once for each type."""
    return tuple(one.name for one in fields(kind) if one.init)
