"""Random calls of the whole public interface, from Python and from the shell, with hostile data and hostile arguments.

A number decides on the call: which function, method or command, and every argument, which is as likely as not one that makes
sense there. A call may return, or raise what it is declared to raise. Anything else is a finding: another error, a warning, a
word on the screen or in a log, more than `tests.helpers.forged.SECONDS` of processor time, and a cell of the data in an error
or in what Python keeps behind it. Call number i depends on the seed and on i alone::

    python -m tests.fuzz.calls --calls 100000
    python -m tests.fuzz.calls --only 4711
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import io
import logging
import os
import random
import shutil
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import click
import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import dpcov
from dpcov.cli import cli
from dpcov.cli import main as run_command
from dpcov.errors import DpcovError
from dpcov.mechanisms import MECHANISMS
from tests.fuzz import hostile
from tests.helpers.forged import SECONDS, SEED, TooSlowError, watched
from tests.helpers.small import releases

Dice = random.Random
Values = tuple[Any, ...]

SCHEMA = dpcov.Schema({"age": dpcov.Numeric(0, 100), "job": dpcov.Categorical(["clerk", "nurse"], nullable=True)})
BUDGETS: Values = (
    *(dpcov.PureDP(1), dpcov.PureDP(5), dpcov.ZCDP("0.5"), dpcov.ZCDP(2), dpcov.ApproxDP(1, "1e-6"), dpcov.PureDP("1e-9")),
    *(dpcov.ZCDP("1e-30"), dpcov.PureDP(50), dpcov.ApproxDP(3, "0.5")),
)
NAMES: Values = tuple({name for names in MECHANISMS.values() for name in names})
PATHS: Values = (
    *hostile.FILES,
    "people.parquet",
    "rows.npy",
    "folder",
    "nowhere.csv",
    "release.json",
    "new.json",
    "",
    "*.csv",
    "folder/new.json",
)
SENSIBLE: dict[str, Values] = {
    "budget": BUDGETS,
    "budgets": (*BUDGETS, list(BUDGETS[:2])),
    "mechanism": ("auto", *NAMES),
    "mechanisms": ((), ["gaussian", "wishart"], "auto"),
    "row_norm": (1, 0.5, 2.0, 1e150, 1e-150),
    "radius": (5, 1e3, 1e150),
    "upper": (4.0, 100),
    "origin": (0, 1.5, [0.1, 0.2, 0.3, 0.4]),
    "covariance": (1.0, [1, 2, 3, 4]),
    "schema": (SCHEMA,),
    "postprocess": ("shrink", "clip", "project", "none"),
    "neighbors": ("replace", "add-remove"),
    "center": (True, False),
    "columns": (["age"], ["age", "job"], [0], [0, 1], [1, 0, 2]),
    "seed": (0, 1, 7),
    "progress": (lambda _: None,),
    "allow_weak": (True,),
    "expected_n": (1000,),
    "workers": (1, map),
    "max_rows": (1000, 2**40),
    "target": (0, 1, "age", "x1", "job=clerk"),
    "alpha": (0.1, 1, "auto"),
    "k": (1, 2, 3, 0.9, None),
    "n_components": (1, 2),
    "epsilon": (1, "0.5", 3.0),
    "delta": ("1e-6", 1e-9),
    "rho": (1, "0.5"),
    "n": (1000, 10**6),
    "d": (3, 10, 50),
    "gap": (0.1, 0.5),
    "runs": (2, 3),
    "m": (1, 5, 100),
    "level": (0.9, 0.95, 0.5),
    "about": ("rows", "population"),
    "features": (["x0"], ["age"], [1]),
    "reference": ({"job": "clerk"}, "clerk"),
    "path": PATHS,
    "X": (),
    "sweeps": (1, 3),
    "approximate": (True,),
    "chains": (2,),
    "clip": ("private", 0.3, "none"),
    "constants": ("paper", "proved", "program"),
    "numerics": ("exact", "float", "rounded"),
    "rank": (1, 2),
    "rounds": (1, 3),
    "name": ("people", "adult"),
    "total": BUDGETS,
    "why": ("a test",),
    "who": ("Ann",),
    "lower": (0, -1, "2020-01-01"),
    "levels": (["a", "b"], [1, 2], [True, False]),
    "weight": (1, 0.5),
    "nullable": (True,),
    "missing": ("flag",),
    "transform": ("log", "sqrt", "square"),
    "dates": ("date",),
    "of": ("age",),
    "integer": (True,),
    "factors": (["age", "job=clerk"],),
    "separator": (";", "\t"),
    "decimal": (",", "."),
    "encoding": ("latin-1", "utf-8", "utf-16"),
    "at": ("2030-01-01T00:00", "12:00"),
    "every": ("1h", 60),
    "passphrase": ("secret",),
    "key": ("key",),
    "keys": (["key.pub"], {"Ann": "key.pub"}),
    "out": ("new.pub",),
    "policy": ("policy.toml",),
    "names": (["age"], ["age", "job"]),
    "query": ("SELECT age, job FROM people",),
    "dialect": ("postgres", "duckdb"),
    "spread": (0.1,),
    "trials": (20,),
    "pairs": (2,),
    "draws": (10,),
    "seconds": (1,),
    "last": (1, 2),
    "truth": (np.zeros(3),),
}
"""Arguments that make sense somewhere, by the name of their parameter."""
ENDLESS = {"sweeps", "chains", "runs", "trials", "pairs", "draws", "m", "rounds", "seconds", "at", "every", "n", "d"}
"""What says how much is to be done: of numbers beyond those that make sense only those that nobody could mean."""
OPTIONS = sorted({option for names in MECHANISMS.values() for named in names.values() for option in named.options} - {"sweeps"})
REALLY = (*(0, -1, 0.5, float("nan"), float("inf"), "x", "", None, True, 2**63, 2**70, 10**400), [1], hostile.Unwilling)


def argument(name: str, dice: Dice, often: float = 0.75) -> Any:
    """Return an argument for a parameter, sensible or not."""
    known = SENSIBLE.get(name)
    if name in ("data", "X", "rows"):
        return data(dice)
    if name == "y":
        return dice.choice((None, hostile.numbers()[:, 0], argument("", dice)))
    if known and dice.random() < often:
        return dice.choice(known)
    if name in ENDLESS:
        found = dice.choice(REALLY)
        return found() if isinstance(found, type) else found
    return dice.choice(hostile.ARGUMENTS)()


def data(dice: Dice) -> Any:
    """Return something that may be rows."""
    how = dice.random()
    if how < 0.15:
        return dice.choice(PATHS)
    if how < 0.2:
        return argument("", dice)
    return dice.choice(hostile.everything())()


def arguments(function: Callable[..., Any], dice: Dice, least: float = 0.3) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments that Python accepts: what is required, and some of the rest."""
    placed: list[Any] = []
    named: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        needed = parameter.default is inspect.Parameter.empty
        if parameter.kind is parameter.VAR_KEYWORD:
            if name == "options" and dice.random() < 0.3:
                option = dice.choice(OPTIONS)
                if option not in inspect.signature(function).parameters:
                    named[option] = argument(option, dice)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            placed += [argument(name.removesuffix("s"), dice) for _ in range(dice.randrange(3))]
        elif parameter.kind is parameter.KEYWORD_ONLY:
            if needed or dice.random() < least:
                named[name] = argument(name, dice)
        elif needed:
            placed.append(argument(name, dice))
        elif dice.random() < least:
            named[name] = argument(name, dice)
        elif placed and parameter.kind is parameter.POSITIONAL_ONLY:
            break
    return placed, named


