"""``--mechanism coinpress`` in ``dpcov release``, its dry run, ``dpcov show`` and ``dpcov compare``.

Rows are normal and correlated, a hundred deviations from the origin. Estimates are compared with those of the file's rows, from
which noise and clipping move them by less than 0.15 in Mahalanobis distance (measured, with these seeds: at most 0.06).
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcov
from dpcov.evaluate import metrics
from dpcov.kernel.budget import pays_for
from tests.cli.shell import NUMBER, SECRET, assert_refused, assert_told, call, run
from tests.helpers.folders import made_once

NAMES, PLACE = ["height", "width", "depth"], np.array([100.0, -200.0, 300.0])
ROOT = np.array([[1.0, 0.0, 0.0], [1.0, 2.0, 0.0], [0.0, -1.0, 3.0]])
ROWS = np.random.default_rng(51).normal(size=(8000, 3)) @ ROOT.T
SIGMA = np.cov(ROWS.T, bias=True)
COINPRESS = ["--rho", "0.5", "--mechanism", "coinpress"]
UPPER = ["--option", "upper=10000"]
CENTRED = [*COINPRESS, *UPPER, "--center", "--option", "radius=10000"]
PNG = b"\x89PNG"


@made_once
def write_measurements(folder: Path) -> None:
    frame = pd.DataFrame(ROWS + PLACE, columns=NAMES)
    (frame - PLACE).to_parquet(folder / "zero.parquet")
    frame.to_csv(folder / "m.csv", index=False)
    frame.to_parquet(folder / "m.parquet")
    frame["name"] = [f"{SECRET} {i}" for i in range(len(frame))]
    frame.loc[::200, "height"] = np.nan
    frame.loc[1, "width"] = NUMBER
    frame.to_csv(folder / "mixed.csv", index=False)
    bounds = "height = { lower = 0, upper = 200 }\nwidth = { lower = -400, upper = 0 }\ndepth = { lower = 0, upper = 600 }\n"
    (folder / "m.toml").write_text(f"[columns]\n{bounds}", encoding="utf-8")


@pytest.fixture(autouse=True)
def _in_a_folder_with_measurements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_measurements(tmp_path)


def near(release: dpcov.Release, place: np.ndarray | None = PLACE) -> bool:
    off = 0.0 if place is None else metrics.mahalanobis_mean(release.mean, ROWS.mean(axis=0) + place, SIGMA)
    return max(metrics.mahalanobis(release.covariance, SIGMA), off) < 0.15


def contents() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path().iterdir()}


@pytest.mark.parametrize("file", ["m.csv", pytest.param("m.parquet", marks=pytest.mark.audit)])
def test_the_new_user_s_command(file: str, tmp_path: Path) -> None:
    made = run("release", file, *CENTRED, "-o", "out.json", cwd=tmp_path)
    assert (made.code, made.err) == (0, "")
    release = dpcov.load("out.json")
    assert (release.mechanism, release.center, release.postprocess, release.seeded) == ("coinpress", True, "project", False)
    assert near(release)
    assert release.statement() in made.out
    assert "bounds of the covariance" in made.out
    assert "row_norm" not in made.out
    assert "dpcov show out.json --plot picture.png" in made.out
    assert pays_for(release.privacy, [spend.budget for spend in release.spent])


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_library_gives_the_same(ending: str) -> None:
    made = call("release", f"m.{ending}", *CENTRED, "--seed", "3", "--quiet", "-o", "out.json")
    assert (made.code, made.out) == (0, "")
    settings = {"mechanism": "coinpress", "upper": 10_000.0, "radius": 10_000.0, "center": True, "seed": 3}
    direct = dpcov.covariance(ROWS + PLACE, dpcov.ZCDP("0.5"), **settings)  # type: ignore[arg-type]
    assert np.array_equal(direct.covariance, dpcov.load("out.json").covariance)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("zero.parquet", UPPER),
        ("zero.parquet", ["--row-norm", "1000"]),
        ("zero.parquet", ["--option", "upper=[100,1e4,1e4]", "--option", "lower=[0.1, 0.1, 0.1]"]),
        ("zero.parquet", ["--option", "upper=[[100,0,0],[0,100,0],[0,0,100]]", "--option", "rounds=3"]),
        ("m.csv", [*UPPER, "--option", "centring=pairs"]),
    ],
)
def test_rows_that_are_not_centred(file: str, words: list[str]) -> None:
    made = call("release", file, *COINPRESS, *words, "--seed", "4", "--json", "-o", "out.json")
    assert made.code == 0, made.err
    facts, release = json.loads(made.out), dpcov.load("out.json")
    assert near(release, None)
    assert facts["confidence"]["proved"] is False
    assert facts["confidence"]["inner"] == release.confidence.inner.tolist()  # type: ignore[union-attr]
    assert "mean" not in facts
    shown = json.loads(call("show", "out.json", "--json").out)
    assert shown["covariance" if "centring=pairs" in words else "second_moment"] == release.covariance.tolist()


def test_a_schema_missing_cells_and_one_column() -> None:
    """Bounds that say little: whitening finds the rest. A missing height counts as the centre of a round."""
    made = call("release", "mixed.csv", *COINPRESS, "--schema", "m.toml", "--center", "--seed", "1", "-o", "out.json")
    assert made.code == 0, made.err
    assert near(dpcov.load("out.json"))
    assert SECRET not in made.out
    assert str(NUMBER) not in made.out
    one = call("release", "mixed.csv", *CENTRED, "--columns", "depth", "--seed", "1", "-o", "one.json")
    assert one.code == 0, one.err
    assert dpcov.load("one.json").covariance[0, 0] == pytest.approx(SIGMA[2, 2], rel=0.1)


def test_proved_constants_are_called_so() -> None:
    words = [*UPPER, "--option", "constants=proved", "--option", "beta=0.05", "--option", "centring=pairs"]
    facts = json.loads(call("release", "m.parquet", *COINPRESS, *words, "--seed", "1", "--json", "-o", "out.json").out)
    inner, outer = (np.array(facts["confidence"][name]) for name in ("inner", "outer"))
    assert (facts["confidence"]["proved"], facts["confidence"]["beta"]) == (True, 0.05)
    assert np.linalg.eigvalsh(SIGMA - inner)[0] > 0
    assert np.linalg.eigvalsh(outer - SIGMA)[0] > 0


def test_show_prints_draws_and_tells_machines() -> None:
    assert call("release", "m.parquet", *CENTRED, "--seed", "2", "--quiet", "-o", "out.json").code == 0
    release, shown = dpcov.load("out.json"), call("show", "out.json", "--plot", "out.png")
    assert (shown.code, shown.err) == (0, "")
    assert Path("out.png").read_bytes().startswith(PNG)
    assert_told(shown.out, release)
    assert "rows clipped in public coordinates, round by round" in shown.out
    assert "Clipped further" not in shown.out
    assert "Eigenvalues (correlation)" in shown.out
    assert f"spent: {len(release.spent)} questions" in shown.out
    facts = json.loads(call("show", "out.json", "--json").out)
    assert facts["mean"] == release.mean.tolist()
    assert facts["covariance"] == release.covariance.tolist()
    assert facts["confidence"]["outer"] == release.confidence.outer.tolist()  # type: ignore[union-attr]
    assert sum(facts["eigenvalues"]["values"]) == pytest.approx(3)


PAIRS = [*COINPRESS, *UPPER, "--option", "centring=pairs"]


@pytest.mark.parametrize("words", [CENTRED, [*COINPRESS, *UPPER], PAIRS], ids=["centred", "plain", "pairs"])
def test_a_dry_run_asks_the_same_and_touches_nothing(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert call("release", "zero.parquet", *words, "-o", "real.json").code == 0
    real = dpcov.load("real.json")

    def no_rows(*_: object) -> None:
        raise AssertionError("a row was read")

    for table in ("ParquetTable", "CsvTable"):
        monkeypatch.setattr(f"dpcov.sources.files.{table}.batches", no_rows)
    before = contents()
    planned = call("release", "zero.parquet", *words, "--dry-run", "--json", "-o", "out.json")
    facts = json.loads(planned.out)
    assert [entry["asked"] for entry in facts["asked"]] == [spend.asked for spend in real.spent]
    assert facts["asked"][0]["budget"] == real.spent[0].budget.to_json()
    assert real.n == (4000 if words is PAIRS else 8000)
    assert (facts["dry_run"], facts["mechanism"], facts["n"], facts["d"]) == (True, "coinpress", real.n, 3)
    assert facts["center"] == real.center
    assert facts["expected_error"] is None
    text = call("release", "m.csv", *words, "--dry-run")
    assert "nothing is spent" in text.out
    assert "n is not known before reading" in text.out
    assert "depends on what the rounds find" in text.out
    assert contents() == before


@pytest.mark.parametrize("words", [[], ["--center"]])
def test_compare_includes_it(words: list[str]) -> None:
    """Small rows far inside a large bound: coinpress follows the rows, Gaussian noise the bound."""
    few = ["--mechanism", "coinpress", "--mechanism", "coinpress:upper=100,rounds=3", "--mechanism", "gaussian", "--runs", "3"]
    bound = "1e4" if words else "1e3"
    if words:
        few[3] += ",radius=1000"
    file = "m.parquet" if words else "zero.parquet"
    made = call("compare", file, "--rho", "0.5", "--epsilon", "1", "--row-norm", bound, *words, *few, "--json")
    assert (made.code, made.err) == (0, "")
    cells = json.loads(made.out)["cells"]
    errors = {(cell["mechanism"], "rho" in cell["budget"]): cell["error"] for cell in cells}
    assert errors[("coinpress", False)] is None  # no pure DP
    assert errors[("coinpress", True)] < 0.2 * errors[("gaussian", True)]
    assert errors[(few[3], True)] < 0.2 * errors[("gaussian", True)]
    text = call("compare", file, "--rho", "0.5", "--row-norm", bound, *words, *few[:2], "--runs", "2")
    assert "--mechanism coinpress -o release.json" in text.out


REFUSED: dict[str, list[str]] = {
    "no bounds": COINPRESS,
    "no radius": [*COINPRESS, *UPPER, "--center"],
    "a radius of rows that are not centred": [*COINPRESS, *UPPER, "--option", "radius=10"],
    "bounds for another mechanism": ["--rho", "1", "--mechanism", "gaussian", *UPPER],
    "pure DP": ["--epsilon", "1", *COINPRESS[2:], *UPPER],
    "lower above upper": [*COINPRESS, "--option", "upper=[1,1,1]", "--option", "lower=2"],
    "upper of nothing": [*COINPRESS, "--option", "upper=0"],
    "upper of another length": [*COINPRESS, "--option", "upper=[1,2]"],
    "upper that is no matrix": [*COINPRESS, "--option", "upper=[[1,2],[3]]"],
    "upper of text": [*COINPRESS, "--option", "upper=large"],
    "a list that does not end": [*COINPRESS, "--option", "upper=[1,2"],
    "both kinds of centring": [*CENTRED, "--option", "centring=pairs"],
    "centring": [*COINPRESS, *UPPER, "--option", "centring=magic"],
    "pairs under add-remove": [*COINPRESS, *UPPER, "--option", "centring=pairs", "--neighbors", "add-remove"],
    "proved and centred": [*CENTRED, "--option", "constants=proved"],
    "proved under add-remove": [*COINPRESS, *UPPER, "--option", "constants=proved", "--neighbors", "add-remove"],
    "a radius with a schema": [*COINPRESS, "--schema", "m.toml", "--center", "--option", "radius=10"],
    "an origin with a schema": [*COINPRESS, "--schema", "m.toml", "--option", "origin=[1,2,3]"],
    "rounds": [*COINPRESS, *UPPER, "--option", "rounds=[1]"],
    "beta": [*COINPRESS, *UPPER, "--option", "beta=1"],
    "postprocess": [*COINPRESS, *UPPER, "--postprocess", "shrink"],
    "two kinds of bounds": [*COINPRESS, *UPPER, "--row-norm", "1", "--schema", "m.toml"],
}


@pytest.mark.parametrize("dry", [[], ["--dry-run"]], ids=["real", "dry"])
@pytest.mark.parametrize("case", REFUSED)
def test_bad_input_is_refused_before_a_row_is_read(case: str, dry: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def no_rows(*_: object) -> None:
        raise AssertionError("a row was read")

    for table in ("ParquetTable", "CsvTable"):
        monkeypatch.setattr(f"dpcov.sources.files.{table}.batches", no_rows)
    before = contents()
    for file in ("m.csv", "m.parquet"):
        assert_refused(call("release", file, *REFUSED[case], *dry, "-o", "out.json"), 2)
    assert contents() == before
