"""What reading cannot know: an answer left out, two swapped, other options, another mechanism's name.

Such files load: each answer is one that a curator can have given for the promise. Whether the mechanism asked for just these is
`Release.retrace`'s verdict. Here: every estimate, and every use of it, ends in numbers or in an error that a user is told of.
"""

from __future__ import annotations

import copy
import dataclasses
import itertools
import json
import math
import os
import pickle
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.errors import ReleaseError
from dpcov.mechanisms import MECHANISMS
from dpcov.mechanisms.base import Mechanism
from dpcov.release.estimate import Estimate
from dpcov.release.file import parse, text_of
from tests.helpers.forged import OTHERS, verdict, watched
from tests.helpers.small import Record, releases, sealed, texts

pytestmark = pytest.mark.skipif(os.name != "posix", reason="timers as POSIX has them")

Edit = Callable[[Record], Iterator[Record]]


def fresh(record: Record) -> Record:
    found: Record = json.loads(json.dumps(record))
    return found


def left_out(record: Record) -> Iterator[Record]:
    """Each answer left out; what it was a basis of goes with it."""
    for place in range(len(record["answers"])):
        edited = fresh(record)
        del edited["answers"][place]
        for answer in edited["answers"]:
            basis = answer["question"].get("basis", {})
            for key in ("eigenvectors of", "directions of"):
                if basis.get(key, -1) > place:
                    basis[key] -= 1
        yield edited


def all_left_out(record: Record) -> Iterator[Record]:
    yield fresh(record) | {"answers": [], "frames": []}


def only_the_count(record: Record) -> Iterator[Record]:
    yield fresh(record) | {"answers": [answer for answer in record["answers"] if answer["question"]["asked"] == "count"]}


def swapped(record: Record) -> Iterator[Record]:
    for place in range(1, len(record["answers"])):
        edited = fresh(record)
        edited["answers"][place - 1 : place + 1] = edited["answers"][place - 1 : place + 1][::-1]
        yield edited


def reversed_order(record: Record) -> Iterator[Record]:
    edited = fresh(record)
    edited["answers"].reverse()
    yield edited


def twice(record: Record) -> Iterator[Record]:
    """Each answer twice, and a promise that pays for it."""
    for answer in record["answers"]:
        edited = fresh(record)
        edited["answers"].append(copy.deepcopy(answer))
        for name in ("epsilon", "rho"):
            if name in edited["privacy"]:
                edited["privacy"][name] = "1000"
        yield edited


def rows_closer(record: Record) -> Iterator[Record]:
    for place, answer in enumerate(record["answers"]):
        for key in ("radius", "inner"):
            if key in answer["question"].get("rows", {}):
                edited = fresh(record)
                edited["answers"][place]["question"]["rows"][key] *= 0.7
                yield edited


def units_elsewhere(record: Record, place: int) -> Iterator[Record]:
    """Ranges, deviations, groups, shares and divisors at their extremes: no mechanism has found them."""
    numbers = ([-1.0, 1.0, -1.0, 1e12], [0.5, math.nextafter(0.5, 1), 0.5, 1e-12], [-1.0, -0.999, -0.999, 0.0])
    for one in numbers:
        edited = fresh(record)
        edited["frames"][place]["numeric"][0] = one
        yield edited
    for shares, divisors in (([1.0, 0.0], [1e-12, 1e12]), ([0.0, 1.0], [1e12, 1e12]), ([0.5, 0.5], [1e-12, 1e-12])):
        edited = fresh(record)
        edited["frames"][place]["levels"][0] = [[1, 0], shares, divisors]
        yield edited


def frames_elsewhere(record: Record) -> Iterator[Record]:
    for place, frame in enumerate(record["frames"]):
        if "numeric" in frame:
            yield from units_elsewhere(record, place)
            continue
        for change in ({"centre": [1e100] * len(frame["centre"])}, {"deviations": 1e140}, {"deviations": 1e-300}):
            edited = fresh(record)
            edited["frames"][place] |= change
            yield edited
        edited = fresh(record)
        edited["frames"][place] = edited["frames"][0]
        yield edited


