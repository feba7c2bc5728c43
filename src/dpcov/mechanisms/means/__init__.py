"""Mechanisms for means, one file each."""

from __future__ import annotations

from collections.abc import Callable

from dpcov.mechanisms.means.auto import auto
from dpcov.mechanisms.means.clipped import clipped
from dpcov.mechanisms.means.coinpress import coinpress
from dpcov.mechanisms.means.coordinatewise import coordinatewise
from dpcov.mechanisms.means.karwa_vadhan import karwa_vadhan
from dpcov.mechanisms.means.symq import symq
from dpcov.release import Release

MEANS: dict[str, Callable[..., Release]] = {
    "auto": auto,
    "coinpress": coinpress,
    "clipped": clipped,
    "coordinatewise": coordinatewise,
    "karwa-vadhan": karwa_vadhan,
    "symq": symq,
}
