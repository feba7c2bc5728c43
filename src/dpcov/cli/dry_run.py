"""``dpcov release --dry-run`` and ``dpcov mean --dry-run``: everything but reading, spending and writing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dpcov.kernel.budget import Budget
    from dpcov.options import Option
    from dpcov.release.record import Release
    from dpcov.schema import Schema

GIGABYTE = 10**9


def dry_run(
    data: str,
    *,
    budget: Budget,
    mechanism: str,
    options: Mapping[str, Option],
    row_norm: float | None,
    schema: Schema | None,
    columns: list[str] | None,
    neighbors: str,
    center: bool,
    seed: int | None,
    as_json: bool,
    postprocess: str | None = None,
    k: int | None = None,
) -> None:
    """Open the table for its names and types, rehearse the mechanism without data, and say what a release would do.

    With ``k`` it is one of so many components.
    """
    from dpcov.cli.rehearsal import Shape, rehearse
    from dpcov.kernel.bits import SeededBits
    from dpcov.mechanisms import MECHANISMS
    from dpcov.request import about_midpoints, checked_grid, in_encoded_units, prepared_source, public_encoding
    from dpcov.sources.opening import open_source

    if seed is not None:
        SeededBits(seed)  # refuses what is no seed
    if k is None:
        grid, settings = public_encoding(mechanism, row_norm, schema, neighbors, center, options)
        about = about_midpoints(center, settings)
        source = prepared_source(open_source(data, columns, schema, about), neighbors, settings)
        settings = in_encoded_units(settings, source.schema, about)
    else:
        grid, settings = checked_grid(row_norm, schema, neighbors, center), {**options, "k": k}
        source = open_source(data, columns, schema, center)
    public_n = source.known_n if neighbors == "replace" else None  # under add-remove n is private, also here
    planned = rehearse(
        MECHANISMS["covariance" if k is None else "pca"][mechanism],
        Shape(source.feature_names, source.schema, public_n),
        budget,
        row_norm=grid.row_norm,
        neighbors=neighbors,
        center=grid.center,
        postprocess=postprocess,
        options=settings,
    )
    _tell(data, planned, public_n, 8 * (planned.d + center) ** 2, as_json)


def dry_run_mean(
    data: str,
    *,
    budget: Budget,
    mechanism: str,
    options: Mapping[str, Any],
    radius: float | None,
    schema: Schema | None,
    columns: list[str] | None,
    neighbors: str,
    postprocess: str | None,
    seed: int | None,
    as_json: bool,
    origin: Any = 0.0,
) -> None:
    """Open the table for its names and types, rehearse the mechanism without data, and say what a mean would cost."""
    from dpcov.cli.rehearsal import Shape, rehearse
    from dpcov.kernel.bits import SeededBits
    from dpcov.mechanisms import MECHANISMS
    from dpcov.request import checked_grid, in_encoded_units
    from dpcov.sources.opening import open_source

    if seed is not None:
        SeededBits(seed)  # refuses what is no seed
    grid = checked_grid(radius, schema, neighbors, False, name="radius")
    source = open_source(data, columns, schema, True)
    public_n = source.known_n if neighbors == "replace" else None
    planned = rehearse(
        MECHANISMS["mean"][mechanism],
        Shape(source.feature_names, source.schema, public_n),
        budget,
        row_norm=grid.row_norm,
        neighbors=neighbors,
        postprocess=postprocess,
        options=in_encoded_units({**options, "origin": origin}, source.schema, True),
    )
    _tell(data, planned, public_n, 8 * planned.d, as_json)


def _tell(data: str, planned: Release, public_n: int | None, matrix_bytes: int, as_json: bool) -> None:
    if as_json:
        click.echo(_json_text(planned, public_n, matrix_bytes))
    else:
        _print(data, planned, public_n, matrix_bytes)


def _is_found_on_the_way(planned: Release) -> bool:
    """Whether the noise depends on what earlier answers say."""
    from dpcov.estimate_framed import is_framed

    return is_framed(planned) and planned.mechanism not in ("clipped", "coordinatewise")


def _json_text(planned: Release, public_n: int | None, matrix_bytes: int) -> str:
    from dpcov.cli.estimates import known_error

    error = None if _is_found_on_the_way(planned) else known_error(planned)
    known = {"expected_error": error} if public_n is not None else {}
    record = {
        "dry_run": True,
        "kind": planned.kind,
        "privacy": planned.privacy.to_json(),
        "neighbors": planned.neighbors,
        "mechanism": planned.mechanism,
        "requested": planned.requested,
        "postprocess": planned.postprocess,
        "n": public_n,
        "d": planned.d,
        "center": planned.center,
        "feature_names": list(planned.feature_names),
        "asked": [{"asked": s.asked, "noise": s.noise, "budget": s.budget.to_json()} for s in planned.spent],
        **known,
        "expected_error_times_n": None if error is None else error * planned.n,
        "matrix_bytes": matrix_bytes,
    }
    return json.dumps(record, allow_nan=False)


def _components_line(planned: Release) -> str:
    """Say what a rehearsal cannot know of components."""
    varies = planned.requested == "auto" or planned.answer("radius") is not None
    prices = "Later questions and prices may depend on the number of rows and on earlier answers. " * varies
    return f"{prices}How good components are depends on the gaps of the spectrum: see dpcov plan pca."


def _print(data: str, planned: Release, public_n: int | None, matrix_bytes: int) -> None:
    from dpcov.cli.estimates import error_line
    from dpcov.cli.text import console, printable, spends_table

    out = console()
    out.print("Dry run: only names and types were read; nothing is spent, nothing is written.")
    rows = "n is not known before reading" if planned.neighbors == "replace" else "n is private"
    pairs = " pairs" if planned.options.get("centring") == "pairs" else ""
    rows = rows if public_n is None else f"n = {public_n}{pairs}"
    out.print(f"Table: {printable(data)}, {planned.d} feature(s), {rows}.", soft_wrap=True)
    auto = " (chosen by auto)" if planned.requested == "auto" else ""
    out.print(f"Mechanism: {planned.mechanism}{auto}, postprocess {planned.postprocess}; neighbours: {planned.neighbors}.")
    out.print(spends_table(planned, title="would be asked"))
    if _is_found_on_the_way(planned):
        out.print("Expected error: it depends on what the rounds find, as do prices, and their number where n is not known.")
    elif error := error_line(planned, known_n=public_n is not None):
        out.print(error, soft_wrap=True)
    if planned.kind == "pca":
        out.print(_components_line(planned), soft_wrap=True)
    if planned.answer("radius") is not None and planned.kind == "covariance":
        out.print("How the budget is split depends on the number of rows and on the radius; here a radius just below row_norm.")
    if matrix_bytes > GIGABYTE:
        out.print(f"Memory: each matrix of the release takes {matrix_bytes / GIGABYTE:.1f} GB, and several are needed at once.")
