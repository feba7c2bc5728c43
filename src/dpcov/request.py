"""From what a user says about the data to what a curator needs: the public encoding, the source, options in its units."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dpcov.errors import ParameterError, shown
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.questions.moments import check_neighbors
from dpcov.kernel.rows.grid import Grid, checked_row_norm
from dpcov.mechanisms.shared.means import checked_covariance
from dpcov.release.record import Release
from dpcov.schema import Schema
from dpcov.sources.base import Source
from dpcov.sources.paired import PairedSource

BOUNDS = {"row_norm": "a public bound on the rows' Euclidean norm", "radius": "how far the mean may lie from origin"}


def check_budget(budget: object) -> None:
    """Refuse what is no budget."""
    if type(budget) not in (PureDP, ZCDP, ApproxDP):
        raise ParameterError(f"budget must be a PureDP, ZCDP or ApproxDP, got {shown(budget)}. Hint: dpcov.ZCDP(0.1).")


def released(mechanism: Callable[..., Release], curator: Curator, budget: Budget, **options: Any) -> Release:
    """Run a mechanism; where it fails or is interrupted, the exact sums are dropped as they are where it succeeds."""
    try:
        return mechanism(curator, budget, **options)
    finally:
        curator.forget()


def public_encoding(
    mechanism: str,
    row_norm: float | None,
    schema: Schema | None,
    neighbors: str,
    center: bool,
    options: Mapping[str, Any],
) -> tuple[Grid, dict[str, Any]]:
    """Return the encoding of rows, and the options of a mechanism that has its own way to centre them, or its own bounds."""
    if mechanism != "coinpress":
        return checked_grid(row_norm, schema, neighbors, center), dict(options)
    bounded = row_norm is None and schema is None and options.get("upper") is not None
    grid = checked_grid(1.0 if bounded else row_norm, schema, neighbors, center)
    if center and options.get("centring", "mean") != "mean":
        raise ParameterError("centring must be 'mean' where center is True, got another. Hint: leave one of them out.")
    centring = "mean" if center else options.get("centring", "none")
    if centring == "mean" and bounded and options.get("radius") is None:
        raise ParameterError("radius must be given for centred rows, got none. Hint: how far the mean may lie from origin.")
    return replace(grid, center=False), {**options, "centring": centring}


def about_midpoints(center: bool, options: Mapping[str, Any]) -> bool:
    """Whether a schema is to encode columns about their midpoints: where a mean is found, or falls out."""
    return center or options.get("centring") in ("mean", "pairs")


def prepared_source(source: Source, neighbors: str, options: Mapping[str, Any]) -> Source:
    """Return the source, or that of differences of its rows where pairs are wanted."""
    return PairedSource(source, neighbors) if options.get("centring") == "pairs" else source


def in_encoded_units(options: Mapping[str, Any], schema: Schema | None, center: bool) -> dict[str, Any]:
    """Return the options with covariances as encoded rows have them, where a schema encodes columns."""
    if schema is None:
        return dict(options)
    for name in ("radius", "origin"):
        given = options.get(name)
        if given is not None and not (name == "origin" and isinstance(given, numbers.Real) and given == 0):
            raise ParameterError(f"{name} must be left out with a schema, got one. Hint: the schema's bounds say as much.")
    scales = schema.scales(center)
    settings = dict(options)
    if options.get("upper") is not None and options.get("lower") is None:
        settings["lower"] = 1.0  # as without a schema: in the data's units
    for name in ("covariance", "upper", "lower"):
        given = settings.get(name)
        if given is not None:
            matrix = checked_covariance(given, len(scales), name)
            settings[name] = matrix / np.outer(scales, scales)
    return settings


def checked_grid(row_norm: float | None, schema: Schema | None, neighbors: str, center: bool, name: str = "row_norm") -> Grid:
    """Return the public encoding of rows, or refuse what does not describe one."""
    check_neighbors(neighbors)
    if not isinstance(center, bool):
        raise ParameterError(f"center must be True or False, got {shown(center)}. Hint: True gives a mean, too.")
    if schema is not None and not isinstance(schema, Schema):
        raise ParameterError(f"schema must be a Schema, got {shown(schema)}. Hint: dpcov.Schema.read('schema.toml').")
    if (row_norm is None) == (schema is None):
        got = "neither" if row_norm is None else "both"
        raise ParameterError(
            f"{name} or schema must be given, got {got}. Hint: {BOUNDS[name]}, or public bounds and levels of the columns; "
            f"taken from the data they would leak, so there is no default."
        )
    return Grid(1.0 if row_norm is None else checked_row_norm(row_norm, name=name), center=center)
