"""Pictures of linear models: what each feature changes, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcov.report.models import drowned_line
from dpcov.report.pictures import COLOURS, DROWNED, bare, png
from dpcov.report.text import percent, printable, shortened

if TYPE_CHECKING:
    from dpcov.report.models import ToldModel
    from dpcov.uses.intervals import Interval

Floats = NDArray[np.float64]

MOST_FEATURES = 25
PALE = "#b9c4d3"


def model_picture(found: ToldModel) -> bytes:
    """Return a PNG: the largest effects as bars, and the intervals around the raw ones as lines."""
    from matplotlib.figure import Figure

    model = found.model
    if found.nothing:
        return _nothing(found)
    shown = found.order[:MOST_FEATURES]
    places = np.arange(len(shown))
    figure = Figure(figsize=(7.6, max(2.8, 0.26 * len(shown) + 1.9)), dpi=150, layout="constrained")
    figure.suptitle(repr(found.release)[1:-1], parse_math=False, fontsize=9, wrap=True)
    axis = figure.subplots()
    clear = np.ones(len(found.effects), dtype=np.bool_) if found.clear is None else found.clear
    colours = [PALE if clear[j] else DROWNED for j in shown]
    axis.barh(places, (found.shown * found.scales)[shown], color=colours, height=0.7, label="coefficients (grey: may be noise)")
    if found.useful is not None:
        _error_bars(axis, found, found.useful, shown, places)
    bare(axis)
    axis.set_yticks(
        places, [shortened(printable(model.feature_names[j])) for j in shown], fontsize=8, parse_math=False
    )  # a name may hold a $
    axis.invert_yaxis()
    axis.margins(y=0.02)
    target = shortened(printable(model.target))
    axis.set_xlabel(f"change of {target}, {_per(found)}", fontsize=9, parse_math=False)
    hidden = f" ({len(shown)} of {len(model.feature_names)} features)" if len(shown) < len(model.feature_names) else ""
    axis.set_title(f"{target}, alpha {model.alpha:.3g}{hidden}", fontsize=10, parse_math=False)
    axis.tick_params(axis="x", labelsize=8)
    return png(figure)


def _nothing(found: ToldModel) -> bytes:
    """Return a PNG that says so: bars of noise would look like a model."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.6, 2.8), dpi=150, layout="constrained")
    figure.suptitle(repr(found.release)[1:-1], parse_math=False, fontsize=9, wrap=True)
    axis = figure.subplots()
    axis.axis("off")
    words = f"Nothing can be seen:\n{drowned_line(found)}."
    axis.text(0.5, 0.5, words, ha="center", va="center", wrap=True, fontsize=10, parse_math=False)
    return png(figure)


def _per(found: ToldModel) -> str:
    return f"{found.per} of the feature".replace("its range of the feature", "the feature's range")


def _error_bars(axis: Any, found: ToldModel, interval: Interval, shown: NDArray[np.intp], places: NDArray[np.intp]) -> None:
    """Draw intervals; infinite ones are left out."""
    scales = found.scales[shown]
    with np.errstate(all="ignore"):
        middle, lower, upper = (
            np.nan_to_num(part[shown] * scales, nan=0.0) for part in (interval.estimate, interval.lower, interval.upper)
        )
    known = np.isfinite(lower) & np.isfinite(upper)
    if not known.any():
        return
    reach = np.stack([middle - lower, upper - middle])[:, known]
    axis.errorbar(
        middle[known],
        places[known],
        xerr=np.maximum(reach, 0.0),
        fmt="o",
        color=COLOURS[1],
        markersize=3,
        linewidth=1.1,
        capsize=2,
        label=f"raw, with {percent(found.level)} intervals",
    )
    axis.legend(frameon=False, fontsize=8, loc="best")
