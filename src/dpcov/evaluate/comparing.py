"""Run every mechanism many times on public rows and measure how far off it is: choose before spending."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, shown
from dpcov.evaluate.comparison import Cell, Comparison
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import ZCDP, Budget
from dpcov.kernel.curator import Curator
from dpcov.kernel.noise.laws import NoiseLaw
from dpcov.kernel.questions.measure import Measure
from dpcov.kernel.questions.moments import REPLACE
from dpcov.kernel.rows.grid import Grid
from dpcov.mechanisms import MECHANISMS, Mechanism, checked_mechanism
from dpcov.mechanisms.option_text import read_mechanism
from dpcov.release.record import Release
from dpcov.request import check_budget, checked_grid, in_encoded_units, public_encoding
from dpcov.schema import Schema
from dpcov.sources.array import ArraySource
from dpcov.sources.kept import KeptSource
from dpcov.sources.opening import open_source

Floats = NDArray[np.float64]


def compare(
    data: object,
    budgets: Budget | Sequence[Budget],
    mechanisms: str | Sequence[str] | None = None,
    *,
    row_norm: float | None = None,
    schema: Schema | None = None,
    neighbors: str = REPLACE,
    center: bool = False,
    columns: Sequence[str | int] | None = None,
    runs: int = 20,
    seed: int = 0,
    progress: Callable[[float | None], None] | None = None,
) -> Comparison:
    """Measure the errors of mechanisms at budgets, on **public or made-up rows**: the figures are not private.

    A custodian compares on rows that look like the real ones and are nobody's, chooses, and then spends once.

    Parameters
    ----------
    data : array, frame, path or anything with ``__arrow_c_stream__``
        As in `covariance`, but public, and small enough for memory: it is read once and kept.
    budgets : PureDP, ZCDP or ApproxDP, or a list of them
    mechanisms : str or list of str, optional
        Names in ``dpcov.MECHANISMS["covariance"]``, all by default; with options as in "separate:constants=paper,clip=private".
    row_norm, schema, neighbors, center, columns
        As in `covariance`.
    runs : int
        Releases for each mechanism and budget, at least 2.
    seed : int
        Of the first run; those after it count on from there.
    progress : callable, optional
        Called with None while rows are read, then with the fraction of the runs that are done.

    Returns
    -------
    Comparison
        A cell is empty where the mechanism does not serve the budget, or centred rows.

    Raises
    ------
    ParameterError, SchemaError
        Before any row is read, but for an empty stream.
    EngineError
        A file or stream cannot be read to its end.

    Examples
    --------
    >>> import numpy as np, dpcov
    >>> rows = np.eye(3).repeat(100, axis=0)
    >>> found = dpcov.compare(rows, dpcov.PureDP(1), ["wishart", "kapralov-talwar"], row_norm=1, runs=5)
    >>> found.best(dpcov.PureDP(1)).mechanism
    'wishart'
    """
    wanted = _checked_budgets(budgets)
    grid = checked_grid(row_norm, schema, neighbors, center)
    entries = _checked_entries(mechanisms, (row_norm, schema, neighbors, center))
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 2:
        raise ParameterError(f"runs must be an integer of at least 2, got {shown(runs)}. Hint: one has no standard error.")
    SeededBits(seed)  # refuses what is no seed
    report = progress or _silent
    source = open_source(data, columns, schema, center, lambda _: report(None))
    rehearsal = ArraySource(np.zeros((2, source.d)))  # the real mechanisms refuse what they do not serve, before rows are read
    served = {
        (entry, budget)
        for entry in entries
        for budget in wanted
        if entry.release(_Quiet(rehearsal, entry.grid, budget, neighbors, SeededBits(0)), None) is not None
    }
    bench = _Bench(KeptSource(source), grid, neighbors, range(seed, seed + runs))
    ticks = itertools.count(1)
    report(0.0)
    cells = [
        bench.cell(entry, budget, lambda: report(next(ticks) / (len(served) * runs)))
        if (entry, budget) in served
        else Cell(entry.label, budget)
        for entry in entries
        for budget in wanted
    ]
    n, d = bench.source.n, bench.source.d
    return Comparison(n, d, center, neighbors, runs, bench.error(np.zeros((d, d))), tuple(cells))


@dataclass(frozen=True, eq=False)
class _Entry:
    """A mechanism with its options."""

    label: str
    run: Mechanism
    grid: Grid
    options: dict[str, Any]

    def release(self, curator: Curator, schema: Schema | None) -> Release | None:
        """Return a release; None where the mechanism does not serve the budget or the rows. A wrong option is refused."""
        try:
            settings = in_encoded_units(self.options, schema, self.options.get("centring") == "mean")
            return self.run(curator, curator.budget, postprocess=None, **settings)
        except ParameterError as error:
            if str(error).partition(" ")[0] in self.options:
                raise
            return None


class _Quiet(Curator):
    """A curator without noise, for the truth about public rows, and for rehearsals."""

    def _draw(self, statistic: Measure, law: NoiseLaw) -> NDArray[np.int64]:  # noqa: ARG002
        return np.zeros(sum(part.size for part in statistic.parts), dtype=np.int64)

    def _direction(
        self,
        matrix: Floats,
        concentration: float,  # noqa: ARG002
        guess: Floats,  # noqa: ARG002
        fixed: bool,  # noqa: ARG002
    ) -> Floats:
        return np.asarray(np.eye(1, len(matrix))[0])


class _Bench:
    """Public rows, the truth about them, and the seeds to try."""

    def __init__(self, source: KeptSource, grid: Grid, neighbors: str, seeds: range) -> None:
        self.source, self._neighbors, self._seeds = source, neighbors, seeds
        exact = _Quiet(source, grid, ZCDP(1), REPLACE, SeededBits(0))
        self._truth = MECHANISMS["covariance"]["gaussian"](exact, ZCDP(1), postprocess="none").covariance
        schema = source.schema
        self._scales = np.full(source.d, grid.row_norm) if schema is None else schema.scales(grid.center)

    def error(self, estimate: Floats) -> float:
        """Return the Frobenius norm of estimate − truth, in units of encoded rows."""
        return float(np.linalg.norm((estimate - self._truth) / np.outer(self._scales, self._scales)))

    def cell(self, entry: _Entry, budget: Budget, tick: Callable[[], None]) -> Cell:
        """Release once per seed, and average the errors."""
        errors, ran = [], {}
        for seed in self._seeds:
            curator = Curator(self.source, entry.grid, budget, self._neighbors, SeededBits(seed))
            release = entry.release(curator, self.source.schema)
            if release is None:
                return Cell(entry.label, budget)
            errors.append(self.error(release.covariance))
            ran[release.mechanism] = True
            tick()
        deviation = float(np.std(errors, ddof=1)) / math.sqrt(len(errors))
        return Cell(entry.label, budget, " or ".join(ran), float(np.mean(errors)), deviation)


def _checked_budgets(budgets: object) -> tuple[Budget, ...]:
    """Return one budget or several as a tuple, without repetitions."""
    several = budgets if isinstance(budgets, Sequence) and not isinstance(budgets, str | bytes) else (budgets,)
    if not several:
        raise ParameterError("budgets must be one or more, got none. Hint: [dpcov.PureDP(0.1), dpcov.PureDP(1)].")
    for budget in several:
        check_budget(budget)
    return tuple(dict.fromkeys(several))


def _checked_entries(mechanisms: object, encoding: tuple[float | None, Schema | None, str, bool]) -> list[_Entry]:
    """Return the mechanisms with their options, or refuse unknown ones."""
    named = list(MECHANISMS["covariance"]) if mechanisms is None else mechanisms
    several = [named] if isinstance(named, str) else named
    if not isinstance(several, Sequence) or not several or not all(isinstance(name, str) for name in several):
        raise ParameterError(f"mechanisms must be a list of names, got {shown(mechanisms)}. Hint: ['gaussian', 'separate'].")
    entries = []
    for label in dict.fromkeys(several):
        name, options = read_mechanism(label)
        run = checked_mechanism("covariance", name, options)
        if options.get("centring", "none") != "none" and not encoding[3]:
            raise ParameterError("centring must be left out of a comparison, got one. Hint: center=True compares covariances.")
        entries.append(_Entry(label, run, *public_encoding(name, *encoding, options)))
    return entries


def _silent(fraction: float | None) -> None:
    """Tell nobody."""
