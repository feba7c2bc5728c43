"""``dpcov ridge`` tells models of a release, from the file alone; ``dpcov show`` tells a released one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcov
from dpcov.report.text import finite, rounded
from tests.cli.known_rows import size
from tests.cli.linear_rows import FEATURES, MALE, SLOPE, assert_only_the_release_is_opened, assert_refusal, made
from tests.cli.shell import call

pytestmark = pytest.mark.usefixtures("releases")

HOURS = ["ridge", "centred.json", "--target", "hours"]
REFUSED = {
    "no target": (["centred.json"], 2, "--target must be given"),
    "unknown target": (["centred.json", "--target", "wage"], 2, "--target must be among the features"),
    "column of levels as a target": (["centred.json", "--target", "job"], 2, "--target must be one feature"),
    "unknown feature": ([*HOURS[1:], "--features", "age,wage"], 2, "--features must be among the features"),
    "target among the features": ([*HOURS[1:], "--features", "age,hours"], 2, "--features must come from other columns"),
    "a level of the target's column": (
        ["centred.json", "--target", "sex=Male", "--features", "sex=Female"],
        2,
        "--features must come from other columns",
    ),
    "a feature twice": ([*HOURS[1:], "--features", "sex,sex=Male"], 2, "--features must differ"),
    "no feature": ([*HOURS[1:], "--features", ""], 2, "--features needs names"),
    "negative alpha": ([*HOURS[1:], "--alpha", "-1"], 2, "'--alpha'"),
    "alpha that is no number": ([*HOURS[1:], "--alpha", "nan"], 2, "'--alpha'"),
    "infinite alpha": ([*HOURS[1:], "--alpha", "inf"], 2, "'--alpha'"),
    "alpha by a word": ([*HOURS[1:], "--alpha", "best"], 2, "'--alpha'"),
    "enormous alpha": ([*HOURS[1:], "--alpha", "1e305"], 2, "--alpha must be 0 or more"),
    "a level of 1": ([*HOURS[1:], "--level", "1"], 2, "'--level'"),
    "a level of nan": ([*HOURS[1:], "--level", "nan"], 2, "'--level'"),
    "a mean": (["mean.json", "--target", "x0"], 2, "got a mean"),
    "components": (["pca.json", "--target", "hours"], 2, "got components"),
    "a single column": (["single.json", "--target", "age"], 2, "two columns or more"),
    "another target of one model": (["one.json", "--target", "age"], 2, "got only that of 'hours'"),
    "another alpha of one model": (["one.json", "--alpha", "3"], 2, "`dpcov release` has all models"),
    "no release": (["new.csv", "--target", "hours"], 2, "release"),
    "a missing file": (["nowhere.json", "--target", "hours"], 4, "nowhere.json"),
    "a picture of another kind": ([*HOURS[1:], "--plot", "model.jpg"], 2, "ends in .png, .svg or .pdf"),
    "a picture in no folder": ([*HOURS[1:], "--plot", "nowhere/model.png"], 4, "folder"),
    "a picture over the release": (
        ["kept.png", "--target", "hours", "--plot", "kept.png"],
        2,
        "must not be one of the input files",
    ),
}


def facts(*words: str) -> dict[str, Any]:
    told = call(*words, "--json")
    assert (told.code, told.err) == (0, "")
    return dict(json.loads(told.out))


@pytest.mark.parametrize("alpha", ["auto", "0.001", "0"])
def test_the_model_is_the_library_s(alpha: str) -> None:
    release = made()["centred.json"]
    model = release.ridge("hours", alpha=alpha if alpha == "auto" else float(alpha))
    found = facts(*HOURS, "--alpha", alpha)
    intervals = model.interval(0.95)
    interval = intervals.coefficients
    assert intervals.intercept is not None
    assert found["coefficients"] == model.coefficients.tolist()
    assert found["encoded_coefficients"] == model.encoded_coefficients.tolist()
    assert (found["intercept"], found["alpha"], found["target"]) == (model.intercept, model.alpha, "hours")
    assert sorted([*found["features"], *found["references"]]) == sorted(FEATURES[:-1])
    assert [name.split("=")[0] for name in found["references"]] == ["sex", "job"]
    assert found["interval"] == {
        name: finite(getattr(interval, name)) for name in ("estimate", "lower", "upper", "standard_error")
    }
    assert found["intercept_interval"]["lower"] == finite(intervals.intercept.lower)
    assert found["bound"] == (model.bound(0.95) if np.isfinite(model.bound(0.95)) else None)
    assert (found["statement"], found["no_interval"]) == (release.statement(), None)


def test_what_people_read_of_a_model() -> None:
    told = call(*HOURS)
    assert (told.code, told.err) == (0, "")
    model = made()["centred.json"].ridge("hours")
    assert model.alpha == 0
    assert "Model: hours from 4 features of 3 columns; alpha 0, chosen by auto; intercept" in told.out
    intervals = model.interval(0.95).coefficients
    assert intervals.estimate == pytest.approx(model.coefficients)  # what is printed is what intervals are around
    clear = np.abs(intervals.estimate) > 3.4 * intervals.standard_error  # three for one, more for the largest of four
    assert 0 < clear.sum() < 4
    numbers = [rounded(*pair)[0] for pair in zip(intervals.estimate, intervals.standard_error, strict=True)]
    assert all(f"│ {number} │" in re.sub(" +", " ", told.out) for number, shown in zip(numbers, clear, strict=True) if shown)
    drowned = int(4 - clear.sum())
    assert f"... and {drowned} that may be noise (--all lists {'them' if drowned > 1 else 'it'})" in told.out
    everything = call(*HOURS, "--all").out
    assert everything.count("≈ noise │") == 2 * drowned  # the coefficient, and over its range
    own = model.interval(0.95).intercept
    assert own is not None
    assert f"intercept {rounded(float(own.estimate), float(own.standard_error))[0]} (95 % interval" in told.out
    assert made()["centred.json"].statement() in told.out
    for word in (
        "over its range",
        "95 % interval",
        "Explained: ",
        "Intervals: about the population, over the noise and the draw of rows; each holds on its own.",
        f"Levels are compared with {', '.join(model.references)}.",
    ):
        assert word in told.out
    for word in ("Intervals: for what ridge with alpha", "penalised", "uses those of the model"):
        assert word in call(*HOURS, "--alpha", "0.001", "--about", "rows").out
        assert word not in told.out
    assert "Intervals: for least squares on the exact matrix" in call(*HOURS, "--about", "rows").out
    assert "alpha 0:" not in told.out
    assert "No intercept" not in told.out
    assert "nearer to the truth" not in told.out


def test_the_model_is_true_and_its_parts_agree() -> None:
    found = made()["centred.json"].ridge("hours", alpha=1e-4)
    by_name = dict(zip(found.feature_names, found.coefficients, strict=True))
    assert by_name["age"] == pytest.approx(SLOPE, abs=0.05)
    assert by_name.get("sex=Male", 0.0) - by_name.get("sex=Female", 0.0) == pytest.approx(MALE, abs=1)
    told = facts(*HOURS, "--alpha", "1e-4")
    assert told["effects"]["values"][0] == pytest.approx(40 * by_name["age"])
    truth = (21.3 + 8.6) / (21.3 + 8.6 + 21.3)  # variances by age, by sex, and of the rest
    assert abs(told["explained"] - truth) < 0.1


def test_intervals_that_say_nothing_are_for_machines_only() -> None:
    rows = np.random.default_rng(0).normal(size=(400, 5)) * 0.3 + np.random.default_rng(1).normal(size=(400, 1))
    dpcov.covariance(rows, dpcov.ZCDP("0.1"), row_norm=3, mechanism="gaussian", seed=0).save("noisy.json")
    told = call("ridge", "noisy.json", "--target", "x0", "--alpha", "0.001")
    assert "Intervals: too wide to help" in told.out
    assert "95 % interval" not in told.out
    assert "│" not in told.out  # and no coefficient, as none is clear of noise
    assert facts("ridge", "noisy.json", "--target", "x0", "--alpha", "0.001")["interval"] is not None


def test_a_model_that_predicts_nothing_says_so() -> None:
    told = call(*HOURS, "--alpha", "1e6").out
    assert "Nothing can be seen: the noise of the release is too large to tell how hours depends on" in told
    assert "│" not in told  # no table of 1e-13
    assert facts(*HOURS, "--alpha", "1e6")["nothing_seen"]
    everything = call(*HOURS, "--alpha", "1e6", "--all").out
    assert everything.count("≈ noise │") == 8  # four coefficients, and over their ranges


def test_alpha_0_is_explained_where_noise_is_not_small() -> None:
    rows = np.random.default_rng(0).normal(size=(400, 5)) * 0.3 + np.random.default_rng(1).normal(size=(400, 1))
    dpcov.covariance(rows, dpcov.ZCDP("0.5"), row_norm=3, mechanism="gaussian", seed=0).save("drowned.json")
    told = call("ridge", "drowned.json", "--target", "x0", "--alpha", "0")
    assert "alpha 0: the noisy matrix is trusted as if it were exact" in told.out
    told = call(*HOURS, "--alpha", "0")
    assert "trusted as if it were exact" not in told.out
    assert "chosen by auto" not in told.out


def test_features_and_levels_are_chosen_by_name() -> None:
    found = facts("ridge", "centred.json", "--target", "sex=Male", "--features", "hours,job", "--alpha", "0.001")
    assert sorted([*found["features"][1:], *found["references"]]) == ["job=clerk", "job=cook", "job=nurse"]
    assert (found["features"][0], len(found["references"]), found["columns"]) == ("hours", 1, ["hours", "job"])
    single = facts("ridge", "centred.json", "--target", "sex=Male", "--features", "hours,job=nurse", "--alpha", "0.001")
    assert (single["features"], single["references"]) == (["hours", "job=nurse"], [])
    told = call("ridge", "centred.json", "--target", "sex=Male", "--features", "hours", "--alpha", "0.001")
    assert "Model: sex=Male (1 where it is so, else 0) from 1 feature; alpha 0.001; intercept" in told.out


def test_the_level_is_that_of_intervals_and_bound() -> None:
    model = made()["centred.json"].ridge("hours", alpha=0.01)
    assert (
        facts(*HOURS, "--alpha", "0.01", "--level", "0.5")["interval"]["lower"]
        == model.interval(0.5).coefficients.lower.tolist()
    )
    assert facts(*HOURS, "--alpha", "0.01", "--level", "50%") == facts(*HOURS, "--alpha", "0.01", "--level", "0.5")
    assert "50 % interval" in call(*HOURS, "--alpha", "0.01", "--level", "0.5").out


@pytest.mark.parametrize(("file", "reason"), [("rounds.json", "got answers in rounds"), ("drawn.json", "got drawn directions")])
def test_a_model_without_intervals_says_why(file: str, reason: str) -> None:
    told = call("ridge", file, "--target", "half", "--alpha", "1")
    assert (told.code, told.err) == (0, "")
    assert f"No intervals: release must hold one noisy second moment for intervals, {reason}" in told.out.replace(
        "hold a noisy", "hold one noisy"
    )
    assert "Bound:" not in told.out
    found = facts("ridge", file, "--target", "half", "--alpha", "1")
    assert (found["interval"], found["bound"]) == (None, None)
    assert reason in str(found["no_interval"])


def test_an_uncentred_release_has_no_intercept_and_another_measure() -> None:
    told = call("ridge", "about0.json", "--target", "hours", "--alpha", "0.01")
    assert "no intercept." in told.out
    assert "No intercept: the release is not centred. --center at the release gives one." in told.out
    assert "% of the second moment" in told.out
    assert "per root mean square" in call("ridge", "drawn.json", "--target", "half", "--alpha", "1").out
    assert "per standard deviation" in call("ridge", "numbers.json", "--target", "half", "--alpha", "1").out


def test_long_lists_are_cut_unless_all_is_asked_for() -> None:
    rows = np.random.default_rng(0).normal(size=(5000, 30))
    rows[:, 0] = rows[:, 1:].mean(axis=1)
    dpcov.covariance(rows, dpcov.ZCDP(100), row_norm=6, mechanism="gaussian", seed=0).save("wide.json")
    words = ("ridge", "wide.json", "--target", "x0", "--alpha", "0.1")
    assert "and 9 more features" in call(*words).out
    full = call(*words, "--all")
    assert "more features" not in full.out
    assert all(f"│ x{j} " in full.out for j in range(1, 30))
    assert call(*words, "--plot", "wide.png").out.endswith("Written to wide.png.\n")
    assert 600 < min(size("wide.png")) < max(size("wide.png")) < 2000


@pytest.mark.parametrize("file", ["centred.json", "one.json", "rounds.json"])
def test_pictures_are_drawn_with_and_without_intervals(file: str) -> None:
    target = "half" if file == "rounds.json" else "hours"
    words = ["--target", target] if file != "one.json" else []
    assert call("ridge", file, *words, "--plot", "model.png").code == 0
    assert 300 < min(size("model.png")) < max(size("model.png")) < 2000


def test_one_released_regression_is_told_shown_and_drawn() -> None:
    release = made()["one.json"]
    model = release.ridge()
    for words in (["ridge", "one.json"], ["show", "one.json"]):
        told = call(*words)
        assert (told.code, told.err) == (0, "")
        assert "Model: hours from 6 features of 3 columns; alpha 0.01; no intercept." in told.out
        intervals = model.interval(0.95, about="rows").coefficients
        clear = np.abs(intervals.estimate) > 3.6 * intervals.standard_error
        assert clear.sum() > 0
        numbers = zip(intervals.estimate[clear], intervals.standard_error[clear], strict=True)
        assert all(rounded(*number)[0] in told.out for number in numbers)
        assert "Eigenvalues" not in told.out
        found = facts(*words)
        assert found["coefficients"] == model.coefficients.tolist()
        assert (found["kind"], found["explained"]) == ("ridge", None)
    assert call("show", "one.json", "--plot", "one.png").code == 0
    assert call("ridge", "one.json", "--plot", "other.png").code == 0
    assert Path("one.png").read_bytes() == Path("other.png").read_bytes()


def test_one_released_regression_has_no_components() -> None:
    assert_refusal(["pca", "one.json"], 2, "release must hold a covariance or components, got one regression")


def test_names_are_printed_safely() -> None:
    import pandas as pd

    rows = np.random.default_rng(0).normal(size=(3000, 3)) + np.random.default_rng(1).normal(size=(3000, 1))
    frame = pd.DataFrame(rows, columns=["\x1b[31m\n", "[red]x[/red]", "$x_{日"])
    dpcov.covariance(frame, dpcov.ZCDP(1), row_norm=2, mechanism="gaussian", seed=0).save("odd.json")
    for command in (["ridge", "odd.json", "--target", "$x_{日", "--plot", "odd.png"], ["correlation", "odd.json"]):
        told = call(*command)
        assert told.code == 0, told.err
        assert "\x1b" not in told.out
        assert "[red]x[/red]" in told.out


@pytest.mark.parametrize("words", [[], ["--json"], ["--plot", "p.png"], ["--alpha", "0.1"]])
def test_no_data_are_opened(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert_only_the_release_is_opened(monkeypatch, *HOURS, *words)


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_told_is_refused(case: str) -> None:
    arguments, code, reason = REFUSED[case]
    assert_refusal(["ridge", *arguments], code, reason)
