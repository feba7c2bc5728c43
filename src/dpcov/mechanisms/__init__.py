"""One file per algorithm. A mechanism never sees data: it asks a curator and computes with the answers."""

from __future__ import annotations

from collections.abc import Callable

from dpcov.mechanisms.auto import ADDITIVE, auto
from dpcov.release import Release

MECHANISMS: dict[str, dict[str, Callable[..., Release]]] = {"covariance": {"auto": auto, **ADDITIVE}}
