"""What all commands share: help, exit codes, completion, the reference."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import click
import pytest

import dpcov
from dpcov.cli import cli, main
from dpcov.cli.options import NEIGHBORS, POSTPROCESS
from dpcov.cli.reference import contexts, reference
from dpcov.errors import BudgetError, DpcovError
from dpcov.kernel.questions.moments import NEIGHBORS as ALL_NEIGHBORS
from dpcov.spectra import POSTPROCESS as ALL_POSTPROCESS
from tests.cli.shell import SECRET, assert_refused, call, run, write_people

COMMANDS = {context.command_path: context for context in contexts()}


def test_the_commands_are_those_we_know() -> None:
    words = {path.removeprefix("dpcov").strip() for path in COMMANDS}
    assert words == {
        "", "demo", "schema", "schema init", "schema check", "plan", "plan table", "plan covariance", "plan pca",
        "audit", "compare", "mechanisms", "release", "mean", "show", "report", "pca", "ridge", "predict",
        "correlation", "interval", "sample", "completion",
        "ledger", "ledger approve", "ledger export", "ledger history", "ledger init", "ledger policy",
        "ledger record", "ledger resume", "ledger status", "ledger verify",
        "sign", "sign file", "sign keygen", "sign public", "verify",
    }  # fmt: skip


@pytest.mark.parametrize("path", COMMANDS)
def test_every_help_text_ends_with_an_example(path: str) -> None:
    text = call(*path.split()[1:], "--help").out
    example = text.split("Example:\n")[-1].strip()
    assert example.startswith(path)
    assert all(line.strip().startswith("dpcov ") for line in example.splitlines())
    assert COMMANDS[path].command.help


@pytest.mark.parametrize("path", COMMANDS)
def test_examples_use_options_that_exist(path: str) -> None:
    context = COMMANDS[path]
    for line in (context.command.epilog or "").split("Example:\n")[-1].splitlines():
        owner: click.Command = cli
        words = line.split(">")[0].split()[1:]
        while isinstance(owner, click.Group):
            owner = owner.commands[words.pop(0)]
        known = {flag for parameter in owner.params for flag in parameter.opts}
        assert {word for word in words if word.startswith("-")} <= known


def test_the_reference_is_up_to_date() -> None:
    page = Path(__file__).parents[2] / "docs" / "cli.md"
    assert page.read_text(encoding="utf-8") == reference(), "python -m dpcov.cli.reference > docs/cli.md"


def test_help_does_not_depend_on_the_terminal(tmp_path: Path) -> None:
    narrow, wide = (run("release", "--help", cwd=tmp_path, COLUMNS=columns) for columns in ("40", "200"))
    assert narrow == wide
    assert COMMANDS["dpcov release"].get_help() in wide.out


def test_help_and_version_do_not_load_numpy(tmp_path: Path) -> None:
    """The machine-independent half of the start-up budget; seconds are measured by hand, not in tests."""
    code = "import sys, dpcov, dpcov.cli; sys.exit(any(m in sys.modules for m in ('numpy', 'rich', 'pyarrow', 'matplotlib')))"
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path).returncode == 0
    assert dpcov.__version__ in run("--version", cwd=tmp_path).out


def test_choices_are_the_library_s() -> None:
    assert list(ALL_NEIGHBORS) == NEIGHBORS
    assert set(POSTPROCESS) == set(ALL_POSTPROCESS)


def test_unknown_words_end_with_code_2() -> None:
    assert_refused(call("no-such-command"), 2)
    assert_refused(call("show"), 2)
    assert_refused(call("release", "--no-such-option"), 2)
    assert call().code == 2
    assert "Usage: dpcov" in call().err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BudgetError("charges must fit, got more. Hint: spend less."), 3),
        (KeyError(SECRET), 4),
        (OSError(28, "No space left on device", SECRET), 4),
        (MemoryError(SECRET), 4),
    ],
)
def test_failures_inside_become_one_line(error: Exception, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    write_people(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dpcov.api.covariance", fail)
    assert_refused(call("release", "people.csv", "--rho", "1", "--schema", "people.toml", "-o", "out.json"), code)
    assert not (tmp_path / "out.json").exists()


def test_an_interrupt_ends_with_code_130(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    write_people(tmp_path)
    monkeypatch.setattr("dpcov.api.covariance", interrupt)
    ended = call("release", tmp_path / "people.csv", "--rho", "1", "--row-norm", "1", "-o", tmp_path / "out.json")
    assert (ended.code, ended.out) == (130, "")
    assert ended.err.strip().startswith("dpcov: interrupted")


def test_an_interrupt_that_a_compiled_module_turned_into_an_import_error_is_no_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as stopped:
            raise ImportError("a module") from stopped

    write_people(tmp_path)
    monkeypatch.setattr("dpcov.api.covariance", interrupt)
    ended = call("release", tmp_path / "people.csv", "--rho", "1", "--row-norm", "1", "-o", tmp_path / "out.json")
    assert (ended.code, ended.out) == (130, "")
    assert ended.err == "dpcov: interrupted; a release that was written already is whole, and was paid for\n"


class Screen(io.StringIO):
    """A terminal that remembers what was written."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("terminal", "columns", "width"), [(True, 60, 60), (True, 200, 100), (False, 60, 100)])
