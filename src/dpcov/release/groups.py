"""The groups of a release: a transcript for each, with one second moment and a private number of rows; one for all together.

Noise of different groups is independent, so a block of the block-diagonal answer is the answer about one matrix, with the law
of its noise. The sum of all blocks is that of all rows that are in some group; its noise has the variances of all together. In
either the number of rows is private, whichever relation is promised: it is what the corner of centred rows tells, or a count.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ReleaseError, printable, shown
from dpcov.kernel.answer import Answer, n_of
from dpcov.kernel.noise.discrete import MAX_VARIANCE
from dpcov.kernel.noise.laws import DiscreteGaussian, NoiseLaw
from dpcov.kernel.noise.matrix import WishartDifference
from dpcov.kernel.public import hides_n
from dpcov.kernel.questions.groups import GroupCounts, GroupedMoment
from dpcov.kernel.questions.measure import Question
from dpcov.kernel.questions.moments import Count, SecondMoment
from dpcov.kernel.rows.standard import Standard

if TYPE_CHECKING:
    from dpcov.release.record import Release

Integers = NDArray[np.int64]

MOST_NAMED = 20  # groups, in a message
MOST_WEIGHT = 2.0**62  # of rows: a number, also in a forged file

ABOUT_ROWS = (SecondMoment, Count, GroupedMoment, GroupCounts)
"""What the transcript of a part has of its own: one second moment, and a count where no corner tells it."""


class GroupSize(Count):
    """How many rows one group has, or all groups together: a part of `GroupCounts`, in its units. It is never asked for."""

    @property
    def unit_bits(self) -> int:
        """Whole rows, or the least part of a person that is counted."""
        return self.person_bits


@dataclass(frozen=True)
class Together(DiscreteGaussian):
    """The noise of a sum over groups, which is nearer to normal than that of each; it is never drawn.

    Attributes
    ----------
    of : NoiseLaw
        The law of the noise of each.
    count : int
        How many there are.
    """

    of: NoiseLaw
    count: int


@dataclass(frozen=True, eq=False)
class Part:
    """Of which release another one is a part: of one group, or of all together where there is no ``level``."""

    whole: Release
    level: str | None

    @property
    def others(self) -> tuple[Release, ...]:
        """The parts of all groups, in order; none where the groups are together."""
        return () if self.level is None else tuple(self.whole[level] for level in self.whole.groups)


class Grouped:
    """Properties of a release that has groups, or is about one of them: of any other there are none."""

    @property
    def asked(self) -> tuple[Answer, ...]:
        """The answers as they left the curator: those of the whole release, where this is about one group of it."""
        return self.whole.answers

    @property
    def whole(self) -> Release:
        """The release that was made: itself, unless this is about one group of it, or about all together."""
        return self._self if self._self.part is None else self._self.part.whole

    @property
    def n_is_public(self) -> bool:
        """Whether n is the exact number of rows: not under add-remove, nor that of a group."""
        return self._self.part is None and not hides_n(self._self)

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that the release has a matrix for, in the order of their levels; none where it is about all rows alike."""
        return () if self._self.encoding.groups is None else self._self.encoding.groups.levels

    def __getitem__(self, level: object) -> Release:
        """Return what the release says of one group: a release to all uses, at no cost in privacy.

        Its estimates are drawn towards those of all groups together, entry by entry, by how much larger its noise is than what
        groups differ by; its intervals are about its own noisy numbers alone. Its n is private, and as noisy as they are.
        """
        name = str(level).lower() if isinstance(level, bool) else str(level)
        if name not in self.groups:
            found = f"one of {', '.join(map(printable, self.groups[:MOST_NAMED]))}" if self.groups else "asked for with by="
            raise ReleaseError(f"group must be {found}, got {shown(level)}. Hint: release.groups lists them.")
        return self.about(name)

    @property
    def pooled(self) -> Release:
        """What the release says of all its groups together: its noise is that of all of them. Itself where it has no groups."""
        own = self._self
        return own if not self.groups or (own.part is not None and own.part.level is None) else self.about(None)

    def about(self, level: str | None) -> Release:
        """Return what the whole release says of one group, or of all together; each is made once."""
        if level is not None and not (isinstance(level, str) and level in self.whole.groups):
            raise ReleaseError(f"level must be a group, or None for all together, got {shown(level)}. Hint: release.groups.")
        if level not in self.whole._made:
            self.whole._made[level] = part_of(self.whole, level)
        return self.whole._made[level]

    @cached_property
    def _made(self) -> dict[str | None, Release]:
        return {}

    @property
    def _self(self) -> Release:
        return cast("Release", self)

    def _named(self, parts: list[str]) -> list[str]:
        """Return the parts of a `repr` with what groups it is about."""
        part = self._self.part
        if part is not None:
            return ["all groups" if part.level is None else f"group {printable(part.level)}", *parts]
        return [*parts, f"{len(self.groups)} groups"] if self.groups else parts


def subject(release: Release) -> Release:
    """Return what uses of a release are about: of one that has groups all of them together, with their number of rows."""
    return release.pooled if release.part is None else release


def part_of(whole: Release, level: str | None) -> Release:
    """Return what a release says of one group, or of all groups together."""
    found, counts, made = whole.find(GroupedMoment), whole.find(GroupCounts), list[Answer]()
    if found is not None:
        asked = found.question
        assert isinstance(asked, GroupedMoment)
        blocks, moment = asked.blocks(found.integers), SecondMoment(asked.grid, asked.d, aside=asked.aside)
        made.append(_answer(moment, found, blocks, whole.groups, level))
    if counts is not None:
        size = GroupSize(aside=counts.question.aside)
        made.append(_answer(size, counts, counts.integers[:, None], whole.groups, level))
    n = n_of(made) or _weight(made)
    if n is None:
        raise ReleaseError("release must tell how many rows each group has, got none. Hint: another version?")
    others = (answer for answer in whole.answers if type(answer.question) not in ABOUT_ROWS)
    return dataclasses.replace(whole, n=n, answers=(*others, *made), part=Part(whole, level))


def _weight(answers: list[Answer]) -> int | None:
    """Return the sum of the weights of rows in private units, which their corner tells: long rows have less than 1."""
    for answer in answers:
        rows = getattr(answer.question, "grid", None)
        if isinstance(rows, Standard) and rows.corner > 0:
            return round(min(max(float(answer.values[0]) * (rows.row_norm / rows.corner) ** 2, 1.0), MOST_WEIGHT))
    return None


def _answer(question: Question, found: Answer, blocks: Integers, levels: tuple[str, ...], level: str | None) -> Answer:
    """Return one block with its noise, or the sum of all with theirs."""
    if level is None:
        return Answer(question, (_together(found.law, len(blocks)),), found.charges, blocks.sum(axis=0))
    return Answer(question, (_alone(found.law),), found.charges, blocks[levels.index(level)].copy())


def _alone(law: NoiseLaw) -> NoiseLaw:
    """Return the law of the noise on one of several matrices; counts have one already."""
    return dataclasses.replace(law, blocks=1, tail=law.tail / law.blocks) if isinstance(law, WishartDifference) else law


def _together(law: NoiseLaw, count: int) -> Together:
    """Return the law of the sum of so much independent noise, with its variances."""
    spread = law.spread()
    variances = (("diagonal", spread.diagonal_variance), ("off-diagonal", spread.off_diagonal_variance))
    parts = tuple((name, min(Fraction(variance) * count, MAX_VARIANCE)) for name, variance in variances)
    return Together(parts, law, count)
