"""What stands beside the features of a row inside a database: how much it counts, of its person's rows, and its group.

Whose a row is is the exact value of its cell, text by its bytes; who has no such value is NULL. One window over the very rows
that are summed says how many rows, m, a person has: it returns as many rows as it was given, and what it counts and what is
summed are of one statement. So the shares of a person's rows, ⌊θ/max(m, M)⌋ of 2⁵² each, add up to at most 1, whatever the
query returns another time. Operation by operation they are those of `kernel/rows/aside.py`, in integers of 64 bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dpcov.kernel.rows.aside import ROOT_BITS, SHARE_BITS, Aside
from dpcov.schema import Categorical
from dpcov.sources.by import By
from dpcov.sources.people import NOBODY
from dpcov.sources.sql.arithmetic import over, squares
from dpcov.sources.sql.chain import Chain
from dpcov.sources.sql.columns import Cells, number, position
from dpcov.sources.sql.integers import Clipped

WHOLE = str(2**SHARE_BITS)
HALF = 2**ROOT_BITS


@dataclass(frozen=True)
class Beside:
    """Who a person is, and which column says the group; and the cells of the query, by column.

    Questions bring an aside of their own: of the same columns, but what a weight counts as may have been chosen since.
    """

    aside: Aside | None = None
    by: By | None = None
    cells: Mapping[str, Cells] = field(default_factory=dict)

    @property
    def named(self) -> bool:
        """Whether people have several rows, which a column says."""
        return self.aside is not None and bool(self.aside.unit)

    def owner(self, chain: Chain) -> str:
        """Return a name of whose each row is, NULL where nobody's."""
        assert self.aside is not None
        cells = self.cells[self.aside.unit]
        dialect = chain.dialect
        if cells.kind == "float":
            x = chain.let(number(chain, cells))  # NULL where it is not finite
            zero = dialect.number(0)
            return chain.let(f"CASE WHEN {x} = {zero} THEN {zero} ELSE {x} END")  # −0 is 0
        if cells.kind == "whole":
            return chain.let(cells.text)
        text = chain.let(dialect.as_text(cells.text) if cells.kind == "text" else cells.text)
        said = chain.let(dialect.said(text))
        nobody = " OR ".join(dialect.text(said, word.decode(), False) for word in NOBODY)
        return chain.let(f"CASE WHEN NOT ({nobody}) THEN {dialect.octets(text)} END")

    def first(self, chain: Chain) -> str:
        """Return 1 for one row of each person, 0 for all others: they add up to the number of people."""
        owner = self.owner(chain)
        place = chain.let(f"row_number() OVER (PARTITION BY {owner} ORDER BY {owner})")
        return chain.let(f"CASE WHEN {owner} IS NOT NULL AND {place} = 1 THEN 1 ELSE 0 END")

    def theta(self, chain: Chain, aside: Aside) -> str:
        """Return a name of θ, what each row would count alone, of 2⁵²."""
        whole = chain.let(_alone(chain, self.cells[aside.weight], aside.max_weight)) if aside.weight else WHOLE
        if not aside.cut:
            return whole
        x = chain.let(f"{whole} * {chain.dialect.number(aside.stretch)}")
        part = chain.dialect.whole(f"floor({x})")
        return chain.let(f"CASE WHEN {x} >= {chain.dialect.number(2.0**SHARE_BITS)} THEN {WHOLE} ELSE {part} END")

    def share(self, chain: Chain, aside: Aside, theta: str = "") -> str:
        """Return a name of each row's share s, of 2⁵²: of what it would count alone."""
        theta = theta or self.theta(chain, aside)
        if not aside.unit:
            return theta
        owner = self.owner(chain)
        rows = chain.let(f"count(*) OVER (PARTITION BY {owner})")
        part = chain.dialect.quotient(theta, f"greatest({rows}, {max(aside.most_rows, 1)})")
        return chain.let(f"CASE WHEN {owner} IS NULL THEN 0 ELSE {part} END")

    def counted(self, chain: Chain, aside: Aside, share: str = "") -> str:
        """Return a name of what each row counts: ⌊2ᵇ·s⌋."""
        share = share or self.share(chain, aside)
        return chain.let(chain.dialect.quotient(share, str(2 ** (SHARE_BITS - aside.share_bits))))

    def squared(self, chain: Chain, aside: Aside) -> str:
        """Return a name of ⌊2ᵇ·s·θ⌋ of each row, the product rounded as `SquaredWeights` has it."""
        number = chain.dialect.number
        product = f"(({self.share(chain, aside)} * {number(1)}) * ({self.theta(chain, aside)} * {number(2.0**-SHARE_BITS)}))"
        return chain.let(chain.dialect.whole(f"floor({product} * {number(2.0 ** (aside.share_bits - SHARE_BITS))})"))

    def weights(self, chain: Chain, aside: Aside) -> tuple[str, str]:
        """Return names of θ by the public largest weight, and of what each row that has a weight counts, whatever it is."""
        plain = replace(aside, cut=None)
        theta = self.theta(chain, plain)
        alike = chain.let(f"CASE WHEN {theta} > 0 THEN {WHOLE} ELSE 0 END")
        return theta, self.counted(chain, aside, self.share(chain, plain, alike))

    def group(self, chain: Chain) -> str:
        """Return a name of the position of each row's group, as many as there are groups where it is in none."""
        assert self.by is not None
        ((of, column),) = self.by.column.cells(self.by.name)
        assert isinstance(column, Categorical)
        place = chain.let(position(chain, self.cells[of], column))
        return chain.let(f"CASE WHEN {place} IS NULL THEN {self.by.groups.count} ELSE {place} END")

    def multiplied(self, chain: Chain, row: Clipped, reach: int, aside: Aside | None) -> Clipped:
        """Return integers that are multiplied with each other: of people each times 2ᵉ·√s, rounded, as `Aside.scaled` does."""
        if aside is None:
            return row
        dialect, number = chain.dialect, chain.dialect.number
        s = self.share(chain, aside)
        near = chain.let(dialect.whole(f"floor(sqrt({s} * {number(1)}))"))
        above = f"WHEN ({near} + 1) * ({near} + 1) <= {s} THEN {near} + 1"
        root = chain.let(f"CASE WHEN {near} * {near} > {s} THEN {near} - 1 {above} ELSE {near} END")
        factor = chain.let(f"{root} * {number(2.0 ** (aside.finer - ROOT_BITS))}")
        reach <<= 2 * aside.finer
        high = chain.let(dialect.quotient(s, str(HALF)))  # ⌊reach·s/2⁵²⌋ in halves: the product has more than 64 bits
        low = dialect.quotient(f"({reach} * ({s} - {high} * {HALF}))", str(HALF))
        most = chain.let(dialect.quotient(f"({reach} * {high} + {low})", str(HALF)))
        front = [str(row.constant)] if row.constant else []
        exact = chain.all([f"({z} * {factor})" for z in (*front, *row.entries)])  # 17 times 26 bits: exact
        rounded = chain.all([dialect.nearest(x) for x in exact])
        long = chain.let(f"{squares(rounded)} > {most}")
        pairs = zip(exact, rounded, strict=True)
        cut = chain.all([f"CASE WHEN {long} THEN {dialect.toward_zero(x)} ELSE {z} END" for x, z in pairs])
        kept = chain.let(f"CASE WHEN {squares(cut)} <= {most} THEN {number(1)} ELSE {number(0)} END")
        return Clipped(0, chain.all([dialect.whole(f"({z} * {kept})") for z in cut]))


ALONE = Beside()
"""Each row is a person, and in no group."""


def _alone(chain: Chain, cells: Cells, max_weight: float) -> str:
    """Return ⌊2⁵²·min(1, w/W)⌋: 0 for what is no weight, 2⁵² for an infinite one, as `thetas` does."""
    dialect, literal = chain.dialect, chain.dialect.number
    x = chain.let(number(chain, cells))
    infinite = dialect.infinite.get(cells.kind)
    beyond = "" if infinite is None else f"WHEN {chain.let(infinite(cells.text))} THEN {WHOLE} "
    part = dialect.whole(f"floor({over(chain, x, max_weight)} * {literal(2.0**SHARE_BITS)})")
    return chain.let(
        f"CASE {beyond}WHEN {x} >= {literal(max_weight)} THEN {WHOLE} WHEN {x} > {literal(0)} THEN {part} ELSE 0 END"
    )
