"""Which feature is predicted, and from which others: names and positions, checked against a release."""

from __future__ import annotations

import numbers
from collections.abc import Sequence

from dpcov.errors import ParameterError, did_you_mean, first_repeated, shown
from dpcov.schema import Schema

MOST_NAMES = 8  # in a message


def column_places(schema: Schema) -> dict[str, slice]:
    """Return where the features of each used column stand: a column with levels has several."""
    return schema.places()


def column_of_feature(schema: Schema | None, names: Sequence[str]) -> list[str]:
    """Return, for each feature, the column that it belongs to."""
    if schema is None:
        return list(names)
    return [name for name, place in column_places(schema).items() for _ in range(place.start, place.stop)]


def target_place(names: Sequence[str], schema: Schema | None, target: object) -> int:
    """Return the position of the feature to predict, or refuse it."""
    found = _places(names, column_of_feature(schema, names), target, "target")
    if len(found) > 1:
        level = names[found[0]]
        raise ParameterError(
            f"target must be one feature, got the column {target!r}. Hint: choose one of its levels, such as {level!r}."
        )
    return found[0]


def feature_places(names: Sequence[str], schema: Schema | None, features: object, target: int) -> tuple[int, ...]:
    """Return the positions of the features, in the order in which they were asked for; by default of all other columns."""
    columns = column_of_feature(schema, names)
    if features is None:
        places = [j for j in range(len(names)) if columns[j] != columns[target]]
    else:
        if isinstance(features, str | bytes) or not isinstance(features, Sequence):
            raise ParameterError(f"features must be a list of names or positions, got {shown(features)}. Hint: write ['age'].")
        places = [place for feature in features for place in _places(names, columns, feature, "features")]
    if len(set(places)) < len(places):
        raise ParameterError(
            f"features must differ, got {first_repeated(names[j] for j in places)} twice. Hint: a column means all its levels."
        )
    own = next((j for j in places if columns[j] == columns[target]), None)
    if own is not None:
        told = names[own]
        raise ParameterError(f"features must come from other columns than the target, got {told!r}. Hint: leave it out.")
    if not places:
        need = ": a regression needs two columns or more" * (len(names) == 1)
        raise ParameterError(f"features must hold at least one feature, got none{need}. Hint: read release.mean for the mean.")
    return tuple(places)


def _places(names: Sequence[str], columns: list[str], wanted: object, name: str) -> list[int]:
    """Return the positions of a feature, of all levels of a column, or of a position."""
    if isinstance(wanted, numbers.Integral) and not isinstance(wanted, bool):
        if 0 <= int(wanted) < len(names):
            return [int(wanted)]
        raise ParameterError(f"{name} must be a position from 0 to {len(names) - 1}, got {int(wanted)}. Hint: count from 0.")
    found = [j for j in range(len(names)) if wanted in (names[j], columns[j])] if isinstance(wanted, str) else []
    if not found:
        known = ", ".join(repr(known) for known in names[:MOST_NAMES]) + ", ..." * (len(names) > MOST_NAMES)
        near = did_you_mean(wanted, [*names, *columns])
        hint = f"{near}There are {known}" if near else known
        raise ParameterError(f"{name} must be among the features of the release, got {shown(wanted)}. Hint: {hint}.")
    exact = [j for j in found if names[j] == wanted]
    return exact or found
