"""The numbers of the page, from a release alone: facts as JSON, arrays in a store."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov._version import __version__
from dpcov.errors import DpcovError, ReleaseError
from dpcov.kernel.budget import ZCDP
from dpcov.release.record import Release
from dpcov.report import components, models
from dpcov.report.descriptions import DEVIATION, cell_lines, people_words, what_correlates
from dpcov.report.page.overview import title
from dpcov.report.page.regressions import LARGE, regressions
from dpcov.report.page.store import Store
from dpcov.report.pictures import budget_line
from dpcov.report.release_lines import unknown_line
from dpcov.report.text import Write, finite, reading_cells, speaking_python
from dpcov.report.units import Units
from dpcov.uses.description import Correlation, Description, Reading
from dpcov.uses.held import holds_covariance, is_centered
from dpcov.uses.sampling import ROWS

Floats = NDArray[np.float64]

MOST_LOADINGS = 6  # components whose loadings are shown
MOST_FEATURES = 1500  # whose pairs a browser holds at once, a million of them
FEWEST_TO_HALVE = 4  # columns: half of fewer have no pair
MOST_PLANNED = 2**30  # rows, as in plans
MOST_POWER = 2.0  # a plan is made of few releases, and errs itself
MOST_BARS = 60  # eigenvalues that are drawn
MOST_ORDERED = 150  # columns whose best order is looked for among all that a tree allows: that takes their cube


def facts_of(release: Release) -> dict[str, Any]:
    """Return everything that the page shows beside the overview."""
    store, facts = Store(), _facts(release)
    if unknown_line(release) is None:
        said = release.describe()
        with speaking_python():
            facts |= {"means": _means(said), "notes": cell_lines(release, said) if said.deviation or said.mean else []}
            facts |= {"model": _model(release), "components": _components(release, store)}
        if said.correlation is not None and release.d > MOST_FEATURES:
            facts["tooMany"] = MOST_FEATURES
        elif said.correlation is not None:
            facts["correlation"] = _correlation(said.correlation, store)
            facts["planner"] = _planner(release, said)
            facts["regression"] = regressions(release, store) if release.d > 1 else None
    return {**facts, **store.record()}


def _facts(release: Release) -> dict[str, Any]:
    columns = _columns(release)
    names = list(dict.fromkeys(columns))
    return {
        "title": title(release),
        "budget": budget_line(release.privacy),
        "version": __version__,
        "features": list(release.feature_names),
        "columns": names,
        "columnOf": [names.index(name) for name in columns],
        "hasSchema": release.schema is not None,
        "seeded": release.seeded,
        "isCentred": unknown_line(release) is None and is_centered(release),
    }


def _columns(release: Release) -> list[str]:
    from dpcov.uses.selection import column_of_feature

    return column_of_feature(release.schema, release.feature_names)


def _means(said: Description) -> dict[str, Any] | None:
    """Return means and deviations as they are read: text with no more digits than errors allow, and numbers to draw."""
    release = said.release
    if said.mean is None and said.deviation is None:
        return None
    units = Units(release.schema, release.d)
    low, high = (np.full(release.d, np.nan),) * 2 if release.schema is None else release.schema.bounds()
    return {
        "mean": None if said.mean is None else _reading(said.mean, units.value),
        "deviation": None if said.deviation is None else _reading(said.deviation, units.distance),
        "deviationName": DEVIATION[is_centered(release)],
        "isLevel": said.is_level.tolist(),
        "dated": units.dated,
        "low": finite(low),
        "high": finite(high),
        "about": people_words(said.about),
    }


def _reading(reading: Reading, write: Write) -> dict[str, Any]:
    cells = [reading_cells(reading, place, write) for place in range(len(reading.values))]
    return {
        "text": [value.plain for value, _ in cells],
        "errorText": [error.plain for _, error in cells],
        "value": finite(reading.values),
        "error": finite(reading.standard_error),
        "clear": reading.clear.tolist(),
    }


def _correlation(found: Correlation, store: Store) -> dict[str, Any]:
    """Put correlations into the store: in full, or, where there are many, rounded far below what can be seen."""
    upper = np.triu_indices(len(found.values))
    if len(found.values) <= LARGE:
        store.put_upper("correlation", found.values)
        store.put_upper("correlation_error", found.standard_error)
    else:
        store.put_shares("correlation", np.where(found.clear, found.values, 0.0))  # noise is not shown
        store.put_errors("correlation_error", found.standard_error)
    store.put("correlation_clear", found.clear[upper], "<u1")
    store.put("order", _order(found), "<i2")
    return {
        "name": what_correlates(found.release),
        "rounded": len(found.values) > LARGE,
        "known": found.known,
        "about": people_words(found.about),
        "clear": len(found.pairs()),
        "pairs": len(found.pairs(clear=False)),
    }


def _order(found: Correlation) -> NDArray[np.intp]:
    """Return the features in an order in which columns that go together are neighbours; levels of a column stay together."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    names = list(dict.fromkeys(found.columns))
    numbers = np.array([names.index(name) for name in found.columns])
    if len(names) < 3:
        return np.arange(len(numbers))
    near = np.where(found.clear, np.abs(found.values), 0.0)
    starts = np.searchsorted(numbers, np.arange(len(names)))  # features of a column stand together
    of_columns = np.maximum.reduceat(np.maximum.reduceat(near, starts, axis=0), starts, axis=1)
    apart = 1 - of_columns
    np.fill_diagonal(apart, 0.0)
    tree = linkage(squareform(apart, checks=False), "average", optimal_ordering=len(names) <= MOST_ORDERED)
    return np.concatenate([np.flatnonzero(numbers == column) for column in leaves_list(tree)])


