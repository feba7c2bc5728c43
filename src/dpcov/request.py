"""What the user said, checked once and in one order: encoding, source, options in encoded units, mechanism."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcov.custody.claim import refuse_claimed
from dpcov.custody.ledger import DataSet
from dpcov.custody.purse import Purse
from dpcov.errors import ParameterError, printable, shown
from dpcov.kernel.account import Account
from dpcov.kernel.bits import Bits, SeededBits, SystemBits
from dpcov.kernel.budget import ApproxDP, Budget
from dpcov.kernel.curator import Curator
from dpcov.kernel.noise.sampler import RandomSampler
from dpcov.kernel.public import Public
from dpcov.kernel.questions.moments import REPLACE, check_neighbors
from dpcov.kernel.rows.aside import ROW, Aside, aside_for
from dpcov.kernel.rows.encoding import Encoding
from dpcov.kernel.rows.grid import DEFAULT_BITS, MOST_ROWS, bits_for, checked_row_norm
from dpcov.kernel.sums import ExactSums
from dpcov.mechanisms import checked_mechanism
from dpcov.mechanisms.base import Mechanism, Named
from dpcov.mechanisms.running import planned, released
from dpcov.mechanisms.shared.means import checked_covariance
from dpcov.promise import check_budget, check_delta, check_delta_of, check_epsilon, check_expected_n, check_ledger, check_seed
from dpcov.rehearsal import Rehearsal, rehearsal_of
from dpcov.release.record import Release
from dpcov.schema import Categorical, Level, Schema
from dpcov.schema.file import digest as schema_digest
from dpcov.schema.whose import ROWS_THEMSELVES, Whose
from dpcov.sources.base import Source, checked_progress
from dpcov.sources.by import By, checked_by
from dpcov.sources.opening import is_in_database, is_printed, open_source
from dpcov.sources.paired import PairedSource
from dpcov.sources.pool import Pool, checked_workers
from dpcov.sources.split import SplitSource
from dpcov.sources.user_map import Map, UserMap
from dpcov.uses.selection import column_of_feature, target_place

BOUNDS = {
    "row_norm": "a public bound on the rows' Euclidean norm",
    "radius": "a public bound on how far the mean lies from the origin",
}


def check_max_rows(max_rows: int | None, named: Named) -> int:
    """Return how many bits of the grid leave room for so many rows; refuse a number that is none, or makes no difference."""
    if max_rows is None:
        return DEFAULT_BITS
    if not isinstance(max_rows, numbers.Integral) or isinstance(max_rows, bool) or not 1 <= max_rows <= MOST_ROWS:
        raise ParameterError(
            f"max_rows must be a whole number from 1 to 2**46, got {shown(max_rows)}. Hint: a public bound on the rows."
        )
    if named.bound == "covariance":
        raise ParameterError(
            f"max_rows must be left out for mechanism {named.name!r}, got {max_rows}. Hint: mechanism='auto' takes it."
        )
    return bits_for(int(max_rows))


@dataclass(frozen=True, eq=False)
class Request:
    """What a user asked for, checked: a mechanism, how rows are to be encoded, and options that are still in the data's units.

    ``constant``, ``midpoints``, ``pairs``, ``bits`` and ``aside`` are as in `Encoding`. Unless ``allow_weak``, delta is
    compared with a public n. ``by`` is the column of groups. ``schema`` is about features; ``described`` is as it was given.
    """

    named: Named
    row_norm: float
    schema: Schema | None
    neighbors: str
    constant: bool
    midpoints: bool
    pairs: bool
    options: dict[str, Any]
    postprocess: str | None = None
    seed: int | None = None
    allow_weak: bool = True
    workers: int | Map = 1
    bits: int = DEFAULT_BITS
    ledger: DataSet | None = None
    aside: Aside | None = None
    by: By | None = None
    described: Schema | None = None

    def __repr__(self) -> str:
        bound = f"row_norm={self.row_norm:g}" if self.schema is None else f"schema of {len(self.schema.columns)} columns"
        about = "centred" if self.constant or self.midpoints else "about 0"
        return f"<Request for a {self.named.target} by {printable(self.named.name, 30)}: {bound}, {self.neighbors}, {about}>"

    def source(
        self,
        data: object,
        columns: Sequence[str | int] | None,
        progress: Callable[[float | None], None] | None = None,
    ) -> Source:
        """Open the data, in parts where several processes read them; where pairs are wanted, the differences of its rows."""
        refuse_claimed(data, self.ledger)
        checked_progress(progress)
        alone = self.workers == 1
        shown_to = progress if alone else None
        opened: Any = open_source(data, columns, self.schema, self.midpoints, shown_to, self.aside, self.by)
        if getattr(opened, "guesses_types", False) and self.named.bound == "row_norm":
            raise ParameterError(
                "columns must be given for text without a schema, got none. "
                "Hint: CSV files, sheets and names of folders declare no types, and words would be paid for as numbers; "
                "columns=['age'] says what is a number."
            )
        if not alone and isinstance(opened, SplitSource):
            place = "in a database, which makes sums itself" if is_in_database(data) else "on a cluster, which has its own"
            raise ParameterError(f"workers must be 1 for data {place}, got {shown(self.workers)}. Hint: leave workers out.")
        if not alone and is_printed(data):
            raise ParameterError(
                f"workers must be 1 where somebody else reads the rows, got {shown(self.workers)}. Hint: leave it out."
            )
        if not alone:
            engine = Pool(self.workers) if isinstance(self.workers, int) else UserMap(self.workers)
            return SplitSource(opened, engine, progress)
        return PairedSource(opened, self.neighbors) if self.pairs else opened

    def encoding(self, source: Source) -> Encoding:
        """Return the public encoding of a source's rows."""
        return Encoding(
            feature_names=source.feature_names,
            row_norm=self.row_norm,
            bits=self.bits,
            constant=self.constant,
            midpoints=self.midpoints,
            pairs=self.pairs,
            schema=source.schema,
            groups=None if self.by is None else self.by.groups,
            aside=self.aside,
        )

    def settings(self, source: Source) -> dict[str, Any]:
        """Return the options in the units of encoded rows; a column that is a target as its position."""
        settings = in_encoded_units(self.named, self.options, source.schema, self.midpoints)
        if self.named.target == "ridge":
            settings["target"] = _target_place(source, settings.get("target"))
        return settings

    def _known_n(self, source: Source) -> int | None:
        """Return the number of rows where it is public and known: under add-remove it is private, also here."""
        return source.known_n if self.neighbors == REPLACE else None

    def check_n(self, n: int | None, budget: Budget) -> None:
        """Refuse a delta that is too large for a public number of rows; in pairs there are two people to a row."""
        if n is not None and not self.allow_weak and isinstance(budget, ApproxDP):
            check_delta_of(budget, 2 * n if self.pairs else n, "n")

    def run(self, source: Source, budget: Budget, *, progress: Callable[[float | None], None] | None = None) -> Release:
        """Release once; no process is left behind, whatever happens."""
        with closing(source) if isinstance(source, SplitSource) else nullcontext():
            return self._run(source, budget, progress)

    def _run(self, source: Source, budget: Budget, progress: Callable[[float | None], None] | None) -> Release:
        rehearse = getattr(source, "rehearse", None)  # of a source that can be read once, by somebody else
        if rehearse is not None:
            rehearse(lambda: self._released(source, budget, SeededBits(0), None))
        if self.ledger is not None and not getattr(source, "prints", False):  # what ends in a statement reads nothing here
            return self._charged(source, budget, self.ledger, progress)
        return self._released(source, budget, SystemBits() if self.seed is None else SeededBits(self.seed), progress)

    def _charged(
        self, source: Source, budget: Budget, ledger: DataSet, progress: Callable[[float | None], None] | None
    ) -> Release:
        """Release at the expense of a ledger, which knows of it from before the first row until its digest is there."""
        found = self.rehearse(source, budget)  # what would be refused costs no entry
        purse = ledger.attempt(budget, self.neighbors, self.what(found.planned.mechanism), self.protected)
        try:
            made = self._released(source, budget, SystemBits(), progress, purse)
        except BaseException as error:
            purse.failed(error)
            raise
        return purse.recorded(made)

    @property
    def protected(self) -> str:
        """Who is protected, as ledgers say it."""
        return ROW if self.aside is None else self.aside.person

    def what(self, resolved: str | None = None) -> dict[str, Any]:
        """Return what an entry of a ledger says of the release, ``resolved`` once it is known: all of it is public."""
        bounds = {"row_norm": self.row_norm} if self.described is None else {"schema": schema_digest(self.described)}
        name = self.named.name
        ran = resolved or (name if isinstance(self.named, Mechanism) else None)
        return {"target": self.named.target, "mechanism": name, **({} if ran is None else {"resolved": ran}), **bounds}

    def _released(
        self,
        source: Source,
        budget: Budget,
        bits: Bits,
        progress: Callable[[float | None], None] | None,
        purse: Purse | None = None,
    ) -> Release:
        settings = self.settings(source)
        sums = ExactSums(source, self.encoding(source), self.neighbors)
        curator = Curator(sums, Account(budget, purse), RandomSampler(bits, progress))
        self.check_n(self._known_n(source), budget)
        curator.when_n_is_known(lambda public: self.check_n(public.known_n, budget))
        return released(self.named, curator, budget, postprocess=self.postprocess, **settings)

    def rehearse(self, source: Source, budget: Budget) -> Rehearsal:
        """Return what would be asked, at what price and with how much noise, at a radius just below row_norm.

        Only names, the schema and n, where that is public and known, are taken from the source.
        """
        known_n = self._known_n(source)
        self.check_n(known_n, budget)
        public = Public(self.encoding(source), self.neighbors, known_n)
        whom = self.protected
        purse = None if self.ledger is None else self.ledger.rehearse(budget, self.neighbors, self.what(), whom)
        settings = self.settings(source)
        found = planned(self.named, public, budget, purse, postprocess=self.postprocess, **settings)
        if self.ledger is not None:
            self.ledger.rehearse(budget, self.neighbors, self.what(found.mechanism), whom)
        return rehearsal_of(found, None if self.aside is not None and self.aside.partial else known_n)


