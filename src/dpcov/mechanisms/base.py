"""What a mechanism is: one record of plain data. Generic code knows the facts in it, and no mechanism by its name.

A mechanism is one file: ``ask`` asks a curator, ``estimate`` computes with the answers, and the record says what else must be
known of it. A stranger's record works wherever the library's own do.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

from dpcov.errors import ParameterError, ReleaseError, check_choice, did_you_mean, printable
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.kernel.questions.measure import Measure, Question
from dpcov.kernel.questions.moments import NEIGHBORS
from dpcov.release.estimate import Estimate
from dpcov.release.record import TARGETS, Option, Target, Transcript

RAW = "none"
"""The post-processing that every mechanism has: none."""

Centring = Literal["no", "homogeneous", "own"]
Bound = Literal["row_norm", "radius", "covariance", "schema"]
CENTRING, BOUNDS = get_args(Centring), get_args(Bound)

RESERVED = (
    "data",
    "budget",
    "row_norm",
    "schema",
    "mechanism",
    "postprocess",
    "neighbors",
    "center",
    "columns",
    "seed",
    "progress",
    "workers",
    "max_rows",
    "unit",
    "weighting",
    "most_rows",
    "weight",
    "max_weight",
    "clip_weight",
    "allow_weak",
    "expected_n",
    "ledger",
    "by",
)
"""What `dpcov.covariance` and its siblings take themselves: an option of such a name could never be given."""

LEAST_AMOUNT = Fraction(1, 10**300)
"""Of epsilon or rho: what is divided by a share of it is still a float."""

Rule = tuple[str, str, bool, object, str]
"""What is looked at, what it must be, whether it is, what it is, and a hint."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
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
    bound : {"row_norm", "radius", "covariance", "schema"}
        The public bound that it takes; in place of a row_norm always a schema, too, and with "schema" nothing else.
    covariances : tuple of str
        The options that are covariances, or variances, in the data's units: they are encoded as rows are. Where such a one is
        the ``bound``, the first of them is it; others bound it from below, and are 1 where only the first is given.
    places : tuple of str
        The options that say where the mean of rows lies, in the data's units: a schema's bounds say as much. Where rows are
        centred without any bound of their norm, one whose default is None must be given.
    draws_long : bool
        Whether a draw takes so long that its progress should be shown.
    groups : bool
        Whether it releases a matrix for each group, where rows have groups: others are refused.
    """

    target: Target
    name: str
    serves: tuple[type[Budget], ...]
    postprocess: tuple[str, ...] = (RAW,)
    neighbors: tuple[str, ...] = NEIGHBORS
    centring: Centring = "no"
    bound: Bound = "row_norm"
    covariances: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    draws_long: bool = False
    groups: bool = False

    def __post_init__(self) -> None:
        for name, rule, holds, got, hint in self.rules():
            if not holds:
                raise ParameterError(f"{name} of a mechanism must be {rule}, got {got!r:.80}. Hint: {hint}.")

    def rules(self) -> Iterator[Rule]:
        """Say what must hold of the record, each only after those before it: a fault would else show when a budget is spent."""
        yield "target", f"one of {TARGETS}", self.target in TARGETS, self.target, "say what it releases"
        yield "name", "text", isinstance(self.name, str) and self.name != "", self.name, "users call it by this name"
        yield (
            "serves",
            "a tuple of PureDP, ZCDP or ApproxDP",
            _are(self.serves, PureDP, ZCDP, ApproxDP),
            self.serves,
            "serves=(dpcov.ZCDP,)",
        )
        yield "neighbors", f"a tuple of {NEIGHBORS}", _are(self.neighbors, *NEIGHBORS), self.neighbors, "neighbors=('replace',)"
        named = _are(self.postprocess) and all(isinstance(one, str) for one in self.postprocess)
        yield "postprocess", "a tuple of names", named, self.postprocess, f"postprocess=({RAW!r},)"
        yield "centring", f"one of {CENTRING}", self.centring in CENTRING, self.centring, "'no' is the default"
        yield "bound", f"one of {BOUNDS}", self.bound in BOUNDS, self.bound, "'row_norm' is the default"
        yield (
            "ask, or resolve",
            "a function",
            callable(self.described_by),
            self.described_by,
            "ask(curator, budget, *, options)",
        )
        taken = set(self.options) & {*RESERVED, *(("radius",) if self.target == "mean" else ())}
        yield "options", f"other names than dpcov.{self.target} takes itself", not taken, sorted(taken), "rename them"
        needed = {*self.covariances, *self.places, *(("centring",) if self.centring == "own" else ())}
        got = sorted(self.options)
        yield (
            "options",
            f"at least those that the record names, {sorted(needed)}",
            needed <= set(got),
            got,
            "give ask all of them",
        )
        yield (
            "covariances",
            "a tuple that begins with the option that bounds rows",
            self.bound != "covariance" or _are(self.covariances),
            (),
            "name the option",
        )

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

    def __repr__(self) -> str:
        notions = ", ".join(notion.__name__ for notion in self.serves)
        return f"<{type(self).__name__} {printable(self.name, 30)} for a {self.target}: {notions}>"

    def __reduce__(self) -> tuple[Callable[..., Described], tuple[Any, ...]]:
        if _beside(self.described_by, self.target, self.name) is self:  # a copy would not be the mechanism that is known
            return _beside, (self.described_by, self.target, self.name)
        return partial(type(self), **asdict(self)), ()

    def check_options(self, options: Collection[str]) -> None:
        """Refuse an unknown option."""
        from dpcov.mechanisms import MECHANISMS

        known = sorted(self.options)
        for option in sorted(set(options) - set(known)):
            having = [name for name, other in MECHANISMS[self.target].items() if option in other.options]
            usual = f"{did_you_mean(option, [*known, *RESERVED])}`dpcov mechanisms` lists them"
            usual = "dpcov.covariance takes it, and its release has components and means" if option in RESERVED else usual
            hint = f"{' and '.join(having[:2])} {'have' if len(having) > 1 else 'has'} this option" if having else usual
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

    def check_served(self, budget: Budget, neighbors: str, center: bool, *, groups: bool = False) -> None:
        """Refuse a notion, a relation, centred rows or groups that it does not serve."""
        if groups and not self.groups:
            raise ParameterError(
                f"by must be left out for mechanism {self.name!r}, got a column. Hint: mechanism='auto' serves groups."
            )
        if center and self.centring != "homogeneous":
            raise ParameterError(
                f"center must be False for mechanism {self.name!r}, got True. Hint: mechanism='auto' can centre."
            )
        if type(budget) not in self.serves:
            names = " or ".join(notion.__name__ for notion in self.serves)
            raise ParameterError(
                f"budget of mechanism {self.name!r} must be {names}, got {budget!r}. Hint: mechanism='auto' takes any budget."
            )
        for name, amount in zip(budget.names, budget.amounts(), strict=True):
            if amount < LEAST_AMOUNT:  # not shown: it has hundreds of digits
                hint = "leave it out for pure DP" if name == "delta" else "so little buys noise only"
                raise ParameterError(f"{name} must be at least 1e-300, got less. Hint: {hint}.")
        if neighbors not in self.neighbors:
            raise ParameterError(
                f"neighbors must be {self.neighbors[0]!r} for mechanism {self.name!r}, got {neighbors!r}. "
                f"Hint: try mechanism='auto'."
            )


class Least(NamedTuple):
    """A question that may be asked, with the least that is paid for it whatever is answered before."""

    question: Measure
    budget: Budget
    noise: str
    at_least: Fraction | None = None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Mechanism(Described):
    """What a mechanism is: one record of plain data. A record of your own goes wherever a name does.

    It may not take the name of a mechanism of this library, and its options may not take those of the functions (``seed``,
    ``columns``, ``schema``, ...). It is checked when it is made: what is wrong in it is refused before anything can be spent.

    Attributes
    ----------
    ask : callable
        ``ask(curator, budget, *, ...)`` refuses bad parameters, splits the budget and asks; it returns notes, or None:
        public numbers that follow from parameters and answers. Its keyword-only parameters are the options.
    estimate : callable
        ``estimate(transcript, postprocess, **options)`` computes with the answers; it has the same options.
    finish : callable, optional
        The usual way to finish a transcript, where that is not the first of ``postprocess``.
    least : callable, optional
        ``least(public, budget, **options)`` yields, as `Least`, what is asked or not by what was answered before, and what has
        a share of the budget that depends on answers, each at its least share: a budget that is too small for one of them is
        refused whole. Whatever else is asked a rehearsal finds by itself.
    last : type of Question, optional
        What the rest of the budget is for, unless the answers before it leave nothing to ask: a rehearsal counts it as asked.
    """

    ask: Callable[..., Mapping[str, Option] | None]
    estimate: Callable[..., Estimate]
    finish: Callable[[Transcript], str] | None = None
    least: Callable[..., Iterable[Least]] | None = None
    last: type[Question] | None = None

    def rules(self) -> Iterator[Rule]:
        """Say what must hold of the record, and of the signatures of its two functions."""
        yield from Described.rules(self)
        parameters, shape = inspect.signature(self.ask).parameters.values(), str(inspect.signature(self.ask))
        kinds = [p.kind for p in parameters]
        right = _are_two(kinds) and set(kinds[2:]) <= {inspect.Parameter.KEYWORD_ONLY}
        yield "ask", "called as ask(curator, budget, *, each option by name)", right, shape, "put * before the options"
        yield "estimate", "a function", callable(self.estimate), self.estimate, "estimate(transcript, postprocess, *, options)"
        parameters, shape = inspect.signature(self.estimate).parameters.values(), str(inspect.signature(self.estimate))
        kinds = [p.kind for p in parameters]
        options = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
        whole = inspect.Parameter.VAR_KEYWORD in kinds or set(self.options) <= set(options)
        needed = {name for name, default in options.items() if default is inspect.Parameter.empty}
        right = _are_two(kinds) and whole and needed <= set(self.options)
        rule = f"called as estimate(transcript, postprocess, *, the options of ask: {', '.join(self.options) or 'none'})"
        yield "estimate", rule, right, shape, "give both functions the same options"

    @property
    def described_by(self) -> Callable[..., Any]:
        """What asks."""
        return self.ask


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
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


def _are(given: object, *known: object) -> bool:
    """Whether a value is a tuple that is not empty, of known things where some are named."""
    return isinstance(given, tuple) and len(given) > 0 and (not known or all(one in known for one in given))


def _are_two(kinds: list[Any]) -> bool:
    """Whether two parameters, and no more, are given by position."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return len(kinds) > 1 and [kind in positional for kind in kinds[:3]] in ([True, True], [True, True, False])


Named = Mechanism | Alias
Resolved = tuple[Mechanism, str | None, dict[str, Any]]


def _beside(function: Callable[..., Any], target: str, name: str) -> Any:
    """Return the record in the module of a function, which pickle finds by its name; None where there is no such record."""
    records = inspect.getmembers(inspect.getmodule(function), lambda one: isinstance(one, Described))
    return next((one for _, one in records if (one.target, one.name) == (target, name)), None)
