"""A release: what it promises, what was asked, and what it estimates."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from dpcov.release.record import Release
from dpcov.report import components, correlations, descriptions, models
from dpcov.report.descriptions import spectrum_line, spectrum_of, spectrum_record
from dpcov.report.page.overview import notebook as notebook
from dpcov.report.pictures import matrices_figure
from dpcov.report.release_lines import (
    clip_line,
    confidence,
    confidence_line,
    error_line,
    groups_line,
    known_error,
    numbers_line,
    options_line,
    unknown_line,
    weights_line,
    zero_line,
)
from dpcov.report.text import MORE, finite, ledger_line, print_promise, printable, spends_table
from dpcov.report.units import DAYS, Units
from dpcov.uses.convergence import is_chain
from dpcov.uses.held import holds_covariance, is_centered
from dpcov.uses.sampling import POPULATION

if TYPE_CHECKING:
    from rich.console import Console

MOST_FEATURES = 40
MOST_AT_FIRST = 20  # features, when a release was just made
MOST_EIGENVALUES = 10


def write(out: Console, release: Release, everything: bool = False, about: str = POPULATION) -> None:
    """Print a release: promise, spends, estimates; ``about`` says what standard errors are about."""
    print_promise(out, release)
    if (unknown := unknown_line(release)) is not None:
        out.print(spends_table(release.spent))
        out.print(unknown, soft_wrap=True)
        return
    for line in (
        groups_line(release),
        numbers_line(release),
        weights_line(release),
        clip_line(release),
        options_line(release),
        error_line(release),
        zero_line(release),
    ):
        if line:
            out.print(line, soft_wrap=True)
    out.print(spends_table(release.spent))
    limit = None if everything else MOST_FEATURES
    if release.estimate.coefficients is not None:
        models.write_model(out, release.ridge().reading(), None, limit)
        return
    if release.estimate.k is not None:
        components.write_held(out, release.pca(), limit)
    name = printable(release.header()["mechanism"]["name"])
    said = release.describe(about)
    descriptions.write(out, said, f"estimate ({name}, postprocess {printable(release.postprocess)})", limit)
    if region := confidence_line(release):
        out.print(region, soft_wrap=True)
    if holds_covariance(release):
        out.print(spectrum_line(said, None if everything else MOST_EIGENVALUES), soft_wrap=True)


def write_made(out: Console, release: Release, file: str) -> None:
    """Print what a new release promises, what came out, and what to do next."""
    out.print(f"Privacy: {release.statement()}", soft_wrap=True)
    out.print(release.risk(), soft_wrap=True)
    if release.ledger is not None:
        out.print(ledger_line(release.ledger), soft_wrap=True)
    out.print(f"Mechanism: {release.how()}.")
    about_rows = groups_line(release, shlex.quote(file)), weights_line(release)
    for line in (*about_rows, clip_line(release), error_line(release), zero_line(release)):
        if line:
            out.print(line, soft_wrap=True)
    if release.estimate.k is not None:
        components.write_held(out, release.pca(), MOST_AT_FIRST, loadings_too=False)
    descriptions.write(out, release.describe(), limit=MOST_AT_FIRST)
    if release.describe().nothing:
        out.print(MORE, soft_wrap=True)
    out.print("\n  ".join([f"Written to {shlex.quote(file)}. Next:", *_next(release, shlex.quote(file))]), soft_wrap=True)


def _next(release: Release, file: str) -> list[str]:
    """Return commands that a new release is for."""
    if release.estimate.k is not None:
        chain = [f"dpcov pca {file} --convergence chains.png"] * is_chain(release)
        return [f"dpcov pca {file} --plot picture.png", *chain]
    if release.estimate.covariance is None:
        return [f"dpcov show {file}"]
    model = [f"dpcov ridge {file} --target {shlex.quote(release.feature_names[0])}"] * (release.d > 1)
    return [f"dpcov show {file}", f"dpcov show {file} --plot picture.png", f"dpcov pca {file}", *model]


def record(release: Release, about: str = POPULATION) -> dict[str, Any]:
    """Return a release's facts and estimates for machines."""
    spent = [{"asked": s.asked, "noise": s.noise, "budget": s.budget.to_json()} for s in release.spent]
    if (unknown := unknown_line(release)) is not None:
        header = {**release.header(), "statement": release.statement(), "risk": release.risk()}
        return {**header, "spent": spent, "estimate": None, "unknown": unknown}
    found = {**facts(release, about), "spent": spent}
    if holds_covariance(release):
        found["covariance" if is_centered(release) else "second_moment"] = finite(release.covariance)
        found["eigenvalues"] = spectrum_record(release.describe(about))
    return found


