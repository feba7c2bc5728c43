"""The exceptions a user can meet, and the checks that raise them.

::

    DpcovError
    ├── ParameterError (ValueError)    an argument is wrong, or a stream is empty or too long; nothing was spent
    ├── BudgetError (RuntimeError)     a question would cost more than is left; nothing was spent
    ├── SchemaError (ValueError)       a schema is wrong, or does not fit the table; nothing was read or spent
    ├── ReleaseError (ValueError)      a release file is damaged, edited or too new
    └── EngineError (RuntimeError)     a file, a disk or the arithmetic of the machine failed

Every message reads ``<name> must be <rule>, got <value>. Hint: <one action>.`` and never holds
a value of the data: only parameters, shapes and types, which are public.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Collection, Hashable, Iterable
from difflib import get_close_matches
from typing import NoReturn


class DpcovError(Exception):
    """Any error that this library raises on purpose: all of those below."""


class ParameterError(DpcovError, ValueError):
    """An argument is wrong, or a stream is empty or too long; nothing was spent."""


class BudgetError(DpcovError, RuntimeError):
    """A question would cost more privacy than is left; it was not asked."""


class SchemaError(DpcovError, ValueError):
    """A schema is wrong, or a table lacks a column or has one of another type; nothing was read or spent."""


class ReleaseError(DpcovError, ValueError):
    """A release file is damaged, edited or too new, or the release does not hold what was asked for."""


class EngineError(DpcovError, RuntimeError):
    """A file, a disk or the arithmetic of the machine failed."""


class SpendsAgainWarning(UserWarning):
    """A clone of an estimator is fitted that was fitted before: each of their fits spends its budget anew."""


def raise_alone(error: DpcovError) -> NoReturn:
    """Raise without a trace of the exception being handled: ``from None`` would only hide it, cells and all."""
    try:
        raise error from None
    finally:
        error.__context__ = None


def shown(value: object) -> str:
    """Return what a message may say of a wrong argument: scalars and text, cut short; of anything else its type.

    An argument in the wrong place may well be the data.
    """
    if value is None or isinstance(value, str | numbers.Number):
        try:
            text = repr(value)
        except ValueError:  # an integer beyond Python's limit of digits
            text = "a very long number"
        return text if len(text) <= 60 else text[:57] + "..."
    return f"a value of type {type(value).__name__}"


def printable(text: str, most: int = 60) -> str:
    """Return text without line breaks and terminal codes, cut short: who wrote a file must not write on a screen."""
    plain = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text[: most + 1])
    return plain if len(plain) <= most else plain[: most - 3] + "..."


def did_you_mean(name: object, known: Collection[str]) -> str:
    """Return a question for a hint, where a name that is not known is nearly one that is; else nothing."""
    near = get_close_matches(name, list(known), n=1) if isinstance(name, str) else []
    return f"did you mean {near[0]!r}? " if near else ""


def first_repeated(names: Iterable[Hashable]) -> str:
    """Return the first name that occurs twice, as a message may show it: of what the user wrote, never of a file."""
    seen: set[Hashable] = set()
    for name in names:
        if name in seen:
            return shown(name)
        seen.add(name)
    raise AssertionError("each name occurs once")


def check_choice(name: str, value: object, choices: Collection[str], hint: str) -> None:
    """Refuse a value that is not one of the named choices."""
    if not isinstance(value, str) or value not in choices:
        known = ", ".join(repr(choice) for choice in choices)
        raise ParameterError(f"{name} must be one of {known}, got {shown(value)}. Hint: {did_you_mean(value, choices)}{hint}.")


def check_real(name: str, value: object, rule: str, low: float, high: float, hint: str) -> float:
    """Return a real number inside ``[low, high]`` as a float, or refuse it."""
    try:
        number = float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not low <= number <= high:
        raise ParameterError(f"{name} must be {rule}, got {shown(value)}. Hint: {hint}.")
    return number
