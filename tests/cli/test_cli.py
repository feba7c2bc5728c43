"""The command line as a person uses it, in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import dpcov
from dpcov.cli import cli


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    code = "import sys; from dpcov.cli import main; main(sys.argv[1:])"
    return subprocess.run([sys.executable, "-W", "error", "-c", code, *arguments], cwd=cwd, capture_output=True, text=True)


def test_demo_prints_its_table_and_writes_a_release(tmp_path: Path) -> None:
    shown = run("demo", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    for text in ("proline", "truth", "private", "0.1-zCDP", "replacing any one of", "second moment"):
        assert text in shown.stdout
    release = dpcov.load(tmp_path / "wine-release.json")
    assert (release.n, release.d, release.privacy, release.seeded) == (178, 13, dpcov.ZCDP("0.1"), False)
    again = run("show", "wine-release.json", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "0.1-zCDP" in again.stdout
    assert "discrete gaussian" in again.stdout
    assert again.stderr == ""


@pytest.mark.parametrize(
    ("content", "code"),
    [(None, 4), ("{}", 2), ('{"format": "dpcov release", "format_version": 99}', 2)],
    ids=["missing", "not a release", "newer"],
)
def test_show_refuses_with_one_line(tmp_path: Path, content: str | None, code: int) -> None:
    if content is not None:
        (tmp_path / "file.json").write_text(content, encoding="utf-8")
    refused = run("show", "file.json", cwd=tmp_path)
    assert refused.returncode == code
    assert refused.stdout == ""
    assert len(refused.stderr.splitlines()) == 1
    assert "Hint" in refused.stderr


def test_unknown_words_end_with_code_2(tmp_path: Path) -> None:
    assert run("no-such-command", cwd=tmp_path).returncode == 2
    assert run("show", cwd=tmp_path).returncode == 2


def test_an_unwritable_place_ends_with_code_4_and_no_file(tmp_path: Path) -> None:
    refused = run("demo", "--output", "missing/release.json", cwd=tmp_path)
    assert refused.returncode == 4
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_every_help_text_ends_with_an_example(name: str, tmp_path: Path) -> None:
    text = run(name, "--help", cwd=tmp_path).stdout
    assert f"dpcov {name}" in text.split("Example:")[-1]
    assert cli.commands[name].help


def test_help_and_version_do_not_load_numpy(tmp_path: Path) -> None:
    """The machine-independent half of the start-up budget; seconds are measured by hand, not in tests."""
    code = "import sys, dpcov, dpcov.cli; sys.exit('numpy' in sys.modules or 'rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=tmp_path).returncode == 0
    assert dpcov.__version__ in run("--version", cwd=tmp_path).stdout


def test_plan_predicts_without_data(tmp_path: Path) -> None:
    table = run("plan", "covariance", "--n", "48842", "--d", "108", "--epsilon", "1", cwd=tmp_path)
    assert table.returncode == 0, table.stderr
    assert "what auto chooses" in table.stdout
    printed = run("plan", "covariance", "--n", "48842", "--d", "108", "--epsilon", "1", "--json", cwd=tmp_path)
    assert list(json.loads(printed.stdout)) == ["wishart", "frobenius", "laplace"]
    assert abs(json.loads(printed.stdout)["wishart"] - 109 * 216**0.5 / 48842) < 1e-5
    approximate = run(
        "plan", "covariance", "--n", "9", "--d", "108", "--epsilon", "1", "--delta", "1e-6", "--json", cwd=tmp_path
    )
    assert next(iter(json.loads(approximate.stdout))) == "gaussian"


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
def test_plan_refuses_bad_numbers_with_code_2(arguments: list[str], tmp_path: Path) -> None:
    refused = run("plan", "covariance", *arguments, cwd=tmp_path)
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert "Traceback" not in refused.stderr