@dataclass(frozen=True)
class Call:
    """What is called, in words, and the call."""

    what: str
    run: Callable[[], Any]


def bound(what: str, function: Callable[..., Any], dice: Dice, least: float = 0.3, **fixed: Any) -> Call:
    placed, named = arguments(function, dice, least)
    named |= {name: value for name, value in fixed.items() if name not in named}
    return Call(what, lambda: function(*placed, **named))


# ----------------------------------------------------------------------------------------------------------- kinds of calls

FUNCTIONS = ("covariance", "mean", "pca", "ridge")
LOOKED_AT = ("compare", "look")


def release_call(dice: Dice) -> Call:
    """One of the four that release: mostly with bounds, else nearly all would end at their absence."""
    name = dice.choice(FUNCTIONS)
    function = getattr(dpcov, name)
    placed, named = arguments(function, dice, 0.12)
    if dice.random() < 0.9:
        bounds = ("schema", "schema", "radius" if name == "mean" else "row_norm")
        chosen = dice.choice(bounds)
        named.setdefault(chosen, argument(chosen, dice, 0.95))
    if dice.random() < 0.9:
        placed[1] = dice.choice(BUDGETS)
    return Call(name, lambda: function(*placed, **named))


def rehearsed_call(dice: Dice) -> Call:
    made = release_call(dice)
    target = dice.choice((*FUNCTIONS, argument("", dice)))
    _, named = arguments(getattr(dpcov, made.what), dice, 0.12)
    rows, budget = data(dice), argument("budget", dice)
    return Call("rehearse", lambda: dpcov.rehearse(target, rows, budget, **named))


