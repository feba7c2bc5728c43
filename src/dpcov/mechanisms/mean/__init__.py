"""Mechanisms for means, one file each."""

from __future__ import annotations

from collections.abc import Callable

from dpcov.mechanisms.coinpress.mean import coinpress
from dpcov.mechanisms.mean.auto import auto
from dpcov.mechanisms.mean.clipped import clipped
from dpcov.mechanisms.mean.coordinatewise import coordinatewise
from dpcov.mechanisms.mean.karwa_vadhan import karwa_vadhan
from dpcov.mechanisms.mean.symq import symq
from dpcov.release.record import Release

MEANS: dict[str, Callable[..., Release]] = {
    "auto": auto,
    "coinpress": coinpress,
    "clipped": clipped,
    "coordinatewise": coordinatewise,
    "karwa-vadhan": karwa_vadhan,
    "symq": symq,
}
