"""A curator answers what is in `ASKED`, each by one primitive, and nothing else; and what a mechanism holds leads to no rows.

Nothing here is random but the answers, which nobody looks at.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import types
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpcov.errors import BudgetError, ParameterError
from dpcov.kernel.account import Account
from dpcov.kernel.answer import Answer
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import PureDP
from dpcov.kernel.curator import Curator
from dpcov.kernel.face import Face, PeelFace
from dpcov.kernel.peel import Peel
from dpcov.kernel.public import Facts
from dpcov.kernel.questions.along import Diagonal, Explained
from dpcov.kernel.questions.asked import ASKED, CHOSEN, DERIVED, DRAWN, SEARCHED, SUMMED
from dpcov.kernel.questions.basis import DirectionsOf, EigenvectorsOf, GivenBasis
from dpcov.kernel.questions.choices import Choice, Search
from dpcov.kernel.questions.directions import Directions, Subspace
from dpcov.kernel.questions.measure import Integers, Measure, Part, Question
from dpcov.kernel.questions.moments import SecondMoment
from dpcov.kernel.questions.overlap import Overlap
from dpcov.kernel.questions.spectral import Quotients, Spectrum, Values
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.sums import ExactSums
from dpcov.schema import Categorical
from dpcov.sources.array import ArraySource
from dpcov.sources.by import By
from dpcov.sources.opening import open_source
from dpcov.verify.testing import opened
from tests.helpers.watched import Watched, watched
from tests.kernel.laws.test_questions import CENTRED, EXAMPLES, GROUPED, PLAIN, SCHEMA, TABLE, TURN, WEIGHED, N, with_field

ONE, HALF = PureDP(1), PureDP("0.5")
NOT_ITS_ROWS = r"^question must be about this curator's rows, got something else\. Hint: "
ROWS = np.random.default_rng(9400).uniform(-1, 1, size=(N, 3))

DOORS: dict[str, Callable[[Any, Any], object]] = {
    "noisy": lambda curator, question: curator.noisy(question, HALF, noise="laplace"),
    "choose": lambda curator, question: curator.choose(question, HALF),
    "first_above": lambda curator, question: curator.first_above(question, HALF),
    "peel": lambda curator, question: curator.peel(question, HALF, noise="laplace"),
    "peel, valued": lambda curator, question: curator.peel(question, HALF, HALF, noise="laplace"),
    "subspace": lambda curator, question: curator.subspace(question, HALF, sweeps=0),
    "subspace, chain": lambda curator, question: curator.subspace(question, HALF, sweeps=2),
    "prefetch": lambda curator, question: curator.prefetch(question),
    "prefetch, not to derive": lambda curator, question: curator.prefetch(question, derive=False),
}
each_door = pytest.mark.parametrize("door", DOORS)
each_way = pytest.mark.parametrize("held", [lambda curator: curator, Face], ids=["curator", "face"])
each_relation = pytest.mark.parametrize("neighbors", ["replace", "add-remove"])

ITS_DOORS: dict[type[Question], set[str]] = {
    **{kind: {"noisy", "prefetch", "prefetch, not to derive"} for kind in SUMMED},
    **{kind: {"noisy"} for kind in DERIVED},
    **{kind: {"choose"} for kind in CHOSEN},
    **{kind: {"first_above"} for kind in SEARCHED},
    Directions: {"peel", "peel, valued"},
    Subspace: {"subspace", "subspace, chain"},
}


def curator_of(neighbors: str = "replace", budget: PureDP = ONE) -> Watched:
    return watched(ArraySource(ROWS), PLAIN.grid, budget, neighbors)


PEOPLE = pa.table({"a": np.linspace(-2, 3, N), "b": ["x", "y"] * (N // 2), "c": np.arange(N) % 7.0})
OF_TABLE = {name: question for name, (question, encoding) in EXAMPLES.items() if encoding is TABLE and "," not in name}
OF_WEIGHTS = {name: question for name, (question, encoding) in EXAMPLES.items() if encoding is WEIGHED and "," not in name}
OF_GROUPS = {name: question for name, (question, encoding) in EXAMPLES.items() if encoding is GROUPED and "," not in name}


def table_curator_of(neighbors: str = "replace", budget: PureDP = ONE) -> Watched:
    """One of a table, whose columns can be asked about."""
    return watched(open_source(PEOPLE, None, SCHEMA, True), TABLE, budget, neighbors)


def group_curator_of(neighbors: str = "replace", budget: PureDP = ONE) -> Watched:
    """One whose rows have groups."""
    rows = pa.table(dict(zip("abc", ROWS.T, strict=True)) | {"region": ["north", "south"] * (N // 2)})
    by = By("region", Categorical(["north", "south"]))
    return watched(open_source(rows, ["a", "b", "c"], by=by), GROUPED, budget, neighbors)


def weighed_curator_of(neighbors: str = "replace", budget: PureDP = ONE) -> Watched:
    """One whose rows have weights, of which the largest is searched."""
    rows = pa.table(dict(zip("abc", ROWS.T, strict=True)) | {"w": np.linspace(0, 2, N)})
    return watched(open_source(rows, ["a", "b", "c"], aside=WEIGHED.aside), WEIGHED, budget, neighbors)


CURATORS = {
    **dict.fromkeys(OF_TABLE, table_curator_of),
    **dict.fromkeys(OF_GROUPS, group_curator_of),
    **dict.fromkeys(OF_WEIGHTS, weighed_curator_of),
}


def own(curator: Curator) -> dict[str, Question]:
    """The examples of plain rows; bases are those of answers that this curator gave."""
    moment = curator.public.second_moment()
    answer = curator.noisy(moment, PureDP(100), noise="laplace")
    part = EigenvectorsOf(answer, 2)
    found = {name: question for name, (question, encoding) in EXAMPLES.items() if encoding is PLAIN and "," not in name}
    found["diagonal"], found["explained"] = Diagonal.of(moment, part), Explained.of(moment, part)
    found["overlap"] = Overlap(moment, EigenvectorsOf(answer), (1.0, 0.5, 0.0))
    found["directions, valued"] = Directions(moment, 2, Values(moment, 2))
    return found


KINDS = ["count", "sum", "second moment", "norms", "trace", "bins", "spectrum", "diagonal", "explained", "overlap", "squares"]
KINDS += [
    "block",
    "solution",
    "radius",
    "quantile",
    "first radius",
    "threshold",
    "directions",
    "directions, valued",
    "subspace",
]


def test_the_doors_are_those_of_all_types() -> None:
    assert set(ITS_DOORS) == set(ASKED) == {*SUMMED, *DERIVED, *CHOSEN, *SEARCHED, *DRAWN}
    found = own(curator_of(budget=PureDP(200)).curator)
    assert set(found) == set(KINDS)
    assert {type(question) for question in (found | OF_TABLE | OF_GROUPS | OF_WEIGHTS).values()} == set(ASKED)


@each_way
@each_door
@pytest.mark.parametrize("kind", [*KINDS, *OF_TABLE, *OF_GROUPS, *OF_WEIGHTS])
def test_each_type_has_its_own_door(kind: str, door: str, held: Callable[[Curator], Any]) -> None:
    """By which it is answered; at every other one it is refused, and nothing is read or charged for it."""
    asked = CURATORS.get(kind, curator_of)(budget=PureDP(200))
    question = (OF_TABLE | OF_GROUPS | OF_WEIGHTS)[kind] if kind in CURATORS else own(asked.curator)[kind]
    charged, done = list(asked.account.charged), list(asked.done)
    opens = door in ITS_DOORS[type(question)]
    if isinstance(question, Directions) and opens and (question.values is None) == (door == "peel, valued"):
        with pytest.raises(ParameterError, match="values must be asked for together with their budget"):
            DOORS[door](held(asked.curator), question)
        opens = False
    elif kind == "count" and door == "noisy":  # n is public here
        with pytest.raises(ParameterError, match="statistic must be private"):
            DOORS[door](held(asked.curator), question)
        opens = False
    elif opens:
        answer = DOORS[door](held(asked.curator), question)
        assert asked.done[len(done)] == "read"
        assert (len(asked.account.charged) > len(charged)) is not door.startswith("prefetch")
        if isinstance(answer, Answer):
            assert type(answer.question) is type(question)
            assert answer is asked.curator.answers[-1]
    else:
        with pytest.raises(ParameterError, match=NOT_ITS_ROWS):
            DOORS[door](held(asked.curator), question)
    if not opens:
        assert (asked.account.charged, asked.done) == (charged, done)


def strange(question: Question, **methods: Any) -> Any:
    """The same question, of a class of its own."""
    kind = type(question)
    other = copy.copy(question)
    object.__setattr__(other, "__class__", type(f"Strange{kind.__name__}", (kind,), methods))
    return other


def forbidden(*_: object, **__: object) -> Any:
    raise AssertionError("a stranger was asked something")


CLAIMS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "that says it fits": {"fits": lambda self, public: True},  # noqa: ARG005
    "that is never to be asked": dict.fromkeys(
        ("fits", "among", "of", "entries", "of_moment", "sensitivity_squared", "sensitivity_l1", "check_noise", "to_json"),
        forbidden,
    ),
}


class Homemade(Measure):
    """A measure that claims to be a number that no row moves, and would answer all rows."""

    name = "homemade"
    unit_bits = 0
    max_block = 2**53
    shape = (3,)
    grid, d = PLAIN.grid, 3
    moment = SecondMoment(PLAIN.grid, 3)
    shapes = (Grid,)

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part("rows", 1, 3),)

    def of(self, rows: Any, *, scratch: bool = False) -> Integers:
        return forbidden(rows, scratch)  # type: ignore[no-any-return]

    def entries(self, total: Integers) -> Integers:
        return total

    def sensitivity_squared(self, neighbors: str) -> int:  # noqa: ARG002
        return 1

    def sensitivity_l1(self, neighbors: str) -> Fraction:  # noqa: ARG002
        return Fraction(1)

    def to_json(self, writing: Any) -> dict[str, Any]:  # noqa: ARG002
        return {}

    @classmethod
    def from_json(cls, fields: Any, reading: Any) -> Homemade:  # noqa: ARG003
        return cls()


def no_questions() -> dict[str, Any]:
    """What is no question that is proved: the types between, homemade ones, and other things altogether."""
    moment = SecondMoment(PLAIN.grid, 3)
    return {
        "homemade": Homemade(),
        "values": Values(moment, 3),
        "quotients": Quotients(moment, 3),
        "a type": SecondMoment,
        "nothing": None,
        "text": "second moment",
        "number": 5,
        "array": np.eye(3),
        "grid": PLAIN.grid,
        "look-alike": types.SimpleNamespace(**{name: getattr(moment, name) for name in ("grid", "d", "name", "size", "parts")}),
    }


class TestStrangers:
    @each_relation
    @each_way
    @each_door
    @pytest.mark.parametrize("claim", CLAIMS)
    def test_a_subclass_of_each_type(self, claim: str, door: str, held: Callable[[Curator], Any], neighbors: str) -> None:
        """What it computes, or how far that moves, is not what was proved of its parent."""
        asked, of_table = curator_of(neighbors), table_curator_of(neighbors)
        seen = set()
        for question, encoding in EXAMPLES.values():
            if encoding is not CENTRED:
                seen.add(type(question))
                curator = (of_table if encoding is TABLE else asked).curator
                with pytest.raises(ParameterError, match=NOT_ITS_ROWS):
                    DOORS[door](held(curator), strange(question, **CLAIMS[claim]))
        assert seen == set(ASKED)
        assert asked.untouched
        assert of_table.untouched

    @each_relation
    @each_way
    @each_door
    def test_what_is_no_question(self, door: str, held: Callable[[Curator], Any], neighbors: str) -> None:
        asked = curator_of(neighbors)
        for name, one in no_questions().items():
            with pytest.raises(ParameterError, match=NOT_ITS_ROWS):
                pytest.fail(f"{name} is answered with {DOORS[door](held(asked.curator), one)}")
            assert asked.untouched, name

    @each_way
    def test_one_stranger_among_others_is_refused_before_any_is_read(self, held: Callable[[Curator], Any]) -> None:
        asked = curator_of()
        moment = SecondMoment(PLAIN.grid, 3)
        for questions in ((moment, strange(moment)), (strange(moment), moment), (moment, Spectrum(moment, 3))):
            with pytest.raises(ParameterError, match=NOT_ITS_ROWS):
                held(asked.curator).prefetch(*questions)
        assert asked.untouched

    @each_relation
    @each_way
    def test_what_a_question_is_made_of(self, held: Callable[[Curator], Any], neighbors: str) -> None:
        """A type that is proved, about a second moment, counts, values or a basis that are not."""
        asked = curator_of(neighbors)
        fits = CLAIMS["that says it fits"]
        moment = strange(SecondMoment(PLAIN.grid, 3), **fits)
        values = strange(Values(SecondMoment(PLAIN.grid, 3), 2), **fits)
        turn = GivenBasis(TURN)
        object.__setattr__(turn, "__class__", type("Longer", (GivenBasis,), {"columns": property(lambda _: 100 * TURN)}))
        replaced = set()
        for question, encoding in EXAMPLES.values():
            fields: Any = dataclasses.fields(question) if encoding is PLAIN else ()
            for name in {field.name for field in fields} & {"norms", "bins", "moment", "basis"}:
                own_part = getattr(question, name)
                inner = moment if name == "moment" else turn if name == "basis" else strange(own_part, **fits)
                replaced.add((type(question), name))
                for door in ITS_DOORS[type(question)]:
                    with pytest.raises(ParameterError, match=NOT_ITS_ROWS):
                        DOORS[door](held(asked.curator), with_field(question, name, inner))
        assert len(replaced) == 15  # six of a moment and three of them in a basis, four of counts, two that are drawn
        with pytest.raises(ParameterError, match=NOT_ITS_ROWS):
            held(asked.curator).peel(Directions(SecondMoment(PLAIN.grid, 3), 2, values), HALF, HALF, noise="laplace")
        assert asked.untouched

    @each_way
    def test_a_basis_of_a_stranger_s_answer(self, held: Callable[[Curator], Any]) -> None:
        """A file could not name it, and its integers may be anything."""
        moment = SecondMoment(PLAIN.grid, 3)
        foreign = curator_of().curator
        found, drawn = foreign.noisy(moment, HALF, noise="laplace"), foreign.subspace(Subspace(moment, 2), HALF, sweeps=0)
        asked = curator_of(budget=PureDP(10))
        for basis in (EigenvectorsOf(found), DirectionsOf(drawn)):
            with pytest.raises(ParameterError, match="basis must come from an answer of this curator"):
                held(asked.curator).noisy(Diagonal.of(moment, basis), HALF, noise="laplace")
        with pytest.raises(ParameterError, match="basis must come from an answer of this curator"):
            held(asked.curator).noisy(Overlap(moment, EigenvectorsOf(found), (1.0,) * 3), HALF, noise="laplace")
        assert asked.untouched
        mine = held(asked.curator).noisy(moment, HALF, noise="laplace")
        assert held(asked.curator).noisy(Diagonal.of(moment, EigenvectorsOf(mine)), HALF, noise="laplace").integers.shape == (
            3,
        )

    def test_the_refusal_is_what_stops_them(self) -> None:
        """The control: an honest subclass would otherwise be read, charged and answered as its parent is."""
        question = strange(SecondMoment(PLAIN.grid, 3))
        assert question.fits(curator_of().curator.public)
        object.__setattr__(question, "__class__", SecondMoment)
        asked = curator_of()
        asked.curator.noisy(question, HALF, noise="laplace")
        assert asked.done == ["read", "charge", "draw", "record"]


def kinds_of(kind: type) -> Iterator[type]:
    yield kind
    children: list[type] = kind.__subclasses__()
    for child in children:
        yield from kinds_of(child)


def test_no_other_type_of_the_library_is_complete() -> None:
    """All its questions that can be made are asked, but for values: those come with directions."""
    own_types = {kind for kind in kinds_of(Question) if kind.__module__.startswith("dpcov.")}
    assert set(ASKED) <= own_types
    made = {kind for kind in own_types - set(ASKED) if not inspect.isabstract(kind) and kind.__subclasses__() == []}
    assert {kind for kind in made if kind.__module__.startswith("dpcov.kernel")} == {Quotients}
    assert {kind.__name__ for kind in own_types - set(ASKED) - made} == {
        *(
            "Question",
            "Measure",
            "SumOverRows",
            "CountedRows",
            "AboutWeights",
            "OfMoment",
            "OfTable",
            "Values",
            "AlongBasis",
            "Drawn",
        ),
        *("Indexed", "Choice", "Search", "AmongRadii"),
    }
    for kind in (Choice, Search, Measure):
        assert inspect.isabstract(kind)


class TestMoreThanThereIs:
    """Types are looked at before budgets, and budgets before rows."""

    @each_door
    def test_a_budget_that_does_not_fit(self, door: str) -> None:
        asked, moment = curator_of(budget=PureDP("0.1")), SecondMoment(PLAIN.grid, 3)
        for name, (question, encoding) in EXAMPLES.items():
            if encoding is not PLAIN or door not in ITS_DOORS[type(question)] or "," in name or name == "count":
                continue
            if door == "peel, valued":
                question = Directions(moment, 2, Values(moment, 2))
            if door.startswith("prefetch"):  # costs nothing
                continue
            with pytest.raises(BudgetError, match="charges must fit into the budget"):
                DOORS[door](asked.curator, question)
            with pytest.raises(ParameterError, match=NOT_ITS_ROWS):
                DOORS[door](asked.curator, strange(question))
            assert asked.untouched, name


SECRET_N = 8191
"""No other number here is this one."""

SKIPPED = (int, float, complex, str, bytes, bool, type(None), Fraction, np.generic, types.ModuleType, type, types.CodeType)


def held_by(thing: Any, *, closures: bool) -> Iterator[Any]:
    """What can be had from a thing: its attributes and entries, what a method is bound to, and on demand a function's closure.

    Not followed: modules and classes, which lead to all code, and double underscores, but for those of functions.
    """
    if isinstance(thing, dict | types.MappingProxyType):
        yield from thing.keys()
        yield from thing.values()
    elif isinstance(thing, list | tuple | set | frozenset):
        yield from thing
    elif isinstance(thing, np.ndarray):
        yield thing.base
    names = {name for name in dir(thing) if not name.startswith("__")}
    names |= {"__self__", "__func__", "__wrapped__", "__defaults__", "__kwdefaults__", "__dict__"}
    for name in sorted(names):
        try:
            yield getattr(thing, name)
        except (AttributeError, ParameterError, NotImplementedError, ValueError):  # what an object does not have
            continue
    if closures and isinstance(thing, types.FunctionType):
        yield from (cell.cell_contents for cell in thing.__closure__ or ())


def reachable(root: Any, *, closures: bool = False) -> list[Any]:
    """All that leads from a thing, however far."""
    seen: dict[int, Any] = {}
    waiting = [root]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen[id(thing)] = thing  # and kept alive: an id of a thing that is gone could be given again
        if not isinstance(thing, SKIPPED) and not isinstance(thing, np.ndarray):
            waiting.extend(held_by(thing, closures=closures))
        elif isinstance(thing, np.ndarray):
            waiting.append(thing.base)
        assert len(seen) < 200_000
    return list(seen.values())


DOORWAYS = {"public", "n", "ask_n", "prefetch", "noisy", "choose", "first_above", "peel", "subspace"}
COMPUTED = {name for name in dir(Facts) if not name.startswith("__")} | {"encoding", "neighbors", "known_n", "rereadable"}


class TestFace:
    """What a mechanism is handed: no way from it to the rows, but the one through a function's closure."""

    def test_what_is_left_out_is_what_the_curator_has_for_it(self) -> None:
        shared = [name for name in dir(Face) if not name.startswith("_") and callable(getattr(Face, name))]
        assert {"noisy", "choose", "first_above", "peel", "subspace", "prefetch"} <= {*shared}
        for name in {*shared} & {*dir(Curator)}:
            theirs, ours = (inspect.signature(getattr(kind, name)).parameters for kind in (Curator, Face))
            assert {one.name: one.default for one in theirs.values()} == {one.name: one.default for one in ours.values()}

    def made(self, neighbors: str) -> tuple[ArraySource, Curator, Face]:
        data = np.random.default_rng(9401).uniform(-0.5, 0.5, size=(SECRET_N, 3))
        source = ArraySource(data)
        curator = opened(source, PLAIN.grid, PureDP(10), neighbors)
        moment = curator.public.second_moment()
        curator.prefetch(moment)  # exact sums are kept
        curator.noisy(moment, ONE, noise="laplace")
        return source, curator, Face(curator)

    def exact(self, found: list[Any], source: ArraySource, neighbors: str) -> list[Any]:
        """What of the things found is exact: rows, sums, those who hold them, and n where it is private."""
        moment = SecondMoment(PLAIN.grid, 3)
        total = source.total(moment)
        kinds = (ArraySource, ExactSums, Curator, Account, Peel)
        exact: list[Any] = [thing for thing in found if isinstance(thing, kinds)]
        exact += [thing for thing in found if isinstance(thing, np.ndarray) and SECRET_N in thing.shape]
        exact += [thing for thing in found if isinstance(thing, np.ndarray) and np.array_equal(thing, total)]
        if neighbors == "add-remove":
            exact += [thing for thing in found if isinstance(thing, int | np.integer) and thing == SECRET_N]
        return exact

    @each_relation
    def test_nothing_leads_to_the_rows(self, neighbors: str) -> None:
        source, _, face = self.made(neighbors)
        assert self.exact(reachable(face), source, neighbors) == []

    @each_relation
    def test_what_is_looked_for_can_be_found(self, neighbors: str) -> None:
        """The controls: from the curator, through the closure, and from a face with one attribute too many."""
        source, curator, face = self.made(neighbors)

        class Leaky(Face):
            def __init__(self, held: Curator) -> None:
                super().__init__(held)
                self.why = {"not": [functools.partial(held.noisy, noise="laplace")]}

        class Telling(Face):
            @property
            def size(self) -> int:
                return source.n

        expected = {ArraySource, ExactSums, Curator, Account}
        for found in (reachable(curator), reachable(face, closures=True), reachable(Leaky(curator))):
            exact = self.exact(found, source, neighbors)
            assert expected <= {type(thing) for thing in exact}
            assert any(isinstance(thing, np.ndarray) and thing.shape == (6,) for thing in exact)  # the kept sum
            assert any(isinstance(thing, np.ndarray) and thing.shape == (SECRET_N, 3) for thing in exact)
        if neighbors == "add-remove":
            for found in (reachable(Telling(curator)), reachable(face, closures=True)):
                assert [thing for thing in self.exact(found, source, neighbors) if isinstance(thing, int)]

    @each_relation
    def test_its_attributes_are_these(self, neighbors: str) -> None:
        _, curator, face = self.made(neighbors)
        names = {name for name in dir(face) if not name.startswith("__")}
        assert names == COMPUTED | (DOORWAYS - {"public"}) | {"_pass_on"}
        assert vars(face) == {}
        assert type(face._pass_on) is types.FunctionType
        assert not face._pass_on.__defaults__
        assert not face._pass_on.__kwdefaults__
        for name in COMPUTED - {"beyond", "group_counts", "grouped_moment", "norms", "second_moment", "trace"}:
            assert getattr(face, name) == getattr(curator.public, name)

    @each_relation
    def test_its_one_function_passes_on_these_names_only(self, neighbors: str) -> None:
        _, _, face = self.made(neighbors)
        for name in (
            "_sums",
            "sums",
            "account",
            "_account",
            "sampler",
            "public",
            "answers",
            "close",
            "forget",
            "budget",
            "__class__",
        ):
            with pytest.raises(KeyError):
                face._pass_on(name)
        if neighbors == "add-remove":
            assert face._pass_on("known_n") is None
            curious = Face(opened(ArraySource(ROWS), PLAIN.grid, ONE, neighbors))
            with pytest.raises(ParameterError, match="n must be asked for where it is private"):
                _ = curious.n
        else:
            assert face._pass_on("known_n") == face.n == SECRET_N

    @each_relation
    def test_a_private_n_is_what_was_told(self, neighbors: str) -> None:
        """Before it was asked for, no property has it; then it is the noisy one."""
        curator = opened(ArraySource(ROWS), PLAIN.grid, PureDP("0.01"), neighbors, SeededBits(3))
        face = Face(curator)
        if neighbors == "replace":
            assert (face.n, face.known_n, face.most_rows) == (N, N, N)
            return
        assert (face.known_n, face.most_rows, face.knows_n) == (None, 2**30, True)
        face.ask_n(PureDP("0.01"))
        told = max(1, int(curator.answers[0].integers[0]))
        assert told != N
        assert (face.n, face.known_n, face.most_rows) == (told, None, 2**30)

    def test_directions_lead_nowhere_either(self) -> None:
        """A peel holds the exact matrix; what a mechanism draws from does not."""
        source, curator, face = self.made("replace")
        moment = curator.public.second_moment()
        peel = face.peel(Directions(moment, 2, Values(moment, 2)), ONE, ONE, noise="laplace")
        assert type(peel) is PeelFace
        exact = source.total(moment)[:3] / 4.0**16

        def diagonals(found: list[Any]) -> list[Any]:
            arrays = [thing for thing in found if isinstance(thing, np.ndarray) and thing.shape == (3, 3)]
            return [array for array in arrays if np.allclose(array.diagonal(), exact, rtol=1e-12, atol=0)]

        assert diagonals(reachable(peel)) == []
        assert self.exact(reachable(peel), source, "replace") == []
        assert len(diagonals(reachable(peel, closures=True))) >= 1
        assert {name for name in dir(peel) if not name.startswith("__")} == {
            *("_pass_on", "left", "direction", "value", "skip", "close")
        }
        for _ in range(2):
            peel.direction(Fraction(1, 2))
            peel.value()
        answer = peel.close()
        assert diagonals(reachable(answer)) == []
        assert self.exact(reachable(answer), source, "replace") == []
