"""From Python's words to the shell's: errors of the library name arguments and functions, a command has flags."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import Any

import click

from dpcov.errors import DpcovError

PHRASES = {
    "dpcov.covariance or dpcov.pca": "`dpcov release`, with or without --pca",
    "dpcov.covariance(..., center=True)": "`dpcov release --center`",
    "got components. Hint: make one with dpcov.covariance": "got components. Hint: make one with `dpcov release` without --pca",
    "dpcov.covariance": "`dpcov release`",
    "dpcov.mean(..., covariance=)": "`dpcov mean --variance`",
    "dpcov.load(path, mechanisms=[...])": "in Python, dpcov.load(path, mechanisms=[...])",
    "read release.mean for the mean": "`dpcov show` prints means",
    "made by dpcov.pca": "made by `dpcov release --pca`",
    "release.pca(k)": "`dpcov pca`",
    ", a part between 0 and 1, or None,": ", or a part between 0 and 1,",
    "None takes what": "without it you get what",
    "got None": "got none",
    "dpcov.Csv(path, separator=';')": "--separator ';'",
    "dpcov.Csv takes another separator or encoding": "--separator and --encoding say that they are others",
    "Hint: separator=';'": "Hint: --separator ';'",
    "allow_weak=True": "--yes-weak",
    "expected_n=NUMBER": "--expected-n NUMBER",
    "center=True": "--center",
    "center=False": "--no-center",
    "columns=['age']": "--columns age",
    "unit='patient_id'": "--unit patient_id",
    "predictions need no target": "leave --score out",
}
"""What messages say of Python, the longest first where one begins like another."""

BUDGETS = {"PureDP": (r"--epsilon \1", "--epsilon"), "ZCDP": (r"--rho \1", "--rho"), "ApproxDP": ("", "--epsilon with --delta")}
ALIASES = {"k": "pca", "m": "rows", "covariance": "variance", "picture": "plot"}
"""Arguments whose flags have other names, where a command has no flag of their own."""


def speak_shell(command: click.Command) -> None:
    """Let a command, or each of a group, name flags in the errors of the library."""
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            speak_shell(inner)
        return
    callback = command.callback
    assert callback is not None

    @functools.wraps(callback)
    def called(*arguments: Any, **given: Any) -> Any:
        try:
            return callback(*arguments, **given)
        except DpcovError as error:
            error.args = (in_shell_words(str(error), command, given),)
            raise

    command.callback = called


def in_shell_words(message: str, command: click.Command, given: Mapping[str, Any]) -> str:
    """Return a message with flags in place of arguments, and commands in place of functions."""
    flags = {str(option.name): _flag(option) for option in command.params if isinstance(option, click.Option)}
    flag = _names(flags, given)
    subject, must, rest = message.partition(" must ")
    if must and len(subject) < 60:
        subject = re.sub(r"(?<![\w-])[a-z_]+\b", lambda word: flag(word[0]), subject)
    said = f"{subject}{must}{rest}"
    said = re.sub(r"(pass )?(ledger=)?dpcov\.Ledger\(([^()]*)\)\.dataset\(([^()]*)\)", r"--ledger \3 --dataset \4", said)
    for phrase, words in PHRASES.items():
        said = said.replace(phrase, words)
    said = re.sub(r"(?<![\w.])(\w+)='([\w-]+)'", lambda pair: _setting(flag(pair[1]), pair[1], pair[2]), said)
    said = re.sub(r"\bApproxDP\((?:epsilon=)?([^(),]*), (?:delta=)?([^(),]*)\)", r"--epsilon \1 --delta \2", said)
    for name, (amount, alone) in BUDGETS.items():
        said = re.sub(rf"\b(?:dpcov\.)?{name}\((?:\w+=)?([^(),]*)\)", amount, said)
        said = re.sub(rf"\b{name}\b(?!\()", alone, said)
    return said


def _names(flags: Mapping[str, str], given: Mapping[str, Any]) -> Callable[[str], str]:
    """Return what an argument of the library is called in a command: a flag, an option of the mechanism, or itself."""
    options = [text.partition("=")[0] for text in given.get("option") or ()]

    def name(argument: str) -> str:
        if argument in options:
            return f"--option {argument}"
        return flags.get(argument) or flags.get(ALIASES.get(argument, ""), argument)

    return name


def _flag(option: click.Option) -> str:
    """Return the flag that is called like the argument, else the longest."""
    own = [flag for flag in option.opts if flag.lstrip("-").replace("-", "_") == option.name]
    return own[0] if own else max(option.opts, key=len)


def _setting(flag: str, name: str, value: str) -> str:
    """Write name='value' as the shell has it."""
    return f"--option {name}={value}" if flag in (name, f"--option {name}") else f"{flag} {value}"
