"""What a release says of its columns, as text and JSON: no number without its standard error, no noise as a number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcov.report.text import NOISE, SILENT, features_table, finite, printable, rounded
from dpcov.report.units import Units
from dpcov.uses.clipping import clipped_share
from dpcov.uses.description import CLEAR, Description, Reading
from dpcov.uses.held import is_centered
from dpcov.uses.sampling import POPULATION

if TYPE_CHECKING:
    from rich.console import Console

    from dpcov.release.record import Release

MANY_CELLS = 0.05  # of a column: fewer that match no level are nothing to speak of

DEVIATION = {True: "standard deviation", False: "root mean square"}
"""What the roots of the diagonal are, by whether the release is centred."""


def what_correlates(release: Release) -> str:
    """Name what `Release.correlation` is: cosines about 0 where the release has no mean."""
    return "correlation" if is_centered(release) else "cosines about 0"


def spectrum_of(release: Release) -> str:
    """Name the matrix whose eigenvalues are shown: a second moment's own only where its columns share a unit."""
    return "second moment" if not is_centered(release) and release.schema is None else what_correlates(release)


def readings(found: Description) -> dict[str, Reading]:
    """Return what is read of each feature, by heading."""
    both = {"mean": found.mean, DEVIATION[is_centered(found.release)]: found.deviation}
    return {heading: reading for heading, reading in both.items() if reading is not None}


def head_line(found: Description) -> str:
    """Count what is clear of noise: the first thing to know of a release."""
    said, silent, centred = [], [], is_centered(found.release)
    for what, reading, wanted in (
        ("Means", found.mean, slice(None)),
        ("Deviations" if centred else "Root mean squares", found.deviation, ~found.is_level),  # of levels: by their shares
    ):
        if reading is not None and not reading.known:
            silent.append(what)
        elif reading is not None and len(clear := reading.clear[wanted]):
            said.append(f"{what}: {int(clear.sum())} of {len(clear)}")
    what = "Correlations" if centred else "Cosines"
    if found.correlation is not None and (pairs := len(found.pairs(clear=False))):
        if found.correlation.known:
            said.append(f"{what}: {len(found.pairs())} of {pairs}")
        else:
            silent.append(what)
    counted = [f"{said[0]} clear of noise.", *(f"{part}." for part in said[1:])] if said else []
    return " ".join([*counted, *[f"{', '.join(silent)}: {SILENT}."] * bool(silent)])


def write(out: Console, found: Description, title: str = "private estimates", limit: int | None = None) -> None:
    """Print what is clear of noise, then each feature's numbers, and what they mean; nothing where a release has none."""
    columns = readings(found)
    if not columns:
        return
    out.print(head_line(found), style="bold", soft_wrap=True)
    units = Units(found.release.schema, len(found.feature_names))
    writes = dict(zip(columns, (units.value, units.distance) if found.mean is not None else (units.distance,), strict=False))
    out.print(features_table(found.feature_names, columns, title, limit, writes))
    out.print("\n".join(_notes(found.release, found, list(columns.values()))), soft_wrap=True)


def people_words(about: str, *, clipping: bool = False) -> str:
    """Say in a few words what standard errors are of."""
    if about == POPULATION:
        return f"about the population: noise{', clipping' * clipping} and the draw of rows together"
    return f"of the noise{' and of clipping' * clipping}; which people happened to be in the table is not in it"


def _notes(release: Release, found: Description, shown: list[Reading]) -> list[str]:
    """Say what ± is, what stands for noise, and what a missing cell counts as."""
    clipping = clipped_share(release) > 0 and release.estimate.radius is not None
    said = [f"±: one standard error {people_words(found.about, clipping=clipping)}."]
    if release.estimate.radius is None and release.estimate.covariance is not None:
        said.append("Rows are taken to be roughly normal: others, such as rare levels, are clipped, which is not in it either.")
    if found.about == POPULATION and (clipping or release.estimate.units is not None) and not found.is_level.all():
        said.append("Deviations suppose columns without long tails: those of incomes, for example, come out too small.")
    if any(reading.known and not reading.clear.all() for reading in shown):
        said.append(f"{NOISE}: within {CLEAR:g} standard errors of what no signal at all would show.")
    said += cell_lines(release, found)
    return said if release.schema is None else said + unmatched_lines(found)


def cell_lines(release: Release, found: Description) -> list[str]:
    """Say within which ranges cells were measured, and what missing ones count as."""
    if release.schema is None:
        return []
    if release.estimate.units is None:
        return [missing_line(found, midpoints=release.encoding.midpoints)]
    said = []
    if ranges := release.ranges:
        units, place = Units(release.schema, release.d), release.feature_names.index
        listed = ", ".join(
            f"{printable(name)} {units.span(place(name), *ends) if place(name) in units.dated else _between(*ends)}"
            for name, ends in ranges.items()
        )
        said.append(f"Measured within privately chosen ranges, beyond which values count as their ends: {listed}.")
    if observed := release.observed:
        error = release.observed_error
        whole = [printable(name) for name in observed if error[name] == 0]
        listed = ", ".join(
            f"{printable(name)} {_share(share, error[name])} %" for name, share in observed.items() if error[name] > 0
        )
        said += [f"Cells that are there, whose numbers these are: {listed}."] * (len(whole) < len(observed))
        said += [f"No missing cells can be told from noise, so all are taken to be there: {', '.join(whole)}."] * bool(whole)
    return [*said, "Missing numbers are left out: these estimates are of the cells that are there."]


