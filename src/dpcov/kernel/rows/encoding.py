"""How rows become integers of bounded norm, and what a column's numbers mean afterwards: all of it is public."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError
from dpcov.kernel.rows.aside import ROW, Aside
from dpcov.kernel.rows.columns import Columns
from dpcov.kernel.rows.grid import DEFAULT_BITS, Grid, most_rows
from dpcov.kernel.rows.groups import Groups
from dpcov.schema import Schema

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Encoding:
    """The public encoding of rows.

    Attributes
    ----------
    feature_names : tuple of str
        The names of the d features of a row.
    row_norm : float
        Longer rows are clipped to this norm; 1 with a schema.
    bits : int
        Coordinates are multiples of 2⁻ᵇⁱᵗˢ of it. Fewer leave room for the sums of more rows.
    constant : bool
        Whether rows have a constant coordinate in front, so that one second moment holds n, the mean and the covariance.
    midpoints : bool
        Whether a schema encodes columns about their midpoints; else about 0.
    pairs : bool
        Whether a row is the difference of two rows of the table.
    schema : Schema, optional
        Public bounds and levels of the columns.
    groups : Groups, optional
        The public groups into which rows fall, by a column that is no feature.
    aside : Aside, optional
        The columns beside the features, which say whose a row is; None: each row is a person.
    """

    feature_names: tuple[str, ...]
    row_norm: float
    bits: int = DEFAULT_BITS
    constant: bool = False
    midpoints: bool = False
    pairs: bool = False
    schema: Schema | None = None
    groups: Groups | None = None
    aside: Aside | None = None

    @cached_property
    def grid(self) -> Grid:
        """The grid of unclipped rows."""
        return Grid(self.row_norm, self.bits, self.constant)

    @cached_property
    def columns(self) -> Columns | None:
        """Where columns stand in rows by column; None where no schema encodes rows about the midpoints of its bounds."""
        by_midpoints = self.midpoints and not self.pairs and self.row_norm == 1
        return Columns.of(self.schema) if self.schema is not None and by_midpoints else None

    @property
    def d(self) -> int:
        """The number of features."""
        return len(self.feature_names)

    @property
    def most_rows(self) -> int:
        """How many rows, or people, have exact sums: 2³⁰ at 16 bits."""
        return most_rows(self.bits + (0 if self.aside is None else self.aside.finer))

    @property
    def unit(self) -> str:
        """Who is protected: whoever has one row, or all rows with one value of a column."""
        return ROW if self.aside is None else self.aside.person

    @property
    def counted(self) -> str:
        """What n counts, in the plural."""
        return "people" if self.aside is not None and self.aside.unit else "rows"

    @property
    def partial(self) -> bool:
        """Whether rows or people may count less than once: n is then how much they count in all, which is private."""
        return self.aside is not None and self.aside.partial

    @property
    def room(self) -> str:
        """The same, for people."""
        return f"2**{self.most_rows.bit_length() - 1}"

    def check_n(self, n: int) -> None:
        """Refuse a public number of rows that has no second moment, or would not leave room for the noise."""
        if not 1 <= n <= self.most_rows:
            hint = "max_rows=NUMBER makes room for more" if n > 0 else "an empty table has no second moment"
            raise ParameterError(f"data must have 1 to {self.room} {self.counted}, got {n}. Hint: {hint}.")

    @property
    def width(self) -> int:
        """The number of coordinates of an encoded row: one more than features where they have a constant."""
        return self.d + self.constant

    @property
    def units(self) -> Floats:
        """The user's units per encoded unit, for each feature, before rows are divided by a radius."""
        return np.ones(self.d) if self.schema is None else self.schema.scales(self.midpoints)

    @property
    def offsets(self) -> Floats:
        """What is encoded as 0, for each feature."""
        return np.zeros(self.d) if self.schema is None else self.schema.offsets(self.midpoints)
