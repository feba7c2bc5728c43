"""What ``dpcov release --pca`` and ``dpcov pca`` refuse: the right exit code, one line, and every file as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

import dpcov
from tests.cli.known_rows import CHAIN, ROWS, SPEND, contents, covariance, released
from tests.cli.shell import assert_refused, call

pytestmark = pytest.mark.usefixtures("known_rows")

OUTPUT = ["-o", "out.json"]
PCA = ["people.csv", *SPEND, *OUTPUT, "--pca"]
RELEASES = {
    "no component": ([*PCA, "0"], 2, "--pca must be an integer from 1 to 5"),
    "fewer than none": ([*PCA, "-1"], 2, "--pca must be an integer from 1 to 5"),
    "as many as columns": ([*PCA, "6"], 2, "--pca must be an integer from 1 to 5"),
    "as many as chosen columns": ([*PCA, "2", "--columns", "age,sleep"], 2, "--pca must be an integer from 1 to 1"),
    "half a component": ([*PCA, "1.5"], 2, "--pca"),
    "a single column": ([*PCA, "1", "--columns", "age"], 2, "at least two columns"),
    "postprocess": ([*PCA, "2", "--postprocess", "clip"], 2, "--postprocess cannot be used with --pca"),
    "k by another way": ([*PCA, "2", "--option", "k=3"], 2, "with --pca, not with --option"),
    "mechanism of covariances": ([*PCA, "2", "--mechanism", "laplace"], 2, "mechanism must be one of"),
    "mechanism of components": (["people.csv", *SPEND, *OUTPUT, "--mechanism", "ppca"], 2, "give --pca K with it"),
    "mod-sulq without delta": ([*PCA, "2", "--mechanism", "mod-sulq"], 2, "must be --epsilon with --delta, got --epsilon 1."),
    "a chain that nobody accepted": ([*PCA, "2", "--mechanism", "ppca"], 2, "approximate must be True"),
    "no sweeps": ([*PCA, "2", *CHAIN[:4], "--option", "sweeps=0"], 2, "sweeps must be"),
    "option of another mechanism": ([*PCA, "2", "--option", "sweeps=9"], 2, "options of 'auto'"),
    "centred directions": ([*PCA, "2", "--center", "--mechanism", "eigenvectors"], 2, "center must be False"),
    "no public knowledge": (["people.csv", "--epsilon", "1", *OUTPUT, "--pca", "2"], 2, "--row-norm or --schema"),
    "no budget": (["people.csv", "--row-norm", "1", *OUTPUT, "--pca", "2"], 2, "--epsilon"),
    "no such data": (["nowhere.csv", *SPEND, *OUTPUT, "--pca", "2"], 4, "nowhere.csv"),
    "an earlier release": (["people.csv", *SPEND, "--pca", "2", "-o", "kept.json"], 2, "an existing release was paid for"),
}
TELLING = {
    "more than are held": (["drawn.json", "-k", "3"], 2, "must hold 3 components, got 2"),
    "more than there are features": (["pca.json", "-k", "7"], 2, "-k must be an integer from 1 to 6"),
    "none": (["pca.json", "-k", "0"], 2, "neither a number of components"),
    "neither a number nor a part": (["pca.json", "-k", "1.5"], 2, "neither a number of components"),
    "all of the variance": (["pca.json", "-k", "1.0"], 2, "neither a number of components"),
    "a negative part": (["pca.json", "-k", "-0.5"], 2, "neither a number of components"),
    "nan": (["pca.json", "-k", "nan"], 2, "neither a number of components"),
    "a mean": (["mean.json"], 2, "got a mean"),
    "a missing file": (["nowhere.json"], 4, "nowhere.json"),
    "no release": (["people.csv"], 2, "release"),
    "a picture of another kind": (["pca.json", "--plot", "pca.jpg"], 2, "ends in .png, .svg or .pdf"),
    "a picture in no folder": (["pca.json", "--plot", "nowhere/pca.png"], 4, "folder"),
    "a picture over the release": (["kept.png", "--plot", "kept.png"], 2, "must not be one of the input files"),
    "two pictures in one": (
        ["chain.json", "--plot", "a.png", "--convergence", "a.png"],
        2,
        "dpcov: --convergence must be a different file from --plot",
    ),
    "chains without a picture": (["chain.json", "--chains", "3"], 2, "--convergence"),
    "no chains": (["chain.json", "--convergence", "c.png", "--chains", "0"], 2, "--chains"),
    "convergence of noise": (["pca.json", "--convergence", "c.png"], 2, "drawn by a Markov chain"),
    "convergence of one exact draw": (["one.json", "--convergence", "c.png"], 2, "drawn by a Markov chain"),
    "convergence of a random subspace": (["random.json", "--convergence", "c.png"], 2, "drawn by a Markov chain"),
    "convergence of a covariance": (["covariance.json", "--convergence", "c.png"], 2, "drawn by a Markov chain"),
    "both pictures, of which one cannot be": (["pca.json", "--plot", "a.png", "--convergence", "c.png"], 2, "Markov chain"),
}


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
@pytest.mark.parametrize("case", RELEASES)
def test_a_release_is_refused_before_anything_is_spent(case: str, dry: list[str]) -> None:
    arguments, code, reason = RELEASES[case]
    Path("kept.json").write_text("paid for", encoding="utf-8")
    before = contents()
    refused = call("release", *arguments, *dry)
    assert_refused(refused, code)
    assert reason in refused.err
    assert contents() == before


@pytest.fixture
def _releases(known_rows: None) -> None:  # noqa: ARG001 - they are made in its folder
    budget = dpcov.PureDP(1)
    for name, k, mechanism in (
        ("pca", 2, "wishart"),
        ("drawn", 2, "eigenvectors"),
        ("one", 1, "ppca"),
        ("random", 2, "random"),
    ):
        dpcov.pca(ROWS, budget, k, row_norm=1, mechanism=mechanism, seed=0).save(f"{name}.json")
    dpcov.pca(ROWS, budget, 2, row_norm=1, mechanism="ppca", approximate=True, sweeps=5, seed=0).save("chain.json")
    dpcov.mean(ROWS, budget, radius=1, seed=0).save("mean.json")
    covariance(mechanism="wishart").save("kept.png")


@pytest.mark.usefixtures("_releases")
@pytest.mark.parametrize("case", TELLING)
def test_what_a_release_cannot_tell_is_refused(case: str) -> None:
    arguments, code, reason = TELLING[case]
    before = contents()
    refused = call("pca", *arguments)
    assert_refused(refused, code)
    assert reason in refused.err
    assert contents() == before


@pytest.mark.usefixtures("_releases")
def test_show_draws_no_picture_over_the_release() -> None:
    before = contents()
    assert_refused(call("show", "kept.png", "--plot", "kept.png"), 2)
    assert contents() == before


def test_force_replaces_an_earlier_release() -> None:
    released()
    first = Path("pca.json").read_bytes()
    assert_refused(call("release", *PCA[:5], "--pca", "2", "-o", "pca.json"), 2)
    assert Path("pca.json").read_bytes() == first
    released("--force", k=3)
    assert len(dpcov.load("pca.json").components) == 3
