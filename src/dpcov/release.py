"""The release: a frozen record that outlives the process and needs nothing but itself.

It holds the raw noisy answers and the law of their noise. Estimates are computed from them on demand, so a better
post-processing can be applied to an old file.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ReleaseError
from dpcov.linalg import unpack
from dpcov.privacy.budget import ZCDP, ApproxDP, Budget, PureDP, decimal_text
from dpcov.privacy.noise import NoiseLaw, RoundedLaw
from dpcov.shrinkage import POSTPROCESS

Option = str | int | float | bool

OPTIONS: dict[str, tuple[str, ...]] = {"constants": ("tight", "paper"), "numerics": ("rounded", "exact")}
"""The options that a release can carry, and their values."""


@dataclass(frozen=True, eq=False)
class Answer:
    """A noisy sum as it left the curator: integers, the size of their unit, and the law of the noise in them."""

    statistic: str
    integers: NDArray[np.int64]
    unit_bits: int
    noise: NoiseLaw

    def __post_init__(self) -> None:
        self.integers.flags.writeable = False

    @property
    def values(self) -> NDArray[np.float64]:
        """The answer in units of the encoded rows (row norm 1)."""
        return np.ldexp(self.integers.astype(np.float64), -self.unit_bits)


@dataclass(frozen=True)
class Spend:
    """One question that was asked of the data, and what it cost."""

    asked: str
    noise: str
    budget: Budget


@dataclass(frozen=True, eq=False, kw_only=True)
class Release:
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
    def second_moment(self) -> NDArray[np.float64]:
        """Estimate of (1/n) Σ x xᵀ over the clipped rows, in the data's units."""
        answer = self._second_moment_answer()
        with np.errstate(all="ignore"):  # extreme units and budgets overflow harmlessly inside
            noise = answer.noise.spread().scaled(2.0**-answer.unit_bits / self.n)
            noisy = unpack(answer.values, self.d) / self.n
            estimate = POSTPROCESS[self.postprocess](noisy, 1.0, noise) * self.row_norm**2
        estimate.flags.writeable = False
        return estimate

    @property
    def expected_error(self) -> float:
        """The r.m.s. Frobenius norm of the noise in the raw second moment, for rows of norm 1: known before the data are read.

        Post-processing makes the error of `second_moment` smaller; clipping, and a noisy n, add to it.
        """
        answer = self._second_moment_answer()
        return answer.noise.spread().scaled(2.0**-answer.unit_bits / self.n).rms(self.d)

    def _second_moment_answer(self) -> Answer:
        for answer in self.answers:
            if answer.statistic == "second moment":
                return answer
        raise ReleaseError("release must hold a second moment, got none. Hint: ask the curator before releasing.")

    @property
    def covariance(self) -> NDArray[np.float64]:
        """The covariance estimate; for an uncentred release this is `second_moment`."""
        return self.second_moment

    def statement(self) -> str:
        """Say in one paragraph what this release promises."""
        change = {
            "replace": f"replacing any one of the {self.n} rows",
            "add-remove": "adding or removing any one row",
        }[self.neighbors]
        promise = {
            ZCDP: lambda p: f"{decimal_text(p.rho)}-zCDP (at delta = 1e-6: epsilon = {_round_up(p.epsilon(1e-6))})",
            PureDP: lambda p: f"{decimal_text(p.epsilon)}-DP",
            ApproxDP: lambda p: f"({decimal_text(p.epsilon)}, {decimal_text(p.delta)})-DP",
        }[type(self.privacy)](self.privacy)
        rounded = [law for law in (answer.noise for answer in self.answers) if isinstance(law, RoundedLaw)]
        if rounded:
            promise += f" (but for a probability below 2**-{math.floor(-math.log2(max(law.tail for law in rounded))) - 1})"
        if self.seeded:
            return f"seeded: not private. With the operating system's randomness it would be {promise} for {change}."
        return f"{promise} for {change}; column names, row_norm and the options are public."

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the release as JSON; the file appears whole or not at all."""
        from dpcov.release_file import write

        write(self, path)

    def __repr__(self) -> str:
        parts = [f"{self.privacy!r}", self.neighbors, self.mechanism, f"n={self.n}", f"d={self.d}"]
        return f"<Release of a {self.kind}: {', '.join(parts + ['seeded: not private'] * self.seeded)}>"


def _round_up(epsilon: float) -> str:
    """Write four digits that do not promise more than was proved."""
    return str(Context(prec=4, rounding=ROUND_CEILING).create_decimal_from_float(epsilon).normalize())
