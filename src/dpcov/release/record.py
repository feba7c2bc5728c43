"""The release: a frozen record that outlives the process and needs nothing but itself.

It holds the raw noisy answers and the law of their noise. Estimates are computed from them on demand, so a better
post-processing can be applied to an old file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ReleaseError
from dpcov.estimate import encoded, moment_error
from dpcov.estimate_framed import first_frame, framed_error, framed_mean, framed_moments, is_framed
from dpcov.kernel.answer import Answer, Spend
from dpcov.kernel.budget import Budget
from dpcov.kernel.rows.centring import mean_and_covariance
from dpcov.options import Option
from dpcov.release.statement import promise, statement
from dpcov.release.uses import Uses
from dpcov.schema import Schema

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Release(Uses):
    """What was learnt about the rows, what was promised for it, and how to use it.

    Attributes
    ----------
    privacy : PureDP, ZCDP or ApproxDP
        The promise, for neighbours that differ as ``neighbors`` says.
    spent : tuple of Spend
        Every question asked of the data.
    n : int
        Number of rows: public under "replace", a noisy count (at least 1) under "add-remove".
    seeded : bool
        True means that the noise can be predicted: **not private**, for tests and papers only.
    """

    kind: str
    privacy: Budget
    neighbors: str
    n: int
    feature_names: tuple[str, ...]
    row_norm: float
    grid_bits: int
    center: bool = False
    schema: Schema | None = None
    mechanism: str
    requested: str
    options: Mapping[str, Option] = field(default_factory=dict)
    postprocess: str
    answers: tuple[Answer, ...]
    spent: tuple[Spend, ...]
    seeded: bool
    dpcov_version: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", MappingProxyType(dict(self.options)))

    @property
    def d(self) -> int:
        """The number of columns."""
        return len(self.feature_names)

    @cached_property
    def second_moment(self) -> Floats:
        """Estimate of (1/n) Σ x xᵀ over the clipped rows, in the data's units."""
        if self.options.get("centring") == "pairs":
            raise ReleaseError("release must know where 0 is, got one of differences. Hint: use release.covariance.")
        if not self.center:  # rows that were taken to have a public mean are about that
            origin = self.units * (first_frame(self).centre if is_framed(self) else 0.0)
            return _frozen(self.covariance + np.outer(origin, origin)) if origin.any() else self.covariance
        with np.errstate(all="ignore"):
            return _frozen(self.covariance + np.outer(self.mean, self.mean))

    @cached_property
    def mean(self) -> Floats:
        """Estimate of (1/n) Σ x over the clipped rows, in the data's units, inside the public bounds."""
        if self.kind == "ridge":
            raise ReleaseError("release must hold a mean, got coefficients. Hint: dpcov.covariance(..., center=True).")
        if self.kind != "mean" and not self.center:
            raise ReleaseError("release must be centred to have a mean, got one that is not. Hint: release with center=True.")
        if is_framed(self):
            return self._mean_in_units(framed_mean(self) if self.kind == "mean" else self._moments[0], 1.0)
        encoded = mean_and_covariance(self.encoded_estimate)[0]
        if self.postprocess != "none" and self.schema is None:
            encoded = encoded / max(1.0, float(np.linalg.norm(encoded)))
        return self._mean_in_units(encoded, self.clip_radius)

    def _mean_in_units(self, encoded: Floats, unit: float) -> Floats:
        """Return a mean of encoded rows in the data's units, inside the bounds of a schema."""
        with np.errstate(all="ignore"):
            mean = self.offsets + self.units * unit * encoded
        if self.postprocess != "none" and self.schema is not None:
            mean = np.clip(mean, *self.schema.bounds())
        return _frozen(mean)

    @cached_property
    def covariance(self) -> Floats:
        """Estimate of the covariance (divided by n) in the data's units; for an uncentred release this is `second_moment`."""
        if self.kind == "pca":
            raise ReleaseError("release must hold a covariance, got components. Hint: dpcov.covariance has both.")
        with np.errstate(all="ignore"):
            return _frozen(self.encoded_covariance * np.outer(self.units, self.units))

    @cached_property
    def encoded_covariance(self) -> Floats:
        """The `covariance` of rows as the schema encodes them; without one it is the same."""
        if self.kind in ("mean", "ridge"):
            held = "one of a mean" if self.kind == "mean" else "coefficients"
            raise ReleaseError(f"release must hold a covariance, got {held}. Hint: dpcov.covariance(..., center=True).")
        if is_framed(self):
            return self._moments[1]
        covariance = mean_and_covariance(self.encoded_estimate)[1] if self.center else self.encoded_estimate
        if self.center and self.postprocess != "none":  # rounding may leave a variance of zero at −1e-16
            np.fill_diagonal(covariance, np.maximum(covariance.diagonal(), 0.0))
        with np.errstate(all="ignore"):
            return _frozen(covariance * self.clip_radius * self.clip_radius)

    @property
    def expected_error(self) -> float:
        """The r.m.s. Frobenius norm of the noise in the raw second moment of encoded rows (norm 1): public knowledge.

        Post-processing makes the error of `second_moment` smaller; clipping, a noisy n, a noisy mean, and the noisy scale of
        `rescaled` add to it. For answers in public coordinates: of the last one, in the units of rows (encoded, with a schema);
        of a mean, the r.m.s. Euclidean norm.
        """
        return framed_error(self) if is_framed(self) else moment_error(self)

    @cached_property
    def encoded_estimate(self) -> Floats:
        """The second moment of encoded rows, in units of `clip_radius`, as it was estimated; centred: with a constant."""
        return encoded(self)

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        """Mean and covariance in the units of the encoded rows, from an answer in public coordinates."""
        with np.errstate(all="ignore"):
            return framed_moments(self)

    @property
    def units(self) -> Floats:
        """The user's units per encoded unit, for each feature, before rows are divided by a radius."""
        return np.ones(self.d) if self.schema is None else self.schema.scales(self.about_midpoints)

    @property
    def offsets(self) -> Floats:
        """What is encoded as 0, for each feature."""
        return np.zeros(self.d) if self.schema is None else self.schema.offsets(self.about_midpoints)

    @property
    def about_midpoints(self) -> bool:
        """Whether a schema encodes columns about their midpoints: where a mean is wanted."""
        return self.center or self.kind == "mean" or self.options.get("centring") == "pairs"

    @property
    def directions(self) -> Floats:
        """The private directions, a unit row each, in the coordinates of the encoded rows."""
        answer = self.answer("directions")
        if answer is None:
            raise ReleaseError("release must hold directions, got none. Hint: mechanism='eigenvectors' draws them.")
        rows = answer.values.reshape(-1, self.d + self.center)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    def answer(self, statistic: str) -> Answer | None:
        """Return the answer to a question by its name; None where it was not asked."""
        return next((answer for answer in self.answers if answer.statistic == statistic), None)

    @property
    def clip_radius(self) -> float:
        """Where rows were clipped, in units of row_norm's own (with a schema: of the encoded rows); at most row_norm."""
        moment = self.answer("second moment") or self.answer("block")
        return moment.radii[0] if moment is not None and moment.radii else self.row_norm

    def statement(self) -> str:
        """Say in one paragraph what this release promises."""
        promised = promise(self.privacy, [answer.noise for answer in self.answers])
        own = "radius, origin" if self.kind == "mean" else "bounds of the covariance" if is_framed(self) else "row_norm"
        public = own if self.schema is None else "bounds, levels, weights"
        rows = f"row of the {self.n} pairs" if self.options.get("centring") == "pairs" else f"of the {self.n} rows"
        return statement(promised, self.neighbors, rows, self.seeded, public)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the release as JSON; the file appears whole or not at all, in place of one that was there."""
        from dpcov.release.file import write

        write(self, path)

    def __reduce__(self) -> tuple[Callable[[str], Release], tuple[str]]:
        from dpcov.release.file import parse, text_of

        return parse, (text_of(self),)  # a pickle holds what the file would hold, and is checked like it

    def __repr__(self) -> str:
        approximate = "approximate " * any(answer.noise.numerics == "markov chain" for answer in self.answers)
        parts = [f"{approximate}{self.privacy!r}", self.neighbors, self.mechanism, f"n={self.n}", f"d={self.d}"]
        return f"<Release of a {self.kind}: {', '.join(parts + ['seeded: not private'] * self.seeded)}>"


def _frozen(estimate: Floats) -> Floats:
    estimate.flags.writeable = False
    return estimate
