"""A plan: how large errors will be, from public numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpcov.report.text import budget_words, by, new_table

if TYPE_CHECKING:
    from rich.console import Console

    from dpcov.evaluate.plan import Plan


def write(out: Console, found: Plan) -> None:
    """Print the expected error of each mechanism, the smallest first."""
    centred = ", centred" * found.center
    size = f"n = {found.n}{' people' * (found.counted == 'people')}, d = {found.d}{centred}"
    table = new_table(f"{budget_words(found.budget)}, neighbours: {found.neighbors}, {size}")
    for heading in ("mechanism", "expected error", ""):
        table.add_column(heading)
    for place, prediction in enumerate(found.predictions):
        error = (
            f"{prediction.expected_error:.3g}"
            if prediction.expected_error is not None
            else f"not known: {prediction.unknown_because}"
        )
        table.add_row(prediction.mechanism, error, "smallest" * (place == 0 and prediction.expected_error is not None))
    out.print(table)
    said = ["r.m.s. Frobenius error of the raw second moment, for rows of norm 1; no second moment is larger than 1."]
    if not found.center:
        compare = by("dpcov compare", "dpcov.compare")
        said.append(f"auto usually clips first, which is not shown here: {compare} measures it on data like yours.")
    out.print("\n".join(said), soft_wrap=True)


def record(found: Plan) -> dict[str, Any]:
    """Return the expected errors for machines."""
    return found.to_dict()


def columns(found: Plan) -> dict[str, Any]:
    """Return a line for each mechanism."""
    names = ("mechanism", "expected_error", "unknown_because")
    return {name: [getattr(prediction, name) for prediction in found.predictions] for name in names}
