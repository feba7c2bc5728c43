"""What pictures share: files of three kinds, titles, colours, heat maps and spectra; all drawn without a display."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError
from dpcov.kernel.budget import Budget, decimal_text
from dpcov.report.text import printable, rounded, shortened
from dpcov.uses.description import CLEAR, Reading
from dpcov.uses.spectrum import Spectrum

if TYPE_CHECKING:
    from dpcov.release.record import Release

Floats = NDArray[np.float64]

FORMATS = ("png", "svg", "pdf")
GREEK = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}

MOST_NAMES = 150  # beyond, names would be too small to read: features are numbered
SMALLEST = 5.5  # points: smaller names cannot be read
MOST_DIGITS = 10  # up to here the cells have room for their numbers, each with its error
COLOURS = ("#1f3b5c", "#d1662f")  # blue and orange: told apart by everybody
PALE = "#b9c4d3"
DROWNED = "#e4e4e4"  # what cannot be told from noise
DIVERGING = "RdBu_r"  # blue to red around white: told apart by those who confuse red and green, too
FULL = 10.0  # standard errors from which on a colour is its own: the second digit of a number is then known, too
FAINT = 0.3  # of a colour is left where a number is just clear of noise: less would look grey
FADED = "grey: cannot be told from noise"
FADING = "the paler, the nearer to noise"


def picture_format(path: Path, example: str = "picture.png") -> str:
    """Return the format that a file's name asks for."""
    ending = path.suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise ParameterError(f"picture must be a name that ends in .png, .svg or .pdf, got {str(path)!r}. Hint: {example}.")
    return ending


