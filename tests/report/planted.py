"""Planted bugs in how results are shown."""

from __future__ import annotations

from tests.mutation.form import mutant

PLANTED = {
    "a note that writes on the terminal": mutant(
        ("report/release_lines.py", "printable(str(value))", "value"),
        by="tests/cli/test_show.py::test_a_file_cannot_write_on_the_terminal[note]",
    ),
}
