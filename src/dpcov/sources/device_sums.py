r"""Integer rows and their sums on a device, as the kernel makes them here: in float64, bit for bit.

On the device rows are multiplied, rounded half to even, cut towards zero, and added up: single operations of IEEE 754, each
launched by itself, so that none is contracted with the next, and sums of integers below 2⁵³, which float64 adds exactly in any
order, fused or not. By what a row is shortened, and which bin its length is in, is computed here from its squared norm, by the
kernel's own code: quotients and square roots of torch are not always rounded correctly.

What stands beside the features of a row, what it counts and its group, is here: the kernel makes factors of it, which go there,
and the rows are scaled and rounded as everywhere, with the check of ‖z‖² ≤ s·R² in integers.

Rows that the kernel treats in a way of its own (with NaN, infinity or squares beyond 2⁵² for the grid, or too near a radius for
counts by norm) count as nothing there, are brought here, and the kernel adds them up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dpcov.kernel.questions.clipped_pair import ClippedPair
from dpcov.kernel.questions.groups import GroupCounts, GroupedMoment
from dpcov.kernel.questions.measure import Integers
from dpcov.kernel.questions.moments import Count, SecondMoment, Sum
from dpcov.kernel.questions.norms import Norms, Trace
from dpcov.kernel.questions.together import Together
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.aside import Aside
from dpcov.kernel.rows.grid import WILD, Grid, shrinkage
from dpcov.kernel.rows.groups import members
from dpcov.kernel.rows.lengths import bounds_of, by_squares
from dpcov.linalg import pack

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Tensor = Any
"""A tensor of torch; those that are made here are of float64."""


class Device(Protocol):
    """Where tensors are, and how they come and go."""

    name: str

    def zeros(self, shape: tuple[int, ...]) -> Tensor:
        """Return zeros of float64 there."""
        ...

    def moved(self, rows: Any) -> Tensor:
        """Return a block of rows there, whatever its type; a tensor may be there already."""
        ...

    def brought(self, tensor: Tensor) -> NDArray[np.float64]:
        """Return a tensor as an array here."""
        ...


def sums_on(device: Device, statistic: Any) -> DeviceSums | SeveralSums | None:
    """Return the statistic with sums that are made on the device; None where the kernel has to make them here."""
    if type(statistic) is Together:
        members = [sums_on(device, member) for member in statistic.members]
        return None if None in members else SeveralSums(statistic, members)
    fits = type(statistic) in ADDED and type(getattr(statistic, "grid", None)) in SERVED
    return DeviceSums(statistic, device) if fits else None


@dataclass(frozen=True)
class Apart:
    """A block of rows, there or here, and what stands beside the features, here: what each counts, and then its group."""

    features: Any
    beside: Floats

    def __len__(self) -> int:
        return len(self.beside)


NOTHING = np.empty((0, 0))


class DeviceSums:
    """A statistic whose sums are made on a device; blocks may be arrays here, or tensors there. For one reading."""

    by_column = False

    def __init__(self, statistic: Any, device: Device) -> None:
        self.name, self.shape, self.max_block = statistic.name, statistic.shape, statistic.max_block
        self.by_group = getattr(statistic, "by_group", False)
        self._width = (0 if statistic.aside is None else statistic.aside.width) + self.by_group
        self._statistic, self._device, self._add = statistic, device, ADDED[type(statistic)]
        self._here = np.zeros(self.shape, dtype=np.int64)
        self._there = device.zeros(self.shape)
        self._rows = 0

    def of(self, rows: Any, *, scratch: bool = False) -> Integers:  # noqa: ARG002 - what is made there is new
        """Add the first block."""
        self.add_to(self._here, rows)
        return self._here

    def add_to(self, total: Integers, rows: Any) -> None:  # noqa: ARG002 - it is this object's own
        """Add a block."""
        if self._rows + len(rows) > self.max_block:  # sums of more rows would not be exact
            self._bring()
        self._rows += len(rows)
        if self._width and not isinstance(rows, Apart):
            rows = Apart(rows[:, : -self._width], rows[:, -self._width :])
        beside = rows.beside if self._width else NOTHING
        x = self._device.moved(rows.features if self._width else rows)
        with np.errstate(all="ignore"):  # a caller's np.seterr(all="raise") must not turn a value into an exception
            left = np.flatnonzero(self._add(self._statistic, x, beside, self._there, self._device))
            if len(left):
                wide = self._device.zeros(tuple(x.shape)).copy_(x)  # cards pick rows by number from some types alone
                kept = self._device.brought(wide[left])
                self._here += self._statistic.of(np.column_stack([kept, beside[left]]) if self._width else kept)

    def entries(self, total: Integers) -> Integers:  # noqa: ARG002
        """Return the entries in storage order."""
        entries: Integers = self._statistic.entries(self.whole())
        return entries

    def whole(self) -> Integers:
        """Return the sums of all blocks, before they are packed."""
        self._bring()
        return self._here

    def _bring(self) -> None:
        """Add what was summed there, in int64 modulo 2⁶⁴ as everywhere."""
        self._here += self._device.brought(self._there).astype(np.int64)
        self._there.zero_()
        self._rows = 0


class SeveralSums:
    """Several of them, from one pass."""

    by_column = False

    def __init__(self, statistic: Together, members: list[Any]) -> None:
        self.name, self.shape, self.max_block = statistic.name, statistic.shape, statistic.max_block
        self.by_group = statistic.by_group
        self._members = members

    def of(self, rows: Any, *, scratch: bool = False) -> Integers:  # noqa: ARG002
        """Add the first block."""
        nothing = np.empty(0, dtype=np.int64)
        self.add_to(nothing, rows)
        return nothing

    def add_to(self, total: Integers, rows: Any) -> None:
        """Add a block to each."""
        for member in self._members:
            member.add_to(total, rows)

    def entries(self, total: Integers) -> Integers:  # noqa: ARG002
        """Return the sums as they are, one after the other."""
        return np.concatenate([np.ravel(member.whole()) for member in self._members])


def rounded(grid: Grid, x: Tensor, device: Device) -> tuple[Tensor, Floats, Bools]:
    """Return integer rows before they are clipped, their squared norms, and which rows are left to the kernel.

    These have the constant 0, so that nothing is left of them when the rest is multiplied by 0.
    """
    z = device.zeros((len(x), grid.width(x.shape[1])))
    inner = z[:, grid.center :]
    inner.copy_(x).mul_(math.sqrt(grid.radius_squared) / grid.row_norm).round_()  # half to even
    norms = device.brought(squares(inner))
    left = ~(norms < WILD)
    if grid.center:
        z[:, 0] = device.moved(np.where(left, 0.0, float(grid.constant)))
    return z, norms, left


def encoded(grid: Grid, x: Tensor, device: Device) -> tuple[Tensor, Bools]:
    """Return the integer rows of the grid, with zeros for those that are left to the kernel, and which these are."""
    z, norms, left = rounded(grid, x, device)
    scale(z[:, grid.center :], shrinkage(norms, grid.radius_squared), left, grid.radius_squared, device)
    return z, left


def encoded_both(annulus: Annulus, x: Tensor, device: Device) -> tuple[Tensor, Tensor, Bools]:
    """Return the rows clipped at the inner radius, what that took from them, and which rows are left to the kernel."""
    z, norms, left = rounded(annulus.inner, x, device)
    beyond = z.clone()
    scale(beyond, annulus.shortening(norms, False), left, annulus.reach, device)
    scale(z, shrinkage(norms, annulus.inner.radius_squared), left, annulus.inner.radius_squared, device)
    return z, beyond, left


def scale(x: Tensor, factors: Floats, left: Bools, radius_squared: int, device: Device) -> None:
    """Multiply integer rows, cut towards zero, and make sure of ‖x‖² ≤ radius² in integers."""
    x.mul_(device.moved(np.where(left, 0.0, factors))[:, None]).trunc_()
    x.masked_fill_(~(squares(x) <= radius_squared)[:, None], 0.0)  # and NaN, which is left to the kernel


def squares(x: Tensor) -> Tensor:
    """Return the squared norms of rows."""
    return x.square().sum(dim=1)


def shares_of(aside: Aside, beside: Floats) -> Floats:
    """Return the share of each row."""
    return aside.apart(beside[:, : aside.width]).shares


def counted(aside: Aside, beside: Floats) -> Floats:
    """Return what each row counts, in whole numbers."""
    return aside.counted(shares_of(aside, beside))


def shared(asked: Any, z: Tensor, beside: Floats, reach: int, device: Device) -> Tensor:
    """Return integer rows times the root of what each counts, as `Aside.scaled` does: z itself where each row is a person."""
    if asked.aside is None:
        return z
    factors, most = asked.aside.factors(shares_of(asked.aside, beside), reach)
    exact = z.mul_(device.moved(factors))  # 17 times 26 bits: exact
    allowed = device.moved(most.astype(np.float64))
    found = exact.round()
    long = squares(found) > allowed
    found.copy_(exact.trunc().where(long[:, None], found))  # which is no longer than √s times the row
    return found.masked_fill_(~(squares(found) <= allowed)[:, None], 0.0)


def _add_count(asked: Count, x: Tensor, beside: Floats, there: Tensor, device: Device) -> Bools:  # noqa: ARG001
    there.add_(len(x) if asked.aside is None else float(counted(asked.aside, beside).sum()))
    return NOBODY


def _add_sum(asked: Sum, x: Tensor, beside: Floats, there: Tensor, device: Device) -> Bools:
    assert isinstance(asked.grid, Grid)
    z, left = encoded(asked.grid, x, device)
    z = z if asked.aside is None else z.mul_(device.moved(counted(asked.aside, beside))[:, None])
    there.add_(z.sum(dim=0))
    return left


def _add_trace(asked: Trace, x: Tensor, beside: Floats, there: Tensor, device: Device) -> Bools:
    assert isinstance(asked.grid, Grid)
    z, left = encoded(asked.grid, x, device)
    there.add_(squares(shared(asked, z, beside, asked.grid.reach, device)).sum())
    return left


def _add_moment(asked: SecondMoment, x: Tensor, beside: Floats, there: Tensor, device: Device) -> Bools:
    if isinstance(asked.grid, Annulus):
        _, z, left = encoded_both(asked.grid, x, device)
    else:
        assert isinstance(asked.grid, Grid)
        z, left = encoded(asked.grid, x, device)
    z = shared(asked, z, beside, asked.grid.reach, device)
    there.addmm_(z.T, z)
    return left


def _add_pair(asked: ClippedPair, x: Tensor, beside: Floats, there: Tensor, device: Device) -> Bools:
    *both, left = encoded_both(asked.annulus, x, device)
    for z, part, reach in zip(both, there, (asked.annulus.inner.reach, asked.annulus.reach), strict=True):
        rows = shared(asked, z, beside, reach, device)
        part.addmm_(rows.T, rows)
    return left


def _add_norms(asked: Norms, x: Tensor, beside: Floats, there: Tensor, device: Device) -> Bools:
    lengths = device.brought(squares(device.zeros(tuple(x.shape)).copy_(x)))
    longer, sure = by_squares(lengths, bounds_of(asked.ascending), asked.per_octave)
    weights = None if asked.aside is None else counted(asked.aside, beside)[sure]
    counts = np.bincount(asked.last - longer[sure], weights, asked.last + 1)
    there.add_(device.moved(counts))
    return ~sure


def _add_groups(asked: GroupedMoment, x: Tensor, beside: Floats, there: Tensor, device: Device) -> Bools:
    assert isinstance(asked.grid, Grid)
    z, left = encoded(asked.grid, x, device)
    order, begins = members(beside[:, -1], asked.count)
    rows = shared(asked, z, beside, asked.grid.reach, device)[device.moved(order)]
    kept = device.moved(pack(np.arange(asked.d**2).reshape(asked.d, asked.d)))
    for group, total in enumerate(there):
        own = rows[begins[group] : begins[group + 1]]
        total.add_((own.T @ own).reshape(-1)[kept])
    return left


def _add_group_counts(asked: GroupCounts, x: Tensor, beside: Floats, there: Tensor, device: Device) -> Bools:  # noqa: ARG001
    there.add_(device.moved(asked.of(beside)))
    return NOBODY


NOBODY = np.zeros(0, dtype=np.bool_)

ADDED: dict[type, Callable[[Any, Tensor, Floats, Tensor, Device], Bools]] = {
    Count: _add_count,
    Sum: _add_sum,
    Trace: _add_trace,
    SecondMoment: _add_moment,
    ClippedPair: _add_pair,
    Norms: _add_norms,
    GroupedMoment: _add_groups,
    GroupCounts: _add_group_counts,
}
"""What adds the sum over a block to what is there, and returns which rows are left to the kernel."""

SERVED = (type(None), Grid, Annulus)
"""The rows of such questions; a ball, a box, an ellipsoid and private units are for the kernel."""