def other_integers(record: Record) -> Iterator[Record]:
    """All zero, or all at an end of their range: of numbers to which noise was added, any can be answered."""
    for place, answer in enumerate(record["answers"]):
        if answer["noise"][0]["law"].startswith("discrete"):
            for value in (0, 1, -1, 2**62, -(2**62), 2**63 - 1, -(2**63)):
                edited = fresh(record)
                edited["answers"][place]["integers"] = [value] * len(answer["integers"])
                yield edited


def other_sizes(record: Record) -> Iterator[Record]:
    if record["neighbors"] == "replace" and record["kind"] != "ridge":
        for n in (1, 2, 2**30):
            edited = fresh(record) | {"n": n}
            for answer in edited["answers"]:
                if answer["question"].get("at most"):
                    answer["question"]["at most"] = 2**30
            yield edited


def other_encodings(record: Record) -> Iterator[Record]:
    for change in ({"midpoints": not record["encoding"]["midpoints"]}, {"pairs": not record["encoding"]["pairs"]}):
        edited = fresh(record)
        edited["encoding"] |= change
        yield edited
    for norm in (1e-140, 1e140):
        edited = fresh(record)
        edited["encoding"]["row_norm"] = norm
        yield edited


def other_endings(record: Record) -> Iterator[Record]:
    for postprocess in ("none", "clip", "project", "shrink", "", "banana"):
        yield fresh(record) | {"postprocess": postprocess}


def other_notes(record: Record) -> Iterator[Record]:
    yield fresh(record) | {"notes": {}}
    for name in record["notes"]:
        for value in (*OTHERS, -1, 10**18, 1e300, -1e300):
            if not isinstance(value, dict):
                edited = fresh(record)
                edited["notes"][name] = value
                yield edited


def other_options(record: Record) -> Iterator[Record]:
    options = record["mechanism"]["options"]
    for name in options:
        for value in (
            None,
            True,
            "",
            "private",
            "proved",
            0,
            -1,
            10**18,
            0.5,
            1e300,
            [],
            [1.0, "x"],
            [[1e300, 0.0], [0.0, 1e-9]],
        ):
            edited = fresh(record)
            edited["mechanism"]["options"][name] = value
            yield edited
        edited = fresh(record)
        del edited["mechanism"]["options"][name]
        yield edited
    edited = fresh(record)
    edited["mechanism"]["options"]["surprise"] = 1
    yield edited


def other_requests(record: Record) -> Iterator[Record]:
    """What the custodian asked for is not what was asked: nothing is made of it."""
    for name in ("auto", "banana", ""):
        yield fresh(record) | {"requested": {"name": name, "options": {"clip": [1, 2]}}}


CASES: dict[str, Edit] = {
    "an answer left out": left_out,
    "all answers left out": all_left_out,
    "all but the count left out": only_the_count,
    "two answers swapped": swapped,
    "answers in another order": reversed_order,
    "an answer twice": twice,
    "rows clipped closer": rows_closer,
    "other coordinates": frames_elsewhere,
    "other integers": other_integers,
    "other numbers of rows": other_sizes,
    "other encodings": other_encodings,
    "other postprocesses": other_endings,
    "other notes": other_notes,
    "other options": other_options,
    "other requests": other_requests,
}
ON_ALL = ("an answer left out", "all answers left out", "all but the count left out", "answers in another order")
"""Tried on every file; the others on one of each mechanism, and on all that ask otherwise."""


@cache
def few() -> tuple[str, ...]:
    """Return the names of a file of each mechanism, and of all that ask otherwise."""
    seen: dict[tuple[str, str], str] = {}
    for name, text in texts().items():
        record = json.loads(text)
        key = (record["kind"], record["mechanism"]["name"] if ", " in name else name)
        seen.setdefault(key, name)
    return tuple(seen.values())


ONE_IN = 9  # of thousands of files is tried each time, and all of them by `make audit`


