r"""Synthetic rows that have the mean and the covariance of a release, inside its bounds and levels.

With a schema, columns are drawn one after the other. Given the ones before it, a column's mean is linear in them,

.. math:: q = p + B^T (y - \bar y), \qquad B = (A + \lambda)^{-1} C,

with y the cells that are drawn already (levels as 0 and 1, numbers as parts of their range), A their covariance and C the
released one with the column. A level is drawn with the probabilities q, a number from the beta law with mean q and variance
φ·q(1 − q). As long as q stays inside the bounds, means and covariances are then kept exactly: cov(y, column) = cov(y, q) = C.
q is moved to the nearest point inside where it does not, and p is shifted until the mean is right again.

A is measured on pilot rows: what one column misses, the next do not inherit. λ is twice the r.m.s. noise of an entry.

Paper    Qaqish (Biometrika 2003): the conditional linear family, for binary columns.
Differs  any number of levels, numbers by a beta law, and A is measured. docs/synthetic.md compares with other ways.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, ReleaseError, shown
from dpcov.kernel.bits import Bits, SeededBits, SystemBits
from dpcov.kernel.noise.normal import normals
from dpcov.linalg import project_simplex
from dpcov.release.record import Release
from dpcov.schema import Categorical, Derived, Described, Numeric, Observed, Schema
from dpcov.sources.dates import dates
from dpcov.uses.held import check_covariance
from dpcov.uses.selection import column_places

Floats = NDArray[np.float64]

PILOT = 2**14  # rows that the model is fitted to, or four times the number of features: sampling errors below a hundredth
ENTRIES = 2**22  # of a block of rows: 32 MiB
MOST_ROWS = 2**31  # more than a release can be about: whoever asks for more has mistaken something
SINGULAR = 1e-6  # added to variances of 1: the levels of a column sum to 1, so that their covariance has no inverse
SHIFTS = 20  # rounds, at most, in which a column's mean is corrected
NEAR = 1e-4  # of the standard deviation: a mean that needs no further correction
TINY = 1e-100  # deviations and dispersions that are nothing but rounding
LARGEST_INTEGER = 2.0**53  # beyond it a float64 is whole anyway
NORMAL = 1e4  # parameters of a beta law above which it is a normal one, up to a skewness of 2 %


def synthetic(release: Release, m: int, *, seed: int | None = None) -> Any:
    """Return m made-up rows with about the mean and the covariance of a release, at no cost in privacy.

    With a schema a table like the one that was released: numbers within their bounds (whole ones where the schema says
    ``integer``), and levels. What the schema computes from other columns is not in it, and can be computed from it: a
    transform of a column is drawn and undone, unless the column itself is there. Else an array of normal rows, the longer
    ones cut to row_norm; those of a release without a mean are about 0 and have its second moment.

    Parameters
    ----------
    m : int
        How many; more rows tell no more than the release does.
    seed : int, optional
        Rows can be repeated with it. It has nothing to do with privacy: they are made from the release alone.

    Returns
    -------
    pyarrow.Table, or without a schema an array of shape (m, d)
    """
    check_covariance(release, "synthetic rows")
    if release.schema is not None and not release.center:
        raise ReleaseError("release must be centred for synthetic rows, got one that is not. Hint: make it with center=True.")
    if isinstance(m, bool) or not isinstance(m, int | np.integer) or not 1 <= m <= MOST_ROWS:
        raise ParameterError(f"m must be an integer from 1 to 2**31, got {shown(m)}. Hint: it says how many rows to make.")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0):
        raise ParameterError(f"seed must be a nonnegative integer, got {shown(seed)}. Hint: leave it out for fresh rows.")
    bits: Bits = SystemBits() if seed is None else SeededBits(seed)
    most = max(1, ENTRIES // release.d)
    sizes = [min(most, int(m) - start) for start in range(0, int(m), most)]
    if release.schema is None:
        return _normal_rows(release, sizes, bits)
    steps = _fitted(release, release.schema)
    return _table(release.schema, (_drawn(steps, release.d, size, bits) for size in sizes))


def _normal_rows(release: Release, sizes: Sequence[int], bits: Bits) -> Floats:
    """Return rows of the nearest positive semidefinite covariance; in public coordinates of their own no row has a bound."""
    bounded = release.estimate.radius is not None
    unit = release.row_norm if bounded else float(np.sqrt(np.abs(release.covariance).max())) or 1.0
    values, vectors = np.linalg.eigh(release.covariance / unit / unit)
    factor = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    mean = release.mean / unit if release.center else np.zeros(release.d)
    blocks = []
    for size in sizes:
        block = mean + normals(size * release.d, bits).reshape(size, -1) @ factor
        norms = np.linalg.norm(block, axis=1, keepdims=True) * (1 + 1e-12)  # rounding must not put a row outside
        blocks.append(block / np.where((norms > 1) & bounded, norms, 1.0) * unit)
    return np.concatenate(blocks)


@dataclass(frozen=True)
class _Step:
    """How a column is drawn: its mean, given the features drawn before it, is ``intercept + features @ slopes``."""

    intercept: Floats
    slopes: Floats
    dispersion: float | None  # φ of a number; None for levels


def _drawn(steps: Sequence[_Step], d: int, rows: int, bits: Bits) -> Floats:
    """Return rows in the order in which features are drawn: levels as 0 and 1, numbers as parts of their range."""
    drawn, start = np.zeros((rows, d), order="F"), 0
    for step in steps:
        stop = start + len(step.intercept)
        means = _possible(drawn[:, :start] @ step.slopes + step.intercept, step.dispersion is not None)
        drawn[:, start:stop] = _cells(means, step.dispersion, bits)
        start = stop
    return drawn


def _fitted(release: Release, schema: Schema) -> list[_Step]:
    """Fit the model to pilot rows, which are always the same: it depends on the release only."""
    shares, covariance, scales, noise = _target(release, schema)
    d, rows, bits = release.d, max(PILOT, 4 * release.d), SeededBits(0)
    pilot, centre, weights = np.zeros((rows, d), order="F"), np.zeros(d), np.zeros(d)  # of features: 1/deviation, or 0
    factor = np.zeros((d, d))  # Cholesky's, of A + λ for features of variance 1; it grows with them
    used, places, new = schema.used, column_places(schema), slice(0, 0)
    steps = []
    for name in _order(schema):
        numeric, old = isinstance(used[name], Numeric), slice(0, new.stop)
        new = slice(old.stop, old.stop + places[name].stop - places[name].start)
        half = _solved(factor[old, old], covariance[old, new] * weights[old, None])
        slopes = _solved(factor[old, old], half, transposed=True) * weights[old, None]
        linear, variance = pilot[:, old] @ slopes, float(covariance[new, new][0, 0])
        if numeric and linear.var() > variance:  # noise explains more than there is
            slopes, linear = (part * np.sqrt(variance / linear.var()) for part in (slopes, linear))
        means, intercept = _settled(linear, shares[new], numeric)
        possible = float((means * (1 - means)).mean())
        dispersion = min(1.0, max(0.0, (variance - float(means.var())) / max(possible, TINY))) if numeric else None
        steps.append(_Step(intercept - centre[old] @ slopes, slopes, dispersion))
        centre[new] = means.mean(axis=0)  # expected: without the chance of what the pilot draws
        cells = _cells(means, dispersion, bits)
        pilot[:, new] = cells - cells.mean(axis=0)
        deviations = pilot[:, new].std(axis=0)
        weights[new] = np.divide(1.0, deviations, out=np.zeros(len(deviations)), where=deviations > TINY)
        joint = pilot[:, : new.stop].T @ (pilot[:, new] * weights[new]) * (weights[: new.stop, None] / rows)
        ridge = SINGULAR + noise[new] * (weights[new] / scales[new]) ** 2 + (weights[new] == 0)
        across = _solved(factor[old, old], joint[old])
        factor[new, old] = across.T
        factor[new, new] = np.linalg.cholesky(joint[new] + np.diag(ridge) - across.T @ across)
    return steps


def _solved(lower: Floats, right: Floats, transposed: bool = False) -> Floats:
    from scipy.linalg import solve_triangular

    return np.asarray(solve_triangular(lower, right, lower=True, trans=1 if transposed else 0)) if len(lower) else right


def _target(release: Release, schema: Schema) -> tuple[Floats, Floats, Floats, Floats]:
    """Return mean and covariance in parts of ranges, how many encoded units a range is, and λ: in the order of drawing.

    A level's variance is p(1 − p), a number's at most that, and no covariance is above the product of two deviations.
    """
    low, high = schema.bounds()
    scales, blocks = (high - low) / release.units, column_places(schema)
    places = np.concatenate([np.arange(release.d)[blocks[name]] for name in _order(schema)])
    shares = np.clip((release.mean - low) / (high - low), 0.0, 1.0)
    covariance = release.encoded_covariance / np.outer(scales, scales)
    variances = np.clip(covariance.diagonal(), 0.0, shares * (1 - shares))
    for name, column in schema.used.items():
        if isinstance(column, Categorical):
            share = project_simplex(shares[blocks[name]], 1.0)
            share = share / share.sum() if share.sum() > 0 else np.full(len(share), 1 / len(share))
            shares[blocks[name]], variances[blocks[name]] = share, share * (1 - share)
    limit = np.sqrt(np.outer(variances, variances))
    covariance = np.clip(covariance, -limit, limit)
    np.fill_diagonal(covariance, variances)
    return shares[places], covariance[np.ix_(places, places)], scales[places], _noise(release)[places]


def _noise(release: Release) -> Floats:
    """Return about two deviations of the noise of an entry of the encoded covariance, by feature; of directions 0: unknown."""
    error, units = release.estimate.expected_error, release.estimate.units
    if units is not None:
        return np.asarray(2 * math.sqrt(units.variance) * (units.back**2).sum(axis=1))
    return np.full(release.d, 0.0 if error is None else 2 * error / release.d)


def _settled(linear: Floats, shares: Floats, numeric: bool) -> tuple[Floats, Floats]:
    """Return possible means with the right average, and the intercept that gives it."""
    intercept = shares.copy()
    near = NEAR * np.sqrt(shares * (1 - shares)).max()
    for left in range(SHIFTS, -1, -1):
        means = _possible(linear + intercept, numeric)
        gap = shares - means.mean(axis=0)
        if left == 0 or np.abs(gap).max() <= near:
            break
        intercept += gap * (2.0 if left > 3 else 1.0)  # where much is cut off, a shift changes the average by less
    return means, intercept


def _possible(linear: Floats, numeric: bool) -> Floats:
    """Return the nearest means inside the bounds, or the nearest probabilities of levels."""
    if numeric:
        return np.clip(linear, 0.0, 1.0)
    descending = -np.sort(-linear, axis=1)
    lowered = (np.cumsum(descending, axis=1) - 1) / np.arange(1, linear.shape[1] + 1)
    active = np.maximum((descending > lowered).sum(axis=1, keepdims=True) - 1, 0)
    return np.maximum(linear - np.take_along_axis(lowered, active, axis=1), 0.0)


def _cells(means: Floats, dispersion: float | None, bits: Bits) -> Floats:
    """Draw a level with the given probabilities, as 0 and 1; or numbers of the given means."""
    uniform = np.asarray((bits.words(len(means)) >> np.uint64(12)) * 2.0**-52 + 2.0**-53, dtype=np.float64)[:, None]
    if dispersion is not None:
        return _beta(means, dispersion, uniform)
    reached = np.cumsum(means, axis=1)
    chosen = (reached < uniform * reached[:, -1:]).sum(axis=1, keepdims=True)
    cells = np.zeros(means.shape)
    np.put_along_axis(cells, chosen, 1.0, axis=1)
    return cells


def _beta(means: Floats, dispersion: float, uniform: Floats) -> Floats:
    """Return quantiles of beta laws with these means and the variances φ·q(1 − q)."""
    from scipy.special import betaincinv, ndtri

    if dispersion < TINY:
        return means
    size = max(1 / dispersion - 1, 1e-6)  # what is spread more widely lies at the bounds
    first, second = means * size, (1 - means) * size
    narrow = np.minimum(first, second) > NORMAL
    open_ = ~narrow & (means > 0) & (means < 1)
    cells = means + np.where(narrow, np.sqrt(dispersion * means * (1 - means)) * ndtri(uniform), 0.0)
    cells[open_] = betaincinv(first[open_], second[open_], uniform[open_])
    return np.clip(cells, 0.0, 1.0)


def _whole(values: Floats, column: Numeric) -> NDArray[np.generic]:
    """Return the nearest whole numbers within the bounds; as integers, unless they are too long for that."""
    nearest = np.clip(np.rint(values), float(math.ceil(column.lower)), float(math.floor(column.upper)))
    return nearest.astype(np.int64) if max(abs(column.lower), abs(column.upper)) < LARGEST_INTEGER else nearest


def _order(schema: Schema) -> list[str]:
    """Return the columns in the order of drawing: few levels first, numbers last."""
    levels = {name: len(column.levels) for name, column in schema.used.items() if isinstance(column, Categorical)}
    return [*sorted(levels, key=lambda name: levels[name]), *(name for name in schema.used if name not in levels)]


def _table(schema: Schema, blocks: Iterable[Floats]) -> Any:
    """Return the cells of the table's own columns, in the user's units and types, in the schema's order."""
    import pyarrow as pa

    batches, used, chosen = [], schema.used, _own_columns(schema)
    for block in blocks:
        found, start = {}, 0
        for name in _order(schema):
            column, width = used[name], len(used[name].features(name))
            if name in chosen:
                found[name] = _column_cells(column, block[:, start : start + width])
            start += width
        batches.append(pa.table({table: found[name] for name, table in chosen.items()}))
    return pa.concat_tables(batches)


