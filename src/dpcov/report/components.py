"""Principal components: what lies along them, what they are made of, and which stand out of the noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpcov.report.descriptions import people_words
from dpcov.report.pictures import COLOURS, DROWNED, PALE, coloured, fading_words, new_figure, opacity
from dpcov.report.text import (
    NOISE,
    SILENT,
    WIDTH,
    by,
    counted,
    features_table,
    finite,
    new_table,
    print_promise,
    printable,
    rounded,
    shortened,
)
from dpcov.uses.description import Reading
from dpcov.uses.held import is_centered
from dpcov.uses.sampling import POPULATION

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from dpcov.uses.pca import PrincipalComponents

Floats = NDArray[np.float64]

MOST_COMPONENTS = 20
MOST_LOADINGS = 4  # of a component, in its line
MOST_COLUMNS = 6  # of loadings side by side
WIDE, LONGEST_BESIDE = 21, 32  # letters that a loading and its error may take, and the name beside them, before it is folded
UNSEEN = 1e-12  # a feature that was left out before noise was added has loadings of rounding errors
MOST_BARS = 30  # of a picture, as all below
MOST_TICKS = 15
MOST_DRAWN = 12  # columns of the heat map
MOST_FEATURES = 25  # its rows: those with the largest loadings
ROOM, ROOM_WITH_ERRORS = 0.52, 0.95  # inches: width of a cell
MOST_WITH_ERRORS = 6  # columns of the heat map in whose cells errors have room


def write(out: Console, found: PrincipalComponents, asked: float | None = None, everything: bool = False) -> None:
    """Print components under their promise; ``asked`` is the part of the variance that they were to explain."""
    print_promise(out, found.release)
    out.print(components_table(found, None if everything else MOST_COMPONENTS))
    said = notes(found)
    if isinstance(asked, float) and found.total > 0 and found.ratio.sum() < asked - 1e-9:
        said.append(f"All {found.k} components that the release holds explain less than {100 * asked:g} % together.")
    out.print("\n".join(said), soft_wrap=True)
    for first in range(0, len(legible(found)), _side_by_side(found)) if everything else ():
        _print_loadings(out, found, first, "loadings", None)


def write_held(out: Console, found: PrincipalComponents, limit: int | None, *, loadings_too: bool = True) -> None:
    """Print the components that a release was made for, and what those that stand out are made of."""
    out.print(components_table(found, None if limit is None else MOST_COMPONENTS))
    out.print("\n".join(notes(found)), soft_wrap=True)
    if loadings_too and legible(found):
        most = _side_by_side(found)
        many = f" (the first {counted(most, 'component')} of {len(legible(found))})" * (len(legible(found)) > most)
        _print_loadings(out, found, 0, f"loadings{many}", limit)


def _print_loadings(out: Console, found: PrincipalComponents, first: int, title: str, limit: int | None) -> None:
    """Print the loadings of a few components, of the features that were looked at."""
    seen = np.flatnonzero((np.abs(found.components) > UNSEEN).any(axis=0))
    names = [found.feature_names[j] for j in seen]
    readings = {
        heading: Reading(one.values[seen], one.standard_error[seen], one.clear[seen])
        for heading, one in loadings(found, first).items()
    }
    out.print(features_table(names, readings, title, limit))
    if unseen := len(found.feature_names) - len(seen):
        out.print(f"Not looked at, as little seemed to lie along them: {counted(unseen, 'feature')}.", soft_wrap=True)


def _side_by_side(found: PrincipalComponents) -> int:
    """Return of how many components the loadings fit beside the names of features."""
    names = min(max(len(printable(name)) for name in found.feature_names), LONGEST_BESIDE)
    return min(max((WIDTH - names - 4) // WIDE, 1), MOST_COLUMNS)


def record(found: PrincipalComponents) -> dict[str, Any]:
    """Return components for machines, with what their release promises."""
    from dpcov.report.releases import promise

    return {**promise(found.release), "feature_names": list(found.feature_names), **numbers(found)}


def numbers(found: PrincipalComponents) -> dict[str, Any]:
    """Return what is known of components for machines; errors of what is printed as noise, or was not looked at, are None."""
    errors, above = found.errors, np.arange(found.k) < found.readable
    looked_at = (np.abs(found.components) > UNSEEN).any(axis=0)
    return {
        "k": found.k,
        "explained": found.explained.tolist(),
        "ratio": found.ratio.tolist(),
        "cumulative": np.cumsum(found.ratio).tolist(),
        "total": found.total,
        "standing_out": found.standing_out,
        "noise_edge": finite(found.noise_edge),
        "components": found.components.tolist(),
        "about": POPULATION,
        "standard_error": {
            "explained": finite(np.where(above, errors.explained, np.nan)),
            "ratio": finite(np.where(above, errors.ratio, np.nan)),
            "cumulative": finite(np.where(above, errors.cumulative, np.nan)),
            "total": finite(errors.total),
            "components": finite(np.where(looked_at, errors.loadings, np.nan)),
        },
        "determined": errors.determined.tolist(),
        "clear_of_noise": found.clear.tolist(),
        "offsets": found.offsets.tolist(),
        "scales": found.scales.tolist(),
    }


def columns(found: PrincipalComponents) -> dict[str, Any]:
    """Return a line for each component: what it explains, and its loadings."""
    errors = found.errors
    cells: dict[str, Any] = {"component": [f"PC{i + 1}" for i in range(found.k)]}
    cells |= {"explained": found.explained, "explained_error": errors.explained}
    cells |= {"ratio": found.ratio, "ratio_error": errors.ratio}
    cells |= {"clear": [i < found.readable for i in range(found.k)], "determined": errors.determined}
    for j, name in enumerate(found.feature_names):
        cells |= {f"loading {name}": found.components[:, j], f"loading {name} error": errors.loadings[:, j]}
    return cells


def about(found: PrincipalComponents) -> str:  # noqa: ARG001 - one signature for all
    """Return what standard errors are about."""
    return POPULATION


def components_table(found: PrincipalComponents, limit: int | None = MOST_COMPONENTS) -> Table:
    """List what lies along each component, and the features that it is made of."""
    hidden = 0 if limit is None else max(0, found.k - limit)
    table = new_table(f"principal components ({found.k} of {len(found.feature_names)} directions)", hidden, "component")
    for heading in ("component", "explained", "ratio", "cumulative"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("largest loadings", overflow="fold")
    running, errors = np.cumsum(found.ratio), found.errors
    for place in range(found.k - hidden):
        if place >= found.readable:
            table.add_row(f"PC{place + 1}", NOISE, "", "", "", style="dim")
            continue
        parts = ((found.ratio[place], errors.ratio[place]), (running[place], errors.cumulative[place]))
        shares = (f"{with_error(100 * part, 100 * error)} %" for part, error in parts)
        own = with_error(found.explained[place], errors.explained[place])
        table.add_row(f"PC{place + 1}", own, *shares, _loadings_line(found, place))
    return table


def with_error(value: float, error: float) -> str:
    """Return a number with its standard error, and no more digits than that allows."""
    return " ± ".join(rounded(float(value), float(error)))


def _loadings_line(found: PrincipalComponents, place: int) -> str | Text:
    """Name the features with the largest loadings on one component that are clear of noise."""
    from rich.text import Text

    if not found.errors.determined[place]:
        return Text("not determined", style="dim")
    row, errors, clear = found.components[place], found.errors.loadings[place], found.clear[place]
    largest = [j for j in np.argsort(-np.abs(row), kind="stable")[:MOST_LOADINGS] if clear[j]]
    if not largest:
        return Text(NOISE, style="dim")
    kept = [j for rank, j in enumerate(largest) if rank == 0 or abs(row[j]) >= 0.005]  # others would read 0.00
    return ", ".join(f"{shortened(printable(found.feature_names[j]))} {_loading(row[j], errors[j])}" for j in kept)


def _loading(value: float, error: float) -> str:
    """Return a loading with its sign and error; of an unknown error in two digits."""
    if not np.isfinite(error):
        return f"{value:+.2f} ± ?"
    number, own = rounded(float(value), max(float(error), 0.0005))
    return f"{'+' * int(value >= 0)}{number} ± {own}"


def legible(found: PrincipalComponents) -> list[int]:
    """Return the components whose loadings are worth reading: they stand out of the noise, and are determined."""
    return [place for place in range(found.readable) if found.errors.determined[place]]


def loadings(found: PrincipalComponents, first: int = 0) -> dict[str, Reading]:
    """Return the loadings of a few components that are worth reading by heading, a number for each feature."""
    return {
        f"PC{i + 1}": Reading(found.components[i], found.errors.loadings[i], found.clear[i])
        for i in legible(found)[first : first + _side_by_side(found)]
    }


def notes(found: PrincipalComponents) -> list[str]:
    """Say what the numbers in the table are, and what they are not."""
    release = found.release
    what = "variance" if is_centered(release) else "second moment"
    unit = "in the data's units, squared" if release.schema is None else "of encoded columns, which the schema's bounds scale"
    clear = found.readable
    total = with_error(found.total, found.errors.total)
    said = [f"Total {what}: {total}, {unit}."] * (clear > 0)
    said += [f"±: one standard error {people_words(POPULATION)}, to first order."] * (clear > 0)
    mixed = [f"PC{place + 1}" for place in range(clear) if not found.errors.determined[place]]
    if mixed:
        listed = ", ".join(mixed[:MOST_COLUMNS]) + ", ..." * (len(mixed) > MOST_COLUMNS)
        said.append(
            f"Loadings of {listed} are not determined: other directions explain as much, as far as errors can tell, and any "
            f"mixture of them would do as well."
        )
    if clear and np.isnan(found.errors.loadings[:clear]).any():
        said.append("How certain loadings are depends on the exact spectrum, which nobody knows.")
    if found.standing_out is None:
        said.append(f"Which of them stand out of the noise: {SILENT}.")
    if clear < found.k:
        which = f"PC{clear + 1}" + (f" to PC{found.k}" if clear + 1 < found.k else "")
        said.append(f"Nothing stands out along {which}: what was answered cannot be told from noise.")
    if not is_centered(release):
        center = by("--center", "center=True")
        said.append(
            f"Rows were not centred: the first component may point at their mean. {center} at the release centres them."
        )
    return said


def figure(found: PrincipalComponents) -> Any:
    """Return a figure: the explained variance above the cumulative ratio's line, beside a heat map of the largest loadings."""
    shown, hidden = _features(found)
    k = min(found.k, MOST_DRAWN)
    held = found.held  # those beside the chosen ones show where to stop
    bars = min(len(held.explained), MOST_BARS)
    height = max(4.2, 0.23 * len(shown) + 1.6)
    room = ROOM_WITH_ERRORS if k <= MOST_WITH_ERRORS else ROOM
    widths = [max(4.2, 0.24 * bars + 1.5), max(3.6, room * k + 2.9)]
    what = "variance" if is_centered(found.release) else "second moment"
    title = f"Principal components of {len(found.feature_names)} features"
    drawn = new_figure(sum(widths), height, title, found.release, size=10)
    left, right = drawn.subplots(1, 2, width_ratios=widths)
    _scree(left, held, found.k, bars, what)
    fading = _heat_map(drawn, right, found, shown, k)
    parts = [f"{len(shown)} of {len(found.feature_names)} features"] * hidden
    parts += [f"{k} of {found.k} components"] * (k < found.k)
    heading = "loadings" + (f" ({', '.join(parts)})" if parts else "")
    right.set_title(heading + f"\n({fading})" * bool(fading), fontsize=10)
    return drawn


