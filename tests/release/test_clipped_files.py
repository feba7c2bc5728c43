"""Files of clipped releases: every mechanism and option comes back bit for bit; what no curator can have made is refused.

And what only the mechanism could know, an answer left out or a radius that is not the chosen one, is a verdict: such a file
loads, and every use of it ends.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov import Release
from dpcov.errors import ReleaseError
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.running import released
from dpcov.release.file import parse, text_of
from dpcov.verify.testing import scripted
from tests.audit.test_clipped import CASES, SERVED
from tests.helpers.forged import verdict
from tests.helpers.quiet import skewed
from tests.helpers.small import Record, sealed

NEIGHBORS = ["replace", "add-remove"]
ROWS = skewed(2000, 3, 91)
BUDGETS: list[Budget] = [PureDP(2), ZCDP("0.5")]


def made(name: str, budget: Budget, neighbors: str, rows: Any = ROWS, **options: Any) -> Release:
    return dpcov.covariance(rows, budget, row_norm=1.0, mechanism=name, neighbors=neighbors, seed=92, **options)


def assert_same(release: Release) -> None:
    back = parse(text_of(release))
    assert text_of(back) == text_of(release)
    assert back.second_moment.tobytes() == release.second_moment.tobytes()
    assert (back.clip_radius, back.options, back.spent) == (release.clip_radius, release.options, release.spent)
    for one, other in zip(back.answers, release.answers, strict=True):
        assert (one.question, one.laws, one.charges) == (other.question, other.laws, other.charges)
        assert one.integers.tobytes() == other.integers.tobytes()


class TestBitForBit:
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize(("name", "options", "budget"), CASES)
    def test_each_option(self, name: str, options: dict[str, Any], budget: Budget, neighbors: str) -> None:
        finishes = ("none",) if name == "rescaled" else ("none", "project") if name == "projection" else ("none", "clip")
        for postprocess in (None, *finishes):
            assert_same(made(name, budget, neighbors, postprocess=postprocess, **options))

    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize("name", [name for name in MECHANISMS["covariance"] if name not in ("rescaled", "standardized")])
    def test_centred_rows(self, name: str, neighbors: str) -> None:
        budget = ZCDP("0.5") if name in ("gaussian", "projection", "coinpress") else PureDP(2)
        assert_same(made(name, budget, neighbors, center=True))
        if "clip" in MECHANISMS["covariance"][name].options:
            for clip in ("private", 0.1):
                assert_same(made(name, budget, neighbors, center=True, clip=clip))

    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize("budget", BUDGETS, ids=str)
    def test_ends_of_the_paths(self, budget: Budget, neighbors: str) -> None:
        """Nothing asked, one column, radii at either end, an estimate of zero, a radius that is row_norm."""
        for rows in (ROWS[:1], ROWS[:, :1], np.zeros((900, 3)), np.eye(3)[[0] * 900], np.full((900, 2), 1e-300)):
            for name in ("rescaled", "adaptive", "separate", "auto"):
                assert_same(made(name, budget, neighbors, rows))
                if name == "separate":
                    assert_same(made(name, budget, neighbors, rows, clip="private"))
                    assert_same(made(name, budget, neighbors, rows, clip=1.0))
                    assert_same(made(name, budget, neighbors, rows, clip=0.1 + 0.2))

    def test_adaptive_with_values_apart(self) -> None:
        d, counts = 400, [0, 0, 10_000] + [0] * 496
        for neighbors in NEIGHBORS:
            for constants in ("tight", "paper"):
                answers: list[Any] = [counts, -1e6, counts, np.eye(d), np.ones(d), 10_000]
                curator = scripted(answers, n=10_000, d=d, budget=ZCDP(1), neighbors=neighbors)
                release = released(MECHANISMS["covariance"]["adaptive"], curator, ZCDP(1), constants=constants)
                assert len(release.answers) == (5 if neighbors == "replace" else 6)
                assert_same(release)

    def test_other_units(self) -> None:
        for row_norm in (1e-149, 0.1 + 0.2, 7.0, 1e150):
            for name in ("separate", "adaptive", "rescaled"):
                release = dpcov.covariance(ROWS * row_norm, ZCDP("0.5"), row_norm=row_norm, mechanism=name, seed=93)
                assert_same(release)


def place_of(*asked: str) -> Callable[[Record], Record]:
    def find(record: Record) -> Record:
        found: Record = next(answer for answer in record["answers"] if answer["question"]["asked"] in asked)
        return found

    return find


MOMENT, OVERLAP, TRACE, THRESHOLD = map(place_of, ("second moment", "overlap", "trace", "threshold"))
RADIUS, DIAGONAL = place_of("radius", "first radius"), place_of("diagonal in a basis")


def question(answer: Record, **changes: Any) -> None:
    answer["question"].update(changes)


def rows(answer: Record) -> Record:
    found: Record = answer["question"]["rows"]
    return found


def scale(answer: Record, factor: str) -> None:
    """Multiply each amount of a law."""
    parameters = answer["noise"][0]["parameters"]
    for key in parameters.keys() - {"d", "lattice", "excess", "tail"}:
        parameters[key] = str(Fraction(parameters[key]) * Fraction(factor))


def swap(record: Record, first: int, second: int) -> None:
    answers = record["answers"]
    answers[first], answers[second] = answers[second], answers[first]


def shift(answer: Record, by: int) -> None:
    answer["integers"][0] += by


def option(record: Record, **changes: Any) -> None:
    record["mechanism"]["options"].update(changes)


def named(record: Record, name: str) -> None:
    record["mechanism"]["name"] = record["requested"]["name"] = name


def without(record: Record, answer: Record) -> None:
    """Leave out an answer; bases are then of those before."""
    place = record["answers"].index(answer)
    del record["answers"][place]
    for left in record["answers"]:
        basis = left["question"].get("basis", {})
        if basis.get("eigenvectors of", -1) > place:
            basis["eigenvectors of"] -= 1


def choice_last(record: Record) -> None:
    """Move it behind the matrix, which is then named anew."""
    record["answers"].append(record["answers"].pop(-3))
    OVERLAP(record)["question"]["basis"]["eigenvectors of"] = record["answers"].index(MOMENT(record))


Cases = dict[str, tuple[str, Callable[[Record], Any]]]
FORGED: Cases = {
    "rescaled: less noise in the matrix": ("rescaled", lambda r: scale(MOMENT(r), "999/1000")),
    "rescaled: less noise in the scale": ("rescaled", lambda r: scale(OVERLAP(r), "999/1000")),
    "rescaled: a larger rate": ("rescaled", lambda r: scale(RADIUS(r), "1001/1000")),
    "rescaled: a rate beyond all": ("rescaled", lambda r: scale(RADIUS(r), "100000000")),
    "rescaled: a place below": ("rescaled", lambda r: RADIUS(r).update(integers=[-1])),
    "rescaled: a place beyond": ("rescaled", lambda r: RADIUS(r).update(integers=[len(RADIUS(r)["question"]["weights"])])),
    "rescaled: no octaves": ("rescaled", lambda r: question(RADIUS(r), octaves=0)),
    "rescaled: fewer octaves": ("rescaled", lambda r: question(RADIUS(r), octaves=RADIUS(r)["question"]["octaves"] - 1)),
    "rescaled: a place of two numbers": ("rescaled", lambda r: RADIUS(r)["integers"].append(16)),
    "rescaled: fewer rows than none": ("rescaled", lambda r: question(RADIUS(r), outside=-1)),
    "rescaled: a larger radius": ("rescaled", lambda r: rows(MOMENT(r)).update(radius=1.5)),
    "rescaled: no radius": ("rescaled", lambda r: question(MOMENT(r), rows={})),
    "rescaled: an outer radius beyond row_norm": ("rescaled", lambda r: rows(OVERLAP(r)).update(outer=1.5)),
    "rescaled: an outer radius beyond row_norm by a hair": ("rescaled", lambda r: rows(OVERLAP(r)).update(outer=1 + 2**-52)),
    "rescaled: radii swapped": (
        "rescaled",
        lambda r: question(OVERLAP(r), rows={"inner": rows(OVERLAP(r))["outer"], "outer": rows(OVERLAP(r))["inner"]}),
    ),
    "rescaled: nothing between the radii": ("rescaled", lambda r: rows(OVERLAP(r)).update(outer=rows(OVERLAP(r))["inner"])),
    "rescaled: a scale that reaches farther": (
        "rescaled",
        lambda r: rows(OVERLAP(r)).update(inner=rows(OVERLAP(r))["inner"] / 9),
    ),
    "rescaled: three radii": ("rescaled", lambda r: rows(OVERLAP(r)).update(radius=1.0)),
    "rescaled: a radius that is none": ("rescaled", lambda r: rows(MOMENT(r)).update(radius=0.0)),
    "rescaled: a radius in words": ("rescaled", lambda r: rows(MOMENT(r)).update(radius="0.5")),
    "rescaled: answers swapped": ("rescaled", lambda r: swap(r, -1, -2)),
    "rescaled: a scale twice": ("rescaled", lambda r: r["answers"].append(OVERLAP(r))),
    "rescaled: a choice by search": ("rescaled", lambda r: RADIUS(r)["noise"][0].update(law="sparse vector")),
    "rescaled: a choice of another price": ("rescaled", lambda r: RADIUS(r)["noise"][0].update(charge=r["privacy"])),
    "rescaled: centred": ("rescaled", lambda r: r["encoding"].update(constant=True)),
    "rescaled: a weight too many": ("rescaled", lambda r: RADIUS(r)["question"]["weights"].append(1)),
    "adaptive: a finer search": ("adaptive", lambda r: scale(RADIUS(r), "999/1000")),
    "adaptive: a finer threshold": ("adaptive", lambda r: scale(THRESHOLD(r), "999/1000")),
    "adaptive: less noise in the trace": ("adaptive", lambda r: scale(TRACE(r), "999/1000")),
    "adaptive: less noise in the matrix": ("adaptive", lambda r: scale(MOMENT(r), "999/1000")),
    "adaptive: a threshold beyond": ("adaptive", lambda r: shift(THRESHOLD(r), len(THRESHOLD(r)["question"]["noises"]) + 1)),
    "separate: less noise in the matrix": ("separate", lambda r: scale(MOMENT(r), "999/1000")),
    "separate: less noise in the values": ("separate", lambda r: scale(DIAGONAL(r), "999/1000")),
    "separate: swapped": ("separate", lambda r: swap(r, 0, 1)),
    "separate: values along themselves": (
        "separate",
        lambda r: DIAGONAL(r)["question"]["basis"].update({"eigenvectors of": 1}),
    ),
    "clipped: no radius": ("clipped", lambda r: question(MOMENT(r), rows={})),
    "clipped: two radii": ("clipped", lambda r: question(MOMENT(r), rows={"inner": 0.15})),
    "clipped: less noise": ("clipped", lambda r: scale(MOMENT(r), "999/1000")),
    "private: a larger rate": ("private", lambda r: scale(RADIUS(r), "1001/1000")),
    "private: not paid for": ("private", lambda r: RADIUS(r).update(noise=[])),
    "private: of centred rows": ("private", lambda r: r["encoding"].update(constant=True)),
}
HIDDEN: Cases = {
    "rescaled: another place": ("rescaled", lambda r: shift(RADIUS(r), 1)),
    "rescaled: another radius of the matrix": ("rescaled", lambda r: rows(MOMENT(r)).update(radius=0.7)),
    "rescaled: a radius by a thousandth": (
        "rescaled",
        lambda r: rows(MOMENT(r)).update(radius=rows(MOMENT(r))["radius"] * 0.999),
    ),
    "rescaled: an outer radius farther out": (
        "short",
        lambda r: rows(OVERLAP(r)).update(outer=rows(OVERLAP(r))["outer"] * 0.9),
    ),
    "rescaled: the choice last": ("rescaled", choice_last),
    "rescaled: no choice": ("rescaled", lambda r: without(r, RADIUS(r))),
    "rescaled: no scale": ("rescaled", lambda r: without(r, OVERLAP(r))),
    "rescaled: as gaussian": ("rescaled", lambda r: named(r, "gaussian")),
    "rescaled: as adaptive": ("rescaled", lambda r: named(r, "adaptive")),
    "rescaled: as separate": ("rescaled", lambda r: named(r, "separate")),
    "rescaled: projected": ("rescaled", lambda r: r.update(postprocess="project")),
    "adaptive: a trace of other rows": ("adaptive", lambda r: rows(TRACE(r)).update(radius=0.123)),
    "adaptive: another radius": ("adaptive", lambda r: shift(RADIUS(r), 1)),
    "adaptive: another threshold": ("adaptive", lambda r: shift(THRESHOLD(r), 1)),
    "adaptive: searches swapped": ("adaptive", lambda r: swap(r, 0, 2)),
    "adaptive: no trace": ("adaptive", lambda r: without(r, TRACE(r))),
    "adaptive: no matrix": ("adaptive", lambda r: without(r, MOMENT(r))),
    "adaptive: an unknown beta": ("adaptive", lambda r: option(r, beta="small")),
    "separate: values of other rows": ("separate", lambda r: rows(DIAGONAL(r)).update(radius=0.5)),
    "separate: no values": ("separate", lambda r: without(r, DIAGONAL(r))),
    "separate: of paper": ("separate", lambda r: option(r, constants="paper")),
    "separate: said to be private": ("separate", lambda r: option(r, clip="private")),
    "separate: clipped elsewhere": ("separate", lambda r: option(r, clip=0.25)),
    "separate: clipped beyond": ("separate", lambda r: option(r, clip=1.5)),
    "separate: shrunk": ("separate", lambda r: r.update(postprocess="shrink")),
    "clipped: another radius": ("clipped", lambda r: rows(MOMENT(r)).update(radius=0.25)),
    "clipped: said to be whole": ("clipped", lambda r: option(r, clip="none")),
    "clipped: said to be private": ("clipped", lambda r: option(r, clip="private")),
    "clipped: without the option": ("clipped", lambda r: r["mechanism"]["options"].pop("clip")),
    "clipped: a mechanism to come": ("clipped", lambda r: named(r, "coinpress")),
    "private: another place": ("private", lambda r: shift(RADIUS(r), -1)),
    "private: said to be public": ("private", lambda r: option(r, clip=rows(MOMENT(r))["radius"])),
    "private: no choice": ("private", lambda r: without(r, RADIUS(r))),
}
FINISHED = ("rescaled: projected", "separate: shrunk")  # of the estimate, not of what was asked


STARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "rescaled": ("rescaled", {}),
    "short": ("rescaled", {}),
    "adaptive": ("adaptive", {}),
    "separate": ("separate", {}),
    "clipped": ("gaussian", {"clip": 0.15}),
    "private": ("gaussian", {"clip": "private"}),
}


def starts(start: str, neighbors: str) -> Iterator[Record]:
    """Yield the file to be forged, for each notion that its mechanism serves."""
    name, options = STARTS[start]
    for budget in BUDGETS:
        if isinstance(budget, SERVED.get(name, (PureDP, ZCDP, ApproxDP))):
            record: Record = json.loads(
                text_of(made(name, budget, neighbors, ROWS / 8 if start == "short" else ROWS, **options))
            )
            assert parse(sealed(record)).mechanism == name  # good before it is forged
            yield record


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("case", FORGED)
def test_a_forged_file_is_refused(case: str, neighbors: str) -> None:
    start, edit = FORGED[case]
    for record in starts(start, neighbors):
        before = json.dumps(record)
        edit(record)
        assert json.dumps(record) != before
        with pytest.raises(ReleaseError, match=r"release file must be .+, got .+\. Hint: "):
            pytest.fail(f"{parse(sealed(record))!r} loads")


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("case", HIDDEN)
def test_what_only_the_mechanism_knows_is_a_verdict(case: str, neighbors: str) -> None:
    start, edit = HIDDEN[case]
    for record in starts(start, neighbors):
        assert parse(sealed(record)).retrace().agrees
        before = json.dumps(record)
        edit(record)
        assert json.dumps(record) != before
        assert verdict(sealed(record)) == ("loaded", "")
        assert parse(sealed(record)).retrace().agrees == (case in FINISHED)


def test_a_saved_file_says_where_rows_were_clipped(tmp_path: Any) -> None:
    release = made("wishart", PureDP(2), "add-remove", clip=0.15)
    release.save(tmp_path / "release.json")
    back = dpcov.load(tmp_path / "release.json")
    assert back.clip_radius == 0.15
    assert back.second_moment.tobytes() == release.second_moment.tobytes()
    record = json.loads((tmp_path / "release.json").read_text(encoding="utf-8"))
    assert record["format_version"] == 1
    assert rows(MOMENT(record)) == {"radius": 0.15}
