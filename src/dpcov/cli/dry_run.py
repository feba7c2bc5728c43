"""``dpcov release --dry-run`` and ``dpcov mean --dry-run``: everything but reading, spending and writing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from dpcov.evaluate.rehearsal import Rehearsed
    from dpcov.kernel.budget import Budget
    from dpcov.release.record import Option, Release
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
    center: bool | None,
    seed: int | None,
    as_json: bool,
    postprocess: str | None = None,
    k: int | None = None,
) -> None:
    """Open the table for its names and types, rehearse the mechanism without data, and say what a release would do.

    With ``k`` it is one of so many components.
    """
    from dpcov.evaluate.rehearsal import rehearse
    from dpcov.mechanisms import MECHANISMS
    from dpcov.request import check_seed, checked_center, checked_request

    check_seed(seed)
    named = MECHANISMS["covariance" if k is None else "pca"][mechanism]
    settings = options if k is None else {**options, "k": k}
    request = checked_request(named, row_norm, schema, neighbors, checked_center(center, schema, named), settings)
    found = rehearse(request, request.source(data, columns), budget, postprocess=postprocess)
    _tell(data, found, 8 * (found.release.d + request.constant) ** 2, as_json)


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
    from dpcov.evaluate.rehearsal import rehearse
    from dpcov.mechanisms import MECHANISMS
    from dpcov.request import check_seed, checked_request

    check_seed(seed)
    named = MECHANISMS["mean"][mechanism]
    request = checked_request(named, radius, schema, neighbors, False, {**options, "origin": origin})
    found = rehearse(request, request.source(data, columns), budget, postprocess=postprocess)
    _tell(data, found, 8 * found.release.d, as_json)


def _tell(data: str, found: Rehearsed, matrix_bytes: int, as_json: bool) -> None:
    if as_json:
        click.echo(_json_text(found, matrix_bytes))
    else:
        _print(data, found, matrix_bytes)


def _unfinished(planned: Release) -> Release:
    """Return a planned release as its error is computed from it: post-processing would only decompose zeros."""
    return planned.finished("none")


def _is_found_on_the_way(planned: Release) -> bool:
    """Whether the noise depends on what earlier answers say: rows are clipped in public coordinates, more than once.

    Or once here and perhaps more often of other rows, where the mechanism notes what it made of their number.
    """
    local = sum(answer.question.is_local for answer in planned.answers)
    return local > 1 or (local == 1 and bool(planned.notes)) or _is_by_column(planned)


def _is_by_column(planned: Release) -> bool:
    """Whether columns are asked one by one: their private units decide all that follows."""
    return any(answer.question.by_column for answer in planned.answers)


def _json_text(found: Rehearsed, matrix_bytes: int) -> str:
    from dpcov.report.release_lines import known_error

    planned = found.release
    header = planned.header()
    error = None if _is_found_on_the_way(planned) else known_error(_unfinished(planned))
    known = {"expected_error": error} if found.known_n is not None else {}
    record = {
        "dry_run": True,
        "kind": header["kind"],
        "privacy": planned.privacy.to_json(),
        "neighbors": planned.neighbors,
        "mechanism": header["mechanism"]["name"],
        "requested": header["requested"]["name"],
        "postprocess": planned.postprocess,
        "n": found.known_n,
        "d": planned.d,
        "center": _is_by_column(planned) or _unfinished(planned).center,
        "feature_names": list(planned.feature_names),
        "asked": [{"asked": s.asked, "noise": s.noise, "budget": s.budget.to_json()} for s in found.spent],
        **known,
        "expected_error_times_n": None if error is None else error * planned.n,
        "matrix_bytes": matrix_bytes,
    }
    return json.dumps(record, allow_nan=False)


def _components_line(planned: Release) -> str:
    """Say what a rehearsal cannot know of components."""
    header = planned.header()
    varies = header["requested"]["name"] != header["mechanism"]["name"] or _has_radius(planned)
    prices = "Later questions and prices may depend on the number of rows and on earlier answers. " * varies
    return f"{prices}How good components are depends on the gaps of the spectrum: see dpcov plan pca."


def _has_radius(planned: Release) -> bool:
    """Whether a radius is chosen privately."""
    from dpcov.kernel.questions.choices import Quantile, Radius

    return planned.find(Quantile, Radius) is not None


def _print(data: str, found: Rehearsed, matrix_bytes: int) -> None:
    from dpcov.report.release_lines import error_line
    from dpcov.report.text import console, printable, spends_table

    out, planned = console(), found.release
    out.print("Dry run: only names and types were read; nothing is spent, nothing is written.")
    rows = "n is not known before reading" if planned.neighbors == "replace" else "n is private"
    pairs = " pairs" if planned.encoding.pairs else ""
    rows = rows if found.known_n is None else f"n = {found.known_n}{pairs}"
    out.print(f"Table: {printable(data)}, {planned.d} feature(s), {rows}.", soft_wrap=True)
    out.print(f"Mechanism: {planned.how()}; neighbours: {planned.neighbors}.")
    out.print(spends_table(found.spent, title="would be asked"))
    if _is_by_column(planned):
        out.print("Expected error: it depends on the columns' private units; so do later questions and their prices.")
    elif _is_found_on_the_way(planned):
        out.print("Expected error: it depends on what the rounds find, as do prices, and their number where n is not known.")
    elif error := error_line(_unfinished(planned), known_n=found.known_n is not None):
        out.print(error, soft_wrap=True)
    kind = planned.header()["kind"]
    if kind == "pca":
        out.print(_components_line(planned), soft_wrap=True)
    if kind == "covariance" and _has_radius(planned) and not _is_by_column(planned):
        out.print("How the budget is split depends on the number of rows and on the radius; here a radius just below row_norm.")
    if matrix_bytes > GIGABYTE:
        out.print(f"Memory: each matrix of the release takes {matrix_bytes / GIGABYTE:.1f} GB, and several are needed at once.")