def _features(found: PrincipalComponents) -> tuple[NDArray[np.int64], bool]:
    """Return the features with the largest loadings, in the order of the table, and whether there are others."""
    size = np.abs(found.components[:MOST_DRAWN]).max(axis=0)
    largest = np.argsort(-size, kind="stable")[:MOST_FEATURES]
    return np.sort(largest), len(size) > MOST_FEATURES


def _scree(axis: Any, held: PrincipalComponents, chosen: int, bars: int, what: str) -> None:
    from matplotlib.ticker import FixedLocator, MaxNLocator, PercentFormatter

    places = np.arange(1, bars + 1)
    clear = held.readable
    colours = [DROWNED if place > clear else COLOURS[0] if place <= chosen else PALE for place in places]
    axis.bar(places, held.explained[:bars], color=colours, width=0.72)
    shown = places[: min(bars, clear)]
    reach = held.errors.explained[: len(shown)]
    if len(shown) and np.isfinite(reach).any():
        known = np.isfinite(reach)
        style = {"fmt": "none", "ecolor": "#444444", "elinewidth": 1, "capsize": 2}
        axis.errorbar(shown[known], held.explained[: len(shown)][known], yerr=reach[known], **style)
    edge = held.noise_edge[:bars]
    has_edge = bool(np.isfinite(edge).all()) and clear < held.k
    if has_edge:
        axis.step(places, edge, where="mid", color="#777777", linewidth=1, linestyle="--")
    axis.set_xlabel("component")
    axis.set_ylabel(f"explained {what}", color=COLOURS[0])
    axis.xaxis.set_major_locator(FixedLocator(places.tolist()) if bars <= MOST_TICKS else MaxNLocator(integer=True))
    axis.set_xlim(0.3, max(bars, 2) + 0.7)
    highest = np.nan_to_num((held.explained + held.errors.explained)[:clear], nan=0.0, posinf=0.0)
    least = float(edge.min()) if has_edge and not clear else 0.0  # bars that are all noise stand below its edge
    axis.set_ylim(0, 1.08 * max(float(held.explained.max()), float(highest.max(initial=0.0)), least, 1e-300))
    ratio = axis.twinx()
    running = np.cumsum(held.ratio)[: min(bars, clear)]
    ratio.plot(
        places[: len(running)], running, color=COLOURS[1], marker="o", markersize=4 if bars <= 20 else 2.5, linewidth=1.2
    )
    ratio.set_ylim(0, 1.08)
    ratio.set_yticks(np.linspace(0, 1, 6))
    ratio.yaxis.set_major_formatter(PercentFormatter(1.0))
    ratio.set_ylabel("cumulative ratio", color=COLOURS[1])
    parts = [f"the first {bars} of {held.k}"] * (held.k > bars) + [f"dark: {chosen} chosen"] * (chosen < min(bars, clear))
    parts += ["grey: noise"] * (clear < bars) + ["dashed: what noise alone could show"] * has_edge
    errors = " ± standard error" * bool(len(shown) and np.isfinite(reach).any())
    axis.set_title(f"explained {what}{errors}" + (f"\n({', '.join(parts)})" if parts else ""), fontsize=10)
    for side in (axis, ratio):
        side.tick_params(labelsize=8)
        side.spines["top"].set_visible(False)


