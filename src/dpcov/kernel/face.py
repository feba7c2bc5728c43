"""A curator as a mechanism sees it: public facts, and the questions that may be asked; nothing leads from it to the rows.

Who is handed a curator could read its exact sums. This object has none: one function stands between, which passes on the
primitives below and no other name.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from dpcov.kernel.answer import Answer
from dpcov.kernel.budget import ZCDP, Budget, PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.peel import Peel
from dpcov.kernel.public import Facts
from dpcov.kernel.questions.choices import Choice, Search
from dpcov.kernel.questions.directions import Directions, Subspace
from dpcov.kernel.questions.measure import Measure, Question


class Face(Facts):
    """What a mechanism is handed as its curator: whom it asks, and what is public. Nothing leads from it to the rows."""

    __slots__ = ("_pass_on", "encoding", "neighbors", "rereadable")

    def __init__(self, curator: Curator) -> None:
        primitives: dict[str, Callable[..., Any]] = {
            "known_n": lambda: curator.public.known_n,
            "n": lambda: curator.n,
            "ask_n": curator.ask_n,
            "prefetch": curator.prefetch,
            "noisy": curator.noisy,
            "choose": curator.choose,
            "first_above": curator.first_above,
            "peel": lambda *asked, **paid: PeelFace(curator.peel(*asked, **paid)),
            "subspace": curator.subspace,
        }

        def pass_on(name: str, *arguments: Any, **named: Any) -> Any:
            return primitives[name](*arguments, **named)

        self._pass_on, public = pass_on, curator.so_far.apart()
        self.encoding, self.neighbors, self.rereadable = public.encoding, public.neighbors, public.rereadable

    @property
    def known_n(self) -> int | None:  # type: ignore[override]
        """The number of rows under replace, where nothing need be read for it."""
        return self._pass_on("known_n")  # type: ignore[no-any-return]

    @property
    def n(self) -> int:
        """The number of rows: public under replace, private under add-remove."""
        return self._pass_on("n")  # type: ignore[no-any-return]

    def ask_n(self, budget: Budget) -> None:
        """Ask once for the private number of rows."""
        self._pass_on("ask_n", budget)

    def prefetch(self, *questions: Question, derive: bool = True) -> None:
        """Read what will be asked, before the first charge."""
        self._pass_on("prefetch", *questions, derive=derive)

    def noisy(self, question: Measure, budget: Budget, *, noise: str, at_least: Fraction | None = None) -> Answer:
        """Answer a question with noise."""
        return self._pass_on("noisy", question, budget, noise=noise, at_least=at_least)  # type: ignore[no-any-return]

    def choose(self, question: Choice, budget: PureDP | ZCDP, *, at_most: Fraction | None = None) -> Answer:
        """Choose by the exponential mechanism."""
        return self._pass_on("choose", question, budget, at_most=at_most)  # type: ignore[no-any-return]

    def first_above(self, question: Search, budget: PureDP | ZCDP, *, query_noise: int = 1) -> Answer:
        """Search by the sparse vector technique."""
        return self._pass_on("first_above", question, budget, query_noise=query_noise)  # type: ignore[no-any-return]

    def peel(
        self, question: Directions, directions: PureDP | ZCDP, values: Budget | None = None, *, noise: str, fixed: bool = False
    ) -> PeelFace:
        """Open the second moment for directions, drawn one at a time."""
        return self._pass_on("peel", question, directions, values, noise=noise, fixed=fixed)  # type: ignore[no-any-return]

    def subspace(self, question: Subspace, budget: PureDP | ZCDP, *, sweeps: int, at_most: Fraction | None = None) -> Answer:
        """Draw directions together."""
        return self._pass_on("subspace", question, budget, sweeps=sweeps, at_most=at_most)  # type: ignore[no-any-return]


class PeelFace:
    """Directions as a mechanism draws them: see `Peel`. The exact matrix cannot be reached from it."""

    __slots__ = ("_pass_on",)

    def __init__(self, peel: Peel) -> None:
        primitives: dict[str, Callable[..., Any]] = {
            "left": lambda: peel.left,
            "direction": peel.direction,
            "value": peel.value,
            "skip": peel.skip,
            "close": peel.close,
        }

        def pass_on(name: str, *arguments: Any, **named: Any) -> Any:
            return primitives[name](*arguments, **named)

        self._pass_on = pass_on

    @property
    def left(self) -> Fraction:
        """The share of the directions' budget that is left."""
        return self._pass_on("left")  # type: ignore[no-any-return]

    def direction(self, share: Fraction, *, at_most: Fraction | None = None) -> None:
        """Draw the next direction at this share of the budget."""
        self._pass_on("direction", share, at_most=at_most)

    def value(self) -> float:
        """Answer what lies along the direction drawn last."""
        return self._pass_on("value")  # type: ignore[no-any-return]

    def skip(self) -> float:
        """Take the direction drawn last out of what is left, without asking for its value."""
        return self._pass_on("skip")  # type: ignore[no-any-return]

    def close(self) -> Answer:
        """Record what was drawn, once, and return it."""
        return self._pass_on("close")  # type: ignore[no-any-return]
