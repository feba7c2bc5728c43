"""Run the scripts of docs/gallery and make its page of them: pictures, what is printed, the scripts themselves.

python docs/make_gallery.py            makes docs/gallery/README.md and the pictures that look different now
python docs/make_gallery.py NAME ...   runs these scripts only, and leaves the page

A script is a question, an answer and a picture: the first line of its docstring, the rest of it, and NAME.png. It runs in an
empty folder that has `examples`, as a checkout has.
"""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parents[1]
GALLERY = ROOT / "docs" / "gallery"
PAGE, IMAGES, STYLE = GALLERY / "README.md", GALLERY / "images", GALLERY / "gallery.mplstyle"
ORDER = (
    *("what_epsilon_means", "how_many_rows", "how_accurate", "clipping", "clear_of_noise", "how_many_components"),
    *("do_intervals_hold", "penalty", "which_columns_go_together", "synthetic_rows", "same_release", "ledger"),
)
MOST_BYTES = 60_000
SAME = 0.1  # mean difference of two pictures, in 255ths: a number more or less, or a faint line, makes more than that
INTRO = """# Gallery

<!-- Made by docs/make_gallery.py from docs/gallery/*.py: change the scripts, then run `make docs`. -->

Twelve questions, a picture for each, and the short script that draws it.
Every script runs as it stands in the folder of a checkout, with made-up rows or a table that scikit-learn ships.
`make docs` runs all of them, and a test compares pictures and what is printed.
Seeds make the pictures repeatable, and their releases *not private*: leave them out.
Some seeds and budgets were chosen among a few, so that a picture shows what it is about.
What releases do on average is [measured elsewhere](../README.md#measured).
"""


@dataclass(frozen=True)
class Exhibit:
    """A script that was run: its words, its source without them, what it printed, its picture."""

    name: str
    question: str
    answer: str
    code: str
    printed: str
    picture: bytes

    def section(self) -> str:
        """Return what the page has of it."""
        below = f"```text\n{self.printed}```\n\n" if self.printed else ""
        alt = f"{self.question} {self.answer.splitlines()[0]}"
        return (
            f"## {self.question}\n\n![{alt}](images/{self.name}.png)\n\n{self.answer}\n\n{below}"
            f"```python gallery\n{self.code}```\n"
        )


def run(name: str, folder: Path) -> Exhibit:
    """Run one script in an empty folder."""
    import matplotlib
    import matplotlib.pyplot as plt

    matplotlib.use("agg")
    (folder / "examples").symlink_to(ROOT / "examples")
    source = (GALLERY / f"{name}.py").read_text(encoding="utf-8")
    found = re.fullmatch(r'"""(.+?)\n\n(.+?)\n"""\n\n(.*)', source, flags=re.DOTALL)
    if found is None:
        raise LookupError(f"docs/gallery/{name}.py must begin with a question, an empty line and an answer")
    printed = io.StringIO()
    with contextlib.chdir(folder), plt.rc_context(fname=STYLE), contextlib.redirect_stdout(printed):
        try:
            runpy.run_path(str(GALLERY / f"{name}.py"))
        finally:
            plt.close("all")
    question, answer, code = found.groups()
    return Exhibit(name, question, answer, code, printed.getvalue(), small((folder / f"{name}.png").read_bytes()))


def small(picture: bytes) -> bytes:
    """Return a picture with 256 colours, which is a third of the size and looks the same."""
    from PIL import Image

    target = io.BytesIO()
    with Image.open(io.BytesIO(picture)) as image:
        paper = Image.new("RGB", image.size, "white")
        paper.paste(image, mask=image.getchannel("A") if image.mode == "RGBA" else None)
        if paper.width > 1100:
            paper = paper.resize((1100, round(paper.height * 1100 / paper.width)), Image.Resampling.LANCZOS)
        paper.quantize(256, kmeans=3, dither=Image.Dither.NONE).save(target, "png", optimize=True)
    return target.getvalue()


def pixels(picture: bytes) -> NDArray[Any]:
    """Return the pixels of a picture, which are compared: the same ones can be packed in several ways."""
    from PIL import Image

    with Image.open(io.BytesIO(picture)) as image:
        return np.asarray(image.convert("L"), dtype=np.int16)


def looks_like(one: bytes, other: bytes) -> bool:
    """Whether two pictures show the same."""
    first, second = pixels(one), pixels(other)
    return first.shape == second.shape and float(np.abs(first - second).mean()) <= SAME


def exhibits(names: Sequence[str] = ORDER) -> Iterator[Exhibit]:
    """Run the scripts, each in a folder of its own."""
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            yield run(name, Path(folder))


def page(shown: Sequence[Exhibit]) -> str:
    """Return the page."""
    contents = "\n".join(f"- [{one.question}](#{anchor(one.question)})" for one in shown)
    return "\n".join([INTRO, contents, "", *(one.section() for one in shown)])


def anchor(heading: str) -> str:
    """Return what a link to a heading says."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def main(names: Sequence[str]) -> None:
    """Write the page and the pictures that changed."""
    shown = list(exhibits(names or ORDER))
    IMAGES.mkdir(exist_ok=True)
    for one in shown:
        path = IMAGES / f"{one.name}.png"
        if not path.is_file() or not looks_like(path.read_bytes(), one.picture):
            path.write_bytes(one.picture)
            print(f"{path.relative_to(ROOT)} is made anew: {len(one.picture) // 1000} kB")
    if not names and (not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != page(shown)):
        PAGE.write_text(page(shown), encoding="utf-8")
        print(f"{PAGE.relative_to(ROOT)} is made anew")


if __name__ == "__main__":
    main(sys.argv[1:])