def _share(share: float, error: float) -> str:
    """Write a share of cells in percent with its error; one that could be nothing is no number."""
    number, own = rounded(100 * share, 100 * error)
    return f"{number if share > CLEAR * error else NOISE} ± {own}"


def _between(low: float, high: float) -> str:
    """Write a range in as many digits as its width has three of."""
    digits = 2 - math.floor(math.log10(high - low)) if high > low else 0
    return f"{round(low, digits) + 0.0:.15g} to {round(high, digits) + 0.0:.15g}"


def missing_line(found: Description, *, midpoints: bool) -> str:
    """Say what a missing cell counts as in these numbers."""
    parts = [f"as {'the midpoint of its bounds' if midpoints else '0'}"] * (not found.is_level.all())
    parts += ["as none of its levels"] * bool(found.is_level.any())
    columns = ("in a column of numbers ", "in one of levels ") if len(parts) == 2 else ("",)
    return "A missing cell counts " + ", ".join(f"{where}{what}" for where, what in zip(columns, parts, strict=True)) + "."


def unmatched_lines(found: Description) -> list[str]:
    """Name the columns whose shares clearly leave out many cells: missing ones, or levels that are spelt otherwise."""
    if found.mean is None:
        return []
    said = []
    for column in dict.fromkeys(name for name, level in zip(found.columns, found.is_level, strict=True) if level):
        places = [place for place, name in enumerate(found.columns) if name == column]
        left = 1 - float(found.mean.values[places].sum())
        error = float(np.linalg.norm(found.mean.standard_error[places]))
        if left > max(MANY_CELLS, CLEAR * error):
            share = " ± ".join(rounded(100 * left, 100 * error))
            said.append(
                f"{share} % of the cells of {printable(column)} are missing, or none of its levels: are these spelt right?"
            )
    return said


def spectrum_line(said: Description, limit: int | None) -> str:
    """List the eigenvalues that are clear of noise, and say where the others lie."""
    release, found = said.release, said.spectrum
    d, of = release.d, spectrum_of(release)
    of += f" of the {found.features} features with a clear deviation" * (0 < found.features < d)
    about = "" if found.about == 0 else f"{found.about:g} "
    within = f"{about}± {found.edge:.2g}"
    if np.isnan(found.edge):
        return f"Eigenvalues ({of}): {SILENT}."
    if found.features == 0:
        return f"Eigenvalues ({of}): none, as no deviation is clear of noise."
    if not np.isfinite(found.edge):
        return f"Eigenvalues ({of}): none is clear of noise, whose size is not known."
    clear = [" ± ".join(rounded(*pair)) for pair in zip(found.values[found.clear], found.errors[found.clear], strict=True)]
    if not clear:
        return f"Eigenvalues ({of}): none is clear of noise, which alone would put them within {within}."
    hidden = 0 if limit is None else max(0, len(clear) - limit)
    listed = ", ".join(clear[: len(clear) - hidden]) + f", ... ({len(clear)} in all)" * bool(hidden)
    below = int((found.values < found.about - found.edge).sum()) if found.about else 0
    rest = len(found.values) - len(clear) - below
    parts = [listed, *[f"the other {rest} cannot be told from noise (within {within})"] * bool(rest)]
    parts += [f"{below} below {within}, what the larger ones leave: all add up to {found.features}"] * bool(below)
    return f"Eigenvalues ({of}): {'; '.join(parts)}."


def record(found: Description) -> dict[str, Any]:
    """Return what is read of each feature for machines: numbers, their standard errors, and which are clear of noise."""
    named = {heading.replace(" ", "_"): reading for heading, reading in readings(found).items()}
    if not named:
        return {}
    clear: dict[str, Any] = {name: reading.clear.tolist() for name, reading in named.items()}
    if found.correlation is not None:
        clear["correlations"] = {"clear": len(found.pairs()), "pairs": len(found.pairs(clear=False))}
    return {
        "about": found.about,
        **{name: reading.values.tolist() for name, reading in named.items()},
        "standard_error": {name: finite(reading.standard_error) for name, reading in named.items()},
        "clear_of_noise": clear,
    }


def spectrum_record(said: Description) -> dict[str, Any]:
    """Return eigenvalues for machines."""
    release, found = said.release, said.spectrum
    return {
        "of": spectrum_of(release),
        "values": found.values.tolist(),
        "standard_error": finite(found.errors),
        "clear_of_noise": found.clear.tolist(),
        "noise": {"about": found.about, "edge": finite(found.edge)},
    }


def columns(found: Description) -> dict[str, Any]:
    """Return a line for each feature: its numbers, their standard errors, and whether they are clear of noise."""
    cells: dict[str, Any] = {"feature": list(found.feature_names), "column": list(found.columns)}
    for heading, reading in readings(found).items():
        name = heading.replace(" ", "_")
        cells |= {name: reading.values, f"{name}_error": reading.standard_error, f"{name}_clear": reading.clear}
    return cells


def about(found: Description) -> str:
    """Return what standard errors are about, for those who look at a table alone."""
    return found.about
