"""Forged release files: the JSON tree of valid ones edited here and there, with a checksum that fits.

Bytes changed at random die at the checksum, which anybody can recompute. Here the edits are of the *tree*: entries deleted,
doubled, swapped and moved between files, numbers at their extremes, names, laws and options of other releases. Whatever a file
holds, the parser must return a release or raise a `ReleaseError`; every use of a release must return something or raise a
`DpcovError`; nothing may warn, take `SECONDS` or need `MEMORY` (large files: and what their size pays for).

Reading checks answers, never mechanisms: many files load with answers that nobody asked in this order, or under the name and
the options of another mechanism. What estimates and uses make of such transcripts is most of what is tried.

Nothing here knows a mechanism: starting files are all that `MECHANISMS` can make of a few rows, and edits know lists, objects,
numbers and text only. File number i depends on the seed and on i alone::

    python -m tests.helpers.forged --files 100000
    python -m tests.helpers.forged --only 4711
"""

from __future__ import annotations

import argparse
import copy
import inspect
import itertools
import json
import random
import resource
import signal
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

import dpcov
from dpcov.errors import DpcovError, ReleaseError
from dpcov.kernel.budget import Budget
from dpcov.mechanisms import MECHANISMS
from dpcov.release.file import parse, text_of
from dpcov.report.releases import record
from dpcov.uses.spectrum import spectrum
from tests.helpers.small import sealed

SEED = 20_240_607
SECONDS = 5.0  # of processor time, for reading one file, and for each of its uses: a tenth of it where nothing else runs
SECONDS_PER_BYTE = 2e-7  # more, for reading: JSON alone takes a quarter of it
MEMORY = 2**30  # bytes, beyond what the libraries and the starting files take
MEMORY_PER_BYTE = 16  # more, for reading: JSON alone takes half of it

Tree = Any
Asked = dict[str, Any]

BUDGETS = (dpcov.PureDP(2), dpcov.ZCDP("1/2"), dpcov.ApproxDP(2, "1/1000000"))
EXTREME = (
    *(dpcov.PureDP("1e-6"), dpcov.PureDP("1e12"), dpcov.ZCDP("1e-12"), dpcov.ZCDP("1e15")),
    *(dpcov.ApproxDP("1e-5", "1e-9"), dpcov.ApproxDP("1e7", "1e-250"), dpcov.ApproxDP("1/3", "0.999")),
)
SCHEMA = dpcov.Schema(
    {"a": dpcov.Numeric(-2, 3), "b": dpcov.Categorical(["x", "y"], weight=0.5), "c": dpcov.Numeric(0, 1e6, weight=2)}
)
TABLE = pa.table({"a": np.linspace(-2, 3, 90), "b": ["x", "y", "z"] * 30, "c": np.arange(90.0) * 1e4})
PEOPLE = pa.table({"a": np.linspace(-2, 3, 3000), "b": ["x", "y", "z"] * 1000, "c": np.arange(3000.0) % 7})
"""Enough for private units: one column drowns in its bounds."""

KINDS: dict[str, Asked] = {
    "covariance": {"row_norm": 1.0},
    "mean": {"radius": 5.0},
    "pca": {"row_norm": 1.0, "k": 2},
    "ridge": {"row_norm": 1.0, "target": 0, "alpha": 0.1},
}
ENCODED: tuple[Asked, ...] = (
    {},
    {"center": True},
    {"data": (20, 1)},
    {"data": (300, 14)},
    {"schema": SCHEMA, "row_norm": None, "radius": None},
    {"schema": SCHEMA, "row_norm": None, "radius": None, "center": True},
    {"row_norm": 1e-149},
    {"row_norm": 1e150, "center": True},
    {"radius": 1e140},
)
OPTIONS: tuple[Asked, ...] = (
    {"postprocess": "none"},
    {"postprocess": "clip"},
    {"postprocess": "project"},
    {"clip": "private"},
    {"clip": 0.3, "center": True},
    {"constants": "paper"},
    {"constants": "program"},
    {"covariance": 1.0, "constants": "paper"},
    {"allocation": "uniform"},
    {"values": "spectrum"},
    {"rank": 1},
    {"numerics": "exact"},
    {"screen": False},
    {"approximate": True, "sweeps": 3},
    {"level": 0.3},
    {"covariance": 1.0},
    {"covariance": 1.0, "constants": "proved", "data": (4000, 2)},
    {"covariance": np.diag([1.0, 2.0, 3.0, 4.0]), "rounds": 3},
    {"row_norm": None, "upper": 4.0},
    {"row_norm": None, "upper": 4.0, "rounds": 3, "postprocess": "clip"},
    {"row_norm": None, "upper": 4.0, "radius": 5.0, "center": True},
    {"row_norm": None, "upper": 4.0, "centring": "pairs"},
    {"row_norm": None, "upper": 4.0, "constants": "paper"},
    {"row_norm": None, "upper": 4.0, "constants": "proved", "data": (4000, 2)},
)
"""Tried with every mechanism; those that it does not have are left out."""


