"""One table of forgeries, tried on a file of every mechanism: what no curator can have answered for the promise is refused.

Reading checks answers, never mechanisms, so a case here is about a question, a law, a charge, integers or the header, and goes
over every answer of every file that has such a thing. What reading cannot know is in `test_hostile`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from functools import cache
from itertools import islice
from typing import Any

import pytest

from dpcov.errors import ReleaseError
from dpcov.kernel.questions.asked import BY_TAG
from dpcov.kernel.rows.grid import MAX_FEATURES
from dpcov.release.file import KIND_OF_LAW, parse
from tests.helpers.small import Record, releases, sealed, texts

Edit = Callable[[str], Iterator[Record]]

FORMAT = r"(?s)release file must be .+, got .+\. Hint: .+\."
WITH_MORE = ("mod-sulq",)  # the noise of its paper is far more than the charge needs
MOMENTS = ("second moment", "block")
GROUPED = ("second moments of groups", "counts of groups")
OF_WEIGHTS = ("weights", "squared weights", "largest weight")  # which tests/api/test_weights.py forges
SUMS = ("count", "sum", "second moment", "norms", "trace", "bins", "histograms", "level counts", *GROUPED)
DERIVED = ("spectrum", "diagonal in a basis", "explained", "overlap", "squares", "block", "solution", "column moments")
CHOSEN, SEARCHED = ("radius", "quantile", "interval"), ("first radius", "threshold")
DRAWN = ("directions", "subspace")
ROUNDED = ("wishart difference", "frobenius")
CLOSER = ("exponential", "bingham", "matrix bingham")  # a larger parameter means less noise
AMOUNTS = ("epsilon", "rho")


def test_every_question_and_every_law_is_forged() -> None:
    trees = [json.loads(text) for text in texts().values()]
    answers = [answer for tree in trees for answer in tree["answers"]]
    known = {*SUMS, *DERIVED, *CHOSEN, *SEARCHED, *DRAWN}
    assert {answer["question"]["asked"] for answer in answers} == known == {*BY_TAG} - {*OF_WEIGHTS}
    assert {noise["law"] for answer in answers for noise in answer["noise"]} == set(KIND_OF_LAW)
    assert {tree["privacy"]["notion"] for tree in trees} == {"pure", "zCDP", "approx"}
    rows = [answer["question"].get("rows", {}) for answer in answers]
    assert {tuple(found) for found in rows} == {
        (),
        ("radius",),
        ("inner", "outer"),
        ("frame",),
        ("frame", "corner", "radius"),
    }
    bases = [answer["question"].get("basis", {}) for answer in answers]
    assert {next(iter(basis), "") for basis in bases} == {"", "columns", "eigenvectors of", "directions of"}


@pytest.mark.parametrize("name", texts())
def test_files_load_before_they_are_forged(name: str) -> None:
    """Otherwise every refusal below could have another reason than the one it is about."""
    back = parse(sealed(json.loads(texts()[name])))
    assert back.n == releases()[name].n


# ---------------------------------------------------------------------------------------------------------------- editing


def answers(text: str, *asked: str) -> Iterator[tuple[Record, Record]]:
    """Yield a fresh copy of the file for each of its answers, to these questions or to any, with that answer."""
    for place, answer in enumerate(json.loads(text)["answers"]):
        if not asked or answer["question"]["asked"] in asked:
            record = json.loads(text)
            yield record, record["answers"][place]


def noises(text: str, *laws: str) -> Iterator[tuple[Record, Record, Record]]:
    """Yield a copy for each law of each answer, with that answer and that law."""
    for place, answer in enumerate(json.loads(text)["answers"]):
        for part, noise in enumerate(answer["noise"]):
            if not laws or noise["law"] in laws:
                record = json.loads(text)
                yield record, record["answers"][place], record["answers"][place]["noise"][part]


def in_answers(edit: Callable[[Record], Any], *asked: str) -> Edit:
    """Make the same edit to each answer."""

    def edited(text: str) -> Iterator[Record]:
        for record, answer in answers(text, *asked):
            edit(answer)
            yield record

    return edited


def in_noises(edit: Callable[[Record], Any], *laws: str) -> Edit:
    """Make the same edit to each law."""

    def edited(text: str) -> Iterator[Record]:
        for record, _, noise in noises(text, *laws):
            edit(noise)
            yield record

    return edited


def in_questions(key: str, *values: Any) -> Edit:
    """Put other values where questions have this key; a function is given what stands there."""

    def edited(text: str) -> Iterator[Record]:
        for value in values:
            for record, answer in answers(text):
                if key in answer["question"]:
                    before = answer["question"][key]
                    answer["question"][key] = value(before) if callable(value) else value
                    yield record

    return edited


def in_header(edit: Callable[[Record], Any]) -> Edit:
    """Make an edit to the file as a whole; one that returns False leaves it alone."""

    def edited(text: str) -> Iterator[Record]:
        record = json.loads(text)
        if edit(record) is not False:
            yield record

    return edited


def in_frames(**changes: Any) -> Edit:
    """Put other values into each frame; a function is given its centre."""

    def edited(text: str) -> Iterator[Record]:
        for place in range(len(json.loads(text)["frames"])):
            record = json.loads(text)
            if "centre" in record["frames"][place]:
                centre = record["frames"][place]["centre"]
                for key, value in changes.items():
                    record["frames"][place][key] = value(centre) if callable(value) else value
                yield record

    return edited


def in_units(*changes: Callable[[Any, Any], Any]) -> Edit:
    """Change the units of columns, each edit by itself: of the numbers, a list for each column, and of the levels."""

    def edited(text: str) -> Iterator[Record]:
        for place, frame in enumerate(json.loads(text)["frames"]):
            for change in changes if "numeric" in frame else ():
                record = json.loads(text)
                change(record["frames"][place]["numeric"], record["frames"][place]["levels"])
                yield record

    return edited


def put(of_levels: bool, column: int, place: int, value: Any) -> Callable[[Any, Any], None]:
    """Put a value in a place of a column's units."""

    def change(numeric: Any, levels: Any) -> None:
        (levels if of_levels else numeric)[column][place] = value

    return change


