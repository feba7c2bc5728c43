"""All planted bugs: the ``PLANTED`` of every ``planted*.py`` below ``tests/``, each beside the tests of its subject."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from tests.mutation.form import Edit, Mutant

__all__ = ["MUTANTS", "WRITTEN_IN", "Edit", "Mutant"]

ROOT = Path(__file__).parents[2]


def modules() -> list[str]:
    """Return the modules that hold planted bugs, in the order of their names."""
    return sorted(".".join(path.relative_to(ROOT).with_suffix("").parts) for path in (ROOT / "tests").rglob("planted*.py"))


def together(parts: Iterable[tuple[str, dict[str, Mutant]]]) -> dict[str, Mutant]:
    """Return the bugs of all modules; a name that two of them have is refused, since one bug would hide the other."""
    found: dict[str, Mutant] = {}
    for module, planted in parts:
        assert not (twice := sorted(found.keys() & planted)), f"planted bugs of {module} have names that are taken: {twice}"
        found |= planted
    return found


MUTANTS = together((name, import_module(name).PLANTED) for name in modules())
WRITTEN_IN = {bug: f"{name.replace('.', '/')}.py" for name in modules() for bug in import_module(name).PLANTED}
"""The file in which each bug is written down, from the root of the repository."""