PLANS = ("plan", "plan_pca", "plan_table")


def plan_call(dice: Dice) -> Call:
    name = dice.choice(PLANS)
    call = bound(name, getattr(dpcov, name), dice)
    if name == "plan":
        placed, named = arguments(dpcov.plan, dice)
        placed[0] = dice.choice((*FUNCTIONS, placed[0]))
        return Call(name, lambda: dpcov.plan(*placed, **named))
    return call


def compare_call(dice: Dice) -> Call:
    """Its results are the custodian's, and loud; its errors are not."""
    fixed = {"runs": 2, "row_norm" if dice.random() < 0.5 else "schema": SCHEMA if dice.random() < 0.5 else 1.0}
    return bound("compare", dpcov.compare, dice, 0.15, **fixed) if dice.random() < 0.7 else bound("look", dpcov.look, dice)


MADE = (
    "Numeric",
    "Categorical",
    "Product",
    "Schema",
    "PureDP",
    "ZCDP",
    "ApproxDP",
    "Csv",
    "OnDevice",
    "OnSpark",
    "Policy",
    "Publication",
)


def made_call(dice: Dice) -> Call:
    """What is made of arguments alone."""
    name = dice.choice((*MADE, "compose", "sql", "sql_text", "load"))
    if name == "Schema" and dice.random() < 0.8:
        columns: dict[Any, Callable[[], Any]] = {
            dice.choice(("age", "job", "x", "", 1)): a_column(dice) for _ in range(dice.randrange(4))
        }
        return Call(name, lambda: dpcov.Schema({key: column() for key, column in columns.items()}))
    return bound(name, getattr(dpcov, name), dice)


def a_column(dice: Dice) -> Callable[[], Any]:
    return dice.choice((bound("", getattr(dpcov, dice.choice(MADE[:3])), dice).run, lambda: dpcov.Numeric(0, 1), dpcov.Ignored))


@cache
def objects() -> tuple[Any, ...]:
    """Return what calls return: every kind of object that has methods and properties of its own."""
    found: list[Any] = [releases()[name] for name in releases()]
    rows = np.nan_to_num(np.clip(hostile.numbers(400, 3), -1, 1))
    described = dpcov.covariance(hostile.text_frame(), dpcov.ZCDP(2), schema=SCHEMA, seed=1)
    plain = dpcov.covariance(rows, dpcov.ZCDP(2), row_norm=1, center=True, seed=1)
    for release in (described, plain, plain):
        model = release.ridge(0)
        found += [
            release.pca(1),
            model,
            release.interval(),
            release.describe(),
            model.interval(),
            model.reading(),
            model.summary(),
        ]
        found += [release.interval(about="rows").entries, release.describe().correlation]
    found += [
        dpcov.rehearse("covariance", rows, dpcov.ZCDP(1), row_norm=1),
        dpcov.plan("covariance", dpcov.ZCDP(1), n=1000, d=3),
    ]
    found += [dpcov.plan_table(SCHEMA, dpcov.ZCDP(1), n=1000), SCHEMA, SCHEMA.columns["age"], SCHEMA.columns["job"]]
    found += [dpcov.compare(rows, dpcov.ZCDP(1), row_norm=1, runs=2), *BUDGETS[:5], dpcov.Policy(epsilon=1)]
    return tuple(one for one in found if one is not None)


NOT_TRIED = {
    *(
        "find",
        "take",
        "every",
        "note",
        "record",
        "refuse",
        "cells",
        "features",
        "clipped",
        "undone",
        "encodings",
        "table_columns",
    ),
    *("entries", "set_score_request"),
}
"""What only the library itself calls, and what scikit-learn makes."""


