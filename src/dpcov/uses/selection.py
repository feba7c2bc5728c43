"""Which feature is predicted, and from which others: names and positions, checked against a release."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dpcov.errors import ParameterError, did_you_mean, shown
from dpcov.schema import Categorical, Schema

if TYPE_CHECKING:
    from dpcov.release.record import Release

MOST_NAMES = 8  # in a message
EVERY_LEVEL = "none"  # the reference of a model that has all levels


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


def target_and_reference(
    release: Release, target: object, reference: Mapping[str, object] | str | None
) -> tuple[int, Mapping[str, object] | str | None]:
    """Return the position of the feature to predict, and the references that are left for the features.

    A column of two levels stands for one of them, as it does among features: for the one that is not its reference, the more
    frequent level by the release or a given one.
    """
    names, schema = release.feature_names, release.schema
    column = schema.used.get(target) if schema is not None and isinstance(target, str) and target not in names else None
    if schema is None or not isinstance(column, Categorical) or not isinstance(target, str):
        return target_place(names, schema, target), reference
    block = column_places(schema)[target]
    own = list(range(block.start, block.stop))
    if len(own) != 2:
        return target_place(names, schema, target), reference
    if isinstance(reference, Mapping) and target in reference:
        base = _reference(names, own, target, reference[target])
        reference = {name: level for name, level in reference.items() if name != target}
    else:
        shares = release.mean if release.center else release.second_moment.diagonal()
        base = max(own, key=lambda j: float(shares[j]))
    return own[0] + own[1] - base, reference


def feature_places(names: Sequence[str], schema: Schema | None, features: object, target: int) -> tuple[int, ...]:
    """Return the positions of the features, in the order in which they were asked for; by default of all other columns."""
    columns = column_of_feature(schema, names)
    if features is None:  # of other cells than the target's: neither its own levels, nor its square
        values = {name: {name} for name in names} if schema is None else schema.values()
        places = [j for j in range(len(names)) if not values[columns[j]] & values[columns[target]]]
    else:
        if isinstance(features, str | bytes) or not isinstance(features, Sequence):
            raise ParameterError(f"features must be a list of names or positions, got {shown(features)}. Hint: write ['age'].")
        places = [place for feature in features for place in _places(names, columns, feature, "features")]
    if len(set(places)) < len(places):
        twice = next(j for j in places if places.count(j) > 1)
        hint = "name each feature once" if names[twice] == columns[twice] else "a column of levels stands for all of them"
        raise ParameterError(f"features must differ, got {names[twice]!r} twice. Hint: {hint}.")
    own = next((j for j in places if columns[j] == columns[target]), None)
    if own is not None:
        told = names[own]
        raise ParameterError(f"features must come from other columns than the target, got {told!r}. Hint: leave it out.")
    if not places:
        need = ": a regression needs two columns or more" * (len(names) == 1)
        raise ParameterError(f"features must hold at least one feature, got none{need}. Hint: read release.mean for the mean.")
    return tuple(places)


def reference_places(
    release: Release, places: Sequence[int], features: Sequence[str | int] | None, reference: object
) -> tuple[int, ...]:
    """Return the level of each named column that its others are compared with: a given one, or the most frequent one released.

    Columns of which single levels were named have none, nor has one with a single level; without an intercept, where rows are
    not centred, a constant has no other place, and no column has one.
    """
    names, schema = release.feature_names, release.schema
    if isinstance(reference, str) and reference == EVERY_LEVEL:
        return ()
    if reference is not None and not isinstance(reference, Mapping):
        raise ParameterError(
            f"reference must be a level for each of some columns, or 'none', got {shown(reference)}. Hint: {{'sex': 'F'}}."
        )
    wanted = {} if reference is None else dict(reference)
    whole = _whole_columns(release, places, features)
    found = []
    for name, own in whole.items():
        if name in wanted:
            found.append(_reference(names, own, name, wanted.pop(name)))
        elif len(own) > 1:
            found.append(max(own, key=lambda j: float(release.mean[j])))
    if wanted:
        column = next(iter(wanted))
        known = ", ".join(repr(name) for name in list(whole)[:MOST_NAMES]) or "none here"
        if schema is not None and not release.encoding.constant:
            known = "a release that is not centred has no intercept, and so no reference"
        raise ParameterError(f"reference must be of columns whose levels are all features, got {shown(column)}. Hint: {known}.")
    return tuple(sorted(found, key=list(places).index))


def _whole_columns(release: Release, places: Sequence[int], features: Sequence[str | int] | None) -> dict[str, list[int]]:
    """Return the features of columns with levels that stand among the features as a whole, named so or by default."""
    schema = release.schema
    if schema is None or not release.encoding.constant:
        return {}
    named = set(schema.used) if features is None else {feature for feature in features if isinstance(feature, str)}
    chosen = set(places)
    return {
        name: list(range(block.start, block.stop))
        for name, block in column_places(schema).items()
        if name in named and isinstance(schema.used[name], Categorical) and chosen.issuperset(range(block.start, block.stop))
    }


def _reference(names: Sequence[str], own: Sequence[int], column: str, level: object) -> int:
    """Return the place of a column's level, by its name or by that of its feature."""
    found = [j for j in own if level == names[j] or f"{column}={_text(level)}" == names[j]]
    if not found:
        known = ", ".join(repr(names[j].removeprefix(f"{column}=")) for j in own[:MOST_NAMES])
        raise ParameterError(f"reference must be one of the levels of {column!r}, got {shown(level)}. Hint: {known}.")
    return found[0]


def _text(level: object) -> str:
    """Return a level as names of features have it."""
    return str(level).lower() if isinstance(level, bool) else str(level)


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
