"""What a file can hold of a mechanism's options and notes."""

from __future__ import annotations

import math

from dpcov.schema import is_broken

LONGEST_INTEGER = 2**63


def is_option(value: object, depth: int = 2) -> bool:
    """Whether a file can hold a value as an option: text, a finite number, true, false or nothing, or lists of these."""
    if isinstance(value, list):
        return depth > 0 and all(is_option(one, depth - 1) for one in value)
    if type(value) is float:
        return math.isfinite(value)
    if type(value) is str:
        return not is_broken(value)
    return value is None or type(value) is bool or (type(value) is int and abs(value) < LONGEST_INTEGER)
