"""Files of clipped releases: every mechanism and option comes back bit for bit; what no curator can have made is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov import Release
from dpcov.errors import ReleaseError
from dpcov.kernel.budget import ZCDP, ApproxDP, Budget, PureDP
from dpcov.mechanisms import MECHANISMS
from dpcov.release.file import _checksum, parse, text_of
from dpcov.verify.testing import ScriptedCurator
from tests.audit.test_clipped import CASES, RUNS, SERVED
from tests.scripted.quiet import skewed

Record = dict[str, Any]
NEIGHBORS = ["replace", "add-remove"]
ROWS = skewed(2000, 3, 91)
BUDGETS: list[Budget] = [PureDP(2), ZCDP("0.5")]


def made(name: str, budget: Budget, neighbors: str, rows: Any = ROWS, **options: Any) -> Release:
    return dpcov.covariance(rows, budget, row_norm=1.0, mechanism=name, neighbors=neighbors, seed=92, **options)


def sealed(record: Record) -> str:
    """Write a record with a fresh checksum, as a forger would."""
    body = {key: value for key, value in record.items() if key != "checksum"}
    return json.dumps(body | {"checksum": _checksum(body)})


def assert_same(release: Release) -> None:
    back = parse(text_of(release))
    assert text_of(back) == text_of(release)
    assert back.second_moment.tobytes() == release.second_moment.tobytes()
    assert (back.clip_radius, back.options, back.spent) == (release.clip_radius, release.options, release.spent)
    for one, other in zip(back.answers, release.answers, strict=True):
        assert (one.statistic, one.radii, one.noise) == (other.statistic, other.radii, other.noise)
        assert one.integers.tobytes() == other.integers.tobytes()


class TestBitForBit:
    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize(("name", "options", "budget"), CASES)
    def test_each_option(self, name: str, options: dict[str, Any], budget: Budget, neighbors: str) -> None:
        finishes = ("none",) if name == "rescaled" else ("none", "project") if name == "projection" else ("none", "clip")
        for postprocess in (None, *finishes):
            assert_same(made(name, budget, neighbors, postprocess=postprocess, **options))

    @pytest.mark.parametrize("neighbors", NEIGHBORS)
    @pytest.mark.parametrize("name", [name for name in MECHANISMS["covariance"] if name != "rescaled"])
    def test_centred_rows(self, name: str, neighbors: str) -> None:
        budget = ZCDP("0.5") if name in ("gaussian", "projection", "coinpress") else PureDP(2)
        assert_same(made(name, budget, neighbors, center=True))
        if "clip" in dpcov.mechanisms.options_of(MECHANISMS["covariance"][name]):
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
                curator = ScriptedCurator(answers, n=10_000, d=d, budget=ZCDP(1), neighbors=neighbors)
                release = MECHANISMS["covariance"]["adaptive"](curator, ZCDP(1), constants=constants)
                assert len(release.answers) == (5 if neighbors == "replace" else 6)
                assert_same(release)

    def test_other_units(self) -> None:
        for row_norm in (1e-149, 0.1 + 0.2, 7.0, 1e150):
            for name in ("separate", "adaptive", "rescaled"):
                release = dpcov.covariance(ROWS * row_norm, ZCDP("0.5"), row_norm=row_norm, mechanism=name, seed=93)
                assert_same(release)


def place_of(statistic: str) -> Callable[[Record], Record]:
    def find(record: Record) -> Record:
        found: Record = next(answer for answer in record["answers"] if answer["statistic"] == statistic)
        return found

    return find


MOMENT, OVERLAP, RADIUS, TRACE, THRESHOLD = map(place_of, ("second moment", "overlap", "radius", "trace", "threshold"))
DIAGONAL = place_of("diagonal in a basis")


def scale(answer: Record, factor: str) -> None:
    """Multiply each amount of a law."""
    parameters = answer["noise"]["parameters"]
    for key in parameters.keys() - {"d", "lattice", "excess", "tail"}:
        parameters[key] = str(Fraction(parameters[key]) * Fraction(factor))


def swap(record: Record, first: int, second: int) -> None:
    for key in ("answers", "spent"):
        record[key][first], record[key][second] = record[key][second], record[key][first]


def shift(answer: Record, by: int, entry: int = 0) -> None:
    answer["integers"][entry] += by


FORGED: dict[str, tuple[str, Callable[[Record], Any]]] = {
    "rescaled: less noise in the matrix": ("rescaled", lambda r: scale(MOMENT(r), "999/1000")),
    "rescaled: less noise in the scale": ("rescaled", lambda r: scale(OVERLAP(r), "999/1000")),
    "rescaled: a larger rate": ("rescaled", lambda r: scale(RADIUS(r), "1001/1000")),
    "rescaled: a rate beyond all": ("rescaled", lambda r: scale(RADIUS(r), "100000000")),
    "rescaled: another place": ("rescaled", lambda r: shift(RADIUS(r), 1)),
    "rescaled: a place below": ("rescaled", lambda r: RADIUS(r).update(integers=[-1, 16, 5])),
    "rescaled: no octaves": ("rescaled", lambda r: RADIUS(r).update(integers=[3, 0, 5])),
    "rescaled: a place of two numbers": ("rescaled", lambda r: RADIUS(r)["integers"].pop()),
    "rescaled: fewer rows than none": ("rescaled", lambda r: RADIUS(r)["integers"].__setitem__(2, -1)),
    "rescaled: another radius of the matrix": ("rescaled", lambda r: MOMENT(r).update(radii=[0.7])),
    "rescaled: a larger radius": ("rescaled", lambda r: MOMENT(r).update(radii=[1.5])),
    "rescaled: no radius": ("rescaled", lambda r: MOMENT(r).update(radii=[])),
    "rescaled: a radius by a hair": (
        "rescaled",
        lambda r: MOMENT(r)["radii"].__setitem__(0, MOMENT(r)["radii"][0] * (1 + 1e-9)),
    ),
    "rescaled: another inner radius": ("rescaled", lambda r: OVERLAP(r)["radii"].__setitem__(0, 0.7 * OVERLAP(r)["radii"][0])),
    "rescaled: an outer radius beyond row_norm": ("rescaled", lambda r: OVERLAP(r)["radii"].__setitem__(1, 1.5)),
    "rescaled: an outer radius farther out": ("short", lambda r: OVERLAP(r)["radii"].__setitem__(1, 1.0)),
    "rescaled: radii swapped": ("rescaled", lambda r: OVERLAP(r)["radii"].reverse()),
    "rescaled: nothing between the radii": ("rescaled", lambda r: OVERLAP(r)["radii"].__setitem__(1, OVERLAP(r)["radii"][0])),
    "rescaled: a choice in halves": ("rescaled", lambda r: RADIUS(r).update(unit_bits=1)),
    "rescaled: a choice of clipped rows": ("rescaled", lambda r: RADIUS(r).update(radii=[0.5])),
    "clipped: a mechanism to come": ("clipped", lambda r: r.update(mechanism="coinpress", requested="coinpress")),
    "rescaled: three radii": ("rescaled", lambda r: OVERLAP(r)["radii"].append(1.0)),
    "rescaled: a radius that is none": ("rescaled", lambda r: MOMENT(r).update(radii=[0.0])),
    "rescaled: a radius in words": ("rescaled", lambda r: MOMENT(r).update(radii=["0.5"])),
    "rescaled: answers swapped": ("rescaled", lambda r: swap(r, -1, -2)),
    "rescaled: the choice last": ("rescaled", lambda r: swap(r, -1, -3)),
    "rescaled: no choice": ("rescaled", lambda r: (r["answers"].pop(-3), r["spent"].pop(-3))),
    "rescaled: a scale twice": ("rescaled", lambda r: (r["answers"].append(OVERLAP(r)), r["spent"].append(r["spent"][-1]))),
    "rescaled: as gaussian": ("rescaled", lambda r: r.update(mechanism="gaussian", requested="gaussian")),
    "rescaled: as adaptive": ("rescaled", lambda r: r.update(mechanism="adaptive", requested="adaptive")),
    "rescaled: as separate": ("rescaled", lambda r: r.update(mechanism="separate", requested="separate")),
    "rescaled: a choice by search": ("rescaled", lambda r: RADIUS(r)["noise"].update(law="sparse vector")),
    "rescaled: a choice of another price": ("rescaled", lambda r: r["spent"][-3].update(noise="sparse vector")),
    "rescaled: projected": ("rescaled", lambda r: r.update(postprocess="project")),
    "adaptive: a finer search": ("adaptive", lambda r: scale(RADIUS(r), "999/1000")),
    "adaptive: a finer threshold": ("adaptive", lambda r: scale(THRESHOLD(r), "999/1000")),
    "adaptive: less noise in the trace": ("adaptive", lambda r: scale(TRACE(r), "999/1000")),
    "adaptive: less noise in the matrix": ("adaptive", lambda r: scale(MOMENT(r), "999/1000")),
    "adaptive: a trace of other rows": ("adaptive", lambda r: TRACE(r).update(radii=[0.123])),
    "adaptive: another radius": ("adaptive", lambda r: shift(RADIUS(r), 1)),
    "adaptive: another threshold": ("adaptive", lambda r: shift(THRESHOLD(r), 1)),
    "adaptive: searches swapped": ("adaptive", lambda r: swap(r, 0, 2)),
    "adaptive: no trace": ("adaptive", lambda r: (r["answers"].pop(1), r["spent"].pop(1))),
    "adaptive: an unknown beta": ("adaptive", lambda r: r["options"].update(beta="small")),
    "separate: less noise in the matrix": ("separate", lambda r: scale(MOMENT(r), "999/1000")),
    "separate: less noise in the values": ("separate", lambda r: scale(DIAGONAL(r), "999/1000")),
    "separate: values of other rows": ("separate", lambda r: DIAGONAL(r).update(radii=[0.5])),
    "separate: swapped": ("separate", lambda r: swap(r, 0, 1)),
    "separate: no values": ("separate", lambda r: (r["answers"].pop(1), r["spent"].pop(1))),
    "separate: of paper": ("separate", lambda r: r["options"].update(constants="paper")),
    "separate: said to be private": ("separate", lambda r: r["options"].update(clip="private")),
    "separate: clipped elsewhere": ("separate", lambda r: r["options"].update(clip=0.25)),
    "separate: clipped beyond": ("separate", lambda r: r["options"].update(clip=1.5)),
    "separate: shrunk": ("separate", lambda r: r.update(postprocess="shrink")),
    "clipped: another radius": ("clipped", lambda r: MOMENT(r).update(radii=[0.25])),
    "clipped: no radius": ("clipped", lambda r: MOMENT(r).update(radii=[])),
    "clipped: said to be whole": ("clipped", lambda r: r["options"].update(clip="none")),
    "clipped: said to be private": ("clipped", lambda r: r["options"].update(clip="private")),
    "clipped: without the option": ("clipped", lambda r: r["options"].pop("clip")),
    "clipped: two radii": ("clipped", lambda r: MOMENT(r).update(radii=[0.15, 0.3])),
    "clipped: less noise": ("clipped", lambda r: scale(MOMENT(r), "999/1000")),
    "private: another place": ("private", lambda r: shift(RADIUS(r), -1)),
    "private: a larger rate": ("private", lambda r: scale(RADIUS(r), "1001/1000")),
    "private: not paid for": ("private", lambda r: r["spent"].pop(0)),
    "private: said to be public": ("private", lambda r: r["options"].update(clip=MOMENT(r)["radii"][0])),
    "private: of centred rows": ("private", lambda r: r["encoding"].update(center=True)),
}
STARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "rescaled": ("rescaled", {}),
    "short": ("rescaled", {}),
    "adaptive": ("adaptive", {}),
    "separate": ("separate", {}),
    "clipped": ("gaussian", {"clip": 0.15}),
    "private": ("gaussian", {"clip": "private"}),
}


@pytest.mark.parametrize("neighbors", NEIGHBORS)
@pytest.mark.parametrize("case", FORGED)
def test_a_forged_file_is_refused(case: str, neighbors: str) -> None:
    start, edit = FORGED[case]
    name, options = STARTS[start]
    for budget in BUDGETS:
        if isinstance(budget, SERVED.get(name, (PureDP, ZCDP, ApproxDP))):
            record: Record = json.loads(
                text_of(made(name, budget, neighbors, ROWS / 8 if start == "short" else ROWS, **options))
            )
            before = json.dumps(record)
            assert parse(sealed(record)).mechanism == name  # good before it is forged
            edit(record)
            assert json.dumps(record) != before
            with pytest.raises(ReleaseError, match=r"release file must be .+, got .+\. Hint: "):
                parse(sealed(record))


@pytest.mark.parametrize("version", [1, 2])
def test_old_versions_have_no_clipped_rows(version: int) -> None:
    """They are read where rows are as they were encoded, and refused where an answer says otherwise."""
    for run, reads in (("gaussian, whole", True), ("separate", True), ("gaussian, clipped", False), ("rescaled", False)):
        name, options = RUNS.get(run, ("gaussian", {}))
        record: Record = json.loads(text_of(made(name, ZCDP("0.5"), "replace", **options))) | {"format_version": version}
        for answer in record["answers"]:
            del answer["radii"], answer["frame"], answer["columns"]
        for key in ("center", "schema") if version < 2 else ():
            del record["encoding"][key]
        record["options"] = {key: value for key, value in record["options"].items() if key != "clip" or not reads}
        if reads:
            assert parse(sealed(record)).clip_radius == 1.0
        else:
            with pytest.raises(ReleaseError):
                parse(sealed(record))


def test_a_saved_file_says_where_rows_were_clipped(tmp_path: Any) -> None:
    release = made("wishart", PureDP(2), "add-remove", clip=0.15)
    release.save(tmp_path / "release.json")
    back = dpcov.load(tmp_path / "release.json")
    assert back.clip_radius == 0.15
    assert back.second_moment.tobytes() == release.second_moment.tobytes()
    assert json.loads((tmp_path / "release.json").read_text(encoding="utf-8"))["format_version"] == 6