def used_call(dice: Dice) -> Call:
    """A method or a property of something that another call returned."""
    held = dice.choice(objects())
    names = [name for name in dir(held) if not name.startswith("_") and name not in NOT_TRIED]
    name = dice.choice(names)
    what = f"{type(held).__name__}.{name}"
    found = inspect.getattr_static(type(held), name, None)
    if isinstance(found, property | cached_property) or not callable(found):
        return Call(what, lambda: getattr(held, name))
    return bound(what, getattr(held, name), dice, 0.5)


ESTIMATORS = (dpcov.PrivateCovariance, dpcov.PrivateMean, dpcov.PrivatePCA, dpcov.PrivateRidge)


def estimator_call(dice: Dice) -> Call:
    """Make, fit and use an estimator."""
    kind = dice.choice(ESTIMATORS)
    _, named = arguments(kind, dice, 0.1)
    named.setdefault("epsilon", 1)
    if dice.random() < 0.8:
        named.setdefault("radius" if kind is dpcov.PrivateMean else "row_norm", 1.0)
    rows, others, y = data(dice), data(dice), argument("y", dice)
    use = dice.choice(("transform", "predict", "score", "inverse_transform", "get_params", "fit", "clone"))

    def run() -> None:
        estimator = kind(**named)
        if use == "clone":
            clone(estimator)
        fitted = estimator.fit(rows, y) if dice.random() < 0.9 else estimator
        method = getattr(fitted, use, None)
        if callable(method):
            method(*(() if use == "get_params" else (others, y) if use == "score" else (others,)))

    return Call(kind.__name__, run)


ACTS = ("add", "approve", "change_policy", "dataset", "export", "history", "record", "resume", "status", "verify", "release")


def ledger_call(dice: Dice) -> Call:
    """One act on a ledger that holds a spend, each time on a fresh copy."""
    method = dice.choice(ACTS)
    rows, budget, neighbors = data(dice), argument("budget", dice), argument("neighbors", dice)
    placed, named = arguments(getattr(dpcov.Ledger, method, lambda: None), dice, 0.5)

    def run() -> None:
        shutil.copyfile("base.db", "copy.db")
        ledger = dpcov.Ledger("copy.db")
        if method == "release":
            dpcov.covariance(rows, budget, row_norm=1, ledger=ledger.dataset("people", why="a test"), neighbors=neighbors)
        else:
            result = getattr(ledger, method)(*placed[1:], **named)
            list(result) if method == "export" else repr(result)

    return Call(f"Ledger.{method}", run)


SIGNED = ("sign", "verify_signatures", "public_key", "new_signing_key", "load", "Ledger")


def signed_call(dice: Dice) -> Call:
    name = dice.choice(SIGNED)
    function = getattr(dpcov, name)
    placed, named = arguments(function, dice)
    if dice.random() < 0.7:
        placed[0] = dice.choice(("release.json", "key", "base.db", "words.txt", "new"))
    return Call(name, lambda: function(*placed, **named))


