"""What is said of a release in one sentence each, from the release alone."""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np

from dpcov.errors import ReleaseError, printable
from dpcov.kernel.questions.asked import BESIDE
from dpcov.kernel.questions.choices import Bias, Quantile, Radius
from dpcov.release.estimate import ConfidenceBall, NoisyDirections
from dpcov.release.record import Release
from dpcov.report.text import by, finite
from dpcov.uses.clipping import clipped_share, knows_no_mean
from dpcov.uses.held import holds_covariance

MOST_GROUPS = 20  # named in a line
MANY = 0.5  # of the rows: where so many may be clipped, means are of shortened rows


def known_error(release: Release) -> float | None:
    """Return the predicted error, which directions have none of; that of a matrix says little of its components."""
    return release.estimate.expected_error if release.estimate.k is None else None


def confidence_line(release: Release) -> str | None:
    """Say where the truth may lie; None for releases that do not tell."""
    found = confidence(release)
    if found is None:
        return None
    ball = "radius" in found
    what = (
        f"a ball of {found['radius']:.3g} deviations around the mean"
        if ball
        else f"two ellipsoids (see {by('--json', 'release.confidence')})"
    )
    honest = "proved, for Gaussian rows" if found["proved"] else "not proved: practical constants"
    return f"Confidence: {what}, which may fail with probability {found['beta']:g} ({honest})."


def groups_line(release: Release, file: str = "FILE") -> str | None:
    """Say which groups there are, and which of them what follows is about; None where there are none."""
    if not release.groups:
        return None
    assert release.encoding.groups is not None
    column = printable(release.encoding.groups.by)
    if release.part is not None and release.part.level is not None:
        own = release.estimate.own
        part = "" if own is None else f" by {100 * (1 - float(own.part.mean())):.0f} %"
        who = release.encoding.counted
        size = f"{who} count {release.n} together," if release.encoding.partial else f"{release.n} {who} are"
        return (
            f"Group {printable(release.part.level)} of {len(release.groups)} by {column}: estimates are drawn towards all "
            f"groups together{part}, as far as noise hides how it differs; its {size} a noisy number, too."
        )
    named = ", ".join(map(printable, release.groups[:MOST_GROUPS])) + ", ..." * (len(release.groups) > MOST_GROUPS)
    one = by(f"dpcov show {file} --group {shlex.quote(release.groups[0])}", f"release[{release.groups[0]!r}]")
    return f"Groups by {column}: {named}. What follows is of all of them together; {one} shows one."


def clip_line(release: Release) -> str | None:
    """Say where rows were clipped further, and how many may have been longer; None where they were not."""
    if knows_no_mean(release):
        return (
            "So few rows cannot tell where to clip: most may have been moved, from anywhere, and nothing is known of the mean."
        )
    if not release.clip_radius < release.row_norm:
        return None
    found = "found privately" if release.find(Quantile, Radius, Bias) else "as asked"
    unit = "" if release.schema is None else " of the encoded rows"
    share, longer = clipped_share(release), ""
    if share >= MANY:
        longer = " So few rows cannot tell where: most of them may have been shortened, by an unknown factor."
    elif share > 0:
        longer = f" At most about {100 * share:.2g} % of the rows were longer."
    return f"Clipped further: at norm {release.clip_radius:.3g}{unit}, {found}.{longer}"


def weights_line(release: Release) -> str | None:
    """Say what a weight counts as, and how much certainty weights cost; None where rows have none."""
    most = release.max_weight
    if most is None or release.encoding.aside is None:
        return None
    searched = release.encoding.aside.searched
    found = (
        f"{most:.4g}, found privately below {release.encoding.aside.max_weight:.4g}" if searched else f"{most:.4g}, as asked"
    )
    error, who = release.effective_n_error, release.encoding.counted
    size = f"at least {release.n:,}" if np.isinf(error) else f"about {release.effective_n:,.0f} (± {error:.2g})"
    said = f"Weights: {printable(release.weight)}; what is above {found}, counts as that. As weights differ, the sample tells "
    careful = f"; intervals take it for {release.independent_n:,.0f}, as weights may go with values"
    return f"{said}as much of a population as {size} {who} of equal weight, its effective size{careful}."


