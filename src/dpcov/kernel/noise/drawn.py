"""The laws of drawn directions and subspaces, as a release records them: they are drawn from a matrix, not added to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, shown
from dpcov.kernel.bits import Bits
from dpcov.kernel.noise.laws import NoiseLaw, Spread

MOST_SWEEPS = 10**7  # of a chain


class _Drawn:
    """What is not asked of a law that draws from a matrix."""

    def draw(self, sizes: Sequence[int], bits: Bits) -> NoReturn:
        """Refuse: directions are drawn from a matrix, not added to one."""
        raise NotImplementedError

    def settle(self, total: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the directions themselves."""
        return total

    def spread(self) -> Spread:
        """Refuse: there is no noise matrix."""
        raise NotImplementedError


@dataclass(frozen=True)
class Bingham(_Drawn):
    """The law of drawn directions: one concentration each, for rows of norm 1."""

    concentrations: tuple[tuple[str, Fraction], ...]
    law: ClassVar[str] = "bingham"
    numerics: ClassVar[str] = "float"

    def __post_init__(self) -> None:
        if any(value <= 0 for _, value in self.concentrations):
            raise ParameterError("concentrations must be positive, got 0 or less. Hint: every private draw costs some budget.")

    def is_at_least(self, other: NoiseLaw) -> bool:
        """Whether no direction is more concentrated than allowed."""
        if not isinstance(other, Bingham) or len(other.concentrations) != len(self.concentrations):
            return False
        return all(a <= b for (_, a), (_, b) in zip(self.concentrations, other.concentrations, strict=True))

    def to_json(self) -> dict[str, str]:
        """Return the concentrations by number."""
        return {name: str(value) for name, value in self.concentrations}

    @classmethod
    def from_json(cls, record: Mapping[str, Fraction]) -> Self:
        """Read the concentrations by number."""
        return cls(tuple(record.items()))


@dataclass(frozen=True)
class MatrixBingham(_Drawn):
    """The law that a chain of subspaces tends to, for rows of norm 1; **the chain has it in the limit only**."""

    concentration: Fraction
    sweeps: int
    law: ClassVar[str] = "matrix bingham"
    numerics: ClassVar[str] = "markov chain"

    def __post_init__(self) -> None:
        if self.concentration <= 0:
            raise ParameterError("concentration must be positive, got 0 or less. Hint: every private draw costs some budget.")
        if type(self.sweeps) is not int or not 1 <= self.sweeps <= MOST_SWEEPS:
            raise ParameterError(
                f"sweeps must be an integer from 1 to 10**7, got {shown(self.sweeps)}. Hint: 20000 is a usual number."
            )

    def is_at_least(self, other: NoiseLaw) -> bool:
        """Whether it is not more concentrated than allowed."""
        return isinstance(other, MatrixBingham) and self.concentration <= other.concentration

    def to_json(self) -> dict[str, str]:
        """Return the concentration, and how long the chain was."""
        return {"concentration": str(self.concentration), "sweeps": str(self.sweeps)}

    @classmethod
    def from_json(cls, record: Mapping[str, Fraction]) -> Self:
        """Read the concentration, and how long the chain was."""
        known = dict(record)
        sweeps = known.pop("sweeps")
        if sweeps.denominator != 1:
            raise ParameterError("sweeps must be an integer, got a fraction. Hint: a Markov chain makes whole sweeps.")
        return cls(**known, sweeps=sweeps.numerator)


@dataclass(frozen=True)
class Uniform(_Drawn):
    """A subspace that has nothing to do with the rows."""

    law: ClassVar[str] = "uniform"
    numerics: ClassVar[str] = "float"

    def is_at_least(self, other: NoiseLaw) -> bool:  # noqa: ARG002
        """Return True: nothing is noisier."""
        return True

    def to_json(self) -> dict[str, str]:
        """Return nothing."""
        return {}

    @classmethod
    def from_json(cls, record: Mapping[str, Fraction]) -> Self:
        """Read nothing."""
        return cls(**record)
