"""Run a mechanism: refuse what it does not serve, let it ask, and put what was answered into a release."""

from __future__ import annotations

import dataclasses
import inspect
import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpcov._version import __version__
from dpcov.errors import ParameterError, shown
from dpcov.kernel.account import Account, Purse
from dpcov.kernel.budget import Budget, copied
from dpcov.kernel.curator import Curator
from dpcov.kernel.face import Face
from dpcov.kernel.public import Public
from dpcov.mechanisms.base import Alias, Described, Mechanism, Named
from dpcov.mechanisms.rehearsing import Still, Zeros, rehearsed, with_rows
from dpcov.mechanisms.shared.weights import after_weights
from dpcov.release.check import check_made
from dpcov.release.options import is_option
from dpcov.release.record import Option, Release


def released(named: Named, curator: Curator, budget: Budget, /, *, postprocess: str | None = None, **options: Any) -> Release:
    """Rehearse a mechanism, or what its name stands for, and run it.

    Exact sums are dropped where it fails or is interrupted, too.
    """
    try:
        return _released(named, curator, budget, postprocess, options)
    finally:
        curator.forget()


def run_again(mechanism: Mechanism, curator: Curator, budget: Budget, /, **options: Any) -> Release:
    """Run a mechanism over answers that are there already: nothing is spent, so there is nothing to rehearse.

    A small file can be said to be of any number of columns, for which a rehearsal would take matrices.
    """
    return _released(mechanism, curator, budget, None, options, rehearse=False)


def planned(
    named: Named,
    public: Public,
    budget: Budget,
    purse: Purse | None = None,
    /,
    *,
    postprocess: str | None = None,
    **options: Any,
) -> Release:
    """Return what would run, and its release of zeros: every question, law and charge is that of a run, no number is.

    What a run refuses is refused.
    """
    curator = Curator(Zeros(with_rows(public)), Account(budget, purse), Still())
    return _released(named, curator, budget, postprocess, options)


def _released(
    named: Named,
    curator: Curator,
    budget: Budget,
    postprocess: str | None,
    options: dict[str, Any],
    *,
    rehearse: bool = True,
) -> Release:
    from dpcov.mechanisms import is_own

    public = curator.public
    requested = _with_defaults(named, options)
    if postprocess is not None:
        named.check_postprocess(postprocess)
    named.check_served(budget, public.neighbors, public.grid.center, groups=public.groups > 0)
    mechanism: Mechanism
    finish, asked = postprocess, requested
    if isinstance(named, Alias):
        mechanism, finish, asked = named.resolve(public.apart(), copied(budget), postprocess, **requested)
        asked = _with_defaults(mechanism, asked)
        mechanism.check_served(budget, public.neighbors, public.grid.center, groups=public.groups > 0)
    else:
        mechanism = named
    own = is_own(mechanism)
    kept, kept_as_asked = _plain(asked), _plain(requested)  # now: a mechanism may write into lists that it is given
    if not own:
        asked = _plain(kept)  # as `estimate` and `retrace` will have them, in lists of its own
    if rehearse:
        rehearsed(mechanism, curator, budget, asked)
    for written in (kept_as_asked, kept):
        _check_written(written)  # before anything is spent; what is wrong a mechanism has refused in its words
    left = after_weights(Face(curator), budget, mechanism.serves)
    notes = mechanism.ask(Face(curator), copied(left), **asked)  # whoever called may have further uses for theirs
    n = curator.n  # of a file that was not asked about it is read, and nothing is read after this
    curator.close()
    release = Release(
        kind=mechanism.target,
        privacy=curator.budget,
        neighbors=public.neighbors,
        encoding=public.encoding,
        n=n,
        requested=named.name,
        requested_options=kept_as_asked,
        mechanism=mechanism.name,
        options=kept,
        postprocess=finish or mechanism.postprocess[0],
        notes=_noted(notes),
        answers=curator.answers,
        seeded=curator.seeded,
        dpcov_version=__version__,
        record=None if own else mechanism,
    )
    if not own:
        check_made(release)
    if finish is None and mechanism.finish is not None:
        return dataclasses.replace(release, postprocess=mechanism.finish(release))
    return release


def _with_defaults(named: Described, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return all options, or refuse unknown ones, and those that must be given and are not."""
    named.check_options(options)
    complete = {**named.options, **options}
    for name, value in complete.items():
        if value is inspect.Parameter.empty:
            raise ParameterError(
                f"{name} must be given for mechanism {named.name!r}, got none. Hint: it has no default, so choose one."
            )
    return complete


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as a file has them, arrays as lists; what it could not hold as it is."""
    return {name: _as_json(value) for name, value in options.items()}


def _check_written(options: Mapping[str, Any]) -> None:
    """Refuse options that no file could hold."""
    for name, value in options.items():
        if not is_option(value):
            raise ParameterError(
                f"options must be text, finite numbers, true, false or lists of them, got {name}={shown(value)}. "
                f"Hint: the release file stores them."
            )


def _noted(notes: object) -> dict[str, Option]:
    """Return notes as a file has them; what it could not hold becomes text: the release is paid for by now."""
    given = notes if isinstance(notes, Mapping) else {} if notes is None else {"notes": notes}
    plain = {str(name): _as_json(value) for name, value in given.items()}
    return {name: value if is_option(value) else shown(value) for name, value in plain.items()}


def _as_json(value: Any, depth: int = 2) -> Any:
    """Return numbers and lists, as deep as a file has them, as JSON does; anything else as it is."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, numbers.Real) and not isinstance(value, int | float):
        try:
            return float(value)
        except OverflowError:
            return value
    return [_as_json(one, depth - 1) for one in value] if isinstance(value, list | tuple) and depth > 0 else value
