"""What every result can do for people: be shown in a notebook, be a table, be drawn.

The renderings are in `dpcov.report`, above all results: they are reached from here alone, when they are asked for.
"""

from __future__ import annotations

import os
from typing import Any


def write_page(release: Any, path: str | os.PathLike[str]) -> None:
    """Write the page of a release: see `Release.report`."""
    from dpcov.report.page import write_page as write

    write(release, path)


class Result:
    """A result that can be shown and be a table."""

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the text that the command line prints; of a release under its overview."""
        from dpcov.report import html

        return html(self)

    def to_frame(self) -> Any:
        """Return the numbers as a table: a pandas DataFrame where pandas is installed, else a pyarrow Table."""
        from dpcov.report import frame

        return frame(self)


class Drawable(Result):
    """A result that has a picture, too."""

    def plot(self, path: str | os.PathLike[str]) -> None:
        """Draw it into a file that ends in .png, .svg or .pdf; one that is there already is drawn anew."""
        from dpcov.report import draw

        draw(self, path)