def swapped(numeric: Any, levels: Any) -> None:  # noqa: ARG001
    numeric[0][:2] = numeric[0][1::-1]


OTHER_NUMBERS: tuple[Any, ...] = (2.0, -1.5, 1e308, 1, None, "0.5", [0.1], True)
OTHER_UNITS = (
    swapped,
    *(put(False, 0, place, value) for place in range(3) for value in OTHER_NUMBERS),
    *(put(False, 1, 3, value) for value in (-0.1, 1e-13, 1e13, 1e308, 0, None, "1", True)),
    lambda numeric, levels: numeric.pop(),  # noqa: ARG005
    lambda numeric, levels: numeric.append(numeric[0]),  # noqa: ARG005
    lambda numeric, levels: numeric[0].pop(),  # noqa: ARG005
    lambda numeric, levels: numeric[0].append(0.0),  # noqa: ARG005
    lambda numeric, levels: levels.pop(),  # noqa: ARG005
    lambda numeric, levels: levels.append(levels[0]),  # noqa: ARG005
    lambda numeric, levels: levels[0].pop(),  # noqa: ARG005
    lambda numeric, levels: levels[0].append([1.0]),  # noqa: ARG005
    *(
        put(True, 0, 0, groups)
        for groups in ([0, 2], [1, 1], [0, -1], [0, 2**62], [0], [0, 1, 1], [0.0, 1.0], [False, True], [])
    ),
    *(put(True, 0, 1, shares) for shares in ([0.5, 0.4], [0.5, 0.6], [1.5, -0.5], [1e308, 0.5], [1.0], [0, 1], [], None)),
    *(put(True, 0, 2, divisors) for divisors in ([0.0, 1.0], [-1.0, 1.0], [1e13, 1.0], [1e-13, 1.0], [1.0], [1, 1], [], None)),
)
"""Ranges that are reversed or beyond the bounds, centres outside, deviations and divisors that are none or huge, shares that do
not sum to 1, groups that do not exist; too many or too few of each."""


def corners(text: str) -> Iterator[Record]:
    """A corner as long as the radius, or none."""
    for record, answer in answers(text):
        rows = answer["question"].get("rows", {})
        if "corner" in rows:
            for bad in (rows["radius"], 2 * rows["radius"], -0.1, 1e308, 0, None, "0.5", True, [0.5]):
                rows["corner"] = bad
                yield json.loads(json.dumps(record))


def heavier(ranges: list[list[int]]) -> list[list[int]]:
    """Count each cell that is there twice: one row moves more."""
    return [[column, low, high, 2**17 if weight else 0] for column, low, high, weight in ranges]


def heavier_cells(text: str) -> Iterator[Record]:
    for record in in_questions("ranges", heavier)(text):
        if sealed(record) != sealed(json.loads(text)):
            yield record


def in_first_range(place: int, value: Any) -> Callable[[list[list[Any]]], list[list[Any]]]:
    return lambda ranges: [[*ranges[0][:place], value, *ranges[0][place + 1 :]], *ranges[1:]]


OTHER_RANGES: tuple[Any, ...] = (
    *(in_first_range(0, bad) for bad in (-1, 2, 2**62, 0.0, None, True)),
    *(in_first_range(1, bad) for bad in (-1, 2**17, 2**62, 0.0, None)),
    *(in_first_range(2, bad) for bad in (0, -1, 2**17 + 1, 2**62, 4.0, None)),
    *(in_first_range(3, bad) for bad in (-1, 2**17 + 1, 2**62, 0.5, None)),
    lambda ranges: [ranges[0], *ranges],
    lambda ranges: [ranges[0][:3], *ranges[1:]],
    lambda ranges: [[*ranges[0], 0], *ranges[1:]],
    lambda ranges: [ranges[0] + ranges[0], *ranges[1:]],
    lambda ranges: ranges[0],
    lambda ranges: [*ranges, [2, 0, 4, 0]],
    [],
    {},
    None,
)


def other_nullable(text: str) -> Iterator[Record]:
    for bad in (1, 0, None, "true", 1.0, [True]):
        for name in json.loads(text)["encoding"]["schema"] or ():
            record = json.loads(text)
            record["encoding"]["schema"][name]["nullable"] = bad
            yield record


def times(amount: str, factor: str) -> str:
    return str(Fraction(amount) * Fraction(factor))


def scale_charge(noise: Record, factor: str) -> None:
    charge = noise["charge"]
    charge.update({name: times(charge[name], factor) for name in AMOUNTS if name in charge})


def less_noise(text: str) -> Iterator[Record]:
    """Change one parameter at a time, by a thousandth."""
    for _, _, noise in noises(text):
        for name in noise["parameters"].keys() - {"d", "lattice", "excess", "tail", "sweeps", "blocks"}:
            yield from _with_parameter(text, noise, name)


def _with_parameter(text: str, noise: Record, name: str) -> Iterator[Record]:
    for record, _, found in noises(text):
        if found == noise:
            factor = "1001/1000" if noise["law"] in CLOSER else "999/1000"
            factor = "1/1000" if record["mechanism"]["name"] in WITH_MORE else factor
            found["parameters"][name] = times(found["parameters"][name], factor)
            yield record


def smaller_charge(text: str) -> Iterator[Record]:
    for record, _, noise in noises(text, *set(KIND_OF_LAW) - {"uniform"}):  # a uniform subspace costs nothing
        scale_charge(noise, "1/100" if record["mechanism"]["name"] in WITH_MORE else "999/1000")
        yield record


