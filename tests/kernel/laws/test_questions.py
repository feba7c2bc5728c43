"""Laws of all questions: each outlives a file as it was, is about these rows or refused, and knows what can be its answer.

Nothing here is random. Examples are literal: of every type that a curator answers, with every kind of rows that it allows.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.errors import ParameterError, ReleaseError
from dpcov.kernel.answer import Answer, n_of
from dpcov.kernel.budget import ZCDP, PureDP
from dpcov.kernel.noise.drawn import Bingham, Uniform
from dpcov.kernel.noise.laws import DiscreteGaussian, DiscreteLaplace
from dpcov.kernel.public import Public
from dpcov.kernel.questions.along import Diagonal, Explained
from dpcov.kernel.questions.asked import ASKED, BY_TAG, CHOSEN, DRAWN, SEARCHED
from dpcov.kernel.questions.basis import BASES, DirectionsOf, EigenvectorsOf, GivenBasis
from dpcov.kernel.questions.bins import Bins, Rank
from dpcov.kernel.questions.choices import Bias, Indexed, Quantile, Radius
from dpcov.kernel.questions.columns import Block, Squares
from dpcov.kernel.questions.directions import Directions, Drawn, Subspace
from dpcov.kernel.questions.filing import Reading, Writing, read_frame
from dpcov.kernel.questions.groups import GroupCounts, GroupedMoment
from dpcov.kernel.questions.measure import Question
from dpcov.kernel.questions.moments import MAX_ROWS, Count, SecondMoment, Sum
from dpcov.kernel.questions.norms import Norms, Trace
from dpcov.kernel.questions.overlap import Overlap
from dpcov.kernel.questions.solution import Solution
from dpcov.kernel.questions.spectral import Quotients, Spectrum, Values
from dpcov.kernel.questions.table import ColumnMoments, Histograms, Interval, LevelCounts, Range
from dpcov.kernel.questions.weights import HeavyWeight, SquaredWeights, Weights
from dpcov.kernel.rows.annulus import Annulus
from dpcov.kernel.rows.aside import aside_of
from dpcov.kernel.rows.columns import Columns
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.frames import FRAMED, Ball, Box, Ellipsoid
from dpcov.kernel.rows.grid import Grid
from dpcov.kernel.rows.groups import Groups
from dpcov.kernel.rows.standard import LevelUnits, NumericUnits, Standard, Units
from dpcov.linalg import pack
from dpcov.release.file import _checksum, parse, text_of
from dpcov.strict_json import Fields, read_object

N = 100
PLAIN = Encoding(("a", "b", "c"), 2.0)
COARSE = Encoding(("a", "b", "c"), 2.0, bits=12)
CENTRED = Encoding(("a", "b"), 2.0, constant=True)  # three coordinates, too

GRID, SHORT = PLAIN.grid, PLAIN.grid.clipped(0.25)
RING = Annulus(SHORT, PLAIN.grid.clipped(0.5))
BALL = Ball((0.1, -2.5, 3e-7), 0.3, 4.5)
BOX = Box((0.1, -2.5, 3e-7), (0.3, 1e-5, 12345.678))
ELLIPSOID = Ellipsoid((0.1, -2.5, 3e-7), np.array([[0.3, 0.01, 0.0], [0.02, 1.7, -0.3], [0.0, 0.1, 11.0]]), 3.3)

SCHEMA = dpcov.Schema(
    {"a": dpcov.Numeric(-2, 3, nullable=True), "b": dpcov.Categorical(["x", "y", "z"]), "c": dpcov.Numeric(0, 10, weight=2)}
)
TABLE = Encoding(SCHEMA.feature_names, 1.0, constant=True, midpoints=True, schema=SCHEMA)
GROUPED = Encoding(("a", "b", "c"), 2.0, groups=Groups("region", ("north", "south")))
WEIGHED = Encoding(("a", "b", "c"), 2.0, aside=aside_of("", 16, 2**26, weight="w", max_weight=1.0, searched=True))
GROUPED_TABLE = dataclasses.replace(TABLE, groups=GROUPED.groups)
COLUMNS = Columns.of(SCHEMA)
HISTOGRAMS = Histograms(COLUMNS, 5)
UNITS = Units(
    COLUMNS,
    (NumericUnits(-0.25, 0.125, 0.0625, 0.1), NumericUnits(-0.5, 0.5, 0.1, 0.0)),
    (LevelUnits((1, 0, 1), (0.7, 0.3), (0.45, 1 / 3)),),
)
WITH_CORNER, WITHOUT = Standard(UNITS, 0.1, 2.5), Standard(UNITS, 0.0, 7.0)

MOMENT, CENTRED_MOMENT = SecondMoment(GRID, 3), SecondMoment(CENTRED.grid, 3)
TURN = np.array([[2.0, -1.0, 2.0], [2.0, 2.0, -1.0], [-1.0, 2.0, 2.0]]) / 3
LAW, CHARGE = DiscreteLaplace(Fraction(7, 3)), PureDP("0.1")


def answered(question: Question, integers: Any, law: Any = LAW) -> Answer:
    return Answer(question, (law,), (CHARGE,), np.array(integers, dtype=np.int64))


EARLIER = (
    answered(MOMENT, 4**16 * pack(np.array([[9, 1, 0], [1, 5, 2], [0, 2, 3]]))),
    answered(Block(GRID, 2, 3, (0, 2)), 4**16 * pack(np.array([[2, 1], [1, 7]]))),
    answered(Directions(MOMENT, 3), np.rint(2**18 * TURN).ravel(), Bingham((("1", Fraction(1)), ("2", Fraction(2))))),
    answered(Subspace(MOMENT, 2), np.rint(2**18 * TURN[:2]).ravel(), Uniform()),
)
"""What bases are found in: a second moment, a block, directions and a subspace."""

WHOLE = {
    "given": GivenBasis(TURN),
    "eigenvectors": EigenvectorsOf(EARLIER[0]),
    "directions": DirectionsOf(EARLIER[2]),
}
PARTS = {
    "given, two": GivenBasis(TURN[:, :2].copy()),
    "eigenvectors, two": EigenvectorsOf(EARLIER[0], 2),
    "eigenvectors of a block": EigenvectorsOf(EARLIER[1]),
    "eigenvector of a block": EigenvectorsOf(EARLIER[1], 1),
    "subspace": DirectionsOf(EARLIER[3]),
}


def examples() -> dict[str, tuple[Question, Encoding]]:
    """Literal questions, and the encoding of the rows that they are about."""
    coarse = SecondMoment(COARSE.grid, 3)
    plain: dict[str, Question] = {
        "count": Count(),
        "sum": Sum(GRID, 3),
        "sum, clipped": Sum(SHORT, 3),
        "sum, ball": Sum(BALL, 3),
        "sum, box": Sum(BOX, 3),
        "sum, ellipsoid": Sum(ELLIPSOID, 3),
        "second moment": MOMENT,
        "second moment, clipped": SecondMoment(SHORT, 3),
        "second moment, ring": SecondMoment(RING, 3),
        "second moment, ball": SecondMoment(BALL, 3),
        "second moment, ellipsoid": SecondMoment(ELLIPSOID, 3),
        "norms": Norms(GRID, 3, 16, 10),
        "norms, clipped": Norms(SHORT, 3, 1, 7),
        "norms, ball": Norms(BALL, 3, 3, 2),
        "trace": Trace(GRID, 3),
        "trace, clipped": Trace(SHORT, 3),
        "trace, ball": Trace(BALL, 3),
        "trace, ellipsoid": Trace(ELLIPSOID, 3),
        "bins": Bins(BOX, 3, 1000),
        "spectrum": Spectrum(MOMENT, 3, rows=N),
        "spectrum, ring": Spectrum(SecondMoment(RING, 3), 3, rows=MAX_ROWS),
        "squares": Squares(MOMENT),
        "squares, ring": Squares(SecondMoment(RING, 3)),
        "block": Block(GRID, 2, 3, (0, 2)),
        "block, ring": Block(RING, 1, 3, (1,)),
        "solution": Solution(MOMENT, N, 1, Fraction(1, 7)),
        "solution, clipped": Solution(SecondMoment(SHORT, 3), N, 2, Fraction(10**9)),
        "radius": Quantile(Norms(GRID, 3, 2, 4), 17),
        "radius, every, prior": Quantile(Norms(GRID, 3, 2, 4), 0, 4, (5, 1, 2**30)),
        "radius, ball": Quantile(Norms(BALL, 3, 1, 2), 2**61, 2),
        "quantile": Rank(Bins(BOX, 3, 64), 2, 50),
        "first radius": Radius(Norms(GRID, 3, 1, 4), 3),
        "first radius, ball": Radius(Norms(BALL, 3, 2, 2), 0),
        "threshold": Bias(Norms(GRID, 3, 1, 3), 1, (0, -(2**61), 2**61)),
        "threshold, ball": Bias(Norms(BALL, 3, 1, 1), 0, (3, 4)),
        "directions": Directions(MOMENT, 3),
        "directions, projected": Directions(MOMENT, 2, Values(MOMENT, 2, rows=N)),
        "directions, subtracted": Directions(MOMENT, 3, Quotients(MOMENT, 3, rows=MAX_ROWS)),
        "directions, clipped": Directions(SecondMoment(SHORT, 3), 1),
        "subspace": Subspace(MOMENT, 2),
        "subspace, clipped": Subspace(SecondMoment(SHORT, 3), 1),
    }
    for name, basis in (WHOLE | PARTS).items():
        plain[f"diagonal, {name}"] = Diagonal.of(MOMENT, basis).among(N)
    plain["diagonal, ring"] = Diagonal.of(SecondMoment(RING, 3), WHOLE["eigenvectors"]).among(N + 1)
    for name, basis in PARTS.items():
        plain[f"explained, {name}"] = Explained.of(MOMENT, basis).among(N)
    plain["explained, ring"] = Explained.of(SecondMoment(RING, 3), PARTS["given, two"])
    for name, basis in WHOLE.items():
        plain[f"overlap, {name}"] = Overlap(MOMENT, basis, (1.0, 0.1, 0.0))
    plain["overlap, ring"] = Overlap(SecondMoment(RING, 3), WHOLE["given"], (0.3, 1.0, 5e-324))
    centred: dict[str, Question] = {
        "sum, centred": Sum(CENTRED.grid, 3),
        "second moment, centred": CENTRED_MOMENT,
        "second moment, centred and clipped": SecondMoment(CENTRED.grid.clipped(0.3), 3),
        "norms, centred": Norms(CENTRED.grid, 3, 4, 4),
        "trace, centred": Trace(CENTRED.grid, 3),
        "spectrum, centred": Spectrum(CENTRED_MOMENT, 3, rows=N),
        "diagonal, centred": Diagonal.of(CENTRED_MOMENT, WHOLE["given"]),
        "squares, centred": Squares(CENTRED_MOMENT),
        "block, centred": Block(CENTRED.grid, 2, 3, (0, 1)),
        "radius, centred": Quantile(Norms(CENTRED.grid, 3, 2, 4), 17),
        "directions, centred": Directions(CENTRED_MOMENT, 2),
        "subspace, centred": Subspace(CENTRED_MOMENT, 2),
    }
    coarser: dict[str, Question] = {
        "second moment, 12 bits": coarse,
        "spectrum, 12 bits": Spectrum(coarse, 3, rows=N),
        "block, 12 bits": Block(COARSE.grid, 2, 3, (1, 2)),
    }
    columns: dict[str, Question] = {
        "histograms": HISTOGRAMS,
        "level counts": LevelCounts(COLUMNS),
        "column moments": ColumnMoments(HISTOGRAMS, (Range(0, 3, 30, 2**14), Range(1, 0, 32))),
        "interval": Interval(HISTOGRAMS, 1, 40),
        "second moment, units": SecondMoment(WITH_CORNER, 3),
        "second moment, units without a corner": SecondMoment(WITHOUT, 2),
        "norms, units": Norms(WITHOUT, 2, 8, 7),
        "radius, units": Quantile(Norms(WITHOUT, 2, 8, 7), 3),
        "first radius, units": Radius(Norms(WITHOUT, 2, 1, 4), 3),
        "threshold, units": Bias(Norms(WITH_CORNER, 3, 1, 1), 0, (3, 4)),
    }
    grouped: dict[str, Question] = {
        "moments of groups": GroupedMoment(GRID, 3, 2),
        "moments of groups, clipped": GroupedMoment(SHORT, 3, 2),
        "counts of groups": GroupCounts(2),
    }
    grouped_columns: dict[str, Question] = {"moments of groups, units": GroupedMoment(WITH_CORNER, 3, 2)}
    weighed: dict[str, Question] = {
        "weights": Weights(),
        "squared weights": SquaredWeights(),
        "largest weight": HeavyWeight(50, 10),
    }
    named = [(plain, PLAIN), (centred, CENTRED), (coarser, COARSE), (columns, TABLE), (grouped, GROUPED), (weighed, WEIGHED)]
    named.append((grouped_columns, GROUPED_TABLE))
    return {name: (question, encoding) for kinds, encoding in named for name, question in kinds.items()}


EXAMPLES = examples()
each_example = pytest.mark.parametrize("name", EXAMPLES)
each_of_rows = pytest.mark.parametrize("name", [name for name, (_, encoding) in EXAMPLES.items() if encoding.schema is None])
"""Those of columns are given otherwise encoded rows in tests/kernel/laws/test_table.py."""


def rows_of(question: Any) -> Any:
    """What the rows of a question are clipped to."""
    return getattr(question.counted if isinstance(question, Indexed) else question, "grid", None)


def shapes_of(kind: type[Question]) -> set[type]:
    """The shapes that a type allows, by its own words or by those of the counts that it is about."""
    counts: dict[type[Question], type[Question]] = {Rank: Bins, Quantile: Norms, Radius: Norms, Bias: Norms}
    return set(counts.get(kind, kind).shapes)


def test_no_type_and_no_shape_is_left_out() -> None:
    for kind in ASKED:
        found = [question for question, _ in EXAMPLES.values() if type(question) is kind]
        assert found, kind
        assert {type(rows_of(question)) for question in found} - {type(None)} == shapes_of(kind), kind
    assert {type(question) for question, _ in EXAMPLES.values()} == set(ASKED)
    assert {type(basis) for basis in (WHOLE | PARTS).values()} == set(BASES)
    assert {shape for kind in ASKED for shape in shapes_of(kind)} == {Grid, Annulus, Standard, *FRAMED}


def written(question: Question) -> tuple[str, str]:
    """The text of a question, as a file names it, and of the coordinates that it refers to."""
    writing = Writing(EARLIER)
    record = {"asked": question.tag or question.name, **question.to_json(writing)}
    return json.dumps(record), json.dumps(writing.frame_records())


def read(text: str, frames: str, encoding: Encoding) -> Question:
    fields = Fields(read_object(text), "question")
    kind = BY_TAG[fields.choice("asked", BY_TAG)]
    question = kind.from_json(
        fields, Reading(encoding, [read_frame(frame, encoding) for frame in json.loads(frames)], list(EARLIER))
    )
    fields.end()
    return question


@each_example
class TestFiles:
    def test_it_comes_back_as_it_was(self, name: str) -> None:
        question, encoding = EXAMPLES[name]
        again = read(*written(question), encoding)
        assert type(again) is type(question)
        assert again == question
        assert hash(again) == hash(question)
        assert written(again) == written(question)
        assert again is not question

    def test_what_it_is_made_of_comes_back(self, name: str) -> None:
        """Equality could leave something out: sizes, steps, sensitivities, rows and coordinates are looked at one by one."""
        question, encoding = EXAMPLES[name]
        again = read(*written(question), encoding)
        assert (again.name, again.names, again.size, again.is_local) == (
            question.name,
            question.names,
            question.size,
            question.is_local,
        )
        for field in dataclasses.fields(question):
            assert type(getattr(again, field.name)) is type(getattr(question, field.name)), field.name
        for attribute in ("parts", "unit_bits", "lost", "candidates", "weights", "step", "threshold", "drawn", "orthogonal"):
            first: Any = getattr(again, attribute, None)
            second: Any = getattr(question, attribute, None)
            assert np.array_equal(first, second) if isinstance(first, np.ndarray) else first == second, attribute
        for neighbors in ("replace", "add-remove"):
            for sensitivity in ("sensitivity_squared", "sensitivity_l1", "sensitivity_nuclear"):
                if hasattr(question, sensitivity) and not (isinstance(question, Solution) and neighbors == "add-remove"):
                    assert getattr(again, sensitivity)(neighbors) == getattr(question, sensitivity)(neighbors)
        if type(rows_of(question)) in FRAMED:
            before, after = rows_of(question).frame, rows_of(again).frame
            assert after.deviations == before.deviations
            for part in ("centre", "extent"):
                assert getattr(after, part).tobytes() == getattr(before, part).tobytes()
        basis = getattr(question, "basis", None)
        if basis is not None:
            assert type(again.basis) is type(basis)  # type: ignore[attr-defined]
            assert again.basis.columns.tobytes() == basis.columns.tobytes()  # type: ignore[attr-defined]
            assert again.basis.answer is basis.answer  # type: ignore[attr-defined]

    def test_no_field_can_be_left_out_or_added(self, name: str) -> None:
        question, encoding = EXAMPLES[name]
        text, frames = written(question)
        record = json.loads(text)
        for key in record:
            with pytest.raises((ReleaseError, ParameterError)):
                read(json.dumps({other: value for other, value in record.items() if other != key}), frames, encoding)
        with pytest.raises(ReleaseError, match="question has no other field, got 'more'"):
            read(json.dumps(record | {"more": 1}), frames, encoding)


COUNTS = (Count, GroupCounts)
"""Of rows however they are encoded."""

BESIDE = (*COUNTS, Weights, SquaredWeights, HeavyWeight)
"""About nothing that a row is encoded to."""

LITERAL: dict[str, dict[str, Any]] = {
    "count": {"asked": "count"},
    "sum, clipped": {"asked": "sum", "rows": {"radius": 0.5}},
    "second moment, ring": {"asked": "second moment", "rows": {"inner": 0.5, "outer": 1.0}},
    "norms, ball": {"asked": "norms", "rows": {"frame": 0}, "per octave": 3, "octaves": 2},
    "trace, ellipsoid": {"asked": "trace", "rows": {"frame": 0}},
    "bins": {"asked": "bins", "rows": {"frame": 0}, "bins": 1000},
    "spectrum": {"asked": "spectrum", "rows": {"radius": 2.0}, "at most": 100},
    "diagonal, eigenvectors, two": {
        "asked": "diagonal in a basis",
        "rows": {"radius": 2.0},
        "at most": 100,
        "basis": {"eigenvectors of": 0, "first": 2},
    },
    "explained, subspace": {
        "asked": "explained",
        "rows": {"radius": 2.0},
        "at most": 100,
        "basis": {"directions of": 3},
    },
    "overlap, given": {
        "asked": "overlap",
        "rows": {"radius": 2.0},
        "basis": {"columns": TURN.tolist()},
        "weights": [1.0, 0.1, 0.0],
    },
    "squares": {"asked": "squares", "rows": {"radius": 2.0}},
    "moments of groups": {"asked": "second moments of groups", "rows": {"radius": 2.0}},
    "counts of groups": {"asked": "counts of groups"},
    "weights": {"asked": "weights"},
    "squared weights": {"asked": "squared weights"},
    "largest weight": {"asked": "largest weight", "beyond": 50, "part": 10},
    "block": {"asked": "block", "rows": {"radius": 2.0}, "columns": [0, 2]},
    "solution": {"asked": "solution", "rows": {"radius": 2.0}, "n": 100, "target": 1, "alpha": "1/7"},
    "radius, every, prior": {
        "asked": "radius",
        "rows": {"radius": 2.0},
        "per octave": 2,
        "octaves": 4,
        "outside": 0,
        "every": 4,
        "weights": [5, 1, 2**30],
    },
    "quantile": {"asked": "quantile", "rows": {"frame": 0}, "bins": 64, "column": 2, "below": 50},
    "first radius": {"asked": "first radius", "rows": {"radius": 2.0}, "per octave": 1, "octaves": 4, "outside": 3},
    "threshold": {
        "asked": "threshold",
        "rows": {"radius": 2.0},
        "per octave": 1,
        "octaves": 3,
        "first": 1,
        "noises": [0, -(2**61), 2**61],
    },
    "directions": {"asked": "directions", "rows": {"radius": 2.0}, "count": 3, "valued": "", "at most": 0},
    "directions, subtracted": {
        "asked": "directions",
        "rows": {"radius": 2.0},
        "count": 3,
        "valued": "subtracted",
        "at most": 2**30,
    },
    "subspace": {"asked": "subspace", "rows": {"radius": 2.0}, "count": 2},
    "histograms": {"asked": "histograms", "bits": 5},
    "level counts": {"asked": "level counts"},
    "column moments": {"asked": "column moments", "bits": 5, "ranges": [[0, 3, 30, 2**14], [1, 0, 32, 0]]},
    "interval": {"asked": "interval", "bits": 5, "column": 1, "outside": 40},
    "second moment, units": {"asked": "second moment", "rows": {"frame": 0, "corner": 0.1, "radius": 2.5}},
    "norms, units": {"asked": "norms", "rows": {"frame": 0, "corner": 0.0, "radius": 7.0}, "per octave": 8, "octaves": 7},
}


def test_the_text_is_what_it_always_was() -> None:
    """Files of this version are read by later ones: another name, or another unit, would be another format."""
    assert {type(EXAMPLES[name][0]) for name in LITERAL} == set(ASKED)
    for name, record in LITERAL.items():
        assert json.loads(written(EXAMPLES[name][0])[0]) == record


def test_coordinates_that_questions_share_stand_once() -> None:
    writing = Writing(())
    same = Ball((0.1, -2.5, 3e-7), 0.3, 4.5)
    records = [Sum(rows, 3).to_json(writing) for rows in (BALL, BOX, same, ELLIPSOID, BOX)]
    assert [record["rows"]["frame"] for record in records] == [0, 1, 0, 2, 1]
    assert [list(record) for record in writing.frame_records()] == [["centre", "extent", "deviations"]] * 3
    frames = json.loads(json.dumps(writing.frame_records()))
    assert [read_frame(frame, PLAIN) for frame in frames] == [BALL, BOX, ELLIPSOID]


def test_units_that_questions_share_stand_once() -> None:
    """With the radius and the corner that each of them has."""
    writing = Writing(())
    records = [question.to_json(writing) for question in (SecondMoment(WITH_CORNER, 3), Norms(WITHOUT, 2, 8, 7))]
    assert [record["rows"]["frame"] for record in records] == [0, 0]
    (frame,) = writing.frame_records()
    assert frame == {
        "numeric": [[-0.25, 0.125, 0.0625, 0.1], [-0.5, 0.5, 0.1, 0.0]],
        "levels": [[[1, 0, 1], [0.7, 0.3], [0.45, 1 / 3]]],
    }
    again = read_frame(json.loads(json.dumps(frame)), TABLE)
    assert again == UNITS
    assert isinstance(again, Units)
    assert again.levels[0].vectors.tobytes() == UNITS.levels[0].vectors.tobytes()
    with pytest.raises(ReleaseError, match="questions about columns, but no schema"):
        read_frame(frame, PLAIN)


def test_a_basis_is_of_an_answer_of_the_same_file() -> None:
    """Of an earlier one: neither a stranger's answer can be written, nor a later one read."""
    stranger = answered(MOMENT, EARLIER[0].integers.copy())
    with pytest.raises(ReleaseError, match="about earlier answers of the same release"):
        Diagonal.of(MOMENT, EigenvectorsOf(stranger)).to_json(Writing(EARLIER))
    text, frames = written(EXAMPLES["diagonal, eigenvectors"][0])
    for place in (-1, 4, 10**6):
        with pytest.raises(ReleaseError, match="a basis of a later answer"):
            read(text.replace('"eigenvectors of": 0', f'"eigenvectors of": {place}'), frames, PLAIN)
    for place, refused in ((2, "of a noisy second moment"), (3, "of a noisy second moment")):
        with pytest.raises(ParameterError, match=refused):
            read(text.replace('"eigenvectors of": 0', f'"eigenvectors of": {place}'), frames, PLAIN)
    text, frames = written(EXAMPLES["diagonal, directions"][0])
    with pytest.raises(ParameterError, match="directions must have been drawn"):
        read(text.replace('"directions of": 2', '"directions of": 0'), frames, PLAIN)


