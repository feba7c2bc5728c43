"""One rendering of each result: as text, as JSON, as a table and as a picture.

A module of this package is about one kind of result, and its functions have the same names everywhere: ``write`` prints it for
people, ``record`` is for machines, ``figure`` draws it, ``columns`` makes a table of it. Which module is whose stands here, and
nowhere else is a result asked what it is.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

HOMES = {
    "Release": "releases",
    "Description": "descriptions",
    "Correlation": "correlations",
    "PrincipalComponents": "components",
    "Chains": "chains",
    "RidgeModel": "models",
    "ModelReading": "models",
    "Summary": "summaries",
    "Score": "scores",
    "Intervals": "intervals",
    "Differences": "differences",
    "Comparison": "comparisons",
    "Rehearsal": "rehearsals",
    "Plan": "plans",
    "TablePlan": "table_plans",
    "RowsNeeded": "rows_needed",
    "Demo": "demos",
    "LedgerStatus": "ledger_status",
    "LedgerHistory": "ledger_history",
    "Verification": "verifications",
    "Signatures": "signatures",
    "Audit": "audits",
}
"""The module of each result, by the name of its class: imported when the first of its kind is rendered."""


def home(result: object) -> Any:
    """Return the module that renders a result."""
    name = next(kind.__name__ for kind in type(result).__mro__ if kind.__name__ in HOMES)
    return importlib.import_module(f"dpcov.report.{HOMES[name]}")


def write(out: Console, result: object, **settings: Any) -> None:
    """Print a result for people."""
    home(result).write(out, result, **settings)


def record(result: object, **settings: Any) -> dict[str, Any]:
    """Return a result for machines, as JSON has it: what is not finite is None."""
    return dict(home(result).record(result, **settings))


def html(result: object) -> str:
    """Return a result as a notebook shows it: the text for people, escaped; of a release under its overview."""
    from dpcov.report.text import page

    text, module = page(lambda out: write(out, result)), home(result)
    return str(module.notebook(result, text)) if hasattr(module, "notebook") else text


def frame(result: object) -> Any:
    """Return a result as a table: a pandas DataFrame where pandas is installed, else a pyarrow Table.

    What its standard errors are about stands in the attribute, or the metadata, "about".
    """
    from importlib.util import find_spec

    import pyarrow as pa

    module = home(result)
    table = pa.table(module.columns(result))
    about = module.about(result) if hasattr(module, "about") else None
    if find_spec("pandas") is None:
        return table if about is None else table.replace_schema_metadata({"about": about})
    frame = table.to_pandas()
    if about is not None:
        frame.attrs["about"] = about
    return frame


def draw(result: object, path: str | os.PathLike[str], **settings: Any) -> None:
    """Draw a result into a file; the name's ending, .png, .svg or .pdf, says how."""
    from dpcov.paths import checked_path, write_whole
    from dpcov.report.pictures import picture_format, saved

    target = checked_path(path)
    ending = picture_format(target)
    write_whole(target, saved(home(result).figure(result, **settings), ending), name="picture", hint="check the folder")
