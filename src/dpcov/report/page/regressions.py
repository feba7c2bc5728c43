"""What the page needs to solve any regression of a release by itself: the same numbers that `Release.ridge` computes with."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ReleaseError
from dpcov.kernel.noise.laws import DiscreteLaplace
from dpcov.kernel.rows.centring import CONSTANT
from dpcov.release.estimate import NoisyMatrix, PrivateUnits
from dpcov.release.record import Release
from dpcov.report.page.store import Store
from dpcov.uses.description import RARELY
from dpcov.uses.held import tells_noise
from dpcov.uses.model_reading import DROWNED, NOTHING, TOO_WIDE, comparable_scales
from dpcov.uses.noise_level import Coordinates, Eigenbasis
from dpcov.uses.raw import RawMoment, raw_moment
from dpcov.uses.sampling import rows_seen
from dpcov.uses.selection import column_of_feature
from dpcov.uses.tails import peaks, quantile

Floats = NDArray[np.float64]

LEVEL = 0.95
NODES = 65  # of the quantile in 1/k: between them four digits are right, as in `tails`
LARGE = 256  # features: of more, matrices are made of the eigenvectors that the page has anyway
SAME = 1e-11  # of the largest entry: rounding errors of a product


def regressions(release: Release, store: Store) -> dict[str, Any]:
    """Put the arrays of a release's covariance into the store, and return the numbers beside them."""
    from scipy.special import ndtri

    columns = column_of_feature(release.schema, release.feature_names)
    per, scales = comparable_scales(release)
    store.put("scales", release.units)
    store.put("offsets", release.offsets)
    store.put("rows_seen", rows_seen(release))
    store.put("comparable", scales)
    store.put("quantiles", quantile_nodes())
    store.put("limits", ndtri(1 - (1 - RARELY) / 2 / np.arange(1, release.d + 1)))
    if release.center:
        store.put("mean", release.mean)
    units = release.estimate.units
    facts = {
        "rows": release.independent_n,
        "level": LEVEL,
        "per": per,
        "constant": release.encoding.constant,
        "centred": release.center,
        "pairs": release.encoding.pairs,
        "isRaw": release.postprocess == "none",
        "tellsNoise": tells_noise(release),
        "radius": release.clip_radius,
        "references": _references(release, columns),
        "apart": _apart(release),
        "limits": {"nothing": NOTHING, "drowned": DROWNED, "tooWide": TOO_WIDE},
    }
    if units is not None:
        return {**facts, "units": _units(units, store), "silent": None}
    return {**facts, "units": None, **_encoded(release, store)}


def quantile_nodes() -> Floats:
    """Return the quantiles of the page's level at evenly spaced 1/k, from 0 to 1."""
    return np.asarray(quantile(np.linspace(0.0, 1.0, NODES), LEVEL))


def _references(release: Release, columns: list[str]) -> list[int]:
    """Return for each column the feature that its other levels are compared with; −1 where it has no levels."""
    found = []
    for name in dict.fromkeys(columns):
        own = [place for place, column in enumerate(columns) if column == name]
        levels = len(own) > 1 and release.encoding.constant
        found.append(max(own, key=lambda j: float(release.mean[j])) if levels else -1)
    return found


def _apart(release: Release) -> dict[int, list[int]]:
    """Return for columns that are computed from the same cells as others which these are: no features of each other."""
    if release.schema is None:
        return {}
    cells = list(release.schema.values().values())
    found = {i: [k for k, other in enumerate(cells) if k != i and own & other] for i, own in enumerate(cells)}
    return {i: others for i, others in found.items() if others}


def _units(units: PrivateUnits, store: Store) -> dict[str, Any]:
    """Put a table in private units into the store."""
    for name in ("back", "forward", "centre", "mean"):
        store.put(f"units_{name}", getattr(units, name))
    store.put("units_owner", units.owner, "<i2")
    store.put("units_column", units.column, "<i2")
    store.put("units_seen", units.coordinate_seen)
    store.put_upper("units_covariance", units.covariance)
    store.put_upper("units_raw", units.raw_covariance)
    width = len(units.owner) + 1
    return {
        "variance": units.variance,
        "left": units.left,
        "meanVariance": units.mean_variance,
        "weightError": units.weight_error,
        "peaked": peaks(units.law, width)[0],
        "independent": isinstance(units.law, DiscreteLaplace),
    }


def _encoded(release: Release, store: Store) -> dict[str, Any]:
    """Put the covariance of encoded features into the store, the raw one where it is held, and the noise in them."""
    raw, silent = None, None
    try:
        raw = raw_moment(release)
    except ReleaseError as error:
        silent = str(error).partition(" Hint:")[0].rstrip(".")
    level = release.noise_level if tells_noise(release) else None
    spectral = isinstance(level, Eigenbasis) and _is_spectral(release, level, raw)
    if not spectral:
        store.put_upper("covariance", release.encoded_covariance)
    if raw is not None:
        store.put("raw_mean", raw.mean)
        if not spectral:
            store.put_upper("raw_covariance", raw.covariance)
    return {
        "spectral": spectral,
        "silent": silent,
        "raw": None if raw is None else _raw_facts(raw),
        "noise": None if level is None else _noise(release, level, store),
    }


def _raw_facts(raw: RawMoment) -> dict[str, Any]:
    return {
        **{name: getattr(raw, name) for name in ("diagonal", "off", "along", "gain")},
        "gainPeaked": raw.gain_peaked,
        "peaked": raw.peaked[0],
        "independent": raw.independent,
    }


def _is_spectral(release: Release, level: Eigenbasis, raw: RawMoment | None) -> bool:
    """Whether both matrices have the eigenvectors of the noise, and are many times what their eigenvalues are."""
    found = release.estimate.noise
    if release.d <= LARGE or raw is None or release.encoding.constant or not isinstance(found, NoisyMatrix):
        return False
    values = np.linalg.eigvalsh(found.noisy) * found.stretch
    made = (level.basis * level.values) @ level.basis.T * level.unit**2, (level.basis * values) @ level.basis.T
    held = release.encoded_covariance, raw.covariance
    return all(
        float(np.abs(one - other).max()) <= SAME * float(np.abs(other).max()) for one, other in zip(made, held, strict=True)
    )


def _noise(release: Release, level: Eigenbasis | Coordinates | Any, store: Store) -> dict[str, Any]:
    """Put what is known of the noise into the store."""
    if isinstance(level, Coordinates):
        store.put("noise_back", level.back)
        return {"kind": "coordinates", "variance": level.variance}
    store.put("noise_basis", level.basis)
    store.put("noise_values", level.values)
    facts = {"kind": "eigenbasis", "unit": level.unit, "corner": CONSTANT, "lifted": level.mean is not None}
    if level.mean is not None:
        store.put("noise_mean", level.mean)
    found = release.estimate.noise
    if not isinstance(found, NoisyMatrix):
        store.put("noise_variances", level.variances)
        return facts
    store.put("noise_noisy", np.linalg.eigvalsh(found.noisy))
    spread = found.spread
    return {**facts, "stretch": found.stretch, "diagonal": spread.diagonal_variance, "off": spread.off_diagonal_variance}