def test_tags_are_their_own() -> None:
    assert len(BY_TAG) == len(ASKED)
    assert set(BY_TAG.values()) == set(ASKED)
    assert (Quantile.name, Radius.name) == ("radius", "radius")  # one name, two ways to ask
    assert (BY_TAG["radius"], BY_TAG["first radius"]) == (Quantile, Radius)


class OwnGrid(Grid):
    """A clip that nobody has proved."""


class OwnBall(Ball):
    """A clip that nobody has proved."""


def public(encoding: Encoding, neighbors: str = "replace", known: int | None = N) -> Public:
    return Public(encoding, neighbors, known if neighbors == "replace" else None)


def changed(encoding: Encoding, **changes: Any) -> Public:
    return public(dataclasses.replace(encoding, **changes))


def reclipped(question: Any, rows: Any) -> Any:
    """The same question about other rows, whether or not it would be made of them."""
    other = copy.copy(question)
    for name in ("norms", "bins", "moment"):
        if name in {field.name for field in dataclasses.fields(question)}:
            object.__setattr__(other, name, reclipped(getattr(question, name), rows))
    if "grid" in {field.name for field in dataclasses.fields(question)}:
        object.__setattr__(other, "grid", rows)
    if isinstance(question, Directions) and question.values is not None:
        object.__setattr__(other, "values", reclipped(question.values, rows))
    return other


