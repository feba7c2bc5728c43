"""How commands speak: flags in place of arguments, the nearest name for one that is misspelt, one line for an interrupt."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dpcov
from dpcov.cli import cli
from dpcov.cli.words import in_shell_words
from tests.cli.shell import assert_refused, call

ROOT = Path(__file__).parents[2]

NOT_SERVED = "release rows.csv --columns a,b,c --epsilon 1 --row-norm 1 --mechanism gaussian -o out.json"
SAID = {
    "No such option '--shema'. Did you mean '--schema'? Hint: dpcov release --help.": "release rows.csv --shema a.toml",
    "Hint: --separator ';'.": "release rows.csv --separator x --rho 1 --row-norm 1 -o out.json",
    "--encoding must be that of a text file, got ''": "release rows.csv --rho 1 --row-norm 1 -o out.json --encoding=",
    "--delta must be at least 1e-300, got less.": (
        "release rows.csv --columns a,b,c --epsilon 1 --delta 1e-400 --row-norm 1 -o out.json"
    ),
    "--epsilon must be at least 1e-300, got less.": (
        f"release rows.csv --columns a,b,c --epsilon 1/1{'0' * 350} --row-norm 1 -o out.json"
    ),
    "--row-norm must be": "release rows.csv --rho 1 --row-norm -1 -o out.json",
    "--epsilon must be greater than 0, got '0'": "release rows.csv --epsilon 0 --row-norm 1 -o out.json",
    "--pca must be an integer from 1 to 2": "release rows.csv --columns a,b,c --rho 1 --row-norm 1 --pca 9 -o o.json",
    "must be --rho or --epsilon with --delta, got --epsilon 1.": NOT_SERVED,
    "Hint: --mechanism auto": NOT_SERVED,
    "--option rounds must be": "release rows.csv --rho 1 --mechanism coinpress --option upper=1 --option rounds=0 -o out.json",
    "--runs must be an integer of at least 2": "compare rows.csv --rho 1 --row-norm 1 --runs 1",
    "--n must be an integer": "plan covariance --n 0 --d 3 --rho 1",
    "-k must be an integer from 1 to 3, or a part": "pca covariance.json -k 9",
    "--target must be given, got none. Hint: name a feature to predict, such as 'a'.": "ridge covariance.json",
    "got a mean. Hint: make one with `dpcov release`.": "correlation mean.json",
    "Hint: make one with `dpcov release`, with or without --pca.": "pca mean.json",
    "Did you mean 'release'?": "relaese rows.csv",
    "Did you mean 'init'?": "schema innit rows.csv",
    "Did you mean '--row-norm'?": "release rows.csv --rho 1 --row-nrom 1",
    "did you mean 'gaussian'?": "release rows.csv --rho 1 --row-norm 1 --mechanism gausian -o o.json",
    "Did you mean '--epsilon'?": "release rows.csv --eps 1 --row-norm 1 -o out.json",
    "give public bounds: --schema FILE, as `dpcov schema init` drafts it, or --row-norm NUMBER. Hint:": (
        "release rows.csv --rho 1 -o out.json"
    ),
    "or --row-norm NUMBER; or, for this mechanism, --option upper=NUMBER.": (
        "release rows.csv --rho 1 --mechanism coinpress -o out.json"
    ),
    "give public bounds once, either --row-norm or --schema, got both": (
        "release rows.csv --rho 1 --row-norm 1 --schema a.toml -o out.json"
    ),
    "as `dpcov schema init` drafts it, or --radius NUMBER.": "mean rows.csv --rho 1 -o out.json",
    "either --radius or --schema, got both": "mean rows.csv --rho 1 --radius 1 --schema a.toml",
    "drafts it, or --row-norm NUMBER.": "compare rows.csv --rho 1",
    "give a privacy budget: --epsilon 1 for example": "release rows.csv --row-norm 1 -o out.json",
    "give one budget, either --rho or --epsilon, got both": "release rows.csv --rho 1 --epsilon 1 --row-norm 1 -o out.json",
    "give --epsilon together with --delta, got --delta alone": "release rows.csv --delta 1e-6 --row-norm 1 -o out.json",
    "give privacy budgets, with commas between them": "compare rows.csv --row-norm 1",
    "got 'abc'. Hint: pass a number such as 0.1, or a fraction such as '1/3'.": (
        "release rows.csv --epsilon abc --row-norm 1 -o out.json"
    ),
}
PYTHON = ("PureDP", "ZCDP", "ApproxDP", "row_norm", "dpcov.", "=True", "='", "None")


@pytest.fixture
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(821).uniform(-0.5, 0.5, (200, 3))
    np.savetxt("rows.csv", rows, delimiter=",", header="a,b,c", comments="")
    dpcov.covariance("rows.csv", dpcov.ZCDP(1), row_norm=1, columns=list("abc"), seed=1).save("covariance.json")
    dpcov.mean("rows.csv", dpcov.ZCDP(1), radius=1, seed=1).save("mean.json")


@pytest.mark.usefixtures("_files")
@pytest.mark.parametrize("words", SAID)
def test_errors_are_in_the_words_of_the_shell(words: str) -> None:
    refused = call(*SAID[words].split())
    assert_refused(refused, 2)
    assert words in refused.err
    assert not [word for word in PYTHON if word in refused.err.replace("dpcov: ", "")], refused.err
    assert not Path("out.json").exists()


def test_what_is_no_flag_stays_as_it_is() -> None:
    message = "release must be a file, got 'x'. Hint: ask for the original."
    assert in_shell_words(message, cli.commands["show"], {}) == message
    data = "data must have one column 'row_norm', got none of that name. Hint: names are case-sensitive."
    assert in_shell_words(data, cli.commands["release"], {}) == data


INTERRUPT = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
"""


@pytest.mark.parametrize("name", ["dpcov.cli", "click", "dpcov.cli.words", "dpcov.release.file", "numpy"])
def test_an_interrupt_while_modules_are_imported_shows_no_traceback(name: str, tmp_path: Path) -> None:
    """A real process, and a real signal: it is sent when this module is about to be imported."""
    (tmp_path / "sitecustomize.py").write_text(INTERRUPT.format(name=name), encoding="utf-8")
    paths = [str(tmp_path), str(Path(dpcov.__file__).parents[1])]
    ended = subprocess.run(
        [sys.executable, "-m", "dpcov", "show", "nowhere.json"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )
    assert (ended.returncode, ended.stdout) == (130, "")
    assert ended.stderr.strip().startswith("dpcov: interrupted")
    assert len(ended.stderr.strip().splitlines()) == 1


def test_the_installed_command_begins_where_interrupts_are_caught() -> None:
    assert 'dpcov = "dpcov.__main__:main"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
