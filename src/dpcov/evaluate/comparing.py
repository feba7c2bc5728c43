"""Run every mechanism many times on public rows and measure how far off it is: choose before spending."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray

from dpcov.errors import ParameterError, shown
from dpcov.evaluate.comparison import Cell, Comparison
from dpcov.kernel.bits import SeededBits
from dpcov.kernel.budget import Budget
from dpcov.kernel.noise.sampler import RandomSampler, Sampler
from dpcov.kernel.questions.moments import REPLACE
from dpcov.kernel.questions.spectral import to_floats
from dpcov.kernel.rows.aside import Aside, aside_for
from dpcov.kernel.rows.centring import mean_and_covariance
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.grid import DEFAULT_BITS
from dpcov.kernel.sums import ExactSums
from dpcov.mechanisms import MECHANISMS, checked_mechanism
from dpcov.mechanisms.base import Described, Named
from dpcov.mechanisms.option_text import read_mechanism
from dpcov.mechanisms.running import released
from dpcov.promise import check_budget, check_seed
from dpcov.release.record import Release
from dpcov.request import Request, checked_center, checked_norm, checked_request
from dpcov.schema import Schema
from dpcov.schema.whose import Whose
from dpcov.sources.base import Source, checked_progress
from dpcov.sources.kept import KeptSource
from dpcov.sources.opening import open_source
from dpcov.verify.testing import opened

Floats = NDArray[np.float64]
Compared = str | Named | tuple[str | Named, Mapping[str, Any]]


def compare(
    data: object,
    budgets: Budget | Sequence[Budget],
    mechanisms: Compared | Sequence[Compared] | None = None,
    *,
    row_norm: float | None = None,
    schema: Schema | None = None,
    neighbors: str = REPLACE,
    center: bool | None = None,
    columns: Sequence[str | int] | None = None,
    unit: str | int | None = None,
    weighting: str | None = None,
    most_rows: int | None = None,
    weight: str | int | None = None,
    max_weight: float | None = None,
    runs: int = 20,
    seed: int = 0,
    progress: Callable[[float | None], None] | None = None,
) -> Comparison:
    """Measure the errors of mechanisms at budgets, on **public or made-up rows**: the figures are not private.

    A custodian compares on rows that look like the real ones and are nobody's, chooses, and then spends once. The truth is the
    exact second moment (centred: covariance) of the clipped, encoded rows: what clipping at row_norm costs is not seen.

    Parameters
    ----------
    data : array, frame, path or anything with ``__arrow_c_stream__``
        As in `covariance`, but public, and small enough for memory: it is read once and kept.
    budgets : PureDP, ZCDP or ApproxDP, or a list of them
    mechanisms : str, Mechanism or list of them, optional
        Names in ``dpcov.MECHANISMS["covariance"]``, all by default; with options as in "separate:constants=paper,clip=private".
        Or mechanisms themselves, of others, too; or pairs of either with a dictionary of options.
    row_norm, schema, neighbors, columns
        As in `covariance`.
    unit, weighting, most_rows, weight, max_weight
        As in `covariance`: the truth is then about people's averages, or the weighted sample, and n is the number of people.
    center : bool, optional
        True: centred covariances are compared. By default as in `covariance`: with a schema, unless none of the mechanisms
        has a centred form; not with row_norm.
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
    chosen = _checked_mechanisms(mechanisms, schema, center)
    centred = any(checked_center(center, schema, one.named) is True for one in chosen)  # the truth is one for all of them
    whose = Whose(unit, weighting, most_rows, weight, max_weight)
    if isinstance(schema, Schema):
        whose, schema = whose.joined(schema.whose), schema.of_features()
    aside = aside_for(whose.checked(), DEFAULT_BITS, None)
    entries = _entries(chosen, row_norm, schema, neighbors, centred if center is None else center, aside)
    norm = checked_norm(row_norm, schema, neighbors, centred)
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 2:
        raise ParameterError(f"runs must be an integer of at least 2, got {shown(runs)}. Hint: one run has no standard error.")
    check_seed(seed)
    checked_progress(progress)
    report = _silent if progress is None else progress
    source = open_source(data, columns, schema, centred, lambda _: report(None), aside)
    served = {(entry, budget) for entry in entries for budget in entry.served(source, wanted)}
    bench = _Bench(KeptSource(source), norm, centred, range(seed, seed + runs))
    ticks = itertools.count(1)
    report(0.0)
    cells = [
        bench.cell(entry, budget, lambda: report(next(ticks) / (len(served) * runs)))
        if (entry, budget) in served
        else Cell(entry.label, budget)
        for entry in entries
        for budget in wanted
    ]
    n, d, counted = max(round(bench.source.weight), 1), bench.source.d, "people" if whose.unit is not None else "rows"
    return Comparison(n, d, centred, neighbors, runs, bench.error(np.zeros((d, d))), tuple(cells), counted)


@dataclass(frozen=True, eq=False)
class _Entry:
    """A mechanism with its options; ``usual`` is the same request without those that have a default."""

    label: str
    request: Request
    usual: Request

    def served(self, source: Source, budgets: Sequence[Budget]) -> list[Budget]:
        """Return the budgets that the mechanism serves, before a row is read; refuse options with which it serves none."""
        refusals = {budget: _refusal(self.request, source, budget) for budget in budgets}
        found = [budget for budget, refused in refusals.items() if refused is None]
        if not found and self.usual is not self.request:
            for budget, refused in refusals.items():
                if refused is not None and _refusal(self.usual, source, budget) is None:  # the options are what is wrong
                    raise refused
        return found

    def release(self, source: Source, budget: Budget, sampler: Sampler) -> Release | None:
        """Return a release; None where the mechanism does not serve these rows."""
        request = self.request
        curator = opened(source, request.encoding(source), budget, request.neighbors, sampler=sampler)
        try:
            return released(request.named, curator, budget, **request.settings(source))
        except ParameterError:
            return None