@each_of_rows
class TestFits:
    def test_it_is_about_its_own_rows(self, name: str) -> None:
        question, encoding = EXAMPLES[name]
        assert question.fits(public(encoding))
        assert question.fits(changed(encoding, row_norm=2.5))  # clipped no farther out than they are
        assert question.fits(changed(encoding, feature_names=encoding.feature_names[::-1]))

    def test_another_radius(self, name: str) -> None:
        """A file could not say what was asked. In coordinates of its own a clip holds wherever it is."""
        question, encoding = EXAMPLES[name]
        rows = rows_of(question)
        free = rows is None or type(rows) in FRAMED
        smaller = np.nextafter(rows.row_norm, 0) if not free else 1e-3
        assert question.fits(changed(encoding, row_norm=float(smaller))) is free

    def test_other_bits(self, name: str) -> None:
        question, encoding = EXAMPLES[name]
        for bits in {8, 12, 16} - {encoding.bits}:
            assert question.fits(changed(encoding, bits=bits)) is isinstance(question, BESIDE)

    def test_another_constant(self, name: str) -> None:
        """As many coordinates, but the first is a constant, or is not."""
        question, encoding = EXAMPLES[name]
        names = ("a", "b", "c") if encoding.constant else ("a", "b")
        other = changed(encoding, feature_names=names, constant=not encoding.constant)
        assert other.d == 3
        assert question.fits(other) is isinstance(question, BESIDE)

    @pytest.mark.parametrize("more", [-1, 1])
    def test_another_width(self, name: str, more: int) -> None:
        question, encoding = EXAMPLES[name]
        names = tuple("abcdef"[: encoding.d + more])
        assert question.fits(changed(encoding, feature_names=names)) is isinstance(question, BESIDE)

    def test_other_shapes(self, name: str) -> None:
        """Its sensitivity is proved for some; a class of one's own is none of them."""
        question, encoding = EXAMPLES[name]
        if isinstance(question, BESIDE):
            assert question.shapes == ()
            return
        shapes, plain, bits = shapes_of(type(question)), not encoding.constant, encoding.bits
        ring = Annulus(Grid(0.5, bits), Grid(1.0, bits))
        for rows in (encoding.grid, ring, BALL, BOX, ELLIPSOID):
            possible = {Grid: True, Annulus: plain}.get(type(rows), plain and bits == 16)  # coordinates of its own have 16 bits
            assert reclipped(question, rows).fits(public(encoding)) is (possible and type(rows) in shapes), rows
        others: list[Any] = [
            OwnGrid(2.0, bits, encoding.constant),
            OwnBall((0.1, -2.5, 3e-7), 0.3, 4.5),
            None,
            "grid",
            encoding,
        ]
        others += [Annulus(OwnGrid(0.5, bits), Grid(1.0, bits)), Annulus(Grid(0.5, bits), OwnGrid(1.0, bits))]
        for other in others:
            assert not reclipped(question, other).fits(public(encoding)), other


