"""Mistakes are made where a machine should make them, and a run of them ends with a right verdict on each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutation import machine
from tests.mutation.operators import mistakes
from tests.mutation.planting import ROOT

SEES_THE_CORNER = "tests/kernel/laws/test_centring.py::test_the_public_corner_leaves_the_rest_alone"


def made(source: str) -> set[str]:
    """Return what becomes of the last line."""
    return {edit.becomes for edit in mistakes("f.py", source.encode())}


@pytest.mark.parametrize(
    ("line", "others"),
    [
        ("x = a < b", {"x = a <= b", "x = a >= b"}),
        ("x = a is not b", {"x = a is b"}),
        ("x = a - b", {"x = a + b"}),
        ("x = a // b", {"x = a / b", "x = -(-(a) // (b))"}),
        ("x = a and b", {"x = a or b", "x = True and b", "x = a and True"}),
        ("x = not a", {"x = (a)"}),
        ("x = 2", {"x = 3", "x = 1"}),
        ("x = 0", {"x = 1"}),
        ("x = -1", {"x = -2", "x = -0"}),
        ("x = 2.0", {"x = 2.1", "x = 1.9"}),
        ("x = True", {"x = False"}),
        ("x = b if a else c", {"x = b if not (a) else c"}),
        ("a[b:c]", {"a[(b) + 1:c]", "a[b:(c) + 1]"}),
        ("x = min(a, b)", {"x = max(a, b)"}),
        ("x = f(a, b)", {"x = f(b, a)"}),
        ("x = np.rint(a)", {"x = np.trunc(a)"}),
        ("x = a.copy()", {"x = (a)"}),
        ("x = [a for a in b if c]", {"x = [a for a in b if True]"}),
        ("f(a)", {"pass"}),
    ],
)
def test_each_operator(line: str, others: set[str]) -> None:
    assert made(line) == others


@pytest.mark.parametrize(
    ("body", "others"),
    [
        ("raise ValueError(1, 2)", {"pass"}),
        ("a.b = c", {"pass"}),
        ("a += c", {"a -= c", "pass"}),
        ("return a", {"return None"}),
        ("with a: b()", {"with __import__('contextlib').nullcontext(): b()", "with a: pass"}),
    ],
)
def test_each_statement(body: str, others: set[str]) -> None:
    assert made(f"def f(a, b, c):\n    {body}") == others


def test_a_function_that_says_what_it_returns_returns_nothing_of_that_kind() -> None:
    assert made("def f(a) -> bool:\n    return a") == {"return True", "return False"}


@pytest.mark.parametrize(
    "source",
    [
        '"""One."""',
        "import one",
        "def f(a: int, b: Literal[1]) -> Literal[2]: ...",
        "def __repr__(self):\n    return 1",
        "x = f'{a:.3f}'",
        "Exact = int | float",
        "isinstance(a, b | c)",
        "if TYPE_CHECKING:\n    x = 1",
        "class A(Protocol):\n    x = 1",
        "raise_ = ParameterError('a', 2)",
    ],
)
def test_what_states_nothing_about_numbers_is_left_out(source: str) -> None:
    assert not made(source) - {"pass"}


def test_letters_of_more_than_one_byte_move_nothing() -> None:
    assert made("x = 'ε²' if a else 'ρ'") == {"x = 'ε²' if not (a) else 'ρ'"}


def test_the_same_program_is_no_mistake() -> None:
    """Of the two parts of ``a < 1 and 2`` that could be removed, the second is true as it is."""
    assert "x = a and True" not in made("x = a and True")


def test_a_mistake_has_a_name_and_a_place() -> None:
    (edit,) = mistakes("f.py", b"def f(a):\n    g()\n")
    assert edit.name == "f.py:2:5 statement removed"
    assert edit.inside == "f"
    assert [*edit.scope] == [1, 2]
    assert edit.applied(b"def f(a):\n    g()\n") == b"def f(a):\n    pass\n"


def test_what_is_explained_is_there() -> None:
    """A reason for a line that is gone would one day excuse another line."""
    found = machine.explained()
    gone = [was for file, was, _ in found if was not in machine.words(machine.source(file).decode())]
    assert found
    assert not gone, "\n".join(gone)
    assert all(found.values())


def test_a_run_has_a_verdict_on_each(tmp_path: Path) -> None:
    """What a test looks at is caught, in a function, in a constant and in a copy that it asks for; what it does not is told."""
    environment = os.environ | {"COVERAGE_FILE": str(tmp_path / "lines")}
    command = [sys.executable, "-m", "tests.mutation.machine", "--record", "--jobs", "1", "--only", "kernel/rows/centring.py"]
    command += ["--tests", SEES_THE_CORNER, "--results", str(tmp_path / "results")]
    run = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    found = machine.rows(tmp_path / "results")
    assert all(row["by"] == SEES_THE_CORNER for row in found if row["inside"] == "with_public_corner"), run.stdout + run.stderr
    by_function = {
        inside: [bool(row["by"]) for row in found if row["inside"] == inside] for inside in ("", "mean_and_covariance")
    }
    assert any(by_function[""])
    assert not any(by_function["mean_and_covariance"])
    assert "NOT EXPLAINED" in run.stdout
    assert run.returncode == 1
