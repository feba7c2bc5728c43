"""``dpcov predict``: predictions and scores for new rows, which are the user's own."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dpcov
from dpcov.report.text import digits
from tests.cli.known_rows import contents
from tests.cli.linear_rows import COLUMNS, NEW, NOT_COVARIANCES, ROWS, assert_refusal, made, people
from tests.cli.shell import call, run

pytestmark = pytest.mark.usefixtures("releases")

ALPHA = ["--alpha", "0.001"]
HOURS = ["--target", "hours", *ALPHA]
REFUSED = {
    "no target": (["centred.json", "new.csv"], 2, "--target must be given"),
    "unknown target": (["centred.json", "new.csv", "--target", "wage"], 2, "--target must be among"),
    "unknown feature": (["centred.json", "new.csv", *HOURS, "--features", "wage"], 2, "--features must be among"),
    "a level twice": (
        ["centred.json", "new.csv", *HOURS, "--features", "sex,sex=Male"],
        2,
        "got 'sex=Male' twice. Hint: a column of levels stands for all of them.",
    ),
    "target among the features": (
        ["centred.json", "new.csv", *HOURS, "--features", "hours"],
        2,
        "--features must come from other columns",
    ),
    "negative alpha": (["centred.json", "new.csv", "--target", "hours", "--alpha", "-0.1"], 2, "'--alpha'"),
    "alpha of nan": (["centred.json", "new.csv", "--target", "hours", "--alpha", "nan"], 2, "'--alpha'"),
    "a missing column": (["centred.json", "short.csv", *HOURS], 2, "job"),
    "unknown levels": (["centred.json", "odd.csv", *HOURS], 2, "cells of column 'job' must be among its levels, got 2 others"),
    "text where numbers should be": (["centred.json", "text.parquet", *HOURS], 2, "column 'age' must be numeric"),
    "no such data": (["centred.json", "nowhere.csv", *HOURS], 4, "nowhere.csv"),
    "data of another kind": (["centred.json", "new.docx", *HOURS], 2, "must end in"),
    "another kind of output": (["centred.json", "new.csv", *HOURS, "-o", "out.parquet"], 2, "ends in .csv"),
    "an output that is there": (["centred.json", "new.csv", *HOURS, "-o", "short.csv"], 2, "must not exist yet"),
    "an output over the new data": (
        ["centred.json", "new.csv", *HOURS, "-o", "new.csv", "--force"],
        2,
        "must not be one of the input files",
    ),
    "an output in no folder": (["centred.json", "new.csv", *HOURS, "-o", "nowhere/out.csv"], 4, "folder"),
    "scores without the target": (["centred.json", "bare.csv", *HOURS, "--score"], 2, "the column 'hours' to be scored"),
    "scores of missing targets": (["centred.json", "none.csv", *HOURS, "--score"], 2, "got no value in any row"),
    "JSON of nothing": (["centred.json", "new.csv", *HOURS, "--json"], 2, "give --output or --score with --json"),
    **{
        f"of {file}": ([file, "new.csv", "--target", "hours"], 2, reason)
        for file, reason in NOT_COVARIANCES.items()
        if file != "one.json"
    },
}


def read(text: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(text))


@pytest.mark.parametrize("file", ["new.csv", "new.parquet"])
def test_predictions_are_the_library_s_in_the_order_of_rows(file: str) -> None:
    told = call("predict", "centred.json", file, *HOURS)
    assert (told.code, told.err) == (0, "")
    found = read(told.out)
    expected = made()["centred.json"].ridge("hours", alpha=0.001).predict(people(NEW, seed=2))
    assert list(found.columns) == ["hours"]
    assert found["hours"].to_numpy() == pytest.approx(expected, rel=5e-12)
    assert np.corrcoef(found["hours"], people(NEW, seed=2)["hours"])[0, 1] > 0.7
    digits = [len(line.replace(".", "").replace("-", "").lstrip("0")) for line in told.out.splitlines()[1:]]
    assert max(digits) == 12  # the next ones differ from one processor to another


def test_an_output_is_written_whole_and_told() -> None:
    printed = call("predict", "centred.json", "new.csv", *HOURS).out
    told = call("predict", "centred.json", "new.csv", *HOURS, "-o", "out.csv")
    error = made()["centred.json"].ridge("hours", alpha=0.001).residual_deviation
    away = f"People are about {digits(error)} away from theirs, r.m.s.; --level 0.95 adds intervals."
    assert (told.code, told.out, told.err) == (0, f"{NEW} predictions of hours written to out.csv. {away}\n", "")
    assert Path("out.csv").read_text(encoding="utf-8") == printed
    assert call("predict", "centred.json", "new.csv", *HOURS, "-o", "out.csv").code == 2
    other = call("predict", "centred.json", "new.csv", "--target", "age", "-o", "out.csv", "--force", "--quiet")
    assert (other.code, other.out, other.err) == (0, "", "")
    assert Path("out.csv").read_text(encoding="utf-8").startswith("age\n")


@pytest.mark.parametrize("file", ["new.csv", "new.parquet"])
def test_scores_are_those_of_the_new_rows(file: str) -> None:
    truth = people(NEW, seed=2)["hours"].to_numpy()
    predicted = read(call("predict", "centred.json", file, *HOURS).out)["hours"].to_numpy()
    error = float(np.mean((truth - predicted) ** 2))
    facts = json.loads(call("predict", "centred.json", file, *HOURS, "--score", "--json").out)
    assert facts["score"]["mean_squared_error"] == pytest.approx(error)
    assert facts["score"]["r2"] == pytest.approx(1 - error / truth.var())
    assert (facts["rows"], facts["score"]["rows"], facts["output"]) == (NEW, NEW, None)
    told = call("predict", "centred.json", file, *HOURS, "--score")
    assert (told.code, told.err) == (0, "")
    assert f"{error:.4g}" in told.out
    assert f"{1 - error / truth.var():.3f}" in told.out
    assert "about the new rows" in told.out
    assert 0.5 < facts["score"]["r2"] < 0.7


def test_scores_of_a_level_and_rows_without_it() -> None:
    frame = people(NEW, seed=2)
    frame.loc[:9, "sex"] = None
    frame.to_csv("gaps.csv", index=False)
    words = ("predict", "centred.json", "gaps.csv", "--target", "sex=Male", *ALPHA, "--score")
    facts = json.loads(call(*words, "-o", "out.csv", "--json").out)
    male = (frame["sex"][10:] == "Male").to_numpy()
    predicted = pd.read_csv("out.csv")["sex=Male"].to_numpy()
    assert len(predicted) == NEW
    assert facts["score"]["mean_squared_error"] == pytest.approx(np.mean((male - predicted[10:]) ** 2))
    assert facts["score"]["rows"] == NEW - 10
    assert "10 without it left out" in call(*words).out


def test_values_outside_the_bounds_count_as_the_bounds_and_gaps_as_the_middle() -> None:
    rows = [(100, "Male", "cook"), (60, "Male", "cook"), ("", "Male", "cook"), (40, "Male", "cook")]
    pd.DataFrame(rows, columns=["age", "sex", "job"]).to_csv("edge.csv", index=False)
    beyond, bound, gap, middle = read(call("predict", "centred.json", "edge.csv", *HOURS).out)["hours"]
    assert (beyond, gap) == (bound, middle)


def test_intervals_end_at_the_bounds_of_the_target() -> None:
    """Nobody works more than the most that a schema has, whatever the noise."""
    schema = dpcov.Schema(COLUMNS | {"hours": dpcov.Numeric(10, 60)})
    release = dpcov.covariance(people(ROWS, seed=0), dpcov.ZCDP(2), schema=schema, center=True, mechanism="gaussian", seed=1)
    release.save("sixty.json")
    told = call("predict", "sixty.json", "new.csv", *HOURS, "--level", "0.999")
    assert (told.code, told.err) == (0, "")
    found = read(told.out)
    assert (found["lower"] >= 10).all()
    assert found["upper"].max() == 60 > found["upper"].min()
    model = release.ridge("hours", alpha=0.001)
    inside = model.predict_interval(people(NEW, seed=2), 0.999)
    assert found["upper"].to_numpy() == pytest.approx(inside.upper, rel=5e-12)
    assert (inside.standard_error == model.residual_deviation).all()


def test_intervals_of_what_noise_drowns_hold_all_that_is_possible() -> None:
    schema = made()["centred.json"].schema
    dpcov.covariance(people(50, seed=3), dpcov.PureDP("0.01"), schema=schema, center=True, seed=1).save("drowned.json")
    told = call("predict", "drowned.json", "new.csv", "--target", "hours", "--level", "0.9")
    found = read(told.out)
    low, high = (ends[-1] for ends in schema.bounds())  # type: ignore[union-attr]
    assert set(found["lower"]) == {low}
    assert set(found["upper"]) == {high}
    why = "noise drowns the deviation of hours, so nobody knows how far people are from predictions"
    assert f"dpcov: the intervals hold all that is possible: {why}.\n" in told.err
    assert call("predict", "drowned.json", "new.csv", "--target", "hours", "--level", "0.9", "--quiet").err == ""


def test_names_with_commas_are_quoted() -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 2)), columns=["a,b", 'c"d'])
    dpcov.covariance(frame, dpcov.ZCDP(1), row_norm=2, center=True, mechanism="gaussian", seed=0).save("odd.json")
    frame.to_csv("odd.csv", index=False)
    told = call("predict", "odd.json", "odd.csv", "--target", "a,b", "--features", '"c""d"', *ALPHA)
    assert told.code == 0, told.err
    assert list(read(told.out).columns) == ["a,b"]


def test_one_released_regression_predicts() -> None:
    found = read(call("predict", "one.json", "new.csv").out)["hours"].to_numpy()
    assert found == pytest.approx(made()["one.json"].ridge().predict(people(NEW, seed=2)), rel=5e-12)


def test_no_rows_have_no_predictions() -> None:
    Path("empty.csv").write_text("age,sex,job\n", encoding="utf-8")
    assert call("predict", "centred.json", "empty.csv", *HOURS).out == "hours\n"


def test_predictions_in_a_process_of_its_own(tmp_path: Path) -> None:
    done = run("predict", "centred.json", "new.csv", *HOURS, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert len(done.out.splitlines()) == NEW + 1


def test_new_data_are_read_and_left_as_they_are() -> None:
    before = contents()
    assert call("predict", "centred.json", "new.csv", *HOURS, "--score").code == 0
    assert contents() == before


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_predicted_is_refused(case: str) -> None:
    frame = people(5, seed=2)
    frame.drop(columns="job").to_csv("short.csv", index=False)
    frame.drop(columns="hours").to_csv("bare.csv", index=False)
    frame.assign(hours="").to_csv("none.csv", index=False)
    frame.assign(age="young").to_parquet("text.parquet")
    frame.assign(job=["pilot", "cook", "SECRET", "nurse", ""]).to_csv("odd.csv", index=False)
    Path("new.docx").write_bytes(b"")
    arguments, code, reason = REFUSED[case]
    assert_refusal(["predict", *arguments], code, reason)


def test_a_model_of_nothing_is_said_to_predict_a_constant() -> None:
    told = call("predict", "centred.json", "--target", "hours", "new.csv", "--alpha", "1e6", "-o", "flat.csv")
    assert told.code == 0
    assert told.err.startswith("dpcov: nothing can be seen: the noise of the release is too large")
    assert told.err.endswith("The predictions are almost constant.\n")
    assert call("predict", "centred.json", "--target", "hours", "new.csv", "--alpha", "1e6", "-o", "q.csv", "--quiet").err == ""