class Sly(int):
    """An integer that compares as it likes."""


def with_field(question: Any, name: str, value: Any) -> Any:
    other = copy.copy(question)
    object.__setattr__(other, name, value)
    return other


class TestFitsExactly:
    """What is counted is counted in plain integers, and made of what is proved."""

    def test_groups_are_as_many_as_the_rows_have(self) -> None:
        for name in ("moments of groups", "moments of groups, units", "counts of groups"):
            question, encoding = EXAMPLES[name]
            assert question.fits(public(encoding))
            assert not question.fits(public(dataclasses.replace(encoding, groups=None)))
            assert not question.fits(public(dataclasses.replace(encoding, groups=Groups("region", ("a", "b", "c")))))
            for count in (np.int64(2), Sly(2), 2.0, None):
                with pytest.raises(ParameterError, match="groups must be from 2"):
                    dataclasses.replace(question, count=count)  # type: ignore[call-arg]

    @pytest.mark.parametrize("d", [np.int64(3), Sly(3), 3.0, True, None, "3"], ids=repr)
    def test_columns(self, d: Any) -> None:
        for name in ("sum", "sum, ball", "sum, box", "second moment", "second moment, ring", "norms", "trace", "bins"):
            question, encoding = EXAMPLES[name]
            assert not with_field(question, "d", d).fits(public(encoding))

    @pytest.mark.parametrize("count", [np.int64(2), Sly(2), 2.0, True, None, 0, -1, 4], ids=repr)
    def test_numbers_and_directions(self, count: Any) -> None:
        for question in (
            Spectrum(MOMENT, count),
            Diagonal(MOMENT, count, PARTS["given, two"]),
            Explained(MOMENT, count, GivenBasis(TURN[:, :1].copy())),
            Directions(MOMENT, count),
            Directions(MOMENT, count, Values(MOMENT, count)),
            Directions(MOMENT, count, Quotients(MOMENT, count)),
            Subspace(MOMENT, count),
        ):
            assert not question.fits(public(PLAIN)), question

    def test_how_many_numbers_there_are(self) -> None:
        """All eigenvalues; as many as columns, and the rest; as many directions as coordinates, but a subspace has fewer."""
        space = public(PLAIN)
        assert [k for k in range(6) if Spectrum(MOMENT, k).fits(space)] == [3]
        assert [k for k in range(6) if Diagonal(MOMENT, k, PARTS["given, two"]).fits(space)] == [2]
        assert [k for k in range(6) if Explained(MOMENT, k, PARTS["given, two"]).fits(space)] == [3]
        assert not Explained.of(MOMENT, WHOLE["given"]).fits(space)
        assert [k for k in range(6) if Directions(MOMENT, k).fits(space)] == [1, 2, 3]
        assert [k for k in range(6) if Subspace(MOMENT, k).fits(space)] == [1, 2]

    @pytest.mark.parametrize("kind", [Values, Quotients])
    def test_values_are_those_of_the_directions(self, kind: type[Values]) -> None:
        space, half = public(PLAIN), SecondMoment(SHORT, 3)
        assert Directions(MOMENT, 2, kind(MOMENT, 2)).fits(space)
        assert Directions(half, 2, kind(half, 2)).fits(space)
        for values in (kind(MOMENT, 1), kind(MOMENT, 3), kind(half, 2), kind(SecondMoment(COARSE.grid, 3), 2)):
            assert not Directions(MOMENT, 2, values).fits(space)
        others: list[Any] = [Spectrum(MOMENT, 2), Diagonal.of(MOMENT, PARTS["given, two"]), MOMENT, "values", 2]
        for other in others:
            assert not Directions(MOMENT, 2, other).fits(space)

    def test_a_moment_is_a_whole_one(self) -> None:
        """A block has the same class but for one step, and other coordinates."""
        block: Any = Block(GRID, 3, 3, (0, 1, 2))

        class Doubled(SecondMoment):
            pass

        for moment in (block, Doubled(GRID, 3), None, MOMENT.grid):
            for name, (question, encoding) in EXAMPLES.items():
                if encoding is PLAIN and "moment" in {field.name for field in dataclasses.fields(question)}:
                    other = with_field(question, "moment", moment)
                    if isinstance(other, Directions) and other.values is not None:
                        other = with_field(other, "values", with_field(other.values, "moment", moment))
                    assert not other.fits(public(PLAIN)), name

    def test_counts_are_those_that_are_proved(self) -> None:
        class OwnNorms(Norms):
            pass

        class OwnBins(Bins):
            pass

        norms, bins = OwnNorms(GRID, 3, 1, 4), OwnBins(BOX, 3, 64)
        for question in (Quantile(norms, 3), Radius(norms, 3), Bias(norms, 0, (0,) * 5), Rank(bins, 0, 3)):
            assert not question.fits(public(PLAIN))
        for swapped in (with_field(Quantile(norms, 3), "norms", bins), with_field(Rank(bins, 0, 3), "bins", norms)):
            assert not swapped.fits(public(PLAIN))

    def test_bases_are_those_that_are_proved(self) -> None:
        class Own(GivenBasis):
            pass

        others: list[Any] = [Own(TURN), TURN, None, GivenBasis(np.eye(4)), GivenBasis(np.eye(2))]
        for basis in others:
            for question in (Diagonal(MOMENT, 3, basis), Explained(MOMENT, 3, basis), Overlap(MOMENT, basis, (1.0,) * 3)):
                assert not question.fits(public(PLAIN))


