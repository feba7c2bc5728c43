"""Private components on the command line: what ``dpcov release --pca`` makes, and what a new user sees of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcov
from dpcov.report.components import MOST_FEATURES, _features, with_error
from dpcov.report.text import rounded
from tests.cli.known_rows import CHAIN, MECHANISMS, NAMES, ROWS, SPEND, TRUTH, contents, released, size
from tests.cli.shell import PROGRAM, assert_told, call, run

pytestmark = pytest.mark.usefixtures("known_rows")


@pytest.mark.parametrize("file", ["people.csv", pytest.param("people.parquet", marks=pytest.mark.audit)])
def test_the_new_user_s_commands(file: str, tmp_path: Path) -> None:
    made = run("release", file, "--pca", "2", *SPEND, "-o", "pca.json", cwd=tmp_path)
    assert (made.code, made.err) == (0, "")
    release = dpcov.load("pca.json")
    assert (release.kind, release.requested, release.seeded, len(release.components)) == ("pca", "auto", False, 2)
    assert abs(release.components[0] @ TRUTH) > 0.95
    assert release.statement() in made.out
    assert made.out.endswith("Written to pca.json. Next:\n  dpcov pca pca.json --plot picture.png\n")
    told = run("pca", "pca.json", "--plot", "picture.png", cwd=tmp_path)
    assert (told.code, told.err) == (0, "")
    assert told.out.endswith("Written to picture.png.\n")
    shown = run("show", "pca.json", cwd=tmp_path)
    assert (shown.code, shown.err) == (0, "")
    found, place = release.pca(), int(np.abs(release.components[0]).argmax())
    errors = found.errors
    assert errors.determined[0]
    for text in (made.out, told.out, shown.out):
        assert with_error(release.explained[0], errors.explained[0]) in text
        assert f"{with_error(100 * found.ratio[0], 100 * errors.ratio[0])} %" in text
        assert f"Total second moment: {with_error(found.total, errors.total)}" in text
        assert f"{NAMES[place]} +{with_error(abs(release.components[0, place]), errors.loadings[0, place])}" in text
        assert "PC2" in text
        assert "PC3" not in text
        assert "Expected error" not in text


def test_files_of_both_kinds_and_the_library_agree() -> None:
    for ending in ("csv", "parquet"):
        words = ("--pca", "2", *SPEND, "--seed", "7", "-o", f"{ending}.json")
        assert call("release", f"people.{ending}", *words).code == 0
    assert Path("csv.json").read_bytes() == Path("parquet.json").read_bytes()
    direct = dpcov.pca(ROWS, dpcov.PureDP("1"), 2, row_norm=1, seed=7)
    assert np.array_equal(direct.components, dpcov.load("csv.json").components)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_mechanism_is_released_told_and_shown(mechanism: str) -> None:
    made = released(*MECHANISMS[mechanism], "--json", spend=[*SPEND, "--delta", "1e-6"])
    release, facts = dpcov.load("pca.json"), json.loads(made.out)
    assert (release.requested, facts["kind"], facts["expected_error"]) == (mechanism, "pca", None)
    for command in ("pca", "show"):
        found = json.loads(call(command, "pca.json", "--json").out)
        for name in ("k", "explained", "ratio", "cumulative", "total", "components", "offsets", "scales", "statement"):
            assert found[name] == facts[name]
        assert found["components"] == release.components.tolist()
        assert found["explained"] == release.explained.tolist()
        assert (found["k"], found["feature_names"]) == (2, NAMES)
        assert not {"covariance", "second_moment", "eigenvalues"} & set(found)
        assert call(command, "pca.json").code == 0
    # Of ppca only the subspace is drawn: its components are turned at random inside it.
    captured = abs(release.components[0] @ TRUTH) if mechanism != "ppca" else np.linalg.norm(release.components @ TRUTH)
    assert (captured > 0.95) == (mechanism != "random")


def test_centred_rows_have_a_mean_and_no_advice_to_centre() -> None:
    assert "--center" in released("--mechanism", "wishart").out
    made = released("--mechanism", "wishart", "--center", "--force")
    release = dpcov.load("pca.json")
    assert release.center
    assert "--center" not in made.out
    assert "Total variance" in made.out
    shown = call("show", "pca.json")
    assert_told(shown.out, release)
    found = release.pca()
    assert found.standing_out == 2
    assert found.errors.determined.all()
    assert found.clear.all()
    for place in zip(*np.nonzero(found.clear), strict=True):
        number, error = rounded(found.components[place], found.errors.loadings[place])
        assert re.search(f"│ +{re.escape(number)} │ +{re.escape(error)} │", shown.out)
    assert json.loads(call("show", "pca.json", "--json").out)["mean"] == release.mean.tolist()


def test_options_reach_the_chain_and_its_promise_is_told() -> None:
    made = released(*CHAIN)
    release = dpcov.load("pca.json")
    assert dict(release.options) == {"k": 2, "sweeps": 300, "approximate": True}
    assert made.out.startswith("Privacy: seeded: not private. With the operating system's randomness it would be approximate")
    assert made.out.endswith("dpcov pca pca.json --convergence chains.png\n")
    assert "--convergence" not in released("--mechanism", "ppca", "--force", k=1).out


def test_components_of_a_schema_are_of_encoded_columns() -> None:
    bounds = "".join(f"{name} = {{ lower = -1, upper = 1 }}\n" for name in NAMES)
    Path("s.toml").write_text(f"[columns]\n{bounds}", encoding="utf-8")
    assert "of encoded columns" in released(spend=["--rho", "1", "--schema", "s.toml"]).out
    assert json.loads(call("pca", "pca.json", "--json").out)["scales"] == dpcov.load("pca.json").units.tolist()


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("mechanism", [name for name in MECHANISMS if name not in ("auto", "screened")])
def test_a_dry_run_lists_the_questions_and_touches_nothing(
    mechanism: str, neighbors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spend = [*SPEND, "--delta", "1e-6", "--neighbors", neighbors, *MECHANISMS[mechanism]]
    released(spend=spend)
    real, before = dpcov.load("pca.json"), contents()

    def no_rows(*_: object) -> None:
        raise AssertionError("a row was read")

    monkeypatch.setattr("dpcov.sources.files.ParquetTable.batches", no_rows)
    words = ("release", "people.parquet", "--pca", "2", *spend, "--dry-run")
    facts, text = json.loads(call(*words, "--json").out), call(*words)
    assert [(entry["asked"], entry["noise"]) for entry in facts["asked"]] == [(s.asked, s.noise) for s in real.spent]
    assert [entry["budget"] for entry in facts["asked"]] == [spend.budget.to_json() for spend in real.spent]
    assert (facts["kind"], facts["mechanism"], facts["expected_error_times_n"]) == ("pca", real.mechanism, None)
    assert "nothing is spent" in text.out
    assert "Expected error" not in text.out
    assert contents() == before


@pytest.mark.parametrize("center", [[], ["--center"]])
@pytest.mark.parametrize("file", ["people.csv", pytest.param("people.parquet", marks=pytest.mark.audit)])
def test_a_dry_run_of_auto_names_what_it_would_run(file: str, center: list[str]) -> None:
    words = ("release", file, "--pca", "2", *SPEND, *center, "--dry-run")
    facts = json.loads(call(*words, "--json").out)
    assert facts["requested"] == "auto"
    assert facts["mechanism"] in dpcov.MECHANISMS["pca"]
    assert "may depend on" in call(*words).out


def test_a_long_chain_shows_its_progress(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    command = [*PROGRAM, "release", "people.csv", "--pca", "2", *SPEND, *CHAIN[:-1], "sweeps=3000", "-o", "pca.json"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        said = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            said += part
    os.close(ours)
    assert process.returncode == 0
    frames = said.split(b"drawing components")[1:]
    percents = {int(percent) for frame in frames for percent in re.findall(rb"(\d+)%", frame)}
    assert any(0 < percent < 100 for percent in percents)
    assert b"4000" not in said


def test_pictures_show_the_features_with_the_largest_loadings() -> None:
    loud = [3, 50, 77]
    rows = np.random.default_rng(0).normal(size=(500, 300)) * 0.01
    rows[:, loud] += np.random.default_rng(1).normal(size=(500, 1))
    dpcov.pca(rows, dpcov.PureDP(50), 2, row_norm=1, seed=0, mechanism="wishart").save("pca.json")
    shown, are_more = _features(dpcov.load("pca.json").pca())
    assert set(loud) <= set(shown.tolist())
    assert (len(shown), are_more) == (MOST_FEATURES, True)
    assert call("pca", "pca.json", "--plot", "pca.png").code == 0
    width, height = size("pca.png")
    assert 900 < width < 3000
    assert 600 < height < 1500


@pytest.mark.parametrize(
    ("d", "k", "mechanism"), [(2, 1, "eigenvectors"), (3, 2, "wishart"), (3, 2, "eigenvectors"), (40, 20, "wishart")]
)
def test_pictures_of_few_and_many_components(d: int, k: int, mechanism: str) -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(300, d)), columns=[f"$x_{{\x1b日{j}" for j in range(d)])
    release = dpcov.pca(frame, dpcov.PureDP(1), k, row_norm=1, seed=0, mechanism=mechanism)
    release.save("pca.json")
    assert call("pca", "pca.json", "--plot", "pca.png").code == 0
    assert call("show", "pca.json", "--plot", "show.png").code == 0
    assert Path("pca.png").read_bytes() == Path("show.png").read_bytes()
    assert 600 < min(size("pca.png")) < max(size("pca.png")) < 4000
