"""Whose rows are they, and how much does each count: what a caller says of it, checked before any row is read."""

from __future__ import annotations

import numbers
from dataclasses import dataclass, fields
from typing import NamedTuple

from dpcov.errors import ParameterError, check_choice, check_real, shown
from dpcov.schema.columns import is_broken

WEIGHTINGS = ("person", "rows")
CLIPS = ("none", "private")
LARGEST_WEIGHT, MOST_ROWS_EACH = 1e150, 2**31


class Checked(NamedTuple):
    """What is said of rows beside their features, checked; what is not said is empty, or 0."""

    unit: str
    most_rows: int
    weight: str
    max_weight: float
    searched: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The columns of the table that stand beside the features."""
        return tuple(name for name in (self.unit, self.weight) if name)


@dataclass(frozen=True)
class Whose:
    """What a caller, or a schema, says of rows beside their features, as it was said: names and defaults are `covariance`'s."""

    unit: object = None
    weighting: object = None
    most_rows: object = None
    weight: object = None
    max_weight: object = None
    clip_weight: object = None

    def joined(self, described: Whose) -> Whose:
        """Return this together with what a schema says; refuse where both say something, and not the same."""
        return Whose(*(_one_of(each.name, getattr(self, each.name), getattr(described, each.name)) for each in fields(self)))

    def checked(self) -> Checked:
        """Return who a person is and how much a row counts, or refuse what says neither."""
        by_rows = self._counts_rows()
        if self.unit is None and by_rows:
            raise ParameterError("weighting must be 'person' without unit=, got 'rows'. Hint: each row is a person already.")
        most, largest = self._checked_most_rows(by_rows), self._checked_max_weight()
        unit, weight = _column("unit", self.unit), _column("weight", self.weight)
        if unit and unit == weight:
            raise ParameterError(f"unit and weight must be two columns, got {shown(self.unit)} twice. Hint: leave out one.")
        return Checked(unit, most, weight, largest, self._searches())

    def _counts_rows(self) -> bool:
        """Return whether rows count, and not people once."""
        hint = "'person' counts each person once, 'rows' each row up to most_rows"
        check_choice("weighting", "person" if self.weighting is None else self.weighting, WEIGHTINGS, hint)
        return self.weighting == "rows"

    def _searches(self) -> bool:
        """Return whether a weight below max_weight is chosen privately, to count as 1."""
        hint = "'private' finds one below max_weight for a part of the budget"
        check_choice("clip_weight", "none" if self.clip_weight is None else self.clip_weight, CLIPS, hint)
        if self.clip_weight == "private" and self.weight is None:
            raise ParameterError("clip_weight must be left out without a weight, got 'private'. Hint: weight='fnlwgt'.")
        return self.clip_weight == "private"

    def _checked_most_rows(self, by_rows: bool) -> int:
        """Return how many rows of a person count alike, 0 where each person counts once."""
        given = self.most_rows
        if (given is None) == by_rows:
            raise ParameterError(
                f"most_rows must be given with weighting='rows' and only then, got {shown(given)}. "
                f"Hint: a public number, such as 10: rows of a person with more of them count less."
            )
        if given is None:
            return 0
        if not isinstance(given, numbers.Integral) or isinstance(given, bool) or not 1 <= int(given) <= MOST_ROWS_EACH:
            raise ParameterError(
                f"most_rows must be a whole number from 1 to 2**31, got {shown(given)}. Hint: 10 is a good start."
            )
        return int(given)

    def _checked_max_weight(self) -> float:
        """Return the weight that counts as 1, 0 where all rows have the same."""
        if (self.weight is None) != (self.max_weight is None):
            missing, hint = (
                ("max_weight", "the largest weight that there can be, known without looking")
                if self.weight is not None
                else ("weight", "the column of weights")
            )
            raise ParameterError(f"{missing} must be given with the other one, got none. Hint: {hint}.")
        if self.max_weight is None:
            return 0.0
        rule = "a finite number above 0 and at most 1e150"
        least, hint = 1 / LARGEST_WEIGHT, "a public bound on the weights"
        return check_real("max_weight", self.max_weight, rule, least, LARGEST_WEIGHT, hint)


ROWS_THEMSELVES = Whose()
"""Each row is a person, and counts as any other."""


def _one_of(name: str, said: object, described: object) -> object:
    """Return what is said, by the caller or by the schema; what is no text and no number is refused later."""
    if described is None or (said is not None and not isinstance(said, str | numbers.Real)):
        return said
    if said is not None and said != described:
        raise ParameterError(
            f"{name} must be that of the schema, {shown(described)}, or left out, got {shown(said)}. Hint: say it once."
        )
    return described


def _column(said: str, column: object) -> str:
    """Return the name of a column that stands beside the features; of an array its position may be given."""
    position = isinstance(column, numbers.Integral) and not isinstance(column, bool) and int(column) >= 0
    name = f"x{column}" if position else "" if column is None else column
    if not isinstance(name, str) or (column is not None and not name) or is_broken(name):
        raise ParameterError(
            f"{said} must be the name of a column, or of an array its position, got {shown(column)}. Hint: unit='patient_id'."
        )
    return name