ENOUGH: dict[str, tuple[str, dict[str, str]]] = {
    "discrete gaussian": ("exact", {"PART": str(2**100)}),
    "discrete laplace": ("exact", {"scale": str(2**55)}),
    "wishart difference": ("rounded", {"d": "4", "scale": str(2**50), "lattice": "50", "excess": "1/9", "tail": "1/9"}),
    "frobenius": ("rounded", {"d": "4", "scale": str(2**50), "lattice": "50", "excess": "1/9", "tail": "1/9"}),
    "exponential": ("exact", {"rate": "1/1000000000000"}),
    "sparse vector": ("exact", {"threshold": str(2**55), "query": str(2**55)}),
    "bingham": ("float", {"1": "1/1000000000000"}),
    "matrix bingham": ("markov chain", {"concentration": "1/1000000000000", "sweeps": "9"}),
    "uniform": ("float", {}),
}
"""Each law with as much noise as anybody could want."""


def serves(law: str, asked: str, notion: str) -> bool:
    """Whether the proofs have this law for such a question at such a price; values along directions are a diagonal."""
    measured = asked in (*SUMS, *DERIVED, "diagonal", "quotients")
    return {
        "discrete gaussian": measured and notion in ("zCDP", "approx"),
        "discrete laplace": measured and notion in ("pure", "zCDP"),
        "wishart difference": asked in MOMENTS and notion == "pure",
        "frobenius": asked in MOMENTS and notion == "pure",
        "exponential": asked in CHOSEN,
        "sparse vector": asked in SEARCHED,
        "bingham": asked == "directions",
        "matrix bingham": asked == "subspace",
        "uniform": asked == "subspace",
    }[law]


def laws_of_others(text: str) -> Iterator[Record]:
    for law, (numerics, parameters) in ENOUGH.items():
        for record, answer, noise in noises(text):
            values = noise is not answer["noise"][0]
            if not serves(law, "diagonal" if values else answer["question"]["asked"], noise["charge"]["notion"]):
                part = next(iter(noise["parameters"]), "x")
                named = {part if name == "PART" else name: value for name, value in parameters.items()}
                noise |= {"law": law, "numerics": numerics, "parameters": named}
                yield record


def other_notion(text: str) -> Iterator[Record]:
    """Say that all was paid for in another notion, of which there is enough: laws do not serve it, nor do draws and choices."""
    for charge in (
        {"notion": "zCDP", "rho": "1/1000"},
        {"notion": "pure", "epsilon": "1/1000"},
        {"notion": "approx", "epsilon": "1/1000", "delta": "1/1000"},
    ):
        record = json.loads(text)
        paid = [noise for answer in record["answers"] for noise in answer["noise"]]
        notions = {"discrete gaussian": ("zCDP", "approx"), "discrete laplace": ("pure", "zCDP")} | dict.fromkeys(
            ROUNDED, ("pure",)
        )
        if any(charge["notion"] not in notions.get(noise["law"], ("pure", "zCDP")) for noise in paid):
            record["privacy"] = {"notion": "approx", "epsilon": "600", "delta": "1/2"}
            for noise in paid:
                noise["charge"] = charge
            yield record


def other_parts(text: str) -> Iterator[Record]:
    """Name parts, or draws, that the question does not have, or leave one out."""
    for record, _, noise in noises(text, "discrete gaussian", "bingham"):
        noise["parameters"]["9"] = "1000000"
        yield record
    for record, _, noise in noises(text, "discrete gaussian", "bingham"):
        noise["parameters"].popitem()
        yield record
    for record, _, noise in noises(text, "discrete gaussian", "bingham"):
        noise["parameters"] = {"x" + name: value for name, value in noise["parameters"].items()}
        yield record


def other_lattice(text: str) -> Iterator[Record]:
    changes: list[tuple[str, Callable[[str], str]]] = [
        ("d", lambda d: str(int(d) + 1)),
        ("d", lambda d: d + "/2"),
        ("lattice", lambda lattice: str(int(lattice) - 1)),
        ("lattice", lambda lattice: str(int(lattice) + 9)),
        ("lattice", lambda lattice: "62"),  # noqa: ARG005
        ("lattice", lambda lattice: lattice + "/2"),
        ("scale", lambda scale: times(scale, "10")),
        ("scale", lambda scale: str(2**63)),  # noqa: ARG005
        ("excess", lambda excess: times(excess, "3")),
        ("excess", lambda excess: times(excess, "1/5")),
        ("tail", lambda tail: times(tail, "2")),
        ("tail", lambda tail: times(tail, "1/2")),
        ("tail", lambda tail: "9" * 400),  # noqa: ARG005
        ("tail", lambda tail: "1/" + "9" * 900),  # noqa: ARG005
    ]
    for name, change in changes:
        for record, _, noise in noises(text, *ROUNDED):
            noise["parameters"][name] = change(noise["parameters"][name])
            yield record


def bad_amounts(text: str) -> Iterator[Record]:
    others: tuple[Any, ...] = ("0", "-1", "1/0", "0.5", "1\n", "٣", "9" * 1001, "1/" + "9" * 1001, 1, None)
    for bad in others:
        for record, _, noise in noises(text):
            for name in noise["parameters"]:
                noise["parameters"][name] = bad
                yield record
                break
        for record, _, noise in noises(text):
            noise["charge"][next(name for name in AMOUNTS if name in noise["charge"])] = bad
            yield record


def off_the_lattice(text: str) -> Iterator[Record]:
    for place in (0, -1):
        for record, answer, noise in noises(text, *ROUNDED):
            assert int(noise["parameters"]["lattice"]) > 1
            answer["integers"][place] += 1
            yield record