class TestRows:
    """What float64 loses depends on how many rows there can be: a question that says fewer would have too little noise."""

    SIZED: tuple[Any, ...] = (
        lambda rows: Spectrum(MOMENT, 3, rows=rows),
        lambda rows: Diagonal.of(MOMENT, WHOLE["given"]).among(rows),
        lambda rows: Explained.of(MOMENT, PARTS["given, two"]).among(rows),
        lambda rows: Directions(MOMENT, 2, Values(MOMENT, 2, rows=rows)),
        lambda rows: Directions(MOMENT, 2, Quotients(MOMENT, 2, rows=rows)),
    )

    @pytest.mark.parametrize("made", SIZED, ids=["spectrum", "diagonal", "explained", "values", "quotients"])
    def test_fewer_than_there_are_are_refused(self, made: Any) -> None:
        known, unknown, private = public(PLAIN), public(PLAIN, known=None), public(PLAIN, "add-remove")
        assert [made(rows).fits(known) for rows in (1, N - 1, N, N + 1, MAX_ROWS)] == [False, False, True, True, True]
        for space in (unknown, private):  # of a stream that was not read yet, and where n is private: the most there are
            assert [made(rows).fits(space) for rows in (N, MAX_ROWS - 1, MAX_ROWS)] == [False, False, True]

    @pytest.mark.parametrize("rows", [np.int64(N), Sly(N), float(N), "100", None], ids=repr)
    def test_they_are_a_plain_integer(self, rows: Any) -> None:
        for made in self.SIZED:
            assert not made(rows).fits(public(PLAIN))

    def test_by_default_they_are_the_most(self) -> None:
        for question in (Spectrum(MOMENT, 3), Diagonal.of(MOMENT, WHOLE["given"]), Values(MOMENT, 2), Quotients(MOMENT, 2)):
            assert question.rows == MAX_ROWS

    def test_a_coefficient_is_of_all_rows(self) -> None:
        """n is in its penalty: neither fewer nor more, and public."""
        for rows in (1, N - 1, N, N + 1):
            question = Solution(MOMENT, rows, 0, Fraction(1))
            assert question.fits(public(PLAIN)) is (rows == N)
            assert not question.fits(public(PLAIN, known=None))
            assert not question.fits(public(PLAIN, "add-remove"))

    @pytest.mark.parametrize("mechanism", ["separate", "eigenvectors"])
    @pytest.mark.parametrize(("claimed", "accepted"), [(1, False), (N - 1, False), (N, True)])
    def test_a_file_that_says_fewer_is_refused(self, mechanism: str, claimed: int, accepted: bool) -> None:
        rows = np.random.default_rng(9300).uniform(-0.5, 0.5, size=(N, 3))
        record = json.loads(text_of(dpcov.covariance(rows, ZCDP(1), row_norm=1, mechanism=mechanism, seed=0)))
        record.pop("checksum")
        [asked] = [answer["question"] for answer in record["answers"] if "at most" in answer["question"]]
        assert asked["at most"] == N
        asked["at most"] = claimed
        record["checksum"] = _checksum(record)
        if accepted:
            assert parse(json.dumps(record)).n == N
        else:
            with pytest.raises(
                ReleaseError,
                match=r"release file must be consistent, got an answer to '.*' about rows that it does not describe\. Hint: ",
            ):
                parse(json.dumps(record))


