"""How a planted bug is written down: edits of the source, and the tests that must fail because of them, by name."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """Replace the only occurrence of ``old`` in a file of the package."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Mutant:
    edits: tuple[Edit, ...]
    caught_by: tuple[str, ...]


def mutant(*edits: tuple[str, str, str], by: str | tuple[str, ...]) -> Mutant:
    return Mutant(tuple(Edit(*edit) for edit in edits), (by,) if isinstance(by, str) else by)