def beyond_the_candidates(text: str) -> Iterator[Record]:
    """An index counts from 0 and below the candidates, whose number follows from the question."""
    for record, answer in answers(text, *CHOSEN, *SEARCHED):
        question = answer["question"]
        radii = question.get("per octave", 0) * question.get("octaves", 0) + 1
        first = {
            "radius": len(question.get("weights", ())),
            "quantile": question.get("bins"),
            "interval": (2 << question.get("bits", 0)) - 2 - question.get("bits", 0),
            "first radius": radii + 1,
            "threshold": len(question.get("noises", ())) + 1,
        }[question["asked"]]
        for bad in (first, first + 1, 2**31, 2**63 - 1, -1, -(2**63)):
            answer["integers"] = [bad]
            yield json.loads(json.dumps(record))
        answer["integers"] = [first - 1]
        parse(sealed(record))


def no_unit_vectors(text: str) -> Iterator[Record]:
    d = _width(json.loads(text))
    for bad in (
        lambda v: [v[0] + 2**12, *v[1:]],
        lambda v: [0] * len(v),
        lambda v: [2**62, *v[1:]],
        lambda v: [2 * x for x in v],
    ):
        for record, answer in answers(text, *DRAWN):
            answer["integers"][:d] = bad(answer["integers"][:d])
            yield record


def not_orthogonal(text: str) -> Iterator[Record]:
    """A direction twice; those that are subtracted need not be orthogonal, and then it loads."""
    d = _width(json.loads(text))
    for record, answer in answers(text, *DRAWN):
        answer["integers"][d : 2 * d] = answer["integers"][:d]
        if answer["question"].get("valued") == "subtracted":
            parse(sealed(record))
        else:
            yield record


def _width(record: Record) -> int:
    return len(record["encoding"]["feature_names"]) + bool(record["encoding"]["constant"])


def rows_of_others(text: str) -> Iterator[Record]:
    """Radii beyond row_norm, by one unit in the last place as well; and what is none."""
    norm = json.loads(text)["encoding"]["row_norm"]
    for bad in (math.nextafter(norm, math.inf), 2 * norm, 1e300, 0.0, -norm, 5e-324, 1, "1.0", None, [norm], True):
        for key in ("radius", "inner", "outer"):
            for record, answer in answers(text):
                rows = answer["question"].get("rows", {})
                if key in rows and not ("frame" in rows and type(bad) is float and norm < bad < 1e9):  # its own clip
                    rows[key] = bad
                    yield record


def other_annuli(text: str) -> Iterator[Record]:
    for record, answer in answers(text):
        rows = answer["question"].get("rows", {})
        if "inner" in rows:
            for bad in ((rows["outer"], rows["inner"]), (rows["inner"], rows["inner"]), (rows["outer"], rows["outer"])):
                answer["question"]["rows"] = dict(zip(("inner", "outer"), bad, strict=True))
                yield json.loads(json.dumps(record))
            answer["question"]["rows"] = {"inner": rows["inner"]}
            yield record


def frames_that_do_not_stand_there(text: str) -> Iterator[Record]:
    count = len(json.loads(text)["frames"])
    for bad in (count, count + 1, -1, 2**62, -(2**62), 0.0, "0", None, True, [0]):
        for record, answer in answers(text):
            if "frame" in answer["question"].get("rows", {}):
                answer["question"]["rows"]["frame"] = bad
                yield record
    if count:
        record = json.loads(text)
        record["frames"].pop()
        yield record


def other_shapes(text: str) -> Iterator[Record]:
    """No moment and no norm is asked of a box, no bin of anything else, no norm of an ellipsoid: no proof has them."""
    d = len(json.loads(text)["encoding"]["feature_names"])
    extents = {"ball": 1.0, "box": [1.0] * d, "ellipsoid": [[float(i == j) for i in range(d)] for j in range(d)]}
    wrong = {
        **dict.fromkeys(("second moment", "trace"), ("box",)),
        **dict.fromkeys(("radius",), ("box", "ellipsoid")),
        **dict.fromkeys(("bins", "quantile"), ("ball", "ellipsoid")),
    }
    for asked, shapes in wrong.items():
        for shape in shapes:
            for record, answer in answers(text, asked):
                if tuple(answer["question"]["rows"]) == ("frame",):
                    record["frames"][answer["question"]["rows"]["frame"]]["extent"] = extents[shape]
                    yield record


def other_bases(text: str) -> Iterator[Record]:
    """A basis of this or a later answer, of none, or of one that has no such basis."""
    for place, answer in enumerate(json.loads(text)["answers"]):
        for key in ("eigenvectors of", "directions of"):
            if key in answer["question"].get("basis", {}):
                known = MOMENTS if key == "eigenvectors of" else DRAWN
                later = (place, place + 1, len(json.loads(text)["answers"]), -1, -2, 2**62, 0.0, "0", None, True)
                others = json.loads(text)["answers"][:place]
                wrong = [i for i, other in enumerate(others) if other["question"]["asked"] not in known]
                for bad in (*later, *wrong):
                    record = json.loads(text)
                    record["answers"][place]["question"]["basis"][key] = bad
                    yield record


def other_numbers_of_eigenvectors(text: str) -> Iterator[Record]:
    for record, answer in answers(text):
        if "first" in (basis := answer["question"].get("basis", {})):
            d = _width(record)
            for bad in (-1, d + 1, 2**62, 1.0, "1", None, True, 1 if basis["first"] != 1 else 2):
                basis["first"] = bad
                yield json.loads(json.dumps(record))


def not_orthonormal(text: str) -> Iterator[Record]:
    for record, answer in answers(text):
        if columns := answer["question"].get("basis", {}).get("columns"):
            first, *others = columns
            bases: tuple[Any, ...] = (
                [[first[0] * (1 + 1e-9), *first[1:]], *others],
                [[1e200, *first[1:]], *others],
                [[0.0] * len(first), *others],
                others,
                [first[1:], *(row[1:] for row in others)],
                [first[1:], *others],
                [*columns, first],
                [[1, *first[1:]], *others],
                first,
                [[]] * len(columns),
                [],
                {},
                None,
            )
            for bad in bases:
                answer["question"]["basis"]["columns"] = bad
                yield json.loads(json.dumps(record))