def test_help_is_no_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch, terminal: bool, columns: int, width: int) -> None:
    monkeypatch.setattr("sys.stdout", Screen() if terminal else io.StringIO())
    monkeypatch.setenv("COLUMNS", str(columns))
    with pytest.raises(SystemExit):
        main(["release", "--help"])
    assert isinstance(sys.stdout, io.StringIO)
    lines = sys.stdout.getvalue().splitlines()
    longest = max(len(line) for line in lines[: lines.index("  Example:")])
    assert width - 12 < longest <= width


def test_groups_say_what_each_of_their_commands_does_in_a_whole_sentence() -> None:
    for context in contexts():
        if isinstance(context.command, click.Group):
            for command in context.command.commands.values():
                said = command.get_short_help_str(limit=95)
                assert said.endswith(".")
                assert not said.endswith(("...", "r.m.s."))


def complete(words: str, cwd: Path) -> list[str]:
    """Ask what bash would offer for the last word."""
    place = str(len(words.split(" ")) - 1)
    offered = run(cwd=cwd, _DPCOV_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=place)
    return [line.partition(",")[2] if line.startswith("plain,") else line for line in offered.out.splitlines()]


def test_bash_completes_commands_options_and_values(tmp_path: Path) -> None:
    assert set(complete("dpcov ", tmp_path)) == set(cli.commands)
    assert complete("dpcov sch", tmp_path) == ["schema"]
    assert {"--epsilon", "--mechanism", "--dry-run"} <= set(complete("dpcov release --", tmp_path))
    assert complete("dpcov release --mechanism ", tmp_path) == list(dpcov.MECHANISMS["covariance"])
    assert complete("dpcov release --mechanism ga", tmp_path) == ["gaussian"]
    assert complete("dpcov release --pca 2 --mechanism ", tmp_path) == list(dpcov.MECHANISMS["pca"])
    assert complete("dpcov mean --mechanism ", tmp_path) == list(dpcov.MECHANISMS["mean"])
    assert complete("dpcov release --neighbors a", tmp_path) == ["add-remove"]
    assert "shrink" in complete("dpcov release --postprocess ", tmp_path)
    assert complete("dpcov release da", tmp_path)[0].startswith("file,")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script(shell: str) -> None:
    script = call("completion", shell)
    assert script.code == 0
    assert "_DPCOV_COMPLETE" in script.out
    assert_refused(call("completion", "csh"), 2)


def test_mechanisms_lists_what_each_serves() -> None:
    everything = json.loads(call("mechanisms", "--json").out)
    assert {target: list(named) for target, named in everything.items()} == {
        target: list(named) for target, named in dpcov.MECHANISMS.items()
    }
    listed, means, components = everything["covariance"], everything["mean"], everything["pca"]
    assert listed["auto"]["notions"] == means["auto"]["notions"] == components["auto"]["notions"] == ["pure", "zCDP", "approx"]
    assert components["mod-sulq"] == {
        "notions": ["approx"],
        "options": {},
        "summary": "Release the first k eigenvectors of a second moment with the paper's Gaussian noise.",
    }
    assert components["ppca"]["options"] == {"sweeps": 20000, "approximate": False}
    assert listed["gaussian"]["notions"] == ["zCDP", "approx"]
    assert listed["laplace"] == {
        "notions": ["pure", "approx"],
        "options": {"clip": "none", "constants": "tight"},
        "summary": "Release the second moment with Laplace noise.",
    }
    assert listed["coinpress"]["notions"] == ["zCDP", "approx"]
    assert means["coinpress"]["options"].items() >= {"covariance": None, "rounds": "auto", "constants": "practical"}.items()
    assert not any("origin" in mean["options"] for mean in means.values())  # it has a flag: --option refuses it
    table = call("mechanisms")
    assert all(name in table.out for name in (*listed, *means, *components))
    assert all(f"dpcov {command} --mechanism" in table.out for command in ("release", "mean", "release --pca K"))
    assert "--epsilon --delta" in table.out


def test_plan_predicts_without_data() -> None:
    arguments = ("plan", "covariance", "--n", "48842", "--d", "108", "--epsilon", "1")
    assert "smallest" in call(*arguments).out
    predicted = json.loads(call(*arguments, "--json").out)
    assert list(predicted) == ["wishart", "frobenius", "laplace"]
    assert abs(predicted["wishart"] - 109 * 216**0.5 / 48842) < 1e-5
    assert json.loads(call(*arguments, "--center", "--json").out)["wishart"] > predicted["wishart"]
    assert next(iter(json.loads(call(*arguments, "--delta", "1e-6", "--json").out))) == "gaussian"


@pytest.mark.parametrize(
    "arguments",
    [
        ["--n", "0", "--d", "3", "--epsilon", "1"],
        ["--n", "5", "--d", "3"],
        ["--n", "5", "--d", "3", "--rho", "1", "--epsilon", "1"],
        ["--n", "5", "--d", "3", "--epsilon", "nan"],
        ["--n", "5", "--d", "3", "--delta", "1e-6"],
        ["--n", "5", "--d", "3", "--rho", "1", "--neighbors", "swap"],
        ["--n", "5", "--d", "300", "--epsilon", "1e-300"],
    ],
)
def test_plan_refuses_bad_numbers_with_code_2(arguments: list[str]) -> None:
    assert_refused(call("plan", "covariance", *arguments), 2)


def test_every_error_of_the_library_has_an_exit_code() -> None:
    assert {kind.__name__ for kind in DpcovError.__subclasses__() if kind.__module__ == "dpcov.errors"} == {
        "ParameterError", "BudgetError", "SchemaError", "ReleaseError", "EngineError",
    }  # fmt: skip