def request(
    target: str,
    budget: object,
    *,
    mechanism: str | Named,
    bound: float | None,
    schema: Schema | None,
    neighbors: str = REPLACE,
    center: bool | None = False,
    postprocess: str | None = None,
    seed: int | None = None,
    allow_weak: bool = True,
    expected_n: int | None = None,
    workers: int | Map = 1,
    max_rows: int | None = None,
    whose: Whose = ROWS_THEMSELVES,
    ledger: DataSet | None = None,
    by: str | Mapping[str, Sequence[Level]] | None = None,
    options: Mapping[str, Any],
) -> Request:
    """Return what is asked for, or refuse it before any data are opened: in this order, whoever asks.

    The budget; the mechanism, and the names of its options; what describes an encoding; post-processing; the seed; whether
    the budget promises anything, unless ``allow_weak`` or a seed says that it need not. Then the data are opened
    (`Request.source`), options are brought to encoded units (`Request.settings`), and the mechanism refuses what it does not
    serve, and values of options, still without reading a row.
    """
    check_budget(budget)
    named = checked_mechanism(target, mechanism, options)
    centred = checked_center(center, schema, named) if target == "covariance" else center
    described = schema
    if isinstance(schema, Schema):
        whose, schema = whose.joined(schema.whose), schema.of_features()
    grouped = None if by is None else checked_by(by, schema)
    schema = schema if grouped is None else grouped.features
    made = checked_request(named, bound, schema, neighbors, centred, options)  # type: ignore[arg-type]  # which it refuses
    if grouped is not None and made.pairs:
        raise ParameterError("by must be left out for pairs of rows, got a column. Hint: centring='mean' has no pairs.")
    if grouped is not None:
        named.check_served(budget, neighbors, made.constant, groups=True)  # type: ignore[arg-type]  # a budget, as checked above
    if postprocess is not None:
        named.check_postprocess(postprocess)
    check_seed(seed)
    check_ledger(ledger, seed)
    bits = check_max_rows(max_rows, named)
    aside = aside_for(whose.checked(), bits, max_rows)
    if aside is not None and made.pairs:
        raise ParameterError(
            "unit and weight must be left out for pairs of rows, got other settings. Hint: centring='mean' has no pairs."
        )
    if not isinstance(allow_weak, bool):
        raise ParameterError(f"allow_weak must be True or False, got {shown(allow_weak)}. Hint: False is the default.")
    strong = not allow_weak and seed is None  # what is seeded is stamped as not private
    check_expected_n(expected_n, neighbors)
    if checked_workers(workers) != 1 and made.pairs:
        raise ParameterError(
            f"workers must be 1 for pairs of rows, which have an order, got {shown(workers)}. Hint: centring='mean' has none."
        )
    if strong:
        check_epsilon(budget)  # type: ignore[arg-type]  # a budget, as checked above
        check_delta(budget, neighbors, expected_n)  # type: ignore[arg-type]
    made = replace(made, postprocess=postprocess, seed=seed, allow_weak=not strong, ledger=ledger, aside=aside)
    made = replace(made, workers=workers, bits=bits, by=grouped, described=described)
    if ledger is not None:
        ledger.rehearse(budget, neighbors, made.what(), made.protected)  # type: ignore[arg-type]
    return made


