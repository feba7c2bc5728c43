"""Pairs of rows in ``dpcov release``, ``show`` and ``compare``, and lists among options."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import dpcov
from dpcov.mechanisms.option_text import read_mechanism, read_options
from tests.cli.shell import assert_refused, call
from tests.cli.test_coinpress import PAIRS, write_measurements


@pytest.fixture(autouse=True)
def _in_a_folder_with_measurements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_measurements(tmp_path)


@pytest.mark.parametrize("words", [[], ["--neighbors", "add-remove"]])
def test_compare_is_about_rows_and_not_about_their_differences(words: list[str]) -> None:
    few = ["--mechanism", "coinpress", "--mechanism", "coinpress:centring=pairs", "--runs", "2", "--json"]
    made = call("compare", "m.parquet", "--rho", "0.5", "--row-norm", "1e4", *few, *words)
    assert_refused(made, 2)
    assert "centring must be left out of a comparison" in made.err


def test_pairs_are_told_by_their_number_and_without_a_mean() -> None:
    made = call("release", "m.parquet", *PAIRS, "--seed", "1", "-o", "out.json")
    assert dpcov.load("out.json").n == 4000
    for told in (made.out, dpcov.load("out.json").statement(), call("show", "out.json").out):
        assert "replacing any one row of the 4000 pairs" in told
    for told in (made.out, call("show", "out.json").out):
        assert "standard deviation" in told
        assert "root mean square" not in told


def test_lists_in_options() -> None:
    read = read_options(["a=[1, 2.5]", "b=[]", "c=[[1,0],[0,1]]", "d=[true]", 'e=["x"]', "f= [1]"])
    assert read == {"a": [1, 2.5], "b": [], "c": [[1, 0], [0, 1]], "d": [True], "e": ["x"], "f": " [1]"}
    for bad in ("a=[1", "a=[1,]", "a=[nan]", "a=[NaN]", "a=[Infinity]", "a=[1]]", "a=[x]"):
        with pytest.raises(dpcov.ParameterError, match=r"^option must be a list .*, got .*\. Hint: .*\.$"):
            read_options([bad])


def test_lists_in_options_of_a_mechanism() -> None:
    assert read_mechanism("coinpress:upper=[1,2],rounds=3") == ("coinpress", {"upper": [1, 2], "rounds": 3})
    nested = "coinpress:rounds=3,upper=[[1,0],[0,2]],lower=[0.1, 0.2]"
    assert read_mechanism(nested) == ("coinpress", {"rounds": 3, "upper": [[1, 0], [0, 2]], "lower": [0.1, 0.2]})
    with pytest.raises(dpcov.ParameterError, match=r"^option must be a list"):
        read_mechanism("coinpress:upper=[1,2,rounds=3")
    few = ["--mechanism", "coinpress:upper=[100,100,100],rounds=3", "--mechanism", "coinpress", "--runs", "2", "--json"]
    cells = json.loads(call("compare", "zero.parquet", "--rho", "0.5", "--row-norm", "1e4", *few).out)["cells"]
    assert cells[0]["error"] is not None
