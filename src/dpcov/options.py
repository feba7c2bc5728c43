"""What a release remembers of a mechanism's options: their names, and the values that they can have."""

from __future__ import annotations

Option = str | int | float | bool

OPTIONS: dict[str, tuple[str, ...]] = {
    "constants": ("tight", "paper", "practical", "proved"),
    "numerics": ("rounded", "exact"),
    "allocation": ("adaptive", "uniform"),
    "values": ("basis", "spectrum"),
    "timing": ("batches", "fixed"),
    "clip": ("none", "private"),
    "centring": ("none", "mean", "pairs"),
    "scale": ("known", "private"),
}
"""The options that a release can carry, and their values."""

NUMBERS: dict[str, type] = {
    "rank": int,
    "k": int,
    "sweeps": int,
    "approximate": bool,
    "beta": float,
    "clip": float,
    "robust": bool,
    "screen": bool,
    "rounds": int,
    "condition": float,
    "level": float,
    "strength": float,
    "target": int,
    "alpha": float,
}
"""The options that are numbers."""
