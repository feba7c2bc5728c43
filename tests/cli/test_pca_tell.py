"""``dpcov pca`` tells what a release holds, of components or of a covariance: from the file alone, which it leaves as it is."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpcov
from tests.cli.known_rows import CHAIN, ROWS, TRUTH, contents, covariance, released, size
from tests.cli.shell import call

pytestmark = pytest.mark.usefixtures("known_rows")

COVARIANCES: dict[str, dict[str, Any]] = {
    "second moment": {"mechanism": "wishart"},
    "centred": {"center": True},
    "clipped": {"mechanism": "rescaled"},
    "directions": {"mechanism": "eigenvectors"},
}
LISTENERS: list[list[str]] = []


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    if event == "open" and isinstance(arguments[0], str | Path):
        for opened in LISTENERS:
            opened.append(Path(arguments[0]).name)


sys.addaudithook(_hear)  # stays for good: it is silent where nobody listens


@contextmanager
def heard() -> Iterator[list[str]]:
    """Collect the names of all files that Python opens."""
    opened: list[str] = []
    LISTENERS.append(opened)
    yield opened
    LISTENERS.remove(opened)


@pytest.mark.parametrize("words", [[], ["--json"], ["--plot", "p.png"], ["--convergence", "c.png", "--chains", "2"]])
def test_no_data_are_opened_and_the_release_stays_as_it_is(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    released(*CHAIN)
    before = contents()

    def spent(*_: object, **__: object) -> None:
        raise AssertionError("data were opened")

    for door in ("dpcov.sources.opening.open_source", "dpcov.request.open_source", "dpcov.kernel.curator.Curator.__init__"):
        monkeypatch.setattr(door, spent)
    with heard() as opened:
        told = call("pca", "pca.json", *words)
    assert told.code == 0, told.err
    assert "pca.json" in opened
    assert not {"people.csv", "people.parquet"} & set(opened)
    assert {name: content for name, content in contents().items() if name in before} == before
    with heard() as opened, pytest.raises(AssertionError, match="data were opened"):
        dpcov.pca("people.csv", dpcov.PureDP(1), 2, row_norm=1)


@pytest.mark.parametrize("kind", COVARIANCES)
def test_a_covariance_has_components_for_free(kind: str) -> None:
    release = covariance(**COVARIANCES[kind])
    facts = json.loads(call("pca", "covariance.json", "--json").out)
    assert facts["components"] == release.pca().components.tolist()
    assert facts["kind"] == "covariance"
    assert 1 <= facts["k"] <= 6
    assert abs(np.array(facts["components"][0]) @ TRUTH) > 0.95
    told = call("pca", "covariance.json", "--plot", "c.png")
    assert (told.code, told.err) == (0, "")
    assert f"PC{facts['k']} " in told.out
    assert f"PC{facts['k'] + 1} " not in told.out
    assert min(size("c.png")) > 600


@pytest.mark.parametrize("part", [".5", "0.9", "0.99"])
def test_a_part_of_the_variance_chooses_as_few_as_explain_it(part: str) -> None:
    release = covariance(mechanism="wishart")
    facts = json.loads(call("pca", "covariance.json", "-k", part, "--json").out)
    running, k = facts["cumulative"], facts["k"]
    assert running[-1] >= float(part)
    assert k == 1 or running[-2] < float(part)
    assert running == pytest.approx(np.cumsum(release.pca(6).ratio)[:k])


def test_a_number_chooses_so_many() -> None:
    covariance(mechanism="wishart")
    counts = [json.loads(call("pca", "covariance.json", "-k", str(k), "--json").out)["k"] for k in (1, 3, 6)]
    assert counts == [1, 3, 6]


def test_more_than_drawn_components_explain_is_said() -> None:
    released("--mechanism", "eigenvectors")
    asked = "All 2 components that the release holds explain less than 99.9 % together."
    assert asked in call("pca", "pca.json", "-k", "0.999").out
    assert "explain less" not in call("pca", "pca.json", "-k", "0.5").out
    assert json.loads(call("pca", "pca.json", "-k", "0.5", "--json").out)["k"] == 1


def test_noise_alone_is_called_so() -> None:
    dpcov.pca(ROWS[:50], dpcov.PureDP("0.01"), 3, row_norm=1, mechanism="wishart", seed=0).save("pca.json")
    assert "Nothing stands out along PC1 to PC3" in call("pca", "pca.json").out
    covariance(mechanism="wishart")
    count = json.loads(call("pca", "covariance.json", "--json").out)["k"]
    assert "Nothing stands out" not in call("pca", "covariance.json").out
    assert f"Nothing stands out along PC{count + 1} to PC6" in call("pca", "covariance.json", "-k", "6").out


def test_directions_along_which_nothing_was_answered_are_called_so() -> None:
    made = dpcov.pca(ROWS[:60], dpcov.PureDP("0.02"), 3, row_norm=1, mechanism="eigenvectors", seed=1)
    made.save("pca.json")
    empty = [place + 1 for place, value in enumerate(made.explained) if value == 0]
    assert empty, "choose another seed"
    assert f"Nothing stands out along PC{empty[0]}" in call("pca", "pca.json").out


def test_all_lists_every_loading_and_every_component() -> None:
    rows = np.random.default_rng(0).normal(size=(500, 30))
    dpcov.pca(rows, dpcov.PureDP(1), 25, row_norm=1, mechanism="wishart", seed=0).save("wide.json")
    short, full = call("pca", "wide.json"), call("pca", "wide.json", "--all")
    assert "and 5 more components" in short.out
    assert "PC20 " in short.out
    assert "PC21 " not in short.out
    assert "more components" not in full.out
    found = dpcov.load("wide.json").pca()
    assert found.standing_out is not None
    assert all(f"{number:.4g}" in full.out for number in found.components[: found.standing_out].flat)
    assert full.out.count("≈ noise") == found.k - found.standing_out


def test_components_of_coinpress_are_told() -> None:
    release = dpcov.covariance(ROWS, dpcov.ZCDP(1), mechanism="coinpress", upper=1.0, lower=1e-4, seed=0)
    release.save("covariance.json")
    facts = json.loads(call("pca", "covariance.json", "-k", "2", "--json").out)
    assert facts["explained"] == release.pca(2).explained.tolist()


def test_simulated_chains_are_drawn_and_told() -> None:
    released(*CHAIN, k=3)
    words = ("pca", "pca.json", "--convergence", "chains.png")
    facts = json.loads(call(*words, "--chains", "2", "--json").out)["convergence"]
    expected = dpcov.convergence(dpcov.load("pca.json"), chains=2)
    assert facts == {"chains": 2, "sweeps": 300, "last": expected[:, -1].tolist()}
    assert 500 < min(size("chains.png")) < max(size("chains.png")) < 2500
    Path("chains.png").unlink()
    told = call(*words, "-k", "1", "--plot", "pca.png")
    assert "F_3 of 5 simulated chains after 300 sweeps" in told.out
    assert told.out.endswith("Written to pca.png and chains.png.\n")
    assert size("chains.png") != size("pca.png")


def test_names_are_printed_safely() -> None:
    import pandas as pd

    frame = pd.DataFrame(ROWS[:, :3], columns=["\x1b[31m\n", "[red]x[/red]", "a" * 300])
    dpcov.pca(frame, dpcov.PureDP(1), 2, row_norm=1, seed=0).save("pca.json")
    for words in (["pca", "pca.json"], ["pca", "pca.json", "--all"], ["show", "pca.json"]):
        told = call(*words)
        assert told.code == 0, told.err
        assert "\x1b" not in told.out
        assert "[red]x[/red]" in told.out
