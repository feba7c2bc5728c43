"""``dpcov show``: text, JSON and pictures of release files."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import dpcov
from examples.own_mechanism import COLUMNS_ONLY
from tests.cli.shell import assert_refused, assert_told, call, run
from tests.helpers.small import sealed

PNG = b"\x89PNG"
LONG_TAILS = "Deviations suppose columns without long tails: those of incomes, for example, come out too small."


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def made(d: int, *, center: bool, schema: bool, postprocess: str | None = None, name: str = "x") -> dpcov.Release:
    rows = np.random.default_rng(0).normal(size=(5000, d)) + 3
    public = dpcov.Schema({f"{name}{j}": dpcov.Numeric(-2, 8) for j in range(d)}) if schema else None
    row_norm = None if schema else 5.0 * d**0.5
    budget = dpcov.ZCDP(5)
    release = dpcov.covariance(rows, budget, schema=public, row_norm=row_norm, center=center, seed=1, postprocess=postprocess)
    release.save("r.json")
    return release


@pytest.mark.parametrize(
    ("content", "code"),
    [(None, 4), ("{}", 2), ('{"format": "dpcov release", "format_version": 99}', 2)],
    ids=["missing", "not a release", "newer"],
)
def test_show_refuses_with_one_line(tmp_path: Path, content: str | None, code: int) -> None:
    if content is not None:
        Path("file.json").write_text(content, encoding="utf-8")
    assert_refused(run("show", "file.json", cwd=tmp_path), code)


def test_a_centred_release_shows_means_and_deviations() -> None:
    release = made(3, center=True, schema=True)
    shown = call("show", "r.json")
    assert (shown.code, shown.err) == (0, "")
    assert_told(shown.out, release)
    assert "Means: 3 of 3 clear of noise. Deviations: 3 of 3. Correlations: " in shown.out
    assert "standard deviation" in shown.out
    assert "Missing numbers are left out: these estimates are of the cells that are there." in shown.out
    assert LONG_TAILS in shown.out
    assert LONG_TAILS not in call("show", "r.json", "--about", "rows").out  # of these rows they are what they are
    assert "Eigenvalues (correlation)" in shown.out
    facts = json.loads(call("show", "r.json", "--json").out)
    assert facts["covariance"] == release.covariance.tolist()
    assert facts["mean"] == release.mean.tolist()
    assert sum(facts["eigenvalues"]["values"]) == pytest.approx(3)


@pytest.mark.parametrize(("schema", "of"), [(False, "second moment"), (True, "cosines about 0")])
def test_an_uncentred_release_shows_root_mean_squares(schema: bool, of: str) -> None:
    release = made(3, center=False, schema=schema)
    shown = call("show", "r.json")
    assert_told(shown.out, release)
    assert ("A missing cell counts as 0." in shown.out) == schema
    assert "root mean square" in shown.out
    assert f"Eigenvalues ({of})" in shown.out
    facts = json.loads(call("show", "r.json", "--json").out)
    assert facts["second_moment"] == release.second_moment.tolist()
    assert "mean" not in facts
    trace = 3 if schema else np.trace(release.second_moment)
    assert sum(facts["eigenvalues"]["values"]) == pytest.approx(trace)


def test_cells_that_match_no_level_are_counted() -> None:
    """A schema that spells levels otherwise than the table: with the right spelling nothing is said."""
    table = pa.table({"sex": ["F", "M"] * 2500, "ward": ["a", "b", None, "a"] * 1250})
    for levels, told in ((["F", "M"], False), (["f", "m"], True)):
        schema = dpcov.Schema({"sex": dpcov.Categorical(levels), "ward": dpcov.Categorical(["a", "b"])})
        dpcov.covariance(table, dpcov.ZCDP(5), schema=schema, center=True, seed=1).save("r.json")
        shown = call("show", "r.json").out
        assert ("% of the cells of sex are missing, or none of its levels: are these spelt right?" in shown) == told
        assert " % of the cells of ward are missing" in shown


def test_long_tables_are_cut_unless_all_is_asked_for() -> None:
    found = made(50, center=True, schema=True).describe("rows").spectrum
    short, full = (call("show", "r.json", "--about", "rows", *words) for words in ([], ["--all"]))
    assert "and 10 more features" in short.out
    assert "x39" in short.out
    assert "x40" not in short.out
    small = int((found.values < 1 - found.edge).sum())
    assert (int(found.clear.sum()), small) == (11, 12)
    assert "; the other 27 cannot be told from noise (within 1 ± " in short.out
    assert "; 12 below 1 ± " in short.out
    assert short.out.endswith(", what the larger ones leave: all add up to 50.\n")
    assert "x49" in full.out
    assert "more features" not in full.out


def test_a_small_eigenvalue_is_not_called_noise() -> None:
    first = np.random.default_rng(0).uniform(size=5000)
    public = dpcov.Schema({"a": dpcov.Numeric(0, 1), "b": dpcov.Numeric(0, 1)})
    rows = pa.table({"a": first, "b": 0.9 * first + 0.05})
    dpcov.covariance(rows, dpcov.ZCDP(1), schema=public, seed=1).save("r.json")
    last = call("show", "r.json").out.splitlines()[-1]
    assert last.endswith(", what the larger ones leave: all add up to 2.")
    assert "; 1 below 1 ± " in last
    assert "cannot be told" not in last


@pytest.mark.parametrize(
    ("d", "center"), [*product([1, 2, 13], [True, False]), (108, True), (160, False)]
)  # with numbers in the cells or without, with names or, beyond 150, without
def test_pictures_are_drawn_for_few_and_many_features(d: int, center: bool) -> None:
    made(d, center=center, schema=True, name="$x_{\x1b日")
    assert call("show", "r.json", "--plot", "r.png").code == 0
    assert Path("r.png").read_bytes().startswith(PNG)
    assert {path.name for path in Path().iterdir()} == {"r.json", "r.png"}


def test_a_picture_in_a_process_of_its_own(tmp_path: Path) -> None:
    made(4, center=True, schema=False)
    shown = run("show", "r.json", "--plot", "r.png", cwd=tmp_path)
    assert (shown.code, shown.err) == (0, "")
    assert Path("r.png").read_bytes().startswith(PNG)


def test_estimates_that_are_nothing_or_negative_are_shown() -> None:
    rows = np.zeros((50, 4))
    for postprocess in ("none", "shrink"):
        for center in (True, False):
            release = dpcov.covariance(rows, dpcov.ZCDP("0.01"), row_norm=1, center=center, postprocess=postprocess, seed=2)
            release.save("r.json")
            shown = call("show", "r.json", "--plot", "r.png")
            assert (shown.code, shown.err) == (0, "")
            json.loads(call("show", "r.json", "--json").out)


@pytest.mark.parametrize(("plot", "code"), [("r.json", 2), ("missing/r.png", 4), ("folder.png", 4)])
def test_a_picture_needs_a_place_of_its_own(plot: str, code: int) -> None:
    made(2, center=True, schema=True)
    Path("folder.png").mkdir()
    before = Path("r.json").read_bytes()
    assert_refused(call("show", "r.json", "--plot", plot), code)
    assert Path("r.json").read_bytes() == before


class TestAnUnknownMechanism:
    """A file of a mechanism that is not known here shows its promise, what was asked, and why nothing is estimated."""

    @pytest.fixture(autouse=True)
    def release(self) -> dpcov.Release:
        rows = np.random.default_rng(0).uniform(-0.5, 0.5, size=(500, 3))
        release = dpcov.covariance(rows, dpcov.PureDP(1), row_norm=1, mechanism=COLUMNS_ONLY, floor=0.01, seed=1)
        release.save("r.json")
        return release

    def test_people_read_the_promise_and_what_was_asked(self, release: dpcov.Release) -> None:
        shown = call("show", "r.json")
        assert (shown.code, shown.err) == (0, "")
        named = "Release of a covariance: epsilon = 1, neighbours: replace, columns-only, n = 500, d = 3, seeded: not private\n"
        assert shown.out.startswith(named)
        assert f"Privacy: {release.statement()}" in shown.out
        assert "squares │ discrete laplace │ epsilon = 1 " in shown.out
        assert shown.out.endswith("No estimates: release must come from a mechanism that is known here, got 'columns-only'.\n")

    def test_machines_read_the_header(self, release: dpcov.Release) -> None:
        facts = json.loads(call("show", "r.json", "--json").out)
        assert (facts["file"], facts["statement"], facts["estimate"]) == ("r.json", release.statement(), None)
        assert facts["mechanism"] == facts["requested"] == {"name": "columns-only", "options": {"floor": 0.01}}
        assert facts["privacy"] == {"notion": "pure", "epsilon": "1"}
        assert facts["spent"] == [
            {"asked": "squares", "noise": "discrete laplace", "budget": {"notion": "pure", "epsilon": "1"}}
        ]
        assert "known here" in facts["unknown"]

    @pytest.mark.parametrize(
        "words",
        [
            ["show", "r.json", "--plot", "r.png"],
            ["pca", "r.json"],
            ["correlation", "r.json"],
            ["interval", "r.json"],
            ["ridge", "r.json", "--target", "x0"],
            ["sample", "r.json", "--rows", "3", "-o", "rows.csv"],
        ],
        ids=" ".join,
    )
    def test_what_needs_an_estimate_is_refused(self, words: list[str]) -> None:
        refused = call(*words)
        assert_refused(refused, 2)
        assert "got 'columns-only'" in refused.err
        assert {path.name for path in Path().iterdir()} == {"r.json"}


def test_json_has_all_options_and_notes() -> None:
    """As the mechanism was asked, in the units of encoded rows, defaults included; and what it noted on its way."""
    rows = np.random.default_rng(0).normal(size=(4000, 2)) * 3
    release = dpcov.mean(rows, dpcov.ZCDP(1), radius=100, seed=1)
    release.save("r.json")
    facts = json.loads(call("show", "r.json", "--json").out)
    assert facts["options"] == {"origin": 0.0, "covariance": None, "rounds": "auto", "constants": "practical", "beta": 0.1}
    assert facts["notes"] == dict(release.notes)
    assert set(facts["notes"]) == {"rounds", "strength"}
    schema = dpcov.Schema({"x0": dpcov.Numeric(-20, 20), "x1": dpcov.Numeric(-20, 20)})
    bounded = {"schema": schema, "mechanism": "coinpress", "upper": 40.0}
    dpcov.covariance(rows, dpcov.ZCDP(1), seed=1, **bounded).save("r.json")  # type: ignore[arg-type]
    facts = json.loads(call("show", "r.json", "--json").out)
    assert facts["options"]["upper"][0][0] == pytest.approx(40 / schema.scales(False)[0] ** 2)
    assert facts["options"]["centring"] == "none"


ESCAPE = "\x1b[2J\x1b]0;title\x07\n"


@pytest.mark.parametrize("place", ["mechanism", "requested", "postprocess", "version", "note", "name of a note", "option"])
def test_a_file_cannot_write_on_the_terminal(place: str) -> None:
    """Codes that clear a screen or name its window are shown as text; so is a name as long as the file likes."""
    release = made(2, center=False, schema=False)
    record = json.loads(Path("r.json").read_text(encoding="utf-8"))
    if place in ("mechanism", "requested"):
        record[place]["name"] = ESCAPE + "x" * 10_000
    elif place == "option":
        record["mechanism"]["options"][ESCAPE] = ESCAPE
    elif place == "note":
        record["notes"]["x"] = ESCAPE
    elif place == "name of a note":
        record["notes"][ESCAPE] = "x"
    else:
        record["postprocess" if place == "postprocess" else "dpcov_version"] = ESCAPE
    Path("r.json").write_text(sealed(record), encoding="utf-8")
    for words in (["show", "r.json"], ["show", "r.json", "--json"], ["pca", "r.json"], ["correlation", "r.json"]):
        shown = call(*words)
        assert shown.code in (0, 2)
        assert "\x1b" not in shown.out + shown.err
        assert "\x07" not in shown.out + shown.err
    again = dpcov.load("r.json")
    for text in (repr(again), again.how(), again.statement()):
        assert text.isprintable()
        assert len(text) < 1000
    assert again.privacy == release.privacy