def _refusal(request: Request, source: Source, budget: Budget) -> ParameterError | None:
    """Return why a mechanism refuses a budget, or rows of which only the shape is known; None where it takes them."""
    try:
        request.rehearse(source, budget)
    except ParameterError as error:
        return error
    return None


class _Bench:
    """Public rows, the truth about them, and the seeds to try."""

    def __init__(self, source: KeptSource, row_norm: float, center: bool, seeds: range) -> None:
        self.source, self._seeds = source, seeds
        encoding = Encoding(
            source.feature_names, row_norm, constant=center, midpoints=center, schema=source.schema, aside=source.aside
        )
        self._scales = row_norm * encoding.units
        self._truth = _truth(ExactSums(source, encoding, REPLACE), source.weight) * np.outer(self._scales, self._scales)

    def error(self, estimate: Floats) -> float:
        """Return the Frobenius norm of estimate − truth, in units of encoded rows."""
        return float(np.linalg.norm((estimate - self._truth) / np.outer(self._scales, self._scales)))

    def cell(self, entry: _Entry, budget: Budget, tick: Callable[[], None]) -> Cell:
        """Release once per seed, and average the errors."""
        errors, ran = [], {}
        for seed in self._seeds:
            release = entry.release(self.source, budget, RandomSampler(SeededBits(seed)))
            if release is None:
                return Cell(entry.label, budget)
            errors.append(self.error(release.covariance))
            ran[release.mechanism] = True
            tick()
        deviation = float(np.std(errors, ddof=1)) / math.sqrt(len(errors))
        return Cell(entry.label, budget, " or ".join(ran), float(np.mean(errors)), deviation)


def _truth(sums: ExactSums, weight: float) -> Floats:
    """Return the exact second moment of encoded rows that count so much together; of rows with a constant, their covariance."""
    moment = sums.public.second_moment()
    lifted = to_floats(sums.read(moment), moment) / weight
    return mean_and_covariance(lifted)[1] if moment.grid.center else lifted


def _checked_budgets(budgets: object) -> tuple[Budget, ...]:
    """Return one budget or several as a tuple, without repetitions."""
    several = budgets if isinstance(budgets, Sequence) and not isinstance(budgets, str | bytes) else (budgets,)
    if not several:
        raise ParameterError(
            "budgets must hold at least one budget, got none. Hint: write [dpcov.PureDP(0.1), dpcov.PureDP(1)]."
        )
    for budget in several:
        check_budget(budget)
    return tuple(dict.fromkeys(several))


class _Chosen(NamedTuple):
    """A mechanism that is to be compared, what to call it, and its options."""

    label: str
    named: Named
    options: dict[str, Any]


def _checked_mechanisms(mechanisms: object, schema: Schema | None, center: bool | None) -> list[_Chosen]:
    """Return the mechanisms, or refuse unknown ones and unknown options."""
    table = schema is not None and center is not False
    every = [name for name, named in MECHANISMS["covariance"].items() if named.bound != "schema" or table]
    given = every if mechanisms is None else mechanisms
    several = [given] if isinstance(given, str | Described) or _is_pair(given) else given
    if not isinstance(several, Sequence) or not several:
        raise ParameterError(
            f"mechanisms must be a list of names, got {shown(mechanisms)}. Hint: `dpcov mechanisms` lists them."
        )
    chosen: dict[str, _Chosen] = {}
    for one in several:
        label, name, options = _read(one)
        if label in chosen:
            raise ParameterError(f"mechanisms must differ, got {label!r} twice. Hint: remove or rename one of them.")
        chosen[label] = _Chosen(label, checked_mechanism("covariance", name, options), options)
    return list(chosen.values())


def _entries(
    chosen: Sequence[_Chosen],
    row_norm: float | None,
    schema: Schema | None,
    neighbors: str,
    center: bool,
    aside: Aside | None,
) -> list[_Entry]:
    """Return what to ask for each, or refuse what does not describe an encoding."""
    entries = []
    for label, named, options in chosen:
        if options.get("centring", "none") != "none" and not center:
            raise ParameterError(
                "centring must be left out of a comparison, got one. Hint: set center=True to compare centred covariances."
            )
        request = replace(checked_request(named, row_norm, schema, neighbors, center, options), aside=aside)
        needed = {n: value for n, value in options.items() if named.options[n] is inspect.Parameter.empty}
        usual = checked_request(named, row_norm, schema, neighbors, center, needed)
        usual = request if needed == options else replace(usual, aside=aside)
        entries.append(_Entry(label, request, usual))
    return entries


def _is_pair(one: object) -> TypeGuard[tuple[str | Named, Mapping[str, Any]]]:
    """Whether something is a mechanism, or its name, with a dictionary of options."""
    return isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str | Described) and isinstance(one[1], Mapping)


def _read(one: object) -> tuple[str, str | Named, dict[str, Any]]:
    """Return what to call an entry, the mechanism or its name, and its options."""
    if isinstance(one, str):
        return one, *read_mechanism(one)
    if isinstance(one, Described):
        return one.name, cast("Named", one), {}
    if not _is_pair(one):
        raise ParameterError(
            f"mechanisms must be names, records, or pairs with options, got {shown(one)}. Hint: (record, {{'option': 1}})."
        )
    named, options = one[0], dict(one[1])
    said = ",".join(f"{name}={value}" for name, value in options.items())
    return f"{named if isinstance(named, str) else named.name}{':' * bool(said)}{said}", named, options


def _silent(fraction: float | None) -> None:
    """Tell nobody."""