def _own_columns(schema: Schema) -> dict[str, str]:
    """Return which used columns make a table like the released one, each with its name there.

    A column of the table is drawn as itself, else from a transform of it. Flags, and products of columns that are not there,
    have no other place and keep their own names.
    """
    used = schema.used
    single = [name for name, column in used.items() if len(column.cells(name)) == 1 and not isinstance(column, Observed)]
    drawn: dict[str, str] = {}
    for name in sorted(single, key=lambda name: isinstance(used[name], Derived)):
        drawn.setdefault(schema.table_columns([name])[0], name)
    chosen = {name: table for table, name in drawn.items()}
    for name, values in schema.values().items():
        if name not in single and not values <= set(drawn):
            chosen[name] = name
    return {name: chosen[name] for name in used if name in chosen}


def _column_cells(column: Described, block: Floats) -> Any:
    """Return the cells of a column: its numbers, from parts of its range; what was transformed is what it was before."""
    import pyarrow as pa

    if isinstance(column, Categorical):
        return pa.array(column.levels).take(pa.array(block.argmax(axis=1)))
    values = column.lower + block[:, 0] * (column.upper - column.lower)
    if isinstance(column, Derived) and isinstance(column.before, Numeric):
        column = column.before
        values = column.undone(values)
    inside = np.clip(values, column.lower, column.upper)
    if column.dates is not None:
        return dates(inside, column.dates)
    return pa.array(_whole(values, column) if column.integer else inside)
