"""The quickstart runs as written: on the Adult table where DPCOV_DATA names its folder, on made-up rows everywhere.

Blocks marked ``sh`` and ``python adult`` run in the order of the page, in a folder that looks like a checkout: of Adult by a
shell, as they stand, of made-up rows by the library's own commands in this process.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from urllib.error import URLError

import matplotlib
import numpy as np
import pandas as pd
import pytest

import dpcov
from tests.cli.shell import call

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "quickstart.md").read_text(encoding="utf-8")
ADULT = ROOT / "examples" / "adult"
SCHEMA = dpcov.Schema.read(ADULT / "adult.toml")
NUMERIC = [name for name, column in SCHEMA.columns.items() if isinstance(column, dpcov.Numeric)]

DATA = str(Path(os.environ.get("DPCOV_DATA", "nowhere")).absolute())

needs_adult = pytest.mark.skipif(
    "DPCOV_DATA" not in os.environ,
    reason="needs adult.data and adult.test: set DPCOV_DATA to their folder, or `make test DATA=folder`",
)


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, flags=re.DOTALL | re.MULTILINE)


def shell(script: str, folder: Path) -> str:
    """Run a script with this environment's python and dpcov; a warning of Python's is an error, as in all tests."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["sh", "-e", "-c", script],
        cwd=folder,
        env=os.environ
        | {"PATH": path, "PYTHONWARNINGS": "error", "MPLCONFIGDIR": matplotlib.get_cachedir(), "DPCOV_DATA": DATA},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{script}\n{done.stderr}"
    return done.stdout


def in_this_process(script: str, folder: Path) -> str:
    """Run a script's commands as the shell splits them; those of `dpcov` here, as a process for each would take longest."""
    printed = []
    for line in script.splitlines():
        name, *words = shlex.split(line, comments=True)
        if name != "dpcov":
            printed.append(shell(line, folder))
            continue
        with contextlib.chdir(folder):
            done = call(*words)
        assert done.code == 0, f"{line}\n{done.err}"
        printed.append(done.out)
    return "".join(printed)


def run_page(folder: Path, run: Callable[[str, Path], str] = shell) -> str:
    """Run the page in a folder that holds adult.csv and return what its commands and its Python print."""
    printed = [run(block, folder) for block in blocks("sh")]
    (folder / "page.py").write_text("\n".join(blocks("python adult")), encoding="utf-8")
    return "".join([*printed, shell("python page.py", folder)])


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


def made_up(n: int) -> pd.DataFrame:
    """Return random rows within the schema, integers and levels: no real person is in them."""
    random = np.random.default_rng(3)
    return pd.DataFrame(
        {
            name: random.integers(int(column.lower), int(column.upper), n, endpoint=True)
            if isinstance(column, dpcov.Numeric)
            else random.choice(np.array(column.levels), n)
            for name, column in SCHEMA.used.items()
        }
    )


def test_the_page_runs_on_made_up_rows(checkout: Path) -> None:
    made_up(3000).to_csv(checkout / "adult.csv", index=False)
    printed = run_page(checkout, in_this_process)
    assert "(1, delta)-DP with delta = 2**-" in printed
    assert "PureDP(epsilon=2.5)" in printed
    for picture in ("adult-release", "adult-pca", "income", "adult-correlation"):
        assert (checkout / f"{picture}.png").is_file()
    assert len(pd.read_csv(checkout / "predicted.csv")) == 3000
    assert pd.read_csv(checkout / "synthetic.csv").shape == (1000, len(SCHEMA.used))
    assert printed.count("| all other columns |") == 10
    assert not dpcov.load(checkout / "adult-release.json").seeded


@needs_adult
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_table_is_adult(checkout: Path, ending: str) -> None:
    shell(f'python examples/adult/table.py --data "$DPCOV_DATA" adult.{ending}', checkout)
    path = checkout / f"adult.{ending}"
    table = pd.read_csv(path, keep_default_na=False) if ending == "csv" else pd.read_parquet(path)
    assert table.shape == (48842, 15)
    assert list(table) == list(SCHEMA.columns)
    for name, column in SCHEMA.used.items():  # a test may look at the data; the schema did not
        if isinstance(column, dpcov.Categorical):
            assert set(table[name]) == set(column.levels)
        else:
            assert table[name].between(column.lower, column.upper).all()


@needs_adult
def test_the_page_runs_on_adult_and_means_are_within_two_percent(checkout: Path) -> None:
    shell('python examples/adult/table.py --data "$DPCOV_DATA" adult.csv', checkout)
    printed = run_page(checkout)
    shown = re.findall(r"^\| \S+ \| [0-9.]+ \| [0-9.]+ \| [0-9.]+ \|$", PAGE, flags=re.MULTILINE)
    assert len(shown) == len(NUMERIC)
    regressions = re.findall(r"^\| .+ \| .*\| 0\.[0-9]{3} \| [01]\.[0-9]{3} \|$", PAGE, flags=re.MULTILINE)
    assert len(regressions) == 21
    for line in [*shown, *regressions]:
        assert line in printed.splitlines(), "the page's table is no longer what its code prints"

    release, table = dpcov.load(checkout / "adult-release.json"), pd.read_csv(checkout / "adult.csv")
    assert not release.seeded
    assert release.n == 48842
    for name in NUMERIC:  # 0.15 % is the standard deviation: 2 % does not happen
        column = SCHEMA.columns[name]
        assert isinstance(column, dpcov.Numeric)
        private = release.mean[release.feature_names.index(name)]
        assert abs(private - table[name].mean()) <= 0.02 * (column.upper - column.lower), name


def table_module() -> ModuleType:
    source = (ADULT / "table.py").read_text(encoding="utf-8")
    module = ModuleType("table")
    exec(compile(source, "table.py", "exec"), vars(module))
    return module


def test_the_table_is_the_same_from_openml(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenML's frame has categories, missing cells in place of "?" and another name for the label."""
    rows = made_up(50)
    text = [name for name in rows if name not in NUMERIC]
    frame = rows.assign(**{name: rows[name].where(rows[name] != "?").astype("category") for name in text})
    frame = frame.assign(age=frame["age"].astype(float)).rename(columns={"income": "class"})

    class Fetched:
        def __init__(self) -> None:
            self.frame = frame

    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda *_, **__: Fetched())
    fetched = table_module().fetched()
    assert fetched.to_pydict() == rows.to_dict("list")

    def unreachable(*_: object, **__: object) -> None:
        raise URLError("no network")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", unreachable)
    with pytest.raises(SystemExit, match=r"OpenML cannot be reached .*no network.*: give --data DIR"):
        table_module().fetched()


def test_originals_are_cleaned(tmp_path: Path) -> None:
    line = "39, State-gov, 77516, Bachelors, 13, Never-married, ?, Not-in-family, White, Male, 2174, 0, 40, ?, <=50K"
    (tmp_path / "adult.data").write_text(f"{line}\n\n")
    (tmp_path / "adult.test").write_text(f"|1x3 Cross validator\n{line}.\n\n")
    table = table_module().original(tmp_path).to_pydict()
    assert table["income"] == ["<=50K", "<=50K"]
    assert table["occupation"] == ["?", "?"]
    assert table["age"] == [39, 39]
    with pytest.raises(SystemExit, match=r"adult\.data"):
        table_module().original(tmp_path / "elsewhere")


def test_the_excerpt_is_from_the_schema() -> None:
    lines = (ADULT / "adult.toml").read_text(encoding="utf-8").splitlines()
    for line in blocks("toml")[0].splitlines():
        assert line in lines
