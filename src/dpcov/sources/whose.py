"""Whose rows are they, and how much does each count: what a caller says of it, checked before any row is read."""

from __future__ import annotations

import numbers
from dataclasses import dataclass

from dpcov.errors import ParameterError, check_choice, check_real, shown
from dpcov.kernel.rows.aside import LARGEST_WEIGHT, MOST_PEOPLE, MOST_ROWS_EACH, USUAL_PEOPLE, Aside, aside_of
from dpcov.schema import is_broken

WEIGHTINGS = ("person", "rows")
CLIPS = ("none", "private")


@dataclass(frozen=True)
class Whose:
    """What a caller says of rows beside their features, as it was said: the names and defaults are those of `covariance`."""

    unit: object = None
    weighting: object = "person"
    most_rows: object = None
    weight: object = None
    max_weight: object = None
    clip_weight: object = "none"

    def aside(self, bits: int, max_rows: int | None) -> Aside | None:
        """Return who a person is and how much a row counts, or None where each row is a person and counts alike."""
        check_choice(
            "weighting", self.weighting, WEIGHTINGS, "'person' counts each person once, 'rows' each row up to most_rows"
        )
        if self.unit is None and self.weighting != "person":
            raise ParameterError("weighting must be 'person' without unit=, got 'rows'. Hint: each row is a person already.")
        check_choice("clip_weight", self.clip_weight, CLIPS, "'private' finds one below max_weight for a part of the budget")
        most, largest, searched = self._checked_most_rows(), self._checked_max_weight(), self.clip_weight == "private"
        if searched and self.weight is None:
            raise ParameterError("clip_weight must be left out without a weight, got 'private'. Hint: weight='fnlwgt'.")
        if self.unit is None and self.weight is None:
            return None
        people = USUAL_PEOPLE if max_rows is None else int(max_rows)
        if people > MOST_PEOPLE:
            raise ParameterError(f"max_rows must be at most 2**34 people with unit=, got {shown(max_rows)}. Hint: fewer do.")
        return aside_of(_column("unit", self.unit), bits, people, most, _column("weight", self.weight), largest, searched)

    def _checked_most_rows(self) -> int:
        """Return how many rows of a person count alike, 0 where each person counts once."""
        given = self.most_rows
        if (given is None) != (self.weighting == "person"):
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
                if self.weight
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


def _column(said: str, column: object) -> str:
    """Return the name of a column that stands beside the features; of an array its position may be given."""
    position = isinstance(column, numbers.Integral) and not isinstance(column, bool) and int(column) >= 0
    name = f"x{column}" if position else "" if column is None else column
    if not isinstance(name, str) or (column is not None and not name) or is_broken(name):
        raise ParameterError(
            f"{said} must be the name of a column, or of an array its position, got {shown(column)}. Hint: unit='patient_id'."
        )
    return name