def promised_less(record: Record) -> None:
    """By a billionth of what all charges are: they fit exactly, or but for what a conversion leaves."""
    name = "rho" if "rho" in record["privacy"] else "epsilon"
    record["privacy"][name] = times(record["privacy"][name], "1/2")


def n_of_another(text: str) -> Iterator[Record]:
    if json.loads(text)["neighbors"] == "add-remove":
        for change in (1, -1, 2**31):
            record = json.loads(text)
            record["n"] += change
            yield record
        for record, answer in answers(text, "count", "counts of groups"):
            answer["integers"][0] += 1
            yield record
        record, counts = json.loads(text), ("count", "counts of groups")
        record["answers"] = [answer for answer in record["answers"] if answer["question"]["asked"] not in counts]
        if not record["encoding"]["constant"]:
            yield record
    for bad in (0, -1, 2**63 - 1, 2**63, True, 1.0, "60", None, [60]):
        record = json.loads(text)
        record["n"] = bad
        yield record


def other_relation(record: Record) -> bool:
    """Where the corner of a centred moment tells n, replace with its larger noise can pass for add-remove, and is no less."""
    record["neighbors"] = "replace" if record["neighbors"] == "add-remove" else "add-remove"
    return record["neighbors"] == "replace" or not record["encoding"]["constant"]


def is_sized(record: Record) -> bool:
    """Whether an answer has as many integers as there are columns: not so where all are of blocks, of radii, of the schema."""
    unsized = (*CHOSEN, *SEARCHED, "count", "block", "explained", "histograms", "level counts", "column moments")
    questions = [answer["question"] for answer in record["answers"]]
    return any(question["asked"] not in unsized and "corner" not in question.get("rows", {}) for question in questions)


def constant_flipped(record: Record) -> bool:
    record["encoding"]["constant"] = not record["encoding"]["constant"]
    return is_sized(record)


def pairs_of_others(record: Record) -> bool:
    record["encoding"]["pairs"] = True
    return bool(record["encoding"]["constant"] or record["neighbors"] == "add-remove")


def other_names(text: str) -> Iterator[Record]:
    names = json.loads(text)["encoding"]["feature_names"]
    for bad in (
        [names[0], *names[:-1]] if len(names) > 1 else names * 2,
        ["\ud800", *names[1:]],
        *([[*names, "another"], names[1:]] if is_sized(json.loads(text)) else []),
        [],
        [0, *names[1:]],
        [None, *names[1:]],
        "x0",
        {"x0": 0},
        [str(i) for i in range(MAX_FEATURES + 1)],
    ):
        record = json.loads(text)
        record["encoding"]["feature_names"] = bad
        yield record


def bad_integers(text: str) -> Iterator[Record]:
    others: tuple[Any, ...] = (2**63, -(2**63) - 1, 10**400, 1.0, True, "1", None, [1])
    for other in others:
        for record, answer in answers(text):
            answer["integers"][0] = other
            yield record
    wholes: tuple[Any, ...] = ([], {}, None, "", "x", "AAAA", 1)
    for whole in wholes:
        for record, answer in answers(text):
            answer["integers"] = whole
            yield record


def lowered(value: int) -> int:
    return value - 1