def requests() -> Iterator[tuple[str, Budget, Asked]]:
    """Yield all combinations of what can be asked for; some of them are refused."""
    relations: tuple[Asked, ...] = ({}, {"neighbors": "add-remove"})
    terms = (
        *itertools.product(BUDGETS, ENCODED + OPTIONS),
        *itertools.product(EXTREME, ({}, {"row_norm": None, "upper": 4.0})),
        *itertools.product(BUDGETS, ({"data": (30, 150)},)),  # a matrix with more integers than a file lists one by one
    )
    for kind, mechanisms in MECHANISMS.items():
        for name, (budget, asked), relation in itertools.product(mechanisms, terms, relations):
            known = {*inspect.signature(getattr(dpcov, kind)).parameters, *mechanisms[name].options}
            given = {"data": (90, 4), "mechanism": name, "seed": 7} | KINDS[kind] | relation | asked
            given = {key: value for key, value in given.items() if value is not None}
            if given.keys() <= known:
                yield kind, budget, given


def in_units() -> Iterator[tuple[str, Any, Asked]]:
    """Yield what more is needed for: releases of tables in private units, few of which the others are, by group and weighed."""
    for budget, relation in itertools.product(BUDGETS, ("replace", "add-remove")):
        asked = {"schema": SCHEMA, "center": True, "mechanism": "standardized", "seed": 7, "neighbors": relation}
        yield "covariance", budget, {"data": PEOPLE, **asked}
        for mechanism, center in itertools.product(("gaussian", "wishart", "laplace"), (False, True)):
            grouped = {"mechanism": mechanism, "center": center, "by": "b"}
            yield "covariance", budget, {"data": PEOPLE, **asked, **grouped}
        rows = np.random.default_rng(7).uniform(size=(1000, 4))
        weighed = {"weight": 3, "max_weight": 9.0, "clip_weight": "private", "row_norm": 2, "neighbors": relation, "seed": 7}
        yield "covariance", budget, {"data": rows, "mechanism": "separate", **weighed}


def answered(kind: str, budget: Budget, given: Asked) -> dpcov.Release:
    data = given.pop("data")
    if isinstance(data, tuple):
        n, d = data
        rows = np.random.default_rng([n, d]).normal(size=(n, d)) * 0.5 * 0.7 ** np.arange(d)
        data = TABLE if "schema" in given else rows
    release: dpcov.Release = getattr(dpcov, kind)(data, budget, **given)
    return release


@cache
def starts(every: int = 1) -> tuple[str, ...]:
    """Return a valid file for every mechanism, notion, relation, encoding and option that go together, or some of them."""
    found = []
    for request in (*itertools.islice(requests(), 0, None, every), *in_units()):
        try:
            found.append(text_of(answered(*request)))
        except DpcovError:
            continue
    return tuple(found)


INTEGERS = (0, 1, -1, 2, 3, 17, 64, 1024, 10**6, 2**31, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), -(10**18), 2**63, 10**19)
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-9, 1e-308, 5e-324, 1e-150, 1e150, 1e154, 1e300, 1.7976931348623157e308, -1e308)
FRACTIONS = (
    *("1", "1/2", "1/3", "1000", "2305843009213693952", "10000000000000000000000000000000000", "1/1000000000000000000000000"),
    *("9" * 300, "1/" + "9" * 300, "9" * 999 + "/7", "7/" + "9" * 999, "9" * 1000 + "/" + "8" * 1000),
    *("0", "-1", "1/0", "0.5", "1e9", "9" * 1001),
)
OTHERS: tuple[Tree, ...] = (None, True, False, 0, 1.5, "", "1/2", "text", [], {}, [0], [[]], {"a": 1})
TEXTS = ("", "x", "a=b", "é", "\ud800", "\x00", "\n", "x" * 70_000, "1", "count")


