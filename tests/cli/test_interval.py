"""``dpcov interval``: how far noise may have moved what a release tells, from the release alone."""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa
import pytest

import dpcov
from dpcov.report.text import finite, rounded, span
from tests.cli.known_rows import size
from tests.cli.linear_rows import (
    NOT_COVARIANCES,
    assert_only_the_release_is_opened,
    assert_refusal,
    made,
)
from tests.cli.shell import call

pytestmark = pytest.mark.usefixtures("releases")

KEYS = {"mean": "mean", "variances": "variances", "entries": "covariance", "eigenvalues": "eigenvalues"}
REFUSED = {
    "a level above 1": (["centred.json", "--level", "95"], 2, "'--level'"),
    "a level of 0": (["centred.json", "--level", "0"], 2, "'--level'"),
    "a level of nan": (["centred.json", "--level", "nan"], 2, "'--level'"),
    "of something else": (["centred.json", "--of", "medians"], 2, "--of"),
    "means without a mean": (["about0.json", "--of", "mean"], 2, "must be centred for means"),
    "means without a mean, and how to get one": (["about0.json", "--of", "mean"], 2, "Hint: make it with --center."),
    "answers in rounds": (["rounds.json"], 2, "got answers in rounds"),
    "drawn directions": (["drawn.json"], 2, "got drawn directions"),
    "no release": (["new.csv"], 2, "release"),
    "a missing file": (["nowhere.json"], 4, "nowhere.json"),
    "a picture of another kind": (["centred.json", "--plot", "c.jpg"], 2, "ends in .png, .svg or .pdf"),
    "a picture over the release": (["kept.png", "--plot", "kept.png"], 2, "must not be one of the input files"),
    **{f"of {file}": ([file], 2, reason) for file, reason in NOT_COVARIANCES.items()},
}


@pytest.mark.parametrize("about", ["population", "rows"])
@pytest.mark.parametrize("of", KEYS)
def test_intervals_are_the_library_s(of: str, about: str) -> None:
    found = made()["centred.json"].interval(0.9, about)
    chosen = ["--about", "rows"] if about == "rows" else []
    facts = json.loads(call("interval", "centred.json", "--of", of, "--level", "0.9", *chosen, "--json").out)
    assert (facts["level"], facts["about"]) == (0.9, found.about)
    assert set(KEYS.values()) & set(facts) == {KEYS[of]}
    for name in ("estimate", "lower", "upper", "standard_error"):
        assert facts[KEYS[of]][name] == getattr(getattr(found, of), name).tolist()


def test_what_people_read_of_intervals() -> None:
    told = call("interval", "centred.json")
    assert (told.code, told.err) == (0, "")
    found = made()["centred.json"].interval(0.95)
    assert found.mean is not None
    numbers = [0, 6]  # the variance of a level follows from its share
    variances = zip(found.entries.estimate.diagonal()[numbers], found.entries.standard_error.diagonal()[numbers], strict=True)
    for number in (*zip(found.mean.estimate, found.mean.standard_error, strict=True), *variances):
        assert rounded(*number)[0] in told.out
    assert "The variance of a level follows from its share p: p(1 − p)." in told.out
    assert span(found.mean.lower[0], found.mean.upper[0]) in told.out
    assert f"About: {found.about}." in told.out
    assert "95 % interval" in told.out


def test_means_lie_within_their_bounds() -> None:
    """A share below 0, or an age above the oldest, is impossible, whatever the noise."""
    schema = dpcov.Schema({"age": dpcov.Numeric(18, 90), "sex": dpcov.Categorical(["f", "m", "x"])})
    people = {"age": np.linspace(20.0, 80.0, 400), "sex": ["f", "m"] * 200}
    for seed in range(3):
        dpcov.covariance(pa.table(people), dpcov.PureDP("0.1"), schema=schema, seed=seed).save(f"few{seed}.json")
        found = json.loads(call("interval", f"few{seed}.json", "--of", "mean", "--json").out)["mean"]
        low, high = schema.bounds()
        assert np.all((low <= found["lower"]) & (np.array(found["lower"]) <= found["upper"]) & (found["upper"] <= high))