EXTENTS: tuple[Any, ...] = (
    *(0.0, -1.0, 1e200, 1, "1.0", None, [], [[]], [1.0], [1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, -1.0], [1, 1, 1, 1]),
    *([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0]], [[1.0, 0.0, 0.0, 0.0], 1.0, 1.0, 1.0], [[0.0] * 4] * 4, [[1.0] * 4] * 4),
)
NO_NORM = ("row_norm must be a finite number", "differ from those of its schema")
TABLE: dict[str, tuple[str | tuple[str, ...], Edit]] = {
    # laws and charges
    "less noise than the charge buys": ("less noise than the promise needs", less_noise),
    "a smaller charge": ("less noise than the promise needs", smaller_charge),
    "a charge beyond the promise": ("charges that exceed the promise", in_noises(lambda n: scale_charge(n, "1000000"))),
    "a promise of less": ("charges that exceed the promise", in_header(promised_less)),
    "a missing charge": ("noise.charge is a dict", in_noises(lambda n: n.pop("charge"))),
    "no noise": ("not paid for", in_answers(lambda a: a.update(noise=[]))),
    "noise twice": ("not paid for", in_answers(lambda a: a["noise"].append(a["noise"][0]))),
    "another notion": (
        ("noise must serve the statistic", "was not paid for", "less noise", "delta must exceed a hundred times"),
        other_notion,
    ),
    "a law of another question": (
        ("with noise of the wrong kind", "noise must serve the statistic", "less noise than the promise needs"),
        laws_of_others,
    ),
    "an unknown law": ("noise.law is one of", in_noises(lambda n: n.update(law="continuous gaussian"))),
    "other numerics": ("noise.numerics is one of", in_noises(lambda n: n.update(numerics="none"))),
    "an unknown parameter": (
        ("less noise than the promise needs", "noise.parameters are those of", "directions that were not paid for"),
        in_noises(lambda n: n["parameters"].update(surprise="1")),
    ),
    "other parts": (("less noise than the promise needs", "directions that were not paid for"), other_parts),
    "another lattice": (
        (
            *("less noise than the promise needs", "the noise must fit into 64-bit integers", "noise.parameters are those of"),
            "integers that its noise cannot give",
        ),
        other_lattice,
    ),
    "amounts that are none": (("amounts are positive fractions", "complete: budget."), bad_amounts),
    # integers
    "an integer too many": ("of the wrong size for its question", in_answers(lambda a: a["integers"].append(a["integers"][0]))),
    "an integer too few": ("of the wrong size for its question", in_answers(lambda a: a["integers"].pop())),
    "integers that are none": ("", bad_integers),
    "off the lattice": ("integers that its noise cannot give", off_the_lattice),
    "an index beyond the candidates": ("an impossible answer to the question", beyond_the_candidates),
    "no unit vectors": ("an impossible answer to the question", no_unit_vectors),
    "not orthogonal": ("an impossible answer to the question", not_orthogonal),
    # questions
    "an unknown question": ("question.asked is one of", in_answers(lambda a: a["question"].update(asked="everything"))),
    "a radius beyond the encoding": ("", rows_of_others),
    "another annulus": (("annulus must lie between two radii", "rows.outer is a float"), other_annuli),
    "a frame that does not stand there": (
        ("coordinates that the file does not list", "rows.frame is a int", "rows has no other field, got 'corner'"),
        frames_that_do_not_stand_there,
    ),
    "a frame of another number of columns": ("", in_frames(centre=lambda centre: [*centre, 0.0], extent=1.0)),
    "a frame of fewer columns": ("", in_frames(centre=lambda centre: centre[1:], extent=1.0)),
    "an extent of more columns": ("an extent fits its centre", in_frames(extent=lambda centre: [1.0, *[1.0] * len(centre)])),
    "a frame without a centre": ("frame.centre is a list", in_frames(centre=None)),
    "a frame with more": ("frame has no other field, got 'kind'", in_frames(kind="ball")),
    "a centre beyond all numbers": ("coordinates are ordinary numbers", in_frames(centre=lambda centre: [1e200] * len(centre))),
    "a centre of integers": ("a frame holds only float", in_frames(centre=lambda centre: [0] * len(centre))),
    "no deviations": ("", in_frames(deviations=0.0)),
    "fewer deviations than none": ("", in_frames(deviations=-1.0)),
    "an extent that is none": ("", lambda text: (r for bad in EXTENTS for r in in_frames(extent=bad)(text))),
    "units that are none": ("", in_units(*OTHER_UNITS)),
    "a corner that is none": (("corner must be 0 or more", "rows.corner is a float"), corners),
    "heavier cells": ("less noise than the promise needs", heavier_cells),
    "ranges that are none": ("", in_questions("ranges", *OTHER_RANGES)),
    "bits that are none": ("", in_questions("bits", 0, -1, 18, 2**62, 3.0, "3", None, True)),
    "nullable that is neither": ("nullable must be True or False", other_nullable),
    "another shape": (
        ("bins must divide a box", "norms must be of rows in a grid", "about rows that it does not describe"),
        other_shapes,
    ),
    "a basis of a later answer": (
        ("a basis of a later answer", "must be those of a noisy second moment", "must have been drawn", "complete: basis."),
        other_bases,
    ),
    "other numbers of eigenvectors": ("", other_numbers_of_eigenvectors),
    "not orthonormal": ("", not_orthonormal),
    "fewer rows than there may be": ("", in_questions("at most", lowered, 1, -1)),
    "more directions than columns": ("", in_questions("count", 0, -1, 33, 2**62, 1.0, True)),
    "an unknown way to ask for values": ("", in_questions("valued", "doubled", None, True)),
    "weights that are none": ("", in_questions("weights", [], [1], lambda w: [*w, w[0]], lambda w: [-1, *w[1:]], {}, None)),
    "rows outside that are none": ("", in_questions("outside", -1, 2**62, 1.0, True, None)),
    "rows below that are none": ("", in_questions("below", -1, 2**62, 1.0, True, None)),
    "a part of no radii": ("", in_questions("every", 0, -1, 7919, 1.0, None)),
    "bins of no octave": ("", in_questions("per octave", 0, -1, 1025, 1.0, None)),
    "no octaves": ("", in_questions("octaves", 0, -1, 2049, 1.0, None)),
    "noises that are none": (
        "",
        in_questions("noises", [], lambda n: [*n, 1], lambda n: n[1:], lambda n: [2**62, *n[1:]], None),
    ),
    "columns in another order": ("columns must be positions in ascending order", in_questions("columns", lambda c: c[::-1])),
    "columns that are none": (
        "columns must be positions in ascending order",
        in_questions("columns", lambda c: [*c[:-1], 99], lambda c: [-1, *c[1:]], lambda c: [*c, c[-1]], []),
    ),
    "a column less": ("of the wrong size for its question", in_questions("columns", lambda c: c[1:])),
    "bins that are none": ("", in_questions("bins", 0, -1, 2**24 + 1, 1.0, None)),
    "a column of no bins": ("", in_questions("column", -1, 4, 2**62, 1.0, None)),
    "another number of rows": ("", in_questions("n", lowered, 0, -1, 2**30 + 1, 1.0, None)),
    "a target that is none": ("", in_questions("target", -1, 4, 1.0, True, "x1", None)),
    "a smaller penalty": ("less noise than the promise needs", in_questions("alpha", lambda a: times(a, "99/100"))),
    "a penalty that is none": ("", in_questions("alpha", "0", "-1", "0.1", 0.1, "1/1" + "0" * 12, "1" + "0" * 12, None)),
    # the header
    "another n": ("", n_of_another),
    "another relation": ("", in_header(other_relation)),
    "an unknown relation": ("release.neighbors is one of", in_header(lambda r: r.update(neighbors="swap"))),
    "a constant flipped": ("", in_header(constant_flipped)),
    "too many bits": ("bits must be between 1 and 16", in_header(lambda r: r["encoding"].update(grid_bits=17))),
    "no bits": ("bits must be between 1 and 16", in_header(lambda r: r["encoding"].update(grid_bits=0))),
    "bits of no grid": ("bits must be between 1 and 16", in_header(lambda r: r["encoding"].update(grid_bits=-1))),
    "bits that are no integer": ("encoding.grid_bits is a int", in_header(lambda r: r["encoding"].update(grid_bits=16.0))),
    "other bits than its frames have": (
        "about rows that it does not describe",
        in_header(lambda r: any("centre" in frame for frame in r["frames"]) and r["encoding"].update(grid_bits=15)),
    ),
    "pairs of others": (
        ("pairs of rows under add-remove", "pairs of rows in groups", "a column that says whose a row is"),
        in_header(pairs_of_others),
    ),
    "names that are none": ("", other_names),
    "no norm": (NO_NORM, in_header(lambda r: r["encoding"].update(row_norm=0.0))),
    "a negative norm": (NO_NORM, in_header(lambda r: r["encoding"].update(row_norm=-1.0))),
    "a norm beyond all numbers": (NO_NORM, in_header(lambda r: r["encoding"].update(row_norm=1e300))),
    "an integer for a norm": ("encoding.row_norm is a float", in_header(lambda r: r["encoding"].update(row_norm=1))),
    "an unknown kind": ("release.kind is one of", in_header(lambda r: r.update(kind="median"))),
    "an unknown notion": ("budget.notion is one of", in_header(lambda r: r["privacy"].update(notion="renyi"))),
    "nothing promised": (
        "amounts are positive fractions",
        in_header(lambda r: r["privacy"].update({n: "0" for n in AMOUNTS if n in r["privacy"]})),
    ),
}