def _target_place(source: Source, target: object) -> int:
    """Return the position of the column that is predicted, or refuse it."""
    place = target_place(source.feature_names, source.schema, target)
    column = column_of_feature(source.schema, source.feature_names)[place]
    if source.schema is not None and isinstance(source.schema.used[column], Categorical):
        raise ParameterError(
            f"target must be a column of numbers, got {target!r}. Hint: dpcov.covariance(...).ridge(target) takes levels, too."
        )
    return place


def checked_center(center: bool | None, schema: Schema | None, named: Named) -> bool:
    """Return whether rows are centred: as asked, else with a schema where the mechanism centres them by a constant in front."""
    return schema is not None and named.centring == "homogeneous" if center is None else center


def checked_request(
    named: Named,
    row_norm: float | None,
    schema: Schema | None,
    neighbors: str,
    center: bool,
    options: Mapping[str, Any],
) -> Request:
    """Return what is asked for, or refuse what does not describe an encoding, before any row is read.

    A mechanism may have its own way to centre rows, and its own bounds: those of a covariance in place of a norm.
    """
    of_mean = named.bound == "radius"
    if named.bound == "schema" and schema is None:
        raise ParameterError(f"schema must be given for mechanism {named.name!r}, got none. Hint: mechanism='auto' needs none.")
    bounded = row_norm is None and schema is None and is_bounded(named, options)
    norm = checked_norm(1.0 if bounded else row_norm, schema, neighbors, center, "radius" if of_mean else "row_norm")
    _check_places(named, options, schema)
    if named.centring != "own":
        return Request(named, norm, schema, neighbors, center, center or of_mean, False, dict(options))
    if not isinstance(options.get("centring", ""), str):
        raise ParameterError(f"centring must be text, got {shown(options['centring'])}. Hint: 'mean', 'pairs' or 'none'.")
    if center and options.get("centring", "mean") != "mean":
        raise ParameterError(
            f"centring must be 'mean' with center=True, got {shown(options['centring'])}. Hint: leave one of them out."
        )
    centring = "mean" if center else options.get("centring", "none")
    for name in named.places if centring == "mean" and bounded else ():
        if options.get(name, named.options[name]) is None:
            raise ParameterError(
                f"{name} must be given for centred rows, got none. Hint: say how far the mean may lie from the origin."
            )
    midpoints, pairs = centring in ("mean", "pairs"), centring == "pairs"
    return Request(named, norm, schema, neighbors, False, midpoints, pairs, {**options, "centring": centring})


