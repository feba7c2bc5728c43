"""What a mechanism is: one record of plain data. Generic code knows the facts in it, and no mechanism by its name.

A mechanism is one file: ``ask`` asks a curator, ``estimate`` computes with the answers, and the record says what else must be
known of it. A stranger's record works wherever the library's own do.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Literal

from dpcov.errors import ParameterError, ReleaseError, check_choice
from dpcov.kernel.budget import Budget
from dpcov.kernel.questions.moments import NEIGHBORS
from dpcov.release.estimate import Estimate
from dpcov.release.record import Option, Transcript

RAW = "none"
"""The post-processing that every mechanism has: none."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Described:
    """What is known of a mechanism, or of a name for several, before it is run.

    Attributes
    ----------
    target : {"covariance", "mean", "pca", "ridge"}
        What it releases; with its name this identifies it.
    name : str
        What users call it.
    serves : tuple of types
        The notions of budgets that it takes.
    postprocess : tuple of str
        How its estimates can be finished, the usual way first.
    neighbors : tuple of str
        The relations of neighbours that it serves.
    centring : {"no", "homogeneous", "own"}
        How it centres rows: not at all; by a constant coordinate in front, which its second moment then has; or by itself, by
        an option ``centring``.
    bound : {"row_norm", "radius", "covariance"}
        The public bound that it takes.
    covariances : tuple of str
        The options that are covariances, or variances, in the data's units: they are encoded as rows are.
    draws_long : bool
        Whether a draw takes so long that its progress should be shown.
    paper : str
        Where it is from.
    """

    target: Literal["covariance", "mean", "pca", "ridge"]
    name: str
    serves: tuple[type[Budget], ...]
    postprocess: tuple[str, ...] = (RAW,)
    neighbors: tuple[str, ...] = NEIGHBORS
    centring: Literal["no", "homogeneous", "own"] = "no"
    bound: Literal["row_norm", "radius", "covariance"] = "row_norm"
    covariances: tuple[str, ...] = ()
    draws_long: bool = False
    paper: str = ""

    @property
    def described_by(self) -> Callable[..., Any]:
        """The function whose signature has the options, and whose first line says what it does."""
        raise NotImplementedError

    @cached_property
    def options(self) -> Mapping[str, Any]:
        """The options, with their defaults; `inspect.Parameter.empty` where one must be given."""
        parameters = inspect.signature(self.described_by).parameters.values()
        return MappingProxyType({p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY})

    @property
    def summary(self) -> str:
        """What it does, in a line."""
        return (inspect.getdoc(self.described_by) or "").partition("\n")[0]

    def __reduce__(self) -> tuple[Callable[..., Described], tuple[Any, ...]]:
        if _beside(self.described_by, self.target, self.name) is self:  # a copy would not be the mechanism that is known
            return _beside, (self.described_by, self.target, self.name)
        return partial(type(self), **asdict(self)), ()

    def check_options(self, options: Collection[str]) -> None:
        """Refuse an unknown option."""
        known = sorted(self.options)
        for option in sorted(set(options) - set(known)):
            hint = "`dpcov mechanisms` lists them"
            if option == "clip":
                hint = "auto clips by itself; wishart and gaussian take clip"
            raise ParameterError(f"options of {self.name!r} must be among {known}, got {option!r}. Hint: {hint}.")

    def refuse_unknown(self, options: Collection[str]) -> None:
        """Refuse a transcript with other options than the mechanism has, or without some."""
        missing = {name for name, default in self.options.items() if default is inspect.Parameter.empty} - set(options)
        if missing or not set(options) <= set(self.options):
            raise ReleaseError(
                f"release must have the options of {self.name!r}, {sorted(self.options)}, got others. Hint: another version?"
            )

    def check_postprocess(self, postprocess: str) -> None:
        """Refuse a way to finish estimates that it does not have."""
        check_choice("postprocess", postprocess, dict.fromkeys([*self.postprocess, RAW]), "leave it out for the usual one")

    def check_served(self, budget: Budget, neighbors: str, center: bool) -> None:
        """Refuse a notion, a relation or centred rows that it does not serve."""
        if center and self.centring != "homogeneous":
            raise ParameterError(
                f"center must be False for mechanism {self.name!r}, got True. Hint: mechanism='auto' serves it."
            )
        if type(budget) not in self.serves:
            names = " or ".join(notion.__name__ for notion in self.serves)
            raise ParameterError(
                f"budget of mechanism {self.name!r} must be {names}, got {budget!r}. Hint: mechanism='auto' fits all."
            )
        if neighbors not in self.neighbors:
            raise ParameterError(
                f"neighbors must be {self.neighbors[0]!r} for mechanism {self.name!r}, got {neighbors!r}. Hint: try 'auto'."
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class Mechanism(Described):
    """A mechanism.

    Attributes
    ----------
    ask : callable
        ``ask(curator, budget, **options)`` refuses bad parameters, splits the budget and asks; it returns notes, or None:
        public numbers that follow from parameters and answers.
    estimate : callable
        ``estimate(transcript, postprocess, **options)`` computes with the answers; it has the same options.
    finish : callable, optional
        The usual way to finish a transcript, where that is not the first of ``postprocess``.
    """

    ask: Callable[..., Mapping[str, Option] | None]
    estimate: Callable[..., Estimate]
    finish: Callable[[Transcript], str] | None = None

    @property
    def described_by(self) -> Callable[..., Any]:
        """What asks."""
        return self.ask


@dataclass(frozen=True, kw_only=True, eq=False)
class Alias(Described):
    """A name that stands for one of several mechanisms, by public facts alone.

    Attributes
    ----------
    resolve : callable
        ``resolve(public, budget, postprocess, **options)`` returns the mechanism, how its estimate is to be finished, and its
        options; it runs before the first question.
    """

    resolve: Callable[..., tuple[Mechanism, str | None, dict[str, Any]]]
    """Called with `dpcov.kernel.public.Facts`."""

    @property
    def described_by(self) -> Callable[..., Any]:
        """What resolves."""
        return self.resolve


Named = Mechanism | Alias
Resolved = tuple[Mechanism, str | None, dict[str, Any]]


def _beside(function: Callable[..., Any], target: str, name: str) -> Any:
    """Return the record in the module of a function, which pickle finds by its name; None where there is no such record."""
    records = inspect.getmembers(inspect.getmodule(function), lambda one: isinstance(one, Described))
    return next((one for _, one in records if (one.target, one.name) == (target, name)), None)