def _components(release: Release, store: Store) -> dict[str, Any] | None:
    """Put loadings into the store, of components that are worth reading, and return what lies along each."""
    if release.estimate.k is None and not holds_covariance(release):
        return None
    try:
        held = release.pca(min(release.d, MOST_BARS)) if release.estimate.k is None else release.pca()
    except ReleaseError:  # noise alone
        return None
    if not held.total > 0:
        return None
    errors, shown = held.errors, min(held.k, max(min(held.readable, MOST_LOADINGS), min(held.k, 2)))
    store.put("loadings", held.components[:shown])
    store.put("loadings_error", errors.loadings[:shown])
    store.put("loadings_clear", held.clear[:shown], "<u1")
    return {
        "shown": shown,
        "explained": finite(held.explained),
        "explainedError": finite(errors.explained),
        "share": finite(held.ratio),
        "shareError": finite(errors.ratio),
        "edge": finite(held.noise_edge),
        "standingOut": held.standing_out,
        "determined": errors.determined.tolist(),
        "directions": release.d,
        "notes": components.notes(held),
        "encoded": release.schema is not None,
        "what": "variance" if is_centered(release) else "second moment",
    }


def _model(release: Release) -> dict[str, Any] | None:
    """Return the one model that a release of coefficients holds."""
    if release.estimate.coefficients is None:
        return None
    reading = release.ridge().reading()
    facts = models.numbers(reading)
    kept = ("target", "features", "alpha", "coefficients", "level", "interval", "clear_of_noise", "no_interval")
    return {**{name: facts[name] for name in kept}, "notes": models.notes(reading)}


def _planner(release: Release, said: Description) -> dict[str, Any] | None:
    """Return the two parts of today's standard errors: noise, which shrinks with 1/rows, and the draw of rows."""
    correlation, rows = said.correlation, release.describe(ROWS)
    assert correlation is not None
    assert rows.correlation is not None
    numbers, columns = ~said.is_level, np.array(said.columns)
    pairs = np.triu(np.not_equal.outer(columns, columns), 1)
    of_numbers = pairs & np.logical_and.outer(numbers, numbers)
    chosen = of_numbers if of_numbers.any() else pairs
    if not chosen.any() or not correlation.known:
        return None
    return {
        "noise": finite(np.median(rows.correlation.standard_error[chosen])),
        "power": _power_of_columns(release),
        "draw": 1 / math.sqrt(release.independent_n),
        "rows": None if release.encoding.partial else release.n,  # else n is what they count together
        "who": release.encoding.counted,
        "columns": len(set(said.columns)),
        "budget": [budget_line(release.privacy), 0.5 if isinstance(release.privacy, ZCDP) else 1.0],
    }


def _power_of_columns(release: Release) -> float:
    """Return the power of the number of columns that the noise of a correlation grows with: by a plan with half of them.

    Without a schema there is no plan. There a row's norm is shared by its columns: its square, and with it the noise, grows as
    their number does.
    """
    from dpcov.evaluate.table_plan import plan_table

    if release.schema is None or len(release.schema.used) < FEWEST_TO_HALVE:
        return 1.0
    every = list(release.schema.used)
    try:
        found = plan_table(
            release.schema, release.privacy, n=min(release.n, MOST_PLANNED), columns=every[::2], neighbors=release.neighbors
        )
    except DpcovError:  # a budget that is too small for the mechanism that a plan is of, for one
        return 1.0
    assert found.chosen is not None
    if not found.outlook.shows_correlations or not found.chosen.correlation > 0:  # what is drowned tells no power
        return 1.0
    power = math.log(found.outlook.correlation / found.chosen.correlation) / math.log(len(every) / len(every[::2]))
    return min(max(power, 0.0), MOST_POWER)
