"""Options as text, ``constants=paper``, and mechanisms that carry them, ``separate:constants=paper,clip=private``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from dpcov.errors import ParameterError, shown


def read_mechanism(text: str) -> tuple[str, dict[str, Any]]:
    """Split NAME:OPTION=VALUE,OPTION=VALUE into the name and the options."""
    name, sign, settings = text.partition(":")
    return name, read_options(_pieces(settings) if sign else ())


def _pieces(settings: str) -> list[str]:
    """Split at commas, but not within the brackets of a list."""
    pieces, depth = [""], 0
    for letter in settings:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth <= 0:
            pieces.append("")
        else:
            pieces[-1] += letter
    return pieces


def read_options(settings: Iterable[str]) -> dict[str, Any]:
    """Turn texts NAME=VALUE into options: numbers, true and false where they look so."""
    options: dict[str, Any] = {}
    for setting in settings:
        name, sign, value = setting.partition("=")
        if not sign or not name.isidentifier():
            raise ParameterError(f"option must be NAME=VALUE, got {shown(setting)}. Hint: write constants=paper, for example.")
        if name in options:
            raise ParameterError(f"option must be given once, got {name!r} twice. Hint: remove one of them.")
        options[name] = _converted(value)
    return options


def _no_number(text: str) -> None:
    raise ValueError(text)


def _converted(value: str) -> Any:
    if value.startswith("["):
        try:
            return json.loads(value, parse_constant=_no_number)  # the mechanism refuses what fits no option
        except ValueError:
            raise ParameterError(
                f"option must be a list such as [1, 2.5], got {shown(value)}. Hint: put it in quotes for the shell."
            ) from None
    if value.lower() in ("true", "false"):
        return value.lower() == "true"
    if re.fullmatch(r"[+-]?[0-9]{1,300}", value):
        return int(value)
    if re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", value):
        return float(value)
    return value