@cache
def drawer(every: int) -> dict[str, list[Tree]]:
    """Return what stands in the starting files, by key: to be put where another file has the same key."""
    found: dict[str, dict[str, Tree]] = {}
    for tree in map(json.loads, starts(every)):
        for holder, key in places(tree):
            if isinstance(key, str):
                found.setdefault(key, {})[json.dumps(holder[key])] = holder[key]
    return {key: list(values.values()) for key, values in found.items()}


def places(tree: Tree) -> Iterator[tuple[Tree, str | int]]:
    """Yield every entry of every list and object below: what holds it, and its key."""
    left = [tree]
    for holder in left:
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            yield holder, key
            if isinstance(holder[key], list | dict):
                left.append(holder[key])


def a_place(tree: Tree, draw: random.Random) -> tuple[Tree, str | int]:
    """Walk down from the root, each branch as likely as the next: else the integers of answers would drown all others."""
    while True:
        key = draw.choice(list(tree)) if isinstance(tree, dict) else draw.randrange(len(tree))
        below = tree[key]
        if not isinstance(below, list | dict) or not below or draw.random() < 0.2:
            return tree, key
        tree = below


def another_number(value: float, draw: random.Random) -> float:
    near = (value + 1, value - 1, -value, value * 2, value // 2, value * 1000)
    if isinstance(value, int):
        return draw.choice(INTEGERS + near)
    return draw.choice(FLOATS + near + (value * (1 + 1e-9), value * (1 - 1e-13), value * 0.999))


def another_text(text: str, draw: random.Random) -> str:
    try:
        amount = Fraction(text)
    except (ValueError, ZeroDivisionError):
        return draw.choice((*TEXTS, text + "x", text[:-1], text.upper()))
    factor = draw.choice((Fraction(1, 10**12), Fraction(999, 1000), Fraction(1001, 1000), Fraction(2), Fraction(10**30)))
    return draw.choice((*FRACTIONS, str(amount * factor), str(amount + 1)))


def replace_value(tree: Tree, draw: random.Random) -> None:
    """Put an extreme in the place of a number or a text; of anything else, something of another type."""
    holder, key = a_place(tree, draw)
    value = holder[key]
    if type(value) in (int, float):
        holder[key] = another_number(value, draw)
    elif isinstance(value, str):
        holder[key] = another_text(value, draw)
    else:
        holder[key] = not value if isinstance(value, bool) else copy.deepcopy(draw.choice(OTHERS))


def replace_number(tree: Tree, draw: random.Random) -> None:
    """Put an extreme in the place of a number: every list and object that has some is as likely as the next."""
    found: dict[int, list[tuple[Tree, str | int]]] = {}
    for holder, key in places(tree):
        if type(holder[key]) in (int, float):
            found.setdefault(id(holder), []).append((holder, key))
    for holder, key in draw.sample(draw.choice(list(found.values())), 1) if found else ():
        holder[key] = another_number(holder[key], draw)


def replace_type(tree: Tree, draw: random.Random) -> None:
    holder, key = a_place(tree, draw)
    holder[key] = copy.deepcopy(draw.choice((*OTHERS, str(holder[key])[:50], [holder[key]])))


def delete(tree: Tree, draw: random.Random) -> None:
    holder, key = a_place(tree, draw)
    del holder[key]


def a_list(tree: Tree, draw: random.Random) -> list[Tree]:
    return draw.choice([holder[key] for holder, key in places(tree) if isinstance(holder[key], list)] or [[]])


def edit_entries(entries: list[Tree], draw: random.Random) -> None:
    """Append an entry again, delete or swap some, cut the list, repeat its first or reverse it."""
    count = len(entries)
    how, first, second = draw.choice("adst+r"), draw.randrange(count + 1), draw.randrange(count + 1)
    times = draw.choice((1, 2, 10, 1000))
    if how == "a":
        entries.append(copy.deepcopy(entries[first % count]) if count else draw.choice(OTHERS))
    elif how == "d" and count:
        del entries[first % count]
    elif how == "s" and count:
        one, other = first % count, second % count
        entries[one], entries[other] = entries[other], entries[one]
    elif how == "t":
        del entries[first:]
    elif how == "r":
        entries.reverse()
    elif how == "+":
        entries += [f"new {i}" if isinstance(entry, str) else entry for i in range(times) for entry in entries[:1]]


def edit_list(tree: Tree, draw: random.Random) -> None:
    edit_entries(a_list(tree, draw), draw)


def edit_top_list(tree: Tree, draw: random.Random) -> None:
    """Edit a list that stands at the top: answers left out, twice or in another order, say."""
    lists = [value for value in tree.values() if isinstance(value, list)]
    if lists:
        edit_entries(draw.choice(lists), draw)


def cross(tree: Tree, draw: random.Random, every: int) -> None:
    """Take some neighbouring entries at the top from another file: its mechanism with the options, say, but not its answers."""
    other = json.loads(draw.choice(starts(every)))
    keys = list(other)
    first = draw.randrange(len(keys))
    for key in keys[first : first + draw.choice((1, 2, 4))]:
        tree[key] = other[key]


def graft(tree: Tree, draw: random.Random, every: int) -> None:
    """Put what another file has under the same key."""
    holder, key = a_place(tree, draw)
    if isinstance(key, str) and key in drawer(every):
        holder[key] = copy.deepcopy(draw.choice(drawer(every)[key]))


def exchange(tree: Tree, draw: random.Random) -> None:
    """Swap two values of one type, anywhere in the file."""
    holder, key = a_place(tree, draw)
    alike = [(h, k) for h, k in places(tree) if type(h[k]) is type(holder[key])]
    other, place = draw.choice(alike)
    holder[key], other[place] = copy.deepcopy(other[place]), copy.deepcopy(holder[key])


def rename(tree: Tree, draw: random.Random) -> None:
    holder, key = a_place(tree, draw)
    if isinstance(key, str):
        value = holder.pop(key)
        holder[draw.choice((key + "s", "", "x" * 70_000, *tree))] = value


def overwrite_numbers(tree: Tree, draw: random.Random) -> None:
    """Make all numbers of one list the same extreme, or zero all but a few."""
    entries = a_list(tree, draw)
    for i, entry in enumerate(entries):
        if type(entry) in (int, float) and draw.random() < 0.8:
            entries[i] = type(entry)(draw.choice((0, draw.choice(INTEGERS[:-2]))))


def nest(tree: Tree, draw: random.Random) -> None:
    holder, key = a_place(tree, draw)
    for _ in range(draw.choice((1, 3, 400))):
        holder[key] = [holder[key]]


def edits(every: int) -> tuple[Callable[[Tree, random.Random], None], ...]:
    common = (replace_value, replace_number, replace_number, edit_list, edit_top_list, overwrite_numbers)
    rare = (replace_type, delete, exchange, rename, nest)
    grafts = (*[lambda tree, draw: graft(tree, draw, every)] * 6, *[lambda tree, draw: cross(tree, draw, every)] * 3)
    return (*common, *common, *rare, *grafts)


def forged(number: int, every: int = 1, seed: int = SEED) -> str:
    """Return the text of a forged file."""
    draw = random.Random(f"{seed} {every} {number}")
    tree = json.loads(draw.choice(starts(every)))
    for _ in range(draw.choice((1, 1, 1, 1, 2, 2, 3, 6))):
        if tree:
            draw.choice(edits(every))(tree, draw)
    return sealed(tree)


def _model(release: dpcov.Release) -> Any:
    return release.ridge(None if release.kind == "ridge" else 0)


def _described(release: dpcov.Release) -> object:
    found = release.describe()
    return found.pairs(), None if found.correlation is None else spectrum(release, found)


def _again(release: dpcov.Release) -> object:
    """Write, read and write: what was loaded is a file like any other."""
    text = text_of(release)
    again = parse(text)
    if text_of(again) != text:
        raise AssertionError("a file that is not written as it was read")
    return again


USES: dict[str, Callable[[dpcov.Release], object]] = {
    "repr": repr,
    "text": lambda release: _again(release),
    "statement": lambda release: release.statement(),
    "second_moment": lambda release: release.second_moment,
    "mean": lambda release: release.mean,
    "covariance": lambda release: release.covariance,
    "expected_error": lambda release: release.expected_error,
    "estimate": lambda release: release.estimate,
    "components": lambda release: (release.components, release.explained),
    "pca": lambda release: release.pca().ratio,
    "ridge": lambda release: _model(release).explained,
    "bound": lambda release: _model(release).bound(),
    "coefficients": lambda release: repr(_model(release).interval()),
    "correlation": lambda release: release.correlation(),
    "description": _described,
    "entries": lambda release: release.interval(about="rows").entries,
    "population": lambda release: release.interval().entries,
    "deviations": lambda release: release.interval().deviations,
    "correlations": lambda release: release.interval().correlations,
    "means": lambda release: release.interval().mean,
    "eigenvalues": lambda release: release.interval(0.5).eigenvalues,
    "shown": lambda release: json.dumps(record(release), allow_nan=False),
    "sample": lambda release: release.sample(3, seed=1),
    "confidence": lambda release: release.confidence,
    "retrace": lambda release: release.retrace(),
}


class TooSlowError(BaseException):
    """No Exception: nobody may catch it on the way."""


@contextmanager
def watched(seconds: float = SECONDS) -> Iterator[None]:
    """Turn warnings into errors, and end what takes too much processor time."""

    def stop(*_: object) -> NoReturn:
        raise TooSlowError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def verdict(text: str) -> tuple[str, str]:
    """Read a file and use it: "refused", "loaded", or the undeclared error, with its last lines."""
    use = "parse"
    try:
        with watched(SECONDS + SECONDS_PER_BYTE * len(text)):
            try:
                release = parse(text)
            except ReleaseError:
                return "refused", ""
            for use, call in USES.items():
                signal.setitimer(signal.ITIMER_PROF, SECONDS)
                with suppress_declared(use):
                    call(release)
            return "loaded", ""
    except (Exception, TooSlowError) as error:
        frames = traceback.extract_tb(error.__traceback__)[-3:]
        where = " < ".join(f"{frame.filename.rpartition('dpcov/')[2]}:{frame.lineno}" for frame in reversed(frames))
        return f"{use}: {type(error).__name__}", f"{str(error)[:100]} ({where})"


def is_retraced(release: dpcov.Release) -> bool:
    """Whether the mechanism that a file names would have asked what it holds."""
    try:
        return release.retrace().agrees
    except ReleaseError:  # no mechanism has this name
        return False


@contextmanager
def suppress_declared(use: str) -> Iterator[None]:
    """Allow the errors that a user is told of; what was loaded can be saved and loaded again, without any."""
    try:
        yield
    except DpcovError:
        if use in ("repr", "text", "statement"):
            raise


@dataclass
class Tally:
    """What became of many files."""

    count: Counter[str] = field(default_factory=Counter)
    undeclared: list[str] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, -1)
    largest: int = 0

    def run(self, numbers: Iterable[int], every: int = 1, seed: int = SEED, held: int | None = None) -> Tally:
        """Read the files of these numbers; with no more addresses than memory pays for, beyond those that are held."""
        for number in numbers:
            text = forged(number, every, seed)
            if held is not None:
                most = held + MEMORY + MEMORY_PER_BYTE * len(text)
                resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
            before = time.process_time()
            kind, detail = verdict(text)
            self.slowest = max(self.slowest, (time.process_time() - before, number))
            self.count[kind] += 1
            if detail:
                self.undeclared.append(f"file {number}, {kind}: {detail}")
        self.largest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        return self


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", type=int, help="read one file, and say what went wrong in full")
    asked = parser.parse_args()
    starts(), drawer(1)
    if asked.only is not None:
        text = forged(asked.only, seed=asked.seed)
        print(text[:2000])
        print(*verdict(text))
        return 0
    limit = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    held = None
    if sys.platform == "linux":  # addresses, of which threads and libraries hold more than memory
        held = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    tally = Tally().run(range(asked.files), seed=asked.seed, held=held)
    seconds, number = tally.slowest
    print(
        f"{asked.files} files from {len(starts())} valid ones: {tally.count['refused']} refused, {tally.count['loaded']} loaded"
    )
    print(f"undeclared errors: {len(tally.undeclared)}", *tally.undeclared, sep="\n  ")
    print(f"slowest, with all {len(USES)} uses: {seconds:.2f} s (file {number})")
    print(f"largest: {(tally.largest - limit) / 2**20:.0f} MB beyond the start")
    return bool(tally.undeclared)


if __name__ == "__main__":
    raise SystemExit(main())