def every_use_ends(case: str, one_in: int) -> None:
    """In numbers, or in an error that is declared; without a warning, and in time. Some of each case do load."""
    found = {"loaded": 0, "refused": 0}
    names = texts() if case in ON_ALL else few()
    files = ((name, edited) for name in names for edited in CASES[case](json.loads(texts()[name])))
    for name, edited in itertools.islice(files, None, None, one_in):
        kind, detail = verdict(sealed(edited))
        assert kind in found, f"{name}: {kind} {detail}"
        found[kind] += 1
    assert found["loaded"] > found["refused"] or case in ("all answers left out", "answers in another order"), found
    assert found["loaded"]


def is_estimated(release: dpcov.Release) -> bool:
    """Whether it has an estimate; else a ReleaseError says why, and nothing else is raised."""
    try:
        return isinstance(release.estimate, Estimate)
    except ReleaseError as error:
        if not re.fullmatch(r"(?s)release must .+(, got|: ).+ Hint: .+[.?]", str(error)):
            raise
        return False


def any_under_the_name_of_any(one_in: int) -> None:
    """Each with the options that the other has by default, or was asked with: an estimate, or a ReleaseError, never another."""
    known = {(release.kind, release.mechanism): release for release in releases().values()}
    ended = {True: 0, False: 0}
    pairs = itertools.product(releases().values(), known.items())
    for release, ((kind, mechanism), other) in itertools.islice(pairs, None, None, one_in):
        claimed = dataclasses.replace(
            release,
            kind=kind,
            mechanism=mechanism,
            options=other.options,
            postprocess=other.postprocess,
            notes=other.notes,
            record=None,
        )
        text = text_of(claimed)
        back = parse(text)
        with watched():
            ended[is_estimated(back)] += 1
        kind_of_end, detail = verdict(text)
        assert kind_of_end == "loaded", f"{release!r} as {mechanism}: {kind_of_end} {detail}"
    assert min(ended.values()) > len(known) // one_in  # of both there are many


@pytest.mark.parametrize("case", CASES)
def test_it_loads_and_every_use_ends(case: str) -> None:
    every_use_ends(case, ONE_IN)


def test_the_answers_of_any_mechanism_under_the_name_of_any_other() -> None:
    any_under_the_name_of_any(ONE_IN)


@pytest.mark.audit
class TestAllOfThem:
    @pytest.mark.parametrize("case", CASES)
    def test_edited(self, case: str) -> None:
        every_use_ends(case, 1)

    def test_under_other_names(self) -> None:
        any_under_the_name_of_any(1)


def finite(estimate: Estimate) -> bool:
    found = estimate.components
    parts = (estimate.mean, estimate.covariance, None if found is None else found.rows)
    return all(np.isfinite(part).all() for part in parts if part is not None)


@pytest.mark.parametrize("name", texts())
def test_what_is_read_again_is_finite(name: str) -> None:
    back = parse(texts()[name])
    if (back.kind, back.mechanism) in {(named.target, named.name) for kind in MECHANISMS.values() for named in kind.values()}:
        assert finite(back.estimate)


@pytest.mark.parametrize("name", texts())
def test_copies_are_the_same_text(name: str, tmp_path: Any) -> None:
    """File, pickle, copy: whatever the mechanism, whoever wrote it."""
    release = releases()[name]
    release.save(tmp_path / "release.json")
    mechanisms: list[Mechanism] = [] if release.record is None else [release.record]
    loaded = dpcov.load(tmp_path / "release.json", mechanisms=mechanisms)
    for back in (loaded, copy.copy(release), copy.deepcopy(release), pickle.loads(pickle.dumps(release))):
        assert text_of(back) == texts()[name] == (tmp_path / "release.json").read_text(encoding="utf-8")
        assert (back.spent, back.statement(), repr(back)) == (release.spent, release.statement(), repr(release))
        assert (back.record is None) == (release.record is None)
        for one, other in zip(back.answers, release.answers, strict=True):
            assert (type(one.question), one.laws, one.charges) == (type(other.question), other.laws, other.charges)
            assert one.integers.dtype == np.int64
            assert one.integers.tobytes() == other.integers.tobytes()