@cache
def kinds(name: str) -> frozenset[tuple[Any, ...]]:
    """Return the questions of a file, each with its laws, prices, rows, basis and values; and what tells its n."""
    record = json.loads(texts()[name])
    questions = {
        (
            answer["question"]["asked"],
            *((noise["law"], noise["charge"]["notion"]) for noise in answer["noise"]),
            next(iter(answer["question"].get("rows", {})), ""),
            next(iter(answer["question"].get("basis", {})), ""),
            answer["question"].get("valued", ""),
        )
        for answer in record["answers"]
    }
    counted = any(answer["question"]["asked"] == "count" for answer in record["answers"])
    return frozenset({*questions, (record["neighbors"], bool(record["encoding"]["constant"]), counted)})


def some() -> Iterator[str]:
    """Yield files in which each question stands in each of its kinds, and n is told in each way; no file is for nothing.

    What is refused is refused question by question and field by field, whoever asked. Each file is made when it is come to: a
    test that fails soon needs few of them.
    """
    seen: set[tuple[Any, ...]] = set()
    for name in texts():
        if not kinds(name) <= seen:
            yield name
        seen |= kinds(name)


@cache
def genuine(name: str) -> str:
    """Return a file as a forger would write it who changed nothing."""
    return sealed(json.loads(texts()[name]))


def assert_refused(record: Record, name: str, reasons: str | tuple[str, ...] = "") -> None:
    forged = sealed(record)
    assert forged != genuine(name), name
    with pytest.raises(ReleaseError) as refused:
        pytest.fail(f"{name}: {parse(forged)!r} loads")
    message = str(refused.value)
    assert re.fullmatch(FORMAT, message), message
    assert any(reason in message for reason in ((reasons,) if isinstance(reasons, str) else reasons)), (name, message)
    assert len(message) < 700


def try_case(case: str, names: Iterable[str]) -> None:
    reason, edit = TABLE[case]
    tried = 0
    for name in names:
        for record in edit(texts()[name]):
            assert_refused(record, name, reason)
            tried += 1
    assert tried, "no file has such a thing"


@pytest.mark.parametrize("case", TABLE)
def test_a_forged_file_is_refused(case: str) -> None:
    try_case(case, some())


@pytest.mark.audit
@pytest.mark.parametrize("case", TABLE)
def test_whoever_made_it(case: str) -> None:
    try_case(case, texts())