def commands(group: click.Group, before: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in sorted(group.commands.items()):
        if isinstance(command, click.Group):
            yield from commands(command, (*before, name))
        else:
            yield (*before, name), command


LOUD = {("compare",), ("schema", "check"), ("predict",), ("demo",), ("sample",)}
"""What shows rows, or what they would tell, to the custodian, who asked for it; and random numbers, of any digits."""
LONG: dict[tuple[str, ...], tuple[str, ...]] = {
    ("audit",): ("--pairs", "2", "--trials", "20", "--draws", "20", "--width", "2"),
    ("compare",): ("--runs", "2"),
}
LEFT_OUT = {
    "--workers",
    "--isolated",
    "--publish-at",
    "--publish-every",
    "--pairs",
    "--trials",
    "--draws",
    "--width",
    "--runs",
    "--seconds",
}
"""What starts processes or waits, which have tests of their own, and what says how long something may take."""
WORDS: Values = (
    *(
        "0",
        "1",
        "-1",
        "0.5",
        "nan",
        "inf",
        "1e400",
        "1/3",
        "1e-9",
        "x",
        "",
        "auto",
        "none",
        "age",
        "age,job",
        "a" * 300,
        "\x1b[31m",
        "é",
    ),
    *("99999999999999999999", "replace", "clip=private", "sweeps=1", "=", "k=1", "seed", "\udcff"),
)
FITTING: dict[str, Values] = {
    "data": PATHS,
    "file": ("release.json", "copy.db", "people.toml", *PATHS),
    "release": ("release.json", *PATHS),
    "releases": ("release.json",),
    "--schema": ("people.toml", "people.toml", "broken.toml"),
    "--row-norm": ("1", "2"),
    "--epsilon": ("1", "0.5"),
    "--ledger": ("copy.db",),
    "--dataset": ("people",),
    "--mechanism": ("auto", *NAMES),
    "--target": ("covariance", "age"),
    "--key": ("key", "key.pub"),
    "mechanism": ("gaussian", "laplace"),
    "-o": ("new.json", "people.csv", "folder", "nowhere/new.json"),
    "--plot": ("new.png",),
}


def command_call(dice: Dice) -> Call:
    """A command, with some of its options: what ends in a traceback says so."""
    words, command = dice.choice(list(commands(cli)))
    line = list(words)
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            line.append(str(dice.choice(FITTING.get(str(parameter.name), WORDS) if dice.random() < 0.9 else WORDS)))
            continue
        option = parameter.opts[0]
        wanted = parameter.required or option in ("--schema", "--epsilon", "-o", "--dataset", "--target")
        if option in LEFT_OUT or dice.random() > (0.6 if wanted else 0.08) or "--plot" in option:
            continue
        line.append(option)
        if isinstance(parameter, click.Option) and not (parameter.is_flag or parameter.count):
            choices = tuple(parameter.type.choices) if isinstance(parameter.type, click.Choice) else ()
            line.append(
                str(dice.choice(FITTING.get(option) or choices or WORDS) if dice.random() < 0.8 else dice.choice(WORDS))
            )
    line += LONG.get(words, ())
    return Call("dpcov " + " ".join(map(repr, line)), lambda: run_shell(line, loud=words in LOUD))


class ShellError(Exception):
    """A command that ended as no command may."""


def run_shell(line: list[str], loud: bool) -> None:
    out, err = io.StringIO(), io.StringIO()
    code: Any = None
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            run_command(line)
    except SystemExit as found:
        code = found.code or 0
    ended(code, out.getvalue() + err.getvalue(), loud)


def ended(code: Any, said: str, loud: bool) -> None:
    """Insist on how a command ended, and on what it said."""
    if code not in (0, 2, 3, 4):
        raise ShellError(f"ended with {code!r}")
    if "a bug in dpcov" in said:
        raise ShellError(said)
    if not loud and quotes(said):
        raise ShellError("shows a cell")


KINDS: tuple[tuple[Callable[[Dice], Call], int], ...] = (
    (release_call, 30),
    (rehearsed_call, 6),
    (plan_call, 6),
    (compare_call, 3),
    (made_call, 20),
    (used_call, 24),
    (estimator_call, 8),
    (ledger_call, 1),
    (signed_call, 2),
    (command_call, 3),
)


def call_of(number: int, seed: int = SEED) -> Call:
    dice = Dice(f"{seed} {number}")
    kinds, weights = zip(*KINDS, strict=True)
    made: Callable[[Dice], Call] = dice.choices(kinds, weights)[0]
    return made(dice)


# --------------------------------------------------------------------------------------------------------------- verdicts


def quotes(text: str) -> bool:
    """Whether a cell of the data stands there."""
    return hostile.WORD in text or str(hostile.NUMBER) in text


def behind(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all that Python keeps behind it."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


class LoggedError(Exception):
    """Something was logged."""


class Listener(logging.Handler):
    """Hears every logger."""

    def emit(self, record: logging.LogRecord) -> None:
        raise LoggedError(record.getMessage())


def is_declared(error: Exception) -> bool:
    """Whether documentation has it: the library's own, what scikit-learn says of estimators, and errors of callbacks.

    Scikit-learn refuses shapes, sparse matrices and other columns than before in its own words, as it does everywhere.
    """
    last = traceback.extract_tb(error.__traceback__)[-1].filename
    shapes = isinstance(error, ValueError | TypeError) and last.endswith("sklearn/utils/validation.py")
    callback = isinstance(error, ZeroDivisionError) and last == hostile.__file__
    return isinstance(error, DpcovError | NotFittedError) or shapes or callback


@contextlib.contextmanager
def scikit_learns_own_warning() -> Iterator[None]:
    """Let scikit-learn say that rows came with names once, and without them the other time."""
    warnings.filterwarnings("ignore", "X (does not have valid|has) feature names")
    yield


def verdict(number: int, seed: int = SEED) -> tuple[str, str]:
    """Make a call; return "returned" or "refused", or what went wrong, with its last lines."""
    call = call_of(number, seed)
    screen = io.StringIO()
    try:
        with (
            watched(SECONDS),
            scikit_learns_own_warning(),
            contextlib.redirect_stdout(screen),
            contextlib.redirect_stderr(screen),
        ):
            try:
                call.run()
                kind = "returned"
            except Exception as error:
                kind = "refused"
                if not is_declared(error):
                    raise
                check_error(error)
        if screen.getvalue():
            raise ShellError("something stands on the screen")
    except (Exception, TooSlowError) as error:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "tests/fuzz/" not in frame.filename][-4:]
        where = " < ".join(f"{frame.filename.rpartition('dpcov/')[2]}:{frame.lineno}" for frame in reversed(frames))
        return f"{call.what.split(' ')[0]}: {type(error).__name__}", f"{call.what[:200]}: {error!s:.200} ({where})"
    return kind, ""


KEPT = ("object", "doc", "filename", "strerror", "__notes__")
"""What exceptions of Python hold beside their arguments: the bytes that were no text, the text that was no JSON."""


def check_error(error: BaseException) -> None:
    """Insist that neither an error nor what Python keeps behind it quotes a cell."""
    for seen in behind(error):
        if quotes(f"{seen} {seen.args} {vars(seen)} {[getattr(seen, name, '') for name in KEPT]}"):
            raise ShellError(f"an error that quotes a cell: {type(seen).__name__} behind {error}")


@contextlib.contextmanager
def room() -> Iterator[Path]:
    """Work in a folder of files, and hear what is logged."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as held:
        os.chdir(held)
        listener = Listener()
        logging.getLogger().addHandler(listener)
        try:
            furnish(Path(held))
            objects()
            yield Path(held)
        finally:
            logging.getLogger().removeHandler(listener)
            os.chdir(before)


def furnish(folder: Path) -> None:
    """Write files of every kind: data, a release, keys and a ledger with a spend."""
    hostile.write_files(folder)
    for name in ("key", "key.pub", "base.db", "release.json"):
        (folder / name).unlink(missing_ok=True)
    ledger = dpcov.Ledger.create("base.db")
    ledger.add("people", dpcov.PureDP(10), why="a test", who="Ann")
    rows = np.clip(np.nan_to_num(hostile.numbers()), -1, 1)
    dpcov.covariance(rows, dpcov.PureDP(1), row_norm=1, ledger=ledger.dataset("people", why="a test", who="Ann")).save(
        "release.json"
    )
    dpcov.new_signing_key("key")
    shutil.copyfile("base.db", "copy.db")


@dataclass
class Tally:
    """What became of many calls."""

    count: Counter[str] = field(default_factory=Counter)
    undeclared: list[str] = field(default_factory=list)
    slowest: tuple[float, int] = (0.0, -1)

    def run(self, numbers: Iterable[int], seed: int = SEED) -> Tally:
        """Make the calls of these numbers."""
        with room() as folder:
            for number in numbers:
                if number % 1000 == 999:
                    shutil.rmtree(folder, ignore_errors=True)
                    folder.mkdir(exist_ok=True)
                    os.chdir(folder)
                    furnish(folder)
                before = time.process_time()
                kind, detail = verdict(number, seed)
                self.slowest = max(self.slowest, (time.process_time() - before, number))
                self.count[kind] += 1
                if detail:
                    self.undeclared.append(f"call {number}, {kind}: {detail}")
        return self


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--only", type=int, help="make one call, and show its error in full")
    asked = parser.parse_args()
    if asked.only is not None:
        with room():
            call = call_of(asked.only, asked.seed)
            print(call.what, flush=True)
            print(call.run())
        return 0
    begun = time.process_time()
    tally = Tally().run(range(asked.first, asked.first + asked.calls), asked.seed)
    print(f"{asked.calls} calls in {time.process_time() - begun:.0f} s: {dict(tally.count.most_common(2))}")
    print(f"undeclared errors: {len(tally.undeclared)}", *tally.undeclared, sep="\n  ")
    print("slowest: {:.2f} s (call {})".format(*tally.slowest))
    return bool(tally.undeclared)


if __name__ == "__main__":
    raise SystemExit(main())