def is_bounded(named: Named, options: Mapping[str, Any]) -> bool:
    """Whether a public bound of the covariance is given, to a mechanism that takes one."""
    return named.bound == "covariance" and options.get(named.covariances[0]) is not None


def _check_places(named: Named, options: Mapping[str, Any], schema: Schema | None) -> None:
    """Refuse a place where the mean lies next to a schema, whose bounds and midpoints say as much."""
    for name in () if schema is None else named.places:
        usual = named.options[name]
        given = options.get(name, usual)
        if given is not usual and not (isinstance(given, numbers.Real) and given == usual):
            raise ParameterError(f"{name} must be left out with a schema, got one. Hint: the schema's bounds already say it.")


def in_encoded_units(named: Named, options: Mapping[str, Any], schema: Schema | None, center: bool) -> dict[str, Any]:
    """Return the options with covariances as encoded rows have them, where a schema encodes columns."""
    if schema is None:
        return dict(options)
    scales = schema.scales(center)
    settings = dict(options)
    below = 1.0 if is_bounded(named, options) else None  # as without a schema: in the data's units
    for place, name in enumerate(named.covariances):
        given = settings.get(name)
        given = below if place > 0 and given is None else given
        if given is not None:
            matrix = checked_covariance(given, len(scales), name)
            settings[name] = matrix / np.outer(scales, scales)
    return settings


def checked_norm(row_norm: float | None, schema: Schema | None, neighbors: str, center: bool, name: str = "row_norm") -> float:
    """Return the norm of the longest encoded row, or refuse bounds that are none."""
    check_neighbors(neighbors)
    if not isinstance(center, bool):
        raise ParameterError(f"center must be True or False, got {shown(center)}. Hint: True gives a mean, too.")
    if schema is not None and not isinstance(schema, Schema):
        raise ParameterError(f"schema must be a Schema, got {shown(schema)}. Hint: dpcov.Schema.read('schema.toml').")
    if (row_norm is None) == (schema is None):
        got = "neither" if row_norm is None else "both"
        raise ParameterError(
            f"{name} or schema must be given, got {got}. Hint: give {BOUNDS[name]}, or a schema of the columns. "
            f"There is no default: a bound read from the data would itself leak."
        )
    return 1.0 if row_norm is None else checked_row_norm(row_norm, name=name)
