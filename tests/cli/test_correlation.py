"""``dpcov correlation``: which columns go together, from a release alone."""

from __future__ import annotations

import json

import numpy as np
import pytest

import dpcov
from tests.cli.known_rows import size
from tests.cli.linear_rows import (
    FEATURES,
    NOT_COVARIANCES,
    assert_only_the_release_is_opened,
    assert_refusal,
    made,
)
from tests.cli.shell import call

pytestmark = pytest.mark.usefixtures("releases")

REFUSED = {
    "no pairs": (["centred.json", "--top", "0"], 2, "--top"),
    "no release": (["new.csv"], 2, "release"),
    "a missing file": (["nowhere.json"], 4, "nowhere.json"),
    "a picture of another kind": (["centred.json", "--plot", "c.jpg"], 2, "ends in .png, .svg or .pdf"),
    "a picture in no folder": (["centred.json", "--plot", "nowhere/c.png"], 4, "folder"),
    "a picture over the release": (["kept.png", "--plot", "kept.png"], 2, "must not be one of the input files"),
    **{f"of {file}": ([file], 2, reason) for file, reason in NOT_COVARIANCES.items()},
}


def test_the_largest_pairs_are_of_different_columns() -> None:
    release = made()["centred.json"]
    facts = json.loads(call("correlation", "centred.json", "--json").out)
    assert facts["correlation"] == release.correlation().tolist()
    found = release.describe()
    assert found.correlation is not None
    assert facts["standard_error"] == found.correlation.standard_error.tolist()
    assert facts["clear_of_noise"] == found.correlation.clear.tolist()
    assert (facts["feature_names"], facts["of"]) == (list(FEATURES), "correlation")
    values = [abs(pair["correlation"]) - 2 * pair["standard_error"] for pair in facts["largest"]]
    assert values == sorted(values, reverse=True)
    assert facts["largest"][0]["features"] == ["age", "hours"]
    assert facts["largest"][0]["correlation"] == pytest.approx(0.65, abs=0.1)
    assert 0 < facts["largest"][0]["standard_error"] < 0.05
    columns = [[name.partition("=")[0] for name in pair["features"]] for pair in facts["largest"]]
    assert all(first != second for first, second in columns)
    assert facts["pairs"] == 7 * 6 // 2 - 1 - 3  # all but those within sex and job
    assert 3 <= len(columns) == len(found.pairs()) < facts["pairs"]
    assert all(abs(pair["correlation"]) > 3 * pair["standard_error"] for pair in facts["largest"])


def test_what_people_read_of_correlations() -> None:
    told = call("correlation", "centred.json", "--top", "2")
    assert (told.code, told.err) == (0, "")
    matrix = made()["centred.json"].correlation()
    assert f"{matrix[0, 6]:.2f}" in told.out
    assert "Means: 7 of 7 clear of noise. Deviations: 2 of 2. Correlations: 3 of 17." in told.out
    assert "A missing cell counts in a column of numbers as the midpoint of its bounds, in one of levels" in told.out
    assert "and 1 more pair clear of noise" in told.out
    assert "more pair" not in call("correlation", "centred.json").out


def test_where_nothing_is_clear_no_pair_is_listed() -> None:
    rows = np.random.default_rng(0).normal(size=(178, 6))
    dpcov.covariance(rows, dpcov.PureDP("0.1"), row_norm=3, center=True, mechanism="wishart", seed=0).save("drowned.json")
    told = call("correlation", "drowned.json", "--plot", "drowned.png")
    assert "No correlation is clear of noise, so none is listed." in told.out
    assert "│" not in told.out
    facts = json.loads(call("correlation", "drowned.json", "--json").out)
    assert (facts["pairs"], facts["largest"]) == (15, [])
    shown = call("show", "drowned.json").out
    assert "Means: 0 of 6 clear of noise. Deviations: 0 of 6. Correlations: 0 of 15." in shown
    assert shown.count("≈ noise │") == 12


def test_a_release_without_a_mean_has_cosines() -> None:
    told = call("correlation", "about0.json")
    assert "cosines between columns that are clear of noise" in told.out
    assert "--center at the release gives correlations" in told.out
    assert json.loads(call("correlation", "about0.json", "--json").out)["of"] == "cosine"


@pytest.mark.parametrize("file", ["rounds.json", "drawn.json"])
def test_releases_without_intervals_have_correlations(file: str) -> None:
    told = call("correlation", file)
    assert (told.code, told.err) == (0, "")
    assert json.loads(call("correlation", file, "--json").out)["largest"][0]["standard_error"] > 0


def test_a_single_column_has_no_pairs() -> None:
    assert "There is only one column" in call("correlation", "single.json", "--plot", "c.png").out
    assert json.loads(call("correlation", "single.json", "--json").out)["largest"] == []


@pytest.mark.parametrize("kind", ["few", "levels", "many levels", "many"])
def test_pictures_of_few_and_many_features(kind: str) -> None:
    columns: dict[str, dpcov.Numeric | dpcov.Categorical] = {"$x_{日": dpcov.Numeric(-1, 1), "y": dpcov.Numeric(-1, 1)}
    if kind == "levels":
        columns["z"] = dpcov.Categorical(["a", "b", "c"])
    if kind == "many levels":
        columns |= {"u": dpcov.Categorical([f"u{j}" for j in range(60)]), "z": dpcov.Categorical(["a", "b"])}
    if kind == "many":
        columns |= {f"x{j}": dpcov.Numeric(-1, 1) for j in range(170)}
    import pandas as pd

    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            name: random.uniform(-1, 1, 200) if isinstance(c, dpcov.Numeric) else random.choice(list(c.names), 200)
            for name, c in columns.items()
        }
    )
    release = dpcov.covariance(
        frame, dpcov.ZCDP(1), schema=dpcov.Schema(columns), center=True, mechanism="gaussian", postprocess="none", seed=0
    )
    release.save("r.json")
    told = call("correlation", "r.json", "--plot", "c.png")
    assert (told.code, told.err) == (0, "")
    assert told.out.endswith("Written to c.png.\n")
    assert 600 < min(size("c.png")) < max(size("c.png")) < 2500


@pytest.mark.parametrize("words", [[], ["--json"], ["--plot", "p.png"]])
def test_no_data_are_opened(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert_only_the_release_is_opened(monkeypatch, "correlation", "centred.json", *words)


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_told_is_refused(case: str) -> None:
    arguments, code, reason = REFUSED[case]
    assert_refusal(["correlation", *arguments], code, reason)
