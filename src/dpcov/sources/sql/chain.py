"""Selects that are made one from the other, so that what a row has in common is computed once.

An expression gets a name; it stands in the first select behind those that compute what it uses. Of each select the columns
that nobody uses any more are left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from dpcov.sources.sql.dialects import Dialect

NAME = re.compile(r"\bv[0-9]+\b")


class Chain:
    """Named expressions over the rows of a query.

    Parameters
    ----------
    dialect : Dialect
        What is written.
    rows : str
        What stands behind FROM: columns of it are used as they are.
    """

    def __init__(self, dialect: Dialect, rows: str) -> None:
        self.dialect, self._rows = replace(dialect, number=self._number), rows
        self._write = dialect.number
        self.literals: dict[float, None] = {}
        self._named: dict[str, str] = {}
        self._levels: dict[str, int] = {}
        self._uses: dict[str, set[str]] = {}

    def let(self, expression: str) -> str:
        """Return a name for an expression; the same one for the same, and a name itself."""
        if expression in self._levels:
            return expression
        if expression not in self._named:
            name = f"v{len(self._named)}"
            self._named[expression] = name
            self._uses[name] = self._used(expression)  # now: text of a level may look like a name that comes later
            self._levels[name] = 1 + max((self._levels[used] for used in self._uses[name]), default=0)
        return self._named[expression]

    def all(self, expressions: Sequence[str]) -> list[str]:
        """Return a name for each."""
        return [self.let(expression) for expression in expressions]

    def selects(self, *last: str) -> list[str]:
        """Return the selects, each from the one before, which is called s and its number; ``last`` use what is left."""
        top = max(self._levels.values(), default=0)
        made: list[dict[str, str]] = [{} for _ in range(top + 1)]
        for expression, name in self._named.items():
            made[self._levels[name]][name] = expression
        wanted = {name for text in last for name in self._used(text)}
        found: list[str] = []
        for level in range(top, 0, -1):
            here = {name: text for name, text in made[level].items() if name in wanted}
            passed = sorted(wanted - here.keys(), key=lambda name: int(name[1:]))
            columns = [*passed, *(f"{text} AS {name}" for name, text in here.items())] or ["1 AS one"]
            before = f"s{level - 1}" if level > 1 else self._rows
            found.append(f"SELECT {', '.join(columns)} FROM {before}{self.dialect.fence}")
            wanted = set(passed) | {used for name in here for used in self._uses[name]}
        return found[::-1] or [f"SELECT 1 AS one FROM {self._rows}{self.dialect.fence}"]

    def _number(self, number: float) -> str:
        """Write a literal, and remember it: a release reads all of them back."""
        self.literals[number] = None
        return self._write(number)

    def _used(self, expression: str) -> set[str]:
        return {name for name in NAME.findall(expression) if name in self._levels}