def integers(*values: int) -> Any:
    return np.array(values, dtype=np.int64)


def unit_rows(*rows: list[float]) -> Any:
    """Directions as they are released: multiples of 2⁻¹⁸."""
    return np.rint(2**18 * np.array(rows)).astype(np.int64).ravel()


def possible(question: Question) -> Any:
    """An answer that can be."""
    if not isinstance(question, Drawn):
        return np.zeros(question.size, dtype=np.int64)
    told = np.full(question.size - question.count * question.d, -(2**62), dtype=np.int64)
    return np.concatenate([unit_rows(*TURN.tolist()[: question.count]), told])


class TestAdmits:
    @each_example
    def test_lengths(self, name: str) -> None:
        question, _ = EXAMPLES[name]
        answer = possible(question)
        assert answer.shape == (question.size,)
        assert question.admits(answer)
        for other in (answer[:-1], np.append(answer, 0), answer[:0], answer[None], answer.reshape(-1, 1), np.tile(answer, 2)):
            assert not question.admits(other)

    def test_lengths_by_hand(self) -> None:
        sizes = {"count": 1, "sum": 3, "second moment": 6, "second moment, centred": 6, "norms": 161, "trace": 1, "bins": 3000}
        sizes |= {"spectrum": 3, "diagonal, given": 3, "diagonal, eigenvectors, two": 2, "explained, given, two": 3}
        sizes |= {"explained, eigenvector of a block": 2, "overlap, given": 1, "squares": 3, "block": 3, "block, ring": 1}
        sizes |= {"solution": 2, "radius": 1, "quantile": 1, "first radius": 1, "threshold": 1, "directions": 9}
        sizes |= {"directions, projected": 8, "directions, subtracted": 12, "subspace": 6, "subspace, clipped": 3}
        sizes |= {"moments of groups": 12, "counts of groups": 2, "weights": 161, "squared weights": 1, "largest weight": 1}
        sizes |= {"histograms": 64, "level counts": 3, "column moments": 5, "interval": 1, "second moment, units": 6}
        assert {name: EXAMPLES[name][0].size for name in sizes} == sizes
        assert {type(EXAMPLES[name][0]) for name in sizes} == set(ASKED)

    @pytest.mark.parametrize(
        ("name", "candidates"),
        [
            ("radius", 9),
            ("radius, every, prior", 3),
            ("quantile", 64),
            ("first radius", 6),
            ("threshold", 4),
            ("interval", 57),
            ("largest weight", 161),
        ],
    )
    def test_indices(self, name: str, candidates: int) -> None:
        """Searches may find nothing: one more than there are radii to look at."""
        question, _ = EXAMPLES[name]
        assert type(question) in (*CHOSEN, *SEARCHED)
        for index in range(candidates):
            assert question.admits(integers(index))
        for index in (-1, candidates, candidates + 1, 2**63 - 1, -(2**63)):
            assert not question.admits(integers(index))

    @pytest.mark.parametrize("name", [name for name, (question, _) in EXAMPLES.items() if type(question) in DRAWN])
    def test_vectors_have_norm_one(self, name: str) -> None:
        """But for rounding: half a step in each coordinate, √d/2 steps in all."""
        question, _ = EXAMPLES[name]
        assert isinstance(question, Drawn)
        answer, length = possible(question), question.count * question.d
        assert question.admits(answer)
        for first in (
            [0.0, 0.0, 0.0],
            [2.0, 0.0, 0.0],
            [0.99, 0.0, 0.0],
            [1.0, 1.0, 0.0],
            [1 + 4e-5, 0.0, 0.0],
            [1e13, 0.0, 0.0],
        ):
            wrong = answer.copy()
            wrong[:3] = unit_rows(first)
            assert not question.admits(wrong)
        assert not question.admits(np.concatenate([np.zeros(length, dtype=np.int64), answer[length:]]))
        rounded = answer.copy()
        rounded[: length : question.d] += 1
        assert question.admits(rounded)
        assert question.admits(np.concatenate([-answer[:length], answer[length:]]))  # a direction has no sign
        assert not question.admits(np.full(question.size, -(2**63), dtype=np.int64))

    @pytest.mark.parametrize(
        "name", ["directions", "directions, projected", "directions, centred", "subspace", "subspace, centred"]
    )
    def test_vectors_are_orthogonal(self, name: str) -> None:
        question, _ = EXAMPLES[name]
        assert isinstance(question, Drawn)
        assert question.orthogonal
        answer = possible(question)
        for second in ([2 / 3, -1 / 3, 2 / 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-2 / 3, 1 / 3, -2 / 3]):
            wrong = answer.copy()
            wrong[3:6] = unit_rows(second)
            assert not question.admits(wrong)
        tilted = answer.copy()
        tilted[3:6] += integers(20, -10, 20)  # 30 steps towards the first
        assert not question.admits(tilted)

    def test_subtracted_ones_need_not_be(self) -> None:
        question, _ = EXAMPLES["directions, subtracted"]
        assert isinstance(question, Drawn)
        assert not question.orthogonal
        same = unit_rows([1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.6, 0.8, 0.0])
        assert question.admits(np.append(same, [5, -(2**63), 2**63 - 1]))
        assert not question.admits(np.append(unit_rows([1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.6, 0.8, 0.0]), [5, 6, 7]))

    def test_what_a_curator_draws_is_admitted(self) -> None:
        """By every mechanism's own questions: the smallest check that none of the above refuses too much."""
        rows = np.random.default_rng(9301).uniform(-0.5, 0.5, size=(N, 5))
        for mechanism in ("eigenvectors", "kapralov-talwar"):
            release = dpcov.covariance(rows, PureDP(5), row_norm=2, mechanism=mechanism, seed=1)
            assert all(answer.question.admits(answer.integers) for answer in release.answers)