def test_a_variance_of_which_nothing_is_left_is_noise() -> None:
    """Where a noisy variance is so far below 0 that its interval is, too, it would read "0 to 0"."""
    rows = np.random.default_rng(1).normal(size=(200, 5)) * 1e-3
    for seed in range(20):
        release = dpcov.covariance(rows, dpcov.ZCDP("0.1"), row_norm=1, center=True, mechanism="gaussian", seed=seed)
        found = release.interval(0.5, about="rows").variances
        if (found.upper == 0).any():
            break
    release.save("below.json")
    told = call("interval", "below.json", "--of", "variances", "--level", "0.5", "--about", "rows", "--all").out
    assert (found.upper == 0).sum() == len(re.findall(r"≈ noise │ +[0-9.]+ │ +≈ noise │", told)) > 0
    assert "0 to 0 " not in told


def test_entries_stand_in_the_order_in_which_they_are_clear() -> None:
    told = call("interval", "centred.json", "--of", "entries").out
    assert "and 1 more" in told
    assert "more" not in call("interval", "centred.json", "--of", "entries", "--all").out
    first, second = (told.index(words) for words in ("sex=Female", "job=nurse"))
    assert first < second  # the levels of sex exclude each other, which noise cannot hide


def test_an_uncentred_release_has_second_moments_only() -> None:
    told = call("interval", "about0.json").out
    assert "second moments" in told
    assert "means" not in told
    facts = json.loads(call("interval", "about0.json", "--json").out)
    assert "second_moments" in facts
    assert "mean" not in facts


def test_intervals_hold_the_truth() -> None:
    from tests.cli.linear_rows import ROWS, people

    facts = json.loads(call("interval", "centred.json", "--level", "0.9999", "--json").out)
    frame = people(ROWS, seed=0)
    truth = [frame["age"].mean(), (frame["sex"] == "Female").mean(), (frame["sex"] == "Male").mean()]
    assert all(facts["mean"]["lower"][j] <= truth[j] <= facts["mean"]["upper"][j] for j in range(3))
    assert facts["variances"]["lower"][0] <= frame["age"].var() <= facts["variances"]["upper"][0]


@pytest.mark.parametrize("of", [[], *(["--of", of] for of in KEYS)])
def test_pictures_are_drawn(of: list[str]) -> None:
    told = call("interval", "centred.json", *of, "--plot", "i.png")
    assert told.out.endswith("Written to i.png.\n")
    width, height = size("i.png")
    assert 300 < min(width, height) <= max(width, height) < 2500


def test_spans_have_digits_enough() -> None:
    assert span(0.00943, 0.02004) == "0.0094 to 0.0200"
    assert span(38.347, 38.903) == "38.35 to 38.90"
    assert span(97009, 278226) == "97000 to 278000"
    assert span(860.2, 4675.3) == "860 to 4680"
    assert span(-np.inf, 3.0) == "-inf to 3"
    assert span(4.131e9, 2.4123e10) == "4.13e+09 to 2.41e+10"
    assert span(1e-9, 2e-9) == "1e-09 to 2e-09"
    assert span(-0.0, 0.0) == "-0 to 0"


def test_numbers_that_are_infinite_are_null_for_machines() -> None:
    assert finite(np.array([[1.0, np.inf], [np.nan, -2.5]])) == [[1.0, None], [None, -2.5]]
    assert finite(np.inf) is None
    assert finite(2.0) == 2.0


@pytest.mark.parametrize("words", [[], ["--json"], ["--of", "eigenvalues"], ["--of", "entries", "--plot", "p.png"]])
def test_no_data_are_opened(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert_only_the_release_is_opened(monkeypatch, "interval", "centred.json", *words)


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_told_is_refused(case: str) -> None:
    arguments, code, reason = REFUSED[case]
    assert_refusal(["interval", *arguments], code, reason)
