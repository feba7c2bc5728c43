"""``dpcov report``: a page, from a release alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dpcov.report.page import page
from tests.cli.linear_rows import assert_refusal, made
from tests.cli.shell import call

pytestmark = pytest.mark.usefixtures("releases")

REFUSED = {
    "no output": (["centred.json"], 2, "--output"),
    "no release": (["new.csv", "-o", "page.html"], 2, "release"),
    "a missing file": (["nowhere.json", "-o", "page.html"], 4, "nowhere.json"),
    "another kind of output": (["centred.json", "-o", "page.pdf"], 2, "ends in .html or .htm"),
    "a stream": (["centred.json", "-o", "-"], 2, "ends in .html or .htm"),
    "an output in no folder": (["centred.json", "-o", "nowhere/page.html"], 4, "folder"),
}


def test_it_writes_what_python_writes() -> None:
    told = call("report", "centred.json", "-o", "page.html")
    assert (told.code, told.err) == (0, "")
    assert told.out == "Written to page.html: open it in a browser.\n"
    assert Path("page.html").read_text(encoding="utf-8") == page(made()["centred.json"])
    Path("page.html").unlink()


@pytest.mark.parametrize("file", ["about0.json", "rounds.json", "drawn.json", "mean.json", "pca.json", "one.json"])
def test_every_kind_has_a_page(file: str) -> None:
    assert call("report", file, "-o", "page.htm").code == 0
    assert "Content-Security-Policy" in Path("page.htm").read_text(encoding="utf-8")
    Path("page.htm").unlink()


def test_a_page_that_is_there_stays_unless_forced() -> None:
    Path("page.html").write_text("mine", encoding="utf-8")
    told = call("report", "mean.json", "-o", "page.html")
    assert told.code == 2
    assert "must not exist yet" in told.err
    assert Path("page.html").read_text(encoding="utf-8") == "mine"
    assert call("report", "mean.json", "-o", "page.html", "--force").code == 0
    assert "Private means" in Path("page.html").read_text(encoding="utf-8")
    Path("folder.html").mkdir()
    assert call("report", "mean.json", "-o", "folder.html", "--force").code == 4


def test_a_release_is_never_replaced_by_its_page() -> None:
    Path("release.html").write_bytes(Path("mean.json").read_bytes())
    told = call("report", "release.html", "-o", "release.html", "--force")
    assert told.code == 2
    assert "must not be one of the input files" in told.err
    assert json.loads(Path("release.html").read_text(encoding="utf-8"))["kind"] == "mean"


def test_a_damaged_release_is_refused_with_the_reason() -> None:
    text = Path("mean.json").read_text(encoding="utf-8")
    Path("damaged.json").write_text(text.replace('"n": 6000', '"n": 6001').replace('"n":6000', '"n":6001'), encoding="utf-8")
    told = call("report", "damaged.json", "-o", "page.html")
    assert told.code == 2
    assert "checksum" in told.err
    assert not Path("page.html").exists()


@pytest.mark.parametrize(("words", "code", "reason"), REFUSED.values(), ids=REFUSED)
def test_bad_words_are_refused(words: list[str], code: int, reason: str) -> None:
    assert_refusal(["report", *words], code, reason)