def objects(record: Record) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of every object of a file, but for what options and notes hold: a mechanism says what they mean.

    Of objects in lists those that differ: in their keys, in what they are in, or in what was asked, drawn or charged.
    """
    seen = set()
    for path, tree in below(record):
        holders = [at(record, path[:length]) for length in range(len(path) + 1)]
        words = [tuple(one.get(key) for key in ("asked", "law", "notion")) for one in holders if isinstance(one, dict)]
        shape = (tuple(step for step in path if isinstance(step, str)), tuple(words), tuple(tree))
        if shape not in seen:
            seen.add(shape)
            yield path


def below(tree: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Record]]:
    """Yield every object with its path."""
    if isinstance(tree, dict):
        yield path, tree
    for key, inner in tree.items() if isinstance(tree, dict) else enumerate(tree):
        if isinstance(inner, dict | list) and key not in ("options", "notes", "schema"):
            yield from below(inner, (*path, key))


def at(record: Record, path: tuple[str | int, ...]) -> Any:
    found: Any = record
    for step in path:
        found = found[step]
    return found


PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
class TestKeys:
    """Every object of a file has its own keys, each of its own type, and no others.

    In parts, for processes to share: which files they are is known when all of them were made, not before.
    """

    def test_an_unknown_key(self, part: int) -> None:
        for name in islice(some(), part, None, PARTS):
            for path in objects(json.loads(texts()[name])):
                record = json.loads(texts()[name])
                at(record, path)["surprise"] = "1"
                assert_refused(record, name)

    def test_each_missing_key(self, part: int) -> None:
        for name in islice(some(), part, None, PARTS):
            before = json.loads(texts()[name])
            for path in objects(before):
                for key in set(at(before, path)) - {"checksum"}:
                    record = json.loads(texts()[name])
                    del at(record, path)[key]
                    assert_refused(record, name)

    def test_each_key_with_a_value_of_another_type(self, part: int) -> None:
        for name in islice(some(), part, None, PARTS):
            for path, key, other in retyped(json.loads(texts()[name])):
                record = json.loads(texts()[name])
                at(record, path)[key] = other
                assert_refused(record, name)


def retyped(before: Record) -> Iterator[tuple[tuple[str | int, ...], str, Any]]:
    """Yield every key of a file, where it stands, with values of other types than it has."""
    others: list[Any] = [None, [], {}, 0.5, "1/2", 3]
    for path in objects(before):
        for key, value in at(before, path).items():
            for other in others:
                if type(value) is not type(other) and not (key == "extent" and other == 0.5) and key != "checksum":
                    yield path, key, other


def more_noise(record: Record) -> None:
    for answer in record["answers"]:
        for noise in answer["noise"]:
            if noise["law"] not in (*ROUNDED, "uniform"):
                factor = "1/2" if noise["law"] in CLOSER else "2"
                noise["parameters"].update({k: times(v, factor) for k, v in noise["parameters"].items() if k != "sweeps"})


def promised_more(record: Record) -> None:
    record["privacy"].update({name: times(record["privacy"][name], "2") for name in AMOUNTS if name in record["privacy"]})


def closer_rows(record: Record) -> None:
    for answer in record["answers"]:
        rows = answer["question"].get("rows", {})
        rows.update({key: rows[key] * 0.99 for key in ("radius", "inner", "outer") if key in rows})


def other_columns(record: Record) -> bool:
    record["encoding"]["feature_names"] = [f"y{i}" for i, _ in enumerate(record["encoding"]["feature_names"])]
    return not record["encoding"]["schema"]


def moved_frames(record: Record) -> None:
    for frame in record["frames"]:
        if "numeric" in frame:
            frame["numeric"] = [[-0.5, 0.5, 0.25, 0.125] for _ in frame["numeric"]]
            continue
        frame.update(centre=[7.5] * len(frame["centre"]), deviations=2.0)


LOADED: dict[str, Callable[[Record], Any]] = {
    "more noise": more_noise,
    "a larger promise": promised_more,
    "rows clipped closer": closer_rows,
    "other names": other_columns,
    "coordinates elsewhere": moved_frames,
    "another version of the library": lambda r: r.update(dpcov_version="0.0.0"),
    "not seeded": lambda r: r.update(seeded=False),
    "other options": lambda r: r["mechanism"].update(options={"depth": 3, "name": "x", "list": [[1.5, None], True]}),
    "other notes": lambda r: r.update(notes={"rounds": -1}),
    "an unknown mechanism": lambda r: r["mechanism"].update(name="to come"),
}


@pytest.mark.parametrize("case", LOADED)
def test_what_contradicts_no_promise_is_loaded(case: str) -> None:
    """The other side of the table: refusing everything would be no check."""
    for name, text in texts().items():
        record = json.loads(text)
        if LOADED[case](record) is not False:
            assert parse(sealed(record)).n == releases()[name].n, name


def test_a_norm_is_checked_where_no_question_has_one() -> None:
    """A release that asked nothing: no answer's rows would find it."""
    record: Record = json.loads(texts()["covariance, gaussian, replace, centred"])
    record.update(answers=[], frames=[])
    assert not parse(sealed(record)).answers
    for norm in (0.0, -1.0, 1e300):
        record["encoding"]["row_norm"] = norm
        assert_refused(record, "covariance, gaussian, replace, centred", NO_NORM)


def test_charges_up_to_the_promise_are_paid_for() -> None:
    """Exactly: their sum is a promise that holds, and a googolth less is none."""
    tried = 0
    for name, text in texts().items():
        record = json.loads(text)
        charges = [noise["charge"] for answer in record["answers"] for noise in answer["noise"]]
        notion = record["privacy"]["notion"]
        if notion == "approx" or {charge["notion"] for charge in charges} != {notion}:
            continue  # what a conversion leaves over is no round number
        (amount,) = (key for key in AMOUNTS if key in record["privacy"])
        spent = sum((Fraction(charge[amount]) for charge in charges), Fraction(0))
        record["privacy"][amount] = str(spent)
        assert list(parse(sealed(record)).privacy.amounts()) == [spent], name
        record["privacy"][amount] = str(spent * (1 - Fraction(1, 10**100)))
        assert_refused(record, name, "charges that exceed the promise")
        tried += 1
    assert tried > 50


class TestTails:
    """Rounded noise under (epsilon, delta): the tails of all answers together, 1 + e^epsilon times, must fit into delta."""

    def edited(self, times_promised: Fraction, answers: int) -> Record:
        """Return a file with so many answers of rounded noise, whose delta is so many times what their tails take."""
        record: Record = json.loads(texts()["covariance, wishart, replace, centred"])
        (answer,) = record["answers"]
        (noise,) = answer["noise"]
        assert noise["charge"]["notion"] == "pure"
        tail = Fraction(noise["parameters"]["tail"]) * answers
        record["answers"] = [json.loads(json.dumps(answer)) for _ in range(answers)]
        epsilon = Fraction(record["privacy"]["epsilon"]) * answers
        delta = tail * (1 + Fraction(math.exp(float(epsilon)))) * times_promised
        record["privacy"] = {"notion": "approx", "epsilon": str(epsilon), "delta": str(delta)}
        return record

    @pytest.mark.parametrize("answers", [1, 2, 5])
    def test_they_add_up(self, answers: int) -> None:
        assert len(parse(sealed(self.edited(Fraction(101, 100), answers))).answers) == answers
        assert_refused(
            self.edited(Fraction(99, 100), answers),
            "covariance, wishart, replace, centred",
            "delta must exceed the tail of rounded noise",
        )

    def test_an_epsilon_beyond_floats(self) -> None:
        record = self.edited(Fraction(2), 1)
        record["privacy"] = {"notion": "approx", "epsilon": "701", "delta": "1/2"}
        assert_refused(record, "covariance, wishart, replace, centred", "delta must exceed the tail of rounded noise")
