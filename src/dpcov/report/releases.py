"""What the commands say about a release, computed from the release alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.questions.moments import Count
from dpcov.release.estimate import NoisyDirections
from dpcov.release.record import Release
from dpcov.report.components import record
from dpcov.report.descriptions import DEVIATION, description_record
from dpcov.report.text import finite
from dpcov.uses.held import holds_covariance, what_it_holds

Floats = NDArray[np.float64]

MANY = 0.5  # of the rows: where so many may be clipped, means are of shortened rows


def is_centred(release: Release) -> bool:
    """Whether a release estimates the covariance about the mean: by a mean, or by differences of rows."""
    return release.center or release.encoding.pairs


def roots(release: Release) -> tuple[str, Floats]:
    """Return standard deviations where the release is centred, else root mean squares, in the user's units."""
    return DEVIATION[is_centred(release)], np.sqrt(np.maximum(np.diag(release.covariance), 0.0))


def what_correlates(release: Release) -> str:
    """Name what `Release.correlation` is: cosines about 0 where the release has no mean."""
    return "correlation" if is_centred(release) else "cosines about 0"


def spectrum_of(release: Release) -> str:
    """Name the matrix whose eigenvalues are shown: a second moment's own only where its columns share a unit."""
    return "second moment" if not is_centred(release) and release.schema is None else what_correlates(release)


def promise(release: Release) -> dict[str, Any]:
    """Return what a machine wants to know of the release behind a use of it."""
    header = release.header()
    return {
        "kind": header["kind"],
        "seeded": release.seeded,
        "mechanism": header["mechanism"]["name"],
        "n": release.n,
        "d": release.d,
        "center": release.center,
        "privacy": release.privacy.to_json(),
        "statement": release.statement(),
    }


def facts(release: Release) -> dict[str, Any]:
    """Return what a machine wants to know of a release."""
    header = release.header()
    return {
        **promise(release),
        "neighbors": release.neighbors,
        "requested": header["requested"]["name"],
        "postprocess": release.postprocess,
        "options": header["mechanism"]["options"],
        "notes": header["notes"],
        "clip_radius": release.estimate.radius,
        "expected_error": finite(known_error(release)),
        "feature_names": list(release.feature_names),
        "ranges": {name: list(pair) for name, pair in release.ranges.items()},
        "observed": release.observed,
        **_estimates(release),
        **_confidence(release),
    }


def _estimates(release: Release) -> dict[str, Any]:
    """Return what is estimated: numbers for each feature, components, or a model."""
    if release.estimate.coefficients is not None:
        from dpcov.report.models import LEVEL, told
        from dpcov.report.models import record as model_record

        return model_record(told(release, release.ridge(), LEVEL))
    if release.estimate.k is not None:
        return {**description_record(release.describe(), centred=is_centred(release)), **record(release.pca())}
    return description_record(release.describe(), centred=is_centred(release))


def confidence_line(release: Release) -> str | None:
    """Say where the truth may lie; None for releases that do not tell."""
    found = _confidence(release).get("confidence")
    if found is None:
        return None
    ball = "radius" in found
    what = f"a ball of {found['radius']:.3g} deviations around the mean" if ball else "two ellipsoids (see --json)"
    honest = "proved, for Gaussian rows" if found["proved"] else "not proved: practical constants"
    return f"Confidence: {what}, which may fail with probability {found['beta']:g} ({honest})."


def _confidence(release: Release) -> dict[str, Any]:
    """Return the confidence region of a release that has one."""
    from dpcov.errors import ReleaseError
    from dpcov.release.estimate import ConfidenceBall

    try:
        found = release.confidence
    except ReleaseError:
        return {}
    shape = {"proved": found.proved, "beta": found.beta}
    if isinstance(found, ConfidenceBall):
        return {
            "confidence": {
                **shape,
                "centre": finite(found.centre),
                "radius": found.radius,
                "whitener": finite(found.whitener),
            }
        }
    outer = found.outer.tolist() if np.isfinite(found.outer).all() else None
    return {"confidence": {**shape, "inner": finite(found.inner), "outer": outer}}


def known_error(release: Release) -> float | None:
    """Return the predicted error, which directions have none of; that of a matrix says little of its components."""
    return release.estimate.expected_error if release.estimate.k is None else None


def clip_line(release: Release) -> str:
    """Say where rows were clipped further, and how many may have been longer."""
    from dpcov.kernel.questions.choices import Bias, Quantile, Radius
    from dpcov.uses.clipping import clipped_share

    found = "found privately" if release.find(Quantile, Radius, Bias) else "as asked"
    unit = "" if release.schema is None else " of the encoded rows"
    share, longer = clipped_share(release), ""
    if share >= MANY:
        longer = " So few rows cannot tell where: most of them may have been shortened, by an unknown factor."
    elif share > 0:
        longer = f" About {100 * share:.2g} % of the rows were longer, at most."
    return f"Clipped further: at norm {release.clip_radius:.3g}{unit}, {found}.{longer}"


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
    expected = known_error(release)
    if all(isinstance(answer.question, Count) for answer in release.answers):
        return "Too few rows for this budget: nothing was asked of them, and the estimate is 0."
    if expected is None and isinstance(release.estimate.noise, NoisyDirections):
        return "Expected error: not known before reading; the error of drawn directions depends on the spectrum."
    if expected is None:
        return "Expected error: not known; it depends on the data, or its mechanism does not tell."
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


def check_covariance(release: Release, use: str) -> None:
    """Refuse a release that holds no covariance; ``use`` says what it would be for."""
    from dpcov.errors import ReleaseError

    if not holds_covariance(release):
        hint = "`dpcov release` without --pca makes one" if release.estimate.k is not None else "`dpcov release` makes one"
        raise ReleaseError(f"release must hold a covariance for {use}, got {what_it_holds(release)}. Hint: {hint}.")


def reason(error: Exception) -> str:
    """Return what an error says, without its hint, which may speak of Python."""
    return str(error).partition(" Hint:")[0].rstrip(".")