def _heat_map(drawn: Any, axis: Any, found: PrincipalComponents, shown: NDArray[np.int64], k: int) -> str:
    """Draw loadings, with their errors where there is room; return what pale colours and grey mean, where there are some."""
    matrix = np.where(found.clear, found.components, np.nan)[:k, shown].T.copy()
    errors = found.errors.loadings[:k, shown].T
    own = opacity(found.components[:k, shown].T, errors)
    largest = max(float(np.nanmax(np.abs(matrix), initial=0.0)), 1e-300)
    image = coloured(axis, matrix, own, largest, aspect="auto")
    names = [shortened(printable(found.feature_names[j])) for j in shown]
    axis.set_xticks(range(k), [f"PC{i + 1}" for i in range(k)], fontsize=8)
    axis.set_yticks(range(len(shown)), names, fontsize=8, parse_math=False)  # a name may hold a $
    axis.tick_params(length=0)
    for (i, j), value in np.ndenumerate(matrix):
        if np.isnan(value):
            continue
        colour = "white" if abs(value) * own[i, j] > 0.6 * largest else "black"
        known = k <= MOST_WITH_ERRORS and np.isfinite(errors[i, j])
        said = " ± ".join(rounded(float(value), max(float(errors[i, j]), 0.0005))) if known else f"{value:z.2f}"
        axis.text(j, i, said, ha="center", va="center", fontsize=7, color=colour)
    for edge in axis.spines.values():
        edge.set_visible(False)
    if np.isfinite(matrix).any():
        drawn.colorbar(image, ax=axis, shrink=0.8, aspect=30, pad=0.02).ax.tick_params(labelsize=8)
    return fading_words(matrix, own)