def saved(figure: Any, ending: str) -> bytes:
    """Return a figure as a file in a format; the same figure gives the same bytes."""
    from matplotlib import rc_context

    target = io.BytesIO()
    undated = {"png": {}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[ending]
    with warnings.catch_warnings(), rc_context({"svg.hashsalt": "dpcov"}):
        warnings.simplefilter("ignore")  # a letter that the font lacks is drawn as a box
        figure.savefig(target, format=ending, metadata=undated)
    return target.getvalue()


def new_figure(width: float, height: float, title: str, release: Release | None = None, size: float = 11) -> Any:
    """Return an empty figure under a title; of a release with a second line that says what it promises."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    below = "" if release is None else f"\n{promise_line(release)}"
    figure.suptitle(f"{title}{below}", parse_math=False, fontsize=size, wrap=True)
    return figure


def promise_line(release: Release) -> str:
    """Say in a few words what a picture of a release rests on."""
    pairs = "pairs" if release.encoding.pairs else release.encoding.counted
    chain = "approximate " * any(law.numerics == "markov chain" for answer in release.answers for law in answer.laws)
    parts = [f"{release.n:,} {pairs}", f"{chain}{budget_line(release.privacy)}", f"neighbours: {release.neighbors}"]
    return ", ".join([*parts, *["seeded: not private"] * release.seeded])


def budget_line(budget: Budget) -> str:
    """Write a budget as formulas do."""
    return ", ".join(f"{GREEK[name]} = {decimal_text(getattr(budget, name))}" for name in budget.names)


def matrices_figure(
    title: str,
    names: Sequence[str],
    matrices: Mapping[str, Floats | Reading],
    spectra: Mapping[str, Floats | Spectrum],
    of: str,
    release: Release | None = None,
) -> Any:
    """Return a figure: a heat map for each matrix, side by side, above their eigenvalues; what may be noise is grey."""
    d = len(names)
    side = max(min(max(0.38 * d, 3.0), 10.0), SMALLEST / 0.8 / 72 * d * (d <= MOST_NAMES))
    width = max(side * len(matrices) + 2.6, 6.5)
    figure = new_figure(width, side + 4.6, title, release)
    figure.get_layout_engine().set(h_pad=0.12)  # inches: names below a heat map must not touch the title under them
    grid = figure.add_gridspec(2, len(matrices), height_ratios=[side + 1.2, 2.6])
    axes = [figure.add_subplot(grid[0, place]) for place in range(len(matrices))]
    for place, (axis, (heading, matrix)) in enumerate(zip(axes, matrices.items(), strict=True)):
        shown = heat_map(axis, heading, matrix, 72 * side / d)
        _label(axis, names, size=min(0.8 * 72 * side / d, 9.0), rows=place == 0)
    bar = figure.colorbar(shown, ax=axes, shrink=0.8, aspect=30, pad=0.02)
    bar.ax.tick_params(labelsize=8)
    _spectrum(figure.add_subplot(grid[1, :]), spectra, of)
    return figure


def error_bars(axis: Any, places: NDArray[np.intp], middle: Floats, lower: Floats, upper: Floats, **style: Any) -> None:
    """Draw intervals across lines of a list; those that are infinite or unknown are left out."""
    known = np.isfinite(middle) & np.isfinite(lower) & np.isfinite(upper)
    if known.any():
        reach = np.maximum(np.stack([middle - lower, upper - middle])[:, known], 0.0)
        axis.errorbar(middle[known], places[known], xerr=reach, fmt="o", linewidth=1.1, capsize=2, **style)


def bare(axis: Any) -> None:
    """Draw 0 and a faint grid across a list of numbers, and no frame around it."""
    axis.axvline(0, color="#444444", linewidth=0.8)
    axis.grid(visible=True, axis="x", color="#e4e4e4", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.tick_params(axis="y", length=0)
    for edge in ("top", "right", "left"):
        axis.spines[edge].set_visible(False)


def heat_map(axis: Any, heading: str, matrix: Floats | Reading, points: float) -> Any:
    """Draw one matrix, of a reading only what is clear of noise, where that is known; ``points`` is the size of a cell."""
    values = matrix.values if isinstance(matrix, Reading) else matrix
    own = np.ones(values.shape)
    if isinstance(matrix, Reading) and matrix.known:
        values, own = np.where(matrix.clear, values, np.nan), opacity(matrix.values, matrix.standard_error)
    shown = coloured(axis, np.clip(values, -1, 1), own, 1.0)
    said = fading_words(values, own)
    axis.set_title(heading + f"\n({said})" * bool(said), fontsize=10)
    if len(values) <= MOST_DIGITS:
        errors = matrix.standard_error if isinstance(matrix, Reading) and matrix.known else np.zeros(values.shape)
        for (i, j), value in np.ndenumerate(values):
            if np.isfinite(value):
                colour, error = "white" if abs(value) * own[i, j] > 0.6 else "black", float(errors[i, j])
                text = _cell(float(value), error) if error > 0 else f"{value:.0f}" if i == j else f"{value:z.2f}"
                size = min((0.19 if error > 0 else 0.33) * points, 9)
                axis.text(j, i, text, ha="center", va="center", fontsize=size, color=colour)
    return shown


def opacity(values: Floats, errors: Floats) -> Floats:
    """Return how much of their colours numbers have: all from `FULL` standard errors on, less the nearer to noise."""
    with np.errstate(all="ignore"):
        far = np.abs(values) / errors
    part = np.clip((far - CLEAR) / (FULL - CLEAR), 0.0, 1.0)
    return np.where(np.isnan(part), 1.0, FAINT + (1 - FAINT) * part)  # of an unknown error nothing is hidden


def coloured(axis: Any, values: Floats, own: Floats, largest: float, **style: Any) -> Any:
    """Draw numbers as colours from blue to red, of which each has so much of its ``own``; what is no number is grey."""
    from matplotlib import colormaps

    axis.set_facecolor(DROWNED)  # what pale colours let through
    colours = colormaps[DIVERGING].with_extremes(bad=DROWNED)
    style |= {"cmap": colours, "vmin": -largest, "vmax": largest, "interpolation": "nearest"}
    return axis.imshow(values, alpha=own if (own < 1).any() else None, **style)


def fading_words(values: Floats, own: Floats) -> str:
    """Say what pale colours and grey mean, where a picture has some; grey is what is no number."""
    pale = bool((own[np.isfinite(values)] < 1).any())
    return "; ".join([*[FADING] * pale, *[FADED] * bool(np.isnan(values).any())])


def _cell(value: float, error: float) -> str:
    """Write a correlation above its standard error, in two decimals where the error has them."""
    return f"{value:z.2f}\n±{error:.2f}" if error >= 0.01 else "\n±".join(rounded(value, error))


def _label(axis: Any, names: Sequence[str], *, size: float, rows: bool) -> None:
    if len(names) > MOST_NAMES:
        axis.set_xlabel("feature, counted from 0")
        return
    short = [shortened(printable(name)) for name in names]
    axis.set_xticks(range(len(names)), short, rotation=90, fontsize=size, parse_math=False)  # a name may hold a $
    axis.set_yticks(range(len(names)), short if rows else [""] * len(names), fontsize=size, parse_math=False)


def _spectrum(axis: Any, spectra: Mapping[str, Floats | Spectrum], of: str) -> None:
    """Draw eigenvalues; the band is where noise alone would put them, and hollow those that are not clear of it."""
    from matplotlib.ticker import MaxNLocator

    axis.set_title(f"eigenvalues of the {of}", fontsize=10)
    if not any(len(drawn.values if isinstance(drawn, Spectrum) else drawn) for drawn in spectra.values()):
        axis.axis("off")
        axis.text(0.5, 0.5, "none, as no deviation is clear of noise", ha="center", va="center", fontsize=10)
        return
    for (label, drawn), colour, marker in zip(spectra.items(), COLOURS, "os", strict=False):
        values = drawn.values if isinstance(drawn, Spectrum) else drawn
        prefix = f"{label}: " * (len(spectra) > 1)
        places, size = np.arange(1, len(values) + 1), 4 if len(values) <= 40 else 2
        if isinstance(drawn, Spectrum):
            band = (drawn.about - drawn.edge, drawn.about + drawn.edge)
            if np.isfinite(drawn.edge) and len(values):
                axis.axhspan(*band, color=DROWNED, zorder=0, label="where noise alone would put them")
            hollow = {"color": "#9a9a9a", "markersize": size, "fillstyle": "none", "label": f"{prefix}not above noise"}
            if not drawn.clear.all():
                axis.plot(places[~drawn.clear], values[~drawn.clear], marker, **hollow)
            values = np.where(drawn.clear, values, np.nan)  # a line must not lead through noise
            if drawn.clear.any() and np.isfinite(drawn.errors[drawn.clear]).all():
                bars = {"fmt": "none", "ecolor": colour, "elinewidth": 1, "capsize": 2}
                axis.errorbar(places[drawn.clear], values[drawn.clear], yerr=drawn.errors[drawn.clear], **bars)
        if np.isfinite(values).any():
            axis.plot(
                places,
                values,
                color=colour,
                marker=marker,
                markersize=size,
                linewidth=1,
                label=label if prefix else "above noise",
            )
    axis.axhline(0, color="#999999", linewidth=0.6)
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    axis.tick_params(labelsize=8)
    for edge in ("top", "right"):
        axis.spines[edge].set_visible(False)
    if axis.get_legend_handles_labels()[0]:
        axis.legend(frameon=False, fontsize=9)