class TestGivesN:
    def test_a_count_says_it(self) -> None:
        assert [Count().gives_n(integers(n)) for n in (7, 1, 0, -5, 2**40)] == [7, 1, 1, 1, 2**40]

    @pytest.mark.parametrize("radius", [1.0, 0.3])
    def test_a_centred_corner_says_it(self, radius: float) -> None:
        """To the nearest: n·a² for the constant coordinate a, whatever the other entries are and wherever rows were clipped."""
        question = SecondMoment(CENTRED.grid.clipped(radius), 3)
        square = question.grid.constant**2 if isinstance(question.grid, Grid) else 0
        assert square == (2**15) ** 2  # a is half of norm 1
        others = [5, -7, 2**50, -(2**50), 11]
        for n in (1, 2, 1000, 2**30):
            for off in (0, 1, -1, square // 2 - 1, -(square // 2) + 1):
                assert question.gives_n(integers(n * square + off, *others)) == n
        assert question.gives_n(integers(5 * square + square // 2 + 1, *others)) == 6
        for corner in (0, -1, -(2**62), square // 3):
            assert question.gives_n(integers(corner, *others)) == 1

    def test_the_corner_is_that_of_rows(self) -> None:
        grid, rows = Grid(2.0, center=True), np.random.default_rng(9302).normal(size=(37, 2))
        assert SecondMoment(grid, 3).gives_n(SecondMoment(grid, 3).entries(SecondMoment(grid, 3).of(rows))) == 37

    @each_example
    def test_others_do_not(self, name: str) -> None:
        """Neither other rows' corner, nor a block, which need not have the constant, nor rows that are scaled as a whole."""
        question, encoding = EXAMPLES[name]
        told = question.gives_n(np.full(question.size, 2**40, dtype=np.int64))
        if isinstance(question, COUNTS) or (type(question) is SecondMoment and encoding is CENTRED):
            assert told is not None
        else:
            assert told is None

    def test_a_count_goes_before_a_corner(self) -> None:
        """Wherever it stands; without either, nothing is told."""
        square = 2**30
        law = DiscreteGaussian((("diagonal", Fraction(1)), ("off-diagonal", Fraction(1))))
        corner = answered(CENTRED_MOMENT, [50 * square, 0, 0, 0, 0, 0], law)
        later = answered(CENTRED_MOMENT, [60 * square, 0, 0, 0, 0, 0], law)
        count, silent = answered(Count(), [40]), answered(Sum(GRID, 3), [9, 9, 9])
        assert n_of([silent, corner, later]) == 50
        assert n_of([corner, silent, count]) == n_of([count, corner]) == 40
        assert n_of([silent]) is None
        assert n_of([]) is None
