"""Mechanisms of a test: a function that asks, and no estimate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpcov.kernel.budget import ZCDP, ApproxDP, PureDP
from dpcov.mechanisms.base import Mechanism
from dpcov.release.estimate import Estimate
from dpcov.release.record import Transcript


def by_hand(ask: Callable[..., Any], name: str = "by hand") -> Mechanism:
    """Return a mechanism of uncentred rows, for every notion, that asks so; its options are those of the function."""
    return Mechanism(target="covariance", name=name, serves=(PureDP, ZCDP, ApproxDP), ask=ask, estimate=_nothing)


def _nothing(transcript: Transcript, postprocess: str, **options: Any) -> Estimate:  # noqa: ARG001
    return Estimate()