def promise(release: Release) -> dict[str, Any]:
    """Return what a machine wants to know of the release behind a use of it."""
    header = release.header()
    return {
        "kind": header["kind"],
        "seeded": release.seeded,
        "mechanism": header["mechanism"]["name"],
        "n": release.n,
        "d": release.d,
        **_grouped(release),
        "center": release.center,
        "privacy": release.privacy.to_json(),
        "statement": release.statement(),
        "risk": release.risk(),
        **({"dates": dated} if (dated := dated_features(release)) else {}),
    }


def _grouped(release: Release) -> dict[str, Any]:
    """Return which groups there are, and which of them this is, None of all together; nothing where there are none."""
    if not release.groups:
        return {}
    assert release.encoding.groups is not None
    whole = release if release.part is None else release.part.whole
    rows = [whole[level].n for level in whole.groups]
    level = None if release.part is None else release.part.level
    return {"by": release.encoding.groups.by, "groups": list(release.groups), "group": level, "group_rows": rows}


def _weighed(release: Release) -> dict[str, Any]:
    """Return what weight counts as 1, and how many rows of equal weight these are worth; nothing where all are alike."""
    if release.max_weight is None:
        return {}
    return {
        "max_weight": release.max_weight,
        "effective_n": release.effective_n,
        "effective_n_error": finite(release.effective_n_error),
    }


def dated_features(release: Release) -> dict[str, str]:
    """Return for each feature that is a date what its numbers are."""
    return {release.feature_names[place]: DAYS for place in Units(release.schema, release.d).dated}


def facts(release: Release, about: str = POPULATION) -> dict[str, Any]:
    """Return what a machine wants to know of a release."""
    header = release.header()
    return {
        **promise(release),
        "neighbors": release.neighbors,
        "unit": header["unit"],
        **_weighed(release),
        "requested": header["requested"]["name"],
        "postprocess": release.postprocess,
        "options": header["mechanism"]["options"],
        "notes": header["notes"],
        "ledger": header["ledger"] or None,
        "clip_radius": release.estimate.radius,
        "expected_error": finite(known_error(release)),
        "feature_names": list(release.feature_names),
        "ranges": {name: list(pair) for name, pair in release.ranges.items()},
        "observed": release.observed,
        "observed_error": {name: error or None for name, error in release.observed_error.items()},  # 0: hidden by noise
        **_estimates(release, about),
        **({} if (region := confidence(release)) is None else {"confidence": region}),
    }


def _estimates(release: Release, about: str) -> dict[str, Any]:
    """Return what is estimated: numbers for each feature, components, or a model."""
    if release.estimate.coefficients is not None:
        return models.numbers(release.ridge().reading())
    held = {} if release.estimate.k is None else components.numbers(release.pca())
    return {**descriptions.record(release.describe(about)), **held}


def columns(release: Release) -> dict[str, Any]:
    """Return the table of what the release is about: features, components, or coefficients."""
    if release.estimate.coefficients is not None:
        return models.columns(release.ridge())
    if release.estimate.k is not None:
        return components.columns(release.pca())
    return descriptions.columns(release.describe())


def figure(release: Release, about: str = POPULATION) -> Any:
    """Return a figure: correlations and their spectrum, components, or a model."""
    if release.estimate.k is not None:
        return components.figure(release.pca())
    if release.estimate.coefficients is not None:
        return models.figure(release.ridge())
    found = release.describe(about)
    if found.correlation is None:
        from dpcov.errors import ReleaseError

        raise ReleaseError("release must hold a covariance for a picture, got a mean. Hint: a mean has no picture.")
    of, (shown, heading) = spectrum_of(release), correlations.with_room(found.correlation)
    title = f"Which of {release.d} features go together"
    return matrices_figure(title, shown.feature_names, {heading: shown}, {of: found.spectrum}, of, release)


def about(release: Release) -> str | None:
    """Return what standard errors in the table are about; None of coefficients, which have intervals."""
    if release.estimate.coefficients is not None:
        return None
    return POPULATION if release.estimate.k is not None else release.describe().about