def zero_line(release: Release) -> str | None:
    """Say that an estimate is 0 although something was asked; None where it is not."""
    if not holds_covariance(release) or not release.answers or release.covariance.any():
        return None
    return "The estimate is 0: what was answered cannot be told from noise."


def error_line(release: Release, *, known_n: bool = True) -> str | None:
    """Say how large the noise is expected to be, and compared with what; divided by an n that is not known.

    None for components: how far they are off depends on the gaps of the spectrum, which nobody knows; a model has intervals.
    """
    if release.estimate.k is not None or release.estimate.coefficients is not None:
        return None
    if knows_no_mean(release):
        return "Expected error: not known; the noise is small beside what clipping may have done."
    expected = known_error(release)
    if all(isinstance(answer.question, BESIDE) for answer in release.answers):
        return "Too few rows for this budget: nothing was asked of them, and the estimate is 0."
    if expected is None and isinstance(release.estimate.noise, NoisyDirections):
        return "Expected error: not known before reading; the error of drawn directions depends on the spectrum."
    if expected is None:
        return "Expected error: not known; it depends on the data, or the mechanism does not say."
    error = f"{expected:.3g}" if known_n else f"{expected * release.n:.3g} / n"
    if release.estimate.radius is None:
        units = "the data's units" if release.schema is None else "the units of encoded rows"
        if release.estimate.covariance is None:
            return f"Expected error: {error}, the r.m.s. norm of the noise in the mean, in {units}; clipping adds to it."
        return f"Expected error: {error}, the r.m.s. Frobenius norm of the noise in the covariance, in {units}."
    rows = "rows divided by row_norm" if release.schema is None else "encoded rows"
    return (
        f"Expected error: {error}, the r.m.s. Frobenius norm of the noise in the second moment of the {rows}, "
        f"whose own norm is at most 1; {_beyond_noise(release)}."
    )


def _beyond_noise(release: Release) -> str:
    """Say what else the error of the estimate is made of."""
    raw = release.estimate.raw
    if raw is not None and raw.by is not None:
        return "at the radius that was drawn: clipping and the noise of the scale are not in it, denoising makes it smaller"
    if release.clip_radius < release.row_norm:
        return "noise only, without what clipping takes away; post-processing makes it smaller"
    return "post-processing makes it smaller"


def confidence(release: Release) -> dict[str, Any] | None:
    """Return the confidence region for machines; None for a release that has none."""
    if release.estimate.region is None:
        return None
    found = release.confidence
    shape = {"proved": found.proved, "beta": found.beta}
    if isinstance(found, ConfidenceBall):
        return {**shape, "centre": finite(found.centre), "radius": found.radius, "whitener": finite(found.whitener)}
    outer = found.outer.tolist() if np.isfinite(found.outer).all() else None
    return {**shape, "inner": finite(found.inner), "outer": outer}


def numbers_line(release: Release) -> str:
    """Say where rows were clipped, and how numbers were made."""
    numerics = " and ".join(sorted({law.numerics for answer in release.answers for law in answer.laws}))
    if release.estimate.radius is None:
        clip = "rows clipped in public coordinates, round by round"
    else:
        clip = f"rows clipped to norm {release.row_norm:g}" if release.schema is None else "values clipped to public bounds"
    return f"Numbers: {clip}, on a {release.encoding.bits}-bit grid; {numerics or 'no'} noise."


def options_line(release: Release) -> str | None:
    """List the options of the mechanism, and what it noted, but lists; None where there are none."""
    header = release.header()
    named = {**header["mechanism"]["options"], **header["notes"]}
    told = {name: value for name, value in named.items() if value is not None and not isinstance(value, list)}
    listed = ", ".join(f"{printable(name)}={printable(str(value))}" for name, value in told.items())
    return f"Options: {listed}." if listed else None


def unknown_line(release: Release) -> str | None:
    """Say why nothing can be estimated: the mechanism is none that is known here; None where all is well."""
    try:
        _ = release.estimate
    except ReleaseError as error:
        return f"No estimates: {str(error).partition(' Hint:')[0].rstrip('.')}."
    return None
