"""The gallery's scripts run as they stand, and draw and print what its page shows; `make docs` writes both."""

from __future__ import annotations

import io
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.test_docs import blocks

ROOT = Path(__file__).parents[1]
TOOL = runpy.run_path(str(ROOT / "docs" / "make_gallery.py"))
PAGE = (ROOT / "docs" / "gallery" / "README.md").read_text(encoding="utf-8")
ORDER: tuple[str, ...] = TOOL["ORDER"]
KIND = "python gallery"


@pytest.mark.parametrize("name", ORDER)
def test_the_page_shows_what_the_script_does(name: str, tmp_path: Path) -> None:
    shown = TOOL["run"](name, tmp_path)
    assert shown.section() in PAGE, "run `make docs`"
    kept = (TOOL["IMAGES"] / f"{name}.png").read_bytes()
    assert TOOL["looks_like"](kept, shown.picture), "run `make docs`"
    assert len(kept) < TOOL["MOST_BYTES"]
    with Image.open(io.BytesIO(kept)) as image:  # a dark page must not show through
        assert image.convert("RGBA").getchannel("A").getextrema() == (255, 255)
        assert image.convert("RGB").getpixel((0, 0)) == (255, 255, 255)


def test_the_page_is_made_of_these_twelve_scripts() -> None:
    """In their order, each with its question in the list above, and no other file is left over."""
    assert len(ORDER) == 12
    assert {path.stem for path in (ROOT / "docs" / "gallery").glob("*.py")} == set(ORDER)
    assert {path.stem for path in TOOL["IMAGES"].iterdir()} == set(ORDER)
    questions = re.findall(r"^## (.*)$", PAGE, flags=re.MULTILINE)
    assert questions == re.findall(r"^- \[(.*)\]\(#", PAGE, flags=re.MULTILINE)
    assert all(question.endswith("?") for question in questions)
    assert re.findall(r"images/(\w+)\.png", PAGE) == list(ORDER)
    codes = blocks(ROOT / "docs" / "gallery" / "README.md", KIND)
    assert [code.count("\n") <= 40 for code in codes] == [True] * len(ORDER)  # short enough to be read


def test_pictures_that_differ_are_told_apart() -> None:
    """A line that moved counts, the way a file is packed does not."""
    grey = np.full((100, 200, 3), 200, dtype=np.uint8)
    moved = grey.copy()
    moved[50, :] = 0
    packed = [io.BytesIO() for _ in range(3)]
    for target, pixels, level in zip(packed, (grey, grey, moved), (0, 9, 9), strict=True):
        Image.fromarray(pixels).save(target, "png", compress_level=level)
    plain, small, other = (target.getvalue() for target in packed)
    assert plain != small
    assert TOOL["looks_like"](plain, small)
    assert not TOOL["looks_like"](plain, other)


def test_a_script_without_a_question_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mute.py").write_text("print(1)\n", encoding="utf-8")
    monkeypatch.setitem(TOOL["run"].__globals__, "GALLERY", tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(LookupError, match=r"mute\.py must begin with a question"):
        TOOL["run"]("mute", tmp_path / "empty")
